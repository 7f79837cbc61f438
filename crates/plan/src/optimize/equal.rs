//! Columns that equalities make equal to each other, directly or by way of others.
//!
//! From `a.x = b.x AND b.x = c.x` follows `a.x = c.x`: a and c can be joined without b. The three columns are a *class*. Of its conditions a
//! table needs one, with any table that was read before, and all columns of the class that were read are equal; more would say the same
//! again, and estimates would count it again.

use vaquita_types::Result;

use super::flatten::Item;
use super::order::Condition;
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind, Slot};
use crate::logical::{Set, Tables, bit};
use crate::node::JoinKind;
use crate::typing;

/// Columns of one class at most: each is joined with each.
const COLUMNS_MAX: usize = 20;

/// A condition of a class, and its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InClass {
    class: usize,
    left: Slot,
    right: Slot,
}

impl InClass {
    /// The column of these relations, if the other one is of others.
    fn own(&self, tables: &Tables<'_>, relations: Set) -> Option<Slot> {
        let is_own = |slot: Slot| tables.owner(slot).is_some_and(|relation| bit(relation) & relations != 0);
        match (is_own(self.left), is_own(self.right)) {
            (true, false) => Some(self.left),
            (false, true) => Some(self.right),
            _ => None,
        }
    }
}

/// Says which conditions belong to classes of three columns or more, and adds those that follow.
pub fn classify(tables: &Tables<'_>, items: &[Item], pool: &mut Vec<Condition>) -> Result<()> {
    let inner = items.iter().filter(|item| item.kind == JoinKind::Inner).fold(0, |set, item| set | item.relations);
    let mut classes: Vec<Vec<Expr>> = Vec::new();
    for (left, right) in pool.iter().filter_map(|condition| columns(tables, condition, inner)) {
        let of = |column: &Expr| classes.iter().position(|class| class.iter().any(|member| is_column(member, column)));
        match (of(left), of(right)) {
            (None, None) => classes.push(vec![left.clone(), right.clone()]),
            (Some(at), None) => classes[at].push(right.clone()),
            (None, Some(at)) => classes[at].push(left.clone()),
            (Some(at), Some(other)) if at != other => {
                let (first, last) = (at.min(other), at.max(other));
                let moved = classes.remove(last);
                classes[first].extend(moved);
            }
            _ => {}
        }
    }
    classes.retain(|class| (3..=COLUMNS_MAX).contains(&class.len()) && are_of_different_tables(tables, class));
    if classes.is_empty() {
        return Ok(());
    }
    let class_of = |column: &Expr| classes.iter().position(|class| class.iter().any(|member| is_column(member, column)));
    for condition in pool.iter_mut() {
        let found =
            columns(tables, condition, inner).and_then(|(left, right)| Some((class_of(left)?, slot(left)?, slot(right)?)));
        condition.class = found.map(|(class, left, right)| InClass { class, left, right });
    }
    for (class, members) in classes.iter().enumerate() {
        for (n, left) in members.iter().enumerate() {
            for right in &members[n + 1..] {
                let (Some(left_slot), Some(right_slot)) = (slot(left), slot(right)) else { continue };
                let is_there = |known: &InClass| {
                    [known.left, known.right] == [left_slot, right_slot] || [known.right, known.left] == [left_slot, right_slot]
                };
                let (Some(left_of), Some(right_of)) = (tables.owner(left_slot), tables.owner(right_slot)) else { continue };
                if left_of == right_of || pool.iter().filter_map(|condition| condition.class.as_ref()).any(is_there) {
                    continue;
                }
                let expr = typing::compare(CompareOp::Eq, left.clone(), right.clone())?;
                let known = InClass { class, left: left_slot, right: right_slot };
                pool.push(Condition { expr, set: bit(left_of) | bit(right_of), slow: false, class: Some(known) });
            }
        }
    }
    Ok(())
}

/// Two columns of one table that another column makes equal need both conditions.
fn are_of_different_tables(tables: &Tables<'_>, class: &[Expr]) -> bool {
    let owners: Vec<Option<usize>> = class.iter().map(|column| slot(column).and_then(|slot| tables.owner(slot))).collect();
    (1..owners.len()).all(|n| !owners[..n].contains(&owners[n]))
}

/// The condition says of a column of `relations` what one of those in `said` does already; else it is noted there.
pub fn is_repeated(tables: &Tables<'_>, condition: &Condition, relations: Set, said: &mut Vec<(usize, Slot)>) -> bool {
    let Some(known) = condition.class else { return false };
    let Some(own) = known.own(tables, relations) else { return false };
    if said.contains(&(known.class, own)) {
        return true;
    }
    said.push((known.class, own));
    false
}

/// The two columns, of different relations, that the condition makes equal, if equality of such columns can be passed on.
fn columns<'c>(tables: &Tables<'_>, condition: &'c Condition, inner: Set) -> Option<(&'c Expr, &'c Expr)> {
    let ExprKind::Compare(CompareOp::Eq, left, right, rule) = &condition.expr.kind else { return None };
    let alike = left.ty.kind == right.ty.kind && left.ty.collation == right.ty.collation && left.ty.unsigned == right.ty.unsigned;
    let passed_on =
        matches!(rule, CompareAs::Int | CompareAs::Decimal | CompareAs::Text(_) | CompareAs::DateTime | CompareAs::Time);
    let (left_of, right_of) = (tables.owner(slot(left)?)?, tables.owner(slot(right)?)?);
    let between = left_of != right_of && (bit(left_of) | bit(right_of)) & !inner == 0;
    (alike && passed_on && between).then_some((left, right))
}

fn slot(column: &Expr) -> Option<Slot> {
    match column.kind {
        ExprKind::Slot(slot) => Some(slot),
        _ => None,
    }
}

fn is_column(member: &Expr, column: &Expr) -> bool {
    slot(member).is_some() && slot(member) == slot(column)
}
