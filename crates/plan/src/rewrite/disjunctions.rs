//! What all branches of an OR say, as conditions of their own.
//!
//! `(a.id = b.id AND a.x = 1) OR (a.id = b.id AND b.y = 2)` is `a.id = b.id AND (a.x = 1 OR b.y = 2)`: the join has an equality. And where every
//! branch says something of one table, that is known of the table before it is joined: from `(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)`
//! follow `a.x = 1 OR a.x = 3` and `b.y = 2 OR b.y = 4`, which are added.

use vaquita_types::Result;

use crate::expr::{CompareAs, Expr, ExprKind};
use crate::logical::{Logical, LogicalBlock, Set, Tables, set_of};
use crate::visit;

/// Branches and terms of one at most: each term is looked for in each branch.
const TERMS_MAX: usize = 64;

pub fn factor(block: &mut LogicalBlock, tables: &Tables<'_>) -> Result<()> {
    let Logical::Filter { input, predicate } = block.root.rows_mut() else { return Ok(()) };
    if matches!(**input, Logical::One) || !predicate.iter().any(|condition| matches!(condition.kind, ExprKind::Or(_))) {
        return Ok(());
    }
    let mut factored = Vec::with_capacity(predicate.len());
    for condition in std::mem::take(predicate) {
        match split(condition) {
            Ok((mut common, rest)) => {
                factored.append(&mut common);
                factored.extend(rest);
            }
            Err(condition) => factored.push(condition),
        }
    }
    let implied: Vec<Expr> = factored.iter().flat_map(|condition| of_each_table(tables, condition)).collect();
    factored.extend(implied);
    *predicate = factored;
    Ok(())
}

/// What is in all branches of an OR, and what is left of it; the condition itself if there is nothing.
fn split(condition: Expr) -> std::result::Result<(Vec<Expr>, Option<Expr>), Expr> {
    let Some(branches) = branches(&condition) else { return Err(condition) };
    let Some((first, others)) = branches.split_first() else { return Err(condition) };
    let is_common = |term: &&Expr| is_steady(term) && others.iter().all(|branch| branch.iter().any(|t| visit::same(t, term)));
    let common: Vec<Expr> = first.iter().filter(is_common).cloned().collect();
    if common.is_empty() {
        return Err(condition);
    }
    let is_left = |term: &Expr| !common.iter().any(|c| visit::same(c, term));
    let left: Vec<Vec<Expr>> =
        branches.into_iter().map(|branch| branch.into_iter().filter(|term| is_left(term)).collect()).collect();
    // A branch that says nothing more is true where the common terms are.
    if left.iter().any(Vec::is_empty) {
        return Ok((common, None));
    }
    Ok((common, Some(any_of(left, &condition))))
}

/// For each table that every branch of an OR over several tables restricts: those restrictions.
fn of_each_table(tables: &Tables<'_>, condition: &Expr) -> Vec<Expr> {
    let all = set_of(tables, condition);
    if all.count_ones() < 2 {
        return Vec::new();
    }
    let Some(branches) = branches(condition) else { return Vec::new() };
    let sets: Vec<Vec<Set>> = branches.iter().map(|branch| branch.iter().map(|term| set_of(tables, term)).collect()).collect();
    let mut found = Vec::new();
    let mut rest = all;
    while rest != 0 {
        let table: Set = 1 << rest.trailing_zeros();
        rest &= !table;
        let own: Vec<Vec<Expr>> = branches
            .iter()
            .zip(&sets)
            .map(|(branch, sets)| {
                let is_own = |(term, set): &(&Expr, &Set)| **set == table && is_simple(term);
                branch.iter().zip(sets).filter(is_own).map(|(term, _)| term.clone()).collect()
            })
            .collect();
        if own.iter().all(|terms: &Vec<Expr>| !terms.is_empty()) {
            found.push(any_of(own, condition));
        }
    }
    found
}

fn branches(condition: &Expr) -> Option<Vec<Vec<Expr>>> {
    let ExprKind::Or(parts) = &condition.kind else { return None };
    let branches: Vec<Vec<Expr>> = parts.iter().map(|part| visit::conjuncts(part.clone())).collect();
    (branches.iter().map(Vec::len).sum::<usize>() <= TERMS_MAX).then_some(branches)
}

/// The disjunction of conjunctions, with the type of `like`.
fn any_of(branches: Vec<Vec<Expr>>, like: &Expr) -> Expr {
    let of_kind = |kind: ExprKind| Expr { kind, ty: like.ty.clone(), nullable: like.nullable, coercibility: like.coercibility };
    let mut parts: Vec<Expr> = Vec::with_capacity(branches.len());
    for mut terms in branches {
        let part = match terms.len() {
            1 => terms.remove(0),
            _ => of_kind(ExprKind::And(terms)),
        };
        if !parts.iter().any(|other| visit::same(other, &part)) {
            parts.push(part);
        }
    }
    if parts.len() == 1 { parts.remove(0) } else { of_kind(ExprKind::Or(parts)) }
}

/// It is the same however often it is evaluated for a row.
fn is_steady(expr: &Expr) -> bool {
    !visit::any(expr, &|e| match &e.kind {
        ExprKind::Call(def, _) => def.is_called_each_time(),
        ExprKind::AssignVar(..) | ExprKind::UserVar(_) | ExprKind::Subquery(_) | ExprKind::Match(_) => true,
        _ => false,
    })
}

/// Cheap, and nothing of which warnings could be told twice.
pub(super) fn is_simple(expr: &Expr) -> bool {
    !visit::any(expr, &|e| match &e.kind {
        ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Slot(_) | ExprKind::Outer { .. } => false,
        ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_) | ExprKind::IsNull(_) => false,
        ExprKind::Compare(.., rule) | ExprKind::InList(.., rule) => {
            !matches!(rule, CompareAs::Int | CompareAs::Decimal | CompareAs::Text(_) | CompareAs::DateTime)
        }
        ExprKind::Call(def, _) => def.name != "LIKE",
        _ => true,
    })
}
