//! `init_connect`: what a session runs before its client's first statement.

use vaquita_types::errno::ER_NEW_ABORTING_CONNECTION;
use vaquita_types::{Error, Result};

use super::Session;
use crate::variables::Var;

impl Session {
    /// Runs `init_connect`, unless the account administers the server and may so repair what is wrong with it. Blocks. Error 1184 if it fails: the client
    /// is not to go on without it.
    pub fn run_init_connect(&mut self) -> Result<()> {
        let text = self.server.globals.text(Var::InitConnect);
        if text.trim().is_empty() || self.access.administers() || self.access.rights().expired {
            return Ok(());
        }
        let may_have_several = std::mem::replace(&mut self.options.multi_statements, true);
        let server = self.server.clone();
        let mut done = Ok(());
        server.blocking(&mut || done = self.apply_text(text.as_bytes()));
        self.options.multi_statements = may_have_several;
        done.map_err(|error| {
            let about = self.client.snapshot();
            tracing::warn!("init_connect failed for {}: {} {}", about.user, error.code(), error.message());
            let database = self.env.database().unwrap_or_else(|| "unconnected".to_string());
            let said = [
                &self.client.id as &dyn std::fmt::Display,
                &database,
                &about.user,
                &self.client.host,
                &"init_connect command failed",
            ];
            Error::new(&ER_NEW_ABORTING_CONNECTION, &said)
        })
    }
}
