//! Prepared statements of the binary protocol: prepare, execute, fetch, close. Those of SQL text are in `named`; both are kept in
//! `state::prepared`. What parameters look like to a client is its front's matter.

use std::borrow::Cow;
use std::sync::Arc;

use vaquita_parser::statement_kind::Prepares;
use vaquita_parser::{Statement as Ast, StatementKind, parse_prepared_noting};
use vaquita_plan::node::{OutputColumn, Plan};
use vaquita_plan::params::parameter_types;
use vaquita_types::charset::{CollationId, charset};
use vaquita_types::errno::{ER_PS_MANY_PARAM, ER_SP_BAD_CURSOR_SELECT, ER_UNSUPPORTED_PS};
use vaquita_types::limits::PARAMETERS_MAX;
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::Planned;
use super::explain::planned_target;
use super::query::shown_text;
use crate::answer::{Answer, Completed, Flow, MakeWaiter, Status};
use crate::counters::Counter;
use crate::state::prepared::{CachedPlan, Cursor, Prepared};

/// What a client is told of a statement that it has prepared.
pub struct PreparedShape {
    pub id: u32,
    pub columns: Vec<OutputColumn>,
    /// Of each parameter, where its place tells it.
    pub parameters: Vec<Option<ColumnType>>,
}

impl Session {
    /// Prepares a statement, which `Request::Prepared` then runs by its id.
    pub fn prepare(&mut self, sql: &[u8]) -> Result<PreparedShape> {
        let sql = self.client_text(super::query::without_end(sql));
        self.begin_event("Prepare", shown_text(&sql), None);
        self.env.begin_statement();
        self.log_command("Prepare");
        let (prepared, shown) = self.prepared_from(&sql, Prepares::SqlOnly)?;
        let columns = match prepared.plan.as_deref() {
            Some(CachedPlan { plan: Plan::Query(query), .. }) if !query.into.is_empty() || query.into_file.is_some() => {
                Vec::new()
            }
            Some(CachedPlan { plan: Plan::Query(query), .. }) => query.output.clone(),
            _ => shown,
        };
        let known = prepared.plan.as_deref().map(|cached| parameter_types(&cached.plan, prepared.parameters));
        let parameters = known.unwrap_or_else(|| vec![None; prepared.parameters]);
        Ok(PreparedShape { id: self.prepared.add(prepared), columns, parameters })
    }

    /// A statement that is ready to be kept, and the columns of one that is no plan. `refused`: the kinds that only the other way prepares.
    pub(super) fn prepared_from(&mut self, sql: &[u8], refused: Prepares) -> Result<(Prepared, Vec<OutputColumn>)> {
        let options = self.env.settings.plan.parser_options();
        let mut deprecated = Vec::new();
        let (ast, parameters) = parse_prepared_noting(sql, &options, &mut deprecated)?;
        if parameters > PARAMETERS_MAX {
            return Err(Error::new(&ER_PS_MANY_PARAM, &[]));
        }
        self.warn_of_syntax(deprecated);
        let kind = StatementKind::of(&ast);
        let text = shown_text(sql);
        let shown = self.without_secrets(&ast, sql).map_or_else(|| text.clone(), |shown| shown_text(&shown));
        // PREPARE and EXECUTE are shown as what they prepare and execute, as in MySQL.
        if (refused == Prepares::ProtocolOnly || shown != text) && !self.programs.is_running() {
            self.client.show_instead(shown.clone());
        }
        if [refused, Prepares::Neither].contains(&kind.facts().prepares) {
            return Err(Error::new(&ER_UNSUPPORTED_PS, &[]));
        }
        self.authorize(&ast)?;
        if let Ast::Call { name, .. } = &ast {
            self.routine_named(name)?;
        }
        if let Ast::CreateView(view) = &ast {
            self.with_ddl("", |ddl| ddl.check_view(view))?;
        }
        // What it explains is looked at now, as in MySQL, and planned when it runs.
        if let Ast::Explain(explain) = &ast
            && let Some(target) = planned_target(explain)
        {
            self.typed_plan(target, parameters, &mut Cow::Borrowed(&[]), None)?;
        }
        let plan = if kind.is_planned() {
            Some(Arc::new(self.typed_plan(&ast, parameters, &mut Cow::Borrowed(&[]), None)?))
        } else {
            None
        };
        // Only the protocol tells columns, before the statement runs.
        let columns = if refused == Prepares::SqlOnly { self.show_columns(&ast)? } else { Vec::new() };
        self.client.counters.add(Counter::StmtPrepare, 1);
        if refused == Prepares::SqlOnly {
            self.identified(&self.server.statement_events.line_of(
                ("PREPARE ", sql),
                &self.env.settings.plan,
                StatementKind::Prepare,
            ));
        }
        self.log_prepared(&ast, sql, refused == Prepares::ProtocolOnly);
        let prepared = Prepared {
            open: self.server.statements.opened(sql.len())?,
            text,
            shown,
            line: self.server.statement_events.line_of(("EXECUTE ", sql), &self.env.settings.plan, StatementKind::counted(&ast)),
            database: self.env.database(),
            counted: StatementKind::counted(&ast),
            kind,
            ast: Arc::new(ast),
            parameters,
            plan,
            cursor: None,
        };
        Ok((prepared, columns))
    }

    /// Texts of parameters come in `character_set_client`; the statement takes them in the connection's charset. `is_text` tells which of
    /// the values that are bytes are texts.
    pub fn read_texts(&self, values: &mut [Value], is_text: impl Fn(usize) -> bool) {
        if !values.iter().any(|value| matches!(value, Value::Bytes(_))) {
            return;
        }
        let settings = &self.env.settings.plan;
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
        let mut exchange = Exchange { binary: true, ..Exchange::new(answer, park) };
        self.env.begin_statement();
        let mut prepared = match self.prepared.take(id) {
            Ok(prepared) => prepared,
            Err(error) => return self.fail(&error, &mut exchange),
        };
        self.begin_event("Execute", prepared.shown.clone(), Some(&prepared.line));
        let database = prepared.database.take();
        let kept = self.hinted();
        let flow = self.in_database(database.as_deref(), |session| match session.set_hinted(&prepared.ast) {
            Ok(()) => session.execute_one(&mut prepared, values, cursor, &mut exchange),
            Err(error) => session.fail(&error, &mut exchange),
        });
        self.restore_hinted(kept);
        prepared.database = database;
        self.prepared.put_back(id, prepared);
        flow
    }

    fn execute_one(&mut self, prepared: &mut Prepared, values: &[Value], cursor: bool, exchange: &mut Exchange<'_>) -> Flow {
        prepared.cursor = None;
        self.client.counters.add(Counter::StmtExecute, 1);
        self.client.counters.statement(prepared.counted);
        if let Err(error) = self.access.count_statement(prepared.kind) {
            return self.fail(&error, exchange);
        }
        self.note_text(prepared.text.as_bytes(), prepared.kind);
        if let Err(error) = self.log_execution(&prepared.ast, prepared.text.as_bytes(), values) {
            return self.fail(&error, exchange);
        }
        if !prepared.kind.is_planned() {
            if let Err(error) = self.authorize(&prepared.ast) {
                return self.fail(&error, exchange);
            }
            let ast = prepared.ast.clone();
            self.prepared.set_values(values.to_vec());
            let flow = self.other_statement(&ast, exchange);
            self.prepared.take_values();
            return flow;
        }
        let (cached, values) = match self.plan_to_run(prepared, values) {
            Ok(ready) => ready,
            Err(error) => return self.fail(&error, exchange),
        };
        if !prepared.plan.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, &cached)) {
            prepared.plan = Some(cached.clone());
        }
        self.note_plan(&prepared.line, cached.shape, &cached.plan);
        let planned = Planned {
            plan: &cached.plan,
            ast: Some(&prepared.ast),
            types: &cached.types,
            params: &values,
            kept: Some(&cached),
            creates: None,
        };
        if !cursor {
            return self.run_plan(planned, exchange);
        }
        let (flow, cursor) = self.run_with_cursor(planned, exchange);
        prepared.cursor = cursor;
        flow
    }

    /// Runs a query whose rows the client will fetch; a statement without rows runs as ever.
    fn run_with_cursor(&mut self, planned: Planned<'_>, exchange: &mut Exchange<'_>) -> (Flow, Option<Box<Cursor>>) {
        if let Plan::Query(query) = planned.plan {
            if !query.into.is_empty() || query.into_file.is_some() {
                return (self.fail(&Error::new(&ER_SP_BAD_CURSOR_SELECT, &[]), exchange), None);
            }
            exchange.keeps_rows = true;
        }
        let flow = self.run_plan(planned, exchange);
        (flow, exchange.cursor.take().filter(|_| !exchange.failed))
    }

    /// Runs a prepared statement, whose names without a database mean the one that was current when it was prepared.
    pub(super) fn in_database<T>(&mut self, prepared_in: Option<&str>, run: impl FnOnce(&mut Session) -> T) -> T {
        let now = self.env.settings.plan.current_database.as_deref();
        if prepared_in.is_none() || prepared_in == now {
            return run(self);
        }
        let now = now.map(str::to_string);
        self.env.settings.set_database(prepared_in);
        let result = run(self);
        self.env.settings.set_database(now.as_deref());
        result
    }

    /// COM_STMT_FETCH: the next rows, and whether the cursor stays open.
    pub fn fetch(&mut self, id: u32, rows_max: u32, answer: &mut dyn Answer) {
        self.env.begin_statement();
        self.client.counters.add(Counter::StmtFetch, 1);
        let mut cursor = match self.prepared.take_cursor(id) {
            Ok(cursor) => cursor,
            Err(error) => return self.error(&error, answer),
        };
        let mut fetched = 0;
        while fetched < rows_max {
            match cursor.next_row() {
                Ok(Some(row)) if answer.kept_row(row).is_err() => return,
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return self.error(&error, answer),
            }
            fetched += 1;
        }
        let open = fetched == rows_max;
        if open {
            self.prepared.put_back_cursor(id, cursor);
        }
        let status = Status { cursor_exists: open, last_row_sent: !open, ..self.status() };
        answer.end_of_rows(&Completed { status, ..Completed::default() });
    }

    /// Bytes that a parameter may have which comes in pieces.
    pub fn long_data_bytes_max(&self) -> usize {
        self.max_allowed_packet().min(vaquita_types::memory::room())
    }

    pub fn close_statement(&mut self, id: u32) {
        if self.prepared.close(id) {
            self.client.counters.add(Counter::StmtClose, 1);
        }
    }

    /// COM_STMT_RESET.
    pub fn reset_statement(&mut self, id: u32) -> Result<()> {
        self.client.counters.add(Counter::StmtReset, 1);
        self.close_cursor(id)
    }

    pub fn close_cursor(&mut self, id: u32) -> Result<()> {
        self.prepared.close_cursor(id)
    }
}
