//! `SET insert_id = n`: the statement after it that generates AUTO_INCREMENT values begins with `n`.
//!
//! The number is used up when the next statement begins, not when it is taken, so that a statement that restarts on a fresh
//! snapshot takes it again.

use std::cell::Cell;

#[derive(Default)]
pub(super) struct InsertId {
    given: Cell<Option<u64>>,
    taken: Cell<bool>,
}

impl InsertId {
    pub(super) fn give(&self, id: u64) {
        self.given.set(Some(id));
        self.taken.set(false);
    }

    pub(super) fn get(&self) -> u64 {
        self.given.get().unwrap_or(0)
    }

    pub(super) fn take(&self) -> Option<u64> {
        self.taken.set(true);
        self.given.get()
    }

    pub(super) fn begin_statement(&self) {
        if self.taken.replace(false) {
            self.given.set(None);
        }
    }
}
