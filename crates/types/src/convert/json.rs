//! SQL values as JSON values, as JSON_ARRAY, CAST AS JSON and comparisons with JSON take them.
//!
//! A string becomes a JSON string, not a parsed document: parsing is the caller's choice.

use crate::charset::{CollationId, charset};
use crate::datatype::{ColumnType, TypeKind};
use crate::json::Json;
use crate::value::Value;

use super::text::to_text;

/// The JSON value that stands for `value`; NULL is JSON null. The result of a predicate
/// (BIGINT(1)) is a boolean, a binary string stays bytes.
pub fn to_json(value: &Value, ty: &ColumnType) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Int(i) if ty.kind == TypeKind::BigInt && ty.length == 1 => Json::Bool(*i != 0),
        Value::Int(i) => Json::Int(*i),
        Value::UInt(_) if ty.kind == TypeKind::Bit => Json::opaque(TypeKind::Bit, to_text(value, ty)),
        Value::UInt(_) if matches!(ty.kind, TypeKind::Enum | TypeKind::Set) => string(&to_text(value, ty), ty.collation),
        Value::UInt(u) => Json::UInt(*u),
        Value::Float(f) => Json::Double(*f),
        Value::Decimal(d) if ty.kind == TypeKind::Decimal => Json::decimal(d.rescale(ty.decimals).unwrap_or_else(|| d.clone())),
        Value::Decimal(d) => Json::decimal(d.clone()),
        Value::Bytes(b) if ty.collation == CollationId::BINARY => {
            let kind = if ty.is_bytes() && ty.kind as u8 >= TypeKind::Binary as u8 { ty.kind } else { TypeKind::VarBinary };
            Json::opaque(kind, b.to_vec())
        }
        Value::Bytes(b) => string(b, ty.collation),
        Value::Date(d) => Json::Date(*d),
        Value::DateTime(dt) => Json::DateTime(*dt, ty.kind == TypeKind::Timestamp),
        Value::Time(t) => Json::Time(*t),
        Value::Json(j) => j.clone(),
    }
}

fn string(bytes: &[u8], collation: CollationId) -> Json {
    let utf8 = charset(collation).convert(charset(CollationId::UTF8MB4_BIN), bytes).bytes;
    Json::string(String::from_utf8_lossy(&utf8))
}
