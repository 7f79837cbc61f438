//! DISTINCT: gives each different row when it is first seen, so that the order of the input remains.

use vaquita_plan::expr::Expr;
use vaquita_plan::node::Node;
use vaquita_types::Result;

use super::key;
use super::overflow::Overflow;
use super::slots::filled_slots;
use super::{Builder, Frame, Operator};
use crate::context::KeyTable;

/// Bytes of a row's number at the end of its key.
const NUMBER_BYTES: usize = 8;

pub struct Distinct<'p> {
    node: &'p Node,
    input: Box<dyn Operator + 'p>,
    keys: &'p [Expr],
    seen: KeyTable,
    /// Rows that are not in `seen`, once it may not grow, by key and number.
    overflow: Option<Overflow>,
    number: u64,
    ended: bool,
    key: Vec<u8>,
}

impl<'p> Distinct<'p> {
    pub fn new(node: &'p Node, keys: &'p [Expr], builder: Builder<'_>) -> Distinct<'p> {
        let input = builder.build(node);
        Distinct { node, input, keys, seen: KeyTable::new(), overflow: None, number: 0, ended: false, key: Vec::new() }
    }

    /// The rows that went to disk come back sorted by key; the first of each key goes there again, to come back in the order of the input.
    fn end_input(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.ended = true;
        let Some(mut by_key) = self.overflow.take() else { return Ok(()) };
        by_key.sort()?;
        let mut in_order = Overflow::new(filled_slots(self.node), frame.statement)?;
        self.key.clear();
        while let Some((key, number)) = by_key.key().and_then(<[u8]>::split_last_chunk::<NUMBER_BYTES>) {
            frame.statement.interrupt.check_in_turn()?;
            if self.key != key {
                self.key.clear();
                self.key.extend_from_slice(key);
                by_key.restore(frame)?;
                in_order.add(number, frame)?;
            }
            by_key.advance()?;
        }
        drop(by_key);
        in_order.sort()?;
        self.overflow = Some(in_order);
        Ok(())
    }

    /// The next of the rows that went to disk.
    fn next_of_disk(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(overflow) = self.overflow.as_mut().filter(|overflow| overflow.key().is_some()) else { return Ok(false) };
        frame.statement.interrupt.check_in_turn()?;
        overflow.restore(frame)?;
        overflow.advance()?;
        Ok(true)
    }
}

impl Operator for Distinct<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.seen.clear();
        self.overflow = None;
        self.ended = false;
        self.input.open(frame)
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        while !self.ended && self.input.next(frame)? {
            self.key.clear();
            key::encode_all(self.keys, &frame.cx(), &mut self.key)?;
            if let Some(overflow) = &mut self.overflow {
                if self.seen.find(&self.key).is_none() {
                    self.number += 1;
                    self.key.extend_from_slice(&self.number.to_be_bytes());
                    overflow.add(&self.key, frame)?;
                }
            } else if self.seen.insert(&self.key, frame.statement)?.1 {
                if frame.statement.is_short_of_memory(|| self.seen.kept_bytes()) {
                    self.overflow = Some(Overflow::new(filled_slots(self.node), frame.statement)?);
                }
                return Ok(true);
            }
        }
        if !self.ended {
            self.end_input(frame)?;
        }
        self.next_of_disk(frame)
    }
}
