//! JSON_VALUE: the one value at a path, as a type of SQL, and what stands in its place.
//!
//! The binder gives the function five arguments: document, path, what ON EMPTY and what ON ERROR give, and which of the two are
//! errors. The third one has the type of RETURNING. Example: `JSON_VALUE(d, '$.a' RETURNING DATE DEFAULT '2000-01-01' ON EMPTY)` has
//! the date as its third argument and NULL as its fourth.

use vaquita_types::convert::{JsonMisfit, StoreContext, from_json};
use vaquita_types::json::Json;
use vaquita_types::temporal::{Date, TimeZone};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::args::def;
use super::json::parsed_path;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{EvalCx, Level};
use crate::eval::coerce;
use crate::eval::json::document;
use crate::expr::Expr;
use crate::typing::is_string;

const NAME: &str = "json_value";
pub const ERROR_ON_EMPTY: u64 = 1;
pub const ERROR_ON_ERROR: u64 = 2;
const EMPTY: usize = 2;
const ERROR: usize = 3;
const FLAGS: usize = 4;

pub(super) static FUNCTIONS: &[FuncDef] = &[def("JSON_VALUE", 5, 5, resolve, value)];

fn resolve(args: &mut Vec<Expr>) -> Result<FuncType> {
    let ty = args.get(EMPTY).map_or_else(ColumnType::null, |default| default.ty.clone());
    Ok(FuncType { coercibility: if is_string(&ty) { 4 } else { 5 }, ty, nullable: true })
}

fn value(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let Some(path) = parsed_path(call, 1, cx)? else { return Ok(Value::Null) };
    let json = match document(&*call.value(0, cx)?, call.arg_type(0), 0, NAME) {
        Ok(Some(json)) => json,
        Ok(None) => return Ok(Value::Null),
        Err(error) if error.is(&errno::ER_INVALID_JSON_TEXT_IN_PARAM) => return instead(call, cx, ERROR, error),
        Err(error) => return Err(error),
    };
    match json.seek_while(&path, &mut || cx.env.check_interrupt())?[..] {
        [] => instead(call, cx, EMPTY, Error::new(&errno::ER_MISSING_JSON_VALUE, &[&NAME])),
        [found] => {
            let (zone, ty) = (cx.env.time_zone(), call.arg_type(EMPTY));
            let today = coerce::now(cx.env).date();
            converted(found, ty, &StoreContext { sql_mode: cx.env.sql_mode(), time_zone: zone, today })
                .or_else(|_| instead(call, cx, ERROR, Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&name(ty), &NAME])))
        }
        _ => instead(call, cx, ERROR, Error::new(&errno::ER_MULTIPLE_JSON_VALUES, &[&NAME])),
    }
}

/// The value of ON EMPTY or ON ERROR, or its error. Without a default, what is wrong with the document is a warning.
fn instead(call: &FuncCall<'_>, cx: &EvalCx<'_>, which: usize, error: Error) -> Result<Value> {
    let flags = match &*call.value(FLAGS, cx)? {
        Value::Int(flags) => *flags as u64,
        _ => 0,
    };
    if flags & if which == EMPTY { ERROR_ON_EMPTY } else { ERROR_ON_ERROR } != 0 {
        return Err(error);
    }
    if error.is(&errno::ER_INVALID_JSON_TEXT_IN_PARAM) {
        cx.env.warn(Level::Warning, error);
    }
    Ok(call.value(which, cx)?.into_owned())
}

/// Arrays and objects are texts where a text is asked for.
fn converted(json: &Json, ty: &ColumnType, context: &StoreContext) -> std::result::Result<Value, JsonMisfit> {
    if is_string(ty) && matches!(json, Json::Array(_) | Json::Object(_)) {
        let mut out = Vec::new();
        json.write_unquoted(&mut out);
        return from_json(&Json::String(String::from_utf8_lossy(&out).into_owned().into()), ty, context);
    }
    from_json(json, ty, context)
}

/// As error 1690 calls a type.
fn name(ty: &ColumnType) -> &'static str {
    match ty.kind {
        TypeKind::BigInt if ty.unsigned => "UNSIGNED",
        TypeKind::BigInt => "SIGNED",
        TypeKind::Decimal => "DECIMAL",
        TypeKind::Float => "FLOAT",
        TypeKind::Double => "DOUBLE",
        TypeKind::Date => "DATE",
        TypeKind::Time => "TIME",
        TypeKind::DateTime => "DATETIME",
        TypeKind::Year => "YEAR",
        _ => "STRING",
    }
}

/// The default that a statement writes, as a value of the type; errors 1292, 1690 and 3141.
pub fn default_value(json: &Json, ty: &ColumnType, sql_mode: u64) -> Result<Value> {
    let context = StoreContext { sql_mode, time_zone: &TimeZone::Utc, today: Date::ZERO };
    from_json(json, ty, &context).map_err(|_| {
        let Json::String(text) = json else { return out_of_range(ty) };
        let kind = match ty.kind {
            TypeKind::BigInt if ty.unsigned => "INTEGER UNSIGNED",
            TypeKind::BigInt => "INTEGER SIGNED",
            TypeKind::Decimal => "DECIMAL",
            TypeKind::Float | TypeKind::Double => "DOUBLE",
            TypeKind::Date => "date",
            TypeKind::Time => "time",
            TypeKind::Year => "YEAR",
            TypeKind::DateTime => {
                return Error::with_message(&errno::ER_TRUNCATED_WRONG_VALUE, format!("Incorrect datetime value: '{text}'"));
            }
            _ => return out_of_range(ty),
        };
        Error::new(&errno::ER_TRUNCATED_WRONG_VALUE, &[&kind, text])
    })
}

fn out_of_range(ty: &ColumnType) -> Error {
    let kind = if is_string(ty) { "CHAR" } else { name(ty) };
    Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&format_args!("{kind} DEFAULT"), &NAME])
}
