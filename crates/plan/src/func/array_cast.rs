//! `CAST(json AS type ARRAY)`, of which the columns of multi-valued indexes are made.
//!
//! The result is a JSON array of different elements of the type, in their order; a scalar is an array of one. The arguments are the document, a NULL of the
//! elements' type, and the name of the index for errors. What does not fit is an error in every SQL mode. Example: `["7", 2.6, true]`
//! AS UNSIGNED ARRAY is `[1, 3, 7]`.

use vaquita_types::charset::charset;
use vaquita_types::decimal::Decimal;
use vaquita_types::json::Json;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::args::def;
use super::{FuncCall, FuncDef, FuncType};
use crate::bounds::{KeyValue, to_key_value};
use crate::env::EvalCx;
use crate::eval::json::cast_to_json;
use crate::expr::{Expr, ExprKind};

pub const CAST_ARRAY: &str = "CAST ARRAY";

pub(super) static FUNCTIONS: &[FuncDef] = &[def(
    CAST_ARRAY,
    3,
    3,
    |_| Ok(FuncType { ty: ColumnType::new(TypeKind::Json), nullable: true, coercibility: 2 }),
    cast_array,
)];

fn cast_array(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let value = call.value(0, cx)?;
    if value.is_null() {
        return Ok(Value::Null);
    }
    let index = match &*call.value(2, cx)? {
        Value::Bytes(name) => String::from_utf8_lossy(name).into_owned(),
        _ => String::new(),
    };
    let element = Element { ty: call.arg_type(1), index: &index };
    let mut array = match cast_to_json(&value, call.arg_type(0), cx.env)? {
        Json::Array(items) => {
            let mut cast = Vec::with_capacity(items.len());
            for item in items.iter() {
                cx.env.check_interrupt()?;
                cast.push(element.cast(item)?);
            }
            cast
        }
        Json::Object(_) => return Err(Error::unsupported("CAST-ing JSON OBJECT type to array")),
        scalar => vec![element.cast(&scalar)?],
    };
    array.sort();
    array.dedup();
    Ok(Value::Json(Json::array(array)))
}

struct Element<'a> {
    ty: &'a ColumnType,
    index: &'a str,
}

impl Element<'_> {
    fn invalid(&self) -> Error {
        Error::new(&errno::ER_INVALID_JSON_VALUE_FOR_FUNC_INDEX, &[&self.index])
    }

    fn out_of_json_range(&self) -> Error {
        Error::new(&errno::ER_JSON_VALUE_OUT_OF_RANGE_FOR_FUNC_INDEX, &[&self.index])
    }

    /// Who writes the row knows its number.
    fn out_of_range(&self) -> Error {
        Error::new(&errno::ER_WARN_DATA_OUT_OF_RANGE, &[&self.index, &1])
    }

    fn cast(&self, item: &Json) -> Result<Json> {
        match item {
            Json::Array(_) | Json::Object(_) => return Err(Error::new(&errno::ER_WRONG_MVI_VALUE, &[&self.index])),
            Json::Null => return Err(self.invalid()),
            _ => {}
        }
        match self.ty.kind {
            _ if self.ty.is_integer() => self.integer(item),
            TypeKind::Decimal => self.decimal(item),
            TypeKind::Date | TypeKind::DateTime | TypeKind::Time => self.temporal(item),
            _ => self.text(item),
        }
    }

    fn integer(&self, item: &Json) -> Result<Json> {
        let n = match item {
            Json::Int(i) => i128::from(*i),
            Json::UInt(u) => i128::from(*u),
            Json::Bool(b) => i128::from(*b),
            Json::Double(f) => {
                let whole = f.round_ties_even();
                if !(-9.3e18..=1.9e19).contains(&whole) {
                    return Err(self.out_of_json_range());
                }
                return self.fitting(whole as i128, Element::out_of_json_range);
            }
            Json::Decimal(d) => {
                let ((signed, below), (unsigned, above)) = (d.to_i64(), d.to_u64());
                let n = if d.is_negative() { i128::from(signed) } else { i128::from(unsigned) };
                if if d.is_negative() { below } else { above } {
                    return Err(self.out_of_json_range());
                }
                return self.fitting(n, Element::out_of_json_range);
            }
            Json::String(text) => text.trim().parse::<i128>().map_err(|_| self.invalid())?,
            _ => return Err(self.invalid()),
        };
        self.fitting(n, Element::out_of_range)
    }

    fn fitting(&self, n: i128, error: impl Fn(&Self) -> Error) -> Result<Json> {
        match self.ty.unsigned {
            true => u64::try_from(n).map(Json::UInt).map_err(|_| error(self)),
            false => i64::try_from(n).map(Json::Int).map_err(|_| error(self)),
        }
    }

    fn decimal(&self, item: &Json) -> Result<Json> {
        let number = match item {
            Json::Int(i) => Decimal::from(*i),
            Json::UInt(u) => Decimal::from(*u),
            Json::Bool(b) => Decimal::from(i64::from(*b)),
            Json::Double(f) => Decimal::from_f64(*f).0,
            Json::Decimal(d) => (**d).clone(),
            Json::String(text) => {
                let is_number = text.trim().parse::<f64>().is_ok_and(f64::is_finite);
                if !is_number {
                    return Err(self.invalid());
                }
                Decimal::parse(text.trim().as_bytes()).value
            }
            _ => return Err(self.invalid()),
        };
        let fitted = number.fit(self.ty.length, self.ty.decimals).map_err(|_| self.out_of_range())?;
        Ok(Json::decimal(fitted))
    }

    fn temporal(&self, item: &Json) -> Result<Json> {
        let value = match item {
            Json::Date(d) => Value::Date(*d),
            Json::DateTime(d, _) => Value::DateTime(*d),
            Json::Time(t) => Value::Time(*t),
            Json::Int(i) => Value::Int(*i),
            Json::UInt(u) => Value::UInt(*u),
            Json::Double(f) => Value::Float(*f),
            Json::Decimal(d) => Value::Decimal((**d).clone()),
            Json::String(text) => Value::bytes(text.as_bytes()),
            _ => return Err(self.invalid()),
        };
        // With all its digits, of which the type may have fewer.
        let kind = if self.ty.kind == TypeKind::Time { TypeKind::Time } else { TypeKind::DateTime };
        let fsp = self.ty.decimals;
        let found = match to_key_value(&value, &ColumnType::temporal(kind, 6)) {
            KeyValue::Exact(Value::Time(t)) => Some(Json::Time(t.to_fsp(fsp, false, 0))),
            KeyValue::Exact(Value::DateTime(d)) if self.ty.kind == TypeKind::Date => Some(Json::Date(d.date())),
            KeyValue::Exact(Value::DateTime(d)) => d.to_fsp(fsp, false, 0).map(|d| Json::DateTime(d, false)),
            _ => None,
        };
        found.ok_or_else(|| Error::new(&errno::WARN_DATA_TRUNCATED, &[&self.index, &1]))
    }

    fn text(&self, item: &Json) -> Result<Json> {
        let text = match item {
            Json::String(text) => text.as_str().to_string(),
            Json::Opaque(opaque) if self.ty.is_text() => String::from_utf8_lossy(&opaque.1).into_owned(),
            Json::Opaque(opaque) => return self.binary(opaque.1.clone()),
            other => {
                let mut bytes = Vec::new();
                other.write_text(&mut bytes);
                String::from_utf8_lossy(&bytes).trim_matches('"').to_string()
            }
        };
        if !self.ty.is_text() {
            return self.binary(text.into_bytes());
        }
        let chars = charset(self.ty.collation).char_count(text.as_bytes());
        if chars > self.ty.length as usize { Err(self.too_long()) } else { Ok(Json::string(text)) }
    }

    fn binary(&self, bytes: Vec<u8>) -> Result<Json> {
        if bytes.len() > self.ty.length as usize { Err(self.too_long()) } else { Ok(Json::opaque(TypeKind::VarBinary, bytes)) }
    }

    fn too_long(&self) -> Error {
        Error::new(&errno::ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG, &[&self.index])
    }
}

/// The elements that a literal document asks for: its own, or itself.
pub fn wanted_elements(literal: &Expr) -> Option<Vec<Json>> {
    let document = match &literal.kind {
        ExprKind::Literal(Value::Json(document)) => document.clone(),
        ExprKind::Literal(Value::Bytes(text)) if literal.ty.is_text() => Json::parse(text).ok()?,
        _ => return None,
    };
    match document {
        Json::Array(items) => Some(items.to_vec()),
        Json::Object(_) => None,
        scalar => Some(vec![scalar]),
    }
}
