//! `Records`: the writes of a commit, as RocksDB takes them.

use crate::rocks::Family;

/// Writes in the form of a RocksDB batch:
///
/// | OFFSET | SIZE | DESCRIPTION                                          |
/// |--------|------|------------------------------------------------------|
/// | 0      | 8    | sequence number, filled in by RocksDB                |
/// | 8      | 4    | number of records, u32 LE                            |
/// | 12     |      | records: tag, \[family id\], key, \[value\]          |
///
/// Tags: 0 delete, 1 put in the default family; 4 and 5 the same with a family id. Ids and
/// lengths are varint32. (RocksDB, db/write_batch.cc.)
#[derive(Default)]
pub struct Records {
    bytes: Vec<u8>,
    count: u32,
}

const HEADER_BYTES: usize = 12;
const TAG_DELETE: u8 = 0;
const TAG_PUT: u8 = 1;
const TAG_FAMILY_DELETE: u8 = 4;
const TAG_FAMILY_PUT: u8 = 5;

impl Records {
    pub fn with_capacity(bytes: usize) -> Records {
        let mut buffer = Vec::with_capacity(HEADER_BYTES + bytes);
        buffer.resize(HEADER_BYTES, 0);
        Records { bytes: buffer, count: 0 }
    }

    /// A value, or `None` for a deletion.
    pub fn write(&mut self, family: Family, key: &[u8], write: Option<&[u8]>) {
        match write {
            Some(value) => self.put(family, key, value),
            None => self.delete(family, key),
        }
    }

    pub fn put(&mut self, family: Family, key: &[u8], value: &[u8]) {
        self.tag(family, TAG_PUT, TAG_FAMILY_PUT);
        self.slice(key);
        self.slice(value);
    }

    pub fn delete(&mut self, family: Family, key: &[u8]) {
        self.tag(family, TAG_DELETE, TAG_FAMILY_DELETE);
        self.slice(key);
    }

    fn tag(&mut self, family: Family, default: u8, other: u8) {
        self.count += 1;
        match family {
            Family::Data => self.bytes.push(default),
            Family::Catalog | Family::Log => {
                self.bytes.push(other);
                self.varint(family as u32);
            }
        }
    }

    fn slice(&mut self, bytes: &[u8]) {
        // Keys and values are bounded far below 4 GiB by max_allowed_packet.
        self.varint(bytes.len() as u32);
        self.bytes.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut n: u32) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }

    /// The writes of the data family, in the order given.
    pub fn writes(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.all_writes().filter(|(family, ..)| *family == Family::Data).map(|(_, key, write)| (key, write))
    }

    /// All writes: a value, or `None` for a deletion.
    pub fn all_writes(&self) -> impl Iterator<Item = (Family, &[u8], Option<&[u8]>)> {
        let mut rest = self.bytes.get(HEADER_BYTES..).unwrap_or(&[]);
        std::iter::from_fn(move || {
            let (&tag, after) = rest.split_first()?;
            rest = after;
            let family = match tag {
                TAG_DELETE | TAG_PUT => Family::Data,
                _ => match take_varint(&mut rest)? {
                    id if id == Family::Log as usize => Family::Log,
                    _ => Family::Catalog,
                },
            };
            let key = take_slice(&mut rest)?;
            let value = if matches!(tag, TAG_PUT | TAG_FAMILY_PUT) { Some(take_slice(&mut rest)?) } else { None };
            Some((family, key, value))
        })
    }

    pub fn append(&mut self, other: &Records) {
        self.bytes.extend_from_slice(&other.bytes[HEADER_BYTES..]);
        self.count += other.count;
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The batch, with its count in place.
    pub fn as_batch(&mut self) -> &[u8] {
        self.bytes[8..HEADER_BYTES].copy_from_slice(&self.count.to_le_bytes());
        &self.bytes
    }
}

/// A length and as many bytes from the front of a batch.
fn take_slice<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let len = take_varint(rest)?;
    let (slice, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(slice)
}

fn take_varint(rest: &mut &[u8]) -> Option<usize> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
        shift = (shift + 7) & 63;
    }
}
