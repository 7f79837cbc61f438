//! Triggers in the catalog: stored objects that name their table.
//!
//! A handle of a table has its triggers in the order in which they run. Example: `CREATE TRIGGER g … ON t` is one commit of the object g and
//! of a new handle of t, whose plans are made again.
//!
//! * TRIG-1: `TableDef::triggers` of a handle is what the objects of its database say: who changes them replaces the table's handle,
//!   under an X lock of it. So a transaction with a lock of the table knows its triggers until it ends.
//! * TRIG-2: a trigger's table exists: it goes with it, and gets its name when that changes.

use std::sync::Arc;

use vaquita_types::schema::{ObjectKind, QualifiedName, StoredObject, TableDef, Trigger, TriggerEvent, TriggerTime};
use vaquita_types::{Error, Result, errno};

use super::ddl::{Change, first_missing};
use super::table::Table;
use super::{Catalog, DdlContext, damaged};
use crate::base::clock::now_us;
use crate::base::kill_points::kill_point;
use crate::encoding::KeyRange;
use crate::encoding::catalog::{keys, object};
use crate::txn::Transaction;

/// Where a new trigger comes among those of the same event and time.
#[derive(Clone, Copy, Debug)]
pub enum TriggerPlace<'a> {
    Last,
    Follows(&'a str),
    Precedes(&'a str),
}

/// The triggers of a name, in the order in which they run.
pub(super) fn triggers_of(txn: &Transaction, table: &QualifiedName) -> Result<Vec<Trigger>> {
    let records = txn.meta_scan(KeyRange::prefix(&keys::object(&table.database, ObjectKind::Trigger, "")))?;
    let mut triggers = Vec::new();
    for (_, bytes) in records {
        let broken = || damaged(format_args!("a trigger of database {}", table.database));
        let object = Arc::new(object::decode(&bytes).ok_or_else(broken)?);
        if Trigger::table_of(&object) == table.name {
            triggers.push(Trigger::of(&object).ok_or_else(broken)?);
        }
    }
    Trigger::sort(&mut triggers);
    Ok(triggers)
}

/// A trigger with another place, or of a table with another name.
fn with(trigger: &Trigger, characteristic: &str, value: String) -> StoredObject {
    let mut object = (*trigger.object).clone();
    object.set_characteristic(characteristic, Some(value));
    object
}

impl Catalog {
    /// Stores a new trigger, which says its table, event and time. Version, times and place are given here. `None`: the database has a
    /// trigger of that name. Errors 1146 and 3011.
    pub fn create_trigger(
        &self,
        new: StoredObject,
        (event, time): (TriggerEvent, TriggerTime),
        place: TriggerPlace<'_>,
        context: &DdlContext,
    ) -> Result<Option<Arc<StoredObject>>> {
        let name = Trigger::table_of(&new).to_string();
        let (mut change, tables) = self.lock_tables(&[(&new.database, &name)], false, context, first_missing)?;
        let table = tables.first().ok_or_else(|| Error::internal("no table was locked"))?;
        if change.object(&new.database, ObjectKind::Trigger, &new.name)?.is_some() {
            return Ok(None);
        }
        let beside: Vec<&Trigger> = table.def.triggers_at(event, time).collect();
        let position = |other: &str| {
            let key = ObjectKind::Trigger.key_of(other);
            let at = beside.iter().position(|trigger| ObjectKind::Trigger.key_of(&trigger.object.name) == key);
            at.ok_or_else(|| Error::new(&errno::ER_REFERENCED_TRG_DOES_NOT_EXIST, &[&other]))
        };
        let at = match place {
            TriggerPlace::Last => beside.len(),
            TriggerPlace::Follows(other) => position(other)? + 1,
            TriggerPlace::Precedes(other) => position(other)?,
        };
        for (n, trigger) in beside.iter().enumerate() {
            let order = n + 1 + usize::from(n >= at);
            if trigger.order as usize != order {
                change.write_object(with(trigger, "order", order.to_string()))?;
            }
        }
        let now = now_us();
        let mut new = StoredObject { created_us: now, altered_us: now, ..new };
        new.set_characteristic("order", Some((at + 1).to_string()));
        let made = change.write_object(new)?;
        kill_point("trigger.written");
        change.renew(table)?;
        change.commit()?;
        Ok(Some(made))
    }

    /// False: there is none.
    pub fn drop_trigger(&self, database: &str, name: &str, context: &DdlContext) -> Result<bool> {
        loop {
            let Some(found) = self.object(database, ObjectKind::Trigger, name)? else { return Ok(false) };
            let table = Trigger::table_of(&found).to_string();
            let locked = self.lock_tables(&[(database, &table)], false, context, first_missing);
            let (mut change, tables) = match locked {
                // It got another name, or has gone.
                Err(error) if error.is(&errno::ER_NO_SUCH_TABLE) => {
                    context.interrupt.check()?;
                    match self.object(database, ObjectKind::Trigger, name)? {
                        Some(now) if Trigger::table_of(&now) == table => return Err(error),
                        _ => continue,
                    }
                }
                locked => locked?,
            };
            let now = change.object(database, ObjectKind::Trigger, name)?;
            let Some(now) = now else { return Ok(false) };
            if Trigger::table_of(&now) != table {
                continue;
            }
            change.remove_object((database, ObjectKind::Trigger, name))?;
            kill_point("trigger.removed");
            tables.iter().try_for_each(|table| change.renew(table))?;
            change.commit()?;
            return Ok(true);
        }
    }
}

impl Change<'_> {
    /// Writes an object with a new version; the cache has it after the commit.
    pub(super) fn write_object(&mut self, mut object: StoredObject) -> Result<Arc<StoredObject>> {
        object.version = self.ids().next_schema_version();
        let key = (object.kind, object.kind.key_of(&object.name));
        self.txn.meta_put(&keys::object(&object.database, key.0, &key.1), &object::encode(&object))?;
        let object = Arc::new(object);
        self.objects.push((object.database.clone(), key, Some(object.clone())));
        Ok(object)
    }

    /// Removes an object; the cache loses it after the commit.
    pub(super) fn remove_object(&mut self, (database, kind, name): (&str, ObjectKind, &str)) -> Result<()> {
        let key = (kind, kind.key_of(name));
        self.txn.meta_delete(&keys::object(database, kind, &key.1))?;
        self.objects.push((database.to_string(), key, None));
        Ok(())
    }

    /// A new handle of a table whose triggers have changed (TRIG-1).
    fn renew(&mut self, table: &Arc<Table>) -> Result<()> {
        self.retire(table);
        self.store((*table.def).clone(), table.statistics()).map(drop)
    }

    /// The table goes, and its triggers with it (TRIG-2).
    pub(super) fn drop_triggers(&mut self, table: &TableDef) -> Result<()> {
        let names = table.triggers.iter().map(|trigger| (&trigger.object.database, &trigger.object.name));
        names.into_iter().try_for_each(|(database, name)| self.remove_object((database, ObjectKind::Trigger, name)))
    }

    /// The table gets another name (TRIG-2). Error 1435 in another database.
    pub(super) fn rename_triggers(&mut self, table: &TableDef, to: &QualifiedName) -> Result<()> {
        if !table.triggers.is_empty() && table.database != to.database {
            return Err(Error::new(&errno::ER_TRG_IN_WRONG_SCHEMA, &[]));
        }
        for trigger in &table.triggers {
            self.write_object(with(trigger, "table", to.name.clone()))?;
        }
        Ok(())
    }
}
