//! `value BETWEEN low AND high`: all three are compared by one rule.
//!
//! A number among texts makes all of them numbers, a date among texts makes them dates: `s BETWEEN 'x' AND date_column` compares DATETIMEs, in
//! which a text that is no date is the zero date. Constants beside a column become what it would store, as in other comparisons.

use vaquita_types::charset::CollationId;
use vaquita_types::{ColumnType, Error, Result, TypeKind};

use super::compare::{
    adapt_literal, boolean, compare_adapted, compare_scalars, full_years, is_column, is_date, is_given_later, is_plain_number,
    is_row_independent, unchecked_date,
};
use super::conversion::{BETWEEN_NUMBERS, BETWEEN_ONCE};
use super::{aggregate_collations, as_number, cast_to, convert_charset, is_hex_literal, is_string};
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind};
use crate::visit;

/// `value [NOT] BETWEEN low AND high`: two comparisons by one rule, as MySQL types it.
pub fn between(value: Expr, low: Expr, high: Expr, negated: bool) -> Result<Expr> {
    super::refuse_opaque("between", &[&value, &low, &high])?;
    let number = [&value, &low, &high].iter().any(|e| is_plain_number(&e.ty));
    let [value, low, high] = [value, low, high].map(|e| without_json(e, number));
    let strings = [&value, &low, &high].iter().all(|e| is_string(&e.ty) || e.ty.kind == TypeKind::Null);
    let collated = strings.then(|| aggregate_collations(&[&value, &low, &high], "between", true)).transpose()?;
    // Dates and times are strings where collations are concerned: of texts beside them there must be one collation, too.
    let has_texts = |e: &&Expr| is_string(&e.ty) || e.ty.is_temporal() || e.ty.kind == TypeKind::Null;
    if !strings && [&value, &low, &high].iter().all(has_texts) {
        aggregate_collations(&[&value, &low, &high], "between", true)?;
    }
    let (below, above) = if negated { (CompareOp::Lt, CompareOp::Gt) } else { (CompareOp::Ge, CompareOp::Le) };
    if is_of_numbers_and_texts(&value, &low, &high)
        || is_of_all_kinds(&value, &low, &high)
        || is_of_years_and_moments(&value, &low, &high)
    {
        let numbers = [value, low, high].into_iter().map(as_number).collect::<Result<_>>()?;
        let between = super::call(&BETWEEN_NUMBERS, numbers)?;
        return Ok(if negated { between.negated() } else { between });
    }
    if let Some(date) = date_among_texts(&value, &low, &high) {
        // As MySQL: what lies between a constant and itself is equal to it; so a text that is no date is error 1525 here.
        if !negated && is_date(&value.ty) && matches!(low.kind, ExprKind::Literal(_)) && visit::same(&low, &high) {
            return compare_scalars(CompareOp::Eq, value, low);
        }
        let [value, low, high] = [value, low, high].map(|e| unchecked_date(&date, e));
        return moments_between(value?, low?, high?, (below, above), negated);
    }
    let beside_year = is_string(&value.ty) && [&low, &high].iter().any(|bound| bound.ty.kind == TypeKind::Year);
    let side = |op: CompareOp, bound: Expr| {
        let (value, bound) = full_years(value.clone(), bound)?;
        // A number is not read as a date, whatever its bounds are.
        if is_plain_number(&value.ty) && value.ty.kind != TypeKind::Year && bound.ty.is_temporal() {
            return compare_adapted(op, value, bound);
        }
        let bound = unchecked_date(&value, bound)?;
        let value = unchecked_date(&bound, value)?;
        let mut made = compare_scalars(op, value.clone(), bound.clone())?;
        // The collation is that of all three, not that of the two which are compared.
        if let (Some(collated), ExprKind::Compare(_, _, _, CompareAs::Text(of_two))) = (&collated, &made.kind)
            && *of_two != collated.collation
        {
            let [value, bound] = [value, bound].map(|e| convert_charset(e, collated.collation));
            made = compare_scalars(op, value, bound)?;
            if let ExprKind::Compare(_, _, _, rule @ CompareAs::Text(_)) = &mut made.kind {
                *rule = CompareAs::Text(collated.collation);
            }
        }
        // A text beside a year is a number, also where the other bound is a text.
        if beside_year && let ExprKind::Compare(_, _, _, rule @ CompareAs::Text(_)) = &mut made.kind {
            *rule = CompareAs::Double;
        }
        Ok(made)
    };
    // As MySQL: what lies between a constant and itself is equal to it.
    if !negated && matches!(low.kind, ExprKind::Literal(_)) && visit::same(&low, &high) {
        return side(CompareOp::Eq, low);
    }
    between_of(side(below, low)?, side(above, high)?, negated)
}

/// `value BETWEEN` is both comparisons, `value NOT BETWEEN` one of them.
fn between_of(first: Expr, second: Expr, negated: bool) -> Result<Expr> {
    let nullable = first.nullable || second.nullable;
    if let (ExprKind::Compare(op, value, ..), ExprKind::Compare(other_op, again, ..)) = (&first.kind, &second.kind)
        && value.ty == again.ty
        && visit::changes(value)
        && let (Some(opposite), Some(other_opposite)) = (op.negated(), other_op.negated())
    {
        if !negated {
            return super::call(&BETWEEN_ONCE, vec![first, second]);
        }
        let within = [(first, opposite), (second, other_opposite)].map(|(side, opposite)| with_operator(side, opposite));
        return Ok(super::call(&BETWEEN_ONCE, within.into())?.negated());
    }
    let parts = vec![first, second];
    Ok(boolean(if negated { ExprKind::Or(parts) } else { ExprKind::And(parts) }, nullable))
}

fn with_operator(mut comparison: Expr, by: CompareOp) -> Expr {
    if let ExprKind::Compare(op, ..) = &mut comparison.kind {
        *op = by;
    }
    comparison
}

/// The date among texts, beside which all of them are read as dates and times.
fn date_among_texts(value: &Expr, low: &Expr, high: &Expr) -> Option<Expr> {
    let all = [value, low, high];
    let fits = |e: &&Expr| is_string(&e.ty) || e.ty.is_temporal() || e.ty.kind == TypeKind::Null;
    let texts = all.iter().filter(|e| is_string(&e.ty)).count();
    if texts == 0 || !all.iter().all(fits) {
        return None;
    }
    all.into_iter().find(|e| is_date(&e.ty)).cloned()
}

fn moments_between(value: Expr, low: Expr, high: Expr, ops: (CompareOp, CompareOp), negated: bool) -> Result<Expr> {
    let side = |op, bound: Expr| {
        let mut made = compare_scalars(op, value.clone(), bound)?;
        if let ExprKind::Compare(_, _, _, rule @ (CompareAs::Text(_) | CompareAs::Time)) = &mut made.kind {
            *rule = CompareAs::DateTime;
        }
        Ok::<_, Error>(made)
    };
    if !negated && matches!(low.kind, ExprKind::Literal(_)) && visit::same(&low, &high) {
        return side(CompareOp::Eq, low);
    }
    between_of(side(ops.0, low)?, side(ops.1, high)?, negated)
}

/// A number between texts, which are read as numbers one and the other, with a warning each.
fn is_of_numbers_and_texts(value: &Expr, low: &Expr, high: &Expr) -> bool {
    let is_text = |e: &Expr| e.ty.is_bytes() && !is_hex_literal(&e.ty);
    let is_number = |e: &Expr| is_plain_number(&e.ty) && e.ty.kind != TypeKind::Year;
    let beside_text = |bound: &Expr| {
        // What an index can look for stays a comparison.
        is_text(bound) && (!is_column(value) || adapt_literal(value, bound).is_none())
    };
    // What is sent between a number and a text is compared as a number with both.
    if value.ty.kind == TypeKind::Null && is_given_later(value) {
        return is_text(low) && is_number(high) || is_number(low) && is_text(high);
    }
    if is_string(&value.ty) {
        let fits = |e: &Expr| is_string(&e.ty) || is_number(e) || is_given_later(e) && !e.ty.is_temporal();
        return fits(low) && fits(high) && (is_number(low) || is_number(high));
    }
    is_number(value)
        && (is_text(low) || is_number(low))
        && (is_text(high) || is_number(high))
        && (beside_text(low) || beside_text(high))
}

/// A date or time, a number and a text: all are numbers, unless a constant becomes what the temporal column holds.
fn is_of_all_kinds(value: &Expr, low: &Expr, high: &Expr) -> bool {
    let all = [value, low, high];
    let converts = value.ty.is_temporal() && is_column(value) && (is_row_independent(low) || is_row_independent(high));
    all.iter().any(|e| e.ty.is_temporal())
        && all.iter().any(|e| is_plain_number(&e.ty) && e.ty.kind != TypeKind::Year)
        && all.iter().any(|e| e.ty.is_bytes())
        && !converts
}

/// Years and dates or times, all of which are numbers: a year is no date here. Constants become what the column holds.
fn is_of_years_and_moments(value: &Expr, low: &Expr, high: &Expr) -> bool {
    let is_year = |e: &Expr| e.ty.kind == TypeKind::Year;
    let is_moment = |e: &Expr| e.ty.is_temporal() && !is_year(e);
    let all = [value, low, high];
    let converts = is_column(value) && (is_row_independent(low) || is_row_independent(high));
    !converts
        && all.into_iter().all(|e| is_year(e) || is_moment(e))
        && all.into_iter().any(is_year)
        && all.into_iter().any(is_moment)
}

/// BETWEEN compares JSON as a text, or as a number if one of its operands is one.
fn without_json(expr: Expr, number: bool) -> Expr {
    if expr.ty.kind != TypeKind::Json {
        return expr;
    }
    let text = ColumnType { length: u32::MAX, collation: CollationId::UTF8MB4_BIN, ..ColumnType::new(TypeKind::LongText) };
    let coercibility = expr.coercibility;
    Expr { coercibility, ..cast_to(expr, if number { ColumnType::double() } else { text }) }
}
