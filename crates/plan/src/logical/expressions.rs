//! The expressions of a logical tree.

use vaquita_types::limits::QUERY_NESTING_MAX;
use vaquita_types::{Result, stack};

use super::{Logical, Query, Read, Source};
use crate::expr::{Expr, ExprKind, Slot, SubqueryState};
use crate::visit;

impl Logical {
    /// Calls `f` with each expression of the block's tree, not of the queries inside of it.
    pub fn expressions_mut(&mut self, f: &mut dyn FnMut(&mut Expr) -> Result<()>) -> Result<()> {
        match self {
            Logical::One
            | Logical::Empty
            | Logical::Relation(_)
            | Logical::RowCount { .. }
            | Logical::Distinct { .. }
            | Logical::SetOp { .. }
            | Logical::Nested { .. } => {}
            Logical::Join { left, right, on, .. } => {
                on.iter_mut().try_for_each(&mut *f)?;
                left.expressions_mut(f)?;
                right.expressions_mut(f)?;
            }
            Logical::JsonTable { document, .. } => f(document)?,
            Logical::Values { rows, .. } => rows.iter_mut().flatten().try_for_each(&mut *f)?,
            Logical::Filter { predicate, .. } | Logical::Having { predicate, .. } => {
                predicate.iter_mut().try_for_each(&mut *f)?
            }
            Logical::Aggregate { keys, aggregates, .. } => {
                keys.iter_mut().try_for_each(|(key, _)| f(key))?;
                for aggregate in aggregates {
                    aggregate.args.iter_mut().try_for_each(&mut *f)?;
                    aggregate.order_by.iter_mut().try_for_each(|key| f(&mut key.expr))?;
                }
            }
            Logical::Window { windows, .. } => {
                for window in windows {
                    window.args.iter_mut().chain(&mut window.partition_by).try_for_each(&mut *f)?;
                    window.order_by.iter_mut().try_for_each(|key| f(&mut key.expr))?;
                    window.bounds_mut().try_for_each(&mut *f)?;
                }
            }
            Logical::Compute { values, .. } => values.iter_mut().try_for_each(|(value, _)| f(value))?,
            Logical::Sort { keys, .. } => keys.iter_mut().try_for_each(|key| f(&mut key.expr))?,
            Logical::Limit { limit, .. } => limit.offset.iter_mut().chain(&mut limit.count).try_for_each(&mut *f)?,
        }
        self.input_mut().map_or(Ok(()), |input| input.expressions_mut(f))
    }
}

impl Query {
    /// The expressions of the query's own block: of its tree, its output and its relations.
    pub fn expressions_mut(&mut self, f: &mut dyn FnMut(&mut Expr) -> Result<()>) -> Result<()> {
        self.block.root.expressions_mut(f)?;
        if let Read::Output(output) = &mut self.block.read {
            output.iter_mut().try_for_each(|column| f(&mut column.expr))?;
        }
        self.relations.iter_mut().try_for_each(|relation| relation.source.expressions_mut(f))
    }
}

impl Source {
    /// The expressions that a block computes to read it.
    pub fn expressions_mut(&mut self, f: &mut dyn FnMut(&mut Expr) -> Result<()>) -> Result<()> {
        match self {
            Source::Recursive { limit: Some(limit), .. } => limit.offset.iter_mut().chain(&mut limit.count).try_for_each(f),
            _ => Ok(()),
        }
    }
}

/// The slots of frames outside of the query that it reads, and how many levels further out they are, each once.
pub(crate) fn outside_reads(query: &mut Query) -> Result<Vec<(usize, Slot)>> {
    let mut reads = Vec::new();
    query_reads(query, 0, &mut reads)?;
    reads.sort_unstable();
    reads.dedup();
    Ok(reads)
}

/// `level`: how many frames stand between the query and the one that is asked about.
fn query_reads(query: &mut Query, level: usize, out: &mut Vec<(usize, Slot)>) -> Result<()> {
    query.expressions_mut(&mut |expr| {
        expr_reads(expr, level, out);
        Ok(())
    })?;
    let mut inside = |query: &mut Query| stack::deeper(|| query_reads(query, level + 1, out));
    for relation in &mut query.relations {
        relation.source.queries_mut(&mut |inner| inner.bound_mut().map_or(Ok(()), &mut inside))?;
    }
    query.block.root.queries_mut(&mut inside)
}

fn expr_reads(expr: &Expr, level: usize, out: &mut Vec<(usize, Slot)>) {
    match &expr.kind {
        ExprKind::Outer { depth, slot } if *depth > level => out.push((depth - level, *slot)),
        ExprKind::Subquery(sub) if sub.correlated => {
            // The first level outside of the subquery is the frame that it belongs to.
            let mut read = |depth: usize, slot: Slot| {
                let from_here = sub.depth + depth - 1;
                if from_here > level {
                    out.push((from_here - level, slot));
                }
            };
            match &sub.query {
                SubqueryState::Bound(bound) => bound.reads.iter().for_each(|(depth, slot)| read(*depth, *slot)),
                // It was moved in from a frame further out, which had it planned.
                SubqueryState::Planned(plan) => {
                    for depth in 1..=QUERY_NESTING_MAX as usize {
                        let mut slots = Vec::new();
                        visit::plan_slots(plan, depth, &mut slots);
                        slots.into_iter().for_each(|slot| read(depth, slot));
                    }
                }
            }
        }
        _ => {}
    }
    visit::children(expr, &mut |child| expr_reads(child, level, out));
}
