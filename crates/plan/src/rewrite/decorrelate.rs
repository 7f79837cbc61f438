//! Aggregates of the rows that belong to a row outside become a join with all such aggregates.
//!
//! `a.x > (SELECT AVG(y) FROM b WHERE b.k = a.k AND b.z = 1)` reads b once for each row of a. It is the same as a join of a with
//! `(SELECT AVG(y), k FROM b WHERE b.z = 1 GROUP BY k)` on the key, which reads b once. A key without rows has no aggregate in the subquery,
//! NULL, for which the comparison is not true, and no row in the join. COUNT, which is 0 there, therefore stays a subquery, and so does whatever
//! is not NULL for NULL.
//!
//! Where an index leads to the rows of a key it stays a subquery, too: often few rows outside are left when it is asked.

use vaquita_types::{Result, TypeKind};

use crate::expr::{CompareAs, CompareOp, Expr, ExprKind, Slot, SubqueryKind};
use crate::logical::{ColumnValue, Inner, Logical, Query, Read, Relation, RelationColumn, Source, outside_reads};
use crate::node::{AggregateKind, JoinKind, OutputColumn};
use crate::visit;

/// Runs before the queries inside are rewritten, which includes what it makes of subqueries.
pub fn to_joins(query: &mut Query) -> Result<()> {
    if query.subqueries.is_empty() || !matches!(query.block.read, Read::Output(_)) {
        return Ok(());
    }
    let mut root = std::mem::replace(&mut query.block.root, Logical::Empty);
    let done = in_where(root.rows_mut(), query);
    query.block.root = root;
    done
}

fn in_where(node: &mut Logical, query: &mut Query) -> Result<()> {
    let Logical::Filter { input, predicate } = node else { return Ok(()) };
    if !input.is_joins() {
        return Ok(());
    }
    let mut equalities = Vec::new();
    for n in 0..predicate.len() {
        let Some(Joined { relation, on, id, column }) = join(&mut predicate[n], query)? else { continue };
        // BETWEEN is two conjuncts, which ask one subquery.
        predicate.iter_mut().for_each(|conjunct| put_column(conjunct, id, &column));
        let left = Box::new(std::mem::replace(&mut **input, Logical::Empty));
        let right = Box::new(Logical::Relation(relation));
        **input = Logical::Join { kind: JoinKind::Inner, straight: false, left, right, on: Vec::new() };
        equalities.extend(on);
    }
    predicate.extend(equalities);
    Ok(())
}

/// A relation in the place of a subquery.
struct Joined {
    relation: usize,
    /// What joins it.
    on: Vec<Expr>,
    /// The subquery that it was.
    id: usize,
    /// What the subquery gave.
    column: Expr,
}

/// Puts the column where the subquery stands once more.
fn put_column(expr: &mut Expr, id: usize, column: &Expr) {
    match &expr.kind {
        ExprKind::Subquery(sub) if sub.id == id => *expr = column.clone(),
        _ => visit::children_mut(expr, &mut |child| put_column(child, id, column)),
    }
}

/// Puts a column of a new relation in the place of a conjunct's subquery.
fn join(conjunct: &mut Expr, query: &mut Query) -> Result<Option<Joined>> {
    let ExprKind::Compare(op, left, right, rule) = &mut conjunct.kind else { return Ok(None) };
    if *op == CompareOp::NullSafeEq || *rule == CompareAs::Row {
        return Ok(None);
    }
    let asked = match (&left.kind, &right.kind) {
        (ExprKind::Subquery(_), ExprKind::Subquery(_)) => return Ok(None),
        (ExprKind::Subquery(_), _) => left,
        (_, ExprKind::Subquery(_)) => right,
        _ => return Ok(None),
    };
    let ExprKind::Subquery(sub) = &asked.kind else { return Ok(None) };
    if !sub.correlated || sub.depth > 0 || !matches!(sub.kind, SubqueryKind::Scalar) {
        return Ok(None);
    }
    let id = sub.id;
    let Some(at) = query.subqueries.iter().position(|(of, _)| *of == id) else { return Ok(None) };
    let Some(inner) = query.subqueries[at].1.bound_mut() else { return Ok(None) };
    let Some(keys) = keys_of(inner)? else { return Ok(None) };
    let (_, taken) = query.subqueries.swap_remove(at);
    let Some(mut inner) = taken.into_bound() else { return Ok(None) };
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
    let aggregate = column("aggregate".into(), asked);
    **asked = aggregate.clone();
    let mut on = Vec::with_capacity(keys.len());
    for (n, key) in keys.into_iter().enumerate() {
        let inside = column(format!("key{n}"), &key.inside);
        let kind = ExprKind::Compare(CompareOp::Eq, Box::new(visit::moved_out(key.outside, 1)), Box::new(inside), key.rule);
        on.push(Expr { kind, ..key.condition });
    }
    query.width = query.owners.len();
    let source = Source::Derived { query: Inner::new(inner), correlated: false, lateral: false, shared: None };
    query.relations.push(Relation::new(&format!("aggregate{relation}"), None, source, columns));
    Ok(Some(Joined { relation, on, id, column: aggregate }))
}

/// An equality of a column inside with one outside.
struct Key {
    inside: Expr,
    outside: Expr,
    rule: CompareAs,
    /// The equality, for its type.
    condition: Expr,
}

/// The equalities by which the subquery's rows belong to a row outside, taken from its conditions, if that is all it wants of that row, and the rest
/// of it is of the form that `group` knows. Otherwise it is as it was.
fn keys_of(inner: &mut Query) -> Result<Option<Vec<Key>>> {
    if !is_one_aggregate(inner) || !is_steady(inner)? {
        return Ok(None);
    }
    let Logical::Aggregate { input, .. } = &mut inner.block.root else { return Ok(None) };
    let Logical::Filter { predicate, .. } = &mut **input else { return Ok(None) };
    let before = std::mem::take(predicate);
    let (mut keys, mut rest) = (Vec::new(), Vec::new());
    for condition in &before {
        match key(condition) {
            Some(key) => keys.push(key),
            None => rest.push(condition.clone()),
        }
    }
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

/// Only an expression that is NULL if its aggregates are, of joined tables under a condition.
fn is_one_aggregate(inner: &Query) -> bool {
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
        && aggregates.iter().all(|aggregate| null_of_nothing(aggregate.kind))
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
fn is_steady(inner: &mut Query) -> Result<bool> {
    let mut steady = true;
    inner.expressions_mut(&mut |expr| {
        steady &= !visit::any(expr, &|e| match &e.kind {
            ExprKind::Call(def, _) => def.is_stored() || matches!(def.name, "RAND" | "UUID" | "UUID_SHORT" | "SLEEP"),
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
fn has_index(inner: &Query, column: &Expr) -> bool {
    let ExprKind::Slot(slot) = column.kind else { return true };
    let Some(Some(relation)) = inner.owners.get(slot) else { return true };
    let relation = &inner.relations[*relation];
    match &relation.source {
        Source::Base(table) => {
            let Some(at) = (0..relation.columns.len()).find(|at| relation.slot(*at) == Some(slot)) else { return true };
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
