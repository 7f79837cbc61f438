//! Storing into character, binary, ENUM, SET and JSON columns.

use std::borrow::Cow;

use super::store::{ProblemKind, StoreProblem, Stored};
use super::strings;
use super::text::to_text;
use crate::charset::{CollationId, charset, collation};
use crate::datatype::{ColumnType, TypeKind};
use crate::format::write_double_within;
use crate::json::{JSON_DEPTH_MAX, JSON_KEY_BYTES_MAX, Json, JsonError};
use crate::value::Value;

/// The bytes of a value and the collation they are in.
fn text_of(value: Value, from: &ColumnType) -> (Box<[u8]>, CollationId) {
    match value {
        Value::Bytes(bytes) => (bytes, from.collation),
        Value::UInt(_) if matches!(from.kind, TypeKind::Enum | TypeKind::Set) => (to_text(&value, from).into(), from.collation),
        // The number of a BIT, not its bytes.
        Value::UInt(bits) if from.kind == TypeKind::Bit => (bits.to_string().into_bytes().into(), CollationId::UTF8MB4_BIN),
        other => (to_text(&other, from).into(), CollationId::UTF8MB4_BIN),
    }
}

/// A floating point number loses digits, not the end of its text.
fn store_float(x: f64, to: &ColumnType) -> Stored {
    let width = to.length as usize;
    let mut text = Vec::with_capacity(width.min(32));
    let fits = write_double_within(&mut text, x, width);
    if to.kind == TypeKind::Binary {
        text.resize(width, 0);
    }
    let mut text: Box<[u8]> = text.into();
    if !charset(to.collation).is_ascii_compatible() {
        text = strings::convert(text, CollationId::UTF8MB4_BIN, to.collation).unwrap_or_else(|incorrect| incorrect.best);
    }
    let stored = Value::Bytes(text);
    if fits { Ok(stored) } else { StoreProblem::of(ProblemKind::TooLong, stored) }
}

pub(super) fn store_string(value: Value, from: &ColumnType, to: &ColumnType) -> Stored {
    if let (Value::Float(x), TypeKind::Char | TypeKind::VarChar | TypeKind::Binary | TypeKind::VarBinary) = (&value, to.kind) {
        return store_float(*x, to);
    }
    // A TEXT takes the bytes of a BIT, other texts its number.
    let is_bits = from.kind == TypeKind::Bit && matches!(value, Value::UInt(_)) && to.is_blob();
    let is_number = !is_bits && !matches!(value, Value::Bytes(_) | Value::Json(_));
    let (bytes, source) = match is_bits {
        true => (to_text(&value, from).into(), CollationId::BINARY),
        false => text_of(value, from),
    };
    let is_text = to.collation != CollationId::BINARY;
    let target = charset(to.collation);
    let (bytes, incorrect) = if is_text && !(is_number && target.is_ascii_compatible() && bytes.is_ascii()) {
        match strings::convert(bytes, source, to.collation) {
            Ok(bytes) => (bytes, None),
            Err(incorrect) => (incorrect.best, Some(incorrect.shown)),
        }
    } else {
        (bytes, None)
    };
    let length = to.length as usize;
    let varies = !matches!(to.kind, TypeKind::Char | TypeKind::Binary);
    if varies && bytes.len() <= length && incorrect.is_none() {
        return Ok(Value::Bytes(bytes));
    }
    let kept = match to.kind {
        _ if bytes.len() <= length => bytes.len(),
        TypeKind::Char | TypeKind::VarChar => target.prefix_len(&bytes, length),
        _ => target.prefix_in_bytes(&bytes, length).len(),
    };
    let (stored, rest) = bytes.split_at(kept);
    // Spaces at the end may go: from CHAR in silence, else with a note; from binary strings never.
    let spaces_only = is_text && target.trim_end_spaces(rest).is_empty();
    let stored = match to.kind {
        TypeKind::Char if is_text => target.trim_end_spaces(stored),
        _ => stored,
    };
    let mut stored: Box<[u8]> = stored.into();
    if to.kind == TypeKind::Binary && stored.len() < to.length as usize {
        let mut padded = stored.into_vec();
        padded.resize(to.length as usize, 0);
        stored = padded.into_boxed_slice();
    }
    let stored = Value::Bytes(stored);
    if let Some(value) = incorrect {
        return StoreProblem::of(ProblemKind::Incorrect { type_name: "string", value }, stored);
    }
    match kept {
        _ if kept == bytes.len() => Ok(stored),
        _ if spaces_only && to.kind == TypeKind::Char => Ok(stored),
        _ if spaces_only => StoreProblem::of(ProblemKind::Cut, stored),
        _ => StoreProblem::of(ProblemKind::TooLong, stored),
    }
}

/// What stands before the first `char` and behind it.
fn split_at_char<'a>(text: &'a [u8], char: &[u8]) -> (&'a [u8], Option<&'a [u8]>) {
    let found = text.chunks(char.len().max(1)).position(|unit| unit == char).map(|n| n * char.len());
    match found {
        Some(at) => (&text[..at], Some(&text[at + char.len()..])),
        None => (text, None),
    }
}

/// A text in which digits can be read.
pub(super) fn in_ascii(text: &[u8], collation: CollationId) -> Cow<'_, [u8]> {
    let source = charset(collation);
    if source.is_ascii_compatible() {
        return Cow::Borrowed(text);
    }
    source.convert(charset(CollationId::UTF8MB4_BIN), text).bytes
}

/// The number that all of `text` is.
fn whole_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

pub(super) fn store_enum(value: Value, from: &ColumnType, to: &ColumnType) -> Stored {
    let labels = to.members.as_deref().unwrap_or(&[]);
    let by_number = |n: i128| {
        if (1..=labels.len() as i128).contains(&n) {
            Ok(Value::UInt(n as u64))
        } else {
            StoreProblem::of(ProblemKind::Truncated, Value::UInt(0))
        }
    };
    let is_label = matches!(from.kind, TypeKind::Enum | TypeKind::Set);
    match &value {
        Value::Int(i) => return by_number(*i as i128),
        Value::UInt(u) if !is_label => return by_number(*u as i128),
        Value::Float(f) => return by_number(*f as i128),
        Value::Decimal(d) => return by_number(d.truncate(0).to_i64().0 as i128),
        // The error value stays what it is.
        Value::UInt(0) if from.kind == TypeKind::Enum => return Ok(Value::UInt(0)),
        _ => {}
    }
    let (bytes, source) = text_of(value, from);
    let text = strings::convert(bytes, source, to.collation).unwrap_or_else(|incorrect| incorrect.best);
    let target = charset(to.collation);
    let trimmed = target.trim_end_spaces(&text);
    if let Some(index) = labels.iter().position(|label| collation(to.collation).equal(label, trimmed)) {
        return Ok(Value::UInt(index as u64 + 1));
    }
    match whole_number(&in_ascii(&text, to.collation)) {
        // MySQL takes '0' for the error value without complaint.
        Some(n) if n <= labels.len() as u64 => Ok(Value::UInt(n)),
        _ => StoreProblem::of(ProblemKind::Truncated, Value::UInt(0)),
    }
}

pub(super) fn store_set(value: Value, from: &ColumnType, to: &ColumnType) -> Stored {
    let labels = to.members.as_deref().unwrap_or(&[]);
    let all = if labels.len() >= 64 { u64::MAX } else { (1 << labels.len()) - 1 };
    let by_bits = |n: u64| {
        if n & !all == 0 { Ok(Value::UInt(n)) } else { StoreProblem::of(ProblemKind::Truncated, Value::UInt(n & all)) }
    };
    let is_label = matches!(from.kind, TypeKind::Enum | TypeKind::Set);
    match &value {
        Value::Int(i) => return by_bits(*i as u64),
        Value::UInt(u) if !is_label => return by_bits(*u),
        Value::Float(f) => return by_bits(*f as i64 as u64),
        Value::Decimal(d) => return by_bits(d.truncate(0).to_i64().0 as u64),
        _ => {}
    }
    let (bytes, source) = text_of(value, from);
    let (text, is_text) = match strings::convert(bytes, source, to.collation) {
        Ok(text) => (text, true),
        Err(incorrect) => (incorrect.best, false),
    };
    let target = charset(to.collation);
    let trimmed = target.trim_end_spaces(&text);
    if trimmed.is_empty() {
        // Nothing is left of bytes that are no text, which is not the empty set.
        return if is_text { Ok(Value::UInt(0)) } else { StoreProblem::of(ProblemKind::Truncated, Value::UInt(0)) };
    }
    let mut bits = 0u64;
    let mut unknown = false;
    let mut comma = Vec::with_capacity(4);
    target.encode(u32::from(b','), &mut comma);
    let mut rest = Some(trimmed);
    while let Some(labels_left) = rest {
        let (part, behind) = split_at_char(labels_left, &comma);
        rest = behind;
        match labels.iter().position(|label| collation(to.collation).equal(label, part)) {
            Some(i) => bits |= 1 << i,
            None => unknown = true,
        }
    }
    // A number must be all there is, without spaces behind it.
    match whole_number(&in_ascii(&text, to.collation)).filter(|_| trimmed.len() == text.len()) {
        _ if !unknown => Ok(Value::UInt(bits)),
        Some(n) if n & !all == 0 => Ok(Value::UInt(n)),
        _ => StoreProblem::of(ProblemKind::Truncated, Value::UInt(bits)),
    }
}

/// What MySQL says of a value that is no JSON text.
const NOT_JSON_TEXT: &str = "not a JSON text, may need CAST";

pub(super) fn store_json(value: Value, from: &ColumnType) -> Stored {
    let (bytes, collation) = match value {
        // Functions can nest deeper than a text may.
        Value::Json(ref json) if json.depth() > JSON_DEPTH_MAX => return StoreProblem::of(ProblemKind::JsonTooDeep, Value::Null),
        Value::Json(ref json) if json.has_long_key() => return StoreProblem::of(ProblemKind::JsonKeyTooLong, Value::Null),
        Value::Json(_) => return Ok(value),
        Value::Bytes(bytes) => (bytes, from.collation),
        Value::UInt(_) if matches!(from.kind, TypeKind::Enum | TypeKind::Set) => text_of(value, from),
        _ => return StoreProblem::of(ProblemKind::JsonSyntax { message: NOT_JSON_TEXT, position: 0 }, Value::Null),
    };
    if collation == CollationId::BINARY {
        return StoreProblem::of(ProblemKind::JsonCharset("binary"), Value::Null);
    }
    // A utf8mb3 connection may send characters of four bytes; JSON takes them.
    let from = if charset(collation).name == "utf8mb3" { CollationId::UTF8MB4_BIN } else { collation };
    let utf8 = match strings::convert(bytes, from, CollationId::UTF8MB4_BIN) {
        Ok(utf8) => utf8,
        Err(incorrect) => {
            return StoreProblem::of(ProblemKind::Incorrect { type_name: "string", value: incorrect.shown }, Value::Null);
        }
    };
    match Json::parse(&utf8) {
        Ok(json) if utf8.len() > JSON_KEY_BYTES_MAX && json.has_long_key() => {
            StoreProblem::of(ProblemKind::JsonKeyTooLong, Value::Null)
        }
        Ok(json) => Ok(Value::Json(json)),
        Err(JsonError::Syntax { message, position }) => {
            StoreProblem::of(ProblemKind::JsonSyntax { message, position }, Value::Null)
        }
        Err(JsonError::TooDeep) => StoreProblem::of(ProblemKind::JsonTooDeep, Value::Null),
    }
}
