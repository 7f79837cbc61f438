//! Threads that help the one of a statement: of all statements together no more than there are cores.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

static BUSY: AtomicUsize = AtomicUsize::new(0);
static CORES: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));

pub fn cores() -> usize {
    *CORES
}

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

    /// Runs `work` on the calling thread and on the helping ones. Returns what each has made, the caller's first.
    pub fn run<T: Send>(&self, name: &str, work: impl Fn() -> T + Sync) -> Vec<T> {
        thread::scope(|scope| {
            let helpers: Vec<_> = (0..self.0)
                .map_while(|n| thread::Builder::new().name(format!("{name} {n}")).spawn_scoped(scope, &work).ok())
                .collect();
            let mut made = vec![work()];
            // A helper does not panic; if it did, the process has ended.
            made.extend(helpers.into_iter().filter_map(|helper| helper.join().ok()));
            made
        })
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        BUSY.fetch_sub(self.0, Ordering::Relaxed);
    }
}
