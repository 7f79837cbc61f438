//! The receiver of a channel: connects, asks for the log from where it stands, and puts events into the queue.
//!
//! It tries again for as long as the configuration says, a connection that says nothing for `replica_net_timeout` included. What it received is
//! known by whole transactions: whatever broke off begins again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_session::replication::{Channel, Running, ThreadError, TransactionName, TransactionTimes, UseGtid};
use vaquita_session::server::Server;
use vaquita_session::variables::{Var, registry};
use vaquita_storage::now_us;
use vaquita_types::Value;
use vaquita_types::errno::ER_UNKNOWN_SYSTEM_VARIABLE;
use vaquita_types::gtid::{MariaGtid, Uuid};
use vaquita_wire::binlog::header::flags::ARTIFICIAL;
use vaquita_wire::binlog::{BinlogError, ChecksumAlgorithm, Decoder, Event, FormatDescription, RawEvent, event_type, header};
use vaquita_wire::codec::{put_u16, put_u32, put_u64};
use vaquita_wire::semi_sync::{Ack, SEQ_BEHIND_WANTED, split_event};

use crate::boundaries::{Boundaries, Lies, Name};
use crate::connection::{Connection, SourceError, Target, Tls, error_of, is_eof};
use crate::errors::{self, CR_SERVER_LOST};
use crate::queue::{Interrupted, Queue, ReceivedTo, SourceEvent};

const COM_BINLOG_DUMP: u8 = 0x12;
const COM_REGISTER_SLAVE: u8 = 0x15;
const COM_BINLOG_DUMP_GTID: u8 = 0x1e;
const THROUGH_GTID: u16 = 4;
/// Of MariaDB: the statements of rows are sent, too.
const SEND_ANNOTATE_ROWS: u16 = 2;
const FIRST_POSITION: u64 = 4;
const NO_HEAD: &str = "Missing magic number for semi-sync packet";
/// A connection that broke off sooner is not made again at once.
const SHORT_CONNECTION: Duration = Duration::from_secs(1);

pub struct Receiver {
    pub server: Arc<Server>,
    pub channel: Arc<Channel>,
    pub queue: Arc<Queue>,
}

/// Why a connection ended.
enum Ended {
    Interrupted(Interrupted),
    /// It is worth another try.
    Lost(SourceError),
    /// It is not.
    Failed(SourceError),
}

impl From<Interrupted> for Ended {
    fn from(interrupted: Interrupted) -> Ended {
        Ended::Interrupted(interrupted)
    }
}

impl From<SourceError> for Ended {
    fn from(error: SourceError) -> Ended {
        // What the client library says is about the connection, what the source says is not.
        if errors::is_of_connection(error.number) { Ended::Lost(error) } else { Ended::Failed(error) }
    }
}

/// What is known of the source once it has been asked.
struct Source {
    is_mariadb: bool,
    has_checksums: bool,
    /// It waits for our acks.
    semi_sync: bool,
}

impl Receiver {
    /// Until it is told to stop, or cannot go on.
    pub fn run(&self) {
        let config = self.channel.config();
        let mut tries: u64 = 0;
        let outcome = loop {
            tries += 1;
            let began = Instant::now();
            match self.receive(&mut tries) {
                Ended::Interrupted(Interrupted::Rewind) => tries = 0,
                Ended::Interrupted(Interrupted::Stop) => break Ok(()),
                Ended::Failed(error) => break Err(error),
                // What held for a while is made again at once, as MySQL does.
                Ended::Lost(error) if tries == 0 && began.elapsed() > SHORT_CONNECTION => {
                    tracing::warn!("replication channel '{}': {}", self.channel.name, error.text);
                }
                Ended::Lost(error) => {
                    self.report(&error, tries);
                    if tries > config.retry_count {
                        break Err(error);
                    }
                    self.set_state(Running::Connecting, "Waiting to reconnect after a failed source event read");
                    match self.queue.sleep(Duration::from_secs(u64::from(config.connect_retry_s))) {
                        Err(Interrupted::Stop) => break Ok(()),
                        Err(Interrupted::Rewind) | Ok(()) => {}
                    }
                }
            }
        };
        self.queue.end_receiving();
        if let Err(error) = outcome {
            self.fail(&error);
        }
    }

    /// One connection.
    fn receive(&self, tries: &mut u64) -> Ended {
        match self.queue.check() {
            Err(Interrupted::Stop) => return Ended::Interrupted(Interrupted::Stop),
            Err(Interrupted::Rewind) | Ok(()) => {}
        }
        self.set_state(Running::Connecting, "Connecting to source");
        let ended = match self.connect() {
            Err(ended) => ended,
            Ok((mut connection, source, at)) => {
                *tries = 0;
                self.set_state(Running::Yes, "Waiting for source to send event");
                self.channel.status.receiver.lock().semi_sync = source.semi_sync;
                let read = self.read(&mut connection, &source, at);
                self.channel.status.receiver.lock().semi_sync = false;
                match read {
                    Err(ended) => ended,
                    Ok(()) => Ended::Lost(SourceError::new(CR_SERVER_LOST, "Lost connection to MySQL server: it ended its log")),
                }
            }
        };
        // What was torn by ourselves is no error.
        match self.queue.check() {
            Err(interrupted) => Ended::Interrupted(interrupted),
            Ok(()) => ended,
        }
    }

    fn connect(&self) -> Result<(Connection, Source, ReceivedTo), Ended> {
        let config = self.channel.config();
        let credentials = self.channel.credentials.lock().clone();
        let (user, password) = match credentials {
            Some(given) => (given.user, given.password),
            None => (config.user.clone(), config.password.clone()),
        };
        let tls = &config.tls;
        let target = Target {
            host: config.host.clone(),
            port: config.port,
            user,
            password,
            tls: tls.allowed.then(|| Tls {
                ca: tls.ca.clone(),
                cert: tls.cert.clone(),
                key: tls.key.clone(),
                verify_name: tls.verify_server_cert,
                required: !tls.ca.is_empty() || tls.verify_server_cert,
            }),
            silence_max: Duration::from_secs(self.net_timeout_s()),
        };
        // Who is refused with a wrong password may be let in later, as in MySQL.
        let mut connection = Connection::open(&target).map_err(Ended::Lost)?;
        let at = self.queue.begin_receiving(Some(connection.socket()?));
        let mut source = self.greet(&mut connection)?;
        let mut at = at.unwrap_or_else(|| self.applied_to());
        // The source takes what is asked for for acked up to there, so that must not be ahead of what is committed.
        if source.semi_sync {
            let applied = self.applied_to();
            if self.asks_by_gtid(&source) {
                // What waits here comes again, and is passed by (APPLIER-2).
                (at.gtids, at.domains) = (applied.gtids, applied.domains);
            } else {
                source.semi_sync = self.queue.wait_until_applied(|| self.channel.running().applier)?;
            }
        }
        if source.semi_sync {
            connection.query("SET @rpl_semi_sync_replica = 1, @rpl_semi_sync_slave = 1")?;
        }
        self.register(&mut connection)?;
        self.ask_for_log(&mut connection, &source, &at)?;
        Ok((connection, source, at))
    }

    /// Where the channel begins if nothing waits.
    fn applied_to(&self) -> ReceivedTo {
        let config = self.channel.config();
        let applied = self.channel.applied();
        let (file, pos) = if applied.pos == 0 { (config.log_file.clone(), config.log_pos) } else { (applied.file, applied.pos) };
        let domains = applied.domains.values().copied().collect();
        ReceivedTo { file, pos, gtids: self.server.executed(), domains }
    }

    /// Who the source is, and who asks.
    fn greet(&self, connection: &mut Connection) -> Result<Source, Ended> {
        let is_mariadb = connection.is_mariadb();
        let number = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8_lossy(&bytes).parse::<i64>().ok());
        let source_now = number(connection.query("SELECT UNIX_TIMESTAMP()")?).unwrap_or(0);
        let source_id = number(connection.query("SELECT @@GLOBAL.server_id")?).unwrap_or(0);
        let own_id = self.server_id();
        if source_id == i64::from(own_id) {
            return Err(Ended::Failed(errors::same_server_id()));
        }
        let mut uuid = None;
        if !is_mariadb {
            let text = connection.query("SELECT @@GLOBAL.server_uuid")?.unwrap_or_default();
            uuid = Uuid::parse(&text);
            let own = self.server_uuid();
            if text.eq_ignore_ascii_case(own.as_bytes()) {
                return Err(Ended::Failed(errors::same_server_uuid()));
            }
            connection.query(&format!("SET @slave_uuid = '{own}', @replica_uuid = '{own}'"))?;
        }
        let config = self.channel.config();
        let period = config.heartbeat_ms.saturating_mul(1_000_000);
        if period > 0 {
            connection.query(&format!("SET @master_heartbeat_period = {period}, @source_heartbeat_period = {period}"))?;
        }
        let checksum = connection.query("SELECT @@GLOBAL.binlog_checksum")?;
        connection.query(
            "SET @master_binlog_checksum = @@GLOBAL.binlog_checksum, @source_binlog_checksum = @@GLOBAL.binlog_checksum",
        )?;
        if is_mariadb {
            connection.query("SET @mariadb_slave_capability = 4")?;
        }
        let mut status = self.channel.status.receiver.lock();
        status.source_server_id = u32::try_from(source_id).unwrap_or(0);
        status.source_uuid = uuid;
        status.clock_ahead_s = if source_now == 0 { 0 } else { source_now - now_s() };
        drop(status);
        let has_checksums = checksum.is_some_and(|algorithm| algorithm == b"CRC32");
        let semi_sync = self.wants_semi_sync() && self.queue.acks.signal().is_some() && knows_semi_sync(connection)?;
        Ok(Source { is_mariadb, has_checksums, semi_sync })
    }

    fn asks_by_gtid(&self, source: &Source) -> bool {
        let config = self.channel.config();
        if source.is_mariadb { config.use_gtid != UseGtid::No || config.auto_position } else { config.auto_position }
    }

    fn wants_semi_sync(&self) -> bool {
        self.server.globals.number(Var::RplSemiSyncReplicaEnabled) != 0
    }

    /// SHOW REPLICAS of the source.
    fn register(&self, connection: &mut Connection) -> Result<(), Ended> {
        let mut command = vec![COM_REGISTER_SLAVE];
        put_u32(&mut command, self.server_id());
        for variable in ["report_host", "report_user", "report_password"] {
            let value = registry().find(variable).map(|def| self.server.globals.get(def));
            let text = match &value {
                Some(Value::Bytes(text)) => text.get(..usize::from(u8::MAX)).unwrap_or(text),
                _ => &[],
            };
            command.push(text.len() as u8);
            command.extend_from_slice(text);
        }
        let port = registry().find("port").map(|def| self.server.globals.get(def));
        put_u16(&mut command, if let Some(Value::UInt(port)) = port { port as u16 } else { 0 });
        put_u32(&mut command, 0);
        put_u32(&mut command, 0);
        connection.command(&command)?;
        let answer = connection.packet()?;
        if answer.first() == Some(&0xff) { Err(error_of(&answer).into()) } else { Ok(()) }
    }

    fn ask_for_log(&self, connection: &mut Connection, source: &Source, at: &ReceivedTo) -> Result<(), Ended> {
        let config = self.channel.config();
        let by_maria_gtid = source.is_mariadb && self.asks_by_gtid(source);
        if by_maria_gtid {
            let mut domains: Vec<MariaGtid> = at.domains.clone();
            domains.sort_by_key(|gtid| gtid.domain);
            let list: Vec<String> = domains.iter().map(ToString::to_string).collect();
            connection.query(&format!("SET @slave_connect_state = '{}'", list.join(",")))?;
            connection.query("SET @slave_gtid_strict_mode = 0")?;
            connection.query("SET @slave_gtid_ignore_duplicates = 0")?;
        }
        let mut command = Vec::new();
        if config.auto_position && !source.is_mariadb {
            let mut set = Vec::new();
            at.gtids.encode_for_all(&mut set);
            command.push(COM_BINLOG_DUMP_GTID);
            put_u16(&mut command, THROUGH_GTID);
            put_u32(&mut command, self.server_id());
            put_u32(&mut command, 0);
            put_u64(&mut command, FIRST_POSITION);
            put_u32(&mut command, set.len() as u32);
            command.extend_from_slice(&set);
        } else {
            let (file, pos) = if by_maria_gtid { ("", FIRST_POSITION) } else { (at.file.as_str(), at.pos.max(FIRST_POSITION)) };
            command.push(COM_BINLOG_DUMP);
            let pos = u32::try_from(pos)
                .map_err(|_| Ended::Failed(errors::fatal("a position beyond 4 GiB, which only GTIDs can ask for")))?;
            put_u32(&mut command, pos);
            put_u16(&mut command, if source.is_mariadb { SEND_ANNOTATE_ROWS } else { 0 });
            put_u32(&mut command, self.server_id());
            command.extend_from_slice(file.as_bytes());
        }
        Ok(connection.command(&command)?)
    }

    fn read(&self, connection: &mut Connection, source: &Source, at: ReceivedTo) -> Result<(), Ended> {
        let mut reading = Reading {
            receiver: self,
            file: Arc::from(at.file.as_str()),
            to: at,
            has_checksums: source.has_checksums,
            boundaries: Boundaries::default(),
            skips: false,
        };
        // Those of the connection before.
        self.queue.acks.take();
        let signal = if source.semi_sync { self.queue.acks.signal() } else { None };
        loop {
            if let Some(place) = signal.and_then(|_| self.queue.acks.take()) {
                let mut ack = Vec::new();
                Ack { position: place.pos, file: place.file.as_bytes() }.encode(&mut ack);
                connection.send_aside(&ack)?;
            }
            let Some(packet) = connection.packet_or_signal(signal)? else { continue };
            match packet.split_first() {
                Some((0, event)) if source.semi_sync => {
                    let (wants_ack, event) = split_event(event).map_err(|_| Ended::Failed(errors::fatal(NO_HEAD)))?;
                    if wants_ack {
                        connection.expect_seq(SEQ_BEHIND_WANTED);
                    }
                    reading.event(event, wants_ack)?;
                }
                Some((0, event)) => reading.event(event, false)?,
                _ if is_eof(&packet) => return Ok(()),
                _ => return Err(Ended::Failed(errors::from_source(&error_of(&packet)))),
            }
        }
    }

    /// `replica_net_timeout`.
    fn net_timeout_s(&self) -> u64 {
        match registry().find("replica_net_timeout").map(|def| self.server.globals.get(def)) {
            Some(Value::UInt(seconds)) => seconds.max(1),
            Some(Value::Int(seconds)) => u64::try_from(seconds).unwrap_or(1).max(1),
            _ => 60,
        }
    }

    fn server_id(&self) -> u32 {
        match registry().find("server_id").map(|def| self.server.globals.get(def)) {
            Some(Value::UInt(id)) => id as u32,
            Some(Value::Int(id)) => id as u32,
            _ => 1,
        }
    }

    fn server_uuid(&self) -> String {
        match registry().find("server_uuid").map(|def| self.server.globals.get(def)) {
            Some(Value::Bytes(text)) => String::from_utf8_lossy(&text).into_owned(),
            _ => String::new(),
        }
    }

    fn set_state(&self, running: Running, state: &'static str) {
        let mut status = self.channel.status.receiver.lock();
        status.running = running;
        status.state = state.into();
        if running == Running::Yes {
            status.last_error = ThreadError::default();
        }
    }

    /// An error after which it tries again.
    fn report(&self, error: &SourceError, tries: u64) {
        let config = self.channel.config();
        let text = format!(
            "Error {} to source '{}@{}:{}'. This was attempt {}/{}, with a delay of {} seconds between attempts. Message: {}",
            if error.number == CR_SERVER_LOST { "reconnecting" } else { "connecting" },
            config.user,
            config.host,
            config.port,
            tries.max(1),
            config.retry_count,
            config.connect_retry_s,
            error.text,
        );
        tracing::warn!("replication channel '{}': {text}", self.channel.name);
        self.channel.status.receiver.lock().last_error = ThreadError { number: u32::from(error.number), text, at_us: now_us() };
    }

    fn fail(&self, error: &SourceError) {
        tracing::error!("replication channel '{}': the receiver stops: {}", self.channel.name, error.text);
        let mut status = self.channel.status.receiver.lock();
        if status.last_error.number == 0 || status.last_error.number != u32::from(error.number) {
            status.last_error = ThreadError { number: u32::from(error.number), text: error.text.clone(), at_us: now_us() };
        }
    }
}

/// Whether the source can wait for acks, if it does or not. Each version has another name for it.
fn knows_semi_sync(connection: &mut Connection) -> Result<bool, SourceError> {
    for name in ["rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled"] {
        match connection.query(&format!("SELECT @@global.{name}")) {
            Ok(_) => return Ok(true),
            Err(error) if error.number == ER_UNKNOWN_SYSTEM_VARIABLE.code => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// What was read of one connection.
struct Reading<'r> {
    receiver: &'r Receiver,
    /// The source's file that events stand in.
    file: Arc<str>,
    to: ReceivedTo,
    has_checksums: bool,
    boundaries: Boundaries,
    /// The transaction is of a server that is ignored.
    skips: bool,
}

impl Reading<'_> {
    fn event(&mut self, bytes: &[u8], wants_ack: bool) -> Result<(), Ended> {
        let code = bytes.get(4).copied().unwrap_or(0);
        if code == event_type::FORMAT_DESCRIPTION {
            let data = bytes.get(header::HEADER_BYTES..).unwrap_or_default();
            let format = FormatDescription::decode(data).map_err(damaged)?;
            self.has_checksums = format.checksum == Some(ChecksumAlgorithm::Crc32);
        }
        let raw = RawEvent::of_packet(bytes, self.has_checksums).map_err(damaged)?;
        let lies = self.see(&raw)?;
        let Some(lies) = lies else { return Ok(()) };
        let end = u64::from(raw.header.end_position);
        if lies == Lies::Begins {
            self.skips = self.is_ignored(raw.header.server_id);
        }
        let is_whole = lies == Lies::Ends || !self.boundaries.is_within();
        if is_whole && end > 0 && raw.header.flags & ARTIFICIAL == 0 {
            self.to.file = self.file.to_string();
            self.to.pos = end;
        }
        if lies == Lies::Ends {
            self.note_received();
        }
        let skipped = self.skips && lies != Lies::Between;
        if skipped && lies != Lies::Ends {
            return Ok(());
        }
        let event = SourceEvent {
            bytes: if skipped { empty_statement(&raw) } else { bytes.to_vec() },
            has_checksum: self.has_checksums && !skipped,
            file: self.file.clone(),
            ends: lies == Lies::Ends,
            wants_ack,
        };
        self.receiver.queue.push(event, is_whole.then(|| self.to.clone()))?;
        let mut status = self.receiver.channel.status.receiver.lock();
        status.file.clone_from(&self.to.file);
        if end > 0 {
            status.file = self.file.to_string();
            status.pos = end;
        }
        Ok(())
    }

    /// What an event means to whoever receives it; `None`: it goes no further.
    fn see(&mut self, raw: &RawEvent<'_>) -> Result<Option<Lies>, Ended> {
        let is_told = tells_boundaries(raw.header.event_type);
        if !is_told {
            return Ok(Some(if self.boundaries.is_within() { Lies::Within } else { Lies::Between }));
        }
        let event = Decoder::default().decode(raw).map_err(damaged)?;
        match &event {
            Event::Heartbeat(_) => {
                let mut status = self.receiver.channel.status.receiver.lock();
                status.heartbeats += 1;
                status.last_heartbeat_us = now_us();
                return Ok(None);
            }
            Event::Rotate(rotate) => {
                self.file = String::from_utf8_lossy(rotate.file).as_ref().into();
                if !self.boundaries.is_within() {
                    self.to.file = self.file.to_string();
                    self.to.pos = rotate.position;
                }
                let mut status = self.receiver.channel.status.receiver.lock();
                status.file = self.file.to_string();
                status.pos = rotate.position;
                drop(status);
                self.boundaries.see(&event);
                return Ok(Some(Lies::Between));
            }
            _ => {}
        }
        let lies = self.boundaries.see(&event);
        if lies == Lies::Begins {
            let mut status = self.receiver.channel.status.receiver.lock();
            status.queueing = TransactionTimes {
                name: shown(&self.boundaries.name),
                original_commit_us: commit_us(&event).0,
                immediate_commit_us: commit_us(&event).1,
                start_us: now_us(),
                end_us: 0,
            };
        }
        Ok(Some(lies))
    }

    fn note_received(&mut self) {
        let name = self.boundaries.take_name();
        let mut status = self.receiver.channel.status.receiver.lock();
        match name {
            Name::Gtid(gtid) => {
                self.to.gtids.add(gtid.source, gtid.tag.clone(), (gtid.number, gtid.number));
                status.received.add(gtid.source, gtid.tag, (gtid.number, gtid.number));
            }
            Name::Maria(gtid) => {
                self.to.domains.retain(|known| known.domain != gtid.domain);
                self.to.domains.push(gtid);
            }
            Name::None | Name::Anonymous => {}
        }
        status.last_queued = std::mem::take(&mut status.queueing);
        status.last_queued.end_us = now_us();
    }

    /// IGNORE_SERVER_IDS, and what comes from ourselves through a ring.
    fn is_ignored(&self, server_id: u32) -> bool {
        server_id == self.receiver.server_id() || self.receiver.channel.config().ignore_server_ids.contains(&server_id)
    }
}

/// What has to be decoded to know where transactions begin and end.
pub fn tells_boundaries(code: u8) -> bool {
    use event_type::*;
    matches!(
        code,
        ROTATE
            | STOP
            | HEARTBEAT
            | HEARTBEAT_V2
            | PREVIOUS_GTIDS
            | GTID
            | ANONYMOUS_GTID
            | GTID_TAGGED
            | QUERY
            | XID
            | XA_PREPARE
            | TRANSACTION_PAYLOAD
            | EXECUTE_LOAD_QUERY
            | MARIA_GTID
            | MARIA_GTID_LIST
            | MARIA_QUERY_COMPRESSED
            | MARIA_BINLOG_CHECKPOINT
            | FORMAT_DESCRIPTION
    )
}

/// The end of a transaction that is left out: the applier moves on behind it.
fn empty_statement(raw: &RawEvent<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let length = header::HEADER_BYTES as u32;
    header::Header { event_type: event_type::IGNORABLE, length, ..raw.header }.encode(&mut out);
    out
}

fn damaged(error: BinlogError) -> Ended {
    Ended::Failed(errors::damaged(&error))
}

/// A transaction as the status names it.
pub fn shown(name: &Name) -> TransactionName {
    match name {
        Name::None => TransactionName::None,
        Name::Anonymous => TransactionName::Anonymous,
        Name::Gtid(gtid) => TransactionName::Gtid(gtid.clone()),
        Name::Maria(gtid) => TransactionName::Maria(*gtid),
    }
}

/// When a transaction was committed first, and at the source.
pub fn commit_us(event: &Event<'_>) -> (u64, u64) {
    match event {
        Event::Gtid(gtid) => {
            let immediate = gtid.immediate_commit_micros.unwrap_or(0);
            (gtid.original_commit_micros.unwrap_or(immediate), immediate)
        }
        _ => (0, 0),
    }
}

pub fn now_s() -> i64 {
    (now_us() / 1_000_000) as i64
}
