//! Connections: what each does and waits for, and how to end it.

use std::collections::HashMap;

use maud::{Markup, html};
use vaquita_types::errno::ER_NO_SUCH_THREAD;
use vaquita_types::{Error, Result};

use super::View;
use crate::fronts::http::console::layout::{Content, section, token};
use crate::fronts::http::console::shown::{count, time_s};
use crate::fronts::http::console::statements::Rows;

const REFRESH_MS: u64 = 5000;

/// What is known of a connection's transaction.
struct Transaction {
    age_s: f64,
    locked: f64,
    modified: f64,
}

pub fn list(view: &mut View<'_>) -> Result<Content> {
    let shows_idle = view.form.get("idle") != "no";
    let processes = view.statements.rows("SHOW FULL PROCESSLIST");
    let transactions = view.statements.rows(
        "SELECT trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, trx_started, NOW()) AS age, trx_rows_locked, trx_rows_modified \
         FROM information_schema.innodb_trx",
    );
    let waits = view.statements.rows("SELECT waiting_pid, blocking_pid, locked_table, wait_age_secs FROM sys.innodb_lock_waits");
    let transactions: HashMap<String, Transaction> = transactions
        .iter()
        .flat_map(Rows::iter)
        .map(|row| {
            let of = Transaction {
                age_s: row.number("age"),
                locked: row.number("trx_rows_locked"),
                modified: row.number("trx_rows_modified"),
            };
            (row.text("trx_mysql_thread_id").to_string(), of)
        })
        .collect();
    let mut waits_for: HashMap<String, String> = HashMap::new();
    for row in waits.iter().flat_map(Rows::iter) {
        let (blocker, table) = (row.text("blocking_pid"), row.text("locked_table"));
        match waits_for.get_mut(row.text("waiting_pid")) {
            Some(text) => text.push_str(&format!(" and {blocker}")),
            None => {
                let text = format!("a lock on {table}, for {} s, of {blocker}", row.text("wait_age_secs"));
                waits_for.insert(row.text("waiting_pid").to_string(), text);
            }
        }
    }
    let body = html! {
        h1 { "Sessions" }
        p.filter {
            @if shows_idle { a href="/sessions?idle=no" { "Hide idle ones" } } @else { a href="/sessions" { "Show idle ones" } }
        }
        (section("Connections", processes, |rows| table(rows, &transactions, &waits_for, shows_idle)))
        @if view.history.is_none() { p.hint { "Without the PROCESS privilege one sees one's own." } }
    };
    Ok(Content::new("Sessions", body).refreshed(REFRESH_MS))
}

fn table(rows: &Rows, transactions: &HashMap<String, Transaction>, waits: &HashMap<String, String>, shows_idle: bool) -> Markup {
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th.n { "id" } th { "user" } th { "host" } th { "database" } th { "does" } th.n { "for" } th { "statement" }
                        th { "waits for" } th { "transaction" } th {}
                    }
                }
                tbody {
                    @for row in rows.iter().filter(|row| shows_idle || row.text("Command") != "Sleep") {
                        @let id = row.text("Id");
                        @let is_server = row.text("Command") == "Daemon";
                        tr.idle[row.text("Command") == "Sleep"] {
                            td.n { (id) }
                            td { (row.text("User")) }
                            td { (row.text("Host")) }
                            td { (row.value("db").unwrap_or("–")) }
                            td { (row.text("Command")) @if !row.text("State").is_empty() { span.more { (row.text("State")) } } }
                            td.n { (time_s(row.number("Time"))) }
                            td.sql { div { (row.value("Info").unwrap_or("–")) } }
                            td { (waits.get(id).map_or("–", String::as_str)) }
                            td {
                                @match transactions.get(id) {
                                    Some(of) => { (time_s(of.age_s)) ", " (count(of.locked)) " rows locked, " (count(of.modified)) " changed" },
                                    None => "–",
                                }
                            }
                            td.act { @if !is_server { a href={ "/sessions/" (id) } { "End…" } } }
                        }
                    }
                }
            }
        }
    }
}

/// Asks before anything is ended.
pub fn confirm(view: &mut View<'_>) -> Result<Content> {
    let id = number(view.part(0))?;
    let processes = view.statements.rows("SHOW FULL PROCESSLIST")?;
    let row = processes.iter().find(|row| row.text("Id") == id.to_string());
    let body = html! {
        h1 { "End connection " (id) "?" }
        @match row {
            Some(row) => {
                p { (row.text("User")) "@" (row.text("Host")) ", " (row.text("Command")) " for " (time_s(row.number("Time"))) }
                @if let Some(statement) = row.value("Info") { pre.sql { (statement) } }
                div.buttons {
                    form method="post" action="/sessions/kill" {
                        (token(view.login))
                        input type="hidden" name="id" value=(id);
                        button.danger name="what" value="query" { "End the statement (KILL QUERY)" }
                        button.danger name="what" value="connection" { "End the connection (KILL)" }
                        a href="/sessions" { "Leave it" }
                    }
                }
            },
            None => p.hint { "There is no such connection any more, or this account may not see it." },
        }
    };
    Ok(Content::new("End a connection", body))
}

pub fn kill(view: &mut View<'_>) -> Result<()> {
    let id = number(view.form.get("id"))?;
    let what = if view.form.get("what") == "connection" { "CONNECTION" } else { "QUERY" };
    view.statements.run(&format!("KILL {what} {id}"))
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::new(&ER_NO_SUCH_THREAD, &[&text]))
}
