//! The lock manager.

use std::sync::Arc;
use std::time::Duration;

use vaquita_types::Result;
use vaquita_types::schema::TableId;

use super::hooks;
use crate::base::sync::atomic::{AtomicUsize, Ordering};
use crate::base::sync::thread;
use crate::locks::{Acquired, HeldLocks, Interrupt, InterruptReason, LockManager, LockMode, LockPolicy, Owner, PassedBy};

use LockMode::{IS, IX, S, X};

/// Beyond any schedule.
pub const LONG: LockPolicy = LockPolicy::Wait(Duration::from_secs(1 << 20));
/// Times out wherever the schedule lets it wait.
const AT_ONCE: LockPolicy = LockPolicy::Wait(Duration::ZERO);

const DEADLOCK: u16 = 1213;
const TIMEOUT: u16 = 1205;
const KILLED: u16 = 1317;

struct Session {
    owner: Arc<Owner>,
    held: HeldLocks,
    locks: Arc<LockManager>,
}

impl Session {
    fn lock(&mut self, key: &str, mode: LockMode, policy: LockPolicy) -> Result<Acquired> {
        self.locks.lock_key(&self.owner, &mut self.held, key.as_bytes(), mode, policy)
    }

    /// Locks keys one after the other; the code of the error that ended it, or 0.
    fn lock_all(&mut self, wanted: &[(&str, LockMode)]) -> u16 {
        wanted.iter().find_map(|(key, mode)| self.lock(key, *mode, LONG).err()).map_or(0, |e| e.code())
    }

    fn range(&mut self) -> Result<()> {
        self.locks.lock_range(&self.owner, &mut self.held, b"a", b"c", LONG)
    }

    fn end(&mut self) {
        self.locks.release_all(self.owner.id, &mut self.held);
    }
}

struct World {
    locks: Arc<LockManager>,
    /// Threads that hold the lock that a scenario is about.
    inside: Arc<AtomicUsize>,
}

impl World {
    fn new() -> World {
        let hooks = hooks();
        World { locks: Arc::new(LockManager::new(hooks.threads, hooks.statements)), inside: Arc::new(AtomicUsize::new(0)) }
    }

    fn session(&self, id: u64) -> Session {
        let owner = Owner::new(id, Arc::new(Interrupt::new(id)));
        Session { owner, held: HeldLocks::default(), locks: Arc::clone(&self.locks) }
    }

    /// Runs `work` in a session with each of `ids`, the first on this thread, and returns what they returned.
    fn sessions<T: Send + 'static>(
        &self,
        ids: std::ops::RangeInclusive<u64>,
        work: impl Fn(&mut Session, &AtomicUsize) -> T + Clone + Send + 'static,
    ) -> Vec<T> {
        let mut all = ids.map(|id| self.session(id));
        let first = all.next();
        let others: Vec<_> = all
            .map(|mut session| {
                let (work, inside) = (work.clone(), Arc::clone(&self.inside));
                thread::spawn(move || work(&mut session, &inside))
            })
            .collect();
        let mut out: Vec<T> = first.into_iter().map(|mut session| work(&mut session, &self.inside)).collect();
        out.extend(others.into_iter().map(|thread| thread.join().expect("no thread panics")));
        out
    }

    /// Nobody is left, and no entry was freed twice: whoever comes later has each key's lock for itself. LOCK-3.
    fn assert_empty(&self) {
        assert!(self.locks.dump().is_empty(), "{:?}", self.locks.dump());
        assert_eq!(self.locks.stats().waiting_now, 0);
        let keys = ["u", "v", "w", "x", "y", "z"];
        let mut late = self.session(9);
        for key in keys {
            assert_eq!(late.lock(key, X, LockPolicy::NoWait).ok(), Some(Acquired::New), "{key}");
        }
        let held = keys.iter().filter(|key| self.locks.holds(9, key.as_bytes(), X)).count();
        assert_eq!(held, keys.len(), "LOCK-3: keys share an entry: {:?}", self.locks.dump());
        late.end();
    }
}

fn alone(inside: &AtomicUsize) {
    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "LOCK-1: two hold an exclusive lock");
    inside.fetch_sub(1, Ordering::SeqCst);
}

fn errors(codes: &[u16]) -> usize {
    codes.iter().filter(|code| **code != 0).count()
}

/// Three want the same row.
pub fn exclude() {
    let world = World::new();
    let codes = world.sessions(1..=3, |s, inside| {
        let code = s.lock_all(&[("k", X)]);
        alone(inside);
        s.end();
        code
    });
    assert_eq!(codes, [0, 0, 0]);
    world.assert_empty();
}

/// Opposite orders, and a reader in the queue: who closes a cycle is told, and nobody else.
pub fn deadlock_of_two() {
    let world = World::new();
    let codes = world.sessions(1..=3, |s, inside| {
        let wanted: &[_] = match s.owner.id {
            1 => &[("a", X), ("b", X)],
            2 => &[("b", X), ("a", X)],
            _ => &[("b", S)],
        };
        let code = s.lock_all(wanted);
        if code == 0 && s.owner.id < 3 {
            alone(inside);
        }
        s.end();
        code
    });
    assert!(codes.iter().all(|code| [0, DEADLOCK].contains(code)), "{codes:?}");
    assert!(codes[0] == 0 || codes[1] == 0, "one of two must go on: {codes:?}");
    assert_eq!(world.locks.stats().deadlocks as usize, errors(&codes));
    world.assert_empty();
}

/// A cycle of three.
pub fn deadlock_of_three() {
    let world = World::new();
    let codes = world.sessions(1..=3, |s, _| {
        let keys = ["a", "b", "c", "a"];
        let at = s.owner.id as usize - 1;
        let code = s.lock_all(&[(keys[at], X), (keys[at + 1], X)]);
        s.end();
        code
    });
    assert!(codes.iter().all(|code| [0, DEADLOCK].contains(code)), "{codes:?}");
    assert!(errors(&codes) <= 1, "one victim breaks a cycle of three: {codes:?}");
    world.assert_empty();
}

/// A deadlock whose victim wakes after the other has given up and ended, while a third comes for the entry that is then free.
pub fn victim_wakes_late() {
    let world = World::new();
    let codes = world.sessions(1..=3, |s, _| {
        let code = match s.owner.id {
            1 => {
                s.owner.set_rows_modified(1);
                let first = s.lock_all(&[("a", X)]);
                if first == 0 { s.lock("b", X, AT_ONCE).err().map_or(0, |e| e.code()) } else { first }
            }
            2 => s.lock_all(&[("b", X), ("a", X)]),
            _ => s.lock_all(&[("c", X), ("d", X)]),
        };
        s.end();
        code
    });
    assert!([0, TIMEOUT].contains(&codes[0]) && [0, DEADLOCK].contains(&codes[1]), "{codes:?}");
    assert_eq!(codes[2], 0);
    world.assert_empty();
}

/// Readers that become writers: one at least gets there, the others are told.
pub fn upgrades() {
    let world = World::new();
    let codes = world.sessions(1..=3, |s, inside| {
        let wanted: &[_] = if s.owner.id == 3 { &[("k", S)] } else { &[("k", S), ("k", X)] };
        let code = s.lock_all(wanted);
        if code == 0 && s.owner.id < 3 {
            alone(inside);
        }
        s.end();
        code
    });
    assert!(codes[0] == 0 || codes[1] == 0, "{codes:?}");
    assert_eq!(codes[2], 0, "a reader that wants nothing more is in nobody's way");
    world.assert_empty();
}

/// Whoever times out must not take the lock, or a wakeup, with it.
pub fn time_out() {
    let world = World::new();
    let codes = world.sessions(1..=3, |s, inside| {
        let policy = if s.owner.id == 2 { AT_ONCE } else { LONG };
        let mode = if s.owner.id == 3 { S } else { X };
        let code = s.lock("k", mode, policy).err().map_or(0, |e| e.code());
        if code == 0 {
            alone(inside);
        }
        s.end();
        code
    });
    assert!(codes[0] == 0 && codes[2] == 0 && [0, TIMEOUT].contains(&codes[1]), "{codes:?}");
    world.assert_empty();
}

/// KILL QUERY at any moment of a wait.
pub fn kill() {
    let world = World::new();
    let (mut holder, mut victim) = (world.session(1), world.session(2));
    let interrupt = Arc::clone(&victim.owner.interrupt);
    let inside = Arc::clone(&world.inside);
    let waiter = thread::spawn(move || {
        let code = victim.lock_all(&[("k", X)]);
        if code == 0 {
            alone(&inside);
        }
        victim.end();
        code
    });
    let killer = thread::spawn(move || interrupt.raise(InterruptReason::KillQuery));
    assert_eq!(holder.lock_all(&[("k", X)]), 0);
    alone(&world.inside);
    holder.end();
    killer.join().expect("no thread panics");
    let code = waiter.join().expect("no thread panics");
    assert!([0, KILLED].contains(&code), "{code}");
    world.assert_empty();
}

/// Who waits behind a writer that is killed goes on at once, and not only when the reader before it ends.
pub fn killed_before_another() {
    let world = World::new();
    let (mut reader, mut victim, mut behind) = (world.session(1), world.session(2), world.session(3));
    let interrupt = Arc::clone(&victim.owner.interrupt);
    assert_eq!(reader.lock_all(&[("k", S)]), 0);
    let writer = thread::spawn(move || {
        let code = victim.lock_all(&[("k", X)]);
        victim.end();
        code
    });
    let other = thread::spawn(move || {
        let code = behind.lock_all(&[("k", S)]);
        behind.end();
        code
    });
    interrupt.raise(InterruptReason::KillQuery);
    // The reader ends after the other: whoever waits for its end waits for ever.
    assert_eq!(other.join().expect("no thread panics"), 0);
    reader.end();
    // Nobody is in the way of a writer that begins now.
    let code = writer.join().expect("no thread panics");
    assert!([0, KILLED].contains(&code), "{code}");
    world.assert_empty();
}

/// A row given back early, SKIP LOCKED, and one who waits.
pub fn skip_and_unlock() {
    let world = World::new();
    let codes = world.sessions(1..=3, |s, inside| {
        let policy = if s.owner.id == 2 { LockPolicy::SkipLocked } else { LONG };
        let got = s.lock("k", X, policy).expect("neither waits in a circle");
        if got != Acquired::Skipped {
            alone(inside);
        }
        if s.owner.id == 1 {
            let Session { locks, owner, held } = s;
            locks.unlock_key(owner.id, held, 0, b"k");
        }
        s.end();
        got
    });
    assert!(codes[0] == Acquired::New && codes[2] == Acquired::New, "{codes:?}");
    world.assert_empty();
}

/// Two statements and a DDL statement.
pub fn tables() {
    let world = World::new();
    world.sessions(1..=3, |s, inside| {
        let mode = if s.owner.id == 3 { X } else { IX };
        let Session { locks, owner, held } = s;
        locks.lock_table(owner, held, TableId(7), mode, LONG).expect("no cycle");
        // A statement counts 1, the DDL statement 10: it must be alone.
        let weight = if mode == X { 10 } else { 1 };
        let before = inside.fetch_add(weight, Ordering::SeqCst);
        assert!(before + weight <= 2 || before == 0, "{mode:?} beside {before}");
        inside.fetch_sub(weight, Ordering::SeqCst);
        s.end();
    });
    world.assert_empty();
}

/// A reader comes while a DDL statement waits for a writer, aside or not: it passes or waits, and nobody is forgotten.
pub fn readers_beside_ddl() {
    let world = World::new();
    let codes = world.sessions(1..=3, |s, inside| {
        let Session { locks, owner, held } = s;
        let mut lock = |mode, policy| locks.lock_table(owner, held, TableId(7), mode, policy).err().map_or(0, |e| e.code());
        let code = match owner.id {
            1 => {
                let writes = lock(IX, LONG);
                let before = inside.fetch_add(1, Ordering::SeqCst);
                assert!(before < 10, "a writer beside DDL");
                inside.fetch_sub(1, Ordering::SeqCst);
                writes
            }
            2 => {
                // Aside first, as far as the schedule lets it, then for good.
                let aside = [PassedBy::Writers, PassedBy::Readers].map(|by| LockPolicy::WaitAside(Duration::ZERO, by));
                let ddl = aside.into_iter().chain([LONG]).map(|policy| lock(X, policy)).find(|code| *code != TIMEOUT);
                let ddl = ddl.unwrap_or(TIMEOUT);
                let before = inside.fetch_add(10, Ordering::SeqCst);
                assert_eq!(before, 0, "DDL is not alone");
                inside.fetch_sub(10, Ordering::SeqCst);
                ddl
            }
            _ => {
                let reads = lock(IS, LONG);
                let before = inside.fetch_add(1, Ordering::SeqCst);
                assert!(before < 10, "a reader beside DDL");
                inside.fetch_sub(1, Ordering::SeqCst);
                // It goes on to write: an upgrade.
                if reads == 0 { lock(IX, LONG) } else { reads }
            }
        };
        s.end();
        code
    });
    assert_eq!(codes, [0, 0, 0]);
    world.assert_empty();
}

/// What a SERIALIZABLE reader has read stays, whether its writers come before or after.
pub fn range_and_writers() {
    let world = World::new();
    world.sessions(1..=3, |s, written| {
        if s.owner.id == 1 {
            s.range().expect("no cycle");
            let before = written.load(Ordering::SeqCst);
            assert_eq!(written.load(Ordering::SeqCst), before, "a phantom");
        } else {
            s.lock(["ba", "bb"][s.owner.id as usize - 2], X, LONG).expect("no cycle");
            written.fetch_add(1, Ordering::SeqCst);
        }
        s.end();
    });
    assert_eq!(world.inside.load(Ordering::SeqCst), 2);
    world.assert_empty();
}

/// The same of writers that lock their index as a whole where the reader lets them.
pub fn range_and_writers_anywhere() {
    let world = World::new();
    world.sessions(1..=3, |s, written| {
        if s.owner.id == 1 {
            s.locks.lock_range(&s.owner, &mut s.held, b"idx b", b"idx c", LONG).expect("no cycle");
            let before = written.load(Ordering::SeqCst);
            thread::yield_now();
            assert_eq!(written.load(Ordering::SeqCst), before, "a phantom");
        } else {
            // The first one alone, somewhere else.
            let keys: [&[u8]; 2] = [[b"idx aa", b"idx ba"], [b"idx ab", b"idx bb"]][s.owner.id as usize - 2].map(|key| &key[..]);
            for key in keys {
                s.locks.lock_entry(&s.owner, &mut s.held, key, LONG).expect("no cycle");
            }
            written.fetch_add(1, Ordering::SeqCst);
        }
        s.end();
    });
    assert_eq!(world.inside.load(Ordering::SeqCst), 2);
    world.assert_empty();
}

/// Both read that nobody is there, and write that they are: only one may. A third reads one of the rows.
pub fn write_skew() {
    let world = World::new();
    let codes = world.sessions(1..=3, |s, there| {
        if s.owner.id == 3 {
            let code = s.lock_all(&[("ba", S)]);
            s.end();
            return code;
        }
        let key = ["ba", "bb"][s.owner.id as usize - 1];
        let code = match s.range() {
            Err(e) => e.code(),
            Ok(()) => {
                let nobody = there.load(Ordering::SeqCst) == 0;
                let code = if nobody { s.lock_all(&[(key, X)]) } else { 0 };
                if nobody && code == 0 {
                    there.fetch_add(1, Ordering::SeqCst);
                }
                code
            }
        };
        s.end();
        code
    });
    assert_eq!(world.inside.load(Ordering::SeqCst), 1, "write skew, or nobody wrote: {codes:?}");
    assert!(codes.iter().all(|code| [0, DEADLOCK].contains(code)), "{codes:?}");
    world.assert_empty();
}
