//! Outer joins whose rows without a match would be dropped anyway become inner joins.
//!
//! `a LEFT JOIN b ON a.x = b.x WHERE b.y > 1`: where b is missing, b.y is NULL and the condition not true. Which conditions count is what holds
//! for all rows of the join: WHERE, and the conditions of inner joins around it; for an outer join on the right side of another, that one's.

use vaquita_types::Result;

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::{Logical, LogicalBlock, Set, Tables, bit, is_null_with};
use crate::node::JoinKind;

pub fn to_inner(block: &mut LogicalBlock, tables: &Tables<'_>) -> Result<()> {
    let rows = block.root.rows_mut();
    let mut found = Vec::new();
    decide(tables, rows, &mut Vec::new(), &mut found);
    if found.contains(&true) {
        apply(rows, &mut found.into_iter());
    }
    Ok(())
}

/// Says for each outer join, in the order of `apply`, whether it becomes inner. `pool` is what holds for all rows here.
fn decide<'t>(tables: &Tables<'_>, node: &'t Logical, pool: &mut Vec<&'t Expr>, found: &mut Vec<bool>) {
    match node {
        Logical::Filter { input, predicate } => {
            if matches!(**input, Logical::Relation(_)) {
                return;
            }
            pool.extend(predicate);
            decide(tables, input, pool, found);
        }
        Logical::Join { kind, left, right, on, .. } => {
            let becomes_inner = *kind == JoinKind::Left && rejects_missing(tables, right, pool);
            if *kind == JoinKind::Left {
                found.push(becomes_inner);
            }
            if *kind == JoinKind::Inner || becomes_inner {
                pool.extend(on);
                decide(tables, left, pool, found);
                decide(tables, right, pool, found);
            } else {
                decide(tables, left, pool, found);
                decide(tables, right, &mut on.iter().collect(), found);
            }
        }
        _ => {}
    }
}

fn apply(node: &mut Logical, found: &mut impl Iterator<Item = bool>) {
    match node {
        Logical::Filter { input, .. } => apply(input, found),
        Logical::Join { kind, left, right, .. } => {
            if *kind == JoinKind::Left && found.next() == Some(true) {
                *kind = JoinKind::Inner;
            }
            apply(left, found);
            apply(right, found);
        }
        _ => {}
    }
}

/// Some conjunct is never true when the right side is missing (all its columns NULL).
fn rejects_missing(tables: &Tables<'_>, right: &Logical, pool: &[&Expr]) -> bool {
    let mut relations = Vec::new();
    right.relations(&mut relations);
    let set = relations.into_iter().map(bit).fold(0, |a, b| a | b);
    pool.iter().any(|c| never_true(tables, c, set))
}

/// With the columns of `set` NULL the condition is false or NULL.
fn never_true(tables: &Tables<'_>, condition: &Expr, set: Set) -> bool {
    let is_strict = |expr: &Expr| is_null_with(expr, &|slot| tables.owner(slot).is_some_and(|r| bit(r) & set != 0));
    match &condition.kind {
        ExprKind::And(parts) => parts.iter().any(|p| never_true(tables, p, set)),
        ExprKind::Or(parts) => parts.iter().all(|p| never_true(tables, p, set)),
        ExprKind::Compare(op, a, b, _) if *op != CompareOp::NullSafeEq => is_strict(a) || is_strict(b),
        ExprKind::InList(value, ..) => is_strict(value),
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::IsNull(e) => is_strict(e),
            ExprKind::Compare(op, a, b, _) if *op != CompareOp::NullSafeEq => is_strict(a) || is_strict(b),
            ExprKind::InList(value, ..) => is_strict(value),
            _ => is_strict(inner),
        },
        _ => is_strict(condition),
    }
}
