//! Runs one statement in the session's transaction and answers it.
//!
//! 1. Outside a transaction with autocommit on, the transaction is the statement's own.
//! 2. A conflict with a commit after the snapshot, in the first statement of a transaction, restarts the
//!    statement on a fresh snapshot (`Next::Restart`); what was written to the client is taken back.
//! 3. A statement that was planned before DDL changed one of its tables is planned again (`Next::Replan`).
//! 4. A failed statement undoes only itself; deadlock and conflict undo the transaction.
//! 5. The commit of an autocommit statement may park the session; the answer then waits in `Pending`.

use vaquita_exec::context::{Counted, Execution, RowWork, TransactionState};
use vaquita_exec::dml::Changed;
use vaquita_parser::Statement as Ast;
use vaquita_plan::node::Plan;
use vaquita_plan::uses::UseList;
use vaquita_storage::{CommitStart, Reads};
use vaquita_types::error::Next;
use vaquita_types::schema::TableDef;
use vaquita_types::{ColumnType, Error, Result, Value};

use super::access_counts::{changed_table, changing_counter, count_calls};
use super::exchange::Exchange;
use super::program::{InUse, Tables};
use super::server_view::ServerView;
use super::{Pending, Session};
use crate::answer::{Answer, Completed, Flow, MakeWaiter, ResultForm, Status};
use crate::counters::Counter;
use crate::state::prepared::{CachedPlan, Cursor};

/// How a statement ended well.
#[derive(Debug)]
pub enum Done {
    /// Its rows are written; the end of the result set is not.
    Rows,
    /// Its columns are written; its rows wait to be fetched.
    Cursor,
    Ok {
        affected: u64,
        last_insert_id: u64,
        info: String,
    },
}

impl Done {
    pub fn nothing() -> Done {
        Done::Ok { affected: 0, last_insert_id: 0, info: String::new() }
    }

    pub fn affected(affected: u64) -> Done {
        Done::Ok { affected, last_insert_id: 0, info: String::new() }
    }
}

/// A statement that is to run.
#[derive(Clone, Copy)]
pub(super) struct Planned<'a> {
    pub plan: &'a Plan,
    /// To plan it again.
    pub ast: Option<&'a Ast>,
    /// The types of the parameters; of one that is NULL, the type that its place in the statement tells.
    pub types: &'a [ColumnType],
    pub params: &'a [Value],
    /// If it is kept, for other values.
    pub kept: Option<&'a CachedPlan>,
    /// The table that is made of its rows.
    pub creates: Option<&'a str>,
}

/// DDL statements that may come between the planning of a statement and its start before it fails.
pub(super) const REPLANS_MAX: usize = 100;

/// Fresh snapshots that one statement may take before its conflict is shown after all.
pub(super) const RESTARTS_MAX: usize = 1000;

fn note_examined(kept: Option<&CachedPlan>, statement: &Execution<'_>) {
    // Most plans have nothing guessed, and counting costs.
    if let Some(kept) = kept
        && kept.guessed.is_any()
    {
        kept.guessed.note_examined(statement.examined());
    }
}

impl Session {
    /// Runs a plan and, if the statement is a transaction of its own, commits.
    pub(super) fn run_plan(&mut self, planned: Planned<'_>, exchange: &mut Exchange<'_>) -> Flow {
        let plan = planned.plan;
        let uses_tables = !plan.tables().is_empty() || vaquita_exec::query::may_call_functions(plan);
        if uses_tables && let Err(error) = self.admit_tables(plan) {
            return self.fail(&error, exchange);
        }
        // Without tables nothing is to be undone: with autocommit off no transaction begins.
        if self.transaction.is_open() || self.env.settings.autocommit || uses_tables {
            self.transaction.begin_if_needed(&self.env.settings);
        }
        self.track_plan(plan);
        self.note_access(plan);
        self.audit_tables(plan);
        let execution_ms_max = match plan {
            // Of a stored program's statements none is limited by itself.
            _ if exchange.in_program => 0,
            Plan::Query(query) if query.execution_ms_max != 0 => query.execution_ms_max,
            Plan::Query(_) => self.env.settings.execution_ms_max,
            _ => 0,
        };
        let limited = execution_ms_max != 0;
        if limited {
            self.client.set_deadline(execution_ms_max);
            self.server.clients().note_deadline(true);
            self.client.counters.add(Counter::MaxExecutionTimeSet, 1);
        }
        // What neither locks nor changes meets no conflict.
        let changes = vaquita_exec::query::changes(plan);
        if changes && let Some(flow) = self.pass_over(exchange) {
            return flow;
        }
        if !matches!(plan, Plan::Query(_)) {
            self.client.note_change();
        }
        if changes {
            self.env.begin_try();
        }
        let ran = self.run_with_restarts(planned, changes, exchange);
        if changes {
            self.env.end_try();
        }
        if limited {
            self.client.set_deadline(0);
            self.server.clients().note_deadline(false);
        }
        let ran = self.settle().and(ran);
        match ran {
            Ok(done) => self.finish_statement(done, exchange),
            Err(error) => {
                self.fail_statement(&error);
                self.fail(&error, exchange)
            }
        }
    }

    /// A plan is about to run.
    #[inline]
    pub(super) fn track_plan(&self, plan: &Plan) {
        if self.transaction.is_open() {
            self.env.tracker.statement_in_transaction(&self.env.settings.track, plan);
        }
    }

    /// Evaluates expressions that read tables or call functions, which are a statement of their own.
    pub(super) fn run_expression<T>(
        &mut self,
        (calls, uses): (bool, &UseList),
        values: &[Value],
        mut f: impl FnMut(&Execution<'_>) -> Result<T>,
    ) -> Result<T> {
        if calls {
            self.transaction.refuse_unless_active()?;
            self.transaction.begin_if_needed(&self.env.settings);
            self.env.begin_try();
        }
        let mut restarts = 0;
        let done = loop {
            self.transaction.storage().begin_statement(Reads::Many);
            if calls {
                self.transaction.storage().note_change();
            }
            let done = {
                let in_use = InUse { tables: Tables::Used(uses), outer: None };
                let server = ServerView { in_use: Some(&in_use), ..self.server_view() };
                let statement = self.executing(values, &server);
                let done = f(&statement);
                self.note_execution(&statement, None);
                done
            };
            match done {
                Err(error) if calls && error.next() == Next::Restart && restarts < RESTARTS_MAX => {
                    restarts += 1;
                    self.env.take_back();
                    self.transaction.storage().restart_statement();
                }
                done => break done,
            }
        };
        if calls {
            self.env.end_try();
        }
        let done = self.settle().and(done);
        if let (true, Err(error)) = (calls, &done) {
            self.fail_statement(error);
            return done;
        }
        self.transaction.storage().end_statement();
        if calls && !self.transaction.is_open() && !self.transaction.is_read_only() {
            if let Err(error) = self.admit_commit().and_then(|()| self.tell_commit()) {
                self.rollback_transaction();
                return Err(error);
            }
            self.transaction_commits();
            let committed = self.transaction.storage().commit_wait();
            self.client.end_commit();
            return committed.and(done);
        }
        self.transaction.release_reads();
        done
    }

    fn run_with_restarts(&mut self, planned: Planned<'_>, changes: bool, exchange: &mut Exchange<'_>) -> Result<Done> {
        let (mut restarts, mut replans) = (0, 0);
        let mut fresh: Option<Plan> = None;
        loop {
            let plan = fresh.as_ref().unwrap_or(planned.plan);
            self.transaction.storage().begin_statement(vaquita_exec::query::reads(plan));
            if changes {
                self.transaction.storage().note_change();
            }
            exchange.answer.begin_try();
            let error = match self.run_once(&Planned { plan, ..planned }, exchange) {
                Ok(done) => {
                    self.transaction.storage().end_statement();
                    return Ok(done);
                }
                Err(error) => error,
            };
            if !exchange.answer.take_back() {
                return Err(error);
            }
            match (error.next(), planned.ast) {
                (Next::Restart, _) if restarts < RESTARTS_MAX => {
                    restarts += 1;
                    self.env.take_back();
                    self.transaction.storage().restart_statement();
                }
                (Next::Replan, Some(ast)) if replans < REPLANS_MAX => {
                    replans += 1;
                    self.transaction.storage().rollback_statement();
                    let plan = self.plan(ast, planned.types)?;
                    self.admit_plan(&plan)?;
                    fresh = Some(plan);
                }
                _ => return Err(error),
            }
        }
    }

    /// One try.
    fn run_once(&mut self, planned: &Planned<'_>, exchange: &mut Exchange<'_>) -> Result<Done> {
        if exchange.analyzes {
            return self.measure_once(planned, exchange);
        }
        let Planned { plan, params, kept, .. } = *planned;
        let form = self.result_form(exchange);
        let tables = planned.creates.map_or(Tables::Of(plan), Tables::Beside);
        let in_use = InUse { tables, outer: None };
        let server = ServerView { in_use: Some(&in_use), ..self.server_view() };
        let statement = self.executing(params, &server);
        let query = match plan {
            Plan::Query(query) => query,
            other => {
                let changed = vaquita_exec::dml::run(other, &statement)?;
                note_examined(kept, &statement);
                self.note_execution(&statement, changed_table(other, changed.affected));
                if let Some(counter) = changing_counter(other) {
                    self.client.counters.add(counter, changed.affected);
                }
                let affected = if self.options.found_rows { changed.found } else { changed.affected };
                return Ok(Done::Ok { affected, last_insert_id: self.insert_id(other, &changed), info: changed.info });
            }
        };
        let (found, done) = if !query.into.is_empty() {
            let rows = vaquita_exec::query::run_into(query, &statement)?;
            (rows, Done::affected(rows))
        } else if query.into_file.is_some() {
            let rows = self.write_file(query, &statement)?;
            (rows, Done::affected(rows))
        } else if exchange.keeps_rows {
            // A restarted statement begins an empty one.
            let cursor = Some(Box::new(Cursor::new(self.server.data_dir())));
            let rows = exchange.answer.rows(ResultForm { cursor, ..form });
            let found = vaquita_exec::query::run(query, &statement, None, rows)?;
            exchange.cursor = exchange.answer.take_cursor();
            (found, Done::Cursor)
        } else {
            let rows = exchange.answer.rows(ResultForm { held: query.locking, ..form });
            (vaquita_exec::query::run(query, &statement, None, rows)?, Done::Rows)
        };
        note_examined(kept, &statement);
        self.note_execution(&statement, None);
        self.env.diagnostics.set_found_rows(found);
        Ok(done)
    }

    /// What a statement has done, for those who count.
    #[inline]
    fn note_execution(&self, statement: &Execution<'_>, changed: Option<(&TableDef, RowWork, u64)>) {
        let used = self.event.note_tables(&statement.calls, changed);
        self.client.counters.add(Counter::TableOpenCacheHits, used);
        self.event.examined(statement.examined());
        count_calls(statement, |counter, count| self.client.counters.add(counter, count));
    }

    /// How the rows of this exchange are written.
    pub(super) fn result_form(&self, exchange: &Exchange<'_>) -> ResultForm {
        ResultForm {
            binary: exchange.binary,
            status: Status { more_results: exchange.more(), ..self.status() },
            charset: self.env.settings.results_collation,
            write_wait: self.env.settings.write_wait,
            ..ResultForm::default()
        }
    }

    /// The insert id of the OK packet: a generated value, else what LAST_INSERT_ID(expr) was given in this statement, else the value
    /// that the last row has. Only the first of them becomes what LAST_INSERT_ID() returns; LAST_INSERT_ID(expr) did that itself.
    pub(super) fn insert_id(&self, plan: &Plan, changed: &Changed) -> u64 {
        if changed.generated_id != 0 {
            self.env.ids.set_last(changed.generated_id);
            return changed.generated_id;
        }
        match plan {
            Plan::Insert(_) => self.env.ids.last_given().unwrap_or(changed.row_id),
            Plan::Update(_) => self.env.ids.last_given().unwrap_or(0),
            _ => 0,
        }
    }

    /// What the executor is given to run a statement.
    #[inline]
    pub(super) fn executing<'a>(&'a self, params: &'a [Value], server: &'a ServerView<'a>) -> Execution<'a> {
        let (engine, txn, interrupt) = (&self.server.engine, self.transaction.shared(), &self.client.interrupt);
        let mut statement = Execution::new(engine, &self.catalog, txn, params, &self.env, interrupt);
        statement.server = server;
        statement.functions = server;
        statement.lock_wait_ms_max = self.env.settings.lock_wait.as_millis() as u64;
        statement.table_lock_wait = self.env.settings.metadata_lock_wait;
        statement.row_log = self.row_logging();
        statement
    }

    pub(super) fn fail_statement(&mut self, error: &Error) {
        let note = self.ending_transaction(TransactionState::RolledBack);
        if self.transaction.fail_statement(error) {
            self.transaction_over(note);
        }
        // Who has asked for the end of a program has asked for more than this statement's.
        if !self.programs.is_running() {
            self.client.interrupt.clear();
        }
    }

    /// Commits an autocommit statement, then answers.
    pub(super) fn finish_statement(&mut self, done: Done, exchange: &mut Exchange<'_>) -> Flow {
        match self.transaction.ends_with_statement() {
            true => self.commit_then(done, exchange),
            false => self.succeed(&done, exchange),
        }
    }

    /// Commits the transaction and answers `done` when it is durable.
    pub(super) fn commit_then(&mut self, done: Done, exchange: &mut Exchange<'_>) -> Flow {
        if let Err(error) = self.admit_commit().and_then(|()| self.tell_commit()) {
            self.rollback_transaction();
            return self.fail(&error, exchange);
        }
        self.transaction_commits();
        // The rows of a query whose functions have changed data are in an answer that does not outlast this call.
        let has_rows = matches!(done, Done::Rows | Done::Cursor) && !self.transaction.is_read_only();
        if exchange.in_program || has_rows {
            let committed = self.transaction.storage().commit_wait();
            self.client.end_commit();
            return match committed {
                Ok(()) => self.succeed(&done, exchange),
                Err(error) => self.fail(&error, exchange),
            };
        }
        // Whoever completes the group may run this session before `commit` returns here, but not
        // before this thread has released the connection's lock.
        self.pending = Some(Pending { done, rest: exchange.rest.clone() });
        match self.transaction.commit(&mut *exchange.park) {
            CommitStart::Parked => Flow::Parked,
            CommitStart::Done(result) => {
                self.client.end_commit();
                let Some(pending) = self.pending.take() else { return Flow::Next };
                match result {
                    Ok(()) => self.succeed(&pending.done, exchange),
                    Err(error) => self.fail(&error, exchange),
                }
            }
        }
    }

    pub(super) fn after_commit(
        &mut self,
        pending: Pending,
        result: Result<()>,
        answer: &mut dyn Answer,
        park: MakeWaiter<'_>,
    ) -> Flow {
        self.client.end_commit();
        let Pending { done, rest } = pending;
        let mut exchange = Exchange { rest: rest.clone(), ..Exchange::new(answer, park) };
        match result {
            Err(error) => self.fail(&error, &mut exchange),
            Ok(()) => {
                let flow = self.succeed(&done, &mut exchange);
                rest.map_or(flow, |rest| self.statements_from(&rest.text.clone(), Some(rest), answer, park))
            }
        }
    }

    /// Answers with an error.
    pub(super) fn fail(&mut self, error: &Error, exchange: &mut Exchange<'_>) -> Flow {
        self.error(error, exchange.answer);
        exchange.failed = true;
        Flow::Next
    }

    /// Answers as the statement ended.
    pub(super) fn conclude(&mut self, done: Result<Done>, exchange: &mut Exchange<'_>) -> Flow {
        match done {
            Ok(done) => self.succeed(&done, exchange),
            Err(error) => self.fail(&error, exchange),
        }
    }

    pub(super) fn succeed(&mut self, done: &Done, exchange: &mut Exchange<'_>) -> Flow {
        let mut status = Status { more_results: exchange.more(), ..self.status() };
        // A program's result sets tell of none, as in MySQL; its end does.
        let warnings = if exchange.in_program { 0 } else { self.env.diagnostics.count_u16() };
        if !exchange.in_program {
            self.event.add(Counted::Warnings, u64::from(warnings));
            self.event.succeeded();
        }
        match done {
            Done::Rows | Done::Cursor => {
                self.env.diagnostics.set_row_count(-1);
                // Those of a cursor are fetched later.
                let sent = if exchange.keeps_rows { 0 } else { exchange.answer.rows_sent() };
                self.event.add(Counted::RowsSent, sent);
                status.cursor_exists = matches!(done, Done::Cursor);
                self.env.tracker.rows_sent(&self.env.settings.track);
                let changes = if exchange.answer.rows_tell_changes() { self.take_changes() } else { Vec::new() };
                exchange.answer.end_of_rows(&Completed { status, warnings, changes: &changes, ..Completed::default() });
            }
            Done::Ok { affected, last_insert_id, info } => {
                self.env.diagnostics.set_row_count(*affected as i64);
                if !exchange.in_program {
                    self.event.add(Counted::RowsAffected, *affected);
                }
                // A program's client hears at its end.
                let changes = if exchange.in_program { Vec::new() } else { self.take_changes() };
                let (affected, last_insert_id) = (*affected, *last_insert_id);
                exchange.answer.ok(&Completed { affected, last_insert_id, info, status, warnings, changes: &changes });
            }
        }
        self.note_held_bytes(|| exchange.answer.bytes_held());
        Flow::Next
    }
}
