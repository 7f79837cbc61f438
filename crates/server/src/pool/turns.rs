//! Turns of the long runs: when there are more of them than cores, as many as there are cores go on and the others are held.
//!
//! With all of them ready to run at once the kernel, whatever their priority, lets a thread that wakes up wait for several of
//! them, and one that was preempted with a mutex for all of them (64 runs beside point selects on two cores: 99.9th percentile 62 ms
//! and 4 ms with two). Each turn goes to those who had the fewest; a new run begins a little before the others.
//!
//! A run is held where it looks (`Task::hold`). One that does not look long enough is lowered as far as the kernel knows.

use std::collections::HashMap;
use std::sync::Arc;

use super::Pool;
use super::place::Place;

/// Ticks of a turn: 20 ms.
const TURN_TICKS: u32 = 5;
/// Turns that a new run has before the others.
const HEAD_START: u64 = 5;
/// After so many turns it is looked who went on nevertheless, which is CPU of more than this.
const TURNS_BETWEEN_LOOKS: u32 = 10;
const HEEDLESS_CPU_NS: u64 = 8_000_000;
const NICENESS_OF_HEEDLESS: i32 = 19;

#[derive(Default)]
pub(super) struct Turns {
    of: HashMap<u64, Turn>,
    ticks: u32,
    turns: u32,
}

struct Turn {
    had: u64,
    held: bool,
    /// When the watcher last looked whether it heeds: the CPU of its thread, if it was held and has been since.
    held_cpu_ns: Option<u64>,
}

impl Turns {
    /// Called each tick with the threads of long runs. True if they must take turns.
    pub fn tick(&mut self, pool: &Pool, long: &[Arc<Place>]) -> bool {
        let go = |token: u64| {
            if let Some(task) = pool.task(token) {
                task.hold(false);
            }
        };
        self.of.retain(|token, turn| {
            let stays = long.iter().any(|place| place.task() == *token);
            if !stays && turn.held {
                go(*token);
            }
            stays
        });
        let least = self.of.values().map(|turn| turn.had).min().unwrap_or(0);
        let known = self.of.len();
        for place in long {
            self.of.entry(place.task()).or_insert(Turn { had: least.saturating_sub(HEAD_START), held: false, held_cpu_ns: None });
        }
        let cores = vaquita_storage::helpers::cores();
        if self.of.len() <= cores {
            for (token, turn) in self.of.iter_mut().filter(|(_, turn)| turn.held) {
                turn.held = false;
                go(*token);
            }
            return false;
        }
        self.ticks += 1;
        if self.ticks >= TURN_TICKS || self.of.len() != known {
            self.ticks = 0;
            self.next_turn(pool, long, cores);
        }
        true
    }

    fn next_turn(&mut self, pool: &Pool, long: &[Arc<Place>], cores: usize) {
        let mut order: Vec<(&u64, &mut Turn)> = self.of.iter_mut().collect();
        order.sort_unstable_by_key(|(token, turn)| (turn.had, **token));
        for (n, (token, turn)) in order.into_iter().enumerate() {
            let held = n >= cores;
            if !held {
                turn.had += 1;
                turn.held_cpu_ns = None;
            }
            // Also those that are held already: a hold of a run that ends a statement does not reach the next.
            if (held || turn.held)
                && let Some(task) = pool.task(*token)
            {
                task.hold(held);
            }
            turn.held = held;
        }
        self.turns += 1;
        if self.turns.is_multiple_of(TURNS_BETWEEN_LOOKS) {
            self.look_who_heeds(long);
        }
    }

    fn look_who_heeds(&mut self, long: &[Arc<Place>]) {
        for place in long {
            let Some(turn) = self.of.get_mut(&place.task()).filter(|turn| turn.held) else { continue };
            let now = place.cpu_ns();
            if let (Some(before), Some(now)) = (turn.held_cpu_ns, now)
                && now.saturating_sub(before) > HEEDLESS_CPU_NS
            {
                place.lower_to(NICENESS_OF_HEEDLESS);
            }
            turn.held_cpu_ns = now;
        }
    }
}
