//! Threads that help the one of a statement: of all statements together no more than there are cores.
//!
//! They run at a lower priority, and the statement's own thread waits for them: long work takes the cores that short statements leave.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use vaquita_types::stack;

static BUSY: AtomicUsize = AtomicUsize::new(0);
static CORES: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));

pub fn cores() -> usize {
    *CORES
}

/// A third of the share of a thread of a session, where both want a core.
const NICENESS: i32 = 5;

/// Things that threads take one after the other, in their order.
pub struct Queue<'a, T> {
    items: &'a [T],
    taken: AtomicUsize,
}

impl<'a, T> Queue<'a, T> {
    pub fn new(items: &'a [T]) -> Queue<'a, T> {
        Queue { items, taken: AtomicUsize::new(0) }
    }

    /// The next one and its number; none are left behind the last, or after `stop`.
    pub fn take(&self) -> Option<(usize, &'a T)> {
        let at = self.taken.fetch_add(1, Ordering::Relaxed);
        self.items.get(at).map(|item| (at, item))
    }

    /// Nobody takes another one.
    pub fn stop(&self) {
        self.taken.store(self.items.len(), Ordering::Relaxed);
    }
}

/// A helper gives way to who waits for its core. By itself the kernel may let them wait until its clock ticks, each 1 to 10 ms.
pub struct Pace {
    rows: u32,
    since: Instant,
}

/// After so many rows the time is looked at.
const ROWS_BETWEEN: u32 = 64;
const TURN: Duration = Duration::from_micros(200);

impl Pace {
    pub fn begin() -> Pace {
        Pace { rows: 0, since: Instant::now() }
    }

    /// After each row.
    #[inline]
    pub fn step(&mut self) {
        self.rows += 1;
        if self.rows >= ROWS_BETWEEN {
            self.rows = 0;
            self.give_way();
        }
    }

    fn give_way(&mut self) {
        if self.since.elapsed() >= TURN {
            thread::yield_now();
            self.since = Instant::now();
        }
    }
}

/// Permits for helping threads, given back when dropped.
pub struct Helpers(usize);

impl Helpers {
    /// As many of those wanted as there are cores free.
    pub fn take(wanted: usize) -> Helpers {
        let mut taken = 0;
        let _ = BUSY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |busy| {
            taken = wanted.min(cores().saturating_sub(1).saturating_sub(busy));
            Some(busy + taken)
        });
        Helpers(taken)
    }

    pub fn is_none(&self) -> bool {
        self.0 == 0
    }

    pub fn count(&self) -> usize {
        self.0
    }

    /// Runs `own` on the calling thread, and `work` meanwhile on as many threads as there are permits for. `own` tells them when to end.
    pub fn run_beside<T>(&self, name: &str, work: impl Fn() + Sync, own: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            let yielding = || {
                // Without it the work is done all the same.
                let _ = rustix::process::nice(NICENESS);
                work();
            };
            for n in 0..self.0 {
                let thread = thread::Builder::new().name(format!("{name} {n}")).stack_size(stack::THREAD_BYTES);
                // Without the thread the calling one does it all.
                let _ = thread.spawn_scoped(scope, yielding);
            }
            own()
        })
    }

    /// Runs `work` on one thread more than there are permits for, since the calling one only waits; without permits on the calling
    /// thread. Returns what each has made.
    pub fn run<T: Send>(&self, name: &str, work: impl Fn() -> T + Sync) -> Vec<T> {
        if self.is_none() {
            return vec![work()];
        }
        thread::scope(|scope| {
            let yielding = || {
                // Without it the work is done all the same.
                let _ = rustix::process::nice(NICENESS);
                work()
            };
            let spawn = |n| {
                let thread = thread::Builder::new().name(format!("{name} {n}")).stack_size(stack::THREAD_BYTES);
                thread.spawn_scoped(scope, yielding)
            };
            let threads: Vec<_> = (0..=self.0).map_while(|n| spawn(n).ok()).collect();
            if threads.is_empty() {
                return vec![work()];
            }
            // A helper does not panic; if it did, the process has ended.
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        })
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        BUSY.fetch_sub(self.0, Ordering::Relaxed);
    }
}
