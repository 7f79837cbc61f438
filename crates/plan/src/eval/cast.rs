//! Conversion of a value to a declared type: CAST, and the casts that typing inserts.
//!
//! CAST never fails on bad numbers: it gives what there is of a number and a warning. What is no date or
//! no text of the charset is NULL with a warning; only JSON text that does not parse is an error.

use vaquita_types::charset::CollationId;
use vaquita_types::temporal::DateTime;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, sql_mode};

use super::coerce::{self, DateNeed};
use super::json;
use crate::env::{Env, Level};
use crate::text;

pub fn cast(value: &Value, from: &ColumnType, to: &ColumnType, env: &dyn Env) -> Result<Value> {
    use TypeKind::*;
    if value.is_null() {
        return Ok(Value::Null);
    }
    if (to.is_numeric() || to.is_temporal())
        && let Some((text, from)) = coerce::readable(value, from)
    {
        return cast(&text, &from, to, env);
    }
    let truncate = env.sql_mode() & sql_mode::TIME_TRUNCATE_FRACTIONAL != 0;
    Ok(match to.kind {
        Null => Value::Null,
        TinyInt | SmallInt | MediumInt | Int | BigInt => to_integer(value, from, to.unsigned, env)?,
        Bit => Value::UInt(coerce::to_bits(value, from, env)?),
        Decimal => to_decimal(value, from, to, env)?,
        Double => Value::Float(coerce::to_f64(value, from, env)?),
        Float => {
            let f = coerce::to_f64(value, from, env)?;
            if (f as f32).is_infinite() {
                let shown = format!("cast({} as float)", coerce::printable(&coerce::text_of(value, from)));
                return Err(Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&"DOUBLE", &shown]));
            }
            Value::Float(f64::from(f as f32))
        }
        Year => to_year(value, from, env)?,
        Date => match value {
            Value::Date(d) => Value::Date(*d),
            _ => coerce::to_date(value, from, DateNeed::Mode, env)?.map_or(Value::Null, Value::Date),
        },
        DateTime | Timestamp => match coerce::to_datetime(value, from, DateNeed::Mode, env)? {
            Some(d) => round_datetime(d, to.decimals, truncate),
            None => Value::Null,
        },
        Time => match coerce::to_time(value, from, env)? {
            Some(t) => Value::Time(t.to_fsp(to.decimals, truncate, 0)),
            None => Value::Null,
        },
        Json => Value::Json(json::cast_to_json(value, from, env)?),
        Enum | Set | Geometry => return Err(Error::unsupported("conversion to ENUM, SET or GEOMETRY in an expression")),
        _ => to_text(value, from, to, env)?,
    })
}

fn round_datetime(d: DateTime, fsp: u8, truncate: bool) -> Value {
    d.to_fsp(fsp, truncate, 0).map_or(Value::Null, Value::DateTime)
}

/// An integer in the form that its signedness has.
pub fn integer(n: i128, unsigned: bool) -> Value {
    if unsigned { Value::UInt(n as u64) } else { Value::Int(n as i64) }
}

fn to_integer(value: &Value, from: &ColumnType, unsigned: bool, env: &dyn Env) -> Result<Value> {
    let n = match value {
        Value::Int(i) => return Ok(integer(i128::from(*i), unsigned)),
        Value::UInt(u) => return Ok(integer(i128::from(*u), unsigned)),
        Value::Decimal(d) => coerce::told_decimal_to_int(d, from, unsigned || from.unsigned, env),
        _ => {
            let n = match value {
                // CAST complains of TEXT columns too.
                Value::Bytes(text) if from.is_blob() => coerce::parse_int(text, env),
                _ => coerce::to_int(value, from, env)?,
            };
            if matches!(value, Value::Bytes(_)) && !crate::text::is_hex_literal(from) {
                warn_complement(n, unsigned, env);
            }
            n
        }
    };
    Ok(integer(n, unsigned))
}

fn warn_complement(n: i128, unsigned: bool, env: &dyn Env) {
    let text = if unsigned && n < 0 {
        "Cast to unsigned converted negative integer to its positive complement"
    } else if !unsigned && n > i128::from(i64::MAX) {
        "Cast to signed converted positive out-of-range integer to its negative complement"
    } else {
        return;
    };
    env.warn(Level::Warning, Error::with_message(&errno::ER_UNKNOWN_ERROR, text));
}

fn to_decimal(value: &Value, from: &ColumnType, to: &ColumnType, env: &dyn Env) -> Result<Value> {
    let number = coerce::to_decimal(value, from, env)?;
    Ok(Value::Decimal(match number.fit(to.length, to.decimals) {
        Ok(fitted) => fitted,
        Err(clamped) => {
            let text = "Out of range value for column 'cast' at row 1";
            env.warn(Level::Warning, Error::with_message(&errno::ER_WARN_DATA_OUT_OF_RANGE, text));
            clamped
        }
    }))
}

fn to_year(value: &Value, from: &ColumnType, env: &dyn Env) -> Result<Value> {
    if let (Value::Bytes(b), false) = (value, text::is_hex_literal(from)) {
        // Text must begin with the digits of a year.
        let digits = b.iter().take_while(|c| c.is_ascii_digit()).count();
        if digits < b.len() {
            coerce::warn_truncated(env, "YEAR", b);
        }
        if digits == 0 || !matches!(digits, 1 | 2 | 4) {
            if digits == b.len() {
                coerce::warn_truncated(env, "YEAR", b);
            }
            return Ok(Value::Null);
        }
    }
    let n = match value {
        Value::Bytes(b) if !text::is_hex_literal(from) => {
            b.iter().take_while(|c| c.is_ascii_digit()).fold(0i128, |n, c| n * 10 + i128::from(c - b'0'))
        }
        Value::Date(d) => i128::from(d.year()),
        Value::DateTime(d) => i128::from(d.year()),
        Value::Time(_) => i128::from(coerce::now(env).year()),
        _ => coerce::to_int(value, from, env)?,
    };
    let text_zero = matches!(value, Value::Bytes(_)) && n == 0;
    let year = match n {
        0 if text_zero => 2000,
        0 => 0,
        1..=69 => n + 2000,
        70..=99 => n + 1900,
        1901..=2155 => n,
        _ => {
            coerce::warn_truncated(env, "YEAR", &coerce::text_of(value, from));
            return Ok(Value::Null);
        }
    };
    Ok(Value::UInt(year as u64))
}

fn to_text(value: &Value, from: &ColumnType, to: &ColumnType, env: &dyn Env) -> Result<Value> {
    let bytes = coerce::text_of(value, from);
    let from_collation = if text::is_string(from) {
        from.collation
    } else if matches!(from.kind, TypeKind::Json) {
        CollationId::UTF8MB4_BIN
    } else if from.kind == TypeKind::Bit {
        CollationId::BINARY
    } else {
        CollationId::ASCII_BIN
    };
    let mut out = if to.collation == CollationId::BINARY {
        bytes.into_owned()
    } else {
        match text::convert(bytes, from_collation, to.collation) {
            Ok(converted) => converted.into_owned(),
            Err(bad) => {
                let hex: String = bad.iter().take(3).map(|b| format!("{b:02X}")).collect();
                let name = text::charset_name(to.collation);
                env.warn(Level::Warning, Error::new(&errno::ER_INVALID_CHARACTER_STRING, &[&name, &hex]));
                // Outside of strict mode what comes before is kept.
                if sql_mode::is_strict(env.sql_mode()) {
                    return Ok(Value::Null);
                }
                let mut good = coerce::text_of(value, from).into_owned();
                good.truncate(good.len().saturating_sub(bad.len()));
                good
            }
        }
    };
    let limit = to.length as usize;
    if !to.is_blob() && out.len() > limit && !from.is_integer() {
        let end = text::byte_offset(&out, limit, to.collation);
        if end < out.len() {
            let what = if to.collation == CollationId::BINARY { format!("BINARY({limit})") } else { format!("CHAR({limit})") };
            coerce::warn_truncated(env, &what, &out);
            out.truncate(end);
        }
    }
    if to.kind == TypeKind::Binary && out.len() < limit {
        let packet = super::packet_bytes_max(env);
        if limit > packet {
            env.warn(Level::Warning, Error::new(&errno::ER_WARN_ALLOWED_PACKET_OVERFLOWED, &[&"cast_as_binary", &packet]));
            return Ok(Value::Null);
        }
        out.resize(limit, 0);
    }
    Ok(Value::from(out))
}
