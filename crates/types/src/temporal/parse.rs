//! Temporal values from text and numbers, with MySQL's relaxed syntax.
//!
//! Text for DATE and DATETIME is fields with any punctuation between them
//! ('2024-1-2 3.4.5', '2024/01/02T03:04:05.25+05:30') or digits alone ('20240102',
//! '240102030405'); a year of two digits is 1970–2069. Text for TIME is
//! `[-][D ]h:mm[:ss][.fraction]` or digits as hhmmss; text of 12 bytes or more may be
//! a DATETIME. More than six fraction digits are kept as `nanos` for rounding.
//! Which warning follows from a `Problem` is the caller's to say.

use super::calendar::days_in_month;
use super::{Date, DateTime, MICROS_PER_SECOND, TIME_MICROS_MAX, Time, TimeZone};

/// What sql_mode says about unusual dates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateFlags {
    /// NO_ZERO_DATE: '0000-00-00' is refused.
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE: '2024-00-01' is refused.
    pub no_zero_in_date: bool,
    /// ALLOW_INVALID_DATES: '2024-02-31' is taken.
    pub invalid_dates: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Not a temporal value at all.
    Malformed,
    /// '0000-00-00' under NO_ZERO_DATE.
    ZeroDate,
    /// A zero month or day under NO_ZERO_IN_DATE.
    ZeroInDate,
    /// A field beyond its range ('2024-13-01').
    OutOfRange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedDateTime {
    pub value: DateTime,
    /// What follows the microseconds, 0–900, for rounding.
    pub nanos: u32,
    /// Only a date was given.
    pub date_only: bool,
    pub fraction_digits: u8,
    /// `+hh:mm` after the value, in seconds.
    pub offset_seconds: Option<i32>,
    /// Junk followed.
    pub truncated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedTime {
    pub value: Time,
    pub nanos: u32,
    pub fraction_digits: u8,
    /// Junk followed.
    pub truncated: bool,
    /// Clamped to ±838:59:59.
    pub out_of_range: bool,
    /// The text was this date or DATETIME, whose date is dropped.
    pub from_datetime: Option<ParsedDateTime>,
}

const YEAR: usize = 0;
const DAY: usize = 2;
const SECOND: usize = 5;
const FRACTION: usize = 6;

const POW10: [u32; 7] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];

impl Date {
    /// Whether sql_mode and the calendar allow this date.
    pub fn check(self, flags: DateFlags) -> Result<(), Problem> {
        if self.is_zero() {
            return if flags.no_zero_date { Err(Problem::ZeroDate) } else { Ok(()) };
        }
        if flags.no_zero_in_date && self.has_zero_part() {
            return Err(Problem::ZeroInDate);
        }
        if !flags.invalid_dates && self.month() != 0 && self.day() > days_in_month(self.year(), self.month()) {
            return Err(Problem::OutOfRange);
        }
        Ok(())
    }
}

/// The fields of a date text, as far as they go.
struct Fields {
    values: [u32; 7],
    lens: [usize; 7],
    count: usize,
    /// Where reading ended.
    at: usize,
    delimited: bool,
    space_seen: bool,
    offset_seconds: Option<i32>,
    internal: bool,
}

pub fn parse_datetime(text: &[u8], flags: DateFlags) -> Result<ParsedDateTime, Problem> {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let text = &text[start..];
    datetime_of_fields(text, &read_fields(text)?, flags)
}

fn datetime_of_fields(text: &[u8], fields: &Fields, flags: DateFlags) -> Result<ParsedDateTime, Problem> {
    let [mut year, month, day, hour, minute, second, fraction] = fields.values;
    let not_zero = fields.values.iter().any(|v| *v != 0);
    let year_len = if fields.internal { fields.lens[YEAR] } else { fields.lens[YEAR].min(4) };
    if year_len == 2 && not_zero {
        year += if year < 70 { 2000 } else { 1900 };
    }
    let rest = &text[fields.at..];
    if fields.count < 3 || month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 || year > 9999 {
        let junk = rest.iter().any(|b| !b.is_ascii_whitespace());
        return Err(if not_zero || junk { Problem::Malformed } else { Problem::ZeroDate });
    }
    let date = Date::new(year, month, day).ok_or(Problem::OutOfRange)?;
    if not_zero {
        // A time alone does not make '0000-00-00 01:00:00' a zero date.
        let zero_part = flags.no_zero_in_date && date.has_zero_part();
        if zero_part {
            return Err(Problem::ZeroInDate);
        }
        if !date.is_zero() {
            date.check(flags)?;
        }
    } else {
        date.check(flags)?;
    }
    let digits = fields.lens[FRACTION].min(6);
    let micros = fraction * POW10[6 - digits];
    let value = DateTime::new(date, hour, minute, second, micros).ok_or(Problem::OutOfRange)?;
    let more = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let nanos = rest.first().filter(|b| b.is_ascii_digit()).map_or(0, |b| (*b - b'0') as u32 * 100);
    let truncated = rest[more..].iter().any(|b| !b.is_ascii_whitespace());
    Ok(ParsedDateTime {
        value,
        nanos: if digits == 6 { nanos } else { 0 },
        date_only: fields.count <= 3,
        fraction_digits: digits as u8,
        offset_seconds: fields.offset_seconds,
        truncated: truncated || (more > 0 && digits < 6),
    })
}

/// Fails where the text has not the form of a date or DATETIME, whatever its numbers are.
fn read_fields(text: &[u8]) -> Result<Fields, Problem> {
    if !text.first().is_some_and(u8::is_ascii_digit) {
        return Err(Problem::Malformed);
    }
    let digits = text.iter().take_while(|b| b.is_ascii_digit() || **b == b'T').count();
    let internal = matches!(text.get(digits), None | Some(b'.'));
    let mut f = Fields {
        values: [0; 7],
        lens: [0; 7],
        count: 0,
        at: 0,
        delimited: false,
        space_seen: false,
        offset_seconds: None,
        internal,
    };
    let mut width = if internal && !(digits == 4 || digits == 8 || digits >= 14) { 2 } else { 4 };
    let mut at = 0;
    while f.count < 7 && text.get(at).is_some_and(u8::is_ascii_digit) {
        let field = f.count;
        let to_delimiter = !internal && field != FRACTION;
        let start = at;
        let mut value = 0u32;
        while let Some(digit) = text.get(at).filter(|b| b.is_ascii_digit()) {
            if !to_delimiter && at - start == width {
                break;
            }
            value = value * 10 + (digit - b'0') as u32;
            if value > 999_999 {
                return Err(Problem::Malformed);
            }
            at += 1;
        }
        f.values[field] = value;
        f.lens[field] = at - start;
        f.count += 1;
        f.at = at;
        width = 2;
        let Some(next) = text.get(at) else { break };
        if field == DAY && *next == b'T' {
            at += 1;
            f.at = at;
            continue;
        }
        if field == SECOND || field == FRACTION {
            if field == SECOND && *next == b'.' {
                at += 1;
                f.at = at;
                width = 6;
                continue;
            }
            if next.is_ascii_digit() {
                break;
            }
            if matches!(next, b'+' | b'-') {
                f.offset_seconds = Some(parse_offset(&text[at..]).ok_or(Problem::Malformed)?);
                f.at = text.len();
                break;
            }
        }
        while let Some(b) = text.get(at) {
            let space = b.is_ascii_whitespace();
            if !b.is_ascii_punctuation() && !space {
                break;
            }
            // Spaces stand between day and hour, and at the end.
            if space && !matches!(field, DAY | SECOND | FRACTION) {
                return Err(Problem::Malformed);
            }
            f.space_seen |= space;
            f.delimited = true;
            at += 1;
        }
        f.at = at;
    }
    Ok(f)
}

/// `+hh:mm` from -13:59 to +14:00, in seconds; `-00:00` is refused, as MySQL does.
pub fn parse_offset(text: &[u8]) -> Option<i32> {
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = text else { return None };
    let digit = |b: &u8| b.is_ascii_digit().then(|| (*b - b'0') as i32);
    let hours = digit(h1)? * 10 + digit(h2)?;
    let minutes = digit(m1)? * 10 + digit(m2)?;
    let seconds = hours * 3600 + minutes * 60;
    if minutes > 59 || seconds > 14 * 3600 {
        return None;
    }
    match sign {
        b'-' if seconds == 0 || seconds >= 14 * 3600 => None,
        b'-' => Some(-seconds),
        _ => Some(seconds),
    }
}

pub fn parse_time(text: &[u8]) -> Result<ParsedTime, Problem> {
    let spaces = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut rest = &text[spaces..];
    let negative = rest.first() == Some(&b'-');
    if negative {
        rest = &rest[1..];
    }
    if rest.is_empty() {
        return Err(Problem::Malformed);
    }
    if rest.len() >= 12 {
        // Long enough for a DATETIME: its time of day counts, unless no space stands between date and time. What has its form is no time.
        match read_fields(rest) {
            Ok(fields) if !fields.delimited || fields.space_seen => {
                let parsed = datetime_of_fields(rest, &fields, DateFlags { invalid_dates: true, ..DateFlags::default() })?;
                if negative {
                    return Err(Problem::Malformed);
                }
                return Ok(ParsedTime {
                    value: parsed.value.time(),
                    nanos: parsed.nanos,
                    fraction_digits: parsed.fraction_digits,
                    truncated: parsed.truncated,
                    out_of_range: false,
                    from_datetime: Some(parsed),
                });
            }
            _ => {}
        }
    }
    parse_time_fields(rest, negative)
}

fn parse_time_fields(text: &[u8], negative: bool) -> Result<ParsedTime, Problem> {
    let mut at = 0;
    let mut number = || -> Result<u64, Problem> {
        let mut n = 0u64;
        while let Some(d) = text.get(at).filter(|b| b.is_ascii_digit()) {
            n = n * 10 + (d - b'0') as u64;
            if n > u32::MAX as u64 {
                return Err(Problem::OutOfRange);
            }
            at += 1;
        }
        Ok(n)
    };
    let first = number()?;
    let first_end = at;
    let spaces = text[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    at += spaces;
    let is_digit = |i: usize| text.get(i).is_some_and(u8::is_ascii_digit);
    // days, hours, minutes, seconds
    let mut fields = [0u64; 4];
    let found_days = spaces > 0 && text.len() - at > 1 && is_digit(at) && first_end > 0;
    if found_days || (text.get(at) == Some(&b':') && is_digit(at + 1)) {
        let mut field = if found_days { 0 } else { 1 };
        fields[field] = first;
        if !found_days {
            at += 1;
        }
        loop {
            field += 1;
            let mut n = 0u64;
            while let Some(d) = text.get(at).filter(|b| b.is_ascii_digit()) {
                n = n * 10 + (d - b'0') as u64;
                if n > u32::MAX as u64 {
                    return Err(Problem::OutOfRange);
                }
                at += 1;
            }
            fields[field] = n;
            if field == 3 || text.get(at) != Some(&b':') || !is_digit(at + 1) {
                break;
            }
            at += 1;
        }
    } else {
        at = first_end;
        fields = [0, first / 10_000, first / 100 % 100, first % 100];
    }
    let mut micros = 0u32;
    let mut nanos = 0;
    let mut fraction_digits = 0usize;
    if text.get(at) == Some(&b'.') && (is_digit(at + 1) || at + 1 == text.len()) {
        at += 1;
        while let Some(d) = text.get(at).filter(|b| b.is_ascii_digit()) {
            match fraction_digits {
                0..6 => micros = micros * 10 + (d - b'0') as u32,
                6 => nanos = (d - b'0') as u32 * 100,
                _ => {}
            }
            fraction_digits += 1;
            at += 1;
        }
        micros *= POW10[6 - fraction_digits.min(6)];
    }
    let exponent = matches!(text.get(at), Some(b'e' | b'E'))
        && (is_digit(at + 1) || (matches!(text.get(at + 1), Some(b'+' | b'-')) && is_digit(at + 2)));
    if exponent || at == 0 {
        return Err(Problem::Malformed);
    }
    let truncated = text[at..].iter().any(|b| !b.is_ascii_whitespace());
    let [days, hours, minutes, seconds] = fields;
    if minutes > 59 || seconds > 59 {
        return Err(Problem::OutOfRange);
    }
    let total_seconds = (days * 24 + hours) * 3600 + minutes * 60 + seconds;
    let us = total_seconds.saturating_mul(1_000_000).saturating_add(micros as u64);
    let out_of_range = us > TIME_MICROS_MAX as u64;
    if out_of_range {
        nanos = 0;
    }
    let us = us.min(TIME_MICROS_MAX as u64) as i64;
    let value = Time(if negative { -us } else { us });
    Ok(ParsedTime { value, nanos, fraction_digits: fraction_digits.min(6) as u8, truncated, out_of_range, from_datetime: None })
}

/// A DATE or DATETIME written as a number: 20240102, 240102, 20240102030405. The flag tells
/// that the number had a date only.
pub fn datetime_from_number(n: i64, flags: DateFlags) -> Result<(DateTime, bool), Problem> {
    const CENTURY_19: i64 = 19_000_000_000_000;
    const CENTURY_20: i64 = 20_000_000_000_000;
    let (full, date_only) = match n {
        0 => (0, false),
        10_000_101_000_000..=99_999_999_999_999 => (n, false),
        101..=691_231 => ((n + 20_000_000) * 1_000_000, true),
        700_101..=991_231 => ((n + 19_000_000) * 1_000_000, true),
        // MySQL takes years below 1000 here.
        991_232..=99_991_231 => (n * 1_000_000, true),
        101_000_000..=691_231_235_959 => (n + CENTURY_20, false),
        700_101_000_000..=991_231_235_959 => (n + CENTURY_19, false),
        ..0 => return Err(Problem::OutOfRange),
        _ => return Err(Problem::Malformed),
    };
    let (date, time) = ((full / 1_000_000) as u32, (full % 1_000_000) as u32);
    let date = Date::new(date / 10_000, date / 100 % 100, date % 100).ok_or(Problem::Malformed)?;
    let value = DateTime::new(date, time / 10_000, time / 100 % 100, time % 100, 0).ok_or(Problem::Malformed)?;
    // Of a number MySQL says "truncated" where it says "out of range" of a text.
    date.check(flags).map_err(|p| if p == Problem::OutOfRange { Problem::Malformed } else { p })?;
    Ok((value, date_only))
}

/// A TIME written as a number: 123456 is 12:34:56; eleven digits or more are a DATETIME. The
/// flag tells that it was clamped to ±838:59:59.
pub fn time_from_number(n: i64) -> Result<(Time, bool), Problem> {
    if n.unsigned_abs() > 8_385_959 {
        if n >= 10_000_000_000
            && let Ok((dt, _)) = datetime_from_number(n, DateFlags::default())
        {
            return Ok((dt.time(), false));
        }
        return Ok((if n < 0 { Time::MIN } else { Time::MAX }, true));
    }
    let a = n.unsigned_abs() as u32;
    Time::new(n < 0, a / 10_000, a / 100 % 100, a % 100, 0).map(|t| (t, false)).ok_or(Problem::OutOfRange)
}

impl ParsedDateTime {
    /// The value with `fsp` fraction digits, rounded, or cut under TIME_TRUNCATE_FRACTIONAL;
    /// `None` if rounding leaves year 9999.
    pub fn to_fsp(&self, fsp: u8, truncate: bool) -> Option<DateTime> {
        self.value.to_fsp(fsp, truncate, self.nanos)
    }
}

impl ParsedTime {
    /// As `ParsedDateTime::to_fsp`; rounding stops at ±838:59:59.
    pub fn to_fsp(&self, fsp: u8, truncate: bool) -> Time {
        self.value.to_fsp(fsp, truncate, self.nanos)
    }

    /// The same; of a DATETIME with an offset the time of day that it is in `zone`.
    pub fn to_fsp_in(&self, fsp: u8, truncate: bool, zone: &TimeZone) -> Time {
        let of_day = |parsed: &ParsedDateTime| {
            let utc = parsed.value.add_micros(-i64::from(parsed.offset_seconds?) * MICROS_PER_SECOND)?;
            zone.from_utc(utc).map(DateTime::time)
        };
        self.from_datetime.as_ref().and_then(of_day).unwrap_or(self.value).to_fsp(fsp, truncate, self.nanos)
    }
}

impl DateTime {
    /// The value with `fsp` fraction digits, rounded half up or cut; `nanos` (0–999) follow its
    /// microseconds. `None` if rounding leaves year 9999,
    /// or makes a second more of a date with a zero part.
    pub fn to_fsp(self, fsp: u8, truncate: bool, nanos: u32) -> Option<DateTime> {
        let unit = POW10[6 - fsp.min(6) as usize];
        let rest = self.micros() % unit;
        let floor = DateTime(self.0 - rest as u64);
        if truncate || (rest as u64 * 1000 + nanos as u64) * 2 < unit as u64 * 1000 {
            return Some(floor);
        }
        if floor.micros() + unit < 1_000_000 {
            return Some(DateTime(floor.0 + unit as u64));
        }
        if self.date().has_zero_part() {
            // MySQL adds the second to a day of the calendar, and this is none.
            return None;
        }
        floor.add_micros(unit as i64)
    }
}

impl Time {
    /// The value with `fsp` fraction digits, rounded half away from zero or cut.
    pub fn to_fsp(self, fsp: u8, truncate: bool, nanos: u32) -> Time {
        let unit = POW10[6 - fsp.min(6) as usize] as u64;
        let us = self.0.unsigned_abs();
        let rest = us % unit;
        let up = !truncate && (rest * 1000 + nanos as u64) * 2 >= unit * 1000;
        let us = (us - rest + if up { unit } else { 0 }).min(TIME_MICROS_MAX as u64) as i64;
        Time(if self.0 < 0 { -us } else { us })
    }
}
