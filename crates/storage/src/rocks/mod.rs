//! RocksDB, and the files that it writes.
//!
//! | file | for |
//! |---|---|
//! | `db` | its C API behind safe types: the only unsafe code |
//! | `options` | what it is told, and why |
//! | `error` | its failures as the errors of statements |
//! | `log_store` | the family of the binary log, for its writer and its readers |
//! | `idle` | iterators that wait for the next scan |
//! | `split` | a key range in pieces of about one size |
//! | `log_check`, `manifest`, `newest_log` | whether a log or MANIFEST was damaged or lost, looked at before RocksDB opens them |
//!
//! It may use `base` and `encoding`. It never knows a lock, a cache of ours, a transaction or a table; nobody else names RocksDB.

#[allow(unsafe_code)] // RocksDB's C interface
mod db;
mod error;
mod idle;
pub mod log_check;
mod log_store;
mod manifest;
pub mod newest_log;
pub mod options;
pub mod split;

pub use db::{Db, Family, FamilyOptions, Iter, IterOptions, RocksError, Snapshot, SortedFiles};
pub use error::is_disk_full;
pub(crate) use error::{disk_full_error, read_error, write_error};
pub use idle::IdleIters;
pub use log_store::{LogCursor, LogStore};
