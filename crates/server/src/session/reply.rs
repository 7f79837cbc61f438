//! Result sets on the wire: column definitions and the sinks that write rows.

use vaquita_exec::sink::RowSink;
use vaquita_plan::expr::ExprKind;
use vaquita_plan::node::{ColumnOrigin, OutputColumn};
use vaquita_storage::ValueRef;
use vaquita_types::charset::{self, Charset, CollationId};
use vaquita_types::errno::ER_NET_PACKET_TOO_LARGE;
use vaquita_types::limits::SENT_ROW_BYTES_MAX;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};
use vaquita_wire::caps::{NOT_FIXED_DECIMALS, column_flag as flag};
use vaquita_wire::metadata::{ResultCharset, column_definition};
use vaquita_wire::result::{ColumnDefinition, put_column_definition, put_eof, put_result_set_header};
use vaquita_wire::row::{self, BinaryRow};

use super::cursor::Cursor;
use crate::connection::{FLUSH_BYTES, Output};

/// Bytes of rows that a locking read keeps before it sends any. A conflict that it meets after that is shown (error 1213).
const HELD_BYTES: usize = 16 << 20;

/// Writes a result set: text rows for COM_QUERY, binary rows for prepared statements.
pub struct Rows<'o, 'c> {
    pub out: &'o mut Output<'c>,
    binary: bool,
    row: Option<BinaryRow>,
    columns: usize,
    status: u16,
    charset: u16,
    flushed: bool,
    flush_bytes: usize,
    /// Where rows go instead, if the client will fetch them; and where the open row begins in the buffer.
    cursor: Option<&'o mut Cursor>,
    row_start: usize,
    /// Some column is in another charset than the client reads.
    converts: bool,
}

impl<'o, 'c> Rows<'o, 'c> {
    pub fn new(out: &'o mut Output<'c>, binary: bool, status: u16, charset: u16) -> Rows<'o, 'c> {
        Rows {
            out,
            binary,
            row: None,
            columns: 0,
            status,
            charset,
            flushed: false,
            flush_bytes: FLUSH_BYTES,
            cursor: None,
            row_start: 0,
            converts: false,
        }
    }

    /// Writes the columns only and keeps the rows.
    pub fn for_cursor(out: &'o mut Output<'c>, cursor: &'o mut Cursor, status: u16, charset: u16) -> Rows<'o, 'c> {
        Rows { cursor: Some(cursor), ..Rows::new(out, true, status, charset) }
    }

    /// Rows may have to be taken back: they are sent late.
    pub fn hold(&mut self) {
        self.flush_bytes = HELD_BYTES;
    }

    #[inline]
    fn put(&mut self, value: &Value, ty: &ColumnType) {
        let buffer = self.out.writer.payload();
        if buffer.len() - self.row_start > SENT_ROW_BYTES_MAX {
            // `end_row` says so.
            return;
        }
        match &mut self.row {
            Some(row) => row.put_value(buffer, value, ty),
            None => row::put_text_value(buffer, value, ty),
        }
    }

    #[inline]
    fn put_stored(&mut self, value: ValueRef<'_>, ty: &ColumnType) -> Result<()> {
        let buffer = self.out.writer.payload();
        if buffer.len() - self.row_start > SENT_ROW_BYTES_MAX {
            return Err(Error::new(&ER_NET_PACKET_TOO_LARGE, &[]));
        }
        match (&mut self.row, value) {
            (Some(row), ValueRef::Null) => row.put_null(buffer),
            (Some(row), ValueRef::Int(i)) if ty.is_integer() => row.put_int(buffer, i, ty.kind),
            (Some(row), ValueRef::Bytes(bytes)) => row.put_bytes(buffer, &bytes),
            (None, ValueRef::Null) => row::put_null_text(buffer),
            (None, ValueRef::Int(i)) if ty.is_integer() && !ty.zerofill => row::put_int_text(buffer, i),
            (None, ValueRef::Bytes(bytes)) => row::put_lenenc_bytes(buffer, &bytes),
            (_, other) => {
                let value = other.to_value()?;
                self.put(&value, ty);
            }
        }
        Ok(())
    }

    /// The value in the client's charset, if it is text of another.
    fn converted(&self, value: &Value, ty: &ColumnType) -> Option<Value> {
        let (from, to) = conversion(ty, self.charset)?;
        let text = match value {
            Value::Bytes(bytes) => std::borrow::Cow::Borrowed(&bytes[..]),
            Value::UInt(_) | Value::Json(_) => std::borrow::Cow::Owned(vaquita_types::convert::to_text(value, ty)),
            _ => return None,
        };
        Some(Value::bytes(&from.convert(to, &text).bytes))
    }

    /// Nothing was sent yet: the rows can be taken back.
    pub fn rewindable(&self) -> bool {
        !self.flushed
    }
}

impl RowSink for Rows<'_, '_> {
    fn columns(&mut self, columns: &[OutputColumn]) -> Result<()> {
        self.columns = columns.len();
        self.converts = columns.iter().any(|column| conversion(&column.expr.ty, self.charset).is_some());
        if self.cursor.is_some() {
            put_kept_header(self.out, columns, self.charset);
        } else {
            put_columns(self.out, columns, self.status, self.charset);
        }
        Ok(())
    }

    #[inline]
    fn begin_row(&mut self) {
        let buffer = self.out.writer.begin_packet();
        self.row_start = buffer.len();
        if self.binary {
            self.row = Some(BinaryRow::begin(buffer, self.columns));
        }
    }

    #[inline]
    fn value(&mut self, value: &Value, ty: &ColumnType) {
        if self.converts
            && let Some(converted) = self.converted(value, ty)
        {
            return self.put(&converted, ty);
        }
        self.put(value, ty);
    }

    #[inline]
    fn stored(&mut self, value: ValueRef<'_>, ty: &ColumnType) -> Result<()> {
        if self.converts && conversion(ty, self.charset).is_some() {
            self.value(&value.to_value()?, ty);
            return Ok(());
        }
        self.put_stored(value, ty)
    }

    #[inline]
    fn end_row(&mut self) -> Result<()> {
        if self.out.writer.payload().len() - self.row_start > SENT_ROW_BYTES_MAX {
            self.out.writer.cancel_packet();
            return Err(Error::new(&ER_NET_PACKET_TOO_LARGE, &[]));
        }
        if let Some(cursor) = &mut self.cursor {
            let kept = cursor.push(self.out.writer.payload().get(self.row_start..).unwrap_or_default());
            self.out.writer.cancel_packet();
            return kept;
        }
        self.out.writer.end_packet();
        if self.out.writer.len() >= self.flush_bytes {
            self.flushed = true;
            return self.out.flush();
        }
        Ok(())
    }
}

/// The column count, the definitions and, for clients that want one, the EOF.
pub fn put_columns(out: &mut Output<'_>, columns: &[OutputColumn], status: u16, charset: u16) {
    put_header(out, columns, charset);
    put_eof_if_wanted(out, status);
}

/// The column count and the definitions.
fn put_header(out: &mut Output<'_>, columns: &[OutputColumn], charset: u16) {
    let caps = out.caps;
    out.writer.packet(|buffer| put_result_set_header(buffer, caps, columns.len(), true));
    for column in columns {
        out.writer.packet(|buffer| put_column_definition(buffer, &definition(column, charset)));
    }
}

/// As `put_header`, for rows that are kept: their columns are those of a temporary table, without keys.
fn put_kept_header(out: &mut Output<'_>, columns: &[OutputColumn], charset: u16) {
    const OF_TABLE: u16 =
        flag::PRI_KEY | flag::UNIQUE_KEY | flag::MULTIPLE_KEY | flag::PART_KEY | flag::AUTO_INCREMENT | flag::ON_UPDATE_NOW;
    let caps = out.caps;
    out.writer.packet(|buffer| put_result_set_header(buffer, caps, columns.len(), true));
    for column in columns {
        let mut definition = definition(column, charset);
        definition.flags &= !OF_TABLE;
        if column.origin.is_none() {
            definition.org_name = definition.name;
            definition.flags &= !flag::BINARY;
        }
        out.writer.packet(|buffer| put_column_definition(buffer, &definition));
    }
}

pub fn put_definitions(out: &mut Output<'_>, columns: &[OutputColumn], status: u16, charset: u16) {
    for column in columns {
        out.writer.packet(|buffer| put_column_definition(buffer, &definition(column, charset)));
    }
    put_eof_if_wanted(out, status);
}

fn put_eof_if_wanted(out: &mut Output<'_>, status: u16) {
    if out.caps & vaquita_wire::caps::client::DEPRECATE_EOF == 0 {
        out.writer.packet(|buffer| put_eof(buffer, status, 0));
    }
}

/// The definition of a column for a client that reads `charset`, a collation id, or 0 if it takes text as stored.
pub fn definition(column: &OutputColumn, charset: u16) -> ColumnDefinition<'_> {
    let own = u32::from(charset::charset(column.expr.ty.collation).mbmaxlen);
    let results = (charset != 0).then(|| ResultCharset {
        collation: charset,
        char_bytes_max: u32::from(charset::charset(CollationId(charset)).mbmaxlen),
    });
    let mut definition = column_definition(&column.expr.ty, results, own);
    definition.name = column.name.as_bytes();
    if !column.expr.nullable {
        definition.flags |= flag::NOT_NULL;
    }
    let Some(origin) = &column.origin else {
        let is_text = column.expr.ty.is_bytes() && !column.expr.ty.is_blob() || column.expr.ty.kind == TypeKind::Json;
        if is_text && !matches!(column.expr.kind, ExprKind::Slot(_) | ExprKind::Literal(Value::Null)) {
            definition.decimals = NOT_FIXED_DECIMALS;
        }
        let is_binary = !is_text && !column.expr.ty.is_blob() || charset::collation(column.expr.ty.collation).is_bin();
        // A slot may be a column of a derived table, which has the flags of columns.
        if is_binary && !matches!(column.expr.kind, ExprKind::Slot(_)) {
            definition.flags |= flag::BINARY;
        }
        return definition;
    };
    definition.schema = origin.database.as_bytes();
    definition.table = origin.table.as_bytes();
    definition.org_table = origin.org_table.as_bytes();
    definition.org_name = origin.org_name.as_bytes();
    definition.flags |= key_flags(origin);
    definition
}

/// The charset of a column's text and the one that the client reads, if they differ. `results` is a collation of the
/// client's charset, or 0 for a client that takes text as it is.
fn conversion(ty: &ColumnType, results: u16) -> Option<(&'static Charset, &'static Charset)> {
    let is_text = ty.is_text() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set | TypeKind::Json);
    if results == 0 || !is_text {
        return None;
    }
    let of_json = CollationId::UTF8MB4_BIN;
    let from = charset::charset(if ty.kind == TypeKind::Json { of_json } else { ty.collation });
    let to = charset::charset(CollationId(results));
    let same = from.name == to.name || from.is_binary() || from.name == "utf8mb3" && to.name == "utf8mb4";
    if same { None } else { Some((from, to)) }
}

fn key_flags(origin: &ColumnOrigin) -> u16 {
    let bits = [
        (origin.primary_key, flag::PRI_KEY),
        (origin.unique_key, flag::UNIQUE_KEY),
        (origin.multiple_key, flag::MULTIPLE_KEY),
        (origin.primary_key || origin.unique_key || origin.multiple_key, flag::PART_KEY),
        (origin.auto_increment, flag::AUTO_INCREMENT),
        (origin.no_default, flag::NO_DEFAULT_VALUE),
        (origin.on_update_now, flag::ON_UPDATE_NOW),
    ];
    bits.iter().filter(|(on, _)| *on).fold(0, |flags, (_, bit)| flags | bit)
}
