//! The commit pipeline with its committer thread, the counters, and the locks that transactions hold meanwhile.

use std::sync::Arc;

use vaquita_types::schema::TableId;
use vaquita_types::{Error, Result};

use super::hooks;
use super::locks::LONG;
use crate::base::options::FlushMode;
use crate::base::sync::thread::{self, JoinHandle};
use crate::base::sync::{Condvar, Mutex};
use crate::cache::row_cache::{CachedRow, RowCache, Seen};
use crate::cache::span::Filler;
use crate::cache::span_cache::SpanCache;
use crate::cache::span_index::Found;
use crate::commit::active::{ActiveTransactions, Isolation};
use crate::commit::counters::{CounterChange, Counters};
use crate::commit::pipeline::{Parts, Pipeline};
use crate::commit::records::Records;
use crate::commit::stages::{Change, GoOn, Held, LogError, RocksLog, Stages};
use crate::commit::{CommitRequest, CommitStart, CommitWaiter, Touched};
use crate::encoding::key_hash;
use crate::locks::{HeldLocks, Interrupt, LockManager, LockMode, Owner};
use crate::rocks::{Db, Family, Snapshot, SortedFiles};

const TABLE: TableId = TableId(5);
/// In an index of its own.
const SPAN_KEY: &str = "iiiik";
const SPAN_END: &str = "iiiiz";

#[derive(Clone)]
struct World {
    db: Arc<Db>,
    locks: Arc<LockManager>,
    counters: Arc<Counters>,
    active: Arc<ActiveTransactions>,
    pipeline: Arc<Pipeline>,
    /// What commits tell the binary log.
    told: Vec<u8>,
}

/// Transactions from this one on are refused.
const REFUSED: u64 = 100;

/// RocksDB's log behind a certification, as a cluster's is.
struct Certifier(RocksLog);

impl Stages for Certifier {
    fn certify(&self, request: &CommitRequest) -> Result<()> {
        match &request.owner {
            Some(owner) if owner.id >= REFUSED => Err(Error::internal("refused")),
            _ => self.0.certify(request),
        }
    }

    fn log(&self, change: Change<'_>, sync: bool) -> (std::result::Result<(), LogError>, u64) {
        self.0.log(change, sync)
    }

    fn sync(&self) -> std::result::Result<(), LogError> {
        self.0.sync()
    }
}

/// RocksDB's log, and replicas that must have what the binary log is told.
struct Replicated {
    log: RocksLog,
    state: Mutex<Acks>,
    changed: Condvar,
}

#[derive(Default)]
struct Acks {
    /// Of the group that was logged last.
    told: bool,
    /// Commits that were logged, that were acked, and the numbers of the last of both.
    logged: u64,
    acked: u64,
    last: u64,
    last_acked: u64,
    ends: Vec<GoOn>,
}

impl Replicated {
    fn new(db: &Arc<Db>) -> Arc<Replicated> {
        let log = RocksLog::new(Arc::clone(db));
        Arc::new(Replicated { log, state: Mutex::new(Acks::default()), changed: Condvar::new() })
    }

    /// Acks what is logged, until that is so many commits.
    fn ack(&self, commits: u64) {
        let mut state = self.state.lock();
        while state.acked < commits {
            if state.logged == state.acked {
                self.changed.wait(&mut state);
                continue;
            }
            state.acked = state.logged;
            state.last_acked = state.last;
            let ends = std::mem::take(&mut state.ends);
            drop(state);
            ends.into_iter().for_each(GoOn::run);
            state = self.state.lock();
        }
    }
}

impl Stages for Arc<Replicated> {
    fn certify(&self, _request: &CommitRequest) -> Result<()> {
        Ok(())
    }

    fn log(&self, change: Change<'_>, sync: bool) -> (std::result::Result<(), LogError>, u64) {
        let told = change.commits.iter().filter(|commit| !commit.log.is_empty()).count() as u64;
        let (done, sequence) = self.log.log(change, sync);
        let mut state = self.state.lock();
        state.told = told > 0;
        state.logged += told;
        state.last = if told > 0 { sequence } else { state.last };
        self.changed.notify_all();
        (done, sequence)
    }

    fn holds(&self) -> Held {
        if self.state.lock().told { Held::LocksAndWaiters } else { Held::Nothing }
    }

    fn hides(&self) -> bool {
        true
    }

    fn waits(&self) -> bool {
        let state = self.state.lock();
        state.logged > state.acked
    }

    fn hold(&self, go_on: GoOn) {
        let mut state = self.state.lock();
        if state.logged > state.acked {
            state.ends.push(go_on);
        } else {
            drop(state);
            go_on.run();
        }
    }

    fn sync(&self) -> std::result::Result<(), LogError> {
        self.log.sync()
    }
}

/// How a parked commit went.
#[derive(Default)]
struct Outcome {
    result: Mutex<Option<Result<()>>>,
    known: Option<Condvar>,
}

impl Outcome {
    fn new() -> Arc<Outcome> {
        Arc::new(Outcome { result: Mutex::new(None), known: Some(Condvar::new()) })
    }

    fn set(&self, result: Result<()>) {
        let before = self.result.lock().replace(result);
        assert!(before.is_none(), "a waiter is called once");
        self.known.iter().for_each(Condvar::notify_all);
    }

    fn wait(&self) -> Result<()> {
        let mut result = self.result.lock();
        loop {
            if let Some(result) = result.take() {
                return result;
            }
            self.known.iter().for_each(|known| known.wait(&mut result));
        }
    }
}

impl World {
    fn new() -> (World, JoinHandle<()>) {
        let db = Arc::new(Db::default());
        let stages = Arc::new(Certifier(RocksLog::new(Arc::clone(&db))));
        World::with(db, stages)
    }

    fn with(db: Arc<Db>, stages: Arc<dyn Stages>) -> (World, JoinHandle<()>) {
        let hooks = hooks();
        let locks = Arc::new(LockManager::new(Arc::clone(&hooks.threads), hooks.statements));
        let counters = Arc::new(Counters::new(Arc::clone(&db)));
        let active = Arc::new(ActiveTransactions::default());
        let parts = Parts {
            db: Arc::clone(&db),
            stages,
            locks: Arc::clone(&locks),
            counters: Arc::clone(&counters),
            active: Arc::clone(&active),
            threads: hooks.threads,
            operator_log: hooks.operator_log,
            spans: SpanCache::new(1 << 20),
        };
        let pipeline = Arc::new(Pipeline::new(parts, FlushMode::SyncEachCommit));
        let committer = pipeline.start_committer().expect("threads can be started");
        (World { db, locks, counters, active, pipeline, told: Vec::new() }, committer)
    }

    fn owner(&self, id: u64) -> Arc<Owner> {
        let owner = Owner::new(id, Arc::new(Interrupt::new(id)));
        self.active.add(&owner, Isolation::RepeatableRead);
        owner
    }

    /// What a reader sees who begins now (`Store::snapshot`).
    fn visible(&self) -> Arc<Snapshot> {
        let visible = self.pipeline.visible();
        visible.snapshot().unwrap_or_else(|| {
            let latest = Arc::new(Snapshot::new(&self.db));
            visible.snapshot().filter(|seen| seen.sequence() < latest.sequence()).unwrap_or(latest)
        })
    }

    fn get(&self, key: &str, at: Option<&Snapshot>) -> u8 {
        let mut buf = Vec::new();
        let found = self.db.get(Family::Data, key.as_bytes(), at, &mut buf).expect("memory does not fail");
        if found { buf[0] } else { 0 }
    }

    /// Writes `value` under `key`, which the owner has locked, and waits until that is durable.
    fn commit(
        &self,
        owner: Arc<Owner>,
        held: HeldLocks,
        key: &str,
        value: u8,
        counters: Vec<(TableId, CounterChange)>,
    ) -> Result<()> {
        let mut records = Records::with_capacity(16);
        records.put(Family::Data, key.as_bytes(), &[value]);
        let touched = Touched::Keys(vec![key_hash(key.as_bytes())]);
        self.submit(CommitRequest {
            records,
            touched,
            files: None,
            counters,
            log: self.told.clone(),
            owner: Some(owner),
            held,
            interrupt: None,
        })
    }

    /// The same by a file.
    fn commit_file(&self, owner: Arc<Owner>, held: HeldLocks, key: &str, value: u8) -> Result<()> {
        let mut files = SortedFiles::default();
        files.add_first([(key.as_bytes(), Some(&[value][..]))].into_iter()).expect("memory does not fail");
        let (records, counters) = (Records::with_capacity(0), Vec::new());
        self.submit(CommitRequest {
            records,
            touched: Touched::Any,
            files: Some(files),
            counters,
            log: Vec::new(),
            owner: Some(owner),
            held,
            interrupt: None,
        })
    }

    fn submit(&self, request: CommitRequest) -> Result<()> {
        let outcome = Outcome::new();
        let waiter = || -> CommitWaiter {
            let outcome = Arc::clone(&outcome);
            Box::new(move |result| outcome.set(result))
        };
        match self.pipeline.submit(request, waiter) {
            CommitStart::Done(result) => result,
            CommitStart::Parked => outcome.wait(),
        }
    }

    /// `UPDATE … SET v = v + 1` under snapshot isolation, restarted on a fresh snapshot if the row changed.
    fn increment(&self, id: u64) {
        self.increment_key(id, "k");
    }

    fn increment_key(&self, id: u64, key: &str) {
        let owner = self.owner(id);
        let mut held = HeldLocks::default();
        let mut snapshot = Snapshot::new(&self.db);
        self.locks.lock_key(&owner, &mut held, key.as_bytes(), LockMode::X, LONG).expect("one lock makes no cycle");
        if self.pipeline.recent().may_be_after(key.as_bytes(), snapshot.sequence()) {
            snapshot = Snapshot::new(&self.db);
            assert!(
                !self.pipeline.recent().may_be_after(key.as_bytes(), snapshot.sequence()),
                "it changed although it is locked"
            );
        }
        let value = self.get(key, Some(&snapshot)) + 1;
        self.commit(owner, held, key, value, Vec::new()).expect("the pipeline is open");
        assert!(self.get(key, None) >= value, "COMMIT-2: acknowledged and not there");
    }

    /// An INSERT into a table with AUTO_INCREMENT.
    fn insert(&self, id: u64) -> u64 {
        let given = self.counters.next_auto_increment(TABLE, 1, 1, 1).expect("not used up");
        let key = format!("row{given}");
        let owner = self.owner(id);
        let mut held = HeldLocks::default();
        self.locks.lock_key(&owner, &mut held, key.as_bytes(), LockMode::X, LONG).expect("one lock makes no cycle");
        let counters = vec![(TABLE, CounterChange::AutoIncrementUsed(given)), (TABLE, CounterChange::Rows(1))];
        self.commit(owner, held, &key, 1, counters).expect("the pipeline is open");
        assert_eq!(self.get(&key, None), 1, "COMMIT-2: acknowledged and not there");
        given
    }

    /// `get` by way of a row cache and spans, as `Transaction::get_stored` does it.
    fn get_cached(&self, rows: &RowCache, key: &str, at: Option<&Snapshot>) -> u8 {
        let seen = match at {
            Some(at) => Seen::at(at.sequence()),
            None => Seen { settled: self.db.settled_sequence(), latest: self.db.latest_sequence() },
        };
        let row = CachedRow::new(rows, self.pipeline.recent(), key.as_bytes(), seen, true);
        let mut buf = Vec::new();
        if row.get(&mut buf) {
            return buf[0];
        }
        let value = match self.pipeline.spans().get(row.key(), row.not_after(), &mut buf) {
            Some(true) => buf[0],
            Some(false) => 0,
            None => self.get(key, at),
        };
        if value > 0 {
            row.keep(&[value]);
        }
        value
    }

    /// A scan of the index that `key` is alone in, at a snapshot or now, by way of its span, as `txn::base` does it.
    fn scan_spans(&self, key: &str, at: Option<&Snapshot>) -> u8 {
        let spans = self.pipeline.spans();
        let index = spans.index(key.as_bytes(), || self.db.latest_sequence()).expect("an index id");
        let sequence = at.map_or_else(|| self.db.settled_sequence(), Snapshot::sequence);
        if at.is_some()
            && let Found::Span(span) = index.find(key.as_bytes(), sequence)
        {
            return if span.len() == 0 { 0 } else { span.entry(0).1[0] };
        }
        let value = self.get(key, at);
        let mut filler = Filler::default();
        filler.begin(&key.as_bytes()[..4]);
        if value > 0 {
            filler.push(key.as_bytes(), &[value]);
        }
        spans.put(&index, &mut filler, SPAN_END.as_bytes(), sequence);
        value
    }

    /// The counter of kind `r` or `a` as it is in the log.
    fn logged(&self, kind: u8) -> u64 {
        let key = [&[0, 0, 0, 0, kind], &TABLE.0.to_be_bytes()[..]].concat();
        let mut buf = Vec::new();
        let found = self.db.get(Family::Data, &key, None, &mut buf).expect("memory does not fail");
        if found { u64::from_le_bytes(buf.try_into().expect("eight bytes")) } else { 0 }
    }

    fn end(&self, committer: JoinHandle<()>, commits: u64) {
        self.pipeline.shut_down();
        committer.join().expect("no thread panics");
        assert!(self.locks.dump().is_empty(), "{:?}", self.locks.dump());
        assert!(self.active.list().is_empty());
        assert_eq!(self.pipeline.counts().1, commits);
    }
}

/// Two clients and the committer: no update is lost (COMMIT-3).
pub fn first_committer_wins() {
    let (world, committer) = World::new();
    let other = world.clone();
    let thread = thread::spawn(move || other.increment(2));
    world.increment(1);
    thread.join().expect("no thread panics");
    assert_eq!(world.get("k", None), 2, "a lost update");
    world.end(committer, 2);
}

/// Two clients, one of which tells the log nothing, and a replica: nobody sees what it has not acked, and who is told of a commit sees it (VISIBLE-1,
/// VISIBLE-2).
pub fn held() {
    let db = Arc::new(Db::default());
    let replicated = Replicated::new(&db);
    let (mut world, committer) = World::with(db, Arc::new(Arc::clone(&replicated)));
    let untold = world.clone();
    world.told = vec![1];
    let acking = Arc::clone(&replicated);
    let replica = thread::spawn(move || acking.ack(2));
    let other = thread::spawn(move || {
        untold.increment_key(3, "u");
        assert_eq!(untold.get("u", Some(&untold.visible())), 1, "acknowledged and not seen");
    });
    for n in 1..=2 {
        world.increment(u64::from(n));
        let seen = world.visible();
        assert_eq!(world.get("k", Some(&seen)), n, "acknowledged and not seen");
    }
    let (seen, acked) = (world.visible(), replicated.state.lock().last_acked);
    assert!(world.get("k", Some(&seen)) == 2 && acked > 0);
    other.join().expect("no thread panics");
    replica.join().expect("no thread panics");
    assert_eq!(world.pipeline.visible().last(), None, "hidden for ever");
    world.end(committer, 3);
}

/// A client, a replica and a reader, who sees nothing that the replica has not acked.
pub fn hidden() {
    let db = Arc::new(Db::default());
    let replicated = Replicated::new(&db);
    let (mut world, committer) = World::with(db, Arc::new(Arc::clone(&replicated)));
    world.told = vec![1];
    let acking = Arc::clone(&replicated);
    let replica = thread::spawn(move || acking.ack(2));
    let writer = world.clone();
    let thread = thread::spawn(move || (1..=2).for_each(|id| writer.increment(id)));
    let mut last = 0;
    for _ in 0..2 {
        let seen = world.visible();
        let acked = replicated.state.lock().last_acked;
        assert!(seen.sequence() <= acked, "seen and not acked: {} {acked}", seen.sequence());
        let value = world.get("k", Some(&seen));
        assert!(last <= value, "back in time");
        last = value;
    }
    thread.join().expect("no thread panics");
    replica.join().expect("no thread panics");
    world.end(committer, 2);
}

/// A writer and a reader: the row cache gives what RocksDB would, at a snapshot and now (ROWS-1).
pub fn cached_rows() {
    let (world, committer) = World::new();
    let rows = RowCache::new(1 << 20);
    world.increment(1);
    assert_eq!(world.get_cached(&rows, "k", None), 1);
    let other = world.clone();
    let thread = thread::spawn(move || other.increment(2));
    let mut last = 0;
    for _ in 0..2 {
        let snapshot = Snapshot::new(&world.db);
        let seen = world.get_cached(&rows, "k", Some(&snapshot));
        assert_eq!(seen, world.get("k", Some(&snapshot)), "another version than the snapshot's");
        let cached = world.get_cached(&rows, "k", None);
        assert!(last <= seen && seen <= cached, "back in time: {last} {seen} {cached}");
        last = cached;
    }
    thread.join().expect("no thread panics");
    assert_eq!(world.get_cached(&rows, "k", None), 2);
    world.end(committer, 2);
}

/// Two writers and a reader: a span gives scans and gets what RocksDB would (SPANS-1).
pub fn spans() {
    let (world, committer) = World::new();
    let no_rows = RowCache::new(0);
    world.increment_key(1, SPAN_KEY);
    let threads = [2, 3].map(|id| {
        let other = world.clone();
        thread::spawn(move || other.increment_key(id, SPAN_KEY))
    });
    let mut last = 0;
    for _ in 0..3 {
        let snapshot = Snapshot::new(&world.db);
        world.scan_spans(SPAN_KEY, None);
        let seen = world.scan_spans(SPAN_KEY, Some(&snapshot));
        assert_eq!(seen, world.get(SPAN_KEY, Some(&snapshot)), "another version than the snapshot's");
        assert_eq!(world.get_cached(&no_rows, SPAN_KEY, Some(&snapshot)), seen, "a get sees another version");
        let now = world.get_cached(&no_rows, SPAN_KEY, None);
        assert!(last <= seen && seen <= now, "back in time: {last} {seen} {now}");
        last = now;
    }
    for thread in threads {
        thread.join().expect("no thread panics");
    }
    assert_eq!(world.scan_spans(SPAN_KEY, Some(&Snapshot::new(&world.db))), 3);
    world.end(committer, 3);
}

/// A commit by a file, and a reader without a snapshot, who may see the number of the file before the file: what he leaves in
/// the row cache and in spans is right for those who come later (ROCKS-5).
pub fn files() {
    let (world, committer) = World::new();
    let rows = RowCache::new(1 << 20);
    world.increment_key(1, SPAN_KEY);
    let other = world.clone();
    let thread = thread::spawn(move || {
        let owner = other.owner(2);
        other.commit_file(owner, HeldLocks::default(), SPAN_KEY, 2)
    });
    world.scan_spans(SPAN_KEY, None);
    world.get_cached(&rows, SPAN_KEY, None);
    thread.join().expect("no thread panics").expect("the pipeline is open");
    let snapshot = Snapshot::new(&world.db);
    assert_eq!(world.get(SPAN_KEY, Some(&snapshot)), 2);
    assert_eq!(world.scan_spans(SPAN_KEY, Some(&snapshot)), 2, "a span lacks the commit");
    assert_eq!(world.get_cached(&rows, SPAN_KEY, Some(&snapshot)), 2, "the row cache lacks the commit");
    world.end(committer, 2);
}

/// A number that somebody else takes right after a commit: a snapshot between the two sees the commit, also through a span
/// (ROCKS-4).
pub fn numbers_of_others() {
    let (world, committer) = World::new();
    world.increment_key(1, SPAN_KEY);
    world.scan_spans(SPAN_KEY, None);
    let other = world.clone();
    let thread = thread::spawn(move || other.increment_key(2, SPAN_KEY));
    let db = Arc::clone(&world.db);
    let housekeeper = thread::spawn(move || db.take_number());
    let snapshot = Snapshot::new(&world.db);
    let stored = world.get(SPAN_KEY, Some(&snapshot));
    thread.join().expect("no thread panics");
    housekeeper.join().expect("no thread panics");
    assert_eq!(world.scan_spans(SPAN_KEY, Some(&snapshot)), stored, "a span lacks the commit");
    world.end(committer, 2);
}

/// Refused commits, with records and with a file, beside another: nothing of them is there or counted, and their locks are free (COMMIT-6).
pub fn certified() {
    let (world, committer) = World::new();
    let other = world.clone();
    let thread = thread::spawn(move || {
        let (owner, mut held) = (other.owner(REFUSED), HeldLocks::default());
        other.locks.lock_key(&owner, &mut held, b"k", LockMode::X, LONG).expect("no deadlock");
        let counters = vec![(TABLE, CounterChange::Rows(1))];
        assert!(other.commit(owner, held, "k", 7, counters).is_err());
        let owner = other.owner(REFUSED + 1);
        assert!(other.commit_file(owner, HeldLocks::default(), SPAN_KEY, 7).is_err());
    });
    world.insert(1);
    world.increment(2);
    thread.join().expect("no thread panics");
    assert_eq!((world.get("k", None), world.get(SPAN_KEY, None)), (1, 0), "of a refused commit");
    assert_eq!(world.logged(b'r'), 1);
    world.end(committer, 2);
}

/// Two inserts: distinct values, and in the log the exact count of rows and the highest value.
pub fn counters() {
    let (world, committer) = World::new();
    let other = world.clone();
    let thread = thread::spawn(move || other.insert(2));
    let given = [world.insert(1), thread.join().expect("no thread panics")];
    assert!(given == [1, 2] || given == [2, 1], "{given:?}");
    assert_eq!(world.logged(b'r'), 2);
    assert_eq!(world.logged(b'a'), 2);
    world.end(committer, 2);
}

/// Three clients and the committer: inline, parked, handed over, in groups of any size.
pub fn groups() {
    let (world, committer) = World::new();
    let threads: Vec<_> = (2..=3)
        .map(|id| {
            let other = world.clone();
            thread::spawn(move || other.insert(id))
        })
        .collect();
    world.insert(1);
    for thread in threads {
        thread.join().expect("no thread panics");
    }
    assert_eq!(world.logged(b'r'), 3);
    assert!(world.pipeline.counts().0 <= 3);
    world.end(committer, 3);
}

/// DROP TABLE beside an insert that came before it or after: its counters are gone, or count one row.
pub fn drop_table() {
    let (world, committer) = World::new();
    let other = world.clone();
    let thread = thread::spawn(move || {
        let owner = other.owner(2);
        other.commit(owner, HeldLocks::default(), "definition", 0, vec![(TABLE, CounterChange::Dropped)])
    });
    world.insert(1);
    thread.join().expect("no thread panics").expect("the pipeline is open");
    assert!([(0, 0), (1, 1)].contains(&(world.logged(b'r'), world.logged(b'a'))));
    world.end(committer, 2);
}

/// A shutdown at any moment: a commit is acknowledged and there, or refused and not there.
pub fn shutdown() {
    let (world, committer) = World::new();
    let other = world.clone();
    let commit = |world: &World, id: u64, key: &str| {
        let owner = world.owner(id);
        let done = world.commit(owner, HeldLocks::default(), key, 1, Vec::new());
        assert_eq!(world.get(key, None) == 1, done.is_ok(), "acknowledged or there, not both");
        u64::from(done.is_ok())
    };
    let thread = thread::spawn(move || commit(&other, 2, "a"));
    let closing = world.clone();
    let closer = thread::spawn(move || closing.pipeline.shut_down());
    let commits = commit(&world, 1, "b") + thread.join().expect("no thread panics");
    closer.join().expect("no thread panics");
    world.end(committer, commits);
}
