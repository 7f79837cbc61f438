//! DDL beside clients that go on: indexes built while they write, tables copied while they read, and who waits for whom.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::ask::{code, ok, one};
use crate::client::Client;
use crate::server::Server;

const DIGITS: &str = "(SELECT 0 n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 \
    UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)";

/// `d.t` with `rows` (a power of ten) rows: id 0 …, v = id, s = 'x'.
fn prepare(server: &Server, rows: u64) -> Client {
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT, s VARCHAR(20) NOT NULL)");
    let digits = rows.ilog10();
    let tables: Vec<String> = (0..digits).map(|n| format!("{DIGITS} d{n}")).collect();
    let id: Vec<String> = (0..digits).map(|n| format!("d{n}.n * {}", 10u64.pow(n))).collect();
    let id = id.join(" + ");
    ok(&mut client, &format!("INSERT INTO d.t SELECT {id}, {id}, 'x' FROM {}", tables.join(", ")));
    client
}

/// Until the query gives a row, for a while.
fn wait_for(client: &mut Client, sql: &str) -> Vec<String> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(row) = client.query(sql).rows().into_iter().next() {
            return row;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("{sql}: never")
}

/// Changes random rows, in transactions and alone; rolls some back. Errors that a client must expect: duplicates, deadlocks.
fn write(server: &Server, seed: u64, rows: u64, stop: &AtomicBool, done: &AtomicU64) {
    let mut client = server.connect();
    let mut state = seed | 1;
    let mut random = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    while !stop.load(Ordering::Relaxed) {
        let whole = random(3) == 0;
        if whole {
            ok(&mut client, "BEGIN");
        }
        for n in 0..if whole { 3 } else { 1 } {
            let (id, v) = (random(rows), random(rows * 2));
            let sql = match random(6) {
                0 => format!("DELETE FROM d.t WHERE id = {id}"),
                1 => format!("UPDATE d.t SET id = {} WHERE id = {id}", rows + random(rows)),
                2 => format!("UPDATE d.t SET v = NULL, s = 'y' WHERE id BETWEEN {id} AND {id} + 3"),
                3 => format!("INSERT INTO d.t VALUES ({id}, {v}, 'z') ON DUPLICATE KEY UPDATE v = {v}"),
                4 => format!("REPLACE INTO d.t VALUES ({id}, {v}, 'r')"),
                _ => format!("UPDATE d.t SET v = {v} WHERE id = {id}"),
            };
            let failed = code(&client.query(&sql));
            assert!([0, 1062, 1205, 1213].contains(&failed), "{sql}: {failed}");
            if failed == 1213 {
                break;
            }
            if whole && n == 1 {
                ok(&mut client, "SAVEPOINT s");
                // Others may have changed the row since the transaction's first statement, whose snapshot this one reads, too.
                let failed = code(&client.query(&format!("DELETE FROM d.t WHERE id = {}", random(rows))));
                assert!([0, 1213].contains(&failed), "{failed}");
                let back = code(&client.query("ROLLBACK TO s"));
                assert!([0, 1305].contains(&back), "{back}");
            }
        }
        if whole {
            ok(&mut client, if random(3) == 0 { "ROLLBACK" } else { "COMMIT" });
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ends the clients however a test ends.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn with_writers<T>(server: &Server, rows: u64, work: impl FnOnce(&AtomicU64) -> T) -> T {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for seed in 1..=4 {
            let (stop, done) = (&stop, &done);
            scope.spawn(move || write(server, seed * 7919, rows, stop, done));
        }
        let _stop = Stop(&stop);
        work(&done)
    })
}

fn check(client: &mut Client, index: &str) {
    assert_eq!(one(client, "CHECK TABLE d.t"), "d.t|check|status|OK");
    let counts =
        format!("SELECT (SELECT COUNT(id) FROM d.t FORCE INDEX ({index}) WHERE v >= 0 OR v IS NULL), (SELECT COUNT(*) FROM d.t)");
    let counts = one(client, &counts);
    let (through, all) = counts.split_once('|').unwrap();
    assert_eq!(through, all, "{index}");
}

#[test]
fn an_index_is_built_while_clients_write() {
    const ROWS: u64 = 10_000;
    let server = Server::start("online-index");
    let mut client = prepare(&server, ROWS);
    let within = with_writers(&server, ROWS, |done| {
        let mut within = 0;
        for round in 0..5 {
            let before = done.load(Ordering::Relaxed);
            ok(
                &mut client,
                if round % 2 == 0 { "CREATE INDEX v ON d.t (v)" } else { "ALTER TABLE d.t ADD INDEX v (v, s), ADD KEY s (s)" },
            );
            within += done.load(Ordering::Relaxed) - before;
            check(&mut client, "v");
            ok(&mut client, if round % 2 == 0 { "DROP INDEX v ON d.t" } else { "ALTER TABLE d.t DROP INDEX v, DROP INDEX s" });
        }
        ok(&mut client, "CREATE INDEX v ON d.t (v)");
        within
    });
    assert!(within > 0, "nobody wrote meanwhile");
    check(&mut client, "v");
}

/// Statements that were planned before, or that wait for it, never notice.
#[test]
fn a_table_is_copied_under_clients_that_do_not_notice() {
    const ROWS: u64 = 1_000;
    let server = Server::start("online-copy");
    let mut client = prepare(&server, ROWS);
    with_writers(&server, ROWS, |_| {
        for round in 0..6 {
            // VARCHAR to INT and back is a copy; the other changes are instant.
            ok(&mut client, ["ALTER TABLE d.t MODIFY v BIGINT", "ALTER TABLE d.t ADD c INT DEFAULT 5 INVISIBLE"][round % 2]);
            ok(&mut client, ["ALTER TABLE d.t MODIFY v INT", "ALTER TABLE d.t DROP c"][round % 2]);
        }
    });
    assert_eq!(one(&mut client, "CHECK TABLE d.t"), "d.t|check|status|OK");
}

#[test]
fn a_waiting_alter_makes_no_reader_wait_and_shows_what_it_does() {
    let server = Server::start("online-wait");
    let mut client = prepare(&server, 1_000);
    let (mut writer, mut other, mut alter) = (server.connect(), server.connect(), server.connect());
    let id = one(&mut alter, "SELECT CONNECTION_ID()");
    ok(&mut writer, "BEGIN");
    ok(&mut writer, "UPDATE d.t SET v = 0 WHERE id = 500");
    for sql in [
        "ALTER TABLE d.t ADD INDEX v (v)",
        "TRUNCATE d.t",
        "DROP TABLE d.t",
        "RENAME TABLE d.t TO d.u",
        "ALTER TABLE d.t ADD c INT",
    ] {
        let waits = thread::spawn(move || {
            let answer = alter.query(sql);
            (alter, answer)
        });
        let state = format!("SELECT state FROM information_schema.processlist WHERE id = {id} AND state LIKE 'Waiting for%'");
        assert_eq!(wait_for(&mut client, &state), ["Waiting for table metadata lock"]);
        let stage = format!(
            "SELECT event_name FROM performance_schema.events_stages_current s JOIN performance_schema.threads t USING (thread_id) \
             WHERE processlist_id = {id}"
        );
        assert!(wait_for(&mut client, &stage)[0].starts_with("stage/sql/"));
        // Beyond the turn in which it lets writers pass.
        thread::sleep(Duration::from_millis(1_300));
        // A reader that waited would get 1205.
        ok(&mut other, "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1");
        assert_eq!(one(&mut other, "SELECT COUNT(*) FROM d.t WHERE v IS NOT NULL"), "1000");
        assert!(!waits.is_finished(), "{sql}");
        ok(&mut client, &format!("KILL QUERY {id}"));
        let (back, answer) = waits.join().unwrap();
        alter = back;
        assert_eq!(code(&answer), 1317, "{sql}");
    }
    // It waits for no longer than it may.
    ok(&mut alter, "SET lock_wait_timeout = 1");
    assert_eq!(code(&alter.query("ALTER TABLE d.t ADD INDEX v (v)")), 1205);
    ok(&mut writer, "COMMIT");
    ok(&mut alter, "ALTER TABLE d.t ADD INDEX v (v)");
    check(&mut client, "v");
}

#[test]
fn a_build_shows_its_progress_is_killed_and_ended_by_a_duplicate() {
    const ROWS: u64 = 100_000;
    let server = Server::start("online-kill");
    let mut client = prepare(&server, ROWS);
    let mut alter = server.connect();
    let id = one(&mut alter, "SELECT CONNECTION_ID()");
    for (sql, end, error) in [
        ("CREATE UNIQUE INDEX v ON d.t (v)", format!("KILL QUERY {id}"), 1317),
        ("CREATE UNIQUE INDEX v ON d.t (v)", "INSERT INTO d.t VALUES (200000, 3, 'dup')".to_string(), 1062),
    ] {
        let waits = thread::spawn(move || {
            let answer = alter.query(sql);
            (alter, answer)
        });
        let progress = "SELECT work_completed < work_estimated, work_estimated FROM performance_schema.events_stages_current \
                        WHERE event_name = 'stage/innodb/alter table (read PK and internal sort)' AND work_completed > 3000";
        assert_eq!(wait_for(&mut client, progress), ["1".to_string(), ROWS.to_string()]);
        assert_eq!(
            one(&mut client, &format!("SELECT state FROM information_schema.processlist WHERE id = {id}")),
            "altering table"
        );
        ok(&mut client, &end);
        let (back, answer) = waits.join().unwrap();
        alter = back;
        assert_eq!(code(&answer), error, "{sql}");
        let indexes = "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = 'd'";
        assert_eq!(one(&mut client, indexes), "1");
        assert_eq!(one(&mut client, "SELECT COUNT(*) FROM performance_schema.events_stages_current"), "0");
        assert_eq!(one(&mut client, "CHECK TABLE d.t"), "d.t|check|status|OK");
    }
}

#[test]
fn a_snapshot_from_before_gets_error_1412_only_through_what_is_new() {
    let server = Server::start("online-snapshot");
    let mut client = prepare(&server, 100);
    let mut old = server.connect();
    ok(&mut client, "CREATE TABLE d.other (i INT PRIMARY KEY)");
    ok(&mut client, "CREATE TABLE d.emptied (i INT PRIMARY KEY)");
    ok(&mut old, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    ok(&mut old, "SELECT * FROM d.other");
    ok(&mut client, "CREATE INDEX v ON d.t (v)");
    ok(&mut client, "CREATE TABLE d.new (i INT PRIMARY KEY)");
    ok(&mut client, "TRUNCATE d.emptied");
    assert_eq!(code(&old.query("SELECT s FROM d.t FORCE INDEX (v) WHERE v = 5")), 1412);
    assert_eq!(one(&mut old, "SELECT s FROM d.t FORCE INDEX (PRIMARY) WHERE v = 5"), "x");
    assert_eq!(code(&old.query("SELECT * FROM d.new")), 1412);
    assert_eq!(code(&old.query("SELECT * FROM d.emptied")), 1412);
    assert_eq!(code(&old.query("SELECT COUNT(*) FROM d.emptied")), 1412);
    ok(&mut old, "COMMIT");
    assert_eq!(one(&mut old, "SELECT s FROM d.t FORCE INDEX (v) WHERE v = 5"), "x");
}

#[test]
fn several_tables_are_renamed_at_once() {
    let server = Server::start("online-rename");
    let mut client = prepare(&server, 10);
    ok(&mut client, "CREATE TABLE d.u (id INT PRIMARY KEY, w INT)");
    ok(&mut client, "INSERT INTO d.u VALUES (1, 77)");
    ok(&mut client, "RENAME TABLE d.t TO d.x, d.u TO d.t, d.x TO d.u");
    assert_eq!(one(&mut client, "SELECT w FROM d.t"), "77");
    assert_eq!(one(&mut client, "SELECT COUNT(*) FROM d.u"), "10");
    // All or none.
    assert_eq!(code(&client.query("RENAME TABLE d.t TO d.y, d.none TO d.z")), 1146);
    assert_eq!(one(&mut client, "SELECT w FROM d.t"), "77");
    ok(&mut client, "CREATE DATABASE e");
    ok(&mut client, "RENAME TABLE d.t TO e.t, d.u TO d.t");
    assert_eq!(one(&mut client, "SELECT w FROM e.t"), "77");
    assert_eq!(one(&mut client, "SELECT COUNT(*) FROM d.t"), "10");
}

/// An ALTER that fails withdraws what it has published; another that waited for it must not be undone by that.
#[test]
fn an_alter_that_fails_undoes_no_other() {
    let server = Server::start("online-fails");
    let mut client = prepare(&server, 10);
    ok(&mut client, "CREATE TABLE d.parent (id INT PRIMARY KEY)");
    ok(&mut client, "CREATE TABLE d.child (id INT PRIMARY KEY, p INT, v INT, KEY (p))");
    ok(&mut client, "INSERT INTO d.child VALUES (1, 1, 1), (2, 2, 2)");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for sql in ["ALTER TABLE d.child ADD FOREIGN KEY (p) REFERENCES d.parent (id)", "ALTER TABLE d.child ADD UNIQUE u ((1))"]
        {
            let (mut failing, stop) = (server.connect(), &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Acquire) {
                    let failed = code(&failing.query(sql));
                    assert!(failed == 1452 || failed == 1062, "{sql}: {failed}");
                }
            });
        }
        for round in 0..40 {
            ok(&mut client, "ALTER TABLE d.child ADD x INT");
            assert_eq!(client.query("SHOW COLUMNS FROM d.child").rows().len(), 4);
            ok(&mut client, "ALTER TABLE d.child DROP x");
            assert_eq!(client.query("SHOW COLUMNS FROM d.child").rows().len(), 3);
            // Rows are copied.
            ok(&mut client, ["ALTER TABLE d.child MODIFY v VARCHAR(20)", "ALTER TABLE d.child MODIFY v INT"][round % 2]);
            ok(&mut client, &format!("INSERT INTO d.child VALUES ({}, 1, 1)", round + 3));
            assert_eq!(one(&mut client, "SELECT COUNT(*) FROM d.child"), (round + 3).to_string());
        }
        stop.store(true, Ordering::Release);
    });
    assert_eq!(one(&mut client, "CHECK TABLE d.child"), "d.child|check|status|OK");
}

/// Nobody uses the table of CREATE TABLE … SELECT before it has its rows, and it goes if that fails.
#[test]
fn a_table_that_a_query_fills_is_nobodys_before_it_is_whole() {
    let server = Server::start("create-select");
    let mut client = prepare(&server, 10);
    let mut creates = server.connect();
    let id = one(&mut creates, "SELECT CONNECTION_ID()");
    let fills = "SELECT 1 FROM performance_schema.metadata_locks WHERE object_name = 'u' AND lock_status = 'GRANTED'";
    for (end, found) in [("KILL QUERY", 1146), ("", 0)] {
        let waits = thread::spawn(move || {
            let answer = creates.query("CREATE TABLE d.u AS SELECT id, SLEEP(0.2) s FROM d.t");
            (creates, answer)
        });
        wait_for(&mut client, fills);
        let mut reader = server.connect();
        ok(&mut reader, "SET lock_wait_timeout = 1");
        assert_eq!(code(&reader.query("SELECT * FROM d.u")), 1205);
        ok(&mut reader, "SET lock_wait_timeout = 60");
        let reads = thread::spawn(move || {
            let answer = reader.query("SELECT COUNT(*) FROM d.u");
            (code(&answer), if code(&answer) == 0 { answer.rows() } else { Vec::new() })
        });
        let pending = "SELECT 1 FROM performance_schema.metadata_locks WHERE object_name = 'u' AND lock_status = 'PENDING'";
        wait_for(&mut client, pending);
        if !end.is_empty() {
            ok(&mut client, &format!("{end} {id}"));
        }
        let (back, answer) = waits.join().unwrap();
        creates = back;
        assert_eq!(code(&answer), if end.is_empty() { 0 } else { 1317 });
        let (read, rows) = reads.join().unwrap();
        assert_eq!(read, found);
        if found == 0 {
            assert_eq!(rows, [["10"]]);
        }
    }
    ok(&mut client, "DROP TABLE d.u");
}

/// Statements that read a whole table look for it again when DDL has replaced it while they waited.
#[test]
fn maintenance_reads_the_table_that_there_is() {
    let server = Server::start("online-maintenance");
    let mut client = prepare(&server, 100);
    // As a primary key makes it, which the checksum shows.
    ok(&mut client, "ALTER TABLE d.t MODIFY v INT NOT NULL");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for (sql, wanted) in [
            ("CHECK TABLE d.t", "d.t|check|status|OK"),
            ("ANALYZE TABLE d.t", "d.t|analyze|status|OK"),
            ("CHECKSUM TABLE d.t", ""),
        ] {
            let wanted = if wanted.is_empty() { one(&mut client, sql) } else { wanted.to_string() };
            let (mut reads, stop) = (server.connect(), &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Acquire) {
                    assert_eq!(one(&mut reads, sql), wanted);
                }
            });
        }
        for _ in 0..100 {
            ok(&mut client, "ALTER TABLE d.t DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)");
            ok(&mut client, "ALTER TABLE d.t DROP PRIMARY KEY, ADD PRIMARY KEY (id)");
        }
        stop.store(true, Ordering::Release);
    });
}
