//! The parser's error: MySQL's 1064 with the text near the offending token, or one of the few
//! other errors that MySQL's own parser gives (1065, 1248, 1300, 1436 ..).

use std::fmt;

use vaquita_types::errno::{self, ErrorDef};

/// MySQL prints at most this many bytes of the statement in error 1064.
const NEAR_BYTES_MAX: usize = 80;

/// Why a statement could not be parsed.
#[derive(Clone, Debug)]
pub struct ParseError {
    pub def: &'static ErrorDef,
    pub message: String,
    /// The statement from the offending token on, cut to 80 bytes; empty if not a 1064.
    pub near: String,
    /// The line of the offending token, from 1.
    pub line: usize,
}

pub type Result<T> = std::result::Result<T, ParseError>;

impl ParseError {
    /// Error 1064 at byte `at` of `sql`.
    pub(crate) fn syntax(sql: &[u8], at: usize) -> ParseError {
        ParseError::syntax_as(errno::ER_SYNTAX_ERROR.format, sql, at)
    }

    /// The same with a text of its own.
    pub(crate) fn syntax_as(text: &str, sql: &[u8], at: usize) -> ParseError {
        let end = sql.iter().rposition(|b| !(b.is_ascii_whitespace() || *b == b';' || *b == 0x0b)).map_or(0, |last| last + 1);
        let at = at.min(sql.len());
        let rest = sql.get(at..end).unwrap_or(&[]);
        let near = lossy_prefix(rest, NEAR_BYTES_MAX);
        let line = 1 + sql.iter().take(at).filter(|b| **b == b'\n').count();
        ParseError { def: &errno::ER_PARSE_ERROR, message: format!("{text} near '{near}' at line {line}"), near, line }
    }

    /// Another error of MySQL's parser.
    pub(crate) fn other(def: &'static ErrorDef, message: String) -> ParseError {
        ParseError { def, message, near: String::new(), line: 1 }
    }

    pub fn code(&self) -> u16 {
        self.def.code
    }
}

/// At most `max` bytes of `bytes` as text, cut at a character.
fn lossy_prefix(bytes: &[u8], max: usize) -> String {
    if bytes.len() <= max {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let mut end = max;
    while end > 0 && bytes.get(end).is_some_and(|b| b & 0xC0 == 0x80) {
        end -= 1;
    }
    String::from_utf8_lossy(bytes.get(..end).unwrap_or(&[])).into_owned()
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

impl From<ParseError> for vaquita_types::Error {
    fn from(e: ParseError) -> vaquita_types::Error {
        vaquita_types::Error::with_message(e.def, e.message)
    }
}
