//! The text of a value, and the text of a value inside an error message.

use crate::charset::charset;
use crate::datatype::{ColumnType, DECIMALS_NOT_FIXED, TypeKind};
use crate::errno;
use crate::error::Error;
use crate::format::{pad_zeros, write_double, write_fixed, write_float, write_i64, write_u64, write_year};
use crate::value::Value;

/// Appends the text of `value` as its type prints it: DECIMAL with its scale, FLOAT with six
/// digits, ENUM and SET by label, ZEROFILL padded. NULL is nothing. Numbers and temporal values are
/// ASCII, JSON is UTF-8, strings keep their charset.
pub fn write_text(value: &Value, ty: &ColumnType, out: &mut Vec<u8>) {
    let start = out.len();
    match value {
        Value::Null => {}
        Value::Int(i) => write_i64(out, *i),
        Value::UInt(u) => write_unsigned(*u, ty, out),
        Value::Float(f) if ty.decimals < DECIMALS_NOT_FIXED && matches!(ty.kind, TypeKind::Float | TypeKind::Double) => {
            write_fixed(out, *f, ty.decimals)
        }
        Value::Float(f) if ty.kind == TypeKind::Float => write_float(out, *f as f32),
        Value::Float(f) => write_double(out, *f),
        Value::Decimal(d) if ty.kind == TypeKind::Decimal => d.write_text(out, ty.decimals),
        Value::Decimal(d) => d.write_text(out, d.scale()),
        Value::Bytes(b) => out.extend_from_slice(b),
        Value::Date(d) => d.write_text(out),
        Value::DateTime(dt) => dt.write_text(out, fsp_of(ty, dt.micros())),
        Value::Time(t) => t.write_text(out, fsp_of(ty, t.micros())),
        Value::Json(j) => j.write_text(out),
    }
    if ty.zerofill && ty.is_numeric() {
        let point = ty.kind == TypeKind::Decimal && ty.decimals > 0;
        pad_zeros(out, start, ty.length as usize + usize::from(point));
    }
}

/// `write_text` into a new buffer.
pub fn to_text(value: &Value, ty: &ColumnType) -> Vec<u8> {
    let mut out = Vec::new();
    write_text(value, ty, &mut out);
    out
}

fn fsp_of(ty: &ColumnType, micros: u32) -> u8 {
    match ty.kind {
        TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time => ty.decimals.min(6),
        _ if micros == 0 => 0,
        _ => 6,
    }
}

fn write_unsigned(n: u64, ty: &ColumnType, out: &mut Vec<u8>) {
    let labels = ty.members.as_deref().unwrap_or(&[]);
    match ty.kind {
        // Columns show the year 0 as 0000, expressions as 0.
        TypeKind::Year if ty.zerofill => write_year(out, n),
        TypeKind::Bit => {
            let len = (ty.length as usize).div_ceil(8).clamp(1, 8);
            out.extend_from_slice(&n.to_be_bytes()[8 - len..]);
        }
        TypeKind::Enum => {
            let index = usize::try_from(n).ok().and_then(|i| i.checked_sub(1));
            out.extend_from_slice(index.and_then(|i| labels.get(i)).map_or(&[], |l| l));
        }
        TypeKind::Set => {
            let mut first = true;
            for (i, label) in labels.iter().enumerate().take(64) {
                if n >> i & 1 == 1 {
                    if !first {
                        charset(ty.collation).encode(u32::from(b','), out);
                    }
                    first = false;
                    out.extend_from_slice(label);
                }
            }
        }
        _ => write_u64(out, n),
    }
}

/// Most bytes of a value that a message shows.
const MESSAGE_BYTES_MAX: usize = 128;

/// `bytes` for a message: what is not UTF-8 or is a control character as `\xNN`, cut to 128 bytes.
pub fn message_text(bytes: &[u8]) -> String {
    const DELETE: char = '\x7F';
    let mut out = String::new();
    let is_binary = std::str::from_utf8(bytes).is_err();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c < ' ' && !c.is_ascii_whitespace() || is_binary && c == DELETE {
                out.push_str(&format!("\\x{:02X}", c as u32));
            } else {
                out.push(c);
            }
        }
        for b in chunk.invalid() {
            out.push_str(&format!("\\x{b:02X}"));
        }
    }
    let mut end = MESSAGE_BYTES_MAX.min(out.len());
    while !out.is_char_boundary(end) {
        end -= 1;
    }
    out.truncate(end);
    out
}

/// Warning 1292, "Truncated incorrect DOUBLE value: 'abc'"; `kind` is DOUBLE, INTEGER, DECIMAL …
pub fn truncated_warning(kind: &str, bytes: &[u8]) -> Error {
    Error::new(&errno::ER_TRUNCATED_WRONG_VALUE, &[&kind, &message_text(bytes)])
}
