//! The log of commits and what it holds up to, and the last lines of the error log.

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::layout::{Content, failure, plain_table, section, tile};
use crate::fronts::http::console::shown::{bytes, count, time_s};
use crate::fronts::http::console::statements::Rows;

const REFRESH_MS: u64 = 5000;
const LINES: usize = 100;

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let status = view.statements.rows("SHOW GLOBAL STATUS");
    let settings = view.statements.rows(
        "SHOW GLOBAL VARIABLES WHERE variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'binlog_format', \
         'binlog_row_image', 'binlog_expire_logs_seconds', 'max_binlog_size', 'gtid_mode')",
    );
    let log = view.statements.rows("SHOW BINARY LOG STATUS");
    let files = view.statements.rows("SHOW BINARY LOGS");
    let lines = view
        .statements
        .rows(&format!("SELECT logged, prio, data FROM performance_schema.error_log ORDER BY logged DESC LIMIT {LINES}"));
    let body = html! {
        h1 { "Log" }
        @match &status {
            Ok(status) => div.tiles { (tiles(status, files.as_ref().ok())) },
            Err(error) => (failure(error)),
        }
        (section("Where the binary log ends", log, |rows| plain_table(rows, "There is no binary log (--log-bin).")))
        (section("How it is written", settings, |rows| plain_table(rows, "Nothing is set.")))
        (section("The error log, the newest first", lines, error_log))
    };
    Ok(Content::new("Log", body).refreshed(REFRESH_MS))
}

fn tiles(status: &Rows, files: Option<&Rows>) -> Markup {
    let text = |name: &str| status.iter().find(|row| row.text("Variable_name") == name).map_or("", |row| row.text("Value"));
    let value = |name: &str| text(name).parse::<f64>().unwrap_or(0.0);
    let (groups, commits) = (value("Rocksdb_commit_groups"), value("Rocksdb_commits"));
    let log_bytes: f64 = files.iter().flat_map(|files| files.iter()).map(|row| row.number("File_size")).sum();
    html! {
        (tile("Commits", &count(commits), &format!("{:.1} a group", commits / groups.max(1.0))))
        (tile("Groups, one sync each", &count(groups), ""))
        (tile("Time of a group in the log", &time_s(value("Rocksdb_commit_log_time_us") / 1e6 / groups.max(1.0)), "on average since the start"))
        (tile("Number of the last change", text("Innodb_redo_log_current_lsn"), ""))
        (tile("Not in files yet", &bytes(value("Rocksdb_memtable_bytes")), "a start after a crash reads it from the log again"))
        @if let Some(files) = files { (tile("Binary log", &bytes(log_bytes), &format!("files: {}", count(files.len() as f64)))) }
        (tile("Sessions that wait for replicas", text("Rpl_semi_sync_source_wait_sessions"), "semi-synchronous replication"))
    }
}

fn error_log(rows: &Rows) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "It has no lines." } };
    }
    html! {
        div.scroll {
            table {
                tbody {
                    @for row in rows.iter() {
                        @let class = match row.text("prio") {
                            "Error" => "bad",
                            "Warning" => "fair",
                            _ => "soft",
                        };
                        tr {
                            td.when { (row.text("logged").split('.').next().unwrap_or_default()) }
                            td.(class) { (row.text("prio")) }
                            td.line { (row.text("data")) }
                        }
                    }
                }
            }
        }
    }
}
