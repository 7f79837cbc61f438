//! Statements that are no plans: transactions, SET, SHOW, DDL, KILL ….

use vaquita_exec::ddl::{Ddl, Outcome};
use vaquita_parser::ast::{self, AccessMode, SetItem};
use vaquita_parser::statement_kind::Class;
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::bind::{PlanContext, plan_statement};
use vaquita_storage::{DdlContext, Mark, TxnOptions};
use vaquita_types::errno::{ER_KILL_DENIED_ERROR, ER_NO_SUCH_THREAD, ER_QUERY_INTERRUPTED, ER_SP_DOES_NOT_EXIST};
use vaquita_types::schema::TableRef;
use vaquita_types::{Error, Result, Value};

use super::answer::Exchange;
use super::prepared::VariableTypes;
use super::run::Done;
use super::state::type_of_value;
use super::{Flow, Session};
use crate::variables::settings::Completion;

impl Session {
    pub(super) fn admin(&mut self, ast: &Ast, exchange: &mut Exchange<'_>) -> Flow {
        if let Err(error) = self.admit_kind(StatementKind::of(ast)) {
            return self.fail(&error, exchange);
        }
        let done = match ast {
            Ast::Xa(xa) => self.xa(xa, exchange),
            Ast::Commit(completion) => match self.completion(completion) {
                Completion::NoChain => return self.commit_then(Done::nothing(), exchange),
                after => {
                    let committed = self.end_and(true, after);
                    return self.answer_end(committed, after, exchange);
                }
            },
            Ast::Rollback(completion) => {
                let after = self.completion(completion);
                let left = self.state.not_rolled_back.get();
                let ended = self.end_and(false, after);
                if ended.is_ok() {
                    self.warn_of_not_rolled_back(left);
                }
                return self.answer_end(ended, after, exchange);
            }
            Ast::StartTransaction { consistent_snapshot, access_mode } => {
                self.start_transaction(*consistent_snapshot, access_mode.map(|mode| mode == AccessMode::ReadOnly))
            }
            Ast::Savepoint(name) => self.savepoint(name),
            Ast::RollbackTo(name) => self.rollback_to(name),
            Ast::ReleaseSavepoint(name) => self.release_savepoint(name),
            Ast::LockTables(locks) => {
                self.track_locks();
                self.lock_tables(locks)
            }
            Ast::LockInstance => self.lock_instance(),
            Ast::UnlockInstance => self.unlock_instance(),
            Ast::UnlockTables => {
                self.track_locks();
                self.unlock_tables()
            }
            Ast::Use(name) => self.use_database(name).map(|()| Done::nothing()),
            Ast::Set(items) if matches!(items[..], [SetItem::Password(_)]) => {
                self.set_password(items).unwrap_or_else(|| Err(Error::internal("no SET PASSWORD")))
            }
            Ast::Set(items) => self.set(items),
            Ast::Do(exprs) => self.evaluate_all(exprs),
            Ast::Kill { query_only, id } => self.kill_statement(id, *query_only),
            Ast::Prepare { name, source } => self.prepare_text(name, source),
            Ast::Execute { name, using } => return self.execute_text(name, using, exchange),
            Ast::Deallocate(name) => self.deallocate(name),
            Ast::LoadData(load) => return self.load_data(load, exchange),
            Ast::CreateTable(create) if create.temporary && create.select.is_some() => {
                return self.create_temporary_from(create, exchange);
            }
            Ast::Show(_) | Ast::Describe { .. } => self.show(ast, exchange),
            Ast::Explain(explain) => self.explain(explain, exchange),
            Ast::DropView { if_exists, names } => self.drop_views(*if_exists, names),
            Ast::DropProgram { kind, if_exists, name } => self.drop_program(*kind, *if_exists, name),
            other => self
                .account_statement(other)
                .or_else(|| self.maintain(other))
                .or_else(|| self.ddl(other, exchange))
                .unwrap_or_else(|| Err(Error::unsupported(name_of(other)))),
        };
        self.conclude(done, exchange)
    }

    /// DDL, which mostly commits what is open and then runs by itself. `None`: the statement is no DDL.
    fn ddl(&mut self, ast: &Ast, exchange: &mut Exchange<'_>) -> Option<Result<Done>> {
        let facts = StatementKind::of(ast).facts();
        if facts.class != Class::Ddl {
            return None;
        }
        if !matches!(ast, Ast::TableMaintenance(_)) {
            self.client.note_change();
        }
        if let Err(error) = self.begin_ddl(ast) {
            return Some(Err(error));
        }
        let shared = match self.changes_own_tables_only(ast) {
            Ok(own) => facts.changes_shared_schema && !own,
            Err(error) => return Some(Err(error)),
        };
        if shared && let Err(error) = self.enter_ddl(Some(ast)) {
            return Some(Err(error));
        }
        let database = self.state.database();
        let changes_before = self.catalog.temporary_changes();
        let outcome = self.with_ddl(|ddl| ddl.run(ast));
        self.client.progress.finish();
        if shared {
            self.leave_ddl();
        }
        let outcome = outcome?;
        let done = outcome.and_then(|outcome| match outcome {
            Outcome::Ok { affected, info } => Ok(Done::Ok { affected, last_insert_id: 0, info }),
            Outcome::Rows(result) => self.put_rows(&result.columns, &result.rows, exchange),
        });
        if facts.is_temporary_ddl() && done.is_ok() {
            self.note_temporary_ddl(ast, changes_before);
            self.state.tracker.state_changed(&self.state.settings.track);
        }
        if let Ast::DropDatabase { name, .. } = ast
            && database.as_deref() == Some(name)
            && done.is_ok()
        {
            self.state.set_database(None, None);
        }
        Some(done)
    }

    /// Runs `f` with what DDL needs of this session.
    pub(super) fn with_ddl<T>(&self, f: impl FnOnce(&Ddl<'_>) -> T) -> T {
        let database = self.state.database();
        let collation = self.state.connection_collation();
        let param_types: Vec<_> = self.params.iter().map(|value| type_of_value(value, collation)).collect();
        let planner = |ast: &Ast, target: Option<&TableRef>| {
            self.with_plan_context(|context| {
                plan_statement(ast, &PlanContext { insert_target: target, param_types: &param_types, ..*context })
            })
        };
        f(&Ddl {
            catalog: &self.catalog,
            session: &self.state,
            database: database.as_deref(),
            planner: &planner,
            params: &self.params,
            context: DdlContext {
                wait: self.state.metadata_lock_wait(),
                interrupt: self.client.interrupt.clone(),
                progress: self.client.progress.clone(),
            },
        })
    }

    pub(super) fn commit_implicitly(&mut self) -> Result<()> {
        self.refuse_commit_of_branch()?;
        if let Err(error) = self.wait_for_commits() {
            self.rollback_transaction();
            return Err(error);
        }
        self.transaction_over();
        self.txn.get_mut().commit_wait()
    }

    /// What is left to do when a transaction has ended.
    pub(super) fn transaction_over(&mut self) {
        self.in_transaction = false;
        self.savepoints.clear();
        self.state.end_transaction();
    }

    /// What follows the end of a transaction; `completion_type` says what is not written.
    fn completion(&self, written: &ast::Completion) -> Completion {
        let default = self.state.settings.completion;
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
    fn end_and(&mut self, commit: bool, after: Completion) -> Result<()> {
        let options = self.txn.get_mut().options().clone();
        let characteristics = self.state.tracker.characteristics();
        if commit {
            self.commit_implicitly()?;
        } else {
            self.rollback_transaction();
        }
        if after == Completion::Chain {
            self.txn.get_mut().renew(TxnOptions { autocommit: false, ..options });
            self.in_transaction = true;
            self.state.note_txn_options_used();
            self.state.tracker.transaction_chained(&self.state.settings.track, characteristics);
        }
        Ok(())
    }

    fn answer_end(&mut self, ended: Result<()>, after: Completion, exchange: &mut Exchange<'_>) -> Flow {
        self.conclude(ended.map(|()| Done::nothing()), exchange);
        if after == Completion::Release { Flow::Close } else { Flow::Next }
    }

    fn evaluate_all(&mut self, exprs: &[ast::Expr]) -> Result<Done> {
        for expr in exprs {
            self.evaluate(expr)?;
        }
        Ok(Done::nothing())
    }

    fn kill_statement(&mut self, id: &ast::Expr, query_only: bool) -> Result<Done> {
        let (_, uses) = self.bound(&VariableTypes::default(), |context| vaquita_plan::bind::bind_scalar(id, context));
        if !uses.tables.is_empty() {
            return Err(Error::unsupported("Usage of subqueries or stored function calls as part of this statement"));
        }
        let (value, ty) = self.evaluate(id)?;
        let id = match value {
            // As MySQL reads it.
            Value::Int(id) if id < 0 => u64::from(id as u32),
            value => vaquita_types::convert::to_u64(&value, &ty).value,
        };
        self.kill(id, query_only)?;
        if id == self.client.id {
            self.killed_itself = true;
            return Err(Error::new(&ER_QUERY_INTERRUPTED, &[]));
        }
        Ok(Done::nothing())
    }

    pub(super) fn start_transaction(&mut self, consistent_snapshot: bool, read_only: Option<bool>) -> Result<Done> {
        if self.is_under_lock_tables() {
            self.unlock_tables()?;
        }
        if self.in_transaction {
            self.commit_implicitly()?;
        }
        let mut options = TxnOptions { autocommit: false, ..self.state.txn_options(&self.client) };
        options.read_only = read_only.unwrap_or(options.read_only);
        self.txn.get_mut().renew(options);
        if consistent_snapshot {
            self.txn.get_mut().take_snapshot();
        }
        self.in_transaction = true;
        self.state.note_txn_options_used();
        let (track, next) = (&self.state.settings.track, &self.state.next_transaction);
        self.state.tracker.transaction_started(track, consistent_snapshot, read_only, next);
        Ok(Done::nothing())
    }

    fn savepoint(&mut self, name: &str) -> Result<Done> {
        if !self.state.autocommit() {
            self.begin_if_needed();
        }
        if self.in_transaction {
            let txn = self.txn.get_mut();
            let mark = (!txn.is_idle()).then(|| txn.savepoint());
            self.savepoints.set(name, mark)?;
        }
        Ok(Done::nothing())
    }

    fn find_savepoint(&self, name: &str) -> Result<Option<Mark>> {
        self.savepoints.find(name).ok_or_else(|| Error::new(&ER_SP_DOES_NOT_EXIST, &[&"SAVEPOINT", &name]))
    }

    fn rollback_to(&mut self, name: &str) -> Result<Done> {
        match self.find_savepoint(name)? {
            Some(mark) => self.txn.get_mut().rollback_to(&mark),
            // As MySQL: what began behind the savepoint ends, with its locks and its snapshot.
            None => self.txn.get_mut().rollback(),
        }
        self.savepoints.end_after(name);
        self.warn_of_not_rolled_back(self.state.not_rolled_back.get());
        Ok(Done::nothing())
    }

    fn release_savepoint(&mut self, name: &str) -> Result<Done> {
        self.find_savepoint(name)?;
        self.savepoints.release(name);
        Ok(Done::nothing())
    }

    pub fn kill(&mut self, id: u64, query_only: bool) -> Result<()> {
        let target = self.server.clients().get(id).ok_or_else(|| Error::new(&ER_NO_SUCH_THREAD, &[&id]))?;
        if !self.may_kill(&target) {
            return Err(Error::new(&ER_KILL_DENIED_ERROR, &[&id]));
        }
        target.kill(!query_only);
        Ok(())
    }
}

/// What error 1235 calls a statement that nothing here carries out.
pub(super) fn name_of(ast: &Ast) -> &str {
    match ast {
        Ast::Unsupported { what } => what,
        other => StatementKind::of(other).facts().name,
    }
}
