//! The binary log as statements show and administer it, and the replicas that read it.
//!
//! Whoever has the log registers it in `Server::binary_log`; without one the server answers as MySQL does with `--skip-log-bin`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use vaquita_types::gtid::{GtidSet, MariaGtid};
use vaquita_types::{Result, Value};

/// A file of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownFile {
    pub number: u32,
    pub name: String,
    pub bytes: u64,
}

/// Whether a statement may go on with rows of so many bytes.
pub type Look<'a> = &'a dyn Fn(usize) -> Result<()>;

pub trait BinaryLogFiles: Send + Sync {
    /// The oldest first.
    fn files(&self) -> Result<Vec<ShownFile>>;

    /// The file that is written, and where the next event will be.
    fn end(&self) -> Result<(String, u64)>;

    fn executed(&self) -> GtidSet;

    /// The last transaction of each server as MariaDB counts them, the newest last.
    fn maria_gtids(&self) -> Vec<MariaGtid>;

    /// What was executed and is not in the log.
    fn purged(&self) -> Result<GtidSet>;

    /// Rows of SHOW BINLOG EVENTS: events of a file that begin at `from` or behind it. `look` is called with the bytes of all rows so far, and may
    /// end it.
    fn events(&self, file: u32, from: u64, skip: u64, count: u64, look: Look<'_>) -> Result<Vec<Vec<Value>>>;

    /// The next file begins.
    fn rotate(&self) -> Result<()>;

    /// Nothing of the log and of what was executed stays; its first file has this number.
    fn reset(&self, first: u32) -> Result<()>;

    /// The first file that was written at this time or later, in seconds since 1970; that which is written now, if none was.
    fn first_since(&self, time_s: u64) -> Result<u32>;

    /// Removes the files before this one.
    fn purge_before(&self, file: u32) -> Result<()>;

    /// Global variables have changed that are the log's.
    fn settings_changed(&self);

    fn semi_sync(&self) -> SemiSyncStatus;
}

/// Semi-synchronous replication, the source's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SemiSyncStatus {
    pub on: bool,
    /// Replicas that are connected.
    pub clients: u64,
    /// That have come.
    pub acks: u64,
    /// Commits that were acked by enough replicas, and that were not.
    pub acknowledged: u64,
    pub not_acknowledged: u64,
    /// How often it was turned off.
    pub times_off: u64,
    /// Waits that are over, and how long they were.
    pub waits: u64,
    pub waited_us: u64,
    /// Commits that wait now.
    pub waiting: u64,
}

/// What COM_REGISTER_SLAVE has told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegisteredReplica {
    pub connection_id: u64,
    pub server_id: u32,
    pub host: String,
    pub user: String,
    pub password: String,
    pub port: u16,
    pub source_id: u32,
    pub uuid: String,
}

/// A connection that the log is sent to.
#[derive(Debug)]
pub struct RunningDump {
    pub connection_id: u64,
    server_id: u32,
    uuid: String,
    /// The file that it reads.
    file: AtomicU32,
    replaced: AtomicBool,
}

impl RunningDump {
    /// Another dump is for the same replica.
    pub fn is_replaced(&self) -> bool {
        self.replaced.load(Ordering::Relaxed)
    }

    pub fn reads(&self, file: u32) {
        self.file.store(file, Ordering::SeqCst);
    }
}

#[derive(Default)]
pub struct Replicas {
    registered: Mutex<Vec<RegisteredReplica>>,
    dumps: Mutex<Vec<Arc<RunningDump>>>,
}

impl Replicas {
    /// One for each `server_id`: that which came last.
    pub fn register(&self, replica: RegisteredReplica) {
        let mut registered = self.registered.lock();
        registered.retain(|known| known.server_id != replica.server_id);
        registered.push(replica);
    }

    /// Its connection has ended.
    pub fn forget(&self, connection_id: u64) {
        self.registered.lock().retain(|known| known.connection_id != connection_id);
    }

    /// By `server_id`.
    pub fn list(&self) -> Vec<RegisteredReplica> {
        let mut list = self.registered.lock().clone();
        list.sort_by_key(|replica| replica.server_id);
        list
    }

    /// A dump begins, and ends one that the same replica has left behind: that with the same UUID; without one, that with the same `server_id`.
    pub fn begin_dump(&self, connection_id: u64, server_id: u32, uuid: String) -> Arc<RunningDump> {
        let mut dumps = self.dumps.lock();
        let is_same = |dump: &&Arc<RunningDump>| match uuid.is_empty() {
            true => server_id != 0 && dump.uuid.is_empty() && dump.server_id == server_id,
            false => dump.uuid == uuid,
        };
        dumps.iter().filter(is_same).for_each(|dump| dump.replaced.store(true, Ordering::Relaxed));
        let dump =
            RunningDump { connection_id, server_id, uuid, file: AtomicU32::new(u32::MAX), replaced: AtomicBool::new(false) };
        let dump = Arc::new(dump);
        dumps.push(dump.clone());
        dump
    }

    pub fn end_dump(&self, dump: &Arc<RunningDump>) {
        self.dumps.lock().retain(|running| !Arc::ptr_eq(running, dump));
    }

    /// The first file that is read, and by how many.
    pub fn first_read(&self) -> Option<(u32, usize)> {
        let dumps = self.dumps.lock();
        let files = || dumps.iter().map(|dump| dump.file.load(Ordering::SeqCst)).filter(|file| *file != u32::MAX);
        let first = files().min()?;
        Some((first, files().filter(|file| *file == first).count()))
    }
}

/// Names of files may come with a directory.
pub fn base_name(name: &[u8]) -> &[u8] {
    name.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_ends_that_of_the_same_replica() {
        let replicas = Replicas::default();
        let dumps: Vec<_> = [(1, 7, ""), (2, 7, "a"), (3, 8, ""), (4, 7, ""), (5, 9, "a"), (6, 0, ""), (7, 0, "")]
            .map(|(connection, server, uuid)| replicas.begin_dump(connection, server, uuid.to_string()))
            .into();
        let replaced: Vec<u64> = dumps.iter().filter(|dump| dump.is_replaced()).map(|dump| dump.connection_id).collect();
        assert_eq!(replaced, [1, 2]);
        assert_eq!(replicas.first_read(), None);
        [(0, 5), (1, 3), (2, 3)].iter().for_each(|(at, file)| dumps[*at as usize].reads(*file));
        assert_eq!(replicas.first_read(), Some((3, 2)));
        dumps.iter().skip(1).for_each(|dump| replicas.end_dump(dump));
        assert_eq!(replicas.first_read(), Some((5, 1)));
    }

    #[test]
    fn a_replica_is_registered_once() {
        let replicas = Replicas::default();
        let replica = |connection_id, server_id| RegisteredReplica { connection_id, server_id, ..RegisteredReplica::default() };
        [(1, 9), (2, 3), (3, 9)].into_iter().for_each(|(connection, server)| replicas.register(replica(connection, server)));
        replicas.forget(1);
        assert_eq!(replicas.list(), [replica(2, 3), replica(3, 9)]);
    }
}
