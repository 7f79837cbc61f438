//! Changes of what sets up the performance schema (`crate::context::Setup`), and of `threads`. Their rows are the server's own: they are found as
//! those of other system tables, and changed at once, outside of transactions, as in MySQL.

use std::collections::HashSet;

use vaquita_plan::env::Level;
use vaquita_plan::node::{Assignment, DeletePlan, InsertPlan, InsertSource, UpdatePlan, UpdateTarget};
use vaquita_types::errno::{ER_DUP_KEY, ER_RECORD_FILE_FULL, ER_WRONG_PERFSCHEMA_USAGE};
use vaquita_types::schema::TableDef;
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Changed;
use super::change::values::RowBuilder;
use crate::context::{Execution, Frame, SETUP_ROWS_MAX};
use crate::op;
use crate::system;

/// The table's rows are the server's own.
pub fn holds(table: &TableDef) -> bool {
    table.indexes.is_empty() && table.database == "performance_schema"
}

type SetupRow = Vec<Value>;

/// Error 1683: what a row is about does not change.
pub fn update(plan: &UpdatePlan, statement: &Execution<'_>) -> Result<Changed> {
    let mut changed = Changed::default();
    let mut changes: Vec<(usize, SetupRow, SetupRow)> = Vec::new();
    let mut seen: Vec<HashSet<Box<[u8]>>> = plan.targets.iter().map(|_| HashSet::new()).collect();
    let mut frame = Frame::new(statement, None, plan.frame_width);
    let mut source = op::Builder::of(statement).build(&plan.source);
    source.open(&mut frame)?;
    while source.next(&mut frame)? {
        for (n, target) in plan.targets.iter().enumerate() {
            if !holds(&target.table) {
                return Err(Error::unsupported("an UPDATE of performance_schema together with other tables"));
            }
            // A join may find a row several times, or none.
            let Value::Bytes(key) = frame.slots[target.key_slot].clone() else { continue };
            if !seen[n].insert(key) {
                continue;
            }
            changed.found += 1;
            let before: SetupRow = target.column_slots.iter().map(|slot| frame.slots[*slot].clone()).collect();
            let after = assigned(target, &mut frame, statement, plan.ignore)?;
            let changes_name =
                |set: &Assignment| !system::setup::may_change(&target.table.name, &target.table.columns[set.column].name);
            if before != after && target.assignments.iter().any(changes_name) {
                return Err(Error::new(&ER_WRONG_PERFSCHEMA_USAGE, &[]));
            }
            target.column_slots.iter().zip(&before).for_each(|(slot, value)| frame.slots[*slot].clone_from(value));
            statement.keep_bytes(48 * before.len())?;
            changes.push((n, before, after));
        }
    }
    for (n, before, after) in changes {
        let table = &plan.targets[n].table;
        changed.affected += u64::from(system::setup::change(statement.server, &table.name, &before, after)?);
    }
    let warnings = statement.session.warning_count();
    changed.info = format!("Rows matched: {}  Changed: {}  Warnings: {}", changed.found, changed.affected, warnings);
    Ok(changed)
}

/// The row in the frame with the assignments.
fn assigned(target: &UpdateTarget, frame: &mut Frame<'_>, statement: &Execution<'_>, ignore: bool) -> Result<SetupRow> {
    let values = RowBuilder::new(statement, &target.table, ignore);
    for assignment in &target.assignments {
        let value = match &assignment.value {
            Some(expr) => {
                let value = expr.eval(&frame.cx())?.into_owned();
                values.check_null(values.convert(value, &expr.ty, assignment.column)?, assignment.column, true)?
            }
            None => system::setup::default_of(&target.table, assignment.column),
        };
        frame.slots[target.column_slots[assignment.column]] = value;
    }
    Ok(target.column_slots.iter().map(|slot| frame.slots[*slot].clone()).collect())
}

/// Error 1142, for whoever it is, where rows neither come nor go.
fn refuse_unless_grows(table: &TableDef, privilege: &str, statement: &Execution<'_>) -> Result<()> {
    match system::setup::grows(&table.name) {
        true => Ok(()),
        false => Err(statement.server.denied(privilege, &table.name)),
    }
}

pub fn delete(plan: &DeletePlan, statement: &Execution<'_>) -> Result<Changed> {
    if plan.targets.iter().any(|target| !holds(&target.table)) {
        return Err(Error::unsupported("a DELETE from performance_schema together with other tables"));
    }
    plan.targets.iter().try_for_each(|target| refuse_unless_grows(&target.table, "DELETE", statement))?;
    let mut rows: Vec<(usize, SetupRow)> = Vec::new();
    let mut frame = Frame::new(statement, None, plan.frame_width);
    let mut source = op::Builder::of(statement).build(&plan.source);
    source.open(&mut frame)?;
    while source.next(&mut frame)? {
        for (n, target) in plan.targets.iter().enumerate() {
            if !frame.slots[target.key_slot].is_null() {
                let row: SetupRow = target.column_slots.iter().map(|slot| frame.slots[*slot].clone()).collect();
                statement.keep_bytes(24 * row.len())?;
                rows.push((n, row));
            }
        }
    }
    let mut changed = Changed::default();
    for (n, row) in rows {
        changed.affected += u64::from(system::setup::delete(statement.server, &plan.targets[n].table.name, &row));
    }
    changed.found = changed.affected;
    Ok(changed)
}

pub fn insert(plan: &InsertPlan, statement: &Execution<'_>) -> Result<Changed> {
    refuse_unless_grows(&plan.table, "INSERT", statement)?;
    let several_rows = match &plan.source {
        InsertSource::Values(rows) => rows.len() > 1,
        InsertSource::Literals(values) => values.rows.len() > 1,
        InsertSource::Query(_) => true,
    };
    let mut new = NewRows { plan, values: RowBuilder::new(statement, &plan.table, plan.ignore), several_rows, rows: Vec::new() };
    match &plan.source {
        InsertSource::Values(rows) => {
            let frame = Frame::new(statement, None, plan.frame_width.max(2 * plan.table.columns.len()));
            for exprs in rows {
                new.add(exprs.iter().map(|expr| {
                    let Some(expr) = expr else { return Ok(None) };
                    Ok(Some((expr.eval(&frame.cx())?.into_owned(), expr.ty.clone())))
                }))?;
            }
        }
        InsertSource::Literals(values) => {
            let given = |cell| {
                let (value, ty) = values.value(cell);
                Ok(Some((value, ty.into_owned())))
            };
            values.rows.rows().try_for_each(|cells| new.add(cells.iter().copied().map(given)))?;
        }
        InsertSource::Query(query) => {
            let types: Vec<ColumnType> = query.output.iter().map(|column| column.expr.ty.clone()).collect();
            for row in crate::query::collect(query, statement, None)? {
                new.add(row.into_iter().zip(&types).map(|(value, ty)| Ok(Some((value, ty.clone())))))?;
            }
        }
    }
    write(plan, statement, new.rows, several_rows)
}

struct NewRows<'a> {
    plan: &'a InsertPlan,
    values: RowBuilder<'a>,
    several_rows: bool,
    rows: Vec<SetupRow>,
}

impl NewRows<'_> {
    /// A row of which these are given, in the order of the statement's columns; `None` is DEFAULT.
    fn add(&mut self, given: impl Iterator<Item = Result<Option<(Value, ColumnType)>>>) -> Result<()> {
        let table = &self.plan.table;
        let mut row: SetupRow = (0..table.columns.len()).map(|column| system::setup::default_of(table, column)).collect();
        self.values.row = self.rows.len() as u64 + 1;
        for (value, &position) in given.zip(&self.plan.columns) {
            let Some((value, ty)) = value? else { continue };
            row[position] = self.values.check_null(self.values.convert(value, &ty, position)?, position, self.several_rows)?;
        }
        if self.rows.len() > SETUP_ROWS_MAX {
            return Err(Error::new(&ER_RECORD_FILE_FULL, &[&table.name]));
        }
        self.rows.push(row);
        Ok(())
    }
}

/// Error 1022 of a row that is there, under IGNORE a warning. There is no REPLACE, as in MySQL.
fn write(plan: &InsertPlan, statement: &Execution<'_>, rows: Vec<SetupRow>, several_rows: bool) -> Result<Changed> {
    let mut changed = Changed::default();
    let records = rows.len();
    for row in rows {
        match system::setup::insert(statement.server, &plan.table.name, row) {
            Ok(()) => changed.affected += 1,
            Err(error) if plan.ignore && error.is(&ER_DUP_KEY) => statement.session.warn(Level::Warning, error),
            Err(error) => return Err(error),
        }
    }
    changed.found = changed.affected;
    if several_rows {
        let duplicates = records as u64 - changed.affected;
        let warnings = statement.session.warning_count();
        changed.info = format!("Records: {records}  Duplicates: {duplicates}  Warnings: {warnings}");
    }
    Ok(changed)
}
