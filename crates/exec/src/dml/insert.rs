//! INSERT and REPLACE.
//!
//! The frame holds the existing row (ON DUPLICATE KEY UPDATE), the new row, and the output of a source query, in
//! this order. For each source row: defaults, then the given values left to right, then AUTO_INCREMENT, then the row is
//! written. A duplicate is an error, a skipped row (IGNORE), a deleted row (REPLACE) or an update.

use vaquita_plan::env::Level;
use vaquita_plan::expr::Expr;
use vaquita_plan::literal_values::LiteralValues;
use vaquita_plan::node::{InsertPlan, InsertSource, QueryPlan};
use vaquita_plan::visit::plan_reads_table;
use vaquita_storage::{Buffers, Duplicate, LockMode, Table, Version, Written};
use vaquita_types::errno::{ER_AUTOINC_READ_FAILED, ER_WARN_DATA_OUT_OF_RANGE};
use vaquita_types::schema::{IndexKind, TableDef};
use vaquita_types::{ColumnType, Error, Result, Value, sql_mode};

use super::row::{RowBuilder, stored_digits};
use super::{Changed, group_numbers};
use crate::context::Statement;
use crate::op::Frame;

/// A running INSERT; LOAD DATA drives one too.
pub(crate) struct Insert<'a> {
    plan: &'a InsertPlan,
    statement: &'a Statement<'a>,
    table: &'a Table,
    pub(crate) builder: RowBuilder<'a>,
    pub(crate) frame: Frame<'a>,
    buffers: Buffers,
    /// Positions of columns that get no value.
    others: Vec<usize>,
    automatic: Option<usize>,
    /// Where its numbers are counted, if not in the table's counter.
    counting_index: Option<(usize, usize)>,
    /// Whether SET insert_id gave the first number is known; the number that follows that one.
    asked_for_given: bool,
    after_given: Option<u64>,
    /// The row with TIMESTAMPs in UTC, if those differ.
    utc: Vec<Value>,
    several_rows: bool,
    pub(crate) records: u64,
    duplicates: u64,
    /// Rows that REPLACE deleted.
    pub(crate) deleted: u64,
    /// Rows that a CHECK constraint refused.
    pub(crate) refused: u64,
    /// A column that is not given and has no default gets its type's zero, without a word.
    pub(crate) defaults_quietly: bool,
    pub(crate) changed: Changed,
    /// The AUTO_INCREMENT value of the row that ON DUPLICATE KEY UPDATE changed instead of inserting the last one.
    updated_id: Option<u64>,
}

pub fn run(plan: &InsertPlan, statement: &Statement<'_>) -> Result<Changed> {
    let table = statement.open_table(&plan.table, LockMode::IX)?;
    let several_rows = match &plan.source {
        InsertSource::Values(rows) => rows.len() > 1,
        InsertSource::Literals(values) => values.rows.len() > 1,
        InsertSource::Query(_) => true,
    };
    let mut insert = Insert::new(plan, statement, &table, several_rows);
    match &plan.source {
        InsertSource::Values(rows) => {
            for row in rows {
                insert.values(row)?;
            }
        }
        InsertSource::Literals(values) => insert.literals(values)?,
        InsertSource::Query(query) => insert.query(query)?,
    }
    let row_id = insert.row_id();
    let mut changed = insert.changed;
    changed.row_id = if changed.affected > 0 { row_id } else { 0 };
    changed.found += changed.affected;
    if several_rows {
        let warnings = statement.session.warning_count();
        changed.info = format!("Records: {}  Duplicates: {}  Warnings: {}", insert.records, insert.duplicates, warnings);
    }
    Ok(changed)
}

impl<'a> Insert<'a> {
    pub(crate) fn new(plan: &'a InsertPlan, statement: &'a Statement<'a>, table: &'a Table, several_rows: bool) -> Insert<'a> {
        let width = plan.frame_width.max(2 * table.def.columns.len());
        Insert {
            plan,
            statement,
            table,
            builder: RowBuilder::new(statement, &table.def, plan.ignore),
            frame: Frame::new(statement, None, width),
            buffers: Buffers::default(),
            others: (0..table.def.columns.len()).filter(|n| !plan.columns.contains(n)).collect(),
            automatic: table.def.auto_increment_column(),
            counting_index: group_numbers::counting_index(&table.def),
            asked_for_given: false,
            after_given: None,
            utc: Vec::new(),
            several_rows,
            records: 0,
            duplicates: 0,
            deleted: 0,
            refused: 0,
            defaults_quietly: false,
            changed: Changed::default(),
            updated_id: None,
        }
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
        for cells in values.rows.rows() {
            // Nothing looks at a given column before it has its value.
            self.begin_row()?;
            for (cell, &position) in cells.iter().zip(&self.plan.columns) {
                let (value, ty) = values.value(*cell);
                self.set(position, value, &ty)?;
            }
            self.write_row()?;
        }
        Ok(())
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
            self.frame.slots[columns + position] = self.builder.before_values(position);
        }
    }

    fn begin_row(&mut self) -> Result<()> {
        self.frame.statement.interrupt.check()?;
        self.records += 1;
        self.builder.row = self.records;
        for &position in &self.others {
            let value = match self.defaults_quietly {
                true => self.builder.default_quietly(position)?,
                false => self.builder.default(position, false)?,
            };
            let at = self.table.def.columns.len() + position;
            self.frame.slots[at] = value.unwrap_or(Value::Null);
        }
        Ok(())
    }

    pub(crate) fn set(&mut self, position: usize, value: Value, ty: &ColumnType) -> Result<()> {
        let value = self.builder.convert(value, ty, position)?;
        let automatic = self.table.def.columns[position].auto_increment;
        let value = if automatic { value } else { self.builder.check_null(value, position, self.several_rows)? };
        let at = self.columns() + position;
        self.frame.slots[at] = value;
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
        let value = self.builder.default(position, true)?.unwrap_or(Value::Null);
        let at = self.columns() + position;
        self.frame.slots[at] = value;
        Ok(())
    }

    pub(crate) fn write_row(&mut self) -> Result<()> {
        self.updated_id = None;
        for (position, expr) in &self.plan.default_exprs {
            let value = expr.eval(&self.frame.cx())?.into_owned();
            self.set(*position, value, &expr.ty)?;
        }
        let columns = self.columns();
        // They cannot refer to the AUTO_INCREMENT column, and a refused row uses no number.
        if !self.builder.check_constraints(&self.frame.slots[columns..2 * columns])? {
            self.refused += 1;
            return Ok(());
        }
        let generated = self.auto_increment()?;
        let other = self.builder.stores_other_times();
        if other {
            self.utc.clear();
            self.utc.extend_from_slice(&self.frame.slots[columns..2 * columns]);
            self.builder.to_utc(&mut self.utc)?;
        }
        loop {
            let row = if other { &self.utc } else { &self.frame.slots[columns..2 * columns] };
            let written = {
                let mut txn = self.statement.txn.borrow_mut();
                self.table.insert(&mut txn, row, self.statement.lock_wait(), &mut self.buffers)?
            };
            let duplicate = match written {
                Written::Done => {
                    self.changed.affected += 1;
                    if let Some(id) = generated
                        && self.changed.generated_id == 0
                    {
                        self.changed.generated_id = id;
                    }
                    return Ok(());
                }
                Written::Skipped => return Ok(()),
                Written::Duplicate(duplicate) => duplicate,
            };
            let row = row.to_vec();
            self.duplicates += 1;
            if self.plan.replace {
                if self.delete_existing(&duplicate, &row)? {
                    continue;
                }
                self.duplicates -= 1;
                return Ok(());
            }
            if !self.plan.on_duplicate.is_empty() {
                return self.update_existing(&duplicate, &row);
            }
            let error = self.table.duplicate_error(&duplicate, &row);
            if !self.plan.ignore {
                return Err(error);
            }
            self.statement.session.warn(Level::Warning, error);
            return Ok(());
        }
    }

    /// Gives the next value to a column that got NULL or 0; returns it if it was generated.
    fn auto_increment(&mut self) -> Result<Option<u64>> {
        let Some(position) = self.automatic else { return Ok(None) };
        let at = self.columns() + position;
        let zero_is_a_value = self.statement.session.sql_mode() & sql_mode::NO_AUTO_VALUE_ON_ZERO != 0;
        let (given, zero) = match &self.frame.slots[at] {
            Value::Null => (None, false),
            Value::Int(i) => (u64::try_from(*i).ok(), *i == 0),
            Value::UInt(u) => (Some(*u), *u == 0),
            Value::Float(f) => (Some(*f as u64), *f == 0.0),
            _ => (None, false),
        };
        let mut txn = self.statement.txn.borrow_mut();
        let null = self.frame.slots[at].is_null();
        if !null && (!zero || zero_is_a_value) {
            if let Some(value) = given.filter(|_| self.counting_index.is_none()) {
                txn.note_auto_increment(self.table.def.id, value)?;
            }
            return Ok(None);
        }
        let (increment, offset) = self.statement.session.auto_increment();
        let asked = std::mem::replace(&mut self.asked_for_given, true);
        let first = if asked { None } else { self.statement.session.take_insert_id() };
        if let Some(given) = self.after_given.or(first) {
            if self.counting_index.is_none() {
                txn.note_auto_increment(self.table.def.id, given)?;
                self.after_given = Some(group_numbers::following(given, increment, offset).unwrap_or(u64::MAX));
            }
            drop(txn);
            self.frame.slots[at] = self.generated_value(given, position)?;
            return Ok(Some(given));
        }
        if let Some(index) = self.counting_index {
            let mut row = self.frame.slots[self.columns()..2 * self.columns()].to_vec();
            self.builder.to_utc(&mut row)?;
            let policy = self.statement.lock_wait();
            let next = group_numbers::next(self.table, index, &row, &mut txn, policy, (increment, offset))?;
            drop(txn);
            let out_of_range = |_| {
                let column = &self.table.def.columns[position].name;
                Error::new(&ER_WARN_DATA_OUT_OF_RANGE, &[column, &(self.records.max(1))])
            };
            self.frame.slots[at] = self.generated_value(next, position).map_err(out_of_range)?;
            return Ok(Some(next));
        }
        let next = txn.next_auto_increment(self.table.def.id, 1, increment, offset)?;
        drop(txn);
        self.frame.slots[at] = self.generated_value(next, position)?;
        Ok(Some(next))
    }

    fn generated_value(&self, next: u64, position: usize) -> Result<Value> {
        let ty = &self.table.def.columns[position].ty;
        let from = ColumnType::bigint_unsigned();
        let context = vaquita_types::convert::StoreContext {
            sql_mode: sql_mode::STRICT_ALL_TABLES,
            time_zone: self.statement.session.time_zone(),
            today: vaquita_types::temporal::Date::ZERO,
        };
        vaquita_types::convert::store(Value::UInt(next), &from, ty, &context)
            .map_err(|_| Error::new(&ER_AUTOINC_READ_FAILED, &[]))
    }

    /// Locks the row that is in the way and reads it; `None` if it has gone meanwhile. Whoever changed it after our
    /// snapshot was the first committer.
    fn lock_existing(&mut self, duplicate: &Duplicate) -> Result<Option<Vec<Value>>> {
        let mut txn = self.statement.txn.borrow_mut();
        let _ = txn.lock_row(&duplicate.clustered_key, LockMode::X, self.statement.lock_wait())?;
        let mut value = Vec::new();
        if !txn.get(&duplicate.clustered_key, Version::Latest, &mut value)? {
            return Ok(None);
        }
        self.table.codec.decode_row(&duplicate.clustered_key, &value).map(Some)
    }

    /// REPLACE of the row that is there: deletes it, or leaves it (false) if it is the new row already. As in MySQL only a
    /// row that is found by the last unique index is compared.
    fn delete_existing(&mut self, duplicate: &Duplicate, new: &[Value]) -> Result<bool> {
        let Some(old) = self.lock_existing(duplicate)? else { return Ok(true) };
        let is_last = self.table.def.indexes.iter().skip(duplicate.index + 1).all(|index| index.kind != IndexKind::Unique);
        if is_last && old == new {
            self.changed.affected += 1;
            return Ok(false);
        }
        let mut txn = self.statement.txn.borrow_mut();
        self.table.delete(&mut txn, &duplicate.clustered_key, &old, self.statement.lock_wait(), &mut self.buffers)?;
        self.changed.affected += 1;
        self.deleted += 1;
        Ok(true)
    }

    fn update_existing(&mut self, duplicate: &Duplicate, _new_row: &[Value]) -> Result<()> {
        let Some(old) = self.lock_existing(duplicate)? else { return self.write_row() };
        let mut local = old.clone();
        self.builder.to_local(&mut local);
        let columns = self.columns();
        self.frame.slots[..columns].clone_from_slice(&local);
        let slots: Vec<usize> = (0..columns).collect();
        super::update::assign(&self.plan.on_duplicate, &slots, &self.builder, &mut self.frame)?;
        let mut new: Vec<Value> = self.frame.slots[..columns].to_vec();
        if new == local {
            self.changed.found += 1;
            // With IGNORE all rows count that change nothing, else those that were changed.
            self.duplicates -= u64::from(!self.plan.ignore);
            return Ok(());
        }
        super::update::touch_on_update(&self.table.def, &self.plan.on_duplicate, &self.builder, &mut new);
        if !self.builder.check_constraints(&new)? {
            return Ok(());
        }
        self.builder.to_utc(&mut new)?;
        self.note_updated_id(&new, &self.table.def)?;
        let written = {
            let mut txn = self.statement.txn.borrow_mut();
            self.table.update(&mut txn, &duplicate.clustered_key, &old, &new, self.statement.lock_wait(), &mut self.buffers)?
        };
        match written {
            Written::Duplicate(other) if !self.plan.ignore => Err(self.table.duplicate_error(&other, &new)),
            Written::Duplicate(other) => {
                self.statement.session.warn(Level::Warning, self.table.duplicate_error(&other, &new));
                Ok(())
            }
            _ => {
                self.changed.affected += 2;
                self.duplicates -= u64::from(self.plan.ignore);
                Ok(())
            }
        }
    }

    fn note_updated_id(&mut self, new: &[Value], def: &TableDef) -> Result<()> {
        if let Some(position) = def.auto_increment_column() {
            let id = id_of(&new[position]);
            if self.counting_index.is_none() {
                self.statement.txn.borrow_mut().note_auto_increment(def.id, id)?;
            }
            self.updated_id = Some(id);
        }
        Ok(())
    }

    /// The AUTO_INCREMENT value of the last row.
    fn row_id(&self) -> u64 {
        let of_new = || self.automatic.map_or(0, |position| id_of(&self.frame.slots[self.columns() + position]));
        self.updated_id.unwrap_or_else(of_new)
    }
}

/// As an OK packet has it.
fn id_of(value: &Value) -> u64 {
    match value {
        Value::Int(i) => *i as u64,
        Value::UInt(u) => *u,
        Value::Float(f) => *f as i64 as u64,
        _ => 0,
    }
}
