//! `cargo xtask tidy`: the rules of the repository that a compiler does not check.
//!
//! A finding is a *failure* (the command and the test fail) or a *note* (printed, for whoever cleans up next):
//! - `files`: headers, lengths, white space, forbidden macros, paths of a machine, long functions;
//! - `modules`: every file is reached by a `mod` from its crate's root;
//! - `layers`: which crate may depend on which;
//! - `circles`: the folders of a crate use each other in one direction;
//! - `ratchet`: `unwrap`, `expect` and `panic!` outside tests may only become fewer;
//! - `variables`: the table of system variables says of each whether it has an effect.
//!
//! `source` blanks comments, strings and test code, so that the rules look at code only. Nothing here parses Rust:
//! the rules need braces and words, and have to keep working on code that does not compile yet.

mod circles;
mod files;
mod layers;
mod modules;
mod ratchet;
mod source;
mod variables;

use std::path::{Path, PathBuf};

use crate::flags::Flags;
use crate::paths::repository;
use source::Source;

/// What the checks found, one line each.
#[derive(Default)]
pub struct Findings {
    pub failures: Vec<String>,
    pub notes: Vec<String>,
}

impl Findings {
    fn fail(&mut self, place: impl std::fmt::Display, text: impl std::fmt::Display) {
        self.failures.push(format!("{place}: {text}"));
    }

    fn note(&mut self, place: impl std::fmt::Display, text: impl std::fmt::Display) {
        self.notes.push(format!("{place}: {text}"));
    }
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let update = flags.switch("--update");
    flags.finish()?;
    let findings = check(&repository(), update)?;
    for note in &findings.notes {
        println!("note: {note}");
    }
    for failure in &findings.failures {
        println!("FAIL: {failure}");
    }
    println!("tidy: {} failures, {} notes", findings.failures.len(), findings.notes.len());
    if findings.failures.is_empty() { Ok(()) } else { Err("tidy failed".into()) }
}

/// Runs every check; with `update`, lowers the ratchet to what is there.
fn check(root: &Path, update: bool) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let paths = text_files(root)?;
    let mut sources = Vec::new();
    for path in &paths {
        let text = std::fs::read_to_string(root.join(path)).map_err(|e| format!("{}: {e}", path.display()))?;
        if path.extension().is_some_and(|e| e == "rs") {
            sources.push(Source::new(path.clone(), text));
        } else {
            files::check_plain(path, &text, &mut findings);
        }
    }
    modules::check(root, &mut sources, &mut findings);
    for source in &sources {
        files::check_source(source, &mut findings);
    }
    layers::check(root, &mut findings)?;
    circles::check(&sources, &mut findings);
    ratchet::check(root, &sources, update, &mut findings)?;
    variables::check(root, &mut findings)?;
    Ok(findings)
}

/// The Rust files, manifests, scripts and texts of the repository, relative to `root`, sorted.
fn text_files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut dirs: Vec<PathBuf> = ["crates", "harness", "xtask", "tools", "docs", "fuzz", ".ci"]
        .map(PathBuf::from)
        .into_iter()
        .filter(|dir| root.join(dir).is_dir())
        .collect();
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(root.join(&dir)).map_err(|e| format!("{}: {e}", dir.display()))? {
            let entry = entry.map_err(|e| e.to_string())?;
            let path = dir.join(entry.file_name());
            let kind = entry.file_type().map_err(|e| e.to_string())?;
            if kind.is_dir() {
                let skip = matches!(
                    entry.file_name().to_str(),
                    Some("target" | "corpus" | "artifacts" | "node_modules" | "__pycache__")
                );
                if !skip {
                    dirs.push(path);
                }
            } else if matches!(path.extension().and_then(|e| e.to_str()), Some("rs" | "toml" | "sh" | "py" | "md")) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    /// The repository itself; `cargo xtask tidy` prints the same with its notes.
    #[test]
    fn repository_is_tidy() {
        let findings = super::check(&crate::paths::repository(), false).expect("the repository is readable");
        assert!(findings.failures.is_empty(), "\n{}", findings.failures.join("\n"));
    }
}
