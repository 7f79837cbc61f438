//! ADD INDEX while the table is read and written.
//!
//! 1. Under a short S lock, which waits for transactions that wrote the table and lets readers be, `publish` puts a
//!    handle into the cache that carries the indexes as `Building` (`building`). It has the old definition,
//!    so plans stay good; nothing durable changes, and the index ids are on the drop list (CAT-2).
//! 2. Where rows are many, indexes are built of sorted files (`super::sorted`). Otherwise `Backfill` goes through the clustered index in batches. Each row is locked (S), read in its latest version, and its
//!    entries are written; the commit of the batch gives the locks back. It waits for a lock only while it holds nothing:
//!    if a row is locked, what the batch has is committed first. So it makes no deadlock, is the victim of none, and makes a writer wait for
//!    no longer than a batch.
//! 3. Under an X lock, the definition is installed as by any ALTER. Everybody who wrote through the handle has ended by then.
//! 4. If the build failed (1062, KILL, a timeout), `withdraw` puts a handle without the indexes back. Transactions that
//!    have written entries may still commit them, so the ids are freed when they have ended (`Deferred`).
//!
//! Rows that come after step 1 bring their entries with them, so a batch reads what there is when it begins, and no snapshot is
//! kept from the first row to the last.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_types::schema::{IndexId, TableDef, TableId};
use vaquita_types::{Error, Result, errno};

use super::building::{Building, EntryBuffers, Filled};
use super::ddl::DdlStatement;
use super::progress::Stage;
use super::table::Table;
use super::{Catalog, DdlContext};
use crate::base::kill_points::kill_point;
use crate::encoding::KeyRange;
use crate::encoding::key::Entry;
use crate::locks::{LockMode, LockPolicy};
use crate::txn::{Direction, Keep, Reads, ScanOptions, Transaction, Version};

/// Rows of one batch, whose locks writers may wait for.
const BATCH_ROWS_MAX: usize = 1024;
/// Bytes of rows of one batch, where rows are long.
const BATCH_BYTES: usize = 1 << 20;

/// An ALTER that waits for writers looks this often whether they have ended.
const WRITERS_EVERY: Duration = Duration::from_millis(10);

/// Waits until nobody writes the table, and sees to it that nobody does later.
pub(super) type KeepOut<'k> = &'k mut dyn FnMut() -> Result<()>;

/// Index ids on the drop list that transactions may still write.
#[derive(Debug)]
pub(super) struct Deferred {
    pub indexes: HashSet<IndexId>,
    /// Ids of the transactions.
    pub until: Vec<u64>,
}

impl Catalog {
    /// Gives the new indexes of `new` their entries and leaves the table locked (X) by the statement, which holds its DDL
    /// lock. The handle is the table's from here on; `withdraw` follows if the statement fails later.
    pub(super) fn build_online(
        &self,
        statement: &mut DdlStatement<'_>,
        old: &Arc<Table>,
        new: &TableDef,
        built: &[IndexId],
        context: &DdlContext,
    ) -> Result<Arc<Table>> {
        let mut building = Building::new(&old.def, new, built)?;
        statement.lock_table(old.def.id, LockMode::S, context)?;
        context.progress.enter(Stage::Preparing);
        self.prepare_notes(&mut building, old.def.id)?;
        let handle = self.publish(old, Some(building))?;
        statement.txn.rollback();
        kill_point("alter.published");
        let mut keep_out = || {
            context.progress.enter(Stage::WaitingToCommit);
            statement.lock_table(old.def.id, LockMode::X, context)
        };
        let filled = self.backfill(&handle, context, Some(&mut keep_out)).and_then(|()| {
            // Nobody writes any more.
            keep_out()?;
            handle.building().map_or(Ok(()), Building::check)
        });
        match filled {
            Ok(()) => Ok(handle),
            Err(error) => {
                self.withdraw(&handle, built)?;
                Err(error)
            }
        }
    }

    /// Rows of more than one batch are sorted, if they can be.
    pub(super) fn prepare_notes(&self, building: &mut Building, table: TableId) -> Result<()> {
        if self.transaction().row_count(table)? > self.batch_rows() as u64 {
            building.note_rows(self.store.options().tuning.build_notes_bytes);
        }
        Ok(())
    }

    pub(super) fn batch_rows(&self) -> usize {
        self.store.options().tuning.build_batch_rows.clamp(1, BATCH_ROWS_MAX)
    }

    /// `keep_out` sees to it that nobody writes any more; an index that is unique may need that in the end.
    pub(super) fn backfill(&self, handle: &Table, context: &DdlContext, keep_out: Option<KeepOut<'_>>) -> Result<()> {
        let Some(building) = handle.building() else { return Ok(()) };
        let rows = self.transaction().row_count(handle.def.id)?;
        context.progress.start_rows(Stage::ReadingRows, rows);
        let rows_max = self.batch_rows();
        let range = handle.codec.clustered().all();
        if building.notes_rows() {
            if self.build_sorted(handle, building, context, keep_out)? {
                kill_point("alter.backfilled");
                return Ok(());
            }
            self.wait_for_writers(handle.def.id, context)?;
        }
        let [read, write] = [(); 2].map(|()| super::internal_transaction(&self.store, context.interrupt.clone()));
        let mut backfill =
            Backfill { table: handle, building, context, rows_max, read, write, range, buffers: EntryBuffers::default() };
        backfill.run()?;
        kill_point("alter.backfilled");
        Ok(())
    }

    /// Waits for the transactions that use the table now. Who noted rows has kept no entries of them, and what he has not committed is in no
    /// snapshot of a batch.
    fn wait_for_writers(&self, table: TableId, context: &DdlContext) -> Result<()> {
        let writers = self.store.locks().table_users(table);
        let began = Instant::now();
        let mut waited = Ok(());
        self.store.hooks().threads.blocking(&mut || {
            while waited.is_ok() && self.store.locks().table_users(table).iter().any(|user| writers.contains(user)) {
                waited = match began.elapsed() < context.wait {
                    true => context.interrupt.check_wait(),
                    false => Err(Error::new(&errno::ER_LOCK_WAIT_TIMEOUT, &[])),
                };
                std::thread::sleep(WRITERS_EVERY);
            }
        });
        waited
    }

    /// Replaces the handle of a table, which other DDL is kept away from, by one of the same definition.
    pub(super) fn publish(&self, old: &Arc<Table>, building: Option<Building>) -> Result<Arc<Table>> {
        let _ddl = self.ddl.lock();
        let handle = Arc::new(old.rebuilt(building)?);
        if let Some(database) = self.cache.write().get_mut(&old.def.database) {
            let replaced = database.tables.insert(old.def.name.clone(), handle.clone());
            if let Some(other) = replaced.filter(|replaced| !Arc::ptr_eq(replaced, old)) {
                // The newer definition counts.
                database.tables.insert(old.def.name.clone(), other);
                return Err(Error::internal("a table that was changed while DDL was kept away"));
            }
        }
        // Whoever has found the old handle and has no lock yet looks again.
        old.set_stale(true);
        Ok(handle)
    }

    /// The build is given up. The ids stay away from `reclaim` until all who may write them have ended.
    pub(super) fn withdraw(&self, handle: &Arc<Table>, built: &[IndexId]) -> Result<()> {
        self.publish(handle, None)?;
        if built.is_empty() {
            return Ok(());
        }
        // Later users find that the handle is stale.
        let until = self.store.locks().table_users(handle.def.id);
        self.ddl.lock().deferred.push(Deferred { indexes: built.iter().copied().collect(), until });
        kill_point("alter.withdrawn");
        Ok(())
    }
}

/// Why a batch ended.
enum Batch {
    End,
    Full,
    /// Somebody has the row locked.
    Row(Vec<u8>),
    /// Somebody has an entry of the row locked.
    Entry(Vec<u8>),
}

struct Backfill<'a> {
    table: &'a Table,
    building: &'a Building,
    context: &'a DdlContext,
    rows_max: usize,
    read: Transaction,
    write: Transaction,
    /// Clustered keys to come.
    range: KeyRange,
    buffers: EntryBuffers,
}

impl Backfill<'_> {
    fn run(&mut self) -> Result<()> {
        loop {
            self.context.interrupt.check()?;
            self.building.check()?;
            let ended = self.batch()?;
            // Gives all locks back.
            self.write.commit_wait()?;
            kill_point("alter.batch");
            match ended {
                Batch::End => return Ok(()),
                Batch::Full => {}
                // The next batch begins with this row, whose lock it has.
                Batch::Row(key) => self.wait_for(&key)?,
                Batch::Entry(key) => {
                    self.wait_for(&key)?;
                    self.write.rollback();
                }
            }
        }
    }

    /// Who asks for the lock after this waits for it, too, and so it can be in a deadlock of two others without a lock of its own.
    fn wait_for(&mut self, key: &[u8]) -> Result<()> {
        self.write.spare();
        self.write.lock_key(key, LockMode::S, LockPolicy::Wait(self.context.wait)).map(drop)
    }

    /// Fills rows from the start of `range`, which begins with what is left afterwards.
    fn batch(&mut self) -> Result<Batch> {
        self.read.begin_statement(Reads::Many);
        let options = ScanOptions { keep: Keep::Nothing, spans: false, version: Version::Snapshot, ..ScanOptions::default() };
        let mut cursor = self.read.scan(self.range.clone(), Direction::Forward, options)?;
        let (mut row_key, mut row) = (Vec::new(), Vec::new());
        let (mut rows, mut bytes) = (0, 0);
        while rows < self.rows_max && bytes < BATCH_BYTES {
            let Some((key, value)) = cursor.next(&self.read)? else { return Ok(Batch::End) };
            row_key.clear();
            row_key.extend_from_slice(key);
            row.clear();
            row.extend_from_slice(value);
            if !self.write.lock_key(&row_key, LockMode::S, LockPolicy::SkipLocked)? {
                self.range.lower.clone_from(&row_key);
                return Ok(Batch::Row(row_key));
            }
            // Committed after the batch began to read: the lock says that this is the latest version.
            let there = !self.read.has_changed(&row_key)? || self.write.get(&row_key, Version::Latest, &mut row)?;
            if there && let Some(entry) = self.fill(&row_key, &row)? {
                self.range.lower = row_key;
                return Ok(Batch::Entry(entry));
            }
            rows += 1;
            bytes += row.len();
            self.context.progress.add_rows(1);
            // The smallest key behind it.
            self.range.lower.clone_from(&row_key);
            self.range.lower.push(0);
        }
        Ok(Batch::Full)
    }

    /// The key of the entry that somebody has locked, if any.
    fn fill(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        let values = self.table.codec.decode_row(key, value)?;
        let row_id = match self.table.def.hidden_rowid {
            true => {
                let clustered = self.table.codec.clustered();
                clustered.row_id(Entry { key, value }).ok_or_else(|| clustered.damaged(key))?
            }
            false => 0,
        };
        Ok(match self.building.fill(&mut self.write, &values, row_id, &mut self.buffers)? {
            Filled::Done => None,
            Filled::Locked(entry) => Some(entry),
        })
    }
}
