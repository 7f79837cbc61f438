//! Partitions beside clients that go on, and behind a kill.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::ask::{code, ok, one};
use crate::client::Client;
use crate::server::Server;

const KEYS: u64 = 60;
/// What writers must expect: duplicates, no partition, deadlocks and conflicts, waits, a table that changed.
const EXPECTED: &[u16] = &[1062, 1205, 1213, 1412, 1526];

/// Changes rows, which moves some of them to other partitions.
fn write(server: &Server, seed: u64, stop: &AtomicBool) {
    let mut client = server.connect();
    let mut state = seed | 1;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    while !stop.load(Ordering::Relaxed) {
        let (key, other) = (below(KEYS), below(KEYS));
        let sql = match below(6) {
            0 | 1 => format!("INSERT INTO d.t VALUES ({key}, {other}, {seed})"),
            2 => format!("UPDATE d.t SET id = {other} WHERE id = {key}"),
            3 => format!("UPDATE d.t SET v = v + 1 WHERE id BETWEEN {} AND {key}", key.saturating_sub(5)),
            4 => format!("DELETE FROM d.t WHERE id = {key}"),
            _ => format!("SELECT SUM(v) FROM d.t WHERE id IN ({key}, {other})"),
        };
        let answer = client.query(&sql);
        assert!(code(&answer) == 0 || EXPECTED.contains(&code(&answer)), "{sql}: {answer:?}");
    }
}

/// The rows are counted, indexed, and where their values say.
fn assert_sound(client: &mut Client) {
    assert_eq!(one(client, "CHECK TABLE d.t"), "d.t|check|status|OK");
    let by_index = one(client, "SELECT COUNT(*) FROM d.t FORCE INDEX (v) WHERE v >= 0");
    assert_eq!(one(client, "SELECT COUNT(*) FROM d.t"), by_index);
    for (partition, condition) in [("a", "id < 20"), ("b", "id >= 20 AND id < 40")] {
        let inside = one(client, &format!("SELECT COUNT(*) FROM d.t PARTITION ({partition})"));
        assert_eq!(inside, one(client, &format!("SELECT COUNT(*) FROM d.t WHERE {condition}")), "{partition}");
    }
}

#[test]
fn partitions_change_beside_writers_and_survive_a_kill() {
    let server = Server::start("partitions");
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE d");
    let range = "PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (20), PARTITION b VALUES LESS THAN (40), PARTITION c VALUES LESS THAN MAXVALUE)";
    ok(&mut client, &format!("CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL, w INT, KEY (v)) {range}"));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for seed in 1..4 {
            let (server, stop) = (&server, &stop);
            scope.spawn(move || write(server, seed, stop));
        }
        let changes = [
            "ALTER TABLE d.t TRUNCATE PARTITION b",
            "ALTER TABLE d.t REORGANIZE PARTITION c INTO (PARTITION c VALUES LESS THAN (50), PARTITION e VALUES LESS THAN MAXVALUE)",
            "ALTER TABLE d.t DROP PARTITION c",
            "ALTER TABLE d.t REORGANIZE PARTITION e INTO (PARTITION c VALUES LESS THAN MAXVALUE)",
            "ALTER TABLE d.t ADD INDEX (w)",
            "ALTER TABLE d.t DROP INDEX w",
            "ALTER TABLE d.t PARTITION BY HASH (id) PARTITIONS 5",
            "ALTER TABLE d.t COALESCE PARTITION 2",
            "ALTER TABLE d.t REMOVE PARTITIONING",
        ];
        let below = range.replace("(id) (", "(id) SUBPARTITION BY KEY (id) SUBPARTITIONS 3 (");
        let to_subpartitions = format!("ALTER TABLE d.t {below}");
        let changes_below = [
            "ALTER TABLE d.t TRUNCATE PARTITION bsp1, csp0",
            "ALTER TABLE d.t REORGANIZE PARTITION a, b INTO (PARTITION a VALUES LESS THAN (10), PARTITION f VALUES LESS THAN (40))",
            "ALTER TABLE d.t REORGANIZE PARTITION a, f INTO (PARTITION a VALUES LESS THAN (20) (SUBPARTITION x, SUBPARTITION y, \
             SUBPARTITION z), PARTITION b VALUES LESS THAN (40) (SUBPARTITION b0, SUBPARTITION b1, SUBPARTITION b2))",
            "ALTER TABLE d.t REBUILD PARTITION b",
            "ALTER TABLE d.t DROP PARTITION c",
            "ALTER TABLE d.t ADD PARTITION (PARTITION c VALUES LESS THAN MAXVALUE)",
            "ALTER TABLE d.t DROP INDEX v, ADD INDEX v (v)",
        ];
        let back = format!("ALTER TABLE d.t {range}");
        for change in changes.into_iter().chain([back.as_str(), to_subpartitions.as_str()]).chain(changes_below) {
            ok(&mut client, change);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_sound(&mut client);
    let rows = one(&mut client, "SELECT COUNT(*), SUM(v), SUM(id) FROM d.t");
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    assert_eq!(one(&mut client, "SELECT COUNT(*), SUM(v), SUM(id) FROM d.t"), rows);
    assert_sound(&mut client);
}

/// A statement looks at the partitions that it touches: of 8,192 it locks and reads one.
#[test]
fn a_statement_reads_the_partition_that_it_touches() {
    let server = Server::start("partitions-many");
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "CREATE TABLE d.m (id INT PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS 8192");
    ok(&mut client, "INSERT INTO d.m VALUES (1, 10), (8193, 20), (77, 30)");
    assert_eq!(one(&mut client, "SELECT v FROM d.m WHERE id = 8193"), "20");
    assert_eq!(client.query("EXPLAIN FORMAT=TRADITIONAL SELECT v FROM d.m WHERE id = 8193").rows()[0][3], "p1");
    ok(&mut client, "UPDATE d.m SET id = 78 WHERE id = 77");
    assert_eq!(one(&mut client, "SELECT SUM(v), COUNT(*) FROM d.m PARTITION (p1, p78)"), "60|3");
    ok(&mut client, "DROP TABLE d.m");
}

/// Both levels are pruned, by constants and by the rows of an outer table.
#[test]
fn subpartitions_are_pruned() {
    let server = Server::start("subpartitions");
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE d");
    ok(
        &mut client,
        "CREATE TABLE d.m (a INT, b INT, v INT, KEY (v)) PARTITION BY RANGE (a) SUBPARTITION BY HASH (b) SUBPARTITIONS 3 \
         (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), PARTITION pm VALUES LESS THAN MAXVALUE)",
    );
    ok(&mut client, "CREATE TABLE d.o (a INT, b INT)");
    for a in [1, 11, 21] {
        ok(&mut client, &format!("INSERT INTO d.m VALUES ({a}, 0, 1), ({a}, 1, 2), ({a}, 2, 3)"));
    }
    ok(&mut client, "INSERT INTO d.o VALUES (1, 1), (11, 2), (21, 0), (30, 1)");
    let read = [
        ("a = 1 AND b = 1", "p0_p0sp1", "1"),
        ("b = 2", "p0_p0sp2,p1_p1sp2,pm_pmsp2", "3"),
        ("a = 11", "p1_p1sp0,p1_p1sp1,p1_p1sp2", "3"),
        ("a > 10 AND b IN (0, 4)", "p1_p1sp0,p1_p1sp1,pm_pmsp0,pm_pmsp1", "2"),
        ("a < 10 AND b BETWEEN 1 AND 2", "p0_p0sp1,p0_p0sp2", "2"),
        ("v = 1", "p0_p0sp0,p0_p0sp1,p0_p0sp2,p1_p1sp0,p1_p1sp1,p1_p1sp2,pm_pmsp0,pm_pmsp1,pm_pmsp2", "3"),
    ];
    for (condition, partitions, rows) in read {
        let explained = client.query(&format!("EXPLAIN FORMAT=TRADITIONAL SELECT * FROM d.m WHERE {condition}"));
        assert_eq!(explained.rows()[0][3], partitions, "{condition}");
        assert_eq!(one(&mut client, &format!("SELECT COUNT(*) FROM d.m WHERE {condition}")), rows, "{condition}");
    }
    let joined = "SELECT GROUP_CONCAT(m.v ORDER BY m.v) FROM d.o STRAIGHT_JOIN d.m ON m.a = o.a AND m.b = o.b";
    assert_eq!(one(&mut client, joined), "1,2,3");
    // A read that looks at one subpartition does not notice that the others are new.
    let mut other = server.connect();
    ok(&mut other, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    ok(&mut client, "ALTER TABLE d.m TRUNCATE PARTITION p0, p1sp0, p1sp1, pm");
    ok(&mut other, "PREPARE s FROM 'SELECT v FROM d.m WHERE a = ? AND b = ?'");
    ok(&mut other, "SET @a = 11, @b = 2, @c = 1");
    assert_eq!(one(&mut other, "EXECUTE s USING @a, @b"), "3");
    assert_eq!(code(&other.query("EXECUTE s USING @a, @c")), 1412);
}

/// A LIMIT in the order of an index reads, and so locks, the first row of each partition and those that it gives.
#[test]
fn the_first_rows_of_partitions_are_merged() {
    let server = Server::start("partitions-merged");
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "CREATE TABLE d.m (id INT PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS 10");
    let rows = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT i, i FROM n";
    ok(&mut client, &format!("INSERT INTO d.m {rows}"));
    let locked = "SELECT COUNT(*) FROM performance_schema.data_locks WHERE PARTITION_NAME IS NOT NULL";
    for (order, first) in [("id", "0|1|2|3|4"), ("id DESC", "999|998|997|996|995")] {
        ok(&mut client, "START TRANSACTION");
        let given = client.query(&format!("SELECT id FROM d.m ORDER BY {order} LIMIT 5 FOR UPDATE")).rows();
        let given: Vec<String> = given.into_iter().flatten().collect();
        assert_eq!(given.join("|"), first);
        assert_eq!(one(&mut client, locked), "14", "{order}");
        ok(&mut client, "ROLLBACK");
    }
}

/// Rows change places beside writers: none is lost, none comes twice, and a snapshot from before sees neither side.
#[test]
fn partitions_are_exchanged_beside_writers_and_survive_a_kill() {
    const ROUNDS: u64 = 40;
    let server = Server::start("exchange");
    let (mut client, mut other) = (server.connect(), server.connect());
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "CREATE TABLE d.p (id INT, v INT, KEY (v)) PARTITION BY HASH (id) PARTITIONS 2");
    ok(&mut client, "CREATE TABLE d.o (id INT, v INT, KEY (v))");
    ok(&mut other, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for (table, first) in [("p", 0), ("o", 1_000_000)] {
            let (server, done) = (&server, &done);
            scope.spawn(move || {
                let mut client = server.connect();
                for id in 0..ROUNDS * 5 {
                    let sql = format!("INSERT INTO d.{table} VALUES ({}, {id})", first + 2 * id);
                    while code(&client.query(&sql)) != 0 {
                        assert!(!done.load(Ordering::Relaxed), "{sql}");
                    }
                }
            });
        }
        for round in 0..ROUNDS {
            let validation = if round % 2 == 0 { "WITH VALIDATION" } else { "WITHOUT VALIDATION" };
            ok(&mut client, &format!("ALTER TABLE d.p EXCHANGE PARTITION p0 WITH TABLE d.o {validation}"));
        }
    });
    done.store(true, Ordering::Relaxed);
    for table in ["p", "o"] {
        assert_eq!(code(&other.query(&format!("SELECT COUNT(*) FROM d.{table}"))), 1412, "{table}");
    }
    ok(&mut other, "COMMIT");
    let all = "SELECT COUNT(*), COUNT(DISTINCT id), SUM(v) FROM (SELECT * FROM d.p UNION ALL SELECT * FROM d.o) a";
    let by_index = "SELECT (SELECT COUNT(*) FROM d.p FORCE INDEX (v) WHERE v >= 0) + (SELECT COUNT(*) FROM d.o FORCE INDEX (v) WHERE v >= 0)";
    let (rows, per_side) = (ROUNDS * 10, ROUNDS * 5);
    let expected = format!("{rows}|{rows}|{}", per_side * (per_side - 1));
    assert_eq!(one(&mut client, all), expected);
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    assert_eq!(one(&mut client, all), expected);
    assert_eq!(one(&mut client, by_index), rows.to_string());
    assert_eq!(one(&mut client, "CHECK TABLE d.p"), "d.p|check|status|OK");
    assert_eq!(one(&mut client, "CHECK TABLE d.o"), "d.o|check|status|OK");
    assert_eq!(one(&mut client, "SELECT (SELECT COUNT(*) FROM d.p) + (SELECT COUNT(*) FROM d.o)"), rows.to_string());
}
