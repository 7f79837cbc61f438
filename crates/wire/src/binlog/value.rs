//! One column of a row, as `types::Value` and back ("Column Types in the Binary Log").
//!
//! | type                          | content                                                                               |
//! |-------------------------------|---------------------------------------------------------------------------------------|
//! | TINY … LONGLONG               | 1, 2, 3, 4, 8 bytes, little-endian                                                    |
//! | FLOAT, DOUBLE                 | IEEE 754, little-endian                                                               |
//! | NEWDECIMAL, DATE              | as `types` stores them; DATE little-endian with day 5, month 4, year 15 bits          |
//! | TIMESTAMP2(n)                 | seconds since 1970 and the fraction, big-endian                                       |
//! | DATETIME2(n)                  | 1, then year · 13 + month (17 bits), day 5, hour 5, minute 6, second 6, the fraction; big-endian |
//! | TIME2(n)                      | 1, then hour (11 bits), minute 6, second 6, the fraction; big-endian, a negative one subtracted |
//! | DATETIME, TIME, TIMESTAMP     | the decimal numbers YYYYMMDDhhmmss and hhmmss; seconds; little-endian                  |
//! | YEAR                          | years since 1900, 0 for 0000                                                          |
//! | BIT, ENUM, SET                | big-endian; little-endian; little-endian                                              |
//! | CHAR, VARCHAR, BINARY …       | 1 or 2 bytes of length, the content; CHAR without the spaces at its end, BINARY without zeros |
//! | BLOB, TEXT, GEOMETRY, VECTOR  | 1 to 4 bytes of length, the content                                                   |
//! | JSON                          | 4 bytes of length, MySQL's binary form (`json`)                                       |
//!
//! A TIMESTAMP is UTC here. Integers are signed unless the table's metadata say otherwise; a BINARY has its zeros again if they say that it is one.

use vaquita_types::charset::{Collation, CollationId};
use vaquita_types::decimal::{Decimal, PRECISION_MAX, SCALE_MAX, stored_len};
use vaquita_types::json::Json;
use vaquita_types::temporal::{Date, DateTime, Time, fraction_len};
use vaquita_types::{Value, limits};

use super::compression::inflate_value;
use super::error::{BinlogError, Result};
use super::json;
use super::table_map::{Column, column_type as ty};
use crate::codec::Bytes;

const MALFORMED: BinlogError = BinlogError::Malformed("value of a row");
/// Collation of binary strings.
const BINARY: u32 = 63;
const MICROS_PER_SECOND: i64 = 1_000_000;

pub fn decode_value(column: &Column, bytes: &mut Bytes<'_>) -> Result<Value> {
    let unsigned = column.unsigned == Some(true);
    Ok(match column.column_type {
        ty::TINY => integer(bytes, 1, unsigned)?,
        ty::SHORT => integer(bytes, 2, unsigned)?,
        ty::INT24 => integer(bytes, 3, unsigned)?,
        ty::LONG => integer(bytes, 4, unsigned)?,
        ty::LONGLONG => integer(bytes, 8, unsigned)?,
        ty::FLOAT => Value::Float(f64::from(f32::from_bits(bytes.u32()?))),
        ty::DOUBLE => Value::Float(f64::from_bits(bytes.u64()?)),
        ty::NEWDECIMAL => decimal(column, bytes)?,
        ty::YEAR => Value::UInt(match bytes.u8()? {
            0 => 0,
            years => 1900 + u64::from(years),
        }),
        ty::DATE | ty::NEWDATE => date(bytes.u24()?)?,
        ty::TIMESTAMP => timestamp(i64::from(bytes.u32()?), 0)?,
        ty::DATETIME => old_datetime(bytes.u64()?)?,
        ty::TIME => old_time(bytes.u24()?)?,
        ty::TIMESTAMP2 => timestamp(big_endian(bytes, 4)? as i64, fraction(bytes, fsp(column)?)?)?,
        ty::DATETIME2 => datetime(bytes, fsp(column)?)?,
        ty::TIME2 => time(bytes, fsp(column)?)?,
        ty::BIT => {
            let [bits, whole] = column.meta.to_le_bytes();
            Value::UInt(big_endian(bytes, usize::from(whole) + usize::from(bits > 0))?)
        }
        ty::ENUM => Value::UInt(little_endian(bytes, usize::from(column.meta))?),
        ty::SET => Value::UInt(little_endian(bytes, usize::from(column.meta))?),
        ty::STRING if column.collation == Some(BINARY) => {
            let content = content(column, bytes)?;
            let mut padded = content.to_vec();
            padded.resize(content.len().max(usize::from(column.meta)), 0);
            Value::from(padded)
        }
        ty::STRING | ty::VARCHAR | ty::VAR_STRING => Value::bytes(content(column, bytes)?),
        ty::TINY_BLOB | ty::BLOB | ty::MEDIUM_BLOB | ty::LONG_BLOB | ty::GEOMETRY | ty::VECTOR => {
            Value::bytes(content(column, bytes)?)
        }
        ty::MARIA_BLOB_COMPRESSED | ty::MARIA_VARCHAR_COMPRESSED => Value::from(inflate_value(content(column, bytes)?)?),
        ty::JSON => Value::Json(json::decode(content(column, bytes)?)?),
        ty::NULL => Value::Null,
        ty::DECIMAL => return Err(BinlogError::Unsupported("a DECIMAL of a server before MySQL 5.0")),
        _ => return Err(BinlogError::Unsupported("a column of an unknown type")),
    })
}

fn little_endian(bytes: &mut Bytes<'_>, len: usize) -> Result<u64> {
    let taken = bytes.take(len)?;
    if len > 8 {
        return Err(MALFORMED);
    }
    Ok(taken.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)))
}

fn big_endian(bytes: &mut Bytes<'_>, len: usize) -> Result<u64> {
    let taken = bytes.take(len)?;
    if len > 8 {
        return Err(MALFORMED);
    }
    Ok(taken.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
}

fn integer(bytes: &mut Bytes<'_>, len: usize, unsigned: bool) -> Result<Value> {
    let n = little_endian(bytes, len)?;
    let above = 64 - 8 * len as u32;
    Ok(if unsigned { Value::UInt(n) } else { Value::Int((n << above) as i64 >> above) })
}

fn content<'a>(column: &Column, bytes: &mut Bytes<'a>) -> Result<&'a [u8]> {
    let len = little_endian(bytes, column.length_bytes().min(4))?;
    Ok(bytes.take(len as usize)?)
}

fn precision_and_scale(column: &Column) -> Result<(u32, u8)> {
    let [precision, scale] = column.meta.to_le_bytes();
    let fits = (1..=PRECISION_MAX).contains(&u32::from(precision)) && scale <= SCALE_MAX && scale <= precision;
    if fits { Ok((u32::from(precision), scale)) } else { Err(BinlogError::Malformed("DECIMAL column")) }
}

fn decimal(column: &Column, bytes: &mut Bytes<'_>) -> Result<Value> {
    let (precision, scale) = precision_and_scale(column)?;
    let stored = bytes.take(stored_len(precision, scale))?;
    Decimal::decode(stored, precision, scale).map(Value::Decimal).ok_or(MALFORMED)
}

fn fsp(column: &Column) -> Result<u8> {
    let fsp = column.meta.to_le_bytes()[0];
    if fsp <= limits::FSP_MAX { Ok(fsp) } else { Err(BinlogError::Malformed("temporal column")) }
}

/// Microseconds of a fraction with `fsp` digits.
fn fraction(bytes: &mut Bytes<'_>, fsp: u8) -> Result<i64> {
    let len = fraction_len(fsp);
    let micros = big_endian(bytes, len)? as i64 * 100i64.pow(3 - len as u32);
    if micros < MICROS_PER_SECOND { Ok(micros) } else { Err(MALFORMED) }
}

fn date(n: u32) -> Result<Value> {
    Date::new(n >> 9, n >> 5 & 15, n & 31).map(Value::Date).ok_or(MALFORMED)
}

fn timestamp(seconds: i64, micros: i64) -> Result<Value> {
    if seconds == 0 && micros == 0 {
        return Ok(Value::DateTime(DateTime::ZERO));
    }
    DateTime::from_unix_micros(seconds * MICROS_PER_SECOND + micros).map(Value::DateTime).ok_or(MALFORMED)
}

fn old_datetime(n: u64) -> Result<Value> {
    let (date, time) = (n / 1_000_000, n % 1_000_000);
    let part = |n: u64| u32::try_from(n).map_err(|_| MALFORMED);
    let date = Date::new(part(date / 10_000)?, part(date / 100 % 100)?, part(date % 100)?).ok_or(MALFORMED)?;
    let time = part(time)?;
    DateTime::new(date, time / 10_000, time / 100 % 100, time % 100, 0).map(Value::DateTime).ok_or(MALFORMED)
}

fn old_time(n: u32) -> Result<Value> {
    let signed = (n << 8) as i32 >> 8;
    let n = signed.unsigned_abs();
    Time::new(signed < 0, n / 10_000, n / 100 % 100, n % 100, 0).map(Value::Time).ok_or(MALFORMED)
}

const DATETIME_SIGN: u64 = 1 << 39;

fn datetime(bytes: &mut Bytes<'_>, fsp: u8) -> Result<Value> {
    let packed = big_endian(bytes, 5)?.checked_sub(DATETIME_SIGN).ok_or(MALFORMED)?;
    let micros = fraction(bytes, fsp)?;
    unpack_datetime(packed, micros as u32).map(Value::DateTime).ok_or(MALFORMED)
}

/// From the bits of year to second, also of a document's DATETIME.
pub(super) fn unpack_datetime(packed: u64, micros: u32) -> Option<DateTime> {
    let (days, time) = (packed >> 17, packed as u32 & 0x1_ffff);
    let (months, day) = (u32::try_from(days >> 5).ok()?, (days & 31) as u32);
    let date = Date::new(months / 13, months % 13, day)?;
    DateTime::new(date, time >> 12, time >> 6 & 63, time & 63, micros)
}

pub(super) fn pack_datetime(datetime: DateTime) -> u64 {
    let months = u64::from(datetime.year() * 13 + datetime.month());
    let time = datetime.hour() << 12 | datetime.minute() << 6 | datetime.second();
    (months << 5 | u64::from(datetime.day())) << 17 | u64::from(time)
}

const TIME_SIGN: i64 = 1 << 23;

fn time(bytes: &mut Bytes<'_>, fsp: u8) -> Result<Value> {
    let len = fraction_len(fsp);
    let bits = 8 * len as u32;
    let packed = big_endian(bytes, 3 + len)? as i64 - (TIME_SIGN << bits);
    let fraction = (packed.unsigned_abs() & ((1 << bits) - 1)) * 100u64.pow(3 - len as u32);
    unpack_time(packed < 0, packed.unsigned_abs() >> bits, fraction).map(Value::Time).ok_or(MALFORMED)
}

pub(super) fn unpack_time(negative: bool, packed: u64, micros: u64) -> Option<Time> {
    let n = u32::try_from(packed).ok()?;
    Time::new(negative, n >> 12, n >> 6 & 63, n & 63, u32::try_from(micros).ok()?)
}

pub(super) fn pack_time(time: Time) -> u64 {
    u64::from(time.hour() << 12 | time.minute() << 6 | time.second())
}

/// Appends a value that is not NULL.
pub fn encode_value(column: &Column, value: &Value, out: &mut Vec<u8>) -> Result<()> {
    match (column.column_type, value) {
        (ty::TINY, _) => put_integer(value, 1, out),
        (ty::SHORT, _) => put_integer(value, 2, out),
        (ty::INT24, _) => put_integer(value, 3, out),
        (ty::LONG, _) => put_integer(value, 4, out),
        (ty::LONGLONG, _) => put_integer(value, 8, out),
        (ty::FLOAT, Value::Float(n)) => put(out, &(*n as f32).to_le_bytes()),
        (ty::DOUBLE, Value::Float(n)) => put(out, &n.to_le_bytes()),
        (ty::NEWDECIMAL, Value::Decimal(n)) => {
            let (precision, scale) = precision_and_scale(column)?;
            n.encode(precision, scale, out);
            Ok(())
        }
        (ty::YEAR, Value::UInt(year)) => {
            let years = if *year == 0 { Some(0) } else { year.checked_sub(1900).and_then(|years| u8::try_from(years).ok()) };
            put(out, &[years.ok_or(MALFORMED)?])
        }
        (ty::DATE | ty::NEWDATE, Value::Date(date)) => {
            put(out, &(date.year() << 9 | date.month() << 5 | date.day()).to_le_bytes()[..3])
        }
        (ty::TIMESTAMP2, Value::DateTime(utc)) => utc.encode_timestamp(fsp(column)?, out).ok_or(MALFORMED),
        (ty::DATETIME2, Value::DateTime(datetime)) => {
            put(out, &(pack_datetime(*datetime) + DATETIME_SIGN).to_be_bytes()[3..])?;
            put_fraction(datetime.micros(), fsp(column)?, out)
        }
        (ty::TIME2, Value::Time(time)) => put_time(*time, fsp(column)?, out),
        (ty::BIT, Value::UInt(n)) => {
            let [bits, whole] = column.meta.to_le_bytes();
            let len = usize::from(whole) + usize::from(bits > 0);
            put(out, n.to_be_bytes().get(8usize.saturating_sub(len)..).unwrap_or_default())
        }
        (ty::ENUM | ty::SET, Value::UInt(n)) => put(out, n.to_le_bytes().get(..usize::from(column.meta)).ok_or(MALFORMED)?),
        (ty::STRING, Value::Bytes(text)) => put_content(column, without_padding(column, text), out),
        (
            ty::VARCHAR | ty::VAR_STRING | ty::TINY_BLOB | ty::BLOB | ty::MEDIUM_BLOB | ty::LONG_BLOB | ty::GEOMETRY | ty::VECTOR,
            Value::Bytes(text),
        ) => put_content(column, text, out),
        (ty::JSON, Value::Json(json)) => put_json(column, json, out),
        _ => Err(MALFORMED),
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    out.extend_from_slice(bytes);
    Ok(())
}

fn put_integer(value: &Value, len: usize, out: &mut Vec<u8>) -> Result<()> {
    let n = match value {
        Value::Int(n) => *n as u64,
        Value::UInt(n) => *n,
        _ => return Err(MALFORMED),
    };
    put(out, &n.to_le_bytes()[..len])
}

fn put_content(column: &Column, content: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let len_bytes = column.length_bytes().min(4);
    if (content.len() as u64) >> (8 * len_bytes) > 0 {
        return Err(MALFORMED);
    }
    put(out, &content.len().to_le_bytes()[..len_bytes])?;
    put(out, content)
}

/// The length is written when it is known.
fn put_json(column: &Column, document: &Json, out: &mut Vec<u8>) -> Result<()> {
    let len_bytes = column.length_bytes().min(4);
    let start = out.len();
    out.resize(start + len_bytes, 0);
    json::encode(document, out)?;
    let len = out.len() - start - len_bytes;
    if (len as u64) >> (8 * len_bytes) > 0 {
        return Err(MALFORMED);
    }
    out[start..start + len_bytes].copy_from_slice(&len.to_le_bytes()[..len_bytes]);
    Ok(())
}

/// A CHAR without the spaces at its end, a BINARY without its zeros.
fn without_padding<'t>(column: &Column, text: &'t [u8]) -> &'t [u8] {
    let of = column.collation.and_then(|id| Collation::by_id(CollationId(u16::try_from(id).ok()?)));
    match of.map(|collation| collation.charset) {
        Some(charset) if charset.is_binary() => text.iter().rposition(|byte| *byte != 0).map_or(&[], |last| &text[..=last]),
        Some(charset) => charset.trim_end_spaces(text),
        None => text.iter().rposition(|byte| *byte != b' ').map_or(&[], |last| &text[..=last]),
    }
}

fn put_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) -> Result<()> {
    let len = fraction_len(fsp);
    put(out, &(micros / 100u32.pow(3 - len as u32)).to_be_bytes()[4 - len..])
}

fn put_time(time: Time, fsp: u8, out: &mut Vec<u8>) -> Result<()> {
    let len = fraction_len(fsp);
    let bits = 8 * len as u32;
    let magnitude = (pack_time(time) << bits | u64::from(time.micros() / 100u32.pow(3 - len as u32))) as i64;
    let packed = (TIME_SIGN << bits) + if time.is_negative() { -magnitude } else { magnitude };
    put(out, &packed.to_be_bytes()[5 - len..])
}
