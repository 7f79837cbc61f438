//! The engine: one RocksDB directory, its lock manager, counters and commit pipeline.
//!
//! `Engine::open` takes the directory for this process alone (RocksDB's LOCK file), recovers
//! the log and starts two threads, the committer (see `commit`) and the housekeeper. Everything
//! that reads or writes rows goes through `Transaction`.
//!
//! It knows nothing of tables, rows or SQL.

use std::collections::HashMap;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::Mutex;
use vaquita_types::errno::{ER_CANT_CREATE_FILE, ER_CANT_LOCK, ER_GET_ERRNO, ErrorDef};
use vaquita_types::{Error, Result};

use crate::commit::Pipeline;
use crate::counters::Counters;
use crate::housekeeper::Housekeeper;
use crate::kill_points::kill_point;
use crate::lock::{LockManager, Owner};
use crate::log_check::{self, Damage, Logs, Missing};
use crate::newest_log;
use crate::options::{self, Tuning};
use crate::rocks::{Db, RocksError, Snapshot, SortedFiles};
use crate::row_cache::RowCache;
use crate::sorter::Sorter;
use crate::space_reserve;
use crate::span_cache::SpanCache;
use crate::spill::Scratches;
use crate::txn::checked::CheckedReads;
use crate::txn::{Isolation, Keep, Transaction, TxnInfo, TxnOptions};
use crate::xa::Branches;

/// What the engine is opened with. `EngineOptions::default()` fits this machine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Bytes of the caches of blocks and rows; `None` takes a share of the memory that the machine or cgroup has.
    pub block_cache_bytes: Option<usize>,
    /// Bytes of one memtable.
    pub write_buffer_bytes: usize,
    /// Threads that flush and compact; `None` takes the number of cores, at least 2.
    pub background_jobs: Option<usize>,
    /// Bytes of memory that the write set of one transaction may take before it spills to disk.
    pub write_set_bytes: usize,
    /// Bytes that the sorts, hash tables and kept results of one statement may take.
    pub statement_bytes_max: usize,
    /// Bytes of rows that a sort or an aggregation keeps in memory before they go to disk, at most a quarter of `statement_bytes_max`.
    pub operator_bytes_max: usize,
    /// Bytes of disk to keep free: below that, commits that add rows fail with error 1021.
    pub disk_reserve_bytes: u64,
    /// Files that may be open at once; `None` keeps all open.
    pub open_files_max: Option<u64>,
    pub flush_mode: FlushMode,
    /// Fill log files before they are used, so that commits overwrite blocks instead of
    /// appending; costs `write_buffer_bytes` twice of writing in the background after a start.
    pub warm_log: bool,
    /// Open although a log is damaged in the middle, losing the commits after the damage.
    pub accept_damaged_log: bool,
    pub tuning: Tuning,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            block_cache_bytes: None,
            write_buffer_bytes: 64 << 20,
            background_jobs: None,
            write_set_bytes: 64 << 20,
            statement_bytes_max: 256 << 20,
            operator_bytes_max: 64 << 20,
            disk_reserve_bytes: 256 << 20,
            open_files_max: None,
            flush_mode: FlushMode::SyncEachCommit,
            warm_log: true,
            accept_damaged_log: false,
            tuning: Tuning::default(),
        }
    }
}

/// `innodb_flush_log_at_trx_commit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FlushMode {
    /// 0: as 2 here; RocksDB hands each commit to the operating system at no cost worth saving.
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

    /// The waiters of a group of commits have been called. Waking whoever continues them is left for
    /// here: a thread woken between two calls would take the committer's core before the next.
    fn group_completed(&self) {}

    /// The text of the statement that a session runs, for reports.
    fn statement(&self, _session_id: u64) -> Option<String> {
        None
    }

    /// Something the operator should read.
    fn log(&self, level: LogLevel, text: &str) {
        let _ = writeln!(std::io::stderr(), "[{level:?}] {text}");
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

/// The error of a read that RocksDB failed.
pub(crate) fn read_error(e: RocksError) -> Error {
    if e.is_corruption() { Error::corrupt(e.0) } else { Error::new(&ER_GET_ERRNO, &[&5, &e.0]) }
}

/// The error of a write that RocksDB failed and that nothing depends on.
pub(crate) fn write_error(e: RocksError) -> Error {
    if e.is_no_space() { disk_full_error(&e.0) } else { read_error(e) }
}

/// Not in MySQL 9's table any more, but what a full disk has always been called.
const ER_DISK_FULL: ErrorDef = ErrorDef {
    code: 1021,
    sqlstate: b"HY000",
    name: "ER_DISK_FULL",
    format: "Disk full (%s); waiting for someone to free some space... (errno: %d - %s)",
};
/// The errno of a full disk, for the text of error 1021.
const ENOSPC: i32 = 28;
/// Bytes of padding behind the last commit of a log when the server stops.
const LOG_END_BYTES: usize = 8;
/// A scan fills the block cache with what it reads if that, as it is on disk, is at most this part of the cache: decompressed
/// it is at most `COMPRESSION_MAX` times as much of most data, and three quarters of the cache remain to others.
const CACHE_SHARE: u64 = 16;
const COMPRESSION_MAX: u64 = 4;
/// So small a part is kept as spans and as blocks, from which holes between spans are filled sooner.
const CACHE_SHARE_SMALL: u64 = 256;
/// Where transactions spill to, and where the files lie that are about to be committed; emptied at each start.
const SCRATCH_DIR: &str = "scratch";
const INGEST_DIR: &str = "ingest";

/// A number of RocksDB's texts of the form `name=number; name=number`.
fn property_number(text: &str, name: &str) -> Option<u64> {
    text.split(';').find_map(|field| field.trim().strip_prefix(name)?.strip_prefix('=')?.trim().parse().ok())
}

pub(crate) fn disk_full_error(file: &dyn Display) -> Error {
    Error::new(&ER_DISK_FULL, &[file, &ENOSPC, &"No space left on device"])
}

pub struct Engine {
    dir: PathBuf,
    options: EngineOptions,
    hooks: Arc<dyn EngineHooks>,
    db: Arc<Db>,
    /// The block cache's and the spans', 0 without a block cache.
    cache_bytes: usize,
    locks: Arc<LockManager>,
    counters: Arc<Counters>,
    active: Arc<ActiveTransactions>,
    pipeline: Arc<Pipeline>,
    rows: RowCache,
    checked_reads: CheckedReads,
    next_txn_id: AtomicU64,
    /// The snapshot taken last: shared as long as nothing was committed after it.
    latest_snapshot: Mutex<Weak<Snapshot>>,
    housekeeper: Arc<Housekeeper>,
    xa: Branches,
    scratches: Arc<Scratches>,
    /// Commits by files so far.
    file_commits: AtomicU64,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Engine {
    /// Opens or creates the database in `dir`. A directory that another process has open is refused.
    pub fn open(dir: &Path, options: EngineOptions, hooks: Arc<dyn EngineHooks>) -> Result<Arc<Engine>> {
        create_dir(dir).map_err(|e| io_error(dir, e))?;
        if space_reserve::release_if_full(dir, space_reserve::free_bytes(dir).unwrap_or(u64::MAX)) {
            hooks.log(LogLevel::Warning, "disk full: the reserved space is given back");
        }
        log_check::sync_logs(dir).map_err(|e| io_error(dir, e))?;
        check_manifest(dir)?;
        let logs = check_logs(dir, &options, &*hooks)?;
        kill_point("start.logs-checked");
        let cache = options::block_cache(&options);
        let (data, catalog) = options::for_families(&options, &cache);
        let db = Db::open(dir, data, catalog).map_err(|e| open_error(dir, e))?;
        if logs.damage.is_some() || logs.next_sequence.is_some_and(|next| next != db.latest_sequence() + 1) {
            // What could be read goes to files: the next log does not follow on, and would not be recovered with these.
            db.switch_log().map_err(read_error)?;
        }
        let scratches = Arc::new(Scratches::new(dir.join(SCRATCH_DIR)).map_err(|e| io_error(dir, e))?);
        remove_dir(&dir.join(INGEST_DIR)).map_err(|e| io_error(dir, e))?;
        kill_point("start.opened");
        let locks = Arc::new(LockManager::new(Arc::clone(&hooks)));
        let counters = Arc::new(Counters::new(Arc::clone(&db)));
        let active = Arc::new(ActiveTransactions::default());
        let pipeline = Arc::new(Pipeline::new(
            Arc::clone(&db),
            Arc::clone(&locks),
            Arc::clone(&counters),
            Arc::clone(&active),
            Arc::clone(&hooks),
            SpanCache::new(options::span_cache_bytes(&options)),
            options.flush_mode,
        ));
        let housekeeper =
            Arc::new(Housekeeper::new(dir, &options, Arc::clone(&db), cache, Arc::clone(&pipeline), Arc::clone(&hooks)));
        let rows = RowCache::new(options::row_cache_bytes(&options));
        let cache_bytes = if options.tuning.block_cache { options::block_cache_bytes(&options) } else { 0 };
        let engine = Arc::new(Engine {
            dir: dir.to_path_buf(),
            cache_bytes,
            options,
            hooks,
            db,
            locks,
            counters,
            active,
            pipeline,
            rows,
            checked_reads: CheckedReads::default(),
            next_txn_id: AtomicU64::new(1),
            latest_snapshot: Mutex::new(Weak::new()),
            housekeeper,
            xa: Branches::default(),
            scratches,
            file_commits: AtomicU64::new(0),
            threads: Mutex::default(),
        });
        engine.set_flush_mode(engine.options.flush_mode)?;
        engine.start_threads()?;
        kill_point("start.threads");
        let prepared = engine.recover_xa()?;
        if prepared > 0 {
            let text = format!("{prepared} prepared XA transaction(s) hold their locks; see XA RECOVER");
            engine.hooks.log(LogLevel::Warning, &text);
        }
        Ok(engine)
    }

    fn start_threads(&self) -> Result<()> {
        let failed = |e: std::io::Error| Error::internal(format_args!("cannot start a thread: {e}"));
        let committer = self.pipeline.start_committer().map_err(failed)?;
        let housekeeper = self.housekeeper.start().map_err(failed)?;
        self.threads.lock().extend([committer, housekeeper]);
        Ok(())
    }

    /// A new transaction; costs nothing until it reads a second time, locks or writes.
    pub fn begin(self: &Arc<Engine>, options: TxnOptions) -> Transaction {
        Transaction::new(Arc::clone(self), options)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    pub fn hooks(&self) -> &Arc<dyn EngineHooks> {
        &self.hooks
    }

    pub fn locks(&self) -> &LockManager {
        &self.locks
    }

    pub(crate) fn db(&self) -> &Arc<Db> {
        &self.db
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn rows(&self) -> &RowCache {
        &self.rows
    }

    #[inline]
    pub(crate) fn checks_cached_reads(&self) -> bool {
        self.options.tuning.check_cached_reads
    }

    /// How many cached reads were compared with RocksDB.
    pub(crate) fn checked_reads(&self) -> &CheckedReads {
        &self.checked_reads
    }

    pub(crate) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    pub fn flush_mode(&self) -> FlushMode {
        self.pipeline.flush_mode()
    }

    /// `SET GLOBAL innodb_flush_log_at_trx_commit`.
    pub fn set_flush_mode(&self, mode: FlushMode) -> Result<()> {
        let before = self.flush_mode();
        // The mode first: the housekeeper, which may be clearing the mark, looks at it afterwards.
        self.pipeline.set_flush_mode(mode);
        if mode != FlushMode::SyncEachCommit
            && let Err(e) = log_check::mark_not_synced(&self.dir)
        {
            self.pipeline.set_flush_mode(before);
            return Err(io_error(&self.dir, e));
        }
        kill_point("log.marked");
        Ok(())
    }

    /// Groups and transactions committed since start.
    pub fn commit_counts(&self) -> (u64, u64) {
        self.pipeline.counts()
    }

    /// For SHOW ENGINE INNODB STATUS and information_schema.INNODB_TRX, oldest first.
    pub fn active_transactions(&self) -> Vec<TxnInfo> {
        self.active.list()
    }

    /// The transaction has not ended; what it has committed may not be visible yet.
    pub(crate) fn is_active(&self, id: u64) -> bool {
        self.active.contains(id)
    }

    /// An owner of locks with a new transaction id, listed as active.
    pub(crate) fn register(&self, options: &TxnOptions) -> Arc<Owner> {
        let id = self.next_txn_id.fetch_add(1, Ordering::Relaxed);
        let owner = Owner::new(id, Arc::clone(&options.interrupt));
        self.active.add(&owner, options.isolation);
        owner
    }

    /// The transaction has no session any more.
    pub(crate) fn note_prepared(&self, id: u64) {
        self.active.note_prepared(id);
    }

    pub(crate) fn xa_branches(&self) -> &Branches {
        &self.xa
    }

    pub(crate) fn unregister(&self, id: u64) {
        self.active.remove(id);
    }

    /// A snapshot of what is committed now. Readers between two commits share one.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let mut latest = self.latest_snapshot.lock();
        if let Some(snapshot) = latest.upgrade()
            && snapshot.sequence() == self.db.latest_sequence()
        {
            return snapshot;
        }
        let snapshot = Arc::new(Snapshot::new(&self.db));
        *latest = Arc::downgrade(&snapshot);
        snapshot
    }

    pub(crate) fn housekeeper(&self) -> &Housekeeper {
        &self.housekeeper
    }

    pub(crate) fn scratches(&self) -> &Scratches {
        &self.scratches
    }

    /// Sorts what does not fit into `bytes_max` on disk.
    pub fn sorter(&self, bytes_max: usize) -> Sorter {
        Sorter::new(Arc::clone(&self.scratches), bytes_max)
    }

    /// For the commit of a transaction that has spilled.
    pub(crate) fn new_files(&self) -> Result<SortedFiles> {
        let number = self.file_commits.fetch_add(1, Ordering::Relaxed);
        SortedFiles::create(&self.db, &self.dir.join(INGEST_DIR).join(number.to_string())).map_err(write_error)
    }

    pub(crate) fn disk_full_error(&self) -> Error {
        disk_full_error(&self.dir.display())
    }

    /// Removes every data key in `[lower, upper)`: whole files at once, the rest by a range
    /// tombstone and a hint to compact. For dropped indexes that nobody reads any more.
    pub fn delete_data_range(&self, lower: &[u8], upper: &[u8]) -> Result<()> {
        self.pipeline.spans().forget(lower);
        self.db.delete_range(lower, upper).map_err(read_error)
    }

    /// Compacts `[lower, upper)` of the data (OPTIMIZE TABLE).
    pub fn compact_data_range(&self, lower: &[u8], upper: &[u8]) -> Result<()> {
        kill_point("compact.begun");
        self.flush_memtables()?;
        self.db.compact_range(lower, upper);
        kill_point("compact.finished");
        Ok(())
    }

    /// Bytes that `[lower, upper)` takes on disk, estimated.
    pub fn data_range_bytes(&self, lower: &[u8], upper: &[u8]) -> u64 {
        self.db.range_bytes(lower, upper).unwrap_or(0)
    }

    /// What may stay in memory of a scan of the whole range, by what it takes and what nobody else uses yet.
    pub fn kept_of_scan(&self, lower: &[u8], upper: &[u8]) -> Keep {
        let bytes = self.data_range_bytes(lower, upper);
        let is_part = |share: u64| bytes.saturating_mul(share) <= self.cache_bytes as u64;
        if is_part(CACHE_SHARE_SMALL) {
            return Keep::All;
        }
        let unpacked = self.unpacked_bytes(bytes);
        // Their own bytes for an entry are about what RocksDB counts beside its key and value.
        if unpacked <= self.pipeline.spans().room_for(lower) as u64 {
            Keep::Spans
        } else if is_part(CACHE_SHARE) || unpacked <= self.unused_cache_bytes() {
            Keep::All
        } else {
            Keep::Nothing
        }
    }

    /// What blocks of so many bytes on disk take in the cache, as the average of all files has it.
    fn unpacked_bytes(&self, bytes: u64) -> u64 {
        let text = self.property("rocksdb.aggregated-table-properties").unwrap_or_default();
        let number = |name| property_number(&text, name);
        match (number("raw key size"), number("raw value size"), number("data block size")) {
            (Some(keys), Some(values), Some(packed)) if packed > 0 => {
                (bytes as f64 * (keys + values) as f64 / packed as f64) as u64
            }
            _ => bytes.saturating_mul(COMPRESSION_MAX),
        }
    }

    fn unused_cache_bytes(&self) -> u64 {
        let used = self.property("rocksdb.block-cache-usage").and_then(|text| text.parse().ok());
        let spans = self.pipeline.spans().bytes() as u64;
        used.map_or(0, |used: u64| (self.cache_bytes as u64).saturating_sub(used + spans))
    }

    /// Checks the checksums of all files (CHECK TABLE ... EXTENDED).
    pub fn verify_checksums(&self) -> Result<()> {
        self.db.verify_checksums().map_err(read_error)
    }

    /// The text of a RocksDB property such as `rocksdb.stats`.
    pub fn property(&self, name: &str) -> Option<String> {
        self.db.property(name)
    }

    /// FLUSH TABLES, and before a copy of the directory.
    pub fn flush_memtables(&self) -> Result<()> {
        kill_point("flush.begun");
        self.db.flush_memtables().map_err(read_error)?;
        kill_point("flush.finished");
        Ok(())
    }

    /// Lets the queue of commits run empty, stops background work and syncs the log; later
    /// commits fail with error 1053. Bounded by one flush or compaction step.
    pub fn shutdown(&self) -> Result<()> {
        self.pipeline.shut_down();
        kill_point("stop.queue-empty");
        self.housekeeper.stop();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
        kill_point("stop.threads-ended");
        self.db.cancel_background_work();
        self.db.flush_log(true).map_err(read_error)?;
        // The last commit is followed by something, so that damage to it is told from a torn end. A disk that is
        // full only makes the next start less strict.
        let _ = self.db.pad_log(LOG_END_BYTES);
        kill_point("stop.log-synced");
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Err(e) = self.shutdown() {
            self.hooks.log(LogLevel::Error, &format!("closing: {}", e.message()));
        }
    }
}

/// Makes the directory durable, too: RocksDB syncs what is in it, not its name.
fn create_dir(dir: &Path) -> std::io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(dir)?;
    dir.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(Ok(()), log_check::sync_dir)
}

fn remove_dir(dir: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn io_error(path: &Path, e: std::io::Error) -> Error {
    Error::new(&ER_CANT_CREATE_FILE, &[&path.display(), &e.raw_os_error().unwrap_or(0), &e])
}

/// Refuses a MANIFEST that was damaged where it had been synced.
fn check_manifest(dir: &Path) -> Result<()> {
    let Some(damage) = log_check::find_manifest_damage(dir).map_err(|e| io_error(dir, e))? else { return Ok(()) };
    let text = format!(
        "The file {} is damaged at offset {}: what follows says which files hold the data, and cannot be read. Restore a backup",
        damage.file.display(),
        damage.offset
    );
    Err(Error::with_message(&ER_GET_ERRNO, text))
}

/// Refuses a log that was damaged where it had been synced; see `log_check`. Damage in what is returned is accepted.
fn check_logs(dir: &Path, options: &EngineOptions, hooks: &dyn EngineHooks) -> Result<Logs> {
    let logs = log_check::check(dir).map_err(|e| io_error(dir, e))?;
    let text = match &logs {
        Logs { damage: Some(Damage { file, offset }), .. } => {
            format!("The log file {} is damaged at offset {offset}: commits follow it that cannot be read", file.display())
        }
        Logs { missing: Some(Missing { file, synced_to, there_to }), .. } => {
            let how = if file.exists() { "has lost its end" } else { "is missing" };
            format!(
                "The log file {} {how}: commits up to number {synced_to} were synced, those after {there_to} are not there",
                file.display()
            )
        }
        _ => return Ok(logs),
    };
    if options.accept_damaged_log || log_check::is_marked_not_synced(dir) {
        hooks.log(LogLevel::Warning, &format!("{text} and are lost"));
        newest_log::forget(dir).map_err(|e| io_error(dir, e))?;
        return Ok(logs);
    }
    let text = format!("{text}. Restore a backup, or start once with --accept-damaged-log to lose them");
    Err(Error::with_message(&ER_GET_ERRNO, text))
}

fn open_error(dir: &Path, e: RocksError) -> Error {
    if e.is_lock_held() {
        let text = format!("The data directory {} is in use by another server", dir.display());
        return Error::with_message(&ER_CANT_LOCK, text);
    }
    if e.is_corruption() {
        return Error::corrupt(format_args!("{}: {}", dir.display(), e.0));
    }
    Error::new(&ER_GET_ERRNO, &[&5, &format_args!("{}: {}", dir.display(), e.0)])
}

/// The transactions that hold something, by id.
#[derive(Default)]
pub struct ActiveTransactions {
    /// Sharded, because every writing transaction comes by.
    shards: [Mutex<HashMap<u64, Active>>; 16],
}

struct Active {
    owner: Arc<Owner>,
    isolation: Isolation,
    started: Instant,
    prepared: bool,
}

impl ActiveTransactions {
    fn add(&self, owner: &Arc<Owner>, isolation: Isolation) {
        let active = Active { owner: Arc::clone(owner), isolation, started: Instant::now(), prepared: false };
        self.shard(owner.id).lock().insert(owner.id, active);
    }

    fn note_prepared(&self, id: u64) {
        if let Some(active) = self.shard(id).lock().get_mut(&id) {
            active.prepared = true;
        }
    }

    pub(crate) fn remove(&self, id: u64) {
        self.shard(id).lock().remove(&id);
    }

    fn contains(&self, id: u64) -> bool {
        self.shard(id).lock().contains_key(&id)
    }

    fn shard(&self, id: u64) -> &Mutex<HashMap<u64, Active>> {
        &self.shards[(id % 16) as usize]
    }

    fn list(&self) -> Vec<TxnInfo> {
        let mut out = Vec::new();
        for shard in &self.shards {
            out.extend(shard.lock().values().map(|a| TxnInfo {
                id: a.owner.id,
                started: a.started,
                waiting: a.owner.waiting_since().map(|since| since.elapsed()),
                rows_locked: a.owner.rows_locked(),
                rows_modified: a.owner.rows_modified(),
                isolation: a.isolation,
                session_id: if a.prepared { 0 } else { a.owner.interrupt.session_id },
                prepared: a.prepared,
            }));
        }
        out.sort_by_key(|t| t.id);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::property_number;

    #[test]
    fn numbers_of_properties() {
        let text = "# data blocks=3; # entries=12; raw key size=340; raw average key size=20.000000; raw value size=35;";
        assert_eq!(
            ["raw key size", "raw value size", "data block size"].map(|name| property_number(text, name)),
            [Some(340), Some(35), None]
        );
    }
}
