//! CREATE, DROP, RENAME and TRUNCATE.
//!
//! All follow one course: keep other DDL away (`ddl_lock`), lock the tables (X, in the order of their ids, so that two
//! statements cannot wait for each other), take `ddl`, check that the handles are still the current ones, write
//! all records in the transaction that holds the locks, commit, change the cache, mark the old
//! handles stale. The locks go when the transaction ends, after that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;
use vaquita_types::charset::CollationId;
use vaquita_types::schema::{
    ColumnId, DatabaseDef, IndexDef, IndexId, IndexKind, ObjectKind, QualifiedName, StoredObject, TableDef, TableId,
};
use vaquita_types::{Error, Result, errno};

use super::ddl_lock::DdlGuard;
use super::foreign_keys::{KeyRules, References};
use super::objects::ObjectKey;
use super::partitions::forget_ids;
use super::progress::Stage;
use super::statistics::TableStatistics;
use super::table::Table;
use super::{Catalog, CommitNote, Database, Ddl, DdlContext, Ids, damaged, foreign_keys, internal_transaction, triggers};
use crate::base::clock::now_us;
use crate::base::kill_points::kill_point;
use crate::encoding::KeyRange;
use crate::encoding::catalog::{keys, record};
use crate::encoding::layout;
use crate::locks::{Interrupt, LockMode, LockPolicy, PassedBy};
use crate::txn::Transaction;

/// What CREATE TABLE says of the rows that the table will have.
#[derive(Default)]
pub struct FirstRows<'t> {
    /// The first value of AUTO_INCREMENT, if it is not 1.
    pub auto_increment: Option<u64>,
    /// Rows follow in this transaction, which calls `finish_table`. It has the table locked (X) before anybody can see it. If the server ends
    /// before its commit, the next start drops the table.
    pub filled_by: Option<&'t mut Transaction>,
}

/// How long a statement first waits aside for users of a table, and then in the way of those who come later.
const FIRST_TURN: Duration = Duration::from_secs(1);

/// Database and name of a table.
pub type TableName<'a> = (&'a str, &'a str);

/// A DDL statement between its first lock and its commit.
pub(super) struct DdlStatement<'c> {
    pub catalog: &'c Catalog,
    pub txn: Transaction,
    guard: Option<DdlGuard<'c>>,
    note: Option<Arc<CommitNote>>,
}

/// A statement that holds `ddl` and writes records.
pub(super) struct Change<'c> {
    catalog: &'c Catalog,
    pub txn: Transaction,
    pub ddl: MutexGuard<'c, Ddl>,
    /// What the cache shall hold after the commit: (database, table) and the new handle, if any.
    pub(super) tables: BTreeMap<(String, String), Option<Arc<Table>>>,
    stale: Vec<Arc<Table>>,
    /// Parents and children of the tables, locked with them.
    pub(super) related: Vec<Arc<Table>>,
    /// References that were removed and written, by parent: their `referenced_by` may have changed.
    pub(super) references: BTreeMap<QualifiedName, References>,
    /// What the cache shall hold of stored objects after the commit, by database.
    pub(super) objects: Vec<(String, ObjectKey, Option<Arc<StoredObject>>)>,
    dropped: bool,
    note: Option<Arc<CommitNote>>,
    /// Keeps other DDL on the tables away until the end.
    _guard: Option<DdlGuard<'c>>,
}

impl<'c> DdlStatement<'c> {
    pub fn new(catalog: &'c Catalog, context: &DdlContext) -> DdlStatement<'c> {
        let txn = internal_transaction(&catalog.store, context.interrupt.clone());
        DdlStatement { catalog, txn, guard: None, note: context.note.clone() }
    }

    /// Keeps other DDL on the tables away. False: one changed meanwhile, look it up again.
    pub fn begin(&mut self, tables: &[Arc<Table>], context: &DdlContext) -> Result<bool> {
        let mut ids: Vec<_> = tables.iter().map(|t| t.def.id).collect();
        ids.sort();
        ids.dedup();
        context.progress.enter(Stage::WaitingForLock);
        self.guard = Some(self.catalog.ddl_locks.lock(ids, context, &*self.catalog.store.hooks().threads)?);
        Ok(!tables.iter().any(|t| t.is_stale()))
    }

    /// `begin`, and locks the tables against all other use.
    pub fn lock(&mut self, tables: &[Arc<Table>], context: &DdlContext) -> Result<bool> {
        if !self.begin(tables, context)? {
            return Ok(false);
        }
        let mut ids: Vec<_> = tables.iter().map(|t| t.def.id).collect();
        ids.sort();
        ids.into_iter().try_for_each(|id| self.lock_table(id, LockMode::X, context))?;
        context.progress.finish();
        kill_point("ddl.locked");
        Ok(!tables.iter().any(|t| t.is_stale()))
    }

    /// Waits for the users of a table, first aside, so that nobody waits for this statement, and by turns so that others who come later do,
    /// for longer each time. Readers do so only where their coming and going keeps the lock from this statement. A user who has outlasted a
    /// turn is waited for aside, since nothing is gained by holding up others before he has ended.
    pub fn lock_table(&mut self, id: TableId, mode: LockMode, context: &DdlContext) -> Result<()> {
        self.txn.spare();
        let until = Instant::now().checked_add(context.wait);
        let mut turn = FIRST_TURN;
        let mut outlasting = Vec::new();
        loop {
            loop {
                if self.wait_turn(id, mode, turn, PassedBy::Writers, until)? {
                    return Ok(());
                }
                let users = self.users_of(id);
                if !outlasting.iter().any(|user| users.contains(user)) {
                    break;
                }
            }
            let before = self.users_of(id);
            if self.wait_turn(id, mode, turn, PassedBy::Readers, until)? {
                return Ok(());
            }
            outlasting = self.users_of(id);
            if outlasting.iter().any(|user| !before.contains(user)) {
                if self.wait_turn(id, mode, turn, PassedBy::Nobody, until)? {
                    return Ok(());
                }
                outlasting = self.users_of(id);
            }
            turn *= 2;
        }
    }

    /// Waits for a lock for one turn; an error if that was the last one.
    fn wait_turn(
        &mut self,
        id: TableId,
        mode: LockMode,
        turn: Duration,
        passed_by: PassedBy,
        until: Option<Instant>,
    ) -> Result<bool> {
        let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        match self.txn.lock_table(id, mode, LockPolicy::WaitAside(turn.min(left), passed_by)) {
            Ok(()) => Ok(true),
            Err(e) if e.is(&errno::ER_LOCK_WAIT_TIMEOUT) && left > turn => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Transactions of others that hold a lock of the table.
    fn users_of(&self, id: TableId) -> Vec<u64> {
        let mut users = self.catalog.store.locks().table_users(id);
        users.retain(|user| *user != self.txn.id());
        users
    }

    /// What keeps other DDL on the tables away, for who has to do so for longer than the statement lasts.
    pub fn keep_guard(&mut self) -> Option<DdlGuard<'c>> {
        self.guard.take()
    }

    pub fn change(self) -> Change<'c> {
        let ddl = self.catalog.ddl.lock();
        kill_point("ddl.begun");
        Change {
            catalog: self.catalog,
            txn: self.txn,
            ddl,
            tables: BTreeMap::new(),
            stale: Vec::new(),
            related: Vec::new(),
            references: BTreeMap::new(),
            objects: Vec::new(),
            dropped: false,
            note: self.note,
            _guard: self.guard,
        }
    }
}

impl Change<'_> {
    pub(super) fn ids(&mut self) -> &mut Ids {
        &mut self.ddl.ids
    }

    /// True if a table of that name will exist.
    pub fn exists(&self, (database, name): TableName<'_>) -> Result<bool> {
        match self.tables.get(&(database.to_string(), name.to_string())) {
            Some(table) => Ok(table.is_some()),
            None => Ok(self.txn.meta_get(&keys::table(database, name))?.is_some()),
        }
    }

    /// True if a table or a view of that name will exist: a new one cannot have it.
    pub fn is_taken(&self, name: TableName<'_>) -> Result<bool> {
        Ok(self.exists(name)? || self.txn.meta_get(&keys::object(name.0, ObjectKind::View, name.1))?.is_some())
    }

    pub(super) fn has_database(&self, name: &str) -> bool {
        self.catalog.cached_database(name).is_some()
    }

    pub fn check_database(&self, name: &str) -> Result<()> {
        match self.has_database(name) {
            true => Ok(()),
            false => Err(Error::new(&errno::ER_BAD_DB_ERROR, &[&name])),
        }
    }

    /// Writes a definition under its name, with its foreign keys.
    pub fn put(&mut self, def: TableDef, statistics: Option<Arc<TableStatistics>>) -> Result<Arc<Table>> {
        self.relate(&def)?;
        self.store(def, statistics)
    }

    /// Writes a definition whose foreign keys are as they were.
    pub(super) fn store(&mut self, mut def: TableDef, statistics: Option<Arc<TableStatistics>>) -> Result<Arc<Table>> {
        def.referenced_by = foreign_keys::referrers(&self.txn, &def.qualified_name())?;
        def.triggers = triggers::triggers_of(&self.txn, &def.qualified_name())?;
        def.schema_version = self.ids().next_schema_version();
        let table = Arc::new(Table::with_statistics(Arc::new(def), statistics)?);
        self.txn.meta_put(&keys::table(&table.def.database, &table.def.name), &record::encode_table(&table.def))?;
        self.tables.insert((table.def.database.clone(), table.def.name.clone()), Some(table.clone()));
        kill_point("ddl.definition-written");
        Ok(table)
    }

    /// Removes a definition; its data stays.
    pub fn remove(&mut self, table: &Arc<Table>) -> Result<()> {
        self.txn.meta_delete(&keys::table(&table.def.database, &table.def.name))?;
        self.tables.insert((table.def.database.clone(), table.def.name.clone()), None);
        self.unrelate(&table.def)?;
        self.retire(table);
        kill_point("ddl.definition-removed");
        Ok(())
    }

    /// The handle is replaced by this statement.
    pub fn retire(&mut self, table: &Arc<Table>) {
        self.stale.push(table.clone());
    }

    /// Puts an index on the drop list.
    pub fn drop_index(&mut self, id: IndexId) -> Result<()> {
        self.dropped = true;
        self.txn.meta_put(&keys::dropped(id), &[])?;
        kill_point("ddl.index-listed");
        Ok(())
    }

    /// Removes a table and all that belongs to it.
    pub fn drop_table(&mut self, table: &Arc<Table>) -> Result<()> {
        self.remove(table)?;
        table.def.counter_ids().for_each(|id| self.txn.drop_counters(id));
        self.txn.meta_delete(&keys::statistics(table.def.id))?;
        let unfinished = keys::unfinished(&table.def.database, &table.def.name);
        if self.txn.meta_get(&unfinished)?.is_some() {
            self.txn.meta_delete(&unfinished)?;
        }
        table.def.index_ids().try_for_each(|id| self.drop_index(id))?;
        kill_point("ddl.table-dropped");
        Ok(())
    }

    /// Makes everything durable, then visible.
    pub fn commit(&mut self) -> Result<()> {
        self.commit_with(|_| {})
    }

    /// As `commit`; `databases` changes the cached list of databases.
    pub(super) fn commit_with(&mut self, databases: impl FnOnce(&mut BTreeMap<String, Database>)) -> Result<()> {
        self.renew_parents()?;
        self.check_references()?;
        self.txn.meta_put(keys::IDS, &self.ddl.ids.encode())?;
        if let Some(note) = &self.note {
            note.put(&mut self.txn)?;
        }
        // The locks must outlive the change of the cache, and go with the commit: nobody can find
        // the old handles once they are stale, and a stale handle is looked up again under `ddl`.
        for table in &self.stale {
            table.set_stale(true);
        }
        kill_point("ddl.ids-written");
        if let Err(e) = self.txn.commit_wait() {
            for table in &self.stale {
                table.set_stale(false);
            }
            return Err(e);
        }
        kill_point("ddl.committed");
        if let Some(note) = &self.note {
            note.set_written();
        }
        // A snapshot from before this commit does not show what is under new index ids.
        let sequence = self.catalog.store.visible_sequence();
        for table in self.tables.values().flatten() {
            let old = self.stale.iter().find(|old| old.def.id == table.def.id);
            table.set_readable_from(old.map(|old| &**old), sequence);
        }
        let mut cache = self.catalog.cache.write();
        databases(&mut cache);
        for ((database, name), table) in std::mem::take(&mut self.tables) {
            let Some(database) = cache.get_mut(&database) else { continue };
            match table {
                Some(table) => {
                    self.catalog.tables_opened.fetch_add(1, Ordering::Relaxed);
                    database.tables.insert(name, table)
                }
                None => database.tables.remove(&name),
            };
        }
        for (database, key, object) in std::mem::take(&mut self.objects) {
            let Some(objects) = cache.get_mut(&database).and_then(|database| database.objects.as_mut()) else { continue };
            match object {
                Some(object) => objects.insert(key, object),
                None => objects.remove(&key),
            };
        }
        drop(cache);
        self.catalog.version.fetch_add(1, Ordering::AcqRel);
        kill_point("ddl.visible");
        if self.dropped {
            self.catalog.reclaim.notify();
        }
        Ok(())
    }
}

/// The name under which MySQL lists the clustered index of a table without PRIMARY KEY.
const HIDDEN_INDEX: &str = "GEN_CLUST_INDEX";

/// Puts the clustered index first: the PRIMARY KEY, or the hidden one, which is made if missing.
pub(super) fn order_indexes(def: &mut TableDef) {
    let is_hidden = |i: &IndexDef| i.kind == IndexKind::Primary && i.parts.is_empty();
    let hidden = def.indexes.iter().position(is_hidden).map(|at| def.indexes.remove(at));
    if let Some(primary) = def.indexes.iter().position(|i| i.kind == IndexKind::Primary) {
        def.indexes[..=primary].rotate_right(1);
        def.hidden_rowid = false;
    } else {
        let new = || IndexDef {
            id: IndexId(0),
            name: HIDDEN_INDEX.to_string(),
            kind: IndexKind::Primary,
            parts: Vec::new(),
            comment: String::new(),
            invisible: false,
            using: None,
            generated: false,
            multi_valued: false,
            parser: Default::default(),
        };
        def.indexes.insert(0, hidden.unwrap_or_else(new));
        def.hidden_rowid = true;
    }
}

/// Column ids are the caller's, because indexes refer to them; they must be unique and not 0.
pub(super) fn check_column_ids(def: &mut TableDef) -> Result<()> {
    let mut ids: Vec<ColumnId> = def.columns.iter().map(|c| c.id).collect();
    ids.sort();
    if ids.is_empty() || ids.first() == Some(&ColumnId(0)) || ids.windows(2).any(|w| w[0] == w[1]) {
        return Err(Error::internal(format_args!("column ids of table {}.{} are not unique", def.database, def.name)));
    }
    let last = ids.last().map_or(0, |id| id.0);
    def.next_column_id = def.next_column_id.max(ColumnId(last.saturating_add(1)));
    Ok(())
}

pub(super) fn table_exists((_, name): TableName<'_>) -> Error {
    Error::new(&errno::ER_TABLE_EXISTS_ERROR, &[&name])
}

pub(super) fn no_such_table((database, name): TableName<'_>) -> Error {
    Error::new(&errno::ER_NO_SUCH_TABLE, &[&database, &name])
}

/// Error 1146 for the first of the tables that are missing.
pub(super) fn first_missing(missing: &[TableName<'_>]) -> Error {
    no_such_table(missing.first().copied().unwrap_or_default())
}

impl Catalog {
    /// Error 1007 if it exists.
    pub fn create_database(&self, name: &str, collation: CollationId, context: &DdlContext) -> Result<()> {
        let mut change = DdlStatement::new(self, context).change();
        if self.cached_database(name).is_some() {
            return Err(Error::new(&errno::ER_DB_CREATE_EXISTS, &[&name]));
        }
        let def = DatabaseDef { id: change.ids().next_database()?, name: name.to_string(), collation };
        change.txn.meta_put(&keys::database(name), &record::encode_database(&def))?;
        kill_point("ddl.database-created");
        change.commit_with(|databases| {
            databases.insert(def.name.clone(), Database::new(def));
        })
    }

    /// Changes the default collation. Error 1049 if there is no such database.
    pub fn alter_database(&self, name: &str, collation: CollationId, context: &DdlContext) -> Result<()> {
        let mut change = DdlStatement::new(self, context).change();
        let old = self.cached_database(name).ok_or_else(|| Error::new(&errno::ER_BAD_DB_ERROR, &[&name]))?;
        let def = Arc::new(DatabaseDef { collation, ..(*old).clone() });
        change.txn.meta_put(&keys::database(name), &record::encode_database(&def))?;
        kill_point("ddl.database-altered");
        change.commit_with(|databases| {
            if let Some(database) = databases.get_mut(name) {
                database.def = def;
            }
        })
    }

    /// Drops the database and its tables; returns how many tables there were. Error 1008 if there is none.
    pub fn drop_database(&self, name: &str, context: &DdlContext) -> Result<usize> {
        loop {
            if self.cached_database(name).is_none() {
                return Err(Error::new(&errno::ER_DB_DROP_EXISTS, &[&name]));
            }
            let names = self.tables(name)?;
            let mut tables = Vec::with_capacity(names.len());
            for table in &names {
                tables.extend(self.table(name, table)?);
            }
            let relatives = self.relatives(tables.iter().map(|table| &*table.def), false)?;
            let mut statement = DdlStatement::new(self, context);
            if !statement.lock(&[&tables[..], &relatives].concat(), context)? {
                continue;
            }
            let mut change = statement.change();
            change.related = relatives;
            // A table may have come while we waited for the others.
            if self.tables(name)? != names || tables.iter().any(|t| t.is_stale()) {
                continue;
            }
            change.check_dropped(&tables, context)?;
            for table in &tables {
                change.drop_table(table)?;
            }
            change.drop_objects(name)?;
            change.txn.meta_delete(&keys::database(name))?;
            kill_point("ddl.database-dropped");
            change.commit_with(|databases| {
                databases.remove(name);
            })?;
            return Ok(tables.len());
        }
    }

    /// Stores a new table. Given here: the ids of the table and its indexes, `schema_version`, `layouts`,
    /// `created_us`. Column ids are the caller's (1, 2 …). Without a PRIMARY KEY among its indexes, a
    /// clustered index of hidden row ids is put first. Errors 1049 and 1050.
    pub fn create_table(&self, def: TableDef, context: &DdlContext) -> Result<Arc<Table>> {
        self.create_table_with(def, FirstRows::default(), context)
    }

    /// As `create_table`, with what CREATE TABLE says of the rows.
    pub fn create_table_with(&self, mut def: TableDef, rows: FirstRows<'_>, context: &DdlContext) -> Result<Arc<Table>> {
        order_indexes(&mut def);
        check_column_ids(&mut def)?;
        layout::fresh_layout(&mut def);
        let parents = self.relatives(std::iter::once(&def), false)?;
        let mut statement = DdlStatement::new(self, context);
        if !parents.is_empty() && !statement.lock(&parents, context)? {
            return Err(Error::new(&errno::ER_TABLE_DEF_CHANGED, &[]));
        }
        let mut change = statement.change();
        change.related = parents;
        change.check_database(&def.database)?;
        let name = (def.database.as_str(), def.name.as_str());
        if change.is_taken(name)? {
            return Err(table_exists(name));
        }
        def.id = change.ids().next_table()?;
        def.created_us = now_us();
        for index in &mut def.indexes {
            index.id = change.ids().next_index()?;
        }
        forget_ids(&mut def);
        change.number_partitions(&mut def)?;
        if let Some(next) = rows.auto_increment {
            change.txn.set_auto_increment(def.id, next)?;
            kill_point("ddl.auto-increment");
        }
        if let Some(filler) = rows.filled_by {
            filler.lock_table(def.id, LockMode::X, LockPolicy::NoWait)?;
            change.txn.meta_put(&keys::unfinished(&def.database, &def.name), &[])?;
        }
        let table = change.put(def, None)?;
        change.commit()?;
        Ok(table)
    }

    /// To be part of the transaction that fills a table (`FirstRows::filled_by`).
    pub fn finish_table(&self, txn: &mut Transaction, database: &str, name: &str) -> Result<()> {
        txn.meta_delete(&keys::unfinished(database, name))
    }

    /// Drops a table whose rows could not be made, before `filler` gives it free. Neither KILL nor a timeout of the statement that failed ends
    /// this. If it fails, which the log tells, the table stays, empty, and as durable as others.
    pub fn drop_unfilled(&self, table: &Arc<Table>, filler: &Transaction, wait: Duration) {
        let context = context_of_server(wait);
        let is_locked = filler.table_lock(table.def.id) == Some(LockMode::X);
        let Err(error) = self.drop_locked(table, is_locked, &context) else { return };
        let name = table.def.qualified_name();
        tracing::warn!("{}.{}, which a query could not fill, cannot be dropped: {}", name.database, name.name, error.message());
        if let Err(error) = self.keep_unfilled(table) {
            tracing::warn!("{}.{} will be dropped at the next start: {}", name.database, name.name, error.message());
        }
    }

    fn keep_unfilled(&self, table: &Table) -> Result<()> {
        let (database, name) = (&table.def.database, &table.def.name);
        if self.table(database, name)?.is_some_and(|now| now.def.id == table.def.id) {
            let mut txn = self.transaction();
            self.finish_table(&mut txn, database, name)?;
            txn.commit_wait()?;
        }
        Ok(())
    }

    fn drop_locked(&self, table: &Arc<Table>, is_locked: bool, context: &DdlContext) -> Result<()> {
        loop {
            let mut parents = self.relatives(std::iter::once(&*table.def), false)?;
            parents.retain(|parent| parent.def.id != table.def.id);
            let mut statement = DdlStatement::new(self, context);
            if !statement.lock(&parents, context)? {
                continue;
            }
            if !is_locked {
                statement.lock_table(table.def.id, LockMode::X, context)?;
            }
            if table.is_stale() {
                return Err(Error::new(&errno::ER_TABLE_DEF_CHANGED, &[]));
            }
            let mut change = statement.change();
            change.related = parents;
            change.drop_table(table)?;
            return change.commit();
        }
    }

    /// At start: a crash left these tables before they were filled.
    pub(super) fn drop_unfinished(&self) -> Result<()> {
        for (key, _) in self.transaction().meta_scan(KeyRange::prefix(&[keys::UNFINISHED]))? {
            let (database, name) = keys::unfinished_name(&key).ok_or_else(|| damaged(format_args!("an unfinished table")))?;
            if let Some(table) = self.table(database, name)? {
                // A prepared transaction may have it locked, in a directory of a version that let others use it so early.
                self.drop_unfilled(&table, &self.transaction(), Duration::ZERO);
            } else {
                // It was renamed before its rows came.
                let mut txn = self.transaction();
                txn.meta_delete(&key)?;
                txn.commit_wait()?;
            }
        }
        Ok(())
    }

    /// Drops all of them or none. Missing tables are error 1051, which lists them. `absent` were not found: if one is there now, that is error 1412.
    pub fn drop_tables(&self, names: &[TableName<'_>], absent: &[TableName<'_>], context: &DdlContext) -> Result<()> {
        let (mut change, tables) = self.lock_tables(names, false, context, |missing| {
            let list: Vec<String> = missing.iter().map(|(database, name)| format!("{database}.{name}")).collect();
            Error::new(&errno::ER_BAD_TABLE_ERROR, &[&list.join(",")])
        })?;
        for name in absent {
            if change.exists(*name)? {
                return Err(Error::new(&errno::ER_TABLE_DEF_CHANGED, &[]));
            }
        }
        change.check_dropped(&tables, context)?;
        for table in &tables {
            change.drop_triggers(&table.def)?;
            change.drop_table(table)?;
        }
        change.commit()
    }

    /// Empties the table: new table and index ids, AUTO_INCREMENT from 1. Error 1146.
    pub fn truncate_table(&self, name: TableName<'_>, context: &DdlContext) -> Result<Arc<Table>> {
        let (mut change, tables) = self.lock_tables(&[name], false, context, first_missing)?;
        let old = tables.first().ok_or_else(|| no_such_table(name))?;
        change.check_truncated(old, context)?;
        change.drop_table(old)?;
        kill_point("ddl.truncated");
        let mut def = (*old.def).clone();
        layout::fresh_layout(&mut def);
        def.id = change.ids().next_table()?;
        for index in &mut def.indexes {
            index.id = change.ids().next_index()?;
        }
        forget_ids(&mut def);
        change.number_partitions(&mut def)?;
        let table = change.put(def, None)?;
        change.commit()?;
        Ok(table)
    }

    /// ANALYZE: reads the indexes and keeps what it found with the table.
    pub fn analyze_table(&self, table: &Arc<Table>, context: &DdlContext) -> Result<Arc<TableStatistics>> {
        let mut read = internal_transaction(&self.store, context.interrupt.clone());
        let name = (table.def.database.as_str(), table.def.name.as_str());
        let table = self.open_table(&mut read, name.0, name.1, LockMode::IS, LockPolicy::Wait(context.wait))?;
        let table = table.ok_or_else(|| no_such_table(name))?;
        let statistics = Arc::new(TableStatistics::collect(&table, &read, &context.interrupt)?);
        kill_point("analyze.collected");
        let mut change = DdlStatement::new(self, context).change();
        change.txn.meta_put(&keys::statistics(table.def.id), &statistics.encode())?;
        kill_point("analyze.written");
        change.txn.commit_wait()?;
        kill_point("analyze.committed");
        table.set_statistics(statistics.clone());
        // Plans made without them may be worse now.
        self.version.fetch_add(1, Ordering::AcqRel);
        Ok(statistics)
    }

    /// Finds and locks tables, in the order of `names`, ready to be changed, and with them the parents of their keys and, if they get other
    /// names, their children.
    pub(super) fn lock_tables<'c>(
        &'c self,
        names: &[TableName<'_>],
        children: bool,
        context: &DdlContext,
        missing: impl Fn(&[TableName<'_>]) -> Error,
    ) -> Result<(Change<'c>, Vec<Arc<Table>>)> {
        loop {
            let mut tables = Vec::with_capacity(names.len());
            let mut unknown = Vec::new();
            for name in names {
                match self.table(name.0, name.1)? {
                    Some(table) => tables.push(table),
                    None => unknown.push(*name),
                }
            }
            if !unknown.is_empty() {
                return Err(missing(&unknown));
            }
            let relatives = self.relatives(tables.iter().map(|table| &*table.def), children)?;
            let mut statement = DdlStatement::new(self, context);
            if statement.lock(&[&tables[..], &relatives].concat(), context)? {
                let mut change = statement.change();
                change.related = relatives;
                return Ok((change, tables));
            }
            drop(self.ddl.lock());
        }
    }
}

/// Of a statement that no client gives.
fn context_of_server(wait: Duration) -> DdlContext {
    DdlContext {
        wait,
        interrupt: Arc::new(Interrupt::new(0)),
        progress: Arc::default(),
        foreign_keys: KeyRules { checks: false, ..KeyRules::default() },
        note: None,
    }
}
