//! What came of it, as a table of text.

use std::collections::HashMap;
use std::fmt::Write;

use crate::play::{Played, Sums, kind_of};
use crate::recorded::{Action, Recording};

const TEXT_CHARS: usize = 60;
const PERCENTILES: [f64; 3] = [0.50, 0.95, 0.99];

/// Figures of one column: one server, or the recording itself.
struct Column<'r> {
    name: String,
    kinds: HashMap<&'r str, Sums>,
}

/// The `top` kinds of statements by the time that they took on the first server, and what else there is to say.
pub fn report(recording: &Recording, played: &[Played], top: usize) -> String {
    let mut out = String::new();
    let span_s = recording.end_us().saturating_sub(recording.begin_us()) as f64 / 1e6;
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "Recorded: {} sessions, {} statements, {span_s:.1} s; {} entries were left out.",
        recording.sessions.len(),
        recording.statements(),
        recording.left_out
    );
    for server in played {
        summary(&mut out, server);
    }
    let recorded = recorded_kinds(recording);
    let mut columns = Vec::new();
    if !recorded.is_empty() {
        let kinds = recorded.iter().map(|(kind, sums)| (kind.as_str(), sums.clone())).collect();
        columns.push(Column { name: "recorded".to_string(), kinds });
    }
    for server in played {
        let kinds = server.kinds.iter().map(|(kind, sums)| (kind.as_str(), sums.clone())).collect();
        columns.push(Column { name: server.server.clone(), kinds });
    }
    let Some(first) = played.first() else { return out };
    let mut kinds: Vec<&str> = first.kinds.keys().map(String::as_str).collect();
    let time = |kind: &str| first.kinds.get(kind).map_or(0, total_us);
    kinds.sort_by_key(|kind| (std::cmp::Reverse(time(kind)), *kind));
    for kind in kinds.iter().take(top) {
        of_kind(&mut out, kind, &columns);
    }
    if kinds.len() > top {
        let _ = writeln!(out, "\n{} more kinds of statements are not shown.", kinds.len() - top);
    }
    out
}

fn summary(out: &mut String, played: &Played) {
    let statements: usize = played.kinds.values().map(|sums| sums.took_us.len()).sum();
    let errors: u64 = played.kinds.values().map(|sums| sums.errors).sum();
    let _ = writeln!(
        out,
        "\n{}: {statements} statements in {:.1} s, {:.0}/s; {errors} ended with an error, {} sessions were lost; at most {:.3} s late.",
        played.server,
        played.seconds,
        statements as f64 / played.seconds.max(f64::MIN_POSITIVE),
        played.lost_sessions,
        played.late_us_max as f64 / 1e6
    );
    let mut numbers: Vec<_> = played.errors.iter().collect();
    numbers.sort_by_key(|(number, (count, _))| (std::cmp::Reverse(*count), **number));
    for (number, (count, text)) in numbers {
        let _ = writeln!(out, "  {count} times error {number}, as: {text}");
    }
}

fn of_kind(out: &mut String, kind: &str, columns: &[Column<'_>]) {
    let shown: String = kind.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = shown.chars().take(TEXT_CHARS).collect();
    let more = if cut.len() < shown.len() { "…" } else { "" };
    let _ = writeln!(out, "\n{cut}{more}");
    let _ = writeln!(
        out,
        "  {:32} {:>9} {:>7} {:>9} {:>10} {:>10} {:>10} {:>10} {:>7}",
        "", "runs", "errors", "rows", "mean ms", "p50", "p95", "p99", "ratio"
    );
    let first = columns.iter().find_map(|column| column.kinds.get(kind)).map(mean_ms);
    for column in columns {
        let Some(sums) = column.kinds.get(kind) else { continue };
        let mut sorted = sums.took_us.clone();
        sorted.sort_unstable();
        let [p50, p95, p99] = PERCENTILES.map(|part| percentile_ms(&sorted, part));
        let mean = mean_ms(sums);
        let ratio = first.filter(|first| *first > 0.0).map_or(0.0, |first| mean / first);
        let _ = writeln!(
            out,
            "  {:32} {:>9} {:>7} {:>9} {mean:>10.3} {p50:>10.3} {p95:>10.3} {p99:>10.3} {ratio:>7.2}",
            column.name,
            sums.took_us.len(),
            sums.errors,
            sums.rows,
        );
    }
}

/// Where the log says how long statements took.
fn recorded_kinds(recording: &Recording) -> HashMap<String, Sums> {
    let mut kinds: HashMap<String, Sums> = HashMap::new();
    for recorded in recording.sessions.iter().flat_map(|session| &session.actions) {
        if let (Action::Statement(text), Some(took_us)) = (&recorded.action, recorded.took_us) {
            kinds.entry(kind_of(text)).or_default().took_us.push(took_us.min(u64::from(u32::MAX)) as u32);
        }
    }
    kinds
}

fn total_us(sums: &Sums) -> u64 {
    sums.took_us.iter().map(|us| u64::from(*us)).sum()
}

fn mean_ms(sums: &Sums) -> f64 {
    total_us(sums) as f64 / sums.took_us.len().max(1) as f64 / 1e3
}

/// Of times in their order.
fn percentile_ms(sorted: &[u32], part: f64) -> f64 {
    let at = ((sorted.len() as f64 * part).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(at).map_or(0.0, |us| f64::from(*us) / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let hundred: Vec<u32> = (1..=100).map(|ms| ms * 1000).collect();
        assert_eq!(PERCENTILES.map(|part| percentile_ms(&hundred, part)), [50.0, 95.0, 99.0]);
        assert_eq!((percentile_ms(&[7000], 0.99), percentile_ms(&[], 0.5)), (7.0, 0.0));
    }
}
