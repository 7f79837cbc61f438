//! The text of error 1062: the key values of the row that was refused, as MySQL prints them.
//!
//! Parts are joined by '-'. Character strings are converted to UTF-8 and cut to an index prefix;
//! binary ones show bytes other than printable ASCII as `\xHH`, BINARY(n) without its padding.
//! The whole is cut to 64 bytes. TIMESTAMP parts are printed as given: the caller passes the row
//! with values in the session's time zone.

use vaquita_types::datatype::{ColumnType, DECIMALS_NOT_FIXED, TypeKind};
use vaquita_types::schema::TableDef;
use vaquita_types::{Error, Value, errno, format};

use super::collate;
use super::key::IndexCodec;

/// Bytes of the entry in the message (`%-.64s`).
const ENTRY_BYTES_MAX: usize = 64;

/// Error 1062 for a row that has the same key as another in `def.indexes[index]`.
pub(crate) fn duplicate_error(def: &TableDef, index: usize, codec: &IndexCodec, row: &[Value]) -> Error {
    let text = entry_text(def, codec, row);
    let name = def.indexes.get(index).map_or("", |i| i.name.as_str());
    // MySQL's text of 1586 under the number that clients know.
    let named = Error::new(&errno::ER_DUP_ENTRY_WITH_KEY_NAME, &[&text, &format_args!("{}.{}", def.name, name)]);
    Error::with_message(&errno::ER_DUP_ENTRY, named.message())
}

/// The columns of an index in a row, as MySQL's messages print them.
pub(crate) fn entry_text(def: &TableDef, codec: &IndexCodec, row: &[Value]) -> String {
    let mut entry = Vec::new();
    for (i, part) in codec.parts().iter().enumerate() {
        if i > 0 {
            entry.push(b'-');
        }
        if let (Some(column), Some(value)) = (def.columns.get(part.position), row.get(part.position)) {
            write_value(&column.ty, part.cut(value).as_ref().unwrap_or(value), &mut entry);
        }
    }
    let mut text = String::from_utf8_lossy(&entry).into_owned();
    text.truncate(text.floor_char_boundary(ENTRY_BYTES_MAX));
    text
}

pub(crate) fn write_value(ty: &ColumnType, value: &Value, out: &mut Vec<u8>) {
    let start = out.len();
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(i) => format::write_i64(out, *i),
        Value::UInt(u) => match ty.kind {
            TypeKind::Year => format::write_year(out, *u),
            TypeKind::Bit => {
                let width = ty.length.clamp(1, 64).div_ceil(8) as usize;
                write_binary(&u.to_be_bytes()[8 - width..], out);
            }
            TypeKind::Enum => write_labels(ty, |i| i as u64 + 1 == *u, out),
            TypeKind::Set => write_labels(ty, |i| i < 64 && u >> i & 1 != 0, out),
            _ => format::write_u64(out, *u),
        },
        Value::Float(f) if ty.decimals < DECIMALS_NOT_FIXED => format::write_fixed(out, *f, ty.decimals),
        Value::Float(f) if ty.kind == TypeKind::Float => format::write_float(out, *f as f32),
        Value::Float(f) => format::write_double(out, *f),
        Value::Decimal(d) => d.write_text(out, ty.decimals),
        Value::Bytes(b) if ty.is_text() => out.extend_from_slice(&collate::to_utf8(ty.collation, b)),
        Value::Bytes(b) if ty.kind == TypeKind::Binary => {
            // Of zero bytes alone MySQL shows one.
            write_binary(&b[..b.iter().rposition(|c| *c != 0).map_or(b.len().min(1), |i| i + 1)], out)
        }
        Value::Bytes(b) => write_binary(b, out),
        Value::Date(d) => d.write_text(out),
        Value::DateTime(d) => d.write_text(out, ty.decimals),
        Value::Time(t) => t.write_text(out, ty.decimals),
        Value::Json(j) => j.write_text(out),
    }
    if ty.zerofill && !value.is_null() {
        let point = (ty.kind == TypeKind::Decimal && ty.decimals > 0) as usize;
        format::pad_zeros(out, start, ty.length as usize + point);
    }
}

/// The labels of an ENUM or SET that are chosen, separated by commas.
fn write_labels(ty: &ColumnType, chosen: impl Fn(usize) -> bool, out: &mut Vec<u8>) {
    let labels = ty.members.iter().flat_map(|m| m.iter()).enumerate().filter(|(i, _)| chosen(*i));
    for (n, (_, label)) in labels.enumerate() {
        if n > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&collate::to_utf8(ty.collation, label));
    }
}

fn write_binary(bytes: &[u8], out: &mut Vec<u8>) {
    for b in bytes {
        match b {
            0x20..=0x7E => out.push(*b),
            _ => out.extend_from_slice(format!("\\x{b:02X}").as_bytes()),
        }
    }
}
