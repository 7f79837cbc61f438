//! `cargo xtask bench tuning`: the untouched server against settings that a random search finds, in containers of several sizes.
//!
//! For each size a server runs under a cgroup's limit of memory, page cache included, first untouched, then with each of the settings that were
//! drawn, on an empty directory each time. It is filled, and each workload runs for some seconds. What counts is how the untouched server stands to the
//! best of all settings for this workload. Needs root.

use std::fmt::Write;
use std::path::Path;

use super::cgroup::Cgroup;
use super::report;
use super::settings::{Options, Settings};
use super::sql::Conn;
use super::stats;
use super::sysbench::call::{self, Login, Size};
use crate::paths;
use crate::random::Random;
use crate::vaquita::{self, Vaquita};

const DATABASE: &str = "sbtest";
/// The same draws in each run.
const SEED: u64 = 20_261_127;

struct Workload {
    name: &'static str,
    script: &'static str,
    threads: u64,
    more: &'static [&'static str],
}

const fn workload(name: &'static str, script: &'static str, threads: u64, more: &'static [&'static str]) -> Workload {
    Workload { name, script, threads, more }
}

const WORKLOADS: [Workload; 8] = [
    workload("points, 8 clients", "oltp_point_select", 8, &[]),
    workload("reads, 16 clients", "oltp_read_only", 16, &[]),
    workload("long ranges, 4 clients", "oltp_read_only", 4, &["--range-size=5000", "--point-selects=1"]),
    workload("updates, 64 clients", "oltp_update_index", 64, &[]),
    workload("inserts, 16 clients", "oltp_insert", 16, &[]),
    workload("reads and writes, 16 clients", "oltp_read_write", 16, &[]),
    workload("hot rows, 16 clients", "oltp_read_write", 16, &["--rand-type=zipfian", "--rand-zipfian-exp=1.2"]),
    workload("points, 256 clients", "oltp_point_select", 256, &[]),
];

/// Options of the storage that were drawn; none for the untouched server.
struct Candidate(Vec<String>);

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("tuning", args);
    let sizes_mb = options.numbers("--sizes-mb", &[512, 1024, 4096], &[512])?;
    let candidates = options.number("--candidates", 60, 2)?;
    let seconds = options.number("--seconds", 15, 3)?.max(1);
    let size = Size { tables: options.number("--tables", 4, 1)?, rows: options.number("--rows", 1_000_000, 50_000)? };
    let settings = options.finish(1, 1)?;
    let mut out = head(&settings, size, candidates, seconds)?;
    for size_mb in sizes_mb {
        if let Err(text) = Cgroup::new(size_mb << 20) {
            println!("skipped: no memory limit can be set: {text}");
            return Ok(());
        }
        let mut random = Random::new(SEED ^ size_mb);
        let mut all = vec![Candidate(Vec::new())];
        all.extend((0..candidates).map(|_| Candidate::draw(&mut random, size_mb)));
        let mut rates = Vec::new();
        for (n, candidate) in all.iter().enumerate() {
            println!("{size_mb} MB, settings {n} of {candidates}: {}", candidate.shown());
            rates.push(rates_of(candidate, size_mb, size, seconds).map_err(|e| format!("{}: {e}", candidate.shown()))?);
        }
        section(&mut out, size_mb, &all, &rates);
    }
    println!("\n{out}");
    report::save(&settings, "md", &out)
}

fn head(settings: &Settings, size: Size, candidates: u64, seconds: u64) -> Result<String, String> {
    let mut out = String::new();
    let _ = write!(
        out,
        "# The untouched server and settings of a random search\n\nWritten by `cargo xtask bench {}` {}. Do not edit.\n\n\
         - {}; {} tables of {} rows, {seconds} s a workload, {candidates} settings of each size of container.\n\
         - Each setting has a new server on an empty directory under a cgroup's limit of memory, page cache included. The tuner is off where settings were drawn.\n",
        settings.name,
        report::stamp(),
        call::version()?,
        size.tables,
        size.rows,
    );
    Ok(out)
}

/// Queries a second of each workload; 0 where the server did not live through it.
fn rates_of(candidate: &Candidate, size_mb: u64, size: Size, seconds: u64) -> Result<Vec<f64>, String> {
    let dir = paths::target_dir().join("bench/tuning-data");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let cgroup = Cgroup::new(size_mb << 20)?;
    let server = candidate.start(&cgroup, &dir)?;
    let mut rates = Vec::new();
    let filled = call::prepare(&server.login(), size);
    if filled.is_err() && !cgroup.killed() {
        filled?;
    }
    for workload in &WORKLOADS {
        let run = call::run_with(&server.login(), workload.script, size, workload.threads, seconds, workload.more);
        match run {
            Ok(run) => rates.push(run.per_second),
            Err(_) if cgroup.killed() => rates.push(0.0),
            Err(error) => return Err(error),
        }
        println!("  {:32} {:9.0} /s", workload.name, rates.last().copied().unwrap_or_default());
    }
    if !cgroup.killed() {
        server.server.stop()?;
    }
    let _ = std::fs::remove_dir_all(&dir);
    Ok(rates)
}

struct Running {
    server: Vaquita,
    port: u16,
}

impl Running {
    fn login(&self) -> Login<'static> {
        Login { port: self.port, user: "root", password: vaquita::PASSWORD, database: DATABASE, engine: None }
    }
}

impl Candidate {
    fn draw(random: &mut Random, size_mb: u64) -> Candidate {
        let mut pick = |from: &[u64]| from[random.below(from.len() as u64) as usize];
        let cache_percent = pick(&[5, 10, 20, 30, 40, 50, 60]);
        let pairs = [
            ("block-cache-bytes", (size_mb << 20) / 100 * cache_percent),
            ("write-buffer-bytes", pick(&[4, 8, 16, 32, 64, 128]) << 20),
            ("background-jobs", pick(&[2, 3, 4])),
            ("level0-files", pick(&[2, 4, 8, 16])),
            ("file-bytes", pick(&[8, 16, 32, 64, 128]) << 20),
            ("block-bytes", pick(&[4, 8, 16, 32]) << 10),
        ];
        Candidate(pairs.iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    fn shown(&self) -> String {
        if self.0.is_empty() { "untouched".to_string() } else { self.0.join(", ") }
    }

    fn start(&self, cgroup: &Cgroup, dir: &Path) -> Result<Running, String> {
        let (port, log) = (vaquita::free_port()?, dir.with_extension("log"));
        let joined = self.0.join(",");
        let options: Vec<&str> = if self.0.is_empty() { Vec::new() } else { vec!["--storage-test-option", &joined] };
        let server = Vaquita::spawn_command(cgroup.command(&paths::vaquita()?), dir, port, &log, &options)?.wait()?;
        let mut conn = Conn::to(port, "root", vaquita::PASSWORD)?;
        conn.run(&format!("CREATE DATABASE {DATABASE}"))?;
        if !self.0.is_empty() {
            conn.run("SET GLOBAL vaquita_tuning = OFF")?;
        }
        Ok(Running { server, port })
    }
}

fn section(out: &mut String, size_mb: u64, all: &[Candidate], rates: &[Vec<f64>]) {
    let _ = write!(
        out,
        "\n## {size_mb} MB\n\n| queries/s | untouched | best of the settings | which | median of them | untouched : best |\n|---|---:|---:|---:|---:|---:|\n"
    );
    for (at, workload) in WORKLOADS.iter().enumerate() {
        let of = |n: usize| rates[n].get(at).copied().unwrap_or_default();
        let drawn: Vec<f64> = (1..all.len()).map(of).collect();
        let best = (1..all.len()).max_by(|a, b| of(*a).total_cmp(&of(*b))).unwrap_or(0);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {best} | {} | **{:.2}** |",
            workload.name,
            report::figure(of(0)),
            report::figure(of(best)),
            report::figure(stats::median(&drawn).unwrap_or_default()),
            of(0) / of(best).max(f64::MIN_POSITIVE)
        );
    }
    let died = rates.iter().skip(1).filter(|rates| rates.contains(&0.0)).count();
    let _ = writeln!(out, "\nOf the settings {died} ended with a server that the limit had killed.\n\n| | settings |\n|---|---|");
    for (n, candidate) in all.iter().enumerate().skip(1) {
        let _ = writeln!(out, "| {n} | {} |", candidate.shown());
    }
}
