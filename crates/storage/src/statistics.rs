//! What ANALYZE TABLE finds out for the planner: how many different values index prefixes have.
//!
//! For each index and each number n of leading parts, `distinct[n-1]` estimates how many different
//! values those parts have together; rows ÷ distinct is what an equality on them returns. An index of
//! up to `ENTRIES_SCANNED_MAX` entries is counted exactly; of a longer one that many are read and the
//! count is scaled up, which is right where values are spread evenly over the index.
//!
//! Row counts are not estimated: `Transaction::row_count` is exact and free.

use std::sync::Arc;

use vaquita_types::Result;
use vaquita_types::schema::IndexId;

use crate::catalog::wire::{Reader, Writer};
use crate::key::{Entry, IndexCodec};
use crate::lock::Interrupt;
use crate::table::Table;
use crate::txn::{Direction, Keep, ScanOptions, Transaction, Version};

/// Entries of one index that ANALYZE reads: about a second.
const ENTRIES_SCANNED_MAX: u64 = 1_000_000;
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

    /// Format byte 1, rows, then per index its id and the list of counts (primitives of `catalog::wire`).
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
        let rows = txn.row_count(table.def.id)?;
        let indexes = table.codec.indexes().iter().map(|index| index_statistics(index, rows, txn, interrupt));
        Ok(TableStatistics { rows, indexes: indexes.collect::<Result<_>>()? })
    }
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
