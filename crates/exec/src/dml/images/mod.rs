//! Changes of rows as another server's binary log has them ("row images"), which a replica carries out.
//!
//! 1. `Images::open` finds the table and what each column of the source means here (`columns`).
//! 2. `apply` finds the row that was changed (`find`), and writes as step 3 of `change` does. Values have passed the CHECKs of the source, and
//!    what its triggers did are changes of their own, so neither runs here. Columns that the image does not have keep what they have, or take
//!    their defaults; generated columns are computed.
//!
//! A statement of an image is one call of `apply` or many; whoever runs it begins and ends the statement, as for a plan.

mod columns;
mod find;

use std::sync::Arc;

use vaquita_storage::{LockMode, LockPolicy, Table, Written};
use vaquita_types::errno::{ER_BAD_NULL_ERROR, ER_KEY_NOT_FOUND, ER_NO_DEFAULT_FOR_FIELD, ER_NO_SUCH_TABLE};
use vaquita_types::json::Json;
use vaquita_types::{Error, Result, Value};

pub use columns::{Conversions, REPLICA_CONVERSION_FAILED, SourceColumn};
use columns::{Mapped, map_columns};
use find::Search;

use super::change::{RowBuilder, StoredRows, implicit_default, note_number};
use crate::context::Execution;

/// What a row of the source has of a column.
pub enum Image {
    Value(Value),
    /// What became of a document, of which the image has only the changes.
    Changed(Box<dyn Fn(Json) -> Result<Json>>),
}

/// By the source's column: `None` for what the image does not have.
pub type ImageRow = Vec<Option<Image>>;

/// A row came (`after`), went (`before`) or changed (both).
pub struct ImageChange {
    pub before: Option<ImageRow>,
    pub after: Option<ImageRow>,
}

/// The table as the source describes it.
#[derive(Clone, Debug)]
pub struct SourceTable {
    /// Where its rows go here.
    pub database: String,
    pub name: String,
    pub columns: Vec<SourceColumn>,
}

/// How the replica takes what does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageRules {
    /// `replica_exec_mode=IDEMPOTENT`: a row that is there is replaced, one that is not there is left.
    pub idempotent: bool,
    /// `replica_exec_mode=CONVERGENT`: as IDEMPOTENT, and a row that is changed and not there comes.
    pub convergent: bool,
    pub conversions: Conversions,
    /// The source has logged what its cascades did: foreign keys neither act nor are looked at.
    pub cascades_are_logged: bool,
}

impl ImageRules {
    /// A row that is in the way goes.
    fn replaces(self) -> bool {
        self.idempotent || self.convergent
    }
}

/// The table of a statement's images.
pub struct Images<'a> {
    statement: &'a Execution<'a>,
    table: &'a Table,
    source: &'a SourceTable,
    /// By the source's column.
    columns: Vec<Option<Mapped>>,
    rules: ImageRules,
    values: RowBuilder<'a>,
    rows: StoredRows<'a>,
    search: Option<Search>,
}

/// Locks and opens the table of images. What asks for another try (`Error::stale_plan`): somebody has locked it since the session was let in.
pub fn open_table(statement: &Execution<'_>, source: &SourceTable) -> Result<Arc<Table>> {
    let wait = LockPolicy::Wait(statement.table_lock_wait);
    let mut txn = statement.txn.borrow_mut();
    let (database, name) = (&source.database, &source.name);
    let held = statement.catalog.table(database, name)?.and_then(|table| txn.table_lock(table.def.id));
    let table = statement.catalog.open_table(&mut txn, database, name, LockMode::IX, wait)?;
    let table = table.ok_or_else(|| Error::new(&ER_NO_SUCH_TABLE, &[database, name]))?;
    if held.is_none() && statement.server.is_locked_by_others(database, name, true, txn.table_locks()) {
        txn.give_back_table(table.def.id);
        return Err(Error::stale_plan());
    }
    Ok(table)
}

impl<'a> Images<'a> {
    /// Error 13146 if a column of the source cannot be stored here.
    pub fn new(statement: &'a Execution<'a>, table: &'a Table, source: &'a SourceTable, rules: ImageRules) -> Result<Images<'a>> {
        let mut rows = StoredRows::within(statement, table, None)?;
        // Rows that converge meet parents and children of another time. Tables with cascades were copied at one time.
        if rules.cascades_are_logged || rules.convergent && !rows.has_cascades()? {
            rows.leave_foreign_keys();
        }
        Ok(Images {
            statement,
            table,
            source,
            columns: map_columns(&table.def, source, rules.conversions)?,
            rules,
            values: RowBuilder::new(statement, &table.def, false),
            rows,
            search: None,
        })
    }

    pub fn apply(&mut self, change: ImageChange) -> Result<()> {
        self.statement.interrupt.check_in_turn()?;
        match change {
            ImageChange { before: None, after: Some(after) } => self.insert(&after),
            ImageChange { before: Some(before), after: None } => self.delete(&before),
            ImageChange { before: Some(before), after: Some(after) } => self.update(&before, &after),
            ImageChange { before: None, after: None } => Ok(()),
        }
    }

    fn insert(&mut self, after: &ImageRow) -> Result<()> {
        let row = self.new_row(after)?;
        loop {
            match self.rows.insert(&row)? {
                Written::Done | Written::Skipped => break,
                Written::Duplicate(duplicate) if self.rules.replaces() => {
                    if let Some(old) = self.rows.lock_existing(&duplicate)? {
                        self.rows.delete_row(&duplicate.clustered_key, &old)?;
                    }
                }
                Written::Duplicate(duplicate) => return Err(self.table.duplicate_error(&duplicate, &self.local(&row))),
            }
        }
        note_number(self.statement, self.table, &row)
    }

    fn delete(&mut self, before: &ImageRow) -> Result<()> {
        match self.find(before)? {
            Some((key, old)) => self.rows.delete_row(&key, &old),
            None if self.rules.convergent => Ok(()),
            None => self.missing(),
        }
    }

    fn update(&mut self, before: &ImageRow, after: &ImageRow) -> Result<()> {
        let Some((key, old)) = self.find(before)? else {
            return if self.rules.convergent && self.is_whole(after) { self.insert(after) } else { self.missing() };
        };
        let mut new = old.clone();
        self.fill(&mut new, after, Some(&old))?;
        if self.values.generates() {
            self.values.generate_stored(&mut new, &old)?;
        }
        if new == old {
            return Ok(());
        }
        loop {
            match self.rows.update(&key, &old, &new)? {
                Written::Done | Written::Skipped => break,
                Written::Duplicate(duplicate) if self.rules.replaces() && duplicate.clustered_key != key => {
                    if let Some(other) = self.rows.lock_existing(&duplicate)? {
                        self.rows.delete_row(&duplicate.clustered_key, &other)?;
                    }
                }
                Written::Duplicate(duplicate) => return Err(self.table.duplicate_error(&duplicate, &self.local(&new))),
            }
        }
        self.search.iter_mut().for_each(Search::changed);
        note_number(self.statement, self.table, &new)
    }

    /// The row that an image describes, locked, with its clustered key.
    fn find(&mut self, image: &ImageRow) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
        let width = self.table.def.columns.len();
        let mut wanted: Vec<Option<Value>> = vec![None; width];
        for (mapped, cell) in self.columns.iter().zip(image) {
            if let (Some(mapped), Some(Image::Value(value))) = (mapped, cell) {
                wanted[mapped.position] = Some(mapped.stored(value, &self.table.def, self.statement.session)?);
            }
        }
        if self.search.as_ref().is_none_or(|search| !search.suits(&wanted)) {
            self.search = Some(Search::choose(self.table, &wanted));
        }
        let Some(search) = &mut self.search else { return Ok(None) };
        search.find(self.statement, self.table, &mut self.rows, &wanted)
    }

    /// The image has every column that a row has here, and no changes of documents.
    fn is_whole(&self, image: &ImageRow) -> bool {
        let mut given = vec![false; self.table.def.columns.len()];
        for (mapped, cell) in self.columns.iter().zip(image) {
            if let (Some(mapped), Some(Image::Value(_))) = (mapped, cell) {
                given[mapped.position] = true;
            }
        }
        self.table.def.columns.iter().zip(given).all(|(column, given)| given || column.generated.is_some())
    }

    /// Error 1032, or nothing if the replica is told to go on.
    fn missing(&self) -> Result<()> {
        if self.rules.idempotent { Ok(()) } else { Err(Error::new(&ER_KEY_NOT_FOUND, &[&self.source.name])) }
    }

    /// A row that comes, as it is stored.
    fn new_row(&self, image: &ImageRow) -> Result<Vec<Value>> {
        let columns = &self.table.def.columns;
        let mut given = vec![false; columns.len()];
        for (mapped, _) in self.columns.iter().zip(image).filter(|(_, cell)| cell.is_some()) {
            mapped.iter().for_each(|mapped| given[mapped.position] = true);
        }
        let mut row = Vec::with_capacity(columns.len());
        for (position, column) in columns.iter().enumerate() {
            let is_needed = !given[position] && column.generated.is_none();
            row.push(match self.values.default_quietly(position) {
                _ if !is_needed => Value::Null,
                Ok(Some(value)) => value,
                // What an expression computes is the source's to say.
                Ok(None) if column.nullable => Value::Null,
                Ok(None) => implicit_default(column),
                Err(error) if error.is(&ER_NO_DEFAULT_FOR_FIELD) => implicit_default(column),
                Err(error) => return Err(error),
            });
        }
        // Defaults of now are local.
        let _ = self.values.to_utc(&mut row);
        self.fill(&mut row, image, None)?;
        if self.values.generates() {
            let mut local = self.local(&row);
            self.values.generate(&mut local)?;
            let generated = columns.iter().enumerate().filter(|(_, column)| column.generated.is_some());
            let positions: Vec<usize> = generated.map(|(position, _)| position).collect();
            let _ = self.values.to_utc(&mut local);
            positions.into_iter().for_each(|position| row[position] = std::mem::take(&mut local[position]));
        }
        Ok(row)
    }

    /// Puts what an image has into a row.
    fn fill(&self, row: &mut [Value], image: &ImageRow, old: Option<&[Value]>) -> Result<()> {
        let columns = &self.table.def.columns;
        for (mapped, cell) in self.columns.iter().zip(image) {
            let (Some(mapped), Some(cell)) = (mapped, cell) else { continue };
            let (position, column) = (mapped.position, &columns[mapped.position]);
            if column.generated.is_some() {
                continue;
            }
            let value = match (cell, old.map(|old| &old[position])) {
                (Image::Value(value), _) => mapped.stored(value, &self.table.def, self.statement.session)?,
                (Image::Changed(change), Some(Value::Json(before))) => Value::Json(change(before.clone())?),
                (Image::Changed(_), _) => return Err(Error::new(&ER_KEY_NOT_FOUND, &[&self.source.name])),
            };
            if value.is_null() && !column.nullable {
                return Err(Error::new(&ER_BAD_NULL_ERROR, &[&column.name]));
            }
            row[position] = value;
        }
        Ok(())
    }

    fn local(&self, row: &[Value]) -> Vec<Value> {
        let mut local = row.to_vec();
        self.values.to_local(&mut local);
        local
    }
}
