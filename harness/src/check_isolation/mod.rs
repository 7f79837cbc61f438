//! `cargo harness check-isolation`: clients run transactions on a server, and what they saw is checked for anomalies.
//!
//! Lists, registers and predicates are recorded as a history, which `vaquita_checker` judges; the bank, monotonic
//! atomic view and non-repeatable reads (as in Jepsen's tests of MySQL) and moving pieces are judged by the transactions themselves.
//! With `--kill-every` the server is killed and restarted meanwhile: what was in its COMMIT then has an unknown outcome.
//!
//! `--plant` spoils one transaction of fifty *on the client's side*: the harness must then find something.
//! The seed decides what the transactions do, not how they interleave.

mod judged;
mod moves;
mod recorded;
mod session;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use vaquita_checker::{Builder, Level, Options, Report, check, load};

use crate::client::Client;
use crate::flags::Flags;
use crate::paths;
use crate::random::Random;
use crate::vaquita::{PASSWORD, Vaquita, free_port};
use session::{Counts, Session, Stop};

const DATABASE: &str = "checker_isolation";
/// Where the server to test is.
struct Address {
    host: String,
    port: u16,
    user: String,
    password: String,
}

impl Address {
    fn connect(&self) -> std::io::Result<Client> {
        Client::connect_to(&self.host, self.port, &self.user, &self.password)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Plant {
    /// A list or register is read, and overwritten by another transaction.
    LostUpdate,
    /// Each statement is a transaction of its own.
    NoTransaction,
    /// ROLLBACK is taken for COMMIT.
    ForgottenCommit,
}

/// One transaction of so many is spoiled.
const PLANT_ONE_IN: u64 = 50;

/// What the threads of a run share.
struct Run {
    address: Address,
    level: Level,
    plant: Option<Plant>,
    transactions: u64,
    clients: u64,
    seed: u64,
    /// The moments of the history.
    clock: AtomicU64,
    next_process: AtomicU64,
    counts: Counts,
    history: Mutex<Builder>,
    /// What the workloads judge themselves.
    report: Mutex<Report>,
    ended: AtomicBool,
    workload: Box<dyn Workload>,
}

/// What clients do. Everything shared lives in the implementation.
trait Workload: Send + Sync {
    /// Creates tables and rows, on a new database.
    fn create(&self, client: &mut Session) -> Result<(), Stop>;
    /// One transaction, recorded or judged.
    fn transact(&self, session: &mut Session) -> Result<(), Stop>;
    /// Reads all that was written, when all clients have ended.
    fn read_all(&self, session: &mut Session) -> Result<(), Stop>;
}

fn workload(name: &str, level: Level) -> Result<Box<dyn Workload>, String> {
    Ok(match name {
        "list-append" => Box::new(recorded::ListAppend::new()),
        "register" => Box::new(recorded::Register::new()),
        "predicate" => Box::new(recorded::Predicate::new()),
        "bank" => Box::new(judged::Bank { level }),
        "mav" => Box::new(judged::MonotonicView),
        "moves" => Box::new(moves::Moves { level }),
        "nonrepeatable" => Box::new(judged::NonRepeatable { level }),
        _ => return Err(format!("no workload {name}")),
    })
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let name = flags.text("--workload")?.ok_or("--workload is missing")?;
    let level = flags.text("--level")?.ok_or("--level is missing")?;
    let level = Level::parse(&level).ok_or_else(|| format!("no level {level}: RC, RR or SER"))?;
    let seed = flags.number("--seed", now)?;
    let transactions = flags.number("--transactions", 20_000)?;
    let clients = flags.number("--clients", 16)?.max(1);
    let kill_every = flags.number("--kill-every", 0)?;
    let plant = match flags.text("--plant")?.as_deref() {
        None => None,
        Some("lost-update") => Some(Plant::LostUpdate),
        Some("no-transaction") => Some(Plant::NoTransaction),
        Some("forgotten-commit") => Some(Plant::ForgottenCommit),
        Some(other) => return Err(format!("no plant {other}")),
    };
    let file = flags.text("--history")?.map(PathBuf::from);
    let port = flags.number("--port", 0)?;
    let host = flags.text("--host")?;
    let user = flags.text("--user")?.unwrap_or("root".into());
    let password = flags.text("--password")?.unwrap_or_default();
    flags.finish()?;
    let remote = host.is_some() || port != 0;
    if remote && kill_every != 0 {
        return Err("--kill-every is for a server that was started here".into());
    }
    let dir = paths::target_dir().join(format!("check-isolation/{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut server = Server { dir: dir.clone(), port: free_port()?, process: None, start_ms_max: 0 };
    let address = if remote {
        let port = if port == 0 { 3306 } else { u16::try_from(port).map_err(|_| "--port is out of range")? };
        Address { host: host.unwrap_or("127.0.0.1".into()), port, user, password }
    } else {
        server.start()?;
        Address { host: "127.0.0.1".into(), port: server.port, user: "root".into(), password: PASSWORD.into() }
    };
    let run = Run {
        address,
        level,
        plant,
        transactions,
        clients,
        seed,
        clock: AtomicU64::new(1),
        next_process: AtomicU64::new(clients),
        counts: Counts::default(),
        history: Mutex::new(Builder::new()),
        report: Mutex::new(Report::default()),
        ended: AtomicBool::new(false),
        workload: workload(&name, level)?,
    };
    println!("check-isolation: {name} at {}, {transactions} transactions, {clients} clients, seed {seed}", level.sql());
    let again = format!("again: cargo harness check-isolation {}", with_seed(args, seed));
    let done = run.run(&mut server, kill_every).and_then(|()| run.judge(file, &dir));
    if let Some(process) = server.process.take() {
        process.stop()?;
    }
    match done {
        Ok(()) => std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display())),
        Err(text) => Err(format!("FAILED: {text}\ndata: {}\n{again}", dir.display())),
    }
}

fn with_seed(args: &[String], seed: u64) -> String {
    let mut args = args.to_vec();
    if !args.iter().any(|arg| arg.starts_with("--seed")) {
        args.extend(["--seed".to_string(), seed.to_string()]);
    }
    args.join(" ")
}

/// The server that was started here.
struct Server {
    dir: PathBuf,
    port: u16,
    process: Option<Vaquita>,
    start_ms_max: u128,
}

impl Server {
    fn start(&mut self) -> Result<(), String> {
        let process = Vaquita::start(&paths::vaquita()?, &self.dir.join("data"), self.port, &self.dir.join("server.log"))?;
        self.start_ms_max = self.start_ms_max.max(process.start_time.as_millis());
        self.process = Some(process);
        Ok(())
    }

    fn kill_and_start(&mut self) -> Result<(), String> {
        if let Some(process) = self.process.take() {
            process.kill()?;
        }
        self.start()
    }
}

impl Run {
    fn run(&self, server: &mut Server, kill_every: u64) -> Result<(), String> {
        let failed = |stop: Stop| stop.to_string();
        let mut session = Session::new(self, u64::MAX);
        session.create_database(DATABASE).map_err(failed)?;
        self.workload.create(&mut session).map_err(failed)?;
        let start = Instant::now();
        let (mut kills, mut results) = (0, Vec::new());
        thread::scope(|scope| {
            let threads: Vec<_> = (0..self.clients).map(|number| scope.spawn(move || self.client(number))).collect();
            let mut next_kill = Duration::from_secs(kill_every);
            while kill_every != 0 && !threads.iter().all(|thread| thread.is_finished()) {
                thread::sleep(Duration::from_millis(20));
                if start.elapsed() >= next_kill {
                    kills += 1;
                    if let Err(text) = server.kill_and_start() {
                        results.push(Err(text));
                        self.ended.store(true, Ordering::Release);
                        break;
                    }
                    next_kill = start.elapsed() + Duration::from_secs(kill_every);
                }
            }
            results.extend(threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a client panicked".into()))));
        });
        results.into_iter().collect::<Result<(), String>>()?;
        let seconds = start.elapsed().as_secs_f64();
        println!("{}; {kills} kills, {seconds:.1} s, restart at most {} ms", self.counts, server.start_ms_max);
        self.workload.read_all(&mut session).map_err(failed)?;
        session.drop_database(DATABASE).map_err(failed)
    }

    fn client(&self, number: u64) -> Result<(), String> {
        let mut session = Session::new(self, number);
        while self.counts.ok() < self.transactions && !self.ended.load(Ordering::Acquire) {
            if let Err(stop) = self.workload.transact(&mut session) {
                self.ended.store(true, Ordering::Release);
                return Err(stop.to_string());
            }
        }
        Ok(())
    }

    /// Checks the history; fails if the level forbids anything of it.
    fn judge(&self, file: Option<PathBuf>, dir: &std::path::Path) -> Result<(), String> {
        let panicked = "a client panicked".to_string();
        let builder = std::mem::take(&mut *self.history.lock().map_err(|_| panicked.clone())?);
        let recorded = builder.txn_count() > 0;
        let history = builder.finish()?;
        let start = Instant::now();
        let judged = std::mem::take(&mut *self.report.lock().map_err(|_| panicked)?);
        let report = if recorded { check(&history, &Options::default()) } else { judged };
        let seconds = start.elapsed().as_secs_f64();
        let counts: Vec<String> = report.counts().map(|(name, count)| format!("{name} {count}")).collect();
        let found = if counts.is_empty() { "no anomaly".to_string() } else { counts.join(", ") };
        println!("checked in {seconds:.1} s: {found}");
        for gap in &report.gaps {
            println!("not searched to the end: {gap}");
        }
        let forbidden: Vec<String> = report
            .forbidden(self.level)
            .map(|finding| format!("{}: {}", vaquita_checker::name(finding.kind, finding.order), finding.text.trim_end()))
            .collect();
        let file = file.or_else(|| (recorded && !forbidden.is_empty()).then(|| dir.join("history.edn")));
        if let Some(file) = file {
            std::fs::write(&file, load::to_edn(&history)).map_err(|e| format!("{}: {e}", file.display()))?;
            println!("history: {}", file.display());
        }
        if forbidden.is_empty() {
            println!("nothing that {} forbids", self.level.sql());
            return Ok(());
        }
        const SHOWN: usize = 6;
        let shown = forbidden.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n\n");
        Err(format!("{} forbids these ({} examples, {found}):\n\n{shown}\n", self.level.sql(), forbidden.len()))
    }

    fn random(&self, number: u64) -> Random {
        Random::new(self.seed.wrapping_mul(1_000_003).wrapping_add(number))
    }
}
