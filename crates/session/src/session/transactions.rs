//! START TRANSACTION, COMMIT, ROLLBACK and savepoints, and the implicit commit before other statements. The transaction itself is
//! `state::transaction`'s; those of XA are in `xa_statements`.

use vaquita_exec::context::TransactionState;
use vaquita_parser::ast;
use vaquita_types::Result;

use super::Session;
use super::exchange::Exchange;
use super::execute::Done;
use crate::answer::Flow;
use crate::connection_events::TransactionNote;
use crate::variables::Var;
use crate::variables::settings::Completion;

impl Session {
    pub(super) fn commit_implicitly(&mut self) -> Result<()> {
        self.transaction.refuse_commit_of_branch()?;
        if let Err(error) = self.admit_commit().and_then(|()| self.tell_commit()) {
            self.rollback_transaction();
            return Err(error);
        }
        self.transaction_commits();
        let committed = self.transaction.storage().commit_wait();
        self.client.end_commit();
        committed
    }

    /// The transaction's commit follows.
    #[inline]
    pub(super) fn transaction_commits(&mut self) {
        let note = self.ending_transaction(TransactionState::Committed);
        self.transaction_over(note);
    }

    /// What is left to do when a transaction has ended; `note` is what it was (`ending_transaction`).
    #[inline]
    pub(super) fn transaction_over(&mut self, note: Option<TransactionNote>) {
        self.transaction_ended(note);
        self.env.tracker.transaction_ended(&self.env.settings.track);
        self.transaction.over();
    }

    pub(super) fn rollback_transaction(&mut self) {
        let note = self.ending_transaction(TransactionState::RolledBack);
        self.transaction.storage().rollback();
        self.transaction_over(note);
        self.client.end_commit();
    }

    /// A transaction that wrote does not commit while another session has the global read lock.
    #[inline]
    pub(super) fn wait_for_commits(&self) -> Result<()> {
        if self.transaction.is_read_only() { Ok(()) } else { self.locked.admit_commit(self.env.settings.metadata_lock_wait) }
    }

    /// The same, and error 1290 if the server has become read-only since the transaction wrote. The transaction is to be rolled back then.
    #[inline]
    pub(super) fn admit_commit(&self) -> Result<()> {
        self.wait_for_commits()?;
        if self.server.globals.is_on(Var::ReadOnly) && self.transaction.has_shared_writes() {
            return self.refuse_by_read_only();
        }
        Ok(())
    }

    /// What follows the end of a transaction; `completion_type` says what is not written.
    pub(super) fn completion(&self, written: &ast::Completion) -> Completion {
        let default = self.env.settings.completion;
        match (written.chain, written.release) {
            (Some(true), _) => Completion::Chain,
            (_, Some(true)) => Completion::Release,
            (None, None) => default,
            (None, Some(false)) if default == Completion::Chain => Completion::Chain,
            (Some(false), None) if default == Completion::Release => Completion::Release,
            _ => Completion::NoChain,
        }
    }

    /// Ends the transaction; CHAIN begins another like it.
    pub(super) fn end_and(&mut self, commit: bool, after: Completion) -> Result<()> {
        let options = self.transaction.storage().options().clone();
        let characteristics = self.env.tracker.characteristics();
        if commit {
            self.commit_implicitly()?;
        } else {
            self.rollback_transaction();
        }
        if after == Completion::Chain {
            self.transaction.chain(options);
            self.env.tracker.transaction_chained(&self.env.settings.track, characteristics);
        }
        Ok(())
    }

    pub(super) fn answer_end(&mut self, ended: Result<()>, after: Completion, exchange: &mut Exchange<'_>) -> Flow {
        self.conclude(ended.map(|()| Done::nothing()), exchange);
        if after == Completion::Release { Flow::Close } else { Flow::Next }
    }

    pub(super) fn start_transaction(&mut self, consistent_snapshot: bool, read_only: Option<bool>) -> Result<Done> {
        if self.locked.is_under() {
            self.unlock_tables()?;
        }
        if self.transaction.is_open() {
            self.commit_implicitly()?;
        }
        self.transaction.start(&self.env.settings, consistent_snapshot, read_only);
        let (track, next) = (&self.env.settings.track, self.transaction.next());
        self.env.tracker.transaction_started(track, consistent_snapshot, read_only, next);
        Ok(Done::nothing())
    }

    pub(super) fn rollback_to(&mut self, name: &str) -> Result<Done> {
        self.transaction.rollback_to(name)?;
        self.warn_of_not_rolled_back(self.transaction.not_rolled_back());
        Ok(Done::nothing())
    }
}
