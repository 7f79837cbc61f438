//! What `sys`, performance_schema and EXPLAIN FOR CONNECTION tell of other sessions, and what a restart leaves of `sys`.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::server::Server;

fn ok(client: &mut Client, sql: &str) {
    assert!(!matches!(client.query(sql), Answer::Err { .. }), "{sql}");
}

fn start(mut client: Client, sql: &'static str) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let _ = client.try_query(sql);
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

#[test]
fn who_waits_for_whom_is_told_and_explained() {
    let server = Server::start("introspection-waits");
    let mut root = server.connect();
    ok(&mut root, "CREATE DATABASE d");
    ok(&mut root, "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)");
    ok(&mut root, "INSERT INTO d.t VALUES (1, 1), (2, 2)");
    let mut watcher = server.connect();
    let logged =
        "SELECT COUNT(*) > 0, MIN(subsystem) FROM performance_schema.error_log WHERE subsystem = 'Server' AND prio = 'System'";
    assert_eq!(watcher.query(logged).rows(), [["1", "Server"]]);
    ok(&mut root, "BEGIN");
    ok(&mut root, "UPDATE d.t SET b = 5 WHERE a = 1");
    let waiting = start(server.connect(), "UPDATE d.t SET b = 6 WHERE a = 1");
    let row = wait_for(
        &mut watcher,
        "SELECT locked_table, locked_index, waiting_query, waiting_pid, sql_kill_blocking_query FROM sys.innodb_lock_waits",
    );
    assert_eq!(row[..3], ["`d`.`t`", "PRIMARY", "UPDATE d.t SET b = 6 WHERE a = 1"]);
    assert!(row[4].starts_with("KILL QUERY "), "{}", row[4]);
    let plan = watcher.query(&format!("EXPLAIN FOR CONNECTION {}", row[3])).rows();
    assert_eq!(plan[0][..3], ["1", "UPDATE", "t"]);
    let own = watcher.query("SELECT CONNECTION_ID()").rows()[0][0].clone();
    let refused = watcher.query(&format!("EXPLAIN FOR CONNECTION {own}"));
    assert!(matches!(refused, Answer::Err { code: 3012, .. }), "of what explains");
    ok(&mut watcher, "CREATE USER other");
    let mut other = Client::connect(server.port, "other", "").expect("connect");
    let denied = other.query(&format!("EXPLAIN FOR CONNECTION {}", row[3]));
    assert!(matches!(denied, Answer::Err { code: 1045, .. }), "of another user's");
    ok(&mut root, "ROLLBACK");
    waiting.join().expect("the update");

    ok(&mut root, "LOCK TABLES d.t WRITE");
    let waiting = start(server.connect(), "SELECT * FROM d.t");
    let row = wait_for(
        &mut watcher,
        "SELECT object_schema, object_name, waiting_query, blocking_lock_type, waiting_account FROM sys.schema_table_lock_waits",
    );
    assert_eq!(row, ["d", "t", "SELECT * FROM d.t", "SHARED_NO_READ_WRITE", "root@localhost"]);
    ok(&mut root, "UNLOCK TABLES");
    waiting.join().expect("the select");
    assert!(watcher.query("SELECT * FROM sys.schema_table_lock_waits").rows().is_empty());
}

/// What was dropped of it stays away, and what was changed stays changed.
#[test]
fn sys_is_made_once() {
    let server = Server::start("introspection-sys");
    let mut client = server.connect();
    ok(&mut client, "DROP VIEW sys.version");
    ok(&mut client, "UPDATE sys.sys_config SET value = '32' WHERE variable = 'statement_truncate_len'");
    drop(client);
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    let rows = client.query("SELECT COUNT(*) FROM information_schema.views WHERE table_schema = 'sys'").rows();
    assert_eq!(rows, [["99"]]);
    assert_eq!(client.query("SELECT sys.sys_get_config('statement_truncate_len', 0)").rows(), [["32"]]);
}

/// A later statement of a packet may have a password, which nobody else is to see while the first runs.
#[test]
fn a_statement_is_shown_without_those_behind_it() {
    let server = Server::start("introspection-several");
    let mut client = server.connect();
    ok(&mut client, "CREATE USER ana");
    let running = start(server.connect(), " SELECT SLEEP(1000) ; ALTER USER ana IDENTIFIED BY 'hush'");
    let found = wait_for(&mut client, "SELECT id FROM information_schema.processlist WHERE info = 'SELECT SLEEP(1000)'");
    let event = "SELECT sql_text FROM performance_schema.events_statements_current WHERE sql_text LIKE 'SELECT SLEEP(1000%'";
    assert_eq!(client.query(event).rows(), [["SELECT SLEEP(1000)"]]);
    ok(&mut client, &format!("KILL QUERY {}", found[0]));
    running.join().expect("ends");
}
