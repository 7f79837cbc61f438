//! SQL on a server of the benchmark: a connection whose errors name the statement, and the mariadb client for files.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::server::{Kind, Server};
use crate::client::{Answer, Client};

/// A statement that takes longer than this is taken for one that does not end.
pub const STATEMENT_MAX: Duration = Duration::from_secs(1800);

pub struct Conn {
    client: Client,
}

impl Conn {
    /// In the server's database, where new tables are of the engine that is measured.
    pub fn open(server: &Server) -> Result<Conn, String> {
        let login = server.login();
        let mut conn = Conn::to(login.port, login.user, login.password).map_err(|e| format!("{}: {e}", server.kind().title()))?;
        conn.run(&format!("USE {}", login.database))?;
        if let Some(engine) = engine_of(server.kind()) {
            conn.run(&format!("SET SESSION default_storage_engine = {engine}"))?;
        }
        Ok(conn)
    }

    /// In no database.
    pub fn to(port: u16, user: &str, password: &str) -> Result<Conn, String> {
        let client = Client::connect(port, user, password).map_err(|e| format!("cannot connect to port {port}: {e}"))?;
        client.set_timeout(STATEMENT_MAX).map_err(|e| e.to_string())?;
        Ok(Conn { client })
    }

    pub fn set_timeout(&mut self, timeout: Duration) -> Result<(), String> {
        self.client.set_timeout(timeout).map_err(|e| e.to_string())
    }

    /// The first answer; a CALL has more, of which only an error counts.
    pub fn run(&mut self, sql: &str) -> Result<Answer, String> {
        let short: String = sql.chars().take(100).collect();
        let mut answers = self.client.try_query_all(sql).map_err(|e| format!("{short}: {e}"))?;
        match answers.iter().find(|answer| matches!(answer, Answer::Err { .. })) {
            Some(Answer::Err { code, text, .. }) => Err(format!("{short}: {code} {text}")),
            _ => Ok(answers.swap_remove(0)),
        }
    }

    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        match self.run(sql)? {
            answer @ Answer::Rows { .. } => Ok(answer.rows()),
            other => Err(format!("{sql}: rows expected, not {other:?}")),
        }
    }

    pub fn row(&mut self, sql: &str) -> Result<Vec<String>, String> {
        self.rows(sql)?.into_iter().next().ok_or_else(|| format!("{sql}: no row"))
    }

    /// The first value of the first row.
    pub fn value(&mut self, sql: &str) -> Result<String, String> {
        self.rows(sql)?.into_iter().flatten().next().ok_or_else(|| format!("{sql}: no row"))
    }

    /// Fails unless the first value is `expected`.
    pub fn expect(&mut self, sql: &str, expected: &str) -> Result<(), String> {
        let found = self.value(sql)?;
        if found == expected { Ok(()) } else { Err(format!("{sql}: {found} instead of {expected}")) }
    }
}

fn engine_of(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::MariaDb => Some("InnoDB"),
        Kind::MyRocks => Some("ROCKSDB"),
        Kind::MySql | Kind::Vaquita => None,
    }
}

/// What begins and ends a load of many rows. MyRocks keeps a lock for each row of a transaction and refuses more than a
/// million; its own way to load is to write sorted files, without locks and undo, which are there once the setting is off.
fn around_load(kind: Kind) -> [&'static str; 2] {
    if kind == Kind::MyRocks {
        ["SET SESSION rocksdb_bulk_load = 1;\n", "SET SESSION rocksdb_bulk_load = 0;\n"]
    } else {
        ["", ""]
    }
}

/// LOAD DATA LOCAL through the mariadb client, which reads the file.
pub fn load_data(server: &Server, file: &Path, table: &str) -> Result<(), String> {
    let load = format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE {table};\n", file.display());
    pipe(server, &mut load.as_bytes()).map_err(|text| format!("{}: {text}", load.trim()))
}

/// Pipes a file of statements into the mariadb client.
pub fn run_file(server: &Server, file: &Path) -> Result<(), String> {
    let mut input = File::open(file).map_err(|e| format!("{}: {e}", file.display()))?;
    pipe(server, &mut input).map_err(|text| format!("{}: {text}", file.display()))
}

fn pipe(server: &Server, statements: &mut dyn Read) -> Result<(), String> {
    let login = server.login();
    let mut command = Command::new("mariadb");
    command.args(["--no-defaults", "-h127.0.0.1", "--local-infile=1", "--max-allowed-packet=64M"]);
    command.args([format!("-P{}", login.port), format!("-u{}", login.user), format!("-p{}", login.password)]);
    if let Some(engine) = engine_of(server.kind()) {
        command.arg(format!("--init-command=SET SESSION default_storage_engine = {engine}"));
    }
    command.arg(login.database).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("mariadb: {e}; tools/peers.sh install"))?;
    let [before, after] = around_load(server.kind());
    let sent = child.stdin.take().map_or(Ok(0), |mut stdin| {
        stdin.write_all(before.as_bytes())?;
        std::io::copy(statements, &mut stdin)?;
        stdin.write_all(after.as_bytes()).map(|()| 0)
    });
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr);
    match sent {
        // What the client says of a failed statement comes before a broken pipe.
        _ if !output.status.success() => Err(text.trim().to_string()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
