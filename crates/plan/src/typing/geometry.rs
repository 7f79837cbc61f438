//! Where MySQL takes no geometry: error 1210, which names the function or operator.

use vaquita_types::{Error, Result, errno};

use crate::expr::{CompareOp, Expr};

/// Functions that refuse geometries under their own name.
const REFUSING: [&str; 45] = [
    "+",
    "-",
    "*",
    "/",
    "DIV",
    "%",
    "|",
    "&",
    "^",
    "~",
    "<<",
    ">>",
    "LIKE",
    "GREATEST",
    "LEAST",
    "ABS",
    "ROUND",
    "TRUNCATE",
    "CEILING",
    "FLOOR",
    "SIGN",
    "SQRT",
    "POW",
    "RAND",
    "EXP",
    "LN",
    "LOG",
    "LOG2",
    "LOG10",
    "SIN",
    "COS",
    "TAN",
    "COT",
    "ASIN",
    "ACOS",
    "ATAN",
    "ATAN2",
    "DEGREES",
    "RADIANS",
    "CONV",
    "FORMAT",
    "ADDDATE",
    "SUBDATE",
    "SEC_TO_TIME",
    "MAKETIME",
];

/// Those that are another function in MySQL, whose name the error has.
pub(super) const UNDER_ANOTHER_NAME: [(&str, &str); 9] = [
    ("NEG", "-"),
    ("NOT", "="),
    ("MOD", "%"),
    ("CEIL", "ceiling"),
    ("POWER", "pow"),
    ("BIN", "conv"),
    ("OCT", "conv"),
    ("DATE_ADD", "date_add_interval"),
    ("DATE_SUB", "date_add_interval"),
];

/// Neither a number nor a text.
fn is_opaque(expr: &Expr) -> bool {
    expr.ty.is_geometry() || expr.ty.is_vector()
}

fn is_geometry(expr: &Expr) -> bool {
    expr.ty.is_geometry()
}

/// Error 1210.
pub fn refused(operation: &str) -> Error {
    Error::new(&errno::ER_WRONG_ARGUMENTS, &[&operation])
}

/// Refuses geometries and vectors among `exprs`.
pub fn refuse_opaque(operation: &str, exprs: &[&Expr]) -> Result<()> {
    if exprs.iter().any(|expr| is_opaque(expr)) { Err(refused(operation)) } else { Ok(()) }
}

/// Of a call of a function.
pub(super) fn check_call(name: &str, args: &[Expr]) -> Result<()> {
    if !args.iter().any(is_geometry) {
        return Ok(());
    }
    if let Some((_, other)) = UNDER_ANOTHER_NAME.iter().find(|(own, _)| *own == name) {
        return Err(refused(other));
    }
    match REFUSING.iter().find(|refusing| **refusing == name) {
        Some(operator @ &"DIV") => Err(refused(operator)),
        Some(name) => Err(refused(&name.to_ascii_lowercase())),
        None => Ok(()),
    }
}

/// Geometries are equal or not, but have no order.
pub(super) fn check_comparison(op: CompareOp, left: &Expr, right: &Expr) -> Result<()> {
    match op {
        CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => refuse_opaque(op.token(), &[left, right]),
        CompareOp::Eq | CompareOp::Ne | CompareOp::NullSafeEq => Ok(()),
    }
}
