//! ADD INDEX by files: the entries of all rows, sorted.
//!
//! 1. While writers note the rows that they change (`building`), the entries of a snapshot are sorted and written to files, which no log and no
//!    memtable sees. No row is locked.
//! 2. The files become part of the data in one step, and from then on writers keep entries.
//! 3. Each noted row is locked, once its writer has ended: what the snapshot's row gave is deleted, what its latest version gives is written.
//!    These are the batches that `online` has, and so are the rules: it waits for a lock only while it holds nothing.
//!
//! An entry of an index that is not unique belongs to one row alone, so that rows may be caught up with one by one. Values of a unique index move
//! from row to row: those go through the rows as `online` says, as all do when writers note too much.

use vaquita_types::{Result, Value};

use super::{Catalog, DdlContext};
use crate::building::{Building, EntryBuffers};
use crate::commit::{CommitRequest, Records, Touched};
use crate::engine::write_error;
use crate::kill_points::kill_point;
use crate::lock::{LockMode, LockPolicy};
use crate::rocks::SortedFiles;
use crate::table::Table;
use crate::txn::{Direction, Reads, ScanOptions, Transaction, Version};

/// Rows and entries between two looks whether the statement was killed.
const CHECK_ROWS: u64 = 1 << 10;
const READAHEAD_BYTES: usize = 1 << 20;

impl Catalog {
    /// Gives the indexes that are built their entries. False: there was too much to catch up with, and nothing was done.
    pub(super) fn build_sorted(&self, handle: &Table, building: &Building, context: &DdlContext) -> Result<bool> {
        let [read, write] = [(); 2].map(|()| super::internal_transaction(&self.engine, context.interrupt.clone()));
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
        self.engine.submit_and_wait(CommitRequest {
            records: Records::with_capacity(0),
            touched: Touched::Keys(Vec::new()),
            files: Some(files),
            counters: Vec::new(),
            owner: None,
            held: Default::default(),
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

impl Build<'_> {
    /// The files of the snapshot's entries; none if writers have noted too much.
    fn sort(&mut self) -> Result<Option<SortedFiles>> {
        self.read.begin_statement(Reads::Many);
        let engine = self.read.engine().clone();
        let mut sorter = engine.sorter(engine.options().write_set_bytes);
        let options = ScanOptions {
            fill_cache: false,
            readahead_bytes: READAHEAD_BYTES,
            version: Version::Snapshot,
            ..ScanOptions::default()
        };
        let mut cursor = self.read.scan(self.table.codec.clustered().all(), Direction::Forward, options)?;
        let columns = self.building.columns_read();
        let (mut rows, mut row) = (0, Vec::new());
        while let Some((key, value)) = cursor.next(&self.read)? {
            rows += 1;
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
            let row_id = self.table.row_id(key)?;
            self.building.each_entry(&row, row_id, &mut self.buffers, |key, value| sorter.add(key, value))?;
        }
        self.context.progress.add_rows(rows % CHECK_ROWS);
        drop(cursor);
        kill_point("alter.sorted");
        let (mut files, mut entries) = (engine.new_files()?, 0u64);
        let mut sorted = sorter.sorted()?;
        while sorted.advance()? {
            let (key, value) = sorted.entry();
            entries += 1;
            if entries.is_multiple_of(CHECK_ROWS) {
                self.context.interrupt.check()?;
            }
            files.add(key, Some(value)).map_err(write_error)?;
        }
        files.finish().map_err(write_error)?;
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
