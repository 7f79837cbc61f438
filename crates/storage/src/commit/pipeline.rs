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

use super::active::ActiveTransactions;
use super::counters::{CounterChange, Counters};
use super::records::Records;
use super::request::{CommitRequest, CommitStart, CommitWaiter, Touched};
use crate::base::hooks::{EngineHooks, LogLevel};
use crate::base::kill_points::kill_point;
use crate::base::options::FlushMode;
use crate::base::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use crate::base::sync::thread::{self, JoinHandle};
use crate::base::sync::{Condvar, Mutex};
use crate::cache::recent::{ANNOUNCED, Recent};
use crate::cache::span_cache::SpanCache;
use crate::locks::LockManager;
use crate::rocks::{Db, SortedFiles, disk_full_error};

/// How logging and applying a group went, and the number of its last write. An error: nothing was written since that number.
type Logged = (Result<()>, u64);

/// Bytes of requests that one group takes; more wait for the next sync.
const GROUP_BYTES_MAX: usize = 8 << 20;
/// A process that must end waits no longer for its log.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);

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
        let mut records = std::mem::replace(&mut request.records, Records::default());
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
            let mut records = std::mem::replace(&mut alone.request.records, Records::default());
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
        if !records.is_empty() {
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
            Touched::Keys(hashes) => hashes.iter().for_each(|&hash| self.recent.note(hash, sequence)),
            Touched::Any => self.recent.note_all(sequence),
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
