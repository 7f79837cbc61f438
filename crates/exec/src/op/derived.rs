//! Derived tables and common table expressions.
//!
//! The rows stream through if they are read once. Under the inner side of a join, where the node is opened for each
//! outer row, they are kept from the first time on, in memory or on disk, unless the query depends on the outer row.

use std::sync::Arc;

use vaquita_plan::expr::{Expr, Slot};
use vaquita_plan::node::QueryPlan;
use vaquita_types::Result;

use super::sub_plan::SubPlan;
use super::{Builder, Frame, Operator, Pulse, give};
use crate::context::{KeptPlace, KeptRows};

pub struct Derived<'p> {
    source: SubPlan<'p>,
    slots: &'p [Slot],
    filter: &'p [Expr],
    keeps: bool,
    opened: bool,
    kept: Option<KeptRows>,
    at: usize,
    place: KeptPlace,
    row: Vec<vaquita_types::Value>,
    pulse: Pulse,
}

impl<'p> Derived<'p> {
    pub fn new(
        plan: &'p Arc<QueryPlan>,
        slots: &'p [Slot],
        filter: &'p [Expr],
        keeps: bool,
        builder: Builder<'_>,
    ) -> Derived<'p> {
        Derived {
            source: SubPlan::new(plan, builder),
            slots,
            filter,
            keeps,
            opened: false,
            kept: None,
            at: 0,
            place: KeptPlace::default(),
            row: Vec::new(),
            pulse: Pulse::default(),
        }
    }

    fn read_all(&mut self, frame: &Frame<'_>) -> Result<KeptRows> {
        let mut rows = KeptRows::new(self.source.plan.output.len());
        let cx = frame.cx();
        self.source.open(frame.statement, Some(&cx))?;
        self.row.clear();
        while self.source.next(frame.statement, Some(&cx), &mut self.row)? {
            self.pulse.beat(frame)?;
            rows.push(&mut self.row, frame.statement)?;
        }
        Ok(rows)
    }
}

impl Operator for Derived<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.at = 0;
        if !self.keeps {
            // What its operators have kept is of another outer row.
            if std::mem::replace(&mut self.opened, true) {
                self.source = SubPlan::new(self.source.plan, Builder::of(frame.statement));
            }
            return self.source.open(frame.statement, Some(&frame.cx()));
        }
        if self.kept.is_none() {
            self.kept = Some(self.read_all(frame)?);
        }
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        loop {
            match &self.kept {
                Some(rows) => {
                    if self.at >= rows.len() {
                        return Ok(false);
                    }
                    rows.restore(self.at, &mut self.place, frame, self.slots)?;
                    self.at += 1;
                }
                None => {
                    self.row.clear();
                    if !self.source.next(frame.statement, Some(&frame.cx()), &mut self.row)? {
                        return Ok(false);
                    }
                    give(&mut self.row, self.slots, frame);
                }
            }
            self.pulse.beat(frame)?;
            if frame.all_true(self.filter)? {
                return Ok(true);
            }
        }
    }
}
