//! `cargo xtask bench latency`: how long point reads take while the server works on something large.
//!
//! Four connections read a row by its key, each at fixed times, a thousand reads a second in all, so that the machine is not
//! full and a pause is seen by all the reads that it delays: a read that could not be sent because the one before was not
//! answered is counted from when it was due. First nothing else runs, then one piece of work after the other, each again and
//! again for at least the time of a phase.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::outcome::{Better, Outcome, Table, Target};
use super::server::{Kind, Server, Start};
use super::settings::Options;
use super::sql::Conn;
use super::stats::Histogram;
use super::sysbench::call::{self, Size};
use crate::random::Random;

const READERS: u64 = 4;
const READS_PER_SECOND: u64 = 1000;
const QUIET: &str = "quiet";

struct Work {
    name: &'static str,
    /// What runs before each time, unmeasured.
    before: &'static [&'static str],
    sql: &'static str,
}

const WORK: [Work; 4] = [
    Work { name: "full scan", before: &[], sql: "SELECT COUNT(*) FROM sbtest2 WHERE pad LIKE '%12345678901234567890%'" },
    Work { name: "OPTIMIZE TABLE", before: &[], sql: "OPTIMIZE TABLE sbtest2" },
    Work { name: "CREATE INDEX", before: &["ALTER TABLE sbtest2 DROP INDEX made"], sql: "CREATE INDEX made ON sbtest2 (c)" },
    Work {
        name: "DROP TABLE",
        before: &["CREATE TABLE dropped LIKE sbtest2", "INSERT INTO dropped SELECT * FROM sbtest2"],
        sql: "DROP TABLE dropped",
    },
];

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("latency", args);
    let rows = options.number("--rows", 500_000, 50_000)?;
    let phase = Duration::from_secs(options.number("--seconds", 15, 1)?.max(1));
    let settings = options.finish(1, 1)?;
    let mut outcome = Outcome::new("Latency of point reads beside large work");
    outcome.setting(format!(
        "{READS_PER_SECOND} reads by key a second on {READERS} connections, on one of two sysbench tables of {rows} rows, while another \
         connection works on the other one, for at least {} s each. A read that had to wait for the one before counts from when it was due.",
        phase.as_secs()
    ));
    let mut tables = [
        Table::new("99.9th percentile, times the quiet one", "", Better::Less),
        Table::new("99.9th percentile", "ms", Better::Less),
        Table::new("Slowest read", "ms", Better::Less),
        Table::new("Time of the work", "s", Better::Less).note("While the reads ran; median of its runs in a phase."),
    ];
    for work in &WORK {
        tables[0].row(work.name, Target::AtMost(3.0));
    }
    for run in 0..settings.runs {
        for kind in &settings.servers {
            println!("{}: run {}", kind.title(), run + 1);
            let done = one_server(*kind, rows, phase, &mut outcome, &mut tables);
            outcome.note_failure(*kind, done);
        }
    }
    outcome.tables = tables.into();
    outcome.finish(&settings)
}

fn one_server(kind: Kind, rows: u64, phase: Duration, outcome: &mut Outcome, tables: &mut [Table; 4]) -> Result<(), String> {
    let server = Server::start_empty(kind, Start::default())?;
    outcome.version(kind, server.version()?);
    call::prepare(&server.login(), Size { tables: 2, rows })?;
    let mut conn = server.connect()?;
    conn.run("ALTER TABLE sbtest2 ADD INDEX made (k)")?;
    server.settle()?;
    // Warms up.
    beside(&server, rows, || sleep(phase / 2))?;
    let (quiet, ()) = beside(&server, rows, || sleep(phase))?;
    let quiet_ms = quiet.percentile_ms(99.9);
    note(kind, QUIET, &quiet, tables);
    for work in &WORK {
        let mut latency = Histogram::default();
        let end = Instant::now() + phase;
        let mut times = 0;
        while times == 0 || Instant::now() < end {
            for sql in work.before {
                conn.run(sql)?;
            }
            let (found, time) = beside(&server, rows, || timed(&mut conn, work.sql))?;
            latency.merge(&found);
            tables[3].add(work.name, kind, time.as_secs_f64());
            times += 1;
        }
        note(kind, work.name, &latency, tables);
        tables[0].add(work.name, kind, latency.percentile_ms(99.9) / quiet_ms.max(1e-3));
    }
    drop(conn);
    server.clean_up()
}

fn sleep(time: Duration) -> Result<(), String> {
    std::thread::sleep(time);
    Ok(())
}

fn timed(conn: &mut Conn, sql: &str) -> Result<Duration, String> {
    let start = Instant::now();
    conn.run(sql)?;
    Ok(start.elapsed())
}

fn note(kind: Kind, name: &str, latency: &Histogram, tables: &mut [Table; 4]) {
    let p999_ms = latency.percentile_ms(99.9);
    println!(
        "{:16} {name:16} {:8} reads  p99.9 {p999_ms:8.2} ms  slowest {:8.2} ms",
        kind.title(),
        latency.count(),
        latency.max_ms()
    );
    tables[1].add(name, kind, p999_ms);
    tables[2].add(name, kind, latency.max_ms());
}

/// Does `work` while readers read.
fn beside<T>(server: &Server, rows: u64, work: impl FnOnce() -> Result<T, String>) -> Result<(Histogram, T), String> {
    let stop = AtomicBool::new(false);
    let mut conns = (0..READERS).map(|_| server.connect()).collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        let stop = &stop;
        let readers: Vec<_> =
            conns.drain(..).zip(1..).map(|(conn, number)| scope.spawn(move || read(conn, number, rows, stop))).collect();
        let done = work();
        stop.store(true, Ordering::Release);
        let mut latency = Histogram::default();
        for reader in readers {
            latency.merge(&reader.join().unwrap_or_else(|_| Err("a reader panicked".into()))?);
        }
        Ok((latency, done?))
    })
}

fn read(mut conn: Conn, number: u64, rows: u64, stop: &AtomicBool) -> Result<Histogram, String> {
    let interval = Duration::from_micros(1_000_000 * READERS / READS_PER_SECOND);
    let mut random = Random::new(number);
    let mut latency = Histogram::default();
    let mut due = Instant::now() + interval * number as u32 / READERS as u32;
    while !stop.load(Ordering::Acquire) {
        let now = Instant::now();
        if now < due {
            std::thread::sleep(due - now);
        }
        // The sleep's own lateness is not the server's.
        let from = if now < due { Instant::now() } else { due };
        let sql = format!("SELECT c FROM sbtest1 WHERE id = {}", 1 + random.below(rows));
        if conn.rows(&sql)?.len() != 1 {
            return Err(format!("{sql}: not one row"));
        }
        latency.add(from.elapsed());
        due += interval;
    }
    Ok(latency)
}
