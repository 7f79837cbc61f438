//! Waiting until something is applied: WAIT_FOR_EXECUTED_GTID_SET and SOURCE_POS_WAIT.
//!
//! The caller tells the pool that it blocks. `goes_on` says whether nobody has ended the waiting; it is asked every `LOOK_MS`.

use std::time::{Duration, Instant};

use vaquita_types::gtid::GtidSet;

use super::{Channel, Channels};

/// Between two looks at the interrupt of a session that waits, and at whether the applier still runs.
const LOOK_MS: u64 = 20;

/// Whether all of the set are executed, at the latest at `until`. `executed` tells what is: clients' transactions count, too, whom nobody hears
/// of, so it is asked at each look.
pub(crate) fn wait_for_gtids(
    channels: &Channels,
    executed: &dyn Fn() -> GtidSet,
    set: &GtidSet,
    until: Instant,
    goes_on: &dyn Fn() -> bool,
) -> bool {
    loop {
        let seen = channels.progress();
        if set.is_subset_of(&executed()) {
            return true;
        }
        if Instant::now() >= until || !goes_on() {
            return false;
        }
        channels.wait_for_progress(seen, until.min(Instant::now() + Duration::from_millis(LOOK_MS)));
    }
}

/// How often something was applied until the channel had got there; -1 if the time ran out. `None`: nobody applies, somebody has ended the
/// waiting, or no file of that name can be the source's.
pub(crate) fn wait_for_position(
    channels: &Channels,
    channel: &Channel,
    place: (&str, u64),
    until: Instant,
    goes_on: &dyn Fn() -> bool,
) -> Option<i64> {
    let began = channels.progress();
    let (base, file) = log_number(place.0)?;
    loop {
        let seen = channels.progress();
        if !channel.running().applier {
            return None;
        }
        if place.1 == 0 {
            return Some(0);
        }
        let applied = channel.with_applied(|applied| match log_number(&applied.file) {
            Some((applied_base, _)) if applied_base != base => None,
            Some((_, number)) => Some((number, applied.pos)),
            None => Some((0, 0)),
        });
        if applied? >= (file, place.1) {
            return Some(i64::try_from(seen - began).unwrap_or(i64::MAX));
        }
        if Instant::now() >= until {
            return Some(-1);
        }
        if !goes_on() {
            return None;
        }
        channels.wait_for_progress(seen, until.min(Instant::now() + Duration::from_millis(LOOK_MS)));
    }
}

/// Whether a log can have this name.
pub(crate) fn names_log(name: &str) -> bool {
    log_number(name).is_some()
}

/// Base and number of a log's name: `binlog.000007` is `binlog` and 7.
fn log_number(name: &str) -> Option<(&str, u64)> {
    let (base, number) = name.rsplit_once('.')?;
    Some((base, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_logs() {
        assert_eq!(log_number("a.b.000007"), Some(("a.b", 7)));
        assert_eq!((log_number("binlog"), log_number("binlog.x"), log_number("")), (None, None, None));
    }

    #[test]
    fn what_is_executed_is_not_waited_for() {
        let channels = Channels::default();
        let now = Instant::now();
        let none = GtidSet::default;
        assert!(wait_for_gtids(&channels, &none, &GtidSet::default(), now, &|| true));
        let set = GtidSet::parse(b"3e11fa47-71ca-11e1-9e33-c80aa9429562:1").unwrap();
        assert!(!wait_for_gtids(&channels, &none, &set, now + Duration::from_millis(1), &|| true));
        assert!(!wait_for_gtids(&channels, &none, &set, now + Duration::from_secs(3600), &|| false));
    }
}
