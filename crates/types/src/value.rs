//! `Value`: what an expression evaluates to and what a stored column decodes to.
//!
//! Which variant stands for which declared type (the `TypeKind` beside a value
//! always tells how to read it):
//!
//! | declared type                     | variant                                   |
//! |-----------------------------------|-------------------------------------------|
//! | TINYINT … BIGINT, BOOL            | `Int`, or `UInt` when unsigned            |
//! | YEAR, BIT                         | `UInt`                                    |
//! | ENUM                              | `UInt` index from 1 (0 is the error value '') |
//! | SET                               | `UInt` bitmap                             |
//! | DECIMAL                           | `Decimal`                                 |
//! | FLOAT, DOUBLE                     | `Float` (FLOAT rounded to f32)            |
//! | CHAR … LONGTEXT, BINARY … LONGBLOB| `Bytes`, in the charset of the type       |
//! | DATE, DATETIME/TIMESTAMP, TIME    | `Date`, `DateTime`, `Time`                |
//! | JSON                              | `Json`                                    |
//! | spatial types                     | `Bytes`, in the form of `geometry`        |
//!
//! A TIMESTAMP is stored as UTC and is already in the session's time zone when it
//! is a `Value`. A `Value` does not know its collation: comparing is the caller's.

use crate::decimal::Decimal;
use crate::json::Json;
use crate::temporal::{Date, DateTime, Time};

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    #[default]
    Null,
    Int(i64),
    UInt(u64),
    Float(f64),
    Decimal(Decimal),
    Bytes(Box<[u8]>),
    Date(Date),
    DateTime(DateTime),
    Time(Time),
    Json(Json),
}

/// A value is moved around by the million: it stays within three words.
const _: () = assert!(std::mem::size_of::<Value>() <= 24);

impl Value {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    pub fn bytes(b: impl AsRef<[u8]>) -> Value {
        Value::Bytes(b.as_ref().into())
    }

    pub fn bool(b: bool) -> Value {
        Value::Int(b as i64)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Value {
        Value::bytes(s)
    }
}

impl From<String> for Value {
    fn from(s: String) -> Value {
        Value::Bytes(s.into_bytes().into_boxed_slice())
    }
}

impl From<Vec<u8>> for Value {
    fn from(b: Vec<u8>) -> Value {
        Value::Bytes(b.into_boxed_slice())
    }
}

impl From<i64> for Value {
    fn from(i: i64) -> Value {
        Value::Int(i)
    }
}

impl From<u64> for Value {
    fn from(u: u64) -> Value {
        Value::UInt(u)
    }
}
