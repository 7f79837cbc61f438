//! How a value of each column type is stored: the one table that keys and rows share.
//!
//! | form         | column types                              | in a row                  | in a key                     |
//! |--------------|-------------------------------------------|---------------------------|------------------------------|
//! | `Fixed`      | integers, YEAR, BIT, ENUM, SET, FLOAT, DOUBLE, DATE, TIME, DATETIME, TIMESTAMP, DECIMAL to 18 digits | `width` bytes, little-endian bits | `width` bytes, big-endian, in value order |
//! | `WideDecimal`| DECIMAL of 19 to 65 digits                | `Decimal::encode`         | the same bytes               |
//! | `FixedBytes` | BINARY(n)                                 | n bytes                   | n bytes                      |
//! | `Bytes`      | CHAR … LONGTEXT, VARBINARY … LONGBLOB     | the bytes                 | see `key`: raw or collated   |
//! | `Json`       | JSON                                      | the binary form of `json` | none                         |
//!
//! The bits of a `Fixed` value (two's complement unless said otherwise):
//!
//! | type                | width                    | bits                                             |
//! |---------------------|--------------------------|--------------------------------------------------|
//! | TINYINT … BIGINT    | 1, 2, 3, 4, 8            | the integer                                      |
//! | YEAR                | 1                        | year − 1900, or 0 for year 0000                  |
//! | BIT(n)              | (n+7)/8                  | the bits                                         |
//! | ENUM, SET           | 1–2; 1, 2, 3, 4, 8       | index; bitmap                                    |
//! | FLOAT, DOUBLE       | 4, 8                     | IEEE 754                                         |
//! | DATE                | 3                        | year 14, month 4, day 5                          |
//! | DATETIME, TIMESTAMP | 5 + f                    | year 14, month 4, day 5, hour 5, minute 6, second 6, fraction 8f |
//! | TIME                | 3 + f                    | signed count of 1 s, 10 ms, 100 µs or 1 µs for f = 0, 1, 2, 3 |
//! | DECIMAL(p ≤ 18, s)  | least that holds p digits| signed mantissa at scale s                       |
//!
//! where f = (fractional digits + 1) / 2. Example: INT −2 is bits `fe ff ff ff` in a row and
//! `7f ff ff fe` in a key.
//!
//! A TIMESTAMP given to and returned by this crate is UTC; sessions' zones are the executor's.
//! Nothing here converts between types: a value that does not belong to the column's type is
//! an internal error, because assigning already converted it.

use std::borrow::Cow;

use vaquita_types::datatype::{ColumnType, TypeKind};
use vaquita_types::decimal::{Decimal, stored_len};
use vaquita_types::limits::DECIMAL_DIGITS_MAX;
use vaquita_types::temporal::{Date, DateTime, Time};
use vaquita_types::{Error, Result, Value};

use super::value_ref::ValueRef;

/// The stored form of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Fixed(Fixed),
    WideDecimal { precision: u8, scale: u8 },
    FixedBytes(u16),
    Bytes,
    Json,
}

/// A value that fits 64 bits: what its bits mean and how many bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    pub kind: FixedKind,
    pub width: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedKind {
    Signed,
    Unsigned,
    Year,
    Float,
    Double,
    Date,
    /// Bytes of fraction, 0 to 3.
    DateTime(u8),
    Time(u8),
    /// Scale of a mantissa of up to 18 digits.
    Decimal(u8),
}

/// Bytes that hold a signed mantissa of `digits` decimal digits.
fn decimal_width(digits: u32) -> u8 {
    // 10^digits < 2^(digits × 3.32193): one more bit for the sign.
    ((digits * 332_193).div_ceil(100_000) + 1).div_ceil(8) as u8
}

/// Microseconds per unit of the stored fraction with `f` bytes.
const FRACTION_UNIT_US: [u32; 4] = [1_000_000, 10_000, 100, 1];

impl Form {
    pub fn of(ty: &ColumnType) -> Form {
        let fixed = |kind, width| Form::Fixed(Fixed { kind, width });
        let integer = |width| fixed(if ty.unsigned { FixedKind::Unsigned } else { FixedKind::Signed }, width);
        let fraction = ty.decimals.min(6).div_ceil(2);
        match ty.kind {
            TypeKind::TinyInt | TypeKind::Null => integer(1),
            TypeKind::SmallInt => integer(2),
            TypeKind::MediumInt => integer(3),
            TypeKind::Int => integer(4),
            TypeKind::BigInt => integer(8),
            TypeKind::Decimal if ty.length <= 18 => fixed(FixedKind::Decimal(ty.decimals), decimal_width(ty.length)),
            TypeKind::Decimal => Form::WideDecimal { precision: ty.length.min(DECIMAL_DIGITS_MAX) as u8, scale: ty.decimals },
            TypeKind::Float => fixed(FixedKind::Float, 4),
            TypeKind::Double => fixed(FixedKind::Double, 8),
            TypeKind::Bit => fixed(FixedKind::Unsigned, ty.length.clamp(1, 64).div_ceil(8) as u8),
            TypeKind::Year => fixed(FixedKind::Year, 1),
            TypeKind::Date => fixed(FixedKind::Date, 3),
            TypeKind::Time => fixed(FixedKind::Time(fraction), 3 + fraction),
            TypeKind::DateTime | TypeKind::Timestamp => fixed(FixedKind::DateTime(fraction), 5 + fraction),
            TypeKind::Enum => fixed(FixedKind::Unsigned, if members(ty) < 256 { 1 } else { 2 }),
            TypeKind::Set => fixed(FixedKind::Unsigned, set_width(members(ty))),
            TypeKind::Binary => Form::FixedBytes(ty.length.min(255) as u16),
            TypeKind::Json => Form::Json,
            TypeKind::Char
            | TypeKind::VarChar
            | TypeKind::TinyText
            | TypeKind::Text
            | TypeKind::MediumText
            | TypeKind::LongText
            | TypeKind::VarBinary
            | TypeKind::TinyBlob
            | TypeKind::Blob
            | TypeKind::MediumBlob
            | TypeKind::LongBlob
            | TypeKind::Geometry
            | TypeKind::Vector => Form::Bytes,
        }
    }

    /// Bytes in the fixed part of a row; `None` for variable forms.
    pub fn row_width(self) -> Option<usize> {
        match self {
            Form::Fixed(f) => Some(f.width as usize),
            Form::WideDecimal { precision, scale } => Some(stored_len(precision as u32, scale)),
            Form::FixedBytes(n) => Some(n as usize),
            Form::Bytes | Form::Json => None,
        }
    }

    /// Writes a value of a fixed-width form into `out`, which has `row_width` bytes.
    pub(crate) fn write_fixed(self, value: &Value, out: &mut [u8]) -> Result<()> {
        match self {
            Form::Fixed(f) => {
                let bits = f.bits(value)?.to_le_bytes();
                out.copy_from_slice(&bits[..out.len()]);
            }
            Form::WideDecimal { precision, scale } => {
                let mut bytes = Vec::with_capacity(out.len());
                self.write_wide_decimal(value, precision, scale, &mut bytes)?;
                out.copy_from_slice(&bytes);
            }
            Form::FixedBytes(_) => {
                let Value::Bytes(b) = value else { return Err(mismatch(self, value)) };
                if b.len() > out.len() {
                    return Err(mismatch(self, value));
                }
                out[..b.len()].copy_from_slice(b);
                out[b.len()..].fill(0);
            }
            Form::Bytes | Form::Json => return Err(mismatch(self, value)),
        }
        Ok(())
    }

    /// Reads a value of a fixed-width form back; `None` if the bytes are not such a value.
    #[inline]
    pub(crate) fn read_fixed(self, stored: &[u8]) -> Option<ValueRef<'_>> {
        match self {
            Form::Fixed(f) => f.value(read_le(stored)),
            Form::WideDecimal { precision, scale } => Decimal::decode(stored, precision as u32, scale).map(ValueRef::Decimal),
            Form::FixedBytes(_) => Some(ValueRef::Bytes(Cow::Borrowed(stored))),
            Form::Bytes | Form::Json => None,
        }
    }

    /// Appends the stored form of a DECIMAL of more than 18 digits; it must fit exactly.
    pub(crate) fn write_wide_decimal(self, value: &Value, precision: u8, scale: u8, out: &mut Vec<u8>) -> Result<()> {
        match value {
            Value::Decimal(d) if d.fit(precision as u32, scale).is_ok_and(|fitted| fitted == *d) => {
                d.encode(precision as u32, scale, out);
                Ok(())
            }
            _ => Err(mismatch(self, value)),
        }
    }
}

/// The mantissa at `scale`, if it takes 64 bits and nothing is rounded away.
fn mantissa(d: &Decimal, scale: u8) -> Option<i64> {
    match d.small() {
        Some((m, s)) if s == scale => Some(m),
        _ => d.rescale(scale).filter(|r| r == d)?.small().map(|(m, _)| m),
    }
}

fn members(ty: &ColumnType) -> usize {
    ty.members.as_ref().map_or(0, |m| m.len())
}

fn set_width(members: usize) -> u8 {
    match members.div_ceil(8) {
        0 | 1 => 1,
        n @ 2..=4 => n as u8,
        _ => 8,
    }
}

#[cold]
pub(crate) fn mismatch(form: Form, value: &Value) -> Error {
    Error::internal(format_args!("value {value:?} given to a column stored as {form:?}"))
}

impl Fixed {
    #[cold]
    fn mismatch(self, value: &Value) -> Error {
        mismatch(Form::Fixed(self), value)
    }

    fn in_width(self, bits: u64, value: &Value) -> Result<u64> {
        if self.width < 8 && bits >> (8 * self.width) != 0 { Err(self.mismatch(value)) } else { Ok(bits) }
    }

    fn signed_in_width(self, n: i64, value: &Value) -> Result<u64> {
        let unused = 64 - 8 * self.width as u32;
        if n << unused >> unused != n { Err(self.mismatch(value)) } else { Ok(n as u64) }
    }

    /// The stored bits of a value; bits above `width` bytes repeat the sign and are not stored.
    #[inline]
    pub fn bits(self, value: &Value) -> Result<u64> {
        match (self.kind, value) {
            (FixedKind::Signed, Value::Int(i)) => self.signed_in_width(*i, value),
            (FixedKind::Signed, Value::UInt(u)) if *u <= i64::MAX as u64 => self.signed_in_width(*u as i64, value),
            (FixedKind::Unsigned, Value::UInt(u)) => self.in_width(*u, value),
            (FixedKind::Unsigned, Value::Int(i)) if *i >= 0 => self.in_width(*i as u64, value),
            (FixedKind::Year, Value::UInt(0) | Value::Int(0)) => Ok(0),
            (FixedKind::Year, Value::UInt(y)) if (1901..=2155).contains(y) => Ok(y - 1900),
            (FixedKind::Year, Value::Int(y)) if (1901..=2155).contains(y) => Ok(*y as u64 - 1900),
            (FixedKind::Float, Value::Float(f)) => Ok((*f as f32).to_bits() as u64),
            (FixedKind::Double, Value::Float(f)) => Ok(f.to_bits()),
            (FixedKind::Date, Value::Date(d)) => Ok(date_bits(*d)),
            (FixedKind::DateTime(fraction), Value::DateTime(t)) => {
                let time_of_day = (t.hour() << 12 | t.minute() << 6 | t.second()) as u64;
                let unit = FRACTION_UNIT_US[fraction as usize & 3];
                let fraction_bits = if fraction == 0 { 0 } else { t.micros() / unit } as u64;
                Ok((date_bits(t.date()) << 17 | time_of_day) << (8 * fraction) | fraction_bits)
            }
            (FixedKind::Time(fraction), Value::Time(t)) => {
                let unit = FRACTION_UNIT_US[fraction as usize & 3] as i64;
                self.signed_in_width(t.micros_total() / unit, value)
            }
            (FixedKind::Decimal(scale), Value::Decimal(d)) => match mantissa(d, scale) {
                Some(m) => self.signed_in_width(m, value),
                None => Err(self.mismatch(value)),
            },
            _ => Err(self.mismatch(value)),
        }
    }

    /// The value of stored bits (zero-extended from `width` bytes); `None` if no value has them.
    #[inline]
    pub fn value<'a>(self, bits: u64) -> Option<ValueRef<'a>> {
        Some(match self.kind {
            FixedKind::Signed => ValueRef::Int(self.sign_extend(bits)),
            FixedKind::Unsigned => ValueRef::UInt(bits),
            FixedKind::Year => ValueRef::UInt(if bits == 0 { 0 } else { bits + 1900 }),
            FixedKind::Float => ValueRef::Float(f32::from_bits(bits as u32) as f64),
            FixedKind::Double => ValueRef::Float(f64::from_bits(bits)),
            FixedKind::Date => ValueRef::Date(date_of(bits)?),
            FixedKind::DateTime(fraction) => {
                let whole = bits >> (8 * fraction);
                let fraction_bits = (bits & ((1 << (8 * fraction)) - 1)) as u32;
                let micros = fraction_bits.checked_mul(FRACTION_UNIT_US[fraction as usize & 3])?;
                let field = |shift: u32, mask: u64| (whole >> shift & mask) as u32;
                ValueRef::DateTime(DateTime::new(date_of(whole >> 17)?, field(12, 31), field(6, 63), field(0, 63), micros)?)
            }
            FixedKind::Time(fraction) => {
                let unit = FRACTION_UNIT_US[fraction as usize & 3] as i64;
                ValueRef::Time(Time::from_micros(self.sign_extend(bits).checked_mul(unit)?)?)
            }
            FixedKind::Decimal(scale) => ValueRef::Decimal(Decimal::new(self.sign_extend(bits), scale)),
        })
    }

    /// Stored bits as a number that is in the order of the values, whatever the width; not for FLOAT and DOUBLE.
    #[inline]
    pub fn rank(self, bits: u64) -> u64 {
        match self.kind {
            FixedKind::Signed | FixedKind::Time(_) | FixedKind::Decimal(_) => self.sign_extend(bits) as u64 ^ 1 << 63,
            _ => bits,
        }
    }

    #[inline]
    pub(crate) fn sign_extend(self, bits: u64) -> i64 {
        let unused = 64 - 8 * self.width as u32;
        (bits << unused) as i64 >> unused
    }

    /// Bits in value order: comparing the low `width` bytes as an unsigned number compares values.
    #[inline]
    pub(crate) fn ordered(self, bits: u64) -> u64 {
        let sign = 1u64 << (8 * self.width as u32 - 1);
        match self.kind {
            FixedKind::Signed | FixedKind::Time(_) | FixedKind::Decimal(_) => bits ^ sign,
            FixedKind::Float | FixedKind::Double => {
                // −0 and 0 are one value.
                let bits = if bits == sign { 0 } else { bits };
                if bits & sign != 0 { !bits } else { bits | sign }
            }
            _ => bits,
        }
    }

    /// Undoes `ordered` (except that −0 became 0).
    #[inline]
    pub(crate) fn unordered(self, ordered: u64) -> u64 {
        let sign = 1u64 << (8 * self.width as u32 - 1);
        match self.kind {
            FixedKind::Signed | FixedKind::Time(_) | FixedKind::Decimal(_) => ordered ^ sign,
            FixedKind::Float | FixedKind::Double => {
                let bits = if ordered & sign != 0 { ordered ^ sign } else { !ordered };
                if self.width == 8 { bits } else { bits & 0xFFFF_FFFF }
            }
            _ => ordered,
        }
    }
}

/// Little-endian bytes, at most eight, as zero-extended bits.
#[inline]
pub(crate) fn read_le(stored: &[u8]) -> u64 {
    match stored {
        [a] => *a as u64,
        [a, b, c, d] => u32::from_le_bytes([*a, *b, *c, *d]) as u64,
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
        _ => stored.iter().rev().fold(0, |n, b| n << 8 | *b as u64),
    }
}

/// Big-endian bytes, at most eight, as zero-extended bits.
#[inline]
pub(crate) fn read_be(stored: &[u8]) -> u64 {
    match stored {
        [a, b, c, d] => u32::from_be_bytes([*a, *b, *c, *d]) as u64,
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
        _ => stored.iter().fold(0, |n, b| n << 8 | *b as u64),
    }
}

fn date_bits(d: Date) -> u64 {
    (d.year() << 9 | d.month() << 5 | d.day()) as u64
}

fn date_of(bits: u64) -> Option<Date> {
    Date::new((bits >> 9 & 0x3FFF) as u32, (bits >> 5 & 15) as u32, (bits & 31) as u32)
}
