//! `cargo xtask bench sysbench`: sysbench's stock scripts on Vaquita and its peers, on the same data, one server after the other.
//!
//! First each server alone: start, fill the tables, stop, start again (that start is timed, and begins with cold
//! caches), warm up. Then all are started, and every script at every number of threads runs `runs` times, each time on one
//! server after the other, so that a noisy minute of the machine meets them all. Whoever is not measured is stopped
//! (SIGSTOP): nobody's compaction or page cleaning takes another's cores. Data is prepared once per server: scripts that
//! write leave their changes to the next. A cell is the median of its runs; an error other than those sysbench
//! retries by itself (deadlock, lock wait timeout) fails the cell and the command, not the rest of the table.
//!
//! The report is of its own kind, a table for each script: sixteen figures of a script would not fit into a row.

pub mod call;
mod report;

use std::time::Duration;

use super::chart::{self, Bars};
use super::process;
use super::report::save;
use super::server::{KINDS, Kind, Server, Start};
use super::settings::{Options, Settings};
use super::stats::median;
use call::{BULK_INSERT, SCRIPTS, Size};

const WARM_UP_SECONDS: u64 = 3;

/// What to measure.
pub struct Plan {
    settings: Settings,
    scripts: Vec<&'static str>,
    threads: Vec<u64>,
    seconds: u64,
    size: Size,
}

/// One server, script and number of threads.
pub struct Cell {
    kind: Kind,
    script: &'static str,
    threads: u64,
    /// Queries per second of each run, ascending; empty if the cell failed. Rows for bulk_insert.
    per_second: Vec<f64>,
    p95_ms: f64,
    cpu_us: f64,
    ignored_errors: u64,
}

/// What is measured once per server.
pub struct Footprint {
    kind: Kind,
    version: String,
    start_time: Duration,
    table_bytes: u64,
    /// Resident after the restart and the warm-up.
    warm_bytes: u64,
}

#[derive(Default)]
pub struct Results {
    cells: Vec<Cell>,
    footprints: Vec<Footprint>,
    failures: Vec<String>,
}

impl Cell {
    pub fn median(&self) -> Option<f64> {
        median(&self.per_second)
    }
}

impl Results {
    pub fn cell(&self, kind: Kind, script: &str, threads: u64) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.kind == kind && cell.script == script && cell.threads == threads)
    }

    /// Vaquita's median over that of the best peer; `None` if either is missing.
    pub fn ratio(&self, script: &str, threads: u64) -> Option<f64> {
        let own = self.cell(Kind::Vaquita, script, threads)?.median()?;
        let peers = KINDS.iter().filter(|kind| **kind != Kind::Vaquita);
        let best = peers.filter_map(|kind| self.cell(*kind, script, threads)?.median()).fold(0.0, f64::max);
        (best > 0.0).then_some(own / best)
    }
}

pub fn main(args: &[String]) -> Result<(), String> {
    let plan = plan(args)?;
    let sysbench = call::version()?;
    let mut results = Results::default();
    for kind in &plan.settings.servers {
        if let Err(text) = prepare(&plan, *kind, &mut results) {
            eprintln!("{}: {text}", kind.title());
            results.failures.push(format!("{}: {text}", kind.title()));
        }
    }
    measure(&plan, &mut results)?;
    let text = report::markdown(&plan, &results, &sysbench);
    println!("\n{text}");
    save(&plan.settings, "md", &text)?;
    save(&plan.settings, "svg", &chart::bars(&bars(&plan, &results)))?;
    if results.failures.is_empty() { Ok(()) } else { Err(format!("{} failures", results.failures.len())) }
}

fn plan(args: &[String]) -> Result<Plan, String> {
    let mut options = Options::new("sysbench", args);
    Ok(Plan {
        scripts: options.pick("--only", &SCRIPTS, |script| script)?,
        threads: options.numbers("--threads", &[1, 8, 64, 512], &[1, 64])?,
        seconds: options.number("--seconds", 8, 1)?,
        size: Size { tables: options.number("--tables", 4, 1)?, rows: options.number("--rows", 250_000, 100_000)? },
        settings: options.finish(3, 1)?,
    })
}

fn bars(plan: &Plan, results: &Results) -> Bars {
    let name = |threads: &u64| if *threads == 1 { "1 thread".to_string() } else { format!("{threads} threads") };
    let ratios = |script: &str| plan.threads.iter().map(|threads| results.ratio(script, *threads)).collect();
    Bars {
        title: "Throughput of Vaquita, the best peer being 1".into(),
        series: plan.threads.iter().map(name).collect(),
        groups: plan.scripts.iter().map(|script| (script.to_string(), ratios(script))).collect(),
    }
}

/// What is measured once per server, which is left filled and stopped.
fn prepare(plan: &Plan, kind: Kind, results: &mut Results) -> Result<(), String> {
    println!("{}: preparing {} tables of {} rows", kind.title(), plan.size.tables, plan.size.rows);
    let server = Server::start_empty(kind, Start::default())?;
    let version = server.version()?;
    call::prepare(&server.login(), plan.size)?;
    server.settle()?;
    server.stop()?;

    let server = Server::start(kind)?;
    call::run(&server.login(), "oltp_read_only", plan.size, 8, WARM_UP_SECONDS.min(plan.seconds))?;
    let table_bytes = server.table_bytes()?;
    let warm_bytes = process::memory_bytes(server.pid(), "VmRSS");
    let start_time = server.start_time;
    server.stop()?;
    results.footprints.push(Footprint { kind, version, start_time, table_bytes, warm_bytes });
    Ok(())
}

/// All cells, of the servers that could be prepared.
fn measure(plan: &Plan, results: &mut Results) -> Result<(), String> {
    let kinds: Vec<Kind> = results.footprints.iter().map(|footprint| footprint.kind).collect();
    let servers = Server::start_together(&kinds)?;
    for server in &servers {
        call::run(&server.login(), "oltp_read_only", plan.size, 8, WARM_UP_SECONDS.min(plan.seconds))?;
    }
    for server in &servers {
        server.pause()?;
    }
    for script in &plan.scripts {
        for threads in &plan.threads {
            let mut samples: Vec<Samples> = servers.iter().map(|_| Samples::default()).collect();
            for _ in 0..plan.settings.runs {
                for (server, samples) in servers.iter().zip(&mut samples) {
                    sample(plan, server, script, *threads, samples)?;
                }
            }
            for (server, samples) in servers.iter().zip(samples) {
                results.failures.extend(samples.failure.iter().map(|text| format!("{}: {text}", server.kind().title())));
                results.cells.push(samples.cell(server.kind(), script, *threads));
            }
        }
    }
    for server in &servers {
        server.resume()?;
        server.create_databases()?;
    }
    servers.into_iter().try_for_each(Server::stop)
}

/// What the runs of a cell gave.
#[derive(Default)]
struct Samples {
    per_second: Vec<f64>,
    p95_ms: Vec<f64>,
    cpu_us: Vec<f64>,
    ignored_errors: u64,
    /// The first; the cell is not run again after it.
    failure: Option<String>,
}

impl Samples {
    /// The medians; an empty cell after a failure.
    fn cell(mut self, kind: Kind, script: &'static str, threads: u64) -> Cell {
        if let Some(text) = &self.failure {
            println!("{:16} {script:22} {threads:4} threads  FAILED: {text}", kind.title());
            self.per_second.clear();
        }
        self.per_second.sort_by(f64::total_cmp);
        let cell = Cell {
            kind,
            script,
            threads,
            p95_ms: median(&self.p95_ms).unwrap_or(0.0),
            cpu_us: median(&self.cpu_us).unwrap_or(0.0),
            per_second: self.per_second,
            ignored_errors: self.ignored_errors,
        };
        if let Some(per_second) = cell.median() {
            println!(
                "{:16} {script:22} {threads:4} threads  {per_second:9.0} /s  p95 {:8.2} ms  {:7.1} µs of CPU",
                kind.title(),
                cell.p95_ms,
                cell.cpu_us
            );
        }
        cell
    }
}

/// One run on a server that is paused before and after.
fn sample(plan: &Plan, server: &Server, script: &str, threads: u64, samples: &mut Samples) -> Result<(), String> {
    if samples.failure.is_some() {
        return Ok(());
    }
    server.resume()?;
    match timed_run(plan, server, script, threads) {
        Ok((run, cpu_us)) => {
            samples.per_second.push(run.per_second);
            samples.ignored_errors += run.ignored_errors;
            samples.p95_ms.push(run.p95_ms);
            samples.cpu_us.push(cpu_us);
        }
        Err(text) => samples.failure = Some(format!("{threads} threads: {text}")),
    }
    server.pause()
}

/// One run, and the server's CPU time in µs for each query (row, for bulk_insert).
fn timed_run(plan: &Plan, server: &Server, script: &str, threads: u64) -> Result<(call::Run, f64), String> {
    let login = if script == BULK_INSERT { server.bulk_login() } else { server.login() };
    let before = process::cpu_us(server.pid())?;
    let run = call::run(&login, script, plan.size, threads, plan.seconds)?;
    let after = process::cpu_us(server.pid())?;
    let cpu = (after - before) as f64 / run.count.max(1) as f64;
    Ok((run, cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_what_is_named() {
        let plan = |args: &[&str]| plan(&args.iter().map(|s| s.to_string()).collect::<Vec<_>>());
        assert!(plan(&[]).is_ok_and(|p| p.scripts.len() == 11 && p.threads == [1, 8, 64, 512] && p.settings.runs == 3));
        assert!(plan(&["--quick"]).is_ok_and(|p| p.threads == [1, 64] && p.settings.runs == 1));
        assert!(
            plan(&["--only", "oltp_insert,oltp_point_select"]).is_ok_and(|p| p.scripts == ["oltp_point_select", "oltp_insert"])
        );
        assert!(plan(&["--only", "nothing"]).is_err());
        assert!(plan(&["--what"]).is_err());
    }
}
