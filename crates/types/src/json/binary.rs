//! The stored form of JSON: a tag byte, then what the tag says.
//!
//! | tag | value    | content                                                        |
//! |-----|----------|----------------------------------------------------------------|
//! | 0   | null     |                                                                |
//! | 1   | false    |                                                                |
//! | 2   | true     |                                                                |
//! | 3   | integer  | zigzag varint                                                  |
//! | 4   | unsigned | varint                                                         |
//! | 5   | double   | 8 bytes, little-endian IEEE 754                                |
//! | 6   | decimal  | its text with a varint length                                  |
//! | 7   | string   | UTF-8 with a varint length                                     |
//! | 8   | array    | varint count, then the elements                                |
//! | 9   | object   | varint count, then key (as in 7, without tag) and value; sorted|
//! | 10  | date     | varint of the packed integer                                   |
//! | 11  | datetime | varint of the packed integer                                   |
//! | 12  | timestamp| varint of the packed integer                                   |
//! | 13  | time     | zigzag varint of microseconds                                  |
//! | 14  | opaque   | a `TypeKind` byte, then bytes with a varint length             |
//!
//! A varint is LEB128: seven bits per byte, low first, the high bit set on all but the last.
//! `[1, "ab"]` is `08 02 03 02 07 02 61 62`. Decoding checks every bound, the depth
//! and the order of keys, and gives `None` for anything else.

use super::{JSON_DEPTH_MAX, Json, JsonObject, key_order};
use crate::datatype::TypeKind;
use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, Time};

/// Kinds an opaque value may have.
const OPAQUE_KINDS: [TypeKind; 9] = [
    TypeKind::Bit,
    TypeKind::Year,
    TypeKind::Binary,
    TypeKind::VarBinary,
    TypeKind::TinyBlob,
    TypeKind::Blob,
    TypeKind::MediumBlob,
    TypeKind::LongBlob,
    TypeKind::Geometry,
];

impl Json {
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Json::Null => out.push(0),
            Json::Bool(b) => out.push(1 + *b as u8),
            Json::Int(i) => {
                out.push(3);
                put_varint(zigzag(*i), out);
            }
            Json::UInt(u) => {
                out.push(4);
                put_varint(*u, out);
            }
            Json::Double(d) => {
                out.push(5);
                out.extend_from_slice(&d.to_le_bytes());
            }
            Json::Decimal(d) => {
                out.push(6);
                put_bytes(d.to_string().as_bytes(), out);
            }
            Json::String(s) => {
                out.push(7);
                put_bytes(s.as_bytes(), out);
            }
            Json::Array(items) => {
                out.push(8);
                put_varint(items.len() as u64, out);
                items.iter().for_each(|item| item.encode(out));
            }
            Json::Object(object) => {
                out.push(9);
                put_varint(object.len() as u64, out);
                for (key, value) in object.iter() {
                    put_bytes(key.as_bytes(), out);
                    value.encode(out);
                }
            }
            Json::Date(d) => {
                out.push(10);
                put_varint(d.packed() as u64, out);
            }
            Json::DateTime(dt, timestamp) => {
                out.push(11 + *timestamp as u8);
                put_varint(dt.packed(), out);
            }
            Json::Time(t) => {
                out.push(13);
                put_varint(zigzag(t.micros_total()), out);
            }
            Json::Opaque(o) => {
                out.extend_from_slice(&[14, o.0 as u8]);
                put_bytes(&o.1, out);
            }
        }
    }

    /// Reads what `encode` wrote; `None` if `bytes` are not exactly one value.
    pub fn decode(bytes: &[u8]) -> Option<Json> {
        let mut reader = Reader { rest: bytes };
        let value = reader.value(0)?;
        reader.rest.is_empty().then_some(value)
    }
}

fn zigzag(i: i64) -> u64 {
    (i << 1 ^ i >> 63) as u64
}

fn unzigzag(u: u64) -> i64 {
    (u >> 1) as i64 ^ -((u & 1) as i64)
}

fn put_varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(len)?;
        self.rest = tail;
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn varint(&mut self) -> Option<u64> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let b = self.byte()?;
            if shift == 63 && b > 1 {
                return None;
            }
            n |= ((b & 0x7F) as u64) << shift;
            if b < 0x80 {
                return Some(n);
            }
        }
        None
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.varint()?).ok()?;
        self.take(len)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// A count of things that take at least a byte each, so that it bounds what is allocated.
    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok().filter(|n| *n <= self.rest.len())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        let tag = self.byte()?;
        if matches!(tag, 8 | 9) && depth == JSON_DEPTH_MAX {
            return None;
        }
        Some(match tag {
            0 => Json::Null,
            1 => Json::Bool(false),
            2 => Json::Bool(true),
            3 => Json::Int(unzigzag(self.varint()?)),
            4 => Json::UInt(self.varint()?),
            5 => Json::Double(f64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            6 => {
                let text = self.bytes()?;
                let parsed = Decimal::parse(text);
                if parsed.used != text.len() || text.is_empty() || parsed.overflow {
                    return None;
                }
                Json::decimal(parsed.value)
            }
            7 => Json::string(self.text()?),
            8 => {
                let count = self.count()?;
                let mut items = Vec::with_capacity(count);
                for _ in 0..count {
                    items.push(self.value(depth + 1)?);
                }
                Json::array(items)
            }
            9 => self.object(depth)?,
            10 => Json::Date(Date::from_packed(u32::try_from(self.varint()?).ok()?)?),
            11 | 12 => Json::DateTime(DateTime::from_packed(self.varint()?)?, tag == 12),
            13 => Json::Time(Time::from_micros(unzigzag(self.varint()?))?),
            14 => {
                let kind = self.byte()?;
                let kind = OPAQUE_KINDS.into_iter().find(|k| *k as u8 == kind)?;
                Json::opaque(kind, self.bytes()?.to_vec())
            }
            _ => return None,
        })
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        let count = self.count()?;
        let mut members: Vec<(Box<str>, Json)> = Vec::with_capacity(count);
        for _ in 0..count {
            let key = self.text()?;
            if members.last().is_some_and(|(last, _)| !key_order(last, key).is_lt()) {
                return None;
            }
            members.push((key.into(), self.value(depth + 1)?));
        }
        Some(Json::object(JsonObject { members }))
    }
}
