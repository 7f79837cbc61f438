//! Statements that change rows: INSERT, REPLACE, UPDATE, DELETE, LOAD DATA; and HANDLER.

use std::sync::Arc;

use super::Name;
use super::expr::{ColumnRef, Expr};
use super::hint::Hint;
use super::literal_rows::LiteralRows;
use super::query::{FileFormat, Limit, OrderItem, Query, TableRef, With};

#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// REPLACE instead of INSERT.
    pub replace: bool,
    pub hints: Vec<Hint>,
    /// There are hints somewhere in the statement.
    pub hinted: bool,
    pub priority: Option<Priority>,
    pub ignore: bool,
    pub table: Name,
    pub partitions: Vec<String>,
    /// `None`: no list was written, all columns in their order. `INSERT .. SET` fills it.
    pub columns: Option<Vec<ColumnRef>>,
    pub source: InsertSource,
    /// `VALUES (..) AS new(a, b)`
    pub row_alias: Option<RowAlias>,
    pub on_duplicate: Vec<Assignment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Priority {
    Low,
    High,
    Delayed,
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// A row may be empty: `VALUES ()`. A value may be `Expr::Default`.
    Values(Vec<Vec<Expr>>),
    /// Rows of plain literals, at least one.
    Literals(Arc<LiteralRows>),
    Query(Box<Query>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowAlias {
    pub name: String,
    pub columns: Vec<String>,
}

/// `column = value`; the value may be `Expr::Default`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub column: ColumnRef,
    pub value: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub with: Option<With>,
    pub hints: Vec<Hint>,
    /// There are hints somewhere in the statement.
    pub hinted: bool,
    pub low_priority: bool,
    pub ignore: bool,
    /// More than one reference, or a join, makes it a multi-table UPDATE.
    pub tables: Vec<TableRef>,
    pub assignments: Vec<Assignment>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    pub with: Option<With>,
    pub hints: Vec<Hint>,
    /// There are hints somewhere in the statement.
    pub hinted: bool,
    pub low_priority: bool,
    pub quick: bool,
    pub ignore: bool,
    /// The tables rows are deleted from in a multi-table DELETE: names or aliases that `from`
    /// defines. Empty for a single-table DELETE.
    pub targets: Vec<Name>,
    /// Single-table: exactly one `TableRef::Table`.
    pub from: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LoadData {
    pub xml: bool,
    pub priority: Option<LoadPriority>,
    pub local: bool,
    pub path: Vec<u8>,
    pub on_duplicate: LoadDuplicate,
    pub table: Name,
    pub partitions: Vec<String>,
    pub charset: Option<String>,
    pub format: FileFormat,
    /// LOAD XML's `ROWS IDENTIFIED BY`.
    pub rows_identified_by: Option<Vec<u8>>,
    pub ignore_lines: u64,
    /// Empty: all columns in their order.
    pub columns: Vec<LoadTarget>,
    pub set: Vec<Assignment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadPriority {
    Low,
    Concurrent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadDuplicate {
    Error,
    Replace,
    Ignore,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadTarget {
    Column(ColumnRef),
    UserVar(String),
}

/// HANDLER statements.
#[allow(clippy::large_enum_variant)] // rare, and never kept in numbers
#[derive(Clone, Debug, PartialEq)]
pub enum Handler {
    Open { table: Name, alias: Option<String> },
    Close { table: Name },
    Read { table: Name, index: Option<String>, how: HandlerRead, filter: Option<Expr>, limit: Option<Limit> },
}

#[derive(Clone, Debug, PartialEq)]
pub enum HandlerRead {
    First,
    Next,
    Prev,
    Last,
    /// `= (1, 2)` and the other comparisons.
    Key {
        op: super::expr::BinaryOp,
        values: Vec<Expr>,
    },
}
