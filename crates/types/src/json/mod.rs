//! MySQL's JSON values.
//!
//! Scalars are held inline, arrays and objects behind an `Arc`, so that a clone is
//! cheap and a value is 16 bytes wide. Object members are sorted as MySQL sorts
//! them, by the byte length of the key and then its bytes, without duplicates.
//! Numbers keep their kind (signed, unsigned, double, decimal).
//! `parse` reads text, `print` writes it, `path` is the path language, `compare`
//! the order, `ops` what the JSON functions do, `binary` the stored form.
//! Nothing here knows arguments of functions or raises errors with their names:
//! `JsonError` carries what MySQL's messages say, the caller adds where.

mod binary;
mod compare;
mod ops;
mod parse;
mod path;
mod print;

use std::sync::Arc;

use crate::datatype::TypeKind;
use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, Time};

pub use ops::Edit;
pub use path::{JsonPath, PathError};
pub use print::{quote, unquote};

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

/// Deepest nesting of arrays and objects (MySQL's JSON_DOCUMENT_MAX_DEPTH).
pub const JSON_DEPTH_MAX: usize = 100;

/// The longest key that a column holds, as MySQL's binary form does.
pub const JSON_KEY_BYTES_MAX: usize = u16::MAX as usize;

/// Most legs of a path. MySQL has no such limit, but documents end at `JSON_DEPTH_MAX` and
/// evaluating a path costs its legs times the document.
pub const JSON_PATH_LEGS_MAX: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonError {
    /// Errors 3140 and 3141: the parser's words and the byte position.
    Syntax { message: &'static str, position: usize },
    /// Error 3157.
    TooDeep,
}

/// Members sorted by key length, then key bytes; keys are unique.
#[derive(Clone, Debug, Default)]
pub struct JsonObject {
    members: Vec<(Box<str>, Json)>,
}

impl Json {
    /// About the bytes of the text, and of the memory if no part is shared; counted no further than `max`.
    pub fn bytes_up_to(&self, max: usize) -> usize {
        self.measured(max, usize::MAX).unwrap_or(usize::MAX)
    }

    /// As `bytes_up_to`; `None` if more than `levels` arrays and objects are inside one another.
    pub fn measured(&self, max: usize, levels: usize) -> Option<usize> {
        const NODE_BYTES: usize = size_of::<Json>();
        let mut sum = NODE_BYTES;
        match self {
            Json::String(text) => sum += text.len(),
            Json::Opaque(opaque) => sum += opaque.1.len(),
            Json::Array(items) => {
                let levels = levels.checked_sub(1)?;
                for item in items.iter() {
                    if sum > max {
                        break;
                    }
                    sum += item.measured(max - sum, levels)?;
                }
            }
            Json::Object(object) => {
                let levels = levels.checked_sub(1)?;
                for (key, value) in object.iter() {
                    if sum > max {
                        break;
                    }
                    sum += NODE_BYTES + key.len() + value.measured(max - sum, levels)?;
                }
            }
            _ => {}
        }
        Some(sum)
    }
}

impl JsonObject {
    pub fn new() -> JsonObject {
        JsonObject::default()
    }

    /// Members in any order; of equal keys the last one stays.
    pub fn from_members(mut members: Vec<(Box<str>, Json)>) -> JsonObject {
        // The sort is stable, so reversing first leaves the last of equal keys in front.
        members.reverse();
        members.sort_by(|a, b| key_order(&a.0, &b.0));
        members.dedup_by(|later, first| later.0 == first.0);
        JsonObject { members }
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.members.iter().map(|(k, v)| (&**k, v))
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.members.binary_search_by(|(k, _)| key_order(k, key))
    }

    pub fn get(&self, key: &str) -> Option<&Json> {
        self.find(key).ok().and_then(|i| self.members.get(i)).map(|(_, v)| v)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.find(key).ok().and_then(|i| self.members.get_mut(i)).map(|(_, v)| v)
    }

    pub fn insert(&mut self, key: &str, value: Json) {
        match self.find(key) {
            Ok(i) => self.members[i].1 = value,
            Err(i) => self.members.insert(i, (key.into(), value)),
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<Json> {
        self.find(key).ok().map(|i| self.members.remove(i).1)
    }
}

fn key_order(a: &str, b: &str) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

impl Json {
    pub fn string(s: impl Into<String>) -> Json {
        Json::String(Arc::new(s.into()))
    }

    pub fn array(items: Vec<Json>) -> Json {
        Json::Array(Arc::new(items))
    }

    pub fn object(object: JsonObject) -> Json {
        Json::Object(Arc::new(object))
    }

    pub fn decimal(d: Decimal) -> Json {
        Json::Decimal(Arc::new(d))
    }

    pub fn opaque(kind: TypeKind, bytes: Vec<u8>) -> Json {
        Json::Opaque(Arc::new((kind, bytes)))
    }

    pub fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// JSON_TYPE.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "NULL",
            Json::Bool(_) => "BOOLEAN",
            Json::Int(_) => "INTEGER",
            Json::UInt(_) => "UNSIGNED INTEGER",
            Json::Double(_) => "DOUBLE",
            Json::Decimal(_) => "DECIMAL",
            Json::String(_) => "STRING",
            Json::Array(_) => "ARRAY",
            Json::Object(_) => "OBJECT",
            Json::Date(_) => "DATE",
            Json::DateTime(_, false) => "DATETIME",
            Json::DateTime(_, true) => "TIMESTAMP",
            Json::Time(_) => "TIME",
            Json::Opaque(o) => match o.0 {
                TypeKind::Bit => "BIT",
                TypeKind::Geometry => "GEOMETRY",
                TypeKind::Year => "OPAQUE",
                _ => "BLOB",
            },
        }
    }

    /// JSON_LENGTH: elements, members, or 1 for a scalar.
    pub fn length(&self) -> usize {
        match self {
            Json::Array(a) => a.len(),
            Json::Object(o) => o.len(),
            _ => 1,
        }
    }

    /// JSON_DEPTH: 1 for scalars and empty containers.
    /// It has a key that a column does not hold (error 3151).
    pub fn has_long_key(&self) -> bool {
        match self {
            Json::Array(items) => items.iter().any(Json::has_long_key),
            Json::Object(members) => members.iter().any(|(key, value)| key.len() > JSON_KEY_BYTES_MAX || value.has_long_key()),
            _ => false,
        }
    }

    pub fn depth(&self) -> usize {
        let inner = match self {
            Json::Array(a) => a.iter().map(Json::depth).max(),
            Json::Object(o) => o.iter().map(|(_, v)| v.depth()).max(),
            _ => None,
        };
        1 + inner.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
