//! Derived tables and common table expressions.
//!
//! The rows stream through if they are read once. Under the inner side of a join, where the node is opened for each outer row, they are kept from
//! the first time on, in memory or on disk, unless the query depends on the outer row. Rows of a common table expression that is named
//! more than once are kept until the statement ends: two names are two copies of one plan, and whichever is read first makes the rows of both.
//! So are those of a derived table in a subquery that is run again for each row. Whoever reads kept rows again and again under an equality looks them up (`lookup`).

mod lookup;

use std::rc::Rc;
use std::sync::Arc;

use vaquita_plan::expr::{Expr, Slot};
use vaquita_plan::node::QueryPlan;
use vaquita_types::{Result, Value};

use self::lookup::{Equality, chains, equalities, wanted};
use super::kept_scan::KeptScan;
use super::sub_plan::SubPlan;
use super::{Builder, Frame, Operator, Pulse, give};
use crate::context::{Chains, KeptRows, SharedRows};

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
    kept: Option<Rc<SharedRows>>,
    /// What the filter says equals something outside of the rows, if rows are kept.
    equalities: Vec<Equality<'p>>,
    lookup: Option<Rc<Chains>>,
    /// The next row of those that were looked up.
    candidate: Option<usize>,
    key: Vec<u8>,
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
            equalities: if keep == Keep::Nobody { Vec::new() } else { equalities(filter, slots) },
            lookup: None,
            candidate: None,
            key: Vec::new(),
            scan: KeptScan::default(),
            row: Vec::new(),
            pulse: Pulse::default(),
        }
    }

    fn rows(&mut self, frame: &Frame<'_>) -> Result<Rc<SharedRows>> {
        let statement = frame.statement;
        let Keep::Statement(id) = self.keep else { return self.read_all(frame) };
        if let Some(shared) = statement.shared_rows.borrow().get(&id) {
            return Ok(Rc::clone(shared));
        }
        let rows = self.read_all(frame)?;
        statement.shared_rows.borrow_mut().insert(id, Rc::clone(&rows));
        Ok(rows)
    }

    fn read_all(&mut self, frame: &Frame<'_>) -> Result<Rc<SharedRows>> {
        let mut rows = KeptRows::new(self.source.plan.output.len());
        let cx = frame.cx();
        self.source.open(frame.statement, Some(&cx))?;
        self.row.clear();
        while self.source.next(frame.statement, Some(&cx), &mut self.row)? {
            self.pulse.beat(frame)?;
            rows.push(&mut self.row, frame.statement)?;
        }
        Ok(Rc::new(SharedRows::new(rows)))
    }

    /// Finds the first of the rows that equal what the filter compares them with.
    fn look_up(&mut self, kept: &SharedRows, frame: &Frame<'_>) -> Result<()> {
        let (by, pulse) = (&self.equalities, &mut self.pulse);
        // The filter of a place is where its plan has it.
        let place = self.filter.as_ptr().addr();
        self.lookup = kept.lookup(place, |rows| Ok(chains(rows, by, pulse, frame)?.map(Rc::new)))?;
        if let Some(lookup) = &self.lookup {
            let is_wanted = wanted(&self.equalities, &frame.cx(), &mut self.key)?;
            self.candidate = if is_wanted { lookup.first(&self.key) } else { None };
        }
        Ok(())
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
        let kept = match self.kept.take() {
            Some(kept) => kept,
            None => self.rows(frame)?,
        };
        if !self.equalities.is_empty() {
            self.look_up(&kept, frame)?;
        }
        self.kept = Some(kept);
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if let (Some(kept), Some(lookup)) = (&self.kept, &self.lookup) {
            while let Some(row) = self.candidate {
                self.candidate = lookup.after(row);
                self.scan.go_to(row);
                if self.scan.next(&kept.rows, row + 1, (self.slots, self.filter), frame)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        if let Some(SharedRows { rows, .. }) = self.kept.as_deref() {
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
