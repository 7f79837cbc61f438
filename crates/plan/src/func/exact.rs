//! Sums, differences and products of numbers whose digits fit 64 bits, which nearly all are: a whole tree of them is calculated in registers.
//!
//! What is not so simple is left to the general way, which starts from the beginning: nothing here warns or fails.

use vaquita_types::decimal::Small;
use vaquita_types::{TypeKind, Value};

use crate::env::EvalCx;
use crate::expr::{Expr, ExprKind};
use crate::function::FuncCall;

/// Deeper trees are left to the general way, which watches the stack.
const DEPTH_MAX: u32 = 16;

/// The value of a call of `+`, `-` or `*` with a DECIMAL result.
#[inline]
pub(super) fn value(name: &str, call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Option<Value> {
    let result = operation(name, call.args, call.ty.unsigned, cx, DEPTH_MAX)?;
    Some(result.map_or(Value::Null, |number| Value::Decimal(number.into())))
}

/// `None` in it is NULL.
fn operation(name: &str, args: &[Expr], unsigned: bool, cx: &EvalCx<'_>, depth: u32) -> Option<Option<Small>> {
    let [a, b] = args else { return None };
    let operator = match name {
        "+" => Small::checked_add,
        "-" => Small::checked_sub,
        "*" => Small::checked_mul,
        _ => return None,
    };
    let (Some(a), Some(b)) = (number(a, cx, depth)?, number(b, cx, depth)?) else { return Some(None) };
    // An unsigned difference below zero is an error, or not, by sql_mode.
    operator(a, b).filter(|result| !unsigned || !result.is_negative()).map(Some)
}

fn number(expr: &Expr, cx: &EvalCx<'_>, depth: u32) -> Option<Option<Small>> {
    let value = match &expr.kind {
        ExprKind::Slot(slot) => cx.frame.get(*slot)?,
        ExprKind::Literal(value) => value,
        ExprKind::Param(n) => cx.params.get(*n)?,
        ExprKind::Call(def, args) if expr.ty.kind == TypeKind::Decimal => {
            return operation(def.name, args, expr.ty.unsigned, cx, depth.checked_sub(1)?);
        }
        _ => return None,
    };
    match value {
        Value::Decimal(number) => number.as_small().map(Some),
        Value::Int(number) => Some(Some(Small::from(*number))),
        Value::Null => Some(None),
        _ => None,
    }
}
