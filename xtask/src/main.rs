//! Chores of the repository, run as `cargo xtask COMMAND`: style checks, links of the documentation, the side-by-side benchmark, models, instructions per statement.
//!
//! `xtask` never links RocksDB: it builds in seconds and drives servers from outside, as processes. What starts servers to break them
//! is in `harness/`, whose client and process this uses. Each command is one module.

#![forbid(unsafe_code)]

mod bench;
mod instructions;
mod links;
mod models;
mod tidy;

use std::process::ExitCode;

use vaquita_harness::{client, flags, paths, random, vaquita};

const USAGE: &str = "\
usage: cargo xtask COMMAND
  tidy [--update]      checks the source against the rules of the repository; --update lowers xtask/ratchet.txt
  links                checks that the links of all Markdown files lead somewhere
  bench [NAME] [--quick] [--servers mysql,mariadb,myrocks,vaquita] [--runs N] [--out DIR]
                       measures Vaquita beside its peers; NAME and the options of its own:
        sysbench       [--only SCRIPT,..] [--threads 1,8,64,512] [--seconds N] [--tables N] [--rows N]; without a NAME this one
        memory-limited [--limit-mb N] [--threads N,..] [--seconds N] [--tables N] [--rows N]; needs root and a memory cgroup
        tpcc           [--warehouses N] [--items N] [--customers N] [--threads N,..] [--seconds N]
        insert         [--rows N] [--clients N] [--batch ROWS]
        connections    [--connections N] [--active N] [--seconds N] [--rows N]
        scans, load    [--rows N]
        protocol       [--threads N,..] [--seconds N] [--tables N] [--rows N]
        tables         [--tables N]
        restart        [--threads N] [--seconds N] [--tables N] [--rows N]
        memory         [--connections N] [--tables N] [--rows N]
        latency        [--rows N] [--seconds N]
        backup         [--threads N] [--seconds N] [--tables N] [--rows N]
        binlog         [--threads N,..] [--seconds N] [--tables N] [--rows N]
        replica        [--threads N] [--seconds N] [--lag-seconds N] [--tables N] [--rows N]; replicas of MySQL
        all            each of them
  instructions [--record] [--repeat N]
                       counts instructions per statement with callgrind; fails where they grew by more than 5% over
                       crates/server/tests/instructions.txt, which --record writes; --repeat shows how they vary
  models [--full] [--seed S] [--schedules N] [--preemptions N]
                       lock manager and commit pipeline under loom and shuttle; --full: all schedules of 3 preemptions, 1,000,000 at random
VAQUITA=path names the server to measure; without it the one in the target directory is taken.";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let flags: Vec<String> = args.collect();
    let done = match command.as_str() {
        "tidy" => tidy::main(&flags),
        "links" => links::main(&flags),
        "bench" => bench::main(&flags),
        "models" => models::main(&flags),
        "instructions" => instructions::main(&flags),
        _ => Err(USAGE.to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}
