//! Any value as a temporal value, as functions and CAST read their arguments.
//!
//! The result keeps microseconds; casting to a precision is `to_fsp`. A problem means
//! NULL with warning 1292 "Incorrect datetime value" ("Truncated incorrect time value").

use super::store::StoreContext;
use crate::datatype::ColumnType;
use crate::decimal::Decimal;
use crate::json::Json;
use crate::temporal::{
    Date, DateFlags, DateTime, ParsedDateTime, Problem, Time, datetime_from_number, parse_datetime, parse_time, time_from_number,
};
use crate::value::Value;

use super::number::Converted;

/// What a number says as a date: its integer part, its microseconds, and whether more followed
/// than a date can have.
pub(super) fn datetime_of_decimal(d: &Decimal, flags: DateFlags) -> Result<Converted<DateTime>, Problem> {
    let whole = d.truncate(0);
    let (n, clamped) = whole.to_i64();
    if clamped || d.is_negative() {
        return Err(Problem::OutOfRange);
    }
    let (value, date_only) = datetime_from_number(n, flags)?;
    // Nine digits: microseconds, and what follows for rounding.
    let nanos =
        d.sub(&whole).and_then(|f| f.mul(&Decimal::from(1_000_000_000i64))).map_or(0, |f| f.truncate(0).to_i64().0) as u32;
    if date_only || nanos == 0 {
        return Ok(Converted { value, truncated: nanos != 0, out_of_range: false });
    }
    let with_micros =
        DateTime::new(value.date(), value.hour(), value.minute(), value.second(), nanos / 1000).ok_or(Problem::OutOfRange)?;
    let value = with_micros.to_fsp(6, false, nanos % 1000).ok_or(Problem::OutOfRange)?;
    Ok(Converted::exact(value))
}

pub(super) fn time_of_decimal(d: &Decimal) -> Result<Converted<Time>, Problem> {
    let whole = d.truncate(0);
    let (n, clamped) = whole.to_i64();
    if clamped {
        return Ok(Converted { value: if n < 0 { Time::MIN } else { Time::MAX }, truncated: false, out_of_range: true });
    }
    let (time, out_of_range) = time_from_number(n)?;
    let nanos = d.sub(&whole).and_then(|f| f.mul(&Decimal::from(1_000_000_000i64))).map_or(0, |f| f.truncate(0).to_i64().0);
    if out_of_range {
        return Ok(Converted { value: time, truncated: false, out_of_range });
    }
    let us = time.micros_total() + nanos / 1000;
    let value = Time::from_micros(us).unwrap_or(time).to_fsp(6, false, (nanos % 1000).unsigned_abs() as u32);
    Ok(Converted::exact(value))
}

/// A parsed text in the session's time zone, its offset (if it has one) applied.
pub(super) fn apply_offset(parsed: &ParsedDateTime, ctx: &StoreContext) -> Result<DateTime, Problem> {
    let Some(seconds) = parsed.offset_seconds else { return Ok(parsed.value) };
    let utc = parsed.value.add_micros(-(seconds as i64) * 1_000_000).ok_or(Problem::OutOfRange)?;
    ctx.time_zone.from_utc(utc).ok_or(Problem::OutOfRange)
}

/// The value as a DATETIME with microseconds; a TIME is counted from today.
pub fn to_datetime(value: &Value, ty: &ColumnType, ctx: &StoreContext) -> Result<Converted<DateTime>, Problem> {
    let flags = ctx.date_flags();
    match value {
        Value::Null => Err(Problem::Malformed),
        Value::Date(d) => d.check(flags).map(|()| Converted::exact(d.to_datetime())),
        Value::DateTime(dt) => dt.date().check(flags).map(|()| Converted::exact(*dt)),
        Value::Time(t) => t.on(ctx.today).map(Converted::exact).ok_or(Problem::OutOfRange),
        Value::Bytes(text) => text_to_datetime(text, ctx),
        Value::Json(Json::String(s)) => text_to_datetime(s.as_bytes(), ctx),
        Value::Json(Json::Date(d)) => Ok(Converted::exact(d.to_datetime())),
        Value::Json(Json::DateTime(dt, _)) => Ok(Converted::exact(*dt)),
        Value::Json(Json::Time(t)) => t.on(ctx.today).map(Converted::exact).ok_or(Problem::OutOfRange),
        Value::Int(n) => datetime_from_number(*n, flags).map(|(dt, _)| Converted::exact(dt)),
        Value::UInt(n) => datetime_from_number(i64::try_from(*n).unwrap_or(i64::MAX), flags).map(|(dt, _)| Converted::exact(dt)),
        number => datetime_of_decimal(&super::to_decimal(number, ty).value, flags),
    }
}

fn text_to_datetime(text: &[u8], ctx: &StoreContext) -> Result<Converted<DateTime>, Problem> {
    let parsed = parse_datetime(text, ctx.date_flags())?;
    let local = apply_offset(&parsed, ctx)?;
    let value = local.to_fsp(6, ctx.truncates_fractions(), parsed.nanos).ok_or(Problem::OutOfRange)?;
    Ok(Converted { value, truncated: parsed.truncated, out_of_range: false })
}

/// The value as a DATE; a time of day is dropped.
pub fn to_date(value: &Value, ty: &ColumnType, ctx: &StoreContext) -> Result<Converted<Date>, Problem> {
    let dt = to_datetime(value, ty, ctx)?;
    Ok(Converted { value: dt.value.date(), truncated: dt.truncated, out_of_range: dt.out_of_range })
}

/// The value as a TIME with microseconds.
pub fn to_time(value: &Value, ty: &ColumnType, ctx: &StoreContext) -> Result<Converted<Time>, Problem> {
    let of_text = |text: &[u8]| {
        let parsed = parse_time(text)?;
        let value = parsed.to_fsp_in(6, ctx.truncates_fractions(), ctx.time_zone);
        Ok(Converted { value, truncated: parsed.truncated, out_of_range: parsed.out_of_range })
    };
    match value {
        Value::Null => Err(Problem::Malformed),
        Value::Time(t) => Ok(Converted::exact(*t)),
        Value::Date(_) => Ok(Converted::exact(Time::ZERO)),
        Value::DateTime(dt) => Ok(Converted::exact(dt.time())),
        Value::Bytes(text) => of_text(text),
        Value::Json(Json::String(s)) => of_text(s.as_bytes()),
        Value::Json(Json::Time(t)) => Ok(Converted::exact(*t)),
        Value::Json(Json::DateTime(dt, _)) => Ok(Converted::exact(dt.time())),
        Value::Json(Json::Date(_)) => Ok(Converted::exact(Time::ZERO)),
        number => time_of_decimal(&super::to_decimal(number, ty).value),
    }
}
