//! ALTER TABLE, CREATE INDEX, DROP INDEX.
//!
//! 1. `actions::Edit` applies the actions to a copy of the definition, with MySQL's checks.
//! 2. `algorithm` says whether it can be done by the ALGORITHM and under the LOCK that were given.
//! 3. If storage can keep the rows (`layout::instant_change`), they stay as they are and only new indexes are
//!    built; otherwise they are copied, through `convert::RowMap` if a column's values change.
//! 4. The catalog builds and installs it in one commit; if another statement changed the table meanwhile, all
//!    begins again.
//! 5. The AUTO_INCREMENT counter follows.

use std::sync::Arc;

use vaquita_parser::ast::{self, AlterAction, AlterTable, PartitionAction};
use vaquita_plan::env::Level;
use vaquita_storage::layout::instant_change;
use vaquita_storage::{AloneMap, AlterContext, Direction, Entry, RowChange, ScanOptions, Table, Validation, Version};
use vaquita_types::errno::{
    ER_BAD_DB_ERROR, ER_DUP_ENTRY, ER_ILLEGAL_HA, ER_NO_SUCH_TABLE, ER_PARTITION_MGMT_ON_NONPARTITIONED, ER_UNKNOWN_ERROR,
};
use vaquita_types::schema::{ColumnDef, ColumnDefault, ForeignKeyDef, IndexDef, IndexKind, IndexPart, TableDef};
use vaquita_types::{Error, Result, Value};

use super::actions::Edit;
use super::algorithm::Way;
use super::conversion::in_place;
use super::convert::RowMap;
use super::foreign_keys::AddedKeys;
use super::temporary::refuse_in_alter;
use super::{Ddl, Outcome};

impl Ddl<'_> {
    pub fn create_index(&self, create: &ast::CreateIndex) -> Result<Outcome> {
        self.alter_table(&AlterTable {
            name: create.table.clone(),
            actions: vec![AlterAction::AddIndex(create.index.clone())],
            algorithm: create.algorithm.clone(),
            lock: create.lock.clone(),
            validation: None,
        })
    }

    pub fn drop_index(
        &self,
        name: &str,
        table: &ast::Name,
        algorithm: &Option<String>,
        lock: &Option<String>,
    ) -> Result<Outcome> {
        self.alter_table(&AlterTable {
            name: table.clone(),
            actions: vec![AlterAction::DropIndex(name.to_string())],
            algorithm: algorithm.clone(),
            lock: lock.clone(),
            validation: None,
        })
    }

    pub fn alter_table(&self, alter: &AlterTable) -> Result<Outcome> {
        let way = Way::of(alter)?;
        if let [AlterAction::Partition(PartitionAction::Exchange { partition, table, validation })] = alter.actions.as_slice() {
            return self.retrying(|| self.exchange_partition(&alter.name, partition, table, *validation));
        }
        self.retrying(|| {
            let old = self.table(&alter.name).map_err(|error| self.without_database(&alter.name, error))?;
            refuse_in_alter(alter, way.algorithm, &old)?;
            if let [AlterAction::Partition(action)] = alter.actions.as_slice()
                && *action != PartitionAction::Remove
            {
                return self.alter_partitions(alter, way, action, &old);
            }
            self.alter_once(alter, way, &old)
        })
    }

    /// That the table is missing, or its database.
    fn without_database(&self, name: &ast::Name, error: Error) -> Error {
        let Ok(database) = self.database_of(name) else { return error };
        match self.catalog.database(database) {
            Ok(None) if error.is(&ER_NO_SUCH_TABLE) => Error::new(&ER_BAD_DB_ERROR, &[&database]),
            _ => error,
        }
    }

    fn alter_once(&self, alter: &AlterTable, way: Way, old: &Arc<Table>) -> Result<Outcome> {
        let mut edit = Edit::new(self, &old.def);
        edit.apply(&alter.actions)?;
        let auto_increment = edit.auto_increment;
        let mut new = edit.def;
        let repartitions = self.repartition(alter, &old.def, &mut new)?;
        if old.def.has_foreign_keys() {
            self.check_needed(&old.def, &new)?;
        }
        let redivides = !repartitions && self.check_partitioned(&old.def, &mut new)?;
        let is_added = |key: &&ForeignKeyDef| !old.def.foreign_keys.contains(key);
        let added: Vec<ForeignKeyDef> = new.foreign_keys.iter().filter(is_added).cloned().collect();
        if !alter.actions.iter().all(is_simple) {
            self.check_key_left(&old.def, &new)?;
        }
        let checked = self.context.foreign_keys.checks && !added.is_empty();
        let temporary_rows = self.rows_of_temporary(old)?;
        if alter.actions.is_empty() && temporary_rows.is_none() {
            return Ok(Outcome::affected(0));
        }
        let instant = instant_change(&old.def, &new)?;
        let rows = old.row_count(&self.transaction())?;
        let mut map = RowMap::new(self, &old.def, &new, auto_increment, rows > 0)?;
        if alter.validation == Some(true) {
            map.compute_virtual();
        }
        // Rows are written anew where some are in an older layout, so that EXCHANGE PARTITION takes them.
        let rewrites = old.def.layouts.len() > 1 && alter.actions.iter().any(|action| matches!(action, AlterAction::Force));
        let keep = !map.makes_values() && !map.validates() && (instant || !map.converts()) && !rewrites;
        if temporary_rows.is_none() {
            way.check(alter, &old.def, &new, instant && keep && !repartitions && !redivides)?;
            way.check_foreign_keys(
                !added.is_empty(),
                old.def.foreign_keys != new.foreign_keys,
                self.context.foreign_keys.checks,
            )?;
        }
        let first_key = new.indexes.first().filter(|_| map.renumbers()).map(|index| format!("'{}.{}'", new.name, index.name));
        let new_auto = new.auto_increment_column().and_then(|at| new.columns.get(at)).cloned();
        let old_auto = old.def.auto_increment_column().and_then(|at| old.def.columns.get(at));
        let alone = map.alone();
        let alone = alone.as_ref().map(|alone| alone as &dyn AloneMap);
        let mut convert = |row: Vec<Value>| map.map(row);
        let change = if keep { RowChange::Keep } else { RowChange::Map(&mut convert, alone) };
        let restarts = new_auto.is_some_and(|column| {
            auto_increment.is_some() || old_auto.is_none_or(|before| before.id != column.id || before.ty != column.ty)
        });
        let next = |table: &Table| {
            let used = if restarts { self.auto_increment_used(table)? } else { return Ok(None) };
            Ok(Some(auto_increment.unwrap_or(1).max(used.saturating_add(1))))
        };
        let (table, copied) = match temporary_rows {
            Some(_) => {
                let altered = self.catalog.alter_temporary(old, new, change, &self.context);
                let (table, copied) = altered.map_err(|error| resequenced(error, first_key.as_deref()))?;
                if let Some(next) = next(&table)? {
                    let mut txn = self.transaction();
                    txn.set_auto_increment(table.def.id, next)?;
                    txn.commit_wait()?;
                }
                (table, copied)
            }
            None => {
                let added = AddedKeys { ddl: self, keys: &added };
                let validation = checked.then_some(&added as &dyn Validation);
                let partition = self.partition_of_rows(&new)?;
                let context = AlterContext {
                    auto_increment: &next,
                    lock: way.table_lock(),
                    validation,
                    partition: Some(&*partition),
                    ddl: &self.context,
                };
                let altered = self.catalog.alter_table_with(old, new, change, &context);
                altered.map_err(|error| resequenced(error, first_key.as_deref()))?
            }
        };
        let simple = alter.actions.iter().all(is_simple);
        if alter.actions.iter().any(|a| matches!(a, AlterAction::OrderBy(_)))
            && table.def.options.engine.eq_ignore_ascii_case("InnoDB")
            && clustered_key(&table.def).is_some()
        {
            let text = format!("ORDER BY ignored as there is a user-defined clustered index in the table '{}'", table.def.name);
            self.session.warn(Level::Warning, Error::with_message(&ER_UNKNOWN_ERROR, text));
        }
        let of_my_isam = table.def.options.engine.eq_ignore_ascii_case("MyISAM");
        let keys = |a: &AlterAction| matches!(a, AlterAction::EnableKeys | AlterAction::DisableKeys);
        if simple && !of_my_isam && alter.actions.iter().any(keys) {
            self.session.warn(Level::Note, Error::new(&ER_ILLEGAL_HA, &[&table.def.name]));
        }
        if let Some(rows) = temporary_rows {
            return Ok(Outcome::records(rows, self.session.warning_count()));
        }
        if simple {
            return Ok(Outcome::affected(0));
        }
        let says = checked || repartitions || redivides || says_copied(&old.def, &table.def, alter);
        let records = if says { rows.max(copied) } else { 0 };
        Ok(Outcome::records(records, self.session.warning_count()))
    }

    /// PARTITION BY and REMOVE PARTITIONING; whether the statement has one of them.
    fn repartition(&self, alter: &AlterTable, old: &TableDef, new: &mut TableDef) -> Result<bool> {
        for action in &alter.actions {
            match action {
                AlterAction::PartitionBy(by) => {
                    new.partitioning = None;
                    self.partition(by, true, new)?;
                    return Ok(true);
                }
                AlterAction::Partition(_) if !old.is_partitioned() => {
                    return Err(Error::new(&ER_PARTITION_MGMT_ON_NONPARTITIONED, &[]));
                }
                AlterAction::Partition(PartitionAction::Remove) => {
                    new.partitioning = None;
                    return Ok(true);
                }
                _ => {}
            }
        }
        Ok(false)
    }

    /// The highest value of the AUTO_INCREMENT column in the table.
    fn auto_increment_used(&self, table: &Table) -> Result<u64> {
        let Some(column) = table.def.auto_increment_column().and_then(|at| table.def.columns.get(at)) else { return Ok(0) };
        let leads =
            |(_, index): &(usize, &vaquita_types::schema::IndexDef)| index.parts.first().is_some_and(|p| p.column == column.id);
        let Some((at, index)) = table.def.indexes.iter().enumerate().find(leads) else { return Ok(0) };
        let descending = index.parts.first().is_some_and(|p| p.descending);
        let direction = if descending { Direction::Forward } else { Direction::Backward };
        let txn = self.transaction();
        let mut used = 0;
        table.for_each_stored(|part| {
            let Some(codec) = part.codec.indexes().get(at) else { return Ok(()) };
            let mut cursor =
                txn.scan(codec.all(), direction, ScanOptions { version: Version::Latest, ..ScanOptions::default() })?;
            let Some((key, value)) = cursor.next(&txn)? else { return Ok(()) };
            let last = codec.part_value(0, Entry { key, value })?.map(|v| v.to_value()).transpose()?;
            used = used.max(match last {
                Some(Value::Int(i)) => u64::try_from(i).unwrap_or(0),
                Some(Value::UInt(u)) => u,
                Some(Value::Float(f)) => f as u64,
                _ => 0,
            });
            Ok(())
        })?;
        Ok(used)
    }
}

/// Error 1062 as it is told where numbers of a column that becomes AUTO_INCREMENT are there twice.
fn resequenced(error: Error, first_key: Option<&str>) -> Error {
    let is_it = |key: &str| error.is(&ER_DUP_ENTRY) && error.message().ends_with(key);
    match error.message().strip_prefix("Duplicate entry ").filter(|_| first_key.is_some_and(is_it)) {
        Some(rest) => {
            let text = format!("ALTER TABLE causes auto_increment resequencing, resulting in duplicate entry {rest}");
            Error::with_message(&ER_DUP_ENTRY, text)
        }
        None => error,
    }
}

/// Actions after which MySQL does not say how many records there were.
fn is_simple(action: &AlterAction) -> bool {
    matches!(action, AlterAction::RenameTo(_) | AlterAction::EnableKeys | AlterAction::DisableKeys)
}

/// The primary key, or the first unique key of whole columns that are not NULL, which stands for one.
fn clustered_key(table: &TableDef) -> Option<&IndexDef> {
    let nullable = |part: &IndexPart| table.columns.iter().any(|column| column.id == part.column && column.nullable);
    let is_whole = |part: &IndexPart| part.prefix.is_none() && !nullable(part);
    let stands = |index: &&IndexDef| index.kind == IndexKind::Unique && index.parts.iter().all(is_whole);
    table.primary_key().or_else(|| table.indexes.iter().find(stands))
}

/// Whether MySQL would have copied the table and so count its rows, which clients and their tests look at; what
/// really happened here may be less.
fn says_copied(old: &TableDef, new: &TableDef, alter: &AlterTable) -> bool {
    let retyped = |c: &ColumnDef| {
        let changes = |before: &ColumnDef| !in_place(&before.ty, &c.ty) || before.auto_increment != c.auto_increment;
        old.columns.iter().any(|before| before.id == c.id && changes(before))
    };
    let with_check = |column: &ast::ColumnDef| {
        column.attributes.iter().any(|attribute| matches!(attribute, ast::ColumnAttribute::Check(check) if check.enforced))
    };
    let validates = |a: &AlterAction| match a {
        AlterAction::AddColumn { column, .. } | AlterAction::ModifyColumn { column, .. } => with_check(column),
        AlterAction::ChangeColumn { column, .. } => with_check(column),
        AlterAction::AddCheck(check) => check.enforced,
        AlterAction::AlterCheck { enforced, .. } | AlterAction::AlterConstraint { enforced, .. } => *enforced,
        AlterAction::OrderBy(_) => true,
        _ => false,
    };
    let computed =
        |c: &ColumnDef| matches!(c.default, ColumnDefault::Expr(_)) && !old.columns.iter().any(|before| before.id == c.id);
    let generated = |c: &ColumnDef| {
        let before = old.columns.iter().find(|before| before.id == c.id);
        let before = before.and_then(|before| before.generated.as_ref());
        before != c.generated.as_ref() && before.into_iter().chain(&c.generated).any(|generated| generated.stored)
    };
    let loses = |key: &IndexDef| new.primary_key().is_none() && new.index_named(&key.name).is_none();
    let copies = alter.algorithm.as_deref().is_some_and(|algorithm| algorithm.eq_ignore_ascii_case("COPY"));
    copies
        || old.options.engine != new.options.engine
        || new.columns.iter().any(|c| retyped(c) || computed(c) || generated(c))
        || clustered_key(old).is_some_and(loses)
        || alter.actions.iter().any(validates)
}
