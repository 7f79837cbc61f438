//! Who waits for whom, which locks there are, and the last deadlocks.

use std::collections::HashSet;

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::graph::{self, Edge, Node};
use crate::fronts::http::console::layout::{Content, plain_table, section};
use crate::fronts::http::console::shown::count;
use crate::fronts::http::console::statements::{Row, Rows};

const REFRESH_MS: u64 = 5000;
const LOCKS: usize = 500;

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let waits = view.statements.rows(
        "SELECT waiting_pid, waiting_query, blocking_pid, blocking_query, CONCAT(locked_table, ' ', COALESCE(locked_index, '')) AS locked, \
         waiting_lock_mode AS mode, wait_age_secs AS seconds FROM sys.innodb_lock_waits ORDER BY wait_age_secs DESC LIMIT 200",
    );
    let definitions = view.statements.rows(
        "SELECT DISTINCT w.waiting_pid, w.waiting_query, w.blocking_pid, t.processlist_info AS blocking_query, \
         CONCAT('the definition of ', w.object_schema, '.', w.object_name) AS locked, w.waiting_lock_type AS mode, \
         w.waiting_query_secs AS seconds FROM sys.schema_table_lock_waits w \
         LEFT JOIN performance_schema.threads t ON t.processlist_id = w.blocking_pid WHERE w.waiting_pid <> w.blocking_pid LIMIT 200",
    );
    let waits = waits.and_then(|waits| Ok(both(waits, definitions?)));
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
    let deadlocks = view.statements.rows("SELECT * FROM vaquita.deadlocks ORDER BY deadlock_id DESC");
    let body = html! {
        h1 { "Locks" }
        (section("Waits", waits, |rows| html! { (waits_graph(rows)) (waiting(rows)) }))
        (section("The last deadlocks", deadlocks, all_deadlocks))
        (section("Locks on rows and tables", rows, |rows| plain_table(rows, "Nobody holds any.")))
        (section("Locks on definitions, LOCK TABLES and GET_LOCK()", metadata, |rows| plain_table(rows, "Nobody holds any.")))
    };
    Ok(Content::new("Locks", body).refreshed(REFRESH_MS))
}

/// Two results with the same columns.
fn both(mut one: Rows, other: Rows) -> Rows {
    one.is_cut |= other.is_cut;
    one.rows.extend(other.rows);
    one
}

fn waits_graph(rows: &Rows) -> Markup {
    let (mut nodes, mut edges, mut known) = (Vec::new(), Vec::new(), HashSet::new());
    for row in rows.iter() {
        for (id, query) in [("blocking_pid", "blocking_query"), ("waiting_pid", "waiting_query")]
            .map(|(id, query)| (row.text(id), row.value(query)))
        {
            if known.insert(id.to_string()) {
                nodes.push(Node {
                    id: id.to_string(),
                    title: format!("Connection {id}"),
                    text: query.unwrap_or("nothing just now").to_string(),
                    link: Some(format!("/sessions/{id}")),
                    is_victim: false,
                });
            } else if let (Some(node), Some(query)) = (nodes.iter_mut().find(|node| node.id == id), query) {
                node.text = query.to_string();
            }
        }
        let (waiter, blocker) = (row.text("waiting_pid"), row.text("blocking_pid"));
        if edges.iter().any(|edge: &Edge| edge.waiter == waiter && edge.blocker == blocker) {
            continue;
        }
        edges.push(Edge {
            waiter: waiter.to_string(),
            blocker: blocker.to_string(),
            text: format!("{} on {}", row.text("mode"), row.text("locked")),
        });
    }
    if nodes.is_empty() {
        html! {}
    } else {
        graph::draw(&nodes, &edges, "Who waits for whom")
    }
}

/// The newest in full, the others folded.
fn all_deadlocks(rows: &Rows) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "There was none since the start." } };
    }
    let rows: Vec<Row<'_>> = rows.iter().collect();
    let groups: Vec<&[Row<'_>]> = rows.chunk_by(|a, b| a.text("DEADLOCK_ID") == b.text("DEADLOCK_ID")).collect();
    html! {
        @for (at, members) in groups.iter().enumerate() {
            details open[at == 0] {
                summary {
                    "Number " (members[0].text("DEADLOCK_ID")) ", " (members[0].text("DETECTED").split('.').next().unwrap_or_default())
                }
                (deadlock(members))
            }
        }
    }
}

fn deadlock(members: &[Row<'_>]) -> Markup {
    let locked = |row: &Row<'_>| {
        let place = [row.text("OBJECT_SCHEMA"), ".", row.text("OBJECT_NAME"), " ", row.text("INDEX_NAME")].concat();
        format!("{} on {place} {}", row.text("LOCK_MODE"), row.text("LOCK_DATA"))
    };
    let node = |row: &Row<'_>| Node {
        id: row.text("TRX_ID").to_string(),
        title: format!("Connection {}", row.text("PROCESSLIST_ID")),
        text: row.value("SQL_TEXT").unwrap_or("–").to_string(),
        link: None,
        is_victim: row.text("IS_VICTIM") == "YES",
    };
    let edge = |row: &Row<'_>| Edge {
        waiter: row.text("TRX_ID").to_string(),
        blocker: row.text("WAITS_FOR_TRX_ID").to_string(),
        text: locked(row),
    };
    let (nodes, edges): (Vec<Node>, Vec<Edge>) = members.iter().map(|row| (node(row), edge(row))).unzip();
    html! {
        (graph::draw(&nodes, &edges, "Who waited for whom"))
        div.scroll {
            table {
                thead { tr { th.n { "connection" } th { "statement" } th { "waited for" } th.n { "rows locked" } th.n { "changed" } th {} } }
                tbody {
                    @for row in members {
                        tr {
                            td.n { (row.text("PROCESSLIST_ID")) }
                            td.sql { div { (row.value("SQL_TEXT").unwrap_or("–")) } }
                            td { (locked(row)) }
                            td.n { (count(row.number("ROWS_LOCKED"))) }
                            td.n { (count(row.number("ROWS_MODIFIED"))) }
                            td { @if row.text("IS_VICTIM") == "YES" { span.state.bad { "rolled back" } } }
                        }
                    }
                }
            }
        }
    }
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
                            td { (row.text("mode")) " on " (row.text("locked")) }
                            td.n { a href={ "/sessions/" (row.text("blocking_pid")) } { (row.text("blocking_pid")) } }
                            td.sql { div { (row.value("blocking_query").unwrap_or("nothing just now, in a transaction")) } }
                            td.n { (count(row.number("seconds"))) }
                        }
                    }
                }
            }
        }
    }
}
