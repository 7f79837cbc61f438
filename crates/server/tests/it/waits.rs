//! Sessions that wait: deadlocks, KILL, `max_execution_time`, and what the views tell of them.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};

fn ok(client: &mut Client, sql: &str) {
    assert_eq!(code(&client.query(sql)), 0, "{sql}");
}

fn code(answer: &Answer) -> u16 {
    match answer {
        Answer::Err { code, .. } => *code,
        Answer::Ok { .. } | Answer::Rows { .. } => 0,
    }
}

fn connection_id(client: &mut Client) -> String {
    client.query("SELECT CONNECTION_ID()").rows()[0][0].clone()
}

/// Runs the statement on a thread; gives the client back with the answer and when it came.
fn start(mut client: Client, sql: &str) -> JoinHandle<(Client, Option<Answer>, Instant)> {
    let sql = sql.to_string();
    std::thread::spawn(move || {
        let answer = client.try_query(&sql).ok();
        (client, answer, Instant::now())
    })
}

/// Until the query gives a row, for a while.
fn wait_for(client: &mut Client, sql: &str) -> Vec<String> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(row) = client.query(sql).rows().into_iter().next() {
            return row;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{sql}: never")
}

const WAITING: &str = "SELECT trx_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";

fn prepare(server: &Server) -> Client {
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY, name VARCHAR(20), v INT, KEY (name))");
    ok(&mut client, "INSERT INTO d.t VALUES (1, 'one', 0), (2, 'two', 0), (3, 'three', 0), (4, 'four', 0)");
    client
}

/// The one that wrote less fails within 10 ms of the last wait's beginning, beyond what the machine takes for any answer now,
/// and the report tells all of it.
#[test]
fn a_deadlock_is_broken_at_once() {
    let server = Server::start("deadlock");
    let mut watcher = prepare(&server);
    let (mut a, mut b) = (server.connect(), server.connect());
    let (mut took, mut plain) = (Vec::new(), Vec::new());
    const ROUNDS: usize = 21;
    for round in 0..ROUNDS {
        // The victim waits first in every other round, and closes the cycle in the others.
        let victim_waits = round % 2 == 0;
        ok(&mut a, "BEGIN");
        ok(&mut a, "UPDATE d.t SET v = v + 1 WHERE id IN (2, 3, 4)");
        ok(&mut b, "BEGIN");
        ok(&mut b, "UPDATE d.t SET v = v + 1 WHERE id = 1");
        let (a_sql, b_sql) = ("UPDATE d.t SET v = 7 WHERE id = 1", "UPDATE d.t SET v = 8 WHERE id = 3");
        let began;
        let (a_done, b_done) = if victim_waits {
            let waits = start(b, b_sql);
            wait_for(&mut watcher, WAITING);
            began = Instant::now();
            (start(a, a_sql), waits)
        } else {
            let waits = start(a, a_sql);
            wait_for(&mut watcher, WAITING);
            began = Instant::now();
            (waits, start(b, b_sql))
        };
        let (a_back, a_answer, _) = a_done.join().expect("a");
        let (b_back, b_answer, at) = b_done.join().expect("b");
        took.push(at - began);
        let began = Instant::now();
        let (a_back, _, at) = start(a_back, "SELECT 1").join().expect("a");
        plain.push(at - began);
        (a, b) = (a_back, b_back);
        assert_eq!((a_answer.as_ref().map(code), b_answer.as_ref().map(code)), (Some(0), Some(1213)), "round {round}");
        ok(&mut a, "COMMIT");
        ok(&mut b, "ROLLBACK");
    }
    took.sort();
    plain.sort();
    // Two sessions answer: the one that closed the cycle and the victim.
    let limit = Duration::from_millis(10) + 2 * plain[ROUNDS / 2];
    assert!(took[ROUNDS / 2] < limit, "{took:?}, a plain answer: {plain:?}");
    let status = watcher.query("SHOW ENGINE INNODB STATUS").rows().concat().concat();
    let wanted = [
        "LATEST DETECTED DEADLOCK",
        "UPDATE d.t SET v = 7 WHERE id = 1",
        "UPDATE d.t SET v = 8 WHERE id = 3",
        "X lock on row id = 1 of table `d`.`t` (index PRIMARY)",
        "X lock on row id = 3 of table `d`.`t` (index PRIMARY)",
        // The last round was one in which the victim waited first: it is the second of the report.
        "*** WE ROLL BACK TRANSACTION (2)",
        &format!("MySQL thread id {}", connection_id(&mut b)),
    ];
    for text in wanted {
        assert!(status.contains(text), "{text} is not in {status}");
    }
}

/// Whatever a session waits for or works at, KILL QUERY ends the statement with 1317 and KILL the connection.
#[test]
fn kill_ends_every_wait() {
    let server = Server::start("kill");
    let mut killer = prepare(&server);
    ok(&mut killer, "CREATE TABLE d.many (a INT, b VARCHAR(50))");
    ok(
        &mut killer,
        "INSERT INTO d.many WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i, REPEAT('x', i % 50) FROM n",
    );
    let mut holder = server.connect();
    ok(&mut holder, "BEGIN");
    ok(&mut holder, "UPDATE d.t SET v = 1 WHERE id = 1");
    ok(&mut holder, "DO GET_LOCK('held', 0)");
    let statements = [
        "UPDATE d.t SET v = 2 WHERE id = 1",
        "SELECT * FROM d.t FOR UPDATE",
        "ALTER TABLE d.t ADD COLUMN w INT",
        "DROP TABLE d.t",
        "LOCK TABLES d.t WRITE",
        "SELECT GET_LOCK('held', 100)",
        "SELECT COUNT(*) FROM d.many x, d.many y, d.many z WHERE x.a + y.a + z.a = 0",
        "SELECT x.b FROM d.many x, d.many y, d.many z ORDER BY x.b DESC, y.b LIMIT 1",
        "SELECT x.a + y.a, COUNT(*) FROM d.many x, d.many y, d.many z GROUP BY 1",
        "SELECT SUM(x.a) OVER (ORDER BY y.a) FROM d.many x, d.many y, d.many z",
        "CREATE TABLE d.copy AS SELECT x.a FROM d.many x, d.many y, d.many z",
        "INSERT INTO d.many SELECT x.a, y.b FROM d.many x, d.many y, d.many z WHERE x.a + y.a + z.a < 0",
        "UPDATE d.many x, d.many y, d.many z SET x.a = x.a WHERE x.a + y.a + z.a < 0",
        "SELECT SLEEP(100) FROM d.many",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT COUNT(*) FROM n",
    ];
    ok(&mut killer, "SET GLOBAL cte_max_recursion_depth = 4294967295");
    for sql in statements {
        for connection in [false, true] {
            let mut client = Client::connect(server.port, "root", PASSWORD).expect("connect");
            let id = connection_id(&mut client);
            let running = start(client, sql);
            let seen = format!("SELECT 1 FROM information_schema.processlist WHERE id = {id} AND info IS NOT NULL");
            wait_for(&mut killer, &seen);
            std::thread::sleep(Duration::from_millis(100));
            assert!(!running.is_finished(), "{sql} is over already");
            let began = Instant::now();
            ok(&mut killer, &format!("KILL {} {id}", if connection { "CONNECTION" } else { "QUERY" }));
            let (mut client, answer, at) = running.join().expect("client");
            assert!(at - began < Duration::from_secs(5), "{sql} took {:?}", at - began);
            if connection {
                assert!(answer.is_none(), "{sql}: {answer:?}");
            } else {
                assert_eq!(answer.as_ref().map(code), Some(1317), "{sql}: {answer:?}");
                ok(&mut client, "SELECT 1");
            }
        }
    }
    ok(&mut holder, "ROLLBACK");
    // Nothing of them is left.
    assert_eq!(killer.query("SELECT COUNT(*) FROM d.many").rows(), [["1000"]]);
    assert_eq!(killer.query("SHOW TABLES FROM d LIKE 'copy'").rows().len(), 0);
    ok(&mut killer, "LOCK TABLES d.t WRITE");
    ok(&mut killer, "UNLOCK TABLES");
}

#[test]
fn max_execution_time_ends_a_lock_wait() {
    let server = Server::start("max-time");
    let mut holder = prepare(&server);
    ok(&mut holder, "BEGIN");
    ok(&mut holder, "UPDATE d.t SET v = 1 WHERE id = 1");
    let mut client = server.connect();
    assert_eq!(code(&client.query("SELECT /*+ MAX_EXECUTION_TIME(200) */ * FROM d.t WHERE id = 1 FOR UPDATE")), 3024);
    ok(&mut client, "SET max_execution_time = 200");
    assert_eq!(code(&client.query("SELECT * FROM d.t WHERE id = 1 FOR UPDATE")), 3024);
    ok(&mut client, "SELECT * FROM d.t WHERE id = 2 FOR UPDATE");
}

/// Half an hour of work if planning did it, where no limit reaches.
#[test]
fn a_constant_that_takes_long_is_computed_when_the_plan_runs() {
    let server = Server::start("long-constants");
    let mut client = prepare(&server);
    let constant = format!("EXTRACTVALUE('{}', 'count(//a[count(//a) > 0])')", "<a/>".repeat(200_000));
    for query in [format!("SELECT {constant}"), format!("SELECT * FROM d.t WHERE id = {constant} + 0")] {
        ok(&mut client, &format!("PREPARE s FROM \"{query}\""));
        ok(&mut client, "SET max_execution_time = 1");
        assert_eq!(code(&client.query("EXECUTE s")), 3024);
        assert_eq!(code(&client.query(&query)), 3024);
        ok(&mut client, "SET max_execution_time = 0");
    }
}

/// A locking read that has sent rows cannot restart where it meets a conflict: error 1213 means the whole transaction, at READ COMMITTED too.
#[test]
fn a_conflict_that_is_shown_ends_the_transaction() {
    let server = Server::start("shown-conflict");
    let mut watcher = prepare(&server);
    ok(&mut watcher, "CREATE TABLE d.big (id INT PRIMARY KEY, v LONGTEXT)");
    for id in 1..=18 {
        ok(&mut watcher, &format!("INSERT INTO d.big VALUES ({id}, REPEAT('x', 1048576))"));
    }
    let (mut holder, mut client) = (server.connect(), server.connect());
    ok(&mut holder, "BEGIN");
    ok(&mut holder, "UPDATE d.big SET v = 'y' WHERE id = 18");
    ok(&mut client, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    ok(&mut client, "BEGIN");
    ok(&mut client, "UPDATE d.t SET v = 9 WHERE id = 1");
    let waits = start(client, "SELECT * FROM d.big FOR UPDATE");
    wait_for(&mut watcher, WAITING);
    ok(&mut holder, "COMMIT");
    let (mut client, answer, _) = waits.join().expect("client");
    assert_eq!(answer.as_ref().map(code), Some(1213));
    ok(&mut client, "COMMIT");
    assert_eq!(watcher.query("SELECT v FROM d.t WHERE id = 1").rows(), [["0"]]);
}

#[test]
fn user_locks_find_their_deadlocks() {
    let server = Server::start("user-locks");
    let (mut a, mut b) = (server.connect(), server.connect());
    ok(&mut a, "DO GET_LOCK('x', 0)");
    ok(&mut b, "DO GET_LOCK('y', 0)");
    let waits = start(a, "SELECT GET_LOCK('y', 60)");
    wait_for(&mut b, "SELECT 1 FROM performance_schema.metadata_locks WHERE object_name = 'y' AND lock_status = 'PENDING'");
    assert_eq!(code(&b.query("SELECT GET_LOCK('x', 60)")), 3058);
    assert_eq!(b.query("SELECT RELEASE_LOCK('y')").rows(), [["1"]]);
    let (_, answer, _) = waits.join().expect("a");
    assert_eq!(answer.expect("an answer").rows(), [["1"]]);
}

#[test]
fn the_views_tell_who_waits_for_what() {
    let server = Server::start("lock-views");
    let mut watcher = prepare(&server);
    let mut holder = server.connect();
    let holder_id = connection_id(&mut holder);
    ok(&mut holder, "BEGIN");
    ok(&mut holder, "DELETE FROM d.t WHERE id = 2");
    let mut waiter = server.connect();
    let waiter_id = connection_id(&mut waiter);
    let sql = "UPDATE d.t SET v = 9 WHERE id = 2";
    let waits = start(waiter, sql);
    wait_for(&mut watcher, WAITING);
    let locks = "SELECT object_schema, object_name, index_name, lock_type, lock_mode, lock_status, lock_data \
                 FROM performance_schema.data_locks WHERE lock_type = 'RECORD' ORDER BY index_name DESC, lock_status";
    let rows: Vec<String> = watcher.query(locks).rows().iter().map(|row| row.join(" ")).collect();
    assert_eq!(
        rows,
        [
            "d t PRIMARY RECORD X,REC_NOT_GAP GRANTED 2",
            "d t PRIMARY RECORD X,REC_NOT_GAP WAITING 2",
            "d t name RECORD X,REC_NOT_GAP GRANTED 'two', 2",
        ]
    );
    // As sys.innodb_lock_waits joins them.
    let join = "SELECT r.trx_mysql_thread_id, r.trx_query, b.trx_mysql_thread_id, l.lock_data \
                FROM performance_schema.data_lock_waits w \
                JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_engine_transaction_id \
                JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_engine_transaction_id \
                JOIN performance_schema.data_locks l ON l.engine_lock_id = w.requesting_engine_lock_id \
                WHERE r.trx_requested_lock_id = l.engine_lock_id";
    assert_eq!(watcher.query(join).rows(), [[waiter_id.as_str(), sql, holder_id.as_str(), "2"]]);
    let status = watcher.query("SHOW ENGINE INNODB STATUS").rows().concat().concat();
    assert!(status.contains("waits for X lock on row id = 2 of table `d`.`t` (index PRIMARY)"), "{status}");
    let tables = "SELECT lock_type, lock_status FROM performance_schema.metadata_locks WHERE object_name = 't'";
    assert_eq!(watcher.query(tables).rows(), [["SHARED_WRITE", "GRANTED"], ["SHARED_WRITE", "GRANTED"]]);
    ok(&mut holder, "ROLLBACK");
    assert_eq!(waits.join().expect("waiter").1.as_ref().map(code), Some(0));
}

/// The end of an online change of a table, as gh-ost makes it: RENAME waits behind LOCK TABLES and goes before all that came earlier, or else
/// what they change is lost.
#[test]
fn rename_goes_before_statements_when_tables_are_unlocked() {
    let server = Server::start("rename-first");
    let mut holder = prepare(&server);
    let mut watcher = server.connect();
    ok(&mut holder, "CREATE TABLE d.ghost LIKE d.t");
    for round in 0..10 {
        ok(&mut holder, "LOCK TABLES d.t WRITE");
        let insert = |n| format!("INSERT INTO d.t (id) VALUES ({n}{})", 100 + round);
        let inserts: Vec<_> = (1..5).map(|n| start(server.connect(), &insert(n))).collect();
        let waiting = "SELECT 1 FROM performance_schema.metadata_locks WHERE object_name = 't' AND lock_type = ";
        wait_for(&mut watcher, &format!("{waiting} 'SHARED_WRITE' AND lock_status = 'PENDING' GROUP BY 1 HAVING COUNT(*) = 4"));
        let mut renamer = server.connect();
        let id = connection_id(&mut renamer);
        let rename = start(renamer, &format!("RENAME TABLE d.t TO d.old{round}, d.ghost TO d.t"));
        let of_renamer = format!(
            "{waiting} 'EXCLUSIVE' AND lock_status = 'PENDING' AND owner_thread_id = \
             (SELECT thread_id FROM performance_schema.threads WHERE processlist_id = {id})"
        );
        wait_for(&mut watcher, &of_renamer);
        let state = format!("SELECT 1 FROM information_schema.processlist WHERE id = {id} AND state LIKE '%metadata lock%'");
        wait_for(&mut watcher, &state);
        ok(&mut holder, "UNLOCK TABLES");
        assert_eq!(rename.join().expect("renamer").1.as_ref().map(code), Some(0));
        for insert in inserts {
            assert_eq!(insert.join().expect("client").1.as_ref().map(code), Some(0));
        }
        let lost = format!("SELECT COUNT(*) FROM d.old{round} WHERE id >= 1000 + {round} AND id % 1000 = 100 + {round}");
        assert_eq!(holder.query(&lost).rows(), [["0"]], "round {round}");
        assert_eq!(holder.query(&lost.replace(&format!("old{round}"), "t")).rows(), [["4"]], "round {round}");
        ok(&mut holder, "CREATE TABLE d.ghost LIKE d.t");
    }
}

/// LOCK TABLES waits for open transactions, which use the table further meanwhile; new ones wait.
#[test]
fn transactions_go_on_when_lock_tables_waits_for_them() {
    let server = Server::start("lock-tables-waits");
    let mut watcher = prepare(&server);
    let mut open = server.connect();
    ok(&mut open, "BEGIN");
    ok(&mut open, "SELECT * FROM d.t");
    let mut locker = server.connect();
    ok(&mut locker, "SET lock_wait_timeout = 60");
    let locker = start(locker, "LOCK TABLES d.t WRITE");
    let waiting = "SELECT 1 FROM performance_schema.metadata_locks WHERE object_name = 't' AND lock_status = 'PENDING'";
    wait_for(&mut watcher, waiting);
    ok(&mut open, "SET lock_wait_timeout = 5");
    ok(&mut open, "UPDATE d.t SET v = v + 1 WHERE id = 1");
    ok(&mut open, "SELECT * FROM d.t WHERE id = 2 FOR UPDATE");
    let other = start(server.connect(), "UPDATE d.t SET v = v + 1 WHERE id = 3");
    std::thread::sleep(Duration::from_millis(100));
    assert!(!other.is_finished() && !locker.is_finished());
    ok(&mut open, "COMMIT");
    let (mut locker, answer, _) = locker.join().expect("locker");
    assert_eq!(answer.as_ref().map(code), Some(0));
    assert!(!other.is_finished());
    ok(&mut locker, "UNLOCK TABLES");
    assert_eq!(other.join().expect("client").1.as_ref().map(code), Some(0));
}

/// A deadlock undoes the work of a branch, which then can only be rolled back.
#[test]
fn a_deadlock_leaves_a_branch_to_be_rolled_back() {
    let server = Server::start("xa-deadlock");
    let mut watcher = prepare(&server);
    let (mut a, mut b) = (server.connect(), server.connect());
    ok(&mut a, "BEGIN");
    ok(&mut a, "UPDATE d.t SET v = 1 WHERE id IN (1, 3, 4)");
    ok(&mut b, "XA START 'victim'");
    ok(&mut b, "UPDATE d.t SET v = 2 WHERE id = 2");
    let waits = start(a, "UPDATE d.t SET v = 1 WHERE id = 2");
    wait_for(&mut watcher, WAITING);
    assert_eq!(code(&b.query("UPDATE d.t SET v = 2 WHERE id = 1")), 1213);
    let (mut a, answer, _) = waits.join().expect("a");
    assert_eq!(answer.as_ref().map(code), Some(0));
    ok(&mut a, "COMMIT");
    assert_eq!(code(&b.query("COMMIT")), 1399);
    assert_eq!(code(&b.query("XA END 'victim'")), 1614);
    assert_eq!(code(&b.query("XA PREPARE 'victim'")), 1399);
    assert_eq!(code(&b.query("XA COMMIT 'victim' ONE PHASE")), 1399);
    ok(&mut b, "XA ROLLBACK 'victim'");
    assert_eq!(b.query("SELECT v FROM d.t").rows(), [["1"], ["1"], ["1"], ["1"]]);
    ok(&mut b, "XA START 'victim'");
}

/// LOCK TABLES of two tables waits for a transaction at one of them, which goes on at the other.
#[test]
fn a_transaction_that_lock_tables_waits_for_goes_on_at_other_tables() {
    let server = Server::start("lock-tables-two");
    let mut watcher = prepare(&server);
    ok(&mut watcher, "CREATE TABLE d.u (id INT PRIMARY KEY, v INT)");
    ok(&mut watcher, "INSERT INTO d.u VALUES (1, 0), (2, 0)");
    let waiting = "SELECT 1 FROM performance_schema.metadata_locks WHERE object_name = 't' AND lock_status = 'PENDING'";
    for locks in ["LOCK TABLES d.t WRITE, d.u WRITE", "LOCK TABLES d.t READ, d.u READ"] {
        let (mut open, locker) = (server.connect(), server.connect());
        ok(&mut open, "SET lock_wait_timeout = 10");
        ok(&mut open, "BEGIN");
        ok(&mut open, "UPDATE d.t SET v = v + 1 WHERE id = 1");
        let locker = start(locker, locks);
        wait_for(&mut watcher, waiting);
        ok(&mut open, "UPDATE d.u SET v = v + 1 WHERE id = 1");
        ok(&mut open, "COMMIT");
        let (mut locker, answer, _) = locker.join().expect("locker");
        assert_eq!(answer.as_ref().map(code), Some(0), "{locks}");
        ok(&mut open, "SET lock_wait_timeout = 1");
        assert_eq!(code(&open.query("UPDATE d.u SET v = v + 1 WHERE id = 2")), 1205);
        ok(&mut locker, "UNLOCK TABLES");
    }
    // The same of RENAME, which has its tables for itself while somebody else has any table locked.
    let (mut open, mut third, rename) = (server.connect(), server.connect(), server.connect());
    ok(&mut watcher, "CREATE TABLE d.w (id INT)");
    ok(&mut third, "LOCK TABLES d.w READ");
    ok(&mut open, "SET lock_wait_timeout = 10");
    ok(&mut open, "BEGIN");
    ok(&mut open, "UPDATE d.t SET v = v + 1 WHERE id = 1");
    let rename = start(rename, "RENAME TABLE d.t TO d.t2, d.u TO d.u2");
    wait_for(&mut watcher, waiting);
    ok(&mut open, "UPDATE d.u SET v = v + 1 WHERE id = 1");
    ok(&mut open, "COMMIT");
    assert_eq!(rename.join().expect("rename").1.as_ref().map(code), Some(0));
    assert_eq!(watcher.query("SELECT v FROM d.u2 WHERE id = 1").rows(), [["3"]]);
}

/// Under the global read lock neither rows nor the log change: commits that were admitted before are over.
#[test]
fn the_global_read_lock_waits_for_commits_under_way() {
    let server = Server::start("global-read-lock");
    let mut client = prepare(&server);
    ok(&mut client, "CREATE TABLE d.many (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (mut writer, stop) = (server.connect(), &stop);
            scope.spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Acquire) {
                    ok(&mut writer, "INSERT INTO d.many (v) VALUES (1)");
                }
            });
        }
        let mut look = || {
            let rows = client.query("SELECT COUNT(*) FROM d.many").rows();
            (rows, client.query("SHOW BINARY LOG STATUS").rows())
        };
        let mut locker = server.connect();
        for _ in 0..50 {
            ok(&mut locker, "FLUSH TABLES WITH READ LOCK");
            let first = look();
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(first, look());
            ok(&mut locker, "UNLOCK TABLES");
        }
        stop.store(true, std::sync::atomic::Ordering::Release);
    });
}
