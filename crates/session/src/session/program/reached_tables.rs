//! Which tables a plan changes: those that it names, and those to which foreign keys lead from them because of what it does.
//!
//! Example: with `c.pid REFERENCES p (id) ON UPDATE CASCADE` an `UPDATE p SET counter = 1` changes p alone, an `UPDATE p SET id = 2`
//! changes c, too, and a DELETE changes p alone or fails.

use vaquita_plan::node::Plan;
use vaquita_storage::SessionCatalog;
use vaquita_storage::foreign_keys::parent_columns;
use vaquita_types::Result;
use vaquita_types::schema::{ColumnId, ReferentialAction, TableDef, TableRef, TriggerEvent, TriggerTime};

/// What happens to rows of one table.
struct Reached {
    table: TableRef,
    deletes: bool,
    /// Columns that may get another value.
    updates: Vec<ColumnId>,
}

/// How a plan changes the rows of a table that it names.
struct Named<'p> {
    table: &'p TableRef,
    deletes: bool,
    /// Positions of the columns that it assigns.
    assigns: Vec<usize>,
}

/// The tables that the plan changes or locks, then those that cascades change with them.
pub(super) fn of_plan(plan: &Plan, catalog: &SessionCatalog, cascade_triggers: bool) -> Result<Vec<TableRef>> {
    let mut reached: Vec<Reached> = Vec::new();
    for Named { table, deletes, assigns } in named(plan) {
        note(&mut reached, table, deletes, updated(table, &assigns, true));
    }
    let mut at = 0;
    while let Some(parent) = reached.get(at) {
        let mut changes: Vec<(TableRef, bool, Vec<ColumnId>)> = Vec::new();
        for name in &parent.table.referenced_by {
            let Some(child) = catalog.table(&name.database, &name.name)?.map(|child| child.def.clone()) else { continue };
            for key in child.foreign_keys.iter().filter(|key| key.parent == parent.table.qualified_name()) {
                // A parent that was made again without the columns has no children.
                let Ok(of_key) = parent_columns(key, &parent.table) else { continue };
                let is_updated = of_key.iter().any(|column| parent.updates.contains(column)) && key.on_update.changes_children();
                let is_deleted = parent.deletes && key.on_delete.changes_children();
                let deletes = is_deleted && key.on_delete == ReferentialAction::Cascade;
                let sets = is_updated || is_deleted && !deletes;
                let columns: Vec<usize> = match sets {
                    true => key.columns.iter().filter_map(|column| child.position_of(*column)).collect(),
                    false => Vec::new(),
                };
                if sets || deletes {
                    changes.push((child.clone(), deletes, updated(&child, &columns, cascade_triggers)));
                }
            }
        }
        at += 1;
        for (table, deletes, updates) in changes {
            // What is known of a table before this one has grown: it is gone through again.
            if let Some(grown) = note(&mut reached, &table, deletes, updates) {
                at = at.min(grown);
            }
        }
    }
    Ok(reached.into_iter().map(|reached| reached.table).collect())
}

/// The place of the table if more is known of it now.
fn note(reached: &mut Vec<Reached>, table: &TableRef, deletes: bool, updates: Vec<ColumnId>) -> Option<usize> {
    let Some(at) = reached.iter().position(|known| known.table.id == table.id) else {
        reached.push(Reached { table: table.clone(), deletes, updates });
        return Some(reached.len() - 1);
    };
    let known = &mut reached[at];
    let before = (known.deletes, known.updates.len());
    known.deletes |= deletes;
    let new: Vec<ColumnId> = updates.into_iter().filter(|column| !known.updates.contains(column)).collect();
    known.updates.extend(new);
    (before != (known.deletes, known.updates.len())).then_some(at)
}

/// The columns that may change with those that are assigned: what is generated or kept up to date, and with a trigger BEFORE all of them.
fn updated(table: &TableDef, assigns: &[usize], fires: bool) -> Vec<ColumnId> {
    if assigns.is_empty() {
        return Vec::new();
    }
    let sets_any = fires && table.triggers_at(TriggerEvent::Update, TriggerTime::Before).next().is_some();
    let columns = table.columns.iter().enumerate();
    let changes =
        columns.filter(|(n, column)| sets_any || column.generated.is_some() || column.on_update_now || assigns.contains(n));
    changes.map(|(_, column)| column.id).collect()
}

fn named(plan: &Plan) -> Vec<Named<'_>> {
    match plan {
        Plan::Query(query) => query.for_update.iter().map(|table| Named { table, deletes: false, assigns: Vec::new() }).collect(),
        Plan::Insert(insert) => {
            // REPLACE deletes the row that is there, or gives it the new values.
            let assigns = match insert.replace {
                true => (0..insert.table.columns.len()).collect(),
                false => insert.on_duplicate.iter().map(|assignment| assignment.column).collect(),
            };
            vec![Named { table: &insert.table, deletes: insert.replace, assigns }]
        }
        Plan::Update(update) => {
            let targets = update.targets.iter().map(|target| {
                let assigns = target.assignments.iter().map(|assignment| assignment.column).collect();
                Named { table: &target.table, deletes: false, assigns }
            });
            targets.collect()
        }
        Plan::Delete(delete) => {
            delete.targets.iter().map(|target| Named { table: &target.table, deletes: true, assigns: Vec::new() }).collect()
        }
    }
}
