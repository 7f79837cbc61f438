//! INTERSECT and EXCEPT of more rows than memory has room for: the rows of all inputs go to disk, and come back sorted.
//!
//! The key of a row there is followed by the number of its input, four bytes, and by how many rows it stands for, eight bytes. The first input has
//! the greatest number: its rows come when all others of the same key have been counted. A row of the others is nothing but its key.

use vaquita_plan::expr::Slot;
use vaquita_plan::node::SetOpKind;
use vaquita_types::{Result, Value};

use crate::context::{Execution, Frame};
use crate::op::Pulse;
use crate::op::overflow::Overflow;

const FIRST: u32 = u32::MAX;

pub struct Spilled {
    op: SetOpKind,
    all: bool,
    rows: Overflow,
    /// The key whose rows are being read, and how often each input but the first has it.
    key: Vec<u8>,
    counts: Vec<u64>,
    /// After the last of these rows: how many of the first input's the others still match.
    left: Option<u64>,
}

impl Spilled {
    pub fn new((op, all): (SetOpKind, bool), inputs: usize, slots: &[Slot], statement: &Execution<'_>) -> Result<Spilled> {
        let rows = Overflow::new(slots.to_vec(), statement)?;
        Ok(Spilled { op, all, rows, key: Vec::new(), counts: vec![0; inputs], left: None })
    }

    /// `count` rows of an input that is not the first.
    pub fn count(&mut self, input: usize, key: &mut Vec<u8>, count: u64) -> Result<()> {
        self.add(input as u32, key, count, &[])
    }

    pub fn add_first(&mut self, key: &mut Vec<u8>, row: &[Value]) -> Result<()> {
        self.add(FIRST, key, 1, row)
    }

    fn add(&mut self, input: u32, key: &mut Vec<u8>, count: u64, row: &[Value]) -> Result<()> {
        key.extend_from_slice(&input.to_be_bytes());
        key.extend_from_slice(&count.to_be_bytes());
        self.rows.add_row(key, row)
    }

    pub fn sort(&mut self) -> Result<()> {
        self.rows.sort()
    }

    /// Puts the next row of the result into its slots.
    pub fn next(&mut self, pulse: &mut Pulse, frame: &mut Frame<'_>) -> Result<bool> {
        loop {
            pulse.beat(frame)?;
            let Some((rest, count)) = self.rows.key().and_then(<[u8]>::split_last_chunk::<8>) else { return Ok(false) };
            let Some((key, input)) = rest.split_last_chunk::<4>() else { return Ok(false) };
            if self.key != key {
                self.key.clear();
                self.key.extend_from_slice(key);
                self.counts.fill(0);
                self.left = None;
            }
            let input = u32::from_be_bytes(*input);
            if input != FIRST {
                if let Some(sum) = self.counts.get_mut(input as usize) {
                    *sum += u64::from_be_bytes(*count);
                }
                self.rows.advance()?;
                continue;
            }
            let gives = self.gives();
            if gives {
                self.rows.restore(frame)?;
            }
            self.rows.advance()?;
            if gives {
                return Ok(true);
            }
        }
    }

    /// Whether a row of the first input, the next one of its key, is part of the result.
    fn gives(&mut self) -> bool {
        let others = self.counts.iter().skip(1).copied();
        let left =
            self.left.unwrap_or_else(|| if self.op == SetOpKind::Intersect { others.min().unwrap_or(0) } else { others.sum() });
        let (gives, left) = match (self.op, self.all) {
            (SetOpKind::Intersect, true) => (left > 0, left.saturating_sub(1)),
            (SetOpKind::Intersect, false) => (left > 0, 0),
            (_, true) => (left == 0, left.saturating_sub(1)),
            // Given once.
            (_, false) => (left == 0, 1),
        };
        self.left = Some(left);
        gives
    }
}
