//! Scans through spans against the same scans through RocksDB alone, at the same snapshot, while others commit.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use tempfile::TempDir;

use super::*;
use crate::base::hooks::EngineHooks;
use crate::base::options::EngineOptions;
use crate::base::options::Tuning;
use crate::engine::Engine;
use std::time::Duration;

const WAIT: LockPolicy = LockPolicy::Wait(Duration::from_secs(20));
const INDEX: u32 = 9;
const ACCOUNTS: u64 = 600;
const EACH: u64 = 1000;
/// Readers go on until they have looked so often, and so much was written, as far as that happens in time.
const READS: usize = 1000;
const COMMITS: usize = 300;
const TIME: Duration = Duration::from_secs(60);

fn open(dir: &TempDir, block_cache_bytes: usize) -> Arc<Engine> {
    let options = EngineOptions {
        block_cache_bytes: Some(block_cache_bytes),
        write_buffer_bytes: Some(4 << 20),
        write_set_bytes: 32 << 10,
        warm_log: false,
        // Gets come to spans.
        tuning: Tuning { row_cache: false, ..Tuning::default() },
        ..EngineOptions::default()
    };
    Engine::open(dir.path(), options, EngineHooks::default()).unwrap()
}

/// Xorshift: what each thread draws is the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// Ids in steps, so that rows can come between.
fn key(id: u64) -> Vec<u8> {
    [&INDEX.to_be_bytes()[..], &id.to_be_bytes()].concat()
}

/// An amount and what makes rows of different lengths.
fn row(amount: u64, random: &mut Random) -> Vec<u8> {
    let mut row = amount.to_le_bytes().to_vec();
    row.resize(8 + random.below(200) as usize, 7);
    row
}

fn amount(row: &[u8]) -> u64 {
    u64::from_le_bytes(*row.first_chunk().unwrap())
}

fn begin(engine: &Arc<Engine>, isolation: Isolation, reads: Reads) -> Transaction {
    let options = TxnOptions { isolation, autocommit: reads == Reads::One, snapshot_isolation: true, ..TxnOptions::default() };
    let mut txn = engine.begin(options);
    txn.begin_statement(reads);
    txn
}

fn scan(txn: &Transaction, ranges: &[KeyRange], direction: Direction, spans: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let options = ScanOptions { spans, ..ScanOptions::default() };
    let mut cursor = txn.scan(ranges[0].clone(), direction, options).unwrap();
    let mut out = Vec::new();
    for (n, range) in ranges.iter().enumerate() {
        if n > 0 {
            cursor.reseek(range.clone(), direction);
        }
        while let Some((key, value)) = cursor.next(txn).unwrap() {
            out.push((key.to_vec(), value.to_vec()));
        }
    }
    txn.finish_scan(cursor);
    out
}

fn stored_row(txn: &Transaction, key: &[u8]) -> Option<Vec<u8>> {
    let range = KeyRange { lower: key.to_vec(), upper: [key, &[0]].concat() };
    scan(txn, &[range], Direction::Forward, false).pop().map(|(_, row)| row)
}

fn range(random: &mut Random) -> KeyRange {
    let id = random.below(4 * ACCOUNTS);
    let (few, many) = (1 + random.below(40), 1 + random.below(4 * ACCOUNTS));
    match random.below(8) {
        0 => crate::encoding::key::index_range(vaquita_types::schema::IndexId(INDEX)),
        1 => KeyRange { lower: key(id), upper: key(id + many) },
        _ => KeyRange { lower: key(id), upper: key(id + few) },
    }
}

/// Moves an amount from one account to another, which may begin or end by that. False: somebody else was first.
fn transfer(engine: &Arc<Engine>, random: &mut Random) -> bool {
    let mut txn = begin(engine, Isolation::RepeatableRead, Reads::Many);
    let move_some = |txn: &mut Transaction, random: &mut Random| -> Result<()> {
        let hot = random.below(3) > 0;
        let mut id = || if hot { random.below(40) } else { random.below(4 * ACCOUNTS) };
        let (from, to) = (key(id()), key(id()));
        if from == to {
            return Ok(());
        }
        let mut buf = Vec::new();
        let mut amounts = [0; 2];
        for (amount_of, key) in amounts.iter_mut().zip([&from, &to]) {
            txn.lock_row(key, LockMode::X, WAIT)?;
            *amount_of = if txn.get(key, Version::Latest, &mut buf)? { amount(&buf) } else { 0 };
        }
        let moved = if random.below(4) == 0 { amounts[0] } else { amounts[0] / 2 };
        for (key, amount) in [(&from, amounts[0] - moved), (&to, amounts[1] + moved)] {
            match amount {
                0 => txn.delete(key)?,
                amount => txn.put(key, &row(amount, random))?,
            }
        }
        Ok(())
    };
    let moves = if random.below(50) == 0 { 400 } else { 1 + random.below(4) };
    for _ in 0..moves {
        if move_some(&mut txn, random).is_err() {
            txn.rollback();
            return false;
        }
    }
    match txn.commit_wait() {
        Ok(()) => true,
        Err(e) => panic!("{}", e.message()),
    }
}

/// With writers, among them some that commit by files, and with a cache that holds all spans or few of them.
#[test]
fn spans_show_what_rocksdb_does() {
    for block_cache_bytes in [16 << 20, 96 << 10] {
        let dir = TempDir::new().unwrap();
        let engine = open(&dir, block_cache_bytes);
        let mut txn = begin(&engine, Isolation::ReadCommitted, Reads::Many);
        let mut random = Random(1);
        for id in 0..ACCOUNTS {
            txn.put(&key(4 * id), &row(EACH, &mut random)).unwrap();
        }
        txn.commit_wait().unwrap();
        let (done, commits) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            for seed in 1..3 {
                let (engine, done, commits) = (&engine, &done, &commits);
                scope.spawn(move || {
                    let mut random = Random(seed);
                    while !done.load(Ordering::Relaxed) {
                        commits.fetch_add(usize::from(transfer(engine, &mut random)), Ordering::Relaxed);
                    }
                });
            }
            let readers: Vec<_> = (10..12)
                .map(|seed| {
                    scope.spawn({
                        let (engine, commits) = (&engine, &commits);
                        move || read(engine, Random(seed), commits)
                    })
                })
                .collect();
            let failed: Vec<_> = readers.into_iter().filter_map(|reader| reader.join().err()).collect();
            done.store(true, Ordering::Relaxed);
            assert!(failed.is_empty(), "a reader failed");
        });
        assert!(commits.into_inner() >= COMMITS, "the writers came to nothing");
        let all = crate::encoding::key::index_range(vaquita_types::schema::IndexId(INDEX));
        scan(&begin(&engine, Isolation::RepeatableRead, Reads::Many), std::slice::from_ref(&all), Direction::Forward, true);
        for direction in [Direction::Forward, Direction::Backward] {
            assert_eq!(is_scanned_by_spans_alone(&engine, direction, Keep::All), block_cache_bytes > 1 << 20);
        }
    }
}

fn is_scanned_by_spans_alone(engine: &Arc<Engine>, direction: Direction, keep: Keep) -> bool {
    let txn = begin(engine, Isolation::RepeatableRead, Reads::Many);
    let all = crate::encoding::key::index_range(vaquita_types::schema::IndexId(INDEX));
    let mut cursor = txn.scan(all, direction, ScanOptions { keep, ..ScanOptions::default() }).unwrap();
    while cursor.next(&txn).unwrap().is_some() {}
    cursor.into_iter().is_none()
}

/// With `check-cached-reads`, gets and scans that the caches answer are compared with RocksDB.
#[test]
fn cached_reads_can_be_checked() {
    let dir = TempDir::new().unwrap();
    let tuning = Tuning { check_cached_reads: true, ..Tuning::default() };
    let options = EngineOptions { warm_log: false, tuning, ..EngineOptions::default() };
    let engine = Engine::open(dir.path(), options, EngineHooks::default()).unwrap();
    let mut txn = begin(&engine, Isolation::ReadCommitted, Reads::Many);
    txn.put(&key(1), &row(EACH, &mut Random(1))).unwrap();
    txn.commit_wait().unwrap();
    let all = crate::encoding::key::index_range(vaquita_types::schema::IndexId(INDEX));
    for turn in 0..3 {
        let txn = begin(&engine, Isolation::RepeatableRead, Reads::Many);
        assert_eq!(scan(&txn, std::slice::from_ref(&all), Direction::Forward, true).len(), 1);
        assert!(txn.get(&key(1), Version::Snapshot, &mut Vec::new()).unwrap());
        let checked = engine.checked_reads();
        assert_eq!(checked.spans.load(Ordering::Relaxed), turn);
        assert_eq!(checked.rows.load(Ordering::Relaxed), turn + 1, "the first one comes from the span");
    }
}

/// The spans that a table has are room for its next scan.
#[test]
fn a_large_table_stays_in_spans() {
    const BLOCK_CACHE_BYTES: usize = 4 << 20;
    const ROWS: u64 = 1 << 12;
    let dir = TempDir::new().unwrap();
    let engine = open(&dir, BLOCK_CACHE_BYTES);
    let mut random = Random(1);
    let mut write = |ids: std::ops::Range<u64>| {
        let mut txn = begin(&engine, Isolation::ReadCommitted, Reads::Many);
        for id in ids {
            let row: Vec<u8> = (0..300).map(|_| random.below(256) as u8).collect();
            txn.put(&key(id), &row).unwrap();
        }
        txn.commit_wait().unwrap();
    };
    write(0..ROWS);
    engine.flush_memtables().unwrap();
    let all = crate::encoding::key::index_range(vaquita_types::schema::IndexId(INDEX));
    let scan = || {
        let keep = engine.kept_of_scan(&all.lower, &all.upper);
        assert!(keep == Keep::Spans);
        is_scanned_by_spans_alone(&engine, Direction::Forward, keep)
    };
    assert!(!scan());
    assert!(scan());
    assert!(engine.pipeline().spans().bytes() > BLOCK_CACHE_BYTES / 4, "half of the room");
    // So many changes in one commit that spans go.
    write(ROWS / 2..ROWS / 2 + 64);
    assert!(!scan());
    assert!(scan());
}

fn read(engine: &Arc<Engine>, mut random: Random, commits: &AtomicUsize) {
    let all = crate::encoding::key::index_range(vaquita_types::schema::IndexId(INDEX));
    let begun = Instant::now();
    let mut reads = 0;
    while reads < READS || (commits.load(Ordering::Relaxed) < COMMITS && begun.elapsed() < TIME) {
        reads += 1;
        let txn = begin(engine, Isolation::RepeatableRead, Reads::Many);
        for _ in 0..1 + random.below(12) {
            let direction = if random.below(3) == 0 { Direction::Backward } else { Direction::Forward };
            let ranges: Vec<KeyRange> = (0..1 + random.below(3)).map(|_| range(&mut random)).collect();
            let (seen, stored) = (scan(&txn, &ranges, direction, true), scan(&txn, &ranges, direction, false));
            assert!(seen == stored, "{direction:?} {ranges:?}: {} entries of {}", seen.len(), stored.len());
            let ids: Vec<Vec<u8>> = (0..4).map(|_| key(random.below(4 * ACCOUNTS))).collect();
            let stored: Vec<Option<Vec<u8>>> = ids.iter().map(|id| stored_row(&txn, id)).collect();
            let keys: Vec<&[u8]> = ids.iter().map(Vec::as_slice).collect();
            let mut rows = Vec::new();
            txn.multi_get(&keys, Version::Snapshot, true, &mut rows).unwrap();
            assert_eq!(rows, stored);
            let mut buf = Vec::new();
            assert_eq!(txn.get(&ids[0], Version::Snapshot, &mut buf).unwrap().then_some(buf), stored[0]);
        }
        // One scan that has no snapshot of its own is of one version all the same.
        let txn = begin(engine, Isolation::ReadCommitted, Reads::One);
        let sum: u64 = scan(&txn, std::slice::from_ref(&all), Direction::Forward, true).iter().map(|(_, row)| amount(row)).sum();
        assert_eq!(sum, ACCOUNTS * EACH);
    }
}
