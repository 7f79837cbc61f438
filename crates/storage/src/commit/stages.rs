//! The stages *prepare* (what the binary log is told), *certify* and *log* of the commit pipeline, and RocksDB's own log in their place.
//!
//! The leader of a group asks `certify` for each commit, alone or in a group, with files or without. What is refused is over: its client has
//! the error, its locks are free, and nothing of it is counted, announced or logged (COMMIT-6). The rest goes to `log` in one piece.
//!
//! RocksDB logs and applies a batch in one write. Another log does it in two steps, behind `Engine::open_with`:
//!
//! 1. It appends its own record, made from the commits one by one, and syncs it if asked to.
//! 2. It adds the position that the record brings the data to, as one more record of the change, to the batch or to what is ingested beside
//!    the files, and gives the change to `RocksLog`, which need not sync it. So data and position cannot disagree, and a start appends what is
//!    behind the position.
//!
//! * LOG-1: all that changes data or catalog comes through here, files and prepared XA branches among it. What does not has no meaning of
//!   its own: range deletions of indexes that nobody can see any more, and padding.

use std::sync::Arc;

use vaquita_types::Result;

use super::log_buffer::LogBuffer;
use super::records::Records;
use super::request::CommitRequest;
use crate::base::kill_points::kill_point;
use crate::rocks::{Db, RocksError, SortedFiles};

/// What stands between *prepare* and *publish*. Only the leader certifies and logs, so never two threads at a time (COMMIT-1).
pub trait Stages: Send + Sync {
    /// The part of *prepare* that is the binary log's, on the transaction's own thread: what `log` will find in `CommitRequest::log`.
    fn prepare(&self, _told: &LogBuffer) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// *certify*: an error refuses this commit, and no other of its group. Called in the order in which commits are logged. What was
    /// certified is logged next, or fails there with the rest of its group.
    fn certify(&self, request: &CommitRequest) -> Result<()>;

    /// *log* and *apply*: afterwards the change is as durable as `sync` asks, and can be read. The number is that of its last
    /// write, or of the last one before it if it failed (COMMIT-5).
    fn log(&self, change: Change<'_>, sync: bool) -> (std::result::Result<(), LogError>, u64);

    /// *publish*: what of the change that was logged last waits until others have it, too. Only the leader asks, behind `log`.
    fn holds(&self) -> Held {
        Held::Nothing
    }

    /// What is logged next will most likely wait with its locks, if the log is told something of it.
    fn hides(&self) -> bool {
        false
    }

    /// Something that was logged before still waits.
    fn waits(&self) -> bool {
        false
    }

    /// Called by the leader behind that change, if something of it waits. `go_on` is run on any thread, maybe before this returns; the leader
    /// goes on with the next change meanwhile.
    fn hold(&self, go_on: GoOn) {
        go_on.run();
    }

    /// No commit comes any more, and nothing waits.
    fn end(&self) {}

    /// Makes durable what was logged without `sync`: once a second, and at the end. Any thread may call it, beside a leader.
    fn sync(&self) -> std::result::Result<(), LogError>;
}

/// What of a change that is logged waits. Commits that tell the binary log nothing never do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Held {
    #[default]
    Nothing,
    /// The waiters: others go on with the rows.
    Waiters,
    /// Locks, too: nobody changes the rows.
    LocksAndWaiters,
}

/// Ends the wait of commits.
pub struct GoOn {
    /// Readers see them.
    pub show: Box<dyn FnOnce() + Send>,
    /// Their locks are free, and their clients are told.
    pub end: Box<dyn FnOnce() + Send>,
}

impl GoOn {
    pub fn run(self) {
        (self.show)();
        (self.end)();
    }
}

/// What is logged in one piece.
pub struct Change<'g> {
    /// The group's, in the order of their records. The records of several are still there too; those of one have become the batch.
    pub commits: &'g [&'g CommitRequest],
    pub content: Content<'g>,
}

pub enum Content<'g> {
    /// The records of the group, commit after commit, and its counters.
    Batch(&'g mut Records),
    /// Files that become part of the data in one step, the counters as one of them. Records of the catalog follow, so without them
    /// the files must do no harm.
    Files { files: SortedFiles, counters: &'g mut Records, records: &'g mut Records },
}

/// COMMIT-4 asks which of the two it was.
pub enum LogError {
    /// This file could not grow, and certainly nothing of the change was written.
    NoSpace(String),
    /// What is written is not known.
    Unknown(String),
}

/// The file of an append that failed earlier: whoever's it was knows which.
const LOG: &str = "the log";

/// RocksDB's own log.
pub struct RocksLog {
    db: Arc<Db>,
}

impl RocksLog {
    pub(crate) fn new(db: Arc<Db>) -> RocksLog {
        RocksLog { db }
    }

    /// The number of the last write, for a group that is refused before its own.
    pub fn settled_sequence(&self) -> u64 {
        self.db.settled_sequence()
    }

    fn ingest(
        &self,
        mut files: SortedFiles,
        counters: &Records,
        records: &mut Records,
    ) -> (std::result::Result<(), LogError>, u64) {
        // The files are synced: what they were made from must not be lost before them.
        let ready = self.db.flush_log(true).and_then(|()| files.add_first(counters.writes()));
        let (done, sequence) = match ready {
            Ok(()) => self.db.ingest(files),
            Err(e) => (Err(e), self.db.settled_sequence()),
        };
        if let Err(e) = done {
            let earlier = e.is_earlier_failure().then_some(LOG);
            return match e.file_without_space().or(earlier) {
                Some(file) => (Err(LogError::NoSpace(file.to_string())), sequence),
                None => (Err(LogError::Unknown(format!("cannot commit files: {}", e.0))), sequence),
            };
        }
        kill_point("ingest.applied");
        if records.is_empty() {
            return (Ok(()), sequence);
        }
        let (done, last) = self.db.write(records.as_batch(), true);
        // The files are there already.
        (done.map_err(|e| LogError::Unknown(cannot_write(&e))), last)
    }
}

impl Stages for RocksLog {
    /// First committer wins was settled when rows were locked (`txn::isolation`).
    fn certify(&self, _request: &CommitRequest) -> Result<()> {
        Ok(())
    }

    fn log(&self, change: Change<'_>, sync: bool) -> (std::result::Result<(), LogError>, u64) {
        match change.content {
            Content::Batch(records) => {
                let (done, sequence) = self.db.write(records.as_batch(), sync);
                let error = |e: RocksError| match e.file_without_space() {
                    Some(file) => LogError::NoSpace(file.to_string()),
                    None => LogError::Unknown(cannot_write(&e)),
                };
                (done.map_err(error), sequence)
            }
            Content::Files { files, counters, records } => self.ingest(files, counters, records),
        }
    }

    fn sync(&self) -> std::result::Result<(), LogError> {
        self.db.flush_log(true).map_err(|e| match e.is_earlier_failure() {
            true => LogError::NoSpace(LOG.to_string()),
            false => LogError::Unknown(format!("cannot sync the log: {}", e.0)),
        })
    }
}

fn cannot_write(e: &RocksError) -> String {
    format!("cannot write the log: {}", e.0)
}
