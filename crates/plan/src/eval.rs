//! Evaluates `Expr` over a frame.

use std::borrow::Cow;

use vaquita_types::{Error, Result, Value};

use crate::env::EvalCx;
use crate::expr::{Expr, ExprKind};

pub fn eval<'a>(expr: &'a Expr, cx: &EvalCx<'a>) -> Result<Cow<'a, Value>> {
    match &expr.kind {
        ExprKind::Slot(slot) => Ok(Cow::Borrowed(&cx.frame[*slot])),
        ExprKind::Literal(value) => Ok(Cow::Borrowed(value)),
        ExprKind::Param(n) => Ok(Cow::Borrowed(&cx.params[*n])),
        other => Err(Error::internal(format_args!("no evaluation of {other:?}"))),
    }
}

pub fn eval_bool(expr: &Expr, cx: &EvalCx<'_>) -> Result<Option<bool>> {
    match &*eval(expr, cx)? {
        Value::Null => Ok(None),
        Value::Int(i) => Ok(Some(*i != 0)),
        other => Err(Error::internal(format_args!("no truth of {other:?}"))),
    }
}
