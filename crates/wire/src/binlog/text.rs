//! Rows for people to read: the changes of an event as statements that nobody runs, in UTF-8, each line behind `###`.
//!
//! ```text
//! ### UPDATE `shop`.`item`
//! ### WHERE
//! ###   `id`=1
//! ###   `name`='bolt'
//! ### SET
//! ###   `id`=1
//! ###   `name`='nut'
//! ```
//! A column without a name in the log is `@` and its number. Values are SQL literals: strings in hexadecimal if they are binary or not to be shown, ENUM and SET by
//! their labels if the log has them, TIMESTAMP with its offset, a vector as its bytes. What a partial update changed in a document is a call for each change.

use vaquita_types::charset::{Collation, CollationId, charset};
use vaquita_types::format::{write_double, write_float, write_year};
use vaquita_types::{Value, charset::Charset};

use super::error::Result;
use super::info::put_quoted_name;
use super::json_diff::{DiffKind, JsonDiff};
use super::rows::{Cell, Row, RowChange, Rows, RowsKind};
use super::table_map::{Column, column_type as ty};

const BINARY: u32 = 63;

/// Appends every change; what was written before an error stays.
pub fn put_rows(rows: &Rows<'_>, out: &mut Vec<u8>) -> Result<()> {
    rows.changes().try_for_each(|change| {
        put_change(rows, &change?, out);
        Ok(())
    })
}

fn put_change(rows: &Rows<'_>, change: &RowChange, out: &mut Vec<u8>) {
    let verb: &[u8] = match rows.kind {
        RowsKind::Write => b"### INSERT INTO ",
        RowsKind::Update => b"### UPDATE ",
        RowsKind::Delete => b"### DELETE FROM ",
    };
    out.extend_from_slice(verb);
    put_quoted_name(&rows.table.database, out);
    out.push(b'.');
    put_quoted_name(&rows.table.table, out);
    out.push(b'\n');
    for (clause, row) in [(&b"### WHERE\n"[..], &change.before), (b"### SET\n", &change.after)] {
        let Some(row) = row else { continue };
        out.extend_from_slice(clause);
        put_row(rows, row, out);
    }
}

fn put_row(rows: &Rows<'_>, row: &Row, out: &mut Vec<u8>) {
    for (i, (column, cell)) in rows.table.columns.iter().zip(row).enumerate() {
        let Some(cell) = cell else { continue };
        out.extend_from_slice(b"###   ");
        let at = out.len();
        match &column.name {
            Some(name) => put_quoted_name(name, out),
            None => out.extend_from_slice(format!("@{}", i + 1).as_bytes()),
        }
        let name = out.get(at..).unwrap_or_default().to_vec();
        out.push(b'=');
        match cell {
            Cell::Value(value) => put_value(column, value, out),
            Cell::JsonDiffs(diffs) => put_diffs(&name, diffs, out),
        }
        out.push(b'\n');
    }
}

/// The outermost call is the last change.
fn put_diffs(column: &[u8], diffs: &[JsonDiff], out: &mut Vec<u8>) {
    for diff in diffs.iter().rev() {
        let call: &[u8] = match diff.kind {
            DiffKind::Replace => b"JSON_REPLACE(",
            DiffKind::Insert if diff.path.ends_with(']') => b"JSON_ARRAY_INSERT(",
            DiffKind::Insert => b"JSON_INSERT(",
            DiffKind::Remove => b"JSON_REMOVE(",
        };
        out.extend_from_slice(call);
    }
    out.extend_from_slice(column);
    for diff in diffs {
        out.extend_from_slice(b", ");
        put_string(diff.path.as_bytes(), out);
        if let Some(value) = &diff.value {
            let mut text = Vec::new();
            value.write_text(&mut text);
            out.extend_from_slice(b", CAST(");
            put_string(&text, out);
            out.extend_from_slice(b" AS JSON)");
        }
        out.push(b')');
    }
}

fn put_value(column: &Column, value: &Value, out: &mut Vec<u8>) {
    let fsp = column.meta.to_le_bytes()[0];
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(n) => out.extend_from_slice(n.to_string().as_bytes()),
        Value::UInt(n) => put_unsigned(column, *n, out),
        Value::Float(n) if column.column_type == ty::FLOAT => write_float(out, *n as f32),
        Value::Float(n) => write_double(out, *n),
        Value::Decimal(n) => out.extend_from_slice(n.to_string().as_bytes()),
        Value::Bytes(bytes) => put_bytes(column, bytes, out),
        Value::Date(date) => in_quotes(out, |out| date.write_text(out)),
        Value::DateTime(datetime) => in_quotes(out, |out| {
            datetime.write_text(out, fsp);
            if matches!(column.column_type, ty::TIMESTAMP | ty::TIMESTAMP2) && !datetime.is_zero() {
                out.extend_from_slice(b"+00:00");
            }
        }),
        Value::Time(time) => in_quotes(out, |out| time.write_text(out, fsp)),
        Value::Json(json) => {
            let mut text = Vec::new();
            json.write_text(&mut text);
            put_string(&text, out);
        }
    }
}

fn in_quotes(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'\'');
    put(out);
    out.push(b'\'');
}

fn put_unsigned(column: &Column, n: u64, out: &mut Vec<u8>) {
    match (column.column_type, &column.members) {
        (ty::YEAR, _) => write_year(out, n),
        (ty::BIT, _) => out.extend_from_slice(format!("b'{n:b}'").as_bytes()),
        (ty::ENUM, Some(members)) if n > 0 && (n as usize) <= members.len() => {
            put_text(column, members.get(n as usize - 1).map_or(&[][..], |label| label), out);
        }
        (ty::SET, Some(members)) => {
            let chosen = members.iter().enumerate().filter(|(i, _)| n.checked_shr(*i as u32).unwrap_or(0) & 1 != 0);
            let chosen: Vec<&[u8]> = chosen.map(|(_, label)| &label[..]).collect();
            let comma = charset_of(column).map_or(vec![b','], |charset| {
                let mut comma = Vec::new();
                charset.encode(u32::from(b','), &mut comma);
                comma
            });
            put_text(column, &chosen.join(&comma[..]), out);
        }
        _ => out.extend_from_slice(n.to_string().as_bytes()),
    }
}

fn charset_of(column: &Column) -> Option<&'static Charset> {
    let id = CollationId(u16::try_from(column.collation?).ok()?);
    Collation::by_id(id)?;
    Some(charset(id))
}

fn put_bytes(column: &Column, bytes: &[u8], out: &mut Vec<u8>) {
    let never_text = matches!(column.column_type, ty::GEOMETRY | ty::VECTOR) || column.collation == Some(BINARY);
    if never_text { put_hex(bytes, out) } else { put_text(column, bytes, out) }
}

/// Without a collation in the log it is taken as UTF-8.
fn put_text(column: &Column, bytes: &[u8], out: &mut Vec<u8>) {
    let text = match charset_of(column) {
        Some(from) if from.validate(bytes).is_err() => return put_hex(bytes, out),
        Some(from) => from.convert(charset(CollationId::UTF8MB4_BIN), bytes).bytes,
        None => bytes.into(),
    };
    if std::str::from_utf8(&text).is_ok() { put_string(&text, out) } else { put_hex(bytes, out) }
}

fn put_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"x'");
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    out.push(b'\'');
}

/// Control characters would act on a terminal.
fn put_string(text: &[u8], out: &mut Vec<u8>) {
    in_quotes(out, |out| {
        for byte in text {
            match byte {
                b'\'' => out.extend_from_slice(b"''"),
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                0 => out.extend_from_slice(b"\\0"),
                1..=31 | 127 => out.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
                _ => out.push(*byte),
            }
        }
    });
}
