//! Which rule compares two operands, and comparisons built with it.
//!
//! `compare` is what a binder calls: it brings strings to one charset, converts constants to
//! the type of the column they meet where nothing is lost (so that `id = '5'` can use an index) and
//! picks the rule. Example: `date_column = '2024-01-31'` becomes a comparison of two DATETIME
//! values, the string parsed once.

use vaquita_types::decimal::Decimal;
use vaquita_types::temporal::{DateFlags, parse_datetime, parse_time};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::{
    NumberClass, aggregate_collations, char_length, convert_charset, is_hex_literal, is_string, mix_error, number_class,
};
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind};
use crate::func;

impl CompareOp {
    /// The token, as errors name it.
    pub fn token(self) -> &'static str {
        match self {
            CompareOp::Eq => "=",
            CompareOp::Ne => "<>",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
            CompareOp::NullSafeEq => "<=>",
        }
    }

    /// The operator with its operands exchanged: `a < b` is `b > a`.
    pub fn mirrored(self) -> CompareOp {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            other => other,
        }
    }
}

/// The rule for `left op right`. For rows it is `Row`; see `make_row_compare`.
pub fn compare_as(left: &Expr, right: &Expr, operation: &str) -> Result<CompareAs> {
    use TypeKind::*;
    let (a, b) = (&left.ty, &right.ty);
    if matches!(left.kind, ExprKind::Row(_)) || matches!(right.kind, ExprKind::Row(_)) {
        return Ok(CompareAs::Row);
    }
    if a.kind == Null && b.kind == Null {
        return Ok(CompareAs::Int);
    }
    if a.kind == Null || b.kind == Null {
        let other = if a.kind == Null { b } else { a };
        return Ok(same_type_rule(other));
    }
    if a.kind == Json || b.kind == Json {
        return Ok(CompareAs::Json);
    }
    if let Some(rule) = temporal_rule(left, right) {
        return Ok(rule);
    }
    let as_text = |t: &ColumnType| is_string(t) || t.kind == TypeKind::Time;
    if as_text(a) && as_text(b) {
        let collated = aggregate_collations(&[left, right], operation, true)?;
        return Ok(CompareAs::Text(collated.collation));
    }
    Ok(match number_class(a).max(number_class(b)) {
        NumberClass::Int => CompareAs::Int,
        NumberClass::Decimal => CompareAs::Decimal,
        NumberClass::Double => CompareAs::Double,
    })
}

/// The rule by which values of one type compare among themselves (MIN, ORDER BY, DISTINCT).
fn same_type_rule(ty: &ColumnType) -> CompareAs {
    match ty.kind {
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => CompareAs::DateTime,
        TypeKind::Time => CompareAs::Time,
        TypeKind::Json => CompareAs::Json,
        _ if is_string(ty) => CompareAs::Text(ty.collation),
        _ => match number_class(ty) {
            NumberClass::Int => CompareAs::Int,
            NumberClass::Decimal => CompareAs::Decimal,
            NumberClass::Double => CompareAs::Double,
        },
    }
}

fn is_date(ty: &ColumnType) -> bool {
    matches!(ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp)
}

fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Param(_) => true,
        ExprKind::Cast(e) => is_constant(e),
        _ => false,
    }
}

/// A date with a date or a string compares as dates, TIME with TIME or a TIME column with a string as
/// TIME; a temporal column with a constant number too. Other mixes compare as numbers.
fn temporal_rule(left: &Expr, right: &Expr) -> Option<CompareAs> {
    let (a, b) = (&left.ty, &right.ty);
    if !a.is_temporal() && !b.is_temporal() {
        return None;
    }
    if a.is_temporal() && b.is_temporal() {
        return Some(if is_date(a) || is_date(b) { CompareAs::DateTime } else { CompareAs::Time });
    }
    let (temporal, other) = if a.is_temporal() { (left, right) } else { (right, left) };
    let column = matches!(temporal.kind, ExprKind::Slot(_) | ExprKind::Outer { .. });
    let comparable =
        is_string(&other.ty) && (is_date(&temporal.ty) || column) || column && is_constant(other) && other.ty.is_integer();
    comparable.then_some(if is_date(&temporal.ty) { CompareAs::DateTime } else { CompareAs::Time })
}

/// `left op right`, typed.
pub fn compare(op: CompareOp, left: Expr, right: Expr) -> Result<Expr> {
    if matches!(left.kind, ExprKind::Row(_)) || matches!(right.kind, ExprKind::Row(_)) {
        return make_row_compare(op, left, right);
    }
    let (left, right) = full_years(left, right)?;
    compare_scalars(op, left, right)
}

/// As `compare`, but years have four digits: so BETWEEN and IN take them.
fn compare_scalars(op: CompareOp, left: Expr, right: Expr) -> Result<Expr> {
    let (left, right) = adapt_constants(left, right);
    let rule = compare_as(&left, &right, op.token())?;
    let (left, right) = prepare_operands(left, right, rule);
    let nullable = op != CompareOp::NullSafeEq && (left.nullable || right.nullable);
    Ok(boolean(ExprKind::Compare(op, Box::new(left), Box::new(right), rule), nullable))
}

/// A comparison of two row constructors of equal width (error 1241 otherwise), spelled out over
/// their elements: `(a, b) < (1, 2)` is `a < 1 OR (a = 1 AND b < 2)`.
pub fn make_row_compare(op: CompareOp, left: Expr, right: Expr) -> Result<Expr> {
    let (lefts, rights) = match (left.kind, right.kind) {
        (ExprKind::Row(a), ExprKind::Row(b)) if a.len() == b.len() => (a, b),
        (ExprKind::Row(a), _) => return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&a.len()])),
        _ => return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&1])),
    };
    let pairs: Vec<(Expr, Expr)> = lefts.into_iter().zip(rights).collect();
    let each = |op: CompareOp| pairs.iter().cloned().map(|(l, r)| compare(op, l, r)).collect::<Result<Vec<_>>>();
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => Ok(conjunction(each(op)?)),
        CompareOp::Ne => Ok(disjunction(each(op)?)),
        _ => row_order(op, &pairs),
    }
}

fn row_order(op: CompareOp, pairs: &[(Expr, Expr)]) -> Result<Expr> {
    let Some(((l, r), rest)) = pairs.split_first() else {
        return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&1]));
    };
    if rest.is_empty() {
        return compare(op, l.clone(), r.clone());
    }
    let strict = match op {
        CompareOp::Lt | CompareOp::Le => CompareOp::Lt,
        _ => CompareOp::Gt,
    };
    let decided = compare(strict, l.clone(), r.clone())?;
    let tied = compare(CompareOp::Eq, l.clone(), r.clone())?;
    Ok(disjunction(vec![decided, conjunction(vec![tied, row_order(op, rest)?])]))
}

/// A predicate: BIGINT(1).
fn boolean(kind: ExprKind, nullable: bool) -> Expr {
    Expr { kind, ty: ColumnType::boolean(), nullable, coercibility: super::COERCIBILITY_NUMERIC }
}

/// `value [NOT] BETWEEN low AND high`: two comparisons by one rule, as MySQL types it.
pub fn between(value: Expr, low: Expr, high: Expr, negated: bool) -> Result<Expr> {
    let strings = [&value, &low, &high].iter().all(|e| is_string(&e.ty) || e.ty.kind == TypeKind::Null);
    if strings && aggregate_collations(&[&value, &low, &high], "between", true).is_err() {
        return Err(mix_error(&[&value, &low, &high], "between"));
    }
    let (below, above) = if negated { (CompareOp::Lt, CompareOp::Gt) } else { (CompareOp::Ge, CompareOp::Le) };
    let first = compare_scalars(below, value.clone(), low)?;
    let second = compare_scalars(above, value, high)?;
    let nullable = first.nullable || second.nullable;
    let parts = vec![first, second];
    Ok(boolean(if negated { ExprKind::Or(parts) } else { ExprKind::And(parts) }, nullable))
}

/// `value IN (list)`. Candidates that need different rules become a disjunction.
pub fn compare_list(value: Expr, list: Vec<Expr>) -> Result<Expr> {
    if let ExprKind::Row(_) = value.kind {
        let tests = list.into_iter().map(|item| compare(CompareOp::Eq, value.clone(), item)).collect::<Result<Vec<_>>>()?;
        return Ok(disjunction(tests));
    }
    let mut adapted = Vec::with_capacity(list.len());
    let mut rules = Vec::with_capacity(list.len());
    for item in list {
        if let ExprKind::Row(_) = &item.kind {
            return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&1]));
        }
        let (_, item) = adapt_constants(value.clone(), item);
        rules.push(compare_as(&value, &item, "in")?);
        adapted.push(item);
    }
    let Some(rule) = common_rule(&rules, &adapted) else {
        let tests =
            adapted.into_iter().map(|item| compare_scalars(CompareOp::Eq, value.clone(), item)).collect::<Result<Vec<_>>>()?;
        return Ok(disjunction(tests));
    };
    let nullable = value.nullable || adapted.iter().any(|e| e.nullable);
    let mut operand = value;
    let adapted = adapted
        .into_iter()
        .map(|item| match rule {
            CompareAs::Text(collation) => convert_charset(item, collation),
            _ => item,
        })
        .collect();
    if let CompareAs::Text(collation) = rule {
        operand = convert_charset(operand, collation);
    }
    Ok(boolean(ExprKind::InList(Box::new(operand), adapted, rule), nullable))
}

/// One rule for all candidates; NULL literals fit every rule.
fn common_rule(rules: &[CompareAs], items: &[Expr]) -> Option<CompareAs> {
    let mut typed = rules.iter().zip(items).filter(|(_, e)| e.ty.kind != TypeKind::Null).map(|(r, _)| *r);
    let first = typed.next().or(rules.first().copied())?;
    typed.all(|r| r == first).then_some(first)
}

fn conjunction(mut tests: Vec<Expr>) -> Expr {
    let nullable = tests.iter().any(|t| t.nullable);
    match tests.len() {
        1 => tests.swap_remove(0),
        _ => boolean(ExprKind::And(tests), nullable),
    }
}

fn disjunction(mut tests: Vec<Expr>) -> Expr {
    let nullable = tests.iter().any(|t| t.nullable);
    match tests.len() {
        1 => tests.swap_remove(0),
        _ => boolean(ExprKind::Or(tests), nullable),
    }
}

/// The operand of a simple CASE with one rule for all WHEN values; values are adapted in place.
pub fn case_compare(operand: &mut Expr, whens: &mut [&mut Expr]) -> Result<CompareAs> {
    let mut rules = Vec::with_capacity(whens.len());
    for when in whens.iter() {
        let rule = compare_as(operand, when, "case")?;
        let text = is_string(&operand.ty) || is_string(&when.ty);
        rules.push(match rule {
            // Unlike `=`, CASE compares a date with a text as texts.
            CompareAs::DateTime | CompareAs::Time if text => {
                CompareAs::Text(aggregate_collations(&[operand, when], "case", true)?.collation)
            }
            rule => rule,
        });
    }
    let first = rules.first().copied().unwrap_or(CompareAs::Int);
    if rules.iter().all(|r| *r == first) {
        if let CompareAs::Text(collation) = first {
            replace(operand, |e| convert_charset(e, collation));
            for when in whens {
                replace(when, |e| convert_charset(e, collation));
            }
        }
        return Ok(first);
    }
    // Mixed types: numbers in the widest class, anything else as double.
    let numeric = rules.iter().all(|r| matches!(r, CompareAs::Int | CompareAs::Decimal));
    Ok(if numeric { CompareAs::Decimal } else { CompareAs::Double })
}

fn replace(expr: &mut Expr, change: impl FnOnce(Expr) -> Expr) {
    let taken = std::mem::replace(expr, Expr::literal(Value::Null, ColumnType::null()));
    *expr = change(taken);
}

fn prepare_operands(left: Expr, right: Expr, rule: CompareAs) -> (Expr, Expr) {
    match rule {
        CompareAs::Text(collation) => (convert_charset(left, collation), convert_charset(right, collation)),
        _ => (left, right),
    }
}

/// A constant that a YEAR column is compared with becomes the year that the column would store: 99 is 1999.
fn full_years(left: Expr, right: Expr) -> Result<(Expr, Expr)> {
    let is_year = |e: &Expr| e.ty.kind == TypeKind::Year && matches!(e.kind, ExprKind::Slot(_) | ExprKind::Outer { .. });
    let full_year = |e: Expr| match (&e.kind, func::lookup("FULL YEAR")) {
        (ExprKind::Literal(value), _) => Ok(Expr { kind: ExprKind::Literal(func::full_year(value)), ..e }),
        (_, Some(def)) if is_row_independent(&e) => func::call(def, vec![e]),
        _ => Ok(e),
    };
    Ok(match (is_year(&left), is_year(&right)) {
        (true, false) => (left, full_year(right)?),
        (false, true) => (full_year(left)?, right),
        _ => (left, right),
    })
}

/// Numbers and texts that are the same for every row.
fn is_row_independent(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(value) => !value.is_null(),
        ExprKind::Param(_) | ExprKind::UserVar(_) => true,
        ExprKind::Cast(e) => is_row_independent(e),
        ExprKind::Call(def, args) => def.foldable && args.iter().all(is_row_independent),
        _ => false,
    }
}

/// Converts a literal to the type of the column it is compared with, if that loses nothing.
fn adapt_constants(left: Expr, right: Expr) -> (Expr, Expr) {
    let is_column = |e: &Expr| matches!(e.kind, ExprKind::Slot(_) | ExprKind::Outer { .. });
    if is_column(&left) || is_date(&left.ty) {
        let adapted = adapt_literal(&left, &right);
        return (left, adapted.unwrap_or(right));
    }
    if is_column(&right) || is_date(&right.ty) {
        let adapted = adapt_literal(&right, &left);
        return (adapted.unwrap_or(left), right);
    }
    (left, right)
}

fn adapt_literal(column: &Expr, literal: &Expr) -> Option<Expr> {
    let ExprKind::Literal(value) = &literal.kind else { return None };
    match (&column.ty, value) {
        (ty, Value::Bytes(text)) if is_date(ty) && is_string(&literal.ty) && !is_hex_literal(&literal.ty) => {
            let parsed =
                parse_datetime(text, DateFlags { no_zero_date: true, no_zero_in_date: true, invalid_dates: false }).ok()?;
            if parsed.truncated || parsed.offset_seconds.is_some() || parsed.nanos != 0 {
                return None;
            }
            let ty = ColumnType::temporal(TypeKind::DateTime, parsed.fraction_digits);
            Some(Expr { coercibility: 4, ..Expr::literal(Value::DateTime(parsed.value), ty) })
        }
        (ty, Value::Bytes(text)) if ty.kind == TypeKind::Time && is_string(&literal.ty) && char_length(&literal.ty) < 12 => {
            let parsed = parse_time(text).ok()?;
            if parsed.truncated || parsed.out_of_range || parsed.nanos != 0 {
                return None;
            }
            Some(Expr::literal(Value::Time(parsed.value), ColumnType::temporal(TypeKind::Time, parsed.fraction_digits)))
        }
        (ty, Value::Bytes(text)) if ty.is_integer() && !is_hex_literal(&literal.ty) => {
            let parsed = Decimal::parse(text);
            if parsed.used != text.len() || parsed.overflow || parsed.truncated {
                return None;
            }
            exact_integer(&parsed.value)
        }
        (ty, Value::Decimal(d)) if ty.is_integer() => exact_integer(d),
        _ => None,
    }
}

/// The number as a BIGINT literal, if it is one.
fn exact_integer(d: &Decimal) -> Option<Expr> {
    if d.truncate(0) != *d {
        return None;
    }
    let (n, clamped) = d.to_i64();
    if !clamped {
        return Some(Expr::literal(Value::Int(n), ColumnType::bigint()));
    }
    let (n, clamped) = d.to_u64();
    (!clamped).then(|| Expr::literal(Value::UInt(n), ColumnType::bigint_unsigned()))
}
