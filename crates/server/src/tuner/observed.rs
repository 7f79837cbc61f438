//! What the server does, as numbers that grow, and what it has at the moment.

use vaquita_session::counters::Counter;
use vaquita_session::server::Server;

use super::search::Window;
use crate::process;

/// RocksDB reads a block and what stands beside it.
const READ_BYTES: f64 = 16.0 * 1024.0;
const US_PER_S: f64 = 1e6;

#[derive(Clone, Copy, Debug, Default)]
pub struct Observed {
    statements: u64,
    cpu_us: f64,
    read_bytes: u64,
    pub written_bytes: u64,
    /// Of the process, which no file holds.
    pub anonymous_bytes: u64,
    /// Of it, what caches and memtables take.
    pub cached_bytes: u64,
    pub block_cache_bytes: u64,
    pub block_cache_bytes_max: u64,
    /// Bytes that compactions have still to write.
    pub to_compact_bytes: u64,
}

pub fn observe(server: &Server) -> Observed {
    let engine = &server.engine;
    let property = |name: &str| engine.property(name).and_then(|text| text.parse().ok()).unwrap_or(0);
    let disk = process::disk_bytes().unwrap_or_default();
    let block_cache_bytes = property("rocksdb.block-cache-usage");
    Observed {
        statements: server.clients().counts().get(Counter::Questions),
        cpu_us: process::stat().map_or(0.0, |stat| stat.cpu_s * US_PER_S),
        read_bytes: disk.read,
        written_bytes: disk.written,
        anonymous_bytes: process::anonymous_bytes().unwrap_or(0),
        cached_bytes: block_cache_bytes + (engine.row_cache_bytes() + engine.span_bytes() + engine.memtable_bytes()) as u64,
        block_cache_bytes,
        block_cache_bytes_max: property("rocksdb.block-cache-capacity"),
        to_compact_bytes: property("rocksdb.estimate-pending-compaction-bytes"),
    }
}

impl Observed {
    /// What was done since `before`; a read of the disk takes `read_us`.
    pub fn since(&self, before: &Observed, read_us: f64) -> Window {
        let reads = self.read_bytes.saturating_sub(before.read_bytes) as f64 / READ_BYTES;
        Window {
            statements: self.statements.saturating_sub(before.statements),
            cost_us: self.cpu_us - before.cpu_us + reads * read_us,
        }
    }
}
