//! Prepared statements of the binary protocol: prepare, long data, execute. Their cursors are `cursor`'s.
//!
//! A statement keeps its syntax tree and its plan; the plan is made again when the catalog's version, a setting that planning
//! depends on (`PlanSettings`) or the type of a variable in it has changed.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use vaquita_parser::{Statement as Ast, parse_prepared_noting};
use vaquita_plan::node::{OutputColumn, Plan};
use vaquita_plan::params::{free_parameters, parameter_types, type_at_place, type_of_parameter};
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::uses::UseList;
use vaquita_types::charset::{CollationId, charset};
use vaquita_types::errno::{ER_SP_BAD_CURSOR_SELECT, ER_UNKNOWN_STMT_HANDLER, ER_UNSUPPORTED_PS};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};
use vaquita_wire::caps::{NOT_FIXED_DECIMALS, column_flag as flag, cursor, mysql_type};
use vaquita_wire::commands::Execute;
use vaquita_wire::params::StatementParams;
use vaquita_wire::result::{
    ColumnDefinition, parameter_definition, put_column_definition, put_eof, put_prepare_ok, put_protocol_error,
};

use super::cursor::Cursor;
use super::query::is_planned;
use super::run::Planned;
use super::state::SessionState;
use super::{Flow, MakeWaiter, Session, reply};
use crate::connection::Output;
use crate::counters::Counter;

pub struct Prepared {
    pub text: Arc<str>,
    /// The current database when it was prepared.
    pub database: Option<String>,
    pub ast: Arc<Ast>,
    pub params: StatementParams,
    pub values: Vec<Value>,
    pub plan: Option<Arc<CachedPlan>>,
    /// What COM_STMT_FETCH takes its rows from.
    pub cursor: Option<Cursor>,
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
    pub(super) fn prepare(&mut self, sql: &[u8], out: &mut Output<'_>) {
        self.state.begin_statement();
        if let Err(error) = self.try_prepare(sql, out) {
            self.error(&error, out);
        }
    }

    fn try_prepare(&mut self, sql: &[u8], out: &mut Output<'_>) -> Result<()> {
        let sql = super::query::without_end(sql);
        let options = self.state.settings.plan.parser_options();
        let mut deprecated = Vec::new();
        let (ast, parameters) = parse_prepared_noting(sql, &options, &mut deprecated)?;
        self.warn_of_syntax(deprecated);
        if matches!(
            ast,
            Ast::Prepare { .. }
                | Ast::Execute { .. }
                | Ast::Deallocate(_)
                | Ast::LoadData(_)
                | Ast::Xa(_)
                | Ast::LockTables(_)
                | Ast::UnlockTables
        ) {
            return Err(Error::new(&ER_UNSUPPORTED_PS, &[]));
        }
        let id = self.next_statement_id;
        self.next_statement_id = self.next_statement_id.wrapping_add(1).max(1);
        let mut prepared = Prepared {
            text: String::from_utf8_lossy(sql).into(),
            database: self.state.database(),
            ast: Arc::new(ast),
            params: StatementParams::new(parameters),
            values: Vec::new(),
            plan: None,
            cursor: None,
        };
        self.authorize(&prepared.ast)?;
        if is_planned(&prepared.ast) {
            prepared.plan = Some(Arc::new(self.typed_plan(&prepared.ast, parameters, &[], None)?));
        }
        let shown = self.show_columns(&prepared.ast)?;
        self.server.counters.add(self.client.id, Counter::StmtPrepare, 1);
        self.server.statements.opened()?;
        self.answer_prepare(id, &prepared, &shown, out);
        self.statements.insert(id, Box::new(prepared));
        Ok(())
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

    /// Texts come in `character_set_client`; the statement takes them in the connection's charset.
    fn read_texts(&self, prepared: &mut Prepared) {
        if !prepared.values.iter().any(|value| matches!(value, Value::Bytes(_))) {
            return;
        }
        let settings = &self.state.settings.plan;
        let utf8 = charset(CollationId::UTF8MB4_BIN);
        let (from, to) = (settings.client_charset.unwrap_or(utf8), charset(settings.connection_collation));
        if from.name == to.name || to.is_binary() || to.name == "utf8mb3" && from.name == utf8.name {
            return;
        }
        for (value, ty) in prepared.values.iter_mut().zip(prepared.params.types()) {
            if let Value::Bytes(bytes) = value
                && !(mysql_type::TINY_BLOB..=mysql_type::BLOB).contains(&ty.code)
            {
                *value = Value::bytes(&from.convert(to, bytes).bytes);
            }
        }
    }

    fn answer_prepare(&mut self, id: u32, prepared: &Prepared, shown: &[OutputColumn], out: &mut Output<'_>) {
        let caps = self.caps;
        let flags = self.status();
        let charset = self.state.result_charset();
        let columns = match prepared.plan.as_deref() {
            Some(CachedPlan { plan: Plan::Query(query), .. }) if !query.into.is_empty() || query.into_file.is_some() => &[],
            Some(CachedPlan { plan: Plan::Query(query), .. }) => &query.output[..],
            _ => shown,
        };
        let parameters = prepared.params.count();
        let warnings = self.state.warnings_u16();
        out.writer.packet(|buffer| put_prepare_ok(buffer, caps, id, columns.len() as u16, parameters as u16, warnings));
        if parameters > 0 {
            let known = prepared.plan.as_deref().map(|cached| parameter_types(&cached.plan, parameters));
            let types = known.unwrap_or_else(|| vec![None; parameters]);
            for ty in &types {
                out.writer.packet(|buffer| put_column_definition(buffer, &definition_of_parameter(ty.as_ref())));
            }
            if caps & vaquita_wire::caps::client::DEPRECATE_EOF == 0 {
                out.writer.packet(|buffer| put_eof(buffer, flags, 0));
            }
        }
        if !columns.is_empty() {
            reply::put_definitions(out, columns, flags, charset);
        }
    }

    pub(super) fn execute_prepared(&mut self, execute: &Execute<'_>, out: &mut Output<'_>, park: MakeWaiter<'_>) -> Flow {
        self.state.begin_statement();
        let Some(mut prepared) = self.statements.remove(&execute.statement_id) else {
            self.error(&unknown(execute.statement_id), out);
            return Flow::Next;
        };
        self.client.begin_command("Execute", Some(prepared.text.clone()));
        let database = prepared.database.take();
        let flow = self.in_database(database.as_deref(), |session| session.execute_one(&mut prepared, execute, out, park));
        prepared.database = database;
        self.statements.insert(execute.statement_id, prepared);
        flow
    }

    fn execute_one(
        &mut self,
        prepared: &mut Prepared,
        execute: &Execute<'_>,
        out: &mut Output<'_>,
        park: MakeWaiter<'_>,
    ) -> Flow {
        prepared.cursor = None;
        let mut rebound = false;
        if let Err(error) = prepared.params.read(execute, self.caps, &mut prepared.values, &mut rebound) {
            out.writer.packet(|buffer| put_protocol_error(buffer, error));
            return Flow::Next;
        }
        self.read_texts(prepared);
        self.server.counters.add(self.client.id, Counter::StmtExecute, 1);
        self.server.counters.statement(self.client.id, &prepared.ast);
        if let Err(error) = self.count_statement(&prepared.ast) {
            self.error(&error, out);
            return Flow::Next;
        }
        if !is_planned(&prepared.ast) {
            if let Err(error) = self.authorize(&prepared.ast) {
                self.error(&error, out);
                return Flow::Next;
            }
            let ast = prepared.ast.clone();
            if matches!(*ast, Ast::Show(_) | Ast::Describe { .. }) {
                match self.show(&ast, true, false, out) {
                    Ok(done) => self.answer_done(&done, false, out),
                    Err(error) => self.error(&error, out),
                }
                return Flow::Next;
            }
            if let Ast::Explain(explain) = &*ast {
                match self.explain(explain, true, false, out) {
                    Ok(done) => self.answer_done(&done, false, out),
                    Err(error) => self.error(&error, out),
                }
                return Flow::Next;
            }
            if matches!(*ast, Ast::TableMaintenance(_)) {
                match self.ddl(&ast, true, false, out) {
                    Some(Ok(done)) => self.answer_done(&done, false, out),
                    Some(Err(error)) => self.error(&error, out),
                    None => {}
                }
                return Flow::Next;
            }
            self.params = prepared.values.clone();
            let flow = self.admin(&ast, &[], out, park);
            self.params.clear();
            return flow;
        }
        let cached = match self.plan_to_run(prepared.plan.as_ref(), &prepared.ast, prepared.params.count(), &prepared.values) {
            Ok(cached) => cached,
            Err(error) => {
                self.error(&error, out);
                return Flow::Next;
            }
        };
        if !prepared.plan.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, &cached)) {
            prepared.plan = Some(cached.clone());
        }
        if execute.cursor & cursor::READ_ONLY == 0 {
            let planned = Planned {
                plan: &cached.plan,
                ast: Some(&prepared.ast),
                types: &cached.types,
                params: &prepared.values,
                binary: true,
            };
            return self.run_plan(planned, &[], out, park);
        }
        self.run_with_cursor(prepared, &cached, out, park)
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
        out: &mut Output<'_>,
        park: MakeWaiter<'_>,
    ) -> Flow {
        let plan = &cached.plan;
        match plan {
            Plan::Query(query) if !query.into.is_empty() || query.into_file.is_some() => {
                self.error(&Error::new(&ER_SP_BAD_CURSOR_SELECT, &[]), out);
                return Flow::Next;
            }
            Plan::Query(_) => self.cursor = Some(Cursor::new(self.server.data_dir())),
            _ => {}
        }
        let failures = out.errors;
        let planned = Planned { plan, ast: Some(&prepared.ast), types: &cached.types, params: &prepared.values, binary: true };
        let flow = self.run_plan(planned, &[], out, park);
        prepared.cursor = self.cursor.take().filter(|_| out.errors == failures);
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

    pub(super) fn long_data(&mut self, id: u32, parameter: u16, data: &[u8]) {
        let bytes_max = self.max_allowed_packet().min(vaquita_types::memory::room());
        if let Some(prepared) = self.statements.get_mut(&id) {
            // COM_STMT_SEND_LONG_DATA has no answer; the next execution reports what is missing.
            let _ = prepared.params.append_long_data(parameter, data, bytes_max);
        }
    }

    pub(super) fn reset_statement(&mut self, id: u32, out: &mut Output<'_>) {
        self.server.counters.add(self.client.id, Counter::StmtReset, 1);
        let result = match self.statements.get_mut(&id) {
            Some(prepared) => {
                prepared.params.clear_long_data();
                prepared.cursor = None;
                Ok(())
            }
            None => Err(unknown(id)),
        };
        self.answer(result, out);
    }
}

pub(super) fn unknown(id: u32) -> Error {
    Error::new(&ER_UNKNOWN_STMT_HANDLER, &[&id, &"mysql_stmt_precheck"])
}

/// The definition of a parameter, of the type that stands for all of its kind.
fn definition_of_parameter(ty: Option<&ColumnType>) -> ColumnDefinition<'static> {
    let unknown = parameter_definition();
    let Some(ty) = ty else { return unknown };
    let numeric = |column_type, length, decimals| ColumnDefinition {
        charset: CollationId::BINARY.0,
        length,
        column_type,
        decimals,
        flags: flag::BINARY | if ty.unsigned { flag::UNSIGNED } else { 0 },
        ..parameter_definition()
    };
    let unsigned =
        |definition: ColumnDefinition<'static>| ColumnDefinition { flags: definition.flags | flag::UNSIGNED, ..definition };
    let charset = if ty.collation == CollationId::BINARY { CollationId::BINARY.0 } else { unknown.charset };
    match ty.kind {
        _ if ty.is_integer() => numeric(mysql_type::LONGLONG, 21, 0),
        TypeKind::Decimal => numeric(mysql_type::NEWDECIMAL, 67, 30),
        TypeKind::Float | TypeKind::Double => numeric(mysql_type::DOUBLE, 23, NOT_FIXED_DECIMALS),
        TypeKind::Bit => unsigned(numeric(mysql_type::BIT, 64, 0)),
        TypeKind::Year => unsigned(numeric(mysql_type::YEAR, 4, 0)),
        TypeKind::Date => numeric(mysql_type::DATE, 10, 0),
        TypeKind::Time => numeric(mysql_type::TIME, 17, 6),
        TypeKind::DateTime | TypeKind::Timestamp => numeric(mysql_type::DATETIME, 26, 6),
        TypeKind::Json => ColumnDefinition { length: u32::MAX - 3, column_type: mysql_type::JSON, ..unknown },
        TypeKind::Binary | TypeKind::VarBinary => numeric(mysql_type::VAR_STRING, 65_535, NOT_FIXED_DECIMALS),
        _ if ty.is_blob() => {
            let flags = if charset == CollationId::BINARY.0 { flag::BINARY } else { 0 };
            ColumnDefinition { charset, flags, length: u32::MAX, column_type: mysql_type::LONG_BLOB, ..unknown }
        }
        _ => unknown,
    }
}
