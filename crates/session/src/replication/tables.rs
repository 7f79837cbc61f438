//! `performance_schema.replication_…` and `mysql.slave_…`: channels as rows of MySQL's columns, in MySQL's order.
//!
//! Times are numbers here, microseconds since 1970: whoever reads them has a time zone. 0 is none. A relay log has no name and no position,
//! as there is none. Groups, and sources that take each other's place, do not exist: their tables are empty.

use vaquita_types::Value;

use super::{
    ApplierStatus, AssignGtids, Channel, ChannelConfig, Channels, FilterKind, Filters, Retries, Running, ThreadError,
    TransactionTimes, WorkerStatus,
};

/// Lines that the files had before they became tables.
const SOURCE_INFO_LINES: u64 = 33;
const APPLIER_INFO_LINES: u64 = 14;

/// The rows of a table, by its name without database; none for one that is no table of replication.
pub fn rows_of(channels: &Channels, table: &str) -> Vec<Vec<Value>> {
    let channel_row: fn(&Channel) -> Vec<Value> = match table {
        "replication_connection_configuration" => connection_configuration,
        "replication_connection_status" => connection_status,
        "replication_applier_configuration" => applier_configuration,
        "replication_applier_status" => applier_status,
        "slave_master_info" => source_info,
        "slave_relay_log_info" => applier_info,
        "gtid_executed" => return executed(channels),
        "replication_applier_status_by_coordinator" => return each(channels, coordinator),
        "replication_applier_status_by_worker" => return each(channels, workers),
        "replication_applier_filters" => return each(channels, filters),
        "replication_applier_global_filters" => return global_filters(&channels.global_filters()),
        _ => return Vec::new(),
    };
    each(channels, |channel| vec![channel_row(channel)])
}

/// A row for each run of numbers.
fn executed(channels: &Channels) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (source, tag, runs) in channels.executed().iter() {
        let row = |(first, last): &(u64, u64)| vec![text(source.to_string()), number(*first), number(*last), text(tag.as_str())];
        rows.extend(runs.iter().map(row));
    }
    rows
}

/// Of channels that have been configured.
fn each(channels: &Channels, rows: impl Fn(&Channel) -> Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    channels.list().iter().filter(|channel| !channel.config().host.is_empty()).flat_map(|channel| rows(channel)).collect()
}

fn text(text: impl AsRef<str>) -> Value {
    Value::from(text.as_ref())
}

fn number(n: impl Into<u64>) -> Value {
    Value::UInt(n.into())
}

fn yes(flag: bool) -> Value {
    text(if flag { "YES" } else { "NO" })
}

fn on(flag: bool) -> Value {
    text(if flag { "ON" } else { "OFF" })
}

/// ENUM('1','0').
fn one(flag: bool) -> Value {
    text(if flag { "1" } else { "0" })
}

fn optional(id: Option<u64>) -> Value {
    id.map_or(Value::Null, Value::UInt)
}

fn optional_text(text: Option<&String>) -> Value {
    text.map_or(Value::Null, |text| Value::from(text.as_str()))
}

fn error(error: &ThreadError) -> [Value; 3] {
    [number(error.number), text(&error.text), number(error.at_us)]
}

/// Its name, and what is known while it is on its way.
fn begun(transaction: &TransactionTimes) -> [Value; 4] {
    [
        text(transaction.name.to_string()),
        number(transaction.original_commit_us),
        number(transaction.immediate_commit_us),
        number(transaction.start_us),
    ]
}

fn retries(retries: &Retries) -> Vec<Value> {
    let mut row = vec![number(retries.count)];
    row.extend(error(&retries.last_error));
    row
}

/// SOURCE_SSL_CA … SOURCE_SSL_KEY, which stand together in both tables that have them.
fn tls_files(config: &ChannelConfig) -> [Value; 5] {
    let tls = &config.tls;
    [&tls.ca, &tls.ca_path, &tls.cert, &tls.cipher, &tls.key].map(text)
}

fn connection_configuration(channel: &Channel) -> Vec<Value> {
    let config = channel.config();
    let tls = &config.tls;
    let mut row = vec![
        text(&channel.name),
        text(&config.host),
        number(config.port),
        text(&config.user),
        text(&config.bind),
        one(config.auto_position),
        yes(tls.allowed),
    ];
    row.extend(tls_files(&config));
    row.extend([yes(tls.verify_server_cert), text(&tls.crl), text(&tls.crl_path)]);
    row.extend([number(config.connect_retry_s), number(config.retry_count), Value::Float(config.heartbeat_ms as f64 / 1000.0)]);
    row.extend([text(&tls.version), text(&config.public_key_path), yes(config.get_public_key), text(&config.network_namespace)]);
    row.extend([text(&config.compression_algorithms), number(config.zstd_level), optional_text(tls.ciphersuites.as_ref())]);
    row.extend([one(config.auto_failover), one(config.gtid_only)]);
    row
}

fn connection_status(channel: &Channel) -> Vec<Value> {
    let receiver = channel.status.receiver.lock().clone();
    let mut row = vec![
        text(&channel.name),
        text(""),
        text(receiver.source_uuid.map_or(String::new(), |uuid| uuid.to_string())),
        optional(receiver.thread_id),
        text(match receiver.running {
            Running::Yes => "ON",
            Running::No => "OFF",
            Running::Connecting => "CONNECTING",
        }),
        number(receiver.heartbeats),
        number(receiver.last_heartbeat_us),
        text(receiver.received.to_string()),
    ];
    row.extend(error(&receiver.last_error));
    row.extend(begun(&receiver.last_queued));
    row.push(number(receiver.last_queued.end_us));
    row.extend(begun(&receiver.queueing));
    row
}

/// Type and value of ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS.
fn assigned(config: &ChannelConfig) -> (Value, Option<String>) {
    match config.assign_gtids {
        AssignGtids::Off => (text("OFF"), None),
        AssignGtids::Local => (text("LOCAL"), None),
        AssignGtids::Uuid(uuid) => (text("UUID"), Some(uuid.to_string())),
    }
}

fn applier_configuration(channel: &Channel) -> Vec<Value> {
    let config = channel.config();
    let (assign, uuid) = assigned(&config);
    let account = config.privilege_checks_user.as_ref().map(|(user, host)| format!("'{user}'@'{host}'"));
    vec![
        text(&channel.name),
        number(config.delay_s),
        optional_text(account.as_ref()),
        yes(config.require_row_format),
        text(config.primary_key_check.name()),
        assign,
        optional_text(uuid.as_ref()),
    ]
}

fn applier_status(channel: &Channel) -> Vec<Value> {
    let applier = channel.status.applier.lock();
    vec![text(&channel.name), on(applier.is_running), optional(applier.remaining_delay_s), number(applier.retries)]
}

/// Only where several apply is there somebody who hands on.
fn coordinator(channel: &Channel) -> Vec<Vec<Value>> {
    let applier = channel.status.applier.lock().clone();
    if applier.workers.is_empty() {
        return Vec::new();
    }
    let mut row = vec![text(&channel.name), optional(applier.thread_id), on(applier.is_running)];
    row.extend(error(&applier.last_error));
    row.extend(begun(&applier.last_scheduled));
    row.push(number(applier.last_scheduled.end_us));
    row.extend(begun(&applier.scheduling));
    vec![row]
}

fn workers(channel: &Channel) -> Vec<Vec<Value>> {
    let applier = channel.status.applier.lock().clone();
    if applier.workers.is_empty() {
        return vec![worker(&channel.name, 0, &alone(&applier))];
    }
    (1..).zip(&applier.workers).map(|(id, status)| worker(&channel.name, id, status)).collect()
}

/// Who applies alone has the thread and the error of the applier.
fn alone(applier: &ApplierStatus) -> WorkerStatus {
    let last_error = if applier.alone.last_error.number == 0 { &applier.last_error } else { &applier.alone.last_error };
    WorkerStatus {
        is_running: applier.is_running,
        thread_id: applier.alone.thread_id.or(applier.thread_id),
        last_error: last_error.clone(),
        ..applier.alone.clone()
    }
}

fn worker(channel: &str, id: u64, status: &WorkerStatus) -> Vec<Value> {
    let mut row = vec![text(channel), number(id), optional(status.thread_id), on(status.is_running)];
    row.extend(error(&status.last_error));
    row.extend(begun(&status.last_applied));
    row.push(number(status.last_applied.end_us));
    row.extend(begun(&status.applying));
    row.extend(retries(&status.last_applied_retries));
    row.extend(retries(&status.applying_retries));
    row
}

/// Kind, rules, who gave them and when, of the kinds that were ever given.
fn given(filters: &Filters) -> impl Iterator<Item = (FilterKind, [Value; 4])> + '_ {
    let was_given = move |kind: &FilterKind| filters.since_us[*kind as usize] != 0;
    FilterKind::ALL.into_iter().filter(was_given).map(move |kind| {
        let by = match filters.for_channel[kind as usize] {
            true => "CHANGE_REPLICATION_FILTER_FOR_CHANNEL",
            false => "CHANGE_REPLICATION_FILTER",
        };
        let since = number(filters.since_us[kind as usize]);
        (kind, [text(kind.name()), text(filters.rules(kind).join(",")), text(by), since])
    })
}

fn filters(channel: &Channel) -> Vec<Vec<Value>> {
    let filters = channel.filters();
    let counts = &channel.status.filter_counts;
    let row = |(kind, given): (FilterKind, [Value; 4])| {
        let mut row = vec![text(&channel.name)];
        row.extend(given);
        row.push(number(counts[kind as usize].load(std::sync::atomic::Ordering::Relaxed)));
        row
    };
    given(&filters).map(row).collect()
}

fn global_filters(filters: &Filters) -> Vec<Vec<Value>> {
    given(filters).map(|(_, row)| row.to_vec()).collect()
}

/// `mysql.slave_master_info`, the password included: who may read that table may know it.
fn source_info(channel: &Channel) -> Vec<Value> {
    let config = channel.config();
    let tls = &config.tls;
    let (file, pos, uuid) = {
        let receiver = channel.status.receiver.lock();
        (receiver.file.clone(), receiver.pos, receiver.source_uuid)
    };
    let ignored: Vec<String> =
        [config.ignore_server_ids.len() as u32].iter().chain(&config.ignore_server_ids).map(u32::to_string).collect();
    let mut row = vec![
        number(SOURCE_INFO_LINES),
        text(file),
        number(pos),
        text(&config.host),
        text(&config.user),
        text(&config.password),
        number(config.port),
        number(config.connect_retry_s),
        number(tls.allowed),
    ];
    row.extend(tls_files(&config));
    row.extend([number(tls.verify_server_cert), Value::Float(config.heartbeat_ms as f64 / 1000.0), text(&config.bind)]);
    row.extend([text(ignored.join(" ")), text(uuid.map_or(String::new(), |uuid| uuid.to_string())), number(config.retry_count)]);
    row.extend([text(&tls.crl), text(&tls.crl_path), number(config.auto_position), text(&channel.name), text(&tls.version)]);
    row.extend([text(&config.public_key_path), number(config.get_public_key), text(&config.network_namespace)]);
    row.extend([text(&config.compression_algorithms), number(config.zstd_level), optional_text(tls.ciphersuites.as_ref())]);
    row.extend([number(config.auto_failover), number(config.gtid_only)]);
    row
}

/// `mysql.slave_relay_log_info`.
fn applier_info(channel: &Channel) -> Vec<Value> {
    let config = channel.config();
    let (file, pos) = channel.with_applied(|applied| (applied.file.clone(), applied.pos));
    let workers = channel.status.applier.lock().workers.len() as u64;
    let account = config.privilege_checks_user.as_ref();
    let (assign, uuid) = assigned(&config);
    vec![
        number(APPLIER_INFO_LINES),
        text(""),
        number(0u32),
        text(file),
        number(pos),
        number(config.delay_s),
        number(workers),
        number(1u32),
        text(&channel.name),
        optional_text(account.map(|(user, _)| user)),
        optional_text(account.map(|(_, host)| host)),
        number(config.require_row_format),
        text(config.primary_key_check.name()),
        assign,
        text(uuid.unwrap_or_default()),
    ]
}
