//! Every loop looks at the statement's interrupt: KILL, `max_execution_time` and a client that is gone end it soon.
//!
//! The server counts how often statements look (`count-interrupt-looks`, shown as the status variable `Interrupt_looks`). Each statement here does a known
//! number of steps in one operator, function or kind of DDL, and must have looked once in so many steps, whatever time they took.

use crate::client::{Answer, Client};
use crate::server::Server;

/// Rows that a loop may go on for without a look.
const STEPS_PER_LOOK_MAX: u64 = 4096;
/// Rows of table `t`.
const ROWS: u64 = 20_000;

/// Statements over `r` (1000 numbers), a million pairs of them, or the rows of `t`, and their steps.
const QUERIES: [(&str, u64); 34] = [
    ("SELECT COUNT(*) FROM t WHERE b = -1", ROWS),
    ("SELECT COUNT(*) FROM t WHERE a = 1 AND b = -1 OR a > 5", ROWS),
    ("SELECT COUNT(*) FROM t FORCE INDEX (a) WHERE a > 0 AND b < 0", ROWS / 2),
    ("SELECT * FROM t ORDER BY s LIMIT 19000, 1", ROWS),
    ("SELECT * FROM t ORDER BY s, b", ROWS),
    ("SELECT COUNT(*) FROM r x JOIN r y ON x.n + y.n < 0", 1_000_000),
    ("SELECT COUNT(*) FROM r x LEFT JOIN r y ON x.n + y.n < 0", 1_000_000),
    ("SELECT COUNT(*) FROM r x JOIN r y ON x.n % 4 = y.n % 4", 250_000),
    ("SELECT COUNT(*) FROM r x LEFT JOIN r y ON x.n % 4 = y.n % 4 AND x.n + y.n < 0", 250_000),
    ("SELECT COUNT(*) FROM r x WHERE EXISTS (SELECT 1 FROM r y WHERE x.n + y.n < 0)", 1_000_000),
    ("SELECT COUNT(*) FROM r x WHERE NOT EXISTS (SELECT 1 FROM r y WHERE x.n % 4 = y.n % 4 AND x.n + y.n < 0)", 250_000),
    ("SELECT COUNT(*) FROM r x WHERE x.n IN (SELECT y.n + z.n + 5000 FROM r y, r z)", 1_000_000),
    ("SELECT SUM((SELECT COUNT(*) FROM r y WHERE y.n > x.n)) FROM r x", 1_000_000),
    ("SELECT COUNT(*) FROM (SELECT x.n * 1000 + y.n g, COUNT(*) FROM r x, r y WHERE x.n <= 200 GROUP BY g) d", 200_000),
    ("SELECT x.n % 2 g, SUM(y.n) FROM r x, r y GROUP BY g WITH ROLLUP", 1_000_000),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT x.n, y.n m FROM r x, r y WHERE x.n <= 200) d", 200_000),
    ("SELECT COUNT(DISTINCT x.n * 1000 + y.n) FROM r x, r y WHERE x.n <= 200", 200_000),
    ("SELECT LENGTH(GROUP_CONCAT(y.n)) FROM r x, r y WHERE x.n <= 200", 200_000),
    ("SELECT LENGTH(GROUP_CONCAT(DISTINCT y.n ORDER BY y.n DESC)) FROM r x, r y WHERE x.n <= 200", 200_000),
    ("SELECT JSON_LENGTH(JSON_ARRAYAGG(y.n)) FROM r x, r y WHERE x.n <= 200", 200_000),
    ("SELECT COUNT(*) FROM (SELECT x.n, y.n m FROM r x, r y WHERE x.n <= 200 UNION SELECT 1, 2) d", 200_000),
    ("SELECT COUNT(*) FROM (SELECT x.n, y.n m FROM r x, r y WHERE x.n <= 200 EXCEPT SELECT 1, 2) d", 200_000),
    ("SELECT COUNT(*) FROM (SELECT x.n, y.n m FROM r x, r y WHERE x.n <= 200 INTERSECT SELECT n, n FROM r) d", 200_000),
    ("SELECT COUNT(*) FROM (SELECT x.n FROM r x, r y UNION ALL SELECT 1) d", 1_000_000),
    ("SELECT x.n FROM r x, r y LIMIT 900000, 1", 900_000),
    ("SELECT x.n FROM r x, r y WHERE x.n <= 200 ORDER BY y.n + 1 DESC LIMIT 5", 200_000),
    ("SELECT x.n FROM r x, r y WHERE x.n <= 200 ORDER BY y.n DESC, x.n LIMIT 199000, 1", 200_000),
    (
        "SELECT MAX(n) FROM (WITH RECURSIVE c AS (SELECT 1 n UNION ALL SELECT n + 1 FROM c WHERE n < 100000) SELECT n FROM c) d",
        100_000,
    ),
    (
        "SELECT MAX(n) FROM (WITH RECURSIVE c AS (SELECT 1 n UNION SELECT c.n % 1000 + 1 FROM c, r WHERE r.n <= 100) SELECT n FROM c) d",
        100_000,
    ),
    ("WITH c AS (SELECT x.n, y.n m FROM r x, r y WHERE x.n <= 200) SELECT COUNT(*) FROM c JOIN c d USING (n, m)", 400_000),
    (
        "SELECT COUNT(*) FROM information_schema.columns x, information_schema.columns y WHERE CONCAT(x.column_name, y.column_name) = ''",
        1_000_000,
    ),
    ("SELECT BENCHMARK(100000, 1 + 1)", 100_000),
    ("SELECT COUNT(*) FROM t x JOIN t y ON x.id = y.id + 100000000", ROWS),
    ("SELECT COUNT(*) FROM t x JOIN t y USING (a) WHERE x.id <= 1000 AND y.b < 0", 100_000),
];

/// Statements that change data or schema, each on the table that those before it left.
const CHANGES: [(&str, u64); 22] = [
    ("CREATE TABLE u LIKE t", 0),
    ("INSERT INTO u SELECT * FROM t", ROWS),
    ("REPLACE INTO u SELECT * FROM t", ROWS),
    ("INSERT INTO u SELECT * FROM t ON DUPLICATE KEY UPDATE b = t.b + 1", ROWS),
    ("INSERT IGNORE INTO u SELECT * FROM t", ROWS),
    ("UPDATE u SET b = b + 1", ROWS),
    ("UPDATE u SET s = CONCAT(s, 'x') WHERE a > 10 ORDER BY b", ROWS / 2),
    ("UPDATE u JOIN t USING (id) SET u.b = t.b + 5", ROWS),
    ("CREATE TABLE v AS SELECT * FROM t", ROWS),
    ("ALTER TABLE v ADD KEY (a)", ROWS),
    ("ALTER TABLE v ADD UNIQUE KEY (id)", ROWS),
    ("ALTER TABLE v MODIFY b VARCHAR(30)", ROWS),
    ("ALTER TABLE v ADD PRIMARY KEY (id)", ROWS),
    ("ALTER TABLE v ADD CHECK (id > 0)", ROWS),
    ("CHECK TABLE u", ROWS),
    ("CHECKSUM TABLE u", ROWS),
    ("ANALYZE TABLE u", ROWS),
    ("SELECT * FROM t INTO OUTFILE '{file}'", ROWS),
    ("LOAD DATA INFILE '{file}' REPLACE INTO TABLE u", ROWS),
    ("DELETE u FROM u JOIN t USING (id) WHERE t.a = 7", ROWS),
    ("DELETE FROM u WHERE b <> 3", ROWS / 2),
    ("DELETE FROM v ORDER BY a", ROWS),
];

fn value(client: &mut Client, sql: &str) -> u64 {
    client.query(sql).rows().first().and_then(|row| row.last()?.parse().ok()).expect("a number")
}

/// How often `sql` looked.
fn looks_of(client: &mut Client, sql: &str) -> u64 {
    let looks = "SHOW GLOBAL STATUS LIKE 'Interrupt_looks'";
    let before = value(client, looks);
    let answer = client.query(sql);
    assert!(!matches!(answer, Answer::Err { .. }), "{sql}: {answer:?}");
    value(client, looks) - before
}

fn setup(server: &Server) -> Client {
    let mut client = server.connect();
    let fill = format!(
        "INSERT INTO t WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) SELECT i, i % 100, i * 7, MD5(i) FROM n"
    );
    let setup = [
        "SET GLOBAL cte_max_recursion_depth = 1000000, GLOBAL group_concat_max_len = 10000000",
        "SET cte_max_recursion_depth = 1000000, group_concat_max_len = 10000000",
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, s VARCHAR(40), KEY (a))",
        &fill,
        "CREATE TABLE r (n INT PRIMARY KEY)",
        "INSERT INTO r SELECT id FROM t WHERE id <= 1000",
    ];
    for sql in setup {
        let answer = client.query(sql);
        assert!(matches!(answer, Answer::Ok { .. }), "{sql}: {answer:?}");
    }
    client
}

fn check(statements: &[(&str, u64)], file: &str) {
    let options = ["--secure-file-priv", "", "--storage-test-option", "count-interrupt-looks=on"];
    let server = Server::start_with(&format!("interrupts-{file}"), &options);
    let mut client = setup(&server);
    let path = std::env::temp_dir().join(format!("vaquita-it-{}-{file}.txt", std::process::id()));
    let mut heedless = Vec::new();
    for (sql, steps) in statements {
        let looks = looks_of(&mut client, &sql.replace("{file}", &path.display().to_string()));
        if looks < steps / STEPS_PER_LOOK_MAX {
            heedless.push(format!("{looks} looks in {steps} steps: {sql}"));
        }
    }
    let _ = std::fs::remove_file(&path);
    assert!(heedless.is_empty(), "{}", heedless.join("\n"));
}

#[test]
fn each_operator_looks() {
    check(&QUERIES, "operators");
}

#[test]
fn each_change_looks() {
    check(&CHANGES, "changes");
}
