//! SQL scripts whose answers were recorded from a real MySQL.
//!
//! `tests/golden/sql/*.test` hold statements, each after `> `, and what MySQL answered. A script runs in a
//! database of its own. `# …` lines are comments; `> connection N` switches between connections of the script, `> file text` says what
//! the next LOAD DATA LOCAL reads, with `\t`, `\n`, `\r`, `\\` and `\xHH`.

use std::fmt::Write;

use vaquita_scripts::{Script, Target};

use crate::client::{Answer, Client};

/// Runs the statements of a script and returns the script with the answers of `target`.
pub fn replay(script: &Script, target: &Target) -> String {
    let name = format!("golden_{}", script.name);
    let connect = || Client::connect(target.port, &target.user, &target.password).expect("connect");
    let mut connections = vec![connect()];
    connections[0].query(&format!("DROP DATABASE IF EXISTS {name}"));
    connections[0].query(&format!("CREATE DATABASE {name}"));
    connections[0].query(&format!("USE {name}"));
    let mut current = 0;
    let mut out = String::new();
    for line in script.text.lines() {
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
pub fn unescape(text: &str) -> Vec<u8> {
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
