//! What an ALTER writes into new index ids, which nobody else can use yet.
//!
//! Few rows are written in batches of transactions. Where there are more, keys and values are sorted into files, which become part of the data in one
//! step: no log and no memtable sees them, and no key is looked for before it is written. What has the same key as another is found when the
//! sorted runs are merged.
//!
//! As many threads as there are cores free read, convert and sort the rows of a part of the table each, if a row's conversion depends on it
//! alone (`AloneMap`). Where it does not, or there is something to say of a row (a warning, an error, with its number), one thread does it, in the
//! order of the rows; the merge has all cores again.

use parking_lot::Mutex;
use vaquita_types::{Error, Result, Value};

use super::alter::AloneMap;
use super::in_parts::{CHECK_ROWS, PartReader, read_in_parts};
use super::table::{Buffers, Duplicate, Table, Written};
use super::{Catalog, DdlContext};
use crate::base::kill_points::kill_point;
use crate::encoding::key::Entry;
use crate::spill::sorted_run::{Run, RunCursor, RunFile, SameKey};
use crate::spill::sorter::SortedRuns;
use crate::txn::Transaction;

/// Bytes of rows of one batch, where rows are long; else `Tuning::build_batch_rows` bounds it.
const BATCH_BYTES: usize = 8 << 20;

pub(super) enum Writer<'c> {
    Batches(Batch<'c>),
    Sorted(Sorted<'c>),
}

/// From where rows are copied, and to where.
pub(super) struct Copied<'a> {
    pub old: &'a Table,
    pub new: &'a Table,
    /// Positions of the new indexes that are filled.
    pub fill: &'a [usize],
}

impl<'c> Writer<'c> {
    pub fn begin(catalog: &'c Catalog, context: &'c DdlContext, rows: u64) -> Result<Writer<'c>> {
        Ok(match rows > catalog.batch_rows() as u64 {
            true => Writer::Sorted(Sorted::begin(catalog, context)?),
            false => Writer::Batches(Batch::new(catalog, context)),
        })
    }

    /// Writes a row and its entries, or those of new indexes, to `into`. `row_id` keeps that of a copied row; `bytes`: of what was read.
    pub fn add(&mut self, into: &Table, row: &[Value], row_id: Option<u64>, fill: &[usize], bytes: usize) -> Result<()> {
        match self {
            Writer::Batches(batch) => {
                match into.load(&mut batch.txn, row, row_id, fill, &mut batch.buffers)? {
                    Written::Done | Written::Skipped => {}
                    Written::Duplicate(duplicate) => return Err(into.duplicate_error(&duplicate, row)),
                }
                batch.wrote(bytes)
            }
            Writer::Sorted(sorted) => sorted.add(into, row, row_id, fill),
        }
    }

    /// All of it is part of the data. `row_of` gives the row of a key of a clustered index that was not written.
    pub fn finish(self, new: &Table, row_of: &dyn Fn(&[u8]) -> Result<Option<Vec<Value>>>) -> Result<()> {
        match self {
            Writer::Batches(mut batch) => batch.txn.commit_wait().map(drop)?,
            Writer::Sorted(sorted) => sorted.finish(new, row_of)?,
        }
        kill_point("alter.built");
        Ok(())
    }
}

pub(super) struct Batch<'c> {
    txn: Transaction,
    buffers: Buffers,
    context: &'c DdlContext,
    rows: usize,
    bytes: usize,
    rows_max: usize,
}

impl<'c> Batch<'c> {
    fn new(catalog: &Catalog, context: &'c DdlContext) -> Batch<'c> {
        let rows_max = catalog.store.options().tuning.build_batch_rows;
        Batch { txn: catalog.transaction(), buffers: Buffers::default(), context, rows: 0, bytes: 0, rows_max }
    }

    /// Commits when the batch is large enough; fails if the statement was killed.
    fn wrote(&mut self, bytes: usize) -> Result<()> {
        self.rows += 1;
        self.bytes += bytes;
        if self.rows >= self.rows_max || self.bytes >= BATCH_BYTES {
            self.context.interrupt.check()?;
            self.txn.commit_wait()?;
            kill_point("alter.batch");
            (self.rows, self.bytes) = (0, 0);
        }
        Ok(())
    }
}

pub(super) struct Sorted<'c> {
    catalog: &'c Catalog,
    context: &'c DdlContext,
    /// Has the row ids that are given out.
    txn: Transaction,
    file: RunFile,
    own: Entries,
    rows: u64,
    /// Of other threads.
    runs: Vec<Run>,
}

/// What one thread writes: rows, which nearly always ascend, and entries of other indexes.
struct Entries {
    rows: SortedRuns,
    others: SortedRuns,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Entries {
    fn new(bytes_max: usize) -> Entries {
        let [rows, others] = [(); 2].map(|()| SortedRuns::new(bytes_max / 2));
        Entries { rows, others, key: Vec::new(), value: Vec::new() }
    }

    fn add(&mut self, file: &RunFile, into: &Table, row: &[Value], row_id: u64, fill: &[usize]) -> Result<()> {
        let buffers = (&mut self.key, &mut self.value);
        for index in fill.iter().filter_map(|n| into.codec.indexes().get(*n)) {
            if index.is_clustered() {
                into.codec.encode_row(row, buffers.1)?;
                index.encode_clustered(row, row_id, buffers.0)?;
                self.rows.add(file, buffers.0, buffers.1)?;
            } else {
                index.each_entry(row, row_id, (buffers.0, buffers.1), |key, value, _| self.others.add(file, key, value))?;
            }
        }
        Ok(())
    }

    fn finish(self, file: &RunFile) -> Result<Vec<Run>> {
        let mut runs = self.rows.finish(file)?;
        runs.append(&mut self.others.finish(file)?);
        Ok(runs)
    }
}

impl<'c> Sorted<'c> {
    fn begin(catalog: &'c Catalog, context: &'c DdlContext) -> Result<Sorted<'c>> {
        let file = catalog.store.scratches().new_file()?;
        let own = Entries::new(catalog.store.options().write_set_bytes);
        Ok(Sorted { catalog, context, txn: catalog.transaction(), file, own, rows: 0, runs: Vec::new() })
    }

    fn add(&mut self, into: &Table, row: &[Value], row_id: Option<u64>, fill: &[usize]) -> Result<()> {
        self.rows += 1;
        if self.rows.is_multiple_of(CHECK_ROWS) {
            self.context.interrupt.check()?;
        }
        let row_id = match row_id {
            Some(id) => id,
            None if into.def.hidden_rowid => self.txn.next_row_id(into.def.id)?,
            None => 0,
        };
        self.own.add(&self.file, into, row, row_id, fill)
    }

    /// Copies all rows by several threads, and says how many there were; `None` if `map` refuses one, and nothing is copied.
    pub fn copy_in_parts(&mut self, copied: &Copied<'_>, read: &mut Transaction, map: &dyn AloneMap) -> Result<Option<u64>> {
        let bytes_max = self.catalog.store.options().write_set_bytes;
        let file = &self.file;
        let rows = |threads| Rows {
            copied,
            map,
            file,
            columns: (0..copied.old.def.columns.len()).collect(),
            before: Vec::new(),
            after: Vec::new(),
            entries: Entries::new(bytes_max / threads),
            count: 0,
        };
        let Some(made) = read_in_parts(copied.old, read, self.context, "copy", rows)? else {
            self.file.cut(None);
            return Ok(None);
        };
        let (counts, runs): (Vec<u64>, Vec<Vec<Run>>) = made.into_iter().unzip();
        self.runs = runs.into_iter().flatten().collect();
        Ok(Some(counts.iter().sum()))
    }

    fn finish(mut self, new: &Table, row_of: &dyn Fn(&[u8]) -> Result<Option<Vec<Value>>>) -> Result<()> {
        let mut runs = self.own.finish(&self.file)?;
        runs.append(&mut self.runs);
        kill_point("alter.sorted");
        let all: Vec<&Run> = runs.iter().collect();
        let twice = Mutex::default();
        let files = self.catalog.store.sorted_files(&self.file, &all, SameKey::Fails(&twice), &self.context.interrupt);
        if let Some((key, value)) = twice.into_inner() {
            let find = |key: &[u8]| find(&self.file, &runs, key);
            return Err(duplicate(new, Entry { key: &key, value: &value }, &find, row_of)?);
        }
        let files = files?;
        self.context.interrupt.check()?;
        // Row ids that were given out are not given out again.
        self.txn.commit_wait()?;
        self.catalog.add_files(files)?;
        kill_point("alter.sorted-added");
        Ok(())
    }
}

/// Copies the rows that one thread reads.
struct Rows<'a> {
    copied: &'a Copied<'a>,
    map: &'a dyn AloneMap,
    file: &'a RunFile,
    /// All that the old table has.
    columns: Vec<usize>,
    before: Vec<Value>,
    after: Vec<Value>,
    entries: Entries,
    count: u64,
}

impl PartReader for Rows<'_> {
    type Made = (u64, Vec<Run>);

    fn row(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let Copied { old, new, fill } = self.copied;
        self.count += 1;
        old.codec.decode_columns(key, value, &self.columns, &mut self.before)?;
        if !self.map.map(&mut self.before, &mut self.after)? {
            return Ok(false);
        }
        let row_id = if new.def.hidden_rowid { old.row_id(key)? } else { 0 };
        self.entries.add(self.file, new, &self.after, row_id, fill)?;
        Ok(true)
    }

    fn finish(self) -> Result<(u64, Vec<Run>)> {
        Ok((self.count, self.entries.finish(self.file)?))
    }
}

/// The value that one of the runs has for a key.
fn find(file: &RunFile, runs: &[Run], key: &[u8]) -> Result<Option<Vec<u8>>> {
    for run in runs.iter().filter(|run| run.may_contain(key)) {
        let mut cursor = RunCursor::default();
        cursor.seek(file, run, key)?;
        if cursor.valid() && cursor.entry().0 == key {
            return Ok(cursor.entry().1.map(<[u8]>::to_vec));
        }
    }
    Ok(None)
}

/// Error 1062 for an entry whose key comes twice. The value of its row's key is found in what was written, or its row elsewhere.
fn duplicate(
    new: &Table,
    entry: Entry<'_>,
    find: &dyn Fn(&[u8]) -> Result<Option<Vec<u8>>>,
    row_of: &dyn Fn(&[u8]) -> Result<Option<Vec<Value>>>,
) -> Result<Error> {
    let mut error = Error::internal("an entry of no row");
    new.for_each_stored(|part| {
        let mut indexes = part.codec.indexes().iter().enumerate();
        let Some((index, codec)) = indexes.find(|(_, codec)| codec.all().contains(entry.key)) else { return Ok(()) };
        let mut clustered_key = Vec::new();
        codec.clustered_key(entry, &mut clustered_key)?;
        let row = match find(&clustered_key)? {
            Some(value) => Some(part.codec.decode_row(&clustered_key, &value)?),
            None => row_of(&clustered_key)?,
        };
        if let Some(row) = row {
            error = new.duplicate_error(&Duplicate { index, clustered_key }, &row);
        }
        Ok(())
    })?;
    Ok(error)
}
