//! Lock escalation: the row locks of a transaction that has very many become one range per index, from its first to its last key.
//!
//! A range also covers the rows and the gaps between that the transaction did not lock, as InnoDB's next-key locks do, so it is
//! taken only while nobody else holds or wants a conflicting lock in it. Later row locks of the owner in the range cost no
//! memory. Example: a DELETE of ten million rows holds one range of the primary key instead of ten million entries of two hundred bytes.
//!
//! New rows that come in ascending order with no other rows between them (`txn::ascent`) become a range much sooner: it covers nobody else's row,
//! and locks that are given back while they are in the CPU's cache cost little.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::manager::{Entry, HeldLocks, LockManager, Owner, TABLE_KEY_PREFIX};
use super::{LockMode, LockTarget};
use crate::encoding::ids::{INDEX_ID_BYTES, referenced_key};

/// Row locks of one index that are worth a range.
const WORTH: usize = 1000;

/// The row locks of one index in one mode.
struct Locks {
    first: Vec<u8>,
    last: Vec<u8>,
    count: usize,
}

impl LockManager {
    /// Replaces row locks of `owner` by ranges where it can.
    pub(super) fn escalate(&self, owner: &Arc<Owner>, held: &mut HeldLocks) {
        let mut granted = Vec::new();
        for ((_, exclusive), locks) in self.count_by_index(owner, held) {
            if locks.count < WORTH {
                continue;
            }
            let mode = if exclusive { LockMode::X } else { LockMode::S };
            let end = [&locks.last[..], &[0]].concat();
            self.ranges.announce();
            let others = || self.find_key(&locks.first, &end, |entry| entry.is_in_the_way(owner.id, mode));
            let found = self.ranges.try_grant(owner.id, mode, &locks.first, &end, others);
            match found {
                None => granted.push((mode, locks.first, end)),
                Some(_) => self.ranges.withdraw(),
            }
        }
        held.ranges += granted.len();
        held.ranges -= self.ranges.release_included(owner.id);
        held.slots.retain(|&name| {
            let mut shard = self.shards[(name >> 32) as usize].lock();
            let entry = &shard.entries[name as u32 as usize];
            let mode = entry.mode_of(owner.id);
            let key = entry.key.as_slice();
            let covered =
                granted.iter().any(|(m, first, end)| Some(*m) == mode && first.as_slice() <= key && key < end.as_slice());
            if covered {
                self.release_slot(&mut shard, name as u32, owner.id);
            }
            !covered
        });
    }

    /// Replaces the row locks that `owner` has taken since it had `from`, of keys from `first` to `last`, by a range, if nobody
    /// else has or wants a lock in it.
    pub fn join(&self, owner: &Arc<Owner>, held: &mut HeldLocks, from: usize, first: &[u8], last: &[u8]) -> bool {
        let end = [last, &[0]].concat();
        self.ranges.announce();
        let others = || self.find_key(first, &end, |entry| entry.is_in_the_way(owner.id, LockMode::X));
        if self.ranges.try_grant(owner.id, LockMode::X, first, &end, others).is_some() {
            self.ranges.withdraw();
            return false;
        }
        held.ranges += 1;
        held.ranges -= self.ranges.release_included(owner.id);
        for name in held.slots.split_off(from.min(held.slots.len())) {
            let mut shard = self.shards[(name >> 32) as usize].lock();
            let entry = &shard.entries[name as u32 as usize];
            let key = entry.key.as_slice();
            if first <= key && key <= last && entry.mode_of(owner.id) == Some(LockMode::X) {
                self.release_slot(&mut shard, name as u32, owner.id);
            } else {
                held.slots.push(name);
            }
        }
        true
    }

    /// By index id and mode (exclusive or not), with the owner's ranges, which a new one shall include.
    fn count_by_index(&self, owner: &Arc<Owner>, held: &HeldLocks) -> BTreeMap<(Vec<u8>, bool), Locks> {
        let mut found: BTreeMap<(Vec<u8>, bool), Locks> = BTreeMap::new();
        let mut add = |key: &[u8], mode: LockMode, count: usize| {
            let id_bytes = if referenced_key(key).is_some() { 2 * INDEX_ID_BYTES } else { INDEX_ID_BYTES };
            let Some(index) = key.get(..id_bytes).filter(|index| *index != TABLE_KEY_PREFIX) else { return };
            let new = || Locks { first: key.to_vec(), last: key.to_vec(), count: 0 };
            let locks = found.entry((index.to_vec(), mode == LockMode::X)).or_insert_with(new);
            locks.count += count;
            if key < locks.first.as_slice() {
                key.clone_into(&mut locks.first);
            }
            if key > locks.last.as_slice() {
                key.clone_into(&mut locks.last);
            }
        };
        for name in &held.slots {
            let shard = self.shards[(name >> 32) as usize].lock();
            let Some(entry) = shard.entries.get(*name as u32 as usize) else { continue };
            if let Some(mode) = entry.mode_of(owner.id).filter(|_| !entry.is_of_index()) {
                add(&entry.key, mode, 1);
            }
        }
        for (target, mode) in self.ranges.held(owner.id) {
            if let LockTarget::Range(lower, upper) = target
                && let Some(last) = upper.strip_suffix(&[0])
            {
                add(&lower, mode, 0);
                add(last, mode, 0);
            }
        }
        found
    }

    /// A key of `[lower, upper)` whose entry is so, or the key of the index as a whole.
    pub(super) fn find_key(&self, lower: &[u8], upper: &[u8], matches: impl Fn(&Entry) -> bool) -> Option<Vec<u8>> {
        self.shards.iter().find_map(|shard| {
            let shard = shard.lock();
            let inside = |e: &&Entry| {
                let is_between = e.key.as_slice() >= lower && (upper.is_empty() || e.key.as_slice() < upper);
                (is_between || e.is_of_index() && lower.starts_with(&e.key)) && !e.key.starts_with(&TABLE_KEY_PREFIX)
            };
            shard.locked().filter(inside).find(|e| matches(e)).map(|e| e.key.to_vec())
        })
    }
}
