//! The shape of a plan: which tables are read in which order by which index, and what joins, sorts and groups them. Plans of statements that differ
//! in literals only have the same shape, unless the optimizer has decided otherwise; estimates are no part of it.
//!
//! `SELECT … WHERE id = 1` and `… WHERE id = 2` have the shape "point of index 0 of table 7". When the optimizer begins to read the table as
//! a whole, it is another shape: that is what one wants to know of a statement that has become slow.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;
use std::num::NonZeroU64;

use crate::expr::Expr;
use crate::node::{AccessPath, InsertSource, Node, Plan, QueryPlan, Range, Scan};
use crate::visit;

/// A hash, the same in each server of this version. `None`: rows of VALUES, of which there is nothing to tell.
pub fn shape(plan: &Plan) -> Option<NonZeroU64> {
    let mut shape = Shape(DefaultHasher::new());
    discriminant(plan).hash(&mut shape.0);
    match plan {
        Plan::Query(query) => shape.query(query),
        Plan::Insert(insert) => match &insert.source {
            InsertSource::Values(_) | InsertSource::Literals(_) => return None,
            InsertSource::Query(query) => shape.query(query),
        },
        Plan::Update(update) => shape.node(&update.source),
        Plan::Delete(delete) => shape.node(&delete.source),
    }
    NonZeroU64::new(shape.0.finish())
}

struct Shape(DefaultHasher);

impl Shape {
    fn query(&mut self, plan: &QueryPlan) {
        self.node(&plan.root);
        plan.output.iter().for_each(|column| self.subqueries(&column.expr));
    }

    fn subqueries(&mut self, expr: &Expr) {
        visit::subqueries(expr, &mut |sub| {
            if let Some(plan) = sub.plan() {
                self.query(plan);
            }
        });
    }

    fn node(&mut self, node: &Node) {
        discriminant(node).hash(&mut self.0);
        match node {
            Node::Scan(scan) => self.scan(scan),
            Node::NestedLoop { kind, .. } | Node::HashJoin { kind, .. } => discriminant(kind).hash(&mut self.0),
            Node::Aggregate { sorted_input, .. } => sorted_input.hash(&mut self.0),
            Node::Sort { limit, .. } => limit.is_some().hash(&mut self.0),
            _ => {}
        }
        let mut inputs = 0;
        visit::inputs(node, &mut |input| {
            inputs += 1;
            self.node(input);
        });
        visit::for_each_plan(node, &mut |plan| self.query(plan));
        visit::for_each_expr(node, &mut |expr| self.subqueries(expr));
        inputs.hash(&mut self.0);
    }

    fn scan(&mut self, scan: &Scan) {
        scan.table.id.hash(&mut self.0);
        discriminant(&scan.path).hash(&mut self.0);
        match &scan.path {
            AccessPath::Full { reverse } => reverse.hash(&mut self.0),
            AccessPath::Point { index, .. } => self.index(scan, *index),
            AccessPath::Range { index, ranges, reverse, covering } => {
                self.index(scan, *index);
                let skips = scan.skips.as_ref().map(|skips| (skips.parts, skips.first, skips.within.as_ref().map(parts)));
                (reverse, covering, skips, ranges.iter().map(parts).max()).hash(&mut self.0);
            }
            AccessPath::Union { parts } => parts.iter().for_each(|(index, _)| self.index(scan, *index)),
            AccessPath::FullText { .. } | AccessPath::System => {}
        }
    }

    fn index(&mut self, scan: &Scan, index: usize) {
        scan.table.indexes.get(index).map(|index| index.id).hash(&mut self.0);
    }
}

/// How many parts of the index bound a range.
fn parts(range: &Range) -> (usize, bool) {
    (range.equal.len(), range.low.is_some() || range.high.is_some())
}
