//! JSON to text, byte for byte as MySQL prints it.
//!
//! `{"a": 1, "b": [1, 2]}`: a space after `:` and `,`; doubles always with a point or
//! an exponent; temporal scalars as strings with six fraction digits; other SQL types
//! as `"base64:type15:…"` with the protocol's type number.

use std::fmt;

use super::{Json, JsonError};
use crate::datatype::TypeKind;
use crate::format::{write_double, write_i64, write_u64};

impl Json {
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Json::Array(items) => {
                out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(b", ");
                    }
                    item.write_text(out);
                }
                out.push(b']');
            }
            Json::Object(object) => {
                out.push(b'{');
                for (i, (key, value)) in object.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(b", ");
                    }
                    write_quoted(key.as_bytes(), out);
                    out.extend_from_slice(b": ");
                    value.write_text(out);
                }
                out.push(b'}');
            }
            scalar => scalar.write_scalar(out),
        }
    }

    fn write_scalar(&self, out: &mut Vec<u8>) {
        match self {
            Json::Null | Json::Array(_) | Json::Object(_) => out.extend_from_slice(b"null"),
            Json::Bool(true) => out.extend_from_slice(b"true"),
            Json::Bool(false) => out.extend_from_slice(b"false"),
            Json::Int(i) => write_i64(out, *i),
            Json::UInt(u) => write_u64(out, *u),
            Json::Double(d) => {
                let start = out.len();
                write_double(out, *d);
                if !out[start..].iter().any(|b| matches!(b, b'.' | b'e')) {
                    out.extend_from_slice(b".0");
                }
            }
            Json::Decimal(d) => d.write_text(out, d.scale()),
            Json::String(s) => write_quoted(s.as_bytes(), out),
            Json::Date(_) | Json::DateTime(..) | Json::Time(_) | Json::Opaque(_) => {
                out.push(b'"');
                self.write_unquoted(out);
                out.push(b'"');
            }
        }
    }

    /// JSON_UNQUOTE: the content of a string, the text of anything else.
    pub fn write_unquoted(&self, out: &mut Vec<u8>) {
        match self {
            Json::String(s) => out.extend_from_slice(s.as_bytes()),
            Json::Date(d) => d.write_text(out),
            Json::DateTime(dt, _) => dt.write_text(out, 6),
            Json::Time(t) => t.write_text(out, 6),
            Json::Opaque(o) => {
                out.extend_from_slice(b"base64:type");
                write_u64(out, protocol_type(o.0));
                out.push(b':');
                crate::base64::encode(&o.1, out);
            }
            other => other.write_text(out),
        }
    }

    /// JSON_PRETTY. Stops soon after `bytes_max`.
    pub fn write_pretty(&self, out: &mut Vec<u8>, bytes_max: usize) {
        self.pretty(out, 0, bytes_max);
    }

    fn pretty(&self, out: &mut Vec<u8>, depth: usize, bytes_max: usize) {
        if out.len() > bytes_max {
            return;
        }
        let line = |out: &mut Vec<u8>, depth: usize| {
            out.push(b'\n');
            out.resize(out.len() + 2 * depth, b' ');
        };
        match self {
            Json::Array(items) if !items.is_empty() => {
                out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    line(out, depth + 1);
                    item.pretty(out, depth + 1, bytes_max);
                }
                line(out, depth);
                out.push(b']');
            }
            Json::Object(object) if !object.is_empty() => {
                out.push(b'{');
                for (i, (key, value)) in object.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    line(out, depth + 1);
                    write_quoted(key.as_bytes(), out);
                    out.extend_from_slice(b": ");
                    value.pretty(out, depth + 1, bytes_max);
                }
                line(out, depth);
                out.push(b'}');
            }
            other => other.write_text(out),
        }
    }
}

/// JSON_QUOTE: `text` as a JSON string literal.
pub fn quote(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_quoted(text, &mut out);
    out
}

/// JSON_UNQUOTE of a string that is not a JSON value: a string literal loses its quotes and
/// escapes, anything else stays.
pub fn unquote(text: &[u8]) -> Result<Vec<u8>, JsonError> {
    if text.len() < 2 || text.first() != Some(&b'"') || text.last() != Some(&b'"') {
        return Ok(text.to_vec());
    }
    let mut out = Vec::new();
    Json::parse(text)?.write_unquoted(&mut out);
    Ok(out)
}

fn write_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for b in text {
        match b {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *b]),
            8 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0..0x20 => {
                let hex = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[hex[(b >> 4) as usize], hex[(b & 15) as usize]]);
            }
            _ => out.push(*b),
        }
    }
    out.push(b'"');
}

/// The protocol's column type numbers, as far as opaque values have them.
fn protocol_type(kind: TypeKind) -> u64 {
    match kind {
        TypeKind::Year => 13,
        TypeKind::Bit => 16,
        TypeKind::TinyBlob => 249,
        TypeKind::MediumBlob => 250,
        TypeKind::LongBlob => 251,
        TypeKind::Blob => 252,
        TypeKind::Binary => 254,
        TypeKind::Geometry => 255,
        _ => 15,
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        self.write_text(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}
