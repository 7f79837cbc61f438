//! Tables that HANDLER … OPEN has opened, by alias, and where each was read last.
//!
//! Nothing is held for them. DDL of the session itself closes those of its tables; after that of another a READ begins anew.

use std::collections::BTreeMap;

use vaquita_exec::handler::Position;
use vaquita_types::errno::{ER_NONUNIQ_TABLE, ER_UNKNOWN_TABLE};
use vaquita_types::memory::Reserve;
use vaquita_types::schema::TableRef;
use vaquita_types::{Error, Result};

pub struct OpenHandler {
    pub table: TableRef,
    pub position: Option<Position>,
}

#[derive(Default)]
pub struct Handlers {
    /// By alias in lower case.
    open: BTreeMap<String, OpenHandler>,
    bytes: usize,
    memory: Reserve,
}

/// What one takes beside its names and keys.
const HANDLER_BYTES: usize = 256;

impl Handlers {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn tables(&self) -> Vec<TableRef> {
        self.open.values().map(|handler| handler.table.clone()).collect()
    }

    /// Error 1066 of an alias that is taken.
    pub fn check_free(&self, alias: &str) -> Result<()> {
        match self.open.contains_key(&alias.to_lowercase()) {
            true => Err(Error::new(&ER_NONUNIQ_TABLE, &[&alias])),
            false => Ok(()),
        }
    }

    /// Error 1041 if there is no memory for one more.
    pub fn open(&mut self, alias: &str, table: TableRef) -> Result<()> {
        self.count(0, HANDLER_BYTES + alias.len())?;
        self.open.insert(alias.to_lowercase(), OpenHandler { table, position: None });
        Ok(())
    }

    /// Error 1109 if there is none.
    pub fn find(&self, alias: &str) -> Result<&OpenHandler> {
        self.open.get(&alias.to_lowercase()).ok_or_else(|| unknown(alias))
    }

    pub fn set_position(&mut self, alias: &str, position: Option<Position>) -> Result<()> {
        let Some(handler) = self.open.get_mut(&alias.to_lowercase()) else { return Ok(()) };
        let bytes = |position: &Option<Position>| position.as_ref().map_or(0, Position::bytes);
        let (before, after) = (bytes(&handler.position), bytes(&position));
        handler.position = position;
        self.count(before, after)
    }

    pub fn close(&mut self, alias: &str) -> Result<()> {
        let handler = self.open.remove(&alias.to_lowercase()).ok_or_else(|| unknown(alias))?;
        let position = handler.position.as_ref().map_or(0, Position::bytes);
        self.count(HANDLER_BYTES + alias.len() + position, 0)
    }

    /// Closes those of a table that is examined or hidden.
    pub fn close_table(&mut self, database: &str, name: &str) {
        let of_table = |handler: &OpenHandler| handler.table.database == database && handler.table.name == name;
        let closed: Vec<String> = self.open.iter().filter(|(_, open)| of_table(open)).map(|(alias, _)| alias.clone()).collect();
        for alias in closed {
            let _ = self.close(&alias);
        }
    }

    /// FLUSH TABLES: NEXT begins at the first row again. `tables` are all if there are none.
    pub fn rewind(&mut self, tables: &[(String, String)]) {
        for handler in self.open.values_mut() {
            let is_named =
                |(database, name): &(String, String)| handler.table.database == *database && handler.table.name == *name;
            if tables.is_empty() || tables.iter().any(is_named) {
                let bytes = handler.position.take().map_or(0, |position| position.bytes());
                self.bytes = self.bytes.saturating_sub(bytes);
            }
        }
    }

    fn count(&mut self, less: usize, more: usize) -> Result<()> {
        let bytes = (self.bytes + more).saturating_sub(less);
        self.memory.keep(bytes)?;
        self.bytes = bytes;
        Ok(())
    }
}

fn unknown(alias: &str) -> Error {
    Error::new(&ER_UNKNOWN_TABLE, &[&alias, &"HANDLER"])
}
