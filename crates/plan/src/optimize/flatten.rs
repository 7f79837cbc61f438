//! Takes a join tree apart into items that can be joined in any order that respects their dependencies.
//!
//! Inner joins dissolve: their tables become items, their conditions join the pool. An outer join's right side is one item
//! that follows the tables its ON names; if some condition above drops rows without a match, it becomes inner.
//! `a LEFT JOIN b ON a.x = b.x WHERE b.y > 1` is therefore two inner items and two conjuncts.

use vaquita_types::{Result, TypeKind};

use super::{Tree, visit};
use crate::bind::{Binder, Source};
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind};
use crate::node::JoinKind;
use crate::typing;

/// A set of relations of one frame, by index.
pub type Set = u128;

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

pub fn bit(relation: usize) -> Set {
    1u128.checked_shl(relation as u32).unwrap_or(0)
}

/// The relations that an expression reads.
pub fn set_of(binder: &Binder<'_>, expr: &Expr) -> Set {
    visit::slots(expr).into_iter().filter_map(|s| binder.owner(s)).map(bit).fold(0, |a, b| a | b)
}

pub fn flatten(binder: &mut Binder<'_>, tree: Tree, pool: &mut Vec<Expr>, straight: bool) -> Vec<Item> {
    let mut items = Vec::new();
    walk(binder, tree, pool, &mut items);
    if straight {
        let mut before = 0;
        for item in &mut items {
            item.after |= before;
            before |= item.relations;
        }
    }
    items
}

fn all(items: &[Item]) -> Set {
    items.iter().fold(0, |s, i| s | i.relations)
}

fn walk(binder: &mut Binder<'_>, tree: Tree, pool: &mut Vec<Expr>, items: &mut Vec<Item>) {
    match tree {
        Tree::Leaf(relation) => {
            let after = lateral(binder, relation);
            items.push(Item {
                kind: JoinKind::Inner,
                shape: Shape::Table(relation),
                on: Vec::new(),
                after,
                relations: bit(relation),
            });
        }
        Tree::Merged { tree, filter, .. } => {
            pool.extend(filter);
            walk(binder, *tree, pool, items);
        }
        Tree::Join { kind: JoinKind::Inner, straight, left, right, on } => {
            pool.extend(on);
            let first = items.len();
            walk(binder, *left, pool, items);
            let middle = items.len();
            walk(binder, *right, pool, items);
            if straight {
                let before = all(&items[first..middle]);
                items[middle..].iter_mut().for_each(|i| i.after |= before);
            }
        }
        Tree::Join { kind: JoinKind::Left, left, right, on, .. } if rejects_missing(binder, &right, pool) => {
            let mut relations = Vec::new();
            right.relations(&mut relations);
            relations.into_iter().for_each(|r| binder.frame().relations[r].optional = false);
            pool.extend(on);
            walk(binder, *left, pool, items);
            walk(binder, *right, pool, items);
        }
        Tree::Join { kind, left, right, on, .. } => {
            let first = items.len();
            walk(binder, *left, pool, items);
            let before = all(&items[first..]);
            let mut on = on;
            let mut inner = Vec::new();
            walk(binder, *right, &mut on, &mut inner);
            let relations = all(&inner);
            let mut after = on.iter().fold(0, |s, c| s | set_of(binder, c)) & !relations;
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
    }
}

/// What a LATERAL derived table reads of this frame.
pub fn lateral(binder: &Binder<'_>, relation: usize) -> Set {
    let Some(frame) = binder.frames.last() else { return 0 };
    match &frame.relations[relation].source {
        Source::Derived { plan, lateral: true, .. } => {
            let mut slots = Vec::new();
            visit::plan_slots(plan, 1, &mut slots);
            slots.into_iter().filter_map(|s| binder.owner(s)).map(bit).fold(0, |a, b| a | b)
        }
        _ => 0,
    }
}

/// Some conjunct is never true when the right side is missing (all its columns NULL).
fn rejects_missing(binder: &Binder<'_>, right: &Tree, pool: &[Expr]) -> bool {
    let mut relations = Vec::new();
    right.relations(&mut relations);
    let set = relations.into_iter().map(bit).fold(0, |a, b| a | b);
    pool.iter().any(|c| never_true(binder, c, set))
}

/// With the columns of `set` NULL the condition is false or NULL.
fn never_true(binder: &Binder<'_>, condition: &Expr, set: Set) -> bool {
    match &condition.kind {
        ExprKind::And(parts) => parts.iter().any(|p| never_true(binder, p, set)),
        ExprKind::Or(parts) => parts.iter().all(|p| never_true(binder, p, set)),
        ExprKind::Compare(op, a, b, _) if *op != CompareOp::NullSafeEq => is_strict(binder, a, set) || is_strict(binder, b, set),
        ExprKind::InList(value, ..) => is_strict(binder, value, set),
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::IsNull(e) => is_strict(binder, e, set),
            ExprKind::Compare(op, a, b, _) if *op != CompareOp::NullSafeEq => {
                is_strict(binder, a, set) || is_strict(binder, b, set)
            }
            ExprKind::InList(value, ..) => is_strict(binder, value, set),
            _ => is_strict(binder, inner, set),
        },
        _ => is_strict(binder, condition, set),
    }
}

/// NULL if the columns of `set` are.
fn is_strict(binder: &Binder<'_>, expr: &Expr, set: Set) -> bool {
    match &expr.kind {
        ExprKind::Slot(slot) => binder.owner(*slot).is_some_and(|r| bit(r) & set != 0),
        ExprKind::Cast(e) => is_strict(binder, e, set),
        ExprKind::Call(def, args) if matches!(def.name, "+" | "-" | "*" | "/" | "%" | "DIV" | "NEG" | "LIKE" | "REGEXP") => {
            args.iter().any(|a| is_strict(binder, a, set))
        }
        _ => false,
    }
}

/// Adds `a = 5` where `a = b` and `b = 5` are conditions, so that both tables can use it.
pub fn propagate(pool: &mut Vec<Expr>) -> Result<()> {
    let mut pairs = Vec::new();
    let mut constants: Vec<(usize, Expr, Expr)> = Vec::new();
    for condition in pool.iter() {
        let ExprKind::Compare(CompareOp::Eq, a, b, _) = &condition.kind else { continue };
        match (&a.kind, &b.kind) {
            (ExprKind::Slot(_), ExprKind::Slot(_)) => pairs.push(((**a).clone(), (**b).clone())),
            (ExprKind::Slot(slot), _) if is_given(b) => constants.push((*slot, (**a).clone(), (**b).clone())),
            (_, ExprKind::Slot(slot)) if is_given(a) => constants.push((*slot, (**b).clone(), (**a).clone())),
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

/// Semijoins as inner joins with a distinct side, where the conditions allow it: `None` if there is none. The
/// equalities with other tables go to the pool, which lets those tables be looked up by them.
pub fn distinct_sides(binder: &Binder<'_>, items: &[Item], pool: &mut Vec<Expr>) -> Option<Vec<Item>> {
    let mut changed = false;
    let mut result = Vec::with_capacity(items.len());
    for item in items {
        let split = if item.kind == JoinKind::Semi { split_equalities(binder, item) } else { None };
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
        pool.extend(equalities);
        result.push(Item {
            kind: JoinKind::Inner,
            shape: Shape::Distinct { items: inner, keys },
            on: own,
            after: 0,
            relations: item.relations,
        });
    }
    changed.then_some(result)
}

type Split = (Vec<Expr>, Vec<Expr>, Vec<Expr>);

/// The item's own conditions, its equalities with others, and its side of those.
fn split_equalities(binder: &Binder<'_>, item: &Item) -> Option<Split> {
    let (mut own, mut equalities, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for condition in &item.on {
        if set_of(binder, condition) & !item.relations == 0 {
            own.push(condition.clone());
            continue;
        }
        let ExprKind::Compare(CompareOp::Eq, a, b, rule) = &condition.kind else { return None };
        let (outer, inner) = if set_of(binder, a) & item.relations == 0 { (a, b) } else { (b, a) };
        let apart = set_of(binder, outer) & item.relations == 0 && set_of(binder, inner) & !item.relations == 0;
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
