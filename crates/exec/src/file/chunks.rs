//! LOAD DATA in chunks of whole lines, which other threads convert while this one reads, locks and writes.
//!
//! 1. The statement's thread reads the source and cuts it behind the last line that is whole: what stands before a line's end is no
//!    escape, or an even number of them.
//! 2. Whoever is free (a helper, or the statement's thread if it has nothing better to do) makes a block of the chunk's rows (`dml::blocks`).
//! 3. The statement's thread writes the blocks in the order of the file.
//!
//! A line that is not plain stops its chunk: the thread of the statement inserts it as it would without chunks, and goes on behind it. So
//! row numbers, warnings and errors are the same. Formats with quotes, or with separators longer than a byte, have no chunks; a file whose
//! blocks are short gives them up.
//!
//! Example: of `1\ta\n2\tb\\\nc\n3` the first two lines are a chunk, `3`, which has no end, is read as the last row.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::{Condvar, Mutex};
use vaquita_plan::node::LoadTarget;
use vaquita_storage::helpers::Helpers;
use vaquita_types::{ColumnType, Result, Value, memory};

use super::FileFormat;
use super::load::Load;
use super::reader::{FileSource, Reader, unescaped};
use crate::dml::blocks::{Added, Block, PlainRows, Turnout};

/// Bytes of a chunk: a few milliseconds of work, so that KILL acts at once and the threads end together.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks on their way: a helper that waits for its core keeps the statement waiting only after so many.
const AHEAD: u64 = 16;
const CHUNK_BYTES_MIN: usize = 64 << 10;
/// Parts of the free memory that a chunk may be, with what is made of it.
const PARTS_OF_ROOM: usize = 4 * AHEAD as usize;
/// A longer line is not looked for the end of.
const LINE_BYTES_MAX: usize = 8 << 20;
/// Threads beside the statement's: it writes rows about three times as fast as a thread converts them.
const HELPERS_MAX: usize = 3;

/// What sets apart fields and lines, each one byte.
#[derive(Clone, Copy)]
pub(super) struct Separators {
    field_end: u8,
    line_end: u8,
    escape: Option<u8>,
}

impl Separators {
    /// `None`: where a line ends cannot be told without reading all before it.
    pub fn of(format: &FileFormat) -> Option<Separators> {
        let ([field_end], [line_end]) = (format.field_end.as_slice(), format.line_end.as_slice()) else { return None };
        let escape = format.escape;
        let is_plain = format.enclosed.is_none() && format.line_start.is_empty() && field_end != line_end;
        let differs = escape != Some(*field_end) && escape != Some(*line_end);
        (is_plain && differs).then_some(Separators { field_end: *field_end, line_end: *line_end, escape })
    }

    /// Where the last line that is whole ends. The bytes begin with a line.
    fn end_of_lines(&self, bytes: &[u8]) -> Option<usize> {
        let mut rest = bytes;
        while let Some(at) = memchr::memrchr(self.line_end, rest) {
            let escapes = rest[..at].iter().rev().take_while(|byte| Some(**byte) == self.escape).count();
            if escapes.is_multiple_of(2) {
                return Some(at + 1);
            }
            rest = &rest[..at];
        }
        None
    }

    /// Where the first line ends.
    fn end_of_line(&self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(self.line_end, self.any_escape(), rest)) {
            at += found + 1;
            if bytes[at - 1] == self.line_end {
                return at;
            }
            at += 1;
        }
        bytes.len()
    }

    /// The escape, or else a byte that means something anyway.
    fn any_escape(&self) -> u8 {
        self.escape.unwrap_or(self.line_end)
    }

    /// Where the field at the beginning ends; `None` as a text is NULL. What has escapes is put into `buffer`.
    fn field<'b>(&self, bytes: &'b [u8], buffer: &'b mut Vec<u8>) -> Option<(Option<&'b [u8]>, usize)> {
        let special = |rest| memchr::memchr3(self.field_end, self.line_end, self.any_escape(), rest);
        let first = special(bytes)?;
        if Some(bytes[first]) != self.escape {
            return Some((Some(&bytes[..first]), first));
        }
        let (mut at, mut start, mut null) = (first, 0, false);
        buffer.clear();
        while Some(bytes[at]) == self.escape {
            buffer.extend_from_slice(&bytes[start..at]);
            let escaped = *bytes.get(at + 1)?;
            null |= escaped == b'N';
            buffer.push(unescaped(escaped));
            start = at + 2;
            at = start + special(bytes.get(start..)?)?;
        }
        buffer.extend_from_slice(&bytes[start..at]);
        Some(((!null || buffer.len() != 1).then_some(buffer.as_slice()), at))
    }
}

/// Whole lines, and what was made of them.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// Behind the lines that are in the block.
    at: usize,
    block: Block,
    /// The line there has to be inserted by itself.
    is_stopped: bool,
}

/// Makes blocks of lines.
struct Converter<'a> {
    plain: PlainRows<'a>,
    separators: Separators,
    /// The columns that the fields of a line fill.
    columns: Vec<usize>,
    text: &'a ColumnType,
}

impl Converter<'_> {
    /// Makes a block of the lines from where the chunk stands, as far as they are plain and their keys ascend.
    fn convert(&self, chunk: &mut Chunk) {
        let (mut row, mut buffer) = (Vec::new(), Vec::new());
        chunk.is_stopped = false;
        while let Some(rest) = chunk.bytes.get(chunk.at..).filter(|rest| !rest.is_empty()) {
            let Some(line_bytes) = self.line(rest, &mut row, &mut buffer) else {
                chunk.is_stopped = true;
                return;
            };
            match self.plain.add(&mut row, &mut chunk.block) {
                Added::Done => chunk.at += line_bytes,
                Added::NotAscending => return,
                Added::NotPlain => {
                    chunk.is_stopped = true;
                    return;
                }
            }
        }
    }

    /// Fills the row with the fields of the first line, and gives the bytes of it; `None`: that is not plain.
    fn line(&self, bytes: &[u8], row: &mut Vec<Value>, buffer: &mut Vec<u8>) -> Option<usize> {
        self.plain.start(row);
        let (mut at, last) = (0, self.columns.len() - 1);
        for (n, &column) in self.columns.iter().enumerate() {
            let (field, end) = self.separators.field(bytes.get(at..)?, buffer)?;
            at += end + 1;
            if (bytes[at - 1] == self.separators.line_end) != (n == last) {
                return None;
            }
            let value = match field {
                None => self.plain.value(Value::Null, self.text, column)?,
                Some(field) => self.plain.text(field, self.text, column)?,
            };
            row[column] = value;
        }
        Some(at)
    }
}

/// Chunks on their way, by their number in the file.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(u64, Chunk)>,
    done: BTreeMap<u64, Chunk>,
    has_ended: bool,
}

impl Queue {
    fn push(&self, number: u64, chunk: Chunk) {
        self.state.lock().waiting.push_back((number, chunk));
        self.changed.notify_one();
    }

    /// No more chunks come.
    fn end(&self) {
        self.state.lock().has_ended = true;
        self.changed.notify_all();
    }

    /// What a helper does.
    fn help(&self, converter: &Converter<'_>) {
        let mut state = self.state.lock();
        while !state.has_ended {
            let Some((number, mut chunk)) = state.waiting.pop_front() else {
                self.changed.wait(&mut state);
                continue;
            };
            drop(state);
            converter.convert(&mut chunk);
            state = self.state.lock();
            state.done.insert(number, chunk);
            self.changed.notify_all();
        }
    }

    /// The chunk of this number, if it is converted.
    fn done(&self, number: u64) -> Option<Chunk> {
        self.state.lock().done.remove(&number)
    }

    /// Converts a chunk, or waits for one that others convert.
    fn convert_or_wait(&self, number: u64, converter: &Converter<'_>) {
        let mut state = self.state.lock();
        if let Some((number, mut chunk)) = state.waiting.pop_front() {
            drop(state);
            converter.convert(&mut chunk);
            self.state.lock().done.insert(number, chunk);
        } else if !state.done.contains_key(&number) {
            self.changed.wait(&mut state);
        }
    }

    /// The chunk of this number, converted or not.
    fn take_back(&self, number: u64) -> Chunk {
        let mut state = self.state.lock();
        loop {
            if let Some(at) = state.waiting.iter().position(|(waiting, _)| *waiting == number)
                && let Some((_, chunk)) = state.waiting.remove(at)
            {
                return chunk;
            }
            match state.done.remove(&number) {
                Some(chunk) => return chunk,
                None => self.changed.wait(&mut state),
            }
        }
    }
}

/// Cuts a source into chunks.
struct Cutter<'s> {
    source: &'s mut dyn FileSource,
    separators: Separators,
    chunk_bytes: usize,
    /// Read, and in no chunk.
    bytes: Vec<u8>,
    has_ended: bool,
}

impl Cutter<'_> {
    /// Exchanges `lines`, which is empty, for the next whole lines; false: there are no more, or none that can be cut.
    fn next(&mut self, lines: &mut Vec<u8>) -> Result<bool> {
        while self.bytes.len() < LINE_BYTES_MAX {
            if self.has_ended || self.bytes.len() >= self.chunk_bytes {
                if let Some(end) = self.separators.end_of_lines(&self.bytes) {
                    lines.extend_from_slice(&self.bytes[end..]);
                    self.bytes.truncate(end);
                    std::mem::swap(lines, &mut self.bytes);
                    return Ok(true);
                }
                if self.has_ended {
                    break;
                }
            }
            self.has_ended = !self.source.read_more(&mut self.bytes)?;
        }
        self.has_ended = true;
        Ok(false)
    }
}

/// Bytes that were read, before what is not read yet.
struct Rest<'s> {
    bytes: Vec<u8>,
    /// `None`: nothing follows.
    source: Option<&'s mut dyn FileSource>,
}

impl FileSource for Rest<'_> {
    fn read_more(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        if !self.bytes.is_empty() {
            out.append(&mut self.bytes);
            return Ok(true);
        }
        self.source.as_mut().map_or(Ok(false), |source| source.read_more(out))
    }
}

impl Load<'_> {
    /// Loads the lines of a source in chunks, if it can.
    pub(super) fn in_chunks(&mut self, source: &mut dyn FileSource, format: &FileFormat) -> Result<()> {
        let columns: Option<Vec<usize>> = self
            .plan
            .targets
            .iter()
            .map(|target| match target {
                LoadTarget::Column(column) => Some(*column),
                LoadTarget::Generated(_) | LoadTarget::UserVar(_) => None,
            })
            .collect();
        let columns = columns.filter(|columns| self.plan.set.is_empty() && !columns.is_empty());
        let mut reader = Reader::new(source, format);
        let more = self.pass_lines(&mut reader)?;
        let (Some(columns), Some(separators), Some(plain)) = (columns, Separators::of(format), PlainRows::of(&self.insert))
        else {
            return if more { self.lines(reader, format.is_fixed_size()) } else { Ok(()) };
        };
        let bytes = reader.into_rest();
        if !more {
            return Ok(());
        }
        let text = self.text.clone();
        let converter = Converter { plain, separators, columns, text: &text };
        let chunk_bytes = (memory::room() / PARTS_OF_ROOM).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES);
        let mut cutter = Cutter { source, separators, chunk_bytes, bytes, has_ended: false };
        let (queue, helpers) = (Queue::default(), Helpers::take(HELPERS_MAX));
        let ahead = if helpers.is_none() { 1 } else { AHEAD };
        let rest = helpers.run_beside(
            "load",
            || queue.help(&converter),
            || {
                let rest = self.write_chunks(&mut cutter, &queue, &converter, ahead, format);
                queue.end();
                rest
            },
        )?;
        let mut source = Rest { bytes: rest, source: Some(cutter.source) };
        self.lines(Reader::new(&mut source, format), false)
    }

    /// Returns what was read and has to be inserted row by row.
    fn write_chunks(
        &mut self,
        cutter: &mut Cutter<'_>,
        queue: &Queue,
        converter: &Converter<'_>,
        ahead: u64,
        format: &FileFormat,
    ) -> Result<Vec<u8>> {
        let (mut written, mut read, mut turnout) = (0, 0, Turnout::default());
        // Their memory is at hand.
        let mut spare: Vec<Chunk> = Vec::new();
        loop {
            self.statement.interrupt.check()?;
            if read - written < ahead && !cutter.has_ended {
                let mut chunk = spare.pop().unwrap_or_default();
                if cutter.next(&mut chunk.bytes)? {
                    queue.push(read, chunk);
                    read += 1;
                }
            }
            if read == written {
                return Ok(std::mem::take(&mut cutter.bytes));
            }
            let Some(mut chunk) = queue.done(written) else {
                // Reading comes first: then others have something to do.
                if read - written == ahead || cutter.has_ended {
                    queue.convert_or_wait(written, converter);
                }
                continue;
            };
            written += 1;
            self.write_chunk(&mut chunk, converter, &mut turnout, format)?;
            if turnout.is_bad() {
                let mut rest = chunk.bytes.split_off(chunk.at);
                (written..read).for_each(|number| rest.append(&mut queue.take_back(number).bytes));
                rest.append(&mut cutter.bytes);
                return Ok(rest);
            }
            chunk.bytes.clear();
            chunk.at = 0;
            spare.push(chunk);
        }
    }

    fn write_chunk(
        &mut self,
        chunk: &mut Chunk,
        converter: &Converter<'_>,
        turnout: &mut Turnout,
        format: &FileFormat,
    ) -> Result<()> {
        loop {
            turnout.note(&chunk.block);
            self.insert.write_block(&mut chunk.block)?;
            if chunk.at >= chunk.bytes.len() || turnout.is_bad() {
                return Ok(());
            }
            if chunk.is_stopped {
                let rest = &chunk.bytes[chunk.at..];
                let line = &rest[..converter.separators.end_of_line(rest)];
                chunk.at += line.len();
                self.lines(Reader::new(&mut Rest { bytes: line.to_vec(), source: None }, format), false)?;
            }
            converter.convert(chunk);
        }
    }
}
