//! `cargo xtask bench memory-limited`: sysbench with data four times the memory that the server may use.
//!
//! The tables are filled without a limit, because MySQL's and MyRocks's servers do not live through it with one. Then the page cache is
//! emptied and the server starts under the limit, a cgroup's, page cache included, so that each sizes itself by it or is told to. It is a
//! quarter of what MySQL's tables take with so many rows (`BYTES_PER_ROW`), the same for every server; who stores rows in less space has
//! more of them in memory. Bytes written are those of the device.

use std::process::Command;

use super::cgroup::Cgroup;
use super::outcome::{Better, Outcome, Table, Target};
use super::process;
use super::server::{Kind, Server, Start};
use super::settings::{Options, Settings};
use super::sysbench::call::{self, Size};

/// Of a table of sysbench in InnoDB with its secondary index, as measured at a million rows.
const BYTES_PER_ROW: u64 = 285;
const DATA_TO_MEMORY: u64 = 4;
/// Of the limit, what is buffer pool and block cache: one part in so many. MySQL's own tables and threads take more than half of 1 GB.
const CACHE_PART: u64 = 2;
const CACHE_PART_OF_MYSQL: u64 = 3;
const CACHE_BYTES_MIN: u64 = 8 << 20;
/// No server starts with less.
const LIMIT_BYTES_MIN: u64 = 640 << 20;

const SCRIPTS: [&str; 6] =
    ["oltp_point_select", "oltp_read_only", "oltp_update_index", "oltp_update_non_index", "oltp_write_only", "oltp_read_write"];

struct Plan {
    threads: Vec<u64>,
    seconds: u64,
    size: Size,
    limit_bytes: u64,
    /// What the limit is where no smallest one holds.
    share_bytes: u64,
}

impl Plan {
    /// Of a peer.
    fn cache_bytes(&self, kind: Kind) -> u64 {
        let part = if kind == Kind::MySql { CACHE_PART_OF_MYSQL } else { CACHE_PART };
        (self.share_bytes.min(self.limit_bytes) / part).max(CACHE_BYTES_MIN)
    }
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("memory-limited", args);
    let size = Size { tables: options.number("--tables", 4, 1)?, rows: options.number("--rows", 3_800_000, 100_000)? };
    let share_bytes = size.tables * size.rows * BYTES_PER_ROW / DATA_TO_MEMORY;
    let limit_mb = options.number("--limit-mb", share_bytes >> 20, share_bytes >> 20)?;
    let limit_bytes = (limit_mb << 20).max(LIMIT_BYTES_MIN);
    let plan = Plan {
        threads: options.numbers("--threads", &[8, 64], &[8])?,
        seconds: options.number("--seconds", 20, 1)?,
        size,
        limit_bytes,
        share_bytes,
    };
    let settings = options.finish(1, 1)?;
    let mut outcome = Outcome::new("Data larger than memory");
    if let Err(text) = Cgroup::new(plan.limit_bytes) {
        println!("skipped: no memory limit can be set: {text}");
        return Ok(());
    }
    describe(&mut outcome, &plan)?;
    let mut tables = [
        Table::new("Throughput", "queries/s", Better::More),
        Table::new("Bytes written of a transaction", "KiB", Better::Less).note(
            "Written by the device that holds the data while sysbench ran, and so with what compaction and page cleaning wrote meanwhile.",
        ),
        Table::new("CPU time of the server", "µs a query", Better::Less),
        Table::new("Tables on disk", "MB", Better::Less),
    ];
    for script in SCRIPTS {
        for threads in &plan.threads {
            let name = row_name(script, *threads);
            tables[0].row(&name, Target::InnoDb(3.0));
            if !is_read(script) {
                tables[1].row(&name, Target::InnoDb(10.0));
            }
        }
    }
    for kind in &settings.servers {
        let done = one_server(*kind, &settings, &plan, &mut outcome, &mut tables);
        outcome.note_failure(*kind, done);
    }
    outcome.tables = tables.into();
    outcome.finish(&settings)
}

fn describe(outcome: &mut Outcome, plan: &Plan) -> Result<(), String> {
    let data_bytes = plan.size.tables * plan.size.rows * BYTES_PER_ROW;
    outcome.setting(format!(
        "{}; {} tables of {} rows, about {} MB in InnoDB; {} s a run. Each server alone, one after the other.",
        call::version()?,
        plan.size.tables,
        plan.size.rows,
        data_bytes / 1_000_000,
        plan.seconds
    ));
    outcome.setting(format!(
        "Filled without a limit. Then the server and the page cache of its files may use {} MB (cgroup): data is {:.1} times that. \
         Buffer pool and block cache of MariaDB {} MB, buffer pool of MySQL {} MB, because it does not live with more; their `max_connections` 200, by which MySQL sizes tables of \
         its own; Vaquita finds the limit by itself.",
        plan.limit_bytes / 1_000_000,
        data_bytes as f64 / plan.limit_bytes as f64,
        plan.cache_bytes(Kind::MariaDb) / 1_000_000,
        plan.cache_bytes(Kind::MySql) / 1_000_000
    ));
    if data_bytes < plan.limit_bytes * DATA_TO_MEMORY {
        outcome.setting("**The data is too small for the smallest limit: this run shows that the harness works, no more.**");
    }
    Ok(())
}

fn is_read(script: &str) -> bool {
    matches!(script, "oltp_point_select" | "oltp_read_only")
}

fn row_name(script: &str, threads: u64) -> String {
    format!("{script}, {threads} threads")
}

fn one_server(
    kind: Kind,
    settings: &Settings,
    plan: &Plan,
    outcome: &mut Outcome,
    tables: &mut [Table; 4],
) -> Result<(), String> {
    println!("{}: filling {} tables of {} rows", kind.title(), plan.size.tables, plan.size.rows);
    fill(kind, plan, outcome)?;
    empty_page_cache()?;
    let cgroup = Cgroup::new(plan.limit_bytes)?;
    let how = Start { cgroup: Some(&cgroup), cache_bytes: Some(plan.cache_bytes(kind)) };
    let explain = |text: String| if cgroup.killed() { format!("the memory limit ended the server: {text}") } else { text };
    let server = Server::start_with(kind, how).map_err(explain)?;
    tables[3].add("all tables", kind, server.table_bytes()? as f64 / 1e6);
    for script in SCRIPTS {
        for threads in &plan.threads {
            let name = row_name(script, *threads);
            for _ in 0..settings.runs {
                let done = timed(&server, plan, script, *threads).map_err(explain)?;
                println!(
                    "{:16} {name:36} {:9.0} /s  {:9.1} KiB written a transaction",
                    kind.title(),
                    done.per_second,
                    done.written_kib
                );
                tables[0].add(&name, kind, done.per_second);
                if !is_read(script) {
                    tables[1].add(&name, kind, done.written_kib);
                }
                tables[2].add(&name, kind, done.cpu_us);
            }
        }
    }
    server.clean_up().map_err(explain)
}

/// Leaves the server filled and stopped.
fn fill(kind: Kind, plan: &Plan, outcome: &mut Outcome) -> Result<(), String> {
    let server = Server::start_empty(kind, Start::default())?;
    outcome.version(kind, server.version()?);
    call::prepare(&server.login(), plan.size)?;
    server.settle()?;
    server.stop()
}

/// What stands in it already does not count against the limit.
fn empty_page_cache() -> Result<(), String> {
    let failed = |e| format!("the page cache cannot be emptied: {e}");
    Command::new("sync").status().map_err(failed)?;
    std::fs::write("/proc/sys/vm/drop_caches", "1").map_err(failed)
}

struct Figures {
    per_second: f64,
    written_kib: f64,
    cpu_us: f64,
}

fn timed(server: &Server, plan: &Plan, script: &str, threads: u64) -> Result<Figures, String> {
    let (cpu, written) = (process::cpu_us(server.pid())?, server.written_bytes()?);
    let run = call::run(&server.login(), script, plan.size, threads, plan.seconds)?;
    let cpu = process::cpu_us(server.pid())? - cpu;
    let written = server.written_bytes()? - written;
    Ok(Figures {
        per_second: run.per_second,
        written_kib: written as f64 / 1024.0 / run.transactions.max(1) as f64,
        cpu_us: cpu as f64 / run.count.max(1) as f64,
    })
}
