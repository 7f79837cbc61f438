//! PARTITION BY: what is written, checked and made the partitions of a definition.
//!
//! The partitioning function is kept as text, as MySQL prints it; the values of partitions are kept as values, those of COLUMNS in the
//! types of their columns. What is not built (KEY by some collations) is error 1235.

use std::sync::Arc;

use vaquita_parser::ast::{self, BinaryOp, UnaryOp};
use vaquita_plan::bind::bind_partitions;
use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_plan::partition::{PartitionFunction, PartitionLevel, can_hash};
use vaquita_plan::visit;
use vaquita_types::errno::*;
use vaquita_types::limits::PARTITIONS_MAX;
use vaquita_types::schema::{
    ColumnDef, IndexDef, IndexKind, PartitionDef, PartitionKey, PartitionMethod, PartitionValues, Partitioning, Subpartitioning,
    TableDef,
};
use vaquita_types::{ColumnType, Error, Result, TypeKind};

use super::Ddl;
use super::branches::{Branch, set_branches};
use super::checks::unknown_column;
use super::partition_values::check_engines;
use crate::catalog::PlanCatalog;

#[derive(Clone, Copy, PartialEq)]
enum Level {
    First,
    Second,
}

impl Ddl<'_> {
    /// Gives a complete definition its partitions, without ids. `engine_given`: the table has an engine already, or the statement says it.
    pub(super) fn partition(&self, by: &ast::Partitioning, engine_given: bool, def: &mut TableDef) -> Result<()> {
        let engine = def.options.engine.as_str();
        if !engine.is_empty() && !engine.eq_ignore_ascii_case("InnoDB") && !engine.eq_ignore_ascii_case("ROCKSDB") {
            return Err(no_native_partitioning());
        }
        let subpartitions = self.subpartitioning(by, def)?;
        let (method, key) = self.method_and_key(&by.by, def, Level::First)?;
        let count = match (by.count, by.partitions.len()) {
            (Some(count), listed) if listed > 0 && count != listed as u64 => {
                return Err(Error::new(&ER_PARTITION_WRONG_NO_PART_ERROR, &[]));
            }
            (Some(count), _) => count,
            (None, 0) => 1,
            (None, listed) => listed as u64,
        };
        let each = subpartitions.as_ref().map_or(1, |of| of.count as u64);
        if count.saturating_mul(each) > PARTITIONS_MAX as u64 {
            return Err(Error::new(&ER_TOO_MANY_PARTITIONS_ERROR, &[]));
        }
        let listed = !by.partitions.is_empty();
        let is_sliced = method.is_hash() || method.is_key();
        if !listed && !is_sliced {
            return Err(Error::new(&ER_PARTITIONS_MUST_BE_DEFINED_ERROR, &[&method.name()]));
        }
        let counted = by.count.is_some() && !listed;
        def.partitioning = Some(Arc::new(Partitioning { method, key, listed, counted, partitions: Vec::new(), subpartitions }));
        let function = self.function(def)?;
        check_level(&function.first, def, "PARTITION")?;
        function.second.as_ref().map_or(Ok(()), |level| check_level(level, def, "SUBPARTITION"))?;
        let made = match listed {
            true => {
                if !engine_given {
                    check_engines(by)?;
                }
                self.elements_of(&by.partitions, &function.first, def)?
            }
            false => (0..count).map(|n| Branch::of(sliced(n as usize))).collect(),
        };
        if let Some(by) = def.partitioning_mut() {
            set_branches(by, made)?;
        }
        self.check_partitions(def)?;
        if def.has_foreign_keys() {
            return Err(Error::new(&ER_FOREIGN_KEY_ON_PARTITIONED, &[]));
        }
        check_keys(def, &function)
    }

    /// SUBPARTITION BY, still without partitions. The parser has seen to it that all partitions name as many subpartitions.
    fn subpartitioning(&self, by: &ast::Partitioning, def: &TableDef) -> Result<Option<Subpartitioning>> {
        let is_range_or_list = matches!(by.by, ast::PartitionBy::Range(_) | ast::PartitionBy::List(_));
        let named = by.partitions.first().map_or(0, |first| first.subpartitions.len());
        let Some(of) = &by.subpartition else {
            return if named == 0 { Ok(None) } else { Err(Error::new(&ER_SUBPARTITION_ERROR, &[])) };
        };
        if !is_range_or_list {
            return Err(Error::new(&ER_SUBPARTITION_ERROR, &[]));
        }
        let count = of.count.unwrap_or(named.max(1) as u64);
        if count > PARTITIONS_MAX as u64 {
            return Err(Error::new(&ER_TOO_MANY_PARTITIONS_ERROR, &[]));
        }
        let (method, key) = self.method_and_key(&of.by, def, Level::Second)?;
        let (listed, count) = (named > 0, count as usize);
        let counted = of.count.is_some() && !listed;
        Ok(Some(Subpartitioning { method, key, listed, counted, count, partitions: Vec::new() }))
    }

    fn method_and_key(&self, by: &ast::PartitionBy, def: &TableDef, level: Level) -> Result<(PartitionMethod, PartitionKey)> {
        let expr = |expr: &ast::Expr| -> Result<PartitionKey> {
            check_expr(expr)?;
            Ok(PartitionKey::Expr(self.expression_text(expr)))
        };
        let of = |by: &ast::PartitionedBy| match by {
            ast::PartitionedBy::Expr(function) => expr(function),
            ast::PartitionedBy::Columns(names) => columns(names, def, level),
        };
        Ok(match by {
            ast::PartitionBy::Range(by) => (PartitionMethod::Range, of(by)?),
            ast::PartitionBy::List(by) => (PartitionMethod::List, of(by)?),
            ast::PartitionBy::Hash { linear: false, expr: function } => (PartitionMethod::Hash, expr(function)?),
            ast::PartitionBy::Hash { linear: true, expr: function } => (PartitionMethod::LinearHash, expr(function)?),
            ast::PartitionBy::Key { linear, columns: names, algorithm } => {
                let method = match (*linear, *algorithm == Some(1)) {
                    (false, false) => PartitionMethod::Key,
                    (true, false) => PartitionMethod::LinearKey,
                    (false, true) => PartitionMethod::OldKey,
                    (true, true) => PartitionMethod::OldLinearKey,
                };
                match names.as_slice() {
                    [] if def.key_of_rows().is_none() => return Err(Error::new(&ER_FIELD_NOT_FOUND_PART_ERROR, &[])),
                    [] => (method, PartitionKey::PrimaryKey),
                    names => (method, columns(names, def, level)?),
                }
            }
        })
    }

    /// That of a definition whose values are those of another function.
    pub(super) fn function_without_values(&self, def: &TableDef) -> Result<PartitionFunction> {
        let mut def = def.clone();
        if let Some(by) = def.partitioning_mut() {
            by.partitions.clear();
            by.subpartitions.iter_mut().for_each(|by| by.partitions.clear());
        }
        self.function(&def)
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
}

/// Errors for columns and results that a function may not have.
pub(super) fn check_level(function: &PartitionLevel, def: &TableDef, what: &str) -> Result<()> {
    use vaquita_plan::partition::PartitionKey::{Columns, Expr as Function};
    let columns: Vec<&ColumnDef> = function.columns().iter().filter_map(|at| def.columns.get(*at)).collect();
    let not_allowed = |column: &ColumnDef| Err(Error::new(&ER_FIELD_TYPE_NOT_ALLOWED_AS_PARTITION_FIELD, &[&column.name]));
    if columns.iter().any(|column| column.ty.is_geometry()) {
        return Err(Error::new(&ER_CHECK_NOT_IMPLEMENTED, &[&"GEOMETRY"]));
    }
    if let Some(vector) = columns.iter().find(|column| column.ty.is_vector()) {
        return not_allowed(vector);
    }
    if columns.iter().any(|column| column.ty.is_blob()) {
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
            if is_number(&expr.ty) { Ok(()) } else { Err(Error::new(&ER_PARTITION_FUNC_NOT_ALLOWED_ERROR, &[&what])) }
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

/// Error 1178 for a spatial column, 1214 for a FULLTEXT index, and 1503: a unique key says which partition a row is in, so that one partition tells whether it is taken.
pub(super) fn check_keys(def: &TableDef, function: &PartitionFunction) -> Result<()> {
    if def.columns.iter().any(|column| column.ty.is_geometry()) {
        return Err(Error::new(&ER_CHECK_NOT_IMPLEMENTED, &[&"GEOMETRY"]));
    }
    if def.indexes.iter().any(IndexDef::is_full_text) {
        return Err(Error::new(&ER_TABLE_CANT_HANDLE_FT, &[]));
    }
    for index in def.indexes.iter().filter(|index| index.is_unique() && !index.parts.is_empty()) {
        let holds = |at: &usize| {
            let id = def.columns.get(*at).map(|column| column.id);
            index.parts.iter().any(|part| Some(part.column) == id && part.prefix.is_none())
        };
        if !function.columns.iter().all(holds) {
            let is_primary = def.key_of_rows().is_some_and(|key| key.name == index.name && key.kind == index.kind);
            let kind = if is_primary { "PRIMARY KEY" } else { "UNIQUE INDEX" };
            return Err(Error::new(&ER_UNIQUE_KEY_NEED_ALL_FIELDS_IN_PF, &[&kind]));
        }
    }
    Ok(())
}

fn columns(names: &[String], def: &TableDef, level: Level) -> Result<PartitionKey> {
    let mut ids = Vec::with_capacity(names.len());
    let mut bytes = 0;
    for name in names {
        let column = def.column_position(name).and_then(|at| def.columns.get(at));
        let Some(column) = column else { return Err(Error::new(&ER_FIELD_NOT_FOUND_PART_ERROR, &[])) };
        // MySQL lets a column of subpartitions stand there twice.
        if level == Level::First && ids.contains(&column.id) {
            return Err(Error::new(&ER_SAME_NAME_PARTITION_FIELD, &[&column.name]));
        }
        ids.push(column.id);
        if column.ty.is_blob() {
            continue;
        }
        bytes += super::indexes::key_bytes(&column.ty, None) + usize::from(column.nullable);
        bytes += if matches!(column.ty.kind, TypeKind::VarChar | TypeKind::VarBinary) { 2 } else { 0 };
    }
    if bytes > vaquita_types::limits::INDEX_KEY_BYTES_MAX {
        return Err(Error::new(&ER_PARTITION_FIELDS_TOO_LONG, &[]));
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
    PartitionDef::new(format!("p{number}"), PartitionValues::None)
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

pub(super) fn no_native_partitioning() -> Error {
    Error::new(&ER_CHECK_NOT_IMPLEMENTED, &[&"native partitioning"])
}
