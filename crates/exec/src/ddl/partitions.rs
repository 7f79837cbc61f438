//! PARTITION BY: what is written, checked and made the partitions of a definition.
//!
//! The partitioning function is kept as text, as MySQL prints it; the values of partitions are kept as values, those of COLUMNS in the
//! types of their columns. What is not built (subpartitions, KEY by MySQL 5.1's hash, hashes of some collations) is error 1235.

use std::collections::HashSet;
use std::sync::Arc;

use vaquita_parser::ast::{self, BinaryOp, TableOption, UnaryOp};
use vaquita_plan::bind::{Place, PlanContext, bind_partitions, bind_scalar};
use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_plan::partition::{PartitionFunction, can_hash, compare};
use vaquita_plan::visit;
use vaquita_types::convert::{StoreContext, store};
use vaquita_types::errno::*;
use vaquita_types::limits::PARTITIONS_MAX;
use vaquita_types::schema::{
    ColumnDef, IndexDef, IndexKind, PartitionDef, PartitionKey, PartitionMethod, PartitionValues, Partitioning, TableDef, TableId,
};
use vaquita_types::temporal::{Date, TimeZone};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::checks::unknown_column;
use super::{Ddl, check_identifier};
use crate::catalog::PlanCatalog;
use crate::context::Constants;

impl Ddl<'_> {
    /// Gives a complete definition its partitions, without ids.
    pub(super) fn partition(&self, by: &ast::Partitioning, def: &mut TableDef) -> Result<()> {
        let engine = def.options.engine.as_str();
        if !engine.is_empty() && !engine.eq_ignore_ascii_case("InnoDB") && !engine.eq_ignore_ascii_case("ROCKSDB") {
            return Err(no_native_partitioning());
        }
        if by.subpartition.is_some() {
            return match by.by {
                ast::PartitionBy::Range(_) | ast::PartitionBy::List(_) => Err(Error::unsupported("SUBPARTITION BY")),
                _ => Err(Error::new(&ER_SUBPARTITION_ERROR, &[])),
            };
        }
        let (method, key) = self.method_and_key(&by.by, def)?;
        let count = match (by.count, by.partitions.len()) {
            (Some(count), listed) if listed > 0 && count != listed as u64 => {
                return Err(Error::new(&ER_PARTITION_WRONG_NO_PART_ERROR, &[]));
            }
            (Some(count), _) => count,
            (None, 0) => 1,
            (None, listed) => listed as u64,
        };
        if count > PARTITIONS_MAX as u64 {
            return Err(Error::new(&ER_TOO_MANY_PARTITIONS_ERROR, &[]));
        }
        let listed = !by.partitions.is_empty();
        let is_sliced = method.is_hash() || method.is_key();
        if !listed && !is_sliced {
            return Err(Error::new(&ER_PARTITIONS_MUST_BE_DEFINED_ERROR, &[&method.name()]));
        }
        let partitioning = Partitioning { method, key, listed, counted: by.count.is_some() && !listed, partitions: Vec::new() };
        def.partitioning = Some(Arc::new(partitioning));
        let function = self.function(def)?;
        self.check_function(&function, def)?;
        let partitions = match listed {
            true => self.elements_of(&by.partitions, &function, def)?,
            false => (0..count).map(|n| sliced(n as usize)).collect(),
        };
        if let Some(by) = def.partitioning_mut() {
            by.partitions = partitions;
        }
        self.check_partitions(def)?;
        if def.has_foreign_keys() {
            return Err(Error::new(&ER_FOREIGN_KEY_ON_PARTITIONED, &[]));
        }
        check_keys(def, &function)
    }

    fn method_and_key(&self, by: &ast::PartitionBy, def: &TableDef) -> Result<(PartitionMethod, PartitionKey)> {
        let expr = |expr: &ast::Expr| -> Result<PartitionKey> {
            check_expr(expr)?;
            Ok(PartitionKey::Expr(self.expression_text(expr)))
        };
        let of = |by: &ast::PartitionedBy| match by {
            ast::PartitionedBy::Expr(function) => expr(function),
            ast::PartitionedBy::Columns(names) => columns(names, def),
        };
        Ok(match by {
            ast::PartitionBy::Range(by) => (PartitionMethod::Range, of(by)?),
            ast::PartitionBy::List(by) => (PartitionMethod::List, of(by)?),
            ast::PartitionBy::Hash { linear: false, expr: function } => (PartitionMethod::Hash, expr(function)?),
            ast::PartitionBy::Hash { linear: true, expr: function } => (PartitionMethod::LinearHash, expr(function)?),
            ast::PartitionBy::Key { algorithm: Some(1), .. } => return Err(Error::unsupported("KEY ALGORITHM = 1")),
            ast::PartitionBy::Key { linear, columns: names, .. } => {
                let method = if *linear { PartitionMethod::LinearKey } else { PartitionMethod::Key };
                if !names.is_empty() {
                    return Ok((method, columns(names, def)?));
                }
                if def.indexes.iter().any(|index| index.kind == IndexKind::Primary && !index.parts.is_empty()) {
                    return Ok((method, PartitionKey::PrimaryKey));
                }
                // MySQL takes a unique key of columns that are NOT NULL in its place.
                let is_unique = |index: &vaquita_types::schema::IndexDef| index.kind == IndexKind::Unique;
                return match def.indexes.iter().any(is_unique) {
                    true => Err(Error::unsupported("KEY () of a table without a primary key")),
                    false => Err(Error::new(&ER_FIELD_NOT_FOUND_PART_ERROR, &[])),
                };
            }
        })
    }

    /// The partitioning function of a definition.
    pub(super) fn function(&self, def: &TableDef) -> Result<PartitionFunction> {
        // The primary key is where it will be when the table is made.
        let mut def = def.clone();
        if let Some(primary) = def.indexes.iter().position(|i| i.kind == IndexKind::Primary && !i.parts.is_empty()) {
            def.indexes.swap(0, primary);
        }
        let bound = bind_partitions(&Arc::new(def), &PlanCatalog::new(self.catalog));
        bound.map_err(|error| match unknown_column(&error) {
            Some(column) => Error::new(&ER_BAD_FIELD_ERROR, &[&column, &"partition function"]),
            None => error,
        })
    }

    /// Errors for columns and results that a function may not have.
    fn check_function(&self, function: &PartitionFunction, def: &TableDef) -> Result<()> {
        use vaquita_plan::partition::PartitionKey::{Columns, Expr as Function};
        let columns: Vec<&ColumnDef> = function.columns().iter().filter_map(|at| def.columns.get(*at)).collect();
        let not_allowed = |column: &ColumnDef| Err(Error::new(&ER_FIELD_TYPE_NOT_ALLOWED_AS_PARTITION_FIELD, &[&column.name]));
        let is_blob = |column: &&ColumnDef| column.ty.is_blob() || matches!(column.ty.kind, TypeKind::Json | TypeKind::Geometry);
        if columns.iter().any(is_blob) {
            return Err(Error::new(&ER_BLOB_FIELD_IN_PART_FUNC_ERROR, &[]));
        }
        match &function.key {
            Function { columns: read, .. } if read.is_empty() => Err(Error::new(&ER_WRONG_EXPR_IN_PARTITION_FUNC_ERROR, &[])),
            Function { expr, .. } => {
                if let ExprKind::Slot(slot) = expr.kind
                    && let Some(column) = def.columns.get(slot)
                    && !is_number(&column.ty)
                {
                    return not_allowed(column);
                }
                check_arguments(expr)?;
                if is_number(&expr.ty) { Ok(()) } else { Err(Error::new(&ER_PARTITION_FUNC_NOT_ALLOWED_ERROR, &[&"PARTITION"])) }
            }
            Columns(_) if function.method.is_key() => match columns.iter().find(|column| !can_hash(&column.ty)) {
                Some(column) => {
                    Err(Error::unsupported(format_args!("KEY partitioning by the type or collation of column {}", column.name)))
                }
                None => Ok(()),
            },
            Columns(_) => match columns.iter().find(|column| !may_have_bounds(column)) {
                Some(column) => not_allowed(column),
                None => Ok(()),
            },
        }
    }

    /// The partitions of a list, with their values.
    pub(super) fn elements_of(
        &self,
        list: &[ast::PartitionElement],
        function: &PartitionFunction,
        def: &TableDef,
    ) -> Result<Vec<PartitionDef>> {
        let mut partitions = Vec::with_capacity(list.len());
        let engines = list.iter().filter(|p| p.options.iter().any(|o| matches!(o, TableOption::Engine(_)))).count();
        for element in list {
            self.session.check_interrupt()?;
            check_identifier(&element.name).map_err(|_| Error::new(&ER_WRONG_PARTITION_NAME, &[]))?;
            if !element.subpartitions.is_empty() {
                return Err(Error::unsupported("SUBPARTITION"));
            }
            let mut partition = PartitionDef {
                name: element.name.clone(),
                values: self.values_of(element, function, def)?,
                comment: String::new(),
                rows_max: None,
                rows_min: None,
                id: TableId(0),
                indexes: Vec::new(),
            };
            for option in &element.options {
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
            partitions.push(partition);
        }
        if engines > 0 && engines < list.len() {
            return Err(Error::new(&ER_MIX_HANDLER_ERROR, &[]));
        }
        Ok(partitions)
    }

    fn values_of(
        &self,
        element: &ast::PartitionElement,
        function: &PartitionFunction,
        def: &TableDef,
    ) -> Result<PartitionValues> {
        let method = function.method;
        let only = |name: &str, values: &str| Err(Error::new(&ER_PARTITION_WRONG_VALUES_ERROR, &[&name, &values]));
        let required = |values: &str| {
            let text = Error::new(&ER_PARTITION_REQUIRES_VALUES_ERROR, &[&method.name(), &values]);
            Err(Error::with_message(&ER_PARSE_ERROR, text.message()))
        };
        let width = if def.partitioning.as_ref().is_some_and(|by| by.has_columns()) { function.columns().len() } else { 1 };
        match (&element.values, method) {
            (ast::PartitionValues::None, PartitionMethod::Range) => required("LESS THAN"),
            (ast::PartitionValues::None, PartitionMethod::List) => required("IN"),
            (ast::PartitionValues::None, _) => Ok(PartitionValues::None),
            (ast::PartitionValues::LessThan(values), PartitionMethod::Range) => {
                if values.is_empty() {
                    return if width == 1 { Ok(PartitionValues::LessThan(vec![None])) } else { Err(inconsistent()) };
                }
                let row = self.row_of(values, width, element, function, def)?;
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
                    let row = self.row_of(row, width, element, function, def)?;
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
        function: &PartitionFunction,
        def: &TableDef,
    ) -> Result<Vec<Option<Value>>> {
        let is_columns = def.partitioning.as_ref().is_some_and(|by| by.has_columns());
        if values.len() != width {
            return match is_columns {
                true => Err(inconsistent()),
                false => Err(Error::new(&ER_TOO_MANY_VALUES_ERROR, &[&function.method.name()])),
            };
        }
        let columns = function.columns().iter().map(|at| def.columns.get(*at));
        values
            .iter()
            .zip(columns.chain(std::iter::repeat(None)))
            .map(|(value, column)| {
                let ast::PartitionValue::Expr(expr) = value else { return Ok(None) };
                match column.filter(|_| is_columns) {
                    Some(column) => self.column_value(expr, column).map(Some),
                    None => self.number_value(expr, element, function).map(Some),
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
    fn number_value(&self, expr: &ast::Expr, element: &ast::PartitionElement, function: &PartitionFunction) -> Result<Value> {
        let (bound, value) = self.constant(expr)?;
        let unsigned = match &function.key {
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

    /// Names, and the order of values.
    pub(super) fn check_partitions(&self, def: &TableDef) -> Result<()> {
        let Some(by) = &def.partitioning else { return Ok(()) };
        if by.partitions.len() > PARTITIONS_MAX {
            return Err(Error::new(&ER_TOO_MANY_PARTITIONS_ERROR, &[]));
        }
        let mut names = HashSet::new();
        for partition in &by.partitions {
            if !names.insert(partition.name.to_lowercase()) {
                return Err(Error::new(&ER_SAME_NAME_PARTITION, &[&partition.name]));
            }
        }
        let types: Vec<_> = match by.has_columns() {
            true => def
                .partition_columns()
                .iter()
                .filter_map(|id| def.position_of(*id))
                .map(|at| def.columns[at].ty.clone())
                .collect(),
            false => vec![ColumnType::bigint()],
        };
        let order = |a: &[Value], b: &[Value]| {
            let orders = a.iter().zip(b).zip(&types).map(|((a, b), ty)| compare(a, b, ty));
            orders.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        };
        match by.method {
            PartitionMethod::Range => {
                let bounds: Vec<&Vec<Option<Value>>> = by.partitions.iter().filter_map(|p| bounds_of(&p.values)).collect();
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
                let mut rows: Vec<&Vec<Value>> = by.partitions.iter().filter_map(|p| rows_of(&p.values)).flatten().collect();
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

/// Error 1214 for a FULLTEXT index, and 1503: a unique key says which partition a row is in, so that one partition tells whether it is taken.
pub(super) fn check_keys(def: &TableDef, function: &PartitionFunction) -> Result<()> {
    if def.indexes.iter().any(IndexDef::is_full_text) {
        return Err(Error::new(&ER_TABLE_CANT_HANDLE_FT, &[]));
    }
    for index in def.indexes.iter().filter(|index| index.is_unique() && !index.parts.is_empty()) {
        let holds = |at: &usize| {
            let id = def.columns.get(*at).map(|column| column.id);
            index.parts.iter().any(|part| Some(part.column) == id && part.prefix.is_none())
        };
        if !function.columns().iter().all(holds) {
            let kind = if index.kind == IndexKind::Primary { "PRIMARY KEY" } else { "UNIQUE INDEX" };
            return Err(Error::new(&ER_UNIQUE_KEY_NEED_ALL_FIELDS_IN_PF, &[&kind]));
        }
    }
    Ok(())
}

fn columns(names: &[String], def: &TableDef) -> Result<PartitionKey> {
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let column = def.column_position(name).and_then(|at| def.columns.get(at));
        let Some(column) = column else { return Err(Error::new(&ER_FIELD_NOT_FOUND_PART_ERROR, &[])) };
        if ids.contains(&column.id) {
            return Err(Error::new(&ER_SAME_NAME_PARTITION_FIELD, &[&column.name]));
        }
        ids.push(column.id);
    }
    if ids.len() > vaquita_types::limits::PARTITION_COLUMNS_MAX {
        return Err(Error::new(&ER_TOO_MANY_PARTITION_FUNC_FIELDS_ERROR, &[&"list of partition fields"]));
    }
    Ok(PartitionKey::Columns(ids))
}

/// What a function may have for its result.
fn is_number(ty: &ColumnType) -> bool {
    ty.is_integer() || ty.kind == TypeKind::Year
}

/// Types that RANGE COLUMNS and LIST COLUMNS take.
fn may_have_bounds(column: &ColumnDef) -> bool {
    use TypeKind::*;
    matches!(
        column.ty.kind,
        TinyInt | SmallInt | MediumInt | Int | BigInt | Date | DateTime | Time | Char | VarChar | Binary | VarBinary
    )
}

/// The partition of HASH or KEY with this number, where none are named.
pub(super) fn sliced(number: usize) -> PartitionDef {
    PartitionDef {
        name: format!("p{number}"),
        values: PartitionValues::None,
        comment: String::new(),
        rows_max: None,
        rows_min: None,
        id: TableId(0),
        indexes: Vec::new(),
    }
}

/// Operators and forms of expressions that a function may have; its calls are checked when it is bound.
fn check_expr(expr: &ast::Expr) -> Result<()> {
    let refused = || Err(Error::new(&ER_PARTITION_FUNCTION_IS_NOT_ALLOWED, &[]));
    match expr {
        ast::Expr::Literal(_) | ast::Expr::Column(_) => Ok(()),
        ast::Expr::Unary { op: UnaryOp::Neg | UnaryOp::Plus, expr } | ast::Expr::Extract { expr, .. } => check_expr(expr),
        ast::Expr::Binary {
            op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::IntDiv | BinaryOp::Mod,
            left,
            right,
        } => {
            check_expr(left)?;
            check_expr(right)
        }
        ast::Expr::Func(call) => call.args.iter().try_for_each(check_expr),
        _ => refused(),
    }
}

/// Error 1486: a function of dates has an argument of another type, or one that depends on a time zone.
fn check_arguments(expr: &Expr) -> Result<()> {
    use TypeKind::{Date, DateTime, Time, Timestamp};
    let allowed: Option<&[TypeKind]> = match &expr.kind {
        ExprKind::Call(def, _) => match def.name {
            "UNIX_TIMESTAMP" => Some(&[Timestamp]),
            "HOUR" | "MINUTE" | "SECOND" | "MICROSECOND" | "TIME_TO_SEC" => Some(&[Time, DateTime]),
            "DATEDIFF" | "DAY" | "DAYOFMONTH" | "DAYOFWEEK" | "DAYOFYEAR" | "MONTH" | "QUARTER" | "TO_DAYS" | "TO_SECONDS"
            | "WEEKDAY" | "YEAR" | "YEARWEEK" => Some(&[Date, DateTime]),
            "EXTRACT" => Some(&[Date, DateTime, Time]),
            _ => None,
        },
        _ => None,
    };
    let mut done = Ok(());
    visit::children(expr, &mut |child| {
        let is_column = matches!(child.kind, ExprKind::Slot(_));
        if is_column && allowed.is_some_and(|kinds| !kinds.contains(&child.ty.kind)) {
            done = Err(Error::new(&ER_WRONG_EXPR_IN_PARTITION_FUNC_ERROR, &[]));
        }
        if done.is_ok() {
            done = check_arguments(child);
        }
    });
    done
}

fn no_native_partitioning() -> Error {
    Error::new(&ER_CHECK_NOT_IMPLEMENTED, &[&"native partitioning"])
}

fn inconsistent() -> Error {
    let text = Error::new(&ER_PARTITION_COLUMN_LIST_ERROR, &[]);
    Error::with_message(&ER_PARSE_ERROR, text.message())
}
