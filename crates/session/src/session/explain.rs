//! EXPLAIN: plans a statement and sends the plan as a result set.
//!
//! FORMAT=TRADITIONAL gives MySQL's table of one row per table read, TREE and JSON one text, and WHY, which is Vaquita's own, what the plan was
//! chosen among. The format is
//! `explain_format` unless the statement says it. EXPLAIN ANALYZE runs the plan and gives a tree that tells of each operator
//! what it did; of UPDATE and DELETE it finds the rows and changes none. FOR CONNECTION
//! explains what another connection runs.

use std::borrow::Cow;
use std::cell::RefCell;

use vaquita_exec::context::{Measures, SessionEnv};
use vaquita_exec::query;
use vaquita_parser::StatementKind;
use vaquita_parser::ast::{Explain, ExplainTarget, Statement};
use vaquita_plan::explain::{self, ExplainRow};
use vaquita_plan::expr::Expr;
use vaquita_plan::node::{Node, OutputColumn, Plan};
use vaquita_plan::why::{Why, figure, why};
use vaquita_types::charset::CollationId;
use vaquita_types::errno::{
    ER_ACCESS_DENIED_ERROR, ER_EXPLAIN_INTO_FORMAT_NOT_SUPPORTED, ER_EXPLAIN_INTO_IMPLICIT_FORMAT_NOT_SUPPORTED,
    ER_EXPLAIN_NOT_SUPPORTED, ER_NO_SUCH_THREAD, ER_UNKNOWN_EXPLAIN_FORMAT,
};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::{Done, Planned};
use super::program::{InUse, Tables};
use super::server_view::ServerView;
use crate::answer::Flow;
use crate::state::prepared::CachedPlan;

/// MySQL refuses its own columns so.
const TRADITIONAL: [&str; 2] = ["TRADITIONAL", "TRADITIONAL_STRICT"];

/// A format of Vaquita's own.
const WHY: &str = "WHY";

/// An estimate that is closer than this is right.
const NEAR: f64 = 2.0;

impl Session {
    pub(super) fn explain(&mut self, statement: &Explain, exchange: &mut Exchange<'_>) -> Flow {
        if let Err(error) = self.check_form(statement) {
            return self.fail(&error, exchange);
        }
        if let ExplainTarget::Connection(id) = statement.target {
            return match self.statement_of(id, statement) {
                Ok((statement, database)) => {
                    self.in_database(database.as_deref(), |session| session.explain_here(&statement, exchange))
                }
                Err(error) => self.fail(&error, exchange),
            };
        }
        let Some(schema) = &statement.schema else { return self.explain_here(statement, exchange) };
        if let Err(error) = self.find_database(schema) {
            return self.fail(&error, exchange);
        }
        self.in_database(Some(schema), |session| session.explain_here(statement, exchange))
    }

    /// What can be said before the statement is planned.
    fn check_form(&self, statement: &Explain) -> Result<()> {
        let format = self.explain_format(statement);
        if !TRADITIONAL.contains(&&*format) && !["TREE", "JSON", WHY].contains(&&*format) {
            let written = statement.format.as_ref().unwrap_or(&format);
            return Err(Error::new(&ER_UNKNOWN_EXPLAIN_FORMAT, &[written]));
        }
        if statement.into.is_some() {
            match &statement.format {
                None => return Err(Error::new(&ER_EXPLAIN_INTO_IMPLICIT_FORMAT_NOT_SUPPORTED, &[])),
                Some(_) if format != "JSON" => return Err(Error::new(&ER_EXPLAIN_INTO_FORMAT_NOT_SUPPORTED, &[&format])),
                Some(_) => {}
            }
        }
        if statement.analyze && matches!(statement.target, ExplainTarget::Connection(_)) {
            return Err(Error::unsupported("EXPLAIN ANALYZE FOR CONNECTION"));
        }
        if statement.analyze && statement.format.is_some() && !["TREE", WHY].contains(&&*format) {
            return Err(Error::unsupported(format_args!("EXPLAIN ANALYZE with {format} format")));
        }
        Ok(())
    }

    /// What another connection runs, as if this one explained it, and the database that is current there. Its plan is made anew here, by
    /// this session's privileges.
    fn statement_of(&self, id: u64, explain: &Explain) -> Result<(Explain, Option<String>)> {
        let unknown = || Error::new(&ER_NO_SUCH_THREAD, &[&id]);
        let unsupported = || Error::new(&ER_EXPLAIN_NOT_SUPPORTED, &[]);
        let state = self.server.clients().get(id).ok_or_else(unknown)?.snapshot();
        let own = self.client.snapshot();
        if state.user != own.user && !self.access.subject(None, None).sees_other_processes() {
            return Err(Error::new(&ER_ACCESS_DENIED_ERROR, &[&own.user, &self.client.host, &"YES"]));
        }
        let text = state.info.filter(|_| id != self.client.id).ok_or_else(unsupported)?;
        let parsed = vaquita_parser::parse_one(text.as_bytes(), &self.env.settings.plan.parser_options());
        let statement = parsed.map_err(|_| unsupported())?.0;
        let explainable =
            matches!(statement, Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_));
        if !explainable {
            return Err(unsupported());
        }
        let target = ExplainTarget::Statement { statement, text: text.to_string() };
        Ok((Explain { target, ..explain.clone() }, state.database))
    }

    fn explain_here(&mut self, statement: &Explain, exchange: &mut Exchange<'_>) -> Flow {
        let Some(target) = planned_target(statement) else {
            return self.fail(&Error::unsupported("EXPLAIN of this statement"), exchange);
        };
        let mut values: Cow<'_, [Value]> = Cow::Owned(self.prepared.values().to_vec());
        let cached = match self.typed_plan(target, values.len(), &mut values, None) {
            Ok(cached) => cached,
            Err(error) => return self.fail(&error, exchange),
        };
        let told = self.access.may_explain(&cached.uses, &self.catalog);
        if let Err(error) = told.and_then(|()| self.admit_at_once(&cached.plan)) {
            return self.fail(&error, exchange);
        }
        if statement.analyze {
            let analyzes = std::mem::replace(&mut exchange.analyzes, true);
            let says_why = std::mem::replace(&mut exchange.says_why, self.explain_format(statement) == WHY);
            let planned = Planned {
                plan: &cached.plan,
                ast: Some(target),
                types: &cached.types,
                params: &values,
                kept: None,
                creates: None,
            };
            let flow = self.run_plan(planned, exchange);
            (exchange.analyzes, exchange.says_why) = (analyzes, says_why);
            return flow;
        }
        let done = self.explain_plan(&cached, statement, exchange);
        self.conclude(done, exchange)
    }

    fn explain_plan(&mut self, cached: &CachedPlan, statement: &Explain, exchange: &mut Exchange<'_>) -> Result<Done> {
        let plan = &cached.plan;
        let format = self.explain_format(statement);
        if let Some(variable) = &statement.into {
            self.env.set_user_var(variable, Value::from(explain::json(plan)))?;
            return Ok(Done::nothing());
        }
        if format == WHY
            && let Some(target) = planned_target(statement)
        {
            let why = self.with_plan_context(|context| why(target, context))?;
            return self.put_rows(&[text("EXPLAIN")], &[vec![Value::from(why.text)]], exchange);
        }
        let (columns, rows) = match format.as_str() {
            "TREE" => (vec![text("EXPLAIN")], vec![vec![Value::from(explain::tree(plan))]]),
            "JSON" => (vec![text("EXPLAIN")], vec![vec![Value::from(explain::json(plan))]]),
            _ => (table_columns(), explain::rows(plan).into_iter().map(table_row).collect()),
        };
        self.put_rows(&columns, &rows, exchange)
    }

    /// One try of EXPLAIN ANALYZE.
    pub(super) fn measure_once(&mut self, planned: &Planned<'_>, exchange: &mut Exchange<'_>) -> Result<Done> {
        let Planned { plan, params, ast, .. } = *planned;
        let why = match ast.filter(|_| exchange.says_why) {
            Some(ast) => Some(self.with_plan_context(|context| why(ast, context))?),
            None => None,
        };
        let measures = Measures::default();
        let found = {
            let in_use = InUse { tables: Tables::Of(plan), outer: None };
            let server = ServerView { in_use: Some(&in_use), ..self.server_view() };
            let mut statement = self.executing(params, &server);
            statement.measures = Some(&measures);
            query::measure(plan, &statement)?
        };
        let is_run = !matches!(plan, Plan::Insert(_));
        let given = RefCell::new(Vec::new());
        let note = |node: &Node| match node {
            Node::Scan(scan) if is_run => {
                given.borrow_mut().extend(measures.rows(node).map(|rows| (scan.alias.clone(), rows)));
                format!(" (rows={}){}", scan.rows_estimate, measures.text(node))
            }
            _ => measures.text(node),
        };
        let mut tree = explain::tree_with(plan, &note);
        if let Some(why) = why {
            tree = format!("{}{}{tree}", why.text, worst_estimate(&why, &given.take()));
        }
        let done = self.put_rows(&[text("EXPLAIN")], &[vec![Value::from(tree)]], exchange)?;
        if let Some(found) = found {
            self.env.diagnostics.set_found_rows(found);
        }
        Ok(done)
    }

    /// In upper case.
    fn explain_format(&self, statement: &Explain) -> String {
        match &statement.format {
            Some(format) => format.to_ascii_uppercase(),
            // EXPLAIN ANALYZE has one of its own.
            None if statement.analyze => "TREE".to_string(),
            None => self.env.settings.explain_format.clone(),
        }
    }
}

/// Of the rows that tables were expected to give in one opening and those that they gave.
fn worst_estimate(why: &Why, given: &[(String, f64)]) -> String {
    let wrong_by = |expected: f64, actual: f64| ((expected + 1.0) / (actual + 1.0)).max((actual + 1.0) / (expected + 1.0));
    let all = given.iter().filter_map(|(alias, actual)| {
        let (_, expected) = why.estimates.iter().find(|(of, _)| of == alias)?;
        Some((wrong_by(*expected, *actual), alias, *expected, *actual))
    });
    match all.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((by, alias, expected, actual)) if by > NEAR => {
            format!(
                "The estimate that was most wrong: {alias} gave {} rows a time, {} were expected.\n",
                figure(actual),
                figure(expected)
            )
        }
        _ => format!("No table's estimate was wrong by more than {NEAR} times.\n"),
    }
}

/// The statement that is explained, if it has a plan.
pub(super) fn planned_target(statement: &Explain) -> Option<&Statement> {
    match &statement.target {
        ExplainTarget::Statement { statement: target, .. } if StatementKind::of(target).is_planned() => Some(target),
        _ => None,
    }
}

fn text(name: &str) -> OutputColumn {
    column(name, ColumnType::varchar(16_383, CollationId::default()))
}

fn column(name: &str, ty: ColumnType) -> OutputColumn {
    OutputColumn { expr: Expr::slot(0, ty, true), name: name.to_string(), origin: None }
}

fn table_columns() -> Vec<OutputColumn> {
    let of = |name: &&str| match *name {
        "id" | "rows" => column(name, ColumnType::bigint_unsigned()),
        "filtered" => column(name, ColumnType { decimals: 2, ..ColumnType::double() }),
        _ => text(name),
    };
    explain::COLUMNS.iter().map(of).collect()
}

fn table_row(row: ExplainRow) -> Vec<Value> {
    let text = |value: Option<String>| value.map_or(Value::Null, Value::from);
    let number = |value: Option<u64>| value.map_or(Value::Null, Value::UInt);
    vec![
        number(row.id),
        Value::from(row.select_type),
        text(row.table),
        text(row.partitions),
        text(row.access),
        text(row.possible_keys),
        text(row.key),
        text(row.key_len),
        text(row.reference),
        number(row.rows),
        row.filtered.map_or(Value::Null, Value::Float),
        text(row.extra),
    ]
}
