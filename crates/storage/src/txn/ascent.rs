//! Locks of new rows that come in ascending order: from time to time those of a stretch become one range (`locks::escalate`).
//!
//! The range covers the gaps between them as well, so it is taken only where no committed row lies between them, and nobody else has or
//! wants a lock. Example: LOAD DATA of a million rows with ascending keys holds one range and at most 4096 locks of rows.

use vaquita_types::Result;

use super::Transaction;
use crate::encoding::ids::INDEX_ID_BYTES;
use crate::locks::{LockMode, LockPolicy};

/// Locks that are worth a range.
const WORTH: usize = if cfg!(test) { 100 } else { 4096 };

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

    pub fn forget(&mut self) {
        self.last.clear();
    }
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
    fn has_no_rows_between(&self, first: &[u8], last: &[u8]) -> Result<bool> {
        Ok(!self.first_committed(first, &[last, &[0]].concat(), &mut Vec::new())?)
    }
}
