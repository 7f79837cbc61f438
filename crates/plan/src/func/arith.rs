//! The arithmetic operators and their typing.
//!
//! The result type decides how an operator calculates: BIGINT in 128 bits with a range check, DECIMAL,
//! or DOUBLE. Example: `1 + 1.50` is DECIMAL(4,2). Leaving the range is error 1690; dividing
//! by zero is NULL with warning 1365 if sql_mode has ERROR_FOR_DIVISION_BY_ZERO.

use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::decimal::Decimal;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, sql_mode};

use super::args::{any_nullable, def, each_read};
use super::{FuncCall, FuncDef, FuncType, exact};
use crate::env::{Env, EvalCx, Level};
use crate::eval::arg;
use crate::eval::cast::integer;
use crate::eval::coerce::to_int;
use crate::eval::print;
use crate::expr::{Expr, ExprKind};
use crate::typing::{
    NumberClass, as_decimal, decimal_type, decimals_meta, double_type, function_class, int_type, number_class, number_width,
    precision, scale,
};

/// Digits that `/` adds to the scale of its dividend, unless `div_precision_increment` says otherwise.
pub const DIVISION_DECIMALS: u8 = 4;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("+", 2, 2, resolve_add, |c, cx| binary(c, cx, "+", i128::checked_add, Decimal::add, |a, b| a + b)),
    def("-", 2, 2, resolve_add, |c, cx| binary(c, cx, "-", i128::checked_sub, Decimal::sub, |a, b| a - b)),
    def("*", 2, 2, resolve_mul, |c, cx| binary(c, cx, "*", i128::checked_mul, Decimal::mul, |a, b| a * b)),
    def("/", 2, 2, resolve_div, div),
    def("DIV", 2, 2, resolve_int_div, int_div),
    def("%", 2, 2, resolve_mod, modulo),
    def("MOD", 2, 2, resolve_mod, modulo),
    def("NEG", 1, 1, resolve_neg, neg),
];

fn class_of(args: &[Expr]) -> NumberClass {
    args.iter().map(|a| number_class(&a.ty)).max().unwrap_or(NumberClass::Int)
}

fn unsigned(ty: &ColumnType) -> bool {
    ty.unsigned || matches!(ty.kind, TypeKind::Bit | TypeKind::Year)
}

fn whole_digits(ty: &ColumnType) -> u32 {
    precision(ty).saturating_sub(u32::from(scale(ty)))
}

/// The pair of operand types; callers have checked that there are two.
fn pair(args: &[Expr]) -> Result<(&ColumnType, &ColumnType)> {
    match args {
        [a, b] => Ok((&a.ty, &b.ty)),
        _ => Err(Error::internal("operator without two operands")),
    }
}

fn resolve_add(args: &mut Vec<Expr>) -> Result<FuncType> {
    let (a, b) = pair(args)?;
    let scale = scale(a).max(scale(b));
    let digits = whole_digits(a).max(whole_digits(b)) + 1 + u32::from(scale);
    let ty = match class_of(args) {
        NumberClass::Int => int_type(digits, unsigned(a) || unsigned(b)),
        NumberClass::Decimal => decimal_type(digits, scale, unsigned(a) && unsigned(b)),
        NumberClass::Double => double_of(a, b),
    };
    FuncType::number(ty, any_nullable(args))
}

/// The DOUBLE that two operands make, as wide as the wider of them.
fn double_of(a: &ColumnType, b: &ColumnType) -> ColumnType {
    let decimals = decimals_meta(a).max(decimals_meta(b));
    let double = double_type(decimals);
    if decimals >= DECIMALS_NOT_FIXED {
        return double;
    }
    let whole = |ty: &ColumnType| number_width(ty).saturating_sub(u32::from(decimals_meta(ty)));
    ColumnType { length: whole(a).max(whole(b)) + u32::from(decimals), ..double }
}

fn resolve_mul(args: &mut Vec<Expr>) -> Result<FuncType> {
    let (a, b) = pair(args)?;
    let digits = precision(a) + precision(b);
    let ty = match class_of(args) {
        // As many digits are announced, though a BIGINT has no more than twenty.
        NumberClass::Int => {
            let unsigned = unsigned(a) || unsigned(b);
            int_type(digits, unsigned)
        }
        NumberClass::Decimal => decimal_type(digits, (scale(a) + scale(b)).min(30), unsigned(a) && unsigned(b)),
        NumberClass::Double => double_of(a, b),
    };
    FuncType::number(ty, any_nullable(args))
}

fn resolve_div(args: &mut Vec<Expr>) -> Result<FuncType> {
    FuncType::number(quotient_type(args, DIVISION_DECIMALS)?, true)
}

fn quotient_type(args: &[Expr], decimals: u8) -> Result<ColumnType> {
    let (a, b) = pair(args)?;
    Ok(match class_of(args) {
        NumberClass::Double => {
            let decimals = (decimals_meta(a).max(decimals_meta(b)).saturating_add(decimals)).min(DECIMALS_NOT_FIXED);
            let double = double_type(decimals);
            if decimals >= DECIMALS_NOT_FIXED {
                return Ok(double);
            }
            let whole = number_width(a).saturating_sub(u32::from(decimals_meta(a)));
            ColumnType { length: double.length.min(whole + u32::from(decimals)), ..double }
        }
        _ => {
            let scale_out = (scale(a) + decimals).min(30);
            let digits = precision(a) + u32::from(scale(b)) + u32::from(decimals);
            decimal_type(digits, scale_out, unsigned(a) && unsigned(b))
        }
    })
}

/// Gives a quotient the type that it has with another `div_precision_increment`.
pub fn retype_quotient(expr: &mut Expr, decimals: u8) -> Result<()> {
    if let ExprKind::Call(_, args) = &expr.kind {
        expr.ty = quotient_type(args, decimals)?;
    }
    Ok(())
}

/// Gives a difference the type that it has under NO_UNSIGNED_SUBTRACTION: as wide as it were, but signed.
pub fn retype_difference(expr: &mut Expr) {
    if !expr.ty.unsigned {
        return;
    }
    expr.ty.unsigned = false;
    if expr.ty.kind == TypeKind::Decimal {
        expr.ty.length -= 1;
    }
}

fn resolve_int_div(args: &mut Vec<Expr>) -> Result<FuncType> {
    each_read(args, as_decimal)?;
    let (a, b) = pair(args)?;
    let unsigned = unsigned(a) || unsigned(b);
    let is_exact = |ty: &ColumnType| number_class(ty) != NumberClass::Double && ty.kind != TypeKind::Null;
    let dividend = if a.kind == TypeKind::Null { 0 } else { whole_digits(a) };
    let ty = match is_exact(b) || b.kind == TypeKind::Null {
        true if is_exact(a) || a.kind == TypeKind::Null => {
            ColumnType { length: (dividend + u32::from(scale(b)) + u32::from(!unsigned)).min(22), ..int_type(1, unsigned) }
        }
        true => ColumnType { length: (dividend + u32::from(!unsigned)).min(21), ..int_type(1, unsigned) },
        false if a.kind == TypeKind::Null && b.decimals < DECIMALS_NOT_FIXED => int_type(u32::from(b.decimals), unsigned),
        false => ColumnType { length: 22, ..int_type(1, unsigned) },
    };
    FuncType::number(ty, true)
}

fn resolve_mod(args: &mut Vec<Expr>) -> Result<FuncType> {
    let (a, b) = pair(args)?;
    let ty = match class_of(args) {
        // A place for the sign, if it has one or not.
        NumberClass::Int => {
            let digits = precision(a).max(precision(b));
            ColumnType { length: digits + 1, ..int_type(digits, unsigned(a)) }
        }
        // As of INT, there is a place for the sign.
        NumberClass::Decimal => {
            let digits = precision(a).max(precision(b)) + u32::from(unsigned(a));
            decimal_type(digits, scale(a).max(scale(b)), unsigned(a))
        }
        NumberClass::Double => ColumnType { unsigned: unsigned(a), ..double_of(a, b) },
    };
    FuncType::number(ty, true)
}

fn resolve_neg(args: &mut Vec<Expr>) -> Result<FuncType> {
    let Some(arg) = args.first() else { return Err(Error::internal("- without operand")) };
    let ty = match function_class(&arg.ty) {
        // The literal 9223372036854775808 is only in range with its sign.
        NumberClass::Int => match &arg.kind {
            ExprKind::Literal(Value::Int(i64::MIN)) => decimal_type(19, 0, false),
            ExprKind::Literal(Value::UInt(u)) if *u > 1 << 63 => decimal_type(precision(&arg.ty), 0, false),
            _ => int_type(precision(&arg.ty), false),
        },
        NumberClass::Decimal => decimal_type(precision(&arg.ty), scale(&arg.ty), false),
        NumberClass::Double if arg.ty.is_temporal() => double_type(DECIMALS_NOT_FIXED),
        NumberClass::Double => double_type(decimals_meta(&arg.ty)),
    };
    FuncType::number(ty, arg.nullable)
}

/// Error 1690: `BIGINT value is out of range in '(9223372036854775807 + 1)'`.
pub(super) fn out_of_range(ty: &ColumnType, name: &str, args: &[Expr], cx: &EvalCx<'_>) -> Error {
    let what = match ty.kind {
        TypeKind::Decimal if ty.unsigned => "DECIMAL UNSIGNED",
        TypeKind::Decimal => "DECIMAL",
        TypeKind::Double | TypeKind::Float => "DOUBLE",
        _ if ty.unsigned => "BIGINT UNSIGNED",
        _ => "BIGINT",
    };
    Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&what, &print::print_call(name, args, cx)])
}

/// `n` as a BIGINT of `ty`'s sign, if it fits.
pub(super) fn int_in_range(n: i128, ty: &ColumnType) -> Option<Value> {
    let fits = if ty.unsigned { u64::try_from(n).is_ok() } else { i64::try_from(n).is_ok() };
    fits.then(|| integer(n, ty.unsigned))
}

/// Both operands: MySQL reads the second one (and warns of it) even if the first is NULL.
#[inline]
fn both<T>(a: Result<Option<T>>, b: Result<Option<T>>) -> Result<Option<(T, T)>> {
    Ok(a?.zip(b?))
}

fn operand(value: &Value, call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>) -> Result<Option<i128>> {
    if value.is_null() { Ok(None) } else { to_int(value, call.arg_type(i), cx.env).map(Some) }
}

#[inline]
fn binary(
    call: &FuncCall<'_>,
    cx: &EvalCx<'_>,
    name: &str,
    int: fn(i128, i128) -> Option<i128>,
    decimal: fn(&Decimal, &Decimal) -> Option<Decimal>,
    double: fn(f64, f64) -> f64,
) -> Result<Value> {
    let range_error = || out_of_range(call.ty, name, call.args, cx);
    match call.ty.kind {
        TypeKind::Decimal => {
            if let Some(value) = exact::value(name, call, cx) {
                return Ok(value);
            }
            let (a, b) = arg!(both(call.decimal(0, cx), call.decimal(1, cx)));
            let result = decimal(&a, &b).ok_or_else(range_error)?;
            if name == "-"
                && call.ty.unsigned
                && result.is_negative()
                && cx.env.sql_mode() & sql_mode::NO_UNSIGNED_SUBTRACTION == 0
            {
                return Err(range_error());
            }
            Ok(Value::Decimal(result))
        }
        TypeKind::Double | TypeKind::Float => {
            let (a, b) = arg!(both(call.f64(0, cx), call.f64(1, cx)));
            let result = double(a, b);
            if result.is_finite() { Ok(Value::Float(result)) } else { Err(range_error()) }
        }
        _ => {
            let (a, b) = (call.value(0, cx)?, call.value(1, cx)?);
            let (a, b) = match (&*a, &*b) {
                (Value::Int(a), Value::Int(b)) => (i128::from(*a), i128::from(*b)),
                (a, b) => arg!(both(operand(a, call, 0, cx), operand(b, call, 1, cx))),
            };
            let n = int(a, b).ok_or_else(range_error)?;
            if name == "-" && call.ty.unsigned && cx.env.sql_mode() & sql_mode::NO_UNSIGNED_SUBTRACTION != 0 {
                let signed = ColumnType { unsigned: false, ..call.ty.clone() };
                return i64::try_from(n).map(Value::Int).map_err(|_| out_of_range(&signed, name, call.args, cx));
            }
            int_in_range(n, call.ty).ok_or_else(range_error)
        }
    }
}

/// NULL, with warning 1365 if sql_mode asks for it.
pub(super) fn division_by_zero(env: &dyn Env) -> Value {
    if env.sql_mode() & sql_mode::ERROR_FOR_DIVISION_BY_ZERO != 0 {
        env.warn(Level::Warning, Error::new(&errno::ER_DIVISION_BY_ZERO, &[]));
    }
    Value::Null
}

fn div(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    if call.ty.kind == TypeKind::Double {
        let (a, b) = arg!(both(call.f64(0, cx), call.f64(1, cx)));
        if b == 0.0 {
            return Ok(division_by_zero(cx.env));
        }
        let result = a / b;
        return if result.is_finite() { Ok(Value::Float(result)) } else { Err(out_of_range(call.ty, "/", call.args, cx)) };
    }
    let (a, b) = arg!(both(call.decimal(0, cx), call.decimal(1, cx)));
    if b.is_zero() {
        return Ok(division_by_zero(cx.env));
    }
    let increment = u32::from(call.ty.decimals).saturating_sub(u32::from(a.scale()));
    let quotient = a.div(&b, increment);
    quotient.map(Value::Decimal).ok_or_else(|| out_of_range(call.ty, "/", call.args, cx))
}

fn int_div(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let range_error = || out_of_range(call.ty, "DIV", call.args, cx);
    if class_of(call.args) == NumberClass::Int {
        let (a, b) = arg!(both(call.int(0, cx), call.int(1, cx)));
        if b == 0 {
            return Ok(division_by_zero(cx.env));
        }
        return int_in_range(a / b, call.ty).ok_or_else(range_error);
    }
    let (a, b) = arg!(both(call.decimal(0, cx), call.decimal(1, cx)));
    let Some(quotient) = a.int_div(&b) else { return Ok(division_by_zero(cx.env)) };
    let (n, clamped) = if call.ty.unsigned {
        let (n, clamped) = quotient.to_u64();
        (i128::from(n), clamped)
    } else {
        let (n, clamped) = quotient.to_i64();
        (i128::from(n), clamped)
    };
    if clamped { Err(range_error()) } else { Ok(integer(n, call.ty.unsigned)) }
}

fn modulo(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    match call.ty.kind {
        TypeKind::Decimal => {
            let (a, b) = arg!(both(call.decimal(0, cx), call.decimal(1, cx)));
            Ok(a.rem(&b).map_or_else(|| division_by_zero(cx.env), Value::Decimal))
        }
        TypeKind::Double => {
            let (a, b) = arg!(both(call.f64(0, cx), call.f64(1, cx)));
            Ok(if b == 0.0 { division_by_zero(cx.env) } else { Value::Float(a % b) })
        }
        _ => {
            let (a, b) = (call.value(0, cx)?, call.value(1, cx)?);
            let (a, b) = match (&*a, &*b) {
                // In 64 bits, as most are: a division of 128 takes ten times as long.
                (Value::Int(a), Value::Int(b)) if *b != 0 && !call.ty.unsigned => return Ok(Value::Int(a.wrapping_rem(*b))),
                (a, b) => arg!(both(operand(a, call, 0, cx), operand(b, call, 1, cx))),
            };
            if b == 0 {
                return Ok(division_by_zero(cx.env));
            }
            int_in_range(a % b, call.ty).ok_or_else(|| out_of_range(call.ty, "%", call.args, cx))
        }
    }
}

fn neg(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    match call.ty.kind {
        TypeKind::Decimal => Ok(Value::Decimal(arg!(call.decimal(0, cx)).neg())),
        TypeKind::Double => Ok(Value::Float(-arg!(call.f64(0, cx)))),
        _ => int_in_range(-arg!(call.int(0, cx)), call.ty).ok_or_else(|| out_of_range(call.ty, "NEG", call.args, cx)),
    }
}
