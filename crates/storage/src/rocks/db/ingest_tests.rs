//! What readers without a snapshot see while files are ingested (ROCKS-5).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tempfile::TempDir;

use super::{Db, Family, Iter, IterOptions, SortedFiles};
use crate::rocks::IdleIters;

const KEY: &[u8] = b"\0\0\0\x09k";
/// Written by a batch after each file.
const LATER_KEY: &[u8] = b"\0\0\0\x09l";
const FILES: u64 = 200;
/// More threads than cores: some are stopped between two steps of RocksDB.
const READERS: usize = 12;

fn number(value: &[u8]) -> u64 {
    u64::from_be_bytes(*value.first_chunk().unwrap())
}

fn value(iter: &Iter) -> u64 {
    number(iter.entry().1)
}

/// For each sequence number that was asked, the oldest value that was read after it: by a get, a new iterator, an old one.
fn read(db: &Arc<Db>, done: &AtomicBool) -> BTreeMap<u64, u64> {
    let mut seen = BTreeMap::new();
    let mut old = Iter::new(db, Family::Data, None, IterOptions::default());
    let mut buf = Vec::new();
    for turn in 0u64.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let sequence = db.settled_sequence();
        let value = match turn % 3 {
            0 => db.get(Family::Data, KEY, None, &mut buf).map(|_| number(&buf)).unwrap(),
            1 => {
                let mut iter = Iter::new(db, Family::Data, None, IterOptions::default());
                iter.seek(KEY);
                value(&iter)
            }
            _ => {
                if !old.refresh() {
                    old = Iter::new(db, Family::Data, None, IterOptions::default());
                }
                old.seek(KEY);
                value(&old)
            }
        };
        seen.entry(sequence).and_modify(|oldest: &mut u64| *oldest = value.min(*oldest)).or_insert(value);
    }
    seen
}

/// The number of the file that has this value.
fn ingest(db: &Arc<Db>, dir: &Path, n: u64) -> u64 {
    let mut files = SortedFiles::create(db, &dir.join(format!("files-{n}"))).unwrap();
    files.add_first([(KEY, Some(&n.to_be_bytes()[..]))].into_iter()).unwrap();
    let (ingested, sequence) = db.ingest(files);
    ingested.unwrap();
    sequence
}

/// Reads both keys until `done`, in each way that has no snapshot: who sees a batch sees the file before it (ROCKS-6).
fn read_both(db: &Arc<Db>, done: &AtomicBool) {
    let idle = IdleIters::default();
    for turn in 0u64.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let (ingested, written) = if turn.is_multiple_of(3) {
            let values = db.multi_get(&[KEY, LATER_KEY], None).unwrap();
            let mut values = values.into_iter().map(|value| number(&value.unwrap()));
            (values.next().unwrap(), values.next().unwrap())
        } else {
            let kept = if turn % 3 == 1 { idle.take() } else { None };
            let mut iter = kept.unwrap_or_else(|| Iter::new(db, Family::Data, None, IterOptions::default()));
            iter.set_bounds(KEY, &[]);
            iter.seek(KEY);
            let ingested = value(&iter);
            iter.next();
            let both = (ingested, value(&iter));
            idle.keep(iter);
            both
        };
        assert!(
            written <= ingested,
            "turn {turn}: {written} was written after file {written}, and {ingested} is seen of the files"
        );
    }
}

#[test]
fn who_sees_a_commit_sees_the_files_before_it() {
    let dir = TempDir::new().unwrap();
    let engine = crate::Engine::open(dir.path(), crate::EngineOptions::default(), crate::EngineHooks::default()).unwrap();
    let db = engine.db();
    let commit = |n: u64| {
        ingest(db, dir.path(), n);
        let mut later = engine.begin(crate::TxnOptions::default());
        later.begin_statement(crate::Reads::One);
        later.put(LATER_KEY, &n.to_be_bytes()).unwrap();
        later.commit_wait().unwrap();
    };
    commit(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(|| read_both(db, &done))).collect();
        (1..FILES).for_each(commit);
        done.store(true, Ordering::Relaxed);
        assert!(readers.into_iter().all(|reader| reader.join().is_ok()), "a reader failed");
    });
}

#[test]
fn what_is_settled_is_seen() {
    let dir = TempDir::new().unwrap();
    let engine = crate::Engine::open(dir.path(), crate::EngineOptions::default(), crate::EngineHooks::default()).unwrap();
    let db = engine.db();
    let ingest = |n: u64| ingest(db, dir.path(), n);
    let mut committed = BTreeMap::from([(ingest(0), 0)]);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(|| read(db, &done))).collect();
        committed.extend((1..FILES).map(|n| (ingest(n), n)));
        done.store(true, Ordering::Relaxed);
        for (asked, oldest) in readers.into_iter().flat_map(|reader| reader.join().unwrap()) {
            let (&sequence, &n) = committed.range(..=asked).next_back().unwrap();
            assert!(oldest >= n, "{oldest} was read after {asked}, though {sequence} wrote {n}");
        }
    });
}
