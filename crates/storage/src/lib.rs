//! Rows, indexes and transactions on RocksDB; the only crate that links it.
//!
//! `engine` opens the directory; `txn` is what everybody reads and writes through; `lock` and
//! `commit` are how transactions meet each other; `counters` keeps exact row counts and
//! AUTO_INCREMENT; `rocks` is the one file with unsafe code.
//!
//! On top of that, tables: `form` says how each column type is stored, `key` and `row` encode
//! and decode, `layout` keeps old rows readable, `table` changes a row with its index entries,
//! `catalog` keeps definitions and runs DDL.
//!
//! A point read by primary key, as the executor does it:
//!
//! ```text
//! let table = catalog.open_table(&mut txn, "db", "t", LockMode::IS, policy)?;   // Option<Arc<Table>>
//! table.codec.clustered().encode_value(&Value::Int(7), &mut key)?;
//! if txn.get(&key, Version::Snapshot, &mut value)? {
//!     let row = table.codec.view(&key, &value)?;                // RowView
//!     let name: ValueRef<'_> = row.column(1)?;                  // nothing else is decoded
//! }
//! ```
//!
//! Scanning an index, and going from its entries to rows:
//!
//! ```text
//! let index = &table.codec.indexes()[2];
//! let range = index.range(&[Value::Int(3)], Bound::Excluded(&Value::Int(5)), Bound::Unbounded)?;
//! let mut cursor = txn.scan(range, Direction::Forward, ScanOptions::default())?;
//! while let Some((key, value)) = cursor.next(&txn)? {
//!     index.clustered_key(Entry { key, value }, &mut clustered)?;   // then txn.get
//!     index.part_value(0, Entry { key, value })?;                   // or a covering read
//! }
//! ```
//!
//! Writing: `table.insert(&mut txn, &row, policy, &mut buffers)? -> Written`, `table.update(&mut
//! txn, clustered_key, &old, &new, policy, &mut buffers)?`, `table.delete(&mut txn, clustered_key,
//! &old, policy, &mut buffers)?`; the row of an update or delete was locked before with
//! `txn.lock_row(clustered_key, LockMode::X, policy)`. `Written::Duplicate` names the index and the
//! row that is there; `table.duplicate_error(&duplicate, &row)` is error 1062.
//!
//! Rows are `&[Value]` in the order of `TableDef::columns`. TIMESTAMP values are UTC here.

#![deny(unsafe_code)]

mod building;
pub mod catalog;
pub mod check;
mod collate;
pub mod commit;
mod counters;
mod duplicate;
pub mod engine;
pub mod form;
pub mod helpers;
mod housekeeper;
pub mod key;
mod key_text;
pub mod kill_points;
pub mod layout;
pub mod lock;
mod log_check;
mod manifest;
mod newest_log;
mod options;
#[allow(unsafe_code)] // RocksDB's C interface
mod rocks;
pub mod row;
mod row_cache;
mod run;
mod sorted_files;
mod sorter;
mod space_reserve;
mod span;
mod span_cache;
mod span_index;
mod spill;
mod split;
pub mod statistics;
mod sync;
pub mod table;
pub mod txn;
pub mod value_ref;
pub mod xa;

pub use catalog::{
    AlterContext, Catalog, DdlContext, FirstRows, Leftovers, Progress, RowChange, SessionCatalog, Stage, StageProgress, TableName,
};
pub use check::{CheckReport, check_table};
pub use commit::{CommitStart, CommitWaiter};
pub use engine::{Engine, EngineHooks, EngineOptions, FlushMode, LogLevel, NoHooks};
pub use key::{Entry, IndexCodec};
pub use key_text::KeyColumn;
pub use kill_points::kill_point;
pub use lock::{Deadlock, DeadlockMember, Interrupt, InterruptReason, LockInfo, LockManager, LockMode, LockPolicy, LockTarget};
pub use options::{Tuning, memory_bytes};
pub use row::{RowCodec, RowView};
pub use sorter::{Sorted, Sorter};
pub use statistics::{IndexStatistics, TableStatistics};
pub use table::{Buffers, Duplicate, Table, Written};
pub use txn::{
    Cursor, Direction, Isolation, Keep, KeyRange, Locked, Mark, Reads, ScanOptions, SharedView, Step, Transaction, TxnInfo,
    TxnOptions, Version,
};
pub use value_ref::ValueRef;
pub use xa::{XID_PART_BYTES_MAX, XaBranch, Xid};
