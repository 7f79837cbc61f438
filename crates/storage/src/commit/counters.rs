//! Exact row counts, AUTO_INCREMENT values and hidden row ids, per table.
//!
//! They live in memory and, as absolute values, in the data family under the index id 0, which no index has: whoever
//! leads a commit group adds one record per counter that the group changed, in the group's own batch (or, for a commit by
//! files, in one of them). So the row count read at a snapshot is exact for that snapshot, and there is no merge operator to
//! fold. Only the commit leader changes row counts; ids are handed out at any time and the
//! highest one used is stored with the commit that used it.
//!
//! | key (data family)                     | value                              |
//! |---------------------------------------|------------------------------------|
//! | `00000000` `72` table id (u32 BE)     | rows, i64 LE                       |
//! | `00000000` `61` table id (u32 BE)     | highest AUTO_INCREMENT used, u64 LE |
//! | `00000000` `69` table id (u32 BE)     | highest hidden row id used, u64 LE |
//! | `00000000` `6c` 0 (u32)               | what the stage *log* says of the last commit by files, see `LOG_PLACE` |

use std::collections::HashMap;
use std::sync::Arc;

use vaquita_types::errno::ER_AUTOINC_READ_FAILED;
use vaquita_types::schema::TableId;
use vaquita_types::{Error, Result};

use super::records::Records;
use crate::base::kill_points::kill_point;
use crate::base::sync::RwLock;
use crate::base::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use crate::encoding::KeyRange;
use crate::encoding::ids::TEMPORARY_ID_MIN;
use crate::rocks::read_error;
use crate::rocks::{Db, Family, Snapshot};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Rows = b'r',
    AutoIncrement = b'a',
    RowId = b'i',
}

const KINDS: [Kind; 3] = [Kind::Rows, Kind::AutoIncrement, Kind::RowId];

fn key(kind: Kind, table: TableId) -> [u8; 9] {
    let id = table.0.to_be_bytes();
    [0, 0, 0, 0, kind as u8, id[0], id[1], id[2], id[3]]
}

/// Files that are ingested bring this key, too, so that whoever logs them tells by it whether they are there.
pub const LOG_PLACE: [u8; 9] = [0, 0, 0, 0, b'l', 0, 0, 0, 0];

/// The data keys of all counters.
pub fn all_keys() -> KeyRange {
    KeyRange { lower: vec![0; 4], upper: vec![0, 0, 0, 1] }
}

/// The table that a counter's key names.
pub fn table_of(key: &[u8]) -> Option<TableId> {
    if key == LOG_PLACE {
        return None;
    }
    key.last_chunk().map(|id| TableId(u32::from_be_bytes(*id)))
}

/// The counters of all temporary tables.
pub fn temporary_ranges() -> [KeyRange; 3] {
    KINDS.map(|kind| KeyRange { lower: key(kind, TableId(TEMPORARY_ID_MIN)).to_vec(), upper: vec![0, 0, 0, 0, kind as u8 + 1] })
}

/// The counters of one table.
struct TableCounters {
    /// As of the last commit group that was logged.
    rows: AtomicI64,
    auto_increment: Ids,
    row_id: Ids,
}

/// Ids handed out in ascending order.
struct Ids {
    /// The highest one handed out or seen.
    last: AtomicU64,
    /// The highest one in the log.
    stored: AtomicU64,
}

impl Ids {
    fn new(stored: u64) -> Ids {
        Ids { last: AtomicU64::new(stored), stored: AtomicU64::new(stored) }
    }

    /// Hands out `count` values that are ≡ `offset` modulo `increment`, the first returned.
    fn next(&self, count: u64, increment: u64, offset: u64) -> Option<u64> {
        let increment = increment.max(1);
        // As MySQL: an offset above the increment is ignored.
        let offset = if offset > increment { 1 } else { offset };
        let first = |last: u64| {
            let steps = (last + 1).saturating_sub(offset).div_ceil(increment);
            steps.checked_mul(increment)?.checked_add(offset).map(|v| v.max(1))
        };
        let end = |first: u64| count.saturating_sub(1).checked_mul(increment)?.checked_add(first);
        let step = |last: u64| (last < u64::MAX).then(|| first(last).and_then(end)).flatten();
        self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).ok().and_then(first)
    }

    /// A record for the log if `used` is the highest so far. It has what was handed out to others, too, who may give it back: no number is given
    /// twice, also after a restart.
    fn log(&self, used: u64, key: &[u8], records: &mut Records) {
        if used > self.stored.load(Ordering::Relaxed) {
            let last = self.last.load(Ordering::Relaxed).max(used);
            self.stored.store(last, Ordering::Relaxed);
            records.put(Family::Data, key, &last.to_le_bytes());
            kill_point("commit.auto-increment");
        }
    }

    fn set(&self, last: u64, key: &[u8], records: &mut Records) {
        self.last.store(last, Ordering::Relaxed);
        self.stored.store(last, Ordering::Relaxed);
        records.put(Family::Data, key, &last.to_le_bytes());
    }
}

/// What one transaction did to counters.
#[derive(Clone, Copy, Debug)]
pub enum CounterChange {
    Rows(i64),
    /// The highest value used.
    AutoIncrementUsed(u64),
    /// `ALTER TABLE … AUTO_INCREMENT`: the last value that counts as used.
    AutoIncrementSet(u64),
    RowIdUsed(u64),
    /// The table is gone.
    Dropped,
}

pub struct Counters {
    db: Arc<Db>,
    tables: RwLock<HashMap<TableId, Arc<TableCounters>>>,
}

impl Counters {
    pub fn new(db: Arc<Db>) -> Counters {
        Counters { db, tables: RwLock::default() }
    }

    fn table(&self, table: TableId) -> Result<Arc<TableCounters>> {
        if let Some(found) = self.tables.read().get(&table) {
            return Ok(Arc::clone(found));
        }
        // Loaded under the write lock: the leader cannot change what is being read.
        let mut tables = self.tables.write();
        if let Some(found) = tables.get(&table) {
            return Ok(Arc::clone(found));
        }
        let loaded = Arc::new(TableCounters {
            rows: AtomicI64::new(self.read(Kind::Rows, table, None)? as i64),
            auto_increment: Ids::new(self.read(Kind::AutoIncrement, table, None)?),
            row_id: Ids::new(self.read(Kind::RowId, table, None)?),
        });
        tables.insert(table, Arc::clone(&loaded));
        Ok(loaded)
    }

    fn read(&self, kind: Kind, table: TableId, at: Option<&Snapshot>) -> Result<u64> {
        let mut buf = Vec::new();
        if !self.db.get(Family::Data, &key(kind, table), at, &mut buf).map_err(read_error)? {
            return Ok(0);
        }
        let bytes: [u8; 8] =
            buf.as_slice().try_into().map_err(|_| Error::corrupt(format_args!("counter of table {}", table.0)))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Committed rows of the table at the snapshot, or now.
    pub fn rows(&self, table: TableId, at: Option<&Snapshot>) -> Result<i64> {
        Ok(self.read(Kind::Rows, table, at)? as i64)
    }

    pub fn next_auto_increment(&self, table: TableId, count: u64, increment: u64, offset: u64) -> Result<u64> {
        let ids = self.table(table)?;
        ids.auto_increment.next(count, increment, offset).ok_or_else(|| Error::new(&ER_AUTOINC_READ_FAILED, &[]))
    }

    /// Values up to `value` are used.
    pub fn note_auto_increment(&self, table: TableId, value: u64) -> Result<()> {
        self.table(table)?.auto_increment.last.fetch_max(value, Ordering::Relaxed);
        Ok(())
    }

    /// The highest value handed out or seen.
    pub fn last_auto_increment(&self, table: TableId) -> Result<u64> {
        Ok(self.table(table)?.auto_increment.last.load(Ordering::Relaxed))
    }

    pub fn next_row_id(&self, table: TableId) -> Result<u64> {
        self.table(table)?.row_id.next(1, 1, 1).ok_or_else(|| Error::new(&ER_AUTOINC_READ_FAILED, &[]))
    }

    /// Row ids up to `id` are used.
    pub fn note_row_id(&self, table: TableId, id: u64) -> Result<()> {
        self.table(table)?.row_id.last.fetch_max(id, Ordering::Relaxed);
        Ok(())
    }

    /// The highest row id handed out or seen.
    pub fn last_row_id(&self, table: TableId) -> Result<u64> {
        Ok(self.table(table)?.row_id.last.load(Ordering::Relaxed))
    }

    /// What was handed out and is not in the log, of tables that outlive this run.
    pub fn unstored(&self) -> Vec<(TableId, CounterChange)> {
        let tables = self.tables.read();
        let lasting = tables.iter().filter(|(table, _)| table.0 < TEMPORARY_ID_MIN);
        let unstored = lasting.filter_map(|(table, counters)| {
            let ids = &counters.auto_increment;
            let last = ids.last.load(Ordering::Relaxed);
            (last > ids.stored.load(Ordering::Relaxed)).then_some((*table, CounterChange::AutoIncrementUsed(last)))
        });
        unstored.collect()
    }

    /// `ALTER TABLE … AUTO_INCREMENT` of a temporary table.
    pub fn set_unlogged(&self, table: TableId, last: u64) -> Result<()> {
        self.table(table)?.auto_increment.last.store(last, Ordering::Relaxed);
        Ok(())
    }

    /// A temporary table is gone that was never stored.
    pub fn forget(&self, table: TableId) {
        self.tables.write().remove(&table);
    }

    /// Called by the commit leader alone, when what `log` added was not written: back to what is stored. Ids that were
    /// handed out stay so.
    pub(crate) fn undo<'a>(&self, changes: impl Iterator<Item = &'a (TableId, CounterChange)>) -> Result<()> {
        for &(table, _) in changes {
            let Some(counters) = self.tables.read().get(&table).map(Arc::clone) else { continue };
            counters.rows.store(self.read(Kind::Rows, table, None)? as i64, Ordering::Relaxed);
            for (kind, ids) in [(Kind::AutoIncrement, &counters.auto_increment), (Kind::RowId, &counters.row_id)] {
                ids.stored.store(self.read(kind, table, None)?, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Called by the commit leader alone: applies a group's changes and adds their records.
    pub(crate) fn log<'a>(
        &self,
        changes: impl Iterator<Item = &'a (TableId, CounterChange)>,
        records: &mut Records,
    ) -> Result<()> {
        let mut rows: Vec<(TableId, i64)> = Vec::new();
        for &(table, change) in changes {
            if let CounterChange::Dropped = change {
                for kind in KINDS {
                    records.delete(Family::Data, &key(kind, table));
                }
                self.tables.write().remove(&table);
                rows.retain(|(t, _)| *t != table);
                continue;
            }
            let counters = self.table(table)?;
            let auto_key = key(Kind::AutoIncrement, table);
            match change {
                CounterChange::Rows(delta) => match rows.iter_mut().find(|(t, _)| *t == table) {
                    Some((_, sum)) => *sum += delta,
                    None => rows.push((table, delta)),
                },
                CounterChange::AutoIncrementUsed(used) => counters.auto_increment.log(used, &auto_key, records),
                CounterChange::AutoIncrementSet(last) => counters.auto_increment.set(last, &auto_key, records),
                CounterChange::RowIdUsed(used) => counters.row_id.log(used, &key(Kind::RowId, table), records),
                CounterChange::Dropped => {}
            }
        }
        for (table, delta) in rows.into_iter().filter(|(_, delta)| *delta != 0) {
            let now = self.table(table)?.rows.fetch_add(delta, Ordering::Relaxed) + delta;
            records.put(Family::Data, &key(Kind::Rows, table), &now.to_le_bytes());
            kill_point("commit.row-count");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_increment_and_offset() {
        let ids = Ids::new(0);
        assert_eq!(ids.next(1, 1, 1), Some(1));
        assert_eq!(ids.next(3, 1, 1), Some(2));
        assert_eq!(ids.next(1, 10, 5), Some(5));
        assert_eq!(ids.next(2, 10, 5), Some(15));
        assert_eq!(ids.next(1, 10, 5), Some(35));
        assert_eq!(ids.next(1, 5, 10), Some(36));
        let ids = Ids::new(u64::MAX - 2);
        assert_eq!(ids.next(1, 1, 1), Some(u64::MAX - 1));
        assert_eq!(ids.next(1, 1, 1), Some(u64::MAX));
        assert_eq!(ids.next(1, 1, 1), None);
    }
}
