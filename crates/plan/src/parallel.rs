//! Which inputs can be read in parts: several threads run the same operators, each on its share of one scan's rows.
//!
//! The scan is the *driving* one: the table that a tree of joins reads first. Whatever else the tree reads, each thread
//! reads whole. Expressions must have the same value whoever evaluates them and wherever: no variables, no random
//! numbers, no subqueries, nothing of an enclosing query.

use crate::expr::{Expr, ExprKind};
use crate::node::{AccessPath, JoinKind, Node, Scan};
use crate::visit::{children, for_each_expr, inputs};

/// The scan to divide; `None` if the input cannot be read in parts.
pub fn driving_scan(input: &Node) -> Option<&Scan> {
    let mut pure = true;
    all_pure(input, &mut pure);
    if !pure {
        return None;
    }
    let mut node = input;
    loop {
        node = match node {
            Node::Filter { input, .. } => input,
            Node::NestedLoop { outer, .. } => outer,
            Node::HashJoin { probe, .. } => probe,
            Node::Scan(scan) => {
                let divides = matches!(scan.path, AccessPath::Full { .. } | AccessPath::Range { .. });
                // The partitions of a table are read one after the other.
                return (divides && scan.partitions.is_none() && !scan.reads_elements()).then_some(&**scan);
            }
            _ => return None,
        };
    }
}

/// How many rows the input reads one by one, each at a place of its own, about: by a secondary index, or as what a row of a nested loop
/// leads to.
pub fn lookups(input: &Node) -> f64 {
    rows_and_lookups(input).1
}

fn rows_and_lookups(node: &Node) -> (f64, f64) {
    match node {
        Node::Scan(scan) => {
            let rows = scan.rows_estimate as f64;
            let fetches = match &scan.path {
                AccessPath::Range { index, covering, .. } => *index > 0 && !covering,
                AccessPath::Point { .. } | AccessPath::FullText { .. } => true,
                AccessPath::Full { .. } | AccessPath::System => false,
            };
            (rows, if fetches { rows } else { 0.0 })
        }
        Node::Filter { input, .. } | Node::HashJoin { probe: input, .. } => rows_and_lookups(input),
        Node::NestedLoop { kind, outer, inner, .. } => {
            let (rows, lookups) = rows_and_lookups(outer);
            let found = rows_and_lookups(inner).0.max(1.0);
            let given = if matches!(kind, JoinKind::Semi | JoinKind::Anti) { rows } else { rows * found };
            (given, lookups + rows * found)
        }
        _ => (0.0, 0.0),
    }
}

/// The scans of an input that `driving_scan` accepts.
pub fn scans<'p>(input: &'p Node, f: &mut dyn FnMut(&'p Scan)) {
    if let Node::Scan(scan) = input {
        f(scan);
    }
    inputs(input, &mut |child| scans(child, f));
}

/// The same value for the same slots, on any thread, at any time within the statement.
pub fn is_pure(expr: &Expr) -> bool {
    let mut pure = match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Param(_)
        | ExprKind::Slot(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull(_)
        | ExprKind::Compare(..)
        | ExprKind::InList(..)
        | ExprKind::Case { .. }
        | ExprKind::Cast(_)
        | ExprKind::Row(_) => true,
        ExprKind::Call(def, _) => def.foldable,
        ExprKind::Outer { .. }
        | ExprKind::UserVar(_)
        | ExprKind::AssignVar(..)
        | ExprKind::SysVar(..)
        | ExprKind::Match(_)
        | ExprKind::Subquery(_) => false,
    };
    children(expr, &mut |child| pure &= is_pure(child));
    pure
}

fn all_pure(node: &Node, pure: &mut bool) {
    *pure &= match node {
        Node::Scan(scan) => {
            let system = matches!(scan.path, AccessPath::System);
            let computed = scan.computed.iter().all(|column| is_pure(&column.expr));
            computed && !system && scan.lock.is_none() && scan.key_slot.is_none() && !scan.table.options.temporary
        }
        Node::Filter { .. } | Node::NestedLoop { .. } | Node::HashJoin { .. } => true,
        _ => false,
    };
    for_each_expr(node, &mut |expr| *pure &= is_pure(expr));
    inputs(node, &mut |child| all_pure(child, pure));
}
