//! `cargo xtask bench tpcc`: TPC-C by a script of our own for sysbench (tools/bench/tpcc.lua), and the specification's
//! consistency conditions afterwards.
//!
//! Counted are the new-order transactions that are in the database: how far the districts' next order numbers went. After the
//! last run every condition is one query, which must find no row that breaks it (`audit`).

mod audit;

use std::path::PathBuf;

use super::outcome::{Better, Outcome, Table, Target};
use super::process;
use super::server::{Kind, Server, Start};
use super::settings::{Options, Settings};
use super::sysbench::call;
use crate::paths;

struct Plan {
    /// Options of the script.
    size: [String; 3],
    threads: Vec<u64>,
    seconds: u64,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("tpcc", args);
    let warehouses = options.number("--warehouses", 10, 1)?.max(1);
    let items = options.number("--items", 100_000, 10_000)?.max(10);
    let customers = options.number("--customers", 3000, 300)?.max(10);
    let plan = Plan {
        size: [format!("--warehouses={warehouses}"), format!("--items={items}"), format!("--customers={customers}")],
        threads: options.numbers("--threads", &[1, 8, 32], &[1, 8])?,
        seconds: options.number("--seconds", 30, 2)?,
    };
    let settings = options.finish(3, 1)?;
    let mut outcome = Outcome::new("TPC-C");
    outcome.setting(format!(
        "{}, tools/bench/tpcc.lua; {warehouses} warehouses, {items} items, {customers} customers in each of 10 districts; \
         {} s a run; no think times, no foreign keys, the servers' default isolation \
         (REPEATABLE READ). Buffer pool and block cache 2 GB.",
        call::version()?,
        plan.seconds
    ));
    outcome.setting(format!(
        "After the last run, consistency conditions {} of the specification (clause 3.3.2) were checked by SQL on every server.",
        audit::NUMBERS
    ));
    let mut tables = [
        Table::new("New-order transactions", "per minute", Better::More),
        Table::new("CPU time of the server", "µs a transaction", Better::Less).note("Of a transaction of the mix."),
        Table::new("Transactions run again", "in a thousand", Better::Less)
            .note("Deadlocks, lock waits and snapshot conflicts (errors 1213 and 1205)."),
    ];
    for threads in &plan.threads {
        tables[0].row(&row_name(*threads), Target::Peer(2.0));
    }
    let mut filled = Vec::new();
    for kind in &settings.servers {
        println!("{}: filling {warehouses} warehouses", kind.title());
        let done = fill(*kind, &plan, &mut outcome);
        filled.extend(outcome.note_failure(*kind, done).map(|()| *kind));
    }
    let servers = Server::start_paused(&filled)?;
    measure(&settings, &plan, &servers, &mut outcome, &mut tables)?;
    for server in &servers {
        server.resume()?;
        println!("{}: audit", server.kind().title());
        let done = server.connect().and_then(|mut conn| audit::check(&mut conn));
        outcome.note_failure(server.kind(), done);
    }
    Server::clean_up_all(servers)?;
    outcome.tables = tables.into();
    outcome.finish(&settings)
}

fn row_name(threads: u64) -> String {
    if threads == 1 { "1 thread".into() } else { format!("{threads} threads") }
}

fn script() -> PathBuf {
    paths::repository().join("tools/bench/tpcc.lua")
}

fn fill(kind: Kind, plan: &Plan, outcome: &mut Outcome) -> Result<(), String> {
    let server = Server::start_empty(kind, Start::default())?;
    outcome.version(kind, server.version()?);
    let options = [&plan.size[..], &["--threads=2".to_string()]].concat();
    call::own(&server.login(), &script(), &options, "prepare")?;
    call::own(&server.login(), &script(), &options, "fill")?;
    let mut conn = server.connect()?;
    for table in audit::TABLES {
        conn.rows(&format!("ANALYZE TABLE {table}"))?;
    }
    drop(conn);
    server.settle()?;
    server.stop()
}

fn measure(
    settings: &Settings,
    plan: &Plan,
    servers: &[Server],
    outcome: &mut Outcome,
    tables: &mut [Table; 3],
) -> Result<(), String> {
    for threads in &plan.threads {
        let name = row_name(*threads);
        for _ in 0..settings.runs {
            for server in servers {
                server.resume()?;
                let done = timed(server, plan, *threads);
                server.pause()?;
                let Some(run) = outcome.note_failure(server.kind(), done) else { continue };
                println!("{:16} {name:12} {:9.0} new orders a minute", server.kind().title(), run.new_orders_per_minute);
                for (table, value) in tables.iter_mut().zip([run.new_orders_per_minute, run.cpu_us, run.again_per_thousand]) {
                    table.add(&name, server.kind(), value);
                }
            }
        }
    }
    Ok(())
}

struct Run {
    new_orders_per_minute: f64,
    cpu_us: f64,
    again_per_thousand: f64,
}

fn timed(server: &Server, plan: &Plan, threads: u64) -> Result<Run, String> {
    let mut conn = server.connect()?;
    let mut new_orders = || -> Result<f64, String> {
        let text = conn.value("SELECT SUM(d_next_o_id) FROM district")?;
        text.parse().map_err(|_| format!("not a number of orders: {text}"))
    };
    let run_options = [format!("--threads={threads}"), format!("--time={}", plan.seconds), "--percentile=95".to_string()];
    let options = [&plan.size[..], &run_options].concat();
    let (before, cpu) = (new_orders()?, process::cpu_us(server.pid())?);
    let text = call::own(&server.login(), &script(), &options, "run")?;
    let (after, cpu) = (new_orders()?, process::cpu_us(server.pid())? - cpu);
    let run = call::parse_own(&text)?;
    let seconds = call::total_seconds(&text).ok_or("sysbench's report has no total time")?;
    let transactions = run.transactions.max(1) as f64;
    Ok(Run {
        new_orders_per_minute: (after - before) * 60.0 / seconds,
        cpu_us: cpu as f64 / transactions,
        again_per_thousand: run.ignored_errors as f64 * 1e3 / transactions,
    })
}
