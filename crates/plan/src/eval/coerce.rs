//! Reads a value as a number, a text or a time, wherever an operation wants one.
//!
//! A text that is no number counts as far as it is one, with warning 1292; a text that is no
//! date is NULL with warning 1292. Numbers become integers by rounding. Nothing here fails because of
//! the data: errors come from `cast` and from the operations.

use std::borrow::Cow;

use vaquita_types::charset::{CollationId, charset};
use vaquita_types::decimal::Decimal;
use vaquita_types::json::Json;
use vaquita_types::temporal::{
    Date, DateFlags, DateTime, MICROS_PER_DAY, MICROS_PER_SECOND, Problem, Time, datetime_from_number, parse_datetime,
    parse_time, time_from_number,
};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, format, sql_mode};

use super::messages::warn_truncated_value;
pub use super::messages::{
    delimiter_warning, printable, shown, start_of_text, warn_incorrect, warn_of_delimiters, warn_of_spaces, warn_truncated,
};
use crate::env::{Env, Level};
use crate::text::{is_hex_literal, is_unsigned_varbinary};

/// The value as text in the charset of its type; ASCII for everything that is no string.
pub fn text_of<'v>(value: &'v Value, ty: &ColumnType) -> Cow<'v, [u8]> {
    let mut out = Vec::new();
    match value {
        Value::Null => {}
        Value::Bytes(b) => return Cow::Borrowed(b),
        Value::Int(i) if ty.zerofill => format::write_zerofill(&mut out, *i as u64, ty.length as usize),
        Value::Int(i) => format::write_i64(&mut out, *i),
        Value::UInt(u) => write_uint(&mut out, *u, ty),
        Value::Float(f) if ty.decimals < 31 && matches!(ty.kind, TypeKind::Float | TypeKind::Double) => {
            format::write_fixed(&mut out, *f, ty.decimals)
        }
        Value::Float(f) if ty.kind == TypeKind::Float => format::write_float(&mut out, *f as f32),
        Value::Float(f) => format::write_double(&mut out, *f),
        Value::Decimal(d) => d.write_text(&mut out, if ty.kind == TypeKind::Decimal { ty.decimals } else { d.scale() }),
        Value::Date(d) => d.write_text(&mut out),
        Value::DateTime(d) => d.write_text(&mut out, fsp_of(ty, d.micros())),
        Value::Time(t) => t.write_text(&mut out, fsp_of(ty, t.micros())),
        Value::Json(j) => j.write_text(&mut out),
    }
    if ty.zerofill && matches!(value, Value::Float(_) | Value::Decimal(_)) {
        let point = ty.kind == TypeKind::Decimal && ty.decimals > 0;
        format::pad_zeros(&mut out, 0, ty.length as usize + usize::from(point));
    }
    Cow::Owned(out)
}

/// A text of UTF-16 and its like in UTF-8, where digits can be read, with its type; `None` for all others.
pub(crate) fn readable(value: &Value, ty: &ColumnType) -> Option<(Value, ColumnType)> {
    let Value::Bytes(text) = value else { return None };
    if !ty.is_bytes() || charset(ty.collation).is_ascii_compatible() {
        return None;
    }
    let utf8 = charset(ty.collation).convert(charset(CollationId::UTF8MB4_BIN), text).bytes;
    Some((Value::bytes(utf8), ColumnType { collation: CollationId::UTF8MB4_BIN, ..ty.clone() }))
}

/// The digits to print: the type's, or those of a value whose type says nothing.
fn fsp_of(ty: &ColumnType, micros: u32) -> u8 {
    match ty.kind {
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => ty.decimals,
        _ if micros == 0 => 0,
        _ => 6,
    }
}

fn write_uint(out: &mut Vec<u8>, n: u64, ty: &ColumnType) {
    match ty.kind {
        TypeKind::Enum => out.extend_from_slice(enum_label(n, ty)),
        TypeKind::Set => write_set(out, n, ty),
        TypeKind::Year if ty.zerofill => format::write_year(out, n),
        TypeKind::Bit => {
            let bytes = (ty.length as usize).div_ceil(8).clamp(1, 8);
            out.extend_from_slice(&n.to_be_bytes()[8 - bytes..]);
        }
        _ if ty.zerofill => format::write_zerofill(out, n, ty.length as usize),
        _ => format::write_u64(out, n),
    }
}

/// The label of an ENUM's index; '' for 0.
pub fn enum_label(n: u64, ty: &ColumnType) -> &[u8] {
    let at = usize::try_from(n).ok().and_then(|n| n.checked_sub(1));
    match (at, &ty.members) {
        (Some(at), Some(members)) => members.get(at).map_or(&[][..], |m| m),
        _ => &[],
    }
}

fn write_set(out: &mut Vec<u8>, bits: u64, ty: &ColumnType) {
    let mut first = true;
    for (i, label) in ty.members.iter().flat_map(|m| m.iter()).enumerate().take(64) {
        if bits >> i & 1 == 1 {
            if !first {
                charset(ty.collation).encode(u32::from(b','), out);
            }
            out.extend_from_slice(label);
            first = false;
        }
    }
}

/// The number at the start of a text, and how many bytes it and spaces around it take.
pub fn parse_f64(text: &[u8]) -> (f64, usize) {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut at = start;
    let digits = |from: usize| text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    if matches!(text.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let whole = digits(at);
    at += whole;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        if whole + fraction > 0 {
            at += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return (0.0, 0);
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'-' | b'+')));
        let exponent = digits((at + 1 + sign).min(text.len()));
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    let number = std::str::from_utf8(&text[start..at]).ok().and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0);
    let trailing = text[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let number = if number.is_infinite() { f64::MAX.copysign(number) } else { number };
    (number, at + trailing)
}

/// The value as DOUBLE; NULL is 0.
pub fn to_f64(value: &Value, ty: &ColumnType, env: &dyn Env) -> Result<f64> {
    Ok(match value {
        Value::Null => 0.0,
        Value::Int(i) => *i as f64,
        Value::UInt(u) => *u as f64,
        Value::Float(f) => *f,
        Value::Decimal(d) => d.to_f64(),
        Value::Bytes(b) if is_hex_literal(ty) => hex_value(b, env) as f64,
        Value::Bytes(b) => {
            if let Some((text, ty)) = readable(value, ty) {
                return to_f64(&text, &ty, env);
            }
            let (number, used) = parse_f64(b);
            // Spaces alone are 0 without a word, as is the empty text.
            if used < b.len() && !b.trim_ascii().is_empty() && !is_silent(ty) {
                warn_truncated_value(env, "DOUBLE", b, ty);
            }
            number
        }
        Value::Json(j) => json_f64(j, "DOUBLE", env),
        other => temporal_number(other).to_f64(),
    })
}

/// Columns of TEXT and BLOB are numbers without a word of what is lost, as in MySQL. (What functions give is MEDIUMTEXT or longer, and
/// of another length.)
fn is_silent(ty: &ColumnType) -> bool {
    match ty.kind {
        TypeKind::TinyText | TypeKind::Text | TypeKind::TinyBlob | TypeKind::Blob => true,
        TypeKind::MediumText | TypeKind::MediumBlob => matches!(ty.length, 0 | 0xFF_FFFF),
        TypeKind::LongText | TypeKind::LongBlob => matches!(ty.length, 0 | u32::MAX),
        _ => is_unsigned_varbinary(ty),
    }
}

/// `target` is what a warning calls the number.
fn json_f64(json: &Json, target: &str, env: &dyn Env) -> f64 {
    match json {
        Json::Bool(b) => f64::from(u8::from(*b)),
        Json::Int(i) => *i as f64,
        Json::UInt(u) => *u as f64,
        Json::Double(f) => *f,
        Json::Decimal(d) => d.to_f64(),
        Json::String(s) => {
            let (number, used) = parse_f64(s.as_bytes());
            if used < s.len() || s.is_empty() {
                warn_json(env, target);
            }
            number
        }
        Json::Date(d) => f64::from(d.to_number()),
        Json::DateTime(d, _) => temporal_number(&Value::DateTime(*d)).to_f64(),
        Json::Time(t) => temporal_number(&Value::Time(*t)).to_f64(),
        _ => {
            warn_json(env, target);
            0.0
        }
    }
}

/// Warning 3156: a JSON value that is no number.
fn warn_json(env: &dyn Env, target: &str) {
    let text = format!("Invalid JSON value for CAST to {target} from column json at row 1");
    env.warn(Level::Warning, Error::with_message(&errno::ER_INVALID_JSON_VALUE_FOR_CAST, text));
}

/// Warning 3155: a JSON number that no BIGINT holds.
fn warn_json_range(number: f64, env: &dyn Env) {
    let beyond = -(i64::MIN as f64);
    if !(-beyond..beyond).contains(&number.round_ties_even()) {
        let text = "Out of range JSON value for CAST to INTEGER from column json at row 1";
        env.warn(Level::Warning, Error::with_message(&errno::ER_NUMERIC_JSON_VALUE_OUT_OF_RANGE, text));
    }
}

/// The big-endian number that `x'…'` stands for, if it has no more than eight bytes behind zeros.
pub fn hex_number(bytes: &[u8]) -> Option<u64> {
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    let rest = &bytes[zeros..];
    (rest.len() <= size_of::<u64>()).then(|| rest.iter().fold(0u64, |n, b| n << 8 | u64::from(*b)))
}

/// The same; a longer one is 0, with warning 1292.
pub fn hex_value(bytes: &[u8], env: &dyn Env) -> u64 {
    hex_number(bytes).unwrap_or_else(|| {
        let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        warn_truncated(env, "BINARY", format!("x'{digits}'").as_bytes());
        0
    })
}

/// A date or time as a number: 20240131, 20240131235959.5, -8385959.
pub fn temporal_number(value: &Value) -> Decimal {
    let with_micros = |whole: i64, micros: u32| {
        let base = Decimal::from(whole);
        if micros == 0 {
            return base;
        }
        let micros = if whole < 0 { -i64::from(micros) } else { i64::from(micros) };
        base.add(&Decimal::new(micros, 6)).unwrap_or(base)
    };
    match value {
        Value::Date(d) => Decimal::from(i64::from(d.to_number())),
        Value::DateTime(d) => with_micros(d.to_number() as i64, d.micros()),
        Value::Time(t) if t.is_negative() && t.to_number() == 0 => Decimal::new(-i64::from(t.micros()), 6),
        Value::Time(t) => with_micros(t.to_number(), t.micros()),
        _ => Decimal::ZERO,
    }
}

/// The value as an integer within the ranges of BIGINT and BIGINT UNSIGNED; NULL is 0.
pub fn to_int(value: &Value, ty: &ColumnType, env: &dyn Env) -> Result<i128> {
    Ok(match value {
        Value::Null => 0,
        Value::Int(i) => i128::from(*i),
        Value::UInt(u) => i128::from(*u),
        Value::Float(f) => float_to_int(*f),
        Value::Decimal(d) => told_decimal_to_int(d, ty, ty.unsigned, env),
        Value::Bytes(b) if is_hex_literal(ty) => i128::from(hex_value(b, env)),
        Value::Bytes(b) => {
            if let Some((text, ty)) = readable(value, ty) {
                return to_int(&text, &ty, env);
            }
            let (n, whole) = int_of_text(b);
            if !whole && !is_silent(ty) {
                warn_truncated_value(env, "INTEGER", b, ty);
            }
            n
        }
        Value::Json(j) => json_int(j, env),
        Value::Time(t) => decimal_to_int(&temporal_number(&Value::Time(t.to_fsp(0, false, 0)))),
        // A fraction carries into the minutes, which rounding of the number would not do.
        Value::DateTime(d) => decimal_to_int(&temporal_number(&Value::DateTime(d.to_fsp(0, false, 0).unwrap_or(*d)))),
        other => decimal_to_int(&temporal_number(other)),
    })
}

/// Rounded to even as the processor does, clamped to BIGINT.
pub fn float_to_int(f: f64) -> i128 {
    i128::from(f.round_ties_even() as i64)
}

/// Rounded and clamped to BIGINT, also where BIGINT UNSIGNED could hold more, unless the type is unsigned.
pub fn decimal_to_int(d: &Decimal) -> i128 {
    i128::from(d.to_i64().0)
}

/// As `decimal_to_int`, of a value of type `ty`, with warning 1292 if it does not fit. `unsigned`: what is not negative as BIGINT UNSIGNED.
pub(super) fn told_decimal_to_int(d: &Decimal, ty: &ColumnType, unsigned: bool, env: &dyn Env) -> i128 {
    let (n, clamped) = if unsigned && !d.is_negative() {
        let (n, clamped) = d.to_u64();
        (i128::from(n), clamped)
    } else {
        let (n, clamped) = d.to_i64();
        (i128::from(n), clamped)
    };
    if clamped {
        warn_truncated(env, "DECIMAL", &text_of(&Value::Decimal(d.clone()), ty));
    }
    n
}

/// The integer at the start of a text; a fraction is cut, not rounded.
pub fn parse_int(text: &[u8], env: &dyn Env) -> i128 {
    let (n, whole) = int_of_text(text);
    if !whole {
        warn_truncated(env, "INTEGER", text);
    }
    n
}

/// The same, and whether the text is that integer.
pub(crate) fn int_of_text(text: &[u8]) -> (i128, bool) {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let negative = text.get(start) == Some(&b'-');
    let sign = usize::from(matches!(text.get(start), Some(b'-' | b'+')));
    let digits = text[start + sign..].iter().take_while(|b| b.is_ascii_digit()).count();
    let end = start + sign + digits;
    let rest = &text[end..];
    let mut n: i128 = 0;
    let mut overflow = false;
    for d in &text[start + sign..end] {
        n = n * 10 + i128::from(d - b'0');
        if n > i128::from(u64::MAX) {
            overflow = true;
            n = i128::from(u64::MAX);
        }
    }
    if negative {
        overflow |= -n < i128::from(i64::MIN);
        n = (-n).max(i128::from(i64::MIN));
    }
    (n, digits != 0 && !overflow && rest.iter().all(|b| b.is_ascii_whitespace()))
}

fn json_int(json: &Json, env: &dyn Env) -> i128 {
    match json {
        Json::Bool(b) => i128::from(*b),
        Json::Int(i) => i128::from(*i),
        Json::UInt(u) => i128::from(*u),
        Json::Double(f) => {
            warn_json_range(*f, env);
            float_to_int(*f)
        }
        Json::Decimal(d) => decimal_to_int(d),
        Json::String(s) => {
            let whole = s.trim();
            whole.parse::<i128>().ok().filter(|n| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(n)).unwrap_or_else(
                || {
                    warn_json(env, "INTEGER");
                    parse_f64(s.as_bytes()).0 as i64 as i128
                },
            )
        }
        Json::Date(d) => i128::from(d.to_number()),
        Json::DateTime(d, _) => decimal_to_int(&temporal_number(&Value::DateTime(*d))),
        Json::Time(t) => decimal_to_int(&temporal_number(&Value::Time(*t))),
        _ => {
            warn_json(env, "INTEGER");
            0
        }
    }
}

/// As a signed integer for counts and positions: large unsigned values are clamped.
pub fn to_i64(value: &Value, ty: &ColumnType, env: &dyn Env) -> Result<i64> {
    if let Value::Int(i) = value {
        return Ok(*i);
    }
    let n = to_int(value, ty, env)?;
    Ok(i64::try_from(n).unwrap_or(i64::MAX))
}

/// The 64 bits of the value, as bit operations use them.
pub fn to_bits(value: &Value, ty: &ColumnType, env: &dyn Env) -> Result<u64> {
    Ok(to_int(value, ty, env)? as u64)
}

/// The value as DECIMAL; NULL is 0.
pub fn to_decimal(value: &Value, ty: &ColumnType, env: &dyn Env) -> Result<Decimal> {
    Ok(match value {
        Value::Null => Decimal::ZERO,
        Value::Int(i) => Decimal::from(*i),
        Value::UInt(u) => Decimal::from(*u),
        Value::Float(f) => Decimal::from_f64(*f).0,
        Value::Decimal(d) => d.clone(),
        Value::Bytes(b) if is_hex_literal(ty) => Decimal::from(hex_value(b, env)),
        Value::Bytes(b) => {
            if let Some((text, ty)) = readable(value, ty) {
                return to_decimal(&text, &ty, env);
            }
            let parsed = Decimal::parse(b);
            if (parsed.used < b.len() || parsed.overflow || b.is_empty()) && !is_silent(ty) {
                warn_truncated_value(env, "DECIMAL", b, ty);
            }
            parsed.value
        }
        Value::Json(j) => match j {
            Json::Decimal(d) => (**d).clone(),
            Json::Int(i) => Decimal::from(*i),
            Json::UInt(u) => Decimal::from(*u),
            Json::Bool(b) => Decimal::from(i64::from(*b)),
            other => Decimal::from_f64(json_f64(other, "DECIMAL", env)).0,
        },
        other => temporal_number(other),
    })
}

/// How strict a date is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateNeed {
    /// Parts of it are extracted: '2024-00-00' is fine.
    Fuzzy,
    /// Calculation: month and day are needed.
    Whole,
    /// As sql_mode says, for CAST.
    Mode,
}

pub fn date_flags(need: DateNeed, env: &dyn Env) -> DateFlags {
    let mode = env.sql_mode();
    let invalid_dates = mode & sql_mode::ALLOW_INVALID_DATES != 0;
    match need {
        DateNeed::Fuzzy => DateFlags { no_zero_date: mode & sql_mode::NO_ZERO_DATE != 0, no_zero_in_date: false, invalid_dates },
        DateNeed::Whole => DateFlags { no_zero_date: true, no_zero_in_date: true, invalid_dates },
        DateNeed::Mode => DateFlags {
            no_zero_date: mode & sql_mode::NO_ZERO_DATE != 0,
            no_zero_in_date: mode & sql_mode::NO_ZERO_IN_DATE != 0,
            invalid_dates,
        },
    }
}

/// The statement's time in the session's zone.
pub fn now(env: &dyn Env) -> DateTime {
    local_time(env.statement_time_us(), env)
}

pub fn local_time(us: i64, env: &dyn Env) -> DateTime {
    DateTime::from_unix_micros(us).and_then(|utc| env.time_zone().from_utc(utc)).unwrap_or(DateTime::ZERO)
}

/// The value as a DATETIME; NULL with warning 1292 if it is none.
pub fn to_datetime(value: &Value, ty: &ColumnType, need: DateNeed, env: &dyn Env) -> Result<Option<DateTime>> {
    read_datetime(value, ty, need, Wanted::DateTime, env)
}

/// The value's day, for functions that look at no time; only the warning is another.
pub fn to_date(value: &Value, ty: &ColumnType, need: DateNeed, env: &dyn Env) -> Result<Option<Date>> {
    Ok(read_datetime(value, ty, need, Wanted::Date, env)?.map(DateTime::date))
}

/// What a warning calls the value that is missing.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Date,
    DateTime,
}

impl Wanted {
    fn warn(self, env: &dyn Env, text: &[u8], collation: CollationId) {
        let shown = shown(text, collation);
        let error = match self {
            Wanted::Date => Error::new(&errno::ER_TRUNCATED_WRONG_VALUE, &[&"date", &shown]),
            Wanted::DateTime => {
                Error::with_message(&errno::ER_TRUNCATED_WRONG_VALUE, format!("Incorrect datetime value: '{shown}'"))
            }
        };
        env.warn(Level::Warning, error);
    }
}

fn read_datetime(value: &Value, ty: &ColumnType, need: DateNeed, wanted: Wanted, env: &dyn Env) -> Result<Option<DateTime>> {
    let flags = date_flags(need, env);
    let checked = |d: DateTime| match d.date().check(flags) {
        Ok(()) => Some(d),
        // The zero date is none for calculations and under NO_ZERO_DATE, but its parts are zeros. What has parts that are zero is none, too.
        // Both without a word, as in MySQL, which warns of texts.
        Err(_) => (d.is_zero() && need == DateNeed::Fuzzy).then_some(d),
    };
    Ok(match value {
        Value::Null => None,
        Value::Date(d) => checked(d.to_datetime()),
        Value::DateTime(d) => checked(*d),
        // The day of a time that is none of a day is the one on which that time from now ends.
        Value::Time(t) if wanted == Wanted::Date => match (0..MICROS_PER_DAY).contains(&t.micros_total()) {
            true => Some(now(env).date().to_datetime()),
            false => now(env).add_micros(t.micros_total()),
        },
        Value::Time(t) => t.on(now(env).date()),
        Value::UInt(_) if matches!(ty.kind, TypeKind::Enum | TypeKind::Set) => {
            read_text(&text_of(value, ty), ty.collation, flags, wanted, env)
        }
        // The bits of a BIT are bytes here.
        Value::UInt(_) if ty.kind == TypeKind::Bit => read_text(&text_of(value, ty), CollationId::BINARY, flags, wanted, env),
        Value::Bytes(b) => match readable(value, ty) {
            Some((text, ty)) => return read_datetime(&text, &ty, need, wanted, env),
            None => read_text(b, ty.collation, flags, wanted, env),
        },
        Value::UInt(u) if !matches!(ty.kind, TypeKind::Year) && i64::try_from(*u).is_err() => {
            warn_incorrect(env, "datetime", (*u as i64).to_string().as_bytes());
            None
        }
        Value::Json(Json::Date(d)) => checked(d.to_datetime()),
        Value::Json(Json::DateTime(d, _)) => checked(*d),
        Value::Json(Json::Time(t)) => t.on(now(env).date()),
        Value::Json(Json::String(s)) if parse_datetime(s.as_bytes(), flags).is_ok_and(|parsed| !parsed.truncated) => {
            read_text(s.as_bytes(), CollationId::UTF8MB4_BIN, flags, wanted, env)
        }
        Value::Json(_) => {
            warn_json(env, if wanted == Wanted::Date { "DATE" } else { "DATETIME/TIMESTAMP" });
            None
        }
        number if ty.kind == TypeKind::Year => first_day(number),
        number => datetime_from_numeric(number, ty, need, wanted, env)?,
    })
}

/// A column of type YEAR as a date: its first day.
fn first_day(year: &Value) -> Option<DateTime> {
    let year = match year {
        Value::UInt(n) => u32::try_from(*n).ok()?,
        Value::Int(n) => u32::try_from(*n).ok()?,
        _ => return None,
    };
    Date::new(year, 1, 1).map(Date::to_datetime)
}

/// A text as a DATETIME in the session's zone, rounded to microseconds.
pub fn datetime_from_text(text: &[u8], flags: DateFlags, env: &dyn Env) -> Option<DateTime> {
    read_text(text, CollationId::UTF8MB4_BIN, flags, Wanted::DateTime, env)
}

fn read_text(text: &[u8], collation: CollationId, flags: DateFlags, wanted: Wanted, env: &dyn Env) -> Option<DateTime> {
    let Ok(parsed) = parse_datetime(text, flags) else {
        wanted.warn(env, text, collation);
        return None;
    };
    warn_of_delimiters(env, text);
    if parsed.truncated {
        warn_truncated(env, if wanted == Wanted::Date { "date" } else { "datetime" }, text);
    }
    let truncate = env.sql_mode() & sql_mode::TIME_TRUNCATE_FRACTIONAL != 0;
    let value = parsed.to_fsp(6, truncate)?;
    match parsed.offset_seconds {
        None => Some(value),
        Some(offset) => {
            let utc = value.add_micros(-i64::from(offset) * MICROS_PER_SECOND)?;
            env.time_zone().from_utc(utc)
        }
    }
}

/// The least number that is a date with a time of day: the first of January 2000.
const FIRST_DATETIME: i64 = 101_000_000;

fn datetime_from_numeric(
    value: &Value,
    ty: &ColumnType,
    need: DateNeed,
    wanted: Wanted,
    env: &dyn Env,
) -> Result<Option<DateTime>> {
    let number = to_decimal(value, ty, env)?;
    let (whole, clamped) = number.truncate(0).to_i64();
    let flags = date_flags(need, env);
    let parsed = match (whole, wanted) {
        _ if clamped => Err(Problem::OutOfRange),
        // As a day alone a number without a month is in the year 2000.
        (0..=100, Wanted::Date) => day_of_2000(whole as u32, flags),
        // Parts of the zero date, whatever sql_mode says.
        (0, Wanted::DateTime) if need == DateNeed::Fuzzy => Ok((DateTime::ZERO, false)),
        // Of a number with a time of day the day is one, whatever time that is.
        (FIRST_DATETIME.., Wanted::Date) => {
            datetime_from_number(whole, flags).or_else(|_| datetime_from_number(whole - whole % 1_000_000, flags))
        }
        _ => datetime_from_number(whole, flags),
    };
    let Ok((dt, date_only)) = parsed else {
        let text = text_of_number(value, ty);
        // Integers are always called datetimes.
        if matches!(value, Value::Decimal(_)) || clamped {
            wanted.warn(env, &text, CollationId::UTF8MB4_BIN)
        } else {
            warn_incorrect(env, "datetime", &text)
        }
        return Ok(None);
    };
    let micros = fraction_micros(&number);
    if dt.is_zero() && wanted == Wanted::DateTime {
        let time = u32::try_from(micros).ok().and_then(|micros| DateTime::new(Date::ZERO, 0, 0, 0, micros));
        if time.is_none() {
            wanted.warn(env, &text_of(value, ty), CollationId::UTF8MB4_BIN);
        }
        return Ok(time);
    }
    // The number of a day has no fraction.
    if date_only && micros != 0 {
        if wanted == Wanted::DateTime && need == DateNeed::Whole {
            warn_truncated(env, "date", &text_of_number(value, ty));
        }
        return Ok(Some(dt));
    }
    Ok(if micros == 0 || wanted == Wanted::Date && dt.date().check(date_flags(DateNeed::Whole, env)).is_err() {
        Some(dt)
    } else {
        dt.add_micros(micros)
    })
}

/// A number as messages show it: of a floating point number all digits.
fn text_of_number<'v>(value: &'v Value, ty: &ColumnType) -> Cow<'v, [u8]> {
    if let Value::Float(number) = value {
        let mut out = Vec::new();
        format::write_double(&mut out, *number);
        return Cow::Owned(out);
    }
    text_of(value, ty)
}

fn day_of_2000(number: u32, flags: DateFlags) -> std::result::Result<(DateTime, bool), Problem> {
    let date = Date::new(2000, number / 100, number % 100).ok_or(Problem::Malformed)?;
    date.check(flags)?;
    Ok((date.to_datetime(), true))
}

/// The fraction of a number in microseconds, rounded, with its sign.
pub(crate) fn fraction_micros(number: &Decimal) -> i64 {
    let fraction = number.sub(&number.truncate(0)).unwrap_or(Decimal::ZERO);
    fraction.mul(&Decimal::from(MICROS_PER_SECOND)).map_or(0, |d| d.to_i64().0)
}

/// The value as a TIME; NULL with warning 1292 if it is none.
pub fn to_time(value: &Value, ty: &ColumnType, env: &dyn Env) -> Result<Option<Time>> {
    Ok(match value {
        Value::Null => None,
        Value::Time(t) => Some(*t),
        Value::DateTime(d) => Some(d.time()),
        Value::Date(_) => Some(Time::ZERO),
        Value::Bytes(b) => match readable(value, ty) {
            Some((text, ty)) => return to_time(&text, &ty, env),
            None => time_from_text(b, ty.collation, env),
        },
        Value::UInt(_) if matches!(ty.kind, TypeKind::Enum | TypeKind::Set | TypeKind::Bit) => {
            time_from_text(&text_of(value, ty), ty.collation, env)
        }
        Value::UInt(_) | Value::Int(_) if ty.kind == TypeKind::Year => Some(Time::ZERO),
        Value::UInt(u) if i64::try_from(*u).is_err() => return to_time(&Value::Int(*u as i64), ty, env),
        Value::Json(Json::Time(t)) => Some(*t),
        Value::Json(Json::DateTime(d, _)) => Some(d.time()),
        // A text in a document is a time only if it looks like one.
        Value::Json(Json::String(s)) if is_whole_time(s.as_bytes()) => {
            time_from_text(s.as_bytes(), CollationId::UTF8MB4_BIN, env)
        }
        Value::Json(_) => {
            warn_json(env, "TIME");
            None
        }
        number => {
            let decimal = to_decimal(number, ty, env)?;
            let (whole, _) = decimal.truncate(0).to_i64();
            match time_from_number(whole) {
                Ok((t, clamped)) => {
                    if clamped {
                        warn_truncated(env, "time", &text_of_number(number, ty));
                        return Ok(None);
                    }
                    let micros = fraction_micros(&decimal);
                    Some(Time::clamped(t.micros_total() + micros))
                }
                Err(_) => {
                    warn_truncated(env, "time", &text_of_number(number, ty));
                    None
                }
            }
        }
    })
}

fn is_whole_time(text: &[u8]) -> bool {
    text.contains(&b':') && parse_time(text).is_ok_and(|time| !time.truncated)
}

fn time_from_text(text: &[u8], collation: CollationId, env: &dyn Env) -> Option<Time> {
    let warn = || {
        let shown = shown(text, collation);
        env.warn(Level::Warning, Error::new(&errno::ER_TRUNCATED_WRONG_VALUE, &[&"time", &shown]));
    };
    match parse_time(text) {
        Ok(parsed) => {
            if parsed.truncated || parsed.out_of_range {
                warn();
            } else if parsed.from_datetime.is_none() {
                warn_of_spaces(env, text);
            }
            if let Some(at) = parsed.from_datetime {
                warn_of_delimiters(env, text);
                // A date alone has no time.
                if at.date_only && text.iter().any(u8::is_ascii_punctuation) {
                    return None;
                }
            }
            let truncate = env.sql_mode() & sql_mode::TIME_TRUNCATE_FRACTIONAL != 0;
            Some(parsed.to_fsp_in(6, truncate, env.time_zone()))
        }
        Err(_) => {
            warn();
            None
        }
    }
}
