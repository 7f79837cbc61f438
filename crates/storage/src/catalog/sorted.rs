//! ADD INDEX by files: the entries of all rows, sorted.
//!
//! 1. While writers note the rows that they change (`building`), the entries of a snapshot are sorted and written to files, which no log and no
//!    memtable sees. No row is locked. As many threads as there are cores free read the rows of a part of the table each.
//! 2. The files become part of the data in one step, and from then on writers keep entries.
//! 3. Each noted row is locked, once its writer has ended: what the snapshot's row gave is deleted, what its latest version gives is written.
//!    These are the batches that `online` has, and so are the rules: it waits for a lock only while it holds nothing.
//!
//! An entry of an index that is not unique belongs to one row alone, so that rows may be caught up with one by one. Values of a unique index
//! move from row to row. With one of those (`rounds`) writers go on noting, and noted rows are caught up with in rounds: first all lose the
//! entries that they have in the files or since an earlier round, then each gets that of its latest version. A row whose key another one has
//! waits for the next round. The last one comes when nobody may write any more; what is taken then is error 1062.
//!
//! Example: in the snapshot row 1 has v = 5. Then row 1 gets v = 6 and row 2 gets v = 5; both are noted. Caught up with one by one, row 2 would
//! find 5 taken by row 1.
//!
//! Rows are gone through as `online` says when writers note too much.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use vaquita_types::{Error, Result, Value};

use super::building::{Building, EntryBuffers};
use super::in_parts::{PartReader, read_in_parts};
use super::online::KeepOut;
use super::table::Table;
use super::{Catalog, DdlContext};
use crate::base::kill_points::kill_point;
use crate::commit::records::Records;
use crate::commit::{CommitRequest, Touched};
use crate::encoding::key::Entry;
use crate::locks::{LockMode, LockPolicy};
use crate::rocks::SortedFiles;
use crate::spill::sorted_run::{Run, RunFile, SameKey};
use crate::spill::sorter::SortedRuns;
use crate::txn::{Reads, Transaction, Version};

impl Catalog {
    /// Gives the indexes that are built their entries. False: there was too much to catch up with, and nothing was done.
    pub(super) fn build_sorted(
        &self,
        handle: &Table,
        building: &Building,
        context: &DdlContext,
        keep_out: Option<KeepOut<'_>>,
    ) -> Result<bool> {
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
            Some(files) => {
                self.add_files(files)?;
                if building.has_unique() {
                    kill_point("alter.sorted-added");
                    build.rounds(keep_out.ok_or_else(|| Error::internal("a unique index beside writers"))?)?;
                }
                Ok(true)
            }
            None => Ok(false),
        });
        // However it ended, nobody goes through the notes of later writers.
        let keys = building.take_notes();
        kill_point("alter.sorted-added");
        if files? {
            build.catch_up(keys?.into_iter().collect())?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Nobody reads the indexes yet, and nobody writes them, so that no lock is needed and no key is noted.
    pub(super) fn add_files(&self, files: SortedFiles) -> Result<()> {
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

/// Sorts the entries of the rows that one thread reads.
struct RowEntries<'a> {
    table: &'a Table,
    building: &'a Building,
    file: &'a RunFile,
    /// Those that entries are made of, if rows stay as they are.
    columns: Option<Vec<usize>>,
    runs: SortedRuns,
    row: Vec<Value>,
    buffers: EntryBuffers,
}

impl PartReader for RowEntries<'_> {
    type Made = Vec<Run>;

    fn row(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        match &self.columns {
            Some(columns) => self.table.codec.decode_columns(key, value, columns, &mut self.row)?,
            None => self.row = self.table.codec.decode_row(key, value)?,
        }
        let row_id = self.table.row_id(key)?;
        self.building.each_entry(&self.row, row_id, &mut self.buffers, |_, key, value| self.runs.add(self.file, key, value))?;
        Ok(true)
    }

    fn goes_on(&self) -> bool {
        !self.building.has_too_many_notes()
    }

    fn finish(self) -> Result<Vec<Run>> {
        self.runs.finish(self.file)
    }
}

impl Build<'_> {
    /// The files of the snapshot's entries; none if writers have noted too much.
    fn sort(&mut self) -> Result<Option<SortedFiles>> {
        self.read.begin_statement(Reads::Many);
        let store = self.read.store().clone();
        let file = store.scratches().new_file()?;
        let (table, building, file) = (self.table, self.building, &file);
        let entries = |threads| RowEntries {
            table,
            building,
            file,
            columns: building.columns_read(),
            runs: SortedRuns::new(store.options().write_set_bytes / threads),
            row: Vec::new(),
            buffers: EntryBuffers::default(),
        };
        let Some(runs) = read_in_parts(table, &mut self.read, self.context, "index", entries)? else { return Ok(None) };
        kill_point("alter.sorted");
        let runs: Vec<&Run> = runs.iter().flatten().collect();
        // Of indexes that are not unique no key comes twice.
        let twice = Mutex::default();
        let same = if self.building.has_unique() { SameKey::Fails(&twice) } else { SameKey::LastRunCounts };
        let files = store.sorted_files(file, &runs, same, &self.context.interrupt);
        if let Some((key, value)) = twice.into_inner() {
            return Err(self.taken_in_snapshot(Entry { key: &key, value: &value })?);
        }
        let files = files?;
        self.context.interrupt.check()?;
        Ok(if self.building.has_too_many_notes() { None } else { Some(files) })
    }

    fn catch_up(&mut self, mut keys: Vec<Box<[u8]>>) -> Result<()> {
        keys.sort_unstable();
        for keys in keys.chunks(self.batch_rows) {
            for key in keys {
                self.context.interrupt.check()?;
                self.lock_row(key)?;
                self.catch_up_row(key)?;
            }
            self.write.commit_wait()?;
            kill_point("alter.caught-up");
        }
        Ok(())
    }

    fn lock_row(&mut self, key: &[u8]) -> Result<()> {
        if self.write.lock_key(key, LockMode::S, LockPolicy::SkipLocked)? {
            return Ok(());
        }
        // Gives all locks back.
        self.write.commit_wait()?;
        // As `online` waits.
        self.write.spare();
        self.write.lock_key(key, LockMode::S, LockPolicy::Wait(self.context.wait)).map(drop)
    }

    /// Of a row that is locked.
    fn catch_up_row(&mut self, key: &[u8]) -> Result<()> {
        let (then, now) = (self.entries_then(key)?, self.entries_now(key)?);
        for entry in &then {
            if now.iter().all(|other| other.key != entry.key) {
                self.write.delete(&entry.key)?;
            }
        }
        now.iter().try_for_each(|entry| self.write.put(&entry.key, &entry.value))
    }

    /// What the row has in the files.
    fn entries_then(&mut self, key: &[u8]) -> Result<Vec<OwnEntry>> {
        let mut value = Vec::new();
        if self.read.get(key, Version::Snapshot, &mut value)? { self.entries(key, &value) } else { Ok(Vec::new()) }
    }

    /// What its latest version should have.
    fn entries_now(&mut self, key: &[u8]) -> Result<Vec<OwnEntry>> {
        let mut value = Vec::new();
        if self.write.get(key, Version::Latest, &mut value)? { self.entries(key, &value) } else { Ok(Vec::new()) }
    }

    fn entries(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<OwnEntry>> {
        let row: Vec<Value> = self.table.codec.decode_row(key, value)?;
        let row_id = self.table.row_id(key)?;
        let mut entries = Vec::new();
        self.building.each_entry(&row, row_id, &mut self.buffers, |(index, unique), key, value| {
            entries.push(OwnEntry { index, unique, key: key.to_vec(), value: value.to_vec() });
            Ok(())
        })?;
        Ok(entries)
    }

    /// The error for an entry whose key several rows of the snapshot have.
    fn taken_in_snapshot(&self, entry: Entry<'_>) -> Result<Error> {
        let mut value = Vec::new();
        if let Some((index, key)) = self.building.points_to(entry)?
            && self.read.get(&key, Version::Snapshot, &mut value)?
        {
            return Ok(self.building.duplicate_error(index, &self.table.codec.decode_row(&key, &value)?));
        }
        Err(Error::internal("an entry of no row"))
    }

    /// Gives rows that have been noted their entries where one index is unique.
    fn rounds(&mut self, keep_out: KeepOut<'_>) -> Result<()> {
        let mut keys = self.building.swap_notes()?;
        // What the rows have that were caught up with.
        let mut caught = HashMap::new();
        // The last round has the rows of a batch, or about as many as writers note during one.
        let mut before = usize::MAX;
        while keys.len() > self.batch_rows && keys.len() < before / 2 {
            before = keys.len();
            let waiting = self.round(keys, &mut caught, Writers::Go)?;
            keys = self.building.swap_notes()?;
            keys.extend(waiting.into_iter().map(|(key, _)| key));
        }
        keep_out()?;
        keys.extend(self.building.take_notes()?);
        let Some((key, index)) = self.round(keys, &mut caught, Writers::AreKeptOut)?.into_iter().next() else { return Ok(()) };
        let mut value = Vec::new();
        self.write.get(&key, Version::Latest, &mut value)?;
        Err(self.building.duplicate_error(index, &self.table.codec.decode_row(&key, &value)?))
    }

    /// Returns the rows of which an entry is taken, and the index of that.
    fn round(
        &mut self,
        keys: HashSet<Box<[u8]>>,
        caught: &mut HashMap<Box<[u8]>, Vec<OwnEntry>>,
        writers: Writers,
    ) -> Result<Vec<(Box<[u8]>, usize)>> {
        let mut keys: Vec<Box<[u8]>> = keys.into_iter().collect();
        keys.sort_unstable();
        for keys in keys.chunks(self.batch_rows) {
            self.context.interrupt.check()?;
            for key in keys {
                let then = caught.remove(key).map_or_else(|| self.entries_then(key), Ok)?;
                then.iter().try_for_each(|entry| self.write.delete(&entry.key))?;
            }
            self.write.commit_wait()?;
            kill_point("alter.caught-up");
        }
        let mut taken = Vec::new();
        for keys in keys.chunks(self.batch_rows) {
            for key in keys {
                self.context.interrupt.check()?;
                if writers == Writers::Go {
                    self.lock_row(key)?;
                }
                let mut own = Vec::new();
                for entry in self.entries_now(key)? {
                    if entry.unique && self.write.get(&entry.key, Version::Latest, &mut Vec::new())? {
                        taken.push((key.clone(), entry.index));
                        break;
                    }
                    self.write.put(&entry.key, &entry.value)?;
                    own.push(entry);
                }
                caught.insert(key.clone(), own);
            }
            self.write.commit_wait()?;
            kill_point("alter.caught-up");
        }
        Ok(taken)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Writers {
    Go,
    AreKeptOut,
}

/// What a row has in an index that is built.
struct OwnEntry {
    index: usize,
    /// Its key alone is.
    unique: bool,
    key: Vec<u8>,
    value: Vec<u8>,
}
