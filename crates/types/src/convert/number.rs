//! Any value as a number.

use crate::datatype::{ColumnType, TypeKind};
use crate::decimal::{Decimal, Parsed};
use crate::json::Json;
use crate::temporal::{DateTime, Time};
use crate::value::Value;

/// A converted value and whether the source was not entirely a value of that kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted<T> {
    pub value: T,
    /// Junk was ignored (warning 1292), or there was no number at all.
    pub truncated: bool,
    /// The number was beyond the target and is clamped.
    pub out_of_range: bool,
}

impl<T> Converted<T> {
    pub fn exact(value: T) -> Converted<T> {
        Converted { value, truncated: false, out_of_range: false }
    }

    fn map<U>(self, f: impl FnOnce(T) -> U) -> Converted<U> {
        Converted { value: f(self.value), truncated: self.truncated, out_of_range: self.out_of_range }
    }
}

/// The number at the start of `text`, as a DOUBLE; infinite results are ±DBL_MAX.
pub fn bytes_to_f64(text: &[u8]) -> Converted<f64> {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let number = &text[start..];
    let len = number_len(number);
    let value = std::str::from_utf8(&number[..len]).ok().and_then(|s| s.parse::<f64>().ok()).unwrap_or(0.0);
    let truncated = len == 0 || number[len..].iter().any(|b| !b.is_ascii_whitespace());
    let out_of_range = value.is_infinite();
    Converted { value: value.clamp(f64::MIN, f64::MAX), truncated, out_of_range }
}

/// Bytes of the number `[+-]digits[.digits][e[+-]digits]` at the start of `text`.
fn number_len(text: &[u8]) -> usize {
    let digits = |at: usize| text.get(at..).unwrap_or(&[]).iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = matches!(text.first(), Some(b'+' | b'-')) as usize;
    let integer = digits(at);
    at += integer;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        if integer + fraction > 0 {
            at += 1 + fraction;
        }
    }
    if integer + fraction == 0 {
        return 0;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let signed = matches!(text.get(at + 1), Some(b'+' | b'-')) as usize;
        let exponent = digits(at + 1 + signed);
        if exponent > 0 {
            at += 1 + signed + exponent;
        }
    }
    at
}

/// The integer at the start of `text` (a fraction is junk, as in CAST … AS SIGNED).
pub fn bytes_to_i64(text: &[u8]) -> Converted<i64> {
    integer_prefix(text).map(|n| n.clamp(i64::MIN as i128, i64::MAX as i128) as i64).checked(text)
}

impl Converted<i64> {
    fn checked(mut self, text: &[u8]) -> Converted<i64> {
        let wide = integer_prefix(text).value;
        self.out_of_range = wide != self.value as i128;
        self
    }
}

/// The integer at the start of `text`, at most some 30 digits of it.
fn integer_prefix(text: &[u8]) -> Converted<i128> {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let negative = text.get(start) == Some(&b'-');
    let signed = matches!(text.get(start), Some(b'+' | b'-')) as usize;
    let number = &text[start + signed..];
    let len = number.iter().take_while(|b| b.is_ascii_digit()).count();
    let value = number[..len].iter().fold(0i128, |n, d| (n * 10 + (d - b'0') as i128).min(10i128.pow(30)));
    let truncated = len == 0 || number[len..].iter().any(|b| !b.is_ascii_whitespace());
    Converted { value: if negative { -value } else { value }, truncated, out_of_range: false }
}

/// The number at the start of `text`, as a DECIMAL.
pub fn bytes_to_decimal(text: &[u8]) -> Converted<Decimal> {
    let Parsed { value, used, overflow, .. } = Decimal::parse(text);
    Converted { value, truncated: used < text.len() || used == 0, out_of_range: overflow }
}

/// BIT and binary literals are numbers already; other strings are read as text.
fn label_bytes<'a>(value: &'a Value, ty: &'a ColumnType, buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    match value {
        Value::Bytes(b) => Some(b),
        // In a numeric context ENUM and SET are their number, not their label.
        Value::UInt(_) if matches!(ty.kind, TypeKind::Enum | TypeKind::Set | TypeKind::Bit) => None,
        Value::Json(Json::String(s)) => {
            buffer.extend_from_slice(s.as_bytes());
            Some(buffer)
        }
        _ => None,
    }
}

fn json_number(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Bool(b) => Value::Int(*b as i64),
        Json::Int(i) => Value::Int(*i),
        Json::UInt(u) => Value::UInt(*u),
        Json::Double(d) => Value::Float(*d),
        Json::Decimal(d) => Value::Decimal(Decimal::clone(d)),
        Json::Date(d) => Value::Date(*d),
        Json::DateTime(dt, _) => Value::DateTime(*dt),
        Json::Time(t) => Value::Time(*t),
        _ => return None,
    })
}

/// 20240131235959.5 as a decimal.
fn datetime_decimal(dt: DateTime) -> Decimal {
    with_micros(dt.to_number() as i64, dt.micros(), false)
}

fn time_decimal(t: Time) -> Decimal {
    with_micros(t.to_number(), t.micros(), t.is_negative())
}

fn with_micros(number: i64, micros: u32, negative: bool) -> Decimal {
    if micros == 0 {
        return Decimal::from(number);
    }
    let fraction = Decimal::new(if negative { -(micros as i64) } else { micros as i64 }, 6);
    Decimal::from(number).add(&fraction).unwrap_or_default()
}

/// The value as a DOUBLE; NULL is 0 (look for it first).
pub fn to_f64(value: &Value, ty: &ColumnType) -> Converted<f64> {
    if let Some(text) = label_bytes(value, ty, &mut Vec::new()) {
        return bytes_to_f64(text);
    }
    Converted::exact(match value {
        Value::Null | Value::Bytes(_) => 0.0,
        Value::Int(i) => *i as f64,
        Value::UInt(u) => *u as f64,
        Value::Float(f) => *f,
        Value::Decimal(d) => d.to_f64(),
        Value::Date(d) => d.to_number() as f64,
        Value::DateTime(dt) => datetime_decimal(*dt).to_f64(),
        Value::Time(t) => time_decimal(*t).to_f64(),
        Value::Json(j) => match json_number(j) {
            Some(v) => return to_f64(&v, ty),
            None => return Converted { value: 0.0, truncated: true, out_of_range: false },
        },
    })
}

/// The value as a DECIMAL; NULL is 0 (look for it first).
pub fn to_decimal(value: &Value, ty: &ColumnType) -> Converted<Decimal> {
    if let Some(text) = label_bytes(value, ty, &mut Vec::new()) {
        return bytes_to_decimal(text);
    }
    Converted::exact(match value {
        Value::Null | Value::Bytes(_) => Decimal::ZERO,
        Value::Int(i) => Decimal::from(*i),
        Value::UInt(u) => Decimal::from(*u),
        Value::Float(f) => {
            let (value, out_of_range) = Decimal::from_f64(*f);
            return Converted { value, truncated: false, out_of_range };
        }
        Value::Decimal(d) => d.clone(),
        Value::Date(d) => Decimal::from(d.to_number() as i64),
        Value::DateTime(dt) => datetime_decimal(*dt),
        Value::Time(t) => time_decimal(*t),
        Value::Json(j) => match json_number(j) {
            Some(v) => return to_decimal(&v, ty),
            None => return Converted { value: Decimal::ZERO, truncated: true, out_of_range: false },
        },
    })
}

/// Any integer: wide enough for BIGINT of both signs.
fn to_i128(value: &Value, ty: &ColumnType) -> Converted<i128> {
    if let Some(text) = label_bytes(value, ty, &mut Vec::new()) {
        return integer_prefix(text);
    }
    let rounded = |f: f64| {
        let f = f.round_ties_even();
        Converted { value: f as i128, truncated: false, out_of_range: f.abs() >= 1e38 }
    };
    Converted::exact(match value {
        Value::Null | Value::Bytes(_) => 0,
        Value::Int(i) => *i as i128,
        Value::UInt(u) => *u as i128,
        Value::Float(f) => return rounded(*f),
        Value::Decimal(d) => match d.to_i64() {
            (n, false) => n as i128,
            (n, true) if n < 0 => i64::MIN as i128 - 1,
            _ => match d.to_u64() {
                (n, false) => n as i128,
                _ => u64::MAX as i128 + 1,
            },
        },
        Value::Date(d) => d.to_number() as i128,
        Value::DateTime(dt) => dt.to_fsp(0, false, 0).unwrap_or(*dt).to_number() as i128,
        Value::Time(t) => t.to_fsp(0, false, 0).to_number() as i128,
        Value::Json(j) => match json_number(j) {
            Some(v) => return to_i128(&v, ty),
            None => return Converted { value: 0, truncated: true, out_of_range: false },
        },
    })
}

/// The value as a BIGINT: text up to the first byte that is no digit, fractions rounded, clamped.
pub fn to_i64(value: &Value, ty: &ColumnType) -> Converted<i64> {
    if let Value::Int(i) = value {
        return Converted::exact(*i);
    }
    let wide = to_i128(value, ty);
    let clamped = wide.value.clamp(i64::MIN as i128, i64::MAX as i128);
    Converted { value: clamped as i64, truncated: wide.truncated, out_of_range: wide.out_of_range || clamped != wide.value }
}

/// The value as a BIGINT UNSIGNED, clamped.
pub fn to_u64(value: &Value, ty: &ColumnType) -> Converted<u64> {
    let wide = to_i128(value, ty);
    let clamped = wide.value.clamp(0, u64::MAX as i128);
    Converted { value: clamped as u64, truncated: wide.truncated, out_of_range: wide.out_of_range || clamped != wide.value }
}

/// The truth of a value (not zero); NULL is false (look for it first).
pub fn to_bool(value: &Value, ty: &ColumnType) -> Converted<bool> {
    match value {
        Value::Int(i) => Converted::exact(*i != 0),
        Value::UInt(u) => Converted::exact(*u != 0),
        Value::Decimal(d) => Converted::exact(!d.is_zero()),
        other => to_f64(other, ty).map(|f| f != 0.0),
    }
}
