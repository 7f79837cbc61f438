//! MySQL's error numbers, SQLSTATEs and message formats that this server raises.
//!
//! Source: the MySQL 8.4 error message reference. A format's `%` places are filled
//! in order by `Error::new`.

pub struct ErrorDef {
    pub code: u16,
    pub sqlstate: &'static [u8; 5],
    pub format: &'static str,
}

pub const ER_NOT_SUPPORTED_YET: ErrorDef = ErrorDef { code: 1235, sqlstate: b"42000", format: "This version of MySQL doesn't yet support '%s'" };
pub const ER_INTERNAL_ERROR: ErrorDef = ErrorDef { code: 1815, sqlstate: b"HY000", format: "Internal error: %s" };
pub const ER_INDEX_CORRUPT: ErrorDef = ErrorDef { code: 1712, sqlstate: b"HY000", format: "Index %s is corrupted" };
