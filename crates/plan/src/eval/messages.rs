//! Warnings of values that are read as another type, and how messages show such values.

use vaquita_types::charset::{CollationId, charset};
use vaquita_types::{ColumnType, Error, errno};

use crate::env::{Env, Level};
use crate::text::charset_name;

/// Warning 1292: `Truncated incorrect DOUBLE value: 'abc'`.
pub fn warn_truncated(env: &dyn Env, what: &str, text: &[u8]) {
    let shown = printable(text);
    env.warn(Level::Warning, Error::new(&errno::ER_TRUNCATED_WRONG_VALUE, &[&what, &shown]));
}

/// The same of a value of type `ty`.
pub(super) fn warn_truncated_value(env: &dyn Env, what: &str, text: &[u8], ty: &ColumnType) {
    env.warn(Level::Warning, Error::new(&errno::ER_TRUNCATED_WRONG_VALUE, &[&what, &shown(text, ty.collation)]));
}

/// Warning 1292: `Incorrect datetime value: 'abc'`.
pub fn warn_incorrect(env: &dyn Env, what: &str, text: &[u8]) {
    let shown = printable(text);
    env.warn(Level::Warning, Error::with_message(&errno::ER_TRUNCATED_WRONG_VALUE, format!("Incorrect {what} value: '{shown}'")));
}

/// Bytes as messages show them: invalid UTF-8 as `\xNN`, at most 128 bytes.
pub fn printable(text: &[u8]) -> String {
    let text = &text[..text.len().min(128)];
    let mut out = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        out.push_str(chunk.valid());
        for b in chunk.invalid() {
            out.push_str(&format!("\\x{b:02X}"));
        }
    }
    out
}

/// What messages of errors show of bytes: they end at a zero byte, and at one that is no UTF-8.
pub fn start_of_text(text: &[u8]) -> &str {
    let text = &text[..text.len().min(128)];
    let valid = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    valid.split('\0').next().unwrap_or_default()
}

/// A value of a collation as messages show it: bytes of binary strings that are no printable ASCII as `\xNN`, other text in UTF-8.
pub fn shown(text: &[u8], collation: CollationId) -> String {
    if collation == CollationId::BINARY {
        let text = &text[..text.len().min(128)];
        let mut out = String::with_capacity(text.len());
        for &byte in text {
            match byte {
                b' '..=b'~' => out.push(char::from(byte)),
                _ => out.push_str(&format!("\\x{byte:02X}")),
            }
        }
        return out;
    }
    // MySQL's message ends at a zero byte.
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    if charset_name(collation).starts_with("utf8") {
        return printable(text);
    }
    printable(&charset(collation).convert(charset(CollationId::UTF8MB4_BIN), text).bytes)
}

/// Warning 4096 of spaces around the text of a time.
pub fn warn_of_spaces(env: &dyn Env, text: &[u8]) {
    let at = match text {
        [first, ..] if first.is_ascii_whitespace() => 0,
        [.., last] if last.is_ascii_whitespace() => text.trim_ascii_end().len(),
        _ => return,
    };
    let (delimiter, value) = (char::from(text[at]), printable(text));
    let code = &errno::ER_WARN_DEPRECATED_SUPERFLUOUS_DELIMITER;
    env.warn(Level::Warning, Error::new(code, &[&delimiter, &at, &value, &1]));
}

/// Warning 4095 or 4096 of the first delimiter in a date's text that is not the standard one: `2024/01/15`, `10:11:12` as a date.
pub fn warn_of_delimiters(env: &dyn Env, text: &[u8]) {
    if let Some(warning) = delimiter_warning(text, 1) {
        env.warn(Level::Warning, warning);
    }
}

/// The same, of a row's value.
pub fn delimiter_warning(text: &[u8], row: u64) -> Option<Error> {
    const STANDARD: [u8; 5] = *b"-- ::";
    const STANDARD_BEHIND_DAY: usize = 2;
    if matches!(
        text,
        [_, _, _, _, b'-', _, _, b'-', _, _] | [_, _, _, _, b'-', _, _, b'-', _, _, b' ', _, _, b':', _, _, b':', _, _]
    ) && text.iter().filter(|byte| byte.is_ascii_digit()).count() == if text.len() == 10 { 8 } else { 14 }
    {
        return None;
    }
    let error = |code, at: usize, standard: Option<u8>| {
        let (delimiter, value) = (char::from(text[at]), printable(text));
        Some(match standard {
            Some(standard) => Error::new(code, &[&delimiter, &at, &value, &row, &char::from(standard)]),
            None => Error::new(code, &[&delimiter, &at, &value, &row]),
        })
    };
    if text.first().is_some_and(|byte| byte.is_ascii_whitespace()) {
        return error(&errno::ER_WARN_DEPRECATED_SUPERFLUOUS_DELIMITER, 0, None);
    }
    let (mut field, mut at) = (0, 0);
    while let Some(standard) = STANDARD.get(field) {
        at += text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let run = text[at..].iter().take_while(|byte| byte.is_ascii_punctuation() || byte.is_ascii_whitespace()).count();
        let behind_day = field == STANDARD_BEHIND_DAY;
        if behind_day && text.get(at) == Some(&b'T') {
            at += 1;
            field += 1;
            continue;
        }
        let ends = at + run == text.len();
        if run == 0 || ends && !behind_day {
            return None;
        }
        if text[at] != *standard {
            return error(&errno::ER_WARN_DEPRECATED_DATETIME_DELIMITER, at, Some(*standard));
        }
        if run > 1 {
            return error(&errno::ER_WARN_DEPRECATED_SUPERFLUOUS_DELIMITER, at + 1, None);
        }
        if ends {
            return error(&errno::ER_WARN_DEPRECATED_SUPERFLUOUS_DELIMITER, at, None);
        }
        at += run;
        field += 1;
    }
    at += text[at..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    match text[at..].trim_ascii() {
        [] if at < text.len() => error(&errno::ER_WARN_DEPRECATED_SUPERFLUOUS_DELIMITER, at, None),
        _ => None,
    }
}
