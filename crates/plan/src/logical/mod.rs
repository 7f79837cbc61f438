//! The logical tree of a query: what is asked, before anybody has decided how it is found.
//!
//! `bind` makes it, the named rewrites of `rewrite` change it, `optimize` plans it. From the root down a block's nodes stand in this order,
//! each only where the block has it:
//!
//! ```text
//! Limit, Sort, Distinct, Window, Having, Aggregate, Filter (WHERE), then joins of relations
//! ```
//!
//! Example: `SELECT b FROM t JOIN u ON t.id = u.id WHERE a = 1 ORDER BY b` is
//! `Sort (b) over Filter (a = 1) over Join (t.id = u.id) of t and u`. Merging a derived table into the block leaves its WHERE as a
//! `Filter` among the joins.
//!
//! A set operation or VALUES stands where the joins of a block would, under Sort and Limit alone. Its inputs, derived tables and CTEs are
//! queries of their own, in frames of their own (`Query`), and the tree holds them until the walk of `optimize` comes to them.
//! A subquery of an expression stands beside the tree (`Query::subqueries`); the expression has its number, and knows what it gives and
//! reads (`BoundSubquery`).

pub(crate) mod dependencies;
mod expressions;
pub(crate) mod hints;
pub(crate) mod merge;
mod not_null;
mod relation;
pub(crate) mod text;

pub(crate) use expressions::outside_reads;
pub(crate) use hints::BlockHints;
pub(crate) use not_null::is_null_with;
pub(crate) use relation::{ColumnValue, Relation, RelationColumn, Set, Source, Tables, UsedView, bit, same_name, set_of};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vaquita_types::{ColumnType, Error, Result};

use crate::expr::{Expr, Slot};
use crate::json_table::JsonTable;
use crate::node::{Aggregate, JoinKind, Limit, OutputColumn, QueryPlan, SetOpKind, SortKey, WindowFunction};
use crate::visit;

/// A bound query: its tree, and the frame whose slots the tree fills.
#[derive(Debug)]
pub(crate) struct Query {
    pub block: LogicalBlock,
    pub relations: Vec<Relation>,
    /// As `Tables::owners`.
    pub owners: Vec<Option<usize>>,
    /// Slots of the frame.
    pub width: usize,
    pub locking: bool,
    /// Those of the block's expressions, by `Subquery::id`.
    pub subqueries: Subqueries,
    /// The output as what is around the query wants it (`output_mut`). What the block does with its output, it does with its own.
    adapted: Option<Vec<OutputColumn>>,
}

impl Query {
    pub fn new(
        block: LogicalBlock,
        relations: Vec<Relation>,
        owners: Vec<Option<usize>>,
        subqueries: Subqueries,
        locking: bool,
    ) -> Query {
        let width = owners.len();
        Query { block, relations, owners, width, locking, subqueries, adapted: None }
    }

    pub fn output(&self) -> &[OutputColumn] {
        match (&self.adapted, &self.block.read) {
            (Some(output), _) | (None, Read::Output(output)) => output,
            (None, Read::Slots(_)) => &[],
        }
    }

    /// The output, to give it other types or names.
    pub fn output_mut(&mut self) -> &mut Vec<OutputColumn> {
        let own = match &self.block.read {
            Read::Output(output) => output,
            Read::Slots(_) => &Vec::new(),
        };
        self.adapted.get_or_insert_with(|| own.clone())
    }

    pub fn take_adapted(&mut self) -> Option<Vec<OutputColumn>> {
        self.adapted.take()
    }
}

pub(crate) type Subqueries = Vec<(usize, Inner)>;

/// A query whose rows a relation or an expression wants: bound first, and a plan once the walk of `optimize` has come to it.
#[derive(Debug)]
pub(crate) struct Inner {
    bound: Option<Box<Query>>,
    plan: Option<Arc<QueryPlan>>,
}

impl Inner {
    pub fn new(query: Query) -> Inner {
        Inner { bound: Some(Box::new(query)), plan: None }
    }

    pub fn bound(&self) -> Option<&Query> {
        self.bound.as_deref()
    }

    pub fn bound_mut(&mut self) -> Option<&mut Query> {
        self.bound.as_deref_mut()
    }

    pub fn into_bound(self) -> Option<Query> {
        self.bound.map(|query| *query)
    }

    /// Puts the plan that `plan` makes in the place of the query.
    pub fn plan_by(&mut self, plan: impl FnOnce(Query) -> Result<QueryPlan>) -> Result<()> {
        if let Some(query) = self.bound.take() {
            self.plan = Some(Arc::new(plan(*query)?));
        }
        Ok(())
    }

    pub fn plan(&self) -> Result<&Arc<QueryPlan>> {
        self.plan.as_ref().ok_or_else(|| Error::internal("a query inside of another is not planned"))
    }
}

#[derive(Debug)]
pub(crate) struct LogicalBlock {
    pub root: Logical,
    pub read: Read,
    /// SELECT STRAIGHT_JOIN and JOIN_FIXED_ORDER: tables are joined in the order of FROM.
    pub straight: bool,
    /// SELECT SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
    pub facts: Arc<StatementFacts>,
    pub hints: BlockHints,
}

/// What planning a block must know of the whole statement.
#[derive(Debug, Default)]
pub(crate) struct StatementFacts {
    /// What escapes a character in a pattern of LIKE without ESCAPE.
    pub escape: Option<u32>,
    /// It has an `@name := value`, so that no variable is the same for all rows.
    pub assigns: AtomicBool,
}

impl StatementFacts {
    pub fn assigns(&self) -> bool {
        self.assigns.load(Ordering::Relaxed)
    }
}

/// What the statement takes of each row of a block.
#[derive(Debug)]
pub(crate) enum Read {
    Output(Vec<OutputColumn>),
    /// UPDATE and DELETE: these slots.
    Slots(Vec<Slot>),
}

impl Read {
    pub fn slots(&self) -> Vec<Slot> {
        match self {
            Read::Output(output) => output.iter().flat_map(|o| visit::slots(&o.expr)).collect(),
            Read::Slots(slots) => slots.clone(),
        }
    }
}

#[derive(Debug)]
pub(crate) enum Logical {
    /// One row without columns: no FROM.
    One,
    /// No row.
    Empty,
    /// The table, derived table or CTE at this position of the block's relations.
    Relation(usize),
    /// UNION, INTERSECT or EXCEPT of queries with as many columns as there are `slots`.
    SetOp {
        op: SetOpKind,
        all: bool,
        inputs: Vec<Query>,
        slots: Vec<Slot>,
        types: Vec<ColumnType>,
    },
    /// `VALUES ROW(…), …`
    Values {
        rows: Vec<Vec<Expr>>,
        slots: Vec<Slot>,
    },
    JsonTable {
        document: Expr,
        table: Arc<JsonTable>,
    },
    /// A query in parentheses under an ORDER BY or LIMIT of its own.
    Nested {
        query: Box<Query>,
        slots: Vec<Slot>,
        correlated: bool,
    },
    /// `on` of a semijoin or antijoin holds all that the subquery asks.
    Join {
        kind: JoinKind,
        /// STRAIGHT_JOIN: the left side is read first.
        straight: bool,
        left: Box<Logical>,
        right: Box<Logical>,
        on: Vec<Expr>,
    },
    Filter {
        input: Box<Logical>,
        predicate: Vec<Expr>,
    },
    /// One row with the number of rows of a table, which storage knows.
    RowCount {
        relation: usize,
        slot: Slot,
    },
    /// One row for each group of equal keys, or for all rows if there is no key. What is above names the keys by these slots.
    Aggregate {
        input: Box<Logical>,
        keys: Vec<(Expr, Slot)>,
        aggregates: Vec<Aggregate>,
        rollup: bool,
    },
    Having {
        input: Box<Logical>,
        predicate: Vec<Expr>,
    },
    Window {
        input: Box<Logical>,
        windows: Vec<WindowFunction>,
    },
    /// Values that change with each evaluation and that several clauses read: RAND() AS r … ORDER BY r.
    Compute {
        input: Box<Logical>,
        values: Vec<(Expr, Slot)>,
    },
    /// Rows of equal output once.
    Distinct {
        input: Box<Logical>,
    },
    Sort {
        input: Box<Logical>,
        keys: Vec<SortKey>,
    },
    Limit {
        input: Box<Logical>,
        limit: Limit,
    },
}

impl Logical {
    /// What this node takes its rows from, if that is one other.
    pub fn input(&self) -> Option<&Logical> {
        match self {
            Logical::Filter { input, .. }
            | Logical::Aggregate { input, .. }
            | Logical::Having { input, .. }
            | Logical::Window { input, .. }
            | Logical::Compute { input, .. }
            | Logical::Distinct { input }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. } => Some(input),
            Logical::One
            | Logical::Empty
            | Logical::Relation(_)
            | Logical::Join { .. }
            | Logical::RowCount { .. }
            | Logical::SetOp { .. }
            | Logical::Values { .. }
            | Logical::JsonTable { .. }
            | Logical::Nested { .. } => None,
        }
    }

    pub fn input_mut(&mut self) -> Option<&mut Box<Logical>> {
        match self {
            Logical::Filter { input, .. }
            | Logical::Aggregate { input, .. }
            | Logical::Having { input, .. }
            | Logical::Window { input, .. }
            | Logical::Compute { input, .. }
            | Logical::Distinct { input }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. } => Some(input),
            Logical::One
            | Logical::Empty
            | Logical::Relation(_)
            | Logical::Join { .. }
            | Logical::RowCount { .. }
            | Logical::SetOp { .. }
            | Logical::Values { .. }
            | Logical::JsonTable { .. }
            | Logical::Nested { .. } => None,
        }
    }

    /// WHERE and what is below it: the part without grouping, order and limit.
    pub fn rows_mut(&mut self) -> &mut Logical {
        let is_above = matches!(
            self,
            Logical::Aggregate { .. }
                | Logical::Having { .. }
                | Logical::Window { .. }
                | Logical::Compute { .. }
                | Logical::Distinct { .. }
                | Logical::Sort { .. }
                | Logical::Limit { .. }
        );
        if !is_above {
            return self;
        }
        match self {
            Logical::Aggregate { input, .. }
            | Logical::Having { input, .. }
            | Logical::Window { input, .. }
            | Logical::Compute { input, .. }
            | Logical::Distinct { input }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. } => input.rows_mut(),
            rows => rows,
        }
    }

    /// The queries that stand in the tree itself.
    pub fn queries_mut(&mut self, f: &mut dyn FnMut(&mut Query) -> Result<()>) -> Result<()> {
        match self {
            Logical::SetOp { inputs, .. } => inputs.iter_mut().try_for_each(f),
            Logical::Nested { query, .. } => f(query),
            other => other.input_mut().map_or(Ok(()), |input| input.queries_mut(f)),
        }
    }

    /// `self` under ORDER BY and LIMIT, as far as there are any.
    pub fn sorted(self, keys: Vec<SortKey>, limit: Option<Limit>) -> Logical {
        let mut root = self;
        if !keys.is_empty() {
            root = Logical::Sort { input: Box::new(root), keys };
        }
        match limit {
            Some(limit) => Logical::Limit { input: Box::new(root), limit },
            None => root,
        }
    }

    /// `self` with these values of each row, if there are any.
    pub fn computing(self, values: Vec<(Expr, Slot)>) -> Logical {
        if values.is_empty() { self } else { Logical::Compute { input: Box::new(self), values } }
    }

    /// `self` under a condition, if there is one.
    pub fn filtered(self, predicate: Vec<Expr>) -> Logical {
        if predicate.is_empty() { self } else { Logical::Filter { input: Box::new(self), predicate } }
    }

    /// Nothing but joined relations under conditions.
    pub fn is_joins(&self) -> bool {
        match self {
            Logical::Relation(_) => true,
            Logical::Filter { input, .. } => input.is_joins(),
            Logical::Join { left, right, .. } => left.is_joins() && right.is_joins(),
            _ => false,
        }
    }

    /// The conditions that every row of joined relations satisfies.
    pub fn inner_conditions<'t>(&'t self, out: &mut Vec<&'t Expr>) {
        match self {
            Logical::Filter { input, predicate } => {
                out.extend(predicate);
                input.inner_conditions(out);
            }
            Logical::Join { kind, left, right, on, .. } => {
                left.inner_conditions(out);
                if *kind == JoinKind::Inner {
                    out.extend(on);
                    right.inner_conditions(out);
                }
            }
            _ => {}
        }
    }

    /// The outer joins: what each adds, and under which conditions.
    pub fn outer_joins<'t>(&'t self, out: &mut Vec<(&'t Logical, &'t [Expr])>) {
        match self {
            Logical::Filter { input, .. } => input.outer_joins(out),
            Logical::Join { kind, left, right, on, .. } => {
                left.outer_joins(out);
                right.outer_joins(out);
                if *kind == JoinKind::Left {
                    out.push((right, on));
                }
            }
            _ => {}
        }
    }

    pub fn relations(&self, out: &mut Vec<usize>) {
        match self {
            Logical::Relation(relation) => out.push(*relation),
            Logical::Filter { input, .. } => input.relations(out),
            Logical::Join { left, right, .. } => {
                left.relations(out);
                right.relations(out);
            }
            _ => {}
        }
    }
}
