//! The archived logs of a place: pieces of files, and what can be done with them.
//!
//! * ARCHIVE-1: a piece begins where the one before ends. What cannot be had any more, since the server has purged it, is a hole that is said. An
//!   empty piece says it of a file's end (`note_missing_end`): the next file has nothing to tell it by.
//! * ARCHIVE-2: pieces that are joined are removed only when the whole is stored. Whoever reads takes the longest piece at each place. A listing is no
//!   snapshot, so that one that was made meanwhile may show neither: it counts when the next one is alike.

use std::collections::BTreeMap;
use std::io::Read;

use vaquita_wire::binlog::reader::MAGIC;
use vaquita_wire::binlog::{EventReader, RawEvent, event_type};

use crate::manifest::Backup;
use crate::place::{Object, Place};
use crate::{Failure, Result};

const DIR: &str = "log/";
pub const FIRST_POSITION: u64 = MAGIC.len() as u64;
const READ_BYTES: usize = 1 << 20;
/// So often the pieces are listed while no two listings in a row are alike.
const LISTINGS_MAX: usize = 10;

pub fn piece_name(uuid: &str, file: &str, start: u64, end: u64) -> String {
    format!("{DIR}{uuid}/{file}/{start:020}-{end:020}")
}

#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The same, where a server may join pieces meanwhile (ARCHIVE-2).
fn listed(place: &dyn Place, uuid: &str) -> Result<Files> {
    let mut files = files_of(place, uuid)?;
    for _ in 0..LISTINGS_MAX {
        let again = files_of(place, uuid)?;
        if again == files {
            break;
        }
        files = again;
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

fn chain_end(pieces: &[Piece]) -> u64 {
    chain(pieces).last().map_or(0, |last| last.end)
}

/// Where the first piece is missing in front of others.
fn hole(pieces: &[Piece]) -> Option<u64> {
    let end = chain_end(pieces);
    pieces.iter().any(|piece| piece.end > end).then_some(end)
}

/// Where the archive of each file ends.
pub fn ends(place: &dyn Place, uuid: &str) -> Result<BTreeMap<u64, LogStart>> {
    let end = |(number, (file, pieces)): (u64, (String, Vec<Piece>))| {
        let pos = chain(&pieces).last().map_or(FIRST_POSITION, |last| last.end);
        (number, LogStart { file, pos })
    };
    Ok(files_of(place, uuid)?.into_iter().map(end).collect())
}

/// When a file began, by its first event, in seconds since 1970; it tells two of one name apart.
pub fn begun_s(place: &dyn Place, uuid: &str, file: &str) -> Result<Option<u32>> {
    let files = files_of(place, uuid)?;
    let pieces = files.values().find(|(name, _)| name == file).map_or(&[][..], |(_, pieces)| pieces);
    let Some(first) = chain(pieces).first().map(|piece| piece.name.clone()) else { return Ok(None) };
    let mut head = [0; MAGIC.len() + 4];
    place.open(&first)?.read_exact(&mut head).map_err(|error| format!("{first}: {error}"))?;
    Ok(head.last_chunk().map(|seconds| u32::from_le_bytes(*seconds)))
}

/// Whether the archive has the last event of a file, which a server that did not end in an orderly way has not written.
pub fn has_ended(place: &dyn Place, uuid: &str, file: &str) -> Result<bool> {
    let files = files_of(place, uuid)?;
    let pieces = files.values().find(|(name, _)| name == file).map_or(&[][..], |(_, pieces)| pieces);
    let mut last = None;
    read_events(place, &chain(pieces), &mut |event| {
        last = Some(event.header.event_type);
        Ok(true)
    })?;
    Ok(matches!(last, Some(event_type::ROTATE | event_type::STOP)))
}

/// What follows in a file is not archived, and cannot be any more.
pub fn note_missing_end(place: &dyn Place, uuid: &str, file: &str) -> Result<()> {
    place.create(&piece_name(uuid, file, u64::MAX, u64::MAX))?.finish()
}

/// Makes one piece of a file that is complete (ARCHIVE-2).
pub fn join(place: &dyn Place, uuid: &str, file: &str) -> Result<()> {
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
    let mut findings = look(place)?;
    if !findings.is_empty() {
        // A server may have joined or removed pieces meanwhile, but not the same ones twice.
        let again = look(place)?;
        findings.retain(|finding| again.contains(finding));
    }
    Ok(findings)
}

fn look(place: &dyn Place) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for uuid in uuids(place)? {
        let mut before: Option<u64> = None;
        for (number, (file, pieces)) in listed(place, &uuid)? {
            if before.is_some_and(|before| before + 1 != number) {
                findings.push(format!("log of {uuid}: files are missing in front of {file}"));
            }
            before = Some(number);
            if let Some(at) = hole(&pieces) {
                findings.push(format!("log of {uuid}: a piece of {file} is missing at {at}"));
            }
            if let Err(error) = read_events(place, &chain(&pieces), &mut |_| Ok(true)) {
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
        Ok(ArchivedLog { place, uuid: uuid.to_string(), files: listed(place, uuid)? })
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
            let from = if *number == first { start.pos } else { 0 };
            let goes_on = self.read_file(*number, pieces, from, &mut |event| each(file, event));
            if !goes_on.map_err(|error| format!("archived log {file}: {error}"))? {
                return Ok(());
            }
            if let Some(at) = hole(pieces) {
                return Err(self.missing(&format!("what begins at {at} in {file}")));
            }
        }
        match self.files.last_key_value() {
            Some((last, _)) if *last < first => Err(self.missing(&start.file)),
            Some((last, _)) if expected <= *last => Err(self.missing(&format!("the file in front of number {}", expected + 1))),
            None => Err(self.missing(&start.file)),
            Some(_) => Ok(()),
        }
    }

    /// Events of a file behind `from`, and its format description; whether more are wanted. Pieces may be joined meanwhile (ARCHIVE-2).
    fn read_file(
        &self,
        number: u64,
        pieces: &[Piece],
        from: u64,
        each: &mut dyn FnMut(&RawEvent<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let (mut from, mut begun, mut is_refused) = (from, false, false);
        let mut pieces = pieces.to_vec();
        loop {
            let read = read_events(self.place, &chain(&pieces), &mut |event| {
                let is_format = event.header.event_type == event_type::FORMAT_DESCRIPTION;
                if event.position < from && (begun || !is_format) {
                    return Ok(true);
                }
                begun |= is_format;
                from = from.max(event.position + event.bytes.len() as u64);
                each(event).inspect_err(|_| is_refused = true)
            });
            if read.is_ok() || is_refused {
                return read;
            }
            let now = listed(self.place, &self.uuid)?.remove(&number).map_or_else(Vec::new, |(_, pieces)| pieces);
            let were_joined = pieces.iter().any(|piece| !now.contains(piece)) && chain_end(&now) >= chain_end(&pieces);
            if !were_joined {
                return read;
            }
            pieces = now;
        }
    }

    fn missing(&self, what: &str) -> Failure {
        format!("{} of the log of server {} is not archived in {}", what, self.uuid, self.place.shown()).into()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;
    use std::time::Duration;

    use vaquita_wire::binlog::header::HEADER_BYTES;

    use super::*;
    use crate::archive::LogArchive;
    use crate::directory::Directory;

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

    /// Events of nothing but a header, from `start` to `end`.
    fn store(place: &dyn Place, start: u64, end: u64) {
        let mut upload = place.create(&piece_name("u", "binlog.000001", start, end)).unwrap();
        let first = if start == 0 { FIRST_POSITION } else { start };
        if start == 0 {
            upload.write_all(&MAGIC).unwrap();
        }
        for event_end in (first..=end).step_by(HEADER_BYTES).skip(1) {
            let numbers = [0, HEADER_BYTES as u32, event_end as u32].map(u32::to_le_bytes);
            let header = [&[0; 4][..], &[event_type::QUERY], numbers.as_flattened(), &[0; 2]].concat();
            upload.write_all(&header).unwrap();
        }
        upload.finish().unwrap();
    }

    const FIRST_END: u64 = FIRST_POSITION + 2 * HEADER_BYTES as u64;

    /// A place with pieces of two, one and two events.
    fn three_pieces(dir: &Path) -> Directory {
        let place = Directory::open(&dir.join("backups"), true).unwrap();
        let one = HEADER_BYTES as u64;
        for (start, end) in [(0, FIRST_END), (FIRST_END, FIRST_END + one), (FIRST_END + one, FIRST_END + 3 * one)] {
            store(&place, start, end);
        }
        place
    }

    fn positions(place: &dyn Place, mut each: impl FnMut(u64)) -> Result<Vec<u64>> {
        let (log, mut found) = (ArchivedLog::open(place, "u")?, Vec::new());
        log.events(&LogStart { file: "binlog.000001".into(), pos: FIRST_POSITION }, &mut |_, event| {
            each(event.position);
            found.push(event.position);
            Ok(true)
        })?;
        Ok(found)
    }

    #[test]
    fn pieces_that_are_joined_while_they_are_read_give_each_event_once() {
        let dir = tempfile::tempdir().unwrap();
        let place = three_pieces(dir.path());
        let wanted: Vec<u64> = (0..5).map(|n| FIRST_POSITION + n * HEADER_BYTES as u64).collect();
        assert_eq!(positions(&place, |_| {}).unwrap(), wanted);
        let found = positions(&place, |at| {
            if at == FIRST_POSITION {
                join(&place, "u", "binlog.000001").unwrap();
            }
        });
        assert_eq!(found.unwrap(), wanted);
        assert_eq!(verify(&place).unwrap(), [] as [String; 0]);
    }

    #[test]
    fn a_piece_that_is_missing_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let place = three_pieces(dir.path());
        place.remove(&piece_name("u", "binlog.000001", FIRST_END, FIRST_END + HEADER_BYTES as u64)).unwrap();
        let error = positions(&place, |_| {}).unwrap_err().to_string();
        assert!(error.starts_with(&format!("what begins at {FIRST_END} in binlog.000001 ")), "{error}");
        assert_eq!(verify(&place).unwrap(), [format!("log of u: a piece of binlog.000001 is missing at {FIRST_END}")]);
        // One that goes while it is read, too.
        let place = three_pieces(&dir.path().join("other"));
        let removed = positions(&place, |_| {
            place.remove(&piece_name("u", "binlog.000001", FIRST_END, FIRST_END + HEADER_BYTES as u64)).unwrap();
        });
        assert!(removed.unwrap_err().to_string().ends_with(" is missing"));
    }

    fn go_on(place: &dyn Place, on_server: &[&str]) -> Vec<String> {
        let on_server: Vec<String> = on_server.iter().map(|name| name.to_string()).collect();
        let mut lines = Vec::new();
        let told = &mut |line: &str| lines.push(line.to_string());
        let archive = LogArchive::go_on(place, "u", &on_server, true, Duration::ZERO, told).unwrap();
        assert_eq!(archive.start(), LogStart { file: on_server[0].clone(), pos: FIRST_POSITION });
        lines
    }

    #[test]
    fn the_end_of_a_file_that_was_purged_before_it_was_archived_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let place = three_pieces(dir.path());
        let end = FIRST_END + 3 * HEADER_BYTES as u64;
        assert_eq!(go_on(&place, &["binlog.000002"]).len(), 1);
        assert_eq!(verify(&place).unwrap(), [format!("log of u: a piece of binlog.000001 is missing at {end}")]);
        let error = positions(&place, |_| {}).unwrap_err().to_string();
        assert!(error.starts_with(&format!("what begins at {end} in binlog.000001 ")), "{error}");
        // It is said once, whoever goes on.
        go_on(&place, &["binlog.000002"]);
        assert_eq!(verify(&place).unwrap().len(), 1);
    }

    #[test]
    fn a_file_that_was_archived_to_its_end_lacks_nothing_when_it_is_purged() {
        let dir = tempfile::tempdir().unwrap();
        let place = three_pieces(dir.path());
        let end = FIRST_END + 3 * HEADER_BYTES as u64;
        let numbers = [0, HEADER_BYTES as u32, end as u32 + HEADER_BYTES as u32].map(u32::to_le_bytes);
        let mut upload = place.create(&piece_name("u", "binlog.000001", end, end + HEADER_BYTES as u64)).unwrap();
        upload.write_all(&[&[0; 4][..], &[event_type::STOP], numbers.as_flattened(), &[0; 2]].concat()).unwrap();
        upload.finish().unwrap();
        assert_eq!(go_on(&place, &["binlog.000002"]), [] as [String; 0]);
        assert_eq!(verify(&place).unwrap(), [] as [String; 0]);
        assert_eq!(go_on(&place, &["binlog.000003"]).len(), 1);
    }

    #[test]
    fn files_have_numbers() {
        assert_eq!(number_of("binlog.000007"), Some(7));
        assert_eq!(number_of("mysql-bin.1000000"), Some(1_000_000));
        assert_eq!(number_of("binlog"), None);
    }
}
