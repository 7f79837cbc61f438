//! Rows of a table on which the planner evaluates conditions, kept with the table's handle for some seconds.
//!
//! To read them anew takes about a millisecond, which is long beside a short query. They only guide estimates, so they may be a little old:
//! they are taken again when the number of rows has changed by a sixteenth, or after `KEPT_SECONDS`, when `Catalog::renew_samples` drops them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use vaquita_types::Result;

use super::statistics::read_sample;
use super::table::Table;
use crate::encoding::row::RowView;
use crate::txn::{Store, Transaction};

const KEPT_SECONDS: u64 = 10;
/// A sample of more bytes is read each time.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// What the samples of all tables may take together.
const ALL_BYTES_MAX: usize = 32 << 20;

/// Takes a row, and says whether it wants more.
pub type GiveRow<'g> = &'g mut dyn FnMut(&RowView<'_>) -> Result<bool>;

/// What they take.
static ALL_BYTES: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct RowSample {
    taken: Instant,
    /// Of the table, when it was taken.
    rows: u64,
    /// Clustered keys and rows, one behind the other.
    bytes: Vec<u8>,
    /// Mixed, so that the first of them are a sample as well.
    places: Vec<Place>,
    counted: usize,
}

#[derive(Debug)]
struct Place {
    key: usize,
    value: usize,
    end: usize,
}

impl RowSample {
    fn new(rows: u64) -> RowSample {
        RowSample { taken: Instant::now(), rows, bytes: Vec::new(), places: Vec::new(), counted: 0 }
    }

    fn is_old(&self) -> bool {
        self.taken.elapsed() > Duration::from_secs(KEPT_SECONDS)
    }

    fn fits(&self, rows: u64) -> bool {
        rows.abs_diff(self.rows) <= self.rows / 16 && !self.is_old()
    }

    /// False if it would be too large.
    fn add(&mut self, key: &[u8], row: &[u8]) -> bool {
        let start = self.bytes.len();
        if start + key.len() + row.len() > KEPT_BYTES_MAX {
            return false;
        }
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(row);
        self.places.push(Place { key: start, value: start + key.len(), end: self.bytes.len() });
        true
    }

    /// The same rows are mixed in the same way.
    fn mix(&mut self) {
        let mut random = self.places.len() as u64;
        for n in (1..self.places.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.places.swap(n, (random >> 33) as usize % (n + 1));
        }
    }

    fn give(&self, table: &Table, give: GiveRow<'_>) -> Result<()> {
        for place in &self.places {
            let bytes = |from: usize, to: usize| self.bytes.get(from..to).unwrap_or(&[]);
            let row = table.codec.view(bytes(place.key, place.value), bytes(place.value, place.end))?;
            if !give(&row)? {
                break;
            }
        }
        Ok(())
    }

    /// Counts it with those of all tables; false if there is no room for it.
    fn count(&mut self) -> bool {
        self.counted = self.bytes.capacity() + self.places.capacity() * size_of::<Place>();
        ALL_BYTES.fetch_add(self.counted, Ordering::Relaxed) + self.counted <= ALL_BYTES_MAX
    }
}

impl Drop for RowSample {
    fn drop(&mut self) {
        ALL_BYTES.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

/// What a table's handle keeps.
#[derive(Debug, Default)]
pub(super) struct KeptRows(RwLock<Option<Arc<RowSample>>>);

impl KeptRows {
    /// Gives some rows of a table of `rows` rows; see `Table::sample_rows`.
    pub fn give(&self, table: &Table, store: &Store, txn: &Transaction, rows: u64, give: GiveRow<'_>) -> Result<()> {
        let kept = self.0.read().as_ref().filter(|sample| sample.fits(rows)).cloned();
        if let Some(sample) = kept {
            return sample.give(table, give);
        }
        let mut sample = RowSample::new(rows);
        let (mut is_small, mut wants_more) = (true, true);
        read_sample(table, store, txn, rows, &mut |key, value| {
            is_small = is_small && sample.add(key, value);
            if !is_small && wants_more {
                wants_more = give(&table.codec.view(key, value)?)?;
            }
            Ok(())
        })?;
        sample.mix();
        if wants_more {
            sample.give(table, give)?;
        }
        *self.0.write() = (is_small && sample.count()).then(|| Arc::new(sample));
        Ok(())
    }

    pub fn drop_old(&self) {
        if self.0.read().as_ref().is_some_and(|sample| sample.is_old()) {
            *self.0.write() = None;
        }
    }
}
