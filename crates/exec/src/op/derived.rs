//! Derived tables and common table expressions.
//!
//! The rows stream through if they are read once. Under the inner side of a join, where the node is opened for each outer row, they are kept from
//! the first time on, in memory or on disk, unless the query depends on the outer row. Rows of a common table expression that is named
//! more than once are kept until the statement ends, also for subqueries that are run again for each row: two names are two copies of one
//! plan, and whichever is read first makes the rows of both.

use std::rc::Rc;
use std::sync::Arc;

use vaquita_plan::expr::{Expr, Slot};
use vaquita_plan::node::QueryPlan;
use vaquita_types::{Result, Value};

use super::kept_scan::KeptScan;
use super::sub_plan::SubPlan;
use super::{Builder, Frame, Operator, Pulse, give};
use crate::context::KeptRows;

/// For whom rows are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// They stream.
    Nobody,
    Operator,
    /// All places of the statement that have this number.
    Statement(usize),
}

pub struct Derived<'p> {
    source: SubPlan<'p>,
    slots: &'p [Slot],
    filter: &'p [Expr],
    keep: Keep,
    opened: bool,
    kept: Option<Rc<KeptRows>>,
    scan: KeptScan,
    row: Vec<Value>,
    pulse: Pulse,
}

impl<'p> Derived<'p> {
    pub fn new(plan: &'p Arc<QueryPlan>, slots: &'p [Slot], filter: &'p [Expr], keep: Keep, builder: Builder<'_>) -> Derived<'p> {
        Derived {
            source: SubPlan::new(plan, builder),
            slots,
            filter,
            keep,
            opened: false,
            kept: None,
            scan: KeptScan::default(),
            row: Vec::new(),
            pulse: Pulse::default(),
        }
    }

    fn rows(&mut self, frame: &Frame<'_>) -> Result<Rc<KeptRows>> {
        let statement = frame.statement;
        let Keep::Statement(id) = self.keep else { return self.read_all(frame) };
        if let Some(shared) = statement.shared_rows.borrow().get(&id) {
            return Ok(Rc::clone(shared));
        }
        let rows = self.read_all(frame)?;
        statement.keeps_until_end(rows.kept_bytes());
        statement.shared_rows.borrow_mut().insert(id, Rc::clone(&rows));
        Ok(rows)
    }

    fn read_all(&mut self, frame: &Frame<'_>) -> Result<Rc<KeptRows>> {
        let mut rows = KeptRows::new(self.source.plan.output.len());
        let cx = frame.cx();
        self.source.open(frame.statement, Some(&cx))?;
        self.row.clear();
        while self.source.next(frame.statement, Some(&cx), &mut self.row)? {
            self.pulse.beat(frame)?;
            rows.push(&mut self.row, frame.statement)?;
        }
        Ok(Rc::new(rows))
    }
}

impl Operator for Derived<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        if self.keep == Keep::Nobody {
            // What its operators have kept is of another outer row.
            if std::mem::replace(&mut self.opened, true) {
                self.source = SubPlan::new(self.source.plan, Builder::of(frame.statement));
            }
            return self.source.open(frame.statement, Some(&frame.cx()));
        }
        self.scan.go_to(0);
        if self.kept.is_none() {
            self.kept = Some(self.rows(frame)?);
        }
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if let Some(rows) = &self.kept {
            return self.scan.next(rows, rows.len(), (self.slots, self.filter), frame);
        }
        loop {
            self.row.clear();
            if !self.source.next(frame.statement, Some(&frame.cx()), &mut self.row)? {
                return Ok(false);
            }
            give(&mut self.row, self.slots, frame);
            self.pulse.beat(frame)?;
            if frame.all_true(self.filter)? {
                return Ok(true);
            }
        }
    }
}
