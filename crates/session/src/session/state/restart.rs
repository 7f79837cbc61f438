//! What a statement has left in the session, to be taken back before it runs again: user variables and warnings.
//!
//! `UPDATE t SET n = (@n := @n + 1)` that restarts on a fresh snapshot numbers its rows from the same start.

use super::{SessionState, UserVar};

/// Since the statement began.
#[derive(Default)]
pub(super) struct Left {
    /// A statement that may run again is running.
    trying: bool,
    /// Variables that it has set, with what they were before.
    vars: Vec<(String, Option<UserVar>)>,
    warnings: usize,
    warnings_lost: usize,
}

impl Left {
    pub(super) fn note(&mut self, key: &str, before: Option<UserVar>) {
        if self.trying && !self.vars.iter().any(|(known, _)| known == key) {
            self.vars.push((key.to_string(), before));
        }
    }
}

impl SessionState {
    /// A statement begins that may run again.
    pub fn begin_try(&self) {
        let mut left = self.left.borrow_mut();
        left.trying = true;
        left.warnings = self.warnings.borrow().len();
        left.warnings_lost = self.warnings_lost.get();
    }

    /// It does not.
    pub fn end_try(&self) {
        let mut left = self.left.borrow_mut();
        left.trying = false;
        left.vars.clear();
    }

    /// It is about to run again.
    pub fn take_back(&self) {
        let mut left = self.left.borrow_mut();
        if !left.trying {
            return;
        }
        self.warnings.borrow_mut().truncate(left.warnings);
        self.warnings_lost.set(left.warnings_lost);
        let mut vars = self.user_vars.borrow_mut();
        for (key, before) in left.vars.drain(..) {
            match before {
                Some(before) => vars.insert(key, before),
                None => vars.remove(&key),
            };
        }
        self.user_var_bytes.set(vars.iter().map(|(key, var)| var.bytes(key)).sum());
    }
}
