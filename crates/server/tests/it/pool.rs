//! Statements that run long beside short ones, and clients that vanish: in the middle of a packet, of a login, of a wait.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::layers::{self, Layers};
use crate::server::Server;

/// Runs until somebody ends it, and never waits.
const LONG: &str = "SELECT COUNT(*) FROM information_schema.columns a, information_schema.columns b, information_schema.columns c \
                    WHERE MD5(CONCAT(a.column_name, b.column_name, c.column_name)) = 'x'";
/// Until what should happen has happened; only a failure lasts as long.
const PATIENCE: Duration = Duration::from_secs(60);

fn ok(client: &mut Client, sql: &str) {
    let answer = client.query(sql);
    assert!(!matches!(answer, Answer::Err { .. }), "{sql}: {answer:?}");
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Ids of the connections, without the asking one and the event scheduler, which is none.
fn others(client: &mut Client) -> Vec<String> {
    let others = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND command <> 'Daemon'";
    let rows = client.query(others).rows();
    rows.into_iter().flatten().collect()
}

fn run_long(server: &Server) -> JoinHandle<Option<Answer>> {
    let mut client = server.connect();
    std::thread::spawn(move || client.try_query(LONG).ok())
}

const RUNNING: &str = "SELECT id FROM information_schema.processlist WHERE command = 'Query' AND id <> CONNECTION_ID()";

/// On one thread; a statement that waited behind the long ones would wait until the client gives up.
#[test]
fn short_statements_logins_and_kill_do_not_wait_for_long_statements() {
    let server = Server::start_with("long", &["--threads", "1"]);
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    ok(&mut client, "INSERT INTO d.t VALUES (1, 10), (2, 20)");
    let long: Vec<_> = (0..8).map(|_| run_long(&server)).collect();
    until("all run", || client.query(RUNNING).rows().len() == long.len());
    for _ in 0..20 {
        let mut new = server.connect();
        assert_eq!(new.query("SELECT v FROM d.t WHERE id = 2").rows(), [["20"]]);
        ok(&mut new, "UPDATE d.t SET v = v + 1 WHERE id = 1");
    }
    for id in client.query(RUNNING).rows() {
        ok(&mut client, &format!("KILL QUERY {}", id[0]));
    }
    for thread in long {
        let answer = thread.join().expect("client");
        assert!(matches!(answer, Some(Answer::Err { code: 1317, .. })), "{answer:?}");
    }
    assert_eq!(client.query("SELECT v FROM d.t").rows(), [["30"], ["20"]]);
}

/// Their sessions go on with statements of both kinds.
#[test]
fn sessions_of_long_statements_go_on() {
    let server = Server::start_with("lane", &["--threads", "1"]);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut client = server.connect();
            std::thread::spawn(move || {
                for _ in 0..5 {
                    let rows = client.query(
                        "SELECT COUNT(*) FROM (WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r \
                        WHERE n < 1000) SELECT MD5(CONCAT(a.n, b.n)) m FROM r a, r b WHERE a.n < 100) d WHERE m = 'x'",
                    );
                    assert_eq!(rows.rows(), [["0"]]);
                    assert_eq!(client.query("SELECT 1").rows(), [["1"]]);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("client"));
}

/// As soon as nobody will read what they answer. A client that ends itself holds nothing.
#[test]
fn long_statements_of_clients_that_are_gone_end() {
    let server = Server::start_with("gone-long", &["--threads", "1"]);
    let mut client = server.connect();
    for _ in 0..4 {
        let mut gone = server.connect();
        gone.command(&[b"\x03", LONG.as_bytes()].concat()).expect("send");
    }
    until("all have ended", || others(&mut client).is_empty());
}

/// They run to their end, as in MySQL, but wait for nothing any more: the sleeps go on for that long only if nobody ends them, and a
/// statement that is ended changes nothing.
#[test]
fn changes_of_clients_that_are_gone_are_completed() {
    let server = Server::start("gone-changing");
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    ok(&mut client, "INSERT INTO d.t VALUES (1, 10), (2, 20), (3, 30)");
    let changes = [
        "INSERT INTO d.t SELECT 5 + SLEEP(100000), 50",
        "UPDATE d.t SET v = 11 + SLEEP(100000) WHERE id = 1",
        "DELETE FROM d.t WHERE id = 2 AND SLEEP(100000) = 1",
        "CREATE TABLE d.made AS SELECT 7 + SLEEP(100000) x",
        "DO 1; UPDATE d.t SET v = 31 + SLEEP(100000) WHERE id = 3",
    ];
    for sql in changes {
        let mut gone = server.connect();
        gone.command(&[b"\x03", sql.as_bytes()].concat()).expect("send");
    }
    until("all have ended", || others(&mut client).is_empty());
    assert_eq!(client.query("SELECT * FROM d.t").rows(), [["1", "12"], ["3", "32"], ["6", "50"]]);
    assert_eq!(client.query("SELECT * FROM d.made").rows(), [["8"]]);
}

#[test]
fn sessions_that_wait_end_with_their_clients() {
    let server = Server::start("gone-waiting");
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    ok(&mut client, "INSERT INTO d.t VALUES (1, 10), (2, 20)");
    ok(&mut client, "DO GET_LOCK('held', 0)");
    ok(&mut client, "BEGIN");
    ok(&mut client, "UPDATE d.t SET v = 11 WHERE id = 1");
    let waits = [
        "DO SLEEP(100000)",
        "DO GET_LOCK('held', 100000)",
        "SELECT v FROM d.t WHERE id = 1 FOR UPDATE",
        "UPDATE d.t SET v = 12 WHERE id = 1",
        "ALTER TABLE d.t ADD COLUMN w INT",
        "FLUSH TABLES WITH READ LOCK",
    ];
    for sql in waits {
        let mut gone = server.connect();
        ok(&mut gone, "SET innodb_lock_wait_timeout = 100000, lock_wait_timeout = 100000");
        ok(&mut gone, "DO GET_LOCK('theirs', 0)");
        gone.command(&[b"\x03", sql.as_bytes()].concat()).expect("send");
    }
    until("all have ended", || others(&mut client).is_empty());
    assert_eq!(client.query("SELECT GET_LOCK('theirs', 0)").rows(), [["1"]]);
    ok(&mut client, "COMMIT");
    assert_eq!(client.query("SELECT * FROM d.t").rows(), [["1", "11"], ["2", "20"]]);
}

/// The last bytes and the end come together: there is no other event for the end.
#[test]
fn the_end_behind_last_bytes_is_seen() {
    let server = Server::start("gone-idle");
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    ok(&mut client, "INSERT INTO d.t VALUES (1, 10)");
    ok(&mut client, "CREATE USER trusting");
    ok(&mut client, "GRANT ALL ON *.* TO trusting");
    let before = others(&mut client).len();
    assert_eq!(before, 0);
    let last_words: [&[u8]; 6] = [
        &[],
        &[100],
        &[100, 0, 0, 0, 3, b'S'],
        &[5, 0, 0, 0, 0x19, 1, 0, 0, 0],
        &[1, 0, 0, 0, 1],
        &[9, 0, 0, 0, 3, b'S', b'E', b'L', b'E', b'C', b'T', b' ', b'1'],
    ];
    for round in 0..20 {
        for (n, last) in last_words.iter().enumerate() {
            let mut gone = server.connect();
            if round == 0 && n == 2 {
                ok(&mut gone, "BEGIN");
                ok(&mut gone, "UPDATE d.t SET v = 11 WHERE id = 1");
            }
            gone.send_raw(last).expect("send");
        }
        // In the middle of a login, and of a TLS handshake.
        for last in [&[1][..], &[200, 0, 0, 1, 5, 6, 7], &[32, 0, 0, 1]] {
            let mut gone = TcpStream::connect(("127.0.0.1", server.port)).expect("connect");
            let _ = gone.read(&mut [0; 500]).expect("greeting");
            gone.write_all(last).expect("send");
        }
        for layers in Layers::ALL {
            for last in [&[][..], &[100], &[100, 0, 0], &[5, 0, 0, 0, 0x19, 1, 0, 0, 0]] {
                let mut gone = layers::Client::connect(server.port, "trusting", layers);
                // As bytes of a record or a frame, and as bytes of its beginning.
                gone.send_payload_bytes(last);
                gone.send_raw(last);
            }
        }
    }
    until("all have ended", || others(&mut client).is_empty());
    ok(&mut client, "SET innodb_lock_wait_timeout = 1");
    ok(&mut client, "UPDATE d.t SET v = 12 WHERE id = 1");
}
