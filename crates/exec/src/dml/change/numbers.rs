//! The numbers of an AUTO_INCREMENT column: drawn for a row that gives none, noted for one that does.

use vaquita_storage::Table;
use vaquita_types::errno::{ER_AUTOINC_READ_FAILED, ER_WARN_DATA_OUT_OF_RANGE};
use vaquita_types::schema::ForeignKeyDef;
use vaquita_types::temporal::Date;
use vaquita_types::{ColumnType, Error, Result, Value, convert, sql_mode};

use super::values::RowBuilder;
use crate::context::Execution;
use crate::dml::group_numbers;

/// Numbers that are drawn at once for rows whose count is not known.
const DRAWN_MAX: u64 = 65_535;

pub(super) struct Numbers<'a> {
    statement: &'a Execution<'a>,
    table: &'a Table,
    column: Option<usize>,
    /// Where they are counted, if not in the table's counter.
    counting_index: Option<(usize, usize)>,
    /// Whether SET insert_id gave the first number is known; the number that follows that one.
    asked_for_given: bool,
    after_given: Option<u64>,
    /// The rows of the statement, and those that are still to come, as far as is known.
    expected: u64,
    left: u64,
    /// The next of the numbers that were drawn at once, and how many are left.
    drawn: (u64, u64),
    /// How many were drawn the last time.
    together: u64,
    /// How often numbers were drawn.
    draws: u32,
    /// Of a row that was not inserted: the next row gets it.
    taken_back: Option<u64>,
    /// The number that the last row gave itself. It counts once the row is in the table.
    given: Option<u64>,
    /// Foreign keys are looked at before a number is drawn, as none of them is about the number.
    after_parents: bool,
}

impl<'a> Numbers<'a> {
    pub fn new(statement: &'a Execution<'a>, table: &'a Table) -> Numbers<'a> {
        let column = table.def.auto_increment_column();
        let of_others = |key: &ForeignKeyDef| {
            let id = column.map(|column| table.def.columns[column].id);
            key.parent != table.def.qualified_name() && !key.columns.iter().any(|column| Some(*column) == id)
        };
        let keys = &table.def.foreign_keys;
        let after_parents = column.is_some() && !keys.is_empty() && keys.iter().all(of_others);
        Numbers {
            statement,
            table,
            column,
            expected: 0,
            left: 0,
            drawn: (0, 0),
            together: 0,
            draws: 0,
            taken_back: None,
            given: None,
            after_parents,
            counting_index: group_numbers::counting_index(&table.def),
            asked_for_given: false,
            after_given: None,
        }
    }

    pub fn is_after_parents(&self) -> bool {
        self.after_parents
    }

    /// So many rows come, whose numbers are drawn at once.
    pub fn expect(&mut self, rows: usize) {
        (self.expected, self.left) = (rows as u64, rows as u64);
    }

    /// The next number of the table's counter. Numbers are drawn for all rows of the statement, and for all that are left if a row gave
    /// itself a greater number; where rows are not known, for one, then for twice as many each time. So does MySQL. What is left over in
    /// the end is lost.
    fn draw(&mut self, increment: u64, offset: u64) -> Result<u64> {
        if let Some(number) = self.taken_back.take() {
            return Ok(number);
        }
        if self.drawn.1 == 0 {
            let count = match std::mem::take(&mut self.expected).max(self.left) {
                0 => 1u64.checked_shl(self.draws).map_or(DRAWN_MAX, |count| count.min(DRAWN_MAX)),
                rows => rows,
            };
            self.draws += 1;
            self.together = count;
            let first = self.statement.txn.borrow_mut().next_auto_increment(self.table.def.id, count, increment, offset)?;
            self.drawn = (first, count);
        }
        let number = self.drawn.0;
        self.drawn = (group_numbers::following(number, increment, offset).unwrap_or(u64::MAX), self.drawn.1 - 1);
        Ok(number)
    }

    /// A row gave `number` itself: what follows is greater.
    fn skip_drawn(&mut self, number: u64, (increment, offset): (u64, u64)) {
        self.taken_back = self.taken_back.filter(|taken_back| *taken_back > number);
        while self.drawn.1 > 0 && self.drawn.0 <= number {
            self.drawn = (group_numbers::following(self.drawn.0, increment, offset).unwrap_or(u64::MAX), self.drawn.1 - 1);
        }
    }

    /// The row of this number was not inserted: the next one gets it.
    pub fn take_back(&mut self, number: u64) {
        match &mut self.after_given {
            Some(next) => *next = number,
            None if self.counting_index.is_none() => self.taken_back = Some(number),
            None => {}
        }
    }

    /// The row of the last `complete` is in the table: what follows is greater than the number that it gave itself.
    pub fn note_inserted(&mut self) -> Result<()> {
        match self.given.take() {
            Some(number) => self.note(number),
            None => Ok(()),
        }
    }

    /// The row of the last `complete` found another with its key. InnoDB counts its number nevertheless where the table is partitioned, and
    /// for a REPLACE or the rows of a query (`counts`).
    pub fn note_duplicate(&mut self, counts: bool) -> Result<()> {
        let options = &self.table.def.options;
        match self.given {
            Some(number) if options.engine == "InnoDB" && (counts || self.table.def.is_partitioned()) => self.note(number),
            _ => Ok(()),
        }
    }

    fn note(&mut self, number: u64) -> Result<()> {
        self.statement.txn.borrow_mut().note_auto_increment(self.table.def.id, number)?;
        if self.draws > 0 {
            self.skip_drawn(number, self.statement.session.auto_increment());
        }
        Ok(())
    }

    /// Gives the next number to a column that got NULL or 0; returns it if it was generated.
    pub fn complete(&mut self, row: &mut [Value], values: &RowBuilder<'_>) -> Result<Option<u64>> {
        let Some(position) = self.column else { return Ok(None) };
        self.given = None;
        let number = self.of_row(row, position, values)?;
        self.left = self.left.saturating_sub(1);
        Ok(number)
    }

    fn of_row(&mut self, row: &mut [Value], position: usize, values: &RowBuilder<'_>) -> Result<Option<u64>> {
        let zero_is_a_value = self.statement.session.sql_mode() & sql_mode::NO_AUTO_VALUE_ON_ZERO != 0;
        let (given, zero) = match &row[position] {
            Value::Null => (None, false),
            Value::Int(i) => (u64::try_from(*i).ok(), *i == 0),
            Value::UInt(u) => (Some(*u), *u == 0),
            Value::Float(f) => (Some(*f as u64), *f == 0.0),
            _ => (None, false),
        };
        let mut txn = self.statement.txn.borrow_mut();
        if !row[position].is_null() && (!zero || zero_is_a_value) {
            self.given = given.filter(|_| self.counting_index.is_none());
            return Ok(None);
        }
        let (increment, offset) = self.statement.session.auto_increment();
        let asked = std::mem::replace(&mut self.asked_for_given, true);
        let first = if asked { None } else { self.statement.session.take_insert_id() };
        let number = if let Some(given) = self.after_given.or(first) {
            if self.counting_index.is_none() {
                self.given = Some(given);
                self.after_given = Some(group_numbers::following(given, increment, offset).unwrap_or(u64::MAX));
            }
            given
        } else if let Some(index) = self.counting_index {
            let mut stored = row.to_vec();
            let _ = values.to_utc(&mut stored);
            let policy = self.statement.lock_wait();
            let next = group_numbers::next(self.table, index, &stored, &mut txn, policy, (increment, offset))?;
            let column = &self.table.def.columns[position].name;
            let out_of_range = |_| Error::new(&ER_WARN_DATA_OUT_OF_RANGE, &[column, &values.row.max(1)]);
            row[position] = self.as_stored(next, position).map_err(out_of_range)?;
            return Ok(Some(next));
        } else {
            drop(txn);
            let number = self.draw(increment, offset)?;
            let (number, stored) = match self.as_stored(number, position) {
                Ok(stored) => (number, stored),
                Err(error) => self.beyond(error, position, values, (increment, offset))?,
            };
            row[position] = stored;
            return Ok(Some(number));
        };
        drop(txn);
        row[position] = self.as_stored(number, position)?;
        Ok(Some(number))
    }

    /// Rows that give themselves numbers need no more than that the greatest is noted.
    pub fn is_plain(&self) -> bool {
        self.counting_index.is_none()
    }

    /// So many rows have given themselves numbers, of which this is the greatest.
    pub fn note_given(&mut self, greatest: u64, rows: u64) -> Result<()> {
        if self.column.is_none() {
            return Ok(());
        }
        self.left = self.left.saturating_sub(rows);
        self.note(greatest)
    }

    /// The column cannot hold the number: as in MySQL, it gets its greatest one, which the next row then finds taken. That is told
    /// where numbers are counted otherwise than InnoDB counts them one by one; of several rows InnoDB counts none.
    fn beyond(
        &self,
        error: Error,
        position: usize,
        values: &RowBuilder<'_>,
        (increment, offset): (u64, u64),
    ) -> Result<(u64, Value)> {
        let column = &self.table.def.columns[position];
        let Some(greatest) = convert::greatest_integer(&column.ty).filter(|n| *n < u64::MAX) else { return Err(error) };
        let counted_by_one = increment <= 1 && !matches!(self.table.def.options.engine.as_str(), "MyISAM" | "MEMORY");
        if counted_by_one && self.together > 1 {
            return Err(error);
        }
        if !counted_by_one {
            values.warn_or_fail(Error::new(&ER_WARN_DATA_OUT_OF_RANGE, &[&column.name, &values.row.max(1)]))?;
        }
        let number = match greatest.checked_sub(offset).and_then(|n| n.checked_div(increment)) {
            Some(steps) if increment > 1 => steps * increment + offset,
            _ => greatest,
        };
        Ok((number, self.as_stored(number, position)?))
    }

    fn as_stored(&self, number: u64, position: usize) -> Result<Value> {
        let ty = &self.table.def.columns[position].ty;
        let context = convert::StoreContext {
            sql_mode: sql_mode::STRICT_ALL_TABLES,
            time_zone: self.statement.session.time_zone(),
            today: Date::ZERO,
        };
        convert::store(Value::UInt(number), &ColumnType::bigint_unsigned(), ty, &context)
            .map_err(|_| Error::new(&ER_AUTOINC_READ_FAILED, &[]))
    }

    /// An update gave the column a number, which no later insert must get.
    pub fn note_updated(&self, new: &[Value]) -> Result<()> {
        let Some(position) = self.column else { return Ok(()) };
        if self.counting_index.is_none()
            && let Some(number) = counted_number(&new[position])
        {
            self.statement.txn.borrow_mut().note_auto_increment(self.table.def.id, number)?;
        }
        Ok(())
    }

    /// As `note_updated`, if the update changed the number.
    pub fn note_changed(&self, old: &[Value], new: &[Value]) -> Result<()> {
        match self.column {
            Some(position) if old[position] != new[position] => self.note_updated(new),
            _ => Ok(()),
        }
    }

    /// The column of a row; 0 if the table has none.
    pub fn of(&self, row: &[Value]) -> u64 {
        self.column.map_or(0, |position| number_of(&row[position]))
    }
}

/// A row came with its number, which no later insert must get.
pub(crate) fn note_number(statement: &Execution<'_>, table: &Table, row: &[Value]) -> Result<()> {
    let Some(position) = table.def.auto_increment_column() else { return Ok(()) };
    if counted_number(&row[position]).is_none() {
        return Ok(());
    }
    Numbers::new(statement, table).note_updated(row)
}

/// What AUTO_INCREMENT counts on from; nothing that is below 1.
fn counted_number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(i) => u64::try_from(*i).ok(),
        Value::UInt(u) => Some(*u),
        Value::Float(f) => (*f > 0.0).then_some(*f as u64),
        _ => None,
    }
    .filter(|number| *number > 0)
}

/// A number as an OK packet has it.
fn number_of(value: &Value) -> u64 {
    match value {
        Value::Int(i) => *i as u64,
        Value::UInt(u) => *u,
        Value::Float(f) => *f as i64 as u64,
        _ => 0,
    }
}
