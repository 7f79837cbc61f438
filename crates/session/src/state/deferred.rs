//! What functions and triggers of the running statement have done to its session, which learns of it when the statement is over: while the
//! statement runs, the session is shared with the executor.
//!
//! The functions themselves see at once what was set: each takes over what has come since it looked last (`Deferred::since`).

use std::cell::{Cell, RefCell};

use vaquita_types::Value;

use crate::variables::Def;

#[derive(Default)]
pub struct Deferred {
    /// Values of variables, each with how many had been set when it was. A variable is there once.
    settings: RefCell<Vec<(u64, &'static Def, Value)>>,
    count: Cell<u64>,
    created: Cell<bool>,
    dropped: Cell<bool>,
}

/// All of it.
pub struct Done {
    pub settings: Vec<(&'static Def, Value)>,
    /// Temporary tables.
    pub created: bool,
    pub dropped: bool,
}

impl Deferred {
    pub fn set(&self, def: &'static Def, value: Value) {
        self.count.set(self.count.get() + 1);
        let mut settings = self.settings.borrow_mut();
        settings.retain(|(_, known, _)| known.id != def.id);
        settings.push((self.count.get(), def, value));
    }

    /// What was set of a variable.
    #[inline]
    pub fn get(&self, def: &Def) -> Option<Value> {
        if self.count.get() == 0 {
            return None;
        }
        self.settings.borrow().iter().find(|(_, known, _)| known.id == def.id).map(|(_, _, value)| value.clone())
    }

    /// How many values have been set.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// What was set after the first `count`, the last one last.
    pub fn since(&self, count: u64) -> Vec<(&'static Def, Value)> {
        let settings = self.settings.borrow();
        settings.iter().filter(|(at, ..)| *at > count).map(|(_, def, value)| (*def, value.clone())).collect()
    }

    pub fn note_created(&self) {
        self.created.set(true);
    }

    pub fn note_dropped(&self) {
        self.dropped.set(true);
    }

    /// The statement runs again: what it has set goes. Temporary tables that it has made are there.
    pub fn take_back(&self) {
        self.settings.borrow_mut().clear();
        self.count.set(0);
    }

    /// The statement is over.
    #[inline]
    pub fn take(&self) -> Option<Done> {
        if self.count.get() == 0 && !self.created.get() && !self.dropped.get() {
            return None;
        }
        self.count.set(0);
        let settings = self.settings.take().into_iter().map(|(_, def, value)| (def, value)).collect();
        Some(Done { settings, created: self.created.take(), dropped: self.dropped.take() })
    }
}
