//! `Part`: the share that one thread has of a statement that several run (`op::parallel`).

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_plan::node::Scan;
use vaquita_storage::helpers::Queue;
use vaquita_storage::{KeyRange, Table};
use vaquita_types::schema::TableId;
use vaquita_types::{Error, Result};

/// Rows that a thread takes together, where they are taken in turns. Each leads to work, or the scan would be cut into ranges.
const TURN_ROWS: u64 = 8;

/// What the threads take of the driving scan, each piece once, in the scan's order.
#[derive(Clone, Copy)]
pub enum Pieces<'a> {
    /// Its ranges, in the order in which it reads them.
    Ranges(&'a Queue<'a, KeyRange>),
    /// Its rows: each thread reads all of them, and takes some.
    Rows(&'a Turns),
}

/// How many turns were taken.
#[derive(Default)]
pub struct Turns(AtomicU64);

impl Pieces<'_> {
    /// Nobody takes another one.
    pub fn stop(&self) {
        match self {
            Pieces::Ranges(ranges) => ranges.stop(),
            // No scan has so many rows.
            Pieces::Rows(turns) => turns.0.store(u64::MAX / TURN_ROWS / 2, Ordering::Relaxed),
        }
    }
}

/// The share of one thread.
pub struct Part<'a> {
    driving: &'a Scan,
    tables: &'a [Arc<Table>],
    pieces: Pieces<'a>,
    /// The number of the piece that the thread has, and of the one that the row is of which operators give.
    at: Cell<u64>,
    of_row: Cell<u64>,
    /// Rows that the scan has given, if they are taken in turns, and the one behind those of the piece.
    rows: Cell<u64>,
    end: Cell<u64>,
}

impl<'a> Part<'a> {
    pub fn new(driving: &'a Scan, tables: &'a [Arc<Table>], pieces: Pieces<'a>) -> Part<'a> {
        Part { driving, tables, pieces, at: Cell::new(0), of_row: Cell::new(0), rows: Cell::new(0), end: Cell::new(0) }
    }

    /// The scan reads the ranges that `take` gives.
    pub fn cuts(&self, scan: &Scan) -> bool {
        matches!(self.pieces, Pieces::Ranges(_)) && std::ptr::eq(self.driving, scan)
    }

    /// All threads have to read the same rows, up to those that they take in turns.
    pub fn reads_alike(&self) -> bool {
        matches!(self.pieces, Pieces::Rows(_))
    }

    /// The scan gives the rows that `takes_row` is true for.
    pub fn takes_turns(&self, scan: &Scan) -> bool {
        matches!(self.pieces, Pieces::Rows(_)) && std::ptr::eq(self.driving, scan)
    }

    /// The next range to read.
    pub fn take(&self) -> Option<KeyRange> {
        let Pieces::Ranges(ranges) = self.pieces else { return None };
        let (at, range) = ranges.take()?;
        self.at.set(at as u64);
        self.of_row.set(at as u64);
        Some(range.clone())
    }

    /// Asked for each row of the scan, all threads reading the same in the same order: whether this one takes it.
    pub fn takes_row(&self) -> bool {
        let Pieces::Rows(turns) = self.pieces else { return true };
        let row = self.rows.replace(self.rows.get() + 1);
        if row >= self.end.get() {
            self.at.set(turns.0.fetch_add(1, Ordering::Relaxed));
            self.of_row.set(self.at.get());
            self.end.set((self.at.get() + 1) * TURN_ROWS);
        }
        row >= self.at.get() * TURN_ROWS
    }

    /// The number of the piece that the row is of.
    pub fn morsel(&self) -> usize {
        self.of_row.get() as usize
    }

    /// The number of the piece that is read now.
    pub fn reading(&self) -> u64 {
        self.at.get()
    }

    /// An operator gives a row that was made of an earlier piece.
    pub fn give_of(&self, piece: u64) {
        self.of_row.set(piece);
    }

    /// Nobody takes another piece.
    pub fn stop(&self) {
        self.pieces.stop();
    }

    /// A table that the statement has opened.
    pub fn table(&self, id: TableId) -> Result<Arc<Table>> {
        opened(self.tables, id).cloned()
    }
}

pub fn opened(tables: &[Arc<Table>], id: TableId) -> Result<&Arc<Table>> {
    tables.iter().find(|table| table.def.id == id).ok_or_else(|| Error::internal("a table that nobody has opened"))
}
