//! Some of the metrics at one moment as numbers, for the charts of the console.

use vaquita_exec::context::Counted;
use vaquita_session::counters::Counter;
use vaquita_session::server::Server;
use vaquita_types::memory;

use super::own;
use crate::process;

/// Counters grow from the server's start on; what is not called so is as of now.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Counters: statements of clients.
    pub questions: u64,
    pub reads: u64,
    pub writes: u64,
    pub errors: u64,
    pub rows_examined: u64,
    pub rows_sent: u64,
    /// Counters: how many statements were not slower than each of the histogram's bounds, and all.
    pub not_slower: Vec<u64>,
    pub timed: u64,
    pub running: usize,
    pub connected: usize,
    /// Counters.
    pub commits: u64,
    pub commit_groups: u64,
    pub lock_waits: u64,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    /// A counter.
    pub cpu_s: f64,
    pub resident_bytes: u64,
    /// By owner, as `vaquita_memory_bytes`.
    pub memory: Vec<(&'static str, u64)>,
    pub data_bytes: u64,
    pub disk_free_bytes: u64,
    pub compaction_pending_bytes: u64,
}

/// The histogram's bounds, in seconds.
pub fn bounds_s() -> impl Iterator<Item = f64> {
    own::BOUNDS.iter().map(|(_, picoseconds)| *picoseconds as f64 / 1e12)
}

pub fn snapshot(server: &Server) -> Snapshot {
    let (counts, sums) = (server.clients().counts(), server.clients().all_sums());
    let mut out = Snapshot { not_slower: vec![0; own::BOUNDS.len()], ..Snapshot::default() };
    for (kind, sums) in &sums.kinds {
        match kind.map_or("", |kind| kind.facts().counter) {
            "Com_select" => out.reads += sums.count,
            "Com_insert" | "Com_insert_select" | "Com_update" | "Com_update_multi" | "Com_delete" | "Com_delete_multi"
            | "Com_replace" | "Com_replace_select" | "Com_load" => out.writes += sums.count,
            _ => {}
        }
        let (below, timed) = own::below(&sums.histogram);
        out.not_slower.iter_mut().zip(below).for_each(|(sum, (_, count))| *sum += count);
        out.timed += timed;
        let work = |what: Counted| sums.work.counts()[what as usize];
        out.errors += work(Counted::Errors);
        out.rows_examined += work(Counted::RowsExamined);
        out.rows_sent += work(Counted::RowsSent);
    }
    out.questions = counts.get(Counter::Questions);
    (out.bytes_received, out.bytes_sent) = (counts.get(Counter::BytesReceived), counts.get(Counter::BytesSent));
    let (running, idle, _) = server.clients().by_state();
    (out.running, out.connected) = (running, running + idle);
    (out.commit_groups, out.commits) = server.engine.commit_counts();
    out.lock_waits = server.engine.locks().stats().waits;
    let stat = process::stat().unwrap_or_default();
    (out.cpu_s, out.resident_bytes) = (stat.cpu_s, stat.resident_bytes);
    let property = |name: &str| own::number(server, name).unwrap_or(0);
    out.memory = vec![
        ("block cache", property("rocksdb.block-cache-usage")),
        ("row cache", server.engine.row_cache_bytes() as u64),
        ("spans", server.engine.span_bytes() as u64),
        ("memtables", property("rocksdb.cur-size-all-mem-tables")),
        ("statements", memory::used() as u64),
    ];
    out.data_bytes = property("rocksdb.total-sst-files-size");
    out.compaction_pending_bytes = property("rocksdb.estimate-pending-compaction-bytes");
    out.disk_free_bytes = rustix::fs::statvfs(server.engine.dir()).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    out
}
