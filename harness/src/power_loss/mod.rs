//! `cargo harness power-loss`: the power fails during writes, and after each restart nothing acknowledged is lost.
//!
//! The server's data directory is on `fault_fs`. A cycle: writers run for a random time; the server is killed and the file
//! system loses power, which forgets or tears what was not synced; in one cycle of four the server was killed and
//! restarted with power before; in one of five the power fails once more while the server starts; it starts and is
//! verified as the kill test does it (`kill_test::load`). In one cycle of ten a new server's first start is hit instead: the
//! next start must succeed, and the account that the first one made, if it got that far, must be there. Peers make their
//! directory with another program, so that they have no such cycles.
//!
//! `--journal` makes the file system order entries with files as ext4 does, which MySQL and MariaDB need.
//!
//! Memtables are small, so that flushes and compactions happen in every cycle. `--plant flush-mode-2` (or 0) makes the server
//! sync once a second only, and `--plant lying-fsync` makes the file system not sync at all: both must fail.

use std::thread;
use std::time::Duration;

use crate::fault_fs::FaultFs;
use crate::flags::Flags;
use crate::kill_test::{Crashes, execute};
use crate::random::Random;
use crate::under_test::SMALL_MEMTABLES;
use crate::vaquita::Vaquita;

const WRITE_MS_MAX: u64 = 600;
/// A first start makes keys, which takes about that long.
const FIRST_START_MS_MAX: u64 = 1500;
/// Where the file system is mounted, below the test's directory.
const MOUNT: &str = "mnt";

/// The disk below a `Crashes`.
struct Power {
    fs: FaultFs,
    /// `innodb_flush_log_at_trx_commit`, if it shall not be 1.
    flush_mode: Option<u8>,
    /// What the last power loss kept.
    kept: String,
    first_starts: u64,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let plant = flags.text("--plant")?;
    let journal = flags.switch("--journal");
    let mut test = Crashes::from_flags("power-loss", &mut flags, MOUNT, &SMALL_MEMTABLES)?;
    flags.finish()?;
    let fs = FaultFs::new(&test.data)?;
    test.data = fs.dir();
    if journal {
        fs.keep_journal();
    }
    let mut power = Power { fs, flush_mode: None, kept: String::new(), first_starts: 0 };
    let done = power.run(&mut test, plant.as_deref());
    let saved = if done.is_err() { power.fs.save(&test.dir.join("data")) } else { Ok(()) };
    let more = plant.map_or(String::new(), |plant| format!(" --plant {plant}")) + if journal { " --journal" } else { "" };
    let note = format!("the power loss: {} {}\n", power.kept, saved.err().unwrap_or_default());
    test.end(done, &more, &note)?;
    drop(power);
    test.remove_files()
}

impl Power {
    fn run(&mut self, test: &mut Crashes, plant: Option<&str>) -> Result<(), String> {
        match plant {
            None => {}
            Some("flush-mode-0") => self.flush_mode = Some(0),
            Some("flush-mode-2") => self.flush_mode = Some(2),
            Some("lying-fsync") => self.fs.lie(),
            Some(other) => return Err(format!("--plant {other}: flush-mode-0, flush-mode-2 or lying-fsync")),
        }
        self.fs.mount()?;
        let server = test.first_start()?;
        self.set_flush_mode(&server)?;
        test.run(server, |test, server| {
            if test.server.is_vaquita() && test.random.one_in(10) {
                self.first_start(test).map_err(|text| format!("a first start: {text}"))?;
                return Ok(server);
            }
            self.cycle(test, server)
        })
    }

    fn set_flush_mode(&self, server: &Vaquita) -> Result<(), String> {
        let Some(mode) = self.flush_mode else { return Ok(()) };
        execute(&mut server.connect()?, &format!("SET GLOBAL innodb_flush_log_at_trx_commit = {mode}"))
    }

    fn lose(&mut self, random: &mut Random) -> Result<(), String> {
        self.kept = self.fs.lose_power(random)?;
        Ok(())
    }

    fn cycle(&mut self, test: &mut Crashes, server: Vaquita) -> Result<Vaquita, String> {
        test.write_and_kill(server, WRITE_MS_MAX)?;
        if test.random.one_in(4) {
            // What a killed server had not synced is still there, and its successor builds on it.
            let server = self.restart(test)?;
            test.write_and_kill(server, WRITE_MS_MAX)?;
        }
        self.lose(&mut test.random)?;
        if test.random.one_in(5) {
            test.kill_at_start()?;
            self.lose(&mut test.random)?;
        }
        self.restart(test)
    }

    fn restart(&self, test: &mut Crashes) -> Result<Vaquita, String> {
        let server = test.restart()?;
        self.set_flush_mode(&server)?;
        test.verify(&server)?;
        Ok(server)
    }

    /// The power fails while a server starts in an empty directory.
    fn first_start(&mut self, test: &mut Crashes) -> Result<(), String> {
        self.first_starts += 1;
        let mut fs = FaultFs::new(&test.dir.join(format!("first-{}", self.first_starts)))?;
        fs.mount()?;
        let log = format!("first-{}.log", self.first_starts);
        let starting = test.spawn_on(&fs.dir(), &log)?;
        thread::sleep(Duration::from_millis(test.random.below(FIRST_START_MS_MAX)));
        starting.kill()?;
        self.kept = fs.lose_power(&mut test.random)?;
        let server = test.spawn_on(&fs.dir(), &log)?.wait()?;
        execute(&mut server.connect()?, "CREATE DATABASE again")?;
        server.kill()?;
        self.kept = fs.lose_power(&mut test.random)?;
        let server = test.spawn_on(&fs.dir(), &log)?.wait()?;
        execute(&mut server.connect()?, "DROP DATABASE again")?;
        server.stop()?;
        let _ = std::fs::remove_file(test.dir.join(&log));
        Ok(())
    }
}
