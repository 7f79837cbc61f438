//! Aggregates of the rows that belong to a row outside become a join with all such aggregates.
//!
//! `a.x > (SELECT AVG(y) FROM b WHERE b.k = a.k AND b.z = 1)` reads b once for each row of a. It is the same as a join of a with
//! `(SELECT AVG(y), k FROM b WHERE b.z = 1 GROUP BY k)` on the key, which reads b once. A key without rows has no aggregate in the subquery,
//! NULL, for which the comparison is not true, and no row in the join. Where the subquery stands elsewhere, in the select list say, it is an outer
//! join, and a COUNT of no rows is made 0. What else is not NULL for NULL stays a subquery.
//!
//! Where an index leads to the rows of a key it stays a subquery, too: often few rows outside are left when it is asked. So it does in the select
//! list of a query with LIMIT.

use vaquita_types::{Result, TypeKind, Value};

use super::subqueries::{find, is_it};
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind, Slot, SubqueryKind};
use crate::logical::{ColumnValue, Inner, Logical, Query, Read, Relation, RelationColumn, Source, outside_reads};
use crate::node::{Aggregate, AggregateKind, JoinKind, OutputColumn};
use crate::visit;

/// Runs before the queries inside are rewritten, which includes what it makes of subqueries.
pub fn to_joins(query: &mut Query) -> Result<()> {
    if query.subqueries.is_empty()
        || !matches!(query.block.read, Read::Output(_))
        || !joins(query.block.root.rows_mut()).is_joins()
    {
        return Ok(());
    }
    let mut found = Vec::new();
    above_joins(query, &mut |expr| {
        find(expr, &|sub| matches!(sub.kind, SubqueryKind::Scalar) && sub.correlated, &mut found);
        Ok(())
    })?;
    let is_limited = matches!(query.block.root, Logical::Limit { .. });
    for found in found {
        let must_be = match query.block.root.rows_mut() {
            Logical::Filter { predicate, .. } => predicate.iter().any(|conjunct| compares(conjunct, found.id)),
            _ => false,
        };
        // One that stands elsewhere too is of another block, of a condition of a join, or behind a GROUP BY.
        if found.is_all() && (must_be || !is_limited) {
            join(found.id, must_be, query)?;
        }
    }
    Ok(())
}

/// What is joined, below WHERE.
fn joins(rows: &mut Logical) -> &mut Logical {
    match rows {
        Logical::Filter { input, .. } => input,
        rows => rows,
    }
}

/// The expressions that are computed of joined rows: WHERE and all above, or what is not above GROUP BY. Conditions of joins are not: their tables
/// are joined before what joins the rows here.
fn above_joins(query: &mut Query, f: &mut dyn FnMut(&mut Expr) -> Result<()>) -> Result<()> {
    let joined = std::mem::replace(joins(query.block.root.rows_mut()), Logical::Empty);
    let done = match aggregate(&mut query.block.root) {
        Some(aggregate) => aggregate.expressions_mut(f),
        None => query.expressions_mut(f),
    };
    *joins(query.block.root.rows_mut()) = joined;
    done
}

fn aggregate(node: &mut Logical) -> Option<&mut Logical> {
    match node {
        Logical::Aggregate { .. } => Some(node),
        node => aggregate(node.input_mut()?),
    }
}

/// A conjunct that is not true where the subquery is NULL.
fn compares(conjunct: &Expr, id: usize) -> bool {
    match &conjunct.kind {
        ExprKind::Compare(op, left, right, rule) => {
            *op != CompareOp::NullSafeEq && *rule != CompareAs::Row && (is_it(left, id) || is_it(right, id))
        }
        _ => false,
    }
}

/// Puts a column of a new relation, which is joined, in the place of a subquery.
fn join(id: usize, must_be: bool, query: &mut Query) -> Result<()> {
    let Some(at) = query.subqueries.iter().position(|(of, _)| *of == id) else { return Ok(()) };
    let Some(inner) = query.subqueries[at].1.bound_mut() else { return Ok(()) };
    if inner.block.hints.stays_subquery {
        return Ok(());
    }
    let counts = is_count(inner);
    let must_be = must_be && !counts;
    let Some(keys) = keys_of(inner, counts)? else { return Ok(()) };
    let (_, taken) = query.subqueries.swap_remove(at);
    let Some(mut inner) = taken.into_bound() else { return Ok(()) };
    group(&mut inner, &keys);
    let relation = query.relations.len();
    let mut columns = Vec::with_capacity(keys.len() + 1);
    let mut column = |name: String, like: &Expr| {
        let slot = query.owners.len();
        query.owners.push(Some(relation));
        let value = ColumnValue::Slot { slot, ty: like.ty.clone(), nullable: true };
        columns.push(RelationColumn { name, invisible: false, value, origin: None });
        Expr { kind: ExprKind::Slot(slot), ty: like.ty.clone(), nullable: true, coercibility: like.coercibility }
    };
    let value = match inner.output().first() {
        Some(output) => column("aggregate".into(), &output.expr),
        None => return Ok(()),
    };
    let mut on = Vec::with_capacity(keys.len());
    for (n, key) in keys.into_iter().enumerate() {
        let inside = column(format!("key{n}"), &key.inside);
        let kind = ExprKind::Compare(CompareOp::Eq, Box::new(visit::moved_out(key.outside, 1)), Box::new(inside), key.rule);
        on.push(Expr { kind, ..key.condition });
    }
    query.width = query.owners.len();
    let source = Source::Derived { query: Inner::new(inner), correlated: false, lateral: false, shared: None };
    let mut of_keys = Relation::new(&format!("aggregate{relation}"), None, source, columns);
    of_keys.optional = !must_be;
    query.relations.push(of_keys);
    let value = if counts { zero_for_null(value) } else { value };
    above_joins(query, &mut |expr| {
        put(expr, id, &value);
        Ok(())
    })?;
    add(query, relation, on, must_be);
    Ok(())
}

fn put(expr: &mut Expr, id: usize, value: &Expr) {
    if is_it(expr, id) {
        // The type is the subquery's, as what is around has been told.
        expr.kind = value.kind.clone();
        expr.nullable = value.nullable;
        return;
    }
    visit::children_mut(expr, &mut |child| put(child, id, value));
}

/// Joins the relation with what is joined already.
fn add(query: &mut Query, relation: usize, on: Vec<Expr>, must_be: bool) {
    let joined = joins(query.block.root.rows_mut());
    let left = Box::new(std::mem::replace(joined, Logical::Empty));
    let right = Box::new(Logical::Relation(relation));
    let kind = if must_be { JoinKind::Inner } else { JoinKind::Left };
    *joined = Logical::Join { kind, straight: false, left, right, on };
}

fn is_count(inner: &Query) -> bool {
    let Logical::Aggregate { aggregates, .. } = &inner.block.root else { return false };
    let [Aggregate { kind: AggregateKind::Count | AggregateKind::CountStar, slot, .. }] = aggregates.as_slice() else {
        return false;
    };
    matches!(inner.output(), [only] if matches!(only.expr.kind, ExprKind::Slot(s) if s == *slot))
}

/// `CASE WHEN value IS NULL THEN 0 ELSE value END`
fn zero_for_null(value: Expr) -> Expr {
    let is_null = Expr { kind: ExprKind::IsNull(Box::new(value.clone())), ..Expr::int(0) };
    let Expr { ty, coercibility, .. } = value.clone();
    let whens = vec![(is_null, Expr::literal(Value::Int(0), ty.clone()))];
    Expr { kind: ExprKind::Case { operand: None, whens, otherwise: Some(Box::new(value)) }, ty, nullable: false, coercibility }
}

/// An equality of a column inside with one outside.
pub struct Key {
    pub inside: Expr,
    pub outside: Expr,
    pub rule: CompareAs,
    /// The equality, for its type.
    condition: Expr,
}

/// The equalities by which the subquery's rows belong to a row outside, taken from its conditions, if that is all it wants of that row, and the rest
/// of it is of the form that `group` knows. Otherwise it is as it was.
fn keys_of(inner: &mut Query, counts: bool) -> Result<Option<Vec<Key>>> {
    if !is_one_aggregate(inner, counts) || !is_steady(inner)? {
        return Ok(None);
    }
    let Logical::Aggregate { input, .. } = &mut inner.block.root else { return Ok(None) };
    let Logical::Filter { predicate, .. } = &mut **input else { return Ok(None) };
    let before = std::mem::take(predicate);
    let (keys, rest) = take_keys(&before);
    *predicate = rest;
    let usable = !keys.is_empty() && keys.iter().all(|key| !has_index(inner, &key.inside)) && outside_reads(inner)?.is_empty();
    if !usable
        && let Logical::Aggregate { input, .. } = &mut inner.block.root
        && let Logical::Filter { predicate, .. } = &mut **input
    {
        *predicate = before;
    }
    Ok(usable.then_some(keys))
}

/// The keys among the conditions, and the others.
pub fn take_keys(conditions: &[Expr]) -> (Vec<Key>, Vec<Expr>) {
    let (mut keys, mut rest) = (Vec::new(), Vec::new());
    for condition in conditions {
        match key(condition) {
            Some(key) => keys.push(key),
            None => rest.push(condition.clone()),
        }
    }
    (keys, rest)
}

/// Only an expression that is NULL if its aggregates are, or a count, of joined tables under a condition.
fn is_one_aggregate(inner: &Query, counts: bool) -> bool {
    let Logical::Aggregate { input, keys, aggregates, rollup: false } = &inner.block.root else { return false };
    let Logical::Filter { input: joins, .. } = &**input else { return false };
    let slots: Vec<Slot> = aggregates.iter().map(|aggregate| aggregate.slot).collect();
    let null_of_nothing =
        |kind: AggregateKind| matches!(kind, AggregateKind::Sum | AggregateKind::Avg | AggregateKind::Min | AggregateKind::Max);
    let [output] = inner.output() else { return false };
    keys.is_empty()
        && joins.is_joins()
        && !inner.locking
        && inner.subqueries.is_empty()
        && inner.relations.iter().all(|relation| relation.lock.is_none())
        && (counts || aggregates.iter().all(|aggregate| null_of_nothing(aggregate.kind)))
        && is_null_of_null(&output.expr, &slots)
}

fn is_null_of_null(expr: &Expr, slots: &[Slot]) -> bool {
    match &expr.kind {
        ExprKind::Slot(slot) => slots.contains(slot),
        ExprKind::Cast(inner) => is_null_of_null(inner, slots),
        ExprKind::Call(def, args) if matches!(def.name, "+" | "-" | "*" | "/" | "%" | "DIV" | "NEG") => {
            let is_known = |arg: &Expr| matches!(arg.kind, ExprKind::Literal(_) | ExprKind::Param(_));
            args.iter().all(|arg| is_known(arg) || is_null_of_null(arg, slots)) && !args.iter().all(is_known)
        }
        _ => false,
    }
}

/// Once for all gives what once for each row would.
pub fn is_steady(inner: &mut Query) -> Result<bool> {
    let mut steady = true;
    inner.expressions_mut(&mut |expr| {
        steady &= !visit::any(expr, &|e| match &e.kind {
            ExprKind::Call(def, _) => def.is_called_each_time(),
            ExprKind::AssignVar(..) | ExprKind::UserVar(_) | ExprKind::Subquery(_) | ExprKind::Match(_) => true,
            _ => false,
        });
        Ok(())
    })?;
    Ok(steady)
}

fn key(condition: &Expr) -> Option<Key> {
    let ExprKind::Compare(CompareOp::Eq, left, right, rule) = &condition.kind else { return None };
    let (inside, outside) = match (&left.kind, &right.kind) {
        (ExprKind::Slot(_), ExprKind::Outer { depth: 1, .. }) => (left, right),
        (ExprKind::Outer { depth: 1, .. }, ExprKind::Slot(_)) => (right, left),
        _ => return None,
    };
    // Values inside that equal the same value outside are one group.
    let groups = match rule {
        CompareAs::Int => inside.ty.is_integer() && outside.ty.is_integer(),
        CompareAs::Decimal => inside.ty.kind == TypeKind::Decimal || inside.ty.is_integer(),
        CompareAs::Text(collation) => inside.ty.is_bytes() && inside.ty.collation == *collation,
        CompareAs::DateTime => inside.ty.kind == outside.ty.kind,
        _ => false,
    };
    groups.then(|| Key { inside: (**inside).clone(), outside: (**outside).clone(), rule: *rule, condition: condition.clone() })
}

/// An index of the column's table begins with it.
pub fn has_index(inner: &Query, column: &Expr) -> bool {
    let ExprKind::Slot(slot) = column.kind else { return true };
    let Some(Some(relation)) = inner.owners.get(slot) else { return true };
    let relation = &inner.relations[*relation];
    match &relation.source {
        Source::Base(table) => {
            let Some(at) = relation.column_of(slot) else { return true };
            let id = table.columns[at].id;
            table.indexes.iter().any(|index| index.parts.first().is_some_and(|part| part.column == id))
        }
        Source::Derived { .. } => false,
        _ => true,
    }
}

/// Groups by the keys, which become columns.
fn group(inner: &mut Query, keys: &[Key]) {
    let Logical::Aggregate { keys: groups, input, .. } = &mut inner.block.root else { return };
    if let Logical::Filter { input: joins, predicate } = &mut **input
        && predicate.is_empty()
    {
        let joins = std::mem::replace(&mut **joins, Logical::Empty);
        **input = joins;
    }
    let Read::Output(output) = &mut inner.block.read else { return };
    for (n, key) in keys.iter().enumerate() {
        let slot = inner.owners.len();
        inner.owners.push(None);
        groups.push((key.inside.clone(), slot));
        let Expr { ty, nullable, coercibility, .. } = key.inside.clone();
        let expr = Expr { kind: ExprKind::Slot(slot), ty, nullable, coercibility };
        output.push(OutputColumn { expr, name: format!("key{n}"), origin: None });
    }
    inner.width = inner.owners.len();
}
