//! What statements ask of tables, as MySQL counts it (`Handler_read_key` and its like): an opening of a scan is a call, and so is each row. Rows
//! are counted by table, too: a scan takes a place for its table, its index and what its rows are counted as, and counts there once a row.

use std::cell::Cell;

use super::table_uses::TableUse;

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

/// Rows that are no calls.
const NO_CALL: usize = CALLS;
/// Places of tables follow those of calls, which rows of other tables have.
const FIRST_TABLE: usize = NO_CALL + 1;
const PLACES: usize = 16;
const TABLES: usize = PLACES - FIRST_TABLE;

#[derive(Default)]
pub struct Calls {
    asked: [Cell<u64>; CALLS],
    /// Rows that scans have looked at.
    rows: [Cell<u64>; PLACES],
    /// What the places of tables are for, with the place of their call.
    tables: [Cell<(TableUse, usize)>; TABLES],
    taken: Cell<usize>,
}

impl Calls {
    #[inline]
    pub fn add(&self, call: Call, count: u64) {
        add(&self.asked[call as usize], count);
    }

    /// Where a scan counts its rows, each of which is a call unless that is `None`.
    pub fn place(&self, used: TableUse, call: Option<Call>) -> usize {
        self.place_of(used, call.map_or(NO_CALL, |call| call as usize))
    }

    fn place_of(&self, used: TableUse, call: usize) -> usize {
        let taken = self.taken.get();
        if let Some(at) = self.tables.iter().take(taken).position(|known| known.get() == (used, call)) {
            return FIRST_TABLE + at;
        }
        if taken == TABLES || !used.is_kept() {
            return call;
        }
        self.tables[taken].set((used, call));
        self.taken.set(taken + 1);
        FIRST_TABLE + taken
    }

    /// A scan has looked at rows.
    #[inline]
    pub fn examine(&self, place: usize, rows: u64) {
        add(&self.rows[place % PLACES], rows);
    }

    /// Takes in those of a statement inside of this one.
    pub fn include(&self, inner: &Calls) {
        self.asked.iter().zip(&inner.asked).for_each(|(own, count)| add(own, count.get()));
        self.rows.iter().zip(&inner.rows).take(FIRST_TABLE).for_each(|(own, rows)| add(own, rows.get()));
        for (place, rows) in inner.tables.iter().zip(&inner.rows[FIRST_TABLE..]).take(inner.taken.get()) {
            let (used, call) = place.get();
            self.examine(self.place_of(used, call), rows.get());
        }
    }

    pub fn examined(&self) -> u64 {
        self.rows.iter().map(Cell::get).sum()
    }

    pub fn counts(&self) -> [u64; CALLS] {
        let mut counts: [u64; CALLS] = std::array::from_fn(|at| self.asked[at].get() + self.rows[at].get());
        for (place, rows) in self.tables.iter().zip(&self.rows[FIRST_TABLE..]).take(self.taken.get()) {
            if let Some(count) = counts.get_mut(place.get().1) {
                *count += rows.get();
            }
        }
        counts
    }

    /// Tables with the rows that were read of each.
    pub fn tables(&self) -> impl Iterator<Item = (TableUse, u64)> + '_ {
        self.tables.iter().zip(&self.rows[FIRST_TABLE..]).take(self.taken.get()).map(|(place, rows)| (place.get().0, rows.get()))
    }
}

#[inline]
fn add(cell: &Cell<u64>, count: u64) {
    cell.set(cell.get() + count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_for_their_call_and_their_table() {
        let calls = Calls::default();
        let used = |table| TableUse { table, index: 1 };
        for table in 1..9 {
            let place = calls.place(used(table), Some(Call::ReadNext));
            calls.examine(place, u64::from(table));
            assert_eq!(place, calls.place(used(table), Some(Call::ReadNext)));
        }
        calls.examine(calls.place(used(1), None), 100);
        assert_eq!((calls.examined(), calls.counts()[Call::ReadNext as usize]), (136, 36));
        assert_eq!(calls.tables().next(), Some((used(1), 1)));
        let outer = Calls::default();
        outer.add(Call::ReadKey, 1);
        outer.include(&calls);
        outer.include(&calls);
        assert_eq!((outer.examined(), outer.counts()[Call::ReadNext as usize]), (272, 72));
        assert_eq!(outer.tables().next(), Some((used(1), 2)));
    }
}
