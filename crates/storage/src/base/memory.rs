//! What memory the machine or cgroup has, and how it is shared out.
//!
//! | for | share |
//! |---|---|
//! | caches of blocks, rows and spans, with memtables in them | 40% |
//! | what statements and sessions keep | an eighth, of little memory a quarter |
//! | threads, sockets, small pieces of sessions, what the allocator holds, the page cache | what is left |

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

/// The least that is given to caches.
const CACHE_BYTES_MIN: u64 = 64 << 20;
/// A write buffer is one part in so many, within bounds. RocksDB keeps up to four of a family.
const WRITE_BUFFER_SHARE: u64 = 32;
const WRITE_BUFFER_BYTES_MIN: u64 = 8 << 20;
const WRITE_BUFFER_BYTES_MAX: u64 = 64 << 20;
const STATEMENTS_SHARE: u64 = 8;
/// Of little memory statements get more, up to so much.
const STATEMENTS_SHARE_OF_LITTLE: u64 = 4;
const STATEMENTS_BYTES_OF_LITTLE: u64 = 256 << 20;
/// One statement gets a part of what all get, within bounds.
const STATEMENT_SHARE: usize = 4;
const STATEMENT_BYTES_MIN: usize = 256 << 20;
const STATEMENT_BYTES_MAX: usize = 4 << 30;
const UNKNOWN: u64 = 2 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    pub caches: usize,
    /// Of one memtable.
    pub write_buffer: usize,
    pub statements: usize,
}

/// The server shall use so many parts of the memory, unless it is told.
const GOAL_PARTS: (u64, u64) = (3, 4);

const GOAL_BYTES_MIN: u64 = 256 << 20;
static GOAL_BYTES: AtomicU64 = AtomicU64::new(0);

/// What the server shall use in all; 0 leaves it to the machine. With less than `GOAL_BYTES_MIN` it could not run a statement.
pub fn set_goal_bytes(bytes: u64) {
    let bytes = if bytes == 0 { 0 } else { bytes.max(GOAL_BYTES_MIN) };
    GOAL_BYTES.store(bytes, Ordering::Relaxed);
}

/// What the server shall use in all.
pub fn goal_bytes() -> u64 {
    match GOAL_BYTES.load(Ordering::Relaxed) {
        0 => memory_bytes() / GOAL_PARTS.1 * GOAL_PARTS.0,
        told => told,
    }
}

/// Of this machine, or as on one of which the goal is three quarters.
pub fn shares() -> Shares {
    match GOAL_BYTES.load(Ordering::Relaxed) {
        0 => shares_of(memory_bytes()),
        told => shares_of(told / GOAL_PARTS.0 * GOAL_PARTS.1),
    }
}

/// What one statement may keep, unless it is told.
pub fn statement_bytes_max() -> usize {
    statement_bytes_of(shares())
}

fn statement_bytes_of(shares: Shares) -> usize {
    (shares.statements / STATEMENT_SHARE).clamp(STATEMENT_BYTES_MIN, STATEMENT_BYTES_MAX)
}

fn shares_of(bytes: u64) -> Shares {
    let of_little = (bytes / STATEMENTS_SHARE_OF_LITTLE).min(STATEMENTS_BYTES_OF_LITTLE);
    Shares {
        caches: (bytes / 5 * 2).max(CACHE_BYTES_MIN) as usize,
        write_buffer: (bytes / WRITE_BUFFER_SHARE).clamp(WRITE_BUFFER_BYTES_MIN, WRITE_BUFFER_BYTES_MAX) as usize,
        statements: (bytes / STATEMENTS_SHARE).max(of_little) as usize,
    }
}

/// Bytes of memory of the machine, or of the cgroup when that is less.
pub fn memory_bytes() -> u64 {
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
    use super::{limit_files, shares_of, statement_bytes_of};

    #[test]
    fn a_statement_has_a_part_of_what_all_have() {
        let bytes = |gib: u64| statement_bytes_of(shares_of(gib << 30)) >> 20;
        assert_eq!([1, 8, 24, 64, 1024].map(bytes), [256, 256, 768, 2048, 4096]);
    }

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

    #[test]
    fn shares_leave_room_in_a_small_container() {
        for mb in [256u64, 512, 1024, 4096, 24 * 1024] {
            let shares = shares_of(mb << 20);
            let all = (shares.caches + shares.statements) >> 20;
            assert!(all as u64 <= mb * 2 / 3, "{mb} MB: {shares:?}");
            assert!(shares.write_buffer * 4 <= shares.caches, "{mb} MB: {shares:?}");
        }
    }
}
