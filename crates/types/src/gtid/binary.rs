//! The bytes of sets of GTIDs, as PREVIOUS_GTIDS events and COM_BINLOG_DUMP_GTID carry them, little-endian:
//!
//! | bytes | content                                                                                             |
//! |-------|-----------------------------------------------------------------------------------------------------|
//! | 8     | without tags the count of sources; with tags 1 in the first and the last byte, the count between them |
//! | 16    | of each source: its UUID                                                                            |
//! | 1 + n | with tags only: twice the tag's length, the tag                                                     |
//! | 8     | the count of intervals                                                                              |
//! | 16    | of each interval: the first number, and the one behind the last                                     |
//!
//! A source with several tags stands there once for each.

use super::{GTID_NUMBER_MAX, GtidSet, Tag, Uuid};

/// The bytes are no set of GTIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GtidSetError;

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], GtidSetError> {
        let (head, tail) = self.0.split_at_checked(len).ok_or(GtidSetError)?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], GtidSetError> {
        self.take(N)?.try_into().map_err(|_| GtidSetError)
    }

    fn u64(&mut self) -> Result<u64, GtidSetError> {
        self.array().map(u64::from_le_bytes)
    }
}

impl GtidSet {
    /// Reads exactly one set. What it allocates is in proportion to `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<GtidSet, GtidSetError> {
        let mut reader = Reader(bytes);
        let head = reader.u64()?;
        let (tagged, count) = match head >> 56 {
            0 => (false, head),
            1 => (true, head << 8 >> 16),
            _ => return Err(GtidSetError),
        };
        let mut set = GtidSet::default();
        for _ in 0..count {
            let source = Uuid(reader.array()?);
            let mut tag = Tag::default();
            if tagged {
                let [twice] = reader.array()?;
                tag = Tag::new(reader.take(usize::from(twice / 2))?).filter(|_| twice % 2 == 0).ok_or(GtidSetError)?;
            }
            let intervals = reader.u64()?;
            let mut before = 0;
            for _ in 0..intervals {
                let (first, end) = (reader.u64()?, reader.u64()?);
                if first <= before || end <= first || end - 1 > GTID_NUMBER_MAX {
                    return Err(GtidSetError);
                }
                before = end - 1;
                set.add(source, tag.clone(), (first, end - 1));
            }
        }
        if reader.0.is_empty() { Ok(set) } else { Err(GtidSetError) }
    }

    /// With tags, also for a set without any.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_as(true, out);
    }

    /// As servers read it that know no tags (MySQL before 8.3), unless the set has some.
    pub fn encode_for_all(&self, out: &mut Vec<u8>) {
        self.encode_as(self.iter().any(|(_, tag, _)| !tag.is_empty()), out);
    }

    fn encode_as(&self, tagged: bool, out: &mut Vec<u8>) {
        let count = self.sources.len() as u64;
        let head = if tagged { 1 << 56 | count << 8 | 1 } else { count };
        out.extend_from_slice(&head.to_le_bytes());
        for (source, tag, intervals) in self.iter() {
            out.extend_from_slice(&source.0);
            if tagged {
                out.push(tag.as_str().len() as u8 * 2);
                out.extend_from_slice(tag.as_str().as_bytes());
            }
            out.extend_from_slice(&(intervals.len() as u64).to_le_bytes());
            for (first, last) in intervals {
                out.extend_from_slice(&first.to_le_bytes());
                out.extend_from_slice(&(last + 1).to_le_bytes());
            }
        }
    }
}
