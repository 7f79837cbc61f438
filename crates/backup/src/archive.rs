//! A server's binary log, taken into a place while the server writes it.
//!
//! It is taken as a replica takes it. Every second, or when much has come, what has come is stored as a piece: `log/UUID/FILE/START-END`. When the server
//! begins its next file, the pieces of the one before become one. So the pieces of a file, joined, are the file as MySQL's tools read it.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use vaquita_replication::address::Address;
use vaquita_replication::connection::{Connection, SourceError, error_of, is_eof};
use vaquita_wire::binlog::header::flags::ARTIFICIAL;
use vaquita_wire::binlog::reader::MAGIC;
use vaquita_wire::binlog::{ChecksumAlgorithm, Decoder, Event, FormatDescription, RawEvent, event_type};
use vaquita_wire::codec::{put_u16, put_u32};

use crate::pieces::{FIRST_POSITION, LogStart, begun_s, ends, has_ended, join, note_missing_end, number_of, piece_name};
use crate::place::Place;
use crate::{Failure, Result};

const COM_BINLOG_DUMP: u8 = 0x12;
const NON_BLOCK: u16 = 1;
const PIECE_BYTES: usize = 8 << 20;
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
                        format!("the server cannot send {} from {} (was its log reset?): {}", start.file, start.pos, error.text)
                            .into(),
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

fn was_reset(file: &str) -> Failure {
    format!("the archive ends in another {file} than the server has: its log was reset. Archive it to another place").into()
}

/// A server's log as it is archived: what has come of a file and is not stored yet.
pub struct LogArchive<'p> {
    place: &'p dyn Place,
    uuid: String,
    file: String,
    /// Where `bytes` begin; the first event of a file is stored with what stands in front of it.
    pos: u64,
    bytes: Vec<u8>,
    /// When the file began in which the archive goes on, until the server has said that its own did then, too.
    begun_s: Option<u32>,
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
                return Err(was_reset(&end.file));
            }
            Some(end) => {
                let LogStart { file, pos } = end;
                let is_whole = has_ended(place, uuid, &file)?;
                if !is_whole {
                    note_missing_end(place, uuid, &file)?;
                }
                let follows = number_of(oldest) == number_of(&file).map(|number| number + 1);
                if !is_whole || !follows {
                    told(&format!("the server has purged {file}: what followed position {pos} there is not in the archive"));
                }
                beginning
            }
        };
        if start.pos > u64::from(u32::MAX) {
            // The command that asks for a log has no room for more: the file is taken once more.
            start.pos = FIRST_POSITION;
        }
        let LogStart { file, pos } = start;
        let begun_s = if pos > FIRST_POSITION { begun_s(place, uuid, &file)? } else { None };
        let uuid = uuid.to_string();
        Ok(LogArchive { place, uuid, file, pos, bytes: Vec::new(), begun_s, since: None, has_checksums, delay })
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
            // What the file began with is sent first wherever a dump begins, with the time at which it began.
            event_type::FORMAT_DESCRIPTION if is_artificial => {
                if self.begun_s.take().is_some_and(|begun_s| begun_s != raw.header.timestamp) {
                    return Err(was_reset(&self.file));
                }
            }
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
