//! The watcher: long runs give their places away.
//!
//! While tasks run it looks, each `TICK`, at what has run since an earlier look:
//! 1. A run that took `CPU_LONG` becomes LONG: its thread leaves the count; a new one takes the place. As many long runs as there are cores go on
//!    at a time (`turns`). While short runs begin beside them, long ones and their helpers have a lower priority. A statement that nothing of
//!    this server waits for keeps its own, which other programs on the machine have too.
//! 2. A run that has held its place for `HELD_TICKS_MAX` without that waits for something: another thread takes the place until it ends.
//! 3. When every place is held for two ticks, long statements have come all at once: the places double each tick, so that what is short
//!    among them, or behind them, does not wait for 5 ms of each.
//!
//! A short run costs two writes to memory of its own. Without runs the watcher sleeps until somebody begins one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use vaquita_storage::helpers;

use super::Pool;
use super::place::{Kind, Place, State};
use super::turns::Turns;

const TICK: Duration = Duration::from_millis(4);
/// CPU after which a run is long, counted from the first tick that saw it; and in a burst of them.
const CPU_LONG_NS: u64 = 3_500_000;
const CPU_LONG_IN_BURST_NS: u64 = 1_000_000;
const HELD_TICKS_MAX: u64 = 8;
/// Places that a burst may add.
const BURST_PLACES_MAX: usize = 64;
/// Looks in vain before the watcher sleeps, and how long at most: a run that began in that moment may have missed it.
const IDLE_TICKS_MAX: u32 = 25;
const SLEEP: Duration = Duration::from_secs(1);
/// As of helpers: a third of the share of a short run.
pub(super) const NICENESS: i32 = 5;
/// So long after the last short run that began beside a long one, more are expected: a second.
const SHORT_EXPECTED_TICKS: u64 = 250;

impl Pool {
    pub(super) fn watch(self: Arc<Self>) {
        let _ = self.watcher.set(std::thread::current());
        let mut idle_ticks = 0;
        let mut turns = Turns::default();
        let mut short_until = 0;
        while !self.stopping.load(Ordering::Relaxed) {
            if idle_ticks < IDLE_TICKS_MAX {
                std::thread::sleep(TICK);
            } else {
                short_until = 0;
                helpers::set_short_beside(false);
                self.watching.store(false, Ordering::SeqCst);
                std::thread::park_timeout(SLEEP);
                self.watching.store(true, Ordering::SeqCst);
                idle_ticks = 0;
            }
            let tick = self.tick.fetch_add(1, Ordering::Relaxed) + 1;
            idle_ticks = if self.look(tick, &mut turns, &mut short_until) { 0 } else { idle_ticks + 1 };
        }
    }

    /// A run begins while the watcher sleeps.
    #[cold]
    pub(super) fn wake_watcher(&self) {
        if let Some(watcher) = self.watcher.get()
            && !self.watching.swap(true, Ordering::SeqCst)
        {
            watcher.unpark();
        }
    }

    /// True if something runs that may become long.
    fn look(self: &Arc<Self>, tick: u64, turns: &mut Turns, short_until: &mut u64) -> bool {
        let places = self.places.lock().clone();
        let has_long = || helpers::are_busy() || places.iter().any(|place| place.state().kind() == Kind::Long);
        if places.iter().any(|place| place.had_short_run_since(tick.saturating_sub(1))) && has_long() {
            *short_until = tick + SHORT_EXPECTED_TICKS;
        }
        let short_beside = tick < *short_until;
        helpers::set_short_beside(short_beside);
        let burst = self.burst.load(Ordering::Relaxed);
        let cpu_ns_long = if burst == 0 { CPU_LONG_NS } else { CPU_LONG_IN_BURST_NS };
        let (mut held, mut free) = (0, 0);
        for place in &places {
            let state = place.state();
            match state.kind() {
                Kind::Holds | Kind::Given => held += 1,
                Kind::Free => free += 1,
                Kind::Waits => continue,
                Kind::Long => {
                    if short_beside {
                        place.lower_to(NICENESS);
                    }
                    continue;
                }
            }
            let ticks = tick.saturating_sub(state.tick());
            free += usize::from(state.kind() == Kind::Holds && ticks < 2);
            if state.kind() == Kind::Free || ticks == 0 {
                continue;
            }
            match place.cpu_ns_since_seen(state) {
                Some(cpu_ns) if cpu_ns >= cpu_ns_long => self.make_long(place, state),
                _ if ticks >= HELD_TICKS_MAX && state.kind() == Kind::Holds => self.give_away(place, state),
                _ => {}
            }
        }
        if held > 0 && free == 0 {
            self.burst
                .store((burst * 2).clamp(self.threads_active, BURST_PLACES_MAX.max(self.threads_active)), Ordering::Relaxed);
        } else if self.sleeping.load(Ordering::Relaxed) > 0 {
            self.burst.store(0, Ordering::Relaxed);
        }
        self.fill_places();
        let long: Vec<_> = places.into_iter().filter(|place| place.wants_turns()).collect();
        turns.tick(self, &long) || held > 0
    }

    fn make_long(&self, place: &Place, state: State) {
        if !place.advance(state, Kind::Long) {
            return;
        }
        self.threads.fetch_sub(1, Ordering::SeqCst);
        if state.kind() == Kind::Given {
            self.blocked.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn give_away(&self, place: &Place, state: State) {
        // First the count: the run's end may take it back at once.
        self.blocked.fetch_add(1, Ordering::SeqCst);
        if !place.advance(state, Kind::Given) {
            self.blocked.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// POOL-3.
    pub(super) fn fill_places(self: &Arc<Self>) {
        loop {
            let threads = self.threads.load(Ordering::SeqCst);
            if threads >= self.wanted().min(super::THREADS_MAX) {
                return;
            }
            if let Err(error) = self.spawn() {
                // The watcher tries again.
                if !self.spawn_failed.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, threads, "cannot start another pool thread");
                }
                return;
            }
            self.spawn_failed.store(false, Ordering::Relaxed);
        }
    }
}
