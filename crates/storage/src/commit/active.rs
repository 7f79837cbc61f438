//! The transactions that hold something, from their first lock or write until their commit is visible.
//!
//! * ACTIVE-1: a transaction begins once and ends once, and nobody else has its id.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::base::invariants::{CHECKED, holds};
use crate::base::sync::{ACTIVE_SHARDS, Mutex};
use crate::locks::Owner;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    #[default]
    RepeatableRead,
    Serializable,
}

/// A line of information_schema.INNODB_TRX.
#[derive(Clone, Debug)]
pub struct TxnInfo {
    pub id: u64,
    pub started: Instant,
    /// How long it has waited for a lock, if it does.
    pub waiting: Option<Duration>,
    pub rows_locked: u64,
    pub rows_modified: u64,
    pub isolation: Isolation,
    /// `TxnOptions::interrupt.session_id`; 0 if the transaction is nobody's.
    pub session_id: u64,
    /// An XA transaction that waits for its XA COMMIT or XA ROLLBACK.
    pub prepared: bool,
}

/// The transactions that hold something, by id.
#[derive(Default)]
pub struct ActiveTransactions {
    /// Sharded, because every writing transaction comes by.
    shards: [Mutex<FxHashMap<u64, Active>>; ACTIVE_SHARDS],
}

struct Active {
    owner: Arc<Owner>,
    isolation: Isolation,
    started: Instant,
    prepared: bool,
}

impl ActiveTransactions {
    pub fn add(&self, owner: &Arc<Owner>, isolation: Isolation) {
        let active = Active { owner: Arc::clone(owner), isolation, started: Instant::now(), prepared: false };
        let before = self.shard(owner.id).lock().insert(owner.id, active);
        if CHECKED {
            holds(before.is_none(), "ACTIVE-1: a transaction begins once");
        }
    }

    pub fn note_prepared(&self, id: u64) {
        if let Some(active) = self.shard(id).lock().get_mut(&id) {
            active.prepared = true;
        }
    }

    pub fn remove(&self, id: u64) {
        let ended = self.shard(id).lock().remove(&id);
        if CHECKED {
            holds(ended.is_some_and(|active| active.owner.id == id), "ACTIVE-1: a transaction ends once");
        }
    }

    pub fn contains(&self, id: u64) -> bool {
        self.shard(id).lock().contains_key(&id)
    }

    fn shard(&self, id: u64) -> &Mutex<FxHashMap<u64, Active>> {
        &self.shards[(id % ACTIVE_SHARDS as u64) as usize]
    }

    pub fn list(&self) -> Vec<TxnInfo> {
        let mut out = Vec::new();
        for shard in &self.shards {
            out.extend(shard.lock().values().map(|a| TxnInfo {
                id: a.owner.id,
                started: a.started,
                waiting: a.owner.waiting_since().map(|since| since.elapsed()),
                rows_locked: a.owner.rows_locked(),
                rows_modified: a.owner.rows_modified(),
                isolation: a.isolation,
                session_id: if a.prepared { 0 } else { a.owner.interrupt.session_id },
                prepared: a.prepared,
            }));
        }
        out.sort_by_key(|t| t.id);
        out
    }
}
