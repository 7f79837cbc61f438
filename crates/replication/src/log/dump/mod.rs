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
//! say that it knows checksums gets none of a log that has them. Texts and order of the errors are those of MySQL 9.7.

mod start;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use vaquita_types::errno::ER_SOURCE_FATAL_ERROR_READING_BINLOG;
use vaquita_types::gtid::{GtidSet, Uuid};
use vaquita_types::{Error, Result};
use vaquita_wire::binlog::header::{self, CHECKSUM_BYTES, HEADER_BYTES, flags};
use vaquita_wire::binlog::{Header, Heartbeat, Rotate, event_type};

use super::source::LogSource;
use super::{FIRST_POS, LogEvent, Place};
use start::{Start, contains};

/// How long a dump that waits does not look whether it is to end.
const LOOK: Duration = Duration::from_millis(200);
/// MySQL's bound of an error's text.
const ERROR_BYTES_MAX: usize = 511;
const END_POSITION_AT: usize = 13;
const FLAGS_AT: usize = 17;
/// Behind the header: the version of the log and of the server.
const CREATED_AT: usize = HEADER_BYTES + 2 + 50;

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
    };
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
}

impl Dump<'_> {
    fn run(&mut self, start: &Start) -> Step {
        self.peer.reads(self.file);
        self.peer.state(SENDING);
        self.rotate(start.place.pos)?;
        if start.place.pos > FIRST_POS {
            self.format_of_file()?;
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
        self.check_name(code, event)?;
        if let (Some(known), Some(gtid)) = (&self.request.known, event.gtid)
            && contains(known, gtid)
        {
            self.position = event.start.pos + (event.bytes.len() + sum) as u64;
            self.skipped = true;
            if self.terms.heartbeat.is_some_and(|period| self.sent.elapsed() >= period) {
                self.heartbeat()?;
            }
            return Ok(());
        }
        if self.skipped {
            self.heartbeat()?;
        }
        self.position = event.start.pos + (event.bytes.len() + sum) as u64;
        if code == event_type::ROTATE {
            let rotate = event.bytes.get(HEADER_BYTES..).and_then(|data| Rotate::decode(data).ok());
            self.next_name = rotate.map(|rotate| String::from_utf8_lossy(rotate.file).into_owned());
        }
        self.send(event.bytes, event.checksum)
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

    fn rotate(&mut self, position: u64) -> Step {
        let mut data = Vec::new();
        Rotate { position, file: self.name.as_bytes() }.encode(&mut data);
        self.make(event_type::ROTATE, 0, flags::ARTIFICIAL, &data)
    }

    /// Tells the position behind what was read.
    fn heartbeat(&mut self) -> Step {
        self.skipped = false;
        let v2 = self.request.heartbeat_v2;
        let mut data = Vec::new();
        Heartbeat { file: self.name.as_bytes(), position: v2.then_some(self.position) }.encode(&mut data);
        let code = if v2 { event_type::HEARTBEAT_V2 } else { event_type::HEARTBEAT };
        self.make(code, self.position as u32, 0, &data)
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
        self.peer.send(&[OK, event, sum])?;
        self.sent = Instant::now();
        Ok(())
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
            if self.log.wait_beyond(seen, beat.map_or(look, |beat| beat.min(look))) {
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
