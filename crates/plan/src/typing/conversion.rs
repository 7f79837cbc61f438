//! Functions that no statement names: what comparisons and arithmetic make of some operands.

use vaquita_types::decimal::Decimal;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::COERCIBILITY_NUMERIC;
use crate::env::EvalCx;
use crate::eval::{DateOrTime, arg, coerce, is_date_text};
use crate::expr::Expr;
use crate::function::{FuncCall, FuncDef, FuncType};

/// What a YEAR column takes a constant for.
pub(super) static FULL_YEAR: FuncDef = FuncDef {
    name: "FULL YEAR",
    args: (1, 1),
    resolve: |args| resolve_same(args),
    eval: |call, cx| Ok(full_year(&*call.value(0, cx)?)),
    foldable: true,
};

/// YEAR(CURDATE()).
pub(super) static THIS_YEAR: FuncDef = FuncDef {
    name: "THIS YEAR",
    args: (0, 0),
    resolve: |_| number(year_type()),
    eval: |_, cx| Ok(Value::UInt(u64::from(coerce::now(cx.env).date().year()))),
    foldable: false,
};

/// A constant text that BETWEEN compares with dates, which need not be one.
pub(super) static TEXT_OF_DATE: FuncDef = FuncDef {
    name: "TEXT OF DATE",
    args: (1, 1),
    resolve: |args| resolve_same(args),
    eval: |call, cx| Ok(call.value(0, cx)?.into_owned()),
    foldable: false,
};

/// What `as_number` makes of a date or time in a text.
pub(super) static NUMBER_OF_DATE: FuncDef = FuncDef {
    name: "NUMBER OF DATE",
    args: (1, 1),
    resolve: |_| number(ColumnType::double()),
    eval: number_of_date,
    foldable: true,
};

fn number(ty: ColumnType) -> Result<FuncType> {
    Ok(FuncType { ty, nullable: true, coercibility: COERCIBILITY_NUMERIC })
}

fn resolve_same(args: &[Expr]) -> Result<FuncType> {
    let of = args.first().ok_or_else(|| Error::internal("a conversion of nothing"))?;
    Ok(FuncType { ty: of.ty.clone(), nullable: of.nullable, coercibility: of.coercibility })
}

/// A number or a text of two digits as a YEAR column takes it: 99 is 1999, 1 is 2001, '0' is 2000 (but 0 is year 0).
/// Other values stay.
pub fn full_year(value: &Value) -> Value {
    let full = |n: i64| match n {
        0..70 => 2000 + n,
        70..100 => 1900 + n,
        n => n,
    };
    match value {
        Value::Int(n @ 1..100) => Value::Int(full(*n)),
        Value::UInt(n @ 1..100) => Value::UInt(full(*n as i64) as u64),
        Value::Float(f) if f.fract() == 0.0 && (1.0..100.0).contains(f) => Value::Float(full(*f as i64) as f64),
        Value::Decimal(d) if d.truncate(0) == *d => match d.to_i64() {
            (n @ 1..100, false) => Value::Decimal(Decimal::from(full(n))),
            _ => value.clone(),
        },
        Value::Bytes(text) => match std::str::from_utf8(text).map(str::parse::<u8>) {
            Ok(Ok(n)) if text.len() <= 2 => Value::from(full(i64::from(n)).to_string()),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

pub fn year_type() -> ColumnType {
    ColumnType { length: 4, unsigned: true, ..ColumnType::new(TypeKind::Year) }
}

fn number_of_date(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let number = match arg!(call.date_or_time(0, cx)) {
        DateOrTime::DateTime(at) if is_date_text(&*call.value(0, cx)?, call.arg_type(0)) => Value::Date(at.date()),
        DateOrTime::DateTime(at) => Value::DateTime(at),
        DateOrTime::Time(time) => Value::Time(time),
    };
    Ok(Value::Float(coerce::temporal_number(&number).to_f64()))
}
