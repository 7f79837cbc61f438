//! Truth values in JSON documents.

use vaquita_types::{ColumnType, TypeKind};

use crate::expr::{Expr, ExprKind};

/// What documents hold of values with the type of a truth: `true` of conditions and functions that answer a question, 1 of what picks one of
/// its arguments, of variables and of columns, as MySQL has it. The type decides, so it is put right.
pub fn as_truths_or_numbers(args: &mut [Expr]) {
    const TRUTHS: &[&str] = &["JSON_VALID", "JSON_CONTAINS", "JSON_CONTAINS_PATH", "GTID_SUBSET", "STRCMP"];
    const NUMBERS: &[&str] = &[
        "IF",
        "IFNULL",
        "COALESCE",
        "NULLIF",
        "GREATEST",
        "LEAST",
        "ANY_VALUE",
        "IS_FREE_LOCK",
        "GET_LOCK",
        "RELEASE_LOCK",
        "BENCHMARK",
        "SLEEP",
    ];
    for arg in args {
        let looks_like_truth = arg.ty.kind == TypeKind::BigInt && arg.ty.length == 1;
        let is_truth = match &arg.kind {
            ExprKind::Call(def, _) => TRUTHS.contains(&def.name) || looks_like_truth && !NUMBERS.contains(&def.name),
            ExprKind::Case { .. } | ExprKind::AssignVar(..) | ExprKind::Slot(_) | ExprKind::Outer { .. } => false,
            _ => looks_like_truth,
        };
        if is_truth != looks_like_truth {
            let ty = if is_truth { ColumnType::boolean() } else { ColumnType::bigint() };
            let (nullable, coercibility) = (arg.nullable, arg.coercibility);
            let plain = Box::new(std::mem::replace(arg, Expr::int(0)));
            *arg = Expr { kind: ExprKind::Cast(plain), ty, nullable, coercibility };
        }
    }
}
