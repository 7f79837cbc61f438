//! What the lock manager promises, each promise with real threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use vaquita_types::Result;
use vaquita_types::schema::TableId;

use super::*;
use crate::base::hooks::{EngineHooks, Threads};

const LONG: LockPolicy = LockPolicy::Wait(Duration::from_secs(20));

struct Session {
    owner: Arc<Owner>,
    held: HeldLocks,
    locks: Arc<LockManager>,
}

impl Session {
    fn lock(&mut self, key: &str, mode: LockMode, policy: LockPolicy) -> Result<Acquired> {
        self.locks.lock_key(&self.owner, &mut self.held, key.as_bytes(), mode, policy)
    }

    fn entry(&mut self, key: &str, policy: LockPolicy) -> Result<Acquired> {
        self.locks.lock_entry(&self.owner, &mut self.held, key.as_bytes(), policy)
    }

    fn range(&mut self, lower: &str, upper: &str) -> Result<()> {
        self.locks.lock_range(&self.owner, &mut self.held, lower.as_bytes(), upper.as_bytes(), LONG)
    }

    fn end(&mut self) {
        self.locks.release_all(self.owner.id, &mut self.held);
    }
}

fn manager() -> Arc<LockManager> {
    let hooks = EngineHooks::default();
    Arc::new(LockManager::new(hooks.threads, hooks.statements))
}

fn session(locks: &Arc<LockManager>, id: u64) -> Session {
    let owner = Owner::new(id, Arc::new(Interrupt::new(id)));
    Session { owner, held: HeldLocks::default(), locks: Arc::clone(locks) }
}

/// Runs `work` on a thread once the session waits for a lock, or at once if it does not.
fn waiting<T: Send + 'static>(
    mut s: Session,
    work: impl FnOnce(&mut Session) -> T + Send + 'static,
) -> thread::JoinHandle<(Session, T)> {
    let owner = Arc::clone(&s.owner);
    let handle = thread::spawn(move || {
        let out = work(&mut s);
        (s, out)
    });
    let began = Instant::now();
    while owner.waiting_since().is_none() && !handle.is_finished() && began.elapsed() < Duration::from_secs(10) {
        thread::yield_now();
    }
    handle
}

fn code<T>(result: Result<T>) -> u16 {
    result.err().map_or(0, |e| e.code())
}

fn assert_empty(locks: &LockManager) {
    assert!(locks.dump().is_empty(), "{:?}", locks.dump());
    assert_eq!(locks.stats().waiting_now, 0);
}

#[test]
fn shared_locks_share_and_exclusive_ones_do_not() {
    let locks = manager();
    let (mut a, mut b) = (session(&locks, 1), session(&locks, 2));
    assert_eq!(a.lock("k", LockMode::S, LONG).unwrap(), Acquired::New);
    assert_eq!(b.lock("k", LockMode::S, LockPolicy::NoWait).unwrap(), Acquired::New);
    assert_eq!(a.lock("k", LockMode::S, LONG).unwrap(), Acquired::Held);
    assert_eq!(code(b.lock("k", LockMode::X, LockPolicy::NoWait)), 3572);
    assert_eq!(b.lock("k", LockMode::X, LockPolicy::SkipLocked).unwrap(), Acquired::Skipped);
    a.end();
    assert_eq!(b.lock("k", LockMode::X, LockPolicy::NoWait).unwrap(), Acquired::Held);
    assert_eq!(code(a.lock("k", LockMode::S, LockPolicy::NoWait)), 3572);
    b.end();
    assert_empty(&locks);
}

#[test]
fn waiters_are_served_in_order() {
    let locks = manager();
    let mut holder = session(&locks, 1);
    holder.lock("k", LockMode::X, LONG).unwrap();
    let (send, order) = mpsc::channel();
    let waiters: Vec<_> = (2..10)
        .map(|id| {
            let send = send.clone();
            let mode = if id % 3 == 0 { LockMode::S } else { LockMode::X };
            waiting(session(&locks, id), move |s| {
                s.lock("k", mode, LONG).unwrap();
                send.send(id).unwrap();
                thread::sleep(Duration::from_millis(2));
                s.end();
            })
        })
        .collect();
    // Nobody overtakes the queue, not even a compatible request.
    assert_eq!(session(&locks, 99).lock("k", LockMode::S, LockPolicy::SkipLocked).unwrap(), Acquired::Skipped);
    holder.end();
    waiters.into_iter().for_each(|w| drop(w.join().unwrap()));
    assert_eq!(order.try_iter().collect::<Vec<_>>(), (2..10).collect::<Vec<_>>());
    assert_empty(&locks);
}

#[test]
fn an_upgrade_goes_ahead_of_the_queue() {
    let locks = manager();
    let (mut a, mut b) = (session(&locks, 1), session(&locks, 2));
    a.lock("k", LockMode::S, LONG).unwrap();
    b.lock("k", LockMode::S, LONG).unwrap();
    let c = waiting(session(&locks, 3), |s| s.lock("k", LockMode::X, LONG).map(|_| s.end()));
    let a = waiting(a, |s| {
        let got = s.lock("k", LockMode::X, LONG);
        assert!(s.locks.dump().iter().any(|l| l.txn == 3 && !l.granted));
        s.end();
        got
    });
    b.end();
    assert_eq!(a.join().unwrap().1.unwrap(), Acquired::Held);
    c.join().unwrap().1.unwrap();
    assert_empty(&locks);
}

#[test]
fn two_upgrades_are_a_deadlock() {
    let locks = manager();
    let (mut a, mut b) = (session(&locks, 1), session(&locks, 2));
    a.lock("k", LockMode::S, LONG).unwrap();
    b.lock("k", LockMode::S, LONG).unwrap();
    let a = waiting(a, |s| s.lock("k", LockMode::X, LONG));
    assert_eq!(code(b.lock("k", LockMode::X, LONG)), 1213);
    b.end();
    let (mut a, got) = a.join().unwrap();
    assert_eq!(got.unwrap(), Acquired::Held);
    a.end();
    assert_empty(&locks);
}

#[test]
fn the_victim_of_a_deadlock_wrote_least() {
    for (first_wrote, second_wrote, victim) in [(5, 1, 2), (1, 5, 1), (3, 3, 2)] {
        let locks = manager();
        let (mut a, mut b) = (session(&locks, 1), session(&locks, 2));
        a.owner.set_rows_modified(first_wrote);
        b.owner.set_rows_modified(second_wrote);
        a.lock("x", LockMode::X, LONG).unwrap();
        b.lock("y", LockMode::X, LONG).unwrap();
        let a = waiting(a, |s| {
            let got = s.lock("y", LockMode::X, LONG);
            s.end();
            code(got)
        });
        let b_code = code(b.lock("x", LockMode::X, LONG));
        b.end();
        let a_code = a.join().unwrap().1;
        assert_eq!((a_code, b_code), if victim == 1 { (1213, 0) } else { (0, 1213) });
        let deadlock = locks.latest_deadlock().unwrap();
        assert_eq!((deadlock.victim, deadlock.members.len()), (victim, 2));
        assert!(deadlock.members.iter().all(|m| matches!(m.target, LockTarget::Key(_)) && m.mode == LockMode::X));
        assert_eq!(locks.stats().deadlocks, 1);
        assert_empty(&locks);
    }
}

#[test]
fn a_cycle_of_many_is_found() {
    const N: u64 = 20;
    let locks = manager();
    let mut sessions: Vec<Session> = (0..N).map(|id| session(&locks, id)).collect();
    for (i, s) in sessions.iter_mut().enumerate() {
        s.owner.set_rows_modified(if i == 7 { 0 } else { 10 });
        s.lock(&i.to_string(), LockMode::X, LONG).unwrap();
    }
    let handles: Vec<_> = sessions
        .into_iter()
        .enumerate()
        .map(|(i, s)| {
            let next = ((i as u64 + 1) % N).to_string();
            waiting(s, move |s| {
                let got = code(s.lock(&next, LockMode::X, LONG));
                s.end();
                got
            })
        })
        .collect();
    let codes: Vec<u16> = handles.into_iter().map(|h| h.join().unwrap().1).collect();
    let expected: Vec<u16> = (0..N).map(|i| if i == 7 { 1213 } else { 0 }).collect();
    assert_eq!(codes, expected);
    assert_empty(&locks);
}

#[test]
fn a_wait_times_out_and_the_queue_moves_on() {
    let locks = manager();
    let mut a = session(&locks, 1);
    a.lock("k", LockMode::S, LONG).unwrap();
    let began = Instant::now();
    let b = waiting(session(&locks, 2), |s| code(s.lock("k", LockMode::X, LockPolicy::Wait(Duration::from_millis(80)))));
    // Compatible with the holder, but behind the X of session 2.
    let c = waiting(session(&locks, 3), |s| {
        let got = s.lock("k", LockMode::S, LONG);
        s.end();
        got
    });
    assert_eq!(b.join().unwrap().1, 1205);
    assert!(began.elapsed() >= Duration::from_millis(80));
    assert_eq!(c.join().unwrap().1.unwrap(), Acquired::New);
    assert_eq!(locks.stats().timeouts, 1);
    a.end();
    assert_empty(&locks);
}

#[test]
fn an_interrupt_ends_a_wait() {
    for (reason, expected) in
        [(InterruptReason::KillQuery, 1317), (InterruptReason::KillConnection, 1317), (InterruptReason::Timeout, 3024)]
    {
        let locks = manager();
        let mut a = session(&locks, 1);
        a.lock("k", LockMode::X, LONG).unwrap();
        let b = session(&locks, 2);
        let interrupt = Arc::clone(&b.owner.interrupt);
        let b = waiting(b, |s| code(s.lock("k", LockMode::X, LONG)));
        interrupt.raise(reason);
        assert_eq!(b.join().unwrap().1, expected);
        // Raised before the wait begins, it works too.
        let mut c = session(&locks, 3);
        c.owner.interrupt.raise(reason);
        assert_eq!(code(c.lock("k", LockMode::X, LONG)), expected);
        c.owner.interrupt.clear();
        assert_eq!(c.owner.interrupt.check().is_err(), reason == InterruptReason::KillConnection);
        a.end();
        assert_empty(&locks);
    }
}

/// Keeps those whose wait is over from going on.
struct Dozing(AtomicBool);

impl Threads for Dozing {
    fn blocking(&self, wait: &mut dyn FnMut()) {
        wait();
        while self.0.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    }
}

#[test]
fn who_was_killed_and_is_not_awake_keeps_its_entry() {
    let dozing = Arc::new(Dozing(AtomicBool::new(true)));
    let locks = Arc::new(LockManager::new(dozing.clone(), EngineHooks::default().statements));
    let (mut holder, killed) = (session(&locks, 1), session(&locks, 2));
    let owner = Arc::clone(&killed.owner);
    holder.lock("k", LockMode::X, LONG).unwrap();
    let killed = waiting(killed, |s| code(s.lock("k", LockMode::X, LONG)));
    owner.interrupt.raise(InterruptReason::KillQuery);
    while owner.waiting_since().is_some() {
        thread::yield_now();
    }
    // Its request is all that is left of the entry, and is taken out when it wakes.
    holder.end();
    dozing.0.store(false, Ordering::SeqCst);
    assert_eq!(killed.join().unwrap().1, 1317);
    assert_empty(&locks);
    // An entry freed twice is given to two keys, which some of these are: LOCK-3.
    let mut late = session(&locks, 3);
    let keys: Vec<String> = (0..1000).map(|n| format!("k{n}")).collect();
    for key in &keys {
        assert_eq!(late.lock(key, LockMode::X, LockPolicy::NoWait).unwrap(), Acquired::New);
    }
    let shared: Vec<_> = keys.iter().filter(|key| !locks.holds(3, key.as_bytes(), LockMode::X)).collect();
    assert!(shared.is_empty(), "share an entry: {shared:?}");
    late.end();
    assert_empty(&locks);
}

#[test]
fn one_row_can_be_unlocked_early() {
    let locks = manager();
    let (mut a, mut b) = (session(&locks, 1), session(&locks, 2));
    a.lock("k", LockMode::X, LONG).unwrap();
    a.lock("l", LockMode::X, LONG).unwrap();
    locks.unlock_key(1, &mut a.held, 1, b"k");
    assert_eq!(code(b.lock("k", LockMode::X, LockPolicy::NoWait)), 3572, "taken before the mark");
    locks.unlock_key(1, &mut a.held, 0, b"k");
    assert_eq!(b.lock("k", LockMode::X, LockPolicy::NoWait).unwrap(), Acquired::New);
    assert_eq!(code(b.lock("l", LockMode::X, LockPolicy::NoWait)), 3572);
    a.end();
    b.end();
    assert_empty(&locks);
}

#[test]
fn tables_know_intention_modes() {
    let locks = manager();
    let t = TableId(9);
    let (mut a, mut b) = (session(&locks, 1), session(&locks, 2));
    let lock = |s: &mut Session, mode, policy| locks.lock_table(&s.owner, &mut s.held, t, mode, policy);
    lock(&mut a, LockMode::IX, LONG).unwrap();
    lock(&mut b, LockMode::IX, LockPolicy::NoWait).unwrap();
    assert_eq!(code(lock(&mut b, LockMode::S, LockPolicy::NoWait)), 3572);
    a.end();
    lock(&mut b, LockMode::S, LockPolicy::NoWait).unwrap();
    // IX and S are X together.
    assert_eq!(code(lock(&mut a, LockMode::IS, LockPolicy::NoWait)), 3572);
    assert!(locks.dump().iter().all(|l| l.target == LockTarget::Table(t) && l.mode == LockMode::X));
    b.end();
    assert_empty(&locks);
}

#[test]
fn a_range_keeps_writers_out_and_waits_for_those_inside() {
    let locks = manager();
    let (mut reader, mut writer) = (session(&locks, 1), session(&locks, 2));
    reader.range("b", "d").unwrap();
    assert_eq!(code(writer.lock("c", LockMode::X, LockPolicy::NoWait)), 3572);
    writer.end();
    writer.lock("d", LockMode::X, LockPolicy::NoWait).unwrap();
    writer.lock("a", LockMode::X, LockPolicy::NoWait).unwrap();
    // The reader may write in its own range.
    reader.lock("c", LockMode::X, LockPolicy::NoWait).unwrap();
    let blocked = waiting(session(&locks, 3), |s| {
        let got = s.lock("bb", LockMode::X, LONG);
        s.end();
        got
    });
    // A range over the writer's row waits for the writer.
    let second = waiting(session(&locks, 4), |s| {
        let got = s.range("cc", "e");
        s.end();
        got
    });
    reader.end();
    assert_eq!(blocked.join().unwrap().1.unwrap(), Acquired::New);
    writer.end();
    second.join().unwrap().1.unwrap();
    assert_empty(&locks);
    assert!(!locks.stats().waiting_now > 0);
}

#[test]
fn two_readers_that_write_into_each_others_range_deadlock() {
    let locks = manager();
    let (mut a, mut b) = (session(&locks, 1), session(&locks, 2));
    a.range("a", "c").unwrap();
    b.range("a", "c").unwrap();
    let a = waiting(a, |s| code(s.lock("a1", LockMode::X, LONG)));
    assert_eq!(code(b.lock("a2", LockMode::X, LONG)), 1213);
    b.end();
    let (mut a, got) = a.join().unwrap();
    assert_eq!(got, 0);
    a.end();
    assert_empty(&locks);
}

#[test]
fn very_many_row_locks_become_a_range() {
    let locks = manager();
    let (mut a, mut b) = (session(&locks, 1), session(&locks, 2));
    let key = |index: &str, n: u32| format!("{index:4}{n:08}");
    assert_eq!(b.lock(&key("two", 500), LockMode::S, LONG).unwrap(), Acquired::New);
    for n in 0..5_000 {
        assert_eq!(a.lock(&key("one", n * 2), LockMode::X, LONG).unwrap(), Acquired::New);
        assert_eq!(a.lock(&key("two", 1000 + n), LockMode::S, LONG).unwrap(), Acquired::New);
    }
    assert!(a.held.len() < 2_500, "{} locks", a.held.len());
    assert_eq!(a.lock(&key("one", 17), LockMode::X, LONG).unwrap(), Acquired::Held);
    for (at, expected) in [(key("one", 16), 3572), (key("one", 17), 3572), (key("one", 10_001), 0), (key("two", 500), 0)] {
        assert_eq!(code(b.lock(&at, LockMode::X, LockPolicy::NoWait)), expected, "{at}");
    }
    assert_eq!(b.lock(&key("one", 18), LockMode::S, LockPolicy::SkipLocked).unwrap(), Acquired::Skipped);
    assert_eq!(code(b.lock(&key("two", 1007), LockMode::X, LockPolicy::NoWait)), 3572);
    assert_eq!(code(b.lock(&key("two", 1007), LockMode::S, LockPolicy::NoWait)), 0);
    // A wait for a range has its place in the graph.
    let waiter = waiting(b, |b| {
        let victim = code(b.lock("one 00000020", LockMode::S, LONG));
        b.end();
        victim
    });
    a.owner.set_rows_modified(5);
    assert_eq!(code(a.lock(&key("two", 500), LockMode::X, LONG)), 0);
    let (b, victim) = waiter.join().unwrap();
    assert_eq!(victim, 1213);
    let waiter = waiting(b, |b| code(b.lock("one 00000020", LockMode::S, LONG)));
    a.end();
    let (mut b, granted) = waiter.join().unwrap();
    assert_eq!(granted, 0);
    b.end();
    assert_empty(&locks);
}

#[test]
fn row_locks_with_others_between_them_stay() {
    let locks = manager();
    let (mut a, mut b) = (session(&locks, 1), session(&locks, 2));
    b.lock("one 00000500", LockMode::S, LONG).unwrap();
    for n in (0..5_000).filter(|n| *n != 500) {
        a.lock(&format!("one {n:08}"), LockMode::X, LONG).unwrap();
    }
    assert_eq!(a.held.len(), 4_999);
    b.end();
    a.lock("one 00005000", LockMode::X, LONG).unwrap();
    a.end();
    assert_empty(&locks);
}

#[test]
fn locks_that_are_joined_are_a_range() {
    let locks = manager();
    let (mut a, mut b) = (session(&locks, 1), session(&locks, 2));
    let key = |n: u32| format!("one {n:08}");
    a.lock("two", LockMode::X, LONG).unwrap();
    for n in 10..20 {
        a.lock(&key(n), LockMode::X, LONG).unwrap();
    }
    assert!(locks.join(&a.owner, &mut a.held, 1, key(10).as_bytes(), key(19).as_bytes()));
    assert_eq!(a.held.len(), 2);
    // A longer stretch takes the place of the first.
    for n in 20..30 {
        a.lock(&key(n), LockMode::X, LONG).unwrap();
    }
    assert!(locks.join(&a.owner, &mut a.held, 1, key(10).as_bytes(), key(29).as_bytes()));
    assert_eq!(a.held.len(), 2);
    for n in [9, 30] {
        b.lock(&key(n), LockMode::X, LockPolicy::NoWait).unwrap();
    }
    for n in [10, 19, 20, 29] {
        assert_eq!(code(b.lock(&key(n), LockMode::S, LockPolicy::NoWait)), 3572);
        assert_eq!(a.lock(&key(n), LockMode::X, LONG).unwrap(), Acquired::Held);
    }
    // Somebody else's lock is in the way.
    a.lock(&key(31), LockMode::X, LONG).unwrap();
    assert!(!locks.join(&a.owner, &mut a.held, 2, key(10).as_bytes(), key(31).as_bytes()));
    assert_eq!(a.held.len(), 3);
    let waiter = waiting(b, |b| code(b.lock("one 00000015", LockMode::X, LONG)));
    a.end();
    let (mut b, granted) = waiter.join().unwrap();
    assert_eq!(granted, 0);
    b.end();
    assert_empty(&locks);
}

/// More than a transaction locks one by one.
const MANY: u32 = 50;

fn entry(n: u32) -> String {
    format!("one {n:08}")
}

#[test]
fn who_writes_many_entries_locks_their_index_as_a_whole() {
    let locks = manager();
    let [mut a, mut b, reader] = [1, 2, 3].map(|id| session(&locks, id));
    for writer in [&mut a, &mut b] {
        for n in 0..MANY {
            writer.entry(&format!("one {n:04}{:04}", writer.owner.id), LONG).unwrap();
        }
        assert!(writer.held.len() < MANY as usize, "{} locks", writer.held.len());
        assert_eq!(writer.entry("one ", LONG).unwrap(), Acquired::Held);
    }
    // Somewhere else.
    assert_eq!(a.entry("two 1", LONG).unwrap(), Acquired::Held);
    let reader = waiting(reader, |s| s.range("one 5", "one 6"));
    a.end();
    assert!(!reader.is_finished());
    b.end();
    let (mut reader, read) = reader.join().unwrap();
    read.unwrap();
    // From now on entries of that index are locked one by one, and the range stays as it was read.
    for n in 0..MANY {
        assert_eq!(a.entry(&entry(n), LockPolicy::NoWait).unwrap(), Acquired::New);
    }
    assert_eq!(code(a.entry("one 55", LockPolicy::NoWait)), 3572);
    assert_eq!(a.entry("one 55", LockPolicy::SkipLocked).unwrap(), Acquired::Skipped);
    assert_eq!(a.entry("two 55", LockPolicy::NoWait).unwrap(), Acquired::Held);
    // Its own entries are no matter of the reader's.
    for n in 0..MANY {
        assert!(reader.entry(&format!("one 5{n:04}"), LockPolicy::NoWait).is_ok());
    }
    a.end();
    reader.end();
    assert_empty(&locks);
}

/// A range of many row locks may stand for what a SERIALIZABLE transaction reads later.
#[test]
fn no_range_is_made_over_entries_of_others() {
    let locks = manager();
    let (mut a, mut b) = (session(&locks, 1), session(&locks, 2));
    for n in 0..MANY {
        a.entry(&entry(2 * n), LONG).unwrap();
    }
    for n in 0..3_000 {
        b.lock(&format!("one 9{n:07}"), LockMode::X, LONG).unwrap();
    }
    assert_eq!(b.held.len(), 3_000);
    assert!(!locks.join(&b.owner, &mut b.held, 0, b"one 90000000", b"one 90002999"));
    a.end();
    assert!(locks.join(&b.owner, &mut b.held, 0, b"one 90000000", b"one 90002999"));
    // And no index is locked over a range of others.
    for n in 0..MANY {
        assert_eq!(a.entry(&entry(n), LONG).unwrap(), Acquired::New);
    }
    a.end();
    b.end();
    assert_empty(&locks);
}

/// Many threads, few keys, random modes: nobody hangs, exclusion holds, nothing is left behind.
#[test]
fn random_locking_excludes_and_ends() {
    use std::sync::atomic::{AtomicI64, Ordering};
    const KEYS: usize = 6;
    let locks = manager();
    // Readers inside, or -1 for a writer.
    let inside: Arc<Vec<AtomicI64>> = Arc::new((0..KEYS).map(|_| AtomicI64::new(0)).collect());
    let threads: Vec<_> = (0..8u64)
        .map(|t| {
            let (locks, inside) = (Arc::clone(&locks), Arc::clone(&inside));
            thread::spawn(move || {
                let mut seed = t + 1;
                let mut random = move || {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (seed >> 33) as usize
                };
                for round in 0..400u64 {
                    let mut s = session(&locks, t * 1_000_000 + round + 1);
                    let mut mine: Vec<(usize, LockMode)> = Vec::new();
                    for _ in 0..3 {
                        let key = random() % KEYS;
                        let mode = if random() % 2 == 0 { LockMode::S } else { LockMode::X };
                        if mine.iter().any(|m| m.0 == key) || s.lock(&key.to_string(), mode, LONG).is_err() {
                            break;
                        }
                        mine.push((key, mode));
                        let before = inside[key].fetch_add(if mode == LockMode::X { -1000 } else { 1 }, Ordering::SeqCst);
                        assert!(if mode == LockMode::X { before == 0 } else { before >= 0 }, "key {key} {mode:?} with {before}");
                    }
                    for (key, mode) in mine {
                        inside[key].fetch_sub(if mode == LockMode::X { -1000 } else { 1 }, Ordering::SeqCst);
                    }
                    s.end();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_empty(&locks);
}

#[test]
fn who_comes_later_passes_an_alter_that_waits_aside_for_him() {
    use LockMode::{IS, IX, X};
    let locks = manager();
    let t = TableId(9);
    let lock = move |s: &mut Session, mode, policy| s.locks.clone().lock_table(&s.owner, &mut s.held, t, mode, policy);
    for passed_by in [PassedBy::Nobody, PassedBy::Readers, PassedBy::Writers] {
        let policy = LockPolicy::WaitAside(Duration::from_secs(20), passed_by);
        let [mut user, alter, mut reader, mut writer] = [1, 2, 3, 4].map(|id| session(&locks, id));
        lock(&mut user, IX, LONG).unwrap();
        let alter = waiting(alter, move |s| lock(s, X, policy).unwrap());
        let reads = lock(&mut reader, IS, LockPolicy::SkipLocked).unwrap() != Acquired::Skipped;
        assert_eq!(reads, passed_by != PassedBy::Nobody);
        let writes = lock(&mut writer, IX, LockPolicy::SkipLocked).unwrap() != Acquired::Skipped;
        assert_eq!(writes, passed_by == PassedBy::Writers);
        // Who reads already may go on to write: it is ahead of the ALTER anyway.
        if reads {
            assert_eq!(lock(&mut reader, IX, LockPolicy::NoWait).unwrap(), Acquired::Held);
        }
        user.end();
        reader.end();
        writer.end();
        alter.join().unwrap().0.end();
        assert_empty(&locks);
    }
}

#[test]
fn a_reader_behind_a_waiting_alter_goes_when_the_holder_does() {
    use LockMode::{IS, IX, X};
    let locks = manager();
    let t = TableId(9);
    let lock = move |s: &mut Session, mode, policy| s.locks.clone().lock_table(&s.owner, &mut s.held, t, mode, policy);
    let [mut holder, mut other, alter, reader] = [1, 2, 3, 4].map(|id| session(&locks, id));
    lock(&mut holder, X, LONG).unwrap();
    let writer = waiting(session(&locks, 5), move |s| lock(s, IX, LONG).unwrap());
    let aside = LockPolicy::WaitAside(Duration::from_secs(20), PassedBy::Readers);
    let alter = waiting(alter, move |s| lock(s, X, aside).unwrap());
    let reader = waiting(reader, move |s| lock(s, IS, LONG).unwrap());
    assert_eq!(code(lock(&mut other, IX, LockPolicy::NoWait)), 3572);
    holder.end();
    // The writer before the ALTER and the reader after it share the table; the ALTER waits for both.
    let (mut writer, mut reader) = (writer.join().unwrap().0, reader.join().unwrap().0);
    writer.end();
    assert!(!alter.is_finished());
    reader.end();
    alter.join().unwrap().0.end();
    assert_empty(&locks);
}

#[test]
fn a_range_with_rows_of_others_is_not_locked_where_they_are_skipped() {
    let locks = manager();
    let [mut writer, mut reader] = [1, 2].map(|id| session(&locks, id));
    writer.lock("k", LockMode::X, LONG).unwrap();
    let mut lock = |policy| reader.locks.clone().lock_range(&reader.owner, &mut reader.held, b"a", b"z", policy);
    lock(LockPolicy::SkipLocked).unwrap();
    assert_eq!(code(lock(LockPolicy::NoWait)), 3572);
    assert_eq!(writer.lock("l", LockMode::X, LockPolicy::NoWait).unwrap(), Acquired::New);
    writer.end();
    lock(LockPolicy::SkipLocked).unwrap();
    assert_eq!(code(writer.lock("l", LockMode::X, LockPolicy::NoWait)), 3572);
    reader.end();
    assert_empty(&locks);
}

#[test]
fn ddl_is_no_deadlock_victim() {
    let locks = manager();
    let [mut ddl, mut writer] = [1, 2].map(|id| session(&locks, id));
    ddl.owner.spare();
    writer.owner.set_rows_modified(7);
    ddl.lock("a", LockMode::S, LONG).unwrap();
    writer.lock("b", LockMode::X, LONG).unwrap();
    let writer = waiting(writer, |s| {
        let result = s.lock("a", LockMode::X, LONG);
        s.end();
        code(result)
    });
    ddl.lock("b", LockMode::X, LONG).unwrap();
    assert_eq!(writer.join().unwrap().1, 1213);
    ddl.end();
    assert_empty(&locks);
}

/// A search for keys in a range goes through all that are locked: what one transaction once had does not make it longer.
#[test]
fn locks_that_are_given_back_leave_no_places_to_search() {
    const PLACES_MAX: usize = 128;
    let locks = manager();
    let places = || locks.shards.iter().map(|shard| shard.lock().places()).max().unwrap();
    let [mut big, mut small] = [1, 2].map(|id| session(&locks, id));
    small.lock("a", LockMode::S, LONG).unwrap();
    // Keys of many indexes, so that none has enough for a range.
    for n in 0..50_000u32 {
        let key = [&(n / 500 + 1).to_be_bytes()[..], &n.to_be_bytes()].concat();
        locks.lock_key(&big.owner, &mut big.held, &key, LockMode::X, LONG).unwrap();
    }
    assert!(places() > PLACES_MAX);
    big.end();
    assert!(places() <= PLACES_MAX, "{}", places());
    small.range("a", "b").unwrap();
    small.end();
    assert_empty(&locks);
}
