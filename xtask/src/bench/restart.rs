//! `cargo xtask bench restart`: `kill -9` under full write load, and the time until the first query is answered again.
//!
//! Each round: sysbench's oltp_write_only with 64 threads for some seconds, kill, start. Two times are taken from the spawn:
//! until `SELECT 1` is answered, and until a row of a table that was written is read. What the tables hold is then counted.

use std::time::{Duration, Instant};

use super::outcome::{Better, Outcome, Table, Target};
use super::server::{Kind, Server, Start};
use super::settings::{Options, Settings};
use super::sysbench::call::{self, Size};

const ANSWER: &str = "first query answered";
const ROW: &str = "first row read";
const CLEAN: &str = "start after a clean stop";

struct Plan {
    threads: u64,
    seconds: u64,
    size: Size,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("restart", args);
    let plan = Plan {
        threads: options.number("--threads", 64, 64)?,
        seconds: options.number("--seconds", 10, 2)?.max(1),
        size: Size { tables: options.number("--tables", 4, 1)?, rows: options.number("--rows", 250_000, 50_000)? },
    };
    let settings = options.finish(5, 2)?;
    let mut outcome = Outcome::new("Start after kill -9");
    outcome.setting(format!(
        "{}, oltp_write_only, {} threads for {} s on {} tables of {} rows, then `kill -9`; each server alone, one after the other.",
        call::version()?,
        plan.threads,
        plan.seconds,
        plan.size.tables,
        plan.size.rows
    ));
    let mut seconds = Table::new("Time from the spawn", "s", Better::Less);
    seconds.row(ANSWER, Target::AtMost(1.0));
    seconds.row(ROW, Target::AtMost(1.0));
    seconds.row(CLEAN, Target::AtMost(1.0));
    for kind in &settings.servers {
        let done = one_server(*kind, &settings, &plan, &mut outcome, &mut seconds);
        outcome.note_failure(*kind, done);
    }
    outcome.tables = vec![seconds];
    outcome.finish(&settings)
}

fn one_server(kind: Kind, settings: &Settings, plan: &Plan, outcome: &mut Outcome, seconds: &mut Table) -> Result<(), String> {
    println!("{}: filling {} tables of {} rows", kind.title(), plan.size.tables, plan.size.rows);
    let mut server = Server::start_empty(kind, Start::default())?;
    outcome.version(kind, server.version()?);
    call::prepare(&server.login(), plan.size)?;
    for _ in 0..settings.runs {
        let mut load = call::spawn(&server.login(), "oltp_write_only", plan.size, plan.threads, plan.seconds + 60)?;
        std::thread::sleep(Duration::from_secs(plan.seconds));
        // It must have been writing until now.
        let early = load.has_ended()?;
        server.kill()?;
        let report = load.wait()?;
        if early {
            return Err(format!("sysbench ended before the kill: {report}"));
        }
        let spawned = Instant::now();
        server = Server::start(kind)?;
        let mut conn = server.connect()?;
        conn.value("SELECT c FROM sbtest1 ORDER BY id LIMIT 1")?;
        let (answer, row) = (server.start_time.as_secs_f64(), spawned.elapsed().as_secs_f64());
        println!("{:16} first answer {answer:7.3} s  first row {row:7.3} s", kind.title());
        seconds.add(ANSWER, kind, answer);
        seconds.add(ROW, kind, row);
        for table in 1..=plan.size.tables {
            // write_only deletes a row and inserts it again, in one transaction.
            conn.expect(&format!("SELECT COUNT(*) FROM sbtest{table}"), &plan.size.rows.to_string())?;
        }
    }
    server.stop()?;
    let server = Server::start(kind)?;
    seconds.add(CLEAN, kind, server.start_time.as_secs_f64());
    server.clean_up()
}
