//! The binary log of this server: what commits tell it, its files and positions, and its readers.
//!
//! | module | what it does |
//! |---|---|
//! | `entries` | what a transaction tells the log, and what its commit brings to the leader |
//! | `rows`, `render` | rows and statements as events, on the transaction's thread |
//! | `stage`, `writer` | places, GTIDs and files, on the leader's |
//! | `start` | where the log ended |
//! | `place` | keys and values under which events are stored |
//! | `reader` | events in their order |
//! | `source` | the log as its readers see it |
//! | `dump` | what replicas are sent |
//! | `semi_sync` | commits that wait until replicas have them |
//! | `statements` | what statements show of it, and do with it |
//!
//! The events of a commit are in the batch of its rows, in a family of their own: either both are there after a crash or none. A file of MySQL's log
//! is here the keys with its number, so that `binlog.000001`, positions and sizes are what clients expect.
//!
//! * LOG-2: the order of the log is the order of commits, and within a group that of its transactions: only the leader adds to it (COMMIT-1).
//! * LOG-3: nothing is given to a reader before it is as durable as `innodb_flush_log_at_trx_commit` asks: `end` moves after the write.
//! * LOG-4: a GTID is in `executed` when its transaction is in the log, and the other way round.
//! * LOG-5: what is ingested (a large transaction) is in the log if it is in the data: the batch for the log is stored before (`pending`), and
//!   a start writes it if the files are there (`LOG_PLACE`) and forgets it if not.

mod commits;
pub mod dump;
pub mod entries;
#[cfg(test)]
mod golden_rows;
mod place;
mod reader;
mod render;
#[cfg(test)]
mod render_tests;
mod rows;
pub mod semi_sync;
#[cfg(test)]
mod semi_sync_tests;
mod settings;
pub mod source;
mod stage;
mod start;
mod statements;
#[cfg(test)]
mod test_source;
#[cfg(test)]
mod told_tests;
mod writer;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use vaquita_storage::now_us;
use vaquita_storage::{Family, LogBuffer, LogStore, Records, RocksLog, Store, meta_key};
use vaquita_types::gtid::GtidSet;
use vaquita_types::{Error, Result};

use entries::{Control, kind};
pub use place::{BASE_NAME, FIRST_POS, Place, Servers, file_name, file_number};
use place::{Entry, extent_file_key, extent_key, numbers_of_extent_key};
pub use reader::{LogEvent, LogReader};
use semi_sync::SemiSync;
pub use settings::GlobalSettings;
pub use statements::LogStatements;
pub use writer::LogSettings;
use writer::{Group, State, Writer, state_key};

/// Wakes who waits.
pub type Wake = dyn Fn() + Send + Sync;

/// How the log is written at the moment.
pub trait Settings: Send + Sync {
    fn now(&self) -> Arc<LogSettings>;
}

pub struct BinaryLog {
    rocks: RocksLog,
    store: LogStore,
    settings: OnceLock<Arc<dyn Settings>>,
    leader: Mutex<Leader>,
    /// Files are written: `begin` was called, and `stop` was not. It changes while `leader` is locked.
    open: AtomicBool,
    published: Mutex<Published>,
    grown: Condvar,
    /// Readers that sleep.
    waiting: AtomicU64,
    /// Readers that wait for something else as well.
    watchers: Mutex<Vec<Weak<Wake>>>,
    watching: AtomicU64,
    pub semi_sync: SemiSync,
    /// What waits for replicas and is not seen, in the order of the log: where a group ends, and its GTIDs.
    hidden: Arc<Mutex<VecDeque<(Place, GtidSet)>>>,
    next_extent: AtomicU64,
    /// GTIDs for connections that want to know those of their transactions.
    reported: Mutex<HashMap<u32, GtidSet>>,
    rows: rows::RowWriter,
}

/// What the leader alone changes.
#[derive(Default)]
struct Leader {
    writer: Writer,
    executed: GtidSet,
}

/// What readers may see.
#[derive(Default)]
struct Published {
    end: Place,
    servers: Servers,
    executed: GtidSet,
    /// Of these, what was never in the log.
    elsewhere: GtidSet,
}

/// A file of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    pub number: u32,
    pub name: String,
    pub bytes: u64,
    /// What was executed before it.
    pub previous: GtidSet,
    /// Seconds since 1970.
    pub began: u32,
    /// The last transactions of servers before it.
    pub servers: Servers,
}

/// What is executed and was never in the log.
fn elsewhere_key() -> Vec<u8> {
    meta_key(b"binlog/elsewhere")
}

impl BinaryLog {
    /// Finds where the log ends, at the start of the server, before anything is committed.
    pub fn open(rocks: RocksLog, store: LogStore) -> Result<Arc<BinaryLog>> {
        start::settle_pending(&store)?;
        let state = match store.get(Family::Catalog, &state_key())? {
            Some(value) => State::decode(&value)?,
            None => State::default(),
        };
        let (writer, executed) = start::go_on(&store, state)?;
        let (end, servers) = (writer.place, writer.servers.clone());
        let elsewhere = match store.get(Family::Catalog, &elsewhere_key())? {
            Some(value) => GtidSet::decode(&value).map_err(|_| entries::damaged())?,
            None => GtidSet::default(),
        };
        let next_extent = start::clean_extents(&store)?;
        Ok(Arc::new(BinaryLog {
            rocks,
            store,
            settings: OnceLock::new(),
            open: AtomicBool::new(false),
            leader: Mutex::new(Leader { writer, executed: executed.clone() }),
            published: Mutex::new(Published { end, servers, executed, elsewhere }),
            grown: Condvar::new(),
            waiting: AtomicU64::new(0),
            watchers: Mutex::default(),
            watching: AtomicU64::new(0),
            semi_sync: SemiSync::default(),
            hidden: Arc::default(),
            next_extent: AtomicU64::new(next_extent),
            reported: Mutex::default(),
            rows: rows::RowWriter,
        }))
    }

    /// Begins the file of this run of the server. `executed`: what was executed without being logged.
    pub fn begin(&self, settings: Arc<dyn Settings>, executed: &GtidSet) -> Result<()> {
        let now = settings.now();
        let _ = self.settings.set(settings);
        self.add_executed(executed)?;
        let mut leader = self.leader.lock();
        let number = place::next_file(leader.writer.place.file)?;
        let mut records = Records::with_capacity(0);
        let mut writer = leader.writer.clone();
        let (mut added, now_us) = (Vec::new(), now_us());
        let mut group =
            Group { records: &mut records, settings: &now, executed: &mut leader.executed, added: &mut added, now_us };
        writer.begin_file(number, (now_us / 1_000_000) as u32, &mut group);
        self.store.write(records.as_batch(), true)?;
        leader.writer = writer;
        self.open.store(true, Ordering::Release);
        self.publish(&leader);
        self.semi_sync.configure(now.semi_sync);
        Ok(())
    }

    /// Variables have changed of which more depends than what is logged next.
    pub fn settings_changed(&self) {
        if self.is_open() {
            self.semi_sync.configure(self.now().semi_sync);
        }
    }

    /// How the log is written; nothing is told before `begin`.
    fn now(&self) -> Arc<LogSettings> {
        self.settings.get().map_or_else(Arc::default, |settings| settings.now())
    }

    /// Ends the file, when nothing is committed any more.
    fn stop(&self) -> Result<()> {
        let mut leader = self.leader.lock();
        let Some(settings) = self.settings.get().filter(|_| self.is_open()) else { return Ok(()) };
        self.open.store(false, Ordering::Release);
        let mut records = Records::with_capacity(0);
        let mut writer = leader.writer.clone();
        let mut group = Group {
            records: &mut records,
            settings: &settings.now(),
            executed: &mut leader.executed,
            added: &mut Vec::new(),
            now_us: now_us(),
        };
        writer.stop(&mut group);
        self.store.write(records.as_batch(), true)?;
        leader.writer = writer;
        self.publish(&leader);
        Ok(())
    }

    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    fn publish(&self, leader: &Leader) {
        let mut published = self.published.lock();
        published.end = leader.writer.place;
        published.servers.clone_from(&leader.writer.servers);
        published.executed.clone_from(&leader.executed);
        drop(published);
        self.tell_grown();
    }

    /// `end` has moved.
    fn tell_grown(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.grown.notify_all();
        }
        if self.watching.load(Ordering::SeqCst) > 0 {
            let mut watchers = self.watchers.lock();
            watchers.retain(|watcher| watcher.upgrade().map(|wake| wake()).is_some());
            self.watching.store(watchers.len() as u64, Ordering::SeqCst);
        }
    }

    /// Calls `wake` whenever the log has grown, until it is dropped.
    pub fn watch(&self, wake: &Arc<Wake>) {
        let mut watchers = self.watchers.lock();
        watchers.push(Arc::downgrade(wake));
        self.watching.store(watchers.len() as u64, Ordering::SeqCst);
    }

    /// Behind the last event that may be read.
    pub fn end(&self) -> Place {
        self.published.lock().end
    }

    /// The last transaction of each server, as MariaDB counts them.
    pub fn servers(&self) -> Servers {
        self.published.lock().servers.clone()
    }

    /// All that is in the log, was in it, or counts as executed all the same.
    pub fn executed(&self) -> GtidSet {
        self.published.lock().executed.clone()
    }

    /// `gtid_executed`: of these, what readers see.
    pub fn visible(&self) -> GtidSet {
        // First: what is shown meanwhile is in neither, or was hidden when it was looked for.
        let hidden = self.hidden.lock();
        let mut executed = self.executed();
        for (_, gtids) in hidden.iter() {
            executed = executed.subtract(gtids);
        }
        executed
    }

    /// What is executed and not in the log.
    pub fn purged(&self) -> Result<GtidSet> {
        let Some(file) = self.first_file()? else { return Ok(self.executed()) };
        let mut purged = file.previous;
        purged.union(&self.published.lock().elsewhere);
        Ok(purged)
    }

    /// These count as executed from now on (SET GLOBAL gtid_purged).
    pub fn add_executed(&self, gtids: &GtidSet) -> Result<()> {
        let mut leader = self.leader.lock();
        let new = gtids.subtract(&leader.executed);
        if new.is_empty() {
            return Ok(());
        }
        let mut elsewhere = self.published.lock().elsewhere.clone();
        elsewhere.union(&new);
        let (mut value, mut records) = (Vec::new(), Records::with_capacity(0));
        elsewhere.encode(&mut value);
        records.put(Family::Catalog, &elsewhere_key(), &value);
        self.store.write(records.as_batch(), true)?;
        leader.executed.union(&new);
        let mut published = self.published.lock();
        published.executed.union(&new);
        published.elsewhere = elsewhere;
        Ok(())
    }

    /// Sleeps until the log is beyond `seen`; false: it was not until then.
    pub fn wait_beyond(&self, seen: Place, until: Instant) -> bool {
        let mut published = self.published.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while published.end <= seen {
            if self.grown.wait_until(&mut published, until).timed_out() {
                break;
            }
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        published.end > seen
    }

    /// Oldest first.
    pub fn files(&self) -> Result<Vec<LogFile>> {
        let end = self.end();
        let mut files = Vec::new();
        let mut next = self.first_file()?;
        while let Some(file) = next {
            let number = file.number;
            files.push(file);
            next = if number < end.file { self.file_from(place::next_file(number)?, end)? } else { None };
        }
        Ok(files)
    }

    fn first_file(&self) -> Result<Option<LogFile>> {
        self.file_from(0, self.end())
    }

    /// The first file from this number on.
    fn file_from(&self, number: u32, end: Place) -> Result<Option<LogFile>> {
        let mut cursor = self.store.cursor(&Place { file: number, pos: 0 }.key(), &end.key());
        let Some((key, value)) = cursor.seek(&Place { file: number, pos: 0 }.key())? else { return Ok(None) };
        let place = Place::of_key(key)?;
        let entry = Entry::decode(value)?;
        let servers = entry.servers.clone();
        let (previous, began) = reader::read_beginning(entry)?;
        let bytes = if place.file == end.file { end.pos } else { self.file_bytes(place.file)? };
        Ok(Some(LogFile { number: place.file, name: file_name(place.file), bytes, previous, began, servers }))
    }

    /// Of a file that has ended.
    fn file_bytes(&self, number: u32) -> Result<u64> {
        let (lower, upper) = (Place { file: number, pos: 0 }, Place { file: place::next_file(number)?, pos: 0 });
        let mut cursor = self.store.cursor(&lower.key(), &upper.key());
        let Some((key, value)) = cursor.seek_to_last()? else { return Ok(0) };
        Ok(Place::of_key(key)?.pos.max(FIRST_POS) + Entry::decode(value)?.bytes()?)
    }

    /// Where the transaction ends that is the `nth` of a file, counted from 1, and the server that it is of. `None`: there is none.
    ///
    /// The transactions of a file are numbered in their order, so that they need not be read one by one.
    pub fn end_of_transaction(&self, file: u32, nth: u64) -> Result<Option<(Place, u32)>> {
        let end = self.end();
        let upper = match file == end.file {
            true => end,
            false => Place { file: place::next_file(file)?, pos: 0 },
        };
        let bytes = if file == end.file { end.pos } else { self.file_bytes(file)? };
        let (mut low, mut high) = (FIRST_POS + 1, bytes);
        let mut cursor = self.store.cursor(&Place { file, pos: 0 }.key(), &upper.key());
        while low < high {
            let middle = low + (high - low) / 2;
            let Some((key, value)) = cursor.seek(&Place { file, pos: middle }.key())? else {
                high = middle;
                continue;
            };
            let (at, entry) = (Place::of_key(key)?, Entry::decode(value)?);
            match reader::number_in_file(&entry)? {
                Some((number, server)) if number == nth => {
                    return Ok(Some((Place { file, pos: at.pos + entry.bytes()? }, server)));
                }
                Some((number, _)) if number < nth => low = at.pos + 1,
                _ => high = middle,
            }
        }
        Ok(None)
    }

    /// A reader from an event on; position 0 or 4 is the start of the file. Error 1236 if there is no such place.
    pub fn reader(self: &Arc<BinaryLog>, from: Place) -> Result<LogReader> {
        LogReader::open(Arc::clone(self), from)
    }

    /// PURGE BINARY LOGS: files before this one go.
    pub fn purge_before(&self, file: u32) -> Result<()> {
        self.remove_before(file.min(self.end().file))
    }

    /// Removes files with what large transactions of them have; what has not been committed stays.
    fn remove_before(&self, file: u32) -> Result<()> {
        let (lower, upper) = (extent_file_key(0, 0), extent_file_key(file, 0));
        let mut extents = Vec::new();
        let mut cursor = self.store.cursor(&lower, &upper);
        let mut next = cursor.seek(&lower)?;
        while let Some((key, _)) = next {
            extents.push(numbers_of_extent_key(key)?.1);
            next = cursor.advance()?;
        }
        self.store.delete_range(&Place::default().key(), &Place { file, pos: 0 }.key())?;
        for extent in extents {
            self.store.delete_range(&extent_key(extent, 0), &extent_key(extent + 1, 0))?;
        }
        self.store.delete_range(&lower, &upper)
    }

    /// FLUSH BINARY LOGS: the next file begins.
    pub fn rotate(&self, store: &Store) -> Result<()> {
        self.control(store, Control::Rotate)
    }

    /// RESET BINARY LOGS AND GTIDS: nothing stays.
    pub fn reset(&self, store: &Store, first: u32) -> Result<()> {
        self.control(store, Control::Reset { first: first.max(1) })
    }

    fn control(&self, store: &Store, control: Control) -> Result<()> {
        let mut told = LogBuffer::default();
        told.push(kind::CONTROL, None, |out| {
            control.encode(out);
            Ok::<_, Error>(())
        })?;
        store.commit_told(&told)
    }
}
