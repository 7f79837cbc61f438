//! `cargo xtask links`: whether the links of all Markdown files of the repository lead somewhere.
//!
//! A relative link must name a file or folder of the repository, and what stands behind `#` a heading of it. Links to other machines
//! are not looked at: a check must not need a network. Pages of the manual (`docs/manual`) have rules of their own, see `book`.
//!
//! ```text
//! docs/manual/src/backup.md: dead link reliabilty.md
//! docs/manual/src/backup.md: no heading #placs in docs/manual/src/backup.md
//! ```

mod book;
mod markdown;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::flags::Flags;
use crate::paths::repository;
use book::Book;
use markdown::Page;

pub fn main(args: &[String]) -> Result<(), String> {
    Flags::new(args).finish()?;
    let (findings, pages) = check(&repository())?;
    findings.iter().for_each(|finding| println!("FAIL: {finding}"));
    println!("links: {} failures in {pages} pages", findings.len());
    if findings.is_empty() { Ok(()) } else { Err("links failed".into()) }
}

/// What is wrong, and how many pages there are.
fn check(root: &Path) -> Result<(Vec<String>, usize), String> {
    let mut pages = BTreeMap::new();
    for path in markdown_files(root)? {
        let text = read(&root.join(&path))?;
        pages.insert(path, text);
    }
    let mut findings = Vec::new();
    let book = Book::of(&pages, &mut |finding| findings.push(finding));
    let parsed: BTreeMap<&Path, Page> =
        pages.iter().map(|(path, text)| (path.as_path(), Page::of(book.text(path, text)))).collect();
    for (path, page) in &parsed {
        for link in &page.links {
            if let Err(what) = follow(root, path, link, &parsed, &book) {
                findings.push(format!("{}: {what}", path.display()));
            }
        }
    }
    Ok((findings, parsed.len()))
}

fn follow(root: &Path, from: &Path, link: &str, pages: &BTreeMap<&Path, Page>, book: &Book) -> Result<(), String> {
    if has_scheme(link) {
        return Ok(());
    }
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let target = match path {
        "" => from.to_path_buf(),
        path => beside(from, path).ok_or_else(|| format!("{link} leaves the repository"))?,
    };
    if !root.join(&target).exists() {
        return Err(format!("dead link {link}"));
    }
    if book.has(from) && !book.has(&target) {
        return Err(format!("{link} leaves the manual, which is read without the repository, too"));
    }
    match (heading, pages.get(target.as_path())) {
        (Some(heading), Some(page)) if !page.anchors.contains(heading) => {
            Err(format!("no heading #{heading} in {}", target.display()))
        }
        _ => Ok(()),
    }
}

/// `https:`, `mailto:` and the like.
fn has_scheme(link: &str) -> bool {
    link.split_once(':').is_some_and(|(scheme, _)| !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// The file that `link` names in the page `from`, both relative to the repository; nothing if it is not in it.
fn beside(from: &Path, link: &str) -> Option<PathBuf> {
    let mut parts: Vec<&std::ffi::OsStr> = from.parent()?.iter().collect();
    for part in Path::new(link).components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.iter().collect())
}

/// All that is or will be in the repository, relative to `root`.
fn markdown_files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.md"];
    let out = Command::new("git").current_dir(root).args(args).output().map_err(|e| format!("git: {e}"))?;
    if !out.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&out.stderr)));
    }
    let names = String::from_utf8_lossy(&out.stdout);
    // What is deleted and not yet committed is still listed.
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).filter(|path| root.join(path).is_file()).collect())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_links_of_the_repository_lead_somewhere() {
        let (findings, pages) = check(&repository()).expect("the repository is readable");
        assert!(findings.is_empty(), "\n{}", findings.join("\n"));
        assert!(pages > 10);
    }

    /// A folder that is a repository of its own, with the files that are given.
    fn repository_of(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("xtask-links-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        assert!(Command::new("git").current_dir(&root).args(["init", "-q"]).status().expect("git").success());
        root
    }

    #[test]
    fn dead_links_are_found() {
        let readme = "# A *b* `c_d`\n## A b c_d\n[1](#a-b-c_d-1) [2](#no) [3](docs/x.md#y-z) [4](docs/x.md#no) [5](docs/no.md)\n\
                      ![6](docs/no.png) [7](https://no) [8](../no.md) [9](docs) `[10](no)`\n```\n[11](no)\n```\n";
        let root = repository_of("dead", &[("README.md", readme), ("docs/x.md", "### Y, z?\n[r]\n\n[r]: no.md\n")]);
        let (mut findings, _) = check(&root).expect("a repository");
        findings.sort();
        let expected = [
            "README.md: ../no.md leaves the repository",
            "README.md: dead link docs/no.md",
            "README.md: dead link docs/no.png",
            "README.md: no heading #no in README.md",
            "README.md: no heading #no in docs/x.md",
            "docs/x.md: dead link no.md",
        ];
        assert_eq!(findings, expected);
        std::fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn pages_of_the_manual_stay_in_it() {
        let page = "# P\n{{#include ../../other.md:part}}\n[1](q.md#p) [2](../../other.md)\n";
        let other = "before [x](no.md)\n<!-- ANCHOR: part -->\n## In\n[y](#in) [z](no.md)\n<!-- ANCHOR_END: part -->\n";
        let files = [
            ("docs/manual/src/SUMMARY.md", "# M\n- [P](p.md)\n- [R](r.md)\n"),
            ("docs/manual/src/p.md", page),
            ("docs/manual/src/q.md", "{{#include ../../no.md}} {{#include ../../other.md:no}}\n"),
            ("docs/other.md", other),
        ];
        let root = repository_of("manual", &files);
        let (mut findings, _) = check(&root).expect("a repository");
        findings.sort();
        let expected = [
            "docs/manual/src/SUMMARY.md: dead link r.md",
            "docs/manual/src/p.md: ../../other.md leaves the manual, which is read without the repository, too",
            "docs/manual/src/p.md: dead link no.md",
            "docs/manual/src/p.md: no heading #p in docs/manual/src/q.md",
            "docs/manual/src/q.md: includes ../../no.md, which is not there",
            "docs/manual/src/q.md: includes ../../other.md:no, which is not there",
            "docs/manual/src/q.md: is not in SUMMARY.md",
            "docs/other.md: dead link no.md",
            "docs/other.md: dead link no.md",
        ];
        assert_eq!(findings, expected);
        std::fs::remove_dir_all(root).expect("removed");
    }
}
