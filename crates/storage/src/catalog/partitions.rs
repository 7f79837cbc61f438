//! The partitions of a table: each is a `Table` of its own, with ids of its own, which is made when it is first used.
//!
//! PART-1: no key is written under the index ids of a partitioned table itself; whoever reads or changes rows has a partition in hand.
//! PART-2: a row is in the partition that its values say. `exec` knows which; storage takes its word, also where EXCHANGE PARTITION
//! WITHOUT VALIDATION has it from the user: then a pruned scan does not find the row, and nothing else is wrong.
//!
//! What DDL does to whole partitions is one commit of the catalog, as it is for tables: new ids for what is to be empty, and what goes
//! is on the drop list.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use vaquita_types::schema::{IndexId, TableDef, TableId};
use vaquita_types::{Error, Result, Value, errno};

use super::alter::{Alter, KeptColumns, RowChange, row_in_snapshot};
use super::copying::Writer;
use super::ddl::{Change, DdlStatement};
use super::table::Table;
use super::{Catalog, DdlContext, internal_transaction};
use crate::base::kill_points::kill_point;
use crate::encoding::key::Entry;
use crate::locks::LockMode;
use crate::txn::{Direction, Keep, Reads, ScanOptions, Version};

/// The partitions of a table's handle.
#[derive(Debug)]
pub(super) struct Partitions {
    tables: Box<[OnceLock<Arc<Table>>]>,
    /// The numbers of partitions by the ids of their clustered indexes, which ascend.
    by_clustered: Vec<(IndexId, usize)>,
    /// As `Table::readable_from`, for each partition each index.
    readable_from: Box<[AtomicU64]>,
    /// What a floor above keeps with the handle.
    kept: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// A partition that is kept, or one that is made for the moment.
pub(super) enum Passing<'a> {
    Kept(&'a Table),
    Made(Box<Table>),
}

impl Deref for Passing<'_> {
    type Target = Table;

    fn deref(&self) -> &Table {
        match self {
            Passing::Kept(table) => table,
            Passing::Made(table) => table,
        }
    }
}

impl Partitions {
    pub fn of(def: &TableDef) -> Option<Partitions> {
        let partitions = &def.partitioning.as_ref()?.partitions;
        let clustered = |(number, p): (usize, &vaquita_types::schema::PartitionDef)| Some((*p.indexes.first()?, number));
        let mut by_clustered: Vec<(IndexId, usize)> = partitions.iter().enumerate().filter_map(clustered).collect();
        by_clustered.sort();
        Some(Partitions {
            tables: partitions.iter().map(|_| OnceLock::new()).collect(),
            by_clustered,
            readable_from: (0..partitions.len() * def.indexes.len()).map(|_| AtomicU64::new(0)).collect(),
            kept: OnceLock::new(),
        })
    }

    pub fn kept_with<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        if let Some(kept) = self.kept.get()
            && let Ok(kept) = Arc::clone(kept).downcast()
        {
            return Ok(kept);
        }
        let made = Arc::new(make()?);
        let _ = self.kept.set(made.clone());
        Ok(made)
    }

    pub fn table(&self, def: &TableDef, number: usize) -> Result<&Arc<Table>> {
        let place = self.tables.get(number).ok_or_else(|| Error::internal("a partition that does not exist"))?;
        if let Some(table) = place.get() {
            return Ok(table);
        }
        let made = Arc::new(self.make(def, number)?);
        Ok(place.get_or_init(|| made))
    }

    /// As `table`, but what is not there yet is not kept: for who goes through all of them.
    pub fn passing(&self, def: &TableDef, number: usize) -> Result<Passing<'_>> {
        match self.tables.get(number).and_then(OnceLock::get) {
            Some(table) => Ok(Passing::Kept(table)),
            None => Ok(Passing::Made(Box::new(self.make(def, number)?))),
        }
    }

    fn make(&self, def: &TableDef, number: usize) -> Result<Table> {
        let partition = def.partitions().get(number).ok_or_else(|| Error::internal("a partition that does not exist"))?;
        let table = Table::new(Arc::new(def.of_partition(partition)))?;
        let first = number * def.indexes.len();
        table.readable_from(self.readable_from.iter().skip(first).map(|from| from.load(Ordering::Acquire)));
        Ok(table)
    }

    pub fn of_key(&self, key: &[u8]) -> Option<usize> {
        let id = IndexId(u32::from_be_bytes(*key.first_chunk()?));
        let at = self.by_clustered.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.by_clustered.get(at).map(|(_, number)| *number)
    }

    /// Before anybody has the handle.
    pub fn set_readable_from(&self, def: &TableDef, old: Option<(&TableDef, &Partitions)>, sequence: u64) {
        let ids = |def: &TableDef| def.partitions().iter().flat_map(|p| p.indexes.clone()).collect::<Vec<IndexId>>();
        let before: HashMap<IndexId, u64> = match old {
            Some((def, old)) => {
                ids(def).into_iter().zip(old.readable_from.iter().map(|from| from.load(Ordering::Acquire))).collect()
            }
            None => HashMap::new(),
        };
        for (id, from) in ids(def).into_iter().zip(&self.readable_from) {
            from.store(before.get(&id).copied().unwrap_or(sequence), Ordering::Release);
        }
    }
}

/// A row that EXCHANGE PARTITION … WITHOUT VALIDATION let in, and that only a rebuild of all partitions can move.
fn misplaced(from: usize, to: usize) -> Error {
    let text = format!("from REBUILD/REORGANIZED partition: {from} to non included partition (new definition): {to}");
    Error::new(&errno::ER_ROW_IN_WRONG_PARTITION, &[&text])
}

/// All ids of partitions are to be new.
pub(super) fn forget_ids(def: &mut TableDef) {
    let Some(by) = def.partitioning_mut() else { return };
    for partition in &mut by.partitions {
        partition.id = TableId(0);
        partition.indexes.clear();
    }
}

/// The positions of the indexes that are to be filled.
fn positions(indexes: &[IndexId], built: &HashSet<IndexId>) -> Vec<usize> {
    indexes.iter().enumerate().filter(|(_, id)| built.contains(id)).map(|(n, _)| n).collect()
}

impl Change<'_> {
    /// Gives ids to partitions and their indexes that have none.
    pub(super) fn number_partitions(&mut self, def: &mut TableDef) -> Result<()> {
        let indexes = def.indexes.len();
        let Some(by) = def.partitioning_mut() else { return Ok(()) };
        for partition in &mut by.partitions {
            if partition.id == TableId(0) {
                partition.id = self.ids().next_table()?;
            }
            partition.indexes.resize(indexes, IndexId(0));
            for id in partition.indexes.iter_mut().filter(|id| **id == IndexId(0)) {
                *id = self.ids().next_index()?;
            }
        }
        Ok(())
    }
}

impl Catalog {
    /// As `build`, where the old or the new table is partitioned. An index that is added is filled partition by partition; else the rows
    /// of each partition that does not stay go to those that are new. Returns how many there were, and what to add to which row counts.
    pub(super) fn build_partitions(
        &self,
        old: &Arc<Table>,
        new: &TableDef,
        alter: &Alter<'_>,
        rows: RowChange<'_>,
    ) -> Result<(u64, Vec<(TableId, i64)>)> {
        let kept = KeptColumns::of(&old.def, new);
        let mut keep_each = |row| kept.row(row);
        let map: &mut dyn FnMut(Vec<Value>) -> Result<Vec<Value>> = match rows {
            RowChange::Keep => &mut keep_each,
            RowChange::Map(map, _) => map,
        };
        let context = alter.context.ddl;
        let stays: HashSet<TableId> = new.partitions().iter().map(|p| p.id).collect();
        let built: HashSet<IndexId> = alter.built.iter().copied().collect();
        let target = Table::new(Arc::new(new.clone()))?;
        let fill: Vec<Vec<usize>> = match new.partitioning {
            Some(_) => new.partitions().iter().map(|p| positions(&p.indexes, &built)).collect(),
            None => vec![(0..new.indexes.len()).collect()],
        };
        let mut counts = vec![0i64; fill.len()];
        let mut read = internal_transaction(&self.store, Arc::clone(&context.interrupt));
        read.begin_statement(Reads::Many);
        let options = ScanOptions { keep: Keep::Nothing, spans: false, version: Version::Snapshot, ..ScanOptions::default() };
        let mut writer = Writer::begin(self, context, old.row_count(&self.transaction())?)?;
        let mut copied = 0;
        let mut source = 0..;
        old.for_each_stored(|part| {
            let number = source.next().unwrap_or(0);
            if !alter.instant && stays.contains(&part.def.id) {
                return Ok(());
            }
            let mut cursor = read.scan(part.codec.clustered().all(), Direction::Forward, options)?;
            while let Some((key, value)) = cursor.next(&read)? {
                let row_id = part.codec.clustered().row_id(Entry { key, value });
                let row = map(part.codec.decode_row(key, value)?)?;
                let to = match (alter.instant, alter.context.partition) {
                    (true, _) => number,
                    (false, Some(partition)) if new.partitioning.is_some() => partition(&row)?,
                    (false, _) if new.partitioning.is_some() => return Err(Error::internal("rows without a partition")),
                    (false, _) => 0,
                };
                let Some(fill) = fill.get(to).filter(|fill| !fill.is_empty()) else {
                    return Err(misplaced(number, to));
                };
                // Row ids are a partition's own.
                let row_id = if alter.instant || !new.hidden_rowid { Some(row_id.unwrap_or(0)) } else { None };
                let made;
                let into = if new.partitioning.is_some() {
                    made = target.partition(to)?;
                    made
                } else {
                    &target
                };
                writer.add(into, &row, row_id, fill, value.len())?;
                counts[to] += 1;
                context.progress.add_rows(1);
                copied += 1;
            }
            Ok(())
        })?;
        writer.finish(&target, &|key| row_in_snapshot(old, &read, key)?.map(|row| kept.row(row)).transpose())?;
        if alter.instant {
            return Ok((0, Vec::new()));
        }
        let mut counted: Vec<(TableId, i64)> = match new.partitioning {
            Some(_) => new.partitions().iter().map(|p| p.id).zip(counts).filter(|(_, rows)| *rows != 0).collect(),
            None => vec![(new.id, counts.iter().sum())],
        };
        if old.def.partitioning.is_none() {
            counted.push((new.id, -(copied as i64)));
        }
        Ok((copied, counted))
    }

    /// Replaces the partitions of `old` by those of `new`: one without an id is new and empty, one that is missing goes with its
    /// rows. Nothing else of the definition may differ. Error 1412 if `old` is not the current handle.
    pub fn change_partitions(&self, old: &Arc<Table>, mut new: TableDef, context: &DdlContext) -> Result<Arc<Table>> {
        let mut statement = DdlStatement::new(self, context);
        if !statement.begin(std::slice::from_ref(old), context)? {
            return Err(Error::new(&errno::ER_TABLE_DEF_CHANGED, &[]));
        }
        statement.lock_table(old.def.id, LockMode::X, context)?;
        kill_point("ddl.locked");
        let mut change = statement.change();
        change.number_partitions(&mut new)?;
        let kept: HashSet<TableId> = new.partitions().iter().map(|p| p.id).collect();
        for partition in old.def.partitions().iter().filter(|p| !kept.contains(&p.id)) {
            change.txn.drop_counters(partition.id);
            partition.indexes.iter().try_for_each(|id| change.drop_index(*id))?;
        }
        kill_point("ddl.partitions-changed");
        change.retire(old);
        let table = change.put(new, old.statistics())?;
        change.commit()?;
        Ok(table)
    }
}
