//! The table of locks: `LOCK_SHARDS` shards of key → holders and FIFO queue.
//!
//! Invariants:
//! * LOCK-1: the modes of two holders of one lock are compatible.
//! * LOCK-2: a new request waits behind every conflicting request that came before it, unless it
//!   passes it (`Request::lets_pass`); an upgrade goes ahead of all requests that are not upgrades.
//! * LOCK-3: a lock entry exists exactly as long as it has a holder or a waiter, so an entry's
//!   slot is a stable name for whoever holds or waits.
//! * LOCK-4: an owner waits for at most one lock; its wait ends exactly once: granted, victim,
//!   interrupted or timed out (`WaitState`).
//!
//! A free lock costs one mutex, one hash probe and no allocation in steady state, unless its key is a long one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::HashTable;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use vaquita_types::errno::{ER_LOCK_DEADLOCK, ER_LOCK_NOWAIT, ER_LOCK_WAIT_TIMEOUT};
use vaquita_types::schema::{IndexId, TableId};
use vaquita_types::{Error, Result};

use super::graph::{Deadlock, Detected, WaitGraph, Wanted};
use super::range::RangeLocks;
use super::{Interrupt, LockInfo, LockMode, LockPolicy, LockStats, LockTarget, PassedBy};
use crate::base::hooks::{Statements, Threads};
use crate::base::invariants::{CHECKED, CHECKED_MAX, holds};
use crate::base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::base::sync::{Condvar, LOCK_SHARDS, Mutex, MutexGuard, SINGLE_LOCKS};
use crate::encoding::ids::{INDEX_ID_BYTES, prefix_of};
use crate::encoding::key_hash;

/// Locks of tables live under an index id that no index has.
pub(super) const TABLE_KEY_PREFIX: [u8; 4] = [0xFF; 4];

/// Whoever holds locks: a transaction.
pub struct Owner {
    pub id: u64,
    pub interrupt: Arc<Interrupt>,
    /// Rows written, by which deadlock victims are chosen.
    rows_modified: AtomicU64,
    rows_locked: AtomicU64,
    /// No deadlock victim as long as there is another: a DDL statement, which may have worked for hours.
    spared: AtomicBool,
    /// Times that it has begun to wait.
    waits: AtomicU64,
    wait: Mutex<WaitState>,
    wake: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitState {
    /// Not waiting.
    Idle,
    Waiting(Instant),
    Granted,
    Victim,
    Interrupted,
}

impl Owner {
    pub fn new(id: u64, interrupt: Arc<Interrupt>) -> Arc<Owner> {
        Arc::new(Owner {
            id,
            interrupt,
            rows_modified: AtomicU64::new(0),
            rows_locked: AtomicU64::new(0),
            spared: AtomicBool::new(false),
            waits: AtomicU64::new(0),
            wait: Mutex::new(WaitState::Idle),
            wake: Condvar::new(),
        })
    }

    pub fn rows_modified(&self) -> u64 {
        self.rows_modified.load(Ordering::Relaxed)
    }

    pub fn set_rows_modified(&self, rows: u64) {
        self.rows_modified.store(rows, Ordering::Relaxed);
    }

    pub fn rows_locked(&self) -> u64 {
        self.rows_locked.load(Ordering::Relaxed)
    }

    pub fn set_rows_locked(&self, locks: u64) {
        self.rows_locked.store(locks, Ordering::Relaxed);
    }

    pub fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    pub fn spare(&self) {
        self.spared.store(true, Ordering::Relaxed);
    }

    /// What a deadlock victim has least of.
    pub(super) fn weight(&self) -> (bool, u64) {
        (self.spared.load(Ordering::Relaxed), self.rows_modified())
    }

    /// Since when it waits.
    pub fn waiting_since(&self) -> Option<Instant> {
        match *self.wait.lock() {
            WaitState::Waiting(since) => Some(since),
            _ => None,
        }
    }

    pub(super) fn interrupt_wait(&self) {
        self.finish_wait(WaitState::Interrupted);
    }

    pub(super) fn abort_wait(&self) {
        self.finish_wait(WaitState::Victim);
    }

    /// Ends the wait with `how`; false if it ended before or never began.
    pub(super) fn finish_wait(&self, how: WaitState) -> bool {
        let mut state = self.wait.lock();
        let waiting = matches!(*state, WaitState::Waiting(_));
        if waiting {
            *state = how;
            self.wake.notify_one();
        }
        waiting
    }

    pub(super) fn begin_wait(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        let before = std::mem::replace(&mut *self.wait.lock(), WaitState::Waiting(Instant::now()));
        if CHECKED {
            holds(before == WaitState::Idle, "LOCK-4: an owner waits for at most one lock");
        }
    }

    /// Blocks until the wait ends or the deadline passes.
    pub(super) fn block(&self, deadline: Instant) {
        let mut state = self.wait.lock();
        while matches!(*state, WaitState::Waiting(_)) {
            if self.wake.wait_until(&mut state, deadline).timed_out() {
                return;
            }
        }
    }

    /// How the wait ended; `Waiting` if it timed out. Nobody can end it any more after this.
    pub(super) fn take_wait(&self) -> WaitState {
        let how = std::mem::replace(&mut *self.wait.lock(), WaitState::Idle);
        if CHECKED {
            holds(how != WaitState::Idle, "LOCK-4: a wait ends once");
        }
        how
    }
}

/// The locks of one owner, to be given back together.
#[derive(Default)]
pub struct HeldLocks {
    /// Shard in the upper half, slot in the lower.
    pub(super) slots: Vec<u64>,
    pub(super) ranges: usize,
    /// Row locks that were left by the last escalation.
    left: usize,
    /// Indexes that were to be locked for entries anywhere in them, by id, and whether they are.
    indexes: FxHashMap<u32, bool>,
}

/// Row locks that a transaction takes before it tries to escalate them.
const ESCALATION_LOCKS: usize = if cfg!(test) { 2_000 } else { 100_000 };

impl HeldLocks {
    pub fn len(&self) -> usize {
        self.slots.len() + self.ranges
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Row and table locks so far, to tell later ones from earlier ones.
    pub fn mark(&self) -> usize {
        self.slots.len()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// Granted to an owner that did not have the key locked before.
    New,
    /// The owner held the key already, perhaps in a weaker mode.
    Held,
    /// Not granted, under `LockPolicy::SkipLocked`.
    Skipped,
}

pub struct LockManager {
    pub(super) shards: Box<[Mutex<Shard>]>,
    graph: WaitGraph,
    pub(super) ranges: RangeLocks,
    threads: Arc<dyn Threads>,
    waits: AtomicU64,
    wait_us_total: AtomicU64,
    wait_us_max: AtomicU64,
    timeouts: AtomicU64,
}

/// Aligned so that two shards do not share a cache line.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Shard {
    /// Slots by key.
    table: HashTable<u32>,
    pub(super) entries: Vec<Entry>,
    free: Vec<u32>,
}

/// Most locks have one holder, and a key of so many bytes: they are one piece of memory.
const KEY_BYTES_INLINE: usize = 24;

#[derive(Default)]
pub(super) struct Entry {
    hash: u64,
    pub(super) key: SmallVec<[u8; KEY_BYTES_INLINE]>,
    granted: SmallVec<[Grant; 1]>,
    queue: VecDeque<Request>,
}

struct Grant {
    owner: u64,
    mode: LockMode,
}

struct Request {
    owner: Arc<Owner>,
    mode: LockMode,
    upgrade: bool,
    /// Who need not wait behind it.
    passed_by: PassedBy,
}

impl Request {
    /// A later request need not wait for this one.
    fn lets_pass(&self, later: LockMode) -> bool {
        match later {
            LockMode::IS => self.passed_by >= PassedBy::Readers,
            LockMode::IX => self.passed_by >= PassedBy::Writers,
            LockMode::S | LockMode::X => false,
        }
    }

    /// A later request must wait for this one.
    fn stops(&self, later: LockMode) -> bool {
        !self.mode.compatible(later) && !self.lets_pass(later)
    }
}

impl LockManager {
    pub fn new(threads: Arc<dyn Threads>, statements: Arc<dyn Statements>) -> LockManager {
        LockManager {
            shards: (0..LOCK_SHARDS).map(|_| Mutex::default()).collect(),
            graph: WaitGraph::new(statements),
            ranges: RangeLocks::default(),
            threads,
            waits: AtomicU64::new(0),
            wait_us_total: AtomicU64::new(0),
            wait_us_max: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
        }
    }

    /// Locks a row or index entry, and waits for the ranges of others around it.
    pub fn lock_key(
        &self,
        owner: &Arc<Owner>,
        held: &mut HeldLocks,
        key: &[u8],
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Acquired> {
        if held.ranges > 0 && self.ranges.holds_key(owner.id, key, mode) {
            return Ok(Acquired::Held);
        }
        if held.slots.len() >= held.left + ESCALATION_LOCKS {
            self.escalate(owner, held);
            held.left = held.slots.len();
        }
        self.lock_and_pass_ranges(owner, held, key, mode, policy)
    }

    /// Locks an entry of an index that is not unique, to write it. Nobody competes for it, but a range that a SERIALIZABLE transaction has read
    /// must stay as it was. Who has many locks says once that it writes anywhere in the index: in place of each entry's lock it has an IX lock
    /// of the index, unless others have ranges there.
    pub fn lock_entry(&self, owner: &Arc<Owner>, held: &mut HeldLocks, key: &[u8], policy: LockPolicy) -> Result<Acquired> {
        if held.slots.len() >= SINGLE_LOCKS || !held.indexes.is_empty() {
            let index = prefix_of(key);
            let is_whole = match held.indexes.get(&index) {
                Some(known) => *known,
                None => {
                    let locked = self.lock_index(owner, held, index);
                    held.indexes.insert(index, locked);
                    locked
                }
            };
            if is_whole {
                return Ok(Acquired::Held);
            }
        }
        self.lock_key(owner, held, key, LockMode::X, policy)
    }

    /// False: others have ranges in the index, or have read what its lock does not let them read.
    fn lock_index(&self, owner: &Arc<Owner>, held: &mut HeldLocks, index: u32) -> bool {
        let key = index.to_be_bytes();
        let acquired = match self.lock(owner, held, &key, LockMode::IX, LockPolicy::SkipLocked) {
            Ok(Acquired::Skipped) | Err(_) => return false,
            Ok(acquired) => acquired,
        };
        // As `announce` says: a range is either seen here, or sees the lock.
        if !self.ranges.any_beside(held.ranges) || !self.ranges.others_within(owner.id, &key) {
            return true;
        }
        if acquired == Acquired::New
            && let Some(name) = held.slots.pop()
        {
            self.release_slot(&mut self.shards[(name >> 32) as usize].lock(), name as u32, owner.id);
        }
        false
    }

    fn lock_and_pass_ranges(
        &self,
        owner: &Arc<Owner>,
        held: &mut HeldLocks,
        key: &[u8],
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Acquired> {
        let acquired = self.lock(owner, held, key, mode, policy)?;
        if acquired == Acquired::Skipped || !self.ranges.any_beside(held.ranges) {
            return Ok(acquired);
        }
        let passed = self.wait_for_ranges(owner, key, mode, policy);
        // Who does not get past the range has not locked the key.
        if !matches!(passed, Ok(true))
            && acquired == Acquired::New
            && let Some(name) = held.slots.pop()
        {
            self.release_slot(&mut self.shards[(name >> 32) as usize].lock(), name as u32, owner.id);
        }
        Ok(if passed? { acquired } else { Acquired::Skipped })
    }

    pub fn lock_table(
        &self,
        owner: &Arc<Owner>,
        held: &mut HeldLocks,
        table: TableId,
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Acquired> {
        self.lock(owner, held, &table_key(table), mode, policy)
    }

    /// Keeps others from writing in `[lower, upper)`. Rows and ranges there that others have X-locked are
    /// waited for, one after the other. Under `SkipLocked` a range with such rows stays free.
    pub fn lock_range(
        &self,
        owner: &Arc<Owner>,
        held: &mut HeldLocks,
        lower: &[u8],
        upper: &[u8],
        policy: LockPolicy,
    ) -> Result<()> {
        if self.ranges.holds(owner.id, lower, upper) {
            return Ok(());
        }
        // Announced first, so that a writer either sees the range or is seen by the search below.
        self.ranges.announce();
        loop {
            let written = |e: &Entry| e.granted.iter().any(|g| g.owner != owner.id && !g.mode.compatible(LockMode::S));
            let found = self.ranges.try_grant(owner.id, LockMode::S, lower, upper, || self.find_key(lower, upper, written));
            let Some(written) = found else {
                held.ranges += 1;
                return Ok(());
            };
            match self.lock_and_pass_ranges(owner, held, &written, LockMode::S, policy) {
                Ok(Acquired::New | Acquired::Held) => {}
                skipped_or_failed => {
                    self.ranges.withdraw();
                    return skipped_or_failed.map(drop);
                }
            }
        }
    }

    /// Gives back one row lock before its time, if it was taken after the mark.
    pub fn unlock_key(&self, owner: u64, held: &mut HeldLocks, mark: usize, key: &[u8]) {
        let hash = key_hash(key);
        let number = shard_number(hash);
        let mut shard = self.shards[number].lock();
        let Some(slot) = shard.find(hash, key) else { return };
        let name = slot_name(number, slot);
        let Some(position) = held.slots.iter().rposition(|&s| s == name).filter(|&at| at >= mark) else { return };
        held.slots.swap_remove(position);
        self.release_slot(&mut shard, slot, owner);
    }

    pub fn unlock_table(&self, owner: u64, held: &mut HeldLocks, table: TableId) {
        self.unlock_key(owner, held, 0, &table_key(table));
    }

    /// Gives back everything, at the end of the transaction.
    pub fn release_all(&self, owner: u64, held: &mut HeldLocks) {
        for name in held.slots.drain(..) {
            let mut shard = self.shards[(name >> 32) as usize].lock();
            self.release_slot(&mut shard, name as u32, owner);
        }
        if held.ranges > 0 {
            self.ranges.release_all(owner, &self.graph);
            held.ranges = 0;
        }
        held.indexes.clear();
    }

    /// What `owner` holds.
    pub(crate) fn held(&self, owner: u64, held: &HeldLocks) -> Vec<(LockTarget, LockMode)> {
        let mut out = Vec::with_capacity(held.len());
        for name in &held.slots {
            let shard = self.shards[(name >> 32) as usize].lock();
            if let Some(entry) = shard.entries.get(*name as u32 as usize)
                && let Some(grant) = entry.granted.iter().find(|g| g.owner == owner)
            {
                out.push((entry.target(), grant.mode));
            }
        }
        if held.ranges > 0 {
            out.extend(self.ranges.held(owner));
        }
        out
    }

    /// Takes the locks that a prepared transaction held before a restart; nobody else may hold any that conflict.
    pub(crate) fn restore(&self, owner: &Arc<Owner>, held: &mut HeldLocks, locks: &[(LockTarget, LockMode)]) -> Result<()> {
        for (target, mode) in locks {
            match target {
                LockTarget::Key(key) => self.lock(owner, held, key, *mode, LockPolicy::NoWait).map(|_| ())?,
                LockTarget::Table(table) => self.lock_table(owner, held, *table, *mode, LockPolicy::NoWait).map(|_| ())?,
                LockTarget::Index(index) => {
                    self.lock(owner, held, &index.0.to_be_bytes(), *mode, LockPolicy::NoWait).map(|_| ())?;
                }
                LockTarget::Range(lower, upper) => {
                    self.ranges.announce();
                    self.ranges.try_grant(owner.id, *mode, lower, upper, || None);
                    held.ranges += 1;
                }
            }
        }
        Ok(())
    }

    /// Who holds a lock of the table.
    pub fn table_users(&self, table: TableId) -> Vec<u64> {
        let key = table_key(table);
        let hash = key_hash(&key);
        let shard = self.shards[shard_number(hash)].lock();
        let Some(slot) = shard.find(hash, &key) else { return Vec::new() };
        shard.entries[slot as usize].granted.iter().map(|g| g.owner).collect()
    }

    /// Whether `owner` holds `key` in a mode that covers `mode`.
    pub fn holds(&self, owner: u64, key: &[u8], mode: LockMode) -> bool {
        let hash = key_hash(key);
        let shard = self.shards[shard_number(hash)].lock();
        shard
            .find(hash, key)
            .is_some_and(|slot| shard.entries[slot as usize].granted.iter().any(|g| g.owner == owner && g.mode.covers(mode)))
    }

    fn lock(&self, owner: &Arc<Owner>, held: &mut HeldLocks, key: &[u8], mode: LockMode, policy: LockPolicy) -> Result<Acquired> {
        let hash = key_hash(key);
        let number = shard_number(hash);
        let mut shard = self.shards[number].lock();
        let Some(slot) = shard.find(hash, key) else {
            let slot = shard.insert(hash, key);
            shard.entries[slot as usize].granted.push(Grant { owner: owner.id, mode });
            if CHECKED {
                shard.check_invariants(slot);
            }
            held.slots.push(slot_name(number, slot));
            return Ok(Acquired::New);
        };
        let entry = &mut shard.entries[slot as usize];
        let mine = entry.granted.iter().position(|g| g.owner == owner.id);
        let held_mode = mine.map(|at| entry.granted[at].mode);
        if held_mode.is_some_and(|m| m.covers(mode)) {
            return Ok(Acquired::Held);
        }
        let wanted = held_mode.map_or(mode, |m| m.join(mode));
        let acquired = if mine.is_some() { Acquired::Held } else { Acquired::New };
        if !entry.must_wait(owner.id, wanted, mine.is_some()) {
            entry.grant(owner.id, wanted);
            if CHECKED {
                shard.check_invariants(slot);
            }
        } else {
            match policy {
                LockPolicy::NoWait => return Err(Error::new(&ER_LOCK_NOWAIT, &[])),
                LockPolicy::SkipLocked => return Ok(Acquired::Skipped),
                LockPolicy::Wait(timeout) | LockPolicy::WaitAside(timeout, _) => {
                    let passed_by = match policy {
                        LockPolicy::WaitAside(_, passed_by) => passed_by,
                        _ => PassedBy::Nobody,
                    };
                    entry.enqueue(Request { owner: Arc::clone(owner), mode: wanted, upgrade: mine.is_some(), passed_by });
                    if CHECKED {
                        shard.check_invariants(slot);
                    }
                    let slot_lock = SlotLock { shard: &self.shards[number], slot };
                    self.wait_in_queue(owner, slot_lock, shard, timeout)?;
                }
            }
        }
        if acquired == Acquired::New {
            held.slots.push(slot_name(number, slot));
        }
        Ok(acquired)
    }

    /// The request is queued; comes back granted or with the request taken out again.
    fn wait_in_queue(
        &self,
        owner: &Arc<Owner>,
        at: SlotLock<'_>,
        mut shard: MutexGuard<'_, Shard>,
        timeout: Duration,
    ) -> Result<()> {
        owner.begin_wait();
        let entry = &shard.entries[at.slot as usize];
        let mode = entry.queue.iter().find(|r| r.owner.id == owner.id).map_or(LockMode::X, |r| r.mode);
        let wants = Wanted { target: entry.target(), mode };
        if self.graph.begin(owner, wants, entry.edges_of(owner.id)) == Detected::Victim {
            owner.take_wait();
            self.leave_queue(&mut shard, at.slot, owner.id);
            return Err(Error::new(&ER_LOCK_DEADLOCK, &[]));
        }
        drop(shard);
        self.block(owner, timeout);
        // Grants happen under the shard's mutex, so under it the outcome is final.
        let mut shard = at.shard.lock();
        let outcome = owner.take_wait();
        if outcome == WaitState::Granted {
            return Ok(());
        }
        self.graph.end(owner.id);
        self.leave_queue(&mut shard, at.slot, owner.id);
        drop(shard);
        Err(self.wait_error(owner, outcome))
    }

    /// Blocks the thread until the wait of `owner` ends or times out, and counts it.
    fn block(&self, owner: &Arc<Owner>, timeout: Duration) {
        let began = Instant::now();
        // A timeout beyond what the clock can add is no timeout.
        let deadline = began.checked_add(timeout).unwrap_or_else(|| began + Duration::from_secs(1 << 30));
        self.waits.fetch_add(1, Ordering::Relaxed);
        owner.interrupt.start_wait(owner);
        if owner.interrupt.check_wait().is_err() {
            owner.interrupt_wait();
        }
        self.threads.blocking(&mut || owner.block(deadline));
        owner.interrupt.end_wait();
        let waited_us = began.elapsed().as_micros() as u64;
        owner.interrupt.waited(waited_us);
        self.wait_us_total.fetch_add(waited_us, Ordering::Relaxed);
        self.wait_us_max.fetch_max(waited_us, Ordering::Relaxed);
    }

    fn wait_error(&self, owner: &Owner, outcome: WaitState) -> Error {
        match outcome {
            WaitState::Victim => Error::new(&ER_LOCK_DEADLOCK, &[]),
            WaitState::Interrupted => {
                owner.interrupt.check_wait().err().unwrap_or_else(|| Error::new(&ER_LOCK_WAIT_TIMEOUT, &[]))
            }
            _ => {
                self.timeouts.fetch_add(1, Ordering::Relaxed);
                Error::new(&ER_LOCK_WAIT_TIMEOUT, &[])
            }
        }
    }

    fn wait_for_ranges(&self, owner: &Arc<Owner>, key: &[u8], mode: LockMode, policy: LockPolicy) -> Result<bool> {
        let timeout = match policy {
            LockPolicy::Wait(timeout) | LockPolicy::WaitAside(timeout, _) => timeout,
            LockPolicy::NoWait if self.ranges.covered(owner.id, key, mode) => return Err(Error::new(&ER_LOCK_NOWAIT, &[])),
            LockPolicy::SkipLocked if self.ranges.covered(owner.id, key, mode) => return Ok(false),
            _ => return Ok(true),
        };
        match self.ranges.begin_wait(owner, key, mode, &self.graph) {
            None => return Ok(true),
            Some(Detected::Victim) => return Err(Error::new(&ER_LOCK_DEADLOCK, &[])),
            Some(Detected::Nothing) => {}
        }
        self.block(owner, timeout);
        match self.ranges.end_wait(owner, &self.graph) {
            WaitState::Granted => Ok(true),
            outcome => Err(self.wait_error(owner, outcome)),
        }
    }

    pub(super) fn release_slot(&self, shard: &mut Shard, slot: u32, owner: u64) {
        let entry = &mut shard.entries[slot as usize];
        entry.granted.retain(|g| g.owner != owner);
        if !entry.queue.is_empty() {
            self.grant_waiters(entry);
        }
        if CHECKED {
            shard.entries[slot as usize].check_invariants();
        }
        shard.free_if_unused(slot);
    }

    fn leave_queue(&self, shard: &mut Shard, slot: u32, owner: u64) {
        let entry = &mut shard.entries[slot as usize];
        entry.queue.retain(|r| r.owner.id != owner);
        self.grant_waiters(entry);
        self.graph.update(entry.queue.iter().enumerate().map(|(at, r)| (r.owner.id, entry.edges(at))));
        shard.free_if_unused(slot);
    }

    /// Grants from the head of the queue as far as it goes, and puts the edges to the holders right.
    fn grant_waiters(&self, entry: &mut Entry) {
        let mut at = 0;
        while let Some(request) = entry.queue.get(at) {
            let (id, mode) = (request.owner.id, request.mode);
            if !entry.may_be_granted(at) {
                // Only intention locks pass what waits.
                match entry.queue.iter().skip(at + 1).position(|r| r.mode.is_intention()) {
                    Some(later) => at += 1 + later,
                    None => break,
                }
                continue;
            }
            if request.owner.finish_wait(WaitState::Granted) {
                entry.queue.remove(at);
                self.graph.end(id);
                entry.grant(id, mode);
            } else {
                // Killed, chosen as a victim or timed out, and not awake yet: it takes itself out, and until then keeps
                // its entry (LOCK-3), which would else be somebody else's by then.
                at += 1;
            }
        }
        // Behind the first X nobody's edges depend on the holders, but for those who pass it.
        let until = entry.queue.iter().position(|r| r.mode == LockMode::X).map_or(entry.queue.len(), |at| at + 1);
        let depends = |at: &usize| *at < until || entry.queue[*at].mode.is_intention();
        self.graph.update((0..entry.queue.len()).filter(depends).map(|at| (entry.queue[at].owner.id, entry.edges(at))));
    }

    pub fn stats(&self) -> LockStats {
        LockStats {
            waits: self.waits.load(Ordering::Relaxed),
            waiting_now: self.graph.waiting_now() as u64,
            wait_us_total: self.wait_us_total.load(Ordering::Relaxed),
            wait_us_max: self.wait_us_max.load(Ordering::Relaxed),
            deadlocks: self.graph.deadlocks(),
            timeouts: self.timeouts.load(Ordering::Relaxed),
        }
    }

    /// LOCK-1 to LOCK-3 of every lock, shard by shard.
    pub fn check_invariants(&self) {
        for shard in &self.shards {
            let shard = shard.lock();
            shard.locked().for_each(Entry::check_invariants);
            let used = shard.entries.iter().filter(|entry| entry.is_used()).count();
            holds(used == shard.table.len(), "LOCK-3: each entry with a holder or a waiter is found by its key");
            holds(used + shard.free.len() == shard.entries.len(), "LOCK-3: an entry without any is free");
        }
    }

    /// Some of the last deadlocks, the oldest first.
    pub fn last_deadlocks(&self) -> Vec<Arc<Deadlock>> {
        self.graph.last_deadlocks()
    }

    /// The last deadlock, for SHOW ENGINE INNODB STATUS.
    pub fn latest_deadlock(&self) -> Option<Arc<Deadlock>> {
        self.graph.latest_deadlock()
    }

    /// Every lock and request, shard by shard: not one moment's picture of all.
    pub fn dump(&self) -> Vec<LockInfo> {
        if CHECKED {
            self.check_invariants();
        }
        let mut out = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            for entry in &shard.entries {
                for grant in &entry.granted {
                    out.push(LockInfo {
                        txn: grant.owner,
                        target: entry.target(),
                        mode: grant.mode,
                        granted: true,
                        blocked_by: Vec::new(),
                    });
                }
                for (position, request) in entry.queue.iter().enumerate() {
                    let id = request.owner.id;
                    let blocked_by = entry.blockers(position);
                    out.push(LockInfo { txn: id, target: entry.target(), mode: request.mode, granted: false, blocked_by });
                }
            }
        }
        out.extend(self.ranges.dump());
        out
    }
}

/// A slot and the shard it is in.
struct SlotLock<'a> {
    shard: &'a Mutex<Shard>,
    slot: u32,
}

impl Shard {
    fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.table.find(hash, |&slot| *self.entries[slot as usize].key == *key).copied()
    }

    fn insert(&mut self, hash: u64, key: &[u8]) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            (self.entries.len() - 1) as u32
        });
        let entry = &mut self.entries[slot as usize];
        entry.hash = hash;
        entry.key.extend_from_slice(key);
        let entries = &self.entries;
        self.table.insert_unique(hash, slot, |&slot| entries[slot as usize].hash);
        slot
    }

    /// Of one lock that is there.
    fn check_invariants(&self, slot: u32) {
        let entry = &self.entries[slot as usize];
        entry.check_invariants();
        holds(
            self.find(entry.hash, &entry.key) == Some(slot),
            "LOCK-3: each entry with a holder or a waiter is found by its key",
        );
    }

    fn free_if_unused(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        if !entry.granted.is_empty() || !entry.queue.is_empty() {
            return;
        }
        entry.key = SmallVec::new();
        if let Ok(found) = self.table.find_entry(entry.hash, |&s| s == slot) {
            found.remove();
        }
        self.free.push(slot);
        self.shrink_if_mostly_free();
    }

    /// A transaction with many locks must not make every later search for keys in a range go through the places that it took,
    /// and one with millions must not keep its memory for ever.
    fn shrink_if_mostly_free(&mut self) {
        const KEPT_ENTRIES: usize = 1024;
        const KEPT_PLACES: usize = 64;
        /// A table is made smaller when it is filled to less than one part in so many: each lock given back pays for a part of it.
        const FILLED_MIN: usize = 8;
        if self.free.len() == self.entries.len() && self.entries.len() > KEPT_ENTRIES {
            *self = Shard::default();
        } else if self.table.capacity() > KEPT_PLACES && self.table.len() * FILLED_MIN < self.table.capacity() {
            let (entries, places) = (&self.entries, (2 * self.table.len()).max(KEPT_PLACES / 2));
            self.table.shrink_to(places, |&slot| entries[slot as usize].hash);
        }
    }

    /// The entries that have holders or waiters, in no order.
    pub(super) fn locked(&self) -> impl Iterator<Item = &Entry> {
        self.table.iter().map(|&slot| &self.entries[slot as usize])
    }

    /// What `locked` goes through.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.table.capacity()
    }
}

impl Entry {
    fn is_used(&self) -> bool {
        !self.granted.is_empty() || !self.queue.is_empty()
    }

    fn check_invariants(&self) {
        for (at, grant) in self.granted.iter().enumerate() {
            let others = self.granted.iter().skip(at + 1);
            let compatible = others.clone().all(|other| other.mode.compatible(grant.mode));
            holds(compatible, "LOCK-1: the modes of two holders of one lock are compatible");
            holds(others.clone().all(|other| other.owner != grant.owner), "LOCK-1: an owner holds a lock once");
        }
        let upgrades_first = self.queue.iter().skip_while(|r| r.upgrade).all(|r| !r.upgrade);
        holds(upgrades_first, "LOCK-2: an upgrade goes ahead of all requests that are not upgrades");
        if self.queue.len() <= CHECKED_MAX {
            let mut waiters: Vec<u64> = self.queue.iter().map(|request| request.owner.id).collect();
            waiters.sort_unstable();
            holds(waiters.windows(2).all(|pair| pair[0] != pair[1]), "LOCK-4: an owner waits for at most one lock");
        }
    }

    pub(super) fn mode_of(&self, owner: u64) -> Option<LockMode> {
        self.granted.iter().find(|g| g.owner == owner).map(|g| g.mode)
    }

    /// Others hold what conflicts with a range around it, or wait.
    pub(super) fn is_in_the_way(&self, owner: u64, mode: LockMode) -> bool {
        self.granted.iter().any(|g| g.owner != owner && !g.mode.compatible(mode)) || !self.queue.is_empty()
    }

    fn must_wait(&self, owner: u64, mode: LockMode, upgrade: bool) -> bool {
        let conflicts_with_holder = self.granted.iter().any(|g| g.owner != owner && !g.mode.compatible(mode));
        conflicts_with_holder || (!upgrade && self.queue.iter().any(|r| r.stops(mode)))
    }

    /// Nobody holds what conflicts with the request at `position`, and none ahead of it stops it.
    fn may_be_granted(&self, position: usize) -> bool {
        let request = &self.queue[position];
        let (id, mode) = (request.owner.id, request.mode);
        !self.conflicting_holders(id, mode).any(|_| true) && !self.queue.iter().take(position).any(|r| r.stops(mode))
    }

    fn grant(&mut self, owner: u64, mode: LockMode) {
        match self.granted.iter_mut().find(|g| g.owner == owner) {
            Some(grant) => grant.mode = mode,
            None => self.granted.push(Grant { owner, mode }),
        }
    }

    fn enqueue(&mut self, request: Request) {
        if request.upgrade {
            let upgrades = self.queue.iter().take_while(|r| r.upgrade).count();
            self.queue.insert(upgrades, request);
        } else {
            self.queue.push_back(request);
        }
    }

    /// Who must go before the request at `position` of the queue.
    fn blockers(&self, position: usize) -> Vec<u64> {
        let (owner, mode) = (self.queue[position].owner.id, self.queue[position].mode);
        let ahead = self.queue.iter().take(position).filter(|r| r.stops(mode)).map(|r| r.owner.id);
        self.conflicting_holders(owner, mode).chain(ahead).collect()
    }

    fn conflicting_holders(&self, owner: u64, mode: LockMode) -> impl Iterator<Item = u64> {
        self.granted.iter().filter(move |g| g.owner != owner && !g.mode.compatible(mode)).map(|g| g.owner)
    }

    /// Edges from which all blockers are reached: the nearest conflicting request ahead and,
    /// unless that is an X, which itself waits for every holder, the conflicting holders. So a
    /// thousand waiters for one row have a thousand edges, not half a million.
    fn edges(&self, position: usize) -> Vec<u64> {
        let (owner, mode) = (self.queue[position].owner.id, self.queue[position].mode);
        match self.queue.iter().take(position).rev().find(|r| r.stops(mode)) {
            Some(ahead) if ahead.mode == LockMode::X => vec![ahead.owner.id],
            ahead => ahead.map(|r| r.owner.id).into_iter().chain(self.conflicting_holders(owner, mode)).collect(),
        }
    }

    fn edges_of(&self, owner: u64) -> Vec<u64> {
        self.queue.iter().position(|r| r.owner.id == owner).map_or(Vec::new(), |at| self.edges(at))
    }

    fn target(&self) -> LockTarget {
        if self.is_of_index() {
            return LockTarget::Index(IndexId(prefix_of(&self.key)));
        }
        match self.key.strip_prefix(&TABLE_KEY_PREFIX).and_then(|id| <[u8; 4]>::try_from(id).ok()) {
            Some(id) => LockTarget::Table(TableId(u32::from_be_bytes(id))),
            None => LockTarget::Key(self.key.to_vec()),
        }
    }

    /// An index as a whole: keys of entries are longer than its id.
    pub(super) fn is_of_index(&self) -> bool {
        self.key.len() == INDEX_ID_BYTES
    }
}

fn table_key(table: TableId) -> [u8; 8] {
    let mut key = [0; 8];
    key[..4].copy_from_slice(&TABLE_KEY_PREFIX);
    key[4..].copy_from_slice(&table.0.to_be_bytes());
    key
}

/// From bits that the hash tables, which use the lowest and the highest, do not lean on.
fn shard_number(hash: u64) -> usize {
    (hash >> 32) as usize % LOCK_SHARDS
}

fn slot_name(shard: usize, slot: u32) -> u64 {
    (shard as u64) << 32 | u64::from(slot)
}
