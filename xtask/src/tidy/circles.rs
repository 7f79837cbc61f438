//! The floors of a crate: its top-level modules, folders mostly, use each other in one direction.
//!
//! An edge is a path of shipped code, `use` or not, that leads from one top-level module into another: `crate::b::X`, or
//! `super::b` where `super` is the crate. A name that the crate's root gives on counts for the module that it comes from
//! (`pub use b::X;`, then `crate::X`). Roots themselves (`lib.rs`, `main.rs`) may use everything.
//! ```text
//! src/a/x.rs: use crate::b::Y;      a → b
//! src/b.rs:   fn f(x: super::a::X)  b → a: a circle
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Findings;
use super::source::{Source, is_word, words};

/// Modules by name, and which others each uses, with a place where it does.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

pub fn check(sources: &[Source], findings: &mut Findings) {
    let mut crates: BTreeMap<String, Vec<(Vec<String>, &Source)>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        if let Some((name, module)) = place_in_crate(&source.path) {
            crates.entry(name).or_default().push((module, source));
        }
    }
    for (name, files) in &crates {
        let uses = uses(files);
        for circle in circles(&uses) {
            findings.fail(name, format!("these modules use each other in a circle: {}", describe(&circle, &uses)));
        }
    }
}

/// The folder of the crate, and the path of the module in it: `crates/x/src/a/b.rs` is `crates/x` and `a`, `b`.
fn place_in_crate(path: &Path) -> Option<(String, Vec<String>)> {
    let text = path.to_str()?;
    let (name, inside) = text.split_once("/src/")?;
    let mut module: Vec<String> = inside.strip_suffix(".rs")?.split('/').map(str::to_string).collect();
    if module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    if module.len() == 1 && matches!(module[0].as_str(), "lib" | "main") {
        module.clear();
    }
    Some((name.to_string(), module))
}

fn uses(files: &[(Vec<String>, &Source)]) -> Uses {
    let tops: BTreeSet<&str> = files.iter().filter_map(|(module, _)| module.first()).map(String::as_str).collect();
    let given_on = names_of_root(files, &tops);
    let mut uses = Uses::new();
    for (module, source) in files {
        let Some(from) = module.first() else { continue };
        for (name, at) in names_of_crate(&source.shipped, module.len()) {
            let to = tops.get(name.as_str()).copied().or_else(|| given_on.get(&name).map(String::as_str));
            if let Some(to) = to.filter(|to| to != from) {
                let places = uses.entry(from.clone()).or_default();
                places.entry(to.to_string()).or_insert_with(|| source.place(at));
            }
        }
    }
    uses
}

/// What the root gives on by another module's path: name → module.
fn names_of_root(files: &[(Vec<String>, &Source)], tops: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (_, source) in files.iter().filter(|(module, _)| module.is_empty()) {
        for at in words(&source.shipped, b"use") {
            let end = source.shipped[at..].iter().position(|b| *b == b';').map_or(source.shipped.len(), |n| at + n);
            let path: Vec<String> = identifiers(&source.shipped[at + 3..end]);
            let path = path.strip_prefix(&["crate".to_string()][..]).unwrap_or(&path);
            if let Some((top, rest)) = path.split_first()
                && tops.contains(top.as_str())
            {
                names.extend(rest.iter().map(|name| (name.clone(), top.clone())));
            }
        }
    }
    names
}

/// The first names behind `crate::`, and behind as many `super::` as lead to the crate from a module so deep.
fn names_of_crate(code: &[u8], depth: usize) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (word, levels) in [(&b"crate"[..], 0), (b"super", depth)] {
        for at in words(code, word) {
            // The second `super` of a path was met with the first.
            if code[..at].trim_ascii_end().ends_with(b"::") {
                continue;
            }
            let mut rest = &code[at..];
            let mut left = levels;
            while left > 1 {
                let Some(next) = strip_path(rest, word).filter(|next| next.starts_with(b"super")) else { break };
                rest = next;
                left -= 1;
            }
            if left <= 1
                && let Some(rest) = strip_path(rest, word)
            {
                found.extend(first_names(rest).into_iter().map(|name| (name, at)));
            }
        }
    }
    found
}

/// What follows `word::`.
fn strip_path<'c>(code: &'c [u8], word: &[u8]) -> Option<&'c [u8]> {
    code.strip_prefix(word)?.trim_ascii_start().strip_prefix(b"::").map(<[u8]>::trim_ascii_start)
}

/// `a::b` begins with `a`, `{a::b, c::{d, e}}` with `a` and `c`.
fn first_names(code: &[u8]) -> Vec<String> {
    if code.first() != Some(&b'{') {
        return identifiers(code.split(|b| !is_word(*b)).next().unwrap_or(b""));
    }
    let (mut depth, mut names, mut awaited) = (0, Vec::new(), false);
    for (at, byte) in code.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && matches!(byte, b'{' | b',') {
            awaited = true;
        } else if awaited && is_word(*byte) {
            awaited = false;
            names.extend(identifiers(code[at..].split(|b| !is_word(*b)).next().unwrap_or(b"")));
        }
    }
    names
}

fn identifiers(code: &[u8]) -> Vec<String> {
    let words = code.split(|b| !is_word(*b)).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Groups of modules that reach each other.
fn circles(uses: &Uses) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = uses.keys().map(|from| (from, reachable(uses, from))).collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for (from, to) in &reached {
        if !to.contains(from) || circles.iter().any(|circle| circle.contains(from)) {
            continue;
        }
        let others = to.iter().filter(|other| reached.get(**other).is_some_and(|back| back.contains(from)));
        circles.push(others.map(|other| (*other).clone()).collect());
    }
    circles
}

fn reachable<'u>(uses: &'u Uses, from: &'u String) -> BTreeSet<&'u String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in uses.get(module).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

/// Each edge inside of the circle, with a place.
fn describe(circle: &[String], uses: &Uses) -> String {
    let edges = circle.iter().flat_map(|from| {
        let to = uses.get(from).into_iter().flatten().filter(|(to, _)| circle.contains(to));
        to.map(move |(to, place)| format!("{from} → {to} ({place})"))
    });
    edges.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(format!("crates/x/src/{path}").into(), text.to_string())).collect();
        let mut findings = Findings::default();
        check(&sources, &mut findings);
        findings.failures
    }

    #[test]
    fn circles_are_found_however_they_are_written() {
        let ways = [
            "use crate::a::A;",
            "use crate::{\n    c,\n    a::{A, B},\n};",
            "fn f(x: crate::a::A) {}",
            "use super::super::a;",
            "use crate::Given;",
            "pub(crate) use super::super::{c::C, a::A};",
        ];
        for way in ways {
            let files = [
                ("lib.rs", "mod a; mod b; mod c;\npub use a::{A, Given};"),
                ("a.rs", "use super::b::X;"),
                ("b/y.rs", way),
                ("b/mod.rs", "mod y;"),
                ("c.rs", ""),
            ];
            let found = found(&files);
            assert_eq!(found.len(), 1, "{way}");
            assert!(found[0].contains("a → b (crates/x/src/a.rs:1)") && found[0].contains("b → a"), "{found:?}");
        }
    }

    #[test]
    fn what_goes_one_way_is_no_circle() {
        let ways = [
            "use super::a;",
            "use crate::c::a;",
            "// use crate::a::A;",
            "#[cfg(test)]\nmod tests { use crate::a::A; }",
            "use crate::b::z::a;",
            "use crate::{c::{a}, b};",
        ];
        for way in ways {
            let files = [("lib.rs", "mod a; mod b; mod c;"), ("a.rs", "use crate::b::X;"), ("b/y.rs", way), ("c.rs", "")];
            assert_eq!(found(&files), Vec::<String>::new(), "{way}");
        }
    }
}
