//! The number of CHECKSUM TABLE, which is MySQL's: the sum of the CRC-32 of every row in the form of its record buffer.
//!
//! | part | bytes |
//! |------|-------|
//! | NULL bits | one per nullable column, from the lowest bit on; before them a 1 if no column varies in length; 1 above the last |
//! | VARCHAR, TEXT, BLOB, JSON, BIT | the value's bytes, without a length |
//! | integers, FLOAT, DOUBLE, ENUM, SET | little-endian |
//! | DECIMAL, DATETIME, TIMESTAMP, TIME | big-endian, ordered by memcmp |
//! | DATE, YEAR | 3 bytes little-endian, 1 byte from 1900 |
//! | CHAR, BINARY | padded to the longest value that the column can hold |
//!
//! A column that is NULL holds its default, and zeros or spaces where it has none (JSON: `null`). Worked example: (1, NULL) in
//! `(a INT NOT NULL, b INT)` is `FF 01000000 00000000`: bits 0 (fixed length) and 1 (b), and all above.

use vaquita_types::charset::charset;
use vaquita_types::convert::to_text;
use vaquita_types::schema::{ColumnDef, ColumnDefault, TableDef};
use vaquita_types::temporal::{DateTime, Time};
use vaquita_types::{ColumnType, TypeKind, Value};

/// The CRC-32 of a row; `buffer` is only there to be used again.
pub fn row_crc(def: &TableDef, row: &[Value], buffer: &mut Vec<u8>) -> u32 {
    buffer.clear();
    put_null_bits(def, row, buffer);
    for (column, value) in def.columns.iter().zip(row) {
        let default = match &column.default {
            ColumnDefault::Value(default) => default,
            _ => &Value::Null,
        };
        put(if value.is_null() { default } else { value }, &column.ty, buffer);
    }
    crc32fast::hash(buffer)
}

fn put_null_bits(def: &TableDef, row: &[Value], out: &mut Vec<u8>) {
    let varies = |column: &ColumnDef| column.ty.is_blob() || is_varying(column.ty.kind);
    let packed = def.options.row_format.as_deref() == Some("DYNAMIC") || def.columns.iter().any(varies);
    let start = out.len();
    let mut bit = 0;
    let mut push = |set: bool| {
        if bit % 8 == 0 {
            out.push(0);
        }
        if let Some(last) = out.last_mut().filter(|_| set) {
            *last |= 1 << (bit % 8);
        }
        bit += 1;
    };
    if !packed {
        push(true);
    }
    def.columns.iter().zip(row).filter(|(column, _)| column.nullable).for_each(|(_, value)| push(value.is_null()));
    if out.len() > start
        && let Some(last) = out.last_mut()
    {
        // MySQL's mask of what is above the last bit; it is the whole byte when there is nothing above.
        *last |= 0u8.wrapping_sub(1 << (bit % 8));
    }
}

fn is_varying(kind: TypeKind) -> bool {
    matches!(kind, TypeKind::VarChar | TypeKind::VarBinary | TypeKind::Json)
}

fn put(value: &Value, ty: &ColumnType, out: &mut Vec<u8>) {
    use TypeKind as K;
    let number = match value {
        Value::Int(n) => *n as u64,
        Value::UInt(n) => *n,
        _ => 0,
    };
    let little = |bytes: usize, out: &mut Vec<u8>| out.extend_from_slice(number.to_le_bytes().get(..bytes).unwrap_or_default());
    match ty.kind {
        K::TinyInt => little(1, out),
        K::SmallInt => little(2, out),
        K::MediumInt => little(3, out),
        K::Int => little(4, out),
        K::BigInt => little(8, out),
        K::Enum => little(if ty.members.as_ref().is_some_and(|m| m.len() > 255) { 2 } else { 1 }, out),
        K::Set => little(set_bytes(ty), out),
        K::Year => out.push((number.saturating_sub(1900)) as u8),
        K::Bit => {
            let bytes = (ty.length as usize).div_ceil(8).clamp(1, 8);
            out.extend_from_slice(number.to_be_bytes().get(8 - bytes..).unwrap_or_default());
        }
        K::Float => out.extend_from_slice(&(float(value) as f32).to_le_bytes()),
        K::Double => out.extend_from_slice(&float(value).to_le_bytes()),
        K::Decimal => match value {
            Value::Decimal(d) => d.encode(ty.length, ty.decimals, out),
            _ => vaquita_types::decimal::Decimal::ZERO.encode(ty.length, ty.decimals, out),
        },
        K::Date => {
            let date = if let Value::Date(d) = value { d.day() | d.month() << 5 | d.year() << 9 } else { 0 };
            out.extend_from_slice(&date.to_le_bytes()[..3]);
        }
        K::DateTime => put_datetime(if let Value::DateTime(d) = value { *d } else { DateTime::ZERO }, ty.decimals, out),
        K::Timestamp => {
            let at = if let Value::DateTime(d) = value { *d } else { DateTime::ZERO };
            let _ = at.encode_timestamp(ty.decimals, out);
        }
        K::Time => put_time(if let Value::Time(t) = value { *t } else { Time::default() }, ty.decimals, out),
        K::Char => put_padded(value, ty.length as usize * usize::from(charset(ty.collation).mbmaxlen), b' ', out),
        K::Binary => put_padded(value, ty.length as usize, 0, out),
        _ => match value {
            Value::Null if ty.kind == K::Json => out.extend_from_slice(b"null"),
            Value::Null => {}
            Value::Bytes(bytes) => out.extend_from_slice(bytes),
            other => out.extend_from_slice(&to_text(other, ty)),
        },
    }
}

fn float(value: &Value) -> f64 {
    if let Value::Float(f) = value { *f } else { 0.0 }
}

/// A SET takes as many bytes as hold its members; of 5 and more, 8.
fn set_bytes(ty: &ColumnType) -> usize {
    match ty.members.as_ref().map_or(0, |m| m.len()).div_ceil(8).max(1) {
        bytes @ 1..=4 => bytes,
        _ => 8,
    }
}

fn put_padded(value: &Value, length: usize, pad: u8, out: &mut Vec<u8>) {
    let end = out.len() + length;
    if let Value::Bytes(bytes) = value {
        out.extend_from_slice(bytes);
    }
    out.resize(end, pad);
}

/// The last `fsp` digits of `micros` that the type keeps, in 0 to 3 bytes.
fn put_fraction(micros: i64, fsp: u8, out: &mut Vec<u8>) {
    let bytes = usize::from(fsp.min(6)).div_ceil(2);
    let unit = 100i64.pow(3 - bytes as u32);
    out.extend_from_slice((micros / unit).to_be_bytes().get(8 - bytes..).unwrap_or_default());
}

fn put_datetime(at: DateTime, fsp: u8, out: &mut Vec<u8>) {
    let date = (u64::from(at.year()) * 13 + u64::from(at.month())) << 5 | u64::from(at.day());
    let clock = u64::from(at.hour()) << 12 | u64::from(at.minute()) << 6 | u64::from(at.second());
    let packed = 0x80_0000_0000 + (date << 17 | clock);
    out.extend_from_slice(&packed.to_be_bytes()[3..]);
    put_fraction(i64::from(at.micros()), fsp, out);
}

/// Hours, minutes, seconds and 24 bits of microseconds make one number; a negative time is the negative number.
fn put_time(at: Time, fsp: u8, out: &mut Vec<u8>) {
    let clock = i64::from(at.hour()) << 12 | i64::from(at.minute()) << 6 | i64::from(at.second());
    let packed = clock << 24 | i64::from(at.micros());
    let packed = if at.is_negative() { -packed } else { packed };
    if fsp > 4 {
        return out.extend_from_slice(&(packed + (0x80_0000 << 24)).to_be_bytes()[2..]);
    }
    out.extend_from_slice(&((packed >> 24) + 0x80_0000).to_be_bytes()[5..]);
    put_fraction(packed % (1 << 24), fsp, out);
}
