//! The client programs that `cargo harness dump-test` runs, each a command line to which connection and options are added.
//!
//! Passwords go through `MYSQL_PWD`. What a program writes to its standard error is in the error, and else is not shown.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

pub struct Server {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
}

pub struct Programs {
    pub client: String,
    pub mysqldump: String,
    pub mariadb_dump: String,
}

impl Programs {
    pub fn has_mariadb_dump(&self) -> bool {
        command(&self.mariadb_dump).arg("--version").output().is_ok_and(|output| output.status.success())
    }

    /// Dumps `database` into `file`.
    pub fn dump(&self, server: &Server, by_mariadb: bool, options: &[&str], database: &str, file: &Path) -> Result<(), String> {
        let program = if by_mariadb { &self.mariadb_dump } else { &self.mysqldump };
        let mut dump = connected(program, server);
        if !version(program)?.contains("MariaDB") {
            // Which transactions MySQL has executed belongs to the server, not to the database.
            dump.arg("--set-gtid-purged=OFF");
        }
        let out = File::create(file).map_err(|e| format!("{}: {e}", file.display()))?;
        dump.args(options).arg(database).stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
        finish(program, dump.spawn().and_then(|child| child.wait_with_output()))
    }

    /// Feeds `file` to the client, in `database` if there is one.
    pub fn load(&self, server: &Server, database: Option<&str>, file: &Path) -> Result<(), String> {
        let input = File::open(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut client = connected(&self.client, server);
        client.arg("--default-character-set=utf8mb4").args(database).stdin(input).stdout(Stdio::null()).stderr(Stdio::piped());
        finish(&self.client, client.spawn().and_then(|child| child.wait_with_output()))
    }

    /// Feeds the client what `write` writes.
    pub fn feed(&self, server: &Server, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
        let mut client = connected(&self.client, server);
        client.arg("--default-character-set=utf8mb4").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = client.spawn().map_err(|e| format!("{}: {e}", self.client))?;
        let written = match child.stdin.take() {
            Some(mut input) => write(&mut input),
            None => Ok(()),
        };
        // An early end of the client explains a write that failed.
        finish(&self.client, child.wait_with_output())?;
        written.map_err(|e| format!("{}: {e}", self.client))
    }

    pub fn execute(&self, server: &Server, sql: &str) -> Result<(), String> {
        self.feed(server, |out| out.write_all(sql.as_bytes())).map_err(|e| format!("{sql}: {e}"))
    }

    /// The lines of the answer to `sql`, fields separated by tabs.
    pub fn query(&self, server: &Server, sql: &str) -> Result<String, String> {
        let mut client = connected(&self.client, server);
        client.args(["--default-character-set=utf8mb4", "--batch", "--raw", "--skip-column-names", "-e", sql]);
        let output = client.stdin(Stdio::null()).output();
        let text = output.as_ref().map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        finish(&self.client, output).map(|()| text)
    }
}

/// `line` is a program and its first arguments.
fn command(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

fn connected(line: &str, server: &Server) -> Command {
    let mut command = command(line);
    command.env("MYSQL_PWD", &server.password);
    command.args(["-h", &server.host, "-P", &server.port.to_string(), "-u", &server.user]);
    command
}

fn version(line: &str) -> Result<String, String> {
    let output = command(line).arg("--version").output().map_err(|e| format!("{line}: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn finish(line: &str, output: io::Result<std::process::Output>) -> Result<(), String> {
    let output = output.map_err(|e| format!("{line}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{line}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
}
