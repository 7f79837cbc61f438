//! Whether rows may be changed while the scan that finds them goes on, so that a statement needs no memory for them.
//!
//! A scan could meet a row again that the statement moved ahead of it, and a subquery could read what the statement has
//! written. Neither happens if reads leave out what the transaction wrote (`Execution::hide_own_writes`), which gives the right rows
//! as long as that is nothing but this statement's. In a transaction that wrote before, only what one scan finds is changed at once,
//! if the changes stay behind it.

use vaquita_plan::expr::Expr;
use vaquita_plan::node::{AccessPath, Assignment, Node, Scan, UpdatePlan};
use vaquita_plan::visit::has_subquery;
use vaquita_types::schema::TableRef;

use crate::context::Execution;

/// How a DELETE or UPDATE goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// All rows are found first.
    Collect,
    /// Each row is changed when it is found.
    Stream,
    /// The same, and reads do not see the transaction's writes.
    StreamBehindOwn,
}

pub fn of_delete(source: &Node, targets: usize, statement: &Execution<'_>) -> Order {
    order(source, targets, statement, |_| true)
}

pub fn of_update(plan: &UpdatePlan, statement: &Execution<'_>) -> Order {
    order(&plan.source, plan.targets.len(), statement, |scan| {
        let mut assignments = plan.targets.iter().flat_map(|target| &target.assignments);
        let plain = assignments.all(|a| a.value.as_ref().is_none_or(|value| !has_subquery(value)));
        plain && plan.targets.iter().all(|target| !moves_rows(scan, &target.table, &target.assignments))
    })
}

fn order(source: &Node, targets: usize, statement: &Execution<'_>, stays_behind: impl Fn(&Scan) -> bool) -> Order {
    if targets != 1 || super::is_join(source) {
        return Order::Collect;
    }
    if !statement.txn.borrow().has_own_rows() {
        return Order::StreamBehindOwn;
    }
    match lone_scan(source) {
        Some(scan) if stays_behind(scan) => Order::Stream,
        _ => Order::Collect,
    }
}

/// The one scan that rows come from, if nothing else is read.
fn lone_scan(source: &Node) -> Option<&Scan> {
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

/// A changed row may get another place in the index that is scanned.
fn moves_rows(scan: &Scan, table: &TableRef, assignments: &[Assignment]) -> bool {
    let index = match &scan.path {
        AccessPath::Full { .. } | AccessPath::FullText { .. } => None,
        AccessPath::Point { index, .. } | AccessPath::Range { index, .. } => table.indexes.get(*index),
        // A row may get into the ranges of an index that is read later.
        AccessPath::System | AccessPath::Union { .. } => return true,
    };
    // Entries of other indexes end with the primary key.
    let mut parts = index.into_iter().chain([table.clustered()]).flat_map(|index| &index.parts);
    let is_set = |position: usize| {
        let column = &table.columns[position];
        column.on_update_now || column.generated.is_some() || assignments.iter().any(|a| a.column == position)
    };
    if scan.partitions.as_ref().is_some_and(|partitions| partitions.function.columns.iter().any(|at| is_set(*at))) {
        return true;
    }
    parts.any(|part| {
        let Some(position) = table.columns.iter().position(|column| column.id == part.column) else { return true };
        is_set(position)
    })
}
