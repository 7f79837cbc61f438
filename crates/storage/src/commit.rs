//! The commit pipeline: prepare → certify → log → apply → publish, in groups.
//!
//! 1. *prepare*: a transaction turns its write set into batch records on its own thread.
//! 2. *certify*: first committer wins was settled when rows were locked (`txn`); the place for a
//!    cluster's certification.
//! 3. *log* and *apply*: a leader joins the queued requests and their counters into one RocksDB
//!    batch and writes it with one sync.
//!    A request with files (`txn::spilled`) is committed alone: its counters become one more file, and the files part of the
//!    data in one step. Catalog records follow in a batch of their own, so without them the files must do no harm.
//!    Before the write the leader announces the keys to `Recent`: they may change at any moment.
//! 4. *publish*: the leader notes the sequence number of each key (`Recent`), releases the
//!    group's locks and completes its waiters.
//!
//! Leading: whoever finds nobody leading leads inline, so that one client commits without a
//! thread switch. If requests were queued meanwhile, the leader hands over to the committer
//! thread, which leads until the queue is empty; nobody's client waits for strangers' commits.
//!
//! Invariants:
//! * COMMIT-1: at most one leader (`Queue::led`), so batches reach the log one by one.
//! * COMMIT-2: a waiter is completed, and locks are released, only after the sync.
//! * COMMIT-3: `Recent` is updated before locks are released: who gets a lock next sees it.
//! * COMMIT-5: `Recent` and spans get the number under which RocksDB wrote the group (ROCKS-4).
//! * ROWS-1 (`row_cache`), SPANS-1 (`span_cache`): a key is announced before a write of it can be seen.
//! * COMMIT-4: the first failed write ends the process. What was not acknowledged may or may not
//!   be in the log; retrying a sync would lie. Only where the disk is full and certainly nothing of the group
//!   is in the log (`RocksError::file_without_space`), the group fails with error 1021 instead.

use std::sync::Arc;
use std::time::Duration;

use vaquita_types::errno::ER_SERVER_SHUTDOWN;
use vaquita_types::schema::TableId;
use vaquita_types::{Error, Result};

use crate::counters::{CounterChange, Counters};
use crate::engine::{ActiveTransactions, EngineHooks, FlushMode, LogLevel, disk_full_error};
use crate::kill_points::kill_point;
use crate::lock::{HeldLocks, LockManager, Owner};
use crate::rocks::{CATALOG_FAMILY_ID, Db, Family, SortedFiles};
use crate::span_cache::SpanCache;
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Condvar, Mutex, RECENT_SLOTS};

/// Called once, on the thread that completed the group, before `EngineHooks::group_completed`.
pub type CommitWaiter = Box<dyn FnOnce(Result<()>) + Send>;

/// How a commit went.
pub enum CommitStart {
    /// It is over: durable, or failed and rolled back.
    Done(Result<()>),
    /// The waiter will be called; the thread is free.
    Parked,
}

/// How logging and applying a group went, and the number of its last write. An error: nothing was written since that number.
type Logged = (Result<()>, u64);

/// Bytes of requests that one group takes; more wait for the next sync.
const GROUP_BYTES_MAX: usize = 8 << 20;
/// A process that must end waits no longer for its log.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);

/// Writes in the form of a RocksDB batch:
///
/// | OFFSET | SIZE | DESCRIPTION                                          |
/// |--------|------|------------------------------------------------------|
/// | 0      | 8    | sequence number, filled in by RocksDB                |
/// | 8      | 4    | number of records, u32 LE                            |
/// | 12     |      | records: tag, \[family id\], key, \[value\]          |
///
/// Tags: 0 delete, 1 put in the default family; 4 and 5 the same with a family id. Ids and
/// lengths are varint32. (RocksDB, db/write_batch.cc.)
pub struct Records {
    bytes: Vec<u8>,
    count: u32,
}

const HEADER_BYTES: usize = 12;
const TAG_DELETE: u8 = 0;
const TAG_PUT: u8 = 1;
const TAG_FAMILY_DELETE: u8 = 4;
const TAG_FAMILY_PUT: u8 = 5;

impl Records {
    pub fn with_capacity(bytes: usize) -> Records {
        let mut buffer = Vec::with_capacity(HEADER_BYTES + bytes);
        buffer.resize(HEADER_BYTES, 0);
        Records { bytes: buffer, count: 0 }
    }

    /// A value, or `None` for a deletion.
    pub fn write(&mut self, family: Family, key: &[u8], write: Option<&[u8]>) {
        match write {
            Some(value) => self.put(family, key, value),
            None => self.delete(family, key),
        }
    }

    pub fn put(&mut self, family: Family, key: &[u8], value: &[u8]) {
        self.tag(family, TAG_PUT, TAG_FAMILY_PUT);
        self.slice(key);
        self.slice(value);
    }

    pub fn delete(&mut self, family: Family, key: &[u8]) {
        self.tag(family, TAG_DELETE, TAG_FAMILY_DELETE);
        self.slice(key);
    }

    fn tag(&mut self, family: Family, default: u8, other: u8) {
        self.count += 1;
        match family {
            Family::Data => self.bytes.push(default),
            Family::Catalog => {
                self.bytes.push(other);
                self.varint(CATALOG_FAMILY_ID);
            }
        }
    }

    fn slice(&mut self, bytes: &[u8]) {
        // Keys and values are bounded far below 4 GiB by max_allowed_packet.
        self.varint(bytes.len() as u32);
        self.bytes.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut n: u32) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }

    /// The writes of the data family, in the order given.
    pub fn writes(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let mut rest = self.bytes.get(HEADER_BYTES..).unwrap_or(&[]);
        std::iter::from_fn(move || {
            loop {
                let (&tag, after) = rest.split_first()?;
                rest = after;
                let is_data = matches!(tag, TAG_DELETE | TAG_PUT);
                if !is_data {
                    take_varint(&mut rest)?;
                }
                let key = take_slice(&mut rest)?;
                let value = if matches!(tag, TAG_PUT | TAG_FAMILY_PUT) { Some(take_slice(&mut rest)?) } else { None };
                if is_data {
                    return Some((key, value));
                }
            }
        })
    }

    pub fn append(&mut self, other: &Records) {
        self.bytes.extend_from_slice(&other.bytes[HEADER_BYTES..]);
        self.count += other.count;
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The batch, with its count in place.
    pub(crate) fn as_batch(&mut self) -> &[u8] {
        self.bytes[8..HEADER_BYTES].copy_from_slice(&self.count.to_le_bytes());
        &self.bytes
    }
}

/// A length and as many bytes from the front of a batch.
fn take_slice<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let len = take_varint(rest)?;
    let (slice, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(slice)
}

fn take_varint(rest: &mut &[u8]) -> Option<usize> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
        shift = (shift + 7) & 63;
    }
}

/// The sequence number of the last commit of each key, by hash: what first committer wins is
/// decided by. A slot may be newer than a key that shares it with others, never older; while a commit of such a key is being
/// written, it is `ANNOUNCED`.
pub struct Recent {
    slots: Box<[AtomicU64]>,
}

impl Recent {
    fn new() -> Recent {
        Recent { slots: (0..RECENT_SLOTS).map(|_| AtomicU64::new(0)).collect() }
    }

    /// False: certainly not committed after `sequence`, as far as anybody has seen.
    pub fn may_be_after(&self, key: &[u8], sequence: u64) -> bool {
        self.hash_may_be_after(crate::lock::hash(key), sequence)
    }

    /// The same for the key's hash.
    pub fn hash_may_be_after(&self, hash: u64, sequence: u64) -> bool {
        self.slot(hash).load(Ordering::Acquire) > sequence
    }

    fn slot(&self, hash: u64) -> &AtomicU64 {
        &self.slots[(hash >> 24) as usize & (RECENT_SLOTS - 1)]
    }
}

/// Later than all commits.
pub const ANNOUNCED: u64 = u64::MAX;

/// What a transaction leaves with the pipeline.
pub struct CommitRequest {
    pub records: Records,
    pub touched: Touched,
    /// Data that goes around the log.
    pub files: Option<SortedFiles>,
    pub counters: Vec<(TableId, CounterChange)>,
    pub owner: Option<Arc<Owner>>,
    pub held: HeldLocks,
}

/// The data keys that a commit changes.
pub enum Touched {
    /// By their hashes.
    Keys(Vec<u64>),
    /// Too many to name.
    Any,
}

struct Queued {
    request: CommitRequest,
    waiter: CommitWaiter,
}

#[derive(Default)]
struct Queue {
    requests: Vec<Queued>,
    /// Somebody leads: a committing thread, or the committer.
    led: bool,
    /// The leader left the rest to the committer.
    handed_over: bool,
    shut_down: bool,
}

pub struct Pipeline {
    db: Arc<Db>,
    locks: Arc<LockManager>,
    counters: Arc<Counters>,
    active: Arc<ActiveTransactions>,
    hooks: Arc<dyn EngineHooks>,
    recent: Recent,
    spans: SpanCache,
    flush_mode: AtomicU8,
    queue: Mutex<Queue>,
    committer_wake: Condvar,
    /// A leader gave up leading.
    idle: Condvar,
    groups: AtomicU64,
    commits: AtomicU64,
    /// The last group was refused, because the log could not grow.
    refusing: AtomicBool,
}

impl Pipeline {
    pub fn new(
        db: Arc<Db>,
        locks: Arc<LockManager>,
        counters: Arc<Counters>,
        active: Arc<ActiveTransactions>,
        hooks: Arc<dyn EngineHooks>,
        spans: SpanCache,
        flush_mode: FlushMode,
    ) -> Pipeline {
        Pipeline {
            db,
            locks,
            counters,
            active,
            hooks,
            recent: Recent::new(),
            spans,
            flush_mode: AtomicU8::new(flush_mode as u8),
            queue: Mutex::default(),
            committer_wake: Condvar::new(),
            idle: Condvar::new(),
            groups: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            refusing: AtomicBool::new(false),
        }
    }

    pub fn start_committer(self: &Arc<Pipeline>) -> std::io::Result<JoinHandle<()>> {
        let pipeline = Arc::clone(self);
        thread::Builder::new().name("committer".into()).spawn(move || pipeline.run_committer())
    }

    pub fn recent(&self) -> &Recent {
        &self.recent
    }

    pub fn spans(&self) -> &SpanCache {
        &self.spans
    }

    pub fn flush_mode(&self) -> FlushMode {
        match self.flush_mode.load(Ordering::Relaxed) {
            0 => FlushMode::EachSecond,
            2 => FlushMode::WriteEachCommit,
            _ => FlushMode::SyncEachCommit,
        }
    }

    pub fn set_flush_mode(&self, mode: FlushMode) {
        self.flush_mode.store(mode as u8, Ordering::Relaxed);
    }

    /// Groups and commits so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.groups.load(Ordering::Relaxed), self.commits.load(Ordering::Relaxed))
    }

    /// Commits inline, or queues the request for the leader.
    pub fn submit(&self, request: CommitRequest, waiter: impl FnOnce() -> CommitWaiter) -> CommitStart {
        let mut queue = self.queue.lock();
        if queue.shut_down {
            drop(queue);
            self.finish(request);
            return CommitStart::Done(Err(Error::new(&ER_SERVER_SHUTDOWN, &[])));
        }
        if queue.led {
            queue.requests.push(Queued { request, waiter: waiter() });
            kill_point("commit.queued");
            return CommitStart::Parked;
        }
        queue.led = true;
        drop(queue);
        let mut request = Some(request);
        let mut done = Ok(());
        let mut commit = || {
            if let Some(request) = request.take() {
                done = self.commit_one(request);
            }
        };
        if self.flush_mode() == FlushMode::SyncEachCommit {
            self.hooks.blocking(&mut commit);
        } else {
            commit();
        }
        let mut queue = self.queue.lock();
        if queue.requests.is_empty() {
            queue.led = false;
            self.idle.notify_all();
        } else {
            queue.handed_over = true;
            self.committer_wake.notify_one();
            kill_point("commit.handed-over");
        }
        CommitStart::Done(done)
    }

    fn commit_one(&self, mut request: CommitRequest) -> Result<()> {
        kill_point("commit.leading");
        let mut records = std::mem::replace(&mut request.records, Records { bytes: Vec::new(), count: 0 });
        self.announce(&request);
        let (done, sequence) = match request.files.take() {
            Some(files) => self.ingest(files, &mut records, &request.counters),
            None => self.log_and_apply(&mut records, request.counters.iter()),
        };
        self.note(&request, sequence);
        self.spans.note(sequence, done.is_ok());
        if let Err(e) = done {
            self.finish(request);
            return Err(e);
        }
        kill_point("commit.noted");
        self.finish(request);
        kill_point("commit.released");
        self.count(1);
        Ok(())
    }

    fn commit_group(&self, mut group: Vec<Queued>) {
        group.iter().for_each(|q| self.announce(&q.request));
        if let [alone] = &mut group[..]
            && let Some(files) = alone.request.files.take()
        {
            let mut records = std::mem::replace(&mut alone.request.records, Records { bytes: Vec::new(), count: 0 });
            let done = self.ingest(files, &mut records, &alone.request.counters);
            return self.end_group(group, done);
        }
        let bytes = group.iter().map(|q| q.request.records.bytes()).sum();
        let mut records = Records::with_capacity(bytes);
        group.iter().for_each(|q| records.append(&q.request.records));
        kill_point("group.gathered");
        let done = self.log_and_apply(&mut records, group.iter().flat_map(|q| q.request.counters.iter()));
        self.end_group(group, done);
    }

    fn end_group(&self, group: Vec<Queued>, (done, sequence): Logged) {
        group.iter().for_each(|q| self.note(&q.request, sequence));
        self.spans.note(sequence, done.is_ok());
        if let Err(e) = done {
            for queued in group {
                self.finish(queued.request);
                (queued.waiter)(Err(e.clone()));
            }
            return self.hooks.group_completed();
        }
        kill_point("group.noted");
        self.count(group.len() as u64);
        for (n, queued) in group.into_iter().enumerate() {
            self.finish(queued.request);
            (queued.waiter)(Ok(()));
            if n == 0 {
                kill_point("group.first-acknowledged");
            }
        }
        kill_point("group.acknowledged");
        self.hooks.group_completed();
        kill_point("group.completed");
    }

    fn log_and_apply<'a>(
        &self,
        records: &mut Records,
        counters: impl Iterator<Item = &'a (TableId, CounterChange)> + Clone,
    ) -> Logged {
        if let Err(e) = self.counters.log(counters.clone(), records) {
            self.die(&format!("cannot read a counter: {}", e.message()));
        }
        kill_point("commit.counted");
        self.spans.announce(records.writes(), self.db.latest_sequence());
        let sync = self.flush_mode() == FlushMode::SyncEachCommit;
        let (done, sequence) = self.db.write(records.as_batch(), sync);
        if let Err(e) = done {
            let Some(file) = e.file_without_space() else { self.die(&format!("cannot write the log: {}", e.0)) };
            return (Err(self.refuse(file, counters)), sequence);
        }
        if self.refusing.load(Ordering::Relaxed) {
            self.refusing.store(false, Ordering::Relaxed);
            self.hooks.log(LogLevel::Warning, "the log can be written again: commits go on");
        }
        kill_point("commit.logged");
        (Ok(()), sequence)
    }

    /// What the group did to counters is undone; the error for its clients.
    fn refuse<'a>(&self, file: &str, counters: impl Iterator<Item = &'a (TableId, CounterChange)>) -> Error {
        if let Err(e) = self.counters.undo(counters) {
            self.die(&format!("cannot read a counter: {}", e.message()));
        }
        if !self.refusing.swap(true, Ordering::Relaxed) {
            let text = format!("disk full: commits fail until {file} can be written");
            self.hooks.log(LogLevel::Warning, &text);
        }
        disk_full_error(&file)
    }

    /// An error: nothing was written.
    fn ingest(&self, mut files: SortedFiles, records: &mut Records, changes: &[(TableId, CounterChange)]) -> Logged {
        let mut counters = Records::with_capacity(0);
        if let Err(e) = self.counters.log(changes.iter(), &mut counters) {
            self.die(&format!("cannot read a counter: {}", e.message()));
        }
        kill_point("ingest.counted");
        self.spans.announce_all();
        // The files are synced: what they were made from must not be lost before them.
        let ready = self.db.flush_log(true).and_then(|()| files.add_first(counters.writes()));
        let (done, mut sequence) = match ready {
            Ok(()) => self.db.ingest(files),
            Err(e) => (Err(e), self.db.settled_sequence()),
        };
        if let Err(e) = done {
            let earlier = e.is_earlier_failure().then_some("the log");
            match e.file_without_space().or(earlier) {
                Some(file) => return (Err(self.refuse(file, changes.iter())), sequence),
                None => self.die(&format!("cannot commit files: {}", e.0)),
            }
        }
        kill_point("ingest.applied");
        if records.count > 0 {
            let (done, last) = self.db.write(records.as_batch(), true);
            if let Err(e) = done {
                self.die(&format!("cannot write the log: {}", e.0));
            }
            sequence = last;
        }
        kill_point("ingest.finished");
        (Ok(()), sequence)
    }

    /// COMMIT-4. The log is told by a thread of its own: neither a log that blocks nor one that panics keeps the process alive.
    fn die(&self, what: &str) -> ! {
        let text = format!("{what}. The server stops now so that nothing is acknowledged that may not be stored");
        let hooks = self.hooks.clone();
        let (told, wait) = std::sync::mpsc::channel();
        let teller = std::thread::Builder::new().name("last words".into()).spawn(move || {
            hooks.log(LogLevel::Error, &text);
            let _ = told.send(());
        });
        if teller.is_ok() {
            let _ = wait.recv_timeout(LAST_WORDS_MAX);
        }
        std::process::abort()
    }

    /// ROWS-1. SPANS-1 is up to who has all keys.
    fn announce(&self, request: &CommitRequest) {
        self.note(request, ANNOUNCED);
    }

    /// Also after a failed write, which changed nothing: nothing has changed since then.
    fn note(&self, request: &CommitRequest, sequence: u64) {
        match &request.touched {
            Touched::Keys(hashes) => {
                for &hash in hashes {
                    self.recent.slot(hash).store(sequence, Ordering::Release);
                }
            }
            Touched::Any => self.recent.slots.iter().for_each(|slot| slot.store(sequence, Ordering::Release)),
        }
    }

    fn finish(&self, mut request: CommitRequest) {
        if let Some(owner) = &request.owner {
            self.locks.release_all(owner.id, &mut request.held);
            self.active.remove(owner.id);
        }
    }

    fn count(&self, commits: u64) {
        self.groups.fetch_add(1, Ordering::Relaxed);
        self.commits.fetch_add(commits, Ordering::Relaxed);
    }

    fn run_committer(&self) {
        let mut queue = self.queue.lock();
        loop {
            while !queue.handed_over {
                if queue.shut_down && !queue.led {
                    return;
                }
                self.committer_wake.wait(&mut queue);
            }
            while !queue.requests.is_empty() {
                let group = take_group(&mut queue.requests);
                drop(queue);
                self.commit_group(group);
                queue = self.queue.lock();
            }
            queue.handed_over = false;
            queue.led = false;
            self.idle.notify_all();
        }
    }

    /// Lets the queue run empty; later commits fail.
    pub fn shut_down(&self) {
        let mut queue = self.queue.lock();
        queue.shut_down = true;
        while queue.led {
            self.idle.wait(&mut queue);
        }
        self.committer_wake.notify_one();
    }
}

/// The first requests of the queue, up to `GROUP_BYTES_MAX` bytes but at least one; one with files alone.
fn take_group(requests: &mut Vec<Queued>) -> Vec<Queued> {
    let (mut bytes, mut files) = (0, false);
    let fits = requests.iter().take_while(|q| {
        let first = bytes == 0;
        bytes += q.request.records.bytes();
        let fits = first || (bytes <= GROUP_BYTES_MAX && !files && q.request.files.is_none());
        files |= q.request.files.is_some();
        fits
    });
    let count = fits.count();
    if count == requests.len() {
        return std::mem::take(requests);
    }
    let rest = requests.split_off(count);
    std::mem::replace(requests, rest)
}
