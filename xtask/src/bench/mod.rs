//! `cargo xtask bench`: sysbench's stock scripts on Vaquita and its peers, on the same data, one server after the other.
//!
//! First each server alone: start, fill the tables, stop, start again (that start is timed, and begins with cold
//! caches), warm up. Then all are started, and every script at every number of threads runs `runs` times, each time on one
//! server after the other, so that a noisy minute of the machine meets them all. Whoever is not measured is stopped
//! (SIGSTOP): nobody's compaction or page cleaning takes another's cores. Data is prepared once per server: scripts that
//! write leave their changes to the next. A cell is the median of its runs; an error other than those sysbench
//! retries by itself (deadlock, lock wait timeout) fails the cell and the command, not the rest of the table.
//!
//! A whole run writes docs/benchmarks; a run with `--quick`, `--only`, `--servers` or `--threads` writes to the target
//! directory, unless `--out` says otherwise, so that nobody publishes part of a table by accident.

mod chart;
mod process;
mod report;
mod server;
mod sysbench;

use std::path::PathBuf;
use std::time::Duration;

use crate::flags::Flags;
use crate::paths;
use server::{KINDS, Kind, Server};
use sysbench::{BULK_INSERT, SCRIPTS, Size};

const WARM_UP_SECONDS: u64 = 3;

/// What to measure.
pub struct Plan {
    servers: Vec<Kind>,
    scripts: Vec<&'static str>,
    threads: Vec<u64>,
    seconds: u64,
    runs: u64,
    size: Size,
    out: PathBuf,
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
    let sysbench = sysbench::version()?;
    let mut results = Results::default();
    for kind in &plan.servers {
        if let Err(text) = prepare(&plan, *kind, &mut results) {
            eprintln!("{}: {text}", kind.title());
            results.failures.push(format!("{}: {text}", kind.title()));
        }
    }
    measure(&plan, &mut results)?;
    std::fs::create_dir_all(&plan.out).map_err(|e| format!("{}: {e}", plan.out.display()))?;
    let text = report::markdown(&plan, &results, &sysbench);
    println!("\n{text}");
    for (name, text) in [("sysbench.md", text), ("sysbench.svg", chart::svg(&plan, &results))] {
        let path = plan.out.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("wrote {}", path.display());
    }
    if results.failures.is_empty() { Ok(()) } else { Err(format!("{} failures", results.failures.len())) }
}

fn plan(args: &[String]) -> Result<Plan, String> {
    let mut flags = Flags::new(args);
    let quick = flags.switch("--quick");
    let (only, threads, servers) = (flags.list("--only")?, flags.list("--threads")?, flags.list("--servers")?);
    let part = quick || only.is_some() || threads.is_some() || servers.is_some();
    let default_out = if part { paths::target_dir().join("bench") } else { paths::repository().join("docs/benchmarks") };
    let default_threads: &[u64] = if quick { &[1, 8, 64] } else { &[1, 8, 64, 512] };
    let plan = Plan {
        servers: pick(servers, &KINDS, |kind| kind.flag(), "server")?,
        scripts: pick(only, &SCRIPTS, |script| script, "script")?,
        threads: match threads {
            None => default_threads.to_vec(),
            Some(list) => list
                .iter()
                .map(|text| text.parse().map_err(|_| format!("--threads: not a number: {text}")))
                .collect::<Result<_, _>>()?,
        },
        seconds: flags.number("--seconds", if quick { 3 } else { 8 })?,
        runs: flags.number("--runs", if quick { 1 } else { 3 })?.max(1),
        size: Size {
            tables: flags.number("--tables", if quick { 1 } else { 4 })?,
            rows: flags.number("--rows", if quick { 100_000 } else { 250_000 })?,
        },
        out: flags.text("--out")?.map_or(default_out, PathBuf::from),
    };
    flags.finish()?;
    Ok(plan)
}

/// The members of `all` that `wanted` names, in the order of `all`.
fn pick<T: Copy>(wanted: Option<Vec<String>>, all: &[T], name: impl Fn(T) -> &'static str, what: &str) -> Result<Vec<T>, String> {
    let Some(wanted) = wanted else { return Ok(all.to_vec()) };
    for text in &wanted {
        if !all.iter().any(|item| name(*item) == text) {
            let known: Vec<_> = all.iter().map(|item| name(*item)).collect();
            return Err(format!("no {what} {text}; there are {}", known.join(", ")));
        }
    }
    Ok(all.iter().copied().filter(|item| wanted.iter().any(|text| name(*item) == text)).collect())
}

/// What is measured once per server, which is left filled and stopped.
fn prepare(plan: &Plan, kind: Kind, results: &mut Results) -> Result<(), String> {
    println!("{}: preparing {} tables of {} rows", kind.title(), plan.size.tables, plan.size.rows);
    if kind == Kind::Vaquita {
        server::remove_vaquita_data()?;
    }
    let server = Server::start(kind)?;
    let version = server.version()?;
    server.create_databases()?;
    sysbench::prepare(&server.login(), plan.size)?;
    server.stop()?;

    let server = Server::start(kind)?;
    sysbench::run(&server.login(), "oltp_read_only", plan.size, 8, WARM_UP_SECONDS.min(plan.seconds))?;
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
        sysbench::run(&server.login(), "oltp_read_only", plan.size, 8, WARM_UP_SECONDS.min(plan.seconds))?;
    }
    for server in &servers {
        server.pause()?;
    }
    for script in &plan.scripts {
        for threads in &plan.threads {
            let mut samples: Vec<Samples> = servers.iter().map(|_| Samples::default()).collect();
            for _ in 0..plan.runs {
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
        for list in [&mut self.per_second, &mut self.p95_ms, &mut self.cpu_us] {
            list.sort_by(f64::total_cmp);
        }
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
fn timed_run(plan: &Plan, server: &Server, script: &str, threads: u64) -> Result<(sysbench::Run, f64), String> {
    let login = if script == BULK_INSERT { server.bulk_login() } else { server.login() };
    let before = process::cpu_us(server.pid())?;
    let run = sysbench::run(&login, script, plan.size, threads, plan.seconds)?;
    let after = process::cpu_us(server.pid())?;
    let cpu = (after - before) as f64 / run.count.max(1) as f64;
    Ok((run, cpu))
}

/// Of an ascending list.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_not_published() {
        let plan = |args: &[&str]| plan(&args.iter().map(|s| s.to_string()).collect::<Vec<_>>());
        assert!(
            plan(&[]).is_ok_and(|p| p.out.ends_with("docs/benchmarks") && p.scripts.len() == 11 && p.threads == [1, 8, 64, 512])
        );
        assert!(plan(&["--quick"]).is_ok_and(|p| !p.out.ends_with("docs/benchmarks") && p.runs == 1));
        assert!(
            plan(&["--only", "oltp_insert,oltp_point_select"]).is_ok_and(|p| p.scripts == ["oltp_point_select", "oltp_insert"])
        );
        assert!(plan(&["--only", "nothing"]).is_err());
        assert!(plan(&["--what"]).is_err());
    }

    #[test]
    fn median_of_even_and_odd() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
    }
}
