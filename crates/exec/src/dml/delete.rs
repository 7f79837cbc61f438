//! DELETE from one or several tables. Rows of one are deleted as they are found (`stream`), else all are found and locked first.

use std::collections::HashSet;

use vaquita_plan::env::Level;
use vaquita_plan::node::DeletePlan;
use vaquita_storage::{LockMode, Table};
use vaquita_types::errno::ER_WARN_VIEW_WITHOUT_KEY;
use vaquita_types::{Error, Result, Value};

use super::change::{StoredRows, TableChange};
use super::stream::{self, Order};
use super::{Changed, SEEN_KEY_BYTES};
use crate::context::{Execution, Frame};
use crate::op;

pub fn run(plan: &DeletePlan, statement: &Execution<'_>) -> Result<Changed> {
    let mut changed = Changed::default();
    if plan.lacks_key {
        statement.session.warn(Level::Note, Error::new(&ER_WARN_VIEW_WITHOUT_KEY, &[]));
    }
    let order = stream::of_delete(&plan.source, plan.targets.len(), statement);
    match &plan.targets[..] {
        [target] if order != Order::Collect => {
            let table = statement.open_table(&target.table, LockMode::IX)?;
            let mut rows = Rows::of(statement, &table, plan.ignore)?;
            let _hidden = (order == Order::StreamBehindOwn).then(|| statement.hide_own_writes());
            for_each(plan, statement, |_, key| {
                changed.affected += u64::from(rows.delete(key, plan.ignore)?);
                Ok(())
            })?;
        }
        _ => {
            let mut keys: Vec<Vec<Box<[u8]>>> = plan.targets.iter().map(|_| Vec::new()).collect();
            for_each(plan, statement, |target, key| {
                statement.keep_bytes(key.len() + 16)?;
                keys[target].push(key.into());
                Ok(())
            })?;
            for n in children_first(plan) {
                let (target, keys) = (&plan.targets[n], std::mem::take(&mut keys[n]));
                let table = statement.open_table(&target.table, LockMode::IX)?;
                let mut rows = Rows::of(statement, &table, plan.ignore)?;
                for key in keys {
                    changed.affected += u64::from(rows.delete(&key, plan.ignore)?);
                }
            }
        }
    }
    changed.found = changed.affected;
    Ok(changed)
}

/// The targets, each before the parents of its foreign keys.
fn children_first(plan: &DeletePlan) -> Vec<usize> {
    let refers = |child: usize, parent: usize| {
        let parent = plan.targets[parent].table.qualified_name();
        plan.targets[child].table.foreign_keys.iter().any(|key| key.parent == parent)
    };
    let mut left: Vec<usize> = (0..plan.targets.len()).collect();
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let free = left.iter().position(|n| !left.iter().any(|other| other != n && refers(*other, *n)));
        order.push(left.remove(free.unwrap_or(0)));
    }
    order
}

/// The rows of a target.
struct Rows<'a> {
    rows: StoredRows<'a>,
    /// Of a table with triggers.
    triggered: Option<Box<TableChange<'a>>>,
}

impl<'a> Rows<'a> {
    fn of(statement: &'a Execution<'a>, table: &'a Table, ignore: bool) -> Result<Rows<'a>> {
        let triggered = match table.def.triggers.is_empty() {
            true => None,
            false => Some(Box::new(TableChange::new(statement, table, None, ignore)?)),
        };
        Ok(Rows { rows: StoredRows::within(statement, table, None)?, triggered })
    }

    fn delete(&mut self, key: &[u8], ignore: bool) -> Result<bool> {
        match &mut self.triggered {
            Some(change) => change.delete(key),
            None if ignore => Ok(self.rows.ignoring(|rows| rows.delete(key))?.unwrap_or(false)),
            None => self.rows.delete(key),
        }
    }
}

/// Calls `f` with the target and the key of each row that is to be deleted.
fn for_each(plan: &DeletePlan, statement: &Execution<'_>, mut f: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
    let mut seen: Vec<HashSet<Box<[u8]>>> = plan.targets.iter().map(|_| HashSet::new()).collect();
    let mut frame = Frame::new(statement, None, plan.frame_width);
    let mut source = op::Builder::of(statement).build(&plan.source);
    source.open(&mut frame)?;
    let joined = super::is_join(&plan.source);
    while source.next(&mut frame)? {
        for (n, target) in plan.targets.iter().enumerate() {
            let Value::Bytes(key) = &frame.slots[target.key_slot] else { continue };
            if joined {
                if !seen[n].insert(key.clone()) {
                    continue;
                }
                statement.keep_bytes(key.len() + SEEN_KEY_BYTES)?;
            }
            f(n, key)?;
        }
    }
    Ok(())
}
