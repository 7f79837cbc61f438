//! What a DDL statement is doing and how far it is, for SHOW PROCESSLIST and performance_schema.events_stages_current.
//!
//! Work is counted in rows: those that are read of the old table, of those that it had when the statement began.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

/// The stages, in MySQL's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    WaitingForLock,
    Preparing,
    /// Rows are read for an index that is being built.
    ReadingRows,
    /// Concurrent changes are done; others that use the table must end.
    WaitingToCommit,
    CopyingRows,
    Committing,
}

impl Stage {
    /// `EVENT_NAME`.
    pub fn event_name(self) -> &'static str {
        match self {
            Stage::WaitingForLock | Stage::WaitingToCommit => "stage/sql/Waiting for table metadata lock",
            Stage::Preparing => "stage/sql/preparing for alter table",
            Stage::ReadingRows => "stage/innodb/alter table (read PK and internal sort)",
            Stage::CopyingRows => "stage/sql/copy to tmp table",
            Stage::Committing => "stage/sql/committing alter table to storage engine",
        }
    }

    /// `State` of SHOW PROCESSLIST.
    pub fn state(self) -> &'static str {
        match self {
            Stage::WaitingForLock | Stage::WaitingToCommit => "Waiting for table metadata lock",
            Stage::Preparing => "preparing for alter table",
            Stage::ReadingRows => "altering table",
            Stage::CopyingRows => "copy to tmp table",
            Stage::Committing => "committing alter table to storage engine",
        }
    }
}

/// A moment's picture.
#[derive(Clone, Copy, Debug)]
pub struct StageProgress {
    pub stage: Stage,
    pub since: Instant,
    /// Counts the stages of a session.
    pub event: u64,
    pub rows_done: u64,
    pub rows_expected: u64,
}

#[derive(Debug, Default)]
pub struct Progress {
    now: Mutex<Option<(Stage, Instant)>>,
    events: AtomicU64,
    done: AtomicU64,
    expected: AtomicU64,
}

impl Progress {
    pub fn enter(&self, stage: Stage) {
        let mut now = self.now.lock();
        if now.is_none_or(|(before, _)| before != stage) {
            *now = Some((stage, Instant::now()));
            self.events.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// `enter` a stage that goes through rows.
    pub fn start_rows(&self, stage: Stage, expected: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.expected.store(expected, Ordering::Relaxed);
        self.enter(stage);
    }

    /// The rows are gone through from the first one again.
    pub fn restart_rows(&self) {
        self.done.store(0, Ordering::Relaxed);
    }

    pub fn add_rows(&self, rows: u64) {
        self.done.fetch_add(rows, Ordering::Relaxed);
    }

    /// The statement is over.
    pub fn finish(&self) {
        let mut now = self.now.lock();
        if now.is_some() {
            *now = None;
            self.done.store(0, Ordering::Relaxed);
            self.expected.store(0, Ordering::Relaxed);
        }
    }

    pub fn get(&self) -> Option<StageProgress> {
        let (stage, since) = (*self.now.lock())?;
        let [event, rows_done, rows_expected] =
            [&self.events, &self.done, &self.expected].map(|counter| counter.load(Ordering::Relaxed));
        Some(StageProgress { stage, since, event, rows_done, rows_expected: rows_expected.max(rows_done) })
    }
}
