//! ADD INDEX by files: the entries of all rows, sorted.
//!
//! 1. While writers note the rows that they change (`building`), the entries of a snapshot are sorted and written to files, which no log and no
//!    memtable sees. No row is locked. As many threads as there are cores free read the rows of a part of the table each.
//! 2. The files become part of the data in one step, and from then on writers keep entries.
//! 3. Each noted row is locked, once its writer has ended: what the snapshot's row gave is deleted, what its latest version gives is written.
//!    These are the batches that `online` has, and so are the rules: it waits for a lock only while it holds nothing.
//!
//! An entry of an index that is not unique belongs to one row alone, so that rows may be caught up with one by one. Values of a unique index move
//! from row to row: those go through the rows as `online` says, as all do when writers note too much.

use vaquita_types::{Error, Result, Value};

use super::building::{Building, EntryBuffers};
use super::table::Table;
use super::{Catalog, DdlContext};
use crate::base::helpers::{Helpers, Pace, Queue, cores};
use crate::base::kill_points::kill_point;
use crate::commit::records::Records;
use crate::commit::{CommitRequest, Touched};
use crate::encoding::KeyRange;
use crate::locks::{LockMode, LockPolicy};
use crate::rocks::SortedFiles;
use crate::spill::sorted_run::{Run, RunFile};
use crate::spill::sorter::SortBuffer;
use crate::txn::{Direction, Keep, Reads, ScanOptions, SharedView, Transaction, Version};

/// Rows and entries between two looks whether the statement was killed.
const CHECK_ROWS: u64 = 1 << 10;
const READAHEAD_BYTES: usize = 1 << 20;
/// Parts of the table for each thread, and bytes of one at least.
const PIECES_PER_THREAD: usize = 8;
const PIECE_BYTES_MIN: u64 = 1 << 20;

impl Catalog {
    /// Gives the indexes that are built their entries. False: there was too much to catch up with, and nothing was done.
    pub(super) fn build_sorted(&self, handle: &Table, building: &Building, context: &DdlContext) -> Result<bool> {
        let [read, write] = [(); 2].map(|()| super::internal_transaction(&self.store, context.interrupt.clone()));
        let mut build = Build {
            table: handle,
            building,
            context,
            read,
            write,
            batch_rows: self.batch_rows(),
            buffers: EntryBuffers::default(),
        };
        let files = build.sort().and_then(|files| match files {
            Some(files) => self.add_files(files).map(|()| true),
            None => Ok(false),
        });
        // However it ended, nobody goes through the notes of later writers.
        let keys = building.take_notes();
        kill_point("alter.sorted-added");
        if files? {
            build.catch_up(keys.into_iter().collect())?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Nobody reads the indexes yet, and nobody writes them, so that no lock is needed and no key is noted.
    fn add_files(&self, files: SortedFiles) -> Result<()> {
        self.store.submit_and_wait(CommitRequest {
            records: Records::with_capacity(0),
            touched: Touched::Keys(Vec::new()),
            files: Some(files),
            counters: Vec::new(),
            log: Vec::new(),
            owner: None,
            held: Default::default(),
            interrupt: None,
        })
    }
}

struct Build<'a> {
    table: &'a Table,
    building: &'a Building,
    context: &'a DdlContext,
    /// Has the snapshot.
    read: Transaction,
    write: Transaction,
    batch_rows: usize,
    buffers: EntryBuffers,
}

/// What threads share that sort entries.
struct Source<'a> {
    table: &'a Table,
    building: &'a Building,
    context: &'a DdlContext,
    view: &'a SharedView,
    /// Ranges of the table's rows.
    pieces: &'a Queue<'a, KeyRange>,
    file: &'a RunFile,
}

impl Source<'_> {
    /// Sorted runs of the entries of one piece after the other, until none is left.
    fn sort(&self, buffer_bytes: usize) -> Result<Option<Vec<Run>>> {
        let read = self.view.transaction();
        let options = ScanOptions {
            keep: Keep::Nothing,
            spans: false,
            readahead_bytes: READAHEAD_BYTES,
            version: Version::Snapshot,
            ..ScanOptions::default()
        };
        let columns = self.building.columns_read();
        let (mut buffer, mut runs) = (SortBuffer::new(buffer_bytes), Vec::new());
        let (mut rows, mut row, mut entry, mut pace) = (0, Vec::new(), EntryBuffers::default(), Pace::begin());
        while let Some((_, range)) = self.pieces.take() {
            let mut cursor = read.scan(range.clone(), Direction::Forward, options)?;
            while let Some((key, value)) = cursor.next(&read)? {
                rows += 1;
                pace.step();
                if rows % CHECK_ROWS == 0 {
                    self.context.interrupt.check()?;
                    self.context.progress.add_rows(CHECK_ROWS);
                    if self.building.has_too_many_notes() {
                        return Ok(None);
                    }
                }
                match &columns {
                    Some(columns) => self.table.codec.decode_columns(key, value, columns, &mut row)?,
                    None => row = self.table.codec.decode_row(key, value)?,
                }
                if buffer.is_full() {
                    runs.push(buffer.write_run(self.file)?);
                }
                self.building.each_entry(&row, self.table.row_id(key)?, &mut entry, |key, value| {
                    buffer.add(key, value);
                    Ok(())
                })?;
            }
        }
        self.context.progress.add_rows(rows % CHECK_ROWS);
        if !buffer.is_empty() {
            runs.push(buffer.write_run(self.file)?);
        }
        Ok(Some(runs))
    }
}

impl Build<'_> {
    /// The files of the snapshot's entries; none if writers have noted too much.
    fn sort(&mut self) -> Result<Option<SortedFiles>> {
        self.read.begin_statement(Reads::Many);
        let view = self.read.share_view().ok_or_else(|| Error::internal("an index build that has written"))?;
        let store = self.read.store().clone();
        let all = self.table.codec.clustered().all();
        let piece_bytes = (store.range_bytes(&all)? / (cores() * PIECES_PER_THREAD) as u64).max(PIECE_BYTES_MIN);
        let ranges = store.split(&all, piece_bytes)?;
        let pieces = Queue::new(&ranges);
        let helpers = Helpers::take(ranges.len().saturating_sub(1));
        let file = store.scratches().new_file()?;
        let buffer_bytes = store.options().write_set_bytes / (helpers.count() + 1);
        let source = Source {
            table: self.table,
            building: self.building,
            context: self.context,
            view: &view,
            pieces: &pieces,
            file: &file,
        };
        let sorted = helpers.run("index", || {
            let sorted = source.sort(buffer_bytes);
            if !matches!(sorted, Ok(Some(_))) {
                pieces.stop();
            }
            sorted
        });
        let Some(runs) = sorted.into_iter().collect::<Result<Option<Vec<_>>>>()? else { return Ok(None) };
        kill_point("alter.sorted");
        let runs: Vec<&Run> = runs.iter().flatten().collect();
        let files = store.sorted_files(&file, &runs, &self.context.interrupt)?;
        self.context.interrupt.check()?;
        Ok(if self.building.has_too_many_notes() { None } else { Some(files) })
    }

    fn catch_up(&mut self, mut keys: Vec<Box<[u8]>>) -> Result<()> {
        keys.sort_unstable();
        for keys in keys.chunks(self.batch_rows) {
            for key in keys {
                self.context.interrupt.check()?;
                if !self.write.lock_key(key, LockMode::S, LockPolicy::SkipLocked)? {
                    // Gives all locks back.
                    self.write.commit_wait()?;
                    // As `online` waits.
                    self.write.spare();
                    self.write.lock_key(key, LockMode::S, LockPolicy::Wait(self.context.wait))?;
                }
                self.catch_up_row(key)?;
            }
            self.write.commit_wait()?;
            kill_point("alter.caught-up");
        }
        Ok(())
    }

    /// Of a row that is locked.
    fn catch_up_row(&mut self, key: &[u8]) -> Result<()> {
        let mut value = Vec::new();
        let then = match self.read.get(key, Version::Snapshot, &mut value)? {
            true => self.entries(key, &value)?,
            false => Vec::new(),
        };
        let now = match self.write.get(key, Version::Latest, &mut value)? {
            true => self.entries(key, &value)?,
            false => Vec::new(),
        };
        for (entry, _) in &then {
            if now.iter().all(|(other, _)| other != entry) {
                self.write.delete(entry)?;
            }
        }
        now.iter().try_for_each(|(entry, value)| self.write.put(entry, value))
    }

    fn entries(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let row: Vec<Value> = self.table.codec.decode_row(key, value)?;
        let row_id = self.table.row_id(key)?;
        let mut entries = Vec::new();
        self.building.each_entry(&row, row_id, &mut self.buffers, |key, value| {
            entries.push((key.to_vec(), value.to_vec()));
            Ok(())
        })?;
        Ok(entries)
    }
}
