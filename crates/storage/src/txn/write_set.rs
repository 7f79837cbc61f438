//! The uncommitted writes of a transaction, sorted, with an undo log.

/// A point of a transaction's writes to return to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub(crate) usize);
