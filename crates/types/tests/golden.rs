//! Runs the golden files: what MySQL answered to small expressions and stores.
//!
//! `golden/record.py` records them. A case is evaluated here by a small evaluator that knows
//! only literals, a few operators and the functions that the files use, and maps
//! each to the function of this crate that stands for it. The suites print every
//! difference and fail at the end.

#[path = "golden/eval.rs"]
mod eval;

use std::collections::BTreeSet;

use eval::{Operand, Reader};
use vaquita_types::charset::{CollationId, charset};
use vaquita_types::convert::{StoreContext, StoreProblem, store, write_text};
use vaquita_types::temporal::{Date, TimeZone};
use vaquita_types::{ColumnType, TypeKind, Value, sql_mode};

/// The lines of a golden file: its case fields and its answer fields.
fn cases(file: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("golden file");
    let fields = |s: &str| s.split('\t').map(str::to_string).collect::<Vec<_>>();
    text.lines()
        .filter(|l| !l.starts_with('#') && !l.is_empty())
        .filter_map(|l| l.split_once("\t=>\t"))
        .map(|(case, answer)| (fields(case), fields(answer)))
        .collect()
}

/// As the batch mode of the client prints a value.
fn batch(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\0', "\\0")
}

fn check_expressions(file: &str) {
    let mut wrong = Vec::new();
    let all = cases(file);
    for (case, expected) in &all {
        let parts: Vec<&str> = expected[0].split(" | ").collect();
        // An error stands behind its warnings; otherwise only the value counts.
        let wanted = parts.iter().find(|p| p.starts_with("Error ")).unwrap_or(&parts[0]).to_string();
        let got = match eval::expression(&case[0]) {
            Ok(operand) => batch(operand.text().as_deref().unwrap_or(b"NULL")),
            Err(e) => batch(format!("Error {} {}", e.code(), e.message()).as_bytes()),
        };
        if got != wanted {
            wrong.push(format!("{}\n  MySQL: {wanted}\n  here:  {got}", case[0]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases of {file} differ:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn decimal() {
    check_expressions("decimal.txt");
}

#[test]
fn temporal() {
    check_expressions("temporal.txt");
}

#[test]
fn json() {
    check_expressions("json.txt");
}

/// Warnings about delimiters and about fields overflowing come from elsewhere.
const OTHER_WARNINGS: [&str; 3] = [" 4095 ", " 4096 ", " 1441 "];

#[test]
fn store_into_columns() {
    check_store("store.txt");
}

#[test]
fn store_under_sql_modes() {
    check_store("store_modes.txt");
}

fn check_store(file: &str) {
    let mut wrong = Vec::new();
    let all = cases(file);
    for (case, expected) in &all {
        let to = eval::column_type(&case[0]);
        let operand = Reader::new(&case[1]).whole().expect("literal");
        let strict = sql_mode::STRICT_TRANS_TABLES | sql_mode::NO_ZERO_IN_DATE | sql_mode::NO_ZERO_DATE;
        let modes = match case.get(2) {
            Some(names) => vec![names.split(',').map(mode_named).sum()],
            None => vec![strict, 0],
        };
        for (mode, expected) in modes.into_iter().zip(expected) {
            let mut seen = BTreeSet::new();
            let wanted: Vec<String> = expected
                .split(" | ")
                .filter(|p| !OTHER_WARNINGS.iter().any(|w| p.contains(w)) && seen.insert(p.to_string()))
                .map(|p| p.replace("from column cast_as_json", "from column c"))
                .collect();
            let got = store_answer(&operand, &to, mode);
            if got != wanted {
                wrong.push(format!(
                    "{} <- {} ({mode:x})\n  MySQL: {}\n  here:  {}",
                    case[0],
                    case[1],
                    wanted.join(" | "),
                    got.join(" | ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases of {file} differ:\n{}", wrong.len(), 2 * all.len(), wrong.join("\n"));
}

fn mode_named(name: &str) -> u64 {
    sql_mode::NAMES.iter().find(|(n, _)| *n == name).expect("sql_mode").1
}

fn store_answer(operand: &Operand, to: &ColumnType, mode: u64) -> Vec<String> {
    let zone = TimeZone::Utc;
    let ctx = StoreContext { sql_mode: mode, time_zone: &zone, today: Date::new(2026, 11, 21).expect("date") };
    let is_strict = sql_mode::is_strict(mode);
    let operand = operand.for_column(to);
    match store(operand.value.clone(), &operand.ty, to, &ctx) {
        Ok(value) => vec![shown(&value, to)],
        Err(problem) => problem_answer(&problem, to, is_strict),
    }
}

fn problem_answer(problem: &StoreProblem, to: &ColumnType, strict: bool) -> Vec<String> {
    let report = problem.report("t", "c", 1, strict);
    let is_error = problem.always_fails() || (strict && !problem.is_note(strict));
    let level = match (is_error, problem.is_note(strict)) {
        (true, _) => "Error",
        (_, true) => "Note",
        _ => "Warning",
    };
    let mut out = vec![batch(format!("{level} {} {}", report.code(), report.message()).as_bytes())];
    if !is_error {
        out.push(shown(&problem.adjusted, to));
    }
    out
}

fn shown(value: &Value, to: &ColumnType) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::UInt(n) if to.kind == TypeKind::Bit => format!("={n:X}"),
        Value::Bytes(b) if to.kind as u8 >= TypeKind::Binary as u8 => {
            format!("={}", b.iter().map(|b| format!("{b:02X}")).collect::<String>())
        }
        _ => {
            let mut text = b"=".to_vec();
            write_text(value, to, &mut text);
            batch(&charset(to.collation).convert(charset(CollationId::UTF8MB4_BIN), &text).bytes)
        }
    }
}
