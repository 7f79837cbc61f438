//! Whether rows may be changed while the scan that finds them goes on, so that a statement needs no memory for them.
//!
//! The rows must come from one table, and nothing else in the statement may read it (subqueries are not looked into). A DELETE
//! never meets its own changes: they are behind it. An UPDATE could meet a row again that it moved ahead in the index it scans;
//! the scan then has to leave out what the transaction wrote, which only gives the right rows if that is nothing but this
//! statement's.

use vaquita_plan::expr::Expr;
use vaquita_plan::node::{AccessPath, Node, Scan, UpdatePlan, UpdateTarget};
use vaquita_plan::visit::has_subquery;

use crate::context::Statement;

/// The one scan that a DELETE or UPDATE reads from.
pub fn lone_scan(source: &Node) -> Option<&Scan> {
    match source {
        Node::Scan(scan) => without_subqueries(&scan.filter).then_some(scan),
        Node::Filter { input, predicate } => lone_scan(input).filter(|_| without_subqueries(predicate)),
        Node::Sort { input, keys, .. } => lone_scan(input).filter(|_| !keys.iter().any(|key| has_subquery(&key.expr))),
        Node::Limit { input, .. } => lone_scan(input),
        _ => None,
    }
}

fn without_subqueries(exprs: &[Expr]) -> bool {
    !exprs.iter().any(has_subquery)
}

/// How an UPDATE can go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// All rows are found first.
    Collect,
    /// Each row is changed when it is found.
    Stream,
    /// The same, and scans do not see the transaction's writes.
    StreamBehindOwn,
}

pub fn order(plan: &UpdatePlan, statement: &Statement<'_>) -> Order {
    let [target] = &plan.targets[..] else { return Order::Collect };
    let assigns_plainly = target.assignments.iter().all(|a| a.value.as_ref().is_none_or(|value| !has_subquery(value)));
    match lone_scan(&plan.source) {
        Some(scan) if assigns_plainly => {
            if !statement.txn.borrow().has_own_rows() {
                Order::StreamBehindOwn
            } else if moves_rows(scan, target) {
                Order::Collect
            } else {
                Order::Stream
            }
        }
        _ => Order::Collect,
    }
}

/// A changed row may get another place in the index that is scanned.
fn moves_rows(scan: &Scan, target: &UpdateTarget) -> bool {
    let def = &target.table;
    let index = match &scan.path {
        AccessPath::Full { .. } => None,
        AccessPath::Point { index, .. } | AccessPath::Range { index, .. } => def.indexes.get(*index),
        AccessPath::System => return true,
    };
    // Entries of other indexes end with the primary key.
    let parts = index.into_iter().chain([def.clustered()]).flat_map(|index| &index.parts);
    parts.into_iter().any(|part| {
        let Some(position) = def.columns.iter().position(|column| column.id == part.column) else { return true };
        let column = &def.columns[position];
        column.on_update_now || column.generated.is_some() || target.assignments.iter().any(|a| a.column == position)
    })
}
