//! What runs long: changes of schemas and builds of indexes with how far they are, loads and other large transactions, statements, background work.

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::layout::{Content, failure, section, tile};
use crate::fronts::http::console::shown::{bytes, count, time_ps, time_s};
use crate::fronts::http::console::statements::Rows;

const REFRESH_MS: u64 = 2000;
/// Statements that are shown as long ones.
const LONG_S: u64 = 2;

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let stages = view.statements.rows(
        "SELECT t.processlist_id AS id, t.processlist_user AS user, t.processlist_info AS statement, s.event_name AS stage, s.timer_wait AS took, \
         s.work_completed AS done, s.work_estimated AS expected FROM performance_schema.events_stages_current s \
         JOIN performance_schema.threads t USING (thread_id) ORDER BY took DESC",
    );
    let transactions = view.statements.rows(&format!(
        "SELECT x.trx_mysql_thread_id AS id, t.processlist_user AS user, t.processlist_info AS statement, x.trx_state AS state, \
         TIMESTAMPDIFF(SECOND, x.trx_started, NOW()) AS age, x.trx_rows_modified AS changed, x.trx_rows_locked AS locked \
         FROM information_schema.innodb_trx x LEFT JOIN performance_schema.threads t ON t.processlist_id = x.trx_mysql_thread_id \
         WHERE x.trx_started <= NOW() - INTERVAL {LONG_S} SECOND ORDER BY x.trx_started LIMIT 200"
    ));
    let statements = view.statements.rows(&format!(
        "SELECT processlist_id AS id, processlist_user AS user, processlist_db AS `database`, processlist_info AS statement, \
         processlist_state AS state, processlist_time AS age FROM performance_schema.threads \
         WHERE processlist_command IN ('Query', 'Execute') AND processlist_time >= {LONG_S} ORDER BY processlist_time DESC LIMIT 200"
    ));
    let engine = view.statements.rows("SHOW ENGINE ROCKSDB STATUS");
    let status = engine.as_ref().ok().and_then(Rows::first).map_or("", |row| row.text("Status")).to_string();
    let body = html! {
        h1 { "Work" }
        @match &engine {
            Ok(_) => div.tiles { (background(&status)) },
            Err(error) => (failure(error)),
        }
        (section("Changes of schemas, and indexes that are built", stages, all_stages))
        (section("Transactions that last: loads and large changes", transactions, all_transactions))
        (section("Statements that last", statements, all_statements))
    };
    Ok(Content::new("Work", body).refreshed(REFRESH_MS))
}

fn background(status: &str) -> Markup {
    let number = |meaning: &str| super::storage::number_of(status, meaning).unwrap_or(0.0);
    html! {
        (tile("Compactions", &count(number("running compactions")), "run now"))
        (tile("Flushes", &count(number("running flushes")), "run now"))
        (tile("To compact", &bytes(number("bytes to compact")), ""))
        (tile("Writes", super::storage::stalls(status), ""))
    }
}

fn connection(id: &str) -> Markup {
    html! { a href={ "/sessions/" (id) } { (id) } }
}

fn all_stages(rows: &Rows) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "None runs." } };
    }
    html! {
        div.scroll {
            table {
                thead { tr { th.n { "connection" } th { "user" } th { "statement" } th { "stage" } th.n { "for" } th { "rows" } } }
                tbody {
                    @for row in rows.iter() {
                        @let (done, expected) = (row.number("done"), row.number("expected"));
                        tr {
                            td.n { (connection(row.text("id"))) }
                            td { (row.text("user")) }
                            td.sql { div { (row.text("statement")) } }
                            td { (row.text("stage").rsplit('/').next().unwrap_or_default()) }
                            td.n { (time_ps(row.number("took"))) }
                            td.share {
                                @if row.value("expected").is_some() {
                                    meter min="0" max=(expected.max(1.0)) value=(done) {}
                                    " " (count(done)) " of " (count(expected))
                                } @else { "–" }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn all_transactions(rows: &Rows) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "There is none." } };
    }
    html! {
        div.scroll {
            table {
                thead {
                    tr { th.n { "connection" } th { "user" } th { "statement" } th { "state" } th.n { "for" } th.n { "rows changed" } th.n { "locked" } }
                }
                tbody {
                    @for row in rows.iter() {
                        tr {
                            td.n { (connection(row.text("id"))) }
                            td { (row.value("user").unwrap_or("–")) }
                            td.sql { div { (row.value("statement").unwrap_or("nothing just now")) } }
                            td { (row.text("state").to_lowercase()) }
                            td.n { (time_s(row.number("age"))) }
                            td.n { (count(row.number("changed"))) }
                            td.n { (count(row.number("locked"))) }
                        }
                    }
                }
            }
        }
    }
}

fn all_statements(rows: &Rows) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "There is none." } };
    }
    html! {
        div.scroll {
            table {
                thead { tr { th.n { "connection" } th { "user" } th { "database" } th { "statement" } th { "state" } th.n { "for" } } }
                tbody {
                    @for row in rows.iter() {
                        tr {
                            td.n { (connection(row.text("id"))) }
                            td { (row.text("user")) }
                            td { (row.value("database").unwrap_or("–")) }
                            td.sql { div { (row.text("statement")) } }
                            td { (row.value("state").unwrap_or("–")) }
                            td.n { (time_s(row.number("age"))) }
                        }
                    }
                }
            }
        }
    }
}
