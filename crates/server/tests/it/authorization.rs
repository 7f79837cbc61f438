//! What accounts may do with tables and columns, statement by statement, as recorded from MySQL.
//!
//! `tests/golden/accounts/uses.txt` has lines `who> statement`, each followed by the rows or the error. `root` may do everything, every
//! other name is the account `va_name` with the password `x`, which the file itself makes. After `who! statement` only the number
//! of the error is compared, or `ok`: for texts and rows that belong to one server. Names like `nop2` are a second session of `nop`.
//! To record again: `VAQUITA_RECORD=127.0.0.1:13306:sb:sb cargo test -p vaquita-server --test it uses_are_authorized`.

use std::collections::HashMap;
use std::path::Path;

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};
use vaquita_scripts::{Record, Target};

struct Sessions {
    target: Target,
    open: HashMap<String, Client>,
}

impl Sessions {
    fn of(&mut self, who: &str) -> &mut Client {
        let Target { port, user, password } = &self.target;
        self.open.entry(who.to_string()).or_insert_with(|| {
            let connected = match who.trim_end_matches(|c: char| c.is_ascii_digit()) {
                "root" => Client::connect(*port, user, password),
                account => Client::connect(*port, &format!("va_{account}"), "x"),
            };
            connected.unwrap_or_else(|error| panic!("{who}: {error}"))
        })
    }

    /// The file with this server's answers.
    fn replay(&mut self, script: &str) -> String {
        let mut out = String::new();
        for line in script.lines() {
            let Some(at) = line.find(['>', '!']).filter(|at| *at > 0 && line[..*at].chars().all(|c| c.is_ascii_alphanumeric()))
            else {
                if line.starts_with('#') {
                    out += &format!("{line}\n");
                }
                continue;
            };
            let (who, sql) = (&line[..at], line[at + 1..].trim_start());
            out += &format!("{line}\n");
            let answer = self.of(who).query(sql);
            out += &if line[at..].starts_with('!') { outcome(&answer) } else { text_of(answer) };
            out.push('\n');
        }
        out
    }
}

fn outcome(answer: &Answer) -> String {
    match answer {
        Answer::Err { code, .. } => format!("{code}\n"),
        _ => "ok\n".to_string(),
    }
}

fn text_of(answer: Answer) -> String {
    match answer {
        Answer::Ok { .. } => String::new(),
        Answer::Err { code, text, .. } => format!("error {code}: {text}\n"),
        rows => rows.rows().into_iter().map(|row| row.join("\t").replace('\n', "\\n") + "\n").collect(),
    }
}

fn check(file: &str, server_name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/accounts").join(file);
    let expected = std::fs::read_to_string(&path).expect("read");
    if let Record::Mysql(target) = Record::from_env() {
        let recorded = Sessions { target, open: HashMap::new() }.replay(&expected);
        return std::fs::write(&path, recorded).expect("write");
    }
    let server = Server::start_with(server_name, &["--local-infile"]);
    let target = Target { port: server.port, user: "root".into(), password: PASSWORD.into() };
    let actual = Sessions { target, open: HashMap::new() }.replay(&expected);
    let wrong: Vec<String> = expected
        .split("\n\n")
        .zip(actual.split("\n\n"))
        .filter(|(expected, actual)| expected.trim_end() != actual.trim_end())
        .map(|(expected, actual)| format!("{expected}\n--- got\n{}", actual.split_once('\n').map_or("", |(_, got)| got)))
        .collect();
    assert!(
        wrong.is_empty() && expected.trim_end().len() == actual.trim_end().len(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

/// Findings S1, S2 and S6, and their class.
#[test]
fn uses_are_authorized_as_in_mysql() {
    check("uses.txt", "uses");
}
