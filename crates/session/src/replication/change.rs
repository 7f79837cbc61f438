//! What the options of CHANGE REPLICATION SOURCE TO make of a configuration.
//!
//! Each option is checked and changes its field. Then what the options say together is checked. Another source, or a position, moves
//! where the channel reads.

use vaquita_parser::ast::{SourceOption, SourceValue};
use vaquita_types::errno::*;
use vaquita_types::gtid::Uuid;
use vaquita_types::{Error, Result};

use super::{Applied, AssignGtids, ChannelConfig, LOG_POS_MIN, PrimaryKeyCheck, UseGtid};

/// Characters of a password for replication (MySQL's MAX_PASSWORD_LENGTH).
const PASSWORD_CHARS_MAX: usize = 32;
/// Bytes of any other text (MySQL's FN_REFLEN).
const TEXT_BYTES_MAX: usize = 512;
/// MySQL's SLAVE_MAX_HEARTBEAT_PERIOD.
const HEARTBEAT_S_MAX: u32 = 4_294_967;
/// MySQL's MASTER_DELAY_MAX.
const DELAY_S_MAX: u64 = 0x7FFF_FFFF;
const ZSTD_LEVEL_MAX: u64 = 22;
const ALGORITHMS: [&str; 3] = ["zlib", "zstd", "uncompressed"];

/// A changed configuration, and what changes with it.
pub(crate) struct Changed {
    pub config: ChannelConfig,
    /// Where reading goes on, if that is another place.
    pub position: Option<(String, u64)>,
    /// What only a receiver or only an applier that stands may be told.
    pub of_receiver: bool,
    pub of_applier: bool,
    pub notes: Vec<Error>,
    pub warnings: Vec<Error>,
    file_given: bool,
    pos_given: bool,
}

/// The options have passed `check_given`. `account` makes an account's name of the option PRIVILEGE_CHECKS_USER, if it may be one.
pub(crate) fn changed(
    before: &ChannelConfig,
    channel: &str,
    options: &[SourceOption],
    net_timeout_s: u64,
    account: &dyn Fn(&SourceValue) -> Result<Option<(String, String)>>,
) -> Result<Changed> {
    let mut changed = Changed {
        config: before.clone(),
        position: None,
        of_receiver: false,
        of_applier: false,
        notes: Vec::new(),
        warnings: Vec::new(),
        file_given: false,
        pos_given: false,
    };
    for SourceOption { name, value } in options {
        match (*name, value) {
            ("PRIVILEGE_CHECKS_USER", value) => {
                changed.of_applier = true;
                changed.config.privilege_checks_user = account(value)?;
            }
            (name, SourceValue::Text(text)) => changed.text(name, text, channel)?,
            (name, SourceValue::Number(number)) => changed.number(name, *number, channel)?,
            (_, SourceValue::Fraction(seconds)) => changed.heartbeat(seconds, net_timeout_s)?,
            (_, SourceValue::Ids(ids)) => {
                let ids: std::result::Result<Vec<u32>, _> = ids.iter().map(|id| u32::try_from(*id)).collect();
                changed.config.ignore_server_ids = ids.map_err(|_| wrong("IGNORE_SERVER_IDS"))?;
                changed.config.ignore_server_ids.sort_unstable();
                changed.config.ignore_server_ids.dedup();
                changed.of_receiver = true;
            }
            (name, SourceValue::Word(word)) => changed.word(name, word)?,
            (name, SourceValue::Account(_)) => return Err(wrong(name)),
        }
    }
    changed.together(before, channel)?;
    Ok(changed)
}

/// What MySQL's grammar refuses, before anything is asked about the account.
pub(crate) fn check_given(options: &[SourceOption]) -> Result<()> {
    options.iter().try_for_each(|option| match (option.name, &option.value) {
        ("SOURCE_HEARTBEAT_PERIOD", SourceValue::Fraction(seconds)) => heartbeat_s(seconds).map(drop),
        ("SOURCE_PASSWORD", SourceValue::Text(text)) if String::from_utf8_lossy(text).chars().count() > PASSWORD_CHARS_MAX => {
            Err(Error::new(&ER_CHANGE_SOURCE_PASSWORD_LENGTH, &[]))
        }
        ("ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS", SourceValue::Text(text)) => uuid(text).map(drop),
        ("SOURCE_DELAY", SourceValue::Number(n)) if *n > DELAY_S_MAX => {
            Err(Error::new(&ER_SOURCE_DELAY_VALUE_OUT_OF_RANGE, &[n, &DELAY_S_MAX]))
        }
        ("REQUIRE_ROW_FORMAT", SourceValue::Number(n)) if *n > 1 => Err(Error::new(&ER_REQUIRE_ROW_FORMAT_INVALID_VALUE, &[n])),
        _ => Ok(()),
    })
}

fn heartbeat_s(text: &str) -> Result<f64> {
    let seconds: f64 = text.parse().map_err(|_| wrong("SOURCE_HEARTBEAT_PERIOD"))?;
    if seconds > f64::from(HEARTBEAT_S_MAX) {
        return Err(Error::new(&ER_REPLICA_HEARTBEAT_VALUE_OUT_OF_RANGE, &[&HEARTBEAT_S_MAX]));
    }
    Ok(seconds)
}

fn uuid(text: &[u8]) -> Result<Uuid> {
    Uuid::parse(text).ok_or_else(|| Error::new(&ER_WRONG_VALUE, &[&"UUID", &String::from_utf8_lossy(text)]))
}

fn wrong(option: &str) -> Error {
    Error::new(&ER_WRONG_ARGUMENTS, &[&option])
}

impl Changed {
    fn text(&mut self, name: &str, given: &[u8], channel: &str) -> Result<()> {
        let text = std::str::from_utf8(given).map_err(|_| wrong(name))?.to_string();
        if text.len() > TEXT_BYTES_MAX || text.contains('\0') {
            return Err(wrong(name));
        }
        let config = &mut self.config;
        self.of_receiver |= name != "ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS";
        match name {
            "SOURCE_HOST" if text.is_empty() => return Err(wrong(name)),
            "SOURCE_HOST" => config.host = text,
            "SOURCE_USER" => config.user = text,
            "SOURCE_PASSWORD" => config.password = text,
            "SOURCE_BIND" => config.bind = text,
            "SOURCE_LOG_FILE" => {
                config.log_file = text;
                self.file_given = true;
            }
            "SOURCE_SSL_CA" => config.tls.ca = text,
            "SOURCE_SSL_CAPATH" => config.tls.ca_path = text,
            "SOURCE_SSL_CERT" => config.tls.cert = text,
            "SOURCE_SSL_CIPHER" => config.tls.cipher = text,
            "SOURCE_SSL_KEY" => config.tls.key = text,
            "SOURCE_SSL_CRL" => config.tls.crl = text,
            "SOURCE_SSL_CRLPATH" => config.tls.crl_path = text,
            "SOURCE_TLS_VERSION" => config.tls.version = text,
            "SOURCE_TLS_CIPHERSUITES" => config.tls.ciphersuites = Some(text),
            "SOURCE_PUBLIC_KEY_PATH" => config.public_key_path = text,
            "SOURCE_COMPRESSION_ALGORITHMS" => {
                let known = |name: &str| ALGORITHMS.iter().any(|known| known.eq_ignore_ascii_case(name));
                if !text.split(',').all(known) {
                    return Err(Error::new(&ER_CHANGE_SOURCE_WRONG_COMPRESSION_ALGORITHM_CLIENT, &[&text, &channel]));
                }
                config.compression_algorithms = text;
            }
            "ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS" => {
                let uuid = uuid(given)?;
                self.assign(AssignGtids::Uuid(uuid));
            }
            // The position of a relay log, of which there is none, and network namespaces.
            other => return Err(Error::unsupported(other)),
        }
        Ok(())
    }

    fn assign(&mut self, assign: AssignGtids) {
        self.of_applier = true;
        self.config.assign_gtids = assign;
        if assign != AssignGtids::Off {
            self.notes.push(Error::new(&ER_USING_ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_AS_LOCAL_OR_UUID, &[]));
        }
    }

    fn number(&mut self, name: &str, n: u64, channel: &str) -> Result<()> {
        let config = &mut self.config;
        let of_applier = matches!(name, "SOURCE_DELAY" | "REQUIRE_ROW_FORMAT");
        self.of_applier |= of_applier || matches!(name, "SOURCE_AUTO_POSITION" | "GTID_ONLY");
        self.of_receiver |= !of_applier;
        match name {
            "SOURCE_PORT" => config.port = u16::try_from(n).map_err(|_| wrong(name))?,
            "SOURCE_CONNECT_RETRY" => config.connect_retry_s = u32::try_from(n).map_err(|_| wrong(name))?,
            "SOURCE_RETRY_COUNT" => config.retry_count = n,
            "SOURCE_DELAY" => config.delay_s = n.min(DELAY_S_MAX) as u32,
            "SOURCE_LOG_POS" => {
                config.log_pos = n.max(LOG_POS_MIN);
                self.pos_given = true;
            }
            "SOURCE_AUTO_POSITION" => config.auto_position = n != 0,
            "SOURCE_SSL" => config.tls.allowed = n != 0,
            "SOURCE_SSL_VERIFY_SERVER_CERT" => config.tls.verify_server_cert = n != 0,
            "GET_SOURCE_PUBLIC_KEY" => config.get_public_key = n != 0,
            "SOURCE_ZSTD_COMPRESSION_LEVEL" => {
                if !(1..=ZSTD_LEVEL_MAX).contains(&n) {
                    return Err(Error::new(&ER_CHANGE_SOURCE_WRONG_COMPRESSION_LEVEL_CLIENT, &[&n, &channel]));
                }
                config.zstd_level = n as u32;
            }
            "REQUIRE_ROW_FORMAT" => config.require_row_format = n == 1,
            "SOURCE_CONNECTION_AUTO_FAILOVER" => config.auto_failover = n != 0,
            "GTID_ONLY" => config.gtid_only = n != 0,
            other => return Err(Error::unsupported(other)),
        }
        Ok(())
    }

    /// A period that is longer than the wait for the source makes no sense, but is taken.
    fn heartbeat(&mut self, seconds: &str, net_timeout_s: u64) -> Result<()> {
        let seconds = heartbeat_s(seconds)?;
        self.of_receiver = true;
        self.config.heartbeat_ms = (seconds * 1000.0) as u64;
        if self.config.heartbeat_ms == 0 && seconds > 0.0 {
            self.warnings.push(Error::new(&ER_REPLICA_HEARTBEAT_VALUE_OUT_OF_RANGE_MIN, &[]));
        }
        if self.config.heartbeat_ms > net_timeout_s.saturating_mul(1000) {
            self.warnings.push(Error::new(&ER_REPLICA_HEARTBEAT_VALUE_OUT_OF_RANGE_MAX, &[]));
        }
        Ok(())
    }

    fn word(&mut self, name: &str, word: &str) -> Result<()> {
        match name {
            "SOURCE_TLS_CIPHERSUITES" => self.config.tls.ciphersuites = None,
            "REQUIRE_TABLE_PRIMARY_KEY_CHECK" => {
                let check = PrimaryKeyCheck::ALL.into_iter().find(|check| check.name() == word);
                self.config.primary_key_check = check.ok_or_else(|| wrong(name))?;
            }
            "ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS" => {
                self.assign(if word == "LOCAL" { AssignGtids::Local } else { AssignGtids::Off });
            }
            _ => {
                self.config.use_gtid = match word {
                    "NO" => UseGtid::No,
                    "CURRENT_POS" => UseGtid::CurrentPos,
                    _ => UseGtid::SlavePos,
                };
            }
        }
        self.of_applier |= name == "REQUIRE_TABLE_PRIMARY_KEY_CHECK";
        self.of_receiver |= matches!(name, "SOURCE_TLS_CIPHERSUITES" | "SOURCE_USE_GTID");
        Ok(())
    }

    fn together(&mut self, before: &ChannelConfig, channel: &str) -> Result<()> {
        let config = &mut self.config;
        if config.auto_position && (self.file_given || self.pos_given) {
            return Err(Error::new(&ER_BAD_REPLICA_AUTO_POSITION, &[]));
        }
        if config.gtid_only && before.gtid_only && before.auto_position && !config.auto_position {
            return Err(Error::new(&ER_CHANGE_REP_SOURCE_CANT_DISABLE_AUTO_POSITION_WITH_GTID_ONLY, &[&channel]));
        }
        if config.gtid_only && before.gtid_only && before.require_row_format && !config.require_row_format {
            return Err(Error::new(&ER_CHANGE_REP_SOURCE_CANT_DISABLE_REQ_ROW_FORMAT_WITH_GTID_ONLY, &[&channel]));
        }
        if config.gtid_only && !(config.auto_position && config.require_row_format) {
            return Err(Error::new(&ER_CHANGE_REPLICATION_SOURCE_NO_OPTIONS_FOR_GTID_ONLY, &[&channel]));
        }
        if config.auto_failover && !config.auto_position {
            return Err(Error::new(&ER_RPL_ASYNC_RECONNECT_AUTO_POSITION_OFF, &[]));
        }
        if (&config.user, &config.password) != (&before.user, &before.password) {
            self.notes.push(Error::new(&ER_INSECURE_CHANGE_SOURCE, &[]));
        }
        if self.file_given && !self.pos_given {
            config.log_pos = LOG_POS_MIN;
            self.warnings.push(Error::new(&ER_WARN_ONLY_SOURCE_LOG_FILE_NO_POS, &[]));
        }
        let is_other = (&config.host, config.port) != (&before.host, before.port);
        if self.file_given || self.pos_given {
            self.position = Some((config.log_file.clone(), config.log_pos));
        } else if is_other {
            (config.log_file, config.log_pos) = (String::new(), LOG_POS_MIN);
            self.position = Some((String::new(), 0));
        }
        Ok(())
    }

    /// What counts as applied, if that is other than `applied`. What was executed stays so.
    pub fn applied(&self, applied: Applied) -> Option<Applied> {
        let (file, pos) = self.position.clone()?;
        Some(Applied { file, pos, ..applied })
    }
}
