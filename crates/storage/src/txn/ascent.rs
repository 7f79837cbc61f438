//! Locks of new rows that come in ascending order: from time to time those of a stretch become one range (`locks::escalate`).
//!
//! The range covers the gaps between them as well, so it is taken only where no committed row lies between them, and nobody else has or
//! wants a lock. Rows that come together, with keys that leave none out between them, are locked as a range at once. Example: LOAD DATA of a million rows with ascending keys holds one range and at most 4096 locks of rows.

use vaquita_types::Result;

use super::Transaction;
use super::write_map::Packed;
use crate::encoding::ids::INDEX_ID_BYTES;
use crate::locks::{LockMode, LockPolicy};

/// Locks that are worth a range.
const WORTH: usize = if cfg!(test) { 100 } else { 4096 };

/// The same of rows that come together behind a range.
const WORTH_MORE: usize = WORTH / 4;

/// Locked keys of one index, each above the one before.
#[derive(Default)]
pub struct Ascent {
    first: Vec<u8>,
    last: Vec<u8>,
    /// Those that are not in a range yet.
    count: usize,
    worth: usize,
    /// The locks that the transaction had before them.
    locks_before: usize,
}

impl Ascent {
    fn goes_on_with(&self, key: &[u8]) -> bool {
        let index = self.last.get(..INDEX_ID_BYTES);
        index.is_some_and(|index| key.starts_with(index)) && key > self.last.as_slice()
    }

    fn start(&mut self, key: &[u8], locks_before: usize, worth: usize) {
        key.clone_into(&mut self.first);
        (self.count, self.locks_before, self.worth) = (0, locks_before, worth);
    }

    /// Its rows are a range, and the key goes on.
    fn is_range_before(&self, key: &[u8]) -> bool {
        self.count == 0 && self.worth == WORTH && self.goes_on_with(key)
    }

    pub fn forget(&mut self) {
        self.last.clear();
    }
}

/// Whether so many different keys, of which these are the first and the last, leave out none of their length that lies between them.
fn is_dense(first: &[u8], last: &[u8], count: usize) -> bool {
    let number = |key: &[u8]| key.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let shared = first.len().saturating_sub(size_of::<u64>());
    let (Some((start, first)), Some((other, last))) = (first.split_at_checked(shared), last.split_at_checked(shared)) else {
        return false;
    };
    start == other && first.len() == last.len() && number(last).wrapping_sub(number(first)) == count as u64 - 1
}

impl Transaction {
    /// `lock_key`, exclusively, of a row to be inserted.
    pub fn lock_new_row(&mut self, key: &[u8], policy: LockPolicy) -> Result<bool> {
        let locks_before = self.held.mark();
        if !self.lock_key(key, LockMode::X, policy)? {
            return Ok(false);
        }
        if !self.ascent.goes_on_with(key) {
            self.ascent.start(key, locks_before, WORTH);
        }
        key.clone_into(&mut self.ascent.last);
        self.ascent.count += 1;
        if self.ascent.count >= self.ascent.worth {
            self.join_locks()?;
        }
        Ok(true)
    }

    /// Locks many new rows exclusively, whose keys are these, ascending: as one range, if that covers no other row and nobody else has or wants
    /// a lock in it, else one by one. False: skipped.
    pub fn lock_new_rows(&mut self, rows: &Packed, policy: LockPolicy) -> Result<bool> {
        let (Some(first), Some(last)) = (rows.first_key(), rows.last_key()) else { return Ok(true) };
        let dense = is_dense(first, last, rows.len());
        let follows = self.follows_range(first, rows.len())?;
        let is_worth_it = dense || rows.len() >= if follows { WORTH_MORE } else { WORTH };
        if is_worth_it && self.lock_stretch(first, last, dense, follows)? {
            return Ok(true);
        }
        for (key, _) in rows.iter() {
            if !self.lock_new_row(key, policy)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the rows before are a range that so many may go on, from this one on, without covering other rows, or much that is nobody's.
    fn follows_range(&self, first: &[u8], count: usize) -> Result<bool> {
        let Ascent { last, .. } = &self.ascent;
        let is_next = || Ok(is_dense(last, first, 2) || count >= WORTH_MORE && self.has_no_rows_between(last, first)?);
        Ok(self.ascent.is_range_before(first) && is_next()?)
    }

    /// `dense`: there can be no other rows in it. `follows`: the range is that of the rows before, too.
    fn lock_stretch(&mut self, first: &[u8], last: &[u8], dense: bool, follows: bool) -> Result<bool> {
        self.owner();
        let Some(owner) = &self.owner else { return Ok(false) };
        if !dense && !self.has_no_rows_between(first, last)? {
            return Ok(false);
        }
        let from = if follows { self.ascent.first.as_slice() } else { first };
        let mark = self.held.mark();
        if !self.store.locks().join(owner, &mut self.held, mark, from, last) {
            return Ok(false);
        }
        owner.set_rows_locked(self.held.len() as u64);
        if !follows {
            self.ascent.start(first, mark, WORTH);
        }
        last.clone_into(&mut self.ascent.last);
        Ok(true)
    }

    fn join_locks(&mut self) -> Result<()> {
        let joined = match &self.owner {
            Some(owner) if self.has_no_rows_between(&self.ascent.first, &self.ascent.last)? => {
                let Ascent { first, last, locks_before, .. } = &self.ascent;
                self.store.locks().join(owner, &mut self.held, *locks_before, first, last)
            }
            _ => false,
        };
        let locks = self.held.mark();
        if joined {
            (self.ascent.count, self.ascent.locks_before) = (0, locks);
        } else {
            // The rows of others may be behind, or come again and again.
            let (last, worth) = (self.ascent.last.clone(), self.ascent.worth.saturating_mul(2));
            self.ascent.start(&last, locks, worth);
        }
        Ok(())
    }

    /// Of committed rows, the ends included.
    pub(crate) fn has_no_rows_between(&self, first: &[u8], last: &[u8]) -> Result<bool> {
        Ok(!self.first_committed(first, &[last, &[0]].concat(), &mut Vec::new())?)
    }
}
