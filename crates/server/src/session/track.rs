//! Session tracking: what OK packets tell the client of changes to its session.
//!
//! A client that has SESSION_TRACK learns a new default database, the variables that
//! `session_track_system_variables` names, and with `session_track_state_change` that anything has changed.

use std::cell::{Cell, RefCell};

use vaquita_wire::result::{put_session_schema, put_session_state_change, put_session_variable};

use super::settings::Track;

#[derive(Default)]
pub struct Tracker {
    changes: RefCell<Vec<u8>>,
    state_changed: Cell<bool>,
}

impl Tracker {
    pub fn database_changed(&self, track: &Track, name: &str) {
        if track.schema {
            put_session_schema(&mut self.changes.borrow_mut(), name.as_bytes());
        }
        self.state_changed(track);
    }

    pub fn variable_changed(&self, track: &Track, name: &str, value: &str) {
        if track.all_variables || track.variables.iter().any(|n| n == name) {
            put_session_variable(&mut self.changes.borrow_mut(), name.as_bytes(), value.as_bytes());
        }
        self.state_changed(track);
    }

    pub fn state_changed(&self, track: &Track) {
        if track.state_change {
            self.state_changed.set(true);
        }
    }

    /// All that has changed since it was last told; empty as a rule.
    pub fn take(&self) -> Vec<u8> {
        let mut changes = self.changes.take();
        if self.state_changed.take() {
            put_session_state_change(&mut changes);
        }
        changes
    }
}
