//! What CHANGE REPLICATION SOURCE TO says of a channel: key `channel/NAME`, value a `Record`.
//!
//! The position in it is where reading begins (`Applied` has where it goes on). The password is stored as it is given, since it must be
//! sent; `mysql.slave_master_info` shows it to those who may read that table, as in MySQL.

use vaquita_types::gtid::Uuid;

use super::record::Record;

pub(super) const PREFIX: &[u8] = b"channel/";

/// The first event of a binary log.
pub const LOG_POS_MIN: u64 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelConfig {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    /// The address that the receiver connects from; empty for any.
    pub bind: String,
    pub connect_retry_s: u32,
    pub retry_count: u64,
    pub heartbeat_ms: u64,
    /// The applier waits until a transaction is so old.
    pub delay_s: u32,
    pub log_file: String,
    pub log_pos: u64,
    pub auto_position: bool,
    pub tls: TlsConfig,
    pub public_key_path: String,
    pub get_public_key: bool,
    pub network_namespace: String,
    /// As given, separated by commas.
    pub compression_algorithms: String,
    pub zstd_level: u32,
    /// Sorted.
    pub ignore_server_ids: Vec<u32>,
    /// User and host.
    pub privilege_checks_user: Option<(String, String)>,
    pub require_row_format: bool,
    pub primary_key_check: PrimaryKeyCheck,
    pub assign_gtids: AssignGtids,
    pub auto_failover: bool,
    pub gtid_only: bool,
    /// MASTER_USE_GTID of MariaDB.
    pub use_gtid: UseGtid,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// SOURCE_SSL.
    pub allowed: bool,
    pub ca: String,
    pub ca_path: String,
    pub cert: String,
    pub key: String,
    pub cipher: String,
    pub crl: String,
    pub crl_path: String,
    pub verify_server_cert: bool,
    /// SOURCE_TLS_VERSION: as given, separated by commas.
    pub version: String,
    /// SOURCE_TLS_CIPHERSUITES: `None` for those that the library has.
    pub ciphersuites: Option<String>,
}

/// REQUIRE_TABLE_PRIMARY_KEY_CHECK. The numbers are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrimaryKeyCheck {
    #[default]
    Stream = 1,
    On = 2,
    Off = 3,
    Generate = 4,
}

/// ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AssignGtids {
    #[default]
    Off,
    /// The UUID of this server.
    Local,
    Uuid(Uuid),
}

/// What a source of MariaDB is asked for. The numbers are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UseGtid {
    #[default]
    No = 0,
    SlavePos = 1,
    CurrentPos = 2,
}

impl Default for TlsConfig {
    fn default() -> TlsConfig {
        let empty = String::new;
        TlsConfig {
            allowed: true,
            ca: empty(),
            ca_path: empty(),
            cert: empty(),
            key: empty(),
            cipher: empty(),
            crl: empty(),
            crl_path: empty(),
            verify_server_cert: false,
            version: empty(),
            ciphersuites: None,
        }
    }
}

impl Default for ChannelConfig {
    fn default() -> ChannelConfig {
        ChannelConfig {
            host: String::new(),
            port: 3306,
            user: String::new(),
            password: String::new(),
            bind: String::new(),
            connect_retry_s: 60,
            retry_count: 10,
            heartbeat_ms: 30_000,
            delay_s: 0,
            log_file: String::new(),
            log_pos: LOG_POS_MIN,
            auto_position: false,
            tls: TlsConfig::default(),
            public_key_path: String::new(),
            get_public_key: false,
            network_namespace: String::new(),
            compression_algorithms: "uncompressed".to_string(),
            zstd_level: 3,
            ignore_server_ids: Vec::new(),
            privilege_checks_user: None,
            require_row_format: false,
            primary_key_check: PrimaryKeyCheck::default(),
            assign_gtids: AssignGtids::default(),
            auto_failover: false,
            gtid_only: false,
            use_gtid: UseGtid::default(),
        }
    }
}

impl PrimaryKeyCheck {
    pub const ALL: [PrimaryKeyCheck; 4] =
        [PrimaryKeyCheck::Stream, PrimaryKeyCheck::On, PrimaryKeyCheck::Off, PrimaryKeyCheck::Generate];

    pub fn name(self) -> &'static str {
        match self {
            PrimaryKeyCheck::Stream => "STREAM",
            PrimaryKeyCheck::On => "ON",
            PrimaryKeyCheck::Off => "OFF",
            PrimaryKeyCheck::Generate => "GENERATE",
        }
    }
}

impl UseGtid {
    pub const ALL: [UseGtid; 3] = [UseGtid::No, UseGtid::SlavePos, UseGtid::CurrentPos];
}

impl ChannelConfig {
    pub fn encode(&self) -> Vec<u8> {
        let mut record = Record::write();
        // Writing cannot fail: all numbers fit.
        let _ = self.clone().visit(&mut record);
        record.finish().unwrap_or_default()
    }

    /// `None`: the bytes are damaged.
    pub fn decode(bytes: &[u8]) -> Option<ChannelConfig> {
        let mut config = ChannelConfig::default();
        let mut record = Record::read(bytes)?;
        config.visit(&mut record)?;
        record.finish().map(|_| config)
    }

    /// The tags are stored and never reused.
    fn visit(&mut self, record: &mut Record<'_>) -> Option<()> {
        record.text(1, &mut self.host)?;
        record.number(2, &mut self.port)?;
        record.text(3, &mut self.user)?;
        record.text(4, &mut self.password)?;
        record.text(5, &mut self.bind)?;
        record.number(6, &mut self.connect_retry_s)?;
        record.number(7, &mut self.retry_count)?;
        record.number(8, &mut self.heartbeat_ms)?;
        record.number(9, &mut self.delay_s)?;
        record.text(10, &mut self.log_file)?;
        record.number(11, &mut self.log_pos)?;
        record.flag(12, &mut self.auto_position)?;
        record.text(13, &mut self.public_key_path)?;
        record.flag(14, &mut self.get_public_key)?;
        record.text(15, &mut self.network_namespace)?;
        record.text(16, &mut self.compression_algorithms)?;
        record.number(17, &mut self.zstd_level)?;
        record.flag(18, &mut self.require_row_format)?;
        record.flag(19, &mut self.auto_failover)?;
        record.flag(20, &mut self.gtid_only)?;
        self.visit_lists(record)?;
        self.visit_choices(record)?;
        self.tls.visit(record)
    }

    fn visit_lists(&mut self, record: &mut Record<'_>) -> Option<()> {
        let mut ids: Vec<String> = self.ignore_server_ids.iter().map(u32::to_string).collect();
        record.texts(21, &mut ids)?;
        self.ignore_server_ids = ids.iter().map(|id| id.parse().ok()).collect::<Option<_>>()?;
        let mut user: Vec<String> = self.privilege_checks_user.take().map_or(Vec::new(), |(user, host)| vec![user, host]);
        record.texts(22, &mut user)?;
        self.privilege_checks_user = match &user[..] {
            [] => None,
            [user, host] => Some((user.clone(), host.clone())),
            _ => return None,
        };
        Some(())
    }

    fn visit_choices(&mut self, record: &mut Record<'_>) -> Option<()> {
        let mut check = self.primary_key_check as u8;
        record.number(23, &mut check)?;
        self.primary_key_check = PrimaryKeyCheck::ALL.into_iter().find(|c| *c as u8 == check)?;
        let mut assigned = match self.assign_gtids {
            AssignGtids::Off => "OFF".to_string(),
            AssignGtids::Local => "LOCAL".to_string(),
            AssignGtids::Uuid(uuid) => uuid.to_string(),
        };
        record.text(24, &mut assigned)?;
        self.assign_gtids = match assigned.as_str() {
            "OFF" => AssignGtids::Off,
            "LOCAL" => AssignGtids::Local,
            text => AssignGtids::Uuid(Uuid::parse(text.as_bytes())?),
        };
        let mut use_gtid = self.use_gtid as u8;
        record.number(25, &mut use_gtid)?;
        self.use_gtid = UseGtid::ALL.into_iter().find(|u| *u as u8 == use_gtid)?;
        Some(())
    }
}

impl TlsConfig {
    fn visit(&mut self, record: &mut Record<'_>) -> Option<()> {
        record.flag(64, &mut self.allowed)?;
        record.text(65, &mut self.ca)?;
        record.text(66, &mut self.ca_path)?;
        record.text(67, &mut self.cert)?;
        record.text(68, &mut self.key)?;
        record.text(69, &mut self.cipher)?;
        record.text(70, &mut self.crl)?;
        record.text(71, &mut self.crl_path)?;
        record.flag(72, &mut self.verify_server_cert)?;
        record.text(73, &mut self.version)?;
        record.optional_text(74, &mut self.ciphersuites)
    }
}

/// The key of a channel's configuration, for `Catalog::meta_put`.
pub fn config_key(channel: &str) -> Vec<u8> {
    [PREFIX, channel.as_bytes()].concat()
}
