//! Statements as deep as MySQL 9.7 allows, and deeper: an answer or an error, and the server lives.
//!
//! Each form is built at a depth at which MySQL still answers (its answer is written here), and far beyond. They run where all statements run, on
//! threads of the pool, by all ways: as text, prepared, explained, as a table's stored expression.

use crate::client::{Answer, Client};
use crate::server::Server;

const ER_OUT_OF_RESOURCES: u16 = 1041;
const ER_STACK_OVERRUN_NEED_MORE: u16 = 1436;
const ER_TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT: u16 = 1473;
const ER_JSON_DOCUMENT_TOO_DEEP: u16 = 3157;
const ER_CTE_EXPANSION_LIMIT_EXCEEDED: u16 = 4169;

/// Far beyond every limit.
const TOO_MANY: usize = 50_000;

/// What opens a level, what closes it, and how many levels MySQL 9.7 answers. `1` or `x` stands inside; the answer is that.
const NESTED: [(&str, &str, usize); 17] = [
    ("(", ")", 5000),
    ("IF(1,", ",0)", 1834),
    ("IFNULL(NULL,", ")", 1834),
    ("COALESCE(NULL,", ")", 1834),
    ("GREATEST(0,", ")", 1834),
    ("CASE WHEN 1 THEN ", " END", 455),
    ("CASE 2 WHEN 2 THEN ", " END", 455),
    ("ABS(", ")", 2012),
    ("CAST(", " AS SIGNED)", 1800),
    ("0 + (", ")", 1800),
    ("1 * (", ")", 1800),
    ("1 AND (", ")", 1800),
    ("0 OR (", ")", 1800),
    ("1 BETWEEN 1 AND ", "", 1732),
    ("1 IN (", ")", 2012),
    ("1 = (", ")", 2012),
    ("- - ", "", 1000),
];

/// What follows `1` again and again, and how often MySQL answers. The answer is 1.
const CHAINS: [(&str, usize); 8] = [
    (" * 1", 2000),
    (" = 1", 2000),
    (" | 1", 2000),
    (" IS NOT NULL", 1327),
    (" OR 1", 50_000),
    (" AND 1", 50_000),
    (" INTERSECT SELECT 1", 3000),
    (" EXCEPT SELECT 2", 3000),
];

fn nested(open: &str, inside: &str, close: &str, levels: usize) -> String {
    format!("{}{inside}{}", open.repeat(levels), close.repeat(levels))
}

fn value(client: &mut Client, sql: &str) -> String {
    match client.query(sql) {
        Answer::Err { code, text, .. } => panic!("{}: {code} {text}", head(sql)),
        answer => answer.rows().swap_remove(0).swap_remove(0),
    }
}

fn code(client: &mut Client, sql: &str) -> u16 {
    match client.query(sql) {
        Answer::Err { code, .. } => code,
        _ => 0,
    }
}

fn ok(client: &mut Client, sql: &str) {
    assert_eq!(code(client, sql), 0, "{}", head(sql));
}

fn head(sql: &str) -> &str {
    sql.get(..120).unwrap_or(sql)
}

#[test]
fn as_deep_as_mysql_and_deeper() {
    let server = Server::start("depth");
    let mut client = server.connect();
    for (open, close, levels) in NESTED {
        let sql = |n| format!("SELECT {}", nested(open, "1", close, n));
        assert_eq!(value(&mut client, &sql(levels)), "1", "{open}");
        assert_eq!(code(&mut client, &sql(TOO_MANY)), ER_STACK_OVERRUN_NEED_MORE, "{open}");
        // Over rows nothing is computed beforehand, and each clause walks the tree in its own way.
        let deep = nested(open, "x", close, levels);
        let having = format!("SELECT {deep} d, x FROM (SELECT 1 x UNION SELECT 2) t HAVING {deep}");
        assert_eq!(value(&mut client, &having), "1", "{open}");
        let rows =
            format!("SELECT {deep} FROM (SELECT 1 x UNION SELECT 2) t WHERE {deep} GROUP BY {deep} ORDER BY {deep}, SUM({deep})");
        assert_eq!(value(&mut client, &rows), "1", "{open}");
        assert!(matches!(client.query(&format!("EXPLAIN FORMAT=TREE {rows}")), Answer::Rows { .. }), "{open}");
        ok(&mut client, &format!("PREPARE deep FROM '{rows}'"));
        ok(&mut client, "EXECUTE deep");
        ok(&mut client, "DEALLOCATE PREPARE deep");
        ok(&mut client, &format!("DO {deep}").replace('x', "1"));
        ok(&mut client, &format!("SET @x = {deep}").replace('x', "1"));
    }
    for (link, links) in CHAINS {
        assert_eq!(value(&mut client, &format!("SELECT 1{}", link.repeat(links))), "1", "{link}");
    }
    for link in [" * 1", " = 1", " IS NOT NULL", " XOR 1", " INTERSECT SELECT 1", " EXCEPT SELECT 2", " COLLATE utf8mb4_bin"] {
        let sql = format!("SELECT 1{}", link.repeat(TOO_MANY));
        assert_eq!(code(&mut client, &sql), ER_STACK_OVERRUN_NEED_MORE, "{link}");
    }
    let list = vec!["1"; 50_000].join(",");
    assert_eq!(value(&mut client, &format!("SELECT 1 IN ({list})")), "1");
    assert_eq!(
        value(&mut client, &format!("SELECT COUNT(*) FROM (SELECT 1{}) t", " UNION ALL SELECT 1".repeat(20_000))),
        "20001"
    );
    assert_eq!(value(&mut client, &format!("SELECT ({list}) < ({list})")), "0", "a row of 50,000");
    let rows = nested("ROW(", "1", ",1)", 1000);
    assert_eq!(value(&mut client, &format!("SELECT {rows} < {rows}")), "0");
}

/// Expressions that are stored with a table are read from the catalog, printed, and evaluated for each row.
#[test]
fn stored_expressions_are_as_deep() {
    let server = Server::start("depth-stored");
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "USE d");
    for (n, (open, close, levels)) in NESTED.into_iter().enumerate() {
        let deep = nested(open, "x", close, levels.min(1000));
        // A CHECK must be a condition.
        let check = format!("{} = 1", nested(open, "x", close, levels.min(1000) - 1));
        ok(&mut client, &format!("CREATE TABLE t{n} (x INT, y INT DEFAULT ({}), CHECK ({check}))", deep.replace('x', "1")));
        ok(&mut client, &format!("INSERT INTO t{n} (x) VALUES (1),(1)"));
        assert_eq!(value(&mut client, &format!("SELECT SUM(y) FROM t{n}")), "2", "{open}");
        assert!(matches!(client.query(&format!("SHOW CREATE TABLE t{n}")), Answer::Rows { .. }), "{open}");
        ok(&mut client, &format!("UPDATE t{n} SET x = {deep} WHERE {deep}"));
        ok(&mut client, &format!("CREATE TABLE s{n} AS SELECT {deep} z FROM t{n}"));
    }
}

#[test]
fn queries_inside_one_another() {
    let server = Server::start("depth-queries");
    let mut client = server.connect();
    for (open, close) in [("(SELECT ", ")"), ("EXISTS(SELECT ", ")"), ("1 IN (SELECT ", ")")] {
        assert_eq!(value(&mut client, &format!("SELECT {}", nested(open, "1", close, 63))), "1", "{open}");
        for n in [64, 65, TOO_MANY] {
            let sql = format!("SELECT {}", nested(open, "1", close, n));
            assert_eq!(code(&mut client, &sql), ER_TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT, "{open} {n}");
        }
    }
    for limit in ["", " LIMIT 1"] {
        let derived = |n| format!("SELECT * FROM {}", nested("(SELECT * FROM ", "(SELECT 1 x) t", &format!("{limit}) t"), n));
        assert_eq!(value(&mut client, &derived(62)), "1");
        assert_eq!(code(&mut client, &derived(70)), ER_TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT);
        assert_eq!(code(&mut client, &derived(TOO_MANY)), ER_TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT);
    }
    // Common table expressions of which each refers to the one before.
    for (body, allowed) in [
        ("SELECT x + 1 x FROM a{} UNION SELECT 1", 62),
        ("SELECT x + 1 x FROM a{}", 62),
        ("SELECT x FROM a{}", 62),
        ("SELECT (SELECT MAX(x) FROM a{}) + 1 x", 31),
    ] {
        let chain = |n: usize| {
            let links: String = (1..=n).map(|i| format!(", a{i} AS ({})", body.replace("{}", &(i - 1).to_string()))).collect();
            format!("WITH a0 AS (SELECT 1 x){links} SELECT MAX(x) FROM a{n}")
        };
        let expected = if body.contains('+') { allowed + 1 } else { 1 };
        assert_eq!(value(&mut client, &chain(allowed)), expected.to_string(), "{body}");
        assert_eq!(code(&mut client, &chain(300)), ER_TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT, "{body}");
    }
    let alternating = |n: usize| format!("SELECT 1{}", " EXCEPT SELECT 2 UNION SELECT 1".repeat(n));
    assert_eq!(value(&mut client, &alternating(300)), "1");
    assert_eq!(code(&mut client, &alternating(TOO_MANY)), ER_STACK_OVERRUN_NEED_MORE);
    let parenthesized = |n| nested("(SELECT 1 UNION ", "SELECT 1", ")", n);
    assert_eq!(value(&mut client, &parenthesized(1000)), "1");
    assert_eq!(code(&mut client, &parenthesized(TOO_MANY)), ER_STACK_OVERRUN_NEED_MORE);
}

/// What the text says twice is bound twice: two of two of two would be a thousand after ten steps.
#[test]
fn what_doubles_ends_with_an_error() {
    let server = Server::start("depth-doubles");
    let mut client = server.connect();
    for union in ["UNION ALL", "UNION"] {
        let doubling = |n: usize| {
            let links: String =
                (1..=n).map(|i| format!(", a{i} AS (SELECT x FROM a{p} {union} SELECT x FROM a{p})", p = i - 1)).collect();
            format!("WITH a0 AS (SELECT 1 x){links} SELECT COUNT(*) FROM a{n}")
        };
        assert_eq!(value(&mut client, &doubling(9)), if union == "UNION" { "1" } else { "512" });
        for n in [10, 20, 60] {
            assert_eq!(code(&mut client, &doubling(n)), ER_CTE_EXPANSION_LIMIT_EXCEEDED, "{n}");
        }
    }
    let references =
        |n| format!("WITH a AS (SELECT 1 x) SELECT COUNT(*) FROM ({}) t", vec!["SELECT x FROM a"; n].join(" UNION ALL "));
    assert_eq!(value(&mut client, &references(1025)), "1025");
    assert_eq!(code(&mut client, &references(1026)), ER_CTE_EXPANSION_LIMIT_EXCEEDED);
    for (open, close) in [("(", " BETWEEN 0 AND 1)"), ("(", " IN (1, 'a'))"), ("NULLIF(", ", 2)")] {
        let sql = |n| format!("SELECT {} FROM (SELECT 1 x UNION SELECT 2) t", nested(open, "x", close, n));
        assert_eq!(value(&mut client, &sql(10)), "1", "{close}");
        assert_eq!(code(&mut client, &sql(60)), ER_OUT_OF_RESOURCES, "{close}");
    }
    let aliases =
        format!("SELECT {} x FROM (SELECT 1 y UNION SELECT 2) t ORDER BY x{}", "y + ".repeat(1000) + "y", ", x".repeat(10_000));
    assert_eq!(code(&mut client, &aliases), ER_OUT_OF_RESOURCES);
    // Derived tables whose column doubles the one before: a part of them is merged.
    for query in
        ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, a INT)", "INSERT INTO t VALUES (1, 1), (2, 2)"]
    {
        client.query(query);
    }
    let doubled = |n: usize, tail: &str| {
        let (open, close): (String, String) =
            (0..n).map(|i| ("SELECT id, a + a AS a FROM (".to_string(), format!(") AS d{}{tail}", n - i))).unzip();
        format!("SELECT a FROM ({open}SELECT id, a FROM t{close}) AS d WHERE id = 1 AND a > 1")
    };
    for tail in ["", " GROUP BY id, a + a"] {
        assert_eq!(value(&mut client, &doubled(40, tail)), (1u64 << 40).to_string(), "{tail}");
    }
    let named =
        format!("SELECT 1 IN ({}) FROM (SELECT {} AS a FROM t) AS d", vec!["a"; 30_000].join(", "), "a + ".repeat(100) + "a");
    assert_eq!(code(&mut client, &named), ER_OUT_OF_RESOURCES);
}

#[test]
fn documents_end_at_a_hundred_levels() {
    let server = Server::start("depth-documents");
    let mut client = server.connect();
    let array = |n| nested("JSON_ARRAY(", "1", ")", n);
    assert_eq!(value(&mut client, &format!("SELECT {}", array(100))), nested("[", "1", "]", 100));
    assert_eq!(code(&mut client, &format!("SELECT {}", array(101))), ER_JSON_DOCUMENT_TOO_DEEP);
    assert_eq!(code(&mut client, &format!("SELECT {}", nested("JSON_OBJECT('a', ", "1", ")", 101))), ER_JSON_DOCUMENT_TOO_DEEP);
    for wrap in [
        "JSON_ARRAY(j)".to_string(),
        "JSON_OBJECT('a', j)".to_string(),
        "JSON_MERGE_PRESERVE(JSON_ARRAY(), JSON_ARRAY(JSON_ARRAY(j)))".to_string(),
        "JSON_SET('[1]', '$[0]', j)".to_string(),
        "(SELECT JSON_ARRAYAGG(e.i) FROM (SELECT r.j i) e)".to_string(),
        "(SELECT JSON_OBJECTAGG('a', e.i) FROM (SELECT r.j i) e)".to_string(),
        nested("JSON_ARRAY(", "j", ")", 90),
    ] {
        let sql = format!(
            "WITH RECURSIVE r AS (SELECT 1 n, CAST('1' AS JSON) j UNION ALL SELECT n + 1, {wrap} FROM r WHERE n < 200) SELECT COUNT(*) FROM r"
        );
        assert_eq!(code(&mut client, &sql), ER_JSON_DOCUMENT_TOO_DEEP, "{wrap}");
    }
}

/// What goes on without rows also ends when it is told to.
#[test]
fn loops_without_rows_are_ended() {
    let server = Server::start("depth-interrupts");
    let mut client = server.connect();
    ok(&mut client, "SET cte_max_recursion_depth = 1000000");
    for (name, value) in [("long", "n"), ("other", "-n")] {
        let numbers = "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 300000)";
        ok(&mut client, &format!("SET @{name} = ({numbers} SELECT JSON_ARRAYAGG({value}) FROM r)"));
    }
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "CREATE TABLE d.long_text (s LONGTEXT)");
    ok(&mut client, "INSERT INTO d.long_text VALUES (REPEAT('a', 10000000))");
    ok(&mut client, "SET max_execution_time = 300");
    for sql in [
        "SELECT BENCHMARK(100000000000, 1 + 1)",
        "SELECT BENCHMARK(100000000000, BENCHMARK(1000000, MD5('a')))",
        "SELECT 1 FROM (SELECT 1 x UNION SELECT 2) t WHERE BENCHMARK(100000000000, x)",
        "SELECT JSON_CONTAINS(@long, '[1]'), JSON_CONTAINS(@long, @long), JSON_CONTAINS(@long, @other)",
        "SELECT JSON_OVERLAPS(@long, @other)",
        // Each character of the text is compared with all of the pattern.
        "SELECT LOCATE(CONCAT(REPEAT('a', 1000000), 'b'), REPEAT('a', 10000000))",
        "SELECT LOCATE(CONCAT(REPEAT('ä', 1000000), 'b'), REPEAT('ä', 10000000))",
        "SELECT REPEAT('a', 10000000) LIKE CONCAT('%', REPEAT('a', 1000000), 'b%')",
        "SELECT REPEAT('ä', 10000000) LIKE CONCAT('%', REPEAT('ä', 1000000), 'b%')",
        "SELECT JSON_SEARCH(JSON_QUOTE(REPEAT('a', 10000000)), 'one', CONCAT('%', REPEAT('a', 1000000), 'b%'))",
        "SELECT COUNT(*) FROM d.long_text WHERE s LIKE CONCAT('%', REPEAT('a', 1000000), 'b%')",
    ] {
        assert_eq!(code(&mut client, sql), 3024, "{sql}");
    }
}
