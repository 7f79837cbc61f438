//! `cargo xtask kill-test`: `kill -9` at random times during writes, and after each restart nothing acknowledged is lost.
//!
//! A cycle: writers run for a random time; the server is killed; in one cycle of five it is killed once more while it
//! starts; it starts and is verified:
//! 1. each writer's rows are those of its acknowledged commits, its transaction under way whole or absent (`writer`);
//! 2. the shared counter is exactly the number of transactions that are there;
//! 3. the rows found through the secondary index are the same;
//! 4. CHECK TABLE says OK.
//!
//! It does not cut power: the kernel keeps what the server wrote, synced or not. The seed decides what is written and
//! when the kill comes, not how threads interleave; a failure keeps the data directory, and prints seed and cycle.

mod load;
pub mod writer;

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::flags::Flags;
use crate::paths;
use crate::random::Random;
use crate::vaquita::{Vaquita, free_port};
pub use load::{Load, create_tables, execute, rows, verify};
pub use writer::{DATABASE, Values, pad};

const WRITE_MS_MIN: u64 = 20;
const WRITE_MS_MAX: u64 = 800;
/// Cycles between lines of progress.
const PROGRESS: u64 = 20;

struct Test {
    binary: PathBuf,
    dir: PathBuf,
    random: Random,
    load: Load,
    restarts: Vec<Duration>,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let cycles = flags.number("--cycles", 20)?;
    let seed = flags.number("--seed", now)?;
    let writers = flags.number("--writers", 8)?.max(1);
    flags.finish()?;
    let dir = paths::target_dir().join(format!("kill-test/{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    println!("kill-test: seed {seed}, {cycles} cycles, {writers} writers");
    let mut test = Test {
        binary: paths::vaquita()?,
        dir: dir.clone(),
        random: Random::new(seed),
        load: Load::new(writers, seed),
        restarts: Vec::new(),
    };
    let done = test.run(cycles);
    test.print_summary(seed, done.is_err());
    match done {
        Ok(()) => std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display())),
        Err(text) => Err(format!(
            "FAILED after {} restarts: {text}\ndata: {}\nagain: cargo xtask kill-test --cycles {cycles} --seed {seed} --writers {writers}",
            test.restarts.len(),
            dir.display()
        )),
    }
}

impl Test {
    fn run(&mut self, cycles: u64) -> Result<(), String> {
        let mut server = self.start()?;
        self.load.create_tables(&mut server.connect()?)?;
        for cycle in 1..=cycles {
            server = self.cycle(server).map_err(|text| format!("cycle {cycle}: {text}"))?;
            if cycle % PROGRESS == 0 || cycle == cycles {
                println!("cycle {cycle}: {} commits, restart at most {} ms", self.load.commits(), self.restart_ms_max());
            }
        }
        server.stop()
    }

    /// Writes, kills, restarts, verifies.
    fn cycle(&mut self, server: Vaquita) -> Result<Vaquita, String> {
        let write_time = Duration::from_millis(WRITE_MS_MIN + self.random.below(WRITE_MS_MAX - WRITE_MS_MIN));
        self.load.run(server.port, || {
            thread::sleep(write_time);
            || server.kill()
        })?;
        if self.random.one_in(5) {
            self.kill_at_start()?;
        }
        let server = self.start()?;
        self.restarts.push(server.start_time);
        self.load.verify(&mut server.connect()?)?;
        Ok(server)
    }

    fn start(&self) -> Result<Vaquita, String> {
        Vaquita::start(&self.binary, &self.dir.join("data"), free_port()?, &self.dir.join("server.log"))
    }

    /// A crash during recovery from a crash.
    fn kill_at_start(&mut self) -> Result<(), String> {
        let usual = self.restarts.last().map_or(100, |time| time.as_millis() as u64);
        let starting = Vaquita::spawn(&self.binary, &self.dir.join("data"), free_port()?, &self.dir.join("server.log"))?;
        thread::sleep(Duration::from_millis(self.random.below(usual + 1)));
        starting.kill()
    }

    fn restart_ms_max(&self) -> u128 {
        self.restarts.iter().max().map_or(0, Duration::as_millis)
    }

    fn print_summary(&self, seed: u64, failed: bool) {
        let mut sorted = self.restarts.clone();
        sorted.sort();
        let median = sorted.get(sorted.len() / 2).map_or(0, Duration::as_millis);
        println!(
            "kill-test: seed {seed}, {} restarts verified, {} commits acknowledged, restart {median} ms median, {} ms at most, {} failures",
            self.restarts.len() - usize::from(failed && !self.restarts.is_empty()),
            self.load.commits(),
            self.restart_ms_max(),
            u8::from(failed)
        );
    }
}
