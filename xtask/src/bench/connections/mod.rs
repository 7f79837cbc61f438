//! `cargo xtask bench connections`: point selects on 64 connections, on 64 of ten thousand, and on all ten thousand.
//!
//! Every connection has prepared the statement. An active one sends the next query as soon as it has the answer, from one thread
//! of this program (`active`). Resident memory of the server before and after the idle ones connected gives the cost of one.

mod active;
mod answer;

use std::net::TcpStream;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::outcome::{Better, Outcome, Table, Target};
use super::process;
use super::server::{Kind, Server, Start};
use super::settings::{Options, Settings};
use super::stats::Histogram;
use super::sysbench::call::{self, Size};
use crate::client::Client;

/// Descriptors of this program beside the connections.
const FILES_BESIDE: u64 = 100;
const SETTLE: Duration = Duration::from_secs(1);

struct Plan {
    connections: u64,
    active: u64,
    seconds: u64,
    rows: u64,
}

/// One connection, with its prepared statement.
pub struct Session {
    stream: TcpStream,
    statement: u32,
}

pub struct Measured {
    per_second: f64,
    latency: Histogram,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("connections", args);
    let plan = Plan {
        connections: options.number("--connections", 10_000, 500)?,
        active: options.number("--active", 64, 64)?.max(1),
        seconds: options.number("--seconds", 10, 2)?,
        rows: options.number("--rows", 250_000, 20_000)?,
    };
    let settings = options.finish(3, 1)?;
    raise_file_limit(plan.connections + FILES_BESIDE)?;
    let (few, some, all) = row_names(&plan);
    let mut outcome = Outcome::new("Many connections");
    outcome.setting(format!(
        "Prepared point selects (COM_STMT_EXECUTE) on a table of {} rows that is in memory, {} s each; an active connection \
         sends the next one when it has the answer. The client is one thread with epoll. Each server alone, one after the other.",
        plan.rows, plan.seconds
    ));
    let mut tables = [
        Table::new("Throughput", "queries/s", Better::More),
        Table::new("Throughput relative to few connections", "", Better::More).note("Of the same server in the same run."),
        Table::new("99.9th percentile", "ms", Better::Less),
        Table::new("CPU time of the server", "µs a query", Better::Less),
        Table::new("Memory", "KiB", Better::Less),
    ];
    tables[0].row(&few, Target::Peer(2.0));
    tables[1].row(&some, Target::AtLeast(0.9));
    tables[1].row(&all, Target::AtLeast(0.9));
    tables[4].row(IDLE, Target::AtMost(20.0));
    for _ in 0..settings.runs {
        for kind in &settings.servers {
            let done = one_server(*kind, &settings, &plan, &mut outcome, &mut tables);
            outcome.note_failure(*kind, done);
        }
    }
    outcome.tables = tables.into();
    outcome.finish(&settings)
}

const IDLE: &str = "resident, an idle connection";

fn row_names(plan: &Plan) -> (String, String, String) {
    (
        format!("{0} connections, all active", plan.active),
        format!("{} connections, {} active", plan.connections, plan.active),
        format!("{0} connections, all active", plan.connections),
    )
}

/// So many descriptors must be had.
fn raise_file_limit(needed: u64) -> Result<(), String> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(limit.maximum.map_or(needed, |maximum| maximum.min(needed))), maximum: limit.maximum };
    if raised.current < Some(needed) {
        return Err(format!(
            "{needed} connections need as many file descriptors; the hard limit is {:?}: see ulimit -Hn",
            limit.maximum
        ));
    }
    setrlimit(Resource::Nofile, raised).map_err(|e| format!("cannot raise the limit of file descriptors to {needed}: {e}"))
}

fn one_server(
    kind: Kind,
    settings: &Settings,
    plan: &Plan,
    outcome: &mut Outcome,
    tables: &mut [Table; 5],
) -> Result<(), String> {
    println!("{}: filling {} rows", kind.title(), plan.rows);
    let server = Server::start_empty(kind, Start::default())?;
    outcome.version(kind, server.version()?);
    call::prepare(&server.login(), Size { tables: 1, rows: plan.rows })?;
    server.settle()?;
    let (few, some, all) = row_names(plan);
    let mut sessions = open(&server, plan.active)?;
    if !settings.quick {
        active::run(&mut sessions, plan.rows, Duration::from_secs(3))?;
    }
    let mut phase = |name: &str, sessions: &mut [Session]| -> Result<f64, String> {
        let cpu = process::cpu_us(server.pid())?;
        let measured = active::run(sessions, plan.rows, Duration::from_secs(plan.seconds))?;
        let cpu_us = (process::cpu_us(server.pid())? - cpu) as f64 / measured.latency.count().max(1) as f64;
        let p999_ms = measured.latency.percentile_ms(99.9);
        println!("{:16} {name:34} {:9.0} /s  p99.9 {p999_ms:8.2} ms", kind.title(), measured.per_second);
        tables[0].add(name, kind, measured.per_second);
        tables[2].add(name, kind, p999_ms);
        tables[3].add(name, kind, cpu_us);
        Ok(measured.per_second)
    };
    let base = phase(&few, &mut sessions)?;
    std::thread::sleep(SETTLE);
    let before = process::memory_bytes(server.pid(), "VmRSS");
    let idle = plan.connections.saturating_sub(plan.active);
    let idle_sessions = open(&server, idle)?;
    std::thread::sleep(SETTLE);
    let after = process::memory_bytes(server.pid(), "VmRSS");
    let some_rate = phase(&some, &mut sessions)?;
    sessions.extend(idle_sessions);
    let all_rate = phase(&all, &mut sessions)?;
    tables[1].add(&some, kind, some_rate / base.max(1e-9));
    tables[1].add(&all, kind, all_rate / base.max(1e-9));
    tables[4].add(IDLE, kind, after.saturating_sub(before) as f64 / 1024.0 / idle.max(1) as f64);
    drop(sessions);
    server.clean_up()
}

fn open(server: &Server, count: u64) -> Result<Vec<Session>, String> {
    let login = server.login();
    let one = |number: u64| -> std::io::Result<Session> {
        let mut client = Client::connect(login.port, login.user, login.password)?;
        client.set_timeout(Duration::from_secs(120))?;
        let sql = format!("SELECT c FROM {}.sbtest1 WHERE id = ?", login.database);
        client.command(&[&[answer::COM_STMT_PREPARE], sql.as_bytes()].concat())?;
        let prepared = answer::prepared(&client.receive()?).map_err(std::io::Error::other)?;
        // Descriptions of the parameter and of the column.
        for _ in 0..prepared.descriptions {
            client.receive()?;
        }
        let stream = client.into_stream();
        stream.set_nonblocking(true)?;
        if number % 1000 == 999 {
            println!("{:16} {} connections", server.kind().title(), number + 1);
        }
        Ok(Session { stream, statement: prepared.statement })
    };
    (0..count).map(|number| one(number).map_err(|e| format!("connection {}: {e}", number + 1))).collect()
}
