//! `Members`: what the rows of a subquery are compared with by `IN`, `> ALL` and the like, made once for a subquery that depends on no outer row.
//!
//! The rows themselves are not kept. A key tells whether a value is among them, the least and the greatest key answer `<`, `>` and their like.
//! Rows with a NULL in them are kept: whether they equal a row depends on the other columns.

use std::borrow::{Borrow, Cow};

use vaquita_plan::env::{Env, EvalCx, RowsOfSubquery};
use vaquita_plan::eval::compare;
use vaquita_plan::expr::{CompareAs, CompareOp, Expr, ExprKind, Subquery, SubqueryKind};
use vaquita_types::{ColumnType, Result, Value};

use crate::context::{Execution, KeyTable, Rows};
use crate::op::{Builder, SubPlan, are_alike, encode_join_value};

const INTERRUPT_ROWS: u64 = 1 << 10;

pub struct Members {
    rules: Vec<CompareAs>,
    /// Types of the left side's elements and of the subquery's columns.
    left: Vec<ColumnType>,
    columns: Vec<ColumnType>,
    /// Rows without a NULL, if equal ones are asked for.
    keys: KeyTable,
    least: Option<Vec<u8>>,
    greatest: Option<Vec<u8>>,
    with_null: Rows,
    is_empty: bool,
}

impl Members {
    /// `None`: rows are to be compared one by one, because comparing converts values, with the warnings of that.
    pub fn of(subquery: &Subquery, statement: &Execution<'_>, cx: &EvalCx<'_>) -> Result<Option<Members>> {
        let (SubqueryKind::In { left, compare, .. } | SubqueryKind::Quantified { left, compare, .. }) = &subquery.kind else {
            return Ok(None);
        };
        let left = elements(left).iter().map(|element| element.ty.clone()).collect::<Vec<_>>();
        let columns = subquery.output().iter().map(|column| column.expr.ty.clone()).collect::<Vec<_>>();
        let is_alike = left.len() == columns.len()
            && compare.len() == columns.len()
            && left.iter().zip(&columns).zip(compare).all(|((a, b), rule)| are_alike(a, b, *rule));
        let Some(plan) = subquery.plan().filter(|_| is_alike && !subquery.correlated) else { return Ok(None) };
        let mut members = Members {
            rules: compare.clone(),
            left,
            with_null: Rows::new(columns.len()),
            columns,
            keys: KeyTable::new(),
            least: None,
            greatest: None,
            is_empty: true,
        };
        let wants_keys = matches!(subquery.kind, SubqueryKind::In { .. });
        let mut source = SubPlan::new(plan, Builder::of(statement));
        source.open(statement, Some(cx))?;
        let (mut row, mut key, mut rows) = (Vec::new(), Vec::new(), 0u64);
        while source.next(statement, Some(cx), &mut row)? {
            members.is_empty = false;
            rows += 1;
            if rows.is_multiple_of(INTERRUPT_ROWS) {
                statement.interrupt.check_in_turn()?;
            }
            if row.iter().any(Value::is_null) {
                // Of rows of one column one NULL says all.
                if members.columns.len() > 1 || members.with_null.is_empty() {
                    members.with_null.push(&mut row, statement)?;
                }
                row.clear();
                continue;
            }
            if !members.encode(&row, &members.columns, &members.left, statement, &mut key)? {
                return Ok(None);
            }
            row.clear();
            if wants_keys {
                members.keys.insert(&key, statement)?;
                continue;
            }
            if members.least.as_ref().is_none_or(|least| key < *least) {
                members.least = Some(key.clone());
            }
            if members.greatest.as_ref().is_none_or(|greatest| key > *greatest) {
                members.greatest = Some(key.clone());
            }
        }
        Ok(Some(members))
    }

    /// False: a value has no key.
    fn encode(
        &self,
        row: &[impl Borrow<Value>],
        types: &[ColumnType],
        others: &[ColumnType],
        env: &dyn Env,
        key: &mut Vec<u8>,
    ) -> Result<bool> {
        key.clear();
        for (((value, ty), other), rule) in row.iter().zip(types).zip(others).zip(&self.rules) {
            if !encode_join_value(value.borrow(), (ty, other), *rule, env, key)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A row with a NULL may equal the values.
    fn may_equal(&self, values: &[Cow<'_, Value>], env: &dyn Env) -> Result<bool> {
        for n in 0..self.with_null.len() {
            let mut differs = false;
            for (((other, value), types), rule) in
                self.with_null.row(n).iter().zip(values).zip(self.left.iter().zip(&self.columns)).zip(&self.rules)
            {
                if !other.is_null() && !value.is_null() {
                    let order = compare::compare(value, types.0, other, types.1, *rule, env)?;
                    differs |= order.is_some_and(|order| order.is_ne());
                }
            }
            if !differs {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn elements(left: &Expr) -> &[Expr] {
    match &left.kind {
        ExprKind::Row(items) => items,
        _ => std::slice::from_ref(left),
    }
}

impl RowsOfSubquery for Members {
    fn is_empty(&self) -> bool {
        self.is_empty
    }

    fn any(&self, values: &[Cow<'_, Value>], op: CompareOp, env: &dyn Env) -> Result<Option<Option<bool>>> {
        if self.is_empty {
            return Ok(Some(Some(false)));
        }
        if values.iter().any(|value| value.is_null()) {
            // Of several columns those that are not NULL may differ from all rows: that is not looked up.
            return Ok((values.len() == 1).then_some(None));
        }
        let mut key = Vec::new();
        if !self.encode(values, &self.left, &self.columns, env, &mut key)? {
            return Ok(None);
        }
        let holds = match (op, &self.least, &self.greatest) {
            (CompareOp::Eq, None, None) => self.keys.find(&key).is_some(),
            (_, None, _) | (_, _, None) => false,
            (CompareOp::Eq, Some(_), Some(_)) => return Ok(None),
            (CompareOp::Ne, Some(least), Some(greatest)) => key != *least || key != *greatest,
            (CompareOp::Lt, _, Some(greatest)) => key < *greatest,
            (CompareOp::Le, _, Some(greatest)) => key <= *greatest,
            (CompareOp::Gt, Some(least), _) => key > *least,
            (CompareOp::Ge, Some(least), _) => key >= *least,
            (CompareOp::NullSafeEq, ..) => return Ok(None),
        };
        if holds {
            return Ok(Some(Some(true)));
        }
        Ok(Some((!self.may_equal(values, env)?).then_some(false)))
    }
}
