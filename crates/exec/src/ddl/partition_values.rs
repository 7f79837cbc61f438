//! The values of partitions: what VALUES LESS THAN and VALUES IN say, as values of the partitioning function, and their order.

use std::collections::HashSet;

use vaquita_parser::ast::{self, TableOption};
use vaquita_plan::bind::{Place, PlanContext, bind_scalar};
use vaquita_plan::expr::Expr;
use vaquita_plan::partition::{PartitionLevel, compare};
use vaquita_types::convert::{StoreContext, store};
use vaquita_types::errno::*;
use vaquita_types::limits::PARTITIONS_MAX;
use vaquita_types::schema::{ColumnDef, PartitionDef, PartitionMethod, PartitionValues, TableDef};
use vaquita_types::temporal::{Date, TimeZone};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::branches::Branch;
use super::checks::unknown_column;
use super::partitions::no_native_partitioning;
use super::{Ddl, check_identifier};
use crate::catalog::PlanCatalog;
use crate::context::Constants;

impl Ddl<'_> {
    /// The partitions of a list, with their values and subpartitions.
    pub(super) fn elements_of(
        &self,
        list: &[ast::PartitionElement],
        level: &PartitionLevel,
        def: &TableDef,
    ) -> Result<Vec<Branch>> {
        let mut made = Vec::with_capacity(list.len());
        for element in list {
            self.session.check_interrupt()?;
            check_name(&element.name)?;
            let mut partition = PartitionDef::new(element.name.clone(), self.values_of(element, level, def)?);
            set_options(&mut partition, &element.options)?;
            let mut subpartitions = Vec::with_capacity(element.subpartitions.len());
            for element in &element.subpartitions {
                check_name(&element.name)?;
                let mut subpartition = partition.subpartition(element.name.clone());
                set_options(&mut subpartition, &element.options)?;
                subpartitions.push(subpartition);
            }
            made.push(Branch { partition, subpartitions });
        }
        Ok(made)
    }

    fn values_of(&self, element: &ast::PartitionElement, level: &PartitionLevel, def: &TableDef) -> Result<PartitionValues> {
        let method = level.method;
        let only = |name: &str, values: &str| Err(Error::new(&ER_PARTITION_WRONG_VALUES_ERROR, &[&name, &values]));
        let required = |values: &str| {
            let text = Error::new(&ER_PARTITION_REQUIRES_VALUES_ERROR, &[&method.name(), &values]);
            Err(Error::with_message(&ER_PARSE_ERROR, text.message()))
        };
        let width = if def.partitioning.as_ref().is_some_and(|by| by.has_columns()) { level.columns().len() } else { 1 };
        match (&element.values, method) {
            (ast::PartitionValues::None, PartitionMethod::Range) => required("LESS THAN"),
            (ast::PartitionValues::None, PartitionMethod::List) => required("IN"),
            (ast::PartitionValues::None, _) => Ok(PartitionValues::None),
            (ast::PartitionValues::LessThan(values), PartitionMethod::Range) => {
                if values.is_empty() {
                    return if width == 1 { Ok(PartitionValues::LessThan(vec![None])) } else { Err(inconsistent()) };
                }
                let row = self.row_of(values, width, element, level, def)?;
                if row.iter().flatten().any(Value::is_null) {
                    return Err(Error::new(&ER_NULL_IN_VALUES_LESS_THAN, &[]));
                }
                Ok(PartitionValues::LessThan(row))
            }
            (ast::PartitionValues::LessThan(_), _) => only("RANGE", "LESS THAN"),
            (ast::PartitionValues::In { rows, nested }, PartitionMethod::List) => {
                if *nested && width == 1 {
                    let text = Error::new(&ER_ROW_SINGLE_PARTITION_FIELD_ERROR, &[]);
                    return Err(Error::with_message(&ER_PARSE_ERROR, text.message()));
                }
                let mut list = Vec::with_capacity(rows.len());
                for row in rows {
                    self.session.check_interrupt()?;
                    let row = self.row_of(row, width, element, level, def)?;
                    let Some(row) = row.into_iter().collect::<Option<Vec<Value>>>() else {
                        return Err(Error::new(&ER_PARTITION_MAXVALUE_ERROR, &[]));
                    };
                    list.push(row);
                }
                if def.partitioning.as_ref().is_some_and(|by| !by.has_columns()) {
                    // MySQL prints NULL first.
                    list.sort_by_key(|row| !row.iter().all(Value::is_null));
                }
                Ok(PartitionValues::In(list))
            }
            (ast::PartitionValues::In { .. }, _) => only("LIST", "IN"),
        }
    }

    /// The values of a row of VALUES; `None` is MAXVALUE.
    fn row_of(
        &self,
        values: &[ast::PartitionValue],
        width: usize,
        element: &ast::PartitionElement,
        level: &PartitionLevel,
        def: &TableDef,
    ) -> Result<Vec<Option<Value>>> {
        let is_columns = def.partitioning.as_ref().is_some_and(|by| by.has_columns());
        if values.len() != width {
            return match is_columns {
                true => Err(inconsistent()),
                false => Err(Error::new(&ER_TOO_MANY_VALUES_ERROR, &[&level.method.name()])),
            };
        }
        let columns = level.columns().iter().map(|at| def.columns.get(*at));
        values
            .iter()
            .zip(columns.chain(std::iter::repeat(None)))
            .map(|(value, column)| {
                let ast::PartitionValue::Expr(expr) = value else { return Ok(None) };
                match column.filter(|_| is_columns) {
                    Some(column) => self.column_value(expr, column).map(Some),
                    None => self.number_value(expr, element, level).map(Some),
                }
            })
            .collect()
    }

    fn constant(&self, expr: &ast::Expr) -> Result<(Expr, Value)> {
        let catalog = PlanCatalog::new(self.catalog);
        let context = PlanContext::new(&catalog, Place::Partition);
        let bound = bind_scalar(expr, &context).map_err(|error| match unknown_column(&error) {
            Some(column) => Error::new(&ER_BAD_FIELD_ERROR, &[&column, &"partition function"]),
            None => error,
        })?;
        let value = bound.eval(&Constants { session: self.session }.cx())?.into_owned();
        Ok((bound, value))
    }

    /// A value of a function: an integer of its domain, or NULL.
    fn number_value(&self, expr: &ast::Expr, element: &ast::PartitionElement, level: &PartitionLevel) -> Result<Value> {
        let (bound, value) = self.constant(expr)?;
        let unsigned = match &level.key {
            vaquita_plan::partition::PartitionKey::Expr { expr, .. } => expr.ty.unsigned,
            _ => false,
        };
        match value {
            Value::Null => Ok(Value::Null),
            _ if !bound.ty.is_integer() => Err(Error::new(&ER_VALUES_IS_NOT_INT_TYPE_ERROR, &[&element.name])),
            Value::Int(n) if unsigned && n < 0 => Err(Error::new(&ER_PARTITION_CONST_DOMAIN_ERROR, &[])),
            Value::UInt(n) if !unsigned && i64::try_from(n).is_err() => Err(Error::new(&ER_PARTITION_CONST_DOMAIN_ERROR, &[])),
            Value::Int(n) if unsigned => Ok(Value::UInt(n as u64)),
            Value::UInt(n) if !unsigned => Ok(Value::Int(n as i64)),
            value => Ok(value),
        }
    }

    /// A value of a column, in its type.
    fn column_value(&self, expr: &ast::Expr, column: &ColumnDef) -> Result<Value> {
        let (bound, value) = self.constant(expr)?;
        if value.is_null() {
            return Ok(value);
        }
        let wrong = || Error::new(&ER_WRONG_TYPE_COLUMN_VALUE_ERROR, &[]);
        let is_number = bound.ty.is_integer();
        let is_text = bound.ty.is_bytes() || bound.ty.is_temporal();
        if if column.ty.is_integer() { !is_number } else { !is_text } {
            return Err(wrong());
        }
        let context = StoreContext { sql_mode: self.session.sql_mode(), time_zone: &TimeZone::Utc, today: Date::ZERO };
        store(value, &bound.ty, &column.ty, &context).map_err(|_| wrong())
    }

    /// A value of a column that has another type now, as if it were written again; error 1654.
    pub(super) fn retype_column_value(&self, value: &mut Value, from: &ColumnType, to: &ColumnType) -> Result<()> {
        let wrong = || Error::new(&ER_WRONG_TYPE_COLUMN_VALUE_ERROR, &[]);
        if value.is_null() || from == to {
            return Ok(());
        }
        if from.is_integer() != to.is_integer() {
            return Err(wrong());
        }
        let context = StoreContext { sql_mode: self.session.sql_mode(), time_zone: &TimeZone::Utc, today: Date::ZERO };
        let old = std::mem::replace(value, Value::Null);
        *value = store(old, from, to, &context).map_err(|_| wrong())?;
        Ok(())
    }

    /// Names, and the order of values.
    pub(super) fn check_partitions(&self, def: &TableDef) -> Result<()> {
        let Some(by) = &def.partitioning else { return Ok(()) };
        if by.partitions.len() > PARTITIONS_MAX {
            return Err(Error::new(&ER_TOO_MANY_PARTITIONS_ERROR, &[]));
        }
        let below = |at: usize| match by.subpartitions {
            Some(_) => by.partitions.get(by.numbers_of(at)).unwrap_or_default(),
            None => &[],
        };
        let of_branch = |(at, first)| std::iter::once(first).chain(below(at));
        check_names(by.first_level().iter().enumerate().flat_map(of_branch))?;
        let types = bound_types(def);
        let order = |a: &[Value], b: &[Value]| {
            let orders = a.iter().zip(b).zip(&types).map(|((a, b), ty)| compare(a, b, ty));
            orders.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        };
        match by.method {
            PartitionMethod::Range => {
                let bounds: Vec<&Vec<Option<Value>>> = by.first_level().iter().filter_map(|p| bounds_of(&p.values)).collect();
                for pair in bounds.windows(2) {
                    if !by.has_columns() && pair[0].iter().all(Option::is_none) {
                        return Err(Error::new(&ER_PARTITION_MAXVALUE_ERROR, &[]));
                    }
                    if !is_before(pair[0], pair[1], &types) {
                        return Err(Error::new(&ER_RANGE_NOT_INCREASING_ERROR, &[]));
                    }
                }
                Ok(())
            }
            PartitionMethod::List => {
                let mut rows: Vec<&Vec<Value>> = by.first_level().iter().filter_map(|p| rows_of(&p.values)).flatten().collect();
                rows.sort_by(|a, b| order(a, b));
                match rows.windows(2).any(|pair| order(pair[0], pair[1]).is_eq()) {
                    true => Err(Error::new(&ER_MULTIPLE_DEF_CONST_IN_LIST_PART_ERROR, &[])),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// Error 1497: of all partitions and subpartitions, or of none, an engine is named. MySQL does not ask it of subpartitions that it names.
pub(super) fn check_engines(by: &ast::Partitioning) -> Result<()> {
    let names_engine =
        |element: &ast::PartitionElement| element.options.iter().any(|option| matches!(option, TableOption::Engine(_)));
    let is_listed = by.partitions.iter().any(|element| !element.subpartitions.is_empty());
    if by.subpartition.is_some() && !is_listed {
        return Ok(());
    }
    // A subpartition has the engine of its partition.
    let each = |element: &ast::PartitionElement| match element.subpartitions.as_slice() {
        [] => vec![names_engine(element)],
        below => below.iter().map(|below| names_engine(below) || names_engine(element)).collect(),
    };
    let named: Vec<bool> = by.partitions.iter().flat_map(each).collect();
    match named.contains(&true) && named.contains(&false) {
        true => Err(Error::new(&ER_MIX_HANDLER_ERROR, &[])),
        false => Ok(()),
    }
}

/// Error 1517.
pub(super) fn check_names<'d>(partitions: impl Iterator<Item = &'d PartitionDef>) -> Result<()> {
    let mut names = HashSet::new();
    for partition in partitions {
        if !names.insert(partition.name.to_lowercase()) {
            return Err(Error::new(&ER_SAME_NAME_PARTITION, &[&partition.name]));
        }
    }
    Ok(())
}

/// Error 1567. The parser has measured the name.
fn check_name(name: &str) -> Result<()> {
    check_identifier(name).map_err(|_| Error::new(&ER_WRONG_PARTITION_NAME, &[]))
}

fn set_options(partition: &mut PartitionDef, options: &[TableOption]) -> Result<()> {
    for option in options {
        match option {
            TableOption::Comment(text) => partition.comment = String::from_utf8_lossy(text).into_owned(),
            TableOption::MaxRows(rows) => partition.rows_max = Some(*rows).filter(|rows| *rows > 0),
            TableOption::MinRows(rows) => partition.rows_min = Some(*rows).filter(|rows| *rows > 0),
            TableOption::Engine(name) if name.eq_ignore_ascii_case("InnoDB") || name.eq_ignore_ascii_case("ROCKSDB") => {}
            TableOption::Engine(_) => return Err(no_native_partitioning()),
            TableOption::DataDirectory(_) => return Err(Error::unsupported("DATA DIRECTORY of a partition")),
            TableOption::IndexDirectory(_) => return Err(Error::unsupported("INDEX DIRECTORY of a partition")),
            TableOption::Tablespace(_) => return Err(Error::unsupported("TABLESPACE of a partition")),
            _ => return Err(Error::unsupported("an option of a partition")),
        }
    }
    Ok(())
}

fn bounds_of(values: &PartitionValues) -> Option<&Vec<Option<Value>>> {
    if let PartitionValues::LessThan(bounds) = values { Some(bounds) } else { None }
}

fn rows_of(values: &PartitionValues) -> Option<&Vec<Vec<Value>>> {
    if let PartitionValues::In(rows) = values { Some(rows) } else { None }
}

/// The types of the values of partitions.
pub(super) fn bound_types(def: &TableDef) -> Vec<ColumnType> {
    match def.partitioning.as_ref().is_some_and(|by| by.has_columns()) {
        true => {
            def.partition_columns().iter().filter_map(|id| def.position_of(*id)).map(|at| def.columns[at].ty.clone()).collect()
        }
        false => vec![ColumnType::bigint()],
    }
}

/// A bound of RANGE is below another.
pub(super) fn is_before(a: &[Option<Value>], b: &[Option<Value>], types: &[ColumnType]) -> bool {
    for ((a, b), ty) in a.iter().zip(b).zip(types) {
        match (a, b) {
            (None, None) => {}
            (None, Some(_)) => return false,
            (Some(_), None) => return true,
            (Some(a), Some(b)) => match compare(a, b, ty) {
                std::cmp::Ordering::Less => return true,
                std::cmp::Ordering::Greater => return false,
                std::cmp::Ordering::Equal => {}
            },
        }
    }
    false
}

fn inconsistent() -> Error {
    let text = Error::new(&ER_PARTITION_COLUMN_LIST_ERROR, &[]);
    Error::with_message(&ER_PARSE_ERROR, text.message())
}
