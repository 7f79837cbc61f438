//! LIKE, LOCATE, INSTR, FIELD, FIND_IN_SET, STRCMP: all compare under the arguments' collation.

use std::borrow::Cow;

use vaquita_types::charset::{CollationId, collation};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, sql_mode};

use super::args::{MANY, any_nullable, common_text, def, each_read};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::eval::arg;
use crate::eval::{coerce, compare};
use crate::expr::{CompareAs, Expr, ExprKind};
use crate::text;
use crate::typing::{NumberClass, as_number, check_constant, int_of_length, is_string, number_class, text_in_charset};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("LIKE", 2, 3, resolve_like, like),
    def("LOCATE", 2, 3, |a| resolve_find(a, "locate", 1), |c, cx| find(c, cx, 1, 0)),
    def("POSITION", 2, 2, |a| resolve_find(a, "locate", 1), |c, cx| find(c, cx, 1, 0)),
    def("INSTR", 2, 2, |a| resolve_find(a, "instr", 0), |c, cx| find(c, cx, 0, 1)),
    def("FIND_IN_SET", 2, 2, resolve_find_in_set, find_in_set),
    def("FIELD", 2, MANY, resolve_field, field),
    def("STRCMP", 2, 2, resolve_strcmp, strcmp),
];

fn resolve_like(args: &mut Vec<Expr>) -> Result<FuncType> {
    let nullable = any_nullable(args);
    common_text(args, |i| i < 2, "like", true)?;
    FuncType::number(ColumnType::boolean(), nullable)
}

fn like(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (text, pattern) = (arg!(call.text(0, cx)), arg!(call.text(1, cx)));
    let id = like_collation(call.arg_type(0), call.arg_type(1));
    let no_backslash = cx.env.sql_mode() & sql_mode::NO_BACKSLASH_ESCAPES != 0;
    let escape = if call.len() > 2 {
        let given = arg!(call.text(2, cx));
        let given_id = call.arg_type(2).collation;
        if !is_escape(&given, given_id, cx.env.sql_mode()) {
            return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"ESCAPE"]));
        }
        text::code_point(&given, given_id)
    } else if no_backslash {
        None
    } else {
        Some(u32::from(b'\\'))
    };
    Ok(Value::bool(text::like(&text, &pattern, escape, id, cx.env)?))
}

/// It is one character. It may be none, so that nothing escapes, where a backslash does without it.
pub fn is_escape(given: &[u8], collation: CollationId, mode: u64) -> bool {
    match text::char_count(given, collation) {
        0 => mode & sql_mode::NO_BACKSLASH_ESCAPES == 0,
        chars => chars == 1,
    }
}

/// The collation that LIKE compares by: bytes where either is of bytes.
pub fn like_collation(text: &ColumnType, pattern: &ColumnType) -> CollationId {
    let of_bytes = |ty: &ColumnType| is_string(ty) && ty.collation == CollationId::BINARY;
    if of_bytes(text) { CollationId::BINARY } else { pattern.collation }
}

fn resolve_find(args: &mut Vec<Expr>, name: &str, haystack: usize) -> Result<FuncType> {
    let nullable = any_nullable(args);
    // What is looked for in a text is text.
    let text = args.get(haystack).filter(|a| is_string(&a.ty) && a.ty.collation != CollationId::BINARY).map(|a| a.ty.collation);
    if let (Some(collation), Some(needle)) = (text, args.get_mut(1 - haystack)) {
        to_charset(needle, collation)?;
    }
    // The text's charset and collation decide, whatever the other's are, even explicit ones.
    let kept = args.get(haystack).map(|a| a.ty.collation).filter(|_| args.iter().take(2).all(|a| is_string(&a.ty)));
    if let Some(collation) = kept {
        args.iter_mut().take(2).for_each(|a| a.ty.collation = collation);
    } else {
        common_text(args, |i| i < 2, name, true)?;
    }
    FuncType::number(int_of_length(11), nullable)
}

/// A string becomes a text in the charset of `collation`, with error 3854 if it is none.
fn to_charset(expr: &mut Expr, collation: CollationId) -> Result<()> {
    if is_string(&expr.ty) {
        check_constant(expr, collation)?;
        let text = std::mem::replace(expr, Expr::literal(Value::Null, ColumnType::null()));
        *expr = text_in_charset(text, collation)?;
    }
    Ok(())
}

/// The position from 1, or 0.
fn find(call: &FuncCall<'_>, cx: &EvalCx<'_>, haystack: usize, needle: usize) -> Result<Value> {
    let id = call.arg_type(haystack).collation;
    let (haystack, needle) = (arg!(call.text(haystack, cx)), arg!(call.text(needle, cx)));
    let from = if call.len() > 2 { arg!(call.int(2, cx)) } else { 1 };
    if from < 1 || from > haystack.len() as i128 + 1 {
        return Ok(Value::Int(0));
    }
    let found = text::find(&haystack, &needle, from as usize - 1, id, cx.env)?;
    Ok(Value::Int(found.map_or(0, |at| at as i64 + 1)))
}

fn resolve_find_in_set(args: &mut Vec<Expr>) -> Result<FuncType> {
    let nullable = any_nullable(args);
    let list = args.get(1).filter(|list| list.ty.kind == TypeKind::Set && is_column(list)).cloned();
    common_text(args, |_| true, "find_in_set", true)?;
    if let (Some(column), Some(text)) = (list, args.get_mut(1)) {
        *text = column;
    }
    FuncType::number(int_of_length(11), nullable)
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Slot(_) | ExprKind::Outer { .. })
}

/// The place of a label in the declaration of a SET column, if the value has it.
fn find_label(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (needle, bits) = (arg!(call.text(0, cx)), arg!(call.int(1, cx)) as u64);
    let c = collation(call.arg_type(1).collation);
    let labels = call.arg_type(1).members.iter().flat_map(|labels| labels.iter());
    let needle = text::convert(needle, call.arg_type(0).collation, call.arg_type(1).collation).unwrap_or_default();
    let at = labels.take(64).position(|label| c.equal(label, &needle));
    Ok(Value::Int(at.filter(|at| bits >> at & 1 == 1).map_or(0, |at| at as i64 + 1)))
}

fn find_in_set(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    if call.arg_type(1).kind == TypeKind::Set {
        return find_label(call, cx);
    }
    let (needle, list) = (arg!(call.text(0, cx)), arg!(call.text(1, cx)));
    if list.is_empty() || needle.contains(&b',') {
        return Ok(Value::Int(0));
    }
    let binary = call.arg_type(1).collation == CollationId::BINARY;
    let c = collation(if binary { CollationId::BINARY } else { call.arg_type(0).collation });
    // Spaces at the end count here, whatever the collation is.
    let spaces = |text: &[u8]| text.iter().rev().take_while(|b| **b == b' ').count();
    let at = list.split(|b| *b == b',').position(|item| c.equal(item, &needle) && spaces(item) == spaces(&needle));
    Ok(Value::Int(at.map_or(0, |at| at as i64 + 1)))
}

/// Texts are compared in the collation of the one that is looked for, whatever those of the others are.
fn resolve_field(args: &mut Vec<Expr>) -> Result<FuncType> {
    if args.iter().all(|a| is_string(&a.ty) || a.ty.kind == TypeKind::Null)
        && let Some((needle, others)) = args.split_first_mut()
    {
        for other in others {
            if needle.ty.collation != CollationId::BINARY {
                to_charset(other, needle.ty.collation)?;
            }
        }
    } else if !args.iter().all(|arg| is_textual(&arg.ty) || arg.ty.kind == TypeKind::Null) {
        each_read(args, as_number)?;
    } else if let [needle, others @ ..] = args.as_mut_slice()
        && needle.ty.kind == TypeKind::Json
    {
        // A document is a text beside strings, which binary ones have to be too.
        for other in others.iter_mut().filter(|other| other.ty.collation == CollationId::BINARY) {
            to_charset(other, CollationId::UTF8MB4_BIN)?;
        }
    }
    FuncType::number(int_of_length(11), false)
}

fn is_textual(ty: &ColumnType) -> bool {
    is_string(ty) || ty.is_temporal() || ty.kind == TypeKind::Json
}

fn field(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let needle = call.value(0, cx)?;
    if needle.is_null() {
        return Ok(Value::Int(0));
    }
    let types = || call.args.iter().map(|a| &a.ty).filter(|t| t.kind != TypeKind::Null);
    // As elsewhere, dates and documents are texts beside texts.
    let rule = if types().all(is_textual) {
        CompareAs::Text(call.arg_type(0).collation)
    } else {
        match types().map(number_class).max() {
            Some(NumberClass::Int) => CompareAs::Int,
            Some(NumberClass::Decimal) => CompareAs::Decimal,
            _ => CompareAs::Double,
        }
    };
    // A text among numbers is read once, with one warning.
    let needle = match rule {
        CompareAs::Double => Cow::Owned(Value::Float(coerce::to_f64(&needle, call.arg_type(0), cx.env)?)),
        _ => needle,
    };
    for i in 1..call.len() {
        let candidate = call.value(i, cx)?;
        if candidate.is_null() {
            continue;
        }
        let order = compare::compare(&needle, call.arg_type(0), &candidate, call.arg_type(i), rule, cx.env)?;
        if order.is_some_and(|o| o.is_eq()) {
            return Ok(Value::Int(i as i64));
        }
    }
    Ok(Value::Int(0))
}

fn resolve_strcmp(args: &mut Vec<Expr>) -> Result<FuncType> {
    let nullable = any_nullable(args);
    common_text(args, |_| true, "strcmp", true)?;
    FuncType::number(int_of_length(2), nullable)
}

fn strcmp(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (a, b) = (arg!(call.text(0, cx)), arg!(call.text(1, cx)));
    Ok(Value::Int(text::compare(&a, &b, call.arg_type(0).collation) as i64))
}
