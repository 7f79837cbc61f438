//! Rows that are inserted in blocks: encoded one after the other, perhaps by several threads, and then written together.
//!
//! Only a *plain* row comes into a block: each of its values is stored as it is given, or converted without a word, and nothing else has a say
//! (triggers, generated columns, CHECK, foreign keys, partitions, a view). Whatever is not plain goes row by row, behind the block of the
//! rows before it, so that counts, warnings and errors are those of rows that come one after the other. So does a block of which
//! a key may be taken.
//!
//! Example: of `INSERT INTO t VALUES (1,'a'),(2,'b'),(3,1/0),…` the rows 1 and 2 are a block, 3 goes by itself, and another block begins.

use vaquita_plan::eval::coerce;
use vaquita_plan::typing;
use vaquita_storage::{LogBuffer, NewRows, Table};
use vaquita_types::charset::charset;
use vaquita_types::convert::{self, StoreContext};
use vaquita_types::schema::ColumnDefault;
use vaquita_types::{ColumnType, Result, TypeKind, Value};

use super::change::values::{is_date, rows_to_utc, stored_decimal, stored_digits};
use super::insert::Insert;
use crate::context::{RowChange, RowCollector, already_stored, is_number};

/// Rows of a statement that are worth blocks.
pub(crate) const ROWS_MIN: usize = 64;
/// Bytes of rows that are written together.
const BLOCK_BYTES: usize = 512 << 10;
/// Rows of which a block must have more to count as one.
const SHORT_ROWS: usize = 16;
/// Short blocks after which a statement that has hardly others goes on row by row.
const SHORT_BLOCKS_MAX: u64 = 8;

/// Makes blocks of plain rows of one table.
pub(crate) struct PlainRows<'a> {
    table: &'a Table,
    store: StoreContext<'a>,
    /// A row of what columns get that are not given.
    others: Vec<Value>,
    left_out: Vec<usize>,
    log: Option<RowCollector<'a>>,
    /// The AUTO_INCREMENT column.
    number: Option<usize>,
    /// There are TIMESTAMPs, of another time zone than UTC.
    in_other_zone: bool,
    /// Of each column: the bytes of an ASCII text that it holds as it is given.
    texts_max: Vec<usize>,
}

/// Rows that are encoded.
#[derive(Default)]
pub(crate) struct Block {
    rows: NewRows,
    log: LogBuffer,
    /// The greatest number in the AUTO_INCREMENT column.
    number: u64,
}

impl Block {
    pub fn is_full(&self) -> bool {
        self.rows.bytes() >= BLOCK_BYTES
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.log.truncate(0);
        self.number = 0;
    }
}

/// What became of a row.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    Done,
    /// Its key is not above those of the block, which must be written first.
    NotAscending,
    /// It must go by itself.
    NotPlain,
}

/// How blocks turn out, so that rows in no order do without them.
#[derive(Default)]
pub(crate) struct Turnout {
    short: u64,
    long: u64,
}

impl Turnout {
    pub fn note(&mut self, block: &Block) {
        let count = if block.len() <= SHORT_ROWS { &mut self.short } else { &mut self.long };
        *count += 1;
    }

    pub fn is_bad(&self) -> bool {
        self.short > SHORT_BLOCKS_MAX && self.short > self.long
    }
}

impl<'a> PlainRows<'a> {
    /// `None`: rows of this statement are not plain.
    pub fn of(insert: &Insert<'a>) -> Option<PlainRows<'a>> {
        let (table, change) = (insert.table(), &insert.change);
        if !insert.is_simple() || !change.is_plain() {
            return None;
        }
        let others = insert.others();
        let mut values = vec![Value::Null; table.def.columns.len()];
        for &position in others {
            let column = &table.def.columns[position];
            match &column.default {
                ColumnDefault::Value(value) => values[position].clone_from(value),
                ColumnDefault::None if column.nullable && !column.auto_increment => {}
                _ => return None,
            }
        }
        Some(PlainRows {
            table,
            store: change.values.store_context().clone(),
            others: values,
            left_out: others.to_vec(),
            log: change.rows.collector(),
            number: table.def.auto_increment_column(),
            in_other_zone: change.values.stores_other_times(),
            texts_max: table.def.columns.iter().map(|column| text_max(&column.ty)).collect(),
        })
    }

    /// A row in which nothing is given yet.
    pub fn start(&self, row: &mut Vec<Value>) {
        row.clone_from(&self.others);
    }

    /// What the column holds of a given value; `None`: that is not plain.
    pub fn value(&self, value: Value, from: &ColumnType, position: usize) -> Option<Value> {
        let column = &self.table.def.columns[position];
        let value = match already_stored(value, &column.ty) {
            Ok(stored) => stored,
            Err(Value::Bytes(text)) if self.is_held_as_given(&text, from, position) => Value::Bytes(text),
            Err(value) => self.converted(value, from, &column.ty)?,
        };
        self.accepts(&value, position).then_some(value)
    }

    /// As `value` of a text.
    pub fn text(&self, text: &[u8], from: &ColumnType, position: usize) -> Option<Value> {
        let ty = &self.table.def.columns[position].ty;
        let value = match ty.kind {
            TypeKind::VarChar if self.is_held_as_given(text, from, position) => Some(Value::bytes(text)),
            TypeKind::Decimal => stored_decimal(text, ty),
            _ => stored_digits(text, ty),
        };
        match value {
            Some(value) => self.accepts(&value, position).then_some(value),
            None => self.value(Value::bytes(text), from, position),
        }
    }

    /// As `value` of a decimal that is written so, if a DECIMAL column holds it exactly.
    pub fn decimal(&self, digits: &[u8], position: usize) -> Option<Value> {
        let ty = &self.table.def.columns[position].ty;
        if ty.kind == TypeKind::Decimal { stored_decimal(digits, ty) } else { None }
    }

    fn is_held_as_given(&self, text: &[u8], from: &ColumnType, position: usize) -> bool {
        text.len() <= self.texts_max[position]
            && text.is_ascii()
            && from.is_bytes()
            && charset(from.collation).is_ascii_compatible()
    }

    fn converted(&self, value: Value, from: &ColumnType, ty: &ColumnType) -> Option<Value> {
        if let Value::Bytes(bytes) = &value {
            let is_hex = typing::is_hex_literal(from) && is_number(ty);
            if !from.is_bytes() || is_hex || is_date(ty) && coerce::delimiter_warning(bytes, 1).is_some() {
                return None;
            }
        }
        convert::store(value, from, ty, &self.store).ok()
    }

    /// Whether the column takes a value of its type.
    #[inline]
    pub fn accepts(&self, value: &Value, position: usize) -> bool {
        if Some(position) == self.number {
            return matches!(value, Value::Int(1..) | Value::UInt(1..));
        }
        !value.is_null() || self.table.def.columns[position].nullable
    }

    /// Adds a row, whose values are as the columns hold them, in the session's time zone. A row that was not added may be added to another
    /// block.
    pub fn add(&self, row: &mut [Value], block: &mut Block) -> Added {
        let times = self.in_other_zone.then(|| row.to_vec());
        if times.is_some() {
            let _ = rows_to_utc(row, &self.table.def, self.store.time_zone);
        }
        let added = self.add_stored(row, block);
        if let Some(times) = times.filter(|_| added != Added::Done) {
            row.clone_from_slice(&times);
        }
        added
    }

    fn add_stored(&self, row: &[Value], block: &mut Block) -> Added {
        let (log_len, rows_len) = (block.log.len(), block.rows.len());
        let told = self.log.as_ref().map_or(Ok(()), |log| {
            let change = RowChange { before: None, after: Some(row), left_out: &self.left_out, cascades: false };
            log.collect(&mut block.log, self.table, change)
        });
        match told.and_then(|()| self.table.add_new(row, &mut block.rows)) {
            Ok(true) => {
                block.number = block.number.max(number_of(self.number.and_then(|position| row.get(position))));
                Added::Done
            }
            added => {
                block.log.truncate(log_len);
                block.rows.truncate(rows_len);
                // What is wrong is said when the row goes by itself.
                if added.is_ok() { Added::NotAscending } else { Added::NotPlain }
            }
        }
    }
}

/// Bytes of an ASCII text that a column of this type holds as it is given.
fn text_max(ty: &ColumnType) -> usize {
    let holds_ascii = ty.kind == TypeKind::VarChar && charset(ty.collation).is_ascii_compatible();
    if holds_ascii { ty.length as usize } else { 0 }
}

fn number_of(value: Option<&Value>) -> u64 {
    match value {
        Some(Value::Int(number)) => u64::try_from(*number).unwrap_or(0),
        Some(Value::UInt(number)) => *number,
        _ => 0,
    }
}

impl Insert<'_> {
    /// Writes the rows of a block and empties it.
    pub(crate) fn write_block(&mut self, block: &mut Block) -> Result<()> {
        let count = block.len();
        if count == 0 {
            return Ok(());
        }
        if count > SHORT_ROWS && self.change.rows.insert_all(&block.rows, &block.log)? {
            self.change.note_numbers(block.number, count as u64)?;
            self.note_written(count as u64);
        } else {
            for row in self.table().decode_new(&block.rows) {
                self.write_stored(row?)?;
            }
        }
        block.clear();
        Ok(())
    }
}
