//! Looks for better settings: changes one a little, compares what statements cost before and after, and keeps the change or undoes it.
//!
//! It counts in windows of some seconds and knows no clock, so that a test can play years of them (`simulated`). Of each setting it tries a
//! step up or down; a step that helped is followed by one in the same direction, one that did not is undone, and the setting then rests for
//! twice as long as before. Nothing is tried while the load is small or changes by itself: two windows must agree about what a statement costs.

use super::settings::{Setting, Settings};

/// Statements of a window from which their cost means something.
const STATEMENTS_MIN: u64 = 1_000;
/// Two windows agree if they differ by no more than this part.
const AGREES: f64 = 0.10;
/// A change is kept if it makes statements cheaper by this part.
const GAIN_MIN: f64 = 0.03;
/// The longest rest of a setting, in windows.
const REST_MAX: u32 = 360;

/// What the server did in one window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    pub statements: u64,
    /// Microseconds of CPU and of waiting for reads of the disk, of all statements together.
    pub cost_us: f64,
}

impl Window {
    fn cost_of_statement(&self) -> Option<f64> {
        (self.statements >= STATEMENTS_MIN).then(|| self.cost_us / self.statements as f64)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Try { setting: Setting, from: u64, to: u64, cost_us: f64 },
    Keep { setting: Setting, before_us: f64, after_us: f64 },
    Undo { setting: Setting, to: u64, why: Undone },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Undone {
    /// Statements cost so much before and after.
    NoGain { before_us: f64, after_us: f64 },
    /// Nobody can say what the change did.
    LoadChanged,
}

#[derive(Clone, Copy, Debug)]
struct Memory {
    up: bool,
    /// The next rest, and what is left of this one.
    rest: u32,
    resting: u32,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The window before, if it can be compared with.
    Watching(Option<f64>),
    Settling {
        trial: Trial,
        windows: u32,
    },
    /// The first window after the change.
    Judging {
        trial: Trial,
        first: Option<f64>,
    },
}

#[derive(Clone, Copy, Debug)]
struct Trial {
    setting: Setting,
    from: u64,
    before_us: f64,
}

pub struct Search {
    phase: Phase,
    memories: [Memory; Setting::ALL.len()],
    next: usize,
}

impl Default for Search {
    fn default() -> Search {
        Search { phase: Phase::Watching(None), memories: [Memory { up: true, rest: 1, resting: 0 }; Setting::ALL.len()], next: 0 }
    }
}

fn agree(one: f64, other: f64) -> bool {
    (one - other).abs() <= one.max(other) * AGREES
}

impl Search {
    /// Takes a window, and says what is to be done.
    pub fn window(&mut self, window: &Window, settings: &Settings) -> Option<Step> {
        for memory in &mut self.memories {
            memory.resting = memory.resting.saturating_sub(1);
        }
        let cost_us = window.cost_of_statement();
        match self.phase {
            Phase::Watching(before) => {
                self.phase = Phase::Watching(cost_us);
                let (before, now) = (before?, cost_us?);
                if agree(before, now) { self.begin((before + now) / 2.0, settings) } else { None }
            }
            Phase::Settling { trial, windows } => {
                self.phase = match windows {
                    0 | 1 => Phase::Judging { trial, first: None },
                    more => Phase::Settling { trial, windows: more - 1 },
                };
                None
            }
            Phase::Judging { trial, first: None } if cost_us.is_some() => {
                self.phase = Phase::Judging { trial, first: cost_us };
                None
            }
            Phase::Judging { trial, first } => {
                self.phase = Phase::Watching(None);
                let after_us = match (first, cost_us) {
                    (Some(first), Some(second)) if agree(first, second) => Some((first + second) / 2.0),
                    _ => None,
                };
                Some(self.judge(trial, after_us))
            }
        }
    }

    /// What was tried is of no interest any more, because somebody else has changed settings.
    pub fn forget(&mut self) {
        *self = Search { next: self.next, ..Search::default() };
    }

    /// The setting that is being tried, and its value before.
    pub fn trying(&self) -> Option<(Setting, u64)> {
        match self.phase {
            Phase::Watching(_) => None,
            Phase::Settling { trial, .. } | Phase::Judging { trial, .. } => Some((trial.setting, trial.from)),
        }
    }

    fn begin(&mut self, before_us: f64, settings: &Settings) -> Option<Step> {
        for turn in 0..Setting::ALL.len() {
            let at = (self.next + turn) % Setting::ALL.len();
            let setting = Setting::ALL[at];
            let state = settings.of(setting);
            let memory = &mut self.memories[at];
            if !state.matters || memory.resting > 0 {
                continue;
            }
            let step = state.step(setting, memory.up).or_else(|| {
                memory.up = !memory.up;
                state.step(setting, memory.up)
            });
            let Some(to) = step else { continue };
            self.next = at + 1;
            let trial = Trial { setting, from: state.value, before_us };
            self.phase = Phase::Settling { trial, windows: setting.settles_in() };
            return Some(Step::Try { setting, from: state.value, to, cost_us: before_us });
        }
        None
    }

    fn judge(&mut self, trial: Trial, after_us: Option<f64>) -> Step {
        let Trial { setting, from, before_us } = trial;
        let at = Setting::ALL.iter().position(|known| *known == setting).unwrap_or(0);
        let memory = &mut self.memories[at];
        if let Some(after_us) = after_us.filter(|after| *after <= before_us * (1.0 - GAIN_MIN)) {
            memory.rest = 1;
            // While it helps, on with it.
            self.next = at;
            return Step::Keep { setting, before_us, after_us };
        }
        memory.up = !memory.up;
        memory.resting = memory.rest;
        memory.rest = (memory.rest * 2).min(REST_MAX);
        let why = after_us.map_or(Undone::LoadChanged, |after_us| Undone::NoGain { before_us, after_us });
        Step::Undo { setting, to: from, why }
    }
}

#[cfg(test)]
mod simulated {
    use super::*;
    use crate::tuner::settings::Bounds;

    /// A server whose statements cost what `cost` says of its settings, with noise.
    struct Server<F: Fn(u64, u64, u64) -> f64> {
        settings: Settings,
        search: Search,
        cost: F,
        seed: u64,
        noise: f64,
        tries: u32,
        undone: u32,
    }

    const MB: u64 = 1 << 20;

    impl<F: Fn(u64, u64, u64) -> f64> Server<F> {
        fn new(noise: f64, cost: F) -> Server<F> {
            let mut settings = Settings::default();
            let bounds = [
                (Setting::Caches, 400 * MB, 64 * MB, 800 * MB),
                (Setting::WriteBuffer, 16 * MB, 8 * MB, 128 * MB),
                (Setting::BackgroundJobs, 2, 2, 6),
                (Setting::Level0Files, 4, 2, 16),
            ];
            for (setting, value, lowest, highest) in bounds {
                *settings.of_mut(setting) = Bounds { value, lowest, highest, matters: true };
            }
            Server { settings, search: Search::default(), cost, seed: 1, noise, tries: 0, undone: 0 }
        }

        fn cost_now(&self) -> f64 {
            let of = |setting| self.settings.of(setting).value;
            (self.cost)(of(Setting::Caches) / MB, of(Setting::WriteBuffer) / MB, of(Setting::BackgroundJobs))
        }

        fn run(&mut self, windows: u32) {
            for _ in 0..windows {
                self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let noise = 1.0 + self.noise * ((self.seed >> 33) as f64 / (1u64 << 30) as f64 - 1.0);
                let window = Window { statements: 10_000, cost_us: self.cost_now() * noise * 10_000.0 };
                match self.search.window(&window, &self.settings) {
                    Some(Step::Try { setting, to, .. }) => {
                        self.tries += 1;
                        self.settings.of_mut(setting).value = to;
                    }
                    Some(Step::Undo { setting, to, .. }) => {
                        self.undone += 1;
                        self.settings.of_mut(setting).value = to;
                    }
                    Some(Step::Keep { .. }) | None => {}
                }
            }
        }
    }

    /// Each miss reads the disk; the data are 600 MB.
    fn misses(cache_mb: u64) -> f64 {
        100.0 * (1.0 - (cache_mb as f64 / 600.0).min(1.0))
    }

    #[test]
    fn finds_the_cache_that_the_data_need_and_stays_there() {
        let mut server = Server::new(0.01, |cache, _, _| 20.0 + misses(cache));
        server.run(200);
        assert!(server.cost_now() < 21.0, "{}", server.cost_now());
        let undone = server.undone;
        server.run(2_000);
        assert!(server.cost_now() < 21.0, "{}", server.cost_now());
        assert!(server.undone - undone < 80, "{} of 2000 windows were used for tries that did not help", server.undone - undone);
    }

    #[test]
    fn gives_memory_back_where_the_page_cache_makes_more_of_it() {
        let mut server = Server::new(0.01, |cache, _, _| 20.0 + misses((800 - cache) * 2));
        server.run(400);
        assert!(server.cost_now() < 24.0, "{}", server.cost_now());
    }

    #[test]
    fn settings_are_found_side_by_side() {
        let cost =
            |cache: u64, buffer: u64, jobs: u64| 20.0 + misses(cache) + 400.0 / buffer as f64 + (jobs as f64 - 4.0).abs() * 3.0;
        let mut server = Server::new(0.01, cost);
        let best = cost(800, 128, 4);
        server.run(1_000);
        assert!(server.cost_now() < best * 1.2, "{} where {best} is possible", server.cost_now());
    }

    #[test]
    fn nothing_is_tried_while_the_load_changes_or_is_small() {
        let mut server = Server::new(0.5, |_, _, _| 20.0);
        server.run(300);
        assert!(server.tries < 60, "{}", server.tries);
        let mut search = Search::default();
        let settings = Server::new(0.0, |_, _, _| 1.0).settings;
        let idle = Window { statements: 10, cost_us: 10.0 };
        assert!((0..100).all(|_| search.window(&idle, &settings).is_none()));
    }

    #[test]
    fn what_nobody_can_judge_is_undone() {
        let settings = Server::new(0.0, |_, _, _| 1.0).settings;
        let mut search = Search::default();
        let window = |cost_us: f64| Window { statements: 1_000, cost_us: cost_us * 1_000.0 };
        let mut undone = None;
        for turn in 0..20 {
            // Twice as expensive with every window after the change, whatever it was.
            let cost = if search.trying().is_some() { 20.0 * f64::from(1 << turn.min(20)) } else { 20.0 };
            undone = undone.or(search.window(&window(cost), &settings).filter(|step| matches!(step, Step::Undo { .. })));
        }
        assert!(matches!(undone, Some(Step::Undo { why: Undone::LoadChanged, .. })), "{undone:?}");
    }
}
