//! `cargo xtask bench replica`: how fast replicas of a MySQL carry out what it has logged, and how far they are behind it under load.
//!
//! The source is MySQL (tools/peers.sh), the replicas are Vaquita and a second MySQL of the same options, which syncs its commits and its
//! binary log as the source does. Each run:
//!
//! 1. sysbench's oltp_write_only fills the source's log, with no replica attached: the *backlog*.
//! 2. Each replica in turn, empty and alone with the source, follows by GTID from the first transaction. Its time is from START REPLICA
//!    until WAIT_FOR_EXECUTED_GTID_SET.
//! 3. The load runs again while the replica follows. A row is counted up on the source every few milliseconds; the *lag* of a count is the
//!    time from the answer of its commit on the source until the replica shows it.
//!
//! At the end, checksums of source and replica are compared.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::outcome::{Better, Outcome, Table, Target};
use super::server::{Kind, Server, Start};
use super::settings::{Options, Settings};
use super::sql::Conn;
use super::sysbench::call::{self, Login, Size};
use crate::paths;

const APPLIED: &str = "oltp_write_only applied";
const WRITTEN: &str = "oltp_write_only written by the source";
const MEDIAN: &str = "median";
const P99: &str = "99%";
/// Of the MySQL that is a replica.
const REPLICA_PORT: u16 = 13316;
/// Between two counts of the row that is watched.
const BEAT: Duration = Duration::from_millis(5);
const CATCH_UP_SECONDS_MAX: u64 = 1200;
const SOURCE_USER: &str = "sb";

struct Plan {
    threads: u64,
    seconds: u64,
    lag_seconds: u64,
    size: Size,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("replica", args);
    let plan = Plan {
        threads: options.number("--threads", 64, 16)?,
        seconds: options.number("--seconds", 120, 5)?.max(1),
        lag_seconds: options.number("--lag-seconds", 30, 5)?.max(1),
        size: Size { tables: options.number("--tables", 4, 2)?, rows: options.number("--rows", 100_000, 10_000)? },
    };
    let settings = options.finish(3, 1)?;
    let mut outcome = Outcome::new("Replicas of MySQL");
    outcome.setting(format!(
        "{}, oltp_write_only, {} threads for {} s on {} tables of {} rows, one schema; GTIDs, rows, `binlog_row_image=FULL`; replicas durable, \
         each alone with the source; lag under the same load for {} s.",
        call::version()?,
        plan.threads,
        plan.seconds,
        plan.size.tables,
        plan.size.rows,
        plan.lag_seconds,
    ));
    let mut rates = Table::new("A backlog", "transactions/s", Better::More);
    rates.row(APPLIED, Target::Peer(3.0));
    rates.row(WRITTEN, Target::None);
    let mut lags = Table::new("Lag under load", "ms", Better::Less);
    lags.row(MEDIAN, Target::None);
    lags.row(P99, Target::AtMost(100.0));
    for _ in 0..settings.runs {
        one_run(&settings, &plan, &mut outcome, &mut rates, &mut lags)?;
    }
    outcome.tables = vec![rates, lags];
    outcome.finish(&settings)
}

fn one_run(settings: &Settings, plan: &Plan, outcome: &mut Outcome, rates: &mut Table, lags: &mut Table) -> Result<(), String> {
    let source = Server::start_empty(Kind::MySql, Start::default())?;
    outcome.version(Kind::MySql, source.version()?);
    let login = source.login();
    let mut sql = Conn::to(login.port, login.user, login.password)?;
    call::prepare(&login, plan.size)?;
    sql.run("CREATE TABLE sbtest.beat (id INT PRIMARY KEY, n BIGINT)")?;
    sql.run("INSERT INTO sbtest.beat VALUES (1, 0)")?;
    let before = executed_count(&sql.value("SELECT @@gtid_executed")?);
    let written = call::run(&login, "oltp_write_only", plan.size, plan.threads, plan.seconds)?;
    rates.add(WRITTEN, Kind::MySql, written.transactions as f64 / plan.seconds as f64);
    for kind in settings.servers.iter().copied().filter(|kind| matches!(kind, Kind::MySql | Kind::Vaquita)) {
        let done = one_replica(kind, plan, &source, &mut sql, outcome, (rates, lags), before);
        outcome.note_failure(kind, done);
    }
    source.clean_up()
}

fn one_replica(
    kind: Kind,
    plan: &Plan,
    source: &Server,
    source_sql: &mut Conn,
    outcome: &mut Outcome,
    (rates, lags): (&mut Table, &mut Table),
    before_backlog: u64,
) -> Result<(), String> {
    let replica = Replica::start(kind)?;
    if let Some(version) = replica.version()? {
        outcome.version(kind, version);
    }
    let mut sql = replica.sql()?;
    let login = source.login();
    sql.run(&format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {}, SOURCE_USER = '{SOURCE_USER}', SOURCE_PASSWORD = '{}', \
         SOURCE_SSL = 1, SOURCE_AUTO_POSITION = 1",
        login.port, login.password
    ))?;
    // What fills the tables is not measured.
    let until = source_sql.value("SELECT @@gtid_executed")?;
    let filled = first_transactions(&until, before_backlog);
    sql.run(&format!("START REPLICA UNTIL SQL_AFTER_GTIDS = '{filled}'"))?;
    wait_for(&mut sql, &filled)?;
    sql.run("STOP REPLICA")?;
    let backlog = executed_count(&until) - before_backlog;
    let started = Instant::now();
    sql.run("START REPLICA")?;
    wait_for(&mut sql, &until)?;
    let rate = backlog as f64 / started.elapsed().as_secs_f64();
    println!("{:16} {backlog} transactions, {rate:.0} a second", kind.title());
    rates.add(APPLIED, kind, rate);
    let mut found = lag(plan, &login, &replica)?;
    found.sort_by(f64::total_cmp);
    let at = |share: f64| found.get(((found.len() as f64 * share) as usize).min(found.len().saturating_sub(1))).copied();
    let (Some(median), Some(p99)) = (at(0.5), at(0.99)) else { return Err("no count was seen".into()) };
    println!("{:16} lag: median {median:.1} ms, 99% {p99:.1} ms of {} counts", kind.title(), found.len());
    lags.add(MEDIAN, kind, median);
    lags.add(P99, kind, p99);
    let until = source_sql.value("SELECT @@gtid_executed")?;
    wait_for(&mut sql, &until)?;
    for table in 1..=plan.size.tables {
        let checksum = format!("CHECKSUM TABLE sbtest.sbtest{table}");
        let (ours, theirs) = (sql.row(&checksum)?, source_sql.row(&checksum)?);
        if ours != theirs {
            return Err(format!("{checksum}: {ours:?} on the replica, {theirs:?} on the source"));
        }
    }
    sql.run("STOP REPLICA")?;
    sql.run("RESET REPLICA ALL")?;
    replica.stop()
}

/// Milliseconds of each count that was seen.
fn lag(plan: &Plan, source: &Login, replica: &Replica) -> Result<Vec<f64>, String> {
    let mut load = call::spawn(source, "oltp_write_only", plan.size, plan.threads, plan.lag_seconds)?;
    // By count: when its commit was answered.
    let committed: Mutex<Vec<Instant>> = Mutex::default();
    let ended = AtomicBool::new(false);
    let mut beats = Conn::to(source.port, source.user, source.password)?;
    let first: u64 = number(&beats.value("SELECT n FROM sbtest.beat")?)?;
    let mut shown = replica.sql()?;
    let found = std::thread::scope(|scope| {
        let writer = scope.spawn(|| -> Result<(), String> {
            while !ended.load(Ordering::Relaxed) {
                beats.run("UPDATE sbtest.beat SET n = n + 1")?;
                committed.lock().map_err(|_| "a thread has panicked")?.push(Instant::now());
                std::thread::sleep(BEAT);
            }
            Ok(())
        });
        let reader = scope.spawn(|| -> Result<Vec<f64>, String> {
            let (mut lags, mut seen) = (Vec::new(), first);
            while !ended.load(Ordering::Relaxed) {
                let n = number(&shown.value("SELECT n FROM sbtest.beat")?)?;
                let now = Instant::now();
                let committed = committed.lock().map_err(|_| "a thread has panicked")?;
                for count in seen..n {
                    // Shown before the source's answer has been noted: no lag.
                    let at = committed.get((count - first) as usize).copied().unwrap_or(now);
                    lags.push(now.saturating_duration_since(at).as_secs_f64() * 1e3);
                }
                drop(committed);
                seen = n.max(seen);
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(lags)
        });
        while !load.has_ended()? {
            std::thread::sleep(Duration::from_millis(50));
        }
        ended.store(true, Ordering::Relaxed);
        let panicked = |_| "a thread has panicked".to_string();
        writer.join().map_err(panicked)??;
        reader.join().map_err(panicked)?
    });
    load.wait()?;
    found
}

enum Replica {
    Vaquita(Server),
    /// A second one, which `Server` does not know.
    MySql,
}

impl Replica {
    fn start(kind: Kind) -> Result<Replica, String> {
        if kind == Kind::Vaquita {
            let server = Server::start_empty(kind, Start::default())?;
            let replica = Replica::Vaquita(server);
            let mut sql = replica.sql()?;
            sql.run("SET GLOBAL server_id = 2")?;
            // Databases come from the source.
            sql.run("DROP DATABASE sbtest")?;
            sql.run("DROP DATABASE sbbulk")?;
            sql.run("RESET BINARY LOGS AND GTIDS")?;
            return Ok(replica);
        }
        peers("start", &["--server-id=2", "--skip-replica-start"])?;
        let mut sql = Replica::MySql.sql()?;
        for database in ["sbtest", "sbbulk"] {
            sql.run(&format!("DROP DATABASE IF EXISTS {database}"))?;
        }
        sql.run("RESET BINARY LOGS AND GTIDS")?;
        Ok(Replica::MySql)
    }

    fn sql(&self) -> Result<Conn, String> {
        match self {
            Replica::Vaquita(server) => Conn::to(server.login().port, server.login().user, server.login().password),
            Replica::MySql => Conn::to(REPLICA_PORT, SOURCE_USER, SOURCE_USER),
        }
    }

    /// MySQL's is the source's.
    fn version(&self) -> Result<Option<String>, String> {
        match self {
            Replica::Vaquita(server) => server.version().map(Some),
            Replica::MySql => Ok(None),
        }
    }

    fn stop(self) -> Result<(), String> {
        match self {
            Replica::Vaquita(server) => server.clean_up(),
            Replica::MySql => peers("stop", &[]),
        }
    }
}

fn peers(command: &str, options: &[&str]) -> Result<(), String> {
    let mut script = Command::new(paths::repository().join("tools/peers.sh"));
    script.args([command, "mysql"]).args(options).env("MYSQL_PORT", REPLICA_PORT.to_string());
    let status = script.status().map_err(|e| format!("tools/peers.sh: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("tools/peers.sh {command} mysql: {status}")) }
}

fn wait_for(sql: &mut Conn, gtids: &str) -> Result<(), String> {
    let waited = sql.value(&format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtids}', {CATCH_UP_SECONDS_MAX})"))?;
    if waited == "0" {
        return Ok(());
    }
    let status = sql.row("SHOW REPLICA STATUS")?.join(" ");
    Err(format!("not caught up in {CATCH_UP_SECONDS_MAX} s: {status}"))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

/// Transactions of a set like `uuid:1-7`, which one server has made since it was emptied.
fn executed_count(gtids: &str) -> u64 {
    gtids.rsplit(['-', ':']).next().and_then(|last| last.parse().ok()).unwrap_or(0)
}

fn first_transactions(gtids: &str, count: u64) -> String {
    let uuid = gtids.split(':').next().unwrap_or_default();
    format!("{uuid}:1-{count}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_one_server_are_counted() {
        let uuid = "74f7b325-e9dd-11f1-b5bd-02fc00000001";
        assert_eq!(executed_count(&format!("{uuid}:1-172604")), 172_604);
        assert_eq!(executed_count(&format!("{uuid}:1")), 1);
        assert_eq!(executed_count(""), 0);
        assert_eq!(first_transactions(&format!("{uuid}:1-9"), 4), format!("{uuid}:1-4"));
    }
}
