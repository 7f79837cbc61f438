//! Generated columns that rows do not hold.

use vaquita_plan::node::Scan;
use vaquita_types::Result;

use crate::context::{Frame, value_of_column};

/// Fills their slots from those of the columns that were decoded.
pub fn compute(scan: &Scan, frame: &mut Frame<'_>) -> Result<()> {
    for column in &scan.computed {
        let value = column.expr.eval(&frame.cx())?.into_owned();
        let def = &scan.table.columns[column.position];
        frame.slots[column.slot] = value_of_column(value, &column.expr.ty, &def.ty, frame.statement.session);
    }
    Ok(())
}
