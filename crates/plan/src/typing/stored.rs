//! Constants as the column that they are compared with would store them.
//!
//! MySQL stores a constant into the column once and then compares stored values: a DATE loses the time of
//! `20240615123456`, a TIME rounds `'10:00:00.6'`, a YEAR makes 1999 of 99 and of `DATE'1999-05-01'`. What the column cannot hold
//! is compared as it is: a number with the column's number, a text with its text. Texts that a date is compared with keep their
//! time of day, so they are only parsed.

use vaquita_types::decimal::Decimal;
use vaquita_types::temporal::{
    DateFlags, DateTime, MICROS_PER_SECOND, Time, TimeZone, datetime_from_number, parse_datetime, parse_time, time_from_number,
};
use vaquita_types::{ColumnType, TypeKind, Value};

use super::{is_hex_literal, is_string};
use crate::expr::{Expr, ExprKind};

/// Years that a YEAR column can hold beside 0.
const YEARS: std::ops::RangeInclusive<i64> = 1901..=2155;

/// `literal` as `operand` would store it; `None` if it is to be compared as it is. Only of a date is `operand` not a column.
pub(super) fn stored(operand: &Expr, literal: &Expr) -> Option<Expr> {
    let ExprKind::Literal(value) = &literal.kind else { return None };
    let ty = &operand.ty;
    let is_column = matches!(operand.kind, ExprKind::Slot(_) | ExprKind::Outer { .. });
    if is_hex_literal(&literal.ty) {
        return None;
    }
    match (ty.kind, value) {
        (TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp, Value::Bytes(text)) if is_string(&literal.ty) => {
            date_text(text)
        }
        _ if !is_column => None,
        (TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp, _) => date_number(ty, &number(value)?),
        (TypeKind::Time, Value::Bytes(text)) if is_string(&literal.ty) => time_text(ty, text),
        (TypeKind::Time, Value::Date(_)) => Some(time(ty, Time::ZERO)),
        (TypeKind::Time, Value::DateTime(at)) => Some(time(ty, at.time().to_fsp(ty.decimals, false, 0))),
        (TypeKind::Time, _) => time_number(ty, &number(value)?),
        (TypeKind::Year, _) => year(value),
        _ => None,
    }
}

fn number(value: &Value) -> Option<Decimal> {
    Some(match value {
        Value::Int(n) => Decimal::from(*n),
        Value::UInt(n) => Decimal::from(*n),
        Value::Decimal(d) => d.clone(),
        Value::Float(f) => Decimal::from_f64(*f).0,
        _ => return None,
    })
}

/// Whole part and microseconds.
fn split(number: &Decimal) -> Option<(i64, i64)> {
    let cut = number.truncate(0);
    let (whole, clamped) = cut.to_i64();
    let fraction = number.sub(&cut)?.mul(&Decimal::from(MICROS_PER_SECOND))?;
    (!clamped).then_some((whole, fraction.to_i64().0))
}

fn datetime(value: DateTime, fsp: u8) -> Expr {
    Expr::literal(Value::DateTime(value), ColumnType::temporal(TypeKind::DateTime, fsp))
}

fn date_text(text: &[u8]) -> Option<Expr> {
    let parsed = parse_datetime(text, DateFlags { no_zero_date: true, no_zero_in_date: true, invalid_dates: false }).ok()?;
    if parsed.truncated || parsed.offset_seconds.is_some() || parsed.nanos != 0 {
        return None;
    }
    Some(datetime(parsed.value, parsed.fraction_digits))
}

/// Any dates but those with a zero month or day only.
const STORABLE: DateFlags = DateFlags { no_zero_date: false, no_zero_in_date: true, invalid_dates: true };

fn date_number(ty: &ColumnType, number: &Decimal) -> Option<Expr> {
    let (whole, micros) = split(number)?;
    // The zero date has no second more.
    let is_zero = ty.kind != TypeKind::Timestamp && ty.decimals == 0 && micros < MICROS_PER_SECOND / 2;
    if whole == 0 && micros != 0 && !is_zero {
        return None;
    }
    let (value, _) = datetime_from_number(whole, STORABLE).ok()?;
    let value = match ty.kind {
        TypeKind::Date => value.date().to_datetime(),
        _ => value.add_micros(micros).unwrap_or(value).to_fsp(ty.decimals, false, 0)?,
    };
    // Beyond the range of TIMESTAMP, whatever the time zone, the zero value is stored.
    if ty.kind == TypeKind::Timestamp && TimeZone::Utc.timestamp_to_utc(value).is_none() {
        return Some(datetime(DateTime::ZERO, 0));
    }
    Some(datetime(value, if ty.kind == TypeKind::Date { 0 } else { ty.decimals }))
}

fn time(ty: &ColumnType, value: Time) -> Expr {
    Expr::literal(Value::Time(value), ColumnType::temporal(TypeKind::Time, ty.decimals))
}

fn time_text(ty: &ColumnType, text: &[u8]) -> Option<Expr> {
    let parsed = parse_time(text).ok()?;
    let has_offset = parsed.from_datetime.is_some_and(|at| at.offset_seconds.is_some());
    let whole = !parsed.truncated && !parsed.out_of_range && !has_offset;
    whole.then(|| time(ty, parsed.to_fsp(ty.decimals, false)))
}

fn time_number(ty: &ColumnType, number: &Decimal) -> Option<Expr> {
    let (whole, micros) = split(number)?;
    let (value, clamped) = time_from_number(whole).ok()?;
    (!clamped).then(|| time(ty, Time::clamped(value.micros_total() + micros).to_fsp(ty.decimals, false, 0)))
}

fn year(value: &Value) -> Option<Expr> {
    let n = match value {
        Value::Date(d) => i64::from(d.year()),
        Value::DateTime(d) => i64::from(d.year()),
        Value::Float(f) => *f as i64,
        Value::Bytes(text) => {
            // A fraction is rounded, as where an integer is stored.
            let parsed = Decimal::parse(text);
            let (n, clamped) = parsed.value.round(0).to_i64();
            if parsed.used == 0 || clamped || text.trim_ascii_start().starts_with(b"-") {
                return None;
            }
            if n == 0 { 2000 } else { n }
        }
        other => number(other)?.to_i64().0,
    };
    let full = match super::conversion::full_year(&Value::Int(n)) {
        Value::Int(n) if n == 0 || YEARS.contains(&n) => n,
        _ => return None,
    };
    Some(Expr::literal(Value::Int(full), ColumnType::bigint()))
}
