//! Operators: one per `plan::node::Node`, pulling rows through a shared frame.
//!
//! `open` (re)starts an operator for the values that are in the frame now, so the inner side of a
//! nested loop is opened once per outer row; `next` fills the operator's slots with the next
//! row and says whether there was one. An operator that keeps rows saves the slots that its
//! node lists and puts them back.
//!
//! | node | file | keeps |
//! |---|---|---|
//! | Scan | `scan` and `row_filter`, `partitioned`, `values` (system tables) | nothing |
//! | a root that is a scan with a filter; groups in order | `gather` | rows of some morsels |
//! | NestedLoop, HashJoin | `join`, `hash_join` | nothing; the build side |
//! | Sort, Limit, Distinct | `sort`, `limit`, `distinct` | rows and keys, or the first few; nothing; keys |
//! | Aggregate, Window | `aggregate`, `window` | groups; all rows |
//! | Derived, SetOp, Values | `derived`, `set_op`, `values` | rows if opened again and again; keys; nothing |
//! | JsonTable | `json_table` | the document |
//! | RecursiveCte, CteRows | `cte` | all rows |
//!
//! For EXPLAIN ANALYZE each is inside one that counts and times it (`measured`).
//!
//! Kept rows are `context::Rows`, compared as the bytes that `key` makes of them, found in a `context::KeyTable`. When memory ends operators
//! go on with rows on disk, sorted by such bytes (`overflow`) or in the order in which they came (`context::KeptRows`).

mod aggregate;
mod append;
mod cte;
mod derived;
mod distinct;
mod gather;
mod hash_join;
mod join;
mod json_table;
mod kept_scan;
mod key;
mod limit;
mod measured;
mod overflow;
mod parallel;
mod partitioned;
mod row_filter;
mod scan;
mod set_op;
mod slots;
mod sort;
mod sort_distinct;
mod sub_plan;
mod values;
mod window;

use vaquita_plan::expr::{CompareOp, Expr, Slot};
use vaquita_plan::node::{AccessPath, Node};
use vaquita_storage::KeyRange;
use vaquita_types::{Result, Value};

pub(crate) use key::{are_alike, encode_as as encode_join_value};
pub use limit::bounds as limit_bounds;
pub use scan::{TableScan, scan_ranges};
pub use sub_plan::SubPlan;

use crate::context::{Execution, Frame, Measures};
use derived::Keep;

pub trait Operator {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()>;
    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool>;

    /// Rows that an OFFSET has left out so far.
    fn skipped(&self) -> u64 {
        0
    }

    /// The number of the rows that are left, which are not given; `None`, and nothing done, if the operator would have to make them.
    fn count_rest(&mut self, _frame: &mut Frame<'_>) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Goes on to `rows` rows of the scan that it reads first, and then acts as if there were no more. False if it does not know how.
    fn pause_after(&mut self, _rows: u64) -> bool {
        false
    }

    /// After that: what the scan has not read. It goes on when it is asked for the next row.
    fn rest(&mut self) -> Vec<KeyRange> {
        Vec::new()
    }

    /// The scan reads these ranges and nothing else.
    fn restrict(&mut self, _ranges: &[KeyRange]) {}

    /// From here on rows for which `column op value` is false may be left out: they would come behind all that is wanted.
    /// False if the operator does not know how.
    fn cut(&mut self, _column: &Expr, _op: CompareOp, _value: &Value, _frame: &Frame<'_>) -> bool {
        false
    }
}

/// Makes the operators of nodes.
#[derive(Clone, Copy)]
pub struct Builder<'m> {
    /// What is made is opened for each row of another operator.
    again: bool,
    measures: Option<&'m Measures>,
}

impl<'m> Builder<'m> {
    /// For operators that this statement opens once.
    pub fn of(statement: &Execution<'m>) -> Builder<'m> {
        Builder { again: false, measures: statement.measures }
    }

    fn again(self) -> Builder<'m> {
        Builder { again: true, ..self }
    }

    fn once(self) -> Builder<'m> {
        Builder { again: false, ..self }
    }

    fn is_again(self) -> bool {
        self.again
    }

    /// The operator of a plan's root, from which rows are taken one after the other as long as anybody wants them.
    pub fn root(self, node: &Node) -> Box<dyn Operator + '_> {
        match node {
            Node::Limit { input, limit } if gather::applies(input) => {
                let input = Box::new(gather::Gather::new(input, Some(limit), self));
                self.measured(node, Box::new(limit::Limit::over(input, limit)))
            }
            _ if gather::applies(node) => Box::new(gather::Gather::new(node, None, self)),
            _ => self.build(node),
        }
    }

    pub fn build(self, node: &Node) -> Box<dyn Operator + '_> {
        if !self.again && gather::applies_to_groups(node) {
            return Box::new(gather::Gather::new(node, None, self));
        }
        self.measured(node, operator(node, self))
    }

    /// An aggregation, or a filter of one, on this thread.
    fn build_groups(self, node: &Node) -> Box<dyn Operator + '_> {
        match node {
            Node::Filter { input, predicate } => {
                self.measured(node, Box::new(Filter { input: self.build_groups(input), predicate }))
            }
            _ => self.measured(node, operator(node, self)),
        }
    }

    /// EXPLAIN ANALYZE counts and times what an operator gives.
    fn measured<'p>(self, node: &'p Node, operator: Box<dyn Operator + 'p>) -> Box<dyn Operator + 'p> {
        match self.measures {
            None => operator,
            Some(measures) => Box::new(measured::Measured::new(operator, measures.of(node))),
        }
    }
}

fn operator<'p>(node: &'p Node, builder: Builder<'_>) -> Box<dyn Operator + 'p> {
    match node {
        Node::One => Box::new(One { given: false }),
        Node::Empty => Box::new(Empty),
        Node::Scan(scan) if matches!(scan.path, AccessPath::System) => Box::new(values::SystemScan::new(scan)),
        Node::Scan(scan) => match &scan.partitions {
            None => Box::new(scan::TableScan::new(scan)),
            Some(partitions) => Box::new(partitioned::PartitionedScan::new(scan, partitions)),
        },
        Node::Derived { plan, slots, filter, correlated, shared } => {
            let keep = match shared {
                Some(shared) if shared.is_shared() => Keep::Statement(shared.id),
                _ if builder.again && !*correlated => Keep::Operator,
                _ => Keep::Nobody,
            };
            Box::new(derived::Derived::new(plan, slots, filter, keep, builder))
        }
        Node::Filter { input, predicate } => Box::new(Filter { input: builder.build(input), predicate }),
        Node::NestedLoop { kind, outer, inner, on, inner_slots } => {
            Box::new(join::NestedLoop::new(*kind, outer, inner, on, inner_slots, builder))
        }
        Node::HashJoin { kind, probe, build, probe_keys, build_keys, compare, on, build_slots } => {
            let sides = hash_join::Sides { probe, build, probe_keys, build_keys, build_slots };
            Box::new(hash_join::HashJoin::new(*kind, sides, compare, on, builder))
        }
        Node::Sort { input, keys, limit, saved } => match &**input {
            Node::Distinct { input, keys: distinct } if limit.is_none() && sort_distinct::applies(keys, distinct) => {
                Box::new(sort_distinct::SortDistinct::new(input, distinct, saved, builder))
            }
            _ => Box::new(sort::Sort::new(input, keys, limit.as_ref(), saved, builder)),
        },
        // A few groups are made as they are asked for.
        Node::Limit { input, limit } if gather::applies_to_groups(input) => {
            Box::new(limit::Limit::over(builder.build_groups(input), limit))
        }
        Node::Limit { input, limit } => Box::new(limit::Limit::over(builder.build(input), limit)),
        Node::Append { inputs } => Box::new(append::Append::new(inputs, builder)),
        Node::Aggregate { input, keys, aggregates, saved, sorted_input, rollup } => {
            aggregate::build_aggregate(input, keys, aggregates, saved, (*sorted_input, *rollup), builder)
        }
        Node::Distinct { input, keys } => Box::new(distinct::Distinct::new(input, keys, builder)),
        Node::Compute { input, values } => Box::new(Compute { input: builder.build(input), values }),
        Node::SetOp { op, all, inputs, slots, types } => Box::new(set_op::SetOp::new((*op, *all), inputs, slots, types, builder)),
        Node::JsonTable { document, table } => Box::new(json_table::JsonTable::new(document, table)),
        Node::Values { rows, slots } => Box::new(values::Values::new(rows, slots)),
        Node::Window { input, windows, saved } => Box::new(window::Window::new(input, windows, saved, builder)),
        Node::RowCount { table, slot } => Box::new(values::RowCount::new(table, *slot)),
        Node::RecursiveCte { id, seed, recursive, distinct, slots, types, filter, limit } => {
            let members = cte::Members { seed, recursive, distinct: *distinct, limit: limit.as_ref() };
            Box::new(cte::RecursiveCte::new(*id, members, slots, types, filter))
        }
        Node::CteRows { id, slots, filter } => Box::new(cte::CteRows::new(*id, slots, filter)),
    }
}

/// Looks at the statement's interrupt now and then.
#[derive(Default)]
struct Pulse(u32);

impl Pulse {
    const ROWS: u32 = 1 << 10;

    fn beat(&mut self, frame: &Frame<'_>) -> Result<()> {
        self.0 += 1;
        if self.0 < Self::ROWS {
            return Ok(());
        }
        self.0 = 0;
        frame.statement.interrupt.check_in_turn()
    }
}

/// Moves a row's values into slots.
fn give(row: &mut Vec<Value>, slots: &[Slot], frame: &mut Frame<'_>) {
    for (value, &slot) in row.drain(..).zip(slots) {
        frame.slots[slot] = value;
    }
}

struct One {
    given: bool,
}

impl Operator for One {
    fn open(&mut self, _: &mut Frame<'_>) -> Result<()> {
        self.given = false;
        Ok(())
    }

    fn next(&mut self, _: &mut Frame<'_>) -> Result<bool> {
        Ok(!std::mem::replace(&mut self.given, true))
    }
}

struct Empty;

impl Operator for Empty {
    fn open(&mut self, _: &mut Frame<'_>) -> Result<()> {
        Ok(())
    }

    fn next(&mut self, _: &mut Frame<'_>) -> Result<bool> {
        Ok(false)
    }
}

/// Puts values of each row into slots.
struct Compute<'p> {
    input: Box<dyn Operator + 'p>,
    values: &'p [(Expr, Slot)],
}

impl Operator for Compute<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.input.open(frame)
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if !self.input.next(frame)? {
            return Ok(false);
        }
        for (expr, slot) in self.values {
            let value = expr.eval(&frame.cx())?.into_owned();
            frame.slots[*slot] = value;
        }
        frame.statement.interrupt.check_in_turn()?;
        Ok(true)
    }
}

struct Filter<'p> {
    input: Box<dyn Operator + 'p>,
    predicate: &'p [Expr],
}

impl Operator for Filter<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.input.open(frame)
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        while self.input.next(frame)? {
            if frame.all_true(self.predicate)? {
                return Ok(true);
            }
            // One load: what is evaluated for a row may take long.
            frame.statement.interrupt.check_in_turn()?;
        }
        Ok(false)
    }

    fn pause_after(&mut self, rows: u64) -> bool {
        self.input.pause_after(rows)
    }

    fn rest(&mut self) -> Vec<KeyRange> {
        self.input.rest()
    }

    fn restrict(&mut self, ranges: &[KeyRange]) {
        self.input.restrict(ranges);
    }

    fn cut(&mut self, column: &Expr, op: CompareOp, value: &Value, frame: &Frame<'_>) -> bool {
        self.input.cut(column, op, value, frame)
    }
}
