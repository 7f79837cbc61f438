//! The RocksDB options, and why each is not left at its default.
//!
//! Sizes follow from the memory and cores of the machine or cgroup (`base::options`); everything else is fixed.

use rocksdb::{BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, DataBlockIndexType, Options};

use super::FamilyOptions;
use crate::base::options::{EngineOptions, Tuning, cores};

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
pub fn block_cache(options: &EngineOptions) -> Cache {
    Cache::new_hyper_clock_cache(options.cache_shares().blocks, CACHE_ENTRY_BYTES)
}

/// A memtable of the catalog has one part in so many of one of the data.
pub const CATALOG_SHARE: usize = 4;

/// Of all files of the log. Beyond, memtables are flushed.
pub fn log_bytes_max(write_buffer_bytes: usize) -> u64 {
    4 * write_buffer_bytes as u64
}

/// A reader of the log takes block after block.
const LOG_BLOCK_BYTES: usize = 64 << 10;

pub fn for_families(options: &EngineOptions, cache: &Cache) -> FamilyOptions {
    let mut data = family(cache, options.write_buffer(), &options.tuning);
    set_database(&mut data, options);
    let catalog = family(cache, options.write_buffer() / CATALOG_SHARE, &options.tuning);
    FamilyOptions { data, catalog, log: log_family(options) }
}

/// Files of the log follow on each other, so that they move from level to level as they are: they have one compression on all, LZ4, since
/// a flush makes it. They are read once, behind each other: their blocks are not kept.
fn log_family(options: &EngineOptions) -> Options {
    let mut o = Options::default();
    o.set_write_buffer_size(options.write_buffer());
    o.set_max_write_buffer_number(4);
    o.set_level_compaction_dynamic_level_bytes(true);
    o.set_target_file_size_base(options.tuning.file_bytes);
    o.set_compression_type(if options.tuning.compression { DBCompressionType::Lz4 } else { DBCompressionType::None });
    let mut table = BlockBasedOptions::default();
    table.disable_cache();
    table.set_block_size(LOG_BLOCK_BYTES);
    table.set_format_version(6);
    o.set_block_based_table_factory(&table);
    super::db::set_raw_options(&mut o);
    o
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
    o.set_max_total_wal_size(log_bytes_max(options.write_buffer()));
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
    super::db::set_raw_options(&mut o);
    o
}
