//! Blocks that have one row.

use vaquita_types::schema::IndexDef;
use vaquita_types::{Result, TypeKind};

use crate::expr::{Expr, ExprKind};
use crate::logical::{Logical, LogicalBlock, Relation, Source, Tables};
use crate::node::AggregateKind;

/// `SELECT COUNT(*) FROM t`: storage knows the number.
pub fn row_count(block: &mut LogicalBlock, tables: &Tables<'_>) -> Result<()> {
    let Logical::Aggregate { input, keys, aggregates, .. } = &block.root else { return Ok(()) };
    let (Logical::Relation(relation), [aggregate]) = (input.as_ref(), aggregates.as_slice()) else { return Ok(()) };
    // Storage counts the rows of all partitions together.
    let is_whole = |rel: &Relation| rel.partitions.as_ref().is_none_or(|partitions| partitions.selected.is_none());
    let known = tables.relations.get(*relation).is_some_and(|rel| {
        is_whole(rel) && rel.lock.is_none() && matches!(&rel.source, Source::Base(table) if !table.indexes.is_empty())
    });
    let reads_no_column = tables.owners.iter().all(Option::is_none);
    if known && reads_no_column && keys.is_empty() && aggregate.kind == AggregateKind::CountStar {
        block.root = Logical::RowCount { relation: *relation, slot: aggregate.slot };
    }
    Ok(())
}

/// Without GROUP BY there is one row, whose order means nothing.
pub fn order_of_one_row(block: &mut LogicalBlock, _: &Tables<'_>) -> Result<()> {
    let mut node = &mut block.root;
    if let Logical::Limit { input, .. } = node {
        node = input;
    }
    let Logical::Sort { input, .. } = node else { return Ok(()) };
    let mut below: &Logical = input;
    while let Logical::Distinct { input } | Logical::Window { input, .. } | Logical::Having { input, .. } = below {
        below = input;
    }
    if matches!(below, Logical::Aggregate { keys, .. } if keys.is_empty()) {
        let unordered = std::mem::replace(&mut **input, Logical::Empty);
        *node = unordered;
    }
    Ok(())
}

/// MIN and MAX of an ENUM or a SET compare labels, but MySQL takes the end of an ascending index where it has one, and that
/// is in the order of the members. Its aggregates keep the column's type.
pub fn extremes_by_member(block: &mut LogicalBlock, tables: &Tables<'_>) -> Result<()> {
    let mut node = &mut block.root;
    while !matches!(node, Logical::Aggregate { .. }) {
        let Some(input) = node.input_mut() else { return Ok(()) };
        node = input;
    }
    let Logical::Aggregate { input, keys, aggregates, .. } = node else { return Ok(()) };
    let Logical::Relation(relation) = **input else { return Ok(()) };
    let relation = &tables.relations[relation];
    let Source::Base(table) = &relation.source else { return Ok(()) };
    if !keys.is_empty() {
        return Ok(());
    }
    for aggregate in aggregates {
        let [Expr { kind: ExprKind::Slot(slot), ty, .. }] = aggregate.args.as_slice() else { continue };
        let leads = |index: &IndexDef| {
            let part = index.parts.first().filter(|part| !part.descending);
            let column = part.and_then(|part| table.position_of(part.column));
            !index.invisible && column.is_some_and(|column| relation.slot(column) == Some(*slot))
        };
        let is_extreme = matches!(aggregate.kind, AggregateKind::Min | AggregateKind::Max);
        if is_extreme && matches!(ty.kind, TypeKind::Enum | TypeKind::Set) && table.indexes.iter().any(leads) {
            aggregate.ty = ty.clone();
        }
    }
    Ok(())
}
