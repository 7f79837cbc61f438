//! `Spill`: the part of a transaction's writes that did not fit into its memory.
//!
//! It lies in a RocksDB of its own, the scratch, which has no log and goes with the transaction. What is spilled at
//! a time is a *segment*; a later segment hides what an earlier one says about the same key. Going back to a mark drops the
//! segments that were written after it, so a segment never spans a mark that may still be wanted.
//!
//! | key in the scratch                          | value                      |
//! |---------------------------------------------|----------------------------|
//! | the write's key, not segment (u32 BE)       | 0: deleted; 1 and the value |
//!
//! So the versions of a key lie together, the latest first. That needs keys of which none begins another, as all
//! data keys are. Example: segments 0 and 1 wrote k=1 and k=2; a get seeks to `k`, finds `k FFFFFFFE` and so 2.

use std::cell::RefCell;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use vaquita_types::schema::TableId;
use vaquita_types::{Error, Result};

use crate::commit::Records;
use crate::engine::{read_error, write_error};
use crate::options;
use crate::rocks::{Db, Family, Iter, IterOptions, RocksError};

const SEGMENT_BYTES: usize = 4;
const DELETED: u8 = 0;
const VALUE: u8 = 1;
/// Bytes given to the scratch at a time.
const BATCH_BYTES: usize = 1 << 20;
/// Bits of a filter: 8 MiB, 3% of false alarms with ten million keys.
const FILTER_BITS: u64 = 1 << 26;

/// The directory of the scratches.
pub struct Scratches {
    dir: PathBuf,
    next: AtomicU64,
    closing: Arc<Closing>,
}

/// Threads that close and delete scratches.
#[derive(Default)]
struct Closing(Mutex<Vec<JoinHandle<()>>>);

impl Scratches {
    /// Throws away what the last run left in `dir`.
    pub fn new(dir: PathBuf) -> std::io::Result<Scratches> {
        match std::fs::remove_dir_all(&dir) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
            _ => Ok(Scratches { dir, next: AtomicU64::new(0), closing: Arc::default() }),
        }
    }

    /// Room for one transaction.
    pub fn new_spill(&self) -> Result<Spill> {
        let dir = self.dir.join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir_all(&dir).map_err(|e| write_error(RocksError(format!("{e}: {}", dir.display()))))?;
        let (data, catalog) = options::for_scratch();
        let db = Db::open(&dir, data, catalog).map_err(write_error)?;
        let scratch = Scratch { dir, db: Some(db), closing: Arc::clone(&self.closing) };
        Ok(Spill { scratch, segments: Vec::new(), next_segment: 0, filter: Filter::new(), reader: RefCell::default() })
    }
}

impl Drop for Scratches {
    fn drop(&mut self) {
        // RocksDB must not be at work when the process ends.
        for thread in std::mem::take(&mut *self.closing.0.lock()) {
            let _ = thread.join();
        }
    }
}

/// The database of one transaction.
struct Scratch {
    dir: PathBuf,
    /// Taken at the end.
    db: Option<Arc<Db>>,
    closing: Arc<Closing>,
}

impl Scratch {
    fn db(&self) -> Result<&Arc<Db>> {
        self.db.as_ref().ok_or_else(|| Error::internal("the scratch is closed"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let (db, dir) = (self.db.take(), std::mem::take(&mut self.dir));
        let remove = move || {
            if let Some(db) = db {
                db.cancel_background_work();
            }
            // What stays is thrown away at the next start.
            let _ = std::fs::remove_dir_all(&dir);
        };
        // Closing and deleting gigabytes takes its time, and a rollback shall be over at once.
        if let Ok(thread) = std::thread::Builder::new().name("scratch".into()).spawn(remove) {
            let mut closing = self.closing.0.lock();
            closing.retain(|thread| !thread.is_finished());
            closing.push(thread);
        }
    }
}

/// Writes of one transaction, oldest segment first.
pub struct Spill {
    segments: Vec<Segment>,
    next_segment: u32,
    filter: Filter,
    /// Of gets; sees all segments that are there.
    reader: RefCell<Option<Iter>>,
    scratch: Scratch,
}

struct Segment {
    number: u32,
    /// The position of the write set's undo log that it begins at.
    from: u64,
    keys: u64,
    /// What its writes change row counts by.
    rows: Vec<(TableId, i64)>,
}

impl Spill {
    /// Writes in segments, some of them perhaps of the same key.
    pub fn keys(&self) -> u64 {
        self.segments.iter().map(|s| s.keys).sum()
    }

    /// Adds a segment of the writes since position `from`, each key once. If it fails, nothing is added.
    pub fn add<'w>(
        &mut self,
        from: u64,
        writes: impl Iterator<Item = (&'w [u8], Option<&'w [u8]>)>,
        rows: Vec<(TableId, i64)>,
    ) -> Result<()> {
        let number = self.next_segment;
        self.next_segment += 1;
        let (mut keys, mut key_buf, mut value_buf) = (0, Vec::new(), Vec::new());
        let mut records = Records::with_capacity(BATCH_BYTES);
        for (key, write) in writes {
            keys += 1;
            self.filter.add(key);
            put_key(key, number, &mut key_buf);
            value_buf.clear();
            value_buf.push(if write.is_some() { VALUE } else { DELETED });
            value_buf.extend_from_slice(write.unwrap_or(&[]));
            records.put(Family::Data, &key_buf, &value_buf);
            if records.bytes() >= BATCH_BYTES {
                self.write(std::mem::replace(&mut records, Records::with_capacity(BATCH_BYTES)))?;
            }
        }
        self.write(records)?;
        self.segments.push(Segment { number, from, keys, rows });
        *self.reader.get_mut() = None;
        Ok(())
    }

    fn write(&self, mut records: Records) -> Result<()> {
        self.scratch.db()?.write_unlogged(records.as_batch()).map_err(write_error)
    }

    /// Drops the segments from `mark` on; returns what they changed row counts by.
    pub fn drop_since(&mut self, mark: u64) -> Vec<(TableId, i64)> {
        let kept = self.segments.partition_point(|s| s.from < mark);
        self.segments.split_off(kept).into_iter().flat_map(|s| s.rows).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Of the segments that there are: no other state has the same.
    fn generation(&self) -> (u32, usize) {
        (self.next_segment, self.segments.len())
    }

    fn has(&self, segment: u32) -> bool {
        self.segments.binary_search_by_key(&segment, |s| s.number).is_ok()
    }

    /// The latest write of `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Option<Vec<u8>>>> {
        if !self.filter.may_contain(key) {
            return Ok(None);
        }
        let mut reader = self.reader.borrow_mut();
        let iter = match &mut *reader {
            Some(iter) => iter,
            none => none.insert(self.iter(IterOptions::default())?),
        };
        iter.set_bounds(key, &behind(key));
        iter.seek(key);
        Ok(self.live(iter)?.map(|(_, write)| write.map(<[u8]>::to_vec)))
    }

    fn iter(&self, options: IterOptions) -> Result<Iter> {
        Ok(Iter::new(self.scratch.db()?, Family::Data, None, options))
    }

    /// The first entry from where the iterator stands on that is of a segment still there.
    fn live<'i>(&self, iter: &'i mut Iter) -> Result<Option<(&'i [u8], Option<&'i [u8]>)>> {
        while iter.valid() {
            let (_, segment) = split_key(iter.key())?;
            if self.has(segment) {
                let (key, value) = iter.entry();
                return Ok(Some((split_key(key)?.0, decode_value(value)?)));
            }
            iter.next();
        }
        iter.status().map_err(read_error)?;
        Ok(None)
    }

    /// Calls `f` with the latest write of each key, in order.
    pub fn for_each(&self, mut f: impl FnMut(&[u8], Option<&[u8]>) -> Result<()>) -> Result<()> {
        let mut iter = self.iter(IterOptions { fill_cache: false, readahead_bytes: BATCH_BYTES })?;
        iter.set_bounds(&[], &[]);
        iter.seek(&[]);
        let mut last = Vec::new();
        while let Some((key, write)) = self.live(&mut iter)? {
            if last != key {
                f(key, write)?;
                last.clear();
                last.extend_from_slice(key);
            }
            iter.next();
        }
        Ok(())
    }
}

/// A scan's place in a spill.
#[derive(Default)]
pub struct SpillReader {
    iter: Option<Iter>,
    generation: (u32, usize),
    /// What it stands on: the key and its latest write.
    at: Option<(Vec<u8>, Option<Vec<u8>>)>,
    /// Looked behind the last write within the bounds.
    ended: bool,
}

impl SpillReader {
    /// The first (backward: the last) write between the bounds. Calls of one scan only go on in its direction.
    pub fn following(
        &mut self,
        spill: &Spill,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        backward: bool,
    ) -> Result<Option<(&[u8], Option<&[u8]>)>> {
        if self.iter.is_none() || self.generation != spill.generation() {
            *self = SpillReader {
                iter: Some(spill.iter(IterOptions::default())?),
                generation: spill.generation(),
                ..Default::default()
            };
        }
        let passed = |key: &[u8]| match if backward { upper } else { lower } {
            Bound::Included(bound) => {
                if backward {
                    key > bound
                } else {
                    key < bound
                }
            }
            Bound::Excluded(bound) => {
                if backward {
                    key >= bound
                } else {
                    key <= bound
                }
            }
            Bound::Unbounded => false,
        };
        if !self.ended && self.at.as_ref().is_none_or(|(key, _)| passed(key)) {
            let from = match lower {
                Bound::Included(key) => key.to_vec(),
                Bound::Excluded(key) => behind(key),
                Bound::Unbounded => Vec::new(),
            };
            let to = match upper {
                Bound::Included(key) => behind(key),
                Bound::Excluded(key) => key.to_vec(),
                Bound::Unbounded => Vec::new(),
            };
            let Some(iter) = &mut self.iter else { return Ok(None) };
            self.at = if backward { last(spill, iter, &from, to)? } else { first(spill, iter, &from, &to)? };
            self.ended = self.at.is_none();
        }
        Ok(self.at.as_ref().map(|(key, write)| (key.as_slice(), write.as_deref())))
    }
}

type Found = Option<(Vec<u8>, Option<Vec<u8>>)>;

fn first(spill: &Spill, iter: &mut Iter, from: &[u8], to: &[u8]) -> Result<Found> {
    /// Older versions of the last key that are passed one by one, before a seek is cheaper.
    const STEPS: usize = 4;
    // A scan goes on from where it stands.
    for _ in 0..STEPS {
        if iter.valid() && iter.key() < from {
            iter.next();
        }
    }
    if !iter.valid() || iter.key() < from {
        iter.set_bounds(from, to);
        iter.seek(from);
    }
    Ok(spill.live(iter)?.map(|(key, write)| (key.to_vec(), write.map(<[u8]>::to_vec))))
}

fn last(spill: &Spill, iter: &mut Iter, from: &[u8], mut to: Vec<u8>) -> Result<Found> {
    loop {
        if !to.is_empty() && *from >= *to {
            return Ok(None);
        }
        iter.set_bounds(from, &to);
        iter.seek_to_last();
        if !iter.valid() {
            iter.status().map_err(read_error)?;
            return Ok(None);
        }
        // The oldest version of the last key: the newest that lives is before it.
        to = split_key(iter.key())?.0.to_vec();
        iter.set_bounds(&to, &behind(&to));
        iter.seek(&to);
        if let Some((key, write)) = spill.live(iter)? {
            return Ok(Some((key.to_vec(), write.map(<[u8]>::to_vec))));
        }
    }
}

fn put_key(key: &[u8], segment: u32, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(key);
    out.extend_from_slice(&(!segment).to_be_bytes());
}

/// A scratch key above all versions of `key`.
fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0xFF; SEGMENT_BYTES + 1]].concat()
}

/// The write's key and the segment.
fn split_key(key: &[u8]) -> Result<(&[u8], u32)> {
    let (key, segment) = key.split_last_chunk::<SEGMENT_BYTES>().ok_or_else(|| Error::internal("a key of the scratch"))?;
    Ok((key, !u32::from_be_bytes(*segment)))
}

fn decode_value(value: &[u8]) -> Result<Option<&[u8]>> {
    match value.split_first() {
        Some((&VALUE, value)) => Ok(Some(value)),
        Some((&DELETED, _)) => Ok(None),
        _ => Err(Error::internal("a value of the scratch")),
    }
}

/// Says of most keys that were never added that they were not.
struct Filter {
    words: Box<[u64]>,
}

impl Filter {
    fn new() -> Filter {
        Filter { words: vec![0; (FILTER_BITS / 64) as usize].into() }
    }

    fn places(key: &[u8]) -> [u64; 2] {
        let hash = crate::lock::hash(key);
        [hash % FILTER_BITS, (hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) % FILTER_BITS]
    }

    fn add(&mut self, key: &[u8]) {
        for place in Filter::places(key) {
            self.words[(place / 64) as usize] |= 1 << (place % 64);
        }
    }

    fn may_contain(&self, key: &[u8]) -> bool {
        Filter::places(key).iter().all(|place| self.words[(place / 64) as usize] >> (place % 64) & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    type Model = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

    type Write = (Vec<u8>, Option<Vec<u8>>);

    fn scan(spill: &Spill, lower: &[u8], upper: &[u8], backward: bool) -> Vec<Write> {
        let (mut reader, mut found, mut passed) = (SpillReader::default(), Vec::new(), None::<Vec<u8>>);
        loop {
            let (mut lower, mut upper) = (Bound::Included(lower), Bound::Excluded(upper));
            if let Some(passed) = &passed {
                *(if backward { &mut upper } else { &mut lower }) = Bound::Excluded(passed.as_slice());
            }
            let Some((key, write)) = reader.following(spill, lower, upper, backward).unwrap() else { return found };
            passed = Some(key.to_vec());
            found.push((key.to_vec(), write.map(<[u8]>::to_vec)));
        }
    }

    fn check(spill: &Spill, segments: &[(u64, Model)]) {
        let merged: Model = segments.iter().flat_map(|(_, writes)| writes.clone()).collect();
        let mut all = Vec::new();
        spill
            .for_each(|key, write| {
                all.push((key.to_vec(), write.map(<[u8]>::to_vec)));
                Ok(())
            })
            .unwrap();
        assert!(all.into_iter().eq(merged.clone()));
        for k in 0..8u8 {
            assert_eq!(spill.get(&[k]).unwrap(), merged.get(&vec![k]).cloned());
        }
        for (lower, upper) in [(0, 9), (2, 6), (3, 3), (5, 8)] {
            let within: Vec<Write> = merged.range(vec![lower]..vec![upper]).map(|(k, w)| (k.clone(), w.clone())).collect();
            assert_eq!(scan(spill, &[lower], &[upper], false), within);
            assert!(scan(spill, &[lower], &[upper], true).into_iter().eq(within.into_iter().rev()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn segments_hide_each_other_and_go(
            ops in proptest::collection::vec((any::<bool>(), proptest::collection::btree_map(0u8..8, proptest::option::of(0u8..3), 1..6)), 1..8)
        ) {
            let dir = tempfile::tempdir().unwrap();
            let scratches = Scratches::new(dir.path().join("scratch")).unwrap();
            let mut spill = scratches.new_spill().unwrap();
            let mut segments: Vec<(u64, Model)> = Vec::new();
            for (at, (goes_back, writes)) in ops.into_iter().enumerate() {
                let writes: Model = writes.into_iter().map(|(k, v)| (vec![k], v.map(|v| vec![v]))).collect();
                spill.add(at as u64, writes.iter().map(|(k, v)| (k.as_slice(), v.as_deref())), vec![(TableId(1), 1)]).unwrap();
                segments.push((at as u64, writes));
                if goes_back {
                    let mark = at as u64 / 2;
                    let rows = spill.drop_since(mark);
                    let kept = segments.iter().filter(|(from, _)| *from < mark).count();
                    prop_assert_eq!(rows.len(), segments.len() - kept);
                    segments.truncate(kept);
                }
                check(&spill, &segments);
            }
        }
    }
}
