//! The results as Markdown: settings, ratios, footprint, then one table per script.

use std::fmt::Write;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::server::Kind;
use super::sysbench::BULK_INSERT;
use super::{Plan, Results, process};
use crate::paths;

pub fn markdown(plan: &Plan, results: &Results, sysbench: &str) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_settings(&mut out, plan, results, sysbench);
    let _ = write_ratios(&mut out, plan, results);
    let _ = write_footprints(&mut out, results);
    for script in &plan.scripts {
        let _ = write_script(&mut out, plan, results, script);
    }
    if !results.failures.is_empty() {
        let _ = writeln!(out, "## Failures\n");
        for failure in &results.failures {
            let _ = writeln!(out, "- {}", failure.replace('\n', " "));
        }
    }
    out
}

fn write_settings(out: &mut String, plan: &Plan, results: &Results, sysbench: &str) -> std::fmt::Result {
    writeln!(out, "# sysbench: Vaquita, MySQL, MariaDB\n")?;
    writeln!(out, "Written by `cargo xtask bench` on {}, commit {}. Do not edit.\n", today(), commit())?;
    writeln!(out, "![Throughput of Vaquita relative to the best peer](sysbench.svg)\n")?;
    writeln!(out, "- Machine: {}. The load generator runs on the same machine.", process::machine())?;
    for footprint in &results.footprints {
        writeln!(out, "- {}: {}", footprint.kind.title(), footprint.version)?;
    }
    writeln!(out, "- {sysbench}, its scripts unmodified, TCP on loopback without TLS, prepared statements as the scripts do.")?;
    writeln!(
        out,
        "- {} tables of {} rows, prepared once per server; {} s a cell, median of {} runs (lowest–highest).",
        plan.size.tables, plan.size.rows, plan.seconds, plan.runs
    )?;
    writeln!(
        out,
        "- Durable: every server syncs its log before it acknowledges a commit (`innodb_flush_log_at_trx_commit=1`, MySQL's \
         binary log on with `sync_binlog=1`, all defaults). Buffer pool and block cache of the peers 2 GB; Vaquita at its defaults."
    )?;
    writeln!(
        out,
        "- Each run on one server after the other, while the others are stopped (SIGSTOP); scripts run in the order of this page, \
         each on what the one before left.\n"
    )
}

fn write_ratios(out: &mut String, plan: &Plan, results: &Results) -> std::fmt::Result {
    writeln!(out, "## Throughput relative to the best peer\n")?;
    write!(out, "| script |")?;
    for threads in &plan.threads {
        write!(out, " {threads} {} |", if *threads == 1 { "thread" } else { "threads" })?;
    }
    writeln!(out, "\n|---|{}", "---:|".repeat(plan.threads.len()))?;
    for script in &plan.scripts {
        write!(out, "| {script} |")?;
        for threads in &plan.threads {
            match results.ratio(script, *threads) {
                Some(ratio) => write!(out, " {ratio:.2} |")?,
                None => write!(out, " – |")?,
            }
        }
        writeln!(out)?;
    }
    writeln!(out)
}

fn write_footprints(out: &mut String, results: &Results) -> std::fmt::Result {
    writeln!(out, "## Footprint\n")?;
    writeln!(out, "| server | tables on disk, MB | resident after warm-up, MB | start, ms |\n|---|---:|---:|---:|")?;
    let mb = |bytes: u64| bytes as f64 / 1e6;
    for f in &results.footprints {
        let start_ms = f.start_time.as_secs_f64() * 1e3;
        writeln!(out, "| {} | {:.0} | {:.0} | {start_ms:.0} |", f.kind.title(), mb(f.table_bytes), mb(f.warm_bytes))?;
    }
    writeln!(
        out,
        "\nOn disk: InnoDB's tablespaces; RocksDB's table files after its memtables were flushed; without logs. \
         Start: from the spawn to the first answered query, on the loaded data after a clean shutdown.\n"
    )
}

fn write_script(out: &mut String, plan: &Plan, results: &Results, script: &str) -> std::fmt::Result {
    let unit = if script == BULK_INSERT { "rows" } else { "queries" };
    let one = if script == BULK_INSERT { "row" } else { "query" };
    writeln!(out, "## {script}\n")?;
    writeln!(
        out,
        "| threads | server | {unit}/s | lowest–highest | 95th percentile, ms | server CPU, µs/{one} | retried errors | to the best peer |"
    )?;
    writeln!(out, "|---:|---|---:|---:|---:|---:|---:|---:|")?;
    for threads in &plan.threads {
        for kind in &plan.servers {
            write!(out, "| {threads} | {} |", kind.title())?;
            let cell = results.cell(*kind, script, *threads);
            let Some((cell, median)) = cell.and_then(|cell| Some((cell, cell.median()?))) else {
                writeln!(out, " failed | | | | | |")?;
                continue;
            };
            let (low, high) = (cell.per_second.first().unwrap_or(&median), cell.per_second.last().unwrap_or(&median));
            write!(
                out,
                " {median:.0} | {low:.0}–{high:.0} | {:.2} | {:.1} | {} |",
                cell.p95_ms, cell.cpu_us, cell.ignored_errors
            )?;
            match results.ratio(script, *threads).filter(|_| *kind == Kind::Vaquita) {
                Some(ratio) => writeln!(out, " **{ratio:.2}** |")?,
                None => writeln!(out, " |")?,
            }
        }
    }
    writeln!(out)
}

fn commit() -> String {
    let output = Command::new("git").arg("-C").arg(paths::repository()).args(["rev-parse", "--short", "HEAD"]).output();
    output.map_or_else(|_| "unknown".into(), |output| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    let (year, month, day) = civil(days);
    format!("{year}-{month:02}-{day:02}")
}

/// Year, month and day of a number of days since 1970-01-01.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn days_are_dates() {
        for (days, date) in
            [(0, (1970, 1, 1)), (59, (1970, 3, 1)), (789, (1972, 2, 29)), (11_016, (2000, 2, 29)), (20_453, (2025, 12, 31))]
        {
            assert_eq!(super::civil(days), date);
        }
    }
}
