//! `cargo harness kill-points`: the server dies at each named place of its code, and a restart finds everything in order.
//!
//! The places are those that `vaquita kill-points` lists (`storage/src/base/kill_points.rs`). A first run with `count` learns how
//! often the load passes each. Then, for each place and as often as asked: the server starts with `--kill-point NAME:NTH`,
//! NTH at random, under a load of writers (`kill_test::writer`), DDL (`script`) and chores (`chores`), with small
//! memtables so that flushes and compactions are frequent; once it is dead it must have died there. It is started again:
//! 1. what was acknowledged is there, and transactions are whole (`kill_test::verify`);
//! 2. DDL was atomic: the database looks as before the statement under way or as after it;
//! 3. accounts, persisted variables and AUTO_INCREMENT are as acknowledged;
//! 4. `vaquita check` finds every table sound, the drop list empty, and no data that no table knows.
//!
//! Places of the first start get an empty directory each time. The seed decides which occurrence is hit, not how threads
//! interleave; a failure keeps the data and prints the place.

mod chores;
mod script;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::flags::Flags;
use crate::kill_test::writer::Writer;
use crate::kill_test::{create_tables, verify};
use crate::paths;
use crate::random::Random;
use crate::vaquita::{Vaquita, free_port};
use chores::Chores;
use script::Progress;

/// Small, so that a second of load flushes, rotates the log, compacts, and sees several rounds of the housekeeper.
const STORAGE: &str = "check-cached-reads=on,write-buffer-bytes=1048576,file-bytes=65536,level0-files=2,block-cache-bytes=8388608,build-batch-rows=128,round-ms=50,\
     write-set-bytes=65536";
const WRITERS: u64 = 4;
/// Passes of the DDL script before a place counts as not reached.
const PASSES: usize = 3;
/// Tries at a place that a load did not pass, before the place counts as never reached.
const TRIES: usize = 5;
/// How long a dead man may take.
const END: Duration = Duration::from_secs(60);

struct Test {
    binary: PathBuf,
    dir: PathBuf,
    random: Random,
    writers: Vec<Writer>,
    script: Progress,
    chores: Chores,
    /// How often the load passes each place.
    passed: BTreeMap<String, u64>,
    /// Times that each place killed, and times that it was not reached.
    killed: BTreeMap<String, (u64, u64)>,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let rounds = flags.number("--rounds", 1)?;
    let seed = flags.number("--seed", now)?;
    let seconds = flags.number("--seconds", u64::MAX / 2)?;
    let only = flags.list("--only")?;
    flags.finish()?;
    let dir = paths::target_dir().join(format!("kill-points/{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut test = Test {
        binary: paths::vaquita()?,
        dir: dir.clone(),
        random: Random::new(seed),
        writers: (0..WRITERS).map(|number| Writer::new(number, seed)).collect(),
        script: Progress::new(Vec::new()),
        chores: Chores::new(),
        passed: BTreeMap::new(),
        killed: BTreeMap::new(),
    };
    let mut names = test.names()?;
    if let Some(only) = only {
        names.retain(|name| only.iter().any(|start| name.starts_with(start.as_str())));
    }
    println!("kill-points: seed {seed}, {} places, {rounds} rounds", names.len());
    let end = Instant::now() + Duration::from_secs(seconds.min(1 << 30));
    let done = test.calibrate().and_then(|()| test.run(&names, rounds, end));
    test.print_summary(seed);
    match done {
        Ok(()) => std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display())),
        Err(text) => Err(format!("FAILED: {text}\ndata: {}\nagain: cargo harness kill-points --seed {seed}", dir.display())),
    }
}

impl Test {
    fn names(&self) -> Result<Vec<String>, String> {
        let output = Command::new(&self.binary).arg("kill-points").output().map_err(|e| e.to_string())?;
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect())
    }

    fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    fn start(&self, dir: &str, point: Option<&str>) -> Result<crate::vaquita::Starting, String> {
        let mut more = vec!["--storage-test-option".to_string(), STORAGE.to_string()];
        more.extend(point.into_iter().flat_map(|point| ["--kill-point".to_string(), point.to_string()]));
        Vaquita::spawn_with(
            &self.binary,
            &self.dir.join(dir),
            free_port()?,
            &self.log(),
            &more.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    }

    /// Makes the tables, and learns the script's pictures and how often a load passes each place.
    fn calibrate(&mut self) -> Result<(), String> {
        let server = self.start("data", Some("count"))?.wait()?;
        let mut client = server.connect()?;
        create_tables(&mut client)?;
        Chores::create_tables(&mut client)?;
        self.script = Progress::new(script::pictures(&mut client)?);
        self.load(&server)?;
        server.stop()?;
        // A second time, because the first start and the log's mark make a difference.
        let server = self.start("data", Some("count"))?.wait()?;
        self.verify(&server)?;
        self.load(&server)?;
        server.stop()?;
        // Commits that the stop left without an answer are settled before the next load.
        let server = self.start("data", None)?.wait()?;
        self.verify(&server)?;
        server.stop()?;
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        for line in log.lines().filter_map(|line| line.strip_prefix("kill point ")) {
            let mut words = line.split(' ');
            if let (Some(name), Some("passed"), Some(count)) = (words.next(), words.next(), words.next()) {
                self.passed.insert(name.to_string(), count.parse().unwrap_or(1));
            }
        }
        Ok(())
    }

    fn run(&mut self, names: &[String], rounds: u64, end: Instant) -> Result<(), String> {
        let mut order: Vec<&String> = names.iter().collect();
        for round in 1..=rounds {
            // At random, so that a short run does not always look at the same places.
            for at in (1..order.len()).rev() {
                order.swap(at, self.random.below(at as u64 + 1) as usize);
            }
            for name in &order {
                if Instant::now() > end {
                    return Ok(());
                }
                let passed = self.passed.get(*name).copied().unwrap_or(1);
                // A load passes a place more or less often; a start does so as often as before.
                let fixed = ["init.", "start.", "stop."].iter().any(|kind| name.starts_with(kind));
                let mut nth = 1 + self.random.below(if fixed { passed } else { passed * 2 / 3 }.max(1));
                for _ in 0..TRIES {
                    let point = format!("{name}:{nth}");
                    if self.round(name, &point).map_err(|text| format!("{point}: {text}"))? {
                        break;
                    }
                    nth = 1;
                }
            }
            println!("round {round}: {} kills", self.killed.values().map(|(kills, _)| kills).sum::<u64>());
        }
        let never: Vec<_> = self.killed.iter().filter(|(_, (kills, _))| *kills == 0).map(|(name, _)| name.as_str()).collect();
        if never.is_empty() { Ok(()) } else { Err(format!("never reached: {}", never.join(", "))) }
    }

    /// Whether the server died at `point`.
    fn round(&mut self, name: &str, point: &str) -> Result<bool, String> {
        let first_start = name.starts_with("init.");
        let dir = if first_start { "new" } else { "data" };
        if name == "log.unmarked" {
            // The start that verified the last round has taken the mark away.
            std::fs::write(self.dir.join(dir).join("rocksdb/LOG_NOT_SYNCED"), b"").map_err(|e| e.to_string())?;
        }
        let log_before = std::fs::metadata(self.log()).map_or(0, |m| m.len());
        if let Some(mut server) = self.start(dir, Some(point))?.answered() {
            if name == "log.unmarked" {
                // Happens beside the first statements, and not once a chore has turned off the sync.
                thread::sleep(Duration::from_millis(300));
            }
            if name.starts_with("stop.") {
                let _ = self.load_for(&server, Duration::from_millis(300));
            } else {
                self.load(&server)?;
            }
            if !server.has_ended() {
                // Dies at one of `stop.…`, or was not reached.
                let _ = server.stop();
            }
        }
        let log = std::fs::read(self.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(log.get(log_before as usize..).unwrap_or_default()).into_owned();
        let died_there = log.contains(&format!("kill point {point} reached"));
        if !died_there && !log.contains("shut down") {
            return Err(format!("the server died elsewhere:\n{log}"));
        }
        let counts = self.killed.entry(name.to_string()).or_default();
        if died_there {
            counts.0 += 1
        } else {
            counts.1 += 1
        }
        let server = self.start(dir, None)?.wait()?;
        if !first_start {
            self.verify(&server)?;
        }
        server.kill()?;
        self.check(dir)?;
        if first_start {
            std::fs::remove_dir_all(self.dir.join(dir)).map_err(|e| e.to_string())?;
        }
        Ok(died_there)
    }

    /// Writers, DDL and chores, until the server dies or the script is through.
    fn load(&mut self, server: &Vaquita) -> Result<(), String> {
        self.load_for(server, END)
    }

    fn load_for(&mut self, server: &Vaquita, time: Duration) -> Result<(), String> {
        // The connection may end at any time.
        let killed = AtomicBool::new(true);
        let (port, pid) = (server.port, server.pid());
        let (script, chores) = (&mut self.script, &mut self.chores);
        let writers = &mut self.writers;
        let connect = || server.connect();
        thread::scope(|scope| {
            let writing: Vec<_> = writers.iter_mut().map(|writer| scope.spawn(|| writer.run(port, &killed))).collect();
            let ddl = scope.spawn(move || connect().map_or(Ok(()), |mut client| script.run(&mut client, PASSES)));
            let other = scope.spawn(move || connect().map_or(Ok(()), |mut client| chores.run(&mut client, PASSES)));
            let began = Instant::now();
            while !(ddl.is_finished() && other.is_finished()) && began.elapsed() < time {
                thread::sleep(Duration::from_millis(5));
            }
            // Writers go on until their connection ends.
            let _ = Command::new("sh").args(["-c", &format!("kill {pid}")]).status();
            let mut ends = [ddl, other].into_iter().chain(writing);
            ends.try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a client panicked".into())))
        })
    }

    fn verify(&mut self, server: &Vaquita) -> Result<(), String> {
        let mut client = server.connect()?;
        verify(&mut self.writers, &mut client)?;
        self.chores.verify(&mut client)?;
        self.script.verify(&mut client)
    }

    /// `vaquita check` on the directory, which recovers from one more crash.
    fn check(&self, dir: &str) -> Result<(), String> {
        let mut command = Command::new(&self.binary);
        command.arg("check").arg("--data-dir").arg(self.dir.join(dir)).args(["--storage-test-option", STORAGE]);
        let output = command.output().map_err(|e| e.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Err(format!("vaquita check: {}{}", text(&output.stdout), text(&output.stderr)))
    }

    fn print_summary(&self, seed: u64) {
        let total: u64 = self.killed.values().map(|(kills, _)| kills).sum();
        let fewest = self.killed.values().map(|(kills, _)| kills).min().unwrap_or(&0);
        for (name, (kills, missed)) in &self.killed {
            println!(
                "{kills:5} kills at {name}{}",
                if *missed > 0 { format!(", {missed} times not reached") } else { String::new() }
            );
        }
        println!("kill-points: seed {seed}, {} places, {total} kills verified, at least {fewest} each", self.killed.len());
    }
}
