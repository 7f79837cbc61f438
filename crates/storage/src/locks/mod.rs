//! The lock manager: who may touch which row, key range or table until the end of a transaction.
//!
//! Locks have no rows of their own: a lock on a key that does not exist is a lock like any other.
//! `manager` holds the hash table of locks and their FIFO queues, `graph` finds deadlocks,
//! `range` keeps the key ranges that SERIALIZABLE transactions read, `escalate` makes a range of too many row locks,
//! `interrupt` is how KILL ends a wait. Waiting blocks the thread, inside `Threads::blocking`.
//!
//! | held \ wanted | IS | IX | S | X |
//! |---------------|----|----|---|---|
//! | IS            | ✓  | ✓  | ✓ |   |
//! | IX            | ✓  | ✓  |   |   |
//! | S             | ✓  |    | ✓ |   |
//! | X             |    |    |   |   |
//!
//! A request waits behind conflicting ones that came before it, except that IS, or IS and IX, pass those that wait aside
//! (`LockPolicy::WaitAside`): a DDL statement that waits for a long query does not hold up all others.
//!
//! Mutexes are taken in the order: ranges, shard, graph, the wait state of an owner.

mod escalate;
mod graph;
mod interrupt;
mod manager;
mod range;
#[cfg(test)]
mod tests;

use std::time::Duration;

use vaquita_types::schema::{IndexId, TableId};

pub use graph::{Deadlock, DeadlockMember};
pub use interrupt::{EndsWait, Interrupt, InterruptReason, count_looks, looks};
pub use manager::{Acquired, HeldLocks, LockManager, Owner};

/// Row locks are S or X; tables and indexes also know the intention modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LockMode {
    IS,
    IX,
    S,
    X,
}

impl LockMode {
    pub fn compatible(self, other: LockMode) -> bool {
        use LockMode::*;
        matches!((self, other), (IS, IS | IX | S) | (IX, IS | IX) | (S, IS | S))
    }

    /// A holder of `self` needs nothing more to do what `other` allows.
    pub fn covers(self, other: LockMode) -> bool {
        use LockMode::*;
        self == other || self == X || (other == IS)
    }

    /// Of tables and indexes only.
    pub fn is_intention(self) -> bool {
        matches!(self, LockMode::IS | LockMode::IX)
    }

    /// The weakest mode that covers both; S and IX together make X, as there is no SIX.
    pub fn join(self, other: LockMode) -> LockMode {
        match (self.covers(other), other.covers(self)) {
            (true, _) => self,
            (_, true) => other,
            _ => LockMode::X,
        }
    }
}

/// What to do when a lock is not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPolicy {
    /// Error 1205 after that long.
    Wait(Duration),
    /// The same, but some who ask for an intention lock later do not wait for this request.
    WaitAside(Duration, PassedBy),
    /// Error 3572.
    NoWait,
    /// Go on without the row.
    SkipLocked,
}

/// Who, of those who ask for a lock of a table later, need not wait behind a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PassedBy {
    Nobody,
    /// IS.
    Readers,
    /// IS and IX.
    Writers,
}

/// What a lock is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockTarget {
    /// A row or an index entry, by its key bytes.
    Key(Vec<u8>),
    Table(TableId),
    /// An index: who writes very many entries of it has IX, and a SERIALIZABLE reader of a range that has met that, S.
    Index(IndexId),
    /// All keys in `[lower, upper)`; an empty `upper` is no bound.
    Range(Vec<u8>, Vec<u8>),
}

/// A line of performance_schema.data_locks.
#[derive(Clone, Debug)]
pub struct LockInfo {
    pub txn: u64,
    pub target: LockTarget,
    pub mode: LockMode,
    pub granted: bool,
    /// The transactions a waiter waits for.
    pub blocked_by: Vec<u64>,
}

/// Counts since start, for SHOW STATUS.
#[derive(Clone, Copy, Debug, Default)]
pub struct LockStats {
    pub waits: u64,
    pub waiting_now: u64,
    pub wait_us_total: u64,
    pub wait_us_max: u64,
    pub deadlocks: u64,
    pub timeouts: u64,
}
