//! Values as bytes: memcmp of the bytes is the order of the values, equal bytes are equal values.
//!
//! Sorting, grouping, DISTINCT and hash joins all work on these bytes, which are made once per row. Each
//! value begins with a marker and ends by itself, so that several make one key:
//!
//! ```text
//! NULL       0
//! integer    1 (negative) or 2, eight bytes big-endian
//! decimal    1 negative, 2 zero, 3 positive; exponent, pairs of digits + 1, 0; inverted if negative
//! float      1, eight bytes: sign bit flipped, all bits if negative
//! text       1, the collation's sort key with 0 as 0 255, then 0 0
//! temporal   1, eight bytes of its packed form with the sign bit flipped
//! JSON       1 + the type's rank, then by type
//! ```
//!
//! A descending key is inverted as a whole. Worked example: (-1, 'a') under a binary collation is
//! `01 FFFFFFFFFFFFFFFF 01 61 00 00`.

use vaquita_plan::env::{Env, EvalCx};
use vaquita_plan::eval::coerce;
use vaquita_plan::eval::compare;
use vaquita_plan::eval::json::sql_to_json;
use vaquita_plan::expr::{CompareAs, Expr};
use vaquita_plan::node::SortKey;
use vaquita_types::charset::{CollationId, collation};
use vaquita_types::decimal::Decimal;
use vaquita_types::json::Json;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

const NULL: u8 = 0;
const NEGATIVE: u8 = 1;
/// The marker of values whose type needs no other.
const PRESENT: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 3;
const SIGN: u64 = 1 << 63;
/// Above every marker: a key that ROLLUP left out sorts last.
pub const AFTER_ALL: u8 = 0xFF;

/// Appends `value` of type `ty` in the order of ORDER BY and the equality of GROUP BY.
pub fn encode(value: &Value, ty: &ColumnType, env: &dyn Env, out: &mut Vec<u8>) -> Result<()> {
    match (ty.kind, value) {
        (_, Value::Null) => out.push(NULL),
        (TypeKind::Decimal, Value::Int(_) | Value::UInt(_)) => decimal(&coerce::to_decimal(value, ty, env)?, out),
        (TypeKind::Float | TypeKind::Double, Value::Int(_) | Value::UInt(_) | Value::Decimal(_)) => {
            float(coerce::to_f64(value, ty, env)?, out)
        }
        (TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp, Value::Date(d)) => {
            word(PRESENT, d.to_datetime().packed() ^ SIGN, out)
        }
        (_, Value::Int(i)) => int(i128::from(*i), out),
        (_, Value::UInt(u)) => int(i128::from(*u), out),
        (_, Value::Float(f)) => float(*f, out),
        (_, Value::Decimal(d)) => decimal(d, out),
        (_, Value::Bytes(b)) => text(b, ty.collation, out),
        (_, Value::Date(d)) => word(PRESENT, d.to_datetime().packed() ^ SIGN, out),
        (_, Value::DateTime(d)) => word(PRESENT, d.packed() ^ SIGN, out),
        (_, Value::Time(t)) => word(PRESENT, t.micros_total() as u64 ^ SIGN, out),
        (_, Value::Json(j)) => json(j, out),
    }
    Ok(())
}

/// The key of several expressions over the row in `cx`.
pub fn encode_all<'e>(exprs: impl IntoIterator<Item = &'e Expr>, cx: &EvalCx<'_>, out: &mut Vec<u8>) -> Result<()> {
    for expr in exprs {
        encode(&*expr.eval(cx)?, &expr.ty, cx.env, out)?;
    }
    Ok(())
}

/// The key of ORDER BY.
pub fn encode_sort(keys: &[SortKey], cx: &EvalCx<'_>, out: &mut Vec<u8>) -> Result<()> {
    for key in keys {
        let start = out.len();
        encode(&*key.expr.eval(cx)?, &key.expr.ty, cx.env, out)?;
        if key.descending {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
    }
    Ok(())
}

/// Values of both types are compared as what they are: none is converted, with the warnings of that.
pub fn are_alike(a: &ColumnType, b: &ColumnType, rule: CompareAs) -> bool {
    let both = |is: fn(&ColumnType) -> bool| is(a) && is(b);
    match rule {
        CompareAs::Int => both(ColumnType::is_integer),
        CompareAs::Decimal => both(|ty| ty.is_integer() || ty.kind == TypeKind::Decimal),
        CompareAs::Double => {
            both(|ty| ty.is_integer() || matches!(ty.kind, TypeKind::Decimal | TypeKind::Float | TypeKind::Double))
        }
        CompareAs::Text(_) => both(|ty| ty.is_bytes() && ty.kind != TypeKind::Geometry),
        CompareAs::DateTime | CompareAs::Date => {
            both(|ty| matches!(ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp))
        }
        CompareAs::Time => both(|ty| ty.kind == TypeKind::Time),
        CompareAs::Json | CompareAs::Row | CompareAs::DoubleFixed(_) => false,
    }
}

/// The keys of one side of an equality join (`others` are those of the other side); false if a key is NULL or no value of its kind and so equals nothing.
pub fn encode_join(exprs: &[Expr], others: &[Expr], rules: &[CompareAs], cx: &EvalCx<'_>, out: &mut Vec<u8>) -> Result<bool> {
    for ((expr, other), rule) in exprs.iter().zip(others).zip(rules) {
        if !encode_as(&*expr.eval(cx)?, (&expr.ty, &other.ty), *rule, cx.env, out)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The key of a value that is compared with one of type `other`; false as above.
pub fn encode_as(
    value: &Value,
    (ty, other): (&ColumnType, &ColumnType),
    rule: CompareAs,
    env: &dyn Env,
    out: &mut Vec<u8>,
) -> Result<bool> {
    if value.is_null() {
        return Ok(false);
    }
    match rule {
        CompareAs::Int => int(coerce::to_int(value, ty, env)?, out),
        CompareAs::Decimal => match value {
            Value::Decimal(d) => decimal(d, out),
            other => decimal(&coerce::to_decimal(other, ty, env)?, out),
        },
        CompareAs::Double => float(coerce::to_f64(value, ty, env)?, out),
        CompareAs::Text(id) => match value {
            Value::Bytes(b) => text(b, id, out),
            other => text(&coerce::text_of(other, ty), id, out),
        },
        CompareAs::DateTime => match compare::as_datetime(value, ty, other, env)? {
            Some(d) => word(PRESENT, d.packed() ^ SIGN, out),
            None => return Ok(false),
        },
        CompareAs::Date => match compare::as_datetime(value, ty, other, env)? {
            Some(d) => word(PRESENT, u64::from(d.date().packed()) ^ SIGN, out),
            None => return Ok(false),
        },
        CompareAs::Time => match coerce::to_time(value, ty, env)? {
            Some(t) => word(PRESENT, t.micros_total() as u64 ^ SIGN, out),
            None => return Ok(false),
        },
        CompareAs::Json => json(&sql_to_json(value, ty, env)?, out),
        CompareAs::Row | CompareAs::DoubleFixed(_) => return Err(Error::internal("what has no key as a join key")),
    }
    Ok(true)
}

fn word(marker: u8, word: u64, out: &mut Vec<u8>) {
    let mut bytes = [marker; 9];
    bytes[1..].copy_from_slice(&word.to_be_bytes());
    out.extend_from_slice(&bytes);
}

/// An integer within BIGINT and BIGINT UNSIGNED.
fn int(i: i128, out: &mut Vec<u8>) {
    word(if i < 0 { NEGATIVE } else { ZERO }, i as u64, out);
}

fn float(f: f64, out: &mut Vec<u8>) {
    // -0 is 0.
    let bits = (f + 0.0).to_bits();
    word(PRESENT, if bits & SIGN != 0 { !bits } else { bits | SIGN }, out);
}

fn text(bytes: &[u8], id: CollationId, out: &mut Vec<u8>) {
    out.push(PRESENT);
    let start = out.len();
    collation(id).sort_key(bytes, out);
    end_bytes(start, out);
}

/// Makes what is in `out` from `start` on end by itself.
fn end_bytes(start: usize, out: &mut Vec<u8>) {
    if memchr::memchr(0, &out[start..]).is_some() {
        let tail = out.split_off(start);
        for b in tail {
            out.push(b);
            if b == 0 {
                out.push(0xFF);
            }
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn decimal(d: &Decimal, out: &mut Vec<u8>) {
    if d.is_zero() {
        return out.push(ZERO);
    }
    if let Some((mantissa, scale)) = d.small() {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut rest = mantissa.unsigned_abs();
        while rest > 0 {
            at -= 1;
            digits[at] = (rest % 10) as u8;
            rest /= 10;
        }
        let exponent = (digits.len() - at) as i32 - i32::from(scale);
        return digits_key(mantissa < 0, &digits[at..], exponent, out);
    }
    let mut written = Vec::with_capacity(80);
    d.abs().write_text(&mut written, d.scale());
    let point = written.iter().position(|b| *b == b'.').unwrap_or(written.len());
    let digits: Vec<u8> = written.iter().filter(|b| b.is_ascii_digit()).map(|b| b - b'0').collect();
    let leading = digits.iter().take_while(|d| **d == 0).count();
    digits_key(d.is_negative(), &digits[leading..], point as i32 - leading as i32, out);
}

/// 0.d1d2d3… × 10^exponent, where d1 is not 0.
fn digits_key(negative: bool, digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    let trailing = digits.iter().rev().take_while(|d| **d == 0).count();
    let digits = &digits[..digits.len() - trailing];
    out.push(if negative { NEGATIVE } else { POSITIVE });
    let start = out.len();
    out.extend_from_slice(&((exponent + (1 << 15)) as u16).to_be_bytes());
    for pair in digits.chunks(2) {
        out.push(pair[0] * 10 + pair.get(1).copied().unwrap_or(0) + 1);
    }
    out.push(0);
    if negative {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
}

/// All numbers of JSON compare with each other: as decimals, doubles by their shortest digits.
fn json_double(f: f64, out: &mut Vec<u8>) {
    if f == 0.0 || !f.is_finite() {
        return out.push(ZERO);
    }
    let shortest = format!("{:e}", f.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
    digits_key(f < 0.0, &digits, exponent.parse::<i32>().unwrap_or(0) + 1, out);
}

fn json_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(bytes);
    end_bytes(start, out);
}

/// The markers are one more than the ranks of `Json`'s order.
fn json(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Null => out.push(1),
        Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => {
            out.push(2);
            match value {
                Json::Int(i) => decimal(&Decimal::new(*i, 0), out),
                Json::UInt(u) => decimal(&Decimal::from_u64(*u), out),
                Json::Decimal(d) => decimal(d, out),
                Json::Double(f) => json_double(*f, out),
                _ => {}
            }
        }
        Json::String(s) => {
            out.push(3);
            json_bytes(s.as_bytes(), out);
        }
        Json::Object(object) => {
            out.push(4);
            out.extend_from_slice(&(object.len() as u32).to_be_bytes());
            for (name, member) in object.iter() {
                out.extend_from_slice(&(name.len() as u32).to_be_bytes());
                out.extend_from_slice(name.as_bytes());
                json(member, out);
            }
        }
        Json::Array(items) => {
            out.push(5);
            // Markers begin with 1, so the 0 puts the shorter of two arrays first.
            items.iter().for_each(|item| json(item, out));
            out.push(0);
        }
        Json::Bool(b) => out.extend_from_slice(&[6, u8::from(*b)]),
        Json::Date(d) => word(7, d.to_datetime().packed() ^ SIGN, out),
        Json::Time(t) => word(8, t.micros_total() as u64 ^ SIGN, out),
        Json::DateTime(d, _) => word(9, d.packed() ^ SIGN, out),
        Json::Opaque(opaque) => {
            let rank = match opaque.0 {
                TypeKind::Bit => 11,
                TypeKind::Year | TypeKind::Geometry => 10,
                _ => 12,
            };
            out.extend_from_slice(&[rank, opaque.0 as u8]);
            json_bytes(&opaque.1, out);
        }
    }
}
