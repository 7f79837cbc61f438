//! The commit pipeline: prepare → certify → log → apply → publish, in groups.

use vaquita_types::Result;

/// Called once, on the thread that completed the group.
pub type CommitWaiter = Box<dyn FnOnce(Result<()>) + Send>;

/// How a commit went.
pub enum CommitStart {
    /// It is over: durable, or failed and rolled back.
    Done(Result<()>),
    /// The waiter will be called; the thread is free.
    Parked,
}
