//! The tables at the other ends of foreign keys, opened once a statement, and the parents' keys that it has found.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use vaquita_storage::foreign_keys::parent_columns;
use vaquita_storage::{LockMode, LockPolicy, Table};
use vaquita_types::charset::CollationId;
use vaquita_types::limits::FOREIGN_KEYS_CHECKED_BYTES_MAX;
use vaquita_types::schema::{ColumnId, ForeignKeyDef, QualifiedName, TableDef, TableId};
use vaquita_types::{Error, Result};

use super::Execution;

/// What a statement knows of foreign keys.
#[derive(Default)]
pub(crate) struct ForeignKeys {
    links: HashMap<TableId, Rc<Links>>,
    /// Locks of parents' keys that are held, and whose keys are there.
    found: HashSet<Box<[u8]>>,
    found_bytes: usize,
}

/// The keys of one table: to its parents, and of its children to it.
pub(crate) struct Links {
    pub parents: Vec<ToParent>,
    pub children: Vec<ToChild>,
}

pub(crate) struct ToParent {
    /// Position in `TableDef::foreign_keys`.
    pub key: usize,
    pub columns: Vec<usize>,
    /// Of those columns.
    pub collations: Vec<CollationId>,
    /// `None`: it is not there (`foreign_key_checks` was off).
    pub parent: Option<Parent>,
}

pub(crate) struct Parent {
    pub table: Arc<Table>,
    pub index: usize,
    pub columns: Vec<usize>,
    /// The columns are a unique key, so that one read finds the row.
    pub unique: bool,
}

pub(crate) struct ToChild {
    pub child: Arc<Table>,
    /// Position in the child's `TableDef::foreign_keys`.
    pub key: usize,
    /// Of the child, and the index that they lead.
    pub columns: Vec<usize>,
    pub index: usize,
    /// Of the parent.
    pub parent_columns: Vec<usize>,
    pub parent_collations: Vec<CollationId>,
    pub parent_index: usize,
}

pub(crate) fn columns_at(def: &TableDef, ids: &[ColumnId]) -> Result<Vec<usize>> {
    let position = |id: &ColumnId| def.position_of(*id).ok_or_else(|| Error::internal("a foreign key without its column"));
    ids.iter().map(position).collect()
}

/// The collations of these columns: an ALTER without `foreign_key_checks` may give both ends of a key other ones.
pub(crate) fn collations_at(def: &TableDef, columns: &[usize]) -> Vec<CollationId> {
    columns.iter().filter_map(|at| def.columns.get(*at)).map(|column| column.ty.collation).collect()
}

fn no_index() -> Error {
    Error::internal("a foreign key without its index")
}

impl Links {
    /// Finds and locks the tables at the other ends.
    fn open(statement: &Execution<'_>, table: &Table) -> Result<Links> {
        let def = &table.def;
        let mut parents = Vec::with_capacity(def.foreign_keys.len());
        for (n, key) in def.foreign_keys.iter().enumerate() {
            let parent = open(statement, &key.parent, LockMode::IS)?;
            let parent = parent.map(|parent| Parent::new(parent, key)).transpose()?;
            let columns = columns_at(def, &key.columns)?;
            parents.push(ToParent { key: n, collations: collations_at(def, &columns), columns, parent });
        }
        let mut children = Vec::new();
        let own = def.qualified_name();
        for name in &def.referenced_by {
            let Some(mut child) = open(statement, name, LockMode::IS)? else { continue };
            let acts = |key: &ForeignKeyDef| key.on_delete.changes_children() || key.on_update.changes_children();
            if child.def.foreign_keys.iter().any(|key| key.parent == own && acts(key)) {
                child = open(statement, name, LockMode::IX)?.unwrap_or(child);
            }
            let keys = child.def.foreign_keys.iter().enumerate().filter(|(_, key)| key.parent == own);
            for (n, key) in keys {
                let columns = parent_columns(key, def)?;
                let parent_columns = columns_at(def, &columns)?;
                children.push(ToChild {
                    child: Arc::clone(&child),
                    key: n,
                    columns: columns_at(&child.def, &key.columns)?,
                    index: child.def.index_led_by(&key.columns).ok_or_else(no_index)?,
                    parent_collations: collations_at(def, &parent_columns),
                    parent_columns,
                    parent_index: def.referenced_index(&columns).ok_or_else(no_index)?,
                });
            }
        }
        Ok(Links { parents, children })
    }
}

fn open(statement: &Execution<'_>, name: &QualifiedName, mode: LockMode) -> Result<Option<Arc<Table>>> {
    let policy = LockPolicy::Wait(statement.table_lock_wait);
    statement.catalog.open_table(&mut statement.txn.borrow_mut(), &name.database, &name.name, mode, policy)
}

impl Parent {
    fn new(table: Arc<Table>, key: &ForeignKeyDef) -> Result<Parent> {
        let ids = parent_columns(key, &table.def)?;
        let index = table.def.referenced_index(&ids).ok_or_else(no_index)?;
        let unique = table.def.indexes.get(index).is_some_and(|index| index.is_unique_of(&ids));
        Ok(Parent { columns: columns_at(&table.def, &ids)?, index, unique, table })
    }
}

impl Execution<'_> {
    /// The links of a table, found once a statement.
    pub(crate) fn links(&self, table: &Table) -> Result<Rc<Links>> {
        if let Some(links) = self.foreign_keys.borrow().as_ref().and_then(|known| known.links.get(&table.def.id)) {
            return Ok(Rc::clone(links));
        }
        let links = Rc::new(Links::open(self, table)?);
        self.foreign_keys.borrow_mut().get_or_insert_default().links.insert(table.def.id, Rc::clone(&links));
        Ok(links)
    }

    /// The lock of a parent's key is held, and the key is there.
    pub(crate) fn has_found_key(&self, lock: &[u8]) -> bool {
        self.foreign_keys.borrow().as_ref().is_some_and(|known| known.found.contains(lock))
    }

    pub(crate) fn note_found_key(&self, lock: Vec<u8>) {
        let mut known = self.foreign_keys.borrow_mut();
        let known = known.get_or_insert_default();
        if known.found_bytes < FOREIGN_KEYS_CHECKED_BYTES_MAX {
            known.found_bytes += lock.len() + 48;
            known.found.insert(lock.into());
        }
    }

    /// Somebody else has changed rows inside of the statement, or a part of its own changes is undone: keys that were found may have gone.
    pub fn forget_found_keys(&self) {
        if let Some(known) = self.foreign_keys.borrow_mut().as_mut() {
            known.found.clear();
            known.found_bytes = 0;
        }
    }

    /// The key may go.
    pub(crate) fn forget_found_key(&self, lock: &[u8]) {
        if let Some(known) = self.foreign_keys.borrow_mut().as_mut() {
            known.found.remove(lock);
        }
    }
}
