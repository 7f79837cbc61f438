//! A transaction: its snapshot, its write set, its locks, and how they end.
//!
//! ```text
//! let mut txn = engine.begin(TxnOptions::default());
//! txn.begin_statement(Reads::Many);
//! txn.lock_table(table, LockMode::IX, policy)?;
//! txn.lock_row(&key, LockMode::X, policy)?;   // conflict check against the snapshot
//! txn.put(&key, &row)?;
//! txn.end_statement();                        // or rollback_statement()
//! match txn.commit(|| waiter) { CommitStart::Done(result) => …, CommitStart::Parked => … }
//! ```
//!
//! `data` holds rows and index entries; the `meta_*` functions work on the `catalog` column
//! family (catalog keys starting with 0x00 belong to `counters`).

mod cursor;
mod write_set;

use std::time::{Duration, Instant};

use vaquita_types::Result;
use vaquita_types::schema::TableId;

pub use cursor::{Cursor, Direction, KeyRange, ScanOptions};
pub use write_set::Mark;

use crate::commit::{CommitStart, CommitWaiter};
use crate::lock::{Interrupt, LockMode, LockPolicy};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    #[default]
    RepeatableRead,
    Serializable,
}

#[derive(Clone)]
pub struct TxnOptions {
    pub isolation: Isolation,
    /// One statement, committed at its end: a single read needs no snapshot.
    pub autocommit: bool,
    pub read_only: bool,
    /// `innodb_snapshot_isolation`: OFF changes the latest version of a row as MySQL does.
    pub snapshot_isolation: bool,
    /// The session's, so that KILL ends its waits.
    pub interrupt: Arc<Interrupt>,
}

/// What a statement reads, so that a lone read can do without a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// One get or one scan, or only rows that it locks first.
    One,
    /// More than one read that must agree with each other.
    Many,
}

/// Which version of the data a read sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The snapshot of the transaction (REPEATABLE READ) or of the statement.
    Snapshot,
    /// What is committed now: for rows that are locked, and for checks of uniqueness.
    Latest,
}

/// The outcome of locking a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locked {
    /// Ours; the snapshot's version is the latest one.
    Unchanged,
    /// Ours; it was committed after the statement's snapshot (READ COMMITTED, or snapshot
    /// isolation off): read the latest version and evaluate the condition again.
    Changed,
    /// Somebody holds it and the policy is SKIP LOCKED.
    Skipped,
}

/// A line of information_schema.INNODB_TRX.
#[derive(Clone, Debug)]
pub struct TxnInfo {
    pub id: u64,
    pub started: Instant,
    pub waiting: Option<Duration>,
    pub rows_locked: u64,
    pub rows_modified: u64,
    pub isolation: Isolation,
    /// `TxnOptions::interrupt.session_id`.
    pub session_id: u64,
}

pub struct Transaction {}

impl Transaction {
    pub fn id(&self) -> u64 {
        todo!()
    }

    pub fn isolation(&self) -> Isolation {
        todo!()
    }

    /// Starts a statement: a savepoint to undo it and, under READ COMMITTED, a new snapshot.
    pub fn begin_statement(&mut self, reads: Reads) {
        let _ = reads;
    }

    /// The statement succeeded.
    pub fn end_statement(&mut self) {}

    /// Undoes what the statement wrote; its locks stay.
    pub fn rollback_statement(&mut self) {}

    /// After an error with `Next::Restart`: undoes the statement and drops the snapshot, so that
    /// it can run again. `begin_statement` follows.
    pub fn restart_statement(&mut self) {}

    /// A named savepoint of the session is a mark.
    pub fn mark(&self) -> Mark {
        todo!()
    }

    pub fn rollback_to(&mut self, mark: &Mark) {
        let _ = mark;
    }

    /// START TRANSACTION WITH CONSISTENT SNAPSHOT.
    pub fn take_snapshot(&mut self) {}

    /// Nothing was written.
    pub fn is_read_only(&self) -> bool {
        todo!()
    }

    // Reads. `buf` is replaced by the value; false: no such key.

    /// The value of a data key.
    pub fn get(&self, key: &[u8], version: Version, buf: &mut Vec<u8>) -> Result<bool> {
        let _ = (key, version, buf);
        todo!()
    }

    pub fn exists(&self, key: &[u8], version: Version) -> Result<bool> {
        let _ = (key, version);
        todo!()
    }

    /// Values in the order of `keys`.
    pub fn multi_get(&self, keys: &[&[u8]], version: Version, out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        let _ = (keys, version, out);
        todo!()
    }

    /// A cursor over data keys. It borrows nothing, so the transaction can write between steps.
    pub fn scan(&self, range: KeyRange, direction: Direction, options: ScanOptions) -> Result<Cursor> {
        let _ = (range, direction, options);
        todo!()
    }

    pub fn meta_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let _ = key;
        todo!()
    }

    pub fn meta_scan(&self, range: KeyRange) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let _ = range;
        todo!()
    }

    // Locks.

    /// Locks a row or an index entry and checks it against the snapshot. Fails with 1205, 1213,
    /// 3572, 1317, or `Next::Restart` when the statement may run again on a fresh snapshot.
    pub fn lock_row(&mut self, key: &[u8], mode: LockMode, policy: LockPolicy) -> Result<Locked> {
        let _ = (key, mode, policy);
        todo!()
    }

    /// Locks without a check against the snapshot: for an INSERT, whose duplicate check reads the
    /// latest version. False: skipped.
    pub fn lock_key(&mut self, key: &[u8], mode: LockMode, policy: LockPolicy) -> Result<bool> {
        let _ = (key, mode, policy);
        todo!()
    }

    /// The check of `lock_row` for a key locked before: true if it changed since the snapshot.
    pub fn check_conflict(&mut self, key: &[u8]) -> Result<bool> {
        let _ = key;
        todo!()
    }

    /// Gives back a row lock that this statement took on a row its condition does not match
    /// (READ COMMITTED).
    pub fn unlock_row(&mut self, key: &[u8]) {
        let _ = key;
    }

    /// SERIALIZABLE: nobody else writes in the range until this transaction ends.
    pub fn lock_range(&mut self, range: &KeyRange, policy: LockPolicy) -> Result<()> {
        let _ = (range, policy);
        todo!()
    }

    /// IS or IX for statements, S or X for LOCK TABLES and DDL. Held to the end of the transaction.
    pub fn lock_table(&mut self, table: TableId, mode: LockMode, policy: LockPolicy) -> Result<()> {
        let _ = (table, mode, policy);
        todo!()
    }

    // Writes. The row must be locked.

    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let _ = (key, value);
        todo!()
    }

    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        let _ = key;
        todo!()
    }

    pub fn meta_put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let _ = (key, value);
        todo!()
    }

    pub fn meta_delete(&mut self, key: &[u8]) -> Result<()> {
        let _ = key;
        todo!()
    }

    // Counters.

    /// Adds to the table's exact row count when this transaction commits.
    pub fn add_rows(&mut self, table: TableId, delta: i64) {
        let _ = (table, delta);
    }

    /// The exact number of rows that this transaction sees.
    pub fn row_count(&self, table: TableId) -> Result<u64> {
        let _ = table;
        todo!()
    }

    /// Hands out `count` AUTO_INCREMENT values: the first of them, ≡ offset modulo increment.
    pub fn next_auto_increment(&mut self, table: TableId, count: u64, increment: u64, offset: u64) -> Result<u64> {
        let _ = (table, count, increment, offset);
        todo!()
    }

    /// A row was written with an explicit AUTO_INCREMENT value: later ones are higher.
    pub fn note_auto_increment(&mut self, table: TableId, value: u64) -> Result<()> {
        let _ = (table, value);
        todo!()
    }

    /// The next value that would be handed out, for SHOW CREATE TABLE.
    pub fn peek_auto_increment(&self, table: TableId) -> Result<u64> {
        let _ = table;
        todo!()
    }

    /// `ALTER TABLE … AUTO_INCREMENT = next`, also downwards.
    pub fn set_auto_increment(&mut self, table: TableId, next: u64) -> Result<()> {
        let _ = (table, next);
        todo!()
    }

    /// The next hidden row id of a table without PRIMARY KEY.
    pub fn next_row_id(&mut self, table: TableId) -> Result<u64> {
        let _ = table;
        todo!()
    }

    // The end. The transaction can be used again after any of these; it then begins anew.

    /// Starts the commit. `waiter` is asked for only when this thread does not finish it.
    pub fn commit(&mut self, waiter: impl FnOnce() -> CommitWaiter) -> CommitStart {
        let _ = waiter;
        todo!()
    }

    /// Commits and blocks until it is durable.
    pub fn commit_wait(&mut self) -> Result<()> {
        todo!()
    }

    pub fn rollback(&mut self) {}
}
