//! How the row of an image is found, as `slave_rows_search_algorithms` did: by the primary key, a unique key without NULL, another index, or by
//! going through the table. In the last two all columns of the image are compared.
//!
//! Whoever goes through the table begins behind the row that was found last: the source's rows come in an order that is often ours, so that
//! many changes of a table without keys go through it once.

use vaquita_storage::{Direction, Entry, KeyRange, LockMode, ScanOptions, Table, Version};
use vaquita_types::schema::{IndexDef, IndexKind};
use vaquita_types::{Result, Value};

use crate::context::Execution;
use crate::dml::change::StoredRows;

pub(super) struct Search {
    way: Way,
    /// Which columns the images have.
    given: Vec<bool>,
    /// Where the last row was found, with the partition.
    last: Option<(usize, Vec<u8>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Primary,
    /// By the position of a unique or another secondary index.
    Unique(usize),
    Index(usize),
    Table,
}

impl Search {
    pub fn choose(table: &Table, wanted: &[Option<Value>]) -> Search {
        let given: Vec<bool> = wanted.iter().map(Option::is_some).collect();
        let indexes = &table.def.indexes;
        let has_all = |index: &IndexDef| {
            index.parts.iter().all(|part| table.def.position_of(part.column).is_some_and(|position| given[position]))
        };
        let never_null = |index: &IndexDef| {
            index.parts.iter().all(|part| {
                let position = table.def.position_of(part.column);
                position.is_some_and(|position| !table.def.columns[position].nullable)
            })
        };
        let usable = |index: &IndexDef| !index.parts.is_empty() && !index.multi_valued && has_all(index);
        let way = match indexes.first() {
            Some(primary) if !table.def.hidden_rowid && usable(primary) => Way::Primary,
            _ => {
                let find = |fits: &dyn Fn(&IndexDef) -> bool| {
                    indexes.iter().enumerate().skip(1).find(|(_, index)| usable(index) && fits(index)).map(|(at, _)| at)
                };
                // Of a partitioned table each index is in parts.
                let whole = table.def.partitioning.is_none();
                let unique = find(&|index| whole && index.kind == IndexKind::Unique && never_null(index));
                let other = find(&|index| whole && matches!(index.kind, IndexKind::Unique | IndexKind::Secondary));
                unique.map(Way::Unique).or(other.map(Way::Index)).unwrap_or(Way::Table)
            }
        };
        Search { way, given, last: None }
    }

    /// Images with the same columns are found in the same way.
    pub fn suits(&self, wanted: &[Option<Value>]) -> bool {
        self.given.iter().zip(wanted).all(|(given, wanted)| *given == wanted.is_some())
    }

    /// The rows may stand elsewhere now.
    pub fn changed(&mut self) {
        if self.way != Way::Table {
            self.last = None;
        }
    }

    pub fn find(
        &mut self,
        statement: &Execution<'_>,
        table: &Table,
        rows: &mut StoredRows<'_>,
        wanted: &[Option<Value>],
    ) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
        match self.way {
            Way::Primary => {
                let probe: Vec<Value> = wanted.iter().map(|value| value.clone().unwrap_or_default()).collect();
                let mut key = Vec::new();
                rows.place(&probe)?.codec.clustered().encode_clustered(&probe, 0, &mut key)?;
                locked(statement, rows, key)
            }
            Way::Unique(index) => in_index(statement, table, rows, index, wanted, false),
            Way::Index(index) => in_index(statement, table, rows, index, wanted, true),
            Way::Table => self.in_table(statement, table, rows, wanted),
        }
    }

    fn in_table(
        &mut self,
        statement: &Execution<'_>,
        table: &Table,
        rows: &mut StoredRows<'_>,
        wanted: &[Option<Value>],
    ) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
        let mut parts: Vec<KeyRange> = Vec::new();
        table.for_each_stored(|stored| {
            parts.push(stored.codec.clustered().all());
            Ok(())
        })?;
        let mut ranges: Vec<(usize, KeyRange)> = parts.into_iter().enumerate().collect();
        if let Some((part, key)) = self.last.take()
            && let Some(range) = ranges.get(part).map(|(_, range)| range.clone())
        {
            let behind = KeyRange { lower: key.clone(), upper: range.upper.clone() };
            let before = KeyRange { lower: range.lower.clone(), upper: key };
            ranges.rotate_left(part);
            ranges[0].1 = behind;
            ranges.push((part, before));
        }
        for (part, range) in ranges {
            let mut cursor = statement.txn.borrow().scan(range, Direction::Forward, latest())?;
            loop {
                statement.interrupt.check_in_turn()?;
                let key = {
                    let txn = statement.txn.borrow();
                    let Some((key, value)) = cursor.next(&txn)? else { break };
                    let row = table.codec.decode_row(key, value)?;
                    if !is_alike(&row, wanted, table) {
                        continue;
                    }
                    key.to_vec()
                };
                if let Some((key, row)) = locked(statement, rows, key)?
                    && is_alike(&row, wanted, table)
                {
                    self.last = Some((part, key.clone()));
                    return Ok(Some((key, row)));
                }
            }
        }
        Ok(None)
    }
}

/// The first row with the values of the index's columns, and if asked for of all that the image has.
fn in_index(
    statement: &Execution<'_>,
    table: &Table,
    rows: &mut StoredRows<'_>,
    index: usize,
    wanted: &[Option<Value>],
    compares: bool,
) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
    let Some(codec) = table.codec.indexes().get(index) else { return Ok(None) };
    let probe: Vec<Value> = wanted.iter().map(|value| value.clone().unwrap_or_default()).collect();
    let mut prefix = Vec::new();
    codec.encode_declared(&probe, &mut prefix)?;
    let mut cursor = statement.txn.borrow().scan(KeyRange::prefix(&prefix), Direction::Forward, latest())?;
    loop {
        statement.interrupt.check_in_turn()?;
        let mut key = Vec::new();
        {
            let txn = statement.txn.borrow();
            let Some((entry, value)) = cursor.next(&txn)? else { return Ok(None) };
            codec.clustered_key(Entry { key: entry, value }, &mut key)?;
        }
        if let Some(found) = locked(statement, rows, key)?
            && (!compares || is_alike(&found.1, wanted, table))
        {
            return Ok(Some(found));
        }
    }
}

/// Locks a row and reads what it is now.
fn locked(statement: &Execution<'_>, rows: &mut StoredRows<'_>, key: Vec<u8>) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
    let _ = statement.txn.borrow_mut().lock_row(&key, LockMode::X, statement.lock_wait())?;
    Ok(rows.get(&key)?.map(|row| (key, row)))
}

/// What a row does not hold, since it is computed when it is read, is not compared.
fn is_alike(row: &[Value], wanted: &[Option<Value>], table: &Table) -> bool {
    let columns = row.iter().zip(wanted).zip(&table.def.columns);
    columns
        .filter(|(_, column)| column.is_in_row())
        .all(|((value, wanted), _)| wanted.as_ref().is_none_or(|wanted| wanted == value))
}

fn latest() -> ScanOptions {
    ScanOptions { version: Version::Latest, ..ScanOptions::default() }
}
