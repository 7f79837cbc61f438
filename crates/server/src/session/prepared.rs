//! Prepared statements of the binary protocol: prepare, long data, execute. Their cursors are `cursor`'s.
//!
//! A statement keeps its syntax tree and its plan; the plan is made again when the catalog's version or a
//! setting that planning depends on has changed.

use std::sync::Arc;

use vaquita_parser::{Statement as Ast, parse_prepared_noting};
use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_plan::node::{InsertSource, OutputColumn, Plan};
use vaquita_types::errno::{ER_SP_BAD_CURSOR_SELECT, ER_UNKNOWN_STMT_HANDLER, ER_UNSUPPORTED_PS};
use vaquita_types::{ColumnType, Error, Result, Value};
use vaquita_wire::caps::cursor;
use vaquita_wire::commands::Execute;
use vaquita_wire::metadata::column_definition;
use vaquita_wire::params::StatementParams;
use vaquita_wire::result::{
    ColumnDefinition, parameter_definition, put_column_definition, put_eof, put_prepare_ok, put_protocol_error,
};

use super::cursor::Cursor;
use super::query::{is_planned, parser_options};
use super::{Flow, MakeWaiter, Session, reply};
use crate::connection::Output;
use crate::counters::Counter;

pub struct Prepared {
    pub text: Arc<str>,
    pub ast: Arc<Ast>,
    pub params: StatementParams,
    pub values: Vec<Value>,
    pub plan: Option<Arc<CachedPlan>>,
    /// What COM_STMT_FETCH takes its rows from.
    pub cursor: Option<Cursor>,
}

pub struct CachedPlan {
    pub plan: Plan,
    pub catalog_version: u64,
    pub settings_version: u64,
}

impl Session {
    pub(super) fn prepare(&mut self, sql: &[u8], out: &mut Output<'_>) {
        self.state.begin_statement();
        if let Err(error) = self.try_prepare(sql, out) {
            self.error(&error, out);
        }
    }

    fn try_prepare(&mut self, sql: &[u8], out: &mut Output<'_>) -> Result<()> {
        let options = parser_options(self.state.sql_mode_bits());
        let mut deprecated = Vec::new();
        let (ast, parameters) = parse_prepared_noting(sql, &options, &mut deprecated)?;
        self.warn_of_syntax(deprecated);
        if matches!(
            ast,
            Ast::Prepare { .. }
                | Ast::Execute { .. }
                | Ast::Deallocate(_)
                | Ast::LoadData(_)
                | Ast::LockTables(_)
                | Ast::UnlockTables
        ) {
            return Err(Error::new(&ER_UNSUPPORTED_PS, &[]));
        }
        let id = self.next_statement_id;
        self.next_statement_id = self.next_statement_id.wrapping_add(1).max(1);
        let mut prepared = Prepared {
            text: String::from_utf8_lossy(sql).into(),
            ast: Arc::new(ast),
            params: StatementParams::new(parameters),
            values: Vec::new(),
            plan: None,
            cursor: None,
        };
        self.authorize(&prepared.ast)?;
        if is_planned(&prepared.ast) {
            prepared.plan = Some(Arc::new(self.fresh_plan(&prepared.ast)?));
        }
        let shown = self.show_columns(&prepared.ast)?;
        self.server.counters.add(self.client.id, Counter::StmtPrepare, 1);
        self.server.statements.opened()?;
        self.answer_prepare(id, &prepared, &shown, out);
        self.statements.insert(id, prepared);
        Ok(())
    }

    pub(super) fn fresh_plan(&self, ast: &Ast) -> Result<CachedPlan> {
        let catalog_version = self.catalog.version();
        Ok(CachedPlan { plan: self.plan(ast)?, catalog_version, settings_version: self.state.settings_version() })
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
            let types = assigned_types(prepared.plan.as_deref(), parameters);
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
        let flow = self.execute_one(&mut prepared, execute, out, park);
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
        self.server.counters.add(self.client.id, Counter::StmtExecute, 1);
        self.server.counters.statement(self.client.id, &prepared.ast);
        if let Err(error) = self.authorize(&prepared.ast) {
            self.error(&error, out);
            return Flow::Next;
        }
        if !is_planned(&prepared.ast) {
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
        let cached = match &prepared.plan {
            Some(cached) if self.is_current(cached) => cached.clone(),
            _ => match self.fresh_plan(&prepared.ast) {
                Ok(plan) => prepared.plan.insert(Arc::new(plan)).clone(),
                Err(error) => {
                    self.error(&error, out);
                    return Flow::Next;
                }
            },
        };
        if execute.cursor & cursor::READ_ONLY == 0 {
            return self.run_plan(&cached.plan, &prepared.values, true, &[], out, park);
        }
        self.run_with_cursor(prepared, &cached.plan, out, park)
    }

    /// Runs a query whose rows the client will fetch; a statement without rows runs as ever.
    fn run_with_cursor(&mut self, prepared: &mut Prepared, plan: &Plan, out: &mut Output<'_>, park: MakeWaiter<'_>) -> Flow {
        match plan {
            Plan::Query(query) if !query.into.is_empty() || query.into_file.is_some() => {
                self.error(&Error::new(&ER_SP_BAD_CURSOR_SELECT, &[]), out);
                return Flow::Next;
            }
            Plan::Query(_) => self.cursor = Some(Cursor::new(self.server.data_dir())),
            _ => {}
        }
        let failures = out.errors;
        let flow = self.run_plan(plan, &prepared.values, true, &[], out, park);
        prepared.cursor = self.cursor.take().filter(|_| out.errors == failures);
        flow
    }

    pub(super) fn is_current(&self, cached: &CachedPlan) -> bool {
        cached.catalog_version == self.catalog.version() && cached.settings_version == self.state.settings_version()
    }

    pub(super) fn long_data(&mut self, id: u32, parameter: u16, data: &[u8]) {
        let bytes_max = self.max_allowed_packet();
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

/// The types of parameters that are assigned to columns: Connector/J sends a BigInteger by them.
fn assigned_types(plan: Option<&CachedPlan>, parameters: usize) -> Vec<Option<ColumnType>> {
    let mut types = vec![None; parameters];
    let mut note = |expr: &Expr| {
        if let ExprKind::Param(n) = expr.kind
            && let Some(ty) = types.get_mut(n)
        {
            *ty = Some(expr.ty.clone());
        }
    };
    match plan.map(|cached| &cached.plan) {
        Some(Plan::Insert(insert)) => {
            if let InsertSource::Values(rows) = &insert.source {
                rows.iter().flatten().flatten().for_each(&mut note);
            }
        }
        Some(Plan::Update(update)) => {
            update.targets.iter().flat_map(|t| &t.assignments).filter_map(|a| a.value.as_ref()).for_each(&mut note);
        }
        _ => {}
    }
    types
}

fn definition_of_parameter(ty: Option<&ColumnType>) -> ColumnDefinition<'static> {
    match ty {
        Some(ty) if ty.is_integer() => ColumnDefinition { name: b"?", ..column_definition(ty, None, 1) },
        _ => parameter_definition(),
    }
}
