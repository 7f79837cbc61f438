//! ALTER TABLE … EXCHANGE PARTITION: the rows of a partition and of a table change places, in one commit and without being copied.
//!
//! Both keep their definitions and what is named by their ids; the index ids, under which rows are, are exchanged, and with them the row
//! counts. So both must store rows alike (`stores_alike`). A snapshot from before does not show either of them any more (1412), as for
//! indexes that are new.

use std::mem::swap;
use std::sync::Arc;

use vaquita_types::schema::{Layout, TableDef};
use vaquita_types::{Error, Result, Value, errno};

use super::ddl::DdlStatement;
use super::table::Table;
use super::{Catalog, DdlContext, internal_transaction};
use crate::base::kill_points::kill_point;
use crate::encoding::catalog::keys;
use crate::locks::LockMode;
use crate::txn::{Direction, Keep, Reads, ScanOptions, Version};

/// Says whether a row may come; its error is that of the statement.
pub type RowCheck<'a> = &'a mut dyn FnMut(&[Value]) -> Result<()>;

/// Rows between two looks whether the statement was killed.
const INTERRUPT_EVERY: u64 = 4096;

impl Catalog {
    /// Exchanges a partition with a table of the same columns and indexes. The checks are asked of the rows of the table and of
    /// those of the partition. Error 1412 if one of the handles is not the current one.
    pub fn exchange_partition<'r>(
        &self,
        (old, number): (&Arc<Table>, usize),
        other: &Arc<Table>,
        (of_table, of_partition): (Option<RowCheck<'r>>, Option<RowCheck<'r>>),
        context: &DdlContext,
    ) -> Result<()> {
        let both = [Arc::clone(old), Arc::clone(other)];
        let mut statement = DdlStatement::new(self, context);
        if !statement.begin(&both, context)? {
            return Err(Error::new(&errno::ER_TABLE_DEF_CHANGED, &[]));
        }
        let part = old.partition(number)?;
        let mut ids = [old.def.id, other.def.id];
        ids.sort();
        if of_table.is_some() || of_partition.is_some() {
            ids.iter().try_for_each(|id| statement.lock_table(*id, LockMode::S, context))?;
            for (table, check) in [(other, of_table), (part, of_partition)] {
                let Some(check) = check else { continue };
                self.each_row(table, context, &mut |_, row| check(row))?;
            }
        }
        ids.iter().try_for_each(|id| statement.lock_table(*id, LockMode::X, context))?;
        kill_point("ddl.locked");
        let (mut of_table, mut of_other) = ((*old.def).clone(), (*other.def).clone());
        let place = of_table.partitioning_mut().and_then(|by| by.partitions.get_mut(number));
        let Some(place) = place.filter(|place| place.indexes.len() == of_other.indexes.len()) else {
            return Err(Error::internal("a partition and a table with other indexes"));
        };
        place.indexes.iter_mut().zip(&mut of_other.indexes).for_each(|(id, index)| swap(id, &mut index.id));
        let now = self.transaction();
        let (rows, others) = (now.row_count(part.def.id)? as i64, now.row_count(other.def.id)? as i64);
        statement.txn.add_rows(part.def.id, others - rows);
        statement.txn.add_rows(other.def.id, rows - others);
        let counters = self.store.counters();
        // Rows keep their ids: new ones are above those of both.
        let row_id = counters.last_row_id(part.def.id)?.max(counters.last_row_id(other.def.id)?);
        let auto_increment = counters.last_auto_increment(old.def.id)?.max(counters.last_auto_increment(other.def.id)?);
        for (rows_of, counted_by) in [(part.def.id, old.def.id), (other.def.id, other.def.id)] {
            if row_id > 0 {
                statement.txn.note_row_id(rows_of, row_id)?;
            }
            if auto_increment > 0 && of_table.auto_increment_column().is_some() {
                statement.txn.note_auto_increment(counted_by, auto_increment)?;
            }
        }
        let mut change = statement.change();
        change.txn.meta_delete(&keys::statistics(other.def.id))?;
        change.retire(old);
        change.retire(other);
        change.put(of_table, old.statistics())?;
        kill_point("ddl.exchanging");
        change.put(of_other, None)?;
        change.commit()
    }

    /// All rows of a table as they are stored, with the numbers of their partitions. The caller keeps writers away, or takes rows as
    /// they were when it began.
    pub fn each_row(&self, table: &Table, context: &DdlContext, f: &mut dyn FnMut(usize, &[Value]) -> Result<()>) -> Result<()> {
        let mut txn = internal_transaction(&self.store, Arc::clone(&context.interrupt));
        txn.begin_statement(Reads::Many);
        let options = ScanOptions { keep: Keep::Nothing, spans: false, version: Version::Snapshot, ..ScanOptions::default() };
        let (mut read, mut number) = (0u64, 0..);
        table.for_each_stored(|part| {
            let number = number.next().unwrap_or(0);
            let mut cursor = txn.scan(part.codec.clustered().all(), Direction::Forward, options)?;
            while let Some((key, value)) = cursor.next(&txn)? {
                read += 1;
                if read.is_multiple_of(INTERRUPT_EVERY) {
                    context.interrupt.check()?;
                }
                f(number, &part.codec.decode_row(key, value)?)?;
            }
            Ok(())
        })
    }
}

/// Rows of one table can be read as those of the other: their layouts are the same by the positions of columns.
pub fn stores_alike(a: &TableDef, b: &TableDef) -> bool {
    let alike = |x: &Layout, y: &Layout| {
        let mut columns = x.columns.iter().zip(&y.columns);
        x.version == y.version
            && x.columns.len() == y.columns.len()
            && columns.all(|(x, y)| a.position_of(x.id) == b.position_of(y.id) && x.ty == y.ty && x.nullable == y.nullable)
    };
    // Only rows of an older layout lack a column.
    let same_added = a.layouts.len() == 1 || a.columns.iter().zip(&b.columns).all(|(x, y)| x.added_default == y.added_default);
    same_added && a.layouts.len() == b.layouts.len() && a.layouts.iter().zip(&b.layouts).all(|(x, y)| alike(x, y))
}
