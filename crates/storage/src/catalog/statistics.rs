//! What ANALYZE TABLE finds out for the planner: how many different values index prefixes have.
//!
//! For each index and each number n of leading parts, `distinct[n-1]` estimates how many different
//! values those parts have together; rows ÷ distinct is what an equality on them returns. An index of
//! up to `ENTRIES_SCANNED_MAX` entries is counted exactly; of a longer one that many are read and the
//! count is scaled up, which is right where values are spread evenly over the index.
//!
//! A table that nobody has analyzed, or that has doubled or halved since, is *sampled* when a statement on it is planned: each
//! index is read at `PLACES` places, or as a whole if it is small. That takes about a millisecond an index, and is kept with the table's
//! handle, not stored. Of the entries of a sample it counts how many differ from the one before in their first n parts, which
//! gives the number of different values if they are as dense everywhere; values that are too long for that are at least as many as
//! were met. `Catalog::renew_samples` forgets samples of tables that have grown, so that plans are made anew.
//!
//! Row counts are not estimated: `Transaction::row_count` is exact and free.

use std::sync::Arc;

use vaquita_types::Result;
use vaquita_types::schema::{IndexDef, IndexId};

use super::table::Table;
use crate::encoding::KeyRange;
use crate::encoding::catalog::primitives::{Reader, Writer};
use crate::encoding::key::{Entry, IndexCodec};
use crate::locks::Interrupt;
use crate::txn::Store;
use crate::txn::{Direction, Keep, ScanOptions, Transaction, Version};

/// Entries of one index that ANALYZE reads: about a second.
const ENTRIES_SCANNED_MAX: u64 = 1_000_000;
/// Entries of an index that a sample reads as a whole, and else at how many places how many.
const WHOLE_ENTRIES_MAX: u64 = 4096;
const PLACES: u64 = 16;
const PLACE_ENTRIES: usize = 128;
/// Rows of a table whose rows are all given as a sample, and else from how many places how many.
const WHOLE_ROWS_MAX: u64 = 2048;
const ROW_PLACES: u64 = 16;
const PLACE_ROWS: usize = 64;
/// Rows from which a table is sampled. The planner takes smaller ones for as large.
pub const SAMPLED_ROWS_MIN: u64 = 1_000;
/// Partitions that a sample of a table looks into.
const PARTITIONS_SAMPLED_MAX: usize = 8;
/// Where so many rows of a partition have each value, other partitions are taken to have the same values.
const REPEATED: u64 = 16;
/// How often a long scan looks whether it was killed.
const INTERRUPT_EVERY: u64 = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStatistics {
    /// Rows when they were made.
    pub rows: u64,
    pub indexes: Vec<IndexStatistics>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatistics {
    pub id: IndexId,
    /// For 1, 2 … leading declared parts.
    pub distinct: Vec<u64>,
}

impl TableStatistics {
    pub fn index(&self, id: IndexId) -> Option<&IndexStatistics> {
        self.indexes.iter().find(|i| i.id == id)
    }

    /// They are still about right for a table with so many rows.
    pub fn fits(&self, rows: u64) -> bool {
        self.rows.max(SAMPLED_ROWS_MIN) <= 2 * rows.max(SAMPLED_ROWS_MIN)
            && rows.max(SAMPLED_ROWS_MIN) <= 2 * self.rows.max(SAMPLED_ROWS_MIN)
    }

    /// Format byte 1, rows, then per index its id and the list of counts (primitives of `encoding::catalog`).
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.byte(1);
        w.int(self.rows);
        w.list(&self.indexes, |w, i| {
            w.int(i.id.0 as u64);
            w.list(&i.distinct, |w, n| w.int(*n));
        });
        w.bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<TableStatistics> {
        let mut r = Reader { rest: bytes };
        if r.byte()? != 1 {
            return None;
        }
        let rows = r.int()?;
        let indexes = r.list(|r| Some(IndexStatistics { id: IndexId(r.narrow()?), distinct: r.list(Reader::int)? }))?;
        r.rest.is_empty().then_some(TableStatistics { rows, indexes })
    }

    /// Reads the table's indexes as `txn` sees them.
    pub(crate) fn collect(table: &Table, txn: &Transaction, interrupt: &Arc<Interrupt>) -> Result<TableStatistics> {
        if table.def.partitioning.is_some() {
            return TableStatistics::merged(table, |part| TableStatistics::collect(part, txn, interrupt));
        }
        let rows = txn.row_count(table.def.id)?;
        let indexes = counted(table).map(|index| index_statistics(index, rows, txn, interrupt));
        Ok(TableStatistics { rows, indexes: indexes.collect::<Result<_>>()? })
    }

    /// Reads a little of each index of a table with `rows` rows, as they are now.
    pub(crate) fn sample(table: &Table, store: &Store, txn: &Transaction, rows: u64) -> Result<TableStatistics> {
        if table.def.partitioning.is_some() {
            return TableStatistics::sample_partitions(table, store, txn, rows);
        }
        let indexes = counted(table).map(|index| sample_index(index, rows, store, txn));
        Ok(TableStatistics { rows, indexes: indexes.collect::<Result<_>>()? })
    }

    /// Those of a partitioned table from those of its partitions.
    fn merged(table: &Table, mut of: impl FnMut(&Table) -> Result<TableStatistics>) -> Result<TableStatistics> {
        let of_index = |index: &IndexDef| IndexStatistics { id: index.id, distinct: vec![0; index.parts.len()] };
        let mut all = TableStatistics { rows: 0, indexes: table.def.indexes.iter().map(of_index).collect() };
        table.for_each_stored(|part| {
            let found = of(part)?;
            all.add(&found);
            Ok(())
        })?;
        Ok(all)
    }

    /// Values of one partition are taken to be in no other, unless there are as few in each.
    fn add(&mut self, part: &TableStatistics) {
        for (all, of_part) in self.indexes.iter_mut().zip(&part.indexes) {
            for (all, of_part) in all.distinct.iter_mut().zip(&of_part.distinct) {
                let repeats = of_part.saturating_mul(REPEATED) < part.rows;
                *all = if repeats { (*all).max(*of_part) } else { *all + of_part };
            }
        }
        self.rows += part.rows;
    }

    /// Samples a few partitions, and takes the others for as they are.
    fn sample_partitions(table: &Table, store: &Store, txn: &Transaction, rows: u64) -> Result<TableStatistics> {
        let of_index = |index: &IndexDef| IndexStatistics { id: index.id, distinct: vec![0; index.parts.len()] };
        let mut all = TableStatistics { rows: 0, indexes: table.def.indexes.iter().map(of_index).collect() };
        let count = table.def.partitions().len();
        for number in (0..count).step_by(count.div_ceil(PARTITIONS_SAMPLED_MAX).max(1)) {
            let part = table.partition(number)?;
            let in_part = txn.row_count(part.def.id)?;
            if in_part > 0 {
                all.add(&TableStatistics::sample(part, store, txn, in_part)?);
            }
        }
        for distinct in all.indexes.iter_mut().flat_map(|index| &mut index.distinct) {
            if distinct.saturating_mul(REPEATED) >= all.rows && all.rows > 0 {
                *distinct = (u128::from(*distinct) * u128::from(rows) / u128::from(all.rows)) as u64;
            }
        }
        all.rows = rows;
        Ok(all)
    }
}

/// The indexes that plans read by the values of columns.
fn counted(table: &Table) -> impl Iterator<Item = &IndexCodec> {
    table.codec.indexes().iter().filter(|index| index.full_text().is_none())
}

/// Up to so many entries a sample has all, and of more so many from each of so many places.
struct Density {
    whole: u64,
    places: u64,
    of_place: usize,
}

/// The places of a sample, and how many entries are read at each.
fn sampled(all: KeyRange, entries: u64, density: Density, store: &Store) -> Result<(Vec<KeyRange>, usize)> {
    if entries <= density.whole {
        return Ok((vec![all], usize::MAX));
    }
    let pieces = store.split(&all, store.range_bytes(&all)? / density.places)?;
    // Where RocksDB cannot tell sizes apart, one long piece has to do.
    let of_place = if pieces.len() < 2 { density.whole as usize } else { density.of_place };
    let step = pieces.len().div_ceil(density.places as usize);
    Ok((pieces.into_iter().step_by(step).collect(), of_place))
}

/// Gives clustered keys and rows of a table of `rows` rows: of a small one all, else some from places all over it. A partitioned table gives none.
pub(super) fn read_sample(
    table: &Table,
    store: &Store,
    txn: &Transaction,
    rows: u64,
    give: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    if table.def.partitioning.is_some() {
        return Ok(());
    }
    let density = Density { whole: WHOLE_ROWS_MAX, places: ROW_PLACES, of_place: PLACE_ROWS };
    let (places, rows_max) = sampled(table.codec.clustered().all(), rows, density, store)?;
    let options = ScanOptions { keep: Keep::Nothing, version: Version::Latest, ..ScanOptions::default() };
    for place in places {
        let mut cursor = txn.scan(place, Direction::Forward, options)?;
        let mut read = 0;
        while read < rows_max
            && let Some((key, value)) = cursor.next(txn)?
        {
            give(key, value)?;
            read += 1;
        }
        txn.finish_scan(cursor);
    }
    Ok(())
}

fn sample_index(index: &IndexCodec, rows: u64, store: &Store, txn: &Transaction) -> Result<IndexStatistics> {
    let density = Density { whole: WHOLE_ENTRIES_MAX, places: PLACES, of_place: PLACE_ENTRIES };
    let (places, entries_max) = sampled(index.all(), rows, density, store)?;
    let parts = index.parts().len();
    // Of neighbours in the sample, how many differ in their first parts; and how many values were met at all.
    let (mut differ, mut met, mut neighbours) = (vec![0u64; parts], vec![0u64; parts], 0u64);
    let (mut previous, mut ends) = (Vec::new(), vec![0; parts]);
    let options = ScanOptions { keep: Keep::Nothing, version: Version::Latest, ..ScanOptions::default() };
    for place in places {
        let mut cursor = txn.scan(place, Direction::Forward, options)?;
        let mut read = 0;
        while read < entries_max
            && let Some((key, value)) = cursor.next(txn)?
        {
            index.part_ends(Entry { key, value }, &mut ends)?;
            for (n, end) in ends.iter().enumerate() {
                let is_new = previous.is_empty() || key.get(..*end) != previous.get(..*end);
                met[n] += u64::from(is_new);
                differ[n] += u64::from(is_new && read > 0);
            }
            neighbours += u64::from(read > 0);
            previous.clear();
            previous.extend_from_slice(key);
            read += 1;
        }
        txn.finish_scan(cursor);
    }
    let dense = |differ: &u64| (u128::from(*differ) * u128::from(rows) / u128::from(neighbours.max(1))) as u64;
    let distinct = differ.iter().zip(met).map(|(differ, met)| dense(differ).max(met).min(rows)).collect();
    Ok(IndexStatistics { id: index.id, distinct })
}

fn index_statistics(index: &IndexCodec, rows: u64, txn: &Transaction, interrupt: &Arc<Interrupt>) -> Result<IndexStatistics> {
    let options = ScanOptions { keep: Keep::Nothing, version: Version::Latest, ..ScanOptions::default() };
    let mut distinct = vec![0u64; index.parts().len()];
    let mut previous: Vec<u8> = Vec::new();
    let mut ends = vec![0; distinct.len()];
    let mut read = 0;
    let mut cursor = txn.scan(index.all(), Direction::Forward, options)?;
    while read < ENTRIES_SCANNED_MAX
        && let Some((key, value)) = cursor.next(txn)?
    {
        read += 1;
        if read % INTERRUPT_EVERY == 0 {
            interrupt.check()?;
        }
        index.part_ends(Entry { key, value }, &mut ends)?;
        for (count, end) in distinct.iter_mut().zip(&ends) {
            if key.get(..*end) != previous.get(..*end) || previous.is_empty() {
                *count += 1;
            }
        }
        previous.clear();
        previous.extend_from_slice(key);
    }
    if read == ENTRIES_SCANNED_MAX && rows > read {
        for count in &mut distinct {
            *count = (*count as u128 * rows as u128 / read as u128) as u64;
        }
    }
    Ok(IndexStatistics { id: index.id, distinct })
}
