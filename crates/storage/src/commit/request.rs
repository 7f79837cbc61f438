//! What a transaction leaves with the pipeline, and how it hears the end.

use std::sync::Arc;

use vaquita_types::Result;
use vaquita_types::schema::TableId;

use super::counters::CounterChange;
use super::records::Records;
use crate::locks::{HeldLocks, Owner};
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
}

/// The data keys that a commit changes.
pub enum Touched {
    /// By their hashes.
    Keys(Vec<u64>),
    /// Too many to name.
    Any,
}
