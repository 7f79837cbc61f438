//! SQL on a server of the benchmark: a connection whose errors name the statement, and the mariadb client for files.

use std::fs::File;
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
        let client = Client::connect(login.port, login.user, login.password)
            .map_err(|e| format!("cannot connect to {}: {e}", server.kind().title()))?;
        client.set_timeout(STATEMENT_MAX).map_err(|e| e.to_string())?;
        let mut conn = Conn { client };
        conn.run(&format!("USE {}", login.database))?;
        if let Some(engine) = engine_of(server.kind()) {
            conn.run(&format!("SET SESSION default_storage_engine = {engine}"))?;
        }
        Ok(conn)
    }

    pub fn set_timeout(&mut self, timeout: Duration) -> Result<(), String> {
        self.client.set_timeout(timeout).map_err(|e| e.to_string())
    }

    pub fn run(&mut self, sql: &str) -> Result<Answer, String> {
        let short: String = sql.chars().take(100).collect();
        match self.client.try_query(sql).map_err(|e| format!("{short}: {e}"))? {
            Answer::Err { code, text, .. } => Err(format!("{short}: {code} {text}")),
            answer => Ok(answer),
        }
    }

    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        match self.run(sql)? {
            answer @ Answer::Rows { .. } => Ok(answer.rows()),
            other => Err(format!("{sql}: rows expected, not {other:?}")),
        }
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

/// The session setting a file's rows are loaded with. MyRocks keeps a lock for each row of a transaction and refuses more than a million;
/// its own way to load is to write sorted files, without locks and undo.
pub fn before_load(kind: Kind) -> &'static str {
    if kind == Kind::MyRocks { "rocksdb_bulk_load = 1" } else { "" }
}

/// LOAD DATA LOCAL through the mariadb client, which reads the file.
pub fn load_data(server: &Server, file: &Path, table: &str) -> Result<(), String> {
    let load = format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE {table}", file.display());
    client(server, before_load(server.kind()), Ok(&load))
}

/// Pipes a file of statements into the mariadb client, with a session setting.
pub fn pipe_after(server: &Server, before: &str, file: &Path) -> Result<(), String> {
    client(server, before, Err(file))
}

/// `work` is a statement or a file of statements.
fn client(server: &Server, before: &str, work: Result<&str, &Path>) -> Result<(), String> {
    let login = server.login();
    let mut command = Command::new("mariadb");
    command.args(["--no-defaults", "-h127.0.0.1", "--local-infile=1", "--max-allowed-packet=64M"]);
    command.args([format!("-P{}", login.port), format!("-u{}", login.user), format!("-p{}", login.password)]);
    let engine = engine_of(server.kind()).map(|engine| format!("default_storage_engine = {engine}"));
    let settings: Vec<&str> = engine.as_deref().into_iter().chain([before]).filter(|setting| !setting.is_empty()).collect();
    if !settings.is_empty() {
        command.arg(format!("--init-command=SET SESSION {}", settings.join(", ")));
    }
    command.stdin(Stdio::null());
    match work {
        Ok(sql) => drop(command.args(["-e", sql])),
        Err(path) => drop(command.stdin(File::open(path).map_err(|e| format!("{}: {e}", path.display()))?)),
    }
    command.arg(login.database);
    let output = command.output().map_err(|e| format!("mariadb: {e}; tools/peers.sh install"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(());
    }
    let what = work.map_or_else(|path| path.display().to_string(), str::to_string);
    Err(format!("{what}: {}", text.trim()))
}
