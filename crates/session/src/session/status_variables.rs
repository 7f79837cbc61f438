//! SHOW STATUS: counters and states of the server under MySQL's names.
//!
//! Names of MySQL's that stand for nothing here are left out.

use vaquita_exec::context::VariableScope;

use super::server_view::ServerView;

/// Names and values, by name.
pub fn values(view: &ServerView<'_>, scope: VariableScope) -> Vec<(String, String)> {
    let mut values: Vec<(&str, String)> = Vec::new();
    connections(view, &mut values);
    let server = view.server.clients().counts();
    let counts = match scope {
        VariableScope::Session => view.client.counters.since_flush().list(&server),
        VariableScope::Global => server.list(&server),
    };
    values.extend(counts.into_iter().map(|(name, count)| (name, count.to_string())));
    storage(view, &mut values);
    if scope == VariableScope::Session {
        let tls = view.env.tls();
        values.push(("Ssl_cipher", tls.cipher.clone()));
        values.push(("Ssl_version", tls.version.clone()));
    } else {
        values.push(("Ssl_cipher", String::new()));
        values.push(("Ssl_version", String::new()));
    }
    // For tests that count them.
    values.extend(vaquita_storage::interrupt_looks().map(|looks| ("Interrupt_looks", looks.to_string())));
    values.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    values.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

fn connections(view: &ServerView<'_>, values: &mut Vec<(&'static str, String)>) {
    let server = view.server;
    let running = server.clients().list().iter().filter(|client| client.is_busy() && !client.is_daemon()).count();
    let uptime_s = server.started.elapsed().as_secs();
    let (tables_open, tables_opened) = server.catalog.open_tables();
    values.extend([
        ("Connections", server.connections_total().to_string()),
        ("Max_used_connections", server.clients().most().to_string()),
        ("Open_tables", tables_open.to_string()),
        ("Opened_tables", tables_opened.to_string()),
        ("Prepared_stmt_count", server.statements.open().to_string()),
        ("Threads_cached", "0".to_string()),
        ("Threads_connected", server.clients().connected().to_string()),
        ("Threads_created", server.connections_total().to_string()),
        ("Threads_running", running.to_string()),
        ("Uptime", uptime_s.to_string()),
        ("Uptime_since_flush_status", server.since_flush_status_s().to_string()),
    ]);
}

fn storage(view: &ServerView<'_>, values: &mut Vec<(&'static str, String)>) {
    let engine = &view.server.engine;
    let locks = engine.locks().stats();
    let property = |name: &str| engine.property(name).unwrap_or_else(|| "0".to_string());
    values.extend([
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
        ("Rocksdb_memtable_bytes", property("rocksdb.cur-size-all-mem-tables")),
        ("Rocksdb_sst_bytes", property("rocksdb.total-sst-files-size")),
    ]);
}
