//! Key ranges that SERIALIZABLE transactions have read and nobody else may write in (S), and those of escalated row locks (S or X).
//!
//! A reader announces its range, then looks for rows in it that others have locked for writing;
//! a writer locks its row, then looks for granted ranges. Whichever comes second sees the other
//! (`announce` and `any` are sequentially consistent, and shard mutexes order the rest), so no
//! write slips into a range that was read. While no SERIALIZABLE transaction is open, writers pay
//! one load.

use std::sync::Arc;

use super::graph::{Detected, WaitGraph, Wanted};
use super::manager::{Owner, WaitState};
use super::{LockInfo, LockMode, LockTarget};
use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicUsize, Ordering};

#[derive(Default)]
pub struct RangeLocks {
    /// Ranges announced or granted.
    announced: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    granted: Vec<Range>,
    waiters: Vec<Waiter>,
}

struct Range {
    owner: u64,
    mode: LockMode,
    lower: Vec<u8>,
    /// Empty: no bound.
    upper: Vec<u8>,
}

/// Who holds the lock on its row and waits for ranges around it to go.
struct Waiter {
    owner: Arc<Owner>,
    key: Vec<u8>,
    mode: LockMode,
}

impl Range {
    fn contains(&self, key: &[u8]) -> bool {
        self.lower.as_slice() <= key && (self.upper.is_empty() || key < self.upper.as_slice())
    }

    fn includes(&self, lower: &[u8], upper: &[u8]) -> bool {
        let ends_later = self.upper.is_empty() || (!upper.is_empty() && upper <= self.upper.as_slice());
        self.lower.as_slice() <= lower && ends_later
    }
}

impl State {
    fn blockers(&self, owner: u64, key: &[u8], mode: LockMode) -> Vec<u64> {
        let blocks = |r: &&Range| r.owner != owner && !r.mode.compatible(mode) && r.contains(key);
        self.granted.iter().filter(blocks).map(|r| r.owner).collect()
    }

    /// A key that a conflicting range of somebody else has in common with `[lower, upper)`.
    fn overlap(&self, owner: u64, mode: LockMode, lower: &[u8], upper: &[u8]) -> Option<Vec<u8>> {
        let others = self.granted.iter().filter(|r| r.owner != owner && !r.mode.compatible(mode));
        let mut common = others.map(|r| (r, r.lower.as_slice().max(lower)));
        common.find(|(r, key)| r.contains(key) && (upper.is_empty() || *key < upper)).map(|(_, key)| key.to_vec())
    }
}

impl RangeLocks {
    pub fn any(&self) -> bool {
        self.any_beside(0)
    }

    /// Others have ranges than the one who has `own` of them.
    pub fn any_beside(&self, own: usize) -> bool {
        self.announced.load(Ordering::SeqCst) > own
    }

    pub fn holds(&self, owner: u64, lower: &[u8], upper: &[u8]) -> bool {
        self.any() && self.state.lock().granted.iter().any(|r| r.owner == owner && r.includes(lower, upper))
    }

    pub fn holds_key(&self, owner: u64, key: &[u8], mode: LockMode) -> bool {
        self.any() && self.state.lock().granted.iter().any(|r| r.owner == owner && r.mode.covers(mode) && r.contains(key))
    }

    /// Others have ranges of keys that begin so.
    pub fn others_within(&self, owner: u64, prefix: &[u8]) -> bool {
        self.state.lock().granted.iter().any(|r| r.owner != owner && r.lower.starts_with(prefix))
    }

    pub fn announce(&self) {
        self.announced.fetch_add(1, Ordering::SeqCst);
    }

    /// The announced range will not be granted.
    pub fn withdraw(&self) {
        self.announced.fetch_sub(1, Ordering::SeqCst);
    }

    /// Grants an announced range unless somebody has a conflicting one or `find_other` finds a row in it: a key in the way is returned.
    pub fn try_grant(
        &self,
        owner: u64,
        mode: LockMode,
        lower: &[u8],
        upper: &[u8],
        find_other: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        let found = state.overlap(owner, mode, lower, upper).or_else(find_other);
        if found.is_none() {
            state.granted.push(Range { owner, mode, lower: lower.to_vec(), upper: upper.to_vec() });
        }
        found
    }

    /// Gives back the owner's ranges that another one of its ranges includes; how many.
    pub fn release_included(&self, owner: u64) -> usize {
        let mut state = self.state.lock();
        let before = state.granted.len();
        let mut at = 0;
        while at < state.granted.len() {
            let own = &state.granted[at];
            let included =
                own.owner == owner
                    && state.granted.iter().enumerate().any(|(n, r)| {
                        n != at && r.owner == owner && r.mode.covers(own.mode) && r.includes(&own.lower, &own.upper)
                    });
            if included {
                state.granted.remove(at);
            } else {
                at += 1;
            }
        }
        let released = before - state.granted.len();
        self.announced.fetch_sub(released, Ordering::SeqCst);
        released
    }

    pub fn release_all(&self, owner: u64, graph: &WaitGraph) {
        let mut state = self.state.lock();
        let before = state.granted.len();
        state.granted.retain(|r| r.owner != owner);
        self.announced.fetch_sub(before - state.granted.len(), Ordering::SeqCst);
        let waiters = std::mem::take(&mut state.waiters);
        for waiter in waiters {
            let blockers = state.blockers(waiter.owner.id, &waiter.key, waiter.mode);
            if !blockers.is_empty() {
                graph.update(std::iter::once((waiter.owner.id, blockers)));
                state.waiters.push(waiter);
            } else if waiter.owner.finish_wait(WaitState::Granted) {
                graph.end(waiter.owner.id);
            }
        }
    }

    /// Another owner has a conflicting range around `key`.
    pub fn covered(&self, owner: u64, key: &[u8], mode: LockMode) -> bool {
        !self.state.lock().blockers(owner, key, mode).is_empty()
    }

    /// Queues who has locked its row; `None` if nothing is in its way.
    pub fn begin_wait(&self, owner: &Arc<Owner>, key: &[u8], mode: LockMode, graph: &WaitGraph) -> Option<Detected> {
        let mut state = self.state.lock();
        let blockers = state.blockers(owner.id, key, mode);
        if blockers.is_empty() {
            return None;
        }
        owner.begin_wait();
        let wants = Wanted { target: LockTarget::Key(key.to_vec()), mode };
        let detected = graph.begin(owner, wants, blockers);
        match detected {
            Detected::Victim => {
                owner.take_wait();
            }
            Detected::Nothing => state.waiters.push(Waiter { owner: Arc::clone(owner), key: key.to_vec(), mode }),
        }
        Some(detected)
    }

    /// How the wait ended; it is not queued any more.
    pub fn end_wait(&self, owner: &Arc<Owner>, graph: &WaitGraph) -> WaitState {
        let mut state = self.state.lock();
        let outcome = owner.take_wait();
        if outcome != WaitState::Granted {
            graph.end(owner.id);
            state.waiters.retain(|w| w.owner.id != owner.id);
        }
        outcome
    }

    pub fn held(&self, owner: u64) -> Vec<(LockTarget, LockMode)> {
        let state = self.state.lock();
        let own = state.granted.iter().filter(|r| r.owner == owner);
        own.map(|r| (LockTarget::Range(r.lower.clone(), r.upper.clone()), r.mode)).collect()
    }

    pub fn dump(&self) -> Vec<LockInfo> {
        let state = self.state.lock();
        let ranges = state.granted.iter().map(|r| LockInfo {
            txn: r.owner,
            target: LockTarget::Range(r.lower.clone(), r.upper.clone()),
            mode: r.mode,
            granted: true,
            blocked_by: Vec::new(),
        });
        let waiters = state.waiters.iter().map(|w| LockInfo {
            txn: w.owner.id,
            target: LockTarget::Key(w.key.clone()),
            mode: w.mode,
            granted: false,
            blocked_by: state.blockers(w.owner.id, &w.key, w.mode),
        });
        ranges.chain(waiters).collect()
    }
}
