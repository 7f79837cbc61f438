//! ADD FOREIGN KEY while children and parents are read and written.
//!
//! 1. Under short S locks of the table and its parents, handles are published whose writers note the clustered keys of the rows that they
//!    change (`Building::watching`). A snapshot is taken: who wrote before has committed, who writes later notes.
//! 2. Indexes that the table gets are built (`online`). Then all its rows are checked in the snapshot, with no lock held.
//! 3. Under S locks of the same tables only the noted rows are checked: children as they are now, and for parents as they were in the
//!    snapshot whether a child still needs them. If writers noted too much, all rows are checked once more.
//! 4. The definition is installed as by any ALTER. If the check failed (1452, KILL, a timeout), handles without notes are put back.
//!
//! A child that nobody noted had its parent in the snapshot; if that parent is not noted either, it is still there.

use std::collections::HashSet;
use std::sync::Arc;

use vaquita_types::schema::{IndexId, TableDef, TableId};
use vaquita_types::{Error, Result};

use super::alter::{Alter, install};
use super::building::Building;
use super::ddl::DdlStatement;
use super::progress::Stage;
use super::table::Table;
use super::{Catalog, DdlContext};
use crate::base::kill_points::kill_point;
use crate::commit::active::Isolation;
use crate::locks::LockMode;
use crate::txn::{Reads, Transaction, Version};

/// What an ALTER that adds foreign keys asks of the rows. `table` is the new one, whole but not yet installed.
pub trait Validation {
    /// All rows: those of the snapshot of `txn`, or the latest while nobody writes.
    fn all(&self, txn: &Transaction, version: Version, table: &Table) -> Result<()>;
    /// The rows that were changed since the snapshot of `before`, now that nobody writes.
    fn changed(&self, before: &Transaction, table: &Table, rows: &ChangedRows) -> Result<()>;
}

/// The clustered keys of rows that were changed.
#[derive(Debug, Default)]
pub struct ChangedRows(Vec<(TableId, HashSet<Box<[u8]>>)>);

impl ChangedRows {
    pub fn of(&self, table: TableId) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter(move |(id, _)| *id == table).flat_map(|(_, keys)| keys.iter().map(|key| &**key))
    }
}

impl Catalog {
    /// An ALTER that leaves the rows as they are and adds foreign keys, whose parents are `change.related`.
    pub(super) fn alter_validated(
        &self,
        mut statement: DdlStatement<'_>,
        old: &Arc<Table>,
        new: TableDef,
        change: &Alter<'_>,
        validation: &dyn Validation,
    ) -> Result<(Arc<Table>, u64)> {
        let context = change.context.ddl;
        // Other DDL must not come between a statement that fails and the withdrawal of its handles.
        let _guard = statement.keep_guard();
        let mut watch = Watch { catalog: self, built: change.built, handles: Vec::new() };
        let checked = watch.begin(&mut statement, old, &new, change.related, context).and_then(|before| {
            statement.txn.rollback();
            kill_point("alter.published");
            watch.check(&mut statement, &before, &new, validation, context)
        });
        let installed = checked.and_then(|()| {
            context.progress.enter(Stage::WaitingToCommit);
            statement.lock_table(old.def.id, LockMode::X, context)?;
            let (handle, related) = watch.handles.split_first().ok_or_else(|| Error::internal("no table to alter"))?;
            if let Some(building) = handle.building() {
                building.check()?;
            }
            install(statement, handle, new, &change.of(related))
        });
        if installed.is_err() {
            watch.end()?;
        }
        Ok((installed?, 0))
    }
}

/// Handles whose writers note what they change: the altered table's first.
struct Watch<'c> {
    catalog: &'c Catalog,
    built: &'c [IndexId],
    handles: Vec<Arc<Table>>,
}

impl Watch<'_> {
    /// The snapshot behind which nothing changes unnoted.
    fn begin(
        &mut self,
        statement: &mut DdlStatement<'_>,
        old: &Arc<Table>,
        new: &TableDef,
        related: &[Arc<Table>],
        context: &DdlContext,
    ) -> Result<Transaction> {
        for table in std::iter::once(old).chain(related) {
            statement.lock_table(table.def.id, LockMode::S, context)?;
        }
        let mut building = Building::watching(&old.def, new, self.built)?;
        // Of unique ones writers keep the entries, so that nobody waits before the rows are checked.
        if !building.has_unique() {
            self.catalog.prepare_notes(&mut building, old.def.id)?;
        }
        self.handles.push(self.catalog.publish(old, Some(building))?);
        for parent in related {
            let building = Building::watching(&parent.def, &parent.def, &[])?;
            self.handles.push(self.catalog.publish(parent, Some(building))?);
        }
        let isolation = Isolation::RepeatableRead;
        let mut before = super::internal_transaction_at(&self.catalog.store, isolation, context.interrupt.clone());
        before.begin_statement(Reads::Many);
        before.take_snapshot();
        Ok(before)
    }

    fn check(
        &self,
        statement: &mut DdlStatement<'_>,
        before: &Transaction,
        new: &TableDef,
        validation: &dyn Validation,
        context: &DdlContext,
    ) -> Result<()> {
        if let Some(handle) = self.handles.first().filter(|_| !self.built.is_empty()) {
            self.catalog.backfill(handle, context, None)?;
        }
        context.progress.enter(Stage::ReadingRows);
        let table = Table::new(Arc::new(new.clone()))?;
        validation.all(before, Version::Snapshot, &table)?;
        kill_point("alter.validating");
        context.progress.enter(Stage::WaitingToCommit);
        for handle in &self.handles {
            statement.lock_table(handle.def.id, LockMode::S, context)?;
        }
        match self.changed_rows() {
            Some(rows) => validation.changed(before, &table, &rows)?,
            None => validation.all(&self.catalog.transaction(), Version::Latest, &table)?,
        }
        kill_point("alter.validated");
        Ok(())
    }

    /// What writers noted; `None`: too much.
    fn changed_rows(&self) -> Option<ChangedRows> {
        let keys = |handle: &Arc<Table>| Some((handle.def.id, handle.building()?.take_changed()?));
        self.handles.iter().map(keys).collect::<Option<_>>().map(ChangedRows)
    }

    fn end(&self) -> Result<()> {
        let mut built = self.built;
        for handle in &self.handles {
            self.catalog.withdraw(handle, built)?;
            built = &[];
        }
        Ok(())
    }
}
