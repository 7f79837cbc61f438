//! `cargo xtask power-loss`: the power fails during writes, and after each restart nothing acknowledged is lost.
//!
//! The server's data directory is on `fault_fs`. A cycle: writers run for a random time; the server is killed and the file
//! system loses power, which forgets or tears what was not synced; in one cycle of four the server was killed and
//! restarted with power before; in one of five the power fails once more while the server starts; it starts and is verified as the kill test does it (`kill_test::load`). In one cycle of ten a new
//! server's first start is hit instead: the next start must succeed, and the account that the first one made, if it got
//! that far, must be there.
//!
//! Memtables are small, so that flushes and compactions happen in every cycle. `--plant flush-mode-2` (or 0) makes the server
//! sync once a second only, and `--plant lying-fsync` makes the file system not sync at all: both must fail.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::fault_fs::FaultFs;
use crate::flags::Flags;
use crate::kill_test::{Load, execute};
use crate::paths;
use crate::random::Random;
use crate::vaquita::{Vaquita, free_port};

const WRITE_MS_MIN: u64 = 20;
const WRITE_MS_MAX: u64 = 600;
/// Cycles between lines of progress.
const PROGRESS: u64 = 20;
/// A first start makes keys, which takes about that long.
const FIRST_START_MS_MAX: u64 = 1500;
pub const SMALL_MEMTABLES: [&str; 2] = ["--storage-test-option", "write-buffer-bytes=1048576"];

struct Test {
    binary: PathBuf,
    dir: PathBuf,
    fs: FaultFs,
    random: Random,
    load: Load,
    verified: u64,
    start_ms_max: u128,
    /// `innodb_flush_log_at_trx_commit`, if it shall not be 1.
    flush_mode: Option<u8>,
    /// What the last power loss kept.
    kept: String,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let cycles = flags.number("--cycles", 20)?;
    let seed = flags.number("--seed", now)?;
    let writers = flags.number("--writers", 8)?.max(1);
    let plant = flags.text("--plant")?;
    flags.finish()?;
    let dir = paths::target_dir().join(format!("power-loss/{}", std::process::id()));
    println!("power-loss: seed {seed}, {cycles} cycles, {writers} writers");
    let mut test = Test {
        binary: paths::vaquita()?,
        fs: FaultFs::new(&dir.join("mnt"))?,
        dir: dir.clone(),
        random: Random::new(seed),
        load: Load::new(writers, seed),
        verified: 0,
        start_ms_max: 0,
        flush_mode: None,
        kept: String::new(),
    };
    let done = test.run(cycles, plant.as_deref());
    println!(
        "power-loss: seed {seed}, {} power losses verified, {} commits acknowledged, restart {} ms at most, {} failures",
        test.verified,
        test.load.commits(),
        test.start_ms_max,
        u8::from(done.is_err())
    );
    if let Err(text) = done {
        let saved = test.fs.save(&dir.join("data"));
        let planted = plant.map_or(String::new(), |plant| format!(" --plant {plant}"));
        return Err(format!(
            "FAILED: {text}\nthe power loss: {}\ndata: {} {}\nagain: cargo xtask power-loss --cycles {cycles} --seed {seed} \
             --writers {writers}{planted}",
            test.kept,
            dir.join("data").display(),
            saved.err().unwrap_or_default()
        ));
    }
    drop(test);
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))
}

impl Test {
    fn run(&mut self, cycles: u64, plant: Option<&str>) -> Result<(), String> {
        match plant {
            None => {}
            Some("flush-mode-0") => self.flush_mode = Some(0),
            Some("flush-mode-2") => self.flush_mode = Some(2),
            Some("lying-fsync") => self.fs.lie(),
            Some(other) => return Err(format!("--plant {other}: flush-mode-0, flush-mode-2 or lying-fsync")),
        }
        self.fs.mount()?;
        let mut server = self.start()?;
        self.load.create_tables(&mut server.connect()?)?;
        for cycle in 1..=cycles {
            if self.random.one_in(10) {
                self.first_start(cycle).map_err(|text| format!("cycle {cycle}, a first start: {text}"))?;
            } else {
                server = self.cycle(server).map_err(|text| format!("cycle {cycle}: {text}"))?;
            }
            self.verified += 1;
            if cycle % PROGRESS == 0 || cycle == cycles {
                println!("cycle {cycle}: {} commits, restart at most {} ms", self.load.commits(), self.start_ms_max);
            }
        }
        server.stop()
    }

    fn start(&mut self) -> Result<Vaquita, String> {
        let server = self.spawn(&self.fs, "server.log")?.wait()?;
        self.start_ms_max = self.start_ms_max.max(server.start_time.as_millis());
        if let Some(mode) = self.flush_mode {
            execute(&mut server.connect()?, &format!("SET GLOBAL innodb_flush_log_at_trx_commit = {mode}"))?;
        }
        Ok(server)
    }

    fn spawn(&self, fs: &FaultFs, log: &str) -> Result<crate::vaquita::Starting, String> {
        Vaquita::spawn_with(&self.binary, &fs.dir(), free_port()?, &self.dir.join(log), &SMALL_MEMTABLES)
    }

    fn cycle(&mut self, server: Vaquita) -> Result<Vaquita, String> {
        let write_time = Duration::from_millis(WRITE_MS_MIN + self.random.below(WRITE_MS_MAX - WRITE_MS_MIN));
        self.load.run(server.port, || {
            thread::sleep(write_time);
            || server.kill()
        })?;
        if self.random.one_in(4) {
            self.restart_with_power()?;
        }
        self.kept = self.fs.lose_power(&mut self.random)?;
        if self.random.one_in(5) {
            let starting = self.spawn(&self.fs, "server.log")?;
            thread::sleep(Duration::from_millis(self.random.below(self.start_ms_max as u64 + 1)));
            starting.kill()?;
            self.kept = self.fs.lose_power(&mut self.random)?;
        }
        let server = self.start()?;
        self.load.verify(&mut server.connect()?)?;
        Ok(server)
    }

    /// What a killed server had not synced is still there, and its successor builds on it.
    fn restart_with_power(&mut self) -> Result<(), String> {
        let server = self.start()?;
        self.load.verify(&mut server.connect()?)?;
        let write_time = Duration::from_millis(self.random.below(WRITE_MS_MAX));
        self.load.run(server.port, || {
            thread::sleep(write_time);
            || server.kill()
        })
    }

    /// The power fails while a server starts in an empty directory.
    fn first_start(&mut self, cycle: u64) -> Result<(), String> {
        let mut fs = FaultFs::new(&self.dir.join(format!("first-{cycle}")))?;
        fs.mount()?;
        let log = format!("first-{cycle}.log");
        let starting = self.spawn(&fs, &log)?;
        thread::sleep(Duration::from_millis(self.random.below(FIRST_START_MS_MAX)));
        starting.kill()?;
        self.kept = fs.lose_power(&mut self.random)?;
        let server = self.spawn(&fs, &log)?.wait()?;
        execute(&mut server.connect()?, "CREATE DATABASE again")?;
        server.kill()?;
        self.kept = fs.lose_power(&mut self.random)?;
        let server = self.spawn(&fs, &log)?.wait()?;
        execute(&mut server.connect()?, "DROP DATABASE again")?;
        server.stop()?;
        let _ = std::fs::remove_file(self.dir.join(&log));
        Ok(())
    }
}
