//! The calendar: day numbers, weekdays, weeks, differences.
//!
//! Days are counted as TO_DAYS does: the proleptic Gregorian calendar with day 1 at
//! 0000-01-01. Weeks follow MySQL's eight modes.

use super::{Date, DateTime, MICROS_PER_DAY, Time};

/// TO_DAYS('9999-12-31').
pub const DAY_NUMBER_MAX: i64 = 3_652_424;

pub fn is_leap_year(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

/// 0 for a month that is not 1–12.
pub fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 => 28 + is_leap_year(year) as u32,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}

fn days_in_year(year: i64) -> i64 {
    365 + is_leap_year(year.max(0) as u32) as i64
}

fn day_number_of(year: i64, month: i64, day: i64) -> i64 {
    if year == 0 && month == 0 {
        return 0;
    }
    let mut y = year;
    let mut days = 365 * y + 31 * (month - 1) + day;
    if month <= 2 {
        y -= 1;
    } else {
        days -= (month * 4 + 23) / 10;
    }
    days + y / 4 - ((y / 100 + 1) * 3) / 4
}

/// Bits of a WEEK mode after MySQL's normalization.
const MONDAY_FIRST: u32 = 1;
const WEEK_YEAR: u32 = 2;
const FIRST_WEEKDAY: u32 = 4;

impl Date {
    /// TO_DAYS: also defined, as MySQL does, for dates with zero parts.
    pub fn day_number(self) -> i64 {
        day_number_of(self.year() as i64, self.month() as i64, self.day() as i64)
    }

    /// FROM_DAYS; 0000-00-00 outside day 1 (0000-01-01) to 9999-12-31.
    pub fn from_day_number(n: i64) -> Date {
        if !(1..=DAY_NUMBER_MAX).contains(&n) {
            return Date::ZERO;
        }
        let mut year = n * 100 / 36525;
        let mut day_of_year = n - day_number_of(year, 1, 1) + 1;
        if day_of_year < 1 {
            year -= 1;
            day_of_year += days_in_year(year);
        }
        while day_of_year > days_in_year(year) {
            day_of_year -= days_in_year(year);
            year += 1;
        }
        let mut month = 1;
        while day_of_year > days_in_month(year as u32, month) as i64 {
            day_of_year -= days_in_month(year as u32, month) as i64;
            month += 1;
        }
        Date::pack(year as u32, month, day_of_year as u32)
    }

    /// 0 is Monday (WEEKDAY).
    pub fn weekday(self) -> u32 {
        weekday_of(self.day_number(), false)
    }

    /// DAYOFYEAR.
    pub fn day_of_year(self) -> i64 {
        self.day_number() - day_number_of(self.year() as i64, 1, 1) + 1
    }

    pub fn quarter(self) -> u32 {
        self.month().div_ceil(3)
    }

    /// The last day of the month; `None` for a zero month.
    pub fn last_day(self) -> Option<Date> {
        let day = days_in_month(self.year(), self.month());
        (day > 0).then(|| Date::pack(self.year(), self.month(), day))
    }

    /// WEEK(self, mode).
    pub fn week(self, mode: u32) -> u32 {
        self.week_and_year(week_bits(mode)).0
    }

    /// YEARWEEK(self, mode): 202401.
    pub fn year_week(self, mode: u32) -> u32 {
        let (week, year) = self.week_and_year(week_bits(mode) | WEEK_YEAR);
        year * 100 + week
    }

    /// The week and the year it belongs to (the year of %x and %X) in WEEK mode `mode`.
    pub fn week_of_year(self, mode: u32) -> (u32, u32) {
        self.week_and_year(week_bits(mode))
    }

    fn week_and_year(self, bits: u32) -> (u32, u32) {
        let mut year = self.year() as i64;
        let day = self.day_number();
        let mut first_day = day_number_of(year, 1, 1);
        let mut week_year = bits & WEEK_YEAR != 0;
        let first_weekday = bits & FIRST_WEEKDAY != 0;
        let mut weekday = weekday_of(first_day, bits & MONDAY_FIRST == 0) as i64;
        let starts_late = |weekday: i64| if first_weekday { weekday != 0 } else { weekday >= 4 };
        if self.month() == 1 && self.day() as i64 <= 7 - weekday {
            if !week_year && starts_late(weekday) {
                return (0, year as u32);
            }
            week_year = true;
            year -= 1;
            let days = days_in_year(year);
            first_day -= days;
            weekday = (weekday + 53 * 7 - days) % 7;
        }
        let days = if starts_late(weekday) { day - (first_day + 7 - weekday) } else { day - (first_day - weekday) };
        if week_year && days >= 52 * 7 {
            weekday = (weekday + days_in_year(year)) % 7;
            if !starts_late(weekday) {
                return (1, (year + 1) as u32);
            }
        }
        ((days / 7 + 1) as u32, year.max(0) as u32)
    }
}

fn weekday_of(day_number: i64, sunday_first: bool) -> u32 {
    ((day_number + 5 + sunday_first as i64).rem_euclid(7)) as u32
}

fn week_bits(mode: u32) -> u32 {
    let bits = mode & 7;
    if bits & MONDAY_FIRST == 0 { bits ^ FIRST_WEEKDAY } else { bits }
}

impl DateTime {
    pub(crate) fn from_parts(date: Date, micros_of_day: i64) -> DateTime {
        let seconds = (micros_of_day / 1_000_000) as u32;
        let micros = (micros_of_day % 1_000_000) as u32;
        DateTime::new(date, seconds / 3600, seconds / 60 % 60, seconds % 60, micros).unwrap_or(date.to_datetime())
    }

    /// Microseconds since day number 0.
    pub fn micros_linear(self) -> i64 {
        self.date().day_number() * MICROS_PER_DAY + self.micros_of_day()
    }

    /// The reverse of `micros_linear`; `None` outside 0000-01-01 … 9999-12-31.
    pub fn from_micros_linear(us: i64) -> Option<DateTime> {
        let day = us.div_euclid(MICROS_PER_DAY);
        (1..=DAY_NUMBER_MAX)
            .contains(&day)
            .then(|| DateTime::from_parts(Date::from_day_number(day), us.rem_euclid(MICROS_PER_DAY)))
    }

    /// `None` outside 0000-01-01 … 9999-12-31.
    pub fn add_micros(self, us: i64) -> Option<DateTime> {
        DateTime::from_micros_linear(self.micros_linear().checked_add(us)?)
    }

    /// `self - other` as a TIME, clamped to its range (TIMEDIFF).
    pub fn diff(self, other: DateTime) -> Time {
        Time::clamped(self.micros_linear() - other.micros_linear())
    }
}

impl Time {
    /// A TIME of `us` microseconds, cut at ±838:59:59.
    pub fn clamped(us: i64) -> Time {
        Time(us.clamp(Time::MIN.0, Time::MAX.0))
    }

    /// The DATETIME that is this long after midnight of `date` (CAST(time AS DATETIME) with today's date).
    pub fn on(self, date: Date) -> Option<DateTime> {
        DateTime::from_micros_linear(date.day_number() * MICROS_PER_DAY + self.micros_total())
    }
}
