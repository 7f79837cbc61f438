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
pub struct Calls([Cell<u64>; CALLS]);

impl Calls {
    #[inline]
    pub fn add(&self, call: Call, count: u64) {
        let cell = &self.0[call as usize];
        cell.set(cell.get() + count);
    }

    pub fn counts(&self) -> [u64; CALLS] {
        std::array::from_fn(|at| self.0[at].get())
    }
}
