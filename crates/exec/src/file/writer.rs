//! SELECT … INTO OUTFILE and DUMPFILE: the sinks that write rows to a file.
//!
//! What LOAD DATA with the same clauses reads back: separators inside values are escaped, NULL is `\N`, or the word NULL
//! if nothing escapes. Without separators values have the width of their columns and NULL is blank.

use std::io::Write;

use vaquita_plan::node::{KeptHeader, OutputColumn};
use vaquita_storage::ValueRef;
use vaquita_types::charset::{self, Charset};
use vaquita_types::convert::to_text;
use vaquita_types::errno::{ER_ERROR_ON_WRITE, ER_TOO_MANY_ROWS};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::FileFormat;
use super::load::width;
use crate::sink::RowSink;

/// Bytes that mean something else behind an escape.
const ESCAPE_LETTERS: &[u8] = b"ntrb0ZN";
/// Bytes that numbers have.
const NUMBER_BYTES: &[u8] = b".0123456789e+-";
/// Rows collect up to this many bytes before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// Writes rows as lines.
pub struct FileWriter<W: Write> {
    file: W,
    format: FileFormat,
    /// What text is converted to; `None` writes it as it is.
    charset: Option<&'static Charset>,
    buffer: Vec<u8>,
    column: usize,
    ambiguous: bool,
}

impl<W: Write> FileWriter<W> {
    pub fn new(file: W, mut format: FileFormat, charset: Option<&'static Charset>) -> FileWriter<W> {
        if format.line_end.is_empty() {
            format.line_end.clone_from(&format.field_end);
        }
        FileWriter { file, format, charset, buffer: Vec::new(), column: 0, ambiguous: false }
    }

    /// The first byte of FIELDS TERMINATED BY may be one of a value's, and is not escaped there: the file cannot be read back.
    pub fn is_ambiguous(&self) -> bool {
        self.ambiguous
    }

    /// Writes what is left.
    pub fn finish(&mut self) -> Result<()> {
        self.flush_buffer()?;
        self.file.flush().map_err(|e| write_error(&e))
    }

    fn flush_buffer(&mut self) -> Result<()> {
        self.file.write_all(&self.buffer).map_err(|e| write_error(&e))?;
        self.buffer.clear();
        Ok(())
    }

    fn put(&mut self, value: &Value, ty: &ColumnType) {
        if self.column > 0 {
            self.buffer.extend_from_slice(&self.format.field_end);
        }
        self.column += 1;
        let is_string = is_string(ty);
        let quote = self.format.enclosed.filter(|_| !self.format.optionally || is_string);
        if value.is_null() {
            return self.put_null(ty);
        }
        let text = to_text(value, ty);
        let text = match self.charset {
            Some(to) if is_string && !charset::charset(ty.collation).is_binary() => {
                charset::charset(ty.collation).convert(to, &text).bytes.into_owned()
            }
            _ => text,
        };
        self.buffer.extend(quote);
        let may_hold_separator = is_string || self.separator().is_some_and(|byte| NUMBER_BYTES.contains(&byte));
        match self.format.escape {
            Some(escape) if may_hold_separator => self.put_escaped(&text, escape, quote),
            _ => self.buffer.extend_from_slice(&text),
        }
        self.buffer.extend(quote);
        if self.format.is_fixed_size() {
            let blank = width(ty).saturating_sub(text.len());
            self.buffer.resize(self.buffer.len() + blank, b' ');
        }
    }

    fn put_null(&mut self, ty: &ColumnType) {
        match self.format.escape {
            _ if self.format.is_fixed_size() => self.buffer.resize(self.buffer.len() + width(ty), b' '),
            Some(escape) => self.buffer.extend([escape, b'N']),
            None => self.buffer.extend_from_slice(b"NULL"),
        }
    }

    fn put_escaped(&mut self, text: &[u8], escape: u8, quote: Option<u8>) {
        let field_end = self.format.field_end.first().copied();
        let line_end = self.format.line_end.first().copied();
        let separator = if quote.is_some() { self.format.enclosed } else { field_end };
        for &byte in text {
            let special = byte == 0 || byte == escape || Some(byte) == separator || Some(byte) == line_end;
            if !special || quote.is_none() && self.ambiguous && Some(byte) == field_end {
                self.buffer.push(byte);
                continue;
            }
            // A separator that is a letter is doubled: escaped it would be another byte.
            let doubled = Some(byte) == self.separator() && ESCAPE_LETTERS.contains(&byte);
            self.buffer.extend([if doubled { byte } else { escape }, if byte == 0 { b'0' } else { byte }]);
        }
    }

    /// The byte that ends a value: its quote, or the first of what ends fields.
    fn separator(&self) -> Option<u8> {
        self.format.enclosed.or(self.format.field_end.first().copied())
    }
}

impl<W: Write> RowSink for FileWriter<W> {
    fn columns(&mut self, columns: &[OutputColumn], _: &KeptHeader) -> Result<()> {
        let strings = columns.iter().any(|column| is_string(&column.expr.ty));
        let numbers = columns.iter().any(|column| !is_string(&column.expr.ty));
        let begins_with = |bytes: &[u8]| self.format.field_end.first().is_some_and(|byte| bytes.contains(byte));
        let unquoted = self.format.enclosed.is_none();
        self.ambiguous = unquoted && begins_with(ESCAPE_LETTERS) && (strings || begins_with(NUMBER_BYTES))
            || (unquoted || self.format.optionally) && numbers && begins_with(NUMBER_BYTES);
        Ok(())
    }

    fn begin_row(&mut self) {
        self.column = 0;
        self.buffer.extend_from_slice(&self.format.line_start);
    }

    fn value(&mut self, value: &Value, ty: &ColumnType) {
        self.put(value, ty);
    }

    fn stored(&mut self, value: ValueRef<'_>, ty: &ColumnType) -> Result<()> {
        self.put(&value.to_value()?, ty);
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        self.buffer.extend_from_slice(&self.format.line_end);
        if self.buffer.len() >= BUFFER_BYTES { self.flush_buffer() } else { Ok(()) }
    }
}

/// Writes the values of one row, one behind the other.
pub struct DumpWriter<W: Write> {
    file: W,
    row: Vec<u8>,
    rows: usize,
}

impl<W: Write> DumpWriter<W> {
    pub fn new(file: W) -> DumpWriter<W> {
        DumpWriter { file, row: Vec::new(), rows: 0 }
    }

    pub fn finish(&mut self) -> Result<()> {
        self.file.write_all(&self.row).and_then(|()| self.file.flush()).map_err(|e| write_error(&e))
    }
}

impl<W: Write> RowSink for DumpWriter<W> {
    fn columns(&mut self, _: &[OutputColumn], _: &KeptHeader) -> Result<()> {
        Ok(())
    }

    fn begin_row(&mut self) {
        self.rows += 1;
    }

    fn value(&mut self, value: &Value, ty: &ColumnType) {
        match value {
            _ if self.rows > 1 => {}
            Value::Null => self.row.push(0),
            value => self.row.extend_from_slice(&to_text(value, ty)),
        }
    }

    fn stored(&mut self, value: ValueRef<'_>, ty: &ColumnType) -> Result<()> {
        self.value(&value.to_value()?, ty);
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        if self.rows > 1 { Err(Error::new(&ER_TOO_MANY_ROWS, &[])) } else { Ok(()) }
    }
}

fn write_error(error: &std::io::Error) -> Error {
    let number = error.raw_os_error().unwrap_or_default();
    Error::new(&ER_ERROR_ON_WRITE, &[&"the file", &number, error])
}

/// Numbers are written without quotes if those are optional; a BIT is a string here.
fn is_string(ty: &ColumnType) -> bool {
    !ty.is_numeric() || ty.kind == TypeKind::Bit
}
