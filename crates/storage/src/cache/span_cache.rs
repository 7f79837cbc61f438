//! What scans have read, ready to be scanned again: a tenth of what RocksDB's iterator takes for an entry.
//!
//! An index is cut into spans where scans went: each holds every committed entry between two keys (`span`). Spans of an
//! index do not overlap. A scan goes from span to span, and through RocksDB where there is none, which makes one.
//!
//! ```text
//! index 7:  [5 … 105)  [105 … 130)            [300 … 400)
//! a scan of 90 … 310:  two spans, then RocksDB from 130, which becomes the span [130 … 300), then the last one
//! ```
//!
//! A span is good for every snapshot from `good_from` on, with the changes since then: a commit that writes a key leaves
//! the new value with the span that holds the key, and a reader applies what his snapshot sees. From time to time the older
//! changes become part of the span, if it was read meanwhile; else it goes.
//!
//! SPANS-1: before a write of a key can be seen by anybody, it is announced (`ANNOUNCED`, later than all snapshots). Until
//! its sequence number is known, a span with such a change is good only for snapshots of before the announcement; and
//! nobody makes a span there of what he has read before.
//!
//! For the latter each index keeps the first bytes of the keys that were changed last. What a scan has read at `at` becomes
//! a span if no change within its bounds is later than `at`. Changes that are no longer kept count as changes of
//! everything (`known_from`), and so do those before the index was scanned first.
//!
//! SPANS-2: what becomes a span `at` a number holds every commit up to that number. With a snapshot this is the snapshot's number,
//! without one `Db::settled_sequence`, asked before the iterator was made. `latest_sequence` may be the number of files that the
//! iterator does not see yet (ROCKS-5).
//!
//! SPANS-3: changes have the number under which RocksDB wrote them, not a later one (ROCKS-4), or a snapshot between the two
//! numbers would not see them here.
//!
//! SPANS-4: the spans of an index do not overlap, and each is found by its lower bound. The entries of a span ascend and lie within
//! its bounds.
//!
//! SPANS-5: between two groups nothing is announced.
//!
//! When the bytes are used up, CLOCK takes spans that were not read lately.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use hashbrown::HashMap;

use super::span::{Filler, Gauge, Span};
use super::span_index::{IndexPrefix, IndexSpans};
use super::uses::{CacheUses, UseCounter};
use crate::base::invariants::CHECKED_MAX;
use crate::base::sync::atomic::{AtomicUsize, Ordering};
use crate::base::sync::{Mutex, RwLock};
use crate::encoding::ids::INDEX_ID_BYTES;

/// A scan takes one part in so many from others.
const SCAN_SHARE: usize = 8;
/// Spans that are gone leave the clock when there are so many times as many places as live spans were at the last count.
const CLOCK_SLACK: usize = 2;
const CLOCK_MIN: usize = 1024;

pub struct SpanCache {
    indexes: RwLock<HashMap<IndexPrefix, Arc<IndexSpans>>>,
    flight: Mutex<Flight>,
    clock: Mutex<Clock>,
    gauge: Arc<Gauge>,
    /// Of indexes that are not here any more.
    uses_before: UseCounter,
    bytes_max: AtomicUsize,
}

/// The group of commits that is being written.
#[derive(Default)]
struct Flight {
    /// Its writes may be seen at any moment.
    announced: bool,
    /// The indexes that it changes, and those that were scanned first meanwhile.
    touched: Vec<Arc<IndexSpans>>,
}

#[derive(Default)]
struct Clock {
    places: VecDeque<(Weak<IndexSpans>, Weak<Span>)>,
    /// Places at which those of spans that are gone are given up.
    places_max: usize,
}

impl SpanCache {
    /// Keeps nothing if `bytes_max` is 0.
    pub fn new(bytes_max: usize) -> SpanCache {
        SpanCache {
            indexes: RwLock::default(),
            flight: Mutex::default(),
            clock: Mutex::default(),
            gauge: Arc::default(),
            uses_before: UseCounter::default(),
            bytes_max: AtomicUsize::new(bytes_max),
        }
    }

    fn bytes_max(&self) -> usize {
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// What is too much afterwards goes. A cache that is off stays off.
    pub fn set_bytes_max(&self, bytes: usize) {
        if !self.is_off() {
            self.bytes_max.store(bytes.max(1), Ordering::Relaxed);
            self.evict();
        }
    }

    /// What the spans take.
    pub fn bytes(&self) -> usize {
        self.gauge.bytes()
    }

    /// Where scans found a span, and where they went through RocksDB.
    pub fn uses(&self) -> CacheUses {
        let indexes = self.indexes.read();
        indexes.values().map(|index| index.uses.get()).chain([self.uses_before.get()]).sum()
    }

    pub fn is_off(&self) -> bool {
        self.bytes_max() == 0
    }

    /// The spans of the index that the key is of. From then on its changes are kept.
    pub fn index(&self, key: &[u8], latest_sequence: impl FnOnce() -> u64) -> Option<Arc<IndexSpans>> {
        let prefix = *key.first_chunk()?;
        if let Some(index) = self.indexes.read().get(&prefix) {
            return Some(Arc::clone(index));
        }
        let mut indexes = self.indexes.write();
        let index = Arc::clone(indexes.entry(prefix).or_insert_with(|| Arc::new(IndexSpans::new(prefix, &self.gauge))));
        drop(indexes);
        // A group that was announced before it could be seen here may not have told the index what it changes.
        let mut flight = self.flight.lock();
        if flight.announced {
            flight.touched.push(Arc::clone(&index));
        } else {
            index.settle(latest_sequence(), true);
        }
        Some(index)
    }

    /// Whether the key exists for a reader at `at`, and its value in `buf` if so; `None` if no span knows.
    pub fn get(&self, key: &[u8], at: u64, buf: &mut Vec<u8>) -> Option<bool> {
        let index = Arc::clone(self.indexes.read().get(key.first_chunk::<INDEX_ID_BYTES>()?)?);
        index.get(key, at, buf)
    }

    /// Nobody reads the index any more.
    pub fn forget(&self, key: &[u8]) {
        let index = key.first_chunk::<INDEX_ID_BYTES>().and_then(|prefix| self.indexes.write().remove(prefix));
        if let Some(index) = index {
            self.uses_before.add(index.uses.get());
            index.forget();
        }
    }

    /// Indexes without spans need not know what changes.
    pub fn forget_unused(&self) {
        self.indexes.write().retain(|_, index| {
            let is_gone = index.forget_if_unused();
            if is_gone {
                self.uses_before.add(index.uses.get());
            }
            !is_gone
        });
    }

    /// SPANS-1, of what a group writes after the commit with this sequence number.
    pub fn announce<'k>(&self, writes: impl Iterator<Item = (&'k [u8], Option<&'k [u8]>)>, after: u64) {
        let mut flight = self.flight.lock();
        flight.announced = true;
        let indexes = self.indexes.read();
        if indexes.is_empty() {
            return;
        }
        let mut last: Option<&Arc<IndexSpans>> = None;
        for (key, value) in writes {
            if last.is_none_or(|index| !index.is_of(key)) {
                let found = key.first_chunk::<INDEX_ID_BYTES>().and_then(|prefix| indexes.get(prefix));
                let Some(index) = found else { continue };
                if !flight.touched.iter().any(|touched| Arc::ptr_eq(touched, index)) {
                    flight.touched.push(Arc::clone(index));
                }
                last = Some(index);
            }
            if let Some(index) = last
                && let Some(renewed) = index.announce(key, value, after)
            {
                self.clock.lock().add(index, &renewed);
            }
        }
    }

    /// SPANS-1, looked at when the group is about to be written.
    pub fn check_announced<'k>(&self, writes: impl Iterator<Item = (&'k [u8], Option<&'k [u8]>)>) {
        let touched = &self.flight.lock().touched;
        for (key, _) in writes.take(CHECKED_MAX) {
            if let Some(index) = touched.iter().find(|index| index.is_of(key)) {
                index.check_announced(key);
            }
        }
    }

    /// The same of a group that may change everything.
    pub fn announce_all(&self) {
        let mut flight = self.flight.lock();
        flight.announced = true;
        for index in self.indexes.read().values() {
            index.announce_all();
            flight.touched.push(Arc::clone(index));
        }
    }

    /// What was announced is written, the last of it with this sequence number, or was refused and nothing was written.
    pub fn note(&self, sequence: u64, written: bool) {
        let mut flight = self.flight.lock();
        flight.announced = false;
        flight.touched.drain(..).for_each(|index| index.settle(sequence, written));
    }

    /// Makes a span of what was read at `at` from the filler's lower bound up to `upper`. Bytes that it takes.
    pub fn put(&self, index: &Arc<IndexSpans>, filler: &mut Filler, upper: &[u8], at: u64) -> usize {
        let Some(span) = index.put(filler, upper, at) else { return 0 };
        self.clock.lock().add(index, &span);
        self.evict();
        span.bytes()
    }

    /// A scan that has added so many bytes may add more: it fills what is free, and a part of what others use.
    pub fn takes_more(&self, added_bytes: usize) -> bool {
        added_bytes < self.bytes_max() / SCAN_SHARE || self.bytes() < self.bytes_max() / SCAN_SHARE * (SCAN_SHARE - 1)
    }

    /// Bytes that are free, or taken by the index that the key is of.
    pub fn room_for(&self, key: &[u8]) -> usize {
        let indexes = self.indexes.read();
        let index = key.first_chunk::<INDEX_ID_BYTES>().and_then(|prefix| indexes.get(prefix));
        (self.bytes_max() + index.map_or(0, |index| index.bytes())).saturating_sub(self.bytes())
    }

    fn evict(&self) {
        while self.bytes() > self.bytes_max() {
            let mut clock = self.clock.lock();
            let Some((index, span)) = clock.places.pop_front() else { return };
            let (Some(index), Some(span)) = (index.upgrade(), span.upgrade()) else { continue };
            if span.take_used() {
                clock.places.push_back((Arc::downgrade(&index), Arc::downgrade(&span)));
            } else {
                index.remove(&span);
            }
        }
    }
}

impl Clock {
    fn add(&mut self, index: &Arc<IndexSpans>, span: &Arc<Span>) {
        if self.places.len() > self.places_max.max(CLOCK_MIN) {
            self.places.retain(|(_, span)| span.strong_count() > 0);
            self.places_max = CLOCK_SLACK * self.places.len();
        }
        self.places.push_back((Arc::downgrade(index), Arc::downgrade(span)));
    }
}
