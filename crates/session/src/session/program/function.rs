//! Stored functions: bodies that run inside a statement, in its transaction and under its snapshot, and change data as a part of it.
//!
//! Nothing of the session can be changed while its statement runs, so a function sees it through `FunctionEnv`, which has the function's own
//! settings and account over it. Conditions of the statement are put aside until the function is over.
//!
//! * FUNCTION-1: a function reads what its statement reads: it never takes a snapshot.
//! * FUNCTION-2: an error that lets the whole statement run again goes past the function's handlers.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_exec::catalog::PlanCatalog;
use vaquita_exec::context::{Execution, Functions, KeptTriggers, SessionEnv, TriggeredRow};
use vaquita_exec::store_in_variable;
use vaquita_parser::ast::{Expr, Name, SelectInto};
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::bind::{PlanContext, plan_statement};
use vaquita_plan::env::{Level, StoredCall};
use vaquita_plan::expr::Expr as BoundTree;
use vaquita_plan::node::{Plan, QueryPlan};
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::uses::UseList;
use vaquita_storage::{Interrupt, SessionCatalog};
use vaquita_types::errno::{
    ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_CANT_UPDATE_TABLE_IN_CREATE_TABLE_SELECT,
    ER_CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG, ER_NO_DB_ERROR, ER_NO_SUCH_USER, ER_QUERY_INTERRUPTED, ER_SP_CURSOR_ALREADY_OPEN,
    ER_SP_DOES_NOT_EXIST, ER_SP_NO_RECURSION, ER_SP_NORETURNEND, ER_SP_RECURSION_LIMIT, ER_STACK_OVERRUN_NEED_MORE,
    ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE,
};
use vaquita_types::error::Next;
use vaquita_types::limits::PROGRAM_DEPTH_MAX;
use vaquita_types::schema::{ObjectKind, SqlSecurity, StoredObject, TableRef};
use vaquita_types::{ColumnType, Error, Result, Value, stack};

use super::super::admission::refuse_by_read_only;
use super::super::hinted;
use super::super::lock_tables::admit_inner_plan;
use super::super::planning::{Given, bind_in};
use super::super::server_view::ServerView;
use super::super::statement_logs::log_in_function;
use super::answer::CursorRows;
use super::call::{arguments, take_arguments};
use super::conditions;
use super::frame::{Frame, OpenCursor};
use super::function_env::{FunctionEnv, FunctionSettings};
use super::interpreter::{Host, Interpreter};
use super::reached_tables;
use crate::programs::{self, Routine};
use crate::state::access::SessionAccess;
use crate::state::environment::Environment;
use crate::state::prepared::{CachedPlan, PlanNotes};
use crate::variables::Var;

/// DDL statements that may come between the planning of a query and its start before it fails.
const REPLANS_MAX: usize = 100;

/// The functions that are running inside one another, the innermost first.
pub struct Caller<'a> {
    pub routine: &'a Routine,
    pub outer: Option<&'a Caller<'a>>,
    pub depth: usize,
}

/// Tables that a statement uses, and what is around it: what runs inside may not change them (error 1442).
pub struct InUse<'a> {
    pub tables: Tables<'a>,
    pub outer: Option<&'a InUse<'a>>,
}

#[derive(Clone, Copy)]
pub enum Tables<'a> {
    Of(&'a Plan),
    /// Of an expression.
    Used(&'a UseList),
    /// Those of the query of which the named table is made: no table at all may be changed.
    Beside(&'a str),
}

impl InUse<'_> {
    pub(super) fn has(&self, table: &TableRef) -> bool {
        let here = match self.tables {
            Tables::Of(plan) => plan.tables().iter().any(|used| used.id == table.id),
            Tables::Used(uses) => uses.tables.iter().filter_map(|used| used.table.as_ref()).any(|used| used.id == table.id),
            Tables::Beside(_) => false,
        };
        here || self.outer.is_some_and(|outer| outer.has(table))
    }

    /// The table that the statement makes of a query.
    fn creates(&self) -> Option<&str> {
        match (self.tables, self.outer) {
            (Tables::Beside(name), _) => Some(name),
            (_, outer) => outer.and_then(|outer| outer.creates()),
        }
    }
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
        if Caller::count(self.caller, &routine) > 0 {
            return Err(Error::new(&ER_SP_NO_RECURSION, &[]));
        }
        let as_invoker = routine.object.security == SqlSecurity::Invoker;
        let invoker = call.invoker.filter(|_| as_invoker).map(|invoker| self.invoker(invoker)).transpose()?;
        let caller = ServerView { access: invoker.as_ref().unwrap_or(self.access), ..*self };
        let (returned, _) = run(&caller, &routine, statement, |host, frame| {
            for (n, (value, from)) in call.args.iter().enumerate() {
                let name = &routine.ast.program.variables[n].name;
                let value = store_in_variable(value.clone(), from, name, &routine.types[n], statement.session)?;
                frame.set(n, value)?;
            }
            let env = self.env;
            let (kept, ids) = (env.diagnostics.begin_call(), env.ids.begin_call());
            let returned = host.run_steps(frame).and_then(|returned| {
                let (value, from) = returned.ok_or_else(|| Error::new(&ER_SP_NORETURNEND, &[&routine.object.name]))?;
                store_in_variable(value, &from, &routine.object.name, &routine.returns, &host.outside)
            });
            env.diagnostics.end_call(kept, returned.is_ok(), env.settings.warnings_max);
            env.ids.end_call(ids);
            // It may have taken away what the statement has found.
            statement.forget_found_keys();
            returned
        })?;
        returned
    }

    fn fire(&self, row: &mut TriggeredRow<'_>, kept: &mut KeptTriggers, statement: &Execution<'_>) -> Result<()> {
        super::triggers::fire(self, row, kept, statement)
    }
}

impl Caller<'_> {
    /// What a procedure inside is held to: a function or a trigger.
    fn host(mut running: Option<&Caller<'_>>) -> &'static str {
        while let Some(caller) = running {
            match caller.routine.object.kind {
                ObjectKind::Trigger => return "trigger",
                ObjectKind::Function => return "function",
                _ => running = caller.outer,
            }
        }
        "function"
    }

    /// How often the routine runs already.
    fn count(mut running: Option<&Caller<'_>>, routine: &Routine) -> u64 {
        let mut count = 0;
        while let Some(caller) = running {
            count += u64::from(caller.routine.is(routine));
            running = caller.outer;
        }
        count
    }
}

impl ServerView<'_> {
    /// The definer of a view, for which it calls functions.
    fn invoker(&self, (user, host): (&str, &str)) -> Result<SessionAccess> {
        let account = self.server.accounts().get(user, host);
        Ok(self.access.of_account(account.ok_or_else(|| Error::new(&ER_NO_SUCH_USER, &[&user, &host]))?))
    }
}

/// Runs a routine inside of `statement`, as its definer and under its settings; the settings are given back as they are in the end.
fn run<T>(
    view: &ServerView<'_>,
    routine: &Arc<Routine>,
    statement: &Execution<'_>,
    f: impl FnOnce(&mut FunctionHost<'_>, &mut Frame) -> Result<T>,
) -> Result<(Result<T>, FunctionSettings)> {
    let depth = view.caller.map_or(0, |caller| caller.depth) + 1;
    if depth > PROGRAM_DEPTH_MAX {
        return Err(Error::new(&ER_STACK_OVERRUN_NEED_MORE, &[&depth, &PROGRAM_DEPTH_MAX, &1]));
    }
    let caller = Caller { routine, outer: view.caller, depth };
    let worn = definer_of(view, &routine.object)?;
    let access = worn.as_ref().unwrap_or(view.access);
    let outside = FunctionEnv {
        session: view.env,
        settings: FunctionSettings::of(&routine.object, view),
        account: format!("{}@{}", access.account().user, access.account().host),
        roles: access.active_roles(),
        selected: RefCell::default(),
    };
    let mut frame = Frame::new(routine.clone(), &outside.settings.plan)?;
    let own = RefCell::default();
    // A procedure has those of the function that calls it.
    let savepoints = view.savepoints.filter(|_| routine.object.kind == ObjectKind::Procedure).unwrap_or(&own);
    let inner = ServerView { access, caller: Some(&caller), savepoints: Some(savepoints), ..*view };
    let mut host = FunctionHost { view: inner, statement, outside };
    let ran = stack::deeper(|| f(&mut host, &mut frame));
    let settings = host.outside.settings;
    own.into_inner().end(&mut statement.txn.borrow_mut());
    Ok((ran, settings))
}

/// The account that a function runs as, if it is another.
pub fn definer_of(view: &ServerView<'_>, object: &StoredObject) -> Result<Option<SessionAccess>> {
    let account = view.access.account();
    let own = account.user == object.definer.user && account.host == object.definer.host;
    if own || object.security == SqlSecurity::Invoker {
        return Ok(None);
    }
    let definer = view.server.accounts().get(&object.definer.user, &object.definer.host);
    let definer = definer.ok_or_else(|| Error::new(&ER_NO_SUCH_USER, &[&object.definer.user, &object.definer.host]))?;
    let definer = view.access.of_account(definer);
    definer.may_execute(object)?;
    Ok(Some(definer))
}

/// A function that runs inside `statement`.
pub struct FunctionHost<'a> {
    pub view: ServerView<'a>,
    pub statement: &'a Execution<'a>,
    pub outside: FunctionEnv<'a>,
}

impl FunctionHost<'_> {
    /// Runs a statement whose hints have been set.
    fn run_as_set(&mut self, frame: &mut Frame, at: usize, ast: &Ast) -> Result<()> {
        match ast {
            Ast::Do(exprs) => exprs.iter().try_for_each(|expr| self.evaluate_with(expr, Some(frame)).map(drop)),
            Ast::Query(query) if matches!(query.into, Some(SelectInto::Outfile { .. } | SelectInto::Dumpfile(_))) => {
                Err(Error::unsupported("SELECT INTO a file in a stored function"))
            }
            Ast::Query(_) => {
                let ran = self.run_query(frame, (at, ast), vaquita_exec::query::run_into);
                let selected = self.outside.selected.take();
                for (variable, value, ty) in selected {
                    self.store(frame, variable, value, &ty)?;
                }
                ran.map(drop)
            }
            Ast::Insert(_) | Ast::Update(_) | Ast::Delete(_) => self.run_change(frame, (at, ast)),
            other => self.run_other(frame, other),
        }
    }

    /// The server for what runs inside of it.
    pub(super) fn inner_view<'b>(&'b self, in_use: &'b InUse<'b>) -> ServerView<'b> {
        ServerView { in_use: Some(in_use), over: Some(&self.outside.settings), ..self.view }
    }

    /// What runs inside of it.
    pub(super) fn inner<'b>(&'b self, view: &'b ServerView<'b>, params: &'b [Value]) -> Execution<'b> {
        let outer = self.statement;
        let mut inner = Execution::new(outer.store, outer.catalog, outer.txn, params, &self.outside, outer.interrupt);
        inner.server = view;
        inner.functions = view;
        inner.lock_wait_ms_max = outer.lock_wait_ms_max;
        inner.table_lock_wait = outer.table_lock_wait;
        inner.row_log = outer.row_log.as_ref().map(|log| log.within());
        inner
    }

    /// Runs a statement by a plan that is current. One that fails undoes what it has changed.
    fn run_planned<T>(
        &mut self,
        frame: &mut Frame,
        (id, ast): (usize, &Ast),
        mut f: impl FnMut(&Plan, &Execution<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut plan = self.plan_in(frame, id, ast)?;
        let mut replans = 0;
        loop {
            self.admit(&plan.plan)?;
            let ran = self.run_part(frame, Tables::Of(&plan.plan), &plan.plan, |tree, statement| {
                let ran = f(tree, statement);
                plan.guessed.note_examined(statement.examined());
                ran
            });
            let Err(error) = ran else { return ran };
            if error.next() != Next::Replan || replans >= REPLANS_MAX {
                return Err(error);
            }
            replans += 1;
            plan = Arc::new(self.fresh_plan(ast, Given::of_types(&frame.types, &frame.values))?);
        }
    }

    /// Runs a plan that may run. One that fails undoes what it has changed.
    pub(super) fn run_part<T>(
        &self,
        frame: &Frame,
        tables: Tables<'_>,
        plan: &Plan,
        mut f: impl FnMut(&Plan, &Execution<'_>) -> Result<T>,
    ) -> Result<T> {
        let changes = vaquita_exec::query::changes(plan);
        let part = changes.then(|| self.statement.txn.borrow_mut().begin_part());
        let ran = {
            let in_use = InUse { tables, outer: self.view.in_use };
            let view = self.inner_view(&in_use);
            let inner = self.inner(&view, &frame.values);
            let ran = f(plan, &inner);
            self.statement.calls.include(&inner.calls);
            ran
        };
        let mut txn = self.statement.txn.borrow_mut();
        match (&ran, part) {
            (Ok(_), Some(part)) => txn.end_part(part),
            (Err(_), Some(part)) => txn.rollback_part(part),
            (_, None) => {}
        }
        ran
    }

    /// Error 1142 and its kin if its account may not run the statement, as far as the syntax tells.
    pub(super) fn authorize(&self, ast: &Ast) -> Result<()> {
        let here = self.outside.settings.plan.current_database.as_deref();
        self.view.access.subject(here, Some(self.statement.catalog)).check(ast)
    }

    pub(super) fn database_of<'n>(&'n self, name: &'n Name) -> Result<&'n str> {
        let here = self.outside.settings.plan.current_database.as_deref();
        name.db.as_deref().or(here).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))
    }

    /// What a client's statement is asked, and that it changes no table that is in use around it.
    fn admit(&self, plan: &Plan) -> Result<()> {
        let view = &self.view;
        let targets = targets(plan);
        if targets.iter().any(|table| !table.options.temporary) {
            refuse_by_read_only(view.server, view.access)?;
            if self.statement.txn.borrow().options().read_only {
                return Err(Error::new(&ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, &[]));
            }
        }
        if let (Some(in_use), false) = (view.in_use, matches!(plan, Plan::Query(_))) {
            self.refuse_reopened(&targets)?;
            self.refuse_in_use(in_use, plan, &targets)?;
        }
        admit_inner_plan(view.locked, plan, &self.statement.txn.borrow(), view.env.settings.metadata_lock_wait)
    }

    /// Error 1746 inside CREATE TABLE … SELECT, 1442 for a table in use around it, also for one that only a cascade would change.
    fn refuse_in_use(&self, in_use: &InUse<'_>, plan: &Plan, targets: &[TableRef]) -> Result<()> {
        if let (Some(created), Some(target)) = (in_use.creates(), targets.first()) {
            return Err(Error::new(&ER_CANT_UPDATE_TABLE_IN_CREATE_TABLE_SELECT, &[&target.name, &created]));
        }
        for table in reached_tables::of_plan(plan, self.statement.catalog, self.view.env.settings.run.cascade_triggers)? {
            if in_use.has(&table) || self.is_in_cascade(in_use, &table)? {
                return Err(Error::new(&ER_CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG, &[&table.name]));
            }
        }
        Ok(())
    }

    /// With `enable_cascade_triggers`: a statement around this one may come to the table by foreign keys.
    fn is_in_cascade(&self, in_use: &InUse<'_>, table: &TableRef) -> Result<bool> {
        if !self.view.env.settings.run.cascade_triggers {
            return Ok(false);
        }
        let reached = match in_use.tables {
            Tables::Of(plan) => reached_tables::of_plan(plan, self.statement.catalog, true)?,
            _ => Vec::new(),
        };
        Ok(reached.iter().any(|known| known.id == table.id)
            || in_use.outer.map_or(Ok(false), |outer| self.is_in_cascade(outer, table))?)
    }

    fn run_query<T>(
        &mut self,
        frame: &mut Frame,
        statement: (usize, &Ast),
        mut f: impl FnMut(&QueryPlan, &Execution<'_>) -> Result<T>,
    ) -> Result<T> {
        self.run_planned(frame, statement, |plan, execution| match plan {
            Plan::Query(query) => f(query, execution),
            _ => Err(Error::internal("a query that changes rows")),
        })
    }

    /// CALL in the body: the procedure is held to what a function may do.
    fn call_procedure(&mut self, frame: &mut Frame, at: usize, ast: &Ast) -> Result<()> {
        let Ast::Call { name, args } = ast else { return Err(Error::internal("a call of nothing")) };
        self.authorize(ast)?;
        let database = self.database_of(name)?;
        let object = self.statement.catalog.object(database, ObjectKind::Procedure, &name.name)?;
        let missing = || Error::new(&ER_SP_DOES_NOT_EXIST, &[&"PROCEDURE", &format!("{database}.{}", name.name)]);
        let routine = programs::routine(&self.view.server.programs, &object.ok_or_else(missing)?)?;
        let first = frame.routine.expressions[at];
        let arguments = arguments(self, &routine, args, Some((frame, first)))?;
        let depth_max = match self.outside.settings.all(self.view.env).of(Var::MaxSpRecursionDepth) {
            Value::Int(n) => n as u64,
            Value::UInt(n) => n,
            _ => 0,
        };
        if Caller::count(self.view.caller, &routine) > depth_max {
            return Err(Error::new(&ER_SP_RECURSION_LIMIT, &[&depth_max, &routine.object.name]));
        }
        let view = ServerView { over: Some(&self.outside.settings), ..self.view };
        let (given, settings) = run(&view, &routine, self.statement, |host, frame| {
            let outs = take_arguments(host, frame, arguments)?;
            host.run_steps(frame)?;
            let given = outs.into_iter().map(|(n, target)| (target, frame.values[n].clone(), frame.types[n].clone()));
            Ok(given.collect::<Vec<_>>())
        })?;
        self.outside.settings.take_from(&settings, self.view.env);
        given?.into_iter().try_for_each(|(target, value, ty)| self.put(frame, &target, value, &ty))
    }

    fn run_change(&mut self, frame: &mut Frame, statement: (usize, &Ast)) -> Result<()> {
        let changed = self.run_planned(frame, statement, vaquita_exec::dml::run);
        let env = self.view.env;
        env.diagnostics.set_row_count(changed.as_ref().map_or(-1, |changed| changed.affected as i64));
        let changed = changed?;
        if changed.generated_id != 0 {
            env.ids.set_last(changed.generated_id);
        }
        Ok(())
    }
}

/// What it changes or locks.
fn targets(plan: &Plan) -> Vec<TableRef> {
    match plan {
        Plan::Query(query) => query.for_update.clone(),
        Plan::Insert(insert) => vec![insert.table.clone()],
        Plan::Update(update) => update.targets.iter().map(|target| target.table.clone()).collect(),
        Plan::Delete(delete) => delete.targets.iter().map(|target| target.table.clone()).collect(),
    }
}

impl Host for FunctionHost<'_> {
    fn env(&self) -> &Environment {
        self.view.env
    }

    fn outside(&self) -> &dyn SessionEnv {
        &self.outside
    }

    fn settings(&self) -> &Arc<PlanSettings> {
        &self.outside.settings.plan
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
    fn begin_step(&mut self) -> u64 {
        self.outside.settings.catch_up(self.view.env);
        self.view.env.diagnostics.begin_step()
    }

    fn closes(&self) -> bool {
        false
    }

    fn bound<R>(
        &self,
        values: &[Value],
        notes: &PlanNotes,
        bind: impl FnOnce(&PlanContext<'_>) -> Result<R>,
    ) -> (Result<R>, UseList) {
        let catalog = PlanCatalog::within(self.statement.catalog, self.statement.txn);
        let catalog = catalog.for_run(&self.outside, values, &notes.run);
        bind_in(&catalog, (&self.outside.settings.plan, true), self.view.env, self.statement.interrupt, notes, bind)
    }

    fn fresh_plan(&self, ast: &Ast, given: Given<'_>) -> Result<CachedPlan> {
        let notes = PlanNotes::default();
        let catalog_version = self.catalog().version();
        let tell = |warning| self.view.env.push_warning(Level::Warning, warning);
        let (plan, uses) = self.bound(given.values, &notes, |context| {
            let Given { types: param_types, patterns, .. } = given;
            plan_statement(ast, &PlanContext { param_types, patterns, hint_warning: Some(&tell), ..*context })
        });
        self.allows(&uses)?;
        let plan = plan?;
        if self.outside.settings.plan.safe_updates && plan.changes_without_key() {
            return Err(Error::new(&ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE, &[&""]));
        }
        let (guessed, untrue, variables) = notes.into_parts();
        Ok(CachedPlan {
            plan,
            // It is part of the statement that called.
            shape: None,
            types: given.types.into(),
            reads: Box::default(),
            of_its_values: false,
            binaries: Box::default(),
            beside_texts: Box::default(),
            in_patterns: Box::default(),
            patterns: given.patterns.into(),
            guessed,
            untrue,
            catalog_version,
            settings: self.outside.settings.plan.clone(),
            variables,
            has_definers: uses.has_definers(),
            uses,
            allowed_under: AtomicU64::new(self.access().rights().serial),
        })
    }

    fn evaluate_in_statement(&mut self, expr: &BoundTree, uses: &UseList, values: &[Value]) -> Result<(Value, u64)> {
        let in_use = InUse { tables: Tables::Used(uses), outer: self.view.in_use };
        let view = self.inner_view(&in_use);
        let statement = self.inner(&view, values);
        let value = expr.eval(&statement.cx(&[], None)).map(|value| value.into_owned());
        self.statement.calls.include(&statement.calls);
        Ok((value?, statement.examined()))
    }

    fn evaluate_outside(&mut self, _: &Expr) -> Result<(Value, ColumnType)> {
        Err(Error::internal("an expression outside of the function"))
    }

    fn run_statement(&mut self, frame: &mut Frame, at: usize, ast: &Ast) -> Result<()> {
        self.view.client.counters.statement(StatementKind::of(ast));
        // A procedure may have what no function can be created with.
        vaquita_parser::refuse_in_function(ast, Caller::host(self.view.caller))?;
        let text = frame.routine.ast.program.steps.get(at).and_then(|step| step.text.as_deref());
        log_in_function(self.view.server, self.view.client, self.view.env, text);
        match ast {
            Ast::Call { .. } => return self.as_hinted(hinted::variables(ast), |host| host.call_procedure(frame, at, ast)),
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
        self.view.env.ids.begin_statement();
        self.as_hinted(hinted::variables(ast), |host| host.run_as_set(frame, at, ast))
    }

    fn as_hinted<T>(&mut self, variables: Vec<(String, Expr)>, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if variables.is_empty() {
            return run(self);
        }
        let set = hinted::checked(variables, &self.set_rules())?;
        let before = self.outside.settings.set_hinted(set, self.view.env);
        let ran = run(self);
        self.outside.settings.restore_hinted(before, self.view.env);
        ran
    }

    fn open_cursor(&mut self, frame: &mut Frame, cursor: usize) -> Result<()> {
        if frame.cursors[cursor].is_some() {
            return Err(Error::new(&ER_SP_CURSOR_ALREADY_OPEN, &[]));
        }
        let routine = frame.routine.clone();
        let id = routine.ast.program.steps.len() + cursor;
        let ast = &routine.ast.program.cursors[cursor];
        let rows = self.as_hinted(hinted::variables(ast), |host| {
            host.run_query(frame, (id, ast), |query, statement| {
                let mut rows = CursorRows::new();
                vaquita_exec::query::run(query, statement, None, &mut rows)?;
                Ok(rows)
            })
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
