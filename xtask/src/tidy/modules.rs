//! Every Rust file is part of its crate: some `mod` or `include!` names it, starting from the crate's root.
//!
//! `mod a;` in `src/lib.rs` is `src/a.rs` or `src/a/mod.rs`; in `src/b.rs` it is `src/b/a.rs` or `src/b/a/mod.rs`;
//! `#[path = "…"]` is relative to the directory of the file it stands in. A module declared inside an inline
//! `mod x { … }` is looked for as if it stood outside: nobody writes that here.
//! A file reached only through `#[cfg(test)] mod a;` is test code, and so is all that it declares.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::Findings;
use super::source::{Source, words};

/// Reports files that nothing names, and marks those that are compiled for tests only.
pub fn check(root: &Path, sources: &mut [Source], findings: &mut Findings) {
    let index: BTreeMap<PathBuf, usize> = sources.iter().enumerate().map(|(i, source)| (source.path.clone(), i)).collect();
    // Reached as shipped code (false), as test code only (true), or not at all.
    let mut reached: Vec<Option<bool>> = vec![None; sources.len()];
    let mut open: Vec<(usize, bool, bool)> = Vec::new();
    for (i, source) in sources.iter().enumerate() {
        if is_root(root, &source.path) {
            open.push((i, source.is_test, true));
        }
    }
    while let Some((i, test, root_file)) = open.pop() {
        if matches!(reached[i], Some(false)) || reached[i] == Some(test) {
            continue;
        }
        reached[i] = Some(test);
        for (candidates, under_cfg_test) in declared(&sources[i], root_file) {
            if let Some(&next) = candidates.iter().find_map(|path| index.get(path)) {
                open.push((next, test || under_cfg_test, false));
            }
        }
    }
    for (i, source) in sources.iter_mut().enumerate() {
        match reached[i] {
            None => findings.fail(source.path.display(), "no `mod` names this file"),
            Some(test) => source.is_test |= test,
        }
    }
}

/// Whether Cargo itself compiles the file: a library, a binary, a test, an example, a benchmark, a build script.
fn is_root(repository: &Path, path: &Path) -> bool {
    let mut package = path.parent();
    while let Some(dir) = package {
        if repository.join(dir).join("Cargo.toml").is_file() {
            break;
        }
        package = dir.parent();
    }
    let Some(inside) = package.and_then(|dir| path.strip_prefix(dir).ok()) else { return true };
    // A binary whose file the manifest names.
    let manifest = package.and_then(|dir| std::fs::read_to_string(repository.join(dir).join("Cargo.toml")).ok());
    if manifest.is_some_and(|text| text.contains(&format!("path = \"{}\"", inside.display()))) {
        return true;
    }
    let parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        ["build.rs"] | ["src", "lib.rs" | "main.rs"] => true,
        ["src", "bin", ..] => parts.len() == 3 || parts.last() == Some(&"main.rs"),
        ["tests" | "examples" | "benches" | "fuzz_targets", ..] => {
            parts.len() == 2 || (parts.len() == 3 && parts[2] == "main.rs")
        }
        _ => false,
    }
}

/// The places where each module or included file that `source` declares may be, and whether it is for tests only.
fn declared(source: &Source, root_file: bool) -> Vec<(Vec<PathBuf>, bool)> {
    let dir = source.path.parent().unwrap_or(Path::new("")).to_path_buf();
    let stem = source.path.file_stem().unwrap_or_default();
    let children = if root_file || stem == "mod" { dir.clone() } else { dir.join(stem) };
    let mut found = Vec::new();
    for at in words(&source.code, b"mod") {
        let after = &source.text[at + 3..];
        let Some((name, _)) = after.split_once(';') else { continue };
        let name = name.trim();
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            continue;
        }
        let test_only = source.shipped[at] == b' ';
        let attributes = attributes_before(source, at);
        let candidates = match quoted_after(attributes, "#[path") {
            Some(path) => vec![plain(&dir.join(path))],
            None => vec![children.join(format!("{name}.rs")), children.join(name).join("mod.rs")],
        };
        found.push((candidates, test_only));
    }
    for at in words(&source.code, b"include") {
        if let Some(path) = quoted_after(&source.text[at..], "include!(") {
            found.push((vec![plain(&dir.join(path))], source.shipped[at] == b' '));
        }
    }
    found
}

/// The text between the end of the item before and `at`.
fn attributes_before(source: &Source, at: usize) -> &str {
    let start = source.code[..at].iter().rposition(|b| matches!(b, b';' | b'}' | b'{')).map_or(0, |i| i + 1);
    source.text.get(start..at).unwrap_or("")
}

/// The string literal that follows `mark` on the same line.
fn quoted_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(mark)?;
    let line = rest.lines().next()?;
    line.split('"').nth(1)
}

/// `a/b/../c` as `a/c`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_modules_are_looked_for_where_rustc_looks() {
        let text = "//! x\nmod a;\n#[path = \"../q/b.rs\"]\nmod b;\n#[cfg(test)]\nmod tests;\nmod c { }\n";
        let source = Source::new("crates/x/src/p.rs".into(), text.to_string());
        let found = declared(&source, false);
        let first: Vec<_> = found.iter().map(|(paths, test)| (paths[0].to_str().unwrap_or(""), *test)).collect();
        assert_eq!(first, [("crates/x/src/p/a.rs", false), ("crates/x/q/b.rs", false), ("crates/x/src/p/tests.rs", true)]);
    }
}
