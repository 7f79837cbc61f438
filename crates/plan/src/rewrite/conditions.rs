//! Conditions: one list of them above the inner joins, what follows from them, and whether they can be true at all.

use vaquita_types::Result;

use crate::eval::is_no_truth;
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind};
use crate::logical::{Logical, LogicalBlock, Source, Tables};
use crate::node::JoinKind;
use crate::parallel::is_pure;
use crate::rewrite::disjunctions::is_simple;
use crate::{typing, visit};

/// Conditions of inner joins and of merged derived tables go to WHERE, or to the ON of the outer join or semijoin on whose right side they
/// are. What is left of an inner join is that both sides are read.
pub fn gather(block: &mut LogicalBlock, _: &Tables<'_>) -> Result<()> {
    let rows = block.root.rows_mut();
    let is_simple = |node: &Logical| !matches!(node, Logical::Join { .. } | Logical::Filter { .. });
    match rows {
        Logical::Filter { input, .. } if is_simple(input) => return Ok(()),
        rows if is_simple(rows) => return Ok(()),
        _ => {}
    }
    let mut pool = Vec::new();
    let joins = pull(std::mem::replace(rows, Logical::Empty), &mut pool);
    *rows = joins.filtered(pool);
    Ok(())
}

fn pull(node: Logical, pool: &mut Vec<Expr>) -> Logical {
    match node {
        Logical::Filter { input, predicate } => {
            pool.extend(predicate);
            pull(*input, pool)
        }
        Logical::Join { kind, straight, mut left, mut right, mut on } => {
            if kind == JoinKind::Inner {
                pool.append(&mut on);
            }
            *left = pull(*left, pool);
            *right = pull(*right, if kind == JoinKind::Inner { pool } else { &mut on });
            Logical::Join { kind, straight, left, right, on }
        }
        other => other,
    }
}

/// Adds to WHERE what follows from equalities in it, and to the conditions of outer joins and semijoins what follows from them and WHERE.
pub fn known_values(block: &mut LogicalBlock, _: &Tables<'_>) -> Result<()> {
    match block.root.rows_mut() {
        Logical::Filter { input, predicate } if !matches!(**input, Logical::One) => {
            propagate(predicate, &[])?;
            known_in_joins(input, predicate)
        }
        joins => known_in_joins(joins, &[]),
    }
}

/// `given` holds for all rows that are joined here.
fn known_in_joins(node: &mut Logical, given: &[Expr]) -> Result<()> {
    let Logical::Join { kind, left, right, on, .. } = node else { return Ok(()) };
    known_in_joins(left, given)?;
    if *kind == JoinKind::Inner {
        return known_in_joins(right, given);
    }
    propagate(on, given)?;
    known_in_joins(right, on)
}

/// Branches that are never true are left out of an OR, and a column that is NOT NULL is never NULL.
pub fn simplify(block: &mut LogicalBlock, tables: &Tables<'_>) -> Result<()> {
    let Logical::Filter { predicate, .. } = block.root.rows_mut() else { return Ok(()) };
    if !predicate.iter().any(|condition| matches!(condition.kind, ExprKind::Or(_) | ExprKind::IsNull(_))) {
        return Ok(());
    }
    let simplified = |condition: Expr| {
        if is_null_of_not_null(&condition, tables) {
            return vec![Expr { ty: condition.ty.clone(), ..Expr::int(0) }];
        }
        let Expr { kind: ExprKind::Or(mut branches), ty, nullable, coercibility } = condition else { return vec![condition] };
        branches.retain(|branch| !is_never(branch) && !is_null_of_not_null(branch, tables));
        match branches.len() {
            0 => vec![Expr { ty, ..Expr::int(0) }],
            1 => branches.into_iter().flat_map(visit::conjuncts).collect(),
            _ => vec![Expr { kind: ExprKind::Or(branches), ty, nullable, coercibility }],
        }
    };
    *predicate = std::mem::take(predicate).into_iter().flat_map(simplified).collect();
    Ok(())
}

fn is_null_of_not_null(condition: &Expr, tables: &Tables<'_>) -> bool {
    let ExprKind::IsNull(operand) = &condition.kind else { return false };
    let ExprKind::Slot(slot) = operand.kind else { return false };
    // A zero date is NULL to IS NULL.
    if operand.nullable || operand.ty.is_temporal() {
        return false;
    }
    let relation = tables.owner(slot).and_then(|owner| tables.relations.get(owner));
    relation.is_some_and(|relation| !relation.optional && matches!(relation.source, Source::Base(_)))
}

/// `(? IS NULL OR name = ?) AND …`, as forms make it that may be left empty: where a value was given, what is left of the OR is a condition
/// of its own, by which an index can find rows. The OR stays, and with it everything that says what its parameters are.
pub fn given_branches(block: &mut LogicalBlock, tables: &Tables<'_>) -> Result<()> {
    let Logical::Filter { input, predicate } = block.root.rows_mut() else { return Ok(()) };
    if matches!(**input, Logical::One) || !predicate.iter().any(|condition| matches!(condition.kind, ExprKind::Or(_))) {
        return Ok(());
    }
    let mut found = Vec::new();
    for condition in predicate.iter() {
        let ExprKind::Or(branches) = &condition.kind else { continue };
        let is_out = |branch: &&Expr| {
            let mut asked = visit::conjuncts((*branch).clone()).into_iter().filter(is_of_parameters);
            asked.any(|part| tables.catalog.assumes_untrue(&part))
        };
        // A row is asked twice: what is left must not warn.
        let mut left: Vec<Expr> = branches.iter().filter(|branch| !is_out(branch)).cloned().collect();
        match left.len() {
            all if all == branches.len() || !left.iter().all(is_simple) => {}
            0 => found.push(Expr { ty: condition.ty.clone(), ..Expr::int(0) }),
            1 => found.extend(left.pop().into_iter().flat_map(visit::conjuncts)),
            _ => found.push(Expr { kind: ExprKind::Or(left), ..condition.clone() }),
        }
    }
    predicate.append(&mut found);
    Ok(())
}

fn is_of_parameters(expr: &Expr) -> bool {
    let is_parameter = |part: &Expr| matches!(part.kind, ExprKind::Param(_));
    let is_of_row = |part: &Expr| matches!(part.kind, ExprKind::Slot(_) | ExprKind::Subquery(_));
    visit::any(expr, &is_parameter) && !visit::any(expr, &is_of_row) && is_pure(expr)
}

/// A condition that is never true leaves no row. Without FROM it stays: one row under a condition.
pub fn impossible(block: &mut LogicalBlock, _: &Tables<'_>) -> Result<()> {
    let rows = block.root.rows_mut();
    if let Logical::Filter { input, predicate } = rows
        && !matches!(**input, Logical::One)
        && predicate.iter().any(is_never)
    {
        *rows = Logical::Empty;
    }
    Ok(())
}

/// Adds `a = 5` where `a = b` and `b = 5` are conditions, so that both tables can use it. The second may be one of `given`.
fn propagate(pool: &mut Vec<Expr>, given: &[Expr]) -> Result<()> {
    let mut pairs = Vec::new();
    let mut constants: Vec<(usize, Expr, Expr)> = Vec::new();
    for condition in pool.iter() {
        if let ExprKind::Compare(CompareOp::Eq, a, b, _) = &condition.kind
            && let (ExprKind::Slot(_), ExprKind::Slot(_)) = (&a.kind, &b.kind)
        {
            pairs.push(((**a).clone(), (**b).clone()));
        }
    }
    if pairs.is_empty() {
        return Ok(());
    }
    for condition in pool.iter().chain(given) {
        let ExprKind::Compare(CompareOp::Eq, a, b, rule) = &condition.kind else { continue };
        // Texts that are equal need not be one number or date.
        let as_text = |column: &Expr| !column.ty.is_bytes() || *rule == CompareAs::Text(column.ty.collation);
        match (&a.kind, &b.kind) {
            (ExprKind::Slot(slot), _) if is_given(b) && as_text(a) => constants.push((*slot, (**a).clone(), (**b).clone())),
            (_, ExprKind::Slot(slot)) if is_given(a) && as_text(b) => constants.push((*slot, (**b).clone(), (**a).clone())),
            _ => {}
        }
    }
    loop {
        let mut added = Vec::new();
        for (x, y) in &pairs {
            for (from, to) in [(x, y), (y, x)] {
                let (ExprKind::Slot(from_slot), ExprKind::Slot(to_slot)) = (&from.kind, &to.kind) else { continue };
                let alike =
                    from.ty.kind == to.ty.kind && from.ty.collation == to.ty.collation && from.ty.unsigned == to.ty.unsigned;
                if !alike || constants.iter().chain(&added).any(|(s, _, _)| s == to_slot) {
                    continue;
                }
                if let Some((_, _, value)) = constants.iter().find(|(s, _, _)| s == from_slot) {
                    added.push((*to_slot, to.clone(), value.clone()));
                }
            }
        }
        if added.is_empty() {
            return Ok(());
        }
        for (slot, column, value) in added {
            pool.push(typing::compare(CompareOp::Eq, column.clone(), value.clone())?);
            constants.push((slot, column, value));
        }
    }
}

/// Known before any row is read.
fn is_given(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Outer { .. })
}

/// The condition is false or NULL whatever the row is.
fn is_never(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(value) => is_no_truth(value),
        ExprKind::And(parts) => parts.iter().any(is_never),
        _ => false,
    }
}
