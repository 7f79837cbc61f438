//! Typed calls of functions.

use vaquita_types::charset::CollationId;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, stack};

use super::conversion::{
    DECIMAL_OF_TEXT, INTEGER_OF_DOUBLE, INTEGER_OF_MOMENT, MOMENT_OF_TEXT, NUMBER_OF_DATE, QUIET_INTEGER, QUIET_NUMBER,
};
use super::{COERCIBILITY_NUMERIC, cast_to, is_hex_literal, is_plain_number};
use crate::eval::coerce::hex_number;
use crate::expr::{Expr, ExprKind, SubqueryKind, SubqueryState};
use crate::function::{FuncDef, FuncType};

/// Functions and operators that read their arguments as numbers.
const NUMERIC: [&str; 14] =
    ["+", "-", "*", "/", "%", "MOD", "NEG", "ABS", "ROUND", "TRUNCATE", "CEIL", "CEILING", "FLOOR", "SIGN"];

/// The arguments that a function or operator reads as integers.
pub(crate) fn integers_of(name: &str) -> &'static [usize] {
    match name {
        "~" | "BIT_COUNT" | "ELT" | "FROM_DAYS" | "MAKE_SET" | "SPACE" => &[0],
        "LEFT" | "LPAD" | "REPEAT" | "RIGHT" | "RPAD" => &[1],
        "|" | "&" | "^" | "<<" | ">>" | "MAKEDATE" | "MAKETIME" => &[0, 1],
        "MID" | "SUBSTR" | "SUBSTRING" => &[1, 2],
        "EXPORT_SET" => &[0, 4],
        _ => &[],
    }
}

/// The arguments that a function reads as dates or times.
pub(crate) fn moments_of(name: &str) -> &'static [usize] {
    match name {
        "CONVERT_TZ" | "DATE" | "DATE_FORMAT" | "DAY" | "DAYNAME" | "DAYOFMONTH" | "DAYOFWEEK" | "DAYOFYEAR" | "HOUR"
        | "LAST_DAY" | "MICROSECOND" | "MINUTE" | "MONTH" | "MONTHNAME" | "QUARTER" | "SECOND" | "TIME" | "TIMESTAMP"
        | "TIME_FORMAT" | "TIME_TO_SEC" | "TO_DAYS" | "TO_SECONDS" | "UNIX_TIMESTAMP" | "WEEK" | "WEEKDAY" | "WEEKOFYEAR"
        | "YEAR" | "YEARWEEK" => &[0],
        "EXTRACT" => &[1],
        "DATEDIFF" => &[0, 1],
        "TIMESTAMPDIFF" => &[1, 2],
        _ => &[],
    }
}

/// `expr` where a number is wanted: a date or time that a function gives as text is a number as those of temporal types are.
pub fn as_number(expr: Expr) -> Result<Expr> {
    match expr.ty.is_bytes() {
        true if is_text_of_date(&expr) => call(&NUMBER_OF_DATE, vec![expr]),
        true if expr.passes_on() => each_passed_on(expr, |operand| as_number(number_of_text(operand))),
        _ => quiet_number(expr),
    }
}

/// `expr` where a DECIMAL is wanted: as `as_number`, but of other texts than literals only what is no number at all is worth a warning.
pub fn as_decimal(expr: Expr) -> Result<Expr> {
    let is_given = matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Param(_)) || is_of_no_table(&expr);
    match expr.ty.is_bytes() && !is_given {
        true if is_text_of_date(&expr) => call(&NUMBER_OF_DATE, vec![expr]),
        true if expr.passes_on() => each_passed_on(expr, |operand| as_decimal(number_of_text(operand))),
        true => call(&DECIMAL_OF_TEXT, vec![expr]),
        false => Ok(expr),
    }
}

/// `expr` where an integer is wanted. Binary strings may be wanted for their bits.
pub fn as_integer(expr: Expr) -> Result<Expr> {
    match expr.ty.is_bytes() && expr.ty.collation != CollationId::BINARY {
        true if gives_date(&expr) => call(&INTEGER_OF_MOMENT, vec![expr]),
        true if is_text_of_date(&expr) => call(&MOMENT_OF_TEXT, vec![expr]),
        true if expr.passes_on() => each_passed_on(expr, |operand| as_integer(number_of_label(operand))),
        true if is_quiet(&expr) => call(&QUIET_INTEGER, vec![expr]),
        _ => checked_integer(expr),
    }
}

/// `expr` where an integer is wanted, which a DOUBLE that it computes must be able to be. A date or time that it computes is rounded as a
/// number.
pub fn checked_integer(expr: Expr) -> Result<Expr> {
    if expr.computes_double() {
        return call(&INTEGER_OF_DOUBLE, vec![expr]);
    }
    if expr.ty.is_temporal() && computes_moment(&expr) { call(&INTEGER_OF_MOMENT, vec![expr]) } else { Ok(expr) }
}

/// `expr` where a date or time is wanted.
pub fn as_moment(expr: Expr) -> Result<Expr> {
    match expr.ty.is_bytes() {
        true if gives_date(&expr) => call(&MOMENT_OF_TEXT, vec![expr]),
        true if expr.passes_on() => each_passed_on(expr, |operand| match operand.ty.kind {
            TypeKind::Year => Ok(cast_to(operand, ColumnType::temporal(TypeKind::DateTime, 0))),
            _ => as_moment(operand),
        }),
        _ => Ok(expr),
    }
}

fn is_text_of_date(expr: &Expr) -> bool {
    // The greater or lesser of a time and a text is a text of the time that it is.
    let picks_date = |def: &FuncDef, args: &[Expr]| {
        matches!(def.name, "GREATEST" | "LEAST")
            && args.iter().any(|arg| matches!(arg.ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp))
    };
    gives_date(expr) || matches!(&expr.kind, ExprKind::Call(def, args) if picks_date(def, args))
}

fn gives_date(expr: &Expr) -> bool {
    const ADDING: [&str; 7] = ["DATE_ADD", "DATE_SUB", "TIMESTAMPADD", "ADDDATE", "SUBDATE", "ADDTIME", "SUBTIME"];
    matches!(&expr.kind, ExprKind::Call(def, _) if ADDING.contains(&def.name))
}

fn computes_moment(expr: &Expr) -> bool {
    let adds_or_reads = |def: &FuncDef, args: &[Expr]| match def.name {
        "STR_TO_DATE" => true,
        "TIMESTAMP" => args.len() == 2,
        _ => false,
    };
    gives_date(expr) || matches!(&expr.kind, ExprKind::Call(def, args) if adds_or_reads(def, args))
}

/// An ENUM or SET that became a text beside others. What CAST makes of one became a text before.
fn is_label(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Cast(inner) if matches!(inner.ty.kind, TypeKind::Enum | TypeKind::Set))
}

/// The number of a label that is picked.
fn number_of_label(expr: Expr) -> Expr {
    match expr.kind {
        ExprKind::Cast(inner) if matches!(inner.ty.kind, TypeKind::Enum | TypeKind::Set) => *inner,
        kind => Expr { kind, ..expr },
    }
}

/// A hexadecimal literal or a label that is picked is a number where one is asked for, though what picks it is a string.
fn number_of_text(expr: Expr) -> Expr {
    let expr = number_of_label(expr);
    let number = match &expr.kind {
        ExprKind::Literal(Value::Bytes(bytes)) if is_hex_literal(&expr.ty) => hex_number(bytes),
        _ => None,
    };
    number.map_or(expr, |number| Expr::literal(Value::UInt(number), ColumnType::bigint_unsigned()))
}

/// `expr`, of which `read` makes each operand that it may pick a number.
fn each_passed_on(mut expr: Expr, read: fn(Expr) -> Result<Expr>) -> Result<Expr> {
    let operands: Vec<&mut Expr> = match &mut expr.kind {
        ExprKind::Call(def, args) if def.name == "NULLIF" => args.iter_mut().take(1).collect(),
        ExprKind::Call(_, args) => args.iter_mut().skip(1).collect(),
        ExprKind::Case { whens, otherwise, .. } => {
            whens.iter_mut().map(|(_, then)| then).chain(otherwise.as_deref_mut()).collect()
        }
        _ => Vec::new(),
    };
    for operand in operands {
        let taken = std::mem::replace(operand, Expr::literal(Value::Null, ColumnType::null()));
        *operand = stack::deeper(|| read(before_merging(taken)))?;
    }
    Ok(expr)
}

/// The number, date or time that became a text beside texts.
fn before_merging(expr: Expr) -> Expr {
    let is_no_text = |ty: &ColumnType| ty.is_temporal() || is_plain_number(ty);
    match expr.kind {
        ExprKind::Cast(inner) if is_no_text(&inner.ty) && expr.coercibility == COERCIBILITY_NUMERIC => *inner,
        kind => Expr { kind, ..expr },
    }
}

/// A text that a function picks or a subquery gives is read as a number without a warning, as in MySQL, where it is asked for one.
pub fn quiet_number(expr: Expr) -> Result<Expr> {
    if expr.ty.is_bytes() && picks_label(&expr) {
        return as_number(expr);
    }
    if is_quiet(&expr) { call(&QUIET_NUMBER, vec![expr]) } else { Ok(expr) }
}

fn picks_label(expr: &Expr) -> bool {
    let is_picked = |operand: &Expr| is_label(operand) || stack::deeper(|| picks_label(operand));
    match &expr.kind {
        ExprKind::Call(def, args) if def.name == "NULLIF" => args.iter().take(1).any(is_picked),
        ExprKind::Call(_, args) if expr.passes_on() => args.iter().skip(1).any(is_picked),
        ExprKind::Case { whens, otherwise, .. } => {
            whens.iter().any(|(_, then)| is_picked(then)) || otherwise.as_deref().is_some_and(is_picked)
        }
        _ => false,
    }
}

fn is_quiet(expr: &Expr) -> bool {
    let picks = match &expr.kind {
        ExprKind::Call(def, _) => matches!(def.name, "GREATEST" | "LEAST" | "IFNULL" | "COALESCE" | "ANY_VALUE"),
        ExprKind::Subquery(subquery) => matches!(subquery.kind, SubqueryKind::Scalar | SubqueryKind::Column(_)),
        _ => false,
    };
    picks && expr.ty.is_bytes() && !is_hex_literal(&expr.ty) && !is_of_no_table(expr)
}

/// `(SELECT 'text')` is as good as its text.
pub(super) fn is_of_no_table(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Subquery(sub) if matches!(&sub.query, SubqueryState::Bound(bound) if bound.of_no_table))
}

/// The arguments at `which`, read as what `read` makes of them.
fn read_at(args: &mut [Expr], which: &[usize], read: fn(Expr) -> Result<Expr>) -> Result<()> {
    for at in which {
        if let Some(arg) = args.get_mut(*at) {
            let taken = std::mem::replace(arg, Expr::literal(Value::Null, ColumnType::null()));
            *arg = read(taken)?;
        }
    }
    Ok(())
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
    super::vectors::check_call(def.name, &args)?;
    if NUMERIC.contains(&def.name) {
        args = args.into_iter().map(as_number).collect::<Result<_>>()?;
    }
    read_at(&mut args, integers_of(def.name), as_integer)?;
    read_at(&mut args, moments_of(def.name), as_moment)?;
    let FuncType { ty, nullable, coercibility } = (def.resolve)(&mut args)?;
    Ok(Expr { kind: ExprKind::Call(def, args), ty, nullable, coercibility })
}
