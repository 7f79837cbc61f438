//! How much of the machine's memory statements and sessions may take.

/// `global_connection_memory_limit` as it counts: no more than the machine has for it.
pub fn bytes_max(limit: u64) -> usize {
    limit.min(vaquita_storage::memory_shares().statements as u64) as usize
}
