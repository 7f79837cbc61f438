//! A stretch of an index in memory, and how a scan collects one.

use std::sync::Arc;

use crate::base::invariants::holds;
use crate::base::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::encoding::ids::INDEX_ID_BYTES;

/// A span is complete with so many entries, or bytes of them.
const ENTRIES_MAX: usize = 128;
const BYTES_MAX: usize = 16 << 10;
/// A larger entry is read from its block as fast.
const ENTRY_BYTES_MAX: usize = 4 << 10;

/// Every committed entry of `[lower, upper)`, as any reader between `good_from` and the next change there sees them.
pub struct Span {
    lower: Arc<[u8]>,
    upper: Box<[u8]>,
    pub good_from: u64,
    /// Keys and values in turn.
    bytes: Box<[u8]>,
    entries: Box<[Entry]>,
    /// For the clock, and for who decides whether to keep what changes.
    used: AtomicBool,
    read_lately: AtomicBool,
    gauged: Gauged,
}

/// What a commit has done to an entry of a span.
pub struct Change {
    /// `ANNOUNCED` until it is written.
    pub sequence: u64,
    pub key: Box<[u8]>,
    /// `None`: it is gone.
    pub value: Option<Box<[u8]>>,
}

/// Where an entry is in the bytes of its span: where its key begins, where that ends and its value begins, and where this ends.
#[derive(Clone, Copy)]
struct Entry {
    start: u32,
    value: u32,
    end: u32,
}

impl Entry {
    fn moved(self, from: usize, to: usize) -> Entry {
        let moved = |offset: u32| (offset as usize - from + to) as u32;
        Entry { start: moved(self.start), value: moved(self.value), end: moved(self.end) }
    }
}

impl Change {
    pub fn bytes(&self) -> usize {
        size_of::<Change>() + self.key.len() + self.value.as_ref().map_or(0, |value| value.len())
    }
}

impl Span {
    pub fn lower(&self) -> &Arc<[u8]> {
        &self.lower
    }

    pub fn upper(&self) -> &[u8] {
        &self.upper
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// What it takes.
    pub fn bytes(&self) -> usize {
        self.gauged.bytes
    }

    /// It has grown far beyond what a scan makes.
    pub fn is_long(&self) -> bool {
        self.len() > 2 * ENTRIES_MAX || self.bytes.len() > 2 * BYTES_MAX
    }

    #[inline]
    pub fn entry(&self, n: usize) -> (&[u8], &[u8]) {
        let Some(entry) = self.entries.get(n) else { return (&[], &[]) };
        let (start, value, end) = (entry.start as usize, entry.value as usize, entry.end as usize);
        (self.bytes.get(start..value).unwrap_or(&[]), self.bytes.get(value..end).unwrap_or(&[]))
    }

    /// How many entries come before `key`.
    pub fn position(&self, key: &[u8]) -> usize {
        if key <= &*self.lower {
            return 0;
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.entry(middle).0 < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    pub fn value(&self, key: &[u8]) -> Option<&[u8]> {
        let (found, value) = self.entry(self.position(key));
        (found == key).then_some(value)
    }

    /// SPANS-4.
    pub fn check_invariants(&self) {
        let keys = || (0..self.len()).map(|n| self.entry(n).0);
        holds(keys().zip(keys().skip(1)).all(|(a, b)| a < b), "SPANS-4: the entries of a span ascend");
        holds(
            keys().all(|key| &*self.lower <= key && key < &*self.upper),
            "SPANS-4: the entries of a span are within its bounds",
        );
    }

    /// The span as it is after these changes, which are in the order of their commits.
    pub fn changed<'c>(&self, changes: impl Iterator<Item = &'c Change>, gauge: &Arc<Gauge>) -> Span {
        let mut good_from = self.good_from;
        let mut last: Vec<(&[u8], Option<&[u8]>)> = Vec::new();
        for change in changes {
            good_from = good_from.max(change.sequence);
            let key = &*change.key;
            let value = change.value.as_deref();
            match last.binary_search_by_key(&key, |(key, _)| key) {
                Ok(n) => last[n].1 = value,
                Err(n) => last.insert(n, (key, value)),
            }
        }
        let mut parts = Filler::default();
        let mut next = 0;
        for (key, value) in last {
            let at = self.position(key);
            parts.copy(self, next, at);
            next = at + usize::from(at < self.len() && self.entry(at).0 == key);
            if let Some(value) = value {
                parts.add(key, value);
            }
        }
        parts.copy(self, next, self.len());
        parts.finish(Arc::clone(&self.lower), &self.upper, good_from, gauge)
    }

    /// Where the entry begins, or the last one has ended.
    fn start(&self, n: usize) -> usize {
        self.entries.get(n).map_or(self.bytes.len(), |entry| entry.start as usize)
    }

    /// It was read since the last call.
    pub fn take_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    /// The same for another caller.
    pub fn take_read_lately(&self) -> bool {
        self.read_lately.swap(false, Ordering::Relaxed)
    }

    pub fn note_read(&self) {
        for flag in [&self.used, &self.read_lately] {
            if !flag.load(Ordering::Relaxed) {
                flag.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// The entries that a scan has passed since it was at `lower`, all of them.
#[derive(Default)]
pub struct Filler {
    lower: Vec<u8>,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Filler {
    /// Starts again.
    pub fn begin(&mut self, lower: &[u8]) {
        self.lower.clear();
        self.lower.extend_from_slice(lower);
        self.bytes.clear();
        self.entries.clear();
    }

    pub fn lower(&self) -> &[u8] {
        &self.lower
    }

    pub fn is_full(&self) -> bool {
        self.entries.len() >= ENTRIES_MAX || self.bytes.len() >= BYTES_MAX
    }

    /// False: the entry is too large for a span.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> bool {
        let fits = key.len() + value.len() <= ENTRY_BYTES_MAX;
        if fits {
            self.add(key, value);
        }
        fits
    }

    fn add(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        let at = |offset: usize| offset as u32;
        self.entries.push(Entry { start: at(start), value: at(start + key.len()), end: at(self.bytes.len()) });
    }

    /// Adds entries of a span, from one up to another.
    fn copy(&mut self, span: &Span, from: usize, to: usize) {
        let (start, end) = (span.start(from), span.start(to));
        let base = self.bytes.len();
        let Some(bytes) = span.bytes.get(start..end) else { return };
        self.bytes.extend_from_slice(bytes);
        let entries = span.entries.get(from..to).unwrap_or(&[]);
        self.entries.extend(entries.iter().map(|entry| entry.moved(start, base)));
    }

    /// Leaves out what is not below `upper`.
    fn cut(&mut self, upper: &[u8]) {
        while let Some(last) = self.entries.last() {
            let key = self.bytes.get(last.start as usize..last.value as usize);
            if key.is_some_and(|key| key < upper) {
                return;
            }
            self.bytes.truncate(last.start as usize);
            self.entries.pop();
        }
    }

    /// The span up to `upper`, joined with its neighbours as long as it is small.
    pub fn span(
        &mut self,
        upper: &[u8],
        good_from: u64,
        before: Option<&Span>,
        after: Option<&Span>,
        gauge: &Arc<Gauge>,
    ) -> Span {
        self.cut(upper);
        let fits = |entries: usize, bytes: usize| entries <= ENTRIES_MAX && bytes <= BYTES_MAX;
        let (mut entries, mut bytes) = (self.entries.len(), self.bytes.len());
        let mut joins = |span: &&Span| {
            let joins = fits(entries + span.len(), bytes + span.bytes.len());
            if joins {
                (entries, bytes) = (entries + span.len(), bytes + span.bytes.len());
            }
            joins
        };
        let (before, after) = (before.filter(&mut joins), after.filter(&mut joins));
        if before.is_none() && after.is_none() {
            return self.finish(self.lower.as_slice().into(), upper, good_from, gauge);
        }
        let good_from = before.into_iter().chain(after).map(|span| span.good_from).fold(good_from, u64::max);
        let mut whole = Filler { bytes: Vec::with_capacity(bytes), entries: Vec::with_capacity(entries), ..Filler::default() };
        before.into_iter().for_each(|span| whole.copy(span, 0, span.len()));
        let base = whole.bytes.len();
        whole.bytes.extend_from_slice(&self.bytes);
        whole.entries.extend(self.entries.iter().map(|entry| entry.moved(0, base)));
        after.into_iter().for_each(|span| whole.copy(span, 0, span.len()));
        let lower = before.map_or_else(|| self.lower.as_slice().into(), |span| Arc::clone(&span.lower));
        whole.finish(lower, after.map_or(upper, Span::upper), good_from, gauge)
    }

    fn finish(&self, lower: Arc<[u8]>, upper: &[u8], good_from: u64, gauge: &Arc<Gauge>) -> Span {
        let bytes = size_of::<Span>() + self.bytes.len() + self.entries.len() * size_of::<Entry>() + lower.len() + upper.len();
        Span {
            lower,
            upper: upper.into(),
            good_from,
            bytes: self.bytes.as_slice().into(),
            entries: self.entries.as_slice().into(),
            used: AtomicBool::new(false),
            read_lately: AtomicBool::new(false),
            gauged: Gauged::new(gauge, bytes),
        }
    }
}

/// Bytes that spans take, some of which only readers still hold: those of an index, which count for the cache too.
#[derive(Default)]
pub struct Gauge {
    bytes: AtomicUsize,
    whole: Option<Arc<Gauge>>,
}

/// The share of one span, as long as it lives.
struct Gauged {
    gauge: Arc<Gauge>,
    bytes: usize,
}

impl Gauge {
    pub fn part_of(whole: &Arc<Gauge>) -> Gauge {
        Gauge { bytes: AtomicUsize::new(0), whole: Some(Arc::clone(whole)) }
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn gauges(&self) -> impl Iterator<Item = &Gauge> {
        [Some(self), self.whole.as_deref()].into_iter().flatten()
    }
}

impl Gauged {
    fn new(gauge: &Arc<Gauge>, bytes: usize) -> Gauged {
        for gauge in gauge.gauges() {
            gauge.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Gauged { gauge: Arc::clone(gauge), bytes }
    }
}

impl Drop for Gauged {
    fn drop(&mut self) {
        for gauge in self.gauge.gauges() {
            gauge.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// The first bytes of a key after the index id, as a number: who comes before by it comes before.
pub fn head(key: &[u8]) -> u128 {
    let mut head = [0; 16];
    let tail = key.get(INDEX_ID_BYTES..).unwrap_or(&[]);
    let len = tail.len().min(16);
    head[..len].copy_from_slice(&tail[..len]);
    u128::from_be_bytes(head)
}
