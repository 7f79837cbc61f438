//! The text of a prepared statement with the values of its parameters, as MySQL logs it: literals that mean the same.

use vaquita_parser::{ParserOptions, words};
use vaquita_types::convert::to_text;
use vaquita_types::{ColumnType, Value};

/// Times have all of theirs.
const DECIMALS: u8 = 6;

/// `text` with a literal for each `?`. Where there are fewer values than places, the rest stays as it is.
pub fn with_values(text: &[u8], values: &[Value], options: &ParserOptions) -> Vec<u8> {
    if values.is_empty() {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut done = 0;
    for (place, value) in words::parameters(text, options).into_iter().zip(values) {
        out.extend_from_slice(text.get(done..place).unwrap_or_default());
        put_literal(&mut out, value, options.no_backslash_escapes);
        done = place + 1;
    }
    out.extend_from_slice(text.get(done..).unwrap_or_default());
    out
}

fn put_literal(out: &mut Vec<u8>, value: &Value, no_backslash_escapes: bool) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Decimal(_) => {
            out.extend_from_slice(&to_text(value, &ColumnType::null()));
        }
        Value::Bytes(bytes) => put_string(out, bytes, no_backslash_escapes),
        Value::Date(date) => quoted(out, |out| date.write_text(out)),
        Value::DateTime(time) => quoted(out, |out| time.write_text(out, DECIMALS)),
        Value::Time(time) => quoted(out, |out| time.write_text(out, DECIMALS)),
        Value::Json(_) => put_string(out, &to_text(value, &ColumnType::null()), no_backslash_escapes),
    }
}

fn quoted(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'\'');
    put(out);
    out.push(b'\'');
}

fn put_string(out: &mut Vec<u8>, bytes: &[u8], no_backslash_escapes: bool) {
    out.push(b'\'');
    for byte in bytes {
        match (byte, no_backslash_escapes) {
            (b'\'', true) => out.extend_from_slice(b"''"),
            (byte, true) => out.push(*byte),
            (0, _) => out.extend_from_slice(b"\\0"),
            (b'\n', _) => out.extend_from_slice(b"\\n"),
            (b'\r', _) => out.extend_from_slice(b"\\r"),
            (0x1A, _) => out.extend_from_slice(b"\\Z"),
            (b'\\' | b'\'' | b'"', _) => out.extend([b'\\', *byte]),
            (byte, _) => out.push(*byte),
        }
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_get_literals() {
        let options = ParserOptions::default();
        let text = b"SELECT ?, '?', ? /* ? */, ?";
        let values = [Value::Int(-1), "a'b\n".into(), Value::Null];
        assert_eq!(with_values(text, &values, &options), b"SELECT -1, '?', 'a\\'b\\n' /* ? */, NULL");
        let options = ParserOptions { no_backslash_escapes: true, ..options };
        assert_eq!(with_values(b"?", &["a'b\\".into()], &options), b"'a''b\\'");
    }
}
