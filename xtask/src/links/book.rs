//! The manual, an mdBook: its pages are `docs/manual/src`, its table of contents is `SUMMARY.md`.
//!
//! A page may have `{{#include FILE}}` or `{{#include FILE:ANCHOR}}`, the latter for what stands between the lines that have
//! `ANCHOR: name` and `ANCHOR_END: name` in them. What is included is part of the page, and so are its links. A page links to pages of the manual only,
//! and is in its table of contents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::beside;
use super::markdown::Page;

const DIR: &str = "docs/manual/src";
const CONTENTS: &str = "docs/manual/src/SUMMARY.md";
const INCLUDE: &str = "{{#include ";

/// Texts of pages with what they include.
pub struct Book(BTreeMap<PathBuf, String>);

impl Book {
    pub fn of(pages: &BTreeMap<PathBuf, String>, fail: &mut dyn FnMut(String)) -> Book {
        let contents = pages.get(Path::new(CONTENTS)).map(|text| Page::of(text)).unwrap_or_default();
        let listed: Vec<PathBuf> = contents.links.iter().filter_map(|link| beside(Path::new(CONTENTS), link)).collect();
        let mut texts = BTreeMap::new();
        for (path, text) in pages.iter().filter(|(path, _)| path.starts_with(DIR)) {
            if path != Path::new(CONTENTS) && !listed.contains(path) {
                fail(format!("{}: is not in SUMMARY.md", path.display()));
            }
            let text = with_includes(path, text, pages, &mut |what| {
                fail(format!("{}: includes {what}, which is not there", path.display()));
            });
            texts.insert(path.clone(), text);
        }
        Book(texts)
    }

    pub fn has(&self, path: &Path) -> bool {
        path.starts_with(DIR)
    }

    /// The page with what it includes.
    pub fn text<'a>(&'a self, path: &Path, own: &'a str) -> &'a str {
        self.0.get(path).map_or(own, String::as_str)
    }
}

fn with_includes(path: &Path, text: &str, pages: &BTreeMap<PathBuf, String>, missing: &mut dyn FnMut(&str)) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(INCLUDE) {
        let (what, behind) = behind.split_once("}}").unwrap_or((behind, ""));
        whole.push_str(before);
        match included(path, what, pages) {
            Some(part) => whole.push_str(&part),
            None => missing(what),
        }
        rest = behind;
    }
    whole + rest
}

fn included(path: &Path, what: &str, pages: &BTreeMap<PathBuf, String>) -> Option<String> {
    let (file, part) = what.split_once(':').map_or((what, None), |(file, part)| (file, Some(part)));
    let text = pages.get(&beside(path, file)?)?;
    let Some(part) = part else { return Some(text.clone()) };
    let (begin, end) = (format!("ANCHOR: {part} "), format!("ANCHOR_END: {part} "));
    let mut lines = text.lines().skip_while(|line| !line.contains(&begin));
    lines.next()?;
    let lines: Vec<&str> = lines.take_while(|line| !line.contains(&end)).collect();
    Some(lines.join("\n"))
}
