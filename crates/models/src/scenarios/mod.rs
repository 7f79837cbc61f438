//! What two or three threads do to each other, and what must hold however they are scheduled.
//!
//! A scenario is run once per schedule, in a fresh world. It panics on a broken promise; a thread that waits for ever is
//! reported by the checker.

mod commits;
mod locks;

use std::sync::Arc;

use crate::base::hooks::{EngineHooks, LogLevel, OperatorLog, Statements, Threads};

/// Nothing that happens in a scenario is worth a line in a log.
struct Hooks;

impl Threads for Hooks {}
impl Statements for Hooks {}

impl OperatorLog for Hooks {
    fn log(&self, level: LogLevel, text: &str) {
        panic!("{level:?}: {text}");
    }
}

fn hooks() -> EngineHooks {
    EngineHooks::of(Arc::new(Hooks))
}

pub const ALL: [(&str, fn()); 26] = [
    ("locks.exclude", locks::exclude),
    ("locks.deadlock-of-two", locks::deadlock_of_two),
    ("locks.deadlock-of-three", locks::deadlock_of_three),
    ("locks.victim-wakes-late", locks::victim_wakes_late),
    ("locks.upgrades", locks::upgrades),
    ("locks.time-out", locks::time_out),
    ("locks.kill", locks::kill),
    ("locks.killed-before-another", locks::killed_before_another),
    ("locks.skip-and-unlock", locks::skip_and_unlock),
    ("locks.tables", locks::tables),
    ("locks.readers-beside-ddl", locks::readers_beside_ddl),
    ("locks.range-and-writers", locks::range_and_writers),
    ("locks.range-and-writers-anywhere", locks::range_and_writers_anywhere),
    ("locks.write-skew", locks::write_skew),
    ("commits.first-committer-wins", commits::first_committer_wins),
    ("commits.held", commits::held),
    ("commits.hidden", commits::hidden),
    ("commits.cached-rows", commits::cached_rows),
    ("commits.spans", commits::spans),
    ("commits.files", commits::files),
    ("commits.numbers-of-others", commits::numbers_of_others),
    ("commits.certified", commits::certified),
    ("commits.counters", commits::counters),
    ("commits.groups", commits::groups),
    ("commits.drop-table", commits::drop_table),
    ("commits.shutdown", commits::shutdown),
];
