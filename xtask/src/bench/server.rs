//! The four servers: how each is started, reached, sized and stopped.
//!
//! Peers run through tools/peers.sh. MariaDB with MyRocks is the same server and the same data directory as MariaDB
//! with InnoDB, with another default engine, in another database; started together they are one process.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::cgroup::Cgroup;
use super::process;
use super::sql::Conn;
use super::sysbench::call::Login;
use crate::client::{Answer, Client};
use crate::paths;
use crate::vaquita::{self, Vaquita, first_answer};

/// Of a server without clients, in a second.
const QUIET_CPU_US: u64 = 50_000;
const SETTLE_SECONDS_MAX: u32 = 180;
const LOG_RENEWAL: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    MySql,
    MariaDb,
    MyRocks,
    Vaquita,
}

pub const KINDS: [Kind; 4] = [Kind::MySql, Kind::MariaDb, Kind::MyRocks, Kind::Vaquita];

impl Kind {
    /// As in `--servers`.
    pub fn flag(self) -> &'static str {
        match self {
            Kind::MySql => "mysql",
            Kind::MariaDb => "mariadb",
            Kind::MyRocks => "myrocks",
            Kind::Vaquita => "vaquita",
        }
    }

    /// As in the report.
    pub fn title(self) -> &'static str {
        match self {
            Kind::MySql => "MySQL InnoDB",
            Kind::MariaDb => "MariaDB InnoDB",
            Kind::MyRocks => "MariaDB MyRocks",
            Kind::Vaquita => "Vaquita",
        }
    }

    fn database(self) -> &'static str {
        if self == Kind::MyRocks { "sbrocks" } else { "sbtest" }
    }

    /// What tools/peers.sh calls it.
    fn peer(self) -> Option<&'static str> {
        match self {
            Kind::MySql => Some("mysql"),
            Kind::MariaDb | Kind::MyRocks => Some("mariadb"),
            Kind::Vaquita => None,
        }
    }

    fn user(self) -> (&'static str, &'static str) {
        if self == Kind::Vaquita { ("root", vaquita::PASSWORD) } else { ("sb", "sb") }
    }
}

/// What tools/peers.sh gives the peers. Where a cgroup limits the memory, Vaquita chooses for itself.
const CACHE_OF_PEERS: [&str; 2] = ["--storage-test-option", "block-cache-bytes=2147483648"];

/// MySQL sizes tables of its own by these, which are otherwise far above their defaults.
const PEERS_IN_LITTLE_MEMORY: [&str; 2] = ["--max-connections=200", "--max-prepared-stmt-count=16382"];

enum Process {
    Vaquita(Vaquita),
    Peer {
        name: &'static str,
        pid: u32,
    },
    /// Of another `Server`, which stops it.
    Shared {
        pid: u32,
    },
}

/// How a server is started, where not as always.
#[derive(Clone, Copy, Default)]
pub struct Start<'a> {
    /// Where it may use no more memory than that, page cache included.
    pub cgroup: Option<&'a Cgroup>,
    /// Buffer pool and block cache of a peer; `None` for the 2 GB that tools/peers.sh gives, and Vaquita too.
    pub cache_bytes: Option<u64>,
}

/// A running server.
pub struct Server {
    kind: Kind,
    process: Option<Process>,
    port: u16,
    data_dir: PathBuf,
    /// From the spawn to the first answered query.
    pub start_time: Duration,
}

impl Server {
    /// Starts the server on the data it has; a peer's first start also creates its data directory.
    pub fn start(kind: Kind) -> Result<Server, String> {
        Server::start_with(kind, Start::default())
    }

    pub fn start_with(kind: Kind, how: Start) -> Result<Server, String> {
        match kind.peer() {
            Some(name) => start_peer(kind, name, how),
            None => start_vaquita(how),
        }
    }

    /// Starts the server with an empty database; Vaquita on an empty data directory.
    pub fn start_empty(kind: Kind, how: Start) -> Result<Server, String> {
        if kind == Kind::Vaquita {
            remove_vaquita_data()?;
        }
        let server = Server::start_with(kind, how)?;
        server.create_databases()?;
        Ok(server)
    }

    /// All of them at once, on the data they have.
    pub fn start_together(kinds: &[Kind]) -> Result<Vec<Server>, String> {
        let mut servers: Vec<Server> = Vec::new();
        for &kind in kinds {
            let same = servers.iter().find(|server| kind.peer().is_some() && server.kind.peer() == kind.peer());
            let server = match same {
                Some(other) => Server {
                    kind,
                    process: Some(Process::Shared { pid: other.pid() }),
                    port: other.port,
                    data_dir: other.data_dir.clone(),
                    start_time: other.start_time,
                },
                None => Server::start(kind)?,
            };
            servers.push(server);
        }
        Ok(servers)
    }

    /// All of them at once, each paused.
    pub fn start_paused(kinds: &[Kind]) -> Result<Vec<Server>, String> {
        let servers = Server::start_together(kinds)?;
        for server in &servers {
            server.pause()?;
        }
        Ok(servers)
    }

    /// Empties the databases of paused servers, and stops them.
    pub fn clean_up_all(servers: Vec<Server>) -> Result<(), String> {
        for server in &servers {
            server.resume()?;
            server.create_databases()?;
        }
        let vaquita = servers.iter().any(|server| server.kind == Kind::Vaquita);
        servers.into_iter().try_for_each(Server::stop)?;
        if vaquita { remove_vaquita_data() } else { Ok(()) }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Stops the process where it is, until `resume`.
    pub fn pause(&self) -> Result<(), String> {
        process::signal(self.pid(), "STOP")
    }

    pub fn resume(&self) -> Result<(), String> {
        process::signal(self.pid(), "CONT")?;
        match self.kind {
            // bulk_insert names no engine.
            Kind::MariaDb => self.query("SET GLOBAL default_storage_engine = InnoDB").map(|_| ()),
            Kind::MyRocks => self.query("SET GLOBAL default_storage_engine = RocksDB").map(|_| ()),
            Kind::MySql | Kind::Vaquita => Ok(()),
        }
    }

    /// Waits until the server has nothing to do of its own: what it was filled with is where it stays. For three minutes at most.
    pub fn settle(&self) -> Result<(), String> {
        let mut quiet_seconds = 0;
        for _ in 0..SETTLE_SECONDS_MAX {
            let before = process::cpu_us(self.pid())?;
            std::thread::sleep(Duration::from_secs(1));
            let is_quiet = process::cpu_us(self.pid())? - before < QUIET_CPU_US;
            quiet_seconds = if is_quiet { quiet_seconds + 1 } else { 0 };
            if quiet_seconds == 2 {
                break;
            }
        }
        Ok(())
    }

    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    pub fn pid(&self) -> u32 {
        match &self.process {
            Some(Process::Vaquita(vaquita)) => vaquita.pid(),
            Some(Process::Peer { pid, .. } | Process::Shared { pid }) => *pid,
            None => 0,
        }
    }

    /// Bytes written so far by the device that holds the server's data.
    pub fn written_bytes(&self) -> Result<u64, String> {
        process::device_written_bytes(&self.data_dir)
    }

    pub fn login(&self) -> Login<'static> {
        let (user, password) = self.kind.user();
        let engine = (self.kind == Kind::MyRocks).then_some("rocksdb");
        Login { port: self.port, user, password, database: self.kind.database(), engine }
    }

    /// The database of bulk_insert, whose tables are called like those of the other scripts.
    pub fn bulk_login(&self) -> Login<'static> {
        Login { database: "sbbulk", ..self.login() }
    }

    /// Leaves the server with empty databases, and MySQL with an empty binary log.
    pub fn create_databases(&self) -> Result<(), String> {
        if self.kind == Kind::MySql {
            self.query("RESET BINARY LOGS AND GTIDS")?;
        }
        for database in [self.kind.database(), "sbbulk"] {
            self.query(&format!("DROP DATABASE IF EXISTS {database}"))?;
            self.query(&format!("CREATE DATABASE {database}"))?;
        }
        Ok(())
    }

    pub fn version(&self) -> Result<String, String> {
        let rows = self.query("SELECT VERSION()")?.rows();
        Ok(rows.into_iter().flatten().next().unwrap_or_default())
    }

    fn query(&self, sql: &str) -> Result<Answer, String> {
        let (user, password) = self.kind.user();
        let mut client =
            Client::connect(self.port, user, password).map_err(|e| format!("cannot connect to {}: {e}", self.kind.title()))?;
        match client.try_query(sql).map_err(|e| format!("{sql}: {e}"))? {
            Answer::Err { code, text, .. } => Err(format!("{sql}: {code} {text}")),
            answer => Ok(answer),
        }
    }

    /// Bytes of the tables' own files, InnoDB's tablespaces or RocksDB's table files, once they hold all rows. Logs, some of
    /// which have a fixed size, are left out.
    pub fn table_bytes(&self) -> Result<u64, String> {
        match self.kind {
            Kind::MyRocks => drop(self.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1")?),
            // After a start the log is renewed in the background, which leaves its rows in files.
            Kind::Vaquita => std::thread::sleep(LOG_RENEWAL),
            Kind::MySql | Kind::MariaDb => {}
        }
        Ok(match self.kind {
            Kind::MySql | Kind::MariaDb => process::disk_bytes(&self.data_dir.join(self.kind.database()), &|_| true),
            Kind::MyRocks => process::disk_bytes(&self.data_dir.join("#rocksdb"), &is_rocksdb_data),
            Kind::Vaquita => process::disk_bytes(&self.data_dir, &is_rocksdb_data),
        })
    }

    /// Empties the databases and stops.
    pub fn clean_up(self) -> Result<(), String> {
        self.create_databases()?;
        let kind = self.kind;
        self.stop()?;
        if kind == Kind::Vaquita { remove_vaquita_data() } else { Ok(()) }
    }

    /// `kill -9`, and waits for its end.
    pub fn kill(mut self) -> Result<(), String> {
        match self.process.take() {
            Some(Process::Vaquita(vaquita)) => vaquita.kill(),
            Some(Process::Peer { name, pid }) => {
                process::kill_and_wait(pid)?;
                // Until its parent has noticed, the process seems to run.
                let (_, pid_file) = where_is(name)?;
                std::fs::remove_file(&pid_file).map_err(|e| format!("{}: {e}", pid_file.display()))
            }
            Some(Process::Shared { .. }) | None => Ok(()),
        }
    }

    pub fn connect(&self) -> Result<Conn, String> {
        Conn::open(self)
    }

    pub fn stop(mut self) -> Result<(), String> {
        match self.process.take() {
            Some(Process::Vaquita(vaquita)) => vaquita.stop(),
            Some(Process::Peer { name, .. }) => stop_peer(name),
            Some(Process::Shared { .. }) | None => Ok(()),
        }
    }
}

impl Drop for Server {
    /// An error on the way: no server stays behind.
    fn drop(&mut self) {
        if let Some(Process::Peer { name, pid }) = self.process.take() {
            let _ = process::signal(pid, "CONT");
            let _ = stop_peer(name);
        }
    }
}

fn is_rocksdb_data(name: &str) -> bool {
    [".sst", ".blob"].iter().any(|end| name.ends_with(end))
}

/// Removes Vaquita's data of an earlier run, so that it starts empty as the databases of the peers do.
fn remove_vaquita_data() -> Result<(), String> {
    match std::fs::remove_dir_all(vaquita_dir()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", vaquita_dir().display())),
        _ => Ok(()),
    }
}

fn vaquita_dir() -> PathBuf {
    paths::target_dir().join("bench/vaquita-data")
}

fn start_vaquita(how: Start) -> Result<Server, String> {
    let data_dir = vaquita_dir();
    std::fs::create_dir_all(&data_dir).map_err(|e| format!("{}: {e}", data_dir.display()))?;
    let (port, log) = (vaquita::free_port()?, data_dir.with_extension("log"));
    let command = inside(how, &paths::vaquita()?);
    let mut options = vec!["--local-infile=true"];
    if how.cgroup.is_none() {
        options.extend(CACHE_OF_PEERS);
    }
    let started = Vaquita::spawn_command(command, &data_dir, port, &log, &options)?.wait()?;
    let start_time = started.start_time;
    Ok(Server { kind: Kind::Vaquita, process: Some(Process::Vaquita(started)), port, data_dir, start_time })
}

fn inside(how: Start, program: &Path) -> Command {
    how.cgroup.map_or_else(|| Command::new(program), |cgroup| cgroup.command(program))
}

fn start_peer(kind: Kind, name: &'static str, how: Start) -> Result<Server, String> {
    let port = peer_port(name)?;
    if TcpStream::connect(("127.0.0.1", port)).is_ok() {
        return Err(format!("port {port} is taken: stop what runs there, or set {}_PORT", name.to_uppercase()));
    }
    let mut script = inside(how, &peers_sh());
    script.args(["start", name]);
    if let Some(bytes) = how.cache_bytes {
        script.env("MEM", bytes.to_string());
    }
    if kind == Kind::MyRocks {
        script.arg("--default-storage-engine=rocksdb");
    }
    if how.cgroup.is_some() {
        script.args(PEERS_IN_LITTLE_MEMORY);
    }
    let spawned = Instant::now();
    let mut script = script.stdin(Stdio::null()).spawn().map_err(|e| format!("tools/peers.sh: {e}"))?;
    let (user, password) = kind.user();
    // The script ends by itself, with the server running, before or after the first answer; or with an error.
    let answered =
        first_answer(port, user, password, spawned, || !matches!(script.try_wait(), Ok(Some(status)) if !status.success()));
    let status = script.wait().map_err(|e| e.to_string())?;
    let start_time = match answered {
        Ok(time) if status.success() => time,
        other => {
            let _ = stop_peer(name);
            return Err(format!("{} did not start: {}", kind.title(), other.err().unwrap_or_else(|| status.to_string())));
        }
    };
    let (data_dir, pid) = locate_peer(name)?;
    Ok(Server { kind, process: Some(Process::Peer { name, pid }), port, data_dir, start_time })
}

fn peers_sh() -> PathBuf {
    paths::repository().join("tools/peers.sh")
}

/// The port that tools/peers.sh uses.
fn peer_port(name: &str) -> Result<u16, String> {
    let variable = format!("{}_PORT", name.to_uppercase());
    match std::env::var(&variable) {
        Ok(text) => text.parse().map_err(|_| format!("{variable}: not a port: {text}")),
        Err(_) => Ok(if name == "mysql" { 13306 } else { 13307 }),
    }
}

/// The data directory and the file of the process id.
fn where_is(name: &str) -> Result<(PathBuf, PathBuf), String> {
    let output = Command::new(peers_sh()).args(["where", name]).output().map_err(|e| format!("tools/peers.sh: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines().map(PathBuf::from);
    match (lines.next(), lines.next()) {
        (Some(data_dir), Some(pid_file)) => Ok((data_dir, pid_file)),
        _ => Err("tools/peers.sh where: no answer".into()),
    }
}

fn locate_peer(name: &str) -> Result<(PathBuf, u32), String> {
    let (data_dir, pid_file) = where_is(name)?;
    let pid = std::fs::read_to_string(&pid_file).ok().and_then(|text| text.trim().parse().ok());
    Ok((data_dir, pid.ok_or_else(|| format!("no process id in {}", pid_file.display()))?))
}

fn stop_peer(name: &str) -> Result<(), String> {
    let status = Command::new(peers_sh()).args(["stop", name]).status().map_err(|e| format!("tools/peers.sh: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("tools/peers.sh stop {name}: {status}")) }
}
