//! `JoinTable`: the rows of a hash join's build side in memory, found by their keys.

use vaquita_plan::expr::Slot;
use vaquita_types::Result;

use super::{Execution, Frame, KeyTable, Rows};

/// The end of a chain.
const NO_ROW: u32 = u32::MAX;

/// Rows with equal keys are chained in the order in which they came.
#[derive(Default)]
pub struct JoinTable {
    keys: KeyTable,
    /// First and last row of each key, and the row after each row.
    first: Vec<u32>,
    last: Vec<u32>,
    after: Vec<u32>,
    rows: Rows,
    /// Of the rows of a key only one is needed: all that matters is whether there is a match.
    one: bool,
}

impl JoinTable {
    pub fn new(width: usize, one: bool) -> JoinTable {
        JoinTable { rows: Rows::new(width), one, ..JoinTable::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn kept_bytes(&self) -> usize {
        self.keys.kept_bytes() + self.rows.kept_bytes()
    }

    /// Adds the row in the slots. `take`: they can be emptied.
    pub fn push_slots(&mut self, key: &[u8], frame: &mut Frame<'_>, slots: &[Slot], take: bool) -> Result<()> {
        if self.link(key, frame.statement)? {
            self.rows.push_slots(frame, slots, take)?;
        }
        Ok(())
    }

    /// Adds row `n` of another, whose values are then gone.
    pub fn take_row(&mut self, key: &[u8], other: &mut Rows, n: usize, statement: &Execution<'_>) -> Result<()> {
        if self.link(key, statement)? {
            self.rows.take_row(other, n, statement)?;
        }
        Ok(())
    }

    /// Makes place for one more row; false if it is not needed.
    fn link(&mut self, key: &[u8], statement: &Execution<'_>) -> Result<bool> {
        let (n, new) = self.keys.insert(key, statement)?;
        let row = self.rows.len() as u32;
        if new {
            self.first.push(row);
            self.last.push(row);
        } else if self.one {
            return Ok(false);
        } else {
            self.after[self.last[n] as usize] = row;
            self.last[n] = row;
        }
        self.after.push(NO_ROW);
        Ok(true)
    }

    /// The first row with this key.
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        let first = *self.first.get(self.keys.find(key)?)?;
        Some(first as usize)
    }

    /// The row after row `n` in its chain.
    pub fn after(&self, n: usize) -> Option<usize> {
        self.after.get(n).filter(|after| **after != NO_ROW).map(|after| *after as usize)
    }

    pub fn restore(&self, n: usize, frame: &mut Frame<'_>, slots: &[Slot]) {
        self.rows.restore(n, frame, slots);
    }

    /// Each row with its key, those of a key one after the other.
    pub fn each(&self, mut f: impl FnMut(&[u8], &[vaquita_types::Value]) -> Result<()>) -> Result<()> {
        for (n, first) in self.first.iter().enumerate() {
            let mut row = Some(*first as usize);
            while let Some(at) = row {
                f(self.keys.key(n), self.rows.row(at))?;
                row = self.after(at);
            }
        }
        Ok(())
    }
}
