//! `Recent`: since which commit a key has certainly not changed.

use crate::base::sync::RECENT_SLOTS;
use crate::base::sync::atomic::{AtomicU64, Ordering};
use crate::encoding::key_hash;

/// The sequence number of the last commit of each key, by hash: what first committer wins is
/// decided by. A slot may be newer than a key that shares it with others, never older; while a commit of such a key is being
/// written, it is `ANNOUNCED`.
pub struct Recent {
    slots: Box<[AtomicU64]>,
}

impl Recent {
    pub fn new() -> Recent {
        Recent { slots: (0..RECENT_SLOTS).map(|_| AtomicU64::new(0)).collect() }
    }

    /// False: certainly not committed after `sequence`, as far as anybody has seen.
    pub fn may_be_after(&self, key: &[u8], sequence: u64) -> bool {
        self.hash_may_be_after(key_hash(key), sequence)
    }

    /// The same for the key's hash.
    pub fn hash_may_be_after(&self, hash: u64, sequence: u64) -> bool {
        self.slot(hash).load(Ordering::Acquire) > sequence
    }

    pub fn note(&self, hash: u64, sequence: u64) {
        self.slot(hash).store(sequence, Ordering::Release);
    }

    /// Every key may have changed.
    pub fn note_all(&self, sequence: u64) {
        self.slots.iter().for_each(|slot| slot.store(sequence, Ordering::Release));
    }

    /// A commit of the key, or of one that shares its slot, is being written.
    pub fn is_announced(&self, hash: u64) -> bool {
        self.slot(hash).load(Ordering::Acquire) == ANNOUNCED
    }

    fn slot(&self, hash: u64) -> &AtomicU64 {
        &self.slots[(hash >> 24) as usize & (RECENT_SLOTS - 1)]
    }
}

/// Later than all commits.
pub const ANNOUNCED: u64 = u64::MAX;
