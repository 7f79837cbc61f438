//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT: JSON Schema, draft 4, as MySQL checks it.
//!
//! A document is walked once. For each value the parts of its schema are asked in MySQL's order, as the first that fails is the one
//! that is told: `type`, what limits a number or text, the values inside, what limits an array or object as a whole, then `enum`,
//! `allOf`, `anyOf`, `oneOf` and `not`. Example: `{"items": {"type": "string"}}` fails for `["a", 1]` at `#/1` by `type` of `#/items`.
//!
//! `$ref` knows places of the same schema. Formats, and whatever draft 4 does not have, are not looked at.

use std::cell::Cell;
use std::cmp::Ordering;

use vaquita_types::json::{Json, JsonObject};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::args::def;
use super::regexp::found_in;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{Env, EvalCx};
use crate::eval::arg;
use crate::eval::json::document;
use crate::typing::int_of_length;

/// A value is checked behind no more references to references, so that schemas that refer to themselves end.
const REFERENCES_MAX: usize = 400;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "JSON_SCHEMA_VALID",
        2,
        2,
        |_| FuncType::number(int_of_length(1), true),
        |call, cx| {
            let (schema, json) = arg!(arguments(call, cx, "json_schema_valid"));
            Ok(Value::bool(Schema::new(&schema, cx)?.failure(&json)?.is_none()))
        },
    ),
    def(
        "JSON_SCHEMA_VALIDATION_REPORT",
        2,
        2,
        |_| Ok(FuncType { ty: ColumnType::new(TypeKind::Json), nullable: true, coercibility: 2 }),
        |call, cx| {
            let (schema, json) = arg!(arguments(call, cx, "json_schema_validation_report"));
            Ok(Value::Json(report(Schema::new(&schema, cx)?.failure(&json)?)))
        },
    ),
];

/// The schema, which must be an object (error 3853), and the document.
fn arguments(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str) -> Result<Option<(Json, Json)>> {
    let Some(schema) = document(&*call.value(0, cx)?, call.arg_type(0), 0, function)? else { return Ok(None) };
    if !matches!(schema, Json::Object(_)) {
        return Err(Error::new(&errno::ER_INVALID_JSON_TYPE, &[&1, &function, &"object"]));
    }
    let Some(json) = document(&*call.value(1, cx)?, call.arg_type(1), 1, function)? else { return Ok(None) };
    Ok(Some((schema, json)))
}

/// What of a document does not fit: both places as JSON pointers behind `#`, and the keyword.
struct Failure {
    document: String,
    schema: String,
    keyword: &'static str,
}

fn report(failure: Option<Failure>) -> Json {
    let mut members: Vec<(Box<str>, Json)> = vec![("valid".into(), Json::Bool(failure.is_none()))];
    if let Some(Failure { document, schema, keyword }) = failure {
        let reason =
            format!("The JSON document location '{document}' failed requirement '{keyword}' at JSON Schema location '{schema}'");
        members.push(("reason".into(), Json::string(reason)));
        members.push(("schema-location".into(), Json::string(schema)));
        members.push(("document-location".into(), Json::string(document)));
        members.push(("schema-failed-keyword".into(), Json::string(keyword)));
    }
    Json::object(JsonObject::from_members(members))
}

/// A place in a document or schema, from the inside out.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root,
    Member(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn pointer(&self) -> String {
        match self {
            Place::Root => "#".to_string(),
            Place::Member(outer, key) => format!("{}/{}", outer.pointer(), key.replace('~', "~0").replace('/', "~1")),
            Place::Item(outer, n) => format!("{}/{n}", outer.pointer()),
        }
    }
}

struct Schema<'a> {
    root: &'a Json,
    env: &'a dyn Env,
    /// Schemas that have been asked, for whoever looks at the interrupt.
    asked: Cell<u32>,
}

/// How often the interrupt is looked at.
const INTERRUPT_EVERY: u32 = 256;

type Checked = Result<Option<Failure>>;

/// Ends with the first failure.
macro_rules! ensure {
    ($checked:expr) => {
        if let Some(failure) = $checked? {
            return Ok(Some(failure));
        }
    };
}

impl<'a> Schema<'a> {
    fn new(root: &'a Json, cx: &'a EvalCx<'_>) -> Result<Schema<'a>> {
        refuse_references(root)?;
        Ok(Schema { root, env: cx.env, asked: Cell::new(0) })
    }

    fn failure(&self, json: &Json) -> Checked {
        self.value(self.root, &Place::Root, json, &Place::Root, 0)
    }

    /// `json` at `at` against `schema` at `place`, behind `depth` references.
    fn value(&self, schema: &Json, place: &Place<'_>, json: &Json, at: &Place<'_>, depth: usize) -> Checked {
        self.asked.set(self.asked.get() + 1);
        if self.asked.get().is_multiple_of(INTERRUPT_EVERY) {
            self.env.check_interrupt()?;
        }
        let Json::Object(keywords) = schema else { return Ok(None) };
        if let Some(Json::String(reference)) = keywords.get("$ref") {
            if depth >= REFERENCES_MAX {
                return Err(Error::new(&errno::ER_JSON_DOCUMENT_TOO_DEEP, &[]));
            }
            let target = self.at_pointer(reference);
            return target.map_or(Ok(None), |target| self.value(target, place, json, at, depth + 1));
        }
        let fails = |keyword| Ok(Some(Failure { document: at.pointer(), schema: place.pointer(), keyword }));
        if !keywords.get("type").is_none_or(|ty| is_of_type(json, ty)) {
            return fails("type");
        }
        if let Some(keyword) = wrong_number(keywords, json).or(self.wrong_text(keywords, json)?) {
            return fails(keyword);
        }
        match json {
            Json::Array(items) => {
                ensure!(self.items(keywords, place, items, at, depth));
                let count = items.len() as f64;
                if let Some(keyword) = beyond(keywords, count, "minItems", "maxItems") {
                    return fails(keyword);
                }
            }
            Json::Object(members) => {
                ensure!(self.members(keywords, place, members, at, depth));
                if let Some(keyword) = wrong_members(keywords, members) {
                    return fails(keyword);
                }
                if !self.dependencies_hold(keywords, json, members, depth)? {
                    return fails("dependencies");
                }
            }
            _ => {}
        }
        if let Some(Json::Array(allowed)) = keywords.get("enum")
            && !allowed.iter().any(|value| value.cmp(json).is_eq())
        {
            return fails("enum");
        }
        match self.wrong_combination(keywords, json, depth)? {
            Some(keyword) => fails(keyword),
            None => Ok(None),
        }
    }

    fn is_valid(&self, schema: &Json, json: &Json, depth: usize) -> Result<bool> {
        Ok(self.value(schema, &Place::Root, json, &Place::Root, depth)?.is_none())
    }

    fn wrong_combination(&self, keywords: &JsonObject, json: &Json, depth: usize) -> Result<Option<&'static str>> {
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let Some(Json::Array(schemas)) = keywords.get(keyword) else { continue };
            let mut valid = 0;
            for schema in schemas.iter() {
                valid += usize::from(self.is_valid(schema, json, depth + 1)?);
            }
            let holds = match keyword {
                "allOf" => valid == schemas.len(),
                "anyOf" => valid > 0,
                _ => valid == 1,
            };
            if !holds {
                return Ok(Some(keyword));
            }
        }
        match keywords.get("not") {
            Some(schema @ Json::Object(_)) if self.is_valid(schema, json, depth + 1)? => Ok(Some("not")),
            _ => Ok(None),
        }
    }

    fn wrong_text(&self, keywords: &JsonObject, json: &Json) -> Result<Option<&'static str>> {
        let Json::String(text) = json else { return Ok(None) };
        if let Some(keyword) = beyond(keywords, text.chars().count() as f64, "minLength", "maxLength") {
            return Ok(Some(keyword));
        }
        match keywords.get("pattern") {
            Some(Json::String(pattern)) => Ok((!found_in(text, pattern)?).then_some("pattern")),
            _ => Ok(None),
        }
    }

    fn items(&self, keywords: &JsonObject, place: &Place<'_>, items: &[Json], at: &Place<'_>, depth: usize) -> Checked {
        let unique = matches!(keywords.get("uniqueItems"), Some(Json::Bool(true)));
        let of_items = Place::Member(place, "items");
        for (n, item) in items.iter().enumerate() {
            let here = Place::Item(at, n);
            let fails = |keyword| Ok(Some(Failure { document: here.pointer(), schema: place.pointer(), keyword }));
            match (keywords.get("items"), keywords.get("additionalItems")) {
                (Some(schema @ Json::Object(_)), _) => ensure!(self.value(schema, &of_items, item, &here, depth)),
                (Some(Json::Array(schemas)), additional) => match (schemas.get(n), additional) {
                    (Some(schema), _) => ensure!(self.value(schema, &Place::Item(&of_items, n), item, &here, depth)),
                    (None, Some(schema @ Json::Object(_))) => {
                        ensure!(self.value(schema, &Place::Member(place, "additionalItems"), item, &here, depth));
                    }
                    (None, Some(Json::Bool(false))) => return fails("additionalItems"),
                    _ => {}
                },
                _ => {}
            }
            if unique && items[..n].iter().any(|before| before.cmp(item).is_eq()) {
                return fails("uniqueItems");
            }
            self.env.check_interrupt()?;
        }
        Ok(None)
    }

    fn members(&self, keywords: &JsonObject, place: &Place<'_>, members: &JsonObject, at: &Place<'_>, depth: usize) -> Checked {
        let object = |keyword: &str| match keywords.get(keyword) {
            Some(Json::Object(object)) => Some(object),
            _ => None,
        };
        let of_properties = Place::Member(place, "properties");
        for (key, value) in members.iter() {
            let here = Place::Member(at, key);
            let mut known = false;
            if let Some(schema) = object("properties").and_then(|properties| properties.get(key)) {
                known = true;
                ensure!(self.value(schema, &Place::Member(&of_properties, key), value, &here, depth));
            }
            for (pattern, schema) in object("patternProperties").into_iter().flat_map(|patterns| patterns.iter()) {
                if found_in(key, pattern)? {
                    known = true;
                    if !self.is_valid(schema, value, depth + 1)? {
                        let keyword = "patternProperties";
                        return Ok(Some(Failure { document: here.pointer(), schema: place.pointer(), keyword }));
                    }
                }
            }
            match keywords.get("additionalProperties").filter(|_| !known) {
                Some(Json::Bool(false)) => {
                    let keyword = "additionalProperties";
                    return Ok(Some(Failure { document: here.pointer(), schema: place.pointer(), keyword }));
                }
                Some(schema) => ensure!(self.value(schema, &Place::Member(place, "additionalProperties"), value, &here, depth)),
                None => {}
            }
        }
        Ok(None)
    }

    fn dependencies_hold(&self, keywords: &JsonObject, json: &Json, members: &JsonObject, depth: usize) -> Result<bool> {
        let Some(Json::Object(dependencies)) = keywords.get("dependencies") else { return Ok(true) };
        for (_, dependency) in dependencies.iter().filter(|(key, _)| members.get(key).is_some()) {
            let holds = match dependency {
                Json::Array(keys) => keys.iter().all(|needed| has_member(members, needed)),
                schema => self.is_valid(schema, json, depth + 1)?,
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What `#/definitions/a` names in the schema.
    fn at_pointer(&self, reference: &str) -> Option<&'a Json> {
        let steps = reference.strip_prefix('#')?;
        steps.split('/').skip(1).try_fold(self.root, |json, step| match json {
            Json::Object(object) => object.get(&step.replace("~1", "/").replace("~0", "~")),
            Json::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }
}

/// Error 1235 for a reference to another schema.
fn refuse_references(schema: &Json) -> Result<()> {
    match schema {
        Json::Object(members) => members.iter().try_for_each(|(key, value)| match value {
            Json::String(target) if key == "$ref" && !target.starts_with('#') => {
                Err(Error::new(&errno::ER_NOT_SUPPORTED_YET, &[&"references in JSON Schema"]))
            }
            value => refuse_references(value),
        }),
        Json::Array(items) => items.iter().try_for_each(refuse_references),
        _ => Ok(()),
    }
}

fn is_of_type(json: &Json, ty: &Json) -> bool {
    match ty {
        Json::String(name) => match name.as_str() {
            "null" => matches!(json, Json::Null),
            "boolean" => matches!(json, Json::Bool(_)),
            "object" => matches!(json, Json::Object(_)),
            "array" => matches!(json, Json::Array(_)),
            "string" => !matches!(json, Json::Null | Json::Bool(_) | Json::Object(_) | Json::Array(_)) && number(json).is_none(),
            "integer" => matches!(json, Json::Int(_) | Json::UInt(_)),
            "number" => number(json).is_some(),
            _ => false,
        },
        Json::Array(names) => names.iter().any(|name| matches!(name, Json::String(_)) && is_of_type(json, name)),
        _ => false,
    }
}

fn number(json: &Json) -> Option<f64> {
    Some(match json {
        Json::Int(n) => *n as f64,
        Json::UInt(n) => *n as f64,
        Json::Double(f) => *f,
        Json::Decimal(d) => d.to_f64(),
        _ => return None,
    })
}

fn wrong_number(keywords: &JsonObject, json: &Json) -> Option<&'static str> {
    let value = number(json)?;
    let bound = |keyword: &str| keywords.get(keyword).filter(|bound| number(bound).is_some());
    let excludes = |keyword: &str| matches!(keywords.get(keyword), Some(Json::Bool(true)));
    if let Some(low) = bound("minimum") {
        let order = compare(json, low);
        if order.is_lt() || order.is_eq() && excludes("exclusiveMinimum") {
            return Some("minimum");
        }
    }
    if let Some(high) = bound("maximum") {
        let order = compare(json, high);
        if order.is_gt() || order.is_eq() && excludes("exclusiveMaximum") {
            return Some("maximum");
        }
    }
    let unit = bound("multipleOf")?;
    let divides = match (whole(json), whole(unit)) {
        (_, Some(0)) => true,
        (Some(n), Some(unit)) => n % unit == 0,
        _ => is_multiple(value, number(unit)?),
    };
    (!divides).then_some("multipleOf")
}

/// Integers are compared as such, other numbers as doubles.
fn compare(a: &Json, b: &Json) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal),
    }
}

fn whole(json: &Json) -> Option<i128> {
    match json {
        Json::Int(n) => Some(i128::from(*n)),
        Json::UInt(n) => Some(i128::from(*n)),
        _ => None,
    }
}

/// As far as doubles tell: 0.3 is a multiple of 0.1.
fn is_multiple(value: f64, unit: f64) -> bool {
    if unit <= 0.0 {
        return true;
    }
    let quotient = value.abs() / unit;
    let rounded = quotient.round();
    (rounded - quotient).abs() <= (quotient + rounded) * f64::EPSILON
}

/// The keyword that `count` is too small or too great for.
fn beyond(keywords: &JsonObject, count: f64, min: &'static str, max: &'static str) -> Option<&'static str> {
    let limit = |keyword: &str| keywords.get(keyword).filter(|limit| whole(limit).is_some()).and_then(number);
    if limit(min).is_some_and(|least| count < least) {
        return Some(min);
    }
    limit(max).is_some_and(|most| count > most).then_some(max)
}

fn has_member(members: &JsonObject, key: &Json) -> bool {
    matches!(key, Json::String(key) if members.get(key).is_some())
}

fn wrong_members(keywords: &JsonObject, members: &JsonObject) -> Option<&'static str> {
    if let Some(Json::Array(required)) = keywords.get("required")
        && !required.iter().all(|key| !matches!(key, Json::String(_)) || has_member(members, key))
    {
        return Some("required");
    }
    beyond(keywords, members.len() as f64, "minProperties", "maxProperties")
}
