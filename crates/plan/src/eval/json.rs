//! SQL values as JSON.

use std::borrow::Cow;

use vaquita_types::charset::CollationId;
use vaquita_types::convert;
use vaquita_types::json::{Json, JsonError};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::coerce;
use crate::env::Env;
use crate::text;

/// A SQL value as a JSON value; a text is a JSON string, NULL is JSON null.
pub fn sql_to_json(value: &Value, ty: &ColumnType, env: &dyn Env) -> Result<Json> {
    let _ = env;
    Ok(match value {
        Value::Null => Json::Null,
        Value::Json(j) => j.clone(),
        Value::Int(i) if ty.kind == TypeKind::BigInt && ty.length == 1 => Json::Bool(*i != 0),
        Value::Int(i) => Json::Int(*i),
        Value::UInt(u) => match ty.kind {
            TypeKind::Enum | TypeKind::Set => Json::string(text::to_utf8(&coerce::text_of(value, ty), ty.collation)),
            TypeKind::Bit => Json::opaque(TypeKind::Bit, coerce::text_of(value, ty).into_owned()),
            _ => Json::UInt(*u),
        },
        Value::Float(f) => Json::Double(*f),
        Value::Decimal(d) => {
            Json::decimal(d.rescale(ty.decimals).filter(|_| ty.kind == TypeKind::Decimal).unwrap_or_else(|| d.clone()))
        }
        Value::Date(d) => Json::Date(*d),
        Value::DateTime(d) => Json::DateTime(*d, ty.kind == TypeKind::Timestamp),
        Value::Time(t) => Json::Time(*t),
        // A geometry is a GeoJSON object.
        Value::Bytes(_) if ty.is_geometry() => convert::to_json(value, ty),
        Value::Bytes(b) if ty.collation == CollationId::BINARY => {
            let kind = if ty.is_bytes() { ty.kind } else { TypeKind::VarBinary };
            Json::opaque(kind, b.to_vec())
        }
        Value::Bytes(b) => {
            let utf8 = text::convert(Cow::Borrowed(b), ty.collation, CollationId::UTF8MB4_BIN).unwrap_or(Cow::Borrowed(b));
            Json::string(String::from_utf8_lossy(&utf8).into_owned())
        }
    })
}

/// `CAST(value AS JSON)`: a text is parsed.
pub fn cast_to_json(value: &Value, ty: &ColumnType, env: &dyn Env) -> Result<Json> {
    match value {
        Value::Bytes(b) if ty.collation != CollationId::BINARY => parse(b, ty, 1, "cast_as_json"),
        other => sql_to_json(other, ty, env),
    }
}

/// A text, which is argument number `argument` of a function, as a document; error 3141.
pub(crate) fn parse(bytes: &[u8], ty: &ColumnType, argument: usize, function: &str) -> Result<Json> {
    let utf8 = text::convert(Cow::Borrowed(bytes), ty.collation, CollationId::UTF8MB4_BIN).unwrap_or(Cow::Borrowed(bytes));
    Json::parse(&utf8).map_err(|error| syntax_error(error, argument, function))
}

/// Errors 3141 and 3157: what is wrong with the text of an argument.
pub(crate) fn syntax_error(error: JsonError, argument: usize, function: &str) -> Error {
    match error {
        JsonError::Syntax { message, position } => {
            Error::new(&errno::ER_INVALID_JSON_TEXT_IN_PARAM, &[&argument, &function, &message, &position])
        }
        JsonError::TooDeep => Error::new(&errno::ER_JSON_DOCUMENT_TOO_DEEP, &[]),
    }
}

/// Argument `i` of a function as a JSON document; `None` if it is NULL.
pub fn document(value: &Value, ty: &ColumnType, i: usize, function: &str) -> Result<Option<Json>> {
    match value {
        Value::Null => Ok(None),
        Value::Json(j) => Ok(Some(j.clone())),
        Value::Bytes(_) if ty.is_geometry() => Err(Error::new(&errno::ER_INVALID_TYPE_FOR_JSON, &[&(i + 1), &function])),
        Value::Bytes(_) if ty.collation == CollationId::BINARY => Err(Error::new(&errno::ER_INVALID_JSON_CHARSET, &[&"binary"])),
        Value::Bytes(b) => parse(b, ty, i + 1, function).map(Some),
        // A label is a value, but no document's text.
        _ => Err(Error::new(&errno::ER_INVALID_TYPE_FOR_JSON, &[&(i + 1), &function])),
    }
}
