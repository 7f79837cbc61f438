//! Events with rows: WRITE, UPDATE and DELETE in both versions, partial updates, and MariaDB's compressed ones.
//!
//! | bytes  | content                                                                                                 |
//! |--------|---------------------------------------------------------------------------------------------------------|
//! | 6, 2   | number of the table, flags                                                                              |
//! | 2 + n  | of version 2: further data with their length (which counts itself), as the partition                     |
//! | lenenc | count of columns, then a bit for each: it stands in the rows; for UPDATE twice, before and after         |
//! | n      | rows; for UPDATE the row before and that after, in turn                                                 |
//!
//! A row is a bit for each of its columns (it is NULL), then the values of the others, see `value`. In a partial update there is in front of
//! the row after the change a number, and if its lowest bit is set a bit for each JSON column of the table: the value is a list of
//! changes (`json_diff`).

use std::borrow::Cow;
use std::sync::Arc;

use vaquita_types::Value;

use super::compression::{deflate_event, inflate_event};
use super::error::{BinlogError, Result};
use super::header::event_type;
use super::json_diff::JsonDiff;
use super::table_map::{TableMap, bit, column_type, put_bits, put_table_id, table_id};
use super::value::{decode_value, encode_value};
use crate::codec::{Bytes, put_lenenc_int, put_u16};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsKind {
    Write,
    Update,
    Delete,
}

/// Flags of an event with rows.
pub mod rows_flags {
    /// The last event of its statement.
    pub const STATEMENT_END: u16 = 1;
    pub const NO_FOREIGN_KEY_CHECKS: u16 = 2;
    pub const RELAXED_UNIQUE_CHECKS: u16 = 4;
    /// The rows have all columns.
    pub const COMPLETE_ROWS: u16 = 8;
    /// What foreign keys made of the change has events of its own (USE_SQL_FOREIGN_KEY_F, since MySQL 9.6).
    pub const CASCADES_FOLLOW: u16 = 16;
}

const PARTIAL_JSON: u64 = 1;

/// A column in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Value(Value),
    /// What an UPDATE changed in a document.
    JsonDiffs(Vec<JsonDiff>),
}

/// Of each column of the table: what the row has, `None` for what it does not have.
pub type Row = Vec<Option<Cell>>;

#[derive(Clone, Debug, PartialEq)]
pub struct RowChange {
    pub before: Option<Row>,
    pub after: Option<Row>,
}

/// Where the event says which columns its rows have.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    pub kind: RowsKind,
    pub partial: bool,
    pub table: Arc<TableMap>,
    pub flags: u16,
    pub extra: &'a [u8],
    columns_before: Cow<'a, [u8]>,
    columns_after: Cow<'a, [u8]>,
    data: Cow<'a, [u8]>,
}

/// What the type of an event says of its rows: the kind, whether it is of version 2, whether compressed.
fn shape(code: u8) -> Option<(RowsKind, bool, bool)> {
    use event_type::*;
    Some(match code {
        WRITE_ROWS => (RowsKind::Write, true, false),
        UPDATE_ROWS | PARTIAL_UPDATE_ROWS => (RowsKind::Update, true, false),
        DELETE_ROWS => (RowsKind::Delete, true, false),
        WRITE_ROWS_V1 => (RowsKind::Write, false, false),
        UPDATE_ROWS_V1 => (RowsKind::Update, false, false),
        DELETE_ROWS_V1 => (RowsKind::Delete, false, false),
        MARIA_WRITE_ROWS_COMPRESSED_V1 => (RowsKind::Write, false, true),
        MARIA_UPDATE_ROWS_COMPRESSED_V1 => (RowsKind::Update, false, true),
        MARIA_DELETE_ROWS_COMPRESSED_V1 => (RowsKind::Delete, false, true),
        MARIA_WRITE_ROWS_COMPRESSED => (RowsKind::Write, true, true),
        MARIA_UPDATE_ROWS_COMPRESSED => (RowsKind::Update, true, true),
        MARIA_DELETE_ROWS_COMPRESSED => (RowsKind::Delete, true, true),
        _ => return None,
    })
}

pub fn is_rows_event(code: u8) -> bool {
    shape(code).is_some()
}

/// The number of the table and the flags, with which each event with rows begins.
pub fn rows_head(data: &[u8]) -> Result<(u64, u16)> {
    let mut bytes = Bytes::new(data);
    Ok((table_id(&mut bytes)?, bytes.u16()?))
}

impl<'a> Rows<'a> {
    /// `code` is the type of the event, `table` what its number stands for.
    pub fn decode(code: u8, data: &'a [u8], table: Arc<TableMap>) -> Result<Rows<'a>> {
        let (kind, version_2, compressed) = shape(code).ok_or(BinlogError::UnknownEvent(code))?;
        let mut bytes = Bytes::new(data);
        bytes.skip(6)?;
        let flags = bytes.u16()?;
        let mut extra = &[][..];
        if version_2 {
            let len = usize::from(bytes.u16()?).checked_sub(2).ok_or(BinlogError::Malformed("rows"))?;
            extra = bytes.take(len)?;
        }
        if bytes.lenenc_int()? != table.columns.len() as u64 {
            return Err(BinlogError::Malformed("rows: count of columns"));
        }
        let bitmap_bytes = table.columns.len().div_ceil(8);
        let columns = bytes.take(bitmap_bytes)?;
        let (columns_before, columns_after) = match kind {
            RowsKind::Write => (&[][..], columns),
            RowsKind::Update => (columns, bytes.take(bitmap_bytes)?),
            RowsKind::Delete => (columns, &[][..]),
        };
        let data = if compressed { Cow::Owned(inflate_event(bytes.rest())?) } else { Cow::Borrowed(bytes.rest()) };
        let partial = code == event_type::PARTIAL_UPDATE_ROWS;
        let (columns_before, columns_after) = (columns_before.into(), columns_after.into());
        Ok(Rows { kind, partial, table, flags, extra, columns_before, columns_after, data })
    }

    pub fn changes(&self) -> Changes<'_> {
        Changes { rows: self, rest: Bytes::new(&self.data) }
    }

    /// An event without rows; `columns` of each kind say which ones they will have.
    pub fn begin(kind: RowsKind, table: Arc<TableMap>, flags: u16, before: &[bool], after: &[bool]) -> Rows<'static> {
        let bitmap = |bits: &[bool]| {
            let mut out = Vec::new();
            put_bits(&mut out, bits.iter().copied());
            Cow::Owned(out)
        };
        Rows {
            kind,
            partial: false,
            columns_before: bitmap(before),
            columns_after: bitmap(after),
            table,
            flags,
            extra: &[],
            data: Cow::Owned(Vec::new()),
        }
    }

    /// Which columns the rows before and after have.
    pub fn columns(&self) -> [Vec<bool>; 2] {
        let bits = |bitmap: &[u8]| match bitmap.is_empty() {
            true => Vec::new(),
            false => (0..self.table.columns.len()).map(|i| bit(bitmap, i)).collect(),
        };
        [bits(&self.columns_before), bits(&self.columns_after)]
    }

    /// Appends a change whose rows have just the columns of the event. A value that its column cannot hold is an error, and so is a partial document.
    pub fn push(&mut self, change: &RowChange) -> Result<()> {
        let data = self.data.to_mut();
        for (row, columns) in [(&change.before, &self.columns_before), (&change.after, &self.columns_after)] {
            let Some(row) = row.as_ref().filter(|_| !columns.is_empty()) else { continue };
            let cells: Vec<_> = (0..self.table.columns.len()).filter(|i| bit(columns, *i)).map(|i| (i, row.get(i))).collect();
            let is_null = |cell: &Option<&Option<Cell>>| !matches!(cell, Some(Some(Cell::Value(v))) if !v.is_null());
            put_bits(data, cells.iter().map(|(_, cell)| is_null(cell)));
            for (i, cell) in cells {
                match cell {
                    Some(Some(Cell::Value(Value::Null))) => {}
                    Some(Some(Cell::Value(value))) => encode_value(&self.table.columns[i], value, data)?,
                    _ => return Err(BinlogError::Malformed("row")),
                }
            }
        }
        Ok(())
    }

    /// As version 1; rows that are `compressed` make one of MariaDB's compressed events, which has a type of its own (`v1_code`).
    pub fn encode_v1(&self, compressed: bool, out: &mut Vec<u8>) {
        put_table_id(out, self.table.id);
        put_u16(out, self.flags);
        put_lenenc_int(out, self.table.columns.len() as u64);
        out.extend_from_slice(&self.columns_before);
        out.extend_from_slice(&self.columns_after);
        match compressed {
            true => deflate_event(&self.data, out),
            false => out.extend_from_slice(&self.data),
        }
    }

    pub fn v1_code(&self, compressed: bool) -> u8 {
        use event_type::*;
        match (self.kind, compressed) {
            (RowsKind::Write, false) => WRITE_ROWS_V1,
            (RowsKind::Update, false) => UPDATE_ROWS_V1,
            (RowsKind::Delete, false) => DELETE_ROWS_V1,
            (RowsKind::Write, true) => MARIA_WRITE_ROWS_COMPRESSED_V1,
            (RowsKind::Update, true) => MARIA_UPDATE_ROWS_COMPRESSED_V1,
            (RowsKind::Delete, true) => MARIA_DELETE_ROWS_COMPRESSED_V1,
        }
    }

    /// As version 2, without further data.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_table_id(out, self.table.id);
        put_u16(out, self.flags);
        put_u16(out, self.extra.len() as u16 + 2);
        out.extend_from_slice(self.extra);
        put_lenenc_int(out, self.table.columns.len() as u64);
        out.extend_from_slice(&self.columns_before);
        out.extend_from_slice(&self.columns_after);
        out.extend_from_slice(&self.data);
    }
}

/// The changes of an event, one after the other.
pub struct Changes<'a> {
    rows: &'a Rows<'a>,
    rest: Bytes<'a>,
}

impl Changes<'_> {
    fn row(&mut self, columns: &[u8], after: bool) -> Result<Row> {
        let table = &self.rows.table;
        let mut partial_bits = &[][..];
        let mut partial = false;
        if after && self.rows.partial {
            partial = self.rest.lenenc_int()? & PARTIAL_JSON != 0;
            let documents = table.columns.iter().filter(|column| column.column_type == column_type::JSON).count();
            partial_bits = self.rest.take(if partial { documents.div_ceil(8) } else { 0 })?;
        }
        let present = (0..table.columns.len()).filter(|i| bit(columns, *i)).count();
        let nulls = self.rest.take(present.div_ceil(8))?;
        let (mut nth, mut nth_document) = (0, 0);
        let mut row = Vec::with_capacity(table.columns.len());
        for (i, column) in table.columns.iter().enumerate() {
            let is_document = column.column_type == column_type::JSON;
            let diffs = partial && is_document && bit(partial_bits, nth_document);
            nth_document += usize::from(is_document);
            if !bit(columns, i) {
                row.push(None);
                continue;
            }
            let is_null = bit(nulls, nth);
            nth += 1;
            row.push(Some(match (is_null, diffs) {
                (true, _) => Cell::Value(Value::Null),
                (false, true) => Cell::JsonDiffs(JsonDiff::decode_list(&mut self.rest)?),
                (false, false) => Cell::Value(decode_value(column, &mut self.rest)?),
            }));
        }
        Ok(row)
    }

    fn change(&mut self) -> Result<RowChange> {
        let len = self.rest.len();
        let rows = self.rows;
        let before = if rows.kind == RowsKind::Write { None } else { Some(self.row(&rows.columns_before, false)?) };
        let after = if rows.kind == RowsKind::Delete { None } else { Some(self.row(&rows.columns_after, true)?) };
        // A table without columns has no rows.
        if self.rest.len() == len { Err(BinlogError::Malformed("rows")) } else { Ok(RowChange { before, after }) }
    }
}

impl Iterator for Changes<'_> {
    type Item = Result<RowChange>;

    /// Ends with the first error.
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let change = self.change();
        if change.is_err() {
            self.rest = Bytes::new(&[]);
        }
        Some(change)
    }
}
