//! How a session is told to stop: KILL, a closed connection, `max_execution_time`.
//!
//! A running statement looks at `check()` now and then; a statement that waits for a lock is
//! woken. Example: KILL QUERY 7 calls `raise(KillQuery)` on session 7's interrupt, and its
//! UPDATE, waiting for a row, returns error 1317 at once.
//!
//! It is also how a long statement is held while others have their turn: loops that hold no mutex look at `check_in_turn()`, which waits.
//! A statement that runs to its end though its client is gone does not wait any more: who waits looks at `check_wait()`.
//!
//! For tests looks can be counted (`count_looks`): a loop in which nobody looks cannot be ended.

use std::sync::{Arc, Weak};
// Not those of the models, which cannot be in statics.
use std::sync::atomic::{AtomicBool as StaticBool, AtomicU64 as StaticU64};

use vaquita_types::errno::{ER_QUERY_INTERRUPTED, ER_QUERY_TIMEOUT};
use vaquita_types::{Error, Result};

use super::manager::Owner;
use crate::base::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use crate::base::sync::{Condvar, Mutex};

/// Shared by a session and whoever may kill it.
pub struct Interrupt {
    pub session_id: u64,
    /// An `InterruptReason`, or `HELD`, or `COUNTED`.
    reason: AtomicU8,
    /// What waits ends.
    abandoned: AtomicBool,
    /// The owner that waits for a lock now.
    waiting: Mutex<Option<Arc<Owner>>>,
    /// What the end of its last commit waited for, or waits.
    committing: Mutex<Option<Weak<dyn EndsWait>>>,
    held: Mutex<()>,
    turn: Condvar,
    /// What the session has waited for locks since it was asked, in microseconds.
    waited_us: StaticU64,
}

/// The end of a commit that is durable, for which its session waits.
pub trait EndsWait: Send + Sync {
    /// The session goes on.
    fn end_wait(&self);

    fn waits(&self) -> bool;
}

/// In the place of a reason: it is the turn of others.
const HELD: u8 = 0x80;
/// In the place of no reason: looks are counted. It is one that is not zero, so that counting costs the others nothing.
const COUNTED: u8 = 0x40;

static COUNTING: StaticBool = StaticBool::new(false);
static LOOKS: StaticU64 = StaticU64::new(0);

/// Counts looks at all interrupts that are made from here on.
pub fn count_looks() {
    COUNTING.store(true, Ordering::Relaxed);
}

/// How often they were looked at, if that is counted.
pub fn looks() -> Option<u64> {
    COUNTING.load(Ordering::Relaxed).then(|| LOOKS.load(Ordering::Relaxed))
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
        let (held, turn) = (Mutex::new(()), Condvar::new());
        let (reason, abandoned) = (AtomicU8::new(no_reason()), AtomicBool::new(false));
        let (waiting, committing, waited_us) = (Mutex::new(None), Mutex::new(None), StaticU64::new(0));
        Interrupt { session_id, reason, abandoned, waiting, committing, held, turn, waited_us }
    }

    /// The session has waited for a lock.
    pub(super) fn waited(&self, us: u64) {
        self.waited_us.fetch_add(us, Ordering::Relaxed);
    }

    /// For how long it has waited for locks since the last call, in microseconds.
    #[inline]
    pub fn take_waited_us(&self) -> u64 {
        match self.waited_us.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.waited_us.swap(0, Ordering::Relaxed),
        }
    }

    /// Wakes the session out of a lock wait; running statements see `check()`.
    pub fn raise(&self, reason: InterruptReason) {
        if self.reason.swap(reason as u8, Ordering::SeqCst) == HELD {
            self.wake_held();
        }
        if let Some(owner) = &*self.waiting.lock() {
            owner.interrupt_wait();
        }
        // KILL QUERY has nothing to end: the statement is done.
        if reason == InterruptReason::KillConnection {
            self.end_commit();
        }
    }

    /// Ends the statement's wait, and those to come; what it does goes on.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::SeqCst);
        if let Some(owner) = &*self.waiting.lock() {
            owner.interrupt_wait();
        }
        self.end_commit();
    }

    /// The session waits for the end of a commit, unless nobody will hear of it.
    pub fn waits_with(&self, commit: Weak<dyn EndsWait>) {
        *self.committing.lock() = Some(commit);
        if self.reason() == InterruptReason::KillConnection || self.abandoned.load(Ordering::SeqCst) {
            self.end_commit();
        }
    }

    fn end_commit(&self) {
        let commit = self.committing.lock().take();
        if let Some(commit) = commit.and_then(|commit| commit.upgrade()) {
            commit.end_wait();
        }
    }

    /// The session waits until others have its commit.
    pub fn waits_for_others(&self) -> bool {
        let commit = self.committing.lock().as_ref().and_then(Weak::upgrade);
        commit.is_some_and(|commit| commit.waits())
    }

    /// At the start of the next statement. A KILL CONNECTION stays.
    pub fn clear(&self) {
        if self.abandoned.load(Ordering::Relaxed) {
            self.abandoned.store(false, Ordering::SeqCst);
        }
        if self.reason.load(Ordering::Relaxed) == 0 {
            return;
        }
        let _ = self
            .reason
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |r| (r != InterruptReason::KillConnection as u8).then(no_reason));
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
        if self.reason.load(Ordering::Relaxed) == 0 { Ok(()) } else { self.outcome() }
    }

    /// As `check`, for who waits.
    pub fn check_wait(&self) -> Result<()> {
        self.check()?;
        if self.abandoned.load(Ordering::SeqCst) { Err(Error::new(&ER_QUERY_INTERRUPTED, &[])) } else { Ok(()) }
    }

    #[cold]
    fn outcome(&self) -> Result<()> {
        match self.reason() {
            InterruptReason::None => {
                LOOKS.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
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

fn no_reason() -> u8 {
    if COUNTING.load(Ordering::Relaxed) { COUNTED } else { InterruptReason::None as u8 }
}
