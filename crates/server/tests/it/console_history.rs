//! What the console keeps and remembers: the history of metrics over kills, plans of statements, deadlocks, who set what.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::console::{Browser, run};
use crate::http::start;
use crate::server::{PASSWORD, Server};

/// Only a failure lasts as long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Of the file: its head, and the records of ten seconds, minutes and ten minutes.
const HEAD_BYTES: usize = 8192;
const STEPS: [usize; 3] = [2160, 2880, 2160];

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Records that are there, without that of the step that goes on, which the next server may add to.
fn ended_records(file: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).expect("the history");
    let record_bytes = (bytes.len() - HEAD_BYTES) / STEPS.iter().sum::<usize>();
    let of_ten_seconds = bytes[HEAD_BYTES..].chunks_exact(record_bytes).take(STEPS[0]);
    let mut known: Vec<Vec<u8>> = of_ten_seconds.filter(|record| record[..4] != [0; 4]).map(<[u8]>::to_vec).collect();
    known.sort_by_key(|record| u32::from_le_bytes([record[4], record[5], record[6], record[7]]));
    known.pop();
    known
}

#[test]
fn the_history_survives_a_kill() {
    let (server, port) = start("history-kill", &["--log-bin"]);
    let mut client = server.connect();
    run(&mut client, &["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)"]);
    let file = server.dir.join("history");
    let root = Browser::log_in(port, "root", PASSWORD);
    until("a step of ten seconds has ended", || {
        client.query("SELECT * FROM d.t");
        !ended_records(&file).is_empty()
    });
    let gtids = client.query("SELECT @@gtid_executed").rows()[0][0].clone();
    for window in ["", "?last=hour", "?last=day", "?last=weeks"] {
        let page = root.page(&format!("/{window}"));
        assert!(page.contains("<polygon") && page.contains("Time of statements"), "{window}: {page}");
    }
    let before = ended_records(&file);
    let dir = server.kill();
    let option = format!("--http-port={port}");
    let server = Server::start_in_with(dir, &[option.as_str(), "--log-bin"]);
    let after = ended_records(&server.dir.join("history"));
    assert!(before.iter().all(|record| after.contains(record)), "records of before are still there");
    // It is no part of what is logged.
    assert_eq!(server.connect().query("SELECT @@gtid_executed").rows()[0][0], gtids);
    let root = Browser::log_in(port, "root", PASSWORD);
    assert!(root.page("/?last=weeks").contains("<polygon"));
}

#[test]
fn what_is_no_history_does_not_stop_the_server() {
    let (server, port) = start("history-foreign", &[]);
    let dir = server.kill();
    std::fs::write(dir.join("history"), "this is a shopping list").expect("writes");
    let option = format!("--http-port={port}");
    let server = Server::start_in_with(dir, &[&option]);
    until("the file is put aside", || server.dir.join("history.damaged").exists());
    assert_eq!(std::fs::read_to_string(server.dir.join("history.damaged")).expect("reads"), "this is a shopping list");
    let log = std::fs::read_to_string(server.dir.with_extension("log")).expect("the log");
    assert!(log.contains("ERROR") && log.contains("the history of metrics is no history"), "{log}");
    // Nor does one that cannot be written.
    let dir = server.kill();
    std::fs::remove_file(dir.join("history")).expect("removes");
    std::fs::create_dir(dir.join("history")).expect("makes");
    let server = Server::start_in_with(dir, &[&option]);
    let root = Browser::log_in(port, "root", PASSWORD);
    until("charts of the last minutes", || root.page("/").contains("<polygon"));
    assert_eq!(server.connect().query("SELECT 1").rows(), [["1"]]);
}

#[test]
fn plans_of_a_digest_are_told_apart() {
    let (server, port) = start("statement-plans", &[]);
    let mut client = server.connect();
    run(
        &mut client,
        &[
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY by_a (a))",
            "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i, i, i FROM n",
            "SELECT b FROM t WHERE a = 1",
            "SELECT b FROM t WHERE a = 2",
            "SELECT b FROM t WHERE a = 3",
            "DROP INDEX by_a ON t",
            "SELECT b FROM t WHERE a = 4",
            "SELECT b FROM t WHERE a = 5",
        ],
    );
    let mut plans = |such: &str| {
        client
            .query(&format!(
                "SELECT p.count_star, p.plan_text, p.sum_timer_wait >= p.max_timer_wait, p.first_seen <= p.last_seen, p.digest \
                 FROM vaquita.statement_plans p JOIN performance_schema.events_statements_summary_by_digest d \
                 ON d.digest = p.digest AND d.schema_name = p.schema_name WHERE {such} ORDER BY p.first_seen"
            ))
            .rows()
    };
    let found = plans("d.digest_text LIKE 'SELECT `b` FROM%'");
    let counts: Vec<&str> = found.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(counts, ["3", "2"], "{found:?}");
    assert!(found[0][1].contains("by_a") && found[1][1].contains("Table scan on t"), "{found:?}");
    assert!(found.iter().all(|row| row[2..4] == ["1", "1"]), "{found:?}");
    // Rows of VALUES have none.
    assert!(plans("d.digest_text LIKE 'INSERT INTO%VALUES%'").is_empty());
    let root = Browser::log_in(port, "root", PASSWORD);
    let page = root.page(&format!("/statements/{}?schema=d", found[0][4]));
    assert!(page.matches("<pre class=\"plan\">").count() == 2 && page.contains("Table scan on t"), "{page}");
    run(&mut client, &["TRUNCATE performance_schema.events_statements_summary_by_digest"]);
    assert!(client.query("SELECT * FROM vaquita.statement_plans WHERE schema_name = 'd'").rows().len() < 2);
}

#[test]
fn plans_of_prepared_statements_and_of_many() {
    let (server, _) = start("many-plans", &[]);
    let mut client = server.connect();
    run(
        &mut client,
        &["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, a INT)", "INSERT INTO t VALUES (1, 1)"],
    );
    let Ok(Ok(statement)) = client.prepare("SELECT a FROM t WHERE id = ?") else { panic!("is prepared") };
    for n in 0..5 {
        client.execute(&statement, n).expect("runs");
    }
    let of = |client: &mut Client, text: &str| {
        client.query(&format!(
            "SELECT p.count_star, p.plan_text FROM vaquita.statement_plans p \
             JOIN performance_schema.events_statements_summary_by_digest d USING (digest) WHERE d.digest_text LIKE '{text}'"
        ))
    };
    let found = of(&mut client, "EXECUTE SELECT `a`%").rows();
    assert!(found.len() == 1 && found[0][0] == "5" && found[0][1].contains("Single-row index lookup"), "{found:?}");
    // Another table each time is another plan: the newest are kept.
    for n in 0..12 {
        run(&mut client, &["DROP TABLE IF EXISTS u", "CREATE TABLE u (id INT PRIMARY KEY)", &format!("SELECT id + {n} FROM u")]);
    }
    let found = of(&mut client, "SELECT `id` +%").rows();
    assert_eq!(found.len(), 8, "{found:?}");
    assert!(found.iter().all(|row| row[0] == "1" && row[1].contains("on u")), "{found:?}");
}

#[test]
fn deadlocks_are_remembered() {
    let (server, port) = start("deadlocks", &[]);
    let mut watcher = server.connect();
    run(
        &mut watcher,
        &["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT INTO d.t VALUES (1, 1), (2, 2)"],
    );
    assert_eq!(watcher.query("SELECT * FROM vaquita.deadlocks").rows().len(), 0);
    let long = format!("UPDATE d.t SET v = 8 WHERE id = 2 /* {} */", "x".repeat(10_000));
    for _ in 0..2 {
        let (mut a, mut b) = (server.connect(), server.connect());
        run(&mut a, &["BEGIN", "UPDATE d.t SET v = v + 1 WHERE id = 1"]);
        run(&mut b, &["BEGIN", "UPDATE d.t SET v = v + 1 WHERE id = 2"]);
        let statement = long.clone();
        let waits = std::thread::spawn(move || {
            let answer = a.query(&statement);
            (a, answer)
        });
        until("a waits", || {
            watcher.query("SELECT COUNT(*) FROM performance_schema.data_locks WHERE lock_status = 'WAITING'").rows() == [["1"]]
        });
        let answer = b.query("UPDATE d.t SET v = 9 WHERE id = 1");
        run(&mut b, &["ROLLBACK"]);
        let (mut a, other) = waits.join().expect("ends");
        run(&mut a, &["ROLLBACK"]);
        assert!([answer, other].iter().any(|answer| matches!(answer, Answer::Err { .. })));
    }
    let rows = watcher
        .query(
            "SELECT deadlock_id, is_victim, lock_mode, object_schema, object_name, index_name, lock_data, LEFT(sql_text, 29), \
             LENGTH(sql_text) < 5000 FROM vaquita.deadlocks ORDER BY deadlock_id, lock_data",
        )
        .rows();
    assert_eq!(rows.len(), 4, "{rows:?}");
    for (n, pair) in rows.chunks(2).enumerate() {
        assert_eq!(pair.iter().filter(|row| row[1] == "YES").count(), 1, "{pair:?}");
        let number = (n + 1).to_string();
        assert_eq!(pair[0][2..], ["X", "d", "t", "PRIMARY", "1", "UPDATE d.t SET v = 9 WHERE id", "1"], "{pair:?}");
        assert_eq!(pair[1][2..], ["X", "d", "t", "PRIMARY", "2", "UPDATE d.t SET v = 8 WHERE id", "1"], "{pair:?}");
        assert!(pair.iter().all(|row| row[0] == number));
    }
    let page = Browser::log_in(port, "root", PASSWORD).page("/locks");
    assert!(
        page.contains("Number 2, ") && page.contains("class=\"node victim\"") && page.contains("UPDATE d.t SET v = 9"),
        "{page}"
    );
    // Only for who may read the schema.
    run(&mut watcher, &["CREATE USER ana@'%' IDENTIFIED BY 'x'"]);
    let mut ana = Client::connect(server.port, "ana", "x").expect("connects");
    for table in ["deadlocks", "statement_plans"] {
        assert!(matches!(ana.query(&format!("SELECT * FROM vaquita.{table}")), Answer::Err { code: 1142, .. }), "{table}");
    }
}

#[test]
fn who_set_a_variable_is_known_after_a_restart() {
    let (server, port) = start("set-by", &[]);
    let mut client = server.connect();
    let of = |client: &mut Client, name: &str| {
        let sql = "SELECT variable_source, set_user, set_host, set_time > NOW() - INTERVAL 1 HOUR FROM performance_schema.variables_info";
        client.query(&format!("{sql} WHERE variable_name = '{name}'")).rows()[0].clone()
    };
    assert_eq!(of(&mut client, "sort_buffer_size"), ["COMPILED", "NULL", "NULL", "NULL"]);
    run(
        &mut client,
        &["SET PERSIST sort_buffer_size = 524288", "SET GLOBAL max_connections = 77", "SET PERSIST init_connect = '@a\tb\nc'"],
    );
    let expected = ["root", "localhost", "1"];
    for name in ["sort_buffer_size", "max_connections", "init_connect"] {
        assert_eq!(of(&mut client, name)[1..], expected, "{name}");
    }
    assert!(Browser::log_in(port, "root", PASSWORD).page("/settings?changed=1").contains("root@localhost, "));
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    assert_eq!(of(&mut client, "sort_buffer_size")[1..], expected);
    assert_eq!(client.query("SELECT @@sort_buffer_size, @@init_connect").rows(), [["524288", "@a\tb\nc"]]);
    assert_eq!(of(&mut client, "max_connections")[1..], ["NULL", "NULL", "NULL"]);
}
