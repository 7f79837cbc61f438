//! Key ranges that SERIALIZABLE transactions have read and nobody else may write in.
//!
//! A reader announces its range, then looks for rows in it that others have locked for writing;
//! a writer locks its row, then looks for granted ranges. Whichever comes second sees the other
//! (`announce` and `any` are sequentially consistent, and shard mutexes order the rest), so no
//! write slips into a range that was read. While no SERIALIZABLE transaction is open, writers pay
//! one load.

use std::sync::Arc;

use super::graph::{Detected, WaitGraph};
use super::manager::{Owner, WaitState};
use super::{LockInfo, LockMode, LockTarget};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};

#[derive(Default)]
pub struct RangeLocks {
    /// Ranges announced or granted.
    announced: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    granted: Vec<Range>,
    writers: Vec<Writer>,
}

struct Range {
    owner: u64,
    lower: Vec<u8>,
    /// Empty: no bound.
    upper: Vec<u8>,
}

/// A writer that holds the lock on its row and waits for ranges around it to go.
struct Writer {
    owner: Arc<Owner>,
    key: Vec<u8>,
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
    fn blockers(&self, owner: u64, key: &[u8]) -> Vec<u64> {
        self.granted.iter().filter(|r| r.owner != owner && r.contains(key)).map(|r| r.owner).collect()
    }
}

impl RangeLocks {
    pub fn any(&self) -> bool {
        self.announced.load(Ordering::SeqCst) > 0
    }

    pub fn holds(&self, owner: u64, lower: &[u8], upper: &[u8]) -> bool {
        self.any() && self.state.lock().granted.iter().any(|r| r.owner == owner && r.includes(lower, upper))
    }

    pub fn announce(&self) {
        self.announced.fetch_add(1, Ordering::SeqCst);
    }

    /// The announced range will not be granted.
    pub fn withdraw(&self) {
        self.announced.fetch_sub(1, Ordering::SeqCst);
    }

    /// Grants an announced range unless `find_writer` finds a row in it, which is returned.
    pub fn try_grant(
        &self,
        owner: u64,
        lower: &[u8],
        upper: &[u8],
        find_writer: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        let written = find_writer();
        if written.is_none() {
            state.granted.push(Range { owner, lower: lower.to_vec(), upper: upper.to_vec() });
        }
        written
    }

    pub fn release_all(&self, owner: u64, graph: &WaitGraph) {
        let mut state = self.state.lock();
        let before = state.granted.len();
        state.granted.retain(|r| r.owner != owner);
        self.announced.fetch_sub(before - state.granted.len(), Ordering::SeqCst);
        let writers = std::mem::take(&mut state.writers);
        for writer in writers {
            let blockers = state.blockers(writer.owner.id, &writer.key);
            if !blockers.is_empty() {
                graph.update(std::iter::once((writer.owner.id, blockers)));
                state.writers.push(writer);
            } else if writer.owner.finish_wait(WaitState::Granted) {
                graph.end(writer.owner.id);
            }
        }
    }

    /// Another owner has read around `key`.
    pub fn covered(&self, owner: u64, key: &[u8]) -> bool {
        !self.state.lock().blockers(owner, key).is_empty()
    }

    /// Queues a writer; `None` if nothing is in its way.
    pub fn begin_wait(&self, owner: &Arc<Owner>, key: &[u8], graph: &WaitGraph) -> Option<Detected> {
        let mut state = self.state.lock();
        let blockers = state.blockers(owner.id, key);
        if blockers.is_empty() {
            return None;
        }
        owner.begin_wait();
        let detected = graph.begin(owner, blockers);
        match detected {
            Detected::Victim => {
                owner.take_wait();
            }
            Detected::Nothing => state.writers.push(Writer { owner: Arc::clone(owner), key: key.to_vec() }),
        }
        Some(detected)
    }

    /// How the wait ended. The writer is not queued any more.
    pub fn end_wait(&self, owner: &Arc<Owner>, graph: &WaitGraph) -> WaitState {
        let mut state = self.state.lock();
        let outcome = owner.take_wait();
        if outcome != WaitState::Granted {
            graph.end(owner.id);
            state.writers.retain(|w| w.owner.id != owner.id);
        }
        outcome
    }

    pub fn held(&self, owner: u64) -> Vec<(LockTarget, LockMode)> {
        let state = self.state.lock();
        let own = state.granted.iter().filter(|r| r.owner == owner);
        own.map(|r| (LockTarget::Range(r.lower.clone(), r.upper.clone()), LockMode::S)).collect()
    }

    pub fn dump(&self) -> Vec<LockInfo> {
        let state = self.state.lock();
        let ranges = state.granted.iter().map(|r| LockInfo {
            txn: r.owner,
            target: LockTarget::Range(r.lower.clone(), r.upper.clone()),
            mode: LockMode::S,
            granted: true,
            blocked_by: Vec::new(),
        });
        let writers = state.writers.iter().map(|w| LockInfo {
            txn: w.owner.id,
            target: LockTarget::Key(w.key.clone()),
            mode: LockMode::X,
            granted: false,
            blocked_by: state.blockers(w.owner.id, &w.key),
        });
        ranges.chain(writers).collect()
    }
}
