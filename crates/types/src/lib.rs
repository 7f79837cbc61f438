//! Values, types, schema descriptors and errors that every layer shares.
//!
//! `value` holds what an expression evaluates to, `datatype` what a column or an
//! expression is declared as, `schema` what the catalog stores about a table.
//! `decimal`, `temporal`, `json` and `charset` hold the semantics of MySQL's
//! value families; `error` and `errno` MySQL's error numbers and texts; `limits`
//! every bound with its source. Nothing here does I/O, reads a clock or knows SQL text.

#![forbid(unsafe_code)]

pub mod base64;
pub mod charset;
pub mod convert;
pub mod datatype;
pub mod decimal;
pub mod errno;
pub mod error;
pub mod format;
pub mod geometry;
pub mod gtid;
pub mod json;
pub mod limits;
pub mod memory;
pub mod schema;
pub mod sql_mode;
pub mod stack;
pub mod temporal;
pub mod value;
pub mod vector;
pub mod xml;

pub use datatype::{ColumnType, TypeKind};
pub use error::{Error, Result};
pub use value::Value;
