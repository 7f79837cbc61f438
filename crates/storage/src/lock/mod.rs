//! The lock manager.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Row locks are S or X; tables also know the intention modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LockMode {
    IS,
    IX,
    S,
    X,
}

/// What to do when a lock is not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPolicy {
    /// Error 1205 after that long.
    Wait(Duration),
    /// Error 3572.
    NoWait,
    /// Go on without the row.
    SkipLocked,
}

/// How a session is told to stop; shared by the session and whoever kills it.
pub struct Interrupt {
    pub session_id: u64,
    reason: AtomicU8,
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
        Interrupt { session_id, reason: AtomicU8::new(0) }
    }

    /// Wakes the session out of a lock wait; running statements see `reason()`.
    pub fn raise(&self, reason: InterruptReason) {
        self.reason.store(reason as u8, Ordering::SeqCst);
    }

    /// At the start of the next statement.
    pub fn clear(&self) {
        self.reason.store(0, Ordering::SeqCst);
    }

    pub fn reason(&self) -> InterruptReason {
        match self.reason.load(Ordering::Relaxed) {
            1 => InterruptReason::KillQuery,
            2 => InterruptReason::KillConnection,
            3 => InterruptReason::Timeout,
            _ => InterruptReason::None,
        }
    }

    /// Ok, or the error of the reason: for loops that may run long.
    pub fn check(&self) -> vaquita_types::Result<()> {
        Ok(())
    }
}

/// A line of performance_schema.data_locks.
#[derive(Clone, Debug)]
pub struct LockInfo {
    pub txn: u64,
    /// Key bytes of a row, or empty for a table.
    pub key: Vec<u8>,
    pub table: Option<vaquita_types::schema::TableId>,
    pub mode: LockMode,
    pub granted: bool,
    /// The transactions a waiter waits for.
    pub blocked_by: Vec<u64>,
}

pub struct LockManager {}

impl LockManager {
    pub fn dump(&self) -> Vec<LockInfo> {
        todo!()
    }

    /// The text of the last deadlock, for SHOW ENGINE INNODB STATUS.
    pub fn latest_deadlock(&self) -> Option<String> {
        todo!()
    }
}
