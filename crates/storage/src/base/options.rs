//! What the storage is opened with, and which sizes follow from the memory (`base::memory`).
//!
//! What is told to RocksDB of it, and why, is in `rocks::options`.

use std::time::Duration;

use super::memory;

/// Bytes of one data block before compression: small enough that a cold read of one row
/// decompresses little, large enough for ZSTD to find repetition.
const BLOCK_BYTES: usize = 8 << 10;
/// One part of so many of the cache's bytes.
const ROW_CACHE_SHARE: usize = 8;
const SPAN_CACHE_SHARE: usize = 2;

/// What the engine is opened with. `EngineOptions::default()` fits this machine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Bytes of all caches and memtables; `None` takes a share of the memory that the machine or cgroup has.
    pub block_cache_bytes: Option<usize>,
    /// The most that is taken when no size is given.
    pub cache_bytes_max: Option<usize>,
    /// Bytes of one memtable; `None` takes a share of the memory.
    pub write_buffer_bytes: Option<usize>,
    /// Threads that flush and compact; `None` takes the number of cores, at least 2.
    pub background_jobs: Option<usize>,
    /// Bytes of memory that the write set of one transaction may take before it spills to disk.
    pub write_set_bytes: usize,
    /// Bytes that the sorts, hash tables and kept results of one statement may take.
    pub statement_bytes_max: usize,
    /// Bytes of rows that a sort or an aggregation keeps in memory before they go to disk: a quarter of `statement_bytes_max`, or less.
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
            cache_bytes_max: None,
            write_buffer_bytes: None,
            background_jobs: None,
            write_set_bytes: 64 << 20,
            statement_bytes_max: memory::statement_bytes_max(),
            operator_bytes_max: usize::MAX,
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

/// What is fixed in a server and differs in tests: any values give the same answers (`cargo harness metamorphic`).
#[derive(Clone, Debug)]
pub struct Tuning {
    pub bloom_filters: bool,
    pub block_cache: bool,
    pub row_cache: bool,
    pub span_cache: bool,
    /// Each cached read is compared with RocksDB (`txn::checked`).
    pub check_cached_reads: bool,
    /// Statements count how often they look at their interrupt: `Interrupt_looks` of SHOW STATUS.
    pub count_interrupt_looks: bool,
    pub compression: bool,
    /// Bytes of one data block before compression.
    pub block_bytes: usize,
    /// Bytes of a file of the upper levels.
    pub file_bytes: u64,
    /// Files of level 0 that start a compaction.
    pub level0_files: u32,
    /// Rows of one batch of ALTER TABLE's builds: bounds the write set and the loss of work by a crash.
    pub build_batch_rows: usize,
    /// Bytes of keys of rows that clients change while an index is built, from which on it is built row by row.
    pub build_notes_bytes: usize,
    /// Bytes of table data from which a query reads it in parts on several threads.
    pub parallel_bytes_min: u64,
    /// How often the housekeeper does its rounds.
    pub round: Duration,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            bloom_filters: true,
            block_cache: true,
            row_cache: true,
            span_cache: true,
            check_cached_reads: false,
            count_interrupt_looks: false,
            compression: true,
            block_bytes: BLOCK_BYTES,
            file_bytes: 64 << 20,
            level0_files: 4,
            build_batch_rows: 4096,
            build_notes_bytes: 64 << 20,
            parallel_bytes_min: 2 << 20,
            round: Duration::from_secs(1),
        }
    }
}

impl EngineOptions {
    /// Sets one option by name, for tests: `key=value`, sizes in bytes, switches `on` or `off`.
    pub fn set(&mut self, assignment: &str) -> Result<(), String> {
        let (key, value) = assignment.split_once('=').ok_or_else(|| format!("not key=value: {assignment}"))?;
        let number = || value.parse::<usize>().map_err(|_| format!("{key}: not a number: {value}"));
        let switch = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(format!("{key}: not on or off: {value}")),
        };
        match key {
            "block-cache-bytes" => self.block_cache_bytes = Some(number()?),
            "write-buffer-bytes" => self.write_buffer_bytes = Some(number()?.max(64 << 10)),
            "background-jobs" => self.background_jobs = Some(number()?.max(1)),
            "write-set-bytes" => self.write_set_bytes = number()?,
            "statement-bytes-max" => self.statement_bytes_max = number()?,
            "operator-bytes-max" => self.operator_bytes_max = number()?,
            "flush-mode" => {
                self.flush_mode = match value {
                    "0" => FlushMode::EachSecond,
                    "1" => FlushMode::SyncEachCommit,
                    "2" => FlushMode::WriteEachCommit,
                    _ => return Err(format!("{key}: not 0, 1 or 2: {value}")),
                }
            }
            "warm-log" => self.warm_log = switch()?,
            "bloom-filters" => self.tuning.bloom_filters = switch()?,
            "block-cache" => self.tuning.block_cache = switch()?,
            "row-cache" => self.tuning.row_cache = switch()?,
            "span-cache" => self.tuning.span_cache = switch()?,
            "check-cached-reads" => self.tuning.check_cached_reads = switch()?,
            "count-interrupt-looks" => self.tuning.count_interrupt_looks = switch()?,
            "compression" => self.tuning.compression = switch()?,
            "block-bytes" => self.tuning.block_bytes = number()?.max(64),
            "file-bytes" => self.tuning.file_bytes = number()?.max(16 << 10) as u64,
            "level0-files" => self.tuning.level0_files = number()?.max(1) as u32,
            "build-batch-rows" => self.tuning.build_batch_rows = number()?.max(1),
            "build-notes-bytes" => self.tuning.build_notes_bytes = number()?,
            "parallel-bytes-min" => self.tuning.parallel_bytes_min = number()? as u64,
            "round-ms" => self.tuning.round = Duration::from_millis(number()?.max(1) as u64),
            _ => return Err(format!("unknown storage option {key}")),
        }
        Ok(())
    }
}

/// How the bytes of the caches are shared out.
#[derive(Clone, Copy, Debug)]
pub struct CacheShares {
    /// The block cache's, as long as nothing is in spans and memtables: these take from it what they need.
    pub blocks: usize,
    /// Of single rows.
    pub rows: usize,
    /// The most that stretches of indexes may take.
    pub spans: usize,
}

impl CacheShares {
    pub fn of(bytes: usize, tuning: &Tuning) -> CacheShares {
        let rows = if tuning.row_cache { bytes / ROW_CACHE_SHARE } else { 0 };
        CacheShares { blocks: bytes - rows, rows, spans: if tuning.span_cache { bytes / SPAN_CACHE_SHARE } else { 0 } }
    }
}

impl EngineOptions {
    /// Bytes of one memtable.
    pub fn write_buffer(&self) -> usize {
        self.write_buffer_bytes.unwrap_or_else(|| memory::shares().write_buffer)
    }

    /// Bytes of all caches and memtables.
    pub fn cache_bytes(&self) -> usize {
        self.block_cache_bytes.unwrap_or_else(|| memory::shares().caches.min(self.cache_bytes_max.unwrap_or(usize::MAX)))
    }

    pub fn cache_shares(&self) -> CacheShares {
        CacheShares::of(self.cache_bytes(), &self.tuning)
    }
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, |n| n.get())
}
