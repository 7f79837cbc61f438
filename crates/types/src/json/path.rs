//! The JSON path language: `$.a[0]."b c"[last-1]**.x[1 to 3].*[*]`.
//!
//! `JsonPath::parse` reads it with MySQL's error positions; `Json::seek` gives the
//! values that it names. A value that is not an array counts as an array of one
//! for `[0]`, `[last]` and ranges that hold them.

use std::collections::HashSet;

use super::parse::parse_string_literal;
use super::{JSON_PATH_LEGS_MAX, Json, print::quote};
use crate::Error;

#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    pub(super) legs: Vec<Leg>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Leg {
    Member(Box<str>),
    AnyMember,
    Cell(Index),
    AnyCell,
    Range(Index, Index),
    /// `**`: the value and everything in it.
    Ellipsis,
}

/// An array position, counted from the start or, for `last-n`, from the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Index {
    pub from_end: bool,
    pub n: u32,
}

/// Error 3143, "Invalid JSON path expression. The error is around character position %u."
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathError {
    pub position: usize,
}

impl Index {
    /// The position in an array of `len`; negative if it lies before the start.
    pub(super) fn resolve(self, len: usize) -> i64 {
        if self.from_end { len as i64 - 1 - self.n as i64 } else { self.n as i64 }
    }

    pub(super) fn within(self, len: usize) -> Option<usize> {
        usize::try_from(self.resolve(len)).ok().filter(|i| *i < len)
    }
}

impl Leg {
    /// The leg names the value itself if that is no array.
    pub(super) fn wraps(&self) -> bool {
        match self {
            Leg::Cell(index) => index.within(1).is_some(),
            Leg::Range(..) => self.range(1).is_some(),
            _ => false,
        }
    }

    /// The positions of a range in an array of `len`, if there are any.
    fn range(&self, len: usize) -> Option<std::ops::Range<usize>> {
        let Leg::Range(from, to) = self else { return None };
        let begin = from.resolve(len).clamp(0, len as i64) as usize;
        let end = (to.resolve(len) + 1).clamp(0, len as i64) as usize;
        (begin < end).then_some(begin..end)
    }
}

impl JsonPath {
    pub fn parse(text: &str) -> Result<JsonPath, PathError> {
        let mut p = PathParser { text, at: 0 };
        p.skip_space();
        if p.at == text.len() {
            return Err(p.error());
        }
        if p.next() != Some('$') {
            return Err(p.error());
        }
        let mut legs = Vec::new();
        p.skip_space();
        while p.at < text.len() {
            legs.push(p.leg()?);
            if legs.len() > JSON_PATH_LEGS_MAX {
                return Err(p.error());
            }
            p.skip_space();
        }
        if legs.last() == Some(&Leg::Ellipsis) {
            return Err(p.error());
        }
        Ok(JsonPath { legs })
    }

    /// The path may name more than one value (it has `*`, `**` or a range).
    pub fn can_match_many(&self) -> bool {
        self.legs.iter().any(|l| !matches!(l, Leg::Member(_) | Leg::Cell(_)))
    }

    /// `$`.
    pub fn is_root(&self) -> bool {
        self.legs.is_empty()
    }

    /// The last leg is an array cell.
    pub fn ends_in_cell(&self) -> bool {
        matches!(self.legs.last(), Some(Leg::Cell(_)))
    }
}

struct PathParser<'a> {
    text: &'a str,
    at: usize,
}

impl PathParser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn error(&self) -> PathError {
        PathError { position: self.text.get(..self.at).unwrap_or("").chars().count() }
    }

    fn leg(&mut self) -> Result<Leg, PathError> {
        match self.peek() {
            Some('.') => {
                self.at += 1;
                self.member()
            }
            Some('[') => {
                self.at += 1;
                self.cell()
            }
            Some('*') => {
                self.at += 1;
                if self.peek() != Some('*') {
                    return Err(self.error());
                }
                self.at += 1;
                if matches!(self.peek(), None | Some('*')) {
                    return Err(self.error());
                }
                Ok(Leg::Ellipsis)
            }
            _ => Err(self.error()),
        }
    }

    fn member(&mut self) -> Result<Leg, PathError> {
        self.skip_space();
        match self.peek() {
            None => Err(self.error()),
            Some('*') => {
                self.at += 1;
                Ok(Leg::AnyMember)
            }
            Some('"') => {
                let bytes = self.rest().as_bytes();
                let mut end = 1;
                while end < bytes.len() && bytes[end] != b'"' {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                end = (end + 1).min(bytes.len());
                let literal = parse_string_literal(&bytes[..end]);
                self.at += end;
                literal.map(|name| Leg::Member(name.into())).ok_or_else(|| self.error())
            }
            Some(_) => {
                let rest = self.rest();
                let end = rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '.' | '[' | '*')).unwrap_or(rest.len());
                let name: Box<str> = rest[..end].into();
                self.at += end;
                if is_identifier(&name) { Ok(Leg::Member(name)) } else { Err(self.error()) }
            }
        }
    }

    fn cell(&mut self) -> Result<Leg, PathError> {
        self.skip_space();
        let leg = if self.peek() == Some('*') {
            self.at += 1;
            Leg::AnyCell
        } else {
            let from = self.index()?;
            let after = self.at;
            self.skip_space();
            let is_range = self.rest().strip_prefix("to").is_some_and(|r| r.starts_with(|c: char| c.is_ascii_whitespace()));
            if self.at > after && is_range {
                self.at += 2;
                self.skip_space();
                let to = self.index()?;
                let backwards = if from.from_end { from.n < to.n } else { from.n > to.n };
                if from.from_end == to.from_end && backwards {
                    return Err(self.error());
                }
                Leg::Range(from, to)
            } else {
                Leg::Cell(from)
            }
        };
        self.skip_space();
        // MySQL's position is behind what it found instead.
        if self.next() != Some(']') {
            return Err(self.error());
        }
        Ok(leg)
    }

    fn index(&mut self) -> Result<Index, PathError> {
        if self.rest().starts_with("last") {
            self.at += 4;
            let after = self.at;
            self.skip_space();
            if self.peek() != Some('-') {
                self.at = after;
                return Ok(Index { from_end: true, n: 0 });
            }
            self.at += 1;
            self.skip_space();
            return Ok(Index { from_end: true, n: self.number()? });
        }
        Ok(Index { from_end: false, n: self.number()? })
    }

    fn number(&mut self) -> Result<u32, PathError> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let n = self.rest()[..digits].parse().map_err(|_| self.error())?;
        self.at += digits;
        Ok(n)
    }
}

/// An ECMAScript identifier, which a path need not quote.
fn is_identifier(name: &str) -> bool {
    let start = |c: char| c.is_alphabetic() || matches!(c, '$' | '_');
    let mut chars = name.chars();
    chars.next().is_some_and(start) && chars.all(|c| start(c) || c.is_numeric() || matches!(c, '\u{200c}' | '\u{200d}'))
}

/// Appends `.name`, quoted if it has to be.
pub(super) fn push_member(path: &mut String, name: &str) {
    path.push('.');
    if is_identifier(name) {
        path.push_str(name);
    } else {
        path.push_str(&String::from_utf8_lossy(&quote(name.as_bytes())));
    }
}

/// Values between two questions whether to go on.
const VALUES_PER_LOOK: usize = 1024;

/// Values, and what is in them, each once.
struct Inside<'a, 'g> {
    seen: HashSet<*const Json>,
    found: Vec<&'a Json>,
    go_on: &'g mut dyn FnMut() -> Result<(), Error>,
}

impl<'a> Inside<'a, '_> {
    fn look(&mut self, count: usize) -> Result<(), Error> {
        if count.is_multiple_of(VALUES_PER_LOOK) { (self.go_on)() } else { Ok(()) }
    }

    /// One that was seen inside of another was seen with all that is in it.
    fn add(&mut self, json: &'a Json) -> Result<(), Error> {
        if !self.seen.insert(json as *const Json) {
            return Ok(());
        }
        self.found.push(json);
        self.look(self.found.len())?;
        match json {
            Json::Array(a) => a.iter().try_for_each(|v| self.add(v)),
            Json::Object(o) => o.iter().try_for_each(|(_, v)| self.add(v)),
            _ => Ok(()),
        }
    }
}

impl Json {
    /// The values that `path` names, in document order, each once.
    pub fn seek<'a>(&'a self, path: &JsonPath) -> Vec<&'a Json> {
        self.seek_while(path, &mut || Ok(())).unwrap_or_default()
    }

    /// The same, as long as `go_on` says so, which is asked before each leg and every `VALUES_PER_LOOK` values.
    pub fn seek_while<'a>(
        &'a self,
        path: &JsonPath,
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Vec<&'a Json>, Error> {
        let mut found = vec![self];
        for leg in &path.legs {
            go_on()?;
            let mut next = Inside { seen: HashSet::new(), found: Vec::new(), go_on: &mut *go_on };
            for (at, json) in found.into_iter().enumerate() {
                if *leg == Leg::Ellipsis {
                    next.add(json)?;
                } else {
                    next.look(at + 1)?;
                    json.step(leg, &mut next.found);
                }
            }
            found = next.found;
        }
        if path.legs.contains(&Leg::Ellipsis) {
            let mut seen = HashSet::new();
            found.retain(|j| seen.insert(*j as *const Json));
        }
        Ok(found)
    }

    /// The values that one leg names, which is no ellipsis.
    fn step<'a>(&'a self, leg: &Leg, found: &mut Vec<&'a Json>) {
        match (leg, self) {
            (Leg::Member(name), Json::Object(o)) => found.extend(o.get(name)),
            (Leg::AnyMember, Json::Object(o)) => found.extend(o.iter().map(|(_, v)| v)),
            (Leg::Cell(index), Json::Array(a)) => found.extend(index.within(a.len()).and_then(|i| a.get(i))),
            (Leg::AnyCell, Json::Array(a)) => found.extend(a.iter()),
            (Leg::Range(..), Json::Array(a)) => found.extend(leg.range(a.len()).and_then(|r| a.get(r)).unwrap_or(&[])),
            _ if leg.wraps() => found.push(self),
            _ => {}
        }
    }
}
