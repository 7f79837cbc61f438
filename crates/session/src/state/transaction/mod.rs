//! The session's transaction: storage's, whether it is open, its savepoints (`savepoints`), the XA branch that it is (`branch`), and
//! what SET TRANSACTION said of the next.
//!
//! ```text
//! closed -- begin_if_needed with autocommit off, start, chain --> open -- over --> closed
//! ```
//! While it is closed, the statement that runs is a transaction of its own: storage's has been begun, and ends with the statement.
//!
//! * TRANSACTION-1: savepoints (but those set with autocommit off before one has begun), a branch, and what ROLLBACK leaves done belong to an open transaction; `over` ends them with it.
//! * TRANSACTION-2: what SET TRANSACTION said holds for one transaction. `stale` says that storage's was begun with options that the next
//!   does not have; the next one begins it anew.

mod branch;
mod savepoints;

use std::cell::RefCell;
use std::sync::Arc;

use vaquita_exec::context::SavepointCounts;
use vaquita_storage::{CommitStart, CommitWaiter, Engine, Interrupt, Isolation, Transaction, TxnOptions};
use vaquita_types::errno::{ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_LOCK_DEADLOCK};
use vaquita_types::error::Next;
use vaquita_types::{Error, Result};

use branch::Branch;
pub use branch::BranchState;
pub use savepoints::InnerSavepoints;
use savepoints::Savepoints;

use crate::variables::Var;
use crate::variables::settings::Settings;

pub struct SessionTransaction {
    /// Shared with the executor while a statement runs.
    storage: RefCell<Transaction>,
    interrupt: Arc<Interrupt>,
    open: bool,
    savepoints: Savepoints,
    branch: Option<Branch>,
    next: NextTransaction,
    stale: bool,
    not_rolled_back: NotRolledBack,
    savepoint_counts: SavepointCounts,
}

/// What SET TRANSACTION without a scope said.
#[derive(Clone, Copy, Debug, Default)]
pub struct NextTransaction {
    pub isolation: Option<Isolation>,
    pub read_only: Option<bool>,
}

impl NextTransaction {
    pub fn is_default(&self) -> bool {
        self.isolation.is_none() && self.read_only.is_none()
    }
}

/// What a transaction did that its ROLLBACK leaves done.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotRolledBack {
    /// CREATE TEMPORARY TABLE.
    pub created: bool,
    /// DROP TEMPORARY TABLE.
    pub dropped: bool,
}

impl SessionTransaction {
    pub fn new(engine: &Engine, interrupt: &Arc<Interrupt>, settings: &Settings) -> SessionTransaction {
        let next = NextTransaction::default();
        let mut storage = engine.begin(options(settings, next, interrupt));
        storage.carry_temporary();
        SessionTransaction {
            storage: RefCell::new(storage),
            interrupt: interrupt.clone(),
            open: false,
            savepoints: Savepoints::default(),
            branch: None,
            next,
            stale: false,
            not_rolled_back: NotRolledBack::default(),
            savepoint_counts: SavepointCounts::default(),
        }
    }

    /// BEGIN was given, or autocommit is off and something ran.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Storage's, as the executor shares it.
    #[inline]
    pub fn shared(&self) -> &RefCell<Transaction> {
        &self.storage
    }

    /// Storage's, between the uses of it by the executor.
    #[inline]
    pub fn storage(&mut self) -> &mut Transaction {
        self.storage.get_mut()
    }

    /// It has written nothing.
    pub fn is_read_only(&self) -> bool {
        self.storage.borrow().is_read_only()
    }

    /// Its commit changes what other sessions see.
    pub fn has_shared_writes(&self) -> bool {
        self.storage.borrow().has_shared_writes()
    }

    /// An open transaction that START TRANSACTION READ ONLY or a setting has begun.
    pub fn is_open_for_reading(&self) -> bool {
        self.open && self.storage.borrow().options().read_only
    }

    /// Error 1792 in a transaction that may only read, or before one.
    pub fn refuse_in_read_only(&self, settings: &Settings) -> Result<()> {
        let read_only = match self.open {
            true => self.storage.borrow().options().read_only,
            false => self.next.read_only.unwrap_or(settings.read_only),
        };
        if read_only { Err(Error::new(&ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, &[])) } else { Ok(()) }
    }

    pub fn next(&self) -> &NextTransaction {
        &self.next
    }

    /// SET TRANSACTION.
    pub fn set_next(&mut self, isolation: Option<Isolation>, read_only: Option<bool>) {
        self.next.isolation = isolation.or(self.next.isolation);
        self.next.read_only = read_only.or(self.next.read_only);
        self.stale = true;
    }

    /// A setting that transactions begin with has changed: it replaces what SET TRANSACTION said of it for the next one.
    pub fn settings_changed(&mut self, var: Option<Var>) {
        match var {
            Some(Var::TransactionIsolation) => self.next.isolation = None,
            Some(Var::TransactionReadOnly) => self.next.read_only = None,
            _ => {}
        }
        self.stale = true;
    }

    fn options(&mut self, settings: &Settings) -> TxnOptions {
        self.stale = false;
        options(settings, self.next, &self.interrupt)
    }

    /// A statement is about to run that belongs to a transaction.
    #[inline]
    pub fn begin_if_needed(&mut self, settings: &Settings) {
        if self.open {
            return;
        }
        if self.stale {
            let options = self.options(settings);
            self.storage().renew(options);
        }
        if !settings.autocommit {
            self.open = true;
        }
    }

    /// START TRANSACTION, when none is open.
    pub fn start(&mut self, settings: &Settings, consistent_snapshot: bool, read_only: Option<bool>) {
        let mut options = self.options(settings);
        options.read_only = read_only.unwrap_or(options.read_only);
        self.begin_with(options);
        if consistent_snapshot {
            self.storage().take_snapshot();
        }
    }

    /// AND CHAIN: another one with the options of the one before.
    pub fn chain(&mut self, before: TxnOptions) {
        self.begin_with(before);
    }

    fn begin_with(&mut self, options: TxnOptions) {
        self.savepoints.clear();
        self.storage().renew(TxnOptions { autocommit: false, ..options });
        self.open = true;
        // The one after it takes the session's options again.
        self.stale = true;
    }

    pub fn set_savepoint(&mut self, name: &str, settings: &Settings) -> Result<()> {
        if !self.open && !settings.autocommit {
            // It begins no transaction: the next statement that uses a table does.
            self.savepoints.set(name, None)?;
            self.savepoint_counts[0] += 1;
        }
        if self.open {
            let storage = self.storage.get_mut();
            let mark = (!storage.is_idle()).then(|| storage.savepoint());
            if let Some(left) = self.savepoints.set(name, mark)? {
                storage.forget_savepoint(left);
            }
            self.savepoint_counts[0] += 1;
        }
        Ok(())
    }

    /// With autocommit off also before a transaction has begun.
    #[inline]
    pub fn has_savepoints(&self) -> bool {
        !self.savepoints.is_empty()
    }

    pub fn rollback_to(&mut self, name: &str) -> Result<()> {
        match self.savepoints.find(name)? {
            Some(mark) => self.storage().rollback_to(&mark),
            // As MySQL: what began behind the savepoint ends, with its locks and its snapshot.
            None => self.storage().rollback(),
        }
        self.savepoints.end_after(name);
        self.savepoint_counts[1] += 1;
        Ok(())
    }

    pub fn release_savepoint(&mut self, name: &str) -> Result<()> {
        self.savepoints.find(name)?;
        self.savepoints.release(name);
        let last = self.savepoints.last();
        self.storage().forget_savepoints_after(last);
        self.savepoint_counts[2] += 1;
        Ok(())
    }

    /// How often the transaction's savepoints were set, rolled back to and released.
    pub fn savepoint_counts(&self) -> SavepointCounts {
        self.savepoint_counts
    }

    pub fn not_rolled_back(&self) -> NotRolledBack {
        self.not_rolled_back
    }

    /// Notes what ROLLBACK will leave done, if there is a transaction or one will begin.
    pub fn note_not_rolled_back(&mut self, settings: &Settings, note: impl FnOnce(&mut NotRolledBack)) {
        if self.open || !settings.autocommit {
            note(&mut self.not_rolled_back);
        }
    }

    /// Undoes what a statement did that failed, and with some errors all of the transaction. True: it is over.
    pub fn fail_statement(&mut self, error: &Error) -> bool {
        self.storage().rollback_statement();
        // Also a conflict after which the statement could have run again, but for the rows that it has sent.
        let whole = matches!(error.next(), Next::Retry | Next::Restart) && error.is(&ER_LOCK_DEADLOCK);
        if error.is(&ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION) && !self.open {
            // It did not begin: what SET TRANSACTION said is still to come.
            self.storage().rollback();
            return false;
        }
        if whole && self.in_branch() {
            self.lose_branch();
            return false;
        }
        let over = whole || !self.open;
        if over {
            self.storage().rollback();
        }
        over
    }

    /// The statement that ran is the end of its transaction. What used no table was none: SET TRANSACTION's is still to come.
    #[inline]
    pub fn ends_with_statement(&mut self) -> bool {
        !self.open && !self.has_savepoints() && (self.next.is_default() || !self.storage().is_idle())
    }

    /// Its commit is on the way, or it was rolled back: TRANSACTION-1 and TRANSACTION-2.
    #[inline]
    pub fn over(&mut self) {
        self.open = false;
        self.savepoints.clear();
        self.not_rolled_back = NotRolledBack::default();
        self.savepoint_counts = SavepointCounts::default();
        if !self.next.is_default() {
            self.next = NextTransaction::default();
            self.stale = true;
        }
    }

    pub fn commit(&mut self, waiter: impl FnOnce() -> CommitWaiter) -> CommitStart {
        self.storage().commit(waiter)
    }

    /// Ends what a statement outside of a transaction has read.
    pub fn release_reads(&mut self) {
        if !self.open {
            self.storage().rollback();
        }
    }

    /// The session ends or begins anew: nothing of it stays.
    pub fn abandon(&mut self) {
        self.storage().rollback();
        self.branch = None;
        self.over();
    }

    /// After `abandon`: with the settings of a new session.
    pub fn renew(&mut self, settings: &Settings) {
        let options = self.options(settings);
        self.storage().renew(options);
    }
}

/// What the next transaction is.
fn options(settings: &Settings, next: NextTransaction, interrupt: &Arc<Interrupt>) -> TxnOptions {
    TxnOptions {
        isolation: next.isolation.unwrap_or(settings.isolation),
        autocommit: settings.autocommit,
        read_only: next.read_only.unwrap_or(settings.read_only),
        snapshot_isolation: settings.snapshot_isolation,
        interrupt: interrupt.clone(),
    }
}
