//! FOREIGN KEY in CREATE TABLE and ALTER TABLE: the definitions, the indexes that they need, and what they keep from being dropped or changed.
//!
//! A key of columns that lead no index gets one, named as the constraint, as what stands after FOREIGN KEY, or as its first column. Such an
//! index is `generated`: it goes when one comes that serves as well. What a key and its parent must have in common is looked at here, with
//! MySQL's errors, and again by the catalog under the locks of both tables (FKEY-3).

use vaquita_parser::ast::{self, ColumnAttribute, KeyPart, ReferenceAction, TableElement};
use vaquita_plan::env::Level;
use vaquita_storage::foreign_keys::{Texts, check_reference, parent_columns, sort_keys};
use vaquita_storage::{ChangedRows, Table, Transaction, Validation, Version};
use vaquita_types::errno::{
    ER_CANNOT_ADD_FOREIGN, ER_CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN, ER_DROP_INDEX_FK, ER_DUP_FIELDNAME,
    ER_FK_CANNOT_OPEN_PARENT, ER_FK_COLUMN_CANNOT_CHANGE, ER_FK_COLUMN_CANNOT_CHANGE_CHILD, ER_FK_COLUMN_CANNOT_DROP,
    ER_FK_COLUMN_CANNOT_DROP_CHILD, ER_FK_COLUMN_NOT_NULL, ER_FK_DUP_NAME, ER_FOREIGN_KEY_ON_PARTITIONED,
    ER_KEY_COLUMN_DOES_NOT_EXITS, ER_TOO_LONG_IDENT, ER_WARN_DEPRECATED_NON_STANDARD_KEY, ER_WRONG_FK_DEF,
    ER_WRONG_NAME_FOR_INDEX,
};
use vaquita_types::limits::IDENTIFIER_CHARS_MAX;
use vaquita_types::schema::{
    ColumnDef, ColumnId, ForeignKeyDef, IndexDef, MatchOption, QualifiedName, ReferentialAction, TableDef,
};
use vaquita_types::{Error, Result};

use super::conversion::in_place;
use super::{Ddl, generated};
use crate::dml::AddedKey;

/// The keys of CREATE TABLE, in its order.
pub(super) fn of_elements(elements: &[TableElement]) -> Vec<ast::ForeignKey> {
    let mut keys = Vec::new();
    for element in elements {
        match element {
            TableElement::Column(column) => keys.extend(of_column(column)),
            TableElement::ForeignKey(key) => keys.push(key.clone()),
            TableElement::Index(_) | TableElement::Check(_) => {}
        }
    }
    keys
}

/// REFERENCES at a column.
pub(super) fn of_column(column: &ast::ColumnDef) -> impl Iterator<Item = ast::ForeignKey> + '_ {
    column.attributes.iter().filter_map(|attribute| match attribute {
        ColumnAttribute::References(reference) => Some(ast::ForeignKey {
            constraint: None,
            index_name: None,
            columns: vec![KeyPart::Column { name: column.name.clone(), length: None, desc: false }],
            reference: reference.clone(),
        }),
        _ => None,
    })
}

/// MyISAM and its like read foreign keys and forget them.
pub fn keeps_keys(engine: &str) -> bool {
    !["MyISAM", "MEMORY", "ARCHIVE", "CSV", "MRG_MyISAM"].iter().any(|other| other.eq_ignore_ascii_case(engine))
}

fn column_names(key: &ast::ForeignKey) -> impl Iterator<Item = &str> {
    key.columns.iter().map(|part| match part {
        KeyPart::Column { name, .. } => name.as_str(),
        KeyPart::Expr { .. } => "",
    })
}

/// The indexes that these keys need beside `indexes`, whose parts are positions of `columns`, each with its key's number.
pub(super) fn missing_indexes(
    keys: &[ast::ForeignKey],
    columns: &[ColumnDef],
    indexes: &[IndexDef],
) -> Result<Vec<(usize, ast::IndexDef)>> {
    let mut wanted: Vec<(Vec<ColumnId>, &ast::ForeignKey)> = Vec::new();
    for key in keys {
        let position = |name: &str| columns.iter().position(|c| c.name.eq_ignore_ascii_case(name));
        let mut ids = Vec::new();
        for name in column_names(key) {
            let at = position(name).ok_or_else(|| Error::new(&ER_KEY_COLUMN_DOES_NOT_EXITS, &[&name]))?;
            if ids.contains(&ColumnId(at as u16)) {
                return Err(Error::new(&ER_DUP_FIELDNAME, &[&name]));
            }
            ids.push(ColumnId(at as u16));
        }
        wanted.push((ids, key));
    }
    let covers = |long: &[ColumnId], short: &[ColumnId]| long.starts_with(short);
    let mut missing = Vec::new();
    for (n, (ids, key)) in wanted.iter().enumerate() {
        // An index that was generated for another key is replaced by one of this key's name.
        let served = indexes.iter().any(|index| {
            ascends(index, ids.len()) && index.is_led_by(ids) && (!index.generated || index.parts.len() > ids.len())
        });
        let other = |(m, (other, _)): (usize, &(Vec<ColumnId>, &ast::ForeignKey))| {
            m != n && covers(other, ids) && (other.len() > ids.len() || m > n)
        };
        if served || wanted.iter().enumerate().any(other) {
            continue;
        }
        let index = ast::IndexDef {
            kind: ast::IndexKind::Plain,
            name: key.constraint.clone().or_else(|| key.index_name.clone()),
            constraint: None,
            parts: key.columns.clone(),
            options: ast::IndexOptions::default(),
        };
        missing.push((n, index));
    }
    Ok(missing)
}

/// Puts generated indexes, which stand behind those of the statement, where their keys were written: so many of the statement's indexes
/// stand before each.
pub(super) fn place_generated(indexes: &mut Vec<IndexDef>, generated: Vec<usize>) {
    let of_statement = indexes.len() - generated.len();
    let mut placed: Vec<((usize, bool), IndexDef)> = Vec::with_capacity(indexes.len());
    for (n, index) in indexes.drain(..).enumerate() {
        let place = n.checked_sub(of_statement).and_then(|n| generated.get(n));
        placed.push((place.map_or((n, true), |place| (*place, false)), index));
    }
    placed.sort_by_key(|(place, _)| *place);
    indexes.extend(placed.into_iter().map(|(_, index)| index));
}

/// An index that descends serves a key, but MySQL generates one beside it, and keeps it.
fn ascends(index: &IndexDef, parts: usize) -> bool {
    index.parts.iter().take(parts).all(|part| !part.descending)
}

/// Generated indexes that others make useless go: those that are there, or those that will be for columns of these names. Parts are positions.
pub(super) fn drop_useless(indexes: &mut Vec<IndexDef>, missing: &[(usize, ast::IndexDef)], columns: &[ColumnDef]) {
    let position = |part: &KeyPart| match part {
        KeyPart::Column { name, .. } => columns.iter().position(|c| c.name.eq_ignore_ascii_case(name)),
        KeyPart::Expr { .. } => None,
    };
    let will_lead: Vec<Vec<Option<usize>>> =
        missing.iter().map(|(_, index)| index.parts.iter().map(position).collect()).collect();
    let useless = |n: usize, index: &IndexDef| {
        let columns: Vec<ColumnId> = index.parts.iter().map(|part| part.column).collect();
        let better = |(m, other): (usize, &IndexDef)| {
            m != n
                && ascends(other, columns.len())
                && other.is_led_by(&columns)
                && (!other.generated || other.parts.len() > columns.len() || m > n)
        };
        let own: Vec<Option<usize>> = columns.iter().map(|id| Some(usize::from(id.0))).collect();
        index.generated && (indexes.iter().enumerate().any(better) || will_lead.iter().any(|columns| columns.starts_with(&own)))
    };
    let gone: Vec<bool> = indexes.iter().enumerate().map(|(n, index)| useless(n, index)).collect();
    let mut gone = gone.into_iter();
    indexes.retain(|_| gone.next() != Some(true));
}

impl Ddl<'_> {
    /// Adds keys to a definition that has its columns and indexes. `used` counts the names that MySQL has generated for the table.
    pub(super) fn add_foreign_keys(&self, keys: &[ast::ForeignKey], def: &mut TableDef, used: u64) -> Result<()> {
        let mut number = used;
        for key in keys {
            let name = match &key.constraint {
                Some(name) if name.is_empty() || name.ends_with(' ') => {
                    return Err(Error::new(&ER_WRONG_NAME_FOR_INDEX, &[name]));
                }
                Some(name) => name.clone(),
                None => {
                    number += 1;
                    format!("{}_ibfk_{number}", def.name)
                }
            };
            if name.chars().count() > IDENTIFIER_CHARS_MAX {
                return Err(Error::new(&ER_TOO_LONG_IDENT, &[&name]));
            }
            let new = self.foreign_key(key, name, def)?;
            let lower = new.name.to_lowercase();
            if def.foreign_keys.iter().any(|other| other.name.to_lowercase() == lower)
                || self.catalog.foreign_key_exists(&def.qualified_name(), &new.name)?
            {
                return Err(Error::new(&ER_FK_DUP_NAME, &[&new.name]));
            }
            def.foreign_keys.push(new);
        }
        sort_keys(def);
        Ok(())
    }

    /// A key with its parent, if that is there. Errors 1239, 1830, 1824 and those of `check_reference`.
    fn foreign_key(&self, key: &ast::ForeignKey, name: String, def: &TableDef) -> Result<ForeignKeyDef> {
        let mut columns = Vec::new();
        for column in column_names(key) {
            let at = def.column_position(column).and_then(|at| def.columns.get(at));
            columns.push(at.ok_or_else(|| Error::new(&ER_KEY_COLUMN_DOES_NOT_EXITS, &[&column]))?.id);
        }
        let reference = &key.reference;
        let database = reference.table.db.as_deref().unwrap_or(&def.database);
        let parent = QualifiedName { database: database.to_string(), name: reference.table.name.clone() };
        let is_own = parent == def.qualified_name();
        let table = if is_own { None } else { self.catalog.permanent(&parent.database, &parent.name)? };
        let parent_def = if is_own { Some(def) } else { table.as_ref().map(|table| &*table.def) };
        let rules = self.context.foreign_keys;
        let mut new = ForeignKeyDef {
            name,
            columns,
            parent,
            parent_columns: reference.columns.clone(),
            on_delete: action(reference.on_delete),
            on_update: action(reference.on_update),
            match_option: match reference.match_kind.as_deref() {
                None => MatchOption::None,
                Some("FULL") => MatchOption::Full,
                Some("PARTIAL") => MatchOption::Partial,
                Some(_) => MatchOption::Simple,
            },
        };
        check_checks(def, &new)?;
        let mismatch = || Error::new(&ER_WRONG_FK_DEF, &[&new.name, &"Key reference and table reference don't match"]);
        if new.parent_columns.is_empty() {
            let primary = parent_def.and_then(|def| Some((def, def.primary_key()?)));
            new.parent_columns = match primary {
                Some((def, primary)) => {
                    let named = primary.parts.iter().filter_map(|part| def.columns.get(def.position_of(part.column)?));
                    named.map(|column| column.name.clone()).collect()
                }
                None if parent_def.is_none() && rules.checks => Vec::new(),
                None => return Err(mismatch()),
            };
        }
        if parent_def.is_none() && rules.checks {
            return Err(Error::new(&ER_FK_CANNOT_OPEN_PARENT, &[&new.parent.name]));
        }
        if new.parent_columns.len() != new.columns.len() {
            return Err(mismatch());
        }
        check_null(&new, def)?;
        generated::check_key(def, &new, None)?;
        if let Some(parent) = parent_def {
            if parent.partitioning.is_some() {
                return Err(Error::new(&ER_FOREIGN_KEY_ON_PARTITIONED, &[]));
            }
            let named = new.parent_columns.iter().filter_map(|name| parent.columns.get(parent.column_position(name)?));
            let ids: Vec<ColumnId> = named.map(|column| column.id).collect();
            generated::check_key(def, &new, Some((parent, &ids)))?;
            check_reference(def, &new, parent, rules.unique_parents, Texts::OfOneCollation)?;
            let ids = parent_columns(&new, parent)?;
            // They are named as the parent names them.
            let named = ids.iter().filter_map(|id| parent.columns.get(parent.position_of(*id)?));
            new.parent_columns = named.map(|column| column.name.clone()).collect();
            if !parent.indexes.iter().any(|index| index.is_unique_of(&ids)) {
                self.session.warn(Level::Warning, Error::new(&ER_WARN_DEPRECATED_NON_STANDARD_KEY, &[&new.name]));
            }
        }
        Ok(new)
    }

    /// A table comes whose name children refer to: error 1215 if it does not fit them, or what is wrong if nobody checks.
    pub(super) fn check_waiting_children(&self, def: &TableDef) -> Result<()> {
        let rules = self.context.foreign_keys;
        let name = def.qualified_name();
        for child in self.catalog.children_of(&name)? {
            if def.partitioning.is_some() {
                return Err(Error::new(&ER_FOREIGN_KEY_ON_PARTITIONED, &[]));
            }
            for key in child.def.foreign_keys.iter().filter(|key| key.parent == name) {
                check_reference(&child.def, key, def, rules.unique_parents, Texts::OfOneCollation).map_err(
                    |error| match rules.checks {
                        true => Error::new(&ER_CANNOT_ADD_FOREIGN, &[]),
                        false => error,
                    },
                )?;
            }
        }
        Ok(())
    }

    /// What an ALTER does to columns and indexes that keys of the table, or of its children, need. Errors 1553, 1830, 1832, 1833, 3780.
    pub(super) fn check_needed(&self, old: &TableDef, new: &TableDef) -> Result<()> {
        let checks = self.context.foreign_keys.checks;
        let texts = if checks { Texts::OfOneCollation } else { Texts::OfAnyCollation };
        let retyped = |id: ColumnId| {
            let (before, after) = (column(old, id)?, column(new, id)?);
            let changed = !in_place(&before.ty, &after.ty) || before.auto_increment != after.auto_increment;
            Some((before, after)).filter(|_| changed)
        };
        for key in new.foreign_keys.iter().filter(|key| old.foreign_keys.iter().any(|before| before.name == key.name)) {
            if new.index_led_by(&key.columns).is_none() {
                return Err(self.index_needed(old, new, &key.columns));
            }
            check_null(key, new)?;
            let changed = key.columns.iter().find_map(|id| retyped(*id));
            let own = key.parent == old.qualified_name();
            let parent = if own { None } else { self.catalog.permanent(&key.parent.database, &key.parent.name)? };
            if let Some((before, _)) = changed {
                if let Some(parent) = &parent {
                    check_reference(new, key, &parent.def, false, texts)?;
                }
                if checks {
                    return Err(Error::new(&ER_FK_COLUMN_CANNOT_CHANGE, &[&before.name, &key.name]));
                }
            }
        }
        for child in self.catalog.children_of(&old.qualified_name())? {
            let is_own = child.def.id == old.id;
            let keys = if is_own { &new.foreign_keys } else { &child.def.foreign_keys };
            for key in keys.iter().filter(|key| key.parent == old.qualified_name()) {
                let Ok(ids) = parent_columns(key, old) else { continue };
                let was_unique = old.indexes.iter().any(|index| index.is_unique_of(&ids));
                let serves = |index: &IndexDef| if was_unique { index.is_unique_of(&ids) } else { index.is_led_by(&ids) };
                if !new.indexes.iter().any(serves) {
                    return Err(self.index_needed(old, new, &ids));
                }
                if let Some((before, _)) = ids.iter().find_map(|id| retyped(*id)) {
                    let mut followed = key.clone();
                    let named = ids.iter().filter_map(|id| column(new, *id));
                    followed.parent_columns = named.map(|column| column.name.clone()).collect();
                    check_reference(if is_own { new } else { &child.def }, &followed, new, false, texts)?;
                    if checks {
                        let table = format!("{}.{}", child.def.database, child.def.name);
                        return Err(Error::new(&ER_FK_COLUMN_CANNOT_CHANGE_CHILD, &[&before.name, &key.name, &table]));
                    }
                }
            }
        }
        Ok(())
    }

    /// Error 1553 with the first index that served and is not there any more.
    fn index_needed(&self, old: &TableDef, new: &TableDef, columns: &[ColumnId]) -> Error {
        let gone = |index: &&IndexDef| index.is_led_by(columns) && !new.indexes.iter().any(|kept| kept.name == index.name);
        let name = old.indexes.iter().find(gone).or_else(|| old.indexes.iter().find(|index| index.is_led_by(columns)));
        Error::new(&ER_DROP_INDEX_FK, &[&name.map_or("", |index| &index.name)])
    }

    /// Errors 1828 and 1829: a column that a key needs is dropped.
    pub(super) fn check_dropped_column(&self, old: &TableDef, now: &TableDef, id: ColumnId, name: &str) -> Result<()> {
        if let Some(key) = now.foreign_keys.iter().find(|key| key.columns.contains(&id)) {
            return Err(Error::new(&ER_FK_COLUMN_CANNOT_DROP, &[&name, &key.name]));
        }
        for child in self.catalog.children_of(&old.qualified_name())? {
            let keys = if child.def.id == old.id { &now.foreign_keys } else { &child.def.foreign_keys };
            let needs = |key: &&ForeignKeyDef| {
                key.parent == old.qualified_name() && parent_columns(key, old).is_ok_and(|ids| ids.contains(&id))
            };
            if let Some(key) = keys.iter().find(needs) {
                return Err(Error::new(&ER_FK_COLUMN_CANNOT_DROP_CHILD, &[&name, &key.name, &child.def.name]));
            }
        }
        Ok(())
    }
}

/// The foreign keys that an ALTER adds, and the rows that must fulfil them: error 1452.
pub(super) struct AddedKeys<'a> {
    pub ddl: &'a Ddl<'a>,
    pub keys: &'a [ForeignKeyDef],
}

impl AddedKeys<'_> {
    /// Calls `f` with each key and its parent, if there is one.
    fn each(&self, table: &Table, mut f: impl FnMut(&ForeignKeyDef, &Table) -> Result<()>) -> Result<()> {
        for key in self.keys {
            if key.parent == table.def.qualified_name() {
                f(key, table)?;
            } else if let Some(parent) = self.ddl.catalog.permanent(&key.parent.database, &key.parent.name)? {
                f(key, &parent)?;
            }
        }
        Ok(())
    }
}

impl Validation for AddedKeys<'_> {
    fn all(&self, txn: &Transaction, version: Version, table: &Table) -> Result<()> {
        let interrupt = &self.ddl.context.interrupt;
        self.each(table, |key, parent| AddedKey::new(table, key, parent)?.check_all(txn, version, interrupt))
    }

    fn changed(&self, before: &Transaction, table: &Table, rows: &ChangedRows) -> Result<()> {
        let (now, interrupt) = (self.ddl.transaction(), &self.ddl.context.interrupt);
        self.each(table, |key, parent| {
            let added = AddedKey::new(table, key, parent)?;
            added.check_children(&now, rows.of(table.def.id), interrupt)?;
            added.check_parents(before, &now, rows.of(parent.def.id), interrupt)
        })
    }
}

fn column(def: &TableDef, id: ColumnId) -> Option<&ColumnDef> {
    def.position_of(id).and_then(|at| def.columns.get(at))
}

fn action(given: Option<ReferenceAction>) -> ReferentialAction {
    match given {
        None | Some(ReferenceAction::NoAction) => ReferentialAction::NoAction,
        Some(ReferenceAction::Restrict) => ReferentialAction::Restrict,
        Some(ReferenceAction::Cascade) => ReferentialAction::Cascade,
        Some(ReferenceAction::SetNull) => ReferentialAction::SetNull,
        Some(ReferenceAction::SetDefault) => ReferentialAction::SetDefault,
    }
}

/// Error 1830: SET NULL of a column that is NOT NULL.
fn check_null(key: &ForeignKeyDef, def: &TableDef) -> Result<()> {
    if key.on_delete != ReferentialAction::SetNull && key.on_update != ReferentialAction::SetNull {
        return Ok(());
    }
    match key.columns.iter().filter_map(|id| column(def, *id)).find(|column| !column.nullable) {
        Some(column) => Err(Error::new(&ER_FK_COLUMN_NOT_NULL, &[&column.name, &key.name])),
        None => Ok(()),
    }
}

/// Error 3823: a CHECK constraint reads a column that a key changes.
pub(super) fn check_checks(def: &TableDef, key: &ForeignKeyDef) -> Result<()> {
    if !key.on_update.changes_children() && key.on_delete != ReferentialAction::SetNull {
        return Ok(());
    }
    for check in &def.options.checks {
        let read = |column: &&ColumnDef| check.expr.contains(&format!("`{}`", column.name.replace('`', "``")));
        if let Some(column) = key.columns.iter().filter_map(|id| column(def, *id)).find(read) {
            let args: [&dyn std::fmt::Display; 3] = [&column.name, &check.name, &key.name];
            return Err(Error::new(&ER_CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN, &args));
        }
    }
    Ok(())
}

/// The highest number in the names that were generated for a table.
pub(super) fn numbers_used(def: &TableDef) -> u64 {
    let number = |key: &ForeignKeyDef| key.name.strip_prefix(def.name.as_str())?.strip_prefix("_ibfk_")?.parse::<u64>().ok();
    def.foreign_keys.iter().filter_map(number).max().unwrap_or(0)
}

/// Only unique keys and the primary key are constraints beside foreign keys and checks.
pub(super) fn is_key_constraint(index: &IndexDef, name: &str) -> bool {
    index.is_unique() && !index.parts.is_empty() && index.name.eq_ignore_ascii_case(name)
}
