//! Scripts of SQL statements: what their lines mean, whoever answers them.
//!
//! ```text
//! # …                 a comment
//! > connection 1      statements from here on are this connection's; the first is 0
//! > file a\tb\n       what the next LOAD DATA LOCAL of this connection reads, with `\t`, `\n`, `\r`, `\\` and `\xHH`
//! > SELECT 1          a statement; its answer follows
//! ```

use std::fmt::Write;

use crate::Script;

/// A client of a script.
pub trait Console {
    /// The answer to a statement as scripts print it, with a line feed at its end.
    fn answer(&mut self, statement: &str) -> String;

    /// What the next LOAD DATA LOCAL reads.
    fn set_file(&mut self, bytes: Vec<u8>);
}

/// The script with the answers of now. `connect` opens a connection in the script's database.
pub fn replay<C: Console>(script: &Script, mut connect: impl FnMut() -> C) -> String {
    let mut consoles = vec![connect()];
    let (mut out, mut current) = (String::new(), 0);
    for line in script.text.lines() {
        if line.starts_with('#') {
            let _ = writeln!(out, "{line}");
        }
        let Some(statement) = line.strip_prefix("> ") else { continue };
        let _ = writeln!(out, "{line}");
        if let Some(number) = statement.strip_prefix("connection ") {
            current = number.trim().parse().expect("the number of a connection");
            consoles.resize_with(consoles.len().max(current + 1), &mut connect);
        } else if let Some(text) = statement.strip_prefix("file ") {
            consoles[current].set_file(unescape(text));
        } else {
            out.push_str(&consoles[current].answer(statement));
        }
    }
    out
}

/// What a script shows behind an answer: `[name]` and indented lines.
pub fn section<'a>(name: &str, lines: impl IntoIterator<Item = &'a str>) -> String {
    lines.into_iter().fold(format!("[{name}]\n"), |mut text, line| {
        let _ = writeln!(text, "  {line}");
        text
    })
}

/// Values of a row, or names of columns, on one line; NULL is `None`.
pub fn print_row<'v>(values: impl IntoIterator<Item = Option<&'v [u8]>>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| value.map_or("NULL".into(), escape)).collect();
    values.join("\t") + "\n"
}

pub fn print_ok(affected: u64, warnings: u16, info: &str) -> String {
    let info = if info.is_empty() { String::new() } else { format!(" {info}") };
    let warnings = if warnings == 0 { String::new() } else { format!(" warnings {warnings}") };
    format!("ok {affected}{warnings}{info}\n")
}

pub fn print_error(code: u16, state: &str, text: &str) -> String {
    format!("error {code} ({state}): {}\n", escape(text.as_bytes()))
}

/// A value on one line, and bytes that are no text as hexadecimal digits.
pub fn escape(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') => {
            text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
        }
        _ => bytes.iter().fold("0x".to_string(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02X}");
            hex
        }),
    }
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
