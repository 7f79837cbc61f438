//! SHOW, DESCRIBE and HELP: result sets made of the rows of system tables.
//!
//! 1. `run` finds the form: a list of columns, recorded from MySQL in `columns.txt`, and the function that
//!    makes the rows, mostly by picking columns of an information_schema table (`crate::system`).
//! 2. `Listing::filtered` applies LIKE to the form's column, or binds WHERE over the result's columns as if
//!    they were a table.
//!
//! SHOW CREATE TABLE is `ddl::show_create`'s, and HELP has a search of its own (`help`).
//! What WHERE reads beside the result is asked of `ServerInfo::authorize`.

mod engine_status;
mod help;
mod objects;
mod profiles;
mod schema;
mod server;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use vaquita_parser::ast::{Filter, Limit, Name, Show, ShowFilter};
use vaquita_plan::bind::{self, Place, PlanContext};
use vaquita_plan::expr::Expr;
use vaquita_plan::node::OutputColumn;
use vaquita_plan::uses::Uses;
use vaquita_types::charset::{self, LIKE_ESCAPE};
use vaquita_types::errno::{ER_BAD_DB_ERROR, ER_NO_DB_ERROR};
use vaquita_types::schema::{ColumnDef, ObjectKind, TableDef};
use vaquita_types::{Error, Result, TypeKind, Value};

pub use help::help;

use crate::context::Execution;
use crate::system::{self, Row};

/// What goes to the client.
pub struct ShowResult {
    pub columns: Vec<OutputColumn>,
    pub rows: Vec<Row>,
}

/// What a SHOW statement has at hand.
pub struct ShowContext<'a> {
    pub statement: &'a Execution<'a>,
    /// For WHERE; `bind` gives it its place.
    pub plan: &'a PlanContext<'a>,
    pub database: Option<&'a str>,
}

/// Runs the statement; `None`: it is another module's (SHOW CREATE TABLE, SHOW CREATE USER).
pub fn run(show: &Show, cx: &ShowContext<'_>) -> Option<Result<ShowResult>> {
    if matches!(show, Show::CreateTable(_) | Show::CreateView(_) | Show::CreateUser(_)) {
        return None;
    }
    Some(run_form(show, cx))
}

fn run_form(show: &Show, cx: &ShowContext<'_>) -> Result<ShowResult> {
    match show {
        Show::Databases(filter) => schema::databases(cx)?.filtered(filter, 0, cx),
        Show::Tables { full, db, filter, .. } => schema::tables(*full, db.as_deref(), cx)?.filtered(filter, 0, cx),
        Show::TableStatus { db, filter } => schema::table_status(db.as_deref(), cx)?.filtered(filter, 0, cx),
        Show::OpenTables { db, filter } => schema::open_tables(db.as_deref(), cx)?.filtered(filter, 1, cx),
        Show::Columns { full, table, filter, .. } => schema::columns(*full, table, cx)?.filtered(filter, 0, cx),
        Show::Index { table, filter, .. } => {
            let filter = filter.clone().map(ShowFilter::Where);
            schema::indexes(table, cx)?.filtered(&filter, 0, cx)
        }
        Show::Variables { scope, filter } => server::variables(*scope, cx).filtered(filter, 0, cx),
        Show::Status { scope, filter } => server::status(*scope, cx).filtered(filter, 0, cx),
        Show::Processlist { full } => Ok(server::processlist(*full, cx).unfiltered()),
        Show::Warnings(limit) => server::warnings(false, limit.as_ref(), cx),
        Show::Errors(limit) => server::warnings(true, limit.as_ref(), cx),
        Show::WarningCount => Ok(server::warning_count(false, cx).unfiltered()),
        Show::ErrorCount => Ok(server::warning_count(true, cx).unfiltered()),
        Show::Engines => Ok(Listing::of_system("ENGINES", "engines", &[0, 1, 2, 3, 4, 5], cx)?.unfiltered()),
        Show::Engine { name, what } => Ok(engine_status::engine(name, what, cx)?.unfiltered()),
        Show::Collation(filter) => {
            Listing::of_system("COLLATION", "collations", &[0, 1, 2, 3, 4, 5, 6], cx)?.filtered(filter, 0, cx)
        }
        Show::Charset(filter) => Listing::of_system("CHARSET", "character_sets", &[0, 2, 1, 3], cx)?.filtered(filter, 0, cx),
        Show::Grants { user, using } => Ok(server::grants(user.as_ref(), using, cx)?.unfiltered()),
        Show::Privileges => Ok(server::privileges().unfiltered()),
        Show::Plugins => Ok(Listing::of_system("PLUGINS", "plugins", &[0, 2, 3, 5, 9], cx)?.unfiltered()),
        Show::Triggers { db, filter, .. } => {
            let database = cx.database(db.as_deref())?;
            let rows = system::triggers::listed(&database, &system::SystemContext::new(cx.statement))?;
            Listing::with_rows("TRIGGERS", rows).filtered(filter, 2, cx)
        }
        Show::Events { db, filter } => {
            let database = cx.database_unchecked(db.as_deref())?;
            let rows = system::events::listed(&database, &system::SystemContext::new(cx.statement))?;
            Listing::with_rows("EVENTS", rows).filtered(filter, 1, cx)
        }
        Show::FunctionStatus(filter) | Show::ProcedureStatus(filter) => {
            let kind = if matches!(show, Show::FunctionStatus(_)) { ObjectKind::Function } else { ObjectKind::Procedure };
            let rows = system::routines::status(kind, &system::SystemContext::new(cx.statement))?;
            Listing::with_rows("ROUTINE STATUS", rows).filtered(filter, 1, cx)
        }
        other => objects::run(other, cx),
    }
}

/// DESCRIBE table [column | pattern].
pub fn describe(table: &Name, column: Option<&str>, cx: &ShowContext<'_>) -> Result<ShowResult> {
    let filter = column.map(|pattern| ShowFilter::Like(pattern.as_bytes().to_vec()));
    schema::columns(false, table, cx)?.filtered(&filter, 0, cx)
}

impl ShowContext<'_> {
    /// Binds an expression of the statement, which the session must be allowed to use.
    fn bind(&self, bind: impl FnOnce(&PlanContext<'_>) -> Result<Expr>) -> Result<Expr> {
        let uses = Uses::default();
        let bound = bind(&PlanContext { place: Place::Statement(&uses), ..*self.plan });
        self.statement.server.authorize(&uses.into_list())?;
        bound
    }

    /// The named or current database, which exists; a system database in lower case.
    fn database(&self, name: Option<&str>) -> Result<String> {
        let name = self.database_unchecked(name)?;
        if self.statement.catalog.database(&name)?.is_none() && !system::is_system_database(&name) {
            return Err(Error::new(&ER_BAD_DB_ERROR, &[&name]));
        }
        Ok(name)
    }

    fn database_unchecked(&self, name: Option<&str>) -> Result<String> {
        let name = name.or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        Ok(if system::is_system_database(name) { name.to_ascii_lowercase() } else { name.to_string() })
    }
}

const COLUMNS_TEXT: &str = include_str!("columns.txt");

static FORMS: LazyLock<HashMap<&'static str, Vec<ColumnDef>>> = LazyLock::new(|| {
    let sections = COLUMNS_TEXT.split("\n= ").map(|section| section.strip_prefix("= ").unwrap_or(section));
    sections.filter_map(|section| section.split_once('\n')).map(|(form, lines)| (form, system::parse_columns(lines))).collect()
});

/// The rows of a form before its LIKE or WHERE.
pub(crate) struct Listing {
    columns: Vec<ColumnDef>,
    rows: Vec<Row>,
    /// LIKE shows in the column's name: `Database (a%)`.
    names_pattern: bool,
}

impl Listing {
    /// A form of `columns.txt` without rows.
    fn new(form: &str) -> Listing {
        Listing { columns: FORMS.get(form).cloned().unwrap_or_default(), rows: Vec::new(), names_pattern: false }
    }

    fn with_rows(form: &str, rows: Vec<Row>) -> Listing {
        Listing { rows, ..Listing::new(form) }
    }

    /// Picks columns of an information_schema table.
    fn of_system(form: &str, table: &str, picked: &[usize], cx: &ShowContext<'_>) -> Result<Listing> {
        let mut rows = system::rows_of("information_schema", table, &system::SystemContext::new(cx.statement))?;
        if let Some(def) = system::table("information_schema", table) {
            labels(&mut rows, &def);
        }
        Ok(Listing::with_rows(form, rows.into_iter().map(|row| pick(row, picked)).collect()))
    }

    fn rename(&mut self, column: usize, name: String) {
        if let Some(column) = self.columns.get_mut(column) {
            column.name = name;
        }
    }

    fn unfiltered(self) -> ShowResult {
        let output = |(n, column): (usize, ColumnDef)| OutputColumn {
            expr: Expr::slot(n, column.ty, column.nullable),
            name: column.name,
            origin: None,
        };
        ShowResult { columns: self.columns.into_iter().enumerate().map(output).collect(), rows: self.rows }
    }

    /// Keeps the rows whose column `like_column` is LIKE the pattern, or for which WHERE is true.
    fn filtered(mut self, filter: &Filter, like_column: usize, cx: &ShowContext<'_>) -> Result<ShowResult> {
        match filter {
            None => {}
            Some(ShowFilter::Like(pattern)) => self.keep_like(pattern, like_column),
            Some(ShowFilter::Where(condition)) => {
                let table = Arc::new(TableDef { columns: self.columns.clone(), ..system::empty_table("", "") });
                let condition = cx.bind(|plan| bind::bind_where_over_row(condition, &table, 0, plan))?;
                let rows = std::mem::take(&mut self.rows);
                for row in rows {
                    let eval = cx.statement.cx(&row, None);
                    if condition.eval_bool(&eval)? == Some(true) {
                        self.rows.push(row);
                    }
                }
            }
        }
        Ok(self.unfiltered())
    }

    fn keep_like(&mut self, pattern: &[u8], column: usize) {
        let Some(def) = self.columns.get_mut(column) else { return };
        let collation = charset::collation(def.ty.collation);
        self.rows.retain(|row| match row.get(column) {
            Some(Value::Bytes(text)) => collation.like(text, pattern, Some(LIKE_ESCAPE)),
            _ => false,
        });
        if self.names_pattern {
            def.name = format!("{} ({})", def.name, String::from_utf8_lossy(pattern));
        }
    }
}

/// Columns of a row in another order.
fn pick(row: Row, picked: &[usize]) -> Row {
    picked.iter().map(|n| row.get(*n).cloned().unwrap_or_default()).collect()
}

/// LIMIT of SHOW WARNINGS.
fn limited(rows: Vec<Row>, limit: Option<&Limit>, cx: &ShowContext<'_>) -> Result<Vec<Row>> {
    let (offset, count) = limits(limit, cx)?;
    let places = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    Ok(rows.into_iter().skip(places(offset)).take(places(count)).collect())
}

/// How many rows are left out, and how many are shown at most.
fn limits(limit: Option<&Limit>, cx: &ShowContext<'_>) -> Result<(u64, u64)> {
    let Some(limit) = limit else { return Ok((0, u64::MAX)) };
    let number = |expr: &vaquita_parser::ast::Expr| -> Result<u64> {
        let bound = cx.bind(|plan| bind::bind_scalar(expr, plan))?;
        let value = bound.eval(&cx.statement.cx(&[], None))?.into_owned();
        Ok(match value {
            Value::Int(n) => u64::try_from(n).unwrap_or(0),
            Value::UInt(n) => n,
            _ => 0,
        })
    };
    let offset = limit.offset.as_ref().map(number).transpose()?.unwrap_or(0);
    Ok((offset, number(&limit.count)?))
}

/// The text of ENUM columns of system tables, which SHOW has as strings.
fn labels(rows: &mut [Row], table: &TableDef) {
    for (n, column) in table.columns.iter().enumerate().filter(|(_, c)| c.ty.kind == TypeKind::Enum) {
        for value in rows.iter_mut().filter_map(|row| row.get_mut(n)).filter(|v| !v.is_null()) {
            *value = Value::from(vaquita_types::convert::to_text(value, &column.ty));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_columns() {
        assert!(FORMS.len() > 30);
        for (form, columns) in FORMS.iter() {
            assert!(!columns.is_empty(), "{form}");
        }
    }
}
