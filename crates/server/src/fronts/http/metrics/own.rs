//! Metrics of Vaquita's own, `vaquita_…`.

use std::sync::atomic::Ordering;

use vaquita_exec::context::{Counted, Histogram, StatementSums, Sums, bucket_bounds};
use vaquita_session::replication::{Channel, Running, seconds_behind_source};
use vaquita_session::server::{Server, VERSION};
use vaquita_storage::CacheUses;
use vaquita_types::memory;

use super::format::{Kind, Metrics};

pub fn all(out: &mut Metrics, server: &Server) {
    let labels = [("version", VERSION), ("arch", std::env::consts::ARCH)];
    out.family("vaquita_build", Kind::Info, "Version and architecture of the server.").sample(&labels, true);
    connections(out, server);
    statements(out, &server.clients().all_sums());
    transactions(out, server);
    locks(out, server);
    memory_by_owner(out, server);
    caches(out, server);
    engine(out, server);
    disk(out, server);
    backups(out, server);
    replication(out, server);
}

fn connections(out: &mut Metrics, server: &Server) {
    let (running, idle, logging_in) = server.clients().by_state();
    out.family("vaquita_connections", Kind::Gauge, "Connections, by state.")
        .sample(&[("state", "running")], running)
        .sample(&[("state", "idle")], idle)
        .sample(&[("state", "logging_in")], logging_in);
    out.counter("vaquita_connections_accepted", "Connections since the start.", server.connections_total());
    out.counter("vaquita_connections_refused", "Connections beyond max_connections.", server.clients().counts.too_many());
    out.gauge("vaquita_prepared_statements", "Prepared statements of all connections.", server.statements.open());
}

/// Bounds of the histogram, in seconds as they are written, and in picoseconds.
pub const BOUNDS: &[(&str, u64)] = &[
    ("1e-05", 10_000_000),
    ("2.5e-05", 25_000_000),
    ("5e-05", 50_000_000),
    ("0.0001", 100_000_000),
    ("0.00025", 250_000_000),
    ("0.0005", 500_000_000),
    ("0.001", 1_000_000_000),
    ("0.0025", 2_500_000_000),
    ("0.005", 5_000_000_000),
    ("0.01", 10_000_000_000),
    ("0.025", 25_000_000_000),
    ("0.05", 50_000_000_000),
    ("0.1", 100_000_000_000),
    ("0.25", 250_000_000_000),
    ("0.5", 500_000_000_000),
    ("1.0", 1_000_000_000_000),
    ("2.5", 2_500_000_000_000),
    ("5.0", 5_000_000_000_000),
    ("10.0", 10_000_000_000_000),
    ("60.0", 60_000_000_000_000),
];

/// Kinds of statements that have a histogram of their own, by the ends of their counters' names; all others share one.
const KINDS: &[&str] = &[
    "select",
    "insert",
    "insert_select",
    "update",
    "update_multi",
    "delete",
    "delete_multi",
    "replace",
    "replace_select",
    "begin",
    "commit",
    "rollback",
    "set_option",
    "call_procedure",
    "load",
    "change_db",
];
const OTHER: &str = "other";
/// Errors that have a sample of their own; the others share one.
const ERRORS_MAX: usize = 100;

fn statements(out: &mut Metrics, sums: &Sums) {
    let mut kinds: Vec<(&str, StatementSums)> = Vec::new();
    for (kind, sums) in &sums.kinds {
        let counter = kind.map_or("", |kind| kind.facts().counter).trim_start_matches("Com_");
        let name = KINDS.iter().find(|name| **name == counter).copied().unwrap_or(OTHER);
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.add_all(sums),
            None => kinds.push((name, sums.clone())),
        }
    }
    let mut family = out.family("vaquita_statement_seconds", Kind::Histogram, "How long statements took, by kind.");
    for (kind, sums) in &kinds {
        let (bounds, count) = below(&sums.histogram);
        family.histogram(&[("kind", kind)], &bounds, count, sums.wait_ns as f64 / 1e9);
    }
    let sum = |what: Counted| kinds.iter().map(|(_, sums)| sums.work.counts()[what as usize]).sum::<u64>();
    for (name, help, what) in [
        ("vaquita_statement_errors", "Statements that ended with an error.", Counted::Errors),
        ("vaquita_statement_warnings", "Warnings of statements.", Counted::Warnings),
        ("vaquita_rows_affected", "Rows that statements changed.", Counted::RowsAffected),
        ("vaquita_rows_sent", "Rows that statements answered.", Counted::RowsSent),
        ("vaquita_rows_examined", "Rows that statements read.", Counted::RowsExamined),
        ("vaquita_statements_without_index", "Statements that read a table without an index.", Counted::NoIndexUsed),
    ] {
        out.counter(name, help, sum(what));
    }
    let mut errors: Vec<(u64, u16)> = sums.errors.iter().map(|error| (error.raised, error.code)).collect();
    errors.sort_by(|a, b| b.cmp(a));
    let mut family = out.family("vaquita_errors", Kind::Counter, "Errors and warnings, by MySQL's number.");
    for (raised, code) in errors.iter().take(ERRORS_MAX) {
        family.sample(&[("number", &code.to_string())], *raised);
    }
    if errors.len() > ERRORS_MAX {
        family.sample(&[("number", OTHER)], errors[ERRORS_MAX..].iter().map(|(raised, _)| raised).sum::<u64>());
    }
}

/// How many statements were not slower than each of `BOUNDS`, as exactly as the histogram's 50 buckets for each power of ten have it; and all.
pub fn below(histogram: &Histogram) -> (Vec<(&'static str, u64)>, u64) {
    let mut bounds: Vec<(&str, u64)> = BOUNDS.iter().map(|(text, _)| (*text, 0)).collect();
    let (mut total, mut at) = (0, 0);
    for (count, (_, upper)) in histogram.counts().zip(bucket_bounds()) {
        while at < BOUNDS.len() && *upper > BOUNDS[at].1 {
            bounds[at].1 = total;
            at += 1;
        }
        total += count;
    }
    bounds[at..].iter_mut().for_each(|(_, below)| *below = total);
    (bounds, total)
}

fn transactions(out: &mut Metrics, server: &Server) {
    let (groups, commits) = server.engine.commit_counts();
    out.counter("vaquita_commits", "Transactions committed.", commits);
    out.counter("vaquita_commit_groups", "Groups of transactions that were written and synced together.", groups);
    let log_s = server.engine.log_time().as_secs_f64();
    out.counter("vaquita_commit_log_seconds", "How long groups took to be in the log and on the disk.", log_s);
    let active = server.engine.active_transactions();
    out.gauge("vaquita_transactions_active", "Transactions that hold something.", active.len());
    let oldest = active.iter().map(|txn| txn.started.elapsed()).max().unwrap_or_default();
    out.gauge("vaquita_transaction_oldest_seconds", "Age of the oldest of them.", oldest.as_secs_f64());
    let prepared = active.iter().filter(|txn| txn.prepared).count();
    out.gauge("vaquita_transactions_prepared", "XA transactions that wait for XA COMMIT or XA ROLLBACK.", prepared);
}

fn locks(out: &mut Metrics, server: &Server) {
    let stats = server.engine.locks().stats();
    out.counter("vaquita_lock_waits", "Waits for row locks.", stats.waits);
    out.counter("vaquita_lock_wait_seconds", "Time that was waited for row locks.", stats.wait_us_total as f64 / 1e6);
    out.gauge("vaquita_lock_waiting", "Transactions that wait for a row lock now.", stats.waiting_now);
    out.counter("vaquita_deadlocks", "Deadlocks of which a transaction was rolled back.", stats.deadlocks);
    out.counter("vaquita_lock_timeouts", "Waits that took longer than innodb_lock_wait_timeout.", stats.timeouts);
}

fn memory_by_owner(out: &mut Metrics, server: &Server) {
    let property = |name: &str| number(server, name).unwrap_or(0);
    out.family("vaquita_memory_bytes", Kind::Gauge, "Memory, by owner; process_resident_memory_bytes has all.")
        .sample(&[("owner", "block_cache")], property("rocksdb.block-cache-usage"))
        .sample(&[("owner", "row_cache")], server.engine.row_cache_bytes())
        .sample(&[("owner", "span_cache")], server.engine.span_bytes())
        .sample(&[("owner", "memtables")], property("rocksdb.cur-size-all-mem-tables"))
        .sample(&[("owner", "statements")], memory::used());
    out.gauge("vaquita_cache_limit_bytes", "What blocks and spans together may take.", server.engine.cache_bytes());
    out.gauge("vaquita_statement_memory_limit_bytes", "What statements and sessions together may take.", memory::bytes_max());
}

fn caches(out: &mut Metrics, server: &Server) {
    let uses = [("row_cache", server.engine.row_cache_uses()), ("span_cache", server.engine.span_uses())];
    for (name, help, count) in [
        ("vaquita_cache_hits", "How often a cache had what was asked for.", (|uses| uses.hits) as fn(&CacheUses) -> u64),
        ("vaquita_cache_misses", "How often it had not.", |uses| uses.misses),
    ] {
        let mut family = out.family(name, Kind::Counter, help);
        for (cache, uses) in &uses {
            family.sample(&[("cache", cache)], count(uses));
        }
    }
}

/// Properties of RocksDB: name, family, help.
const PROPERTIES: &[(&str, &str, &str)] = &[
    ("rocksdb.estimate-num-keys", "vaquita_storage_keys", "Keys, estimated."),
    ("rocksdb.total-sst-files-size", "vaquita_storage_files_bytes", "Bytes in files."),
    ("rocksdb.live-sst-files-size", "vaquita_storage_live_files_bytes", "Bytes in files of the current version."),
    (
        "rocksdb.estimate-pending-compaction-bytes",
        "vaquita_storage_compaction_pending_bytes",
        "Bytes that compactions still have to rewrite.",
    ),
    ("rocksdb.num-running-compactions", "vaquita_storage_compactions_running", "Compactions that run."),
    ("rocksdb.num-running-flushes", "vaquita_storage_flushes_running", "Flushes of memtables that run."),
    (
        "rocksdb.actual-delayed-write-rate",
        "vaquita_storage_write_limit_bytes_per_second",
        "Bytes a second to which writes are slowed down; 0 if they are not.",
    ),
    ("rocksdb.is-write-stopped", "vaquita_storage_write_stopped", "Whether writes wait for compactions."),
    ("rocksdb.background-errors", "vaquita_storage_background_errors", "Flushes and compactions that failed."),
    ("rocksdb.num-snapshots", "vaquita_storage_snapshots", "Snapshots that transactions read."),
];

/// More than there are levels.
const LEVELS_MAX: usize = 12;

pub fn number(server: &Server, property: &str) -> Option<u64> {
    server.engine.property(property)?.trim().parse().ok()
}

fn engine(out: &mut Metrics, server: &Server) {
    for (property, name, help) in PROPERTIES {
        if let Some(value) = number(server, property) {
            out.gauge(name, help, value);
        }
    }
    let mut family = out.family("vaquita_storage_level_files", Kind::Gauge, "Files, by level.");
    for level in 0..LEVELS_MAX {
        let Some(files) = number(server, &format!("rocksdb.num-files-at-level{level}")) else { break };
        family.sample(&[("level", &level.to_string())], files);
    }
}

fn disk(out: &mut Metrics, server: &Server) {
    let Ok(stat) = rustix::fs::statvfs(server.engine.dir()) else { return };
    out.gauge(
        "vaquita_disk_free_bytes",
        "Bytes that the server may still write to its disk.",
        stat.f_bavail.saturating_mul(stat.f_frsize),
    );
    out.gauge("vaquita_disk_bytes", "Size of that disk.", stat.f_blocks.saturating_mul(stat.f_frsize));
}

fn backups(out: &mut Metrics, server: &Server) {
    let status = &server.backups;
    if let Some(age_s) = status.age_s(vaquita_storage::now_us()) {
        out.gauge("vaquita_backup_age_seconds", "Age of the newest backup that the server has taken by itself.", age_s);
    }
    out.counter("vaquita_backups_taken", "Backups that were taken.", status.taken.load(Ordering::Relaxed));
    out.counter("vaquita_backups_failed", "Backups that failed.", status.failed.load(Ordering::Relaxed));
}

type ChannelMetric = (&'static str, Kind, &'static str, fn(&Channel) -> Option<f64>);

const CHANNEL: &[ChannelMetric] = &[
    ("vaquita_replication_receiver_running", Kind::Gauge, "Whether the receiver is connected.", |channel| {
        Some(f64::from(u8::from(channel.status.receiver.lock().running == Running::Yes)))
    }),
    ("vaquita_replication_applier_running", Kind::Gauge, "Whether the applier runs.", |channel| {
        Some(f64::from(u8::from(channel.running().applier)))
    }),
    (
        "vaquita_replication_behind_seconds",
        Kind::Gauge,
        "How far what is applied is behind the source's clock; no sample where nobody can know.",
        |channel| seconds_behind_source(channel).map(|seconds| seconds as f64),
    ),
    ("vaquita_replication_queue_bytes", Kind::Gauge, "Bytes that were received and wait to be applied.", |channel| {
        Some(channel.status.queue_bytes.load(Ordering::Relaxed) as f64)
    }),
    ("vaquita_replication_receiver_error", Kind::Gauge, "MySQL's number of the receiver's last error, or 0.", |channel| {
        Some(f64::from(channel.status.receiver.lock().last_error.number))
    }),
    ("vaquita_replication_applier_error", Kind::Gauge, "MySQL's number of the applier's last error, or 0.", |channel| {
        Some(f64::from(channel.status.applier.lock().last_error.number))
    }),
    ("vaquita_replication_retries", Kind::Counter, "Transactions that were applied again.", |channel| {
        Some(channel.status.applier.lock().retries as f64)
    }),
];

fn replication(out: &mut Metrics, server: &Server) {
    let channels = server.replication.list();
    for (name, kind, help, value) in CHANNEL {
        let mut family = out.family(name, *kind, help);
        for channel in &channels {
            if let Some(value) = value(channel) {
                family.sample(&[("channel", &channel.name)], value);
            }
        }
    }
    if let Some(files) = server.binary_log.get().and_then(|log| log.files().ok()) {
        out.gauge("vaquita_binary_log_files", "Files of the binary log.", files.len());
        out.gauge("vaquita_binary_log_bytes", "Bytes of them.", files.iter().map(|file| file.bytes).sum::<u64>());
    }
    out.gauge("vaquita_replicas", "Replicas that are connected and have told who they are.", server.replicas.list().len());
}
