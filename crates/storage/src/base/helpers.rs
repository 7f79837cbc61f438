//! Threads that help the one of a statement: of all statements together no more than there are cores.
//!
//! The statement's own thread waits for them. While short statements run beside them they run at a lower priority: long work takes the cores that
//! those leave. Alone they do not, because other programs on the machine would have three times their share.

use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use vaquita_types::stack;

static BUSY: AtomicUsize = AtomicUsize::new(0);
static SHORT_BESIDE: AtomicBool = AtomicBool::new(false);
static CORES: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));

pub fn cores() -> usize {
    *CORES
}

/// A third of the share of a thread of a session, where both want a core.
const NICENESS: i32 = 5;

thread_local! {
    /// Of a helper's thread: whether its priority is lower. There is no way back without a privilege.
    static LOWERED: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Whether there are short statements now that helpers should make way for.
pub fn set_short_beside(beside: bool) {
    SHORT_BESIDE.store(beside, Ordering::Relaxed);
}

pub fn is_short_beside() -> bool {
    SHORT_BESIDE.load(Ordering::Relaxed)
}

pub fn are_busy() -> bool {
    BUSY.load(Ordering::Relaxed) > 0
}

fn lower_beside_short() {
    if SHORT_BESIDE.load(Ordering::Relaxed) && LOWERED.get() == Some(false) {
        LOWERED.set(Some(true));
        // Without it the work is done all the same.
        let _ = rustix::process::nice(NICENESS);
    }
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

/// A helper gives way to who waits for its core. By itself the kernel may let them wait until its clock ticks, each 1 to 10 ms.
///
/// It gives way to threads of this process. Where it waits longer because of other programs, its next turn is longer as well: they take the
/// whole of their turns, and one who gives way after 200 µs would have a hundredth of the core.
pub struct Pace {
    rows: u32,
    since: Instant,
    turn: Duration,
}

/// After so many rows the time is looked at.
const ROWS_BETWEEN: u32 = 64;
const TURN: Duration = Duration::from_micros(200);
/// As long as the kernel lets others run.
const LONG_TURN: Duration = Duration::from_millis(4);
/// Who waits for less has a fair share all the same.
const LONG_WAIT: Duration = Duration::from_millis(1);

impl Pace {
    pub fn begin() -> Pace {
        Pace { rows: 0, since: Instant::now(), turn: TURN }
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
        let now = Instant::now();
        if now - self.since < self.turn {
            return;
        }
        lower_beside_short();
        let before = clock_gettime(ClockId::ProcessCPUTime);
        thread::yield_now();
        self.since = Instant::now();
        let waited = self.since - now;
        self.turn = TURN;
        if waited >= LONG_WAIT {
            let ours = clock_gettime(ClockId::ProcessCPUTime) - before;
            self.turn = turn_after(waited, ours.try_into().unwrap_or_default());
        }
    }
}

/// The turn after a wait in which threads of this process have run for `ours`.
fn turn_after(waited: Duration, ours: Duration) -> Duration {
    (waited.saturating_sub(ours) / 2).clamp(TURN, LONG_TURN)
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

    /// Runs `own` on the calling thread, and `work` meanwhile on as many threads as there are permits for. `own` tells them when to end. The permits
    /// are given back then: what follows may want helpers as well.
    pub fn run_beside<T>(self, name: &str, work: impl Fn() + Sync, own: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            let yielding = || {
                LOWERED.set(Some(false));
                lower_beside_short();
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
    /// thread. Returns what each has made. The permits are given back then.
    pub fn run<T: Send>(self, name: &str, work: impl Fn() -> T + Sync) -> Vec<T> {
        if self.is_none() {
            return vec![work()];
        }
        thread::scope(|scope| {
            let yielding = || {
                LOWERED.set(Some(false));
                lower_beside_short();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_other_programs_gets_longer_turns() {
        let ms = Duration::from_millis;
        assert_eq!(turn_after(ms(3), ms(0)), Duration::from_micros(1500));
        assert_eq!(turn_after(ms(30), ms(0)), LONG_TURN);
        assert_eq!(turn_after(ms(30), ms(29)), Duration::from_micros(500));
        assert_eq!(turn_after(ms(3), ms(6)), TURN);
    }
}
