//! Counts and times what another operator gives, for EXPLAIN ANALYZE.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use vaquita_plan::expr::{CompareOp, Expr};
use vaquita_storage::KeyRange;
use vaquita_types::{Result, Value};

use super::Operator;
use crate::context::{Counter, Frame};

pub(super) struct Measured<'p> {
    operator: Box<dyn Operator + 'p>,
    counter: Arc<Counter>,
    /// Nanoseconds since it was opened, while there is no row.
    before_first: Option<u64>,
}

impl<'p> Measured<'p> {
    pub(super) fn new(operator: Box<dyn Operator + 'p>, counter: Arc<Counter>) -> Measured<'p> {
        Measured { operator, counter, before_first: None }
    }

    fn timed<T>(&mut self, f: impl FnOnce(&mut dyn Operator) -> T) -> T {
        let begin = Instant::now();
        let done = f(&mut *self.operator);
        let spent = begin.elapsed().as_nanos() as u64;
        self.counter.total_ns.fetch_add(spent, Ordering::Relaxed);
        if let Some(before) = &mut self.before_first {
            *before += spent;
        }
        done
    }

    fn gave(&mut self, rows: u64) {
        self.counter.rows.fetch_add(rows, Ordering::Relaxed);
        if let Some(spent) = self.before_first.take() {
            self.counter.first_ns.fetch_add(spent, Ordering::Relaxed);
        }
    }
}

impl Operator for Measured<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.counter.loops.fetch_add(1, Ordering::Relaxed);
        self.before_first = Some(0);
        self.timed(|operator| operator.open(frame))
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let found = self.timed(|operator| operator.next(frame))?;
        self.gave(u64::from(found));
        Ok(found)
    }

    fn skipped(&self) -> u64 {
        self.operator.skipped()
    }

    fn count_rest(&mut self, frame: &mut Frame<'_>) -> Result<Option<u64>> {
        let rows = self.timed(|operator| operator.count_rest(frame))?;
        if let Some(rows) = rows {
            self.gave(rows);
        }
        Ok(rows)
    }

    fn pause_after(&mut self, rows: u64) -> bool {
        self.operator.pause_after(rows)
    }

    fn rest(&mut self) -> Vec<KeyRange> {
        self.operator.rest()
    }

    fn restrict(&mut self, ranges: &[KeyRange]) {
        self.operator.restrict(ranges);
    }

    fn cut(&mut self, column: &Expr, op: CompareOp, value: &Value, frame: &Frame<'_>) -> bool {
        self.operator.cut(column, op, value, frame)
    }
}
