//! Takes a join tree apart into items that can be joined in any order that respects their dependencies.
//!
//! Inner joins dissolve: their tables become items. An outer join's right side is one item that follows the tables its ON names.
//! `a JOIN b ON … LEFT JOIN (c JOIN d ON …) ON a.x = c.x` is therefore two inner items, and one of two tables after a.

use vaquita_types::{Error, Result, TypeKind};

use super::hints;
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind};
use crate::logical::{Logical, Set, Source, Tables, bit, set_of};
use crate::node::JoinKind;
use crate::switches::Strategies;
use crate::visit;

#[derive(Clone, Debug)]
pub struct Item {
    pub kind: JoinKind,
    pub shape: Shape,
    /// Conditions of an outer join or semijoin.
    pub on: Vec<Expr>,
    /// What must have been read before.
    pub after: Set,
    pub relations: Set,
}

#[derive(Clone, Debug)]
pub enum Shape {
    Table(usize),
    /// Several tables joined on their own: the right side of an outer join.
    Nest(Vec<Item>),
    /// A semijoin's tables, joined on their own and rid of rows with equal keys: then an inner join does the same.
    Distinct {
        items: Vec<Item>,
        keys: Vec<Expr>,
    },
}

/// The items of joined relations. Conditions of inner joins are above them (`rewrite::conditions::gather`).
pub fn flatten(tables: &Tables<'_>, joins: Logical, straight: bool) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    walk(tables, joins, &mut items)?;
    if straight {
        let mut before = 0;
        for item in &mut items {
            item.after |= before;
            before |= item.relations;
        }
    }
    Ok(items)
}

fn all(items: &[Item]) -> Set {
    items.iter().fold(0, |s, i| s | i.relations)
}

fn walk(tables: &Tables<'_>, joins: Logical, items: &mut Vec<Item>) -> Result<()> {
    match joins {
        Logical::Relation(relation) => {
            items.push(Item {
                kind: JoinKind::Inner,
                shape: Shape::Table(relation),
                on: Vec::new(),
                after: lateral(tables, relation)?,
                relations: bit(relation),
            });
        }
        Logical::Join { kind: JoinKind::Inner, straight, left, right, .. } => {
            let first = items.len();
            walk(tables, *left, items)?;
            let middle = items.len();
            walk(tables, *right, items)?;
            if straight {
                let before = all(&items[first..middle]);
                items[middle..].iter_mut().for_each(|i| i.after |= before);
            }
        }
        Logical::Join { kind, left, right, on, .. } => {
            let first = items.len();
            walk(tables, *left, items)?;
            let before = all(&items[first..]);
            let mut inner = Vec::new();
            walk(tables, *right, &mut inner)?;
            let relations = all(&inner);
            let mut after = on.iter().fold(0, |s, c| s | set_of(tables, c)) & !relations;
            after |= inner.iter().fold(0, |s, i| s | i.after) & !relations;
            if after == 0 {
                after = before;
            }
            let shape = match inner.as_slice() {
                [Item { kind: JoinKind::Inner, shape: Shape::Table(relation), .. }] => Shape::Table(*relation),
                _ => Shape::Nest(inner),
            };
            items.push(Item { kind, shape, on, after, relations });
        }
        _ => return Err(Error::internal("a node among joins that is none")),
    }
    Ok(())
}

/// What a LATERAL derived table reads of this frame.
pub fn lateral(tables: &Tables<'_>, relation: usize) -> Result<Set> {
    match &tables.relations[relation].source {
        Source::Derived { query, lateral: true, .. } => {
            let mut slots = Vec::new();
            visit::plan_slots(query.plan()?, 1, &mut slots);
            Ok(slots.into_iter().filter_map(|s| tables.owner(s)).map(bit).fold(0, |a, b| a | b))
        }
        _ => Ok(0),
    }
}

/// Semijoins as inner joins with a distinct side, where the conditions and hints allow it: `None` if there is none. The
/// equalities with other tables go to the pool, which lets those tables be looked up by them. And whether a hint wants that.
pub fn distinct_sides(tables: &Tables<'_>, items: &[Item], pool: &mut Vec<Expr>) -> Option<(Vec<Item>, bool)> {
    let (mut changed, mut wanted) = (false, false);
    let mut result = Vec::with_capacity(items.len());
    for item in items {
        let is_semijoin = item.kind == JoinKind::Semi;
        let strategies = if is_semijoin { hints::strategies(tables, item.relations) } else { Strategies::ALL };
        let split = if is_semijoin && strategies.distinct { split_equalities(tables, item) } else { None };
        let Some((own, equalities, keys)) = split else {
            result.push(item.clone());
            continue;
        };
        let inner = match &item.shape {
            Shape::Nest(items) => items.clone(),
            Shape::Table(_) => vec![Item {
                kind: JoinKind::Inner,
                shape: item.shape.clone(),
                on: Vec::new(),
                after: 0,
                relations: item.relations,
            }],
            Shape::Distinct { .. } => continue,
        };
        // Rows of one that reads a table outside cannot be made once for all.
        if inner.iter().any(|i| i.after & !item.relations != 0) {
            result.push(item.clone());
            continue;
        }
        changed = true;
        wanted |= !strategies.first_match;
        pool.extend(equalities);
        result.push(Item {
            kind: JoinKind::Inner,
            shape: Shape::Distinct { items: inner, keys },
            on: own,
            after: 0,
            relations: item.relations,
        });
    }
    changed.then_some((result, wanted))
}

type Split = (Vec<Expr>, Vec<Expr>, Vec<Expr>);

/// The item's own conditions, its equalities with others, and its side of those.
fn split_equalities(tables: &Tables<'_>, item: &Item) -> Option<Split> {
    let (mut own, mut equalities, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for condition in &item.on {
        if set_of(tables, condition) & !item.relations == 0 {
            own.push(condition.clone());
            continue;
        }
        let ExprKind::Compare(CompareOp::Eq, a, b, rule) = &condition.kind else { return None };
        let (outer, inner) = if set_of(tables, a) & item.relations == 0 { (a, b) } else { (b, a) };
        let apart = set_of(tables, outer) & item.relations == 0 && set_of(tables, inner) & !item.relations == 0;
        if !apart || !one_to_one(*rule, outer, inner) {
            return None;
        }
        equalities.push(condition.clone());
        keys.push((**inner).clone());
    }
    (!keys.is_empty()).then_some((own, equalities, keys))
}

/// Different values of `inner` never equal the same value of `outer`.
fn one_to_one(rule: CompareAs, outer: &Expr, inner: &Expr) -> bool {
    match rule {
        CompareAs::Int => outer.ty.is_integer() && inner.ty.is_integer(),
        CompareAs::Decimal => matches!(inner.ty.kind, TypeKind::Decimal) || inner.ty.is_integer(),
        CompareAs::Text(collation) => inner.ty.is_bytes() && inner.ty.collation == collation,
        CompareAs::DateTime => inner.ty.kind == outer.ty.kind,
        _ => false,
    }
}
