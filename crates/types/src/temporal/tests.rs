//! Properties of temporal values: stored forms, calendar, parsing of anything.

use proptest::prelude::*;

use super::*;

fn datetime() -> impl Strategy<Value = DateTime> {
    (MICROS_PER_DAY..=DAY_NUMBER_MAX * MICROS_PER_DAY).prop_map(|us| DateTime::from_micros_linear(us).unwrap())
}

fn time() -> impl Strategy<Value = Time> {
    (Time::MIN.0..=Time::MAX.0).prop_map(Time)
}

proptest! {
    #[test]
    fn stored_forms_round_trip_and_keep_the_order(a in datetime(), b in datetime(), fsp in 0u8..7) {
        let (a, b) = (a.to_fsp(fsp, true, 0).unwrap(), b.to_fsp(fsp, true, 0).unwrap());
        let (mut x, mut y) = (Vec::new(), Vec::new());
        a.encode(fsp, &mut x);
        b.encode(fsp, &mut y);
        prop_assert_eq!(x.len(), DateTime::stored_len(fsp));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(DateTime::decode(&x, fsp), Some(a));
        let (mut x, mut y) = (Vec::new(), Vec::new());
        a.date().encode(&mut x);
        b.date().encode(&mut y);
        prop_assert_eq!(x.cmp(&y), a.date().cmp(&b.date()));
        prop_assert_eq!(Date::decode(&x), Some(a.date()));
    }

    #[test]
    fn times_round_trip_and_keep_the_order(a in time(), b in time(), fsp in 0u8..7) {
        let (a, b) = (a.to_fsp(fsp, true, 0), b.to_fsp(fsp, true, 0));
        let (mut x, mut y) = (Vec::new(), Vec::new());
        a.encode(fsp, &mut x);
        b.encode(fsp, &mut y);
        prop_assert_eq!(x.len(), Time::stored_len(fsp));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(Time::decode(&x, fsp), Some(a));
    }

    #[test]
    fn timestamps_round_trip(seconds in 1i64..=i32::MAX as i64, micros in 0i64..1_000_000, fsp in 0u8..7) {
        let utc = DateTime::from_unix_micros(seconds * MICROS_PER_SECOND + micros).unwrap().to_fsp(fsp, true, 0).unwrap();
        let mut x = Vec::new();
        utc.encode_timestamp(fsp, &mut x).unwrap();
        prop_assert_eq!(x.len(), DateTime::timestamp_stored_len(fsp));
        prop_assert_eq!(DateTime::decode_timestamp(&x, fsp), Some(utc));
        for name in ["Europe/Berlin", "America/New_York", "Asia/Kolkata"] {
            let zone = TimeZone::parse(name, &TimeZone::Utc).unwrap();
            let local = zone.timestamp_from_utc(utc);
            let back = zone.to_utc(local).unwrap();
            prop_assert!(!back.in_gap);
            // A local time that occurs twice comes back as the first.
            prop_assert!(back.value == utc || zone.from_utc(back.value) == Some(local));
        }
    }

    #[test]
    fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..10), fsp in 0u8..7) {
        let _ = (Date::decode(&bytes), DateTime::decode(&bytes, fsp), Time::decode(&bytes, fsp), DateTime::decode_timestamp(&bytes, fsp));
    }

    #[test]
    fn text_round_trips(dt in datetime(), t in time()) {
        let parsed = parse_datetime(dt.to_string().as_bytes(), DateFlags::default()).unwrap();
        prop_assert_eq!(parsed.value, dt);
        prop_assert!(!parsed.truncated);
        prop_assert_eq!(parse_time(t.to_string().as_bytes()).unwrap().value, t);
    }

    #[test]
    fn parsing_never_panics(text in "[-+0-9:. /T@]{0,40}", n in any::<i64>()) {
        let _ = (parse_datetime(text.as_bytes(), DateFlags::default()), parse_time(text.as_bytes()));
        let _ = (datetime_from_number(n, DateFlags::default()), time_from_number(n));
        let _ = Interval::parse(text.as_bytes(), IntervalUnit::DayMicrosecond);
    }

    #[test]
    fn day_numbers_round_trip(n in 1i64..=DAY_NUMBER_MAX) {
        let date = Date::from_day_number(n);
        prop_assert_eq!(date.day_number(), n);
        let flags = DateFlags { no_zero_date: true, no_zero_in_date: true, invalid_dates: false };
        prop_assert_eq!(date.check(flags), Ok(()));
    }
}

#[test]
fn clock_changes() {
    let zone = TimeZone::parse("America/New_York", &TimeZone::Utc).unwrap();
    let local = |s: &str| parse_datetime(s.as_bytes(), DateFlags::default()).unwrap().value;
    let gap = zone.to_utc(local("2024-03-10 02:30:00")).unwrap();
    assert!(gap.in_gap);
    assert_eq!(gap.value, local("2024-03-10 07:00:00"));
    let fold = zone.to_utc(local("2024-11-03 01:30:00")).unwrap();
    assert!(!fold.in_gap);
    assert_eq!(fold.value, local("2024-11-03 05:30:00"));
    assert_eq!(TimeZone::parse("+05:30", &TimeZone::Utc), Some(TimeZone::Fixed(19800)));
    assert_eq!(TimeZone::Fixed(-5400).name(), "-01:30");
    assert_eq!(TimeZone::parse("Nowhere/Town", &TimeZone::Utc), None);
}
