//! Row locks of a scan, and what it meets that its snapshot does not show (ISO-3 to ISO-7 of `storage::txn::isolation`).
//!
//! A scan of the snapshot locks each row that matches, and then knows by the row's last commit whether it is still as it was. A row that changed
//! is looked at in both versions: if either matches, the statement has a conflict. A later statement of a REPEATABLE READ
//! transaction also goes through the latest version of its ranges, beside the snapshot. Example: the snapshot has 1, 3; since then 2 was
//! inserted and 3 deleted. When the scan comes to 3, it has passed 2, a newcomer, whose condition is evaluated; then the lock of 3
//! shows that it changed.

use std::cmp::Ordering;

use vaquita_plan::node::{LockWait, Scan};
use vaquita_storage::{
    Cursor, Direction, Entry, Isolation, Keep, KeyRange, LockMode, LockPolicy, Locked, ScanOptions, Table, Transaction, Version,
};
use vaquita_types::Result;

use super::keys::codec_of_entry;
use super::{TableScan, read};
use crate::context::Execution;
use crate::context::Frame;

/// How the scan's row lock is taken; SERIALIZABLE locks what it reads.
pub fn lock_of(scan: &Scan, statement: &Execution<'_>) -> Option<(LockMode, LockPolicy)> {
    let wait = statement.lock_wait();
    match scan.lock {
        Some(lock) => {
            let mode = if lock.exclusive { LockMode::X } else { LockMode::S };
            let policy = match lock.wait {
                LockWait::Wait => wait,
                LockWait::NoWait => LockPolicy::NoWait,
                LockWait::SkipLocked => LockPolicy::SkipLocked,
            };
            Some((mode, policy))
        }
        None if statement.locks_reads() => Some((LockMode::S, wait)),
        None => None,
    }
}

/// The latest version of the range that a scan reads in its snapshot, as far as the scan has come.
pub struct Newcomers {
    cursor: Cursor,
    direction: Direction,
    /// The entry and its row that the cursor stands on.
    next: Option<(Vec<u8>, Vec<u8>)>,
    begun: bool,
}

impl Newcomers {
    fn new(range: &KeyRange, direction: Direction, txn: &Transaction) -> Result<Newcomers> {
        let options = ScanOptions { version: Version::Latest, keep: Keep::All, own_writes: false, ..ScanOptions::default() };
        let cursor = txn.scan(range.clone(), direction, options)?;
        Ok(Newcomers { cursor, direction, next: None, begun: false })
    }

    /// Goes to the next entry.
    fn step(&mut self, table: &Table, txn: &Transaction) -> Result<()> {
        self.begun = true;
        self.next = match self.cursor.next(txn)? {
            Some((key, value)) => {
                let mut row = Vec::new();
                codec_of_entry(table, key)?.clustered_key(Entry { key, value }, &mut row)?;
                Some((key.to_vec(), row))
            }
            None => None,
        };
        Ok(())
    }

    /// How the entry lies to `key`, or to the end of the range: before it, at it, or behind it.
    fn order(&self, key: Option<&[u8]>) -> Ordering {
        match (&self.next, key) {
            (None, _) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some((entry, _)), Some(key)) if self.direction == Direction::Forward => entry.as_slice().cmp(key),
            (Some((entry, _)), Some(key)) => key.cmp(entry),
        }
    }
}

impl TableScan<'_> {
    /// When it opens: whether rows are locked before they are read, or found in the snapshot, and whether to look for newcomers.
    pub(super) fn choose_order(&mut self, frame: &Frame<'_>) {
        let txn = frame.statement.txn.borrow();
        let is_lone = self.point && txn.reads_one();
        self.lock_first = is_lone || txn.finds_latest() || self.point;
        self.meets_newcomers = !self.lock_first && txn.meets_newcomers();
        self.newcomers = None;
        self.plain = !self.lock_first && !self.meets_newcomers;
    }

    /// As `advance`, to a row that is locked, for a scan without filter.
    pub(super) fn advance_locked(&mut self, table: &Table, frame: &mut Frame<'_>) -> Result<bool> {
        while self.advance(table, frame)? {
            if self.lock_match(frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What a scan at SERIALIZABLE did not find must not appear either.
    pub(super) fn lock_ranges(&mut self, frame: &Frame<'_>) -> Result<()> {
        let Some((_, policy)) = self.lock else { return Ok(()) };
        let mut txn = frame.statement.txn.borrow_mut();
        if txn.isolation() == Isolation::Serializable {
            for range in &self.ranges {
                txn.lock_range(range, policy)?;
            }
            if self.point {
                let mut upper = self.key.clone();
                upper.push(0);
                txn.lock_range(&KeyRange { lower: self.key.clone(), upper }, policy)?;
            }
        }
        Ok(())
    }

    /// Before the scan begins with a range.
    pub(super) fn look_for_newcomers(&mut self, range: &KeyRange, direction: Direction, frame: &Frame<'_>) -> Result<()> {
        if self.meets_newcomers {
            self.newcomers = Some(Newcomers::new(range, direction, &frame.statement.txn.borrow())?);
        }
        Ok(())
    }

    /// The scan has come to an entry of the snapshot, or to the end of its range: a row that the latest version has before that, and
    /// that matches, is a conflict.
    pub(super) fn meet_newcomers(&mut self, table: &Table, reached: Option<&[u8]>, frame: &mut Frame<'_>) -> Result<()> {
        let Some(mut newcomers) = self.newcomers.take() else { return Ok(()) };
        if !newcomers.begun {
            newcomers.step(table, &frame.statement.txn.borrow())?;
        }
        while newcomers.order(reached) == Ordering::Less {
            if let Some((entry, row)) = newcomers.next.take() {
                // What the transaction deleted itself is no newcomer.
                let own = frame.statement.txn.borrow().has_written(&entry)?;
                self.key = row;
                if !own && self.matches(Version::Latest, table, frame)? {
                    return Err(frame.statement.txn.borrow().conflict());
                }
            }
            newcomers.step(table, &frame.statement.txn.borrow())?;
        }
        if newcomers.order(reached) == Ordering::Equal {
            newcomers.step(table, &frame.statement.txn.borrow())?;
        }
        self.newcomers = Some(newcomers);
        Ok(())
    }

    /// Reads (after locking, if asked) the row of `key`.
    pub(super) fn read_row(&mut self, table: &Table, frame: &mut Frame<'_>) -> Result<bool> {
        let Some((mode, policy)) = self.lock else {
            return read(frame.statement, &self.key, &mut self.value);
        };
        let mut txn = frame.statement.txn.borrow_mut();
        match txn.lock_candidate(&self.key, mode, policy)? {
            Locked::Skipped => return Ok(false),
            Locked::Changed if !txn.changes_latest() => {
                drop(txn);
                return self.judge_changed(table, frame);
            }
            Locked::Changed | Locked::Unchanged => {}
        }
        if frame.statement.own_writes_hidden.get() {
            return txn.get_stored(&self.key, Version::Latest, &mut self.value);
        }
        txn.get(&self.key, Version::Latest, &mut self.value)
    }

    /// A row that changed after the snapshot: a conflict, if it matches before or after. Else (false) it is passed over.
    fn judge_changed(&mut self, table: &Table, frame: &mut Frame<'_>) -> Result<bool> {
        if self.matches(Version::Snapshot, table, frame)? || self.matches(Version::Latest, table, frame)? {
            return Err(frame.statement.txn.borrow().conflict());
        }
        frame.statement.txn.borrow_mut().unlock_row(&self.key);
        Ok(false)
    }

    /// Whether there is such a version of the row of `key`, and it meets the condition.
    fn matches(&mut self, version: Version, table: &Table, frame: &mut Frame<'_>) -> Result<bool> {
        self.at_cursor = false;
        let found = frame.statement.txn.borrow().get_stored(&self.key, version, &mut self.value)?;
        if !self.matches_by_key || version == Version::Snapshot {
            return Ok(found && self.is_match(table, frame, false)?);
        }
        // What a search has found does not say whether it would find the row as it is now.
        frame.statement.judged_row.replace(found.then(|| (self.key.clone(), self.value.clone())));
        let matches = if found { self.is_match(table, frame, false) } else { Ok(false) };
        frame.statement.judged_row.replace(None);
        matches
    }

    /// The row matches, and a scan that locks wants it: false, if it is to be skipped.
    pub(super) fn lock_match(&mut self, frame: &Frame<'_>) -> Result<bool> {
        let Some((mode, policy)) = self.lock.filter(|_| !self.lock_first) else { return Ok(true) };
        let mut txn = frame.statement.txn.borrow_mut();
        match txn.lock_candidate(self.row().0, mode, policy)? {
            Locked::Unchanged => Ok(true),
            Locked::Changed => Err(txn.conflict()),
            Locked::Skipped => Ok(false),
        }
    }

    /// The row does not match a scan that locks.
    pub(super) fn pass_over(&mut self, table: &Table, frame: &mut Frame<'_>) -> Result<()> {
        if self.lock_first {
            frame.statement.txn.borrow_mut().unlock_row(&self.key);
            return Ok(());
        }
        if !self.meets_newcomers || !frame.statement.txn.borrow().has_changed(self.row().0)? {
            return Ok(());
        }
        let key = self.row().0.to_vec();
        self.key = key;
        if self.matches(Version::Latest, table, frame)? {
            return Err(frame.statement.txn.borrow().conflict());
        }
        Ok(())
    }
}
