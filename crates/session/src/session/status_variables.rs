//! SHOW STATUS: counters and states of the server under MySQL's names.
//!
//! Names of MySQL's that are not counted here are those of `status_names`.

use vaquita_exec::context::VariableScope;
use vaquita_types::convert::to_text;
use vaquita_types::temporal::{DateTime, TimeZone};
use vaquita_types::{ColumnType, Value};

use super::server_view::ServerView;
use super::status_names::{TEXTS, ZEROS};
use crate::counters::{Counter, Counts};
use crate::server::Server;
use crate::state::environment::Tls;
use crate::variables::registry;
use vaquita_storage::now_us;

/// Names and values, by name.
pub fn values(view: &ServerView<'_>, scope: VariableScope) -> Vec<(String, String)> {
    let zone = &view.env.settings.plan.time_zone;
    let (own, tls) = match scope {
        VariableScope::Session => (Some(view.client.counters.since_flush()), view.env.tls().clone()),
        VariableScope::Global => (None, Tls::default()),
    };
    let mut values = all(view.server, zone, own.as_ref());
    values.extend([("Ssl_cipher", tls.cipher), ("Ssl_version", tls.version)]);
    values.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    values.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// The server's values, without those that only a session has; times are in UTC.
pub fn global_values(server: &Server) -> Vec<(&'static str, String)> {
    all(server, &TimeZone::Utc, None)
}

/// `own`: what the session has counted, if it is asked.
fn all(server: &Server, zone: &TimeZone, own: Option<&Counts>) -> Vec<(&'static str, String)> {
    let mut values: Vec<(&str, String)> = Vec::new();
    connections(server, zone, &mut values);
    let sums = server.clients().counts();
    let counts = own.unwrap_or(&sums).list(&sums);
    // A lock and its end for each table of a statement.
    let used = counts.iter().find(|(name, _)| *name == "Table_open_cache_hits").map_or(0, |(_, count)| *count);
    values.push(("Handler_external_lock", (2 * used).to_string()));
    values.extend(counts.into_iter().map(|(name, count)| (name, count.to_string())));
    storage(server, &mut values);
    values.extend(server.backups.values(now_us()));
    encryption(server, &mut values);
    semi_sync(server, &mut values);
    machine(&mut values);
    rows(&sums, &mut values);
    values.extend(ZEROS.iter().map(|name| (*name, "0".to_string())));
    values.extend(TEXTS.iter().map(|(name, text)| (*name, text.to_string())));
    // For tests that count them.
    values.extend(vaquita_storage::interrupt_looks().map(|looks| ("Interrupt_looks", looks.to_string())));
    values
}

fn connections(server: &Server, zone: &TimeZone, values: &mut Vec<(&'static str, String)>) {
    let running = server.clients().list().iter().filter(|client| client.is_busy() && !client.is_daemon()).count();
    let uptime_s = server.started.elapsed().as_secs();
    let (tables_open, tables_opened) = server.catalog.open_tables();
    values.extend([
        ("Aborted_clients", server.clients().counts.aborted_clients().to_string()),
        ("Aborted_connects", server.clients().counts.aborted_connects().to_string()),
        ("Connection_errors_max_connections", server.clients().counts.too_many().to_string()),
        ("Connections", server.connections_total().to_string()),
        ("Max_execution_time_exceeded", server.clients().counts.overdue().to_string()),
        ("Max_used_connections", server.clients().most().to_string()),
        ("Max_used_connections_time", local_time(zone, server.clients().counts.most_at_s())),
        ("Open_table_definitions", tables_open.to_string()),
        ("Open_tables", tables_open.to_string()),
        ("Opened_table_definitions", tables_opened.to_string()),
        ("Opened_tables", tables_opened.to_string()),
        ("Table_open_cache_misses", tables_opened.to_string()),
        ("Prepared_stmt_count", server.statements.open().to_string()),
        ("Threads_cached", "0".to_string()),
        ("Threads_connected", server.clients().connected().to_string()),
        ("Threads_created", server.connections_total().to_string()),
        ("Threads_running", running.to_string()),
        ("Uptime", uptime_s.to_string()),
        ("Uptime_since_flush_status", server.since_flush_status_s().to_string()),
    ]);
}

/// Of MySQL's plugins `rpl_semi_sync_source` and `rpl_semi_sync_replica`.
fn semi_sync(server: &Server, values: &mut Vec<(&'static str, String)>) {
    let status = server.binary_log.get().map(|log| log.semi_sync()).unwrap_or_default();
    let on = |on: bool| if on { "ON" } else { "OFF" }.to_string();
    values.extend([
        ("Rpl_semi_sync_replica_status", on(server.replication.is_semi_sync())),
        ("Rpl_semi_sync_source_clients", status.clients.to_string()),
        // MySQL does not measure them any more.
        ("Rpl_semi_sync_source_net_avg_wait_time", "0".to_string()),
        ("Rpl_semi_sync_source_net_wait_time", "0".to_string()),
        ("Rpl_semi_sync_source_net_waits", status.acks.to_string()),
        ("Rpl_semi_sync_source_no_times", status.times_off.to_string()),
        ("Rpl_semi_sync_source_no_tx", status.not_acknowledged.to_string()),
        ("Rpl_semi_sync_source_status", on(status.on)),
        ("Rpl_semi_sync_source_timefunc_failures", "0".to_string()),
        ("Rpl_semi_sync_source_tx_avg_wait_time", status.waited_us.checked_div(status.waits).unwrap_or(0).to_string()),
        ("Rpl_semi_sync_source_tx_wait_time", status.waited_us.to_string()),
        ("Rpl_semi_sync_source_tx_waits", status.waits.to_string()),
        // Waits begin in the order of the log.
        ("Rpl_semi_sync_source_wait_pos_backtraverse", "0".to_string()),
        ("Rpl_semi_sync_source_wait_sessions", status.waiting.to_string()),
        ("Rpl_semi_sync_source_yes_tx", status.acknowledged.to_string()),
    ]);
}

fn local_time(zone: &TimeZone, s_since_1970: u64) -> String {
    let utc = i64::try_from(s_since_1970).ok().and_then(|s| DateTime::from_unix_micros(s * 1_000_000));
    let Some(local) = utc.map(|utc| zone.timestamp_from_utc(utc)) else { return String::new() };
    String::from_utf8_lossy(&to_text(&Value::DateTime(local), &ColumnType::null())).into_owned()
}

/// TLS: connections that use it, and with which files.
fn encryption(server: &Server, values: &mut Vec<(&'static str, String)>) {
    let accepted = server.clients().counts.tls_connections().to_string();
    values.extend([("Ssl_accepts", accepted.clone()), ("Ssl_finished_accepts", accepted)]);
    const NAMES: [(&str, &str); 9] = [
        ("Current_tls_ca", "ssl_ca"),
        ("Current_tls_capath", "ssl_capath"),
        ("Current_tls_cert", "ssl_cert"),
        ("Current_tls_cipher", "ssl_cipher"),
        ("Current_tls_ciphersuites", "tls_ciphersuites"),
        ("Current_tls_crl", "ssl_crl"),
        ("Current_tls_crlpath", "ssl_crlpath"),
        ("Current_tls_key", "ssl_key"),
        ("Current_tls_version", "tls_version"),
    ];
    let shown = |name: &str| registry().find(name).map_or_else(String::new, |def| def.show(&server.globals.get(def)));
    values.extend(NAMES.map(|(name, variable)| (name, shown(variable))));
}

/// What the process takes: bytes that went from and to disks, memory, lines of the log.
fn machine(values: &mut Vec<(&'static str, String)>) {
    let about = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let field = |name: &str| {
        let line = about.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or("0").to_string()
    };
    let log = crate::log_lines::list();
    values.extend([
        ("Innodb_data_read", field("read_bytes")),
        ("Innodb_data_reads", field("syscr")),
        ("Innodb_data_writes", field("syscw")),
        ("Innodb_data_written", field("write_bytes")),
        ("Global_connection_memory", vaquita_types::memory::used().to_string()),
        ("Error_log_buffered_bytes", log.iter().map(|line| line.text.len()).sum::<usize>().to_string()),
        ("Error_log_buffered_events", log.len().to_string()),
        ("Error_log_latest_write", log.last().map_or(0, |line| line.at_us).to_string()),
    ]);
}

/// What MySQL's storage engine counts of rows is what all sessions together ask of tables.
fn rows(server: &Counts, values: &mut Vec<(&'static str, String)>) {
    const READS: [Counter; 4] =
        [Counter::HandlerReadKey, Counter::HandlerReadNext, Counter::HandlerReadPrev, Counter::HandlerReadRndNext];
    let sum = |counters: &[Counter]| counters.iter().map(|counter| server.get(*counter)).sum::<u64>().to_string();
    values.extend([
        ("Table_locks_immediate", sum(&[Counter::TableOpenCacheHits])),
        ("Innodb_rows_deleted", sum(&[Counter::HandlerDelete])),
        ("Innodb_rows_inserted", sum(&[Counter::HandlerWrite])),
        ("Innodb_rows_read", sum(&READS)),
        ("Innodb_rows_updated", sum(&[Counter::HandlerUpdate])),
    ]);
}

/// InnoDB's pages, in which the cache of blocks is told.
const PAGE_BYTES: u64 = 16 << 10;

fn storage(server: &Server, values: &mut Vec<(&'static str, String)>) {
    let engine = &server.engine;
    let locks = engine.locks().stats();
    let property = |name: &str| engine.property(name).unwrap_or_else(|| "0".to_string());
    let bytes = |name: &str| property(name).parse::<u64>().unwrap_or(0);
    let (cached, capacity) = (bytes("rocksdb.block-cache-usage"), bytes("rocksdb.block-cache-capacity"));
    let groups = engine.commit_counts().0;
    let (rows, spans) = (engine.row_cache_uses(), engine.span_uses());
    values.extend([
        ("Innodb_buffer_pool_bytes_data", cached.to_string()),
        ("Innodb_buffer_pool_pages_data", (cached / PAGE_BYTES).to_string()),
        ("Innodb_buffer_pool_pages_free", (capacity.saturating_sub(cached) / PAGE_BYTES).to_string()),
        ("Innodb_buffer_pool_pages_total", (capacity / PAGE_BYTES).to_string()),
        ("Innodb_log_write_requests", engine.commit_counts().1.to_string()),
        ("Innodb_log_writes", groups.to_string()),
        ("Innodb_redo_log_checkpoint_lsn", engine.latest_sequence().to_string()),
        ("Innodb_redo_log_current_lsn", engine.latest_sequence().to_string()),
        ("Innodb_redo_log_flushed_to_disk_lsn", engine.latest_sequence().to_string()),
        ("Innodb_os_log_fsyncs", groups.to_string()),
        ("Innodb_page_size", PAGE_BYTES.to_string()),
        ("Innodb_deadlocks", locks.deadlocks.to_string()),
        ("Innodb_row_lock_current_waits", locks.waiting_now.to_string()),
        ("Innodb_row_lock_time", (locks.wait_us_total / 1000).to_string()),
        ("Innodb_row_lock_time_avg", (locks.wait_us_total.checked_div(locks.waits).unwrap_or(0) / 1000).to_string()),
        ("Innodb_row_lock_time_max", (locks.wait_us_max / 1000).to_string()),
        ("Innodb_row_lock_waits", locks.waits.to_string()),
        ("Rocksdb_block_cache_bytes", property("rocksdb.block-cache-usage")),
        ("Rocksdb_bytes_to_compact", property("rocksdb.estimate-pending-compaction-bytes")),
        ("Rocksdb_commit_groups", engine.commit_counts().0.to_string()),
        ("Rocksdb_commits", engine.commit_counts().1.to_string()),
        ("Rocksdb_commit_log_time_us", engine.log_time().as_micros().to_string()),
        ("Rocksdb_row_cache_hits", rows.hits.to_string()),
        ("Rocksdb_row_cache_misses", rows.misses.to_string()),
        ("Rocksdb_span_hits", spans.hits.to_string()),
        ("Rocksdb_span_misses", spans.misses.to_string()),
        ("Rocksdb_memtable_bytes", property("rocksdb.cur-size-all-mem-tables")),
        ("Rocksdb_sst_bytes", property("rocksdb.total-sst-files-size")),
    ]);
}
