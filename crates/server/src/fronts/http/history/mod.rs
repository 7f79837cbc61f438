//! What the server did in the last two weeks: series of numbers (`series`), kept in a small file of the data directory (`rings`).
//!
//! 1. A thread takes a snapshot of the metrics each ten seconds, and each two while somebody is logged in to the console.
//! 2. What happened between two snapshots goes to the file, and into a ring in memory with the last minutes.
//! 3. Charts ask for a `Window`: means of equal cells of time, and gaps where the server did not run.
//!
//! * HISTORY-1: it is no part of the database: no commit, no binary log, no backup has it, and no statement waits for it.
//! * HISTORY-2: without its file the server runs, and the history has the last minutes. The log says so once.
//! * HISTORY-3: a process that is killed loses what came after the last snapshot.

mod rings;
mod series;

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};
use vaquita_session::data_dir::HISTORY;
use vaquita_session::server::Server;

use crate::fronts::http::limits::{RECENT_MAX, SAMPLE_EVERY, SAMPLE_EVERY_UNWATCHED};
use crate::fronts::http::metrics;
use rings::{RINGS, Rings};
pub use series::{Series, Values};

const DISK_WAIT: Duration = Duration::from_secs(1);

/// What a chart goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// As it was sampled.
    Minutes,
    Hour,
    Day,
    Fortnight,
}

impl Window {
    pub const ALL: [Window; 4] = [Window::Minutes, Window::Hour, Window::Day, Window::Fortnight];

    pub fn seconds(self) -> u64 {
        match self {
            Window::Minutes => 300,
            Window::Hour => 3600,
            Window::Day => 86_400,
            Window::Fortnight => 14 * 86_400,
        }
    }

    /// The ring that it is made of, and how many seconds are one point.
    fn source(self) -> (usize, u64) {
        match self {
            Window::Minutes | Window::Hour => (0, 10),
            Window::Day => (1, 300),
            Window::Fortnight => (2, 3600),
        }
    }
}

/// A point of all charts.
#[derive(Clone, Debug)]
pub struct Point {
    /// How long before now.
    pub age_s: f64,
    pub values: Values,
}

#[derive(Default)]
pub struct History {
    /// When they were taken, the oldest first.
    recent: Mutex<VecDeque<(Instant, Values)>>,
    rings: Mutex<Option<Rings>>,
    /// The thread has something to look at.
    is_woken: Mutex<bool>,
    wake: Condvar,
}

impl History {
    /// Until `is_over` says so, which `wake` makes it ask.
    pub fn run(&self, server: &Server, is_over: impl Fn() -> bool, is_watched: impl Fn() -> bool) {
        self.open(&server.data_dir().join(HISTORY));
        let mut before = (Instant::now(), metrics::snapshot(server));
        loop {
            let every = if is_watched() { SAMPLE_EVERY } else { SAMPLE_EVERY_UNWATCHED };
            let was_woken = self.wait(every, SystemTime::now());
            if is_over() {
                return;
            }
            if was_woken {
                continue;
            }
            let now = (Instant::now(), metrics::snapshot(server));
            let took = now.0 - before.0;
            let values = Values::between(&before.1, &now.1, took.as_secs_f64());
            self.keep(now.0, took, SystemTime::now(), values);
            before = now;
        }
    }

    fn open(&self, path: &Path) {
        match Rings::open(path) {
            Ok(rings) => *self.rings.lock() = Some(rings),
            Err(error) => tracing::error!("the history of metrics in {} cannot be kept: {error}", path.display()),
        }
    }

    /// Somebody logs in, or the server stops.
    pub fn wake(&self) {
        *self.is_woken.lock() = true;
        self.wake.notify_all();
    }

    /// Until the next multiple of `every`, so that steps are covered evenly; true if somebody woke it before.
    fn wait(&self, every: Duration, now: SystemTime) -> bool {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let rest_ms = every.as_millis() - since.as_millis() % every.as_millis();
        let mut is_woken = self.is_woken.lock();
        let until = Instant::now() + Duration::from_millis(rest_ms as u64);
        while !*is_woken && !self.wake.wait_until(&mut is_woken, until).timed_out() {}
        std::mem::take(&mut *is_woken)
    }

    /// What happened in the time `took` up to `at`, which the clock calls `now`.
    fn keep(&self, at: Instant, took: Duration, now: SystemTime, values: Values) {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut rings = self.rings.lock();
        if let Some(known) = &*rings
            && let Err(error) =
                known.add((since - (took / 2).min(since)).as_secs(), took.as_millis().min(u128::from(u32::MAX)) as u32, &values)
        {
            tracing::error!("the history of metrics cannot be kept any more: {error}");
            *rings = None;
        }
        drop(rings);
        let mut recent = self.recent.lock();
        if recent.len() >= RECENT_MAX {
            recent.pop_front();
        }
        recent.push_back((at, values));
    }

    /// The oldest first.
    pub fn points(&self, window: Window) -> Vec<Point> {
        if window == Window::Minutes {
            let now = Instant::now();
            let age_s = |at: &Instant| now.saturating_duration_since(*at).as_secs_f64();
            let recent = self.recent.lock();
            let points = recent.iter().map(|(at, values)| Point { age_s: age_s(at), values: values.clone() });
            return points.filter(|point| point.age_s <= window.seconds() as f64).collect();
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.cells(window, now)
    }

    fn cells(&self, window: Window, now: Duration) -> Vec<Point> {
        let (ring, cell_s) = window.source();
        let to_s = now.as_secs() + 1;
        // Whole cells, of which the last one has begun.
        let cells = window.seconds() / cell_s;
        let from_s = (to_s.div_ceil(cell_s)).saturating_sub(cells) * cell_s;
        // Whoever writes may wait for a disk that hangs: a page does not.
        let rings = self.rings.try_lock_for(DISK_WAIT);
        let records = rings
            .as_deref()
            .and_then(Option::as_ref)
            .and_then(|rings| rings.records(ring, from_s, to_s).ok())
            .unwrap_or_default();
        drop(rings);
        let mut means: Vec<(u32, Values)> = vec![(0, Values::default()); cells as usize];
        for record in records {
            if let Some((covered_ms, mean)) = means.get_mut(((record.begin_s - from_s) / cell_s) as usize) {
                *mean = mean.mean(*covered_ms, &record.values, record.covered_ms);
                *covered_ms = covered_ms.saturating_add(record.covered_ms);
            }
        }
        let step_s = RINGS[ring].step_s.min(cell_s) as f64;
        let begins = (0..cells).map(|cell| from_s + cell * cell_s);
        let age_s = |begin: u64| (now.as_secs_f64() - begin as f64 - cell_s as f64 / 2.0).max(0.0);
        let mut points: Vec<Point> =
            begins.zip(means).map(|(begin, (_, values))| Point { age_s: age_s(begin), values }).collect();
        // The last one may have nothing yet, which is no gap.
        if points.last().is_some_and(|last| last.values.is_nothing()) && now.as_secs_f64() % cell_s as f64 <= 2.0 * step_s {
            points.pop();
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The begin of an hour.
    const BEGIN: Duration = Duration::from_secs(1_700_049_600);

    fn history(name: &str) -> (History, std::path::PathBuf) {
        let dir = std::env::temp_dir().join(format!("vaquita-points-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a directory");
        let history = History::default();
        history.open(&dir.join(HISTORY));
        (history, dir)
    }

    fn keep(history: &History, at_s: u64, took_s: u64, value: f32) {
        let mut values = Values::default();
        values.0.fill(value);
        history.keep(Instant::now(), Duration::from_secs(took_s), UNIX_EPOCH + BEGIN + Duration::from_secs(at_s), values);
    }

    #[test]
    fn cells_have_means_and_gaps() {
        let (history, dir) = history("cells");
        for at_s in (10..=600).step_by(10) {
            keep(&history, at_s, 10, if at_s <= 300 { 1.0 } else { 3.0 });
        }
        // The server did not run for ten minutes.
        keep(&history, 1210, 10, 5.0);
        let now = BEGIN + Duration::from_secs(1212);
        let values = |window| -> Vec<f32> { history.cells(window, now).iter().map(|point| point.values.0[0]).collect() };
        let hour = values(Window::Hour);
        assert_eq!(hour.len(), 359);
        assert_eq!((hour[hour.len() - 1], hour.iter().filter(|value| value.is_finite()).count()), (5.0, 61));
        let day = values(Window::Day);
        assert!(day.len() == 288 && day[283..285] == [1.0, 3.0] && day[285].is_nan() && day[287] == 5.0, "{day:?}");
        let fortnight = values(Window::Fortnight);
        assert!(fortnight.len() == 336 && (fortnight[335] - (300.0 + 900.0 + 50.0) / 610.0).abs() < 1e-3, "{:?}", fortnight[335]);
        std::fs::remove_dir_all(dir).expect("removes");
    }

    #[test]
    fn without_a_file_there_are_the_last_minutes() {
        let history = History::default();
        history.open(Path::new("/nowhere/history"));
        (0..RECENT_MAX as u64 + 5).for_each(|n| keep(&history, n, 1, n as f32));
        assert_eq!(history.points(Window::Minutes).len(), RECENT_MAX);
        assert!(history.points(Window::Hour).iter().all(|point| point.values.is_nothing()));
    }

    #[test]
    fn whoever_wakes_it_is_heard_at_once() {
        let history = History::default();
        history.wake();
        assert!(history.wait(Duration::from_secs(1000), UNIX_EPOCH + BEGIN));
        assert!(!history.wait(Duration::from_millis(1), UNIX_EPOCH + BEGIN));
    }
}
