//! AUTO_INCREMENT as a later part of a key (MyISAM): numbers count within the rows that are equal in the parts before it.
//!
//! `PRIMARY KEY (a, b)` with `b` automatic: the next `b` of `a = 1` is one more than the greatest `b` that the index has under
//! `a = 1`, so numbers of deleted rows come again. Whoever takes a number locks the group until the transaction ends, by
//! a key that no row has: the group's prefix.

use std::ops::Bound;

use vaquita_storage::{Direction, Entry, LockMode, LockPolicy, ScanOptions, Table, Transaction, Version};
use vaquita_types::errno::ER_WARN_DATA_OUT_OF_RANGE;
use vaquita_types::schema::TableDef;
use vaquita_types::{Error, Result, Value};

/// The index that numbers of a table are counted in, and which part of it they are, unless the column leads an index.
pub fn counting_index(def: &TableDef) -> Option<(usize, usize)> {
    let column = def.columns.get(def.auto_increment_column()?)?.id;
    let place = |index: &vaquita_types::schema::IndexDef| index.parts.iter().position(|part| part.column == column);
    if def.indexes.iter().any(|index| place(index) == Some(0)) {
        return None;
    }
    def.indexes.iter().enumerate().find_map(|(at, index)| Some((at, place(index)?)))
}

/// The next number, ≡ `offset` modulo `increment`, of the group that `row`, as it is stored, belongs to.
pub fn next(
    table: &Table,
    (at, part): (usize, usize),
    row: &[Value],
    txn: &mut Transaction,
    policy: LockPolicy,
    (increment, offset): (u64, u64),
) -> Result<u64> {
    let (Some(index), Some(codec)) = (table.def.indexes.get(at), table.codec.indexes().get(at)) else {
        return Err(Error::internal("no index to count in"));
    };
    let position = |column| table.def.position_of(column).ok_or_else(|| Error::internal("an index part without a column"));
    let group = index.parts[..part].iter().map(|p| Ok(row[position(p.column)?].clone())).collect::<Result<Vec<_>>>()?;
    let range = codec.range(&group, Bound::Unbounded, Bound::Unbounded)?;
    let _ = txn.lock_row(&range.lower, LockMode::X, policy)?;
    let options = ScanOptions { version: Version::Latest, ..ScanOptions::default() };
    let mut cursor = txn.scan(range, Direction::Backward, options)?;
    let greatest = match cursor.next(txn)? {
        None => 0,
        Some((key, value)) => match codec.part_value(part, Entry { key, value })?.map(|v| v.to_value()).transpose()? {
            Some(Value::Int(i)) => u64::try_from(i).unwrap_or(0),
            Some(Value::UInt(u)) => u,
            Some(Value::Float(f)) => f as u64,
            _ => 0,
        },
    };
    following(greatest, increment, offset).ok_or_else(|| {
        let column = table.def.auto_increment_column().map_or("", |c| &table.def.columns[c].name);
        Error::new(&ER_WARN_DATA_OUT_OF_RANGE, &[&column, &1])
    })
}

/// The least number above `number` that is ≡ `offset` modulo `increment`.
pub fn following(number: u64, increment: u64, offset: u64) -> Option<u64> {
    let increment = increment.max(1);
    let steps = if number < offset { 0 } else { (number - offset) / increment + 1 };
    steps.checked_mul(increment)?.checked_add(offset)
}
