//! Some of the metrics at one moment as numbers, for the history and the charts of it.

use vaquita_exec::context::Counted;
use vaquita_session::counters::Counter;
use vaquita_session::replication::seconds_behind_source;
use vaquita_session::server::Server;
use vaquita_types::memory;

use super::own;
use crate::process;

/// Counters grow from the server's start on; what is not called so is as of now. What there is none of is NaN.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Counters: statements that have ended, by kind, and all.
    pub selects: u64,
    pub inserts: u64,
    pub updates: u64,
    pub deletes: u64,
    pub timed: u64,
    /// Counters: how many of all were not slower than each of the histogram's bounds.
    pub not_slower: Vec<u64>,
    /// Counters.
    pub errors: u64,
    pub rows_examined: u64,
    pub rows_sent: u64,
    pub rows_changed: u64,
    pub running: usize,
    pub connected: usize,
    /// Counters.
    pub commits: u64,
    pub commit_groups: u64,
    /// How long groups took to be in the log and on the disk.
    pub log_s: f64,
    pub lock_waits: u64,
    pub lock_wait_s: f64,
    pub deadlocks: u64,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    pub cpu_s: f64,
    pub disk_read_bytes: u64,
    pub disk_written_bytes: u64,
    pub row_cache_hits: u64,
    pub row_cache_misses: u64,
    pub span_hits: u64,
    pub span_misses: u64,
    /// The process's memory, and its owners of it.
    pub resident_bytes: u64,
    pub block_cache_bytes: u64,
    pub row_cache_bytes: u64,
    pub span_bytes: u64,
    pub memtable_bytes: u64,
    pub statement_bytes: u64,
    pub data_bytes: u64,
    pub binary_log_bytes: u64,
    pub disk_free_bytes: u64,
    pub compaction_pending_bytes: u64,
    pub compactions_running: u64,
    /// Writes are slowed down, or wait for compactions.
    pub is_stalled: bool,
    pub oldest_transaction_s: f64,
    /// Of the channel that is behind most.
    pub replica_behind_s: f64,
    pub backup_age_s: f64,
}

pub fn snapshot(server: &Server) -> Snapshot {
    let mut out = Snapshot::default();
    statements(&mut out, server);
    storage(&mut out, server);
    let stat = process::stat().unwrap_or_default();
    (out.cpu_s, out.resident_bytes) = (stat.cpu_s, stat.resident_bytes);
    let disk = process::disk_bytes().unwrap_or_default();
    (out.disk_read_bytes, out.disk_written_bytes) = (disk.read, disk.written);
    let behind = server.replication.list().into_iter().filter_map(|channel| seconds_behind_source(&channel));
    out.replica_behind_s = behind.max().map_or(f64::NAN, |seconds| seconds as f64);
    out.backup_age_s = server.backups.age_s(vaquita_storage::now_us()).map_or(f64::NAN, |age| age as f64);
    out
}

fn statements(out: &mut Snapshot, server: &Server) {
    let (counts, sums) = (server.clients().counts(), server.clients().all_sums());
    out.not_slower = vec![0; own::BOUNDS.len()];
    for (kind, sums) in &sums.kinds {
        match kind.map_or("", |kind| kind.facts().counter) {
            "Com_select" => out.selects += sums.count,
            "Com_insert" | "Com_insert_select" | "Com_replace" | "Com_replace_select" | "Com_load" => out.inserts += sums.count,
            "Com_update" | "Com_update_multi" => out.updates += sums.count,
            "Com_delete" | "Com_delete_multi" => out.deletes += sums.count,
            _ => {}
        }
        let (below, timed) = own::below(&sums.histogram);
        out.not_slower.iter_mut().zip(below).for_each(|(sum, (_, count))| *sum += count);
        out.timed += timed;
        let work = |what: Counted| sums.work.counts()[what as usize];
        out.errors += work(Counted::Errors);
        out.rows_examined += work(Counted::RowsExamined);
        out.rows_sent += work(Counted::RowsSent);
        out.rows_changed += work(Counted::RowsAffected);
    }
    (out.bytes_received, out.bytes_sent) = (counts.get(Counter::BytesReceived), counts.get(Counter::BytesSent));
    let (running, idle, _) = server.clients().by_state();
    (out.running, out.connected) = (running, running + idle);
    out.statement_bytes = memory::used() as u64;
}

fn storage(out: &mut Snapshot, server: &Server) {
    let engine = &server.engine;
    let property = |name: &str| own::number(server, name).unwrap_or(0);
    (out.commit_groups, out.commits) = engine.commit_counts();
    out.log_s = engine.log_time().as_secs_f64();
    let locks = engine.locks().stats();
    (out.lock_waits, out.lock_wait_s, out.deadlocks) = (locks.waits, locks.wait_us_total as f64 / 1e6, locks.deadlocks);
    let (rows, spans) = (engine.row_cache_uses(), engine.span_uses());
    (out.row_cache_hits, out.row_cache_misses) = (rows.hits, rows.misses);
    (out.span_hits, out.span_misses) = (spans.hits, spans.misses);
    out.block_cache_bytes = property("rocksdb.block-cache-usage");
    (out.row_cache_bytes, out.span_bytes) = (engine.row_cache_bytes() as u64, engine.span_bytes() as u64);
    out.memtable_bytes = property("rocksdb.cur-size-all-mem-tables");
    out.data_bytes = property("rocksdb.total-sst-files-size");
    out.compaction_pending_bytes = property("rocksdb.estimate-pending-compaction-bytes");
    out.compactions_running = property("rocksdb.num-running-compactions");
    out.is_stalled = property("rocksdb.actual-delayed-write-rate") > 0 || property("rocksdb.is-write-stopped") > 0;
    let files = server.binary_log.get().and_then(|log| log.files().ok()).unwrap_or_default();
    out.binary_log_bytes = files.iter().map(|file| file.bytes).sum();
    out.disk_free_bytes = rustix::fs::statvfs(engine.dir()).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    let oldest = engine.active_transactions().iter().map(|txn| txn.started.elapsed()).max().unwrap_or_default();
    out.oldest_transaction_s = oldest.as_secs_f64();
}
