//! Rows of a table that gets a foreign key: each must have its parent, error 1452.

use vaquita_storage::foreign_keys::parent_columns;
use vaquita_storage::{Direction, Interrupt, Keep, KeyRange, ScanOptions, Table, Transaction, Version};
use vaquita_types::errno::ER_NO_REFERENCED_ROW_2;
use vaquita_types::schema::ForeignKeyDef;
use vaquita_types::{Error, Result, Value};

use super::foreign_keys::{constraint_text, key_of, no_index, values};
use crate::context::{collations_at, columns_at};

/// A foreign key that is being added, with the positions of its columns and the indexes on both sides.
pub(crate) struct AddedKey<'a> {
    child: &'a Table,
    key: &'a ForeignKeyDef,
    columns: Vec<usize>,
    index: usize,
    parent: &'a Table,
    parent_columns: Vec<usize>,
    parent_index: usize,
}

impl<'a> AddedKey<'a> {
    pub fn new(child: &'a Table, key: &'a ForeignKeyDef, parent: &'a Table) -> Result<AddedKey<'a>> {
        let ids = parent_columns(key, &parent.def)?;
        Ok(AddedKey {
            child,
            key,
            columns: columns_at(&child.def, &key.columns)?,
            index: child.def.index_led_by(&key.columns).ok_or_else(no_index)?,
            parent,
            parent_columns: columns_at(&parent.def, &ids)?,
            parent_index: parent.def.referenced_index(&ids).ok_or_else(no_index)?,
        })
    }

    /// All children. With `Version::Latest` nobody writes the two tables meanwhile.
    pub fn check_all(&self, txn: &Transaction, version: Version, interrupt: &Interrupt) -> Result<()> {
        let mut cursor = txn.scan(self.child.codec.clustered().all(), Direction::Forward, scan(version))?;
        let mut last_found = Vec::new();
        while let Some((clustered, stored)) = cursor.next(txn)? {
            interrupt.check()?;
            let row = self.child.codec.decode_row(clustered, stored)?;
            let Some(values) = values(&row, &self.columns) else { continue };
            let wanted = self.parent_key(&values)?;
            if wanted.as_ref() != Some(&last_found) && !is_there(txn, version, wanted.as_deref())? {
                return Err(self.error());
            }
            last_found = wanted.unwrap_or_default();
        }
        Ok(())
    }

    /// Children with these clustered keys, as they are now.
    pub fn check_children<'k>(
        &self,
        now: &Transaction,
        keys: impl Iterator<Item = &'k [u8]>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        each_row((now, Version::Latest), self.child, keys, interrupt, |row| {
            let Some(values) = values(row, &self.columns) else { return Ok(()) };
            let has_parent = is_there(now, Version::Latest, self.parent_key(&values)?.as_deref())?;
            if has_parent { Ok(()) } else { Err(self.error()) }
        })
    }

    /// Parents with these clustered keys in the snapshot of `before`: if one has no successor now, it has no children either.
    pub fn check_parents<'k>(
        &self,
        before: &Transaction,
        now: &Transaction,
        keys: impl Iterator<Item = &'k [u8]>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        each_row((before, Version::Snapshot), self.parent, keys, interrupt, |row| {
            let Some(values) = values(row, &self.parent_columns) else { return Ok(()) };
            let collations = collations_at(&self.parent.def, &self.parent_columns);
            let children = key_of(self.child, self.index, &self.columns, &values, &collations)?;
            let parents = key_of(self.parent, self.parent_index, &self.parent_columns, &values, &collations)?;
            let alone =
                is_there(now, Version::Latest, children.as_deref())? && !is_there(now, Version::Latest, parents.as_deref())?;
            if alone { Err(self.error()) } else { Ok(()) }
        })
    }

    /// The parent's key of a child's values; `None`: no parent can have them.
    fn parent_key(&self, values: &[&Value]) -> Result<Option<Vec<u8>>> {
        let collations = collations_at(&self.child.def, &self.columns);
        key_of(self.parent, self.parent_index, &self.parent_columns, values, &collations)
    }

    fn error(&self) -> Error {
        Error::new(&ER_NO_REFERENCED_ROW_2, &[&constraint_text(&self.child.def, self.key)])
    }
}

/// Calls `f` with the rows of these clustered keys that are there.
fn each_row<'k>(
    (txn, version): (&Transaction, Version),
    table: &Table,
    keys: impl Iterator<Item = &'k [u8]>,
    interrupt: &Interrupt,
    mut f: impl FnMut(&[Value]) -> Result<()>,
) -> Result<()> {
    let mut stored = Vec::new();
    for clustered in keys {
        interrupt.check()?;
        if txn.get(clustered, version, &mut stored)? {
            f(&table.codec.decode_row(clustered, &stored)?)?;
        }
    }
    Ok(())
}

fn scan(version: Version) -> ScanOptions {
    ScanOptions { keep: Keep::Nothing, spans: false, version, ..ScanOptions::default() }
}

/// An entry begins with this key.
fn is_there(txn: &Transaction, version: Version, key: Option<&[u8]>) -> Result<bool> {
    let Some(key) = key else { return Ok(false) };
    Ok(txn.scan(KeyRange::prefix(key), Direction::Forward, scan(version))?.next(txn)?.is_some())
}
