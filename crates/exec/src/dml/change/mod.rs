//! The one way in which a row of a user's table changes.
//!
//! A statement finds out which rows it means and what it gives them (`insert`, `update`, `delete`, `file::load`), and hands
//! that to a `TableChange`, one for each table that it changes (DELETE, which gives no values, to its `StoredRows`). Only `stored` calls
//! `Table::insert`, `update` and `delete`.
//!
//! | step | insert | update | delete |
//! |---|---|---|---|
//! | 1. values: conversion, NOT NULL, defaults | `given`, `default`, `complete` | `evaluate` | |
//! | 2. generated columns, WITH CHECK OPTION, CHECK constraints, then AUTO_INCREMENT | `complete` | `evaluate` | |
//! | 3. storage: foreign keys, unique keys, the row, its index entries | `insert` | `update` | `StoredRows::delete`, with triggers `delete` |
//!
//! NOT NULL is looked at with each value, because the first column in the statement's order is the one that MySQL names. A number of
//! AUTO_INCREMENT comes after CHECK and generated columns, which cannot read it, so that a refused row uses none.
//!
//! A row that a foreign key changes (`foreign_keys`) takes step 3 alone, in the `StoredRows` of its table, once its generated columns follow.
//!
//! Triggers BEFORE run between 1 and 2, since constraints hold for what they set; of a table that has some, NOT NULL is looked at behind them. Those
//! AFTER run behind 3 (`triggers`). The binary log is told in `stored` (`logged`), which has the old and the new row as they are written.
//!
//! Example: `INSERT IGNORE INTO t VALUES (1, NULL)` makes NULL the type's zero with a warning (1), finds the constraints
//! satisfied (2), and gets the row with key 1 that is in the way back from storage (3); what that means is the statement's to say.

pub(crate) mod added_keys;
pub(crate) mod foreign_keys;
mod logged;
mod numbers;
mod row_partitions;
mod stored;
mod through_view;
mod triggers;
pub(super) mod values;

use std::sync::Arc;

use vaquita_plan::env::Level;
use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_plan::node::{Assignment, ViewOrigin};
use vaquita_storage::{Duplicate, Table, Written};
use vaquita_types::errno::{ER_KEY_NOT_FOUND, ER_OPEN_AS_READONLY};
use vaquita_types::schema::{TriggerEvent, TriggerTime};
use vaquita_types::{ColumnType, Error, Result, Value};

use crate::context::{Execution, Frame};
use numbers::Numbers;
pub(crate) use numbers::note_number;
pub(crate) use stored::StoredRows;
use through_view::ThroughView;
use triggers::Triggers;
use values::Times;
pub use values::implicit_default;
pub(crate) use values::{RowBuilder, of_element, stored_digits};

/// The rows of one table that one statement changes.
pub(crate) struct TableChange<'a> {
    statement: &'a Execution<'a>,
    table: &'a Table,
    pub(crate) values: RowBuilder<'a>,
    pub(crate) rows: StoredRows<'a>,
    numbers: Numbers<'a>,
    /// The new row with TIMESTAMPs in UTC, if those differ.
    utc: Vec<Value>,
    through: Option<ThroughView<'a>>,
    triggers: Option<Box<Triggers<'a>>>,
    /// NOT NULL is looked at behind the triggers BEFORE.
    nulls_after_insert: bool,
    nulls_after_update: bool,
}

/// What `complete` makes of a new row.
pub(crate) enum Completed {
    Ready {
        /// The number that AUTO_INCREMENT gave.
        generated: Option<u64>,
    },
    /// A CHECK constraint leaves it out (IGNORE).
    Refused,
    /// WITH CHECK OPTION does (IGNORE).
    OutOfView,
    /// It has no parent (IGNORE).
    Orphan,
}

/// A row that is to be updated.
pub(crate) struct Found<'k> {
    pub key: &'k [u8],
    /// The row as it is stored, if the caller has it.
    pub stored: Option<Vec<Value>>,
    /// It may be joined with further rows, which are found by what it was, as are the values of other tables.
    pub is_joined: bool,
    /// Outside of strict mode NULL for a column that is NOT NULL is a warning, not an error.
    pub several_rows: bool,
}

/// What assignments make of a row, before triggers and constraints have seen it.
pub(crate) struct Assigned {
    pub before: Vec<Value>,
    pub new: Vec<Value>,
}

/// A row that is there and what it becomes, both as they are stored.
pub(crate) struct Update {
    pub old: Vec<Value>,
    pub new: Vec<Value>,
}

/// What assignments make of a row.
pub(crate) enum Evaluated {
    Update(Update),
    /// All columns have the values that they had.
    Same,
    /// A CHECK constraint or WITH CHECK OPTION leaves it as it is (IGNORE).
    Refused,
}

impl<'a> TableChange<'a> {
    pub fn new(
        statement: &'a Execution<'a>,
        table: &'a Table,
        partitions: Option<&Arc<[usize]>>,
        ignore: bool,
    ) -> Result<TableChange<'a>> {
        let triggers = Triggers::of(statement, table);
        let before = |event| triggers.as_ref().is_some_and(|triggers| triggers.has(event, TriggerTime::Before));
        Ok(TableChange {
            nulls_after_insert: before(TriggerEvent::Insert),
            nulls_after_update: before(TriggerEvent::Update),
            triggers,
            statement,
            table,
            values: RowBuilder::new(statement, &table.def, ignore),
            rows: StoredRows::within(statement, table, partitions)?,
            numbers: Numbers::new(statement, table),
            utc: Vec::new(),
            through: None,
        })
    }

    /// The rows come through a view.
    pub fn through_view(mut self, view: Option<&'a ViewOrigin>) -> TableChange<'a> {
        self.values.view = view;
        self.through = view.and_then(|view| ThroughView::new(view, self.statement));
        self
    }

    /// Error 1369 if the view would not have the new row, in the session's time zone; false: it is left out (IGNORE).
    fn in_view(&mut self, row: &[Value], slots: &[Value]) -> Result<bool> {
        let Some(through) = &mut self.through else { return Ok(true) };
        if through.has(row, slots, self.table)? {
            return Ok(true);
        }
        if !self.values.ignores() {
            return Err(through.error());
        }
        self.statement.session.warn(Level::Warning, through.error());
        Ok(false)
    }

    /// Step 1: a value that the statement gives a column of a new row. NULL asks AUTO_INCREMENT for a number.
    pub fn given(&self, value: Value, ty: &ColumnType, position: usize, several_rows: bool) -> Result<Value> {
        let value = self.values.convert(value, ty, position)?;
        let automatic = self.table.def.columns[position].auto_increment;
        if automatic || self.nulls_after_insert { Ok(value) } else { self.values.check_null(value, position, several_rows) }
    }

    /// Steps 1 and 2 for the new row at `first` and the slots after it, whose columns have what is given or a constant default:
    /// `computed` are the other defaults.
    pub fn complete(
        &mut self,
        frame: &mut Frame<'_>,
        first: usize,
        computed: &[(usize, Expr)],
        several_rows: bool,
    ) -> Result<Completed> {
        for (position, expr) in computed {
            if self.values.generates() {
                self.values.compute_before(&mut frame.slots[first..first + self.table.def.columns.len()], *position)?;
            }
            let value = expr.eval(&frame.cx())?.into_owned();
            frame.slots[first + position] = self.given(value, &expr.ty, *position, several_rows)?;
        }
        let row = &mut frame.slots[first..first + self.table.def.columns.len()];
        if self.nulls_after_insert {
            self.before_insert(row, several_rows)?;
        }
        if self.values.generates() {
            self.values.generate(row)?;
        }
        if self.through.is_some() && !self.in_view(&frame.slots[first..first + self.table.def.columns.len()], &[])? {
            return Ok(Completed::OutOfView);
        }
        let row = &mut frame.slots[first..first + self.table.def.columns.len()];
        if !self.values.check_constraints(row)? {
            return Ok(Completed::Refused);
        }
        // A row without a parent takes no number.
        if self.numbers.is_after_parents() && !self.has_parents(&frame.slots[first..first + self.table.def.columns.len()])? {
            return Ok(Completed::Orphan);
        }
        let row = &mut frame.slots[first..first + self.table.def.columns.len()];
        Ok(Completed::Ready { generated: self.numbers.complete(row, &self.values)? })
    }

    /// Whether the parents of a new row are there: error 1452, or a warning and false under IGNORE.
    fn has_parents(&mut self, row: &[Value]) -> Result<bool> {
        let mut stored = Vec::new();
        let row = match self.values.stores_other_times() {
            true => {
                stored.extend_from_slice(row);
                let _ = self.values.to_utc(&mut stored);
                &stored[..]
            }
            false => row,
        };
        if !self.values.ignores() {
            return self.rows.find_parents(row).map(|()| true);
        }
        Ok(self.rows.ignoring(|rows| rows.find_parents(row))?.is_some())
    }

    /// Nothing but its values says what a new row is, and whether it may be there.
    pub fn is_plain(&self) -> bool {
        let has_rows = !matches!(self.table.def.options.engine.as_str(), "MRG_MyISAM" | "BLACKHOLE");
        let is_free = self.triggers.is_none() && self.through.is_none() && self.table.def.options.checks.is_empty();
        has_rows && is_free && !self.values.generates() && self.rows.is_plain() && self.numbers.is_plain()
    }

    /// So many rows were written, which gave themselves numbers up to this one, if the table has any.
    pub fn note_numbers(&mut self, greatest: u64, rows: u64) -> Result<()> {
        self.numbers.note_given(greatest, rows)
    }

    /// So many rows come that may need AUTO_INCREMENT values.
    pub fn expect_numbers(&mut self, rows: usize) {
        self.numbers.expect(rows);
    }

    /// Step 3 of an insert, of a row that is complete.
    pub fn insert(&mut self, row: &[Value]) -> Result<Written> {
        if self.table.def.options.engine == "MRG_MyISAM" {
            return Err(Error::new(&ER_OPEN_AS_READONLY, &[&self.table.def.name]));
        }
        let row = match self.values.stores_other_times() {
            true => {
                self.utc.clear();
                self.utc.extend_from_slice(row);
                let _ = self.values.to_utc(&mut self.utc);
                &self.utc[..]
            }
            false => row,
        };
        if self.table.def.options.engine == "BLACKHOLE" {
            return self.rows.insert_nowhere(row).map(|()| Written::Done);
        }
        if !self.values.ignores() {
            return self.rows.insert(row);
        }
        Ok(self.rows.ignoring(|rows| rows.insert(row))?.unwrap_or(Written::Skipped))
    }

    /// Steps 1 and 2 of an update: evaluates `assignments` left to right over the row in `slots`, each of which sees what those before
    /// it set.
    pub fn evaluate(
        &mut self,
        assignments: &[Assignment],
        slots: &[usize],
        frame: &mut Frame<'_>,
        row: Found<'_>,
    ) -> Result<Evaluated> {
        let assigned = self.assigned(assignments, slots, frame, &row)?;
        self.finish(assignments, assigned, &frame.slots, row)
    }

    /// Step 1 of `evaluate`.
    pub fn assigned(
        &mut self,
        assignments: &[Assignment],
        slots: &[usize],
        frame: &mut Frame<'_>,
        row: &Found<'_>,
    ) -> Result<Assigned> {
        let before: Vec<Value> = slots.iter().map(|slot| frame.slots[*slot].clone()).collect();
        self.assign(assignments, slots, frame, row.several_rows)?;
        let new: Vec<Value> = slots.iter().map(|slot| std::mem::take(&mut frame.slots[*slot])).collect();
        if row.is_joined {
            slots.iter().zip(&before).for_each(|(slot, value)| frame.slots[*slot].clone_from(value));
        }
        Ok(Assigned { before, new })
    }

    /// The triggers BEFORE, and step 2. A row that stays as it was has gone through those AFTER, too. `slots`: those of the whole statement.
    pub fn finish(
        &mut self,
        assignments: &[Assignment],
        assigned: Assigned,
        slots: &[Value],
        row: Found<'_>,
    ) -> Result<Evaluated> {
        let Assigned { before, mut new } = assigned;
        let Found { key, stored, several_rows, .. } = row;
        let mut is_same = new == before;
        if !is_same {
            self.touch(assignments, &mut new);
        }
        if self.nulls_after_update {
            self.before_update(&before, &mut new, several_rows)?;
            is_same = new == before;
        }
        if is_same {
            self.after_same(&before, &new)?;
            return Ok(Evaluated::Same);
        }
        if self.values.generates() {
            self.values.generate(&mut new)?;
        }
        if self.through.is_some() && !self.in_view(&new, slots)? {
            return Ok(Evaluated::Refused);
        }
        if !self.values.check_constraints(&new)? {
            return Ok(Evaluated::Refused);
        }
        if !self.values.stores_other_times() {
            return Ok(Evaluated::Update(Update { old: before, new }));
        }
        let old = match stored {
            Some(stored) => stored,
            None => self.as_it_was_stored(key, &before)?,
        };
        self.values.to_utc_where_changed(&mut new, &before, &old);
        Ok(Evaluated::Update(Update { old, new }))
    }

    /// As `finish`, of a row that the statement may have changed since, under another name of its table or by a foreign key: what is assigned
    /// goes onto what the row is now. Error 1032: a foreign key has given it another key.
    pub fn finish_again(
        &mut self,
        assignments: &[Assignment],
        assigned: &Assigned,
        slots: &[Value],
        row: Found<'_>,
    ) -> Result<Evaluated> {
        let Some(stored) = self.rows.get(row.key)? else {
            return Err(Error::new(&ER_KEY_NOT_FOUND, &[&self.table.def.name]));
        };
        let before = triggers::shown(&stored, &self.values)?;
        let mut new = before.clone();
        for column in assignments.iter().map(|assignment| assignment.column) {
            if self.table.def.columns[column].generated.is_none() {
                new[column].clone_from(&assigned.new[column]);
            }
        }
        self.finish(assignments, Assigned { before, new }, slots, Found { stored: Some(stored), ..row })
    }

    /// `before`, in the session's time zone, as it is stored. A local time that a clock change repeats does not tell which of two it was.
    fn as_it_was_stored(&mut self, key: &[u8], before: &[Value]) -> Result<Vec<Value>> {
        let mut old = before.to_vec();
        match self.values.to_utc(&mut old) {
            Times::Unique => Ok(old),
            Times::Repeated => self.rows.get(key)?.ok_or_else(|| Error::internal("a row has gone under its lock")),
        }
    }

    /// Step 3 of an update; false: the row is as it was, because the new one's key is taken (IGNORE) or a lock was not free.
    pub fn update(&mut self, key: &[u8], update: &Update) -> Result<bool> {
        let Update { old, new } = update;
        let written = match self.values.ignores() {
            true => self.rows.ignoring(|rows| rows.update(key, old, new))?.unwrap_or(Written::Skipped),
            false => self.rows.update(key, old, new)?,
        };
        match written {
            Written::Done => {
                self.numbers.note_changed(old, new)?;
                self.after_update(old, new)?;
                Ok(true)
            }
            Written::Skipped => Ok(false),
            Written::Duplicate(duplicate) => {
                let mut local = new.clone();
                self.values.to_local(&mut local);
                self.report_duplicate(&duplicate, &local)?;
                Ok(false)
            }
        }
    }

    /// The row of the last `insert` as it is stored.
    pub fn as_stored<'r>(&'r self, row: &'r [Value]) -> &'r [Value] {
        if self.values.stores_other_times() { &self.utc } else { row }
    }

    /// Error 1062, or a warning under IGNORE, for a row in the session's time zone.
    pub fn report_duplicate(&self, duplicate: &Duplicate, row: &[Value]) -> Result<()> {
        let error = self.table.duplicate_error(duplicate, row);
        if !self.values.ignores() {
            return Err(error);
        }
        self.statement.session.warn(Level::Warning, error);
        Ok(())
    }

    fn assign(&self, assignments: &[Assignment], slots: &[usize], frame: &mut Frame<'_>, several_rows: bool) -> Result<()> {
        for assignment in assignments {
            let value = match &assignment.value {
                // A column that is given itself keeps what it has, even what sql_mode refuses now.
                Some(Expr { kind: ExprKind::Slot(slot), .. }) if *slot == slots[assignment.column] => continue,
                Some(expr) => {
                    let value = expr.eval(&frame.cx())?.into_owned();
                    let value = self.values.convert(value, &expr.ty, assignment.column)?;
                    match self.nulls_after_update {
                        true => value,
                        false => self.values.check_null(value, assignment.column, several_rows)?,
                    }
                }
                // What it is generated of decides.
                None if self.table.def.columns[assignment.column].generated.is_some() => continue,
                // No number is drawn for a row that is there.
                None if self.table.def.columns[assignment.column].auto_increment => {
                    values::implicit_default(&self.table.def.columns[assignment.column])
                }
                None => self.values.default(assignment.column, true)?.unwrap_or(Value::Null),
            };
            frame.slots[slots[assignment.column]] = value;
        }
        Ok(())
    }

    /// `ON UPDATE CURRENT_TIMESTAMP` of columns that the statement does not set.
    fn touch(&self, assignments: &[Assignment], row: &mut [Value]) {
        for (position, column) in self.table.def.columns.iter().enumerate() {
            if column.on_update_now && !assignments.iter().any(|a| a.column == position) {
                row[position] = self.values.now(column);
            }
        }
    }

    /// The row of the last `complete` is in the table.
    pub fn note_inserted_number(&mut self) -> Result<()> {
        self.numbers.note_inserted()
    }

    /// The row of the last `complete` found another with its key; `counts`: its number counts as if it were in the table.
    pub fn note_number_of_duplicate(&mut self, counts: bool) -> Result<()> {
        self.numbers.note_duplicate(counts)
    }

    /// The number of a row that was not inserted is that of the next one.
    pub fn take_back_number(&mut self, generated: Option<u64>) {
        if let Some(number) = generated {
            self.numbers.take_back(number);
        }
    }

    /// An update gave the AUTO_INCREMENT column a number, which no later insert must get.
    pub fn note_updated_number(&self, new: &[Value]) -> Result<()> {
        self.numbers.note_updated(new)
    }

    /// The AUTO_INCREMENT column of a row; 0 if the table has none.
    pub fn number(&self, row: &[Value]) -> u64 {
        self.numbers.of(row)
    }
}
