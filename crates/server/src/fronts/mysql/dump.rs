//! A connection that the binary log is sent to, until it ends: `replication::log::dump` says what is sent, this is how it gets there.
//!
//! It has a thread of its own, which writes until the replica has taken it, and waits for the log. That of a semi-synchronous replica waits for
//! acks as well: in `poll` on the socket and on an eventfd, which the leader of commits writes to if the thread waits.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use vaquita_replication::log::dump::maria::{MariaRequest, parse_gtids};
use vaquita_replication::log::dump::{DumpEnd, DumpPeer, DumpRequest, DumpStop, DumpTerms, ReplicaChecksum, dump, dump_error};
use vaquita_replication::log::{Place, Wake, file_number};
use vaquita_session::binary_log::{RunningDump, base_name};
use vaquita_session::counters::Counter;
use vaquita_session::session::Session;
use vaquita_session::variables::registry;
use vaquita_types::Error;
use vaquita_types::errno::ER_MALFORMED_GTID_SET_ENCODING;
use vaquita_types::gtid::{GtidSet, Uuid};
use vaquita_wire::commands::{BinlogDump, dump_flags};
use vaquita_wire::packet::PacketReader;
use vaquita_wire::result::{put_eof, put_err};
use vaquita_wire::semi_sync::{ACK_BYTES_MAX, Ack, SEQ_BEHIND_WANTED};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::front::Front;
use super::output::FLUSH_BYTES;
use super::own_thread::OwnThread;
use super::reply::status_flags;
use super::transport::Received;

/// `@mariadb_slave_capability`: it reads MariaDB's GTIDs.
const KNOWS_GTIDS: u32 = 4;

/// COM_BINLOG_DUMP or COM_BINLOG_DUMP_GTID, whose privilege has been checked.
pub struct AskedDump {
    file: Vec<u8>,
    position: u64,
    flags: u16,
    server_id: u32,
    known: Option<Vec<u8>>,
}

impl AskedDump {
    pub fn of(dump: &BinlogDump<'_>) -> AskedDump {
        AskedDump {
            file: dump.file.to_vec(),
            position: dump.position,
            flags: dump.flags,
            server_id: dump.server_id,
            known: dump.known.map(<[u8]>::to_vec),
        }
    }

    fn request(&self, session: &Session) -> Result<DumpRequest, Error> {
        let known = self.known.as_deref().map(GtidSet::decode).transpose();
        let maria = self.of_mariadb(session)?;
        Ok(DumpRequest {
            file: self.file.clone(),
            position: self.position,
            known: known.map_err(|_| Error::new(&ER_MALFORMED_GTID_SET_ENCODING, &[]))?,
            // As in MySQL who has no number is no replica.
            waits: self.flags & dump_flags::NON_BLOCK == 0 && self.server_id != 0,
            heartbeat_v2: maria.is_none() && self.flags & dump_flags::HEARTBEAT_V2 != 0,
            semi_sync: (maria.is_none() && acks(session)).then_some(self.server_id),
            maria,
        })
    }

    /// What a replica of MariaDB, or `mariadb-binlog`, has set for its session.
    fn of_mariadb(&self, session: &Session) -> Result<Option<MariaRequest>, Error> {
        let text = |name: &str| session.replica_variable([name, name]);
        let knows_gtids = text("mariadb_slave_capability").and_then(|n| n.parse().ok()).is_some_and(|n: u32| n >= KNOWS_GTIDS);
        if !knows_gtids {
            return Ok(None);
        }
        let gtids = |name: &str| match text(name).map(|text| parse_gtids(&text)) {
            Some(None) => {
                Err(dump_error("Out of memory or malformed slave request when obtaining start position from GTID state"))
            }
            Some(gtids) => Ok(gtids),
            None => Ok(None),
        };
        let annotates = self.flags & dump_flags::MARIA_ANNOTATES != 0;
        Ok(Some(MariaRequest { state: gtids("slave_connect_state")?, until: gtids("slave_until_gtid")?, annotates }))
    }
}

/// `@rpl_semi_sync_replica`, or its old name: it acks what it has.
fn acks(session: &Session) -> bool {
    let said = session.replica_variable(["rpl_semi_sync_replica", "rpl_semi_sync_slave"]);
    said.and_then(|said| said.parse::<i64>().ok()).is_some_and(|said| said != 0)
}

pub struct DumpConnection<'c> {
    own: OwnThread<'c>,
    running: Option<Arc<RunningDump>>,
    /// Acks, of which a part may have come.
    reader: PacketReader,
    wait: Arc<WaitForAcks>,
}

/// How a dump that waits for acks hears that the log has grown.
struct WaitForAcks {
    /// None: there are no more descriptors, and it looks from time to time.
    event: Option<OwnedFd>,
    /// It is to be told.
    is_armed: AtomicBool,
}

impl WaitForAcks {
    fn new() -> WaitForAcks {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        WaitForAcks { event, is_armed: AtomicBool::new(false) }
    }

    fn wake(&self) {
        if self.is_armed.swap(false, Ordering::SeqCst)
            && let Some(event) = &self.event
        {
            let _ = rustix::io::write(event, &1u64.to_ne_bytes());
        }
    }

    fn arm(&self) {
        if let Some(event) = &self.event {
            let _ = rustix::io::read(event, &mut [0u8; 8]);
        }
        self.is_armed.store(true, Ordering::SeqCst);
    }
}

impl<'c> DumpConnection<'c> {
    pub fn new(own: OwnThread<'c>) -> DumpConnection<'c> {
        DumpConnection { own, running: None, reader: PacketReader::new(ACK_BYTES_MAX + 1), wait: Arc::new(WaitForAcks::new()) }
    }

    /// Sends the log, and how it ended.
    pub fn run(&mut self, asked: &AskedDump, session: &Session) {
        self.own.client.begin_command(if asked.known.is_some() { "Binlog Dump GTID" } else { "Binlog Dump" }, None);
        let server = &self.own.front.server;
        let running = server.replicas.begin_dump(self.own.client.id, asked.server_id, session.replica_uuid());
        self.running = Some(running.clone());
        match self.send_log(asked, session) {
            DumpEnd::Gone => {}
            DumpEnd::Done => {
                let status = status_flags(session.status());
                self.own.writer.packet(|out| put_eof(out, status, 0));
                let _ = self.flush();
            }
            DumpEnd::Failed(error) => {
                tracing::warn!(connection = self.own.client.id, "sending the binary log failed: {}", error.message());
                self.own.writer.packet(|out| put_err(out, error.code(), error.sqlstate(), error.message()));
                let _ = self.flush();
            }
        }
        self.own.front.server.replicas.end_dump(&running);
    }

    fn send_log(&mut self, asked: &AskedDump, session: &Session) -> DumpEnd {
        let Some(log) = self.own.front.binary_log.get() else { return DumpEnd::Failed(dump_error("Binary log is not open")) };
        match asked.request(session) {
            Ok(request) => dump(&**log, &request, &terms(self.own.front, session), self),
            Err(error) => DumpEnd::Failed(error),
        }
    }
}

/// What the replica has set for its session, and what the server is.
fn terms(front: &Front, session: &Session) -> DumpTerms {
    let text = |name: &str| registry().find(name).map_or(String::new(), |def| def.show(&front.server.globals.get(def)));
    let checksum = match session.replica_variable(["source_binlog_checksum", "master_binlog_checksum"]) {
        None => ReplicaChecksum::Unknown,
        Some(text) if text.eq_ignore_ascii_case("CRC32") => ReplicaChecksum::Crc32,
        Some(_) => ReplicaChecksum::None,
    };
    let period = session.replica_variable(["source_heartbeat_period", "master_heartbeat_period"]);
    let period_ns = period.and_then(|text| text.parse::<u64>().ok()).filter(|ns| *ns > 0);
    DumpTerms {
        server_id: text("server_id").parse().unwrap_or(0),
        server_uuid: Uuid::parse(text("server_uuid").as_bytes()).unwrap_or(Uuid([0; 16])),
        gtid_mode: text("gtid_mode"),
        checksum,
        heartbeat: period_ns.map(Duration::from_nanos),
    }
}

impl DumpConnection<'_> {
    /// Each ack has the number 0.
    fn expect_ack(&mut self) {
        if !self.reader.is_mid_packet() {
            self.reader.expect_seq(0);
            if let Some(compression) = self.own.transport.compression() {
                compression.expect_seq(0);
            }
        }
    }
}

impl DumpPeer for DumpConnection<'_> {
    fn send(&mut self, pieces: &[&[u8]]) -> Result<(), DumpStop> {
        self.own.writer.packet(|out| pieces.iter().for_each(|piece| out.extend_from_slice(piece)));
        if self.own.writer.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), DumpStop> {
        self.own.flush().map_err(|_| DumpStop::Gone)
    }

    fn state(&mut self, text: &'static str) {
        self.own.client.set_state(text);
    }

    fn reads(&mut self, file: u32) {
        if let Some(running) = &self.running {
            running.reads(file);
        }
    }

    fn stop(&mut self) -> Option<DumpStop> {
        if self.own.must_end() {
            return Some(DumpStop::Gone);
        }
        if self.running.as_ref().is_some_and(|running| running.is_replaced()) {
            return Some(DumpStop::Replaced);
        }
        self.own.client.interrupt.check_wait().err().map(|_| DumpStop::Ended)
    }

    fn number_anew(&mut self) -> Result<(), DumpStop> {
        self.flush()?;
        self.own.writer.set_seq(SEQ_BEHIND_WANTED);
        if let Some(compression) = self.own.transport.compression() {
            compression.set_answer_seq(SEQ_BEHIND_WANTED);
        }
        Ok(())
    }

    fn acks(&mut self) -> Result<Vec<Place>, DumpStop> {
        let mut acks = Vec::new();
        let mut bytes = [0; 4 * ACK_BYTES_MAX];
        loop {
            let len = match self.own.transport.receive(&mut bytes) {
                Ok(Received::Bytes(len)) => len,
                Ok(Received::Later) => return Ok(acks),
                Ok(Received::Closed) | Err(_) => return Err(DumpStop::Gone),
            };
            self.own.client.counters.add(Counter::BytesReceived, len as u64);
            let mut rest = bytes.get(..len).unwrap_or_default();
            loop {
                self.expect_ack();
                match self.reader.next(&mut rest) {
                    Ok(Some(packet)) => acks.extend(place_of(&packet)),
                    Ok(None) => break,
                    Err(_) => return Err(DumpStop::Gone),
                }
            }
        }
    }

    fn wake(&self) -> Arc<Wake> {
        let wait = self.wait.clone();
        Arc::new(move || wait.wake())
    }

    fn prepare_wait(&mut self) {
        self.wait.arm();
    }

    fn wait_for_acks(&mut self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        self.own.transport.wait_for_input_or(self.wait.event.as_ref(), left);
    }
}

/// Where the replica says that it has come to; an ack of what is not in the log says nothing.
fn place_of(packet: &[u8]) -> Option<Place> {
    let ack = Ack::decode(packet).ok()?;
    let file = file_number(&String::from_utf8_lossy(base_name(ack.file)))?;
    Some(Place { file, pos: ack.position })
}
