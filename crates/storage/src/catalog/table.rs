//! `Table`: a table's rows and index entries as one thing that a transaction changes.
//!
//! A row is one clustered entry and one entry per secondary index (`encoding::key`, `encoding::row`). What each
//! operation locks and writes, in this order:
//!
//! | operation | locks (all X)                                            | writes                                   |
//! |-----------|----------------------------------------------------------|------------------------------------------|
//! | insert    | the clustered key, each entry's key                      | row, entries, +1 row                     |
//! | update    | keys of entries that change, old and new (the clustered key: by the caller; if it moves, the new one as well) | row, entries that differ |
//! | delete    | each entry's key (the clustered key: by the caller)      | tombstones of the row and its entries, −1 row |
//!
//! An old unique key is locked too, so that another transaction that wants to insert it waits for
//! this one to end instead of reporting a duplicate that may never have been. Keys of entries that are
//! not unique are locked although nobody competes for them: SERIALIZABLE transactions find writers in
//! the ranges that they have read by these locks; who writes many entries of an index locks it as a whole instead
//! (`LockManager::lock_entry`). Entries of FULLTEXT indexes are not locked: who reads them locks the rows of the table. Of a multi-valued index a
//! row has as many entries as its array has different elements, each locked and claimed for itself.
//! Nothing is written before all duplicates are ruled out, except that a statement may be rolled
//! back by its caller (`Transaction::rollback_statement`).
//!
//! A handle may also carry indexes that an ALTER is building; every operation keeps their entries as well (`building`).
//!
//! The caller has checked the values, holds at least IX on the table (`Transaction::lock_table`),
//! and keeps one `Buffers` per session, so that a row costs no allocation here.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use vaquita_types::schema::TableRef;
use vaquita_types::{Error, Result, Value, errno};

use super::building::Building;
use super::partitions::Partitions;
use super::row_sample::{GiveRow, KeptRows};
use super::statistics::{SAMPLED_ROWS_MIN, TableStatistics};
use crate::commit::log_buffer::LogObject;
use crate::encoding::ids::INDEX_ID_BYTES;
use crate::encoding::key::{ElementEntry, Entry, IndexCodec, entries_without};
use crate::encoding::row::{RowCodec, RowView};
use crate::locks::{LockMode, LockPolicy};
use crate::txn::Store;
use crate::txn::{Gap, Transaction, Version};

/// A table definition with what is precomputed from it. DDL makes a new one.
#[derive(Debug)]
pub struct Table {
    pub def: TableRef,
    pub codec: RowCodec,
    statistics: RwLock<Option<Arc<TableStatistics>>>,
    /// What the planner sampled where these are missing or too old.
    sample: RwLock<Option<Arc<TableStatistics>>>,
    sampled_rows: KeptRows,
    stale: AtomicBool,
    /// Indexes that an ALTER is building: writers keep their entries too.
    building: Option<Box<Building>>,
    /// The sequence number of the commit from which on each of `def.indexes` shows the table; 0: any.
    readable_from: Box<[AtomicU64]>,
    /// Of a partitioned table, which has no row of its own.
    partitions: Option<Box<Partitions>>,
    /// How the binary log describes it, in its two ways: of whoever tells the log (`Transaction::tell_log`).
    pub logged_as: [OnceLock<LogObject>; 2],
}

/// Scratch space of row operations, reused between rows.
#[derive(Default)]
pub struct Buffers {
    clustered: Vec<u8>,
    row: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
    old_key: Vec<u8>,
    old_value: Vec<u8>,
    /// Of the clustered index of the one table that a statement inserts into.
    gap: Gap,
}

impl Buffers {
    /// After an insert or an update that was written: the row's clustered key.
    pub fn clustered_key(&self) -> &[u8] {
        &self.clustered
    }
}

/// How an insert or an update ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Written {
    Done,
    /// Nothing was written: another row has the key.
    Duplicate(Duplicate),
    /// A lock was not free and the policy is SKIP LOCKED.
    Skipped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Position in `TableDef::indexes`.
    pub index: usize,
    /// The clustered key of the row that is there, which is not locked unless `index` is 0.
    pub clustered_key: Vec<u8>,
}

impl Table {
    pub fn new(def: TableRef) -> Result<Table> {
        Table::with_statistics(def, None)
    }

    pub(crate) fn with_statistics(def: TableRef, statistics: Option<Arc<TableStatistics>>) -> Result<Table> {
        let readable_from = def.indexes.iter().map(|_| AtomicU64::new(0)).collect();
        Ok(Table {
            codec: RowCodec::new(&def)?,
            partitions: Partitions::of(&def).map(Box::new),
            def,
            statistics: RwLock::new(statistics),
            sample: RwLock::default(),
            sampled_rows: KeptRows::default(),
            stale: AtomicBool::new(false),
            building: None,
            readable_from,
            logged_as: Default::default(),
        })
    }

    /// Another handle of the same definition: with indexes that are being built, or without any.
    pub(crate) fn rebuilt(&self, building: Option<Building>) -> Result<Table> {
        let mut table = Table::with_statistics(self.def.clone(), self.statistics())?;
        table.building = building.map(Box::new);
        table.set_readable_from(Some(self), 0);
        Ok(table)
    }

    pub(crate) fn building(&self) -> Option<&Building> {
        self.building.as_deref()
    }

    /// Indexes that `old` has are readable from where they were, the others from the commit with this sequence number.
    pub(crate) fn set_readable_from(&self, old: Option<&Table>, sequence: u64) {
        for (index, from) in self.def.indexes.iter().zip(&self.readable_from) {
            let before = old.and_then(|old| {
                let at = old.def.indexes.iter().position(|i| i.id == index.id)?;
                old.readable_from.get(at).map(|from| from.load(Ordering::Acquire))
            });
            from.store(before.unwrap_or(sequence), Ordering::Release);
        }
        if let Some(partitions) = &self.partitions {
            partitions.set_readable_from(&self.def, old.and_then(|old| Some((&*old.def, old.partitions.as_deref()?))), sequence);
        }
    }

    /// A partition, which is a table of its own to all that reads and changes rows.
    pub fn partition(&self, number: usize) -> Result<&Arc<Table>> {
        match &self.partitions {
            Some(partitions) => partitions.table(&self.def, number),
            None => Err(Error::internal("a partition of a table without partitions")),
        }
    }

    /// The number of the partition that a clustered key is of.
    pub fn partition_of_key(&self, key: &[u8]) -> Option<usize> {
        self.partitions.as_ref()?.of_key(key)
    }

    /// The table, or its partitions one after the other: what rows are in.
    pub fn for_each_stored(&self, mut f: impl FnMut(&Table) -> Result<()>) -> Result<()> {
        let Some(partitions) = &self.partitions else { return f(self) };
        (0..self.def.partitions().len()).try_for_each(|number| f(&*partitions.passing(&self.def, number)?))
    }

    /// What a floor above makes of the definition of a partitioned table, made once.
    pub fn kept_with<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        match &self.partitions {
            Some(partitions) => partitions.kept_with(make),
            None => make().map(Arc::new),
        }
    }

    /// The exact number of rows that the transaction sees.
    pub fn row_count(&self, txn: &Transaction) -> Result<u64> {
        self.def.row_count_ids().try_fold(0, |rows, id| Ok(rows + txn.row_count(id)?))
    }

    /// What the transaction adds to the committed number of rows.
    pub fn rows_added(&self, txn: &Transaction) -> i64 {
        self.def.row_count_ids().map(|id| txn.rows_added(id)).sum()
    }

    pub(super) fn readable_from(&self, from: impl Iterator<Item = u64>) {
        self.readable_from.iter().zip(from).for_each(|(to, from)| to.store(from, Ordering::Release));
    }

    /// Error 1412 if the index has not been there when the snapshot of the transaction was taken; if the statement has taken
    /// it, it may run again.
    pub fn check_readable(&self, txn: &Transaction, index: usize) -> Result<()> {
        let from = self.readable_from.get(index).map_or(0, |from| from.load(Ordering::Acquire));
        match txn.snapshot_sequence() {
            Some(sequence) if sequence < from => Err(Error::new(&errno::ER_TABLE_DEF_CHANGED, &[]).restart_if(txn.may_restart())),
            _ => Ok(()),
        }
    }

    /// What the last ANALYZE found.
    pub fn statistics(&self) -> Option<Arc<TableStatistics>> {
        self.statistics.read().clone()
    }

    /// What is known of a table with so many rows: what ANALYZE found, or a sample, taken now if there is none. `None` for a
    /// table too small to be sampled that nobody has analyzed, and for one that cannot be read.
    pub fn statistics_for(&self, store: &Store, txn: &Transaction, rows: u64) -> Option<Arc<TableStatistics>> {
        let analyzed = self.statistics();
        if rows < SAMPLED_ROWS_MIN || analyzed.as_ref().is_some_and(|found| found.fits(rows)) {
            return analyzed;
        }
        if let Some(sample) = self.sample.read().as_ref().filter(|sample| sample.fits(rows)) {
            return Some(Arc::clone(sample));
        }
        // A bad block shows when the table is read, not in estimates.
        let Ok(sample) = TableStatistics::sample(self, store, txn, rows).map(Arc::new) else { return analyzed };
        *self.sample.write() = Some(Arc::clone(&sample));
        Some(sample)
    }

    /// Gives some of the table's rows, which has about `rows`, until no more are wanted: those of all places alike, as they are now or were some
    /// seconds ago.
    pub fn sample_rows(&self, store: &Store, txn: &Transaction, rows: u64, give: GiveRow<'_>) -> Result<()> {
        self.sampled_rows.give(self, store, txn, rows, give)
    }

    /// Drops samples that do not fit any more; whether there was one of which plans were made.
    pub(crate) fn forget_old_sample(&self, rows: impl FnOnce() -> u64) -> bool {
        self.sampled_rows.drop_old();
        let is_old = self.sample.read().as_ref().is_some_and(|sample| !sample.fits(rows()));
        if is_old {
            *self.sample.write() = None;
        }
        is_old
    }

    pub(crate) fn set_statistics(&self, statistics: Arc<TableStatistics>) {
        *self.statistics.write() = Some(statistics);
    }

    /// DDL replaced this handle. Under a lock of the table this cannot become true.
    pub fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }

    pub(crate) fn set_stale(&self, stale: bool) {
        self.stale.store(stale, Ordering::Release);
    }

    /// Reads the row of a clustered key into `value`; `None` if there is none.
    pub fn get<'a>(
        &'a self,
        txn: &Transaction,
        key: &'a [u8],
        version: Version,
        value: &'a mut Vec<u8>,
    ) -> Result<Option<RowView<'a>>> {
        if txn.get(key, version, value)? { self.codec.view(key, value).map(Some) } else { Ok(None) }
    }

    /// Adds a row, unless one of its unique keys is taken.
    pub fn insert(&self, txn: &mut Transaction, row: &[Value], policy: LockPolicy, b: &mut Buffers) -> Result<Written> {
        let row_id = if self.def.hidden_rowid { txn.next_row_id(self.def.id)? } else { 0 };
        self.codec.encode_row(row, &mut b.row)?;
        self.codec.clustered().encode_clustered(row, row_id, &mut b.clustered)?;
        if !txn.lock_new_row(&b.clustered, policy)? {
            return Ok(Written::Skipped);
        }
        // A hidden row id is handed out once.
        if !self.def.hidden_rowid && !txn.is_absent(&b.clustered, INDEX_ID_BYTES, &mut b.gap)? {
            return Ok(Written::Duplicate(Duplicate { index: 0, clustered_key: b.clustered.clone() }));
        }
        // A row that our snapshot shows, and that somebody has deleted since.
        txn.check_conflict(&b.clustered)?;
        for (n, index) in self.secondary().filter(|(_, index)| !index.has_many_entries()) {
            let unique = index.encode_entry(row, row_id, &mut b.key, &mut b.value)?;
            match claim(txn, index, n, unique, policy, b)? {
                Written::Done => {}
                refused => return Ok(refused),
            }
        }
        for (n, index) in self.secondary().filter(|(_, index)| index.is_multi_valued()) {
            let entries = index.element_entries(row, row_id)?;
            match claim_elements(txn, index, n, &entries.iter().collect::<Vec<_>>(), policy, b)? {
                Written::Done => {}
                refused => return Ok(refused),
            }
        }
        let as_new = txn.takes_entries_of_new_row(&b.clustered);
        txn.put(&b.clustered, &b.row)?;
        for (_, index) in self.secondary() {
            if index.has_many_entries() {
                put_entries(txn, index, row, row_id, as_new, b)?;
                continue;
            }
            let unique = index.encode_entry(row, row_id, &mut b.key, &mut b.value)?;
            write_entry(txn, &b.key, Some(&b.value), as_new && !unique)?;
        }
        if let Some(building) = &self.building {
            building.inserted(txn, row, row_id, policy)?;
        }
        txn.add_rows(self.def.id, 1);
        Ok(Written::Done)
    }

    /// Adds a row to a table, or entries to new indexes, that nobody else can use yet: takes no locks
    /// and does not count. `row_id` keeps that of a copied row; `indexes` says which of the secondary
    /// indexes to fill, and the row itself is written if it includes 0.
    pub(crate) fn load(
        &self,
        txn: &mut Transaction,
        row: &[Value],
        row_id: Option<u64>,
        indexes: &[usize],
        b: &mut Buffers,
    ) -> Result<Written> {
        let row_id = match row_id {
            Some(id) => id,
            None if self.def.hidden_rowid => txn.next_row_id(self.def.id)?,
            None => 0,
        };
        for n in indexes {
            let Some(index) = self.codec.indexes().get(*n) else { continue };
            if index.is_multi_valued() {
                for entry in index.element_entries(row, row_id)? {
                    if entry.unique && txn.get(&entry.key, Version::Latest, &mut b.old_value)? {
                        let mut clustered_key = Vec::new();
                        index.clustered_key(Entry { key: &entry.key, value: &b.old_value }, &mut clustered_key)?;
                        return Ok(Written::Duplicate(Duplicate { index: *n, clustered_key }));
                    }
                    txn.put(&entry.key, &entry.value)?;
                }
                continue;
            }
            if index.has_many_entries() {
                put_entries(txn, index, row, row_id, true, b)?;
                continue;
            }
            let unique = if index.is_clustered() {
                self.codec.encode_row(row, &mut b.value)?;
                index.encode_clustered(row, row_id, &mut b.key)?;
                !self.def.hidden_rowid
            } else {
                index.encode_entry(row, row_id, &mut b.key, &mut b.value)?
            };
            if unique && txn.get(&b.key, Version::Latest, &mut b.old_value)? {
                let mut clustered_key = Vec::new();
                index.clustered_key(Entry { key: &b.key, value: &b.old_value }, &mut clustered_key)?;
                return Ok(Written::Duplicate(Duplicate { index: *n, clustered_key }));
            }
            write_entry(txn, &b.key, Some(&b.value), !unique && !index.is_clustered())?;
        }
        Ok(Written::Done)
    }

    /// Changes a row that the caller has locked and read (`old`), unless a new unique key is taken.
    pub fn update(
        &self,
        txn: &mut Transaction,
        clustered_key: &[u8],
        old: &[Value],
        new: &[Value],
        policy: LockPolicy,
        b: &mut Buffers,
    ) -> Result<Written> {
        let row_id = self.row_id(clustered_key)?;
        self.codec.encode_row(new, &mut b.row)?;
        self.codec.clustered().encode_clustered(new, row_id, &mut b.clustered)?;
        let moved = b.clustered != clustered_key;
        if moved {
            if !txn.lock_key(&b.clustered, LockMode::X, policy)? {
                return Ok(Written::Skipped);
            }
            if txn.exists(&b.clustered, Version::Latest)? {
                return Ok(Written::Duplicate(Duplicate { index: 0, clustered_key: b.clustered.clone() }));
            }
            txn.check_conflict(&b.clustered)?;
        }
        for (n, index) in self.secondary().filter(|(_, index)| !index.has_many_entries()) {
            if moved || !index.same_entry(old, new) {
                match self.claim_changed(txn, n, index, (old, new), row_id, policy, b)? {
                    Written::Done => {}
                    refused => return Ok(refused),
                }
            }
        }
        let mut elements = Vec::new();
        for (n, index) in self.secondary().filter(|(_, index)| index.is_multi_valued()) {
            if !moved && index.same_entry(old, new) {
                continue;
            }
            let (before, after) = (index.element_entries(old, row_id)?, index.element_entries(new, row_id)?);
            for gone in entries_without(&before, &after) {
                if !lock_entry(txn, &gone.key, gone.unique, policy)? {
                    return Ok(Written::Skipped);
                }
            }
            match claim_elements(txn, index, n, &entries_without(&after, &before), policy, b)? {
                Written::Done => elements.push((before, after)),
                refused => return Ok(refused),
            }
        }
        let old_as_new = txn.takes_entries_as_new(clustered_key);
        let as_new = AsNew { old: old_as_new, new: if moved { txn.takes_entries_as_new(&b.clustered) } else { old_as_new } };
        if moved {
            txn.delete(clustered_key)?;
        }
        txn.put(&b.clustered, &b.row)?;
        for (before, after) in &elements {
            for gone in entries_without(before, after) {
                write_entry(txn, &gone.key, None, as_new.old && !gone.unique)?;
            }
            for entry in after.iter().filter(|entry| !before.contains(entry)) {
                write_entry(txn, &entry.key, Some(&entry.value), as_new.new && !entry.unique)?;
            }
        }
        for (_, index) in self.secondary().filter(|(_, index)| !index.is_multi_valued()) {
            if index.has_many_entries() {
                replace_entries(txn, index, (old, new), row_id, (moved, as_new), b)?;
            } else if moved || !index.same_entry(old, new) {
                replace_entry(txn, index, (old, new), row_id, as_new, b)?;
            }
        }
        if let Some(building) = &self.building {
            building.updated(txn, (old, new), row_id, moved, policy)?;
        }
        Ok(Written::Done)
    }

    /// Removes a row that the caller has locked and read (`old`). False: skipped.
    pub fn delete(
        &self,
        txn: &mut Transaction,
        clustered_key: &[u8],
        old: &[Value],
        policy: LockPolicy,
        b: &mut Buffers,
    ) -> Result<bool> {
        let row_id = self.row_id(clustered_key)?;
        for (_, index) in self.secondary().filter(|(_, index)| !index.has_many_entries()) {
            let unique = index.encode_entry(old, row_id, &mut b.key, &mut b.value)?;
            if !lock_entry(txn, &b.key, unique, policy)? {
                return Ok(false);
            }
        }
        for (_, index) in self.secondary().filter(|(_, index)| index.is_multi_valued()) {
            for entry in index.element_entries(old, row_id)? {
                if !lock_entry(txn, &entry.key, entry.unique, policy)? {
                    return Ok(false);
                }
            }
        }
        let as_new = txn.takes_entries_as_new(clustered_key);
        txn.delete(clustered_key)?;
        for (_, index) in self.secondary() {
            index.each_entry(old, row_id, (&mut b.key, &mut b.value), |key, _, unique| {
                write_entry(txn, key, None, as_new && !unique)
            })?;
        }
        if let Some(building) = &self.building {
            building.deleted(txn, old, row_id, policy)?;
        }
        txn.add_rows(self.def.id, -1);
        Ok(true)
    }

    /// Error 1062 for a row that `insert` or `update` refused. TIMESTAMP values are printed as they are.
    pub fn duplicate_error(&self, duplicate: &Duplicate, row: &[Value]) -> Error {
        match self.codec.indexes().get(duplicate.index) {
            Some(codec) => crate::encoding::duplicate::duplicate_error(&self.def, duplicate.index, codec, row),
            None => Error::internal("duplicate in an unknown index"),
        }
    }

    /// The columns of an index in a row, as messages print them.
    pub fn key_text(&self, index: usize, row: &[Value]) -> String {
        let codec = self.codec.indexes().get(index);
        codec.map_or(String::new(), |codec| crate::encoding::duplicate::entry_text(&self.def, codec, row))
    }

    /// Secondary indexes with their position in `TableDef::indexes`.
    fn secondary(&self) -> impl Iterator<Item = (usize, &IndexCodec)> {
        self.codec.indexes().iter().enumerate().skip(1)
    }

    pub(crate) fn row_id(&self, clustered_key: &[u8]) -> Result<u64> {
        if !self.def.hidden_rowid {
            return Ok(0);
        }
        let clustered = self.codec.clustered();
        clustered.row_id(Entry { key: clustered_key, value: &[] }).ok_or_else(|| clustered.damaged(clustered_key))
    }

    /// Locks the old and the new key of an entry that changes and checks that a unique one is free.
    #[allow(clippy::too_many_arguments)]
    fn claim_changed(
        &self,
        txn: &mut Transaction,
        n: usize,
        index: &IndexCodec,
        (old, new): (&[Value], &[Value]),
        row_id: u64,
        policy: LockPolicy,
        b: &mut Buffers,
    ) -> Result<Written> {
        let was_unique = index.encode_entry(old, row_id, &mut b.old_key, &mut b.old_value)?;
        let unique = index.encode_entry(new, row_id, &mut b.key, &mut b.value)?;
        if !lock_entry(txn, &b.old_key, was_unique, policy)? {
            return Ok(Written::Skipped);
        }
        // 'a' to 'A' may be the same key, and it is ours.
        if b.key != b.old_key { claim(txn, index, n, unique, policy, b) } else { Ok(Written::Done) }
    }
}

/// Locks the key of an entry. False: skipped.
fn lock_entry(txn: &mut Transaction, key: &[u8], unique: bool, policy: LockPolicy) -> Result<bool> {
    if unique { txn.lock_key(key, LockMode::X, policy) } else { txn.lock_entry(key, policy) }
}

/// Locks the key in `b.key` and, if it is unique, checks that no row has it.
fn claim(
    txn: &mut Transaction,
    index: &IndexCodec,
    n: usize,
    unique: bool,
    policy: LockPolicy,
    b: &mut Buffers,
) -> Result<Written> {
    if !lock_entry(txn, &b.key, unique, policy)? {
        return Ok(Written::Skipped);
    }
    if !unique {
        return Ok(Written::Done);
    }
    if !txn.get(&b.key, Version::Latest, &mut b.old_value)? {
        // The snapshot may show a row with it that somebody has deleted since.
        txn.check_conflict(&b.key)?;
        return Ok(Written::Done);
    }
    let mut clustered_key = Vec::new();
    index.clustered_key(Entry { key: &b.key, value: &b.old_value }, &mut clustered_key)?;
    Ok(Written::Duplicate(Duplicate { index: n, clustered_key }))
}

/// As `claim`, of entries of one row in a multi-valued index.
fn claim_elements(
    txn: &mut Transaction,
    index: &IndexCodec,
    n: usize,
    entries: &[&ElementEntry],
    policy: LockPolicy,
    b: &mut Buffers,
) -> Result<Written> {
    for entry in entries {
        b.key.clone_from(&entry.key);
        match claim(txn, index, n, entry.unique, policy, b)? {
            Written::Done => {}
            refused => return Ok(refused),
        }
    }
    Ok(Written::Done)
}

/// The entries of a row may be written as keys that the transaction has not written (`Transaction::write_new`).
#[derive(Clone, Copy)]
struct AsNew {
    /// Of the row as it was.
    old: bool,
    /// Of the row as it will be.
    new: bool,
}

/// Writes an entry, or deletes it. `as_new`: the key is not unique, so that the clustered key is a part of it, and the transaction has not
/// written the row.
fn write_entry(txn: &mut Transaction, key: &[u8], write: Option<&[u8]>, as_new: bool) -> Result<()> {
    match write {
        _ if as_new => txn.write_new(key, write),
        Some(value) => txn.put(key, value),
        None => txn.delete(key),
    }
}

/// Writes the entries of a new row in an index that has many of a row.
fn put_entries(
    txn: &mut Transaction,
    index: &IndexCodec,
    row: &[Value],
    row_id: u64,
    as_new: bool,
    b: &mut Buffers,
) -> Result<()> {
    let buffers = (&mut b.key, &mut b.value);
    index.each_entry(row, row_id, buffers, |key, value, unique| write_entry(txn, key, Some(value), as_new && !unique))
}

/// As `replace_entry`, in an index that has many of a row. `moved`: the clustered key changed.
fn replace_entries(
    txn: &mut Transaction,
    index: &IndexCodec,
    (old, new): (&[Value], &[Value]),
    row_id: u64,
    (moved, as_new): (bool, AsNew),
    b: &mut Buffers,
) -> Result<()> {
    if moved {
        let buffers = (&mut b.old_key, &mut b.old_value);
        index.each_entry(old, row_id, buffers, |key, _, unique| write_entry(txn, key, None, as_new.old && !unique))?;
        return put_entries(txn, index, new, row_id, as_new.new, b);
    }
    let buffers = (&mut b.key, &mut b.value);
    index.each_changed_entry((old, new), row_id, buffers, |key, value| write_entry(txn, key, value, as_new.old))
}

fn replace_entry(
    txn: &mut Transaction,
    index: &IndexCodec,
    (old, new): (&[Value], &[Value]),
    row_id: u64,
    as_new: AsNew,
    b: &mut Buffers,
) -> Result<()> {
    let was_unique = index.encode_entry(old, row_id, &mut b.old_key, &mut b.old_value)?;
    let unique = index.encode_entry(new, row_id, &mut b.key, &mut b.value)?;
    if b.old_key != b.key {
        write_entry(txn, &b.old_key, None, as_new.old && !was_unique)?;
    } else if b.old_value == b.value {
        return Ok(());
    }
    write_entry(txn, &b.key, Some(&b.value), as_new.new && !unique)
}
