//! Runs the files of `tests/golden`, whose answers were recorded from a real MySQL by the example
//! `record_golden`, against this parser.
//!
//! A line `! reason` behind an answer marks a statement on which we differ from that MySQL and
//! mean to: usually because the recording server is newer than the 8.4 that we follow.

use vaquita_parser::{ParserOptions, SelectItem, Statement, parse_one, parse_prepared};

struct Case {
    statement: String,
    expected: String,
    opts: ParserOptions,
    /// We differ on purpose.
    differs: bool,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut opts = ParserOptions::default();
    for line in text.lines() {
        if let Some(expected) = line.strip_prefix("= ") {
            if let Some(case) = cases.last_mut() {
                case.expected = expected.replace('⏎', "\n");
            }
        } else if line.starts_with("! ") {
            if let Some(case) = cases.last_mut() {
                case.differs = true;
            }
        } else if let Some(mode) = line.strip_prefix("@mode") {
            let mode = mode.trim();
            opts = ParserOptions {
                ansi_quotes: mode == "ANSI_QUOTES",
                pipes_as_concat: mode == "PIPES_AS_CONCAT",
                no_backslash_escapes: mode == "NO_BACKSLASH_ESCAPES",
                ignore_space: mode == "IGNORE_SPACE",
                high_not_precedence: mode == "HIGH_NOT_PRECEDENCE",
                ..ParserOptions::default()
            };
        } else if !line.is_empty() && !line.starts_with('#') {
            let statement = line.replace('⏎', "\n");
            cases.push(Case { statement, expected: String::new(), opts, differs: false });
        }
    }
    cases
}

fn check(text: &str, answer: impl Fn(&Case) -> String) {
    let mut wrong = String::new();
    let mut count = 0;
    for case in cases(text) {
        let actual = answer(&case);
        if (actual == case.expected) == case.differs {
            count += 1;
            wrong.push_str(&format!("{}\n  mysql: {}\n  ours:  {actual}\n", case.statement, case.expected));
        }
    }
    assert!(wrong.is_empty(), "{count} differences:\n{wrong}");
}

#[test]
fn syntax() {
    check(include_str!("golden/syntax.txt"), |case| match parse_prepared(case.statement.as_bytes(), &case.opts) {
        Ok(_) => "ok".to_string(),
        Err(e) => format!("{} {}", e.code(), e.message),
    });
}

#[test]
fn names() {
    check(include_str!("golden/names.txt"), |case| {
        let statement = match parse_one(case.statement.as_bytes(), &case.opts) {
            Ok((statement, _)) => statement,
            Err(e) => return e.message,
        };
        let Statement::Query(query) = statement else { return "not a query".to_string() };
        let vaquita_parser::QueryBody::Select(select) = query.body else {
            return "not a SELECT".to_string();
        };
        let names: Vec<String> = select
            .items
            .iter()
            .map(|item| match item {
                SelectItem::Expr { alias: Some(alias), .. } => alias.clone(),
                SelectItem::Expr { source_text, .. } => source_text.clone(),
                _ => "*".to_string(),
            })
            .collect();
        names.join("\t")
    });
}

#[test]
fn expressions() {
    let style = vaquita_parser::printer::Style { charset: Some("utf8mb4"), cast_charset: Some("utf8mb4"), unqualified: true };
    check(include_str!("golden/expressions.txt"), |case| {
        match vaquita_parser::parse_expr(case.statement.as_bytes(), &case.opts) {
            Ok(expr) => vaquita_parser::printer::print_expr(&expr, style),
            Err(e) => e.message,
        }
    });
}

/// What the printer makes of a query must be the same query.
#[test]
fn printed_queries_parse_to_the_same_query() {
    let style = vaquita_parser::printer::Style { charset: None, cast_charset: None, unqualified: false };
    let print = |text: &[u8], opts: &ParserOptions| match parse_prepared(text, opts) {
        Ok((Statement::Query(query), _)) => Some(vaquita_parser::printer::print_query(&query, style)),
        _ => None,
    };
    let mut wrong = String::new();
    for case in cases(include_str!("golden/syntax.txt")) {
        let Some(once) = print(case.statement.as_bytes(), &case.opts) else { continue };
        let again = print(once.as_bytes(), &ParserOptions::default());
        if again.as_ref() != Some(&once) {
            wrong.push_str(&format!("{}\n  once:  {once}\n  again: {again:?}\n", case.statement));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
