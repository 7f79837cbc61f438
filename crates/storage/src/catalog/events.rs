//! When events ran last. It changes with each run, and is kept beside the event, so that a run is no change of the schema and no plan goes stale.
//!
//! | part | content |
//! |---|---|
//! | key | `event/`, the database, NUL, the event's name as it is compared |
//! | value | seconds since 1970 in decimal; empty: it has not run |
//!
//! The record is made and dropped in one commit with the event.

use vaquita_types::Result;
use vaquita_types::schema::ObjectKind;

use super::ddl::Change;
use super::{Catalog, damaged};
use crate::encoding::catalog::keys;

const PREFIX: &[u8] = b"event/";

/// The key of an event's record.
fn event_key(database: &str, name: &str) -> Vec<u8> {
    [&events_of(database), ObjectKind::Event.key_of(name).as_bytes()].concat()
}

/// What the keys of a database's events begin with.
pub(super) fn events_of(database: &str) -> Vec<u8> {
    [PREFIX, database.as_bytes(), b"\0"].concat()
}

impl Catalog {
    /// Databases and names of all events.
    pub fn event_names(&self) -> Result<Vec<(String, String)>> {
        let mut names = Vec::new();
        for (key, _) in self.meta_scan(PREFIX)? {
            let rest = String::from_utf8(key.get(PREFIX.len()..).unwrap_or_default().to_vec()).ok();
            let name = rest.as_ref().and_then(|rest| rest.split_once('\0'));
            let (database, name) = name.ok_or_else(|| damaged(format_args!("the name of an event")))?;
            names.push((database.to_string(), name.to_string()));
        }
        Ok(names)
    }

    /// When an event ran last, in seconds since 1970.
    pub fn event_executed_s(&self, database: &str, name: &str) -> Result<Option<i64>> {
        let Some(value) = self.meta_get(&event_key(database, name))? else { return Ok(None) };
        Ok(String::from_utf8_lossy(&value).parse().ok())
    }

    /// Of an event that has gone meanwhile nothing is written.
    pub fn note_event_executed(&self, database: &str, name: &str, at_s: i64) -> Result<()> {
        let _ddl = self.ddl.lock();
        let key = event_key(database, name);
        if self.meta_get(&key)?.is_none() {
            return Ok(());
        }
        self.meta_put(&key, at_s.to_string().as_bytes())
    }
}

impl Change<'_> {
    pub(super) fn begin_event(&mut self, database: &str, name: &str) -> Result<()> {
        self.txn.meta_put(&keys::meta(&event_key(database, name)), b"")
    }

    pub(super) fn end_event(&mut self, database: &str, name: &str) -> Result<()> {
        self.txn.meta_delete(&keys::meta(&event_key(database, name)))
    }

    /// The event has another name or database.
    pub(super) fn move_event(&mut self, from: (&str, &str), to: (&str, &str)) -> Result<()> {
        let executed = self.txn.meta_get(&keys::meta(&event_key(from.0, from.1)))?.unwrap_or_default();
        self.end_event(from.0, from.1)?;
        self.txn.meta_put(&keys::meta(&event_key(to.0, to.1)), &executed)
    }
}
