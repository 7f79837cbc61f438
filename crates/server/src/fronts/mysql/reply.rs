//! A session's answers as packets: OK, ERR, column definitions and rows, written into the connection's buffer.
//!
//! Rows go from stored bytes to the packet without a `Value` in between; they leave when `FLUSH_BYTES` have collected.

use std::time::Duration;

use vaquita_exec::sink::RowSink;
use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_plan::node::{ColumnOrigin, KeptHeader, OutputColumn};
use vaquita_plan::typing::{COERCIBILITY_NUMERIC, is_hex_literal};
use vaquita_storage::{Interrupt, ValueRef};
use vaquita_types::charset::{self, Charset, CollationId};
use vaquita_types::errno::ER_NET_PACKET_TOO_LARGE;
use vaquita_types::limits::SENT_ROW_BYTES_MAX;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, memory};
use vaquita_wire::caps::{NOT_FIXED_DECIMALS, client, column_flag as flag, mysql_type, status as status_flag};
use vaquita_wire::metadata::{ResultCharset, column_definition};
use vaquita_wire::result::{
    ColumnDefinition, OkPacket, parameter_definition, put_column_definition, put_eof, put_local_infile_request, put_ok,
    put_result_set_end, put_result_set_header, put_session_gtids, put_session_schema, put_session_state_change,
    put_session_transaction_characteristics, put_session_transaction_state, put_session_variable,
};
use vaquita_wire::row::{self, BinaryRow};

use super::output::{FLUSH_BYTES, Output};
use vaquita_session::Change;
use vaquita_session::Cursor;
use vaquita_session::answer::{Answer, Completed, ResultForm, Status};

/// Bytes of rows that a locking read keeps before it sends any. A conflict that it meets after that is shown (error 1213).
const HELD_BYTES: usize = 16 << 20;

/// The result set that is being written: text rows for COM_QUERY, binary rows for prepared statements.
#[derive(Default)]
pub struct Rows {
    binary: bool,
    row: Option<BinaryRow>,
    columns: usize,
    status: Status,
    charset: u16,
    flush_bytes: usize,
    /// Rows may have to be taken back: they are sent late, if the server has room for them.
    held: bool,
    /// Where rows go instead, if the client will fetch them; and where the open row begins in the buffer.
    cursor: Option<Box<Cursor>>,
    row_start: usize,
    /// Some column is in another charset than the client reads.
    converts: bool,
    count: u64,
}

impl Output<'_> {
    #[inline]
    fn put(&mut self, value: &Value, ty: &ColumnType) {
        let buffer = self.writer.payload();
        if buffer.len() - self.rows.row_start > SENT_ROW_BYTES_MAX {
            // `end_row` says so.
            return;
        }
        match &mut self.rows.row {
            Some(row) => row.put_value(buffer, value, ty),
            None => row::put_text_value(buffer, value, ty),
        }
    }

    #[inline]
    fn put_stored(&mut self, value: ValueRef<'_>, ty: &ColumnType) -> Result<()> {
        let buffer = self.writer.payload();
        if buffer.len() - self.rows.row_start > SENT_ROW_BYTES_MAX {
            return Err(Error::new(&ER_NET_PACKET_TOO_LARGE, &[]));
        }
        match (&mut self.rows.row, value) {
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
        let (from, to) = conversion(ty, self.rows.charset)?;
        let text = match value {
            Value::Bytes(bytes) => std::borrow::Cow::Borrowed(&bytes[..]),
            Value::UInt(_) | Value::Json(_) => std::borrow::Cow::Owned(vaquita_types::convert::to_text(value, ty)),
            _ => return None,
        };
        Some(Value::bytes(&from.convert(to, &text).bytes))
    }

    /// The rows in the buffer are sent, or more are collected before them.
    #[cold]
    fn full(&mut self) -> Result<()> {
        let bytes = self.writer.len();
        if self.rows.held && !self.sent && bytes < HELD_BYTES && memory::ask(bytes).is_ok() {
            self.rows.flush_bytes = (bytes * 2).min(HELD_BYTES);
            return Ok(());
        }
        self.rows.flush_bytes = FLUSH_BYTES;
        self.sent = true;
        self.flush()
    }

    fn put_end(&mut self, end: &Completed<'_>, put: fn(&mut Vec<u8>, u32, &OkPacket<'_>)) {
        let session_state = if end.changes.is_empty() { Vec::new() } else { encode_changes(end.changes) };
        let packet = OkPacket {
            affected_rows: end.affected,
            last_insert_id: end.last_insert_id,
            status: status_flags(end.status),
            warnings: end.warnings,
            info: end.info.as_bytes(),
            session_state: &session_state,
        };
        let caps = self.caps;
        self.writer.packet(|buffer| put(buffer, caps, &packet));
    }
}

impl RowSink for Output<'_> {
    fn columns(&mut self, columns: &[OutputColumn], header: &KeptHeader) -> Result<()> {
        let charset = self.rows.charset;
        self.rows.columns = columns.len();
        if self.rows.cursor.is_some() {
            self.rows.converts = any_converts(columns, charset);
            put_kept_header(self, columns, charset);
            return Ok(());
        }
        let depends_on = u64::from(charset) << 40 | u64::from(self.writer.seq()) << 32 | u64::from(self.caps);
        if let Some([converts, packets @ ..]) = header.get(depends_on) {
            self.rows.converts = *converts != 0;
            self.writer.repeat(packets, columns.len() + 1);
        } else {
            self.rows.converts = any_converts(columns, charset);
            let began = self.writer.mark();
            put_header(self, columns, charset);
            header.keep(depends_on, || [&[u8::from(self.rows.converts)], self.writer.since(began)].concat());
        }
        put_eof_if_wanted(self, self.rows.status);
        Ok(())
    }

    #[inline]
    fn begin_row(&mut self) {
        let buffer = self.writer.begin_packet();
        self.rows.row_start = buffer.len();
        if self.rows.binary {
            self.rows.row = Some(BinaryRow::begin(buffer, self.rows.columns));
        }
    }

    #[inline]
    fn value(&mut self, value: &Value, ty: &ColumnType) {
        if self.rows.converts
            && let Some(converted) = self.converted(value, ty)
        {
            return self.put(&converted, ty);
        }
        self.put(value, ty);
    }

    #[inline]
    fn stored(&mut self, value: ValueRef<'_>, ty: &ColumnType) -> Result<()> {
        if self.rows.converts && conversion(ty, self.rows.charset).is_some() {
            self.value(&value.to_value()?, ty);
            return Ok(());
        }
        self.put_stored(value, ty)
    }

    #[inline]
    fn end_row(&mut self) -> Result<()> {
        let row_start = self.rows.row_start;
        if self.writer.payload().len() - row_start > SENT_ROW_BYTES_MAX {
            self.writer.cancel_packet();
            return Err(Error::new(&ER_NET_PACKET_TOO_LARGE, &[]));
        }
        self.rows.count += 1;
        if let Some(cursor) = &mut self.rows.cursor {
            let kept = cursor.push(self.writer.payload().get(row_start..).unwrap_or_default());
            self.writer.cancel_packet();
            return kept;
        }
        self.writer.end_packet();
        if self.writer.len() >= self.rows.flush_bytes {
            return self.full();
        }
        Ok(())
    }
}

impl Answer for Output<'_> {
    fn begin_try(&mut self) {
        self.try_began = self.writer.mark();
        self.sent = false;
    }

    fn take_back(&mut self) -> bool {
        if !self.sent {
            self.writer.rewind(self.try_began);
        }
        !self.sent
    }

    fn rows(&mut self, form: ResultForm) -> &mut dyn RowSink {
        let ResultForm { binary, status, charset, held, write_wait, cursor } = form;
        self.transport.write_wait = write_wait;
        self.rows = Rows { binary, status, charset, flush_bytes: FLUSH_BYTES, held, cursor, ..Rows::default() };
        self
    }

    fn rows_sent(&self) -> u64 {
        self.rows.count
    }

    fn bytes_held(&self) -> u64 {
        self.writer.len() as u64
    }

    fn take_cursor(&mut self) -> Option<Box<Cursor>> {
        self.rows.cursor.take()
    }

    fn kept_row(&mut self, row: &[u8]) -> Result<()> {
        self.writer.packet(|buffer| buffer.extend_from_slice(row));
        if self.writer.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    fn end_of_rows(&mut self, end: &Completed<'_>) {
        self.put_end(end, put_result_set_end);
    }

    fn rows_tell_changes(&self) -> bool {
        self.caps & client::DEPRECATE_EOF != 0
    }

    fn ok(&mut self, ok: &Completed<'_>) {
        self.put_end(ok, put_ok);
    }

    fn error(&mut self, error: &Error, collation: u16) {
        self.put_error_in(error, collation);
    }

    fn ask_for_file(&mut self, name: &[u8]) -> Result<()> {
        self.writer.packet(|buffer| put_local_infile_request(buffer, name));
        self.ask()
    }

    fn file_bytes(&mut self, out: &mut Vec<u8>, timeout: Duration, interrupt: &Interrupt) -> Result<bool> {
        self.receive(out, timeout, interrupt)
    }

    fn is_broken(&self) -> bool {
        self.broken
    }

    fn give_up(&mut self) {
        self.broken = true;
    }
}

/// The status flags of OK, EOF and the end of a result set.
pub fn status_flags(status: Status) -> u16 {
    let flag = |on: bool, flag: u16| if on { flag } else { 0 };
    flag(status.autocommit, status_flag::AUTOCOMMIT)
        | flag(status.in_transaction, status_flag::IN_TRANS)
        | flag(status.read_only, status_flag::IN_TRANS_READONLY)
        | flag(status.no_backslash_escapes, status_flag::NO_BACKSLASH_ESCAPES)
        | flag(status.more_results, status_flag::MORE_RESULTS_EXISTS)
        | flag(status.cursor_exists, status_flag::CURSOR_EXISTS)
        | flag(status.last_row_sent, status_flag::LAST_ROW_SENT)
        | flag(status.out_parameters, status_flag::PS_OUT_PARAMS)
}

pub fn encode_changes(changes: &[Change]) -> Vec<u8> {
    let mut out = Vec::new();
    for change in changes {
        match change {
            Change::Variable { name, value } => put_session_variable(&mut out, name.as_bytes(), value.as_bytes()),
            Change::Schema(name) => put_session_schema(&mut out, name.as_bytes()),
            Change::State => put_session_state_change(&mut out),
            Change::Gtids(gtids) => put_session_gtids(&mut out, gtids.as_bytes()),
            Change::Transaction(state) => put_session_transaction_state(&mut out, state),
            Change::Characteristics(text) => put_session_transaction_characteristics(&mut out, text.as_bytes()),
        }
    }
    out
}

fn any_converts(columns: &[OutputColumn], charset: u16) -> bool {
    columns.iter().any(|column| conversion(&column.expr.ty, charset).is_some())
}

/// The column count and the definitions.
fn put_header(out: &mut Output<'_>, columns: &[OutputColumn], charset: u16) {
    let caps = out.caps;
    out.writer.packet(|buffer| put_result_set_header(buffer, caps, columns.len(), true));
    for column in columns {
        out.writer.packet(|buffer| put_named(buffer, &definition(column, charset), charset));
    }
}

/// The definition with its names in the charset that the client reads.
fn put_named(buffer: &mut Vec<u8>, definition: &ColumnDefinition<'_>, results: u16) {
    let to = charset::charset(CollationId(results));
    let ColumnDefinition { schema, table, org_table, name, org_name, .. } = definition;
    let names = [schema, table, org_table, name, org_name];
    if results == 0 || to.is_binary() || to.name.starts_with("utf8") || names.iter().all(|name| name.is_ascii()) {
        return put_column_definition(buffer, definition);
    }
    let utf8 = charset::charset(CollationId::UTF8MB4_BIN);
    let [schema, table, org_table, name, org_name] = names.map(|name| utf8.convert(to, name).bytes);
    let named = ColumnDefinition {
        schema: &schema,
        table: &table,
        org_table: &org_table,
        name: &name,
        org_name: &org_name,
        ..*definition
    };
    put_column_definition(buffer, &named);
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
        out.writer.packet(|buffer| put_named(buffer, &definition, charset));
    }
}

pub fn put_definitions(out: &mut Output<'_>, columns: &[OutputColumn], status: Status, charset: u16) {
    for column in columns {
        out.writer.packet(|buffer| put_named(buffer, &definition(column, charset), charset));
    }
    put_eof_if_wanted(out, status);
}

pub fn put_eof_if_wanted(out: &mut Output<'_>, status: Status) {
    if out.caps & client::DEPRECATE_EOF == 0 {
        out.writer.packet(|buffer| put_eof(buffer, status_flags(status), 0));
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
    if column.expr.is_variable() {
        // As a column of no table; an OUT parameter of a prepared CALL as one of a table with the routine's name.
        definition.org_name = definition.name;
        if let Some(origin) = &column.origin {
            definition.schema = origin.database.as_bytes();
            definition.table = origin.table.as_bytes();
            definition.org_table = origin.org_table.as_bytes();
            definition.charset = CollationId::BINARY.0;
        }
        return definition;
    }
    let Some(origin) = &column.origin else {
        describe_expression(&mut definition, &column.expr, results);
        return definition;
    };
    definition.schema = origin.database.as_bytes();
    definition.table = origin.table.as_bytes();
    definition.org_table = origin.org_table.as_bytes();
    definition.org_name = origin.org_name.as_bytes();
    definition.flags |= key_flags(origin);
    definition
}

/// Bytes of the longest character of JSON's texts.
const UTF8MB4_BYTES_MAX: u32 = 4;

/// Bytes of a geometry that a function of all types picks, as MySQL announces it.
const PICKED_GEOMETRY_BYTES: u32 = 1 << 24;

/// Spatial functions announce no number of decimals; COALESCE and its like announce a length.
fn describe_geometry(definition: &mut ColumnDefinition<'_>, expr: &Expr) {
    let is_spatial = match &expr.kind {
        ExprKind::Call(def, _) => !matches!(def.name, "COALESCE" | "IFNULL" | "IF" | "NULLIF" | "ANY_VALUE" | "ELT"),
        _ => false,
    };
    if is_spatial {
        definition.decimals = 0;
    } else {
        definition.length = PICKED_GEOMETRY_BYTES;
    }
}

/// What an expression has beside its type, and what only columns have.
fn describe_expression(definition: &mut ColumnDefinition<'_>, expr: &Expr, results: Option<ResultCharset>) {
    let is_json = expr.ty.kind == TypeKind::Json;
    let is_text = expr.ty.is_bytes() || is_json;
    let is_hex = matches!(expr.kind, ExprKind::Literal(_)) && is_hex_literal(&expr.ty);
    if is_text && !is_hex {
        definition.decimals = NOT_FIXED_DECIMALS;
    }
    if expr.ty.is_geometry() {
        describe_geometry(definition, expr);
    }
    if expr.ty.is_blob() {
        definition.flags &= !flag::BLOB;
        definition.column_type = match expr.ty.kind {
            TypeKind::LongText | TypeKind::LongBlob => mysql_type::LONG_BLOB,
            TypeKind::MediumText | TypeKind::MediumBlob => mysql_type::MEDIUM_BLOB,
            _ => definition.column_type,
        };
    }
    let is_bits = expr.ty.kind == TypeKind::Bit;
    if !is_text && !is_bits || is_text && collation_of_expression(expr, results).is_bin() {
        definition.flags |= flag::BINARY;
    }
    if expr.ty.kind == TypeKind::Year {
        definition.flags &= !flag::ZEROFILL;
    }
    if is_json {
        definition.flags &= !flag::BLOB;
        if let Some(results) = results {
            definition.charset = results.collation;
            definition.length = u32::MAX / UTF8MB4_BYTES_MAX * results.char_bytes_max;
        }
    }
}

/// A text without a collation of its own has the client's.
fn collation_of_expression(expr: &Expr, results: Option<ResultCharset>) -> &'static charset::Collation {
    match results {
        Some(results) if expr.coercibility == COERCIBILITY_NUMERIC && expr.ty.is_text() => {
            charset::collation(CollationId(results.collation))
        }
        _ => charset::collation(expr.ty.collation),
    }
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
        (origin.part_key, flag::PART_KEY),
        (origin.auto_increment, flag::AUTO_INCREMENT),
        (origin.no_default, flag::NO_DEFAULT_VALUE),
        (origin.on_update_now, flag::ON_UPDATE_NOW),
    ];
    bits.iter().filter(|(on, _)| *on).fold(0, |flags, (_, bit)| flags | bit)
}

/// The definition of a parameter, of the type that stands for all of its kind.
pub fn definition_of_parameter(ty: Option<&ColumnType>) -> ColumnDefinition<'static> {
    let unknown = parameter_definition();
    let Some(ty) = ty else { return unknown };
    let numeric = |column_type, length, decimals| ColumnDefinition {
        charset: CollationId::BINARY.0,
        length,
        column_type,
        decimals,
        flags: flag::BINARY | if ty.unsigned { flag::UNSIGNED } else { 0 },
        ..parameter_definition()
    };
    let unsigned =
        |definition: ColumnDefinition<'static>| ColumnDefinition { flags: definition.flags | flag::UNSIGNED, ..definition };
    let charset = if ty.collation == CollationId::BINARY { CollationId::BINARY.0 } else { unknown.charset };
    match ty.kind {
        _ if ty.is_integer() => numeric(mysql_type::LONGLONG, 21, 0),
        TypeKind::Decimal => numeric(mysql_type::NEWDECIMAL, 67, 30),
        TypeKind::Float | TypeKind::Double => numeric(mysql_type::DOUBLE, 23, NOT_FIXED_DECIMALS),
        TypeKind::Bit => unsigned(numeric(mysql_type::BIT, 64, 0)),
        TypeKind::Year => unsigned(numeric(mysql_type::YEAR, 4, 0)),
        TypeKind::Date => numeric(mysql_type::DATE, 10, 0),
        TypeKind::Time => numeric(mysql_type::TIME, 17, 6),
        TypeKind::DateTime | TypeKind::Timestamp => numeric(mysql_type::DATETIME, 26, 6),
        TypeKind::Json => ColumnDefinition { length: u32::MAX - 3, column_type: mysql_type::JSON, ..unknown },
        TypeKind::Binary | TypeKind::VarBinary => numeric(mysql_type::VAR_STRING, 65_535, NOT_FIXED_DECIMALS),
        _ if ty.is_blob() => {
            let flags = if charset == CollationId::BINARY.0 { flag::BINARY } else { 0 };
            ColumnDefinition { charset, flags, length: u32::MAX, column_type: mysql_type::LONG_BLOB, ..unknown }
        }
        _ => unknown,
    }
}
