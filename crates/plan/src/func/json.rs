//! The JSON functions: arguments, errors and typing; `vaquita_types::json` does the work.
//!
//! A document argument is a JSON value or a text that is parsed (error 3141 with the function's
//! name); a value argument is any SQL value, and a text there is a JSON string.

use vaquita_types::charset::CollationId;
use vaquita_types::json::{Edit, Json, JsonError, JsonObject, JsonPath, quote, unquote};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::args::{MANY, any_nullable, def};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::eval::arg;
use crate::eval::coerce;
use crate::eval::json::{document, sql_to_json};
use crate::expr::Expr;
use crate::text;
use crate::typing::{as_truths_or_numbers, int_of_length, is_string};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("JSON_ARRAY", 0, MANY, json_null, array),
    def("JSON_OBJECT", 0, MANY, json_null, object),
    def("JSON_EXTRACT", 2, MANY, json_null, extract),
    def("JSON_UNQUOTE", 1, 1, resolve_unquote, unquote_value),
    def("JSON_QUOTE", 1, 1, resolve_quote, quote_value),
    def("JSON_CONTAINS", 2, 3, boolean, contains),
    def("JSON_CONTAINS_PATH", 3, MANY, boolean, contains_path),
    def("JSON_OVERLAPS", 2, 2, |a| FuncType::number(ColumnType::boolean(), any_nullable(a)), overlaps),
    def("MEMBER OF", 2, 2, |a| FuncType::number(ColumnType::boolean(), any_nullable(a)), member_of),
    def("JSON_KEYS", 1, 2, json_null, keys),
    def("JSON_LENGTH", 1, 2, |_| FuncType::number(int_of_length(21), true), length),
    def("JSON_DEPTH", 1, 1, |_| FuncType::number(int_of_length(21), true), depth),
    def("JSON_TYPE", 1, 1, |_| utf8(17), type_name),
    def("JSON_VALID", 1, 1, boolean, valid),
    def("JSON_SEARCH", 3, MANY, json_null, search),
    def("JSON_SET", 3, MANY, json_null, |c, cx| edit(c, cx, "json_set", Edit::Set)),
    def("JSON_INSERT", 3, MANY, json_null, |c, cx| edit(c, cx, "json_insert", Edit::Insert)),
    def("JSON_REPLACE", 3, MANY, json_null, |c, cx| edit(c, cx, "json_replace", Edit::Replace)),
    def("JSON_REMOVE", 2, MANY, json_null, remove),
    def("JSON_ARRAY_APPEND", 3, MANY, json_null, |c, cx| array_edit(c, cx, "json_array_append")),
    def("JSON_ARRAY_INSERT", 3, MANY, json_null, |c, cx| array_edit(c, cx, "json_array_insert")),
    def("JSON_MERGE", 2, MANY, json_null, merge_preserve),
    def("JSON_MERGE_PRESERVE", 2, MANY, json_null, merge_preserve),
    def("JSON_MERGE_PATCH", 2, MANY, json_null, merge_patch),
    def("JSON_PRETTY", 1, 1, long_text, pretty),
    def("JSON_STORAGE_SIZE", 1, 1, |_| FuncType::number(int_of_length(21), true), storage_size),
    def(
        "JSON_STORAGE_FREE",
        1,
        1,
        |_| FuncType::number(int_of_length(21), true),
        |c, cx| Ok(arg!(doc(c, 0, cx, "json_storage_free").map(|j| j.map(|_| Value::Int(0))))),
    ),
];

fn json_type() -> ColumnType {
    ColumnType::new(TypeKind::Json)
}

fn json_null(args: &mut Vec<Expr>) -> Result<FuncType> {
    as_truths_or_numbers(args);
    Ok(FuncType { ty: json_type(), nullable: true, coercibility: 2 })
}

fn boolean(_: &mut Vec<Expr>) -> Result<FuncType> {
    FuncType::number(int_of_length(21), true)
}

/// Text that JSON functions make compares as JSON's does.
fn utf8(chars: u64) -> Result<FuncType> {
    Ok(FuncType { ty: crate::typing::string_type(chars, CollationId::UTF8MB4_BIN), nullable: true, coercibility: 4 })
}

fn long_text(_: &mut Vec<Expr>) -> Result<FuncType> {
    let ty = ColumnType { length: u32::MAX, collation: CollationId::UTF8MB4_BIN, ..ColumnType::new(TypeKind::LongText) };
    Ok(FuncType { ty, nullable: true, coercibility: 4 })
}

/// A document may hold any text; a text does not become longer.
fn resolve_unquote(args: &mut Vec<Expr>) -> Result<FuncType> {
    match args.first() {
        Some(a) if a.ty.kind == TypeKind::Null => utf8(0),
        Some(a) if a.ty.is_bytes() => {
            let chars = u64::from(crate::typing::char_length(&a.ty));
            Ok(FuncType { ty: crate::typing::string_type(chars, CollationId::UTF8MB4_BIN), nullable: true, coercibility: 4 })
        }
        _ => long_text(args),
    }
}

fn resolve_quote(args: &mut Vec<Expr>) -> Result<FuncType> {
    let chars = args.first().map_or(0, |a| u64::from(crate::typing::char_length(&a.ty)));
    utf8(chars * 6 + 2)
}

/// Argument `i` as a document.
fn doc(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>, function: &str) -> Result<Option<Json>> {
    document(&*call.value(i, cx)?, call.arg_type(i), i, function)
}

/// Argument `i` as a value.
fn scalar(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>) -> Result<Json> {
    sql_to_json(&*call.value(i, cx)?, call.arg_type(i), cx.env)
}

/// Argument `i` as a path, whatever its charset is.
pub(super) fn parsed_path(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>) -> Result<Option<JsonPath>> {
    let Some(text) = call.text(i, cx)? else { return Ok(None) };
    let ty = call.arg_type(i);
    if ty.is_bytes() && ty.collation == CollationId::BINARY {
        return Err(Error::new(&errno::ER_INVALID_JSON_CHARSET, &[&"binary"]));
    }
    JsonPath::parse(&utf8_of(&text, ty)).map(Some).map_err(|e| Error::new(&errno::ER_INVALID_JSON_PATH, &[&e.position]))
}

fn path(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>, wildcards: bool) -> Result<Option<JsonPath>> {
    let Some(parsed) = parsed_path(call, i, cx)? else { return Ok(None) };
    if !wildcards && parsed.can_match_many() {
        return Err(Error::new(&errno::ER_INVALID_JSON_PATH_WILDCARD, &[]));
    }
    Ok(Some(parsed))
}

/// The paths from argument `first` on; `None` if one is NULL.
fn paths(call: &FuncCall<'_>, first: usize, cx: &EvalCx<'_>, wildcards: bool) -> Result<Option<Vec<JsonPath>>> {
    (first..call.len()).map(|i| path(call, i, cx, wildcards)).collect()
}

fn or_null(json: Option<Json>) -> Value {
    json.map_or(Value::Null, Value::Json)
}

fn array(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let items = (0..call.len()).map(|i| scalar(call, i, cx)).collect::<Result<Vec<_>>>()?;
    Ok(Value::Json(Json::array(items)))
}

fn object(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let mut members = Vec::with_capacity(call.len() / 2);
    for i in (0..call.len()).step_by(2) {
        let Some(key) = call.text(i, cx)? else { return Err(Error::new(&errno::ER_JSON_DOCUMENT_NULL_KEY, &[])) };
        if call.arg_type(i).is_bytes() && call.arg_type(i).collation == CollationId::BINARY {
            return Err(Error::new(&errno::ER_INVALID_JSON_CHARSET, &[&"binary"]));
        }
        members.push((utf8_of(&key, call.arg_type(i)).into_boxed_str(), scalar(call, i + 1, cx)?));
    }
    Ok(Value::Json(Json::object(JsonObject::from_members(members))))
}

fn extract(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let json = arg!(doc(call, 0, cx, "json_extract"));
    let paths = arg!(paths(call, 1, cx, true));
    Ok(or_null(json.extract(&paths, &mut || cx.env.check_interrupt())?))
}

fn unquote_value(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let value = call.value(0, cx)?;
    match &*value {
        Value::Null => Ok(Value::Null),
        Value::Json(j) => {
            let mut out = Vec::new();
            j.write_unquoted(&mut out);
            Ok(Value::from(out))
        }
        Value::Bytes(_) if call.arg_type(0).collation == CollationId::BINARY => {
            Err(Error::new(&errno::ER_INVALID_JSON_CHARSET, &[&"binary"]))
        }
        Value::Bytes(b) => {
            let utf8 = utf8_of(b, call.arg_type(0));
            let b = utf8.as_bytes();
            let quoted = b.len() >= 2 && b.first() == Some(&b'"') && b.last() == Some(&b'"');
            if !quoted {
                return Ok(Value::bytes(b));
            }
            match unquote(b) {
                Ok(text) => Ok(Value::from(text)),
                Err(JsonError::Syntax { message, position }) => {
                    Err(Error::new(&errno::ER_INVALID_JSON_TEXT_IN_PARAM, &[&1, &"json_unquote", &message, &position]))
                }
                Err(JsonError::TooDeep) => Err(Error::new(&errno::ER_JSON_DOCUMENT_TOO_DEEP, &[])),
            }
        }
        label if is_string(call.arg_type(0)) => {
            Ok(Value::from(text::to_utf8(&coerce::text_of(label, call.arg_type(0)), call.arg_type(0).collation)))
        }
        _ => Err(Error::new(&errno::ER_INCORRECT_TYPE, &[&1, &"json_unquote"])),
    }
}

fn quote_value(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    match &*call.value(0, cx)? {
        Value::Null => Ok(Value::Null),
        Value::Bytes(_) if call.arg_type(0).collation == CollationId::BINARY => {
            Err(Error::new(&errno::ER_INVALID_JSON_CHARSET, &[&"binary"]))
        }
        Value::Bytes(b) => Ok(Value::from(quote(utf8_of(b, call.arg_type(0)).as_bytes()))),
        label if is_string(call.arg_type(0)) => Ok(Value::from(quote(&coerce::text_of(label, call.arg_type(0))))),
        _ => Err(Error::new(&errno::ER_INCORRECT_TYPE, &[&1, &"json_quote"])),
    }
}

/// A text, or what is written as one.
fn utf8_of(bytes: &[u8], ty: &ColumnType) -> String {
    if is_string(ty) && ty.collation != CollationId::BINARY {
        return text::to_utf8(bytes, ty.collation);
    }
    String::from_utf8_lossy(bytes).into_owned()
}

fn contains(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let json = arg!(doc(call, 0, cx, "json_contains"));
    let candidate = arg!(doc(call, 1, cx, "json_contains"));
    let mut go_on = || cx.env.check_interrupt();
    if call.len() < 3 {
        return Ok(Value::bool(json.contains(&candidate, &mut go_on)?));
    }
    let path = arg!(path(call, 2, cx, false));
    match json.seek_while(&path, &mut go_on)?.first() {
        Some(found) => Ok(Value::bool(found.contains(&candidate, &mut go_on)?)),
        None => Ok(Value::Null),
    }
}

/// Whether `'one'` or `'all'` was given (error 3154 otherwise).
fn one_or_all(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>, function: &str) -> Result<Option<bool>> {
    let Some(word) = call.text(i, cx)? else { return Ok(None) };
    let word = utf8_of(&word, call.arg_type(i));
    if word.eq_ignore_ascii_case("one") {
        Ok(Some(true))
    } else if word.eq_ignore_ascii_case("all") {
        Ok(Some(false))
    } else {
        Err(Error::new(&errno::ER_JSON_BAD_ONE_OR_ALL_ARG, &[&function]))
    }
}

fn contains_path(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let json = arg!(doc(call, 0, cx, "json_contains_path"));
    let one = arg!(one_or_all(call, 1, cx, "json_contains_path"));
    for i in 2..call.len() {
        let path = arg!(path(call, i, cx, true));
        let found = !json.seek_while(&path, &mut || cx.env.check_interrupt())?.is_empty();
        if found == one {
            return Ok(Value::bool(one));
        }
    }
    Ok(Value::bool(!one))
}

fn overlaps(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let a = arg!(doc(call, 0, cx, "json_overlaps"));
    let b = arg!(doc(call, 1, cx, "json_overlaps"));
    Ok(Value::bool(a.overlaps(&b, &mut || cx.env.check_interrupt())?))
}

fn member_of(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let value = call.value(0, cx)?;
    if value.is_null() {
        return Ok(Value::Null);
    }
    let array = arg!(doc(call, 1, cx, "member of"));
    Ok(Value::bool(sql_to_json(&value, call.arg_type(0), cx.env)?.member_of(&array)))
}

fn keys(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let json = arg!(doc(call, 0, cx, "json_keys"));
    if call.len() < 2 {
        return Ok(or_null(json.keys()));
    }
    let path = arg!(path(call, 1, cx, false));
    Ok(or_null(json.seek(&path).first().and_then(|found| found.keys())))
}

/// With a path, the length of what JSON_EXTRACT gives (MySQL 9 rewrites it so).
fn length(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    if call.len() < 2 {
        return Ok(Value::Int(arg!(doc(call, 0, cx, "json_length")).length() as i64));
    }
    let json = arg!(doc(call, 0, cx, "json_extract"));
    let paths = arg!(paths(call, 1, cx, true));
    Ok(json.extract(&paths, &mut || cx.env.check_interrupt())?.map_or(Value::Null, |found| Value::Int(found.length() as i64)))
}

fn depth(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    Ok(Value::Int(arg!(doc(call, 0, cx, "json_depth")).depth() as i64))
}

fn type_name(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    Ok(Value::from(arg!(doc(call, 0, cx, "json_type")).type_name()))
}

fn valid(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let value = call.value(0, cx)?;
    let ty = call.arg_type(0);
    Ok(match &*value {
        // What can be no document is none, also if it is NULL.
        Value::Null => {
            if ty.is_bytes() || matches!(ty.kind, TypeKind::Json | TypeKind::Null) {
                Value::Null
            } else {
                Value::Int(0)
            }
        }
        Value::Json(_) => Value::Int(1),
        Value::Bytes(b) if ty.collation != CollationId::BINARY => match Json::parse(utf8_of(b, ty).as_bytes()) {
            Err(JsonError::TooDeep) => return Err(Error::new(&errno::ER_JSON_DOCUMENT_TOO_DEEP, &[])),
            parsed => Value::bool(parsed.is_ok()),
        },
        _ => Value::Int(0),
    })
}

fn search(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let json = arg!(doc(call, 0, cx, "json_search"));
    let one = arg!(one_or_all(call, 1, cx, "json_search"));
    let pattern = utf8_of(&arg!(call.text(2, cx)), call.arg_type(2));
    let mut escape = Some(b'\\');
    if call.len() > 3
        && let Some(given) = call.text(3, cx)?
    {
        let given = utf8_of(&given, call.arg_type(3));
        if given.len() > 1 {
            return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"ESCAPE"]));
        }
        escape = given.bytes().next().or(Some(b'\\'));
    }
    let within = if call.len() > 4 { arg!(paths(call, 4, cx, true)) } else { Vec::new() };
    let matches = |s: &str| text::like(s.as_bytes(), pattern.as_bytes(), escape.map(u32::from), CollationId::UTF8MB4_BIN, cx.env);
    Ok(or_null(json.search(&matches, one, &within, &mut || cx.env.check_interrupt())?))
}

fn edit(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str, how: Edit) -> Result<Value> {
    let mut json = arg!(doc(call, 0, cx, function));
    for i in (1..call.len()).step_by(2) {
        let path = arg!(path(call, i, cx, false));
        json.edit(&path, scalar(call, i + 1, cx)?, how);
    }
    Ok(Value::Json(json))
}

fn array_edit(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str) -> Result<Value> {
    let mut json = arg!(doc(call, 0, cx, function));
    for i in (1..call.len()).step_by(2) {
        let path = arg!(path(call, i, cx, false));
        let value = scalar(call, i + 1, cx)?;
        if function == "json_array_append" {
            json.array_append(&path, value);
        } else if path.ends_in_cell() {
            json.array_insert(&path, value);
        } else {
            return Err(Error::new(&errno::ER_INVALID_JSON_PATH_ARRAY_CELL, &[]));
        }
    }
    Ok(Value::Json(json))
}

fn remove(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let mut json = arg!(doc(call, 0, cx, "json_remove"));
    for path in arg!(paths(call, 1, cx, false)) {
        if path.is_root() {
            return Err(Error::new(&errno::ER_JSON_VACUOUS_PATH, &[]));
        }
        json.remove(&path);
    }
    Ok(Value::Json(json))
}

fn merge_preserve(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let mut merged: Option<Json> = None;
    let mut null = false;
    for i in 0..call.len() {
        match doc(call, i, cx, "json_merge_preserve")? {
            Some(next) => {
                merged = Some(match merged {
                    Some(m) => m.merge_preserve(next),
                    None => next,
                })
            }
            None => null = true,
        }
    }
    Ok(if null { Value::Null } else { or_null(merged) })
}

/// A NULL makes the result unknown until a later argument that is no object replaces everything.
fn merge_patch(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let mut merged = doc(call, 0, cx, "json_merge_patch")?;
    for i in 1..call.len() {
        merged = match (merged, doc(call, i, cx, "json_merge_patch")?) {
            (_, None) => None,
            (Some(m), Some(patch)) => Some(m.merge_patch(&patch)),
            (None, Some(patch @ Json::Object(_))) => {
                let _ = patch;
                None
            }
            (None, Some(patch)) => Some(patch),
        };
    }
    Ok(or_null(merged))
}

fn pretty(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let json = arg!(doc(call, 0, cx, "json_pretty"));
    let mut out = Vec::new();
    let bytes_max = crate::eval::packet_bytes_max(cx.env);
    json.write_pretty(&mut out, bytes_max);
    Ok(if super::string::too_long(out.len(), "json_pretty", cx)? { Value::Null } else { Value::from(out) })
}

fn storage_size(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let json = arg!(doc(call, 0, cx, "json_storage_size"));
    let mut out = Vec::new();
    json.encode(&mut out);
    Ok(Value::Int(out.len() as i64))
}
