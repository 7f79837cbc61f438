//! `Chains`: the numbers of rows, found by keys. Those of one key are chained in the order in which they came.

use vaquita_types::Result;

use super::{Execution, KeyTable};

/// The end of a chain.
const NO_ROW: u32 = u32::MAX;

#[derive(Default)]
pub struct Chains {
    keys: KeyTable,
    /// First and last row of each key, and the row after each row.
    first: Vec<u32>,
    last: Vec<u32>,
    after: Vec<u32>,
}

impl Chains {
    /// More rows than these cannot be numbered.
    pub const ROWS_MAX: usize = NO_ROW as usize;

    /// Adds row `row`, which comes behind all others. False, and nothing done: its key is there, and `one` row of it is enough.
    pub fn add(&mut self, key: &[u8], row: usize, one: bool, statement: &Execution<'_>) -> Result<bool> {
        let (n, new) = self.keys.insert(key, statement)?;
        let number = row as u32;
        if new {
            self.first.push(number);
            self.last.push(number);
        } else if one {
            return Ok(false);
        } else {
            let before = std::mem::replace(&mut self.last[n], number);
            self.after[before as usize] = number;
        }
        // Rows between have no key.
        self.after.resize(row + 1, NO_ROW);
        Ok(true)
    }

    /// The first row with this key.
    pub fn first(&self, key: &[u8]) -> Option<usize> {
        let row = *self.first.get(self.keys.find(key)?)?;
        Some(row as usize)
    }

    /// The row after row `row` in its chain.
    pub fn after(&self, row: usize) -> Option<usize> {
        self.after.get(row).filter(|after| **after != NO_ROW).map(|after| *after as usize)
    }

    /// Each key and its first row.
    pub fn each(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.first.iter().enumerate().map(|(n, row)| (self.keys.key(n), *row as usize))
    }

    pub fn kept_bytes(&self) -> usize {
        self.keys.kept_bytes()
    }
}
