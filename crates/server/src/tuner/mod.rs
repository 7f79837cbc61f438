//! The tuner: a thread that finds out what the machine is like, keeps the server within its memory, and tries better settings of the storage.
//!
//! | file | for |
//! |---|---|
//! | `machine` | cores, memory, how fast the disk is |
//! | `settings` | what may be changed, by which steps |
//! | `observed` | what the server does |
//! | `search` | which change is tried, and whether it is kept |
//! | `limit` | memory that the server has beyond its goal |
//!
//! The goals are variables (`vaquita_goal_memory`, `vaquita_goal_background_cpu`), and `vaquita_tuning` says what it may do. What it does is told in
//! `vaquita.tuning_log` (`session::tuning`). A value that was kept is stored, and taken by the next start on a machine with as many cores and as much
//! memory.
//!
//! It never knows RocksDB; it changes settings through the storage's `Store`, and knows no statement.

mod limit;
mod machine;
mod observed;
mod search;
mod settings;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use vaquita_session::tuning::{Change, Outcome, Tuned, Tuning};
use vaquita_session::variables::Var;
use vaquita_storage::{cores, goal_bytes, memory_shares, now_us};

use crate::fronts::mysql::front::Front;
use limit::{Limit, Memory};
use machine::Disk;
use observed::{Observed, observe};
use search::{Search, Step, Undone};
use settings::{Bounds, Setting, Settings};

/// How often it looks whether the server stops.
const LOOK: Duration = Duration::from_millis(250);
const ROUND: Duration = Duration::from_secs(1);
/// What one step is judged by is counted over so long.
const WINDOW: Duration = Duration::from_secs(10);
/// The disk is measured so long after the start, when whoever waited for the server has it.
const DISK_AFTER: Duration = Duration::from_secs(15);
/// Of a disk that is not measured yet.
const READ_US: f64 = 100.0;
const CACHES_MIN: u64 = 32 << 20;
const WRITE_BUFFER_MIN: u64 = 8 << 20;
const WRITE_BUFFER_MAX: u64 = 256 << 20;
/// A write buffer takes at most one part in so many of the caches' bytes.
const WRITE_BUFFER_SHARE: u64 = 16;
const JOBS_MIN: u64 = 2;
const LEVEL0_FILES: (u64, u64) = (2, 16);
/// A cache that is full but for one part in so many is full.
const FULL_PARTS: u64 = 10;

/// Begins with what an earlier run has found; the thread ends when the server stops.
pub fn start(front: &Arc<Front>) -> std::io::Result<JoinHandle<()>> {
    let front = front.clone();
    std::thread::Builder::new().name("tuner".into()).spawn(move || Tuner::new(&front).run())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Off,
    Advise,
    On,
}

struct Tuner<'f> {
    front: &'f Front,
    machine: String,
    disk: Option<Disk>,
    disk_tried: bool,
    mode: Mode,
    goals: (u64, u64),
    settings: Settings,
    at_start: [u64; Setting::ALL.len()],
    search: Search,
    limit: Limit,
    /// What is being tried.
    open: Option<Change>,
    advised: HashSet<(Setting, u64)>,
    began: Instant,
    window: (Instant, Observed),
}

impl<'f> Tuner<'f> {
    fn new(front: &'f Front) -> Tuner<'f> {
        let server = &front.server;
        if let Err(error) = server.tuning.load(&server.catalog) {
            tracing::warn!("what was tuned before cannot be read: {}", error.message());
        }
        Tuner {
            front,
            machine: machine::fingerprint(),
            disk: machine::known_disk(server.engine.dir(), &server.catalog),
            disk_tried: false,
            mode: Mode::Off,
            goals: (0, 0),
            settings: Settings::default(),
            at_start: [0; Setting::ALL.len()],
            search: Search::default(),
            limit: Limit::default(),
            open: None,
            advised: HashSet::new(),
            began: Instant::now(),
            window: (Instant::now(), observe(server)),
        }
    }

    fn run(mut self) {
        self.derive(true);
        let mut round = Instant::now();
        while !self.front.stopping.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            if round.elapsed() >= ROUND {
                round = Instant::now();
                self.round();
            }
        }
    }

    fn goals_now(&self) -> (u64, u64) {
        (goal_bytes(), self.front.server.globals.number(Var::VaquitaGoalBackgroundCpu))
    }

    fn mode_now(&self) -> Mode {
        match self.front.server.globals.text(Var::VaquitaTuning).as_str() {
            "OFF" => Mode::Off,
            "ADVISE" => Mode::Advise,
            _ => Mode::On,
        }
    }

    fn round(&mut self) {
        let mode = self.mode_now();
        if mode != self.mode || self.goals_now() != self.goals {
            self.derive(false);
        }
        if !self.disk_tried && self.began.elapsed() >= DISK_AFTER {
            self.disk_tried = true;
            self.measure_disk();
        }
        if self.mode == Mode::Off {
            return;
        }
        let observed = observe(&self.front.server);
        self.bound(&observed);
        self.keep_within_memory(&observed);
        if self.window.0.elapsed() >= WINDOW {
            let window = observed.since(&self.window.1, self.disk.map_or(READ_US, |disk| disk.read_us));
            self.window = (Instant::now(), observed);
            if let Some(step) = self.search.window(&window, &self.settings) {
                self.take(step);
            }
        }
        self.publish();
    }

    fn measure_disk(&mut self) {
        let server = &self.front.server;
        if self.disk.is_none() {
            match machine::measure_disk(server.engine.dir(), &server.catalog) {
                Ok(disk) => self.disk = disk,
                Err(error) => tracing::warn!("what the disk is like cannot be kept: {}", error.message()),
            }
            self.publish();
        }
    }

    /// Settings as they follow from the machine and the goals, and, with tuning on, as they were found to be good.
    fn derive(&mut self, is_start: bool) {
        self.end_open("settings were derived anew");
        self.search.forget();
        self.limit.forget();
        self.advised.clear();
        (self.mode, self.goals) = (self.mode_now(), self.goals_now());
        let opened = self.front.server.engine.options();
        let shares = memory_shares();
        // What the engine was told when it was opened stays.
        let told = |given: Option<usize>, derived: usize| given.unwrap_or(derived) as u64;
        self.at_start = [
            opened.cache_bytes() as u64,
            told(opened.write_buffer_bytes, shares.write_buffer),
            told(opened.background_jobs, cores().max(JOBS_MIN as usize)).min(self.jobs_max()),
            u64::from(opened.tuning.level0_files),
        ];
        for (setting, derived) in Setting::ALL.into_iter().zip(self.at_start) {
            let found = (self.mode == Mode::On).then(|| self.found_before(setting)).flatten();
            let value = found.unwrap_or(derived);
            self.settings.of_mut(setting).value = value;
            // The engine was opened with what was derived.
            if !(is_start && value == derived && self.goals.0 == memory_goal_of_machine()) {
                self.apply(setting, value);
            }
        }
        self.bound(&observe(&self.front.server));
        self.publish();
    }

    fn found_before(&self, setting: Setting) -> Option<u64> {
        Tuning::stored_value(setting.name(), &self.key(), &self.front.server.catalog).unwrap_or_default()
    }

    /// Values that were found good under the same goals on the same kind of machine.
    fn key(&self) -> String {
        format!("{}, goals {} {}", self.machine, self.goals.0, self.goals.1)
    }

    fn jobs_max(&self) -> u64 {
        // One more than may run, because it mostly waits for the disk.
        ((cores() as u64 * self.goals.1).div_ceil(100) + 1).max(JOBS_MIN)
    }

    fn apply(&self, setting: Setting, value: u64) {
        if let Err(error) = setting.apply(value, self.front.server.engine.store()) {
            tracing::warn!("{} cannot be set to {value}: {}", setting.name(), error.message());
        }
    }

    /// What is possible now, and what can have an effect.
    fn bound(&mut self, observed: &Observed) {
        let jobs_max = self.jobs_max();
        let written = observed.written_bytes.saturating_sub(self.window.1.written_bytes);
        let caches = self.settings.of(Setting::Caches).value;
        let free = self.goals.0.saturating_sub(observed.anonymous_bytes);
        // What the caches have not filled yet is promised already.
        let unfilled = caches.saturating_sub(observed.cached_bytes);
        let is_full = observed.block_cache_bytes + observed.block_cache_bytes_max / FULL_PARTS >= observed.block_cache_bytes_max;
        let most = self.front.server.engine.options().cache_bytes_max.map_or(u64::MAX, |most| most as u64);
        let write_buffer = self.settings.of(Setting::WriteBuffer).value;
        let writes_much = written > write_buffer;
        let bounds = |value, lowest, highest, matters| Bounds { value, lowest, highest, matters };
        *self.settings.of_mut(Setting::Caches) = bounds(
            caches,
            CACHES_MIN,
            (caches + free.saturating_sub(unfilled)).min(most),
            is_full && self.front.server.engine.cache_bytes() > 0,
        );
        let highest = (caches / WRITE_BUFFER_SHARE).clamp(WRITE_BUFFER_MIN, WRITE_BUFFER_MAX);
        *self.settings.of_mut(Setting::WriteBuffer) = bounds(write_buffer, WRITE_BUFFER_MIN, highest, writes_much);
        let is_compacting = writes_much || observed.to_compact_bytes > 0;
        let jobs = self.settings.of_mut(Setting::BackgroundJobs);
        *jobs = bounds(jobs.value, JOBS_MIN, jobs_max, is_compacting);
        let files = self.settings.of_mut(Setting::Level0Files);
        *files = bounds(files.value, LEVEL0_FILES.0, LEVEL0_FILES.1, is_compacting);
    }

    /// Caches give back what the server has beyond its goal, and get it again.
    fn keep_within_memory(&mut self, observed: &Observed) {
        let memory = Memory { goal: self.goals.0, used: observed.anonymous_bytes, cached: observed.cached_bytes };
        let from = self.settings.of(Setting::Caches).value;
        let Some(to) = self.limit.round(memory, from, CACHES_MIN) else { return };
        self.end_open("memory ran out");
        self.search.forget();
        self.settings.of_mut(Setting::Caches).value = to;
        self.apply(Setting::Caches, to);
        let (used, goal) = (memory.used >> 20, memory.goal >> 20);
        let reason = format!("the server has {used} MiB of memory where the goal is {goal} MiB");
        self.note(Change { outcome: Outcome::Necessary, ..change(Setting::Caches, from, to, reason) });
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Try { setting, from, to, cost_us } => {
                let reason =
                    format!("statements cost {cost_us:.1} µs each (CPU and reads of the disk); {}", expected(setting, to > from));
                let tried = change(setting, from, to, reason);
                if self.mode == Mode::Advise {
                    self.search.forget();
                    if self.advised.insert((setting, to)) {
                        self.note(Change { outcome: Outcome::Advised, ..tried });
                    }
                    return;
                }
                self.settings.of_mut(setting).value = to;
                self.apply(setting, to);
                self.open = self.note(tried);
            }
            Step::Keep { setting, before_us, after_us } => {
                let value = self.settings.of(setting).value;
                let key = self.key();
                if let Err(error) = Tuning::store_value(setting.name(), value, &key, &self.front.server.catalog) {
                    tracing::warn!("{} cannot be kept for the next start: {}", setting.name(), error.message());
                }
                self.end(Outcome::Kept, effect(before_us, after_us));
            }
            Step::Undo { setting, to, why } => {
                self.settings.of_mut(setting).value = to;
                self.apply(setting, to);
                let text = match why {
                    Undone::NoGain { before_us, after_us } => effect(before_us, after_us),
                    Undone::LoadChanged => "the load changed, so that nobody can say what it did".to_string(),
                };
                self.end(Outcome::Undone, text);
            }
        }
    }

    /// What is being tried is undone.
    fn end_open(&mut self, why: &str) {
        let Some((setting, from)) = self.search.trying() else { return };
        self.settings.of_mut(setting).value = from;
        self.apply(setting, from);
        self.end(Outcome::Undone, why.to_string());
    }

    fn end(&mut self, outcome: Outcome, effect: String) {
        if let Some(tried) = self.open.take() {
            self.note(Change { outcome, effect: Some(effect), ..tried });
        }
    }

    /// The change with its number.
    fn note(&self, change: Change) -> Option<Change> {
        let setting = Setting::ALL.into_iter().find(|setting| setting.name() == change.name);
        let shown = |value| setting.map_or(String::new(), |setting| setting.shown(value));
        tracing::info!(
            "tuning: {} from {} to {}: {} {}",
            change.name,
            shown(change.from),
            shown(change.to),
            change.outcome.name(),
            change.effect.as_deref().unwrap_or(&change.reason)
        );
        let server = &self.front.server;
        match server.tuning.note(change.clone(), &server.catalog) {
            Ok(id) => Some(Change { id, ..change }),
            Err(error) => {
                tracing::warn!("the tuning log cannot be written: {}", error.message());
                None
            }
        }
    }

    fn publish(&self) {
        let tuning = &self.front.server.tuning;
        tuning.set_facts(machine::facts(self.disk.as_ref()));
        let tuned = |(setting, at_start): (Setting, u64)| {
            let Bounds { value, lowest, highest, .. } = *self.settings.of(setting);
            let (lowest, highest) = (lowest.min(value), highest.max(value));
            Tuned { name: setting.name(), value, lowest, highest, at_start, derived_from: derived_from(setting).to_string() }
        };
        tuning.set_tuned(Setting::ALL.into_iter().zip(self.at_start).map(tuned).collect());
    }
}

/// The goal if nobody has set one.
fn memory_goal_of_machine() -> u64 {
    vaquita_storage::memory_bytes() / 4 * 3
}

fn change(setting: Setting, from: u64, to: u64, reason: String) -> Change {
    Change {
        id: 0,
        at_us: now_us(),
        name: setting.name().to_string(),
        from,
        to,
        reason,
        effect: None,
        outcome: Outcome::Measuring,
    }
}

fn expected(setting: Setting, up: bool) -> &'static str {
    match (setting, up) {
        (Setting::Caches, true) => "the block cache is full, and there is memory for more",
        (Setting::Caches, false) => "the page cache may make more of the memory, since it holds blocks compressed",
        (Setting::WriteBuffer, true) => "larger memtables are flushed less often, and leave less to compact",
        (Setting::WriteBuffer, false) => "smaller memtables are searched faster, and leave more to the block cache",
        (Setting::BackgroundJobs, true) => "compactions are behind, and more of them may run at once",
        (Setting::BackgroundJobs, false) => "fewer compactions at once leave more to statements",
        (Setting::Level0Files, true) => "compactions that begin later rewrite less",
        (Setting::Level0Files, false) => "compactions that begin earlier leave fewer files to read",
    }
}

fn derived_from(setting: Setting) -> &'static str {
    match setting {
        Setting::Caches => "40% of the memory, or vaquita_goal_memory; holds memtables, too",
        Setting::WriteBuffer => "a 32nd of the memory, from 8 to 64 MiB",
        Setting::BackgroundJobs => "the number of cores, within vaquita_goal_background_cpu",
        Setting::Level0Files => "fixed",
    }
}

fn effect(before_us: f64, after_us: f64) -> String {
    format!("statements cost {before_us:.1} µs before and {after_us:.1} µs after")
}
