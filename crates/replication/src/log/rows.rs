//! Rows of users' tables as the log has them (`binlog_row_image`, `binlog_row_metadata`), from the statement to its entries.
//!
//! A `STATEMENT` is told before its rows; each row is an entry whose object is the `LoggedTable`. What a row needs of its table is made once for
//! each version of the table and kept with it, so that a row costs the encoding of its values.
//!
//! `STATEMENT`:
//!
//! | OFFSET | SIZE | DESCRIPTION                                                               |
//! |--------|------|---------------------------------------------------------------------------|
//! | 0      | 2    | flags of its events with rows (`rows_flags`); little-endian               |
//! | 2      |      | its text with 1 in front, or nothing                                      |
//!
//! `WRITE`, `UPDATE`, `DELETE`:
//!
//! | SIZE    | DESCRIPTION                                                                                              |
//! |---------|----------------------------------------------------------------------------------------------------------|
//! | 1       | marks: 1 the columns follow, otherwise these are all; 2 foreign keys brought the change or bring further |
//! | n, or 0 | a bit for each column of the event: it is in the row; for `UPDATE` twice, before and after               |
//! |         | the row as an event has it (`wire::binlog::rows`); for `UPDATE` before and after                         |
//!
//! Columns of the event are those of the table in their order, but for what functional indexes keep. Of each image there are:
//!
//! | image   | before                               | after, of an insert                             | after, of an update                           |
//! |---------|--------------------------------------|-------------------------------------------------|-----------------------------------------------|
//! | FULL    | all                                  | all                                             | all                                           |
//! | MINIMAL | the key                              | all but what is left out and has a default      | what has changed                              |
//! | NOBLOB  | all but BLOBs and TEXTs, and the key | all but BLOBs and TEXTs of which that is true   | all but BLOBs and TEXTs that are as they were |
//!
//! An update of MySQL has what the statement sets, also if that is what it was.
//!
//! The key is the primary key, or the first unique key that has neither NULLs nor prefixes; a table without one has all columns before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_exec::context::{RowChange, RowImage, RowLog, RowLogSettings};
use vaquita_storage::{LogBuffer, LogObject, Table, Transaction};
use vaquita_types::charset::charset;
use vaquita_types::errno::ER_NET_PACKET_TOO_LARGE;
use vaquita_types::schema::{ColumnDef, ColumnDefault, IndexKind, TableDef};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};
use vaquita_wire::binlog::rows::rows_flags;
use vaquita_wire::binlog::table_map::{DUMMY_TABLE_ID, column_type as code};
use vaquita_wire::binlog::value::encode_value;
use vaquita_wire::binlog::{Column, TableMap, header};

use super::entries::{damaged, kind};

/// Marks of a row.
pub(super) const HAS_COLUMNS: u8 = 1;
pub(super) const CASCADES: u8 = 2;

/// Of a bitmap of all columns each byte, also the last, as MySQL has it.
pub(super) const ALL_COLUMNS: u8 = 0xff;
/// Bytes of a row's entry: with its event around it, it is one that replicas take.
const ROW_BYTES_MAX: usize = header::EVENT_BYTES_MAX as usize - (64 << 10);

/// Flags of a TABLE_MAP_EVENT: the lengths of BIT columns are exact; the primary key is one that the server has made (`my_row_id`).
const BIT_LENGTHS_EXACT: u16 = 1;
const GENERATED_KEY: u16 = 4;
/// The name of a primary key's column that `sql_generate_invisible_primary_key` makes.
const GENERATED_KEY_COLUMN: &str = "my_row_id";

/// A version of a table as the events describe it.
pub struct LoggedTable {
    /// The table's number in events.
    pub id: u64,
    /// The data of its TABLE_MAP_EVENT.
    pub map: Vec<u8>,
    columns: Vec<LoggedColumn>,
    has_key: bool,
}

struct LoggedColumn {
    /// In `TableDef::columns`.
    position: usize,
    column: Column,
    in_key: bool,
    /// As NOBLOB means it: no document, geometry or vector.
    is_blob: bool,
    /// What a replica puts in if an insert lacks it.
    default: Option<Value>,
}

impl LoggedTable {
    pub(super) fn new(id: u64, def: &TableDef, full_metadata: bool) -> LoggedTable {
        let key = key_of(def);
        let positions = (0..def.columns.len()).filter(|at| !def.columns[*at].is_hidden());
        let columns: Vec<LoggedColumn> = positions
            .map(|position| {
                let column = &def.columns[position];
                LoggedColumn {
                    position,
                    column: wire_column(column),
                    in_key: key.iter().any(|(at, _)| *at == position),
                    is_blob: is_blob(&column.ty),
                    default: default_of(column),
                }
            })
            .collect();
        let place = |position: usize| columns.iter().position(|column| column.position == position);
        let primary_key = key.iter().filter_map(|(at, prefix)| Some((place(*at)? as u32, *prefix))).collect();
        let is_generated = |column: &ColumnDef| column.invisible && column.auto_increment && column.name == GENERATED_KEY_COLUMN;
        let flags = if def.columns.first().is_some_and(is_generated) { GENERATED_KEY } else { 0 };
        let mut table = TableMap {
            id,
            flags: flags | BIT_LENGTHS_EXACT,
            database: def.database.as_bytes().into(),
            table: def.name.as_bytes().into(),
            columns: columns.iter().map(|column| column.column.clone()).collect(),
            primary_key,
        };
        if !full_metadata {
            leave_out_names(&mut table);
        }
        let mut map = Vec::new();
        table.encode(&mut map);
        LoggedTable { id, map, columns, has_key: !key.is_empty() }
    }

    /// Kept with the table.
    fn of(table: &Table, full_metadata: bool) -> &LogObject {
        let [minimal, full] = &table.logged_as;
        let (place, other) = if full_metadata { (full, minimal) } else { (minimal, full) };
        place.get_or_init(|| {
            let other = other.get().and_then(|other| other.downcast_ref::<LoggedTable>());
            Arc::new(LoggedTable::new(other.map_or_else(next_id, |other| other.id), &table.def, full_metadata))
        })
    }

    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Bytes of a bit for each column.
    pub fn bitmap_bytes(&self) -> usize {
        self.columns.len().div_ceil(8)
    }

    /// Appends the content of a row's entry.
    pub(super) fn write(&self, change: &RowChange<'_>, image: RowImage, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let cascades = if change.cascades { CASCADES } else { 0 };
        if image == RowImage::Full {
            out.push(cascades);
            [change.before, change.after].into_iter().flatten().try_for_each(|row| self.put_row(row, None, out))?;
        } else {
            out.push(cascades | HAS_COLUMNS);
            let bitmaps = out.len();
            if change.before.is_some() {
                self.put_bitmap(|column| self.is_in_before(column, image), out);
            }
            if let Some(after) = change.after {
                self.put_bitmap(|column| is_in_after(column, change, after, image), out);
            }
            for (n, row) in [change.before, change.after].into_iter().flatten().enumerate() {
                self.put_row(row, Some(bitmaps + n * self.bitmap_bytes()), out)?;
            }
        }
        if out.len() - start > ROW_BYTES_MAX { Err(Error::new(&ER_NET_PACKET_TOO_LARGE, &[])) } else { Ok(()) }
    }

    fn is_in_before(&self, column: &LoggedColumn, image: RowImage) -> bool {
        match image {
            _ if !self.has_key || column.in_key => true,
            RowImage::Full => true,
            RowImage::Minimal => false,
            RowImage::NoBlob => !column.is_blob,
        }
    }

    fn put_bitmap(&self, has: impl Fn(&LoggedColumn) -> bool, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.bitmap_bytes(), 0);
        let mut count = 0;
        for (i, _) in self.columns.iter().enumerate().filter(|(_, column)| has(column)) {
            out[start + i / 8] |= 1 << (i % 8);
            count += 1;
        }
        if count == self.columns.len() {
            out[start..].fill(ALL_COLUMNS);
        }
    }

    /// Appends what a row has of all columns, or of those whose bits in `out` from this place on say so.
    fn put_row(&self, row: &[Value], bitmap: Option<usize>, out: &mut Vec<u8>) -> Result<()> {
        let nulls = out.len();
        let count = match bitmap {
            None => self.columns.len(),
            Some(at) => (0..self.columns.len()).filter(|i| out[at + i / 8] >> (i % 8) & 1 != 0).count(),
        };
        out.resize(nulls + count.div_ceil(8), 0);
        let mut nth = 0;
        for (i, column) in self.columns.iter().enumerate() {
            if bitmap.is_some_and(|at| out[at + i / 8] >> (i % 8) & 1 == 0) {
                continue;
            }
            match row.get(column.position) {
                None | Some(Value::Null) => out[nulls + nth / 8] |= 1 << (nth % 8),
                Some(value) => encode_value(&column.column, value, out).map_err(|error| unfit(column, value, &error))?,
            }
            nth += 1;
        }
        Ok(())
    }
}

/// The number of another table in this run of the server.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    match NEXT.fetch_add(1, Ordering::Relaxed) {
        DUMMY_TABLE_ID => NEXT.fetch_add(1, Ordering::Relaxed),
        id => id,
    }
}

#[cold]
fn unfit(column: &LoggedColumn, value: &Value, error: &dyn std::fmt::Display) -> Error {
    let name = String::from_utf8_lossy(column.column.name.as_deref().unwrap_or_default());
    Error::internal(format_args!("the binary log cannot have {value:?} in column {name}: {error}"))
}

fn is_in_after(column: &LoggedColumn, change: &RowChange<'_>, after: &[Value], image: RowImage) -> bool {
    let value = after.get(column.position);
    let is_default = || {
        let left_out = change.left_out.binary_search(&column.position).is_ok();
        left_out && column.default.is_some() && is_same(value, column.default.as_ref())
    };
    let changes = |before: &[Value]| !is_same(value, before.get(column.position));
    match (image, change.before) {
        (RowImage::Full, _) => true,
        (RowImage::Minimal, None) => !is_default(),
        (RowImage::Minimal, Some(before)) => changes(before),
        (RowImage::NoBlob, None) => !column.is_blob || !is_default(),
        (RowImage::NoBlob, Some(before)) => !column.is_blob || changes(before),
    }
}

/// The same bytes in the log: 0.0 and -0.0 are not.
fn is_same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Float(a)), Some(Value::Float(b))) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}

/// The positions of the columns that identify a row, with the characters of a prefix, 0 for all.
fn key_of(def: &TableDef) -> Vec<(usize, u32)> {
    let parts = |index: &vaquita_types::schema::IndexDef| -> Option<Vec<(usize, u32)>> {
        index.parts.iter().map(|part| Some((def.position_of(part.column)?, part.prefix.unwrap_or(0)))).collect()
    };
    let is_primary = |kind: IndexKind| kind == IndexKind::Primary;
    if let Some(primary) = def.indexes.iter().find(|index| is_primary(index.kind) && !index.parts.is_empty()) {
        return parts(primary).unwrap_or_default();
    }
    let names_rows =
        |parts: &Vec<(usize, u32)>| !parts.is_empty() && parts.iter().all(|(at, prefix)| holds_whole(&def.columns[*at], *prefix));
    let unique = def.indexes.iter().filter(|index| index.kind == IndexKind::Unique && !index.multi_valued);
    unique.filter_map(parts).find(names_rows).unwrap_or_default()
}

/// A unique key has all of the column, which is never NULL. Of a short BLOB it may be a prefix.
fn holds_whole(column: &ColumnDef, prefix: u32) -> bool {
    let is_short = matches!(column.ty.kind, TypeKind::TinyText | TypeKind::TinyBlob);
    let prefix_bytes = prefix * u32::from(charset(column.ty.collation).mbmaxlen.max(1));
    let is_whole = if is_short { prefix_bytes == u32::from(u8::MAX) } else { prefix == 0 };
    let is_virtual = column.generated.as_ref().is_some_and(|generated| !generated.stored);
    is_whole && !column.nullable && !is_virtual
}

/// What a replica puts into a column that an insert does not have, if that is the same at any time.
fn default_of(column: &ColumnDef) -> Option<Value> {
    match &column.default {
        _ if column.auto_increment || column.generated.is_some() => None,
        // It is local time.
        ColumnDefault::Value(value) if column.ty.kind == TypeKind::Timestamp && !value.is_null() => None,
        ColumnDefault::Value(value) => Some(value.clone()),
        ColumnDefault::None if column.nullable => Some(Value::Null),
        _ => None,
    }
}

fn is_blob(ty: &ColumnType) -> bool {
    ty.is_blob() && !matches!(ty.kind, TypeKind::Json | TypeKind::Geometry | TypeKind::Vector)
}

/// `binlog_row_metadata=MINIMAL`: what is needed to read the values.
fn leave_out_names(table: &mut TableMap) {
    table.primary_key.clear();
    for column in &mut table.columns {
        column.name = None;
        column.members = None;
        column.visible = None;
        if matches!(column.column_type, code::ENUM | code::SET) {
            column.collation = None;
        }
    }
}

fn wire_column(def: &ColumnDef) -> Column {
    let ty = &def.ty;
    let (column_type, meta) = type_and_meta(ty);
    let is_character = (TypeKind::Char as u8..=TypeKind::Set as u8).contains(&(ty.kind as u8)) || ty.is_vector();
    Column {
        column_type,
        meta,
        nullable: def.nullable,
        unsigned: Some(ty.unsigned || ty.kind == TypeKind::Year),
        collation: is_character.then_some(u32::from(ty.collation.0)),
        name: Some(def.name.as_bytes().into()),
        members: ty.members.as_ref().map(|members| members.to_vec()),
        geometry_type: ty.is_geometry().then(|| ty.geometry_kind() as u32),
        dimensions: ty.is_vector().then_some(ty.length / vaquita_types::vector::ELEMENT_BYTES as u32),
        visible: Some(!def.invisible),
    }
}

/// The code of a type, and what it says further.
fn type_and_meta(ty: &ColumnType) -> (u8, u16) {
    let low_high = |low: u32, high: u32| u16::from_le_bytes([low as u8, high as u8]);
    let fsp = u16::from(ty.decimals);
    let text_bytes = ty.length * u32::from(charset(ty.collation).mbmaxlen.max(1));
    let members = ty.members.as_ref().map_or(0, |members| members.len());
    match ty.kind {
        TypeKind::Null => (code::NULL, 0),
        TypeKind::TinyInt => (code::TINY, 0),
        TypeKind::SmallInt => (code::SHORT, 0),
        TypeKind::MediumInt => (code::INT24, 0),
        TypeKind::Int => (code::LONG, 0),
        TypeKind::BigInt => (code::LONGLONG, 0),
        TypeKind::Decimal => (code::NEWDECIMAL, low_high(ty.length, ty.decimals.into())),
        TypeKind::Float => (code::FLOAT, 4),
        TypeKind::Double => (code::DOUBLE, 8),
        TypeKind::Bit => (code::BIT, low_high(ty.length % 8, ty.length / 8)),
        TypeKind::Year => (code::YEAR, 0),
        TypeKind::Date => (code::DATE, 0),
        TypeKind::Time => (code::TIME2, fsp),
        TypeKind::DateTime => (code::DATETIME2, fsp),
        TypeKind::Timestamp => (code::TIMESTAMP2, fsp),
        TypeKind::Char => (code::STRING, text_bytes as u16),
        TypeKind::VarChar => (code::VARCHAR, text_bytes as u16),
        TypeKind::Binary => (code::STRING, ty.length as u16),
        TypeKind::VarBinary => (code::VARCHAR, ty.length as u16),
        TypeKind::TinyText | TypeKind::TinyBlob => (code::BLOB, 1),
        TypeKind::Text | TypeKind::Blob => (code::BLOB, 2),
        TypeKind::MediumText | TypeKind::MediumBlob => (code::BLOB, 3),
        TypeKind::LongText | TypeKind::LongBlob => (code::BLOB, 4),
        TypeKind::Enum => (code::ENUM, if members < 256 { 1 } else { 2 }),
        TypeKind::Set => (code::SET, if members <= 32 { members.div_ceil(8) as u16 } else { 8 }),
        TypeKind::Json => (code::JSON, 4),
        TypeKind::Geometry => (code::GEOMETRY, 4),
        TypeKind::Vector => (code::VECTOR, 4),
    }
}

/// Tells transactions what statements change.
pub struct RowWriter;

impl RowLog for RowWriter {
    fn begin_statement(&self, txn: &mut Transaction, text: Option<&[u8]>, settings: &RowLogSettings) -> Result<()> {
        txn.tell_log(kind::STATEMENT, None, |out| {
            put_statement(text, settings, out);
            Ok(())
        })
    }

    fn row(&self, txn: &mut Transaction, table: &Table, change: RowChange<'_>, settings: &RowLogSettings) -> Result<()> {
        let Some(kind) = kind_of(table, &change) else { return Ok(()) };
        let object = LoggedTable::of(table, settings.full_metadata);
        let logged = object.downcast_ref::<LoggedTable>().ok_or_else(damaged)?;
        txn.tell_log(kind, Some(object), |out| logged.write(&change, settings.image, out))
    }

    fn collect(&self, to: &mut LogBuffer, table: &Table, change: RowChange<'_>, settings: &RowLogSettings) -> Result<()> {
        let Some(kind) = kind_of(table, &change) else { return Ok(()) };
        let object = LoggedTable::of(table, settings.full_metadata);
        let logged = object.downcast_ref::<LoggedTable>().ok_or_else(damaged)?;
        to.push(kind, Some(object), |out| logged.write(&change, settings.image, out))
    }
}

/// `None`: it is not told.
#[inline]
fn kind_of(table: &Table, change: &RowChange<'_>) -> Option<u8> {
    if table.def.options.temporary {
        return None;
    }
    match (change.before, change.after) {
        (None, Some(_)) => Some(kind::WRITE),
        (Some(_), Some(_)) => Some(kind::UPDATE),
        (Some(_), None) => Some(kind::DELETE),
        (None, None) => None,
    }
}

/// What cascades do is always told with its own rows, as by MySQL since 9.6.
fn statement_flags(settings: &RowLogSettings) -> u16 {
    let mut flags = rows_flags::CASCADES_FOLLOW;
    if !settings.foreign_key_checks {
        flags |= rows_flags::NO_FOREIGN_KEY_CHECKS;
    }
    if !settings.unique_checks {
        flags |= rows_flags::RELAXED_UNIQUE_CHECKS;
    }
    flags
}

/// The content of a `STATEMENT`.
pub(super) fn put_statement(text: Option<&[u8]>, settings: &RowLogSettings, out: &mut Vec<u8>) {
    out.extend_from_slice(&statement_flags(settings).to_le_bytes());
    if let Some(text) = text {
        out.push(1);
        out.extend_from_slice(text);
    }
}

/// The flags and the text of a `STATEMENT`.
pub(super) fn decode_statement(content: &[u8]) -> Result<(u16, Option<&[u8]>)> {
    let (flags, rest) = content.split_first_chunk().ok_or_else(damaged)?;
    Ok((u16::from_le_bytes(*flags), rest.split_first().map(|(_, text)| text)))
}
