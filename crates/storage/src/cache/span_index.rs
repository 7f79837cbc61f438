//! The spans of an index, in the order of their keys, and what it knows of changes (`span_cache` says how these go together).

use std::borrow::Borrow;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::recent::ANNOUNCED;
use super::span::{Change, Filler, Gauge, Span, head};
use super::uses::UseCounter;
use crate::base::invariants::{CHECKED, CHECKED_MAX, holds};
use crate::base::sync::{CHANGES_KEPT, RwLock};
use crate::encoding::ids::INDEX_ID_BYTES;

/// Changed keys that are looked at, of those that a scan has seen, to find how long a span has been as it is.
const HEADS_LOOKED_AT: usize = 64;
/// A span with more changes, or bytes of them, takes some in, or goes.
const CHANGES_MAX: usize = 16;
const CHANGE_BYTES_MAX: usize = 4 << 10;

pub type IndexPrefix = [u8; INDEX_ID_BYTES];

/// The spans of an index.
pub struct IndexSpans {
    prefix: IndexPrefix,
    gauge: Arc<Gauge>,
    /// Beside the lock, which a reader has in its core's cache anyhow.
    pub uses: UseCounter,
    state: RwLock<State>,
}

struct State {
    /// By their lower bounds.
    spans: BTreeMap<LowerBound, Kept>,
    /// In the order of their commits.
    heads: VecDeque<ChangedHead>,
    /// Every later change is among `heads`.
    known_from: u64,
    /// Where spans with announced changes begin, if they are still there.
    announced: Vec<Arc<[u8]>>,
    /// It is not told of changes any more: a scan that still knows it makes no spans.
    is_forgotten: bool,
}

/// A key that was changed, by its first bytes.
struct ChangedHead {
    head: u128,
    sequence: u64,
}

/// What has changed in a span, in the order of the commits.
struct Changes {
    list: Vec<Change>,
    bytes: usize,
    /// Later snapshots may see what is announced.
    certain_to: u64,
}

impl Default for Changes {
    fn default() -> Changes {
        Changes { list: Vec::new(), bytes: 0, certain_to: ANNOUNCED }
    }
}

/// A span as it is kept.
struct Kept {
    span: Arc<Span>,
    changes: Changes,
}

struct LowerBound {
    head: u128,
    key: Arc<[u8]>,
}

/// Where a span may begin.
trait Lower {
    fn head(&self) -> u128;
    fn key(&self) -> &[u8];
}

impl Lower for LowerBound {
    fn head(&self) -> u128 {
        self.head
    }

    fn key(&self) -> &[u8] {
        &self.key
    }
}

struct At<'a> {
    head: u128,
    key: &'a [u8],
}

impl<'a> At<'a> {
    fn new(key: &'a [u8]) -> At<'a> {
        At { head: head(key), key }
    }
}

impl Lower for At<'_> {
    fn head(&self) -> u128 {
        self.head
    }

    fn key(&self) -> &[u8] {
        self.key
    }
}

impl<'a> Borrow<dyn Lower + 'a> for LowerBound {
    fn borrow(&self) -> &(dyn Lower + 'a) {
        self
    }
}

impl Ord for dyn Lower + '_ {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.head().cmp(&other.head()).then_with(|| self.key().cmp(other.key()))
    }
}

impl PartialOrd for dyn Lower + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Lower + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for dyn Lower + '_ {}

impl Ord for LowerBound {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let (a, b): (&dyn Lower, &dyn Lower) = (self, other);
        a.cmp(b)
    }
}

impl PartialOrd for LowerBound {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for LowerBound {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for LowerBound {}

/// What a scan finds where it is.
pub enum Found {
    Span(Arc<Span>),
    /// Nothing up to the next span, if there is one.
    Gap(Option<Arc<Span>>),
    /// A span of a later time.
    Later(Arc<Span>),
}

impl IndexSpans {
    pub fn new(prefix: IndexPrefix, all: &Arc<Gauge>) -> IndexSpans {
        let state = State {
            spans: BTreeMap::new(),
            heads: VecDeque::new(),
            known_from: ANNOUNCED,
            announced: Vec::new(),
            is_forgotten: false,
        };
        IndexSpans { prefix, gauge: Arc::new(Gauge::part_of(all)), uses: UseCounter::default(), state: RwLock::new(state) }
    }

    /// What its spans take.
    pub fn bytes(&self) -> usize {
        self.gauge.bytes()
    }

    pub fn is_of(&self, key: &[u8]) -> bool {
        key.starts_with(&self.prefix)
    }

    /// All keys of `[lower, upper)` are of this index.
    pub fn covers(&self, lower: &[u8], upper: &[u8]) -> bool {
        let end = u32::from_be_bytes(self.prefix).wrapping_add(1).to_be_bytes();
        lower.starts_with(&self.prefix) && (upper.starts_with(&self.prefix) || upper == end)
    }

    /// Some span holds the key.
    pub fn holds(&self, key: &[u8]) -> bool {
        self.state.read().up_to(&At::new(key)).is_some_and(|kept| key < kept.span.upper())
    }

    /// Some span holds what is just below the key.
    pub fn holds_below(&self, key: &[u8]) -> bool {
        self.state.read().below(&self.end(key)).is_some_and(|kept| kept.ends_at_or_after(key))
    }

    /// What is at `key`, for a reader at `at`.
    pub fn find(&self, key: &[u8], at: u64) -> Found {
        let state = self.state.read();
        let place = At::new(key);
        if let Some(kept) = state.up_to(&place).filter(|kept| key < kept.span.upper()) {
            let seen = kept.seen(at);
            self.uses.count(seen.is_some());
            return seen.map_or_else(|| Found::Later(Arc::clone(&kept.span)), Found::Span);
        }
        self.uses.count(false);
        Found::Gap(state.above(&place).map(|kept| Arc::clone(&kept.span)))
    }

    /// Whether the key exists for a reader at `at`, and its value in `buf` if so; `None` if that is not known here.
    pub fn get(&self, key: &[u8], at: u64, buf: &mut Vec<u8>) -> Option<bool> {
        let state = self.state.read();
        let kept = state.up_to(&At::new(key)).filter(|kept| key < kept.span.upper() && kept.is_certain(at))?;
        let change = kept.changes.list.iter().rev().find(|change| change.sequence <= at && *change.key == *key);
        let value = match change {
            Some(change) => change.value.as_deref(),
            None => kept.span.value(key),
        };
        // Who inserts a row looks whether it exists, which is no reason to keep the span.
        if let Some(value) = value {
            kept.span.note_read();
            buf.clear();
            buf.extend_from_slice(value);
        }
        Some(value.is_some())
    }

    /// The span that ends at `key` or holds what is just below it, for a reader at `at`.
    pub fn find_below(&self, key: &[u8], at: u64) -> Option<Arc<Span>> {
        let state = self.state.read();
        let kept = state.below(&self.end(key))?;
        let seen = if kept.ends_at_or_after(key) { kept.seen(at) } else { None };
        self.uses.count(seen.is_some());
        seen
    }

    /// A span that has taken the place of one with too many changes.
    pub fn announce(&self, key: &[u8], value: Option<&[u8]>, after: u64) -> Option<Arc<Span>> {
        let place = At::new(key);
        let mut state = self.state.write();
        let State { spans, heads, known_from, announced, .. } = &mut *state;
        heads.push_back(ChangedHead { head: place.head, sequence: ANNOUNCED });
        if heads.len() > CHANGES_KEPT {
            let oldest = heads.pop_front().map_or(0, |changed| changed.sequence);
            *known_from = (*known_from).max(oldest);
        }
        let bounds: (Bound<&dyn Lower>, Bound<&dyn Lower>) = (Bound::Unbounded, Bound::Included(&place));
        let (_, kept) = spans.range_mut::<dyn Lower, _>(bounds).next_back()?;
        if key >= kept.span.upper() {
            return None;
        }
        let renewed = if kept.changes.takes(key, value) { None } else { kept.renew(&self.gauge) };
        if !kept.changes.takes(key, value) {
            let lower = Arc::clone(kept.span.lower());
            state.remove(&lower);
            return None;
        }
        if kept.changes.certain_to == ANNOUNCED {
            kept.changes.certain_to = after;
            announced.push(Arc::clone(kept.span.lower()));
        }
        kept.changes.add(key, value);
        renewed
    }

    /// SPANS-1, of a key that the group writes: no span shows it as it was to later snapshots, and none can be made.
    pub fn check_announced(&self, key: &[u8]) {
        let place = At::new(key);
        let state = self.state.read();
        let kept = state.up_to(&place).filter(|kept| key < kept.span.upper());
        holds(
            kept.is_none_or(|kept| kept.changes.list.iter().any(|change| *change.key == *key && change.sequence == ANNOUNCED)),
            "SPANS-1: a span that holds a key that is about to be written has its change, announced",
        );
        let told = state.heads.iter().rev().take_while(|changed| changed.sequence == ANNOUNCED);
        holds(
            state.known_from == ANNOUNCED || told.into_iter().any(|changed| changed.head == place.head),
            "SPANS-1: nobody makes a span of what was read before a key there was announced",
        );
    }

    /// A group may change everything.
    pub fn announce_all(&self) {
        let mut state = self.state.write();
        state.known_from = ANNOUNCED;
        state.heads.clear();
        state.spans.clear();
    }

    /// It will not be told of changes any more.
    pub fn forget(&self) {
        let mut state = self.state.write();
        state.spans.clear();
        state.is_forgotten = true;
    }

    /// The same if it has no spans, and whether that is so.
    pub fn forget_if_unused(&self) -> bool {
        let mut state = self.state.write();
        state.is_forgotten = state.spans.is_empty();
        state.is_forgotten
    }

    /// What is announced was written by the commit with this sequence number, or not at all.
    pub fn settle(&self, sequence: u64, written: bool) {
        let mut state = self.state.write();
        let State { spans, heads, known_from, announced, .. } = &mut *state;
        if *known_from == ANNOUNCED {
            *known_from = sequence;
        }
        heads.iter_mut().rev().take_while(|c| c.sequence == ANNOUNCED).for_each(|c| c.sequence = sequence);
        if CHECKED {
            let last = heads.iter().rev().take(2).map(|changed| changed.sequence);
            holds(
                last.is_sorted_by(|later, earlier| later >= earlier),
                "SPANS-3: changes have the numbers of their commits, which ascend",
            );
        }
        for lower in announced.drain(..) {
            let lower: &dyn Lower = &At::new(&lower);
            if let Some(kept) = spans.get_mut(lower) {
                kept.changes.settle(sequence, written);
            }
        }
        if CHECKED {
            holds(heads.iter().all(|changed| changed.sequence != ANNOUNCED), "SPANS-5: no changed key is announced");
            state.check_invariants();
        }
    }

    pub fn put(&self, filler: &mut Filler, upper: &[u8], at: u64) -> Option<Arc<Span>> {
        let mut state = self.state.write();
        let place = At::new(filler.lower());
        let before = state.up_to(&place);
        if state.is_forgotten || before.is_some_and(|kept| place.key < kept.span.upper()) {
            return None;
        }
        let after = state.above(&place);
        let upper = after.map_or(upper, |kept| upper.min(kept.span.lower()));
        if place.key >= upper {
            return None;
        }
        let upper: Box<[u8]> = upper.into();
        let good_from = state.unchanged_from(place.head, self.end(&upper).head, at)?;
        // Neighbours that have not changed can be joined.
        let unchanged = |kept: &Kept| kept.changes.list.is_empty().then(|| Arc::clone(&kept.span));
        let before = before.and_then(unchanged).filter(|span| span.upper() == place.key);
        let after = after.and_then(unchanged).filter(|span| **span.lower() == *upper);
        if CHECKED {
            holds(at != ANNOUNCED && good_from <= at, "SPANS-2: a span holds every commit up to the number that it was read at");
        }
        let span = Arc::new(filler.span(&upper, good_from, before.as_deref(), after.as_deref(), &self.gauge));
        let joined = |old: &&Arc<Span>| old.lower() >= span.lower() && **old.lower() < *span.upper();
        before.iter().chain(&after).filter(joined).for_each(|old| state.remove(old.lower()));
        let lower = LowerBound { head: head(span.lower()), key: Arc::clone(span.lower()) };
        state.spans.insert(lower, Kept { span: Arc::clone(&span), changes: Changes::default() });
        if CHECKED {
            span.check_invariants();
            state.check_invariants();
        }
        Some(span)
    }

    /// The upper bound of a range, which may be the first key of the next index.
    fn end<'k>(&self, key: &'k [u8]) -> At<'k> {
        if key.starts_with(&self.prefix) { At::new(key) } else { At { head: u128::MAX, key } }
    }

    /// Takes this span out, and no other that has its place.
    pub fn remove(&self, span: &Arc<Span>) {
        let mut state = self.state.write();
        let lower: &dyn Lower = &At::new(span.lower());
        if state.spans.get(lower).is_some_and(|kept| Arc::ptr_eq(&kept.span, span)) {
            state.remove(span.lower());
        }
    }
}

impl State {
    /// SPANS-4, as far as there are not too many of them.
    fn check_invariants(&self) {
        if self.spans.len() > CHECKED_MAX {
            return;
        }
        let mut end: &[u8] = &[];
        for (lower, kept) in &self.spans {
            holds(lower.key == *kept.span.lower(), "SPANS-4: a span is found by its lower bound");
            holds(end <= &*lower.key && *lower.key < *kept.span.upper(), "SPANS-4: spans of an index do not overlap");
            end = kept.span.upper();
            let ascend = kept.changes.list.is_sorted_by_key(|change| change.sequence);
            holds(ascend, "SPANS-3: changes have the numbers of their commits, which ascend");
        }
    }

    /// The last span that begins at or before a key.
    fn up_to(&self, key: &At<'_>) -> Option<&Kept> {
        self.last_in((Bound::Unbounded, Bound::Included(key)))
    }

    /// The last span that begins before a key.
    fn below(&self, key: &At<'_>) -> Option<&Kept> {
        self.last_in((Bound::Unbounded, Bound::Excluded(key)))
    }

    fn last_in(&self, bounds: (Bound<&dyn Lower>, Bound<&dyn Lower>)) -> Option<&Kept> {
        self.spans.range::<dyn Lower, _>(bounds).next_back().map(|(_, kept)| kept)
    }

    /// The first span that begins after a key.
    fn above(&self, key: &At<'_>) -> Option<&Kept> {
        let bounds: (Bound<&dyn Lower>, Bound<&dyn Lower>) = (Bound::Excluded(key), Bound::Unbounded);
        self.spans.range::<dyn Lower, _>(bounds).next().map(|(_, kept)| kept)
    }

    fn remove(&mut self, lower: &[u8]) {
        let lower: &dyn Lower = &At::new(lower);
        self.spans.remove(lower);
    }

    /// A commit since which nothing has changed between the heads; `None` if something has after `at`.
    fn unchanged_from(&self, lower: u128, upper: u128, at: u64) -> Option<u64> {
        let mut from = self.known_from;
        for (n, changed) in self.heads.iter().rev().enumerate() {
            if (lower..=upper).contains(&changed.head) || (n >= HEADS_LOOKED_AT && changed.sequence <= at) {
                from = from.max(changed.sequence);
                break;
            }
        }
        (from <= at).then_some(from)
    }
}

impl Kept {
    fn ends_at_or_after(&self, key: &[u8]) -> bool {
        key <= self.span.upper()
    }

    /// What a reader at `at` sees is known.
    fn is_certain(&self, at: u64) -> bool {
        self.span.good_from <= at && at <= self.changes.certain_to
    }

    /// The span as a reader at `at` sees it, if that is certain.
    fn seen(&self, at: u64) -> Option<Arc<Span>> {
        let Kept { span, changes } = self;
        if !self.is_certain(at) {
            return None;
        }
        let seen = changes.list.iter().take_while(|change| change.sequence <= at).count();
        if seen == 0 {
            return Some(Arc::clone(span));
        }
        span.note_read();
        Some(Arc::new(span.changed(changes.list.iter().take(seen), &Arc::default())))
    }

    /// Takes the older half of the changes into the span, if it was read since the last time.
    fn renew(&mut self, gauge: &Arc<Gauge>) -> Option<Arc<Span>> {
        if !self.span.take_read_lately() || self.span.is_long() {
            return None;
        }
        self.span = Arc::new(self.span.changed(self.changes.take_older().iter(), gauge));
        Some(Arc::clone(&self.span))
    }
}

impl Changes {
    /// There is room for one more.
    fn takes(&self, key: &[u8], value: Option<&[u8]>) -> bool {
        self.list.len() < CHANGES_MAX && self.bytes + key.len() + value.map_or(0, <[u8]>::len) <= CHANGE_BYTES_MAX
    }

    fn add(&mut self, key: &[u8], value: Option<&[u8]>) {
        let change = Change { sequence: ANNOUNCED, key: key.into(), value: value.map(Box::from) };
        self.bytes += change.bytes();
        self.list.push(change);
    }

    /// The older half of the changes, as far as they are written.
    fn take_older(&mut self) -> Vec<Change> {
        let written = self.list.iter().take_while(|change| change.sequence != ANNOUNCED).count();
        let old: Vec<Change> = self.list.drain(..written.min(self.list.len().div_ceil(2))).collect();
        self.bytes -= old.iter().map(Change::bytes).sum::<usize>();
        old
    }

    fn settle(&mut self, sequence: u64, written: bool) {
        self.certain_to = ANNOUNCED;
        let announced = self.list.iter().rev().take_while(|change| change.sequence == ANNOUNCED).count();
        let before = self.list.len() - announced;
        if written {
            self.list[before..].iter_mut().for_each(|change| change.sequence = sequence);
        } else {
            self.bytes -= self.list.drain(before..).map(|change| change.bytes()).sum::<usize>();
        }
    }
}
