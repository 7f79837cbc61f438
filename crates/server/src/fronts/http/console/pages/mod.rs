//! The pages. Each runs its statements and makes HTML of their rows, and knows nothing of requests, logins or the other pages.

pub mod backups;
pub mod digest;
pub mod locks;
pub mod log;
pub mod overview;
pub mod replication;
pub mod sessions;
pub mod settings;
pub mod statements;
mod status_text;
pub mod storage;
pub mod table;
pub mod tables;
pub mod tuning;
pub mod work;

use super::form::Form;
use super::logins::Login;
use super::statements::Statements;
use crate::fronts::http::history::History;

/// What a page has to work with.
pub struct View<'a> {
    pub statements: Statements,
    pub login: &'a Login,
    pub path: String,
    /// The parts of the address that differ.
    pub parts: Vec<String>,
    /// The query of the address, or the form.
    pub form: Form,
    /// For accounts that see the whole server.
    pub history: Option<&'a History>,
}

impl View<'_> {
    pub fn part(&self, at: usize) -> &str {
        self.parts.get(at).map_or("", String::as_str)
    }
}
