//! Sums, differences and products of numbers whose digits fit 64 bits, which nearly all are: a whole tree of them is calculated in registers.
//!
//! What is not so simple is left to the general way, which starts from the beginning: nothing here warns or fails.

use vaquita_types::decimal::Decimal;
use vaquita_types::{TypeKind, Value};

use crate::env::EvalCx;
use crate::expr::{Expr, ExprKind};
use crate::function::FuncCall;

/// Deeper trees are left to the general way, which watches the stack.
const DEPTH_MAX: u32 = 16;
const SCALE_MAX: u32 = vaquita_types::decimal::SCALE_MAX as u32;
/// 10^18 is the last power that fits.
const SHIFT_MAX: u32 = 18;

/// `None` in it is NULL.
type Number = Option<(i64, u32)>;

/// The value of a call of `+`, `-` or `*` with a DECIMAL result.
#[inline]
pub(super) fn value(name: &str, call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Option<Value> {
    let (mantissa, scale) = match operation(name, call.args, call.ty.unsigned, cx, DEPTH_MAX)? {
        None => return Some(Value::Null),
        Some(number) => number,
    };
    Some(Value::Decimal(Decimal::new(mantissa, u8::try_from(scale).ok()?)))
}

fn operation(name: &str, args: &[Expr], unsigned: bool, cx: &EvalCx<'_>, depth: u32) -> Option<Number> {
    let ([a, b], "+" | "-" | "*") = (args, name) else { return None };
    let (Some((a, a_scale)), Some((b, b_scale))) = (number(a, cx, depth)?, number(b, cx, depth)?) else { return Some(None) };
    let scale = a_scale.max(b_scale);
    let (result, scale) = match name {
        "+" => (up(a, scale - a_scale)?.checked_add(up(b, scale - b_scale)?)?, scale),
        // Below zero an unsigned result is an error, or not, by sql_mode.
        "-" => (up(a, scale - a_scale)?.checked_sub(up(b, scale - b_scale)?).filter(|n| !unsigned || *n >= 0)?, scale),
        _ => (a.checked_mul(b)?, a_scale + b_scale),
    };
    (scale <= SCALE_MAX).then_some(Some((result, scale)))
}

fn number(expr: &Expr, cx: &EvalCx<'_>, depth: u32) -> Option<Number> {
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
        Value::Decimal(number) => number.small().map(|(mantissa, scale)| Some((mantissa, u32::from(scale)))),
        Value::Int(number) => Some(Some((*number, 0))),
        Value::Null => Some(None),
        _ => None,
    }
}

#[inline]
fn up(mantissa: i64, places: u32) -> Option<i64> {
    match places {
        0 => Some(mantissa),
        1..=SHIFT_MAX => mantissa.checked_mul(10i64.pow(places)),
        _ => None,
    }
}
