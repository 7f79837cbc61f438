//! Rows from the columns before an ALTER TABLE to those after it.
//!
//! Values go through `types::convert::store`, as an INSERT's do: what does not fit is an error in strict
//! mode and a warning otherwise. Stored TIMESTAMPs are UTC and are local time while they are converted. CHECK constraints hold for all rows that
//! come out.

use std::cell::RefCell;
use std::sync::Arc;

use vaquita_plan::bind::{Place, PlanContext, bind_over_row};
use vaquita_plan::env::{EvalCx, Level};
use vaquita_plan::expr::Expr;
use vaquita_types::convert::StoreContext;
use vaquita_types::errno::{
    ER_BAD_NULL_ERROR, ER_CHECK_CONSTRAINT_VIOLATED, ER_INVALID_USE_OF_NULL, ER_TRUNCATED_WRONG_VALUE, WARN_DATA_TRUNCATED,
};
use vaquita_types::schema::{CheckDef, ColumnDef, ColumnDefault, TableDef};
use vaquita_types::temporal::{Date, DateTime};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, sql_mode};

use super::Ddl;
use super::alone_map::AloneRowMap;
use super::conversion::{Conversion, Stored, stored, to_utc};
use super::generated::local_row;
use crate::context::{Constants, SessionEnv, Writing};
use crate::dml::group_numbers::counting_index;
use crate::dml::implicit_default;
use crate::dml::of_element;
use crate::dml::stored_exprs::{bind_checks, bind_generated, parse_stored};

/// Where a value of the new row comes from.
pub(super) enum Source {
    Keep(usize),
    Convert(usize, Conversion),
    Constant(Value),
    AutoIncrement,
    /// A column that becomes AUTO_INCREMENT: zeros and NULLs get numbers.
    Numbered(usize, Conversion),
    /// DEFAULT (expr), over the new row.
    Expr(Expr),
    /// A generated column, likewise, after all others.
    Generated(Expr),
}

pub(super) struct RowMap<'a> {
    ddl: &'a Ddl<'a>,
    old: &'a TableDef,
    new: TableDef,
    sources: Arc<[Source]>,
    /// The enforced constraints, and whether rows have not been checked against one of them.
    checks: Vec<(String, Expr)>,
    validates: bool,
    /// Values of virtual columns have to fit (WITH VALIDATION).
    computes_virtual: bool,
    strict: bool,
    row: u64,
    next: u64,
    /// The statement's date in the session's zone.
    today: Date,
}

impl<'a> RowMap<'a> {
    pub fn new(
        ddl: &'a Ddl<'a>,
        old: &'a TableDef,
        new: &TableDef,
        auto_increment: Option<u64>,
        has_rows: bool,
    ) -> Result<RowMap<'a>> {
        let strict = sql_mode::is_strict(ddl.session.sql_mode());
        let mut sources = Vec::with_capacity(new.columns.len());
        let generated = bind_generated(new, ddl.catalog)?;
        for (position, column) in new.columns.iter().enumerate() {
            sources.push(match old.position_of(column.id) {
                Some(at) if keeps_generated(old.columns.get(at), column) => Source::Keep(at),
                _ if column.generated.is_some() => {
                    let bound = generated.iter().find(|(at, _)| *at == position).map(|(_, expr)| expr.clone());
                    Source::Generated(bound.ok_or_else(|| Error::internal("a generated column without its expression"))?)
                }
                Some(at) if column.auto_increment && old.columns.get(at).is_some_and(|before| !before.auto_increment) => {
                    let before = old.columns.get(at).ok_or_else(|| Error::internal("a column without a place"))?;
                    Source::Numbered(at, Conversion::new(before, column))
                }
                Some(at) if old.columns.get(at).is_some_and(|c| same(c, column)) => Source::Keep(at),
                Some(at) => {
                    let before = old.columns.get(at).ok_or_else(|| Error::internal("a column without a place"))?;
                    Source::Convert(at, Conversion::new(before, column))
                }
                None if column.auto_increment && has_rows && counting_index(new).is_some() => {
                    return Err(Error::unsupported("ADD of an AUTO_INCREMENT column that is a later part of a key"));
                }
                None => added(ddl, new, position, has_rows, strict)?,
            });
        }
        let known = |check: &CheckDef| {
            old.options.checks.iter().any(|before| before.enforced && before.name == check.name && before.expr == check.expr)
        };
        let validates = new.options.checks.iter().any(|check| check.enforced && !known(check));
        let checks = bind_checks(new, ddl.catalog)?;
        // Of columns that are converted others may be generated.
        if sources.iter().any(|source| matches!(source, Source::Convert(..) | Source::Numbered(..))) {
            for (position, expr) in generated {
                if let Some(source) = sources.get_mut(position) {
                    *source = Source::Generated(expr);
                }
            }
        }
        let next = auto_increment.unwrap_or(1);
        let today = ddl.now().date();
        Ok(RowMap {
            ddl,
            old,
            new: new.clone(),
            sources: sources.into(),
            checks,
            validates,
            computes_virtual: false,
            strict,
            row: 0,
            next,
            today,
        })
    }

    /// The same, if what a row becomes depends on that row alone.
    pub fn alone(&self) -> Option<AloneRowMap> {
        let is_alone = |(source, column): (&Source, &ColumnDef)| match source {
            Source::Keep(_) | Source::Convert(..) => true,
            Source::Constant(value) => column.nullable || !value.is_null(),
            Source::AutoIncrement | Source::Numbered(..) | Source::Expr(_) | Source::Generated(_) => false,
        };
        if !self.checks.is_empty() || !self.sources.iter().zip(&self.new.columns).all(is_alone) {
            return None;
        }
        let StoreContext { sql_mode, time_zone, today } = self.context();
        Some(AloneRowMap { sources: self.sources.clone(), sql_mode, time_zone: time_zone.clone(), today })
    }

    fn context(&self) -> StoreContext<'_> {
        let session = self.ddl.session;
        StoreContext { sql_mode: session.sql_mode(), time_zone: session.time_zone(), today: self.today }
    }

    /// Virtual columns that are new or changed are computed for all rows.
    pub fn compute_virtual(&mut self) {
        self.computes_virtual = true;
    }

    /// Each row has to be looked at, also if it stays as it is.
    pub fn validates(&self) -> bool {
        self.validates
    }

    /// Each row gets a value of its own in some column, so that all have to be written.
    pub fn makes_values(&self) -> bool {
        self.sources.iter().zip(&self.new.columns).any(|(source, column)| match source {
            Source::AutoIncrement | Source::Numbered(..) | Source::Expr(_) => true,
            Source::Generated(_) => column.is_in_row() || self.computes_virtual,
            _ => false,
        })
    }

    /// Zeros of a column get numbers, which may be there already.
    pub fn renumbers(&self) -> bool {
        self.sources.iter().any(|source| matches!(source, Source::Numbered(..)))
    }

    /// Stored values may change.
    pub fn converts(&self) -> bool {
        self.sources.iter().any(|s| matches!(s, Source::Convert(..) | Source::Numbered(..)))
    }

    pub fn map(&mut self, row: Vec<Value>) -> Result<Vec<Value>> {
        self.row += 1;
        let mut new = Vec::with_capacity(self.sources.len());
        for (source, column) in self.sources.iter().zip(&self.new.columns) {
            new.push(match source {
                Source::Keep(at) => row.get(*at).cloned().unwrap_or_default(),
                Source::Convert(at, conversion) => match row.get(*at).cloned().unwrap_or_default() {
                    Value::Null => self.null(self.old.columns.get(*at), column)?,
                    value => self.reported(conversion.stored(value, &self.context()), column)?,
                },
                Source::Constant(value) => value.clone(),
                Source::Numbered(at, conversion) => {
                    let value = match row.get(*at).cloned().unwrap_or_default() {
                        Value::Null => Value::Null,
                        value => self.reported(conversion.stored(value, &self.context()), column)?,
                    };
                    let counts_zero = self.ddl.session.sql_mode() & sql_mode::NO_AUTO_VALUE_ON_ZERO == 0;
                    let is_zero = counts_zero && matches!(value, Value::Int(0) | Value::UInt(0));
                    let value = match value.is_null() || is_zero {
                        true => self.stored(Value::UInt(self.next), &ColumnType::bigint_unsigned(), column)?,
                        false => value,
                    };
                    let number = match value {
                        Value::Int(number) => u64::try_from(number).unwrap_or(0),
                        Value::UInt(number) => number,
                        _ => 0,
                    };
                    self.next = self.next.max(number.saturating_add(1));
                    value
                }
                Source::AutoIncrement => {
                    let value = self.stored(Value::UInt(self.next), &ColumnType::bigint_unsigned(), column)?;
                    self.next = self.next.saturating_add(1);
                    value
                }
                Source::Expr(_) | Source::Generated(_) => Value::Null,
            });
        }
        for (position, source) in self.sources.iter().enumerate() {
            let (Source::Expr(expr), Some(column)) = (source, self.new.columns.get(position)) else { continue };
            let value = self.evaluate(expr, &new)?;
            let value = self.stored(value, &expr.ty, column)?;
            if let Some(place) = new.get_mut(position) {
                *place = value;
            }
        }
        self.generate(&mut new)?;
        self.check(&new)?;
        Ok(new)
    }

    /// What an expression warns of is an error in strict mode.
    fn evaluate(&self, expr: &Expr, row: &[Value]) -> Result<Value> {
        let env = Writing { session: self.ddl.session, strict: self.strict, raised: RefCell::default() };
        let value = expr.eval(&EvalCx { frame: row, outer: None, params: &[], env: &env })?.into_owned();
        env.raised.into_inner().map_or(Ok(value), Err)
    }

    fn generate(&self, row: &mut [Value]) -> Result<()> {
        let mut local = None;
        for (position, (source, column)) in self.sources.iter().zip(&self.new.columns).enumerate() {
            let Source::Generated(expr) = source else { continue };
            let zone = self.ddl.session.time_zone();
            let frame = local.get_or_insert_with(|| local_row(row, &self.new.columns, zone));
            let value = self.evaluate(expr, frame).map_err(|error| of_element(error, &self.new, column, self.row))?;
            if value.is_null() && !column.nullable {
                return Err(Error::new(&ER_BAD_NULL_ERROR, &[&column.name]));
            }
            let value = self.stored(value, &expr.ty, column)?;
            if let (Some(place), Some(local)) = (row.get_mut(position), frame.get_mut(position)) {
                *local = match &value {
                    Value::DateTime(utc) if column.ty.kind == TypeKind::Timestamp => {
                        Value::DateTime(zone.timestamp_from_utc(*utc))
                    }
                    value => value.clone(),
                };
                *place = value;
            }
        }
        Ok(())
    }

    fn check(&self, row: &[Value]) -> Result<()> {
        check_row(&self.checks, row, &self.new.columns, self.ddl.session)
    }

    /// What a column stores for NULL, which another one may have had.
    fn null(&self, before: Option<&ColumnDef>, after: &ColumnDef) -> Result<Value> {
        if after.nullable {
            return Ok(Value::Null);
        }
        let retyped = before.is_some_and(|before| before.ty != after.ty);
        let error = if retyped {
            Error::new(&WARN_DATA_TRUNCATED, &[&after.name, &self.row])
        } else {
            Error::new(&ER_INVALID_USE_OF_NULL, &[])
        };
        if after.ty.is_geometry() {
            return Err(Error::new(&ER_INVALID_USE_OF_NULL, &[]));
        }
        if self.strict {
            return Err(error);
        }
        self.ddl.session.warn(Level::Warning, Error::new(&WARN_DATA_TRUNCATED, &[&after.name, &self.row]));
        Ok(implicit_default(after))
    }

    /// The value as the column stores it.
    fn stored(&self, value: Value, from: &ColumnType, column: &ColumnDef) -> Result<Value> {
        if value.is_null() {
            return self.null(None, column);
        }
        self.reported(stored(value, from, &column.ty, &self.context()), column)
    }

    /// What is stored, after what there is to say of it.
    fn reported(&self, stored: Stored, column: &ColumnDef) -> Result<Value> {
        stored.or_else(|problem| {
            let report = problem.report(&self.new.name, &column.name, self.row, self.strict);
            let is_note = problem.is_note(self.strict);
            if !is_note && (self.strict || problem.always_fails()) {
                return Err(report);
            }
            self.ddl.session.warn(if is_note { Level::Note } else { Level::Warning }, report);
            Ok(problem.adjusted)
        })
    }
}

/// Error 3819 for a stored row that one of the constraints does not hold for.
pub(super) fn check_row(checks: &[(String, Expr)], row: &[Value], columns: &[ColumnDef], session: &dyn SessionEnv) -> Result<()> {
    if checks.is_empty() {
        return Ok(());
    }
    let frame = local_row(row, columns, session.time_zone());
    let constants = Constants { session };
    let cx = EvalCx { frame: &frame, outer: None, params: &[], env: &constants };
    for (name, check) in checks {
        if check.eval_bool(&cx)? == Some(false) {
            return Err(Error::new(&ER_CHECK_CONSTRAINT_VIOLATED, &[name]));
        }
    }
    Ok(())
}

/// Nothing about the stored values of the column changes.
fn same(before: &ColumnDef, after: &ColumnDef) -> bool {
    before.ty == after.ty && (after.nullable || !before.nullable)
}

/// Rows hold the generated column, and will hold it.
fn keeps_generated(before: Option<&ColumnDef>, after: &ColumnDef) -> bool {
    let text = |column: &ColumnDef| column.generated.as_ref().map(|generated| generated.expr.clone());
    let stays =
        |before: &ColumnDef| same(before, after) && before.is_in_row() && after.is_in_row() && text(before) == text(after);
    // A default that it names may be another one now.
    let names_default = text(after).is_some_and(|text| text.contains("default("));
    after.generated.is_some() && !names_default && before.is_some_and(stays)
}

/// A column that the rows do not have yet.
fn added(ddl: &Ddl<'_>, new: &TableDef, position: usize, has_rows: bool, strict: bool) -> Result<Source> {
    let column = new.columns.get(position).ok_or_else(|| Error::internal("a column without a place"))?;
    if column.auto_increment {
        return Ok(Source::AutoIncrement);
    }
    if let ColumnDefault::Expr(text) = &column.default {
        let parsed = parse_stored(text)?;
        let catalog = crate::catalog::PlanCatalog::new(ddl.catalog);
        let context = PlanContext::new(&catalog, Place::Default(&column.name));
        return Ok(Source::Expr(bind_over_row(&parsed, &Arc::new(new.clone()), 0, &context)?));
    }
    if has_rows && column.ty.is_geometry() && !column.nullable && column.generated.is_none() {
        return Err(Error::new(&ER_INVALID_USE_OF_NULL, &[]));
    }
    let zero = match column.ty.kind {
        TypeKind::Date => Some(("date", "0000-00-00")),
        TypeKind::DateTime | TypeKind::Timestamp => Some(("datetime", "0000-00-00 00:00:00")),
        _ => None,
    };
    if let Some((kind, text)) = zero
        && has_rows
        && strict
        && matches!(column.default, ColumnDefault::None)
        && !column.nullable
        && ddl.session.sql_mode() & sql_mode::NO_ZERO_DATE != 0
    {
        let message = format!("Incorrect {kind} value: '{text}' for column '{}' at row 1", column.name);
        return Err(Error::with_message(&ER_TRUNCATED_WRONG_VALUE, message));
    }
    Ok(Source::Constant(column.added_default.clone()))
}

impl Ddl<'_> {
    /// The statement's time in the session's zone.
    pub(super) fn now(&self) -> DateTime {
        let utc = DateTime::from_unix_micros(self.session.statement_time_us());
        utc.and_then(|utc| self.session.time_zone().from_utc(utc)).unwrap_or(DateTime::ZERO)
    }

    /// What the rows that are there get in an added column.
    pub(super) fn added_default(&self, column: &ColumnDef) -> Result<Value> {
        let value = match &column.default {
            ColumnDefault::Value(value) => value.clone(),
            ColumnDefault::Now => {
                let now = self.now();
                Value::DateTime(now.to_fsp(column.ty.decimals, true, 0).unwrap_or(now))
            }
            ColumnDefault::Expr(_) => Value::Null,
            ColumnDefault::None if column.nullable => Value::Null,
            ColumnDefault::None => implicit_default(column),
        };
        Ok(to_utc(value, &column.ty, self.session.time_zone()))
    }
}
