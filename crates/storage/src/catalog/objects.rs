//! Stored objects: views, procedures, functions, triggers, events.
//!
//! Each is one record, created, changed and dropped by one commit as tables are, under `ddl` (CAT-4). A change gives the object a
//! version that none had before, and a new version to the catalog, so that plans and compiled programs of the old one are found stale.
//! The objects of a database are read together when one of them is first looked for, and go with the database.

use std::collections::BTreeMap;
use std::sync::Arc;

use vaquita_types::errno::ER_TABLE_DEF_CHANGED;
use vaquita_types::schema::{ObjectKind, StoredObject};
use vaquita_types::{Error, Result};

use super::ddl::{Change, DdlStatement, TableName, table_exists};
use super::events::events_of;
use super::{Catalog, DdlContext, MetaChanges, damaged, put_meta};
use crate::base::clock::now_us;
use crate::encoding::KeyRange;
use crate::encoding::catalog::{keys, object};

/// The kind of an object, and what `ObjectKind::key_of` makes of its name.
pub(super) type ObjectKey = (ObjectKind, String);
pub(super) type Objects = BTreeMap<ObjectKey, Arc<StoredObject>>;

impl Catalog {
    /// `None` also if the database does not exist.
    pub fn object(&self, database: &str, kind: ObjectKind, name: &str) -> Result<Option<Arc<StoredObject>>> {
        self.with_objects(database, |objects| objects.get(&(kind, kind.key_of(name))).cloned()).map(Option::flatten)
    }

    /// A database's objects of a kind, by name; none if it does not exist.
    pub fn objects(&self, database: &str, kind: ObjectKind) -> Result<Vec<Arc<StoredObject>>> {
        let found = self.with_objects(database, |objects| {
            let of_kind = objects.range((kind, String::new())..).take_while(|((found, _), _)| *found == kind);
            of_kind.map(|(_, object)| object.clone()).collect()
        })?;
        Ok(found.unwrap_or_default())
    }

    fn with_objects<T>(&self, database: &str, look: impl Fn(&Objects) -> T) -> Result<Option<T>> {
        match self.cache.read().get(database).map(|d| d.objects.as_ref().map(&look)) {
            None => return Ok(None),
            Some(Some(found)) => return Ok(Some(found)),
            Some(None) => {}
        }
        // Under `ddl` the records cannot change between reading and caching them.
        let _ddl = self.ddl.lock();
        let objects = self.read_objects(database)?;
        let mut cache = self.cache.write();
        let Some(d) = cache.get_mut(database) else { return Ok(None) };
        Ok(Some(look(d.objects.insert(objects))))
    }

    #[cold]
    fn read_objects(&self, database: &str) -> Result<Objects> {
        let records = self.transaction().meta_scan(KeyRange::prefix(&keys::objects_of(database)))?;
        let decoded = records.into_iter().map(|(_, bytes)| {
            let object = object::decode(&bytes).ok_or_else(|| damaged(format_args!("a stored object of database {database}")))?;
            Ok(((object.kind, object.kind.key_of(&object.name)), Arc::new(object)))
        });
        decoded.collect()
    }

    /// Stores a new object, or with `replace` one in the place of that which has its name. Version and times are given here. `None`:
    /// the name is taken, and nothing is changed. Error 1049 without the database; error 1050 for a view with the name of a table.
    /// `meta` is written with it.
    pub fn create_object(
        &self,
        new: StoredObject,
        replace: bool,
        meta: &MetaChanges<'_>,
        context: &DdlContext,
    ) -> Result<Option<Arc<StoredObject>>> {
        let mut change = DdlStatement::new(self, context).change();
        change.check_database(&new.database)?;
        let table = (new.database.as_str(), new.name.as_str());
        if new.kind == ObjectKind::View && change.exists(table)? {
            return Err(table_exists(table));
        }
        let there = change.object(&new.database, new.kind, &new.name)?;
        if there.is_some() && !replace {
            return Ok(None);
        }
        let now = now_us();
        put_meta(&mut change.txn, meta)?;
        if new.kind == ObjectKind::Event {
            change.begin_event(&new.database, &new.name)?;
        }
        change.put_object(StoredObject { created_us: now, altered_us: now, ..new }).map(Some)
    }

    /// Stores objects of databases that exist, each in the place of that which has its name, in one commit with `meta`.
    pub fn put_objects(&self, objects: Vec<StoredObject>, meta: &MetaChanges<'_>, context: &DdlContext) -> Result<()> {
        let mut change = DdlStatement::new(self, context).change();
        let now = now_us();
        for object in objects {
            change.check_database(&object.database)?;
            change.write_object(StoredObject { created_us: now, altered_us: now, ..object })?;
        }
        put_meta(&mut change.txn, meta)?;
        change.commit()
    }

    /// Changes an object, whose kind stays; `alter` may give it another name and database.
    pub fn alter_object(
        &self,
        (database, kind, name): (&str, ObjectKind, &str),
        alter: impl FnOnce(&mut StoredObject) -> Result<()>,
        context: &DdlContext,
    ) -> Result<Altered> {
        let mut change = DdlStatement::new(self, context).change();
        let Some(mut object) = change.object(database, kind, name)? else { return Ok(Altered::Missing) };
        alter(&mut object)?;
        let (old, new) = (kind.key_of(name), kind.key_of(&object.name));
        if object.database != database || new != old {
            change.check_database(&object.database)?;
            if change.object(&object.database, kind, &object.name)?.is_some() {
                return Ok(Altered::Taken);
            }
            change.remove_object((database, kind, name))?;
            if kind == ObjectKind::Event {
                change.move_event((database, name), (&object.database, &object.name))?;
            }
        }
        object.altered_us = now_us();
        change.put_object(object)?;
        Ok(Altered::Done)
    }

    /// False: there is none. `meta` is written with the drop.
    pub fn drop_object(
        &self,
        (database, kind, name): (&str, ObjectKind, &str),
        meta: &MetaChanges<'_>,
        context: &DdlContext,
    ) -> Result<bool> {
        Ok(self.drop_with(&[(database, name)], &[], kind, meta, context)?.is_empty())
    }

    /// Drops those of the named objects that exist, in one commit. The positions of the others. `absent` were not found: if one is there now, that
    /// is error 1412.
    pub fn drop_objects(
        &self,
        names: &[TableName<'_>],
        absent: &[TableName<'_>],
        kind: ObjectKind,
        context: &DdlContext,
    ) -> Result<Vec<usize>> {
        self.drop_with(names, absent, kind, &[], context)
    }

    fn drop_with(
        &self,
        names: &[TableName<'_>],
        absent: &[TableName<'_>],
        kind: ObjectKind,
        meta: &MetaChanges<'_>,
        context: &DdlContext,
    ) -> Result<Vec<usize>> {
        let mut change = DdlStatement::new(self, context).change();
        for (database, name) in absent {
            if change.object(database, kind, name)?.is_some() {
                return Err(Error::new(&ER_TABLE_DEF_CHANGED, &[]));
            }
        }
        let (mut missing, mut gone) = (Vec::new(), Vec::new());
        for (at, (database, name)) in names.iter().enumerate() {
            let name = kind.key_of(name);
            let key = keys::object(database, kind, &name);
            if change.txn.meta_get(&key)?.is_none() {
                missing.push(at);
                continue;
            }
            change.txn.meta_delete(&key)?;
            if kind == ObjectKind::Event {
                change.end_event(database, &name)?;
            }
            gone.push((*database, (kind, name)));
        }
        if gone.is_empty() {
            return Ok(missing);
        }
        put_meta(&mut change.txn, meta)?;
        change.commit_with(|databases| {
            for (database, key) in gone {
                if let Some(objects) = databases.get_mut(database).and_then(|d| d.objects.as_mut()) {
                    objects.remove(&key);
                }
            }
        })?;
        Ok(missing)
    }
}

/// What became of ALTER of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Altered {
    Done,
    /// There is none.
    Missing,
    /// Another object has the new name.
    Taken,
}

impl Change<'_> {
    pub(super) fn object(&self, database: &str, kind: ObjectKind, name: &str) -> Result<Option<StoredObject>> {
        let Some(bytes) = self.txn.meta_get(&keys::object(database, kind, &kind.key_of(name)))? else { return Ok(None) };
        object::decode(&bytes).map(Some).ok_or_else(|| damaged(format_args!("stored object {database}.{name}")))
    }

    /// Writes the object and commits.
    fn put_object(&mut self, object: StoredObject) -> Result<Arc<StoredObject>> {
        let object = self.write_object(object)?;
        self.commit()?;
        Ok(object)
    }

    /// Removes all of a database.
    pub(super) fn drop_objects(&mut self, database: &str) -> Result<()> {
        for prefix in [keys::objects_of(database), keys::meta(&events_of(database))] {
            let records = self.txn.meta_scan(KeyRange::prefix(&prefix))?;
            records.iter().try_for_each(|(key, _)| self.txn.meta_delete(key))?;
        }
        Ok(())
    }
}
