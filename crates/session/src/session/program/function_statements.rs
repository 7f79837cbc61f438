//! Statements of functions and triggers that are no plans: SET, savepoints, temporary tables, KILL and LOCK INSTANCE.
//!
//! While they run the session itself cannot be changed: what they do to it waits in `state::deferred`.

use vaquita_exec::ddl::Ddl;
use vaquita_parser::Statement as Ast;
use vaquita_parser::StatementKind;
use vaquita_parser::ast::{CreateTable, Name, SetItem, SetValue, VarScope, Xa};
use vaquita_plan::bind::{PlanContext, plan_statement};
use vaquita_types::errno::{
    ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_CANT_REOPEN_TABLE, ER_COMMIT_NOT_ALLOWED_IN_SF_OR_TRG, ER_QUERY_INTERRUPTED,
    ER_SP_CANT_SET_AUTOCOMMIT, ER_XAER_NOTA, ER_XAER_OUTSIDE, ER_XAER_RMFAIL,
};
use vaquita_types::schema::TableRef;
use vaquita_types::{Error, Result};

use super::super::other_statements::{ddl_context, id_to_kill, kill, name_of};
use super::super::set::{Assignment, SetRules, bare_word, client_charset, names, settable};
use super::frame::Frame;
use super::function::{FunctionHost, InUse, Tables};
use super::interpreter::{Host, Interpreter};
use crate::state::prepared::PlanNotes;
use crate::variables::{Var, registry};

impl FunctionHost<'_> {
    pub(super) fn run_other(&mut self, frame: &mut Frame, ast: &Ast) -> Result<()> {
        let facts = StatementKind::of(ast).facts();
        if facts.commits {
            return Err(Error::new(&ER_COMMIT_NOT_ALLOWED_IN_SF_OR_TRG, &[]));
        }
        self.authorize(ast)?;
        if facts.refused_in_read_only && self.statement.txn.borrow().options().read_only {
            return Err(Error::new(&ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, &[]));
        }
        self.view.env.diagnostics.set_row_count(0);
        match ast {
            Ast::Set(items) => items.iter().try_for_each(|item| self.set(frame, item)),
            Ast::Savepoint(_) | Ast::RollbackTo(_) | Ast::ReleaseSavepoint(_) => self.savepoint(ast),
            Ast::CreateTable(create) if create.temporary => self.create_temporary(frame, ast, create),
            Ast::DropTable { temporary: true, names, .. } => self.drop_temporary(frame, ast, names),
            Ast::Kill { query_only, id } => {
                let (value, ty) = self.evaluate_with(id, Some(frame))?;
                let id = id_to_kill(value, &ty);
                kill(self.view.server, self.view.access, id, *query_only)?;
                if id == self.view.client.id { Err(Error::new(&ER_QUERY_INTERRUPTED, &[])) } else { Ok(()) }
            }
            Ast::LockInstance => self.view.locked.lock_for_backup(self.view.env.settings.metadata_lock_wait),
            Ast::UnlockInstance => {
                self.view.locked.unlock_for_backup();
                Ok(())
            }
            Ast::Xa(xa) => Err(match xa {
                Xa::Start { .. } | Xa::Recover { .. } => Error::new(&ER_XAER_OUTSIDE, &[]),
                Xa::End { .. } | Xa::Prepare(_) => Error::new(&ER_XAER_RMFAIL, &[&"NON-EXISTING"]),
                Xa::Commit { .. } | Xa::Rollback(_) => Error::new(&ER_XAER_NOTA, &[]),
            }),
            other => Err(Error::unsupported(format_args!("{} in a stored function", name_of(other)))),
        }
    }

    fn set(&mut self, frame: &mut Frame, item: &SetItem) -> Result<()> {
        match item {
            SetItem::UserVar { name, value } => {
                let (value, ty) = self.evaluate_with(value, Some(frame))?;
                self.view.env.user_variables.set(name, value, &ty)
            }
            SetItem::SysVar { scope, component, name, value } => {
                let def = settable(*scope, component.as_deref(), name)?;
                let given = match value {
                    SetValue::Default => None,
                    SetValue::Expr(expr) => Some(match bare_word(expr) {
                        Some(word) => word,
                        None => self.evaluate_with(expr, Some(frame))?.0,
                    }),
                };
                if let (VarScope::Default | VarScope::Session, Some(error)) = (scope, def.refused_in_functions()) {
                    return Err(error);
                }
                let assignment = self.set_rules().check(def, *scope, given)?;
                self.assign(assignment)
            }
            SetItem::Names { charset, collate } => {
                let utf8mb4 = self.view.env.settings.plan.utf8mb4_collation;
                self.assign(Assignment::Names(names(charset.as_deref(), collate.as_deref(), utf8mb4)?))
            }
            SetItem::Charset(name) => self.assign(Assignment::Charset(client_charset(name.as_deref())?)),
            SetItem::Transaction { scope, isolation, access_mode } => {
                let assignments = self.set_rules().check_transaction(*scope, *isolation, *access_mode)?;
                assignments.into_iter().try_for_each(|assignment| self.assign(assignment))
            }
            SetItem::Password(_) => Err(Error::new(&ER_SP_CANT_SET_AUTOCOMMIT, &[])),
        }
    }

    /// Its statement is a transaction, or a part of one.
    pub(super) fn set_rules(&self) -> SetRules<'_> {
        let view = &self.view;
        let settings = self.outside.settings.all(view.env);
        SetRules { server: view.server, env: view.env, settings, access: view.access, in_transaction: true }
    }

    fn assign(&mut self, assignment: Assignment) -> Result<()> {
        let env = self.view.env;
        match assignment {
            Assignment::User { name, value, ty } => env.user_variables.set(&name, value, &ty),
            Assignment::Session { def, value } => {
                if !env.set_id(def, &value) {
                    self.outside.settings.set(def, value, env);
                }
                if def.var == Some(Var::Timestamp) {
                    env.set_statement_time(self.outside.settings.all(env).timestamp_us);
                }
                Ok(())
            }
            Assignment::Global(global) => global.assign(self.view.server, self.view.client),
            Assignment::Names(collation) => {
                let mut all = self.outside.settings.all(env).clone();
                all.set_names(collation);
                self.take_charsets(&all);
                Ok(())
            }
            Assignment::Charset(charset) => {
                let mut all = self.outside.settings.all(env).clone();
                all.set_charset(charset);
                self.take_charsets(&all);
                Ok(())
            }
            Assignment::NextTransaction { .. } => Err(Error::internal("a transaction after the one that runs")),
        }
    }

    fn take_charsets(&mut self, from: &crate::variables::settings::Settings) {
        for var in [Var::CharacterSetClient, Var::CharacterSetResults, Var::CollationConnection] {
            self.outside.settings.set(registry().of(var), from.of(var), self.view.env);
        }
    }

    fn savepoint(&mut self, ast: &Ast) -> Result<()> {
        let own = self.view.savepoints.ok_or_else(|| Error::internal("a function without savepoints"))?;
        let mut txn = self.statement.txn.borrow_mut();
        match ast {
            Ast::Savepoint(name) => own.borrow_mut().set(name, &mut txn),
            Ast::RollbackTo(name) => own.borrow_mut().rollback_to(name, &mut txn),
            Ast::ReleaseSavepoint(name) => own.borrow_mut().release(name),
            _ => Ok(()),
        }
    }

    fn create_temporary(&mut self, frame: &mut Frame, ast: &Ast, create: &CreateTable) -> Result<()> {
        match &create.select {
            None => self.with_ddl(frame, "", |ddl| ddl.run(ast)).transpose()?.map(drop).unwrap_or_default(),
            Some(query) => {
                let name = &create.name.name;
                if let Some(plan) = self.with_ddl(frame, name, |ddl| ddl.create_temporary_from(create, query))? {
                    let filled = self.run_part(frame, Tables::Beside(name), &plan, vaquita_exec::dml::run);
                    if filled.is_err() {
                        self.statement.catalog.drop_temporary((self.database_of(&create.name)?, name));
                    }
                    self.view.env.diagnostics.set_row_count(filled?.affected as i64);
                }
            }
        }
        self.view.env.deferred.note_created();
        Ok(())
    }

    /// Error 1137 for a table that a statement around it uses.
    fn drop_temporary(&mut self, frame: &mut Frame, ast: &Ast, names: &[Name]) -> Result<()> {
        for name in names {
            if let Some(table) = self.statement.catalog.temporary(self.database_of(name)?, &name.name) {
                self.refuse_reopened(std::slice::from_ref(&table.def))?;
            }
        }
        let before = self.statement.catalog.temporary_changes();
        self.with_ddl(frame, "", |ddl| ddl.run(ast)).transpose()?;
        if self.statement.catalog.temporary_changes() != before {
            self.view.env.deferred.note_dropped();
        }
        Ok(())
    }

    /// Error 1137 for the change of a temporary table that a statement around it uses.
    pub(super) fn refuse_reopened(&self, tables: &[TableRef]) -> Result<()> {
        let in_use = |table: &&TableRef| table.options.temporary && self.view.in_use.is_some_and(|in_use| in_use.has(table));
        match tables.iter().find(in_use) {
            Some(table) => Err(Error::new(&ER_CANT_REOPEN_TABLE, &[&table.name])),
            None => Ok(()),
        }
    }

    /// Runs `f` with what DDL of temporary tables needs.
    fn with_ddl<T>(&self, frame: &Frame, creates: &str, f: impl FnOnce(&Ddl<'_>) -> T) -> T {
        let view = &self.view;
        let in_use = InUse { tables: Tables::Beside(creates), outer: view.in_use };
        let server = self.inner_view(&in_use);
        let planner = |ast: &Ast, target: Option<&TableRef>| {
            let (plan, uses) = self.bound(&frame.values, &PlanNotes::default(), |context| {
                plan_statement(ast, &PlanContext { insert_target: target, param_types: &frame.types, ..*context })
            });
            self.allows(&uses)?;
            plan
        };
        let no_view = || Error::internal("a view of a function");
        f(&Ddl {
            log: None,
            filler: None,
            definer: &|_| Err(no_view()),
            may_change_what_is_of: &|_| Err(no_view()),
            has_account: &|_| false,
            define_view: &|_, _| Err(no_view()),
            catalog: self.statement.catalog,
            session: &self.outside,
            database: self.outside.settings.plan.current_database.as_deref(),
            planner: &planner,
            params: &frame.values,
            server: &server,
            functions: &server,
            lock_wait_ms_max: self.statement.lock_wait_ms_max,
            context: ddl_context(view.client, self.outside.settings.all(view.env)),
        })
    }
}
