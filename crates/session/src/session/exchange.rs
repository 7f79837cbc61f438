//! One statement's way from the session to its client.

use std::sync::Arc;

use crate::answer::{Answer, MakeWaiter};
use crate::state::prepared::Cursor;

/// A text of several statements from one of them on. The text is there once for all of them.
#[derive(Clone)]
pub(super) struct Rest {
    pub text: Arc<[u8]>,
    pub at: usize,
}

/// Where the answer of a statement goes, who waits for its commit, what of the same text follows, and what became of it.
pub(super) struct Exchange<'a> {
    pub answer: &'a mut dyn Answer,
    pub park: MakeWaiter<'a>,
    /// The unread statements of the text, if there are any.
    pub rest: Option<Rest>,
    /// Rows in the binary protocol.
    pub binary: bool,
    /// The rows of the query are kept in `cursor`, for the client to fetch.
    pub keeps_rows: bool,
    pub cursor: Option<Box<Cursor>>,
    /// EXPLAIN ANALYZE: the answer is what the plan did.
    pub analyzes: bool,
    /// With FORMAT=WHY.
    pub says_why: bool,
    /// A step of a stored program: its commit is waited for.
    pub in_program: bool,
    /// The answer was an error: a text of several statements ends here.
    pub failed: bool,
}

impl<'a> Exchange<'a> {
    pub fn new(answer: &'a mut dyn Answer, park: MakeWaiter<'a>) -> Exchange<'a> {
        Exchange {
            answer,
            park,
            rest: None,
            binary: false,
            keeps_rows: false,
            cursor: None,
            analyzes: false,
            says_why: false,
            in_program: false,
            failed: false,
        }
    }

    pub fn more(&self) -> bool {
        self.rest.is_some()
    }
}
