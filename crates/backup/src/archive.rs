//! The binary log in a place: taken while a server writes it, and read again for a restore to a point in time.
//!
//! It is taken as a replica takes it. Every second, or when much has come, what has come is stored as a piece: `log/UUID/FILE/START-END`. When the server
//! begins its next file, the pieces of the one before become one. So the pieces of a file, joined, are the file as MySQL's tools read it.
//!
//! * ARCHIVE-1: a piece begins where the one before ends. What cannot be had any more, since the server has purged it, is a hole that is said.
//! * ARCHIVE-2: pieces that are joined are removed only when the whole is stored. Whoever reads takes the longest piece at each place.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use vaquita_replication::address::Address;
use vaquita_replication::connection::{Connection, SourceError, error_of, is_eof};
use vaquita_wire::binlog::header::flags::ARTIFICIAL;
use vaquita_wire::binlog::reader::MAGIC;
use vaquita_wire::binlog::{ChecksumAlgorithm, Decoder, Event, EventReader, FormatDescription, RawEvent, event_type};
use vaquita_wire::codec::{put_u16, put_u32};

use crate::manifest::Backup;
use crate::place::{Object, Place};
use crate::{Failure, Result};

const DIR: &str = "log/";
const COM_BINLOG_DUMP: u8 = 0x12;
const NON_BLOCK: u16 = 1;
const FIRST_POSITION: u64 = MAGIC.len() as u64;
const PIECE_BYTES: usize = 8 << 20;
const READ_BYTES: usize = 1 << 20;
/// Numbers that replicas of people have are smaller.
const SERVER_IDS: std::ops::Range<u32> = 0xff00_0000..0xffff_ffff;
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(30);
/// The server has not what is asked for.
const ER_SOURCE_FATAL_ERROR_READING_BINLOG: u16 = 1236;
/// Numbers of errors that MySQL's client library makes: the connection's, which may come back.
const CLIENT_ERRORS: std::ops::Range<u16> = 2000..3000;

pub struct ArchiveOptions {
    pub source: Address,
    /// What has come is stored after so long.
    pub delay: Duration,
    /// End when all that is there is archived.
    pub once: bool,
}

/// Archives a server's log until it is told to stop. `told` gets a line when something is to be known.
pub fn archive(place: &dyn Place, options: &ArchiveOptions, stop: &AtomicBool, told: &mut dyn FnMut(&str)) -> Result<()> {
    let mut pause = RETRY_FIRST;
    loop {
        let began = Instant::now();
        match follow(place, options, stop, told) {
            Ok(()) => return Ok(()),
            Err(Ended::Failed(error)) => return Err(error),
            Err(Ended::Lost(error)) => {
                if stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if options.once {
                    return Err(format!("{}: {error}", options.source).into());
                }
                if began.elapsed() > RETRY_MAX {
                    pause = RETRY_FIRST;
                }
                told(&format!("{}: {error}; the next try is in {:.1} s", options.source, pause.as_secs_f64()));
                let until = Instant::now() + pause;
                while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(50));
                }
                pause = (pause * 2).min(RETRY_MAX);
            }
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
}

enum Ended {
    /// The connection broke.
    Lost(SourceError),
    Failed(Failure),
}

impl From<SourceError> for Ended {
    fn from(error: SourceError) -> Ended {
        match CLIENT_ERRORS.contains(&error.number) {
            true => Ended::Lost(error),
            false => Ended::Failed(error.into()),
        }
    }
}

impl From<Failure> for Ended {
    fn from(error: Failure) -> Ended {
        Ended::Failed(error)
    }
}

fn follow(
    place: &dyn Place,
    options: &ArchiveOptions,
    stop: &AtomicBool,
    told: &mut dyn FnMut(&str),
) -> std::result::Result<(), Ended> {
    let mut connection = Connection::open(&options.source.target())?;
    let text = |value: Option<Vec<u8>>| String::from_utf8_lossy(&value.unwrap_or_default()).into_owned();
    let uuid = text(connection.query("SELECT @@GLOBAL.server_uuid")?);
    if uuid.is_empty() || connection.is_mariadb() {
        return Err(Failure::from("only the log of a server with a UUID is archived: MySQL's and Vaquita's").into());
    }
    let on_server = log_names(&mut connection)?;
    let checksum = connection.query("SELECT @@GLOBAL.binlog_checksum")?.unwrap_or_default();
    connection
        .query("SET @source_binlog_checksum = @@GLOBAL.binlog_checksum, @master_binlog_checksum = @@GLOBAL.binlog_checksum")?;
    let period = options.delay.as_nanos();
    connection.query(&format!("SET @source_heartbeat_period = {period}, @master_heartbeat_period = {period}"))?;
    let mut taken = LogArchive::go_on(place, &uuid, &on_server, checksum == b"CRC32", options.delay, told)?;
    let start = taken.start();
    connection.command(&dump(&start.file, start.pos, options.once))?;
    while !stop.load(Ordering::Relaxed) {
        let packet = connection.packet().inspect_err(|_| {
            let _ = taken.store();
        })?;
        match packet.split_first() {
            Some((0, event)) => taken.event(event)?,
            _ if is_eof(&packet) => break,
            _ => {
                let error = error_of(&packet);
                if error.number == ER_SOURCE_FATAL_ERROR_READING_BINLOG {
                    return Err(Ended::Failed(
                        format!("the server cannot send {} from {}: {}", start.file, start.pos, error.text).into(),
                    ));
                }
                return Err(error.into());
            }
        }
    }
    taken.store()?;
    match options.once || stop.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err(Ended::Lost(SourceError::new(CLIENT_ERRORS.start, "the server has ended its log"))),
    }
}

fn log_names(connection: &mut Connection) -> std::result::Result<Vec<String>, SourceError> {
    let mut names = Vec::new();
    connection.run(b"SHOW BINARY LOGS", &mut |row| {
        if let Some(Some(name)) = row.into_iter().next() {
            names.push(String::from_utf8_lossy(&name).into_owned());
        }
    })?;
    Ok(names)
}

fn dump(file: &str, pos: u64, once: bool) -> Vec<u8> {
    let mut command = vec![COM_BINLOG_DUMP];
    put_u32(&mut command, pos as u32);
    put_u16(&mut command, if once { NON_BLOCK } else { 0 });
    put_u32(&mut command, if once { 0 } else { rand::random_range(SERVER_IDS) });
    command.extend_from_slice(file.as_bytes());
    command
}

/// A server's log as it is archived: what has come of a file and is not stored yet.
pub struct LogArchive<'p> {
    place: &'p dyn Place,
    uuid: String,
    file: String,
    /// Where `bytes` begin; the first event of a file is stored with what stands in front of it.
    pos: u64,
    bytes: Vec<u8>,
    since: Option<Instant>,
    has_checksums: bool,
    delay: Duration,
}

impl<'p> LogArchive<'p> {
    /// Goes on where the archive of this server ends. `on_server`: the files of its log, the oldest first.
    pub fn go_on(
        place: &'p dyn Place,
        uuid: &str,
        on_server: &[String],
        has_checksums: bool,
        delay: Duration,
        told: &mut dyn FnMut(&str),
    ) -> Result<LogArchive<'p>> {
        let Some(oldest) = on_server.first() else { return Err("the server writes no binary log".into()) };
        let beginning = LogStart { file: oldest.clone(), pos: FIRST_POSITION };
        let mut start = match ends(place, uuid)?.into_values().next_back() {
            None => beginning,
            Some(end) if on_server.contains(&end.file) => end,
            // Pieces of two logs must not be taken for one.
            Some(end) if number_of(&end.file) > on_server.last().and_then(|newest| number_of(newest)) => {
                return Err(format!(
                    "the archive ends in {}, which this server has not begun: its log was reset. Archive it to another place",
                    end.file
                )
                .into());
            }
            Some(end) => {
                let LogStart { file, pos } = end;
                told(&format!("the server has purged {file}: what followed position {pos} there is not in the archive"));
                beginning
            }
        };
        if start.pos > u64::from(u32::MAX) {
            // The command that asks for a log has no room for more: the file is taken once more.
            start.pos = FIRST_POSITION;
        }
        let LogStart { file, pos } = start;
        Ok(LogArchive { place, uuid: uuid.to_string(), file, pos, bytes: Vec::new(), since: None, has_checksums, delay })
    }

    /// From where on the log is to be sent.
    pub fn start(&self) -> LogStart {
        LogStart { file: self.file.clone(), pos: self.pos }
    }

    /// Everything that has come is stored.
    pub fn is_stored(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next event, as the server sends it, heartbeats too.
    pub fn event(&mut self, bytes: &[u8]) -> Result<()> {
        let damage = |error: &dyn std::fmt::Display| Failure::from(format!("the server's log is damaged: {error}"));
        if bytes.get(4) == Some(&event_type::FORMAT_DESCRIPTION) {
            let data = bytes.get(vaquita_wire::binlog::header::HEADER_BYTES..).unwrap_or_default();
            let format = FormatDescription::decode(data).map_err(|error| damage(&error))?;
            self.has_checksums = format.checksum == Some(ChecksumAlgorithm::Crc32);
        }
        let raw = RawEvent::of_packet(bytes, self.has_checksums).map_err(|error| damage(&error))?;
        let is_artificial = raw.header.flags & ARTIFICIAL != 0 || raw.header.end_position == 0;
        match raw.header.event_type {
            event_type::ROTATE if is_artificial => {
                let Ok(Event::Rotate(rotate)) = Decoder::default().decode(&raw) else { return Err(damage(&"a ROTATE event")) };
                let file = String::from_utf8_lossy(rotate.file).into_owned();
                if file != self.file {
                    self.store()?;
                    join(self.place, &self.uuid, &self.file)?;
                    self.file = file;
                    self.pos = FIRST_POSITION;
                }
            }
            event_type::HEARTBEAT | event_type::HEARTBEAT_V2 => {}
            _ if is_artificial => {}
            _ => {
                let end = self.pos + self.bytes.len() as u64 + bytes.len() as u64;
                if raw.header.end_position != end as u32 {
                    let text = format!(
                        "{} at {}: the event says that it ends at {}",
                        self.file,
                        end - bytes.len() as u64,
                        raw.header.end_position
                    );
                    return Err(damage(&text));
                }
                self.since.get_or_insert_with(Instant::now);
                self.bytes.extend_from_slice(bytes);
            }
        }
        if self.bytes.len() >= PIECE_BYTES || self.since.is_some_and(|since| since.elapsed() >= self.delay) {
            self.store()?;
        }
        Ok(())
    }

    /// Stores what has come.
    pub fn store(&mut self) -> Result<()> {
        self.since = None;
        if self.bytes.is_empty() {
            return Ok(());
        }
        let (start, end) = (self.pos, self.pos + self.bytes.len() as u64);
        let is_first = start == FIRST_POSITION;
        let start = if is_first { 0 } else { start };
        let mut upload = self.place.create(&piece_name(&self.uuid, &self.file, start, end))?;
        if is_first {
            upload.write_all(&MAGIC)?;
        }
        upload.write_all(&self.bytes)?;
        upload.finish()?;
        self.pos = end;
        self.bytes.clear();
        Ok(())
    }
}

fn piece_name(uuid: &str, file: &str, start: u64, end: u64) -> String {
    format!("{DIR}{uuid}/{file}/{start:020}-{end:020}")
}

#[derive(Clone, Debug)]
struct Piece {
    name: String,
    start: u64,
    end: u64,
}

/// The pieces of each file of a server, in the order of files.
type Files = BTreeMap<u64, (String, Vec<Piece>)>;

fn files_of(place: &dyn Place, uuid: &str) -> Result<Files> {
    let prefix = format!("{DIR}{uuid}/");
    let mut files = Files::new();
    for Object { name, .. } in place.list(&prefix)? {
        let parsed = name.strip_prefix(&prefix).and_then(|rest| {
            let (file, span) = rest.split_once('/')?;
            let (start, end) = span.split_once('-')?;
            Some((number_of(file)?, file.to_string(), start.parse().ok()?, end.parse().ok()?))
        });
        let Some((number, file, start, end)) = parsed else {
            return Err(format!("{}/{name} is no piece of a log", place.shown()).into());
        };
        files.entry(number).or_insert_with(|| (file, Vec::new())).1.push(Piece { name, start, end });
    }
    Ok(files)
}

/// Of `binlog.000007`.
pub fn number_of(file: &str) -> Option<u64> {
    file.rsplit_once('.')?.1.parse().ok()
}

/// Pieces that follow on each other from the file's beginning (ARCHIVE-2).
fn chain(pieces: &[Piece]) -> Vec<&Piece> {
    let (mut chain, mut pos) = (Vec::new(), 0);
    while let Some(next) = pieces.iter().filter(|piece| piece.start == pos && piece.end > pos).max_by_key(|piece| piece.end) {
        chain.push(next);
        pos = next.end;
    }
    chain
}

/// Where the archive of each file ends.
fn ends(place: &dyn Place, uuid: &str) -> Result<BTreeMap<u64, LogStart>> {
    let end = |(number, (file, pieces)): (u64, (String, Vec<Piece>))| {
        let pos = chain(&pieces).last().map_or(FIRST_POSITION, |last| last.end);
        (number, LogStart { file, pos })
    };
    Ok(files_of(place, uuid)?.into_iter().map(end).collect())
}

/// Makes one piece of a file that is complete (ARCHIVE-2).
fn join(place: &dyn Place, uuid: &str, file: &str) -> Result<()> {
    let Some((_, (_, pieces))) = files_of(place, uuid)?.into_iter().find(|(_, (name, _))| name == file) else { return Ok(()) };
    let chain = chain(&pieces);
    let (Some(first), Some(last)) = (chain.first(), chain.last()) else { return Ok(()) };
    let whole = piece_name(uuid, file, first.start, last.end);
    if chain.len() > 1 {
        let mut upload = place.create(&whole)?;
        for piece in &chain {
            std::io::copy(&mut place.open(&piece.name)?, &mut upload).map_err(|error| format!("{}: {error}", piece.name))?;
        }
        upload.finish()?;
    }
    pieces.iter().filter(|piece| piece.name != whole).try_for_each(|piece| place.remove(&piece.name))
}

/// Removes files that are older than what any kept backup of their server begins with.
pub fn remove_unneeded(place: &dyn Place, kept: &[Backup]) -> Result<()> {
    for uuid in uuids(place)? {
        let needed =
            kept.iter().filter(|backup| backup.server_uuid == uuid).filter_map(|backup| number_of(&backup.log_file)).min();
        let Some(needed) = needed else { continue };
        for (_, (_, pieces)) in files_of(place, &uuid)?.range(..needed) {
            pieces.iter().try_for_each(|piece| place.remove(&piece.name))?;
        }
    }
    Ok(())
}

fn uuids(place: &dyn Place) -> Result<Vec<String>> {
    let uuid = |object: &Object| Some(object.name.strip_prefix(DIR)?.split('/').next()?.to_string());
    let mut uuids: Vec<String> = place.list(DIR)?.iter().filter_map(uuid).collect();
    uuids.dedup();
    Ok(uuids)
}

/// What is wrong with archived logs: holes, and events whose checksums are wrong.
pub fn verify(place: &dyn Place) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for uuid in uuids(place)? {
        let mut before: Option<u64> = None;
        for (number, (file, pieces)) in files_of(place, &uuid)? {
            if before.is_some_and(|before| before + 1 != number) {
                findings.push(format!("log of {uuid}: files are missing in front of {file}"));
            }
            before = Some(number);
            let end = pieces.iter().map(|piece| piece.end).max().unwrap_or(0);
            let chain = chain(&pieces);
            let reached = chain.last().map_or(0, |last| last.end);
            if reached < end {
                findings.push(format!("log of {uuid}: a piece of {file} is missing at {reached}"));
            }
            if let Err(error) = read_events(place, &chain, &mut |_| Ok(true)) {
                findings.push(format!("log of {uuid}: {file}: {error}"));
            }
        }
    }
    Ok(findings)
}

/// Reads events of a file until `each` says that it is enough.
fn read_events(place: &dyn Place, chain: &[&Piece], each: &mut dyn FnMut(&RawEvent<'_>) -> Result<bool>) -> Result<bool> {
    let mut reader = EventReader::of_file();
    let mut bytes = vec![0; READ_BYTES];
    for piece in chain {
        let (mut content, mut read) = (place.open(&piece.name)?, 0);
        loop {
            let len = content.read(&mut bytes).map_err(|error| format!("{}: {error}", piece.name))?;
            if len == 0 {
                break;
            }
            read += len as u64;
            reader.feed(&bytes[..len]);
            loop {
                let position = reader.position();
                let event = reader.next_event().map_err(|error| format!("{} is damaged at {position}: {error}", piece.name))?;
                let Some(event) = event else { break };
                if !each(&event)? {
                    return Ok(false);
                }
            }
        }
        if read != piece.end - piece.start {
            return Err(format!("{} has {read} bytes, and not those that its name says", piece.name).into());
        }
    }
    reader.end().map_err(|error| format!("damaged at {}: {error}", reader.position()))?;
    Ok(true)
}

/// A place in a server's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogStart {
    pub file: String,
    pub pos: u64,
}

/// The archived log of one server.
pub struct ArchivedLog<'p> {
    place: &'p dyn Place,
    uuid: String,
    files: Files,
}

impl ArchivedLog<'_> {
    pub fn open<'p>(place: &'p dyn Place, uuid: &str) -> Result<ArchivedLog<'p>> {
        Ok(ArchivedLog { place, uuid: uuid.to_string(), files: files_of(place, uuid)? })
    }

    /// Where it ends; `None` if nothing of the log is archived.
    pub fn end(&self) -> Option<LogStart> {
        let (file, pieces) = self.files.values().next_back()?;
        Some(LogStart { file: file.clone(), pos: chain(pieces).last().map_or(FIRST_POSITION, |last| last.end) })
    }

    /// Events behind `start`, each with its file, until `each` says that it is enough. The format description of the first file comes in any case.
    pub fn events(&self, start: &LogStart, each: &mut dyn FnMut(&str, &RawEvent<'_>) -> Result<bool>) -> Result<()> {
        let first = number_of(&start.file).ok_or_else(|| format!("'{}' is no name of a binary log", start.file))?;
        let mut expected = first;
        for (number, (file, pieces)) in self.files.range(first..) {
            if *number != expected {
                break;
            }
            expected += 1;
            let chain = chain(pieces);
            let from = if *number == first { start.pos } else { 0 };
            let goes_on = read_events(self.place, &chain, &mut |event| {
                let is_format = event.header.event_type == event_type::FORMAT_DESCRIPTION;
                if event.position < from && !is_format {
                    return Ok(true);
                }
                each(file, event)
            });
            if !goes_on.map_err(|error| format!("archived log {file}: {error}"))? {
                return Ok(());
            }
        }
        match self.files.last_key_value() {
            Some((last, _)) if *last < first => Err(self.missing(&start.file)),
            Some((last, _)) if expected <= *last => Err(self.missing(&format!("the file in front of number {}", expected + 1))),
            None => Err(self.missing(&start.file)),
            Some(_) => Ok(()),
        }
    }

    fn missing(&self, what: &str) -> Failure {
        format!("{} of the log of server {} is not archived in {}", what, self.uuid, self.place.shown()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: u64, end: u64) -> Piece {
        Piece { name: format!("{start}-{end}"), start, end }
    }

    #[test]
    fn the_longest_piece_is_taken_at_each_place() {
        let spans = |pieces: &[Piece]| chain(pieces).iter().map(|piece| (piece.start, piece.end)).collect::<Vec<_>>();
        assert_eq!(spans(&[piece(0, 10), piece(10, 20), piece(20, 30)]), [(0, 10), (10, 20), (20, 30)]);
        assert_eq!(spans(&[piece(0, 10), piece(0, 20), piece(10, 20), piece(20, 30)]), [(0, 20), (20, 30)]);
        assert_eq!(spans(&[piece(0, 10), piece(20, 30)]), [(0, 10)]);
        assert_eq!(spans(&[piece(10, 20)]), []);
    }

    #[test]
    fn files_have_numbers() {
        assert_eq!(number_of("binlog.000007"), Some(7));
        assert_eq!(number_of("mysql-bin.1000000"), Some(1_000_000));
        assert_eq!(number_of("binlog"), None);
    }
}
