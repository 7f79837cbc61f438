//! Generated columns that rows do not hold: a scan computes them of the columns that it reads.

use vaquita_types::{Error, Result};

use crate::expr::Slot;
use crate::logical::Relation;
use crate::node::{Computed, Scan};
use crate::visit;

/// What a scan computes; `columns` are the generated columns that have slots, in the order of the table.
pub(super) fn computed(relation: &Relation, columns: Vec<(usize, Slot)>) -> Result<Vec<Computed>> {
    let computed = |(position, slot): (usize, Slot)| {
        let found = relation.generated.iter().find(|(column, _)| *column == position);
        let mut expr = found.map(|(_, expr)| expr.clone()).ok_or_else(no_columns)?;
        // `Binder::slot_of` has given slots to what it reads.
        let has_slots = visit::map_slots(&mut expr, &|column| relation.slot(column));
        if has_slots { Ok(Computed { position, slot, expr }) } else { Err(no_columns()) }
    };
    columns.into_iter().map(computed).collect()
}

fn no_columns() -> Error {
    Error::internal("a generated column without the columns that it is computed of")
}

/// Keeps what is needed for the slots in `read`: computed columns, and the columns that they are computed of.
pub(super) fn keep_read(scan: &mut Scan, read: &[Slot]) {
    let mut wanted = Vec::new();
    let is_read = |slot: Slot, wanted: &[Slot]| read.contains(&slot) || wanted.contains(&slot);
    // A column is computed of columns before it.
    let mut kept: Vec<Computed> = Vec::with_capacity(scan.computed.len());
    for column in std::mem::take(&mut scan.computed).into_iter().rev() {
        if is_read(column.slot, &wanted) {
            wanted.extend(visit::slots(&column.expr));
            kept.push(column);
        }
    }
    kept.reverse();
    scan.computed = kept;
    scan.columns.retain(|(_, slot)| is_read(*slot, &wanted));
}
