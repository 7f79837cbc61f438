//! Errors: the definitions of `types::errno` that something in the source names.

use std::collections::HashSet;
use std::path::Path;

use vaquita_types::errno::ALL;

use super::{PageText, code, compare, plain};

const ABOUT: &str = "\
Numbers, SQLSTATEs and texts are MySQL's. These are the errors and warnings that Vaquita itself gives; `SIGNAL` gives whatever a program says, and [Troubleshooting](../troubleshooting.md) says what to do about the frequent ones.
In a text `%s`, `%d` and the like stand for what it is about.

| SQLSTATE | what a client may do |
|---|---|
| `40001` (1213) | run the whole transaction again |
| `HY000` 1205 | the statement waited too long for a lock and was undone: run it again, or roll back |
| `08…` | connect again |
| others | change the statement, or what it is about |";

/// The words of all sources but those of tests and of the definitions themselves.
fn words_of_sources() -> HashSet<String> {
    let mut words = HashSet::new();
    let mut dirs = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).expect("a folder").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            let is_source = path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("types/src/errno.rs");
            if entry.file_type().expect("a kind").is_dir() && !path.ends_with("tests") {
                dirs.push(path);
            } else if is_source {
                let text = std::fs::read_to_string(&path).expect("UTF-8");
                let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.contains('_'));
                words.extend(names.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase())).map(str::to_string));
            }
        }
    }
    words
}

#[test]
fn errors_are_those_that_the_source_names() {
    let words = words_of_sources();
    let mut page = PageText::new("Errors", ABOUT);
    page.section("By number", "");
    let given = ALL.iter().filter(|def| words.contains(def.name));
    page.table(
        ["number", "SQLSTATE", "name", "text"],
        given.map(|def| [def.code.to_string(), code(&String::from_utf8_lossy(def.sqlstate)), code(def.name), plain(def.format)]),
    );
    compare("errors.md", &page.0);
}
