//! MySQL's DATE, DATETIME/TIMESTAMP and TIME values.
//!
//! Each is one integer whose order is the temporal order, so that comparing, hashing
//! and sorting are integer operations and a value is copied in a register:
//!
//! | type       | layout, from the highest bit                                          |
//! |------------|-----------------------------------------------------------------------|
//! | `Date`     | year 14, month 4, day 5 (u32)                                         |
//! | `DateTime` | year 14, month 4, day 5, hour 5, minute 6, second 6, microsecond 20   |
//! | `Time`     | signed microseconds                                                   |
//!
//! Zero dates ('0000-00-00') and dates with a zero month or day are representable,
//! because sql_mode may allow them. `parse` reads text and numbers, `calendar` knows
//! days and weeks, `interval` adds and subtracts, `zone` knows time zones, `encode`
//! the stored forms. A value knows neither its declared precision nor a time zone.

mod calendar;
mod encode;
mod interval;
mod parse;
mod zone;

pub use calendar::{DAY_NUMBER_MAX, days_in_month, is_leap_year};
pub use encode::fraction_len;
pub use interval::{Interval, IntervalUnit};
pub use parse::{
    DateFlags, ParsedDateTime, ParsedTime, Problem, datetime_from_number, parse_datetime, parse_offset, parse_time,
    time_from_number,
};
pub use zone::{TIMESTAMP_MICROS_MAX, TimeZone, ToUtc, UNIX_MICROS_MAX};

/// A calendar date, 0000-00-00 to 9999-12-31.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date(u32);

/// A date with a time of day, to the microsecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DateTime(u64);

/// A signed span of time, ±838:59:59.999999, in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(i64);

pub const MICROS_PER_SECOND: i64 = 1_000_000;
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// The largest TIME, 838:59:59.000000: what out-of-range values are clamped to.
pub const TIME_MICROS_MAX: i64 = (838 * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND;

impl Date {
    pub const ZERO: Date = Date(0);
    pub const MAX: Date = Date::pack(9999, 12, 31);

    const fn pack(year: u32, month: u32, day: u32) -> Date {
        Date(year << 9 | month << 5 | day)
    }

    /// A date whose fields are in range (zero is in range for each); days are not checked against the month.
    pub fn new(year: u32, month: u32, day: u32) -> Option<Date> {
        (year <= 9999 && month <= 12 && day <= 31).then(|| Date::pack(year, month, day))
    }

    pub fn year(self) -> u32 {
        self.0 >> 9
    }

    pub fn month(self) -> u32 {
        self.0 >> 5 & 15
    }

    pub fn day(self) -> u32 {
        self.0 & 31
    }

    /// '0000-00-00'.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Month or day is zero ('2024-00-10', '0000-00-00').
    pub fn has_zero_part(self) -> bool {
        self.month() == 0 || self.day() == 0
    }

    pub fn to_datetime(self) -> DateTime {
        DateTime((self.0 as u64) << 37)
    }

    /// As a number: 20240131.
    pub fn to_number(self) -> u32 {
        self.year() * 10_000 + self.month() * 100 + self.day()
    }
}

impl DateTime {
    pub const ZERO: DateTime = DateTime(0);

    /// A value whose fields are in range; days are not checked against the month.
    pub fn new(date: Date, hour: u32, minute: u32, second: u32, micros: u32) -> Option<DateTime> {
        (hour < 24 && minute < 60 && second < 60 && micros < 1_000_000).then(|| {
            let tod = (hour as u64) << 32 | (minute as u64) << 26 | (second as u64) << 20 | micros as u64;
            DateTime((date.0 as u64) << 37 | tod)
        })
    }

    pub fn date(self) -> Date {
        Date((self.0 >> 37) as u32)
    }

    pub fn year(self) -> u32 {
        self.date().year()
    }

    pub fn month(self) -> u32 {
        self.date().month()
    }

    pub fn day(self) -> u32 {
        self.date().day()
    }

    pub fn hour(self) -> u32 {
        (self.0 >> 32 & 31) as u32
    }

    pub fn minute(self) -> u32 {
        (self.0 >> 26 & 63) as u32
    }

    pub fn second(self) -> u32 {
        (self.0 >> 20 & 63) as u32
    }

    pub fn micros(self) -> u32 {
        (self.0 & 0xF_FFFF) as u32
    }

    /// '0000-00-00 00:00:00'.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The time of day.
    pub fn time(self) -> Time {
        Time(self.micros_of_day())
    }

    pub(crate) fn micros_of_day(self) -> i64 {
        let seconds = self.hour() * 3600 + self.minute() * 60 + self.second();
        seconds as i64 * MICROS_PER_SECOND + self.micros() as i64
    }

    /// As a number without its fraction: 20240131235959.
    pub fn to_number(self) -> u64 {
        self.date().to_number() as u64 * 1_000_000 + (self.hour() * 10_000 + self.minute() * 100 + self.second()) as u64
    }
}

impl Time {
    pub const ZERO: Time = Time(0);
    pub const MAX: Time = Time(TIME_MICROS_MAX);
    pub const MIN: Time = Time(-TIME_MICROS_MAX);

    /// A value from its fields; `None` beyond 838:59:59.999999.
    pub fn new(negative: bool, hour: u32, minute: u32, second: u32, micros: u32) -> Option<Time> {
        if hour > 838 || minute > 59 || second > 59 || micros > 999_999 {
            return None;
        }
        let us = (hour * 3600 + minute * 60 + second) as i64 * MICROS_PER_SECOND + micros as i64;
        Time::from_micros(if negative { -us } else { us })
    }

    pub fn from_micros(us: i64) -> Option<Time> {
        (us.abs() < TIME_MICROS_MAX + MICROS_PER_SECOND).then_some(Time(us))
    }

    pub fn micros_total(self) -> i64 {
        self.0
    }

    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    pub fn hour(self) -> u32 {
        (self.0.unsigned_abs() / 3_600_000_000) as u32
    }

    pub fn minute(self) -> u32 {
        (self.0.unsigned_abs() / 60_000_000 % 60) as u32
    }

    pub fn second(self) -> u32 {
        (self.0.unsigned_abs() / 1_000_000 % 60) as u32
    }

    /// The microseconds after the second, without sign.
    pub fn micros(self) -> u32 {
        (self.0.unsigned_abs() % 1_000_000) as u32
    }

    /// As a number without its fraction: -8385959.
    pub fn to_number(self) -> i64 {
        let n = (self.hour() * 10_000 + self.minute() * 100 + self.second()) as i64;
        if self.is_negative() { -n } else { n }
    }
}

impl DateTime {
    /// `YYYY-MM-DD hh:mm:ss[.ffffff]` with `fsp` digits (0–6), cut, not rounded.
    pub fn write_text(self, out: &mut Vec<u8>, fsp: u8) {
        self.date().write_text(out);
        out.push(b' ');
        write_2(out, self.hour());
        out.push(b':');
        write_2(out, self.minute());
        out.push(b':');
        write_2(out, self.second());
        write_fraction(out, self.micros(), fsp);
    }
}

impl Date {
    /// `YYYY-MM-DD`.
    pub fn write_text(self, out: &mut Vec<u8>) {
        write_2(out, self.year() / 100);
        write_2(out, self.year() % 100);
        out.push(b'-');
        write_2(out, self.month());
        out.push(b'-');
        write_2(out, self.day());
    }
}

impl Time {
    /// `[-]hh:mm:ss[.ffffff]` with `fsp` digits (0–6), cut, not rounded; hours may have three digits.
    pub fn write_text(self, out: &mut Vec<u8>, fsp: u8) {
        if self.is_negative() {
            out.push(b'-');
        }
        let hour = self.hour();
        if hour >= 100 {
            out.push(b'0' + (hour / 100) as u8);
        }
        write_2(out, hour % 100);
        out.push(b':');
        write_2(out, self.minute());
        out.push(b':');
        write_2(out, self.second());
        write_fraction(out, self.micros(), fsp);
    }
}

fn write_2(out: &mut Vec<u8>, n: u32) {
    out.extend_from_slice(&[b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8]);
}

fn write_fraction(out: &mut Vec<u8>, micros: u32, fsp: u8) {
    if fsp == 0 {
        return;
    }
    out.push(b'.');
    let mut divisor = 100_000;
    for _ in 0..fsp.min(6) {
        out.push(b'0' + (micros / divisor % 10) as u8);
        divisor /= 10;
    }
}

fn show(f: &mut std::fmt::Formatter<'_>, text: &[u8]) -> std::fmt::Result {
    f.write_str(std::str::from_utf8(text).unwrap_or(""))
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::with_capacity(10);
        self.write_text(&mut out);
        show(f, &out)
    }
}

/// With six fractional digits, or none if they are all zero.
impl std::fmt::Display for DateTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::with_capacity(26);
        self.write_text(&mut out, if self.micros() == 0 { 0 } else { 6 });
        show(f, &out)
    }
}

/// With six fractional digits, or none if they are all zero.
impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::with_capacity(17);
        self.write_text(&mut out, if self.micros() == 0 { 0 } else { 6 });
        show(f, &out)
    }
}

impl std::fmt::Debug for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Debug for DateTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Debug for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
