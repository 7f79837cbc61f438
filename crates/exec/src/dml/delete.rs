//! DELETE from one or several tables: rows are found and locked first, deleted afterwards.

use std::collections::HashSet;

use vaquita_plan::node::DeletePlan;
use vaquita_storage::{Buffers, LockMode, Version};
use vaquita_types::{Result, Value};

use super::Changed;
use crate::context::Statement;
use crate::op::{self, Frame};

pub fn run(plan: &DeletePlan, statement: &Statement<'_>) -> Result<Changed> {
    let mut keys: Vec<Vec<Box<[u8]>>> = plan.targets.iter().map(|_| Vec::new()).collect();
    {
        let mut seen: Vec<HashSet<Box<[u8]>>> = plan.targets.iter().map(|_| HashSet::new()).collect();
        let mut frame = Frame::new(statement, None, plan.frame_width);
        let mut source = op::build(&plan.source);
        source.open(&mut frame)?;
        let joined = super::is_join(&plan.source);
        while source.next(&mut frame)? {
            for (n, target) in plan.targets.iter().enumerate() {
                let Value::Bytes(key) = &frame.slots[target.key_slot] else { continue };
                if joined && !seen[n].insert(key.clone()) {
                    continue;
                }
                statement.keep_bytes(key.len() + 16)?;
                keys[n].push(key.clone());
            }
        }
    }
    let mut changed = Changed::default();
    let mut buffers = Buffers::default();
    let mut value = Vec::new();
    for (target, keys) in plan.targets.iter().zip(keys) {
        let table = statement.open_table(&target.table, LockMode::IX)?;
        for key in keys {
            let mut txn = statement.txn.borrow_mut();
            if !txn.get(&key, Version::Latest, &mut value)? {
                continue;
            }
            let old = table.codec.decode_row(&key, &value)?;
            table.delete(&mut txn, &key, &old, statement.lock_wait(), &mut buffers)?;
            changed.affected += 1;
        }
    }
    changed.found = changed.affected;
    Ok(changed)
}
