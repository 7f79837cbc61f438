//! How a session is told to stop: KILL, a closed connection, `max_execution_time`.
//!
//! A running statement looks at `check()` now and then; a statement that waits for a lock is
//! woken. Example: KILL QUERY 7 calls `raise(KillQuery)` on session 7's interrupt, and its
//! UPDATE, waiting for a row, returns error 1317 at once.
//!
//! It is also how a long statement is held while others have their turn: loops that hold no mutex look at `check_in_turn()`, which waits.

use std::sync::Arc;

use vaquita_types::errno::{ER_QUERY_INTERRUPTED, ER_QUERY_TIMEOUT};
use vaquita_types::{Error, Result};

use super::manager::Owner;
use crate::base::sync::atomic::{AtomicU8, Ordering};
use crate::base::sync::{Condvar, Mutex};

/// Shared by a session and whoever may kill it.
pub struct Interrupt {
    pub session_id: u64,
    /// An `InterruptReason`, or `HELD`.
    reason: AtomicU8,
    /// The owner that waits for a lock now.
    waiting: Mutex<Option<Arc<Owner>>>,
    held: Mutex<()>,
    turn: Condvar,
}

/// In the place of a reason: it is the turn of others.
const HELD: u8 = 0x80;

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
        let (held, turn) = (Mutex::new(()), Condvar::new());
        Interrupt { session_id, reason: AtomicU8::new(0), waiting: Mutex::new(None), held, turn }
    }

    /// Wakes the session out of a lock wait; running statements see `check()`.
    pub fn raise(&self, reason: InterruptReason) {
        if self.reason.swap(reason as u8, Ordering::SeqCst) == HELD {
            self.wake_held();
        }
        if let Some(owner) = &*self.waiting.lock() {
            owner.interrupt_wait();
        }
    }

    /// At the start of the next statement. A KILL CONNECTION stays.
    pub fn clear(&self) {
        if self.reason.load(Ordering::Relaxed) == 0 {
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

    /// As `check`, in a loop of long work whose thread holds no mutex: it waits here while the statement is held.
    #[inline]
    pub fn check_in_turn(&self) -> Result<()> {
        if self.reason.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        self.wait_for_turn();
        self.check()
    }

    #[cold]
    fn wait_for_turn(&self) {
        let mut held = self.held.lock();
        while self.reason.load(Ordering::SeqCst) == HELD {
            self.turn.wait(&mut held);
        }
    }

    /// It is the turn of others, until `go`. Whoever is told to stop is not held.
    pub fn hold(&self) {
        let _ = self.reason.compare_exchange(0, HELD, Ordering::SeqCst, Ordering::SeqCst);
    }

    pub fn go(&self) {
        if self.reason.compare_exchange(HELD, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            self.wake_held();
        }
    }

    /// Who saw HELD under the mutex waits when this gets it.
    fn wake_held(&self) {
        drop(self.held.lock());
        self.turn.notify_all();
    }

    /// From here on `raise` wakes `owner`; one raised before is seen by the caller's `check`.
    pub(super) fn start_wait(&self, owner: &Arc<Owner>) {
        *self.waiting.lock() = Some(Arc::clone(owner));
    }

    pub(super) fn end_wait(&self) {
        *self.waiting.lock() = None;
    }
}
