//! What is written of statements: the general log, the slow log and the audit log, in files and in tables of the schema `mysql`.
//!
//! A session looks at `Logs::wants`, which is one load, and does nothing for a log that nobody wants. Otherwise it makes an entry in memory of its
//! own (`format`, `audit`) and hands it to the files, which someone with threads has registered (`LogFiles`), or to the tables (`tables`).
//!
//! 1. The general log gets a statement when it is known what it is, before it runs; one that cannot be read is not logged, as it may have a password
//!    that nobody recognizes (unless `log_raw` is on).
//! 2. The slow log and the audit log get it when it has ended (`session::observed`).
//! 3. SET GLOBAL opens and closes files (`Logs::apply`).
//!
//! * STATEMENT-LOGS-1: no statement waits for a file, and none fails because of one: what finds no room is left out, counted, and told in the server's
//!   own log. The audit log alone may be told to refuse statements that it cannot write down.
//! * STATEMENT-LOGS-2: what is logged has no password that its statement's tree knows of, unless `log_raw` is on, and then in the general log alone.

pub mod audit;
pub mod connections;
pub mod entry;
pub mod format;
mod names;
pub mod tables;
mod throttle;
pub mod values;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use vaquita_storage::Engine;
use vaquita_types::{Error, Result, Value};

use crate::variables::{Def, Globals, Var, registry};
use audit::Audit;
use entry::Entry;
pub use names::check_name;
use tables::LogTables;
use throttle::{Suppressed, Throttle};

/// A log that has a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    General,
    Slow,
    Audit,
}

impl Log {
    pub const ALL: [Log; 3] = [Log::General, Log::Slow, Log::Audit];
    pub const COUNT: usize = Log::ALL.len();

    pub fn name(self) -> &'static str {
        match self {
            Log::General => "general log",
            Log::Slow => "slow log",
            Log::Audit => "audit log",
        }
    }
}

/// Where a log is written, and what begins the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTarget {
    pub path: PathBuf,
    pub head: Vec<u8>,
    /// A file of so many bytes is renamed, and so many of these are kept.
    pub rotates: Option<(u64, u64)>,
}

/// The files. Nothing here waits for a disk but `open`, `close` and `reopen`.
pub trait LogFiles: Send + Sync {
    /// The log goes there from here on.
    fn open(&self, log: Log, target: &LogTarget) -> std::io::Result<()>;

    /// What has been appended is written first.
    fn close(&self, log: Log);

    /// Opens the file anew by its name, for those who have renamed it.
    fn reopen(&self, log: Log) -> std::io::Result<()>;

    /// False: it is left out.
    fn append(&self, log: Log, entry: &Entry<'_>) -> bool;

    /// The last write has failed, or something was left out.
    fn is_failing(&self, log: Log) -> bool;

    /// The server's own log, too, may have been renamed.
    fn reopen_error_log(&self) -> std::io::Result<()>;
}

/// What is wanted: bits of `Logs::wants`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants(u32);

impl Wants {
    pub const GENERAL_FILE: Wants = Wants(1);
    pub const GENERAL_TABLE: Wants = Wants(1 << 1);
    pub const GENERAL: Wants = Wants(Wants::GENERAL_FILE.0 | Wants::GENERAL_TABLE.0);
    pub const SLOW_FILE: Wants = Wants(1 << 2);
    pub const SLOW_TABLE: Wants = Wants(1 << 3);
    pub const SLOW: Wants = Wants(Wants::SLOW_FILE.0 | Wants::SLOW_TABLE.0);
    pub const AUDIT: Wants = Wants(1 << 4);
    pub const AUDIT_TABLES: Wants = Wants(1 << 5);
    /// What is no log of its own changes how they are written, or what is slow; it counts only where one of the above is.
    pub const RAW: Wants = Wants(1 << 6);
    pub const SYSTEM_TIME: Wants = Wants(1 << 7);
    pub const WITHOUT_INDEX: Wants = Wants(1 << 8);
    pub const ADMIN: Wants = Wants(1 << 9);
    pub const EXTRA: Wants = Wants(1 << 10);
    pub const REPLICA: Wants = Wants(1 << 11);

    #[inline]
    pub fn any(self, of: Wants) -> bool {
        self.0 & of.0 != 0
    }

    #[inline]
    pub fn is_nothing(self) -> bool {
        self.0 == 0
    }

    fn with(self, other: Wants, is: bool) -> Wants {
        if is { Wants(self.0 | other.0) } else { self }
    }
}

pub struct Logs {
    wants: AtomicU32,
    files: OnceLock<Arc<dyn LogFiles>>,
    /// Where each log goes that is open; held by who opens and closes.
    open: Mutex<[Option<LogTarget>; Log::COUNT]>,
    pub tables: LogTables,
    throttle: Throttle,
    pub audit: Audit,
    /// Of statements in the audit log.
    last_statement: AtomicU64,
}

impl Default for Logs {
    fn default() -> Logs {
        Logs {
            wants: AtomicU32::new(0),
            files: OnceLock::new(),
            open: Mutex::new([const { None }; Log::COUNT]),
            tables: LogTables::default(),
            throttle: Throttle::default(),
            audit: Audit::default(),
            last_statement: AtomicU64::new(0),
        }
    }
}

/// Variables that `Logs::apply` reads.
const APPLIED: [Var; 20] = [
    Var::GeneralLog,
    Var::GeneralLogFile,
    Var::SlowQueryLog,
    Var::SlowQueryLogFile,
    Var::LogOutput,
    Var::LogRaw,
    Var::LogTimestamps,
    Var::LogQueriesNotUsingIndexes,
    Var::LogSlowAdminStatements,
    Var::LogSlowExtra,
    Var::LogSlowReplicaStatements,
    Var::LogSlowSlaveStatements,
    Var::VaquitaAuditLog,
    Var::VaquitaAuditLogEvents,
    Var::VaquitaAuditLogFile,
    Var::VaquitaAuditLogIncludeAccounts,
    Var::VaquitaAuditLogExcludeAccounts,
    Var::VaquitaAuditLogOnFailure,
    Var::VaquitaAuditLogRotateSize,
    Var::VaquitaAuditLogRotations,
];

/// A change of it opens or closes a log, or changes what is written.
pub fn is_applied(def: &Def) -> bool {
    def.var.is_some_and(|var| APPLIED.contains(&var))
}

/// The switch of a log.
fn switch(log: Log) -> Var {
    match log {
        Log::General => Var::GeneralLog,
        Log::Slow => Var::SlowQueryLog,
        Log::Audit => Var::VaquitaAuditLog,
    }
}

impl Logs {
    #[inline]
    pub fn wants(&self) -> Wants {
        Wants(self.wants.load(Ordering::Relaxed))
    }

    /// Registers who writes files, once, and opens those that are wanted. What cannot be opened is off.
    pub fn start(&self, files: Arc<dyn LogFiles>, globals: &Globals, engine: &Arc<Engine>) {
        let _ = self.files.set(files);
        // What is wrong with one is in the server's log.
        let _ = self.apply(globals, engine);
    }

    /// Follows the global variables. What cannot be opened is turned off: the first error of these.
    pub fn apply(&self, globals: &Globals, engine: &Arc<Engine>) -> Result<()> {
        let mut open = self.open.lock();
        let output = globals.text(Var::LogOutput);
        let goes_to = |word: &str| {
            let mut words = output.split(',');
            words.clone().all(|known| known != "NONE") && words.any(|known| known == word)
        };
        let (to_file, to_table) = (goes_to("FILE"), goes_to("TABLE"));
        let mut failed = None;
        for log in Log::ALL {
            let is_wanted = globals.is_on(switch(log)) && (to_file || log == Log::Audit);
            let target = is_wanted.then(|| target(log, globals));
            if open[log as usize] == target {
                continue;
            }
            let Some(files) = self.files.get() else { continue };
            match &target {
                None => files.close(log),
                Some(wanted) => {
                    if let Err(error) = files.open(log, wanted) {
                        let name = registry().of(switch(log)).name.to_ascii_uppercase();
                        tracing::error!(
                            "Could not use {} for logging ({error}). Turning logging off for the server process. To turn it on again: fix the \
                             cause, then either restart the query logging by using \"SET GLOBAL {name}=ON\" or restart the server.",
                            wanted.path.display()
                        );
                        files.close(log);
                        open[log as usize] = None;
                        globals.set(registry().of(switch(log)), Value::bool(false), engine)?;
                        failed.get_or_insert(cannot_open(&wanted.path, &error));
                        continue;
                    }
                }
            }
            open[log as usize] = target;
        }
        self.audit.configure(globals);
        let (general, slow) = (globals.is_on(Var::GeneralLog), globals.is_on(Var::SlowQueryLog));
        let audited = globals.is_on(Var::VaquitaAuditLog);
        if !slow {
            self.throttle.reset();
        }
        // Its old name has the same value, which is no number of its own.
        let of_replicas = globals.text(Var::LogSlowReplicaStatements) == "ON";
        let wants = Wants::default()
            .with(Wants::GENERAL_FILE, general && to_file)
            .with(Wants::GENERAL_TABLE, general && to_table)
            .with(Wants::SLOW_FILE, slow && to_file)
            .with(Wants::SLOW_TABLE, slow && to_table)
            .with(Wants::AUDIT, audited)
            .with(Wants::AUDIT_TABLES, audited && self.audit.wants_tables());
        let wants = match wants.is_nothing() {
            true => wants,
            false => wants
                .with(Wants::RAW, globals.is_on(Var::LogRaw))
                .with(Wants::SYSTEM_TIME, globals.text(Var::LogTimestamps) == "SYSTEM")
                .with(Wants::WITHOUT_INDEX, globals.is_on(Var::LogQueriesNotUsingIndexes))
                .with(Wants::ADMIN, globals.is_on(Var::LogSlowAdminStatements))
                .with(Wants::EXTRA, globals.is_on(Var::LogSlowExtra))
                .with(Wants::REPLICA, of_replicas),
        };
        self.wants.store(wants.0, Ordering::Relaxed);
        failed.map_or(Ok(()), Err)
    }

    /// FLUSH LOGS, FLUSH GENERAL LOGS and FLUSH SLOW LOGS. A file that cannot be opened again turns its log off.
    pub fn reopen(&self, log: Log, globals: &Globals, engine: &Arc<Engine>) -> Result<()> {
        let reopened = match (&self.open.lock()[log as usize], self.files.get()) {
            (Some(target), Some(files)) => files.reopen(log).map_err(|error| cannot_open(&target.path, &error)),
            _ => Ok(()),
        };
        if let Err(error) = &reopened {
            tracing::error!("the {} is turned off: {}", log.name(), error.message());
            globals.set(registry().of(switch(log)), Value::bool(false), engine)?;
            self.apply(globals, engine)?;
        }
        reopened
    }

    /// FLUSH ERROR LOGS.
    pub fn reopen_error_log(&self) -> Result<()> {
        let reopened = self.files.get().map_or(Ok(()), |files| files.reopen_error_log());
        reopened.map_err(|error| Error::internal(format_args!("the server's log cannot be opened again: {error}")))
    }

    fn append(&self, log: Log, entry: &Entry<'_>) -> bool {
        self.files.get().is_some_and(|files| files.append(log, entry))
    }

    /// As `Throttle::pass`.
    pub fn pass(&self, rate: u64, now_us: u64, is_counted: bool, took: (u64, u64)) -> (bool, Option<Suppressed>) {
        self.throttle.pass(rate, now_us, is_counted, took)
    }

    /// Statements that the audit log cannot write down are to fail.
    pub fn refuses(&self) -> bool {
        self.audit.refuses() && self.files.get().is_some_and(|files| files.is_failing(Log::Audit))
    }

    /// A number for a statement's events in the audit log.
    pub fn next_statement(&self) -> u64 {
        self.last_statement.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ends every log, what has been appended included.
    pub fn close(&self) {
        self.wants.store(0, Ordering::Relaxed);
        let mut open = self.open.lock();
        if let Some(files) = self.files.get() {
            Log::ALL.into_iter().filter(|log| open[*log as usize].is_some()).for_each(|log| files.close(log));
        }
        open.fill(None);
    }
}

fn target(log: Log, globals: &Globals) -> LogTarget {
    let file = match log {
        Log::General => Var::GeneralLogFile,
        Log::Slow => Var::SlowQueryLogFile,
        Log::Audit => Var::VaquitaAuditLogFile,
    };
    let path = globals.data_dir().join(globals.text(file));
    match log {
        Log::Audit => {
            let size = globals.number(Var::VaquitaAuditLogRotateSize);
            let rotates = (size > 0).then(|| (size, globals.number(Var::VaquitaAuditLogRotations)));
            LogTarget { path, head: Vec::new(), rotates }
        }
        _ => LogTarget { path, head: head(globals), rotates: None },
    }
}

/// What begins the general log and the slow log. Their readers know the first line by `mysqld, Version`.
fn head(globals: &Globals) -> Vec<u8> {
    let text = |name: &str| registry().find(name).map_or(String::new(), |def| def.show(&globals.get(def)));
    let program = std::env::current_exe().map_or("/vaquita".to_string(), |path| path.display().to_string());
    format!(
        "{program} as mysqld, Version: {} ({}). started with:\nTcp port: {}  Unix socket: {}\nTime                 Id Command    Argument\n",
        text("version"),
        text("version_comment"),
        text("port"),
        text("socket")
    )
    .into_bytes()
}

/// MySQL's error 29, which its library of files raises.
fn cannot_open(path: &Path, error: &std::io::Error) -> Error {
    const FILE_NOT_FOUND: vaquita_types::errno::ErrorDef = vaquita_types::errno::ErrorDef {
        code: 29,
        sqlstate: b"HY000",
        name: "EE_FILENOTFOUND",
        format: "File '%s' not found (OS errno %d - %s)",
    };
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default();
    Error::new(&FILE_NOT_FOUND, &[&path.display(), &error.raw_os_error().unwrap_or_default(), &reason])
}
