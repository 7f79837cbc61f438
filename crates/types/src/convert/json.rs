//! SQL values as JSON values, as JSON_ARRAY, CAST AS JSON and comparisons with JSON take them.
//!
//! A string becomes a JSON string, not a parsed document: parsing is the caller's choice. The other way, `from_json` is what a column of
//! JSON_TABLE holds.

use crate::charset::{CollationId, charset};
use crate::datatype::{ColumnType, TypeKind};
use crate::geometry::{GeoJsonOptions, Geometry};
use crate::json::Json;
use crate::temporal::parse_time;
use crate::value::Value;

use super::store::{StoreContext, store};
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
        Value::Bytes(b) if ty.is_geometry() => geometry(b).unwrap_or_else(|| Json::opaque(ty.kind, b.to_vec())),
        Value::Bytes(b) if ty.collation == CollationId::BINARY => {
            let kind = if ty.is_bytes() && ty.kind as u8 >= TypeKind::Binary as u8 && !ty.is_vector() {
                ty.kind
            } else {
                TypeKind::VarBinary
            };
            Json::opaque(kind, b.to_vec())
        }
        Value::Bytes(b) => string(b, ty.collation),
        Value::Date(d) => Json::Date(*d),
        Value::DateTime(dt) => Json::DateTime(*dt, ty.kind == TypeKind::Timestamp),
        Value::Time(t) => Json::Time(*t),
        Value::Json(j) => j.clone(),
    }
}

/// A geometry is GeoJSON with the long name of its reference system.
pub fn geometry(bytes: &[u8]) -> Option<Json> {
    let options = GeoJsonOptions { long_crs: true, ..GeoJsonOptions::default() };
    Geometry::decode(bytes).ok().map(|geometry| geometry.to_geojson(&options))
}

fn string(bytes: &[u8], collation: CollationId) -> Json {
    let utf8 = charset(collation).convert(charset(CollationId::UTF8MB4_BIN), bytes).bytes;
    Json::string(String::from_utf8_lossy(&utf8))
}

/// Why a JSON value is not what a column can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonMisfit {
    /// An array or an object, and the column is no JSON.
    NoScalar,
    /// Error 3156: a value that is no number of this type.
    NoSuch(&'static str),
    OutOfRange,
}

/// `json` as a column of type `to` holds it.
pub fn from_json(json: &Json, to: &ColumnType, context: &StoreContext) -> Result<Value, JsonMisfit> {
    let text = |text: &str| (Value::from(text.to_string()), text_type());
    let (value, ty) = match (json, to.kind) {
        (Json::Null, _) => return Ok(Value::Null),
        (_, TypeKind::Json) => return Ok(Value::Json(json.clone())),
        // As MySQL has it.
        (Json::String(s), TypeKind::Float | TypeKind::Double) if s.is_empty() => return Ok(Value::Float(0.0)),
        (Json::Array(_) | Json::Object(_), _) => return Err(JsonMisfit::NoScalar),
        (
            scalar,
            TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt | TypeKind::Bit,
        ) => {
            let number = integer(scalar).ok_or(JsonMisfit::NoSuch("INTEGER"))?;
            match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => (Value::Int(number), ColumnType::new(TypeKind::BigInt)),
                (_, Ok(number)) => (Value::UInt(number), ColumnType { unsigned: true, ..ColumnType::new(TypeKind::BigInt) }),
                _ => return Err(JsonMisfit::OutOfRange),
            }
        }
        (Json::Bool(b), kind) if is_text(kind) => text(if *b { "true" } else { "false" }),
        (Json::Bool(b), _) => (Value::Int(i64::from(*b)), ColumnType::new(TypeKind::BigInt)),
        // Labels are looked for first, also those that are numbers.
        (Json::Int(_) | Json::UInt(_) | Json::Decimal(_), TypeKind::Enum | TypeKind::Set) => text(&written(json)),
        (Json::Int(i), _) => (Value::Int(*i), ColumnType::new(TypeKind::BigInt)),
        (Json::UInt(u), _) => (Value::UInt(*u), ColumnType { unsigned: true, ..ColumnType::new(TypeKind::BigInt) }),
        (Json::Double(_), kind) if is_text(kind) => text(&written(json)),
        (Json::Double(f), _) => (Value::Float(*f), ColumnType::new(TypeKind::Double)),
        (Json::Decimal(d), _) => {
            (Value::Decimal((**d).clone()), ColumnType { decimals: d.scale(), ..ColumnType::new(TypeKind::Decimal) })
        }
        (Json::Date(d), _) => (Value::Date(*d), ColumnType::new(TypeKind::Date)),
        (Json::DateTime(d, _), _) => (Value::DateTime(*d), ColumnType { decimals: 6, ..ColumnType::new(TypeKind::DateTime) }),
        (Json::Time(t), _) => (Value::Time(*t), ColumnType { decimals: 6, ..ColumnType::new(TypeKind::Time) }),
        (Json::String(s), _) => text(s),
        (Json::Opaque(opaque), _) => (Value::bytes(&opaque.1), ColumnType::new(opaque.0)),
    };
    let of_text = matches!(json, Json::String(_));
    store(value, &ty, to, context).or_else(|problem| match to.kind {
        _ if problem.is_note(true) => Ok(problem.adjusted),
        TypeKind::Decimal if of_text => Err(JsonMisfit::NoSuch("DECIMAL")),
        TypeKind::Float | TypeKind::Double if of_text => Err(JsonMisfit::NoSuch("DOUBLE")),
        _ => Err(JsonMisfit::OutOfRange),
    })
}

/// The same, as JSON_TABLE has it: a text is the time that it begins with.
pub fn from_json_of_table(json: &Json, to: &ColumnType, context: &StoreContext) -> Result<Value, JsonMisfit> {
    from_json(json, to, context).or_else(|misfit| {
        let (Json::String(text), TypeKind::Time) = (json, to.kind) else { return Err(misfit) };
        match parse_time(text.as_bytes()) {
            Ok(time) if !time.out_of_range => {
                Ok(Value::Time(time.to_fsp_in(to.decimals, context.truncates_fractions(), context.time_zone)))
            }
            _ => Err(misfit),
        }
    })
}

fn is_text(kind: TypeKind) -> bool {
    use TypeKind::*;
    matches!(
        kind,
        Char | VarChar
            | TinyText
            | Text
            | MediumText
            | LongText
            | Binary
            | VarBinary
            | TinyBlob
            | Blob
            | MediumBlob
            | LongBlob
            | Enum
            | Set
    )
}

fn text_type() -> ColumnType {
    ColumnType { collation: CollationId::UTF8MB4_BIN, ..ColumnType::new(TypeKind::LongText) }
}

fn written(json: &Json) -> String {
    let mut out = Vec::new();
    json.write_unquoted(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A JSON scalar as an integer: the whole of a text, and numbers rounded, halves to even numbers.
fn integer(scalar: &Json) -> Option<i128> {
    Some(match scalar {
        Json::Bool(b) => i128::from(*b),
        Json::Int(i) => i128::from(*i),
        Json::UInt(u) => i128::from(*u),
        Json::Double(f) => f.round_ties_even() as i128,
        Json::Decimal(d) => d.round(0).to_string().parse().ok()?,
        Json::String(text) => text.trim_start().parse().ok()?,
        Json::Date(d) => i128::from(d.to_number()),
        _ => return None,
    })
}
