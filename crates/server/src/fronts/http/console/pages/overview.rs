//! What the server does just now, and did in the last minutes.

use std::time::Instant;

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::chart::{Chart, Series};
use crate::fronts::http::console::layout::{Content, failure, tile};
use crate::fronts::http::console::shown::{Unit, bytes, count, time_s};
use crate::fronts::http::console::statements::Rows;
use crate::fronts::http::metrics::{Snapshot, bounds_s};

const REFRESH_MS: u64 = 2000;
/// The charts go back so far.
const SHOWN_S: f64 = 300.0;
/// The tiles are means of so many of the last samples.
const TILE_SAMPLES: usize = 3;

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let status = view.statements.rows("SHOW GLOBAL STATUS");
    let replica = view.statements.rows("SHOW REPLICA STATUS");
    let samples = view.history.map(|history| history.samples());
    let body = html! {
        h1 { "Overview" }
        @match &status {
            Ok(status) => div.tiles {
                (tiles(status, samples.as_deref().unwrap_or_default()))
                @if let Ok(channels) = &replica { (replication(channels)) }
            },
            Err(error) => (failure(error)),
        }
        @match samples {
            Some(samples) if samples.len() >= 2 => (charts(&samples)),
            Some(_) => p.hint { "The charts begin in a few seconds: samples are taken while somebody is logged in." },
            None => p.hint { "The charts of the whole server need the PROCESS privilege." },
        }
    };
    Ok(Content::new("Overview", body).refreshed(REFRESH_MS))
}

fn value(status: &Rows, name: &str) -> f64 {
    let row = status.iter().find(|row| row.text("Variable_name").eq_ignore_ascii_case(name));
    row.map_or(0.0, |row| row.number("Value"))
}

fn tiles(status: &Rows, samples: &[(Instant, Snapshot)]) -> Markup {
    let value = |name: &str| value(status, name);
    let uptime = value("Uptime").max(1.0);
    let mean = value("Questions") / uptime;
    let recent = samples.len().checked_sub(TILE_SAMPLES + 1).map_or(samples, |from| &samples[from..]);
    let rate = |of: fn(&Snapshot) -> f64| match recent {
        [first, .., last] => Some((of(&last.1) - of(&first.1)).max(0.0) / (last.0 - first.0).as_secs_f64().max(0.1)),
        _ => None,
    };
    let last = samples.last().map(|(_, sample)| sample);
    let slowest = match recent {
        [first, .., last] => quantile(&first.1, &last.1, 0.95),
        _ => f64::NAN,
    };
    html! {
        (tile("Uptime", &time_s(uptime), ""))
        (tile(
            "Statements/s",
            &rate(|s| s.questions as f64).map_or_else(|| count(mean.round()), |now| count(now.round())),
            &format!("{} on average", count(mean.round())),
        ))
        @if slowest.is_finite() { (tile("95% take less than", &time_s(slowest), "")) }
        (tile(
            "Connections",
            &count(value("Threads_connected")),
            &format!(
                "{} running, at most {}",
                count(last.map_or(value("Threads_running"), |last| last.running as f64)),
                count(value("Max_used_connections"))
            ),
        ))
        @if let Some(errors) = rate(|s| s.errors as f64) { (tile("Errors/s", &count(errors), "")) }
        @if let Some(cores) = rate(|s| s.cpu_s) { (tile("CPU", &format!("{cores:.2} cores"), "")) }
        @if let Some(last) = last {
            (tile("Memory", &bytes(last.resident_bytes as f64), ""))
            (tile("Data", &bytes(last.data_bytes as f64), &format!("{} free on disk", bytes(last.disk_free_bytes as f64))))
        } @else {
            (tile("Data", &bytes(value("Rocksdb_sst_bytes")), ""))
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

/// What a statement took that was slower than `part` of those between two samples; NaN if there was none.
fn quantile(from: &Snapshot, to: &Snapshot, part: f64) -> f64 {
    let all = to.timed.saturating_sub(from.timed);
    if all == 0 {
        return f64::NAN;
    }
    let wanted = all as f64 * part;
    let (mut low_s, mut below_low) = (0.0, 0.0);
    for (at, high_s) in bounds_s().enumerate() {
        let count = |sample: &Snapshot| sample.not_slower.get(at).copied().unwrap_or(0);
        let below = count(to).saturating_sub(count(from)) as f64;
        if below >= wanted {
            // As if they were spread evenly between the bounds.
            return low_s + (high_s - low_s) * (wanted - below_low) / (below - below_low).max(1.0);
        }
        (low_s, below_low) = (high_s, below);
    }
    low_s
}

fn charts(samples: &[(Instant, Snapshot)]) -> Markup {
    let now = samples.last().map_or_else(Instant::now, |(at, _)| *at);
    let from = samples.iter().position(|(at, _)| (now - *at).as_secs_f64() <= SHOWN_S).unwrap_or(0);
    let samples = &samples[from..];
    let Some((first, rest)) = samples.split_first() else { return html! {} };
    let _ = first;
    let ages: Vec<f64> = rest.iter().map(|(at, _)| (now - *at).as_secs_f64()).collect();
    let pairs = || samples.iter().zip(rest);
    let rate = |name: &'static str, of: &dyn Fn(&Snapshot) -> f64| Series {
        name,
        values: pairs().map(|(a, b)| (of(&b.1) - of(&a.1)).max(0.0) / (b.0 - a.0).as_secs_f64().max(0.1)).collect(),
    };
    let state =
        |name: &'static str, of: &dyn Fn(&Snapshot) -> f64| Series { name, values: rest.iter().map(|(_, s)| of(s)).collect() };
    let slowest =
        |name: &'static str, part: f64| Series { name, values: pairs().map(|(a, b)| quantile(&a.1, &b.1, part)).collect() };
    let owners: Vec<&'static str> =
        rest.last().map_or_else(Vec::new, |(_, s)| s.memory.iter().map(|(owner, _)| *owner).collect());
    let memory = owners.iter().map(|owner| {
        let of = |s: &Snapshot| s.memory.iter().find(|(known, _)| known == owner).map_or(0.0, |(_, bytes)| *bytes as f64);
        state(owner, &of)
    });
    let other = |s: &Snapshot| (s.resident_bytes as f64 - s.memory.iter().map(|(_, bytes)| *bytes as f64).sum::<f64>()).max(0.0);
    let memory: Vec<Series> = memory.chain([state("other", &other)]).collect();
    let charts: Vec<(&str, Unit, Vec<Series>, bool)> = vec![
        (
            "Statements",
            Unit::PerSecond,
            vec![
                rate("reads", &|s| s.reads as f64),
                rate("writes", &|s| s.writes as f64),
                rate("others", &|s| s.timed.saturating_sub(s.reads + s.writes) as f64),
            ],
            true,
        ),
        ("Time of statements", Unit::Seconds, vec![slowest("median", 0.5), slowest("95%", 0.95), slowest("99%", 0.99)], false),
        (
            "Connections",
            Unit::Count,
            vec![state("connected", &|s| s.connected as f64), state("running", &|s| s.running as f64)],
            false,
        ),
        ("Errors", Unit::PerSecond, vec![rate("errors", &|s| s.errors as f64)], false),
        ("CPU", Unit::Cores, vec![rate("cores", &|s| s.cpu_s)], false),
        ("Memory by owner", Unit::Bytes, memory, true),
        (
            "Commits",
            Unit::PerSecond,
            vec![rate("commits", &|s| s.commits as f64), rate("groups, one sync each", &|s| s.commit_groups as f64)],
            false,
        ),
        ("Waits for row locks", Unit::PerSecond, vec![rate("waits", &|s| s.lock_waits as f64)], false),
        (
            "Rows",
            Unit::PerSecond,
            vec![rate("examined", &|s| s.rows_examined as f64), rate("sent", &|s| s.rows_sent as f64)],
            false,
        ),
        (
            "Network",
            Unit::BytesPerSecond,
            vec![rate("received", &|s| s.bytes_received as f64), rate("sent", &|s| s.bytes_sent as f64)],
            false,
        ),
        (
            "Data",
            Unit::Bytes,
            vec![state("files", &|s| s.data_bytes as f64), state("to compact", &|s| s.compaction_pending_bytes as f64)],
            false,
        ),
    ];
    html! {
        div.charts {
            @for (title, unit, series, is_stacked) in charts {
                (Chart { title, unit, ages_s: &ages, series, is_stacked }.draw())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_between_the_bounds() {
        let sample = |timed: u64, from: usize| Snapshot {
            timed,
            not_slower: bounds_s().enumerate().map(|(at, _)| if at >= from { timed } else { 0 }).collect(),
            ..Snapshot::default()
        };
        // 100 statements between the first two bounds, 10 and 25 µs.
        let took = quantile(&sample(0, 1), &sample(100, 1), 0.5);
        assert!((took - 17.5e-6).abs() < 1e-9, "{took}");
        assert!(quantile(&sample(5, 1), &sample(5, 1), 0.5).is_nan());
    }
}
