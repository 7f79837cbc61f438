//! The tables of information_schema that say what engines have kept of attributes: one row for each schema, table, column and key. No
//! attribute is kept here.

use vaquita_types::{Result, Value};

use super::Row;
use super::row::NULL;

/// Rows with these columns of others, and no attributes.
pub fn of(rows: Vec<Row>, columns: &[usize]) -> Result<Vec<Row>> {
    let row = |row: Row| columns.iter().map(|n| row.get(*n).cloned().unwrap_or_default()).chain([NULL, NULL]).collect();
    Ok(rows.into_iter().map(row).collect())
}

pub fn of_schemata(rows: Vec<Row>) -> Result<Vec<Row>> {
    let row = |row: Row| row.into_iter().take(2).chain([Value::bytes("")]).collect();
    Ok(rows.into_iter().map(row).collect())
}

/// `rows` are those of STATISTICS. All indexes are taken for constraints, and CHECK and foreign keys are not.
pub fn of_indexes(mut rows: Vec<Row>) -> Result<Vec<Row>> {
    const TABLE_NAME: usize = 2;
    const INDEX_SCHEMA: usize = 4;
    const INDEX_NAME: usize = 5;
    const SEQ_IN_INDEX: usize = 6;
    rows.retain(|row| matches!(row.get(SEQ_IN_INDEX), Some(Value::Int(1) | Value::UInt(1))));
    of(rows, &[0, INDEX_SCHEMA, INDEX_NAME, TABLE_NAME])
}
