//! EXPLAIN ANALYZE tells what each operator gave, and changes nothing.

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};

/// The tree without its times, which differ each time, and without the planner's estimates.
fn analyzed(client: &mut Client, sql: &str) -> String {
    let rows = client.query(&format!("EXPLAIN ANALYZE {sql}")).rows();
    let tree = rows.into_iter().flatten().collect::<String>();
    let kept = |word: &&str| !word.starts_with("time=") && !word.starts_with("(rows=");
    tree.split(' ').filter(kept).collect::<Vec<_>>().join(" ")
}

#[test]
fn operators_tell_rows_and_loops() {
    let server = Server::start("explain-analyze");
    let mut client = Client::connect(server.port, "root", PASSWORD).expect("connect");
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b))",
        "CREATE TABLE u (a INT PRIMARY KEY, c INT)",
        "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 1), (5, 2)",
        "INSERT INTO u VALUES (1, 7), (2, 8)",
        "ANALYZE TABLE t, u",
    ] {
        client.query(sql);
    }
    let cases = [
        (
            "SELECT b, COUNT(*) FROM t GROUP BY b",
            "-> Group aggregate by t.b (actual rows=3 loops=1)\n\
             \x20   -> Covering index scan on t using b (actual rows=5 loops=1)\n",
        ),
        (
            "SELECT a, (SELECT COUNT(*) FROM u WHERE u.a = t.a) FROM t",
            "-> Covering index scan on t using b (actual rows=5 loops=1)\n\
             -> Select #1 (subquery; dependent)\n\
             \x20   -> Aggregate (actual rows=1 loops=5)\n\
             \x20       -> Single-row index lookup on u using PRIMARY (a = t.a) (actual rows=0.4 loops=5)\n",
        ),
        (
            "SELECT * FROM t STRAIGHT_JOIN u ON u.a = t.a WHERE t.b < 0",
            "-> Nested loop inner join (actual rows=0 loops=1)\n\
             \x20   -> Covering index range scan on t using b over (NULL < b < 0) (actual rows=0 loops=1)\n\
             \x20   -> Single-row index lookup on u using PRIMARY (a = t.a) (never executed)\n",
        ),
        (
            "DELETE FROM t WHERE a >= 4",
            "-> Delete from t\n\
             \x20   -> Index range scan on t using PRIMARY over (4 <= a), exclusive lock (actual rows=2 loops=1)\n",
        ),
        ("INSERT INTO t VALUES (9, 9)", "-> Insert into t\n    -> Rows: 1\n"),
    ];
    for (sql, tree) in cases {
        assert_eq!(analyzed(&mut client, sql), tree, "{sql}");
    }
    assert_eq!(client.query("SELECT COUNT(*) FROM t").rows(), [["5"]]);
    // A prepared one runs each time with its values.
    client.query("PREPARE p FROM 'EXPLAIN ANALYZE SELECT * FROM t WHERE b = ?'");
    client.query("SET @two = 2");
    let tree = client.query("EXECUTE p USING @two").rows().into_iter().flatten().collect::<String>();
    assert!(tree.ends_with(" rows=2 loops=1)\n"), "{tree}");
}

#[test]
fn why_tells_what_was_considered_and_which_index_is_missing() {
    let server = Server::start("explain-why");
    let mut client = Client::connect(server.port, "root", PASSWORD).expect("connect");
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, KEY (b))",
        "INSERT INTO t SELECT n, n % 50, n % 1000 FROM (WITH RECURSIVE q AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM q WHERE n < 1000) SELECT n FROM q) x",
        "INSERT INTO t SELECT a + 1000, b, c FROM t",
        "INSERT INTO t SELECT a + 2000, b, c FROM t",
        "INSERT INTO t SELECT a + 4000, b, c FROM t",
        "ANALYZE TABLE t",
        "CREATE USER u IDENTIFIED BY 'u'",
    ] {
        client.query(sql);
    }
    let mut why = |sql: &str| client.query(sql).rows().into_iter().flatten().collect::<String>();
    let text = why("EXPLAIN FORMAT=WHY SELECT a FROM t WHERE b = 7 AND c = 3");
    assert!(text.starts_with("Block 1: t  (cost="), "{text}");
    assert!(text.contains("    t: Index lookup using b  (cost="), "{text}");
    assert!(text.contains("        not Table scan  (cost="), "{text}");
    assert!(text.contains("An index on d.t (b, c) would make it "), "{text}");
    // What ran tells how wrong the estimates were.
    let text = why("EXPLAIN ANALYZE FORMAT=WHY SELECT a FROM t WHERE b = 7 AND a % 7 = 99");
    assert!(text.contains("The estimate that was most wrong: t gave 0.00 rows a time, "), "{text}");
    assert!(text.contains("(actual time="), "{text}");
    let text = why("EXPLAIN ANALYZE FORMAT=WHY SELECT a FROM t WHERE a = 7");
    assert!(
        text.contains("No index that it could use is missing.\nNo table's estimate was wrong by more than 2 times.\n"),
        "{text}"
    );
    // The index that was missing is used once it is there, and is not missed any more.
    client.query("CREATE INDEX bc ON t (b, c)");
    let text = client.query("EXPLAIN FORMAT=WHY SELECT a FROM t WHERE b = 7 AND c = 3").rows().concat().concat();
    assert!(text.contains("    t: Covering index lookup using bc  (cost="), "{text}");
    assert!(text.ends_with("No index that it could use is missing.\n"), "{text}");
    // It is no way to read what may not be read.
    let mut other = Client::connect(server.port, "u", "u").expect("connect");
    assert!(matches!(other.query("EXPLAIN FORMAT=WHY SELECT a FROM d.t"), Answer::Err { code: 1142, .. }));
}

/// OPTIMIZER_TRACE: JSON with MySQL's outline, of the statements that the limits say, and not of those that read it.
#[test]
fn the_optimizer_is_traced() {
    let server = Server::start("optimizer-trace");
    let mut client = server.connect();
    let mut run = |sql: &str| match client.query(sql) {
        Answer::Ok { .. } => Vec::new(),
        Answer::Err { code, text, .. } => panic!("{sql}: {code} {text}"),
        rows => rows.rows(),
    };
    const COUNT: &str = "SELECT COUNT(*) FROM information_schema.OPTIMIZER_TRACE";
    run("CREATE DATABASE d");
    run("CREATE TABLE d.t (a INT PRIMARY KEY, b INT, KEY (b))");
    run("INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)");
    assert_eq!(run(COUNT), [["0"]]);
    run("SET optimizer_trace = 'enabled=on'");
    run("SELECT x.a FROM d.t x JOIN d.t y ON x.b = y.a WHERE y.b < 3");
    let rows = run(
        "SELECT QUERY, JSON_VALID(TRACE), MISSING_BYTES_BEYOND_MAX_MEM_SIZE, INSUFFICIENT_PRIVILEGES FROM information_schema.OPTIMIZER_TRACE",
    );
    assert_eq!(rows, [["SELECT x.a FROM d.t x JOIN d.t y ON x.b = y.a WHERE y.b < 3", "1", "0", "0"]]);
    let path = |path: &str| {
        format!("SELECT JSON_LENGTH(TRACE, '{path}') > 0, JSON_LENGTH(TRACE, '$.steps') FROM information_schema.OPTIMIZER_TRACE")
    };
    for (of_json, steps) in [
        ("$.steps[0].join_preparation.steps[0]", "3"),
        ("$.steps[1].join_optimization.steps[0].rows_estimation", "3"),
        ("$.steps[1].join_optimization.steps[1].considered_execution_plans", "3"),
    ] {
        assert_eq!(run(&path(of_json)), [["1", steps]], "{of_json}");
    }
    run("SET optimizer_trace_offset = -2, optimizer_trace_limit = 5");
    run("SELECT 1 FROM d.t WHERE a = 1");
    run("UPDATE d.t SET b = 1 WHERE a = 2");
    run("DELETE FROM d.t WHERE b = 77");
    let queries = run("SELECT QUERY FROM information_schema.OPTIMIZER_TRACE");
    assert_eq!(queries, [["UPDATE d.t SET b = 1 WHERE a = 2"], ["DELETE FROM d.t WHERE b = 77"]]);
    run("SET optimizer_trace = 'one_line=on', optimizer_trace_offset = -1");
    run("SELECT b FROM d.t");
    assert_eq!(run("SELECT TRACE LIKE '%\n%' FROM information_schema.OPTIMIZER_TRACE"), [["0"]]);
    run("SET optimizer_trace_max_mem_size = 100, optimizer_trace_offset = -1");
    run("SELECT b FROM d.t");
    assert_eq!(
        run(
            "SELECT LENGTH(QUERY) + LENGTH(TRACE), MISSING_BYTES_BEYOND_MAX_MEM_SIZE > 0 FROM information_schema.OPTIMIZER_TRACE"
        ),
        [["100", "1"]]
    );
    run("SET optimizer_trace = 'enabled=off'");
    run("SELECT b FROM d.t");
    assert_eq!(run(COUNT), [["1"]]);
}
