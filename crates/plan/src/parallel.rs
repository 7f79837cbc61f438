//! Which inputs can be read in parts: several threads run the same operators, each on its share of one scan's rows.
//!
//! The scan is the *driving* one: the table that a tree of joins reads first, cut into ranges of keys, or one that it reads soon after,
//! whose rows the threads take in turns. Whatever else the tree reads, each thread reads whole. Expressions must have the same value whoever
//! evaluates them and wherever: no variables, no random numbers, nothing of an enclosing query. Subqueries that depend on no row are run before.

use crate::expr::{Expr, ExprKind, Slot, Subquery};
use crate::node::{AccessPath, JoinKind, Node, Scan};
use crate::visit::{self, children, for_each_expr, inputs};

/// The scans that can be divided.
#[derive(Default)]
pub struct Driving<'p> {
    /// Its ranges can be cut.
    pub by_ranges: Option<&'p Scan>,
    /// Its rows can be taken in turns: the first scan that gives enough of them, and what they come from.
    pub by_rows: Option<(&'p Scan, &'p Node)>,
    /// Rows with the same values of these keys come one after the other, and one thread has to read them all.
    pub groups: Option<&'p [(Expr, Slot)]>,
}

/// What of an input can be divided, if threads take turns of a scan with `rows_min` rows or more.
pub fn driving(input: &Node, rows_min: u64) -> Driving<'_> {
    let mut pure = true;
    all_pure(input, &mut pure);
    let mut driving = Driving::default();
    if pure {
        find_driving(input, rows_min as f64, &mut driving);
    }
    driving
}

fn find_driving<'p>(node: &'p Node, rows_min: f64, driving: &mut Driving<'p>) {
    match node {
        Node::Scan(scan) => {
            offer_rows(scan, node, rows_min, driving);
            let divides = matches!(scan.path, AccessPath::Full { .. } | AccessPath::Range { .. }) && scan.skips.is_none();
            // The partitions of a table are read one after the other.
            if divides && scan.partitions.is_none() && !scan.reads_elements() {
                driving.by_ranges = Some(scan);
            }
        }
        Node::Filter { input, .. } | Node::HashJoin { probe: input, .. } => find_driving(input, rows_min, driving),
        Node::Aggregate { input, keys, .. } => {
            find_driving(input, rows_min, driving);
            driving.by_rows = None;
            driving.groups = Some(keys);
        }
        Node::NestedLoop { kind, outer, inner, .. } => {
            find_driving(outer, rows_min, driving);
            // A row that another thread takes is like one that does not match, which joins make something of that are not inner ones.
            if let (JoinKind::Inner, Some(scan), true) = (kind, scan_of(inner), is_small(outer)) {
                offer_rows(scan, node, rows_min, driving);
            }
        }
        _ => {}
    }
}

/// The first scan is taken whose rows, as they come out of `node`, are enough.
fn offer_rows<'p>(scan: &'p Scan, node: &'p Node, rows_min: f64, driving: &mut Driving<'p>) {
    if scan.partitions.is_none() && rows(node) >= rows_min {
        driving.by_rows.get_or_insert((scan, node));
    }
}

/// Reading it is little work, if it gives few rows.
fn is_small(node: &Node) -> bool {
    match node {
        Node::Scan(_) => true,
        Node::Filter { input, .. } => is_small(input),
        Node::NestedLoop { outer, inner, .. } => is_small(outer) && is_small(inner),
        _ => false,
    }
}

fn scan_of(node: &Node) -> Option<&Scan> {
    match node {
        Node::Scan(scan) => Some(scan),
        Node::Filter { input, .. } => scan_of(input),
        _ => None,
    }
}

/// The subqueries of an input's expressions, outermost ones alone. None depends on a row.
pub fn subqueries<'p>(input: &'p Node, f: &mut dyn FnMut(&'p Subquery)) {
    for_each_expr(input, &mut |expr| visit::subqueries(expr, f));
    inputs(input, &mut |child| subqueries(child, f));
}

/// How many rows the input reads one by one, each at a place of its own, about: by a secondary index, or as what a row of a nested loop
/// leads to.
pub fn lookups(input: &Node) -> f64 {
    rows_and_lookups(input).1
}

/// How many rows the input gives, about, before any filter.
pub fn rows(input: &Node) -> f64 {
    rows_and_lookups(input).0
}

fn rows_and_lookups(node: &Node) -> (f64, f64) {
    match node {
        Node::Scan(scan) => {
            let rows = scan.rows_estimate as f64;
            let fetches = match &scan.path {
                AccessPath::Range { index, covering, .. } => *index > 0 && !covering,
                AccessPath::Point { .. } | AccessPath::FullText { .. } | AccessPath::Union { .. } => true,
                AccessPath::Full { .. } | AccessPath::System => false,
            };
            (rows, if fetches { rows } else { 0.0 })
        }
        Node::Filter { input, .. } | Node::HashJoin { probe: input, .. } | Node::Aggregate { input, .. } => {
            rows_and_lookups(input)
        }
        Node::NestedLoop { kind, outer, inner, .. } => {
            let (rows, lookups) = rows_and_lookups(outer);
            let found = rows_and_lookups(inner).0.max(1.0);
            let given = if matches!(kind, JoinKind::Semi | JoinKind::Anti) { rows } else { rows * found };
            (given, lookups + rows * found)
        }
        _ => (0.0, 0.0),
    }
}

/// The scans of an input that can be divided.
pub fn scans<'p>(input: &'p Node, f: &mut dyn FnMut(&'p Scan)) {
    if let Node::Scan(scan) = input {
        f(scan);
    }
    inputs(input, &mut |child| scans(child, f));
}

/// The same value for the same slots, on any thread, at any time within the statement.
pub fn is_pure(expr: &Expr) -> bool {
    is_pure_with(expr, false)
}

fn is_pure_with(expr: &Expr, subqueries: bool) -> bool {
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
        ExprKind::Subquery(sub) => subqueries && !sub.correlated,
        ExprKind::Outer { .. } | ExprKind::UserVar(_) | ExprKind::AssignVar(..) | ExprKind::SysVar(..) | ExprKind::Match(_) => {
            false
        }
    };
    children(expr, &mut |child| pure &= is_pure_with(child, subqueries));
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
        Node::Aggregate { .. } => node.groups_in_order(),
        _ => false,
    };
    for_each_expr(node, &mut |expr| *pure &= is_pure_with(expr, true));
    inputs(node, &mut |child| all_pure(child, pure));
}
