//! Chores of the repository, run as `cargo xtask COMMAND`: style checks, the side-by-side benchmark, the crash test,
//! the checks of isolation levels, the dump test, the comparison with MySQL on random statements, kill points, models,
//! histories under many configurations, instructions per statement, statements by accounts with few privileges.
//!
//! `xtask` never links RocksDB: it builds in seconds and drives servers from outside, as processes.
//! Each command is one module; `flags` reads their options.

#![forbid(unsafe_code)]

mod bench;
mod bit_flips;
mod check_isolation;
#[allow(dead_code)] // shared with the server's tests, which use all of it
#[path = "../../crates/server/tests/it/client.rs"]
mod client;
mod diff_test;
mod disk_full;
mod dump_test;
mod fault_fs;
mod flags;
mod instructions;
mod io_errors;
mod kill_points;
mod kill_test;
mod metamorphic;
mod models;
mod out_of_files;
mod paths;
mod power_loss;
mod privilege_test;
mod random;
mod sql_logic;
mod tidy;
mod under_test;
mod vaquita;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  tidy [--update]      checks the source against the rules of the repository; --update lowers xtask/ratchet.txt
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
        all            each of them
  instructions [--record] [--repeat N]
                       counts instructions per statement with callgrind; fails where they grew by more than 5% over
                       crates/server/tests/instructions.txt, which --record writes; --repeat shows how they vary
  kill-test --cycles N [--seed S] [--writers N]
                       kill -9 during writes; verifies what was acknowledged after each restart
  kill-points [--rounds N] [--seed S] [--only NAME,..] [--seconds N]
                       ends the server at each named place under load; verifies what it finds after each restart
  models [--full] [--seed S] [--schedules N] [--preemptions N]
                       lock manager and commit pipeline under loom and shuttle; --full: all schedules of 3 preemptions, 1,000,000 at random
  metamorphic [--seed S] [--histories N] [--length STEPS] [--plant]
                       runs random histories on thirteen storage configurations, which must answer alike
  power-loss [--cycles N] [--seed S] [--writers N] [--journal] [--plant flush-mode-0|flush-mode-2|lying-fsync]
                       the same, and what was not synced is lost or torn; needs /dev/fuse, as the next three
  io-errors [--upto N] [--runs N] [--seed S] [--class fsync|write|open|rename]
        [--nth N] [--journal] [--plant silent-fsync]
                       fails the Nth operation of each class with EIO and ENOSPC, N all or RUNS of them
  bit-flips [--flips N] [--seed S] [--plant wrong-row]
                       flips a bit of a stopped server's files: found or harmless, never a wrong row
  disk-full [--cycles N] [--seed S] [--way filled|taken|started]
                       fills and frees the disk of a running server
  out-of-files [--cycles N] [--seed S]
                       more clients than file descriptors
  check-isolation --workload list-append|register|predicate|bank|mav|nonrepeatable|moves --level RC|RR|SER
        [--transactions N] [--clients N] [--seed S] [--kill-every SECONDS] [--history FILE]
        [--plant lost-update|no-transaction|forgotten-commit]
        [--host H --port P --user U --password P]
                       runs transactions on its own Vaquita or on the server named, and checks the history
  dump-test [--host H] [--port P] [--user U] [--password PW] [--rows N] [--seed S] [--database NAME] [--mysqldump COMMAND]
        [--client COMMAND] [--mariadb-dump COMMAND] [--only VARIANT,..] [--reuse] [--keep]
                       fills 20 tables on a MySQL, dumps, loads into Vaquita, dumps again: the dumps must be the same
  diff-test --mysql HOST:PORT:USER:PASSWORD [--vaquita HOST:PORT:USER:PASSWORD] [--seed S] [--statements N]
            [--show N] [--no-metadata]
                       random statements on both servers, which must answer alike; --show N prints N failures of each kind
  sqllogictest --mysql HOST:PORT:USER:PASSWORD --files PATH,.. [--show N]
                       scripts of SQLite's sqllogictest corpus on both servers, which must answer alike
  privilege-test --mysql HOST:PORT:USER:PASSWORD [--vaquita HOST:PORT:USER:PASSWORD] [--seed S] [--statements N] [--show N]
                       random statements by accounts with random privileges: what MySQL refuses must be refused
kill-test, power-loss and io-errors also take --server mysql|mariadb|myrocks, with
  [--mysqld COMMAND] [--basedir DIR] [--install-db COMMAND], and run it on a directory of their own.
VAQUITA=path names the server to measure, to kill or to load; without it the one in the target directory is taken.";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let flags: Vec<String> = args.collect();
    let done = match command.as_str() {
        "tidy" => tidy::main(&flags),
        "bench" => bench::main(&flags),
        "check-isolation" => check_isolation::main(&flags),
        "dump-test" => dump_test::main(&flags),
        "kill-points" => kill_points::main(&flags),
        "kill-test" => kill_test::main(&flags),
        "models" => models::main(&flags),
        "metamorphic" => metamorphic::main(&flags),
        "power-loss" => power_loss::main(&flags),
        "instructions" => instructions::main(&flags),
        "io-errors" => io_errors::main(&flags),
        "bit-flips" => bit_flips::main(&flags),
        "disk-full" => disk_full::main(&flags),
        "out-of-files" => out_of_files::main(&flags),
        "diff-test" => diff_test::main(&flags),
        "sqllogictest" => sql_logic::main(&flags),
        "privilege-test" => privilege_test::main(&flags),
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
