//! What is committed, for a cursor: from spans in memory where there are any (`span_cache`), from RocksDB where not.
//!
//! A forward scan makes spans of what it reads from RocksDB. In a gap between two spans it stops at the
//! second and goes on there; a scan backwards stays with RocksDB once it has come to a gap.

use std::sync::Arc;

use vaquita_types::Result;

use super::Direction;
use super::Store;
use super::checked::check_span;
use super::damage::data_error;
use crate::cache::span::{Filler, Span};
use crate::cache::span_index::{Found, IndexSpans};
use crate::encoding::KeyRange;
use crate::encoding::ids::is_temporary_key;
use crate::rocks::read_error;
use crate::rocks::{Family, Iter, IterOptions, Snapshot};

pub struct Base {
    store: Arc<Store>,
    family: Family,
    at: Option<Arc<Snapshot>>,
    options: IterOptions,
    /// Made when it is needed.
    iter: Option<Iter>,
    spans: Option<Spans>,
    standing: Standing,
}

/// Whose entry the scan has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    End,
    Iter,
    Span,
}

/// The spans of the index that is scanned.
pub struct Spans {
    index: Arc<IndexSpans>,
    at: u64,
    /// False for a scan of one range without a snapshot, which must read all of it in one place.
    reads: bool,
    fills: bool,
    /// Where the scan is or was last.
    span: Option<Arc<Span>>,
    entry: usize,
    /// What is left of the span in the scan's direction is within the range.
    inside: bool,
    /// What it has read of the gap that it is in, if `filling`.
    filler: Filler,
    filling: bool,
    /// Where the gap ends.
    until: Option<From>,
    /// Bytes of spans that the scan has made.
    added_bytes: usize,
}

/// From where a scan goes on.
enum From {
    Start,
    /// Of the span's two bounds, the one that the scan comes to first.
    Near(Arc<Span>),
    Far(Arc<Span>),
}

impl From {
    /// The key from which on, or below which, a scan goes on.
    fn key<'k>(&'k self, range: &'k KeyRange, direction: Direction) -> &'k [u8] {
        match (self, direction) {
            (From::Start, Direction::Forward) => &range.lower,
            (From::Start, Direction::Backward) => &range.upper,
            (From::Near(span), Direction::Forward) | (From::Far(span), Direction::Backward) => span.lower(),
            (From::Far(span), Direction::Forward) | (From::Near(span), Direction::Backward) => span.upper(),
        }
    }
}

impl Spans {
    /// `None`: nothing of the range is or will be kept. A scan without a snapshot gets one if it begins in a span.
    pub fn open(
        store: &Arc<Store>,
        range: &KeyRange,
        direction: Direction,
        fills: bool,
        at: &mut Option<Arc<Snapshot>>,
    ) -> Option<Spans> {
        let cache = store.pipeline().spans();
        // The ids of temporary tables are given out again.
        if cache.is_off() || is_temporary_key(&range.lower) {
            return None;
        }
        let index = cache.index(&range.lower, || store.db().latest_sequence())?;
        if !index.covers(&range.lower, &range.upper) {
            return None;
        }
        let begins_in_span = || match direction {
            Direction::Forward => index.holds(&range.lower),
            Direction::Backward => index.holds_below(&range.upper),
        };
        if at.is_none() && begins_in_span() {
            *at = Some(store.snapshot());
        }
        let reads = at.is_some();
        let fills = fills && direction == Direction::Forward;
        // Without a snapshot the iterator is made after this, and sees this commit or a later one (ROCKS-5).
        let at = at.as_ref().map_or_else(|| store.db().settled_sequence(), |snapshot| snapshot.sequence());
        (reads || fills).then(|| Spans {
            index,
            at,
            reads,
            fills,
            span: None,
            entry: 0,
            inside: false,
            filler: Filler::default(),
            filling: false,
            until: None,
            added_bytes: 0,
        })
    }

    /// Goes to the entry of the span, if there is one.
    fn enter(&mut self, span: &Arc<Span>, entry: Option<usize>, inside: bool) -> bool {
        let Some(entry) = entry.filter(|n| *n < span.len()) else { return false };
        span.note_read();
        self.inside = inside;
        self.entry = entry;
        self.span = Some(Arc::clone(span));
        true
    }

    /// The iterator has come to its next entry, or the end. True: the gap is over.
    fn pass(&mut self, store: &Store, iter: &Iter, range: &KeyRange) -> bool {
        let (key, value) = iter.entry();
        // A range that is scanned through spans has an upper bound.
        let at_end = !iter.valid() || key >= range.upper.as_slice();
        let until = self.until.as_ref().map(|from| from.key(range, Direction::Forward));
        let until = until.filter(|lower| if at_end { *lower <= range.upper.as_slice() } else { key >= *lower });
        if self.filling {
            let cache = store.pipeline().spans();
            let upper = match until {
                Some(lower) => Some(lower),
                None if at_end => Some(range.upper.as_slice()),
                None => self.filler.is_full().then_some(key),
            };
            // An iterator that failed has not seen all.
            if let Some(upper) = upper.filter(|_| !at_end || iter.status().is_ok()) {
                self.added_bytes += cache.put(&self.index, &mut self.filler, upper, self.at);
                self.filler.begin(key);
            }
            self.filling = !at_end && until.is_none() && cache.takes_more(self.added_bytes) && self.filler.push(key, value);
        }
        !at_end && until.is_some()
    }
}

impl Base {
    pub fn new(
        store: &Arc<Store>,
        family: Family,
        at: Option<Arc<Snapshot>>,
        options: IterOptions,
        iter: Option<Iter>,
        spans: Option<Spans>,
    ) -> Base {
        Base { store: Arc::clone(store), family, at, options, iter, spans, standing: Standing::End }
    }

    pub fn family(&self) -> Family {
        self.family
    }

    /// What is left of it for another scan.
    pub fn into_iter(self) -> Option<Iter> {
        self.iter
    }

    /// A seek follows, to an end of this range.
    pub fn reseek(&mut self, range: &KeyRange) {
        if let Some(iter) = &mut self.iter {
            iter.set_bounds(&range.lower, &range.upper);
        }
        if self.spans.as_ref().is_some_and(|spans| !spans.index.covers(&range.lower, &range.upper)) {
            self.spans = None;
        }
        self.standing = Standing::End;
    }

    #[inline]
    pub fn valid(&self) -> bool {
        match self.standing {
            Standing::Iter => self.iter.as_ref().is_some_and(Iter::valid),
            Standing::Span => true,
            Standing::End => false,
        }
    }

    /// On an entry that is in the range without a look at it.
    #[inline]
    pub fn is_inside(&self) -> bool {
        self.standing == Standing::Span && self.spans.as_ref().is_some_and(|spans| spans.inside)
    }

    /// What ended the scan of the range, if it was not its end.
    pub fn status(&self, range: &KeyRange) -> Result<()> {
        let Some(iter) = self.iter.as_ref().filter(|_| self.standing == Standing::Iter) else { return Ok(()) };
        iter.status().map_err(|e| match self.family {
            Family::Data => data_error(self.store.db(), &range.lower, e),
            Family::Catalog | Family::Log => read_error(e),
        })
    }

    /// Key and value where the scan stands; nothing at the end.
    #[inline]
    pub fn entry(&self) -> (&[u8], &[u8]) {
        let entry = match self.standing {
            Standing::Iter => self.iter.as_ref().map(Iter::entry),
            Standing::Span => self.spans.as_ref().and_then(|spans| Some(spans.span.as_ref()?.entry(spans.entry))),
            Standing::End => None,
        };
        entry.unwrap_or((&[], &[]))
    }

    pub fn seek_to_first(&mut self, range: &KeyRange) {
        self.go_forward(range, From::Start);
    }

    pub fn seek_to_last(&mut self, range: &KeyRange) {
        self.go_backward(range, From::Start);
    }

    #[inline]
    pub fn next(&mut self, range: &KeyRange) {
        match (self.standing, &mut self.spans, &mut self.iter) {
            (Standing::Iter, None, Some(iter)) => iter.next(),
            (Standing::Iter, Some(spans), Some(iter)) => {
                iter.next();
                if spans.pass(&self.store, iter, range)
                    && let Some(until) = spans.until.take()
                {
                    self.go_forward(range, until);
                }
            }
            (Standing::Span, Some(spans), _) => {
                spans.entry += 1;
                if let Some(span) = spans.span.take_if(|span| spans.entry >= span.len()) {
                    self.go_forward(range, From::Far(span));
                }
            }
            _ => {}
        }
    }

    #[inline]
    pub fn prev(&mut self, range: &KeyRange) {
        match (self.standing, &mut self.spans, &mut self.iter) {
            (Standing::Iter, _, Some(iter)) => iter.prev(),
            (Standing::Span, Some(spans), _) => match spans.entry.checked_sub(1) {
                Some(entry) => spans.entry = entry,
                None => {
                    if let Some(span) = spans.span.take() {
                        self.go_backward(range, From::Far(span));
                    }
                }
            },
            _ => {}
        }
    }

    /// To the first entry from there on, which may be above the range.
    fn go_forward(&mut self, range: &KeyRange, mut from: From) {
        loop {
            let key = from.key(range, Direction::Forward);
            if !matches!(from, From::Start) && key >= range.upper.as_slice() {
                self.standing = Standing::End;
                return;
            }
            let found = match &self.spans {
                Some(spans) if spans.reads => spans.index.find(key, spans.at),
                _ => Found::Gap(None),
            };
            match (found, &mut self.spans) {
                (Found::Span(span), Some(spans)) => {
                    check(&self.store, &span, &self.at);
                    if spans.enter(&span, Some(span.position(key)), *span.upper() <= *range.upper) {
                        self.standing = Standing::Span;
                        return;
                    }
                    from = From::Far(span);
                }
                (found, Some(spans)) => {
                    (spans.until, spans.filling) = match found {
                        Found::Later(span) => (Some(From::Far(span)), false),
                        Found::Gap(next) => (next.map(From::Near), spans.fills),
                        Found::Span(_) => (None, false),
                    };
                    spans.filler.begin(key);
                    let iter = iter(&mut self.iter, &self.store, self.family, &self.at, self.options, range);
                    iter.seek(key);
                    self.standing = Standing::Iter;
                    if !spans.pass(&self.store, iter, range) {
                        return;
                    }
                    let Some(until) = spans.until.take() else { return };
                    from = until;
                }
                (_, None) => {
                    iter(&mut self.iter, &self.store, self.family, &self.at, self.options, range).seek(key);
                    self.standing = Standing::Iter;
                    return;
                }
            }
        }
    }

    /// To the last entry below, which may be below the range.
    fn go_backward(&mut self, range: &KeyRange, mut from: From) {
        loop {
            let key = from.key(range, Direction::Backward);
            if !matches!(from, From::Start) && key <= range.lower.as_slice() {
                self.standing = Standing::End;
                return;
            }
            let found = match &self.spans {
                Some(spans) if spans.reads => spans.index.find_below(key, spans.at),
                _ => None,
            };
            let Some((span, spans)) = found.zip(self.spans.as_mut()) else {
                let iter = iter(&mut self.iter, &self.store, self.family, &self.at, self.options, range);
                iter.set_bounds(&range.lower, key);
                iter.seek_to_last();
                self.standing = Standing::Iter;
                return;
            };
            check(&self.store, &span, &self.at);
            if spans.enter(&span, span.position(key).checked_sub(1), *range.lower <= **span.lower()) {
                self.standing = Standing::Span;
                return;
            }
            from = From::Far(span);
        }
    }
}

#[inline]
fn check(store: &Store, span: &Span, at: &Option<Arc<Snapshot>>) {
    if store.checks_cached_reads()
        && let Some(at) = at
    {
        check_span(store, span, at);
    }
}

/// The scan's iterator, made if it has none.
fn iter<'i>(
    iter: &'i mut Option<Iter>,
    store: &Store,
    family: Family,
    at: &Option<Arc<Snapshot>>,
    options: IterOptions,
    range: &KeyRange,
) -> &'i mut Iter {
    iter.get_or_insert_with(|| {
        let mut iter = Iter::new(store.db(), family, at.as_ref(), options);
        iter.set_bounds(&range.lower, &range.upper);
        iter
    })
}
