//! An outcome as Markdown: machine, versions, settings, then a table of figures for each table.

use std::fmt::{Result as Written, Write};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::outcome::{Outcome, Row, Table, Target};
use super::server::{KINDS, Kind};
use super::settings::Settings;
use super::{chart, process, stats};
use crate::paths;

/// How durable every server was.
pub const DURABLE: &str = "- Durable: every server syncs its log before it acknowledges a commit \
    (`innodb_flush_log_at_trx_commit=1`, MySQL's binary log on with `sync_binlog=1`, all defaults).";

/// Writes NAME.md, and NAME.svg if there is something to show.
pub fn write(settings: &Settings, outcome: &Outcome) -> Result<(), String> {
    let bars = chart::Bars::of(&outcome.title, &outcome.tables);
    let svg = match &outcome.lines {
        Some(lines) => Some(chart::lines(lines)),
        None => (!bars.groups.is_empty()).then(|| chart::bars(&bars)),
    };
    let text = markdown(settings, outcome, svg.is_some());
    println!("\n{text}");
    save(settings, "md", &text)?;
    svg.map_or(Ok(()), |svg| save(settings, "svg", &svg))
}

pub fn save(settings: &Settings, extension: &str, text: &str) -> Result<(), String> {
    std::fs::create_dir_all(&settings.out).map_err(|e| format!("{}: {e}", settings.out.display()))?;
    let path = settings.out.join(settings.name).with_extension(extension);
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// "on DATE, commit C".
pub fn stamp() -> String {
    format!("on {}, commit {}", today(), commit())
}

fn markdown(settings: &Settings, outcome: &Outcome, chart: bool) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_head(&mut out, settings, outcome, chart);
    for table in &outcome.tables {
        let _ = write_table(&mut out, settings, table, &outcome.failures);
    }
    if !outcome.failures.is_empty() {
        let _ = writeln!(out, "## Failures\n");
        for (kind, text) in &outcome.failures {
            let _ = writeln!(out, "- {}: {}", kind.title(), text.replace('\n', " "));
        }
    }
    out
}

fn write_head(out: &mut String, settings: &Settings, outcome: &Outcome, chart: bool) -> Written {
    let quick = if settings.quick { " --quick" } else { "" };
    writeln!(out, "# {}\n", outcome.title)?;
    writeln!(out, "Written by `cargo xtask bench {}{quick}` {}. Do not edit.\n", settings.name, stamp())?;
    if chart {
        writeln!(out, "![{}]({}.svg)\n", outcome.title, settings.name)?;
    }
    writeln!(out, "- Machine: {}. The load generator runs on the same machine.", process::machine())?;
    for (kind, version) in &outcome.versions {
        writeln!(out, "- {}: {version}", kind.title())?;
    }
    for line in &outcome.settings {
        writeln!(out, "- {line}")?;
    }
    writeln!(out, "{DURABLE}")?;
    let runs = settings.runs;
    let spread = if runs > 1 { format!("Median of {runs} runs (lowest–highest).") } else { "One run.".to_string() };
    writeln!(out, "- {spread} A ratio above 1 says that Vaquita is better than the best peer by so much.\n")
}

fn write_table(out: &mut String, settings: &Settings, table: &Table, failures: &[(Kind, String)]) -> Written {
    let unit = if table.unit.is_empty() { String::new() } else { format!(", {}", table.unit) };
    writeln!(out, "## {}{unit}\n", table.title)?;
    let kinds: Vec<Kind> = KINDS.into_iter().filter(|kind| settings.servers.contains(kind)).collect();
    write!(out, "| |")?;
    for kind in &kinds {
        write!(out, " {} |", kind.title())?;
    }
    let targets = table.rows.iter().any(|row| row.target != Target::None);
    writeln!(out, " to the best peer |{}", if targets { " target | |" } else { "" })?;
    writeln!(out, "|---|{}---:|{}", "---:|".repeat(kinds.len()), if targets { "---|---|" } else { "" })?;
    for row in &table.rows {
        write_row(out, table, row, &kinds, targets, failures)?;
    }
    writeln!(out)?;
    if table.note.is_empty() { Ok(()) } else { writeln!(out, "{}\n", table.note) }
}

fn write_row(out: &mut String, table: &Table, row: &Row, kinds: &[Kind], targets: bool, failures: &[(Kind, String)]) -> Written {
    write!(out, "| {} |", row.name)?;
    for kind in kinds {
        let failed = failures.iter().any(|(failed, _)| failed == kind);
        write!(out, " {} |", cell(row.cell(*kind)).unwrap_or_else(|| if failed { "failed" } else { "–" }.into()))?;
    }
    match row.ratio(table.better) {
        Some(ratio) => write!(out, " **{}** |", figure(ratio))?,
        None => write!(out, " – |")?,
    }
    if targets {
        let met = match row.met(table.better) {
            Some(true) => "met",
            Some(false) => "missed",
            None => "",
        };
        write!(out, " {} | {met} |", row.target.text())?;
    }
    writeln!(out)
}

/// "median (lowest–highest)".
fn cell(values: &[f64]) -> Option<String> {
    match (stats::median(values), stats::spread(values)) {
        (Some(median), Some((low, high))) if values.len() > 1 => {
            Some(format!("{} ({}–{})", figure(median), figure(low), figure(high)))
        }
        (Some(median), _) => Some(figure(median)),
        _ => None,
    }
}

/// With three digits that count.
pub fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        v if v >= 0.1 || v == 0.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
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
    use super::super::outcome::Better;
    use super::*;

    #[test]
    fn days_are_dates() {
        for (days, date) in
            [(0, (1970, 1, 1)), (59, (1970, 3, 1)), (789, (1972, 2, 29)), (11_016, (2000, 2, 29)), (20_453, (2025, 12, 31))]
        {
            assert_eq!(civil(days), date);
        }
    }

    #[test]
    fn a_table_of_figures() {
        let settings = Settings { name: "x", quick: false, servers: KINDS.to_vec(), runs: 3, out: "o".into() };
        let mut table = Table::new("Time", "s", Better::Less).note("A note.");
        table.row("scan", Target::Peer(2.0));
        table.row("count", Target::None);
        for (kind, value) in [(Kind::MySql, 2.0), (Kind::MySql, 4.0), (Kind::MySql, 3.0), (Kind::Vaquita, 0.5)] {
            table.add("scan", kind, value);
        }
        let mut out = String::new();
        assert_eq!(write_table(&mut out, &settings, &table, &[(Kind::MyRocks, "no".into())]), Ok(()));
        assert_eq!(
            out,
            "## Time, s\n\n\
             | | MySQL InnoDB | MariaDB InnoDB | MariaDB MyRocks | Vaquita | to the best peer | target | |\n\
             |---|---:|---:|---:|---:|---:|---|---|\n\
             | scan | 3.00 (2.00–4.00) | – | failed | 0.500 | **6.00** | 2x the best peer | met |\n\
             | count | – | – | failed | – | – |  |  |\n\nA note.\n\n"
        );
    }
}
