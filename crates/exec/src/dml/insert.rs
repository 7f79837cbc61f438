//! INSERT and REPLACE.
//!
//! The frame holds the existing row (ON DUPLICATE KEY UPDATE), the new row, and the output of a source query, in
//! this order. For each source row: defaults, then the given values left to right, then the row goes the way of `change`. A
//! duplicate is an error, a skipped row (IGNORE), a deleted row (REPLACE) or an update.

use vaquita_parser::Cell;
use vaquita_plan::expr::Expr;
use vaquita_plan::literal_values::LiteralValues;
use vaquita_plan::node::{InsertPlan, InsertSource, QueryPlan};
use vaquita_plan::visit::plan_reads_table;
use vaquita_storage::{Duplicate, LockMode, Table, Written};
use vaquita_types::schema::{IndexKind, TableDef};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Changed;
use super::blocks::{self, Added, Block, PlainRows, Turnout};
use super::change::{Completed, Evaluated, Found, TableChange, stored_digits};
use crate::context::{Execution, Frame};

/// A running INSERT; LOAD DATA drives one too.
pub(crate) struct Insert<'a> {
    plan: &'a InsertPlan,
    statement: &'a Execution<'a>,
    table: &'a Table,
    pub(crate) change: TableChange<'a>,
    pub(crate) frame: Frame<'a>,
    /// Positions of columns that get no value.
    others: Vec<usize>,
    several_rows: bool,
    pub(crate) records: u64,
    duplicates: u64,
    /// Rows that REPLACE deleted.
    pub(crate) deleted: u64,
    /// Rows that a CHECK constraint refused.
    pub(crate) refused: u64,
    /// Rows that a foreign key refused, which do not count as records.
    orphans: u64,
    /// The same for rows that the view would not have.
    pub(crate) out_of_view: u64,
    /// A column that is not given and has no default gets its type's zero, without a word.
    pub(crate) defaults_quietly: bool,
    /// What is wrong with a column of the new row that is not given.
    missing: Option<Error>,
    pub(crate) changed: Changed,
    /// The AUTO_INCREMENT value of the row that ON DUPLICATE KEY UPDATE changed instead of inserting the last one.
    updated_id: Option<u64>,
}

pub fn run(plan: &InsertPlan, statement: &Execution<'_>) -> Result<Changed> {
    let table = statement.open_table(&plan.table, LockMode::IX)?;
    let several_rows = match &plan.source {
        InsertSource::Values(rows) => rows.len() > 1,
        InsertSource::Literals(values) => values.rows.len() > 1,
        InsertSource::Query(_) => true,
    };
    let mut insert = Insert::new(plan, statement, &table, several_rows)?;
    insert.change.values.warns_of_null_once = true;
    match &plan.source {
        InsertSource::Values(rows) => insert.change.expect_numbers(rows.len()),
        InsertSource::Literals(values) => insert.change.expect_numbers(values.rows.len()),
        InsertSource::Query(_) => {}
    }
    let ran = match &plan.source {
        InsertSource::Values(rows) => rows.iter().try_for_each(|row| insert.values(row)),
        InsertSource::Literals(values) => insert.literals(values),
        InsertSource::Query(query) => insert.query(query),
    };
    if let Err(error) = ran {
        insert.tell_number_of_failed();
        return Err(error);
    }
    let row_id = insert.row_id();
    let mut changed = insert.changed;
    changed.row_id = if changed.affected > 0 { row_id } else { 0 };
    changed.found += changed.affected;
    if several_rows {
        let warnings = statement.session.warning_count();
        let records = insert.records - insert.orphans - insert.out_of_view;
        changed.info = format!("Records: {records}  Duplicates: {}  Warnings: {warnings}", insert.duplicates);
    }
    Ok(changed)
}

/// What REPLACE did with the row that was there.
enum Replaced {
    Deleted,
    Changed,
    /// It is the new row already.
    Same,
}

impl<'a> Insert<'a> {
    pub(crate) fn new(
        plan: &'a InsertPlan,
        statement: &'a Execution<'a>,
        table: &'a Table,
        several_rows: bool,
    ) -> Result<Insert<'a>> {
        let width = plan.frame_width.max(2 * table.def.columns.len());
        let others: Vec<usize> = (0..table.def.columns.len()).filter(|n| !plan.columns.contains(n)).collect();
        let mut change =
            TableChange::new(statement, table, plan.partitions.as_ref(), plan.ignore)?.through_view(plan.through.as_deref());
        change.leave_out(&others);
        Ok(Insert {
            plan,
            statement,
            table,
            change,
            frame: Frame::new(statement, None, width),
            others,
            several_rows,
            records: 0,
            duplicates: 0,
            deleted: 0,
            refused: 0,
            orphans: 0,
            out_of_view: 0,
            missing: None,
            defaults_quietly: false,
            changed: Changed::default(),
            updated_id: None,
        })
    }

    /// As in MySQL, LAST_INSERT_ID() tells the first number of a statement that failed behind it.
    pub(crate) fn tell_number_of_failed(&self) {
        if self.changed.generated_id != 0 {
            self.statement.session.note_insert_id_of_failed(self.changed.generated_id);
        }
    }

    pub(crate) fn table(&self) -> &'a Table {
        self.table
    }

    /// Positions of the columns that get no value.
    pub(crate) fn others(&self) -> &[usize] {
        &self.others
    }

    /// Columns that are not given have constants.
    pub(crate) fn is_simple(&self) -> bool {
        self.plan.default_exprs.is_empty() && self.plan.through.is_none() && self.plan.partitions.is_none()
    }

    /// So many rows were inserted.
    pub(crate) fn note_written(&mut self, rows: u64) {
        self.records += rows;
        self.changed.affected += rows;
        self.change.values.row = self.records;
    }

    /// Inserts a row as it would be stored.
    pub(crate) fn write_stored(&mut self, mut row: Vec<Value>) -> Result<()> {
        self.begin_row()?;
        self.change.values.to_local(&mut row);
        let columns = self.columns();
        for (slot, value) in self.frame.slots[columns..2 * columns].iter_mut().zip(row) {
            *slot = value;
        }
        self.write_row()?;
        self.statement.take_raised().map_or(Ok(()), Err)
    }

    fn columns(&self) -> usize {
        self.table.def.columns.len()
    }

    fn values(&mut self, row: &[Option<Expr>]) -> Result<()> {
        self.start_row()?;
        if self.plan.reads_row {
            self.fill_before_values();
        }
        for (expr, &position) in row.iter().zip(&self.plan.columns) {
            match expr {
                Some(expr) => {
                    let value = expr.eval(&self.frame.cx())?.into_owned();
                    self.set(position, value, &expr.ty)?;
                }
                None => self.set_default(position)?,
            }
        }
        self.write_row()
    }

    /// Rows are inserted as the query gives them, unless it may read what this statement or an earlier one of the
    /// transaction has written into the table.
    fn query(&mut self, query: &QueryPlan) -> Result<()> {
        let statement = self.statement;
        let reads_target = plan_reads_table(query, self.table.def.id);
        if reads_target && (statement.txn.borrow().has_own_rows() || !self.plan.on_duplicate.is_empty()) {
            return crate::query::collect(query, statement, None)?.into_iter().try_for_each(|row| self.query_row(query, row));
        }
        let _hidden = reads_target.then(|| statement.hide_own_writes());
        crate::query::for_each(query, statement, None, |row| self.query_row(query, std::mem::take(row)))
    }

    fn query_row(&mut self, query: &QueryPlan, row: Vec<Value>) -> Result<()> {
        let extra = 2 * self.columns();
        self.start_row()?;
        let types = query.output.iter().map(|column| &column.expr.ty);
        for (n, (value, ty)) in row.into_iter().zip(types).enumerate() {
            if let Some(slot) = self.frame.slots.get_mut(extra + n) {
                *slot = value.clone();
            }
            if let Some(&position) = self.plan.columns.get(n) {
                self.set(position, value, ty)?;
            }
        }
        self.write_row()
    }

    fn literals(&mut self, values: &LiteralValues) -> Result<()> {
        let plain = if values.rows.len() >= blocks::ROWS_MIN { PlainRows::of(self) } else { None };
        match plain {
            Some(plain) => self.literals_in_blocks(values, &plain),
            None => values.rows.rows().try_for_each(|cells| self.literal(values, cells)),
        }
    }

    fn literal(&mut self, values: &LiteralValues, cells: &[Cell]) -> Result<()> {
        // Nothing looks at a given column before it has its value.
        self.begin_row()?;
        for (cell, &position) in cells.iter().zip(&self.plan.columns) {
            let (value, ty) = values.value(*cell);
            self.set(position, value, &ty)?;
        }
        self.write_row()
    }

    fn literals_in_blocks(&mut self, values: &LiteralValues, plain: &PlainRows<'_>) -> Result<()> {
        let (mut block, mut row, mut turnout) = (Block::default(), Vec::new(), Turnout::default());
        // What the answer says of the last row, that row leaves behind.
        let last = values.rows.len() - 1;
        for (n, cells) in values.rows.rows().enumerate() {
            self.statement.interrupt.check()?;
            if n == last || turnout.is_bad() {
                self.write_block(&mut block)?;
                self.literal(values, cells)?;
                continue;
            }
            let is_plain = self.plain_literal(values, cells, plain, &mut row);
            let added = if is_plain { plain.add(&mut row, &mut block) } else { Added::NotPlain };
            if added != Added::Done || block.is_full() {
                turnout.note(&block);
                self.write_block(&mut block)?;
            }
            match added {
                Added::Done => {}
                Added::NotAscending if plain.add(&mut row, &mut block) == Added::Done => {}
                Added::NotAscending | Added::NotPlain => self.literal(values, cells)?,
            }
        }
        Ok(())
    }

    /// Fills `row` with the values, if they are plain.
    fn plain_literal(&self, values: &LiteralValues, cells: &[Cell], plain: &PlainRows<'_>, row: &mut Vec<Value>) -> bool {
        plain.start(row);
        cells.iter().zip(&self.plan.columns).all(|(cell, &position)| {
            // What fits is read once.
            let decimal = match cell {
                Cell::Decimal { digits, negative: false } => plain.decimal(values.rows.text(*digits), position),
                _ => None,
            };
            let value = decimal.or_else(|| {
                let (value, ty) = values.value(*cell);
                plain.value(value, &ty, position)
            });
            value.is_some_and(|value| {
                row[position] = value;
                true
            })
        })
    }

    /// Fills the new row with what columns get that are not given.
    pub(crate) fn start_row(&mut self) -> Result<()> {
        let columns = self.columns();
        self.frame.slots[columns..2 * columns].fill(Value::Null);
        self.begin_row()
    }

    /// What values that read the row find in columns that get theirs later.
    fn fill_before_values(&mut self) {
        let columns = self.columns();
        let computed = self.plan.default_exprs.iter().map(|(position, _)| position);
        for &position in self.plan.columns.iter().chain(computed) {
            self.frame.slots[columns + position] = self.change.values.before_values(position);
        }
    }

    fn begin_row(&mut self) -> Result<()> {
        self.frame.statement.interrupt.check()?;
        self.records += 1;
        self.change.values.row = self.records;
        for &position in &self.others {
            let value = match self.defaults_quietly {
                true => self.change.values.default_quietly(position),
                false if self.change.waits_for_trigger(position) => Ok(None),
                false => self.change.values.default(position, false),
            };
            let value = value.unwrap_or_else(|error| {
                self.missing.get_or_insert(error);
                None
            });
            let at = self.table.def.columns.len() + position;
            self.frame.slots[at] = value.unwrap_or(Value::Null);
        }
        Ok(())
    }

    pub(crate) fn set(&mut self, position: usize, value: Value, ty: &ColumnType) -> Result<()> {
        let at = self.columns() + position;
        self.frame.slots[at] = self.change.given(value, ty, position, self.several_rows)?;
        Ok(())
    }

    /// As `set` of a text, if it is a number as an integer column holds it; false: it was not looked at.
    pub(crate) fn set_digits(&mut self, position: usize, text: &[u8]) -> bool {
        let Some(value) = stored_digits(text, &self.table.def.columns[position].ty) else { return false };
        let at = self.columns() + position;
        self.frame.slots[at] = value;
        true
    }

    pub(crate) fn set_default(&mut self, position: usize) -> Result<()> {
        let value = self.change.values.default(position, true)?.unwrap_or(Value::Null);
        let at = self.columns() + position;
        self.frame.slots[at] = value;
        Ok(())
    }

    /// Sends the new row, whose given columns have their values, through `change`.
    pub(crate) fn write_row(&mut self) -> Result<()> {
        // What is wrong with given values is said first.
        if let Some(error) = self.missing.take() {
            return Err(error);
        }
        self.updated_id = None;
        let columns = self.columns();
        let completed = self.change.complete(&mut self.frame, columns, &self.plan.default_exprs, self.several_rows)?;
        let generated = match completed {
            Completed::Ready { generated } => generated,
            Completed::Refused => {
                self.refused += 1;
                return Ok(());
            }
            Completed::OutOfView => {
                self.out_of_view += 1;
                return Ok(());
            }
            Completed::Orphan => {
                self.orphans += 1;
                return Ok(());
            }
        };
        loop {
            let duplicate = match self.change.insert(&self.frame.slots[columns..2 * columns])? {
                Written::Done => {
                    self.changed.affected += 1;
                    self.change.note_inserted_number()?;
                    if let Some(id) = generated
                        && self.changed.generated_id == 0
                        && self.plan.through.as_ref().is_none_or(|view| view.gives_number)
                    {
                        self.changed.generated_id = id;
                    }
                    return self.change.after_insert(&self.frame.slots[columns..2 * columns]);
                }
                // IGNORE: a row without a partition, or without a parent.
                Written::Skipped if self.table.def.is_partitioned() => {
                    self.duplicates += 1;
                    return Ok(());
                }
                Written::Skipped => {
                    self.change.take_back_number(generated);
                    self.orphans += 1;
                    return Ok(());
                }
                Written::Duplicate(duplicate) => duplicate,
            };
            self.duplicates += 1;
            let counts = self.plan.replace || matches!(self.plan.source, InsertSource::Query(_));
            self.change.note_number_of_duplicate(counts)?;
            if !self.plan.replace {
                self.change.take_back_number(generated);
            }
            if self.plan.replace {
                match self.replace_existing(&duplicate)? {
                    Replaced::Deleted => continue,
                    Replaced::Changed => {}
                    Replaced::Same => self.duplicates -= 1,
                }
                return self.change.after_insert(&self.frame.slots[columns..2 * columns]);
            }
            if !self.plan.on_duplicate.is_empty() {
                return self.update_existing(&duplicate);
            }
            return self.change.report_duplicate(&duplicate, &self.frame.slots[columns..2 * columns]);
        }
    }

    /// REPLACE of the row that is there: deletes it, or leaves it if it is the new row already. As in MySQL only a row that is found by the
    /// last unique index is compared, or changed, if others refer to it, so that they keep their parent.
    fn replace_existing(&mut self, duplicate: &Duplicate) -> Result<Replaced> {
        let Some(old) = self.change.rows.lock_existing(duplicate)? else { return Ok(Replaced::Deleted) };
        let is_last = self.table.def.indexes.iter().skip(duplicate.index + 1).all(|index| index.kind != IndexKind::Unique);
        let columns = self.columns();
        self.changed.affected += 1;
        // Triggers of DELETE see every row that goes.
        let is_last = is_last && !self.change.fires_delete();
        let new = self.change.as_stored(&self.frame.slots[columns..2 * columns]);
        if is_last && self.change.rows.is_parent() {
            let new = new.to_vec();
            if self.change.rows.update(&duplicate.clustered_key, &old, &new)? == Written::Done {
                self.changed.affected += 1;
                self.deleted += 1;
                return Ok(Replaced::Changed);
            }
        } else if is_last && is_same_row(&self.table.def, &old, new) {
            return Ok(Replaced::Same);
        }
        self.change.delete_row(&duplicate.clustered_key, &old)?;
        self.deleted += 1;
        Ok(Replaced::Deleted)
    }

    fn update_existing(&mut self, duplicate: &Duplicate) -> Result<()> {
        let key = &duplicate.clustered_key;
        let Some(old) = self.change.rows.lock_existing(duplicate)? else { return self.write_row() };
        let columns = self.columns();
        self.frame.slots[..columns].clone_from_slice(&old);
        self.change.values.to_local(&mut self.frame.slots[..columns]);
        if self.change.values.generates() {
            self.change.values.compute(&mut self.frame.slots[..columns])?;
        }
        let slots: Vec<usize> = (0..columns).collect();
        // As MySQL: behind a query NULL is an error as it is for one row.
        let several_rows = self.several_rows && !matches!(self.plan.source, InsertSource::Query(_));
        let found = Found { key, stored: Some(old), is_joined: false, several_rows };
        match self.change.evaluate(&self.plan.on_duplicate, &slots, &mut self.frame, found)? {
            Evaluated::Same => {
                self.changed.found += 1;
                // With IGNORE all rows count that change nothing, else those that were changed.
                self.duplicates -= u64::from(!self.plan.ignore);
            }
            Evaluated::Refused => {}
            Evaluated::Update(update) => {
                let updated = self.change.update(key, &update)?;
                self.updated_id = Some(self.change.number(&update.new));
                if updated {
                    self.change.note_updated_number(&update.new)?;
                    self.changed.affected += 2;
                    self.duplicates -= u64::from(self.plan.ignore);
                }
            }
        }
        Ok(())
    }

    /// The AUTO_INCREMENT value of the last row.
    fn row_id(&self) -> u64 {
        let columns = self.columns();
        self.updated_id.unwrap_or_else(|| self.change.number(&self.frame.slots[columns..2 * columns]))
    }
}

/// What the rows hold is the same.
fn is_same_row(table: &TableDef, old: &[Value], new: &[Value]) -> bool {
    old.iter().zip(new).zip(&table.columns).all(|((old, new), column)| old == new || !column.is_in_row())
}
