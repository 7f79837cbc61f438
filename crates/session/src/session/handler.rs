//! HANDLER: opens a table, reads rows of it in the order of an index, closes it. What a session has open is `state::handlers`'.
//!
//! A READ is a statement of the session as a query is: it reads the snapshot of its transaction, and is one by itself under autocommit.

use vaquita_exec::handler::{self, Read, Step};
use vaquita_parser::ast::{BinaryOp, Expr, Handler, HandlerRead, Limit, Name, QueryBody, SelectItem};
use vaquita_parser::{ParserOptions, Statement as Ast, StatementKind, parse_one};
use vaquita_plan::bind::{bind_scalar, plan_statement};
use vaquita_plan::expr::{CompareOp, ExprKind};
use vaquita_plan::node::Plan;
use vaquita_storage::Reads;
use vaquita_types::errno::{ER_ILLEGAL_HA, ER_KEY_DOES_NOT_EXITS, ER_NO_SUCH_TABLE, ER_WRONG_ARGUMENTS, ER_WRONG_OBJECT};
use vaquita_types::schema::{IndexDef, IndexKind, ObjectKind, TableDef, TableRef};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::Done;
use super::program::{InUse, Tables};
use super::server_view::ServerView;
use crate::answer::Flow;
use crate::state::prepared::PlanNotes;

/// HANDLER … READ as it was written.
struct Wanted<'a> {
    alias: &'a str,
    index: Option<&'a str>,
    how: &'a HandlerRead,
    filter: Option<&'a Expr>,
    limit: Option<&'a Limit>,
}

impl Session {
    pub(super) fn handler(&mut self, handler: &Handler, exchange: &mut Exchange<'_>) -> Flow {
        let done = match handler {
            Handler::Open { table, alias } => self.open_handler(table, alias.as_deref()),
            Handler::Close { table } => self.handlers.close(&table.name),
            Handler::Read { table, index, how, filter, limit } => {
                let wanted =
                    Wanted { alias: &table.name, index: index.as_deref(), how, filter: filter.as_ref(), limit: limit.as_ref() };
                return self.read_handler(&wanted, exchange);
            }
        };
        self.conclude(done.map(|()| Done::nothing()), exchange)
    }

    fn open_handler(&mut self, name: &Name, alias: Option<&str>) -> Result<()> {
        let alias = alias.unwrap_or(&name.name);
        self.handlers.check_free(alias)?;
        let database = self.database_of(name)?;
        if let Some(table) = vaquita_exec::system::table(&database, &name.name) {
            return Err(match table.database.eq_ignore_ascii_case("information_schema") {
                true => Error::new(&ER_WRONG_OBJECT, &[&table.database, &table.name, &"BASE TABLE"]),
                false => Error::new(&ER_ILLEGAL_HA, &[&table.name]),
            });
        }
        let Some(table) = self.catalog.table(&database, &name.name)? else {
            return Err(match self.catalog.object(&database, ObjectKind::View, &name.name)? {
                Some(_) => Error::new(&ER_WRONG_OBJECT, &[&database, &name.name, &"BASE TABLE"]),
                None => Error::new(&ER_NO_SUCH_TABLE, &[&database, &name.name]),
            });
        };
        if table.def.partitioning.is_some() {
            return Err(Error::new(&ER_ILLEGAL_HA, &[&name.name]));
        }
        self.handlers.open(alias, table.def.clone())
    }

    /// The table of an alias. One that another session has changed is read from its beginning.
    fn handled_table(&mut self, alias: &str) -> Result<TableRef> {
        let table = self.handlers.find(alias)?.table.clone();
        let missing = || Error::new(&ER_NO_SUCH_TABLE, &[&table.database, &table.name]);
        let now = self.catalog.table(&table.database, &table.name)?.ok_or_else(missing)?.def.clone();
        if !is_same(&now, &table) {
            self.handlers.close(alias)?;
            self.handlers.open(alias, now.clone())?;
        }
        Ok(now)
    }

    /// The session has run a statement that may have changed or examined tables: those are closed.
    pub(super) fn close_handlers(&mut self, ast: &Ast) -> Result<()> {
        let facts = StatementKind::of(ast).facts();
        if self.handlers.is_empty() || !(facts.commits || facts.is_temporary_ddl()) {
            return Ok(());
        }
        if let Ast::TableMaintenance(maintenance) = ast {
            for name in &maintenance.tables {
                let database = self.database_of(name)?;
                self.handlers.close_table(&database, &name.name);
            }
        }
        for table in self.handlers.tables() {
            let now = self.catalog.table(&table.database, &table.name)?;
            if now.is_none_or(|now| !is_same(&now.def, &table)) {
                self.handlers.close_table(&table.database, &table.name);
            }
        }
        Ok(())
    }

    fn read_handler(&mut self, wanted: &Wanted<'_>, exchange: &mut Exchange<'_>) -> Flow {
        let ready = self.handled_table(wanted.alias).and_then(|table| {
            let read = self.read_of(wanted, &table)?;
            let plan = self.plan_of_handler(&table, wanted)?;
            self.admit_tables(&plan)?;
            Ok((plan, read))
        });
        let (plan, read) = match ready {
            Ok(ready) => ready,
            Err(error) => return self.fail(&error, exchange),
        };
        self.transaction.begin_if_needed(&self.env.settings);
        self.track_plan(&plan);
        self.transaction.storage().begin_statement(Reads::Many);
        let mut position = self.handlers.find(wanted.alias).ok().and_then(|open| open.position.clone());
        let ran = {
            let in_use = InUse { tables: Tables::Of(&plan), outer: None };
            let server = ServerView { in_use: Some(&in_use), ..self.server_view() };
            let statement = self.executing(&[], &server);
            let rows = exchange.answer.rows(self.result_form(exchange));
            match &plan {
                Plan::Query(query) => handler::read(query, &read, &mut position, &statement, rows),
                _ => Err(Error::internal("HANDLER reads by a query")),
            }
        };
        let ran = ran.and_then(|()| self.handlers.set_position(wanted.alias, position));
        match self.settle().and(ran) {
            Ok(()) => {
                self.transaction.storage().end_statement();
                self.finish_statement(Done::Rows, exchange)
            }
            Err(error) => {
                self.fail_statement(&error);
                self.fail(&error, exchange)
            }
        }
    }

    fn plan_of_handler(&self, table: &TableDef, wanted: &Wanted<'_>) -> Result<Plan> {
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        let text = format!("SELECT * FROM {}.{} AS {}", quoted(&table.database), quoted(&table.name), quoted(wanted.alias));
        let parsed = parse_one(text.as_bytes(), &ParserOptions::default());
        let (mut ast, _) = parsed.map_err(|_| Error::internal("a query that HANDLER made"))?;
        if let (Some(filter), Ast::Query(query)) = (wanted.filter, &mut ast)
            && let QueryBody::Select(select) = &mut query.body
        {
            select.items.push(SelectItem::Expr { expr: filter.clone(), alias: None, source_text: String::new() });
        }
        let (plan, mut uses) = self.bound(&PlanNotes::default(), |context| plan_statement(&ast, context));
        // OPEN has asked for the table itself, and as in MySQL nobody asks again.
        uses.tables.retain(|used| used.table.as_ref().is_none_or(|used| used.id != table.id));
        self.access.allows(&uses, Some(&self.catalog))?;
        plan
    }

    fn read_of<'a>(&mut self, wanted: &Wanted<'a>, table: &TableDef) -> Result<Read<'a>> {
        let index = wanted.index.map(|name| {
            // The order of a table without a primary key has an index that nobody can name.
            let is_named = |index: &IndexDef| index.kind != IndexKind::Primary || !index.parts.is_empty();
            let is_meant = |index: &IndexDef| is_named(index) && index.name.eq_ignore_ascii_case(name);
            let at = table.indexes.iter().position(is_meant);
            at.map(|at| (at, name)).ok_or_else(|| Error::new(&ER_KEY_DOES_NOT_EXITS, &[&name, &wanted.alias]))
        });
        let index = index.transpose()?;
        let has_order = index.is_none_or(|(at, _)| !table.indexes[at].is_full_text() && !table.indexes[at].is_spatial());
        let step = match wanted.how {
            // MySQL finds nothing by the others.
            _ if !has_order => Step::First,
            HandlerRead::First => Step::First,
            HandlerRead::Next => Step::Next,
            HandlerRead::Prev => Step::Prev,
            HandlerRead::Last => Step::Last,
            HandlerRead::Key { op, values } => {
                let values = values.iter().map(|value| self.key_value(value)).collect::<Result<_>>()?;
                Step::Key { op: compare_op(*op), values }
            }
        };
        let (offset, rows_max) = match wanted.limit {
            None => (0, 1),
            Some(limit) => {
                let offset = limit.offset.as_ref().map_or(Ok(0), |offset| self.limit_of(offset))?;
                (offset, self.limit_of(&limit.count)?)
            }
        };
        Ok(Read { index, step, filtered: wanted.filter.is_some(), offset, rows_max })
    }

    /// Error 1210 for what is no constant.
    fn key_value(&self, expr: &Expr) -> Result<(Value, ColumnType)> {
        let (bound, _) = self.bound(&PlanNotes::default(), |context| bind_scalar(expr, context));
        let wrong = || Error::new(&ER_WRONG_ARGUMENTS, &[&"HANDLER ... READ"]);
        let bound = bound.map_err(|_| wrong())?;
        match bound.kind {
            ExprKind::Literal(value) => Ok((value, bound.ty)),
            _ => Err(wrong()),
        }
    }

    fn limit_of(&mut self, expr: &Expr) -> Result<u64> {
        let (value, ty) = self.evaluate(expr)?;
        Ok(vaquita_types::convert::to_u64(&value, &ty).value)
    }
}

fn is_same(now: &TableDef, opened: &TableDef) -> bool {
    now.id == opened.id && now.schema_version == opened.schema_version
}

fn compare_op(op: BinaryOp) -> CompareOp {
    match op {
        BinaryOp::Lt => CompareOp::Lt,
        BinaryOp::Le => CompareOp::Le,
        BinaryOp::Gt => CompareOp::Gt,
        BinaryOp::Ge => CompareOp::Ge,
        _ => CompareOp::Eq,
    }
}
