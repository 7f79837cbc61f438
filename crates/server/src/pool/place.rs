//! What a pool thread runs since when, for the watcher: the place that it takes among `threads_active`.
//!
//! ```text
//!   FREE        -> HOLDS           [begin]              the thread runs a task
//!   HOLDS       -> WAITS -> HOLDS  [Pool::blocking]     another thread has the place meanwhile
//!   HOLDS       -> GIVEN           [watcher]            the same until the run ends: it is stuck in something that nobody announced
//!   HOLDS/GIVEN -> LONG            [watcher]            the run took too much CPU: the thread is not counted any more
//!   any         -> FREE            [end]
//! ```
//! * PLACE-1: of each thread the watcher moves HOLDS and GIVEN only, by compare-and-swap on a state that names the run's tick.
//! * PLACE-2: who leaves HOLDS for WAITS or GIVEN counts the thread as blocked; who leaves those counts it no more.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use rustix::process::{Pid, setpriority_process};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Free,
    Holds,
    Waits,
    Given,
    Long,
}

const KIND_BITS: u32 = 3;

/// A kind, and the watcher's tick at which the run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(u64);

impl State {
    fn new(kind: Kind, tick: u64) -> State {
        State(tick << KIND_BITS | kind as u64)
    }

    pub fn kind(self) -> Kind {
        match self.0 & ((1 << KIND_BITS) - 1) {
            0 => Kind::Free,
            1 => Kind::Holds,
            2 => Kind::Waits,
            3 => Kind::Given,
            _ => Kind::Long,
        }
    }

    pub fn tick(self) -> u64 {
        self.0 >> KIND_BITS
    }
}

pub(super) struct Place {
    state: AtomicU64,
    /// The kernel's number of the thread.
    thread: Option<i32>,
    niceness: AtomicI32,
    /// The watcher's tick at which a run last began that was not long from the first.
    begun: AtomicU64,
    /// The pool's name for the task that runs.
    token: AtomicU64,
    /// A long run waits in `Pool::blocking`: it needs no turn.
    away: AtomicBool,
    /// Of the watcher: the run that it looks at, and the CPU time of the thread when it first did.
    seen_run: AtomicU64,
    seen_cpu_ns: AtomicU64,
}

impl Place {
    /// Of the calling thread.
    pub fn of_this_thread() -> Place {
        let link = std::fs::read_link("/proc/thread-self").ok();
        let thread = link.and_then(|path| path.file_name()?.to_str()?.parse().ok());
        Place {
            state: AtomicU64::new(0),
            thread,
            niceness: AtomicI32::new(0),
            begun: AtomicU64::new(0),
            token: AtomicU64::new(0),
            away: AtomicBool::new(false),
            seen_run: AtomicU64::new(u64::MAX),
            seen_cpu_ns: AtomicU64::new(0),
        }
    }

    #[inline]
    pub fn begin(&self, kind: Kind, tick: u64) {
        if kind == Kind::Holds {
            self.begun.store(tick, Ordering::Relaxed);
        }
        self.state.store(State::new(kind, tick).0, Ordering::Release);
    }

    pub fn set_task(&self, token: u64) {
        self.token.store(token, Ordering::Relaxed);
    }

    pub fn task(&self) -> u64 {
        self.token.load(Ordering::Relaxed)
    }

    pub fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::Relaxed);
    }

    /// A long run that can use a core.
    pub fn wants_turns(&self) -> bool {
        self.state().kind() == Kind::Long && !self.away.load(Ordering::Relaxed)
    }

    /// What the run has become.
    #[inline]
    pub fn end(&self) -> Kind {
        State(self.state.swap(0, Ordering::AcqRel)).kind()
    }

    pub fn state(&self) -> State {
        State(self.state.load(Ordering::Acquire))
    }

    /// False if the run is over, or has changed its kind.
    pub fn advance(&self, from: State, to: Kind) -> bool {
        let to = State::new(to, from.tick()).0;
        self.state.compare_exchange(from.0, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// CPU that the run has taken since the watcher first saw it; `None` where the kernel does not tell.
    pub fn cpu_ns_since_seen(&self, run: State) -> Option<u64> {
        let now = self.cpu_ns()?;
        if self.seen_run.swap(run.tick(), Ordering::Relaxed) != run.tick() {
            self.seen_cpu_ns.store(now, Ordering::Relaxed);
        }
        Some(now.saturating_sub(self.seen_cpu_ns.load(Ordering::Relaxed)))
    }

    /// CPU that the thread has taken.
    pub fn cpu_ns(&self) -> Option<u64> {
        cpu_ns(self.thread?)
    }

    /// A short run began at this tick of the watcher or later.
    pub fn had_short_run_since(&self, tick: u64) -> bool {
        self.state().kind() != Kind::Long && self.begun.load(Ordering::Relaxed) >= tick
    }

    pub fn niceness(&self) -> i32 {
        self.niceness.load(Ordering::Relaxed)
    }

    /// Lowers the thread's priority, if it is not as low. The way back needs a privilege, so there is none.
    pub fn lower_to(&self, niceness: i32) {
        if self.niceness.fetch_max(niceness, Ordering::Relaxed) < niceness {
            // Without it the work is done all the same.
            let _ = setpriority_process(self.thread.and_then(Pid::from_raw), niceness);
        }
    }
}

/// Time that a thread of this process has had a core: the first number of its `schedstat`.
fn cpu_ns(thread: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_over_is_not_moved() {
        let place = Place::of_this_thread();
        place.begin(Kind::Holds, 7);
        let seen = place.state();
        assert_eq!((seen.kind(), seen.tick()), (Kind::Holds, 7));
        assert_eq!(place.end(), Kind::Holds);
        assert!(!place.advance(seen, Kind::Long));
        place.begin(Kind::Holds, 8);
        assert!(!place.advance(seen, Kind::Long));
        assert!(place.advance(place.state(), Kind::Given));
        assert!(place.advance(place.state(), Kind::Long));
        assert_eq!(place.end(), Kind::Long);
        assert_eq!(place.end(), Kind::Free);
    }
}
