//! `cargo harness out-of-files`: more clients than file descriptors.
//!
//! The server may open few files (`ulimit -n`). Clients connect and stay until it refuses them, which it must with error
//! 1040 and not by silence; meanwhile and afterwards it writes, flushes and compacts, which needs files. When clients have
//! left, others are let in again. Then it is killed and verified as in the kill test.

use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::client::Client;
use crate::flags::Flags;
use crate::kill_test::{Load, execute, rows};
use crate::paths;
use crate::random::Random;
use crate::under_test::SMALL_MEMTABLES;
use crate::vaquita::{Vaquita, free_port};

const WRITERS: u64 = 4;
const LIMIT_MIN: u64 = 96;
const LIMIT_MAX: u64 = 400;
/// Fewer than that would be a server that refuses too early.
const CLIENTS_MIN: usize = 32;
const CLIENTS_MAX: usize = 2 * LIMIT_MAX as usize;
const ANSWER_MAX: Duration = Duration::from_secs(5);
const ER_CON_COUNT_ERROR: u16 = 1040;

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let cycles = flags.number("--cycles", 3)?;
    let seed = flags.number("--seed", now)?;
    flags.finish()?;
    let dir = paths::target_dir().join(format!("out-of-files/{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    println!("out-of-files: seed {seed}, {cycles} cycles");
    let mut random = Random::new(seed);
    let mut load = Load::new(WRITERS, seed);
    for cycle in 1..=cycles {
        let limit = LIMIT_MIN + random.below(LIMIT_MAX - LIMIT_MIN);
        let clients = run(&dir, &mut load, limit, cycle == 1).map_err(|text| {
            let data = dir.display();
            format!("FAILED: cycle {cycle}, {limit} files: {text}\ndata: {data}\nagain: cargo harness out-of-files --cycles {cycles} --seed {seed}")
        })?;
        println!("cycle {cycle}: {limit} files, {clients} clients were let in, {} commits", load.commits());
    }
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))
}

/// Returns how many clients were let in at once.
fn run(dir: &std::path::Path, load: &mut Load, limit: u64, first: bool) -> Result<usize, String> {
    let limited = limited_server(dir, limit)?;
    let (data, log) = (dir.join("data"), dir.join("server.log"));
    let start = || Vaquita::spawn_with(&limited, &data, free_port()?, &log, &SMALL_MEMTABLES)?.wait();
    let server = start()?;
    let mut client = server.connect()?;
    if first {
        load.create_tables(&mut client)?;
    }
    let mut crowded = Err("nobody connected".to_string());
    load.run(server.port, || {
        thread::sleep(Duration::from_millis(100));
        crowded = crowd(&server, &mut client);
        || server.kill()
    })?;
    let clients = crowded?;
    let server = start()?;
    load.verify(&mut server.connect()?)?;
    server.kill()?;
    Ok(clients)
}

fn crowd(server: &Vaquita, client: &mut Client) -> Result<usize, String> {
    let mut clients = Vec::new();
    while let Some(stream) = connect(server.port)? {
        clients.push(stream);
        if clients.len() > CLIENTS_MAX {
            return Err(format!("{} clients were let in", clients.len()));
        }
    }
    // Files must be opened for these.
    rows(client, "OPTIMIZE TABLE kill_test.t")?;
    execute(client, "CREATE TABLE kill_test.crowded (a INT PRIMARY KEY)")?;
    execute(client, "DROP TABLE kill_test.crowded")?;
    let count = clients.len();
    drop(clients);
    let left = Instant::now();
    while server.connect().is_err() {
        if left.elapsed() > ANSWER_MAX {
            return Err(format!("{count} clients left, and nobody is let in"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    if count < CLIENTS_MIN {
        return Err(format!("only {count} clients were let in"));
    }
    Ok(count)
}

/// Connects without logging in; `None` if it is refused with error 1040.
fn connect(port: u16) -> Result<Option<TcpStream>, String> {
    let failed = |e: std::io::Error| format!("a client gets neither in nor error {ER_CON_COUNT_ERROR}: {e}");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
    stream.set_read_timeout(Some(ANSWER_MAX)).map_err(failed)?;
    let mut head = [0; 7];
    stream.read_exact(&mut head).map_err(failed)?;
    match (head[4], u16::from_le_bytes([head[5], head[6]])) {
        (0xff, ER_CON_COUNT_ERROR) => Ok(None),
        (0xff, code) => Err(format!("a client is refused with error {code}")),
        _ => Ok(Some(stream)),
    }
}

/// A script that starts the server with few file descriptors.
fn limited_server(dir: &std::path::Path, limit: u64) -> Result<PathBuf, String> {
    let script = dir.join("limited");
    let text = format!("#!/bin/sh\nulimit -n {limit}\nexec {} \"$@\"\n", paths::vaquita()?.display());
    let made = std::fs::write(&script, text);
    made.and_then(|()| std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)))
        .map_err(|e| format!("{}: {e}", script.display()))?;
    Ok(script)
}
