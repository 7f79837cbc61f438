//! Finds the rows of a kept derived table that equal what a condition compares them with, for `d.a = t.b` where d is read for each row
//! of t. Without it each row of t would be compared with all rows of d.

use vaquita_plan::env::EvalCx;
use vaquita_plan::expr::{CompareAs, CompareOp, Expr, ExprKind, Slot};
use vaquita_plan::visit;
use vaquita_types::{ColumnType, Result};

use super::super::key::{are_alike, encode_as};
use crate::context::{Chains, Frame, KeptPlace, KeptRows};
use crate::op::Pulse;

/// Fewer rows are compared one by one.
const ROWS_MIN: usize = 8;

/// `column = other`, which reads nothing of the row.
pub struct Equality<'p> {
    column: usize,
    ty: &'p ColumnType,
    other: &'p Expr,
    rule: CompareAs,
}

/// The equalities of a filter over rows that fill `slots`.
pub fn equalities<'p>(filter: &'p [Expr], slots: &[Slot]) -> Vec<Equality<'p>> {
    let of = |own: &'p Expr, other: &'p Expr, rule: CompareAs| {
        let ExprKind::Slot(slot) = own.kind else { return None };
        let column = slots.iter().position(|s| *s == slot)?;
        let is_apart = !visit::has_subquery(other) && !visit::slots(other).iter().any(|slot| slots.contains(slot));
        (is_apart && are_alike(&own.ty, &other.ty, rule)).then_some(Equality { column, ty: &own.ty, other, rule })
    };
    let equality = |condition: &'p Expr| match &condition.kind {
        ExprKind::Compare(CompareOp::Eq, a, b, rule) => of(a, b, *rule).or_else(|| of(b, a, *rule)),
        _ => None,
    };
    filter.iter().filter_map(equality).collect()
}

/// The rows by their keys. `None`: it does not pay, or there is no room for it.
pub fn chains(rows: &KeptRows, by: &[Equality<'_>], pulse: &mut Pulse, frame: &Frame<'_>) -> Result<Option<Chains>> {
    if by.is_empty() || rows.len() < ROWS_MIN || rows.len() >= Chains::ROWS_MAX {
        return Ok(None);
    }
    let statement = frame.statement;
    let mut chains = Chains::default();
    let (mut place, mut key) = (KeptPlace::default(), Vec::new());
    for n in 0..rows.len() {
        pulse.beat(frame)?;
        let row = rows.row(n, &mut place)?;
        key.clear();
        let mut has_key = true;
        for equality in by {
            let types = (equality.ty, &equality.other.ty);
            has_key = has_key
                && match row.get(equality.column) {
                    Some(value) => encode_as(value, types, equality.rule, statement, &mut key)?,
                    None => false,
                };
        }
        if !has_key {
            continue;
        }
        chains.add(&key, n, false, statement)?;
        if statement.is_short_of_memory(|| chains.kept_bytes()) {
            return Ok(None);
        }
    }
    Ok(Some(chains))
}

/// The key of the rows that are equal to what the row in the frame has; false: none is.
pub fn wanted(by: &[Equality<'_>], cx: &EvalCx<'_>, key: &mut Vec<u8>) -> Result<bool> {
    key.clear();
    for equality in by {
        let value = equality.other.eval(cx)?;
        if !encode_as(&value, (&equality.other.ty, equality.ty), equality.rule, cx.env, key)? {
            return Ok(false);
        }
    }
    Ok(true)
}
