//! What the server receives from others, and what others receive from it.

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::layout::{Content, plain_table, section};
use crate::fronts::http::console::shown::{bytes, count};
use crate::fronts::http::console::statements::{Row, Rows};

const REFRESH_MS: u64 = 5000;

/// Columns of SHOW REPLICA STATUS that stand above the others.
const FIRST: &[&str] = &[
    "Source_Host",
    "Source_Port",
    "Source_User",
    "Replica_IO_State",
    "Replica_SQL_Running_State",
    "Source_Log_File",
    "Read_Source_Log_Pos",
    "Relay_Source_Log_File",
    "Exec_Source_Log_Pos",
    "Relay_Log_Space",
    "Retrieved_Gtid_Set",
    "Executed_Gtid_Set",
    "Auto_Position",
    "SQL_Delay",
    "Source_SSL_Allowed",
    "Source_UUID",
];

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let channels = view.statements.rows("SHOW REPLICA STATUS");
    let log = view.statements.rows("SHOW BINARY LOG STATUS");
    let files = view.statements.rows("SHOW BINARY LOGS");
    let replicas = view.statements.rows("SHOW REPLICAS");
    let body = html! {
        h1 { "Replication" }
        (section("Channels of this replica", channels, all_channels))
        (section("Replicas of this server", replicas, |rows| plain_table(rows, "None has told who it is.")))
        (section("Binary log", log, |rows| plain_table(rows, "There is no binary log (--log-bin).")))
        (section("Its files", files, logs))
    };
    Ok(Content::new("Replication", body).refreshed(REFRESH_MS))
}

fn all_channels(rows: &Rows) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { "This server follows none." } };
    }
    html! { @for row in rows.iter() { (channel(&row)) } }
}

fn state(name: &str, value: &str) -> Markup {
    let class = match value {
        "Yes" => "good",
        "Connecting" => "fair",
        _ => "bad",
    };
    html! { span.state.(class) { (name) ": " (value) } " " }
}

pub fn title(row: &Row<'_>) -> String {
    match row.text("Channel_Name") {
        "" => "The default channel".to_string(),
        name => format!("Channel {name}"),
    }
}

fn channel(row: &Row<'_>) -> Markup {
    let errors = ["Last_IO_Error", "Last_SQL_Error"].map(|name| row.text(name)).into_iter().filter(|text| !text.is_empty());
    html! {
        h3 { (title(row)) }
        p {
            (state("receiver", row.text("Replica_IO_Running")))
            (state("applier", row.text("Replica_SQL_Running")))
            @match row.value("Seconds_Behind_Source") {
                Some(seconds) => { (seconds) " s behind its source" },
                None => "how far behind is not known",
            }
        }
        @for error in errors { p.error { (error) } }
        div.scroll {
            table.facts {
                tbody {
                    @for name in FIRST {
                        @let value = row.text(name);
                        tr { th { (name.replace('_', " ")) } td { @if *name == "Relay_Log_Space" { (bytes(row.number(name))) } @else { (value) } } }
                    }
                }
            }
        }
        details {
            summary { "All that SHOW REPLICA STATUS says" }
            div.scroll {
                table.facts { tbody { @for (name, value) in row.pairs() { tr { th { (name) } td { (value.unwrap_or("NULL")) } } } } }
            }
        }
    }
}

fn logs(rows: &Rows) -> Markup {
    let all: f64 = rows.iter().map(|row| row.number("File_size")).sum();
    html! {
        p { (count(rows.len() as f64)) " files, " (bytes(all)) }
        details {
            summary { "The files" }
            div.scroll {
                table {
                    thead { tr { th { "file" } th.n { "bytes" } } }
                    tbody { @for row in rows.iter() { tr { td { (row.text("Log_name")) } td.n { (bytes(row.number("File_size"))) } } } }
                }
            }
        }
    }
}
