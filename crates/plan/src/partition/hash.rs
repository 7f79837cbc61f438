//! MySQL's hash of KEY partitioning: over the columns' values as its records hold them, texts as their collation hashes them,
//! numbers and dates as latin1_swedish_ci does.
//!
//! | value | bytes |
//! |---|---|
//! | integers, FLOAT, DOUBLE, ENUM, SET | little-endian |
//! | DATE; YEAR | 3 bytes little-endian; 1 byte from 1900 |
//! | DECIMAL, DATETIME, TIMESTAMP, TIME | big-endian, ordered by memcmp |
//! | CHAR, VARCHAR | weights, without trailing spaces where the collation pads; else CHAR is filled up with spaces to its longest |
//! | BIT | 8, big-endian |
//! | NULL | none: `n1 ^= n1 << 1 | 1` |
//!
//! ALGORITHM = 1 takes the bytes of numbers and dates as they are, and those of ENUM and SET for texts.
//!
//! What is equal has one hash, so that one partition tells whether a key is taken. MySQL's differ for two: it fills CHAR up by bytes, and finds
//! `'E'` elsewhere than `'é'`; it takes `-0.0` for another number. Here each weight counts as a byte, as for ASCII texts in both.

use vaquita_types::charset::{CollationId, HashedBy, charset, collation};
use vaquita_types::temporal::{DateTime, Time};
use vaquita_types::{ColumnType, TypeKind, Value};

/// Whether the hash of a type is known.
pub fn can_hash(ty: &ColumnType) -> bool {
    match ty.kind {
        TypeKind::Char | TypeKind::VarChar => text_hash(ty.collation).is_some(),
        kind => !ty.is_blob() && !matches!(kind, TypeKind::Json | TypeKind::Geometry | TypeKind::Null),
    }
}

fn text_hash(id: CollationId) -> Option<HashedBy> {
    let rule = collation(id);
    // It is the only one without padding whose trailing spaces do not count.
    if rule.name == "utf8mb4_0900_bin" { Some(HashedBy::PaddedBytes) } else { rule.hashed_by() }
}

/// `old`: ALGORITHM = 1, that of MySQL 5.1.
pub(super) fn key_hash<'v>(values: impl Iterator<Item = (&'v Value, &'v ColumnType)>, old: bool) -> u32 {
    let mut hash = Hash { n1: 1, n2: 4, old };
    let mut bytes = Vec::new();
    for (value, ty) in values {
        if value.is_null() {
            hash.n1 ^= hash.n1 << 1 | 1;
            continue;
        }
        bytes.clear();
        hash.add(value, ty, &mut bytes);
    }
    hash.n1 as u32
}

struct Hash {
    n1: u64,
    n2: u64,
    old: bool,
}

impl Hash {
    fn add(&mut self, value: &Value, ty: &ColumnType, bytes: &mut Vec<u8>) {
        if let (Value::Bytes(text), TypeKind::Char | TypeKind::VarChar) = (value, ty.kind) {
            // The place of a CHAR in MySQL's record holds as many characters of any length.
            let filled = ty.length as usize * usize::from(charset(ty.collation).mbmaxlen);
            return self.add_text(text, ty.collation, if ty.kind == TypeKind::Char { filled } else { 0 });
        }
        record_bytes(value, ty, bytes);
        match ty.kind {
            TypeKind::DateTime
            | TypeKind::Timestamp
            | TypeKind::Time
            | TypeKind::Bit
            | TypeKind::Binary
            | TypeKind::VarBinary => self.add_bytes(bytes),
            // MySQL 5.1 had it the other way round.
            TypeKind::Enum | TypeKind::Set if !self.old => self.add_bytes(bytes),
            TypeKind::Enum | TypeKind::Set => self.add_text(bytes, CollationId::LATIN1_SWEDISH_CI, 0),
            _ if self.old => self.add_bytes(bytes),
            // MySQL hashes numbers and dates as if they were texts of latin1_swedish_ci.
            _ => self.add_text(bytes, CollationId::LATIN1_SWEDISH_CI, 0),
        }
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let step = ((self.n1 & 63) + self.n2).wrapping_mul(u64::from(*byte)).wrapping_add(self.n1 << 8);
            self.n1 ^= step;
            self.n2 = self.n2.wrapping_add(3);
        }
    }

    /// `filled`: how many weights there are with the spaces behind it, where those count.
    fn add_text(&mut self, text: &[u8], id: CollationId, filled: usize) {
        match text_hash(id) {
            Some(HashedBy::Uca) => {
                let mut h = self.n1 ^ 14_695_981_039_346_656_037;
                let mut weights = collation(id).weight_string(text);
                let ends_level = |weight: &[u8]| weight == [0, 0];
                let length = weights.chunks_exact(2).position(ends_level).unwrap_or(weights.len() / 2);
                if filled > length {
                    let spaces = std::iter::repeat_n(b' ', filled - length);
                    weights = collation(id).weight_string(&text.iter().copied().chain(spaces).collect::<Vec<u8>>());
                }
                for weight in weights.chunks_exact(2) {
                    let [high, low] = weight else { continue };
                    h ^= u64::from(u16::from_be_bytes([*high, *low]));
                    h = h.wrapping_mul(1_099_511_628_211);
                }
                self.n1 = h;
            }
            Some(HashedBy::PaddedBytes) => self.add_bytes(unpadded(text)),
            Some(HashedBy::ByteWeights | HashedBy::PaddedUca) => self.add_bytes(&collation(id).weight_string(unpadded(text))),
            Some(HashedBy::GeneralWeights) => {
                for weight in collation(id).weight_string(unpadded(text)).chunks_exact(2) {
                    self.add_bytes(&[weight[1], weight[0]]);
                }
            }
            Some(HashedBy::Bytes) | None => self.add_bytes(text),
        }
    }
}

/// Without the spaces at its end.
fn unpadded(text: &[u8]) -> &[u8] {
    let length = text.iter().rposition(|b| *b != b' ').map_or(0, |last| last + 1);
    &text[..length]
}

fn record_bytes(value: &Value, ty: &ColumnType, out: &mut Vec<u8>) {
    use TypeKind as K;
    let number = match value {
        Value::Int(n) => *n as u64,
        Value::UInt(n) => *n,
        _ => 0,
    };
    let little = |bytes: usize, out: &mut Vec<u8>| out.extend_from_slice(number.to_le_bytes().get(..bytes).unwrap_or_default());
    let members = ty.members.as_ref().map_or(0, |m| m.len());
    match (ty.kind, value) {
        (K::TinyInt, _) => little(1, out),
        (K::SmallInt, _) => little(2, out),
        (K::MediumInt, _) => little(3, out),
        (K::Int, _) => little(4, out),
        (K::BigInt, _) => little(8, out),
        (K::Enum, _) => little(if members > 255 { 2 } else { 1 }, out),
        (K::Set, _) => little(if members > 32 { 8 } else { members.div_ceil(8).max(1) }, out),
        (K::Bit, _) => out.extend_from_slice(&number.to_be_bytes()),
        (K::Year, _) => out.push(number.saturating_sub(1900) as u8),
        // The sum has no negative zero.
        (K::Float, Value::Float(f)) => out.extend_from_slice(&(*f as f32 + 0.0).to_le_bytes()),
        (K::Double, Value::Float(f)) => out.extend_from_slice(&(*f + 0.0).to_le_bytes()),
        (K::Decimal, Value::Decimal(d)) => d.encode(ty.length, ty.decimals, out),
        (K::Date, Value::Date(d)) => out.extend_from_slice(&(d.day() | d.month() << 5 | d.year() << 9).to_le_bytes()[..3]),
        (K::DateTime, Value::DateTime(at)) => put_datetime(*at, ty.decimals, out),
        (K::Timestamp, Value::DateTime(at)) => {
            let _ = at.encode_timestamp(ty.decimals, out);
        }
        (K::Time, Value::Time(at)) => put_time(*at, ty.decimals, out),
        (K::Binary, Value::Bytes(bytes)) => {
            out.extend_from_slice(bytes);
            out.resize(ty.length as usize, 0);
        }
        (_, Value::Bytes(bytes)) => out.extend_from_slice(bytes),
        _ => {}
    }
}

/// The digits of `micros` that the type keeps, in 0 to 3 bytes.
fn put_fraction(micros: i64, digits: u8, out: &mut Vec<u8>) {
    let bytes = usize::from(digits.min(6)).div_ceil(2);
    let unit = 100i64.pow(3 - bytes as u32);
    out.extend_from_slice((micros / unit).to_be_bytes().get(8 - bytes..).unwrap_or_default());
}

fn put_datetime(at: DateTime, digits: u8, out: &mut Vec<u8>) {
    let date = (u64::from(at.year()) * 13 + u64::from(at.month())) << 5 | u64::from(at.day());
    let clock = u64::from(at.hour()) << 12 | u64::from(at.minute()) << 6 | u64::from(at.second());
    out.extend_from_slice(&(0x80_0000_0000 + (date << 17 | clock)).to_be_bytes()[3..]);
    put_fraction(i64::from(at.micros()), digits, out);
}

/// Hours, minutes, seconds and 24 bits of microseconds are one number, which a negative time negates.
fn put_time(at: Time, digits: u8, out: &mut Vec<u8>) {
    let clock = i64::from(at.hour()) << 12 | i64::from(at.minute()) << 6 | i64::from(at.second());
    let packed = clock << 24 | i64::from(at.micros());
    let packed = if at.is_negative() { -packed } else { packed };
    if digits > 4 {
        return out.extend_from_slice(&(packed + (0x80_0000 << 24)).to_be_bytes()[2..]);
    }
    out.extend_from_slice(&((packed >> 24) + 0x80_0000).to_be_bytes()[5..]);
    put_fraction(packed % (1 << 24), digits, out);
}
