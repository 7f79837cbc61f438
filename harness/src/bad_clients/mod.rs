//! `cargo harness bad-clients`: a million sessions of clients that do what they should not.
//!
//! Each session is good traffic (`traffic`) with what its number's plan does to it (`mutation`), over a plain, TLS or compressed connection
//! (`channel`, `session`). Some hundred are in flight at a time (`herd`), and one in forty is good and must get its answers. Beside them a good client asks and
//! logs in all the time, and is answered within a minute each time (`watch`). At checkpoints all sessions end; then
//!
//! 1. SHOW PROCESSLIST has none of them, within a minute;
//! 2. the process has the threads, sockets and other descriptors that it had after the first checkpoint;
//! 3. no thread has panicked, and no client has heard an internal error;
//! 4. at the end: resident memory has not grown since the first third, which warms up.
//!
//! `--from N --sessions 1` repeats session N alone. `--plant session` keeps a connection open, `--plant memory` has the server keep memory at each
//! checkpoint: both must fail.

mod channel;
mod herd;
mod mutation;
mod session;
mod traffic;
mod watch;

use std::fs;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use vaquita_wire::compress::Algorithm;

use crate::client::{Answer, Client};
use crate::flags::Flags;
use crate::paths;
use crate::tls::trusting_config;
use crate::under_test::SMALL_MEMTABLES;
use crate::vaquita::{Vaquita, free_port};
use herd::Herd;
use session::{Kind, Method, World};
use watch::{GoodClient, Holdings, Process};

const CHECKPOINTS: u64 = 24;
/// What memory may grow by from the first third of the checkpoints to the last: pages that the allocator has not given back yet.
const GROWTH_KIB_MAX: u64 = 16 << 10;
/// That the server is made to keep at each checkpoint, if that is planted: over the third in the middle several times what memory may grow by,
/// because the first checkpoints hold pages of the start too.
const PLANTED_BYTES: usize = 8 << 20;
/// The client that asks for the sessions, and the good one.
const OWN_SESSIONS: usize = 2;

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let sessions = flags.number("--sessions", 20_000)?;
    let seed = flags.number("--seed", now)?;
    let at_once = flags.number("--at-once", 1000)?.max(1);
    let from = flags.number("--from", 1)?;
    let plant = match flags.text("--plant")?.as_deref() {
        None => None,
        Some("session") => Some(Plant::Session),
        Some("memory") => Some(Plant::Memory),
        Some(other) => return Err(format!("--plant {other}: session or memory")),
    };
    flags.finish()?;
    println!("bad-clients: seed {seed}, {sessions} sessions, {at_once} at once");
    let dir = paths::target_dir().join(format!("bad-clients/{}", std::process::id()));
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    run(&dir, seed, from..from + sessions, at_once as usize, plant).map_err(|text| {
        let dir = dir.display();
        format!("FAILED: {text}\ndata and log: {dir}\nagain: cargo harness bad-clients --sessions {sessions} --seed {seed} --from {from}")
    })?;
    fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))
}

/// What the harness must find.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plant {
    Session,
    Memory,
}

fn run(dir: &Path, seed: u64, numbers: std::ops::Range<u64>, at_once: usize, plant: Option<Plant>) -> Result<(), String> {
    let (data, log) = (dir.join("data"), dir.join("server.log"));
    let connections = (at_once * 4 + 100).to_string();
    let options = [&SMALL_MEMTABLES[..], &["--max-connections", &connections, "--local-infile"]].concat();
    let server = Vaquita::spawn_with(&paths::vaquita()?, &data, free_port()?, &log, &options)?.wait()?;
    let mut client = server.connect()?;
    for sql in
        traffic::SETUP.iter().chain(&["CREATE TABLE good (id INT PRIMARY KEY, v TEXT)", "INSERT INTO good VALUES (1, 'good')"])
    {
        if let Answer::Err { code, text, .. } = client.try_query(sql).map_err(|e| format!("{sql}: {e}"))? {
            return Err(format!("{sql}: {code} {text}"));
        }
    }
    let tls = trusting_config().map_err(|e| format!("TLS: {e}"))?;
    let world = World { port: server.port, seed, traffic: traffic::all(), tls };
    let mut herd = Herd::new(&world, at_once)?;
    herd.run_good(&every_kind(&world))?;
    let good = GoodClient::start(server.port)?;
    let mut checks =
        Checks { process: Process { pid: server.pid(), data }, log: Log { path: log, read: 0 }, memory: Vec::new(), first: None };
    let began = Instant::now();
    let mut kept = Vec::new();
    let count = numbers.end - numbers.start;
    for part in 0..CHECKPOINTS.min(count) {
        let at = |part: u64| numbers.start + count * part / CHECKPOINTS.min(count);
        herd.run(at(part)..at(part + 1), || good.check())?;
        match plant {
            Some(Plant::Session) => kept.push(server.connect()?),
            Some(Plant::Memory) => {
                let keep = format!("SET @kept{part} = REPEAT('x', {PLANTED_BYTES})");
                if let Answer::Err { code, text, .. } = client.try_query(&keep).map_err(|e| format!("{keep}: {e}"))? {
                    return Err(format!("{keep}: {code} {text}"));
                }
            }
            None => {}
        }
        good.silent(|| checks.check(&mut client, &herd))?;
        report(&herd, &good, &checks, began);
    }
    drop(good);
    checks.memory_is_steady()?;
    server.stop()
}

/// Each traffic by each kind of connection, and each method.
fn every_kind(world: &World) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for tls in [false, true] {
        for compression in [None, Some(Algorithm::Zlib), Some(Algorithm::Zstd { level: 3 })] {
            // The first login of an account with a password tells the server's cache about it.
            for method in [Method::Sha2, Method::Native, Method::NativeSwitched, Method::Trusting, Method::Wrong] {
                kinds.push(Kind { method, tls, compression, traffic: 0 });
            }
            kinds.extend((0..world.traffic.len()).map(|traffic| Kind { method: Method::Trusting, tls, compression, traffic }));
        }
    }
    kinds
}

fn report(herd: &Herd<'_>, good: &GoodClient, checks: &Checks, began: Instant) {
    let (counts, (answers, slowest_ms)) = (&herd.counts, good.answers());
    println!(
        "{:>8} sessions, {:.0} a second: {} in TLS, {} compressed, {} logged in, {} ended by the server, {} good; {answers} answers to the good client, the slowest after {slowest_ms} ms; {} MiB",
        counts.over,
        counts.over as f64 / began.elapsed().as_secs_f64().max(1e-9),
        counts.tls,
        counts.compressed,
        counts.logged_in,
        counts.ended_by_server,
        counts.good,
        checks.memory.last().copied().unwrap_or(0) >> 10,
    );
}

struct Checks {
    process: Process,
    log: Log,
    /// Resident at each checkpoint, in KiB.
    memory: Vec<u64>,
    first: Option<Holdings>,
}

impl Checks {
    fn check(&mut self, client: &mut Client, herd: &Herd<'_>) -> Result<(), String> {
        let now = self.process.settle(client, OWN_SESSIONS, self.first.as_ref())?;
        self.memory.push(now.resident_kib);
        self.first.get_or_insert(now);
        match self.log.panics()?.as_slice() {
            [] => Ok(()),
            lines => {
                let of = |(connection, session): &(u32, u64)| {
                    let named = format!("connection={connection}");
                    let names = |line: &String| line.split_whitespace().any(|word| word == named);
                    lines.iter().any(names).then(|| session.to_string())
                };
                let sessions: Vec<String> = herd.connections.iter().filter_map(of).collect();
                Err(format!("panics, of the sessions {}:\n{}", sessions.join(", "), lines.join("\n")))
            }
        }
    }

    /// The least of the last third against the most of the first: pages come and go, a leak stays.
    fn memory_is_steady(&self) -> Result<(), String> {
        let third = self.memory.len() / 3;
        let (Some(before), Some(after)) = (self.memory.iter().take(third).max(), self.memory.iter().rev().take(third).min())
        else {
            return Ok(());
        };
        if *after > before + GROWTH_KIB_MAX {
            return Err(format!("memory has grown from {before} KiB to {after} KiB; at the checkpoints: {:?}", self.memory));
        }
        Ok(())
    }
}

/// The server's messages.
struct Log {
    path: PathBuf,
    read: u64,
}

impl Log {
    /// Lines about panics that came since the last call.
    fn panics(&mut self) -> Result<Vec<String>, String> {
        let failed = |e: std::io::Error| format!("{}: {e}", self.path.display());
        let mut file = fs::File::open(&self.path).map_err(failed)?;
        file.seek(SeekFrom::Start(self.read)).map_err(failed)?;
        self.read = file.metadata().map_err(failed)?.len();
        let lines = BufReader::new(file).lines().map_while(Result::ok);
        Ok(lines.filter(|line| line.contains("panicked")).collect())
    }
}
