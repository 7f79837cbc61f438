//! UNION, INTERSECT and EXCEPT.
//!
//! UNION streams its inputs one after the other, with a table of the rows seen unless ALL. INTERSECT and EXCEPT
//! first count the rows of all inputs but the first: ALL gives a row as often as the smallest of the counts, or the first less the others,
//! without ALL each row is given once. The planner has cast the inputs to the common types.
//! When the table may not grow, rows that it does not have go to disk (`rest`); where it cannot be completed, all rows do (`spilled`).

mod spilled;

use std::sync::Arc;

use vaquita_plan::env::Env;
use vaquita_plan::expr::Slot;
use vaquita_plan::node::{QueryPlan, SetOpKind};
use vaquita_types::{ColumnType, Result, Value};

use self::spilled::Spilled;
use super::key;
use super::overflow::Overflow;
use super::sub_plan::SubPlan;
use super::{Builder, Frame, Operator, Pulse, give};
use crate::context::{Execution, KeyTable};

pub struct SetOp<'p> {
    op: SetOpKind,
    all: bool,
    inputs: Vec<SubPlan<'p>>,
    slots: &'p [Slot],
    types: &'p [ColumnType],
    /// The input that is being read; not open yet unless `reading`.
    at: usize,
    reading: bool,
    table: KeyTable,
    /// INTERSECT and EXCEPT: how often each row of the other inputs can still be met.
    counts: Vec<u64>,
    /// UNION and EXCEPT: rows of keys that the table has no room for.
    rest: Option<Overflow>,
    /// INTERSECT and EXCEPT: the rows of all inputs.
    spilled: Option<Spilled>,
    row: Vec<Value>,
    key: Vec<u8>,
    pulse: Pulse,
}

pub fn encode_row(row: &[Value], types: &[ColumnType], env: &dyn Env, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    for (value, ty) in row.iter().zip(types) {
        key::encode(value, ty, env, out)?;
    }
    Ok(())
}

impl<'p> SetOp<'p> {
    pub fn new(
        (op, all): (SetOpKind, bool),
        inputs: &'p [Arc<QueryPlan>],
        slots: &'p [Slot],
        types: &'p [ColumnType],
        builder: Builder<'_>,
    ) -> SetOp<'p> {
        SetOp {
            op,
            all,
            inputs: inputs.iter().map(|plan| SubPlan::new(plan, builder)).collect(),
            slots,
            types,
            at: 0,
            reading: false,
            table: KeyTable::new(),
            counts: Vec::new(),
            rest: None,
            spilled: None,
            row: Vec::new(),
            key: Vec::new(),
            pulse: Pulse::default(),
        }
    }

    /// The sum of the counts in the other inputs for EXCEPT, the least of them for INTERSECT.
    fn count_others(&mut self, frame: &Frame<'_>) -> Result<()> {
        let mut others = std::mem::take(&mut self.inputs);
        let inputs = others.len();
        let counted = others.iter_mut().enumerate().skip(1).try_for_each(|(n, input)| self.count(input, (n, inputs), frame));
        self.inputs = others;
        counted
    }

    fn count(&mut self, input: &mut SubPlan<'_>, (number, inputs): (usize, usize), frame: &Frame<'_>) -> Result<()> {
        let cx = frame.cx();
        // Rows that one of the inputs does not have are not in the intersection.
        let narrows = self.op == SetOpKind::Intersect && number > 1;
        let zeros = if narrows { vec![0; self.counts.len()] } else { Vec::new() };
        let before = if narrows { std::mem::replace(&mut self.counts, zeros) } else { Vec::new() };
        input.open(frame.statement, Some(&cx))?;
        self.row.clear();
        while input.next(frame.statement, Some(&cx), &mut self.row)? {
            self.pulse.beat(frame)?;
            encode_row(&self.row, self.types, frame.statement, &mut self.key)?;
            self.row.clear();
            if let Some(spilled) = &mut self.spilled {
                spilled.count(number, &mut self.key, 1)?;
                continue;
            }
            let n = if !narrows {
                let (n, new) = self.table.insert(&self.key, frame.statement)?;
                if new {
                    self.counts.push(0);
                }
                Some(n)
            } else {
                self.table.find(&self.key)
            };
            if let Some(count) = n.and_then(|n| self.counts.get_mut(n)) {
                *count += 1;
            }
            if !narrows && frame.statement.is_short_of_memory(|| self.table.kept_bytes()) {
                self.spill(inputs, frame.statement)?;
            }
        }
        if narrows && self.spilled.is_none() {
            self.counts.iter_mut().zip(before).for_each(|(count, before)| *count = before.min(*count));
        }
        Ok(())
    }

    /// Moves what has been counted to disk.
    fn spill(&mut self, inputs: usize, statement: &Execution<'_>) -> Result<()> {
        let mut spilled = Spilled::new((self.op, self.all), inputs, self.slots, statement)?;
        for (n, count) in self.counts.drain(..).enumerate() {
            statement.interrupt.check_in_turn()?;
            self.key.clear();
            self.key.extend_from_slice(self.table.key(n));
            spilled.count(1, &mut self.key, count)?;
        }
        self.table.clear();
        self.spilled = Some(spilled);
        Ok(())
    }

    /// Reads the first input, so that all inputs are on disk.
    fn spill_first(&mut self, frame: &Frame<'_>) -> Result<()> {
        while self.read(frame)? {
            self.pulse.beat(frame)?;
            encode_row(&self.row, self.types, frame.statement, &mut self.key)?;
            if let Some(spilled) = &mut self.spilled {
                spilled.add_first(&mut self.key, &self.row)?;
            }
        }
        self.spilled.as_mut().map_or(Ok(()), |spilled| spilled.sort())
    }

    /// The row in `row` is the first of its key: it is in the table from now on and given now, or on disk and given later.
    fn is_new(&mut self, statement: &Execution<'_>) -> Result<bool> {
        if let Some(rest) = &mut self.rest {
            if self.table.find(&self.key).is_none() {
                rest.add_row(&self.key, &self.row)?;
            }
            return Ok(false);
        }
        let new = self.table.insert(&self.key, statement)?.1;
        if new {
            self.counts.push(0);
            if statement.is_short_of_memory(|| self.table.kept_bytes()) {
                self.rest = Some(Overflow::new(self.slots.to_vec(), statement)?);
            }
        }
        Ok(new)
    }

    /// The next of the rows that went to disk.
    fn next_of_rest(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(rest) = &mut self.rest else { return Ok(false) };
        rest.sort()?;
        let Some(key) = rest.key() else { return Ok(false) };
        self.key.clear();
        self.key.extend_from_slice(key);
        rest.restore(frame)?;
        while rest.key() == Some(&self.key) {
            self.pulse.beat(frame)?;
            rest.advance()?;
        }
        Ok(true)
    }

    /// Reads the next row of the inputs in turn into `row`.
    fn read(&mut self, frame: &Frame<'_>) -> Result<bool> {
        let cx = frame.cx();
        let last = if self.op == SetOpKind::Union { self.inputs.len() } else { 1 };
        while self.at < last {
            let Some(input) = self.inputs.get_mut(self.at) else { break };
            if !self.reading {
                input.open(frame.statement, Some(&cx))?;
                self.reading = true;
            }
            self.row.clear();
            if input.next(frame.statement, Some(&cx), &mut self.row)? {
                return Ok(true);
            }
            self.reading = false;
            self.at += 1;
        }
        Ok(false)
    }

    /// Whether the row in `row` is part of the result.
    fn counts_in(&mut self, frame: &Frame<'_>) -> Result<bool> {
        if self.op == SetOpKind::Union && self.all {
            return Ok(true);
        }
        encode_row(&self.row, self.types, frame.statement, &mut self.key)?;
        if self.op == SetOpKind::Union {
            return self.is_new(frame.statement);
        }
        let found = self.table.find(&self.key);
        let left = found.and_then(|n| self.counts.get_mut(n));
        Ok(match (self.op, left, self.all) {
            (SetOpKind::Intersect, None, _) => false,
            (SetOpKind::Intersect, Some(left), all) => {
                let met = *left > 0;
                *left = if all { left.saturating_sub(1) } else { 0 };
                met
            }
            (_, Some(left), true) => {
                let spent = *left == 0;
                *left = left.saturating_sub(1);
                spent
            }
            (_, Some(_), false) => false,
            (_, None, true) => true,
            (_, None, false) => self.is_new(frame.statement)?,
        })
    }
}

impl Operator for SetOp<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.table.clear();
        self.counts.clear();
        self.rest = None;
        self.spilled = None;
        self.at = 0;
        self.reading = false;
        if self.op == SetOpKind::Union { Ok(()) } else { self.count_others(frame) }
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if self.spilled.is_some() {
            if self.at == 0 {
                self.spill_first(frame)?;
            }
            return self.spilled.as_mut().map_or(Ok(false), |spilled| spilled.next(&mut self.pulse, frame));
        }
        while self.read(frame)? {
            self.pulse.beat(frame)?;
            if self.counts_in(frame)? {
                give(&mut self.row, self.slots, frame);
                return Ok(true);
            }
        }
        self.next_of_rest(frame)
    }
}
