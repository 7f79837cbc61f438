//! ANALYZE, CHECK, OPTIMIZE, REPAIR and CHECKSUM TABLE.
//!
//! Each gives a result set with a row or two per table, as InnoDB's tables do; a table that is missing is a row
//! and no error. OPTIMIZE compacts the table's key ranges.

use std::sync::Arc;

use vaquita_parser::ast::{MaintenanceKind, Name, TableMaintenance};
use vaquita_plan::bind::is_dictionary_view;
use vaquita_plan::env::Level;
use vaquita_plan::expr::Expr;
use vaquita_plan::node::OutputColumn;
use vaquita_storage::{Direction, Keep, LockMode, LockPolicy, Reads, ScanOptions, Table, Transaction, Version, check_table};
use vaquita_types::errno::{ER_NO_SUCH_TABLE, ER_NO_SUCH_USER, ER_WRONG_OBJECT};
use vaquita_types::schema::{StoredObject, TableDef};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::checksum::row_crc;
use super::engines;
use super::views::columns_of_view;
use super::{Ddl, Outcome, ResultRows, text_column};

/// How often a scan looks whether it was killed.
const INTERRUPT_EVERY: u64 = 4096;

/// What InnoDB says of OPTIMIZE.
const RECREATES: &str = "Table does not support optimize, doing recreate + analyze instead";

/// Msg_type and Msg_text.
pub(super) type Message = (&'static str, String);

impl Ddl<'_> {
    pub fn maintain(&self, statement: &TableMaintenance) -> Result<Outcome> {
        if statement.histogram.is_some() {
            return Err(Error::unsupported("histograms"));
        }
        if statement.kind == MaintenanceKind::Checksum {
            // No table keeps a sum, which is all that QUICK would look at.
            let quick = statement.options.iter().any(|o| o == "QUICK");
            return self.checksums(&statement.tables, quick);
        }
        let extended = statement.options.iter().any(|o| o == "EXTENDED");
        let mut rows = Vec::new();
        for name in &statement.tables {
            let database = self.database_of(name)?;
            if let Some(table) = self.system_table(database, &name.name)? {
                push_rows(
                    &format!("{}.{}", table.database, table.name),
                    statement.kind,
                    of_system_table(statement.kind, &table),
                    &mut rows,
                );
                continue;
            }
            let full = format!("{database}.{}", name.name);
            let messages = match self.catalog.table(database, &name.name)? {
                Some(table) => self.messages(statement.kind, &table, extended, None)?,
                None => match self.view(name)? {
                    Some(view) => self.messages_of_view(statement.kind, &view),
                    None => missing(database, name),
                },
            };
            push_rows(&full, statement.kind, messages, &mut rows);
        }
        Ok(answer(rows))
    }

    fn messages_of_view(&self, kind: MaintenanceKind, view: &Arc<StoredObject>) -> Vec<Message> {
        if kind != MaintenanceKind::Check {
            let wrong = Error::new(&ER_WRONG_OBJECT, &[&view.database, &view.name, &"BASE TABLE"]);
            return vec![("Error", wrong.message().to_string()), ("status", "Operation failed".to_string())];
        }
        let checked = columns_of_view(self.catalog, view).and_then(|_| match (self.has_account)(&view.definer) {
            true => Ok(()),
            false => Err(Error::new(&ER_NO_SUCH_USER, &[&view.definer.user, &view.definer.host])),
        });
        match checked {
            Ok(()) => vec![("status", "OK".to_string())],
            Err(error) => vec![("Error", error.message().to_string()), ("error", "Corrupt".to_string())],
        }
    }

    /// `among`: the numbers of the partitions that are named.
    pub(super) fn messages(
        &self,
        kind: MaintenanceKind,
        table: &Arc<Table>,
        extended: bool,
        among: Option<&[usize]>,
    ) -> Result<Vec<Message>> {
        let messages = self.messages_of_rows(kind, table, extended, among)?;
        let is_fine = messages.iter().all(|(kind, _)| matches!(*kind, "status" | "note"));
        Ok(match engines::maintained(&table.def.options.engine, kind).filter(|_| is_fine && !table.def.is_partitioned()) {
            Some(Ok(())) => vec![("status", "OK".to_string())],
            Some(Err(what)) => vec![("note", format!("The storage engine for the table doesn't support {what}"))],
            None => messages,
        })
    }

    fn messages_of_rows(
        &self,
        kind: MaintenanceKind,
        table: &Arc<Table>,
        extended: bool,
        among: Option<&[usize]>,
    ) -> Result<Vec<Message>> {
        let ok = || ("status", "OK".to_string());
        Ok(match kind {
            MaintenanceKind::Analyze => {
                self.catalog.analyze_table(table, &self.context)?;
                vec![ok()]
            }
            MaintenanceKind::Check => {
                let mut txn = self.transaction();
                let table = &self.opened(table, &mut txn)?;
                let report = check_table(self.catalog.store(), table, &mut txn, extended, &self.context.interrupt)?;
                match report.findings.is_empty() {
                    true => self.misplaced(table, among)?.map_or_else(|| vec![ok()], |found| found.messages(&table.def)),
                    false => {
                        let mut lines: Vec<Message> = report.findings.into_iter().map(|finding| ("Warning", finding)).collect();
                        lines.push(("error", "Corrupt".to_string()));
                        lines
                    }
                }
            }
            MaintenanceKind::Optimize => {
                for id in table.def.index_ids() {
                    let range = vaquita_storage::key::index_range(id);
                    self.catalog.store().compact_data_range(&range.lower, &range.upper)?;
                }
                self.catalog.analyze_table(table, &self.context)?;
                vec![("note", RECREATES.to_string()), ok()]
            }
            MaintenanceKind::Repair if table.def.is_partitioned() => self.repair(table, among)?,
            MaintenanceKind::Repair | MaintenanceKind::Checksum => {
                vec![("note", "The storage engine for the table doesn't support repair".to_string())]
            }
        })
    }

    fn checksums(&self, tables: &[Name], quick: bool) -> Result<Outcome> {
        let mut rows = Vec::new();
        for name in tables {
            let database = self.database_of(name)?;
            if let Some(table) = self.system_table(database, &name.name)? {
                if !is_dictionary_view(&table.database, &table.name) {
                    return Err(Error::unsupported("CHECKSUM TABLE of system tables"));
                }
                self.session.warn(Level::Error, Error::new(&ER_WRONG_OBJECT, &[&table.database, &table.name, &"BASE TABLE"]));
                rows.push(vec![Value::from(format!("{}.{}", table.database, table.name)), Value::Null]);
                continue;
            }
            let sum = match self.catalog.table(database, &name.name)? {
                Some(_) if quick => Value::Null,
                Some(table) => Value::Int(self.checksum(&table)? as i64),
                None => {
                    let error = match self.view(name)? {
                        Some(_) => Error::new(&ER_WRONG_OBJECT, &[&database, &name.name, &"BASE TABLE"]),
                        None => Error::new(&ER_NO_SUCH_TABLE, &[&database, &name.name]),
                    };
                    self.session.warn(Level::Error, error);
                    Value::Null
                }
            };
            rows.push(vec![Value::from(format!("{database}.{}", name.name)), sum]);
        }
        let number = OutputColumn { expr: Expr::slot(1, ColumnType::bigint(), true), name: "Checksum".to_string(), origin: None };
        Ok(Outcome::Rows(ResultRows { columns: vec![text_column("Table", 128, true), number], rows }))
    }

    /// The table as it is now, locked for reading.
    fn opened(&self, table: &Arc<Table>, txn: &mut Transaction) -> Result<Arc<Table>> {
        if table.def.options.temporary {
            return Ok(table.clone());
        }
        let (database, name) = (&table.def.database, &table.def.name);
        let wait = LockPolicy::Wait(self.context.wait);
        let now = self.catalog.open_table(txn, database, name, LockMode::IS, wait)?;
        now.ok_or_else(|| Error::new(&ER_NO_SUCH_TABLE, &[database, name]))
    }

    /// The sum of the rows' sums, so that their order does not matter.
    fn checksum(&self, table: &Arc<Table>) -> Result<u32> {
        let mut txn = self.transaction();
        let table = &self.opened(table, &mut txn)?;
        txn.begin_statement(Reads::Many);
        let options = ScanOptions { keep: Keep::Nothing, spans: false, version: Version::Snapshot, ..ScanOptions::default() };
        let generator = self.generator(&table.def)?;
        let (mut total, mut read, mut buffer) = (0u32, 0u64, Vec::new());
        table.for_each_stored(|part| {
            let mut cursor = txn.scan(part.codec.clustered().all(), Direction::Forward, options)?;
            while let Some((key, value)) = cursor.next(&txn)? {
                read += 1;
                if read.is_multiple_of(INTERRUPT_EVERY) {
                    self.context.interrupt.check()?;
                }
                let mut row = part.codec.decode_row(key, value)?;
                generator.fill(&mut row)?;
                total = total.wrapping_add(row_crc(&table.def, &row, &mut buffer));
            }
            Ok(())
        })?;
        Ok(total)
    }
}

fn word(kind: MaintenanceKind) -> &'static str {
    match kind {
        MaintenanceKind::Analyze => "analyze",
        MaintenanceKind::Check => "check",
        MaintenanceKind::Optimize => "optimize",
        MaintenanceKind::Repair | MaintenanceKind::Checksum => "repair",
    }
}

fn push_rows(full: &str, statement: MaintenanceKind, messages: impl IntoIterator<Item = Message>, rows: &mut Vec<Vec<Value>>) {
    for (kind, text) in messages {
        rows.push(vec![Value::from(full), Value::from(word(statement)), Value::from(kind), Value::from(text)]);
    }
}

fn answer(rows: Vec<Vec<Value>>) -> Outcome {
    let columns = vec![
        text_column("Table", 128, true),
        text_column("Op", 10, true),
        text_column("Msg_type", 10, true),
        text_column("Msg_text", 131_072, true),
    ];
    Outcome::Rows(ResultRows { columns, rows })
}

/// What ALTER TABLE … CHECK PARTITION and the like give.
pub(super) fn outcome(full: &str, kind: MaintenanceKind, messages: impl IntoIterator<Item = Message>) -> Outcome {
    let mut rows = Vec::new();
    push_rows(full, kind, messages, &mut rows);
    answer(rows)
}

/// Nothing of them is stored.
fn of_system_table(kind: MaintenanceKind, table: &TableDef) -> Vec<Message> {
    let ok = ("status", "OK".to_string());
    let is_stored = table.database == "mysql" || is_dictionary_view(&table.database, &table.name);
    match kind {
        MaintenanceKind::Check | MaintenanceKind::Analyze if is_stored => vec![ok],
        MaintenanceKind::Optimize if is_stored => vec![("note", RECREATES.to_string()), ok],
        _ => vec![("note", format!("The storage engine for the table doesn't support {}", word(kind)))],
    }
}

fn missing(database: &str, name: &Name) -> Vec<Message> {
    let error = Error::new(&ER_NO_SUCH_TABLE, &[&database, &name.name]);
    vec![("Error", error.message().to_string()), ("status", "Operation failed".to_string())]
}
