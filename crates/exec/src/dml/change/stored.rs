//! Step 3 of a change: a row as it is stored, with its index entries and its foreign keys. The row image comes here after what is written.

use std::rc::Rc;
use std::sync::Arc;

use vaquita_plan::env::Level;
use vaquita_storage::{Buffers, Duplicate, LockMode, LogBuffer, NewRows, Table, Version, Written};
use vaquita_types::errno::ER_ILLEGAL_HA;
use vaquita_types::schema::{ForeignKeyDef, ReferentialAction};
use vaquita_types::{Error, Result, Value};

use super::foreign_keys::{Chain, cascade, check_children, check_parents, is_key_error, is_of_cascade};
use super::logged::LoggedRows;
use super::row_partitions::{RowPartitions, is_partition_error, number_of_key};
use crate::context::{Execution, Links, RowChange, RowCollector};

/// The stored rows of one table, for one statement. TIMESTAMPs are in UTC.
pub(crate) struct StoredRows<'a> {
    statement: &'a Execution<'a>,
    table: &'a Table,
    buffers: Buffers,
    /// The bytes of a row that was read.
    read: Vec<u8>,
    /// The table has foreign keys or is the parent of some, and they are checked.
    keyed: bool,
    /// Of a partitioned table.
    partitions: Option<Box<RowPartitions>>,
    /// The binary log is told of changes.
    logged: Option<Box<LoggedRows<'a>>>,
}

impl<'a> StoredRows<'a> {
    pub fn new(statement: &'a Execution<'a>, table: &'a Table) -> StoredRows<'a> {
        let keyed = table.def.has_foreign_keys() && statement.session.run_settings().foreign_key_checks;
        let logged = LoggedRows::of(statement, table).map(Box::new);
        StoredRows { statement, table, buffers: Buffers::default(), read: Vec::new(), keyed, partitions: None, logged }
    }

    /// As `new`, of a table that may be partitioned; `selected` are the partitions that the statement names, which rows must be in.
    pub fn within(statement: &'a Execution<'a>, table: &'a Table, selected: Option<&Arc<[usize]>>) -> Result<StoredRows<'a>> {
        let rows = StoredRows::new(statement, table);
        Ok(StoredRows { partitions: RowPartitions::of(statement, table, selected)?, ..rows })
    }

    /// Whoever asked for the changes has seen to foreign keys.
    pub fn leave_foreign_keys(&mut self) {
        self.keyed = false;
    }

    /// Whether a change of rows changes rows of others by a foreign key, or is made by one.
    pub fn has_cascades(&self) -> Result<bool> {
        if !self.keyed {
            return Ok(false);
        }
        let acts = |key: &ForeignKeyDef| {
            [key.on_delete, key.on_update]
                .iter()
                .any(|action| matches!(action, ReferentialAction::Cascade | ReferentialAction::SetNull))
        };
        let links = self.links()?;
        let to_children = links.children.iter().filter_map(|to| to.child.def.foreign_keys.get(to.key)).any(acts);
        Ok(to_children || self.table.def.foreign_keys.iter().any(acts))
    }

    /// Where a row is stored: the table, or its partition.
    pub fn place(&self, row: &[Value]) -> Result<&Table> {
        match &self.partitions {
            None => Ok(self.table),
            Some(partitions) => Ok(self.table.partition(partitions.of_row(row)?)?),
        }
    }

    pub fn insert(&mut self, row: &[Value]) -> Result<Written> {
        if self.keyed {
            check_parents(self.statement, self.table, &*self.links()?, None, row, None)?;
        }
        let table = match &self.partitions {
            None => self.table,
            Some(partitions) => self.table.partition(partitions.of_row(row)?)?,
        };
        let written = {
            let mut txn = self.statement.txn.borrow_mut();
            table.insert(&mut txn, row, self.statement.lock_wait(), &mut self.buffers)?
        };
        match &self.logged {
            Some(logged) if written == Written::Done => logged.tell_insert(row)?,
            _ => {}
        }
        Ok(written)
    }

    /// New rows need nothing but their keys.
    pub fn is_plain(&self) -> bool {
        !self.keyed && self.partitions.is_none() && !self.table.def.options.temporary && self.table.takes_rows_together()
    }

    /// Collects what the binary log is told of new rows; `None`: nobody is told.
    pub fn collector(&self) -> Option<RowCollector<'a>> {
        self.logged.as_ref().map(|logged| logged.collector())
    }

    /// Inserts plain rows, and tells the log of them. False: nothing is written, since one of them may be there.
    pub fn insert_all(&mut self, rows: &NewRows, told: &LogBuffer) -> Result<bool> {
        let mut txn = self.statement.txn.borrow_mut();
        if !self.table.insert_rows(&mut txn, rows, self.statement.lock_wait())? {
            return Ok(false);
        }
        match &self.logged {
            Some(logged) => logged.tell_all(&mut txn, told).map(|()| true),
            None => Ok(true),
        }
    }

    /// Positions of the columns that new rows are given no value for.
    pub fn leave_out(&mut self, columns: &[usize]) {
        if let Some(logged) = &mut self.logged {
            logged.left_out = columns.to_vec();
        }
    }

    /// The table keeps no rows, but the log has them.
    pub fn insert_nowhere(&self, row: &[Value]) -> Result<()> {
        match &self.logged {
            Some(logged) => logged.tell_insert(row),
            None => Ok(()),
        }
    }

    /// Error 1452 for a new row without a parent.
    pub fn find_parents(&mut self, row: &[Value]) -> Result<()> {
        if self.keyed { check_parents(self.statement, self.table, &*self.links()?, None, row, None) } else { Ok(()) }
    }

    /// Changes a row that is locked.
    pub fn update(&mut self, key: &[u8], old: &[Value], new: &[Value]) -> Result<Written> {
        if self.keyed {
            return self.update_within(key, old, new, &Chain::root(self.table.def.id, key));
        }
        self.write_update(key, old, new, false)
    }

    /// As `update`, within a cascade.
    pub(super) fn update_within(&mut self, key: &[u8], old: &[Value], new: &[Value], chain: &Chain<'_>) -> Result<Written> {
        let links = self.links()?;
        check_children(self.statement, self.table, &links, old, Some(new), chain)?;
        check_parents(self.statement, self.table, &links, Some(old), new, chain.key_of_parent_to_come())?;
        if self.changes_children_first(&links, old, Some(new), chain) {
            return self.update_behind_children(&links, key, (old, new), chain);
        }
        let written = self.write_update(key, old, new, self.tells_of_cascade(&links, old, Some(new), chain))?;
        if written == Written::Done {
            cascade(self.statement, self.table, &links, old, Some(new), chain)?;
        }
        Ok(written)
    }

    /// Rows of ARCHIVE stay as they are: error 1031.
    fn refuse_archive(&self) -> Result<()> {
        match self.table.def.options.engine == "ARCHIVE" {
            true => Err(Error::new(&ER_ILLEGAL_HA, &[&self.table.def.name])),
            false => Ok(()),
        }
    }

    /// As in MySQL, triggers of a cascade find the row at which it begins as it was, and the log has that row behind those of the cascade, so
    /// that who carries them out one by one never leaves a child without its parent.
    fn changes_children_first(&self, links: &Links, old: &[Value], new: Option<&[Value]>, chain: &Chain<'_>) -> bool {
        let cascade_triggers = || self.statement.session.run_settings().cascade_triggers;
        !links.children.is_empty() && chain.is_root() && (self.tells_of_cascade(links, old, new, chain) || cascade_triggers())
    }

    /// What children have become is undone if the row's new key turns out to be taken.
    fn update_behind_children(
        &mut self,
        links: &Links,
        key: &[u8],
        (old, new): (&[Value], &[Value]),
        chain: &Chain<'_>,
    ) -> Result<Written> {
        let part = self.statement.txn.borrow_mut().begin_part();
        let done = cascade(self.statement, self.table, links, old, Some(new), chain);
        let written = done.and_then(|()| self.write_update(key, old, new, self.tells_of_cascade(links, old, Some(new), chain)));
        let mut txn = self.statement.txn.borrow_mut();
        match &written {
            Ok(Written::Done) => txn.end_part(part),
            _ => {
                txn.rollback_part(part);
                self.statement.forget_found_keys();
            }
        }
        written
    }

    fn write_update(&mut self, key: &[u8], old: &[Value], new: &[Value], cascades: bool) -> Result<Written> {
        self.refuse_archive()?;
        let written = self.write_in_place(key, old, new)?;
        match &self.logged {
            Some(logged) if written == Written::Done => {
                logged.tell(RowChange { before: Some(old), after: Some(new), left_out: &[], cascades })?;
            }
            _ => {}
        }
        Ok(written)
    }

    fn write_in_place(&mut self, key: &[u8], old: &[Value], new: &[Value]) -> Result<Written> {
        let mut table = self.table;
        if let Some(partitions) = &self.partitions {
            let (from, to) = (number_of_key(self.table, key)?, partitions.of_row(new)?);
            table = self.table.partition(from)?;
            if from != to {
                return self.move_row(key, old, new, self.table.partition(to)?, table);
            }
        }
        let mut txn = self.statement.txn.borrow_mut();
        table.update(&mut txn, key, old, new, self.statement.lock_wait(), &mut self.buffers)
    }

    /// Deletes a row that is locked; false: it is gone already.
    pub fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let Some(old) = self.get(key)? else { return Ok(false) };
        self.delete_row(key, &old)?;
        Ok(true)
    }

    /// As `delete`, of a row that the caller has read.
    pub fn delete_row(&mut self, key: &[u8], old: &[Value]) -> Result<()> {
        if self.keyed {
            return self.delete_within(key, old, &Chain::root(self.table.def.id, key));
        }
        self.write_delete(key, old, false)
    }

    /// As `delete_row`, within a cascade.
    pub(super) fn delete_within(&mut self, key: &[u8], old: &[Value], chain: &Chain<'_>) -> Result<()> {
        let links = self.links()?;
        check_children(self.statement, self.table, &links, old, None, chain)?;
        let cascades = self.tells_of_cascade(&links, old, None, chain);
        if self.changes_children_first(&links, old, None, chain) {
            cascade(self.statement, self.table, &links, old, None, chain)?;
            return self.write_delete(key, old, cascades);
        }
        self.write_delete(key, old, cascades)?;
        cascade(self.statement, self.table, &links, old, None, chain)
    }

    /// Other rows refer to rows of this table.
    pub fn is_parent(&self) -> bool {
        self.keyed && !self.table.def.referenced_by.is_empty()
    }

    /// Under IGNORE: as `change`, but a row without a partition or a foreign key that fails is a warning, and all that came of the change is undone.
    pub fn ignoring<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if !self.keyed {
            return match change(self) {
                Err(error) if is_partition_error(&error) => {
                    self.statement.session.warn(Level::Warning, error);
                    Ok(None)
                }
                done => done.map(Some),
            };
        }
        let part = self.statement.txn.borrow_mut().begin_part();
        match change(self) {
            Err(error) if is_key_error(&error) => {
                self.statement.txn.borrow_mut().rollback_part(part);
                self.statement.forget_found_keys();
                self.statement.session.warn(Level::Warning, error);
                Ok(None)
            }
            done => {
                self.statement.txn.borrow_mut().end_part(part);
                done.map(Some)
            }
        }
    }

    /// The log is told that the change is of a cascade.
    fn tells_of_cascade(&self, links: &Links, old: &[Value], new: Option<&[Value]>, chain: &Chain<'_>) -> bool {
        self.logged.is_some() && is_of_cascade(links, old, new, chain)
    }

    fn links(&self) -> Result<Rc<Links>> {
        self.statement.links(self.table)
    }

    fn write_delete(&mut self, key: &[u8], old: &[Value], cascades: bool) -> Result<()> {
        self.refuse_archive()?;
        let table = match &self.partitions {
            None => self.table,
            Some(_) => self.table.partition(number_of_key(self.table, key)?)?,
        };
        table.delete(&mut self.statement.txn.borrow_mut(), key, old, self.statement.lock_wait(), &mut self.buffers)?;
        match &self.logged {
            Some(logged) => logged.tell(RowChange { before: Some(old), after: None, left_out: &[], cascades }),
            None => Ok(()),
        }
    }

    /// An update gives the row another partition. Whether its unique keys are free is known there: they hold all columns that say
    /// which partition a row is in.
    fn move_row(&mut self, key: &[u8], old: &[Value], new: &[Value], to: &Table, from: &Table) -> Result<Written> {
        let mut txn = self.statement.txn.borrow_mut();
        let wait = self.statement.lock_wait();
        let written = to.insert(&mut txn, new, wait, &mut self.buffers)?;
        if written == Written::Done {
            from.delete(&mut txn, key, old, wait, &mut self.buffers)?;
        }
        Ok(written)
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
