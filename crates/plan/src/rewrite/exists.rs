//! EXISTS that is no conjunct of WHERE, and asks for rows of a key, becomes IN of all keys.
//!
//! `a.z = 1 OR EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.y > 2)` reads b for each row of a. It is the same as
//! `a.z = 1 OR (a.k IN (SELECT b.k FROM b WHERE b.y > 2)) IS TRUE`, which reads b once. Where an index leads to the rows of a key it stays EXISTS:
//! one row of them is all that is read.

use std::sync::Arc;

use vaquita_types::{Result, Value};

use super::decorrelate::{Key, has_index, is_steady, take_keys};
use super::subqueries::{Found, find, is_it};
use crate::expr::{BoundSubquery, Expr, ExprKind, Subquery, SubqueryKind, SubqueryState};
use crate::func;
use crate::logical::{Logical, Query, Read, outside_reads};
use crate::node::{Limit, OutputColumn};
use crate::{typing, visit};

/// Whether there is a row does not depend on how many are let through, if one is. Clients write `EXISTS (SELECT 1 … LIMIT 1)`.
pub fn without_limits(query: &mut Query) -> Result<()> {
    if query.subqueries.is_empty() {
        return Ok(());
    }
    let found = all(query, &is_exists)?;
    for (id, inner) in &mut query.subqueries {
        let Some(inner) = inner.bound_mut().filter(|_| found.iter().any(|found| found.id == *id)) else { continue };
        if let Logical::Limit { input, limit: Limit { offset: None, count: Some(count) } } = &mut inner.block.root
            && matches!(count.kind, ExprKind::Literal(Value::Int(1..) | Value::UInt(1..)))
        {
            inner.block.root = std::mem::replace(&mut **input, Logical::Empty);
        }
    }
    Ok(())
}

fn is_exists(sub: &Subquery) -> bool {
    matches!(sub.kind, SubqueryKind::Exists { .. })
}

fn all(query: &mut Query, is_wanted: &dyn Fn(&Subquery) -> bool) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    query.expressions_mut(&mut |expr| {
        find(expr, is_wanted, &mut found);
        Ok(())
    })?;
    Ok(found)
}

/// Runs when those that are joins have become joins, before the queries inside are rewritten.
pub fn to_memberships(query: &mut Query) -> Result<()> {
    if query.subqueries.is_empty() {
        return Ok(());
    }
    for found in all(query, &|sub| is_exists(sub) && sub.correlated)? {
        let Some((id, inner)) = query.subqueries.iter_mut().find(|(id, _)| found.is_all() && *id == found.id) else { continue };
        let id = *id;
        let Some(inner) = inner.bound_mut() else { continue };
        let Some(keys) = keys_of(inner)? else { continue };
        let shape = Arc::new(BoundSubquery { output: inner.output().to_vec(), of_no_table: false, reads: Vec::new() });
        query.expressions_mut(&mut |expr| replace(expr, id, &keys, &shape))?;
    }
    Ok(())
}

/// Makes the query one of its keys; none if it wants something else of the row outside. Then it is as it was.
fn keys_of(inner: &mut Query) -> Result<Option<Vec<Key>>> {
    if inner.block.hints.stays_subquery {
        return Ok(None);
    }
    let mut rows = &inner.block.root;
    while let Logical::Sort { input, .. } | Logical::Distinct { input } = rows {
        rows = input;
    }
    let Logical::Filter { input, .. } = rows else { return Ok(None) };
    let is_free = inner.relations.iter().all(|relation| relation.lock.is_none()) && inner.subqueries.is_empty() && !inner.locking;
    if !input.is_joins() || !is_free || !matches!(inner.block.read, Read::Output(_)) || !is_steady(inner)? {
        return Ok(None);
    }
    let Logical::Filter { predicate, .. } = inner.block.root.rows_mut() else { return Ok(None) };
    let before = std::mem::take(predicate);
    let (keys, rest) = take_keys(&before);
    *predicate = rest;
    let Read::Output(output) = &mut inner.block.read else { return Ok(None) };
    let columns =
        keys.iter().enumerate().map(|(n, key)| OutputColumn { expr: key.inside.clone(), name: format!("key{n}"), origin: None });
    let selected = std::mem::replace(output, columns.collect());
    let adapted = inner.take_adapted();
    let usable = !keys.is_empty() && keys.iter().all(|key| !has_index(inner, &key.inside)) && outside_reads(inner)?.is_empty();
    if !usable {
        if let Logical::Filter { predicate, .. } = inner.block.root.rows_mut() {
            *predicate = before;
        }
        inner.block.read = Read::Output(selected);
        if let Some(adapted) = adapted {
            *inner.output_mut() = adapted;
        }
        return Ok(None);
    }
    while let Logical::Sort { input, .. } | Logical::Distinct { input } = &mut inner.block.root {
        inner.block.root = std::mem::replace(&mut **input, Logical::Empty);
    }
    let rows = &mut inner.block.root;
    if let Logical::Filter { input, predicate } = rows
        && predicate.is_empty()
    {
        *rows = std::mem::replace(&mut **input, Logical::Empty);
    }
    Ok(Some(keys))
}

fn replace(expr: &mut Expr, id: usize, keys: &[Key], shape: &Arc<BoundSubquery>) -> Result<()> {
    if let ExprKind::Subquery(sub) = &expr.kind
        && let SubqueryKind::Exists { negated } = sub.kind
        && is_it(expr, id)
    {
        let mut lefts: Vec<Expr> = keys.iter().map(|key| visit::moved_out(key.outside.clone(), 1)).collect();
        let compare = keys.iter().map(|key| key.rule).collect();
        let left = match (lefts.len(), lefts.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                lefts.extend(last);
                Expr { kind: ExprKind::Row(lefts), ..expr.clone() }
            }
        };
        let kind = SubqueryKind::In { left, compare, negated: false };
        let query = SubqueryState::Bound(Arc::clone(shape));
        let subquery = Subquery { kind, query, depth: 0, correlated: false, id };
        let is_member = Expr::predicate(ExprKind::Subquery(Box::new(subquery)), true);
        let Some(is_true) = func::lookup("IS TRUE") else { return Ok(()) };
        let found = typing::call(is_true, vec![is_member])?;
        *expr = if negated { Expr::predicate(ExprKind::Not(Box::new(found)), false) } else { found };
        return Ok(());
    }
    let mut done = Ok(());
    visit::children_mut(expr, &mut |child| {
        if done.is_ok() {
            done = replace(child, id, keys, shape);
        }
    });
    done
}
