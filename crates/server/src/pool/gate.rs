//! The state of a task in the pool: who owns it, and what its socket has said meanwhile. `pool.rs` has the diagram.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

pub(super) const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const RUNNING_EVENT: u8 = 2;
const PARKED: u8 = 3;
const PARKED_EVENT: u8 = 4;
const CLOSED: u8 = 5;

/// The state of a task in the pool.
pub struct Gate {
    state: AtomicU8,
    /// The pool's name for the task.
    pub(super) token: AtomicU64,
    /// Its last run was long: the next one is for a thread of the lane.
    long: AtomicBool,
    /// Its peer has closed its side: there is an end to be read.
    hung_up: AtomicBool,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate {
            state: AtomicU8::new(IDLE),
            token: AtomicU64::new(0),
            long: AtomicBool::new(false),
            hung_up: AtomicBool::new(false),
        }
    }
}

impl Gate {
    /// True if the caller now owns the task.
    pub(super) fn on_event(&self) -> bool {
        let mut seen = self.state.load(Ordering::Acquire);
        loop {
            let (next, owner) = match seen {
                IDLE => (RUNNING, true),
                RUNNING => (RUNNING_EVENT, false),
                PARKED => (PARKED_EVENT, false),
                _ => return false,
            };
            match self.state.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return owner,
                Err(now) => seen = now,
            }
        }
    }

    /// The run queue's thread takes the task over; an edge seen while it was parked stays marked.
    pub(super) fn on_resume(&self) {
        if self.state.compare_exchange(PARKED, RUNNING, Ordering::AcqRel, Ordering::Acquire).is_err() {
            let _ = self.state.compare_exchange(PARKED_EVENT, RUNNING_EVENT, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// The owner gives the task back; false if an event arrived meanwhile and it must look again.
    pub(super) fn release(&self, to: u8) -> bool {
        if self.state.compare_exchange(RUNNING, to, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return true;
        }
        self.state.store(if to == IDLE { RUNNING } else { PARKED_EVENT }, Ordering::Release);
        to != IDLE
    }

    pub(super) fn close(&self) {
        self.state.store(CLOSED, Ordering::Release);
    }

    pub(super) fn set_long(&self, long: bool) {
        self.long.store(long, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_long(&self) -> bool {
        self.long.load(Ordering::Relaxed)
    }

    pub(super) fn set_hung_up(&self) {
        self.hung_up.store(true, Ordering::Release);
    }

    /// What is received may be followed by the end, of which no other event tells.
    #[inline]
    pub fn hung_up(&self) -> bool {
        self.hung_up.load(Ordering::Acquire)
    }
}

/// Moves a task that is being run to PARKED; an owner calls it before it hands the task's continuation
/// to whoever resumes it, and then touches the task no more.
pub fn park(gate: &Gate) {
    gate.release(PARKED);
}
