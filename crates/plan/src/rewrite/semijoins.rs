//! Subqueries that become joins of the block around them.
//!
//! `EXISTS (SELECT …)` and `x IN (SELECT y …)` that stand as a conjunct of WHERE and whose query is a plain join without grouping are a
//! semijoin, with NOT an antijoin: their tables live in the block's frame, and the optimizer is free to use indexes and hash joins.

use vaquita_types::Result;

use crate::expr::{CompareOp, Expr, ExprKind, SubqueryKind};
use crate::logical::merge::{Frame, Merged, merge};
use crate::logical::{Logical, Query, Read, Relation, Source, outside_reads};
use crate::node::JoinKind;
use crate::{typing, visit};

/// Runs before the queries inside are rewritten: what it leaves of them is rewritten on its own.
pub fn to_semijoins(query: &mut Query) -> Result<()> {
    if query.subqueries.is_empty() {
        return Ok(());
    }
    let mut root = std::mem::replace(&mut query.block.root, Logical::Empty);
    let done = in_rows(root.rows_mut(), query);
    query.block.root = root;
    done
}

fn in_rows(node: &mut Logical, query: &mut Query) -> Result<()> {
    match node {
        Logical::Filter { input, predicate } => {
            if matches!(**input, Logical::One | Logical::Empty) {
                return Ok(());
            }
            in_rows(input, query)?;
            let mut rest = Vec::with_capacity(predicate.len());
            for conjunct in std::mem::take(predicate) {
                let Some((kind, right, on)) = semijoin(&conjunct, query)? else {
                    rest.push(conjunct);
                    continue;
                };
                let left = Box::new(std::mem::replace(&mut **input, Logical::Empty));
                **input = Logical::Join { kind, straight: false, left, right: Box::new(right), on };
            }
            if rest.is_empty() {
                let joins = std::mem::replace(&mut **input, Logical::Empty);
                *node = joins;
            } else {
                *predicate = rest;
            }
            Ok(())
        }
        Logical::Join { left, right, .. } => {
            in_rows(left, query)?;
            in_rows(right, query)
        }
        _ => Ok(()),
    }
}

/// The join that a conjunct stands for, if its subquery is a plain join.
fn semijoin(conjunct: &Expr, query: &mut Query) -> Result<Option<(JoinKind, Logical, Vec<Expr>)>> {
    let (sub, not) = match &conjunct.kind {
        ExprKind::Subquery(sub) => (sub, false),
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::Subquery(sub) if matches!(sub.kind, SubqueryKind::Exists { .. }) => (sub, true),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let (left, negated) = match &sub.kind {
        SubqueryKind::Exists { negated } => (None, *negated != not),
        SubqueryKind::In { left, negated, .. } => (Some(left), *negated),
        _ => return Ok(None),
    };
    let Some(at) = query.subqueries.iter().position(|(id, _)| *id == sub.id) else { return Ok(None) };
    let Some(inner) = query.subqueries[at].1.bound_mut() else { return Ok(None) };
    if sub.depth > 0 || !inner.block.hints.may_be_semijoin() || !is_plain_join(inner)? || negated && !never_null(left, inner) {
        return Ok(None);
    }
    let (_, taken) = query.subqueries.swap_remove(at);
    let Some(mut inner) = taken.into_bound() else { return Ok(None) };
    while let Logical::Sort { input, .. } | Logical::Distinct { input } = inner.block.root {
        inner.block.root = *input;
    }
    to_semijoins(&mut inner)?;
    let frame = Frame { relations: &mut query.relations, owners: &mut query.owners, subqueries: &mut query.subqueries };
    let Merged { tree, output, .. } = merge(inner, frame)?;
    query.width = query.owners.len();
    let mut on = Vec::new();
    let lefts = match left.map(|left| &left.kind) {
        Some(ExprKind::Row(items)) => items.clone(),
        _ => left.into_iter().cloned().collect(),
    };
    for (left, column) in lefts.into_iter().zip(output) {
        on.extend(visit::conjuncts(typing::compare_columns(CompareOp::Eq, left, column.expr)?));
    }
    let tree = match tree {
        Logical::Filter { input, predicate } => {
            on.extend(predicate);
            *input
        }
        joins => joins,
    };
    Ok(Some((if negated { JoinKind::Anti } else { JoinKind::Semi }, tree, on)))
}

/// Joined tables under a condition: ORDER BY and DISTINCT mean nothing here.
fn is_plain_join(query: &mut Query) -> Result<bool> {
    let mut rows = &query.block.root;
    while let Logical::Sort { input, .. } | Logical::Distinct { input } = rows {
        rows = input;
    }
    let Read::Output(output) = &query.block.read else { return Ok(false) };
    if !rows.is_joins() || !output.iter().all(|column| is_plain(&column.expr)) {
        return Ok(false);
    }
    for relation in &mut query.relations {
        if relation.lock.is_some() || reads_block_around(relation)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A query in FROM of the subquery reads a table of the block around the subquery.
fn reads_block_around(relation: &mut Relation) -> Result<bool> {
    let mut reads = false;
    relation.source.queries_mut(&mut |inner| {
        if let Some(query) = inner.bound_mut() {
            reads |= outside_reads(query)?.iter().any(|(depth, _)| *depth == 2);
        }
        Ok(())
    })?;
    Ok(reads)
}

/// NOT IN is an antijoin only where no NULL can come in: a column of one table that is NOT NULL, and a left side that is.
fn never_null(left: Option<&Expr>, query: &Query) -> bool {
    let Some(left) = left else { return true };
    let mut rows = &query.block.root;
    while let Logical::Sort { input, .. } | Logical::Distinct { input } | Logical::Filter { input, .. } = rows {
        rows = input;
    }
    let Logical::Relation(relation) = rows else { return false };
    let of_table = query.relations.get(*relation).is_some_and(|relation| matches!(relation.source, Source::Base(_)));
    let is_column = |expr: &Expr| matches!(expr.kind, ExprKind::Slot(_)) && !expr.nullable;
    let plain_left = match &left.kind {
        ExprKind::Row(items) => items.iter().all(is_plain),
        _ => is_plain(left),
    };
    plain_left && !left.nullable && of_table && matches!(query.output(), [only] if is_column(&only.expr))
}

fn is_plain(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Slot(_) | ExprKind::Outer { .. } | ExprKind::Literal(_) | ExprKind::Param(_))
}
