//! The rows of LOAD XML: elements of one name, whose fields are attributes, elements or `<field name='…'>` inside of them.
//!
//! ```text
//! <list base="B"> <row id="1" name="x"/> <row><id>2</id><field name="name">y</field></row> </list>
//! ```
//! has the rows (1, x, B) and (2, y, B) of `id`, `name` and `base`. A field is looked up by its name, letters as they are written; of several
//! the last one counts. What an element has is forgotten when the next one beside it begins; so the attributes of elements around a row are
//! fields of all rows in them.
//!
//! It reads as MySQL does, which is no parser of XML: of entities it knows five, tags may be closed by any name.
//! One row's fields are held in memory, the file never is.

use vaquita_types::errno::ER_OUT_OF_RESOURCES;
use vaquita_types::limits::LOADED_FIELD_BYTES_MAX;
use vaquita_types::{Error, Result};

use super::reader::FileSource;

/// Bytes that were read are dropped from the buffer when they are this many.
const CONSUMED_BYTES_MAX: usize = 64 << 10;

/// What a value takes beside its bytes, about.
const VALUE_BYTES: usize = 64;

struct Value {
    level: usize,
    name: Vec<u8>,
    text: Vec<u8>,
}

pub struct XmlRows<'a> {
    source: &'a mut dyn FileSource,
    /// The name of the elements that are rows.
    row: Vec<u8>,
    buffer: Vec<u8>,
    at: usize,
    source_ended: bool,
    level: usize,
    /// Those of inner elements come last.
    values: Vec<Value>,
    /// Of `values`, so that they do not become more than a field may have.
    bytes: usize,
    check: &'a dyn Fn() -> Result<()>,
}

/// A tag with its attributes.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    /// `</name>`
    closes: bool,
    /// `<name/>`
    is_empty: bool,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'a> XmlRows<'a> {
    /// `row` is written as `<name>`. `check` says whether to go on.
    pub fn new(source: &'a mut dyn FileSource, row: &[u8], check: &'a dyn Fn() -> Result<()>) -> XmlRows<'a> {
        // MySQL takes away the first and the last byte, whatever they are.
        let row = row.get(1..row.len().max(2) - 1).unwrap_or_default().to_vec();
        let (buffer, values) = (Vec::new(), Vec::new());
        XmlRows { source, row, buffer, at: 0, source_ended: false, level: 0, values, bytes: 0, check }
    }

    /// The field of the row at hand.
    pub fn field(&self, name: &[u8]) -> Option<&[u8]> {
        self.values.iter().rev().find(|value| value.name == name).map(|value| value.text.as_slice())
    }

    /// Goes to the next row; false if there is none.
    pub fn next_row(&mut self) -> Result<bool> {
        while self.skip_to(b"<")? {
            (self.check)()?;
            if self.takes(b"!--")? {
                self.skip_to(b"-->")?;
                continue;
            }
            if matches!(self.peek()?, Some(b'!' | b'?')) {
                self.skip_to(b">")?;
                continue;
            }
            let Some(tag) = self.tag()? else { return Ok(false) };
            if tag.closes {
                self.level = self.level.saturating_sub(1);
                if tag.name == self.row {
                    return Ok(true);
                }
                continue;
            }
            if self.open(tag)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// An element begins; true if it is a row that ends at once.
    fn open(&mut self, tag: Tag) -> Result<bool> {
        let level = self.level + 1;
        self.forget_below(level);
        let mut name = tag.name;
        let is_row = name == self.row;
        let is_field = name == b"field";
        let mut attributes = tag.attributes;
        if let Some(at) = attributes.iter().position(|(attribute, _)| is_field && attribute == b"name") {
            name = attributes.remove(at).1;
        }
        if !tag.is_empty {
            self.level = level;
            let text = self.text()?;
            // The element's text counts more than an attribute that has its name.
            attributes.retain(|(attribute, _)| *attribute != name || text.is_empty());
            self.add(level, name, text)?;
        }
        attributes.into_iter().try_for_each(|(attribute, text)| self.add(level + 1, attribute, text))?;
        Ok(is_row && tag.is_empty)
    }

    /// What stands below the level, too.
    fn forget_below(&mut self, level: usize) {
        while let Some(value) = self.values.pop_if(|value| value.level > level) {
            self.bytes -= value.bytes();
        }
    }

    fn add(&mut self, level: usize, name: Vec<u8>, text: Vec<u8>) -> Result<()> {
        if name.is_empty() || text.is_empty() {
            return Ok(());
        }
        let value = Value { level, name, text };
        self.bytes += value.bytes();
        check_bytes(self.bytes)?;
        self.values.push(value);
        Ok(())
    }

    /// What stands between here and the next tag, without the spaces that it begins with. CDATA is text, comments are none.
    fn text(&mut self) -> Result<Vec<u8>> {
        while self.peek()?.is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
        let mut text = Vec::new();
        loop {
            match self.peek()? {
                None => return Ok(text),
                Some(b'<') => {
                    if !self.takes(b"<![CDATA[")? {
                        return Ok(text);
                    }
                    self.copy_to(b"]]>", &mut text)?;
                }
                Some(b'&') => self.entity(&mut text)?,
                Some(byte) => {
                    self.at += 1;
                    text.push(byte);
                }
            }
            check_bytes(text.len())?;
        }
    }

    fn entity(&mut self, text: &mut Vec<u8>) -> Result<()> {
        const ENTITIES: [(&[u8], u8); 5] =
            [(b"&lt;", b'<'), (b"&gt;", b'>'), (b"&amp;", b'&'), (b"&quot;", b'"'), (b"&apos;", b'\'')];
        for (written, byte) in ENTITIES {
            if self.takes(written)? {
                text.push(byte);
                return Ok(());
            }
        }
        self.at += 1;
        text.push(b'&');
        Ok(())
    }

    /// What follows `<`, up to its `>`; `None` at the end of the file.
    fn tag(&mut self) -> Result<Option<Tag>> {
        let mut tag = Tag { closes: self.takes(b"/")?, ..Tag::default() };
        tag.name = self.word(b">/")?;
        let mut bytes = 0;
        loop {
            match self.peek()? {
                None => return Ok(None),
                Some(b'>') => {
                    self.at += 1;
                    return Ok(Some(tag));
                }
                Some(b'/') => {
                    self.at += 1;
                    tag.is_empty = true;
                }
                Some(b) if b.is_ascii_whitespace() || b == b'=' => self.at += 1,
                Some(_) => {
                    let name = self.word(b"=>/")?;
                    let text = self.attribute_value()?;
                    bytes += name.len() + text.len() + VALUE_BYTES;
                    check_bytes(bytes)?;
                    tag.attributes.push((name, text));
                }
            }
        }
    }

    /// Bytes up to a space or one of `ends`.
    fn word(&mut self, ends: &[u8]) -> Result<Vec<u8>> {
        let mut word = Vec::new();
        while let Some(byte) = self.peek()?.filter(|b| !b.is_ascii_whitespace() && !ends.contains(b)) {
            self.at += 1;
            word.push(byte);
            check_bytes(word.len())?;
        }
        Ok(word)
    }

    fn attribute_value(&mut self) -> Result<Vec<u8>> {
        while self.peek()?.is_some_and(|b| b.is_ascii_whitespace() || b == b'=') {
            self.at += 1;
        }
        let Some(quote @ (b'"' | b'\'')) = self.peek()? else { return Ok(Vec::new()) };
        self.at += 1;
        let mut text = Vec::new();
        loop {
            match self.peek()? {
                None => return Ok(text),
                Some(b'&') => self.entity(&mut text)?,
                Some(byte) => {
                    self.at += 1;
                    if byte == quote {
                        return Ok(text);
                    }
                    text.push(byte);
                }
            }
            check_bytes(text.len())?;
        }
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        if self.at == self.buffer.len() {
            self.want(1)?;
        }
        Ok(self.buffer.get(self.at).copied())
    }

    /// Reads until so many bytes are there, if the file has them.
    fn want(&mut self, bytes: usize) -> Result<()> {
        if self.at >= CONSUMED_BYTES_MAX {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        while !self.source_ended && self.buffer.len() < self.at + bytes {
            (self.check)()?;
            self.source_ended = !self.source.read_more(&mut self.buffer)?;
        }
        Ok(())
    }

    /// Moves behind `sign` if it stands here.
    fn takes(&mut self, sign: &[u8]) -> Result<bool> {
        self.want(sign.len())?;
        let is_it = self.buffer.get(self.at..).is_some_and(|rest| rest.starts_with(sign));
        if is_it {
            self.at += sign.len();
        }
        Ok(is_it)
    }

    /// Moves behind the next `sign`; false if there is none.
    fn skip_to(&mut self, sign: &[u8]) -> Result<bool> {
        while self.peek()?.is_some() {
            if self.takes(sign)? {
                return Ok(true);
            }
            self.at += 1;
        }
        Ok(false)
    }

    fn copy_to(&mut self, sign: &[u8], text: &mut Vec<u8>) -> Result<()> {
        while let Some(byte) = self.peek()? {
            if self.takes(sign)? {
                break;
            }
            self.at += 1;
            text.push(byte);
            check_bytes(text.len())?;
        }
        Ok(())
    }
}

impl Value {
    fn bytes(&self) -> usize {
        self.name.len() + self.text.len() + VALUE_BYTES
    }
}

fn check_bytes(bytes: usize) -> Result<()> {
    if bytes > LOADED_FIELD_BYTES_MAX { Err(Error::new(&ER_OUT_OF_RESOURCES, &[])) } else { Ok(()) }
}
