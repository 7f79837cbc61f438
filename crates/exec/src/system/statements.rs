//! System tables about statements: digests, kinds, how long they took, the last ones of each connection.

use vaquita_parser::StatementKind;
use vaquita_types::{Result, Value};

use super::row::{NULL, cell, row};
use super::{Row, SystemContext, setup};
use crate::context::{
    Forget, Histogram, PlanInfo, ServerInfo, StatementEvent, StatementEvents, StatementSums, bucket_bounds, thread_id,
};

/// What MySQL cuts messages to.
const MESSAGE_CHARS_MAX: usize = 128;
pub const PS_PER_NS: u64 = 1000;

fn events<'a>(cx: &SystemContext<'a>) -> Option<&'a dyn StatementEvents> {
    cx.statement.server.statement_events()
}

/// Columns of sums, from COUNT_STAR to COUNT_SECONDARY.
pub fn sums_of(row: &mut Row, sums: &StatementSums) {
    let waits = [sums.wait_ns, sums.wait_ns_min, sums.wait_ns.checked_div(sums.count).unwrap_or(0), sums.wait_ns_max];
    row.push(cell(sums.count));
    row.extend(waits.map(|ns| cell(ns.saturating_mul(PS_PER_NS))));
    row.extend(sums.work.counts().iter().map(|count| cell(*count)));
    // Time of CPUs is not counted, as in MySQL by default; nor are memory and a second engine.
    row.extend([0u64; 4].map(cell));
}

pub fn summary_by_digest(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let lines = events(cx).map(StatementEvents::digests).unwrap_or_default();
    Ok(lines
        .iter()
        .map(|line| {
            let digest = line.digest.as_ref();
            let mut row = row![
                digest.and_then(|digest| digest.database.as_deref()),
                digest.map(|digest| &*digest.digest),
                digest.map(|digest| &*digest.text),
            ];
            sums_of(&mut row, &line.sums);
            row.extend([cx.exact_time(line.first_seen_us), cx.exact_time(line.last_seen_us)]);
            row.extend([0.95, 0.99, 0.999].map(|part| cell(line.sums.histogram.quantile(part))));
            match &line.sample {
                Some(sample) => {
                    row.extend(row![&*sample.text, cx.exact_time(sample.seen_us), sample.wait_ns * PS_PER_NS]);
                }
                None => row.extend(row![NULL, cx.exact_time(0), 0u64]),
            }
            row
        })
        .collect())
}

/// vaquita.statement_plans: by which plans the statements of a digest ran.
pub fn plans(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let plans = events(cx).map(StatementEvents::plans).unwrap_or_default();
    let row = |plan: &PlanInfo| {
        let [sum, average, most] = [plan.wait_ns, plan.wait_ns.checked_div(plan.count).unwrap_or(0), plan.wait_ns_max]
            .map(|ns| ns.saturating_mul(PS_PER_NS));
        row![
            plan.digest.database.as_deref(),
            &*plan.digest.digest,
            format!("{:016x}", plan.shape),
            plan.count,
            sum,
            average,
            most,
            cx.exact_time(plan.first_seen_us),
            cx.exact_time(plan.last_seen_us),
            plan.text.as_deref(),
        ]
    };
    Ok(plans.iter().map(row).collect())
}

/// `statement/sql/select`, as the counter `Com_select`.
pub fn event_name(kind: Option<StatementKind>) -> String {
    let counter = kind.map_or("", |kind| kind.facts().counter);
    let name = counter.strip_prefix("Com_").unwrap_or("error");
    format!("statement/sql/{name}")
}

/// Columns from BUCKET_NUMBER on, for each bucket.
fn buckets(histogram: &Histogram) -> Vec<Row> {
    let total: u64 = histogram.counts().sum();
    let mut below = 0;
    let line = |(at, (count, (low, high))): (usize, (u64, &(u64, u64)))| {
        below += count;
        let part = if total == 0 { 0.0 } else { below as f64 / total as f64 };
        row![at as u64, *low, *high, count, below, Value::Float(part)]
    };
    histogram.counts().zip(bucket_bounds()).enumerate().map(line).collect()
}

pub fn histogram_global(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut all = StatementSums::default();
    events(cx).map(StatementEvents::all).unwrap_or_default().kinds.iter().for_each(|(_, sums)| all.add_all(sums));
    Ok(buckets(&all.histogram))
}

/// Of each digest the buckets up to the slowest statement.
pub fn histogram_by_digest(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in events(cx).map(StatementEvents::digests).unwrap_or_default() {
        let digest = line.digest.as_ref();
        let of_digest = row![digest.and_then(|digest| digest.database.as_deref()), digest.map(|digest| &*digest.digest)];
        rows.extend(buckets(&line.sums.histogram).into_iter().map(|bucket| [of_digest.clone(), bucket].concat()));
    }
    Ok(rows)
}

pub fn current(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(event_rows(events(cx).map(StatementEvents::current).unwrap_or_default()))
}

pub fn history(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(event_rows(events(cx).map(StatementEvents::history).unwrap_or_default()))
}

fn event_rows(events: Vec<StatementEvent>) -> Vec<Row> {
    events.iter().map(event_row).collect()
}

fn event_row(event: &StatementEvent) -> Row {
    let (start, wait) = (event.start_ns * PS_PER_NS, event.wait_ns * PS_PER_NS);
    let digest = event.digest.as_ref();
    let message = |text: &String| text.chars().take(MESSAGE_CHARS_MAX).collect::<String>();
    let mut row = row![
        thread_id(event.connection_id),
        event.number,
        event.end_number,
        event_name(event.kind),
        NULL,
        start,
        start.saturating_add(wait),
        wait,
    ];
    let mut counts = event.work.counts().iter().map(|count| cell(*count));
    // LOCK_TIME stands before the texts, the other counts behind the error.
    row.extend(counts.next());
    row.extend(row![
        event.text.as_deref(),
        digest.map(|digest| &*digest.digest),
        digest.map(|digest| &*digest.text),
        event.database.as_deref(),
        NULL,
        NULL,
        NULL,
        NULL,
        event.error.as_ref().map_or(0, |(code, ..)| u64::from(*code)),
        event.error.as_ref().map(|(_, state, _)| state.as_str()),
        event.error.as_ref().map(|(.., text)| message(text)),
    ]);
    row.extend(counts);
    let nesting = event.transaction.map(|_| "TRANSACTION");
    row.extend(row![event.transaction, nesting, 0u64, event.statement_id, 0u64, 0u64, 0u64, "PRIMARY"]);
    row
}

/// Whether MySQL has a TRUNCATE for a table of performance_schema: what counts begins anew.
pub fn may_be_emptied(table: &str) -> bool {
    const OTHERS: [&str; 9] = [
        "accounts",
        "binary_log_transaction_compression_stats",
        "global_status",
        "host_cache",
        "hosts",
        "prepared_statements_instances",
        "setup_actors",
        "setup_objects",
        "users",
    ];
    let table = table.to_ascii_lowercase();
    let counts = table.starts_with("events_") || table.starts_with("status_by_") || table.contains("_summary_");
    counts || OTHERS.contains(&table.as_str())
}

/// TRUNCATE of a table of performance_schema.
pub fn empty(table: &str, server: &dyn ServerInfo) {
    let table = table.to_ascii_lowercase();
    if let "setup_actors" | "setup_objects" = table.as_str() {
        return setup::empty(server, &table);
    }
    let Some(events) = server.statement_events() else { return };
    let is = |start: &str, end: &str| table.starts_with(start) && table.ends_with(end);
    let what = match table.as_str() {
        "events_statements_summary_by_digest" | "events_statements_histogram_by_digest" => Forget::Digests,
        "events_statements_histogram_global" => Forget::Kinds,
        "events_statements_history" => Forget::StatementHistory,
        "events_transactions_history" => Forget::TransactionHistory,
        "accounts" | "users" | "hosts" => Forget::Accounts,
        "objects_summary_global_by_type" => Forget::Tables,
        _ if is("table_io_waits_summary_", "") => Forget::Tables,
        _ if is("events_statements_summary_", "_by_event_name") => Forget::Kinds,
        _ if is("events_transactions_summary_", "_by_event_name") => Forget::Transactions,
        _ if is("events_errors_summary_", "_by_error") => Forget::Errors,
        // It counts nothing here, or what runs.
        _ => return,
    };
    events.forget(what);
}
