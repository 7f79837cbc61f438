//! Foreign keys in the catalog. A key is kept with the child, which names its parent.
//!
//! A record for each pair of parent and child lets a parent find its children without a look at other definitions, also a parent that comes
//! later than they (`foreign_key_checks` = 0). Example: `CREATE TABLE c (… REFERENCES p (id))` is one commit of c's definition, the record
//! `p, c`, the name of the constraint, and a new handle of p, whose `referenced_by` has c.
//!
//! * FKEY-1: the record of a parent's and a child's name exists exactly if the child's definition has a key to that name.
//! * FKEY-2: `referenced_by` of a handle is what these records say: who changes them replaces the parent's handle, under an X lock of it.
//!   So a transaction with a lock of the parent knows all of its children until it ends.
//! * FKEY-3: a key whose parent exists finds its columns there, comparable with its own, and an index led by them on both sides.
//! * FKEY-4: names of foreign keys are unique in a database, without case.

use std::collections::BTreeSet;
use std::sync::Arc;

use vaquita_types::datatype::{ColumnType, TypeKind};
use vaquita_types::schema::{ColumnDef, ColumnId, ForeignKeyDef, QualifiedName, TableDef, TableId};
use vaquita_types::{Error, Result, errno};

use super::ddl::Change;
use super::table::Table;
use super::{Catalog, DdlContext, damaged};
use crate::encoding::KeyRange;
use crate::encoding::catalog::{keys, record};
use crate::txn::Transaction;

/// What a session allows of foreign keys.
#[derive(Clone, Copy, Debug)]
pub struct KeyRules {
    /// `foreign_key_checks`.
    pub checks: bool,
    /// `restrict_fk_on_non_standard_key`: parents have a unique key of the columns.
    pub unique_parents: bool,
}

impl Default for KeyRules {
    fn default() -> KeyRules {
        KeyRules { checks: true, unique_parents: true }
    }
}

/// The children whose references to one parent a statement has removed, and those whose it has written.
#[derive(Default)]
pub(super) struct References {
    removed: BTreeSet<(QualifiedName, TableId)>,
    written: BTreeSet<(QualifiedName, TableId)>,
}

/// The children of a name, the oldest table first, as MySQL looks at them.
pub(super) fn referrers(txn: &Transaction, parent: &QualifiedName) -> Result<Vec<QualifiedName>> {
    let prefix = keys::references_of(parent);
    let mut records = txn.meta_scan(KeyRange::prefix(&prefix))?;
    records.sort_by(|a, b| a.1.cmp(&b.1));
    let child = |key: &[u8]| keys::referring_child(key, &prefix).ok_or_else(|| damaged(format_args!("a reference")));
    records.iter().map(|(key, _)| child(key)).collect()
}

/// The columns of a parent that a key names; error 3734.
pub fn parent_columns(key: &ForeignKeyDef, parent: &TableDef) -> Result<Vec<ColumnId>> {
    let find = |name: &String| {
        let at = parent.column_position(name).and_then(|at| parent.columns.get(at));
        at.map(|column| column.id).ok_or_else(|| Error::new(&errno::ER_FK_NO_COLUMN_PARENT, &[name, &key.name, &parent.name]))
    };
    key.parent_columns.iter().map(find).collect()
}

/// What both ends of a key have to have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// Their columns have one collation.
    OfOneCollation,
    /// Tables with keys may be converted to another charset one after the other, while nobody checks.
    OfAnyCollation,
}

/// Errors 3734, 3780, 6125 and 1822: a key does not fit its parent.
pub fn check_reference(child: &TableDef, key: &ForeignKeyDef, parent: &TableDef, unique: bool, texts: Texts) -> Result<()> {
    let columns = parent_columns(key, parent)?;
    if unique && !parent.indexes.iter().any(|index| index.is_unique_of(&columns)) {
        return Err(Error::new(&errno::ER_FK_NO_UNIQUE_INDEX_PARENT, &[&key.name, &parent.name]));
    }
    for (own, other) in key.columns.iter().zip(&columns) {
        let own = column(child, *own)?;
        let other = column(parent, *other)?;
        if !comparable(&own.ty, &other.ty, texts) {
            return Err(Error::new(&errno::ER_FK_INCOMPATIBLE_COLUMNS, &[&own.name, &other.name, &key.name]));
        }
    }
    match parent.referenced_index(&columns) {
        Some(_) => Ok(()),
        None => Err(Error::new(&errno::ER_FK_NO_INDEX_PARENT, &[&key.name, &parent.name])),
    }
}

fn column(def: &TableDef, id: ColumnId) -> Result<&ColumnDef> {
    let at = def.position_of(id).and_then(|at| def.columns.get(at));
    at.ok_or_else(|| Error::internal(format_args!("a foreign key of {}.{} without its column", def.database, def.name)))
}

/// Values of both types can be looked up in an index of the other.
fn comparable(a: &ColumnType, b: &ColumnType, texts: Texts) -> bool {
    use TypeKind::*;
    match (a.kind, b.kind) {
        (Char | VarChar | TinyText | Text | MediumText | LongText, Char | VarChar | TinyText | Text | MediumText | LongText) => {
            a.collation == b.collation || texts == Texts::OfAnyCollation
        }
        (
            Binary | VarBinary | TinyBlob | Blob | MediumBlob | LongBlob,
            Binary | VarBinary | TinyBlob | Blob | MediumBlob | LongBlob,
        ) => true,
        (TinyInt | SmallInt | MediumInt | Int | BigInt, _) => a.kind == b.kind && a.unsigned == b.unsigned,
        (Enum, Enum) | (Set, Set) => label_bytes(a) == label_bytes(b),
        _ => a.kind == b.kind,
    }
}

/// Bytes of a stored ENUM or SET.
fn label_bytes(ty: &ColumnType) -> usize {
    let labels = ty.members.as_ref().map_or(0, |members| members.len());
    match ty.kind {
        TypeKind::Enum => usize::from(labels > 255),
        _ => labels.div_ceil(8).next_power_of_two(),
    }
}

/// The name of a key after its table was renamed, if it was made of the table's: `t_ibfk_1` becomes `u_ibfk_1`.
fn renamed_key(name: &str, from: &str, to: &str) -> String {
    let number = name.strip_prefix(from).and_then(|rest| rest.strip_prefix("_ibfk_"));
    match number.filter(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())) {
        Some(number) => format!("{to}_ibfk_{number}"),
        None => name.to_string(),
    }
}

/// The same of a CHECK constraint. As in MySQL any end of the name is kept by RENAME TABLE, and read as a number by ALTER TABLE.
fn renamed_check(name: &str, from: &str, to: &str, alters: bool) -> String {
    let Some(end) = name.strip_prefix(from).and_then(|rest| rest.strip_prefix("_chk_")) else { return name.to_string() };
    let digits = end.len() - end.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match alters {
        true => format!("{to}_chk_{}", end[..digits].parse::<u32>().unwrap_or(0)),
        false => format!("{to}_chk_{end}"),
    }
}

/// Keys and CHECK constraints of a table that gets another name.
pub(super) fn rename_own_constraints(def: &mut TableDef, from: &QualifiedName, to: &QualifiedName, alters: bool) -> Result<()> {
    let checked = |name: String| match name.chars().count() > vaquita_types::limits::IDENTIFIER_CHARS_MAX {
        true => Err(Error::new(&errno::ER_TOO_LONG_IDENT, &[&name])),
        false => Ok(name),
    };
    for key in &mut def.foreign_keys {
        key.name = checked(renamed_key(&key.name, &from.name, &to.name))?;
    }
    for check in &mut def.options.checks {
        check.name = checked(renamed_check(&check.name, &from.name, &to.name, alters))?;
    }
    sort_keys(def);
    Ok(())
}

/// In the order in which they are checked and printed.
pub fn sort_keys(def: &mut TableDef) {
    def.foreign_keys.sort_by_cached_key(|key| key.name.to_lowercase());
}

/// What keys to `old` are when its table is `new`: other names of the table and of its columns. True: the child has such a key.
pub(super) fn follow_parent(child: &mut TableDef, old: &TableDef, new: &TableDef) -> bool {
    let (from, to) = (old.qualified_name(), new.qualified_name());
    let mut followed = false;
    for key in child.foreign_keys.iter_mut().filter(|key| key.parent == from) {
        followed = true;
        key.parent.clone_from(&to);
        for name in &mut key.parent_columns {
            let id = old.column_position(name).and_then(|at| old.columns.get(at)).map(|column| column.id);
            if let Some(column) = id.and_then(|id| new.position_of(id)).and_then(|at| new.columns.get(at)) {
                name.clone_from(&column.name);
            }
        }
    }
    followed
}

/// Children have to follow: the table or a column has another name.
pub(super) fn changes_names(old: &TableDef, new: &TableDef) -> bool {
    let renamed = |column: &ColumnDef| new.position_of(column.id).is_some_and(|at| new.columns[at].name != column.name);
    old.qualified_name() != new.qualified_name() || old.columns.iter().any(renamed)
}

impl Catalog {
    /// The tables whose handles a change of these definitions replaces: the parents of their keys and, if they get other names, the children.
    pub(super) fn relatives<'d>(&self, defs: impl Iterator<Item = &'d TableDef>, children: bool) -> Result<Vec<Arc<Table>>> {
        let mut names: Vec<&QualifiedName> = Vec::new();
        for def in defs {
            names.extend(def.foreign_keys.iter().map(|key| &key.parent));
            if children {
                names.extend(&def.referenced_by);
            }
        }
        names.sort();
        names.dedup();
        let mut tables = Vec::with_capacity(names.len());
        for name in names {
            tables.extend(self.table(&name.database, &name.name)?);
        }
        Ok(tables)
    }

    /// The definitions of the tables that have a key to this name, which need not be a table's.
    pub fn children_of(&self, parent: &QualifiedName) -> Result<Vec<Arc<Table>>> {
        let mut children = Vec::new();
        for child in referrers(&self.transaction(), parent)? {
            children.extend(self.table(&child.database, &child.name)?);
        }
        Ok(children)
    }

    /// Whether a table other than `table` has a foreign key of that name.
    pub fn foreign_key_exists(&self, table: &QualifiedName, name: &str) -> Result<bool> {
        let owner = self.transaction().meta_get(&keys::foreign_key_name(&table.database, name))?;
        Ok(owner.is_some_and(|owner| owner != table.name.as_bytes()))
    }
}

impl Change<'_> {
    /// Writes the records of a definition's keys. Error 1826.
    pub(super) fn relate(&mut self, def: &TableDef) -> Result<()> {
        let child = def.qualified_name();
        for key in &def.foreign_keys {
            let name = keys::foreign_key_name(&def.database, &key.name);
            if self.txn.meta_get(&name)?.is_some() {
                return Err(Error::new(&errno::ER_FK_DUP_NAME, &[&key.name]));
            }
            self.txn.meta_put(&name, def.name.as_bytes())?;
            self.txn.meta_put(&keys::reference(&key.parent, &child), &def.id.0.to_be_bytes())?;
            self.references.entry(key.parent.clone()).or_default().written.insert((child.clone(), def.id));
        }
        Ok(())
    }

    /// Removes the records of the keys of a definition that goes or is replaced.
    pub(super) fn unrelate(&mut self, def: &TableDef) -> Result<()> {
        let child = def.qualified_name();
        for key in &def.foreign_keys {
            self.txn.meta_delete(&keys::foreign_key_name(&def.database, &key.name))?;
            self.txn.meta_delete(&keys::reference(&key.parent, &child))?;
            self.references.entry(key.parent.clone()).or_default().removed.insert((child.clone(), def.id));
        }
        Ok(())
    }

    /// New handles of the parents whose children have changed (FKEY-2). Error 1412: a parent has come that is not locked.
    pub(super) fn renew_parents(&mut self) -> Result<()> {
        for (name, references) in std::mem::take(&mut self.references) {
            let (current, is_new) = match self.tables.get(&(name.database.clone(), name.name.clone())) {
                Some(Some(table)) => (Arc::clone(table), true),
                Some(None) => continue,
                None if !self.exists((&name.database, &name.name))? => continue,
                None => match self.related.iter().find(|table| table.def.qualified_name() == name) {
                    Some(locked) => (Arc::clone(locked), false),
                    // A child that follows the name of another parent keeps this one.
                    None if references.removed == references.written => continue,
                    None => return Err(Error::new(&errno::ER_TABLE_DEF_CHANGED, &[])),
                },
            };
            if referrers(&self.txn, &name)? == current.def.referenced_by {
                continue;
            }
            if !is_new {
                self.retire(&current);
            }
            self.store((*current.def).clone(), current.statistics())?;
        }
        Ok(())
    }

    /// FKEY-3 of all that this statement has changed.
    pub(super) fn check_references(&self) -> Result<()> {
        for table in self.tables.values().flatten() {
            let def = &table.def;
            for key in &def.foreign_keys {
                match self.definition(&key.parent)? {
                    Some(parent) => check_reference(def, key, &parent, false, Texts::OfAnyCollation)?,
                    None => continue,
                }
            }
            for child in &def.referenced_by {
                let Some(child) = self.definition(child)? else { continue };
                let keys = child.foreign_keys.iter().filter(|key| key.parent == def.qualified_name());
                keys.into_iter().try_for_each(|key| check_reference(&child, key, def, false, Texts::OfAnyCollation))?;
            }
        }
        Ok(())
    }

    /// Error 3730: a table that goes has children that stay.
    pub(super) fn check_dropped(&self, tables: &[Arc<Table>], context: &DdlContext) -> Result<()> {
        if !context.foreign_keys.checks {
            return Ok(());
        }
        for table in tables {
            let name = table.def.qualified_name();
            let stays = |child: &&QualifiedName| !tables.iter().any(|table| table.def.qualified_name() == **child);
            if let Some(child) = table.def.referenced_by.iter().find(stays) {
                let key = self.key_between(child, &name)?;
                return Err(Error::new(&errno::ER_FK_CANNOT_DROP_PARENT, &[&name.name, &key, &child.name]));
            }
        }
        Ok(())
    }

    /// Error 1701.
    pub(super) fn check_truncated(&self, table: &Table, context: &DdlContext) -> Result<()> {
        let name = table.def.qualified_name();
        let other = table.def.referenced_by.iter().find(|child| **child != name);
        let Some(child) = other.filter(|_| context.foreign_keys.checks) else { return Ok(()) };
        let key = self.key_between(child, &name)?;
        let text = format!("`{}`.`{}`, CONSTRAINT `{key}`", child.database, child.name);
        Err(Error::new(&errno::ER_TRUNCATE_ILLEGAL_FK, &[&text]))
    }

    /// The name of the first key of a child to a parent.
    fn key_between(&self, child: &QualifiedName, parent: &QualifiedName) -> Result<String> {
        let child = self.definition(child)?;
        let key = child.as_ref().and_then(|child| child.foreign_keys.iter().find(|key| key.parent == *parent));
        Ok(key.map_or(String::new(), |key| key.name.clone()))
    }

    /// The keys of tables that get other names, and those of the children of them, which get new definitions.
    pub(super) fn follow_renamed(&mut self, renamed: &mut [(TableDef, Arc<Table>)]) -> Result<()> {
        let names: Vec<(Arc<TableDef>, TableDef)> =
            renamed.iter().map(|(new, old)| (Arc::clone(&old.def), new.clone())).collect();
        // All at once: two tables can exchange their names.
        let follow = |child: &mut TableDef| {
            let before = child.foreign_keys.clone();
            let mut followed = false;
            for (n, key) in before.iter().enumerate() {
                let Some((old, new)) = names.iter().find(|(old, _)| key.parent == old.qualified_name()) else { continue };
                let keys = std::mem::replace(&mut child.foreign_keys, vec![key.clone()]);
                followed |= follow_parent(child, old, new);
                let changed = std::mem::replace(&mut child.foreign_keys, keys);
                if let (Some(place), Some(changed)) = (child.foreign_keys.get_mut(n), changed.into_iter().next()) {
                    *place = changed;
                }
            }
            followed
        };
        for (def, old) in renamed.iter_mut() {
            follow(def);
            let to = def.qualified_name();
            rename_own_constraints(def, &old.def.qualified_name(), &to, false)?;
        }
        for table in self.related.clone() {
            if names.iter().any(|(old, _)| old.id == table.def.id) {
                continue;
            }
            let mut def = (*table.def).clone();
            if follow(&mut def) {
                self.replace(&table, def)?;
            }
        }
        Ok(())
    }

    /// Replaces the definition of a table whose keys follow their parent.
    pub(super) fn replace(&mut self, table: &Arc<Table>, def: TableDef) -> Result<()> {
        self.unrelate(&table.def)?;
        self.retire(table);
        self.put(def, table.statistics())?;
        Ok(())
    }

    /// The definition that a name will have.
    fn definition(&self, name: &QualifiedName) -> Result<Option<Arc<TableDef>>> {
        if let Some(table) = self.tables.get(&(name.database.clone(), name.name.clone())) {
            return Ok(table.as_ref().map(|table| Arc::clone(&table.def)));
        }
        let Some(bytes) = self.txn.meta_get(&keys::table(&name.database, &name.name))? else { return Ok(None) };
        let def = record::decode_table(&bytes);
        def.map(|def| Some(Arc::new(def))).ok_or_else(|| damaged(format_args!("table {}.{}", name.database, name.name)))
    }
}
