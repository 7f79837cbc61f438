//! The primitives that the lock manager, the commit pipeline and the counters are built from, and the sizes that a
//! model of them makes small.
//!
//! `crates/models` compiles those files with a `sync` of its own, in which loom or shuttle decides what runs next. So they
//! take mutexes, condition variables, atomics and threads from here and nowhere else.

pub use std::sync::atomic;
pub use std::thread;

pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

use super::invariants::CHECKED;

/// Shards of the lock table, so that sessions seldom meet at one mutex.
pub const LOCK_SHARDS: usize = 128;
/// Row locks of a transaction before it locks indexes for entries anywhere in them.
pub const SINGLE_LOCKS: usize = if CHECKED { 20 } else { 500 };
/// Shards of the table of active transactions.
pub const ACTIVE_SHARDS: usize = 16;
/// Slots of `cache::recent`: 2 MiB. Two keys that share a slot cost a comparison of values.
pub const RECENT_SLOTS: usize = 1 << 18;
/// Parts of the row cache with a lock each.
pub const ROW_SHARDS: usize = 64;
/// Changes of an index that `span_cache` remembers.
pub const CHANGES_KEPT: usize = 256;
