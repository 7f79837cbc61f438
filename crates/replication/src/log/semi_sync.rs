//! Semi-synchronous replication, the source's side: which commits wait, and when they have waited enough.
//!
//! The leader of commits notes where a group ends in the log before readers can see it (`logged`), and leaves its end here (`hold`). Who sends the
//! log asks for each event whether an ack is wanted (`wants_ack`) and tells those that come (`acked`); the ack that completes the wait ends the
//! commits on the thread that has read it. Waits stand in the order of the log, and an ack counts for all before it.
//!
//! ```text
//! OFF                 a commit waits for nothing; replicas are asked for acks from the last commit on
//!   → ON              `configure` enables it, or enough replicas have acked the last commit          [on]
//! ON                  a group waits until enough replicas have acked it
//!   → OFF             the oldest wait has lasted too long, a replica has gone that must not, it is disabled  [off]
//! ```
//!
//! * SEMI-1: `waits` ascends by its places, and only the leader adds to it.
//! * SEMI-2: what waits is ended outside the mutex, once: whoever takes it out of `waits` has it.
//! * SEMI-3: while it is OFF nothing waits.
//!
//! Times are those of the monotonic clock.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vaquita_session::binary_log::SemiSyncStatus;
use vaquita_storage::{GoOn, Held};

use super::place::{Place, file_name};

/// A wait without end is one of this length.
const TIMEOUT_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);
/// How often somebody looks at least, and at most, while nothing waits.
const LOOK_MIN: Duration = Duration::from_millis(10);
const LOOK_MAX: Duration = Duration::from_secs(3600);
/// Acks of replicas that have gone are kept for what still waits, of so many.
const GONE_MAX: usize = 64;

/// The variables `rpl_semi_sync_source_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SemiSyncSettings {
    pub enabled: bool,
    pub timeout: Duration,
    /// It stays ON while there are fewer replicas than acks are wanted, and waits for them.
    pub wait_no_replica: bool,
    /// `wait_point` is AFTER_COMMIT: locks do not wait.
    pub after_commit: bool,
    /// Acks of so many replicas are wanted.
    pub replicas: usize,
}

impl Default for SemiSyncSettings {
    fn default() -> SemiSyncSettings {
        let timeout = Duration::from_secs(10);
        SemiSyncSettings { enabled: false, timeout, wait_no_replica: true, after_commit: false, replicas: 1 }
    }
}

/// Names a dump that sends to a semi-synchronous replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaKey(u64);

#[derive(Clone, Default)]
pub struct SemiSync(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Settings have changed, or there is nothing to watch any more.
    changed: Condvar,
    /// What waits of the group that was logged last: a `Held`.
    group: AtomicU8,
    /// It is ON, and its wait point AFTER_SYNC.
    hides: AtomicBool,
}

#[derive(Default)]
struct State {
    settings: SemiSyncSettings,
    on: bool,
    /// Where the last transaction ends that was logged while it was enabled.
    last: Place,
    waits: VecDeque<Wait>,
    replicas: Vec<Replica>,
    next_key: u64,
    watched: bool,
    counts: Counts,
}

/// A group that waits.
struct Wait {
    place: Place,
    since: Instant,
    commits: u64,
    /// Empty as long as the leader has not left it here. Commits that the log was told nothing of may follow.
    go_on: Vec<GoOn>,
}

struct Replica {
    key: ReplicaKey,
    server_id: u32,
    /// All up to here is stored there.
    acked: Place,
    connected: bool,
}

#[derive(Default)]
struct Counts {
    acks: u64,
    acknowledged: u64,
    not_acknowledged: u64,
    times_off: u64,
    waits: u64,
    waited_us: u64,
}

/// What is to be done when the mutex is free.
type Ended = Vec<GoOn>;

fn end(ended: Ended) {
    ended.into_iter().for_each(GoOn::run);
}

const HELD: [Held; 3] = [Held::Nothing, Held::Waiters, Held::LocksAndWaiters];

impl SemiSync {
    /// Follows the variables. It is ON as soon as it is enabled.
    pub fn configure(&self, settings: SemiSyncSettings) {
        let mut state = self.0.state.lock();
        let was_enabled = std::mem::replace(&mut state.settings, settings).enabled;
        let ended = match (was_enabled, settings.enabled) {
            (false, true) => {
                state.last = Place::default();
                state.on("it is enabled");
                state.settle()
            }
            (true, false) => state.off("it is disabled", true),
            _ => state.settle(),
        };
        if settings.enabled && !state.watched {
            let shared = Arc::downgrade(&self.0);
            let spawned = std::thread::Builder::new().name("semi-sync".into()).spawn(move || watch(&shared));
            state.watched = spawned.is_ok();
            if let Err(error) = spawned {
                // Nobody would end a wait that lasts too long.
                tracing::error!("semi-synchronous replication is off: no thread can be made for it: {error}");
                state.settings.enabled = false;
                state.on = false;
            }
        }
        self.0.note(&state);
        drop(state);
        self.0.changed.notify_all();
        end(ended);
    }

    /// The server stops: nobody waits any more.
    pub fn stop(&self) {
        let ended = {
            let mut state = self.0.state.lock();
            state.settings.enabled = false;
            let ended = state.off("the server stops", true);
            self.0.note(&state);
            ended
        };
        self.0.changed.notify_all();
        end(ended);
    }

    /// The leader has logged a group with so many transactions, the last of which ends here; readers do not see it yet.
    pub fn logged(&self, place: Place, commits: u64) {
        let held = match commits {
            0 if self.0.group.load(Ordering::Relaxed) == 0 => return,
            0 => Held::Nothing,
            _ => self.0.state.lock().logged(place, commits),
        };
        let held = HELD.iter().position(|known| *known == held).unwrap_or(0);
        self.0.group.store(held as u8, Ordering::Relaxed);
    }

    /// What waits of the group that was logged last.
    pub fn holds(&self) -> Held {
        HELD.get(usize::from(self.0.group.load(Ordering::Relaxed))).copied().unwrap_or_default()
    }

    /// What is logged next will wait with its locks.
    pub fn hides(&self) -> bool {
        self.0.hides.load(Ordering::Relaxed)
    }

    /// Something waits.
    pub fn waits(&self) -> bool {
        !self.0.state.lock().waits.is_empty()
    }

    /// The leader leaves the end of what was logged last here, unless nothing waits any more: what was logged later does not wait less.
    pub fn hold(&self, go_on: GoOn) {
        let mut state = self.0.state.lock();
        match state.waits.back_mut() {
            Some(wait) => wait.go_on.push(go_on),
            // Also that of the group itself is over.
            None => {
                drop(state);
                go_on.run();
            }
        }
    }

    /// RESET BINARY LOGS AND GTIDS: places begin anew.
    pub fn reset(&self) {
        let ended = {
            let mut state = self.0.state.lock();
            state.last = Place::default();
            state.replicas.iter_mut().for_each(|replica| replica.acked = Place::default());
            state.replicas.retain(|replica| replica.connected);
            state.take_waits(usize::MAX)
        };
        end(ended);
    }

    /// A dump begins for a semi-synchronous replica, which has all that is before the place.
    pub fn add_replica(&self, server_id: u32, has: Place) -> ReplicaKey {
        let key = {
            let mut state = self.0.state.lock();
            state.next_key += 1;
            let key = ReplicaKey(state.next_key);
            state.replicas.retain(|known| known.connected || known.server_id != server_id);
            state.replicas.push(Replica { key, server_id, acked: Place::default(), connected: true });
            key
        };
        self.has(key, has);
        key
    }

    pub fn remove_replica(&self, key: ReplicaKey) {
        let ended = {
            let mut state = self.0.state.lock();
            if let Some(replica) = state.replicas.iter_mut().find(|known| known.key == key) {
                replica.connected = false;
            }
            let gone = state.replicas.iter().filter(|known| !known.connected).count();
            if state.waits.is_empty() || gone > GONE_MAX {
                state.replicas.retain(|known| known.connected);
            }
            let ended = state.settle();
            self.0.note(&state);
            ended
        };
        end(ended);
    }

    /// An ack has come.
    pub fn acked(&self, key: ReplicaKey, place: Place) {
        self.0.state.lock().counts.acks += 1;
        self.has(key, place);
    }

    /// The replica has all before the place, which it has not been sent now.
    pub fn has(&self, key: ReplicaKey, place: Place) {
        let ended = {
            let mut state = self.0.state.lock();
            let Some(replica) = state.replicas.iter_mut().find(|known| known.key == key) else { return };
            if place <= replica.acked {
                return;
            }
            replica.acked = place;
            let ended = state.settle();
            self.0.note(&state);
            ended
        };
        end(ended);
    }

    /// Whether a replica is asked for an ack of the event that ends here.
    pub fn wants_ack(&self, place: Place) -> bool {
        let state = self.0.state.lock();
        match (state.settings.enabled, state.on) {
            (false, _) => false,
            (true, true) => state.waits.binary_search_by_key(&place, |wait| wait.place).is_ok(),
            // It comes back when a replica has caught up.
            (true, false) => place >= state.last,
        }
    }

    pub fn status(&self) -> SemiSyncStatus {
        let state = self.0.state.lock();
        let counts = &state.counts;
        SemiSyncStatus {
            on: state.on,
            clients: state.clients() as u64,
            acks: counts.acks,
            acknowledged: counts.acknowledged,
            not_acknowledged: counts.not_acknowledged,
            times_off: counts.times_off,
            waits: counts.waits,
            waited_us: counts.waited_us,
            waiting: state.waits.iter().map(|wait| wait.commits).sum(),
        }
    }
}

impl Shared {
    /// Called while `state` is locked, when it or the settings have changed.
    fn note(&self, state: &State) {
        self.hides.store(state.on && !state.settings.after_commit, Ordering::Relaxed);
    }
}

impl State {
    fn clients(&self) -> usize {
        self.replicas.iter().filter(|replica| replica.connected).count()
    }

    fn logged(&mut self, place: Place, commits: u64) -> Held {
        if !self.settings.enabled {
            return Held::Nothing;
        }
        self.last = place;
        if !self.on {
            self.counts.not_acknowledged += commits;
            return Held::Nothing;
        }
        self.waits.push_back(Wait { place, since: Instant::now(), commits, go_on: Vec::new() });
        if self.settings.after_commit { Held::Waiters } else { Held::LocksAndWaiters }
    }

    /// What so many replicas have as are wanted.
    fn acked_by_enough(&self) -> Option<Place> {
        let mut acked: Vec<Place> = self.replicas.iter().map(|replica| replica.acked).collect();
        acked.sort_unstable_by(|a, b| b.cmp(a));
        acked.get(self.settings.replicas.max(1) - 1).copied()
    }

    /// Acks, replicas or settings have changed.
    fn settle(&mut self) -> Ended {
        if !self.settings.enabled {
            return Ended::new();
        }
        let acked = self.acked_by_enough();
        let is_enough = acked.is_some_and(|acked| acked >= self.last);
        let replicas_are_there = self.clients() >= self.settings.replicas;
        if !self.on && is_enough && (self.settings.wait_no_replica || replicas_are_there) {
            self.on("a replica has caught up");
        }
        let done = acked.map_or(0, |acked| self.waits.partition_point(|wait| wait.place <= acked));
        for wait in self.waits.iter().take(done) {
            self.counts.waits += 1;
            self.counts.waited_us += wait.since.elapsed().as_micros() as u64;
            self.counts.acknowledged += wait.commits;
        }
        let mut ended = self.take_waits(done);
        if self.on && !self.settings.wait_no_replica && !replicas_are_there {
            ended.extend(self.off("there are fewer replicas than acks are wanted", true));
        }
        ended
    }

    fn take_waits(&mut self, count: usize) -> Ended {
        let count = count.min(self.waits.len());
        self.waits.drain(..count).flat_map(|wait| wait.go_on).collect()
    }

    fn on(&mut self, why: &str) {
        if !self.on {
            self.on = true;
            tracing::info!("semi-synchronous replication is on: {why}");
        }
    }

    /// `counts_time`: of what has waited, as MySQL does it where nothing has lasted too long.
    fn off(&mut self, why: &str, counts_time: bool) -> Ended {
        if !self.on {
            return Ended::new();
        }
        self.on = false;
        self.counts.times_off += 1;
        for wait in &self.waits {
            self.counts.not_acknowledged += wait.commits;
            if counts_time {
                self.counts.waits += 1;
                self.counts.waited_us += wait.since.elapsed().as_micros() as u64;
            }
        }
        tracing::warn!("semi-synchronous replication is off: {why}");
        self.take_waits(usize::MAX)
    }

    /// When the oldest wait has lasted too long.
    fn deadline(&self) -> Option<Instant> {
        self.waits.front().map(|wait| wait.since + self.settings.timeout.min(TIMEOUT_MAX))
    }

    fn too_late(&mut self) -> Ended {
        let Some(Wait { place, .. }) = self.waits.front() else { return Ended::new() };
        let why = format!(
            "no ack has come for {} ms of {} up to {}",
            self.settings.timeout.as_millis(),
            file_name(place.file),
            place.pos
        );
        self.off(&why, false)
    }
}

/// Ends what waits too long. It need not be woken by a wait that begins: no wait is too long sooner than one that begins when it goes to sleep.
fn watch(shared: &Weak<Shared>) {
    loop {
        let Some(strong) = shared.upgrade() else { return };
        let mut state = strong.state.lock();
        let now = Instant::now();
        match state.deadline() {
            Some(deadline) if deadline <= now => {
                let ended = state.too_late();
                strong.note(&state);
                drop(state);
                end(ended);
            }
            deadline => {
                let idle = now + state.settings.timeout.clamp(LOOK_MIN, LOOK_MAX);
                // It holds nothing of the server's for long, so that this ends with it.
                let until = deadline.unwrap_or(idle).min(now + LOOK_MAX);
                if !state.settings.enabled && state.waits.is_empty() {
                    state.watched = false;
                    return;
                }
                strong.changed.wait_until(&mut state, until);
            }
        }
    }
}
