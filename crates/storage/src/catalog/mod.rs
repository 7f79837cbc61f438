//! The catalog: databases, tables, what is known of them, and the DDL that changes them.
//!
//! Records live in the `catalog` column family (`encoding::catalog`) and are read and written through
//! transactions, so that each DDL statement is one atomic, durable commit.
//!
//! | file | for |
//! |---|---|
//! | `mod` | finds tables |
//! | `table` | a table's handle: its rows change with their index entries |
//! | `new_rows` | many new rows at once |
//! | `statistics`, `key_text` | what the planner is told of a table; the columns of a locked key |
//! | `ddl`, `alter`, `ddl_lock` | creates, drops, renames; changes definitions and rows; one DDL statement at a time changes a table |
//! | `foreign_keys` | who refers to whom |
//! | `objects` | views, procedures, functions, triggers, events: what is kept as SQL text |
//! | `partitions`, `exchange` | the parts of a table, and what DDL does to whole ones |
//! | `building`, `online`, `sorted` | indexes that are built while others write |
//! | `copying` | rows and indexes that an ALTER writes while nobody else may |
//! | `in_parts` | the rows of a table, read by several threads |
//! | `validation` | foreign keys that are added while others write |
//! | `reclaim`, `leftovers` | frees the space of dropped indexes; looks for what no definition knows |
//! | `progress` | how far a DDL statement is |
//! | `temporary` | what a session adds to the catalog for itself |
//!
//! It may use every floor below. It never knows SQL, or whose session a transaction is.
//!
//! Invariants:
//!
//! * CAT-1: ids (database, table, index, schema version) are never given out twice. An index id that
//!   data may be written under is in a committed record first: a definition, or the drop list.
//! * CAT-2: an index id is in a table's definition or in the drop list, never in both; whatever is in
//!   the drop list and is not being built now may be deleted at any time.
//! * CAT-3: a definition changes only under an X lock of the table, so whoever holds IS or IX and then
//!   finds the handle not stale (`open_table` does) can use it until the transaction ends. What writers keep beside it
//!   (`Building`) begins under an S lock and ends with it.
//! * CAT-4: records change only while `ddl` is held; the cache changes before `ddl` is given back.
//!
//! Names of databases and tables compare byte by byte (lower_case_table_names = 0).

mod alter;
mod building;
mod copying;
mod ddl;
mod ddl_lock;
mod events;
mod exchange;
pub mod foreign_keys;
mod in_parts;
pub mod key_text;
mod leftovers;
pub mod new_rows;
mod objects;
mod online;
mod partitions;
mod progress;
mod reclaim;
mod rename;
mod row_sample;
mod sorted;
pub mod statistics;
pub mod table;
mod temporary;
mod triggers;
mod unchanged;
pub mod validation;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use vaquita_types::schema::{DatabaseDef, DatabaseId, IndexId, TableId};
use vaquita_types::{Error, Result};

use crate::base::kill_points::kill_point;
use crate::commit::active::Isolation;
use crate::commit::log_buffer::LogBuffer;
use crate::encoding::KeyRange;
use crate::encoding::catalog::primitives::{Reader, Writer};
use crate::encoding::catalog::{keys, record};
use crate::encoding::ids::TEMPORARY_ID_MIN;
use crate::locks::{Interrupt, LockMode, LockPolicy};
use crate::txn::{Store, Transaction, TxnOptions};
pub use alter::{AloneMap, AlterContext, RowChange};
pub use ddl::{FirstRows, TableName};
pub use exchange::{RowCheck, stores_alike};
use foreign_keys::KeyRules;
pub use leftovers::Leftovers;
pub use objects::Altered;
pub use progress::{Progress, Stage, StageProgress};
use statistics::TableStatistics;
use table::Table;
pub use temporary::SessionCatalog;
pub use triggers::TriggerPlace;
pub use unchanged::Named;

/// Keys and values of the metadata; without a value a key goes.
pub type MetaChanges<'a> = [(&'a [u8], Option<&'a [u8]>)];

/// How long a DDL statement waits for other users of its tables, and who may interrupt it.
#[derive(Clone)]
pub struct DdlContext {
    /// `lock_wait_timeout`; then error 1205.
    pub wait: Duration,
    /// The session's.
    pub interrupt: Arc<Interrupt>,
    /// Others look at it.
    pub progress: Arc<Progress>,
    pub foreign_keys: KeyRules,
    /// Written by the commit that makes the statement's change visible.
    pub note: Option<Arc<CommitNote>>,
}

/// What goes with a change, in the same batch: a record of where a replica stands, and what the binary log is told.
#[derive(Default)]
pub struct CommitNote {
    /// As for `Transaction::meta_put`.
    record: Option<(Vec<u8>, Vec<u8>)>,
    /// It is written together with this one.
    other: Option<Arc<CommitNote>>,
    told: LogBuffer,
    written: AtomicBool,
}

impl CommitNote {
    pub fn new(key: Vec<u8>, value: Vec<u8>) -> CommitNote {
        CommitNote { record: Some((key, value)), ..CommitNote::default() }
    }

    /// One that tells the log, besides another one.
    pub fn telling(other: Option<Arc<CommitNote>>, told: LogBuffer) -> CommitNote {
        CommitNote { other, told, ..CommitNote::default() }
    }

    pub fn told(&self) -> &LogBuffer {
        &self.told
    }

    /// A commit has written it.
    pub fn is_written(&self) -> bool {
        self.written.load(Ordering::Acquire)
    }

    pub fn put(&self, txn: &mut Transaction) -> Result<()> {
        // A statement of several commits tells the log once.
        if self.is_written() {
            return Ok(());
        }
        if let Some((key, value)) = &self.record {
            txn.meta_put(key, value)?;
        }
        if let Some(other) = &self.other {
            other.put(txn)?;
        }
        txn.tell_log_all(&self.told)
    }

    /// The commit has succeeded.
    pub fn set_written(&self) {
        self.written.store(true, Ordering::Release);
        if let Some(other) = &self.other {
            other.set_written();
        }
    }
}

pub struct Catalog {
    store: Arc<Store>,
    /// Grows with every DDL statement.
    version: AtomicU64,
    cache: RwLock<BTreeMap<String, Database>>,
    /// Table definitions that were read into the cache.
    tables_opened: AtomicU64,
    ddl: Mutex<Ddl>,
    ddl_locks: ddl_lock::DdlLocks,
    temporary: Mutex<temporary::Shared>,
    reclaim: Arc<reclaim::Signal>,
    reclaimer: Mutex<Option<JoinHandle<()>>>,
}

/// A database and the tables of it that were used since start.
struct Database {
    def: Arc<DatabaseDef>,
    /// By a cheap hash: every statement looks its tables up, and only who may create tables chooses names.
    tables: FxHashMap<String, Arc<Table>>,
    /// All of them, once one was looked for.
    objects: Option<objects::Objects>,
}

impl Database {
    fn new(def: DatabaseDef) -> Database {
        Database { def: Arc::new(def), tables: FxHashMap::default(), objects: None }
    }
}

/// What DDL statements share.
struct Ddl {
    ids: Ids,
    /// Indexes on the drop list that an ALTER is filling now.
    building: HashSet<IndexId>,
    /// Indexes on the drop list that are to stay a while.
    deferred: Vec<online::Deferred>,
}

/// The ids given out last.
#[derive(Clone, Debug, Default)]
struct Ids {
    database: u32,
    table: u32,
    index: u32,
    schema_version: u64,
}

impl Ids {
    fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        for n in [self.database as u64, self.table as u64, self.index as u64, self.schema_version] {
            w.int(n);
        }
        w.bytes
    }

    fn decode(bytes: &[u8]) -> Option<Ids> {
        let mut r = Reader { rest: bytes };
        let ids = Ids { database: r.narrow()?, table: r.narrow()?, index: r.narrow()?, schema_version: r.int()? };
        r.rest.is_empty().then_some(ids)
    }

    fn next_database(&mut self) -> Result<DatabaseId> {
        next(&mut self.database).map(DatabaseId)
    }

    fn next_table(&mut self) -> Result<TableId> {
        next(&mut self.table).map(TableId)
    }

    fn next_index(&mut self) -> Result<IndexId> {
        next(&mut self.index).map(IndexId)
    }

    fn next_schema_version(&mut self) -> u64 {
        self.schema_version += 1;
        self.schema_version
    }
}

/// Ids end where those of temporary tables begin.
fn next(id: &mut u32) -> Result<u32> {
    if *id >= TEMPORARY_ID_MIN - 1 {
        return Err(Error::internal("all ids are used up"));
    }
    *id += 1;
    Ok(*id)
}

#[cold]
fn damaged(what: std::fmt::Arguments<'_>) -> Error {
    Error::corrupt(format_args!("catalog record of {what}"))
}

impl Catalog {
    /// Reads what must be known at start; table definitions are loaded when first used. Starts the
    /// thread that frees dropped indexes, which ends with the catalog.
    pub fn open(store: &Arc<Store>) -> Result<Arc<Catalog>> {
        temporary::forget_all(store)?;
        let txn = internal_transaction(store, Arc::new(Interrupt::new(0)));
        let ids = match txn.meta_get(keys::IDS)? {
            Some(bytes) => Ids::decode(&bytes).ok_or_else(|| damaged(format_args!("ids")))?,
            None => Ids::default(),
        };
        let mut databases = BTreeMap::new();
        for (key, value) in txn.meta_scan(KeyRange::prefix(&[keys::DATABASES]))? {
            let shown = || String::from_utf8_lossy(key.get(1..).unwrap_or(&[])).into_owned();
            let def = record::decode_database(&value).ok_or_else(|| damaged(format_args!("database {}", shown())))?;
            databases.insert(def.name.clone(), Database::new(def));
        }
        let catalog = Arc::new(Catalog {
            store: store.clone(),
            version: AtomicU64::new(1),
            cache: RwLock::new(databases),
            tables_opened: AtomicU64::new(0),
            ddl: Mutex::new(Ddl { ids, building: HashSet::new(), deferred: deferred_at_start(store)? }),
            ddl_locks: ddl_lock::DdlLocks::default(),
            temporary: Mutex::default(),
            reclaim: Arc::default(),
            reclaimer: Mutex::new(None),
        });
        catalog.drop_unfinished()?;
        *catalog.reclaimer.lock() = Some(reclaim::start(&catalog)?);
        Ok(catalog)
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Grows with every DDL: cached plans made at an older version look their tables up again.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Forgets samples of tables that have doubled or halved since, so that statements that are kept are planned again, and rows that were
    /// sampled some seconds ago. To be called about once a second.
    pub fn renew_samples(&self) {
        let tables = self.cached_tables();
        let rows_of = |id| self.store.counters().rows(id, None).map_or(0, |rows| rows.max(0) as u64);
        let rows = |table: &Table| table.def.row_count_ids().map(rows_of).sum();
        let renewed = tables.iter().filter(|table| table.forget_old_sample(|| rows(table))).count();
        if renewed > 0 {
            self.version.fetch_add(1, Ordering::AcqRel);
        }
    }

    pub fn database(&self, name: &str) -> Result<Option<Arc<DatabaseDef>>> {
        Ok(self.cached_database(name))
    }

    fn cached_database(&self, name: &str) -> Option<Arc<DatabaseDef>> {
        self.cache.read().get(name).map(|d| d.def.clone())
    }

    /// By name.
    pub fn databases(&self) -> Result<Vec<Arc<DatabaseDef>>> {
        Ok(self.cache.read().values().map(|d| d.def.clone()).collect())
    }

    /// Table definitions in the cache, and how many were ever read into it.
    pub fn open_tables(&self) -> (u64, u64) {
        let open: usize = self.cache.read().values().map(|d| d.tables.len()).sum();
        (open as u64, self.tables_opened.load(Ordering::Relaxed))
    }

    /// The tables whose definitions are in the cache, by database and name.
    pub fn cached_tables(&self) -> Vec<Arc<Table>> {
        let cache = self.cache.read();
        let mut tables: Vec<Arc<Table>> = cache.values().flat_map(|database| database.tables.values().cloned()).collect();
        drop(cache);
        tables.sort_by(|a, b| (&a.def.database, &a.def.name).cmp(&(&b.def.database, &b.def.name)));
        tables
    }

    /// The table as of now, not locked. `None` also if the database does not exist.
    pub fn table(&self, database: &str, name: &str) -> Result<Option<Arc<Table>>> {
        match self.cache.read().get(database) {
            None => return Ok(None),
            Some(d) => {
                if let Some(table) = d.tables.get(name) {
                    return Ok(Some(table.clone()));
                }
            }
        }
        self.load(database, name)
    }

    /// Finds the table and locks it (IS to read, IX to write), so that no DDL changes it before the
    /// transaction ends.
    pub fn open_table(
        &self,
        txn: &mut Transaction,
        database: &str,
        name: &str,
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Option<Arc<Table>>> {
        loop {
            let Some(table) = self.table(database, name)? else { return Ok(None) };
            txn.lock_table(table.def.id, mode, policy)?;
            if !table.is_stale() {
                return Ok(Some(table));
            }
            // The statement that replaced it may not have changed the cache yet.
            drop(self.ddl.lock());
        }
    }

    /// Names of a database's tables, sorted.
    pub fn tables(&self, database: &str) -> Result<Vec<String>> {
        let prefix = keys::tables_of(database);
        let txn = self.transaction();
        let records = txn.meta_scan(KeyRange::prefix(&prefix))?;
        records
            .into_iter()
            .map(|(key, _)| {
                let name = key.get(prefix.len()..).and_then(|name| String::from_utf8(name.to_vec()).ok());
                name.ok_or_else(|| damaged(format_args!("a table of database {database}")))
            })
            .collect()
    }

    #[cold]
    fn load(&self, database: &str, name: &str) -> Result<Option<Arc<Table>>> {
        // Under `ddl` the record cannot change between reading it and caching it.
        let _ddl = self.ddl.lock();
        let txn = self.transaction();
        let Some(bytes) = txn.meta_get(&keys::table(database, name))? else { return Ok(None) };
        let mut def = record::decode_table(&bytes).ok_or_else(|| damaged(format_args!("table {database}.{name}")))?;
        def.referenced_by = foreign_keys::referrers(&txn, &def.qualified_name())?;
        def.triggers = triggers::triggers_of(&txn, &def.qualified_name())?;
        // Statistics only guide the planner: damaged ones are as good as none.
        let statistics = txn.meta_get(&keys::statistics(def.id))?.and_then(|bytes| TableStatistics::decode(&bytes)).map(Arc::new);
        let table = Arc::new(Table::with_statistics(Arc::new(def), statistics)?);
        let mut cache = self.cache.write();
        let Some(d) = cache.get_mut(database) else { return Ok(None) };
        self.tables_opened.fetch_add(1, Ordering::Relaxed);
        Ok(Some(d.tables.entry(name.to_string()).or_insert(table).clone()))
    }

    fn transaction(&self) -> Transaction {
        internal_transaction(&self.store, Arc::new(Interrupt::new(0)))
    }

    // What other crates keep here: accounts, persisted variables … Keys are theirs.

    pub fn meta_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.transaction().meta_get(&keys::meta(key))
    }

    /// Writes all or none, durably; `None` deletes.
    pub fn meta_write(&self, changes: &MetaChanges<'_>) -> Result<()> {
        let mut txn = self.transaction();
        put_meta(&mut txn, changes)?;
        kill_point("meta.written");
        txn.commit_wait()?;
        kill_point("meta.committed");
        Ok(())
    }

    pub fn meta_put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.meta_write(&[(key, Some(value))])
    }

    pub fn meta_delete(&self, key: &[u8]) -> Result<()> {
        self.meta_write(&[(key, None)])
    }

    /// Keys (whole) and values of all keys that start with `prefix`, in order.
    pub fn meta_scan(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut records = self.transaction().meta_scan(KeyRange::prefix(&keys::meta(prefix)))?;
        for (key, _) in &mut records {
            key.remove(0);
        }
        Ok(records)
    }
}

fn put_meta(txn: &mut Transaction, changes: &MetaChanges<'_>) -> Result<()> {
    changes.iter().try_for_each(|(key, value)| match value {
        Some(value) => txn.meta_put(&keys::meta(key), value),
        None => txn.meta_delete(&keys::meta(key)),
    })
}

impl Drop for Catalog {
    fn drop(&mut self) {
        self.close();
    }
}

impl Catalog {
    /// Ends the thread that frees dropped indexes. At shutdown, before `Store::shutdown`.
    pub fn close(&self) {
        self.reclaim.stop();
        // The thread itself may hold the last reference.
        if let Some(thread) = self.reclaimer.lock().take().filter(|t| t.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// Prepared XA transactions have written entries of indexes that an ALTER was building when the server ended.
fn deferred_at_start(store: &Arc<Store>) -> Result<Vec<online::Deferred>> {
    let written = store.xa_written_indexes()?;
    Ok(written.into_iter().map(|(owner, indexes)| online::Deferred { indexes, until: vec![owner] }).collect())
}

fn internal_transaction(store: &Arc<Store>, interrupt: Arc<Interrupt>) -> Transaction {
    internal_transaction_at(store, Isolation::ReadCommitted, interrupt)
}

fn internal_transaction_at(store: &Arc<Store>, isolation: Isolation, interrupt: Arc<Interrupt>) -> Transaction {
    store.begin(TxnOptions { isolation, interrupt, ..TxnOptions::default() })
}
