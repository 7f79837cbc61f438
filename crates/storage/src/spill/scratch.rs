//! `Spill`: the part of a transaction's writes that did not fit into its memory.
//!
//! It lies in a file (`sorted_run`) that goes with the transaction. What is spilled at a time is a *segment*, one sorted run; a later segment
//! hides what an earlier one says about the same key. Going back to a mark drops the segments that were written after it, so a
//! segment never spans a mark that may still be wanted. Example: segments 0 and 1 wrote k=1 and k=2; a get looks into 1 first and finds 2.

use std::cell::RefCell;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use vaquita_types::schema::TableId;
use vaquita_types::{Error, Result};

use super::sorted_run::{Entry, Run, RunCursor, RunFile};
use crate::encoding::ids::INDEX_ID_BYTES;

const FILTER_BITS_PER_KEY: usize = 10;
const FILTER_PROBES: u64 = 5;

/// The directory where transactions spill to.
pub struct Scratches {
    dir: PathBuf,
    next: AtomicU64,
    closing: Arc<Closing>,
}

/// Threads that close files.
#[derive(Default)]
struct Closing(Mutex<Vec<JoinHandle<()>>>);

impl Scratches {
    /// Throws away what the last run of the server left in `dir`.
    pub fn new(dir: PathBuf) -> std::io::Result<Scratches> {
        match std::fs::remove_dir_all(&dir) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
            _ => Ok(Scratches { dir, next: AtomicU64::new(0), closing: Arc::default() }),
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn new_file(&self) -> Result<RunFile> {
        RunFile::create(&self.dir, &self.next.fetch_add(1, Ordering::Relaxed).to_string())
    }

    /// Room for one transaction.
    pub fn new_spill(&self) -> Result<Spill> {
        let scratch = Scratch { file: Some(self.new_file()?), closing: Arc::clone(&self.closing) };
        Ok(Spill { scratch, segments: Vec::new(), next_segment: 0, reader: RefCell::default() })
    }
}

impl Drop for Scratches {
    fn drop(&mut self) {
        for thread in std::mem::take(&mut *self.closing.0.lock()) {
            let _ = thread.join();
        }
    }
}

/// The file of one transaction.
struct Scratch {
    /// Taken at the end.
    file: Option<RunFile>,
    closing: Arc<Closing>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let file = self.file.take();
        // Freeing gigabytes takes its time, and a rollback shall be over at once.
        if let Ok(thread) = std::thread::Builder::new().name("scratch".into()).spawn(move || drop(file)) {
            let mut closing = self.closing.0.lock();
            closing.retain(|thread| !thread.is_finished());
            closing.push(thread);
        }
    }
}

/// The part of a key that names its index.
fn index_of(key: &[u8]) -> &[u8] {
    key.get(..INDEX_ID_BYTES).unwrap_or(key)
}

fn closed() -> Error {
    Error::internal("the scratch is closed")
}

/// Writes of one transaction, oldest segment first.
pub struct Spill {
    segments: Vec<Segment>,
    next_segment: u32,
    /// Of gets: where the last one looked, by the segment's number.
    reader: RefCell<Option<(u32, RunCursor)>>,
    scratch: Scratch,
}

struct Segment {
    number: u32,
    /// The position of the write set's undo log that it begins at.
    from: u64,
    run: Run,
    filter: Filter,
    /// The last key of each index, by the index.
    last_keys: Vec<Vec<u8>>,
    /// What its writes change row counts by.
    rows: Vec<(TableId, i64)>,
}

impl Spill {
    fn file(&self) -> Result<&RunFile> {
        self.scratch.file.as_ref().ok_or_else(closed)
    }

    /// Writes in segments, some of them perhaps of the same key.
    pub fn keys(&self) -> u64 {
        self.segments.iter().map(|s| s.run.keys).sum()
    }

    /// Adds a segment of the writes since position `from`, each key once. If it fails, nothing is added.
    pub fn add<'w>(&mut self, from: u64, writes: impl Iterator<Item = Entry<'w>>, rows: Vec<(TableId, i64)>) -> Result<()> {
        let file = self.scratch.file.as_ref().ok_or_else(closed)?;
        let (mut hashes, mut last_keys, mut last): (_, _, &[u8]) = (Vec::new(), Vec::new(), &[]);
        let run = file.add(writes.inspect(|(key, _)| {
            hashes.push(crate::encoding::key_hash(key));
            if index_of(last) != index_of(key) && !last.is_empty() {
                last_keys.push(last.to_vec());
            }
            last = key;
        }))?;
        last_keys.push(last.to_vec());
        self.segments.push(Segment { number: self.next_segment, from, run, filter: Filter::new(&hashes), last_keys, rows });
        self.next_segment += 1;
        Ok(())
    }

    /// Whether all keys of this one's index that there are writes of lie below it.
    pub fn is_above_all(&self, key: &[u8]) -> bool {
        let is_above = |segment: &Segment| {
            let last = segment.last_keys.partition_point(|last| index_of(last) < index_of(key));
            segment.last_keys.get(last).is_none_or(|last| index_of(last) != index_of(key) || last.as_slice() < key)
        };
        self.segments.iter().all(is_above)
    }

    /// Drops the segments from `mark` on; returns what they changed row counts by.
    pub fn drop_since(&mut self, mark: u64) -> Vec<(TableId, i64)> {
        let kept = self.segments.partition_point(|s| s.from < mark);
        let dropped = self.segments.split_off(kept);
        if let Some(file) = &mut self.scratch.file {
            file.cut(self.segments.last().map(|s| &s.run));
        }
        dropped.into_iter().flat_map(|s| s.rows).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Of the segments that there are: no other state has the same.
    fn generation(&self) -> (u32, usize) {
        (self.next_segment, self.segments.len())
    }

    /// The latest write of `key`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Option<Vec<u8>>>> {
        let (file, hash) = (self.file()?, crate::encoding::key_hash(key));
        let mut reader = self.reader.borrow_mut();
        let may_have = |segment: &&Segment| segment.run.may_contain(key) && segment.filter.may_contain(hash);
        for segment in self.segments.iter().rev().filter(may_have) {
            let cursor = match &mut *reader {
                Some((number, cursor)) if *number == segment.number => cursor,
                other => &mut other.insert((segment.number, RunCursor::default())).1,
            };
            cursor.seek(file, &segment.run, key)?;
            if cursor.valid() && cursor.entry().0 == key {
                return Ok(Some(cursor.entry().1.map(<[u8]>::to_vec)));
            }
        }
        Ok(None)
    }

    /// False: no segment has a write of the key.
    pub fn may_contain(&self, key: &[u8]) -> bool {
        let hash = crate::encoding::key_hash(key);
        self.segments.iter().any(|segment| segment.run.may_contain(key) && segment.filter.may_contain(hash))
    }

    /// The segments, of which a later one hides what an earlier one says about a key, and the file that they are in.
    pub fn runs(&self) -> Result<(&RunFile, Vec<&Run>)> {
        Ok((self.file()?, self.segments.iter().map(|segment| &segment.run).collect()))
    }
}

/// A scan's place in a spill.
#[derive(Default)]
pub struct SpillReader {
    /// One for each segment.
    cursors: Vec<RunCursor>,
    generation: (u32, usize),
    /// Whose entry is the one to give: a segment's position.
    at: Option<usize>,
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
    ) -> Result<Option<Entry<'_>>> {
        let (near, far) = if backward { (upper, lower) } else { (lower, upper) };
        // Which keys come before the bound that the scan has reached, and which after the one it goes to.
        let passed = |key: &[u8]| lies_before(key, near, backward);
        let beyond = |key: &[u8]| lies_before(key, far, !backward);
        if self.cursors.is_empty() || self.generation != spill.generation() {
            *self = SpillReader { generation: spill.generation(), ..SpillReader::default() };
            for segment in &spill.segments {
                self.cursors.push(enter(spill.file()?, &segment.run, near, backward)?);
            }
        } else if self.ended || self.at.is_some_and(|at| !passed(self.cursors[at].entry().0)) {
            return Ok(self.at.map(|at| self.cursors[at].entry()));
        }
        let (mut best, file) = (None::<usize>, spill.file()?);
        for (n, segment) in spill.segments.iter().enumerate() {
            let Some(cursor) = self.cursors.get_mut(n) else { continue };
            while cursor.valid() && passed(cursor.entry().0) {
                if backward { cursor.prev(file, &segment.run)? } else { cursor.next(file, &segment.run)? }
            }
            let Some(cursor) = self.cursors.get(n).filter(|cursor| cursor.valid() && !beyond(cursor.entry().0)) else { continue };
            let order = best.map(|best| cursor.entry().0.cmp(self.cursors[best].entry().0));
            // Of one key the later segment's.
            if order.is_none_or(|order| order.is_eq() || order.is_gt() == backward) {
                best = Some(n);
            }
        }
        (self.at, self.ended) = (best, best.is_none());
        Ok(best.map(|best| self.cursors[best].entry()))
    }
}

/// A key below a lower bound; `above`: above an upper bound.
fn lies_before(key: &[u8], bound: Bound<&[u8]>, above: bool) -> bool {
    match bound {
        Bound::Included(bound) => {
            if above {
                key > bound
            } else {
                key < bound
            }
        }
        Bound::Excluded(bound) => {
            if above {
                key >= bound
            } else {
                key <= bound
            }
        }
        Bound::Unbounded => false,
    }
}

/// Near the bound that a scan begins at: on an entry of its side, or within what the bound leaves out by little.
fn enter(file: &RunFile, run: &Run, bound: Bound<&[u8]>, backward: bool) -> Result<RunCursor> {
    let mut cursor = RunCursor::default();
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => {
            cursor.seek(file, run, key)?;
            if backward && !cursor.valid() {
                cursor.seek_to_last(file, run)?;
            }
        }
        Bound::Unbounded if backward => cursor.seek_to_last(file, run)?,
        Bound::Unbounded => cursor = RunCursor::start(file, run)?,
    }
    Ok(cursor)
}

/// Says of most keys that a segment does not have that it has them not: of one in a hundred it does not know.
struct Filter {
    words: Box<[u64]>,
}

impl Filter {
    fn new(hashes: &[u64]) -> Filter {
        let mut filter = Filter { words: vec![0; (hashes.len() * FILTER_BITS_PER_KEY).div_ceil(64).max(1)].into() };
        for hash in hashes {
            for place in filter.places(*hash) {
                filter.words[(place / 64) as usize] |= 1 << (place % 64);
            }
        }
        filter
    }

    fn places(&self, hash: u64) -> impl Iterator<Item = u64> + use<> {
        let (bits, step) = (self.words.len() as u64 * 64, (hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..FILTER_PROBES).map(move |n| hash.wrapping_add(step.wrapping_mul(n)) % bits)
    }

    fn may_contain(&self, hash: u64) -> bool {
        self.places(hash).all(|place| self.words[(place / 64) as usize] >> (place % 64) & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::spill::sorted_run::{Piece, SameKey, merge};

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
        let (file, runs) = spill.runs().unwrap();
        merge(file, &runs, &Piece::default(), SameKey::LastRunCounts, |key, write| {
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
