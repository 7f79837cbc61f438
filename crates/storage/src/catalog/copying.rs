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
use super::sorted::{CHECK_ROWS, READAHEAD_BYTES, pieces};
use super::table::{Buffers, Duplicate, Table, Written};
use super::{Catalog, DdlContext};
use crate::base::helpers::{Helpers, Pace, Queue};
use crate::base::kill_points::kill_point;
use crate::encoding::KeyRange;
use crate::encoding::key::Entry;
use crate::spill::sorted_run::{Run, RunCursor, RunFile, SameKey};
use crate::spill::sorter::SortBuffer;
use crate::txn::{Direction, Keep, ScanOptions, SharedView, Transaction, Version};

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

/// What one thread has made: rows, which nearly always ascend, and entries of other indexes.
struct Entries {
    rows: SortBuffer,
    others: SortBuffer,
    runs: Vec<Run>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Entries {
    fn new(bytes_max: usize) -> Entries {
        let [rows, others] = [(); 2].map(|()| SortBuffer::new(bytes_max / 2));
        Entries { rows, others, runs: Vec::new(), key: Vec::new(), value: Vec::new() }
    }

    fn add(&mut self, into: &Table, row: &[Value], row_id: u64, fill: &[usize], file: &RunFile) -> Result<()> {
        let buffers = (&mut self.key, &mut self.value);
        for index in fill.iter().filter_map(|n| into.codec.indexes().get(*n)) {
            if index.is_clustered() {
                into.codec.encode_row(row, buffers.1)?;
                index.encode_clustered(row, row_id, buffers.0)?;
                self.rows.add(buffers.0, buffers.1);
            } else {
                index.each_entry(row, row_id, (buffers.0, buffers.1), |key, value, _| {
                    self.others.add(key, value);
                    Ok(())
                })?;
            }
        }
        for buffer in [&mut self.rows, &mut self.others].into_iter().filter(|buffer| buffer.is_full()) {
            self.runs.push(buffer.write_run(file)?);
        }
        Ok(())
    }

    fn into_runs(mut self, file: &RunFile) -> Result<Vec<Run>> {
        for buffer in [&mut self.rows, &mut self.others].into_iter().filter(|buffer| !buffer.is_empty()) {
            self.runs.push(buffer.write_run(file)?);
        }
        Ok(self.runs)
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
        self.own.add(into, row, row_id, fill, &self.file)
    }

    /// Copies all rows in parts; `None` if `map` refuses one, and nothing is copied.
    pub fn copy_in_parts(&mut self, copied: &Copied<'_>, read: &mut Transaction, map: AloneMap<'_>) -> Result<Option<u64>> {
        let view = read.share_view().ok_or_else(|| Error::internal("a copy that has written"))?;
        let store = &self.catalog.store;
        let ranges = pieces(store, &copied.old.codec.clustered().all())?;
        let queue = Queue::new(&ranges);
        let helpers = Helpers::take(ranges.len().saturating_sub(1));
        let bytes_max = store.options().write_set_bytes / (helpers.count() + 1);
        let parts = Parts { copied, view: &view, pieces: &queue, file: &self.file, context: self.context, map };
        let work = || {
            let done = parts.copy(bytes_max);
            if !matches!(done, Ok(Some(_))) {
                queue.stop();
            }
            done
        };
        let parts = helpers.run("copy", work).into_iter().collect::<Result<Option<Vec<_>>>>()?;
        Ok(parts.map(|parts| {
            let (rows, runs): (Vec<u64>, Vec<Vec<Run>>) = parts.into_iter().unzip();
            self.runs = runs.into_iter().flatten().collect();
            rows.iter().sum()
        }))
    }

    fn finish(mut self, new: &Table, row_of: &dyn Fn(&[u8]) -> Result<Option<Vec<Value>>>) -> Result<()> {
        let mut runs = self.own.into_runs(&self.file)?;
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

/// What threads share that copy.
struct Parts<'a> {
    copied: &'a Copied<'a>,
    view: &'a SharedView,
    /// Ranges of the old table's rows.
    pieces: &'a Queue<'a, KeyRange>,
    file: &'a RunFile,
    context: &'a DdlContext,
    map: AloneMap<'a>,
}

impl Parts<'_> {
    /// Rows and sorted runs of one piece after the other, until none is left.
    fn copy(&self, bytes_max: usize) -> Result<Option<(u64, Vec<Run>)>> {
        let read = self.view.transaction();
        let (old, new, fill) = (self.copied.old, self.copied.new, self.copied.fill);
        let options = ScanOptions {
            keep: Keep::Nothing,
            spans: false,
            readahead_bytes: READAHEAD_BYTES,
            version: Version::Snapshot,
            ..ScanOptions::default()
        };
        let all_columns: Vec<usize> = (0..old.def.columns.len()).collect();
        let (mut entries, mut rows, mut pace) = (Entries::new(bytes_max), 0, Pace::begin());
        let (mut before, mut after) = (Vec::new(), Vec::new());
        while let Some((_, range)) = self.pieces.take() {
            let mut cursor = read.scan(range.clone(), Direction::Forward, options)?;
            while let Some((key, value)) = cursor.next(&read)? {
                rows += 1;
                pace.step();
                if rows % CHECK_ROWS == 0 {
                    self.context.interrupt.check()?;
                    self.context.progress.add_rows(CHECK_ROWS);
                }
                old.codec.decode_columns(key, value, &all_columns, &mut before)?;
                if !(self.map)(&mut before, &mut after)? {
                    return Ok(None);
                }
                let row_id = if old.def.hidden_rowid { old.row_id(key)? } else { 0 };
                entries.add(new, &after, row_id, fill, self.file)?;
            }
        }
        self.context.progress.add_rows(rows % CHECK_ROWS);
        Ok(Some((rows, entries.into_runs(self.file)?)))
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
