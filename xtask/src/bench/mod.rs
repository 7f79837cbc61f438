//! `cargo xtask bench NAME`: Vaquita and its peers side by side, on loopback, durable, in the same run.
//!
//! Each NAME is a module that answers one question and writes NAME.md and NAME.svg. They share
//! the servers (`server`, `process`, `cgroup`), SQL on them (`sql`), what an option means (`settings`), and the figures with
//! their medians, ratios, targets, report and charts (`stats`, `outcome`, `report`, `chart`). `sysbench` is the oldest and
//! has a report of its own; it runs where no NAME is given.
//!
//! A whole run writes docs/benchmarks; one with `--quick`, `--servers` or another size writes to the target directory, unless
//! `--out` says otherwise, so that nobody publishes part of a table by accident. No figure decides whether a command
//! succeeds; an error of any server does.

mod backup;
mod binlog;
mod cgroup;
mod chart;
mod connections;
mod features;
mod files;
mod insert;
mod latency;
mod load;
mod memory;
mod memory_limited;
mod outcome;
mod process;
mod protocol;
mod replica;
mod report;
mod restart;
mod scans;
mod server;
mod settings;
mod sql;
mod stats;
mod sysbench;
mod tables;
mod tpcc;
mod tuning;

use crate::flags::Flags;

struct Bench {
    name: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

/// In the order of `all`.
const BENCHES: [Bench; 17] = [
    Bench { name: "sysbench", run: sysbench::main },
    Bench { name: "memory-limited", run: memory_limited::main },
    Bench { name: "tpcc", run: tpcc::main },
    Bench { name: "insert", run: insert::main },
    Bench { name: "connections", run: connections::main },
    Bench { name: "scans", run: scans::main },
    Bench { name: "load", run: load::main },
    Bench { name: "protocol", run: protocol::main },
    Bench { name: "tables", run: tables::main },
    Bench { name: "restart", run: restart::main },
    Bench { name: "memory", run: memory::main },
    Bench { name: "latency", run: latency::main },
    Bench { name: "backup", run: backup::main },
    Bench { name: "binlog", run: binlog::main },
    Bench { name: "tuning", run: tuning::main },
    Bench { name: "replica", run: replica::main },
    Bench { name: "features", run: features::main },
];

pub fn main(args: &[String]) -> Result<(), String> {
    match args.split_first() {
        Some((name, rest)) if name == "all" => all(rest),
        Some((name, rest)) if !name.starts_with('-') => match BENCHES.iter().find(|bench| bench.name == name) {
            Some(bench) => (bench.run)(rest),
            None => Err(format!("no benchmark {name}; there are all, {}", BENCHES.map(|bench| bench.name).join(", "))),
        },
        _ => sysbench::main(args),
    }
}

/// Runs every benchmark with the options that all of them have, whatever becomes of those before it.
fn all(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let mut common: Vec<String> = Vec::new();
    if flags.switch("--quick") {
        common.push("--quick".into());
    }
    for name in ["--servers", "--runs", "--out"] {
        if let Some(value) = flags.text(name)? {
            common.extend([name.to_string(), value]);
        }
    }
    flags.finish()?;
    let mut failed = Vec::new();
    for bench in &BENCHES {
        println!("\n=== {}", bench.name);
        let start = std::time::Instant::now();
        if let Err(text) = (bench.run)(&common) {
            eprintln!("{}: {text}", bench.name);
            failed.push(bench.name);
        }
        println!("=== {}: {:.0} s", bench.name, start.elapsed().as_secs_f64());
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}
