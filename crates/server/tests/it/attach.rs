//! `vaquita attach`, `promote` and `demote` between two Vaquitas: a copy while clients write, one that is killed, a difference that is planted.

use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};

fn address(server: &Server) -> String {
    let escaped = PASSWORD.replace('\'', "%27").replace(' ', "%20");
    format!("mysql://root:{escaped}@127.0.0.1:{}", server.port)
}

fn vaquita(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vaquita"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> (bool, String) {
    let Output { status, stdout, stderr } = vaquita(arguments).output().expect("vaquita runs");
    (status.success(), [String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)].concat())
}

fn start(arguments: &[&str]) -> Child {
    vaquita(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("vaquita runs")
}

fn ok(client: &mut Client, statement: &str) {
    let answer = client.query(statement);
    assert!(matches!(answer, Answer::Ok { .. }), "{statement}: {answer:?}");
}

fn servers(name: &str) -> (Server, Server) {
    let source = Server::start_with(&format!("attach-{name}-source"), &["--server-id", "11"]);
    let target = Server::start_with(&format!("attach-{name}-target"), &["--server-id", "12"]);
    let mut client = source.connect();
    for statement in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.item (a INT, b VARCHAR(20), u INT, v INT, PRIMARY KEY (a, b), UNIQUE KEY (u))",
        "CREATE TABLE shop.keyless (x INT, y VARCHAR(10))",
        "CREATE TABLE shop.parent (id INT PRIMARY KEY)",
        "CREATE TABLE shop.child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES shop.parent (id) ON DELETE CASCADE)",
        "CREATE VIEW shop.cheap AS SELECT a FROM shop.item WHERE v < 10",
    ] {
        ok(&mut client, statement);
    }
    for from in (0..20_000).step_by(1000) {
        let rows: Vec<String> = (from..from + 1000).map(|n| format!("({n}, 'b{n}', {n}, 0)")).collect();
        ok(&mut client, &format!("INSERT INTO shop.item VALUES {}", rows.join(",")));
    }
    ok(&mut client, "INSERT INTO shop.keyless VALUES (1, 'a'), (1, 'a'), (NULL, NULL)");
    (source, target)
}

/// Changes of keys, of unique values that rows hand on, of tables without a key; until told to stop.
fn write_until(server: &Server, stop: Arc<AtomicBool>) -> std::thread::JoinHandle<u64> {
    let mut client = server.connect();
    std::thread::spawn(move || {
        let (mut seed, mut n) = (1u64, 0u64);
        while !stop.load(Ordering::SeqCst) {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let r = (seed >> 33) % 20_000;
            for statement in [
                format!("UPDATE shop.item SET a = 20000 - a WHERE a = {r}"),
                format!("UPDATE shop.item SET b = 'c{n}', v = v + 1 WHERE a = {}", r / 2),
                format!("DELETE FROM shop.item WHERE a = {}", r / 3),
                format!("INSERT IGNORE INTO shop.item VALUES ({r}, 'd{n}', {}, 1)", (seed >> 20) % 30_000),
                format!("INSERT INTO shop.keyless VALUES ({r}, 'k')"),
                format!("DELETE FROM shop.keyless WHERE x < {} LIMIT 1", r / 2),
                format!("INSERT IGNORE INTO shop.parent VALUES ({r})"),
                format!("INSERT IGNORE INTO shop.child VALUES ({r}, {r})"),
                format!("DELETE FROM shop.parent WHERE id = {}", r / 2),
            ] {
                client.query(&statement);
            }
            // A replica goes through a table without a key for each change of it.
            std::thread::sleep(Duration::from_millis(10));
            n += 1;
        }
        n
    })
}

fn rows(client: &mut Client, table: &str) -> Vec<Vec<String>> {
    let mut rows = client.query(&format!("SELECT * FROM shop.{table}")).rows();
    rows.sort();
    rows
}

fn compare(source: &Server, target: &Server) {
    let (mut ours, mut theirs) = (source.connect(), target.connect());
    let executed = ours.query("SELECT @@GLOBAL.gtid_executed").rows()[0][0].clone();
    let waited = theirs.query(&format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 240)")).rows();
    assert_eq!(waited, [["0"]]);
    for table in ["item", "keyless", "parent", "child"] {
        assert_eq!(rows(&mut ours, table), rows(&mut theirs, table), "{table}");
    }
}

#[test]
fn a_source_is_copied_while_it_is_written_to() {
    let (source, target) = servers("writes");
    let (from, to) = (address(&source), address(&target));
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..2).map(|_| write_until(&source, stop.clone())).collect();
    let (good, said) = run(&["attach", &from, "--to", &to, "--no-verify"]);
    let (equal, compared) = run(&["attach", &from, "--to", &to, "--verify-only"]);
    stop.store(true, Ordering::SeqCst);
    let written: u64 = writers.into_iter().map(|writer| writer.join().expect("writes")).sum();
    assert!(good, "{said}");
    assert!(equal, "{compared}");
    assert!(written > 0);
    compare(&source, &target);
    // What differs is found, with its key.
    let mut client = target.connect();
    ok(&mut client, "SET sql_log_bin = 0");
    ok(&mut client, "INSERT INTO shop.item VALUES (-5, 'planted', NULL, 0)");
    let (equal, compared) = run(&["attach", &from, "--to", &to, "--verify-only"]);
    assert!(!equal && compared.contains("DIFFERENT: 1 rows, the first at a=-5, b='planted'"), "{compared}");
    ok(&mut client, "DELETE FROM shop.item WHERE a = -5");
    // The switch-over, and the way back.
    let (good, said) = run(&["promote", "--to", &to, "--source", &from, "--source-read-only"]);
    assert!(good, "{said}");
    assert_eq!(source.connect().query("SELECT @@super_read_only").rows(), [["1"]]);
    ok(&mut client, "SET sql_log_bin = 1");
    ok(&mut client, "INSERT INTO shop.parent VALUES (1000000)");
    let (good, said) = run(&["demote", &to, "--to", &from]);
    assert!(good, "{said}");
    compare(&target, &source);
}

#[test]
fn a_copy_that_was_killed_behind_its_first_statement_begins_again() {
    let (source, target) = servers("first");
    ok(&mut target.connect(), "CREATE DATABASE vaquita_attach");
    let (good, said) = run(&["attach", &address(&source), "--to", &address(&target)]);
    assert!(good, "{said}");
    compare(&source, &target);
}

#[test]
fn a_copy_that_is_killed_is_resumed() {
    let (source, target) = servers("killed");
    let (from, to) = (address(&source), address(&target));
    // A kill may come before anything is noted, and the copy may be faster than the kill.
    let is_begun =
        || matches!(target.connect().query("SELECT 1 FROM vaquita_attach.run"), Answer::Rows { rows, .. } if rows.len() == 1);
    let stop = Arc::new(AtomicBool::new(false));
    let writer = write_until(&source, stop.clone());
    for (n, ms) in [20, 60, 150].into_iter().enumerate() {
        let mut arguments = vec!["attach", &from, "--to", &to, "--no-verify"];
        if n > 0 && is_begun() {
            arguments.push("--resume");
        }
        let mut child = start(&arguments);
        std::thread::sleep(Duration::from_millis(ms));
        let _ = child.kill();
        let _ = child.wait();
    }
    let is_begun = is_begun();
    if is_begun {
        let (good, said) = run(&["attach", &from, "--to", &to, "--resume"]);
        assert!(good, "{said}");
    }
    stop.store(true, Ordering::SeqCst);
    writer.join().expect("writes");
    if !is_begun {
        // It was faster than the kill, or had not begun.
        let (good, said) = run(&["attach", &from, "--to", &to]);
        assert!(good || said.contains("STOP"), "{said}");
    }
    compare(&source, &target);
}
