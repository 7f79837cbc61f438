//! The texts of `sys`, and what they stand for.
//!
//! A text has definitions that end with `;;`. The first line of each says what it is:
//! ```text
//! -- view NAME                one view
//! -- pair NAME                two: NAME, with times and sizes that people read, and x$NAME with numbers
//! -- function SIGNATURE       SIGNATURE is what stands in CREATE FUNCTION before the body
//! -- procedure SIGNATURE
//! ```
//! In a pair, `{time:E}`, `{bytes:E}`, `{path:E}` and `{statement:E}` are E as people read it, or E itself in `x$NAME`; `{view:NAME}` is the
//! same one of another pair. A definition with `{who}` in its name is made for hosts and for users.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::DATABASE;

/// What MySQL 9.7's has.
const SYS_VERSION: &str = "2.1.3";

const CONFIG: &str = include_str!("config.sql");
const ROUTINES: [&str; 4] =
    [include_str!("functions.sql"), include_str!("setup.sql"), include_str!("procedures.sql"), include_str!("analysis.sql")];
/// Each refers to those before it only.
const VIEWS: [&str; 5] = [
    include_str!("views_statements.sql"),
    include_str!("views_accounts.sql"),
    include_str!("views_waits.sql"),
    include_str!("views_tables.sql"),
    include_str!("views_sessions.sql"),
];

/// Of all texts and of what is made of them.
pub fn checksum() -> u64 {
    let mut hasher = FxHasher::default();
    [CONFIG].iter().chain(&ROUTINES).chain(&VIEWS).for_each(|text| hasher.write(text.as_bytes()));
    hasher.write(include_bytes!("text.rs"));
    hasher.write(include_bytes!("define.rs"));
    hasher.finish()
}

/// Statements.
pub fn config() -> impl Iterator<Item = &'static str> {
    CONFIG.split(";;").map(str::trim).filter(|statement| !statement.is_empty())
}

/// The texts of CREATE FUNCTION and CREATE PROCEDURE, functions first.
pub fn routines() -> impl Iterator<Item = String> {
    definitions(&ROUTINES).map(|(what, rest, body)| format!("CREATE {what} {DATABASE}.{rest} SQL SECURITY INVOKER\n{body}"))
}

/// Names and queries of the views, in an order in which each refers to those before it only.
pub fn views() -> Vec<(String, String)> {
    let mut views = Vec::new();
    for (what, name, query) in definitions(&VIEWS) {
        let query = query.replace("{version}", SYS_VERSION);
        let both: &[(&str, &str, &str)] = match name.contains("{who}") {
            true => &[("host", "user", "total_latency"), ("user", "host", "latency")],
            false => &[("", "", "")],
        };
        for (who, other, latency) in both {
            let of = |text: &str| text.replace("{who}", who).replace("{other}", other).replace("{latency}", latency);
            let (name, query) = (of(name), of(&query));
            if what == "pair" {
                views.push((name.clone(), expand(&query, true)));
                views.push((format!("x${name}"), expand(&query, false)));
            } else {
                views.push((name, query));
            }
        }
    }
    views
}

/// What a definition is, the rest of its first line, and its body.
fn definitions(texts: &'static [&'static str]) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    const KINDS: [&str; 4] = ["view", "pair", "function", "procedure"];
    let all = texts.iter().flat_map(|text| text.split(";;"));
    all.filter_map(|definition| {
        // A comment about the whole text may stand before the first.
        let mut rest = definition;
        while let Some((_, from)) = rest.split_once("-- ") {
            let (line, body) = from.split_once('\n')?;
            match line.split_once(' ') {
                Some((what, name)) if KINDS.contains(&what) => return Some((what, name, body.trim())),
                _ => rest = body,
            }
        }
        None
    })
}

/// The query of one view of a pair.
fn expand(query: &str, is_plain: bool) -> String {
    let mut text = String::with_capacity(query.len() + query.len() / 4);
    let mut rest = query;
    while let Some((before, behind)) = rest.split_once('{') {
        text.push_str(before);
        let Some((inside, after)) = behind.split_once('}') else { break };
        let Some((form, inner)) = inside.split_once(':') else { break };
        let function = match form {
            "time" => "FORMAT_PICO_TIME",
            "bytes" => "FORMAT_BYTES",
            "path" => "sys.format_path",
            _ => "sys.format_statement",
        };
        match (form, is_plain) {
            ("view", true) => text.push_str(&format!("sys.{inner}")),
            ("view", false) => text.push_str(&format!("sys.x${inner}")),
            (_, true) => text.push_str(&format!("{function}({inner})")),
            // What stands before it may bind closer.
            (_, false) if inner.contains(' ') && !inner.ends_with(')') => text.push_str(&format!("({inner})")),
            (_, false) => text.push_str(inner),
        }
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_two_views() {
        let query = "SELECT {time:SUM(a)} AS a, {bytes:b + c} AS b FROM {view:v}";
        assert_eq!(expand(query, true), "SELECT FORMAT_PICO_TIME(SUM(a)) AS a, FORMAT_BYTES(b + c) AS b FROM sys.v");
        assert_eq!(expand(query, false), "SELECT SUM(a) AS a, (b + c) AS b FROM sys.x$v");
        assert_eq!((views().len(), routines().count()), (100, 49));
    }
}
