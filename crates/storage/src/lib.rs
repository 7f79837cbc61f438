//! Rows, indexes and transactions on RocksDB; the only crate that links it.
//!
//! Its folders are floors: each uses those above it in this list and none below (`cargo xtask tidy` checks it). What a floor is
//! for, and what it never knows, stands in its `mod.rs`.
//!
//! | floor | for |
//! |---|---|
//! | `base` | primitives of threads, kill points, hooks, options |
//! | `encoding` | keys, rows, values and definitions as bytes |
//! | `rocks` | RocksDB and the files that it writes |
//! | `locks` | who may touch which row, range or table |
//! | `cache` | rows and spans of indexes in memory |
//! | `spill` | what does not fit into memory, in sorted runs |
//! | `commit` | the commit pipeline, counters, active transactions |
//! | `txn` | a transaction: snapshot, write set, reads, locks, end; XA |
//! | `catalog` | definitions, DDL, and tables, whose rows change with their index entries |
//! | `engine` | opens the directory, keeps house, CHECK TABLE |
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

mod base;
mod cache;
mod catalog;
mod commit;
mod encoding;
mod engine;
mod locks;
mod rocks;
mod spill;
mod txn;

pub use base::clock::now_us;
pub use base::hooks::{EngineHooks, LogLevel, OperatorLog, Statements, Threads};
pub use base::kill_points::kill_point;
pub use base::memory::{Shares as MemoryShares, goal_bytes, memory_bytes, set_goal_bytes, shares as memory_shares};
pub use base::options::{EngineOptions, FlushMode, Tuning, cores};
pub use base::{helpers, kill_points};
pub use cache::uses::CacheUses;
pub use catalog::foreign_keys::{self, KeyRules};
pub use catalog::key_text::KeyColumn;
pub use catalog::new_rows::NewRows;
pub use catalog::statistics::{IndexStatistics, TableStatistics};
pub use catalog::table::{Buffers, Duplicate, Table, Written};
pub use catalog::validation::{ChangedRows, Validation};
pub use catalog::{
    AloneMap, AlterContext, Altered, Catalog, CommitNote, DdlContext, FirstRows, Leftovers, MetaChanges, Named, Progress,
    RowChange, RowCheck, SessionCatalog, Stage, StageProgress, TableName, TriggerPlace, stores_alike,
};
pub use commit::active::{Isolation, TxnInfo};
pub use commit::counters::LOG_PLACE;
pub use commit::log_buffer::{LogBuffer, LogEntry, LogObject};
pub use commit::records::Records;
pub use commit::stages::{Change, Content, GoOn, Held, LogError, RocksLog, Stages};
pub use commit::{CommitRequest, CommitStart, CommitWaiter, Touched};
pub use encoding::catalog::keys::meta as meta_key;
pub use encoding::ids::{TEMPORARY_ID_MIN, reference_lock, referenced_key};
pub use encoding::key::{Entry, IndexCodec};
pub use encoding::row::{RowCodec, RowView};
pub use encoding::value_ref::ValueRef;
pub use encoding::{KeyRange, form, key, layout, row};
pub use engine::Engine;
pub use engine::check_table::{CheckReport, check_table};
pub use engine::format::mark as mark_format;
pub use locks::looks as interrupt_looks;
pub use locks::{
    Deadlock, DeadlockMember, Interrupt, InterruptReason, LockInfo, LockManager, LockMode, LockPolicy, LockTarget, Owner,
    PassedBy,
};
pub use rocks::{Family, LogCursor, LogStore, SortedFiles, is_disk_full};
pub use spill::row_store::{RowPlace, RowStore};
pub use spill::sorter::{Sorted, Sorter};
pub use txn::xa::{XID_PART_BYTES_MAX, XaBranch, Xid};
pub use txn::{
    Cursor, Direction, Keep, Locked, Mark, Part, Reads, ScanOptions, SharedView, Step, Store, Transaction, TxnOptions, Version,
};
