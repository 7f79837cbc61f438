//! One client: it connects again after a crash of the server, runs transactions, and knows how each ended.
//!
//! A transaction that failed before its COMMIT was sent has not happened. If the connection breaks after that, nobody
//! knows: its outcome is unknown, and the client goes on as another process.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use vaquita_checker::{Mop, Outcome};

use super::{DATABASE, PLANT_ONE_IN, Plant, Run};
use crate::client::{Answer, Client};
use crate::random::Random;

/// A server that cannot be reached for so long is gone.
const CONNECT_MAX: Duration = Duration::from_secs(120);
const LOCK_WAIT_S: u64 = 5;

/// Why a run ends early.
#[derive(Debug)]
pub enum Stop {
    /// An error that a transaction may get: a deadlock, a conflict, a lock that was waited for too long.
    Refused(u16),
    /// The connection broke.
    Broken,
    /// Something that should not happen.
    Failed(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Refused(code) => write!(f, "error {code}"),
            Stop::Broken => write!(f, "the connection broke"),
            Stop::Failed(text) => write!(f, "{text}"),
        }
    }
}

#[derive(Default)]
pub struct Counts {
    ok: AtomicU64,
    failed: AtomicU64,
    unknown: AtomicU64,
    errors: Mutex<BTreeMap<u16, u64>>,
}

impl Counts {
    pub fn ok(&self) -> u64 {
        self.ok.load(Ordering::Relaxed)
    }

    fn error(&self, code: u16) {
        if let Ok(mut errors) = self.errors.lock() {
            *errors.entry(code).or_default() += 1;
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        write!(f, "{} committed, {} failed, {} unknown", load(&self.ok), load(&self.failed), load(&self.unknown))?;
        if let Ok(errors) = self.errors.lock() {
            for (code, count) in errors.iter() {
                write!(f, ", error {code} {count} times")?;
            }
        }
        Ok(())
    }
}

pub struct Session<'a> {
    pub run: &'a Run,
    pub random: Random,
    client: Option<Client>,
    process: u32,
}

/// A transaction under way. Writes are recorded before they are tried, reads when they are known.
pub struct Tx<'a> {
    client: &'a mut Client,
    pub mops: Vec<Mop>,
}

impl Tx<'_> {
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<String>>, Stop> {
        match ask(self.client, sql)? {
            answer @ Answer::Rows { .. } => Ok(answer.rows()),
            other => Err(Stop::Failed(format!("{sql}: {other:?}"))),
        }
    }

    /// The number of rows that were changed.
    pub fn run(&mut self, sql: &str) -> Result<u64, Stop> {
        match ask(self.client, sql)? {
            Answer::Ok { affected, .. } => Ok(affected),
            other => Err(Stop::Failed(format!("{sql}: {other:?}"))),
        }
    }
}

fn ask(client: &mut Client, sql: &str) -> Result<Answer, Stop> {
    match client.try_query(sql) {
        // Deadlock or conflict, lock wait, killed by a shutdown or by nobody.
        Ok(Answer::Err { code: code @ (1213 | 1205), .. }) => Err(Stop::Refused(code)),
        Ok(Answer::Err { code: 1053 | 1317 | 1927, .. }) => Err(Stop::Broken),
        Ok(Answer::Err { code, state, text }) => Err(Stop::Failed(format!("{sql}: error {code} ({state}): {text}"))),
        Ok(answer) => Ok(answer),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Err(Stop::Failed(format!("{sql}: no answer")))
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(Stop::Failed(format!("{sql}: {error}"))),
        Err(_) => Err(Stop::Broken),
    }
}

impl<'a> Session<'a> {
    pub fn new(run: &'a Run, number: u64) -> Session<'a> {
        Session { run, random: run.random(number), client: None, process: number as u32 }
    }

    fn connect(&mut self, database: bool) -> Result<&mut Client, Stop> {
        let start = Instant::now();
        while self.client.is_none() {
            match self.run.address.connect() {
                Ok(mut client) => {
                    let level = self.run.level.sql();
                    let timeout = format!("SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_S}");
                    let level = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
                    let using = database.then(|| format!("USE {DATABASE}"));
                    let mut done = Ok(());
                    for sql in [timeout, level].into_iter().chain(using) {
                        done = done.and_then(|()| ask(&mut client, &sql).map(|_| ()));
                    }
                    match done {
                        Ok(()) => self.client = Some(client),
                        Err(Stop::Broken) => {}
                        Err(stop) => return Err(stop),
                    }
                }
                Err(error) if start.elapsed() > CONNECT_MAX || self.run.ended.load(Ordering::Acquire) => {
                    return Err(Stop::Failed(format!("cannot connect: {error}")));
                }
                Err(_) => sleep(Duration::from_millis(20)),
            }
        }
        self.client.as_mut().ok_or(Stop::Broken)
    }

    pub fn create_database(&mut self, name: &str) -> Result<(), Stop> {
        let client = self.connect(false)?;
        for sql in [format!("DROP DATABASE IF EXISTS {name}"), format!("CREATE DATABASE {name}"), format!("USE {name}")] {
            ask(client, &sql)?;
        }
        Ok(())
    }

    pub fn drop_database(&mut self, name: &str) -> Result<(), Stop> {
        ask(self.connect(false)?, &format!("DROP DATABASE {name}")).map(|_| ())
    }

    /// A statement of its own that is no part of the history, and may be repeated.
    pub fn execute(&mut self, sql: &str) -> Result<(), Stop> {
        loop {
            let client = self.connect(true)?;
            match ask(client, sql) {
                Ok(_) => return Ok(()),
                Err(Stop::Broken) => self.client = None,
                Err(Stop::Refused(_)) => {}
                Err(stop) => return Err(stop),
            }
        }
    }

    /// One statement in autocommit, if it succeeded. A conflict with a snapshot is never shown there.
    pub fn alone(&mut self, sql: &str) -> Result<Option<Answer>, Stop> {
        let client = self.connect(true)?;
        let answer = client.try_query(sql);
        match answer {
            Ok(Answer::Err { code: 1213, text, .. }) if text.contains("snapshot conflict") => {
                Err(Stop::Failed(format!("{sql}: {text}, in autocommit")))
            }
            Ok(Answer::Err { code: code @ (1213 | 1205), .. }) => {
                self.run.counts.failed.fetch_add(1, Ordering::Relaxed);
                self.run.counts.error(code);
                Ok(None)
            }
            Ok(Answer::Err { code, text, .. }) => Err(Stop::Failed(format!("{sql}: error {code}: {text}"))),
            Ok(answer) => {
                self.run.counts.ok.fetch_add(1, Ordering::Relaxed);
                Ok(Some(answer))
            }
            Err(_) => {
                self.client = None;
                Ok(None)
            }
        }
    }

    /// Whether the next transaction is to be spoiled so.
    pub fn planted(&mut self, plant: Plant) -> bool {
        self.run.plant == Some(plant) && self.random.one_in(PLANT_ONE_IN)
    }

    /// Runs `body` in a transaction, and records what it did; returns its result if it committed.
    pub fn transaction<T>(&mut self, body: impl FnOnce(&mut Tx, &mut Random) -> Result<T, Stop>) -> Result<Option<T>, Stop> {
        let single = self.planted(Plant::NoTransaction);
        let forgotten = self.planted(Plant::ForgottenCommit);
        self.connect(true)?;
        let Some(mut client) = self.client.take() else { return Ok(None) };
        let invoke = self.run.clock.fetch_add(1, Ordering::SeqCst);
        let mut tx = Tx { client: &mut client, mops: Vec::new() };
        let begun = if single { Ok(0) } else { tx.run("START TRANSACTION") };
        let done = begun.and_then(|_| body(&mut tx, &mut self.random));
        let mops = std::mem::take(&mut tx.mops);
        let (outcome, result) = match done {
            Ok(result) if single => (Outcome::Ok, Ok(Some(result))),
            Ok(result) => match ask(&mut client, if forgotten { "ROLLBACK" } else { "COMMIT" }) {
                Ok(_) => (Outcome::Ok, Ok(Some(result))),
                Err(stop @ Stop::Broken) => (Outcome::Info, Err(stop)),
                Err(stop) => (Outcome::Fail, Err(stop)),
            },
            Err(stop) => (Outcome::Fail, Err(stop)),
        };
        let complete = self.run.clock.fetch_add(1, Ordering::SeqCst);
        // A planted transaction without BEGIN has done the part that was before its failure.
        let outcome = if single && outcome == Outcome::Fail { Outcome::Info } else { outcome };
        self.record(outcome, invoke, complete, mops)?;
        match result {
            Ok(result) => {
                self.client = Some(client);
                Ok(result)
            }
            Err(Stop::Refused(code)) => {
                self.run.counts.error(code);
                // A lock wait that ended leaves the transaction open.
                if ask(&mut client, "ROLLBACK").is_ok() {
                    self.client = Some(client);
                }
                Ok(None)
            }
            Err(Stop::Broken) => Ok(None),
            Err(stop) => Err(stop),
        }
    }

    fn record(&mut self, outcome: Outcome, invoke: u64, complete: u64, mut mops: Vec<Mop>) -> Result<(), Stop> {
        let counts = &self.run.counts;
        let count = match outcome {
            Outcome::Ok => &counts.ok,
            Outcome::Fail => &counts.failed,
            Outcome::Info => &counts.unknown,
        };
        count.fetch_add(1, Ordering::Relaxed);
        let process = self.process;
        if outcome == Outcome::Info {
            self.process = self.run.next_process.fetch_add(1, Ordering::Relaxed) as u32;
        }
        if mops.is_empty() {
            return Ok(());
        }
        let mut history = self.run.history.lock().map_err(|_| Stop::Failed("a client panicked".into()))?;
        for mop in &mut mops {
            let (Mop::Append(key, _)
            | Mop::ReadList(key, _)
            | Mop::Write(key, _)
            | Mop::Read(key, _)
            | Mop::Add(key, _)
            | Mop::ReadSet(key, _)) = mop;
            *key = history.key(&key.to_string());
        }
        let label = history.txn_count() as u32;
        history.push(label, process, outcome, invoke, Some(complete), &mops);
        Ok(())
    }
}
