//! `JoinTable`: the rows of a hash join's build side in memory, found by their keys.

use vaquita_plan::expr::Slot;
use vaquita_types::{Result, Value};

use super::{Chains, Execution, Frame, Rows};

#[derive(Default)]
pub struct JoinTable {
    chains: Chains,
    rows: Rows,
    /// Of the rows of a key only one is needed: all that matters is whether there is a match.
    one: bool,
}

impl JoinTable {
    pub fn new(width: usize, one: bool) -> JoinTable {
        JoinTable { chains: Chains::default(), rows: Rows::new(width), one }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn kept_bytes(&self) -> usize {
        self.chains.kept_bytes() + self.rows.kept_bytes()
    }

    /// Adds the row in the slots. `take`: they can be emptied.
    pub fn push_slots(&mut self, key: &[u8], frame: &mut Frame<'_>, slots: &[Slot], take: bool) -> Result<()> {
        if self.chains.add(key, self.rows.len(), self.one, frame.statement)? {
            self.rows.push_slots(frame, slots, take)?;
        }
        Ok(())
    }

    /// Adds row `n` of another, whose values are then gone.
    pub fn take_row(&mut self, key: &[u8], other: &mut Rows, n: usize, statement: &Execution<'_>) -> Result<()> {
        if self.chains.add(key, self.rows.len(), self.one, statement)? {
            self.rows.take_row(other, n, statement)?;
        }
        Ok(())
    }

    /// The first row with this key.
    pub fn first(&self, key: &[u8]) -> Option<usize> {
        self.chains.first(key)
    }

    /// The row after row `n` in its chain.
    pub fn after(&self, n: usize) -> Option<usize> {
        self.chains.after(n)
    }

    pub fn restore(&self, n: usize, frame: &mut Frame<'_>, slots: &[Slot]) {
        self.rows.restore(n, frame, slots);
    }

    /// Each row with its key, those of a key one after the other.
    pub fn each(&self, mut f: impl FnMut(&[u8], &[Value]) -> Result<()>) -> Result<()> {
        for (key, first) in self.chains.each() {
            let mut row = Some(first);
            while let Some(at) = row {
                f(key, self.rows.row(at))?;
                row = self.after(at);
            }
        }
        Ok(())
    }
}
