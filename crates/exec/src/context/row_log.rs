//! Where changes of rows are told to the binary log. What it makes of them is not known here.

use std::cell::Cell;

use vaquita_storage::{LogBuffer, Table, Transaction};
use vaquita_types::{Result, Value};

/// `binlog_row_image`: the columns that are told of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowImage {
    #[default]
    Full,
    /// What identifies the row, and what has changed.
    Minimal,
    /// Without BLOBs and TEXTs that are not needed.
    NoBlob,
}

/// What the session has set for the rows of a statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowLogSettings {
    pub image: RowImage,
    /// `binlog_row_metadata=FULL`.
    pub full_metadata: bool,
    pub foreign_key_checks: bool,
    pub unique_checks: bool,
}

/// A row as it is stored, with all columns of its table: none before an insert, none after a delete.
#[derive(Clone, Copy)]
pub struct RowChange<'r> {
    pub before: Option<&'r [Value]>,
    pub after: Option<&'r [Value]>,
    /// Ascending positions of columns that an insert gives no value.
    pub left_out: &'r [usize],
    /// Foreign keys brought it, or bring further ones, which are told before it or behind it.
    pub cascades: bool,
}

pub trait RowLog: Send + Sync {
    /// Rows of another statement follow. `text` is told with them (`binlog_rows_query_log_events`).
    fn begin_statement(&self, txn: &mut Transaction, text: Option<&[u8]>, settings: &RowLogSettings) -> Result<()>;

    /// A row of this table has changed.
    fn row(&self, txn: &mut Transaction, table: &Table, change: RowChange<'_>, settings: &RowLogSettings) -> Result<()>;

    /// As `row`, of a row of which the transaction is told later.
    fn collect(&self, to: &mut LogBuffer, table: &Table, change: RowChange<'_>, settings: &RowLogSettings) -> Result<()>;
}

/// Collects rows that are told later (`RowLogging::tell_all`), on any thread.
#[derive(Clone, Copy)]
pub struct RowCollector<'a> {
    log: &'a dyn RowLog,
    settings: RowLogSettings,
}

impl RowCollector<'_> {
    pub fn collect(&self, to: &mut LogBuffer, table: &Table, change: RowChange<'_>) -> Result<()> {
        self.log.collect(to, table, change, &self.settings)
    }
}

/// The log of a statement that runs.
pub struct RowLogging<'a> {
    log: &'a dyn RowLog,
    settings: RowLogSettings,
    text: Option<&'a [u8]>,
    /// How long the transaction's buffer was when the statement had begun there. If part of it was undone meanwhile, it begins again.
    begun: Begun<'a>,
}

/// Within a statement its functions and triggers go on with what it has begun.
enum Begun<'a> {
    Own(Cell<Option<u64>>),
    Outer(&'a Cell<Option<u64>>),
}

impl Begun<'_> {
    fn cell(&self) -> &Cell<Option<u64>> {
        match self {
            Begun::Own(cell) => cell,
            Begun::Outer(cell) => cell,
        }
    }
}

impl<'a> RowLogging<'a> {
    pub fn new(log: &'a dyn RowLog, settings: RowLogSettings, text: Option<&'a [u8]>) -> RowLogging<'a> {
        RowLogging { log, settings, text, begun: Begun::Own(Cell::new(None)) }
    }

    /// For a function or a trigger within the statement, whose rows are the statement's.
    pub fn within(&self) -> RowLogging<'_> {
        RowLogging { log: self.log, settings: self.settings, text: self.text, begun: Begun::Outer(self.begun.cell()) }
    }

    pub fn tell(&self, txn: &mut Transaction, table: &Table, change: RowChange<'_>) -> Result<()> {
        self.begin_statement(txn)?;
        self.log.row(txn, table, change, &self.settings)
    }

    #[inline]
    fn begin_statement(&self, txn: &mut Transaction) -> Result<()> {
        let begun = self.begun.cell();
        if begun.get().is_none_or(|begun| txn.log().len() < begun) {
            self.log.begin_statement(txn, self.text, &self.settings)?;
            begun.set(Some(txn.log().len()));
        }
        Ok(())
    }

    pub fn collector(&self) -> RowCollector<'a> {
        RowCollector { log: self.log, settings: self.settings }
    }

    /// As `tell`, of rows that a collector has collected.
    pub fn tell_all(&self, txn: &mut Transaction, rows: &LogBuffer) -> Result<()> {
        self.begin_statement(txn)?;
        txn.tell_log_all(rows)
    }
}
