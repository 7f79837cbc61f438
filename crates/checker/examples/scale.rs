//! How long a check takes: `cargo run -p vaquita-checker --example scale -- 1000000 RR 32`.
//!
//! Simulates a history (transactions, level, clients), checks it, and prints the times and the memory of the process.

#[path = "../tests/simulator/mod.rs"]
mod simulator;

use std::time::Instant;

use simulator::{Simulation, run};
use vaquita_checker::{Level, Options, check};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u32| args.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let level = args.get(1).and_then(|text| Level::parse(text)).unwrap_or(Level::RepeatableRead);
    let start = Instant::now();
    let history = run(Simulation { level, broken: false, txns: number(0, 1_000_000), clients: number(2, 32), seed: 1 });
    println!("simulated {} transactions in {:.1} s, {}", history.txns.len(), start.elapsed().as_secs_f64(), memory());
    let start = Instant::now();
    let report = check(&history, &Options::default());
    println!("checked in {:.1} s, {}", start.elapsed().as_secs_f64(), memory());
    for (name, count) in report.counts() {
        println!("{name}: {count}");
    }
    for gap in &report.gaps {
        println!("not searched to the end: {gap}");
    }
}

/// The most that the process has used.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("memory unknown");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
