//! What the JSON functions do to values.
//!
//! Paths given to `edit`, `remove`, `array_append` and `array_insert` must not have
//! wildcards; the caller raises error 3149 first (`JsonPath::can_match_many`).

use std::sync::Arc;

use super::path::{JsonPath, Leg, push_member};
use super::{Json, JsonObject};
use crate::Error;

/// Which of JSON_SET, JSON_INSERT and JSON_REPLACE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    Set,
    Insert,
    Replace,
}

fn any_contains<E>(items: &[Json], wanted: &Json, go_on: &mut dyn FnMut() -> Result<(), E>) -> Result<bool, E> {
    go_on()?;
    for item in items {
        if item.contains(wanted, go_on)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Json {
    /// JSON_EXTRACT: the value of a single path without wildcards, else an array of all values
    /// found; `None` (SQL NULL) if nothing is found.
    pub fn extract(&self, paths: &[JsonPath], go_on: &mut dyn FnMut() -> Result<(), Error>) -> Result<Option<Json>, Error> {
        let many = paths.len() > 1 || paths.iter().any(JsonPath::can_match_many);
        let mut found = Vec::new();
        for path in paths {
            found.extend(self.seek_while(path, go_on)?.into_iter().cloned());
        }
        if !many {
            return Ok(found.into_iter().next());
        }
        Ok((!found.is_empty()).then(|| Json::array(found)))
    }

    /// JSON_SET, JSON_INSERT or JSON_REPLACE of one path.
    pub fn edit(&mut self, path: &JsonPath, value: Json, edit: Edit) {
        if let Some(target) = self.target(&path.legs) {
            if edit != Edit::Insert {
                *target = value;
            }
            return;
        }
        if edit == Edit::Replace {
            return;
        }
        let Some((leg, parents)) = path.legs.split_last() else { return };
        let Some(parent) = self.target(parents) else { return };
        match (leg, parent) {
            (Leg::Member(name), Json::Object(o)) => Arc::make_mut(o).insert(name, value),
            (Leg::Cell(index), Json::Array(a)) => {
                let items = Arc::make_mut(a);
                if index.resolve(items.len()) < 0 && !items.is_empty() {
                    items.insert(0, value);
                } else {
                    items.push(value);
                }
            }
            (Leg::Cell(index), scalar) => {
                let old = std::mem::replace(scalar, Json::Null);
                *scalar = Json::array(if index.resolve(1) < 0 { vec![value, old] } else { vec![old, value] });
            }
            _ => {}
        }
    }

    /// JSON_REMOVE of one path, which is not `$` (error 3153).
    pub fn remove(&mut self, path: &JsonPath) {
        let mut legs = &path.legs[..];
        while let Some((leg, parents)) = legs.split_last() {
            match (leg, self.target(parents)) {
                (Leg::Member(name), Some(Json::Object(o))) if o.get(name).is_some() => {
                    Arc::make_mut(o).remove(name);
                }
                (Leg::Cell(index), Some(Json::Array(a))) => {
                    if let Some(i) = index.within(a.len()) {
                        Arc::make_mut(a).remove(i);
                    }
                }
                // `[0]` of what is no array is the value itself.
                (Leg::Cell(_), Some(_)) if leg.wraps() => {
                    legs = parents;
                    continue;
                }
                _ => {}
            }
            return;
        }
    }

    /// JSON_ARRAY_APPEND of one path.
    pub fn array_append(&mut self, path: &JsonPath, value: Json) {
        match self.target(&path.legs) {
            Some(Json::Array(a)) => Arc::make_mut(a).push(value),
            Some(other) => {
                let old = std::mem::replace(other, Json::Null);
                *other = Json::array(vec![old, value]);
            }
            None => {}
        }
    }

    /// JSON_ARRAY_INSERT of one path, which ends in a cell (error 3165).
    pub fn array_insert(&mut self, path: &JsonPath, value: Json) {
        let Some((Leg::Cell(index), parents)) = path.legs.split_last() else { return };
        if let Some(Json::Array(a)) = self.target(parents) {
            let at = index.resolve(a.len()).clamp(0, a.len() as i64) as usize;
            Arc::make_mut(a).insert(at, value);
        }
    }

    /// The one value that legs without wildcards name.
    fn target(&mut self, legs: &[Leg]) -> Option<&mut Json> {
        let mut value = self;
        for leg in legs {
            value = match (leg, value) {
                (Leg::Member(name), Json::Object(o)) => {
                    // Look before `make_mut` copies the object.
                    o.get(name)?;
                    Arc::make_mut(o).get_mut(name)?
                }
                (Leg::Cell(index), Json::Array(a)) => {
                    let i = index.within(a.len())?;
                    Arc::make_mut(a).get_mut(i)?
                }
                (Leg::Cell(_), other) if leg.wraps() => other,
                _ => return None,
            };
        }
        Some(value)
    }

    /// JSON_MERGE_PRESERVE of two values.
    pub fn merge_preserve(self, other: Json) -> Json {
        match (self, other) {
            (Json::Object(mut a), Json::Object(b)) => {
                let merged = Arc::make_mut(&mut a);
                for (key, value) in b.iter() {
                    let value = match merged.remove(key) {
                        Some(old) => old.merge_preserve(value.clone()),
                        None => value.clone(),
                    };
                    merged.insert(key, value);
                }
                Json::Object(a)
            }
            (a, b) => {
                let mut items = a.into_items();
                items.extend(b.into_items());
                Json::array(items)
            }
        }
    }

    fn into_items(self) -> Vec<Json> {
        match self {
            Json::Array(a) => Arc::unwrap_or_clone(a),
            other => vec![other],
        }
    }

    /// JSON_MERGE_PATCH of two values (RFC 7396).
    pub fn merge_patch(self, patch: &Json) -> Json {
        let Json::Object(changes) = patch else { return patch.clone() };
        let mut target = match self {
            Json::Object(o) => Arc::unwrap_or_clone(o),
            _ => JsonObject::new(),
        };
        for (key, change) in changes.iter() {
            let old = target.remove(key);
            if !matches!(change, Json::Null) {
                target.insert(key, old.unwrap_or(Json::Null).merge_patch(change));
            }
        }
        Json::object(target)
    }

    /// JSON_CONTAINS without a path. Each element may have to be compared with each other one, so `go_on` is asked now and then.
    pub fn contains<E>(&self, candidate: &Json, go_on: &mut dyn FnMut() -> Result<(), E>) -> Result<bool, E> {
        match (self, candidate) {
            (Json::Array(items), Json::Array(wanted)) => {
                for w in wanted.iter() {
                    if !any_contains(items, w, go_on)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Json::Array(items), wanted) => any_contains(items, wanted, go_on),
            (Json::Object(object), Json::Object(wanted)) => {
                for (key, w) in wanted.iter() {
                    let Some(value) = object.get(key) else { return Ok(false) };
                    if !value.contains(w, go_on)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (a, b) => Ok(a.is_scalar() && b.is_scalar() && a == b),
        }
    }

    /// JSON_OVERLAPS; `go_on` as in `contains`.
    pub fn overlaps<E>(&self, other: &Json, go_on: &mut dyn FnMut() -> Result<(), E>) -> Result<bool, E> {
        match (self, other) {
            (Json::Object(a), Json::Object(b)) => Ok(a.iter().any(|(key, v)| b.get(key).is_some_and(|w| v == w))),
            (Json::Array(a), Json::Array(b)) => {
                for v in a.iter() {
                    go_on()?;
                    if b.contains(v) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (Json::Array(a), v) | (v, Json::Array(a)) => Ok(a.contains(v)),
            (a, b) => Ok(a == b),
        }
    }

    /// `self MEMBER OF (array)`.
    pub fn member_of(&self, array: &Json) -> bool {
        match array {
            Json::Array(a) => a.contains(self),
            other => self == other,
        }
    }

    /// JSON_KEYS; `None` (SQL NULL) if this is no object.
    pub fn keys(&self) -> Option<Json> {
        match self {
            Json::Object(o) => Some(Json::array(o.iter().map(|(k, _)| Json::string(k)).collect())),
            _ => None,
        }
    }

    /// JSON_SEARCH: the paths of the strings that `matches`, as a string if there is one, as an
    /// array if there are more; only the first if `one`. `within` are paths to search in, none for `$`.
    pub fn search(
        &self,
        matches: &dyn Fn(&str) -> Result<bool, Error>,
        one: bool,
        within: &[JsonPath],
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Option<Json>, Error> {
        let mut all: Vec<(String, &Json)> = Vec::new();
        self.strings("$".to_string(), &mut all);
        let mut allowed: Option<std::collections::HashSet<*const Json>> = None;
        if !within.is_empty() {
            let mut inside = Vec::new();
            for path in within {
                self.seek_while(path, go_on)?.into_iter().for_each(|j| j.strings(String::new(), &mut inside));
            }
            allowed = Some(inside.iter().map(|(_, j)| *j as *const Json).collect());
        }
        let mut found: Vec<Json> = Vec::new();
        for (path, value) in all {
            let Json::String(s) = value else { continue };
            if allowed.as_ref().is_none_or(|a| a.contains(&(value as *const Json))) && matches(s)? {
                found.push(Json::string(path));
                if one {
                    break;
                }
            }
        }
        Ok(if found.len() > 1 { Some(Json::array(found)) } else { found.pop() })
    }

    /// Every string in the value with its path.
    fn strings<'a>(&'a self, path: String, all: &mut Vec<(String, &'a Json)>) {
        match self {
            Json::String(_) => all.push((path, self)),
            Json::Array(a) => a.iter().enumerate().for_each(|(i, v)| v.strings(format!("{path}[{i}]"), all)),
            Json::Object(o) => o.iter().for_each(|(key, v)| {
                let mut member = path.clone();
                push_member(&mut member, key);
                v.strings(member, all);
            }),
            _ => {}
        }
    }
}
