//! What the engine's basic steps cost on this machine: `storage_bench DIR [ROWS]`.
//!
//! Prints nanoseconds per get, lock, snapshot and scan, and the latency of synced commits by one
//! thread and by many, with logs that grow and with logs that were filled before. The directory
//! decides which disk is measured.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use vaquita_storage::*;

const WAIT: LockPolicy = LockPolicy::Wait(Duration::from_secs(50));

fn open(dir: &Path, warm_log: bool) -> Arc<Engine> {
    let options = EngineOptions { block_cache_bytes: Some(512 << 20), warm_log, ..EngineOptions::default() };
    Engine::open(dir, options, EngineHooks::default()).expect("the directory opens")
}

fn begin(engine: &Arc<Engine>, autocommit: bool) -> Transaction {
    let mut txn = engine.begin(TxnOptions {
        isolation: Isolation::RepeatableRead,
        autocommit,
        read_only: false,
        snapshot_isolation: true,
        interrupt: Arc::new(Interrupt::new(1)),
    });
    txn.begin_statement(Reads::One);
    txn
}

fn key(n: u64) -> [u8; 8] {
    let mut key = [0, 0, 0, 7, 0, 0, 0, 0];
    key[4..].copy_from_slice(&(n as u32).to_be_bytes());
    key
}

fn measure(what: &str, times: u64, mut step: impl FnMut(u64)) {
    let began = Instant::now();
    (0..times).for_each(&mut step);
    println!("{what:<44} {:>9.0} ns", began.elapsed().as_nanos() as f64 / times as f64);
}

fn scattered(n: u64, rows: u64) -> u64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % rows
}

fn load(engine: &Arc<Engine>, rows: u64) {
    for chunk in 0..rows.div_ceil(10_000) {
        let mut txn = begin(engine, false);
        for n in chunk * 10_000..rows.min((chunk + 1) * 10_000) {
            txn.put(&key(n), &[n as u8; 190]).expect("put");
        }
        txn.commit_wait().expect("commit");
    }
    engine.flush_memtables().expect("flush");
}

fn reads(engine: &Arc<Engine>, rows: u64) {
    let mut buf = Vec::new();
    let txn = begin(engine, true);
    measure("get, latest", 400_000, |n| {
        txn.get(&key(scattered(n, rows)), Version::Latest, &mut buf).expect("get");
    });
    let mut txn = begin(engine, false);
    txn.begin_statement(Reads::Many);
    measure("get, at a snapshot", 400_000, |n| {
        txn.get(&key(scattered(n, rows)), Version::Snapshot, &mut buf).expect("get");
    });
    let scan = |txn: &Transaction, from: u64, keep: bool| {
        let range = KeyRange { lower: key(from).to_vec(), upper: key(from + 100).to_vec() };
        let mut cursor = txn.scan(range, Direction::Forward, ScanOptions::default()).expect("scan");
        let mut bytes = 0;
        while let Some((key, value)) = cursor.next(txn).expect("next") {
            bytes += key.len() + value.len();
        }
        if keep {
            txn.finish_scan(cursor);
        }
        bytes
    };
    measure("scan of 100, at a snapshot, new iterator", 20_000, |n| {
        scan(&txn, scattered(n, rows - 100), false);
    });
    measure("scan of 100, at a snapshot, kept iterator", 20_000, |n| {
        scan(&txn, scattered(n, rows - 100), true);
    });
    let single = begin(engine, true);
    measure("scan of 100, latest, new iterator", 20_000, |n| {
        scan(&single, scattered(n, rows - 100), false);
    });
    measure("scan of 100, latest, kept iterator", 20_000, |n| {
        scan(&single, scattered(n, rows - 100), true);
    });
    measure("begin, snapshot, end", 400_000, |_| {
        let mut txn = begin(engine, true);
        txn.begin_statement(Reads::Many);
        txn.get(&key(0), Version::Snapshot, &mut buf).expect("get");
    });
    measure("begin, lock a row, end", 400_000, |n| {
        let mut txn = begin(engine, false);
        txn.lock_row(&key(scattered(n, rows)), LockMode::X, WAIT).expect("lock");
    });
}

fn commit_one(engine: &Arc<Engine>, n: u64) {
    let mut txn = begin(engine, true);
    txn.lock_row(&key(n), LockMode::X, WAIT).expect("lock");
    txn.put(&key(n), &[n as u8; 190]).expect("put");
    txn.commit_wait().expect("commit");
}

fn commits(engine: &Arc<Engine>, rows: u64) {
    let mut times: Vec<u128> = (0..3000)
        .map(|n| {
            let began = Instant::now();
            commit_one(engine, scattered(n, rows));
            began.elapsed().as_nanos()
        })
        .collect();
    let mean = times.iter().sum::<u128>() / times.len() as u128;
    times.sort_unstable();
    let at = |part: usize| times[times.len() * part / 100] / 1000;
    println!("commit, 1 thread: mean {} µs, p50 {} µs, p95 {} µs, p99 {} µs", mean / 1000, at(50), at(95), at(99));
    for threads in [2u64, 8, 64] {
        let next = AtomicU64::new(0);
        let (groups, began) = (engine.commit_counts().0, Instant::now());
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while began.elapsed() < Duration::from_secs(2) {
                        commit_one(engine, scattered(next.fetch_add(1, Ordering::Relaxed), rows));
                    }
                });
            }
        });
        let done = next.load(Ordering::Relaxed);
        let groups = engine.commit_counts().0 - groups;
        let per_second = done as f64 / began.elapsed().as_secs_f64();
        println!("commit, {threads} threads: {per_second:.0}/s, {:.1} commits per sync", done as f64 / groups as f64);
    }
}

fn main() {
    let dir = std::env::args().nth(1).expect("usage: storage_bench DIR [ROWS]");
    let rows: u64 = std::env::args().nth(2).map_or(200_000, |rows| rows.parse().expect("a number of rows"));
    let dir = Path::new(&dir);
    {
        let engine = open(dir, false);
        load(&engine, rows);
        reads(&engine, rows);
        println!("-- logs that grow");
        commits(&engine, rows);
    }
    let began = Instant::now();
    let engine = open(dir, true);
    println!("-- logs filled before; open took {} ms", began.elapsed().as_millis());
    thread::sleep(Duration::from_secs(5));
    commits(&engine, rows);
    let began = Instant::now();
    drop(engine);
    println!("close took {} ms", began.elapsed().as_millis());
}
