//! A scan over a key range: what is committed (`base`) merged with the transaction's own writes.
//!
//! The cursor borrows nothing: each step is given the transaction, so a statement can write
//! between steps. Writes that land ahead of the cursor are seen, so a statement that moves rows
//! along the index it scans must collect its keys first. Example: committed a=1, c=3, and own
//! writes b=2, c deleted; the cursor gives a=1, b=2.

use std::cmp::Ordering;
use std::ops::Bound;

use vaquita_types::Result;

use super::base::Base;
use super::write_set::WriteSet;
use super::{Transaction, Version};
use crate::encoding::KeyRange;
use crate::rocks::{Family, Iter};
use crate::spill::scratch::SpillReader;

/// What comes before `bound` by its first eight bytes comes before it.
fn head(bound: &[u8]) -> u64 {
    let mut head = [0; 8];
    let len = bound.len().min(8);
    head[..len].copy_from_slice(&bound[..len]);
    if bound.is_empty() { u64::MAX } else { u64::from_be_bytes(head) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// Which of two keys a scan comes to first.
    fn order(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Direction::Forward => a.cmp(b),
            Direction::Backward => b.cmp(a),
        }
    }
}

/// What stays in memory of what a scan reads from disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It would push everything else out.
    Nothing,
    /// Spans, which have room for all of it.
    Spans,
    /// Spans and blocks.
    All,
}

#[derive(Clone, Copy, Debug)]
pub struct ScanOptions {
    pub version: Version,
    pub keep: Keep,
    /// Bytes to read ahead; 0 lets RocksDB find out that the scan is long.
    pub readahead_bytes: usize,
    /// Show what the transaction has written, also while the scan runs.
    pub own_writes: bool,
    /// False where what is stored is to be read, and not what of it is in memory.
    pub spans: bool,
}

impl Default for ScanOptions {
    fn default() -> ScanOptions {
        ScanOptions { version: Version::Snapshot, keep: Keep::All, readahead_bytes: 0, own_writes: true, spans: true }
    }
}

pub struct Cursor {
    base: Base,
    range: KeyRange,
    direction: Direction,
    position: Position,
    /// The last key passed, as far as own writes are concerned.
    passed: Option<Vec<u8>>,
    /// The value of the own write that was given last; its key is `passed`.
    own_value: Vec<u8>,
    own_writes: bool,
    /// Where the scan is in own writes that have spilled.
    spilled: SpillReader,
    /// The first eight bytes of the range's upper bound, as a number; the greatest one if it has none.
    upper_head: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Before the first seek.
    Start,
    /// The base stands on the entry given last.
    OnBase,
    /// The base stands on the entry to look at next.
    BeforeBase,
    End,
}

/// What a cursor came to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `Cursor::stored` gives it.
    Stored,
    /// The transaction wrote it, and `Cursor::own` gives it.
    Own,
    End,
}

impl Cursor {
    pub(super) fn new(base: Base, range: KeyRange, direction: Direction, own_writes: bool) -> Cursor {
        let mut cursor = Cursor {
            base,
            range: KeyRange::default(),
            direction,
            position: Position::End,
            passed: None,
            own_value: Vec::new(),
            own_writes,
            spilled: SpillReader::default(),
            upper_head: 0,
        };
        cursor.reseek(range, direction);
        cursor
    }

    /// Starts again on another range, keeping the iterator and its version of the data.
    pub fn reseek(&mut self, range: KeyRange, direction: Direction) {
        self.position = if range.is_empty() { Position::End } else { Position::Start };
        self.base.reseek(&range);
        self.upper_head = head(&range.upper);
        self.range = range;
        self.direction = direction;
        self.passed = None;
        self.spilled = SpillReader::default();
    }

    pub(super) fn into_iter(self) -> Option<Iter> {
        self.base.into_iter()
    }

    /// The next key and value. The transaction is the one that made the cursor.
    pub fn next(&mut self, txn: &Transaction) -> Result<Option<(&[u8], &[u8])>> {
        Ok(match self.step(txn)? {
            Step::Own => Some(self.own()),
            Step::Stored => Some(self.stored()),
            Step::End => None,
        })
    }

    /// As `next`, for callers that read a stored entry where it lies.
    #[inline]
    pub fn step(&mut self, txn: &Transaction) -> Result<Step> {
        let merge = self.own_writes && !txn.writes.has_none(self.base.family());
        match self.position {
            Position::End => return Ok(Step::End),
            Position::Start => self.seek_first(),
            Position::OnBase => {
                if merge {
                    self.passed = Some(self.base.entry().0.to_vec());
                }
                self.advance_base();
                if !merge && (self.base.is_inside() || self.is_clearly_below()) {
                    return Ok(Step::Stored);
                }
            }
            Position::BeforeBase => {}
        }
        let step = if merge {
            self.merge(&txn.writes)?
        } else if self.base_in_range()? {
            Step::Stored
        } else {
            Step::End
        };
        self.position = match step {
            Step::End => Position::End,
            Step::Own => Position::BeforeBase,
            Step::Stored => Position::OnBase,
        };
        Ok(step)
    }

    /// The entry that `step` found stored.
    #[inline]
    pub fn stored(&self) -> (&[u8], &[u8]) {
        self.base.entry()
    }

    /// The entry that `step` found among own writes.
    #[inline]
    pub fn own(&self) -> (&[u8], &[u8]) {
        (self.passed.as_deref().unwrap_or(&[]), &self.own_value)
    }

    fn merge(&mut self, writes: &WriteSet) -> Result<Step> {
        loop {
            let base = self.base_in_range()?;
            let (range, direction) = (&self.range, self.direction);
            let mut lower = Bound::Included(range.lower.as_slice());
            let mut upper = if range.upper.is_empty() { Bound::Unbounded } else { Bound::Excluded(range.upper.as_slice()) };
            let backward = direction == Direction::Backward;
            if let Some(passed) = &self.passed {
                *(if backward { &mut upper } else { &mut lower }) = Bound::Excluded(passed);
            }
            let in_memory = writes.following(self.base.family(), lower, upper, backward);
            let spilled = match writes.spilled().filter(|_| self.base.family() == Family::Data) {
                Some(spill) => self.spilled.following(spill, lower, upper, backward)?,
                None => None,
            };
            let own = match (in_memory, spilled) {
                // What is in memory is later.
                (Some(memory), Some(spilled)) if direction.order(memory.0, spilled.0) != Ordering::Greater => Some(memory),
                (memory, spilled) => spilled.or(memory),
            };
            let Some((key, write)) = own else {
                return Ok(if base { Step::Stored } else { Step::End });
            };
            let order = if base { direction.order(key, self.base.entry().0) } else { Ordering::Less };
            if order == Ordering::Greater {
                return Ok(Step::Stored);
            }
            let passed = self.passed.get_or_insert_default();
            passed.clear();
            passed.extend_from_slice(key);
            let value = write.map(|value| {
                self.own_value.clear();
                self.own_value.extend_from_slice(value);
            });
            if order == Ordering::Equal {
                self.advance_base();
            }
            self.position = Position::BeforeBase;
            if value.is_some() {
                return Ok(Step::Own);
            }
        }
    }

    /// False at the end of the range. The iterator's own check of the bound ahead may be stale
    /// after `reseek` within one block, so the key is compared here too; the seek keeps the other.
    #[inline]
    fn base_in_range(&self) -> Result<bool> {
        if !self.base.valid() {
            self.base.status(&self.range)?;
            return Ok(false);
        }
        let (key, range) = (self.base.entry().0, &self.range);
        Ok(match self.direction {
            Direction::Forward => range.upper.is_empty() || key < range.upper.as_slice(),
            Direction::Backward => key >= range.lower.as_slice(),
        })
    }

    /// On a key that is within a forward scan's bounds by its first bytes, as most are.
    #[inline]
    fn is_clearly_below(&self) -> bool {
        let key = self.base.entry().0.first_chunk::<8>();
        self.direction == Direction::Forward && key.is_some_and(|key| u64::from_be_bytes(*key) < self.upper_head)
    }

    fn seek_first(&mut self) {
        match self.direction {
            Direction::Forward => self.base.seek_to_first(&self.range),
            Direction::Backward => self.base.seek_to_last(&self.range),
        }
        self.position = Position::BeforeBase;
    }

    #[inline]
    fn advance_base(&mut self) {
        match self.direction {
            Direction::Forward => self.base.next(&self.range),
            Direction::Backward => self.base.prev(&self.range),
        }
    }
}
