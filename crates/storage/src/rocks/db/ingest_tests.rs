//! What readers without a snapshot see while files are ingested (ROCKS-5).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tempfile::TempDir;

use super::{Db, Family, Iter, IterOptions, SortedFiles};

const KEY: &[u8] = b"\0\0\0\x09k";
const FILES: u64 = 200;

fn value(iter: &Iter) -> u64 {
    u64::from_be_bytes(*iter.entry().1.first_chunk().unwrap())
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
            0 => db.get(Family::Data, KEY, None, &mut buf).map(|_| u64::from_be_bytes(*buf.first_chunk().unwrap())).unwrap(),
            1 => {
                let mut iter = Iter::new(db, Family::Data, None, IterOptions::default());
                iter.seek(KEY);
                value(&iter)
            }
            _ => {
                old.refresh().unwrap();
                old.seek(KEY);
                value(&old)
            }
        };
        seen.entry(sequence).and_modify(|oldest: &mut u64| *oldest = value.min(*oldest)).or_insert(value);
    }
    seen
}

#[test]
fn what_is_settled_is_seen() {
    let dir = TempDir::new().unwrap();
    let engine = crate::Engine::open(dir.path(), crate::EngineOptions::default(), crate::EngineHooks::default()).unwrap();
    let db = engine.db();
    let ingest = |n: u64| {
        let mut files = SortedFiles::create(db, &dir.path().join(format!("files-{n}"))).unwrap();
        files.add_first([(KEY, Some(&n.to_be_bytes()[..]))].into_iter()).unwrap();
        let (ingested, sequence) = db.ingest(files);
        ingested.unwrap();
        sequence
    };
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
