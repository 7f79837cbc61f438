//! DISTINCT with ORDER BY of the same expressions: one key for both.
//!
//! The keys by which rows are told apart are those by which the rest is sorted, so each is made once. Row n of those
//! kept is key n of the table.

use vaquita_plan::expr::{Expr, Slot};
use vaquita_plan::node::{Node, SortKey};
use vaquita_plan::visit;
use vaquita_types::Result;

use super::overflow::Overflow;
use super::slots::refills;
use super::{Builder, Frame, Operator, Pulse, key, sort};
use crate::context::{KeyTable, Rows};

pub struct SortDistinct<'p> {
    input: Box<dyn Operator + 'p>,
    keys: &'p [Expr],
    saved: &'p [Slot],
    takes_slots: bool,
    seen: KeyTable,
    rows: Rows,
    order: Vec<u32>,
    at: usize,
    /// All rows, if there are too many.
    overflow: Option<Overflow>,
    key: Vec<u8>,
    pulse: Pulse,
}

/// Sorting by `order` needs no keys but those of the DISTINCT below it.
pub fn applies(order: &[SortKey], distinct: &[Expr]) -> bool {
    order.len() == distinct.len() && order.iter().zip(distinct).all(|(o, d)| !o.descending && visit::same(&o.expr, d))
}

impl<'p> SortDistinct<'p> {
    pub fn new(input: &'p Node, keys: &'p [Expr], saved: &'p [Slot], builder: Builder<'_>) -> SortDistinct<'p> {
        SortDistinct {
            input: builder.build(input),
            keys,
            saved,
            takes_slots: refills(input),
            seen: KeyTable::new(),
            rows: Rows::new(saved.len()),
            order: Vec::new(),
            at: 0,
            overflow: None,
            key: Vec::new(),
            pulse: Pulse::default(),
        }
    }
}

impl SortDistinct<'_> {
    /// Moves what is in memory to disk.
    fn overflow(&mut self, frame: &Frame<'_>) -> Result<()> {
        let mut overflow = Overflow::new(self.saved.to_vec(), frame.statement)?;
        for n in 0..self.rows.len() {
            frame.statement.interrupt.check_in_turn()?;
            overflow.add_row(self.seen.key(n), self.rows.row(n))?;
        }
        self.rows.clear();
        self.seen.clear();
        self.overflow = Some(overflow);
        Ok(())
    }
}

impl Operator for SortDistinct<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.rows.clear();
        self.seen.clear();
        self.overflow = None;
        self.at = 0;
        self.input.open(frame)?;
        while self.input.next(frame)? {
            self.pulse.beat(frame)?;
            self.key.clear();
            key::encode_all(self.keys, &frame.cx(), &mut self.key)?;
            if let Some(overflow) = &mut self.overflow {
                overflow.add(&self.key, frame)?;
            } else if self.seen.insert(&self.key, frame.statement)?.1 {
                self.rows.push_slots(frame, self.saved, self.takes_slots)?;
                if frame.statement.is_short_of_memory(|| self.seen.kept_bytes() + self.rows.kept_bytes()) {
                    self.overflow(frame)?;
                }
            }
        }
        if let Some(overflow) = &mut self.overflow {
            return overflow.sort();
        }
        self.order = sort::sorted(self.rows.len(), |row| self.seen.key(row as usize));
        self.seen.clear();
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if let Some(overflow) = &mut self.overflow {
            let Some(key) = overflow.key() else { return Ok(false) };
            self.pulse.beat(frame)?;
            self.key.clear();
            self.key.extend_from_slice(key);
            overflow.restore(frame)?;
            while overflow.key() == Some(&self.key) {
                overflow.advance()?;
            }
            return Ok(true);
        }
        let Some(&row) = self.order.get(self.at) else { return Ok(false) };
        self.at += 1;
        self.rows.restore_taking(row as usize, frame, self.saved);
        Ok(true)
    }
}
