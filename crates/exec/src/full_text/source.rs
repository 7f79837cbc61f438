//! Where a search looks words up: an index as the statement sees it, or the words of one row.

use std::cell::RefCell;
use std::collections::HashMap;

use vaquita_storage::{Direction, Entry, IndexCodec, ScanOptions, Table, Version};
use vaquita_types::{Error, Result, Value};

use crate::context::Execution;

/// A row, as numbers of a search go.
pub type Row = u32;

pub trait Source {
    /// Rows of the table.
    fn rows(&self) -> Result<u64>;
    /// What words that are equal have in common.
    fn word_key(&self, word: &[u8]) -> Result<Vec<u8>>;
    /// Calls `f` with each row that has the word, or a word that begins so, and how often it has it; words in their order.
    fn each(&self, word: &[u8], is_prefix: bool, f: &mut dyn FnMut(Row, u64) -> Result<()>) -> Result<()>;
    /// The row's columns that the index is of.
    fn texts(&self, row: Row) -> Result<Vec<Vec<u8>>>;
    /// The clustered key.
    fn key(&self, row: Row) -> Result<Box<[u8]>>;
}

fn codec_of(table: &Table, index: usize) -> Result<&IndexCodec> {
    table.codec.indexes().get(index).ok_or_else(|| Error::internal("a search without its index"))
}

fn no_row() -> Error {
    Error::internal("a row that no search has found")
}

/// The columns of an index in a stored row.
fn texts_of(table: &Table, codec: &IndexCodec, key: &[u8], row: &[u8]) -> Result<Vec<Vec<u8>>> {
    let view = table.codec.view(key, row)?;
    let mut texts = Vec::new();
    for column in codec.full_text().map_or(&[][..], |full_text| full_text.columns()) {
        let mut value = Value::Null;
        view.value_into(*column, &mut value)?;
        if let Value::Bytes(text) = value {
            texts.push(text.into_vec());
        }
    }
    Ok(texts)
}

pub struct IndexSource<'a> {
    statement: &'a Execution<'a>,
    table: &'a Table,
    codec: &'a IndexCodec,
    numbers: RefCell<Numbers>,
}

#[derive(Default)]
struct Numbers {
    rows: HashMap<Box<[u8]>, Row>,
    keys: Vec<Box<[u8]>>,
}

/// Bytes of a row's number beside its key, estimated.
const NUMBER_BYTES: usize = 80;

impl<'a> IndexSource<'a> {
    pub fn new(statement: &'a Execution<'a>, table: &'a Table, index: usize) -> Result<IndexSource<'a>> {
        Ok(IndexSource { statement, table, codec: codec_of(table, index)?, numbers: RefCell::default() })
    }

    fn number(&self, key: &[u8]) -> Result<Row> {
        let mut numbers = self.numbers.borrow_mut();
        if let Some(row) = numbers.rows.get(key) {
            return Ok(*row);
        }
        self.statement.keep_bytes(2 * key.len() + NUMBER_BYTES)?;
        let row = Row::try_from(numbers.keys.len()).map_err(|_| Error::internal("more rows than a search can number"))?;
        numbers.rows.insert(key.into(), row);
        numbers.keys.push(key.into());
        Ok(row)
    }
}

impl Source for IndexSource<'_> {
    fn rows(&self) -> Result<u64> {
        self.statement.txn.borrow().row_count(self.table.def.id)
    }

    fn word_key(&self, word: &[u8]) -> Result<Vec<u8>> {
        Ok(self.codec.word_range(word)?.lower)
    }

    fn each(&self, word: &[u8], is_prefix: bool, f: &mut dyn FnMut(Row, u64) -> Result<()>) -> Result<()> {
        let range = if is_prefix { self.codec.word_prefix_range(word)? } else { self.codec.word_range(word)? };
        let own_writes = !self.statement.own_writes_hidden.get();
        let options = ScanOptions { version: Version::Snapshot, own_writes, ..ScanOptions::default() };
        let txn = self.statement.txn.borrow();
        let mut cursor = txn.scan(range, Direction::Forward, options)?;
        let mut row_key = Vec::new();
        while let Some((key, value)) = cursor.next(&txn)? {
            self.statement.interrupt.check_in_turn()?;
            let entry = Entry { key, value };
            if is_prefix && !self.codec.begins_with(entry, word)? {
                continue;
            }
            self.codec.clustered_key(entry, &mut row_key)?;
            f(self.number(&row_key)?, self.codec.occurrences(entry)?)?;
        }
        txn.finish_scan(cursor);
        Ok(())
    }

    fn texts(&self, row: Row) -> Result<Vec<Vec<u8>>> {
        self.statement.interrupt.check_in_turn()?;
        let key = self.key(row)?;
        let mut value = Vec::new();
        let txn = self.statement.txn.borrow();
        let found = match self.statement.own_writes_hidden.get() {
            true => txn.get_stored(&key, Version::Snapshot, &mut value)?,
            false => txn.get(&key, Version::Snapshot, &mut value)?,
        };
        if found { texts_of(self.table, self.codec, &key, &value) } else { Ok(Vec::new()) }
    }

    fn key(&self, row: Row) -> Result<Box<[u8]>> {
        self.numbers.borrow().keys.get(row as usize).cloned().ok_or_else(no_row)
    }
}

/// As if it were the only row of the table.
pub struct RowSource<'a> {
    codec: &'a IndexCodec,
    key: &'a [u8],
    texts: Vec<Vec<u8>>,
    /// The entries that the row has.
    entries: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'a> RowSource<'a> {
    pub fn new(table: &'a Table, index: usize, (key, stored): (&'a [u8], &'a [u8])) -> Result<RowSource<'a>> {
        let codec = codec_of(table, index)?;
        let texts = texts_of(table, codec, key, stored)?;
        let row = table.codec.decode_row(key, stored)?;
        let row_id = table.codec.clustered().row_id(Entry { key, value: &[] }).unwrap_or(0);
        let mut entries = Vec::new();
        codec.each_entry(&row, row_id, (&mut Vec::new(), &mut Vec::new()), |key, value, _| {
            entries.push((key.clone(), value.clone()));
            Ok(())
        })?;
        Ok(RowSource { codec, key, texts, entries })
    }
}

impl Source for RowSource<'_> {
    fn rows(&self) -> Result<u64> {
        Ok(1)
    }

    fn word_key(&self, word: &[u8]) -> Result<Vec<u8>> {
        Ok(self.codec.word_range(word)?.lower)
    }

    fn each(&self, word: &[u8], is_prefix: bool, f: &mut dyn FnMut(Row, u64) -> Result<()>) -> Result<()> {
        let range = if is_prefix { self.codec.word_prefix_range(word)? } else { self.codec.word_range(word)? };
        for (key, value) in &self.entries {
            let entry = Entry { key, value };
            let is_inside = *key >= range.lower && (range.upper.is_empty() || *key < range.upper);
            if is_inside && (!is_prefix || self.codec.begins_with(entry, word)?) {
                f(0, self.codec.occurrences(entry)?)?;
            }
        }
        Ok(())
    }

    fn texts(&self, _: Row) -> Result<Vec<Vec<u8>>> {
        Ok(self.texts.clone())
    }

    fn key(&self, _: Row) -> Result<Box<[u8]>> {
        Ok(self.key.into())
    }
}
