//! How much of the machine's memory statements and sessions may take.

/// An eighth, beside caches and memtables.
const SHARE: u64 = 8;
const BYTES_MIN: u64 = 256 << 20;

/// `global_connection_memory_limit` as it counts: no more than the machine has for it.
pub fn bytes_max(limit: u64) -> usize {
    limit.min((vaquita_storage::memory_bytes() / SHARE).max(BYTES_MIN)) as usize
}
