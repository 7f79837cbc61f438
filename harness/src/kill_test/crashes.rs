//! What the tests of crashes share: a server under test, writers on it, and the steps of a cycle.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::load::Load;
use crate::flags::Flags;
use crate::paths;
use crate::random::Random;
use crate::under_test::UnderTest;
use crate::vaquita::{Starting, Vaquita};

const WRITE_MS_MIN: u64 = 20;
/// Cycles between lines of progress.
const PROGRESS: u64 = 20;

pub struct Crashes {
    /// The command's name.
    name: &'static str,
    pub server: UnderTest,
    /// Of logs, and of what a failure leaves.
    pub dir: PathBuf,
    /// The server's.
    pub data: PathBuf,
    pub cycles: u64,
    seed: u64,
    writers: u64,
    pub random: Random,
    pub load: Load,
    restarts: Vec<Duration>,
}

impl Crashes {
    /// Reads the options that all have. `data_name` is the server's directory below `dir`.
    pub fn from_flags(name: &'static str, flags: &mut Flags, data_name: &str, options: &[&str]) -> Result<Crashes, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let cycles = flags.number("--cycles", 20)?;
        let seed = flags.number("--seed", now)?;
        let writers = flags.number("--writers", 8)?.max(1);
        let server = UnderTest::from_flags(flags, options)?;
        let dir = paths::target_dir().join(format!("{name}/{}", std::process::id()));
        std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        println!("{name}: {}, seed {seed}, {cycles} cycles, {writers} writers", server.name());
        let (random, load) = (Random::new(seed), Load::new(writers, seed));
        let data = dir.join(data_name);
        Ok(Crashes { name, server, dir, data, cycles, seed, writers, random, load, restarts: Vec::new() })
    }

    pub fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    /// A server on a new directory, with the writers' tables.
    pub fn first_start(&mut self) -> Result<Vaquita, String> {
        self.server.initialize(&self.data, &self.log())?;
        let server = self.spawn()?.wait()?;
        self.load.create_tables(&mut server.connect()?)?;
        Ok(server)
    }

    pub fn spawn(&self) -> Result<Starting, String> {
        self.spawn_on(&self.data, "server.log")
    }

    pub fn spawn_on(&self, data: &Path, log: &str) -> Result<Starting, String> {
        self.server.spawn(data, &self.dir.join(log))
    }

    /// Starts the server on what a crash left.
    pub fn restart(&mut self) -> Result<Vaquita, String> {
        let server = self.spawn()?.wait()?;
        self.restarts.push(server.start_time);
        Ok(server)
    }

    /// The writers write for a random time of at most `ms_max`, in which the server is killed.
    pub fn write_and_kill(&mut self, server: Vaquita, ms_max: u64) -> Result<(), String> {
        let write_time = Duration::from_millis(WRITE_MS_MIN + self.random.below(ms_max - WRITE_MS_MIN));
        self.load.run(server.port, || {
            thread::sleep(write_time);
            || server.kill()
        })
    }

    /// A crash during recovery from a crash.
    pub fn kill_at_start(&mut self) -> Result<(), String> {
        const USUAL_MS: u128 = 100;
        let usual_ms = self.restarts.last().map_or(USUAL_MS, Duration::as_millis) as u64;
        let starting = self.spawn()?;
        thread::sleep(Duration::from_millis(self.random.below(usual_ms + 1)));
        starting.kill()
    }

    pub fn verify(&mut self, server: &Vaquita) -> Result<(), String> {
        self.load.verify(&mut server.connect()?)
    }

    /// Runs `cycle` as often as was asked for, each on the server that the last one left, and stops it.
    pub fn run(
        &mut self,
        mut server: Vaquita,
        mut cycle: impl FnMut(&mut Crashes, Vaquita) -> Result<Vaquita, String>,
    ) -> Result<(), String> {
        for number in 1..=self.cycles {
            server = cycle(self, server).map_err(|text| format!("cycle {number}: {text}"))?;
            if number % PROGRESS == 0 || number == self.cycles {
                println!("cycle {number}: {} commits, restart at most {} ms", self.load.commits(), self.restart_ms_max());
            }
        }
        server.stop()
    }

    fn restart_ms_max(&self) -> u128 {
        self.restarts.iter().max().map_or(0, Duration::as_millis)
    }

    /// Prints what was done; a failure says how to repeat it, with `more` flags, and adds `note`.
    pub fn end(&self, done: Result<(), String>, more: &str, note: &str) -> Result<(), String> {
        let mut sorted = self.restarts.clone();
        sorted.sort();
        let median = sorted.get(sorted.len() / 2).map_or(0, Duration::as_millis);
        let (name, seed, failed) = (self.name, self.seed, done.is_err());
        println!(
            "{name}: {}, seed {seed}, {} restarts verified, {} commits acknowledged, restart {median} ms median, {} ms at most, {} failures",
            self.server.name(),
            self.restarts.len() - usize::from(failed && !self.restarts.is_empty()),
            self.load.commits(),
            self.restart_ms_max(),
            u8::from(failed)
        );
        done.map_err(|text| {
            format!(
                "FAILED after {} restarts: {text}\n{note}data: {}\nagain: cargo harness {name} --cycles {} --seed {seed} --writers {}{}{more}",
                self.restarts.len(),
                self.dir.display(),
                self.cycles,
                self.writers,
                self.server.flags()
            )
        })
    }

    pub fn remove_files(self) -> Result<(), String> {
        std::fs::remove_dir_all(&self.dir).map_err(|e| format!("{}: {e}", self.dir.display()))
    }
}
