//! What a statement sees of others, and what it locks: the isolation levels.
//!
//! | level           | plain read            | locking read, UPDATE, DELETE, INSERT … SELECT            | conflict          |
//! |-----------------|-----------------------|----------------------------------------------------------|-------------------|
//! | READ COMMITTED  | statement's snapshot  | the same snapshot; locks what matches                    | restart           |
//! | REPEATABLE READ | transaction's         | the same snapshot; locks what matches                    | restart, or 1213  |
//! | SERIALIZABLE    | latest, under S locks | latest, under S locks of ranges and X locks of rows      | deadlock (1213)   |
//!
//! READ UNCOMMITTED is READ COMMITTED.
//!
//! * ISO-1: a statement reads one snapshot, whatever it does with the rows. (A lone row that is read by its primary key is one by itself.)
//! * ISO-2: at READ COMMITTED each statement has a snapshot of its own. At REPEATABLE READ the transaction's is taken by the first statement
//!   that reads or changes rows: when it begins to read, or when it ends, if it has only inserted, or locked one row by its
//!   primary key. In autocommit that statement is the transaction.
//! * ISO-3: a row that a statement locks or changes is as the snapshot shows it. Where a row of its ranges changed or went since, and either
//!   version meets the condition, the statement has a *conflict*. With a snapshot of its own (READ COMMITTED, a first statement, autocommit)
//!   it restarts on a fresh one and keeps its locks, so it gets further each time; else error 1213 ends the transaction.
//! * ISO-4: a later statement of a REPEATABLE READ transaction that locks has a conflict also with a row that came into its ranges, or
//!   moved there, since the snapshot, and meets the condition. A statement with a snapshot of its own comes before whoever inserted such a row.
//! * ISO-5: at SERIALIZABLE a statement locks the ranges that it reads (S) before it reads them, and the rows; the latest version is then its
//!   snapshot. An autocommit statement does so if it changes or locks anything; if it only reads, it reads a snapshot.
//! * ISO-6: `innodb_snapshot_isolation=OFF` lets statements that lock or change meet the latest version of each row at REPEATABLE READ, as MySQL
//!   does. ISO-1, ISO-3 and ISO-4 do not hold for them then.
//! * ISO-7: locks of rows last as long as the transaction. Scans lock what matches. A row that is locked before it is read (by its primary key)
//!   and does not match is given back at READ COMMITTED.
//! * ISO-8: a first statement that has waited for a lock restarts, so that what the transaction reads later is not older than what
//!   it waited for: a locked row can guard others.
//! * ISO-9: whether a unique key is free is decided on its latest version, under its lock: error 1062 also for a row that the snapshot does not
//!   show. REPLACE and ON DUPLICATE KEY UPDATE change the row in the way, so ISO-3 is about them; and a key is not free for who
//!   still sees a row with it in its snapshot.
//! * ISO-10: whether a parent or a child is there is decided on its latest version, at every level. Who makes a child holds an S lock of the
//!   parent's *key*, who takes the key away an X lock of it (`encoding::ids::reference_lock`, beside the locks of rows) from before it looks until
//!   its transaction ends; so neither can miss the other, and an update of a parent's other columns meets neither. A child that a cascade changes
//!   is a row that the statement changes: ISO-3 is about it, also where it came after the snapshot.

use std::sync::Arc;

use vaquita_types::{Error, Result};

use super::damage::data_error;
use super::{Locked, Reads, SharedView, Transaction, Version};
use crate::commit::active::Isolation;
use crate::locks::{Acquired, HeldLocks, LockManager, LockMode, LockPolicy, Owner};
use crate::rocks::{Family, Snapshot};

impl Transaction {
    /// The statement that has begun changes or locks rows: at SERIALIZABLE it locks what it reads, autocommit or not.
    pub fn note_change(&mut self) {
        self.statement.changes = true;
    }

    /// What is read is locked first, so that it stays as it is (ISO-5).
    pub fn locks_reads(&self) -> bool {
        self.options.isolation == Isolation::Serializable && (!self.options.autocommit || self.statement.changes)
    }

    /// ISO-6.
    pub fn changes_latest(&self) -> bool {
        self.options.isolation == Isolation::RepeatableRead && !self.options.snapshot_isolation
    }

    /// The statement reads one row by its primary key, and nothing else.
    pub fn reads_one(&self) -> bool {
        self.statement.reads == Reads::One
    }

    /// How a scan finds the rows that it locks: true, if it locks each in its latest version before it looks at it; false, if it looks at the
    /// snapshot, which is taken now, and locks what it wants of it (ISO-3).
    pub fn finds_latest(&self) -> bool {
        if self.locks_reads() || self.changes_latest() {
            return true;
        }
        self.snapshot_for(Version::Snapshot);
        false
    }

    /// A scan that locks rows of the snapshot has to look for others that came since (ISO-4).
    pub fn meets_newcomers(&self) -> bool {
        if self.statement.may_restart || self.options.isolation != Isolation::RepeatableRead || self.changes_latest() {
            return false;
        }
        self.snapshot_sequence().is_some_and(|sequence| sequence < self.store.db().latest_sequence())
    }

    /// START TRANSACTION WITH CONSISTENT SNAPSHOT: nothing under READ COMMITTED, as in MySQL.
    pub fn take_snapshot(&mut self) {
        if self.options.isolation == Isolation::RepeatableRead {
            self.owner();
            self.view.get_mut().snapshot.get_or_insert_with(|| self.store.snapshot());
        }
    }

    /// The statement succeeded: its snapshot ends, or becomes the transaction's (ISO-2).
    pub fn end_statement(&mut self) {
        if self.options.isolation <= Isolation::ReadCommitted {
            self.view.get_mut().take();
        } else if !self.options.autocommit && !self.tables.is_empty() {
            self.take_snapshot();
        }
    }

    /// The version that a read sees: `None` is what is committed now.
    pub(super) fn snapshot_for(&self, version: Version) -> Option<Arc<Snapshot>> {
        if version == Version::Latest {
            return None;
        }
        let mut view = self.view.borrow_mut();
        if let Some(snapshot) = &view.snapshot {
            return Some(Arc::clone(snapshot));
        }
        let statement_view = self.options.autocommit || self.options.isolation <= Isolation::ReadCommitted;
        // What is locked cannot change any more. A lone read finds no commits that are hidden, unless some have ever been.
        if self.locks_reads() || (statement_view && self.reads_one() && !self.store.pipeline().visible().is_used()) {
            return None;
        }
        let snapshot = self.store.snapshot();
        view.snapshot = Some(Arc::clone(&snapshot));
        Some(snapshot)
    }

    /// The running statement's snapshot, taken if it has none. `None` if it sees more than a snapshot: rows of its own, or
    /// those that it locks.
    pub fn share_view(&mut self) -> Option<SharedView> {
        if self.locks_reads() || self.has_own_rows() {
            return None;
        }
        let snapshot = Arc::clone(self.view.get_mut().snapshot.get_or_insert_with(|| self.store.snapshot()));
        Some(SharedView { store: Arc::clone(&self.store), snapshot, interrupt: Arc::clone(&self.options.interrupt) })
    }

    /// Locks a row or an index entry that the statement will change. Fails with 1205, 1213, 3572, 1317, or, if the row changed
    /// since the snapshot, with the conflict.
    pub fn lock_row(&mut self, key: &[u8], mode: LockMode, policy: LockPolicy) -> Result<Locked> {
        match self.lock_candidate(key, mode, policy)? {
            Locked::Changed if !self.changes_latest() => Err(self.conflict()),
            locked => Ok(locked),
        }
    }

    /// As `lock_row`, for a caller that looks at both versions of a row that changed before it fails.
    pub fn lock_candidate(&mut self, key: &[u8], mode: LockMode, policy: LockPolicy) -> Result<Locked> {
        let acquired = self.acquire(key, mode, policy)?;
        self.took_lock = acquired == Acquired::New;
        match acquired {
            Acquired::Skipped => Ok(Locked::Skipped),
            // Held before, perhaps by `lock_key`, which does not check.
            Acquired::Held | Acquired::New => Ok(if self.has_changed(key)? { Locked::Changed } else { Locked::Unchanged }),
        }
    }

    /// Locks without a check against the snapshot: for an INSERT, whose duplicate check reads the
    /// latest version. False: skipped.
    pub fn lock_key(&mut self, key: &[u8], mode: LockMode, policy: LockPolicy) -> Result<bool> {
        Ok(self.acquire(key, mode, policy)? != Acquired::Skipped)
    }

    /// Locks an entry of an index that is not unique, to write it.
    pub(crate) fn lock_entry(&mut self, key: &[u8], policy: LockPolicy) -> Result<bool> {
        let acquired = self.acquire_by(|locks, owner, held| locks.lock_entry(owner, held, key, policy))?;
        Ok(acquired != Acquired::Skipped)
    }

    fn acquire(&mut self, key: &[u8], mode: LockMode, policy: LockPolicy) -> Result<Acquired> {
        self.acquire_by(|locks, owner, held| locks.lock_key(owner, held, key, mode, policy))
    }

    #[inline]
    fn acquire_by(
        &mut self,
        lock: impl FnOnce(&LockManager, &Arc<Owner>, &mut HeldLocks) -> Result<Acquired>,
    ) -> Result<Acquired> {
        self.owner();
        let Some(owner) = &self.owner else { return Ok(Acquired::Skipped) };
        let waits = owner.waits();
        let acquired = lock(self.store.locks(), owner, &mut self.held)?;
        owner.set_rows_locked(self.held.len() as u64);
        if owner.waits() != waits && self.outlives_its_snapshot() {
            return Err(self.conflict());
        }
        Ok(acquired)
    }

    /// ISO-8: the snapshot is one that later statements read, and may still be exchanged.
    fn outlives_its_snapshot(&self) -> bool {
        self.statement.may_restart
            && !self.options.autocommit
            && self.options.isolation == Isolation::RepeatableRead
            && self.view.borrow().snapshot.is_some()
    }

    /// The check of `lock_row` for a key locked before: true if it changed since the snapshot, and that is no conflict.
    pub fn check_conflict(&mut self, key: &[u8]) -> Result<bool> {
        let changed = self.has_changed(key)?;
        if changed && !self.changes_latest() {
            return Err(self.conflict());
        }
        Ok(changed)
    }

    /// What the statement ends with where others have been faster: it runs again, or its transaction is over (ISO-3).
    pub fn conflict(&self) -> Error {
        Error::snapshot_conflict(self.statement.may_restart)
    }

    /// Whether somebody else has changed the key since the snapshot, if there is one.
    pub fn has_changed(&self, key: &[u8]) -> Result<bool> {
        let view = self.view.borrow();
        let Some(snapshot) = &view.snapshot else { return Ok(false) };
        if !self.store.pipeline().recent().may_be_after(key, snapshot.sequence()) {
            return Ok(false);
        }
        // What we wrote is what we read, whatever was there before.
        Ok(!self.has_written(key)? && self.value_changed(key, snapshot)?)
    }

    /// This transaction has changed the key.
    pub fn has_written(&self, key: &[u8]) -> Result<bool> {
        Ok(self.writes.get(Family::Data, key)?.is_some())
    }

    fn value_changed(&self, key: &[u8], snapshot: &Snapshot) -> Result<bool> {
        let (mut then, mut now) = (Vec::new(), Vec::new());
        let db = self.store.db();
        let failed = |e| data_error(db, key, e);
        let existed = db.get(Family::Data, key, Some(snapshot), &mut then).map_err(failed)?;
        let exists = db.get(Family::Data, key, None, &mut now).map_err(failed)?;
        Ok(existed != exists || (exists && then != now))
    }

    /// The row that was locked last does not match: at READ COMMITTED its lock is given back, if it was not held before (ISO-7).
    pub fn unlock_row(&mut self, key: &[u8]) {
        if !std::mem::take(&mut self.took_lock) || self.options.isolation > Isolation::ReadCommitted {
            return;
        }
        // If the own writes cannot be read, the lock stays: it is given back at the end.
        if let Some(owner) = &self.owner
            && matches!(self.writes.get(Family::Data, key), Ok(None))
        {
            self.store.locks().unlock_key(owner.id, &mut self.held, self.statement.locks_before, key);
            owner.set_rows_locked(self.held.len() as u64);
        }
    }
}
