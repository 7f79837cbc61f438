//! Which queries in FROM are merged into the block around them (`from::merged`), and what their columns are beside an outer join.

use vaquita_types::schema::TableRef;

use crate::expr::{Expr, ExprKind};
use crate::logical::{ColumnValue, Logical, Query, Relation, RelationColumn, Source, merge};
use crate::node::OutputColumn;
use crate::visit;

/// A column that is larger is computed once, and not in each place that names it: one that doubles the one before, and so on, would grow beyond all
/// measure.
const COLUMN_NODES_MAX: usize = 256;

/// MySQL merges a view or a derived table of joined tables whose columns are no subqueries. Of a view that may be changed order, hints and
/// locks are left out, and subqueries that are the same for all rows may stay.
pub(super) fn is_mergeable(query: &Query, changing: bool) -> bool {
    let block = &query.block;
    let stays = |e: &Expr| match &e.kind {
        ExprKind::Subquery(subquery) => subquery.correlated || !changing,
        ExprKind::AssignVar(..) => true,
        _ => false,
    };
    let of_joins = match changing {
        true => unordered(&block.root).is_joins(),
        false => {
            let is_locked = query.relations.iter().any(|relation| relation.lock.is_some());
            block.root.is_joins() && !block.straight && !block.calc_found_rows && !is_locked
        }
    };
    let may_move =
        |column: &OutputColumn| !visit::any(&column.expr, &stays) && (changing || visit::size(&column.expr) <= COLUMN_NODES_MAX);
    of_joins && query.output().iter().all(may_move)
}

/// The columns have one value for a row however often they are named.
pub(super) fn is_steady(query: &Query) -> bool {
    let changes = |e: &Expr| match &e.kind {
        ExprKind::Call(def, _) => !def.is_steady(),
        ExprKind::UserVar(_) => true,
        _ => false,
    };
    query.output().iter().all(|column| !visit::any(&column.expr, &changes))
}

pub(super) fn unordered(root: &Logical) -> &Logical {
    match root {
        Logical::Sort { input, .. } => input,
        root => root,
    }
}

/// Beside an outer join a column is NULL where there is no row. Those of tables are by themselves; others are made so, by a column that is NULL
/// there only: `a + 1` becomes `CASE WHEN id IS NULL THEN NULL ELSE a + 1 END`. False if there is no such column.
pub(super) fn make_optional(query: &mut Query) -> bool {
    let is_of_table = |expr: &Expr| matches!(expr.kind, ExprKind::Slot(_));
    if query.output().iter().all(|column| is_of_table(&column.expr)) {
        return true;
    }
    let Some(told) = never_null(query) else { return false };
    for column in query.output_mut() {
        if !is_of_table(&column.expr) {
            column.expr = merge::optional(column.expr.clone(), told.clone());
        }
    }
    true
}

/// A column of a table that has a row in every row of the query, where it is not NULL.
fn never_null(query: &mut Query) -> Option<Expr> {
    let mut joined = Vec::new();
    query.block.root.relations(&mut joined);
    let is_there = |relation: &Relation| matches!(relation.source, Source::Base(_)) && !relation.optional;
    joined.retain(|at| query.relations.get(*at).is_some_and(is_there));
    let of_slots = |column: &RelationColumn| match &column.value {
        ColumnValue::Slot { slot, ty, nullable: false } => Some(Expr::slot(*slot, ty.clone(), false)),
        _ => None,
    };
    let filled = joined.iter().flat_map(|at| &query.relations[*at].columns).find_map(of_slots);
    if filled.is_some() {
        return filled;
    }
    joined.into_iter().find_map(|at| {
        let relation = &mut query.relations[at];
        let Source::Base(table) = &relation.source else { return None };
        let column = key_column(table)?;
        let value = &mut relation.columns.get_mut(column)?.value;
        let ColumnValue::Lazy { ty, nullable: false } = value else { return None };
        let (slot, ty) = (query.owners.len(), ty.clone());
        *value = ColumnValue::Slot { slot, ty: ty.clone(), nullable: false };
        query.owners.push(Some(at));
        query.width = query.owners.len();
        Some(Expr::slot(slot, ty, false))
    })
}

/// The position of a column that is in every index.
fn key_column(table: &TableRef) -> Option<usize> {
    let first = table.primary_key()?.parts.first()?.column;
    table.columns.iter().position(|column| column.id == first && column.generated.is_none())
}
