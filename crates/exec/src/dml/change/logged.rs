//! What the binary log is told of the rows of a table: each change, when it is written.

use vaquita_storage::{LogBuffer, Table, Transaction};
use vaquita_types::{Result, Value};

use super::values::RowBuilder;
use crate::context::{Execution, RowChange, RowCollector, RowLogging};

/// The rows of one table, for one statement.
pub(super) struct LoggedRows<'a> {
    log: &'a RowLogging<'a>,
    statement: &'a Execution<'a>,
    table: &'a Table,
    /// Computes the columns that rows do not hold, which the log has.
    virtual_columns: Option<RowBuilder<'a>>,
    /// As `RowChange` has it.
    pub left_out: Vec<usize>,
}

impl<'a> LoggedRows<'a> {
    /// `None`: nobody is told.
    pub fn of(statement: &'a Execution<'a>, table: &'a Table) -> Option<LoggedRows<'a>> {
        let log = statement.row_log.as_ref().filter(|_| !table.def.options.temporary)?;
        let computes = table.def.columns.iter().any(|column| !column.is_hidden() && !column.is_in_row());
        let virtual_columns = computes.then(|| RowBuilder::new(statement, &table.def, false));
        Some(LoggedRows { log, statement, table, virtual_columns, left_out: Vec::new() })
    }

    pub fn tell_insert(&self, row: &[Value]) -> Result<()> {
        self.tell(RowChange { before: None, after: Some(row), left_out: &self.left_out, cascades: false })
    }

    pub fn collector(&self) -> RowCollector<'a> {
        self.log.collector()
    }

    /// What was collected.
    pub fn tell_all(&self, txn: &mut Transaction, told: &LogBuffer) -> Result<()> {
        self.log.tell_all(txn, told)
    }

    pub fn tell(&self, change: RowChange<'_>) -> Result<()> {
        let Some(columns) = &self.virtual_columns else {
            return self.log.tell(&mut self.statement.txn.borrow_mut(), self.table, change);
        };
        let before = change.before.map(|row| self.with_virtual_columns(columns, row)).transpose()?;
        let after = change.after.map(|row| self.with_virtual_columns(columns, row)).transpose()?;
        let change = RowChange { before: before.as_deref(), after: after.as_deref(), ..change };
        self.log.tell(&mut self.statement.txn.borrow_mut(), self.table, change)
    }

    fn with_virtual_columns(&self, columns: &RowBuilder<'_>, row: &[Value]) -> Result<Vec<Value>> {
        let mut local = row.to_vec();
        columns.to_local(&mut local);
        self.statement.quietly(|| columns.compute(&mut local))?;
        let _ = columns.to_utc(&mut local);
        let mut whole = row.to_vec();
        for (position, _) in self.table.def.columns.iter().enumerate().filter(|(_, column)| !column.is_in_row()) {
            whole[position] = std::mem::take(&mut local[position]);
        }
        Ok(whole)
    }
}
