//! RENAME TABLE, of tables and views.
//!
//! The names of a statement are taken from left to right, so that `RENAME TABLE a TO tmp, b TO a, tmp TO b` exchanges two, and all of it
//! is one commit. A view keeps its text: what names it by its old name finds it no more.

use std::collections::BTreeMap;
use std::sync::Arc;

use vaquita_types::schema::{ObjectKind, StoredObject, TableDef};
use vaquita_types::{Error, Result, errno};

use super::ddl::{Change, TableName, first_missing, no_such_table, table_exists};
use super::table::Table;
use super::{Catalog, DdlContext};
use crate::base::kill_points::kill_point;
use crate::encoding::catalog::{keys, object};

/// What has a name while a statement goes on.
enum Renamed<'t> {
    Table(Box<TableDef>, &'t Arc<Table>),
    View(Box<StoredObject>),
}

impl Catalog {
    /// `RENAME TABLE a TO b, c TO d`: left to right, all or none. Errors 1146, 1049, 1050; 1450 for a view that would come to another database.
    pub fn rename_tables(&self, renames: &[(TableName<'_>, TableName<'_>)], context: &DdlContext) -> Result<()> {
        // Names that appear only because of an earlier rename of the statement have no table yet.
        let mut made: Vec<TableName<'_>> = Vec::new();
        let (mut first, mut views) = (Vec::new(), Vec::new());
        for (from, to) in renames {
            if !made.contains(from) && !first.contains(from) && !views.contains(from) {
                let is_view = self.object(from.0, ObjectKind::View, from.1)?.is_some();
                if is_view { views.push(*from) } else { first.push(*from) }
            }
            made.push(*to);
        }
        let (mut change, tables) = self.lock_tables(&first, true, context, first_missing)?;
        let mut found: BTreeMap<TableName<'_>, Renamed<'_>> = BTreeMap::new();
        for (name, table) in first.iter().zip(&tables) {
            found.insert(*name, Renamed::Table(Box::new((*table.def).clone()), table));
            change.remove(table)?;
            // Until it is renamed it is still there.
            change.tables.insert((name.0.to_string(), name.1.to_string()), Some(table.clone()));
        }
        for name in &views {
            // It may have gone since.
            let view = change.object(name.0, ObjectKind::View, name.1)?.ok_or_else(|| no_such_table(*name))?;
            found.insert(*name, Renamed::View(Box::new(view)));
        }
        for (from, to) in renames {
            let mut renamed = found.remove(from).ok_or_else(|| no_such_table(*from))?;
            change.leave_name(*from, &renamed)?;
            change.check_database(to.0)?;
            if change.is_taken(*to)? {
                return Err(table_exists(*to));
            }
            change.take_name(*to, &mut renamed)?;
            found.insert(*to, renamed);
        }
        change.commit_renamed(&views, found)
    }
}

impl Change<'_> {
    fn leave_name(&mut self, name: TableName<'_>, renamed: &Renamed<'_>) -> Result<()> {
        match renamed {
            Renamed::Table(..) => drop(self.tables.insert((name.0.to_string(), name.1.to_string()), None)),
            Renamed::View(_) => self.txn.meta_delete(&keys::object(name.0, ObjectKind::View, name.1))?,
        }
        Ok(())
    }

    fn take_name(&mut self, name: TableName<'_>, renamed: &mut Renamed<'_>) -> Result<()> {
        match renamed {
            Renamed::Table(def, old) => {
                if def.database != name.0 && !old.def.triggers.is_empty() {
                    return Err(Error::new(&errno::ER_TRG_IN_WRONG_SCHEMA, &[]));
                }
                (def.database, def.name) = (name.0.to_string(), name.1.to_string());
                self.tables.insert((name.0.to_string(), name.1.to_string()), Some(old.clone()));
            }
            Renamed::View(view) if view.database != name.0 => {
                return Err(Error::new(&errno::ER_FORBID_SCHEMA_CHANGE, &[&view.database, &name.0]));
            }
            Renamed::View(view) => {
                view.name = name.1.to_string();
                view.version = self.ids().next_schema_version();
                self.txn.meta_put(&keys::object(name.0, ObjectKind::View, name.1), &object::encode(view))?;
            }
        }
        Ok(())
    }

    /// `views`: the names that views had.
    fn commit_renamed(&mut self, views: &[TableName<'_>], found: BTreeMap<TableName<'_>, Renamed<'_>>) -> Result<()> {
        let (mut tables, mut named) = (Vec::new(), Vec::new());
        for renamed in found.into_values() {
            match renamed {
                Renamed::Table(def, old) => tables.push((*def, old.clone())),
                Renamed::View(view) => named.push(Arc::new(*view)),
            }
        }
        self.follow_renamed(&mut tables)?;
        for (def, old) in &tables {
            self.rename_triggers(&old.def, &def.qualified_name())?;
        }
        for (def, old) in tables {
            self.put(def, old.statistics())?;
            kill_point("ddl.renamed-one");
        }
        self.commit_with(|databases| {
            for (database, name) in views {
                if let Some(objects) = databases.get_mut(*database).and_then(|d| d.objects.as_mut()) {
                    objects.remove(&(ObjectKind::View, ObjectKind::View.key_of(name)));
                }
            }
            for view in named {
                if let Some(objects) = databases.get_mut(&view.database).and_then(|d| d.objects.as_mut()) {
                    objects.insert((ObjectKind::View, ObjectKind::View.key_of(&view.name)), view);
                }
            }
        })
    }
}
