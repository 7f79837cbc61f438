//! System tables about tables that were used: how many rows were fetched and changed, by which index; which tables are open.
//!
//! As in MySQL they have the tables that were opened since the server began. Times are those of the statements, which their tables share;
//! nobody waits for what MySQL calls a lock of a table.

use std::collections::HashMap;
use std::sync::Arc;

use vaquita_storage::Table;
use vaquita_types::{Result, Value};

use super::row::{NULL, cell, row};
use super::statements::PS_PER_NS;
use super::{Row, SystemContext, registry};
use crate::context::{ROW_WORKS, StatementEvents, TableSums, TableUse, TimeSums};

type All = HashMap<TableUse, TableSums>;

fn sums(cx: &SystemContext<'_>) -> All {
    cx.statement.server.statement_events().map(StatementEvents::tables).unwrap_or_default()
}

/// The tables that are open, and that the session may know of.
fn tables(cx: &SystemContext<'_>) -> Vec<Arc<Table>> {
    let mut tables = cx.statement.catalog.cached_tables();
    tables.retain(|table| cx.statement.server.sees(&table.def.database, Some(&table.def.name)));
    tables
}

/// Count, sum, least, average and most.
fn times(row: &mut Row, sums: &TimeSums) {
    let average = sums.wait_ns.checked_div(sums.count).unwrap_or(0);
    let times = [sums.wait_ns, sums.wait_ns_min, average, sums.wait_ns_max].map(|ns| cell(ns.saturating_mul(PS_PER_NS)));
    row.push(cell(sums.count));
    row.extend(times);
}

fn together(parts: &[TimeSums]) -> TimeSums {
    let mut all = TimeSums::default();
    parts.iter().for_each(|part| all.add_all(part));
    all
}

/// All together, what was read, what was written, and each kind of work.
fn work(row: &mut Row, sums: &TableSums) {
    times(row, &together(&sums.0));
    times(row, &sums.0[0]);
    times(row, &together(&sums.0[1..]));
    (0..ROW_WORKS).for_each(|at| times(row, &sums.0[at]));
}

fn of_table(all: &All, table: u32) -> TableSums {
    let mut sums = TableSums::default();
    all.iter().filter(|(used, _)| used.table == table).for_each(|(_, other)| sums.add_all(other));
    sums
}

fn named(table: &Table) -> Row {
    row!["TABLE", table.def.database.as_str(), table.def.name.as_str()]
}

/// table_io_waits_summary_by_table.
pub fn io_by_table(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut by_table: HashMap<u32, TableSums> = HashMap::new();
    sums(cx).iter().for_each(|(used, sums)| by_table.entry(used.table).or_default().add_all(sums));
    let line = |table: &Arc<Table>| {
        let mut row = named(table);
        work(&mut row, by_table.get(&table.def.id.0).unwrap_or(&TableSums::default()));
        row
    };
    Ok(tables(cx).iter().map(line).collect())
}

/// table_io_waits_summary_by_index_usage: a line for each index, and one for rows that were read or inserted without one.
pub fn io_by_index(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let all = sums(cx);
    let mut rows = Vec::new();
    for table in tables(cx) {
        cx.statement.interrupt.check()?;
        let indexes = table.def.indexes.iter().map(|index| (index.id.0, Some(index.name.as_str())));
        for (index, name) in indexes.filter(|(_, name)| name.is_some_and(|name| !name.is_empty())).chain([(0, None)]) {
            let mut row = named(&table);
            row.push(cell(name));
            work(&mut row, all.get(&TableUse { table: table.def.id.0, index }).unwrap_or(&TableSums::default()));
            rows.push(row);
        }
    }
    Ok(rows)
}

/// objects_summary_global_by_type.
pub fn objects(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let all = sums(cx);
    let line = |table: &Arc<Table>| {
        let mut row = named(table);
        times(&mut row, &together(&of_table(&all, table.def.id.0).0));
        row
    };
    Ok(tables(cx).iter().map(line).collect())
}

/// table_lock_waits_summary_by_table.
pub fn lock_waits(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let found = registry::find("performance_schema", "table_lock_waits_summary_by_table");
    let columns = found.map_or(0, |table| table.def.columns.len());
    let line = |table: &Arc<Table>| {
        let mut row = named(table);
        row.resize(columns, Value::UInt(0));
        row
    };
    Ok(tables(cx).iter().map(line).collect())
}

/// table_handles: the tables that are open, and who has locked them by LOCK TABLES.
pub fn handles(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let locks = cx.statement.server.session_locks();
    let mut rows = Vec::new();
    for table in tables(cx) {
        let of_it = |lock: &&crate::context::SessionLockInfo| {
            lock.granted
                && lock.object_type == "TABLE"
                && lock.database.as_ref() == Some(&table.def.database)
                && lock.name.as_ref() == Some(&table.def.name)
        };
        let id = u64::from(table.def.id.0);
        let owners: Vec<_> = locks.iter().filter(of_it).collect();
        for lock in &owners {
            let external = if lock.lock_type.contains("READ_ONLY") { "READ EXTERNAL" } else { "WRITE EXTERNAL" };
            let mut row = named(&table);
            row.extend(row![id, crate::context::thread_id(lock.session), NULL, NULL, external]);
            rows.push(row);
        }
        if owners.is_empty() {
            let mut row = named(&table);
            row.extend(row![id, NULL, NULL, NULL, NULL]);
            rows.push(row);
        }
    }
    Ok(rows)
}
