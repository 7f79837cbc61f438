//! Expressions of the catalog, kept as text: CHECK constraints, DEFAULT (expr) and generated columns, as trees and bound over a row.

use std::sync::Arc;

use vaquita_parser::{ParserOptions, ast, parse_expr};
use vaquita_plan::bind::{self, Place, PlanContext, bind_over_row};
use vaquita_plan::expr::Expr;
use vaquita_storage::SessionCatalog;
use vaquita_types::schema::{CheckDef, TableDef};
use vaquita_types::{Error, Result};

use crate::catalog::PlanCatalog;

/// An expression of the catalog as a tree again.
pub fn parse_stored(text: &str) -> Result<ast::Expr> {
    parse_expr(text.as_bytes(), &ParserOptions::default())
        .map_err(|e| Error::internal(format_args!("stored expression {text}: {e:?}")))
}

/// The generated columns of a table in their order, over the slots 0, 1 … of a row.
pub fn bind_generated(def: &TableDef, catalog: &SessionCatalog) -> Result<Vec<(usize, Expr)>> {
    if !def.has_generated_columns() {
        return Ok(Vec::new());
    }
    bind::bind_generated(&Arc::new(def.clone()), &PlanCatalog::new(catalog))
}

/// The enforced constraints of a table with their names, over the slots 0, 1 … of a row.
pub fn bind_checks(def: &TableDef, catalog: &SessionCatalog) -> Result<Vec<(String, Expr)>> {
    let enforced: Vec<&CheckDef> = def.options.checks.iter().filter(|c| c.enforced).collect();
    if enforced.is_empty() {
        return Ok(Vec::new());
    }
    let planner = PlanCatalog::new(catalog);
    let table = Arc::new(def.clone());
    let bind = |check: &CheckDef| {
        let context = PlanContext::new(&planner, Place::Check(&check.name));
        Ok((check.name.clone(), bind_over_row(&parse_stored(&check.expr)?, &table, 0, &context)?))
    };
    enforced.into_iter().map(bind).collect()
}
