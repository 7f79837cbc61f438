//! What is stored into a column, where that depends on the expression and not on its value alone.
//!
//! A number column takes a date or time as the number that it is if a column has it or a function makes it, and as its text if a function
//! or a subquery only picks it: an INT takes 20240115 of `DATE(moment)` and 2024 of `IFNULL(day, other)`, with warning 1265. A YEAR takes
//! of a column with a time of day the number of the whole moment, which is out of range, and of an expression the year. The year 0 of a column
//! is '0' in a column of texts.

use vaquita_types::{ColumnType, TypeKind};

use super::call::is_of_no_table;
use super::{NUMBER_COLLATION, as_string, cast_to};
use crate::expr::{Expr, ExprKind, SubqueryKind};

/// `expr` as a column of type `column` takes it. `is_field`: it is a column itself.
pub fn assigned(expr: Expr, column: &ColumnType, is_field: bool) -> Expr {
    if is_field && expr.ty.kind == TypeKind::Year && column.is_bytes() {
        return cast_to(expr, ColumnType::bigint());
    }
    if !expr.ty.is_temporal() || !column.is_numeric() {
        return expr;
    }
    match is_field {
        true if column.kind == TypeKind::Year && expr.ty.kind != TypeKind::Date => cast_to(expr, ColumnType::bigint()),
        false if only_picks(&expr) => as_string(expr, NUMBER_COLLATION),
        _ => expr,
    }
}

fn only_picks(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(def, _) => {
            matches!(def.name, "ANY_VALUE" | "COALESCE" | "GREATEST" | "IF" | "IFNULL" | "LEAST" | "NULLIF")
        }
        ExprKind::Case { .. } => true,
        ExprKind::Subquery(subquery) => {
            matches!(subquery.kind, SubqueryKind::Scalar | SubqueryKind::Column(_)) && !is_of_no_table(expr)
        }
        _ => false,
    }
}
