//! Time zones: SYSTEM, fixed offsets and named zones, and UNIX timestamps.
//!
//! Named zones come from the IANA database that `jiff` carries, so no table has to be
//! loaded. A local time that a clock change skips becomes the moment of the change,
//! with a flag that strict mode turns into an error; one that occurs twice is the first.

use jiff::civil;

use super::calendar::days_in_month;
use super::parse::parse_offset;
use super::{DateTime, MICROS_PER_DAY, MICROS_PER_SECOND};

/// TO_DAYS('1970-01-01').
const UNIX_EPOCH_DAY: i64 = 719_528;

/// 2038-01-19 03:14:07.999999 UTC, the last value of a TIMESTAMP column.
pub const TIMESTAMP_MICROS_MAX: i64 = i32::MAX as i64 * MICROS_PER_SECOND + 999_999;

/// 3001-01-18 23:59:59.999999 UTC, the last value of UNIX_TIMESTAMP and FROM_UNIXTIME.
pub const UNIX_MICROS_MAX: i64 = 32_536_771_199 * MICROS_PER_SECOND + 999_999;

impl DateTime {
    /// Microseconds since 1970-01-01 00:00:00, taking `self` as UTC.
    pub fn unix_micros(self) -> i64 {
        self.micros_linear() - UNIX_EPOCH_DAY * MICROS_PER_DAY
    }

    /// The UTC value of `us` microseconds since 1970.
    pub fn from_unix_micros(us: i64) -> Option<DateTime> {
        DateTime::from_micros_linear(us.checked_add(UNIX_EPOCH_DAY * MICROS_PER_DAY)?)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum TimeZone {
    Utc,
    /// Seconds east of UTC; `+05:30` is 19800.
    Fixed(i32),
    /// The zone of the machine, shown as SYSTEM.
    System(jiff::tz::TimeZone),
    Named(jiff::tz::TimeZone),
}

/// A local time brought to UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToUtc {
    pub value: DateTime,
    /// The local time does not exist (a clock change skips it); `value` is the change.
    pub in_gap: bool,
    /// The local time occurs twice (a clock change repeats it); `value` is the first.
    pub repeated: bool,
}

impl TimeZone {
    /// From the value of `time_zone`: `SYSTEM`, `+05:30` or a zone's name. SYSTEM is `system`.
    pub fn parse(name: &str, system: &TimeZone) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("SYSTEM") {
            return Some(system.clone());
        }
        if name.eq_ignore_ascii_case("UTC") {
            return Some(TimeZone::Utc);
        }
        if matches!(name.as_bytes().first(), Some(b'+' | b'-')) {
            return parse_short_offset(name.as_bytes()).map(TimeZone::Fixed);
        }
        // MySQL has no zone whose name it could not have read from the database's files.
        jiff::tz::db().get(name).ok().map(TimeZone::Named)
    }

    /// The names that `parse` finds, beside SYSTEM and offsets.
    pub fn names() -> Vec<String> {
        let mut names: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
        names.sort();
        names
    }

    /// SYSTEM for the zone named `name` (from `TZ` or the machine's settings).
    pub fn system(name: &str) -> TimeZone {
        TimeZone::System(jiff::tz::db().get(name).unwrap_or(jiff::tz::TimeZone::UTC))
    }

    /// What `@@time_zone` shows.
    pub fn name(&self) -> String {
        match self {
            TimeZone::Utc => "UTC".to_string(),
            TimeZone::System(_) => "SYSTEM".to_string(),
            TimeZone::Named(zone) => zone.iana_name().unwrap_or("UTC").to_string(),
            TimeZone::Fixed(seconds) => {
                let (sign, a) = if *seconds < 0 { ('-', -seconds) } else { ('+', *seconds) };
                format!("{sign}{:02}:{:02}", a / 3600, a / 60 % 60)
            }
        }
    }

    /// Local time to UTC; `None` if the result leaves years 1–9999. A time that occurs twice
    /// is the earlier one, as in MySQL.
    pub fn to_utc(&self, local: DateTime) -> Option<ToUtc> {
        let at = |value: DateTime| Some(ToUtc { value, in_gap: false, repeated: false });
        let zone = match self {
            TimeZone::Utc => return at(local),
            TimeZone::Fixed(seconds) => return at(local.add_micros(-(*seconds as i64) * MICROS_PER_SECOND)?),
            TimeZone::System(zone) | TimeZone::Named(zone) => zone,
        };
        let shifted = |offset: jiff::tz::Offset| local.add_micros(-(offset.seconds() as i64) * MICROS_PER_SECOND);
        match zone.to_ambiguous_timestamp(to_civil(local)?).offset() {
            jiff::tz::AmbiguousOffset::Unambiguous { offset } => at(shifted(offset)?),
            jiff::tz::AmbiguousOffset::Fold { before, .. } => {
                Some(ToUtc { value: shifted(before)?, in_gap: false, repeated: true })
            }
            jiff::tz::AmbiguousOffset::Gap { after, .. } => {
                // The time read with the new offset lies before the change; the next one is it.
                let before = jiff::Timestamp::from_microsecond(shifted(after)?.unix_micros()).ok()?;
                let change = zone.following(before).next()?.timestamp();
                Some(ToUtc { value: DateTime::from_unix_micros(change.as_microsecond())?, in_gap: true, repeated: false })
            }
        }
    }

    /// UTC to local time; `None` if the result leaves years 1–9999.
    pub fn from_utc(&self, utc: DateTime) -> Option<DateTime> {
        let seconds = match self {
            TimeZone::Utc => return Some(utc),
            TimeZone::Fixed(seconds) => *seconds,
            TimeZone::System(zone) | TimeZone::Named(zone) => {
                zone.to_offset(jiff::Timestamp::from_microsecond(utc.unix_micros()).ok()?).seconds()
            }
        };
        utc.add_micros(seconds as i64 * MICROS_PER_SECOND)
    }

    /// A stored TIMESTAMP as the session sees it; the zero value has no zone.
    pub fn timestamp_from_utc(&self, utc: DateTime) -> DateTime {
        if utc.is_zero() { utc } else { self.from_utc(utc).unwrap_or(DateTime::ZERO) }
    }

    /// A TIMESTAMP as the session sees it, as it is stored; `None` outside the column's range.
    pub fn timestamp_to_utc(&self, local: DateTime) -> Option<ToUtc> {
        if local.is_zero() {
            return Some(ToUtc { value: local, in_gap: false, repeated: false });
        }
        let date = local.date();
        if date.has_zero_part() || date.day() > days_in_month(date.year(), date.month()) {
            return None;
        }
        let utc = self.to_utc(local)?;
        (MICROS_PER_SECOND..=TIMESTAMP_MICROS_MAX).contains(&utc.value.unix_micros()).then_some(utc)
    }
}

/// `+5:30` is as good as `+05:30` for `time_zone`.
fn parse_short_offset(text: &[u8]) -> Option<i32> {
    let long = match text {
        [sign, h, b':', m] => [*sign, b'0', *h, b':', b'0', *m],
        [sign, h, b':', m1, m2] => [*sign, b'0', *h, b':', *m1, *m2],
        [sign, h1, h2, b':', m] => [*sign, *h1, *h2, b':', b'0', *m],
        _ => text.try_into().ok()?,
    };
    if long == *b"-00:00" { Some(0) } else { parse_offset(&long) }
}

fn to_civil(dt: DateTime) -> Option<civil::DateTime> {
    civil::DateTime::new(
        dt.year() as i16,
        dt.month() as i8,
        dt.day() as i8,
        dt.hour() as i8,
        dt.minute() as i8,
        dt.second() as i8,
        dt.micros() as i32 * 1000,
    )
    .ok()
}
