//! Nested-loop joins: the inner side is opened anew for each row of the outer side.

use vaquita_plan::expr::{Expr, Slot};
use vaquita_plan::node::{JoinKind, Node};
use vaquita_storage::KeyRange;
use vaquita_types::{Result, Value};

use super::slots::key_slots;
use super::{Builder, Frame, Operator, Pulse};

pub struct NestedLoop<'p> {
    kind: JoinKind,
    outer: Box<dyn Operator + 'p>,
    inner: Box<dyn Operator + 'p>,
    on: &'p [Expr],
    /// NULL when a LEFT JOIN finds no match.
    inner_slots: Vec<Slot>,
    /// `inner` is open for the outer row in the frame.
    inside: bool,
    matched: bool,
    pulse: Pulse,
}

impl<'p> NestedLoop<'p> {
    pub fn new(
        kind: JoinKind,
        outer: &'p Node,
        inner: &'p Node,
        on: &'p [Expr],
        inner_slots: &[Slot],
        builder: Builder<'_>,
    ) -> NestedLoop<'p> {
        let outer = builder.build(outer);
        let mut inner_slots = inner_slots.to_vec();
        key_slots(inner, &mut inner_slots);
        NestedLoop {
            kind,
            outer,
            inner: builder.again().build(inner),
            on,
            inner_slots,
            inside: false,
            matched: false,
            pulse: Pulse::default(),
        }
    }

    /// Moves to the next pair that fulfils ON.
    fn next_match(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        while self.inner.next(frame)? {
            self.pulse.beat(frame)?;
            if frame.all_true(self.on)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Operator for NestedLoop<'_> {
    fn pause_after(&mut self, rows: u64) -> bool {
        self.outer.pause_after(rows)
    }

    fn rest(&mut self) -> Vec<KeyRange> {
        self.outer.rest()
    }

    fn restrict(&mut self, ranges: &[KeyRange]) {
        self.outer.restrict(ranges);
    }

    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.inside = false;
        self.outer.open(frame)
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        loop {
            if self.inside {
                if self.next_match(frame)? {
                    self.matched = true;
                    return Ok(true);
                }
                self.inside = false;
                if self.kind == JoinKind::Left && !self.matched {
                    self.inner_slots.iter().for_each(|slot| frame.slots[*slot] = Value::Null);
                    return Ok(true);
                }
            }
            if !self.outer.next(frame)? {
                return Ok(false);
            }
            self.pulse.beat(frame)?;
            self.inner.open(frame)?;
            match self.kind {
                JoinKind::Inner | JoinKind::Left => {
                    self.inside = true;
                    self.matched = false;
                }
                JoinKind::Semi | JoinKind::Anti => {
                    if self.next_match(frame)? == (self.kind == JoinKind::Semi) {
                        return Ok(true);
                    }
                }
            }
        }
    }
}
