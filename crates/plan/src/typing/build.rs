//! Typed CASE, COLLATE and CONVERT USING, for a binder.

use vaquita_types::charset::CollationId;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::{case_compare, char_length, is_string, string_type, unify};
use crate::expr::{Expr, ExprKind};
use crate::text;

/// `CASE [operand] WHEN … THEN … ELSE … END`; results get their common type.
pub fn case(operand: Option<Expr>, whens: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Result<Expr> {
    let (mut tests, mut results): (Vec<Expr>, Vec<Expr>) = whens.into_iter().unzip();
    let has_else = otherwise.is_some();
    results.extend(otherwise);
    let merged = unify(&mut results, "case")?;
    let otherwise = if has_else { results.pop().map(Box::new) } else { None };
    let operand = match operand {
        Some(mut operand) => {
            let rules = case_compare(&mut operand, &mut tests.iter_mut().collect::<Vec<_>>())?;
            Some(Box::new((operand, rules)))
        }
        None => None,
    };
    let nullable = merged.nullable || !has_else;
    let whens = tests.into_iter().zip(results).collect();
    Ok(Expr { kind: ExprKind::Case { operand, whens, otherwise }, ty: merged.ty, nullable, coercibility: merged.coercibility })
}

/// A condition that is not true is as good as one that is false: what stands behind NULL in AND is not looked at.
pub fn cut_behind_null(condition: &mut Expr) {
    if let ExprKind::And(parts) = &mut condition.kind
        && let Some(at) = parts.iter().position(|part| matches!(part.kind, ExprKind::Literal(Value::Null)))
    {
        parts.truncate(at + 1);
        if parts.len() == 1 {
            *condition = parts.swap_remove(0);
        }
    }
}

/// `expr COLLATE collation`: the same bytes under another collation; error 1253 if it is of another charset.
pub fn with_collation(expr: Expr, collation: CollationId) -> Result<Expr> {
    // NULL has the charset binary.
    if expr.ty.kind == TypeKind::Null
        && matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Subquery(_))
        && !text::same_charset(CollationId::BINARY, collation)
    {
        return Err(Error::new(&errno::ER_COLLATION_CHARSET_MISMATCH, &[&text::collation_name(collation), &"binary"]));
    }
    let charset = match expr.ty.kind {
        TypeKind::Bit => Some(CollationId::BINARY),
        TypeKind::Json => Some(CollationId::UTF8MB4_BIN),
        _ => None,
    };
    if let Some(charset) = charset.filter(|charset| !text::same_charset(*charset, collation)) {
        let (name, charset) = (text::collation_name(collation), text::charset_name(charset));
        return Err(Error::new(&errno::ER_COLLATION_CHARSET_MISMATCH, &[&name, &charset]));
    }
    let is_sent = matches!(expr.kind, ExprKind::Param(_)) && !expr.is_variable();
    let mut expr = match is_string(&expr.ty) {
        // What is sent becomes a text in the charset that COLLATE asks for.
        true if is_sent && !text::same_charset(expr.ty.collation, collation) => super::text_in_charset(expr, collation)?,
        true => expr,
        false => as_string(expr, collation),
    };
    if !text::same_charset(expr.ty.collation, collation) {
        let (name, charset) = (text::collation_name(collation), text::charset_name(expr.ty.collation));
        return Err(Error::new(&errno::ER_COLLATION_CHARSET_MISMATCH, &[&name, &charset]));
    }
    expr.ty.collation = collation;
    expr.coercibility = 0;
    Ok(expr)
}

/// `CONVERT(expr USING charset)`, given the charset's default collation.
pub fn convert_using(expr: Expr, collation: CollationId) -> Expr {
    let chars = match (&expr.kind, expr.ty.kind) {
        // Nobody knows yet how long it is.
        (ExprKind::Param(_), TypeKind::Null) => super::parameter_chars(collation),
        _ => char_length(&expr.ty),
    };
    let ty: ColumnType = string_type(u64::from(chars), collation);
    // A label is a text from here on, also where a number is asked for later.
    let expr = match expr.ty.kind {
        TypeKind::Enum | TypeKind::Set => {
            let own = expr.ty.collation;
            as_string(expr, own)
        }
        _ => expr,
    };
    Expr { kind: ExprKind::Cast(Box::new(expr)), ty, nullable: true, coercibility: 2 }
}

/// Any value as text under `collation`.
pub fn as_string(expr: Expr, collation: CollationId) -> Expr {
    if expr.ty.is_bytes() {
        return super::convert_charset(expr, collation);
    }
    // Labels of ENUM and SET too become texts, so that a function may give them as they are.
    let chars = match (&expr.kind, expr.ty.kind) {
        // Nobody knows yet how long it is.
        (ExprKind::Param(_), TypeKind::Null) => super::parameter_chars(collation),
        // A number may be longer than it is declared.
        (_, TypeKind::Float | TypeKind::Double) => char_length(&expr.ty).max(super::DOUBLE_CHARS),
        _ => char_length(&expr.ty),
    };
    super::cast_to(expr, string_type(u64::from(chars), collation))
}
