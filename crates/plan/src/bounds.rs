//! From a value to the domain of an index key.
//!
//! A bound of a scan is any value that SQL may compare with the column; the key holds only values of
//! the column's type. `to_key_value` says which one is equal, or between which two the value lies:
//! for an INT column 1.5 is `Gap { below: 1, above: 2 }`, so `= 1.5` never matches, `> 1.5` starts at 2
//! and `< 1.5` ends with 1. Strings are taken as they are; their collation is the key encoding's.
//! Nothing here knows time zones: a TIMESTAMP bound is in the session's zone.

use std::cmp::Ordering;

use vaquita_types::decimal::Decimal;
use vaquita_types::temporal::{
    Date, DateFlags, DateTime, Time, datetime_from_number, parse_datetime, parse_time, time_from_number,
};
use vaquita_types::{ColumnType, TypeKind, Value};

use crate::eval::coerce::{fraction_micros, temporal_number};

#[derive(Clone, Debug, PartialEq)]
pub enum KeyValue {
    /// The column's type holds the value.
    Exact(Value),
    /// No value of the type is equal: the nearest ones, `None` beyond the type's range.
    Gap { below: Option<Value>, above: Option<Value> },
    /// NULL: equal to nothing except under `<=>`.
    Null,
    /// It cannot be compared by key (text that is no date): no row by this bound.
    Never,
}

/// `value` as a key of a column of type `ty`.
pub fn to_key_value(value: &Value, ty: &ColumnType) -> KeyValue {
    if value.is_null() {
        return KeyValue::Null;
    }
    match ty.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            integer(value, integer_range(ty), ty.unsigned)
        }
        TypeKind::Bit => integer(value, (0, if ty.length >= 64 { u64::MAX as i128 } else { (1i128 << ty.length) - 1 }), true),
        TypeKind::Enum | TypeKind::Set => match value {
            Value::Int(_) | Value::UInt(_) => integer(value, (0, u64::MAX as i128), true),
            _ => KeyValue::Never,
        },
        TypeKind::Year => year(value),
        TypeKind::Decimal => decimal(value, ty),
        TypeKind::Float => float(value),
        TypeKind::Double => number(value).map_or(KeyValue::Never, |n| KeyValue::Exact(Value::Float(n))),
        TypeKind::Date => date(value),
        TypeKind::DateTime | TypeKind::Timestamp => datetime(value, ty.decimals),
        TypeKind::Time => time(value, ty.decimals),
        TypeKind::Binary => match value {
            Value::Bytes(bytes) => binary(bytes, ty.length as usize),
            _ => KeyValue::Never,
        },
        _ if ty.is_bytes() => match value {
            Value::Bytes(_) => KeyValue::Exact(value.clone()),
            // A parameter bound as a number for a text column.
            Value::Int(n) => KeyValue::Exact(Value::from(n.to_string())),
            Value::UInt(n) => KeyValue::Exact(Value::from(n.to_string())),
            Value::Decimal(d) => {
                let mut text = Vec::new();
                d.write_text(&mut text, d.scale());
                KeyValue::Exact(Value::from(text))
            }
            _ => KeyValue::Never,
        },
        _ => KeyValue::Never,
    }
}

/// BINARY(n) holds `length` bytes, always: a shorter or longer text lies between two values.
fn binary(bytes: &[u8], length: usize) -> KeyValue {
    let value = |bytes: Vec<u8>| Some(Value::from(bytes));
    let mut cut = bytes[..bytes.len().min(length)].to_vec();
    match bytes.len().cmp(&length) {
        Ordering::Equal => KeyValue::Exact(Value::bytes(bytes)),
        // `'a'` is less than `'a\0'`, the least value that begins with it.
        Ordering::Less => {
            cut.resize(length, 0);
            KeyValue::Gap { below: neighbour(&cut, false).and_then(value), above: value(cut) }
        }
        Ordering::Greater => KeyValue::Gap { above: neighbour(&cut, true).and_then(value), below: value(cut) },
    }
}

/// The next value of as many bytes, or the one before.
fn neighbour(bytes: &[u8], next: bool) -> Option<Vec<u8>> {
    let (last, first) = if next { (0xff, 0) } else { (0, 0xff) };
    let at = bytes.iter().rposition(|b| *b != last)?;
    let mut bytes = bytes.to_vec();
    bytes[at] = if next { bytes[at] + 1 } else { bytes[at] - 1 };
    bytes[at + 1..].fill(first);
    Some(bytes)
}

fn integer_range(ty: &ColumnType) -> (i128, i128) {
    let bits = match ty.kind {
        TypeKind::TinyInt => 8,
        TypeKind::SmallInt => 16,
        TypeKind::MediumInt => 24,
        TypeKind::Int => 32,
        _ => 64,
    };
    if ty.unsigned { (0, (1i128 << bits) - 1) } else { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) }
}

fn integer(value: &Value, (min, max): (i128, i128), unsigned: bool) -> KeyValue {
    let key = |n: i128| if unsigned { Value::UInt(n as u64) } else { Value::Int(n as i64) };
    let whole = match value {
        Value::Int(n) => Whole::Exact(i128::from(*n)),
        Value::UInt(n) => Whole::Exact(i128::from(*n)),
        Value::Float(f) => whole_of_float(*f),
        Value::Decimal(d) => whole_of_decimal(d),
        Value::Bytes(b) => whole_of_decimal(&Decimal::parse(b).value),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => whole_of_decimal(&temporal_number(value)),
        Value::Null | Value::Json(_) => return KeyValue::Never,
    };
    match whole {
        Whole::Exact(n) if n < min => KeyValue::Gap { below: None, above: Some(key(min)) },
        Whole::Exact(n) if n > max => KeyValue::Gap { below: Some(key(max)), above: None },
        Whole::Exact(n) => KeyValue::Exact(key(n)),
        Whole::Above(n) => {
            KeyValue::Gap { below: (n >= min).then(|| key(n.min(max))), above: (n < max).then(|| key((n + 1).max(min))) }
        }
    }
}

/// A number's place among the integers.
enum Whole {
    Exact(i128),
    /// Between this integer and the next one.
    Above(i128),
}

fn whole_of_float(f: f64) -> Whole {
    // The cast saturates far outside of 64 bits, which is all that matters.
    let floor = f.floor();
    if floor == f { Whole::Exact(floor as i128) } else { Whole::Above(floor as i128) }
}

fn whole_of_decimal(d: &Decimal) -> Whole {
    let floor = d.floor();
    let (n, clamped) = floor.to_i64();
    let n = if !clamped {
        i128::from(n)
    } else if floor.is_negative() {
        i128::MIN / 2
    } else {
        let (n, clamped) = floor.to_u64();
        if clamped { i128::MAX / 2 } else { i128::from(n) }
    };
    if floor == *d { Whole::Exact(n) } else { Whole::Above(n) }
}

fn year(value: &Value) -> KeyValue {
    match integer(value, (0, 2155), true) {
        KeyValue::Exact(Value::UInt(n)) if n == 0 || n >= 1901 => KeyValue::Exact(Value::UInt(n)),
        KeyValue::Exact(Value::UInt(n)) if n < 1901 => {
            KeyValue::Gap { below: Some(Value::UInt(0)), above: Some(Value::UInt(1901)) }
        }
        other => other,
    }
}

fn decimal(value: &Value, ty: &ColumnType) -> KeyValue {
    let d = match value {
        Value::Int(n) => Decimal::from(*n),
        Value::UInt(n) => Decimal::from_u64(*n),
        Value::Float(f) => Decimal::from_f64(*f).0,
        Value::Decimal(d) => d.clone(),
        Value::Bytes(b) => Decimal::parse(b).value,
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => temporal_number(value),
        Value::Null | Value::Json(_) => return KeyValue::Never,
    };
    let max = Decimal::max_of(ty.length, ty.decimals);
    if d > max {
        return KeyValue::Gap { below: Some(Value::Decimal(max)), above: None };
    }
    if d < max.neg() {
        return KeyValue::Gap { below: None, above: Some(Value::Decimal(max.neg())) };
    }
    let cut = d.truncate(i32::from(ty.decimals));
    let Some(key) = cut.rescale(ty.decimals) else { return KeyValue::Never };
    if cut == d {
        return KeyValue::Exact(Value::Decimal(key));
    }
    // Truncation went towards zero: the other neighbour is one unit further.
    let unit = Decimal::parse(format!("1e-{}", ty.decimals).as_bytes()).value;
    let next = if d.is_negative() { key.sub(&unit) } else { key.add(&unit) };
    let next = next.and_then(|n| n.rescale(ty.decimals)).map(Value::Decimal);
    let key = Some(Value::Decimal(key));
    if d.is_negative() { KeyValue::Gap { below: next, above: key } } else { KeyValue::Gap { below: key, above: next } }
}

fn number(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Int(n) => *n as f64,
        Value::UInt(n) => *n as f64,
        Value::Float(f) => *f,
        Value::Decimal(d) => d.to_f64(),
        Value::Bytes(b) => Decimal::parse(b).value.to_f64(),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => temporal_number(value).to_f64(),
        Value::Null | Value::Json(_) => return None,
    })
}

fn float(value: &Value) -> KeyValue {
    let Some(n) = number(value) else { return KeyValue::Never };
    let near = n as f32;
    if f64::from(near) == n {
        return KeyValue::Exact(Value::Float(n));
    }
    let finite = |f: f32| f.is_finite().then(|| Value::Float(f64::from(f)));
    if f64::from(near) < n {
        KeyValue::Gap { below: finite(near), above: finite(near.next_up()) }
    } else {
        KeyValue::Gap { below: finite(near.next_down()), above: finite(near) }
    }
}

/// Any dates that a column may hold, also zero ones.
const ANY_DATE: DateFlags = DateFlags { no_zero_date: false, no_zero_in_date: false, invalid_dates: true };

/// The value as a point in time with what follows its microseconds.
fn as_datetime(value: &Value) -> Option<(DateTime, u32)> {
    match value {
        Value::Date(d) => Some((d.to_datetime(), 0)),
        Value::DateTime(d) => Some((*d, 0)),
        Value::Bytes(b) => parse_datetime(b, ANY_DATE).ok().map(|p| (p.value, p.nanos)),
        number => {
            let (whole, micros) = whole_and_micros(number)?;
            let (at, date_only) = datetime_from_number(whole, ANY_DATE).ok()?;
            // The number of a day has no fraction.
            Some((if date_only || micros == 0 { at } else { at.add_micros(micros)? }, 0))
        }
    }
}

/// A number's whole part, and in microseconds what is behind the point.
fn whole_and_micros(value: &Value) -> Option<(i64, i64)> {
    let number = match value {
        Value::Int(n) => return Some((*n, 0)),
        Value::UInt(n) => return Some((i64::try_from(*n).ok()?, 0)),
        Value::Decimal(d) => d.clone(),
        Value::Float(f) => Decimal::from_f64(*f).0,
        _ => return None,
    };
    let (whole, clamped) = number.truncate(0).to_i64();
    (!clamped).then(|| (whole, fraction_micros(&number)))
}

fn date(value: &Value) -> KeyValue {
    let Some((at, nanos)) = as_datetime(value) else { return KeyValue::Never };
    let day = at.date();
    if at.time().micros_total() == 0 && nanos == 0 {
        return KeyValue::Exact(Value::Date(day));
    }
    let next = Date::from_packed(day.packed() + 1).map(Value::Date);
    // Packed dates count fields, not days: the next field value bounds the same rows.
    KeyValue::Gap {
        below: Some(Value::Date(day)),
        above: next.or_else(|| Some(Value::Date(Date::from_day_number(day.day_number() + 1)))),
    }
}

fn datetime(value: &Value, fsp: u8) -> KeyValue {
    let Some((at, nanos)) = as_datetime(value) else { return KeyValue::Never };
    let unit = i64::from(10u32.pow(6 - u32::from(fsp.min(6))));
    let excess = i64::from(at.micros()) % unit;
    if excess == 0 && nanos == 0 {
        return KeyValue::Exact(Value::DateTime(at));
    }
    let below = at.add_micros(-excess);
    let above = below.and_then(|b| b.add_micros(unit));
    KeyValue::Gap { below: below.map(Value::DateTime), above: above.map(Value::DateTime) }
}

fn time(value: &Value, fsp: u8) -> KeyValue {
    let at = match value {
        Value::Time(t) => Some((*t, 0)),
        Value::DateTime(d) => Some((d.time(), 0)),
        Value::Bytes(b) => parse_time(b).ok().map(|p| (p.value, p.nanos)),
        number => whole_and_micros(number).and_then(|(whole, micros)| {
            let (at, _) = time_from_number(whole).ok()?;
            Some((Time::clamped(at.micros_total() + micros), 0))
        }),
    };
    let Some((at, nanos)) = at else { return KeyValue::Never };
    let unit = i64::from(10u32.pow(6 - u32::from(fsp.min(6))));
    let micros = at.micros_total();
    let floor = micros.div_euclid(unit) * unit;
    if floor == micros && nanos == 0 {
        return KeyValue::Exact(Value::Time(at));
    }
    KeyValue::Gap { below: Time::from_micros(floor).map(Value::Time), above: Time::from_micros(floor + unit).map(Value::Time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(below: impl Into<Option<i64>>, above: impl Into<Option<i64>>) -> KeyValue {
        KeyValue::Gap { below: below.into().map(Value::Int), above: above.into().map(Value::Int) }
    }

    #[test]
    fn integers_between_and_beyond() {
        let int = ColumnType::new(TypeKind::TinyInt);
        assert_eq!(to_key_value(&Value::Float(1.5), &int), gap(1, 2));
        assert_eq!(to_key_value(&Value::Float(-1.5), &int), gap(-2, -1));
        assert_eq!(to_key_value(&Value::from("7"), &int), KeyValue::Exact(Value::Int(7)));
        assert_eq!(to_key_value(&Value::Int(300), &int), gap(127, None));
        assert_eq!(to_key_value(&Value::Int(-300), &int), gap(None, -128));
        assert_eq!(to_key_value(&Value::Decimal(Decimal::parse(b"127.5").value), &int), gap(127, None));
    }

    #[test]
    fn bytes_of_other_lengths_lie_between() {
        let ty = ColumnType { length: 2, ..ColumnType::new(TypeKind::Binary) };
        let gap = |below: Option<&[u8]>, above: Option<&[u8]>| KeyValue::Gap {
            below: below.map(Value::bytes),
            above: above.map(Value::bytes),
        };
        assert_eq!(to_key_value(&Value::from("ab"), &ty), KeyValue::Exact(Value::from("ab")));
        assert_eq!(to_key_value(&Value::from("b"), &ty), gap(Some(b"a\xff"), Some(b"b\0")));
        assert_eq!(to_key_value(&Value::from(""), &ty), gap(None, Some(b"\0\0")));
        assert_eq!(to_key_value(&Value::from("abc"), &ty), gap(Some(b"ab"), Some(b"ac")));
        assert_eq!(to_key_value(&Value::bytes(b"\xff\xff\0"), &ty), gap(Some(b"\xff\xff"), None));
    }

    #[test]
    fn decimals_keep_the_scale_of_the_column() {
        let ty = ColumnType::decimal(5, 2);
        let key = |s: &str| Some(Value::Decimal(Decimal::parse(s.as_bytes()).value));
        assert_eq!(
            to_key_value(&Value::Decimal(Decimal::parse(b"1.005").value), &ty),
            KeyValue::Gap { below: key("1.00"), above: key("1.01") }
        );
        assert_eq!(
            to_key_value(&Value::Decimal(Decimal::parse(b"-1.005").value), &ty),
            KeyValue::Gap { below: key("-1.01"), above: key("-1.00") }
        );
        assert_eq!(to_key_value(&Value::Int(5), &ty), KeyValue::Exact(Value::Decimal(Decimal::parse(b"5.00").value)));
    }

    #[test]
    fn times_are_numbers_with_their_fraction() {
        let time = |text: &[u8]| Value::Time(parse_time(text).unwrap().value);
        let decimal = Value::Decimal(Decimal::parse(b"5.50").value);
        assert_eq!(to_key_value(&time(b"00:00:05.5"), &ColumnType::decimal(5, 2)), KeyValue::Exact(decimal));
        assert_eq!(to_key_value(&time(b"00:00:05.5"), &ColumnType::double()), KeyValue::Exact(Value::Float(5.5)));
        assert_eq!(to_key_value(&time(b"00:00:05.5"), &ColumnType::bigint()), gap(5, 6));
    }
}
