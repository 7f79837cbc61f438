//! The uncommitted writes of a transaction, sorted, with an undo log.
//!
//! A write is a value or a tombstone; the latest one of a key counts. The undo log holds what
//! each write replaced, so that going back to a `Mark` costs what was written since. Example:
//! put k=1, mark, put k=2, delete l; rolling back to the mark removes l's tombstone and puts 1
//! back. Writes of ascending keys have one undo entry together, which names the first: when it is their turn to be undone, all
//! keys of the index from there on are theirs. Entries of an index that is not unique, written or deleted in any order, have one as well,
//! until the index has a write of another kind (`settle`).
//!
//! What a session writes into its temporary tables may stay here when its transaction commits (`carry`): nobody else
//! reads it, and no crash need find it again. Carried writes have no undo entries, so no rollback takes them away.
//!
//! When memory is short, `spill` moves all data writes and their undo entries to a `Spill`, in a segment for each stretch between
//! two marks that may still be gone back to. From then on the writes of a key are those in memory or else those spilled, and going
//! back to a mark before the spill drops segments. Catalog writes and carried ones are few, and keep a set from spilling.
//!
//! * SET-1: the marks that may be gone back to ascend, and none is of later writes than there are.
//! * SET-2: what is carried is among the data writes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

use vaquita_types::Result;
use vaquita_types::schema::{IndexId, TableId};

use super::write_map::{Inserted, InsertedNew, Packed, Write, WriteMap};
use crate::base::invariants::{CHECKED, CHECKED_MAX, holds};
use crate::commit::log_buffer::LogBuffer;
use crate::encoding::ids::{INDEX_ID_BYTES, TEMPORARY_ID_MIN, is_temporary_key, is_temporary_table, prefix_of};
use crate::rocks::Family;
use crate::spill::scratch::{Scratches, Spill};

/// A point of a transaction's writes to return to: so many undo entries came before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

/// A mark that goes when its part of a statement has ended.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub mark: Mark,
    /// How many savepoints came before it.
    marks: usize,
}

/// Bytes of a map node and of the undo entry, estimated.
const ENTRY_OVERHEAD_BYTES: usize = 96;
/// The same of an entry that was appended and has no undo entry of its own.
const APPENDED_OVERHEAD_BYTES: usize = 24;

#[derive(Default)]
pub struct WriteSet {
    data: WriteMap,
    catalog: WriteMap,
    /// The entries since `spilled_to`.
    undo: Vec<Undo>,
    spill: Option<Box<Spill>>,
    /// Where memory begins: what came before has spilled.
    spilled_to: Mark,
    log: LogBuffer,
    /// How long `log` was at a mark or later, where it first grew behind it; both ascend.
    log_marks: Vec<(Mark, u64)>,
    /// Net change of the row count per table; few tables, so a list.
    rows: Vec<(TableId, i64)>,
    bytes: usize,
    /// Keys of `data` whose writes were carried over from earlier transactions.
    carried: usize,
    /// A heap has got a deletion.
    deletes_entries: bool,
    /// The beginning of the running statement.
    statement: Mark,
    /// Savepoints, ascending.
    savepoints: Vec<Mark>,
}

enum Undo {
    /// What the key had before: nothing of ours, or an earlier write.
    Write {
        family: Family,
        key: Box<[u8]>,
        before: Option<Write>,
    },
    /// Data keys of an index from `first` on, all above those that it had.
    Appended {
        first: Box<[u8]>,
    },
    /// What came into the heap of an index from the entry `number` on.
    Heaped {
        index: u32,
        number: usize,
    },
    /// The same after the heap was given up. The keys had nothing before.
    Added {
        keys: Box<[Box<[u8]>]>,
    },
    Rows {
        table: TableId,
        delta: i64,
    },
    /// The log was told something: `log_marks` knows what.
    Told,
}

impl WriteSet {
    pub fn map(&self, family: Family) -> &WriteMap {
        match family {
            Family::Data => &self.data,
            _ => &self.catalog,
        }
    }

    fn map_mut(&mut self, family: Family) -> &mut WriteMap {
        match family {
            Family::Data => &mut self.data,
            _ => &mut self.catalog,
        }
    }

    /// This transaction has written nothing.
    pub fn is_empty(&self) -> bool {
        self.undo.is_empty() && self.spill.is_none()
    }

    /// Keys written; one that was written again after it spilled counts twice.
    pub fn len(&self) -> u64 {
        let in_memory = (self.data.len() + self.catalog.len()).saturating_sub(self.carried);
        in_memory as u64 + self.spill.as_ref().map_or(0, |spill| spill.keys())
    }

    /// Nothing to look for among the family's writes.
    #[inline]
    pub fn has_none(&self, family: Family) -> bool {
        self.map(family).is_empty() && (family == Family::Catalog || self.spill.is_none())
    }

    /// All writes are into temporary tables, and in memory.
    pub fn is_temporary(&self) -> bool {
        // Their keys are behind all others.
        self.spill.is_none()
            && self.catalog.is_empty()
            && self.log.is_empty()
            && self.data.first_key().is_none_or(is_temporary_key)
    }

    pub fn spilled(&self) -> Option<&Spill> {
        self.spill.as_deref()
    }

    /// Bytes of memory taken, undo log included.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The write of a key: `None` if there is none, `Some(None)` if it was deleted.
    pub fn get(&self, family: Family, key: &[u8]) -> Result<Option<Option<Cow<'_, [u8]>>>> {
        let map = self.map(family);
        // Most statements read before they write.
        let in_memory = if map.is_empty() { None } else { map.get(key) };
        match (in_memory, &self.spill) {
            (None, Some(spill)) if family == Family::Data => Ok(spill.get(key)?.map(|write| write.map(Cow::Owned))),
            _ => Ok(in_memory.map(|write| write.map(Cow::Borrowed))),
        }
    }

    pub fn write(&mut self, family: Family, key: &[u8], write: Option<&[u8]>) {
        let (end, since) = (self.end().0, self.latest_mark().0);
        let bytes = key.len() + write.map_or(0, <[u8]>::len);
        let before = match self.map_mut(family).insert(key, write) {
            Inserted::Appended(note) if family == Family::Data && !is_carried_deletion(key, write) => {
                if note.is_none_or(|at| at < since) {
                    *note = Some(end);
                    self.undo.push(Undo::Appended { first: key.into() });
                }
                self.bytes += APPENDED_OVERHEAD_BYTES + bytes;
                return;
            }
            Inserted::Appended(_) | Inserted::New => None,
            Inserted::Replaced(before) => Some(before),
            Inserted::Heaped => {
                self.settle(prefix_of(key));
                return self.write(family, key, write);
            }
        };
        self.bytes += ENTRY_OVERHEAD_BYTES + key.len() + bytes;
        self.undo.push(Undo::Write { family, key: key.into(), before });
    }

    /// Whether all data keys of this one's index that the set has writes of lie below it.
    pub fn is_above_all(&self, key: &[u8]) -> bool {
        self.data.is_above_all(key) && self.spill.as_ref().is_none_or(|spill| spill.is_above_all(key))
    }

    /// As `write` of each of these ascending keys, of which `is_above_all` is true.
    pub fn append(&mut self, entries: &Packed) {
        let (end, since) = (self.end().0, self.latest_mark().0);
        let (Some(first), Some(note)) = (entries.first_key(), self.data.append(entries)) else {
            return entries.iter().for_each(|(key, value)| self.write(Family::Data, key, Some(value)));
        };
        if note.is_none_or(|at| at < since) {
            *note = Some(end);
            self.undo.push(Undo::Appended { first: first.into() });
        }
        self.bytes += APPENDED_OVERHEAD_BYTES * entries.len() + entries.bytes();
    }

    /// As `write`, of a data key that this set has no write of.
    pub fn write_new(&mut self, key: &[u8], write: Option<&[u8]>) {
        if is_carried_deletion(key, write) {
            return self.write(Family::Data, key, write);
        }
        let (end, since) = (self.end().0, self.latest_mark().0);
        let InsertedNew::Heaped(number, note) = self.data.insert_new(key, write) else {
            return self.write(Family::Data, key, write);
        };
        self.deletes_entries |= write.is_none();
        if note.is_none_or(|at| at < since) {
            *note = Some(end);
            self.undo.push(Undo::Heaped { index: prefix_of(key), number });
        }
        self.bytes += APPENDED_OVERHEAD_BYTES + key.len() + write.map_or(0, <[u8]>::len);
    }

    /// Whether `write_new` may be asked to write the entries of a row with this clustered key: this set has no write of any of them, since they
    /// are written together with the row. A row that has spilled counts: what was written of it behind the spill may be in memory.
    #[inline]
    pub fn takes_entries_as_new(&self, clustered_key: &[u8]) -> bool {
        self.data.get(clustered_key).is_none() && self.spill.as_ref().is_none_or(|spill| !spill.may_contain(clustered_key))
    }

    /// The same of a row that was not there: it can have been written before only if it was deleted.
    #[inline]
    pub fn takes_entries_of_new_row(&self, clustered_key: &[u8]) -> bool {
        !self.deletes_entries || self.takes_entries_as_new(clustered_key)
    }

    /// The index has a write that its heap cannot hold.
    fn settle(&mut self, index: u32) {
        let heap = self.data.settle(index);
        let (mut end, mut undo_bytes) = (heap.len(), 0);
        for undo in self.undo.iter_mut().rev() {
            let Undo::Heaped { index: of, number } = *undo else { continue };
            if of == index {
                let keys: Box<[Box<[u8]>]> = heap.keys(number..end).map(Into::into).collect();
                end = number;
                undo_bytes += keys.iter().map(|key| key.len() + ENTRY_OVERHEAD_BYTES - APPENDED_OVERHEAD_BYTES).sum::<usize>();
                *undo = Undo::Added { keys };
            }
        }
        self.bytes += undo_bytes;
    }

    pub fn log(&self) -> &LogBuffer {
        &self.log
    }

    /// To tell it something, which going back to a mark forgets.
    #[inline]
    pub fn log_mut(&mut self) -> &mut LogBuffer {
        if self.log_marks.last().is_none_or(|(mark, _)| *mark < self.latest_mark()) {
            self.log_marks.push((self.end(), self.log.len()));
            // A statement that only tells something has written, too.
            self.undo.push(Undo::Told);
        }
        &mut self.log
    }

    fn forget_told_since(&mut self, mark: Mark) {
        let kept = self.log_marks.partition_point(|(told, _)| *told < mark);
        if let Some((_, len)) = self.log_marks.get(kept) {
            self.log.truncate(*len);
            self.log_marks.truncate(kept);
        }
    }

    pub fn add_rows(&mut self, table: TableId, delta: i64) {
        self.change_rows(table, delta);
        // A bulk insert would otherwise have an undo entry per row twice over.
        let may_flow = self.end() > self.latest_mark();
        match self.undo.last_mut() {
            Some(Undo::Rows { table: last, delta: sum }) if *last == table && may_flow => *sum += delta,
            _ => self.undo.push(Undo::Rows { table, delta }),
        }
    }

    fn change_rows(&mut self, table: TableId, delta: i64) {
        match self.rows.iter_mut().find(|(t, _)| *t == table) {
            Some((_, sum)) => *sum += delta,
            None => self.rows.push((table, delta)),
        }
    }

    pub fn rows_delta(&self, table: TableId) -> i64 {
        self.rows.iter().find(|(t, _)| *t == table).map_or(0, |(_, delta)| *delta)
    }

    pub fn take_rows(&mut self) -> Vec<(TableId, i64)> {
        std::mem::take(&mut self.rows)
    }

    fn end(&self) -> Mark {
        Mark(self.spilled_to.0 + self.undo.len() as u64)
    }

    /// Nothing may flow into undo entries before it.
    fn latest_mark(&self) -> Mark {
        self.savepoints.last().copied().unwrap_or_default().max(self.statement)
    }

    /// A statement begins; it replaces the one before as a mark.
    pub fn begin_statement(&mut self) -> Mark {
        self.statement = self.end();
        self.statement
    }

    /// A mark that lasts until the transaction goes back to one before it, or ends.
    pub fn savepoint(&mut self) -> Mark {
        let mark = self.end();
        if self.savepoints.last() != Some(&mark) {
            self.savepoints.push(mark);
        }
        mark
    }

    /// A spill has a run for each savepoint: those that nobody goes back to must not be many.
    pub fn forget_savepoint(&mut self, mark: Mark) {
        if let Ok(at) = self.savepoints.binary_search(&mark) {
            self.savepoints.remove(at);
        }
    }

    pub fn forget_savepoints_after(&mut self, last: Option<Mark>) {
        let kept = last.map_or(0, |last| self.savepoints.partition_point(|savepoint| *savepoint <= last));
        self.savepoints.truncate(kept);
    }

    /// A mark for a part of a statement.
    pub fn begin_part(&mut self) -> Part {
        let marks = self.savepoints.len();
        Part { mark: self.savepoint(), marks }
    }

    /// The part has succeeded: its marks go, of which a statement of many parts would have as many, and a spill a run for each.
    pub fn end_part(&mut self, part: Part) {
        self.savepoints.truncate(part.marks);
    }

    pub fn rollback_to(&mut self, mark: Mark) {
        self.forget_told_since(mark);
        if let Some(spill) = &mut self.spill
            && mark < self.spilled_to
        {
            for (table, delta) in spill.drop_since(mark.0) {
                self.change_rows(table, -delta);
            }
            if self.spill.as_ref().is_some_and(|spill| spill.is_empty()) {
                self.spill = None;
            }
            self.undo_since(self.spilled_to);
            self.spilled_to = mark;
        } else {
            self.undo_since(mark);
        }
        // They ascend.
        self.savepoints.truncate(self.savepoints.partition_point(|savepoint| *savepoint <= mark));
        self.statement = self.statement.min(mark);
        self.check_small();
    }

    /// Where it has changed much; sets that take long to look through are left out.
    pub fn check_small(&self) {
        if CHECKED && self.data.len() <= CHECKED_MAX {
            self.check_invariants();
        }
    }

    /// SET-1 and SET-2, and those of its maps.
    pub fn check_invariants(&self) {
        self.data.check_invariants();
        self.catalog.check_invariants();
        let end = self.end();
        holds(self.savepoints.is_sorted(), "SET-1: savepoints ascend");
        let last = self.savepoints.last().copied().unwrap_or_default().max(self.statement).max(self.spilled_to);
        holds(last <= end, "SET-1: no mark is of later writes than there are");
        holds(self.carried <= self.data.len(), "SET-2: what is carried is among the data writes");
    }

    /// Takes back what was written in memory since `mark`.
    fn undo_since(&mut self, mark: Mark) {
        while self.end() > mark {
            match self.undo.pop() {
                Some(Undo::Write { family, key, before }) => {
                    self.forget_bytes(family, &key);
                    match before {
                        Some(write) => drop(self.map_mut(family).insert(&key, write.as_deref())),
                        None => self.map_mut(family).remove(&key),
                    }
                }
                Some(Undo::Appended { first }) => {
                    let (keys, bytes) = self.data.cut(&first);
                    self.bytes = self.bytes.saturating_sub(keys * APPENDED_OVERHEAD_BYTES + bytes);
                }
                Some(Undo::Heaped { index, number }) => {
                    let (keys, bytes) = self.data.cut_heap(index, number);
                    self.bytes = self.bytes.saturating_sub(keys * APPENDED_OVERHEAD_BYTES + bytes);
                }
                Some(Undo::Added { keys }) => {
                    for key in keys {
                        self.forget_bytes(Family::Data, &key);
                        self.data.remove(&key);
                    }
                }
                Some(Undo::Rows { table, delta }) => self.change_rows(table, -delta),
                Some(Undo::Told) => {}
                None => break,
            }
        }
    }

    /// Of a write that has an undo entry of its own.
    fn forget_bytes(&mut self, family: Family, key: &[u8]) {
        let value_bytes = self.map(family).get(key).flatten().map_or(0, <[u8]>::len);
        self.bytes = self.bytes.saturating_sub(ENTRY_OVERHEAD_BYTES + 2 * key.len() + value_bytes);
    }

    /// Whether `spill` can make room.
    pub fn can_spill(&self) -> bool {
        self.catalog.is_empty() && self.carried == 0 && !self.undo.is_empty()
    }

    /// Moves all data writes out of memory. If it fails, nothing has changed.
    pub fn spill(&mut self, scratches: &Scratches) -> Result<()> {
        if !self.can_spill() {
            return Ok(());
        }
        let mut spill = match self.spill.take() {
            Some(spill) => spill,
            None => Box::new(scratches.new_spill()?),
        };
        let marks = self.marks_within();
        if !marks.is_empty() {
            self.data.heaped().into_iter().for_each(|index| self.settle(index));
        }
        let added = self.add_segments(marks, &mut spill);
        if added.is_err() {
            spill.drop_since(self.spilled_to.0);
        }
        self.spill = Some(spill).filter(|spill| !spill.is_empty());
        added?;
        (self.spilled_to, self.undo, self.data, self.bytes) = (self.end(), Vec::new(), WriteMap::default(), 0);
        Ok(())
    }

    /// Before the commit of a spilled set: nothing is undone any more.
    pub fn spill_rest(&mut self) -> Result<()> {
        if let Some(spill) = self.spill.as_mut().filter(|_| !self.data.is_empty()) {
            spill.add(self.spilled_to.0, self.data.iter(), Vec::new())?;
            self.data = WriteMap::default();
        }
        Ok(())
    }

    /// Those that may be gone back to, between the writes in memory.
    fn marks_within(&self) -> Vec<Mark> {
        let mut marks: Vec<Mark> = self.savepoints.iter().copied().chain([self.statement]).collect();
        marks.retain(|mark| self.spilled_to < *mark && *mark < self.end());
        marks.sort();
        marks.dedup();
        marks
    }

    fn add_segments(&self, mut marks: Vec<Mark>, spill: &mut Spill) -> Result<()> {
        if marks.is_empty() {
            let rows = rows_of(&self.undo);
            return spill.add(self.spilled_to.0, self.data.iter(), rows);
        }
        marks.insert(0, self.spilled_to);
        // From the latest stretch back, since the map has what was written last.
        let (mut end, mut segments) = (self.undo.len(), Vec::new());
        let mut later: BTreeMap<&[u8], Option<Option<&[u8]>>> = BTreeMap::new();
        // By index: where what was appended later begins.
        let mut appended: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
        for mark in marks.iter().rev() {
            let start = (mark.0 - self.spilled_to.0) as usize;
            let undo = self.undo.get(start..end).unwrap_or(&[]);
            let mut writes: BTreeMap<&[u8], Option<Option<&[u8]>>> = BTreeMap::new();
            for entry in undo.iter().rev() {
                match entry {
                    Undo::Write { key, before, .. } => {
                        let before = before.as_ref().map(Option::as_deref);
                        let write = later.insert(key, before).unwrap_or_else(|| self.data.get(key));
                        writes.entry(key).or_insert(write);
                    }
                    Undo::Appended { first } => {
                        let index = first.get(..INDEX_ID_BYTES).unwrap_or(first);
                        for (key, write) in self.data.run(first, appended.insert(index, first)) {
                            match later.get(key) {
                                // A later write between them.
                                Some(None) => {}
                                Some(then) => drop(writes.entry(key).or_insert(*then)),
                                None => drop(writes.entry(key).or_insert(Some(write))),
                            }
                        }
                    }
                    Undo::Added { keys } => {
                        for key in keys {
                            let write = later.insert(key, None).unwrap_or_else(|| self.data.get(key));
                            writes.entry(key).or_insert(write);
                        }
                    }
                    // Settled before.
                    Undo::Heaped { .. } => debug_assert!(false, "a heap between marks"),
                    Undo::Rows { .. } | Undo::Told => {}
                }
            }
            segments.push((*mark, writes, rows_of(undo)));
            end = start;
        }
        for (mark, writes, rows) in segments.into_iter().rev() {
            spill.add(mark.0, writes.into_iter().map(|(key, write)| (key, write.flatten())), rows)?;
        }
        Ok(())
    }

    /// Forgets what this transaction wrote.
    pub fn clear(&mut self) {
        if self.carried > 0 {
            self.rollback_to(Mark::default());
        } else if !self.is_empty() {
            *self = WriteSet::default();
        }
        self.savepoints.clear();
        self.statement = Mark::default();
    }

    /// Keeps all writes over the end of the transaction; they are `is_temporary`. `stored`: RocksDB may have keys of
    /// temporary tables that a deletion hides.
    pub fn carry(&mut self, stored: bool) {
        for undo in std::mem::take(&mut self.undo) {
            let Undo::Write { key, before, .. } = undo else { continue };
            let mut over = key.len();
            if let Some(before) = before {
                over += entry_bytes(&key, before.as_deref());
            }
            if !stored && self.data.get(&key).is_some_and(|write| write.is_none()) {
                self.data.remove(&key);
                over += entry_bytes(&key, None);
            }
            self.bytes = self.bytes.saturating_sub(over);
        }
        self.data.forget_notes();
        self.carried = self.data.len();
        self.savepoints.clear();
        self.statement = Mark::default();
    }

    /// In memory.
    pub fn has_temporary(&self) -> bool {
        self.data.last_key().is_some_and(is_temporary_key)
    }

    /// Takes the writes into temporary tables out, carried.
    pub fn split_off_temporary(&mut self) -> WriteSet {
        let mut data = self.data.split_off(TEMPORARY_ID_MIN);
        data.forget_notes();
        let (rows, others) = std::mem::take(&mut self.rows).into_iter().partition(|(table, _)| is_temporary_table(*table));
        self.rows = others;
        let bytes = data.iter().map(|(key, write)| entry_bytes(key, write)).sum();
        WriteSet { carried: data.len(), data, rows, bytes, ..WriteSet::default() }
    }

    /// Forgets carried writes of tables that are gone. No transaction has begun.
    pub fn forget(&mut self, tables: &[TableId], indexes: &[IndexId]) {
        if self.data.is_empty() {
            return;
        }
        for id in indexes {
            drop(self.data.take_index(id.0));
        }
        self.bytes = self.data.iter().map(|(key, write)| entry_bytes(key, write)).sum();
        self.rows.retain(|(table, _)| !tables.contains(table));
        self.carried = self.data.len();
    }

    /// The first write after `from` in the direction of a scan of `[lower, upper)`.
    pub fn following(
        &self,
        family: Family,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        backward: bool,
    ) -> Option<(&[u8], Option<&[u8]>)> {
        self.map(family).first_within(lower, upper, backward)
    }
}

/// A deletion in a temporary table has an undo entry of its own, by which `carry` finds it.
fn is_carried_deletion(key: &[u8], write: Option<&[u8]>) -> bool {
    write.is_none() && is_temporary_key(key)
}

/// What the entries changed row counts by.
fn rows_of(undo: &[Undo]) -> Vec<(TableId, i64)> {
    let mut rows: Vec<(TableId, i64)> = Vec::new();
    for entry in undo {
        let Undo::Rows { table, delta } = entry else { continue };
        match rows.iter_mut().find(|(t, _)| t == table) {
            Some((_, sum)) => *sum += delta,
            None => rows.push((*table, *delta)),
        }
    }
    rows
}

/// What a write takes that has no undo entry.
fn entry_bytes(key: &[u8], write: Option<&[u8]>) -> usize {
    ENTRY_OVERHEAD_BYTES + key.len() + write.map_or(0, <[u8]>::len)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Op {
        Put(u8, u8),
        /// If the set has no write of it.
        PutNew(u8, u8),
        DeleteNew(u8),
        Delete(u8),
        Rows(i64),
        Savepoint,
        Statement,
        Rollback,
        RollbackStatement,
        Part,
        EndPart,
        RollbackPart,
        Spill,
    }

    /// Each with whether the set is looked into afterwards.
    fn ops() -> impl Strategy<Value = Vec<(Op, bool)>> {
        let op = prop_oneof![
            6 => (0u8..12, any::<u8>()).prop_map(|(k, v)| Op::Put(k, v)),
            6 => (0u8..12, any::<u8>()).prop_map(|(k, v)| Op::PutNew(k, v)),
            4 => (0u8..12).prop_map(Op::DeleteNew),
            3 => (0u8..12).prop_map(Op::Delete),
            3 => (-3i64..4).prop_map(Op::Rows),
            2 => Just(Op::Savepoint),
            2 => Just(Op::Statement),
            1 => Just(Op::Rollback),
            1 => Just(Op::RollbackStatement),
            2 => Just(Op::Part),
            1 => Just(Op::EndPart),
            1 => Just(Op::RollbackPart),
            1 => Just(Op::Spill),
        ];
        proptest::collection::vec((op, any::<bool>()), 0..60)
    }

    /// Of two indexes.
    fn key(k: u8) -> [u8; 5] {
        [0, 0, 0, k / 8, k]
    }

    type Model = (BTreeMap<u8, Option<u8>>, i64);
    const TABLE: TableId = TableId(3);

    fn all(set: &WriteSet) -> BTreeMap<u8, Option<u8>> {
        let found = (0..12).map(|k| (k, set.get(Family::Data, &key(k)).unwrap().map(|w| w.map(|v| v[0]))));
        found.filter_map(|(k, write)| Some((k, write?))).collect()
    }

    /// As of a client that sets a savepoint for each row, under one name or released at once.
    #[test]
    fn marks_that_nobody_goes_back_to_are_not_kept() {
        let mut set = WriteSet::default();
        let mut last = set.savepoint();
        for n in 0..100u8 {
            set.write(Family::Data, &[0, 0, 0, 1, n], Some(b"x"));
            let mark = set.savepoint();
            match n % 2 {
                0 => set.forget_savepoint(last),
                _ => set.forget_savepoints_after(None),
            }
            last = mark;
        }
        assert!(set.savepoints.len() <= 1, "{:?}", set.savepoints);
    }

    /// A spill writes a run for each mark: parts that have ended leave none.
    #[test]
    fn parts_that_have_ended_leave_no_marks() {
        let mut set = WriteSet::default();
        let before = set.savepoint();
        for k in 0..12 {
            let part = set.begin_part();
            set.write(Family::Data, &key(k), Some(&[k]));
            set.end_part(part);
        }
        assert_eq!(set.savepoints, [before]);
        assert!(set.marks_within().len() <= 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn a_mark_brings_back_everything(ops in ops()) {
            let dir = tempfile::tempdir().unwrap();
            let scratches = Scratches::new(dir.path().join("scratch")).unwrap();
            let mut set = WriteSet::default();
            let mut model = Model::default();
            let mut savepoints: Vec<(Mark, Model)> = Vec::new();
            let mut statement: Option<(Mark, Model)> = None;
            let mut parts: Vec<(Part, Model)> = Vec::new();
            for (op, looks) in ops {
                // Parts are within a statement.
                if matches!(op, Op::Savepoint | Op::Statement | Op::Rollback | Op::RollbackStatement) {
                    parts.drain(..).rev().for_each(|(part, _)| set.end_part(part));
                }
                match op {
                    Op::Part => parts.push((set.begin_part(), model.clone())),
                    Op::EndPart => if let Some((part, _)) = parts.pop() {
                        set.end_part(part);
                    }
                    Op::RollbackPart => if let Some((part, then)) = parts.pop() {
                        set.rollback_to(part.mark);
                        set.end_part(part);
                        model = then;
                    }
                    Op::Put(k, v) => {
                        set.write(Family::Data, &key(k), Some(&[v]));
                        model.0.insert(k, Some(v));
                    }
                    Op::PutNew(k, v) => if let std::collections::btree_map::Entry::Vacant(place) = model.0.entry(k) {
                        set.write_new(&key(k), Some(&[v]));
                        place.insert(Some(v));
                    }
                    Op::DeleteNew(k) => if let std::collections::btree_map::Entry::Vacant(place) = model.0.entry(k) {
                        set.write_new(&key(k), None);
                        place.insert(None);
                    }
                    Op::Delete(k) => {
                        set.write(Family::Data, &key(k), None);
                        model.0.insert(k, None);
                    }
                    Op::Rows(delta) => {
                        set.add_rows(TABLE, delta);
                        model.1 += delta;
                    }
                    // A session sets savepoints between statements.
                    Op::Savepoint => {
                        savepoints.push((set.savepoint(), model.clone()));
                        statement = None;
                    }
                    Op::Statement => statement = Some((set.begin_statement(), model.clone())),
                    Op::Rollback => if let Some((mark, then)) = savepoints.pop() {
                        set.rollback_to(mark);
                        model = then;
                        statement = None;
                    }
                    Op::RollbackStatement => if let Some((mark, then)) = statement.take() {
                        set.rollback_to(mark);
                        model = then;
                    }
                    Op::Spill => set.spill(&scratches).unwrap(),
                }
                if looks {
                    prop_assert_eq!(&all(&set), &model.0);
                }
                prop_assert_eq!(set.rows_delta(TABLE), model.1);
            }
        }
    }
}
