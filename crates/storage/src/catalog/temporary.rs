//! Temporary tables, and the catalog as one session sees it.
//!
//! A temporary table is stored as any other, but its definition is only in the `SessionCatalog` of its session,
//! where names are looked up first, so that it hides a permanent table of its name. Its ids are from
//! `TEMPORARY_ID_MIN` up, and they say all that the rest of the storage has to know: what is written under them may
//! stay in memory (`Transaction::carry_temporary`), may be written in a READ ONLY transaction, and belongs to nobody
//! when the server starts. So nothing durable says which temporary tables there are.
//!
//! ```text
//! CREATE TEMPORARY TABLE t     ids 80000000 …; the session finds t, others do not
//! INSERT, COMMIT               up to some megabytes stay in the transaction's write set; more is stored as all is
//! DROP, or the session ends    the ids wait in `dropped` until no transaction of the session can write them; if
//!                              any was stored, `reclaim` then deletes the keys, neighbours together
//! a crash                      `forget_all` deletes whatever has such an id
//! ```
//!
//! Invariants:
//!
//! * TEMP-1: ids from `TEMPORARY_ID_MIN` up are in no record of the catalog, and no others are a temporary table's.
//! * TEMP-2: an id is given out again only after its keys were deleted, and after all others were given out once. (A
//!   snapshot that is older than two thousand million temporary indexes could still show the keys.)
//! * TEMP-3: keys are deleted when no transaction of their session can write them any more.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::ops::Deref;
use std::sync::Arc;

use vaquita_types::schema::{IndexId, TableDef, TableId};
use vaquita_types::{Error, Result, errno};

use super::alter::prepare;
use super::ddl::{check_column_ids, order_indexes};
use super::statistics::TableStatistics;
use super::table::Table;
use super::{Catalog, DdlContext, RowChange, TableName, internal_transaction};
use crate::base::clock::now_us;
use crate::commit::counters;
use crate::encoding::KeyRange;
use crate::encoding::ids::TEMPORARY_ID_MIN;
use crate::encoding::key::index_range;
use crate::encoding::layout;
use crate::locks::Interrupt;
use crate::txn::Store;
use crate::txn::{Direction, Keep, ScanOptions, Transaction, Version};

/// The data keys of all temporary tables.
fn all_keys() -> KeyRange {
    KeyRange { lower: TEMPORARY_ID_MIN.to_be_bytes().to_vec(), upper: u32::MAX.to_be_bytes().to_vec() }
}

/// Deletes what sessions of an earlier run have left. At start, before an id is given out.
pub(super) fn forget_all(store: &Arc<Store>) -> Result<()> {
    let mut txn = internal_transaction(store, Arc::new(Interrupt::new(0)));
    let options = ScanOptions { keep: Keep::Nothing, version: Version::Latest, ..ScanOptions::default() };
    let found = txn.scan(all_keys(), Direction::Forward, options)?.next(&txn)?.is_some();
    if found {
        store.delete_data_range(&all_keys().lower, &all_keys().upper)?;
    }
    for range in counters::temporary_ranges() {
        let mut cursor = txn.scan(range, Direction::Forward, options)?;
        while let Some((key, _)) = cursor.next(&txn)? {
            let key = key.to_vec();
            txn.delete(&key)?;
        }
    }
    txn.commit_wait()
}

/// Ids that are given out in turn, round and round.
#[derive(Default)]
struct Pool {
    /// What `TEMPORARY_ID_MIN` is added to.
    next: u32,
    used: HashSet<u32>,
}

impl Pool {
    fn take(&mut self) -> Result<u32> {
        // The highest id stays free, so that every index has a key above all of its own.
        const IDS: u32 = u32::MAX - TEMPORARY_ID_MIN;
        if self.used.len() as u32 >= IDS {
            return Err(Error::internal("all ids of temporary tables are used up"));
        }
        loop {
            let id = TEMPORARY_ID_MIN + self.next;
            self.next = (self.next + 1) % IDS;
            if self.used.insert(id) {
                return Ok(id);
            }
        }
    }
}

/// Ids whose keys are to be deleted.
#[derive(Default)]
struct Dropped {
    tables: Vec<TableId>,
    indexes: Vec<IndexId>,
}

impl Dropped {
    fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.indexes.is_empty()
    }

    fn append(&mut self, mut more: Dropped) {
        self.tables.append(&mut more.tables);
        self.indexes.append(&mut more.indexes);
    }

    /// The key ranges, neighbours in one: a range that is deleted costs every read something until it is compacted.
    fn ranges(&mut self) -> Vec<KeyRange> {
        self.indexes.sort();
        let mut ranges: Vec<KeyRange> = Vec::new();
        for id in &self.indexes {
            let range = index_range(*id);
            match ranges.last_mut() {
                Some(last) if last.upper == range.lower => last.upper = range.upper,
                _ => ranges.push(range),
            }
        }
        ranges
    }
}

/// What the server knows of the temporary tables of all sessions.
#[derive(Default)]
pub(super) struct Shared {
    tables: Pool,
    indexes: Pool,
    dropped: Dropped,
}

impl Shared {
    /// Nothing is stored under these ids any more.
    fn free(&mut self, gone: &Dropped) {
        for id in &gone.tables {
            self.tables.used.remove(&id.0);
        }
        for id in &gone.indexes {
            self.indexes.used.remove(&id.0);
        }
    }
}

impl Catalog {
    /// Deletes the keys of temporary tables that are gone.
    pub(super) fn reclaim_temporary(&self) -> Result<()> {
        let mut dropped = std::mem::take(&mut self.temporary.lock().dropped);
        let deleted = self.delete_dropped(&mut dropped);
        let mut shared = self.temporary.lock();
        match deleted {
            Ok(()) => shared.free(&dropped),
            Err(_) => shared.dropped.append(dropped),
        }
        deleted
    }

    fn delete_dropped(&self, dropped: &mut Dropped) -> Result<()> {
        for range in dropped.ranges() {
            self.store.delete_data_range(&range.lower, &range.upper)?;
        }
        let mut txn = self.transaction();
        for id in &dropped.tables {
            txn.drop_counters(*id);
        }
        txn.commit_wait()
    }
}

/// Tables by database and name.
type Tables = BTreeMap<String, BTreeMap<String, Arc<Table>>>;

/// The catalog with a session's temporary tables. What is not about them is the shared catalog's (`Deref`); `table`,
/// `version` and `analyze_table` are this one's.
pub struct SessionCatalog {
    shared: Arc<Catalog>,
    tables: RefCell<Tables>,
    /// Changes of `tables`.
    changes: Cell<u64>,
    /// TEMP-3: until `release_dropped`.
    dropped: RefCell<Dropped>,
    /// An ALTER has stored rows or entries.
    stored: Cell<bool>,
}

impl Deref for SessionCatalog {
    type Target = Arc<Catalog>;

    fn deref(&self) -> &Arc<Catalog> {
        &self.shared
    }
}

impl Drop for SessionCatalog {
    fn drop(&mut self) {
        // `release_dropped` was called for what a session leaves; otherwise nobody knows what was stored.
        self.drop_all_temporary();
        self.reclaim(self.dropped.take());
    }
}

impl SessionCatalog {
    pub fn new(shared: Arc<Catalog>) -> SessionCatalog {
        SessionCatalog {
            shared,
            tables: RefCell::default(),
            changes: Cell::new(0),
            dropped: RefCell::default(),
            stored: Cell::new(false),
        }
    }

    /// Grows with every DDL that this session sees.
    pub fn version(&self) -> u64 {
        // Neither shrinks, so that the sum is the same only if both are.
        self.shared.version() + self.changes.get()
    }

    /// The table that a name means to this session, not locked.
    pub fn table(&self, database: &str, name: &str) -> Result<Option<Arc<Table>>> {
        match self.temporary(database, name) {
            Some(table) => Ok(Some(table)),
            None => self.shared.table(database, name),
        }
    }

    pub fn permanent(&self, database: &str, name: &str) -> Result<Option<Arc<Table>>> {
        self.shared.table(database, name)
    }

    pub fn temporary(&self, database: &str, name: &str) -> Option<Arc<Table>> {
        self.tables.borrow().get(database)?.get(name).cloned()
    }

    /// The handle of a definition, as far as its name still means it: not looked at is what hides a permanent table.
    pub fn table_of(&self, def: &TableDef) -> Result<Option<Arc<Table>>> {
        if def.options.temporary {
            return Ok(self.temporary(&def.database, &def.name));
        }
        self.shared.table(&def.database, &def.name)
    }

    pub fn has_temporary(&self) -> bool {
        !self.tables.borrow().is_empty()
    }

    fn put(&self, def: TableDef, statistics: Option<Arc<TableStatistics>>) -> Result<Arc<Table>> {
        let version = self.changed();
        let table = Arc::new(Table::with_statistics(Arc::new(TableDef { schema_version: version, ..def }), statistics)?);
        self.add_temporary(&table);
        Ok(table)
    }

    fn remove(&self, (database, name): TableName<'_>) -> Option<Arc<Table>> {
        let mut tables = self.tables.borrow_mut();
        let names = tables.get_mut(database)?;
        let table = names.remove(name)?;
        if names.is_empty() {
            tables.remove(database);
        }
        self.changed();
        Some(table)
    }

    /// Grows when a temporary table comes, goes or changes.
    pub fn temporary_changes(&self) -> u64 {
        self.changes.get()
    }

    fn changed(&self) -> u64 {
        self.changes.set(self.changes.get() + 1);
        self.changes.get()
    }

    fn next_ids(&self, def: &mut TableDef) -> Result<()> {
        let mut shared = self.shared.temporary.lock();
        def.id = TableId(shared.tables.take()?);
        for index in &mut def.indexes {
            index.id = IndexId(shared.indexes.take()?);
        }
        Ok(())
    }

    /// The table's keys are to be deleted.
    pub fn give_up(&self, table: &Table) {
        let mut dropped = self.dropped.borrow_mut();
        dropped.tables.push(table.def.id);
        dropped.indexes.extend(table.def.indexes.iter().map(|index| index.id));
    }

    /// As `Catalog::create_table`. Errors 1049, 1050.
    pub fn create_temporary(&self, def: TableDef) -> Result<Arc<Table>> {
        let table = self.new_temporary(def)?;
        self.add_temporary(&table);
        Ok(table)
    }

    /// The same, but its name does not mean it yet: `add_temporary` or `give_up` follows.
    pub fn new_temporary(&self, mut def: TableDef) -> Result<Arc<Table>> {
        order_indexes(&mut def);
        check_column_ids(&mut def)?;
        layout::fresh_layout(&mut def);
        self.check_name((&def.database, &def.name))?;
        self.next_ids(&mut def)?;
        def.created_us = now_us();
        def.options.temporary = true;
        def.schema_version = self.changed();
        Ok(Arc::new(Table::new(Arc::new(def))?))
    }

    pub fn add_temporary(&self, table: &Arc<Table>) {
        self.changed();
        let (database, name) = (table.def.database.clone(), table.def.name.clone());
        self.tables.borrow_mut().entry(database).or_default().insert(name, table.clone());
    }

    fn check_name(&self, (database, name): TableName<'_>) -> Result<()> {
        if self.shared.database(database)?.is_none() {
            return Err(Error::new(&errno::ER_BAD_DB_ERROR, &[&database]));
        }
        match self.temporary(database, name) {
            Some(_) => Err(Error::new(&errno::ER_TABLE_EXISTS_ERROR, &[&name])),
            None => Ok(()),
        }
    }

    /// False: there is no temporary table of that name.
    pub fn drop_temporary(&self, name: TableName<'_>) -> bool {
        let table = self.remove(name);
        if let Some(table) = &table {
            self.give_up(table);
        }
        table.is_some()
    }

    /// COM_RESET_CONNECTION, COM_CHANGE_USER and the end of the session.
    pub fn drop_all_temporary(&self) {
        let tables = std::mem::take(&mut *self.tables.borrow_mut());
        if !tables.is_empty() {
            self.changed();
        }
        tables.values().flat_map(BTreeMap::values).for_each(|table| self.give_up(table));
    }

    /// Empties the table: new ids, AUTO_INCREMENT from 1. The session has no transaction open.
    pub fn truncate_temporary(&self, old: &Arc<Table>) -> Result<Arc<Table>> {
        let mut def = (*old.def).clone();
        layout::fresh_layout(&mut def);
        self.next_ids(&mut def)?;
        self.give_up(old);
        self.put(def, None)
    }

    /// As `Catalog::alter_table`. The session has no transaction open, and what it carried of the table is stored.
    pub fn alter_temporary(
        &self,
        old: &Arc<Table>,
        mut new: TableDef,
        rows: RowChange<'_>,
        context: &DdlContext,
    ) -> Result<(Arc<Table>, u64)> {
        let before: TableName<'_> = (&old.def.database, &old.def.name);
        let renamed = before != (new.database.as_str(), new.name.as_str());
        if renamed {
            self.check_name((&new.database, &new.name))?;
        }
        let instant = prepare(&old.def, &mut new, &rows)?;
        if self.shared.store.counters().rows(old.def.id, None)? > 0 {
            self.stored.set(true);
        }
        let mut built = Vec::new();
        for index in new.indexes.iter_mut().filter(|i| i.id == IndexId(0)) {
            index.id = IndexId(self.shared.temporary.lock().indexes.take()?);
            built.push(index.id);
        }
        let copied = match self.shared.build(old, &mut new, &built, instant, rows, context) {
            Ok(copied) => copied,
            Err(error) => {
                self.dropped.borrow_mut().indexes.append(&mut built);
                return Err(error);
            }
        };
        let replaced = old.def.indexes.iter().map(|i| i.id).filter(|id| !new.indexes.iter().any(|i| i.id == *id));
        self.dropped.borrow_mut().indexes.extend(replaced);
        self.remove(before);
        Ok((self.put(new, old.statistics())?, copied))
    }

    /// ANALYZE: what it found about a temporary table stays in memory.
    pub fn analyze_table(&self, table: &Arc<Table>, context: &DdlContext) -> Result<()> {
        if !table.def.options.temporary {
            return self.shared.analyze_table(table, context).map(drop);
        }
        let read = internal_transaction(&self.shared.store, context.interrupt.clone());
        table.set_statistics(Arc::new(TableStatistics::collect(table, &read, &context.interrupt)?));
        self.changed();
        Ok(())
    }

    /// The session has no transaction open (`txn` is where it would be): the keys of what it dropped may be deleted.
    pub fn release_dropped(&self, txn: &mut Transaction) {
        if self.dropped.borrow().is_empty() {
            return;
        }
        let dropped = self.dropped.take();
        if txn.forget_temporary(&dropped.tables, &dropped.indexes) || self.stored.get() {
            return self.reclaim(dropped);
        }
        for id in &dropped.tables {
            self.shared.store.counters().forget(*id);
        }
        self.shared.temporary.lock().free(&dropped);
    }

    fn reclaim(&self, dropped: Dropped) {
        if !dropped.is_empty() {
            self.shared.temporary.lock().dropped.append(dropped);
            self.shared.reclaim.notify_temporary();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_go_round_and_pass_those_in_use() {
        let mut pool = Pool::default();
        assert_eq!((pool.take().unwrap(), pool.take().unwrap()), (TEMPORARY_ID_MIN, TEMPORARY_ID_MIN + 1));
        pool.used.remove(&TEMPORARY_ID_MIN);
        pool.next = u32::MAX - TEMPORARY_ID_MIN - 1;
        assert_eq!(pool.take().unwrap(), u32::MAX - 1);
        assert_eq!((pool.take().unwrap(), pool.take().unwrap()), (TEMPORARY_ID_MIN, TEMPORARY_ID_MIN + 2));
    }

    #[test]
    fn neighbours_are_one_range() {
        let ids = [9, 7, 3, 8].map(|id| IndexId(TEMPORARY_ID_MIN + id));
        let mut dropped = Dropped { tables: Vec::new(), indexes: ids.to_vec() };
        let ranges: Vec<_> = dropped.ranges().into_iter().map(|r| (r.lower[3], r.upper[3])).collect();
        assert_eq!(ranges, [(3, 4), (7, 10)]);
    }
}
