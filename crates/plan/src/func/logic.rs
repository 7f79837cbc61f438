//! Bit operators, XOR and the truth tests. AND, OR, NOT and comparisons are `ExprKind`s.
//!
//! Bit operators work on 64 bits unsigned; on two binary strings of equal length (and one for `~` and shifts)
//! they work on the bytes and give a binary string.

use vaquita_types::charset::CollationId;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::args::{any_nullable, def};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::eval::arg;
use crate::eval::truth;
use crate::expr::{Expr, ExprKind};
use crate::typing::{int_of_length, is_hex_literal, is_string, string_type};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("&", 2, 2, resolve_bits, |c, cx| bits(c, cx, "&", |a, b| a & b)),
    def("|", 2, 2, resolve_bits, |c, cx| bits(c, cx, "|", |a, b| a | b)),
    def("^", 2, 2, resolve_bits, |c, cx| bits(c, cx, "^", |a, b| a ^ b)),
    def("~", 1, 1, resolve_shift, not),
    def("<<", 2, 2, resolve_shift, |c, cx| shift(c, cx, true)),
    def(">>", 2, 2, resolve_shift, |c, cx| shift(c, cx, false)),
    def("BIT_COUNT", 1, 1, resolve_bit_count, bit_count),
    def("XOR", 2, 2, |a| FuncType::number(ColumnType::boolean(), any_nullable(a)), xor),
    def("IS TRUE", 1, 1, |_| FuncType::number(ColumnType::boolean(), false), |c, cx| is_truth(c, cx, true)),
    def("IS FALSE", 1, 1, |_| FuncType::number(ColumnType::boolean(), false), |c, cx| is_truth(c, cx, false)),
];

fn is_binary_string(expr: &Expr) -> bool {
    expr.ty.is_bytes() && expr.ty.collation == CollationId::BINARY
}

/// Announced for a binary string that is sent for a parameter.
const PARAMETER_BYTES_MAX: u32 = 65_535;

/// A text that is sent for a parameter is a binary string, unless a number or a text stands beside it.
pub fn as_bits(args: &mut [Expr]) {
    let is_sent = |arg: &Expr| {
        let fits = is_string(&arg.ty) || arg.ty.kind == TypeKind::Null;
        fits && matches!(arg.kind, ExprKind::Param(_)) && !arg.is_variable()
    };
    if args.iter().all(|arg| is_sent(arg) || is_binary_string(arg)) {
        args.iter_mut().filter(|arg| is_sent(arg)).for_each(|arg| arg.ty = ColumnType::varbinary(PARAMETER_BYTES_MAX));
    }
}

/// Two binary strings, not both hexadecimal literals.
fn bytewise(args: &[Expr]) -> bool {
    args.iter().all(is_binary_string) && !args.iter().all(|a| is_hex_literal(&a.ty))
}

fn resolve_bits(args: &mut Vec<Expr>) -> Result<FuncType> {
    as_bits(args);
    let nullable = any_nullable(args);
    if bytewise(args) {
        let bytes = args.iter().map(|a| a.ty.length).max().unwrap_or(0);
        return Ok(FuncType { ty: string_type(u64::from(bytes), CollationId::BINARY), nullable, coercibility: 4 });
    }
    FuncType::number(ColumnType::bigint_unsigned(), nullable)
}

fn resolve_shift(args: &mut Vec<Expr>) -> Result<FuncType> {
    let nullable = any_nullable(args);
    as_bits(args.get_mut(..1).unwrap_or_default());
    match args.first() {
        Some(a) if is_binary_string(a) && !is_hex_literal(&a.ty) => {
            Ok(FuncType { ty: string_type(u64::from(a.ty.length), CollationId::BINARY), nullable, coercibility: 4 })
        }
        _ => FuncType::number(ColumnType::bigint_unsigned(), nullable),
    }
}

fn resolve_bit_count(args: &mut Vec<Expr>) -> Result<FuncType> {
    as_bits(args);
    FuncType::number(int_of_length(21), any_nullable(args))
}

fn bits(call: &FuncCall<'_>, cx: &EvalCx<'_>, name: &str, op: fn(u64, u64) -> u64) -> Result<Value> {
    if !call.ty.is_bytes() {
        return Ok(Value::UInt(op(arg!(call.int(0, cx)) as u64, arg!(call.int(1, cx)) as u64)));
    }
    let (a, b) = (arg!(call.text(0, cx)), arg!(call.text(1, cx)));
    if a.len() != b.len() {
        return Err(Error::new(&errno::ER_INVALID_BITWISE_OPERANDS_SIZE, &[&name]));
    }
    Ok(Value::from(a.iter().zip(b.iter()).map(|(a, b)| op(u64::from(*a), u64::from(*b)) as u8).collect::<Vec<u8>>()))
}

fn not(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    if call.ty.is_bytes() {
        return Ok(Value::from(arg!(call.text(0, cx)).iter().map(|b| !b).collect::<Vec<u8>>()));
    }
    Ok(Value::UInt(!(arg!(call.int(0, cx)) as u64)))
}

fn shift(call: &FuncCall<'_>, cx: &EvalCx<'_>, left: bool) -> Result<Value> {
    if !call.ty.is_bytes() {
        let (value, by) = (arg!(call.int(0, cx)) as u64, arg!(call.int(1, cx)) as u64);
        let by = u32::try_from(by).unwrap_or(u32::MAX);
        let shifted = if left { value.checked_shl(by) } else { value.checked_shr(by) };
        return Ok(Value::UInt(shifted.unwrap_or(0)));
    }
    let bytes = arg!(call.text(0, cx));
    let by = arg!(call.int(1, cx)) as u64;
    let by = usize::try_from(by).unwrap_or(usize::MAX);
    let n = bytes.len();
    // Bit i of the result, counted from the left, is bit i±by of the operand.
    let bit = |i: usize| n > 0 && i < n * 8 && bytes.get(i / 8).is_some_and(|b| b >> (7 - i % 8) & 1 == 1);
    let mut out = vec![0u8; n];
    for i in 0..n * 8 {
        let source = if left { i.checked_add(by) } else { i.checked_sub(by) };
        if source.is_some_and(bit) {
            out[i / 8] |= 0x80 >> (i % 8);
        }
    }
    Ok(Value::from(out))
}

fn bit_count(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let binary = call.args.first().is_some_and(|a| is_binary_string(a) && !is_hex_literal(&a.ty));
    if binary {
        return Ok(Value::Int(arg!(call.text(0, cx)).iter().map(|b| i64::from(b.count_ones())).sum()));
    }
    Ok(Value::Int(i64::from((arg!(call.int(0, cx)) as u64).count_ones())))
}

fn truth_at(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>) -> Result<Option<bool>> {
    match call.args.get(i) {
        Some(arg) => arg.eval_bool(cx),
        None => Ok(None),
    }
}

fn xor(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    // The second is not looked at if the first is NULL.
    let Some(a) = truth_at(call, 0, cx)? else { return Ok(Value::Null) };
    Ok(truth(truth_at(call, 1, cx)?.map(|b| a != b)))
}

fn is_truth(call: &FuncCall<'_>, cx: &EvalCx<'_>, wanted: bool) -> Result<Value> {
    Ok(Value::bool(truth_at(call, 0, cx)? == Some(wanted)))
}
