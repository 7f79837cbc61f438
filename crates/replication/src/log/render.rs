//! From what a transaction told to its events: the entries of a `LogBuffer` become `Unit`s.
//!
//! ```text
//! STATEMENT, WRITE t, WRITE t, STATEMENT, WRITE t, UPDATE u, COMMIT
//! TABLE_MAP t, WRITE_ROWS t [2 rows, end], TABLE_MAP t, WRITE_ROWS t [end], TABLE_MAP t, TABLE_MAP u, UPDATE_ROWS u [end], XID
//! ```
//!
//! * Rows of one table, kind, flags and columns go on in one event up to `row_event_bytes_max` (`binlog_row_event_max_size`).
//! * A replica opens all tables of a statement when its first rows come. A table that comes up later ends the group of events (STATEMENT_END);
//!   the next group begins with the tables that the statement has named so far, so that a statement has no more groups than tables.
//! * An event gets its length and its flags when it ends, which it does not before it is known what comes next.
//! * What begins with a QUERY ends with an XID, or with an XA_PREPARE. DDL is its QUERY alone.
//!
//! With `binlog_transaction_compression` what is above becomes one TRANSACTION_PAYLOAD, but for large transactions, DDL and XA branches.
//!
//! Headers have the end position 0, and a length without a checksum: whether there will be one is the file's to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_storage::{LogBuffer, LogEntry, LogObject};
use vaquita_types::errno::ER_NET_PACKET_TOO_LARGE;
use vaquita_types::{Error, Result};
use vaquita_wire::binlog::header::{EVENT_BYTES_MAX, HEADER_BYTES, flags};
use vaquita_wire::binlog::query::{encode_rows_query, encode_xid};
use vaquita_wire::binlog::rows::rows_flags;
use vaquita_wire::binlog::{Header, TransactionPayload, event_type};
use vaquita_wire::codec::{put_lenenc_int, put_u16};

use super::entries::{Control, Facts, Unit, damaged, kind};
use super::place::LENGTH_AT;
use super::rows::{ALL_COLUMNS, CASCADES, HAS_COLUMNS, LoggedTable, decode_statement};

/// Where in an event with rows its flags are.
const ROWS_FLAGS_AT: usize = HEADER_BYTES + 6;
/// Bytes of events that a transaction has in memory; of more, whole events go to an extent.
const MEMORY_BYTES_MAX: usize = 4 << 20;

/// Where the events of large transactions are stored.
pub trait Extents {
    /// A new extent.
    fn begin(&self) -> Result<u64>;

    /// Whole events. `at` is where they begin in the transaction.
    fn add(&self, extent: u64, at: u64, events: &[u8]) -> Result<()>;
}

/// What the leader gets of a commit (`entries::ready`). `binlog_row_event_max_size`: bytes of an event's data which no further row makes longer.
pub fn prepare(told: &LogBuffer, row_event_bytes_max: usize, extents: &dyn Extents) -> Result<Vec<u8>> {
    prepare_within(told, row_event_bytes_max, extents, MEMORY_BYTES_MAX)
}

pub(super) fn prepare_within(
    told: &LogBuffer,
    row_event_bytes_max: usize,
    extents: &dyn Extents,
    memory_bytes_max: usize,
) -> Result<Vec<u8>> {
    // The facts of a transaction come last, and stand in all its headers.
    let mut facts = Vec::new();
    told.for_each(|entry| {
        if entry.kind == kind::COMMIT {
            facts.push(Facts::decode(entry.content)?);
        }
        Ok(())
    })?;
    let mut facts = facts.into_iter();
    let mut log = Vec::new();
    let mut rendering: Option<Rendering<'_>> = None;
    told.for_each(|entry| {
        if entry.kind == kind::CONTROL {
            return Control::decode(entry.content).map(|control| control.encode_ready(&mut log));
        }
        let mut unit = match rendering.take() {
            Some(unit) => unit,
            None => Rendering::new(facts.next().ok_or_else(unended)?, row_event_bytes_max, extents, memory_bytes_max),
        };
        match entry.kind {
            kind::COMMIT => unit.end(&mut log),
            _ => {
                unit.take(&entry)?;
                rendering = Some(unit);
                Ok(())
            }
        }
    })?;
    if rendering.is_some() { Err(unended()) } else { Ok(log) }
}

#[cold]
fn unended() -> Error {
    Error::internal("a transaction in the binary log does not end")
}

/// The transaction whose events are being made.
struct Rendering<'r> {
    facts: Facts,
    row_event_bytes_max: usize,
    extents: &'r dyn Extents,
    memory_bytes_max: usize,
    extent: Option<u64>,
    /// Events that are not in the extent.
    out: Vec<u8>,
    /// Bytes and number of events in the extent, and the number of those in `out`.
    stored_bytes: u64,
    stored_count: u64,
    count: u64,
    statement: Statement,
    /// The last event in `out`, if it has rows and its statement goes on.
    open: Option<OpenRows>,
    /// It has ended by itself.
    is_prepared: bool,
}

#[derive(Default)]
struct Statement {
    flags: u16,
    /// Until it is told.
    text: Option<Vec<u8>>,
    /// The tables that it has named.
    tables: Vec<LogObject>,
    /// How many of them the group of events has, whose rows come now.
    mapped: usize,
}

struct OpenRows {
    /// In `Rendering::out`.
    start: usize,
    kind: u8,
    table: u64,
    flags: u16,
    /// The bitmaps of its columns, in `Rendering::out`.
    columns: std::ops::Range<usize>,
}

impl<'r> Rendering<'r> {
    fn new(facts: Facts, row_event_bytes_max: usize, extents: &'r dyn Extents, memory_bytes_max: usize) -> Rendering<'r> {
        Rendering {
            facts,
            row_event_bytes_max,
            extents,
            memory_bytes_max,
            extent: None,
            out: Vec::new(),
            stored_bytes: 0,
            stored_count: 0,
            count: 0,
            statement: Statement::default(),
            open: None,
            is_prepared: false,
        }
    }

    fn take(&mut self, entry: &LogEntry<'_>) -> Result<()> {
        match entry.kind {
            kind::STATEMENT => {
                self.end_group()?;
                let (flags, text) = decode_statement(entry.content)?;
                self.statement = Statement { flags, text: text.map(<[u8]>::to_vec), ..Statement::default() };
                Ok(())
            }
            kind::WRITE | kind::UPDATE | kind::DELETE => self.row(entry),
            kind::QUERY => {
                self.facts.has_statements = true;
                self.whole_event(event_type::QUERY, entry.content)
            }
            kind::XA_PREPARE => {
                self.is_prepared = true;
                self.whole_event(event_type::XA_PREPARE, entry.content)
            }
            _ => Err(damaged()),
        }
    }

    /// Ends the transaction, and appends its unit.
    fn end(mut self, log: &mut Vec<u8>) -> Result<()> {
        self.end_group()?;
        if !self.facts.begin.is_empty() && !self.is_prepared {
            // No recovery asks for the number: it tells transactions apart for those who read.
            static NEXT_XID: AtomicU64 = AtomicU64::new(1);
            self.event(event_type::XID, 0, |out| encode_xid(out, NEXT_XID.fetch_add(1, Ordering::Relaxed)))?;
        }
        match self.extent {
            Some(_) => self.store()?,
            None => self.compress()?,
        }
        let (count, bytes) = (self.stored_count + self.count, self.stored_bytes + self.out.len() as u64);
        Unit { facts: self.facts, events: &self.out, count, bytes, extent: self.extent }.encode(log);
        Ok(())
    }

    /// Makes one event of all, the BEGIN included, if they are rows and it is shorter (`binlog_transaction_compression`).
    fn compress(&mut self) -> Result<()> {
        let facts = &self.facts;
        if facts.compression == 0 || facts.begin.is_empty() || facts.has_statements || self.is_prepared {
            return Ok(());
        }
        let level = i32::from(facts.compression);
        let mut all = Vec::with_capacity(HEADER_BYTES + facts.begin.len() + self.out.len());
        let (timestamp, server_id, length) = (facts.timestamp, facts.server_id, (HEADER_BYTES + facts.begin.len()) as u32);
        Header { timestamp, event_type: event_type::QUERY, server_id, length, end_position: 0, flags: 0 }.encode(&mut all);
        all.extend_from_slice(&facts.begin);
        all.append(&mut self.out);
        let start = self.begin_event(event_type::TRANSACTION_PAYLOAD, 0)?;
        if TransactionPayload::compress(&all, level, &mut self.out) {
            self.facts.begin.clear();
            self.count = 0;
            return self.end_event(start);
        }
        self.out = all.split_off(HEADER_BYTES + self.facts.begin.len());
        Ok(())
    }

    fn row(&mut self, entry: &LogEntry<'_>) -> Result<()> {
        let object = entry.object.ok_or_else(damaged)?;
        let table = object.downcast_ref::<LoggedTable>().ok_or_else(damaged)?;
        let (marks, rest) = entry.content.split_first().ok_or_else(damaged)?;
        let bitmaps = if entry.kind == kind::UPDATE { 2 } else { 1 };
        let columns_len = if marks & HAS_COLUMNS != 0 { bitmaps * table.bitmap_bytes() } else { 0 };
        let (columns, row) = rest.split_at_checked(columns_len).ok_or_else(damaged)?;
        let mut flags = self.statement.flags;
        if marks & CASCADES != 0 {
            flags |= rows_flags::CASCADES_FOLLOW | rows_flags::NO_FOREIGN_KEY_CHECKS;
        }
        let goes_on = self.open.as_ref().is_some_and(|open| {
            let is_alike = open.kind == entry.kind && open.table == table.id && open.flags == flags;
            let data_len = self.out.len() - open.start - HEADER_BYTES + row.len();
            is_alike && data_len <= self.row_event_bytes_max && self.has_columns(open, columns)
        });
        if !goes_on {
            self.map(object)?;
            self.open_rows(entry.kind, table, flags, columns)?;
        }
        self.out.extend_from_slice(row);
        Ok(())
    }

    /// No columns are all.
    fn has_columns(&self, open: &OpenRows, columns: &[u8]) -> bool {
        let of_event = self.out.get(open.columns.clone()).unwrap_or_default();
        match columns.is_empty() {
            false => of_event == columns,
            true => of_event.iter().all(|byte| *byte == ALL_COLUMNS),
        }
    }

    /// Sees to it that the group of events has a table.
    fn map(&mut self, object: &LogObject) -> Result<()> {
        let statement = &mut self.statement;
        let at = statement.tables.iter().position(|known| Arc::ptr_eq(known, object));
        if at.is_some_and(|at| at < statement.mapped) {
            return Ok(());
        }
        if at.is_none() {
            statement.tables.push(Arc::clone(object));
        }
        self.end_group()?;
        if let Some(text) = self.statement.text.take() {
            self.event(event_type::ROWS_QUERY, flags::IGNORABLE, |out| encode_rows_query(out, &text))?;
        }
        let tables = std::mem::take(&mut self.statement.tables);
        for object in &tables {
            let table = object.downcast_ref::<LoggedTable>().ok_or_else(damaged)?;
            self.event(event_type::TABLE_MAP, 0, |out| out.extend_from_slice(&table.map))?;
        }
        self.statement.mapped = tables.len();
        self.statement.tables = tables;
        Ok(())
    }

    fn open_rows(&mut self, kind: u8, table: &LoggedTable, flags: u16, columns: &[u8]) -> Result<()> {
        self.close_rows(0)?;
        let (code, bitmaps) = match kind {
            kind::WRITE => (event_type::WRITE_ROWS, 1),
            kind::UPDATE => (event_type::UPDATE_ROWS, 2),
            _ => (event_type::DELETE_ROWS, 1),
        };
        let start = self.begin_event(code, 0)?;
        self.out.extend_from_slice(&table.id.to_le_bytes()[..6]);
        put_u16(&mut self.out, flags);
        // Bytes of further data, with themselves: there are none.
        put_u16(&mut self.out, 2);
        put_lenenc_int(&mut self.out, table.column_count() as u64);
        let columns_start = self.out.len();
        match columns.is_empty() {
            false => self.out.extend_from_slice(columns),
            true => self.out.resize(self.out.len() + bitmaps * table.bitmap_bytes(), ALL_COLUMNS),
        }
        let columns = columns_start..self.out.len();
        self.open = Some(OpenRows { start, kind, table: table.id, flags, columns });
        Ok(())
    }

    /// Ends the event with rows that goes on, with these flags besides its own.
    fn close_rows(&mut self, further: u16) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let at = open.start + ROWS_FLAGS_AT;
        self.out[at..at + 2].copy_from_slice(&(open.flags | further).to_le_bytes());
        self.end_event(open.start)
    }

    /// What has come is whole: a replica forgets the tables.
    fn end_group(&mut self) -> Result<()> {
        self.statement.mapped = 0;
        self.close_rows(rows_flags::STATEMENT_END)
    }

    /// An event that is of no statement with rows.
    fn whole_event(&mut self, code: u8, data: &[u8]) -> Result<()> {
        self.end_group()?;
        self.event(code, 0, |out| out.extend_from_slice(data))
    }

    fn event(&mut self, code: u8, flags: u16, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let start = self.begin_event(code, flags)?;
        write(&mut self.out);
        self.end_event(start)
    }

    fn begin_event(&mut self, code: u8, flags: u16) -> Result<usize> {
        if self.out.len() > self.memory_bytes_max {
            self.store()?;
        }
        let start = self.out.len();
        let (timestamp, server_id) = (self.facts.timestamp, self.facts.server_id);
        Header { timestamp, event_type: code, server_id, length: 0, end_position: 0, flags }.encode(&mut self.out);
        Ok(start)
    }

    fn end_event(&mut self, start: usize) -> Result<()> {
        let len = (self.out.len() - start) as u64;
        if len > EVENT_BYTES_MAX {
            return Err(Error::new(&ER_NET_PACKET_TOO_LARGE, &[]));
        }
        let at = start + LENGTH_AT;
        self.out[at..at + 4].copy_from_slice(&(len as u32).to_le_bytes());
        self.count += 1;
        Ok(())
    }

    /// Moves events to the extent.
    fn store(&mut self) -> Result<()> {
        let extent = match self.extent {
            Some(extent) => extent,
            None => *self.extent.insert(self.extents.begin()?),
        };
        self.extents.add(extent, self.stored_bytes, &self.out)?;
        self.stored_bytes += self.out.len() as u64;
        self.stored_count += std::mem::take(&mut self.count);
        self.out.clear();
        Ok(())
    }
}
