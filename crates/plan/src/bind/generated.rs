//! Generated columns, of which the catalog has the text.

use vaquita_parser::{ParserOptions, parse_expr};
use vaquita_types::schema::TableRef;
use vaquita_types::{Error, Result, errno};

use super::{Binder, Place, PlanContext, bind_over_row};
use crate::catalog::Catalog;
use crate::expr::Expr;

/// The generated columns of a table in their order, with their expressions over a row of it: slot n is the column at position n.
pub fn bind_generated(table: &TableRef, catalog: &dyn Catalog) -> Result<Vec<(usize, Expr)>> {
    let mut bound = Vec::new();
    for (position, column) in table.columns.iter().enumerate() {
        let Some(generated) = &column.generated else { continue };
        let parsed = parse_expr(generated.expr.as_bytes(), &ParserOptions::default())
            .map_err(|e| Error::internal(format_args!("stored expression {}: {e:?}", generated.expr)))?;
        let context = PlanContext::new(catalog, Place::Generated(&column.name));
        bound.push((position, bind_over_row(&parsed, table, 0, &context)?));
    }
    Ok(bound)
}

impl Binder<'_> {
    /// Error 3105 for a generated column that is given another value than DEFAULT.
    pub(super) fn refuse_generated(&self, table: &TableRef, column: usize) -> Result<()> {
        match table.columns.get(column) {
            Some(column) if column.generated.is_some() => {
                Err(Error::new(&errno::ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN, &[&column.name, &table.name]))
            }
            _ => Ok(()),
        }
    }
}
