//! The backups that the server takes by itself.

use maud::{Markup, html};
use vaquita_types::Result;

use super::View;
use crate::fronts::http::console::layout::{Content, plain_table, section, tile};
use crate::fronts::http::console::shown::{count, time_s};
use crate::fronts::http::console::statements::Rows;

const REFRESH_MS: u64 = 5000;
const SETTINGS: &str = "SHOW GLOBAL VARIABLES LIKE 'vaquita\\_backup%'";
const STATUS: &str = "SHOW GLOBAL STATUS LIKE 'Vaquita\\_backup%'";

pub fn show(view: &mut View<'_>) -> Result<Content> {
    let settings = view.statements.rows(SETTINGS);
    let status = view.statements.rows(STATUS);
    let place = settings.as_ref().map_or("", |rows| value(rows, "vaquita_backup_place")).to_string();
    let body = html! {
        h1 { "Backups" }
        @if place.is_empty() {
            p.hint {
                "The server takes none by itself. " code { "SET PERSIST vaquita_backup_place = '/backups/prod'" }
                " begins: a backup a day, seven are kept, and the binary log is archived."
            }
        }
        (section("How they go", status, |rows| state(rows, &place)))
        (section("Settings", settings, |rows| plain_table(rows, "There are none.")))
    };
    Ok(Content::new("Backups", body).refreshed(REFRESH_MS))
}

/// Of a table of names and values.
fn value<'r>(rows: &'r Rows, name: &str) -> &'r str {
    rows.iter().find(|row| row.text("Variable_name") == name).map_or("", |row| row.text("Value"))
}

fn state(rows: &Rows, place: &str) -> Markup {
    let of = |name: &str| value(rows, name);
    let number = |name: &str| of(name).parse::<f64>().unwrap_or(0.0);
    let age = match of("Vaquita_backup_age_seconds") {
        "" => "none yet".to_string(),
        age => format!("{} ago", time_s(age.parse().unwrap_or(0.0))),
    };
    let due = if place.is_empty() {
        "off"
    } else if of("Vaquita_backup_overdue") == "ON" {
        "overdue"
    } else {
        "on time"
    };
    let end = of("Vaquita_backup_log_end");
    html! {
        div.tiles {
            (tile("The newest", &age, due))
            (tile("Taken since the start", &count(number("Vaquita_backups_taken")), &format!("{} failed", count(number("Vaquita_backups_failed")))))
            (tile("Log archived to", if end.is_empty() { "not archived" } else { end }, &format!("{} behind", time_s(number("Vaquita_backup_log_delay_seconds")))))
        }
        @if !of("Vaquita_backup_last_error").is_empty() { p.error { (of("Vaquita_backup_last_error")) } }
    }
}
