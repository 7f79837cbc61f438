//! The results as Markdown: settings, ratios, footprint, then one table per script.

use std::fmt::Write;

use super::super::report::{DURABLE, stamp};
use super::call::BULK_INSERT;
use super::{Kind, Plan, Results, process};

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
    writeln!(out, "Written by `cargo xtask bench sysbench` {}. Do not edit.\n", stamp())?;
    writeln!(out, "![Throughput of Vaquita relative to the best peer](sysbench.svg)\n")?;
    writeln!(out, "- Machine: {}. The load generator runs on the same machine.", process::machine())?;
    for footprint in &results.footprints {
        writeln!(out, "- {}: {}", footprint.kind.title(), footprint.version)?;
    }
    writeln!(out, "- {sysbench}, its scripts unmodified, TCP on loopback without TLS, prepared statements as the scripts do.")?;
    writeln!(
        out,
        "- {} tables of {} rows, prepared once per server; {} s a cell, median of {} runs (lowest–highest).",
        plan.size.tables, plan.size.rows, plan.seconds, plan.settings.runs
    )?;
    writeln!(out, "{DURABLE} Buffer pool and block cache 2 GB.")?;
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
        for kind in &plan.settings.servers {
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
