//! Where the statements of a stored program answer: rows go to the client of CALL, with the word that more follows; OK is not told, and
//! an error is the program's to handle. Rows of a cursor are kept.

use std::time::Duration;

use vaquita_exec::sink::{Collect, RowSink};
use vaquita_plan::node::{KeptHeader, OutputColumn};
use vaquita_storage::{Interrupt, ValueRef};
use vaquita_types::memory::Reserve;
use vaquita_types::{ColumnType, Error, Result, Value};

use crate::answer::{Answer, Completed, ResultForm, Status};
use crate::state::prepared::Cursor;

pub struct ProgramAnswer<'a> {
    client: &'a mut dyn Answer,
    pub error: Option<Error>,
    /// A result set has begun and not ended.
    pub rows_open: bool,
}

impl<'a> ProgramAnswer<'a> {
    pub fn new(client: &'a mut dyn Answer) -> ProgramAnswer<'a> {
        ProgramAnswer { client, error: None, rows_open: false }
    }
}

impl Answer for ProgramAnswer<'_> {
    fn begin_try(&mut self) {
        self.client.begin_try();
    }

    fn take_back(&mut self) -> bool {
        let back = self.client.take_back();
        self.rows_open &= !back;
        back
    }

    fn rows(&mut self, form: ResultForm) -> &mut dyn RowSink {
        self.rows_open = true;
        self.client.rows(ResultForm { status: Status { more_results: true, ..form.status }, ..form })
    }

    fn rows_sent(&self) -> u64 {
        self.client.rows_sent()
    }

    fn bytes_held(&self) -> u64 {
        self.client.bytes_held()
    }

    fn take_cursor(&mut self) -> Option<Box<Cursor>> {
        self.client.take_cursor()
    }

    fn kept_row(&mut self, row: &[u8]) -> Result<()> {
        self.client.kept_row(row)
    }

    fn end_of_rows(&mut self, end: &Completed<'_>) {
        self.rows_open = false;
        self.client.end_of_rows(&Completed { status: Status { more_results: true, ..end.status }, ..*end });
    }

    fn rows_tell_changes(&self) -> bool {
        self.client.rows_tell_changes()
    }

    fn ok(&mut self, _: &Completed<'_>) {}

    fn error(&mut self, error: &Error, _: u16) {
        self.error = Some(error.clone());
    }

    fn ask_for_file(&mut self, name: &[u8]) -> Result<()> {
        self.client.ask_for_file(name)
    }

    fn file_bytes(&mut self, out: &mut Vec<u8>, timeout: Duration, interrupt: &Interrupt) -> Result<bool> {
        self.client.file_bytes(out, timeout, interrupt)
    }

    fn is_broken(&self) -> bool {
        self.client.is_broken()
    }

    fn give_up(&mut self) {
        self.client.give_up();
    }
}

/// Rows of a program's cursor.
pub struct CursorRows {
    columns: Vec<ColumnType>,
    rows: Collect,
    bytes: usize,
    memory: Reserve,
    pub error: Option<Error>,
}

impl CursorRows {
    pub fn new() -> CursorRows {
        CursorRows { columns: Vec::new(), rows: Collect::default(), bytes: 0, memory: Reserve::default(), error: None }
    }

    /// The types of the columns, the rows, and their place in the server's memory.
    pub fn into_rows(self) -> (Vec<ColumnType>, Vec<Vec<Value>>, Reserve) {
        (self.columns, self.rows.rows, self.memory)
    }
}

impl RowSink for CursorRows {
    fn columns(&mut self, columns: &[OutputColumn], _: &KeptHeader) -> Result<()> {
        self.columns = columns.iter().map(|column| column.expr.ty.clone()).collect();
        Ok(())
    }

    fn begin_row(&mut self) {
        self.rows.begin_row();
    }

    fn value(&mut self, value: &Value, ty: &ColumnType) {
        self.rows.value(value, ty);
    }

    fn stored(&mut self, value: ValueRef<'_>, ty: &ColumnType) -> Result<()> {
        self.rows.stored(value, ty)
    }

    fn end_row(&mut self) -> Result<()> {
        self.rows.end_row()?;
        let heap = |value: &Value| size_of::<Value>() + if let Value::Bytes(bytes) = value { bytes.len() } else { 0 };
        self.bytes += size_of::<Vec<Value>>() + self.rows.rows.last().map_or(0, |row| row.iter().map(heap).sum());
        self.memory.cover(self.bytes)
    }
}

impl Answer for CursorRows {
    fn take_back(&mut self) -> bool {
        self.rows = Collect::default();
        self.bytes = 0;
        true
    }

    fn rows(&mut self, _: ResultForm) -> &mut dyn RowSink {
        self
    }

    fn error(&mut self, error: &Error, _: u16) {
        self.error = Some(error.clone());
    }
}
