//! Whether the generator makes every production of the grammar: each variant of the syntax tree, each list and option of it not empty.
//!
//! What there is to make is read from the source of `vaquita_parser::ast`, what was made from the `Debug` text of the statements that the
//! generator made and our parser read. So a new variant, or a new optional clause, fails here until a template has it.

use std::collections::BTreeSet;
use std::path::Path;

use vaquita_parser::{ParserOptions, parse_prepared};

use super::kinds::Kind;
use super::statement::Generator;
use crate::random::Random;

/// What our parser never makes; `HintArguments` says what hints take and is in no tree.
const NOT_MADE: &[&str] = &["Plus", "Indexes", "Order", "Block", "SemijoinStrategies", "SubqueryStrategy"];

#[test]
fn every_production_is_made() {
    let mut random = Random::new(14);
    let mut made = BTreeSet::new();
    let mut wrong = Vec::new();
    for kind in Kind::ALL {
        for n in 0..400 * kind.weight() {
            let sql = Generator::new(&mut random, "priv14").statement(*kind, n % 2 == 0).replace("@@VICTIM@@", "7");
            match parse_prepared(sql.as_bytes(), &ParserOptions::default()) {
                Ok((statement, _)) => {
                    if Kind::of(&statement) != *kind {
                        wrong.push(format!("{kind:?} made {sql}"));
                    }
                    note(&format!("{statement:?} "), &mut made);
                }
                Err(error) => wrong.push(format!("{kind:?}: {sql}: {error:?}")),
            }
        }
    }
    let missing: Vec<String> =
        productions().into_iter().filter(|p| !made.contains(p) && !NOT_MADE.contains(&p.as_str())).collect();
    wrong.truncate(10);
    assert!(wrong.is_empty() && missing.is_empty(), "{}\nnever made: {}", wrong.join("\n"), missing.join(", "));
}

/// Variants as `Variant`, fields of lists, options and switches as `Owner.field`.
fn productions() -> BTreeSet<String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/parser/src/ast");
    let mut found = BTreeSet::new();
    for file in std::fs::read_dir(dir).expect("the syntax tree").map(|entry| entry.expect("a file").path()) {
        if ["cloning", "literal_rows"].iter().any(|own| file.file_stem().is_some_and(|stem| stem == *own)) {
            continue;
        }
        let source = std::fs::read_to_string(&file).expect("read");
        // The type that a line belongs to, and the variant.
        let (mut owner, mut is_enum, mut variant) = (None, false, String::new());
        for line in source.lines() {
            let text = line.trim_start();
            if let Some(name) = word_behind(line, "pub enum ").or_else(|| word_behind(line, "pub struct ")) {
                (owner, is_enum) = (Some(name), line.starts_with("pub enum"));
            } else if line == "}" {
                owner = None;
            }
            let Some(name) = owner.as_ref().filter(|_| !text.starts_with("//") && line.starts_with("    ")) else { continue };
            if is_enum && line.len() - text.len() == 4 && text.starts_with(|c: char| c.is_ascii_uppercase()) {
                variant = text.chars().take_while(|c| c.is_alphanumeric()).collect();
                found.insert(variant.clone());
            }
            let of = if is_enum { &variant } else { name };
            for kind in [": Option<", ": Vec<", ": bool"] {
                for (at, _) in text.match_indices(kind) {
                    let field = text[..at].rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
                    found.insert(format!("{of}.{field}"));
                }
            }
        }
    }
    found
}

fn word_behind(line: &str, start: &str) -> Option<String> {
    Some(line.strip_prefix(start)?.chars().take_while(|c| c.is_alphanumeric()).collect())
}

/// Notes the variants and the fields with something in them of a `Debug` text.
fn note(text: &str, made: &mut BTreeSet<String>) {
    let mut owners: Vec<String> = Vec::new();
    let (mut word, mut field) = (String::new(), String::new());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        if word.starts_with(|c: char| c.is_ascii_uppercase()) {
            made.insert(word.clone());
        }
        let filled = !matches!(word.as_str(), "" | "None" | "false") || c == '[' && chars.peek() != Some(&']') || c == '"';
        if filled && !field.is_empty() && c != ':' {
            made.insert(format!("{}.{field}", owners.last().map_or("", String::as_str)));
        }
        match c {
            ':' => field = word.clone(),
            '{' | '(' | '[' => {
                // A bracket without a name belongs to what it is in.
                let owner = if word.is_empty() { owners.last().cloned().unwrap_or_default() } else { word.clone() };
                owners.push(owner);
                field.clear();
            }
            '}' | ')' | ']' => {
                owners.pop();
                field.clear();
            }
            ',' => field.clear(),
            '"' => skip_string(&mut chars),
            ' ' if chars.peek() == Some(&'{') => {
                chars.next();
                owners.push(word.clone());
                field.clear();
            }
            _ => {}
        }
        word.clear();
    }
}

fn skip_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '"' => return,
            _ => {}
        }
    }
}
