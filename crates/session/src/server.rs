//! What all sessions of a running server share.
//!
//! It has no thread and no socket: whoever has them (`Threads`, and the front of each client) is told when a session blocks or is to be woken.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use vaquita_exec::context::Setup;
use vaquita_exec::system;
use vaquita_storage::{Catalog, Engine, Threads};
use vaquita_types::gtid::{Gtid, GtidSet, MariaGtid};
use vaquita_types::{Result, Value};

use crate::accounts::{AccountSettings, Accounts};
use crate::backup_status::BackupStatus;
use crate::binary_log::{BinaryLogFiles, Replicas};
use crate::binary_log_commits::CommitLog;
use crate::clients::Clients;
use crate::event_signal::EventSignal;
use crate::known_programs::KnownPrograms;
use crate::logs::Logs;
use crate::replication::Channels;
use crate::statement_events::StatementEvents;
use crate::statements::StatementCount;
use crate::table_locks::TableLocks;
use crate::tuning::Tuning;
use crate::user_locks::UserLocks;
use crate::variables::{Def, GTID_PURGED, Globals, Var, registry};

/// What replicas of MariaDB are greeted with (`--mariadb-port`), which use GTIDs with no less, and `mariadb-binlog` is told, which gives up if the
/// version does not begin with 3, 4, 5, 10 or 11.
pub const VERSION_FOR_MARIADB: &str = concat!("10.11.0-MariaDB-vaquita-8.4.", env!("CARGO_PKG_VERSION_MINOR"));
/// Frameworks refuse less than 8.4, and some tools misread 9.0.
pub const VERSION: &str = concat!("8.4.", env!("CARGO_PKG_VERSION_MINOR"), "-vaquita");

/// MySQL gives the ids below to its own threads.
const FIRST_CONNECTION_ID: u64 = 8;

/// What ALTER INSTANCE RELOAD TLS does; an error says what is wrong with the files.
pub type ReloadTls = Box<dyn Fn(&Globals) -> std::result::Result<(), String> + Send + Sync>;

pub struct Server {
    pub engine: Arc<Engine>,
    pub catalog: Arc<Catalog>,
    /// Global values of the system variables.
    pub globals: Arc<Globals>,
    pub statements: StatementCount,
    pub(crate) statement_events: StatementEvents,
    /// What sets up the performance schema.
    pub(crate) setup: Setup,
    pub user_locks: UserLocks,
    pub programs: KnownPrograms,
    pub events: EventSignal,
    pub replication: Channels,
    /// What commits tell; nothing if there is no binary log.
    pub commit_log: OnceLock<Arc<dyn CommitLog>>,
    pub binary_log: OnceLock<Arc<dyn BinaryLogFiles>>,
    pub replicas: Replicas,
    pub backups: BackupStatus,
    pub tuning: Tuning,
    pub logs: Logs,
    /// Reads the certificates anew; set by who serves connections.
    pub tls: OnceLock<ReloadTls>,
    threads: Arc<dyn Threads>,
    clients: Clients,
    table_locks: TableLocks,
    accounts: Accounts,
    next_connection_id: AtomicU64,
    pub started: Instant,
    /// Milliseconds after `started` of the last FLUSH STATUS.
    flushed_ms: AtomicU64,
}

impl Server {
    /// Whether statements may touch a file, as `secure_file_priv` says.
    pub fn is_secure_path(&self, path: &Path) -> bool {
        let Value::Bytes(dir) = self.globals.get(registry().of(Var::SecureFilePriv)) else { return false };
        if dir.is_empty() {
            return true;
        }
        let Ok(dir) = PathBuf::from(String::from_utf8_lossy(&dir).into_owned()).canonicalize() else { return false };
        // A file that does not exist yet is where its directory is.
        let real = path.canonicalize().or_else(|_| {
            let parent = path.parent().unwrap_or(path).canonicalize()?;
            Ok::<_, std::io::Error>(path.file_name().map_or_else(|| parent.clone(), |name| parent.join(name)))
        });
        real.is_ok_and(|real| real.starts_with(&dir))
    }

    /// The global value of a variable.
    pub fn global(&self, def: &Def) -> Value {
        match def.name {
            "gtid_executed" => self.executed().to_string().into(),
            "gtid_binlog_pos" | "gtid_current_pos" => self.maria_gtids().last().map_or(String::new(), ToString::to_string).into(),
            "gtid_binlog_state" => self.maria_gtids().iter().map(ToString::to_string).collect::<Vec<_>>().join(",").into(),
            GTID_PURGED => self.purged().to_string().into(),
            _ => self.globals.get(def),
        }
    }

    /// The binary log, if its files are written.
    #[inline]
    pub fn open_log(&self) -> Option<&dyn CommitLog> {
        self.commit_log.get().map(|log| &**log).filter(|log| log.is_open())
    }

    /// `gtid_executed`: what is in the log, and what channels have applied.
    pub fn executed(&self) -> GtidSet {
        let mut executed = self.replication.executed();
        if let Some(log) = self.open_log() {
            executed.union(&log.executed());
        }
        executed
    }

    /// The last transactions of the log as MariaDB's replicas know them, of each server one.
    fn maria_gtids(&self) -> Vec<MariaGtid> {
        self.binary_log.get().map_or_else(Vec::new, |log| log.maria_gtids())
    }

    /// `gtid_purged`: what is executed and not in the log. Without a log that is all.
    fn purged(&self) -> GtidSet {
        self.executed().subtract(&self.logged().unwrap_or_default())
    }

    /// GTIDs of transactions in the binary log.
    pub(crate) fn logged(&self) -> Result<GtidSet> {
        match self.open_log() {
            Some(log) => Ok(log.executed().subtract(&log.purged()?)),
            None => Ok(GtidSet::default()),
        }
    }

    /// Whether a transaction is here already.
    pub fn has_executed(&self, gtid: &Gtid) -> bool {
        self.open_log().is_some_and(|log| log.has_executed(gtid)) || self.replication.has_executed(gtid)
    }

    pub fn new(
        engine: Arc<Engine>,
        catalog: Arc<Catalog>,
        globals: Arc<Globals>,
        accounts: Accounts,
        threads: Arc<dyn Threads>,
    ) -> Arc<Server> {
        accounts.follow(AccountSettings::of(&globals));
        Arc::new(Server {
            engine,
            catalog,
            statements: StatementCount::new(globals.clone()),
            statement_events: StatementEvents::new(globals.clone()),
            setup: system::setup::new(),
            user_locks: UserLocks::default(),
            programs: KnownPrograms::default(),
            events: EventSignal::default(),
            tls: OnceLock::new(),
            replication: Channels::default(),
            commit_log: OnceLock::new(),
            binary_log: OnceLock::new(),
            replicas: Replicas::default(),
            backups: BackupStatus::default(),
            tuning: Tuning::default(),
            logs: Logs::default(),
            globals,
            threads,
            clients: Clients::default(),
            table_locks: TableLocks::default(),
            accounts,
            next_connection_id: AtomicU64::new(FIRST_CONNECTION_ID),
            started: Instant::now(),
            flushed_ms: AtomicU64::new(0),
        })
    }

    /// FLUSH STATUS.
    pub fn flush_status(&self) {
        self.clients.flush_status();
        self.flushed_ms.store(self.started.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// `Uptime_since_flush_status`.
    pub fn since_flush_status_s(&self) -> u64 {
        self.started.elapsed().saturating_sub(Duration::from_millis(self.flushed_ms.load(Ordering::Relaxed))).as_secs()
    }

    /// Runs `wait`, which blocks this thread.
    pub fn blocking(&self, wait: &mut dyn FnMut()) {
        self.threads.blocking(wait);
    }

    pub fn table_locks(&self) -> &TableLocks {
        &self.table_locks
    }

    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    pub fn new_connection_id(&self) -> u64 {
        self.next_connection_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Connections accepted since start.
    pub fn connections_total(&self) -> u64 {
        self.next_connection_id.load(Ordering::Relaxed) - FIRST_CONNECTION_ID
    }

    /// Where the data lives.
    pub fn data_dir(&self) -> PathBuf {
        self.globals.data_dir()
    }
}
