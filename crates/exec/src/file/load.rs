//! LOAD DATA and LOAD XML: the rows of a file, inserted one after the other.
//!
//! 1. Fields fill columns and user variables; NULL in a NOT NULL column and a missing field become the type's zero with
//!    warning 1263 or 1261.
//! 2. SET is evaluated over the row.
//! 3. The row is written as INSERT, REPLACE or INSERT IGNORE would write it.
//!
//! In strict mode the first warning is the statement's error; IGNORE and LOCAL go on.

use vaquita_plan::node::{LoadPlan, LoadTarget};
use vaquita_storage::{LockMode, Table};
use vaquita_types::charset::{self, CollationId};
use vaquita_types::errno::{ER_WARN_NULL_TO_NOTNULL, ER_WARN_TOO_FEW_RECORDS, ER_WARN_TOO_MANY_RECORDS};
use vaquita_types::schema::ColumnDefault;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, sql_mode};

use super::FileFormat;
use super::reader::{Field, FileSource, Reader};
use super::xml::XmlRows;
use crate::context::Execution;
use crate::dml::Changed;
use crate::dml::insert::Insert;

/// Rows between two looks at the interrupt.
const INTERRUPT_ROWS: u64 = 1 << 8;

pub(super) struct Load<'a> {
    pub(super) plan: &'a LoadPlan,
    pub(super) statement: &'a Execution<'a>,
    table: &'a Table,
    pub(super) insert: Insert<'a>,
    /// The type of fields: strings in the charset of the file.
    pub(super) text: ColumnType,
}

/// Inserts the rows of `source`, whose text has the collation `text`; `info` of the answer counts them.
pub fn load(
    plan: &LoadPlan,
    format: &FileFormat,
    text: CollationId,
    statement: &Execution<'_>,
    source: &mut dyn FileSource,
) -> Result<Changed> {
    if sql_mode::is_strict(statement.session.sql_mode()) && !plan.insert.ignore {
        statement.raise_warnings();
    }
    let table = statement.open_table(&plan.insert.table, LockMode::IX)?;
    let mut insert = Insert::new(&plan.insert, statement, &table, true)?;
    insert.defaults_quietly = true;
    let mut load = Load { plan, statement, table: &table, insert, text: ColumnType::varchar(0, text) };
    let loaded = match &plan.xml_rows {
        Some(rows) => load.xml(XmlRows::new(source, rows, &|| statement.interrupt.check_in_turn())),
        None => load.in_chunks(source, format),
    };
    if let Err(error) = loaded {
        load.insert.tell_number_of_failed();
        return Err(error);
    }
    let Insert { records, refused, out_of_view, deleted, mut changed, .. } = load.insert;
    let records = records - refused - out_of_view;
    let skipped = (records + deleted).saturating_sub(changed.affected);
    let warnings = statement.session.warning_count();
    changed.found = changed.affected;
    changed.info = format!("Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}");
    Ok(changed)
}

impl Load<'_> {
    /// Passes by the lines that are ignored; whether others may follow.
    pub(super) fn pass_lines(&self, reader: &mut Reader<'_>) -> Result<bool> {
        let mut more = true;
        for _ in 0..self.plan.ignore_lines {
            if !more {
                break;
            }
            more = reader.next_line()?.more;
        }
        Ok(more)
    }

    /// Inserts the rows of lines, one after the other.
    pub(super) fn lines(&mut self, mut reader: Reader<'_>, fixed_size: bool) -> Result<()> {
        let mut more = true;
        while more {
            let found = if fixed_size { self.fixed_fields(&mut reader)? } else { self.fields(&mut reader)? };
            if !found {
                break;
            }
            self.write_row()?;
            let end = reader.next_line()?;
            if end.cut {
                self.insert.change.values.warn_or_fail(Error::new(&ER_WARN_TOO_MANY_RECORDS, &[&self.insert.records]))?;
            }
            more = end.more;
        }
        Ok(())
    }

    fn xml(&mut self, mut rows: XmlRows<'_>) -> Result<()> {
        let mut passed = 0;
        while rows.next_row()? {
            if passed < self.plan.ignore_lines {
                passed += 1;
                self.statement.interrupt.check_in_turn()?;
                continue;
            }
            self.insert.start_row()?;
            let plan = self.plan;
            for (target, name) in plan.targets.iter().zip(&plan.names) {
                let field = rows.field(name.as_bytes()).map(Value::bytes);
                match (target, field) {
                    (LoadTarget::Generated(_), _) => {}
                    (LoadTarget::UserVar(name), field) => {
                        self.statement.session.set_user_var(name, field.map_or(Value::Null, |value| self.variable(value)))?
                    }
                    (LoadTarget::Column(column), Some(value)) => self.insert.set(*column, value, &self.text)?,
                    (LoadTarget::Column(column), None) => self.null(*column)?,
                }
            }
            self.write_row()?;
        }
        Ok(())
    }

    /// Evaluates SET and inserts the row.
    fn write_row(&mut self) -> Result<()> {
        if self.insert.records.is_multiple_of(INTERRUPT_ROWS) {
            self.statement.interrupt.check_in_turn()?;
        }
        for assignment in &self.plan.set {
            match &assignment.value {
                Some(expr) => {
                    let value = expr.eval(&self.insert.frame.cx())?.into_owned();
                    self.insert.set(assignment.column, value, &expr.ty)?;
                }
                None => self.insert.set_default(assignment.column)?,
            }
        }
        self.insert.write_row()?;
        self.statement.take_raised().map_or(Ok(()), Err)
    }

    fn fields(&mut self, reader: &mut Reader<'_>) -> Result<bool> {
        let plan = self.plan;
        for (n, target) in plan.targets.iter().enumerate() {
            let field = reader.field()?;
            if n == 0 {
                if field.is_none() {
                    return Ok(false);
                }
                self.insert.start_row()?;
            }
            let field = match field {
                None => None,
                Some(Field::Null) => Some(Value::Null),
                Some(Field::Text(bytes)) => {
                    if let LoadTarget::Column(column) = target
                        && self.insert.set_digits(*column, bytes)
                    {
                        continue;
                    }
                    Some(Value::bytes(bytes))
                }
            };
            match (target, field) {
                (LoadTarget::Generated(_), _) => {}
                (LoadTarget::UserVar(name), field) => {
                    self.statement.session.set_user_var(name, field.map_or(Value::Null, |value| self.variable(value)))?
                }
                (LoadTarget::Column(column), Some(Value::Null)) => self.null(*column)?,
                (LoadTarget::Column(column), Some(value)) => self.insert.set(*column, value, &self.text)?,
                (LoadTarget::Column(column), None) => self.missing(*column)?,
            }
        }
        Ok(true)
    }

    /// A variable's value in the charset of expressions.
    fn variable(&self, value: Value) -> Value {
        let from = charset::charset(self.text.collation);
        match &value {
            Value::Bytes(bytes) if !from.is_unicode() && !from.is_binary() => {
                Value::bytes(&from.convert(charset::charset(CollationId::UTF8MB4_BIN), bytes).bytes)
            }
            _ => value,
        }
    }

    fn fixed_fields(&mut self, reader: &mut Reader<'_>) -> Result<bool> {
        let plan = self.plan;
        let columns = || {
            plan.targets.iter().filter_map(|target| match target {
                LoadTarget::Column(column) | LoadTarget::Generated(column) => Some(*column),
                LoadTarget::UserVar(_) => None,
            })
        };
        let width_of = |column: usize| self.table.def.columns.get(column).map_or(0, |c| width(&c.ty));
        let width: usize = columns().map(width_of).sum();
        let Some(row) = reader.fixed_row(width)? else { return Ok(false) };
        let mut rest = row;
        self.insert.start_row()?;
        for column in columns() {
            if rest.is_empty() && self.table.def.columns.get(column).is_some_and(|column| column.generated.is_none()) {
                // Unlike in rows with separators, the column keeps its default, if that is not NULL.
                let value = self.insert.change.values.default_quietly(column)?.filter(|value| !value.is_null());
                self.put(column, value.unwrap_or_else(|| self.insert.change.values.without_value(column)));
                self.insert.change.values.warn_or_fail(Error::new(&ER_WARN_TOO_FEW_RECORDS, &[&self.insert.records]))?;
                continue;
            }
            let width = self.table.def.columns.get(column).map_or(0, |c| self::width(&c.ty));
            let (field, after) = rest.split_at(width.min(rest.len()));
            rest = after;
            if self.table.def.columns.get(column).is_some_and(|column| column.generated.is_some()) {
                continue;
            }
            self.insert.set(column, Value::bytes(field), &self.text)?;
        }
        Ok(true)
    }

    /// `\N` for a column.
    fn null(&mut self, column: usize) -> Result<()> {
        let Some(def) = self.table.def.columns.get(column) else { return Ok(()) };
        let value = if def.nullable || def.auto_increment {
            Value::Null
        } else {
            if def.ty.is_geometry() {
                return Err(Error::new(&ER_WARN_NULL_TO_NOTNULL, &[&def.name, &self.insert.records]));
            }
            if def.ty.kind != TypeKind::Timestamp {
                let error = Error::new(&ER_WARN_NULL_TO_NOTNULL, &[&def.name, &self.insert.records]);
                self.insert.change.values.warn_or_fail(error)?;
            }
            self.insert.change.values.without_value(column)
        };
        self.put(column, value);
        Ok(())
    }

    /// The row has ended before this column.
    fn missing(&mut self, column: usize) -> Result<()> {
        let Some(def) = self.table.def.columns.get(column) else { return Ok(()) };
        if def.ty.is_geometry() && !def.nullable {
            return Err(Error::new(&ER_WARN_NULL_TO_NOTNULL, &[&def.name, &self.insert.records]));
        }
        self.insert.change.values.warn_or_fail(Error::new(&ER_WARN_TOO_FEW_RECORDS, &[&self.insert.records]))?;
        let is_null = def.nullable && matches!(def.default, ColumnDefault::None | ColumnDefault::Value(Value::Null));
        let value = if is_null { Value::Null } else { self.insert.change.values.without_value(column) };
        self.put(column, value);
        Ok(())
    }

    fn put(&mut self, column: usize, value: Value) {
        let at = self.table.def.columns.len() + column;
        if let Some(slot) = self.insert.frame.slots.get_mut(at) {
            *slot = value;
        }
    }
}

/// Bytes of a column in rows of fixed size: its display width.
pub(super) fn width(ty: &ColumnType) -> usize {
    let bytes_of_char = usize::from(charset::charset(ty.collation).mbmaxlen);
    let fraction = if ty.decimals > 0 { usize::from(ty.decimals) + 1 } else { 0 };
    let labels =
        || ty.members.iter().flat_map(|labels| labels.iter()).map(|label| String::from_utf8_lossy(label).chars().count());
    match ty.kind {
        TypeKind::Decimal => ty.length as usize + usize::from(ty.decimals > 0) + usize::from(!ty.unsigned),
        TypeKind::Year => 4,
        TypeKind::Date => 10,
        TypeKind::Time => 10 + fraction,
        TypeKind::DateTime | TypeKind::Timestamp => 19 + fraction,
        TypeKind::Enum => labels().max().unwrap_or(0) * bytes_of_char,
        TypeKind::Set => (labels().sum::<usize>() + labels().count().saturating_sub(1)) * bytes_of_char,
        TypeKind::Geometry => u32::MAX as usize,
        _ if ty.is_text() => (ty.length as usize).saturating_mul(bytes_of_char),
        _ => ty.length as usize,
    }
}
