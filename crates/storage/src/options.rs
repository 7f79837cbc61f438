//! The RocksDB options, and why each is not left at its default.
//!
//! Sizes follow from the memory and cores of the machine or cgroup; everything else is fixed.

use std::fs;

use rocksdb::{BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, DataBlockIndexType, Options};

use crate::engine::EngineOptions;
use crate::rocks;

/// Bytes of one data block before compression: small enough that a cold read of one row
/// decompresses little, large enough for ZSTD to find repetition.
const BLOCK_BYTES: usize = 8 << 10;
/// Log files kept for reuse. Writing into blocks that a file already has needs no journal
/// commit of the file system. Measured on ext4 on a virtual disk, 300 bytes and fdatasync:
/// median 90 µs after an overwrite, 125 µs after an append, 100 µs after an append into space
/// from fallocate; with all cores busy the wait for a core hides the difference.
pub const RECYCLED_LOGS: usize = 2;
/// An entry of the block cache, for HyperClockCache's table.
const CACHE_ENTRY_BYTES: usize = BLOCK_BYTES;
/// Bytes written between hints to the kernel to start write-back, so that fsync stays short.
const WRITE_BACK_BYTES: u64 = 1 << 20;
/// Deleted entries among `DELETION_WINDOW` that make a file worth compacting.
const DELETION_TRIGGER: usize = 16 << 10;
const DELETION_WINDOW: usize = 32 << 10;
/// The least that is chosen when no size is given.
const CACHE_BYTES_MIN: usize = 64 << 20;

/// Options of the data family (which also carry the database's) and of the catalog family.
pub fn for_families(options: &EngineOptions) -> (Options, Options) {
    let cache_bytes = options.block_cache_bytes.unwrap_or_else(default_cache_bytes);
    let cache = Cache::new_hyper_clock_cache(cache_bytes, CACHE_ENTRY_BYTES);
    let mut data = family(&cache, options.write_buffer_bytes);
    set_database(&mut data, options);
    let catalog = family(&cache, options.write_buffer_bytes / 4);
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

fn family(cache: &Cache, write_buffer_bytes: usize) -> Options {
    let mut o = Options::default();
    o.set_write_buffer_size(write_buffer_bytes);
    o.set_max_write_buffer_number(4);
    o.set_level_compaction_dynamic_level_bytes(true);
    o.set_target_file_size_base(64 << 20);
    o.set_compression_type(DBCompressionType::Lz4);
    o.set_bottommost_compression_type(DBCompressionType::Zstd);
    o.add_compact_on_deletion_collector_factory(DELETION_WINDOW, DELETION_TRIGGER, 0.5);
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    table.set_block_size(BLOCK_BYTES);
    table.set_format_version(6);
    // Ribbon filters would save 3 bits a key, and took a third of the CPU of a bulk load.
    table.set_bloom_filter(10.0, false);
    table.set_optimize_filters_for_memory(true);
    // A point get finds its row in a cached block without a binary search.
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_data_block_hash_ratio(0.75);
    table.set_cache_index_and_filter_blocks(true);
    table.set_cache_index_and_filter_blocks_with_high_priority(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    o.set_block_based_table_factory(&table);
    rocks::set_raw_options(&mut o);
    o
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, |n| n.get())
}

/// 40% of the memory: the rest is for memtables, sessions, sorts and the page cache.
fn default_cache_bytes() -> usize {
    ((memory_bytes() / 5 * 2) as usize).max(CACHE_BYTES_MIN)
}

/// Bytes of memory of the machine, or of the cgroup when that is less.
fn memory_bytes() -> u64 {
    const UNKNOWN: u64 = 2 << 30;
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|s| s.trim().parse::<u64>().ok());
    let total = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("MemTotal:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    });
    let limits = [total, number("/sys/fs/cgroup/memory.max"), number("/sys/fs/cgroup/memory/memory.limit_in_bytes")];
    limits.into_iter().flatten().min().unwrap_or(UNKNOWN)
}
