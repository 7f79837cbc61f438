//! A common table expression that is named more than once: its rows are made once in a statement, and every place that names it reads those.
//!
//! Two names are two copies of one plan. Whichever is read first keeps the rows, until the statement ends, also for subqueries that are
//! run again for each row. If they are too much for the statement's memory nobody keeps them, and each place makes its own.

use std::sync::Arc;

use vaquita_plan::expr::{Expr, Slot};
use vaquita_plan::node::QueryPlan;
use vaquita_types::Result;

use super::derived::Derived;
use super::sub_plan::SubPlan;
use super::{Builder, Frame, Operator, Pulse};
use crate::context::{Rows, SharedRows};

pub struct Shared<'p> {
    id: usize,
    plan: &'p Arc<QueryPlan>,
    /// Until it has been decided who makes the rows.
    source: Option<SubPlan<'p>>,
    /// Makes them for this place alone.
    own: Option<Derived<'p>>,
    slots: &'p [Slot],
    filter: &'p [Expr],
    keeps: bool,
    kept: Option<Arc<Rows>>,
    at: usize,
    pulse: Pulse,
}

impl<'p> Shared<'p> {
    pub fn new(
        id: usize,
        plan: &'p Arc<QueryPlan>,
        slots: &'p [Slot],
        filter: &'p [Expr],
        keeps: bool,
        builder: Builder<'_>,
    ) -> Shared<'p> {
        let source = Some(SubPlan::new(plan, builder));
        Shared { id, plan, source, own: None, slots, filter, keeps, kept: None, at: 0, pulse: Pulse::default() }
    }

    fn rows(&mut self, frame: &Frame<'_>) -> Result<SharedRows> {
        let statement = frame.statement;
        if let Some(shared) = statement.shared_rows.borrow().get(&self.id) {
            return Ok(shared.clone());
        }
        let made = match self.read_all(frame)? {
            Some(rows) => {
                statement.shared_bytes.set(statement.shared_bytes.get() + rows.kept_bytes());
                SharedRows::Kept(Arc::new(rows))
            }
            None => SharedRows::TooMany,
        };
        statement.shared_rows.borrow_mut().insert(self.id, made.clone());
        Ok(made)
    }

    /// All rows; `None` if there is no memory for them.
    fn read_all(&mut self, frame: &Frame<'_>) -> Result<Option<Rows>> {
        let mut rows = Rows::new(self.plan.output.len());
        let Some(mut source) = self.source.take() else { return Ok(None) };
        let cx = frame.cx();
        source.open(frame.statement, Some(&cx))?;
        let mut row = Vec::new();
        while source.next(frame.statement, Some(&cx), &mut row)? {
            self.pulse.beat(frame)?;
            rows.push(&mut row, frame.statement)?;
            if frame.statement.is_short_of_memory(|| rows.kept_bytes()) {
                rows.clear(frame.statement);
                return Ok(None);
            }
        }
        Ok(Some(rows))
    }
}

impl Operator for Shared<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.at = 0;
        if self.kept.is_none() && self.own.is_none() {
            match self.rows(frame)? {
                SharedRows::Kept(rows) => self.kept = Some(rows),
                SharedRows::TooMany => {
                    let builder = Builder::of(frame.statement);
                    self.own = Some(Derived::new(self.plan, self.slots, self.filter, self.keeps, builder));
                }
            }
            self.source = None;
        }
        match &mut self.own {
            Some(own) => own.open(frame),
            None => Ok(()),
        }
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(rows) = &self.kept else {
            return match &mut self.own {
                Some(own) => own.next(frame),
                None => Ok(false),
            };
        };
        while self.at < rows.len() {
            rows.restore(self.at, frame, self.slots);
            self.at += 1;
            self.pulse.beat(frame)?;
            if frame.all_true(self.filter)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
