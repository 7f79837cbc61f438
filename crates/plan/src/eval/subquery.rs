//! Subqueries as values and predicates, over the rows that `Env::subquery` gives.

use std::borrow::Cow;

use vaquita_types::{ColumnType, Error, Result, Value, convert, errno};

use super::{compare, eval as eval_expr, truth};
use crate::env::EvalCx;
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind, Subquery, SubqueryKind};

pub(super) fn eval(sub: &Subquery, cx: &EvalCx<'_>) -> Result<Value> {
    if let SubqueryKind::In { left, .. } | SubqueryKind::Quantified { left, .. } = &sub.kind
        && let Some(found) = look_up(sub, left, cx)?
    {
        return Ok(truth(found));
    }
    let rows = || cx.env.subquery(sub, block_of(sub, cx)?);
    match &sub.kind {
        SubqueryKind::Scalar => one_of(&rows()?, 0),
        SubqueryKind::Column(column) => one_of(&rows()?, *column),
        SubqueryKind::Exists { negated } => Ok(Value::bool(rows()?.is_empty() == *negated)),
        SubqueryKind::In { left, compare, negated } => {
            let found = any_match(left, CompareOp::Eq, compare, sub, cx)?;
            Ok(truth(found.map(|b| b != *negated)))
        }
        SubqueryKind::Row { left, op, compare } => match rows()?.as_slice() {
            // As MySQL: no row is no row of NULLs either, which would be equal to one.
            [] if *op == CompareOp::NullSafeEq => Ok(Value::bool(false)),
            [] => Ok(Value::Null),
            [row] => Ok(truth(compare_row(left, *op, compare, sub, row, cx)?)),
            _ => Err(Error::new(&errno::ER_SUBQUERY_NO_1_ROW, &[])),
        },
        SubqueryKind::Quantified { left, op, all, compare } => {
            if !*all {
                return Ok(truth(any_match(left, *op, compare, sub, cx)?));
            }
            // ALL holds unless some row fails it.
            let failing = op.negated().ok_or_else(|| Error::unsupported("<=> ALL"))?;
            Ok(truth(any_match(left, failing, compare, sub, cx)?.map(|b| !b)))
        }
    }
}

/// IN, ANY and ALL without comparing with each row; `None`: they must be compared.
fn look_up(sub: &Subquery, left: &Expr, cx: &EvalCx<'_>) -> Result<Option<Option<bool>>> {
    let (op, negated) = match &sub.kind {
        SubqueryKind::In { negated, .. } => (CompareOp::Eq, *negated),
        SubqueryKind::Quantified { op, all: false, .. } => (*op, false),
        SubqueryKind::Quantified { op, all: true, .. } => match op.negated() {
            Some(failing) => (failing, true),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let Some(rows) = cx.env.rows_of_subquery(sub, block_of(sub, cx)?)? else { return Ok(None) };
    if rows.is_empty() {
        return Ok(Some(Some(negated)));
    }
    let elements: &[Expr] = match &left.kind {
        ExprKind::Row(items) => items,
        _ => std::slice::from_ref(left),
    };
    let values = elements.iter().map(|e| eval_expr(e, cx)).collect::<Result<Vec<Cow<'_, Value>>>>()?;
    Ok(rows.any(&values, op, cx.env)?.map(|found| found.map(|found| found != negated)))
}

/// A column of the only row; NULL without one.
fn one_of(rows: &[Vec<Value>], column: usize) -> Result<Value> {
    match rows {
        [] => Ok(Value::Null),
        [row] => Ok(row.get(column).cloned().unwrap_or_default()),
        _ => Err(Error::new(&errno::ER_SUBQUERY_NO_1_ROW, &[])),
    }
}

/// The row of the block that the subquery belongs to.
fn block_of<'a, 'c>(sub: &Subquery, cx: &'c EvalCx<'a>) -> Result<&'c EvalCx<'a>> {
    let mut at = cx;
    for _ in 0..sub.depth {
        at = at.outer.ok_or_else(|| Error::internal(format_args!("a subquery of {} levels out", sub.depth)))?;
    }
    Ok(at)
}

/// `left op row`, element by element: the first pair that differs decides an order.
fn compare_row(
    left: &Expr,
    op: CompareOp,
    rules: &[CompareAs],
    sub: &Subquery,
    row: &[Value],
    cx: &EvalCx<'_>,
) -> Result<Option<bool>> {
    let elements: &[Expr] = match &left.kind {
        ExprKind::Row(items) => items,
        _ => std::slice::from_ref(left),
    };
    let mut unknown = false;
    for (((element, other), column), rule) in elements.iter().zip(row).zip(sub.output()).zip(rules) {
        let value = eval_expr(element, cx)?;
        let order = match (value.is_null(), other.is_null()) {
            (true, true) if op == CompareOp::NullSafeEq => Some(std::cmp::Ordering::Equal),
            (true, _) | (_, true) if op == CompareOp::NullSafeEq => return Ok(Some(false)),
            (true, _) | (_, true) => None,
            _ if *rule == CompareAs::Double && elements.len() > 1 && column.expr.ty.is_bytes() => {
                // MySQL keeps such a row aside, and reads a text in it as a number without a warning.
                let number = Value::Float(convert::to_f64(other, &column.expr.ty).value);
                compare::compare(&value, &element.ty, &number, &ColumnType::double(), *rule, cx.env)?
            }
            _ => compare::compare(&value, &element.ty, other, &column.expr.ty, *rule, cx.env)?,
        };
        match (order, op) {
            (Some(std::cmp::Ordering::Equal), _) => {}
            (Some(_), CompareOp::Eq | CompareOp::NullSafeEq) => return Ok(Some(false)),
            (Some(_), CompareOp::Ne) => return Ok(Some(true)),
            (Some(order), _) => return Ok(Some(compare::holds(op, order))),
            // An equality goes on: a later pair may differ.
            (None, CompareOp::Eq | CompareOp::Ne) => unknown = true,
            (None, _) => return Ok(None),
        }
    }
    Ok((!unknown).then_some(matches!(op, CompareOp::Eq | CompareOp::NullSafeEq | CompareOp::Le | CompareOp::Ge)))
}

/// Whether `left op row` holds for some row: NULL if none does and one is unknown.
fn any_match(left: &Expr, op: CompareOp, rules: &[CompareAs], sub: &Subquery, cx: &EvalCx<'_>) -> Result<Option<bool>> {
    let elements: &[Expr] = match &left.kind {
        ExprKind::Row(items) => items,
        _ => std::slice::from_ref(left),
    };
    let types: Vec<&ColumnType> = sub.output().iter().map(|c| &c.expr.ty).collect();
    // They are evaluated, and warn, only if there is a row.
    let mut values: Option<Vec<Cow<'_, Value>>> = None;
    let mut found = Some(false);
    cx.env.each_row(sub, block_of(sub, cx)?, &mut |row| {
        let values = match &mut values {
            Some(values) => values,
            none => none.insert(elements.iter().map(|e| eval_expr(e, cx)).collect::<Result<Vec<Cow<'_, Value>>>>()?),
        };
        let mut result = Some(true);
        for (i, (value, element)) in values.iter().zip(elements).enumerate() {
            let (Some(other), Some(ty), Some(rule)) = (row.get(i), types.get(i), rules.get(i)) else {
                return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&elements.len()]));
            };
            let order = if value.is_null() || other.is_null() {
                None
            } else {
                compare::compare(value, &element.ty, other, ty, *rule, cx.env)?
            };
            match order.map(|o| compare::holds(op, o)) {
                // Rows meet only `=` here: a row with any other quantified operator is refused when bound.
                Some(true) => {}
                Some(false) => {
                    result = Some(false);
                    break;
                }
                None => result = None,
            }
        }
        if result != Some(false) {
            found = result;
        }
        Ok(result != Some(true))
    })?;
    Ok(found)
}
