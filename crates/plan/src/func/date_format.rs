//! DATE_FORMAT, TIME_FORMAT, STR_TO_DATE and GET_FORMAT. Names that are written are those of `lc_time_names`, names that are read
//! are English.

use vaquita_types::temporal::{Date, DateTime, Time};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno, sql_mode};

use super::args::def;
use super::names;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{EvalCx, Level};
use crate::eval::arg;
use crate::eval::coerce::{self, DateNeed};
use crate::expr::{Expr, ExprKind};
use crate::locale::{self, Locale};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("DATE_FORMAT", 2, 2, |a| FuncType::ascii(format_width(a.get(1))), date_format),
    def("TIME_FORMAT", 2, 2, |a| FuncType::ascii(format_width(a.get(1))), time_format),
    def("STR_TO_DATE", 2, 2, resolve_str_to_date, str_to_date),
    def("GET_FORMAT", 2, 2, |_| FuncType::ascii(17), get_format),
];

/// Characters that a format may produce.
pub(super) fn format_width(format: Option<&Expr>) -> u64 {
    let Some(Expr { kind: ExprKind::Literal(Value::Bytes(format)), .. }) = format else {
        return format.map_or(0, |f| u64::from(crate::typing::char_length(&f.ty)) * 10);
    };
    let mut width = 0;
    let mut bytes = format.iter();
    while let Some(b) = bytes.next() {
        width += match (b, if *b == b'%' { bytes.next() } else { None }) {
            (b'%', Some(b'M' | b'W')) => 64,
            (b'%', Some(b'D' | b'Y' | b'x' | b'X')) => 4,
            (b'%', Some(b'a' | b'b')) => 32,
            (b'%', Some(b'j')) => 3,
            (
                b'%',
                Some(
                    b'u' | b'U' | b'v' | b'V' | b'y' | b'm' | b'd' | b'h' | b'i' | b'I' | b'l' | b'p' | b'S' | b's' | b'c' | b'e',
                ),
            ) => 2,
            (b'%', Some(b'k' | b'H')) => 7,
            (b'%', Some(b'r')) => 11,
            (b'%', Some(b'T')) => 8,
            (b'%', Some(b'f')) => 6,
            _ => 1,
        };
    }
    width
}

fn date_format(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let d = arg!(call.datetime(0, DateNeed::Fuzzy, cx));
    let format = arg!(call.text(1, cx));
    if format.is_empty() {
        return Ok(Value::Null);
    }
    Ok(format_datetime(d, &format, call, cx).map_or(Value::Null, Value::from))
}

/// `None` where a name or week is asked of a date that has none.
pub(super) fn format_datetime(d: DateTime, format: &[u8], call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Option<Vec<u8>> {
    format_fields(Some(d.date()), d.time(), format, call, cx)
}

fn time_format(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let t = arg!(call.time(0, cx));
    let format = arg!(call.text(1, cx));
    if format.is_empty() {
        return Ok(Value::Null);
    }
    Ok(format_fields(None, t, &format, call, cx).map_or(Value::Null, Value::from))
}

fn format_fields(date: Option<Date>, t: Time, format: &[u8], call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Option<Vec<u8>> {
    let mut out = String::new();
    let mut raw: Vec<u8> = Vec::new();
    // One sign stands before all that is written, whatever that is.
    if date.is_none() && t.is_negative() {
        raw.push(b'-');
    }
    let mut bytes = format.iter();
    let d = date.unwrap_or(Date::ZERO);
    let mut names = None;
    while let Some(b) = bytes.next() {
        let Some(spec) = (if *b == b'%' { bytes.next() } else { None }) else {
            raw.push(*b);
            continue;
        };
        if let b'M' | b'b' | b'W' | b'a' = spec {
            let names = *names.get_or_insert_with(|| names::of_session(cx.env));
            raw.extend_from_slice(&names::in_charset(name_of(*spec, date.is_some(), d, names)?, call.ty));
            continue;
        }
        out.clear();
        write_field(*spec, date.is_some(), d, t, &mut out)?;
        match out.is_empty() {
            true => raw.push(*spec),
            false => raw.extend_from_slice(out.as_bytes()),
        }
    }
    Some(raw)
}

/// The day of the week from Monday on.
fn weekday(dated: bool, d: Date) -> Option<usize> {
    (dated && (d.month() != 0 || d.year() != 0)).then(|| d.weekday() as usize % 7)
}

fn name_of(spec: u8, dated: bool, d: Date, names: &'static Locale) -> Option<&'static str> {
    let month = || (d.month() as usize).checked_sub(1);
    match spec {
        b'M' => names.months.get(month()?),
        b'b' => names.short_months.get(month()?),
        b'W' => names.days.get(weekday(dated, d)?),
        _ => names.short_days.get(weekday(dated, d)?),
    }
    .copied()
}

/// Appends one field; nothing for a letter that is no specifier.
fn write_field(spec: u8, dated: bool, d: Date, t: Time, out: &mut String) -> Option<()> {
    use std::fmt::Write;
    let hour = t.hour();
    let hour_12 = (hour % 24 + 11) % 12 + 1;
    let half = if hour % 24 < 12 { "AM" } else { "PM" };
    let week = |mode| dated.then(|| d.week_of_year(mode));
    let written = match spec {
        b'Y' => write!(out, "{:04}", d.year()),
        b'y' => write!(out, "{:02}", d.year() % 100),
        b'm' => write!(out, "{:02}", d.month()),
        b'c' => write!(out, "{}", d.month()),
        b'd' => write!(out, "{:02}", d.day()),
        b'e' => write!(out, "{}", d.day()),
        b'w' => write!(out, "{}", (weekday(dated, d)? + 1) % 7),
        b'D' => write!(out, "{}{}", dated.then(|| d.day())?, ordinal(d.day())),
        b'j' => write!(out, "{:03}", dated.then(|| d.day_of_year())?),
        b'U' => write!(out, "{:02}", week(0)?.0),
        b'u' => write!(out, "{:02}", week(1)?.0),
        b'V' => write!(out, "{:02}", week(2)?.0),
        b'v' => write!(out, "{:02}", week(3)?.0),
        b'X' => write!(out, "{:04}", week(2)?.1),
        b'x' => write!(out, "{:04}", week(3)?.1),
        b'H' => write!(out, "{hour:02}"),
        b'k' => write!(out, "{hour}"),
        b'h' | b'I' => write!(out, "{hour_12:02}"),
        b'l' => write!(out, "{hour_12}"),
        b'i' => write!(out, "{:02}", t.minute()),
        b's' | b'S' => write!(out, "{:02}", t.second()),
        b'f' => write!(out, "{:06}", t.micros()),
        b'p' => write!(out, "{half}"),
        b'r' => write!(out, "{hour_12:02}:{:02}:{:02} {half}", t.minute(), t.second()),
        b'T' => write!(out, "{hour:02}:{:02}:{:02}", t.minute(), t.second()),
        _ => Ok(()),
    };
    written.ok()
}

fn ordinal(day: u32) -> &'static str {
    match day {
        10..=19 => "th",
        _ => match day % 10 {
            1 => "st",
            2 => "nd",
            3 => "rd",
            _ => "th",
        },
    }
}

/// The type follows from a literal format: a date, a time, or both.
fn resolve_str_to_date(args: &mut Vec<Expr>) -> Result<FuncType> {
    let ty = match args.get(1).map(|a| &a.kind) {
        Some(ExprKind::Literal(Value::Bytes(format))) => {
            let specs: Vec<u8> = format.windows(2).filter(|w| w[0] == b'%').map(|w| w[1]).collect();
            let has = |set: &[u8]| specs.iter().any(|s| set.contains(s));
            let dated = has(b"YymcdeMbWaDjUuVvXxw");
            let timed = has(b"HkhIlisSfprT");
            let fsp = if specs.contains(&b'f') { 6 } else { 0 };
            match (dated, timed) {
                (true, true) => ColumnType::temporal(TypeKind::DateTime, fsp),
                (false, true) => ColumnType::temporal(TypeKind::Time, fsp),
                _ => ColumnType::new(TypeKind::Date),
            }
        }
        _ => ColumnType::temporal(TypeKind::DateTime, 6),
    };
    FuncType::number(ty, true)
}

/// What a format has read so far.
#[derive(Default)]
struct Read {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
    afternoon: Option<bool>,
    twelve_hours: bool,
    day_of_year: Option<u32>,
    weekday: Option<u32>,
    week: Option<(u32, u8)>,
    week_year: Option<(u32, u8)>,
}

fn str_to_date(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (text, format) = (arg!(call.text(0, cx)), arg!(call.text(1, cx)));
    let read = read_format(&text, &format);
    let value = read.and_then(|(read, rest)| Some((assemble(&read, call.ty.kind, cx)?, rest)));
    let Some((value, rest)) = value else {
        let what = if call.ty.kind == TypeKind::Time { "time" } else { "datetime" };
        let error = Error::new(
            &errno::ER_WRONG_VALUE_FOR_TYPE,
            &[&what, &coerce::printable(text.split(|byte| *byte == 0).next().unwrap_or_default()), &"str_to_date"],
        );
        cx.env.warn(Level::Warning, error);
        return Ok(Value::Null);
    };
    if rest.iter().any(|b| !b.is_ascii_whitespace()) {
        let what = match call.ty.kind {
            TypeKind::Date => "date",
            TypeKind::Time => "time",
            _ => "datetime",
        };
        coerce::warn_truncated(cx.env, what, &text);
    }
    Ok(value)
}

fn number(text: &[u8], digits_max: usize) -> Option<(u32, &[u8], usize)> {
    let len = text.iter().take(digits_max).take_while(|b| b.is_ascii_digit()).count();
    let n = std::str::from_utf8(text.get(..len)?).ok()?.parse().ok()?;
    Some((n, text.get(len..)?, len))
}

/// The index of the name that `text` begins with, of whole names or their first three letters.
fn name<'t>(text: &'t [u8], names: &[&str], short: bool) -> Option<(u32, &'t [u8])> {
    let word_len = text.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let word = text.get(..word_len)?;
    for (i, name) in names.iter().enumerate() {
        let name = if short { name.get(..3)? } else { name };
        let hit = word.len() >= name.len() && word[..name.len()].eq_ignore_ascii_case(name.as_bytes());
        if hit && (short || word.len() == name.len()) {
            return Some((i as u32, &text[name.len()..]));
        }
    }
    None
}

fn read_format<'t>(text: &'t [u8], format: &[u8]) -> Option<(Read, &'t [u8])> {
    let mut read = Read::default();
    let mut rest = text;
    let mut bytes = format.iter();
    while let Some(b) = bytes.next() {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            break;
        }
        if *b == b'%'
            && let Some(spec) = bytes.next()
        {
            rest = read_field(*spec, rest, &mut read)?;
        } else if !b.is_ascii_whitespace() {
            rest = rest.strip_prefix(&[*b])?;
        }
    }
    Some((read, rest))
}

fn read_field<'t>(spec: u8, text: &'t [u8], read: &mut Read) -> Option<&'t [u8]> {
    let two_digit_year = |n: u32| if n < 70 { n + 2000 } else { n + 1900 };
    let mut into = |field: fn(&mut Read) -> &mut u32, digits: usize| {
        let (n, rest, _) = number(text, digits)?;
        *field(read) = n;
        Some(rest)
    };
    match spec {
        b'm' | b'c' => into(|r| &mut r.month, 2),
        b'd' | b'e' => into(|r| &mut r.day, 2),
        b'H' | b'k' => into(|r| &mut r.hour, 2),
        b'i' => into(|r| &mut r.minute, 2),
        b's' | b'S' => into(|r| &mut r.second, 2),
        b'Y' | b'y' => {
            let (n, rest, len) = number(text, if spec == b'Y' { 4 } else { 2 })?;
            read.year = if len <= 2 { two_digit_year(n) } else { n };
            Some(rest)
        }
        b'h' | b'I' | b'l' => {
            let (n, rest, _) = number(text, 2)?;
            if !(1..=12).contains(&n) {
                return None;
            }
            (read.hour, read.twelve_hours) = (n % 12, true);
            Some(rest)
        }
        b'D' => {
            let (n, rest, _) = number(text, 2)?;
            read.day = n;
            rest.get(2..)
        }
        b'f' => {
            let (n, rest, len) = number(text, 6)?;
            read.micros = n * 10u32.pow(6 - len as u32);
            Some(rest)
        }
        b'p' => {
            let half = text.get(..2)?;
            read.afternoon = Some(if half.eq_ignore_ascii_case(b"PM") {
                true
            } else if half.eq_ignore_ascii_case(b"AM") {
                false
            } else {
                return None;
            });
            read.twelve_hours.then_some(())?;
            text.get(2..)
        }
        b'M' | b'b' => {
            let (i, rest) = name(text, &locale::english().months, spec == b'b')?;
            read.month = i + 1;
            Some(rest)
        }
        b'W' | b'a' => {
            let (i, rest) = name(text, &locale::english().days, spec == b'a')?;
            read.weekday = Some(i + 1);
            Some(rest)
        }
        b'w' => {
            let (n, rest, _) = number(text, 1)?;
            read.weekday = Some(match n {
                0 => 7,
                1..=6 => n,
                _ => return None,
            });
            Some(rest)
        }
        b'j' => {
            let (n, rest, _) = number(text, 3)?;
            read.day_of_year = Some(n).filter(|n| (1..=366).contains(n));
            read.day_of_year?;
            Some(rest)
        }
        b'U' | b'u' | b'V' | b'v' => {
            let (n, rest, _) = number(text, 2)?;
            read.week = Some((n, spec)).filter(|_| n <= 53);
            read.week?;
            Some(rest)
        }
        b'X' | b'x' => {
            let (n, rest, _) = number(text, 4)?;
            read.week_year = Some((n, spec));
            Some(rest)
        }
        b'r' => {
            let rest = read_format_into(text, b"%I:%i:%S %p", read)?;
            Some(rest)
        }
        b'T' => read_format_into(text, b"%H:%i:%S", read),
        b'.' => Some(&text[text.iter().take_while(|b| b.is_ascii_punctuation()).count()..]),
        b'@' => Some(&text[text.iter().take_while(|b| b.is_ascii_alphabetic()).count()..]),
        b'#' => Some(&text[text.iter().take_while(|b| b.is_ascii_digit()).count()..]),
        other => text.strip_prefix(&[other]),
    }
}

fn read_format_into<'t>(text: &'t [u8], format: &[u8], read: &mut Read) -> Option<&'t [u8]> {
    let (inner, rest) = read_format(text, format)?;
    (read.hour, read.minute, read.second) = (inner.hour, inner.minute, inner.second);
    (read.afternoon, read.twelve_hours) = (inner.afternoon, inner.twelve_hours);
    Some(rest)
}

fn assemble(read: &Read, kind: TypeKind, cx: &EvalCx<'_>) -> Option<Value> {
    let hour = if read.afternoon == Some(true) { read.hour + 12 } else { read.hour };
    if hour > 23 || read.minute > 59 || read.second > 59 {
        return None;
    }
    let mut date = Date::new(read.year, read.month, read.day)?;
    if let Some(n) = read.day_of_year {
        let first = Date::new(read.year, 1, 1)?;
        date = Date::from_day_number(first.day_number() + i64::from(n) - 1);
    }
    if let (Some((week, mode)), Some(weekday)) = (read.week, read.weekday) {
        date = from_week(read, week, mode, weekday)?;
    }
    let mode = cx.env.sql_mode();
    let flags = coerce::date_flags(DateNeed::Fuzzy, cx.env);
    if kind != TypeKind::Time {
        let forbidden = ((date.year() == 0 || date.has_zero_part()) && mode & sql_mode::NO_ZERO_DATE != 0)
            || (date.has_zero_part() && mode & sql_mode::NO_ZERO_IN_DATE != 0);
        if forbidden || date.check(flags).is_err() {
            return None;
        }
    }
    let time = DateTime::new(date, hour, read.minute, read.second, read.micros)?;
    Some(match kind {
        TypeKind::Date => Value::Date(date),
        TypeKind::Time => Value::Time(time.time()),
        _ => Value::DateTime(time),
    })
}

/// The date of a weekday (1 is Monday) in a week of a year.
fn from_week(read: &Read, week: u32, mode: u8, weekday: u32) -> Option<Date> {
    let strict = matches!(mode, b'V' | b'v');
    let sunday_first = matches!(mode, b'U' | b'V');
    let year = match (strict, read.week_year) {
        (true, Some((year, _))) => year,
        (false, None) => read.year,
        _ => return None,
    };
    let first = Date::new(year, 1, 1)?;
    let start = first.day_number();
    let first_weekday = i64::from(first.weekday());
    let days = if sunday_first {
        let lead = (first_weekday + 1) % 7;
        let base = if lead == 0 { 0 } else { 7 } - lead;
        start + base + (i64::from(week) - 1) * 7 + i64::from(weekday % 7)
    } else {
        let base = if first_weekday <= 3 { 0 } else { 7 } - first_weekday;
        start + base + (i64::from(week) - 1) * 7 + i64::from(weekday) - 1
    };
    (days > 0).then(|| Date::from_day_number(days))
}

const FORMATS: &[(&str, [&str; 3])] = &[
    ("USA", ["%m.%d.%Y", "%Y-%m-%d %H.%i.%s", "%h:%i:%s %p"]),
    ("JIS", ["%Y-%m-%d", "%Y-%m-%d %H:%i:%s", "%H:%i:%s"]),
    ("ISO", ["%Y-%m-%d", "%Y-%m-%d %H:%i:%s", "%H:%i:%s"]),
    ("EUR", ["%d.%m.%Y", "%Y-%m-%d %H.%i.%s", "%H.%i.%s"]),
    ("INTERNAL", ["%Y%m%d", "%Y%m%d%H%i%s", "%H%i%s"]),
];

fn get_format(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (kind, name) = (arg!(call.text(0, cx)), arg!(call.text(1, cx)));
    let column = match kind.to_ascii_uppercase().as_slice() {
        b"DATE" => 0,
        b"DATETIME" | b"TIMESTAMP" => 1,
        _ => 2,
    };
    let found = FORMATS.iter().find(|(n, _)| name.eq_ignore_ascii_case(n.as_bytes()));
    Ok(found.map_or(Value::Null, |(_, formats)| Value::from(formats[column])))
}
