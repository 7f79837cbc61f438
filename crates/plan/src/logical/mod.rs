//! The logical tree of a query block: what is asked, before anybody has decided how it is found.
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
//! Subqueries and derived tables are blocks of their own, planned before the one around them, which holds their plans. UNION and VALUES
//! have no logical node: there is nothing to decide about them.

mod relation;
pub(crate) mod text;

pub(crate) use relation::{ColumnValue, Relation, RelationColumn, Set, Source, Tables, bit, same_name, set_of};

use crate::expr::{Expr, Slot};
use crate::node::{Aggregate, JoinKind, Limit, OutputColumn, SortKey, WindowFunction};
use crate::visit;

#[derive(Debug)]
pub(crate) struct LogicalBlock {
    pub root: Logical,
    pub read: Read,
    /// SELECT STRAIGHT_JOIN: tables are joined in the order of FROM.
    pub straight: bool,
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
            | Logical::Distinct { input }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. } => Some(input),
            Logical::One | Logical::Empty | Logical::Relation(_) | Logical::Join { .. } | Logical::RowCount { .. } => None,
        }
    }

    pub fn input_mut(&mut self) -> Option<&mut Box<Logical>> {
        match self {
            Logical::Filter { input, .. }
            | Logical::Aggregate { input, .. }
            | Logical::Having { input, .. }
            | Logical::Window { input, .. }
            | Logical::Distinct { input }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. } => Some(input),
            Logical::One | Logical::Empty | Logical::Relation(_) | Logical::Join { .. } | Logical::RowCount { .. } => None,
        }
    }

    /// WHERE and what is below it: the part without grouping, order and limit.
    pub fn rows_mut(&mut self) -> &mut Logical {
        let is_above = matches!(
            self,
            Logical::Aggregate { .. }
                | Logical::Having { .. }
                | Logical::Window { .. }
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
            | Logical::Distinct { input }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. } => input.rows_mut(),
            rows => rows,
        }
    }

    /// `self` under a condition, if there is one.
    pub fn filtered(self, predicate: Vec<Expr>) -> Logical {
        if predicate.is_empty() { self } else { Logical::Filter { input: Box::new(self), predicate } }
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
