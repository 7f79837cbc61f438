//! Statements that have nothing to do, since what they would make is there, or what they would drop is not (IF [NOT] EXISTS).
//!
//! The log has them all the same, among the statements that make and drop such things: DROP … IF EXISTS that found nothing must not stand behind
//! the CREATE that came after it. So what was found is looked at once more under `ddl`, and told before others can change it.

use vaquita_types::Result;
use vaquita_types::schema::ObjectKind;

use super::ddl::{Change, DdlStatement, TableName};
use super::{Catalog, DdlContext};
use crate::encoding::catalog::keys;

/// What a statement has looked for.
#[derive(Clone, Copy, Debug)]
pub enum Named<'n> {
    Database(&'n str),
    Table(TableName<'n>),
    /// What keeps a new table or view from its name.
    TableOrView(TableName<'n>),
    Object(&'n str, ObjectKind, &'n str),
}

impl Catalog {
    /// Commits what goes with a statement (`DdlContext::note`) that finds all of these there, or none. False: it is not so any more, and nothing
    /// was committed.
    pub fn tell_unchanged(&self, named: &[Named<'_>], there: bool, context: &DdlContext) -> Result<bool> {
        let Some(note) = &context.note else { return Ok(true) };
        let mut change = DdlStatement::new(self, context).change();
        for named in named {
            if change.finds(*named)? != there {
                return Ok(false);
            }
        }
        // A transaction that writes nothing would not be committed.
        change.txn.meta_put(keys::IDS, &change.ddl.ids.encode())?;
        note.put(&mut change.txn)?;
        change.txn.commit_wait()?;
        note.set_written();
        Ok(true)
    }
}

impl Change<'_> {
    fn finds(&self, named: Named<'_>) -> Result<bool> {
        match named {
            Named::Database(name) => Ok(self.has_database(name)),
            Named::Table(name) => self.exists(name),
            Named::TableOrView(name) => self.is_taken(name),
            Named::Object(database, kind, name) => Ok(self.object(database, kind, name)?.is_some()),
        }
    }
}
