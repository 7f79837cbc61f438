//! The triggers of one table, for one statement: which there are, and how a row goes through those of an event and time.
//!
//! Rows are shown in the session's time zone, with all generated columns. Triggers themselves run in the session (`context::Functions::fire`).
//!
//! Example: `INSERT INTO t VALUES (NULL, 1)` with a trigger BEFORE INSERT that sets NEW.b: the trigger sees 0 for the number that
//! AUTO_INCREMENT will give and the generated columns of what is given; NOT NULL is looked at for what it leaves behind, the generated columns
//! are computed again, then the number is drawn.

use vaquita_storage::{Table, Written};
use vaquita_types::errno::ER_FK_CASCADE_TRIGGER_UPDATING_FK_COLUMNS_NOT_SUPPORTED;
use vaquita_types::schema::{ColumnDefault, TriggerEvent, TriggerTime};
use vaquita_types::{Error, Result, TypeKind, Value};

use super::TableChange;
use super::foreign_keys::Chain;
use super::values::{RowBuilder, implicit_default};
use crate::context::{Execution, KeptTriggers, NewRow, TriggeredRow};

/// There are none for most tables, which is all that they pay.
pub(super) struct Triggers<'a> {
    statement: &'a Execution<'a>,
    table: &'a Table,
    kept: KeptTriggers,
    /// Columns that an INSERT gives no value.
    pub left_out: Vec<usize>,
    /// By event and time.
    present: [[bool; 2]; 3],
}

impl<'a> Triggers<'a> {
    pub fn of(statement: &'a Execution<'a>, table: &'a Table) -> Option<Box<Triggers<'a>>> {
        if table.def.triggers.is_empty() {
            return None;
        }
        let mut present = [[false; 2]; 3];
        for trigger in &table.def.triggers {
            present[trigger.event as usize][trigger.time as usize] = true;
        }
        Some(Box::new(Triggers { statement, table, kept: KeptTriggers::default(), left_out: Vec::new(), present }))
    }

    pub fn has(&self, event: TriggerEvent, time: TriggerTime) -> bool {
        self.present[event as usize][time as usize]
    }

    /// Runs those of an event and time, in their order.
    fn fire(&mut self, event: TriggerEvent, time: TriggerTime, old: &[Value], new: NewRow<'_>) -> Result<()> {
        if !self.has(event, time) {
            return Ok(());
        }
        let mut row = TriggeredRow { table: &self.table.def, event, time, old, new };
        self.statement.functions.fire(&mut row, &mut self.kept, self.statement)
    }
}

/// Of rows as they are stored: what triggers see.
pub(super) fn shown(stored: &[Value], values: &RowBuilder<'_>) -> Result<Vec<Value>> {
    let mut row = stored.to_vec();
    values.to_local(&mut row);
    if values.generates() {
        values.compute(&mut row)?;
    }
    Ok(row)
}

fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Int(0) | Value::UInt(0)) || matches!(value, Value::Float(number) if *number == 0.0)
}

impl TableChange<'_> {
    /// Whether the table has triggers for this.
    pub(super) fn fires(&self, event: TriggerEvent, time: TriggerTime) -> bool {
        self.triggers.as_ref().is_some_and(|triggers| triggers.has(event, time))
    }

    /// A row that goes is seen by triggers.
    pub fn fires_delete(&self) -> bool {
        self.fires(TriggerEvent::Delete, TriggerTime::Before) || self.fires(TriggerEvent::Delete, TriggerTime::After)
    }

    /// A row that changes is seen by triggers.
    pub fn fires_update(&self) -> bool {
        self.fires(TriggerEvent::Update, TriggerTime::Before) || self.fires(TriggerEvent::Update, TriggerTime::After)
    }

    /// INSERT gives these columns no value. Of those that need one and may get it from a trigger, none is said to lack it before.
    pub fn leave_out(&mut self, columns: &[usize]) {
        if let Some(triggers) = &mut self.triggers {
            triggers.left_out = columns.to_vec();
        }
        self.rows.leave_out(columns);
    }

    /// A column that gets no value but needs one waits for what triggers give it.
    pub fn waits_for_trigger(&self, position: usize) -> bool {
        let column = &self.table.def.columns[position];
        self.nulls_after_insert
            && !column.nullable
            && !column.auto_increment
            && column.generated.is_none()
            && column.ty.kind != TypeKind::Enum
            && matches!(column.default, ColumnDefault::None)
    }

    /// The triggers before a new row, and behind them NOT NULL.
    pub(super) fn before_insert(&mut self, row: &mut [Value], several_rows: bool) -> Result<()> {
        if self.values.generates() {
            self.values.compute_all(row)?;
        }
        let number = self.table.def.auto_increment_column();
        let asks = number.filter(|number| row[*number].is_null());
        if let Some(number) = asks {
            row[number] = implicit_default(&self.table.def.columns[number]);
        }
        if let Some(triggers) = &mut self.triggers {
            triggers.fire(TriggerEvent::Insert, TriggerTime::Before, &[], NewRow::Open(row))?;
        }
        if let Some(number) = asks.filter(|number| is_zero(&row[*number])) {
            row[number] = Value::Null;
        }
        let left_out = self.triggers.as_ref().map_or(&[][..], |triggers| &triggers.left_out);
        self.check_nulls(row, left_out, several_rows)
    }

    /// The triggers before a row is changed, and behind them NOT NULL.
    pub(super) fn before_update(&mut self, before: &[Value], new: &mut [Value], several_rows: bool) -> Result<()> {
        if self.values.generates() {
            self.values.compute_all(new)?;
        }
        if let Some(triggers) = &mut self.triggers {
            triggers.fire(TriggerEvent::Update, TriggerTime::Before, before, NewRow::Open(new))?;
        }
        self.check_nulls(new, &[], several_rows)
    }

    /// `left_out`: columns that the statement gives no value.
    fn check_nulls(&self, row: &mut [Value], left_out: &[usize], several_rows: bool) -> Result<()> {
        for (position, column) in self.table.def.columns.iter().enumerate() {
            if column.nullable || column.auto_increment || column.generated.is_some() || !row[position].is_null() {
                continue;
            }
            row[position] = match left_out.contains(&position) {
                true => self.values.default(position, false)?.unwrap_or(Value::Null),
                false => self.values.check_null(Value::Null, position, several_rows)?,
            };
        }
        Ok(())
    }

    /// The triggers behind a row that was inserted, in the session's time zone.
    pub fn after_insert(&mut self, row: &[Value]) -> Result<()> {
        match &mut self.triggers {
            None => Ok(()),
            Some(triggers) => triggers.fire(TriggerEvent::Insert, TriggerTime::After, &[], NewRow::Written(row)),
        }
    }

    /// The triggers behind a row that was changed, or would have been, as it is stored.
    #[inline]
    pub(super) fn after_update(&mut self, old: &[Value], new: &[Value]) -> Result<()> {
        if self.triggers.is_none() { Ok(()) } else { self.fire_after_update(old, new) }
    }

    fn fire_after_update(&mut self, old: &[Value], new: &[Value]) -> Result<()> {
        if !self.fires(TriggerEvent::Update, TriggerTime::After) {
            return Ok(());
        }
        let (old, new) = (shown(old, &self.values)?, shown(new, &self.values)?);
        self.after_same(&old, &new)
    }

    /// As `after_update`, in the session's time zone.
    pub(super) fn after_same(&mut self, old: &[Value], new: &[Value]) -> Result<()> {
        match &mut self.triggers {
            None => Ok(()),
            Some(triggers) => triggers.fire(TriggerEvent::Update, TriggerTime::After, old, NewRow::Written(new)),
        }
    }

    /// Deletes a row that is locked, with its triggers; false: it is gone already, or must stay (IGNORE).
    pub fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let Some(old) = self.rows.get(key)? else { return Ok(false) };
        self.delete_row(key, &old)
    }

    /// As `delete`, of a row that the caller has read as it is stored.
    pub fn delete_row(&mut self, key: &[u8], old: &[Value]) -> Result<bool> {
        let image = if self.fires_delete() { shown(old, &self.values)? } else { Vec::new() };
        if let Some(triggers) = &mut self.triggers {
            triggers.fire(TriggerEvent::Delete, TriggerTime::Before, &image, NewRow::None)?;
        }
        let gone = match self.values.ignores() {
            true => self.rows.ignoring(|rows| rows.delete_row(key, old))?.is_some(),
            false => self.rows.delete_row(key, old).map(|()| true)?,
        };
        if gone && let Some(triggers) = &mut self.triggers {
            triggers.fire(TriggerEvent::Delete, TriggerTime::After, &image, NewRow::None)?;
        }
        Ok(gone)
    }
    /// Deletes a row of a cascade, as it is stored.
    pub(super) fn delete_in_cascade(&mut self, key: &[u8], old: &[Value], chain: &Chain<'_>) -> Result<()> {
        let image = if self.fires_delete() { shown(old, &self.values)? } else { Vec::new() };
        if let Some(triggers) = &mut self.triggers {
            triggers.fire(TriggerEvent::Delete, TriggerTime::Before, &image, NewRow::None)?;
        }
        self.rows.delete_within(key, old, chain)?;
        match &mut self.triggers {
            None => Ok(()),
            Some(triggers) => triggers.fire(TriggerEvent::Delete, TriggerTime::After, &image, NewRow::None),
        }
    }

    /// Changes a row of a cascade, as it is stored, to `changed`, of which triggers may set other `columns` than those of the key
    /// (error 6576).
    pub(super) fn update_in_cascade(
        &mut self,
        key: &[u8],
        old: &[Value],
        changed: &[Value],
        (columns, chain): (&[usize], &Chain<'_>),
    ) -> Result<Written> {
        if !self.fires_update() {
            return self.rows.update_within(key, old, changed, chain);
        }
        let (before, given) = (shown(old, &self.values)?, shown(changed, &self.values)?);
        let mut new = given.clone();
        self.before_update(&before, &mut new, true)?;
        if columns.iter().any(|column| new.get(*column) != given.get(*column)) {
            return Err(Error::new(&ER_FK_CASCADE_TRIGGER_UPDATING_FK_COLUMNS_NOT_SUPPORTED, &[]));
        }
        if self.values.generates() {
            self.values.generate(&mut new)?;
        }
        self.values.check_constraints(&new)?;
        if self.values.stores_other_times() {
            self.values.to_utc_where_changed(&mut new, &before, old);
        }
        let written = self.rows.update_within(key, old, &new, chain)?;
        if written == Written::Done {
            self.numbers.note_changed(old, &new)?;
            self.after_update(old, &new)?;
        }
        Ok(written)
    }
}
