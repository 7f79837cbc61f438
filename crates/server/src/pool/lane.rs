//! The lane of long statements: threads whose priority may have been lowered, and the sessions whose last statement was long.
//!
//! A thread that was lowered cannot get its priority back, so after its run it waits here for another session of that kind, or
//! ends. A session comes here only if a thread waits: nobody stands in line, and without one it begins among the short ones as any other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Threads that wait here at most, and for how long.
const THREADS_MAX: usize = 64;
const WAIT: Duration = Duration::from_secs(5);

pub(super) struct Lane<T: ?Sized> {
    queue: Mutex<Queue<T>>,
    came: Condvar,
}

struct Queue<T: ?Sized> {
    tasks: VecDeque<Arc<T>>,
    waiting: usize,
}

impl<T: ?Sized> Lane<T> {
    pub fn new() -> Lane<T> {
        Lane { queue: Mutex::new(Queue { tasks: VecDeque::new(), waiting: 0 }), came: Condvar::new() }
    }

    /// True if a waiting thread takes the task.
    pub fn offer(&self, task: &Arc<T>) -> bool {
        let mut queue = self.queue.lock();
        if queue.tasks.len() >= queue.waiting {
            return false;
        }
        queue.tasks.push_back(task.clone());
        self.came.notify_one();
        true
    }

    /// The next task for the calling thread; `None`: it is not needed.
    pub fn take(&self) -> Option<Arc<T>> {
        let mut queue = self.queue.lock();
        if queue.waiting >= THREADS_MAX {
            return None;
        }
        queue.waiting += 1;
        while queue.tasks.is_empty() && !self.came.wait_for(&mut queue, WAIT).timed_out() {}
        queue.waiting -= 1;
        queue.tasks.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_stands_in_line() {
        let lane = Arc::new(Lane::new());
        assert!(!lane.offer(&Arc::new(1)));
        let thread = std::thread::spawn({
            let lane = lane.clone();
            move || lane.take()
        });
        while !lane.offer(&Arc::new(2)) {
            std::thread::yield_now();
        }
        assert!(!lane.offer(&Arc::new(3)));
        assert_eq!(thread.join().expect("joined").as_deref(), Some(&2));
    }
}
