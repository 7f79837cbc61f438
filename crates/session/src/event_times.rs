//! When an event runs next.
//!
//! Times are seconds since 1970. Times of a recurring event are counted from its STARTS on the clock of its time zone, so EVERY 1 DAY stays at the
//! same hour when clocks change: a time that is skipped is that of the change, one that comes twice the first. Times that have passed while nobody
//! looked are left out. Example: STARTS 10:00, EVERY 7 HOUR, and now it is 18:30: the next is 00:00.

use vaquita_exec::system::events::Times;
use vaquita_types::temporal::{DateTime, Interval, IntervalUnit, MICROS_PER_SECOND, TimeZone};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    At(i64),
    /// It does not run again.
    Over,
}

/// The smallest part of a unit, in months or in seconds.
pub enum Part {
    Months(i64),
    Seconds(i64),
}

pub fn part(unit: IntervalUnit) -> Option<Part> {
    Some(match unit {
        IntervalUnit::Year => Part::Months(12),
        IntervalUnit::Quarter => Part::Months(3),
        IntervalUnit::Month | IntervalUnit::YearMonth => Part::Months(1),
        IntervalUnit::Week => Part::Seconds(7 * 86_400),
        IntervalUnit::Day => Part::Seconds(86_400),
        IntervalUnit::Hour | IntervalUnit::DayHour => Part::Seconds(3600),
        IntervalUnit::Minute | IntervalUnit::DayMinute | IntervalUnit::HourMinute => Part::Seconds(60),
        IntervalUnit::Second | IntervalUnit::DaySecond | IntervalUnit::HourSecond | IntervalUnit::MinuteSecond => {
            Part::Seconds(1)
        }
        _ => return None,
    })
}

/// `executed`: when it ran last.
pub fn next(times: Times, zone: &TimeZone, executed: Option<i64>, now: i64) -> Next {
    match times {
        Times::Once(at) if executed.is_some_and(|executed| executed >= at) => Next::Over,
        Times::Once(at) => Next::At(at),
        Times::Every { ends: Some(ends), .. } if ends < now => Next::Over,
        Times::Every { starts, .. } if now < starts => Next::At(starts),
        Times::Every { count, unit, starts, ends } => {
            // What has never run is due, as in MySQL.
            if executed.is_none_or(|executed| executed < starts) {
                return Next::At(now);
            }
            match following(starts, now, (count, unit), zone) {
                Some(at) if ends.is_none_or(|ends| at <= ends) => Next::At(at),
                _ => Next::Over,
            }
        }
    }
}

/// The first time after `now` that is whole intervals behind `starts`; `None` beyond any date.
fn following(starts: i64, now: i64, (count, unit): (i64, IntervalUnit), zone: &TimeZone) -> Option<i64> {
    let (start, local_now) = (local(starts, zone)?, local(now, zone)?);
    let (unit, step, passed) = match part(unit)? {
        Part::Months(part) => {
            let months = |time: DateTime| i64::from(time.date().year()) * 12 + i64::from(time.date().month());
            (IntervalUnit::Month, count.checked_mul(part)?, months(local_now) - months(start))
        }
        Part::Seconds(part) => {
            let seconds = (local_now.unix_micros() - start.unix_micros()).div_euclid(MICROS_PER_SECOND);
            (IntervalUnit::Second, count.checked_mul(part)?, seconds)
        }
    };
    let mut steps = passed.max(0) / step;
    loop {
        let at = start.add_interval(Interval::from_int(steps.checked_mul(step)?, unit)?)?;
        let at = zone.to_utc(at)?.value.unix_micros().div_euclid(MICROS_PER_SECOND);
        if at > now {
            return Some(at);
        }
        // An hour that comes twice is passed step by step: at most 3,600 of a second.
        steps += 1;
    }
}

fn local(seconds: i64, zone: &TimeZone) -> Option<DateTime> {
    zone.from_utc(DateTime::from_unix_micros(seconds.checked_mul(MICROS_PER_SECOND)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str, zone: &TimeZone) -> i64 {
        let part = |at: std::ops::Range<usize>| text[at].parse::<u32>().expect("a number");
        let date = vaquita_types::temporal::Date::new(part(0..4), part(5..7), part(8..10)).expect("a date");
        let time = i64::from(part(11..13) * 3600 + part(14..16) * 60 + part(17..19));
        let time = Interval::from_int(time, IntervalUnit::Second).expect("an interval");
        let utc = zone.to_utc(date.to_datetime().add_interval(time).expect("a time")).expect("a time");
        utc.value.unix_micros() / MICROS_PER_SECOND
    }

    /// Zone, STARTS, EVERY, now, the next three times.
    const CASES: &[(&str, &str, i64, IntervalUnit, &str, [&str; 3])] = &[
        (
            "UTC",
            "2030-01-01 10:00:00",
            7,
            IntervalUnit::Hour,
            "2030-01-01 18:30:00",
            ["2030-01-02 00:00:00", "2030-01-02 07:00:00", "2030-01-02 14:00:00"],
        ),
        // The last day of a month that is too short; the next month has its own again.
        (
            "UTC",
            "2030-01-31 10:00:00",
            1,
            IntervalUnit::Month,
            "2030-01-31 10:00:00",
            ["2030-02-28 10:00:00", "2030-03-31 10:00:00", "2030-04-30 10:00:00"],
        ),
        (
            "UTC",
            "2028-02-29 00:00:00",
            1,
            IntervalUnit::Year,
            "2028-03-01 00:00:00",
            ["2029-02-28 00:00:00", "2030-02-28 00:00:00", "2031-02-28 00:00:00"],
        ),
        // Clocks go forward at 02:00 on 2030-03-31: there is no 02:30 on that day.
        (
            "Europe/Berlin",
            "2030-03-29 02:30:00",
            1,
            IntervalUnit::Day,
            "2030-03-29 12:00:00",
            ["2030-03-30 02:30:00", "2030-03-31 03:00:00", "2030-04-01 02:30:00"],
        ),
        // They go back at 03:00 on 2030-10-27: 02:30 comes twice, and is the first.
        (
            "Europe/Berlin",
            "2030-10-26 02:30:00",
            1,
            IntervalUnit::Day,
            "2030-10-26 12:00:00",
            ["2030-10-27 02:30:00", "2030-10-28 02:30:00", "2030-10-29 02:30:00"],
        ),
        (
            "Europe/Berlin",
            "2030-10-27 00:00:00",
            90,
            IntervalUnit::HourMinute,
            "2030-10-27 01:00:00",
            ["2030-10-27 01:30:00", "2030-10-27 03:00:00", "2030-10-27 04:30:00"],
        ),
    ];

    #[test]
    fn times_follow_the_clock_of_the_zone() {
        for (name, starts, count, unit, now, expected) in CASES {
            let zone = TimeZone::parse(name, &TimeZone::Utc).expect("a zone");
            let starts = seconds(starts, &zone);
            let times = Times::Every { count: *count, unit: *unit, starts, ends: None };
            let mut now = seconds(now, &zone);
            for expected in expected {
                let Next::At(at) = next(times, &zone, Some(starts), now) else { panic!("{name} {starts}: over") };
                assert_eq!(at, seconds(expected, &zone), "{name}: {expected}");
                now = at;
            }
        }
    }

    #[test]
    fn what_is_over_or_has_not_run() {
        let zone = TimeZone::Utc;
        let every = |ends| Times::Every { count: 10, unit: IntervalUnit::Second, starts: 1000, ends };
        assert_eq!(next(Times::Once(1000), &zone, None, 5000), Next::At(1000));
        assert_eq!(next(Times::Once(1000), &zone, Some(1000), 5000), Next::Over);
        // It has run by an earlier schedule.
        assert_eq!(next(Times::Once(6000), &zone, Some(1000), 5000), Next::At(6000));
        assert_eq!(next(every(None), &zone, None, 999), Next::At(1000));
        assert_eq!(next(every(None), &zone, None, 1234), Next::At(1234));
        assert_eq!(next(every(None), &zone, Some(1000), 1000), Next::At(1010));
        assert_eq!(next(every(Some(1010)), &zone, Some(1000), 1005), Next::At(1010));
        assert_eq!(next(every(Some(1010)), &zone, Some(1010), 1010), Next::Over);
        assert_eq!(next(every(Some(1010)), &zone, None, 1011), Next::Over);
    }
}
