//! The tables that set up the performance schema: with which rows a server begins, what statements may change, and `threads`.
//!
//! The rows are MySQL's (`setup.txt`, recorded), without the instruments of what is not here. A row is of what its first columns name; only ENABLED and its
//! like change.

use vaquita_types::schema::{ColumnDef, TableDef};
use vaquita_types::{Result, Value};

use super::row::fit;
use super::{Row, SystemContext, registry};
use crate::context::{ServerInfo, Setup, SetupRows, is_yes};

const SETUP_TEXT: &str = include_str!("setup.txt");

/// What a server begins with.
pub fn new() -> Setup {
    Setup::new(recorded())
}

fn recorded() -> SetupRows {
    let mut tables: SetupRows = SetupRows::new();
    for section in SETUP_TEXT.split("= ").filter(|section| !section.is_empty()) {
        let mut lines = section.lines();
        let Some(name) = lines.next() else { continue };
        let Some(table) = registry::find("performance_schema", name) else { continue };
        let cell = |(field, column): (&str, &ColumnDef)| match (field, column.ty.is_integer()) {
            ("\\N", _) => Value::Null,
            (number, true) => number.parse().map_or(Value::Null, Value::Int),
            (text, false) => text.into(),
        };
        let rows = lines.map(|line| line.split('\t').zip(&table.def.columns).map(cell).collect::<Row>());
        let fitted = rows.filter_map(|mut row| fit(&mut row, &table.def).is_ok().then_some(row));
        tables.insert(name, fitted.collect());
    }
    tables
}

/// Whether UPDATE may set the column of a row.
pub fn may_change(table: &str, column: &str) -> bool {
    let columns: &[&str] = match table {
        "setup_actors" | "setup_threads" => &["ENABLED", "HISTORY"],
        "setup_consumers" => &["ENABLED"],
        "setup_instruments" | "setup_objects" => &["ENABLED", "TIMED"],
        "setup_loggers" => &["LEVEL"],
        "threads" => &["INSTRUMENTED", "HISTORY"],
        _ => &[],
    };
    columns.contains(&column)
}

/// Rows are inserted and deleted.
pub fn grows(table: &str) -> bool {
    matches!(table, "setup_actors" | "setup_objects")
}

/// What a column gets that is not given.
pub fn default_of(table: &TableDef, column: usize) -> Value {
    let system = registry::find(&table.database, &table.name);
    let default = system.and_then(|system| system.columns.get(column)?.default);
    let mut row = vec![Value::Null; table.columns.len()];
    if let Some(value) = row.get_mut(column) {
        *value = default.map_or(Value::Null, Value::from);
    }
    // Labels become numbers; all else is a text already.
    let _ = fit(&mut row, table);
    row.swap_remove(column.min(row.len() - 1))
}

/// UPDATE of a row; false: it is the same, or gone.
pub fn change(server: &dyn ServerInfo, table: &str, before: &Row, mut after: Row) -> Result<bool> {
    if table == "threads" {
        let observed = |row: &Row| (is_yes(row.get(INSTRUMENTED)), is_yes(row.get(INSTRUMENTED + 1)));
        if let (Some(Value::UInt(id)), true) = (before.first(), observed(before) != observed(&after)) {
            return Ok(server.observe_thread(*id, observed(&after)));
        }
        return Ok(false);
    }
    if table == "setup_instruments" {
        let is_memory = matches!(after.first(), Some(Value::Bytes(name)) if name.starts_with(b"memory/"));
        if let Some(timed) = after.get_mut(TIMED) {
            // Memory is not timed; what is not timed else says NO.
            *timed = match (is_memory, std::mem::take(timed)) {
                (true, _) => Value::Null,
                (false, Value::Null) => Value::UInt(2),
                (false, timed) => timed,
            };
        }
    }
    Ok(server.setup().is_some_and(|setup| setup.change(table, before, after)))
}

/// Positions of columns.
const INSTRUMENTED: usize = 13;
const TIMED: usize = 2;

pub fn insert(server: &dyn ServerInfo, table: &str, row: Row) -> Result<()> {
    server.setup().map_or(Ok(()), |setup| setup.insert(table, row))
}

pub fn delete(server: &dyn ServerInfo, table: &str, row: &Row) -> bool {
    server.setup().is_some_and(|setup| setup.delete(table, row))
}

/// TRUNCATE of setup_actors or setup_objects.
pub fn empty(server: &dyn ServerInfo, table: &str) {
    if let Some(setup) = server.setup() {
        setup.empty(table);
    }
}

fn rows(cx: &SystemContext<'_>, table: &str) -> Result<Vec<Row>> {
    Ok(cx.statement.server.setup().map(|setup| setup.rows(table)).unwrap_or_default())
}

pub fn actors(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    rows(cx, "setup_actors")
}

pub fn consumers(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    rows(cx, "setup_consumers")
}

pub fn instruments(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    rows(cx, "setup_instruments")
}

pub fn loggers(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    rows(cx, "setup_loggers")
}

pub fn objects(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    rows(cx, "setup_objects")
}

pub fn threads(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    rows(cx, "setup_threads")
}

#[cfg(test)]
mod tests {
    use vaquita_parser::StatementKind;

    use super::*;
    use crate::context::Observed;

    #[test]
    fn consumers_count_in_their_order() {
        let setup = new();
        assert!(setup.observed().has(Observed::TRANSACTION_HISTORY) && setup.observed().has(Observed::EVERY_STATEMENT));
        let switch = |table: &str, name: &str, on: bool| {
            let before = setup.rows(table).into_iter().find(|row| row.first() == Some(&name.into())).unwrap_or_default();
            let mut after = before.clone();
            after[1] = Value::UInt(if on { 1 } else { 2 });
            assert!(setup.change(table, &before, after));
        };
        switch("setup_consumers", "thread_instrumentation", false);
        assert!(setup.observed().has(Observed::DIGESTS) && !setup.observed().has(Observed::STATEMENT_HISTORY));
        switch("setup_consumers", "thread_instrumentation", true);
        switch("setup_consumers", "events_statements_current", false);
        assert!(!setup.observed().has(Observed::STATEMENT_HISTORY) && setup.observed().has(Observed::TRANSACTION_HISTORY));
        switch("setup_instruments", "statement/sql/select", false);
        assert!(!setup.counts_kind(StatementKind::Select) && !setup.observed().has(Observed::EVERY_STATEMENT));
        switch("setup_instruments", "transaction", false);
        assert!(!setup.observed().has(Observed::TRANSACTION));
    }
}
