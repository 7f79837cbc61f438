//! `RunFile`: sorted writes in a file without a name, which is gone with whoever has it open.
//!
//! A *run* is writes in the order of their keys, each key once (in those of a `Sorter` also more often). It is cut into blocks:
//!
//! | offset in a block | size | what                                                   |
//! |-------------------|------|--------------------------------------------------------|
//! | 0                 | 4    | bytes of the key, u32 little-endian                    |
//! | 4                 | 4    | bytes of the value, or `DELETED`                       |
//! | 8                 |      | key, value, and then the next entry                    |
//! | the end           | 4    | CRC-32C of all before it                               |
//!
//! Memory keeps the first key of each block. Several threads may add runs to one file, whose blocks then alternate. Nothing is synced: a file that a crash need not find again is as good as memory.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{self, AtomicU64};

use parking_lot::Mutex;
use vaquita_types::{Error, Result};

use crate::rocks::RocksError;
use crate::rocks::{read_error, write_error};

/// A value, or `None` for a deletion.
pub type Entry<'e> = (&'e [u8], Option<&'e [u8]>);

pub const BLOCK_BYTES: usize = 32 << 10;
const HEADER_BYTES: usize = 8;
const CRC_BYTES: usize = 4;
const DELETED: u32 = u32::MAX;

pub struct RunFile {
    file: File,
    end: AtomicU64,
}

/// Where a run lies.
#[derive(Default)]
pub struct Run {
    blocks: Vec<Block>,
    /// The first keys of blocks, one behind the other.
    firsts: Vec<u8>,
    last: Vec<u8>,
    pub keys: u64,
    /// Of its last block; without any, of the file when it was added.
    end: u64,
}

struct Block {
    at: u64,
    len: u32,
    /// Where its first key begins in `firsts`.
    first: u32,
}

fn failed(e: std::io::Error) -> RocksError {
    RocksError(format!("IO error: {e}: a file of sorted writes"))
}

impl RunFile {
    /// In the directory `dir`, under a name that nobody else uses, for as long as it has one.
    pub fn create(dir: &Path, name: &str) -> Result<RunFile> {
        let path = dir.join(name);
        let create = || {
            std::fs::create_dir_all(dir)?;
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        };
        Ok(RunFile { file: create().map_err(|e| write_error(failed(e)))?, end: AtomicU64::new(0) })
    }

    /// Adds a run. If it fails, only space is lost, until `cut`.
    pub fn add<'w>(&self, writes: impl Iterator<Item = Entry<'w>>) -> Result<Run> {
        let mut run = Run { end: self.end.load(atomic::Ordering::Relaxed), ..Run::default() };
        let mut block = Vec::with_capacity(BLOCK_BYTES + (BLOCK_BYTES >> 2));
        let mut last: &[u8] = &[];
        for (key, write) in writes {
            if block.is_empty() {
                run.blocks.push(Block { at: 0, len: 0, first: run.firsts.len() as u32 });
                run.firsts.extend_from_slice(key);
            }
            block.extend_from_slice(&(key.len() as u32).to_le_bytes());
            block.extend_from_slice(&write.map_or(DELETED, |value| value.len() as u32).to_le_bytes());
            block.extend_from_slice(key);
            block.extend_from_slice(write.unwrap_or(&[]));
            (last, run.keys) = (key, run.keys + 1);
            if block.len() >= BLOCK_BYTES {
                self.write(&mut run, &mut block)?;
            }
        }
        run.last = last.to_vec();
        self.write(&mut run, &mut block)?;
        Ok(run)
    }

    fn write(&self, run: &mut Run, block: &mut Vec<u8>) -> Result<()> {
        let Some(place) = run.blocks.last_mut().filter(|_| !block.is_empty()) else { return Ok(()) };
        block.extend_from_slice(&crc32c::crc32c(block).to_le_bytes());
        place.at = self.end.fetch_add(block.len() as u64, atomic::Ordering::Relaxed);
        self.file.write_all_at(block, place.at).map_err(|e| write_error(failed(e)))?;
        place.len = block.len() as u32;
        run.end = place.at + block.len() as u64;
        block.clear();
        Ok(())
    }

    /// Forgets all runs behind `last`; one thread has added them.
    pub fn cut(&mut self, last: Option<&Run>) {
        let end = last.map_or(0, |run| run.end);
        *self.end.get_mut() = end;
        // Only space is at stake.
        let _ = self.file.set_len(end);
    }

    fn read(&self, place: &Block, out: &mut Vec<u8>) -> Result<()> {
        out.resize(place.len as usize, 0);
        self.file.read_exact_at(out, place.at).map_err(|e| read_error(failed(e)))?;
        let damaged = || Error::corrupt("a file of sorted writes");
        let (bytes, crc) = out.split_last_chunk::<CRC_BYTES>().ok_or_else(damaged)?;
        if crc32c::crc32c(bytes) != u32::from_le_bytes(*crc) {
            return Err(damaged());
        }
        out.truncate(out.len() - CRC_BYTES);
        Ok(())
    }
}

impl Run {
    fn first(&self, block: usize) -> &[u8] {
        let start = self.blocks.get(block).map_or(self.firsts.len(), |b| b.first as usize);
        let end = self.blocks.get(block + 1).map_or(self.firsts.len(), |b| b.first as usize);
        self.firsts.get(start..end).unwrap_or(&[])
    }

    /// The last block that begins at or below `key`; the first one if none does.
    fn block_of(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.blocks.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first(middle) <= key { low = middle + 1 } else { high = middle }
        }
        low.saturating_sub(1)
    }

    /// What it has in memory.
    pub fn kept_bytes(&self) -> usize {
        self.blocks.len() * size_of::<Block>() + self.firsts.len()
    }

    pub fn may_contain(&self, key: &[u8]) -> bool {
        self.first(0) <= key && key <= self.last.as_slice()
    }

    /// The first keys of its blocks.
    pub fn block_keys(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.blocks.len()).map(|block| self.first(block))
    }
}

/// A place in a run. It is used with the file and the run that it was made for.
#[derive(Default)]
pub struct RunCursor {
    block: usize,
    bytes: Vec<u8>,
    /// Where the entries of the block begin.
    entries: Vec<u32>,
    at: usize,
}

impl RunCursor {
    pub fn start(file: &RunFile, run: &Run) -> Result<RunCursor> {
        let mut cursor = RunCursor::default();
        cursor.load(file, run, 0)?;
        Ok(cursor)
    }

    /// False: before the first entry or behind the last one.
    pub fn valid(&self) -> bool {
        self.at < self.entries.len()
    }

    fn load(&mut self, file: &RunFile, run: &Run, block: usize) -> Result<()> {
        (self.block, self.at) = (block, 0);
        self.entries.clear();
        let Some(place) = run.blocks.get(block) else { return Ok(()) };
        file.read(place, &mut self.bytes)?;
        let mut at = 0;
        while at < self.bytes.len() {
            self.entries.push(at as u32);
            let (key, value) = self.lengths(at);
            at += HEADER_BYTES + key + value.unwrap_or(0);
        }
        Ok(())
    }

    /// Bytes of key and value of the entry at the offset.
    fn lengths(&self, at: usize) -> (usize, Option<usize>) {
        let number = |at: usize| self.bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let value = number(at + 4);
        (number(at) as usize, (value != DELETED).then_some(value as usize))
    }

    fn entry_at(&self, n: usize) -> Entry<'_> {
        let Some(&at) = self.entries.get(n) else { return (&[], None) };
        let at = at as usize;
        let (key, value) = self.lengths(at);
        let start = at + HEADER_BYTES;
        let slice = |start: usize, len: usize| self.bytes.get(start..start + len).unwrap_or(&[]);
        (slice(start, key), value.map(|len| slice(start + key, len)))
    }

    /// The entry that it stands on.
    pub fn entry(&self) -> Entry<'_> {
        self.entry_at(self.at)
    }

    pub fn next(&mut self, file: &RunFile, run: &Run) -> Result<()> {
        self.at += 1;
        if self.at >= self.entries.len() && self.block + 1 < run.blocks.len() {
            self.load(file, run, self.block + 1)
        } else {
            Ok(())
        }
    }

    pub fn prev(&mut self, file: &RunFile, run: &Run) -> Result<()> {
        if self.at > 0 {
            self.at -= 1;
            return Ok(());
        }
        if self.block == 0 {
            self.entries.clear();
            return Ok(());
        }
        self.load(file, run, self.block - 1)?;
        self.at = self.entries.len().saturating_sub(1);
        Ok(())
    }

    /// To the first entry that is not below `key`.
    pub fn seek(&mut self, file: &RunFile, run: &Run, key: &[u8]) -> Result<()> {
        let block = run.block_of(key);
        if block != self.block || self.entries.is_empty() {
            self.load(file, run, block)?;
        }
        let (mut low, mut high) = (0, self.entries.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry_at(middle).0 < key { low = middle + 1 } else { high = middle }
        }
        self.at = low;
        if low == self.entries.len() && low > 0 {
            self.at = low - 1;
            return self.next(file, run);
        }
        Ok(())
    }

    pub fn seek_to_last(&mut self, file: &RunFile, run: &Run) -> Result<()> {
        self.load(file, run, run.blocks.len().saturating_sub(1))?;
        self.at = self.entries.len().saturating_sub(1);
        Ok(())
    }
}

/// Which of the entries of one key comes first, if several runs have one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    EarlierRunFirst,
    LaterRunFirst,
}

/// The entries of several runs in order. It is used with the file and the runs that it was made for.
pub struct Merge {
    cursors: Vec<RunCursor>,
    /// The runs that go on; the one whose turn is next comes last.
    order: Vec<Turn>,
    /// The run that the entry is of.
    at: Option<Turn>,
    ties: Ties,
}

#[derive(Clone, Copy)]
struct Turn {
    /// Of its key.
    head: u128,
    run: usize,
}

/// A key's first bytes, and zeros where it is shorter, as a number that compares like them.
#[inline]
pub(super) fn head_of(key: &[u8]) -> u128 {
    match key.first_chunk() {
        Some(bytes) => u128::from_be_bytes(*bytes),
        None => {
            key.iter().zip((0..size_of::<u128>()).rev()).fold(0, |head, (byte, place)| head | u128::from(*byte) << (8 * place))
        }
    }
}

impl Merge {
    pub fn start<R: Borrow<Run>>(file: &RunFile, runs: &[R], ties: Ties) -> Result<Merge> {
        let cursors = runs.iter().map(|run| RunCursor::start(file, run.borrow())).collect::<Result<_>>()?;
        Ok(Merge::of(cursors, ties))
    }

    /// Of the entries that are not below `key`.
    fn start_at<R: Borrow<Run>>(file: &RunFile, runs: &[R], key: &[u8], ties: Ties) -> Result<Merge> {
        let at_key = |run: &R| {
            let mut cursor = RunCursor::default();
            cursor.seek(file, run.borrow(), key).map(|()| cursor)
        };
        Ok(Merge::of(runs.iter().map(at_key).collect::<Result<_>>()?, ties))
    }

    fn of(cursors: Vec<RunCursor>, ties: Ties) -> Merge {
        let mut merge = Merge { cursors, order: Vec::new(), at: None, ties };
        let valid = (0..merge.cursors.len()).filter(|n| merge.cursors[*n].valid());
        let mut order: Vec<Turn> = valid.map(|n| merge.turn(n)).collect();
        order.sort_by(|a, b| merge.compare(b, a));
        merge.order = order;
        merge
    }

    fn turn(&self, run: usize) -> Turn {
        Turn { head: head_of(self.cursors[run].entry().0), run }
    }

    fn compare(&self, a: &Turn, b: &Turn) -> Ordering {
        let key = |turn: &Turn| self.cursors[turn.run].entry().0;
        a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))).then_with(|| match self.ties {
            Ties::LaterRunFirst => b.run.cmp(&a.run),
            Ties::EarlierRunFirst => a.run.cmp(&b.run),
        })
    }

    /// Moves to the next entry; false if there is none.
    pub fn advance<R: Borrow<Run>>(&mut self, file: &RunFile, runs: &[R]) -> Result<bool> {
        if let Some(turn) = self.at.take() {
            self.go_on(turn.run, file, runs)?;
        }
        self.at = self.order.pop();
        Ok(self.at.is_some())
    }

    /// Moves a run, which has no turn, to its next entry.
    fn go_on<R: Borrow<Run>>(&mut self, n: usize, file: &RunFile, runs: &[R]) -> Result<()> {
        let Some(run) = runs.get(n) else { return Ok(()) };
        self.cursors[n].next(file, run.borrow())?;
        if self.cursors[n].valid() {
            let turn = self.turn(n);
            let next_is_later = self.order.last().is_none_or(|next| self.compare(&turn, next) == Ordering::Less);
            let at = if next_is_later {
                self.order.len()
            } else {
                self.order.partition_point(|other| self.compare(&turn, other) == Ordering::Less)
            };
            self.order.insert(at, turn);
        }
        Ok(())
    }

    /// Passes the entries of other runs that have the key of this one.
    fn pass_others<R: Borrow<Run>>(&mut self, file: &RunFile, runs: &[R]) -> Result<()> {
        let Some(at) = self.at else { return Ok(()) };
        while let Some(next) = self.order.last().copied()
            && next.head == at.head
            && self.cursors[next.run].entry().0 == self.cursors[at.run].entry().0
        {
            self.order.pop();
            self.go_on(next.run, file, runs)?;
        }
        Ok(())
    }

    /// The entry that it stands on.
    pub fn entry(&self) -> Entry<'_> {
        self.at.map_or((&[], None), |turn| self.cursors[turn.run].entry())
    }
}

/// Keys from `lower` on and below `upper`, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    pub lower: Vec<u8>,
    pub upper: Option<Vec<u8>>,
}

/// Pieces that together are all keys, each with about the same number of the runs' blocks: as many as `count_max`, if they have
/// `blocks_min` or more.
pub fn pieces(runs: &[&Run], blocks_min: usize, count_max: usize) -> Vec<Piece> {
    let mut keys: Vec<&[u8]> = runs.iter().flat_map(|run| run.block_keys()).collect();
    keys.sort_unstable();
    let count = (keys.len() / blocks_min.max(1)).clamp(1, count_max.max(1));
    let mut bounds: Vec<&[u8]> = (1..count).filter_map(|n| keys.get(n * keys.len() / count).copied()).collect();
    bounds.dedup();
    let mut pieces = vec![Piece::default()];
    for bound in bounds {
        if let Some(last) = pieces.last_mut() {
            last.upper = Some(bound.to_vec());
        }
        pieces.push(Piece { lower: bound.to_vec(), upper: None });
    }
    pieces
}

/// What it means that several entries have one key.
#[derive(Clone, Copy)]
pub enum SameKey<'a> {
    /// That of the last run counts, each of which has a key once.
    LastRunCounts,
    /// The merge fails; the smallest such key is put here, with the value of one of the entries.
    Fails(&'a Mutex<Option<(Vec<u8>, Vec<u8>)>>),
}

/// Calls `f` with the entries of all runs in a piece, in order.
pub fn merge(
    file: &RunFile,
    runs: &[&Run],
    piece: &Piece,
    same: SameKey<'_>,
    mut f: impl FnMut(&[u8], Option<&[u8]>) -> Result<()>,
) -> Result<()> {
    let mut merge = Merge::start_at(file, runs, &piece.lower, Ties::LaterRunFirst)?;
    let mut last: Vec<u8> = Vec::new();
    while merge.advance(file, runs)? {
        let (key, write) = merge.entry();
        if piece.upper.as_deref().is_some_and(|upper| key >= upper) {
            break;
        }
        if let SameKey::Fails(found) = same {
            if last == key {
                let mut found = found.lock();
                if found.as_ref().is_none_or(|(other, _)| key < other.as_slice()) {
                    *found = Some((last, write.unwrap_or(&[]).to_vec()));
                }
                return Err(Error::internal("two entries of one key"));
            }
            last.clear();
            last.extend_from_slice(key);
        }
        f(key, write)?;
        if matches!(same, SameKey::LastRunCounts) {
            merge.pass_others(file, runs)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn file() -> (tempfile::TempDir, RunFile) {
        let dir = tempfile::tempdir().unwrap();
        let file = RunFile::create(&dir.path().join("runs"), "0").unwrap();
        (dir, file)
    }

    /// Long values, so that there are several blocks.
    fn write(n: u8) -> Option<Vec<u8>> {
        (n > 0).then(|| vec![n; usize::from(n) * 700])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn runs_are_maps(maps in prop::collection::vec(prop::collection::btree_map(0u8..60, 0u8..20, 0..50), 1..5), pieces_max in 1usize..6) {
            let (_dir, file) = file();
            let mut runs = Vec::new();
            for map in &maps {
                let map: BTreeMap<[u8; 1], _> = map.iter().map(|(k, v)| ([*k], write(*v))).collect();
                runs.push(file.add(map.iter().map(|(k, v)| (k.as_slice(), v.as_deref()))).unwrap());
            }
            for (map, run) in maps.iter().zip(&runs) {
                let mut cursor = RunCursor::start(&file, run).unwrap();
                for k in (0..61).chain([3, 59, 0]) {
                    cursor.seek(&file, run, &[k]).unwrap();
                    let there = map.range(k..).next();
                    prop_assert_eq!(cursor.valid(), there.is_some());
                    if let Some((k, v)) = there {
                        let value = write(*v);
                        prop_assert_eq!(cursor.entry(), (&[*k][..], value.as_deref()));
                        cursor.prev(&file, run).unwrap();
                        prop_assert_eq!(cursor.valid().then(|| cursor.entry().0[0]), map.range(..k).next_back().map(|(k, _)| *k));
                    }
                }
                cursor.seek_to_last(&file, run).unwrap();
                prop_assert_eq!(cursor.valid().then(|| cursor.entry().0[0]), map.keys().next_back().copied());
            }
            let all: BTreeMap<u8, u8> = maps.iter().flatten().map(|(k, v)| (*k, *v)).collect();
            let runs: Vec<&Run> = runs.iter().collect();
            let mut merged = Vec::new();
            for piece in pieces(&runs, 2, pieces_max) {
                merge(&file, &runs, &piece, SameKey::LastRunCounts, |key, value| {
                    merged.push((key[0], value.map(<[u8]>::to_vec)));
                    Ok(())
                }).unwrap();
            }
            prop_assert!(merged.into_iter().eq(all.into_iter().map(|(k, v)| (k, write(v)))));
        }
    }

    #[test]
    fn damage_is_found() {
        let (_dir, file) = file();
        let run = file.add([(&b"k"[..], Some(&b"value"[..]))].into_iter()).unwrap();
        file.file.write_all_at(b"w", HEADER_BYTES as u64 + 1).unwrap();
        assert!(RunCursor::start(&file, &run).is_err());
    }
}
