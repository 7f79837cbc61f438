//! Cached reads against RocksDB, for tests: with the storage option `check-cached-reads` each row that the row cache gives,
//! each answer of a span to a get, and each span that a scan enters is compared with what RocksDB has for the same reader.
//!
//! With a snapshot the two must be the same. Without one, RocksDB is asked at a snapshot that is taken afterwards, and a key
//! that may have changed since the reader began (`cache::recent`) may differ. A difference ends the process, so that no
//! harness can miss it. This never retries and never forgives: a wrong cached row is wrong for everybody who reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Store;
use crate::base::hooks::LogLevel;
use crate::cache::row_cache::CachedRow;
use crate::cache::span::Span;
use crate::rocks::{Family, Iter, IterOptions, Snapshot};

/// Comparisons so far.
#[derive(Default)]
pub struct CheckedReads {
    pub rows: AtomicU64,
    pub spans: AtomicU64,
}

fn fail(store: &Store, what: &str, key: &[u8], at: &str) -> ! {
    let text = format!("{what} is not what RocksDB has, key {key:02X?}, {at}. The server stops");
    store.hooks().log(LogLevel::Error, &text);
    std::process::abort()
}

/// A row cache or a span gave this for the key; `None`: there is no such row.
pub fn check_get(store: &Store, row: &CachedRow<'_>, at: Option<&Snapshot>, given: Option<&[u8]>) {
    let now;
    let (snapshot, is_exact) = match at {
        Some(at) => (at, true),
        None => {
            now = Snapshot::new(store.db());
            (&now, false)
        }
    };
    let mut stored = Vec::new();
    // A read error is not a difference.
    let Ok(found) = store.db().get(Family::Data, row.key(), Some(snapshot), &mut stored) else { return };
    store.checked_reads().rows.fetch_add(1, Ordering::Relaxed);
    let is_same = found.then_some(stored.as_slice()) == given;
    if !is_same && (is_exact || !row.may_have_changed()) {
        let at = format!("read at {:?}, compared at {}", row.seen(), snapshot.sequence());
        fail(store, "a cached row", row.key(), &at);
    }
}

/// A scan at this snapshot is about to read the span.
pub fn check_span(store: &Store, span: &Span, at: &Arc<Snapshot>) {
    let mut iter = Iter::new(store.db(), Family::Data, Some(at), IterOptions::default());
    iter.set_bounds(span.lower(), span.upper());
    iter.seek(span.lower());
    store.checked_reads().spans.fetch_add(1, Ordering::Relaxed);
    for n in 0..span.len() {
        let (key, value) = span.entry(n);
        if !iter.valid() && iter.status().is_err() {
            return;
        }
        if !iter.valid() || iter.entry() != (key, value) {
            fail(store, "an entry of a span", key, &format!("read at {}", at.sequence()));
        }
        iter.next();
    }
    if iter.valid() {
        fail(store, "the end of a span", iter.key(), &format!("read at {}", at.sequence()));
    }
}
