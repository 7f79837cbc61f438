//! `unwrap`, `expect` and `panic!` in code that ships: counted per crate, and the counts may only go down.
//!
//! `xtask/ratchet.txt` holds one line per crate, `crates/exec unwrap 0 expect 3 panic 1`. More than that fails and
//! lists each place; fewer is noted until `cargo xtask tidy --update` writes the lower count. A crate without a line
//! may have none. `expect` counts only with a message: a parser's own `expect(token)` is not a panic.

use std::collections::BTreeMap;
use std::path::Path;

use super::Findings;
use super::source::{Source, finds, words};

const FILE: &str = "xtask/ratchet.txt";
const KINDS: [&str; 3] = ["unwrap", "expect", "panic"];

const HEADER: &str = "\
# How often code outside tests may panic, per crate: these counts may only go down.
# `cargo xtask tidy --update` lowers them to what is there; see xtask/src/tidy/ratchet.rs.
";

/// Places per kind.
type Places = [Vec<String>; 3];

pub fn check(root: &Path, sources: &[Source], update: bool, findings: &mut Findings) -> Result<(), String> {
    let found = count(sources);
    let text = std::fs::read_to_string(root.join(FILE)).unwrap_or_default();
    let first = text.is_empty();
    let allowed = parse(&text)?;
    let mut lines = String::from(HEADER);
    for (name, places) in &found {
        let limits = allowed.get(name).copied().unwrap_or_default();
        let mut kept = [0; 3];
        for (k, kind) in KINDS.iter().enumerate() {
            let count = places[k].len();
            let limit = if first && update { count } else { limits[k] };
            kept[k] = count.min(limit);
            if count > limit {
                findings.fail(name, format!("{count} `{kind}`, {limit} at most; they are at\n    {}", places[k].join("\n    ")));
            } else if count < limit && !update {
                findings
                    .note(name, format!("{count} `{kind}`, fewer than the {limit} of {FILE}: run `cargo xtask tidy --update`"));
            }
        }
        lines += &format!("{name} unwrap {} expect {} panic {}\n", kept[0], kept[1], kept[2]);
    }
    if update && lines != text {
        std::fs::write(root.join(FILE), lines).map_err(|e| format!("{FILE}: {e}"))?;
    }
    Ok(())
}

/// Crates that are tests.
const TEST_CRATES: [&str; 2] = ["models", "scripts"];

/// The places in each crate's `src`, tests left out; xtask is a tool, and not counted.
fn count(sources: &[Source]) -> BTreeMap<String, Places> {
    let mut found: BTreeMap<String, Places> = BTreeMap::new();
    for source in sources {
        let mut parts = source.path.iter().filter_map(|part| part.to_str());
        let (Some("crates"), Some(name), Some("src")) = (parts.next(), parts.next(), parts.next()) else { continue };
        if TEST_CRATES.contains(&name) {
            continue;
        }
        let places = found.entry(format!("crates/{name}")).or_default();
        if source.is_test {
            continue;
        }
        for (list, at) in places.iter_mut().zip([unwraps(source), expects(source), panics(source)]) {
            list.extend(at.into_iter().map(|at| source.place(at)));
        }
    }
    found
}

fn unwraps(source: &Source) -> Vec<usize> {
    finds(&source.shipped, b".unwrap()")
}

fn expects(source: &Source) -> Vec<usize> {
    let calls = finds(&source.shipped, b".expect(");
    calls
        .into_iter()
        .filter(|at| source.text.get(at + b".expect(".len()..).is_some_and(|rest| rest.trim_start().starts_with(['"', '&'])))
        .collect()
}

fn panics(source: &Source) -> Vec<usize> {
    words(&source.shipped, b"panic").into_iter().filter(|at| source.shipped.get(at + 5) == Some(&b'!')).collect()
}

fn parse(text: &str) -> Result<BTreeMap<String, [usize; 3]>, String> {
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let wrong = || format!("{FILE}: cannot read `{line}`");
        let words: Vec<&str> = line.split(' ').collect();
        let [name, "unwrap", unwrap, "expect", expect, "panic", panic] = words.as_slice() else { return Err(wrong()) };
        let mut counts = [0; 3];
        for (count, text) in counts.iter_mut().zip([unwrap, expect, panic]) {
            *count = text.parse().map_err(|_| wrong())?;
        }
        found.insert(name.to_string(), counts);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_only_what_panics_in_shipped_code() {
        let text = "//! x\nfn a() { b.unwrap(); p.expect(Token::X); c.expect(\"why\"); panic!(\"no\"); std::panic::catch_unwind(f); } // d.unwrap()\n#[cfg(test)]\nmod tests { fn t() { e.unwrap(); } }\n";
        let found = count(&[Source::new("crates/x/src/lib.rs".into(), text.to_string())]);
        assert_eq!(found["crates/x"].each_ref().map(Vec::len), [1, 1, 1]);
        assert_eq!(parse("# c\ncrates/x unwrap 1 expect 2 panic 3\n"), Ok(BTreeMap::from([("crates/x".to_string(), [1, 2, 3])])));
    }
}
