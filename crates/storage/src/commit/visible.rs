//! What readers see while commits wait until others have them (`held`): not those.
//!
//! RocksDB shows a group as soon as it is written. So the leader takes a snapshot before it writes one that will wait, and readers get the oldest
//! of these snapshots as what is committed now, until the wait in front of which it was taken is over. Waits end in the order of the log.
//!
//! * VISIBLE-1: a group that waits is hidden before it is written, and shown before its locks are released and its waiters are completed: who is
//!   told of a commit, or gets a lock of it, sees it.
//! * VISIBLE-2: what changes data behind a hidden group waits with it, whatever the log is told of it, or its session would not see it.
//! * VISIBLE-3: who reads rows that it locks, or looks for duplicates under a lock, reads the latest version as always: what is hidden is locked.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::rocks::{Db, Snapshot};

/// Names a hidden group; later ones are greater.
pub type HiddenId = u64;

#[derive(Default)]
pub struct Visible {
    /// Something was hidden once: from then on reads have snapshots.
    used: AtomicBool,
    /// How many groups are hidden.
    hidden: AtomicU64,
    snapshots: Mutex<Snapshots>,
}

#[derive(Default)]
struct Snapshots {
    /// In front of each hidden group, the oldest first.
    of: VecDeque<(HiddenId, Arc<Snapshot>)>,
    next: HiddenId,
}

impl Visible {
    /// The leader is about to write a group that waits.
    pub fn hide(&self, db: &Arc<Db>) -> HiddenId {
        self.used.store(true, Ordering::SeqCst);
        let snapshot = Arc::new(Snapshot::new(db));
        let mut snapshots = self.snapshots.lock();
        snapshots.next += 1;
        let id = snapshots.next;
        snapshots.of.push_back((id, snapshot));
        self.hidden.store(snapshots.of.len() as u64, Ordering::SeqCst);
        id
    }

    /// That group was not written.
    pub fn forget(&self, id: HiddenId) {
        self.change(|of| of.retain(|(hidden, _)| *hidden != id));
    }

    /// Its wait, and so all before it, is over.
    pub fn show(&self, id: HiddenId) {
        self.change(|of| of.drain(..of.partition_point(|(hidden, _)| *hidden <= id)).collect::<Vec<_>>());
    }

    /// What `change` takes away is dropped outside the mutex.
    fn change<R>(&self, change: impl FnOnce(&mut VecDeque<(HiddenId, Arc<Snapshot>)>) -> R) {
        let mut snapshots = self.snapshots.lock();
        let taken = change(&mut snapshots.of);
        self.hidden.store(snapshots.of.len() as u64, Ordering::SeqCst);
        drop(snapshots);
        drop(taken);
    }

    /// The group that was hidden last, if it still is.
    pub fn last(&self) -> Option<HiddenId> {
        if self.hidden.load(Ordering::SeqCst) == 0 {
            return None;
        }
        self.snapshots.lock().of.back().map(|(id, _)| *id)
    }

    /// What readers see, if that is not the latest version.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        if self.hidden.load(Ordering::SeqCst) == 0 {
            return None;
        }
        self.snapshots.lock().of.front().map(|(_, snapshot)| Arc::clone(snapshot))
    }

    /// A read that begins now must not read the latest version without looking.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }
}
