//! SQL scripts whose answers were recorded from a real MySQL.
//!
//! `tests/golden/sql/*.test` hold statements, each after `> `, and what MySQL answered. A script runs in a
//! database of its own. To record again, point at a server:
//! `VAQUITA_RECORD=127.0.0.1:13306:user:password cargo test -p vaquita-server --test it golden`.
//! `VAQUITA_GOLDEN=xa` takes only the scripts with `xa` in their names.
//! `# …` lines are comments; `> connection N` switches between connections of the script, `> file text` says what
//! the next LOAD DATA LOCAL reads, with `\t`, `\n`, `\r`, `\\` and `\xHH`.

use std::fmt::Write;
use std::path::Path;

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};

pub struct Target {
    pub port: u16,
    pub user: String,
    pub password: String,
}

#[test]
fn golden() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sql");
    let mut scripts: Vec<_> = std::fs::read_dir(&dir).expect("golden scripts").filter_map(|e| e.ok().map(|e| e.path())).collect();
    scripts.retain(|p| p.extension().is_some_and(|e| e == "test"));
    if let Ok(part) = std::env::var("VAQUITA_GOLDEN") {
        scripts.retain(|p| p.file_stem().is_some_and(|name| name.to_string_lossy().contains(&part)));
    }
    scripts.sort();
    assert!(!scripts.is_empty());
    if let Ok(oracle) = std::env::var("VAQUITA_RECORD") {
        let target = parse_target(&oracle);
        for script in &scripts {
            let recorded = replay(script, &target);
            std::fs::write(script, recorded).expect("write");
        }
        return;
    }
    let server = Server::start_with("golden", &["--local-infile"]);
    let target = Target { port: server.port, user: "root".into(), password: PASSWORD.into() };
    let mut failures = String::new();
    for script in &scripts {
        let expected = std::fs::read_to_string(script).expect("read");
        let actual = replay(script, &target);
        if let Some(difference) = first_difference(&expected, &actual) {
            let _ = writeln!(failures, "{}:\n{difference}", script.display());
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

pub fn parse_target(text: &str) -> Target {
    let parts: Vec<&str> = text.split(':').collect();
    let [_, port, user, password] = parts[..] else { panic!("VAQUITA_RECORD=host:port:user:password") };
    Target { port: port.parse().expect("port"), user: user.into(), password: password.into() }
}

/// Runs the statements of a script and returns the script with the answers of `target`.
fn replay(script: &Path, target: &Target) -> String {
    let text = std::fs::read_to_string(script).expect("read");
    let name = format!("golden_{}", script.file_stem().and_then(|s| s.to_str()).unwrap_or("x"));
    let connect = || Client::connect(target.port, &target.user, &target.password).expect("connect");
    let mut connections = vec![connect()];
    connections[0].query(&format!("DROP DATABASE IF EXISTS {name}"));
    connections[0].query(&format!("CREATE DATABASE {name}"));
    connections[0].query(&format!("USE {name}"));
    let mut current = 0;
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with('#') {
            let _ = writeln!(out, "{line}");
        }
        let Some(sql) = line.strip_prefix("> ") else { continue };
        let _ = writeln!(out, "> {sql}");
        if let Some(n) = sql.strip_prefix("connection ") {
            current = n.trim().parse().expect("connection number");
            while connections.len() <= current {
                let mut client = connect();
                client.query(&format!("USE {name}"));
                connections.push(client);
            }
            continue;
        }
        if let Some(text) = sql.strip_prefix("file ") {
            connections[current].local_file = unescape(text);
            continue;
        }
        print_answer(&connections[current].query(sql), &mut out);
    }
    connections[0].query(&format!("DROP DATABASE IF EXISTS {name}"));
    out
}

pub fn print_answer(answer: &Answer, out: &mut String) {
    let _ = match answer {
        Answer::Ok { affected, info, warnings } => {
            let info = if info.is_empty() { String::new() } else { format!(" {info}") };
            let warnings = if *warnings == 0 { String::new() } else { format!(" warnings {warnings}") };
            writeln!(out, "ok {affected}{warnings}{info}")
        }
        Answer::Err { code, state, text } => writeln!(out, "error {code} ({state}): {}", escape(text.as_bytes())),
        Answer::Rows { columns, rows } => {
            let _ = writeln!(out, "{}", columns.iter().map(|c| escape(c.as_bytes())).collect::<Vec<_>>().join("\t"));
            for row in rows {
                let values: Vec<String> = row.iter().map(|v| v.as_deref().map_or("NULL".into(), escape)).collect();
                let _ = writeln!(out, "{}", values.join("\t"));
            }
            Ok(())
        }
    };
}

/// The bytes of a file in a script.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next().expect("an escape") {
            b't' => b'\t',
            b'n' => b'\n',
            b'r' => b'\r',
            b'x' => {
                let mut digit = || char::from(rest.next().expect("a digit")).to_digit(16).expect("a hexadecimal digit") as u8;
                digit() * 16 + digit()
            }
            other => other,
        });
    }
    bytes
}

/// One line per value, and bytes that are no text as hex.
fn escape(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') => {
            text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
        }
        _ => bytes.iter().fold("0x".to_string(), |mut hex, b| {
            let _ = write!(hex, "{b:02X}");
            hex
        }),
    }
}

/// The statement whose answer differs, with both answers.
pub fn first_difference(expected: &str, actual: &str) -> Option<String> {
    let blocks = |text: &str| text.split("\n> ").map(str::to_string).collect::<Vec<_>>();
    let (expected, actual) = (blocks(expected.trim_end()), blocks(actual.trim_end()));
    let differing: Vec<String> = expected
        .iter()
        .zip(&actual)
        .filter(|(e, a)| e != a)
        .map(|(e, a)| {
            format!(
                "  > {}\n  -- vaquita answers:\n  {}",
                e.replace('\n', "\n  "),
                a.lines().skip(1).collect::<Vec<_>>().join("\n  ")
            )
        })
        .collect();
    if differing.is_empty() && expected.len() == actual.len() {
        return None;
    }
    Some(format!("{} of {} statements differ:\n{}", differing.len(), expected.len(), differing.join("\n")))
}
