//! UPDATE of one or several tables.
//!
//! Rows are changed as they are found where the scan cannot meet its own changes (`stream`); else they are found, locked and
//! evaluated first and changed afterwards. Assignments see the values that earlier ones gave
//! the same table, and of other tables those that they had, as in MySQL.

use std::collections::HashSet;

use vaquita_plan::env::Level;
use vaquita_plan::node::UpdatePlan;
use vaquita_storage::LockMode;
use vaquita_types::errno::ER_WARN_VIEW_WITHOUT_KEY;
use vaquita_types::{Error, Result, Value};

use super::change::{Assigned, Evaluated, Found, TableChange, Update};
use super::stream::{self, Order};
use super::{Changed, SEEN_KEY_BYTES};
use crate::context::{Execution, Frame, heap_bytes};
use crate::op;

pub fn run(plan: &UpdatePlan, statement: &Execution<'_>) -> Result<Changed> {
    let mut tables = Vec::with_capacity(plan.targets.len());
    for target in &plan.targets {
        tables.push(statement.open_table(&target.table, LockMode::IX)?);
    }
    if plan.lacks_key {
        statement.session.warn(Level::Note, Error::new(&ER_WARN_VIEW_WITHOUT_KEY, &[]));
    }
    let mut changes: Vec<TableChange<'_>> = Vec::with_capacity(tables.len());
    for (table, target) in tables.iter().zip(&plan.targets) {
        let change = TableChange::new(statement, table, target.partitions.as_ref(), plan.ignore)?;
        changes.push(change.through_view(target.through.as_deref()));
    }
    let mut changed = Changed::default();
    let order = stream::of_update(plan, statement);
    let may_change = may_change_before(plan);
    let mut collected: Vec<Vec<(Box<[u8]>, Waiting)>> = plan.targets.iter().map(|_| Vec::new()).collect();
    {
        let _hidden = (order == Order::StreamBehindOwn).then(|| statement.hide_own_writes());
        let collects = order == Order::Collect;
        let waits = if collects { Some(&may_change[..]) } else { None };
        for_each(plan, statement, (&mut changes, waits), &mut changed, |target, change, key, waiting| {
            let new = match &waiting {
                Waiting::Update(update) if !collects => return change.update(&key, update),
                Waiting::Update(update) => &update.new,
                Waiting::Assigned { assigned, .. } => &assigned.new,
            };
            let values: usize = new.iter().map(heap_bytes).sum();
            statement.keep_bytes(key.len() + 48 * new.len() + values)?;
            if let Waiting::Assigned { assigned, slots, .. } = &waiting {
                let values: usize = assigned.before.iter().chain(slots).map(heap_bytes).sum();
                statement.keep_bytes(24 * slots.len() + values)?;
            }
            collected[target].push((key, waiting));
            Ok(false)
        })?;
    }
    for (n, (change, updates)) in changes.iter_mut().zip(collected).enumerate() {
        for (key, waiting) in updates {
            let update = match waiting {
                Waiting::Update(update) => update,
                Waiting::Assigned { assigned, slots, row } => {
                    change.values.row = row;
                    let found = Found { key: &key, stored: None, is_joined: true, several_rows: true };
                    let assignments = &plan.targets[n].assignments;
                    let evaluated = match may_change[n] {
                        true => change.finish_again(assignments, &assigned, &slots, found)?,
                        false => change.finish(assignments, assigned, &slots, found)?,
                    };
                    match evaluated {
                        Evaluated::Update(update) => update,
                        Evaluated::Same | Evaluated::Refused => continue,
                    }
                }
            };
            changed.affected += u64::from(change.update(&key, &update)?);
        }
    }
    let warnings = statement.session.warning_count();
    changed.info = format!("Rows matched: {}  Changed: {}  Warnings: {}", changed.found, changed.affected, warnings);
    Ok(changed)
}

/// For each target: whether a row may have become another when its turn comes, under another name of its table, or by a foreign key with its
/// parent.
fn may_change_before(plan: &UpdatePlan) -> Vec<bool> {
    let targets = plan.targets.iter().enumerate();
    let may_change = targets.map(|(n, target)| {
        let has_another_name = plan.targets[..n].iter().any(|before| before.table.id == target.table.id);
        has_another_name || n > 0 && !target.table.foreign_keys.is_empty()
    });
    may_change.collect()
}

/// What is changed when all rows are found.
enum Waiting {
    Update(Update),
    /// Of a table with triggers, which run when the row is written, or of a row that may have become another by then.
    Assigned {
        assigned: Assigned,
        /// Those of the statement, if a view asks for them.
        slots: Vec<Value>,
        row: u64,
    },
}

/// Finds the rows and evaluates the assignments of each target over them; `f` gets the key and the update of each row that changes, and
/// says whether it was written. `waits`: for each target, if all rows are found before one is written, whether nothing is known of the row then.
fn for_each<'a>(
    plan: &UpdatePlan,
    statement: &'a Execution<'a>,
    (changes, waits): (&mut [TableChange<'a>], Option<&[bool]>),
    changed: &mut Changed,
    mut f: impl FnMut(usize, &mut TableChange<'a>, Box<[u8]>, Waiting) -> Result<bool>,
) -> Result<()> {
    let mut seen: Vec<HashSet<Box<[u8]>>> = plan.targets.iter().map(|_| HashSet::new()).collect();
    let mut frame = Frame::new(statement, None, plan.frame_width);
    let mut source = op::Builder::of(statement).build(&plan.source);
    source.open(&mut frame)?;
    let mut row = 0;
    let joined = super::is_join(&plan.source);
    while source.next(&mut frame)? {
        row += 1;
        for (n, (target, change)) in plan.targets.iter().zip(changes.iter_mut()).enumerate() {
            let Value::Bytes(key) = frame.slots[target.key_slot].clone() else { continue };
            if joined {
                if !seen[n].insert(key.clone()) {
                    continue;
                }
                statement.keep_bytes(key.len() + SEEN_KEY_BYTES)?;
            }
            changed.found += 1;
            change.values.row = row;
            let found = Found { key: &key, stored: None, is_joined: joined, several_rows: true };
            if waits.is_some_and(|may_change| may_change[n] || change.fires_update()) {
                let assigned = change.assigned(&target.assignments, &target.column_slots, &mut frame, &found)?;
                let slots = if target.through.is_some() { frame.slots.clone() } else { Vec::new() };
                changed.affected += u64::from(f(n, change, key, Waiting::Assigned { assigned, slots, row })?);
                continue;
            }
            let evaluated = change.evaluate(&target.assignments, &target.column_slots, &mut frame, found)?;
            if let Evaluated::Update(update) = evaluated {
                changed.affected += u64::from(f(n, change, key, Waiting::Update(update))?);
            }
        }
    }
    Ok(())
}
