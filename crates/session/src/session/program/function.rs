//! Stored functions: bodies that run inside a statement, in its transaction and under its snapshot.
//!
//! Nothing of the session can be changed while its statement runs, so a function sees it through `FunctionEnv`, which has the function's own
//! settings and account over it. Conditions of the statement are put aside until the function is over.
//!
//! * FUNCTION-1: a function reads what its statement reads: it never takes a snapshot.
//! * FUNCTION-2: an error that lets the whole statement run again goes past the function's handlers.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use vaquita_exec::context::{Execution, Functions, SessionEnv};
use vaquita_exec::store_in_variable;
use vaquita_parser::ast::Expr;
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::bind::{PlanContext, plan_statement};
use vaquita_plan::env::{AskSession, Level, StoredCall, VarScope};
use vaquita_plan::expr::Expr as BoundTree;
use vaquita_plan::node::{Plan, QueryPlan};
use vaquita_plan::settings::{PlanSettings, RunSettings};
use vaquita_plan::uses::UseList;
use vaquita_storage::{Interrupt, SessionCatalog};
use vaquita_types::charset::CollationId;
use vaquita_types::errno::{
    ER_NO_SUCH_USER, ER_QUERY_INTERRUPTED, ER_SP_CURSOR_ALREADY_OPEN, ER_SP_DOES_NOT_EXIST, ER_SP_NO_RECURSION,
    ER_SP_NORETURNEND, ER_STACK_OVERRUN_NEED_MORE,
};
use vaquita_types::error::Next;
use vaquita_types::limits::PROGRAM_DEPTH_MAX;
use vaquita_types::schema::{ObjectKind, SqlSecurity, StoredObject};
use vaquita_types::temporal::TimeZone;
use vaquita_types::{ColumnType, Error, Result, Value, stack};

use super::super::lock_tables::admit_plan;
use super::super::planning::{bind_in, refuse_hints};
use super::super::server_view::ServerView;
use super::answer::CursorRows;
use super::conditions;
use super::frame::{Frame, OpenCursor};
use super::interpreter::{Host, Interpreter};
use crate::programs::{self, Routine};
use crate::state::access::SessionAccess;
use crate::state::environment::Environment;
use crate::state::prepared::{CachedPlan, VariableTypes};
use crate::variables::{Var, registry, sql_mode_value};

/// DDL statements that may come between the planning of a query and its start before it fails.
const REPLANS_MAX: usize = 100;

/// The functions that are running inside one another, the innermost first.
pub struct Caller<'a> {
    routine: &'a Routine,
    outer: Option<&'a Caller<'a>>,
    depth: usize,
}

impl Functions for ServerView<'_> {
    fn call(&self, call: &StoredCall<'_>, statement: &Execution<'_>) -> Result<Value> {
        let object = statement
            .catalog
            .object(call.database, ObjectKind::Function, call.name)?
            .ok_or_else(|| Error::new(&ER_SP_DOES_NOT_EXIST, &[&"FUNCTION", &format!("{}.{}", call.database, call.name)]))?;
        let routine = programs::routine(&self.server.programs, &object)?;
        // Another one has taken its name since the plan was made.
        if routine.returns != *call.ty || routine.ast.parameters != call.args.len() {
            return Err(Error::stale_plan());
        }
        let depth = self.caller.map_or(0, |caller| caller.depth) + 1;
        let mut running = self.caller;
        while let Some(caller) = running {
            if caller.routine.is(&routine) {
                return Err(Error::new(&ER_SP_NO_RECURSION, &[]));
            }
            running = caller.outer;
        }
        if depth > PROGRAM_DEPTH_MAX {
            return Err(Error::new(&ER_STACK_OVERRUN_NEED_MORE, &[&depth, &PROGRAM_DEPTH_MAX, &1]));
        }
        let caller = Caller { routine: &routine, outer: self.caller, depth };
        stack::deeper(|| run(self, &caller, &routine, call, statement))
    }
}

fn run(
    view: &ServerView<'_>,
    caller: &Caller<'_>,
    routine: &Arc<Routine>,
    call: &StoredCall<'_>,
    statement: &Execution<'_>,
) -> Result<Value> {
    let worn = definer_of(view, &routine.object)?;
    let access = worn.as_ref().unwrap_or(view.access);
    let outside = FunctionEnv {
        session: view.env,
        plan: settings_of(&routine.object, view.settings()),
        account: format!("{}@{}", access.account().user, access.account().host),
        selected: RefCell::default(),
    };
    let mut frame = Frame::new(routine.clone(), &outside.plan)?;
    for (n, (value, from)) in call.args.iter().enumerate() {
        let name = &routine.ast.program.variables[n].name;
        let value = store_in_variable(value.clone(), from, name, &routine.types[n], statement.session)?;
        frame.set(n, value)?;
    }
    let inner = ServerView { access, caller: Some(caller), plan: Some(&outside.plan), ..*view };
    let mut host = FunctionHost { view: inner, statement, outside: &outside };
    let kept = view.env.diagnostics.begin_call();
    let returned = host.run_steps(&mut frame).and_then(|returned| {
        let (value, from) = returned.ok_or_else(|| Error::new(&ER_SP_NORETURNEND, &[&routine.object.name]))?;
        store_in_variable(value, &from, &routine.object.name, &routine.returns, &outside)
    });
    view.env.diagnostics.end_call(kept, returned.is_ok(), view.env.settings.warnings_max);
    returned
}

/// The account that a function runs as, if it is another.
fn definer_of(view: &ServerView<'_>, object: &StoredObject) -> Result<Option<SessionAccess>> {
    let account = view.access.account();
    let own = account.user == object.definer.user && account.host == object.definer.host;
    if own || object.security == SqlSecurity::Invoker {
        return Ok(None);
    }
    let definer = view.server.accounts().get(&object.definer.user, &object.definer.host);
    let definer = definer.ok_or_else(|| Error::new(&ER_NO_SUCH_USER, &[&object.definer.user, &object.definer.host]))?;
    Ok(Some(view.access.of_account(definer)))
}

/// Those that the function was created under, over what is `now`.
fn settings_of(object: &StoredObject, now: &Arc<PlanSettings>) -> Arc<PlanSettings> {
    let same = now.sql_mode == object.sql_mode
        && now.connection_collation == object.connection_collation
        && now.current_database.as_deref() == Some(&object.database);
    if same {
        return now.clone();
    }
    let mut settings = PlanSettings::clone(now);
    settings.sql_mode = object.sql_mode;
    settings.connection_collation = object.connection_collation;
    settings.current_database = Some(object.database.clone());
    Arc::new(settings)
}

/// A function that runs inside `statement`.
struct FunctionHost<'a> {
    view: ServerView<'a>,
    statement: &'a Execution<'a>,
    outside: &'a FunctionEnv<'a>,
}

impl FunctionHost<'_> {
    /// What runs inside of it.
    fn inner<'b>(&'b self, params: &'b [Value]) -> Execution<'b> {
        let outer = self.statement;
        let mut inner = Execution::new(outer.store, outer.catalog, outer.txn, params, self.outside, outer.interrupt);
        inner.server = &self.view;
        inner.functions = &self.view;
        inner.lock_wait_ms_max = outer.lock_wait_ms_max;
        inner.table_lock_wait = outer.table_lock_wait;
        inner
    }

    /// Runs a query by a plan that is current.
    fn run_query<T>(
        &mut self,
        frame: &mut Frame,
        (id, ast): (usize, &Ast),
        mut f: impl FnMut(&QueryPlan, &Execution<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut plan = self.plan_in(frame, id, ast)?;
        let mut replans = 0;
        loop {
            let Plan::Query(query) = &plan.plan else { return Err(Error::unsupported("changes by a stored function")) };
            if query.locking {
                return Err(Error::unsupported("locking reads of a stored function"));
            }
            admit_plan(self.view.locked, &plan.plan, self.view.env.settings.metadata_lock_wait)?;
            match f(query, &self.inner(&frame.values)) {
                Err(error) if error.next() == Next::Replan && replans < REPLANS_MAX => {
                    replans += 1;
                    plan = Arc::new(self.fresh_plan(ast, &frame.types)?);
                }
                ran => return ran,
            }
        }
    }
}

impl Host for FunctionHost<'_> {
    fn env(&self) -> &Environment {
        self.view.env
    }

    fn outside(&self) -> &dyn SessionEnv {
        self.outside
    }

    fn settings(&self) -> &Arc<PlanSettings> {
        &self.outside.plan
    }

    fn catalog(&self) -> &SessionCatalog {
        self.statement.catalog
    }

    fn access(&self) -> &SessionAccess {
        self.view.access
    }

    /// The statement was allowed under the accounts that it found.
    fn refresh(&mut self) {}

    fn may_run(&mut self, plan: &CachedPlan) -> Result<()> {
        let serial = self.access().rights().serial;
        if plan.allowed_under.load(Ordering::Relaxed) != serial {
            self.allows(&plan.uses)?;
            plan.allowed_under.store(serial, Ordering::Relaxed);
        }
        Ok(())
    }

    fn interrupt(&self) -> &Interrupt {
        self.statement.interrupt
    }

    /// NOW() stays that of the statement.
    fn begin_step(&self) -> u64 {
        self.view.env.diagnostics.begin_step()
    }

    fn closes(&self) -> bool {
        false
    }

    fn bound<R>(&self, variables: &VariableTypes, bind: impl FnOnce(&PlanContext<'_>) -> Result<R>) -> (Result<R>, UseList) {
        let catalog = vaquita_exec::catalog::PlanCatalog::within(self.statement.catalog, self.statement.txn);
        bind_in(&catalog, (&self.outside.plan, true), self.view.env, self.statement.interrupt, variables, bind)
    }

    fn fresh_plan(&self, ast: &Ast, types: &[ColumnType]) -> Result<CachedPlan> {
        refuse_hints(ast)?;
        let variables = VariableTypes::default();
        let catalog_version = self.catalog().version();
        let (plan, uses) = self.bound(&variables, |context| plan_statement(ast, &PlanContext { param_types: types, ..*context }));
        self.allows(&uses)?;
        Ok(CachedPlan {
            plan: plan?,
            types: types.into(),
            reads: Box::default(),
            beside_texts: Box::default(),
            catalog_version,
            settings: self.outside.plan.clone(),
            variables: variables.into_list(),
            has_definers: uses.has_definers(),
            uses,
            allowed_under: AtomicU64::new(self.access().rights().serial),
        })
    }

    fn evaluate_in_statement(&mut self, expr: &BoundTree, values: &[Value]) -> Result<Value> {
        let statement = self.inner(values);
        expr.eval(&statement.cx(&[], None)).map(|value| value.into_owned())
    }

    fn evaluate_outside(&mut self, _: &Expr) -> Result<(Value, ColumnType)> {
        Err(Error::internal("an expression outside of the function"))
    }

    fn run_statement(&mut self, frame: &mut Frame, at: usize, ast: &Ast) -> Result<()> {
        self.view.client.counters.statement(StatementKind::of(ast));
        match ast {
            Ast::Signal(signal) => return conditions::signal(self, signal, Some(frame)),
            Ast::GetDiagnostics(get) => {
                for (target, value, ty) in conditions::diagnostics(self, get, Some(frame))? {
                    self.put(frame, &target, value, &ty)?;
                }
                return Ok(());
            }
            _ => {}
        }
        self.view.env.diagnostics.clear();
        match ast {
            Ast::Do(exprs) => exprs.iter().try_for_each(|expr| self.evaluate_with(expr, Some(frame)).map(drop)),
            Ast::Query(_) => {
                let ran = self.run_query(frame, (at, ast), vaquita_exec::query::run_into);
                let selected = self.outside.selected.take();
                for (variable, value, ty) in selected {
                    self.store(frame, variable, value, &ty)?;
                }
                ran.map(drop)
            }
            other => Err(Error::unsupported(format_args!("{} in a stored function", StatementKind::of(other).facts().name))),
        }
    }

    fn open_cursor(&mut self, frame: &mut Frame, cursor: usize) -> Result<()> {
        if frame.cursors[cursor].is_some() {
            return Err(Error::new(&ER_SP_CURSOR_ALREADY_OPEN, &[]));
        }
        let routine = frame.routine.clone();
        let id = routine.ast.program.steps.len() + cursor;
        let rows = self.run_query(frame, (id, &routine.ast.program.cursors[cursor]), |query, statement| {
            let mut rows = CursorRows::new();
            vaquita_exec::query::run(query, statement, None, &mut rows)?;
            Ok(rows)
        })?;
        let (columns, rows, memory) = rows.into_rows();
        frame.cursors[cursor] = Some(OpenCursor { columns, rows: rows.into_iter(), _memory: memory });
        Ok(())
    }

    /// FUNCTION-2.
    fn is_final(&self, error: &Error) -> bool {
        error.is(&ER_QUERY_INTERRUPTED)
            || matches!(error.next(), Next::Internal | Next::Corrupt | Next::Io | Next::Restart | Next::Replan | Next::Retry)
    }
}

/// The session with a function's settings and account over it.
struct FunctionEnv<'a> {
    session: &'a Environment,
    plan: Arc<PlanSettings>,
    account: String,
    /// What SELECT … INTO has for variables of the function.
    selected: RefCell<Vec<(usize, Value, ColumnType)>>,
}

impl SessionEnv for FunctionEnv<'_> {
    fn statement_time_us(&self) -> i64 {
        self.session.statement_time_us()
    }

    fn clock_us(&self) -> i64 {
        self.session.clock_us()
    }

    fn time_zone(&self) -> &TimeZone {
        &self.plan.time_zone
    }

    fn sql_mode(&self) -> u64 {
        self.plan.sql_mode
    }

    fn run_settings(&self) -> &RunSettings {
        self.session.run_settings()
    }

    fn connection_collation(&self) -> CollationId {
        self.plan.connection_collation
    }

    fn warn(&self, level: Level, error: Error) {
        self.session.warn(level, error);
    }

    fn user_var(&self, name: &str) -> Value {
        self.session.user_var(name)
    }

    fn set_user_var(&self, name: &str, value: Value) -> Result<()> {
        self.session.set_user_var(name, value)
    }

    fn set_program_variable(&self, variable: usize, value: Value, ty: &ColumnType) {
        self.selected.borrow_mut().push((variable, value, ty.clone()));
    }

    fn sys_var(&self, scope: VarScope, name: &str) -> Result<Value> {
        let is_mode = registry().find(name).is_some_and(|def| def.var == Some(Var::SqlMode));
        match scope {
            VarScope::Any | VarScope::Session if is_mode => Ok(sql_mode_value(self.plan.sql_mode)),
            _ => self.session.sys_var(scope, name),
        }
    }

    fn random(&self) -> f64 {
        self.session.random()
    }

    fn random_bytes(&self, out: &mut [u8]) {
        self.session.random_bytes(out);
    }

    fn ask(&self) -> Result<&dyn AskSession> {
        Ok(self)
    }

    fn check_interrupt(&self) -> Result<()> {
        self.session.check_interrupt()
    }

    fn warning_count(&self) -> u64 {
        self.session.warning_count()
    }

    fn auto_increment(&self) -> (u64, u64) {
        self.session.auto_increment()
    }
}

impl AskSession for FunctionEnv<'_> {
    fn database(&self) -> Option<String> {
        self.plan.current_database.clone()
    }

    fn user(&self) -> &str {
        AskSession::user(self.session)
    }

    fn account(&self) -> &str {
        &self.account
    }

    fn server_version(&self) -> &str {
        self.session.server_version()
    }

    fn connection_id(&self) -> u64 {
        self.session.connection_id()
    }

    fn thread_id(&self, connection_id: u64) -> Option<u64> {
        self.session.thread_id(connection_id)
    }

    fn row_count(&self) -> i64 {
        self.session.row_count()
    }

    fn found_rows(&self) -> u64 {
        self.session.found_rows()
    }

    fn last_insert_id(&self) -> u64 {
        self.session.last_insert_id()
    }

    fn give_last_insert_id(&self, id: u64) {
        self.session.give_last_insert_id(id);
    }

    fn unique_number(&self) -> u64 {
        self.session.unique_number()
    }

    fn sleep(&self, duration: Duration) -> Result<bool> {
        self.session.sleep(duration)
    }

    fn lock(&self, name: &str, timeout: Option<Duration>) -> Result<bool> {
        self.session.lock(name, timeout)
    }

    fn unlock(&self, name: &str) -> Option<bool> {
        self.session.unlock(name)
    }

    fn unlock_all(&self) -> u64 {
        self.session.unlock_all()
    }

    fn lock_owner(&self, name: &str) -> Option<u64> {
        self.session.lock_owner(name)
    }
}
