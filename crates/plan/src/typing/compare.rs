//! Which rule compares two operands, and comparisons built with it.
//!
//! `compare` is what a binder calls: it brings strings to one charset, converts constants to
//! the type of the column they meet where nothing is lost (so that `id = '5'` can use an index) and
//! picks the rule. Example: `date_column = '2024-01-31'` becomes a comparison of two DATETIME
//! values, the string parsed once.

use vaquita_types::charset::{CollationId, charset};
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::decimal::Decimal;
use vaquita_types::temporal::{DateFlags, parse_datetime};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, stack};

use super::conversion::{FULL_YEAR, TEXT_OF_DATE, THIS_YEAR};
use super::stored::stored;
use super::{
    NumberClass, aggregate_collations, as_number, call, cast_to, convert_charset, is_hex_literal, is_string, number_class, scale,
    text_of_binary,
};
use crate::eval::coerce::{hex_number, parse_f64};
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind};

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

    /// The operator that is true where this one is false, and NULL where it is NULL.
    pub fn negated(self) -> Option<CompareOp> {
        match self {
            CompareOp::Eq => Some(CompareOp::Ne),
            CompareOp::Ne => Some(CompareOp::Eq),
            CompareOp::Lt => Some(CompareOp::Ge),
            CompareOp::Le => Some(CompareOp::Gt),
            CompareOp::Gt => Some(CompareOp::Le),
            CompareOp::Ge => Some(CompareOp::Lt),
            CompareOp::NullSafeEq => None,
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
        NumberClass::Double => match fixed_decimals(a).max(fixed_decimals(b)) {
            decimals if decimals < DECIMALS_NOT_FIXED => CompareAs::DoubleFixed(decimals),
            _ => CompareAs::Double,
        },
    })
}

/// Digits after the point that values of the type are declared to have.
fn fixed_decimals(ty: &ColumnType) -> u8 {
    match ty.kind {
        TypeKind::Float | TypeKind::Double => ty.decimals,
        _ if number_class(ty) == NumberClass::Double => DECIMALS_NOT_FIXED,
        _ => scale(ty),
    }
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

pub(crate) fn is_date(ty: &ColumnType) -> bool {
    matches!(ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp)
}

/// It gets its one value when the statement runs.
pub(super) fn is_given_later(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Param(_) => true,
        ExprKind::Cast(e) => is_given_later(e),
        _ => false,
    }
}

fn is_row_dependent(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::UserVar(_) => false,
        ExprKind::Subquery(sub) => sub.correlated,
        ExprKind::Cast(e) => is_row_dependent(e),
        _ => true,
    }
}

/// A date with a date, a year or a string compares as dates, TIME with TIME as TIME; a temporal column also with a number or string
/// that is given later. Constants are in the column's type already (`stored`) if it can hold them: what is left of them and other mixes
/// compares as numbers, or TIME with a string as strings.
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
    let later = column && is_given_later(other) && (is_string(&other.ty) || other.ty.is_integer());
    if !is_date(&temporal.ty) {
        return later.then_some(CompareAs::Time);
    }
    (is_string(&other.ty) || other.ty.kind == TypeKind::Year || later).then_some(CompareAs::DateTime)
}

/// `left op right`, typed.
pub fn compare(op: CompareOp, left: Expr, right: Expr) -> Result<Expr> {
    if matches!(left.kind, ExprKind::Row(_)) || matches!(right.kind, ExprKind::Row(_)) {
        return stack::deeper(|| make_row_compare(op, left, right));
    }
    let mut made = compare_columns(op, left, right)?;
    if let ExprKind::Compare(_, left, right, rule @ CompareAs::DateTime) = &mut made.kind
        && (is_day_and_text(left, right) || is_day_and_text(right, left))
    {
        *rule = CompareAs::Date;
    }
    Ok(made)
}

/// As `compare`, for two columns of subqueries, which look at times of day as well.
pub fn compare_columns(op: CompareOp, left: Expr, right: Expr) -> Result<Expr> {
    let right = readable(right, &left);
    let left = readable(left, &right);
    let (left, right) = full_years(left, right)?;
    let (right, exact) = text_beside_decimal(&left, right);
    let (left, also_exact) = text_beside_decimal(&right, left);
    let mut made = compare_scalars(op, left, right)?;
    if (exact || also_exact)
        && let ExprKind::Compare(_, _, _, rule @ (CompareAs::Double | CompareAs::DoubleFixed(_))) = &mut made.kind
    {
        *rule = CompareAs::Decimal;
    }
    Ok(made)
}

/// A text that a DECIMAL of the row is compared with is a DECIMAL, and said to be a bad one. (BETWEEN and IN compare both as DOUBLE.)
fn text_beside_decimal(operand: &Expr, text: Expr) -> (Expr, bool) {
    let is_of_row = is_row_dependent(operand) && !is_row_independent(operand);
    if operand.ty.kind != TypeKind::Decimal || !is_of_row || is_hex_literal(&text.ty) {
        return (text, false);
    }
    let ExprKind::Literal(Value::Bytes(bytes)) = &text.kind else { return (text, false) };
    let parsed = Decimal::parse(bytes);
    if parsed.overflow {
        return (text, false);
    }
    if parsed.used < bytes.len() || bytes.is_empty() {
        return (text, true);
    }
    let ty = ColumnType::decimal(65, parsed.value.scale().min(30));
    (Expr::literal(Value::Decimal(parsed.value), ty), true)
}

/// Of a text that is not constant a DATE looks at the day only.
fn is_day_and_text(day: &Expr, text: &Expr) -> bool {
    day.ty.kind == TypeKind::Date && is_string(&text.ty) && is_row_dependent(day) && is_row_dependent(text)
}

/// A constant text beside what is none: in UTF-8, so that its digits can be read.
fn readable(text: Expr, other: &Expr) -> Expr {
    let is_wide = text.ty.is_bytes() && !charset(text.ty.collation).is_ascii_compatible();
    if is_wide && !is_string(&other.ty) && !matches!(other.kind, ExprKind::Row(_)) && is_row_independent(&text) {
        return convert_charset(text, CollationId::UTF8MB4_BIN);
    }
    text
}

/// Where a text decides the collation, as with COLLATE, a binary string is one too, with error 3854 if it is none.
pub(crate) fn text_beside_text(operand: Expr, collation: CollationId) -> Result<Expr> {
    let is_binary = is_string(&operand.ty) && operand.ty.is_bytes() && operand.ty.collation == CollationId::BINARY;
    if is_binary && !matches!(operand.kind, ExprKind::Literal(_) | ExprKind::Param(_)) {
        return text_of_binary(operand, collation);
    }
    Ok(operand)
}

/// As `compare`, but years have four digits: so IN takes them.
pub(super) fn compare_scalars(op: CompareOp, left: Expr, right: Expr) -> Result<Expr> {
    super::geometry::check_comparison(op, &left, &right)?;
    super::vectors::check_comparison(op, &left, &right)?;
    let right = readable(right, &left);
    let left = readable(left, &right);
    let (left, right) = adapt_constants(left, right);
    compare_adapted(op, left, right)
}

/// As `compare_scalars`, of operands that stay what they are.
pub(super) fn compare_adapted(op: CompareOp, left: Expr, right: Expr) -> Result<Expr> {
    let rule = compare_as(&left, &right, op.token())?;
    let (left, right) = match rule {
        CompareAs::Double | CompareAs::DoubleFixed(_) => (as_number(left)?, as_number(right)?),
        CompareAs::Text(collation) if collation != CollationId::BINARY => {
            let (left, right) = (text_beside_text(left, collation)?, text_beside_text(right, collation)?);
            prepare_operands(left, right, rule)
        }
        _ => prepare_operands(left, right, rule),
    };
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
    let each = |op, pairs: Vec<_>| pairs.into_iter().map(|(l, r)| compare(op, l, r)).collect::<Result<Vec<_>>>();
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => Ok(conjunction(each(op, pairs)?)),
        CompareOp::Ne => Ok(disjunction(each(op, pairs)?)),
        _ => row_order(op, pairs),
    }
}

/// Elements whose order is a chain of conditions, two levels of the tree each.
const ROW_ELEMENTS_IN_A_CHAIN: usize = 64;

fn row_order(op: CompareOp, mut pairs: Vec<(Expr, Expr)>) -> Result<Expr> {
    // Long rows by halves, so that the tree stays low.
    let first = if pairs.len() > ROW_ELEMENTS_IN_A_CHAIN { pairs.len() / 2 } else { 1 };
    let rest = pairs.split_off(first.min(pairs.len()));
    let strict = match op {
        CompareOp::Lt | CompareOp::Le => CompareOp::Lt,
        _ => CompareOp::Gt,
    };
    let (decided, ties) = match pairs.len() {
        0 => return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&1])),
        1 => {
            let Some((l, r)) = pairs.pop() else { return Err(Error::internal("a row without elements")) };
            if rest.is_empty() {
                return compare(op, l, r);
            }
            (compare(strict, l.clone(), r.clone())?, vec![compare(CompareOp::Eq, l, r)?])
        }
        _ => {
            let ties = pairs.iter().cloned().map(|(l, r)| compare(CompareOp::Eq, l, r)).collect::<Result<Vec<_>>>()?;
            (row_order(strict, pairs)?, ties)
        }
    };
    Ok(disjunction(vec![decided, conjunction(vec![conjunction(ties), row_order(op, rest)?])]))
}

/// A predicate: BIGINT(1).
pub(super) fn boolean(kind: ExprKind, nullable: bool) -> Expr {
    Expr { kind, ty: ColumnType::boolean(), nullable, coercibility: super::COERCIBILITY_NUMERIC }
}

pub(super) fn is_column(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Slot(_) | ExprKind::Outer { .. })
}

/// A number, and no date or time that counts as one.
pub fn is_plain_number(ty: &ColumnType) -> bool {
    !is_string(ty) && !ty.is_temporal() && !matches!(ty.kind, TypeKind::Null | TypeKind::Json)
}

/// A constant text that BETWEEN and IN compare with a date: one that is none is the zero date there, not error 1525.
pub(super) fn unchecked_date(value: &Expr, text: Expr) -> Result<Expr> {
    let is_text = is_row_independent(&text) && is_string(&text.ty);
    if is_text && is_date(&value.ty) && stored(value, &text).is_none() { call(&TEXT_OF_DATE, vec![text]) } else { Ok(text) }
}

/// `value IN (list)`. Candidates that need different rules become a disjunction.
pub fn compare_list(value: Expr, mut list: Vec<Expr>) -> Result<Expr> {
    if let ExprKind::Row(_) = value.kind {
        let tests = list.into_iter().map(|item| compare(CompareOp::Eq, value.clone(), item)).collect::<Result<Vec<_>>>()?;
        return Ok(disjunction(tests));
    }
    // IN with one candidate is an equality in MySQL.
    if let [_] = list[..]
        && let Some(only) = list.pop()
    {
        return compare(CompareOp::Eq, value, only);
    }
    let strings = |e: &Expr| is_string(&e.ty) || e.ty.kind == TypeKind::Null;
    if strings(&value) && list.iter().all(strings) {
        let collation = aggregate_collations(&std::iter::once(&value).chain(&list).collect::<Vec<_>>(), " IN ", true)?.collation;
        let nullable = value.nullable || list.iter().any(|e| e.nullable);
        let list = list.into_iter().map(|item| convert_charset(item, collation)).collect();
        let value = Box::new(convert_charset(value, collation));
        return Ok(boolean(ExprKind::InList(value, list, CompareAs::Text(collation)), nullable));
    }
    // Numbers among texts have no collation, but the texts have one together, also where they are compared with a date, a time or NULL.
    if (strings(&value) || value.ty.is_temporal()) && list.iter().any(|item| is_string(&item.ty)) {
        aggregate_collations(&std::iter::once(&value).chain(&list).collect::<Vec<_>>(), " IN ", true)?;
    }
    // A time among texts and days is one of today.
    if value.ty.kind == TypeKind::Time
        && list.iter().any(|e| is_date(&e.ty))
        && list.iter().any(|e| matches!(e.kind, ExprKind::Literal(Value::Bytes(_))) && is_string(&e.ty))
        && list.iter().all(|e| is_date(&e.ty) || is_string(&e.ty) || e.ty.kind == TypeKind::Time)
    {
        let nullable = value.nullable || list.iter().any(|e| e.nullable);
        return Ok(boolean(ExprKind::InList(Box::new(value), list, CompareAs::DateTime), nullable));
    }
    if has_several_kinds(&value, &list) {
        let tests = list.into_iter().map(|item| compare_kind(value.clone(), item)).collect::<Result<Vec<_>>>()?;
        return Ok(disjunction(tests));
    }
    if let Some(rule) = mixed_list_rule(&value, &list) {
        let nullable = value.nullable || list.iter().any(|e| e.nullable);
        let (value, list) = match rule {
            // Among constants a text that is no day or time is equal to none.
            CompareAs::Date | CompareAs::Time if list.iter().all(is_constant_item) => {
                let ty = match rule {
                    CompareAs::Date => ColumnType::new(TypeKind::Date),
                    _ => ColumnType::temporal(TypeKind::Time, 6),
                };
                let read = |e: Expr| if is_string(&e.ty) { cast_to(e, ty.clone()) } else { e };
                (value, list.into_iter().map(read).collect())
            }
            // Among times alone a text that is none is NULL, not midnight.
            CompareAs::Time if !list.iter().any(|e| is_string(&e.ty)) => {
                (cast_to(value, ColumnType::temporal(TypeKind::Time, 6)), list)
            }
            _ => (value, list),
        };
        return Ok(boolean(ExprKind::InList(Box::new(value), list, rule), nullable));
    }
    let is_literal_text = |item: &Expr| matches!(item.kind, ExprKind::Literal(Value::Bytes(_))) && is_string(&item.ty);
    let is_null_or_time = |item: &Expr| matches!(item.kind, ExprKind::Literal(Value::Null | Value::Time(_)));
    let constants_alone = list.iter().all(|item| is_literal_text(item) || is_null_or_time(item) || is_given_later(item));
    let days_alone = list.iter().all(|item| match &item.kind {
        ExprKind::Literal(value) => matches!(value, Value::Bytes(_) | Value::Date(_) | Value::DateTime(_) | Value::Null),
        _ => false,
    });
    let mut adapted = Vec::with_capacity(list.len());
    let mut rules = Vec::with_capacity(list.len());
    for item in list {
        let item = readable(item, &value);
        if let ExprKind::Row(_) = &item.kind {
            return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&1]));
        }
        // IN compares times to the last digit.
        let (_, item) = adapt_constants(exact_time(value.clone()), item);
        if value.ty.kind == TypeKind::Date && days_alone && is_no_date(&item) {
            // Equal to none, not to the zero date.
            adapted.push(cast_to(item, ColumnType::new(TypeKind::Date)));
            rules.push(CompareAs::DateTime);
            continue;
        }
        let item = unchecked_date(&value, item)?;
        // A text that is no time is midnight here, or equal to none; alone it would be compared as text.
        let is_text = is_literal_text(&item) || item.ty.is_bytes() && !is_hex_literal(&item.ty) && !is_given_later(&item);
        rules.push(match value.ty.kind {
            TypeKind::Time if is_text => CompareAs::Time,
            _ => exactly(compare_as(&value, &item, "in")?),
        });
        adapted.push(item);
    }
    let Some(rule) = common_rule(&rules, &adapted) else {
        let tests = adapted
            .into_iter()
            .map(|item| {
                let value = unchecked_date(&item, value.clone())?;
                // A number is compared with each date and time as the number that it is.
                match is_plain_number(&value.ty) && value.ty.kind != TypeKind::Year && item.ty.is_temporal() {
                    true => compare_adapted(CompareOp::Eq, value, item),
                    false => compare_scalars(CompareOp::Eq, value, item),
                }
            })
            .collect::<Result<Vec<_>>>()?;
        return Ok(disjunction(tests));
    };
    if rule == CompareAs::Time && !constants_alone {
        // Among other items than constants a text that is no time is equal to none.
        let is_sent = |item: &Expr| matches!(item.kind, ExprKind::Param(_));
        for item in adapted.iter_mut().filter(|item| is_literal_text(item) || is_sent(item)) {
            replace(item, |item| cast_to(item, ColumnType::temporal(TypeKind::Time, 6)));
        }
    }
    let nullable = value.nullable || adapted.iter().any(|e| e.nullable);
    let mut operand = if let CompareAs::Double = rule { as_number(value)? } else { value };
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

/// A list of numbers and of what is none, for a date or time; one of numbers and of dates or times, for a text. MySQL compares with each
/// kind in its own way. Numbers alone are read as the date or time that they are compared with if all of them are constant.
fn has_several_kinds(value: &Expr, list: &[Expr]) -> bool {
    let is_text = |e: &Expr| is_string(&e.ty) && !is_hex_literal(&e.ty);
    let is_number = |e: &Expr| is_plain_number(&e.ty) && e.ty.kind != TypeKind::Year;
    let is_null = |e: &Expr| matches!(e.kind, ExprKind::Literal(Value::Null));
    let fits = |e: &Expr| !is_given_later(e) && (is_null(e) || is_text(e) || is_number(e) || e.ty.is_temporal());
    if is_given_later(value) || !list.iter().any(is_number) || !list.iter().all(fits) {
        return false;
    }
    let has_moments = list.iter().any(|e| e.ty.is_temporal());
    match value.ty.is_temporal() {
        true => has_moments || list.iter().any(is_text) || !list.iter().all(is_constant_item),
        false => is_text(value) && has_moments,
    }
}

/// `value = item`, an item of a list of several kinds: numbers stay numbers, and a text is compared with the text of a date or time.
fn compare_kind(value: Expr, item: Expr) -> Result<Expr> {
    if value.ty.is_temporal() && is_plain_number(&item.ty) {
        return compare_adapted(CompareOp::Eq, value, item);
    }
    if is_string(&value.ty) && item.ty.is_temporal() {
        let text = super::as_string(item, value.ty.collation);
        return compare_scalars(CompareOp::Eq, value, text);
    }
    if value.ty.kind == TypeKind::Time && item.ty.is_bytes() {
        // A text that is no time is equal to none.
        let nullable = value.nullable || item.nullable;
        let time = match item.kind {
            ExprKind::Literal(_) => cast_to(item, ColumnType::temporal(TypeKind::Time, 6)),
            _ => item,
        };
        return Ok(boolean(ExprKind::InList(Box::new(value), vec![time], CompareAs::Time), nullable));
    }
    let item = unchecked_date(&value, item)?;
    compare_scalars(CompareOp::Eq, value, item)
}

/// A text among dates or times and other texts: all of them are dates or times, and a text that is none is the zero date or midnight.
/// Of constants that are DATEs and texts only the days count.
fn mixed_list_rule(value: &Expr, list: &[Expr]) -> Option<CompareAs> {
    let is_text = |e: &Expr| e.ty.is_bytes() && !is_hex_literal(&e.ty);
    if !is_text(value) {
        return None;
    }
    let constants = list.iter().all(is_constant_item);
    let (mut date, mut moment, mut time) = (false, false, false);
    for item in list.iter().filter(|item| !is_text(item)) {
        match &item.ty {
            _ if matches!(item.kind, ExprKind::Literal(Value::Null)) => {}
            ty if is_date(ty) => {
                date = true;
                moment |= ty.kind != TypeKind::Date;
            }
            ty if ty.kind == TypeKind::Time => time = true,
            _ => return None,
        }
    }
    match (date, time) {
        (true, false) if constants && !moment => Some(CompareAs::Date),
        (true, _) => Some(CompareAs::DateTime),
        (false, true) => Some(CompareAs::Time),
        (false, false) => None,
    }
}

fn is_constant_item(item: &Expr) -> bool {
    is_row_independent(item) || matches!(item.kind, ExprKind::Literal(_))
}

/// A constant text that is no date under any sql_mode.
fn is_no_date(item: &Expr) -> bool {
    match &item.kind {
        ExprKind::Literal(Value::Bytes(text)) => {
            is_string(&item.ty) && !is_hex_literal(&item.ty) && parse_datetime(text, DateFlags::default()).is_err()
        }
        _ => false,
    }
}

fn exact_time(mut value: Expr) -> Expr {
    if value.ty.kind == TypeKind::Time {
        value.ty.decimals = 6;
    }
    value
}

/// IN and CASE compare floating point numbers to the last digit.
fn exactly(rule: CompareAs) -> CompareAs {
    if let CompareAs::DoubleFixed(_) = rule { CompareAs::Double } else { rule }
}

/// One rule for all candidates; NULL literals fit every rule, but not parameters whose value is not there yet.
fn common_rule(rules: &[CompareAs], items: &[Expr]) -> Option<CompareAs> {
    let is_null = |e: &Expr| e.ty.kind == TypeKind::Null && !is_given_later(e);
    let mut typed = rules.iter().zip(items).filter(|(_, e)| !is_null(e)).map(|(r, _)| *r);
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

/// How the operand of a simple CASE compares with each WHEN. The strings among all of them have one collation, and are adapted in
/// place. As elsewhere in MySQL, JSON is a string here.
pub fn case_compare(operand: &mut Expr, whens: &mut [&mut Expr]) -> Result<Vec<CompareAs>> {
    let as_text = |e: &Expr| is_string(&e.ty) || e.ty.kind == TypeKind::Json;
    let mut collation = None;
    if as_text(operand) {
        let mut texts: Vec<&Expr> = vec![operand];
        texts.extend(whens.iter().map(|w| &**w).filter(|w| as_text(w)));
        collation = Some(aggregate_collations(&texts, "case", texts.len() > 1)?.collation);
    } else if operand.ty.is_temporal() {
        let texts: Vec<&Expr> = std::iter::once(&*operand).chain(whens.iter().map(|w| &**w).filter(|w| as_text(w))).collect();
        aggregate_collations(&texts, "case", true)?;
    }
    let mut rules = Vec::with_capacity(whens.len());
    for when in whens.iter() {
        rules.push(match (collation, operand.ty.kind, when.ty.kind) {
            (Some(collation), _, _) if as_text(when) || when.ty.is_temporal() => CompareAs::Text(collation),
            (_, TypeKind::Time, TypeKind::DateTime | TypeKind::Timestamp) => CompareAs::Time,
            (_, TypeKind::Time, _) if is_string(&when.ty) => CompareAs::Time,
            (None, _, TypeKind::Json) => CompareAs::Double,
            (Some(_), TypeKind::Json, kind) if kind != TypeKind::Null => CompareAs::Double,
            _ => exactly(compare_as(operand, when, "case")?),
        });
    }
    if !rules.is_empty() && rules.iter().all(|rule| *rule == CompareAs::Double) {
        let taken = std::mem::replace(operand, Expr::literal(Value::Null, ColumnType::null()));
        *operand = as_number(taken)?;
    }
    for (when, _) in whens.iter_mut().zip(&rules).filter(|(_, rule)| **rule == CompareAs::Double) {
        let taken = std::mem::replace(&mut **when, Expr::literal(Value::Null, ColumnType::null()));
        **when = as_number(taken)?;
    }
    if let Some(collation) = collation {
        replace(operand, |e| convert_charset(e, collation));
        for when in whens {
            replace(when, |e| convert_charset(e, collation));
        }
    }
    Ok(rules)
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
pub(super) fn full_years(left: Expr, right: Expr) -> Result<(Expr, Expr)> {
    let is_year = |e: &Expr| e.ty.kind == TypeKind::Year && matches!(e.kind, ExprKind::Slot(_) | ExprKind::Outer { .. });
    let full_year = |e: Expr| match &e.kind {
        // A time of day is stored as one of today.
        ExprKind::Literal(Value::Time(_)) => call(&THIS_YEAR, Vec::new()),
        ExprKind::Literal(_) => Ok(e),
        _ if is_row_independent(&e) => call(&FULL_YEAR, vec![e]),
        _ => Ok(e),
    };
    Ok(match (is_year(&left), is_year(&right)) {
        (true, false) => {
            let right = match stored(&left, &right) {
                Some(stored) => stored,
                None => full_year(right)?,
            };
            (left, right)
        }
        (false, true) => {
            let left = match stored(&right, &left) {
                Some(stored) => stored,
                None => full_year(left)?,
            };
            (left, right)
        }
        _ => (left, right),
    })
}

/// As `full_years`, for `left IN (SELECT right)`: a literal on one side and a column on the other.
pub fn years_of_literals(left: Expr, right: &mut Expr) -> Expr {
    let is_year = |e: &Expr| e.ty.kind == TypeKind::Year && is_column(e);
    if is_year(&left)
        && let Some(stored) = stored(&left, right)
    {
        *right = stored;
    } else if is_year(right)
        && let Some(stored) = stored(right, &left)
    {
        return stored;
    }
    left
}

/// Numbers and texts that are the same for every row.
pub(super) fn is_row_independent(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(value) => !value.is_null(),
        ExprKind::Param(_) | ExprKind::UserVar(_) => true,
        ExprKind::Cast(e) => is_row_independent(e),
        ExprKind::Call(def, args) => def.foldable && args.iter().all(is_row_independent),
        _ => false,
    }
}

/// A constant operand as the other one, a column or a date, would hold it, if that loses nothing that matters.
pub fn adapt_constants(left: Expr, right: Expr) -> (Expr, Expr) {
    if let Some(right) = adapt_literal(&left, &right) {
        return (left, right);
    }
    let adapted = adapt_literal(&right, &left);
    (adapted.unwrap_or(left), right)
}

pub(super) fn adapt_literal(operand: &Expr, literal: &Expr) -> Option<Expr> {
    let ExprKind::Literal(value) = &literal.kind else { return None };
    let is_column = matches!(operand.kind, ExprKind::Slot(_) | ExprKind::Outer { .. });
    match (&operand.ty, value) {
        // A hexadecimal literal beside a number is one, for an index too.
        (ty, Value::Bytes(bytes)) if is_hex_literal(&literal.ty) && is_plain_number(ty) => {
            hex_number(bytes).map(|number| Expr::literal(Value::UInt(number), ColumnType::bigint_unsigned()))
        }
        (ty, _) if ty.is_temporal() => stored(operand, literal),
        (ty, Value::Bytes(text)) if is_column && ty.is_integer() && !is_hex_literal(&literal.ty) => {
            let parsed = Decimal::parse(text);
            if parsed.used != text.len() || parsed.overflow || parsed.truncated {
                return stored_integer(ty, text);
            }
            exact_integer(&parsed.value).or_else(|| stored_integer(ty, text))
        }
        (ty, Value::Decimal(d)) if is_column && ty.is_integer() => exact_integer(d),
        _ => None,
    }
}

/// `text`, a constant that a condition compares with a column of integers as DOUBLE, becomes the integer that it stands for, so that
/// integers that are equal as DOUBLE differ. As MySQL (`const_folding`): what has a fraction as a DOUBLE stays, other digits behind the
/// point are rounded away, also beyond the range of the column, in which case no row is equal.
pub fn exact_beside_integer(column: &Expr, text: &mut Expr, rule: &mut CompareAs) {
    let is_double = matches!(rule, CompareAs::Double | CompareAs::DoubleFixed(_));
    let is_integer = is_column(column) && column.ty.is_integer() && !matches!(column.ty.kind, TypeKind::Year | TypeKind::Bit);
    let ExprKind::Literal(Value::Bytes(bytes)) = &text.kind else { return };
    if !is_double || !is_integer || !is_string(&text.ty) || is_hex_literal(&text.ty) {
        return;
    }
    let Some(number) = whole_number(bytes) else { return };
    (*text, *rule) = match exact_integer(&number) {
        Some(integer) => (integer, CompareAs::Int),
        None => (Expr::literal(Value::Decimal(number), ColumnType::decimal(65, 0)), CompareAs::Decimal),
    };
}

/// A constant text whose number has no fraction as a DOUBLE.
pub fn is_whole_number(text: &Expr) -> bool {
    match &text.kind {
        ExprKind::Literal(Value::Bytes(bytes)) if is_string(&text.ty) && !is_hex_literal(&text.ty) => {
            whole_number(bytes).is_some()
        }
        _ => false,
    }
}

/// The integer at the start of a text, rounded; none if the text has a fraction as a DOUBLE.
fn whole_number(text: &[u8]) -> Option<Decimal> {
    (parse_f64(text).0.fract() == 0.0).then(|| Decimal::parse(text).value.round(0))
}

/// A whole text as the integer that a BIGINT column stores for it, wherever they are compared.
fn stored_integer(ty: &ColumnType, text: &[u8]) -> Option<Expr> {
    let parsed = Decimal::parse(text);
    if ty.kind != TypeKind::BigInt || parsed.used != text.len() || parsed.used == 0 || parsed.overflow {
        return None;
    }
    let number = whole_number(text)?;
    let outside = if ty.unsigned { number.to_u64().1 } else { number.to_i64().1 };
    if outside { None } else { exact_integer(&number) }
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
