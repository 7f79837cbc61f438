//! LAST_INSERT_ID(), and `SET insert_id = n`: the statement after it that generates AUTO_INCREMENT values begins with `n`.
//!
//! The number of `insert_id` is used up when the next statement begins, not when it is taken, so that a statement that restarts on a fresh
//! snapshot takes it again.

use std::cell::Cell;

#[derive(Default)]
pub struct InsertIds {
    last: Cell<u64>,
    /// The statement has called LAST_INSERT_ID(expr).
    last_given: Cell<bool>,
    next: Cell<Option<u64>>,
    next_taken: Cell<bool>,
}

impl InsertIds {
    #[inline]
    pub fn begin_statement(&self) {
        self.last_given.set(false);
        if self.next_taken.replace(false) {
            self.next.set(None);
        }
    }

    pub fn last(&self) -> u64 {
        self.last.get()
    }

    pub fn set_last(&self, id: u64) {
        self.last.set(id);
    }

    /// LAST_INSERT_ID(expr).
    pub fn give_last(&self, id: u64) {
        self.last.set(id);
        self.last_given.set(true);
    }

    /// What LAST_INSERT_ID(expr) was given in this statement.
    pub fn last_given(&self) -> Option<u64> {
        self.last_given.get().then(|| self.last.get())
    }

    /// A function is called: what it does to LAST_INSERT_ID() goes with it, and what was given for its statement is not for it.
    pub fn begin_call(&self) -> InsertIds {
        InsertIds {
            last: self.last.clone(),
            last_given: self.last_given.clone(),
            next: Cell::new(self.next.take()),
            next_taken: Cell::new(self.next_taken.take()),
        }
    }

    pub fn end_call(&self, before: InsertIds) {
        self.last.set(before.last.get());
        self.last_given.set(before.last_given.get());
        // What the function has given for the next statement stays.
        if self.next.get().is_none() || self.next_taken.get() {
            self.next.set(before.next.get());
            self.next_taken.set(before.next_taken.get());
        }
    }

    /// SET insert_id.
    pub fn give_next(&self, id: u64) {
        self.next.set(Some(id));
        self.next_taken.set(false);
    }

    /// `@@insert_id`.
    pub fn next(&self) -> u64 {
        self.next.get().unwrap_or(0)
    }

    pub fn take_next(&self) -> Option<u64> {
        self.next_taken.set(true);
        self.next.get()
    }
}
