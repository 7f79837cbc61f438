//! Rows of result sets: text rows ("Text Resultset Row") and binary rows ("Binary Protocol Resultset Row").
//!
//! Two levels. `put_text_value` and `BinaryRow::put_value` take a `Value` with its `ColumnType`. Below them,
//! `put_int_text`, `put_date_text`, `BinaryRow::put_*` … go from a decoded number or from stored bytes straight to the packet,
//! for a projection that copies columns without building values.
//! ```text
//! text row   (1, NULL, 'ab')     01 '1'  fb  02 'a' 'b'
//! binary row (1 INT, NULL, 'ab') 00  08  01 00 00 00  02 'a' 'b'     bit 2+1 of the bitmap: the second column is NULL
//! ```
//! The value's variant and the type normally agree (see `vaquita_types::value`); where they do not,
//! the row still has the form that the column definition announced. Strings are sent as they are: converting to `character_set_results`
//! is the caller's work.

use vaquita_types::format;
use vaquita_types::temporal::{Date, DateTime, Time};
use vaquita_types::{ColumnType, TypeKind, Value};

use crate::codec::{NULL_BYTE, put_u16, put_u32, put_u64};
pub use crate::codec::{put_lenenc_bytes, put_lenenc_int};

#[inline]
pub fn put_null_text(out: &mut Vec<u8>) {
    out.push(NULL_BYTE);
}

/// Text of unknown length behind its length. Nearly all is shorter than 251 bytes, so one byte is
/// reserved and the text is moved only if that was too little.
#[inline]
pub fn put_lenenc_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.push(0);
    write(out);
    let len = out.len() - start - 1;
    if len < 251 {
        if let Some(prefix) = out.get_mut(start) {
            *prefix = len as u8;
        }
    } else {
        widen_length(out, start, len);
    }
}

#[cold]
fn widen_length(out: &mut Vec<u8>, start: usize, len: usize) {
    let mut prefix = Vec::with_capacity(crate::codec::LENENC_INT_BYTES_MAX);
    put_lenenc_int(&mut prefix, len as u64);
    out.splice(start..=start, prefix);
}

#[inline]
pub fn put_int_text(out: &mut Vec<u8>, value: i64) {
    put_lenenc_with(out, |out| format::write_i64(out, value));
}

#[inline]
pub fn put_uint_text(out: &mut Vec<u8>, value: u64) {
    put_lenenc_with(out, |out| format::write_u64(out, value));
}

#[inline]
pub fn put_date_text(out: &mut Vec<u8>, value: Date) {
    put_lenenc_with(out, |out| value.write_text(out));
}

#[inline]
pub fn put_datetime_text(out: &mut Vec<u8>, value: DateTime, fsp: u8) {
    put_lenenc_with(out, |out| value.write_text(out, fsp));
}

#[inline]
pub fn put_time_text(out: &mut Vec<u8>, value: Time, fsp: u8) {
    put_lenenc_with(out, |out| value.write_text(out, fsp));
}

/// One column of a text row.
#[inline]
pub fn put_text_value(out: &mut Vec<u8>, value: &Value, column_type: &ColumnType) {
    match value {
        Value::Null => out.push(NULL_BYTE),
        Value::Bytes(bytes) => put_lenenc_bytes(out, bytes),
        _ => put_lenenc_with(out, |out| write_value_text(out, value, column_type)),
    }
}

pub fn put_text_row<'a>(out: &mut Vec<u8>, columns: impl IntoIterator<Item = (&'a Value, &'a ColumnType)>) {
    for (value, column_type) in columns {
        put_text_value(out, value, column_type);
    }
}

/// The text of a value as MySQL prints a column of this type, without a length; nothing for NULL.
pub fn write_value_text(out: &mut Vec<u8>, value: &Value, column_type: &ColumnType) {
    let start = out.len();
    match value {
        Value::Null => {}
        // What YEAR() gives has no leading zeros.
        Value::Int(n) if has_labels(column_type.kind) && column_type.kind != TypeKind::Year => {
            write_kind_of_uint(out, *n as u64, column_type);
        }
        Value::Int(n) => format::write_i64(out, *n),
        Value::UInt(n) => write_kind_of_uint(out, *n, column_type),
        Value::Float(x) => write_float(out, *x, column_type),
        Value::Decimal(d) => {
            let scale = match column_type.kind {
                TypeKind::Decimal => column_type.decimals,
                _ => d.scale(),
            };
            d.write_text(out, scale);
        }
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
        Value::Date(date) => date.write_text(out),
        Value::DateTime(datetime) => datetime.write_text(out, fsp(column_type, datetime.micros())),
        Value::Time(time) => time.write_text(out, fsp(column_type, time.micros())),
        Value::Json(json) => json.write_text(out),
    }
    if column_type.zerofill {
        format::pad_zeros(out, start, zerofill_width(column_type));
    }
}

fn has_labels(kind: TypeKind) -> bool {
    matches!(kind, TypeKind::Enum | TypeKind::Set | TypeKind::Bit | TypeKind::Year)
}

fn write_kind_of_uint(out: &mut Vec<u8>, n: u64, column_type: &ColumnType) {
    match column_type.kind {
        TypeKind::Year if column_type.zerofill => format::write_year(out, n),
        TypeKind::Bit => {
            let bytes = n.to_be_bytes();
            let len = (column_type.length as usize).div_ceil(8).clamp(1, 8);
            out.extend_from_slice(&bytes[8 - len..]);
        }
        TypeKind::Enum => write_enum(out, n, column_type),
        TypeKind::Set => write_set(out, n, column_type),
        _ => format::write_u64(out, n),
    }
}

/// Index 0 is the error value, the empty string.
fn write_enum(out: &mut Vec<u8>, index: u64, column_type: &ColumnType) {
    let labels = column_type.members.as_deref().unwrap_or_default();
    let label = usize::try_from(index).ok().and_then(|i| i.checked_sub(1)).and_then(|i| labels.get(i));
    if let Some(label) = label {
        out.extend_from_slice(label);
    }
}

fn write_set(out: &mut Vec<u8>, bitmap: u64, column_type: &ColumnType) {
    let labels = column_type.members.as_deref().unwrap_or_default();
    let start = out.len();
    for (bit, label) in labels.iter().enumerate().take(64) {
        if bitmap >> bit & 1 == 1 {
            if out.len() > start {
                out.push(b',');
            }
            out.extend_from_slice(label);
        }
    }
}

fn write_float(out: &mut Vec<u8>, x: f64, column_type: &ColumnType) {
    match column_type.kind {
        TypeKind::Float | TypeKind::Double if column_type.decimals < crate::caps::NOT_FIXED_DECIMALS => {
            format::write_fixed(out, x, column_type.decimals);
        }
        TypeKind::Float => format::write_float(out, x as f32),
        _ => format::write_double(out, x),
    }
}

/// Digits of the fraction: the declared ones of a temporal type, else those that the value needs.
fn fsp(column_type: &ColumnType, micros: u32) -> u8 {
    if column_type.is_temporal() && column_type.kind != TypeKind::Date {
        column_type.decimals.min(6)
    } else if micros != 0 {
        6
    } else {
        0
    }
}

fn zerofill_width(column_type: &ColumnType) -> usize {
    let width = column_type.length as usize;
    match column_type.kind {
        TypeKind::Decimal => width + usize::from(column_type.decimals > 0),
        _ => width,
    }
}

/// A binary row under construction: knows where its NULL bitmap lies and which column comes next.
/// Every column is written by one of its methods, or by the caller followed by `advance`.
#[derive(Debug)]
pub struct BinaryRow {
    bitmap_start: usize,
    /// Bit of the next column; the first two bits are unused.
    bit: usize,
}

impl BinaryRow {
    /// Writes the header and an empty bitmap.
    #[inline]
    pub fn begin(out: &mut Vec<u8>, column_count: usize) -> Self {
        out.push(0);
        let bitmap_start = out.len();
        out.resize(bitmap_start + (column_count + 7 + 2) / 8, 0);
        Self { bitmap_start, bit: 2 }
    }

    /// The caller has appended the next column's bytes.
    #[inline]
    pub fn advance(&mut self) {
        self.bit += 1;
    }

    #[inline]
    pub fn put_null(&mut self, out: &mut [u8]) {
        if let Some(byte) = out.get_mut(self.bitmap_start + self.bit / 8) {
            *byte |= 1 << (self.bit % 8);
        }
        self.bit += 1;
    }

    /// An integer or YEAR in the width of its type.
    #[inline]
    pub fn put_int(&mut self, out: &mut Vec<u8>, value: i64, kind: TypeKind) {
        match kind {
            TypeKind::TinyInt => out.push(value as u8),
            TypeKind::SmallInt | TypeKind::Year => put_u16(out, value as u16),
            TypeKind::MediumInt | TypeKind::Int => put_u32(out, value as u32),
            _ => put_u64(out, value as u64),
        }
        self.bit += 1;
    }

    #[inline]
    pub fn put_bytes(&mut self, out: &mut Vec<u8>, bytes: &[u8]) {
        put_lenenc_bytes(out, bytes);
        self.bit += 1;
    }

    #[inline]
    pub fn put_float(&mut self, out: &mut Vec<u8>, x: f32) {
        out.extend_from_slice(&x.to_le_bytes());
        self.bit += 1;
    }

    #[inline]
    pub fn put_double(&mut self, out: &mut Vec<u8>, x: f64) {
        out.extend_from_slice(&x.to_le_bytes());
        self.bit += 1;
    }

    pub fn put_date(&mut self, out: &mut Vec<u8>, date: Date) {
        put_binary_datetime(out, date.to_datetime());
        self.bit += 1;
    }

    pub fn put_datetime(&mut self, out: &mut Vec<u8>, datetime: DateTime) {
        put_binary_datetime(out, datetime);
        self.bit += 1;
    }

    pub fn put_time(&mut self, out: &mut Vec<u8>, time: Time) {
        put_binary_time(out, time);
        self.bit += 1;
    }

    /// The next column, in the form that belongs to its type.
    pub fn put_value(&mut self, out: &mut Vec<u8>, value: &Value, column_type: &ColumnType) {
        let kind = column_type.kind;
        match (kind, value) {
            (_, Value::Null) => self.put_null(out),
            (
                TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt | TypeKind::Year,
                _,
            ) => self.put_int(out, to_i64(value), kind),
            (TypeKind::Float, _) => self.put_float(out, to_f64(value) as f32),
            (TypeKind::Double, _) => self.put_double(out, to_f64(value)),
            (TypeKind::Date, Value::Date(date)) => self.put_date(out, *date),
            (TypeKind::Date, Value::DateTime(datetime)) => self.put_date(out, datetime.date()),
            (TypeKind::DateTime | TypeKind::Timestamp, Value::DateTime(datetime)) => {
                self.put_datetime(out, *datetime);
            }
            (TypeKind::DateTime | TypeKind::Timestamp, Value::Date(date)) => {
                self.put_date(out, *date);
            }
            (TypeKind::Time, Value::Time(time)) => self.put_time(out, *time),
            (TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time, _) => {
                // A zero date or time, which is what MySQL makes of what is none.
                out.push(0);
                self.advance();
            }
            (_, Value::Bytes(bytes)) => self.put_bytes(out, bytes),
            _ => {
                put_lenenc_with(out, |out| write_value_text(out, value, column_type));
                self.advance();
            }
        }
    }
}

pub fn put_binary_row<'a, I>(out: &mut Vec<u8>, columns: I)
where
    I: IntoIterator<Item = (&'a Value, &'a ColumnType)>,
    I::IntoIter: ExactSizeIterator,
{
    let columns = columns.into_iter();
    let mut row = BinaryRow::begin(out, columns.len());
    for (value, column_type) in columns {
        row.put_value(out, value, column_type);
    }
}

/// DATE, DATETIME and TIMESTAMP: 0, 4, 7 or 11 bytes, leaving out what is zero at the end.
fn put_binary_datetime(out: &mut Vec<u8>, value: DateTime) {
    let len = if value.micros() != 0 {
        11
    } else if !value.to_number().is_multiple_of(1_000_000) {
        7
    } else if !value.is_zero() {
        4
    } else {
        0
    };
    out.push(len);
    if len >= 4 {
        put_u16(out, value.year() as u16);
        out.extend_from_slice(&[value.month() as u8, value.day() as u8]);
    }
    if len >= 7 {
        out.extend_from_slice(&[value.hour() as u8, value.minute() as u8, value.second() as u8]);
    }
    if len == 11 {
        put_u32(out, value.micros());
    }
}

/// TIME: 0, 8 or 12 bytes; hours beyond 23 become days.
fn put_binary_time(out: &mut Vec<u8>, value: Time) {
    let len = if value.micros() != 0 {
        12
    } else if value != Time::ZERO {
        8
    } else {
        0
    };
    out.push(len);
    if len >= 8 {
        out.push(u8::from(value.is_negative()));
        put_u32(out, value.hour() / 24);
        out.extend_from_slice(&[(value.hour() % 24) as u8, value.minute() as u8, value.second() as u8]);
    }
    if len == 12 {
        put_u32(out, value.micros());
    }
}

/// For integer columns: the bits of the number, whatever variant carries it.
fn to_i64(value: &Value) -> i64 {
    match value {
        Value::Int(n) => *n,
        Value::UInt(n) => *n as i64,
        Value::Float(x) => x.round() as i64,
        Value::Decimal(d) => d.to_i64().0,
        Value::Date(d) => i64::from(d.to_number()),
        Value::DateTime(d) => d.to_number() as i64,
        Value::Time(t) => t.to_number(),
        Value::Bytes(_) | Value::Json(_) | Value::Null => 0,
    }
}

fn to_f64(value: &Value) -> f64 {
    match value {
        Value::Float(x) => *x,
        Value::UInt(n) => *n as f64,
        Value::Decimal(d) => d.to_f64(),
        _ => to_i64(value) as f64,
    }
}
