//! New rows of a table that are encoded before they are inserted together.
//!
//! Encoding needs no transaction, so that other threads can do it. What is inserted is what `Table::insert` inserts row by row, under the
//! same locks or a range of them, if none of the keys is taken; else nothing is, and the caller goes row by row to find out which one.
//! Example: an INSERT of the rows 1 to 1000 locks one range, makes sure with one seek that it is empty, and copies the rows into the
//! write set in one piece.
//!
//! Tables with indexes that are unique besides the primary key are left out, and rows whose keys do not ascend.

use vaquita_types::{Result, Value};

use super::table::Table;
use crate::locks::LockPolicy;
use crate::txn::{Packed, Transaction};

/// New rows of one table, with ascending clustered keys.
#[derive(Default)]
pub struct NewRows {
    rows: Packed,
    /// For each secondary index.
    entries: Vec<Packed>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl NewRows {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of what will be written.
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + self.entries.iter().map(Packed::bytes).sum::<usize>()
    }

    /// Forgets rows that were added.
    pub fn truncate(&mut self, len: usize) {
        self.rows.truncate(len);
        self.entries.iter_mut().for_each(|entries| entries.truncate(len));
    }

    /// For other rows, in the same memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.entries.iter_mut().for_each(Packed::clear);
    }
}

impl Table {
    /// Whether rows can be inserted together.
    pub fn takes_rows_together(&self) -> bool {
        let is_plain = self.building().is_none() && !self.def.hidden_rowid && !self.def.is_partitioned();
        let indexes = self.codec.indexes().iter().skip(1);
        is_plain && indexes.into_iter().all(|index| !index.is_unique() && !index.has_many_entries() && !index.is_multi_valued())
    }

    /// Adds a row to those that will be inserted. False: its key does not lie above theirs, and it is not added.
    pub fn add_new(&self, row: &[Value], to: &mut NewRows) -> Result<bool> {
        self.codec.clustered().encode_clustered(row, 0, &mut to.key)?;
        if to.rows.last_key().is_some_and(|last| last >= to.key.as_slice()) {
            return Ok(false);
        }
        self.codec.encode_row(row, &mut to.value)?;
        to.rows.push(&to.key, &to.value);
        to.entries.resize_with(self.codec.indexes().len() - 1, Packed::default);
        for (index, entries) in self.codec.indexes().iter().skip(1).zip(&mut to.entries) {
            index.encode_entry(row, 0, &mut to.key, &mut to.value)?;
            entries.push(&to.key, &to.value);
        }
        Ok(true)
    }

    /// Inserts the rows. False: nothing is written, since one of their keys may be taken, or a lock was not free and is skipped.
    pub fn insert_rows(&self, txn: &mut Transaction, new: &NewRows, policy: LockPolicy) -> Result<bool> {
        let (Some(first), Some(last)) = (new.rows.first_key(), new.rows.last_key()) else { return Ok(true) };
        if !txn.is_above_all(first) || !txn.lock_new_rows(&new.rows, policy)? || !txn.has_no_rows_between(first, last)? {
            return Ok(false);
        }
        // Rows that our snapshot shows, and that somebody has deleted since.
        if txn.snapshot_sequence().is_some() {
            new.rows.iter().try_for_each(|(key, _)| txn.check_conflict(key).map(drop))?;
        }
        for entries in &new.entries {
            for (key, _) in entries.iter() {
                if !txn.lock_entry(key, policy)? {
                    return Ok(false);
                }
            }
        }
        txn.put_rows(&new.rows)?;
        for entries in &new.entries {
            entries.iter().try_for_each(|(key, value)| txn.write_new(key, Some(value)))?;
        }
        txn.add_rows(self.def.id, new.len() as i64);
        Ok(true)
    }

    /// The rows, to insert them one by one.
    pub fn decode_new(&self, new: &NewRows) -> impl Iterator<Item = Result<Vec<Value>>> {
        new.rows.iter().map(|(key, value)| self.codec.decode_row(key, value))
    }
}
