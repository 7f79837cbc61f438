//! INTERVAL values: all MySQL units, adding them, and TIMESTAMPDIFF.

use super::calendar::{DAY_NUMBER_MAX, days_in_month};
use super::{Date, DateTime, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::decimal::Decimal;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Microsecond,
    YearMonth,
    DayHour,
    DayMinute,
    DaySecond,
    HourMinute,
    HourSecond,
    MinuteSecond,
    DayMicrosecond,
    HourMicrosecond,
    MinuteMicrosecond,
    SecondMicrosecond,
}

impl IntervalUnit {
    /// From the SQL keyword, any case.
    pub fn from_keyword(word: &str) -> Option<IntervalUnit> {
        use IntervalUnit::*;
        let all = [
            Year,
            Quarter,
            Month,
            Week,
            Day,
            Hour,
            Minute,
            Second,
            Microsecond,
            YearMonth,
            DayHour,
            DayMinute,
            DaySecond,
            HourMinute,
            HourSecond,
            MinuteSecond,
            DayMicrosecond,
            HourMicrosecond,
            MinuteMicrosecond,
            SecondMicrosecond,
        ];
        all.into_iter().find(|u| u.keyword().eq_ignore_ascii_case(word))
    }

    pub fn keyword(self) -> &'static str {
        use IntervalUnit::*;
        match self {
            Year => "YEAR",
            Quarter => "QUARTER",
            Month => "MONTH",
            Week => "WEEK",
            Day => "DAY",
            Hour => "HOUR",
            Minute => "MINUTE",
            Second => "SECOND",
            Microsecond => "MICROSECOND",
            YearMonth => "YEAR_MONTH",
            DayHour => "DAY_HOUR",
            DayMinute => "DAY_MINUTE",
            DaySecond => "DAY_SECOND",
            HourMinute => "HOUR_MINUTE",
            HourSecond => "HOUR_SECOND",
            MinuteSecond => "MINUTE_SECOND",
            DayMicrosecond => "DAY_MICROSECOND",
            HourMicrosecond => "HOUR_MICROSECOND",
            MinuteMicrosecond => "MINUTE_MICROSECOND",
            SecondMicrosecond => "SECOND_MICROSECOND",
        }
    }

    /// The unit changes or needs the time of day, so that a DATE becomes a DATETIME.
    pub fn has_time(self) -> bool {
        use IntervalUnit::*;
        !matches!(self, Year | Quarter | Month | Week | Day | YearMonth)
    }

    /// The unit is given as text with several numbers, not as one number.
    pub fn is_composite(self) -> bool {
        self.keyword().contains('_')
    }

    /// The unit has microseconds.
    pub fn has_micros(self) -> bool {
        self.keyword().ends_with("MICROSECOND")
    }
}

/// An amount, in the only three parts that matter for adding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    months: i64,
    days: i64,
    micros: i64,
}

/// Longest fraction or field that MySQL reads of a composite text.
const FIELD_DIGITS_MAX: usize = 20;

impl Interval {
    /// `n` units of a single unit; `None` if it is beyond any date.
    pub fn from_int(n: i64, unit: IntervalUnit) -> Option<Interval> {
        Interval::from_fields(&[n.checked_abs()? as u64], unit, n < 0)
    }

    pub fn is_negative(self) -> bool {
        self.months < 0 || self.days < 0 || self.micros < 0
    }

    /// An amount with a fraction: seconds keep six digits, other units round.
    pub fn from_decimal(d: &Decimal, unit: IntervalUnit) -> Option<Interval> {
        if unit != IntervalUnit::Second {
            let (n, clamped) = d.to_i64();
            return if clamped { None } else { Interval::from_int(n, unit) };
        }
        // Digits behind the microseconds are cut.
        let (us, clamped) = d.mul(&Decimal::from(MICROS_PER_SECOND))?.truncate(0).to_i64();
        (!clamped).then_some(Interval { months: 0, days: 0, micros: us })
    }

    /// The text of a composite unit ('1 12:30' DAY_MINUTE): numbers with anything between them;
    /// if there are too few they are the rightmost ones. `None` if it does not fit the unit.
    pub fn parse(text: &[u8], unit: IntervalUnit) -> Option<Interval> {
        let fields = composite_fields(unit);
        if fields == 1 {
            let number = Decimal::parse(text).value;
            // A text is read as an integer, so that its fraction is cut, except for seconds.
            let number = if unit == IntervalUnit::Second { number } else { number.truncate(0) };
            return Interval::from_decimal(&number, unit);
        }
        let spaces = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let mut rest = &text[spaces..];
        let negative = rest.first() == Some(&b'-');
        let mut values: Vec<u64> = Vec::with_capacity(fields);
        let mut last_len = 0;
        while values.len() < fields {
            let skip = rest.iter().take_while(|b| !b.is_ascii_digit()).count();
            rest = &rest[skip..];
            if rest.is_empty() {
                break;
            }
            last_len = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            if last_len > FIELD_DIGITS_MAX {
                return None;
            }
            let value = rest[..last_len].iter().try_fold(0i64, |n, d| n.checked_mul(10)?.checked_add((d - b'0') as i64))?;
            values.push(value as u64);
            rest = &rest[last_len..];
        }
        if rest.iter().any(u8::is_ascii_digit) {
            return None;
        }
        if unit.has_micros() {
            let last = values.last_mut();
            match (last, last_len) {
                (Some(v), 1..=5) => *v *= 10u64.pow(6 - last_len as u32),
                (_, 7..) => return None,
                _ => {}
            }
        }
        let missing = fields - values.len();
        values.splice(0..0, std::iter::repeat_n(0, missing));
        Interval::from_fields(&values, unit, negative)
    }

    fn from_fields(v: &[u64], unit: IntervalUnit, negative: bool) -> Option<Interval> {
        use IntervalUnit::*;
        let at = |i: usize| i64::try_from(v.get(i).copied().unwrap_or(0)).ok();
        // days, hours, minutes, seconds, microseconds
        let time = |d: i64, h: i64, m: i64, s: i64, us: i64| {
            let seconds = h.checked_mul(3600)?.checked_add(m.checked_mul(60)?)?.checked_add(s)?;
            let days = d.checked_add(seconds / 86_400)?;
            // Any amount of microseconds alone fits; whole days are split off first.
            let days = days.checked_add(us / MICROS_PER_DAY)?;
            Some(Interval { months: 0, days, micros: seconds % 86_400 * MICROS_PER_SECOND + us % MICROS_PER_DAY })
        };
        let months = |n: i64| Some(Interval { months: n, days: 0, micros: 0 });
        let mut interval = match unit {
            Year => months(at(0)?.checked_mul(12)?)?,
            Quarter => months(at(0)?.checked_mul(3)?)?,
            Month => months(at(0)?)?,
            YearMonth => months(at(0)?.checked_mul(12)?.checked_add(at(1)?)?)?,
            Week => Interval { months: 0, days: at(0)?.checked_mul(7)?, micros: 0 },
            Day => Interval { months: 0, days: at(0)?, micros: 0 },
            Hour => time(0, at(0)?, 0, 0, 0)?,
            Minute => time(0, 0, at(0)?, 0, 0)?,
            Second => time(0, 0, 0, at(0)?, 0)?,
            Microsecond => time(0, 0, 0, 0, at(0)?)?,
            DayHour => time(at(0)?, at(1)?, 0, 0, 0)?,
            DayMinute => time(at(0)?, at(1)?, at(2)?, 0, 0)?,
            DaySecond => time(at(0)?, at(1)?, at(2)?, at(3)?, 0)?,
            HourMinute => time(0, at(0)?, at(1)?, 0, 0)?,
            HourSecond => time(0, at(0)?, at(1)?, at(2)?, 0)?,
            MinuteSecond => time(0, 0, at(0)?, at(1)?, 0)?,
            DayMicrosecond => time(at(0)?, at(1)?, at(2)?, at(3)?, at(4)?)?,
            HourMicrosecond => time(0, at(0)?, at(1)?, at(2)?, at(3)?)?,
            MinuteMicrosecond => time(0, 0, at(0)?, at(1)?, at(2)?)?,
            SecondMicrosecond => time(0, 0, 0, at(0)?, at(1)?)?,
        };
        if negative {
            interval = -interval;
        }
        Some(interval)
    }

    pub fn months(self) -> i64 {
        self.months
    }

    /// The part in days and microseconds; months are not in it.
    pub fn micros_total(self) -> Option<i64> {
        self.days.checked_mul(MICROS_PER_DAY)?.checked_add(self.micros)
    }
}

impl std::ops::Neg for Interval {
    type Output = Interval;

    fn neg(self) -> Interval {
        Interval { months: -self.months, days: -self.days, micros: -self.micros }
    }
}

fn composite_fields(unit: IntervalUnit) -> usize {
    use IntervalUnit::*;
    match unit {
        YearMonth | DayHour | HourMinute | MinuteSecond | SecondMicrosecond => 2,
        DayMinute | HourSecond | MinuteMicrosecond => 3,
        DaySecond | HourMicrosecond => 4,
        DayMicrosecond => 5,
        _ => 1,
    }
}

impl DateTime {
    /// DATE_ADD; `None` (NULL with warning 1441) outside 0000-01-01 … 9999-12-31.
    pub fn add_interval(self, interval: Interval) -> Option<DateTime> {
        let date = self.date();
        if interval.months != 0 {
            let months = (date.year() * 12 + date.month().max(1) - 1) as i64;
            let months = months.checked_add(interval.months).filter(|m| (0..120_000).contains(m))?;
            let (year, month) = ((months / 12) as u32, (months % 12) as u32 + 1);
            let day = date.day().min(days_in_month(year, month));
            return Some(DateTime::from_parts(Date::new(year, month, day)?, self.micros_of_day()));
        }
        let us = self.micros_of_day().checked_add(interval.micros)?;
        let days = date.day_number().checked_add(interval.days)?.checked_add(us.div_euclid(MICROS_PER_DAY))?;
        if !(1..=DAY_NUMBER_MAX).contains(&days) {
            return None;
        }
        Some(DateTime::from_parts(Date::from_day_number(days), us.rem_euclid(MICROS_PER_DAY)))
    }

    /// TIMESTAMPDIFF(unit, self, to): whole units from `self` to `to`.
    pub fn units_until(self, to: DateTime, unit: IntervalUnit) -> i64 {
        use IntervalUnit::*;
        let us = to.micros_linear() - self.micros_linear();
        match unit {
            Year | Quarter | Month | YearMonth => {
                let (from, until, sign) = if us >= 0 { (self, to, 1) } else { (to, self, -1) };
                let month_of = |d: DateTime| (d.year() * 12 + d.month()) as i64;
                let within = |d: DateTime| d.day() as i64 * MICROS_PER_DAY + d.micros_of_day();
                let months = month_of(until) - month_of(from) - (within(until) < within(from)) as i64;
                sign * match unit {
                    Year => months / 12,
                    Quarter => months / 3,
                    _ => months,
                }
            }
            Week => us / (7 * MICROS_PER_DAY),
            Day => us / MICROS_PER_DAY,
            Hour => us / (3600 * MICROS_PER_SECOND),
            Minute => us / (60 * MICROS_PER_SECOND),
            Second => us / MICROS_PER_SECOND,
            _ => us,
        }
    }
}
