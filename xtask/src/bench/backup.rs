//! `cargo xtask bench backup`: backups under load, what the next one costs after one row in a hundred has changed, and restores.
//!
//! Vaquita by `vaquita backup`, MariaDB with InnoDB by `mariadb-backup` (Debian's package of that name), MySQL by `mydumper`, which reads rows as a client does and has neither increments nor
//! files to put back. Each server runs alone. Each run:
//!
//! 1. Clients run sysbench's oltp_read_write for some seconds, and again while a full backup is taken.
//! 2. A backup is taken when the load has ended. One row in a hundred of each table is changed, and an incremental backup is taken: into the same place,
//!    or with `--incremental-basedir`.
//! 3. The full backup is made a data directory again. Nobody starts a server there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::outcome::{Better, Outcome, Table, Target};
use super::process;
use super::server::{Kind, Server};
use super::settings::{Options, Settings};
use super::sysbench::call::{self, Login, Size};
use crate::paths;

const SCRIPT: &str = "oltp_read_write";
const CHANGED_ONE_IN: u64 = 100;

struct Plan {
    threads: u64,
    seconds: u64,
    size: Size,
}

struct Tables {
    seconds: Table,
    bytes: Table,
    latency: Table,
}

const FULL: &str = "full backup, under load";
const NEXT: &str = "incremental backup, 1% of the rows changed";
const RESTORE: &str = "restore";
const PART: &str = "incremental to full backup, %";
const ALONE: &str = "95% of transactions, no backup";
const MEANWHILE: &str = "95% of transactions, during the backup";

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("backup", args);
    let plan = Plan {
        threads: options.number("--threads", 4, 2)?,
        seconds: options.number("--seconds", 20, 3)?.max(1),
        size: Size { tables: options.number("--tables", 10, 2)?, rows: options.number("--rows", 1_000_000, 20_000)? },
    };
    let settings = options.finish(3, 1)?;
    let mut outcome = Outcome::new("Backups");
    outcome.setting(format!(
        "{}, {} tables of {} rows, {SCRIPT} with {} clients for {} s before and during each full backup; a backup goes to another directory of the same disk. \
         Vaquita by `vaquita backup`, MariaDB by `mariadb-backup` (restore: `--prepare` and `--copy-back`), MySQL by `mydumper`.",
        call::version()?,
        plan.size.tables,
        plan.size.rows,
        plan.threads,
        plan.seconds,
    ));
    let mut tables = Tables {
        seconds: Table::new("Time", "s", Better::Less),
        bytes: Table::new("Bytes that are stored", "MB", Better::Less)
            .note("An increment of Vaquita is the files that the place did not have: compaction writes rows that have not changed, too."),
        latency: Table::new("Clients", "ms", Better::Less),
    };
    tables.bytes.row("full backup", Target::None);
    tables.bytes.row("incremental backup", Target::None);
    tables.bytes.row(PART, Target::AtMost(5.0));
    for kind in [Kind::MySql, Kind::MariaDb, Kind::Vaquita] {
        if settings.servers.contains(&kind) {
            measure(&settings, &plan, kind, &mut outcome, &mut tables)?;
        }
    }
    outcome.tables = vec![tables.seconds, tables.bytes, tables.latency];
    outcome.finish(&settings)
}

fn measure(settings: &Settings, plan: &Plan, kind: Kind, outcome: &mut Outcome, tables: &mut Tables) -> Result<(), String> {
    let server = Server::start_empty(kind, super::server::Start::default())?;
    outcome.version(kind, server.version()?);
    let login = server.login();
    call::prepare(&login, plan.size)?;
    server.settle()?;
    let dir = paths::target_dir().join("bench/backups");
    for _ in 0..settings.runs {
        fresh(&dir)?;
        let tool = Tool { kind, login: &login, dir: &dir, data_dir: server.data_dir() };
        let alone = call::run(&login, SCRIPT, plan.size, plan.threads, plan.seconds)?;
        let (taken, during) = std::thread::scope(|scope| {
            let load = scope.spawn(|| call::run(&login, SCRIPT, plan.size, plan.threads, plan.seconds));
            let taken = tool.full("full");
            (taken, load.join().map_err(|_| "the load has panicked".to_string()))
        });
        let (seconds, during) = (taken?, during??);
        let full = process::disk_bytes(&dir, &|_| true);
        println!(
            "{:16} full {seconds:.2} s, {} MB; 95% {:.2} and {:.2} ms",
            kind.title(),
            full >> 20,
            alone.p95_ms,
            during.p95_ms
        );
        tables.seconds.add(FULL, kind, seconds);
        tables.bytes.add("full backup", kind, full as f64 / 1e6);
        tables.latency.add(ALONE, kind, alone.p95_ms);
        tables.latency.add(MEANWHILE, kind, during.p95_ms);
        // What the load has changed meanwhile is not the increment's.
        tool.full("base")?;
        let before = process::disk_bytes(&dir, &|_| true);
        let mut connection = server.connect()?;
        for table in 1..=plan.size.tables {
            connection
                .run(&format!("UPDATE {}.sbtest{table} SET c = REVERSE(c) WHERE id % {CHANGED_ONE_IN} = 0", login.database))?;
        }
        if let Some(seconds) = tool.next()? {
            let next = process::disk_bytes(&dir, &|_| true) - before;
            println!("{:16} incremental {seconds:.2} s, {} MB", kind.title(), next >> 20);
            tables.seconds.add(NEXT, kind, seconds);
            tables.bytes.add("incremental backup", kind, next as f64 / 1e6);
            tables.bytes.add(PART, kind, next as f64 / full as f64 * 100.0);
        }
        if let Some(seconds) = tool.restore()? {
            println!("{:16} restore {seconds:.2} s", kind.title());
            tables.seconds.add(RESTORE, kind, seconds);
        }
    }
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    server.clean_up()
}

fn fresh(dir: &Path) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))
}

/// What takes backups of a server, and puts them back. Times are in seconds.
struct Tool<'t> {
    kind: Kind,
    login: &'t Login<'t>,
    dir: &'t Path,
    data_dir: &'t Path,
}

impl Tool<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// `name`: of its directory, where it has one of its own.
    fn full(&self, name: &str) -> Result<f64, String> {
        match self.kind {
            Kind::Vaquita => self.vaquita_backup(),
            Kind::MariaDb => timed(self.mariadb_backup().arg("--backup").arg(target("--target-dir", &self.path(name)))),
            _ => timed(
                Command::new("mydumper")
                    .args(["--host=127.0.0.1", "--threads=2", "--trx-consistency-only", &format!("--port={}", self.login.port)])
                    .args([&format!("--user={}", self.login.user), &format!("--password={}", self.login.password)])
                    .args([
                        &format!("--database={}", self.login.database),
                        &format!("--outputdir={}", self.path(name).display()),
                    ]),
            ),
        }
    }

    /// `None`: there is no such thing.
    fn next(&self) -> Result<Option<f64>, String> {
        match self.kind {
            Kind::Vaquita => self.vaquita_backup().map(Some),
            Kind::MariaDb => {
                let (base, next) = (self.path("base"), self.path("next"));
                let mut command = self.mariadb_backup();
                command.arg("--backup").args([target("--target-dir", &next), target("--incremental-basedir", &base)]);
                timed(&mut command).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn restore(&self) -> Result<Option<f64>, String> {
        let restored = self.path("restored");
        match self.kind {
            Kind::Vaquita => {
                let mut command = Command::new(paths::vaquita()?);
                timed(command.arg("restore").arg(self.path("place")).arg("--data-dir").arg(&restored)).map(Some)
            }
            Kind::MariaDb => {
                let full = target("--target-dir", &self.path("full"));
                let prepared = timed(Command::new("mariadb-backup").args(["--prepare", &full]))?;
                let mut command = Command::new("mariadb-backup");
                Ok(Some(prepared + timed(command.args(["--copy-back", &full, &target("--datadir", &restored)]))?))
            }
            _ => Ok(None),
        }
    }

    fn vaquita_backup(&self) -> Result<f64, String> {
        let from = format!("mysql://{}:{}@127.0.0.1:{}", self.login.user, self.login.password, self.login.port);
        timed(Command::new(paths::vaquita()?).arg("backup").arg(self.path("place")).args(["--from", &from]))
    }

    fn mariadb_backup(&self) -> Command {
        let mut command = Command::new("mariadb-backup");
        command.args([
            "--no-defaults",
            "--host=127.0.0.1",
            &format!("--port={}", self.login.port),
            &target("--datadir", self.data_dir),
        ]);
        command.args([&format!("--user={}", self.login.user), &format!("--password={}", self.login.password)]);
        command
    }
}

fn target(option: &str, path: &Path) -> String {
    format!("{option}={}", path.display())
}

fn timed(command: &mut Command) -> Result<f64, String> {
    let began = Instant::now();
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{:?}: {e}", command.get_program()))?;
    match output.status.success() {
        true => Ok(began.elapsed().as_secs_f64()),
        false => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!("{command:?}: {}", text.lines().rfind(|line| !line.is_empty()).unwrap_or_default()))
        }
    }
}
