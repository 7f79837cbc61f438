//! Rows, indexes and transactions on RocksDB; the only crate that links it.
//!
//! `engine` opens the directory; `txn` is what everybody reads and writes through; `lock` and
//! `commit` are how transactions meet each other; `counters` keeps exact row counts and
//! AUTO_INCREMENT; `rocks` is the one file with unsafe code.

pub mod commit;
pub mod engine;
pub mod lock;
pub mod txn;

pub use commit::{CommitStart, CommitWaiter};
pub use engine::{Engine, EngineHooks, EngineOptions, FlushMode, LogLevel, NoHooks};
pub use lock::{Interrupt, InterruptReason, LockInfo, LockManager, LockMode, LockPolicy};
pub use txn::{Cursor, Direction, Isolation, KeyRange, Locked, Mark, Reads, ScanOptions, Transaction, TxnInfo, TxnOptions, Version};
