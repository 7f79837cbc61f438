//! The storage engine: levels, compaction, caches, commits.

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use super::status_text;
use crate::fronts::http::console::layout::{Content, failure, section, tile};
use crate::fronts::http::console::shown::{bytes, count};
use crate::fronts::http::console::statements::Rows;

const REFRESH_MS: u64 = 10_000;

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let status = view.statements.rows("SHOW ENGINE ROCKSDB STATUS");
    let counters = view.statements.rows("SHOW GLOBAL STATUS");
    let text = status.as_ref().ok().and_then(Rows::first).map_or("", |row| row.text("Status")).to_string();
    let body = html! {
        h1 { "Storage" }
        @match &counters {
            Ok(counters) => div.tiles { (tiles(counters, &text)) },
            Err(error) => (failure(error)),
        }
        (section("Levels", status, |_| levels(&text)))
        @if let Some(figures) = status_text::part(&text, "STORAGE") {
            section { h2 { "Figures" } (numbers(figures)) }
        }
        @if !text.is_empty() {
            section { details { summary { "All that SHOW ENGINE ROCKSDB STATUS says" } pre { (text) } } }
        }
    };
    Ok(Content::new("Storage", body).refreshed(REFRESH_MS))
}

fn tiles(counters: &Rows, text: &str) -> Markup {
    let value = |name: &str| {
        counters.iter().find(|row| row.text("Variable_name").eq_ignore_ascii_case(name)).map_or(0.0, |row| row.number("Value"))
    };
    let (groups, commits) = (value("Rocksdb_commit_groups"), value("Rocksdb_commits"));
    html! {
        (tile("Files", &bytes(value("Rocksdb_sst_bytes")), ""))
        @if let Some(live) = number_of(text, "bytes of live data, estimated").filter(|live| *live > 0.0) {
            (tile("Space amplification", &format!("{:.2}", value("Rocksdb_sst_bytes") / live), "bytes of files for each of live data"))
        }
        @if let Some(factor) = write_amplification(text) { (tile("Write amplification", factor, "bytes written for each that was flushed")) }
        (tile("Writes", stalls(text), ""))
        (tile("Rows by key", &part(value("Rocksdb_row_cache_hits"), value("Rocksdb_row_cache_misses")), "found in memory"))
        (tile("Scans", &part(value("Rocksdb_span_hits"), value("Rocksdb_span_misses")), "found a span in memory"))
        (tile("Memtables", &bytes(value("Rocksdb_memtable_bytes")), ""))
        (tile("Block cache", &bytes(value("Rocksdb_block_cache_bytes")), ""))
        (tile("To compact", &bytes(value("Rocksdb_bytes_to_compact")), ""))
        (tile("Commits", &count(commits), &format!("{:.1} a group", commits / groups.max(1.0))))
        (tile("Syncs of the log", &count(value("Innodb_os_log_fsyncs")), ""))
        (tile("Read from disks", &bytes(value("Innodb_data_read")), ""))
        (tile("Written to disks", &bytes(value("Innodb_data_written")), ""))
    }
}

/// A line of the figures.
pub fn number_of(text: &str, meaning: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_suffix(meaning)?.trim().parse().ok())
}

/// Of the line `Sum` of the first table of levels.
fn write_amplification(text: &str) -> Option<&str> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("Level "));
    let head: Vec<&str> = lines.next()?.split_whitespace().collect();
    let sum: Vec<&str> = lines.find(|line| line.trim_start().starts_with("Sum"))?.split_whitespace().collect();
    // A size has a column more.
    sum.get(head.iter().position(|name| *name == "W-Amp")? + 1).copied()
}

pub fn stalls(text: &str) -> &'static str {
    let rate = number_of(text, "bytes/s writes are slowed to, 0 if they are not").unwrap_or(0.0);
    if rate > 0.0 { "slowed down" } else { "not slowed down" }
}

fn part(hits: f64, misses: f64) -> String {
    if hits + misses > 0.0 { format!("{:.1}%", 100.0 * hits / (hits + misses)) } else { "–".to_string() }
}

/// RocksDB's first table of levels: words in columns, of which a size has two.
fn levels(text: &str) -> Markup {
    let lines = text.lines().skip_while(|line| !line.starts_with("Level "));
    let rows: Vec<Vec<String>> = lines
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| !line.starts_with("---"))
        .map(|line| joined(&line.split_whitespace().collect::<Vec<_>>()))
        .collect();
    let Some((head, rows)) = rows.split_first() else { return html! { p.hint { "The engine says nothing of its levels." } } };
    // What most look for; the text below has all.
    let wanted =
        ["Level", "Files", "Size", "Score", "Read(GB)", "Write(GB)", "W-Amp", "Comp(sec)", "Comp(cnt)", "KeyIn", "KeyDrop"];
    let columns: Vec<(usize, &str)> =
        wanted.iter().filter_map(|name| Some((head.iter().position(|known| known == name)?, *name))).collect();
    html! {
        div.scroll {
            table {
                thead { tr { @for (_, name) in &columns { th.n[*name != "Level"] { (name) } } } }
                tbody {
                    @for row in rows.iter().filter(|row| row.first().is_some_and(|level| level.starts_with('L') || level == "Sum")) {
                        tr { @for (at, name) in &columns { td.n[*name != "Level"] { (row.get(*at).map_or("–", String::as_str)) } } }
                    }
                }
            }
        }
    }
}

/// A number and its unit are one column.
fn joined(words: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in words {
        match out.last_mut() {
            Some(before) if matches!(*word, "B" | "KB" | "MB" | "GB" | "TB") => before.push_str(&format!(" {word}")),
            _ => out.push((*word).to_string()),
        }
    }
    out
}

/// Lines of a number and what it is, up to the first empty one.
fn numbers(text: &str) -> Markup {
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let pairs: Vec<(&str, &str)> =
        lines.filter_map(|line| line.split_once(' ')).filter(|(number, _)| number.parse::<f64>().is_ok()).collect();
    html! {
        div.scroll {
            table.facts {
                tbody {
                    @for (number, meaning) in pairs {
                        @let number: f64 = number.parse().unwrap_or(0.0);
                        tr {
                            th { (meaning.trim_start_matches("bytes ").trim_start_matches("bytes/s ")) }
                            td.n { @if meaning.starts_with("bytes") { (bytes(number)) } @else { (count(number)) } }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_one_column() {
        assert_eq!(joined(&["L0", "1/0", "1.82", "KB", "0.2"]), ["L0", "1/0", "1.82 KB", "0.2"]);
    }
}
