//! DROP EVENT. There are none here, so every name is that of what is not there: an error, and with
//! IF EXISTS a note, as scripts expect that drop what an earlier run may have left.

use vaquita_parser::ast::{Name, ProgramKind};
use vaquita_plan::env::Level;
use vaquita_types::errno::{ER_EVENT_DOES_NOT_EXIST, ER_NO_DB_ERROR, ER_SP_DOES_NOT_EXIST};
use vaquita_types::{Error, Result};

use super::Session;
use super::execute::Done;

impl Session {
    pub(super) fn drop_program(&mut self, kind: ProgramKind, if_exists: bool, name: &Name) -> Result<Done> {
        self.locked.refuse_under_own_read_lock()?;
        self.database_of(name)?;
        let missing = |what: &str, name: &str| Error::new(&ER_SP_DOES_NOT_EXIST, &[&what, &name]);
        let error = match kind {
            ProgramKind::Event if if_exists => missing("Event", &name.name),
            ProgramKind::Event => Error::new(&ER_EVENT_DOES_NOT_EXIST, &[&name.name]),
            ProgramKind::Procedure | ProgramKind::Function | ProgramKind::Trigger => Error::internal("it is dropped elsewhere"),
        };
        if !if_exists {
            return Err(error);
        }
        self.env.push_warning(Level::Note, error);
        Ok(Done::nothing())
    }

    pub(super) fn database_of(&self, name: &Name) -> Result<String> {
        name.db.clone().or_else(|| self.env.database()).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))
    }
}
