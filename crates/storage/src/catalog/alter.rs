//! ALTER TABLE: a new definition, and the rows and entries that it needs.
//!
//! | change                                              | what happens                                 |
//! |-----------------------------------------------------|----------------------------------------------|
//! | names, defaults, comments, order; columns added, dropped or widened as `encoding::layout::instant_change` allows | one commit; rows are read through their old layout |
//! | indexes added                                       | their entries are built while others read and write (`online`) |
//! | foreign keys added                                  | rows are checked while others read and write (`validation`), else as below |
//! | partitions split, merged or made of another function | the rows of those that do not stay are copied (`partitions`) |
//! | anything else                                       | all rows are copied into new index ids, while others read (S lock) |
//!
//! Building and copying go in batches of their own transactions, or in sorted files (`copying`), into index ids that are on the drop
//! list (CAT-2). The commit that installs the definition, under an X lock, takes them off the list and puts the
//! replaced ones on it. So after a crash or an error at any point the old table is whole and the half-built
//! data is reclaimed.

use std::collections::HashSet;
use std::sync::Arc;

use vaquita_types::schema::{IndexId, TableDef, TableId};
use vaquita_types::{Error, Result, Value, errno};

use super::copying::{Copied, Writer};
use super::ddl::{DdlStatement, check_column_ids, order_indexes};
use super::partitions::forget_ids;
use super::progress::Stage;
use super::table::Table;
use super::validation::Validation;
use super::{Catalog, DdlContext, foreign_keys, internal_transaction};
use crate::base::kill_points::kill_point;
use crate::encoding::catalog::keys;
use crate::encoding::key::Entry;
use crate::encoding::layout::{add_layout, forget_added, instant_change, only_layout};
use crate::locks::LockMode;
use crate::txn::{Direction, Keep, Reads, ScanOptions, Transaction, Version};

/// What an ALTER does to the rows.
pub enum RowChange<'a> {
    /// Columns keep their values; added ones have `added_default`.
    Keep,
    /// Each row (in the order of the old columns) becomes the returned one (new columns); always a copy.
    Map(&'a mut dyn FnMut(Vec<Value>) -> Result<Vec<Value>>, Option<&'a dyn AloneMap>),
}

/// The same, where what a row becomes depends on that row alone: any thread asks, in any order.
pub trait AloneMap: Sync {
    /// May take values from the row, and writes the new one over that of another row, if there was one. False: there is something to say of the row,
    /// which takes its number.
    fn map(&self, row: &mut [Value], new: &mut Vec<Value>) -> Result<bool>;
}

/// What goes with an ALTER.
pub struct AlterContext<'a> {
    /// What the next AUTO_INCREMENT value shall be, if that changes; gets the new table, with its rows committed, before the
    /// definition is.
    pub auto_increment: &'a dyn Fn(&Table) -> Result<Option<u64>>,
    /// S or X: keeps writers, or all others, out from the first row to the last, although it need not be.
    pub lock: Option<LockMode>,
    /// Foreign keys are added: what rows must fulfil.
    pub validation: Option<&'a dyn Validation>,
    /// The number of the partition of a row of the new definition, if that is partitioned.
    pub partition: Option<&'a dyn Fn(&[Value]) -> Result<usize>>,
    pub ddl: &'a DdlContext,
}

/// What the ways of an ALTER share.
pub(super) struct Alter<'a> {
    /// Rows stay as they are.
    pub instant: bool,
    pub built: &'a [IndexId],
    /// Parents, and children that follow other names.
    pub related: &'a [Arc<Table>],
    pub context: &'a AlterContext<'a>,
}

impl<'a> Alter<'a> {
    /// The same with other handles of the related tables.
    pub fn of<'r>(&'r self, related: &'r [Arc<Table>]) -> Alter<'r>
    where
        'a: 'r,
    {
        Alter { instant: self.instant, built: self.built, related, context: self.context }
    }
}

impl Catalog {
    /// Replaces the definition of `old` by `new`, which may also have another name. Columns and indexes
    /// that stay keep their ids; new columns take theirs from `next_column_id`, new indexes have id 0.
    /// Returns the new table and the number of rows copied (0 if none had to be). Error 1412 if `old`
    /// is not the current handle; 1062 if a new unique key has duplicates.
    pub fn alter_table(
        &self,
        old: &Arc<Table>,
        new: TableDef,
        rows: RowChange<'_>,
        context: &DdlContext,
    ) -> Result<(Arc<Table>, u64)> {
        self.alter_table_with(
            old,
            new,
            rows,
            &AlterContext { auto_increment: &|_| Ok(None), lock: None, validation: None, partition: None, ddl: context },
        )
    }

    /// As `alter_table`.
    pub fn alter_table_with(
        &self,
        old: &Arc<Table>,
        mut new: TableDef,
        rows: RowChange<'_>,
        context: &AlterContext<'_>,
    ) -> Result<(Arc<Table>, u64)> {
        let name = old.def.qualified_name();
        let after = new.clone();
        foreign_keys::follow_parent(&mut new, &old.def, &after);
        if new.qualified_name() != name {
            let to = new.qualified_name();
            foreign_keys::rename_own_constraints(&mut new, &name, &to, true)?;
        }
        let mut related = self.relatives([&*old.def, &new].into_iter(), foreign_keys::changes_names(&old.def, &new))?;
        related.retain(|table| table.def.id != old.def.id);
        related.sort_by_key(|table| table.def.id);
        let mut statement = DdlStatement::new(self, context.ddl);
        if !statement.begin(&[std::slice::from_ref(old), &related].concat(), context.ddl)? {
            return Err(Error::new(&errno::ER_TABLE_DEF_CHANGED, &[]));
        }
        let instant = prepare(&old.def, &mut new, &rows)?;
        let built = self.start_build(&mut new)?;
        let change = Alter { instant, built: &built, related: &related, context };
        // The snapshot in which rows are checked lacks the entries of an index that is built now.
        let refers_to_built = !built.is_empty() && new.foreign_keys.iter().any(|key| key.parent == new.qualified_name());
        // Writers beside an online build claim one entry of a row.
        let many = new.indexes.iter().any(|index| index.multi_valued && built.contains(&index.id));
        let result = match (instant, context.lock) {
            (true, None)
                if !refers_to_built
                    && !many
                    && let Some(validation) = context.validation =>
            {
                self.alter_validated(statement, old, new, &change, validation)
            }
            _ if context.validation.is_some() => self.alter_under_lock(statement, old, new, rows, &change),
            (true, _) if built.is_empty() => self.alter_instantly(statement, old, new, &change),
            // Writers note and keep entries of one index, not of one for each partition.
            (true, None) if new.partitioning.is_none() && !many => self.alter_online(statement, old, new, &change),
            _ => self.alter_under_lock(statement, old, new, rows, &change),
        };
        self.ddl.lock().building.retain(|id| !built.contains(id));
        kill_point("alter.finished");
        // Either the replaced indexes or the half-built ones are to be deleted.
        self.reclaim.notify();
        result
    }

    fn alter_instantly(
        &self,
        mut statement: DdlStatement<'_>,
        old: &Arc<Table>,
        new: TableDef,
        change: &Alter<'_>,
    ) -> Result<(Arc<Table>, u64)> {
        statement.lock_table(old.def.id, LockMode::X, change.context.ddl)?;
        kill_point("ddl.locked");
        Ok((install(statement, old, new, change)?, 0))
    }

    fn alter_online(
        &self,
        mut statement: DdlStatement<'_>,
        old: &Arc<Table>,
        new: TableDef,
        change: &Alter<'_>,
    ) -> Result<(Arc<Table>, u64)> {
        let handle = self.build_online(&mut statement, old, &new, change.built, change.context.ddl)?;
        kill_point("alter.built");
        // Other DDL must not come between a statement that fails and the withdrawal of its handle.
        let _guard = statement.keep_guard();
        match install(statement, &handle, new, change) {
            Ok(table) => Ok((table, 0)),
            Err(error) => {
                self.withdraw(&handle, change.built)?;
                Err(error)
            }
        }
    }

    /// Copies rows, or builds indexes while writers are to be kept out.
    fn alter_under_lock(
        &self,
        mut statement: DdlStatement<'_>,
        old: &Arc<Table>,
        mut new: TableDef,
        rows: RowChange<'_>,
        change: &Alter<'_>,
    ) -> Result<(Arc<Table>, u64)> {
        let context = change.context.ddl;
        statement.lock_table(old.def.id, change.context.lock.unwrap_or(LockMode::S), context)?;
        if change.context.validation.is_some() {
            change.related.iter().try_for_each(|table| statement.lock_table(table.def.id, LockMode::S, context))?;
        }
        let expected = old.row_count(&self.transaction())?;
        let stage = if change.instant { Stage::ReadingRows } else { Stage::CopyingRows };
        context.progress.start_rows(stage, expected);
        let (copied, counted) = match old.def.partitioning.is_some() || new.partitioning.is_some() {
            true => self.build_partitions(old, &new, change, rows)?,
            false => (self.build(old, &mut new, change.built, change.instant, rows, context)?, Vec::new()),
        };
        if let Some(validation) = change.context.validation {
            validation.all(&self.transaction(), Version::Latest, &Table::new(Arc::new(new.clone()))?)?;
            kill_point("alter.validated");
        }
        context.progress.enter(Stage::WaitingToCommit);
        statement.lock_table(old.def.id, LockMode::X, context)?;
        counted.into_iter().for_each(|(id, rows)| statement.txn.add_rows(id, rows));
        Ok((install(statement, old, new, change)?, copied))
    }

    /// Gives ids to the new indexes and makes it durable that they are not a table's yet.
    fn start_build(&self, new: &mut TableDef) -> Result<Vec<IndexId>> {
        let mut built = Vec::new();
        let mut ddl = self.ddl.lock();
        let mut txn = self.transaction();
        for index in new.indexes.iter_mut().filter(|i| i.id == IndexId(0)) {
            index.id = ddl.ids.next_index()?;
            built.push(index.id);
            txn.meta_put(&keys::dropped(index.id), &[])?;
        }
        if let Some(by) = new.partitioning_mut() {
            for partition in &mut by.partitions {
                if partition.id == TableId(0) {
                    partition.id = ddl.ids.next_table()?;
                }
                for id in partition.indexes.iter_mut().filter(|id| **id == IndexId(0)) {
                    *id = ddl.ids.next_index()?;
                    built.push(*id);
                    txn.meta_put(&keys::dropped(*id), &[])?;
                }
            }
        }
        if !built.is_empty() {
            txn.meta_put(keys::IDS, &ddl.ids.encode())?;
            txn.commit_wait()?;
            ddl.building.extend(&built);
            kill_point("alter.listed");
        }
        Ok(built)
    }

    /// Fills the new indexes from the old rows.
    pub(super) fn build(
        &self,
        old: &Arc<Table>,
        new: &mut TableDef,
        built: &[IndexId],
        instant: bool,
        rows: RowChange<'_>,
        context: &DdlContext,
    ) -> Result<u64> {
        if built.is_empty() {
            return Ok(0);
        }
        let kept = KeptColumns::of(&old.def, new);
        let mut keep_each = |row| kept.row(row);
        let (map, alone): (&mut dyn FnMut(Vec<Value>) -> Result<Vec<Value>>, Option<&dyn AloneMap>) = match rows {
            RowChange::Keep => (&mut keep_each, Some(&kept)),
            RowChange::Map(map, alone) => (map, alone),
        };
        let target = Table::new(Arc::new(new.clone()))?;
        let fill: Vec<usize> = (0..new.indexes.len()).filter(|n| built.contains(&new.indexes[*n].id)).collect();
        let mut read = internal_transaction(&self.store, Arc::clone(&context.interrupt));
        read.begin_statement(Reads::Many);
        let expected = old.row_count(&self.transaction())?;
        let mut writer = Writer::begin(self, context, expected)?;
        // New row ids ascend with the old keys.
        let alone = alone.filter(|_| old.def.hidden_rowid || !new.hidden_rowid);
        let in_parts = match (&mut writer, alone) {
            (Writer::Sorted(sorted), Some(alone)) => {
                sorted.copy_in_parts(&Copied { old, new: &target, fill: &fill }, &mut read, alone)?
            }
            _ => None,
        };
        let copied = match in_parts {
            Some(copied) => copied,
            None => {
                context.progress.restart_rows();
                let options =
                    ScanOptions { keep: Keep::Nothing, spans: false, version: Version::Snapshot, ..ScanOptions::default() };
                let mut cursor = read.scan(old.codec.clustered().all(), Direction::Forward, options)?;
                let mut copied = 0;
                while let Some((key, value)) = cursor.next(&read)? {
                    let kept_id = if new.hidden_rowid { old.codec.clustered().row_id(Entry { key, value }) } else { Some(0) };
                    let row = map(old.codec.decode_row(key, value)?)?;
                    writer.add(&target, &row, kept_id, &fill, value.len())?;
                    context.progress.add_rows(1);
                    copied += 1;
                }
                copied
            }
        };
        writer.finish(&target, &|key| row_in_snapshot(old, &read, key)?.map(|row| kept.row(row)).transpose())?;
        if !instant {
            forget_added(new);
        }
        Ok(if instant { 0 } else { copied })
    }
}

/// A row of the old columns, by its clustered key.
pub(super) fn row_in_snapshot(old: &Table, read: &Transaction, key: &[u8]) -> Result<Option<Vec<Value>>> {
    let (mut value, mut row) = (Vec::new(), None);
    if read.get(key, Version::Snapshot, &mut value)? {
        old.for_each_stored(|part| {
            if part.codec.clustered().all().contains(key) {
                row = Some(part.codec.decode_row(key, &value)?);
            }
            Ok(())
        })?;
    }
    Ok(row)
}

/// Completes the definition that replaces `old`; indexes that are to be built have id 0. True: the rows stay as they are.
pub(super) fn prepare(old: &TableDef, new: &mut TableDef, rows: &RowChange<'_>) -> Result<bool> {
    (new.id, new.created_us) = (old.id, old.created_us);
    order_indexes(new);
    check_column_ids(new)?;
    new.layouts = old.layouts.clone();
    let keeps_rows = matches!(rows, RowChange::Keep) && instant_change(old, new)?;
    let ids = |def: &TableDef| def.partitions().iter().map(|p| p.id).collect::<Vec<TableId>>();
    let instant = keeps_rows && old.partitioning.is_some() == new.partitioning.is_some() && ids(old) == ids(new);
    if keeps_rows && old.partitioning.is_some() && new.partitioning.is_some() {
        // Partitions that stay are as they are; only rows of the others move.
        add_layout(new);
        follow_indexes(old, new);
    } else if instant {
        add_layout(new);
    } else {
        forget_ids(new);
        follow_indexes(old, new);
        only_layout(new);
        new.indexes.iter_mut().for_each(|i| i.id = IndexId(0));
    }
    Ok(instant)
}

/// The partitions keep their indexes, in the order of the table's.
fn follow_indexes(old: &TableDef, new: &mut TableDef) {
    let places: Vec<Option<usize>> = new.indexes.iter().map(|i| old.indexes.iter().position(|b| b.id == i.id)).collect();
    let Some(by) = new.partitioning_mut() else { return };
    for partition in &mut by.partitions {
        let before = std::mem::take(&mut partition.indexes);
        let kept = |place: &Option<usize>| place.and_then(|at| before.get(at).copied()).unwrap_or(IndexId(0));
        partition.indexes = places.iter().map(kept).collect();
    }
}

/// The row of the new columns from that of the old ones, where columns keep their values.
pub(super) struct KeptColumns {
    /// The old position, or what an added column has.
    sources: Vec<(Option<usize>, Value)>,
}

impl KeptColumns {
    pub fn of(old: &TableDef, new: &TableDef) -> KeptColumns {
        KeptColumns { sources: new.columns.iter().map(|c| (old.position_of(c.id), c.added_default.clone())).collect() }
    }

    pub fn row(&self, mut row: Vec<Value>) -> Result<Vec<Value>> {
        let mut new = Vec::new();
        self.map(&mut row, &mut new)?;
        Ok(new)
    }
}

impl AloneMap for KeptColumns {
    fn map(&self, row: &mut [Value], new: &mut Vec<Value>) -> Result<bool> {
        new.resize(self.sources.len(), Value::Null);
        for ((position, default), to) in self.sources.iter().zip(new) {
            match position {
                // The other row's value stays, for its memory.
                Some(at) => std::mem::swap(row.get_mut(*at).ok_or_else(|| Error::internal("short row"))?, to),
                None => to.clone_from(default),
            }
        }
        Ok(true)
    }
}

/// The commit that replaces the definition.
pub(super) fn install(mut statement: DdlStatement<'_>, old: &Arc<Table>, new: TableDef, alter: &Alter<'_>) -> Result<Arc<Table>> {
    alter.related.iter().try_for_each(|table| statement.lock_table(table.def.id, LockMode::X, alter.context.ddl))?;
    alter.context.ddl.progress.enter(Stage::Committing);
    let mut change = statement.change();
    change.related = alter.related.to_vec();
    let renamed = (&new.database, &new.name) != (&old.def.database, &old.def.name);
    if renamed {
        change.check_database(&new.database)?;
        if change.is_taken((&new.database, &new.name))? {
            return Err(Error::new(&errno::ER_TABLE_EXISTS_ERROR, &[&new.name]));
        }
        change.rename_triggers(&old.def, &new.qualified_name())?;
        change.remove(old)?;
    } else {
        change.unrelate(&old.def)?;
        change.retire(old);
    }
    for id in alter.built {
        change.txn.meta_delete(&keys::dropped(*id))?;
    }
    kill_point("alter.unlisted");
    let kept: HashSet<TableId> = new.counter_ids().collect();
    old.def.counter_ids().filter(|id| !kept.contains(id)).for_each(|id| change.txn.drop_counters(id));
    let kept: HashSet<IndexId> = new.index_ids().collect();
    old.def.index_ids().filter(|id| !kept.contains(id)).try_for_each(|id| change.drop_index(id))?;
    for child in alter.related {
        let mut def = (*child.def).clone();
        if foreign_keys::changes_names(&old.def, &new) && foreign_keys::follow_parent(&mut def, &old.def, &new) {
            change.replace(child, def)?;
        }
    }
    let table = change.put(new, old.statistics())?;
    if let Some(next) = (alter.context.auto_increment)(&table)? {
        change.txn.set_auto_increment(table.def.id, next)?;
        kill_point("alter.auto-increment");
    }
    change.commit()?;
    kill_point("alter.installed");
    Ok(table)
}
