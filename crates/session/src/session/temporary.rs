//! Temporary tables of a session: what CREATE and DROP mean for its transaction.
//!
//! Neither ends the transaction, and ROLLBACK undoes neither: it says so (warnings 1751 and 1752). The rows of CREATE TEMPORARY
//! TABLE … SELECT are the transaction's as those of any INSERT. The tables are in `Session::catalog`; their keys are given up
//! when the session has no transaction that could still write them.

use vaquita_parser::ast::CreateTable;
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::env::Level;
use vaquita_types::errno::{
    ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_CREATED_TEMP_TABLE, ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_DROPPED_TEMP_TABLE,
};
use vaquita_types::{Error, Result};

use super::Session;
use super::exchange::Exchange;
use super::execute::{Done, Planned};
use crate::answer::Flow;
use crate::state::transaction::NotRolledBack;

impl Session {
    /// CREATE TEMPORARY TABLE … SELECT.
    pub(super) fn create_temporary_from(&mut self, create: &CreateTable, exchange: &mut Exchange<'_>) -> Flow {
        let made = match &create.select {
            Some(query) => self.with_ddl(&create.name.name, |ddl| ddl.create_temporary_from(create, query)),
            None => Err(Error::internal("no query")),
        };
        let plan = match made {
            Ok(plan) => plan,
            Err(error) => return self.fail(&error, exchange),
        };
        self.env.tracker.state_changed(&self.env.settings.track);
        let Some(plan) = plan else {
            self.note_created();
            return self.succeed(&Done::nothing(), exchange);
        };
        let params = self.prepared.take_values();
        let planned =
            Planned { plan: &plan, ast: None, types: &[], params: &params, kept: None, creates: Some(&create.name.name) };
        let flow = self.run_plan(planned, exchange);
        if !exchange.failed {
            self.note_created();
        } else if let Some(database) = create.name.db.clone().or_else(|| self.env.database()) {
            self.catalog.drop_temporary((&database, &create.name.name));
        }
        flow
    }

    fn note_created(&mut self) {
        self.transaction.note_not_rolled_back(&self.env.settings, |done| done.created = true);
    }

    /// Runs DDL that leaves the transaction open, and remembers what ROLLBACK will have to say.
    pub(super) fn note_temporary_ddl(&mut self, ast: &Ast, changes_before: u64) {
        match ast {
            Ast::CreateTable(_) => self.note_created(),
            _ if self.catalog.temporary_changes() != changes_before => {
                self.transaction.note_not_rolled_back(&self.env.settings, |done| done.dropped = true)
            }
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
            self.env.push_warning(Level::Warning, Error::new(def, &[]));
        }
    }

    /// Before DDL runs, after the open transaction was committed if this kind does that.
    pub(super) fn begin_ddl(&mut self, ast: &Ast) -> Result<()> {
        let kind = StatementKind::of(ast);
        // What reads rows does so in a transaction of its own, but for CHECKSUM TABLE in one that is open.
        let reads_rows = match kind {
            StatementKind::DropTable | StatementKind::Truncate => false,
            StatementKind::Checksum => !self.transaction.is_open(),
            _ => kind.facts().commits,
        };
        if reads_rows {
            self.transaction.storage().store_carried()?;
        }
        self.admit_ddl(ast)
    }
}
