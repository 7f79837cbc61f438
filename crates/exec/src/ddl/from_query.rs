//! CREATE TABLE … SELECT: columns from the output of a query, then its rows.
//!
//! A column of a table keeps its type and default (not AUTO_INCREMENT); an expression gets the column type
//! that MySQL makes of it: INT or BIGINT by its digits, a string type by its length, `varbinary(0)` for NULL.
//! The rows come by an INSERT … SELECT of the same query. Its transaction has the table locked before it can be seen. If it fails, the table
//! goes before the lock does.

use std::cell::RefCell;

use vaquita_parser::ast;
use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_plan::function::FuncDef;
use vaquita_plan::node::{OutputColumn, Plan};
use vaquita_storage::{Reads, SessionCatalog, Table, Transaction, kill_point};
use vaquita_types::charset::collation;
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::errno::ER_WRONG_COLUMN_NAME;
use vaquita_types::schema::{ColumnDef, ColumnDefault, ColumnId};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, sql_mode};

use super::show_create::{Quoting, show_create_table};
use super::{Ddl, Outcome, check_identifier};
use crate::context::Execution;
use crate::dml::{self, implicit_default};

/// Digits up to which an integer expression becomes INT.
const INT_DIGITS_MAX: u32 = 10;

/// The columns that a query's output makes.
#[derive(Default)]
pub struct Selected {
    pub columns: Vec<ColumnDef>,
    /// Names of those whose collation was written where they come from.
    pub collations_given: Vec<String>,
}

impl Ddl<'_> {
    /// The columns that the query's output makes.
    pub(super) fn selected_columns(&self, query: &ast::Query) -> Result<Selected> {
        let is_set = matches!(query.body, ast::QueryBody::SetOp { .. });
        let Plan::Query(plan) = (self.planner)(&ast::Statement::Query(Box::new(query.clone())), None)? else {
            return Err(Error::internal("a query without a plan of its own"));
        };
        let mut selected = Selected::default();
        for output in &plan.output {
            self.selected_column(output, &mut selected)?;
            // What set operations make of DECIMAL UNSIGNED is DECIMAL.
            if let Some(column) = selected.columns.last_mut().filter(|column| is_set && column.ty.kind == TypeKind::Decimal) {
                column.ty.unsigned = false;
            }
            if let Some(column) = selected.columns.last() {
                self.warn_of_made(&column.ty);
            }
        }
        Ok(selected)
    }

    fn selected_column(&self, output: &OutputColumn, selected: &mut Selected) -> Result<()> {
        check_identifier(&output.name).map_err(|_| Error::new(&ER_WRONG_COLUMN_NAME, &[&output.name]))?;
        let (column, collation_given) = column_of(self.catalog, output, sql_mode::is_strict(self.session.sql_mode()))?;
        if collation_given {
            selected.collations_given.push(column.name.clone());
        }
        selected.columns.push(column);
        Ok(())
    }

    /// Inserts the rows of the query.
    pub(super) fn fill(
        &self,
        table: &Table,
        create: &ast::CreateTable,
        query: &ast::Query,
        names: Vec<String>,
        txn: &RefCell<Transaction>,
    ) -> Result<Outcome> {
        let plan = self.plan_fill(table, create, query, names)?;
        txn.borrow_mut().begin_statement(Reads::Many);
        let log = self.log.filter(|_| !table.def.options.temporary);
        if let Some(log) = log {
            let quoting = Quoting::new(self.session.sql_mode(), true);
            log.begin(&mut txn.borrow_mut(), &table.def.database, &show_create_table(&table.def, None, quoting))?;
        }
        let mut statement =
            Execution::new(self.catalog.store(), self.catalog, txn, self.params, self.session, &self.context.interrupt);
        (statement.server, statement.functions) = (self.server, self.functions);
        (statement.lock_wait_ms_max, statement.table_lock_wait) = (self.lock_wait_ms_max, self.context.wait);
        statement.row_log = log.and_then(|log| log.rows());
        let changed = dml::run(&plan, &statement)?;
        drop(statement);
        let mut txn = txn.borrow_mut();
        txn.end_statement();
        if let Some(log) = log {
            log.end(&mut txn)?;
        }
        self.catalog.finish_table(&mut txn, &table.def.database, &table.def.name)?;
        kill_point("create-select.filled");
        txn.commit_wait()?;
        kill_point("create-select.committed");
        Ok(Outcome::Ok { affected: changed.affected, info: changed.info })
    }

    /// The plan of `fill`. The query may name what the new table hides or what hides it, so the table is given.
    pub(super) fn plan_fill(
        &self,
        table: &Table,
        create: &ast::CreateTable,
        query: &ast::Query,
        names: Vec<String>,
    ) -> Result<Plan> {
        let insert = ast::Insert {
            replace: create.duplicates == Some(ast::OnDuplicateRows::Replace),
            hints: Vec::new(),
            hinted: query.hinted,
            priority: None,
            ignore: create.duplicates == Some(ast::OnDuplicateRows::Ignore),
            table: ast::Name { db: Some(table.def.database.clone()), name: table.def.name.clone() },
            partitions: Vec::new(),
            columns: Some(names.into_iter().map(|name| ast::ColumnRef { db: None, table: None, name }).collect()),
            source: ast::InsertSource::Query(Box::new(query.clone())),
            row_alias: None,
            on_duplicate: Vec::new(),
        };
        (self.planner)(&ast::Statement::Insert(Box::new(insert)), Some(&table.def))
    }
}

/// Bytes of TEXT and BLOB, and of MEDIUMTEXT and MEDIUMBLOB.
/// Longer strings that are no column's are TEXT and BLOB.
pub(super) const EXPRESSION_CHARS_MAX: u32 = 512;
const TEXT_BYTES_MAX: u32 = 65_535;
const MEDIUM_TEXT_BYTES_MAX: u32 = 16_777_215;

/// What keeps DECIMAL UNSIGNED; other functions and CASE make DECIMAL of it.
const KEEPS_UNSIGNED: [&str; 8] = ["+", "-", "*", "/", "%", "MOD", "ABS", "NULLIF"];

/// The column type for a column of a query's output.
fn output_type(expr: &Expr) -> ColumnType {
    let mut column = type_of_output(expr);
    let passes = |def: &FuncDef| KEEPS_UNSIGNED.contains(&def.name) || def.is_stored();
    match &expr.kind {
        ExprKind::Call(def, _) if passes(def) => {}
        ExprKind::Call(..) | ExprKind::Case { .. } | ExprKind::AssignVar(..) if column.kind == TypeKind::Decimal => {
            column.unsigned = false;
        }
        _ => {}
    }
    if matches!(expr.kind, ExprKind::Call(..) | ExprKind::Case { .. } | ExprKind::AssignVar(..)) {
        column.zerofill &= column.kind == TypeKind::Year;
    }
    let keeps_digits =
        matches!(&expr.kind, ExprKind::Slot(_)) || matches!(&expr.kind, ExprKind::Call(def, _) if def.name == "IFNULL");
    if keeps_digits && column.kind == TypeKind::Double && column.decimals < DECIMALS_NOT_FIXED {
        column.length = expr.ty.length;
    }
    column
}

fn type_of_output(expr: &Expr) -> ColumnType {
    let by_digits = match &expr.kind {
        ExprKind::Call(def, _) => def.name != "IFNULL",
        ExprKind::Subquery(_) => expr.ty.kind != TypeKind::BigInt,
        _ => true,
    };
    if matches!(&expr.kind, ExprKind::Call(def, _) if def.is_stored()) {
        return stored_type(&expr.ty);
    }
    let is_made = matches!(expr.kind, ExprKind::Call(..) | ExprKind::Case { .. });
    if let ExprKind::Call(def, args) = &expr.kind
        && def.name == "IFNULL"
        && let Some(first) = args.first().filter(|_| args.iter().all(|arg| arg.ty.kind == TypeKind::Bit))
    {
        return ColumnType { length: expr.ty.length, unsigned: false, ..first.ty.clone() };
    }
    if let ExprKind::Call(def, args) = &expr.kind
        && def.name == "IFNULL"
        && args.iter().all(|arg| matches!(arg.kind, ExprKind::Slot(_) | ExprKind::Cast(_)))
        && expr.ty.is_integer()
    {
        let like = args.iter().find(|arg| arg.ty.kind == expr.ty.kind).unwrap_or(expr);
        return ColumnType { unsigned: expr.ty.unsigned, ..like.ty.clone() };
    }
    match expr.ty.kind {
        TypeKind::MediumText
            if matches!(expr.kind, ExprKind::UserVar(_)) && !collation(expr.ty.collation).charset.is_binary() =>
        {
            expression_type(&ColumnType { kind: TypeKind::LongText, length: u32::MAX, ..expr.ty.clone() })
        }
        // As numbers of so many digits as there are bits.
        TypeKind::Bit if is_made => expression_type(&ColumnType { length: expr.ty.length, ..ColumnType::bigint_unsigned() }),
        TypeKind::BigInt if !by_digits => ColumnType { length: 20, ..expr.ty.clone() },
        TypeKind::BigInt if is_made && expr.ty.length == INT_DIGITS_MAX + 1 => {
            expression_type(&ColumnType { kind: TypeKind::Int, ..expr.ty.clone() })
        }
        _ => expression_type(&expr.ty),
    }
}

/// The column type for the declared one of a stored function: the same, but for strings.
fn stored_type(ty: &ColumnType) -> ColumnType {
    let (kind, length) = match ty.kind {
        TypeKind::Char => (TypeKind::VarChar, ty.length),
        TypeKind::Enum | TypeKind::Set => (TypeKind::VarChar, chars_of_members(ty)),
        TypeKind::Binary => (TypeKind::VarBinary, ty.length),
        TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText => (TypeKind::LongText, u32::MAX),
        TypeKind::TinyBlob | TypeKind::Blob | TypeKind::MediumBlob => (TypeKind::LongBlob, u32::MAX),
        kind => (kind, ty.length),
    };
    ColumnType { kind, length, members: None, ..ty.clone() }
}

/// Characters of the longest value of ENUM or SET.
fn chars_of_members(ty: &ColumnType) -> u32 {
    let charset = collation(ty.collation).charset;
    let lengths = || ty.members.iter().flat_map(|members| members.iter()).map(|label| charset.char_count(label) as u32);
    match ty.kind {
        TypeKind::Set => lengths().map(|chars| chars + 1).sum::<u32>().saturating_sub(1),
        _ => lengths().max().unwrap_or(0),
    }
}

/// The column type for an expression's.
pub(super) fn expression_type(ty: &ColumnType) -> ColumnType {
    let mut column = ty.clone();
    match ty.kind {
        TypeKind::Null => return ColumnType { length: 0, ..ColumnType::new(TypeKind::VarBinary) },
        _ if ty.is_integer() => {
            // What IF, COALESCE and the like make of INT columns is INT however many digits it is described by.
            let small = ty.length <= INT_DIGITS_MAX || ty.kind == TypeKind::Int;
            (column.kind, column.length) = match (small, ty.unsigned) {
                (true, true) => (TypeKind::Int, 10),
                (true, false) => (TypeKind::Int, 11),
                (false, _) => (TypeKind::BigInt, 20),
            };
        }
        TypeKind::Double => column.length = 22,
        TypeKind::Char | TypeKind::VarChar => {
            let bytes = u64::from(ty.length) * u64::from(collation(ty.collation).charset.mbmaxlen);
            (column.kind, column.length) = match bytes {
                _ if ty.length <= EXPRESSION_CHARS_MAX => (TypeKind::VarChar, ty.length),
                0..=65_535 => (TypeKind::Text, TEXT_BYTES_MAX),
                _ => (TypeKind::LongText, u32::MAX),
            };
        }
        TypeKind::Binary | TypeKind::VarBinary if ty.length > TEXT_BYTES_MAX => {
            (column.kind, column.length) = (TypeKind::LongBlob, u32::MAX);
        }
        TypeKind::Binary | TypeKind::VarBinary if ty.length > EXPRESSION_CHARS_MAX => {
            (column.kind, column.length) = (TypeKind::Blob, TEXT_BYTES_MAX);
        }
        TypeKind::Binary => column.kind = TypeKind::VarBinary,
        // Of a user variable.
        TypeKind::MediumText if collation(ty.collation).charset.is_binary() => {
            (column.kind, column.length) = (TypeKind::LongBlob, u32::MAX);
        }
        // Of what is announced as long, the length tells.
        TypeKind::LongText if ty.length <= TEXT_BYTES_MAX => (column.kind, column.length) = (TypeKind::Text, TEXT_BYTES_MAX),
        TypeKind::LongBlob if ty.length <= TEXT_BYTES_MAX => (column.kind, column.length) = (TypeKind::Blob, TEXT_BYTES_MAX),
        TypeKind::MediumText | TypeKind::MediumBlob => column.length = MEDIUM_TEXT_BYTES_MAX,
        _ => {}
    }
    // What a hexadecimal literal and BIT say of themselves as numbers.
    column.unsigned &= !column.is_bytes() && column.kind != TypeKind::Bit;
    column.zerofill |= column.kind == TypeKind::Year;
    column
}

/// The column that a column of a query's output makes, and whether its collation was written where it comes from.
pub(super) fn column_of(catalog: &SessionCatalog, output: &OutputColumn, strict: bool) -> Result<(ColumnDef, bool)> {
    let nullable = output.expr.nullable;
    let mut column = ColumnDef {
        id: ColumnId(0),
        name: output.name.clone(),
        ty: output_type(&output.expr),
        nullable,
        default: ColumnDefault::Value(Value::Null),
        on_update_now: false,
        auto_increment: false,
        comment: String::new(),
        invisible: false,
        added_default: Value::Null,
        generated: None,
    };
    if !nullable {
        // The zero date is a default where it may be stored.
        let is_date = matches!(column.ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp);
        let has_none = column.ty.is_blob() || is_date && strict;
        column.default = if has_none { ColumnDefault::None } else { ColumnDefault::Value(implicit_default(&column)) };
    }
    // A column of a merged view or derived table is an expression like any other.
    let table = match &output.origin {
        Some(origin) if !origin.is_merged => catalog.table(&origin.database, &origin.org_table)?,
        _ => None,
    };
    let name = output.origin.as_ref().map_or("", |o| o.org_name.as_str());
    let source = table.as_ref().and_then(|t| t.def.columns.get(t.def.column_position(name)?));
    let (Some(table), Some(source)) = (&table, source) else {
        return Ok((column, false));
    };
    let collation_given = table.def.options.collations_given.contains(&source.id);
    column.on_update_now = source.on_update_now;
    column.ty = source.ty.clone();
    column.comment = source.comment.clone();
    if source.auto_increment {
        column.default = ColumnDefault::Value(implicit_default(&column));
    } else if nullable == source.nullable {
        column.default = source.default.clone();
    }
    Ok((column, collation_given))
}
