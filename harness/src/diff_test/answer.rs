//! What a server answers to a statement, with column metadata and warnings, and how two answers differ.
//!
//! Not compared: how often a warning is repeated and, if rows are read, in which order, as both depend on the plan; the
//! row number in a message; DOUBLE digits beyond the twelfth, which depend on the order of additions.

use std::collections::BTreeSet;
use std::fmt::Write;

use vaquita_wire::codec::Bytes;

use crate::client::{Answer, Client};

type Row = Vec<Option<Vec<u8>>>;

pub struct Full {
    pub answer: Answer,
    /// One line per column: its name, origin, type, length, flags, decimals, charset.
    pub metadata: Vec<String>,
    pub warnings: BTreeSet<String>,
    /// The rows of all tables afterwards, if the statement writes.
    pub tables: Vec<Row>,
}

/// Which part of two answers differs, in the order in which it is looked at.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Difference {
    /// One refuses, or both with other codes: MySQL's code and Vaquita's, 0 for success.
    Error(u16, u16),
    ErrorText(u16),
    Rows,
    Affected,
    Tables,
    Warnings,
    Metadata(&'static str),
}

impl Difference {
    /// Of what the statement gives or does, not of how that is described.
    pub fn is_of_rows(&self) -> bool {
        matches!(self, Difference::Error(..) | Difference::Rows | Difference::Affected | Difference::Tables)
    }
}

const FIELDS: &[&str] = &["name", "origin", "type", "flags", "decimals", "charset", "length"];

/// Runs `sql` and reads all of its answer.
pub fn run(client: &mut Client, sql: &str) -> Result<Full, String> {
    let mut payload = vec![3];
    payload.extend_from_slice(sql.as_bytes());
    let lost = |e: std::io::Error| format!("the connection is lost at {sql}: {e}");
    client.command(&payload).map_err(lost)?;
    let (metadata, answer) = client.answer_with(describe).map_err(lost)?;
    let warnings = match client.try_query("SHOW WARNINGS").map_err(lost)? {
        Answer::Rows { rows, .. } => rows.iter().map(|row| without_row_number(&text(row))).collect(),
        other => return Err(format!("SHOW WARNINGS: {other:?}")),
    };
    Ok(Full { answer, metadata, warnings, tables: Vec::new() })
}

/// The fields of a column definition, in the order of `FIELDS`.
fn describe(packet: &[u8]) -> Option<String> {
    let mut bytes = Bytes::new(packet);
    let mut names = Vec::new();
    for _ in 0..6 {
        names.push(String::from_utf8_lossy(bytes.lenenc_bytes().ok()?).into_owned());
    }
    bytes.skip(1).ok()?;
    let (charset, length, kind) = (bytes.u16().ok()?, bytes.u32().ok()?, bytes.u8().ok()?);
    let (flags, decimals) = (bytes.u16().ok()?, bytes.u8().ok()?);
    let origin = format!("{}.{}.{}", names[2], names[3], names[5]);
    Some(format!("{}\t{origin}\t{kind}\t{flags:#06x}\t{decimals}\t{charset}\t{length}", names[4]))
}

pub fn text(row: &Row) -> String {
    let values: Vec<String> = row
        .iter()
        .map(|value| match value {
            None => "NULL".to_string(),
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.to_string(),
                Err(_) => bytes.iter().fold("0x".to_string(), |mut hex, byte| {
                    let _ = write!(hex, "{byte:02X}");
                    hex
                }),
            },
        })
        .collect();
    values.join("\t")
}

/// `… at row 3` as `… at row #`.
fn without_row_number(text: &str) -> String {
    match text.rsplit_once(" at row ") {
        Some((before, number)) if number.bytes().all(|b| b.is_ascii_digit()) => format!("{before} at row #"),
        _ => text.to_string(),
    }
}

/// The first part in which the answers differ. `folds` says that equal strings may stand for one another, as in GROUP BY.
pub fn difference(mysql: &Full, vaquita: &Full, ordered: bool, folds: bool) -> Option<Difference> {
    match (&mysql.answer, &vaquita.answer) {
        (Answer::Err { code: a, text: s, .. }, Answer::Err { code: b, text: t, .. }) => {
            if a != b {
                return Some(Difference::Error(*a, *b));
            }
            return (without_row_number(s) != without_row_number(t)).then_some(Difference::ErrorText(*a));
        }
        (Answer::Err { code, .. }, _) => return Some(Difference::Error(*code, 0)),
        (_, Answer::Err { code, .. }) => return Some(Difference::Error(0, *code)),
        (Answer::Rows { rows: a, .. }, Answer::Rows { rows: b, .. }) if !same_rows(a, b, ordered, folds) => {
            return Some(Difference::Rows);
        }
        (Answer::Ok { affected: a, info: i, .. }, Answer::Ok { affected: b, info: j, .. }) => {
            let without_warnings = |info: &str| info.split("Warnings").next().unwrap_or("").to_string();
            if a != b || without_warnings(i) != without_warnings(j) {
                return Some(Difference::Affected);
            }
        }
        (Answer::Rows { .. }, Answer::Rows { .. }) => {}
        _ => return Some(Difference::Rows),
    }
    if !same_rows(&mysql.tables, &vaquita.tables, true, false) {
        return Some(Difference::Tables);
    }
    if mysql.warnings != vaquita.warnings {
        return Some(Difference::Warnings);
    }
    mysql.metadata.iter().zip(&vaquita.metadata).find_map(|(a, b)| {
        let differing = a.split('\t').zip(b.split('\t')).position(|(a, b)| a != b)?;
        Some(Difference::Metadata(FIELDS.get(differing).copied().unwrap_or("name")))
    })
}

fn same_rows(a: &[Row], b: &[Row], ordered: bool, folds: bool) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let sorted = |rows: &[Row]| {
        let mut lines: Vec<String> = rows.iter().map(text).collect();
        if folds {
            lines.iter_mut().for_each(|line| *line = line.to_lowercase());
        }
        if !ordered {
            lines.sort_unstable();
        }
        lines
    };
    sorted(a).iter().zip(&sorted(b)).all(|(a, b)| a == b || same_values(a, b))
}

fn same_values(a: &str, b: &str) -> bool {
    a.split('\t').count() == b.split('\t').count()
        && a.split('\t').zip(b.split('\t')).all(|(a, b)| {
            a == b
                || match (a.parse::<f64>(), b.parse::<f64>()) {
                    (Ok(x), Ok(y)) => (a.contains(['.', 'e']) || b.contains(['.', 'e'])) && (x - y).abs() <= 1e-12 * x.abs(),
                    _ => false,
                }
        })
}

/// An answer for a report.
pub fn print(full: &Full) -> String {
    let mut out = match &full.answer {
        Answer::Ok { affected, info, .. } => format!("ok, {affected} rows {info}\n"),
        Answer::Err { code, state, text } => format!("error {code} ({state}): {text}\n"),
        Answer::Rows { rows, .. } => rows.iter().map(|row| text(row) + "\n").collect(),
    };
    for (title, lines) in [
        ("column", full.metadata.clone()),
        ("warning", full.warnings.iter().cloned().collect()),
        ("table row", full.tables.iter().map(text).collect()),
    ] {
        for line in lines {
            let _ = writeln!(out, "{title}: {line}");
        }
    }
    out
}
