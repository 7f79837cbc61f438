//! The server that a harness tests: Vaquita, or, with `--server`, MySQL or MariaDB in its place, on a directory of its own.
//!
//! A peer's directory is made (`initialize`) with root and the password that Vaquita's directories have; then every server
//! is started, asked and killed alike (`vaquita`). Peers run with `--no-defaults`, so that each commit is durable, and with
//! small buffers, so that they write pages all the time as Vaquita flushes small memtables. MyRocks is MariaDB's.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::flags::Flags;
use crate::paths;
use crate::vaquita::{PASSWORD, Starting, Vaquita, free_port};

/// So that flushes and compactions happen all the time.
pub const SMALL_MEMTABLES: [&str; 2] = ["--storage-test-option", "write-buffer-bytes=1048576"];
const BUFFER_POOL: &str = "--innodb-buffer-pool-size=32M";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Vaquita,
    MySql,
    MariaDb,
    MyRocks,
}

#[derive(Clone, Debug)]
pub struct UnderTest {
    kind: Kind,
    /// The program and what stands before its options.
    command: Vec<String>,
    /// What makes MariaDB's directory.
    install: Vec<String>,
    basedir: Option<String>,
    options: Vec<String>,
    /// How the harness was told, to say how to repeat a failure.
    flags: String,
}

impl UnderTest {
    /// Reads `--server`, and for a peer `--mysqld COMMAND`, `--install-db COMMAND`, `--basedir DIR`; `options` are Vaquita's.
    pub fn from_flags(flags: &mut Flags, options: &[&str]) -> Result<UnderTest, String> {
        let name = flags.text("--server")?;
        let mysqld = flags.text("--mysqld")?;
        let install = flags.text("--install-db")?;
        let basedir = flags.text("--basedir")?;
        let kind = match name.as_deref() {
            None | Some("vaquita") => Kind::Vaquita,
            Some("mysql") => Kind::MySql,
            Some("mariadb") => Kind::MariaDb,
            Some("myrocks") => Kind::MyRocks,
            Some(other) => return Err(format!("--server {other}: vaquita, mysql, mariadb or myrocks")),
        };
        let given = [("--server", &name), ("--mysqld", &mysqld), ("--install-db", &install), ("--basedir", &basedir)];
        let again = given.iter().filter_map(|(flag, value)| Some(format!(" {flag} '{}'", value.as_ref()?))).collect();
        let words = |text: &str| text.split_whitespace().map(str::to_string).collect();
        let command = match kind {
            Kind::Vaquita => vec![paths::vaquita()?.display().to_string()],
            Kind::MySql => words(mysqld.as_deref().unwrap_or("mysqld")),
            Kind::MariaDb | Kind::MyRocks => words(mysqld.as_deref().unwrap_or("mariadbd")),
        };
        let options = match kind {
            Kind::Vaquita => options.to_vec(),
            Kind::MySql => vec!["--mysqlx=0", "--secure-file-priv=NULL", BUFFER_POOL, "--innodb-redo-log-capacity=16M"],
            Kind::MariaDb => vec![BUFFER_POOL, "--innodb-log-file-size=16M"],
            Kind::MyRocks => vec![
                BUFFER_POOL,
                "--plugin-load-add=ha_rocksdb",
                "--default-storage-engine=rocksdb",
                "--rocksdb-override-cf-options=default={write_buffer_size=1m}",
            ],
        };
        let install = words(install.as_deref().unwrap_or("mariadb-install-db"));
        let options = options.into_iter().map(str::to_string).collect();
        Ok(UnderTest { kind, command, install, basedir, options, flags: again })
    }

    pub fn is_vaquita(&self) -> bool {
        self.kind == Kind::Vaquita
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Vaquita => "Vaquita",
            Kind::MySql => "MySQL InnoDB",
            Kind::MariaDb => "MariaDB InnoDB",
            Kind::MyRocks => "MariaDB MyRocks",
        }
    }

    /// The flags that `from_flags` read, each after a space.
    pub fn flags(&self) -> &str {
        &self.flags
    }

    /// Makes a peer's directory, synced; Vaquita's first start makes its own.
    pub fn initialize(&self, dir: &Path, log: &Path) -> Result<(), String> {
        if self.is_vaquita() {
            return Ok(());
        }
        let mut command = if self.kind == Kind::MySql {
            let mut command = self.program(&self.command);
            command.args(["--no-defaults", "--initialize-insecure"]);
            command
        } else {
            let mut command = self.program(&self.install);
            command.args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"]);
            command
        };
        self.add_options(&mut command, dir);
        let status = quiet(&mut command, log)?.status().map_err(|e| format!("{command:?}: {e}"))?;
        if !status.success() {
            return Err(format!("{command:?} ended with {status}; see {}", log.display()));
        }
        // The data directory belongs to the server alone.
        let script = log.with_extension("sql");
        let sql = format!(
            "CREATE USER IF NOT EXISTS root@'127.0.0.1';\nALTER USER root@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n\
             GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"
        );
        fs::write(&script, sql).map_err(|e| format!("{}: {e}", script.display()))?;
        let script_option = format!("--init-file={}", script.display());
        self.spawn_with(dir, log, &[&script_option])?.wait()?.stop()?;
        sync_all(dir).map_err(|e| format!("{}: {e}", dir.display()))
    }

    /// Starts the server on `dir`, waits for its first answer. Its messages are appended to `log`.
    pub fn start(&self, dir: &Path, log: &Path) -> Result<Vaquita, String> {
        self.spawn(dir, log)?.wait()
    }

    /// Starts the server, and waits for nothing.
    pub fn spawn(&self, dir: &Path, log: &Path) -> Result<Starting, String> {
        self.spawn_with(dir, log, &[])
    }

    fn spawn_with(&self, dir: &Path, log: &Path, more: &[&str]) -> Result<Starting, String> {
        let port = free_port()?;
        if self.is_vaquita() {
            let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
            return Vaquita::spawn_with(Path::new(&self.command[0]), dir, port, log, &options);
        }
        let mut command = self.program(&self.command);
        // A socket of a relative name is in the data directory.
        command.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", "--socket=mysql.sock"]);
        command.arg(format!("--port={port}")).args(more);
        self.add_options(&mut command, dir);
        Starting::spawn(quiet(&mut command, log)?, port, log)
    }

    fn program(&self, words: &[String]) -> Command {
        let mut command = Command::new(words.first().map_or("", String::as_str));
        command.args(words.iter().skip(1));
        command
    }

    fn add_options(&self, command: &mut Command, dir: &Path) {
        command.args(["--user=root", &format!("--datadir={}", dir.display())]).args(&self.options);
        if let Some(basedir) = &self.basedir {
            command.arg(format!("--basedir={basedir}"));
        }
    }
}

/// Sends what the command says to `log`.
fn quiet<'a>(command: &'a mut Command, log: &Path) -> Result<&'a mut Command, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", log.display());
    let messages: File = OpenOptions::new().create(true).append(true).open(log).map_err(failed)?;
    let same = messages.try_clone().map_err(failed)?;
    Ok(command.stdin(Stdio::null()).stdout(same).stderr(messages))
}

/// Syncs all files and directories of `dir`: what made them does not promise that.
fn sync_all(dir: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path: PathBuf = entry?.path();
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() {
            sync_all(&path)?;
        } else if kind.is_file() {
            File::open(&path)?.sync_all()?;
        }
    }
    File::open(dir)?.sync_all()
}
