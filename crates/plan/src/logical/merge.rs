//! Merging a query into the block around it: its tables and slots move to that block's frame.
//!
//! Example: in `SELECT a.x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id)` the frame of a has the slots 0 (a.x) and 1 (a.id), that of b
//! has 0 (b.a_id), and b's condition is `slot 0 = outer 1, slot 1`. Merged, b is relation 1 of one frame, b.a_id is slot 2 and the condition
//! `slot 2 = slot 1`.

use std::sync::Arc;

use vaquita_types::{ColumnType, Error, Result, Value, stack};

use super::{ColumnValue, Logical, Query, Relation, Subqueries};
use crate::expr::{BoundSubquery, Expr, ExprKind, SubqueryState};
use crate::node::{OutputColumn, SortKey};
use crate::visit;

/// What a block takes over from a query that is merged into it.
pub(crate) struct Frame<'a> {
    pub relations: &'a mut Vec<Relation>,
    pub owners: &'a mut Vec<Option<usize>>,
    pub subqueries: &'a mut Subqueries,
}

/// A query as the block around it sees it.
pub(crate) struct Merged {
    /// Nothing but joined relations under conditions.
    pub tree: Logical,
    pub output: Vec<OutputColumn>,
    pub order: Vec<SortKey>,
}

/// `value` beside an outer join: NULL where `told`, which is NULL there only, says that there is no row.
pub(crate) fn optional(value: Expr, told: Expr) -> Expr {
    let missing = Expr { kind: ExprKind::IsNull(Box::new(told)), ..Expr::int(0) };
    let null = Expr::literal(Value::Null, ColumnType::null());
    let (ty, coercibility) = (value.ty.clone(), value.coercibility);
    let kind = ExprKind::Case { operand: None, whens: vec![(missing, null)], otherwise: Some(Box::new(value)) };
    Expr { kind, ty, nullable: true, coercibility }
}

/// What `optional` has made an expression of.
pub(crate) fn as_optional(expr: &Expr) -> Option<(&Expr, &Expr)> {
    let ExprKind::Case { operand: None, whens, otherwise: Some(value) } = &expr.kind else { return None };
    match whens.as_slice() {
        [(Expr { kind: ExprKind::IsNull(told), .. }, Expr { kind: ExprKind::Literal(Value::Null), .. })] => {
            Some((&**value, told))
        }
        _ => None,
    }
}

/// Moves `query` to the frame of the block around it.
pub(crate) fn merge(mut query: Query, into: Frame<'_>) -> Result<Merged> {
    let mut output = query.output().to_vec();
    let mut mover = Mover { first_slot: into.owners.len(), subqueries: Vec::new() };
    mover.query(&mut query, 0)?;
    output.iter_mut().try_for_each(|column| mover.expr(&mut column.expr, 0))?;
    let first_relation = into.relations.len();
    for relation in &mut query.relations {
        relation.key_slot = relation.key_slot.map(|slot| slot + mover.first_slot);
        relation.merged = relation.merged.start + first_relation..relation.merged.end + first_relation;
        for column in &mut relation.columns {
            if let ColumnValue::Slot { slot, .. } = &mut column.value {
                *slot += mover.first_slot;
            }
        }
    }
    into.relations.append(&mut query.relations);
    into.owners.extend(query.owners.iter().map(|owner| owner.map(|relation| relation + first_relation)));
    into.subqueries.append(&mut query.subqueries);
    let (mut tree, order) = match query.block.root {
        Logical::Sort { input, keys } => (*input, keys),
        root => (root, Vec::new()),
    };
    move_relations(&mut tree, first_relation)?;
    Ok(Merged { tree, output, order })
}

fn move_relations(node: &mut Logical, by: usize) -> Result<()> {
    match node {
        Logical::Relation(relation) => *relation += by,
        Logical::Filter { input, .. } => move_relations(input, by)?,
        Logical::Join { left, right, .. } => {
            move_relations(left, by)?;
            move_relations(right, by)?;
        }
        _ => return Err(Error::internal("only joins can be merged")),
    }
    Ok(())
}

struct Mover {
    /// Where the query's slots begin in the block's frame.
    first_slot: usize,
    /// Subqueries before and after: copies of one stay copies of one.
    subqueries: Vec<(Arc<BoundSubquery>, Arc<BoundSubquery>)>,
}

impl Mover {
    /// `level`: how many frames stand between the query and the one that is merged.
    fn query(&mut self, query: &mut Query, level: usize) -> Result<()> {
        query.expressions_mut(&mut |expr| self.expr(expr, level))?;
        query.adapted.iter_mut().flatten().try_for_each(|column| self.expr(&mut column.expr, level))?;
        for relation in &mut query.relations {
            for column in &mut relation.columns {
                if let ColumnValue::Expr(expr) = &mut column.value {
                    self.expr(expr, level)?;
                }
            }
            let conditions = relation.view.iter_mut().flat_map(|view| view.conditions.iter_mut().chain(&mut view.checked));
            for condition in conditions {
                self.expr(condition, level)?;
            }
            relation.source.queries_mut(&mut |inner| inner.bound_mut().map_or(Ok(()), |query| self.inside(query, level)))?;
        }
        query.block.root.queries_mut(&mut |query| self.inside(query, level))?;
        query.subqueries.iter_mut().try_for_each(|(_, inner)| inner.bound_mut().map_or(Ok(()), |query| self.inside(query, level)))
    }

    fn inside(&mut self, query: &mut Query, level: usize) -> Result<()> {
        stack::deeper(|| self.query(query, level + 1))
    }

    fn expr(&mut self, expr: &mut Expr, level: usize) -> Result<()> {
        match &mut expr.kind {
            ExprKind::Slot(slot) if level == 0 => *slot += self.first_slot,
            ExprKind::Outer { depth, slot } if *depth == level => *slot += self.first_slot,
            ExprKind::Outer { depth: 1, slot } if level == 0 => expr.kind = ExprKind::Slot(*slot),
            ExprKind::Outer { depth, .. } if *depth > level => *depth -= 1,
            ExprKind::Subquery(sub) if sub.depth > level => sub.depth -= 1,
            ExprKind::Subquery(sub) if sub.correlated => match &sub.query {
                SubqueryState::Bound(bound) => {
                    let moved = self.moved(bound, level - sub.depth);
                    sub.query = SubqueryState::Bound(moved);
                }
                SubqueryState::Planned(_) => return Err(Error::internal("a planned subquery cannot be merged")),
            },
            _ => {}
        }
        let mut done = Ok(());
        visit::children_mut(expr, &mut |child| {
            if done.is_ok() {
                done = self.expr(child, level);
            }
        });
        done
    }

    /// The subquery of a block at `level`.
    fn moved(&mut self, bound: &Arc<BoundSubquery>, level: usize) -> Arc<BoundSubquery> {
        if let Some((_, moved)) = self.subqueries.iter().find(|(before, _)| Arc::ptr_eq(before, bound)) {
            return Arc::clone(moved);
        }
        let first_slot = self.first_slot;
        let read = |&(depth, slot): &(usize, usize)| match depth {
            _ if depth == level + 1 => (depth, slot + first_slot),
            _ if depth > level + 1 => (depth - 1, slot),
            _ => (depth, slot),
        };
        let reads = bound.reads.iter().map(read).collect();
        let moved = Arc::new(BoundSubquery { output: bound.output.clone(), of_no_table: bound.of_no_table, reads });
        self.subqueries.push((Arc::clone(bound), Arc::clone(&moved)));
        moved
    }
}
