//! Statements that want more memory than there is: each ends with an error or a NULL, and the server lives and stays small.

use crate::client::{Answer, Client};
use crate::server::Server;

/// NULL, with a warning.
const NO_ERROR: u16 = 0;
const ER_OUT_OF_RESOURCES: u16 = 1041;
const ER_REGEXP_BUFFER_OVERFLOW: u16 = 3684;
/// What one statement may keep.
const STATEMENT_BYTES_MAX: &str = "statement-bytes-max=8388608";
/// Memory that the server may have had at most: caches, memtables and a value of some packets.
const PEAK_MIB_MAX: u64 = 1200;

/// A million rows of numbers without a table.
const ROWS: &str = "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 1000)";

fn ok(client: &mut Client, sql: &str) {
    let answer = client.query(sql);
    assert!(matches!(answer, Answer::Ok { .. }), "{sql}: {answer:?}");
}

/// The most that the server's process had in memory.
fn peak_mib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("the server runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") / 1024
}

#[test]
fn no_statement_takes_all_memory() {
    let server = Server::start_with("memory", &["--storage-test-option", STATEMENT_BYTES_MAX]);
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE memory");
    ok(&mut client, "USE memory");
    ok(&mut client, "CREATE TABLE t (id INT PRIMARY KEY, pad MEDIUMTEXT)");
    ok(&mut client, &format!("INSERT INTO t {ROWS} SELECT n, REPEAT('x', 900) FROM r"));
    ok(&mut client, "SET cte_max_recursion_depth = 4294967295, group_concat_max_len = 18446744073709551615");
    let kept = [
        "SELECT CONCAT(a.n, '-', b.n) g, COUNT(*) FROM r a, r b GROUP BY g ORDER BY g LIMIT 1",
        "SELECT COUNT(DISTINCT a.n, b.n) FROM r a, r b",
        "SELECT DISTINCT a.n, b.n, REPEAT('x', 100) FROM r a, r b",
        "SELECT a.n FROM r a, r b ORDER BY REPEAT('x', 1000), b.n LIMIT 900000, 1",
        "SELECT LENGTH(GROUP_CONCAT(REPEAT('x', 1000))) FROM r a, r b",
        "SELECT LENGTH(GROUP_CONCAT(DISTINCT a.n, b.n ORDER BY b.n)) FROM r a, r b",
        "SELECT LENGTH(JSON_ARRAYAGG(REPEAT('x', 1000))) FROM r a, r b",
        "SELECT LENGTH(JSON_OBJECTAGG(CONCAT(a.n, '-', b.n), REPEAT('x', 100))) FROM r a, r b",
        "SELECT COUNT(*) FROM (SELECT a.n x, b.n y FROM r a, r b LIMIT 900000) d, (SELECT 1 z) e WHERE d.x = e.z + d.y",
        "SELECT COUNT(*) FROM r a, r b WHERE a.n IN (SELECT c.n * d.n FROM r c, r d)",
        "SELECT MAX(w) FROM (SELECT ROW_NUMBER() OVER (ORDER BY a.n, b.n) w FROM r a, r b) d",
        "SELECT a.n, b.n FROM r a, r b UNION SELECT b.n, a.n + 1000 FROM r a, r b LIMIT 1",
        "SELECT a.n, b.n FROM r a, r b EXCEPT SELECT 1, 1 LIMIT 1",
        "SELECT COUNT(*) FROM (SELECT JSON_ARRAY(REPEAT('x', 2000)) j, a.n FROM r a, r b LIMIT 100000) d WHERE d.n < 0",
    ];
    let mut statements: Vec<(String, u16)> = kept.iter().map(|sql| (format!("{ROWS} {sql}"), ER_OUT_OF_RESOURCES)).collect();
    let more: [(&str, u16); 12] = [
        (
            "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 100000000) SELECT COUNT(*) FROM r",
            ER_OUT_OF_RESOURCES,
        ),
        (
            "WITH RECURSIVE r AS (SELECT 1 n UNION SELECT n + 1 FROM r WHERE n < 100000000) SELECT COUNT(*) FROM r",
            ER_OUT_OF_RESOURCES,
        ),
        (
            "WITH RECURSIVE r AS (SELECT 1 n, JSON_ARRAY(1) j UNION ALL SELECT n + 1, JSON_ARRAY(j, j) FROM r WHERE n < 60) \
             SELECT LENGTH(j) FROM r",
            ER_OUT_OF_RESOURCES,
        ),
        ("SELECT COUNT(*) FROM (SELECT a.id, b.pad FROM t a, t b LIMIT 500000) d WHERE d.pad > d.id", ER_OUT_OF_RESOURCES),
        ("SELECT LENGTH(REPLACE(REPEAT('a', 1000000), 'a', REPEAT('b', 1000000)))", NO_ERROR),
        ("SELECT LENGTH(REGEXP_REPLACE(REPEAT('a', 100000), 'a', REPEAT('b', 100000)))", ER_REGEXP_BUFFER_OVERFLOW),
        ("SELECT LENGTH(EXPORT_SET(0, REPEAT('a', 60000000), REPEAT('a', 60000000)))", NO_ERROR),
        ("SELECT LENGTH(CAST('a' AS BINARY(4294967295)))", NO_ERROR),
        ("SELECT LENGTH(LPAD('a', 4000000000, 'b')), LENGTH(SPACE(4000000000)), LENGTH(REPEAT('a', 4000000000))", NO_ERROR),
        (
            "SELECT LENGTH(JSON_PRETTY(CAST(CONCAT(REPEAT('[', 90), REPEAT('1,', 1000000), '1', REPEAT(']', 90)) AS JSON)))",
            NO_ERROR,
        ),
        ("SELECT LENGTH(HEX(HEX(HEX(REPEAT('a', 40000000)))))", ER_OUT_OF_RESOURCES),
        ("SELECT @a := REPEAT('a', 60000000), @b := @a, @c := @a, @d := @a, @e := @a, @f := @a", ER_OUT_OF_RESOURCES),
    ];
    statements.extend(more.map(|(sql, code)| (sql.to_string(), code)));
    for (sql, expected) in &statements {
        let answer = client.query(sql);
        let code = match &answer {
            Answer::Err { code, .. } => *code,
            Answer::Rows { rows, .. } => {
                assert!(rows.iter().flatten().all(Option::is_none), "NULL is wanted from {sql}");
                NO_ERROR
            }
            Answer::Ok { .. } => panic!("done: {sql}"),
        };
        assert_eq!(code, *expected, "{sql}: {answer:?}");
        assert_eq!(client.query("SELECT COUNT(*), SUM(LENGTH(pad)) FROM t").rows(), [["1000", "900000"]]);
        let peak = peak_mib(&server);
        assert!(peak < PEAK_MIB_MAX, "{peak} MiB after {sql}");
    }
}
