//! The frame around pages, and what pages have in common.

use maud::{DOCTYPE, Markup, html};
use vaquita_session::server::VERSION;
use vaquita_types::{Error, Result};

use super::assets;
use super::logins::Login;
use super::statements::Rows;

/// What a page shows.
pub struct Content {
    pub title: String,
    pub body: Markup,
    /// After how many milliseconds the script fetches it again.
    pub refresh_ms: Option<u64>,
}

impl Content {
    pub fn new(title: &str, body: Markup) -> Content {
        Content { title: title.to_string(), body, refresh_ms: None }
    }

    pub fn refreshed(self, ms: u64) -> Content {
        Content { refresh_ms: Some(ms), ..self }
    }
}

/// Addresses and names of the pages, in the order of the menu.
pub const MENU: &[(&str, &str)] = &[
    ("/", "Overview"),
    ("/statements", "Statements"),
    ("/sessions", "Sessions"),
    ("/locks", "Locks"),
    ("/tables", "Tables"),
    ("/storage", "Storage"),
    ("/log", "Log"),
    ("/work", "Work"),
    ("/replication", "Replication"),
    ("/backups", "Backups"),
    ("/tuning", "Tuning"),
    ("/settings", "Settings"),
];

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · Vaquita" }
            link rel="stylesheet" href={ "/console.css?v=" (assets::version()) };
            link rel="icon" type="image/svg+xml" href={ "/icon.svg?v=" (assets::version()) };
            script src={ "/console.js?v=" (assets::version()) } {}
        }
    }
}

fn brand() -> Markup {
    html! {
        a.brand href="/" { img src={ "/icon.svg?v=" (assets::version()) } alt="" width="26" height="26"; "Vaquita" }
    }
}

pub fn page(login: &Login, path: &str, content: &Content) -> Markup {
    let section = path.split('/').nth(1).unwrap_or_default();
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&content.title))
            body {
                header {
                    (brand())
                    nav aria-label="Pages" {
                        @for (address, name) in MENU {
                            a href=(address) aria-current=[(address[1..] == *section).then_some("page")] { (name) }
                        }
                    }
                    form.who method="post" action="/logout" {
                        (token(login))
                        span title={ "Account " (login.account.user) "@" (login.account.host) ", server " (VERSION) } { (login.user) }
                        button.plain.theme type="button" hidden aria-label="Light or dark" title="Light or dark" { "◐" }
                        button.plain { "Log out" }
                    }
                }
                main data-refresh=[content.refresh_ms] { (content.body) }
            }
        }
    }
}

/// Without a login.
pub fn login_page(message: Option<&str>, user: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head("Log in"))
            body.login {
                main {
                    (brand())
                    @if let Some(message) = message { p.error role="alert" { (message) } }
                    form method="post" action="/login" {
                        label { "MySQL account" input name="user" value=(user) autocomplete="username" autofocus[user.is_empty()] required; }
                        label {
                            "Password"
                            input name="password" type="password" autocomplete="current-password" autofocus[!user.is_empty()];
                        }
                        button.main { "Log in" }
                    }
                    p.hint { "You see here what this account may see with SQL. PROCESS shows the whole server." }
                }
            }
        }
    }
}

/// The field of forms that says that a page of ours has sent them.
pub fn token(login: &Login) -> Markup {
    html! { input type="hidden" name="token" value=(login.form_token); }
}

/// MySQL's error in the place of what could not be shown.
pub fn failure(error: &Error) -> Markup {
    html! { p.error { "Error " (error.code()) ": " (error.message()) } }
}

/// A part of a page under a heading: what `show` makes of rows, or the error.
pub fn section(title: &str, rows: Result<Rows>, show: impl FnOnce(&Rows) -> Markup) -> Markup {
    html! {
        section {
            h2 { (title) }
            @match rows {
                Ok(rows) => {
                    (show(&rows))
                    @if rows.is_cut { p.hint { "There are more; these are the first " (rows.len()) "." } }
                },
                Err(error) => (failure(&error)),
            }
        }
    }
}

/// Rows as they are; of each column its name and whether it has numbers.
pub fn plain_table(rows: &Rows, empty: &str) -> Markup {
    if rows.is_empty() {
        return html! { p.hint { (empty) } };
    }
    let is_number = |at: usize| {
        rows.rows.iter().all(|row| row[at].as_deref().is_none_or(|text| text.parse::<f64>().is_ok()))
            && rows.rows.iter().any(|row| row[at].is_some())
    };
    let numbers: Vec<bool> = (0..rows.columns.len()).map(is_number).collect();
    html! {
        div.scroll {
            table.fit {
                thead { tr { @for (at, column) in rows.columns.iter().enumerate() { th.n[numbers[at]] { (column.replace('_', " ").to_lowercase()) } } } }
                tbody {
                    @for row in &rows.rows {
                        tr { @for (at, value) in row.iter().enumerate() { td.n[numbers[at]] { (value.as_deref().unwrap_or("–")) } } }
                    }
                }
            }
        }
    }
}

/// A number with its name.
pub fn tile(name: &str, value: &str, more: &str) -> Markup {
    html! {
        div.tile { span.name { (name) } strong { (value) } @if !more.is_empty() { span.more { (more) } } }
    }
}
