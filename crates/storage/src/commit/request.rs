//! What a transaction leaves with the pipeline, and how it hears the end.

use std::sync::Arc;

use vaquita_types::Result;
use vaquita_types::schema::TableId;

use super::counters::CounterChange;
use super::records::Records;
use crate::locks::{HeldLocks, Interrupt, Owner};
use crate::rocks::SortedFiles;

/// Called once, on the thread that completed the group, before `Threads::group_completed`.
pub type CommitWaiter = Box<dyn FnOnce(Result<()>) + Send>;

/// How a commit went.
pub enum CommitStart {
    /// It is over: durable, or failed and rolled back.
    Done(Result<()>),
    /// The waiter will be called; the thread is free.
    Parked,
}

/// What a transaction leaves with the pipeline.
pub struct CommitRequest {
    pub records: Records,
    pub touched: Touched,
    /// Data that goes around the log.
    pub files: Option<SortedFiles>,
    pub counters: Vec<(TableId, CounterChange)>,
    /// For the binary log, as `Stages::prepare` made it; empty if nothing was told.
    pub log: Vec<u8>,
    pub owner: Option<Arc<Owner>>,
    pub held: HeldLocks,
    /// Of the session, if it has no owner.
    pub interrupt: Option<Arc<Interrupt>>,
}

impl CommitRequest {
    /// What ends the session's waits.
    pub fn interrupt(&self) -> Option<&Arc<Interrupt>> {
        self.owner.as_ref().map(|owner| &owner.interrupt).or(self.interrupt.as_ref())
    }

    /// Before the leader takes the records out of it.
    pub fn changes_data(&self) -> bool {
        self.files.is_some() || self.records.writes().next().is_some()
    }
}

/// The data keys that a commit changes.
pub enum Touched {
    /// By their hashes.
    Keys(Vec<u64>),
    /// Too many to name.
    Any,
}
