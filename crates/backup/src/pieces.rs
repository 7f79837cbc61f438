//! The archived logs of a place: pieces of files, and what can be done with them.
//!
//! * ARCHIVE-1: a piece begins where the one before ends. What cannot be had any more, since the server has purged it, is a hole that is said.
//! * ARCHIVE-2: pieces that are joined are removed only when the whole is stored. Whoever reads takes the longest piece at each place.

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

pub fn piece_name(uuid: &str, file: &str, start: u64, end: u64) -> String {
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
