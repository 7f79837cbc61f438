//! Adding and subtracting intervals, times and dates.
//!
//! DATE_ADD keeps the type of its first argument where it can: a DATE becomes a DATETIME with a unit of
//! hours or less, a text stays a text. A result outside the calendar is NULL with warning 1441, one outside of TIME with 6527.

use vaquita_types::temporal::{DateFlags, Interval, IntervalUnit, MICROS_PER_DAY, Time};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::args::{def, each_read, volatile};
use super::date::{fsp_as, fsp_of_expr, temporal, unit_of};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{Env, EvalCx, Level};
use crate::eval::coerce::{self, DateNeed};
use crate::eval::{DateOrTime, arg, is_date_text, print};
use crate::expr::{Expr, ExprKind};
use crate::typing::{NumberClass, as_decimal, as_integer, as_moment, cast_to, int_of_length, number_class};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("DATE_ADD", 3, 3, |a| resolve_add(a, 0, 1, 2), |c, cx| date_add(c, cx, 0, 1, 2, false)),
    def("DATE_SUB", 3, 3, |a| resolve_add(a, 0, 1, 2), |c, cx| date_add(c, cx, 0, 1, 2, true)),
    def("TIMESTAMPADD", 3, 3, |a| resolve_add(a, 2, 1, 0), |c, cx| date_add(c, cx, 2, 1, 0, false)),
    def("ADDDATE", 2, 2, resolve_days, |c, cx| date_add(c, cx, 0, 1, 2, false)),
    def("SUBDATE", 2, 2, resolve_days, |c, cx| date_add(c, cx, 0, 1, 2, true)),
    def("TIMESTAMPDIFF", 3, 3, |_| FuncType::number(int_of_length(21), true), timestamp_diff),
    def("DATEDIFF", 2, 2, |_| FuncType::number(int_of_length(9), true), date_diff),
    def("ADDTIME", 2, 2, resolve_add_time, |c, cx| add_time(c, cx, false)),
    def("SUBTIME", 2, 2, resolve_add_time, |c, cx| add_time(c, cx, true)),
    def("TIMEDIFF", 2, 2, resolve_time_diff, time_diff),
    def("TIMESTAMP", 1, 2, resolve_timestamp, timestamp),
    volatile("FRAME INTERVAL", 3, 3, resolve_frame_interval, frame_interval),
];

fn resolve_frame_interval(args: &mut Vec<Expr>) -> Result<FuncType> {
    resolve_add(args, 2, 0, 1)?;
    FuncType::number(ColumnType::null(), true)
}

/// `FRAME INTERVAL(amount, unit, window)`: error 3586 for a bound of a window's frame that is NULL or negative.
fn frame_interval(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    match interval(call, 0, unit_of(call.args, 1)?, cx)? {
        Some(Some(amount)) if !amount.is_negative() => Ok(Value::Null),
        Some(None) => Ok(Value::Null),
        _ => {
            let window = call.text(2, cx)?.map(|name| String::from_utf8_lossy(&name).into_owned()).unwrap_or_default();
            Err(Error::new(&errno::ER_WINDOW_FRAME_ILLEGAL, &[&window]))
        }
    }
}

fn resolve_days(args: &mut Vec<Expr>) -> Result<FuncType> {
    args.push(Expr::literal(Value::from("DAY"), ColumnType::varchar(3, crate::typing::NUMBER_COLLATION)));
    resolve_add(args, 0, 1, 2)
}

fn resolve_add(args: &mut Vec<Expr>, date: usize, amount: usize, unit: usize) -> Result<FuncType> {
    let unit = unit_of(args, unit)?;
    // A date that IF or CASE picks is a DATETIME, a text or number is what it says. A time that ADDTIME gives is one of today.
    let adds_time = |date: &Expr| matches!(&date.kind, ExprKind::Call(def, _) if matches!(def.name, "ADDTIME" | "SUBTIME"));
    if args.get(date).is_some_and(|date| date.ty.is_bytes() && (date.passes_on() || adds_time(date))) {
        each_read(args.get_mut(date..=date).unwrap_or_default(), as_moment)?;
    }
    let read = if unit == IntervalUnit::Second { as_decimal } else { as_integer };
    if !unit.is_composite() {
        each_read(args.get_mut(amount..=amount).unwrap_or_default(), read)?;
    }
    let (Some(date), Some(amount)) = (args.get(date), args.get(amount)) else {
        return Err(Error::internal("DATE_ADD without arguments"));
    };
    let unit_fsp = match unit {
        u if u.has_micros() => 6,
        // Seconds that are sent may have a fraction, whatever is sent this time.
        IntervalUnit::Second if matches!(amount.kind, ExprKind::Param(_)) && !amount.is_variable() => 6,
        IntervalUnit::Second if amount.ty.kind == TypeKind::Null => 0,
        IntervalUnit::Second if number_class(&amount.ty) == NumberClass::Double => 6,
        IntervalUnit::Second => crate::typing::scale(&amount.ty).min(6),
        _ => 0,
    };
    let ty = match date.ty.kind {
        TypeKind::Date if !unit.has_time() => ColumnType::new(TypeKind::Date),
        // A parameter is a DATETIME(6) unless only its day counts.
        TypeKind::Date if matches!(date.kind, ExprKind::Param(_)) && !date.is_variable() => {
            ColumnType::temporal(TypeKind::DateTime, 6)
        }
        TypeKind::Date => ColumnType::temporal(TypeKind::DateTime, unit_fsp),
        TypeKind::DateTime | TypeKind::Timestamp => ColumnType::temporal(TypeKind::DateTime, date.ty.decimals.max(unit_fsp)),
        TypeKind::Time if unit.has_time() && !unit.keyword().starts_with("DAY_") => {
            ColumnType::temporal(TypeKind::Time, date.ty.decimals.max(unit_fsp))
        }
        TypeKind::Time => ColumnType::temporal(TypeKind::DateTime, date.ty.decimals.max(unit_fsp)),
        _ => {
            return Ok(FuncType {
                ty: ColumnType { length: 29, collation: crate::typing::NUMBER_COLLATION, ..ColumnType::new(TypeKind::Char) },
                nullable: true,
                coercibility: 5,
            });
        }
    };
    FuncType::number(ty, true)
}

/// A moment as the time from today on, however many days that are.
pub static TIME_FROM_TODAY: FuncDef = FuncDef {
    name: "TIME FROM TODAY",
    args: (1, 1),
    resolve: |args| FuncType::number(ColumnType::temporal(TypeKind::Time, args.first().map_or(0, |at| at.ty.decimals)), true),
    eval: |call, cx| {
        let at = arg!(call.datetime(0, DateNeed::Fuzzy, cx));
        let today = coerce::now(cx.env).date().to_datetime();
        Ok(Value::Time(Time::clamped(at.micros_linear() - today.micros_linear())))
    },
    foldable: false,
};

/// Warning 1441: `Datetime function: datetime field overflow`.
fn overflow(cx: &EvalCx<'_>) -> Value {
    cx.env.warn(Level::Warning, Error::new(&errno::ER_DATETIME_FUNCTION_OVERFLOW, &[&"datetime"]));
    Value::Null
}

/// The amount in argument `i`; outer `None` is NULL, inner `None` an overflow.
fn interval(call: &FuncCall<'_>, i: usize, unit: IntervalUnit, cx: &EvalCx<'_>) -> Result<Option<Option<Interval>>> {
    interval_of(&*call.value(i, cx)?, call.arg_type(i), unit, cx.env)
}

/// A value as an amount of a unit; outer `None` is NULL, inner `None` an overflow.
pub fn interval_of(value: &Value, ty: &ColumnType, unit: IntervalUnit, env: &dyn Env) -> Result<Option<Option<Interval>>> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Int(n) if !unit.is_composite() => Interval::from_int(*n, unit),
        // Above BIGINT it wraps around, as in MySQL.
        Value::UInt(n) if !unit.is_composite() && !crate::typing::is_string(ty) => Interval::from_int(*n as i64, unit),
        Value::Bytes(_) if !unit.is_composite() && unit != IntervalUnit::Second => {
            i64::try_from(coerce::to_int(value, ty, env)?).ok().and_then(|n| Interval::from_int(n, unit))
        }
        // Floating point numbers are rounded to even, decimals away from zero.
        Value::Float(f) if !unit.is_composite() && unit != IntervalUnit::Second => {
            i64::try_from(coerce::float_to_int(*f)).ok().and_then(|n| Interval::from_int(n, unit))
        }
        v if !unit.is_composite() => Interval::from_decimal(&coerce::to_decimal(v, ty, env)?, unit),
        v => Interval::parse(&coerce::text_of(v, ty), unit),
    }))
}

fn date_add(call: &FuncCall<'_>, cx: &EvalCx<'_>, date: usize, amount: usize, unit: usize, subtract: bool) -> Result<Value> {
    let unit = unit_of(call.args, unit)?;
    let base = call.value(date, cx)?;
    if base.is_null() {
        return Ok(Value::Null);
    }
    let ty = call.arg_type(date);
    let interval = match interval(call, amount, unit, cx)? {
        Some(Some(i)) if subtract => -i,
        Some(Some(i)) => i,
        Some(None) => return Ok(overflow(cx)),
        // The date is read all the same, with its warnings.
        None if call.ty.kind == TypeKind::Time => return coerce::to_time(&base, ty, cx.env).map(|_| Value::Null),
        None => return coerce::to_datetime(&base, ty, DateNeed::Whole, cx.env).map(|_| Value::Null),
    };
    if call.ty.kind == TypeKind::Time {
        let time = arg!(coerce::to_time(&base, ty, cx.env));
        let sum = interval.micros_total().and_then(|us| time.micros_total().checked_add(us)).and_then(Time::from_micros);
        return Ok(match sum {
            Some(t) if t <= Time::MAX && t >= Time::MIN => Value::Time(t),
            _ => {
                if let (Some(moment), Some(amount)) = (call.args.get(date), call.args.get(amount)) {
                    let operator = if subtract { "-" } else { "+" };
                    warn_of_time(&print::print_sum(moment, operator, amount, unit.keyword(), cx), cx);
                }
                Value::Null
            }
        });
    }
    let d = arg!(coerce::to_datetime(&base, ty, DateNeed::Whole, cx.env));
    let Some(sum) = d.add_interval(interval) else { return Ok(overflow(cx)) };
    Ok(match call.ty.kind {
        TypeKind::Date => Value::Date(sum.date()),
        TypeKind::DateTime => Value::DateTime(sum),
        _ => {
            let date_only = !unit.has_time() && is_date_text(&base, ty);
            let mut out = Vec::new();
            if date_only {
                sum.date().write_text(&mut out);
            } else {
                sum.write_text(&mut out, if sum.micros() == 0 { 0 } else { 6 });
            }
            Value::from(out)
        }
    })
}

fn timestamp_diff(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let unit = unit_of(call.args, 0)?;
    let (from, to) = (arg!(call.datetime(1, DateNeed::Whole, cx)), arg!(call.datetime(2, DateNeed::Whole, cx)));
    Ok(Value::Int(from.units_until(to, unit)))
}

fn date_diff(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    // Both are read, with their warnings.
    let (a, b) = (call.date(0, DateNeed::Whole, cx)?, call.date(1, DateNeed::Whole, cx)?);
    Ok(a.zip(b).map_or(Value::Null, |(a, b)| Value::Int(a.day_number() - b.day_number())))
}

fn resolve_add_time(args: &mut Vec<Expr>) -> Result<FuncType> {
    // A parameter is a time, unless a date is sent for it.
    if let Some(base) = args.first_mut()
        && matches!(base.kind, ExprKind::Param(_))
        && !base.is_variable()
        && !base.ty.is_temporal()
    {
        let taken = std::mem::replace(base, Expr::literal(Value::Null, ColumnType::null()));
        *base = cast_to(taken, ColumnType::temporal(TypeKind::Time, 6));
    }
    let fsp = args.iter().map(fsp_of_expr).max().unwrap_or(0);
    let ty = match args.first().map(|a| a.ty.kind) {
        Some(TypeKind::Time) => ColumnType::temporal(TypeKind::Time, fsp),
        Some(TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Date) => ColumnType::temporal(TypeKind::DateTime, fsp),
        _ => ColumnType { length: 29, collation: crate::typing::NUMBER_COLLATION, ..ColumnType::new(TypeKind::Char) },
    };
    Ok(FuncType { ty, nullable: true, coercibility: 5 })
}

/// Dates of the calendar alone.
const WHOLE: DateFlags = DateFlags { no_zero_date: true, no_zero_in_date: true, invalid_dates: false };

fn add_time(call: &FuncCall<'_>, cx: &EvalCx<'_>, subtract: bool) -> Result<Value> {
    let base = match call.ty.kind {
        TypeKind::DateTime => match arg!(call.datetime(0, DateNeed::Fuzzy, cx)) {
            at if at.is_zero() => return Ok(Value::Null),
            at => DateOrTime::DateTime(at),
        },
        _ => match arg!(call.moment(0, cx)) {
            // A date that no month has is none, whatever sql_mode says.
            DateOrTime::DateTime(at) if at.date().check(WHOLE).is_err() => {
                let text = arg!(call.text(0, cx));
                let name = if is_date_text(&*call.value(0, cx)?, call.arg_type(0)) { "date" } else { "datetime" };
                coerce::warn_truncated(cx.env, name, &text);
                return Ok(Value::Null);
            }
            base => base,
        },
    };
    // Of a date with time only the time is added.
    let by = arg!(call.time(1, cx));
    let by = if subtract { -by.micros_total() } else { by.micros_total() };
    let mut out = Vec::new();
    Ok(match (base, call.ty.kind) {
        (DateOrTime::DateTime(d), TypeKind::DateTime) => match d.add_micros(by) {
            Some(d) => Value::DateTime(d),
            None => overflow(cx),
        },
        (DateOrTime::Time(t), TypeKind::Time) => {
            let us = t.micros_total() + by;
            if is_out_of_range(us) {
                warn_out_of_range(call, subtract, cx);
                return Ok(Value::Null);
            }
            Value::Time(Time::clamped(us))
        }
        (DateOrTime::DateTime(d), _) => match d.add_micros(by) {
            Some(d) => {
                d.write_text(&mut out, if d.micros() == 0 { 0 } else { 6 });
                Value::from(out)
            }
            None => overflow(cx),
        },
        (DateOrTime::Time(t), _) => {
            let us = t.micros_total() + by;
            if is_out_of_range(us) {
                warn_out_of_range(call, subtract, cx);
            }
            let t = Time::clamped(us);
            t.write_text(&mut out, if t.micros() == 0 { 0 } else { 6 });
            Value::from(out)
        }
    })
}

fn is_out_of_range(us: i64) -> bool {
    us.unsigned_abs() > Time::MAX.micros_total().unsigned_abs()
}

/// Warning 6527: `TIME value is out of range in 'addtime('838:59:59','01:00:00')'`.
fn warn_out_of_range(call: &FuncCall<'_>, subtract: bool, cx: &EvalCx<'_>) {
    warn_of_time(&print::print_call(if subtract { "SUBTIME" } else { "ADDTIME" }, call.args, cx), cx);
}

fn warn_of_time(shown: &str, cx: &EvalCx<'_>) {
    cx.env.warn(Level::Warning, print::unmarked(Error::new(&errno::ER_TEMPORAL_FUNCTION_OVERFLOW, &[&"TIME", &shown])));
}

/// The time, or ±838:59:59 with warning 1292.
fn clamp(us: i64, decimals: u8, cx: &EvalCx<'_>) -> Time {
    if is_out_of_range(us) {
        let seconds = us.unsigned_abs() / 1_000_000;
        let sign = if us < 0 { "-" } else { "" };
        let mut shown = format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        if decimals > 0 {
            let micros = format!("{:06}", us.unsigned_abs() % 1_000_000);
            shown = format!("{shown}.{}", micros.get(..usize::from(decimals)).unwrap_or(&micros));
        }
        coerce::warn_truncated(cx.env, "time", shown.as_bytes());
        return if us < 0 { Time::MIN } else { Time::MAX };
    }
    Time::clamped(us)
}

fn resolve_time_diff(args: &mut Vec<Expr>) -> Result<FuncType> {
    // A parameter beside a DATE is one.
    let beside_date = args.iter().any(|arg| arg.ty.kind == TypeKind::Date);
    let is_date = |arg: &Expr| beside_date && matches!(arg.kind, ExprKind::Param(_)) && !arg.is_variable();
    let fsp = args.iter().map(|arg| if is_date(arg) { 0 } else { fsp_of_expr(arg) }).max().unwrap_or(0);
    FuncType::number(ColumnType::temporal(TypeKind::Time, fsp), true)
}

fn time_diff(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (a, b) = (arg!(call.moment(0, cx)), arg!(call.moment(1, cx)));
    let us = match (a, b) {
        (DateOrTime::DateTime(a), DateOrTime::DateTime(b)) => a.micros_linear() - b.micros_linear(),
        (DateOrTime::Time(a), DateOrTime::Time(b)) => a.micros_total() - b.micros_total(),
        // A date and a time have no difference.
        _ => return Ok(Value::Null),
    };
    Ok(Value::Time(clamp(us, call.ty.decimals, cx)))
}

fn resolve_timestamp(args: &mut Vec<Expr>) -> Result<FuncType> {
    let of_time = args.get(1).map_or(0, |time| fsp_as(time, TypeKind::Time));
    let mut ty = temporal(args, TypeKind::DateTime)?;
    ty.ty.decimals = ty.ty.decimals.max(of_time);
    Ok(ty)
}

fn timestamp(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let d = arg!(call.datetime(0, DateNeed::Mode, cx));
    let d = if call.len() > 1 {
        let t = arg!(call.time(1, cx));
        match d.add_micros(t.micros_total().clamp(-400 * MICROS_PER_DAY, 400 * MICROS_PER_DAY)) {
            Some(d) => d,
            None => return Ok(overflow(cx)),
        }
    } else {
        d
    };
    Ok(d.to_fsp(call.ty.decimals, false, 0).map_or(Value::Null, Value::DateTime))
}
