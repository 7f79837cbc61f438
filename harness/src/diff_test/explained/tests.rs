//! Planted differences: what no rule may explain.

use std::collections::BTreeSet;

use super::*;
use crate::client::Answer;

fn full(warning: &str) -> Full {
    let warnings = if warning.is_empty() { BTreeSet::new() } else { BTreeSet::from([warning.to_string()]) };
    let answer = Answer::Rows { columns: Vec::new(), rows: Vec::new() };
    Full { answer, insert_id: 0, metadata: Vec::new(), warnings, counts: Vec::new(), tables: Vec::new() }
}

/// Whether a rule knows the warnings of both servers to be as they should be.
fn is_explained(sql: &str, mysql: &str, vaquita: &str) -> bool {
    let sent = Sent { sql: sql.to_string(), params: Some(vec!["'5x'".to_string()]), counts: false };
    let answers = (&full(mysql), &full(vaquita));
    let findings = super::super::answer::findings(answers.0, answers.1, false, false);
    !findings.is_empty() && findings.iter().all(|finding| rule(finding, &sent, &[], answers).is_some())
}

fn refusal(text: &str) -> Full {
    Full { answer: Answer::Err { code: 1292, state: "22007".to_string(), text: text.to_string() }, ..full("") }
}

#[test]
fn planted_errors_are_no_decided_ones() {
    let wrong = |kind: &str, value: &str| format!("Truncated incorrect {kind} value: '{value}'");
    let cases = [
        ("UPDATE t0 SET c0 = 'a' WHERE c1 = 'b'", wrong("DOUBLE", "a"), wrong("DOUBLE", "b"), true),
        ("UPDATE t0 SET c0 = 'a' WHERE c1 = 'b'", wrong("DOUBLE", "a"), wrong("INTEGER", "a"), false),
        ("SELECT 'a' + 'b'", wrong("DOUBLE", "a"), wrong("DOUBLE", "b"), false),
    ];
    for (sql, mysql, vaquita, expected) in cases {
        let sent = Sent { sql: sql.to_string(), params: None, counts: false };
        let answers = (&refusal(&mysql), &refusal(&vaquita));
        let findings = super::super::answer::findings(answers.0, answers.1, false, false);
        let explained = !findings.is_empty() && findings.iter().all(|finding| rule(finding, &sent, &[], answers).is_some());
        assert_eq!(explained, expected, "{sql}: {mysql} and {vaquita}");
    }
}

#[test]
fn planted_warnings_are_no_decided_ones() {
    let cast = "Warning\t1264\tOut of range value for column 'cast' at row #";
    let sum = "Warning\t6527\tDATE value is out of range in 'from_days(1)'";
    let json = |kind: &str, of: &str| format!("Warning\t3156\tInvalid JSON value for CAST to {kind} from column {of} at row #");
    let wrong = |kind: &str, value: &str| format!("Warning\t1292\tTruncated incorrect {kind} value: '{value}'");
    let cases = [
        ("SELECT 1", "Warning\t1264\tOut of range value for column '(null)' at row #", cast, true),
        ("SELECT 1", "Warning\t1264\tOut of range value for column 'c1' at row #", cast, false),
        ("SELECT 1", "", cast, false),
        ("SELECT 1", &json("DOUBLE", "c1"), &json("DOUBLE", "json"), true),
        ("SELECT 1", &json("DOUBLE", "c1"), &json("INTEGER", "json"), false),
        ("SELECT 1", "Warning\t6527\tDATE value is out of range in 'from_days(`c1`)'", sum, true),
        ("SELECT 1", "", sum, false),
        ("SELECT ?", "", &wrong("INTEGER", "5x"), true),
        ("SELECT ?", &wrong("DOUBLE", "5x"), &wrong("INTEGER", "5x"), false),
        ("SELECT ?", &wrong("INTEGER", "5x"), "", false),
        ("SELECT ?", "", &wrong("INTEGER", "6x"), false),
        ("SELECT ('6x' IN (SELECT 1))", "", &wrong("DOUBLE", "6x"), true),
        ("SELECT ('6x' IN (SELECT 1)), '7x' + 0", "", &wrong("DOUBLE", "7x"), false),
        ("SELECT 1 FROM t0 WHERE '7x' > id", "", &wrong("DOUBLE", "7x"), true),
        ("SELECT 1 FROM t0 WHERE '7x' > id", &wrong("DOUBLE", "7x"), "", true),
        ("SELECT 1 FROM t0 WHERE '7x' > id", &wrong("DOUBLE", "7x"), &wrong("INTEGER", "7x"), false),
        ("SELECT '7x' + 0 FROM t0", &wrong("DOUBLE", "7x"), "", false),
        ("SELECT 1 FROM t0 WHERE id > c1", &wrong("DOUBLE", "7x"), "", false),
    ];
    for (sql, mysql, vaquita, expected) in cases {
        assert_eq!(is_explained(sql, mysql, vaquita), expected, "{sql}: {mysql} and {vaquita}");
    }
}

fn answer(columns: &[&str], rows: &[&[&str]]) -> Full {
    let value = |value: &&str| if *value == "NULL" { None } else { Some(value.as_bytes().to_vec()) };
    let rows = rows.iter().map(|row| row.iter().map(value).collect()).collect();
    let metadata = columns.iter().map(|name| format!("{name}\t..\t253\t0x0000\t0\t255\t80")).collect();
    Full { answer: Answer::Rows { columns: Vec::new(), rows }, metadata, ..full("") }
}

fn table(name: &str, columns: &str) -> Table {
    Table {
        name: name.to_string(),
        create: format!("CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY, {columns})"),
        rows: vec!["INSERT IGNORE INTO t0 VALUES (1, 18446744073709551615)".to_string()],
        columns: Vec::new(),
        generates: false,
    }
}

type Rows<'a> = &'a [&'a [&'a str]];

/// Whether rules know all that differs between the rows of MySQL and Vaquita.
fn explains((sql, params): (&str, &[&str]), columns: &[&str], mysql: Rows<'_>, vaquita: Rows<'_>) -> bool {
    let tables = [
        table("t0", "c0 VARCHAR(20), c1 DATE, c2 FLOAT, c3 BIGINT, c4 ENUM('a'), c5 YEAR, c6 TIME, KEY k1 (c1)"),
        table("t1", "c0 VARCHAR(20), c1 DATE DEFAULT (id), c2 INT"),
    ];
    let params = (!params.is_empty()).then(|| params.iter().map(|param| param.to_string()).collect());
    let sent = Sent { sql: sql.to_string(), params, counts: false };
    let answers = (&answer(columns, mysql), &answer(columns, vaquita));
    let findings = super::super::answer::findings(answers.0, answers.1, false, false);
    !findings.is_empty() && findings.iter().all(|finding| rule(finding, &sent, &tables, answers).is_some())
}

#[test]
fn planted_rows_beside_what_is_decided_are_found() {
    const FROM: &str = "FROM t0 AS a0 LEFT JOIN t1 AS a1 ON a0.c0";
    // What differs as decided, and the same with another difference beside it.
    let cases: &[(&str, &[&str], &[&str], Rows<'_>, Rows<'_>, Rows<'_>)] = &[
        ("SELECT ?, a0.c0", &["1.5"], &["?", "c0"], &[&["x1.50", "y2.0"]], &[&["x1.5", "y2.0"]], &[&["x1.5", "y2"]]),
        ("SELECT a0.c5, a0.c3 @ GROUP BY a0.c5", &[], &["c5", "c3"], &[&["0", "10"]], &[&["0000", "10"]], &[&["0000", "100000"]]),
        (
            "SELECT GREATEST(DATE'2024-01-01', 'x'), a0.c0 @",
            &[],
            &["GREATEST(DATE'2024-01-01', 'x')", "c0"],
            &[&["16383-15-31", "a"]],
            &[&["NULL", "a"]],
            &[&["NULL", "b"]],
        ),
        (
            "SELECT COUNT(DISTINCT ?), SUM(a0.c3) @",
            &["5"],
            &["COUNT(DISTINCT ?)", "SUM(a0.c3)"],
            &[&["0", "7"]],
            &[&["1", "7"]],
            &[&["1", "8"]],
        ),
        ("SELECT a0.id @ WHERE FIELD(a1.c0, 1)", &[], &["id"], &[&["1"]], &[&["1"], &["2"]], &[&["2"], &["3"]]),
        ("SELECT a0.id FROM t0 AS a0 WHERE (a0.c1 = a0.c0)", &[], &["id"], &[&["1"]], &[&["1"], &["2"]], &[&["2"], &["3"]]),
        (
            "SELECT COUNT(DISTINCT (SELECT a1.c0 FROM t1 AS a1)), MAX(a0.c0) @",
            &[],
            &["COUNT(DISTINCT (SELECT a1.c0 FROM t1 AS a1))", "MAX(a0.c0)"],
            &[&["1", "a"]],
            &[&["0", "a"]],
            &[&["0", "b"]],
        ),
        (
            "SELECT SUM(DISTINCT NULLIF(x'41', 1)), a0.c3 @",
            &[],
            &["SUM(DISTINCT NULLIF(x'41', 1))", "c3"],
            &[&["0", "1"]],
            &[&["65", "1"]],
            &[&["65", "2"]],
        ),
        (
            "SELECT CASE WHEN a0.c1 THEN a0.c1 ELSE ? END, a0.c3 @",
            &["10"],
            &["CASE WHEN a0.c1 THEN a0.c1 ELSE ? END", "c3"],
            &[&["NULL", "1"]],
            &[&["10", "1"]],
            &[&["10", "2"]],
        ),
    ];
    for (sql, params, columns, mysql, decided, planted) in cases {
        let sql = sql.replace(" @", &format!(" {FROM}")).replace(&format!(" {FROM}ROM"), " FROM");
        assert!(explains((&sql, params), columns, mysql, decided), "{sql}: not explained");
        assert!(!explains((&sql, params), columns, mysql, planted), "{sql}: a planted difference is explained");
    }
}

#[test]
fn rows_of_statements_of_another_shape_are_found() {
    let cases: &[(&str, &[&str], &str)] = &[
        (
            "SELECT a0.id FROM t0 AS a0 WHERE (a0.c1 BETWEEN 'x' AND '2024-01-01')",
            &[],
            "SELECT a0.id FROM t0 AS a0 WHERE (a0.c1 BETWEEN '2023-01-01' AND '2024-01-01')",
        ),
        (
            "SELECT a0.id FROM t0 AS a0 WHERE (a0.c1 BETWEEN 'x' AND '2024-01-01')",
            &[],
            "SELECT a0.id FROM t0 AS a0 WHERE (a0.c3 BETWEEN 'x' AND '2024-01-01')",
        ),
        (
            "SELECT a0.id FROM t0 AS a0 WHERE (5 > ALL (SELECT a1.c0 FROM t1 AS a1))",
            &[],
            "SELECT a0.id FROM t0 AS a0 WHERE (5 > ALL (SELECT a1.c2 FROM t1 AS a1))",
        ),
        (
            "SELECT a0.id FROM t0 AS a0 WHERE (5 > ALL (SELECT a1.c0 FROM t1 AS a1))",
            &[],
            "SELECT a0.id FROM t0 AS a0 WHERE (a0.c0 > ALL (SELECT a1.c0 FROM t1 AS a1))",
        ),
        (
            "SELECT a0.id FROM t0 AS a0 WHERE (18446744073709551615 IN (1, a0.c3))",
            &[],
            "SELECT a0.id FROM t0 AS a0 WHERE (5 IN (1, a0.c3))",
        ),
        (
            "SELECT a0.id FROM t0 AS a0 WHERE (x'41' IN (a0.c1, 'a'))",
            &[],
            "SELECT a0.id FROM t0 AS a0 WHERE (x'41' IN (a0.c0, 'a'))",
        ),
        (
            "SELECT a0.id FROM t0 AS a0 WHERE (a0.c6 IN (1, DATE'2024-01-01'))",
            &[],
            "SELECT a0.id FROM t0 AS a0 WHERE (a0.c6 IN (1, '10:11:12'))",
        ),
        ("SELECT a0.id FROM t0 AS a0 WHERE CAST(a0.c2 AS SIGNED)", &[], "SELECT a0.id FROM t0 AS a0 WHERE CAST(a0.c3 AS SIGNED)"),
        (
            "SELECT a0.id FROM t0 AS a0 GROUP BY a0.id HAVING MAX(a0.c4) > 1",
            &[],
            "SELECT a0.id FROM t0 AS a0 GROUP BY a0.id HAVING MAX(a0.c3) > 1",
        ),
        (
            "SELECT a0.id FROM t0 AS a0 WHERE GREATEST(DATE'2024-01-01', 'x')",
            &[],
            "SELECT a0.id FROM t0 AS a0 WHERE GREATEST(a0.c3, 'x')",
        ),
    ];
    for (decided, params, other) in cases {
        let explained = |sql: &str| explains((sql, params), &["id"], &[&["1"], &["2"]], &[&["3"]]);
        assert!(explained(decided), "{decided}: not explained");
        assert!(!explained(other), "{other}: explained");
    }
}

#[test]
fn limits_over_documents_are_compared_without_the_limit() {
    let finding = Finding { difference: Difference::Rows, mysql: String::new(), vaquita: String::new() };
    let sql = "SELECT a0.c0 FROM t0 AS a0 ORDER BY a0.c0 LIMIT 3";
    assert_eq!(without_limit(&finding, SORTED_DOCUMENTS, sql).as_deref(), Some("SELECT a0.c0 FROM t0 AS a0 ORDER BY a0.c0"));
    assert_eq!(without_limit(&finding, "another", sql), None);
}

#[test]
fn errors_of_one_fault_are_no_pair() {
    let error = |code: u16, text: &str| Full {
        answer: Answer::Err { code, state: "42000".to_string(), text: text.to_string() },
        ..full("")
    };
    let cases = [
        (error(1054, "Unknown column 'a0.c0' in 'field list'"), error(1052, "Column 'c1' in field list is ambiguous"), true),
        (error(1054, "Unknown column 'c1' in 'field list'"), error(1052, "Column 'c1' in field list is ambiguous"), false),
        (error(1054, "Unknown column 'c1' in 'field list'"), error(1267, "Illegal mix of collations for operation '='"), true),
        (
            error(1690, "BIGINT value is out of range in '(a0.c0 - ?)'"),
            error(1690, "BIGINT value is out of range in '(a0.c0 - 5)'"),
            true,
        ),
        (
            error(1690, "BIGINT value is out of range in '(a0.c0 - ?)'"),
            error(1690, "BIGINT value is out of range in '(a0.c0 + 5)'"),
            false,
        ),
        (error(3854, "Cannot convert string '\\xFF' from binary to utf8mb4"), answer(&["c0"], &[]), true),
        (error(3854, "Cannot convert string '\\xFF' from binary to utf8mb4"), answer(&["c0"], &[&["a"]]), false),
    ];
    for (mysql, vaquita, expected) in cases {
        let sent = Sent { sql: "SELECT c1, x'FF' FROM t0".to_string(), params: Some(vec!["5".to_string()]), counts: false };
        let findings = super::super::answer::findings(&mysql, &vaquita, false, false);
        let explained = findings.iter().all(|finding| rule(finding, &sent, &[], (&mysql, &vaquita)).is_some());
        assert_eq!(explained, expected, "{:?} and {:?}", error_text(&mysql), error_text(&vaquita));
    }
}
