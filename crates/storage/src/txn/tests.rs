//! Transactions against a real directory: the merged cursor against a model, isolation,
//! group commit, and what is left after a kill.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use proptest::prelude::*;
use tempfile::TempDir;
use vaquita_types::error::Next;

use super::*;
use crate::base::hooks::EngineHooks;
use crate::base::options::{EngineOptions, FlushMode};
use crate::engine::Engine;
use std::time::Duration;

const WAIT: LockPolicy = LockPolicy::Wait(Duration::from_secs(20));
const TABLE: TableId = TableId(7);

fn open(dir: &TempDir) -> Arc<Engine> {
    open_with(dir, EngineOptions::default().write_set_bytes)
}

fn open_with(dir: &TempDir, write_set_bytes: usize) -> Arc<Engine> {
    let options = EngineOptions {
        block_cache_bytes: Some(8 << 20),
        write_buffer_bytes: Some(4 << 20),
        write_set_bytes,
        warm_log: false,
        ..EngineOptions::default()
    };
    Engine::open(dir.path(), options, EngineHooks::default()).unwrap()
}

fn engine() -> (TempDir, Arc<Engine>) {
    let dir = TempDir::new().unwrap();
    let engine = open(&dir);
    (dir, engine)
}

fn options(isolation: Isolation) -> TxnOptions {
    TxnOptions {
        isolation,
        autocommit: false,
        read_only: false,
        snapshot_isolation: true,
        interrupt: Arc::new(Interrupt::new(1)),
    }
}

fn begin(engine: &Arc<Engine>, isolation: Isolation) -> Transaction {
    let mut txn = engine.begin(options(isolation));
    txn.begin_statement(Reads::Many);
    txn
}

fn put_now(engine: &Arc<Engine>, key: &[u8], value: &[u8]) {
    let mut txn = begin(engine, Isolation::RepeatableRead);
    txn.lock_row(key, LockMode::X, WAIT).unwrap();
    txn.put(key, value).unwrap();
    txn.commit_wait().unwrap();
}

fn get(txn: &Transaction, key: &[u8], version: Version) -> Option<Vec<u8>> {
    let mut buf = Vec::new();
    txn.get(key, version, &mut buf).unwrap().then_some(buf)
}

fn scan(txn: &Transaction, range: KeyRange, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut cursor = txn.scan(range, direction, ScanOptions::default()).unwrap();
    let mut out = Vec::new();
    while let Some((key, value)) = cursor.next(txn).unwrap() {
        out.push((key.to_vec(), value.to_vec()));
    }
    txn.finish_scan(cursor);
    out
}

#[derive(Clone, Debug)]
enum Op {
    Put(u8, u8),
    Delete(u8),
    Scan(u8, u8, bool),
    Commit,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => (0u8..30, any::<u8>()).prop_map(|(k, v)| Op::Put(k, v)),
        3 => (0u8..30).prop_map(Op::Delete),
        4 => (0u8..31, 0u8..31, any::<bool>()).prop_map(|(l, u, b)| Op::Scan(l, u, b)),
        1 => Just(Op::Commit),
    ];
    proptest::collection::vec(op, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn a_cursor_merges_own_writes(ops in ops(), spills in any::<bool>()) {
        let dir = TempDir::new().unwrap();
        let engine = open_with(&dir, if spills { 600 } else { 1 << 20 });
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        let mut model: BTreeMap<u8, u8> = BTreeMap::new();
        for op in ops {
            match op {
                Op::Put(k, v) => {
                    txn.put(&[k], &[v]).unwrap();
                    model.insert(k, v);
                }
                Op::Delete(k) => {
                    txn.delete(&[k]).unwrap();
                    model.remove(&k);
                }
                Op::Commit => {
                    txn.commit_wait().unwrap();
                    txn.begin_statement(Reads::Many);
                }
                Op::Scan(lower, upper, backward) => {
                    let range = KeyRange { lower: vec![lower], upper: if upper == 30 { Vec::new() } else { vec![upper] } };
                    let direction = if backward { Direction::Backward } else { Direction::Forward };
                    let found: Vec<(u8, u8)> = scan(&txn, range.clone(), direction).iter().map(|(k, v)| (k[0], v[0])).collect();
                    let mut expected: Vec<(u8, u8)> = model.iter().filter(|(k, _)| range.contains(&[**k])).map(|(k, v)| (*k, *v)).collect();
                    if backward {
                        expected.reverse();
                    }
                    prop_assert_eq!(found, expected);
                }
            }
            let keys: Vec<[u8; 1]> = (0..30).map(|k| [k]).collect();
            let refs: Vec<&[u8]> = keys.iter().map(|k| k.as_slice()).collect();
            let mut values = Vec::new();
            txn.multi_get(&refs, Version::Snapshot, true, &mut values).unwrap();
            let expected: Vec<Option<Vec<u8>>> = (0..30u8).map(|k| model.get(&k).map(|v| vec![*v])).collect();
            prop_assert_eq!(values, expected);
        }
    }
}

#[test]
fn a_cursor_sees_writes_made_between_its_steps_and_moves_to_other_ranges() {
    let (_dir, engine) = engine();
    for k in [10u8, 20, 30, 40] {
        put_now(&engine, &[k], &[k]);
    }
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let mut cursor = txn.scan(KeyRange::default(), Direction::Forward, ScanOptions::default()).unwrap();
    let mut seen = Vec::new();
    while let Some((key, _)) = cursor.next(&txn).unwrap() {
        let k = key[0];
        seen.push(k);
        if k == 20 {
            txn.put(&[15], b"behind").unwrap();
            txn.put(&[25], b"ahead").unwrap();
            txn.delete(&[30]).unwrap();
        }
    }
    assert_eq!(seen, [10, 20, 25, 40]);
    for (lower, upper, direction, expected) in [
        (10, 16, Direction::Forward, vec![10, 15]),
        (15, 41, Direction::Backward, vec![40, 25, 20, 15]),
        (26, 31, Direction::Forward, vec![]),
        (9, 8, Direction::Forward, vec![]),
        (20, 21, Direction::Backward, vec![20]),
    ] {
        cursor.reseek(KeyRange { lower: vec![lower], upper: vec![upper] }, direction);
        let mut seen = Vec::new();
        while let Some((key, _)) = cursor.next(&txn).unwrap() {
            seen.push(key[0]);
        }
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_transaction_that_spills_is_a_transaction() {
    const ROWS: u32 = 2000;
    let dir = TempDir::new().unwrap();
    let engine = open_with(&dir, 10_000);
    let key = |n: u32| [&b"row:"[..], &n.to_be_bytes()].concat();
    let rows = |txn: &Transaction| scan(txn, KeyRange::prefix(b"row:"), Direction::Forward);
    let write = |txn: &mut Transaction, from: u32, to: u32, value: &[u8]| {
        for n in from..to {
            txn.lock_row(&key(n), LockMode::X, WAIT).unwrap();
            txn.put(&key(n), value).unwrap();
            txn.add_rows(TABLE, 1);
        }
    };
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    write(&mut txn, 0, ROWS / 2, b"first");
    txn.end_statement();
    let savepoint = txn.savepoint();
    txn.begin_statement(Reads::Many);
    write(&mut txn, ROWS / 4, ROWS, b"second");
    assert!(txn.writes.spilled().is_some());
    assert_eq!(txn.row_count(TABLE).unwrap(), u64::from(ROWS / 2 + ROWS * 3 / 4));
    txn.rollback_statement();
    assert_eq!(rows(&txn).len() as u32, ROWS / 2);
    txn.begin_statement(Reads::Many);
    write(&mut txn, ROWS / 2, ROWS, b"third");
    txn.delete(&key(7)).unwrap();
    txn.add_rows(TABLE, -1);
    txn.rollback_to(&savepoint);
    assert!(rows(&txn).iter().all(|(_, value)| value == b"first"));
    txn.begin_statement(Reads::Many);
    write(&mut txn, ROWS / 2, ROWS, b"fourth");
    txn.delete(&key(7)).unwrap();
    txn.add_rows(TABLE, -1);

    let other = begin(&engine, Isolation::RepeatableRead);
    assert!(rows(&other).is_empty());
    let mut waiting = begin(&engine, Isolation::RepeatableRead);
    waiting.take_snapshot();
    txn.commit_wait().unwrap();
    assert!(rows(&other).is_empty(), "a snapshot of before");
    assert_eq!(other.row_count(TABLE).unwrap(), 0);
    let conflict = waiting.lock_row(&key(3), LockMode::X, WAIT).unwrap_err();
    assert_eq!(conflict.next(), Next::Restart, "first committer wins");
    drop((other, waiting, txn));

    // A second one that goes back, and a third over what is there.
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    write(&mut txn, 0, ROWS, b"lost");
    txn.rollback();
    txn.begin_statement(Reads::Many);
    write(&mut txn, ROWS, ROWS + 10, b"small");
    txn.commit_wait().unwrap();
    drop(txn);
    drop(engine);
    let engine = open(&dir);
    let txn = begin(&engine, Isolation::RepeatableRead);
    let found = rows(&txn);
    assert_eq!(found.len() as u32, ROWS - 1 + 10);
    assert_eq!(txn.row_count(TABLE).unwrap(), u64::from(ROWS - 1 + 10));
    assert!(found.iter().all(|(key, value)| match u32::from_be_bytes(*key.last_chunk().unwrap()) {
        n if n < ROWS / 2 => value == b"first",
        n if n < ROWS => value == b"fourth",
        _ => value == b"small",
    }));
    assert!(!dir.path().join("scratch").exists() && !dir.path().join("ingest").exists());
}

/// RocksDB refuses files for the moment when it wants a flush and somebody else's is under way.
#[test]
fn files_are_committed_beside_flushes() {
    const COMMITS: u32 = 100;
    let dir = TempDir::new().unwrap();
    let engine = open_with(&dir, 2_000);
    let stop = AtomicU64::new(0);
    thread::scope(|scope| {
        for writer in 0..2u8 {
            let (engine, stop) = (&engine, &stop);
            scope.spawn(move || {
                for n in 0u32.. {
                    if stop.load(Ordering::Relaxed) > 0 {
                        return;
                    }
                    put_now(engine, &[b"row:\x7f", &[writer][..], &n.to_be_bytes()].concat(), b"other");
                }
            });
        }
        scope.spawn(|| {
            while stop.load(Ordering::Relaxed) == 0 {
                let mut txn = begin(&engine, Isolation::ReadCommitted);
                txn.meta_put(b"\x7fkey", b"value").unwrap();
                txn.commit_wait().unwrap();
                engine.flush_memtables().unwrap();
            }
        });
        for commit in 0..COMMITS {
            let mut txn = begin(&engine, Isolation::RepeatableRead);
            for n in 0..100u32 {
                // On both sides of what the others write.
                txn.put(&[b"row:", &[(n % 2) as u8 * 0xF0][..], &commit.to_be_bytes(), &n.to_be_bytes()].concat(), b"own")
                    .unwrap();
                txn.add_rows(TABLE, 1);
            }
            txn.commit_wait().unwrap();
        }
        stop.store(1, Ordering::Relaxed);
    });
    let txn = begin(&engine, Isolation::RepeatableRead);
    let own = scan(&txn, KeyRange::prefix(b"row:"), Direction::Forward).iter().filter(|(_, value)| value == b"own").count();
    assert_eq!((own as u32, txn.row_count(TABLE).unwrap()), (100 * COMMITS, u64::from(100 * COMMITS)));
}

/// Bounds move while the iterator stays, over files, with many ranges in one block.
#[test]
fn a_kept_iterator_is_right_on_every_range() {
    let (_dir, engine) = engine();
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let key = |n: u32| n.to_be_bytes();
    for n in (0..6000u32).step_by(3) {
        txn.put(&key(n), &[n as u8; 100]).unwrap();
    }
    txn.commit_wait().unwrap();
    engine.flush_memtables().unwrap();
    for n in (1..6000u32).step_by(90) {
        put_now(&engine, &key(n), b"memtable");
    }
    let exists = |n: &u32| n.is_multiple_of(3) || n % 90 == 1;
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for own in [false, true] {
        if own {
            txn.put(&key(5), b"own").unwrap();
        }
        let mut cursor = txn.scan(KeyRange::default(), Direction::Forward, ScanOptions::default()).unwrap();
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) % below) as u32
        };
        for _ in 0..3000 {
            let lower = if random(2) == 0 { random(6100) } else { 3000 + random(40) };
            let upper = lower + random(60);
            let direction = if random(2) == 0 { Direction::Forward } else { Direction::Backward };
            cursor.reseek(KeyRange { lower: key(lower).to_vec(), upper: key(upper).to_vec() }, direction);
            let mut found = Vec::new();
            // Not always to the end.
            for _ in 0..=random(40) {
                let Some((key, _)) = cursor.next(&txn).unwrap() else { break };
                found.push(u32::from_be_bytes(key.try_into().unwrap()));
            }
            let mut expected: Vec<u32> = (lower..upper.min(6000)).filter(|n| exists(n) || (own && *n == 5)).collect();
            if direction == Direction::Backward {
                expected.reverse();
            }
            assert!(expected.starts_with(&found), "{lower}..{upper} {direction:?}: {found:?}, not {expected:?}");
            assert!(found.len() == expected.len() || !found.is_empty() || expected.is_empty());
        }
    }
}

#[test]
fn a_scan_on_its_own_sees_the_latest_commit_with_a_reused_iterator() {
    let (_dir, engine) = engine();
    let count = || {
        let mut txn = engine.begin(TxnOptions { autocommit: true, ..options(Isolation::RepeatableRead) });
        txn.begin_statement(Reads::One);
        scan(&txn, KeyRange::prefix(b"k"), Direction::Forward).len()
    };
    for n in 0..50u8 {
        assert_eq!(count(), usize::from(n));
        put_now(&engine, &[b'k', n], b"v");
        if n % 10 == 0 {
            engine.flush_memtables().unwrap();
        }
    }
}

#[test]
fn commits_go_on_in_every_flush_mode() {
    let dir = TempDir::new().unwrap();
    for (n, mode) in [FlushMode::EachSecond, FlushMode::WriteEachCommit, FlushMode::SyncEachCommit].into_iter().enumerate() {
        let engine = open(&dir);
        engine.set_flush_mode(mode).unwrap();
        put_now(&engine, &[n as u8], b"v");
        assert_eq!(engine.flush_mode(), mode);
        drop(engine);
        let engine = open(&dir);
        let txn = begin(&engine, Isolation::RepeatableRead);
        assert_eq!(scan(&txn, KeyRange::default(), Direction::Forward).len(), n + 1);
    }
}

#[test]
fn a_repeatable_read_repeats_and_a_committed_one_does_not() {
    let (_dir, engine) = engine();
    put_now(&engine, b"k", b"1");
    for (isolation, expected) in [(Isolation::RepeatableRead, b"1"), (Isolation::ReadCommitted, b"2")] {
        put_now(&engine, b"k", b"1");
        let mut txn = begin(&engine, isolation);
        assert_eq!(get(&txn, b"k", Version::Snapshot).unwrap(), b"1");
        txn.end_statement();
        put_now(&engine, b"k", b"2");
        txn.begin_statement(Reads::Many);
        assert_eq!(get(&txn, b"k", Version::Snapshot).unwrap(), expected);
        assert_eq!(get(&txn, b"k", Version::Latest).unwrap(), b"2");
        assert_eq!(scan(&txn, KeyRange::default(), Direction::Forward)[0].1, expected);
    }
}

#[test]
fn the_first_committer_wins() {
    let (_dir, engine) = engine();
    put_now(&engine, b"k", b"1");
    // A snapshot of an earlier statement: error 1213, not to be restarted.
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    get(&txn, b"k", Version::Snapshot);
    txn.end_statement();
    put_now(&engine, b"k", b"2");
    txn.begin_statement(Reads::Many);
    let e = txn.lock_row(b"k", LockMode::X, WAIT).unwrap_err();
    assert_eq!((e.code(), e.sqlstate(), e.next()), (1213, "40001", Next::Retry));
    assert!(e.message().ends_with("snapshot conflict"), "{}", e.message());
    txn.rollback();
    // A snapshot of the same statement: it runs again, and wins.
    txn.begin_statement(Reads::Many);
    get(&txn, b"k", Version::Snapshot);
    put_now(&engine, b"k", b"3");
    assert_eq!(txn.lock_row(b"k", LockMode::X, WAIT).unwrap_err().next(), Next::Restart);
    txn.restart_statement();
    txn.begin_statement(Reads::Many);
    assert_eq!(txn.lock_row(b"k", LockMode::X, WAIT).unwrap(), Locked::Unchanged);
    assert_eq!(get(&txn, b"k", Version::Snapshot).unwrap(), b"3");
    txn.rollback();
    // Written back as it was: nobody's update is lost.
    get(&txn, b"k", Version::Snapshot);
    put_now(&engine, b"k", b"4");
    put_now(&engine, b"k", b"3");
    txn.begin_statement(Reads::Many);
    assert_eq!(txn.lock_row(b"k", LockMode::X, WAIT).unwrap(), Locked::Unchanged);
}

#[test]
fn locks_of_new_rows_become_ranges_that_cover_no_other_row() {
    let (_dir, engine) = engine();
    let key = |n: u32| format!("rows{n:06}").into_bytes();
    put_now(&engine, &key(250), b"1");
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let mut other = begin(&engine, Isolation::RepeatableRead);
    txn.begin_statement(Reads::Many);
    other.begin_statement(Reads::Many);
    for n in (0..1_000).filter(|n| *n != 250) {
        assert!(txn.lock_new_row(&key(n), WAIT).unwrap());
    }
    // 0 to 199, then nothing up to 200 locks, because of the row, and the rest.
    assert!(txn.held.len() < 400, "{} locks", txn.held.len());
    assert!(other.lock_row(&key(250), LockMode::X, LockPolicy::NoWait).is_ok());
    assert!(other.lock_new_row(&key(1_000), LockPolicy::NoWait).unwrap());
    for n in (0..1_000).filter(|n| *n != 250) {
        assert!(other.lock_row(&key(n), LockMode::S, LockPolicy::NoWait).is_err(), "{n}");
    }
    // Rows that come in another order are locked one by one.
    txn.rollback();
    txn.begin_statement(Reads::Many);
    for n in (0..1_000).rev().filter(|n| *n != 250) {
        assert!(txn.lock_new_row(&key(n), WAIT).unwrap());
    }
    assert_eq!(txn.held.len(), 999);
}

#[test]
fn a_lock_taken_without_a_check_does_not_hide_a_conflict() {
    let (_dir, engine) = engine();
    put_now(&engine, b"k", b"1");
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    get(&txn, b"k", Version::Snapshot);
    put_now(&engine, b"k", b"2");
    txn.begin_statement(Reads::Many);
    assert!(txn.lock_key(b"k", LockMode::X, WAIT).unwrap());
    txn.rollback_statement();
    txn.begin_statement(Reads::Many);
    assert_eq!(txn.lock_row(b"k", LockMode::X, WAIT).unwrap_err().code(), 1213);
}

#[test]
fn without_snapshot_isolation_the_latest_version_is_changed() {
    let (_dir, engine) = engine();
    put_now(&engine, b"k", b"1");
    let mut txn = engine.begin(TxnOptions { snapshot_isolation: false, ..options(Isolation::RepeatableRead) });
    txn.begin_statement(Reads::Many);
    get(&txn, b"k", Version::Snapshot);
    put_now(&engine, b"k", b"2");
    assert_eq!(txn.lock_row(b"k", LockMode::X, WAIT).unwrap(), Locked::Changed);
    assert_eq!(get(&txn, b"k", Version::Latest).unwrap(), b"2");
}

#[test]
fn a_statement_with_a_snapshot_of_its_own_restarts_and_gets_further() {
    let (_dir, engine) = engine();
    for (isolation, autocommit) in
        [(Isolation::ReadCommitted, false), (Isolation::RepeatableRead, true), (Isolation::RepeatableRead, false)]
    {
        put_now(&engine, b"k", b"1");
        let mut txn = engine.begin(TxnOptions { autocommit, ..options(isolation) });
        txn.begin_statement(Reads::Many);
        assert!(!txn.finds_latest());
        put_now(&engine, b"k", b"2");
        let error = txn.lock_row(b"k", LockMode::X, WAIT).unwrap_err();
        assert_eq!((error.code(), error.next()), (1213, Next::Restart));
        txn.restart_statement();
        txn.begin_statement(Reads::Many);
        // The lock is still there, so nobody else comes between.
        let mut other = begin(&engine, Isolation::ReadCommitted);
        assert!(other.lock_key(b"k", LockMode::X, LockPolicy::NoWait).is_err());
        assert_eq!(txn.lock_row(b"k", LockMode::X, WAIT).unwrap(), Locked::Unchanged);
        assert_eq!(get(&txn, b"k", Version::Snapshot).unwrap(), b"2");
    }
}

#[test]
fn a_lock_is_given_back_at_read_committed_if_this_statement_took_it_just_now() {
    let (_dir, engine) = engine();
    for (isolation, freed) in
        [(Isolation::ReadCommitted, true), (Isolation::RepeatableRead, false), (Isolation::Serializable, false)]
    {
        let is_free = |key: &[u8]| begin(&engine, isolation).lock_key(key, LockMode::X, LockPolicy::NoWait).is_ok();
        let mut txn = begin(&engine, isolation);
        txn.begin_statement(Reads::Many);
        txn.lock_candidate(b"a", LockMode::X, WAIT).unwrap();
        txn.lock_candidate(b"b", LockMode::X, WAIT).unwrap();
        txn.unlock_row(b"b");
        assert_eq!((is_free(b"a"), is_free(b"b")), (false, freed));
        // It has matched before.
        txn.lock_candidate(b"a", LockMode::X, WAIT).unwrap();
        txn.unlock_row(b"a");
        assert!(!is_free(b"a"));
    }
}

#[test]
fn a_point_update_takes_no_snapshot_before_its_lock() {
    let (_dir, engine) = engine();
    put_now(&engine, b"n", &0u64.to_le_bytes());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let engine = Arc::clone(&engine);
            thread::spawn(move || {
                for _ in 0..50 {
                    let mut txn = engine.begin(TxnOptions { autocommit: true, ..options(Isolation::RepeatableRead) });
                    txn.begin_statement(Reads::One);
                    assert_eq!(txn.lock_row(b"n", LockMode::X, WAIT).unwrap(), Locked::Unchanged);
                    let n = u64::from_le_bytes(get(&txn, b"n", Version::Snapshot).unwrap().try_into().unwrap());
                    txn.put(b"n", &(n + 1).to_le_bytes()).unwrap();
                    txn.commit_wait().unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let txn = begin(&engine, Isolation::RepeatableRead);
    assert_eq!(get(&txn, b"n", Version::Snapshot).unwrap(), 200u64.to_le_bytes());
    assert!(engine.active_transactions().is_empty());
    assert!(engine.locks().dump().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// One gap over a run of checks, while others commit in it, tells what single gets tell.
    #[test]
    fn a_gap_knows_which_keys_are_absent(
        existing in prop::collection::btree_set(0u8..200, 0..20),
        steps in prop::collection::vec((0u8..200, prop::option::of(0u8..200)), 1..60),
        ascending in any::<bool>(),
    ) {
        let (_dir, engine) = engine();
        let key = |n: u8| [b"tabl".as_slice(), &[n]].concat();
        existing.iter().for_each(|&n| put_now(&engine, &key(n), b"v"));
        // The next index has a key that is not in the way.
        put_now(&engine, b"tabm\0", b"v");
        let mut steps = steps;
        if ascending {
            steps.sort();
        }
        let mut gap = Gap::default();
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        for (n, other) in steps {
            if let Some(other) = other.filter(|other| txn.lock_key(&key(*other), LockMode::X, LockPolicy::NoWait).is_ok()) {
                // Held by nobody: somebody else commits it.
                let mut gone = begin(&engine, Isolation::RepeatableRead);
                std::mem::swap(&mut gone, &mut txn);
                gone.rollback();
                put_now(&engine, &key(other), b"w");
            }
            prop_assert!(txn.lock_key(&key(n), LockMode::X, WAIT).unwrap());
            let absent = !txn.exists(&key(n), Version::Latest).unwrap();
            prop_assert_eq!(txn.is_absent(&key(n), 4, &mut gap).unwrap(), absent);
            if absent && n % 2 == 0 {
                txn.put(&key(n), b"mine").unwrap();
            }
        }
    }
}

#[test]
fn a_statement_that_fails_undoes_only_itself() {
    let (_dir, engine) = engine();
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    txn.put(b"a", b"1").unwrap();
    txn.add_rows(TABLE, 1);
    txn.end_statement();
    txn.begin_statement(Reads::Many);
    txn.put(b"a", b"2").unwrap();
    txn.put(b"b", b"2").unwrap();
    txn.add_rows(TABLE, 1);
    assert_eq!(txn.row_count(TABLE).unwrap(), 2);
    txn.rollback_statement();
    assert_eq!(txn.row_count(TABLE).unwrap(), 1);
    txn.commit_wait().unwrap();
    assert_eq!(scan(&txn, KeyRange::prefix(b"a"), Direction::Forward), [(b"a".to_vec(), b"1".to_vec())]);
    assert_eq!(txn.row_count(TABLE).unwrap(), 1);
}

#[test]
fn row_counts_belong_to_a_snapshot_and_ids_survive_a_restart() {
    let dir = TempDir::new().unwrap();
    {
        let engine = open(&dir);
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        let old = begin(&engine, Isolation::RepeatableRead);
        assert_eq!(old.row_count(TABLE).unwrap(), 0);
        assert_eq!(txn.next_auto_increment(TABLE, 3, 1, 1).unwrap(), 1);
        txn.note_auto_increment(TABLE, 10).unwrap();
        assert_eq!(txn.peek_auto_increment(TABLE).unwrap(), 11);
        assert_eq!(txn.next_row_id(TABLE).unwrap(), 1);
        txn.add_rows(TABLE, 4);
        txn.commit_wait().unwrap();
        assert_eq!(old.row_count(TABLE).unwrap(), 0);
        assert_eq!(begin(&engine, Isolation::RepeatableRead).row_count(TABLE).unwrap(), 4);
    }
    let engine = open(&dir);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    assert_eq!(txn.row_count(TABLE).unwrap(), 4);
    assert_eq!(txn.next_auto_increment(TABLE, 1, 1, 1).unwrap(), 11);
    assert_eq!(txn.next_row_id(TABLE).unwrap(), 2);
    txn.set_auto_increment(TABLE, 100).unwrap();
    txn.commit_wait().unwrap();
    assert_eq!(txn.next_auto_increment(TABLE, 1, 1, 1).unwrap(), 100);
    txn.drop_counters(TABLE);
    txn.commit_wait().unwrap();
    assert_eq!(txn.row_count(TABLE).unwrap(), 0);
    assert_eq!(txn.peek_auto_increment(TABLE).unwrap(), 1);
}

#[test]
fn a_serializable_reader_is_not_overtaken_by_a_phantom() {
    let (_dir, engine) = engine();
    let mut reader = begin(&engine, Isolation::Serializable);
    let range = KeyRange::prefix(b"k");
    reader.lock_range(&range, WAIT).unwrap();
    assert!(scan(&reader, range.clone(), Direction::Forward).is_empty());
    let mut writer = begin(&engine, Isolation::RepeatableRead);
    let e = writer.lock_row(b"k1", LockMode::X, LockPolicy::Wait(Duration::from_millis(50))).unwrap_err();
    assert_eq!(e.code(), 1205);
    reader.rollback();
    writer.rollback();
    put_now(&engine, b"k1", b"v");
}

#[test]
fn a_read_only_transaction_writes_nothing() {
    let (_dir, engine) = engine();
    let mut txn = engine.begin(TxnOptions { read_only: true, ..options(Isolation::RepeatableRead) });
    assert_eq!(txn.put(b"k", b"v").unwrap_err().code(), 1792);
}

#[test]
fn a_directory_belongs_to_one_engine() {
    let (dir, _engine) = engine();
    let e = Engine::open(dir.path(), EngineOptions::default(), EngineHooks::default()).err().unwrap();
    assert!(
        e.message().contains("in use by another server") && e.message().contains(dir.path().to_str().unwrap()),
        "{}",
        e.message()
    );
}

#[test]
fn a_log_damaged_in_the_middle_is_refused() {
    let dir = TempDir::new().unwrap();
    {
        let engine = open(&dir);
        for k in 0..200u8 {
            put_now(&engine, &[k], &[k; 400]);
        }
    }
    let is_log = |p: &std::path::PathBuf| p.extension().is_some_and(|e| e == "log");
    let log = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).find(is_log).unwrap();
    let intact = std::fs::read(&log).unwrap();
    drop(open(&dir));
    std::fs::write(&log, &intact).unwrap();
    let mut bad = intact;
    bad[9000] ^= 4;
    std::fs::write(&log, bad).unwrap();
    let options = || EngineOptions { block_cache_bytes: Some(8 << 20), warm_log: false, ..EngineOptions::default() };
    let e = Engine::open(dir.path(), options(), EngineHooks::default()).err().unwrap();
    assert!(e.message().contains("is damaged at offset") && e.message().contains(log.to_str().unwrap()), "{}", e.message());
    let engine =
        Engine::open(dir.path(), EngineOptions { accept_damaged_log: true, ..options() }, EngineHooks::default()).unwrap();
    let rows = scan(&begin(&engine, Isolation::RepeatableRead), KeyRange::default(), Direction::Forward);
    assert!(!rows.is_empty() && rows.len() < 200, "{}", rows.len());
}

/// A server that stopped leaves something behind its last commit, so that damage to that is no torn end.
#[test]
fn a_log_damaged_in_the_last_commit_is_refused() {
    let dir = TempDir::new().unwrap();
    {
        let engine = open(&dir);
        put_now(&engine, b"k", &[7; 400]);
    }
    let is_log = |p: &std::path::PathBuf| p.extension().is_some_and(|e| e == "log");
    let log = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).find(is_log).unwrap();
    let mut bad = std::fs::read(&log).unwrap();
    let at = bad.windows(400).position(|bytes| bytes == [7; 400]).unwrap();
    bad[at + 200] ^= 1;
    std::fs::write(&log, bad).unwrap();
    let options = EngineOptions { block_cache_bytes: Some(8 << 20), warm_log: false, ..EngineOptions::default() };
    let e = Engine::open(dir.path(), options, EngineHooks::default()).err().unwrap();
    assert!(e.message().contains("is damaged at offset"), "{}", e.message());
}

/// Writers move money between two keys; every snapshot shows the same sum.
#[test]
fn groups_commit_atomically() {
    const ACCOUNTS: u64 = 10;
    const EACH: u64 = 1000;
    let (_dir, engine) = engine();
    for account in 0..ACCOUNTS {
        put_now(&engine, &[account as u8], &EACH.to_le_bytes());
    }
    let committed = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..8u64)
        .map(|t| {
            let (engine, committed) = (Arc::clone(&engine), Arc::clone(&committed));
            thread::spawn(move || {
                let number = |v: Vec<u8>| u64::from_le_bytes(v.try_into().unwrap());
                for i in 0..100u64 {
                    let (from, to) = ([((t + i) % ACCOUNTS) as u8], [((t * 3 + i * 7 + 1) % ACCOUNTS) as u8]);
                    let mut txn = begin(&engine, Isolation::RepeatableRead);
                    let moved = txn.lock_row(&from, LockMode::X, WAIT).and_then(|_| txn.lock_row(&to, LockMode::X, WAIT));
                    if moved.is_err() || from == to {
                        continue;
                    }
                    let (a, b) =
                        (number(get(&txn, &from, Version::Latest).unwrap()), number(get(&txn, &to, Version::Latest).unwrap()));
                    txn.put(&from, &a.wrapping_sub(1).to_le_bytes()).unwrap();
                    txn.put(&to, &b.wrapping_add(1).to_le_bytes()).unwrap();
                    txn.commit_wait().unwrap();
                    committed.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    while !writers.iter().all(|w| w.is_finished()) {
        let txn = begin(&engine, Isolation::RepeatableRead);
        let sum = scan(&txn, KeyRange::default(), Direction::Forward)
            .into_iter()
            .fold(0u64, |sum, (_, v)| sum.wrapping_add(u64::from_le_bytes(v.try_into().unwrap())));
        assert_eq!(sum, ACCOUNTS * EACH);
    }
    writers.into_iter().for_each(|w| w.join().unwrap());
    let (groups, commits) = engine.commit_counts();
    assert_eq!(commits, committed.load(Ordering::Relaxed) + ACCOUNTS);
    assert!(groups <= commits);
}

const CRASH_DIR: &str = "VAQUITA_TEST_CRASH_DIR";

/// Run as a child process by `a_killed_process_loses_no_acknowledged_commit`.
#[test]
fn crash_child() {
    let Ok(dir) = std::env::var(CRASH_DIR) else { return };
    let engine_options =
        EngineOptions { block_cache_bytes: Some(8 << 20), write_buffer_bytes: Some(1 << 20), ..EngineOptions::default() };
    let engine = Engine::open(std::path::Path::new(&dir), engine_options, EngineHooks::default()).unwrap();
    let writers: Vec<_> = (0..4u8)
        .map(|t| {
            let engine = Arc::clone(&engine);
            thread::spawn(move || {
                for i in 0u32.. {
                    let mut txn = begin(&engine, Isolation::RepeatableRead);
                    let number = i.to_be_bytes();
                    for part in 0..3u8 {
                        let key = [&[b'k', t, part], number.as_slice()].concat();
                        txn.lock_row(&key, LockMode::X, WAIT).unwrap();
                        txn.put(&key, &[t; 300]).unwrap();
                    }
                    txn.add_rows(TABLE, 3);
                    txn.commit_wait().unwrap();
                    println!("ack {t} {i}");
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|w| w.join().unwrap());
}

#[test]
fn a_killed_process_loses_no_acknowledged_commit() {
    let dir = TempDir::new().unwrap();
    let mut acknowledged: BTreeMap<u8, u32> = BTreeMap::new();
    for round in 1..5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["txn::tests::crash_child", "--exact", "--nocapture"])
            .env(CRASH_DIR, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        acknowledged.clear();
        for (at, line) in lines.map_while(|l| l.ok()).enumerate() {
            if at == round * 400 {
                child.kill().unwrap();
            }
            // What the child wrote before the kill is still in the pipe.
            let words: Vec<&str> = line.split(' ').collect();
            if let ["ack", t, i] = words[..] {
                acknowledged.insert(t.parse().unwrap(), i.parse().unwrap());
            }
        }
        child.wait().unwrap();
        let engine = open(&dir);
        let txn = begin(&engine, Isolation::RepeatableRead);
        let rows = scan(&txn, KeyRange::prefix(b"k"), Direction::Forward);
        assert_eq!(txn.row_count(TABLE).unwrap() as usize % 3, 0);
        for (&t, &last) in &acknowledged {
            for i in 0..=last {
                for part in 0..3u8 {
                    let key = [&[b'k', t, part], i.to_be_bytes().as_slice()].concat();
                    assert!(
                        rows.binary_search_by(|(k, _)| k.cmp(&key)).is_ok(),
                        "round {round}: {key:?} was acknowledged and is gone"
                    );
                }
            }
        }
        assert_eq!(rows.len() % 3, 0, "half a transaction");
    }
}

/// A small table that is written over and over does not fill the block cache with what compaction has replaced.
#[test]
fn blocks_of_files_that_are_gone_leave_the_cache() {
    const ROWS: u32 = 500;
    const ROW_BYTES: usize = 1000;
    let dir = TempDir::new().unwrap();
    let options = EngineOptions { block_cache_bytes: Some(64 << 20), warm_log: false, ..EngineOptions::default() };
    let engine = Engine::open(dir.path(), options, EngineHooks::default()).unwrap();
    // The files begin with an index whose blocks nobody reads: the search for those to give back must not end there.
    let unread = crate::encoding::key::index_range(vaquita_types::schema::IndexId(8));
    let all = crate::encoding::key::index_range(vaquita_types::schema::IndexId(9));
    let mut used = Vec::new();
    for round in 0..20u32 {
        let mut txn = engine.begin(TxnOptions::default());
        for id in 0..ROWS {
            // Rows that compress little.
            let seed = u64::from(round * ROWS + id);
            let row = (0..ROW_BYTES as u64 / 8).flat_map(|n| (seed << 20 | n).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
            let row = row.collect::<Vec<u8>>();
            for index in [8u32, 9] {
                txn.put(&[&index.to_be_bytes()[..], &id.to_be_bytes()].concat(), &row).unwrap();
            }
        }
        txn.commit_wait().unwrap();
        engine.flush_memtables().unwrap();
        engine.compact_data_range(&unread.lower, &all.upper).unwrap();
        let txn = engine.begin(TxnOptions::default());
        let options = ScanOptions { spans: false, ..ScanOptions::default() };
        let mut cursor = txn.scan(all.clone(), Direction::Forward, options).unwrap();
        while cursor.next(&txn).unwrap().is_some() {}
        used.push(engine.property("rocksdb.block-cache-usage").unwrap().parse::<usize>().unwrap());
    }
    assert!(*used.last().unwrap() < 3 * ROWS as usize * ROW_BYTES, "{used:?}");
}

#[test]
fn numbers_that_nobody_has_used_are_not_given_again_after_an_orderly_end() {
    let dir = TempDir::new().unwrap();
    let engine = open(&dir);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    assert_eq!(txn.next_auto_increment(TABLE, 3, 1, 1).unwrap(), 1);
    txn.rollback();
    drop((txn, engine));
    let mut txn = begin(&open(&dir), Isolation::RepeatableRead);
    assert_eq!(txn.next_auto_increment(TABLE, 1, 1, 1).unwrap(), 4);
}
