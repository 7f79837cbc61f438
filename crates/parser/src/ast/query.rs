//! Queries: SELECT, set operations, VALUES, TABLE, and what stands in FROM.
//!
//! `SELECT .. ORDER BY .. LIMIT ..` keeps its ORDER BY and LIMIT in `Query`, not in `Select`, so
//! that `(SELECT ..) UNION (SELECT ..) ORDER BY ..` has the same shape.

use std::sync::Arc;

use super::expr::{Expr, JsonOn, StringLiteral, WindowSpec};
use super::hint::Hint;
use super::{DataType, Name};

/// A query expression with all that surrounds its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub with: Option<With>,
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    /// INTO, wherever it was written; only in a top-level query.
    pub into: Option<SelectInto>,
    pub locks: Vec<LockClause>,
    /// There are hints somewhere in it. Nobody looks for them otherwise.
    pub hinted: bool,
}

#[derive(Debug, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    SetOp {
        op: SetOp,
        /// ALL; DISTINCT is the default.
        all: bool,
        left: Box<QueryBody>,
        right: Box<QueryBody>,
    },
    /// `VALUES ROW(1,2), ROW(3,4)`
    Values(Vec<Vec<Expr>>),
    /// `TABLE t`
    Table(Name),
    /// A query in parentheses that has WITH, ORDER BY, LIMIT or locks of its own.
    Nested(Box<Query>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetOp {
    Union,
    Intersect,
    Except,
}

#[derive(Clone, Debug, PartialEq)]
pub struct With {
    pub recursive: bool,
    pub ctes: Vec<Cte>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    pub name: String,
    pub columns: Vec<String>,
    /// Shared, because it is bound where the name stands.
    pub query: Arc<Query>,
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Select {
    pub options: SelectOptions,
    pub hints: Vec<Hint>,
    pub items: Vec<SelectItem>,
    /// The comma-separated references; empty without FROM and for FROM DUAL.
    pub from: Vec<TableRef>,
    /// FROM was written (`FROM DUAL` gives an empty `from`).
    pub has_from: bool,
    pub filter: Option<Expr>,
    pub group_by: Vec<Expr>,
    pub rollup: bool,
    pub having: Option<Expr>,
    pub windows: Vec<(String, WindowSpec)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SelectOptions {
    pub distinct: bool,
    pub high_priority: bool,
    pub straight_join: bool,
    pub small_result: bool,
    pub big_result: bool,
    pub buffer_result: bool,
    pub calc_found_rows: bool,
    pub no_cache: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SelectItem {
    /// `*`
    Wildcard,
    /// `t.*`, `db.t.*`
    TableWildcard(Name),
    Expr {
        expr: Expr,
        alias: Option<String>,
        /// The name MySQL gives to the column without an alias: the column's own name, a string
        /// literal's text, else the text of the expression as it was written.
        source_text: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub desc: bool,
}

/// LIMIT: each is an integer literal or `?` (or, in a stored program, a name).
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub offset: Option<Expr>,
    pub count: Expr,
}

/// Where a value goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntoTarget {
    /// `@a`, without the `@`.
    UserVar(String),
    /// A variable of the stored program.
    Variable(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub enum SelectInto {
    Vars(Vec<IntoTarget>),
    Dumpfile(Vec<u8>),
    Outfile { path: Vec<u8>, charset: Option<String>, format: FileFormat },
}

/// FIELDS and LINES of OUTFILE and LOAD DATA; `None` means MySQL's default.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FileFormat {
    pub fields_terminated: Option<Vec<u8>>,
    pub fields_enclosed: Option<Vec<u8>>,
    pub optionally_enclosed: bool,
    pub fields_escaped: Option<Vec<u8>>,
    pub lines_starting: Option<Vec<u8>>,
    pub lines_terminated: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockClause {
    pub strength: LockStrength,
    /// `OF t1, t2`; empty means all.
    pub of: Vec<Name>,
    pub wait: LockWait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockStrength {
    /// FOR SHARE, LOCK IN SHARE MODE.
    Share,
    /// FOR UPDATE.
    Update,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}

/// What may stand in FROM.
#[derive(Debug, PartialEq)]
pub enum TableRef {
    Table(TableFactor),
    Derived {
        query: Box<Query>,
        lateral: bool,
        /// Required by MySQL: error 1248 without.
        alias: Option<String>,
        columns: Vec<String>,
    },
    JsonTable(Box<JsonTable>),
    Join(Box<Join>),
    /// `(a, b)`: a list in parentheses, which joins like an inner join without a condition.
    List(Vec<TableRef>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableFactor {
    pub name: Name,
    pub partitions: Vec<String>,
    pub alias: Option<String>,
    pub index_hints: Vec<IndexHint>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub left: TableRef,
    pub right: TableRef,
    pub on: JoinOn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// INNER JOIN, CROSS JOIN, JOIN: all the same in MySQL.
    Inner,
    /// STRAIGHT_JOIN: inner, in the order written.
    Straight,
    Left,
    Right,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JoinOn {
    None,
    On(Expr),
    Using(Vec<String>),
    Natural,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    pub scope: IndexHintScope,
    /// `PRIMARY` stands for the primary key. Empty only for `USE INDEX ()`.
    pub indexes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexHintScope {
    All,
    Join,
    OrderBy,
    GroupBy,
}

/// `JSON_TABLE(doc, path COLUMNS (..)) AS alias`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTable {
    pub doc: Expr,
    pub path: StringLiteral,
    pub columns: Vec<JsonTableColumn>,
    pub alias: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JsonTableColumn {
    Ordinality(String),
    Path {
        name: String,
        ty: DataType,
        collation: Option<String>,
        exists: bool,
        path: StringLiteral,
        on_empty: Option<JsonOn>,
        on_error: Option<JsonOn>,
    },
    Nested {
        path: StringLiteral,
        columns: Vec<JsonTableColumn>,
    },
}
