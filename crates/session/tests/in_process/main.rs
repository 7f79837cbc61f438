//! Scripts that run in sessions without a server around them; `vaquita_scripts` says how one is run and recorded.
//!
//! `sql` are the scripts of the server's golden tests (`crates/server/tests/golden/sql`), which records them from MySQL; here they are compared.
//! What a session answers must be what the server sends, so a statement can have no effect that only the wire knows.
//! `log` (`tests/golden/log`, ours) is what a statement's commit writes.

mod console;
mod log;

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use vaquita_scripts::{Answers, Script, Suite, sql};
use vaquita_session::Server;
use vaquita_storage::{EngineOptions, RocksLog, Stages};

use console::{Console, Started};

fn folder(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn replay(server: &Arc<Server>, script: &Script) -> String {
    in_database(server, &format!("golden_{}", script.name), |connect| sql::replay(script, connect))
}

/// Runs a script in a database of its own, to which `connect` connects.
fn in_database(server: &Arc<Server>, name: &str, replay: impl FnOnce(&dyn Fn() -> Console) -> String) -> String {
    let mut owner = Console::open(server);
    owner.run(&format!("DROP DATABASE IF EXISTS {name}"));
    owner.run(&format!("CREATE DATABASE {name}"));
    let answers = replay(&|| {
        let mut console = Console::open(server);
        console.run(&format!("USE {name}"));
        console
    });
    owner.run(&format!("DROP DATABASE IF EXISTS {name}"));
    answers
}

fn main() -> ExitCode {
    let plain: Arc<OnceLock<Started>> = Arc::default();
    let of_suite = plain.clone();
    let start =
        || Started::new("in-process", EngineOptions::default(), |rocks: RocksLog, _| Ok(Arc::new(rocks) as Arc<dyn Stages>));
    let sql = Suite::new("sql", Answers::Anothers, &folder("../server/tests/golden/sql"), move |script| {
        replay(&of_suite.get_or_init(start).server, script)
    });
    let watched: Arc<OnceLock<log::Watched>> = Arc::default();
    let of_suite = watched.clone();
    let log = Suite::new("log", Answers::Ours, &folder("tests/golden/log"), move |script| {
        log::replay(of_suite.get_or_init(log::Watched::start), script)
    });
    let code = vaquita_scripts::main(vec![sql, log]);
    plain.get().into_iter().chain(watched.get().map(|watched| &watched.started)).for_each(Started::end);
    code
}
