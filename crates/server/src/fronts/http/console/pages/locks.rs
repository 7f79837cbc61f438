//! Who waits for whom, which locks there are, and the last deadlock.

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::layout::{Content, failure, plain_table, section};
use crate::fronts::http::console::shown::count;
use crate::fronts::http::console::statements::Rows;

const REFRESH_MS: u64 = 5000;
const LOCKS: usize = 500;

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let waits = view.statements.rows(
        "SELECT waiting_pid, waiting_query, blocking_pid, blocking_query, locked_table, locked_index, waiting_lock_mode, wait_age_secs \
         FROM sys.innodb_lock_waits ORDER BY wait_age_secs DESC",
    );
    let rows = view.statements.rows(&format!(
        "SELECT t.processlist_id AS connection, l.object_schema AS `schema`, l.object_name AS `table`, l.index_name AS `index`, \
         l.lock_type AS type, l.lock_mode AS mode, l.lock_status AS status, l.lock_data AS data \
         FROM performance_schema.data_locks l LEFT JOIN performance_schema.threads t USING (thread_id) \
         ORDER BY l.lock_status DESC, connection LIMIT {LOCKS}"
    ));
    let metadata = view.statements.rows(
        "SELECT t.processlist_id AS connection, l.object_type AS `of`, l.object_schema AS `schema`, l.object_name AS name, l.lock_type AS type, \
         l.lock_status AS status FROM performance_schema.metadata_locks l \
         LEFT JOIN performance_schema.threads t ON t.thread_id = l.owner_thread_id LIMIT 200",
    );
    let status = view.statements.rows("SHOW ENGINE INNODB STATUS");
    let body = html! {
        h1 { "Locks" }
        (section("Waits", waits, waiting))
        section {
            h2 { "The last deadlock" }
            @match &status {
                Ok(rows) => @match rows.first().and_then(|row| part(row.text("Status"), "LATEST DETECTED DEADLOCK")) {
                    Some(text) => pre { (text) },
                    None => p.hint { "There was none since the start." },
                },
                Err(error) => (failure(error)),
            }
        }
        (section("Locks on rows and tables", rows, |rows| plain_table(rows, "Nobody holds any.")))
        (section("Locks on definitions, LOCK TABLES and GET_LOCK()", metadata, |rows| plain_table(rows, "Nobody holds any.")))
    };
    Ok(Content::new("Locks", body).refreshed(REFRESH_MS))
}

fn waiting(rows: &Rows) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "Nobody waits for a lock." } };
    }
    html! {
        div.scroll {
            table {
                thead { tr { th.n { "waits" } th { "with" } th { "for" } th.n { "behind" } th { "which does" } th.n { "seconds" } } }
                tbody {
                    @for row in rows.iter() {
                        tr {
                            td.n { a href={ "/sessions/" (row.text("waiting_pid")) } { (row.text("waiting_pid")) } }
                            td.sql { div { (row.value("waiting_query").unwrap_or("–")) } }
                            td { (row.text("waiting_lock_mode")) " on " (row.text("locked_table")) " " (row.text("locked_index")) }
                            td.n { a href={ "/sessions/" (row.text("blocking_pid")) } { (row.text("blocking_pid")) } }
                            td.sql { div { (row.value("blocking_query").unwrap_or("nothing just now, in a transaction")) } }
                            td.n { (count(row.number("wait_age_secs"))) }
                        }
                    }
                }
            }
        }
    }
}

/// The part of the status text under a heading, which stands between two lines of dashes.
pub fn part<'a>(text: &'a str, heading: &str) -> Option<&'a str> {
    let (_, behind) = text.split_once(&format!("\n{heading}\n"))?;
    let (_, part) = behind.split_once('\n')?;
    let end = part.find("\n---").unwrap_or(part.len());
    // Of a text that begins with the next heading nothing is left.
    Some(if part.starts_with("---") { "" } else { &part[..end] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_status() {
        let text = "x\n---\nONE\n---\na\nb\n-----\nTWO\n-----\n----\nLAST\n----\nc\n";
        assert_eq!(
            [part(text, "ONE"), part(text, "TWO"), part(text, "LAST"), part(text, "NONE")],
            [Some("a\nb"), Some(""), Some("c\n"), None]
        );
    }
}
