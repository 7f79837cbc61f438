//! Step 1 of a change, and the constraints: from evaluated values to the values that a row stores.

use std::cell::{OnceCell, RefCell};

use vaquita_plan::env::Level;
use vaquita_plan::eval::coerce;
use vaquita_plan::expr::Expr;
use vaquita_plan::node::ViewOrigin;
use vaquita_plan::typing;
use vaquita_types::charset::CollationId;
use vaquita_types::convert::{self, StoreContext, StoreProblem};
use vaquita_types::decimal::Decimal;
use vaquita_types::errno::{
    ER_BAD_NULL_ERROR, ER_BAD_NULL_ERROR_NOT_IGNORED, ER_CHECK_CONSTRAINT_VIOLATED, ER_DATA_TOO_LONG,
    ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG, ER_NO_DEFAULT_FOR_FIELD, ER_NO_DEFAULT_FOR_VIEW_FIELD, ER_WARN_DATA_OUT_OF_RANGE,
    ER_WARN_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX, ER_WARN_DATA_TRUNCATED_FUNCTIONAL_INDEX, WARN_DATA_TRUNCATED,
};
use vaquita_types::schema::{ColumnDef, ColumnDefault, IndexDef, TableDef};
use vaquita_types::temporal::{Date, DateTime, TimeZone, parse_datetime};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, sql_mode};

use crate::context::{Execution, already_stored, is_number, local_now, store_hex, stores_days, value_of_column};
use crate::dml::stored_exprs::{bind_checks, bind_generated};

/// Whether the local times of a row tell the moments that they mean.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Times {
    Unique,
    /// A clock change repeats one of them, of which the first was taken.
    Repeated,
}

/// Converts values for one table, raising errors or warnings as `sql_mode` asks.
pub struct RowBuilder<'a> {
    statement: &'a Execution<'a>,
    table: &'a TableDef,
    store: StoreContext<'a>,
    now: DateTime,
    strict: bool,
    /// The table has TIMESTAMP columns.
    timestamps: bool,
    /// The table has generated columns.
    generates: bool,
    /// IGNORE: errors become warnings.
    ignore: bool,
    /// CHECK constraints by name, bound when the first row is written.
    checks: OnceCell<Vec<(String, Expr)>>,
    /// Generated columns in their order, likewise.
    generated: OnceCell<Vec<(usize, Expr)>>,
    /// As MySQL: an INSERT of several rows says once of a column that it cannot be NULL.
    pub warns_of_null_once: bool,
    /// Positions of the columns that it was said of.
    null_warned: RefCell<Vec<usize>>,
    /// Counts from 1, for messages.
    pub row: u64,
    /// The view that is inserted into.
    pub view: Option<&'a ViewOrigin>,
}

impl<'a> RowBuilder<'a> {
    pub fn new(statement: &'a Execution<'a>, table: &'a TableDef, ignore: bool) -> RowBuilder<'a> {
        let mode = statement.session.sql_mode();
        let zone = statement.session.time_zone();
        let now = match table.columns.iter().any(|column| stores_days(&column.ty)) {
            true => local_now(zone, statement.session.statement_time_us()),
            false => DateTime::ZERO,
        };
        RowBuilder {
            statement,
            table,
            store: StoreContext { sql_mode: mode, time_zone: zone, today: now.date() },
            now,
            strict: sql_mode::is_strict(mode) && !ignore,
            generates: table.has_generated_columns(),
            timestamps: table.columns.iter().any(|column| column.ty.kind == TypeKind::Timestamp),
            ignore,
            checks: OnceCell::new(),
            generated: OnceCell::new(),
            warns_of_null_once: false,
            null_warned: RefCell::new(Vec::new()),
            row: 1,
            view: None,
        }
    }

    /// `value` as the column holds it, in the session's time zone.
    pub fn convert(&self, value: Value, from: &ColumnType, position: usize) -> Result<Value> {
        let column = &self.table.columns[position];
        let value = match already_stored(value, &column.ty) {
            Ok(stored) => return Ok(stored),
            Err(value) => value,
        };
        if matches!(value, Value::Bytes(_)) {
            return self.convert_bytes(value, from, column);
        }
        self.stored(convert::store(value, from, &column.ty, &self.store), column)
    }

    fn convert_bytes(&self, value: Value, from: &ColumnType, column: &ColumnDef) -> Result<Value> {
        // A parameter takes its column's type in the plan, whatever the client sends for it: text comes in the
        // connection's character set, which is utf8mb4 here.
        let text;
        let is_parameter = !from.is_bytes();
        let from = match from.is_bytes() {
            true => from,
            false => {
                text = ColumnType::varchar(0, CollationId::default());
                &text
            }
        };
        // A hexadecimal literal is a number where a number is stored.
        let stored = match value {
            Value::Bytes(bytes) if typing::is_hex_literal(from) && is_number(&column.ty) => {
                store_hex(&bytes, &column.ty, &self.store)
            }
            // A parameter's text has become a date before.
            Value::Bytes(bytes) if is_date(&column.ty) && !is_parameter => {
                self.warn_of_delimiter(&bytes);
                convert::store(Value::Bytes(bytes), from, &column.ty, &self.store)
            }
            value => convert::store(value, from, &column.ty, &self.store),
        };
        self.stored(stored, column)
    }

    /// Of a text that is a date, if not of the standard form.
    fn warn_of_delimiter(&self, text: &[u8]) {
        let is_date = || parse_datetime(text, self.store.date_flags()).is_ok();
        if let Some(warning) = coerce::delimiter_warning(text, self.row).filter(|_| is_date()) {
            self.statement.session.warn(Level::Warning, warning);
        }
    }

    /// What storing came to, with errors and warnings as the mode says.
    fn stored(&self, stored: std::result::Result<Value, Box<StoreProblem>>, column: &ColumnDef) -> Result<Value> {
        let problem = match stored {
            Ok(stored) => return Ok(stored),
            Err(problem) => problem,
        };
        // Of bits MySQL says what the mode says, also under IGNORE.
        let strict = self.strict || column.ty.kind == TypeKind::Bit && sql_mode::is_strict(self.store.sql_mode);
        let report = match column.is_hidden() {
            true => self.of_functional_index(problem.report(&self.table.name, &column.name, self.row, strict), column),
            false => problem.report(&self.table.name, &column.name, self.row, strict),
        };
        if problem.is_note(self.strict) {
            self.statement.session.warn(Level::Note, report);
        } else if self.strict || problem.always_fails() {
            return Err(report);
        } else {
            self.statement.session.warn(Level::Warning, report);
        }
        Ok(problem.adjusted)
    }

    /// An element that a multi-valued index cannot have: errors 3752 and 3751 name the index and the row.
    fn of_element(&self, error: Error, position: usize) -> Error {
        match self.table.columns.get(position) {
            Some(column) => of_element(error, self.table, column, self.row),
            None => error,
        }
    }

    /// Errors 3907, 3752 and 3751 name the index.
    fn of_functional_index(&self, error: Error, column: &ColumnDef) -> Error {
        of_functional_index(error, self.table, column, self.row)
    }

    /// NULL for a NOT NULL column: an error, or the type's zero with a warning.
    pub fn check_null(&self, value: Value, position: usize, several_rows: bool) -> Result<Value> {
        let column = &self.table.columns[position];
        if column.nullable || !value.is_null() {
            return Ok(value);
        }
        // A geometry has no zero.
        if column.ty.is_geometry() {
            return Err(Error::new(&ER_BAD_NULL_ERROR_NOT_IGNORED, &[&column.name]));
        }
        let error = Error::new(&ER_BAD_NULL_ERROR, &[&column.name]);
        if !self.ignore && (self.strict || !several_rows) {
            return Err(error);
        }
        let mut warned = self.null_warned.borrow_mut();
        let once = self.warns_of_null_once && several_rows;
        let is_known = once && warned.contains(&position);
        if !is_known {
            self.statement.session.warn(Level::Warning, error);
        }
        if once && !is_known {
            warned.push(position);
        }
        // Not the first label, which a column gets that is not given.
        Ok(if column.ty.kind == TypeKind::Enum { Value::UInt(0) } else { implicit_default(column) })
    }

    /// What a column gets that the statement gives no value for; `None` if an expression computes it.
    pub fn default(&self, position: usize, explicit: bool) -> Result<Option<Value>> {
        let column = &self.table.columns[position];
        Ok(Some(match &column.default {
            // A date that is a default may not be one under the mode.
            ColumnDefault::Value(value) if explicit && matches!(column.ty.kind, TypeKind::Date | TypeKind::DateTime) => {
                match convert::store(value.clone(), &column.ty, &column.ty, &self.store) {
                    Err(_) if !self.strict => {
                        let warning = Error::new(&ER_WARN_DATA_OUT_OF_RANGE, &[&column.name, &self.row]);
                        self.statement.session.warn(Level::Warning, warning);
                        value.clone()
                    }
                    stored => self.stored(stored, column)?,
                }
            }
            ColumnDefault::Value(value) => value.clone(),
            ColumnDefault::Now => self.now(column),
            ColumnDefault::Expr(_) => return Ok(None),
            ColumnDefault::None if column.auto_increment || column.generated.is_some() => Value::Null,
            ColumnDefault::None if column.nullable => Value::Null,
            ColumnDefault::None => {
                let error = match self.view {
                    Some(view) if !explicit => Error::new(&ER_NO_DEFAULT_FOR_VIEW_FIELD, &[&view.database, &view.name]),
                    _ => Error::new(&ER_NO_DEFAULT_FOR_FIELD, &[&column.name]),
                };
                if column.ty.kind == TypeKind::Enum {
                    return Ok(Some(Value::UInt(1)));
                }
                if self.strict || column.ty.is_geometry() {
                    return Err(error);
                }
                // A column that is not listed lacks in all rows: one warning says so.
                if explicit || self.row == 1 {
                    self.statement.session.warn(Level::Warning, error);
                }
                implicit_default(column)
            }
        }))
    }

    /// Error 3819 if a row, in the session's time zone, violates a CHECK constraint; false: it is left out (IGNORE).
    pub fn check_constraints(&self, row: &[Value]) -> Result<bool> {
        if self.table.options.checks.is_empty() {
            return Ok(true);
        }
        let checks = match self.checks.get() {
            Some(checks) => checks,
            None => {
                let bound = bind_checks(self.table, self.statement.catalog)?;
                self.checks.get_or_init(|| bound)
            }
        };
        for (name, check) in checks {
            if check.eval_bool(&self.statement.cx(row, None))? != Some(false) {
                continue;
            }
            let error = Error::new(&ER_CHECK_CONSTRAINT_VIOLATED, &[name]);
            if !self.ignore {
                return Err(error);
            }
            self.statement.session.warn(Level::Warning, error);
            return Ok(false);
        }
        Ok(true)
    }

    fn generated(&self) -> Result<&[(usize, Expr)]> {
        if let Some(bound) = self.generated.get() {
            return Ok(bound);
        }
        let bound = bind_generated(self.table, self.statement.catalog)?;
        Ok(self.generated.get_or_init(|| bound))
    }

    /// Whether `generate` has anything to do.
    pub fn generates(&self) -> bool {
        self.generates
    }

    /// Computes the generated columns of a row, in the session's time zone, of its other columns.
    pub fn generate(&self, row: &mut [Value]) -> Result<()> {
        for (position, expr) in self.generated()? {
            let value = expr.eval(&self.statement.cx(row, None)).map_err(|error| self.of_element(error, *position))?.into_owned();
            let value = self.convert(value, &expr.ty, *position)?;
            row[*position] = self.check_null(value, *position, true)?;
        }
        Ok(())
    }

    /// Fills the generated columns that rows do not hold, in a row that was read, as a scan does.
    pub fn compute(&self, row: &mut [Value]) -> Result<()> {
        self.compute_those(row, |position| !self.table.columns[position].is_in_row())
    }

    /// Fills all generated columns, for triggers.
    pub fn compute_all(&self, row: &mut [Value]) -> Result<()> {
        self.compute_those(row, |_| true)
    }

    /// Fills the generated columns before this one, for a default that may read them.
    pub fn compute_before(&self, row: &mut [Value], column: usize) -> Result<()> {
        self.compute_those(row, |position| position < column)
    }

    fn compute_those(&self, row: &mut [Value], wanted: impl Fn(usize) -> bool) -> Result<()> {
        for (position, expr) in self.generated()? {
            let column = &self.table.columns[*position];
            if wanted(*position) {
                let value = expr.eval(&self.statement.cx(row, None))?.into_owned();
                row[*position] = value_of_column(value, &expr.ty, &column.ty, self.statement.session);
            }
        }
        Ok(())
    }

    /// As `generate`, of a row as it is stored, which was `before`.
    pub fn generate_stored(&self, row: &mut [Value], before: &[Value]) -> Result<()> {
        let (mut local, mut old) = (row.to_vec(), before.to_vec());
        self.to_local(&mut local);
        self.to_local(&mut old);
        self.generate(&mut local)?;
        for (position, _) in self.generated()? {
            row[*position].clone_from(&before[*position]);
        }
        let changed: Vec<usize> = self
            .generated()?
            .iter()
            .map(|(position, _)| *position)
            .filter(|position| local[*position] != old[*position])
            .collect();
        let _ = self.to_utc(&mut local);
        changed.into_iter().for_each(|position| row[position] = std::mem::take(&mut local[position]));
        Ok(())
    }

    /// As `default`, but a column that has none gets its type's zero, without a word.
    pub fn default_quietly(&self, position: usize) -> Result<Option<Value>> {
        let column = &self.table.columns[position];
        match column.default {
            ColumnDefault::None if !column.nullable && !column.auto_increment && column.generated.is_none() => {
                Ok(Some(implicit_default(column)))
            }
            _ => self.default(position, false),
        }
    }

    /// What a given column holds until it has its value: its default as far as it is a constant, else NULL or its type's zero.
    pub fn before_values(&self, position: usize) -> Value {
        let column = &self.table.columns[position];
        match &column.default {
            ColumnDefault::Value(value) => value.clone(),
            _ if column.nullable => Value::Null,
            _ => implicit_default(column),
        }
    }

    /// A field of a file that is missing or NULL, in a column that is NOT NULL.
    pub fn without_value(&self, position: usize) -> Value {
        let column = &self.table.columns[position];
        match column.ty.kind {
            TypeKind::Timestamp => self.now(column),
            _ => implicit_default(column),
        }
    }

    /// Error of strict mode, warning otherwise.
    pub fn warn_or_fail(&self, error: Error) -> Result<()> {
        if self.strict {
            return Err(error);
        }
        self.statement.session.warn(Level::Warning, error);
        Ok(())
    }

    /// The statement's time as this column holds it.
    pub fn now(&self, column: &ColumnDef) -> Value {
        let now = self.now.to_fsp(column.ty.decimals, true, 0).unwrap_or(self.now);
        match column.ty.kind {
            TypeKind::Date => Value::Date(now.date()),
            TypeKind::Time => Value::Time(now.time()),
            _ => Value::DateTime(now),
        }
    }

    /// Whether `to_utc` changes anything.
    pub fn stores_other_times(&self) -> bool {
        self.timestamps && !matches!(self.store.time_zone, TimeZone::Utc)
    }

    /// IGNORE: errors become warnings.
    pub fn ignores(&self) -> bool {
        self.ignore
    }

    /// Rows are stored with TIMESTAMPs in UTC.
    pub fn to_utc(&self, row: &mut [Value]) -> Times {
        rows_to_utc(row, self.table, self.store.time_zone)
    }

    /// What conversion depends on.
    pub fn store_context(&self) -> &StoreContext<'a> {
        &self.store
    }

    /// The same for a row that was `before` and was stored as `old`: what has not changed stays as it is stored.
    pub fn to_utc_where_changed(&self, new: &mut [Value], before: &[Value], old: &[Value]) {
        let same: Vec<usize> = (0..new.len()).filter(|n| new[*n] == before[*n]).collect();
        let _ = self.to_utc(new);
        same.into_iter().for_each(|n| new[n].clone_from(&old[n]));
    }

    /// The opposite, for rows read to be evaluated.
    pub fn to_local(&self, row: &mut [Value]) {
        let zone = self.store.time_zone;
        if matches!(zone, TimeZone::Utc) {
            return;
        }
        for (value, column) in row.iter_mut().zip(&self.table.columns) {
            if column.ty.kind == TypeKind::Timestamp
                && let Value::DateTime(utc) = value
            {
                *value = Value::DateTime(zone.timestamp_from_utc(*utc));
            }
        }
    }
}

/// `RowBuilder::to_utc`.
pub fn rows_to_utc(row: &mut [Value], table: &TableDef, zone: &TimeZone) -> Times {
    let mut times = Times::Unique;
    for (value, column) in row.iter_mut().zip(&table.columns) {
        if column.ty.kind == TypeKind::Timestamp
            && let Value::DateTime(local) = value
        {
            // `store` has refused what is out of range.
            let utc = zone.timestamp_to_utc(*local);
            if utc.is_some_and(|utc| utc.repeated) {
                times = Times::Repeated;
            }
            *value = Value::DateTime(utc.map_or(DateTime::ZERO, |utc| utc.value));
        }
    }
    times
}

pub fn is_date(ty: &ColumnType) -> bool {
    matches!(ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp)
}

/// All numbers of so many digits fit 64 bits.
const SURE_DIGITS: usize = 18;

/// What a DECIMAL column holds after a text of as many digits behind the point as it has, and no more before it; else `None`.
pub fn stored_decimal(text: &[u8], ty: &ColumnType) -> Option<Value> {
    let scale = usize::from(ty.decimals);
    let number = text.strip_prefix(b"-").unwrap_or(text);
    let (whole, fraction) = match scale {
        0 => (number, &b""[..]),
        _ => {
            let (whole, rest) = number.split_at_checked(number.len().checked_sub(scale + 1)?)?;
            (whole, rest.strip_prefix(b".")?)
        }
    };
    let is_negative = number.len() < text.len();
    let fits = !whole.is_empty() && whole.len() + scale <= (ty.length as usize).min(SURE_DIGITS) && !(is_negative && ty.unsigned);
    if !fits || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return None;
    }
    let n = whole.iter().chain(fraction).fold(0, |n, digit| n * 10 + i64::from(digit & 15));
    Some(Value::Decimal(Decimal::new(if is_negative { -n } else { n }, ty.decimals)))
}

/// What an integer column holds after a text of nothing but digits; `None` if it has to be looked at more closely.
pub fn stored_digits(text: &[u8], ty: &ColumnType) -> Option<Value> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if !ty.is_integer() || digits.is_empty() || digits.len() > SURE_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let n = digits.iter().fold(0, |n, digit| n * 10 + i64::from(digit & 15));
    already_stored(Value::Int(if digits.len() < text.len() { -n } else { n }), ty).ok()
}

/// MySQL's implicit default: zero, the empty string, the first label.
pub fn implicit_default(column: &ColumnDef) -> Value {
    use vaquita_types::decimal::Decimal;
    use vaquita_types::temporal::Time;
    let ty = &column.ty;
    match ty.kind {
        _ if ty.is_integer() => {
            if ty.unsigned {
                Value::UInt(0)
            } else {
                Value::Int(0)
            }
        }
        TypeKind::Year | TypeKind::Bit | TypeKind::Set => Value::UInt(0),
        TypeKind::Enum => Value::UInt(1),
        TypeKind::Float | TypeKind::Double => Value::Float(0.0),
        TypeKind::Decimal => Value::Decimal(Decimal::from(0i64)),
        TypeKind::Date => Value::Date(Date::ZERO),
        TypeKind::DateTime | TypeKind::Timestamp => Value::DateTime(DateTime::ZERO),
        TypeKind::Time => Value::Time(Time::ZERO),
        TypeKind::Binary => Value::Bytes(vec![0; ty.length as usize].into()),
        TypeKind::Json => Value::Json(vaquita_types::json::Json::Null),
        _ => Value::Bytes(Box::default()),
    }
}

/// An element that a multi-valued index cannot have: errors 3752 and 3751 name the index and the row.
pub(crate) fn of_element(error: Error, table: &TableDef, column: &ColumnDef, row: u64) -> Error {
    let is_of_element = error.is(&ER_WARN_DATA_OUT_OF_RANGE) || error.is(&WARN_DATA_TRUNCATED);
    if is_of_element && column.element_type().is_some() { of_functional_index(error, table, column, row) } else { error }
}

fn of_functional_index(error: Error, table: &TableDef, column: &ColumnDef, row: u64) -> Error {
    let has = |index: &&IndexDef| index.parts.iter().any(|part| part.column == column.id);
    let index = table.indexes.iter().find(has).map_or("", |index| index.name.as_str());
    match () {
        () if error.is(&ER_DATA_TOO_LONG) => Error::new(&ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG, &[&index]),
        () if error.is(&ER_WARN_DATA_OUT_OF_RANGE) => Error::new(&ER_WARN_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX, &[&index, &row]),
        () => Error::new(&ER_WARN_DATA_TRUNCATED_FUNCTIONAL_INDEX, &[&index, &row]),
    }
}
