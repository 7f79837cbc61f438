//! `Store`: what all transactions share. The database, its lock manager, counters, commit pipeline and caches.
//!
//! `engine` opens it, and runs the threads behind it. Whoever holds a `Store` can begin transactions, and reads what they
//! have to know of the database; nothing here knows tables, rows or SQL.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use vaquita_types::schema::TableId;
use vaquita_types::{Error, Result};

use super::checked::CheckedReads;
use super::xa::Branches;
use super::{Keep, Transaction, TxnOptions};
use crate::base::hooks::EngineHooks;
use crate::base::kill_points::kill_point;
use crate::base::options::{CacheShares, EngineOptions, FlushMode};
use crate::cache::row_cache::RowCache;
use crate::cache::span_cache::SpanCache;
use crate::cache::uses::CacheUses;
use crate::commit::active::{ActiveTransactions, TxnInfo};
use crate::commit::counters::{CounterChange, Counters};
use crate::commit::log_buffer::LogBuffer;
use crate::commit::pipeline::{Parts, Pipeline};
use crate::commit::records::Records;
use crate::commit::stages::Stages;
use crate::commit::{CommitRequest, CommitStart, CommitWaiter, Touched};
use crate::encoding::KeyRange;
use crate::locks::{HeldLocks, Interrupt, LockManager, Owner};
use crate::rocks::{Db, Family, IdleIters, Snapshot, SortedFiles, disk_full_error, read_error, split, write_error};
use crate::spill::row_store::RowStore;
use crate::spill::scratch::Scratches;
use crate::spill::sorted_files::merge_runs;
use crate::spill::sorted_run::{Run, RunFile, SameKey};
use crate::spill::sorter::Sorter;

/// A scan fills the block cache with what it reads if that, as it is on disk, is at most this part of the cache: decompressed
/// it is at most `COMPRESSION_MAX` times as much of most data, and three quarters of the cache remain to others.
const CACHE_SHARE: u64 = 16;
const COMPRESSION_MAX: u64 = 4;
/// So small a part is kept as spans and as blocks, from which holes between spans are filled sooner.
const CACHE_SHARE_SMALL: u64 = 256;

/// Where transactions spill to, and where the files lie that are about to be committed.
pub(crate) struct Places {
    pub scratches: Scratches,
    pub ingested: PathBuf,
}

pub struct Store {
    dir: PathBuf,
    options: EngineOptions,
    hooks: EngineHooks,
    db: Arc<Db>,
    /// Of blocks, spans and memtables; 0 without a block cache.
    cache_bytes: AtomicUsize,
    locks: Arc<LockManager>,
    counters: Arc<Counters>,
    active: Arc<ActiveTransactions>,
    pipeline: Arc<Pipeline>,
    rows: RowCache,
    checked_reads: CheckedReads,
    next_txn_id: AtomicU64,
    /// The snapshot taken last: shared as long as nothing was committed after it.
    latest_snapshot: Mutex<Weak<Snapshot>>,
    idle_iters: IdleIters,
    /// Less space is free than is to be kept.
    disk_full: AtomicBool,
    xa: Branches,
    scratches: Arc<Scratches>,
    ingested: PathBuf,
    /// Commits by files so far.
    file_commits: AtomicU64,
}

impl Store {
    pub(crate) fn new(
        dir: &Path,
        options: EngineOptions,
        hooks: EngineHooks,
        db: Arc<Db>,
        stages: Arc<dyn Stages>,
        places: Places,
    ) -> Arc<Store> {
        let shares = options.cache_shares();
        let locks = Arc::new(LockManager::new(Arc::clone(&hooks.threads), Arc::clone(&hooks.statements)));
        let counters = Arc::new(Counters::new(Arc::clone(&db)));
        let active = Arc::new(ActiveTransactions::default());
        let parts = Parts {
            db: Arc::clone(&db),
            stages,
            locks: Arc::clone(&locks),
            counters: Arc::clone(&counters),
            active: Arc::clone(&active),
            threads: Arc::clone(&hooks.threads),
            operator_log: Arc::clone(&hooks.operator_log),
            spans: SpanCache::new(shares.spans),
        };
        let pipeline = Arc::new(Pipeline::new(parts, options.flush_mode));
        Arc::new(Store {
            dir: dir.to_path_buf(),
            cache_bytes: AtomicUsize::new(if options.tuning.block_cache { shares.blocks } else { 0 }),
            rows: RowCache::new(shares.rows),
            options,
            hooks,
            db,
            locks,
            counters,
            active,
            pipeline,
            checked_reads: CheckedReads::default(),
            next_txn_id: AtomicU64::new(1),
            latest_snapshot: Mutex::new(Weak::new()),
            idle_iters: IdleIters::default(),
            disk_full: AtomicBool::new(false),
            xa: Branches::default(),
            scratches: Arc::new(places.scratches),
            ingested: places.ingested,
            file_commits: AtomicU64::new(0),
        })
    }

    /// A new transaction; costs nothing until it reads a second time, locks or writes.
    pub fn begin(self: &Arc<Store>, options: TxnOptions) -> Transaction {
        Transaction::new(Arc::clone(self), options)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    pub fn hooks(&self) -> &EngineHooks {
        &self.hooks
    }

    /// Before an orderly end: AUTO_INCREMENT values that were handed out are not given again, also those that nobody has used in the end. What cannot be
    /// stored any more is given again.
    pub(crate) fn store_counters(&self) {
        let counters = self.counters().unstored();
        if !counters.is_empty() {
            let _ = self.commit_alone(counters, Vec::new());
        }
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

    pub(crate) fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    pub(crate) fn idle_iters(&self) -> &IdleIters {
        &self.idle_iters
    }

    pub(crate) fn xa_branches(&self) -> &Branches {
        &self.xa
    }

    pub(crate) fn scratches(&self) -> &Scratches {
        &self.scratches
    }

    pub fn flush_mode(&self) -> FlushMode {
        self.pipeline.flush_mode()
    }

    /// Groups and transactions committed since start.
    pub fn commit_counts(&self) -> (u64, u64) {
        self.pipeline.counts()
    }

    /// How long groups have taken to be in the log and on the disk, since start.
    pub fn log_time(&self) -> Duration {
        self.pipeline.log_time()
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

    pub(crate) fn unregister(&self, id: u64) {
        self.active.remove(id);
    }

    /// A snapshot of what is committed now. Readers between two commits share one.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let visible = self.pipeline.visible();
        if let Some(snapshot) = visible.snapshot() {
            return snapshot;
        }
        let snapshot = self.latest_snapshot();
        // What it shows may have been hidden before it was written.
        visible.snapshot().filter(|seen| seen.sequence() < snapshot.sequence()).unwrap_or(snapshot)
    }

    /// Commits are in the log that nobody sees yet.
    pub fn hides_commits(&self) -> bool {
        self.pipeline.visible().last().is_some()
    }

    /// The last commit that everybody sees who begins to read.
    pub(crate) fn visible_sequence(&self) -> u64 {
        let latest = self.db.latest_sequence();
        self.pipeline.visible().snapshot().map_or(latest, |snapshot| snapshot.sequence())
    }

    fn latest_snapshot(&self) -> Arc<Snapshot> {
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

    /// Commits and blocks until it is durable.
    pub(crate) fn submit_and_wait(&self, request: CommitRequest) -> Result<()> {
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        let waiter = || -> CommitWaiter {
            Box::new(move |result| {
                // The receiver waits below.
                let _ = send.send(result);
            })
        };
        match self.pipeline.submit(request, waiter) {
            CommitStart::Done(result) => result,
            CommitStart::Parked => {
                let mut result = Ok(());
                let mut wait = || result = receive.recv().unwrap_or_else(|_| Err(Error::internal("the committer is gone")));
                self.hooks.threads.blocking(&mut wait);
                result
            }
        }
    }

    /// Less space is free than is to be kept.
    pub(crate) fn disk_full(&self) -> bool {
        self.disk_full.load(Ordering::Relaxed)
    }

    /// What it was before.
    pub(crate) fn set_disk_full(&self, full: bool) -> bool {
        self.disk_full.swap(full, Ordering::Relaxed)
    }

    pub(crate) fn disk_full_error(&self) -> Error {
        disk_full_error(&self.dir.display())
    }

    /// What a transaction tells the binary log, for its commit.
    pub(crate) fn prepare_log(&self, told: &LogBuffer) -> Result<Vec<u8>> {
        if told.is_empty() { Ok(Vec::new()) } else { self.pipeline.stages().prepare(told) }
    }

    pub(crate) fn scratch_dir(&self) -> &Path {
        self.scratches.dir()
    }

    /// Has nothing to commit but what the log is told.
    pub fn commit_told(&self, told: &LogBuffer) -> Result<()> {
        self.commit_alone(Vec::new(), self.prepare_log(told)?)
    }

    /// A commit without rows.
    fn commit_alone(&self, counters: Vec<(TableId, CounterChange)>, log: Vec<u8>) -> Result<()> {
        self.submit_and_wait(CommitRequest {
            records: Records::with_capacity(0),
            touched: Touched::Keys(Vec::new()),
            files: None,
            counters,
            log,
            owner: None,
            held: HeldLocks::default(),
            interrupt: None,
        })
    }

    /// Sorts what does not fit into `bytes_max` on disk.
    pub fn sorter(&self, bytes_max: usize) -> Sorter {
        Sorter::new(Arc::clone(&self.scratches), bytes_max)
    }

    pub fn row_store(&self) -> RowStore {
        RowStore::new(Arc::clone(&self.scratches))
    }

    /// For a commit by files.
    pub(crate) fn new_files(&self) -> Result<SortedFiles> {
        let number = self.file_commits.fetch_add(1, Ordering::Relaxed);
        SortedFiles::create(&self.db, &self.ingested.join(number.to_string())).map_err(write_error)
    }

    /// Files that are to be committed, of what the runs have.
    pub(crate) fn sorted_files(
        &self,
        file: &RunFile,
        runs: &[&Run],
        same: SameKey<'_>,
        interrupt: &Interrupt,
    ) -> Result<SortedFiles> {
        let files = self.new_files()?;
        merge_runs(&files, file, runs, same, interrupt)?;
        Ok(files)
    }

    /// Removes every data key in `[lower, upper)`: whole files at once, the rest by a range
    /// tombstone and a hint to compact. For dropped indexes that nobody reads any more.
    pub fn delete_data_range(&self, lower: &[u8], upper: &[u8]) -> Result<()> {
        self.pipeline.spans().forget(lower);
        self.db.delete_range(Family::Data, lower, upper).map_err(read_error)
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

    /// An estimate, from files and memtables.
    pub fn range_bytes(&self, range: &KeyRange) -> Result<u64> {
        self.db.range_bytes(&range.lower, &range.upper).map_err(read_error)
    }

    /// Neighbouring ranges in ascending order that together are `range`, of at most about `piece_bytes` each.
    pub fn split(&self, range: &KeyRange, piece_bytes: u64) -> Result<Vec<KeyRange>> {
        split::split(&self.db, range, piece_bytes)
    }

    /// What may stay in memory of a scan of the whole range, by what it takes and what nobody else uses yet.
    pub fn kept_of_scan(&self, lower: &[u8], upper: &[u8]) -> Keep {
        let bytes = self.data_range_bytes(lower, upper);
        let is_part = |share: u64| bytes.saturating_mul(share) <= self.cache_bytes() as u64;
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
        used.map_or(0, |used: u64| (self.cache_bytes() as u64).saturating_sub(used + spans + self.db.memtable_bytes() as u64))
    }

    /// Checks the checksums of all files (CHECK TABLE ... EXTENDED).
    pub fn verify_checksums(&self) -> Result<()> {
        self.db.verify_checksums().map_err(read_error)
    }

    /// The text of a RocksDB property such as `rocksdb.stats`.
    pub fn property(&self, name: &str) -> Option<String> {
        self.db.property(name)
    }

    /// The number of the last change.
    pub fn latest_sequence(&self) -> u64 {
        self.db.latest_sequence()
    }

    /// What scans keep in memory of indexes.
    pub fn span_bytes(&self) -> usize {
        self.pipeline().spans().bytes()
    }

    /// What rows that were read by key take in memory.
    pub fn row_cache_bytes(&self) -> usize {
        self.rows().bytes()
    }

    /// Reads by key, of the rows that are kept.
    pub fn row_cache_uses(&self) -> CacheUses {
        self.rows().uses()
    }

    /// Scans, of the spans that are kept.
    pub fn span_uses(&self) -> CacheUses {
        self.pipeline().spans().uses()
    }

    /// Blocks, spans and memtables together may take so much.
    pub fn cache_bytes(&self) -> usize {
        self.cache_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of each memtable from the next on.
    pub fn set_write_buffer_bytes(&self, bytes: usize) -> Result<()> {
        self.db.set_write_buffer_bytes(bytes).map_err(read_error)
    }

    /// Threads that flush and compact.
    pub fn set_background_jobs(&self, jobs: usize) -> Result<()> {
        self.db.set_background_jobs(jobs).map_err(read_error)
    }

    /// Files of level 0 that start a compaction.
    pub fn set_level0_files(&self, files: u64) -> Result<()> {
        self.db.set_level0_files(files).map_err(read_error)
    }

    /// What memtables of all families take.
    pub fn memtable_bytes(&self) -> usize {
        self.db.memtable_bytes()
    }

    /// Bytes for all caches and memtables from now on. Caches that are too large shrink, the block cache within a round of the housekeeper.
    pub fn set_cache_bytes(&self, bytes: usize) {
        let of = CacheShares::of(bytes, &self.options.tuning);
        self.rows.set_bytes_max(of.rows);
        self.pipeline.spans().set_bytes_max(of.spans);
        if self.options.tuning.block_cache {
            self.cache_bytes.store(of.blocks, Ordering::Relaxed);
        }
    }

    /// Rows that are committed now.
    pub fn row_count(&self, table: TableId) -> Result<u64> {
        Ok(self.counters().rows(table, None)?.max(0) as u64)
    }

    /// FLUSH TABLES, and before a copy of the directory.
    pub fn flush_memtables(&self) -> Result<()> {
        kill_point("flush.begun");
        self.db.flush_memtables().map_err(read_error)?;
        kill_point("flush.finished");
        Ok(())
    }
}

/// A number of RocksDB's texts of the form `name=number; name=number`.
fn property_number(text: &str, name: &str) -> Option<u64> {
    text.split(';').find_map(|field| field.trim().strip_prefix(name)?.strip_prefix('=')?.trim().parse().ok())
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
