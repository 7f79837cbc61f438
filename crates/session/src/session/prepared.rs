//! Prepared statements with numbers, those of the binary protocol: prepare and execute. Their cursors are `cursor`'s; what
//! their parameters look like to a client is its front's.
//!
//! A statement keeps its syntax tree and its plan; the plan is made again when the catalog's version, a setting that planning
//! depends on (`PlanSettings`) or the type of a variable in it has changed.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use vaquita_parser::statement_kind::Prepares;
use vaquita_parser::{Statement as Ast, StatementKind, parse_prepared_noting};
use vaquita_plan::node::{OutputColumn, Plan};
use vaquita_plan::params::{free_parameters, parameter_types, type_at_place, type_of_parameter};
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::uses::UseList;
use vaquita_types::charset::{CollationId, charset};
use vaquita_types::errno::{ER_SP_BAD_CURSOR_SELECT, ER_UNKNOWN_STMT_HANDLER, ER_UNSUPPORTED_PS};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::answer::{Answer, Exchange};
use super::cursor::Cursor;
use super::run::Planned;
use super::state::SessionState;
use super::{Flow, MakeWaiter, Session};
use crate::counters::Counter;
use crate::statements::StatementMemory;

pub struct Prepared {
    pub text: Arc<str>,
    /// The current database when it was prepared.
    pub database: Option<String>,
    pub ast: Arc<Ast>,
    pub kind: StatementKind,
    /// That of what it explains, for EXPLAIN.
    counted: StatementKind,
    /// How many `?` it has.
    pub parameters: usize,
    pub plan: Option<Arc<CachedPlan>>,
    /// What `Session::fetch` takes its rows from.
    pub cursor: Option<Box<Cursor>>,
    /// Given back when the statement goes.
    _memory: Option<StatementMemory>,
}

/// What a client is told of a statement that it has prepared.
pub struct PreparedShape {
    pub id: u32,
    pub columns: Vec<OutputColumn>,
    /// Of each parameter, where its place tells it.
    pub parameters: Vec<Option<ColumnType>>,
}

pub struct CachedPlan {
    pub plan: Plan,
    /// Those that it was asked to give its first parameters.
    pub types: Box<[ColumnType]>,
    pub catalog_version: u64,
    /// Of the session when it was made.
    pub settings: Arc<PlanSettings>,
    /// The types of variables that it was made with.
    pub variables: Box<[VariableType]>,
    pub uses: UseList,
    /// The `Access::serial` under which `uses` were allowed last.
    pub allowed_under: AtomicU64,
}

type VariableType = (Variable, Option<ColumnType>);

/// The types of variables that are asked for while a plan is made.
#[derive(Default)]
pub(super) struct VariableTypes(RefCell<Vec<VariableType>>);

pub enum Variable {
    User(Box<str>),
    System(Box<str>),
}

impl Variable {
    fn type_in(&self, state: &SessionState) -> Option<ColumnType> {
        match self {
            Variable::User(name) => state.user_var_type(name),
            Variable::System(name) => state.sys_var_type(name).ok(),
        }
    }
}

impl VariableTypes {
    /// The type that the variable has now.
    pub(super) fn note(&self, variable: Variable, state: &SessionState) -> Option<ColumnType> {
        let ty = variable.type_in(state);
        self.0.borrow_mut().push((variable, ty.clone()));
        ty
    }
}

impl Session {
    /// Prepares a statement, which `Request::Prepared` then runs by its id.
    pub fn prepare(&mut self, sql: &[u8]) -> Result<PreparedShape> {
        self.client.begin_command("Prepare", Some(String::from_utf8_lossy(sql).into()));
        self.state.begin_statement();
        let sql = super::query::without_end(sql);
        let options = self.state.settings.plan.parser_options();
        let mut deprecated = Vec::new();
        let (ast, parameters) = parse_prepared_noting(sql, &options, &mut deprecated)?;
        self.warn_of_syntax(deprecated);
        let kind = StatementKind::of(&ast);
        if matches!(kind.facts().prepares, Prepares::SqlOnly | Prepares::Neither) {
            return Err(Error::new(&ER_UNSUPPORTED_PS, &[]));
        }
        let id = self.next_statement_id;
        self.next_statement_id = self.next_statement_id.wrapping_add(1).max(1);
        let mut prepared = Prepared {
            text: String::from_utf8_lossy(sql).into(),
            database: self.state.database(),
            counted: StatementKind::counted(&ast),
            kind,
            ast: Arc::new(ast),
            parameters,
            plan: None,
            cursor: None,
            _memory: None,
        };
        self.authorize(&prepared.ast)?;
        if kind.is_planned() {
            prepared.plan = Some(Arc::new(self.typed_plan(&prepared.ast, parameters, &[], None)?));
        }
        let shown = self.show_columns(&prepared.ast)?;
        self.server.counters.add(self.client.id, Counter::StmtPrepare, 1);
        prepared._memory = Some(self.server.statements.opened(sql.len())?);
        let columns = match prepared.plan.as_deref() {
            Some(CachedPlan { plan: Plan::Query(query), .. }) if !query.into.is_empty() || query.into_file.is_some() => {
                Vec::new()
            }
            Some(CachedPlan { plan: Plan::Query(query), .. }) => query.output.clone(),
            _ => shown,
        };
        let known = prepared.plan.as_deref().map(|cached| parameter_types(&cached.plan, parameters));
        self.statements.insert(id, Box::new(prepared));
        Ok(PreparedShape { id, columns, parameters: known.unwrap_or_else(|| vec![None; parameters]) })
    }

    /// `types` are those of the first parameters; NULL's leaves it to where the parameter stands.
    pub(super) fn fresh_plan(&self, ast: &Ast, types: &[ColumnType]) -> Result<CachedPlan> {
        let catalog_version = self.catalog.version();
        let settings = Arc::clone(&self.state.settings.plan);
        let variables = VariableTypes::default();
        let (plan, uses) = self.plan_noting(ast, types, &variables)?;
        let variables = variables.0.into_inner().into();
        let allowed_under = AtomicU64::new(self.access.serial);
        Ok(CachedPlan { plan, types: types.into(), catalog_version, settings, variables, uses, allowed_under })
    }

    /// A plan with types for the free parameters: those of `values`, else those of the plan before, else what their places tell.
    pub(super) fn typed_plan(
        &self,
        ast: &Ast,
        parameters: usize,
        values: &[Value],
        before: Option<&CachedPlan>,
    ) -> Result<CachedPlan> {
        let plan = self.fresh_plan(ast, &[])?;
        let free = free_parameters(&plan.plan, parameters);
        if !free.contains(&true) {
            return Ok(plan);
        }
        let places = parameter_types(&plan.plan, parameters);
        let collation = self.state.connection_collation();
        let type_of = |n: usize| {
            let last = before.and_then(|plan| plan.types.get(n)).filter(|ty| ty.kind != TypeKind::Null);
            let of_value = values.get(n).and_then(|value| type_of_parameter(value, collation));
            of_value.unwrap_or_else(|| type_at_place(last.or(places.get(n).and_then(Option::as_ref)), collation))
        };
        let types = free.iter().enumerate().map(|(n, free)| if *free { type_of(n) } else { ColumnType::null() });
        self.fresh_plan(ast, &types.collect::<Vec<_>>())
    }

    /// The plan with the types that free parameters have.
    pub(super) fn is_typed_for(&self, plan: &CachedPlan, values: &[Value]) -> bool {
        let collation = self.state.connection_collation();
        plan.types.iter().zip(values).all(|(ty, value)| {
            ty.kind == TypeKind::Null || type_of_parameter(value, collation).is_none_or(|of_value| of_value == *ty)
        })
    }

    /// Texts of parameters come in `character_set_client`; the statement takes them in the connection's charset. `is_text` tells which of
    /// the values that are bytes are texts.
    pub fn read_texts(&self, values: &mut [Value], is_text: impl Fn(usize) -> bool) {
        if !values.iter().any(|value| matches!(value, Value::Bytes(_))) {
            return;
        }
        let settings = &self.state.settings.plan;
        let utf8 = charset(CollationId::UTF8MB4_BIN);
        let (from, to) = (settings.client_charset.unwrap_or(utf8), charset(settings.connection_collation));
        if from.name == to.name || to.is_binary() || to.name == "utf8mb3" && from.name == utf8.name {
            return;
        }
        for (at, value) in values.iter_mut().enumerate() {
            if let Value::Bytes(bytes) = value
                && is_text(at)
            {
                *value = Value::bytes(&from.convert(to, bytes).bytes);
            }
        }
    }

    pub(super) fn execute_prepared(
        &mut self,
        id: u32,
        values: &[Value],
        cursor: bool,
        answer: &mut dyn Answer,
        park: MakeWaiter<'_>,
    ) -> Flow {
        let mut exchange = Exchange { answer, park, rest: &[], binary: true };
        self.state.begin_statement();
        let Some(mut prepared) = self.statements.remove(&id) else {
            return self.fail(&unknown(id), &mut exchange);
        };
        self.client.begin_command("Execute", Some(prepared.text.clone()));
        let database = prepared.database.take();
        let flow =
            self.in_database(database.as_deref(), |session| session.execute_one(&mut prepared, values, cursor, &mut exchange));
        prepared.database = database;
        self.statements.insert(id, prepared);
        flow
    }

    fn execute_one(&mut self, prepared: &mut Prepared, values: &[Value], cursor: bool, exchange: &mut Exchange<'_>) -> Flow {
        prepared.cursor = None;
        self.server.counters.add(self.client.id, Counter::StmtExecute, 1);
        self.server.counters.statement(self.client.id, prepared.counted);
        if let Err(error) = self.count_statement(prepared.kind) {
            return self.fail(&error, exchange);
        }
        if !prepared.kind.is_planned() {
            if let Err(error) = self.authorize(&prepared.ast) {
                return self.fail(&error, exchange);
            }
            let ast = prepared.ast.clone();
            self.params = values.to_vec();
            let flow = self.admin(&ast, exchange);
            self.params.clear();
            return flow;
        }
        let cached = match self.plan_to_run(prepared.plan.as_ref(), &prepared.ast, prepared.parameters, values) {
            Ok(cached) => cached,
            Err(error) => return self.fail(&error, exchange),
        };
        if !prepared.plan.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, &cached)) {
            prepared.plan = Some(cached.clone());
        }
        if cursor {
            return self.run_with_cursor(prepared, &cached, values, exchange);
        }
        let planned = Planned { plan: &cached.plan, ast: Some(&prepared.ast), types: &cached.types, params: values };
        self.run_plan(planned, exchange)
    }

    /// The plan that was kept if it is still good, or a new one; the session may run it.
    pub(super) fn plan_to_run(
        &mut self,
        kept: Option<&Arc<CachedPlan>>,
        ast: &Ast,
        parameters: usize,
        values: &[Value],
    ) -> Result<Arc<CachedPlan>> {
        if let Some(kept) = kept.filter(|kept| self.is_current(kept) && self.is_typed_for(kept, values)) {
            self.may_run(kept)?;
            return Ok(kept.clone());
        }
        self.authorize(ast)?;
        Ok(Arc::new(self.typed_plan(ast, parameters, values, kept.map(|kept| &**kept))?))
    }

    /// Runs a query whose rows the client will fetch; a statement without rows runs as ever.
    fn run_with_cursor(
        &mut self,
        prepared: &mut Prepared,
        cached: &CachedPlan,
        values: &[Value],
        exchange: &mut Exchange<'_>,
    ) -> Flow {
        let plan = &cached.plan;
        if let Plan::Query(query) = plan {
            if !query.into.is_empty() || query.into_file.is_some() {
                return self.fail(&Error::new(&ER_SP_BAD_CURSOR_SELECT, &[]), exchange);
            }
            self.keeps_rows = true;
        }
        let failures = self.failures;
        let flow = self.run_plan(Planned { plan, ast: Some(&prepared.ast), types: &cached.types, params: values }, exchange);
        self.keeps_rows = false;
        prepared.cursor = self.cursor.take().filter(|_| self.failures == failures);
        flow
    }

    /// Runs a prepared statement, whose names without a database mean the one that was current when it was prepared.
    pub(super) fn in_database<T>(&mut self, prepared_in: Option<&str>, run: impl FnOnce(&mut Session) -> T) -> T {
        let now = self.state.settings.plan.current_database.as_deref();
        if prepared_in.is_none() || prepared_in == now {
            return run(self);
        }
        let now = now.map(str::to_string);
        self.state.settings.set_database(prepared_in);
        let result = run(self);
        self.state.settings.set_database(now.as_deref());
        result
    }

    pub(super) fn is_current(&self, cached: &CachedPlan) -> bool {
        let now = &self.state.settings.plan;
        cached.catalog_version == self.catalog.version()
            && (Arc::ptr_eq(&cached.settings, now) || cached.settings == *now)
            && cached.variables.iter().all(|(variable, ty)| variable.type_in(&self.state) == *ty)
    }

    /// Bytes that a parameter may have which comes in pieces.
    pub fn long_data_bytes_max(&self) -> usize {
        self.max_allowed_packet().min(vaquita_types::memory::room())
    }

    pub fn close_statement(&mut self, id: u32) {
        if self.statements.remove(&id).is_some() {
            self.server.counters.add(self.client.id, Counter::StmtClose, 1);
            self.server.statements.closed(1);
        }
    }

    /// COM_STMT_RESET.
    pub fn reset_statement(&mut self, id: u32) -> Result<()> {
        self.server.counters.add(self.client.id, Counter::StmtReset, 1);
        self.close_cursor(id)
    }

    pub fn close_cursor(&mut self, id: u32) -> Result<()> {
        let prepared = self.statements.get_mut(&id).ok_or_else(|| unknown(id))?;
        prepared.cursor = None;
        Ok(())
    }
}

pub(super) fn unknown(id: u32) -> Error {
    Error::new(&ER_UNKNOWN_STMT_HANDLER, &[&id, &"mysql_stmt_precheck"])
}
