//! How a session is told to stop: KILL, a closed connection, `max_execution_time`.
//!
//! A running statement looks at `check()` now and then; a statement that waits for a lock is
//! woken. Example: KILL QUERY 7 calls `raise(KillQuery)` on session 7's interrupt, and its
//! UPDATE, waiting for a row, returns error 1317 at once.

use std::sync::Arc;

use vaquita_types::errno::{ER_QUERY_INTERRUPTED, ER_QUERY_TIMEOUT};
use vaquita_types::{Error, Result};

use super::manager::Owner;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU8, Ordering};

/// Shared by a session and whoever may kill it.
pub struct Interrupt {
    pub session_id: u64,
    reason: AtomicU8,
    /// The owner that waits for a lock now.
    waiting: Mutex<Option<Arc<Owner>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum InterruptReason {
    None = 0,
    /// KILL QUERY: error 1317.
    KillQuery = 1,
    /// KILL CONNECTION: error 1317, and the session ends.
    KillConnection = 2,
    /// `max_execution_time`: error 3024.
    Timeout = 3,
}

impl Interrupt {
    pub fn new(session_id: u64) -> Interrupt {
        Interrupt { session_id, reason: AtomicU8::new(0), waiting: Mutex::new(None) }
    }

    /// Wakes the session out of a lock wait; running statements see `check()`.
    pub fn raise(&self, reason: InterruptReason) {
        self.reason.store(reason as u8, Ordering::SeqCst);
        if let Some(owner) = &*self.waiting.lock() {
            owner.interrupt_wait();
        }
    }

    /// At the start of the next statement. A KILL CONNECTION stays.
    pub fn clear(&self) {
        if self.reason() == InterruptReason::None {
            return;
        }
        let _ = self.reason.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |r| {
            (r != InterruptReason::KillConnection as u8).then_some(InterruptReason::None as u8)
        });
    }

    #[inline]
    pub fn reason(&self) -> InterruptReason {
        match self.reason.load(Ordering::Relaxed) {
            1 => InterruptReason::KillQuery,
            2 => InterruptReason::KillConnection,
            3 => InterruptReason::Timeout,
            _ => InterruptReason::None,
        }
    }

    /// Ok, or the error of the reason: for loops that may run long.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.reason() {
            InterruptReason::None => Ok(()),
            InterruptReason::Timeout => Err(Error::new(&ER_QUERY_TIMEOUT, &[])),
            InterruptReason::KillQuery | InterruptReason::KillConnection => Err(Error::new(&ER_QUERY_INTERRUPTED, &[])),
        }
    }

    /// From here on `raise` wakes `owner`; one raised before is seen by the caller's `check`.
    pub(super) fn start_wait(&self, owner: &Arc<Owner>) {
        *self.waiting.lock() = Some(Arc::clone(owner));
    }

    pub(super) fn end_wait(&self) {
        *self.waiting.lock() = None;
    }
}
