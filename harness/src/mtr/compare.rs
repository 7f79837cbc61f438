//! Whether two answers to a statement are equal, as the statement and mysqltest's settings at it ask.
//!
//! Rows are compared in their order where the statement has ORDER BY and `sorted_result` is not given; else as a bag. A value that
//! depends on the moment or the machine (`NOW()`, `UUID()`, ports, `information_schema`'s times …) makes rows incomparable: then only
//! success, error and columns are compared; so with LIMIT where nothing orders the rows. Warnings are compared unless the script has them off.

use std::collections::HashSet;

use vaquita_parser::keyword::is_reserved_word;

use super::reply::{One, Reply, chars_of};
use crate::client::Row;

/// What mysqltest's commands ask of the next statement's comparison.
#[derive(Default, Clone)]
pub struct Asked {
    pub sorted: bool,
    /// Columns that are not compared, from 1.
    pub columns_replaced: Vec<usize>,
    /// Texts that stand for others: the script's pairs, expanded for each server.
    pub replaced: [Vec<(String, String)>; 2],
    /// A regular expression rewrites the answer: only whether it is an error is compared.
    pub outcome_only: bool,
    pub without_warnings: bool,
}

/// The column of SHOW INDEX.
const CARDINALITY: usize = 7;

/// In lower case; a statement that has one of these answers differently each time or on each machine.
const VARYING: &[&str] = &[
    "now(",
    "current_timestamp",
    "sysdate",
    "curdate",
    "current_date",
    "curtime",
    "current_time",
    "localtime",
    "utc_",
    "unix_timestamp()",
    "rand(",
    "uuid",
    "connection_id",
    "version",
    "@@server",
    "hostname",
    "@@datadir",
    "@@basedir",
    "processlist",
    "performance_schema",
    "innodb_",
    "show status",
    "show global status",
    "show session status",
    "show engine",
    "show variables",
    "show global variables",
    "optimizer_trace",
    "show binary logs",
    "random_bytes",
    "last_query_cost",
    "create_time",
    "update_time",
    "show table status",
    "show master status",
    "show binary log status",
    "statistics",
    "@@port",
    "@@socket",
    "tmpdir",
    "show open tables",
    "sys.",
    "mysql.general_log",
    "mysql.slow_log",
    "password_last_changed",
    "authentication_string",
    "optimizer_switch",
    "show plugins",
    "show profile",
    "mysql.innodb",
    "information_schema.partitions",
];

pub fn varies(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    VARYING.iter().any(|word| sql.contains(word))
}

/// Statements that are sent but not judged: plans are the optimizer's own.
pub fn is_of_plans(sql: &str) -> bool {
    let sql = sql.trim_start().to_ascii_lowercase();
    let explains = |word: &str| sql.strip_prefix(word).is_some_and(|rest| rest.starts_with(|c: char| c.is_whitespace()));
    explains("explain")
        || ["desc", "describe"].iter().any(|word| explains(word) && sql.contains("select"))
        || sql.starts_with("call mtr.")
        || sql.starts_with("analyze table")
}

/// `None` if the answers are equal, else what differs.
pub fn difference(sql: &str, asked: &Asked, mysql: &Reply, vaquita: &Reply) -> Option<&'static str> {
    match (mysql.error(), vaquita.error()) {
        (Some(_), None) => return Some("accepted"),
        (None, Some(_)) => return Some("refused"),
        (Some((a, _)), Some((b, _))) if a != b => return Some("error"),
        (Some((_, a)), Some((_, b)))
            if !asked.outcome_only
                && !varies(sql)
                && rewritten(before_os(a), &asked.replaced[0]) != rewritten(before_os(b), &asked.replaced[1]) =>
        {
            return Some("text of the error");
        }
        _ => {}
    }
    if mysql.results.len() != vaquita.results.len() {
        return Some("results");
    }
    let ordered = !asked.sorted && is_ordered(sql);
    let mut asked = asked.clone();
    if is_of_indexes(sql) {
        asked.columns_replaced.push(CARDINALITY);
    }
    let asked = &asked;
    mysql.results.iter().zip(&vaquita.results).find_map(|(a, b)| match (a, b) {
        (One::Rows { columns: c, rows: r }, One::Rows { columns: d, rows: s }) => {
            if asked.outcome_only || is_plan(c) || is_plan(d) {
                None
            } else if c != d {
                Some("columns")
            } else {
                let alike = varies(sql) || same_rows(r, s, ordered, asked) || r.len() == s.len() && is_any_of_many(sql);
                (!alike).then_some("rows")
            }
        }
        (One::Rows { .. }, One::Ok { .. }) | (One::Ok { .. }, One::Rows { .. }) => Some("results"),
        _ => None,
    })
}

/// Columns of EXPLAIN, which EXECUTE and CALL may give.
fn is_plan(columns: &[String]) -> bool {
    matches!(columns, [only] if only == "EXPLAIN") || matches!(columns, [id, kind, ..] if id == "id" && kind == "select_type")
}

/// A message without what the operating system or the linker says.
fn before_os(text: &str) -> &str {
    text.split_once("(errno: ").map_or(text, |(before, _)| before)
}

/// Whether the statement itself, not something in its parentheses, has ORDER BY.
fn is_ordered(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    let depth_at = |at: usize| sql[..at].matches('(').count() as i64 - sql[..at].matches(')').count() as i64;
    sql.match_indices("order by").any(|(at, _)| depth_at(at) == 0)
}

/// SHOW INDEX, whose cardinalities are estimates.
fn is_of_indexes(sql: &str) -> bool {
    let mut words = sql.split_whitespace().map(str::to_ascii_lowercase);
    let shows = words.next().is_some_and(|word| word == "show");
    shows && words.find(|word| word != "extended").is_some_and(|word| matches!(word.as_str(), "index" | "indexes" | "keys"))
}

/// LIMIT without ORDER BY: which rows come is not said.
fn is_any_of_many(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    sql.trim_start_matches(['(', ' ']).starts_with("select") && sql.contains(" limit ") && !sql.contains("order by")
}

fn same_rows(mysql: &[Row], vaquita: &[Row], ordered: bool, asked: &Asked) -> bool {
    let lines = |rows: &[Row], pairs: &[(String, String)]| {
        let mut lines: Vec<String> = rows.iter().map(|row| rewritten(&line(row, &asked.columns_replaced), pairs)).collect();
        if !ordered {
            lines.sort();
        }
        lines
    };
    mysql.len() == vaquita.len() && lines(mysql, &asked.replaced[0]) == lines(vaquita, &asked.replaced[1])
}

pub fn line(row: &Row, without: &[usize]) -> String {
    let value = |(at, value): (usize, &Option<Vec<u8>>)| match value {
        _ if without.contains(&(at + 1)) => "#".into(),
        Some(bytes) => chars_of(bytes),
        None => "NULL".into(),
    };
    row.iter().enumerate().map(value).collect::<Vec<String>>().join("\t")
}

fn rewritten(text: &str, pairs: &[(String, String)]) -> String {
    pairs.iter().filter(|(from, _)| !from.is_empty()).fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

/// Names in a statement: what an earlier difference may have left otherwise than on the other server.
pub fn names(sql: &str) -> HashSet<String> {
    let words = sql.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '@'))).filter(|word| {
        let first = word.chars().next();
        first.is_some_and(|c| !c.is_ascii_digit()) && word.len() > 1 && !is_reserved_word(word.as_bytes())
    });
    words.map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Reply {
        let value = |text: &&str| Some(text.as_bytes().to_vec());
        let rows = rows.iter().map(|row| row.iter().map(value).collect()).collect();
        Reply { results: vec![One::Rows { columns: vec!["a".into()], rows }], warnings: 0 }
    }

    fn error(code: u16, text: &str) -> Reply {
        Reply { results: vec![One::Err { code, text: text.into() }], warnings: 0 }
    }

    #[test]
    fn what_differs_is_named() {
        let asked = Asked::default();
        let of = |sql: &str, a: &Reply, b: &Reply| difference(sql, &asked, a, b);
        assert_eq!(of("select a", &rows(&[&["1"], &["2"]]), &rows(&[&["2"], &["1"]])), None);
        assert_eq!(of("select a order by a", &rows(&[&["1"], &["2"]]), &rows(&[&["2"], &["1"]])), Some("rows"));
        assert_eq!(of("select group_concat(a order by a)", &rows(&[&["1"], &["2"]]), &rows(&[&["2"], &["1"]])), None);
        assert_eq!(of("select a", &rows(&[&["1"]]), &rows(&[&["2"]])), Some("rows"));
        assert_eq!(of("select now()", &rows(&[&["1"]]), &rows(&[&["2"]])), None);
        assert_eq!(of("select a from t limit 1", &rows(&[&["1"]]), &rows(&[&["2"]])), None);
        assert_eq!(of("select a from t limit 2", &rows(&[&["1"]]), &rows(&[])), Some("rows"));
        assert_eq!(of("x", &error(1064, "a"), &error(1064, "b")), Some("text of the error"));
        assert_eq!(of("x", &error(1064, "a"), &error(1235, "a")), Some("error"));
        assert_eq!(of("x", &error(1064, "a"), &rows(&[])), Some("accepted"));
        assert_eq!(of("x", &rows(&[]), &error(1064, "a")), Some("refused"));
        assert_eq!(of("x", &error(1126, "no file (errno: 2)"), &error(1126, "no file (errno: 11 why)")), None);
    }

    #[test]
    fn settings_of_the_script_count() {
        let mut asked = Asked { columns_replaced: vec![2], ..Asked::default() };
        assert_eq!(difference("select", &asked, &rows(&[&["1", "x"]]), &rows(&[&["1", "y"]])), None);
        asked.replaced = [vec![("x".into(), "#".into())], vec![("z".into(), "#".into())]];
        assert_eq!(difference("select", &asked, &rows(&[&["x"]]), &rows(&[&["z"]])), None);
    }

    #[test]
    fn names_are_no_keywords() {
        let names = names("CREATE TABLE t1 (a INT, col2 INT) -- x1");
        assert!(names.contains("t1") && names.contains("col2") && !names.contains("create") && !names.contains("a"));
    }
}
