//! Indexes that an ALTER builds while the table is read and written.
//!
//! A `Table` handle may carry a `Building`: the definition that the table will have, and which of its indexes have no
//! entries yet. Whoever writes a row through the handle keeps their entries too, in its own write set, so that every
//! rollback takes them back as well; readers, and everything that looks at `Table::def`, see the old indexes only. The
//! ALTER itself goes through the rows (`online`) and calls `fill` for each, under a lock of the row.
//!
//! Example, with an index on v: row 1 has v = 5 and the ALTER has not come to it.
//! `UPDATE … SET v = 6` deletes the entry (5, 1), which is not there, and writes (6, 1). The ALTER waits for the row, reads
//! v = 6 and writes (6, 1) once more.
//!
//! Where rows are many, the ALTER does not go through them one by one (`sorted`): it sorts the entries of a snapshot into files. Until these are
//! part of the data, writers *note* the keys of their rows instead of keeping entries, and afterwards the ALTER goes through the noted rows.
//! With an index that is unique they note until nobody may write any more.
//!
//! * BUILD-1: entries of a row are written under a lock of the row, and those of a unique index under a lock of the
//!   entry's key as well; what is written is made of the row's latest version. So any order of writers ends alike.
//! * BUILD-2: an entry of a unique index is only deleted or replaced on behalf of the row that it points to.
//! * BUILD-3: a duplicate never fails the statement that makes it: the build fails (`fail`), and with it the ALTER. As
//!   in MySQL it does so even if the duplicate is rolled back later.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use vaquita_types::schema::{IndexId, TableDef};
use vaquita_types::{Error, Result, Value, errno};

use super::table::{Duplicate, Table};
use crate::encoding::key::{Entry, IndexCodec};
use crate::locks::{LockMode, LockPolicy};
use crate::txn::{Transaction, Version};

/// The column of the old definition that a new column is, and what it holds if there is none.
type Source = (Option<usize>, Value);

#[derive(Debug)]
pub struct Building {
    /// The table as it will be; not in the catalog.
    target: Table,
    /// Positions in its indexes.
    fill: Vec<usize>,
    /// Empty: the columns stay as they are.
    sources: Vec<Source>,
    failed: OnceLock<Error>,
    /// Writers note their rows.
    notes: AtomicBool,
    /// Clustered keys; `None` once nothing is noted any more.
    noted: Mutex<Option<Noted>>,
    /// Bytes of them that are too many to go through their rows again.
    noted_bytes_max: usize,
    /// Rows that were changed, for an ALTER that checks foreign keys (`validation`).
    changed: Option<Mutex<Noted>>,
}

#[derive(Debug, Default)]
struct Noted {
    keys: HashSet<Box<[u8]>>,
    bytes: usize,
    /// Some were not kept.
    lost: bool,
}

impl Noted {
    /// More than `bytes_max` is lost.
    fn add(&mut self, key: Vec<u8>, bytes_max: usize) {
        let bytes = key.len() + NOTE_OVERHEAD_BYTES;
        if self.bytes > bytes_max {
            self.lost = true;
        } else if self.keys.insert(key.into()) {
            self.bytes += bytes;
        }
    }

    /// `None`: some were lost.
    fn all(self) -> Option<HashSet<Box<[u8]>>> {
        (!self.lost).then_some(self.keys)
    }
}

/// Bytes of noted keys after which the builder stops, and twice as many are kept: the rest are those that come until it does.
const KEPT_TIMES: usize = 2;
/// Bytes of keys that were changed while foreign keys are checked.
const CHANGED_BYTES_MAX: usize = 64 << 20;
/// Of one key, estimated.
const NOTE_OVERHEAD_BYTES: usize = 40;

/// Scratch space.
#[derive(Default)]
pub struct EntryBuffers {
    key: Vec<u8>,
    value: Vec<u8>,
    found: Vec<u8>,
    points_to: Vec<u8>,
    clustered: Vec<u8>,
}

/// What became of one row of a build.
#[derive(Debug, PartialEq, Eq)]
pub enum Filled {
    Done,
    /// Somebody else has this key of a unique index locked: wait for it, and fill the row again.
    Locked(Vec<u8>),
}

/// What there is under the key of an entry of a unique index.
enum There {
    Nothing,
    OwnEntry,
    Others(Vec<u8>),
}

impl Building {
    /// `new` is what `old` becomes, rows staying as they are; `built` are the indexes without entries.
    pub fn new(old: &TableDef, new: &TableDef, built: &[IndexId]) -> Result<Building> {
        let fill = (0..new.indexes.len()).filter(|n| built.contains(&new.indexes[*n].id)).collect();
        let mut sources: Vec<Source> = new.columns.iter().map(|c| (old.position_of(c.id), c.added_default.clone())).collect();
        if old.columns.len() == new.columns.len() && sources.iter().enumerate().all(|(n, source)| source.0 == Some(n)) {
            sources.clear();
        }
        let target = Table::new(std::sync::Arc::new(new.clone()))?;
        let (failed, notes) = (OnceLock::new(), AtomicBool::new(false));
        Ok(Building { target, fill, sources, failed, notes, noted: Mutex::default(), noted_bytes_max: 0, changed: None })
    }

    /// `new`, and writers note all rows that they change.
    pub fn watching(old: &TableDef, new: &TableDef, built: &[IndexId]) -> Result<Building> {
        Ok(Building { changed: Some(Mutex::default()), ..Building::new(old, new, built)? })
    }

    /// The rows changed since; `None`: too many.
    pub fn take_changed(&self) -> Option<HashSet<Box<[u8]>>> {
        std::mem::take(&mut *self.changed.as_ref()?.lock()).all()
    }

    fn note_changed(&self, row: &[Value], row_id: u64) -> Result<()> {
        let Some(changed) = &self.changed else { return Ok(()) };
        let key = self.clustered_key(row, row_id)?;
        changed.lock().add(key, CHANGED_BYTES_MAX);
        Ok(())
    }

    fn clustered_key(&self, row: &[Value], row_id: u64) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        self.target.codec.clustered().encode_clustered(row, row_id, &mut key)?;
        Ok(key)
    }

    pub fn has_unique(&self) -> bool {
        self.indexes().any(|(_, index)| index.is_unique())
    }

    /// From here on writers note rows. Nobody has written yet.
    pub fn note_rows(&mut self, bytes_max: usize) {
        if self.indexes().all(|(_, index)| !index.is_multi_valued()) {
            self.noted_bytes_max = bytes_max;
            *self.noted.lock() = Some(Noted::default());
            self.notes.store(true, Ordering::Release);
        }
    }

    pub fn notes_rows(&self) -> bool {
        self.notes.load(Ordering::Acquire)
    }

    /// Whether writers have noted too much.
    pub fn has_too_many_notes(&self) -> bool {
        self.noted.lock().as_ref().is_some_and(|noted| noted.bytes > self.noted_bytes_max)
    }

    /// The rows noted so far; writers go on noting. Error 1799 if that were more than are kept.
    pub fn swap_notes(&self) -> Result<HashSet<Box<[u8]>>> {
        let noted = self.noted.lock().as_mut().map(std::mem::take).unwrap_or_default();
        noted.all().ok_or_else(|| self.too_many_notes())
    }

    /// The rows noted, or error 1799; from here on writers keep entries.
    pub fn take_notes(&self) -> Result<HashSet<Box<[u8]>>> {
        let mut noted = self.noted.lock();
        self.notes.store(false, Ordering::Release);
        noted.take().unwrap_or_default().all().ok_or_else(|| self.too_many_notes())
    }

    fn too_many_notes(&self) -> Error {
        let name = self.fill.first().and_then(|n| self.target.def.indexes.get(*n)).map_or("", |index| &index.name);
        Error::new(&errno::ER_INNODB_ONLINE_LOG_TOO_BIG, &[&name])
    }

    /// False: the writer has to keep the row's entries.
    fn note(&self, row: &[Value], row_id: u64) -> Result<bool> {
        if !self.notes_rows() {
            return Ok(false);
        }
        let key = self.clustered_key(row, row_id)?;
        let mut noted = self.noted.lock();
        let Some(noted) = &mut *noted else { return Ok(false) };
        noted.add(key, self.noted_bytes_max.saturating_mul(KEPT_TIMES));
        Ok(true)
    }

    /// Positions of the old columns that entries are made of, if rows stay as they are.
    pub fn columns_read(&self) -> Option<Vec<usize>> {
        let clustered = self.target.codec.clustered().columns();
        let mut columns: Vec<usize> = clustered.chain(self.indexes().flat_map(|(_, index)| index.columns())).collect();
        columns.sort_unstable();
        columns.dedup();
        self.sources.is_empty().then_some(columns)
    }

    /// Calls `f` with the row's entries in the indexes that are built, each with the position of its index and whether its key alone is unique.
    pub fn each_entry(
        &self,
        row: &[Value],
        row_id: u64,
        b: &mut EntryBuffers,
        mut f: impl FnMut((usize, bool), &[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let row = self.row(row);
        let buffers = &mut (&mut b.key, &mut b.value);
        self.indexes().try_for_each(|(n, index)| {
            index.each_entry(&row, row_id, (buffers.0, buffers.1), |key, value, unique| f((n, unique), key, value))
        })
    }

    /// Error 1062 for a row (of the old columns) with an entry of a unique index that another row has.
    pub fn duplicate_error(&self, index: usize, row: &[Value]) -> Error {
        self.target.duplicate_error(&Duplicate { index, clustered_key: Vec::new() }, &self.row(row))
    }

    /// The index that an entry is of, and the clustered key of its row.
    pub fn points_to(&self, entry: Entry<'_>) -> Result<Option<(usize, Vec<u8>)>> {
        let of = self.indexes().find(|(_, index)| index.all().contains(entry.key));
        of.map(|(n, index)| {
            let mut key = Vec::new();
            index.clustered_key(entry, &mut key)?;
            Ok((n, key))
        })
        .transpose()
    }

    /// The first error stays.
    pub fn fail(&self, error: Error) {
        let _ = self.failed.set(error);
    }

    pub fn check(&self) -> Result<()> {
        self.failed.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    fn is_failed(&self) -> bool {
        self.failed.get().is_some()
    }

    fn indexes(&self) -> impl Iterator<Item = (usize, &IndexCodec)> {
        self.fill.iter().filter_map(|n| self.target.codec.indexes().get(*n).map(|index| (*n, index)))
    }

    /// The row of the new columns.
    fn row<'r>(&self, row: &'r [Value]) -> Cow<'r, [Value]> {
        if self.sources.is_empty() {
            return Cow::Borrowed(row);
        }
        let value = |(position, default): &Source| position.map_or(default, |at| row.get(at).unwrap_or(default)).clone();
        Cow::Owned(self.sources.iter().map(value).collect())
    }

    /// A row was inserted.
    pub fn inserted(&self, txn: &mut Transaction, row: &[Value], row_id: u64, policy: LockPolicy) -> Result<()> {
        if self.is_failed() {
            return Ok(());
        }
        let (row, mut b) = (self.row(row), EntryBuffers::default());
        self.note_changed(&row, row_id)?;
        if self.note(&row, row_id)? {
            return Ok(());
        }
        self.indexes().try_for_each(|(n, index)| self.put(txn, (n, index), &row, row_id, policy, &mut b))
    }

    pub fn deleted(&self, txn: &mut Transaction, row: &[Value], row_id: u64, policy: LockPolicy) -> Result<()> {
        if self.is_failed() {
            return Ok(());
        }
        let (row, mut b) = (self.row(row), EntryBuffers::default());
        self.note_changed(&row, row_id)?;
        if self.note(&row, row_id)? {
            return Ok(());
        }
        self.indexes().try_for_each(|(_, index)| self.delete(txn, index, &row, row_id, policy, &mut b))
    }

    /// `moved`: the clustered key changed.
    pub fn updated(
        &self,
        txn: &mut Transaction,
        (old, new): (&[Value], &[Value]),
        row_id: u64,
        moved: bool,
        policy: LockPolicy,
    ) -> Result<()> {
        if self.is_failed() {
            return Ok(());
        }
        let (old, new, mut b) = (self.row(old), self.row(new), EntryBuffers::default());
        self.note_changed(&new, row_id)?;
        if moved {
            self.note_changed(&old, row_id)?;
        }
        if self.note(&new, row_id)? && (!moved || self.note(&old, row_id)?) {
            return Ok(());
        }
        for (n, index) in self.indexes() {
            if moved || index.has_many_entries() || !index.same_entry(&old, &new) {
                self.delete(txn, index, &old, row_id, policy, &mut b)?;
                self.put(txn, (n, index), &new, row_id, policy, &mut b)?;
            }
        }
        Ok(())
    }

    /// The ALTER comes to a row, which it has locked. It waits for nobody: entries of unique indexes are tried. Error 1062
    /// if another row has the key.
    pub(crate) fn fill(&self, txn: &mut Transaction, row: &[Value], row_id: u64, b: &mut EntryBuffers) -> Result<Filled> {
        let row = self.row(row);
        for (n, index) in self.indexes() {
            if index.has_many_entries() {
                index.each_entry(&row, row_id, (&mut b.key, &mut b.value), |key, value, _| txn.put(key, value))?;
                continue;
            }
            if index.encode_entry(&row, row_id, &mut b.key, &mut b.value)? {
                if !txn.lock_key(&b.key, LockMode::X, LockPolicy::SkipLocked)? {
                    return Ok(Filled::Locked(b.key.clone()));
                }
                if let There::Others(clustered_key) = self.look(txn, index, &row, row_id, b)? {
                    return Err(self.target.duplicate_error(&Duplicate { index: n, clustered_key }, &row));
                }
            }
            txn.put(&b.key, &b.value)?;
        }
        Ok(Filled::Done)
    }

    fn put(
        &self,
        txn: &mut Transaction,
        (n, index): (usize, &IndexCodec),
        row: &[Value],
        row_id: u64,
        policy: LockPolicy,
        b: &mut EntryBuffers,
    ) -> Result<()> {
        if index.has_many_entries() {
            return index.each_entry(row, row_id, (&mut b.key, &mut b.value), |key, value, _| txn.put(key, value));
        }
        if index.encode_entry(row, row_id, &mut b.key, &mut b.value)? {
            self.lock(txn, &b.key, policy)?;
            if let There::Others(clustered_key) = self.look(txn, index, row, row_id, b)? {
                self.fail(self.target.duplicate_error(&Duplicate { index: n, clustered_key }, row));
                return Ok(());
            }
        }
        txn.put(&b.key, &b.value)
    }

    fn delete(
        &self,
        txn: &mut Transaction,
        index: &IndexCodec,
        row: &[Value],
        row_id: u64,
        policy: LockPolicy,
        b: &mut EntryBuffers,
    ) -> Result<()> {
        if index.has_many_entries() {
            return index.each_entry(row, row_id, (&mut b.key, &mut b.value), |key, _, _| txn.delete(key));
        }
        if index.encode_entry(row, row_id, &mut b.key, &mut b.value)? {
            self.lock(txn, &b.key, policy)?;
            // Of two rows with the same key, which is about to be found out, the other one may have it.
            if !matches!(self.look(txn, index, row, row_id, b)?, There::OwnEntry) {
                return Ok(());
            }
        }
        txn.delete(&b.key)
    }

    fn lock(&self, txn: &mut Transaction, key: &[u8], policy: LockPolicy) -> Result<()> {
        if txn.lock_key(key, LockMode::X, policy)? { Ok(()) } else { Err(Error::new(&errno::ER_LOCK_NOWAIT, &[])) }
    }

    /// Whose entry is under `b.key`, which is locked.
    fn look(&self, txn: &Transaction, index: &IndexCodec, row: &[Value], row_id: u64, b: &mut EntryBuffers) -> Result<There> {
        if !txn.get(&b.key, Version::Latest, &mut b.found)? {
            return Ok(There::Nothing);
        }
        index.clustered_key(Entry { key: &b.key, value: &b.found }, &mut b.points_to)?;
        self.target.codec.clustered().encode_clustered(row, row_id, &mut b.clustered)?;
        Ok(if b.points_to == b.clustered { There::OwnEntry } else { There::Others(b.points_to.clone()) })
    }
}
