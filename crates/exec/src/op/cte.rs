//! Recursive common table expressions.
//!
//! Rounds: the seed's rows are the first; each next one is what the recursive members make of the rows of the round
//! before, which they read through `CteRows`. It ends with a round without rows. A value becomes that of the seed's
//! column type as if a column stored it: in strict mode one that does not fit is an error, and so is what expressions warn of.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use vaquita_plan::env::Env;
use vaquita_plan::expr::{Expr, Slot};
use vaquita_plan::node::{Limit, OutputColumn, QueryPlan};
use vaquita_types::errno::ER_CTE_MAX_RECURSION_DEPTH;
use vaquita_types::{ColumnType, Error, Result, Value, sql_mode};

use super::kept_scan::KeptScan;
use super::limit::bounds;
use super::set_op::encode_row;
use super::sub_plan::SubPlan;
use super::{Builder, Frame, Operator, Pulse};
use crate::context::{KeptRows, KeyTable, Round, SessionEnv, store_in_variable, value_of_column};

pub struct RecursiveCte<'p> {
    id: usize,
    seed: &'p Arc<QueryPlan>,
    recursive: &'p [Arc<QueryPlan>],
    distinct: bool,
    limit: Option<&'p Limit>,
    slots: &'p [Slot],
    types: &'p [ColumnType],
    filter: &'p [Expr],
    /// Rows that OFFSET leaves out, and after how many rows LIMIT ends the rounds.
    skip: u64,
    rows_max: u64,
    /// All rounds' rows, once they have been made.
    rows: Option<Rc<RefCell<KeptRows>>>,
    scan: KeptScan,
    pulse: Pulse,
}

pub struct Members<'p> {
    pub seed: &'p Arc<QueryPlan>,
    pub recursive: &'p [Arc<QueryPlan>],
    pub distinct: bool,
    pub limit: Option<&'p Limit>,
}

impl<'p> RecursiveCte<'p> {
    pub fn new(
        id: usize,
        members: Members<'p>,
        slots: &'p [Slot],
        types: &'p [ColumnType],
        filter: &'p [Expr],
    ) -> RecursiveCte<'p> {
        let Members { seed, recursive, distinct, limit } = members;
        RecursiveCte {
            id,
            seed,
            recursive,
            distinct,
            limit,
            slots,
            types,
            filter,
            skip: 0,
            rows_max: u64::MAX,
            rows: None,
            scan: KeptScan::default(),
            pulse: Pulse::default(),
        }
    }

    fn run(&mut self, frame: &Frame<'_>) -> Result<Rc<RefCell<KeptRows>>> {
        let statement = frame.statement;
        let depth_max = depth_max(statement);
        if let Some(limit) = self.limit {
            let (skip, count) = bounds(limit, frame)?;
            (self.skip, self.rows_max) = (skip, skip.saturating_add(count));
        }
        let mut left = self.rows_max;
        let mut seen = KeyTable::new();
        let rows = Rc::new(RefCell::new(KeptRows::new(self.types.len())));
        let mut round = 0;
        self.read(self.seed, &rows, (&mut seen, &mut left), frame)?;
        let mut depth = 0u64;
        loop {
            let made = rows.borrow().len();
            if made == round || left == 0 {
                break;
            }
            depth += 1;
            if depth > depth_max {
                return Err(Error::new(&ER_CTE_MAX_RECURSION_DEPTH, &[&depth]));
            }
            let last = Round { rows: Rc::clone(&rows), numbers: round..made };
            statement.cte_rows.borrow_mut().insert(self.id, last);
            round = made;
            for member in self.recursive {
                self.read(member, &rows, (&mut seen, &mut left), frame)?;
            }
        }
        Ok(rows)
    }

    /// Adds the rows of `plan`, at most as many as are left under the limit.
    fn read(
        &mut self,
        plan: &'p QueryPlan,
        into: &RefCell<KeptRows>,
        (seen, left): (&mut KeyTable, &mut u64),
        frame: &Frame<'_>,
    ) -> Result<()> {
        let statement = frame.statement;
        let cx = frame.cx();
        let mut source = SubPlan::new(plan, Builder::of(statement));
        let (mut row, mut key) = (Vec::new(), Vec::new());
        source.open(statement, Some(&cx))?;
        while *left > 0 {
            let found = source.next(statement, Some(&cx), &mut row);
            statement.take_raised().map_or(Ok(()), Err)?;
            if !found? {
                break;
            }
            self.pulse.beat(frame)?;
            for ((value, ty), column) in row.iter_mut().zip(self.types).zip(&plan.output) {
                *value = convert(std::mem::take(value), ty, column, statement.session)?;
            }
            if self.distinct {
                encode_row(&row, self.types, statement, &mut key)?;
                if !seen.insert(&key, statement)?.1 {
                    row.clear();
                    continue;
                }
            }
            into.borrow_mut().push(&mut row, statement)?;
            *left -= 1;
        }
        Ok(())
    }
}

fn depth_max(env: &dyn Env) -> u64 {
    env.run_settings().cte_rounds_max
}

/// `value`, of the column's expression, as a column of type `ty` holds it: outside of strict mode the nearest one, without a word.
fn convert(value: Value, ty: &ColumnType, column: &OutputColumn, session: &dyn SessionEnv) -> Result<Value> {
    let from = &column.expr.ty;
    // A text may be longer than its own type says.
    if from == ty && !ty.is_bytes() {
        return Ok(value);
    }
    match sql_mode::is_strict(session.sql_mode()) {
        true => store_in_variable(value, from, &column.name, ty, session),
        false => Ok(value_of_column(value, from, ty, session)),
    }
}

impl Operator for RecursiveCte<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        if self.rows.is_none() {
            let made = frame.statement.raising(|| self.run(frame));
            frame.statement.cte_rows.borrow_mut().remove(&self.id);
            self.rows = Some(made?);
        }
        self.scan.go_to(usize::try_from(self.skip).unwrap_or(usize::MAX));
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(rows) = &self.rows else { return Ok(false) };
        let rows = rows.borrow();
        self.scan.next(&rows, rows.len(), (self.slots, self.filter), frame)
    }
}

/// The rows of the round before.
pub struct CteRows<'p> {
    id: usize,
    slots: &'p [Slot],
    filter: &'p [Expr],
    round: Option<Round>,
    scan: KeptScan,
}

impl<'p> CteRows<'p> {
    pub fn new(id: usize, slots: &'p [Slot], filter: &'p [Expr]) -> CteRows<'p> {
        CteRows { id, slots, filter, round: None, scan: KeptScan::default() }
    }
}

impl Operator for CteRows<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.round = frame.statement.cte_rows.borrow().get(&self.id).cloned();
        self.scan = KeptScan::default();
        self.scan.go_to(self.round.as_ref().map_or(0, |round| round.numbers.start));
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(round) = &self.round else {
            return Err(Error::internal("rows of a common table expression that is not running"));
        };
        self.scan.next(&round.rows.borrow(), round.numbers.end, (self.slots, self.filter), frame)
    }
}
