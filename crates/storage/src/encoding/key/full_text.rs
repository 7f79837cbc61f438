//! The entries of FULLTEXT indexes: one for each word that a row has, with how often it is there.
//!
//! | key                                                             | value                                               |
//! |-----------------------------------------------------------------|-----------------------------------------------------|
//! | index id, the word as a part of its collation, the clustered key | a varint: how often; then, under a collation of several levels, the word |
//!
//! Words that are equal under the collation are one. Example: `FULLTEXT (a)`, index id 5, of (7, 'a dog, a DOG') has the entry
//! `00000005 <dog> 80000007` with the value `02`. A row has no entry for words that are no `Word::is_significant`.

use vaquita_types::charset::{CollationId, TextParser, charset, collation};
use vaquita_types::schema::{IndexKind, TableDef};
use vaquita_types::{Error, Result, Value, memory};

use super::part::{Part, PartForm};
use super::{Entry, IndexCodec, successor};
use crate::encoding::catalog::primitives::{Reader, Writer};
use crate::encoding::collate;
use crate::encoding::ids::INDEX_ID_BYTES;
use crate::encoding::range::KeyRange;

/// Of no column of a row: the word.
pub(super) const WORD: usize = usize::MAX;

/// What a FULLTEXT index is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct FullText {
    /// Positions of the columns.
    columns: Vec<usize>,
    pub collation: CollationId,
    pub parser: TextParser,
    /// Values have the word, because keys do not begin as those of longer words.
    keeps_word: bool,
}

/// The words of a row in their order, one after the other in one piece of memory.
#[derive(Default)]
pub struct WordList {
    bytes: Vec<u8>,
    /// Where a key begins, where it ends, and where its word does; the next one begins there.
    words: Vec<(usize, usize, usize)>,
}

impl FullText {
    pub(super) fn new(def: &TableDef, index: usize) -> Result<Option<FullText>> {
        let Some(index) = def.indexes.get(index).filter(|index| index.kind == IndexKind::FullText) else { return Ok(None) };
        let parser = index.parser;
        let damaged = || Error::internal(format_args!("definition of table {}.{} is inconsistent", def.database, def.name));
        let columns =
            index.parts.iter().map(|part| def.position_of(part.column)).collect::<Option<Vec<_>>>().ok_or_else(damaged)?;
        let first = columns.first().and_then(|at| def.columns.get(*at)).ok_or_else(damaged)?;
        let collation_id = first.ty.collation;
        let keeps_word = !collation(collation_id).has_one_level();
        Ok(Some(FullText { columns, collation: collation_id, parser, keeps_word }))
    }

    /// The part that holds the word.
    pub(super) fn part(&self) -> Part {
        let form = if collate::is_raw(self.collation) { PartForm::Raw } else { PartForm::Collated(self.collation) };
        Part::word(WORD, form, self.collation)
    }

    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn same_texts(&self, a: &[Value], b: &[Value]) -> bool {
        self.columns.iter().all(|at| a.get(*at) == b.get(*at))
    }

    /// All words of a row's columns that an index has, with repetitions, ascending.
    fn words(&self, row: &[Value], part: &Part) -> Result<WordList> {
        let (charset, collation) = (charset(self.collation), collation(self.collation));
        let mut list = WordList::default();
        let texts = || {
            self.columns.iter().filter_map(|at| match row.get(*at) {
                Some(Value::Bytes(text)) => Some(text),
                _ => None,
            })
        };
        // A word of three letters takes as many bytes, some more for its end, and its place. Each letter may begin a token of the parser
        // ngram.
        let bytes: usize = texts().map(|text| text.len()).sum();
        let times = if self.parser == TextParser::Ngram { 32 } else { 4 };
        memory::ask(bytes.saturating_mul(times))?;
        for text in texts() {
            for word in self.parser.tokens(charset, text).filter(|word| self.parser.keeps(word)) {
                let word = collation.folded_word(word.bytes);
                let start = list.bytes.len();
                part.encode(&Value::bytes(&word), &mut list.bytes)?;
                let end = list.bytes.len();
                if self.keeps_word {
                    list.bytes.extend_from_slice(&word);
                }
                list.words.push((start, end, list.bytes.len()));
            }
        }
        let bytes = &list.bytes;
        list.words.sort_by(|a, b| bytes[a.0..a.1].cmp(&bytes[b.0..b.1]));
        Ok(list)
    }
}

impl WordList {
    /// Each different word once: its key, its text if that is kept, and how often it is there.
    fn each(&self) -> impl Iterator<Item = (&[u8], &[u8], u64)> {
        self.words.chunk_by(|a, b| self.bytes[a.0..a.1] == self.bytes[b.0..b.1]).filter_map(|same| {
            let (start, end, word_end) = *same.first()?;
            Some((self.bytes.get(start..end)?, self.bytes.get(end..word_end)?, same.len() as u64))
        })
    }
}

impl IndexCodec {
    /// A row may have any number of entries.
    #[inline]
    pub fn has_many_entries(&self) -> bool {
        self.kind == IndexKind::FullText || self.is_multi_valued()
    }

    pub fn full_text(&self) -> Option<&FullText> {
        self.full_text.as_deref()
    }

    /// Calls `f` with the key and the value of each entry of a row, and whether the key alone is unique.
    pub fn each_entry(
        &self,
        row: &[Value],
        row_id: u64,
        (key, value): (&mut Vec<u8>, &mut Vec<u8>),
        mut f: impl FnMut(&mut Vec<u8>, &mut Vec<u8>, bool) -> Result<()>,
    ) -> Result<()> {
        if self.is_multi_valued() {
            return self.element_entries(row, row_id)?.iter_mut().try_for_each(|e| f(&mut e.key, &mut e.value, e.unique));
        }
        let Some(full_text) = self.full_text() else {
            let unique = self.encode_entry(row, row_id, key, value)?;
            return f(key, value, unique);
        };
        let Some(part) = self.parts.first() else { return Err(self.damaged(&[])) };
        let words = full_text.words(row, part)?;
        let mut rest = Vec::new();
        self.encode_rest(row, row_id, &mut rest)?;
        for (word, text, count) in words.each() {
            self.word_entry(word, text, count, &rest, key, value);
            f(key, value, false)?;
        }
        Ok(())
    }

    /// As `each_entry` for what an update changes: `f` gets a key with the value that it has now, or none if it goes. The clustered key
    /// stays.
    pub fn each_changed_entry(
        &self,
        (old, new): (&[Value], &[Value]),
        row_id: u64,
        (key, value): (&mut Vec<u8>, &mut Vec<u8>),
        mut f: impl FnMut(&[u8], Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        let (Some(full_text), Some(part)) = (self.full_text(), self.parts.first()) else { return Err(self.damaged(&[])) };
        if full_text.same_texts(old, new) {
            return Ok(());
        }
        let (before, after) = (full_text.words(old, part)?, full_text.words(new, part)?);
        let mut rest = Vec::new();
        self.encode_rest(new, row_id, &mut rest)?;
        let (mut before, mut after) = (before.each().peekable(), after.each().peekable());
        loop {
            let order = match (before.peek(), after.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(before), Some(after)) => before.0.cmp(after.0),
            };
            let gone = if order.is_le() { before.next() } else { None };
            let come = if order.is_ge() { after.next() } else { None };
            match (gone, come) {
                (Some(gone), Some(come)) if gone == come => {}
                (_, Some((word, text, count))) => {
                    self.word_entry(word, text, count, &rest, key, value);
                    f(key, Some(value))?;
                }
                (Some((word, text, count)), None) => {
                    self.word_entry(word, text, count, &rest, key, value);
                    f(key, None)?;
                }
                (None, None) => return Ok(()),
            }
        }
    }

    fn word_entry(&self, word: &[u8], text: &[u8], count: u64, rest: &[u8], key: &mut Vec<u8>, value: &mut Vec<u8>) {
        self.start(key);
        key.extend_from_slice(word);
        key.extend_from_slice(rest);
        value.clear();
        let mut w = Writer { bytes: std::mem::take(value) };
        w.int(count);
        *value = w.bytes;
        value.extend_from_slice(text);
    }

    /// The entries of a word, in the order of their rows.
    pub fn word_range(&self, word: &[u8]) -> Result<KeyRange> {
        let mut lower = Vec::new();
        self.start(&mut lower);
        self.word_part()?.encode(&Value::bytes(word), &mut lower)?;
        let mut upper = lower.clone();
        successor(&mut upper);
        Ok(KeyRange { lower, upper })
    }

    /// The entries of all words that begin so, and perhaps of others (`begins_with`).
    pub fn word_prefix_range(&self, prefix: &[u8]) -> Result<KeyRange> {
        // Keys may have something at their end, which the key of a longer word has not there: what two such have in common is the beginning
        // of all. Digits join no other character to a weight of both.
        let Some(full_text) = self.full_text() else { return Err(self.damaged(&[])) };
        let longer = |digit: u32| -> Result<Vec<u8>> {
            let mut text = prefix.to_vec();
            charset(full_text.collation).encode(digit, &mut text);
            let mut key = Vec::new();
            self.word_part()?.encode(&Value::bytes(&text), &mut key)?;
            Ok(key)
        };
        let (zero, nine) = (longer(u32::from(b'0'))?, longer(u32::from(b'9'))?);
        let common = zero.iter().zip(&nine).take_while(|(a, b)| a == b).count();
        let mut lower = Vec::new();
        self.start(&mut lower);
        lower.extend_from_slice(&zero[..common]);
        let mut upper = lower.clone();
        successor(&mut upper);
        Ok(KeyRange { lower, upper })
    }

    /// Whether an entry of `word_prefix_range` is of a word that begins so.
    pub fn begins_with(&self, entry: Entry<'_>, prefix: &[u8]) -> Result<bool> {
        let Some(full_text) = self.full_text().filter(|full_text| full_text.keeps_word) else { return Ok(true) };
        let mut r = Reader { rest: entry.value };
        r.int().ok_or_else(|| self.damaged(entry.key))?;
        Ok(collation(full_text.collation).starts_with(r.rest, prefix))
    }

    /// How often the word is in the row.
    pub fn occurrences(&self, entry: Entry<'_>) -> Result<u64> {
        let mut r = Reader { rest: entry.value };
        r.int().ok_or_else(|| self.damaged(entry.key))
    }

    /// The bytes of an entry's key up to the end of the word: the same for all entries of a word.
    pub fn word_key<'k>(&self, entry: Entry<'k>) -> Result<&'k [u8]> {
        let word = self.part_bytes(0, entry).map(<[u8]>::len);
        word.and_then(|len| entry.key.get(..INDEX_ID_BYTES + len)).ok_or_else(|| self.damaged(entry.key))
    }

    fn word_part(&self) -> Result<&Part> {
        self.parts.first().filter(|part| part.position == WORD).ok_or_else(|| self.damaged(&[]))
    }

    /// The value of an entry is well formed.
    pub(super) fn is_count(&self, value: &[u8]) -> bool {
        let mut r = Reader { rest: value };
        let keeps_word = self.full_text().is_some_and(|full_text| full_text.keeps_word);
        r.int().is_some_and(|count| count > 0) && (keeps_word || r.rest.is_empty())
    }
}
