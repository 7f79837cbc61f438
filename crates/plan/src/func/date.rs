//! Parts of dates and times, the clock, and dates made of numbers.
//!
//! Functions that extract a part take dates with zero parts ('2024-00-00'); those that count days need
//! whole ones. Text and numbers are read as dates, NULL with warning 1292 if they are none.

use vaquita_types::decimal::Decimal;
use vaquita_types::temporal::{
    DAY_NUMBER_MAX, Date, DateTime, IntervalUnit, MICROS_PER_SECOND, Time, TimeZone, UNIX_MICROS_MAX, parse_datetime, parse_time,
};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, sql_mode};

use super::args::{any_nullable, def, each_read, volatile};
use super::names;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{EvalCx, Level};
use crate::eval::coerce::{self, DateNeed};
use crate::eval::{ANY_DATE, arg, print};
use crate::expr::{Expr, ExprKind};
use crate::settings::PlanSettings;
use crate::typing::{NumberClass, as_decimal, decimal_type, int_of_length, is_string, number_class, scale, year_type};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    volatile(
        "NOW",
        0,
        1,
        |a| now_type(a, TypeKind::DateTime),
        |c, cx| Ok(Value::DateTime(cut(coerce::now(cx.env), c.ty.decimals))),
    ),
    volatile(
        "CURRENT_TIMESTAMP",
        0,
        1,
        |a| now_type(a, TypeKind::DateTime),
        |c, cx| Ok(Value::DateTime(cut(coerce::now(cx.env), c.ty.decimals))),
    ),
    volatile(
        "LOCALTIME",
        0,
        1,
        |a| now_type(a, TypeKind::DateTime),
        |c, cx| Ok(Value::DateTime(cut(coerce::now(cx.env), c.ty.decimals))),
    ),
    volatile(
        "LOCALTIMESTAMP",
        0,
        1,
        |a| now_type(a, TypeKind::DateTime),
        |c, cx| Ok(Value::DateTime(cut(coerce::now(cx.env), c.ty.decimals))),
    ),
    volatile(
        "SYSDATE",
        0,
        1,
        |a| now_type(a, TypeKind::DateTime),
        |c, cx| Ok(Value::DateTime(cut(coerce::local_time(cx.env.clock_us(), cx.env), c.ty.decimals))),
    ),
    volatile(
        "UTC_TIMESTAMP",
        0,
        1,
        |a| now_type(a, TypeKind::DateTime),
        |c, cx| Ok(Value::DateTime(cut(utc_now(cx), c.ty.decimals))),
    ),
    volatile(
        "CURTIME",
        0,
        1,
        |a| now_type(a, TypeKind::Time),
        |c, cx| Ok(Value::Time(cut(coerce::now(cx.env), c.ty.decimals).time())),
    ),
    volatile(
        "CURRENT_TIME",
        0,
        1,
        |a| now_type(a, TypeKind::Time),
        |c, cx| Ok(Value::Time(cut(coerce::now(cx.env), c.ty.decimals).time())),
    ),
    volatile("UTC_TIME", 0, 1, |a| now_type(a, TypeKind::Time), |c, cx| Ok(Value::Time(cut(utc_now(cx), c.ty.decimals).time()))),
    volatile(
        "CURDATE",
        0,
        0,
        |_| FuncType::number(ColumnType::new(TypeKind::Date), false),
        |_, cx| Ok(Value::Date(coerce::now(cx.env).date())),
    ),
    volatile(
        "CURRENT_DATE",
        0,
        0,
        |_| FuncType::number(ColumnType::new(TypeKind::Date), false),
        |_, cx| Ok(Value::Date(coerce::now(cx.env).date())),
    ),
    volatile(
        "UTC_DATE",
        0,
        0,
        |_| FuncType::number(ColumnType::new(TypeKind::Date), false),
        |_, cx| Ok(Value::Date(utc_now(cx).date())),
    ),
    def("YEAR", 1, 1, |_| FuncType::number(year_type(), true), |c, cx| Ok(Value::Int(i64::from(arg!(fuzzy(c, cx)).year())))),
    def("MONTH", 1, 1, |_| FuncType::number(int_of_length(3), true), |c, cx| part(c, cx, |d| d.month())),
    def("DAY", 1, 1, |_| FuncType::number(int_of_length(3), true), |c, cx| part(c, cx, |d| d.day())),
    def("DAYOFMONTH", 1, 1, |_| FuncType::number(int_of_length(3), true), |c, cx| part(c, cx, |d| d.day())),
    def("QUARTER", 1, 1, |_| FuncType::number(int_of_length(2), true), |c, cx| part(c, cx, |d| d.month().div_ceil(3))),
    def(
        "DAYOFWEEK",
        1,
        1,
        |_| FuncType::number(int_of_length(2), true),
        |c, cx| Ok(Value::Int((i64::from(arg!(whole(c, cx)).weekday()) + 1) % 7 + 1)),
    ),
    def(
        "WEEKDAY",
        1,
        1,
        |_| FuncType::number(int_of_length(2), true),
        |c, cx| Ok(Value::Int(i64::from(arg!(whole(c, cx)).weekday()))),
    ),
    def(
        "DAYOFYEAR",
        1,
        1,
        |_| FuncType::number(int_of_length(4), true),
        |c, cx| Ok(Value::Int(arg!(whole(c, cx)).day_of_year())),
    ),
    def("WEEK", 1, 2, |_| FuncType::number(int_of_length(3), true), week),
    def(
        "WEEKOFYEAR",
        1,
        1,
        |_| FuncType::number(int_of_length(3), true),
        |c, cx| Ok(Value::Int(i64::from(arg!(whole(c, cx)).week(3)))),
    ),
    def("YEARWEEK", 1, 2, |_| FuncType::number(int_of_length(7), true), year_week),
    def("DAYNAME", 1, 1, |_| FuncType::ascii(9), day_name),
    def("MONTHNAME", 1, 1, |_| FuncType::ascii(9), month_name),
    def(
        "HOUR",
        1,
        1,
        |_| FuncType::number(int_of_length(4), true),
        |c, cx| Ok(Value::Int(i64::from(arg!(c.time(0, cx)).hour()))),
    ),
    def(
        "MINUTE",
        1,
        1,
        |_| FuncType::number(int_of_length(3), true),
        |c, cx| Ok(Value::Int(i64::from(arg!(c.time(0, cx)).minute()))),
    ),
    def(
        "SECOND",
        1,
        1,
        |_| FuncType::number(int_of_length(3), true),
        |c, cx| Ok(Value::Int(i64::from(arg!(c.time(0, cx)).second()))),
    ),
    def(
        "MICROSECOND",
        1,
        1,
        |_| FuncType::number(int_of_length(21), true),
        |c, cx| Ok(Value::Int(i64::from(arg!(c.time(0, cx)).micros()))),
    ),
    def("EXTRACT", 2, 2, resolve_extract, extract),
    def(
        "DATE",
        1,
        1,
        |_| FuncType::number(ColumnType::new(TypeKind::Date), true),
        |c, cx| Ok(Value::Date(arg!(c.date(0, DateNeed::Mode, cx)))),
    ),
    def("TIME", 1, 1, |a| temporal(a, TypeKind::Time), time),
    def("TO_DAYS", 1, 1, |_| FuncType::number(int_of_length(8), true), |c, cx| Ok(Value::Int(arg!(whole(c, cx)).day_number()))),
    def(
        "TO_SECONDS",
        1,
        1,
        |_| FuncType::number(int_of_length(21), true),
        |c, cx| Ok(Value::Int(arg!(c.datetime(0, DateNeed::Whole, cx)).micros_linear().div_euclid(MICROS_PER_SECOND))),
    ),
    def("FROM_DAYS", 1, 1, |_| FuncType::number(ColumnType::new(TypeKind::Date), true), from_days),
    def(
        "TIME_TO_SEC",
        1,
        1,
        |_| FuncType::number(int_of_length(10), true),
        |c, cx| Ok(Value::Int(arg!(c.time(0, cx)).micros_total() / MICROS_PER_SECOND)),
    ),
    def("SEC_TO_TIME", 1, 1, |a| fraction_of(a, 0, TypeKind::Time), sec_to_time),
    def("MAKEDATE", 2, 2, |_| FuncType::number(ColumnType::new(TypeKind::Date), true), make_date),
    def("MAKETIME", 3, 3, |a| fraction_of(a, 2, TypeKind::Time), make_time),
    def("LAST_DAY", 1, 1, |_| FuncType::number(ColumnType::new(TypeKind::Date), true), last_day),
    def("PERIOD_ADD", 2, 2, |a| FuncType::number(int_of_length(21), any_nullable(a)), period_add),
    def("PERIOD_DIFF", 2, 2, |a| FuncType::number(int_of_length(21), any_nullable(a)), period_diff),
    volatile("UNIX_TIMESTAMP", 0, 1, resolve_unix_timestamp, unix_timestamp),
    volatile("FROM_UNIXTIME", 1, 2, resolve_from_unixtime, from_unixtime),
    volatile("AT TIME ZONE", 1, 1, |a| temporal(a, TypeKind::DateTime), at_time_zone),
    volatile("CONVERT_TZ", 3, 3, |a| temporal(a, TypeKind::DateTime), convert_tz),
];

/// The type of NOW(n): n must be a literal from 0 to 6.
fn now_type(args: &mut Vec<Expr>, kind: TypeKind) -> Result<FuncType> {
    let fsp = match args.first().map(|a| &a.kind) {
        None => 0,
        Some(ExprKind::Literal(Value::Int(n))) => *n,
        Some(ExprKind::Literal(Value::UInt(n))) => *n as i64,
        Some(_) => return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"now"])),
    };
    if !(0..=6).contains(&fsp) {
        return Err(Error::new(&errno::ER_TOO_BIG_PRECISION, &[&fsp, &"now", &6]));
    }
    let mut ty = ColumnType::temporal(kind, fsp as u8);
    if kind == TypeKind::Time {
        // A time of day has two digits of hours and no sign.
        ty.length -= 2;
    }
    FuncType::number(ty, false)
}

fn utc_now(cx: &EvalCx<'_>) -> DateTime {
    DateTime::from_unix_micros(cx.env.statement_time_us()).unwrap_or(DateTime::ZERO)
}

fn cut(d: DateTime, fsp: u8) -> DateTime {
    d.to_fsp(fsp, true, 0).unwrap_or(d)
}

/// The fraction digits that a value of this type may have as a time.
pub(super) fn fsp_of(ty: &ColumnType) -> u8 {
    match ty.kind {
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => ty.decimals,
        TypeKind::Decimal => ty.decimals.min(6),
        TypeKind::Float | TypeKind::Double => ty.decimals.min(6),
        _ => 0,
    }
}

/// For text the digits of a literal are known, else six are possible.
pub(super) fn fsp_of_expr(expr: &Expr) -> u8 {
    if is_string(&expr.ty) && !matches!(expr.kind, ExprKind::Literal(_)) {
        let mut constant = expr.clone();
        crate::eval::constant_fold(&mut constant, const { &PlanSettings::DEFAULT });
        if matches!(constant.kind, ExprKind::Literal(Value::Bytes(_))) {
            return fsp_of_expr(&constant);
        }
    }
    match &expr.kind {
        ExprKind::Literal(Value::Bytes(b)) if is_string(&expr.ty) => {
            let tail = b.iter().rposition(|c| *c == b'.').map_or(&[][..], |dot| &b[dot + 1..]);
            let temporal = parse_datetime(b, ANY_DATE).is_ok() || parse_time(b).is_ok_and(|t| !t.truncated);
            if !temporal {
                6
            } else if tail.iter().all(u8::is_ascii_digit) {
                tail.len().min(6) as u8
            } else {
                0
            }
        }
        _ if is_string(&expr.ty) => 6,
        _ => fsp_of(&expr.ty),
    }
}

pub(super) fn temporal(args: &mut Vec<Expr>, kind: TypeKind) -> Result<FuncType> {
    let fsp = args.first().map_or(0, |arg| fsp_as(arg, kind));
    FuncType::number(ColumnType::temporal(kind, fsp), true)
}

/// The fraction digits of what is read as a value of `kind`: those of a constant text that is one, else six of a text.
pub(super) fn fsp_as(expr: &Expr, kind: TypeKind) -> u8 {
    if !is_string(&expr.ty) {
        return fsp_of(&expr.ty);
    }
    let mut constant = expr.clone();
    crate::eval::constant_fold(&mut constant, const { &PlanSettings::DEFAULT });
    let text = match &constant.kind {
        ExprKind::Literal(Value::Bytes(text)) => text,
        ExprKind::Literal(Value::Date(_)) => return 0,
        ExprKind::Literal(Value::DateTime(at)) if at.micros() == 0 => return 0,
        ExprKind::Literal(Value::Time(time)) if time.micros() == 0 => return 0,
        _ => return 6,
    };
    let digits = match kind {
        TypeKind::Time => parse_time(text).ok().map(|parsed| parsed.fraction_digits),
        _ => parse_datetime(text, Default::default()).ok().map(|parsed| parsed.fraction_digits),
    };
    digits.map_or(6, |digits| digits.min(6))
}

/// A type with the fraction digits of argument `i`, a number of seconds that is read as a DECIMAL; six for text.
fn fraction_of(args: &mut [Expr], i: usize, kind: TypeKind) -> Result<FuncType> {
    each_read(args.get_mut(i..=i).unwrap_or_default(), as_decimal)?;
    let fsp = args.get(i).map_or(0, |a| match a.ty.kind {
        TypeKind::Float | TypeKind::Double => a.ty.decimals.min(6),
        TypeKind::Null => 0,
        _ if number_class(&a.ty) == NumberClass::Double => 6,
        _ => scale(&a.ty).min(6),
    });
    Ok(FuncType { ty: ColumnType::temporal(kind, fsp), nullable: true, coercibility: 5 })
}

fn fuzzy(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Option<Date>> {
    call.date(0, DateNeed::Fuzzy, cx)
}

fn whole(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Option<Date>> {
    call.date(0, DateNeed::Whole, cx)
}

fn part(call: &FuncCall<'_>, cx: &EvalCx<'_>, f: fn(Date) -> u32) -> Result<Value> {
    Ok(Value::Int(i64::from(f(arg!(fuzzy(call, cx))))))
}

fn week_mode(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Option<u32>> {
    if call.len() > 1 {
        return Ok(call.int(1, cx)?.map(|n| (n & 7) as u32));
    }
    Ok(Some(cx.env.run_settings().week_format & 7))
}

fn week(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let date = arg!(whole(call, cx));
    Ok(Value::Int(i64::from(date.week(arg!(week_mode(call, cx))))))
}

fn year_week(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let date = arg!(whole(call, cx));
    let mode = if call.len() > 1 { arg!(call.int(1, cx)) as u32 & 7 } else { 0 };
    Ok(Value::Int(i64::from(date.year_week(mode))))
}

fn month_name(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let month = arg!(fuzzy(call, cx)).month() as usize;
    let name = month.checked_sub(1).and_then(|m| names::of_session(cx.env).months.get(m));
    Ok(name.map_or(Value::Null, |name| Value::bytes(names::in_charset(name, call.ty))))
}

fn day_name(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let day = arg!(whole(call, cx)).weekday() as usize % 7;
    let name = names::of_session(cx.env).days.get(day);
    Ok(name.map_or(Value::Null, |name| Value::bytes(names::in_charset(name, call.ty))))
}

/// The unit that a literal argument names.
pub(super) fn unit_of(args: &[Expr], i: usize) -> Result<IntervalUnit> {
    if let Some(Expr { kind: ExprKind::Literal(Value::Bytes(word)), .. }) = args.get(i)
        && let Some(unit) = std::str::from_utf8(word).ok().and_then(IntervalUnit::from_keyword)
    {
        return Ok(unit);
    }
    Err(Error::internal("not an interval unit"))
}

fn resolve_extract(args: &mut Vec<Expr>) -> Result<FuncType> {
    use IntervalUnit::*;
    let digits = match unit_of(args, 0)? {
        Year => 4,
        YearMonth => 6,
        Quarter => 1,
        Month | Week | Day | Minute | Second => 2,
        Hour => 3,
        DayHour => 5,
        DayMinute => 7,
        DaySecond => 9,
        HourMinute => 5,
        HourSecond => 7,
        MinuteSecond => 4,
        Microsecond => 6,
        DayMicrosecond => 20,
        HourMicrosecond => 13,
        MinuteMicrosecond => 10,
        SecondMicrosecond => 8,
    };
    FuncType::number(int_of_length(digits + 1), true)
}

fn extract(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    use IntervalUnit::*;
    let unit = unit_of(call.args, 0)?;
    let value = call.value(1, cx)?;
    let ty = call.arg_type(1);
    let dated = matches!(unit, Year | YearMonth | Quarter | Month | Week | Day);
    let day_unit = matches!(unit, DayHour | DayMinute | DaySecond | DayMicrosecond);
    if !dated && let Value::Bytes(_) = &*value {
        return extract_from_text(unit, &value, ty, cx);
    }
    if dated || (day_unit && matches!(&*value, Value::DateTime(_) | Value::Date(_))) {
        let need = if unit == Week { DateNeed::Whole } else { DateNeed::Fuzzy };
        let d = arg!(coerce::to_datetime(&value, ty, need, cx.env));
        let date = d.date();
        return Ok(Value::Int(match unit {
            Year => i64::from(d.year()),
            YearMonth => i64::from(d.year() * 100 + d.month()),
            Quarter => i64::from(d.month().div_ceil(3)),
            Month => i64::from(d.month()),
            Week => i64::from(date.week(arg!(week_mode(&FuncCall { args: &[], ty: call.ty }, cx)))),
            Day => i64::from(d.day()),
            _ => extract_time(unit, d.time(), i64::from(d.day())),
        }));
    }
    let time = arg!(coerce::to_time(&value, ty, cx.env));
    Ok(Value::Int(extract_time(unit, time, 0)))
}

/// A text in the very form of a date has the time of that day; any other is a time ('1 10:00').
fn extract_from_text(unit: IntervalUnit, value: &Value, ty: &ColumnType, cx: &EvalCx<'_>) -> Result<Value> {
    let text = match coerce::readable(value, ty) {
        Some((text, ty)) => coerce::text_of(&text, &ty).into_owned(),
        None => coerce::text_of(value, ty).into_owned(),
    };
    let is_date = parse_datetime(&text, ANY_DATE).is_ok_and(|parsed| !parsed.truncated);
    if !is_date || coerce::delimiter_warning(&text, 1).is_some() {
        let time = arg!(coerce::to_time(value, ty, cx.env));
        return Ok(Value::Int(extract_time(unit, time, 0)));
    }
    let Some(at) = coerce::datetime_from_text(&text, coerce::date_flags(DateNeed::Fuzzy, cx.env), cx.env) else {
        return Ok(Value::Null);
    };
    Ok(Value::Int(extract_time(unit, at.time(), i64::from(at.day()))))
}

/// The time's fields as one number: DAY_MINUTE of 2 days 10:30 is 21030.
fn extract_time(unit: IntervalUnit, t: Time, days: i64) -> i64 {
    use IntervalUnit::*;
    let sign = if t.is_negative() { -1 } else { 1 };
    let (h, m, s, us) = (i64::from(t.hour()), i64::from(t.minute()), i64::from(t.second()), i64::from(t.micros()));
    let hms = h * 10_000 + m * 100 + s;
    sign * match unit {
        Hour => h,
        Minute => m,
        Second => s,
        Microsecond => us,
        DayHour => days * 100 + h,
        DayMinute => days * 10_000 + h * 100 + m,
        DaySecond => days * 1_000_000 + hms,
        DayMicrosecond => (days * 1_000_000 + hms) * 1_000_000 + us,
        HourMinute => h * 100 + m,
        HourSecond => hms,
        HourMicrosecond => hms * 1_000_000 + us,
        MinuteSecond => m * 100 + s,
        MinuteMicrosecond => (m * 100 + s) * 1_000_000 + us,
        SecondMicrosecond => s * 1_000_000 + us,
        _ => 0,
    }
}

fn time(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    Ok(Value::Time(arg!(call.time(0, cx)).to_fsp(call.ty.decimals, false, 0)))
}

fn from_days(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let n = arg!(call.i64(0, cx));
    if (1..=DAY_NUMBER_MAX).contains(&n) {
        return Ok(Value::Date(Date::from_day_number(n)));
    }
    let shown = print::print_call("FROM_DAYS", call.args, cx);
    cx.env.warn(Level::Warning, print::unmarked(Error::new(&errno::ER_TEMPORAL_FUNCTION_OVERFLOW, &[&"DATE", &shown])));
    Ok(Value::Null)
}

/// Seconds, with a fraction, in microseconds, rounded or cut under TIME_TRUNCATE_FRACTIONAL; `None` if they do not fit.
fn micros_of(seconds: &Decimal, cx: &EvalCx<'_>) -> Option<i64> {
    let cut = cx.env.sql_mode() & sql_mode::TIME_TRUNCATE_FRACTIONAL != 0;
    let seconds = if cut { seconds.truncate(6) } else { seconds.clone() };
    let (us, clamped) = seconds.mul(&Decimal::from(MICROS_PER_SECOND))?.to_i64();
    (!clamped).then_some(us)
}

fn sec_to_time(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (value, ty) = (call.value(0, cx)?, call.arg_type(0));
    if value.is_null() {
        return Ok(Value::Null);
    }
    let seconds = coerce::to_decimal(&value, ty, cx.env)?;
    let clamped = if seconds.is_negative() { Time::MIN } else { Time::MAX };
    match micros_of(&seconds, cx).and_then(Time::from_micros) {
        // What a FLOAT(M,D) holds beyond its decimals is cut.
        Some(t) if t <= Time::MAX && t >= Time::MIN => Ok(Value::Time(t.to_fsp(call.ty.decimals, true, 0))),
        _ => {
            coerce::warn_truncated(cx.env, "time", seconds.to_string().as_bytes());
            Ok(Value::Time(clamped))
        }
    }
}

fn make_date(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (year, day) = (arg!(call.int(0, cx)), arg!(call.int(1, cx)));
    if !(0..=9999).contains(&year) || !(1..=4_000_000).contains(&day) {
        return Ok(Value::Null);
    }
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    let Some(first) = Date::new(year as u32, 1, 1) else { return Ok(Value::Null) };
    let n = first.day_number() + day as i64 - 1;
    Ok(if n <= DAY_NUMBER_MAX { Value::Date(Date::from_day_number(n)) } else { Value::Null })
}

fn make_time(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (hour, minute, second) = (arg!(call.int(0, cx)), arg!(call.int(1, cx)), arg!(call.decimal(2, cx)));
    if !(0..60).contains(&minute) || second.is_negative() || second >= Decimal::from(60i64) {
        return Ok(Value::Null);
    }
    let us = micros_of(&second, cx).unwrap_or(0) + minute as i64 * 60 * MICROS_PER_SECOND;
    let hours = hour.unsigned_abs().min(10_000) as i64;
    let total = hours * 3600 * MICROS_PER_SECOND + us;
    let total = if hour < 0 { -total } else { total };
    if total.unsigned_abs() > Time::MAX.micros_total().unsigned_abs() {
        let mut shown = Vec::new();
        vaquita_types::format::write_i64(&mut shown, hour.unsigned_abs().min(i64::MAX as u128) as i64);
        let zero = if second < Decimal::from(10i64) { "0" } else { "" };
        // As MySQL: nine digits of what is no exact number, and no sign.
        let second = match number_class(call.arg_type(2)) {
            NumberClass::Double => second.rescale(9).unwrap_or(second),
            _ => second,
        };
        let text = format!("{}:{minute:02}:{zero}{second}", String::from_utf8_lossy(&shown));
        coerce::warn_truncated(cx.env, "time", text.as_bytes());
    }
    Ok(Value::Time(Time::clamped(total).to_fsp(call.ty.decimals, false, 0)))
}

fn last_day(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let date = arg!(call.date(0, DateNeed::Fuzzy, cx));
    // A number such as 5 is a day of 2000 without a month.
    let Some(last) = date.last_day() else {
        coerce::warn_truncated(cx.env, "date", &coerce::text_of(&Value::Date(date), call.ty));
        return Ok(Value::Null);
    };
    Ok(Value::Date(last))
}

/// YYMM or YYYYMM in months.
fn period_months(period: i64) -> Result<i64> {
    let (year, month) = (period / 100, period % 100);
    if period <= 0 || !(1..=12).contains(&month) {
        return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"period_add"]));
    }
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    Ok(year * 12 + month - 1)
}

fn period_add(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (period, n) = (arg!(call.i64(0, cx)), arg!(call.i64(1, cx)));
    let months = period_months(period)?.saturating_add(n);
    Ok(Value::Int(months / 12 * 100 + months % 12 + 1))
}

fn period_diff(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (a, b) = (arg!(call.i64(0, cx)), arg!(call.i64(1, cx)));
    let wrong = |_| Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"period_diff"]);
    Ok(Value::Int(period_months(a).map_err(wrong)? - period_months(b).map_err(wrong)?))
}

fn resolve_unix_timestamp(args: &mut Vec<Expr>) -> Result<FuncType> {
    let fsp = args.first().map_or(0, |arg| fsp_as(arg, TypeKind::DateTime));
    let nullable = any_nullable(args) || args.first().is_some_and(picks_text);
    if fsp == 0 {
        return FuncType::number(int_of_length(21), nullable);
    }
    FuncType::number(decimal_type(11 + u32::from(fsp), fsp, false), nullable)
}

fn picks_text(expr: &Expr) -> bool {
    expr.ty.is_bytes() && expr.passes_on()
}

fn unix_timestamp(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    if call.len() == 0 {
        return Ok(Value::Int(cx.env.statement_time_us().div_euclid(MICROS_PER_SECOND)));
    }
    let value = call.value(0, cx)?;
    if value.is_null() {
        return Ok(Value::Null);
    }
    let is_whole = |at: &DateTime| at.date().month() > 0 && at.date().day() > 0;
    let us = match coerce::to_datetime(&value, call.arg_type(0), DateNeed::Fuzzy, cx.env)? {
        Some(local) if is_whole(&local) => cx.env.time_zone().to_utc(local).map_or(0, |utc| utc.value.unix_micros()),
        // As MySQL: what is no date is NULL only where IF and its like pick it.
        None if call.args.first().is_some_and(picks_text) => return Ok(Value::Null),
        _ => 0,
    };
    let us = if (0..=UNIX_MICROS_MAX).contains(&us) { us } else { 0 };
    if call.ty.kind == TypeKind::Decimal {
        let exact = Decimal::new(us, 6).truncate(i32::from(call.ty.decimals));
        return Ok(Value::Decimal(exact.rescale(call.ty.decimals).unwrap_or(exact)));
    }
    Ok(Value::Int(us / MICROS_PER_SECOND))
}

fn resolve_from_unixtime(args: &mut Vec<Expr>) -> Result<FuncType> {
    if args.len() > 1 {
        each_read(args.get_mut(..1).unwrap_or_default(), as_decimal)?;
        let chars = super::date_format::format_width(args.get(1));
        return FuncType::ascii(chars);
    }
    fraction_of(args, 0, TypeKind::DateTime)
}

fn from_unixtime(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let seconds = arg!(call.decimal(0, cx));
    let Some(us) = micros_of(&seconds, cx).filter(|us| (0..=UNIX_MICROS_MAX).contains(us)) else { return Ok(Value::Null) };
    let Some(local) = DateTime::from_unix_micros(us).and_then(|utc| cx.env.time_zone().from_utc(utc)) else {
        return Ok(Value::Null);
    };
    if call.len() > 1 {
        let format = arg!(call.text(1, cx));
        return Ok(super::date_format::format_datetime(local, &format, call, cx).map_or(Value::Null, Value::from));
    }
    Ok(local.to_fsp(call.ty.decimals, false, 0).map_or(Value::Null, Value::DateTime))
}

/// The UTC of a TIMESTAMP, whole seconds as in MySQL.
fn at_time_zone(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let Some(local) = call.datetime(0, DateNeed::Whole, cx)? else { return Ok(Value::Null) };
    let Some(utc) = cx.env.time_zone().to_utc(local) else { return Ok(Value::Null) };
    let seconds = utc.value.unix_micros().div_euclid(MICROS_PER_SECOND);
    Ok(DateTime::from_unix_micros(seconds * MICROS_PER_SECOND).map_or(Value::Null, Value::DateTime))
}

fn convert_tz(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let Some(d) = call.datetime(0, DateNeed::Whole, cx)? else { return Ok(Value::Null) };
    let (from, to) = (arg!(call.text(1, cx)), arg!(call.text(2, cx)));
    let zone = |name: &[u8]| TimeZone::parse(&String::from_utf8_lossy(name), cx.env.time_zone());
    let (Some(from), Some(to)) = (zone(&from), zone(&to)) else { return Ok(Value::Null) };
    let Some(utc) = from.to_utc(d) else { return Ok(Value::DateTime(d)) };
    // Beyond what a timestamp can be, the value is returned as it came.
    if !(0..=UNIX_MICROS_MAX).contains(&utc.value.unix_micros()) {
        return Ok(Value::DateTime(d));
    }
    Ok(to.from_utc(utc.value).map_or(Value::Null, Value::DateTime))
}
