//! Which database or table a scan of a system table asks for, so that rows of others are not made.
//!
//! Only equalities of a name column with a value that is known before the scan count: `table_schema = DATABASE()
//! AND table_name = 't'`. The scan's filter is still checked on every row: this only saves work.
//! Columns that nobody reads are not filled where there are many rows.

use vaquita_plan::env::EvalCx;
use vaquita_plan::expr::{CompareAs, CompareOp, Expr, ExprKind};
use vaquita_plan::node::Scan;
use vaquita_types::{Value, charset};

use super::SystemContext;

/// Columns of information_schema that hold the database and the table of a row.
const DATABASE_COLUMNS: [&str; 3] = ["TABLE_SCHEMA", "SCHEMA_NAME", "CONSTRAINT_SCHEMA"];
const TABLE_COLUMNS: [&str; 1] = ["TABLE_NAME"];
/// Fills `database` and `table` of the context from the scan's filter, and `columns` from the columns read.
pub fn narrow(cx: &mut SystemContext<'_>, scan: &Scan, eval: &EvalCx<'_>) {
    let reads = |position: usize| scan.columns.iter().any(|(read, _)| *read == position);
    cx.columns = Some((0..scan.table.columns.len()).map(reads).collect());
    for condition in &scan.filter {
        let ExprKind::Compare(CompareOp::Eq, left, right, CompareAs::Text(collation)) = &condition.kind else { continue };
        // Under other collations several names are equal.
        if !charset::collation(*collation).is_bin() {
            continue;
        }
        let Some((column, value)) = named(scan, left, right).or_else(|| named(scan, right, left)) else { continue };
        let Ok(value) = value.eval(eval) else { continue };
        let Value::Bytes(name) = &*value else { continue };
        // Trailing spaces may not count in the comparison.
        let Some(name) = std::str::from_utf8(name).ok().filter(|name| !name.ends_with(' ')) else { continue };
        if DATABASE_COLUMNS.contains(&column) {
            cx.database = Some(name.to_string());
        } else if TABLE_COLUMNS.contains(&column) {
            cx.table = Some(name.to_string());
        }
    }
}

/// The column's name and the value it is compared with, if these are what the two sides are.
fn named<'p>(scan: &'p Scan, column: &Expr, value: &'p Expr) -> Option<(&'p str, &'p Expr)> {
    let mut column = column;
    while let ExprKind::Cast(inner) = &column.kind {
        column = inner;
    }
    let ExprKind::Slot(slot) = column.kind else { return None };
    let (position, _) = scan.columns.iter().find(|(_, s)| *s == slot)?;
    is_known(value).then_some((scan.table.columns.get(*position)?.name.as_str(), value))
}

/// A value that does not change while the scan runs, and that has no effect when it is computed.
fn is_known(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Param(_) => true,
        ExprKind::Cast(inner) => is_known(inner),
        ExprKind::Call(function, args) => function.name == "DATABASE" && args.is_empty(),
        _ => false,
    }
}
