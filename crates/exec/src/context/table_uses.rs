//! Which tables statements use, by which indexes and for how many rows: what performance_schema tells of tables.
//!
//! A scan takes a place when it is opened and counts its rows there (`Calls`). When the statement has ended its session adds them to what
//! it has counted before, with the statement's time, which the tables share (`TableSums`).

use vaquita_storage::TEMPORARY_ID_MIN;
use vaquita_types::schema::TableDef;

use super::transaction_events::TimeSums;

/// A table, and the index that its rows are found by; 0: they are read without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TableUse {
    pub table: u32,
    pub index: u32,
}

impl TableUse {
    /// `index` is a position among the table's.
    pub fn of(table: &TableDef, index: Option<usize>) -> TableUse {
        let index = index.and_then(|at| table.indexes.get(at));
        TableUse { table: table.id.0, index: index.map_or(0, |index| index.id.0) }
    }

    /// Nobody counts for temporary tables and those that the server makes up.
    pub fn is_kept(self) -> bool {
        self.table < TEMPORARY_ID_MIN
    }
}

/// What is done with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowWork {
    Fetch,
    Insert,
    Update,
    Delete,
}

pub const ROW_WORKS: usize = RowWork::Delete as usize + 1;

/// Rows of a table, found by one index, that were fetched, inserted, updated and deleted, and how long that took.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableSums(pub [TimeSums; ROW_WORKS]);

impl TableSums {
    pub fn add(&mut self, work: RowWork, rows: u64, wait_ns: u64) {
        let each = wait_ns.checked_div(rows).unwrap_or(0);
        let counted = TimeSums { count: rows, wait_ns, wait_ns_min: each, wait_ns_max: each };
        self.0[work as usize].add_all(&counted);
    }

    pub fn add_all(&mut self, other: &TableSums) {
        self.0.iter_mut().zip(&other.0).for_each(|(sums, other)| sums.add_all(other));
    }
}
