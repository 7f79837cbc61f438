//! What survives: SIGTERM, `kill -9`, and a second server on the same directory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::client::Answer;
use crate::server::Server;

#[test]
fn sigterm_ends_within_five_seconds_and_keeps_everything() {
    let server = Server::start("sigterm");
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(20))");
    client.query("INSERT INTO d.t VALUES (1, 'one'), (2, 'two')");
    let (took, well, dir) = server.terminate();
    assert!(took < Duration::from_secs(5), "took {took:?}");
    assert!(well);
    let server = Server::start_in(dir);
    let rows = server.connect().query("SELECT id, v FROM d.t ORDER BY id").rows();
    assert_eq!(rows, [["1", "one"], ["2", "two"]]);
}

#[test]
fn views_survive_and_are_planned_again() {
    let server = Server::start("views");
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("USE d");
    client.query("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))");
    client.query("INSERT INTO t VALUES (1, 'one'), (2, 'two')");
    client.query("CREATE VIEW w (a, b) AS SELECT id + 1, v FROM t WHERE id > 1");
    client.query("CREATE VIEW gone AS SELECT * FROM w");
    client.query("CREATE VIEW x AS SELECT b FROM w");
    let shown = client.query("SHOW CREATE VIEW w").rows();
    client.query("DROP VIEW gone");
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    client.query("USE d");
    assert_eq!(client.query("SHOW CREATE VIEW w").rows(), shown);
    assert_eq!(client.query("SELECT * FROM w").rows(), [["3", "two"]]);
    client.query("PREPARE p FROM 'SELECT * FROM x'");
    assert_eq!(client.query("EXECUTE p").rows(), [["two"]]);
    assert_eq!(client.query("SHOW TABLES").rows(), [["t"], ["w"], ["x"]]);
    client.query("CREATE OR REPLACE VIEW w (a, b) AS SELECT id, CONCAT(v, '!') FROM t WHERE id = 1");
    assert_eq!(client.query("EXECUTE p").rows(), [["one!"]]);
    assert!(matches!(client.query("CREATE TABLE w (id INT)"), Answer::Err { code: 1050, .. }));
    client.query("DROP DATABASE d");
    client.query("CREATE DATABASE d");
    assert_eq!(client.query("SHOW TABLES FROM d").rows().len(), 0);
}

#[test]
fn a_second_server_on_the_directory_is_refused() {
    let server = Server::start("second");
    let second = Command::new(env!("CARGO_BIN_EXE_vaquita"))
        .args(["serve", "--port", "0", "--data-dir"])
        .arg(&server.dir)
        .args(["--socket"])
        .arg(server.dir.with_extension("second.sock"))
        .output()
        .expect("run");
    assert!(!second.status.success());
    let text = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(text.contains(&*server.dir.to_string_lossy()), "{text}");
}

fn log_files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir.join("rocksdb")).expect("the data");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "log")).collect()
}

/// A bit that flips in the middle of the log is not taken for its end.
#[test]
fn a_damaged_log_is_refused_until_its_loss_is_accepted() {
    // Without the log's renewal in the background, after which what an earlier log held is in files.
    let server = Server::start_with("damaged", &["--storage-test-option", "warm-log=off"]);
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("CREATE TABLE d.t (id INT PRIMARY KEY)");
    for id in 1..=100 {
        client.query(&format!("INSERT INTO d.t VALUES ({id})"));
    }
    let marker = b"a name to find in the log";
    client.query(&format!("CREATE TABLE d.m (id INT COMMENT '{}')", String::from_utf8_lossy(marker)));
    for id in 101..=200 {
        client.query(&format!("INSERT INTO d.t VALUES ({id})"));
    }
    let dir = server.kill();
    let (log, mut bytes, at) = log_files(&dir)
        .into_iter()
        .find_map(|path| {
            let bytes = std::fs::read(&path).expect("a log");
            let at = bytes.windows(marker.len()).position(|w| w == marker)?;
            Some((path, bytes, at))
        })
        .expect("the log with the marker");
    bytes[at] ^= 1;
    std::fs::write(&log, bytes).expect("write");
    let refused =
        Command::new(env!("CARGO_BIN_EXE_vaquita")).args(["serve", "--port", "0", "--data-dir"]).arg(&dir).output().expect("run");
    assert!(!refused.status.success());
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    let name = log.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(text.contains(&name) && text.contains("--accept-damaged-log"), "{text}");
    let server = Server::start_in_with(dir, &["--accept-damaged-log"]);
    let rows = server.connect().query("SELECT COUNT(*), MAX(id) FROM d.t").rows();
    assert_eq!(rows, [["100", "100"]]);
    // Once is enough.
    let (_, _, dir) = server.terminate();
    drop(Server::start_in(dir));
}

/// Rows of a round that are acknowledged before the server is killed.
const ROWS_OF_A_ROUND: i64 = 50;

/// Acknowledged inserts survive `kill -9`.
#[test]
fn kill_9_loses_no_acknowledged_commit() {
    let mut server = Server::start("kill9");
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("CREATE TABLE d.t (id INT PRIMARY KEY, k INT, KEY (k))");
    let mut found = 0;
    for _ in 0..cycles() {
        let acknowledged = Arc::new(AtomicI64::new(found));
        let writer = {
            let mut client = server.connect();
            let acknowledged = acknowledged.clone();
            std::thread::spawn(move || {
                for last in found.. {
                    match client.try_query(&format!("INSERT INTO d.t VALUES ({}, {})", last + 1, last % 7)) {
                        Ok(Answer::Ok { .. }) => acknowledged.store(last + 1, Ordering::Relaxed),
                        Ok(other) => panic!("{other:?}"),
                        Err(_) => break,
                    }
                }
            })
        };
        while acknowledged.load(Ordering::Relaxed) < found + ROWS_OF_A_ROUND && !writer.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let dir = server.kill();
        writer.join().expect("writer");
        let acknowledged = acknowledged.load(Ordering::Relaxed);
        server = Server::start_in(dir);
        let rows = server.connect().query("SELECT COUNT(*), MAX(id) FROM d.t").rows();
        let (count, max): (i64, i64) = (rows[0][0].parse().expect("count"), rows[0][1].parse().expect("max"));
        assert_eq!(count, max, "a hole");
        assert!(count == acknowledged || count == acknowledged + 1, "acknowledged {acknowledged}, found {count}");
        found = count;
    }
}

/// Few in the ordinary run; `VAQUITA_KILL_CYCLES=1000` for the long one.
fn cycles() -> usize {
    std::env::var("VAQUITA_KILL_CYCLES").ok().and_then(|n| n.parse().ok()).unwrap_or(5)
}
