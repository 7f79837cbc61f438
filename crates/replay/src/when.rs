//! Times as they stand in logs, as microseconds since 1970.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// `2026-11-27T09:00:00.123456Z`, or with an offset as `+01:00`.
pub fn iso(text: &str) -> Option<u64> {
    if !text.contains('T') {
        return None;
    }
    u64::try_from(text.parse::<Timestamp>().ok()?.as_microsecond()).ok()
}

/// `261127  9:00:00`, as MariaDB writes it: in the server's zone, which the log does not have.
pub fn short(date: &str, clock: &str) -> Option<u64> {
    let part = |text: &str, from: usize, to: usize| text.get(from..to)?.parse::<i16>().ok();
    let mut clock = clock.trim().splitn(3, ':').map(|part| part.parse::<i8>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if date.len() != 6 {
        return None;
    }
    let (year, month, day) = (part(date, 0, 2)?, part(date, 2, 4)?, part(date, 4, 6)?);
    let local = DateTime::new(2000 + year, i8::try_from(month).ok()?, i8::try_from(day).ok()?, hour, minute, second, 0).ok()?;
    u64::try_from(local.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_servers_are_read() {
        const NOON: u64 = 1_795_780_800_000_000;
        assert_eq!(iso("2026-11-27T12:00:00.000007Z"), Some(NOON + 7));
        assert_eq!(iso("2026-11-27T13:30:00.5+01:30"), Some(NOON + 500_000));
        assert_eq!(iso("2026-11-27T07:00:00.000000-05:00"), Some(NOON));
        assert_eq!(short("261127", "12:00:00"), Some(NOON));
        assert_eq!(short("261127", " 9:00:00"), Some(NOON - 3 * 3_600_000_000));
        for wrong in ["2026-13-27T12:00:00.0Z", "2026-11-27 12:00:00Z", "2026-11-27T12:00", "x", ""] {
            assert_eq!(iso(wrong), None, "{wrong}");
        }
        assert_eq!([short("26112", "1:1:1"), short("26é127", "1:1:1"), short("261127", "25:00:00")], [None; 3]);
    }
}
