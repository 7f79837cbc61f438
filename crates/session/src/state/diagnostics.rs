//! What the statements before left for the client to ask: warnings, ROW_COUNT(), FOUND_ROWS().
//!
//! Cells, because expressions of a running statement warn through a shared reference.

use std::cell::{Cell, RefCell};

use vaquita_exec::context::WarningInfo;
use vaquita_plan::env::Level;
use vaquita_types::Error;

use crate::connection_events::CountedCondition;

#[derive(Default)]
pub struct Diagnostics {
    warnings: RefCell<Vec<(Level, Error)>>,
    /// Warnings of the running statement beyond `max_error_count`: counted, not kept.
    lost: Cell<usize>,
    /// Of the statement before, for SHOW WARNINGS.
    previous: RefCell<Vec<(Level, Error)>>,
    previous_lost: Cell<usize>,
    /// As many of the running statement's are those of the statement before, which it asks for.
    asked_for: Cell<usize>,
    /// Warnings, and lost ones, when the try of a statement began that may run again.
    try_began: Cell<(usize, usize)>,
    found_rows: Cell<u64>,
    row_count: Cell<i64>,
    /// Conditions that were ever pushed.
    pushed: Cell<u64>,
    /// A step of a program has begun: its first condition takes the place of those before it.
    fresh: Cell<bool>,
    /// Of each number, how many conditions there were since `take_counted`, and how many handlers took.
    counted: RefCell<Vec<CountedCondition>>,
}

/// The conditions of a statement while a function runs that it calls.
pub struct Kept {
    warnings: Vec<(Level, Error)>,
    lost: usize,
    fresh: bool,
    found_rows: u64,
    row_count: i64,
}

impl Diagnostics {
    #[inline]
    pub fn begin_statement(&self) {
        self.fresh.set(false);
        self.asked_for.set(0);
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
        self.asked_for.set(self.count());
    }

    /// Keeps a warning if there are fewer than `kept_max`, and counts it.
    pub fn push(&self, level: Level, error: Error, kept_max: usize) {
        self.count_condition(error.code(), (1, 0));
        self.keep_condition(level, error, kept_max);
    }

    /// A handler takes a condition.
    pub fn note_handled(&self, error: &Error) {
        self.count_condition(error.code(), (0, 1));
    }

    fn count_condition(&self, code: u16, (raised, handled): (u64, u64)) {
        let mut counted = self.counted.borrow_mut();
        match counted.iter_mut().find(|(known, ..)| *known == code) {
            Some(known) => *known = (code, known.1 + raised, known.2 + handled),
            None => counted.push((code, raised, handled)),
        }
    }

    /// What was counted since the last call.
    #[inline]
    pub fn take_counted(&self) -> Vec<CountedCondition> {
        self.counted.take()
    }

    fn keep_condition(&self, level: Level, error: Error, kept_max: usize) {
        let mut warnings = self.warnings.borrow_mut();
        self.pushed.set(self.pushed.get() + 1);
        if self.fresh.take() {
            warnings.clear();
            self.lost.set(0);
        }
        if warnings.len() < kept_max {
            warnings.push((level, error));
        } else {
            self.lost.set(self.lost.get() + 1);
        }
    }

    /// A function is called, and has conditions of its own; what it found goes to `end_call`.
    pub fn begin_call(&self) -> Kept {
        Kept {
            warnings: self.warnings.take(),
            lost: self.lost.take(),
            fresh: self.fresh.take(),
            found_rows: self.found_rows.get(),
            row_count: self.row_count.get(),
        }
    }

    /// It is over: what it leaves comes behind what was there. The error of one that failed is its caller's.
    pub fn end_call(&self, kept: Kept, well: bool, kept_max: usize) {
        let (left, lost) = (self.warnings.replace(kept.warnings), self.lost.replace(kept.lost));
        self.fresh.set(kept.fresh);
        self.found_rows.set(kept.found_rows);
        self.row_count.set(kept.row_count);
        if well {
            left.into_iter().for_each(|(level, error)| self.keep_condition(level, error, kept_max));
            self.lost.set(self.lost.get() + lost);
        }
    }

    #[inline]
    pub fn begin_step(&self) -> u64 {
        self.fresh.set(true);
        self.pushed.get()
    }

    /// A statement of a program begins.
    pub fn clear(&self) {
        self.warnings.borrow_mut().clear();
        self.lost.set(0);
    }

    /// RESIGNAL: these are there instead.
    pub fn replace(&self, conditions: &[(Level, Error)]) {
        *self.warnings.borrow_mut() = conditions.to_vec();
        self.lost.set(0);
        self.fresh.set(false);
        self.pushed.set(self.pushed.get() + conditions.len() as u64);
    }

    /// What is raised next comes behind what is there.
    pub fn keep(&self) {
        self.fresh.set(false);
    }

    #[inline]
    pub fn pushed(&self) -> u64 {
        self.pushed.get()
    }

    pub fn conditions(&self) -> Vec<(Level, Error)> {
        self.warnings.borrow().clone()
    }

    fn ends_with(&self, error: &Error) -> bool {
        let warnings = self.warnings.borrow();
        let same = |(level, last): &(Level, Error)| {
            *level == Level::Error && last.code() == error.code() && last.message() == error.message()
        };
        warnings.last().is_some_and(same)
    }

    /// A step has failed, which may have been noted already.
    pub fn note_error(&self, error: &Error, kept_max: usize) {
        if !self.ends_with(error) {
            self.push(Level::Error, error.clone(), kept_max);
        }
    }

    /// Takes the error away that was noted last, if it is this one.
    pub fn forget_error(&self, error: &Error) {
        if self.ends_with(error) {
            self.warnings.borrow_mut().pop();
        }
    }

    /// A handler is over: only what has come since stays.
    pub fn keep_since(&self, pushed: u64) {
        let mut warnings = self.warnings.borrow_mut();
        let since = usize::try_from(self.pushed.get() - pushed).unwrap_or(usize::MAX).min(warnings.len());
        let gone = warnings.len() - since;
        warnings.drain(..gone);
        self.lost.set(0);
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

    /// As packets have it: without those that it asks for.
    #[inline]
    pub fn count_u16(&self) -> u16 {
        self.count().saturating_sub(self.asked_for.get()).min(usize::from(u16::MAX)) as u16
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
