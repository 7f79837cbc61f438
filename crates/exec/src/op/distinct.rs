//! DISTINCT: gives each different row when it is first seen.

use vaquita_plan::expr::Expr;
use vaquita_plan::node::Node;
use vaquita_types::Result;

use super::key;
use super::key_table::KeyTable;
use super::overflow::Overflow;
use super::slots::filled_slots;
use super::{Frame, Operator, build, build_again};

pub struct Distinct<'p> {
    node: &'p Node,
    input: Box<dyn Operator + 'p>,
    keys: &'p [Expr],
    seen: KeyTable,
    /// Rows that are not in `seen`, once it may not grow.
    overflow: Option<Overflow>,
    ended: bool,
    key: Vec<u8>,
}

impl<'p> Distinct<'p> {
    pub fn new(node: &'p Node, keys: &'p [Expr], again: bool) -> Distinct<'p> {
        let input = if again { build_again(node) } else { build(node) };
        Distinct { node, input, keys, seen: KeyTable::new(), overflow: None, ended: false, key: Vec::new() }
    }

    /// The next of the rows that went to disk.
    fn next_sorted(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(overflow) = &mut self.overflow else { return Ok(false) };
        overflow.sort()?;
        let Some(key) = overflow.key() else { return Ok(false) };
        self.key.clear();
        self.key.extend_from_slice(key);
        overflow.restore(frame)?;
        while overflow.key() == Some(&self.key) {
            overflow.advance()?;
        }
        frame.statement.interrupt.check()?;
        Ok(true)
    }
}

impl Operator for Distinct<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.seen.clear(frame.statement);
        self.overflow.take().into_iter().for_each(|overflow| overflow.end(frame.statement));
        self.ended = false;
        self.input.open(frame)
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        while !self.ended && self.input.next(frame)? {
            self.key.clear();
            key::encode_all(self.keys, &frame.cx(), &mut self.key)?;
            if let Some(overflow) = &mut self.overflow {
                if self.seen.find(&self.key).is_none() {
                    overflow.add(&self.key, frame)?;
                }
            } else if self.seen.insert(&self.key, frame.statement)?.1 {
                if frame.statement.is_short_of_memory(|| self.seen.kept_bytes()) {
                    self.overflow = Some(Overflow::new(filled_slots(self.node), frame.statement)?);
                }
                return Ok(true);
            }
        }
        self.ended = true;
        self.next_sorted(frame)
    }
}
