//! The form in which a channel's configuration and the filters are stored: a list of fields.
//!
//! | OFFSET | SIZE | DESCRIPTION |
//! |---|---|---|
//! | 0 | 1 | version of the format, 1 |
//! | 1 | 1 | tag of a field |
//! | 2 | 4 | length of the field, little-endian |
//! | 6 | n | the field: a text, a number of 8 bytes little-endian, or a list of texts, each behind its length of 4 bytes |
//!
//! One function visits the fields of a structure, and a `Record` either writes them or fills them. A field that is not stored keeps the
//! value that it has, so that older records are read. A tag that is not asked for is damage: a newer version wrote it.

use std::collections::BTreeMap;

const VERSION: u8 = 1;

pub(super) enum Record<'a> {
    Write(Vec<u8>),
    Read(BTreeMap<u8, &'a [u8]>),
}

impl<'a> Record<'a> {
    pub fn write() -> Record<'a> {
        Record::Write(vec![VERSION])
    }

    /// `None`: the bytes are damaged.
    pub fn read(bytes: &'a [u8]) -> Option<Record<'a>> {
        let (version, mut rest) = bytes.split_first()?;
        let mut fields = BTreeMap::new();
        while let Some((tag, tail)) = rest.split_first() {
            let (field, tail) = take(tail)?;
            if fields.insert(*tag, field).is_some() {
                return None;
            }
            rest = tail;
        }
        (*version == VERSION).then_some(Record::Read(fields))
    }

    /// What was written, or nothing. `None` if fields are left that nobody asked for.
    pub fn finish(self) -> Option<Vec<u8>> {
        match self {
            Record::Write(bytes) => Some(bytes),
            Record::Read(fields) => fields.is_empty().then(Vec::new),
        }
    }

    fn put(&mut self, tag: u8, field: &[u8]) {
        if let Record::Write(out) = self {
            out.push(tag);
            append(out, field);
        }
    }

    /// The stored field; `None` while writing, or if it is not there.
    fn stored(&mut self, tag: u8) -> Option<&'a [u8]> {
        match self {
            Record::Write(_) => None,
            Record::Read(fields) => fields.remove(&tag),
        }
    }

    pub fn text(&mut self, tag: u8, text: &mut String) -> Option<()> {
        self.put(tag, text.as_bytes());
        if let Some(stored) = self.stored(tag) {
            *text = String::from_utf8(stored.to_vec()).ok()?;
        }
        Some(())
    }

    pub fn optional_text(&mut self, tag: u8, text: &mut Option<String>) -> Option<()> {
        if let Some(text) = text {
            self.put(tag, text.as_bytes());
        }
        if let Some(stored) = self.stored(tag) {
            *text = Some(String::from_utf8(stored.to_vec()).ok()?);
        }
        Some(())
    }

    pub fn number<N: Copy + TryFrom<u64>>(&mut self, tag: u8, number: &mut N) -> Option<()>
    where
        u64: TryFrom<N>,
    {
        self.put(tag, &u64::try_from(*number).ok()?.to_le_bytes());
        if let Some(stored) = self.stored(tag) {
            *number = N::try_from(u64::from_le_bytes(stored.try_into().ok()?)).ok()?;
        }
        Some(())
    }

    pub fn flag(&mut self, tag: u8, flag: &mut bool) -> Option<()> {
        let mut number = u8::from(*flag);
        self.number(tag, &mut number)?;
        *flag = number == 1;
        (number <= 1).then_some(())
    }

    pub fn texts(&mut self, tag: u8, texts: &mut Vec<String>) -> Option<()> {
        let mut field = Vec::new();
        texts.iter().for_each(|text| append(&mut field, text.as_bytes()));
        self.put(tag, &field);
        if let Some(mut rest) = self.stored(tag) {
            texts.clear();
            while !rest.is_empty() {
                let (text, tail) = take(rest)?;
                texts.push(String::from_utf8(text.to_vec()).ok()?);
                rest = tail;
            }
        }
        Some(())
    }
}

fn append(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&(part.len() as u32).to_le_bytes());
    out.extend_from_slice(part);
}

/// A part with its length in front, and what is behind it.
fn take(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*len) as usize)
}
