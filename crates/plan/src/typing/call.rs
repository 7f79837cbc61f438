//! Typed calls of functions.

use vaquita_types::{Error, Result, TypeKind, errno};

use super::conversion::{NUMBER_OF_DATE, QUIET_NUMBER};
use super::is_hex_literal;
use crate::expr::{Expr, ExprKind, SubqueryKind};
use crate::function::{FuncDef, FuncType};

/// Functions and operators that read their arguments as numbers.
const NUMERIC: [&str; 22] = [
    "+", "-", "*", "/", "DIV", "%", "MOD", "NEG", "|", "&", "^", "~", "<<", ">>", "ABS", "ROUND", "TRUNCATE", "CEIL", "CEILING",
    "FLOOR", "SIGN", "SQRT",
];

/// `expr` where a number is wanted: a date or time that a function gives as text is a number as those of temporal types are.
pub fn as_number(expr: Expr) -> Result<Expr> {
    let gives_dates = |def: &FuncDef| {
        matches!(def.name, "DATE_ADD" | "DATE_SUB" | "TIMESTAMPADD" | "ADDDATE" | "SUBDATE" | "ADDTIME" | "SUBTIME")
    };
    // The greater or lesser of a time and a text is a text of the time that it is.
    let picks_date = |def: &FuncDef, args: &[Expr]| {
        matches!(def.name, "GREATEST" | "LEAST")
            && args.iter().any(|arg| matches!(arg.ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp))
    };
    match &expr.kind {
        ExprKind::Call(def, args) if expr.ty.is_bytes() && (gives_dates(def) || picks_date(def, args)) => {
            call(&NUMBER_OF_DATE, vec![expr])
        }
        _ => quiet_number(expr),
    }
}

/// A text that a function picks or a subquery gives is read as a number without a warning, as in MySQL, where it is asked for one.
pub fn quiet_number(expr: Expr) -> Result<Expr> {
    let picks = match &expr.kind {
        ExprKind::Call(def, _) => matches!(def.name, "GREATEST" | "LEAST" | "IFNULL" | "COALESCE" | "ANY_VALUE"),
        ExprKind::Subquery(subquery) => matches!(subquery.kind, SubqueryKind::Scalar | SubqueryKind::Column(_)),
        _ => false,
    };
    if picks && expr.ty.is_bytes() && !is_hex_literal(&expr.ty) { call(&QUIET_NUMBER, vec![expr]) } else { Ok(expr) }
}

/// A typed call: checks the number of arguments, types the call and builds it.
pub fn call(def: &'static FuncDef, mut args: Vec<Expr>) -> Result<Expr> {
    if args.len() < def.args.0 || args.len() > def.args.1 {
        return Err(Error::new(&errno::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&def.name]));
    }
    for arg in &args {
        if let ExprKind::Row(_) = arg.kind {
            return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&1]));
        }
    }
    super::geometry::check_call(def.name, &args)?;
    if NUMERIC.contains(&def.name) {
        args = args.into_iter().map(as_number).collect::<Result<_>>()?;
    }
    let FuncType { ty, nullable, coercibility } = (def.resolve)(&mut args)?;
    Ok(Expr { kind: ExprKind::Call(def, args), ty, nullable, coercibility })
}
