//! A transaction: its snapshot, its write set, its locks, and how they end. What a statement sees and locks at each level: `isolation`.
//!
//! ```text
//! let mut txn = store.begin(TxnOptions::default());
//! txn.begin_statement(Reads::Many);
//! txn.lock_table(table, LockMode::IX, policy)?;
//! txn.lock_row(&key, LockMode::X, policy)?;   // conflict check against the snapshot
//! txn.put(&key, &row)?;
//! txn.end_statement();                        // or rollback_statement()
//! match txn.commit(|| waiter) { CommitStart::Done(result) => …, CommitStart::Parked => … }
//! ```
//!
//! `data` holds rows, index entries and counters; the `meta_*` functions work on the `catalog` column
//! family.

mod ascent;
mod base;
pub(crate) mod checked;
mod cursor;
mod damage;
mod gap;
mod isolation;
#[cfg(test)]
mod span_tests;
mod spilled;
mod store;
#[cfg(test)]
mod tests;
mod write_map;
mod write_set;
pub mod xa;

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use vaquita_types::errno::{ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_LOCK_TABLE_FULL};
use vaquita_types::schema::{IndexId, TableId};
use vaquita_types::{Error, Result, memory};

pub use cursor::{Cursor, Direction, Keep, ScanOptions, Step};
pub use gap::Gap;
pub(crate) use store::Places;
pub use store::Store;
pub use write_map::Packed;
use write_set::WriteSet;
pub use write_set::{Mark, Part};

use self::ascent::Ascent;
use self::base::{Base, Spans};
use crate::base::kill_points::kill_point;
use crate::cache::row_cache::{CachedRow, Seen};
use crate::commit::active::Isolation;
use crate::commit::counters::CounterChange;
use crate::commit::log_buffer::LogBuffer;
use crate::commit::log_buffer::LogObject;
use crate::commit::records::Records;
use crate::commit::{CommitRequest, CommitStart, CommitWaiter, Touched};
use crate::encoding::KeyRange;
use crate::encoding::ids::{is_temporary_key, is_temporary_table};
use crate::encoding::key_hash;
use crate::locks::{Acquired, HeldLocks, Interrupt, LockMode, LockPolicy, Owner};
use crate::rocks::read_error;
use crate::rocks::{Family, Iter, IterOptions, Snapshot};
use crate::txn::damage::data_error;

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

impl Default for TxnOptions {
    /// Of the storage's own transactions, which nobody interrupts.
    fn default() -> TxnOptions {
        TxnOptions {
            isolation: Isolation::ReadCommitted,
            autocommit: false,
            read_only: false,
            snapshot_isolation: false,
            interrupt: Arc::new(Interrupt::new(0)),
        }
    }
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
    /// Ours; it was committed after the statement's snapshot. `lock_row` gives it with snapshot isolation off only: read the
    /// latest version and evaluate the condition again.
    Changed,
    /// Somebody holds it and the policy is SKIP LOCKED.
    Skipped,
}

pub struct Transaction {
    store: Arc<Store>,
    options: TxnOptions,
    /// Made when the transaction first locks or takes a snapshot that lasts.
    owner: Option<Arc<Owner>>,
    held: HeldLocks,
    /// The row that was locked last had not been locked before.
    took_lock: bool,
    ascent: Ascent,
    /// Table locks held, so that the next statement need not ask.
    tables: Vec<(TableId, LockMode)>,
    writes: WriteSet,
    counters: Vec<(TableId, CounterChange)>,
    statement: StatementStart,
    view: RefCell<View>,
    /// It is a session's: what it writes into temporary tables need not be stored.
    carries: bool,
    /// Keys of temporary tables were stored all the same.
    stored_temporary: bool,
}

/// The snapshot, and an iterator at it that a finished scan left.
#[derive(Default)]
struct View {
    snapshot: Option<Arc<Snapshot>>,
    idle: Option<Iter>,
}

/// What a statement reads, for other threads that read for it.
#[derive(Clone)]
pub struct SharedView {
    store: Arc<Store>,
    snapshot: Arc<Snapshot>,
    interrupt: Arc<Interrupt>,
}

impl SharedView {
    /// Sees what the statement sees, and only reads. The tables are locked by the transaction that shares them.
    pub fn transaction(&self) -> Transaction {
        let options = TxnOptions { read_only: true, interrupt: Arc::clone(&self.interrupt), ..TxnOptions::default() };
        let txn = Transaction::new(Arc::clone(&self.store), options);
        txn.view.borrow_mut().snapshot = Some(Arc::clone(&self.snapshot));
        txn
    }
}

/// Bytes that a session's transaction carries on in memory.
const CARRIED_BYTES_MAX: usize = 4 << 20;
/// Bytes of a write set that cannot spill, before error 1206.
const WRITE_SET_BYTES_MAX: usize = 1 << 30;
/// A smaller write set does not go to the disk.
const WRITE_SET_BYTES_MIN: usize = 4 << 20;

/// The running statement.
#[derive(Clone, Copy)]
struct StatementStart {
    began: Mark,
    reads: Reads,
    /// Locks that earlier statements took.
    locks_before: usize,
    /// It may run again on a fresh snapshot: the transaction had none when it began.
    may_restart: bool,
    /// It changes or locks rows.
    changes: bool,
}

impl StatementStart {
    /// Of a transaction that holds nothing.
    fn new(writes: &mut WriteSet) -> StatementStart {
        StatementStart { began: writes.begin_statement(), reads: Reads::Many, locks_before: 0, may_restart: true, changes: false }
    }
}

impl Transaction {
    pub(crate) fn new(store: Arc<Store>, options: TxnOptions) -> Transaction {
        let mut writes = WriteSet::default();
        let statement = StatementStart::new(&mut writes);
        Transaction {
            store,
            options,
            owner: None,
            held: HeldLocks::default(),
            took_lock: false,
            ascent: Ascent::default(),
            tables: Vec::new(),
            writes,
            counters: Vec::new(),
            statement,
            view: RefCell::default(),
            carries: false,
            stored_temporary: false,
        }
    }

    /// The id that other sessions see, or 0 while nothing is locked.
    pub fn id(&self) -> u64 {
        self.owner.as_ref().map_or(0, |o| o.id)
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub fn options(&self) -> &TxnOptions {
        &self.options
    }

    pub fn isolation(&self) -> Isolation {
        self.options.isolation
    }

    /// Changes what the next transaction of this session is. What was not committed is rolled back.
    pub fn renew(&mut self, options: TxnOptions) {
        self.rollback();
        self.options = options;
    }

    /// From here on, commits keep what they write into temporary tables in memory as long as it is little: nobody else
    /// reads it, and a crash ends it.
    pub fn carry_temporary(&mut self) {
        self.carries = true;
    }

    fn carries_on(&self) -> bool {
        self.carries && self.writes.bytes() <= CARRIED_BYTES_MAX && self.writes.spilled().is_none()
    }

    /// Stores what was carried, for readers other than this transaction. No transaction has begun.
    pub fn store_carried(&mut self) -> Result<()> {
        if !self.writes.has_temporary() {
            return Ok(());
        }
        let carries = std::mem::replace(&mut self.carries, false);
        let stored = self.submit_and_wait();
        self.carries = carries;
        stored
    }

    /// Tables are gone: what was carried of them is forgotten. True: some of it may have been stored.
    pub(crate) fn forget_temporary(&mut self, tables: &[TableId], indexes: &[IndexId]) -> bool {
        debug_assert!(self.writes.is_empty());
        self.writes.forget(tables, indexes);
        self.stored_temporary
    }

    /// Holds nothing: no snapshot, no lock, no write.
    pub fn is_idle(&self) -> bool {
        self.owner.is_none() && self.writes.is_empty() && self.view.borrow().snapshot.is_none()
    }

    /// The commit that its snapshot shows last, if it has taken one.
    pub fn snapshot_sequence(&self) -> Option<u64> {
        self.view.borrow().snapshot.as_ref().map(|snapshot| snapshot.sequence())
    }

    /// The running statement has taken the snapshot, and may take another one instead.
    pub(crate) fn may_restart(&self) -> bool {
        self.statement.may_restart
    }

    /// A DDL statement: the others are the victims of deadlocks.
    pub fn spare(&mut self) {
        self.owner();
        if let Some(owner) = &self.owner {
            owner.spare();
        }
    }

    // Statements.

    /// Starts a statement: a savepoint to undo it and, under READ COMMITTED, a new snapshot.
    pub fn begin_statement(&mut self, reads: Reads) {
        if self.options.isolation <= Isolation::ReadCommitted {
            self.view.get_mut().take();
        }
        let may_restart = self.view.get_mut().snapshot.is_none();
        let began = self.writes.begin_statement();
        self.statement = StatementStart { began, reads, locks_before: self.held.mark(), may_restart, changes: false };
    }

    /// Undoes what the statement wrote; its locks stay.
    pub fn rollback_statement(&mut self) {
        let began = self.statement.began;
        self.rollback_to(&began);
    }

    /// After an error with `Next::Restart`: undoes the statement and drops the snapshot, so that
    /// it can run again. `begin_statement` follows. Locks stay, so it gets further each time.
    pub fn restart_statement(&mut self) {
        self.rollback_statement();
        self.view.get_mut().take();
    }

    /// A named savepoint of the session is a mark.
    pub fn savepoint(&mut self) -> Mark {
        self.writes.savepoint()
    }

    /// Nobody goes back to the mark any more. Not within a part of a statement.
    pub fn forget_savepoint(&mut self, mark: Mark) {
        self.writes.forget_savepoint(mark);
    }

    /// The same of all marks behind `last`, or of all.
    pub fn forget_savepoints_after(&mut self, last: Option<Mark>) {
        self.writes.forget_savepoints_after(last);
    }

    /// A part of a statement begins, which is undone by itself if it fails.
    pub fn begin_part(&mut self) -> Part {
        self.writes.begin_part()
    }

    /// The part has succeeded.
    pub fn end_part(&mut self, part: Part) {
        self.writes.end_part(part);
    }

    pub fn rollback_part(&mut self, part: Part) {
        self.rollback_to(&part.mark);
        self.end_part(part);
    }

    pub fn rollback_to(&mut self, mark: &Mark) {
        self.writes.rollback_to(*mark);
        if let Some(owner) = &self.owner {
            owner.set_rows_modified(self.writes.len());
        }
    }

    /// Nothing was written.
    pub fn is_read_only(&self) -> bool {
        self.writes.is_empty()
    }

    /// It has written what other sessions will see: more than into temporary tables.
    pub fn has_shared_writes(&self) -> bool {
        !self.writes.is_empty() && !self.writes.is_temporary()
    }

    /// Scans meet rows that only this transaction sees: it has written, or carries what it wrote into temporary tables.
    pub fn has_own_rows(&self) -> bool {
        !self.writes.has_none(Family::Data)
    }

    pub fn rows_modified(&self) -> u64 {
        self.writes.len()
    }

    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.options.interrupt
    }

    // Reads. `buf` is replaced by the value; false: no such key.

    /// The value of a data key.
    pub fn get(&self, key: &[u8], version: Version, buf: &mut Vec<u8>) -> Result<bool> {
        match self.writes.get(Family::Data, key)? {
            Some(Some(value)) => {
                buf.clear();
                buf.extend_from_slice(&value);
                Ok(true)
            }
            Some(None) => Ok(false),
            None => self.get_stored(key, version, buf),
        }
    }

    /// As `get`, without what this transaction has written.
    pub fn get_stored(&self, key: &[u8], version: Version, buf: &mut Vec<u8>) -> Result<bool> {
        let at = self.snapshot_for(version);
        let row = self.cached_row(key, at.as_deref());
        if row.get(buf) {
            self.check_get(&row, at.as_deref(), Some(buf));
            return Ok(true);
        }
        let found = match self.store.pipeline().spans().get(key, row.not_after(), buf) {
            Some(found) => {
                self.check_get(&row, at.as_deref(), found.then_some(buf));
                found
            }
            None => {
                let db = self.store.db();
                db.get(Family::Data, key, at.as_deref(), buf).map_err(|e| data_error(db, key, e))?
            }
        };
        // Who locks a row is about to change it.
        if found && version == Version::Snapshot {
            row.keep(buf);
        }
        Ok(found)
    }

    pub fn exists(&self, key: &[u8], version: Version) -> Result<bool> {
        self.get(key, version, &mut Vec::new())
    }

    /// Values in the order of `keys`, all of one index.
    pub fn multi_get(&self, keys: &[&[u8]], version: Version, own_writes: bool, out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        let at = self.snapshot_for(version);
        out.clear();
        if !own_writes || self.writes.has_none(Family::Data) {
            return self.multi_get_stored(keys, at.as_deref(), out);
        }
        let own = keys.iter().map(|key| self.writes.get(Family::Data, key)).collect::<Result<Vec<_>>>()?;
        let others: Vec<&[u8]> = keys.iter().zip(&own).filter(|(_, own)| own.is_none()).map(|(key, _)| *key).collect();
        let mut committed = Vec::new();
        self.multi_get_stored(&others, at.as_deref(), &mut committed)?;
        let mut committed = committed.into_iter();
        out.extend(own.into_iter().map(|own| match own {
            Some(write) => write.map(Cow::into_owned),
            None => committed.next().flatten(),
        }));
        Ok(())
    }

    /// To be made before the key is read.
    fn cached_row<'a>(&'a self, key: &'a [u8], at: Option<&Snapshot>) -> CachedRow<'a> {
        let store = &self.store;
        let seen = match at {
            Some(at) => Seen::at(at.sequence()),
            None => Seen { settled: store.db().settled_sequence(), latest: store.db().latest_sequence() },
        };
        // The ids of temporary tables are given out again.
        CachedRow::new(store.rows(), store.pipeline().recent(), key, seen, !is_temporary_key(key))
    }

    #[inline]
    fn check_get(&self, row: &CachedRow<'_>, at: Option<&Snapshot>, given: Option<&Vec<u8>>) {
        if self.store.checks_cached_reads() {
            checked::check_get(&self.store, row, at, given.map(Vec::as_slice));
        }
    }

    fn multi_get_stored(&self, keys: &[&[u8]], at: Option<&Snapshot>, out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        let spans = self.store.pipeline().spans();
        let mut unknown: Vec<(usize, CachedRow<'_>)> = Vec::new();
        let mut buf = Vec::new();
        for (n, key) in keys.iter().enumerate() {
            let row = self.cached_row(key, at);
            let known = row.get(&mut buf);
            let exists = if known { Some(true) } else { spans.get(key, row.not_after(), &mut buf) };
            if let Some(exists) = exists {
                self.check_get(&row, at, exists.then_some(&buf));
            }
            match exists {
                Some(true) if !known => row.keep(&buf),
                None => unknown.push((n, row)),
                _ => {}
            }
            out.push((exists == Some(true)).then(|| std::mem::take(&mut buf)));
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let missing: Vec<&[u8]> = unknown.iter().map(|(_, row)| row.key()).collect();
        let db = self.store.db();
        let found = db.multi_get(&missing, at).map_err(|e| data_error(db, missing[0], e))?;
        for ((n, row), value) in unknown.iter().zip(found) {
            if let Some(value) = &value {
                row.keep(value);
            }
            out[*n] = value;
        }
        Ok(())
    }

    /// A cursor over data keys. It borrows nothing, so the transaction can write between steps.
    pub fn scan(&self, range: KeyRange, direction: Direction, options: ScanOptions) -> Result<Cursor> {
        let mut at = self.snapshot_for(options.version);
        let spans = match options.version {
            Version::Snapshot if options.spans => {
                Spans::open(&self.store, &range, direction, options.keep != Keep::Nothing, &mut at)
            }
            _ => None,
        };
        let iter_options = IterOptions { fill_cache: options.keep == Keep::All, readahead_bytes: options.readahead_bytes };
        let idle = match &at {
            _ if iter_options != IterOptions::default() => None,
            Some(_) if options.version == Version::Snapshot => self.view.borrow_mut().take_idle(at.as_ref()),
            Some(_) => None,
            None => self.store.idle_iters().take(),
        };
        let base = Base::new(&self.store, Family::Data, at, iter_options, idle, spans);
        Ok(Cursor::new(base, range, direction, options.own_writes))
    }

    /// Gives a cursor's iterator to the next scan. Dropping the cursor is as right, and slower.
    pub fn finish_scan(&self, cursor: Cursor) {
        let Some(mut iter) = cursor.into_iter() else { return };
        iter.account();
        if iter.options() != IterOptions::default() {
            return;
        }
        let mut view = self.view.borrow_mut();
        match (iter.snapshot(), &view.snapshot) {
            (None, _) => self.store.idle_iters().keep(iter),
            (Some(at), Some(now)) if Arc::ptr_eq(at, now) => view.idle = Some(iter),
            _ => {}
        }
    }

    /// A key of the catalog family, always the latest committed version or our own.
    pub fn meta_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if let Some(write) = self.writes.get(Family::Catalog, key)? {
            return Ok(write.map(Cow::into_owned));
        }
        let mut buf = Vec::new();
        let found = self.store.db().get(Family::Catalog, key, None, &mut buf).map_err(read_error)?;
        Ok(found.then_some(buf))
    }

    pub fn meta_scan(&self, range: KeyRange) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let base = Base::new(&self.store, Family::Catalog, None, IterOptions::default(), None, None);
        let mut cursor = Cursor::new(base, range, Direction::Forward, true);
        let mut out = Vec::new();
        while let Some((key, value)) = cursor.next(self)? {
            out.push((key.to_vec(), value.to_vec()));
        }
        Ok(out)
    }

    // Locks.

    /// SERIALIZABLE: nobody else writes in the range until this transaction ends.
    pub fn lock_range(&mut self, range: &KeyRange, policy: LockPolicy) -> Result<()> {
        self.owner();
        let Some(owner) = &self.owner else { return Ok(()) };
        self.store.locks().lock_range(owner, &mut self.held, &range.lower, &range.upper, policy)
    }

    /// IS or IX for statements, S or X for LOCK TABLES and DDL. Held to the end of the transaction.
    pub fn lock_table(&mut self, table: TableId, mode: LockMode, policy: LockPolicy) -> Result<()> {
        let held = self.tables.iter().position(|(t, _)| *t == table);
        if held.is_some_and(|at| self.tables[at].1.covers(mode)) {
            return Ok(());
        }
        self.owner();
        let Some(owner) = &self.owner else { return Ok(()) };
        if self.store.locks().lock_table(owner, &mut self.held, table, mode, policy)? == Acquired::Skipped {
            return Err(Error::new(&vaquita_types::errno::ER_LOCK_NOWAIT, &[]));
        }
        match held {
            Some(at) => self.tables[at].1 = self.tables[at].1.join(mode),
            None => self.tables.push((table, mode)),
        }
        Ok(())
    }

    /// The lock of the table that this transaction has.
    #[inline]
    pub fn table_lock(&self, table: TableId) -> Option<LockMode> {
        self.tables.iter().find(|(t, _)| *t == table).map(|(_, mode)| *mode)
    }

    /// All locks of tables that this transaction has.
    pub fn table_locks(&self) -> &[(TableId, LockMode)] {
        &self.tables
    }

    /// A table that was locked just now, under whose lock nothing was done.
    pub fn give_back_table(&mut self, table: TableId) {
        self.tables.retain(|(t, _)| *t != table);
        if let Some(owner) = &self.owner {
            self.store.locks().unlock_table(owner.id, &mut self.held, table);
        }
    }

    /// Makes this transaction somebody that can hold locks and is listed.
    fn owner(&mut self) {
        if self.owner.is_none() {
            self.owner = Some(self.store.register(&self.options));
        }
    }

    // Writes. The row must be locked.

    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(Family::Data, key, Some(value))
    }

    /// As `put`, or `delete`, of a key that this transaction has not written: an entry of an index that is not unique, of a row of which
    /// `takes_entries_as_new` or `takes_entries_of_new_row` has said so.
    pub fn write_new(&mut self, key: &[u8], write: Option<&[u8]>) -> Result<()> {
        self.before_write(Family::Data, key)?;
        self.writes.write_new(key, write);
        self.after_write();
        Ok(())
    }

    /// Before a row is changed: its entries may be written by `write_new`.
    #[inline]
    pub fn takes_entries_as_new(&self, clustered_key: &[u8]) -> bool {
        self.writes.takes_entries_as_new(clustered_key)
    }

    /// Before a row is written that is not there: its entries may be written by `write_new`.
    #[inline]
    pub fn takes_entries_of_new_row(&self, clustered_key: &[u8]) -> bool {
        self.writes.takes_entries_of_new_row(clustered_key)
    }

    /// As `put` of new rows, whose keys are ascending and above all of their index that this transaction has written.
    pub(crate) fn put_rows(&mut self, rows: &Packed) -> Result<()> {
        let Some(first) = rows.first_key() else { return Ok(()) };
        self.before_write(Family::Data, first)?;
        self.writes.append(rows);
        self.after_write();
        Ok(())
    }

    /// Whether this transaction has written no key of this one's index that is as high or higher.
    pub(crate) fn is_above_all(&self, key: &[u8]) -> bool {
        self.writes.is_above_all(key)
    }

    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.write(Family::Data, key, None)
    }

    pub fn meta_put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(Family::Catalog, key, Some(value))
    }

    pub fn meta_delete(&mut self, key: &[u8]) -> Result<()> {
        self.write(Family::Catalog, key, None)
    }

    fn write(&mut self, family: Family, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        self.before_write(family, key)?;
        self.writes.write(family, key, value);
        self.after_write();
        Ok(())
    }

    fn before_write(&mut self, family: Family, key: &[u8]) -> Result<()> {
        // Temporary tables may be written in a READ ONLY transaction.
        if self.options.read_only && !(family == Family::Data && is_temporary_key(key)) {
            return Err(Error::new(&ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, &[]));
        }
        // Where the server is short of memory, write sets go to the disk earlier.
        if self.writes.bytes() > self.store.options().write_set_bytes.min(memory::room().max(WRITE_SET_BYTES_MIN)) {
            self.make_room()?;
        }
        Ok(())
    }

    fn after_write(&self) {
        if let Some(owner) = &self.owner {
            owner.set_rows_modified(self.writes.len());
        }
    }

    fn make_room(&mut self) -> Result<()> {
        if self.writes.can_spill() {
            kill_point("spill.begun");
            self.writes.spill(self.store.scratches())?;
            kill_point("spill.written");
            return Ok(());
        }
        if self.writes.bytes() > WRITE_SET_BYTES_MAX {
            return Err(Error::new(&ER_LOCK_TABLE_FULL, &[]));
        }
        Ok(())
    }

    /// What the binary log is told of what was done: an entry of this kind, whose content `write` appends.
    #[inline]
    pub fn tell_log(
        &mut self,
        kind: u8,
        object: Option<&LogObject>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let log = self.writes.log_mut();
        log.push(kind, object, write)?;
        log.make_room(self.store.scratch_dir())
    }

    /// The same of what was collected elsewhere.
    pub fn tell_log_all(&mut self, told: &LogBuffer) -> Result<()> {
        let log = self.writes.log_mut();
        log.append(told)?;
        log.make_room(self.store.scratch_dir())
    }

    /// What the binary log was told.
    pub fn log(&self) -> &LogBuffer {
        self.writes.log()
    }

    // Counters.

    /// Adds to the table's exact row count when this transaction commits.
    pub fn add_rows(&mut self, table: TableId, delta: i64) {
        self.writes.add_rows(table, delta);
    }

    /// The exact number of rows that this transaction sees.
    pub fn row_count(&self, table: TableId) -> Result<u64> {
        let at = self.snapshot_for(Version::Snapshot);
        let committed = self.store.counters().rows(table, at.as_deref())?;
        Ok((committed + self.writes.rows_delta(table)).max(0) as u64)
    }

    /// What this transaction adds to the committed number of rows.
    pub fn rows_added(&self, table: TableId) -> i64 {
        self.writes.rows_delta(table)
    }

    /// Hands out `count` AUTO_INCREMENT values: the first of them, ≡ offset modulo increment.
    pub fn next_auto_increment(&mut self, table: TableId, count: u64, increment: u64, offset: u64) -> Result<u64> {
        let first = self.store.counters().next_auto_increment(table, count, increment, offset)?;
        let last = first.saturating_add(count.saturating_sub(1).saturating_mul(increment.max(1)));
        self.note_used(table, CounterChange::AutoIncrementUsed(last));
        kill_point("txn.auto-increment");
        Ok(first)
    }

    /// A row was written with an explicit AUTO_INCREMENT value: later ones are higher.
    pub fn note_auto_increment(&mut self, table: TableId, value: u64) -> Result<()> {
        self.store.counters().note_auto_increment(table, value)?;
        self.note_used(table, CounterChange::AutoIncrementUsed(value));
        Ok(())
    }

    /// The next value that would be handed out, for SHOW CREATE TABLE.
    pub fn peek_auto_increment(&self, table: TableId) -> Result<u64> {
        Ok(self.store.counters().last_auto_increment(table)?.saturating_add(1))
    }

    /// `ALTER TABLE … AUTO_INCREMENT = next`, also downwards; takes effect at commit.
    pub fn set_auto_increment(&mut self, table: TableId, next: u64) -> Result<()> {
        if is_temporary_table(table) {
            return self.store.counters().set_unlogged(table, next.saturating_sub(1));
        }
        self.counters.push((table, CounterChange::AutoIncrementSet(next.saturating_sub(1))));
        Ok(())
    }

    /// The next hidden row id of a table without PRIMARY KEY.
    pub fn next_row_id(&mut self, table: TableId) -> Result<u64> {
        let id = self.store.counters().next_row_id(table)?;
        self.note_used(table, CounterChange::RowIdUsed(id));
        kill_point("txn.row-id");
        Ok(id)
    }

    /// The table gets rows with hidden ids up to `id`: later ones are higher.
    pub fn note_row_id(&mut self, table: TableId, id: u64) -> Result<()> {
        self.store.counters().note_row_id(table, id)?;
        self.note_used(table, CounterChange::RowIdUsed(id));
        Ok(())
    }

    /// DROP and TRUNCATE: the counters of the table go with the commit.
    pub fn drop_counters(&mut self, table: TableId) {
        self.counters.push((table, CounterChange::Dropped));
    }

    /// Keeps the highest value used per table and kind.
    fn note_used(&mut self, table: TableId, change: CounterChange) {
        // A temporary table ends with the counters in memory.
        if is_temporary_table(table) {
            return;
        }
        use CounterChange::{AutoIncrementUsed, RowIdUsed};
        for (_, known) in self.counters.iter_mut().rev().filter(|(t, _)| *t == table) {
            match (known, change) {
                (AutoIncrementUsed(high), AutoIncrementUsed(used)) | (RowIdUsed(high), RowIdUsed(used)) => {
                    *high = (*high).max(used);
                    return;
                }
                _ => {}
            }
        }
        self.counters.push((table, change));
    }

    // The end. The transaction can be used again after any of these; it then begins anew.

    /// Starts the commit. `waiter` is asked for only when this thread does not finish it.
    pub fn commit(&mut self, waiter: impl FnOnce() -> CommitWaiter) -> CommitStart {
        if let Some(result) = self.commit_without_log() {
            return CommitStart::Done(result);
        }
        kill_point("commit.begun");
        let request = match self.prepare() {
            Ok(request) => request,
            Err(error) => return CommitStart::Done(Err(error)),
        };
        kill_point("commit.prepared");
        self.store.pipeline().submit(request, waiter)
    }

    /// How the commit ends if there is nothing to log, or no space to log it.
    fn commit_without_log(&mut self) -> Option<Result<()>> {
        let nothing = self.writes.is_empty() && self.counters.is_empty();
        let carried = !nothing && self.carries_on() && self.writes.is_temporary() && self.counters.is_empty();
        if carried {
            self.writes.carry(self.stored_temporary);
        }
        let result = if nothing || carried { Ok(()) } else { self.check_disk_space() };
        if nothing || carried || result.is_err() {
            self.rollback();
            return Some(result);
        }
        None
    }

    /// A full disk fails what would add rows; DDL and deletes, which free space, may use the reserve.
    fn check_disk_space(&self) -> Result<()> {
        if !self.store.disk_full() {
            return Ok(());
        }
        let stored = |key: &[u8]| !(self.carries_on() && is_temporary_key(key));
        let mut data = self.writes.map(Family::Data).iter();
        let frees = !self.writes.map(Family::Catalog).is_empty()
            || self.writes.spilled().is_none() && data.all(|(key, write)| write.is_none() || !stored(key));
        if frees { Ok(()) } else { Err(self.store.disk_full_error()) }
    }

    /// Commits and blocks until it is durable.
    pub fn commit_wait(&mut self) -> Result<()> {
        if let Some(result) = self.commit_without_log() {
            return result;
        }
        self.submit_and_wait()
    }

    /// The same for what `commit` would carry on.
    fn submit_and_wait(&mut self) -> Result<()> {
        if let Err(error) = self.check_disk_space() {
            self.rollback();
            return Err(error);
        }
        let request = self.prepare()?;
        self.store.submit_and_wait(request)
    }

    /// Stage *prepare*: everything the pipeline needs, leaving this transaction new. If it fails, it is rolled back.
    fn prepare(&mut self) -> Result<CommitRequest> {
        if self.writes.spilled().is_some() {
            let prepared = self.prepare_files();
            match prepared {
                Ok(_) => self.reset(),
                Err(_) => self.rollback(),
            }
            return prepared;
        }
        let log = match self.store.prepare_log(self.writes.log()) {
            Ok(log) => log,
            Err(error) => {
                self.rollback();
                return Err(error);
            }
        };
        self.writes.check_small();
        let carried = if self.carries_on() { self.writes.split_off_temporary() } else { WriteSet::default() };
        self.stored_temporary |= self.writes.has_temporary();
        let mut records = Records::with_capacity(self.writes.bytes());
        let mut touched = Vec::with_capacity(self.writes.map(Family::Data).len());
        for family in [Family::Data, Family::Catalog] {
            for (key, write) in self.writes.map(family).iter() {
                records.write(family, key, write);
                if family == Family::Data {
                    touched.push(key_hash(key));
                }
            }
        }
        let request = CommitRequest {
            records,
            touched: Touched::Keys(touched),
            files: None,
            counters: self.take_counters(),
            log,
            interrupt: self.owner.is_none().then(|| Arc::clone(&self.options.interrupt)),
            owner: self.owner.take(),
            held: std::mem::take(&mut self.held),
        };
        self.writes = carried;
        self.reset();
        Ok(request)
    }

    fn take_counters(&mut self) -> Vec<(TableId, CounterChange)> {
        let mut counters = std::mem::take(&mut self.counters);
        counters.extend(self.writes.take_rows().into_iter().map(|(table, delta)| (table, CounterChange::Rows(delta))));
        counters
    }

    pub fn rollback(&mut self) {
        if let Some(owner) = self.owner.take() {
            self.store.locks().release_all(owner.id, &mut self.held);
            self.store.unregister(owner.id);
            kill_point("txn.rolled-back");
        }
        self.reset();
    }

    fn reset(&mut self) {
        self.writes.clear();
        self.counters.clear();
        self.tables.clear();
        self.ascent.forget();
        self.view.get_mut().take();
        self.statement = StatementStart::new(&mut self.writes);
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.rollback();
    }
}

impl View {
    /// The iterator that an earlier scan at this snapshot left.
    fn take_idle(&mut self, at: Option<&Arc<Snapshot>>) -> Option<Iter> {
        let is_at = |iter: &Iter| iter.snapshot().zip(at).is_some_and(|(a, b)| Arc::ptr_eq(a, b));
        if self.idle.as_ref().is_some_and(is_at) { self.idle.take() } else { None }
    }

    /// Forgets the snapshot and what was read at it.
    fn take(&mut self) {
        self.idle = None;
        self.snapshot = None;
    }
}
