//! Iterators that a finished scan left for the next one, each of which keeps a version of the files and memtables alive.

use parking_lot::Mutex;

use super::Iter;

/// Iterators kept for the next scan.
const IDLE_ITERS_MAX: usize = 64;

#[derive(Default)]
pub struct IdleIters(Mutex<Vec<Iter>>);

impl IdleIters {
    /// An iterator that an earlier scan left, moved to now.
    pub fn take(&self) -> Option<Iter> {
        let mut iter = self.0.lock().pop()?;
        iter.refresh().then_some(iter)
    }

    /// One that got a snapshot of its own is given up.
    pub fn keep(&self, iter: Iter) {
        if iter.snapshot().is_some() {
            return;
        }
        let mut idle = self.0.lock();
        if idle.len() < IDLE_ITERS_MAX {
            idle.push(iter);
        }
    }

    pub fn clear(&self) {
        // Destroyed outside the mutex.
        let idle = std::mem::take(&mut *self.0.lock());
        drop(idle);
    }
}
