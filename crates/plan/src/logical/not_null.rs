//! Columns that a condition keeps from NULL: `u > 3` is not true where u is NULL. Expressions that are NULL where their columns are.
//!
//! As in MySQL, only what is compared itself counts: `u + 1 > 3` says nothing about u.

use super::merge::as_optional;
use crate::expr::{CompareOp, Expr, ExprKind, Slot, SubqueryKind};
use crate::visit;

pub(super) fn columns_not_null(condition: &Expr, found: &mut dyn FnMut(Slot)) {
    of_condition(condition, false, found);
}

fn of_condition(condition: &Expr, negated: bool, found: &mut dyn FnMut(Slot)) {
    match (&condition.kind, negated) {
        (ExprKind::Slot(slot), _) => found(*slot),
        (ExprKind::Not(inner), _) => of_condition(inner, !negated, found),
        (ExprKind::And(terms), false) | (ExprKind::Or(terms), true) => {
            terms.iter().for_each(|term| of_condition(term, negated, found));
        }
        (ExprKind::Or(terms), false) => {
            if let Some(value) = not_between(terms) {
                column(value, found);
            }
        }
        (ExprKind::Compare(op, left, right, _), _) if *op != CompareOp::NullSafeEq => {
            [left, right].into_iter().for_each(|side| column(side, found));
        }
        (ExprKind::IsNull(operand), true) => column(operand, found),
        // One of the candidates is enough to be in the list; to be outside, all must be known.
        (ExprKind::InList(value, candidates, _), _) => {
            column(value, found);
            candidates.iter().filter(|_| negated).for_each(|candidate| column(candidate, found));
        }
        (ExprKind::Subquery(subquery), false) => {
            if let SubqueryKind::In { left, negated: false, .. } = &subquery.kind {
                match &left.kind {
                    ExprKind::Row(items) => items.iter().for_each(|item| column(item, found)),
                    _ => column(left, found),
                }
            }
        }
        (ExprKind::Call(def, args), _) => of_call(def.name, args, negated, found),
        _ => {}
    }
}

/// The value of what NOT BETWEEN becomes: `value < low OR value > high`.
fn not_between(terms: &[Expr]) -> Option<&Expr> {
    let [below, above] = terms else { return None };
    match (&below.kind, &above.kind) {
        (ExprKind::Compare(CompareOp::Lt, value, _, _), ExprKind::Compare(CompareOp::Gt, again, _, _)) => {
            visit::same(value, again).then_some(value)
        }
        _ => None,
    }
}

fn of_call(function: &str, args: &[Expr], negated: bool, found: &mut dyn FnMut(Slot)) {
    match (function, negated) {
        ("LIKE" | "REGEXP" | "REGEXP_LIKE" | "STRCMP", _) => args.iter().for_each(|arg| converted(arg, found)),
        ("ISNULL", true) => args.iter().for_each(|arg| column(arg, found)),
        ("IS TRUE", false) => args.iter().for_each(|arg| of_condition(arg, false, found)),
        ("IS FALSE", false) => args.iter().for_each(|arg| of_condition(arg, true, found)),
        ("BETWEEN", false) => args.iter().for_each(|arg| converted(arg, found)),
        ("BETWEEN", true) => args.iter().take(1).for_each(|arg| converted(arg, found)),
        _ => {}
    }
}

fn column(expr: &Expr, found: &mut dyn FnMut(Slot)) {
    if let ExprKind::Slot(slot) = expr.kind {
        found(slot);
    }
}

/// Of an operand that these functions convert first.
fn converted(expr: &Expr, found: &mut dyn FnMut(Slot)) {
    match &expr.kind {
        ExprKind::Cast(inner) => column(inner, found),
        _ => column(expr, found),
    }
}

/// NULL if these columns are.
pub(crate) fn is_null_with(expr: &Expr, columns: &dyn Fn(Slot) -> bool) -> bool {
    match &expr.kind {
        ExprKind::Slot(slot) => columns(*slot),
        ExprKind::Cast(e) => is_null_with(e, columns),
        ExprKind::Call(def, args) if matches!(def.name, "+" | "-" | "*" | "/" | "%" | "DIV" | "NEG" | "LIKE" | "REGEXP") => {
            args.iter().any(|arg| is_null_with(arg, columns))
        }
        ExprKind::Case { .. } => as_optional(expr).is_some_and(|(_, told)| is_null_with(told, columns)),
        _ => false,
    }
}
