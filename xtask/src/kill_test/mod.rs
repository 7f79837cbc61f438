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

pub mod writer;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::client::{Answer, Client};
use crate::flags::Flags;
use crate::paths;
use crate::random::Random;
use crate::vaquita::{Vaquita, free_port};
use writer::{DATABASE, Values, Writer, pad};

const WRITE_MS_MIN: u64 = 20;
const WRITE_MS_MAX: u64 = 800;
/// Cycles between lines of progress.
const PROGRESS: u64 = 20;

struct Test {
    binary: PathBuf,
    dir: PathBuf,
    random: Random,
    writers: Vec<Writer>,
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
        writers: (0..writers).map(|number| Writer::new(number, seed)).collect(),
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
        create_tables(&mut server.connect()?)?;
        for cycle in 1..=cycles {
            server = self.cycle(server).map_err(|text| format!("cycle {cycle}: {text}"))?;
            if cycle % PROGRESS == 0 || cycle == cycles {
                println!("cycle {cycle}: {} commits, restart at most {} ms", self.commits(), self.restart_ms_max());
            }
        }
        server.stop()
    }

    /// Writes, kills, restarts, verifies.
    fn cycle(&mut self, server: Vaquita) -> Result<Vaquita, String> {
        let write_time = Duration::from_millis(WRITE_MS_MIN + self.random.below(WRITE_MS_MAX - WRITE_MS_MIN));
        let killed = AtomicBool::new(false);
        let port = server.port;
        let results: Vec<Result<(), String>> = thread::scope(|scope| {
            let threads: Vec<_> = self.writers.iter_mut().map(|writer| scope.spawn(|| writer.run(port, &killed))).collect();
            thread::sleep(write_time);
            killed.store(true, Ordering::Release);
            let kill = server.kill();
            let ends = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a writer panicked".into())));
            ends.chain([kill]).collect()
        });
        results.into_iter().collect::<Result<(), String>>()?;
        if self.random.one_in(5) {
            self.kill_at_start()?;
        }
        let server = self.start()?;
        self.restarts.push(server.start_time);
        verify(&mut self.writers, &mut server.connect()?)?;
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

    fn commits(&self) -> u64 {
        self.writers.iter().map(|writer| writer.commits).sum()
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
            self.commits(),
            self.restart_ms_max(),
            u8::from(failed)
        );
    }
}

/// What the writers know to be there, is there, and nothing else.
pub fn verify(writers: &mut [Writer], client: &mut Client) -> Result<(), String> {
    execute(client, &format!("USE {DATABASE}"))?;
    let all = read_values(client)?;
    for writer in writers.iter_mut() {
        writer.verify(&all)?;
    }
    let total: u64 = writers.iter().map(|writer| writer.total).sum();
    let found = rows(client, "SELECT n FROM total")?;
    if found != [[total.to_string()]] {
        return Err(format!("total is {found:?}, {total} transactions are there"));
    }
    check_index(client, &all)?;
    for table in ["t", "total"] {
        let answer = rows(client, &format!("CHECK TABLE {table}"))?;
        if answer.len() != 1 || answer[0].last().is_none_or(|text| text != "OK") {
            return Err(format!("CHECK TABLE {table}: {answer:?}"));
        }
    }
    Ok(())
}

pub fn create_tables(client: &mut Client) -> Result<(), String> {
    for sql in [
        &format!("CREATE DATABASE {DATABASE}"),
        &format!("USE {DATABASE}"),
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL, pad VARCHAR(60) NOT NULL, KEY v (v))",
        "CREATE TABLE total (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL)",
        "INSERT INTO total VALUES (1, 0)",
    ] {
        execute(client, sql)?;
    }
    Ok(())
}

fn read_values(client: &mut Client) -> Result<Values, String> {
    let mut all = Values::new();
    for row in rows(client, "SELECT id, v, pad FROM t ORDER BY id")? {
        let (key, value) = match row.as_slice() {
            [key, value, _] => (key.parse(), value.parse()),
            _ => return Err(format!("a row of {} columns", row.len())),
        };
        let (Ok(key), Ok(value)) = (key, value) else { return Err(format!("not a row that was written: {row:?}")) };
        if row[2] != pad(key, value) {
            return Err(format!("a row of two versions: {row:?}"));
        }
        all.insert(key, value);
    }
    Ok(all)
}

/// The secondary index has an entry for each row, and no other.
fn check_index(client: &mut Client, all: &Values) -> Result<(), String> {
    let mut expected: Vec<[String; 2]> = all.iter().map(|(key, value)| [value.to_string(), key.to_string()]).collect();
    let mut found = rows(client, "SELECT v, id FROM t FORCE INDEX (v) WHERE v >= 0")?;
    expected.sort();
    found.sort();
    if found == expected {
        Ok(())
    } else {
        Err(format!("the index v has {} entries that are not those of the {} rows", found.len(), expected.len()))
    }
}

pub fn rows(client: &mut Client, sql: &str) -> Result<Vec<Vec<String>>, String> {
    match client.try_query(sql).map_err(|e| format!("{sql}: {e}"))? {
        answer @ Answer::Rows { .. } => Ok(answer.rows()),
        other => Err(format!("{sql}: {other:?}")),
    }
}

pub fn execute(client: &mut Client, sql: &str) -> Result<(), String> {
    match client.try_query(sql).map_err(|e| format!("{sql}: {e}"))? {
        Answer::Ok { .. } => Ok(()),
        other => Err(format!("{sql}: {other:?}")),
    }
}
