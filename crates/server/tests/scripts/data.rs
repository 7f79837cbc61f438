//! Data directories that releases have left behind, opened by the server of now.
//!
//! `tests/golden/data/VERSION-stopped.tar.xz` is a directory whose server was stopped, `VERSION-killed.tar.xz` one that must be recovered. The script
//! beside it asks for all that was in it, goes on with it, and its last answer is what `vaquita check` says then.
//! What a directory has is made by `contents.sql`; it is made once, by the server of its version, when its script is recorded and it is not there:
//!
//! ```text
//! cp tests/golden/data/0.1.0-stopped.test tests/golden/data/0.2.0-stopped.test      for each of the two
//! VAQUITA_RECORD=own cargo test -p vaquita-server --test scripts -- data::0.2.0
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use vaquita_scripts::Script;
use vaquita_scripts::sql::{self, section};

use crate::client::{Answer, Client};
use crate::server::Server;

/// What the first start of a server makes anew, what it only reserves, and notes of RocksDB that nobody reads.
const LEFT_OUT: [&str; 6] = ["*.pem", "client.cnf", "*.sock", "SPACE_RESERVE", "LOG", "LOG.old.*"];
/// In `contents.sql`: the server is stopped and started, so that some of what it has is in files.
const RESTART: &str = "restart";

pub fn replay(script: &Script) -> String {
    let archive = crate::folder("data").join(format!("{}.tar.xz", script.name));
    if script.recording && !archive.exists() {
        make(script, &archive);
    }
    let dir = empty_dir(&script.name);
    tar(Command::new("tar").arg("-xJf").arg(&archive).arg("-C").arg(&dir));
    let server = Server::start_in(dir);
    let answers = sql::replay(script, || server.connect());
    let (_, _, dir) = server.terminate();
    let check = Command::new(env!("CARGO_BIN_EXE_vaquita")).arg("check").arg("--data-dir").arg(&dir).output().expect("vaquita");
    std::fs::remove_dir_all(dir).expect("removed");
    let found = String::from_utf8_lossy(&check.stdout).into_owned() + &String::from_utf8_lossy(&check.stderr);
    answers + &section("check", found.lines())
}

fn empty_dir(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("vaquita-data-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a directory");
    dir
}

/// Fills a directory and packs it.
fn make(script: &Script, archive: &Path) {
    let contents = std::fs::read_to_string(crate::folder("data").join("contents.sql")).expect("the contents");
    let mut server = Server::start_in(empty_dir(&script.name));
    let mut client = server.connect();
    for statement in contents.lines().filter_map(|line| line.strip_prefix("> ")) {
        if statement == RESTART {
            drop(client);
            server = Server::start_in(server.terminate().2);
            client = server.connect();
        } else {
            run(&mut client, statement);
        }
    }
    drop(client);
    let dir = if script.name.ends_with("-killed") { server.kill() } else { server.terminate().2 };
    let mut command = Command::new("tar");
    command.arg("-cJf").arg(archive).args(["--sort=name", "--numeric-owner", "--owner=0", "--group=0"]);
    command.args(LEFT_OUT.map(|name| format!("--exclude={name}"))).arg("-C").arg(&dir).arg(".");
    tar(&mut command);
    std::fs::remove_dir_all(dir).expect("removed");
}

fn run(client: &mut Client, statement: &str) {
    for answer in client.query_all(statement) {
        assert!(!matches!(answer, Answer::Err { .. }), "{statement}: {answer:?}");
    }
}

fn tar(command: &mut Command) {
    let done = command.output().expect("tar is there");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
