//! IF, IFNULL, NULLIF, COALESCE, ISNULL, GREATEST, LEAST, INTERVAL. CASE is an `ExprKind`.

use std::cmp::Ordering;

use vaquita_types::charset::CollationId;
use vaquita_types::temporal::{DateFlags, DateTime, parse_datetime};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::args::{MANY, any_nullable, def, each_read};
use super::date::fsp_of_expr;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::eval::coerce::{self, DateNeed};
use crate::eval::compare;
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::settings::PlanSettings;
use crate::text::{of_expression, without_hex};
use crate::typing::{
    Merged, NumberClass, as_moment, as_number, char_length, cut_behind_null, int_of_length, is_plain_number, is_string,
    number_class, quiet_number, string_type, unify,
};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("IF", 3, 3, resolve_if, if_),
    def("IFNULL", 2, 2, |a| resolve_coalesce(a, "ifnull"), coalesce),
    def("COALESCE", 1, MANY, |a| resolve_coalesce(a, "coalesce"), coalesce),
    def("NULLIF", 2, 2, resolve_nullif, nullif),
    def("ISNULL", 1, 1, |_| FuncType::number(ColumnType::boolean(), false), |c, cx| Ok(Value::bool(c.value(0, cx)?.is_null()))),
    def("GREATEST", 2, MANY, |a| resolve_extreme(a, "greatest"), |c, cx| extreme(c, cx, Ordering::Greater)),
    def("LEAST", 2, MANY, |a| resolve_extreme(a, "least"), |c, cx| extreme(c, cx, Ordering::Less)),
    def("INTERVAL", 2, MANY, resolve_interval, interval),
    def("ANY_VALUE", 1, 1, resolve_same, |c, cx| Ok(c.value(0, cx)?.into_owned())),
    def("NAME_CONST", 2, 2, resolve_name_const, |c, cx| Ok(c.value(1, cx)?.into_owned())),
];

fn typed(merged: Merged, nullable: bool) -> Result<FuncType> {
    Ok(FuncType { ty: merged.ty, nullable, coercibility: merged.coercibility })
}

fn resolve_if(args: &mut Vec<Expr>) -> Result<FuncType> {
    if let Some(condition) = args.first_mut() {
        cut_behind_null(condition);
        let taken = std::mem::replace(condition, Expr::literal(Value::Null, ColumnType::null()));
        *condition = quiet_number(taken)?;
    }
    let merged = unify(args.get_mut(1..).unwrap_or_default(), "if")?;
    let nullable = merged.nullable;
    typed(merged, nullable)
}

fn if_(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let condition = match call.args.first() {
        Some(condition) => condition.eval_bool(cx)?,
        None => None,
    };
    Ok(call.value(if condition == Some(true) { 1 } else { 2 }, cx)?.into_owned())
}

fn resolve_coalesce(args: &mut Vec<Expr>, name: &str) -> Result<FuncType> {
    let nullable = args.iter().all(|a| a.nullable);
    let mut merged = unify(args, name)?;
    merged.ty = bits_as_number(merged.ty);
    typed(merged, nullable)
}

/// What gives BIT values as they come gives their numbers.
pub fn bits_as_number(ty: ColumnType) -> ColumnType {
    match ty.kind {
        TypeKind::Bit => ColumnType { length: ty.length, ..ColumnType::bigint_unsigned() },
        _ => ty,
    }
}

fn coalesce(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    for i in 0..call.len() {
        let value = call.value(i, cx)?;
        if !value.is_null() {
            return Ok(value.into_owned());
        }
    }
    Ok(Value::Null)
}

/// The second argument becomes the comparison of both.
fn resolve_nullif(args: &mut Vec<Expr>) -> Result<FuncType> {
    let (Some(b), Some(a)) = (args.pop(), args.first().cloned()) else { return Err(Error::internal("NULLIF without arguments")) };
    let ty = match a.ty.kind {
        TypeKind::Enum | TypeKind::Set => string_type(u64::from(char_length(&a.ty)), a.ty.collation),
        TypeKind::Geometry => ColumnType::new(TypeKind::Geometry),
        _ => a.ty.clone(),
    };
    // It has the collation in which both are compared.
    let (ty, coercibility) = match is_string(&ty) && is_string(&b.ty) {
        true => {
            let collated = crate::typing::aggregate_collations(&[&a, &b], "nullif", true)?;
            // Text and bytes are of other kinds.
            let same = (ty.collation == CollationId::BINARY) == (collated.collation == CollationId::BINARY);
            // A text that is no constant stays one beside bytes, though it is compared with them by its bytes.
            let stays = ty.collation != CollationId::BINARY && !matches!(a.kind, ExprKind::Literal(_));
            match same {
                false if stays => (ty, a.coercibility),
                true => (ColumnType { collation: collated.collation, ..ty }, collated.coercibility),
                false => {
                    let chars = crate::typing::length_among(&ty, collated.collation);
                    (string_type(u64::from(chars), collated.collation), collated.coercibility)
                }
            }
        }
        false => (ty, a.coercibility),
    };
    args.push(crate::typing::compare(CompareOp::Eq, a, b)?);
    if let Some(first) = args.first_mut()
        && first.ty != ty
    {
        let taken = std::mem::replace(first, Expr::literal(Value::Null, ColumnType::null()));
        *first = crate::typing::cast_to(taken, ty.clone());
    }
    Ok(FuncType { ty: of_expression(ty), nullable: true, coercibility })
}

fn nullif(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    match call.args.get(1) {
        Some(equal) if equal.eval_bool(cx)? == Some(true) => Ok(Value::Null),
        _ => Ok(call.value(0, cx)?.into_owned()),
    }
}

fn resolve_extreme(args: &mut Vec<Expr>, name: &str) -> Result<FuncType> {
    // Texts of two collations are compared by their bytes.
    let nullable = any_nullable(args);
    // With a date among them all are compared as dates, whatever type the result has.
    let dates = args.iter().any(|a| is_date(&a.ty)) && !args.iter().all(|a| a.ty.is_temporal() || a.ty.kind == TypeKind::Null);
    if dates {
        let merged = crate::typing::aggregate_types(&args.iter().collect::<Vec<_>>(), name)?;
        let ty = date_type(args);
        for arg in args.iter_mut() {
            let taken = std::mem::replace(arg, Expr::literal(Value::Null, ColumnType::null()));
            *arg = match is_plain_number(&taken.ty) && taken.ty.kind != TypeKind::Year {
                true => crate::typing::call(&DATE_OF_NUMBER, vec![taken, Expr::literal(Value::Null, ty.clone())])?,
                false if is_zero_date(&taken) => Expr::literal(Value::DateTime(DateTime::ZERO), ty.clone()),
                false if taken.ty.is_temporal() => crate::typing::to_merged(taken, &ty),
                false => crate::typing::cast_to(as_moment(taken)?, ty.clone()),
            };
        }
        // A constant shows whether it is a date.
        let may_be_null = |arg: &Expr| {
            let mut arg = arg.clone();
            crate::eval::constant_fold(&mut arg, const { &PlanSettings::DEFAULT });
            !matches!(&arg.kind, ExprKind::Literal(value) if !value.is_null()) && arg.nullable
        };
        let nullable = args.iter().any(may_be_null);
        return typed(merged, nullable);
    }
    let merged = unify(args, name)?;
    typed(merged, nullable)
}

/// A number beside dates as the date that it is, also one with a month or day of zero. What is none is left out.
static DATE_OF_NUMBER: FuncDef = FuncDef {
    name: "DATE OF NUMBER",
    args: (2, 2),
    resolve: |args| match &args[..] {
        [number, date] => FuncType::number(date.ty.clone(), number.nullable),
        _ => Err(Error::internal("a date of no number")),
    },
    eval: |call, cx| {
        Ok(match call.ty.kind {
            TypeKind::Date => call.date(0, DateNeed::Fuzzy, cx)?.map_or(Value::Null, Value::Date),
            _ => call.datetime(0, DateNeed::Fuzzy, cx)?.map_or(Value::Null, Value::DateTime),
        })
    },
    foldable: true,
};

/// A text of the zero date, which is one whatever sql_mode says.
fn is_zero_date(expr: &Expr) -> bool {
    let ExprKind::Literal(Value::Bytes(text)) = &expr.kind else { return false };
    parse_datetime(text, DateFlags::default()).is_ok_and(|parsed| parsed.value.is_zero() && !parsed.truncated)
}

/// A number or text beside dates that is none, and not NULL. (Of a DATE and a text that is none MySQL has a greatest one that is neither,
/// which is NULL here.)
fn is_left_out(arg: Option<&Expr>, wanted: Ordering, cx: &EvalCx<'_>) -> Result<bool> {
    let Some(arg) = arg else { return Ok(false) };
    match &arg.kind {
        ExprKind::Call(def, args) if def.name == DATE_OF_NUMBER.name => match args.first() {
            Some(number) => Ok(!number.eval(cx)?.is_null()),
            None => Ok(false),
        },
        ExprKind::Cast(text) if text.ty.is_bytes() && is_date(&arg.ty) && (wanted.is_lt() || arg.ty.kind != TypeKind::Date) => {
            Ok(!text.eval(cx)?.is_null())
        }
        _ => Ok(false),
    }
}

fn is_date(ty: &ColumnType) -> bool {
    matches!(ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp)
}

/// DATE, if nothing but dates are given beside texts and numbers, else DATETIME. A text that is no constant may have six digits.
fn date_type(args: &[Expr]) -> ColumnType {
    if args.iter().map(|a| &a.ty).filter(|ty| ty.is_temporal()).all(|ty| ty.kind == TypeKind::Date) {
        return ColumnType::new(TypeKind::Date);
    }
    let moments = args.iter().filter(|a| a.ty.is_temporal() || is_string(&a.ty));
    ColumnType::temporal(TypeKind::DateTime, moments.map(fsp_of_expr).max().unwrap_or(0))
}

fn extreme(call: &FuncCall<'_>, cx: &EvalCx<'_>, wanted: Ordering) -> Result<Value> {
    let mut best: Option<Value> = None;
    let (mut best_at, mut left_out) = (0, false);
    for i in 0..call.len() {
        let value = call.value(i, cx)?;
        if value.is_null() {
            if is_left_out(call.args.get(i), wanted, cx)? {
                left_out = true;
                continue;
            }
            return Ok(Value::Null);
        }
        let better = match &best {
            None => true,
            // Of equal texts the last is the greatest, the first the least.
            Some(best) => {
                let order = compare::order_of(&value, best, call.ty);
                order == wanted || order.is_eq() && wanted.is_gt()
            }
        };
        if better {
            best = Some(value.into_owned());
            best_at = i;
        }
    }
    if call.ty.is_bytes()
        && let Some(value @ (Value::Date(_) | Value::DateTime(_))) = &best
    {
        // With as many digits as any of them may have, but beside what is no date the least one has its own.
        let ty = match left_out && wanted.is_lt() {
            true => call.arg_type(best_at),
            false => call.args.iter().map(|arg| &arg.ty).max_by_key(|ty| ty.decimals).unwrap_or(call.ty),
        };
        return Ok(Value::from(coerce::text_of(value, ty).into_owned()));
    }
    Ok(match (best, call.ty.is_integer()) {
        (Some(Value::Int(i)), true) if call.ty.unsigned => Value::UInt(i as u64),
        (Some(Value::UInt(u)), true) if !call.ty.unsigned => Value::Int(u as i64),
        (Some(value), _) => value,
        (None, _) => Value::Null,
    })
}

fn resolve_interval(args: &mut Vec<Expr>) -> Result<FuncType> {
    each_read(args, as_number)?;
    FuncType::number(int_of_length(2), false)
}

/// INTERVAL(n, n1, n2, …): how many of the ascending numbers are at most n; -1 for NULL.
fn interval(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let exact = call.args.iter().all(|a| number_class(&a.ty) != NumberClass::Double);
    let Some(n) = call.value(0, cx).map(|v| (!v.is_null()).then(|| v.into_owned()))? else { return Ok(Value::Int(-1)) };
    let ty = call.arg_type(0);
    for i in 1..call.len() {
        let bound = call.value(i, cx)?;
        if bound.is_null() {
            continue;
        }
        let above = if exact {
            coerce::to_decimal(&bound, call.arg_type(i), cx.env)? > coerce::to_decimal(&n, ty, cx.env)?
        } else {
            coerce::to_f64(&bound, call.arg_type(i), cx.env)? > coerce::to_f64(&n, ty, cx.env)?
        };
        if above {
            return Ok(Value::Int(i as i64 - 1));
        }
    }
    Ok(Value::Int(call.len() as i64 - 1))
}

fn resolve_same(args: &mut Vec<Expr>) -> Result<FuncType> {
    match args.first() {
        Some(a) => {
            Ok(FuncType { ty: bits_as_number(without_hex(a.ty.clone())), nullable: a.nullable, coercibility: a.coercibility })
        }
        None => Err(Error::internal("ANY_VALUE without argument")),
    }
}

fn resolve_name_const(args: &mut Vec<Expr>) -> Result<FuncType> {
    match args.as_slice() {
        [name, value] if is_string(&name.ty) => {
            Ok(FuncType { ty: value.ty.clone(), nullable: value.nullable, coercibility: value.coercibility })
        }
        _ => Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"NAME_CONST"])),
    }
}
