//! Threads for what may take longer than the front's own thread may stand still.
//!
//! WORKERS-1: there are no more than `WORKERS_MAX` of them, and none `WORKER_IDLE` after the last work.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;
use vaquita_types::stack;

use super::limits::{WAITING_MAX, WORKER_IDLE, WORKERS_MAX};

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
pub struct Workers(Arc<Shared>);

impl Workers {
    /// Runs `job` on a worker. `None`: too much waits already, or it panicked, which the log says.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let is_taken = self.put(Box::new(move || {
            // Whoever asked may be gone.
            let _ = answer.send(job());
        }));
        if is_taken { answered.await.ok() } else { None }
    }

    fn put(&self, job: Job) -> bool {
        let mut state = self.0.state.lock();
        if state.waiting.len() >= WAITING_MAX {
            return false;
        }
        state.waiting.push_back(job);
        if state.idle < state.waiting.len() && state.threads < WORKERS_MAX {
            let shared = self.0.clone();
            let thread = std::thread::Builder::new().name("http-work".into()).stack_size(stack::THREAD_BYTES);
            match thread.spawn(move || work(&shared)) {
                Ok(_) => state.threads += 1,
                Err(error) if state.threads == 0 => {
                    tracing::warn!("no thread for a request over HTTP: {error}");
                    state.waiting.pop_back();
                    return false;
                }
                // The others do it.
                Err(_) => {}
            }
        }
        self.0.more.notify_one();
        true
    }
}

fn work(shared: &Shared) {
    let mut state = shared.state.lock();
    loop {
        if let Some(job) = state.waiting.pop_front() {
            drop(state);
            // The hook has logged a panic.
            let _ = catch_unwind(AssertUnwindSafe(job));
            state = shared.state.lock();
            continue;
        }
        state.idle += 1;
        let is_over = shared.more.wait_for(&mut state, WORKER_IDLE).timed_out();
        state.idle -= 1;
        if is_over && state.waiting.is_empty() {
            state.threads -= 1;
            return;
        }
    }
}
