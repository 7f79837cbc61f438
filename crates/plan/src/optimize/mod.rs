//! From a block's logical tree to nodes.
//!
//! 1. `block` takes off what is above the joins, and says which order of rows would save work there.
//! 2. `flatten` takes the joins apart into items to be joined: tables, right sides of outer joins, semijoins.
//! 3. `order` finds a left-deep order of the items, estimating rows with `cost`.
//! 4. `path` chooses how each table is read (`sarg` finds the conditions that an index can use), and the nodes are stacked:
//!    nested loops over index lookups, hash joins on equalities otherwise.
//!    `equal` finds columns that are equal by way of others. `generated` lists the generated columns that a scan computes of others.
//! 5. `prune` takes out the columns that only conditions read which became key ranges.
//!
//! Example: `a JOIN b ON a.id = b.a_id WHERE a.x = 1` gives a scan of a by the index on x, and for each row a lookup of b.
//!
//! `hints` makes items wait for those that optimizer hints put before them.
//!
//! Semijoins as joins with a distinct side (`flatten::distinct_sides`) are no rewrite of the tree, because what they cost decides.

mod block;
mod cost;
mod equal;
pub mod flatten;
mod generated;
mod hints;
mod measure;
mod order;
mod partitions;
mod path;
mod prune;
mod sarg;
mod told;

use std::sync::Arc;

use vaquita_types::{Error, Result, TypeKind, stack};

use crate::catalog::Catalog;
use crate::expr::{Expr, ExprKind, Slot, SubqueryState};
use crate::logical::hints::Purpose;
use crate::logical::{Inner, LogicalBlock, Query, Read, Relation, Source, Subqueries, Tables};
use crate::node::{Aggregate, AggregateKind, KeptHeader, Node, OutputColumn, QueryPlan, SortKey};
use crate::same_index::SameIndex;
use crate::visit;

/// The plan of a rewritten query, those inside of it first.
pub(crate) fn plan_query(mut query: Query, catalog: &dyn Catalog) -> Result<QueryPlan> {
    let calc_found_rows = query.block.calc_found_rows;
    let mut adapted = query.take_adapted();
    let Block { mut root, output, rows } =
        plan_block(query.block, &mut query.relations, &query.owners, &mut query.subqueries, catalog)?;
    for column in adapted.iter_mut().flatten() {
        plan_subqueries(&mut column.expr, &mut query.subqueries, catalog)?;
    }
    prune::prune_columns(&mut root, &output);
    Ok(QueryPlan {
        root,
        output: adapted.unwrap_or(output),
        header: KeptHeader::default(),
        rows_estimate: rows,
        frame_width: query.width,
        tables: Vec::new(),
        locking: query.locking,
        for_update: Vec::new(),
        calc_found_rows,
        into: Vec::new(),
        into_file: None,
        execution_ms_max: 0,
        early: Vec::new(),
    })
}

/// As `plan_query`, for a block whose frame somebody else has: the nodes of its tree, and its output.
pub(crate) fn plan_block(
    mut block: LogicalBlock,
    relations: &mut [Relation],
    owners: &[Option<usize>],
    subqueries: &mut Subqueries,
    catalog: &dyn Catalog,
) -> Result<Block> {
    for relation in relations.iter_mut() {
        relation.source.queries_mut(&mut |inner| plan_inner(inner, catalog))?;
    }
    if !subqueries.is_empty() {
        plan_block_subqueries(&mut block, relations, subqueries, catalog)?;
    }
    let (switches, facts) = (block.hints.switches, Arc::clone(&block.facts));
    block::plan(block, &Tables { relations, owners, switches, facts: &facts, catalog })
}

fn plan_inner(inner: &mut Inner, catalog: &dyn Catalog) -> Result<()> {
    inner.plan_by(|query| stack::deeper(|| plan_query(query, catalog)))
}

fn plan_block_subqueries(
    block: &mut LogicalBlock,
    relations: &mut [Relation],
    subqueries: &mut Subqueries,
    catalog: &dyn Catalog,
) -> Result<()> {
    let mut plan = |expr: &mut Expr| plan_subqueries(expr, subqueries, catalog);
    block.root.expressions_mut(&mut plan)?;
    if let Read::Output(output) = &mut block.read {
        output.iter_mut().try_for_each(|column| plan(&mut column.expr))?;
    }
    relations.iter_mut().try_for_each(|relation| relation.source.expressions_mut(&mut plan))
}

/// Gives each subquery of an expression its plan. A subquery that stands in several copies of it is planned once.
pub(crate) fn plan_subqueries(expr: &mut Expr, bound: &mut Subqueries, catalog: &dyn Catalog) -> Result<()> {
    if let ExprKind::Subquery(sub) = &mut expr.kind
        && let SubqueryState::Bound(_) = sub.query
    {
        let Some((_, inner)) = bound.iter_mut().find(|(id, _)| *id == sub.id) else {
            return Err(Error::internal("a subquery of another block"));
        };
        plan_inner(inner, catalog)?;
        sub.query = SubqueryState::Planned(Arc::clone(inner.plan()?));
    }
    let mut done = Ok(());
    visit::children_mut(expr, &mut |child| {
        if done.is_ok() {
            done = plan_subqueries(child, bound, catalog);
        }
    });
    done
}

/// What would make later work unnecessary.
#[derive(Debug, Default)]
pub struct Want {
    /// Rows in this order (expression, descending).
    pub order: Vec<(Expr, bool)>,
    /// The order is for grouping: direction does not matter.
    pub grouping: bool,
    /// Only so many rows of that order are needed.
    pub limit: Option<u64>,
    /// Of the rows only MIN (false) or MAX (true) of this column is read.
    pub extreme: Option<(Expr, bool)>,
    /// Of rows that are equal in these columns one is as good as all.
    pub groups: Option<WantedGroups>,
}

/// What is read of each group of rows.
#[derive(Debug)]
pub struct WantedGroups {
    /// Slots.
    pub columns: Vec<Expr>,
    /// And MIN (false) or MAX (true) of this one.
    pub extreme: Option<(Expr, bool)>,
}

impl Want {
    /// What an index is used for that has the order.
    pub fn purpose(&self) -> Purpose {
        if self.grouping { Purpose::Group } else { Purpose::Order }
    }
}

#[derive(Debug)]
pub struct Planned {
    pub node: Node,
    /// Rows come in the wanted order.
    pub ordered: bool,
    /// The first row has the wanted extreme.
    pub first_row_is_extreme: bool,
    /// An estimate.
    pub rows: f64,
}

/// A planned block.
pub(crate) struct Block {
    pub root: Node,
    pub output: Vec<OutputColumn>,
    /// An estimate.
    pub rows: f64,
}

pub fn filtered(node: Node, predicate: Vec<Expr>) -> Node {
    if predicate.is_empty() { node } else { Node::Filter { input: Box::new(node), predicate } }
}

/// The columns of which MIN (false) or MAX (true) is all that is aggregated, each once.
pub fn extremes_of(aggregates: &[Aggregate]) -> Option<Vec<(Expr, bool)>> {
    let mut extremes: Vec<(Expr, bool)> = Vec::new();
    for aggregate in aggregates {
        let max = match aggregate.kind {
            AggregateKind::Min => false,
            AggregateKind::Max => true,
            _ => return None,
        };
        let [arg] = aggregate.args.as_slice() else { return None };
        // ENUM and SET compare as strings there, and lie in an index as numbers.
        if !matches!(arg.kind, ExprKind::Slot(_)) || matches!(arg.ty.kind, TypeKind::Enum | TypeKind::Set) {
            return None;
        }
        if !extremes.iter().any(|(of, is_max)| *is_max == max && visit::same(of, arg)) {
            extremes.push((arg.clone(), max));
        }
    }
    Some(extremes)
}

/// The keys of GROUP BY as an order, those of ORDER BY first and in its directions if they are the same.
pub fn group_order(keys: &[(Expr, Slot)], order_by: &[SortKey]) -> Vec<(Expr, bool)> {
    let mut order: Vec<(Expr, bool)> = Vec::new();
    for by in order_by {
        let Some((key, _)) = keys.iter().find(|(_, slot)| matches!(by.expr.kind, ExprKind::Slot(s) if s == *slot)) else { break };
        order.push((key.clone(), by.descending));
    }
    let mut index = SameIndex::default();
    for (key, _) in keys {
        let hash_of = |at: usize| order.get(at).map_or(0, |(e, _)| visit::hash(e));
        let is = |at: usize| order.get(at).is_some_and(|(e, _)| visit::same(e, key));
        if index.position(order.len(), hash_of, || visit::hash(key), is).is_none() {
            order.push((key.clone(), false));
        }
    }
    order
}

/// Groups that come in the order of `keys` (as `group_order` made it) are in the order wanted.
pub fn keys_follow(order_by: &[SortKey], keys: &[(Expr, Slot)]) -> bool {
    order_by.iter().all(|k| matches!(k.expr.kind, ExprKind::Slot(slot) if keys.iter().any(|(_, s)| *s == slot)))
}

/// The node that gives a relation's rows when it is no base table.
fn other_source(tables: &Tables<'_>, relation: usize, filter: Vec<Expr>) -> Result<Node> {
    let rel = &tables.relations[relation];
    let slots: Vec<Slot> = (0..rel.columns.len()).filter_map(|c| rel.slot(c)).collect();
    match &rel.source {
        Source::Derived { query, correlated, shared, .. } => {
            let (plan, correlated, shared) = (Arc::clone(query.plan()?), *correlated, shared.clone());
            Ok(Node::Derived { plan, slots, filter, correlated, shared })
        }
        Source::Recursive { id, seed, recursive, distinct, types, limit } => Ok(Node::RecursiveCte {
            id: *id,
            seed: Arc::clone(seed.plan()?),
            recursive: recursive.iter().map(|block| block.plan().cloned()).collect::<Result<_>>()?,
            distinct: *distinct,
            slots,
            types: types.clone(),
            filter,
            limit: limit.as_deref().cloned(),
        }),
        Source::CteRows { id } => Ok(Node::CteRows { id: *id, slots, filter }),
        Source::Base(_) | Source::Merged | Source::Row(_) => Err(Error::internal("relation has no rows of its own")),
    }
}
