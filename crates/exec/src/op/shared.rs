//! A common table expression that is named more than once: its rows are made once in a statement, and every place that names it reads those.
//!
//! Two names are two copies of one plan. Whichever is read first keeps the rows, until the statement ends, also for subqueries that are
//! run again for each row.

use std::rc::Rc;
use std::sync::Arc;

use vaquita_plan::expr::{Expr, Slot};
use vaquita_plan::node::QueryPlan;
use vaquita_types::{Error, Result};

use super::sub_plan::SubPlan;
use super::{Builder, Frame, Operator, Pulse};
use crate::context::{KeptPlace, KeptRows};

pub struct Shared<'p> {
    id: usize,
    /// Until somebody has made the rows.
    source: Option<SubPlan<'p>>,
    slots: &'p [Slot],
    filter: &'p [Expr],
    kept: Option<Rc<KeptRows>>,
    at: usize,
    place: KeptPlace,
    pulse: Pulse,
}

impl<'p> Shared<'p> {
    pub fn new(id: usize, plan: &'p Arc<QueryPlan>, slots: &'p [Slot], filter: &'p [Expr], builder: Builder<'_>) -> Shared<'p> {
        let source = Some(SubPlan::new(plan, builder));
        Shared { id, source, slots, filter, kept: None, at: 0, place: KeptPlace::default(), pulse: Pulse::default() }
    }

    fn rows(&mut self, frame: &Frame<'_>) -> Result<Rc<KeptRows>> {
        let statement = frame.statement;
        let source = self.source.take();
        if let Some(shared) = statement.shared_rows.borrow().get(&self.id) {
            return Ok(Rc::clone(shared));
        }
        let Some(mut source) = source else { return Err(Error::internal("shared rows are gone")) };
        let mut rows = KeptRows::new(source.plan.output.len());
        let cx = frame.cx();
        source.open(statement, Some(&cx))?;
        let mut row = Vec::new();
        while source.next(statement, Some(&cx), &mut row)? {
            self.pulse.beat(frame)?;
            rows.push(&mut row, statement)?;
        }
        statement.keeps_until_end(rows.kept_bytes());
        let rows = Rc::new(rows);
        statement.shared_rows.borrow_mut().insert(self.id, Rc::clone(&rows));
        Ok(rows)
    }
}

impl Operator for Shared<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.at = 0;
        if self.kept.is_none() {
            self.kept = Some(self.rows(frame)?);
        }
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(rows) = &self.kept else { return Ok(false) };
        while self.at < rows.len() {
            rows.restore(self.at, &mut self.place, frame, self.slots)?;
            self.at += 1;
            self.pulse.beat(frame)?;
            if frame.all_true(self.filter)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
