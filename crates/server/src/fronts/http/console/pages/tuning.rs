//! What the server derived from its machine, and what its tuner tries.

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::layout::{Content, plain_table, section};
use crate::fronts::http::console::shown::bytes;
use crate::fronts::http::console::statements::Rows;

const REFRESH_MS: u64 = 10_000;
const MODE: &str = "SELECT @@GLOBAL.vaquita_tuning AS mode";
const SETTINGS: &str = "SELECT * FROM vaquita.tuning";
const MACHINE: &str = "SELECT name, value, source FROM vaquita.machine";
const LOG: &str = "SELECT * FROM vaquita.tuning_log ORDER BY id DESC LIMIT 200";
/// Settings of which the figures are bytes.
const OF_BYTES: [&str; 2] = ["caches", "write_buffer"];

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let mode = view.statements.rows(MODE);
    let mode = mode.as_ref().ok().and_then(|rows| rows.iter().next()).map_or(String::new(), |row| row.text("mode").to_string());
    let settings = view.statements.rows(SETTINGS);
    let log = view.statements.rows(LOG);
    let machine = view.statements.rows(MACHINE);
    let body = html! {
        h1 { "Tuning" }
        p.hint {
            code { "vaquita_tuning" } " is " b { (mode) } ". "
            @match mode.as_str() {
                "ON" => "A setting is changed by a step while the load is steady. The change is kept if statements become cheaper, and undone otherwise.",
                "ADVISE" => "The server says what it would try.",
                _ => "Settings stay as they were derived.",
            }
        }
        (section("Settings", settings, settings_table))
        (section("What was tried", log, diary))
        (section("The machine", machine, |rows| plain_table(rows, "Nothing is known yet.")))
    };
    Ok(Content::new("Tuning", body).refreshed(REFRESH_MS))
}

fn figure(setting: &str, text: &str) -> String {
    match text.parse::<f64>() {
        Ok(number) if OF_BYTES.contains(&setting) => bytes(number),
        _ => text.to_string(),
    }
}

fn settings_table(rows: &Rows) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { th { "setting" } th.n { "now" } th.n { "at the start" } th.n { "may become" } th { "derived from" } } }
                tbody {
                    @for row in rows.iter() {
                        @let name = row.text("NAME");
                        @let of = |column: &str| figure(name, row.text(column));
                        tr {
                            td { b { (name) } }
                            td.n { (of("VALUE")) }
                            td.n { (of("AT_START")) }
                            td.n { (of("LOWEST")) " to " (of("HIGHEST")) }
                            td.prose { (row.text("DERIVED_FROM")) }
                        }
                    }
                }
            }
        }
    }
}

fn diary(rows: &Rows) -> Markup {
    html! {
        @if rows.iter().next().is_none() {
            p.hint { "Nothing yet." }
        } @else {
            div.scroll {
                table {
                    thead { tr { th { "when" } th { "setting" } th.n { "from" } th.n { "to" } th { "outcome" } th { "why, and what it did" } } }
                    tbody {
                        @for row in rows.iter() {
                            @let name = row.text("NAME");
                            tr {
                                td { (row.text("CHANGED")) }
                                td { b { (name) } }
                                td.n { (figure(name, row.text("FROM_VALUE"))) }
                                td.n { (figure(name, row.text("TO_VALUE"))) }
                                td { (row.text("OUTCOME").to_lowercase()) }
                                td.prose { (row.text("REASON")) @if let Some(effect) = row.value("EFFECT") { span.more { (effect) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}
