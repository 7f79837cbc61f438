//! SQL functions: the registry of `plan::func`, without what only syntax reaches, and those that have syntax of their own.

use vaquita_plan::func;

use super::{PageText, code, compare};
use crate::client::{Answer, Client};
use crate::server::Server;

const ABOUT: &str = "\
Names, arguments and results are MySQL's. `sys` has functions of its own (`SHOW FUNCTION STATUS WHERE Db = 'sys'`).";

/// A function that has more is one of any number.
const MANY_ARGUMENTS: usize = 64;
/// FUNCTION … does not exist.
const NO_FUNCTION: u16 = 1305;
const SYNTAX: u16 = 1064;

/// With syntax of their own: a call of each.
const FORMS: &[(&str, &str)] = &[
    ("CASE", "CASE 1 WHEN 1 THEN 2 ELSE 3 END"),
    ("CAST", "CAST('1' AS SIGNED)"),
    ("CHAR", "CHAR(77 USING utf8mb4)"),
    ("COALESCE", "COALESCE(NULL, 1)"),
    ("CONVERT", "CONVERT('a' USING latin1)"),
    ("CURRENT_DATE", "CURRENT_DATE"),
    ("CURRENT_TIME", "CURRENT_TIME(3)"),
    ("CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP(3)"),
    ("CURRENT_USER", "CURRENT_USER"),
    ("DATE_ADD, DATE_SUB", "DATE_ADD('2026-01-31', INTERVAL 1 MONTH)"),
    ("EXTRACT", "EXTRACT(YEAR_MONTH FROM '2026-01-31')"),
    ("GET_FORMAT", "GET_FORMAT(DATE, 'ISO')"),
    ("IF", "IF(1, 2, 3)"),
    ("INTERVAL", "INTERVAL(2, 1, 3)"),
    ("JSON_TABLE", "(SELECT a FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a INT PATH '$')) AS t)"),
    ("JSON_VALUE", "JSON_VALUE('{\"a\": 1}', '$.a' RETURNING SIGNED DEFAULT 0 ON EMPTY)"),
    ("LOCALTIME, LOCALTIMESTAMP", "LOCALTIME"),
    ("MATCH", "(SELECT MATCH (name) AGAINST ('+a' IN BOOLEAN MODE) FROM d.t)"),
    ("MEMBER OF", "1 MEMBER OF ('[1, 2]')"),
    ("POSITION", "POSITION('a' IN 'ba')"),
    ("SUBSTRING", "SUBSTRING('abc' FROM 2 FOR 1)"),
    ("TIMESTAMPADD, TIMESTAMPDIFF", "TIMESTAMPADD(MONTH, 1, '2026-01-31')"),
    ("TRIM", "TRIM(BOTH 'a' FROM 'aba')"),
    ("WEIGHT_STRING", "WEIGHT_STRING('a' AS CHAR(4))"),
];

const AGGREGATES: &[&str] = &[
    "ANY_VALUE(x)",
    "AVG([DISTINCT] x)",
    "BIT_AND(x)",
    "BIT_OR(x)",
    "BIT_XOR(x)",
    "COUNT(*)",
    "COUNT([DISTINCT] x)",
    "GROUPING(x)",
    "GROUP_CONCAT([DISTINCT] x [ORDER BY x] [SEPARATOR '-'])",
    "JSON_ARRAYAGG(x)",
    "JSON_OBJECTAGG(x, x)",
    "MAX(x)",
    "MIN(x)",
    "STD(x)",
    "STDDEV(x)",
    "STDDEV_POP(x)",
    "STDDEV_SAMP(x)",
    "ST_COLLECT(g)",
    "SUM([DISTINCT] x)",
    "VARIANCE(x)",
    "VAR_POP(x)",
    "VAR_SAMP(x)",
];

const WINDOWS: &[&str] = &[
    "CUME_DIST()",
    "DENSE_RANK()",
    "FIRST_VALUE(x)",
    "LAG(x, 1, 0)",
    "LAST_VALUE(x)",
    "LEAD(x, 1, 0)",
    "NTH_VALUE(x, 2)",
    "NTILE(4)",
    "PERCENT_RANK()",
    "RANK()",
    "ROW_NUMBER()",
];

/// The number of the error with which the statement cannot be prepared: nothing is run.
fn refused(client: &mut Client, sql: &str) -> Option<u16> {
    match client.query(&format!("PREPARE s FROM '{}'", sql.replace('\'', "''"))) {
        Answer::Err { code, .. } => Some(code),
        _ => None,
    }
}

fn arguments((min, max): (usize, usize)) -> String {
    match max {
        _ if min == max => min.to_string(),
        max if max >= MANY_ARGUMENTS => format!("{min} and more"),
        max => format!("{min} to {max}"),
    }
}

#[test]
fn functions_are_those_of_the_registry() {
    let server = Server::start("manual-functions");
    let mut client = server.connect();
    super::ok(&mut client, "CREATE DATABASE d");
    super::ok(&mut client, "CREATE TABLE d.t (x INT, name TEXT, g GEOMETRY, FULLTEXT KEY (name))");
    let can_be_called = |client: &mut Client, name: &str, count: usize| {
        let call = format!("SELECT {name}({})", vec!["NULL"; count].join(", "));
        !matches!(refused(client, &call), Some(NO_FUNCTION | SYNTAX))
    };
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    let called: Vec<_> =
        func::all().into_iter().filter(|def| is_name(def.name) && can_be_called(&mut client, def.name, def.args.0)).collect();
    assert!(called.len() > 300, "{}", called.len());

    let mut page = PageText::new("Functions", ABOUT);
    page.section("Functions", "With the number of their arguments.");
    page.table(["function", "arguments"], called.iter().map(|def| [code(def.name), arguments(def.args)]));
    page.section("With syntax of their own", "An example of each.");
    for (_, form) in FORMS {
        assert_eq!(refused(&mut client, &format!("SELECT {form}")), None, "{form}");
    }
    page.table(["function", "example"], FORMS.iter().map(|(name, form)| [code(name), code(form)]));
    page.section(
        "Aggregates",
        "Over a group, or with `OVER (…)` over a window; ANY\\_VALUE, GROUPING and those with DISTINCT or ORDER BY inside over a group only.",
    );
    for aggregate in AGGREGATES {
        let call = aggregate.replace(['[', ']'], "");
        let sql = format!("SELECT x, {call} FROM d.t GROUP BY x WITH ROLLUP");
        assert_eq!(refused(&mut client, &sql), None, "{sql}");
    }
    page.table(["function"], AGGREGATES.iter().map(|call| [code(call)]));
    page.section("Window functions", "With `OVER (…)`.");
    for window in WINDOWS {
        let sql = format!("SELECT {window} OVER (ORDER BY x) FROM d.t");
        assert_eq!(refused(&mut client, &sql), None, "{sql}");
    }
    page.table(["function"], WINDOWS.iter().map(|call| [code(call)]));
    compare("functions.md", &page.0);
}
