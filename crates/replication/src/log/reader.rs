//! Events of the log in their order, one after the other, over its files.

use std::sync::Arc;

use vaquita_storage::LogCursor;
use vaquita_types::errno::ER_SOURCE_FATAL_ERROR_READING_BINLOG;
use vaquita_types::gtid::{Gtid, GtidSet};
use vaquita_types::{Error, Result};
use vaquita_wire::binlog::header::{self, CHECKSUM_BYTES, HEADER_BYTES};
use vaquita_wire::binlog::{GtidEvent, Header, event_type};
use vaquita_wire::codec::Bytes;

use super::entries::damaged;
use super::place::{Entry, FIRST_POS, LENGTH_AT, Place, checksum_bytes, event_bytes, extent_key, numbers_of_extent_key};
use super::{BinaryLog, file_name};

/// An event of the log.
#[derive(Clone, Copy, Debug)]
pub struct LogEvent<'r> {
    /// With its header, without a checksum: only a format description has one if the others have none.
    pub bytes: &'r [u8],
    pub start: Place,
    /// The length in the header counts a checksum.
    pub checksum: bool,
    /// Of the transaction that it belongs to.
    pub gtid: Option<&'r Gtid>,
}

pub struct LogReader {
    log: Arc<BinaryLog>,
    /// Of the next event.
    place: Place,
    /// The events that are at hand, of one entry or of a piece of an extent.
    events: Vec<u8>,
    /// What has been given of them.
    given: usize,
    checksum: bool,
    gtid: Option<Gtid>,
    extent: Option<InExtent>,
    /// The file has ended.
    ended: bool,
    cursor: Option<LogCursor>,
}

/// An event from its first byte to its last, and its bytes in the file.
struct Step {
    from: usize,
    to: usize,
    in_file: u64,
}

struct InExtent {
    extent: u64,
    /// Of the next piece, in the extent.
    at: u64,
    bytes: u64,
}

impl LogReader {
    pub(super) fn open(log: Arc<BinaryLog>, from: Place) -> Result<LogReader> {
        let pos = if from.pos < FIRST_POS { FIRST_POS } else { from.pos };
        let mut reader = LogReader {
            log,
            place: Place { file: from.file, pos },
            events: Vec::new(),
            given: 0,
            checksum: false,
            gtid: None,
            extent: None,
            ended: false,
            cursor: None,
        };
        let first = Place { file: from.file, pos: 0 };
        let mut cursor = reader.log.store.cursor(&first.key(), &Place { file: from.file, pos: pos + 1 }.key());
        // The entry in which the position is, or at whose end it is.
        let entry = match cursor.seek_to_last()? {
            Some((key, value)) => (Place::of_key(key)?, value.to_vec()),
            None => return Err(fatal("Could not find first log file name in binary log index file")),
        };
        drop(cursor);
        if pos == FIRST_POS {
            reader.load_at(first)?;
            return Ok(reader);
        }
        let end = reader.log.end();
        if (Place { file: from.file, pos }) > end && from.file >= end.file {
            return Err(fatal("Client requested source to start replication from position > file size"));
        }
        let (at, value) = entry;
        reader.take_entry(at, &value)?;
        reader.place = Place { file: at.file, pos: at.pos.max(FIRST_POS) };
        while reader.place.pos < pos {
            if reader.step()?.is_none() {
                return Err(fatal("Client requested source to start replication from position > file size"));
            }
        }
        if reader.place.pos != pos || reader.place.file != from.file {
            let name = file_name(from.file);
            let text = format!(
                "bogus data in log event; the first event '{name}' at {pos}, the last event read from '{name}' at {pos}, the last byte read from '{name}' at {}.",
                pos + HEADER_BYTES as u64
            );
            return Err(fatal(&text));
        }
        Ok(reader)
    }

    /// Where the next event begins.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The next event; `None` at the end of the log, where more may come.
    pub fn next_event(&mut self) -> Result<Option<LogEvent<'_>>> {
        let Some(Step { from, to, in_file }) = self.step()? else { return Ok(None) };
        let bytes = self.events.get(from..to).ok_or_else(damaged)?;
        let start = Place { pos: self.place.pos - in_file, ..self.place };
        Ok(Some(LogEvent { bytes, start, checksum: self.checksum, gtid: self.gtid.as_ref() }))
    }

    /// Completes the next event in `events`.
    fn step(&mut self) -> Result<Option<Step>> {
        while self.given == self.events.len() {
            if !self.load()? {
                return Ok(None);
            }
        }
        let rest = self.events.get(self.given..).ok_or_else(damaged)?;
        let stored = event_bytes(rest)?;
        let in_file = stored as u64 + checksum_bytes(self.checksum);
        let (from, to) = (self.given, self.given + stored);
        self.given = to;
        self.place.pos += in_file;
        let end = self.place.pos as u32;
        let event = self.events.get_mut(from..to).ok_or_else(damaged)?;
        const END_AT: usize = 13;
        event[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&(in_file as u32).to_le_bytes());
        event[END_AT..END_AT + 4].copy_from_slice(&end.to_le_bytes());
        let code = event[4];
        if code == event_type::FORMAT_DESCRIPTION && !self.checksum {
            let (covered, checksum) = event.split_last_chunk_mut::<CHECKSUM_BYTES>().ok_or_else(damaged)?;
            *checksum = header::checksum(covered).to_le_bytes();
        }
        self.ended = matches!(code, event_type::ROTATE | event_type::STOP);
        Ok(Some(Step { from, to, in_file }))
    }

    /// Brings the next events to hand; false: there are none yet.
    fn load(&mut self) -> Result<bool> {
        if let Some(extent) = self.extent.take() {
            return self.load_piece(extent).map(|()| true);
        }
        let end = self.log.end();
        if self.place >= end {
            self.cursor = None;
            return Ok(false);
        }
        if self.place.file < end.file && (self.ended || !self.is_there(self.place)?) {
            // Without a last event a file ends where the server was killed.
            return self.load_next_file(end);
        }
        self.load_at(self.place)
    }

    fn is_there(&mut self, place: Place) -> Result<bool> {
        Ok(self.read(place)?.is_some_and(|(at, _)| at == place))
    }

    fn load_next_file(&mut self, end: Place) -> Result<bool> {
        let next = Place { file: super::place::next_file(self.place.file)?, pos: 0 };
        let found = self.read(next)?.map(|(at, _)| at);
        match found {
            Some(at) if at.pos == 0 && at.file <= end.file => self.load_at(at),
            _ => Err(fatal("Could not find next log")),
        }
    }

    fn load_at(&mut self, place: Place) -> Result<bool> {
        let found = self.read(place)?.filter(|(at, _)| *at == place).map(|(_, value)| value.to_vec());
        let Some(value) = found else {
            return Err(fatal("Could not open log file"));
        };
        self.take_entry(place, &value)?;
        self.place = Place { file: place.file, pos: place.pos.max(FIRST_POS) };
        Ok(true)
    }

    /// The first entry from a place on.
    fn read(&mut self, place: Place) -> Result<Option<(Place, &[u8])>> {
        // A cursor shows what was there when it was made, and goes on with the next entry at no cost.
        let stale = match &mut self.cursor {
            None => true,
            Some(cursor) => cursor.seek(&place.key())?.is_none(),
        };
        if stale {
            self.cursor = Some(self.log.store.cursor(&Place::default().key(), &super::place::extent_file_key(0, 0)));
        }
        let Some(cursor) = &mut self.cursor else { return Ok(None) };
        match cursor.seek(&place.key())? {
            Some((key, value)) => Ok(Some((Place::of_key(key)?, value))),
            None => Ok(None),
        }
    }

    fn take_entry(&mut self, at: Place, value: &[u8]) -> Result<()> {
        let entry = Entry::decode(value)?;
        self.events.clear();
        self.events.extend_from_slice(entry.events);
        self.given = 0;
        self.ended = false;
        self.checksum = entry.checksum;
        self.extent = entry.extent.map(|extent| InExtent { extent: extent.number, at: 0, bytes: extent.bytes });
        self.gtid = entry.gtid.filter(|_| at.pos > 0);
        Ok(())
    }

    fn load_piece(&mut self, part: InExtent) -> Result<()> {
        let InExtent { extent, at, bytes } = part;
        let mut cursor = self.log.store.cursor(&extent_key(extent, at), &extent_key(extent + 1, 0));
        let (key, value) = cursor.seek(&extent_key(extent, at))?.ok_or_else(damaged)?;
        if numbers_of_extent_key(key)? != (extent, at) {
            return Err(damaged());
        }
        self.events.clear();
        self.events.extend_from_slice(value);
        self.given = 0;
        let next = at + self.events.len() as u64;
        if next < bytes {
            self.extent = Some(InExtent { extent, at: next, bytes });
        }
        Ok(())
    }
}

/// The number of a transaction in its file, and its server; `None` if the entry is no transaction.
pub(super) fn number_in_file(entry: &Entry<'_>) -> Result<Option<(u64, u32)>> {
    let event = entry.events.get(..event_bytes(entry.events)?).ok_or_else(damaged)?;
    let (mut header, data) =
        event.split_at_checked(HEADER_BYTES).map(|(head, data)| (Bytes::new(head), data)).ok_or_else(damaged)?;
    let header = Header::decode(&mut header).map_err(|_| damaged())?;
    Ok(gtid_event(header.event_type, data)?.map(|event| (event.sequence_number as u64, header.server_id)))
}

/// The name of a transaction, if the event is one.
pub(super) fn gtid_event(code: u8, data: &[u8]) -> Result<Option<GtidEvent>> {
    let event = match code {
        event_type::GTID => GtidEvent::decode(data, false),
        event_type::ANONYMOUS_GTID => GtidEvent::decode(data, true),
        event_type::GTID_TAGGED => GtidEvent::decode_tagged(data),
        _ => return Ok(None),
    };
    event.map(Some).map_err(|_| damaged())
}

/// The GTIDs before a file, and when it began.
pub(super) fn read_beginning(entry: Entry<'_>) -> Result<(GtidSet, u32)> {
    let stored = event_bytes(entry.events)?;
    let (format, rest) = entry.events.split_at_checked(stored).ok_or_else(damaged)?;
    let began = format.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let stored = event_bytes(rest)?;
    let previous = rest.get(HEADER_BYTES..stored).ok_or_else(damaged)?;
    Ok((GtidSet::decode(previous).map_err(|_| damaged())?, began))
}

fn fatal(text: &str) -> Error {
    const FATAL: u16 = 1236;
    Error::new(&ER_SOURCE_FATAL_ERROR_READING_BINLOG, &[&FATAL, &text])
}
