//! Which logs the database still needs, and how far its files go, as its MANIFEST says.
//!
//! A record of the MANIFEST is a version edit: tags, each with its fields (RocksDB, db/version_edit.h). Integers are varints,
//! byte strings have their length before them:
//!
//! | TAG | FIELDS | MEANING |
//! |-----|--------|---------|
//! | 2   | number | logs below it hold nothing of the edit's column family that is not in files |
//! | 4   | number | files hold commits up to this sequence number |
//! | 10  | number | logs below it are not needed at all |
//! | 200 | id     | the edit is about this column family; otherwise about 0 |
//! | 202 |        | the column family is dropped |
//! | 300 | count  | so many edits follow that count only together with this one |
//!
//! The others say which files there are; they are passed over. From 8192 on, a tag has one byte string.

use std::collections::BTreeMap;

/// Follows the edits of a MANIFEST.
#[derive(Default)]
pub struct NeededLogs {
    /// By column family.
    logs: BTreeMap<u64, u64>,
    lowest: u64,
    last_sequence: u64,
    /// Edits of a group that is not complete.
    group: Vec<Edit>,
}

#[derive(Default)]
struct Edit {
    family: u64,
    log: Option<u64>,
    lowest: Option<u64>,
    last_sequence: u64,
    dropped: bool,
    follow: Option<u64>,
}

impl NeededLogs {
    /// Takes in the next record; false if it makes no sense.
    pub fn add(&mut self, record: &[u8]) -> bool {
        let Some(edit) = Edit::parse(record) else { return false };
        let complete = edit.follow.unwrap_or(0) == 0;
        self.group.push(edit);
        if complete {
            for edit in self.group.drain(..) {
                if let Some(log) = edit.log {
                    let known = self.logs.entry(edit.family).or_default();
                    *known = log.max(*known);
                }
                if edit.dropped {
                    self.logs.remove(&edit.family);
                }
                self.lowest = self.lowest.max(edit.lowest.unwrap_or(0));
                self.last_sequence = self.last_sequence.max(edit.last_sequence);
            }
        }
        true
    }

    /// The number of the oldest log that recovery reads.
    pub fn oldest(&self) -> u64 {
        self.lowest.max(self.logs.values().min().copied().unwrap_or(0))
    }

    /// The highest sequence number that is in files.
    pub fn last_sequence(&self) -> u64 {
        self.last_sequence
    }
}

impl Edit {
    fn parse(record: &[u8]) -> Option<Edit> {
        let mut edit = Edit::default();
        let mut fields = Fields(record);
        while !fields.0.is_empty() {
            match fields.number()? {
                2 => edit.log = Some(fields.number()?),
                4 => edit.last_sequence = fields.number()?,
                // The next file, the log before, the highest column family.
                3 | 9 | 203 => drop(fields.number()?),
                // The comparator, the name of a column family.
                1 | 201 => fields.bytes()?,
                // Where a compaction goes on.
                5 => fields.skip(&[Field::Number, Field::Bytes])?,
                // A file is gone.
                6 => fields.skip(&[Field::Number, Field::Number])?,
                10 => edit.lowest = Some(fields.number()?),
                // A file is new: its level, number, size, keys and commits, then what else is known of it.
                103 => {
                    use Field::{Bytes, Number};
                    fields.skip(&[Number, Number, Number, Bytes, Bytes, Number, Number])?;
                    while fields.number()? != 1 {
                        fields.bytes()?;
                    }
                }
                200 => edit.family = fields.number()?,
                202 => edit.dropped = true,
                300 => edit.follow = Some(fields.number()?),
                tag if tag >= 1 << 13 => fields.bytes()?,
                _ => return None,
            }
        }
        Some(edit)
    }
}

enum Field {
    Number,
    Bytes,
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn bytes(&mut self) -> Option<()> {
        let len = usize::try_from(self.number()?).ok()?;
        self.0 = self.0.get(len..)?;
        Some(())
    }

    fn skip(&mut self, fields: &[Field]) -> Option<()> {
        fields.iter().try_for_each(|field| match field {
            Field::Number => self.number().map(drop),
            Field::Bytes => self.bytes(),
        })
    }
}
