//! What MySQL finds when it converts a constant to the type of the date or time that it is compared with: once, before a row is read.
//!
//! `CONSTANT FOR(constant, operand, column, form)` is NULL and called for its warnings. `operand` is a NULL of the other operand's type,
//! `column` the column's name, or '' if it is an expression. `DATE_COLUMN = 'x'` is `CONSTANT FOR('x', <DATE>, 'date_column', '=')`: warning
//! `Incorrect date value: 'x' for column 'date_column' at row 1`, then error 1525, as comparing with what is no date makes no sense. The
//! forms `IN` and `BETWEEN` end without the error. `JSON CONDITION()` warns of JSON as a condition, `JSON BETWEEN()` of JSON in BETWEEN,
//! `JSON EXTREME()` of JSON in GREATEST and LEAST.

use std::borrow::Cow;

use vaquita_types::temporal::{datetime_from_number, parse_datetime, parse_time, time_from_number};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, sql_mode};

use super::args::volatile;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{EvalCx, Level};
use crate::eval::coerce::{self, DateNeed};
use crate::expr::{Expr, ExprKind};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    volatile("CONSTANT FOR", 4, 4, |_| FuncType::number(ColumnType::null(), true), constant_for),
    volatile("JSON CONDITION", 0, 0, |_| FuncType::number(ColumnType::null(), true), json_condition),
    volatile("JSON BETWEEN", 0, 0, |_| FuncType::number(ColumnType::null(), true), json_between),
    volatile("JSON EXTREME", 0, 0, |_| FuncType::number(ColumnType::null(), true), json_extreme),
];

/// How the constant falls short of the type.
#[derive(Clone, Copy, PartialEq)]
enum Loss {
    /// It is no date at all.
    All,
    /// Something follows what could be read, or it is out of range.
    Some,
    /// A date's time of day, or a time's date.
    Half,
}

fn json_between(_: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    cx.env.warn(Level::Warning, is_between());
    Ok(Value::Null)
}

fn json_extreme(_: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    cx.env.warn(Level::Warning, is_extreme());
    Ok(Value::Null)
}

fn json_condition(_: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    cx.env.warn(Level::Warning, is_condition());
    Ok(Value::Null)
}

fn is_between() -> Error {
    Error::new(&errno::ER_NOT_SUPPORTED_YET, &[&"comparison of JSON in the BETWEEN operator"])
}

fn is_extreme() -> Error {
    Error::new(&errno::ER_NOT_SUPPORTED_YET, &[&"comparison of JSON in the LEAST and GREATEST operators"])
}

fn is_condition() -> Error {
    Error::new(&errno::ER_IMPLICIT_COMPARISON_FOR_JSON, &[])
}

/// The warning of a call that warns of JSON, which is about the statement and not about values.
pub fn json_warning(expr: &Expr) -> Option<Error> {
    let ExprKind::Call(def, _) = &expr.kind else { return None };
    match def.name {
        "JSON CONDITION" => Some(is_condition()),
        "JSON BETWEEN" => Some(is_between()),
        "JSON EXTREME" => Some(is_extreme()),
        _ => None,
    }
}

fn constant_for(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let [constant, operand, ..] = call.args else { return Ok(Value::Null) };
    let (mut value, mut ty) = (call.value(0, cx)?, Cow::Borrowed(&constant.ty));
    if let Some((text, of)) = coerce::readable(&value, &ty) {
        (value, ty) = (Cow::Owned(text), Cow::Owned(of));
    }
    let kind = operand.ty.kind;
    let loss = match kind {
        TypeKind::Time => lost_of_time(&value, cx),
        _ => lost_of_date(&value, kind, cx),
    };
    let Some(loss) = loss else { return Ok(Value::Null) };
    let word = |n| Ok::<_, Error>(call.text(n, cx)?.map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default());
    let (column, form) = (word(2)?, word(3)?);
    let text = coerce::text_of(&value, &ty);
    let is_text = matches!(*value, Value::Bytes(_));
    let name = match kind {
        TypeKind::Date => "date",
        TypeKind::Time => "time",
        _ => "datetime",
    };
    let shown = coerce::shown(&text, ty.collation);
    // A list for IN is converted by itself, that of a DATETIME column of texts as the column does it.
    let by_itself = form == "IN" && (!is_text || !matches!(kind, TypeKind::DateTime | TypeKind::Timestamp));
    let message = match (by_itself, column.as_str()) {
        (true, _) if name == "datetime" => format!("Incorrect datetime value: '{shown}'"),
        (true, _) => format!("Truncated incorrect {name} value: '{shown}'"),
        (false, "") if is_text && kind != TypeKind::Time => format!("Truncated incorrect {name} value: '{shown}'"),
        (false, "") => return Ok(Value::Null),
        (false, column) => format!("Incorrect {name} value: '{shown}' for column '{column}' at row 1"),
    };
    // Outside of strict mode half a moment is worth no note.
    if loss == Loss::Half && !sql_mode::is_strict(cx.env.sql_mode()) {
        return Ok(Value::Null);
    }
    let level = if loss == Loss::Half { Level::Note } else { Level::Warning };
    cx.env.warn(level, Error::with_message(&errno::ER_TRUNCATED_WRONG_VALUE, message));
    if form == "=" && is_text && loss == Loss::All && kind != TypeKind::Time {
        return Err(no_date(&text, kind));
    }
    Ok(Value::Null)
}

/// Error 1525.
fn no_date(text: &[u8], kind: TypeKind) -> Error {
    let name = match kind {
        TypeKind::Date => "DATE",
        TypeKind::Timestamp => "TIMESTAMP",
        _ => "DATETIME",
    };
    Error::new(&errno::ER_WRONG_VALUE, &[&name, &coerce::start_of_text(text)])
}

fn lost_of_date(value: &Value, kind: TypeKind, cx: &EvalCx<'_>) -> Option<Loss> {
    let flags = coerce::date_flags(DateNeed::Mode, cx.env);
    let number = match value {
        Value::Bytes(text) => {
            return match parse_datetime(text, flags) {
                Err(_) => Some(Loss::All),
                Ok(parsed) => {
                    coerce::warn_of_delimiters(cx.env, text);
                    parsed.truncated.then_some(Loss::Some)
                }
            };
        }
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) => value,
        _ => return None,
    };
    let Some((whole, fraction)) = number_parts(number) else { return Some(Loss::All) };
    let Ok((date, date_only)) = datetime_from_number(whole, flags) else { return Some(Loss::All) };
    if fraction && (date_only || whole == 0) {
        return Some(Loss::Some);
    }
    (kind == TypeKind::Date && date.time().micros_total() != 0).then_some(Loss::Half)
}

fn lost_of_time(value: &Value, cx: &EvalCx<'_>) -> Option<Loss> {
    match value {
        Value::Bytes(text) => match parse_time(text) {
            Err(_) => Some(Loss::All),
            Ok(parsed) if parsed.truncated || parsed.out_of_range => Some(Loss::Some),
            Ok(parsed) if parsed.from_datetime.is_some() => Some(Loss::Half),
            Ok(_) => {
                coerce::warn_of_spaces(cx.env, text);
                None
            }
        },
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) => {
            let Some((whole, _)) = number_parts(value) else { return Some(Loss::All) };
            match time_from_number(whole) {
                Err(_) => Some(Loss::All),
                Ok((_, true)) => Some(Loss::Some),
                Ok(_) => (whole.unsigned_abs() >= FIRST_DATETIME).then_some(Loss::Half),
            }
        }
        _ => None,
    }
}

/// The least number that is a date with a time rather than a time.
const FIRST_DATETIME: u64 = 10_000_000_000;

/// The whole part, and whether there is a fraction; `None` beyond BIGINT.
fn number_parts(value: &Value) -> Option<(i64, bool)> {
    match value {
        Value::Int(n) => Some((*n, false)),
        Value::UInt(n) => Some((i64::try_from(*n).ok()?, false)),
        Value::Decimal(d) => {
            let (whole, clamped) = d.truncate(0).to_i64();
            (!clamped).then(|| (whole, d.truncate(0) != *d))
        }
        Value::Float(f) if f.abs() < 9e18 => Some((*f as i64, false)),
        _ => None,
    }
}
