//! The RocksDB options, and why each is not left at its default.
//!
//! Sizes follow from the memory and cores of the machine or cgroup; everything else is fixed.

use std::fs;
use std::time::Duration;

use rocksdb::{BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, DataBlockIndexType, Options};

use crate::engine::{EngineOptions, FlushMode};
use crate::rocks;

/// Bytes of one data block before compression: small enough that a cold read of one row
/// decompresses little, large enough for ZSTD to find repetition.
const BLOCK_BYTES: usize = 8 << 10;
/// Log files kept for reuse. Writing into blocks that a file already has needs no journal
/// commit of the file system. Measured on ext4 on a virtual disk, 300 bytes and fdatasync:
/// median 90 µs after an overwrite, 125 µs after an append, 100 µs after an append into space
/// from fallocate; with all cores busy the wait for a core hides the difference.
pub const RECYCLED_LOGS: usize = 2;
/// HyperClockCache's table grows with what is in it: a fixed one for 9 GB of blocks took 110 MB of an idle server.
const CACHE_ENTRY_BYTES: usize = 0;
/// Bytes written between hints to the kernel to start write-back, so that fsync stays short.
const WRITE_BACK_BYTES: u64 = 1 << 20;
/// Deleted entries among `DELETION_WINDOW` that make a file worth compacting.
const DELETION_TRIGGER: usize = 16 << 10;
const DELETION_WINDOW: usize = 32 << 10;
/// In blocks of 8 KB, level 1 compresses 1.4 to 2.7 times as fast as the default 3 and decompresses up to twice as fast, into 0.95, 0.98 and
/// 1.02 of its bytes (rows of sysbench, a dump, documents; `zstd -b1 -e3 -B8K`).
const ZSTD_LEVEL: i32 = 1;
/// RocksDB's default; of no use to ZSTD.
const WINDOW_BITS: i32 = -14;
/// Old versions of a row that a scan steps over before it seeks to the next row. A seek goes into each file and memtable, which
/// costs as much as so many steps: with RocksDB's 8, read_write on hot rows took 1.3 to 1.6 times the CPU.
const SKIPPED_VERSIONS: u64 = 64;
/// One part of so many of the cache's bytes.
const ROW_CACHE_SHARE: usize = 8;
const SPAN_CACHE_SHARE: usize = 2;
/// The least that is chosen when no size is given.
const CACHE_BYTES_MIN: usize = 64 << 20;

/// What is fixed in a server and differs in tests: any values give the same answers (`cargo harness metamorphic`).
#[derive(Clone, Debug)]
pub struct Tuning {
    pub bloom_filters: bool,
    pub block_cache: bool,
    pub row_cache: bool,
    pub span_cache: bool,
    /// Each cached read is compared with RocksDB (`txn::checked`).
    pub check_cached_reads: bool,
    pub compression: bool,
    /// Bytes of one data block before compression.
    pub block_bytes: usize,
    /// Bytes of a file of the upper levels.
    pub file_bytes: u64,
    /// Files of level 0 that start a compaction.
    pub level0_files: u32,
    /// Rows of one batch of ALTER TABLE's builds: bounds the write set and the loss of work by a crash.
    pub build_batch_rows: usize,
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
            compression: true,
            block_bytes: BLOCK_BYTES,
            file_bytes: 64 << 20,
            level0_files: 4,
            build_batch_rows: 4096,
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
            "write-buffer-bytes" => self.write_buffer_bytes = number()?.max(64 << 10),
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
            "compression" => self.tuning.compression = switch()?,
            "block-bytes" => self.tuning.block_bytes = number()?.max(64),
            "file-bytes" => self.tuning.file_bytes = number()?.max(16 << 10) as u64,
            "level0-files" => self.tuning.level0_files = number()?.max(1) as u32,
            "build-batch-rows" => self.tuning.build_batch_rows = number()?.max(1),
            "parallel-bytes-min" => self.tuning.parallel_bytes_min = number()? as u64,
            "round-ms" => self.tuning.round = Duration::from_millis(number()?.max(1) as u64),
            _ => return Err(format!("unknown storage option {key}")),
        }
        Ok(())
    }
}

/// Bytes of the block cache, as long as nothing is in spans: these take from it what they need.
pub fn block_cache_bytes(options: &EngineOptions) -> usize {
    cache_bytes(options) - row_cache_bytes(options)
}

pub fn block_cache(options: &EngineOptions) -> Cache {
    Cache::new_hyper_clock_cache(block_cache_bytes(options), CACHE_ENTRY_BYTES)
}

/// Options of the data family (which also carry the database's) and of the catalog family.
pub fn for_families(options: &EngineOptions, cache: &Cache) -> (Options, Options) {
    let mut data = family(cache, options.write_buffer_bytes, &options.tuning);
    set_database(&mut data, options);
    let catalog = family(cache, options.write_buffer_bytes / 4, &options.tuning);
    (data, catalog)
}

fn set_database(o: &mut Options, options: &EngineOptions) {
    let jobs = options.background_jobs.unwrap_or_else(|| cores().max(2));
    o.create_if_missing(true);
    o.create_missing_column_families(true);
    o.set_max_background_jobs(jobs as i32);
    o.set_max_subcompactions((jobs / 2).max(1) as u32);
    o.set_bytes_per_sync(WRITE_BACK_BYTES);
    // A recycled log ends where its records stop making sense, so recovery must stop there.
    // What was synced is checked by `track_and_verify_wals_in_manifest` and by record order.
    o.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    o.set_recycle_log_file_num(RECYCLED_LOGS);
    o.set_track_and_verify_wals_in_manifest(true);
    // Both families are flushed together, so that a log is free as soon as its memtable is.
    o.set_atomic_flush(true);
    o.set_max_total_wal_size(4 * options.write_buffer_bytes as u64);
    o.set_keep_log_file_num(4);
    o.set_max_log_file_size(16 << 20);
    o.set_max_open_files(options.open_files_max.map_or(-1, |max| max.min(i32::MAX as u64) as i32));
    // Statistics of file ages are not worth opening every file at start.
    o.set_skip_stats_update_on_db_open(true);
    o.set_paranoid_checks(true);
    // Deleting files and old memtables is not a query's work.
    o.set_avoid_unnecessary_blocking_io(true);
}

fn family(cache: &Cache, write_buffer_bytes: usize, tuning: &Tuning) -> Options {
    let mut o = Options::default();
    o.set_write_buffer_size(write_buffer_bytes);
    o.set_max_write_buffer_number(4);
    o.set_level_compaction_dynamic_level_bytes(true);
    o.set_target_file_size_base(tuning.file_bytes);
    o.set_level_zero_file_num_compaction_trigger(tuning.level0_files as i32);
    let (upper, lowest) = match tuning.compression {
        true => (DBCompressionType::Lz4, DBCompressionType::Zstd),
        false => (DBCompressionType::None, DBCompressionType::None),
    };
    o.set_compression_type(upper);
    o.set_bottommost_compression_type(lowest);
    o.set_bottommost_compression_options(WINDOW_BITS, ZSTD_LEVEL, 0, 0, true);
    o.set_max_sequential_skip_in_iterations(SKIPPED_VERSIONS);
    o.add_compact_on_deletion_collector_factory(DELETION_WINDOW, DELETION_TRIGGER, 0.5);
    let mut table = BlockBasedOptions::default();
    if tuning.block_cache {
        table.set_block_cache(cache);
    } else {
        table.disable_cache();
    }
    table.set_block_size(tuning.block_bytes);
    table.set_format_version(6);
    // Ribbon filters would save 3 bits a key, and took a third of the CPU of a bulk load.
    if tuning.bloom_filters {
        table.set_bloom_filter(10.0, false);
    }
    table.set_optimize_filters_for_memory(true);
    // A point get finds its row in a cached block without a binary search.
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_data_block_hash_ratio(0.75);
    table.set_cache_index_and_filter_blocks(tuning.block_cache);
    table.set_cache_index_and_filter_blocks_with_high_priority(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(tuning.block_cache);
    o.set_block_based_table_factory(&table);
    rocks::set_raw_options(&mut o);
    o
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, |n| n.get())
}

fn cache_bytes(options: &EngineOptions) -> usize {
    options.block_cache_bytes.unwrap_or_else(default_cache_bytes)
}

/// The part of the caches that is for single rows.
pub fn row_cache_bytes(options: &EngineOptions) -> usize {
    if options.tuning.row_cache { cache_bytes(options) / ROW_CACHE_SHARE } else { 0 }
}

/// The most that stretches of indexes may take.
pub fn span_cache_bytes(options: &EngineOptions) -> usize {
    if options.tuning.span_cache { cache_bytes(options) / SPAN_CACHE_SHARE } else { 0 }
}

/// 40% of the memory: the rest is for memtables, sessions, sorts and the page cache.
fn default_cache_bytes() -> usize {
    ((memory_bytes() / 5 * 2) as usize).max(CACHE_BYTES_MIN)
}

/// Bytes of memory of the machine, or of the cgroup when that is less.
pub fn memory_bytes() -> u64 {
    const UNKNOWN: u64 = 2 << 30;
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|s| s.trim().parse::<u64>().ok());
    let total = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("MemTotal:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    });
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter().map(|path| number(&path));
    limits.chain([total]).flatten().min().unwrap_or(UNKNOWN)
}

/// The files that may limit the memory of a process with these lines in /proc/self/cgroup: of its group and those above, in
/// either version. In a container its group is the root that it sees.
fn limit_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines().chain(["0::/", ":memory:/"]) {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(mut group)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|c| c == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        loop {
            group = group.trim_end_matches('/');
            files.push(format!("{root}{group}/{file}"));
            let Some((above, _)) = group.rsplit_once('/') else { break };
            group = above;
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::limit_files;

    #[test]
    fn limits_are_those_of_the_group_and_all_above() {
        let root = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        let cases = [
            ("", vec![]),
            ("0::/a/b\n", vec!["/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max", root[0]]),
            ("5:devices:/\n4:cpu,memory:/x\n", vec!["/sys/fs/cgroup/memory/x/memory.limit_in_bytes", root[1]]),
        ];
        for (groups, mut expected) in cases {
            expected.extend(root);
            assert_eq!(limit_files(groups), expected, "{groups}");
        }
    }
}
