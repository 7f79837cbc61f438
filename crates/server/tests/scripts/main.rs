//! Scripts that run on a server of their own; `vaquita_scripts` says how one is run and recorded.
//!
//! `sql` are statements and MySQL's answers, `spilled` those whose operators keep their rows on disk, `parallel` those that several threads run, `replication` the same of statements that need what replicas have, `packets` commands and the
//! packets that answer them, also MySQL's; `hermitage` is what three transactions do to each other at each level, by our own design,
//! `inside` how statements are executed here: plans and locks, `logs` what MySQL writes to its general log and slow log, `data` what is in directories of earlier releases.

#[allow(dead_code)] // of the tests in `it`, as the next
#[path = "../it/client.rs"]
mod client;
mod data;
mod hermitage;
mod inside;
mod logs;
mod packets;
#[allow(dead_code)]
#[path = "../it/server.rs"]
mod server;
mod sql;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use vaquita_scripts::{Answers, Record, Script, Suite, Target};

use server::{PASSWORD, Server};

/// Operators keep nothing in memory: all goes to disk.
const SPILLED: [&str; 2] = ["--storage-test-option", "operator-bytes-max=1"];

/// All that can be read in parts is, however little it is.
const PARALLEL: [&str; 2] = ["--storage-test-option", "parallel-bytes-min=1"];

/// The server of a suite, which starts when its first script runs.
struct Started {
    suite: &'static str,
    options: &'static [&'static str],
    server: OnceLock<Server>,
}

impl Started {
    fn new(suite: &'static str, options: &'static [&'static str]) -> Started {
        Started { suite, options, server: OnceLock::new() }
    }

    fn server(&self) -> &Server {
        self.server.get_or_init(|| Server::start_with(self.suite, self.options))
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A suite that is recorded from MySQL.
fn of_mysql(name: &'static str, options: &'static [&'static str], replay: fn(&Script, &Target) -> String) -> Suite {
    let started = Started::new(name, options);
    Suite::new(name, Answers::Mysqls, &folder(name), move |script| match Record::from_env() {
        Record::Mysql(target) => replay(script, &target),
        _ => replay(script, &Target { port: started.server().port, user: "root".into(), password: PASSWORD.into() }),
    })
}

fn of_ours(name: &'static str, replay: fn(&Script, &Server) -> String) -> Suite {
    let started = Started::new(name, &[]);
    Suite::new(name, Answers::Ours, &folder(name), move |script| replay(script, started.server()))
}

fn main() -> ExitCode {
    vaquita_scripts::main(vec![
        of_mysql("sql", &["--local-infile"], sql::replay),
        of_mysql("spilled", &SPILLED, sql::replay),
        of_mysql("parallel", &PARALLEL, sql::replay),
        of_ours("hermitage", hermitage::replay),
        of_mysql("replication", &[], sql::replay),
        of_mysql("packets", &[], packets::replay),
        of_ours("inside", inside::replay),
        Suite::new("data", Answers::Ours, &folder("data"), data::replay),
        of_mysql("logs", &[], logs::replay),
    ])
}
