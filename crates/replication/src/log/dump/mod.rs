//! COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID: the log as it is sent to a replica, or to who reads it like one.
//!
//! ```text
//! ROTATE (artificial)          where the dump begins
//! FORMAT_DESCRIPTION           of that file; without position and start time if the dump begins behind it
//! …                            events; of those that the replica has, a heartbeat with the position behind them
//! ROTATE                       the end of the file
//! ROTATE (artificial)          the next file, from its FORMAT_DESCRIPTION on
//! …
//! HEARTBEAT                    there was nothing to send for so long
//! ```
//! Events are sent as they are in the log, with their checksums; those made for the replica have one where the log's have. A replica that does not
//! say that it knows checksums gets none of a log that has them. Each event for a semi-synchronous replica says whether an ack is wanted
//! (`wire::semi_sync`); acks are read between events, and wake who waits for more. Texts and order of the errors are those of MySQL 9.7.

pub mod maria;
mod start;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_types::errno::ER_SOURCE_FATAL_ERROR_READING_BINLOG;
use vaquita_types::gtid::{GtidSet, Uuid};
use vaquita_types::{Error, Result};
use vaquita_wire::binlog::header::{self, CHECKSUM_BYTES, HEADER_BYTES, flags};
use vaquita_wire::binlog::{Header, Heartbeat, Rotate, event_type};
use vaquita_wire::codec::Bytes;
use vaquita_wire::semi_sync::event_head;

use super::semi_sync::{ReplicaKey, SemiSync};
use super::source::LogSource;
use super::{FIRST_POS, LogEvent, Place, Servers, Wake};
use maria::{Dialect, MariaRequest, Position};
use start::{Start, contains};

/// How long a dump that waits does not look whether it is to end.
const LOOK: Duration = Duration::from_millis(200);
/// MySQL's bound of an error's text.
const ERROR_BYTES_MAX: usize = 511;
const END_POSITION_AT: usize = 13;
const FLAGS_AT: usize = 17;
const LENGTH_AT: usize = 9;
/// Behind the header: the version of the log and of the server.
const CREATED_AT: usize = HEADER_BYTES + 2 + 50;
/// Acks are looked for when so many events were sent since.
const EVENTS_BETWEEN_ACKS: u32 = 64;

const SENDING: &str = "Sending binlog event to replica";
const SWITCHING: &str = "Finished reading one binlog; switching to next binlog";
const WAITING: &str = "Source has sent all binlog to replica; waiting for more updates";
const ENDING: &str = "Waiting to finalize termination";

const NO_CHECKSUMS: &str = "Replica can not handle replication events with the checksum that source is configured to log";
const CUT: &str = "binlog truncated in the middle of event; consider out of disk space on source";
const NO_NEXT: &str = "could not find next log";
const REPLACED: &str = "A replica with the same server_uuid/server_id as this replica has connected to the source";

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpRequest {
    /// Empty: the first, or the first with what the replica lacks.
    pub file: Vec<u8>,
    pub position: u64,
    /// By GTID: the transactions that the replica has.
    pub known: Option<GtidSet>,
    /// At the end it waits for more.
    pub waits: bool,
    pub heartbeat_v2: bool,
    /// The replica acks what it has, and is a server with this number.
    pub semi_sync: Option<u32>,
    /// The reader is a MariaDB.
    pub maria: Option<MariaRequest>,
}

/// `@source_binlog_checksum`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaChecksum {
    /// It does not know any.
    Unknown,
    None,
    Crc32,
}

/// What else decides: settings of the server, and what the replica has set for its session.
#[derive(Clone, Debug)]
pub struct DumpTerms {
    pub server_id: u32,
    pub server_uuid: Uuid,
    /// As `gtid_mode` has it.
    pub gtid_mode: String,
    pub checksum: ReplicaChecksum,
    /// None: there is no heartbeat.
    pub heartbeat: Option<Duration>,
}

/// Why a dump ends before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpStop {
    /// KILL QUERY: as at the end of what is asked for.
    Ended,
    /// The peer has gone, or is to be sent nothing any more.
    Gone,
    /// Another dump is for the same replica.
    Replaced,
}

/// The replica.
pub trait DumpPeer {
    /// One packet: these bytes, one behind the other. An error: it cannot be sent.
    fn send(&mut self, pieces: &[&[u8]]) -> std::result::Result<(), DumpStop>;

    /// Nothing that was sent waits any longer.
    fn flush(&mut self) -> std::result::Result<(), DumpStop>;

    fn state(&mut self, text: &'static str);

    /// Files from this one on are being read.
    fn reads(&mut self, file: u32);

    fn stop(&mut self) -> Option<DumpStop>;

    // A peer that never acks needs none of what follows.

    /// Flushes, and numbers the packets that follow from here on anew.
    fn number_anew(&mut self) -> std::result::Result<(), DumpStop> {
        self.flush()
    }

    /// The acks that have come.
    fn acks(&mut self) -> std::result::Result<Vec<Place>, DumpStop> {
        Ok(Vec::new())
    }

    /// Ends `wait_for_acks`, also if it is called between `prepare_wait` and that.
    fn wake(&self) -> Arc<Wake> {
        Arc::new(|| {})
    }

    fn prepare_wait(&mut self) {}

    /// Sleeps until something has come, or until then.
    fn wait_for_acks(&mut self, until: Instant) {
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    }
}

#[derive(Debug)]
pub enum DumpEnd {
    /// The packet EOF follows.
    Done,
    Failed(Error),
    /// Nothing follows.
    Gone,
}

enum Stop {
    Peer(DumpStop),
    /// With the text of error 1236.
    Fatal(String),
}

impl From<DumpStop> for Stop {
    fn from(stop: DumpStop) -> Stop {
        Stop::Peer(stop)
    }
}

type Step<T = ()> = std::result::Result<T, Stop>;

fn fatal<T>(text: impl Into<String>) -> Step<T> {
    Err(Stop::Fatal(text.into()))
}

fn of_log<T>(read: Result<T>) -> Step<T> {
    read.map_err(|error| Stop::Fatal(error.message().to_string()))
}

/// Error 1236 with a text that is cut as MySQL cuts it.
pub fn dump_error(text: &str) -> Error {
    let end = text.floor_char_boundary(ERROR_BYTES_MAX.min(text.len()));
    Error::with_message(&ER_SOURCE_FATAL_ERROR_READING_BINLOG, text.get(..end).unwrap_or_default())
}

/// Sends the log until it is to end.
pub fn dump(log: &dyn LogSource, request: &DumpRequest, terms: &DumpTerms, peer: &mut dyn DumpPeer) -> DumpEnd {
    let start = match Start::find(log, request, terms) {
        Ok(start) => start,
        Err(Stop::Fatal(text)) => return DumpEnd::Failed(dump_error(&text)),
        Err(Stop::Peer(_)) => return DumpEnd::Gone,
    };
    let wake = peer.wake();
    let mut dump = Dump {
        log,
        request,
        terms,
        peer,
        file: start.place.file,
        name: start.name.clone(),
        next_name: None,
        position: start.place.pos,
        sums: terms.checksum == ReplicaChecksum::Crc32,
        skipped: false,
        sent: Instant::now(),
        dialect: request.maria.as_ref().map(|maria| Dialect::new(maria.annotates)),
        counted: Position(start.place.pos),
        semi: request.semi_sync.map(|server_id| Semi::new(log.semi_sync(), server_id, start.place)),
        wants_ack: false,
        without_acks: 0,
    };
    if dump.semi.is_some() {
        log.watch(&wake);
    }
    let ended = dump.run(&start);
    dump.peer.state(ENDING);
    let position = dump.position;
    let place = |text: String, name: &str| {
        format!(
            "{text}; the first event '{}' at {}, the last event read from './{name}' at {position}, the last byte read from './{name}' at \
             {position}.",
            start.name, start.place.pos
        )
    };
    match ended {
        Ok(()) | Err(Stop::Peer(DumpStop::Ended)) => DumpEnd::Done,
        Err(Stop::Peer(DumpStop::Gone)) => DumpEnd::Gone,
        Err(Stop::Peer(DumpStop::Replaced)) => DumpEnd::Failed(dump_error(&place(REPLACED.to_string(), &dump.name))),
        Err(Stop::Fatal(text)) => DumpEnd::Failed(dump_error(&place(text, &dump.name))),
    }
}

struct Dump<'d> {
    log: &'d dyn LogSource,
    request: &'d DumpRequest,
    terms: &'d DumpTerms,
    peer: &'d mut dyn DumpPeer,
    file: u32,
    name: String,
    /// As the end of the file has told it.
    next_name: Option<String>,
    /// Behind the last event that was read.
    position: u64,
    /// What is made for the replica has a checksum.
    sums: bool,
    /// Events were left out since the last that was sent.
    skipped: bool,
    /// When the last packet was.
    sent: Instant,
    dialect: Option<Dialect>,
    /// Where a replica of MariaDB takes itself to be.
    counted: Position,
    semi: Option<Semi<'d>>,
    /// Of the event that is sent.
    wants_ack: bool,
    /// Events since acks were looked for.
    without_acks: u32,
}

/// A semi-synchronous replica, as long as it is sent the log.
struct Semi<'d> {
    of: &'d SemiSync,
    key: ReplicaKey,
}

impl Semi<'_> {
    fn new(of: &SemiSync, server_id: u32, has: Place) -> Semi<'_> {
        Semi { of, key: of.add_replica(server_id, has) }
    }
}

impl Drop for Semi<'_> {
    fn drop(&mut self) {
        self.of.remove_replica(self.key);
    }
}

impl Dump<'_> {
    fn run(&mut self, start: &Start) -> Step {
        self.peer.reads(self.file);
        self.peer.state(SENDING);
        self.rotate(start.place.pos)?;
        if let Some(dialect) = &mut self.dialect {
            dialect.begin_file(start.servers.clone());
        }
        if start.place.pos > FIRST_POS {
            self.format_of_file()?;
            if self.request.maria.as_ref().is_some_and(|maria| maria.state.is_some()) {
                self.list(&start.servers, start.place.pos, 0)?;
            }
        }
        if self.is_until_reached() {
            return self.until_reached();
        }
        let mut cursor = self.log.reader(start.place).or_else(|_| fatal(CUT))?;
        self.position = start.place.pos;
        let mut begins_known = start.begins_known;
        loop {
            match cursor.next().or_else(|_| fatal(CUT))? {
                Some(event) => self.event(&event, &mut begins_known)?,
                None => {
                    if self.skipped {
                        self.heartbeat()?;
                    }
                    self.peer.flush()?;
                    if !self.request.waits {
                        return Ok(());
                    }
                    self.wait()?;
                }
            }
            if let Some(stop) = self.peer.stop() {
                return Err(stop.into());
            }
        }
    }

    fn event(&mut self, event: &LogEvent<'_>, begins_known: &mut bool) -> Step {
        if event.start.file != self.file {
            self.next_file(event.start)?;
        }
        let sum = if event.checksum { CHECKSUM_BYTES } else { 0 };
        let code = event.bytes.get(4).copied().unwrap_or(0);
        if code == event_type::FORMAT_DESCRIPTION {
            self.position = event.start.pos + (event.bytes.len() + sum) as u64;
            return self.format(event, false, std::mem::take(begins_known));
        }
        // A MariaDB knows transactions by their numbers, whatever they are called here.
        if self.dialect.is_none() {
            self.check_name(code, event)?;
        }
        if let (Some(known), Some(gtid)) = (&self.request.known, event.gtid)
            && contains(known, gtid)
        {
            self.position = event.start.pos + (event.bytes.len() + sum) as u64;
            self.skipped = true;
            if let Some(semi) = &self.semi {
                semi.of.has(semi.key, Place { file: self.file, pos: self.position });
            }
            if self.terms.heartbeat.is_some_and(|period| self.sent.elapsed() >= period) {
                self.heartbeat()?;
            }
            return Ok(());
        }
        if self.skipped {
            self.heartbeat()?;
        }
        self.position = event.start.pos + (event.bytes.len() + sum) as u64;
        if self.dialect.is_some() {
            self.for_mariadb(event)?;
        }
        if code == event_type::ROTATE {
            let rotate = event.bytes.get(HEADER_BYTES..).and_then(|data| Rotate::decode(data).ok());
            self.next_name = rotate.map(|rotate| String::from_utf8_lossy(rotate.file).into_owned());
        }
        if self.dialect.is_some() {
            return Ok(());
        }
        let place = Place { file: self.file, pos: self.position };
        self.wants_ack = self.semi.as_ref().is_some_and(|semi| semi.of.wants_ack(place));
        self.send(event.bytes, event.checksum)?;
        self.without_acks += 1;
        if std::mem::take(&mut self.wants_ack) {
            self.peer.number_anew()?;
            self.take_acks()?;
        }
        if self.semi.is_some() && self.without_acks >= EVENTS_BETWEEN_ACKS { self.take_acks() } else { Ok(()) }
    }

    fn take_acks(&mut self) -> Step {
        self.without_acks = 0;
        let Some(semi) = &self.semi else { return Ok(()) };
        for place in self.peer.acks()? {
            // Nobody has what is not there.
            if place <= self.log.end() {
                semi.of.acked(semi.key, place);
            }
        }
        Ok(())
    }

    /// Sends what an event is to a MariaDB.
    fn for_mariadb(&mut self, event: &LogEvent<'_>) -> Step {
        let Some(mut dialect) = self.dialect.take() else { return Ok(()) };
        let sent = of_log(dialect.event(event.bytes, event.checksum)).and_then(|as_it_is| {
            let sum = if event.checksum { CHECKSUM_BYTES } else { 0 };
            let mut rest = &dialect.out[..];
            while let Some(length) = rest.get(LENGTH_AT..).and_then(|bytes| bytes.first_chunk()) {
                let (one, others) = rest.split_at_checked(u32::from_le_bytes(*length) as usize - sum).unwrap_or((rest, &[]));
                self.send(one, event.checksum)?;
                rest = others;
            }
            if as_it_is { self.send(event.bytes, event.checksum) } else { Ok(()) }
        });
        let is_between = dialect.is_between();
        self.dialect = Some(dialect);
        sent?;
        if !is_between {
            return Ok(());
        }
        if self.is_until_reached() {
            return self.until_reached();
        }
        // It must not ask for a place that there is not when it comes again. By GTID it does not ask for places.
        let by_position = self.request.maria.as_ref().is_some_and(|maria| maria.state.is_none());
        if by_position && self.counted.0 > self.position { self.set_back() } else { Ok(()) }
    }

    /// A ROTATE sets the position, and wants a format behind it.
    fn set_back(&mut self) -> Step {
        let position = self.position;
        self.rotate(position)?;
        self.format_of_file()?;
        self.position = position;
        Ok(())
    }

    /// START SLAVE UNTIL: there is nothing more that is wanted.
    fn is_until_reached(&self) -> bool {
        let until = self.request.maria.as_ref().and_then(|maria| maria.until.as_ref());
        let until = until.and_then(|until| until.iter().find(|gtid| gtid.domain == maria::DOMAIN));
        match (until, &self.dialect) {
            (Some(until), Some(dialect)) => dialect.is_between() && dialect.last >= until.sequence,
            _ => false,
        }
    }

    fn until_reached(&mut self) -> Step {
        self.list(&Servers::new(), self.position, maria::UNTIL_REACHED)?;
        Err(Stop::Peer(DumpStop::Ended))
    }

    /// The last transactions, for a MariaDB, which takes the position from it.
    fn list(&mut self, servers: &Servers, position: u64, flags: u32) -> Step {
        let mut data = Vec::new();
        Dialect::list(servers, flags, &mut data);
        self.make(event_type::MARIA_GTID_LIST, position as u32, flags::ARTIFICIAL, &data)
    }

    /// Transactions must be named as the mode and the replica want it.
    fn check_name(&self, code: u8, event: &LogEvent<'_>) -> Step {
        let place = || format!("at file ./{}, position {}.", self.name, event.start.pos);
        match code {
            event_type::ANONYMOUS_GTID if self.request.known.is_some() => {
                fatal(format!("Cannot replicate anonymous transaction when AUTO_POSITION = 1, {}", place()))
            }
            event_type::ANONYMOUS_GTID if self.terms.gtid_mode == "ON" => {
                fatal(format!("Cannot replicate anonymous transaction when @@GLOBAL.GTID_MODE = ON, {}", place()))
            }
            event_type::GTID | event_type::GTID_TAGGED if self.terms.gtid_mode == "OFF" => {
                fatal(format!("Cannot replicate GTID-transaction when @@GLOBAL.GTID_MODE = OFF, {}", place()))
            }
            _ => Ok(()),
        }
    }

    fn next_file(&mut self, start: Place) -> Step {
        self.peer.state(SWITCHING);
        self.name = match self.next_name.take() {
            Some(name) => name,
            // The file before was not closed.
            None => match of_log(self.log.files())?.into_iter().find(|file| file.number == start.file) {
                Some(file) => file.name,
                None => return fatal(NO_NEXT),
            },
        };
        if let Some(dialect) = &mut self.dialect {
            let file = of_log(self.log.files())?.into_iter().find(|file| file.number == start.file);
            dialect.begin_file(file.map(|file| file.servers).unwrap_or_default());
        }
        self.file = start.file;
        self.position = start.pos;
        self.peer.reads(self.file);
        self.peer.state(SENDING);
        self.rotate(start.pos)
    }

    /// The format of a file that is not read from its beginning.
    fn format_of_file(&mut self) -> Step {
        let mut cursor = of_log(self.log.reader(Place { file: self.file, pos: FIRST_POS }))?;
        match cursor.next().or_else(|_| fatal(CUT))? {
            Some(event) => {
                self.position = FIRST_POS + event.bytes.len() as u64 + if event.checksum { CHECKSUM_BYTES as u64 } else { 0 };
                self.format(&event, true, true)
            }
            None => fatal(CUT),
        }
    }

    /// `in_the_middle`: the replica must not count it to the position. `goes_on`: nor take it for a start of the server.
    fn format(&mut self, event: &LogEvent<'_>, in_the_middle: bool, goes_on: bool) -> Step {
        if event.checksum && self.terms.checksum == ReplicaChecksum::Unknown {
            return fatal(NO_CHECKSUMS);
        }
        if self.dialect.is_some() {
            return self.format_for_mariadb(event, goes_on);
        }
        // It has a checksum in any case, here if the others have none.
        let sum = if event.checksum { 0 } else { CHECKSUM_BYTES };
        let mut bytes = event.bytes.get(..event.bytes.len().saturating_sub(sum)).unwrap_or_default().to_vec();
        let mut clear = |at: usize| {
            if let Some(field) = bytes.get_mut(at..at + 4) {
                field.fill(0);
            }
        };
        if in_the_middle {
            clear(END_POSITION_AT);
        }
        if goes_on {
            clear(CREATED_AT);
        }
        if let Some(low) = bytes.get_mut(FLAGS_AT) {
            *low &= !(flags::IN_USE as u8);
        }
        self.sums = event.checksum;
        self.send(&bytes, true)
    }

    /// It never counts to the position: it is longer than that of the log.
    fn format_for_mariadb(&mut self, event: &LogEvent<'_>, goes_on: bool) -> Step {
        let created =
            event.bytes.get(CREATED_AT..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let mut data = Vec::new();
        Dialect::format(if goes_on { 0 } else { created }, event.checksum, &mut data);
        self.sums = event.checksum;
        let header = Header {
            timestamp: event.bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)),
            event_type: event_type::FORMAT_DESCRIPTION,
            server_id: self.terms.server_id,
            length: (HEADER_BYTES + data.len() + CHECKSUM_BYTES) as u32,
            end_position: 0,
            flags: 0,
        };
        let mut bytes = Vec::with_capacity(header.length as usize);
        header.encode(&mut bytes);
        bytes.extend_from_slice(&data);
        self.send(&bytes, true)
    }

    fn rotate(&mut self, position: u64) -> Step {
        let mut data = Vec::new();
        Rotate { position, file: self.name.as_bytes() }.encode(&mut data);
        self.make(event_type::ROTATE, 0, flags::ARTIFICIAL, &data)
    }

    /// Tells the position behind what was read.
    fn heartbeat(&mut self) -> Step {
        self.skipped = false;
        let v2 = self.request.heartbeat_v2;
        // A MariaDB does not go back.
        let position = if self.dialect.is_some() { self.position.max(self.counted.0) } else { self.position };
        let mut data = Vec::new();
        Heartbeat { file: self.name.as_bytes(), position: v2.then_some(position) }.encode(&mut data);
        let code = if v2 { event_type::HEARTBEAT_V2 } else { event_type::HEARTBEAT };
        self.make(code, position as u32, 0, &data)
    }

    /// An event that is in no log.
    fn make(&mut self, code: u8, end_position: u32, flags: u16, data: &[u8]) -> Step {
        let sum = if self.sums { CHECKSUM_BYTES } else { 0 };
        let header = Header {
            timestamp: 0,
            event_type: code,
            server_id: self.terms.server_id,
            length: (HEADER_BYTES + data.len() + sum) as u32,
            end_position,
            flags,
        };
        let mut bytes = Vec::with_capacity(header.length as usize);
        header.encode(&mut bytes);
        bytes.extend_from_slice(data);
        self.send(&bytes, self.sums)
    }

    fn send(&mut self, event: &[u8], with_sum: bool) -> Step {
        const OK: &[u8] = &[0];
        let sum = header::checksum(event).to_le_bytes();
        let sum = if with_sum { &sum[..] } else { &[] };
        let head = event_head(self.wants_ack);
        let head = if self.semi.is_some() { &head[..] } else { &[] };
        self.peer.send(&[OK, head, event, sum])?;
        if self.request.maria.is_some() {
            self.count(event);
        }
        self.sent = Instant::now();
        Ok(())
    }

    fn count(&mut self, event: &[u8]) {
        let Some((head, data)) = event.split_at_checked(HEADER_BYTES) else { return };
        if let Ok(header) = Header::decode(&mut Bytes::new(head)) {
            let rotated = Rotate::decode(data).map_or(FIRST_POS, |rotate| rotate.position);
            self.counted.sent(&header, rotated);
        }
    }

    /// Sleeps until the log is beyond `seen`, acks have come, or until then; true: it is beyond.
    fn wait_beyond(&mut self, seen: Place, until: Instant) -> Step<bool> {
        if self.semi.is_none() {
            return Ok(self.log.wait_beyond(seen, until));
        }
        self.take_acks()?;
        self.peer.prepare_wait();
        if self.log.end() <= seen {
            self.peer.wait_for_acks(until);
            self.take_acks()?;
        }
        Ok(self.log.end() > seen)
    }

    /// Until there is more.
    fn wait(&mut self) -> Step {
        let seen = Place { file: self.file, pos: self.position };
        let mut beat = self.terms.heartbeat.map(|period| Instant::now() + period);
        self.peer.state(WAITING);
        loop {
            if let Some(stop) = self.peer.stop() {
                return Err(stop.into());
            }
            let look = Instant::now() + LOOK;
            if self.wait_beyond(seen, beat.map_or(look, |beat| beat.min(look)))? {
                self.peer.state(SENDING);
                return Ok(());
            }
            if self.log.end() < seen {
                // RESET BINARY LOGS AND GTIDS.
                return fatal(NO_NEXT);
            }
            if let (Some(at), Some(period)) = (beat, self.terms.heartbeat)
                && Instant::now() >= at
            {
                self.heartbeat()?;
                self.peer.flush()?;
                beat = Some(at + period);
            }
        }
    }
}
