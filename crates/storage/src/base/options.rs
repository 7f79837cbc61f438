//! What the storage is opened with, and which sizes follow from the memory of the machine or cgroup.
//!
//! What is told to RocksDB of it, and why, is in `rocks::options`.

use std::fs;
use std::time::Duration;

/// Bytes of one data block before compression: small enough that a cold read of one row
/// decompresses little, large enough for ZSTD to find repetition.
const BLOCK_BYTES: usize = 8 << 10;
/// One part of so many of the cache's bytes.
const ROW_CACHE_SHARE: usize = 8;
const SPAN_CACHE_SHARE: usize = 2;
/// The least that is chosen when no size is given.
const CACHE_BYTES_MIN: usize = 64 << 20;

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
            "count-interrupt-looks" => self.tuning.count_interrupt_looks = switch()?,
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
