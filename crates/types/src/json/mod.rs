//! MySQL's JSON values.
//!
//! Scalars are held inline, arrays and objects behind an `Arc`, so that a clone is
//! cheap and a value is 16 bytes wide. Object members are sorted as MySQL sorts
//! them, by the byte length of the key and then its bytes, without duplicates.
//! Numbers keep their kind (signed, unsigned, double, decimal).
//! `parse` reads text, `print` writes it, `path` is the path language, `compare`
//! the order, `ops` what the JSON functions do, `binary` the stored form.

use std::sync::Arc;

use crate::datatype::TypeKind;
use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, Time};

#[derive(Clone, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Arc<Decimal>),
    String(Arc<String>),
    Array(Arc<Vec<Json>>),
    Object(Arc<JsonObject>),
    Date(Date),
    /// A DATETIME, or a TIMESTAMP if the flag is set.
    DateTime(DateTime, bool),
    Time(Time),
    /// A value of another SQL type (BLOB, BIT …), with its type.
    Opaque(Arc<(TypeKind, Vec<u8>)>),
}

const _: () = assert!(std::mem::size_of::<Json>() <= 16);

/// Members sorted by key length, then key bytes; keys are unique.
#[derive(Clone, Debug, Default)]
pub struct JsonObject {
    members: Vec<(Box<str>, Json)>,
}
/// Deepest nesting of arrays and objects (MySQL's JSON_DOCUMENT_MAX_DEPTH).
pub const JSON_DEPTH_MAX: usize = 100;
impl PartialEq for Json {
    fn eq(&self, _: &Json) -> bool {
        todo!()
    }
}
