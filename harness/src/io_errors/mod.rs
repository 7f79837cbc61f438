//! `cargo harness io-errors`: the Nth fsync, write, open or rename fails with EIO or ENOSPC, once or from then on.
//!
//! Each run starts from the same image of a data directory on `fault_fs` with rows in it, and counts from the start of
//! the server. Writers write while another client flushes, compacts, creates and drops, until the fault came and a little
//! longer. Statements may fail and the server may end, even while it starts; nothing may hang. Then it is killed, in
//! half of the runs with a power loss, and started without the fault: that must succeed, with every commit that was
//! acknowledged, and none that was refused.
//!
//! With `--runs R`, R numbers of 1 to `--upto` are taken for each class and errno: the first half of them from 1 on, the
//! others at random.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::client::Client;
use crate::fault_fs::{Class, EIO, ENOSPC, Fault, FaultFs, Image};
use crate::flags::Flags;
use crate::kill_test::{DATABASE, Load};
use crate::paths;
use crate::random::Random;
use crate::under_test::{SMALL_MEMTABLES, UnderTest};
use crate::vaquita::Vaquita;

const WRITERS: u64 = 4;
/// After so many runs in a row whose fault did not come, larger numbers are left out.
const NOT_REACHED_MAX: u32 = 5;
const NOT_REACHED: &str = "the fault did not come";
/// Rows that are there before.
const BASE_WRITE_TIME: Duration = Duration::from_millis(300);
/// A fault that did not come by then does not come.
const FAULT_MS_MAX: u64 = 3000;
/// Writing goes on so long after it.
const AFTER_FAULT: Duration = Duration::from_millis(400);

struct Test {
    server: UnderTest,
    log: PathBuf,
    fs: FaultFs,
    base: Image,
    load: Load,
    random: Random,
    /// How runs ended, by class and errno.
    outcomes: BTreeMap<String, u64>,
    refused: BTreeMap<String, u64>,
    failures: Vec<String>,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let upto = flags.number("--upto", 1000)?;
    let runs = flags.number("--runs", upto)?.min(upto);
    let seed = flags.number("--seed", now)?;
    let only = flags.text("--class")?;
    let nth = flags.number("--nth", 0)?;
    let silent = match flags.text("--plant")?.as_deref() {
        None => false,
        Some("silent-fsync") => true,
        Some(other) => return Err(format!("--plant {other}: silent-fsync")),
    };
    let server = UnderTest::from_flags(&mut flags, &SMALL_MEMTABLES)?;
    let journal = flags.switch("--journal");
    flags.finish()?;
    let dir = paths::target_dir().join(format!("io-errors/{}", std::process::id()));
    let mut test = Test::prepare(server, journal, &dir, seed)?;
    let mut count = 0;
    for class in Class::ALL {
        let name = format!("{class:?}").to_lowercase();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        for (errno, errno_name) in [(EIO, "EIO"), (ENOSPC, "ENOSPC")] {
            let all = if nth > 0 { BTreeSet::from([nth]) } else { numbers(upto, runs, &mut Random::new(seed)) };
            let mut not_reached = 0;
            for nth in all {
                if not_reached == NOT_REACHED_MAX {
                    println!("{name} {errno_name}: fewer than {nth} of them happen in {FAULT_MS_MAX} ms");
                    break;
                }
                count += 1;
                // Each run has a seed of its own, so that one alone repeats.
                test.random = Random::new(seed ^ (nth << 8) ^ (class as u64) << 4 ^ errno as u64);
                let lasting = test.random.one_in(2);
                let what = format!("{name} {errno_name} {}", if lasting { "from then on" } else { "once" });
                let ended = test.run(Fault { silent, ..Fault::new(class, nth, errno, lasting) });
                not_reached = if ended == Ok(NOT_REACHED) { not_reached + 1 } else { 0 };
                if let Err(text) = &ended {
                    let saved = test.fs.save(&dir.join(format!("{name}-{errno_name}-{nth}")));
                    println!("FAILED: {what}, number {nth}: {text} {}", saved.err().unwrap_or_default());
                    let server = test.server.flags();
                    println!("again: cargo harness io-errors --upto {upto} --seed {seed} --class {name} --nth {nth}{server}");
                    test.failures.push(text.clone());
                }
                *test.outcomes.entry(format!("{what}: {}", ended.unwrap_or("FAILED"))).or_default() += 1;
            }
            println!("{name} {errno_name}: {count} runs so far, {} failures", test.failures.len());
        }
    }
    test.print_summary(seed, count);
    if test.failures.is_empty() {
        drop(test);
        return std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()));
    }
    Err(format!("FAILED: {} of {count} runs; logs and data: {}", test.failures.len(), dir.display()))
}

/// `runs` of the numbers from 1 to `upto`.
fn numbers(upto: u64, runs: u64, random: &mut Random) -> BTreeSet<u64> {
    if runs == upto {
        return (1..=upto).collect();
    }
    let mut all: BTreeSet<u64> = (1..=runs.div_ceil(2)).collect();
    while (all.len() as u64) < runs {
        all.insert(1 + random.below(upto));
    }
    all
}

impl Test {
    fn prepare(server: UnderTest, journal: bool, dir: &Path, seed: u64) -> Result<Test, String> {
        let mut fs = FaultFs::new(&dir.join("mnt"))?;
        fs.mount()?;
        if journal {
            fs.keep_journal();
        }
        let log = dir.join("server.log");
        let mut load = Load::new(WRITERS, seed);
        server.initialize(&fs.dir(), &log)?;
        let first = server.start(&fs.dir(), &log)?;
        load.create_tables(&mut first.connect()?)?;
        load.run(first.port, || {
            thread::sleep(BASE_WRITE_TIME);
            || first.kill()
        })?;
        let second = server.start(&fs.dir(), &log)?;
        load.verify(&mut second.connect()?)?;
        second.kill()?;
        load.tolerate_errors();
        fs.unmount()?;
        let base = fs.image();
        let (outcomes, refused) = (BTreeMap::new(), BTreeMap::new());
        Ok(Test { server, log, fs, base, load, random: Random::new(seed), outcomes, refused, failures: Vec::new() })
    }

    fn run(&mut self, fault: Fault) -> Result<&'static str, String> {
        let _ = std::fs::write(&self.log, "");
        self.fs.restore(&self.base)?;
        self.fs.set_fault(Some(fault));
        let mut load = self.load.clone();
        let ended = match self.spawn()?.wait() {
            Err(text) if text.starts_with("no answer") => return Err(format!("the start hangs: {text}")),
            Err(_) if !self.fs.fault_was_hit() => return Err("it does not start, without a fault".to_string()),
            Err(_) => "ended while it started",
            Ok(server) => self.write(server, &mut load)?,
        };
        self.fs.set_fault(None);
        for (text, count) in load.take_refused() {
            *self.refused.entry(text).or_default() += count;
        }
        let mut kept = "no power loss".to_string();
        if self.random.one_in(2) {
            kept = self.fs.lose_power(&mut self.random)?;
        }
        let server = self.spawn()?.wait().map_err(|text| format!("it does not start afterwards: {text} ({kept})"))?;
        load.verify(&mut server.connect()?).map_err(|text| format!("{ended}: {text} ({kept})"))?;
        server.kill()?;
        Ok(ended)
    }

    fn spawn(&self) -> Result<crate::vaquita::Starting, String> {
        self.server.spawn(&self.fs.dir(), &self.log)
    }

    fn write(&self, mut server: Vaquita, load: &mut Load) -> Result<&'static str, String> {
        let port = server.port;
        let fs = &self.fs;
        let mut ended = NOT_REACHED;
        let stirrer = server.connect();
        thread::scope(|scope| {
            let stirring = scope.spawn(|| stirrer.map_or((), stir));
            let written = load.run(port, || {
                let start = Instant::now();
                while !fs.fault_was_hit() && start.elapsed() < Duration::from_millis(FAULT_MS_MAX) && !server.has_ended() {
                    thread::sleep(Duration::from_millis(2));
                }
                let hit = Instant::now();
                while hit.elapsed() < AFTER_FAULT && !server.has_ended() {
                    thread::sleep(Duration::from_millis(5));
                }
                if server.has_ended() {
                    ended = "ended";
                } else if fs.fault_was_hit() {
                    ended = "went on";
                }
                || server.kill()
            });
            written.and(stirring.join().map_err(|_| "the stirrer panicked".into()))
        })?;
        if ended == "ended" && !fs.fault_was_hit() {
            return Err("it ended without a fault".into());
        }
        Ok(ended)
    }

    fn print_summary(&self, seed: u64, count: u64) {
        for (outcome, count) in &self.outcomes {
            println!("{count:6}  {outcome}");
        }
        for (text, count) in &self.refused {
            println!("{count:6}  refused with {text}");
        }
        println!("io-errors: {}, seed {seed}, {count} runs, {} failures", self.server.name(), self.failures.len());
    }
}

/// Keeps files coming and going until the connection ends.
fn stir(mut client: Client) {
    for round in 0u64.. {
        let table = format!("{DATABASE}.s{round}");
        for sql in [
            &format!("OPTIMIZE TABLE {DATABASE}.t"),
            &format!("CREATE TABLE {table} (a INT PRIMARY KEY)"),
            &format!("DROP TABLE {table}"),
        ] {
            if client.try_query(sql).is_err() {
                return;
            }
        }
    }
}
