//! Rows that were read by key, ready to be read again: a tenth of what RocksDB takes for a get from its block cache.
//!
//! A row is kept with the commit up to which it was read, `read_at`. A reader who reads at `at` may have it if the key has
//! certainly not changed between the two: `cache::recent` has no later change of it than the earlier of them.
//! So nothing is ever invalidated; a row that changed is found to be too old, and replaced when it is read again.
//!
//! ```text
//! commit 5 writes k; commit 9 writes k
//! kept at 7: good for a reader at 6, 7 or 8; not at 4 (changed by 5 since), not at 9
//! ```
//!
//! ROWS-1: `Recent` says that a key may change before a write of it can be seen by anybody, so that no reader has an old
//! row from here after a new one from RocksDB (`Pipeline::announce`).
//!
//! ROWS-2: `read_at` is not later than what the reader certainly saw (`Seen::settled`), or a row would be taken for newer than it
//! is. This once made a row stay that a commit by files had changed, when it was read while RocksDB had given the files their
//! number and not yet shown them (`rocks`, ROCKS-5).
//!
//! ROWS-3: a shard finds each of its rows by its key, once; its bytes are those of its rows, and within its share.
//!
//! Each shard has its share of the bytes, and when they are used up its CLOCK takes rows that were not read lately.

use hashbrown::HashTable;

use super::recent::Recent;
use super::uses::CacheUses;
use crate::base::invariants::{CHECKED, CHECKED_MAX, holds};
use crate::base::sync::atomic::{AtomicUsize, Ordering};
use crate::base::sync::{Mutex, ROW_SHARDS as SHARDS};

/// Larger rows cost little more from their block.
const ROW_BYTES_MAX: usize = 4 << 10;
/// What a row takes beside its key and value.
const ENTRY_BYTES: usize = size_of::<Entry>() + 8;

pub struct RowCache {
    shards: Box<[Mutex<Shard>]>,
    shard_bytes_max: AtomicUsize,
}

#[derive(Default)]
struct Shard {
    /// Numbers of entries, by the hash of their keys.
    index: HashTable<u32>,
    entries: Vec<Entry>,
    bytes: usize,
    hand: usize,
    uses: CacheUses,
}

struct Entry {
    hash: u64,
    read_at: u64,
    key_bytes: u32,
    /// It was read since the hand passed.
    used: bool,
    /// The key, then the value.
    row: Box<[u8]>,
}

impl Entry {
    fn key(&self) -> &[u8] {
        &self.row[..self.key_bytes as usize]
    }

    fn bytes(&self) -> usize {
        self.row.len() + ENTRY_BYTES
    }
}

impl RowCache {
    /// Keeps nothing if `bytes` are 0.
    pub fn new(bytes: usize) -> RowCache {
        RowCache { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), shard_bytes_max: AtomicUsize::new(bytes / SHARDS) }
    }

    /// What is too much afterwards goes.
    pub fn set_bytes_max(&self, bytes: usize) {
        self.shard_bytes_max.store(bytes / SHARDS, Ordering::Relaxed);
        self.shards.iter().for_each(|shard| shard.lock().shrink(bytes / SHARDS));
    }

    fn shard_bytes_max(&self) -> usize {
        self.shard_bytes_max.load(Ordering::Relaxed)
    }

    /// What all rows take.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().bytes).sum()
    }

    pub fn uses(&self) -> CacheUses {
        self.shards.iter().map(|shard| shard.lock().uses).sum()
    }

    fn shard(&self, hash: u64) -> &Mutex<Shard> {
        &self.shards[(hash >> 56) as usize % self.shards.len()]
    }

    /// Copies the value of `key`, whose hash is given, into `buf` if it is here and good.
    fn get(&self, key: &[u8], hash: u64, buf: &mut Vec<u8>, is_good: impl FnOnce(u64) -> bool) -> bool {
        let mut shard = self.shard(hash).lock();
        let Shard { index, entries, uses, .. } = &mut *shard;
        let found = index.find(hash, |&n| entries[n as usize].key() == key);
        let Some(entry) = found.map(|&number| &mut entries[number as usize]).filter(|entry| is_good(entry.read_at)) else {
            uses.misses += 1;
            return false;
        };
        uses.hits += 1;
        entry.used = true;
        buf.clear();
        buf.extend_from_slice(&entry.row[entry.key_bytes as usize..]);
        true
    }

    /// Keeps a value that was read at `read_at` or later.
    fn put(&self, key: &[u8], hash: u64, read_at: u64, value: &[u8]) {
        let bytes = key.len() + value.len();
        if bytes > ROW_BYTES_MAX || bytes + ENTRY_BYTES > self.shard_bytes_max() {
            return;
        }
        let mut row = Vec::with_capacity(bytes);
        row.extend_from_slice(key);
        row.extend_from_slice(value);
        let row = row.into_boxed_slice();
        let entry = Entry { hash, read_at, key_bytes: key.len() as u32, used: false, row };
        self.shard(hash).lock().put(entry, self.shard_bytes_max());
    }
}

/// Which commits a reader sees: all up to `settled`, none after `latest`. They differ without a snapshot (`rocks`, ROCKS-5).
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub settled: u64,
    pub latest: u64,
}

impl Seen {
    /// Through a snapshot.
    pub fn at(sequence: u64) -> Seen {
        Seen { settled: sequence, latest: sequence }
    }
}

/// A key that is about to be read.
pub struct CachedRow<'a> {
    rows: &'a RowCache,
    recent: &'a Recent,
    key: &'a [u8],
    hash: u64,
    seen: Seen,
    keeps: bool,
}

impl<'a> CachedRow<'a> {
    /// What is read is kept if `keeps`.
    pub fn new(rows: &'a RowCache, recent: &'a Recent, key: &'a [u8], seen: Seen, keeps: bool) -> CachedRow<'a> {
        CachedRow { rows, recent, key, hash: crate::encoding::key_hash(key), seen, keeps }
    }

    pub fn get(&self, buf: &mut Vec<u8>) -> bool {
        self.rows
            .get(self.key, self.hash, buf, |read_at| !self.recent.hash_may_be_after(self.hash, read_at.min(self.seen.settled)))
    }

    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    /// What the reader sees is of this commit or an earlier one.
    pub fn not_after(&self) -> u64 {
        self.seen.latest
    }

    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// Somebody may have changed the key since the reader began.
    pub fn may_have_changed(&self) -> bool {
        self.recent.hash_may_be_after(self.hash, self.seen.settled)
    }

    /// The reader found this value.
    pub fn keep(&self, value: &[u8]) {
        if self.keeps {
            self.rows.put(self.key, self.hash, self.seen.settled, value);
        }
    }
}

impl Shard {
    fn put(&mut self, entry: Entry, bytes_max: usize) {
        let entries = &mut self.entries;
        if let Some(&number) = self.index.find(entry.hash, |&n| entries[n as usize].key() == entry.key()) {
            let old = &mut entries[number as usize];
            if old.read_at < entry.read_at {
                self.bytes = self.bytes - old.bytes() + entry.bytes();
                *old = entry;
            }
        } else {
            self.bytes += entry.bytes();
            self.index.insert_unique(entry.hash, entries.len() as u32, |&n| entries[n as usize].hash);
            entries.push(entry);
        }
        self.shrink(bytes_max);
        if CHECKED && self.entries.len() <= CHECKED_MAX {
            self.check_invariants(bytes_max);
        }
    }

    fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max {
            self.evict();
        }
    }

    fn check_invariants(&self, bytes_max: usize) {
        let found = |(n, entry): (usize, &Entry)| self.index.find(entry.hash, |&m| m as usize == n).is_some();
        holds(self.entries.iter().enumerate().all(found), "ROWS-3: a row is found by its key");
        holds(self.index.len() == self.entries.len(), "ROWS-3: a row is found once");
        holds(self.bytes == self.entries.iter().map(Entry::bytes).sum(), "ROWS-3: the bytes of a shard are those of its rows");
        holds(self.bytes <= bytes_max, "ROWS-3: a shard keeps within its share");
    }

    /// Removes a row that was not read since the hand passed it last.
    fn evict(&mut self) {
        loop {
            if self.hand >= self.entries.len() {
                self.hand = 0;
            }
            let Some(entry) = self.entries.get_mut(self.hand) else { return self.bytes = 0 };
            if !std::mem::take(&mut entry.used) {
                break;
            }
            self.hand += 1;
        }
        let (gone, last) = (self.hand as u32, self.entries.len() as u32 - 1);
        self.renumber(gone, None);
        if gone != last {
            self.renumber(last, Some(gone));
        }
        let entry = self.entries.swap_remove(self.hand);
        self.bytes -= entry.bytes();
    }

    /// What the index knows under one number it knows under another, or not at all.
    fn renumber(&mut self, number: u32, to: Option<u32>) {
        let Some(entry) = self.entries.get(number as usize) else { return };
        if let Ok(mut found) = self.index.find_entry(entry.hash, |&n| n == number) {
            match to {
                Some(to) => *found.get_mut() = to,
                None => drop(found.remove()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u64) -> u64 {
        n.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn get(cache: &RowCache, n: u64, good_at: u64) -> Option<Vec<u8>> {
        let mut buf = vec![9; 3];
        cache.get(&n.to_be_bytes(), hash(n), &mut buf, |read_at| read_at >= good_at).then_some(buf)
    }

    #[test]
    fn the_newest_read_stays() {
        let cache = RowCache::new(1 << 20);
        assert_eq!(get(&cache, 1, 0), None);
        cache.put(&1u64.to_be_bytes(), hash(1), 5, b"five");
        cache.put(&1u64.to_be_bytes(), hash(1), 4, b"four");
        assert_eq!(get(&cache, 1, 5).as_deref(), Some(&b"five"[..]));
        assert_eq!(get(&cache, 1, 6), None);
        cache.put(&1u64.to_be_bytes(), hash(1), 6, b"six");
        assert_eq!(get(&cache, 1, 6).as_deref(), Some(&b"six"[..]));
    }

    #[test]
    fn rows_make_room_for_others_within_the_bytes() {
        let cache = RowCache::new(SHARDS * 4096);
        for n in 0..10_000u64 {
            cache.put(&n.to_be_bytes(), hash(n), n, &n.to_le_bytes());
            if n % 7 == 0 {
                // What is read again stays longest.
                let _ = get(&cache, 3, 0);
            }
        }
        assert_eq!(get(&cache, 3, 0).as_deref(), Some(&3u64.to_le_bytes()[..]));
        let mut rows = 0;
        for n in 0..10_000u64 {
            if let Some(value) = get(&cache, n, 0) {
                assert_eq!(value, n.to_le_bytes());
                rows += 1;
            }
        }
        assert!((1000..6000).contains(&rows), "{rows}");
        for shard in &cache.shards {
            shard.lock().check_invariants(4096);
        }
        RowCache::new(0).put(b"k", 1, 1, b"v");
    }
}
