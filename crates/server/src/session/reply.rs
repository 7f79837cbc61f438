//! Result sets on the wire: column definitions and the sinks that write rows.

use vaquita_exec::sink::RowSink;
use vaquita_plan::node::{ColumnOrigin, OutputColumn};
use vaquita_storage::ValueRef;
use vaquita_types::{ColumnType, Result, Value};
use vaquita_wire::caps::column_flag as flag;
use vaquita_wire::metadata::{ResultCharset, column_definition};
use vaquita_wire::result::{ColumnDefinition, put_column_definition, put_eof, put_result_set_header};
use vaquita_wire::row::{self, BinaryRow};

use crate::connection::Output;

/// Writes a result set: text rows for COM_QUERY, binary rows for prepared statements.
pub struct Rows<'o, 'c> {
    pub out: &'o mut Output<'c>,
    binary: bool,
    row: Option<BinaryRow>,
    columns: usize,
    status: u16,
    charset: u16,
    flushed: bool,
}

impl<'o, 'c> Rows<'o, 'c> {
    pub fn new(out: &'o mut Output<'c>, binary: bool, status: u16, charset: u16) -> Rows<'o, 'c> {
        Rows { out, binary, row: None, columns: 0, status, charset, flushed: false }
    }

    /// Nothing was sent yet: the rows can be taken back.
    pub fn rewindable(&self) -> bool {
        !self.flushed
    }
}

impl RowSink for Rows<'_, '_> {
    fn columns(&mut self, columns: &[OutputColumn]) -> Result<()> {
        self.columns = columns.len();
        put_columns(self.out, columns, self.status, self.charset);
        Ok(())
    }

    #[inline]
    fn begin_row(&mut self) {
        let buffer = self.out.writer.begin_packet();
        if self.binary {
            self.row = Some(BinaryRow::begin(buffer, self.columns));
        }
    }

    #[inline]
    fn value(&mut self, value: &Value, ty: &ColumnType) {
        let buffer = self.out.writer.payload();
        match &mut self.row {
            Some(row) => row.put_value(buffer, value, ty),
            None => row::put_text_value(buffer, value, ty),
        }
    }

    #[inline]
    fn stored(&mut self, value: ValueRef<'_>, ty: &ColumnType) -> Result<()> {
        let buffer = self.out.writer.payload();
        match (&mut self.row, value) {
            (Some(row), ValueRef::Null) => row.put_null(buffer),
            (Some(row), ValueRef::Int(i)) if ty.is_integer() => row.put_int(buffer, i, ty.kind),
            (Some(row), ValueRef::Bytes(bytes)) => row.put_bytes(buffer, &bytes),
            (None, ValueRef::Null) => row::put_null_text(buffer),
            (None, ValueRef::Int(i)) if ty.is_integer() && !ty.zerofill => row::put_int_text(buffer, i),
            (None, ValueRef::Bytes(bytes)) => row::put_lenenc_bytes(buffer, &bytes),
            (_, other) => {
                let value = other.to_value()?;
                self.value(&value, ty);
            }
        }
        Ok(())
    }

    #[inline]
    fn end_row(&mut self) -> Result<()> {
        self.out.writer.end_packet();
        if self.out.writer.len() >= crate::connection::FLUSH_BYTES {
            self.flushed = true;
            return self.out.flush();
        }
        Ok(())
    }
}

/// The column count, the definitions and, for clients that want one, the EOF.
pub fn put_columns(out: &mut Output<'_>, columns: &[OutputColumn], status: u16, charset: u16) {
    let caps = out.caps;
    out.writer.packet(|buffer| put_result_set_header(buffer, caps, columns.len(), true));
    put_definitions(out, columns, status, charset);
}

pub fn put_definitions(out: &mut Output<'_>, columns: &[OutputColumn], status: u16, charset: u16) {
    for column in columns {
        out.writer.packet(|buffer| put_column_definition(buffer, &definition(column, charset)));
    }
    if out.caps & vaquita_wire::caps::client::DEPRECATE_EOF == 0 {
        out.writer.packet(|buffer| put_eof(buffer, status, 0));
    }
}

/// The definition of a column for a client that reads `charset` (a collation id of utf8mb4).
pub fn definition(column: &OutputColumn, charset: u16) -> ColumnDefinition<'_> {
    let results = ResultCharset { collation: charset, char_bytes_max: UTF8MB4_BYTES_MAX };
    let mut definition = column_definition(&column.expr.ty, Some(results), UTF8MB4_BYTES_MAX);
    definition.name = column.name.as_bytes();
    if !column.expr.nullable {
        definition.flags |= flag::NOT_NULL;
    }
    let Some(origin) = &column.origin else { return definition };
    definition.schema = origin.database.as_bytes();
    definition.table = origin.table.as_bytes();
    definition.org_table = origin.org_table.as_bytes();
    definition.org_name = origin.org_name.as_bytes();
    definition.flags |= key_flags(origin);
    definition
}

const UTF8MB4_BYTES_MAX: u32 = 4;

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
