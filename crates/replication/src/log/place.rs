//! Places in the log, and the keys and values under which its transactions are stored.
//!
//! Keys of the log's family, numbers big-endian, so that they ascend as the log grows:
//!
//! | key                                     | value                                                              |
//! |-----------------------------------------|--------------------------------------------------------------------|
//! | file (4 bytes), 0 (8 bytes)             | `Entry`: the events that a file begins with                          |
//! | file (4 bytes), position (8 bytes)      | `Entry`: the events of a transaction, or the last one of a file      |
//! | `fffffffe` file (4 bytes), extent (8)   | nothing: the file has a transaction whose events are in the extent   |
//! | `ffffffff` extent (8 bytes), position (8) | events of a large transaction, by their place in it                |
//!
//! An `Entry` is 1 byte of flags (1: the events have checksums; 2: an extent follows; 4: a GTID follows; 8: servers follow), the number of the
//! extent, its bytes and its events, the GTID (16 bytes, tag, number), the servers (their count, of each its id and the number of its last
//! transaction in the whole log), then events. Numbers are varints, a tag has its length in front.
//!
//! Positions are those that a file of MySQL would have, with checksums. These are not stored: they are computed when the events are sent, as are
//! the position and the length in each header, which is stored as that of the bytes that are.

use vaquita_types::gtid::{Gtid, Tag, Uuid};
use vaquita_types::{Error, Result};
use vaquita_wire::binlog::header::{CHECKSUM_BYTES, HEADER_BYTES};

use super::entries::{Fields, damaged, put, put_bytes};

/// A position of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: u32,
    pub pos: u64,
}

/// The position behind the four bytes that a file begins with.
pub const FIRST_POS: u64 = 4;
/// No file has this number or a higher one.
pub const FILES_END: u32 = u32::MAX - 1;
const EXTENT_FILES: u32 = FILES_END;
const EXTENTS: u32 = u32::MAX;
const PLACE_BYTES: usize = 12;

const HAS_CHECKSUMS: u8 = 1;
const HAS_EXTENT: u8 = 2;
const HAS_GTID: u8 = 4;
const HAS_SERVERS: u8 = 8;

impl Place {
    pub fn key(self) -> [u8; PLACE_BYTES] {
        let mut key = [0; PLACE_BYTES];
        key[..4].copy_from_slice(&self.file.to_be_bytes());
        key[4..].copy_from_slice(&self.pos.to_be_bytes());
        key
    }

    pub fn of_key(key: &[u8]) -> Result<Place> {
        let key: &[u8; PLACE_BYTES] = key.try_into().map_err(|_| damaged())?;
        let [a, b, c, d, pos @ ..] = *key;
        Ok(Place { file: u32::from_be_bytes([a, b, c, d]), pos: u64::from_be_bytes(pos) })
    }
}

/// Of an extent that a file has.
pub fn extent_file_key(file: u32, extent: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..4].copy_from_slice(&EXTENT_FILES.to_be_bytes());
    key[4..8].copy_from_slice(&file.to_be_bytes());
    key[8..].copy_from_slice(&extent.to_be_bytes());
    key
}

/// Of a piece of an extent.
pub fn extent_key(extent: u64, pos: u64) -> [u8; 20] {
    let mut key = [0; 20];
    key[..4].copy_from_slice(&EXTENTS.to_be_bytes());
    key[4..12].copy_from_slice(&extent.to_be_bytes());
    key[12..].copy_from_slice(&pos.to_be_bytes());
    key
}

/// The extent and the position that a key of a piece has, or the file and the extent of an `extent_file_key`.
pub fn numbers_of_extent_key(key: &[u8]) -> Result<(u64, u64)> {
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    match key.len() {
        16 => Ok((number(&key[4..8]), number(&key[8..]))),
        20 => Ok((number(&key[4..12]), number(&key[12..]))),
        _ => Err(damaged()),
    }
}

/// Where events of a large transaction are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub number: u64,
    /// Bytes and number of its events.
    pub bytes: u64,
    pub count: u64,
}

/// The last transaction of each server: its number, counted from the beginning of the log, and the `server_id`. The highest number is the last.
pub type Servers = Vec<(u32, u64)>;

/// What stands under a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry<'e> {
    pub checksum: bool,
    /// In which the rest of the events is.
    pub extent: Option<Extent>,
    pub gtid: Option<Gtid>,
    /// At the beginning of a file, of what is before it.
    pub servers: Servers,
    pub events: &'e [u8],
}

impl<'e> Entry<'e> {
    pub fn encode_head(&self, out: &mut Vec<u8>) {
        let flag = |on: bool, flag: u8| if on { flag } else { 0 };
        let flags =
            flag(self.checksum, HAS_CHECKSUMS) | flag(self.extent.is_some(), HAS_EXTENT) | flag(self.gtid.is_some(), HAS_GTID);
        out.push(flags | flag(!self.servers.is_empty(), HAS_SERVERS));
        if let Some(Extent { number, bytes, count }) = self.extent {
            [number, bytes, count].into_iter().for_each(|n| put(out, n));
        }
        if let Some(gtid) = &self.gtid {
            out.extend_from_slice(&gtid.source.0);
            put_bytes(out, gtid.tag.as_str().as_bytes());
            put(out, gtid.number);
        }
        if !self.servers.is_empty() {
            put_servers(out, &self.servers);
        }
    }

    pub fn decode(value: &'e [u8]) -> Result<Entry<'e>> {
        let mut fields = Fields(value);
        let flags = fields.byte()?;
        let extent = match flags & HAS_EXTENT {
            0 => None,
            _ => Some(Extent { number: fields.number()?, bytes: fields.number()?, count: fields.number()? }),
        };
        let gtid = match flags & HAS_GTID {
            0 => None,
            _ => {
                let source = Uuid(*fields.array()?);
                let tag = Tag::new(fields.bytes()?).ok_or_else(damaged)?;
                Some(Gtid { source, tag, number: fields.number()? })
            }
        };
        let servers = if flags & HAS_SERVERS != 0 { take_servers(&mut fields)? } else { Servers::new() };
        Ok(Entry { checksum: flags & HAS_CHECKSUMS != 0, extent, gtid, servers, events: fields.0 })
    }

    /// Bytes in the file of all its events.
    pub fn bytes(&self) -> Result<u64> {
        let mut rest = self.events;
        let (mut bytes, mut count) = self.extent.map_or((0, 0), |extent| (extent.bytes, extent.count));
        while !rest.is_empty() {
            let stored = event_bytes(rest)?;
            rest = &rest[stored..];
            bytes += stored as u64;
            count += 1;
        }
        Ok(bytes + count * checksum_bytes(self.checksum))
    }
}

pub fn put_servers(out: &mut Vec<u8>, servers: &Servers) {
    put(out, servers.len() as u64);
    for (server, number) in servers {
        put(out, (*server).into());
        put(out, *number);
    }
}

pub fn take_servers(fields: &mut Fields<'_>) -> Result<Servers> {
    let count = fields.number()?;
    (0..count).map(|_| Ok((fields.number()? as u32, fields.number()?))).collect()
}

/// A further transaction of a server, with a number above all others.
pub fn note_server(servers: &mut Servers, server: u32, number: u64) {
    if servers.last().is_none_or(|(last, _)| *last != server) {
        servers.retain(|(known, _)| *known != server);
        servers.push((server, number));
    }
    if let Some((_, last)) = servers.last_mut() {
        *last = number;
    }
}

/// Where the header of an event has its length.
pub const LENGTH_AT: usize = 9;

/// What a checksum adds to an event in the file.
pub fn checksum_bytes(checksum: bool) -> u64 {
    if checksum { CHECKSUM_BYTES as u64 } else { 0 }
}

/// Bytes of the first event, as it is stored.
pub fn event_bytes(events: &[u8]) -> Result<usize> {
    let length = events.get(LENGTH_AT..).and_then(|rest| rest.first_chunk()).map(|bytes| u32::from_le_bytes(*bytes));
    match length.map(|length| length as usize) {
        Some(length) if (HEADER_BYTES..=events.len()).contains(&length) => Ok(length),
        _ => Err(damaged()),
    }
}

/// `binlog.000007`.
pub fn file_name(number: u32) -> String {
    format!("{BASE_NAME}.{number:06}")
}

/// The number of a file with this name.
pub fn file_number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(BASE_NAME)?.strip_prefix('.')?;
    let number = digits.parse().ok().filter(|_| digits.len() >= 6 && digits.bytes().all(|b| b.is_ascii_digit()))?;
    (file_name(number) == name).then_some(number)
}

pub const BASE_NAME: &str = "binlog";

/// Numbers of files end before those of extents begin.
pub fn next_file(number: u32) -> Result<u32> {
    match number.checked_add(1).filter(|next| *next < FILES_END) {
        Some(next) => Ok(next),
        None => Err(Error::internal("all numbers of files of the binary log are used up")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_mysql() {
        assert_eq!(file_name(7), "binlog.000007");
        assert_eq!(file_name(1_234_567), "binlog.1234567");
        for number in [1, 999_999, 1_000_000] {
            assert_eq!(file_number(&file_name(number)), Some(number));
        }
        for name in ["binlog.7", "binlog.0000007", "binlog.00000x", "log.000007", "binlog", "binlog.+00007"] {
            assert_eq!(file_number(name), None, "{name}");
        }
    }

    #[test]
    fn servers_are_in_the_order_of_their_last_transactions() {
        let mut servers = Servers::new();
        for (n, server) in [3, 3, 8, 3, 9].into_iter().enumerate() {
            note_server(&mut servers, server, n as u64 + 1);
        }
        assert_eq!(servers, [(8, 3), (3, 4), (9, 5)]);
    }

    #[test]
    fn entries_come_back() {
        let gtid = Gtid { source: Uuid([3; 16]), tag: Tag::new(b"a").unwrap(), number: 77 };
        for entry in [
            Entry { events: b"x", servers: vec![(u32::MAX, 1), (7, 1 << 40)], ..Entry::default() },
            Entry {
                checksum: true,
                extent: Some(Extent { number: 5, bytes: 1 << 40, count: 3 }),
                gtid: Some(gtid),
                ..Entry::default()
            },
        ] {
            let mut value = Vec::new();
            entry.encode_head(&mut value);
            value.extend_from_slice(entry.events);
            assert_eq!(Entry::decode(&value).unwrap(), entry);
        }
    }
}
