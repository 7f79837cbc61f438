//! What statements ask of tables, as MySQL counts it (`Handler_read_key` and its like): an opening of a scan is a call, and so is each row.

use std::cell::Cell;

/// In the order of `Calls::counts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    ReadFirst,
    ReadKey,
    ReadLast,
    ReadNext,
    ReadPrev,
    ReadRndNext,
    Write,
    Update,
    Delete,
    SortRows,
}

pub const CALLS: usize = Call::SortRows as usize + 1;

#[derive(Default)]
pub struct Calls {
    asked: [Cell<u64>; CALLS],
    /// Rows that scans have looked at; the last are those that are no calls.
    rows: [Cell<u64>; CALLS + 1],
}

impl Calls {
    #[inline]
    pub fn add(&self, call: Call, count: u64) {
        add(&self.asked[call as usize], count);
    }

    /// A scan has looked at rows, each of which is a call unless that is `None`.
    #[inline]
    pub fn examine(&self, call: Option<Call>, rows: u64) {
        add(&self.rows[call.map_or(CALLS, |call| call as usize)], rows);
    }

    pub fn examined(&self) -> u64 {
        self.rows.iter().map(Cell::get).sum()
    }

    pub fn counts(&self) -> [u64; CALLS] {
        std::array::from_fn(|at| self.asked[at].get() + self.rows[at].get())
    }
}

#[inline]
fn add(cell: &Cell<u64>, count: u64) {
    cell.set(cell.get() + count);
}
