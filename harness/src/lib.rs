//! Harnesses that start servers as processes and break things, run as `cargo harness COMMAND`: kills, kill points, faults of the
//! disk, histories under many configurations, random queries in other words, isolation levels, dumps, differences from MySQL, statements
//! by accounts with few privileges. What each found is in `docs/reliability.md`, `docs/isolation.md` and `docs/compatibility.md`.
//!
//! Each command is one module with a `main`. What they share is `vaquita` (a server as a process), `client`, `random` (seeds) and
//! `flags`; the benchmarks of `xtask` use these too. Nothing here links RocksDB: a harness sees a server as its users do.

#![forbid(unsafe_code)]

mod backup_test;
mod bad_clients;
mod bit_flips;
mod check_isolation;
#[allow(dead_code)] // shared with the server's tests, which use all of it
#[path = "../../crates/server/tests/it/client.rs"]
pub mod client;
mod diff_test;
mod disk_full;
mod dump_test;
mod fault_fs;
pub mod flags;
mod io_errors;
mod kill_points;
mod kill_test;
mod metamorphic;
mod mtr;
mod out_of_files;
pub mod paths;
mod power_loss;
mod privilege_test;
mod query_test;
pub mod random;
mod replica_test;
mod soak;
mod source_test;
mod sql_logic;
#[path = "../../crates/server/tests/it/tls.rs"]
mod tls;
mod under_test;
pub mod vaquita;

const USAGE: &str = "\
usage: cargo harness COMMAND
  kill-test --cycles N [--seed S] [--writers N]
                       kill -9 during writes; verifies what was acknowledged after each restart
  kill-points [--rounds N] [--seed S] [--only NAME,..] [--seconds N]
                       ends the server at each named place under load; verifies what it finds after each restart
  metamorphic [--seed S] [--histories N] [--length STEPS] [--only WORD] [--plant]
                       runs random histories on fifteen configurations, which must answer alike
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
  soak [--minutes N] [--clients N] [--seconds N] [--rest SECONDS] [--sessions N] [--seed S] [--plant]
                       hours of work and what leaves traces: memory, files, threads and speed must stay as they were
  bad-clients [--sessions N] [--seed S] [--at-once N] [--from N] [--plant session|memory]
                       mutated sessions over plain, TLS and compressed connections: the server lives, answers, and nothing stays behind
  check-isolation --workload list-append|register|predicate|bank|mav|nonrepeatable|moves --level RC|RR|SER
        [--transactions N] [--clients N] [--seed S] [--kill-every SECONDS] [--history FILE]
        [--plant lost-update|no-transaction|forgotten-commit]
        [--host H --port P --user U --password P]
                       runs transactions on its own Vaquita or on the server named, and checks the history
  dump-test [--host H] [--port P] [--user U] [--password PW] [--rows N] [--seed S] [--database NAME] [--mysqldump COMMAND]
        [--client COMMAND] [--mariadb-dump COMMAND] [--only VARIANT,..] [--reuse] [--keep]
                       fills 21 tables on a MySQL, dumps, loads into Vaquita, dumps again: the dumps must be the same
  diff-test --mysql HOST:PORT:USER:PASSWORD [--vaquita HOST:PORT:USER:PASSWORD] [--seed S] [--statements N]
            [--show N] [--no-metadata]
                       random statements on both servers, which must answer alike; --show N prints N failures of each kind
  query-test [--mysql HOST:PORT:USER:PASSWORD] [--seed S] [--rounds N] [--seconds N] [--only CHECK] [--show N] [--plant]
                       random queries in other words, without indexes and with operators on disk, and on that MySQL: the same rows
  sqllogictest --mysql HOST:PORT:USER:PASSWORD --files PATH,.. [--show N]
                       scripts of SQLite's sqllogictest corpus on both servers, which must answer alike
  mtr --mysql HOST:PORT:USER:PASSWORD --suite DIR [--tests NAME,..] [--vardir DIR] [--seconds N] [--report FILE]
                       scripts of MySQL's test suite on both servers in lockstep, which must answer alike
  privilege-test --mysql HOST:PORT:USER:PASSWORD [--vaquita HOST:PORT:USER:PASSWORD] [--seed S] [--statements N] [--show N]
                       random statements by accounts with random privileges: what MySQL refuses must be refused
  replica-test --mysql HOST:PORT:USER:PASSWORD [--kills N] [--seed S] [--clients N]
                       a replica of that MySQL is killed and cut off under load, and must have what its source has
  source-test [--mysql HOST:PORT:USER:PASSWORD] [--mariadb HOST:PORT:USER:PASSWORD] [--by-position]
        [--kills N] [--seed S] [--clients N] [--plant]
                       a source is killed under load: a Vaquita and that MySQL, which follow it, must have what it has
  backup-test [--backups N] [--points N] [--flips N] [--seed S] [--encrypted] [--plant lost-row]
                       backups and an archived log of a server under load, with kills: what is restored must be what it was
kill-test, power-loss and io-errors also take --server mysql|mariadb|myrocks, with
  [--mysqld COMMAND] [--basedir DIR] [--install-db COMMAND], and run it on a directory of their own.
VAQUITA=path names the server to test; without it the one in the target directory is taken.";

/// Runs one command with its options; the error is what its caller prints.
pub fn run(command: &str, flags: &[String]) -> Result<(), String> {
    match command {
        "backup-test" => backup_test::main(flags),
        "bad-clients" => bad_clients::main(flags),
        "bit-flips" => bit_flips::main(flags),
        "check-isolation" => check_isolation::main(flags),
        "diff-test" => diff_test::main(flags),
        "disk-full" => disk_full::main(flags),
        "dump-test" => dump_test::main(flags),
        "io-errors" => io_errors::main(flags),
        "kill-points" => kill_points::main(flags),
        "kill-test" => kill_test::main(flags),
        "mtr" => mtr::main(flags),
        "metamorphic" => metamorphic::main(flags),
        "out-of-files" => out_of_files::main(flags),
        "power-loss" => power_loss::main(flags),
        "privilege-test" => privilege_test::main(flags),
        "query-test" => query_test::main(flags),
        "replica-test" => replica_test::main(flags),
        "source-test" => source_test::main(flags),
        "soak" => soak::main(flags),
        "sqllogictest" => sql_logic::main(flags),
        _ => Err(USAGE.to_string()),
    }
}
