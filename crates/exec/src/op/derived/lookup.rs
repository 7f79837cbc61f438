//! `Lookup`: finds the rows of a kept derived table that equal what a condition compares them with, for `d.a = t.b` where d is read for each row
//! of t. Without it each row of t would be compared with all rows of d.

use vaquita_plan::env::EvalCx;
use vaquita_plan::expr::{CompareAs, CompareOp, Expr, ExprKind, Slot};
use vaquita_plan::visit;
use vaquita_types::{ColumnType, Result};

use super::super::key::{are_alike, encode_as};
use crate::context::{Frame, KeptPlace, KeptRows, KeyTable, RowsByKey};
use crate::op::Pulse;

/// Fewer rows are compared one by one.
const ROWS_MIN: usize = 8;
/// The end of a chain.
const NO_ROW: u32 = u32::MAX;

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

pub struct Lookup {
    table: KeyTable,
    /// The first row of each key, and the one after each row.
    first: Vec<u32>,
    after: Vec<u32>,
}

impl Lookup {
    /// `None`: it does not pay, or there is no room for it.
    pub fn of(rows: &KeptRows, by: &[Equality<'_>], pulse: &mut Pulse, frame: &Frame<'_>) -> Result<Option<Lookup>> {
        if by.is_empty() || rows.len() < ROWS_MIN || rows.len() >= NO_ROW as usize {
            return Ok(None);
        }
        let statement = frame.statement;
        let mut lookup = Lookup { table: KeyTable::new(), first: Vec::new(), after: vec![NO_ROW; rows.len()] };
        let (mut place, mut key) = (KeptPlace::default(), Vec::new());
        // From the last to the first, so that a chain has the order of the rows.
        for n in (0..rows.len()).rev() {
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
            let (at, new) = lookup.table.insert(&key, statement)?;
            if new {
                lookup.first.push(n as u32);
            } else {
                lookup.after[n] = std::mem::replace(&mut lookup.first[at], n as u32);
            }
            if statement.is_short_of_memory(|| lookup.table.kept_bytes()) {
                return Ok(None);
            }
        }
        Ok(Some(lookup))
    }
}

impl RowsByKey for Lookup {
    fn first(&self, key: &[u8]) -> Option<usize> {
        self.table.find(key).and_then(|at| self.first.get(at)).map(|row| *row as usize)
    }

    fn after(&self, n: usize) -> Option<usize> {
        self.after.get(n).filter(|row| **row != NO_ROW).map(|row| *row as usize)
    }
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
