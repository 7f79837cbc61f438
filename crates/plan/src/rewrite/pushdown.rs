//! Conditions on the columns of a derived table go into its query.
//!
//! `SELECT * FROM (SELECT a, COUNT(*) FROM t GROUP BY a) AS d WHERE d.a = 5` groups the rows with `a = 5` alone, which an index may find. A
//! condition goes as deep as it means the same: below DISTINCT and GROUP BY if it reads only the keys, below windows if it reads only what all of
//! them partition by, into all inputs of a set operation, and further into the derived tables that it meets there. Below LIMIT it would
//! choose other rows.
//!
//! In a subquery that is run for each row outside, a condition may compare a column with that row. It goes in where an index then finds the rows;
//! else the rows are made once for all and looked up (`keep`).
//!
//! Of values that are equal, one stands for all in DISTINCT, GROUP BY, PARTITION BY and set operations. A condition that tells them apart (texts
//! that a collation says are equal, under LIKE) therefore stays above these.

use vaquita_types::charset::CollationId;
use vaquita_types::{Result, TypeKind, stack};

use super::decorrelate::{has_index, is_steady};
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind, Slot};
use crate::logical::{Logical, Query, Relation, Set, Source, bit};
use crate::node::{JoinKind, OutputColumn, SetOpKind};
use crate::parallel::is_pure;
use crate::switches::Switches;
use crate::visit;

/// Where columns are expressions, a condition could double with each query that it enters, and a set operation gets a copy for each input: how large
/// one may become, and the copies of a block in all.
const SIZE_MAX: usize = 1_000;
const COPIES_MAX: usize = 100_000;

/// The derived tables of a subquery that is run for each row outside are made once, as far as they do not depend on that row.
pub fn keep(query: &mut Query) -> Result<()> {
    for relation in &mut query.relations {
        let Source::Derived { query: inner, correlated, shared, .. } = &mut relation.source else { continue };
        let Some(inner) = inner.bound_mut() else { continue };
        match shared {
            Some(shared) if !*correlated => {
                if !shared.is_shared() && is_steady_inside(inner)? {
                    shared.add_use();
                }
            }
            _ => stack::deeper(|| keep(inner))?,
        }
    }
    query.block.root.queries_mut(&mut |inner| stack::deeper(|| keep(inner)))
}

/// So are the queries inside of it.
fn is_steady_inside(query: &mut Query) -> Result<bool> {
    let mut steady = is_steady(query)?;
    let mut look = |inner: &mut Query| {
        steady = steady && stack::deeper(|| is_steady_inside(inner))?;
        Ok(())
    };
    for relation in &mut query.relations {
        relation.source.queries_mut(&mut |inner| inner.bound_mut().map_or(Ok(()), &mut look))?;
    }
    query.block.root.queries_mut(&mut look)?;
    Ok(steady)
}

/// Runs when the block's conditions are where they stay, before the queries inside are rewritten.
pub fn push_down(query: &mut Query) {
    let switches = query.block.hints.switches;
    if query.relations.iter().any(|relation| derived(relation).is_some() && relation.pushdown_allowed(switches)) {
        let mut frame = Frame { relations: &mut query.relations, owners: &query.owners, switches, copies_left: COPIES_MAX };
        in_joins(query.block.root.rows_mut(), &mut frame);
    }
}

/// The query of a derived table that only this place reads.
fn derived(relation: &Relation) -> Option<&Query> {
    match &relation.source {
        Source::Derived { query, shared, .. } if !shared.as_ref().is_some_and(|shared| shared.is_shared()) => query.bound(),
        _ => None,
    }
}

struct Frame<'q> {
    relations: &'q mut [Relation],
    owners: &'q [Option<usize>],
    switches: Switches,
    /// Nodes that copies may still have.
    copies_left: usize,
}

fn in_joins(node: &mut Logical, frame: &mut Frame<'_>) {
    match node {
        Logical::Filter { input, predicate } => {
            let all = always_there(input);
            predicate.retain(|condition| !give(condition, all, frame));
            in_joins(input, frame);
            if predicate.is_empty() {
                *node = std::mem::replace(&mut **input, Logical::Empty);
            }
        }
        Logical::Join { kind, left, right, on, .. } => {
            // What an outer join or a semijoin asks of its right side is asked of its rows before they are joined.
            let asked = if *kind == JoinKind::Inner { always_there(left) | always_there(right) } else { always_there(right) };
            on.retain(|condition| !give(condition, asked, frame));
            in_joins(left, frame);
            in_joins(right, frame);
        }
        _ => {}
    }
}

/// The relations whose columns are never NULL only because an outer join found nothing.
fn always_there(node: &Logical) -> Set {
    match node {
        Logical::Relation(relation) => bit(*relation),
        Logical::Filter { input, .. } => always_there(input),
        Logical::Join { kind: JoinKind::Inner, left, right, .. } => always_there(left) | always_there(right),
        Logical::Join { left, .. } => always_there(left),
        _ => 0,
    }
}

/// Puts a condition into the derived table that it is about; false if it must stay.
fn give(condition: &Expr, among: Set, frame: &mut Frame<'_>) -> bool {
    let owners = frame.owners;
    let slots = visit::slots(condition);
    let Some(at) = slots.first().and_then(|slot| owners.get(*slot).copied().flatten()) else { return false };
    if bit(at) & among == 0 || slots.iter().any(|slot| owners.get(*slot) != Some(&Some(at))) {
        return false;
    }
    let Some(relation) = frame.relations.get_mut(at) else { return false };
    if derived(relation).is_none() || !relation.pushdown_allowed(frame.switches) || !is_pure_beside_outside(condition) {
        return false;
    }
    let mut over_columns = condition.clone();
    if !visit::map_slots(&mut over_columns, &|slot| relation.column_of(slot)) {
        return false;
    }
    let Source::Derived { query, correlated, .. } = &mut relation.source else { return false };
    let Some(query) = query.bound_mut() else { return false };
    let Some(copies) = accepts(query, &over_columns).filter(|copies| *copies <= frame.copies_left) else { return false };
    frame.copies_left -= copies;
    put(query, &over_columns);
    *correlated |= reads_outside(&over_columns);
    true
}

fn reads_outside(condition: &Expr) -> bool {
    visit::any(condition, &|e| matches!(e.kind, ExprKind::Outer { .. }))
}

/// As `is_pure`, of which the row outside may be a part.
fn is_pure_beside_outside(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Outer { .. } => true,
        ExprKind::Compare(_, left, right, _) if reads_outside(condition) => {
            is_pure_beside_outside(left) && is_pure_beside_outside(right)
        }
        _ => is_pure(condition),
    }
}

/// An index finds the rows that equal the row outside.
fn is_found(query: &Query, condition: &Expr) -> bool {
    let ExprKind::Compare(CompareOp::Eq, left, right, _) = &condition.kind else { return false };
    let (own, _) = match (&left.kind, &right.kind) {
        (ExprKind::Slot(_), ExprKind::Outer { .. }) => (left, right),
        (ExprKind::Outer { .. }, ExprKind::Slot(_)) => (right, left),
        _ => return false,
    };
    let ExprKind::Slot(slot) = own.kind else { return false };
    let Some(relation) = query.owners.get(slot).copied().flatten().and_then(|at| query.relations.get(at)) else { return false };
    match derived(relation) {
        Some(inner) => {
            let column = relation.column_of(slot);
            column.is_some_and(|column| {
                let mut over_columns = condition.clone();
                visit::map_slots(&mut over_columns, &|_| Some(column)) && accepts(inner, &over_columns).is_some()
            })
        }
        None => has_index(query, own),
    }
}

/// Whether a condition may go into a query: the nodes of all its copies then. Its slots are numbers of the query's columns.
fn accepts(query: &Query, condition: &Expr) -> Option<usize> {
    if query.locking || query.relations.iter().any(|relation| relation.lock.is_some()) {
        return None;
    }
    goes_below(query, &query.block.root, over_output(condition, query.output())?)
}

fn goes_below(query: &Query, node: &Logical, mut condition: Expr) -> Option<usize> {
    let below = |input: &Logical, condition: Expr, may: bool| if may { goes_below(query, input, condition) } else { None };
    match node {
        Logical::Limit { .. } | Logical::Values { .. } | Logical::JsonTable { .. } | Logical::RowCount { .. } => None,
        Logical::Sort { input, .. } | Logical::Having { input, .. } => goes_below(query, input, condition),
        Logical::Distinct { input } => {
            let may = treats_equals_alike(&condition);
            below(input, condition, may)
        }
        Logical::Compute { input, values } => {
            let may = !visit::slots(&condition).iter().any(|slot| values.iter().any(|(_, value)| value == slot));
            below(input, condition, may)
        }
        Logical::Window { input, windows } => {
            let divides = |slot: &Slot| {
                let is_key = |by: &Expr| matches!(by.kind, ExprKind::Slot(s) if s == *slot);
                windows.iter().all(|window| window.partition_by.iter().any(is_key))
            };
            let may = visit::slots(&condition).iter().all(divides) && treats_equals_alike(&condition);
            below(input, condition, may)
        }
        Logical::Aggregate { input, keys, rollup, .. } => {
            let may = !rollup && !keys.is_empty() && treats_equals_alike(&condition) && to_keys(&mut condition, keys);
            below(input, condition, may)
        }
        Logical::SetOp { inputs, slots, all, op, .. } => {
            let may = (*all && *op == SetOpKind::Union || treats_equals_alike(&condition)) && to_columns(&mut condition, slots);
            if may { inputs.iter().map(|input| accepts(input, &condition)).sum() } else { None }
        }
        Logical::Nested { query, slots, .. } => {
            let may = to_columns(&mut condition, slots);
            if may { accepts(query, &condition) } else { None }
        }
        Logical::Relation(_) | Logical::Join { .. } | Logical::Filter { .. } if reads_outside(&condition) => {
            is_found(query, &condition).then(|| visit::size(&condition))
        }
        Logical::One | Logical::Empty | Logical::Relation(_) | Logical::Join { .. } | Logical::Filter { .. } => {
            Some(visit::size(&condition))
        }
    }
}

/// Puts numbers of columns in the place of the slots that they fill.
fn to_columns(condition: &mut Expr, slots: &[Slot]) -> bool {
    visit::map_slots(condition, &|slot| slots.iter().position(|s| *s == slot))
}

fn put(query: &mut Query, condition: &Expr) {
    if let Some(condition) = over_output(condition, query.output()) {
        put_below(&mut query.block.root, condition);
    }
}

fn put_below(node: &mut Logical, mut condition: Expr) {
    match node {
        Logical::Aggregate { input, keys, .. } => {
            to_keys(&mut condition, keys);
            put_below(input, condition);
        }
        Logical::SetOp { inputs, slots, .. } => {
            to_columns(&mut condition, slots);
            inputs.iter_mut().for_each(|input| put(input, &condition));
        }
        Logical::Nested { query, slots, correlated } => {
            to_columns(&mut condition, slots);
            put(query, &condition);
            *correlated |= reads_outside(&condition);
        }
        Logical::Filter { predicate, .. } => predicate.extend(visit::conjuncts(condition)),
        Logical::Sort { input, .. }
        | Logical::Having { input, .. }
        | Logical::Distinct { input }
        | Logical::Compute { input, .. }
        | Logical::Window { input, .. } => {
            put_below(input, condition);
        }
        rows => {
            let input = Box::new(std::mem::replace(rows, Logical::Empty));
            *rows = Logical::Filter { input, predicate: visit::conjuncts(condition) };
        }
    }
}

/// A condition over columns as one over what the columns are; none where a column has another type, or would be computed anew.
fn over_output(condition: &Expr, output: &[OutputColumn]) -> Option<Expr> {
    let mut moved = condition.clone();
    let mut size = 0;
    (replace(&mut moved, output, &mut size)).then_some(moved)
}

fn replace(expr: &mut Expr, output: &[OutputColumn], size: &mut usize) -> bool {
    *size += 1;
    match &expr.kind {
        ExprKind::Slot(column) => {
            let Some(column) = output.get(*column).map(|column| &column.expr) else { return false };
            *size += visit::size(column);
            let is_alike = column.ty.kind == expr.ty.kind
                && column.ty.unsigned == expr.ty.unsigned
                && column.ty.decimals == expr.ty.decimals
                && column.ty.collation == expr.ty.collation;
            if !is_alike || !is_pure(column) || *size > SIZE_MAX {
                return false;
            }
            *expr = column.clone();
            true
        }
        ExprKind::Outer { .. } => {
            // It is one frame further in.
            if let ExprKind::Outer { depth, .. } = &mut expr.kind {
                *depth += 1;
            }
            true
        }
        _ => {
            let mut all = true;
            visit::children_mut(expr, &mut |child| all &= replace(child, output, size));
            all
        }
    }
}

/// Puts the keys of GROUP BY in the place of their results; false if something else of a group is read.
fn to_keys(condition: &mut Expr, keys: &[(Expr, Slot)]) -> bool {
    if let ExprKind::Slot(slot) = condition.kind {
        let key = keys.iter().find(|(_, result)| *result == slot).filter(|(key, _)| is_pure(key));
        return match key {
            Some((key, _)) => {
                *condition = key.clone();
                true
            }
            None => false,
        };
    }
    let mut all = true;
    visit::children_mut(condition, &mut |child| all &= to_keys(child, keys));
    all
}

/// Of values that are equal, the condition is true for all or for none.
fn treats_equals_alike(condition: &Expr) -> bool {
    let is_compared = |operand: &Expr, collation: CollationId| {
        matches!(operand.kind, ExprKind::Slot(_)) && operand.ty.is_bytes() && operand.ty.collation == collation
    };
    match &condition.kind {
        ExprKind::Slot(_) => match condition.ty.kind {
            TypeKind::Json | TypeKind::Geometry | TypeKind::Float | TypeKind::Double => false,
            _ => !condition.ty.is_bytes() || condition.ty.collation == CollationId::BINARY,
        },
        ExprKind::Compare(_, left, right, rule) => [left, right].iter().all(|side| match rule {
            CompareAs::Text(collation) if is_compared(side, *collation) => true,
            CompareAs::Double if matches!(side.kind, ExprKind::Slot(_)) && !side.ty.is_bytes() => true,
            _ => treats_equals_alike(side),
        }),
        ExprKind::InList(value, list, rule) => {
            let alike =
                matches!(rule, CompareAs::Text(collation) if is_compared(value, *collation)) || treats_equals_alike(value);
            alike && list.iter().all(treats_equals_alike)
        }
        ExprKind::IsNull(value) if matches!(value.kind, ExprKind::Slot(_)) => true,
        _ => {
            let mut all = true;
            visit::children(condition, &mut |child| all &= treats_equals_alike(child));
            all
        }
    }
}
