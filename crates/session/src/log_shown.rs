//! The binary log as statements show it, and which of its files are too old.

use vaquita_types::errno::{ER_ERROR_WHEN_EXECUTING_COMMAND, ER_NO_BINARY_LOGGING};
use vaquita_types::{Error, Result, Value};

use crate::binary_log::{Look, RegisteredReplica, ShownFile, base_name};
use crate::server::Server;
use crate::variables::registry;
use vaquita_storage::now_us;

/// Rows of SHOW BINARY LOGS.
pub fn logs(server: &Server) -> Result<Vec<Vec<Value>>> {
    let Some(log) = server.binary_log.get() else { return Err(Error::new(&ER_NO_BINARY_LOGGING, &[])) };
    let row = |file: ShownFile| vec![file.name.into(), Value::UInt(file.bytes), "No".into()];
    Ok(log.files()?.into_iter().map(row).collect())
}

/// The row of SHOW BINARY LOG STATUS; none without a log.
pub fn status(server: &Server) -> Result<Vec<Vec<Value>>> {
    let Some(log) = server.binary_log.get() else { return Ok(Vec::new()) };
    let (file, position) = log.end()?;
    let executed = server.executed().to_string();
    Ok(vec![vec![file.into(), Value::UInt(position), "".into(), "".into(), executed.into()]])
}

/// Rows of SHOW BINLOG EVENTS.
pub fn events(
    server: &Server,
    file: Option<&[u8]>,
    (from, skip, count): (u64, u64, u64),
    look: Look<'_>,
) -> Result<Vec<Vec<Value>>> {
    let Some(log) = server.binary_log.get() else { return Ok(Vec::new()) };
    let shown = log.files()?.into_iter().find(|shown| file.is_none_or(|name| base_name(name) == shown.name.as_bytes()));
    match shown {
        Some(shown) => log.events(shown.number, from, skip, count, look),
        None => Err(Error::new(&ER_ERROR_WHEN_EXECUTING_COMMAND, &[&"SHOW BINLOG EVENTS", &"Could not find target log"])),
    }
}

/// Rows of SHOW REPLICAS.
pub fn replicas(server: &Server) -> Vec<Vec<Value>> {
    let own = registry().find("server_id").map_or(Value::UInt(0), |def| server.globals.get(def));
    let row = |replica: RegisteredReplica| {
        let source = if replica.source_id == 0 { own.clone() } else { Value::UInt(replica.source_id.into()) };
        let (id, port) = (Value::UInt(replica.server_id.into()), Value::UInt(replica.port.into()));
        vec![id, replica.host.into(), port, source, replica.uuid.into()]
    };
    server.replicas.list().into_iter().map(row).collect()
}

/// Removes files that are older than `binlog_expire_logs_seconds`, if `binlog_expire_logs_auto_purge` lets it; done when a file begins. A file that
/// a replica reads stays, and all behind it.
pub fn purge_expired(server: &Server) -> Result<()> {
    let setting = |name: &str| registry().find(name).map_or(Value::Null, |def| server.globals.get(def));
    let expire_s = match setting("binlog_expire_logs_seconds") {
        Value::UInt(seconds) => seconds,
        Value::Int(seconds) => seconds.unsigned_abs(),
        _ => 0,
    };
    let Some(log) = server.binary_log.get() else { return Ok(()) };
    if expire_s == 0 || setting("binlog_expire_logs_auto_purge") == Value::Int(0) {
        return Ok(());
    }
    let before = log.first_since((now_us() / 1_000_000).saturating_sub(expire_s))?;
    let before = server.replicas.first_read().map_or(before, |(file, _)| file.min(before));
    if log.files()?.first().is_some_and(|first| first.number < before) { log.purge_before(before) } else { Ok(()) }
}

/// Purges what is too old if another file is being written than at the last look, which `seen` keeps.
pub fn purge_at_new_file(server: &Server, seen: &mut String) -> Result<()> {
    let Some(log) = server.binary_log.get() else { return Ok(()) };
    let (file, _) = log.end()?;
    if file == *seen {
        return Ok(());
    }
    *seen = file;
    purge_expired(server)
}
