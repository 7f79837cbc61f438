//! UPDATE of one or several tables.
//!
//! Rows are changed as they are found where the scan cannot meet its own changes (`stream`); else they are found, locked and
//! evaluated first and changed afterwards. Assignments see the values that earlier ones gave, as in MySQL.

use std::collections::HashSet;

use vaquita_plan::env::Level;
use vaquita_plan::node::{Assignment, UpdatePlan, UpdateTarget};
use vaquita_storage::{Buffers, LockMode, Table, Written};
use vaquita_types::schema::TableDef;
use vaquita_types::{Result, Value};

use super::Changed;
use super::row::RowBuilder;
use super::stream::{self, Order};
use crate::context::Statement;
use crate::op::{self, Frame};

/// A row to be changed.
struct Change {
    key: Box<[u8]>,
    old: Vec<Value>,
    new: Vec<Value>,
}

pub fn run(plan: &UpdatePlan, statement: &Statement<'_>) -> Result<Changed> {
    let mut tables = Vec::with_capacity(plan.targets.len());
    for target in &plan.targets {
        tables.push(statement.open_table(&target.table, LockMode::IX)?);
    }
    let mut changes: Vec<Vec<Change>> = plan.targets.iter().map(|_| Vec::new()).collect();
    let mut seen: Vec<HashSet<Box<[u8]>>> = plan.targets.iter().map(|_| HashSet::new()).collect();
    let mut changed = Changed::default();
    let mut buffers = Buffers::default();
    let order = stream::of_update(plan, statement);
    {
        let _hidden = (order == Order::StreamBehindOwn).then(|| statement.hide_own_writes());
        let mut builders: Vec<_> = tables.iter().map(|table| RowBuilder::new(statement, &table.def, plan.ignore)).collect();
        let mut frame = Frame::new(statement, None, plan.frame_width);
        let mut source = op::build(&plan.source);
        source.open(&mut frame)?;
        let mut row = 0;
        let joined = super::is_join(&plan.source);
        while source.next(&mut frame)? {
            row += 1;
            for (n, target) in plan.targets.iter().enumerate() {
                let Value::Bytes(key) = frame.slots[target.key_slot].clone() else { continue };
                if joined && !seen[n].insert(key.clone()) {
                    continue;
                }
                changed.found += 1;
                builders[n].row = row;
                let Some(change) = evaluate(target, &tables[n], key, &mut builders[n], &mut frame)? else { continue };
                if order != Order::Collect {
                    changed.affected += u64::from(apply(&tables[n], &change, statement, plan.ignore, &mut buffers)?);
                } else {
                    let values: usize = change.new.iter().map(op::heap_bytes).sum();
                    statement.keep_bytes(change.key.len() + 48 * change.new.len() + values)?;
                    changes[n].push(change);
                }
            }
        }
    }
    for (n, table) in tables.iter().enumerate() {
        for change in &changes[n] {
            changed.affected += u64::from(apply(table, change, statement, plan.ignore, &mut buffers)?);
        }
    }
    let warnings = statement.session.warning_count();
    changed.info = format!("Rows matched: {}  Changed: {}  Warnings: {}", changed.found, changed.affected, warnings);
    Ok(changed)
}

/// The new row, or `None` if nothing changes.
fn evaluate(
    target: &UpdateTarget,
    table: &Table,
    key: Box<[u8]>,
    builder: &mut RowBuilder<'_>,
    frame: &mut Frame<'_>,
) -> Result<Option<Change>> {
    let before: Vec<Value> = target.column_slots.iter().map(|slot| frame.slots[*slot].clone()).collect();
    assign(&target.assignments, &target.column_slots, builder, frame)?;
    let mut new: Vec<Value> = target.column_slots.iter().map(|slot| frame.slots[*slot].clone()).collect();
    if new == before {
        return Ok(None);
    }
    touch_on_update(&table.def, &target.assignments, builder, &mut new);
    if !builder.check_constraints(&new)? {
        return Ok(None);
    }
    builder.to_utc(&mut new)?;
    let mut old = before;
    builder.to_utc(&mut old)?;
    Ok(Some(Change { key, old, new }))
}

/// Evaluates assignments left to right into the slots of the row.
pub fn assign(assignments: &[Assignment], slots: &[usize], builder: &RowBuilder<'_>, frame: &mut Frame<'_>) -> Result<()> {
    for assignment in assignments {
        let value = match &assignment.value {
            Some(expr) => {
                let value = expr.eval(&frame.cx())?.into_owned();
                let value = builder.convert(value, &expr.ty, assignment.column)?;
                builder.check_null(value, assignment.column, true)?
            }
            None => builder.default(assignment.column, true)?.unwrap_or(Value::Null),
        };
        frame.slots[slots[assignment.column]] = value;
    }
    Ok(())
}

/// `ON UPDATE CURRENT_TIMESTAMP` of columns that the statement does not set.
pub fn touch_on_update(def: &TableDef, assignments: &[Assignment], builder: &RowBuilder<'_>, row: &mut [Value]) {
    for (position, column) in def.columns.iter().enumerate() {
        if column.on_update_now && !assignments.iter().any(|a| a.column == position) {
            row[position] = builder.now(column);
        }
    }
}

fn apply(table: &Table, change: &Change, statement: &Statement<'_>, ignore: bool, buffers: &mut Buffers) -> Result<bool> {
    let written = {
        let mut txn = statement.txn.borrow_mut();
        table.update(&mut txn, &change.key, &change.old, &change.new, statement.lock_wait(), buffers)?
    };
    match written {
        Written::Done => Ok(true),
        Written::Skipped => Ok(false),
        Written::Duplicate(duplicate) => {
            let error = table.duplicate_error(&duplicate, &change.new);
            if !ignore {
                return Err(error);
            }
            statement.session.warn(Level::Warning, error);
            Ok(false)
        }
    }
}
