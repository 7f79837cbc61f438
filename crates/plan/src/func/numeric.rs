//! Numeric functions.
//!
//! ABS, CEILING, FLOOR, ROUND and TRUNCATE keep the class of their argument (BIGINT, DECIMAL or DOUBLE); the
//! rest calculates in DOUBLE. An argument outside the domain is NULL, a result that is no number
//! is error 1690.

use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::decimal::Decimal;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::args::{any_nullable, def, each_read, volatile};
use super::arith::{int_in_range, out_of_range};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::SeededRandom;
use crate::env::{EvalCx, Level};
use crate::eval::arg;
use crate::expr::{Expr, ExprKind};
use crate::typing::{
    NumberClass, as_number, decimal_type, decimals_meta, double_type, function_class, int_of_length, int_type, precision, scale,
};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("ABS", 1, 1, resolve_abs, abs),
    def("CEIL", 1, 1, resolve_whole, |c, cx| whole(c, cx, Decimal::ceil, f64::ceil)),
    def("CEILING", 1, 1, resolve_whole, |c, cx| whole(c, cx, Decimal::ceil, f64::ceil)),
    def("FLOOR", 1, 1, resolve_whole, |c, cx| whole(c, cx, Decimal::floor, f64::floor)),
    def("ROUND", 1, 2, |a| resolve_round(a, false), |c, cx| round(c, cx, false)),
    def("TRUNCATE", 2, 2, |a| resolve_round(a, true), |c, cx| round(c, cx, true)),
    def("SIGN", 1, 1, |a| FuncType::number(int_of_length(21), any_nullable(a)), sign),
    def("POW", 2, 2, double, |c, cx| finite(c, cx, "pow", arg!(c.f64(0, cx)).powf(arg!(c.f64(1, cx))))),
    def("POWER", 2, 2, double, |c, cx| finite(c, cx, "pow", arg!(c.f64(0, cx)).powf(arg!(c.f64(1, cx))))),
    def("SQRT", 1, 1, double, |c, cx| domain(c, cx, |x| x >= 0.0, f64::sqrt)),
    def("EXP", 1, 1, double, |c, cx| finite(c, cx, "exp", arg!(c.f64(0, cx)).exp())),
    def("LN", 1, 1, double, |c, cx| log(c, cx, f64::ln)),
    def("LOG", 1, 2, double, log_base),
    def("LOG2", 1, 1, double, |c, cx| log(c, cx, f64::log2)),
    def("LOG10", 1, 1, double, |c, cx| log(c, cx, f64::log10)),
    def("SIN", 1, 1, double, |c, cx| domain(c, cx, |_| true, f64::sin)),
    def("COS", 1, 1, double, |c, cx| domain(c, cx, |_| true, f64::cos)),
    def("TAN", 1, 1, double, |c, cx| domain(c, cx, |_| true, f64::tan)),
    def("ASIN", 1, 1, double, |c, cx| domain(c, cx, |x| (-1.0..=1.0).contains(&x), f64::asin)),
    def("ACOS", 1, 1, double, |c, cx| domain(c, cx, |x| (-1.0..=1.0).contains(&x), f64::acos)),
    def("ATAN", 1, 2, double, atan),
    def("ATAN2", 1, 2, double, atan),
    def("COT", 1, 1, double, |c, cx| finite(c, cx, "cot", 1.0 / arg!(c.f64(0, cx)).tan())),
    def("DEGREES", 1, 1, angle, |c, cx| finite(c, cx, "degrees", arg!(c.f64(0, cx)) * (180.0 / std::f64::consts::PI))),
    def("RADIANS", 1, 1, angle, |c, cx| domain(c, cx, |_| true, |x| x * (std::f64::consts::PI / 180.0))),
    def(
        "PI",
        0,
        0,
        |_| FuncType::number(ColumnType { length: 8, decimals: 6, ..ColumnType::double() }, false),
        |_, _| Ok(Value::Float(std::f64::consts::PI)),
    ),
    volatile("RAND", 0, 1, |_| FuncType::number(double_type(DECIMALS_NOT_FIXED), false), rand),
    def(
        "CRC32",
        1,
        1,
        |a| FuncType::number(ColumnType { length: 10, unsigned: true, ..ColumnType::bigint() }, any_nullable(a)),
        crc32,
    ),
];

fn class(args: &[Expr]) -> NumberClass {
    args.first().map_or(NumberClass::Int, |a| function_class(&a.ty))
}

fn angle(args: &mut Vec<Expr>) -> Result<FuncType> {
    each_read(args, as_number)?;
    FuncType::number(double_type(DECIMALS_NOT_FIXED), any_nullable(args))
}

fn double(args: &mut Vec<Expr>) -> Result<FuncType> {
    each_read(args, as_number)?;
    FuncType::number(double_type(DECIMALS_NOT_FIXED), true)
}

fn first(args: &[Expr]) -> Result<&Expr> {
    args.first().ok_or_else(|| Error::internal("function without argument"))
}

fn unsigned(ty: &ColumnType) -> bool {
    ty.unsigned || matches!(ty.kind, TypeKind::Bit | TypeKind::Year)
}

fn resolve_abs(args: &mut Vec<Expr>) -> Result<FuncType> {
    let a = first(args)?;
    let ty = match function_class(&a.ty) {
        NumberClass::Int => int_type(precision(&a.ty), unsigned(&a.ty)),
        NumberClass::Decimal => decimal_type(precision(&a.ty), scale(&a.ty), a.ty.unsigned),
        NumberClass::Double => double_type(decimals_meta(&a.ty)),
    };
    FuncType::number(ty, a.nullable)
}

fn abs(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    match call.ty.kind {
        TypeKind::Decimal => Ok(Value::Decimal(arg!(call.decimal(0, cx)).abs())),
        TypeKind::Double => Ok(Value::Float(arg!(call.f64(0, cx)).abs())),
        _ => int_in_range(arg!(call.int(0, cx)).abs(), call.ty).ok_or_else(|| out_of_range(call.ty, "abs", call.args, cx)),
    }
}

/// CEILING and FLOOR of a DECIMAL are BIGINT if their digits fit.
fn resolve_whole(args: &mut Vec<Expr>) -> Result<FuncType> {
    let a = first(args)?;
    let ty = match function_class(&a.ty) {
        NumberClass::Int => ColumnType { unsigned: unsigned(&a.ty), ..ColumnType::bigint() },
        NumberClass::Decimal => {
            let digits = precision(&a.ty).saturating_sub(u32::from(scale(&a.ty)));
            if digits > 18 { decimal_type(digits + 1, 0, a.ty.unsigned) } else { ColumnType::bigint() }
        }
        NumberClass::Double => double_type(DECIMALS_NOT_FIXED),
    };
    FuncType::number(ty, a.nullable)
}

fn whole(call: &FuncCall<'_>, cx: &EvalCx<'_>, decimal: fn(&Decimal) -> Decimal, float: fn(f64) -> f64) -> Result<Value> {
    match (call.ty.kind, class(call.args)) {
        (TypeKind::Double, _) => Ok(Value::Float(float(arg!(call.f64(0, cx))))),
        (TypeKind::Decimal, _) => Ok(Value::Decimal(decimal(&arg!(call.decimal(0, cx))))),
        (_, NumberClass::Int) => Ok(crate::eval::cast::integer(arg!(call.int(0, cx)), call.ty.unsigned)),
        _ => {
            let n = crate::eval::coerce::decimal_to_int(&decimal(&arg!(call.decimal(0, cx))));
            int_in_range(n, call.ty).ok_or_else(|| out_of_range(call.ty, "floor", call.args, cx))
        }
    }
}

/// The constant number of places, if it is one.
fn constant_places(args: &[Expr]) -> Option<i64> {
    match args.get(1) {
        None => Some(0),
        Some(Expr { kind: ExprKind::Literal(Value::Int(n)), .. }) => Some(*n),
        Some(Expr { kind: ExprKind::Literal(Value::UInt(n)), .. }) => Some(i64::try_from(*n).unwrap_or(i64::MAX)),
        // As the number of places is read.
        Some(Expr { kind: ExprKind::Literal(value @ (Value::Decimal(_) | Value::Float(_) | Value::Bytes(_))), ty, .. }) => {
            Some(vaquita_types::convert::to_i64(value, ty).value)
        }
        Some(Expr { kind: ExprKind::Call(def, inner), .. }) if def.name == "NEG" => match inner.first().map(|e| &e.kind) {
            Some(ExprKind::Literal(Value::Int(n))) => Some(-n),
            _ => None,
        },
        _ => None,
    }
}

fn resolve_round(args: &mut Vec<Expr>, truncate: bool) -> Result<FuncType> {
    let a = first(args)?;
    let places = constant_places(args);
    let class = function_class(&a.ty);
    let ty = match (class, places) {
        (NumberClass::Int, _) => ColumnType { unsigned: unsigned(&a.ty), ..ColumnType::bigint() },
        (NumberClass::Double, _) => double_type(DECIMALS_NOT_FIXED),
        (NumberClass::Decimal, None) => decimal_type(precision(&a.ty), scale(&a.ty), a.ty.unsigned),
        (NumberClass::Decimal, Some(p)) => {
            let scale_out = scale(&a.ty).min(p.clamp(0, 30) as u8);
            let dropped = i64::from(scale(&a.ty)) - i64::from(scale_out);
            let carry = i64::from(dropped > 0 && !truncate);
            decimal_type((i64::from(precision(&a.ty)) - dropped + carry).max(1) as u32, scale_out, a.ty.unsigned)
        }
    };
    FuncType::number(ty, any_nullable(args))
}

fn round(call: &FuncCall<'_>, cx: &EvalCx<'_>, truncate: bool) -> Result<Value> {
    let places = match call.len() {
        0 | 1 => 0,
        _ => match call.int(1, cx)? {
            Some(places) => places.clamp(-400, 400) as i32,
            // The number is read all the same, with its warnings.
            None => return call.f64(0, cx).map(|_| Value::Null),
        },
    };
    match call.ty.kind {
        TypeKind::Decimal => {
            let d = arg!(call.decimal(0, cx));
            let places = places.min(i32::from(call.ty.decimals));
            let rounded = if truncate { d.truncate(places) } else { d.round(places) };
            Ok(Value::Decimal(rounded.rescale(call.ty.decimals).unwrap_or(rounded)))
        }
        TypeKind::Double => Ok(Value::Float(round_f64(arg!(call.f64(0, cx)), places, truncate))),
        _ => {
            let n = arg!(call.int(0, cx));
            let Ok(back) = u32::try_from(-places) else { return Ok(crate::eval::cast::integer(n, call.ty.unsigned)) };
            let unit = if back > 20 { return Ok(crate::eval::cast::integer(0, call.ty.unsigned)) } else { 10i128.pow(back) };
            let cut = n / unit * unit;
            let rest = (n - cut).abs();
            let rounded = if !truncate && rest * 2 >= unit && unit > 1 { cut + unit * n.signum() } else { cut };
            int_in_range(rounded, call.ty).ok_or_else(|| out_of_range(call.ty, "round", call.args, cx))
        }
    }
}

/// Rounds to even at the last place, as the processor rounds `x·10^places`.
pub(super) fn round_f64(x: f64, places: i32, truncate: bool) -> f64 {
    let power = 10f64.powi(places.abs());
    let scaled = if places < 0 { x / power } else { x * power };
    if places < 0 && power.is_infinite() {
        return 0.0;
    }
    if places >= 0 && scaled.is_infinite() {
        return x;
    }
    let cut = if truncate { scaled.trunc() } else { scaled.round_ties_even() };
    if places < 0 { cut * power } else { cut / power }
}

fn sign(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let x = arg!(call.f64(0, cx));
    Ok(Value::Int(if x > 0.0 {
        1
    } else if x < 0.0 {
        -1
    } else {
        0
    }))
}

/// The result, or error 1690 if it is infinite or no number.
fn finite(call: &FuncCall<'_>, cx: &EvalCx<'_>, name: &str, x: f64) -> Result<Value> {
    if x.is_finite() { Ok(Value::Float(x)) } else { Err(out_of_range(call.ty, name, call.args, cx)) }
}

fn domain(call: &FuncCall<'_>, cx: &EvalCx<'_>, inside: fn(f64) -> bool, f: fn(f64) -> f64) -> Result<Value> {
    let x = arg!(call.f64(0, cx));
    Ok(if inside(x) { Value::Float(f(x)) } else { Value::Null })
}

/// NULL with warning 3020.
fn no_logarithm(cx: &EvalCx<'_>) -> Value {
    cx.env.warn(Level::Warning, Error::new(&errno::ER_INVALID_ARGUMENT_FOR_LOGARITHM, &[]));
    Value::Null
}

fn log(call: &FuncCall<'_>, cx: &EvalCx<'_>, f: fn(f64) -> f64) -> Result<Value> {
    let x = arg!(call.f64(0, cx));
    Ok(if x > 0.0 { Value::Float(f(x)) } else { no_logarithm(cx) })
}

fn log_base(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    if call.len() < 2 {
        return log(call, cx, f64::ln);
    }
    let (base, x) = (arg!(call.f64(0, cx)), arg!(call.f64(1, cx)));
    Ok(if base > 0.0 && base != 1.0 && x > 0.0 { Value::Float(x.ln() / base.ln()) } else { no_logarithm(cx) })
}

fn atan(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let y = arg!(call.f64(0, cx));
    if call.len() < 2 {
        return Ok(Value::Float(y.atan()));
    }
    Ok(Value::Float(y.atan2(arg!(call.f64(1, cx)))))
}

/// RAND(): the session's generator. RAND(n): the sequence with seed n.
fn rand(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    if call.len() == 0 {
        return Ok(Value::Float(cx.env.random()));
    }
    let seed = call.int(0, cx)?.unwrap_or(0) as u32;
    let constant = matches!(call.args.first().map(|a| &a.kind), Some(ExprKind::Literal(_) | ExprKind::Param(_)));
    // The same seed for each row: one sequence. Another seed for each: the first number of its sequence.
    Ok(Value::Float(if constant {
        cx.env.seeded_random(call.args.as_ptr() as usize, seed)
    } else {
        SeededRandom::new(seed).number()
    }))
}

fn crc32(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    Ok(Value::UInt(u64::from(crc32fast::hash(&arg!(call.text(0, cx))))))
}
