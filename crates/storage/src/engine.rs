//! The engine: one RocksDB directory, its lock manager, counters and commit pipeline.
//!
//! `Engine::open` takes the directory for this process alone (RocksDB's LOCK file), recovers
//! the log and starts the two helper threads: the committer (see `commit`) and the housekeeper,
//! which syncs the log each second for `innodb_flush_log_at_trx_commit` 0 and 2 and watches the
//! free disk space. Everything that reads or writes rows goes through `Transaction`.
//!
//! It knows nothing of tables, rows or SQL.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use vaquita_types::Result;

use crate::lock::LockManager;
use crate::txn::{Transaction, TxnInfo, TxnOptions};

/// What the engine is opened with. `EngineOptions::default()` fits this machine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Bytes of the block cache; `None` takes a share of the memory that the machine or cgroup has.
    pub block_cache_bytes: Option<usize>,
    /// Bytes of one memtable.
    pub write_buffer_bytes: usize,
    /// Threads that flush and compact; `None` takes the number of cores, at least 2.
    pub background_jobs: Option<usize>,
    /// Bytes that the write set of one transaction may take before error 1206.
    pub write_set_bytes_max: usize,
    /// Bytes of disk to keep free: below that, commits that add data fail with error 1021.
    pub disk_reserve_bytes: u64,
    pub flush_mode: FlushMode,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            block_cache_bytes: None,
            write_buffer_bytes: 64 << 20,
            background_jobs: None,
            write_set_bytes_max: 1 << 30,
            disk_reserve_bytes: 64 << 20,
            flush_mode: FlushMode::SyncEachCommit,
        }
    }
}

/// `innodb_flush_log_at_trx_commit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FlushMode {
    /// 0: written to the log's file buffer, synced each second.
    EachSecond = 0,
    /// 1: synced before a commit is acknowledged.
    SyncEachCommit = 1,
    /// 2: handed to the operating system at each commit, synced each second.
    WriteEachCommit = 2,
}

/// What the server plugs into the engine.
pub trait EngineHooks: Send + Sync {
    /// Runs `wait`, which will block this thread, so that a thread pool can wake another.
    fn blocking(&self, wait: &mut dyn FnMut()) {
        wait()
    }

    /// Something the operator should read.
    fn log(&self, level: LogLevel, text: &str) {
        eprintln!("[{level:?}] {text}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Note,
    Warning,
    Error,
}

/// Hooks of a program that has no thread pool.
pub struct NoHooks;

impl EngineHooks for NoHooks {}

pub struct Engine {
    dir: PathBuf,
}

impl Engine {
    /// Opens or creates the database in `dir`. A directory that another process has open is refused.
    pub fn open(dir: &Path, options: EngineOptions, hooks: Arc<dyn EngineHooks>) -> Result<Arc<Engine>> {
        let _ = (options, hooks);
        Ok(Arc::new(Engine { dir: dir.to_path_buf() }))
    }

    /// A new transaction; costs nothing until it reads a second time, locks or writes.
    pub fn begin(self: &Arc<Engine>, options: TxnOptions) -> Transaction {
        let _ = options;
        todo!()
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn locks(&self) -> &LockManager {
        todo!()
    }

    pub fn set_flush_mode(&self, mode: FlushMode) {
        let _ = mode;
    }

    /// For SHOW ENGINE INNODB STATUS and information_schema.INNODB_TRX, oldest first.
    pub fn active_transactions(&self) -> Vec<TxnInfo> {
        todo!()
    }

    /// Removes every data key in `[lower, upper)`: whole files at once, the rest by a range
    /// tombstone and a hint to compact. For dropped indexes that nobody reads any more.
    pub fn delete_data_range(&self, lower: &[u8], upper: &[u8]) -> Result<()> {
        let _ = (lower, upper);
        todo!()
    }

    /// Compacts `[lower, upper)` of the data (OPTIMIZE TABLE).
    pub fn compact_data_range(&self, lower: &[u8], upper: &[u8]) -> Result<()> {
        let _ = (lower, upper);
        todo!()
    }

    /// Bytes that `[lower, upper)` takes on disk, estimated.
    pub fn data_range_bytes(&self, lower: &[u8], upper: &[u8]) -> u64 {
        let _ = (lower, upper);
        todo!()
    }

    /// Checks the checksums of all files (CHECK TABLE ... EXTENDED).
    pub fn verify_checksums(&self) -> Result<()> {
        todo!()
    }

    /// The text of a RocksDB property such as `rocksdb.stats`.
    pub fn property(&self, name: &str) -> Option<String> {
        let _ = name;
        todo!()
    }

    /// Stops background work and syncs the log; later commits fail with error 1053.
    pub fn shutdown(&self, timeout: Duration) -> Result<()> {
        let _ = timeout;
        todo!()
    }
}
