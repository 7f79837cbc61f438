//! `ValueRef`: a stored column without copying it.
//!
//! What `RowView::column` returns: scalars by value, strings and JSON as slices of the stored
//! row. The executor's fast path goes from here to wire bytes; everything else calls `to_value`.

use std::borrow::Cow;

use vaquita_types::decimal::Decimal;
use vaquita_types::json::Json;
use vaquita_types::temporal::{Date, DateTime, Time};
use vaquita_types::{Error, Result, Value};

/// A column's value, borrowed from the row. Variants follow `Value`'s table.
#[derive(Clone, Debug)]
pub enum ValueRef<'a> {
    Null,
    Int(i64),
    UInt(u64),
    /// FLOAT and DOUBLE; a FLOAT is exactly an f32.
    Float(f64),
    Decimal(Decimal),
    /// Owned only if the bytes were restored from a key that escapes them.
    Bytes(Cow<'a, [u8]>),
    Date(Date),
    /// A TIMESTAMP is in UTC.
    DateTime(DateTime),
    Time(Time),
    /// The binary form of `vaquita_types::json`.
    Json(&'a [u8]),
}

impl<'a> ValueRef<'a> {
    /// Borrows a value that is not JSON (which has another form here): a column's default.
    pub(crate) fn of(value: &'a Value) -> ValueRef<'a> {
        match value {
            Value::Null | Value::Json(_) => ValueRef::Null,
            Value::Int(i) => ValueRef::Int(*i),
            Value::UInt(u) => ValueRef::UInt(*u),
            Value::Float(f) => ValueRef::Float(*f),
            Value::Decimal(d) => ValueRef::Decimal(d.clone()),
            Value::Bytes(b) => ValueRef::Bytes(Cow::Borrowed(b)),
            Value::Date(d) => ValueRef::Date(*d),
            Value::DateTime(d) => ValueRef::DateTime(*d),
            Value::Time(t) => ValueRef::Time(*t),
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, ValueRef::Null)
    }

    /// An owned value; fails only for JSON bytes that do not decode.
    pub fn to_value(self) -> Result<Value> {
        Ok(match self {
            ValueRef::Null => Value::Null,
            ValueRef::Int(i) => Value::Int(i),
            ValueRef::UInt(u) => Value::UInt(u),
            ValueRef::Float(f) => Value::Float(f),
            ValueRef::Decimal(d) => Value::Decimal(d),
            ValueRef::Bytes(b) => Value::Bytes(b.into_owned().into_boxed_slice()),
            ValueRef::Date(d) => Value::Date(d),
            ValueRef::DateTime(d) => Value::DateTime(d),
            ValueRef::Time(t) => Value::Time(t),
            ValueRef::Json(b) => Value::Json(Json::decode(b).ok_or_else(|| Error::corrupt("JSON value"))?),
        })
    }
}
