//! Step 3 of a change: a row as it is stored, with its index entries. Foreign keys and the row image come here after what is written.

use vaquita_storage::{Buffers, Duplicate, LockMode, Table, Version, Written};
use vaquita_types::{Result, Value};

use crate::context::Execution;

/// The stored rows of one table, for one statement. TIMESTAMPs are in UTC.
pub(crate) struct StoredRows<'a> {
    statement: &'a Execution<'a>,
    table: &'a Table,
    buffers: Buffers,
    /// The bytes of a row that was read.
    read: Vec<u8>,
}

impl<'a> StoredRows<'a> {
    pub fn new(statement: &'a Execution<'a>, table: &'a Table) -> StoredRows<'a> {
        StoredRows { statement, table, buffers: Buffers::default(), read: Vec::new() }
    }

    pub fn insert(&mut self, row: &[Value]) -> Result<Written> {
        let mut txn = self.statement.txn.borrow_mut();
        self.table.insert(&mut txn, row, self.statement.lock_wait(), &mut self.buffers)
    }

    /// Changes a row that is locked.
    pub fn update(&mut self, key: &[u8], old: &[Value], new: &[Value]) -> Result<Written> {
        let mut txn = self.statement.txn.borrow_mut();
        self.table.update(&mut txn, key, old, new, self.statement.lock_wait(), &mut self.buffers)
    }

    /// Deletes a row that is locked; false: it is gone already.
    pub fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let Some(old) = self.get(key)? else { return Ok(false) };
        self.delete_row(key, &old)?;
        Ok(true)
    }

    /// As `delete`, of a row that the caller has read.
    pub fn delete_row(&mut self, key: &[u8], old: &[Value]) -> Result<()> {
        let mut txn = self.statement.txn.borrow_mut();
        self.table.delete(&mut txn, key, old, self.statement.lock_wait(), &mut self.buffers)?;
        Ok(())
    }

    /// The row of a key, as the transaction sees the newest one.
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<Value>>> {
        if !self.statement.txn.borrow().get(key, Version::Latest, &mut self.read)? {
            return Ok(None);
        }
        self.table.codec.decode_row(key, &self.read).map(Some)
    }

    /// Locks the row that is in the way of another and reads it; `None` if it has gone meanwhile. Whoever changed it after our
    /// snapshot was the first committer.
    pub fn lock_existing(&mut self, duplicate: &Duplicate) -> Result<Option<Vec<Value>>> {
        let lock_wait = self.statement.lock_wait();
        let _ = self.statement.txn.borrow_mut().lock_row(&duplicate.clustered_key, LockMode::X, lock_wait)?;
        self.get(&duplicate.clustered_key)
    }
}
