//! Cuts the bytes of a file into the fields of its rows.
//!
//! `field` gives the next field of the row and `next_line` goes to the next row, past whatever of this one was not
//! read. A quote opens a field only at its beginning and closes it only before an end; doubled it is itself. Example, with
//! `FIELDS TERMINATED BY ',' ENCLOSED BY '"'`:
//! ```text
//! "a""b",c\,d,\N        ->  a"b    c,d    NULL
//! ```
//! A field is held in memory as a whole, the file never is.

use vaquita_types::charset::{self, Charset, CollationId};
use vaquita_types::errno::ER_OUT_OF_RESOURCES;
use vaquita_types::limits::LOADED_FIELD_BYTES_MAX;
use vaquita_types::{Error, Result};

use super::FileFormat;

/// Bytes that were read are dropped from the buffer when they are this many.
const CONSUMED_BYTES_MAX: usize = 64 << 10;

/// Where the bytes of a file come from.
pub trait FileSource {
    /// Appends what comes next; false at the end, where nothing is appended.
    fn read_more(&mut self, out: &mut Vec<u8>) -> Result<bool>;
}

/// A source in another charset, as utf8mb4: where a byte of a character may look like a separator, bytes cannot be compared.
pub struct Transcoded<'a> {
    pub source: &'a mut dyn FileSource,
    pub from: &'static Charset,
    /// The beginning of a character.
    pub cut: Vec<u8>,
}

impl FileSource for Transcoded<'_> {
    fn read_more(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        let more = self.source.read_more(&mut self.cut)?;
        let whole = if more { self.from.prefix_in_bytes(&self.cut, self.cut.len()).len() } else { self.cut.len() };
        let text = self.from.convert(charset::charset(CollationId::UTF8MB4_BIN), self.cut.get(..whole).unwrap_or_default());
        out.extend_from_slice(&text.bytes);
        self.cut.drain(..whole);
        Ok(more)
    }
}

/// A field of a row.
#[derive(Debug, PartialEq, Eq)]
pub enum Field<'b> {
    Null,
    Text(&'b [u8]),
}

pub struct Reader<'a> {
    source: &'a mut dyn FileSource,
    format: &'a FileFormat,
    /// Empty if a line ends like a field: then rows end with their last field.
    line_end: &'a [u8],
    buffer: Vec<u8>,
    at: usize,
    source_ended: bool,
    /// The row has no more fields.
    line_ended: bool,
    at_line_start: bool,
    ended: bool,
    field: Vec<u8>,
    /// Bytes that mean something: the others are copied in runs.
    special: [bool; 256],
    /// The same, if they are at most three.
    special_few: Option<[u8; 3]>,
}

impl<'a> Reader<'a> {
    pub fn new(source: &'a mut dyn FileSource, format: &'a FileFormat) -> Reader<'a> {
        let line_end: &[u8] = if format.line_end == format.field_end { &[] } else { &format.line_end };
        let mut special = [false; 256];
        let firsts = [format.field_end.first(), line_end.first(), format.escape.as_ref(), format.enclosed.as_ref()];
        for byte in firsts.into_iter().flatten() {
            special[usize::from(*byte)] = true;
        }
        let mut found = (0..=u8::MAX).filter(|byte| special[usize::from(*byte)]);
        let special_few = found.next().and_then(|first| {
            let few = [first, found.next().unwrap_or(first), found.next().unwrap_or(first)];
            found.next().is_none().then_some(few)
        });
        Reader {
            source,
            format,
            line_end,
            buffer: Vec::new(),
            at: 0,
            source_ended: false,
            line_ended: false,
            at_line_start: true,
            ended: false,
            field: Vec::new(),
            special,
            special_few,
        }
    }

    /// What was taken from the source and is not read.
    pub fn into_rest(mut self) -> Vec<u8> {
        self.buffer.drain(..self.at);
        self.buffer
    }

    /// The unread bytes, at least `count` if the file has as many.
    fn ahead(&mut self, count: usize) -> Result<&[u8]> {
        while self.buffer.len() - self.at < count && !self.source_ended {
            if self.at >= CONSUMED_BYTES_MAX {
                self.buffer.drain(..self.at);
                self.at = 0;
            }
            self.source_ended = !self.source.read_more(&mut self.buffer)?;
        }
        Ok(self.buffer.get(self.at..).unwrap_or_default())
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        Ok(self.ahead(1)?.first().copied())
    }

    fn take(&mut self) -> Result<Option<u8>> {
        let byte = self.peek()?;
        self.at += usize::from(byte.is_some());
        Ok(byte)
    }

    /// Takes `mark` if it comes next.
    fn eat(&mut self, mark: &[u8]) -> Result<bool> {
        let found = !mark.is_empty() && self.ahead(mark.len())?.starts_with(mark);
        self.at += if found { mark.len() } else { 0 };
        Ok(found)
    }

    fn end_file(&mut self) {
        self.line_ended = true;
        self.ended = true;
    }

    /// Goes behind the next LINES STARTING BY, if lines have one; false if the file ends before.
    fn start_line(&mut self) -> Result<bool> {
        if !std::mem::take(&mut self.at_line_start) || self.format.line_start.is_empty() {
            return Ok(true);
        }
        let format = self.format;
        while !self.eat(&format.line_start)? {
            if self.take()?.is_none() {
                self.end_file();
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next field of the row; `None` when the row or the file has no more.
    pub fn field(&mut self) -> Result<Option<Field<'_>>> {
        if self.line_ended || !self.start_line()? {
            return Ok(None);
        }
        let Some(first) = self.peek()? else {
            self.end_file();
            return Ok(None);
        };
        self.field.clear();
        let quote = self.format.enclosed.filter(|quote| *quote == first);
        let mut null = false;
        let enclosed = match quote {
            Some(quote) => {
                self.at += 1;
                self.quoted(quote, &mut null)?
            }
            None => {
                self.unquoted(&mut null)?;
                false
            }
        };
        let word = !enclosed && self.format.enclosed.is_some() && self.field == b"NULL";
        if word || null && self.field.len() == 1 { Ok(Some(Field::Null)) } else { Ok(Some(Field::Text(&self.field))) }
    }

    fn unquoted(&mut self, null: &mut bool) -> Result<()> {
        let format = self.format;
        loop {
            let Some(byte) = self.ordinary()? else {
                self.end_file();
                return Ok(());
            };
            if Some(byte) == format.escape {
                if self.escaped(null)? {
                    return Ok(());
                }
            } else if self.line_end.first() == Some(&byte) && self.eat(self.line_end)? {
                self.line_ended = true;
                return Ok(());
            } else if format.field_end.first() == Some(&byte) && self.eat(&format.field_end)? {
                return Ok(());
            } else {
                self.at += 1;
                self.field.push(byte);
            }
        }
    }

    /// Behind an opening quote; false if the file ends before the closing one, which makes the opening one a part of the field.
    fn quoted(&mut self, quote: u8, null: &mut bool) -> Result<bool> {
        let format = self.format;
        loop {
            let Some(byte) = self.ordinary()? else {
                self.end_file();
                self.field.insert(0, quote);
                return Ok(false);
            };
            if Some(byte) == format.escape && byte != quote {
                if self.escaped(null)? {
                    self.field.insert(0, quote);
                    return Ok(false);
                }
                continue;
            }
            self.at += 1;
            if byte != quote {
                self.field.push(byte);
                continue;
            }
            if self.eat(&[quote])? {
                self.field.push(quote);
            } else if self.eat(self.line_end)? {
                self.line_ended = true;
                return Ok(true);
            } else if self.peek()?.is_none() {
                self.end_file();
                return Ok(true);
            } else if self.eat(&format.field_end)? {
                return Ok(true);
            } else {
                self.field.push(quote);
            }
        }
    }

    /// Copies bytes that mean nothing; the next one, not taken, or `None` at the end of the file.
    fn ordinary(&mut self) -> Result<Option<u8>> {
        loop {
            self.ahead(1)?;
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            let Some(first) = rest.first() else { return Ok(None) };
            if self.special[usize::from(*first)] {
                return Ok(Some(*first));
            }
            let next = match self.special_few {
                Some([a, b, c]) => memchr::memchr3(a, b, c, rest),
                None => rest.iter().position(|byte| self.special[usize::from(*byte)]),
            };
            let run = next.unwrap_or(rest.len());
            if self.field.len() + run > LOADED_FIELD_BYTES_MAX {
                return Err(Error::new(&ER_OUT_OF_RESOURCES, &[]));
            }
            self.field.extend_from_slice(&rest[..run]);
            self.at += run;
        }
    }

    /// An escape and what follows it; true if the file ends here.
    fn escaped(&mut self, null: &mut bool) -> Result<bool> {
        let Some(escape) = self.take()? else { return Ok(true) };
        let Some(byte) = self.take()? else {
            self.field.push(escape);
            self.end_file();
            return Ok(true);
        };
        // An escape that is the quote escapes itself only.
        if self.format.enclosed == Some(escape) && byte != escape {
            self.at -= 1;
            self.field.push(escape);
            return Ok(false);
        }
        *null |= byte == b'N';
        self.field.push(unescaped(byte));
        Ok(false)
    }

    /// The next row of `width` bytes; `None` at the end of the file.
    pub fn fixed_row(&mut self, width: usize) -> Result<Option<&[u8]>> {
        if self.line_ended || !self.start_line()? {
            return Ok(None);
        }
        self.field.clear();
        while self.field.len() < width {
            if self.eat(self.line_end)? {
                self.line_ended = true;
                return Ok(Some(&self.field));
            }
            let Some(byte) = self.peek()? else {
                self.end_file();
                return Ok(if self.field.is_empty() { None } else { Some(&self.field) });
            };
            if Some(byte) == self.format.escape {
                let mut null = false;
                if self.escaped(&mut null)? {
                    return Ok(Some(&self.field));
                }
            } else {
                self.at += 1;
                self.field.push(byte);
            }
        }
        Ok(Some(&self.field))
    }

    /// Goes to the next row.
    pub fn next_line(&mut self) -> Result<LineEnd> {
        self.at_line_start = true;
        if std::mem::take(&mut self.line_ended) || self.ended {
            return Ok(LineEnd { more: !self.ended, cut: false });
        }
        let mut cut = false;
        if self.line_end.is_empty() {
            return Ok(LineEnd { more: true, cut });
        }
        loop {
            if self.eat(self.line_end)? {
                return Ok(LineEnd { more: true, cut });
            }
            let Some(byte) = self.take()? else {
                self.ended = true;
                return Ok(LineEnd { more: false, cut });
            };
            cut = true;
            if Some(byte) == self.format.escape {
                self.take()?;
            }
        }
    }
}

/// How a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEnd {
    /// Another row may follow.
    pub more: bool,
    /// The row had more than was read of it.
    pub cut: bool,
}

pub(super) fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'0' => 0,
        b'Z' => 26,
        other => other,
    }
}
