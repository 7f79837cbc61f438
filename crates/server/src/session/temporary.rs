//! Temporary tables of a session: what CREATE and DROP mean for its transaction.
//!
//! Neither ends the transaction, and ROLLBACK undoes neither: it says so (warnings 1751 and 1752). The rows of CREATE TEMPORARY
//! TABLE … SELECT are the transaction's as those of any INSERT. The tables are in `Session::catalog`; their keys are given up
//! when the session has no transaction that could still write them.

use vaquita_exec::ddl::keeps_transaction;
use vaquita_parser::Statement as Ast;
use vaquita_parser::ast::{CreateTable, MaintenanceKind};
use vaquita_plan::env::Level;
use vaquita_types::errno::{
    ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_CREATED_TEMP_TABLE,
    ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_DROPPED_TEMP_TABLE, ER_XA_TEMP_TABLE,
};
use vaquita_types::{Error, Result};

use super::answer::Exchange;
use super::run::{Done, Planned};
use super::{Flow, Session};

/// What a transaction did that its ROLLBACK leaves done.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotRolledBack {
    created: bool,
    dropped: bool,
}

impl Session {
    /// CREATE TEMPORARY TABLE … SELECT.
    pub(super) fn create_temporary_from(&mut self, create: &CreateTable, exchange: &mut Exchange<'_>) -> Flow {
        let made = match &create.select {
            Some(query) => {
                self.refuse_in_read_only().and_then(|()| self.with_ddl(|ddl| ddl.create_temporary_from(create, query)))
            }
            None => Err(Error::internal("no query")),
        };
        let plan = match made {
            Ok(plan) => plan,
            Err(error) => return self.fail(&error, exchange),
        };
        self.state.tracker.state_changed(&self.state.settings.track);
        let Some(plan) = plan else {
            self.note_created();
            return self.succeed(&Done::nothing(), exchange);
        };
        let (failures, params) = (self.failures, std::mem::take(&mut self.params));
        let planned = Planned { plan: &plan, ast: None, types: &[], params: &params };
        let flow = self.run_plan(planned, exchange);
        if self.failures == failures {
            self.note_created();
        } else if let Some(database) = create.name.db.clone().or_else(|| self.state.database()) {
            self.catalog.drop_temporary((&database, &create.name.name));
        }
        flow
    }

    fn note_created(&self) {
        self.note_not_rolled_back(|done| done.created = true);
    }

    fn note_not_rolled_back(&self, change: impl FnOnce(&mut NotRolledBack)) {
        if self.in_transaction || !self.state.autocommit() {
            let mut done = self.state.not_rolled_back.get();
            change(&mut done);
            self.state.not_rolled_back.set(done);
        }
    }

    /// Runs DDL that leaves the transaction open, and remembers what ROLLBACK will have to say.
    pub(super) fn note_temporary_ddl(&self, ast: &Ast, changes_before: u64) {
        match ast {
            Ast::CreateTable(_) => self.note_created(),
            _ if self.catalog.temporary_changes() != changes_before => self.note_not_rolled_back(|done| done.dropped = true),
            _ => {}
        }
    }

    /// The warnings of a ROLLBACK.
    pub(super) fn warn_of_not_rolled_back(&self, done: NotRolledBack) {
        let all = [
            (done.created, &ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_CREATED_TEMP_TABLE),
            (done.dropped, &ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_DROPPED_TEMP_TABLE),
        ];
        for (_, def) in all.into_iter().filter(|(is, _)| *is) {
            self.state.push_warning(Level::Warning, Error::new(def, &[]));
        }
    }

    /// What DDL does to the open transaction: most of it commits. Error 1792 in a READ ONLY transaction, also for temporary
    /// tables, whose rows may be changed there.
    pub(super) fn begin_ddl(&mut self, ast: &Ast) -> Result<()> {
        if matches!(ast, Ast::CreateTable(create) if create.temporary) && self.in_branch() {
            return Err(Error::new(&ER_XA_TEMP_TABLE, &[]));
        }
        if matches!(ast, Ast::TableMaintenance(check) if check.kind == MaintenanceKind::Checksum) && self.in_transaction {
            return Ok(());
        }
        if !keeps_transaction(ast) {
            self.commit_implicitly()?;
        }
        // What reads rows does so in a transaction of its own.
        if !matches!(ast, Ast::DropTable { .. } | Ast::Truncate(_)) && !keeps_transaction(ast) {
            self.txn.get_mut().store_carried()?;
        }
        if !matches!(ast, Ast::TableMaintenance(_)) {
            self.refuse_in_read_only()?;
        }
        self.admit_ddl(ast)
    }

    fn refuse_in_read_only(&self) -> Result<()> {
        let read_only = match self.in_transaction {
            true => self.txn.borrow().options().read_only,
            false => self.state.next_transaction.read_only.unwrap_or(self.state.settings.read_only),
        };
        if read_only { Err(Error::new(&ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, &[])) } else { Ok(()) }
    }
}
