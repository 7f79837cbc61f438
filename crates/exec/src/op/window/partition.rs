//! The rows of one partition in window order, as functions and frames see them: in memory (`InMemory`) or on disk (`spilled`).

use std::cmp::Ordering;

use vaquita_types::{Result, Value};

use super::frame::{FrameOf, RangePart};
use crate::context::Rows;
use crate::op::sort::Keys;

pub trait Partition {
    fn len(&self) -> usize;

    /// The function's arguments at a row.
    fn args(&mut self, i: usize) -> Result<&[Value]>;

    /// Two rows have the same ORDER BY values.
    fn are_peers(&mut self, i: usize, j: usize) -> Result<bool>;

    /// A bound of a row's frame.
    fn range_key(&mut self, part: RangePart, i: usize, out: &mut Vec<u8>) -> Result<()>;

    /// A row's ORDER BY value and a bound.
    fn compare_value(&mut self, i: usize, bound: &[u8]) -> Result<Ordering>;
}

pub struct InMemory<'a> {
    pub rows: &'a [u32],
    pub keys: &'a Keys,
    pub frame: &'a FrameOf,
    /// All functions' arguments; this one's begin at `first_arg`.
    pub args: &'a Rows,
    pub first_arg: usize,
}

impl InMemory<'_> {
    fn key(&self, part: RangePart, i: usize) -> &[u8] {
        self.rows.get(i).and_then(|row| self.frame.key(part, *row)).unwrap_or(&[])
    }
}

impl Partition for InMemory<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn args(&mut self, i: usize) -> Result<&[Value]> {
        let args = self.rows.get(i).map_or(&[][..], |row| self.args.row(*row as usize));
        Ok(args.get(self.first_arg..).unwrap_or(&[]))
    }

    fn are_peers(&mut self, i: usize, j: usize) -> Result<bool> {
        let key = |i: usize| self.rows.get(i).map(|row| self.keys.key(*row));
        Ok(key(i) == key(j))
    }

    fn range_key(&mut self, part: RangePart, i: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        out.extend_from_slice(self.key(part, i));
        Ok(())
    }

    fn compare_value(&mut self, i: usize, bound: &[u8]) -> Result<Ordering> {
        Ok(self.key(RangePart::Value, i).cmp(bound))
    }
}
