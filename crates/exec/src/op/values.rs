//! Rows that come from no table of storage: row lists, counts, system tables.

use vaquita_plan::expr::{Expr, Slot};
use vaquita_plan::node::Scan;
use vaquita_storage::LockMode;
use vaquita_types::schema::TableRef;
use vaquita_types::{Result, Value};

use super::{Frame, Operator, Pulse};
use crate::context::{Kept, heap_bytes};

/// `VALUES ROW(…), …`
pub struct Values<'p> {
    rows: &'p [Vec<Expr>],
    slots: &'p [Slot],
    at: usize,
}

impl<'p> Values<'p> {
    pub fn new(rows: &'p [Vec<Expr>], slots: &'p [Slot]) -> Values<'p> {
        Values { rows, slots, at: 0 }
    }
}

impl Operator for Values<'_> {
    fn open(&mut self, _: &mut Frame<'_>) -> Result<()> {
        self.at = 0;
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(row) = self.rows.get(self.at) else { return Ok(false) };
        self.at += 1;
        for (expr, &slot) in row.iter().zip(self.slots) {
            let value = expr.eval(&frame.cx())?.into_owned();
            frame.slots[slot] = value;
        }
        Ok(true)
    }
}

/// COUNT(*) of a whole table, from storage's counters.
pub struct RowCount<'p> {
    table: &'p TableRef,
    slot: Slot,
    given: bool,
}

impl<'p> RowCount<'p> {
    pub fn new(table: &'p TableRef, slot: Slot) -> RowCount<'p> {
        RowCount { table, slot, given: false }
    }
}

impl Operator for RowCount<'_> {
    fn open(&mut self, _: &mut Frame<'_>) -> Result<()> {
        self.given = false;
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if std::mem::replace(&mut self.given, true) {
            return Ok(false);
        }
        let table = frame.statement.open_table(self.table, LockMode::IS)?;
        if frame.statement.locks_reads() {
            let (txn, wait) = (frame.statement.txn, frame.statement.lock_wait());
            table.for_each_stored(|part| txn.borrow_mut().lock_range(&part.codec.clustered().all(), wait).map(drop))?;
        }
        let txn = frame.statement.txn.borrow();
        table.for_each_stored(|part| part.check_readable(&txn, 0))?;
        let own = if frame.statement.own_writes_hidden.get() { table.rows_added(&txn) } else { 0 };
        let count = table.row_count(&txn)?.saturating_add_signed(-own);
        frame.slots[self.slot] = Value::Int(count as i64);
        Ok(true)
    }
}

/// A table of information_schema and the like.
pub struct SystemScan<'p> {
    scan: &'p Scan,
    rows: std::vec::IntoIter<Vec<Value>>,
    /// The texts of all rows: each place of the table in a FROM copies them.
    kept: Kept,
    /// How many rows it has looked at.
    row: u64,
    pulse: Pulse,
}

impl<'p> SystemScan<'p> {
    pub fn new(scan: &'p Scan) -> SystemScan<'p> {
        SystemScan { scan, rows: Vec::new().into_iter(), kept: Kept::default(), row: 0, pulse: Pulse::default() }
    }
}

impl Operator for SystemScan<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        let rows = crate::system::rows(self.scan, frame.statement, &frame.cx())?;
        self.kept.set(rows.iter().flatten().map(heap_bytes).sum(), frame.statement)?;
        self.rows = rows.into_iter();
        self.row = 0;
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        for mut row in self.rows.by_ref() {
            self.pulse.beat(frame)?;
            for &(position, slot) in &self.scan.columns {
                frame.slots[slot] = row.get_mut(position).map(std::mem::take).unwrap_or_default();
            }
            self.row += 1;
            if let Some(slot) = self.scan.key_slot {
                frame.slots[slot] = Value::Bytes(self.row.to_be_bytes().into());
            }
            if frame.all_true(&self.scan.filter)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
