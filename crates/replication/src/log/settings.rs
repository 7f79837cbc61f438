//! How the log is written, as the global variables say it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::RwLock;
use vaquita_session::server::VERSION;
use vaquita_session::variables::{Def, Globals, registry};
use vaquita_types::Value;
use vaquita_types::gtid::Uuid;

use super::semi_sync::SemiSyncSettings;
use super::{LogSettings, Settings};

/// The variables, looked up once.
struct Variables {
    server_uuid: Option<&'static Def>,
    server_id: Option<&'static Def>,
    max_binlog_size: Option<&'static Def>,
    binlog_checksum: Option<&'static Def>,
    binlog_row_metadata: Option<&'static Def>,
    gtid_mode: Option<&'static Def>,
    binlog_row_event_max_size: Option<&'static Def>,
    semi_sync_enabled: Option<&'static Def>,
    semi_sync_timeout: Option<&'static Def>,
    semi_sync_wait_no_replica: Option<&'static Def>,
    semi_sync_wait_point: Option<&'static Def>,
    semi_sync_replicas: Option<&'static Def>,
}

static VARIABLES: LazyLock<Variables> = LazyLock::new(|| {
    let find = |name| registry().find(name);
    Variables {
        server_uuid: find("server_uuid"),
        server_id: find("server_id"),
        max_binlog_size: find("max_binlog_size"),
        binlog_checksum: find("binlog_checksum"),
        binlog_row_metadata: find("binlog_row_metadata"),
        gtid_mode: find("gtid_mode"),
        binlog_row_event_max_size: find("binlog_row_event_max_size"),
        semi_sync_enabled: find("rpl_semi_sync_source_enabled"),
        semi_sync_timeout: find("rpl_semi_sync_source_timeout"),
        semi_sync_wait_no_replica: find("rpl_semi_sync_source_wait_no_replica"),
        semi_sync_wait_point: find("rpl_semi_sync_source_wait_point"),
        semi_sync_replicas: find("rpl_semi_sync_source_wait_for_replica_count"),
    }
});

/// Follows the global variables.
pub struct GlobalSettings {
    globals: Arc<Globals>,
    /// Of which change `read` is.
    seen: AtomicU64,
    read: RwLock<Arc<LogSettings>>,
}

impl GlobalSettings {
    pub fn new(globals: Arc<Globals>) -> Arc<GlobalSettings> {
        let (seen, read) = (globals.changes(), read(&globals));
        Arc::new(GlobalSettings { globals, seen: AtomicU64::new(seen), read: RwLock::new(Arc::new(read)) })
    }
}

impl Settings for GlobalSettings {
    fn now(&self) -> Arc<LogSettings> {
        let changes = self.globals.changes();
        if self.seen.load(Ordering::Acquire) != changes {
            let fresh = Arc::new(read(&self.globals));
            *self.read.write() = Arc::clone(&fresh);
            self.seen.store(changes, Ordering::Release);
            return fresh;
        }
        Arc::clone(&self.read.read())
    }
}

fn read(globals: &Globals) -> LogSettings {
    let value = |def: Option<&Def>| def.map(|def| globals.get(def)).unwrap_or_default();
    let number = |def: Option<&Def>| match value(def) {
        Value::UInt(n) => n,
        Value::Int(n) => n as u64,
        _ => 0,
    };
    let word = |def: Option<&Def>| def.map_or(String::new(), |def| def.show(&globals.get(def)));
    let all = &*VARIABLES;
    LogSettings {
        server_uuid: Uuid::parse(word(all.server_uuid).as_bytes()).unwrap_or(Uuid([0; 16])),
        server_id: number(all.server_id) as u32,
        server_version: VERSION.to_string(),
        file_bytes_max: number(all.max_binlog_size),
        checksum: word(all.binlog_checksum) != "NONE",
        full_metadata: word(all.binlog_row_metadata) == "FULL",
        names_transactions: matches!(word(all.gtid_mode).as_str(), "ON" | "ON_PERMISSIVE"),
        row_event_bytes_max: number(all.binlog_row_event_max_size) as usize,
        semi_sync: SemiSyncSettings {
            enabled: number(all.semi_sync_enabled) != 0,
            timeout: Duration::from_millis(number(all.semi_sync_timeout)),
            wait_no_replica: number(all.semi_sync_wait_no_replica) != 0,
            after_commit: word(all.semi_sync_wait_point) == "AFTER_COMMIT",
            replicas: number(all.semi_sync_replicas) as usize,
        },
    }
}
