//! Storing into DATE, DATETIME, TIMESTAMP and TIME columns.

use super::number::{Converted, to_decimal};
use super::store::{ProblemKind, StoreContext, StoreProblem, Stored, shown};
use super::temporal::{apply_offset, datetime_of_decimal, time_of_decimal};
use super::text::to_text;
use crate::datatype::{ColumnType, TypeKind};
use crate::json::Json;
use crate::temporal::{Date, DateTime, ParsedTime, Problem, Time, parse_datetime, parse_time};
use crate::value::Value;

pub(super) fn store(value: Value, from: &ColumnType, to: &ColumnType, ctx: &StoreContext) -> Stored {
    if let Value::Json(json) = &value {
        let inner = match json {
            Json::Date(d) => Value::Date(*d),
            Json::DateTime(dt, _) => Value::DateTime(*dt),
            Json::Time(t) => Value::Time(*t),
            Json::String(s) => Value::bytes(s.as_bytes()),
            _ => {
                let target = match to.kind {
                    TypeKind::Date => "DATE",
                    TypeKind::Time => "TIME",
                    _ => "DATETIME/TIMESTAMP",
                };
                return StoreProblem::of(ProblemKind::JsonCast(target), Value::Null);
            }
        };
        let ty = ColumnType::temporal(TypeKind::DateTime, 6);
        return store(inner, &ty, to, ctx);
    }
    if let (Value::UInt(_), TypeKind::Enum | TypeKind::Set) = (&value, from.kind) {
        // What a label says, not its number.
        let label = Value::bytes(to_text(&value, from));
        return super::store::store(label, &ColumnType::varchar(0, from.collation), to, ctx);
    }
    match to.kind {
        TypeKind::Time => store_time(&value, from, to, ctx),
        TypeKind::Date => store_date(&value, from, ctx),
        _ => store_datetime(&value, from, to, ctx),
    }
}

/// The value as a DATETIME of `fsp` digits; junk behind it and values out of range are flagged.
fn datetime_of(value: &Value, from: &ColumnType, fsp: u8, ctx: &StoreContext) -> Result<Converted<DateTime>, Problem> {
    let flags = ctx.date_flags();
    let cut = ctx.truncates_fractions();
    let rounded = |dt: DateTime, nanos: u32| dt.to_fsp(fsp, cut, nanos).ok_or(Problem::OutOfRange);
    Ok(match value {
        Value::Bytes(text) => {
            let parsed = parse_datetime(text, flags)?;
            let local = apply_offset(&parsed, ctx)?;
            Converted { value: rounded(local, parsed.nanos)?, truncated: parsed.truncated, out_of_range: false }
        }
        Value::Date(d) => {
            d.check(flags)?;
            Converted::exact(d.to_datetime())
        }
        Value::DateTime(dt) => {
            dt.date().check(flags)?;
            Converted::exact(rounded(*dt, 0)?)
        }
        Value::Time(t) => {
            let dt = t.on(ctx.today).ok_or(Problem::OutOfRange)?;
            Converted::exact(rounded(dt, 0)?)
        }
        number => {
            let dt = datetime_of_decimal(&to_decimal(number, from).value, flags)?;
            Converted { value: rounded(dt.value, 0)?, ..dt }
        }
    })
}

fn failed(problem: Problem, type_name: &'static str, value: &Value, from: &ColumnType, adjusted: Value) -> Stored {
    let kind = ProblemKind::Temporal { type_name, value: shown(value, from), out_of_range: problem != Problem::Malformed };
    StoreProblem::of(kind, adjusted)
}

fn store_datetime(value: &Value, from: &ColumnType, to: &ColumnType, ctx: &StoreContext) -> Stored {
    const NAME: &str = "datetime";
    let zero = Value::DateTime(DateTime::ZERO);
    let dt = match datetime_of(value, from, to.decimals, ctx) {
        Ok(dt) => dt,
        Err(problem) => return failed(problem, NAME, value, from, zero),
    };
    if to.kind == TypeKind::Timestamp {
        match ctx.time_zone.timestamp_to_utc(dt.value) {
            None => return failed(Problem::OutOfRange, NAME, value, from, zero),
            Some(utc) if utc.in_gap => {
                let shifted = ctx.time_zone.from_utc(utc.value).unwrap_or(DateTime::ZERO);
                return failed(Problem::OutOfRange, NAME, value, from, Value::DateTime(shifted));
            }
            Some(_) => {}
        }
    }
    if dt.truncated {
        return failed(Problem::Malformed, NAME, value, from, Value::DateTime(dt.value));
    }
    Ok(Value::DateTime(dt.value))
}

fn store_date(value: &Value, from: &ColumnType, ctx: &StoreContext) -> Stored {
    const NAME: &str = "date";
    let dt = match datetime_of(value, from, 0, ctx) {
        Ok(dt) => dt,
        Err(problem) => return failed(problem, NAME, value, from, Value::Date(Date::ZERO)),
    };
    let date = Value::Date(dt.value.date());
    if dt.truncated {
        return failed(Problem::Malformed, NAME, value, from, date);
    }
    if dt.value.time() != Time::ZERO {
        let text = match value {
            // MySQL shows the value that it tried, without its fraction.
            Value::DateTime(_) => dt.value.to_string(),
            Value::Time(t) => {
                let mut text = Vec::new();
                t.write_text(&mut text, 0);
                String::from_utf8_lossy(&text).into_owned()
            }
            other => shown(other, from),
        };
        return StoreProblem::of(ProblemKind::TemporalCut { type_name: NAME, value: text }, date);
    }
    Ok(date)
}

fn store_time(value: &Value, from: &ColumnType, to: &ColumnType, ctx: &StoreContext) -> Stored {
    const NAME: &str = "time";
    let cut = ctx.truncates_fractions();
    let time = match value {
        Value::Time(t) => return Ok(Value::Time(t.to_fsp(to.decimals, cut, 0))),
        Value::Date(_) => return Ok(Value::Time(Time::ZERO)),
        Value::DateTime(dt) => {
            // The last second of a day is rounded up to 24:00:00.
            return Ok(Value::Time(dt.time().to_fsp(to.decimals, cut, 0)));
        }
        Value::Bytes(text) if text.is_empty() => return Ok(Value::Time(Time::ZERO)),
        Value::Bytes(text) => {
            let stored = |p: ParsedTime| {
                (p.to_fsp_in(to.decimals, cut, ctx.time_zone), p.truncated, p.out_of_range, p.from_datetime.is_some())
            };
            parse_time(text).map(stored)
        }
        number => {
            let d = to_decimal(number, from).value;
            // Eleven digits and more were read as a DATETIME.
            let long = d.integer_digits() > 10;
            time_of_decimal(&d).map(|t| (t.value.to_fsp(to.decimals, cut, 0), false, t.out_of_range, long && !t.out_of_range))
        }
    };
    match time {
        Err(problem) => failed(problem, NAME, value, from, Value::Time(Time::ZERO)),
        Ok((time, _, true, _)) => failed(Problem::OutOfRange, NAME, value, from, Value::Time(time)),
        Ok((time, true, ..)) => failed(Problem::Malformed, NAME, value, from, Value::Time(time)),
        Ok((time, _, _, true)) => {
            StoreProblem::of(ProblemKind::TemporalCut { type_name: NAME, value: shown(value, from) }, Value::Time(time))
        }
        Ok((time, ..)) => Ok(Value::Time(time)),
    }
}
