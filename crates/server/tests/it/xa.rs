//! Prepared XA transactions over `kill -9`: their writes, their locks, and nothing of them before XA COMMIT.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::client::{Answer, Client};
use crate::server::Server;

fn ok(client: &mut Client, sql: &str) {
    match client.query(sql) {
        Answer::Err { code, text, .. } => panic!("{sql}: {code} {text}"),
        Answer::Ok { .. } | Answer::Rows { .. } => {}
    }
}

fn error(client: &mut Client, sql: &str) -> u16 {
    match client.query(sql) {
        Answer::Err { code, .. } => code,
        Answer::Ok { .. } | Answer::Rows { .. } => 0,
    }
}

fn column(client: &mut Client, sql: &str) -> Vec<String> {
    client.query(sql).rows().into_iter().map(|row| row.join(",")).collect()
}

const PREPARED: &[&str] = &[
    "CREATE DATABASE d",
    "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20) UNIQUE, big LONGTEXT)",
    "CREATE TABLE d.hidden (a INT, KEY (a))",
    "INSERT INTO d.t (id, name) VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four')",
    "INSERT INTO d.hidden VALUES (1)",
    "XA START 'lasting', 'branch', 5",
    "INSERT INTO d.t (name) VALUES ('five')",
    "UPDATE d.t SET name = 'deux' WHERE id = 2",
    "DELETE FROM d.t WHERE id = 3",
    "SELECT * FROM d.t WHERE id = 4 FOR UPDATE",
    // More than one piece of a record.
    "UPDATE d.t SET big = REPEAT('x', 2500000) WHERE id = 2",
    "INSERT INTO d.hidden VALUES (2), (3)",
    "XA END 'lasting', 'branch', 5",
    "XA PREPARE 'lasting', 'branch', 5",
    "XA START 'undone'",
    "INSERT INTO d.t (id, name) VALUES (100, 'hundred')",
    "XA END 'undone'",
    "XA PREPARE 'undone'",
    "XA START 'done'",
    "INSERT INTO d.t (id, name) VALUES (200, 'two hundred')",
    "XA END 'done'",
    "XA PREPARE 'done'",
    "XA COMMIT 'done'",
    "XA START 'open'",
    "INSERT INTO d.t (id, name) VALUES (300, 'lost')",
    "XA END 'open'",
];

#[test]
fn prepared_transactions_survive_kill_9() {
    let server = Server::start("xa");
    let mut client = server.connect();
    for sql in PREPARED {
        ok(&mut client, sql);
    }
    let server = Server::start_in(server.kill());
    check_held(&server);
    // A second crash changes nothing.
    let server = Server::start_in(server.kill());
    check_held(&server);
    let mut client = server.connect();
    ok(&mut client, "XA COMMIT 'lasting', 'branch', 5");
    ok(&mut client, "XA ROLLBACK 'undone'");
    check_ended(&mut client);
    let server = Server::start_in(server.kill());
    check_ended(&mut server.connect());
}

/// The branches are there, with their locks; what they wrote is not seen.
fn check_held(server: &Server) {
    let mut client = server.connect();
    let listed = column(&mut client, "XA RECOVER");
    assert_eq!(listed, ["1,6,0,undone", "5,7,6,lastingbranch"]);
    assert_eq!(
        column(&mut client, "SELECT id, name FROM d.t ORDER BY id"),
        ["1,one", "2,two", "3,three", "4,four", "200,two hundred"]
    );
    assert_eq!(column(&mut client, "SELECT COUNT(*) FROM d.hidden"), ["1"]);
    ok(&mut client, "SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1");
    for id in [2, 3, 4, 5, 100] {
        assert_eq!(
            error(&mut client, &format!("INSERT INTO d.t (id) VALUES ({id}) ON DUPLICATE KEY UPDATE name = 'x'")),
            1205,
            "{id}"
        );
    }
    assert_eq!(error(&mut client, "SELECT * FROM d.t WHERE id = 4 FOR SHARE NOWAIT"), 3572);
    assert_eq!(error(&mut client, "SELECT * FROM d.t WHERE id = 1 FOR UPDATE NOWAIT"), 0);
    // The unique entry that the update will free, and those that will be taken.
    for name in ["two", "deux", "five", "hundred"] {
        assert_eq!(error(&mut client, &format!("INSERT INTO d.t (id, name) VALUES (50, '{name}')")), 1205, "{name}");
    }
    assert_eq!(error(&mut client, "ALTER TABLE d.t ADD COLUMN c INT"), 1205);
    assert_eq!(error(&mut client, "DROP TABLE d.hidden"), 1205);
    assert_eq!(error(&mut client, "XA START 'undone'"), 1440);
    let states =
        column(&mut client, "SELECT trx_state, trx_mysql_thread_id, trx_rows_locked > 0 FROM information_schema.innodb_trx");
    assert_eq!(states, ["RUNNING,0,1", "RUNNING,0,1"]);
    let status = column(&mut client, "SHOW ENGINE INNODB STATUS").concat();
    assert!(status.contains("ACTIVE (PREPARED)"), "{status}");
}

fn check_ended(client: &mut Client) {
    assert_eq!(column(client, "XA RECOVER"), [""; 0]);
    let rows = column(client, "SELECT id, name, LENGTH(big) FROM d.t ORDER BY id");
    let mut expected = vec!["1,one,NULL", "2,deux,2500000", "4,four,NULL"];
    // AUTO_INCREMENT's next value after 4 was the branch's.
    expected.extend(["5,five,NULL", "200,two hundred,NULL"]);
    assert_eq!(rows, expected);
    assert_eq!(column(client, "SELECT COUNT(*) FROM d.t"), ["5"]);
    assert_eq!(column(client, "SELECT COUNT(*) FROM d.hidden"), ["3"]);
    assert_eq!(column(client, "SELECT a FROM d.hidden WHERE a > 0 ORDER BY a"), ["1", "2", "3"]);
    for table in ["d.t", "d.hidden"] {
        let checked = column(client, &format!("CHECK TABLE {table} EXTENDED")).concat();
        assert!(checked.ends_with("status,OK"), "{checked}");
    }
    ok(client, "BEGIN");
    ok(client, "INSERT INTO d.hidden VALUES (4)");
    ok(client, "INSERT INTO d.t (name) VALUES ('next')");
    assert_eq!(column(client, "SELECT COUNT(*), COUNT(DISTINCT a) FROM d.hidden"), ["4,4"]);
    ok(client, "ROLLBACK");
    assert_eq!(column(client, "SELECT COUNT(*) FROM information_schema.innodb_trx"), ["0"]);
}

/// A writer goes through the phases while the server is killed; whatever is found prepared is ended, and both
/// tables then tell the same.
#[test]
fn no_branch_is_half_done_after_kill_9() {
    let mut server = Server::start("xa-cycles");
    let mut client = server.connect();
    for sql in
        ["CREATE DATABASE d", "CREATE TABLE d.a (id INT PRIMARY KEY)", "CREATE TABLE d.b (id INT PRIMARY KEY, k INT, KEY (k))"]
    {
        ok(&mut client, sql);
    }
    let mut next = 1;
    for cycle in 0..cycles() {
        let stop = Arc::new(AtomicBool::new(false));
        let writer = {
            let (mut client, stop) = (server.connect(), stop.clone());
            std::thread::spawn(move || write_branches(&mut client, next, &stop))
        };
        std::thread::sleep(Duration::from_millis(150 + 37 * cycle));
        let dir = server.kill();
        stop.store(true, Ordering::Relaxed);
        let (committed, last) = writer.join().expect("writer");
        server = Server::start_in(dir);
        let mut client = server.connect();
        for row in client.query("XA RECOVER").rows() {
            let id: u64 = row[3].parse().expect("a number");
            let end = if id.is_multiple_of(2) { "ROLLBACK" } else { "COMMIT" };
            ok(&mut client, &format!("XA {end} '{id}'"));
        }
        let (a, b) = (
            column(&mut client, "SELECT id FROM d.a ORDER BY id"),
            column(&mut client, "SELECT id FROM d.b WHERE k >= 0 ORDER BY id"),
        );
        assert_eq!(a, b);
        for id in committed {
            assert!(a.binary_search_by_key(&id, |x| x.parse::<u64>().expect("a number")).is_ok(), "{id} was acknowledged");
        }
        assert_eq!(column(&mut client, "SELECT COUNT(*) FROM d.a"), [a.len().to_string()]);
        next = last + 1;
    }
}

/// The ids whose commit was acknowledged, and the last one tried.
fn write_branches(client: &mut Client, first: u64, stop: &AtomicBool) -> (Vec<u64>, u64) {
    let mut committed = Vec::new();
    for id in first.. {
        let steps = [
            format!("XA START '{id}'"),
            format!("INSERT INTO d.a VALUES ({id})"),
            format!("INSERT INTO d.b VALUES ({id}, {})", id % 5),
            format!("XA END '{id}'"),
            format!("XA PREPARE '{id}'"),
            format!("XA COMMIT '{id}'"),
        ];
        for step in steps {
            match client.try_query(&step) {
                Ok(Answer::Ok { .. }) if !stop.load(Ordering::Relaxed) => {}
                Ok(Answer::Err { code, text, .. }) => panic!("{step}: {code} {text}"),
                _ => return (committed, id),
            }
        }
        committed.push(id);
    }
    (committed, first)
}

/// Few in the ordinary run; `VAQUITA_KILL_CYCLES=1000` for the long one.
fn cycles() -> u64 {
    std::env::var("VAQUITA_KILL_CYCLES").ok().and_then(|n| n.parse().ok()).unwrap_or(5)
}

/// Statements about branches that the log has.
fn logged(client: &mut Client) -> Vec<String> {
    let mut texts = Vec::new();
    for file in column(client, "SHOW BINARY LOGS") {
        let name = file.split(',').next().expect("a name");
        let events = client.query(&format!("SHOW BINLOG EVENTS IN '{name}'")).rows();
        texts.extend(events.into_iter().map(|mut event| event.remove(5)).filter(|text| text.starts_with("XA ")));
    }
    texts
}

/// A replica would know no branch to end.
#[test]
fn the_log_has_the_end_of_branches_that_it_has() {
    let server = Server::start("xa-told");
    let mut client = server.connect();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)"] {
        ok(&mut client, sql);
    }
    let mut branch = |id: &str, work: &[&str]| {
        let begin = [format!("XA START '{id}'")];
        let end = [format!("XA END '{id}'"), format!("XA PREPARE '{id}'")];
        let work = work.iter().map(|sql| sql.to_string());
        begin.into_iter().chain(work).chain(end).for_each(|sql| ok(&mut client, &sql));
    };
    branch("read", &["SELECT * FROM d.t"]);
    branch("undone", &["SAVEPOINT s", "INSERT INTO d.t VALUES (2)", "ROLLBACK TO s"]);
    branch("read2", &["SELECT * FROM d.t"]);
    branch("read3", &["SELECT * FROM d.t"]);
    branch("written", &["INSERT INTO d.t VALUES (3)"]);
    let mut unlogged = server.connect();
    ok(&mut unlogged, "SET sql_log_bin = 0");
    for sql in ["XA START 'unlogged'", "INSERT INTO d.t VALUES (4)", "XA END 'unlogged'", "XA PREPARE 'unlogged'"] {
        ok(&mut unlogged, sql);
    }
    let mut other = server.connect();
    let begun = logged(&mut other);
    assert!(begun.iter().all(|text| text.contains(&hex("written"))), "{begun:?}");
    ok(&mut other, "XA COMMIT 'read'");
    ok(&mut other, "XA ROLLBACK 'read2'");
    // Also over a start.
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    for sql in ["XA COMMIT 'undone'", "XA COMMIT 'read3'", "XA COMMIT 'unlogged'"] {
        ok(&mut client, sql);
    }
    assert_eq!(logged(&mut client), begun);
    ok(&mut client, "XA COMMIT 'written'");
    let ended = logged(&mut client);
    assert_eq!(ended.len(), begun.len() + 1);
    assert_eq!(column(&mut client, "SELECT a FROM d.t ORDER BY a"), ["1", "3", "4"]);
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}
