//! The one error type of the server: MySQL's number, SQLSTATE and text, plus what
//! the caller should do next and, for internal causes, the source.
//!
//! `Error::new(&ER_BAD_FIELD_ERROR, &[&"c", &"field list"])` fills the `%s`
//! places of MySQL's message in order. Texts and numbers live in `errno`.

use std::fmt;
use std::sync::Arc;

use crate::errno::{self, ErrorDef};

pub type Result<T> = std::result::Result<T, Error>;

/// What the receiver of an error should do, decided where the error is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The statement is wrong or its data is: report it to the client.
    User,
    /// The transaction was rolled back; the client may run it again (1213, 1205).
    Retry,
    /// The first statement of a transaction met a row that changed after its snapshot:
    /// run the statement again on a fresh snapshot; a client never sees this.
    Restart,
    /// The statement was planned before DDL changed one of its tables: plan it again.
    Replan,
    /// Stored bytes do not read back: report the table, stop using it.
    Corrupt,
    /// The machine failed us: disk, memory, descriptors.
    Io,
    /// A defect of ours; the statement failed and nothing else did.
    Internal,
}

#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: u16,
    sqlstate: [u8; 5],
    message: String,
    next: Next,
    /// What SIGNAL said of it beside these.
    items: Option<Arc<SignalItems>>,
}

/// Names of condition information items, and their values.
pub type SignalItems = Vec<(&'static str, String)>;

impl Error {
    /// An error from MySQL's table, its `%` places filled with `args` in order.
    pub fn new(def: &ErrorDef, args: &[&dyn fmt::Display]) -> Error {
        Error::with_message(def, fill(def.format, args))
    }

    /// An error from the table with a text that does not follow the table's format.
    pub fn with_message(def: &ErrorDef, message: impl Into<String>) -> Error {
        let next = match def.code {
            1205 | 1213 => Next::Retry,
            1021 | 1026 | 1030 | 1037 => Next::Io,
            _ => Next::User,
        };
        Error(Box::new(Inner { code: def.code, sqlstate: *def.sqlstate, message: message.into(), next, items: None }))
    }

    /// The same error with another text.
    pub fn with_text(mut self, text: impl Into<String>) -> Error {
        self.0.message = text.into();
        self
    }

    /// The condition that SIGNAL raises.
    pub fn signalled(code: u16, sqlstate: [u8; 5], message: String, items: SignalItems) -> Error {
        let items = (!items.is_empty()).then(|| Arc::new(items));
        Error(Box::new(Inner { code, sqlstate, message, next: Next::User, items }))
    }

    pub fn items(&self) -> &[(&'static str, String)] {
        self.0.items.as_ref().map_or(&[], |items| items)
    }

    /// Error 1235 for a feature that MySQL has and this server does not.
    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new(&errno::ER_NOT_SUPPORTED_YET, &[&what])
    }

    /// First committer wins: the transaction lost and was rolled back (error 1213). With
    /// `restart` the statement may run again instead (`Next::Restart`).
    pub fn snapshot_conflict(restart: bool) -> Error {
        let text = format!("{}; snapshot conflict", errno::ER_LOCK_DEADLOCK.format);
        let e = Error::with_message(&errno::ER_LOCK_DEADLOCK, text);
        e.restart_if(restart)
    }

    /// The statement may run again on a fresh snapshot instead, if it is one that can.
    pub fn restart_if(mut self, restart: bool) -> Error {
        if restart {
            self.0.next = Next::Restart;
        }
        self
    }

    /// The plan of a statement is older than the definition of a table: the statement may be planned again. A
    /// client that sees it all the same sees error 1412.
    pub fn stale_plan() -> Error {
        let mut e = Error::new(&errno::ER_TABLE_DEF_CHANGED, &[]);
        e.0.next = Next::Replan;
        e
    }

    /// A defect of ours (error 1815 with SQLSTATE HY000).
    pub fn internal(what: impl fmt::Display) -> Error {
        let mut e = Error::new(&errno::ER_INTERNAL_ERROR, &[&what]);
        e.0.next = Next::Internal;
        e
    }

    /// Stored bytes that do not decode (error 1712, "Index %s is corrupted").
    pub fn corrupt(what: impl fmt::Display) -> Error {
        let mut e = Error::new(&errno::ER_INDEX_CORRUPT, &[&what]);
        e.0.next = Next::Corrupt;
        e
    }

    pub fn code(&self) -> u16 {
        self.0.code
    }

    pub fn sqlstate(&self) -> &str {
        std::str::from_utf8(&self.0.sqlstate).unwrap_or("HY000")
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn next(&self) -> Next {
        self.0.next
    }

    pub fn is(&self, def: &ErrorDef) -> bool {
        self.0.code == def.code
    }
}

/// Replaces each printf place (`%s`, `%d`, `%-.192s`, `%lld`, `%llu` …) by the next argument.
fn fill(format: &str, args: &[&dyn fmt::Display]) -> String {
    use fmt::Write;
    let mut out = String::with_capacity(format.len() + 32);
    let mut args = args.iter();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let spec = &rest[at + 1..];
        if let Some(tail) = spec.strip_prefix('%') {
            out.push('%');
            rest = tail;
            continue;
        }
        let end = spec.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'l' | 'h' | 'z')).map_or(spec.len(), |i| i + 1);
        if let Some(arg) = args.next() {
            let start = out.len();
            let _ = write!(out, "{arg}");
            let bytes_max = spec[..end].strip_prefix("-.").and_then(|rest| rest.trim_end_matches('s').parse().ok());
            cut(&mut out, start, bytes_max.unwrap_or(usize::MAX));
        }
        rest = &spec[end..];
    }
    out.push_str(rest);
    out
}

/// Cuts what stands behind `start` to so many bytes, as `%-.192s` asks; `?` is left of a character that is cut.
fn cut(out: &mut String, start: usize, bytes_max: usize) {
    let Some(end) = start.checked_add(bytes_max).filter(|end| *end < out.len()) else { return };
    let whole = (0..=end).rev().find(|at| out.is_char_boundary(*at)).unwrap_or(start);
    out.truncate(whole);
    if whole < end {
        out.push('?');
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code(), self.sqlstate(), self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_printf_places_in_order() {
        assert_eq!(
            fill("Unknown column '%-.192s' in '%-.192s'", &[&"a", &"where clause"]),
            "Unknown column 'a' in 'where clause'"
        );
        assert_eq!(fill("'%-.4s' and '%-.3s'", &[&"abcdef", &"aéé"]), "'abcd' and 'aé'");
        assert_eq!(fill("'%-.2s'", &[&"aé"]), "'a?'");
        assert_eq!(fill("%lld of %llu at 100%%", &[&1, &2]), "1 of 2 at 100%");
    }
}
