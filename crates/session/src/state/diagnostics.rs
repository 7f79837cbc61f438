//! What the statements before left for the client to ask: warnings, ROW_COUNT(), FOUND_ROWS().
//!
//! Cells, because expressions of a running statement warn through a shared reference.

use std::cell::{Cell, RefCell};

use vaquita_exec::context::WarningInfo;
use vaquita_plan::env::Level;
use vaquita_types::Error;

#[derive(Default)]
pub struct Diagnostics {
    warnings: RefCell<Vec<(Level, Error)>>,
    /// Warnings of the running statement beyond `max_error_count`: counted, not kept.
    lost: Cell<usize>,
    /// Of the statement before, for SHOW WARNINGS.
    previous: RefCell<Vec<(Level, Error)>>,
    previous_lost: Cell<usize>,
    /// Warnings, and lost ones, when the try of a statement began that may run again.
    try_began: Cell<(usize, usize)>,
    found_rows: Cell<u64>,
    row_count: Cell<i64>,
}

impl Diagnostics {
    #[inline]
    pub fn begin_statement(&self) {
        self.previous_lost.set(self.lost.take());
        let mut warnings = self.warnings.borrow_mut();
        let mut previous = self.previous.borrow_mut();
        if !warnings.is_empty() || !previous.is_empty() {
            std::mem::swap(&mut *warnings, &mut *previous);
            warnings.clear();
        }
    }

    /// The statement is one that asks for warnings: those of the statement before stay.
    pub fn keep_previous(&self) {
        self.warnings.swap(&self.previous);
        self.lost.swap(&self.previous_lost);
    }

    /// Keeps a warning if there are fewer than `kept_max`, and counts it.
    pub fn push(&self, level: Level, error: Error, kept_max: usize) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.len() < kept_max {
            warnings.push((level, error));
        } else {
            self.lost.set(self.lost.get() + 1);
        }
    }

    pub fn begin_try(&self) {
        self.try_began.set((self.warnings.borrow().len(), self.lost.get()));
    }

    pub fn take_back(&self) {
        let (warnings, lost) = self.try_began.get();
        self.warnings.borrow_mut().truncate(warnings);
        self.lost.set(lost);
    }

    pub fn list(&self) -> Vec<WarningInfo> {
        let info = |(level, error): &(Level, Error)| WarningInfo {
            level: *level,
            code: error.code(),
            message: error.message().to_string(),
        };
        self.warnings.borrow().iter().map(info).collect()
    }

    /// Warnings of the running statement, those that were not kept among them.
    pub fn count(&self) -> usize {
        self.warnings.borrow().len() + self.lost.get()
    }

    /// The same as packets have it.
    #[inline]
    pub fn count_u16(&self) -> u16 {
        self.count().min(usize::from(u16::MAX)) as u16
    }

    /// `@@warning_count`.
    pub fn previous_count(&self) -> usize {
        self.previous.borrow().len() + self.previous_lost.get()
    }

    /// `@@error_count`.
    pub fn previous_errors(&self) -> usize {
        self.previous.borrow().iter().filter(|(level, _)| *level == Level::Error).count()
    }

    pub fn found_rows(&self) -> u64 {
        self.found_rows.get()
    }

    pub fn set_found_rows(&self, rows: u64) {
        self.found_rows.set(rows);
    }

    pub fn row_count(&self) -> i64 {
        self.row_count.get()
    }

    pub fn set_row_count(&self, rows: i64) {
        self.row_count.set(rows);
    }
}
