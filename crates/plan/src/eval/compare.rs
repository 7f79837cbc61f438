//! The order of two values under a `CompareAs`.

use std::borrow::Cow;
use std::cmp::Ordering;

use vaquita_types::charset::CollationId;
use vaquita_types::json::Json;
use vaquita_types::temporal::{Date, DateTime, Time};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::coerce::{self, DateNeed};
use super::json::sql_to_json;
use crate::env::{Env, Level};
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind};
use crate::text;

/// Whether `order` satisfies `op`.
#[inline]
pub fn holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
    }
}

/// The order of two values that are not NULL; `None` if one turns out to be none of the kind.
pub fn compare(
    a: &Value,
    a_ty: &ColumnType,
    b: &Value,
    b_ty: &ColumnType,
    rule: CompareAs,
    env: &dyn Env,
) -> Result<Option<Ordering>> {
    Ok(Some(match rule {
        CompareAs::Int => match (a, b) {
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            // A parameter's value may be of another kind than the plan knew.
            (Value::Float(_), _) | (_, Value::Float(_)) => return compare(a, a_ty, b, b_ty, CompareAs::Double, env),
            (Value::Decimal(_), _) | (_, Value::Decimal(_)) => return compare(a, a_ty, b, b_ty, CompareAs::Decimal, env),
            _ => coerce::to_int(a, a_ty, env)?.cmp(&coerce::to_int(b, b_ty, env)?),
        },
        CompareAs::Decimal => match (a, b) {
            (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
            _ => coerce::to_decimal(a, a_ty, env)?.cmp(&coerce::to_decimal(b, b_ty, env)?),
        },
        CompareAs::Double => {
            let (a, b) = (coerce::to_f64(a, a_ty, env)?, coerce::to_f64(b, b_ty, env)?);
            a.partial_cmp(&b).unwrap_or(Ordering::Equal)
        }
        CompareAs::DoubleFixed(decimals) => {
            let (a, b) = (coerce::to_f64(a, a_ty, env)?, coerce::to_f64(b, b_ty, env)?);
            let close = (a - b).abs() < 5.0 / 10f64.powi(i32::from(decimals) + 1);
            if close { Ordering::Equal } else { a.partial_cmp(&b).unwrap_or(Ordering::Equal) }
        }
        CompareAs::Text(collation) => compare_text(a, a_ty, b, b_ty, collation),
        CompareAs::DateTime => {
            let (Some(a), Some(b)) = (as_datetime(a, a_ty, b_ty, env)?, as_datetime(b, b_ty, a_ty, env)?) else {
                return Ok(None);
            };
            a.cmp(&b)
        }
        CompareAs::Date => {
            let (Some(a), Some(b)) = (as_datetime(a, a_ty, b_ty, env)?, as_datetime(b, b_ty, a_ty, env)?) else {
                return Ok(None);
            };
            a.date().cmp(&b.date())
        }
        CompareAs::Time => {
            // A text that is no time counts as midnight, a number that is none is NULL.
            let time = |value: &Value, ty: &ColumnType| -> Result<Option<Time>> {
                let time = coerce::to_time(value, ty, env)?;
                Ok(time.or_else(|| matches!(value, Value::Bytes(_)).then(Time::default)))
            };
            let (Some(a), Some(b)) = (time(a, a_ty)?, time(b, b_ty)?) else { return Ok(None) };
            a.cmp(&b)
        }
        CompareAs::Json => return json_order(a, a_ty, b, b_ty, env),
        CompareAs::Row => return Err(Error::internal("a row as a scalar")),
    }))
}

fn compare_text(a: &Value, a_ty: &ColumnType, b: &Value, b_ty: &ColumnType, collation: CollationId) -> Ordering {
    let (a, b): (Cow<'_, [u8]>, Cow<'_, [u8]>) = (coerce::text_of(a, a_ty), coerce::text_of(b, b_ty));
    text::compare(&a, &b, collation)
}

/// A parameter's text that is no date or time, though it is compared with one.
pub fn is_no_moment(expr: &Expr, value: &Value, rule: CompareAs, env: &dyn Env) -> bool {
    let (Value::Bytes(text), ExprKind::Param(_)) = (value, &expr.kind) else { return false };
    match rule {
        CompareAs::DateTime | CompareAs::Date => {
            vaquita_types::temporal::parse_datetime(text, coerce::date_flags(DateNeed::Mode, env)).is_err()
        }
        CompareAs::Time => vaquita_types::temporal::parse_time(text).is_err(),
        _ => false,
    }
}

/// Error 1525 for a constant text that is no date, as comparing with it makes no sense.
pub fn check_constant_date(value: &Value, other: &ColumnType, env: &dyn Env) -> Result<()> {
    let Value::Bytes(b) = value else { return Ok(()) };
    if vaquita_types::temporal::parse_datetime(b, coerce::date_flags(DateNeed::Mode, env)).is_ok() {
        return Ok(());
    }
    let kind = if other.kind == TypeKind::Date { "DATE" } else { "DATETIME" };
    Err(Error::new(&errno::ER_WRONG_VALUE, &[&kind, &coerce::start_of_text(b)]))
}

/// A date as a DATETIME. A text that is none counts as the zero date, with warning 1292.
pub fn as_datetime(value: &Value, ty: &ColumnType, other: &ColumnType, env: &dyn Env) -> Result<Option<DateTime>> {
    match value {
        Value::DateTime(d) => Ok(Some(*d)),
        Value::Date(d) => Ok(Some(d.to_datetime())),
        Value::Bytes(b) => {
            if let Some((text, ty)) = coerce::readable(value, ty) {
                return as_datetime(&text, &ty, other, env);
            }
            let flags = coerce::date_flags(DateNeed::Mode, env);
            if vaquita_types::temporal::parse_datetime(b, flags).is_err() {
                let text = coerce::shown(b, ty.collation);
                let warning = if other.kind == TypeKind::Date {
                    Error::new(&errno::ER_TRUNCATED_WRONG_VALUE, &[&"date", &text])
                } else {
                    Error::with_message(&errno::ER_TRUNCATED_WRONG_VALUE, format!("Incorrect datetime value: '{text}'"))
                };
                env.warn(Level::Warning, warning);
                return Ok(Some(DateTime::default()));
            }
            Ok(coerce::datetime_from_text(b, flags, env))
        }
        Value::UInt(_) if matches!(ty.kind, TypeKind::Enum | TypeKind::Set) => {
            let label = Value::bytes(&*coerce::text_of(value, ty));
            as_datetime(&label, &ColumnType::varchar(0, ty.collation), other, env)
        }
        // A year is before all of its days.
        year if ty.kind == TypeKind::Year => {
            let year = u32::try_from(coerce::to_int(year, ty, env)?).unwrap_or(0);
            Ok(Date::new(year, 0, 0).map(Date::to_datetime))
        }
        other => coerce::to_datetime(other, ty, DateNeed::Fuzzy, env),
    }
}

fn json_order(a: &Value, a_ty: &ColumnType, b: &Value, b_ty: &ColumnType, env: &dyn Env) -> Result<Option<Ordering>> {
    // A SQL string next to a JSON value is a JSON string, not a document.
    let as_json = |value: &Value, ty: &ColumnType| -> Result<Json> {
        match value {
            Value::Json(j) => Ok(j.clone()),
            other => sql_to_json(other, ty, env),
        }
    };
    Ok(Some(as_json(a, a_ty)?.cmp(&as_json(b, b_ty)?)))
}

/// Orders two values of one type, NULL first: ORDER BY, MIN, MAX, GROUP BY.
pub fn order_of(a: &Value, b: &Value, ty: &ColumnType) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Int(a), Value::UInt(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::UInt(a), Value::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) if ty.kind != TypeKind::Json => text::compare(a, b, ty.collation),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        (Value::Json(a), Value::Json(b)) => a.cmp(b),
        (a, b) => text::compare(&coerce::text_of(a, ty), &coerce::text_of(b, ty), ty.collation),
    }
}
