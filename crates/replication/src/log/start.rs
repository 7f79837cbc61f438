//! What the last run of the server left of the log.

use std::collections::BTreeSet;

use vaquita_storage::{Family, LOG_PLACE, LogStore, Records, meta_key};
use vaquita_types::Result;
use vaquita_types::gtid::GtidSet;
use vaquita_wire::binlog::event_type::{ROTATE, STOP};

use super::entries::{Fields, damaged};
use super::place::{
    Entry, FIRST_POS, Place, Servers, extent_file_key, extent_key, note_server, numbers_of_extent_key, take_servers,
};
use super::writer::{State, Writer, servers_key};

/// What tells one commit by files from all others: its place and time.
const TOKEN_BYTES: usize = 20;

/// Of the batch for the log of a commit by files (LOG-5).
pub fn pending_key() -> Vec<u8> {
    meta_key(b"binlog/pending")
}

/// A large transaction whose commit was cut off: its events are written if its rows are there.
pub fn settle_pending(store: &LogStore) -> Result<()> {
    let Some(pending) = store.get(Family::Catalog, &pending_key())? else { return Ok(()) };
    let (token, batch) = pending.split_first_chunk::<TOKEN_BYTES>().ok_or_else(damaged)?;
    if store.get(Family::Data, &LOG_PLACE)?.as_deref() == Some(token) {
        store.write(batch, true)?;
    }
    let mut forget = Records::with_capacity(0);
    forget.delete(Family::Catalog, &pending_key());
    store.write(forget.as_batch(), true)
}

/// What was logged since the state was stored.
pub fn go_on(store: &LogStore, state: State) -> Result<(Writer, GtidSet)> {
    let State { mut place, mut checksum, mut sequence, mut executed } = state;
    let mut servers = match store.get(Family::Catalog, &servers_key())? {
        Some(value) => take_servers(&mut Fields(&value))?,
        None => Servers::new(),
    };
    let mut before_file = servers.last().map_or(0, |(_, number)| number.saturating_sub(sequence as u64));
    let mut cursor = store.cursor(&place.key(), &extent_file_key(0, 0));
    let mut next = cursor.seek(&place.key())?;
    while let Some((key, value)) = next {
        let entry = Entry::decode(value)?;
        let at = Place::of_key(key)?;
        if at.pos == 0 {
            sequence = 0;
            checksum = entry.checksum;
            before_file = servers.last().map_or(0, |(_, number)| *number);
        } else if entry.gtid.is_some() || !is_last(&entry)? {
            sequence += 1;
            note_server(&mut servers, server_of(&entry)?, before_file + sequence as u64);
        }
        if let Some(gtid) = &entry.gtid {
            executed.add(gtid.source, gtid.tag.clone(), (gtid.number, gtid.number));
        }
        place = Place { file: at.file, pos: at.pos.max(FIRST_POS) + entry.bytes()? };
        next = cursor.advance()?;
    }
    Ok((Writer::at(place, checksum, sequence, before_file, servers), executed))
}

/// The server of the first event.
fn server_of(entry: &Entry<'_>) -> Result<u32> {
    const SERVER_AT: usize = 5;
    let bytes = entry.events.get(SERVER_AT..).and_then(|rest| rest.first_chunk()).ok_or_else(damaged)?;
    Ok(u32::from_le_bytes(*bytes))
}

/// The entry ends a file.
fn is_last(entry: &Entry<'_>) -> Result<bool> {
    Ok(matches!(entry.events.get(4), Some(&ROTATE | &STOP)))
}

/// Removes extents of transactions that were not committed; the number of the next one.
pub fn clean_extents(store: &LogStore) -> Result<u64> {
    let mut committed = BTreeSet::new();
    let (lower, upper) = (extent_file_key(0, 0), extent_file_key(u32::MAX, u64::MAX));
    let mut cursor = store.cursor(&lower, &upper);
    let mut next = cursor.seek(&lower)?;
    while let Some((key, _)) = next {
        committed.insert(numbers_of_extent_key(key)?.1);
        next = cursor.advance()?;
    }
    let mut cursor = store.cursor(&extent_key(0, 0), &[0xff; 21]);
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some((key, _)) = cursor.seek(&extent_key(from, 0))? {
        let (extent, _) = numbers_of_extent_key(key)?;
        found.push(extent);
        from = extent + 1;
    }
    for extent in found.iter().filter(|extent| !committed.contains(extent)) {
        store.delete_range(&extent_key(*extent, 0), &extent_key(extent + 1, 0))?;
    }
    Ok(from.max(committed.last().map_or(0, |last| last + 1)))
}
