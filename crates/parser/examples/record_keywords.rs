//! Writes `src/keyword_table.rs` from a running MySQL's `information_schema.keywords`.
//!
//! `cargo run -p vaquita-parser --example record_keywords -- mysql -h127.0.0.1 -P3306 -uroot`
//! runs the client given after `--`. The words that MySQL treats as keywords only in front of a
//! parenthesis are not in that view; they are listed here.

use std::fmt::Write as _;
use std::process::Command;

/// Keywords only when `(` follows (at once, without IGNORE_SPACE).
const FUNCTIONS: &[&str] = &[
    "ADDDATE",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "CAST",
    "COUNT",
    "CURDATE",
    "CURTIME",
    "DATE_ADD",
    "DATE_SUB",
    "EXTRACT",
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "MAX",
    "MID",
    "MIN",
    "NOW",
    "POSITION",
    "SESSION_USER",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "ST_COLLECT",
    "SUBDATE",
    "SUBSTR",
    "SUBSTRING",
    "SUM",
    "SYSDATE",
    "SYSTEM_USER",
    "TRIM",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
];

/// Reserved after MySQL 8.4, so plain words here.
const RESERVED_LATER: &[&str] = &["EXTERNAL", "LIBRARY"];

fn main() {
    let client: Vec<String> = std::env::args().skip(1).collect();
    let output = Command::new(&client[0])
        .args(&client[1..])
        .args(["-N", "-B", "-e", "SELECT word, reserved FROM information_schema.keywords"])
        .output()
        .expect("the client runs");
    let text = String::from_utf8(output.stdout).expect("keywords are ASCII");
    let mut words: Vec<(String, char)> = Vec::new();
    for line in text.lines() {
        let (word, reserved) = line.split_once('\t').expect("two columns");
        let reserved = reserved == "1" && !RESERVED_LATER.contains(&word);
        words.push((word.to_string(), if reserved { 'R' } else { 'N' }));
    }
    words.extend(FUNCTIONS.iter().map(|w| (w.to_string(), 'F')));
    words.sort();
    words.dedup_by(|a, b| a.0 == b.0);
    let mut out = String::from(
        "//! MySQL's keywords, recorded from `information_schema.keywords` by the example\n\
         //! `record_keywords`. R: reserved, N: not reserved, F: a keyword only before `(`.\n\n\
         keywords! {\n",
    );
    for (word, kind) in &words {
        writeln!(out, "    {word} {kind},").expect("writing to a string");
    }
    out.push_str("}\n");
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/keyword_table.rs"), out).expect("the table is written");
}
