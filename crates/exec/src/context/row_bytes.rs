//! Values as bytes that give them back, for rows that leave memory. (`key` makes bytes that compare.)
//!
//! A byte says what follows; numbers are little-endian:
//!
//! | byte | value | what follows |
//! |------|-------|--------------|
//! | 0    | NULL  |              |
//! | 1, 2 | integer, signed and unsigned | 8 bytes |
//! | 3    | float | 8 bytes      |
//! | 4    | decimal of at most 64 bits | mantissa, 8 bytes; scale, 1 byte |
//! | 5    | other decimal | its text, as bytes |
//! | 6    | bytes | length, 4 bytes; the bytes |
//! | 7, 8 | date; date and time | 4 and 8 bytes, packed |
//! | 9    | time  | microseconds, 8 bytes |
//! | 10   | JSON  | its binary form, as bytes |

use vaquita_types::decimal::Decimal;
use vaquita_types::json::Json;
use vaquita_types::temporal::{Date, DateTime, Time};
use vaquita_types::{Error, Result, Value};

pub fn encode(value: &Value, out: &mut Vec<u8>) {
    let mut word = |kind: u8, word: u64| {
        out.push(kind);
        out.extend_from_slice(&word.to_le_bytes());
    };
    match value {
        Value::Null => out.push(0),
        Value::Int(n) => word(1, *n as u64),
        Value::UInt(n) => word(2, *n),
        Value::Float(f) => word(3, f.to_bits()),
        Value::Decimal(d) => match d.small() {
            Some((mantissa, scale)) => {
                word(4, mantissa as u64);
                out.push(scale);
            }
            None => bytes(5, d.to_string().as_bytes(), out),
        },
        Value::Bytes(b) => bytes(6, b, out),
        Value::Date(d) => {
            out.push(7);
            out.extend_from_slice(&d.packed().to_le_bytes());
        }
        Value::DateTime(d) => word(8, d.packed()),
        Value::Time(t) => word(9, t.micros_total() as u64),
        Value::Json(json) => {
            let mut binary = Vec::new();
            json.encode(&mut binary);
            bytes(10, &binary, out);
        }
    }
}

fn bytes(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Takes the next value off `from`.
pub fn decode(from: &mut &[u8]) -> Result<Value> {
    take(from).ok_or_else(|| Error::corrupt("a row that had left memory"))
}

/// Leaves the next value of `from` out.
pub fn skip(from: &mut &[u8]) -> Result<()> {
    let mut skip = || {
        match chunk::<1>(from)?[0] {
            0 => {}
            1..=3 | 8 | 9 => drop(chunk::<8>(from)?),
            4 => drop(chunk::<9>(from)?),
            5 | 6 | 10 => drop(sized(from)?),
            7 => drop(chunk::<4>(from)?),
            _ => return None,
        }
        Some(())
    };
    skip().ok_or_else(|| Error::corrupt("a row that had left memory"))
}

fn take(from: &mut &[u8]) -> Option<Value> {
    let kind = chunk::<1>(from)?[0];
    Some(match kind {
        0 => Value::Null,
        1 => Value::Int(i64::from_le_bytes(chunk(from)?)),
        2 => Value::UInt(u64::from_le_bytes(chunk(from)?)),
        3 => Value::Float(f64::from_bits(u64::from_le_bytes(chunk(from)?))),
        4 => Value::Decimal(Decimal::new(i64::from_le_bytes(chunk(from)?), chunk::<1>(from)?[0])),
        5 => Value::Decimal(Decimal::parse(sized(from)?).value),
        6 => Value::Bytes(sized(from)?.into()),
        7 => Value::Date(Date::from_packed(u32::from_le_bytes(chunk(from)?))?),
        8 => Value::DateTime(DateTime::from_packed(u64::from_le_bytes(chunk(from)?))?),
        9 => Value::Time(Time::from_micros(i64::from_le_bytes(chunk(from)?))?),
        10 => Value::Json(Json::decode(sized(from)?)?),
        _ => return None,
    })
}

fn chunk<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (chunk, rest) = from.split_first_chunk::<N>()?;
    *from = rest;
    Some(*chunk)
}

fn sized<'b>(from: &mut &'b [u8]) -> Option<&'b [u8]> {
    let len = u32::from_le_bytes(chunk(from)?) as usize;
    let (bytes, rest) = from.split_at_checked(len)?;
    *from = rest;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let wide = "-12345678901234567890123456789012345.678901234567890123456789";
        let values = [
            Value::Null,
            Value::Int(i64::MIN),
            Value::UInt(u64::MAX),
            Value::Float(-0.0),
            Value::Decimal(Decimal::new(-1500, 3)),
            Value::Decimal(Decimal::parse(wide.as_bytes()).value),
            Value::bytes(b""),
            Value::bytes([0, 255, 10]),
            Value::Date(Date::new(9999, 12, 31).unwrap()),
            Value::Date(Date::from_packed(0).unwrap()),
            Value::DateTime(DateTime::new(Date::new(1, 2, 3).unwrap(), 23, 59, 59, 999_999).unwrap()),
            Value::Time(Time::new(true, 838, 59, 59, 1).unwrap()),
            Value::Json(Json::parse(br#"{"a": [1, null, "x"]}"#).unwrap()),
        ];
        let mut bytes = Vec::new();
        values.iter().for_each(|value| encode(value, &mut bytes));
        let (mut rest, mut skipped) = (bytes.as_slice(), bytes.as_slice());
        for value in &values {
            skip(&mut skipped).unwrap();
            let back = decode(&mut rest).unwrap();
            assert_eq!(format!("{back:?}"), format!("{value:?}"));
            assert_eq!(rest.len(), skipped.len());
        }
        assert!(rest.is_empty());
        for cut in 0..bytes.len() {
            let mut rest = &bytes[..cut];
            while !rest.is_empty() && decode(&mut rest).is_ok() {}
        }
        assert!(decode(&mut &[11u8][..]).is_err());
    }
}
