//! Takes out of each scan the columns that nothing reads once the paths are chosen.
//!
//! A condition that became a key range is not evaluated again, so its column need not be decoded; and an index whose entries
//! do not give that column back may cover the query without it. Example: in `SELECT id FROM t WHERE name = 'a'` the range on the index of `name`
//! is all that is left of the condition, and the entry holds `id`.

use vaquita_types::schema::{IndexDef, TableDef};

use super::{generated, path};
use crate::expr::Slot;
use crate::node::{AccessPath, Node, OutputColumn, Scan};
use crate::visit;

/// `root` is a whole query block and `output` what is sent of it.
pub fn prune_columns(root: &mut Node, output: &[OutputColumn]) {
    let mut read = Vec::new();
    output.iter().for_each(|o| visit::expr_slots(&o.expr, 0, &mut read));
    visit::node_slots(root, 0, &mut read);
    each_scan(root, &mut |scan| prune(scan, &read));
}

fn prune(scan: &mut Scan, read: &[Slot]) {
    generated::keep_read(scan, read);
    if let AccessPath::Range { index, covering, .. } = &mut scan.path
        && *index != 0
        && scan.lock.is_none()
        && scan.key_slot.is_none()
        && let Some(def) = scan.table.indexes.get(*index)
    {
        *covering = !def.multi_valued && covers(&scan.table, def, &scan.columns);
    }
}

fn covers(table: &TableDef, index: &IndexDef, columns: &[(usize, Slot)]) -> bool {
    columns.iter().all(|(column, _)| path::restores(table, index, *column))
}

fn each_scan(node: &mut Node, f: &mut dyn FnMut(&mut Scan)) {
    match node {
        Node::Scan(scan) => f(scan),
        Node::Filter { input, .. }
        | Node::Sort { input, .. }
        | Node::Limit { input, .. }
        | Node::Aggregate { input, .. }
        | Node::Distinct { input, .. }
        | Node::Compute { input, .. }
        | Node::Window { input, .. } => each_scan(input, f),
        Node::NestedLoop { outer, inner, .. } => {
            each_scan(outer, f);
            each_scan(inner, f);
        }
        Node::HashJoin { probe, build, .. } => {
            each_scan(probe, f);
            each_scan(build, f);
        }
        Node::Append { inputs } => inputs.iter_mut().for_each(|input| each_scan(input, f)),
        _ => {}
    }
}
