//! Temporary tables: how they end, and that their owner needs no privileges on them.

use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::server::Server;
use vaquita_scripts::Record;

const RESET_CONNECTION: u8 = 0x1f;
const CHANGE_USER: u8 = 0x11;

fn code(answer: Answer) -> u16 {
    match answer {
        Answer::Err { code, .. } => code,
        other => panic!("an error expected: {other:?}"),
    }
}

fn ok(client: &mut Client, sql: &str) {
    let answer = client.query(sql);
    assert!(matches!(answer, Answer::Ok { .. }), "{sql}: {answer:?}");
}

/// A session with a temporary table that hides a permanent one.
fn with_tables(server: &Server) -> Client {
    let mut client = server.connect();
    client.query("CREATE DATABASE IF NOT EXISTS d");
    client.query("CREATE TABLE IF NOT EXISTS d.p (id INT PRIMARY KEY, v INT)");
    ok(&mut client, "CREATE TEMPORARY TABLE d.t (id INT PRIMARY KEY, v INT, KEY (v))");
    ok(&mut client, "INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)");
    client
}

#[test]
fn they_end_with_their_session() {
    let server = Server::start("temporary");
    let mut client = with_tables(&server);
    let mut other = server.connect();
    assert_eq!(code(other.query("SELECT * FROM d.t")), 1146);
    // Within a transaction, too.
    client.query("START TRANSACTION");
    ok(&mut client, "INSERT INTO d.t VALUES (4, 4)");
    client.command(&[RESET_CONNECTION]).expect("reset");
    client.answer().expect("ok");
    assert_eq!(code(client.query("SELECT * FROM d.t")), 1146);
    ok(&mut client, "CREATE TEMPORARY TABLE d.t (id INT PRIMARY KEY)");
    assert_eq!(client.query("SELECT COUNT(*) FROM d.t").rows(), [["0"]]);
    client.query("DROP TEMPORARY TABLE d.t");

    let mut client = with_tables(&server);
    let mut payload = vec![CHANGE_USER];
    // The proof is wrong: the session is over all the same, and with it the connection.
    payload.extend_from_slice(b"root\0\0\0\xff\0caching_sha2_password\0");
    client.command(&payload).expect("change user");
    let _ = client.receive();
    drop(client);

    let mut client = with_tables(&server);
    let id = client.query("SELECT CONNECTION_ID()").rows()[0][0].clone();
    other.query(&format!("KILL {id}"));
    let start = Instant::now();
    while client.try_query("SELECT COUNT(*) FROM d.t").is_ok() {
        assert!(start.elapsed() < Duration::from_secs(10), "not killed");
    }
    // A name is free again at once, whoever had it.
    ok(&mut other, "CREATE TEMPORARY TABLE d.t (a INT)");
    assert_eq!(other.query("SELECT COUNT(*) FROM d.t").rows(), [["0"]]);
    assert_eq!(other.query("SHOW TABLES FROM d").rows(), [["p"]]);
}

/// Rows of temporary tables that were stored, and those that were still in memory: no start finds them, although the ids of
/// the tables are given out again.
#[test]
fn a_crash_leaves_nothing_of_them() {
    let mut server = Server::start("temporary-crash");
    let mut rows = 0;
    for round in 0..3 {
        let mut client = with_tables(&server);
        client.query("START TRANSACTION");
        for n in 10..60 {
            ok(&mut client, &format!("INSERT INTO d.t VALUES ({n}, {n})"));
            rows += 1;
            ok(&mut client, &format!("INSERT INTO d.p VALUES ({rows}, {round})"));
        }
        ok(&mut client, "COMMIT");
        // CHECK reads what is stored, so all of it is.
        assert_eq!(client.query("CHECK TABLE d.t").rows()[0][3], "OK");
        ok(&mut client, "INSERT INTO d.t SELECT id + 100, v FROM d.p WHERE id < 50");
        let dir = server.kill();
        server = Server::start_in(dir);
        let mut client = server.connect();
        assert_eq!(client.query("SELECT COUNT(*), MAX(id) FROM d.p").rows(), [[rows.to_string(), rows.to_string()]]);
        assert_eq!(code(client.query("SELECT * FROM d.t")), 1146);
        for name in ["t", "u", "v"] {
            ok(&mut client, &format!("CREATE TEMPORARY TABLE d.{name} (id INT PRIMARY KEY, v INT, KEY (v))"));
            assert_eq!(client.query(&format!("SELECT COUNT(*) FROM d.{name}")).rows(), [["0"]]);
            assert_eq!(client.query(&format!("SELECT * FROM d.{name}")).rows(), Vec::<Vec<String>>::new());
            assert_eq!(
                client.query(&format!("SELECT * FROM d.{name} FORCE INDEX (v) WHERE v > 0")).rows(),
                Vec::<Vec<String>>::new()
            );
        }
        assert_eq!(client.query("CHECK TABLE d.p, d.t").rows().iter().filter(|row| row[3] == "OK").count(), 2);
    }
}

/// Tables of many sessions that come and go while others read theirs.
#[test]
fn sessions_do_not_meet_in_them() {
    let server = Server::start("temporary-many");
    with_tables(&server);
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let mut client = server.connect();
            std::thread::spawn(move || {
                for round in 0..40 {
                    ok(&mut client, "CREATE TEMPORARY TABLE d.w (id INT AUTO_INCREMENT PRIMARY KEY, w INT, KEY (w))");
                    ok(&mut client, &format!("INSERT INTO d.w (w) VALUES ({worker}), ({worker}), ({worker})"));
                    let sum = client.query("SELECT COUNT(*), SUM(w), MAX(id) FROM d.w").rows();
                    assert_eq!(sum, [["3".to_string(), (3 * worker).to_string(), "3".to_string()]]);
                    let drop = if round % 2 == 0 { "DROP TEMPORARY TABLE d.w" } else { "DROP TABLE d.w" };
                    ok(&mut client, drop);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().expect("worker");
    }
}

/// Lines of an answer as the recorded file has them.
fn lines(answer: Answer) -> Vec<String> {
    match answer {
        Answer::Ok { .. } => Vec::new(),
        Answer::Err { code, state, text } => vec![format!("{code} {state} {text}")],
        rows => rows.rows().into_iter().map(|row| row.join("\t").replace('\\', "\\\\").replace('\n', "\\n")).collect(),
    }
}

/// `tests/golden/accounts/temporary.txt`, recorded from MySQL with VAQUITA_RECORD as the SQL scripts are.
#[test]
fn their_owner_needs_no_privileges_on_them() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/accounts/temporary.txt");
    let text = std::fs::read_to_string(path).expect("the recorded file");
    let record = Record::from_env().mysql();
    let server = record.is_none().then(|| Server::start("temporary-accounts"));
    let (mut root, port) = match (&record, &server) {
        (Some(target), _) => (Client::connect(target.port, &target.user, &target.password).expect("connect"), target.port),
        (None, Some(server)) => (server.connect(), server.port),
        (None, None) => panic!("no server"),
    };
    let (mut tmp, mut out) = (None, Vec::new());
    for block in text.trim_end().split("\n\n") {
        let mut block_lines: Vec<String> = block.lines().take_while(|line| line.starts_with('#')).map(str::to_string).collect();
        if let Some((who, sql)) = block.lines().nth(block_lines.len()).and_then(|line| line.split_once("> ")) {
            let client = match who {
                "root" => &mut root,
                _ => tmp.get_or_insert_with(|| Client::connect(port, "va_tmp", "x").expect("va_tmp connects")),
            };
            block_lines.push(format!("{who}> {sql}"));
            block_lines.extend(lines(client.query(sql)));
        }
        out.push(block_lines.join("\n"));
    }
    if record.is_some() {
        std::fs::write(path, out.join("\n\n") + "\n").expect("write");
        return;
    }
    let wrong: Vec<String> = text
        .trim_end()
        .split("\n\n")
        .zip(&out)
        .filter(|(expected, got)| expected != got)
        .map(|(expected, got)| format!("{expected}\n--- got\n{got}"))
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n\n"));
}
