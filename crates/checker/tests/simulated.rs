//! What a level allows is found in its histories, and nothing else.

mod simulator;

use simulator::{Simulation, run};
use vaquita_checker::{Level, Options, check};

fn names(level: Level, broken: bool, seed: u64) -> Vec<String> {
    let history = run(Simulation { level, broken, txns: 3_000, clients: 10, seed });
    let report = check(&history, &Options::default());
    assert!(report.gaps.is_empty(), "{:?}", report.gaps);
    report.names()
}

#[test]
fn serializable_shows_nothing() {
    for seed in 0..10 {
        assert_eq!(names(Level::Serializable, false, seed), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn repeatable_read_shows_write_skew_only() {
    for seed in 0..10 {
        assert_eq!(names(Level::RepeatableRead, false, seed), ["G2-item"], "seed {seed}");
    }
}

#[test]
fn read_committed_shows_what_it_allows() {
    let allowed = ["G-single", "G2-item", "lost-update", "non-repeatable-read"];
    let mut found: Vec<String> = (0..10).flat_map(|seed| names(Level::ReadCommitted, false, seed)).collect();
    found.sort();
    found.dedup();
    assert_eq!(found, allowed);
}

#[test]
fn without_first_committer_wins_updates_are_lost() {
    for seed in 0..10 {
        let names = names(Level::RepeatableRead, true, seed);
        assert!(names.iter().any(|name| name == "lost-update"), "seed {seed}: {names:?}");
        assert!(names.iter().any(|name| name == "G-single"), "seed {seed}: {names:?}");
    }
}

/// A tenth of what a nightly run checks, at a tenth of the time it may take.
#[test]
fn a_hundred_thousand_transactions_take_seconds() {
    let history = run(Simulation { level: Level::RepeatableRead, broken: false, txns: 100_000, clients: 32, seed: 1 });
    let start = std::time::Instant::now();
    let report = check(&history, &Options::default());
    assert_eq!(report.names(), ["G2-item"]);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
