//! All rows of a table, read by as many threads as there are cores free.

use vaquita_types::{Error, Result};

use super::DdlContext;
use super::table::Table;
use crate::base::helpers::{Helpers, Pace, Queue, cores};
use crate::encoding::KeyRange;
use crate::txn::{Direction, Keep, ScanOptions, SharedView, Transaction, Version};

/// Rows between two looks whether the statement was killed.
pub(super) const CHECK_ROWS: u64 = 1 << 10;
const READAHEAD_BYTES: usize = 1 << 20;
/// Parts of the table for each thread, and bytes of one at least.
const PARTS_PER_THREAD: usize = 8;
const PART_BYTES_MIN: u64 = 1 << 20;

/// What one thread makes of the rows that it reads.
pub(super) trait PartReader {
    type Made: Send;

    /// False: it is of no use to read on.
    fn row(&mut self, key: &[u8], value: &[u8]) -> Result<bool>;

    /// Whether it is of use to read on; asked every `CHECK_ROWS` rows.
    fn goes_on(&self) -> bool {
        true
    }

    fn finish(self) -> Result<Self::Made>;
}

/// Reads the rows that the transaction's snapshot has. Each thread takes one part after the other; `begin` gets how many threads there are. Returns
/// what each has made; `None` if it was of no use to read on.
pub(super) fn read_in_parts<R: PartReader>(
    table: &Table,
    read: &mut Transaction,
    context: &DdlContext,
    name: &str,
    begin: impl Fn(usize) -> R + Sync,
) -> Result<Option<Vec<R::Made>>> {
    let view = read.share_view().ok_or_else(|| Error::internal("parts of a table behind writes"))?;
    let (store, all) = (read.store(), table.codec.clustered().all());
    let part_bytes = (store.range_bytes(&all)? / (cores() * PARTS_PER_THREAD) as u64).max(PART_BYTES_MIN);
    let ranges = store.split(&all, part_bytes)?;
    let parts = Queue::new(&ranges);
    let helpers = Helpers::take(ranges.len().saturating_sub(1));
    let threads = helpers.count() + 1;
    let work = || {
        let made = read_parts(&view, &parts, context, begin(threads));
        if !matches!(made, Ok(Some(_))) {
            parts.stop();
        }
        made
    };
    helpers.run(name, work).into_iter().collect()
}

fn read_parts<R: PartReader>(
    view: &SharedView,
    parts: &Queue<'_, KeyRange>,
    context: &DdlContext,
    mut reader: R,
) -> Result<Option<R::Made>> {
    let read = view.transaction();
    let options = ScanOptions {
        keep: Keep::Nothing,
        spans: false,
        readahead_bytes: READAHEAD_BYTES,
        version: Version::Snapshot,
        ..ScanOptions::default()
    };
    let (mut rows, mut pace) = (0, Pace::begin());
    while let Some((_, range)) = parts.take() {
        let mut cursor = read.scan(range.clone(), Direction::Forward, options)?;
        while let Some((key, value)) = cursor.next(&read)? {
            rows += 1;
            pace.step();
            if rows % CHECK_ROWS == 0 {
                context.interrupt.check()?;
                context.progress.add_rows(CHECK_ROWS);
                if !reader.goes_on() {
                    return Ok(None);
                }
            }
            if !reader.row(key, value)? {
                return Ok(None);
            }
        }
    }
    context.progress.add_rows(rows % CHECK_ROWS);
    reader.finish().map(Some)
}
