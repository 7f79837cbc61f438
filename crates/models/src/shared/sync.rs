//! `storage::base::sync` for models: the interface of parking_lot on the primitives of `backend`, which a model checker schedules.
//!
//! Time does not pass in a model. A wait with a deadline that is over times out; any other waits for ever,
//! so that a lost wakeup is a deadlock that the checker reports.

use std::ops::{Deref, DerefMut};
use std::time::Instant;

use crate::backend;
pub use crate::backend::{atomic, thread};

/// Two, so that keys share a shard and do not.
pub const LOCK_SHARDS: usize = 2;
pub const SINGLE_LOCKS: usize = 1;
pub const ACTIVE_SHARDS: usize = 1;
pub const RECENT_SLOTS: usize = 4;
pub const ROW_SHARDS: usize = 1;
pub const CHANGES_KEPT: usize = 2;

#[derive(Default)]
pub struct Mutex<T>(backend::Mutex<T>);

pub struct MutexGuard<'a, T> {
    /// Empty only while a condition variable has it.
    guard: Option<backend::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    pub fn new(value: T) -> Mutex<T> {
        Mutex(backend::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { guard: Some(self.0.lock().expect("no thread panics")) }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("held")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("held")
    }
}

#[derive(Default)]
pub struct RwLock<T>(backend::RwLock<T>);

impl<T> RwLock<T> {
    pub fn new(value: T) -> RwLock<T> {
        RwLock(backend::RwLock::new(value))
    }

    pub fn read(&self) -> backend::RwLockReadGuard<'_, T> {
        self.0.read().expect("no thread panics")
    }

    pub fn write(&self) -> backend::RwLockWriteGuard<'_, T> {
        self.0.write().expect("no thread panics")
    }
}

pub struct Condvar(backend::Condvar);

pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    pub fn new() -> Condvar {
        Condvar(backend::Condvar::new())
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        if let Some(inner) = guard.guard.take() {
            guard.guard = Some(self.0.wait(inner).expect("no thread panics"));
        }
    }

    /// A deadline that is over needs no letting go of the mutex: whoever overtakes does so before or after.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, deadline: Instant) -> WaitTimeoutResult {
        if deadline > Instant::now() {
            self.wait(guard);
            return WaitTimeoutResult(false);
        }
        WaitTimeoutResult(true)
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
