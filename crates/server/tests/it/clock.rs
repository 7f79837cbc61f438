//! Jumps of the wall clock: by an hour and by ten years, forward and back, while sessions sleep, wait for locks, idle and commit.
//!
//! The server runs with `clock.c` preloaded, compiled here by `cc`: its wall clock is shifted by what a file says, at any
//! time. Waits must take as long as they are asked to, commits must go on in order, and NOW() must jump, which
//! shows that the server's clock is the shifted one. The real clock is not touched.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::server::Server;

const HOUR_S: i64 = 3600;
const TEN_YEARS_S: i64 = 10 * 365 * 24 * HOUR_S;
const ER_LOCK_WAIT_TIMEOUT: u16 = 1205;
const ER_QUERY_TIMEOUT: u16 = 3024;
/// A wait that followed the clock would last longer than this, or be over at once.
const TOO_LONG: Duration = Duration::from_secs(HOUR_S as u64 / 2);
/// When the clock jumps, after the waits began.
const JUMP_AFTER: Duration = Duration::from_millis(300);

fn compiled_shim(dir: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clock.c");
    let library = dir.join("clock.so");
    let done = Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl").status();
    assert!(done.expect("cc runs").success(), "cc compiles the shim");
    library
}

/// Runs `run`, which takes at least `least`, however long the machine needs.
fn timed<T>(what: &str, least: Duration, run: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let result = run();
    let took = begun.elapsed();
    assert!(took + Duration::from_millis(20) >= least && took < TOO_LONG, "{what} took {took:?}, not {least:?}");
    result
}

fn ok(client: &mut Client, sql: &str) {
    let answer = client.query(sql);
    assert!(matches!(answer, Answer::Ok { .. }), "{sql}: {answer:?}");
}

fn number(client: &mut Client, sql: &str) -> i64 {
    client.query(sql).rows()[0][0].parse().unwrap_or_else(|_| panic!("{sql} gives a number"))
}

fn code_of(answer: Answer) -> u16 {
    match answer {
        Answer::Err { code, .. } => code,
        _ => 0,
    }
}

/// Sessions that wait in every way there is; the clock jumps meanwhile.
fn wait_in_every_way(server: &Server, jump: impl FnOnce()) {
    let mut holder = server.connect();
    ok(&mut holder, "BEGIN");
    ok(&mut holder, "UPDATE clock.held SET n = n + 1 WHERE id = 1");
    holder.query("SELECT GET_LOCK('clock', 1)");
    let second = Duration::from_secs(1);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.connect();
            timed("SLEEP", second, || client.query("SELECT SLEEP(1)"));
        });
        scope.spawn(|| {
            let mut client = server.connect();
            ok(&mut client, "SET innodb_lock_wait_timeout = 1");
            let ended = timed("a lock wait", second, || client.query("UPDATE clock.held SET n = 0 WHERE id = 1"));
            assert_eq!(code_of(ended), ER_LOCK_WAIT_TIMEOUT);
        });
        scope.spawn(|| {
            let mut client = server.connect();
            let got = timed("GET_LOCK", second, || number(&mut client, "SELECT GET_LOCK('clock', 1)"));
            assert_eq!(got, 0);
        });
        scope.spawn(|| {
            let mut client = server.connect();
            ok(&mut client, "SET max_execution_time = 1000");
            let sql = "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 1000) \
                       SELECT COUNT(*) FROM r a, r b, r c WHERE a.n + b.n * c.n < 0";
            let ended = timed("max_execution_time", second, || client.query(sql));
            assert_eq!(code_of(ended), ER_QUERY_TIMEOUT);
        });
        scope.spawn(|| {
            let mut client = server.connect();
            ok(&mut client, "SET wait_timeout = 1");
            client.set_timeout(TOO_LONG).expect("a time-out");
            timed("wait_timeout", second, || client.wait_for_end());
        });
        for writer in 0..4 {
            scope.spawn(move || {
                let mut client = server.connect();
                let begun = Instant::now();
                let mut last = 0;
                while begun.elapsed() < second {
                    timed("a commit", Duration::ZERO, || {
                        ok(&mut client, &format!("INSERT INTO clock.log (writer) VALUES ({writer})"))
                    });
                    let id = number(&mut client, "SELECT LAST_INSERT_ID()");
                    assert!(id > last, "ids ascend");
                    last = id;
                    let seen = number(&mut client, "SELECT MAX(id) FROM clock.log");
                    assert!(seen >= id, "what was committed is read");
                }
            });
        }
        thread::sleep(JUMP_AFTER);
        jump();
    });
    ok(&mut holder, "ROLLBACK");
}

#[test]
fn waits_and_commits_do_not_follow_the_wall_clock() {
    let dir = std::env::temp_dir().join(format!("vaquita-it-{}-clock-shim", std::process::id()));
    fs::create_dir_all(&dir).expect("a directory for the shim");
    let (shim, shift) = (compiled_shim(&dir), dir.join("shift"));
    let file = File::create(&shift).expect("a file for the shift");
    // The server has it mapped: it must never be shorter.
    let set = |seconds: i64| file.write_all_at(&seconds.to_ne_bytes(), 0).expect("the shift is written");
    set(0);
    let server = Server::start_with_env("clock", &[("LD_PRELOAD", &shim), ("CLOCK_SHIFT", &shift)]);
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE clock");
    ok(&mut client, "CREATE TABLE clock.held (id INT PRIMARY KEY, n INT)");
    ok(&mut client, "INSERT INTO clock.held VALUES (1, 0)");
    ok(&mut client, "CREATE TABLE clock.log (id INT PRIMARY KEY AUTO_INCREMENT, writer INT)");
    // Forward and back, over the time of the start and to before it.
    let mut shifted = 0;
    for seconds in [HOUR_S, -HOUR_S, TEN_YEARS_S, -TEN_YEARS_S] {
        let before = number(&mut client, "SELECT UNIX_TIMESTAMP()");
        wait_in_every_way(&server, || set(seconds));
        let after = number(&mut client, "SELECT UNIX_TIMESTAMP()");
        let went_on = after - before - (seconds - shifted);
        assert!((0..HOUR_S / 2).contains(&went_on), "NOW() jumps by {} s: from {before} to {after}", seconds - shifted);
        assert_eq!(number(&mut server.connect(), "SELECT COUNT(*) FROM clock.held"), 1);
        shifted = seconds;
    }
    let rows = number(&mut client, "SELECT COUNT(*) FROM clock.log");
    drop(client);
    set(-HOUR_S);
    let dir_of_data = server.kill();
    // A start in the past of what it finds.
    let server = Server::start_in_with_env(dir_of_data, &[("LD_PRELOAD", &shim), ("CLOCK_SHIFT", &shift)]);
    assert_eq!(number(&mut server.connect(), "SELECT COUNT(*) FROM clock.log"), rows);
    drop(server);
    fs::remove_dir_all(&dir).expect("the shim is removed");
}
