//! Sets of global transaction identifiers: which transactions of which sources a server has.
//!
//! A GTID of MySQL is the UUID of the server where the transaction began, perhaps a tag, and a number from 1. A set keeps sorted intervals of
//! numbers, none of which touch, for each pair of UUID and tag. Its text, as in `gtid_executed`:
//! `3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7:tag:1-3`. `text` reads and writes it, `binary` has the form of packets and
//! events. MariaDB counts transactions per *domain* instead and needs no intervals: `MariaGtid`.
//! Nothing here knows which transactions have run.

mod binary;
mod text;

use std::collections::BTreeMap;
use std::fmt;

pub use binary::GtidSetError;
pub use text::GtidProblem;

/// The largest number of a transaction (MySQL's GNO_END - 1).
pub const GTID_NUMBER_MAX: u64 = i64::MAX as u64 - 1;
/// Characters of a tag (MySQL manual, "GTID Format and Storage").
pub const GTID_TAG_CHARS_MAX: usize = 32;

/// A server's UUID, as bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Lower-case letters, digits and underscores, no digit in front; empty for none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(Box<str>);

impl Tag {
    /// `None` if `text` is no tag. Upper-case letters become lower-case ones.
    pub fn new(text: &[u8]) -> Option<Tag> {
        let fits = text.len() <= GTID_TAG_CHARS_MAX
            && !text.first().is_some_and(u8::is_ascii_digit)
            && text.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
        fits.then(|| Tag(std::str::from_utf8(text).unwrap_or_default().to_ascii_lowercase().into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gtid {
    pub source: Uuid,
    pub tag: Tag,
    pub number: u64,
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tag.is_empty() {
            true => write!(f, "{}:{}", self.source, self.number),
            false => write!(f, "{}:{}:{}", self.source, self.tag.as_str(), self.number),
        }
    }
}

/// Numbers from the first to the last of the pair.
pub type Interval = (u64, u64);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidSet {
    /// No list is empty; its intervals are sorted, and a number lies between any two of them.
    sources: BTreeMap<(Uuid, Tag), Vec<Interval>>,
}

impl GtidSet {
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Sources in the order of their bytes, each with its tags in order, that without one first.
    pub fn iter(&self) -> impl Iterator<Item = (&Uuid, &Tag, &[Interval])> {
        self.sources.iter().map(|((source, tag), intervals)| (source, tag, &intervals[..]))
    }

    /// A set of one.
    pub fn of(gtid: &Gtid) -> GtidSet {
        let mut set = GtidSet::default();
        set.add(gtid.source, gtid.tag.clone(), (gtid.number, gtid.number));
        set
    }

    /// The GTID of a set of one.
    pub fn single(&self) -> Option<Gtid> {
        let mut all = self.iter();
        match (all.next(), all.next()) {
            (Some((source, tag, [(first, last)])), None) if first == last => {
                Some(Gtid { source: *source, tag: tag.clone(), number: *first })
            }
            _ => None,
        }
    }

    pub fn contains(&self, source: Uuid, tag: &Tag, number: u64) -> bool {
        let intervals = self.sources.get(&(source, tag.clone())).map_or(&[][..], |intervals| intervals);
        let at = intervals.partition_point(|(_, last)| *last < number);
        intervals.get(at).is_some_and(|(first, _)| *first <= number)
    }

    /// The highest number of a source and tag.
    pub fn last(&self, source: Uuid, tag: &Tag) -> Option<u64> {
        self.sources.get(&(source, tag.clone()))?.last().map(|(_, last)| *last)
    }

    /// Adds numbers; none if the first is behind the last.
    pub fn add(&mut self, source: Uuid, tag: Tag, (first, last): Interval) {
        if first > last {
            return;
        }
        let intervals = self.sources.entry((source, tag)).or_default();
        // All that the new interval overlaps or touches become one with it.
        let from = intervals.partition_point(|(_, l)| l.saturating_add(1) < first);
        let to = intervals.partition_point(|(f, _)| *f <= last.saturating_add(1));
        let joined = intervals.get(from..to).unwrap_or_default().iter().fold((first, last), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        intervals.splice(from..to.max(from), [joined]);
    }

    pub fn union(&mut self, other: &GtidSet) {
        for ((source, tag), intervals) in &other.sources {
            for interval in intervals {
                self.add(*source, tag.clone(), *interval);
            }
        }
    }

    /// What is here and not in `other`.
    pub fn subtract(&self, other: &GtidSet) -> GtidSet {
        let mut left = GtidSet::default();
        for (key, intervals) in &self.sources {
            let taken = other.sources.get(key).map_or(&[][..], |taken| taken);
            let rest = without(intervals, taken);
            if !rest.is_empty() {
                left.sources.insert(key.clone(), rest);
            }
        }
        left
    }

    pub fn is_subset_of(&self, other: &GtidSet) -> bool {
        self.subtract(other).is_empty()
    }
}

/// Both are sorted, so one walk over both is enough.
fn without(intervals: &[Interval], taken: &[Interval]) -> Vec<Interval> {
    let mut rest = Vec::with_capacity(intervals.len());
    let mut at = 0;
    for &(mut first, last) in intervals {
        while let Some(&(taken_first, taken_last)) = taken.get(at).filter(|(taken_first, _)| *taken_first <= last) {
            if taken_last < first {
                at += 1;
                continue;
            }
            if taken_first > first {
                rest.push((first, taken_first - 1));
            }
            first = taken_last.saturating_add(1);
            if taken_last >= last {
                break;
            }
            at += 1;
        }
        if first <= last {
            rest.push((first, last));
        }
    }
    rest
}

/// A transaction of MariaDB, and the position in its domain: `domain-server-sequence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MariaGtid {
    pub domain: u32,
    pub server: u32,
    pub sequence: u64,
}

impl fmt::Display for MariaGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain, self.server, self.sequence)
    }
}

#[cfg(test)]
mod tests;
