//! Channels: what this server replicates from others, as statements give and show it.
//!
//! A `Channel` has a configuration (`config`), filters (`filter`), what has been applied (`applied`), and what its threads report
//! (`status`). The threads themselves are elsewhere: whoever has them registers `ReplicaThreads`. Here nobody connects, reads a log or
//! applies a row.
//!
//! CHANNEL-1: `config` and `filters` change only after the change is stored, and only by statements, which hold `operation`.
//! CHANNEL-2: while the applier runs it alone writes the stored `Applied`, in the batch of the rows; then it says so by `note_applied`.
//!   Statements write it under `operation` and only while neither thread runs.
//! CHANNEL-3: `start` returns after `status` says that the threads run, `stop` after it says that they do not. A thread may end by itself
//!   at any time and says so last of all.
//! CHANNEL-4: who holds `operation` takes no `operation` of another channel. Threads of a channel never take it, since `stop` waits for them.
//! CHANNEL-5: no GTID that was executed is forgotten but by RESET BINARY LOGS AND GTIDS: a channel that goes leaves its set in `retained`,
//!   in the commit that removes it.
//!
//! Names of channels are in lower case, as in MySQL; the default channel's is empty.

mod applied;
mod change;
mod config;
mod filter;
mod filter_rules;
mod record;
mod show;
mod status;
mod tables;
#[cfg(test)]
mod tests;
mod waits;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::{Condvar, Mutex, RwLock};
use vaquita_exec::dml::images::{ImageChange, ImageRules, SourceTable};
use vaquita_storage::Catalog;
use vaquita_storage::now_us;
use vaquita_types::errno::{
    ER_CANT_SET_GTID_PURGED_DUE_SETS_CONSTRAINTS, ER_REPLICA_CHANNEL_DOES_NOT_EXIST, ER_REPLICA_CHANNEL_MUST_STOP,
    ER_REPLICA_MAX_CHANNELS_EXCEEDED,
};
use vaquita_types::gtid::{Gtid, GtidSet};
use vaquita_types::{Error, Result};

pub use applied::{Applied, applied_key};
pub(crate) use change::{Changed, changed, check_given};
pub use config::{AssignGtids, ChannelConfig, LOG_POS_MIN, PrimaryKeyCheck, TlsConfig, UseGtid, config_key};
pub(crate) use filter::check_filters;
pub use filter::{FilterCounts, FilterKind, Filters, filter_key};
pub use show::{seconds_behind_source, status_rows};
pub use status::{
    ApplierStatus, ChannelStatus, ReceiverStatus, Retries, Running, ThreadError, TransactionName, TransactionTimes, WorkerStatus,
};
pub use tables::rows_of;
pub(crate) use waits::{names_log, wait_for_gtids, wait_for_position};

/// Channels of a server (MySQL's MAX_CHANNELS).
pub const CHANNELS_MAX: usize = 256;
/// What channels that are gone have applied, as `GtidSet::encode` writes it.
const RETAINED: &[u8] = b"gtid_executed";

/// Which threads of a channel are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    pub receiver: bool,
    pub applier: bool,
}

impl Threads {
    pub const BOTH: Threads = Threads { receiver: true, applier: true };
}

/// Where the applier stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Until {
    #[default]
    Never,
    /// Behind this position of the source's log.
    Source { file: String, pos: u64 },
    /// Behind this position of a relay log.
    Relay { file: String, pos: u64 },
    /// Before the first transaction of the set.
    BeforeGtids(GtidSet),
    /// When all of the set are applied.
    AfterGtids(GtidSet),
    /// When what several workers left unfinished is applied.
    AfterGaps,
}

/// USER and PASSWORD of START REPLICA, which are not stored.
#[derive(Clone, Default)]
pub struct Credentials {
    pub user: String,
    pub password: String,
}

/// The name of a channel as it is kept.
pub fn channel_name(given: &[u8]) -> String {
    String::from_utf8_lossy(given).to_lowercase()
}

/// Whoever has the threads of channels. An option of the configuration that they cannot carry out is an error of `start`.
pub trait ReplicaThreads: Send + Sync {
    /// Starts those that do not run.
    fn start(&self, channel: &Arc<Channel>, threads: Threads, until: Until) -> Result<()>;

    /// Ends those that run, and waits for them.
    fn stop(&self, channel: &Arc<Channel>, threads: Threads) -> Result<()>;

    /// For a session's BINLOG statements.
    fn events(&self) -> Box<dyn LoggedEvents>;
}

/// Carries out events of a binary log that a client sends.
pub trait LoggedEvents: Send {
    /// One event or more, behind each other. They are a statement of the session's transaction.
    fn carry_out(&mut self, session: &mut dyn EventSession, events: &[u8]) -> Result<()>;
}

/// Gives the changes of an event to what it is handed, from the first on each time that it is called.
pub type EachChange<'a> = &'a dyn Fn(&mut dyn FnMut(ImageChange) -> Result<()>) -> Result<()>;

/// What becomes of the rows of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsKind {
    Come,
    Change,
    Go,
}

/// The session in whose transaction they are carried out.
pub trait EventSession {
    /// Asked before rows are changed: the server, the transaction, its state or the account's privileges may forbid it.
    fn admit_events(&mut self, table: &SourceTable, kind: RowsKind) -> Result<()>;

    /// For what runs until the end of the statement.
    fn check_foreign_keys(&mut self, on: bool);

    /// `rbr_exec_mode`.
    fn is_idempotent(&self) -> bool;

    /// Carries out the changes of one event within the statement that runs. An error leaves what was done to the end of the statement.
    fn change_rows(&mut self, source: &SourceTable, rules: ImageRules, changes: EachChange<'_>) -> Result<()>;
}

pub struct Channel {
    pub name: String,
    pub config: Mutex<Arc<ChannelConfig>>,
    pub filters: Mutex<Arc<Filters>>,
    pub status: ChannelStatus,
    /// Of the last START REPLICA; used instead of those of `config`.
    pub credentials: Mutex<Option<Credentials>>,
    /// One START, STOP, CHANGE or RESET at a time.
    pub(crate) operation: Mutex<()>,
    applied: Mutex<Applied>,
    progress: Arc<Progress>,
}

/// Who waits for something to be applied sleeps here.
#[derive(Default)]
struct Progress {
    /// Counts what was applied, so that none is missed.
    count: Mutex<u64>,
    more: Condvar,
}

impl Progress {
    fn note(&self) {
        *self.count.lock() += 1;
        self.more.notify_all();
    }
}

impl Channel {
    pub fn config(&self) -> Arc<ChannelConfig> {
        self.config.lock().clone()
    }

    pub fn filters(&self) -> Arc<Filters> {
        self.filters.lock().clone()
    }

    pub fn applied(&self) -> Applied {
        self.applied.lock().clone()
    }

    /// Reads what was applied without copying it.
    pub fn with_applied<T>(&self, read: impl FnOnce(&Applied) -> T) -> T {
        read(&self.applied.lock())
    }

    /// The applier says what it has committed; whoever waits for it is woken.
    pub fn note_applied(&self, note: impl FnOnce(&mut Applied)) {
        note(&mut self.applied.lock());
        self.progress.note();
    }

    /// Which threads run.
    pub fn running(&self) -> Threads {
        let receiver = self.status.receiver.lock().running != Running::No;
        Threads { receiver, applier: self.status.applier.lock().is_running }
    }
}

#[derive(Default)]
pub struct Channels {
    channels: RwLock<BTreeMap<String, Arc<Channel>>>,
    threads: OnceLock<Arc<dyn ReplicaThreads>>,
    /// Filters that new channels begin with.
    filters: Mutex<Arc<Filters>>,
    /// GTIDs of channels that are gone.
    retained: Mutex<GtidSet>,
    /// Of transactions that an applier carries out and has not committed.
    owned: Mutex<GtidSet>,
    progress: Arc<Progress>,
}

impl Channels {
    /// Reads what is stored. At the start, before statements run.
    pub fn load(&self, catalog: &Catalog) -> Result<()> {
        if let Some(bytes) = catalog.meta_get(RETAINED)? {
            *self.retained.lock() = GtidSet::decode(&bytes).map_err(|_| damaged("the set of executed GTIDs"))?;
        }
        if let Some(bytes) = catalog.meta_get(filter::GLOBAL)? {
            *self.filters.lock() = Arc::new(Filters::decode(&bytes).ok_or_else(|| damaged("the replication filters"))?);
        }
        for (key, bytes) in catalog.meta_scan(config::PREFIX)? {
            let name = String::from_utf8(key.get(config::PREFIX.len()..).unwrap_or_default().to_vec());
            let name = name.map_err(|_| damaged("the name of a replication channel"))?;
            let of = || damaged(&format!("the record of replication channel '{name}'"));
            let config = ChannelConfig::decode(&bytes).ok_or_else(of)?;
            let applied = match catalog.meta_get(&applied::own_key(&name))? {
                Some(bytes) => Applied::decode(&bytes).ok_or_else(of)?,
                None => Applied::default(),
            };
            let filters = match catalog.meta_get(&filter_key(&name))? {
                Some(bytes) => Filters::decode(&bytes).ok_or_else(of)?,
                None => Filters::default(),
            };
            self.channels.write().insert(name.clone(), self.channel(name, config, filters, applied));
        }
        Ok(())
    }

    fn channel(&self, name: String, config: ChannelConfig, filters: Filters, applied: Applied) -> Arc<Channel> {
        let status = ChannelStatus::default();
        {
            let mut receiver = status.receiver.lock();
            let read = if applied.pos == 0 { (&config.log_file, config.log_pos) } else { (&applied.file, applied.pos) };
            (receiver.file, receiver.pos) = (read.0.clone(), read.1);
        }
        Arc::new(Channel {
            name,
            config: Mutex::new(Arc::new(config)),
            filters: Mutex::new(Arc::new(filters)),
            status,
            credentials: Mutex::default(),
            operation: Mutex::default(),
            applied: Mutex::new(applied),
            progress: self.progress.clone(),
        })
    }

    /// Once, by whoever has threads; whoever comes later is ignored.
    pub fn register(&self, threads: Arc<dyn ReplicaThreads>) {
        let _ = self.threads.set(threads);
    }

    /// `None` where nothing can run channels.
    pub(crate) fn threads(&self) -> Option<&Arc<dyn ReplicaThreads>> {
        self.threads.get()
    }

    pub fn get(&self, name: &str) -> Option<Arc<Channel>> {
        self.channels.read().get(name).cloned()
    }

    /// Error 3074 if the channel went while somebody waited for its `operation`.
    pub(crate) fn still_there(&self, channel: &Channel) -> Result<()> {
        let there = self.get(&channel.name).is_some_and(|now| std::ptr::eq(&*now, channel));
        if there { Ok(()) } else { Err(Error::new(&ER_REPLICA_CHANNEL_DOES_NOT_EXIST, &[&channel.name])) }
    }

    /// By name.
    pub fn list(&self) -> Vec<Arc<Channel>> {
        self.channels.read().values().cloned().collect()
    }

    /// Stores a new channel; one that has come meanwhile stays. Error 3080 if there are too many.
    pub fn create(&self, catalog: &Catalog, name: &str, config: ChannelConfig) -> Result<Arc<Channel>> {
        let mut channels = self.channels.write();
        if let Some(channel) = channels.get(name) {
            return Ok(channel.clone());
        }
        if channels.len() >= CHANNELS_MAX {
            return Err(Error::new(&ER_REPLICA_MAX_CHANNELS_EXCEEDED, &[]));
        }
        let filters = self.filters.lock().as_of(now_us());
        // What an older channel of this name has applied is in `retained`.
        catalog.meta_write(&[
            (&config_key(name), Some(&config.encode())),
            (&filter_key(name), Some(&filters.encode())),
            (&applied::own_key(name), None),
        ])?;
        let channel = self.channel(name.to_string(), config, filters, Applied::default());
        channels.insert(name.to_string(), channel.clone());
        Ok(channel)
    }

    /// RESET REPLICA ALL. The caller holds `operation` and no thread runs.
    pub fn remove(&self, catalog: &Catalog, channel: &Channel) -> Result<()> {
        self.still_there(channel)?;
        let mut channels = self.channels.write();
        let mut retained = self.retained.lock();
        let mut all = retained.clone();
        channel.with_applied(|applied| all.union(&applied.executed));
        let mut bytes = Vec::new();
        all.encode(&mut bytes);
        catalog.meta_write(&[
            (&config_key(&channel.name), None),
            (&filter_key(&channel.name), None),
            (&applied::own_key(&channel.name), None),
            (RETAINED, Some(&bytes)),
        ])?;
        *retained = all;
        channels.remove(&channel.name);
        Ok(())
    }

    /// Stores the configuration and, if it is given, what counts as applied. The caller holds `operation` and no thread runs that reads it.
    pub fn change(&self, catalog: &Catalog, channel: &Channel, config: ChannelConfig, applied: Option<Applied>) -> Result<()> {
        self.still_there(channel)?;
        let (config_key, applied_key) = (config_key(&channel.name), applied::own_key(&channel.name));
        let config_bytes = config.encode();
        let applied_bytes = applied.as_ref().map(Applied::encode);
        let mut changes: Vec<(&[u8], Option<&[u8]>)> = vec![(&config_key, Some(&config_bytes))];
        if let Some(bytes) = &applied_bytes {
            changes.push((&applied_key, Some(bytes)));
        }
        catalog.meta_write(&changes)?;
        *channel.config.lock() = Arc::new(config);
        if let Some(new) = applied {
            channel.note_applied(|applied| *applied = new);
        }
        Ok(())
    }

    /// Stores the filters of a channel, whose `operation` the caller holds, while its applier does not run.
    pub fn change_filters(&self, catalog: &Catalog, channel: &Channel, filters: Filters) -> Result<()> {
        self.still_there(channel)?;
        catalog.meta_put(&filter_key(&channel.name), &filters.encode())?;
        *channel.filters.lock() = Arc::new(filters);
        Ok(())
    }

    /// Filters that new channels begin with.
    pub fn global_filters(&self) -> Arc<Filters> {
        self.filters.lock().clone()
    }

    pub fn change_global_filters(&self, catalog: &Catalog, filters: Filters) -> Result<()> {
        let mut global = self.filters.lock();
        catalog.meta_put(filter::GLOBAL, &filters.encode())?;
        *global = Arc::new(filters);
        Ok(())
    }

    /// SET GLOBAL gtid_purged: what counts as executed from now on. `logged` is in the binary log: a set must have all else that is executed and
    /// nothing of the log, one with `+` nothing that is there.
    pub fn purge(&self, catalog: &Catalog, given: &GtidSet, is_added: bool, logged: &GtidSet) -> Result<()> {
        let refused = |why: &str| Err(Error::new(&ER_CANT_SET_GTID_PURGED_DUE_SETS_CONSTRAINTS, &[&why]));
        let channels = self.channels.read();
        let mut retained = self.retained.lock();
        let mut executed = retained.clone();
        channels.values().for_each(|channel| channel.with_applied(|applied| executed.union(&applied.executed)));
        if is_added && given.subtract(&executed) != *given {
            return refused("the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED");
        }
        executed = executed.subtract(logged);
        if !is_added && !executed.is_subset_of(given) {
            return refused("the new value must be a superset of the old value");
        }
        if given.subtract(logged) != *given {
            return refused(match is_added {
                true => "the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED",
                false => "the new value must not overlap with @@GLOBAL.GTID_EXECUTED - @@GLOBAL.GTID_PURGED",
            });
        }
        let mut all = retained.clone();
        all.union(given);
        let mut bytes = Vec::new();
        all.encode(&mut bytes);
        catalog.meta_put(RETAINED, &bytes)?;
        *retained = all;
        self.progress.note();
        Ok(())
    }

    /// RESET BINARY LOGS AND GTIDS. It waits for `operation` of one channel after the other. Error 3081 if one is being applied.
    pub fn forget_executed(&self, catalog: &Catalog) -> Result<()> {
        let stands = |channel: &Channel| match channel.running().applier {
            true => Err(Error::new(&ER_REPLICA_CHANNEL_MUST_STOP, &[&channel.name])),
            false => Ok(()),
        };
        let channels = self.list();
        channels.iter().try_for_each(|channel| stands(channel))?;
        for channel in channels {
            let _operation = channel.operation.lock();
            stands(&channel)?;
            if self.still_there(&channel).is_ok() {
                let applied = Applied { executed: GtidSet::default(), ..channel.applied() };
                catalog.meta_put(&applied::own_key(&channel.name), &applied.encode())?;
                channel.note_applied(|now| *now = applied);
            }
        }
        let mut retained = self.retained.lock();
        catalog.meta_delete(RETAINED)?;
        *retained = GtidSet::default();
        Ok(())
    }

    /// A source waits for our acks.
    pub fn is_semi_sync(&self) -> bool {
        self.channels.read().values().any(|channel| channel.status.receiver.lock().semi_sync)
    }

    /// `gtid_executed`: all that any channel has applied.
    pub fn executed(&self) -> GtidSet {
        let channels = self.channels.read();
        let mut all = self.retained.lock().clone();
        channels.values().for_each(|channel| channel.with_applied(|applied| all.union(&applied.executed)));
        all
    }

    /// Whether a transaction of a source is here already, by whichever channel.
    pub fn has_executed(&self, gtid: &Gtid) -> bool {
        let has = |set: &GtidSet| set.contains(gtid.source, &gtid.tag, gtid.number);
        let channels = self.channels.read();
        has(&self.retained.lock()) || channels.values().any(|channel| channel.with_applied(|applied| has(&applied.executed)))
    }

    /// An applier begins a transaction, which is its own until `give_back`; false: another one carries it out.
    pub fn own(&self, gtid: &Gtid) -> bool {
        let mut owned = self.owned.lock();
        let is_free = !owned.contains(gtid.source, &gtid.tag, gtid.number);
        if is_free {
            owned.add(gtid.source, gtid.tag.clone(), (gtid.number, gtid.number));
        }
        is_free
    }

    /// These are committed, or will not be.
    pub fn give_back(&self, gtids: &GtidSet) {
        let mut owned = self.owned.lock();
        *owned = owned.subtract(gtids);
    }

    /// Starts all channels, as at the server's start unless `skip_replica_start`. What cannot be started is told in the log.
    pub fn start_all(&self) {
        let Some(threads) = self.threads() else { return };
        for channel in self.list().into_iter().filter(|channel| !channel.config().host.is_empty()) {
            let _operation = channel.operation.lock();
            if let Err(error) = threads.start(&channel, Threads::BOTH, Until::Never) {
                tracing::error!("the replication channel '{}' cannot be started: {}", channel.name, error.message());
            }
        }
    }

    /// Ends the threads of all channels, at the server's end.
    pub fn stop_all(&self) {
        let Some(threads) = self.threads() else { return };
        for channel in self.list() {
            let _operation = channel.operation.lock();
            if let Err(error) = threads.stop(&channel, Threads::BOTH) {
                tracing::error!("the replication channel '{}' cannot be stopped: {}", channel.name, error.message());
            }
        }
    }

    /// Counts what any channel has applied since the start.
    pub fn progress(&self) -> u64 {
        *self.progress.count.lock()
    }

    /// Sleeps until something is applied beyond the count `seen`, at most until `until`.
    pub fn wait_for_progress(&self, seen: u64, until: Instant) {
        let mut count = self.progress.count.lock();
        if *count == seen {
            self.progress.more.wait_until(&mut count, until);
        }
    }
}

fn damaged(what: &str) -> Error {
    Error::internal(format_args!("{what} is damaged"))
}
