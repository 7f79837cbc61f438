//! MySQL's binary form of JSON documents, in rows and in changes of documents, little-endian.
//!
//! A document is a byte with its type and its content:
//!
//! | type                | content                                                                                           |
//! |---------------------|---------------------------------------------------------------------------------------------------|
//! | 0, 1 object         | count and bytes of all, entries of keys (where, length), entries of values, keys, values          |
//! | 2, 3 array          | count and bytes of all, entries of values, values                                                 |
//! | 4 literal           | 0 null, 1 true, 2 false                                                                           |
//! | 5 … 10              | INT16, UINT16, INT32, UINT32, INT64, UINT64                                                       |
//! | 11 double           | 8 bytes                                                                                           |
//! | 12 string           | length, seven bits a byte from the low ones, UTF-8                                                |
//! | 15 opaque           | code of a column type, length as of a string, content                                             |
//!
//! Counts and places have 2 bytes in the small forms (0 and 2), 4 in the large. Places count from the first byte behind the type. An entry of a
//! value is its type and its place, or the value itself where that has the place's size: literals, 16 bits, and in the
//! large forms 32. What a hostile document makes of places that overlap is bounded: all that is read counts together, and may not be more than the document.

use vaquita_types::TypeKind;
use vaquita_types::decimal::{Decimal, PRECISION_MAX, SCALE_MAX};
use vaquita_types::json::{JSON_DEPTH_MAX, Json, JsonObject};
use vaquita_types::temporal::DateTime;

use super::error::{BinlogError, Result};
use super::table_map::column_type as ty;
use super::value::{pack_datetime, pack_time, unpack_datetime, unpack_time};
use crate::codec::Bytes;

const MALFORMED: BinlogError = BinlogError::Malformed("JSON document");

const SMALL_OBJECT: u8 = 0;
const LARGE_OBJECT: u8 = 1;
const SMALL_ARRAY: u8 = 2;
const LARGE_ARRAY: u8 = 3;
const LITERAL: u8 = 4;
const INT16: u8 = 5;
const UINT16: u8 = 6;
const INT32: u8 = 7;
const UINT32: u8 = 8;
const INT64: u8 = 9;
const UINT64: u8 = 10;
const DOUBLE: u8 = 11;
const STRING: u8 = 12;
const OPAQUE: u8 = 15;

/// An empty value is what a column that is NOT NULL and was given nothing holds: JSON's null.
pub fn decode(document: &[u8]) -> Result<Json> {
    let Some((kind, content)) = document.split_first() else { return Ok(Json::Null) };
    Decoder { left: document.len() }.value(*kind, content, 0)
}

struct Decoder {
    /// Bytes that may still be read; an entry counts as it is found, and its content when that is read.
    left: usize,
}

impl Decoder {
    fn count(&mut self, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or(MALFORMED)?;
        Ok(())
    }

    fn value(&mut self, kind: u8, content: &[u8], depth: usize) -> Result<Json> {
        let mut bytes = Bytes::new(content);
        Ok(match kind {
            SMALL_OBJECT | LARGE_OBJECT => self.container(content, true, kind == LARGE_OBJECT, depth)?,
            SMALL_ARRAY | LARGE_ARRAY => self.container(content, false, kind == LARGE_ARRAY, depth)?,
            LITERAL => match bytes.u8()? {
                0 => Json::Null,
                1 => Json::Bool(true),
                2 => Json::Bool(false),
                _ => return Err(MALFORMED),
            },
            INT16 => Json::Int(i64::from(bytes.u16()? as i16)),
            UINT16 => Json::UInt(u64::from(bytes.u16()?)),
            INT32 => Json::Int(i64::from(bytes.u32()? as i32)),
            UINT32 => Json::UInt(u64::from(bytes.u32()?)),
            INT64 => Json::Int(bytes.u64()? as i64),
            UINT64 => Json::UInt(bytes.u64()?),
            DOUBLE => Json::Double(f64::from_bits(bytes.u64()?)),
            STRING => {
                let text = self.variable(&mut bytes)?;
                Json::string(std::str::from_utf8(text).map_err(|_| MALFORMED)?)
            }
            OPAQUE => {
                let column_type = bytes.u8()?;
                opaque(column_type, self.variable(&mut bytes)?)?
            }
            _ => return Err(MALFORMED),
        })
    }

    fn variable<'a>(&mut self, bytes: &mut Bytes<'a>) -> Result<&'a [u8]> {
        let mut len = 0usize;
        for shift in [0, 7, 14, 21, 28] {
            let byte = bytes.u8()?;
            len |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                self.count(len)?;
                return Ok(bytes.take(len)?);
            }
        }
        Err(MALFORMED)
    }

    fn container(&mut self, content: &[u8], object: bool, large: bool, depth: usize) -> Result<Json> {
        if depth >= JSON_DEPTH_MAX {
            return Err(MALFORMED);
        }
        let place_bytes = if large { 4 } else { 2 };
        let mut bytes = Bytes::new(content);
        let count = place(&mut bytes, large)?;
        let len = place(&mut bytes, large)?;
        let content = content.get(..len).ok_or(MALFORMED)?;
        let entry_bytes = 1 + place_bytes + if object { place_bytes + 2 } else { 0 };
        self.count(count.checked_mul(entry_bytes).ok_or(MALFORMED)?)?;
        let mut keys = Bytes::new(bytes.take(if object { count * (place_bytes + 2) } else { 0 })?);
        let mut values = Bytes::new(bytes.take(count * (place_bytes + 1))?);
        let mut value = |decoder: &mut Decoder| -> Result<Json> {
            let kind = values.u8()?;
            let inline = values.take(place_bytes)?;
            let is_inline = matches!(kind, LITERAL | INT16 | UINT16) || large && matches!(kind, INT32 | UINT32);
            let content = match is_inline {
                true => inline,
                false => content.get(place(&mut Bytes::new(inline), large)?..).ok_or(MALFORMED)?,
            };
            decoder.value(kind, content, depth + 1)
        };
        if !object {
            return Ok(Json::array((0..count).map(|_| value(self)).collect::<Result<_>>()?));
        }
        let mut members = Vec::with_capacity(count);
        for _ in 0..count {
            let (at, len) = (place(&mut keys, large)?, usize::from(keys.u16()?));
            self.count(len)?;
            let key = content.get(at..).and_then(|rest| rest.get(..len)).ok_or(MALFORMED)?;
            let key = std::str::from_utf8(key).map_err(|_| MALFORMED)?;
            members.push((key.into(), value(self)?));
        }
        Ok(Json::object(JsonObject::from_members(members)))
    }
}

fn place(bytes: &mut Bytes<'_>, large: bool) -> Result<usize> {
    Ok(if large { bytes.u32()? as usize } else { usize::from(bytes.u16()?) })
}

fn opaque(column_type: u8, content: &[u8]) -> Result<Json> {
    let mut bytes = Bytes::new(content);
    let kind = match column_type {
        ty::NEWDECIMAL => {
            let (precision, scale) = (u32::from(bytes.u8()?), bytes.u8()?);
            let fits = (1..=PRECISION_MAX).contains(&precision) && scale <= SCALE_MAX && u32::from(scale) <= precision;
            let decimal = fits.then(|| Decimal::decode(bytes.rest(), precision, scale)).flatten();
            return decimal.map(Json::decimal).ok_or(MALFORMED);
        }
        ty::DATE | ty::DATETIME | ty::TIMESTAMP | ty::TIME => return temporal(column_type, bytes.u64()? as i64),
        ty::BIT => TypeKind::Bit,
        ty::YEAR => TypeKind::Year,
        ty::STRING => TypeKind::Binary,
        ty::VARCHAR | ty::VAR_STRING => TypeKind::VarBinary,
        ty::TINY_BLOB => TypeKind::TinyBlob,
        ty::BLOB => TypeKind::Blob,
        ty::MEDIUM_BLOB => TypeKind::MediumBlob,
        ty::LONG_BLOB => TypeKind::LongBlob,
        ty::GEOMETRY => TypeKind::Geometry,
        _ => return Err(BinlogError::Unsupported("a document with a value of an unknown type")),
    };
    Ok(Json::opaque(kind, content.to_vec()))
}

/// Bits of the fraction in the packed form, which is negative as a whole.
const FRACTION_BITS: u32 = 24;

fn temporal(column_type: u8, packed: i64) -> Result<Json> {
    let magnitude = packed.unsigned_abs();
    let (whole, micros) = (magnitude >> FRACTION_BITS, magnitude & ((1 << FRACTION_BITS) - 1));
    if column_type == ty::TIME {
        return unpack_time(packed < 0, whole, micros).map(Json::Time).ok_or(MALFORMED);
    }
    let datetime = unpack_datetime(whole, micros as u32).filter(|_| packed >= 0).ok_or(MALFORMED)?;
    Ok(match column_type {
        ty::DATE => Json::Date(datetime.date()),
        other => Json::DateTime(datetime, other == ty::TIMESTAMP),
    })
}

/// As MySQL writes it: the small forms where all of an array or object fits 64 KiB.
pub fn encode(json: &Json, out: &mut Vec<u8>) -> Result<()> {
    let at = out.len();
    out.push(0);
    out[at] = put_value(json, out, 0)?;
    Ok(())
}

/// Appends the content and gives the type.
fn put_value(json: &Json, out: &mut Vec<u8>, depth: usize) -> Result<u8> {
    Ok(match json {
        Json::Null => put(out, LITERAL, &[0]),
        Json::Bool(b) => put(out, LITERAL, &[2 - u8::from(*b)]),
        Json::Int(n) => match (i16::try_from(*n), i32::try_from(*n)) {
            (Ok(n), _) => put(out, INT16, &n.to_le_bytes()),
            (_, Ok(n)) => put(out, INT32, &n.to_le_bytes()),
            _ => put(out, INT64, &n.to_le_bytes()),
        },
        Json::UInt(n) => match (u16::try_from(*n), u32::try_from(*n)) {
            (Ok(n), _) => put(out, UINT16, &n.to_le_bytes()),
            (_, Ok(n)) => put(out, UINT32, &n.to_le_bytes()),
            _ => put(out, UINT64, &n.to_le_bytes()),
        },
        Json::Double(n) => put(out, DOUBLE, &n.to_le_bytes()),
        Json::String(text) => {
            put_variable(out, text.as_bytes());
            STRING
        }
        Json::Array(items) => {
            let items: Vec<(Option<&str>, &Json)> = items.iter().map(|item| (None, item)).collect();
            put_container(&items, false, out, depth)?
        }
        Json::Object(object) => {
            let members: Vec<(Option<&str>, &Json)> = object.iter().map(|(key, value)| (Some(key), value)).collect();
            put_container(&members, true, out, depth)?
        }
        Json::Decimal(decimal) => {
            let scale = decimal.scale().min(SCALE_MAX);
            let precision = (decimal.integer_digits() + u32::from(scale)).clamp(1, PRECISION_MAX);
            let mut content = vec![precision as u8, scale];
            decimal.encode(precision, scale, &mut content);
            put_opaque(out, ty::NEWDECIMAL, &content)
        }
        Json::Date(date) => put_temporal(out, ty::DATE, date.to_datetime()),
        Json::DateTime(datetime, false) => put_temporal(out, ty::DATETIME, *datetime),
        Json::DateTime(datetime, true) => put_temporal(out, ty::TIMESTAMP, *datetime),
        Json::Time(time) => {
            let magnitude = (pack_time(*time) << FRACTION_BITS | u64::from(time.micros())) as i64;
            let packed = if time.is_negative() { -magnitude } else { magnitude };
            put_opaque(out, ty::TIME, &packed.to_le_bytes())
        }
        Json::Opaque(opaque) => put_opaque(out, opaque_type(opaque.0), &opaque.1),
    })
}

fn put(out: &mut Vec<u8>, kind: u8, content: &[u8]) -> u8 {
    out.extend_from_slice(content);
    kind
}

fn put_opaque(out: &mut Vec<u8>, column_type: u8, content: &[u8]) -> u8 {
    out.push(column_type);
    put_variable(out, content);
    OPAQUE
}

fn put_temporal(out: &mut Vec<u8>, column_type: u8, datetime: DateTime) -> u8 {
    let packed = pack_datetime(datetime) << FRACTION_BITS | u64::from(datetime.micros());
    put_opaque(out, column_type, &packed.to_le_bytes())
}

fn opaque_type(kind: TypeKind) -> u8 {
    match kind {
        TypeKind::Bit => ty::BIT,
        TypeKind::Year => ty::YEAR,
        TypeKind::Binary => ty::STRING,
        TypeKind::TinyBlob => ty::TINY_BLOB,
        TypeKind::Blob => ty::BLOB,
        TypeKind::MediumBlob => ty::MEDIUM_BLOB,
        TypeKind::LongBlob => ty::LONG_BLOB,
        TypeKind::Geometry => ty::GEOMETRY,
        _ => ty::VARCHAR,
    }
}

fn put_variable(out: &mut Vec<u8>, content: &[u8]) {
    let mut len = content.len();
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend_from_slice(content);
}

fn put_container(items: &[(Option<&str>, &Json)], object: bool, out: &mut Vec<u8>, depth: usize) -> Result<u8> {
    if depth >= JSON_DEPTH_MAX {
        return Err(MALFORMED);
    }
    let start = out.len();
    for large in [false, true] {
        out.truncate(start);
        if put_container_of(items, object, large, out, depth)? {
            return Ok(if object { SMALL_OBJECT } else { SMALL_ARRAY } + u8::from(large));
        }
    }
    Err(MALFORMED)
}

/// False if the small form does not suffice.
fn put_container_of(items: &[(Option<&str>, &Json)], object: bool, large: bool, out: &mut Vec<u8>, depth: usize) -> Result<bool> {
    let place_bytes = if large { 4 } else { 2 };
    let max = if large { u32::MAX as usize } else { usize::from(u16::MAX) };
    let start = out.len();
    let put_place =
        |out: &mut Vec<u8>, at: usize, n: usize| out[at..at + place_bytes].copy_from_slice(&n.to_le_bytes()[..place_bytes]);
    let key_entry_bytes = if object { place_bytes + 2 } else { 0 };
    let values_at = start + 2 * place_bytes + items.len() * key_entry_bytes;
    let end_of_entries = values_at + items.len() * (place_bytes + 1);
    if items.len() > max || end_of_entries - start > max {
        return Ok(false);
    }
    out.resize(end_of_entries, 0);
    put_place(out, start, items.len());
    for (i, (key, _)) in items.iter().enumerate() {
        let Some(key) = key else { continue };
        let at = start + 2 * place_bytes + i * key_entry_bytes;
        let key_at = out.len() - start;
        let len = u16::try_from(key.len()).map_err(|_| MALFORMED)?;
        if key_at > max {
            return Ok(false);
        }
        put_place(out, at, key_at);
        out[at + place_bytes..at + key_entry_bytes].copy_from_slice(&len.to_le_bytes());
        out.extend_from_slice(key.as_bytes());
    }
    for (i, (_, value)) in items.iter().enumerate() {
        let at = values_at + i * (place_bytes + 1);
        let value_at = out.len();
        let kind = put_value(value, out, depth + 1)?;
        out[at] = kind;
        if matches!(kind, LITERAL | INT16 | UINT16) || large && matches!(kind, INT32 | UINT32) {
            let mut inline = [0; 4];
            let content = out.split_off(value_at);
            inline[..content.len()].copy_from_slice(&content);
            out[at + 1..at + 1 + place_bytes].copy_from_slice(&inline[..place_bytes]);
            continue;
        }
        if value_at - start > max {
            return Ok(false);
        }
        put_place(out, at + 1, value_at - start);
    }
    let len = out.len() - start;
    if len > max {
        return Ok(false);
    }
    put_place(out, start + place_bytes, len);
    Ok(true)
}
