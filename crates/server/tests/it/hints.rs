//! Whatever hints say, and whatever `optimizer_switch` takes away, the rows are the same.
//!
//! `/*h*/` in a query is where hints of the block around are written, `/*i*/` those of the subquery or derived table. Each query runs without
//! hints, with each hint alone, and with combinations that a seed chooses; a failure prints query and hints.

use crate::ask::ok;
use crate::client::{Answer, Client};
use crate::server::Server;

const TABLES: [&str; 10] = [
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE a (id INT PRIMARY KEY, x INT, n VARCHAR(10), KEY x (x), KEY nx (n, x))",
    "CREATE TABLE b (id INT PRIMARY KEY, a_id INT NOT NULL, y INT, KEY a_id (a_id), KEY y (y))",
    "CREATE TABLE c (id INT PRIMARY KEY, z INT, w INT, UNIQUE KEY z (z), KEY w (w, z))",
    "INSERT INTO a WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 60) \
     SELECT n, IF(n % 7 = 0, NULL, n % 10), CONCAT('n', n % 4) FROM r",
    "INSERT INTO b WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 90) \
     SELECT n, n * 7 % 50, IF(n % 5 = 0, NULL, n % 12) FROM r",
    "INSERT INTO c WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 40) \
     SELECT n, IF(n % 9 = 0, NULL, n * 2), n % 6 FROM r",
    "CREATE VIEW v AS SELECT id, x FROM a WHERE x > 3",
    "ANALYZE TABLE a, b, c",
];

const QUERIES: [&str; 32] = [
    "SELECT /*h*/ a.id, b.id FROM a JOIN b ON a.id = b.a_id",
    "SELECT /*h*/ a.id, b.id FROM a JOIN b ON a.id = b.a_id WHERE a.x = 3",
    "SELECT /*h*/ a.id, b.id, c.id FROM a, b, c WHERE a.id = b.a_id AND c.id = b.y AND a.x BETWEEN 2 AND 6",
    "SELECT /*h*/ a.id, b.id, c.id FROM a JOIN b ON a.x = b.y JOIN c ON c.z = b.a_id WHERE c.w = 2",
    "SELECT /*h*/ a.id, b.id FROM a LEFT JOIN b ON a.id = b.a_id AND b.y > 4",
    "SELECT /*h*/ a.id, b.id, c.id FROM a LEFT JOIN (b JOIN c ON b.y = c.id) ON a.id = b.a_id",
    "SELECT /*h*/ a.id, b.id, c.z FROM a LEFT JOIN b ON a.id = b.a_id LEFT JOIN c ON c.id = b.y WHERE a.id < 30",
    "SELECT /*h*/ a.id, b.id FROM a RIGHT JOIN b ON a.x = b.y WHERE b.id < 50",
    "SELECT /*h*/ a.id, c.id FROM a, c WHERE a.id < 5 AND c.id < 5",
    "SELECT /*h*/ a.id FROM a WHERE a.id IN (SELECT /*i*/ a_id FROM b)",
    "SELECT /*h*/ a.id FROM a WHERE a.x IN (SELECT /*i*/ b.y FROM b JOIN c ON b.y = c.id WHERE c.w < 4)",
    "SELECT /*h*/ a.id FROM a WHERE a.x NOT IN (SELECT /*i*/ b.a_id FROM b WHERE b.y = 4)",
    "SELECT /*h*/ a.id FROM a WHERE EXISTS (SELECT /*i*/ 1 FROM b WHERE b.a_id = a.id AND b.y > 2)",
    "SELECT /*h*/ a.id FROM a WHERE NOT EXISTS (SELECT /*i*/ 1 FROM b WHERE b.a_id = a.id)",
    "SELECT /*h*/ a.id, c.id FROM a JOIN c ON a.id = c.z WHERE a.x IN (SELECT /*i*/ y FROM b) AND c.id IN (SELECT a_id FROM b)",
    "SELECT /*h*/ a.id FROM a WHERE a.x > (SELECT /*i*/ AVG(y) FROM b WHERE b.y = a.id)",
    "SELECT /*h*/ a.id, (SELECT /*i*/ MAX(y) FROM b WHERE b.a_id = a.id) FROM a",
    "SELECT /*h*/ t.id, c.id FROM (SELECT /*i*/ id, x FROM a WHERE x > 3) AS t JOIN c ON c.id = t.x",
    "SELECT /*h*/ t.x, t.n FROM (SELECT /*i*/ x, COUNT(*) AS n FROM a GROUP BY x) AS t WHERE t.x > 4",
    "SELECT /*h*/ v.id, b.id FROM v JOIN b ON v.id = b.a_id WHERE v.x < 8",
    "WITH t AS (SELECT /*i*/ id, x FROM a WHERE x > 3) SELECT /*h*/ t.id, u.id FROM t JOIN t AS u ON t.x = u.id",
    "SELECT /*h*/ x, COUNT(*) FROM a GROUP BY x",
    "SELECT /*h*/ n, MIN(x), MAX(x) FROM a GROUP BY n",
    "SELECT /*h*/ MIN(x), MAX(x) FROM a WHERE n = 'n1'",
    "SELECT /*h*/ DISTINCT y FROM b WHERE y > 3",
    "SELECT /*h*/ id FROM a WHERE x IN (1, 3, 5) OR n = 'n2'",
    "SELECT /*h*/ id FROM a WHERE x = 2 AND n = 'n1' OR x = 4",
    "SELECT /*h*/ id, x FROM a WHERE x > 2 ORDER BY x, id LIMIT 7",
    "SELECT /*h*/ id, x, n FROM a ORDER BY n DESC, x DESC, id LIMIT 9 OFFSET 3",
    "SELECT /*h*/ a.id, b.id FROM a JOIN b ON a.id = b.a_id ORDER BY a.id, b.id LIMIT 11",
    "SELECT /*h*/ id FROM a WHERE x = 1 UNION SELECT /*i*/ a_id FROM b WHERE y = 2",
    "SELECT /*h*/ a.id, l.m FROM a, LATERAL (SELECT /*i*/ MAX(b.y) AS m FROM b WHERE b.a_id = a.id) AS l WHERE a.x = 5",
];

const OUTER: [&str; 40] = [
    "JOIN_FIXED_ORDER()",
    "JOIN_ORDER(b, a)",
    "JOIN_ORDER(c, b)",
    "JOIN_ORDER(b@s, a)",
    "JOIN_ORDER(c, a, b)",
    "JOIN_PREFIX(b)",
    "JOIN_PREFIX(c)",
    "JOIN_PREFIX(b@s)",
    "JOIN_SUFFIX(a)",
    "JOIN_SUFFIX(b, a)",
    "JOIN_SUFFIX(a, b@s)",
    "HASH_JOIN()",
    "HASH_JOIN(b)",
    "HASH_JOIN(a, c)",
    "NO_HASH_JOIN()",
    "NO_BNL(b)",
    "NO_BNL()",
    "INDEX(a nx)",
    "INDEX(a x)",
    "INDEX(b y)",
    "INDEX(c)",
    "NO_INDEX(a)",
    "NO_INDEX(a `PRIMARY`)",
    "NO_INDEX(b a_id)",
    "NO_INDEX(c z)",
    "JOIN_INDEX(b a_id)",
    "NO_JOIN_INDEX(a x)",
    "ORDER_INDEX(a x)",
    "ORDER_INDEX(a nx)",
    "NO_ORDER_INDEX(a)",
    "GROUP_INDEX(a nx)",
    "NO_GROUP_INDEX(a)",
    "NO_RANGE_OPTIMIZATION(a)",
    "NO_RANGE_OPTIMIZATION(a x)",
    "NO_MERGE()",
    "NO_MERGE(t, v)",
    "MERGE(t)",
    "NO_SEMIJOIN(@s)",
    "NO_DERIVED_CONDITION_PUSHDOWN()",
    "SET_VAR(optimizer_switch = 'firstmatch=off,duplicateweedout=off')",
];

const INNER: [&str; 12] = [
    "",
    "NO_SEMIJOIN()",
    "SEMIJOIN(FIRSTMATCH)",
    "SEMIJOIN(MATERIALIZATION)",
    "SEMIJOIN(LOOSESCAN, DUPSWEEDOUT)",
    "NO_SEMIJOIN(FIRSTMATCH)",
    "SUBQUERY(INTOEXISTS)",
    "SUBQUERY(MATERIALIZATION)",
    "NO_INDEX(b)",
    "JOIN_FIXED_ORDER()",
    "JOIN_ORDER(c, b)",
    "INDEX(b y) NO_RANGE_OPTIMIZATION(a)",
];

const SWITCHES: [&str; 7] = [
    "semijoin=off",
    "materialization=off,loosescan=off",
    "derived_merge=off",
    "hash_join=off",
    "block_nested_loop=off,prefer_ordering_index=off",
    "derived_condition_pushdown=off",
    "use_invisible_indexes=on,semijoin=off,derived_merge=off,hash_join=off",
];

/// Combinations for each query.
const COMBINATIONS: usize = 60;
const SEED: u64 = 20;

#[test]
fn rows_are_the_same() {
    let server = Server::start("hints-rows");
    let mut client = server.connect();
    TABLES.iter().for_each(|sql| drop(client.query(sql)));
    let mut random = SEED;
    for query in QUERIES {
        let expected = rows(&mut client, query, "", "");
        let mut compare = |outer: &str, inner: &str| {
            let found = rows(&mut client, query, outer, inner);
            assert_eq!(found, expected, "{query} with {outer} and, inside, {inner} (seed {SEED})");
        };
        OUTER.iter().for_each(|hint| compare(hint, ""));
        INNER.iter().for_each(|hint| compare("", hint));
        for _ in 0..COMBINATIONS {
            let mut one = |of: &[&'static str]| of[next(&mut random) as usize % of.len()];
            let outer = [one(&OUTER), one(&OUTER), one(&OUTER)].join(" ");
            compare(&outer, one(&INNER));
        }
        for flags in SWITCHES {
            ok(&mut client, &format!("SET optimizer_switch = '{flags}'"));
            let found = rows(&mut client, query, "", "");
            assert_eq!(found, expected, "{query} with {flags}");
            ok(&mut client, "SET optimizer_switch = DEFAULT");
        }
    }
}

/// Rows that have no order are sorted.
fn rows(client: &mut Client, query: &str, outer: &str, inner: &str) -> Vec<Vec<String>> {
    let block = |name: &str, hints: &str| format!("/*+ QB_NAME({name}) {hints} */");
    let sql = query.replace("/*h*/", &block("m", outer)).replace("/*i*/", &block("s", inner));
    let answer = client.query(&sql);
    assert!(matches!(answer, Answer::Rows { .. }), "{sql}: {answer:?}");
    let mut rows = answer.rows();
    if !query.contains("ORDER BY") {
        rows.sort();
    }
    rows
}

/// The next number of a linear congruential generator.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// SHOW WARNINGS behind statements whose plan is kept, and after the table has changed.
#[test]
fn hints_of_kept_plans_count() {
    let server = Server::start("hints-kept");
    let mut client = server.connect();
    TABLES.iter().for_each(|sql| drop(client.query(sql)));
    let plan = |client: &mut Client, hints: &str| {
        let sql = format!("EXPLAIN FORMAT=TREE SELECT /*+ {hints} */ id FROM a WHERE x = 3 AND n = 'n1'");
        client.query(&sql).rows().concat().concat()
    };
    for _ in 0..3 {
        assert!(plan(&mut client, "INDEX(a x)").contains("using x "));
        assert!(plan(&mut client, "INDEX(a nx)").contains("using nx "));
        assert!(plan(&mut client, "NO_INDEX(a)").contains("Table scan"));
        let found = client.query("SELECT /*+ INDEX(a gone) */ id FROM a WHERE x = 3 ORDER BY id LIMIT 1").rows();
        assert_eq!(found, [["3"]]);
        let warnings = client.query("SHOW WARNINGS").rows();
        assert_eq!(
            warnings,
            [["Warning", "3128", "Unresolved name `a`@`m` `gone` for INDEX hint"].map(|s| s.replace("`m`", "`select#1`"))]
        );
    }
    ok(&mut client, "ALTER TABLE a RENAME INDEX x TO gone");
    ok(&mut client, "SELECT /*+ INDEX(a gone) */ id FROM a WHERE x = 3");
    assert!(client.query("SHOW WARNINGS").rows().is_empty());
}
