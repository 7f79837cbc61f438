//! Checks of many keys for duplicates with one seek.
//!
//! A seek to a key that does not exist also tells that nothing lies between it and the key found:
//! rows that are inserted in ascending order are all in that gap. The gap was empty at a sequence
//! number; that nobody has filled it since is told by `cache::recent`, for a key that the caller
//! holds locked (COMMIT-3).

use vaquita_types::Result;

use super::Transaction;
use super::damage::data_error;
use crate::encoding::successor;
use crate::rocks::{Family, Iter, IterOptions};

/// A range of keys that were all absent, learnt from earlier checks. Of one index.
#[derive(Default)]
pub struct Gap {
    /// Not yet known while `upper` is empty.
    lower: Vec<u8>,
    upper: Vec<u8>,
    sequence: u64,
    checks: u64,
    seeks: u64,
    /// Checks that the gap answered.
    hits: u64,
}

/// Seeks that may be in vain before gaps are given up: rows come in no order.
const VAIN_SEEKS_MAX: u64 = 4;

impl Gap {
    fn contains(&self, key: &[u8]) -> bool {
        self.lower.as_slice() < key && key < self.upper.as_slice()
    }

    /// A seek costs more than a get, so it has to pay.
    fn seek_pays(&self) -> bool {
        self.checks > 1 && self.seeks <= self.hits + VAIN_SEEKS_MAX
    }
}

impl Transaction {
    /// Whether no row or entry has `key`, which is locked, in its latest version. `prefix_bytes` of the
    /// key are the index's own.
    pub fn is_absent(&self, key: &[u8], prefix_bytes: usize, gap: &mut Gap) -> Result<bool> {
        if let Some(own) = self.writes.get(Family::Data, key)? {
            return Ok(own.is_none());
        }
        gap.checks += 1;
        if gap.contains(key) && !self.store.pipeline().recent().may_be_after(key, gap.sequence) {
            gap.hits += 1;
            return Ok(true);
        }
        if !gap.seek_pays() {
            let (db, mut buf) = (self.store.db(), Vec::new());
            let row = self.cached_row(key, None);
            if let Some(found) = self.store.pipeline().spans().get(key, row.not_after(), &mut buf) {
                self.check_get(&row, None, found.then_some(&buf));
                return Ok(!found);
            }
            let found = db.get(Family::Data, key, None, &mut buf);
            return Ok(!found.map_err(|e| data_error(db, key, e))?);
        }
        gap.seeks += 1;
        // Before the iterator, which sees this commit or a later one (ROCKS-5): what it may have missed is newer.
        gap.sequence = self.store.db().settled_sequence();
        gap.lower.clear();
        gap.lower.extend_from_slice(key);
        let end = successor(key.get(..prefix_bytes).unwrap_or(key));
        if self.first_committed(&gap.lower, &end, &mut gap.upper)? {
            return Ok(gap.upper != key);
        }
        gap.upper = end;
        Ok(true)
    }

    /// The first key in `[lower, upper)` with a row or entry in its latest version; false: there is none.
    pub(super) fn first_committed(&self, lower: &[u8], upper: &[u8], found: &mut Vec<u8>) -> Result<bool> {
        let idle = self.store.idle_iters().take();
        let mut iter = idle.unwrap_or_else(|| Iter::new(self.store.db(), Family::Data, None, IterOptions::default()));
        iter.set_bounds(lower, upper);
        iter.seek(lower);
        let valid = iter.valid();
        if valid {
            iter.key().clone_into(found);
        } else {
            iter.status().map_err(|e| data_error(self.store.db(), lower, e))?;
        }
        iter.account();
        self.store.idle_iters().keep(iter);
        Ok(valid)
    }
}
