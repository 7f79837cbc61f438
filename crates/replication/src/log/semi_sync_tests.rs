//! Which commits wait, and what ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use vaquita_storage::{GoOn, Held};

use super::Place;
use super::semi_sync::{SemiSync, SemiSyncSettings};

fn at(pos: u64) -> Place {
    Place { file: 1, pos }
}

fn enabled(change: impl FnOnce(&mut SemiSyncSettings)) -> SemiSync {
    let semi = SemiSync::default();
    let mut settings = SemiSyncSettings { enabled: true, ..SemiSyncSettings::default() };
    change(&mut settings);
    semi.configure(settings);
    semi
}

/// Logs a group of two commits; what counts that it goes on.
fn log(semi: &SemiSync, place: Place) -> Arc<AtomicUsize> {
    let ends = Arc::new(AtomicUsize::new(0));
    let told = ends.clone();
    semi.logged(place, 2);
    match semi.holds() {
        Held::Nothing => {
            ends.fetch_add(1, Ordering::SeqCst);
        }
        _ => semi.hold(adds_one(told)),
    }
    ends
}

fn adds_one(ends: Arc<AtomicUsize>) -> GoOn {
    let end = Box::new(move || {
        ends.fetch_add(1, Ordering::SeqCst);
    });
    GoOn { show: Box::new(|| {}), end }
}

fn wait_until(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_ack_ends_the_waits_up_to_it() {
    let semi = enabled(|_| {});
    let replica = semi.add_replica(2, at(4));
    let ends = [10, 20, 30].map(|pos| log(&semi, at(pos)));
    let seen = || [0, 1, 2].map(|n| ends[n].load(Ordering::SeqCst));
    assert_eq!((seen(), semi.status().waiting), ([0, 0, 0], 6));
    assert_eq!([9, 10, 25, 30].map(|pos| semi.wants_ack(at(pos))), [false, true, false, true]);
    semi.acked(replica, at(20));
    semi.acked(replica, at(10));
    assert_eq!(seen(), [1, 1, 0]);
    assert!(!semi.wants_ack(at(10)));
    semi.acked(replica, at(30));
    let status = semi.status();
    assert_eq!((seen(), status.acknowledged, status.waits, status.acks), ([1, 1, 1], 6, 3, 3));
}

#[test]
fn an_ack_may_come_before_the_leader_waits() {
    let semi = enabled(|_| {});
    let replica = semi.add_replica(2, at(4));
    semi.logged(at(10), 3);
    semi.acked(replica, at(10));
    let ended = Arc::new(AtomicUsize::new(0));
    let told = ended.clone();
    semi.hold(adds_one(told));
    assert_eq!((ended.load(Ordering::SeqCst), semi.status().acknowledged), (1, 3));
    semi.logged(at(10), 0);
    assert_eq!(semi.holds(), Held::Nothing);
}

#[test]
fn as_many_replicas_as_are_wanted() {
    let semi = enabled(|settings| settings.replicas = 2);
    let (first, second) = (semi.add_replica(2, at(4)), semi.add_replica(3, at(4)));
    let ends = log(&semi, at(10));
    semi.acked(first, at(10));
    assert_eq!(ends.load(Ordering::SeqCst), 0);
    // What it has acked it has, also if it goes.
    semi.remove_replica(first);
    semi.acked(second, at(10));
    assert_eq!(ends.load(Ordering::SeqCst), 1);
    // The same replica counts once.
    let ends = log(&semi, at(20));
    semi.acked(second, at(20));
    semi.remove_replica(second);
    let second = semi.add_replica(3, at(4));
    semi.acked(second, at(20));
    assert_eq!((ends.load(Ordering::SeqCst), semi.status().clients), (0, 1));
    semi.configure(SemiSyncSettings { enabled: true, ..SemiSyncSettings::default() });
    assert_eq!(ends.load(Ordering::SeqCst), 1);
}

#[test]
fn who_waits_too_long_goes_on_and_a_replica_brings_it_back() {
    let semi = enabled(|settings| settings.timeout = Duration::from_millis(20));
    let ends = log(&semi, at(10));
    wait_until(|| ends.load(Ordering::SeqCst) == 1);
    let status = semi.status();
    assert_eq!((status.on, status.not_acknowledged, status.times_off, status.waits), (false, 2, 1, 0));
    assert_eq!((log(&semi, at(20)).load(Ordering::SeqCst), semi.status().not_acknowledged), (1, 4));
    let replica = semi.add_replica(2, at(10));
    assert!(!semi.status().on && !semi.wants_ack(at(15)) && semi.wants_ack(at(20)));
    semi.acked(replica, at(20));
    assert!(semi.status().on);
}

#[test]
fn without_replicas_it_is_off_if_that_is_wanted() {
    let semi = enabled(|settings| settings.wait_no_replica = false);
    assert!(!semi.status().on);
    let replica = semi.add_replica(2, at(4));
    let ends = log(&semi, at(10));
    semi.remove_replica(replica);
    assert_eq!((ends.load(Ordering::SeqCst), semi.status().on), (1, false));
}

#[test]
fn nobody_waits_when_it_is_disabled_reset_or_stopped() {
    let semi = enabled(|settings| settings.after_commit = true);
    let ends = log(&semi, at(10));
    assert_eq!(semi.holds(), Held::Waiters);
    semi.configure(SemiSyncSettings::default());
    assert_eq!((ends.load(Ordering::SeqCst), semi.status().on), (1, false));
    semi.configure(SemiSyncSettings { enabled: true, ..SemiSyncSettings::default() });
    let ends = log(&semi, at(20));
    semi.reset();
    assert_eq!((ends.load(Ordering::SeqCst), semi.status().on), (1, true));
    let ends = log(&semi, at(5));
    semi.stop();
    assert_eq!(ends.load(Ordering::SeqCst), 1);
}
