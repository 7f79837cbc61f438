//! What the server does just now, and did in the last minutes, hours or weeks.

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::chart::{Chart, Series as Drawn};
use crate::fronts::http::console::layout::{Content, failure, tile};
use crate::fronts::http::console::shown::{Unit, bytes, count, time_s};
use crate::fronts::http::console::statements::Rows;
use crate::fronts::http::history::{Point, Series, Values, Window};

/// The tiles are means of so many of the last points.
const TILE_POINTS: usize = 3;

/// What a window is called in the address and on the page, and how often its page is fetched again.
fn facts(window: Window) -> (&'static str, &'static str, u64) {
    match window {
        Window::Minutes => ("", "5 minutes", 2_000),
        Window::Hour => ("hour", "1 hour", 10_000),
        Window::Day => ("day", "1 day", 60_000),
        Window::Fortnight => ("weeks", "2 weeks", 600_000),
    }
}

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let status = view.statements.rows("SHOW GLOBAL STATUS");
    let replica = view.statements.rows("SHOW REPLICA STATUS");
    let wanted = view.form.get("last");
    let window = Window::ALL.into_iter().find(|window| facts(*window).0 == wanted).unwrap_or(Window::Minutes);
    let recent = view.history.map(|history| history.points(Window::Minutes));
    let points = match (view.history, &recent) {
        (Some(history), _) if window != Window::Minutes => Some(history.points(window)),
        (_, recent) => recent.clone(),
    };
    let body = html! {
        h1 { "Overview" }
        @match &status {
            Ok(status) => div.tiles {
                (tiles(status, recent.as_deref().unwrap_or_default()))
                @if let Ok(channels) = &replica { (replication(channels)) }
            },
            Err(error) => (failure(error)),
        }
        @match points {
            Some(points) => {
                p.filter role="group" aria-label="The last" {
                    @for choice in Window::ALL {
                        @let (name, title, _) = facts(choice);
                        a.choice href={ "/" @if !name.is_empty() { "?last=" (name) } } aria-current=[(choice == window).then_some("true")] { (title) }
                    }
                }
                @if points.iter().any(|point| !point.values.is_nothing()) { (charts(&points, window)) }
                @else { p.hint { "The charts begin in a few seconds." } }
            },
            None => p.hint { "The charts of the whole server need the PROCESS privilege." },
        }
    };
    Ok(Content::new("Overview", body).refreshed(facts(window).2))
}

fn value(status: &Rows, name: &str) -> f64 {
    let row = status.iter().find(|row| row.text("Variable_name").eq_ignore_ascii_case(name));
    row.map_or(0.0, |row| row.number("Value"))
}

fn tiles(status: &Rows, points: &[Point]) -> Markup {
    let value = |name: &str| value(status, name);
    let uptime = value("Uptime").max(1.0);
    let mean = value("Questions") / uptime;
    let recent = &points[points.len().saturating_sub(TILE_POINTS)..];
    let now = |of: &dyn Fn(&Point) -> f64| {
        let known: Vec<f64> = recent.iter().map(of).filter(|value| value.is_finite()).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let series = |series: Series| now(&|point| point.values.get(series));
    let slowest = now(&|point| point.values.quantile(0.95));
    html! {
        (tile("Uptime", &time_s(uptime), ""))
        (tile(
            "Statements/s",
            &count(series(Series::Timed).unwrap_or(mean).round()),
            &format!("{} on average", count(mean.round())),
        ))
        @if let Some(slowest) = slowest { (tile("95% take less than", &time_s(slowest), "")) }
        (tile(
            "Connections",
            &count(value("Threads_connected")),
            &format!(
                "{} running, at most {}",
                count(series(Series::Running).map_or(value("Threads_running"), f64::round)),
                count(value("Max_used_connections"))
            ),
        ))
        @if let Some(errors) = series(Series::Errors) { (tile("Errors/s", &count(errors), "")) }
        @if let Some(cores) = series(Series::Cpu) { (tile("CPU", &format!("{cores:.2} cores"), "")) }
        @if let Some(resident) = series(Series::Resident) { (tile("Memory", &bytes(resident), "")) }
        @match (series(Series::Data), series(Series::DiskFree)) {
            (Some(data), Some(free)) => (tile("Data", &bytes(data), &format!("{} free on disk", bytes(free)))),
            _ => (tile("Data", &bytes(value("Rocksdb_sst_bytes")), "")),
        }
        (tile(
            "Commits",
            &count(value("Rocksdb_commits")),
            &format!("{:.1} a group", value("Rocksdb_commits") / value("Rocksdb_commit_groups").max(1.0)),
        ))
        (tile("Deadlocks", &count(value("Innodb_deadlocks")), &format!("{} waits for row locks", count(value("Innodb_row_lock_waits")))))
    }
}

fn replication(channels: &Rows) -> Markup {
    html! {
        @for row in channels.iter() {
            @let runs = row.text("Replica_IO_Running") == "Yes" && row.text("Replica_SQL_Running") == "Yes";
            @let behind = row.value("Seconds_Behind_Source").map_or("unknown".to_string(), |s| format!("{s} s behind"));
            (tile(&super::replication::title(&row), if runs { "runs" } else { "stands" }, &behind))
        }
    }
}

/// A chart: its title, its unit, whether its series stand above each other, and their names and numbers.
type ChartOf = (&'static str, Unit, bool, &'static [(&'static str, fn(&Values) -> f64)]);

const LINES: bool = false;
const AREAS: bool = true;

const CHARTS: &[ChartOf] = &[
    (
        "Statements",
        Unit::PerSecond,
        AREAS,
        &[
            ("SELECT", |v| v.get(Series::Selects)),
            ("INSERT", |v| v.get(Series::Inserts)),
            ("UPDATE", |v| v.get(Series::Updates)),
            ("DELETE", |v| v.get(Series::Deletes)),
            ("others", others),
        ],
    ),
    (
        "Time of statements",
        Unit::Seconds,
        LINES,
        &[("median", |v| v.quantile(0.5)), ("95%", |v| v.quantile(0.95)), ("99%", |v| v.quantile(0.99))],
    ),
    ("Errors", Unit::PerSecond, LINES, &[("errors", |v| v.get(Series::Errors))]),
    ("Connections", Unit::Count, LINES, &[("connected", |v| v.get(Series::Connected)), ("running", |v| v.get(Series::Running))]),
    ("CPU", Unit::Cores, LINES, &[("cores", |v| v.get(Series::Cpu))]),
    (
        "Memory by owner",
        Unit::Bytes,
        AREAS,
        &[
            ("blocks", |v| v.get(Series::BlockCache)),
            ("rows", |v| v.get(Series::RowCache)),
            ("spans", |v| v.get(Series::Spans)),
            ("memtables", |v| v.get(Series::Memtables)),
            ("statements", |v| v.get(Series::StatementMemory)),
            ("other", other_memory),
        ],
    ),
    (
        "Commits",
        Unit::PerSecond,
        LINES,
        &[("commits", |v| v.get(Series::Commits)), ("groups, one sync each", |v| v.get(Series::CommitGroups))],
    ),
    (
        "Time of a group in the log",
        Unit::Seconds,
        LINES,
        &[("mean", |v| v.get(Series::LogSeconds) / v.get(Series::CommitGroups))],
    ),
    (
        "Waits for row locks",
        Unit::PerSecond,
        LINES,
        &[("waits", |v| v.get(Series::LockWaits)), ("deadlocks", |v| v.get(Series::Deadlocks))],
    ),
    (
        "Time of a wait for a row lock",
        Unit::Seconds,
        LINES,
        &[("mean", |v| v.get(Series::LockWaitSeconds) / v.get(Series::LockWaits))],
    ),
    ("The oldest transaction", Unit::Seconds, LINES, &[("age", |v| v.get(Series::OldestTransaction))]),
    (
        "Rows",
        Unit::PerSecond,
        LINES,
        &[
            ("examined", |v| v.get(Series::RowsExamined)),
            ("sent", |v| v.get(Series::RowsSent)),
            ("changed", |v| v.get(Series::RowsChanged)),
        ],
    ),
    (
        "Network",
        Unit::BytesPerSecond,
        LINES,
        &[("received", |v| v.get(Series::BytesReceived)), ("sent", |v| v.get(Series::BytesSent))],
    ),
    ("Disk", Unit::BytesPerSecond, LINES, &[("read", |v| v.get(Series::DiskRead)), ("written", |v| v.get(Series::DiskWritten))]),
    ("Data", Unit::Bytes, AREAS, &[("files", |v| v.get(Series::Data)), ("binary log", |v| v.get(Series::BinaryLog))]),
    ("Compactions", Unit::Count, LINES, &[("that run", |v| v.get(Series::Compactions))]),
    ("Waits for compaction", Unit::Bytes, LINES, &[("bytes", |v| v.get(Series::ToCompact))]),
    ("Writes that are slowed down", Unit::Part, LINES, &[("of the time", |v| v.get(Series::Stalled))]),
    (
        "Found in memory",
        Unit::Part,
        LINES,
        &[
            ("rows by key", |v| part_of(v.get(Series::RowCacheHits), v.get(Series::RowCacheMisses))),
            ("spans of scans", |v| part_of(v.get(Series::SpanHits), v.get(Series::SpanMisses))),
        ],
    ),
    ("Replication", Unit::Seconds, LINES, &[("behind", |v| v.get(Series::ReplicaBehind))]),
    ("Backups", Unit::Seconds, LINES, &[("age of the newest", |v| v.get(Series::BackupAge))]),
];

fn others(values: &Values) -> f64 {
    let known = [Series::Selects, Series::Inserts, Series::Updates, Series::Deletes];
    (values.get(Series::Timed) - known.into_iter().map(|series| values.get(series)).sum::<f64>()).max(0.0)
}

fn other_memory(values: &Values) -> f64 {
    let owners = [Series::BlockCache, Series::RowCache, Series::Spans, Series::Memtables, Series::StatementMemory];
    (values.get(Series::Resident) - owners.into_iter().map(|series| values.get(series)).sum::<f64>()).max(0.0)
}

/// NaN if there was neither.
fn part_of(hits: f64, misses: f64) -> f64 {
    hits / (hits + misses)
}

fn charts(points: &[Point], window: Window) -> Markup {
    let ages: Vec<f64> = points.iter().map(|point| point.age_s).collect();
    let drawn = |series: &[(&'static str, fn(&Values) -> f64)]| -> Vec<Drawn> {
        let values = |of: fn(&Values) -> f64| {
            let gap = |values: &Values| if values.is_nothing() { f64::NAN } else { of(values) };
            points.iter().map(|point| gap(&point.values)).collect()
        };
        series.iter().map(|(name, of)| Drawn { name, values: values(*of) }).collect()
    };
    html! {
        div.charts {
            @for (title, unit, is_stacked, series) in CHARTS {
                @let series = drawn(series);
                // What there is none of has no chart, as replication on a server that follows none.
                @if series.iter().any(|series| series.values.iter().any(|value| value.is_finite())) {
                    @let since = (window.seconds() as f64, facts(window).1);
                    (Chart { title, unit: *unit, ages_s: &ages, since, series, is_stacked: *is_stacked }.draw())
                }
            }
        }
    }
}
