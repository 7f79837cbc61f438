//! The commit pipeline: prepare → certify → log → apply → publish, in groups.
//!
//! 1. *prepare*: a transaction turns its write set into batch records on its own thread.
//! 2. *certify*: the leader asks for each commit whether it may be logged (`Stages::certify`). First committer wins is not asked
//!    here: it was settled when rows were locked (`txn::isolation`).
//! 3. *log* and *apply* (`Stages::log`): the leader joins the records of the group and their counters into one batch, written with one sync.
//!    A request with files (`txn::spilled`) is alone in its group: its counters become one more file, and the files part of the
//!    data in one step.
//!    Before the write the leader announces the keys to `Recent`: they may change at any moment.
//! 4. *publish*: the leader notes the sequence number of each key (`Recent`), releases the
//!    group's locks and completes its waiters, or leaves both to whoever learns that others have the group (`held`).
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
//!   is in the log (`LogError::NoSpace`), the group fails with error 1021 instead.
//! * COMMIT-7: a commit that waits for others (`Stages::holds`) keeps its locks and its waiter, and nobody sees it (VISIBLE-1). The leader goes on.
//! * COMMIT-6: nothing of a commit that was refused by *certify* is announced, counted or logged; the others of its group go on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_types::errno::ER_SERVER_SHUTDOWN;
use vaquita_types::{Error, Result};

use super::active::ActiveTransactions;
use super::counters::Counters;
use super::held::Publisher;
use super::records::Records;
use super::request::{CommitRequest, CommitStart, CommitWaiter, Touched};
use super::stages::{Change, Content, Held, LogError, Stages};
use super::visible::{HiddenId, Visible};
use crate::base::hooks::{LogLevel, OperatorLog, Threads};
use crate::base::invariants::{CHECKED, holds};
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

impl Queue {
    fn check_invariants(&self) {
        holds(self.led || self.requests.is_empty(), "COMMIT-1: whoever is queued has a leader");
        holds(self.led || !self.handed_over, "COMMIT-1: the committer leads what was handed over");
    }
}

pub struct Pipeline {
    db: Arc<Db>,
    stages: Arc<dyn Stages>,
    counters: Arc<Counters>,
    publisher: Publisher,
    threads: Arc<dyn Threads>,
    operator_log: Arc<dyn OperatorLog>,
    recent: Recent,
    spans: SpanCache,
    flush_mode: AtomicU8,
    queue: Mutex<Queue>,
    committer_wake: Condvar,
    /// A leader gave up leading.
    idle: Condvar,
    groups: AtomicU64,
    commits: AtomicU64,
    /// Nanoseconds that the stage *log* took. Not of `base::sync`: the models have nothing to find out about it.
    log_ns: std::sync::atomic::AtomicU64,
    /// The last group was refused, because the log could not grow.
    refusing: AtomicBool,
}

/// What a pipeline is made of.
pub struct Parts {
    pub db: Arc<Db>,
    pub stages: Arc<dyn Stages>,
    pub locks: Arc<LockManager>,
    pub counters: Arc<Counters>,
    pub active: Arc<ActiveTransactions>,
    pub threads: Arc<dyn Threads>,
    pub operator_log: Arc<dyn OperatorLog>,
    pub spans: SpanCache,
}

impl Pipeline {
    pub fn new(parts: Parts, flush_mode: FlushMode) -> Pipeline {
        let Parts { db, stages, locks, counters, active, threads, operator_log, spans } = parts;
        Pipeline {
            db,
            stages,
            counters,
            publisher: Publisher { locks, active, threads: Arc::clone(&threads), visible: Arc::default() },
            threads,
            operator_log,
            recent: Recent::new(),
            spans,
            flush_mode: AtomicU8::new(flush_mode as u8),
            queue: Mutex::default(),
            committer_wake: Condvar::new(),
            idle: Condvar::new(),
            groups: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            log_ns: std::sync::atomic::AtomicU64::new(0),
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

    pub fn visible(&self) -> &Visible {
        &self.publisher.visible
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

    pub fn stages(&self) -> &dyn Stages {
        &*self.stages
    }

    /// Makes durable what was logged without a sync.
    pub fn sync_log(&self) -> std::result::Result<(), LogError> {
        self.stages.sync()
    }

    /// Groups and commits so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.groups.load(Ordering::Relaxed), self.commits.load(Ordering::Relaxed))
    }

    /// What all groups together have waited for the log.
    pub fn log_time(&self) -> Duration {
        Duration::from_nanos(self.log_ns.load(std::sync::atomic::Ordering::Relaxed))
    }

    /// Commits inline, or queues the request for the leader.
    pub fn submit(&self, request: CommitRequest, waiter: impl FnOnce() -> CommitWaiter) -> CommitStart {
        let mut queue = self.queue.lock();
        if queue.shut_down {
            drop(queue);
            self.publisher.finish(request);
            return CommitStart::Done(Err(Error::new(&ER_SERVER_SHUTDOWN, &[])));
        }
        if queue.led {
            queue.requests.push(Queued { request, waiter: waiter() });
            kill_point("commit.queued");
            return CommitStart::Parked;
        }
        queue.led = true;
        drop(queue);
        let mut alone = Some((request, waiter));
        let mut start = CommitStart::Done(Ok(()));
        let mut commit = || {
            if let Some((request, waiter)) = alone.take() {
                start = self.commit_one(request, waiter);
            }
        };
        if self.flush_mode() == FlushMode::SyncEachCommit {
            self.threads.blocking(&mut commit);
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
        if CHECKED {
            queue.check_invariants();
        }
        start
    }

    fn commit_one(&self, mut request: CommitRequest, waiter: impl FnOnce() -> CommitWaiter) -> CommitStart {
        kill_point("commit.leading");
        if let Err(refused) = self.stages.certify(&request) {
            self.publisher.finish(request);
            return CommitStart::Done(Err(refused));
        }
        let changes_data = request.changes_data();
        let mut records = std::mem::take(&mut request.records);
        self.announce(&request);
        let (done, sequence) = match request.files.take() {
            Some(files) => self.log_files(files, &mut records, &request),
            None => self.log_batch(&mut records, &[&request]),
        };
        self.note(&request, sequence);
        self.note_spans(sequence, done.is_ok());
        if let Err(e) = done {
            self.publisher.finish(request);
            return CommitStart::Done(Err(e));
        }
        kill_point("commit.noted");
        self.check_told(&request);
        self.count(1);
        let held = self.publisher.held(&*self.stages, &request, changes_data);
        if held != Held::Nothing {
            self.publisher.hold(&*self.stages, held, vec![(request, waiter())]);
            return CommitStart::Parked;
        }
        self.publisher.finish(request);
        kill_point("commit.released");
        CommitStart::Done(Ok(()))
    }

    fn commit_group(&self, group: Vec<Queued>) {
        let mut group = self.certify(group);
        if group.is_empty() {
            return self.threads.group_completed();
        }
        group.iter().for_each(|q| self.announce(&q.request));
        if let [alone] = &mut group[..]
            && let Some(files) = alone.request.files.take()
        {
            let mut records = std::mem::take(&mut alone.request.records);
            let done = self.log_files(files, &mut records, &alone.request);
            return self.end_group(group, done, true);
        }
        let bytes = group.iter().map(|q| q.request.records.bytes()).sum();
        let mut records = Records::with_capacity(bytes);
        group.iter().for_each(|q| records.append(&q.request.records));
        kill_point("group.gathered");
        let commits: Vec<&CommitRequest> = group.iter().map(|q| &q.request).collect();
        let done = self.log_batch(&mut records, &commits);
        self.end_group(group, done, false);
    }

    /// Stage *certify*: those of the group that go on. The others have their error (COMMIT-6).
    fn certify(&self, mut group: Vec<Queued>) -> Vec<Queued> {
        let mut at = 0;
        while let Some(queued) = group.get(at) {
            match self.stages.certify(&queued.request) {
                Ok(()) => at += 1,
                Err(refused) => {
                    let Queued { request, waiter } = group.remove(at);
                    self.publisher.finish(request);
                    waiter(Err(refused));
                }
            }
        }
        group
    }

    fn end_group(&self, group: Vec<Queued>, (done, sequence): Logged, by_files: bool) {
        group.iter().for_each(|q| self.note(&q.request, sequence));
        self.note_spans(sequence, done.is_ok());
        if let Err(e) = done {
            for queued in group {
                self.publisher.finish(queued.request);
                (queued.waiter)(Err(e.clone()));
            }
            return self.threads.group_completed();
        }
        kill_point("group.noted");
        self.count(group.len() as u64);
        let (mut waiting, mut waits) = (Vec::new(), Held::Nothing);
        for (n, Queued { request, waiter }) in group.into_iter().enumerate() {
            self.check_told(&request);
            let held = self.publisher.held(&*self.stages, &request, by_files || request.changes_data());
            if held != Held::Nothing {
                waits = held;
                waiting.push((request, waiter));
                continue;
            }
            self.publisher.finish(request);
            waiter(Ok(()));
            if n == 0 {
                kill_point("group.first-acknowledged");
            }
        }
        if !waiting.is_empty() {
            self.publisher.hold(&*self.stages, waits, waiting);
        }
        kill_point("group.acknowledged");
        self.threads.group_completed();
        kill_point("group.completed");
    }

    /// Stages *log* and *apply* of a group without files.
    fn log_batch(&self, records: &mut Records, commits: &[&CommitRequest]) -> Logged {
        self.count_rows(commits, records);
        kill_point("commit.counted");
        self.spans.announce(records.writes(), self.db.latest_sequence());
        if CHECKED {
            self.spans.check_announced(records.writes());
        }
        let sync = self.flush_mode() == FlushMode::SyncEachCommit;
        let hidden = self.hide(commits);
        let began = Instant::now();
        let (done, sequence) = self.stages.log(Change { commits, content: Content::Batch(records) }, sync);
        self.log_ns.fetch_add(began.elapsed().as_nanos() as u64, std::sync::atomic::Ordering::Relaxed);
        if let Err(e) = done {
            hidden.into_iter().for_each(|id| self.visible().forget(id));
            return (Err(self.refuse(e, commits)), sequence);
        }
        if self.refusing.load(Ordering::Relaxed) {
            self.refusing.store(false, Ordering::Relaxed);
            self.operator_log.log(LogLevel::Warning, "the log can be written again: commits go on");
        }
        kill_point("commit.logged");
        (Ok(()), sequence)
    }

    /// The same of one commit with files.
    fn log_files(&self, files: SortedFiles, records: &mut Records, request: &CommitRequest) -> Logged {
        let mut counters = Records::with_capacity(0);
        let commits = &[request];
        self.count_rows(commits, &mut counters);
        kill_point("ingest.counted");
        self.spans.announce_all();
        let content = Content::Files { files, counters: &mut counters, records };
        let hidden = self.hide(commits);
        let (done, sequence) = self.stages.log(Change { commits, content }, true);
        if let Err(e) = done {
            hidden.into_iter().for_each(|id| self.visible().forget(id));
            return (Err(self.refuse(e, commits)), sequence);
        }
        kill_point("ingest.finished");
        (Ok(()), sequence)
    }

    /// VISIBLE-1.
    fn hide(&self, commits: &[&CommitRequest]) -> Option<HiddenId> {
        let is_told = || commits.iter().any(|commit| !commit.log.is_empty());
        (self.stages.hides() && is_told()).then(|| self.visible().hide(&self.db))
    }

    fn count_rows(&self, commits: &[&CommitRequest], records: &mut Records) {
        if let Err(e) = self.counters.log(commits.iter().flat_map(|commit| commit.counters.iter()), records) {
            self.die(&format!("cannot read a counter: {}", e.message()));
        }
    }

    /// COMMIT-4. What the group did to counters is undone; the error for its clients.
    fn refuse(&self, e: LogError, commits: &[&CommitRequest]) -> Error {
        let file = match e {
            LogError::NoSpace(file) => file,
            LogError::Unknown(text) => self.die(&text),
        };
        if let Err(e) = self.counters.undo(commits.iter().flat_map(|commit| commit.counters.iter())) {
            self.die(&format!("cannot read a counter: {}", e.message()));
        }
        if !self.refusing.swap(true, Ordering::Relaxed) {
            let text = format!("disk full: commits fail until {file} can be written");
            self.operator_log.log(LogLevel::Warning, &text);
        }
        disk_full_error(&file)
    }

    /// COMMIT-4. The log is told by a thread of its own: neither a log that blocks nor one that panics keeps the process alive.
    fn die(&self, what: &str) -> ! {
        let text = format!("{what}. The server stops now so that nothing is acknowledged that may not be stored");
        let operator_log = Arc::clone(&self.operator_log);
        let (told, wait) = std::sync::mpsc::channel();
        let teller = std::thread::Builder::new().name("last words".into()).spawn(move || {
            operator_log.log(LogLevel::Error, &text);
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

    fn note_spans(&self, sequence: u64, written: bool) {
        if CHECKED {
            holds(sequence <= self.db.latest_sequence(), "SPANS-3: changes do not have a later number than RocksDB's");
        }
        self.spans.note(sequence, written);
    }

    fn check_told(&self, request: &CommitRequest) {
        if CHECKED && let Touched::Keys(hashes) = &request.touched {
            let told = hashes.iter().all(|&hash| !self.recent.is_announced(hash));
            holds(told, "COMMIT-3: `Recent` has the number of a commit before its locks are released");
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
            if CHECKED {
                queue.check_invariants();
            }
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
        bytes += q.request.records.bytes() + q.request.log.len();
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
