//! Which slots a subtree of nodes fills and which it reads of rows that others give.

use std::collections::BTreeSet;

use vaquita_plan::expr::Slot;
use vaquita_plan::node::Node;
use vaquita_plan::visit;

/// The slots that the nodes below and `node` itself fill.
fn filled(node: &Node, out: &mut BTreeSet<Slot>) {
    match node {
        Node::Scan(scan) => {
            out.extend(scan.columns.iter().map(|(_, slot)| *slot));
            out.extend(scan.computed.iter().map(|column| column.slot));
            out.extend(scan.key_slot);
        }
        Node::Derived { slots, .. }
        | Node::SetOp { slots, .. }
        | Node::Values { slots, .. }
        | Node::RecursiveCte { slots, .. }
        | Node::CteRows { slots, .. } => out.extend(slots),
        Node::JsonTable { table, .. } => out.extend(&table.slots),
        Node::Aggregate { keys, aggregates, .. } => {
            out.extend(keys.iter().map(|(_, slot)| *slot));
            out.extend(aggregates.iter().map(|a| a.slot));
        }
        Node::Window { windows, .. } => out.extend(windows.iter().map(|w| w.slot)),
        Node::Compute { values, .. } => out.extend(values.iter().map(|(_, slot)| *slot)),
        Node::RowCount { slot, .. } => {
            out.insert(*slot);
        }
        _ => {}
    }
    visit::inputs(node, &mut |input| filled(input, out));
}

/// The slots that rows of `node` are in.
pub fn filled_slots(node: &Node) -> Vec<Slot> {
    let mut slots = BTreeSet::new();
    filled(node, &mut slots);
    slots.into_iter().collect()
}

fn read(node: &Node, out: &mut Vec<Slot>) {
    visit::for_each_expr(node, &mut |expr| out.extend(visit::slots(expr)));
    visit::for_each_plan(node, &mut |plan| visit::plan_slots(plan, 1, out));
    visit::inputs(node, &mut |input| read(input, out));
}

/// The rows of `node` are the same whatever is in slots that other nodes fill.
pub fn is_independent(node: &Node) -> bool {
    let (mut fills, mut reads) = (BTreeSet::new(), Vec::new());
    filled(node, &mut fills);
    read(node, &mut reads);
    !holds_cte_rows(node) && reads.iter().all(|slot| fills.contains(slot))
}

fn holds_cte_rows(node: &Node) -> bool {
    let mut found = matches!(node, Node::CteRows { .. });
    visit::inputs(node, &mut |input| found |= holds_cte_rows(input));
    found
}

/// Adds the slots of rows' clustered keys, which UPDATE and DELETE read beside the columns.
pub fn key_slots(node: &Node, out: &mut Vec<Slot>) {
    if let Node::Scan(scan) = node
        && let Some(slot) = scan.key_slot
        && !out.contains(&slot)
    {
        out.push(slot);
    }
    visit::inputs(node, &mut |input| key_slots(input, out));
}

/// Each row of `node` fills all of its slots anew and reads none of the row before: what is in them may be moved away.
pub fn refills(node: &Node) -> bool {
    match node {
        Node::Scan(_) | Node::Values { .. } | Node::Derived { .. } | Node::SetOp { .. } => true,
        Node::Filter { input, .. } | Node::Limit { input, .. } | Node::Distinct { input, .. } | Node::Compute { input, .. } => {
            refills(input)
        }
        Node::Append { inputs } => inputs.iter().all(refills),
        // Both give saved rows.
        Node::Sort { .. } | Node::Window { .. } => true,
        Node::Aggregate { sorted_input, .. } => !*sorted_input,
        _ => false,
    }
}
