//! Evaluates `Expr` over a frame.
//!
//! `eval` borrows what is already there (slots, literals, parameters) and computes the rest; the
//! hot cases (comparison and arithmetic of integers) touch no other module. `coerce` reads a value
//! as a number, text or time with MySQL's warnings, `compare` orders two values by a `CompareAs`,
//! `cast` converts to a declared type, `fold` replaces constant expressions by their values.

mod call;
pub mod cast;
pub mod coerce;
pub mod compare;
mod fold;
pub mod json;
mod messages;
pub mod print;
mod subquery;

use std::borrow::Cow;

use vaquita_types::json::{JSON_DEPTH_MAX, Json};
use vaquita_types::limits::VALUE_BYTES_MAX;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, stack};

use crate::env::{Env, EvalCx};
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind};
use crate::function::FuncCall;

pub use call::DateOrTime;
pub(crate) use call::{ANY_DATE, arg, integer_of_double, is_date_text};
pub use fold::{
    constant_fold, fold_for_statement, has_steady_parts, is_known_when_run, is_no_truth, is_silent, is_untrue, known_value,
    truth_of_constant,
};

/// `max_allowed_packet`: bytes of the largest value that a function makes.
pub(crate) fn packet_bytes_max(env: &dyn Env) -> usize {
    env.run_settings().packet_bytes_max
}

/// Error 1041 for a value that no packet and no limit of this server has room for: functions of functions would else make
/// values of any size.
pub(crate) fn check_value_bytes(bytes: usize, cx: &EvalCx<'_>) -> Result<()> {
    if bytes <= VALUE_BYTES_MAX || bytes <= packet_bytes_max(cx.env) {
        return vaquita_types::memory::ask(bytes);
    }
    Err(Error::new(&vaquita_types::errno::ER_OUT_OF_RESOURCES, &[]))
}

/// Error 3157 for a document that is nested too deeply, 1041 for one that is too large.
pub fn check_document(json: &Json, cx: &EvalCx<'_>) -> Result<()> {
    match json.measured(VALUE_BYTES_MAX, JSON_DEPTH_MAX) {
        Some(bytes) => check_value_bytes(bytes, cx),
        None => Err(Error::new(&vaquita_types::errno::ER_JSON_DOCUMENT_TOO_DEEP, &[])),
    }
}

/// After a function has made a value of so many bytes it may be time to end.
const LONG_BYTES: usize = 64 << 10;

impl Expr {
    /// The value for the row in `cx`; slots, literals and parameters are borrowed.
    pub fn eval<'a>(&'a self, cx: &EvalCx<'a>) -> Result<Cow<'a, Value>> {
        eval(self, cx)
    }

    /// MySQL's truth of the value: NULL is `None`.
    pub fn eval_bool(&self, cx: &EvalCx<'_>) -> Result<Option<bool>> {
        eval_bool(self, cx)
    }
}

pub fn eval<'a>(expr: &'a Expr, cx: &EvalCx<'a>) -> Result<Cow<'a, Value>> {
    match &expr.kind {
        ExprKind::Slot(slot) => match cx.frame.get(*slot) {
            Some(value) => Ok(Cow::Borrowed(value)),
            None => Err(Error::internal(format_args!("slot {slot} of {}", cx.frame.len()))),
        },
        ExprKind::Literal(value) => Ok(Cow::Borrowed(value)),
        ExprKind::Param(n) => match cx.params.get(*n) {
            Some(value) => Ok(Cow::Borrowed(value)),
            None => Err(Error::internal(format_args!("parameter {n} of {}", cx.params.len()))),
        },
        ExprKind::Outer { depth, slot } => outer_slot(cx, *depth, *slot).map(|v| Cow::Owned(v.clone())),
        _ => stack::deeper(|| eval_operation(expr, cx)),
    }
}

fn eval_operation<'a>(expr: &'a Expr, cx: &EvalCx<'a>) -> Result<Cow<'a, Value>> {
    match &expr.kind {
        ExprKind::Slot(_) | ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Outer { .. } => eval(expr, cx),
        ExprKind::Call(def, args) => {
            let value = (def.eval)(&FuncCall { args, ty: &expr.ty }, cx)?;
            match &value {
                Value::Bytes(bytes) => {
                    check_value_bytes(bytes.len(), cx)?;
                    if bytes.len() >= LONG_BYTES {
                        cx.env.check_interrupt()?;
                    }
                }
                // Parts that are shared count, too: the text has them all.
                Value::Json(json) => check_document(json, cx)?,
                _ => {}
            }
            Ok(Cow::Owned(value))
        }
        ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull(_)
        | ExprKind::Compare(..)
        | ExprKind::InList(..) => Ok(Cow::Owned(truth(predicate(expr, cx)?))),
        ExprKind::Case { operand, whens, otherwise } => case(operand.as_deref(), whens, otherwise.as_deref(), cx),
        ExprKind::Cast(inner) => {
            let value = eval(inner, cx)?;
            cast::cast(&value, &inner.type_as_text(), &expr.ty, cx.env).map(Cow::Owned)
        }
        ExprKind::UserVar(name) => Ok(Cow::Owned(cx.env.user_var(name))),
        ExprKind::AssignVar(name, inner) => {
            let value = eval(inner, cx)?.into_owned();
            cx.env.set_user_var(name, value_of_variable(&value, &inner.ty))?;
            Ok(Cow::Owned(value))
        }
        ExprKind::SysVar(scope, name) => cx.env.sys_var(*scope, name).map(Cow::Owned),
        ExprKind::Subquery(sub) => subquery::eval(sub, cx).map(Cow::Owned),
        ExprKind::Match(search) => match &*eval(&search.key, cx)? {
            Value::Bytes(key) => Ok(Cow::Owned(Value::Float(f64::from(cx.env.full_text_rank(search, key, cx)?)))),
            _ => Ok(Cow::Owned(Value::Float(0.0))),
        },
        ExprKind::Row(_) => Err(Error::new(&vaquita_types::errno::ER_OPERAND_COLUMNS, &[&1])),
    }
}

/// MySQL's truth of the value: not zero. NULL is `None`.
pub fn eval_bool(expr: &Expr, cx: &EvalCx<'_>) -> Result<Option<bool>> {
    match &expr.kind {
        ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull(_)
        | ExprKind::Compare(..)
        | ExprKind::InList(..) => stack::deeper(|| predicate(expr, cx)),
        _ => truth_of(&*eval(expr, cx)?, expr, cx),
    }
}

fn truth_of(value: &Value, expr: &Expr, cx: &EvalCx<'_>) -> Result<Option<bool>> {
    Ok(match value {
        Value::Null => None,
        Value::Int(i) => Some(*i != 0),
        Value::UInt(u) => Some(*u != 0),
        Value::Float(f) => Some(*f != 0.0),
        Value::Decimal(d) => Some(!d.is_zero()),
        other => Some(coerce::to_f64(other, &expr.ty, cx.env)? != 0.0),
    })
}

/// A predicate's result as a value: 1, 0 or NULL.
pub fn truth(b: Option<bool>) -> Value {
    match b {
        Some(b) => Value::Int(i64::from(b)),
        None => Value::Null,
    }
}

fn outer_slot<'a>(cx: &EvalCx<'a>, depth: usize, slot: usize) -> Result<&'a Value> {
    let mut outer = cx.outer;
    for _ in 1..depth {
        outer = outer.and_then(|cx| cx.outer);
    }
    outer.and_then(|cx| cx.frame.get(slot)).ok_or_else(|| Error::internal(format_args!("outer slot {slot} at depth {depth}")))
}

fn predicate(expr: &Expr, cx: &EvalCx<'_>) -> Result<Option<bool>> {
    match &expr.kind {
        ExprKind::Compare(op, left, right, rule) => compare_values(*op, left, right, *rule, cx),
        ExprKind::And(parts) => connective(parts, false, cx),
        ExprKind::Or(parts) => connective(parts, true, cx),
        ExprKind::Not(inner) => Ok(eval_bool(inner, cx)?.map(|b| !b)),
        ExprKind::IsNull(inner) => Ok(Some(eval(inner, cx)?.is_null())),
        ExprKind::InList(value, list, rule) => in_list(value, list, *rule, cx),
        _ => eval_bool(expr, cx),
    }
}

/// AND (`decisive` is false) and OR (true): stops at the first decisive part; NULL is remembered.
fn connective(parts: &[Expr], decisive: bool, cx: &EvalCx<'_>) -> Result<Option<bool>> {
    let mut unknown = false;
    for part in parts {
        match eval_bool(part, cx)? {
            Some(b) if b == decisive => return Ok(Some(decisive)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(!decisive) })
}

fn compare_values(op: CompareOp, left: &Expr, right: &Expr, rule: CompareAs, cx: &EvalCx<'_>) -> Result<Option<bool>> {
    compare_value((op, rule), (left, &*eval(left, cx)?), right, cx)
}

/// Compares what `left` has given with `right`.
#[inline]
fn compare_value(
    (op, rule): (CompareOp, CompareAs),
    (left, a): (&Expr, &Value),
    right: &Expr,
    cx: &EvalCx<'_>,
) -> Result<Option<bool>> {
    if let (Value::Null, true) = (a, op != CompareOp::NullSafeEq) {
        return Ok(None);
    }
    let b = eval(right, cx)?;
    if let (Value::Int(a), Value::Int(b)) = (a, &*b)
        && rule == CompareAs::Int
    {
        return Ok(Some(compare::holds(op, a.cmp(b))));
    }
    if a.is_null() || b.is_null() {
        if let (Value::Bytes(_), CompareAs::Double | CompareAs::DoubleFixed(_) | CompareAs::Decimal) = (a, rule) {
            // MySQL reads the left side first, with its warning.
            coerce::to_f64(a, &left.ty, cx.env)?;
        }
        if let (Value::Bytes(_), CompareAs::DateTime | CompareAs::Date, false) = (a, rule, is_constant(left)) {
            compare::as_datetime(a, &left.ty, &right.ty, cx.env)?;
        }
        return Ok((op == CompareOp::NullSafeEq).then_some(a.is_null() && b.is_null()));
    }
    if op == CompareOp::NullSafeEq
        && [(left, a), (right, &*b)].iter().any(|(e, value)| compare::is_no_moment(e, value, rule, cx.env))
    {
        return Ok(Some(false));
    }
    if matches!(rule, CompareAs::DateTime | CompareAs::Date) {
        if let Some(rule) = rule_of_sent_number((left, a), (right, &b)) {
            return Ok(compare::compare(a, &left.ty, &b, &right.ty, rule, cx.env)?.map(|order| compare::holds(op, order)));
        }
        if op != CompareOp::NullSafeEq && [(left, a), (right, &*b)].iter().any(|(e, value)| is_picked_no_date(e, value, cx.env)) {
            // Only for its warning.
            compare::compare(a, &left.ty, &b, &right.ty, rule, cx.env)?;
            return Ok(None);
        }
    }
    if rule == CompareAs::DateTime {
        for (operand, value, other) in [(left, a, right), (right, &*b, left)] {
            if is_constant(operand) {
                compare::check_constant_date(value, &other.ty, cx.env)?;
            }
        }
    }
    let order = compare::compare(a, &left.ty, &b, &right.ty, rule, cx.env)?;
    match order {
        Some(order) => Ok(Some(compare::holds(op, order))),
        None => Ok((op == CompareOp::NullSafeEq).then_some(false)),
    }
}

/// `BETWEEN ONCE`: AND of two comparisons whose left side is evaluated for both.
pub(crate) fn between_once(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let [
        Expr { kind: ExprKind::Compare(above, value, low, rule_of_low), .. },
        Expr { kind: ExprKind::Compare(below, _, high, rule_of_high), .. },
    ] = call.args
    else {
        return connective(call.args, false, cx).map(truth);
    };
    let left = eval(value, cx)?;
    let low = compare_value((*above, *rule_of_low), (value, &left), low, cx)?;
    if low == Some(false) {
        return Ok(truth(low));
    }
    let high = compare_value((*below, *rule_of_high), (value, &left), high, cx)?;
    Ok(truth(if high == Some(false) { high } else { low.and(high) }))
}

/// A number that is sent for a parameter is no date beside what is no column: both are numbers.
fn rule_of_sent_number(left: (&Expr, &Value), right: (&Expr, &Value)) -> Option<CompareAs> {
    let is_column = |expr: &Expr| matches!(expr.kind, ExprKind::Slot(_) | ExprKind::Outer { .. });
    let is_sent = |(expr, value): (&Expr, &Value)| {
        matches!(expr.kind, ExprKind::Param(_))
            && matches!(value, Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_))
    };
    let other = if is_sent(left) { right } else { left };
    ((is_sent(left) || is_sent(right)) && !is_column(other.0) && !other.0.ty.is_bytes()).then_some(CompareAs::Double)
}

/// A text that IF, CASE or NULLIF picks, and that is no date: NULL beside dates. (Any other such text is the zero date.)
fn is_picked_no_date(expr: &Expr, value: &Value, env: &dyn Env) -> bool {
    let Value::Bytes(text) = value else { return false };
    expr.passes_on()
        && expr.ty.collation != vaquita_types::charset::CollationId::BINARY
        && vaquita_types::temporal::parse_datetime(text, coerce::date_flags(coerce::DateNeed::Mode, env)).is_err()
}

/// It has one value throughout the statement.
fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::UserVar(_) => true,
        ExprKind::Subquery(sub) => !sub.correlated,
        ExprKind::Cast(inner) => is_constant(inner),
        _ => false,
    }
}

fn in_list(value: &Expr, list: &[Expr], rule: CompareAs, cx: &EvalCx<'_>) -> Result<Option<bool>> {
    let needle = eval(value, cx)?;
    if needle.is_null() {
        return Ok(None);
    }
    // A text among numbers is read once, with one warning.
    let needle = match (&*needle, rule) {
        (Value::Bytes(_), CompareAs::Double) => Cow::Owned(Value::Float(coerce::to_f64(&needle, &value.ty, cx.env)?)),
        _ => needle,
    };
    let mut unknown = false;
    for item in list {
        let candidate = eval(item, cx)?;
        let equal = match (&*needle, &*candidate) {
            (_, Value::Null) => None,
            (Value::Int(a), Value::Int(b)) if rule == CompareAs::Int => Some(a == b),
            // A text of the row that is no time is equal to none, not midnight as a constant is.
            (Value::Time(time), Value::Bytes(_)) if rule == CompareAs::Time && !is_constant_text(item) => {
                Some(coerce::to_time(&candidate, &item.ty, cx.env)?.is_some_and(|read| read == *time))
            }
            (a, b) => compare::compare(a, &value.ty, b, &item.ty, rule, cx.env)?.map(|o| o.is_eq()),
        };
        match equal {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            // A number that is no time is equal to none, nor is a text among them (`compare_list`).
            None if rule == CompareAs::Time && !candidate.is_null() => {}
            None if is_cast_text(item, cx) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(false) })
}

fn is_constant_text(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Param(_))
}

/// A text, constant or sent for a parameter, that is read as another kind of value.
fn is_cast_text(expr: &Expr, cx: &EvalCx<'_>) -> bool {
    let ExprKind::Cast(inner) = &expr.kind else { return false };
    match &inner.kind {
        ExprKind::Literal(value) => matches!(value, Value::Bytes(_)),
        ExprKind::Param(n) => matches!(cx.params.get(*n), Some(Value::Bytes(_))),
        _ => false,
    }
}

fn case<'a>(
    operand: Option<&'a (Expr, Vec<CompareAs>)>,
    whens: &'a [(Expr, Expr)],
    otherwise: Option<&'a Expr>,
    cx: &EvalCx<'a>,
) -> Result<Cow<'a, Value>> {
    let value = match operand {
        Some((operand, rules)) => Some((eval(operand, cx)?, &operand.ty, rules)),
        None => None,
    };
    // NULL is equal to nothing, so what it would be compared with is not computed.
    let whens = if value.as_ref().is_some_and(|(value, ..)| value.is_null()) { &[] } else { whens };
    for (n, (when, then)) in whens.iter().enumerate() {
        let hit = match &value {
            None => eval_bool(when, cx)?.unwrap_or(false),
            Some((value, ty, rules)) => {
                let rule = *rules.get(n).ok_or_else(|| Error::internal("WHEN without a rule"))?;
                let test = eval(when, cx)?;
                match (&*test, rule) {
                    (Value::Null, _) => false,
                    // A text that is no time is equal to none.
                    (Value::Bytes(_), CompareAs::Time) => match coerce::to_time(&test, &when.ty, cx.env)? {
                        Some(time) => {
                            compare::compare(value, ty, &Value::Time(time), ty, rule, cx.env)?.is_some_and(|o| o.is_eq())
                        }
                        None => false,
                    },
                    _ => compare::compare(value, ty, &test, &when.ty, rule, cx.env)?.is_some_and(|o| o.is_eq()),
                }
            }
        };
        if hit {
            return eval(then, cx);
        }
    }
    match otherwise {
        Some(expr) => eval(expr, cx),
        None => Ok(Cow::Owned(Value::Null)),
    }
}

/// What a user variable takes of a value: labels of ENUM and SET, not their numbers.
pub fn value_of_variable(value: &Value, ty: &ColumnType) -> Value {
    match ty.kind {
        TypeKind::Enum | TypeKind::Set if !value.is_null() => vaquita_types::convert::to_text(value, ty).into(),
        _ => value.clone(),
    }
}
