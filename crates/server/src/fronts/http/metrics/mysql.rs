//! Metrics under the names of mysqld_exporter: dashboards and alerts of MySQL read them.
//!
//! It names a status or system variable by its own name in small letters, and makes labels of the ends of some names:
//! `Com_select` is `mysql_global_status_commands_total{command="select"}`. A value that is no number has no sample.

use std::sync::atomic::Ordering;

use vaquita_session::replication::{Channel, Running, seconds_behind_source};
use vaquita_session::server::{Server, VERSION};
use vaquita_session::session::global_status;
use vaquita_session::variables::{Kind as VariableKind, Scope, registry};
use vaquita_types::Value;

use super::format::{Kind, Metrics, Number};

pub fn version(out: &mut Metrics) {
    out.gauge("mysql_up", "Whether the server answers.", true);
    let labels = [("version", VERSION), ("version_comment", "Vaquita"), ("innodb_version", VERSION)];
    out.family("mysql_version", Kind::Info, "The version of the server.").sample(&labels, true);
}

/// Where names that begin so become labels: the beginning, the family, its kind, its help and the label.
const GROUPS: &[(&str, &str, Kind, &str, &str)] = &[
    ("com_", "commands", Kind::Counter, "Statements, by kind.", "command"),
    ("handler_", "handlers", Kind::Counter, "What statements asked of tables, by kind.", "handler"),
    ("connection_errors_", "connection_errors", Kind::Counter, "Connections that could not be served, by reason.", "error"),
    ("innodb_buffer_pool_pages_", "buffer_pool_pages", Kind::Gauge, "The block cache in pages of 16 KiB, by state.", "state"),
    ("innodb_rows_", "innodb_row_ops", Kind::Counter, "Rows that statements read and changed, by operation.", "operation"),
    (
        "performance_schema_",
        "performance_schema_lost",
        Kind::Counter,
        "What could not be instrumented, by kind.",
        "instrumentation",
    ),
];

/// What mysqld_exporter takes out of a group, or leaves out.
fn is_apart(name: &str) -> bool {
    name == "innodb_buffer_pool_pages_total"
}

pub fn status(out: &mut Metrics, server: &Server) {
    let mut values: Vec<(String, f64)> = global_status(server)
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_ascii_lowercase(), number_of(&text)?)))
        .filter(|(name, _)| !is_apart(name))
        .collect();
    values.sort_by(|a, b| a.0.cmp(&b.0));
    values.dedup_by(|a, b| a.0 == b.0);
    for (beginning, name, kind, help, label) in GROUPS {
        let name = format!("mysql_global_status_{name}");
        let mut family = out.family(&name, *kind, help);
        for (variable, value) in &values {
            if let Some(end) = variable.strip_prefix(beginning) {
                family.sample(&[(label, end)], *value);
            }
        }
    }
    let single = values.iter().filter(|(name, _)| !GROUPS.iter().any(|(beginning, ..)| name.starts_with(beginning)));
    for (variable, value) in single {
        let name = format!("mysql_global_status_{variable}");
        out.family(&name, Kind::Unknown, "A status variable, see SHOW GLOBAL STATUS.").sample(&[], *value);
    }
}

/// As mysqld_exporter reads them.
fn number_of(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "yes" | "primary" | "connected" => Some(1.0),
        "off" | "no" | "disabled" | "non-primary" | "disconnected" => Some(0.0),
        "nan" | "inf" | "infinity" | "+inf" | "-inf" => None,
        number => number.parse().ok(),
    }
}

pub fn variables(out: &mut Metrics, server: &Server) {
    let values = server.globals.all();
    for def in registry().defs.iter().filter(|def| def.scope != Scope::Session) {
        let value: Number = match (&def.kind, values.get(def.id)) {
            (VariableKind::Bool | VariableKind::Int { .. }, Some(Value::Int(n))) => (*n as f64).into(),
            (VariableKind::Bool | VariableKind::Int { .. }, Some(Value::UInt(n))) => (*n).into(),
            (VariableKind::Number { .. }, Some(Value::Float(n))) => (*n).into(),
            (VariableKind::Enum(_), Some(Value::Bytes(text))) => match number_of(&String::from_utf8_lossy(text)) {
                Some(number) => number.into(),
                None => continue,
            },
            _ => continue,
        };
        let name = format!("mysql_global_variables_{}", def.name);
        out.family(&name, Kind::Gauge, "A system variable, see SHOW GLOBAL VARIABLES.").sample(&[], value);
    }
}

pub fn binary_log(out: &mut Metrics, server: &Server) {
    let Some(files) = server.binary_log.get().and_then(|log| log.files().ok()) else { return };
    out.gauge(
        "mysql_binlog_size_bytes",
        "Bytes of all files of the binary log.",
        files.iter().map(|file| file.bytes).sum::<u64>(),
    );
    out.gauge("mysql_binlog_files", "Files of the binary log.", files.len());
    let last = files.last().map_or(0, |file| u64::from(file.number));
    out.gauge("mysql_binlog_file_number", "The number of the file that is written.", last);
}

/// A column of SHOW REPLICA STATUS: its old and its new name, its help, and its value if there is one.
type Column = (&'static [&'static str], &'static str, fn(&Channel) -> Option<f64>);

const COLUMNS: &[Column] = &[
    (&["slave_io_running", "replica_io_running"], "Whether the receiver is connected.", |channel| {
        Some(f64::from(u8::from(channel.status.receiver.lock().running == Running::Yes)))
    }),
    (&["slave_sql_running", "replica_sql_running"], "Whether the applier runs.", |channel| {
        Some(f64::from(u8::from(channel.running().applier)))
    }),
    (
        &["seconds_behind_master", "seconds_behind_source"],
        "How far what is applied is behind the source's clock; there is no sample where nobody can know.",
        |channel| seconds_behind_source(channel).map(|seconds| seconds as f64),
    ),
    (&["last_io_errno"], "The last error of the receiver, 0 if there is none.", |channel| {
        Some(f64::from(channel.status.receiver.lock().last_error.number))
    }),
    (&["last_sql_errno"], "The last error of the applier, 0 if there is none.", |channel| {
        Some(f64::from(channel.status.applier.lock().last_error.number))
    }),
    (&["relay_log_space"], "Bytes that were received and wait to be applied.", |channel| {
        Some(channel.status.queue_bytes.load(Ordering::Relaxed) as f64)
    }),
];

pub fn replication(out: &mut Metrics, server: &Server) {
    let channels = server.replication.list();
    for (names, help, value) in COLUMNS {
        for column in *names {
            let name = format!("mysql_slave_status_{column}");
            let mut family = out.family(&name, Kind::Unknown, help);
            for channel in &channels {
                let Some(value) = value(channel) else { continue };
                let source = channel.status.receiver.lock().source_uuid.map_or(String::new(), |uuid| uuid.to_string());
                let host = channel.config().host.clone();
                let labels = [
                    ("channel_name", channel.name.as_str()),
                    ("connection_name", ""),
                    ("master_host", host.as_str()),
                    ("master_uuid", source.as_str()),
                ];
                family.sample(&labels, value);
            }
        }
    }
}
