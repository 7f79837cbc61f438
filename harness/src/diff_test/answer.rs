//! What a server answers to a statement, with column metadata and warnings, and how two answers differ.
//!
//! Not compared: how often a warning is repeated and, if rows are read, in which order, as both depend on the plan; the
//! row number in a message; DOUBLE digits beyond the twelfth, which depend on the order of additions.

use std::collections::BTreeSet;
use std::fmt::Write;

use vaquita_wire::codec::Bytes;

use super::protocol;
use crate::client::{Answer, Client};

pub type Row = Vec<Option<Vec<u8>>>;

pub struct Full {
    pub answer: Answer,
    /// The insert id of an OK packet.
    pub insert_id: u64,
    /// One line per column: its name, origin, type, length, flags, decimals, charset.
    pub metadata: Vec<String>,
    pub warnings: BTreeSet<String>,
    /// What `COUNTS` selects, if that is asked for instead of the warnings.
    pub counts: Vec<Row>,
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
    /// Rows changed, or what an UPDATE says of them, or the insert id.
    Affected,
    Counts,
    Tables,
    Warnings,
    Metadata(&'static str),
}

impl Difference {
    /// Of what the statement gives or does, not of how that is described.
    pub fn is_of_rows(&self) -> bool {
        matches!(self, Difference::Error(..) | Difference::Rows | Difference::Affected | Difference::Counts | Difference::Tables)
    }
}

const FIELDS: &[&str] = &["name", "origin", "type", "flags", "decimals", "charset", "length"];

/// A part that differs, with both servers' line of it: a column's metadata, a warning (which the other has not).
pub struct Finding {
    pub difference: Difference,
    pub mysql: String,
    pub vaquita: String,
}

impl Finding {
    fn whole(difference: Difference) -> Finding {
        Finding { difference, mysql: String::new(), vaquita: String::new() }
    }
}

/// A statement as it is sent.
pub struct Sent {
    pub sql: String,
    /// Literals that are sent as parameters of a prepared statement.
    pub params: Option<Vec<String>>,
    /// Ask for `COUNTS` rather than for warnings.
    pub counts: bool,
}

/// What the session knows of the statement before. FOUND_ROWS() is said to be of a SELECT only.
const COUNTS: [&str; 2] = ["SELECT ROW_COUNT(), LAST_INSERT_ID()", "SELECT ROW_COUNT(), FOUND_ROWS()"];

/// Runs a statement and reads all of its answer.
pub fn run(client: &mut Client, sent: &Sent) -> Result<Full, String> {
    let sql = &sent.sql;
    let lost = |e: std::io::Error| format!("the connection is lost at {sql}: {e}");
    let reply = match &sent.params {
        Some(params) => protocol::execute(client, sql, params),
        None => protocol::query(client, sql),
    };
    let reply = reply.map_err(lost)?;
    let metadata = reply.columns.iter().filter_map(|column| describe(column)).collect();
    let after = match (sent.counts, &reply.answer) {
        (false, _) => "SHOW WARNINGS",
        (true, Answer::Rows { .. }) => COUNTS[1],
        (true, _) => COUNTS[0],
    };
    let rows = match client.try_query(after).map_err(lost)? {
        Answer::Rows { rows, .. } => rows,
        other => return Err(format!("{after}: {other:?}")),
    };
    let mut full = Full {
        answer: reply.answer,
        insert_id: reply.insert_id,
        metadata,
        warnings: BTreeSet::new(),
        counts: Vec::new(),
        tables: Vec::new(),
    };
    if sent.counts {
        full.counts = rows;
    } else {
        full.warnings = rows.iter().map(|row| without_row_number(&text(row))).collect();
    }
    Ok(full)
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

/// `… at row 3` as `… at row #`, also where more follows.
fn without_row_number(text: &str) -> String {
    let Some((before, after)) = text.rsplit_once(" at row ") else { return text.to_string() };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.len() < after.len() && (rest.is_empty() || rest.starts_with(" is deprecated")) {
        true => format!("{before} at row #{rest}"),
        false => text.to_string(),
    }
}

/// The first part in which the answers differ. `folds` says that equal strings may stand for one another, as in GROUP BY.
pub fn difference(mysql: &Full, vaquita: &Full, ordered: bool, folds: bool) -> Option<Difference> {
    findings(mysql, vaquita, ordered, folds).into_iter().next().map(|finding| finding.difference)
}

/// All parts in which the answers differ. Behind an error of one there is nothing to compare.
pub fn findings(mysql: &Full, vaquita: &Full, ordered: bool, folds: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |difference| found.push(Finding::whole(difference));
    match (&mysql.answer, &vaquita.answer) {
        (Answer::Err { code: a, text: s, .. }, Answer::Err { code: b, text: t, .. }) => {
            if a != b {
                add(Difference::Error(*a, *b));
            } else if without_row_number(s) != without_row_number(t) {
                add(Difference::ErrorText(*a));
            }
            return found;
        }
        (Answer::Err { code, .. }, _) => add(Difference::Error(*code, 0)),
        (_, Answer::Err { code, .. }) => add(Difference::Error(0, *code)),
        (Answer::Rows { rows: a, .. }, Answer::Rows { rows: b, .. }) if !same_rows(a, b, ordered, folds) => add(Difference::Rows),
        (Answer::Ok { affected: a, info: i, .. }, Answer::Ok { affected: b, info: j, .. }) => {
            let without_warnings = |info: &str| info.split("Warnings").next().unwrap_or("").to_string();
            if a != b || without_warnings(i) != without_warnings(j) || mysql.insert_id != vaquita.insert_id {
                add(Difference::Affected);
            }
        }
        (Answer::Rows { .. }, Answer::Rows { .. }) => {}
        _ => add(Difference::Rows),
    }
    if !found.is_empty() {
        return found;
    }
    if mysql.counts != vaquita.counts {
        found.push(Finding::whole(Difference::Counts));
    }
    // They are read by their ids, of which two may be equal.
    if !same_rows(&mysql.tables, &vaquita.tables, false, false) {
        found.push(Finding::whole(Difference::Tables));
    }
    for line in mysql.warnings.symmetric_difference(&vaquita.warnings) {
        let (ours, theirs) =
            if vaquita.warnings.contains(line) { (line.clone(), String::new()) } else { (String::new(), line.clone()) };
        found.push(Finding { difference: Difference::Warnings, mysql: theirs, vaquita: ours });
    }
    found.extend(mysql.metadata.iter().zip(&vaquita.metadata).filter_map(|(a, b)| {
        let differing = a.split('\t').zip(b.split('\t')).position(|(a, b)| a != b)?;
        let difference = Difference::Metadata(FIELDS.get(differing).copied().unwrap_or("name"));
        Some(Finding { difference, mysql: a.clone(), vaquita: b.clone() })
    }));
    found
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
        Answer::Ok { affected, info, .. } => format!("ok, {affected} rows {info}, insert id {}\n", full.insert_id),
        Answer::Err { code, state, text } => format!("error {code} ({state}): {text}\n"),
        Answer::Rows { rows, .. } => rows.iter().map(|row| text(row) + "\n").collect(),
    };
    for (title, lines) in [
        ("column", full.metadata.clone()),
        ("warning", full.warnings.iter().cloned().collect()),
        ("counts", full.counts.iter().map(text).collect()),
        ("table row", full.tables.iter().map(text).collect()),
    ] {
        for line in lines {
            let _ = writeln!(out, "{title}: {line}");
        }
    }
    out
}
