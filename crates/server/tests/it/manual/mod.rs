//! The reference pages of the manual (`docs/manual/src/reference`) are made of the registries in the code, of which they say nothing that is not there.
//!
//! A page that is not what its registry says now fails. `VAQUITA_RECORD=own cargo test -p vaquita-server --test it manual` writes them all;
//! the difference that git shows is what a reader of the manual will see.

mod errors;
mod functions;
mod metrics;
mod options;
mod statements;
mod status;
mod variables;

use std::path::Path;

use crate::client::{Answer, Client};

/// Compares the page with what it must be now, or writes it.
fn compare(page: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/src/reference").join(page);
    if std::env::var("VAQUITA_RECORD").is_ok_and(|record| record == "own") {
        std::fs::write(&path, text).expect("the page is written");
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let mut lines = recorded.lines();
    for (at, line) in text.lines().enumerate() {
        let of_page = lines.next();
        assert_eq!(of_page, Some(line), "{page}, line {}: see docs/hacking.md, *Record*", at + 1);
    }
    assert_eq!(recorded.len(), text.len(), "{page} has more than its registry");
}

/// A page: a title, what a reader must know, and sections.
struct PageText(String);

impl PageText {
    fn new(title: &str, about: &str) -> PageText {
        PageText(format!("# {title}\n\n{about}\n"))
    }

    fn section(&mut self, title: &str, about: &str) {
        self.0.push_str(&format!("\n## {title}\n\n"));
        if !about.is_empty() {
            self.0.push_str(&format!("{about}\n\n"));
        }
    }

    fn table<const N: usize>(&mut self, head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        self.0.push_str(&line(&head.map(str::to_string)));
        self.0.push_str(&format!("|{}\n", "---|".repeat(N)));
        rows.into_iter().for_each(|row| self.0.push_str(&line(&row)));
    }
}

/// Text as code in a cell of a table.
fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", text.replace('|', "\\|")) }
}

/// Text in which nothing is Markdown.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => plain.push(' '),
            '\\' | '*' | '_' | '<' | '>' | '|' | '[' | ']' | '`' => plain.extend(['\\', c]),
            c => plain.push(c),
        }
    }
    plain
}

fn ok(client: &mut Client, sql: &str) {
    let answer = client.query(sql);
    assert!(!matches!(answer, Answer::Err { .. }), "{sql}: {answer:?}");
}
