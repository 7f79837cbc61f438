//! Threads for what may take longer than the front's own thread may stand still.
//!
//! WORKERS-1: there are no more than `WORKERS_MAX` of them, and none `WORKER_IDLE` after the last work.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
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

    /// The same for jobs of which one runs at a time, so that those that hang take one worker. `None` as well: it is not done after `wait`, or the one
    /// before is not.
    pub async fn run_alone<T: Send + 'static>(
        &self,
        place: &Arc<Semaphore>,
        wait: Duration,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let run = async {
            let place = place.clone().acquire_owned().await.ok()?;
            self.run(move || {
                let done = job();
                drop(place);
                done
            })
            .await
        };
        timeout(wait, run).await.ok().flatten()
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_hangs_takes_one_worker() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let (workers, place) = (Workers::default(), Arc::new(Semaphore::new(1)));
        let (end, hangs) = mpsc::channel::<()>();
        runtime.block_on(async {
            let hung = workers.run_alone(&place, SOON, move || hangs.recv().is_ok()).await;
            assert_eq!(hung, None);
            // As often as it is asked for, the others work.
            for _ in 0..2 * WORKERS_MAX {
                assert_eq!(workers.run_alone(&place, SOON, || ()).await, None);
            }
            assert_eq!(workers.run(|| 7).await, Some(7));
            assert_eq!(workers.0.state.lock().waiting.len(), 0);
            end.send(()).expect("it still waits");
            assert_eq!(workers.run_alone(&place, LONG, || 8).await, Some(8));
        });
    }
}
