//! Stored programs: their definitions, and their bodies as flat lists of steps.
//!
//! Names of variables, cursors, conditions and labels are resolved while the body is read, as in MySQL: a variable is a numbered place
//! of the program's frame and stands in expressions as `Expr::Param`. Example: `WHILE i < 3 DO SET i = i + 1; END WHILE` becomes
//! ```text
//! 0  JumpUnless(?0 < 3, 3)
//! 1  Set(0, ?0 + 1)
//! 2  Jump(0)
//! ```

use super::account::UserName;
use super::ddl::DataType;
use super::expr::Expr;
use super::query::IntoTarget;
use super::{Name, ProgramKind, Statement};
pub use vaquita_types::schema::{TriggerEvent, TriggerTime};

#[derive(Clone, Debug, PartialEq)]
pub struct CreateRoutine {
    /// A procedure or a function.
    pub kind: ProgramKind,
    pub if_not_exists: bool,
    pub definer: Option<UserName>,
    pub name: Name,
    /// They are the first variables of the program.
    pub parameters: usize,
    /// What stands between the parentheses.
    pub parameters_text: String,
    /// Of a function.
    pub returns: Option<VariableType>,
    pub characteristics: Characteristics,
    pub program: Program,
    pub body: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    pub if_not_exists: bool,
    pub definer: Option<UserName>,
    pub name: Name,
    pub time: TriggerTime,
    pub event: TriggerEvent,
    pub table: Name,
    pub place: Option<TriggerOrder>,
    pub program: Program,
    pub body: String,
}

/// Beside which trigger another one comes.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerOrder {
    Follows(String),
    Precedes(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterRoutine {
    pub kind: ProgramKind,
    pub name: Name,
    pub characteristics: Characteristics,
}

/// What was said; the last one counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Characteristics {
    pub deterministic: Option<bool>,
    pub data_access: Option<DataAccess>,
    /// SQL SECURITY INVOKER.
    pub invoker: Option<bool>,
    pub comment: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataAccess {
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
}

impl DataAccess {
    pub fn as_str(self) -> &'static str {
        match self {
            DataAccess::ContainsSql => "CONTAINS SQL",
            DataAccess::NoSql => "NO SQL",
            DataAccess::ReadsSqlData => "READS SQL DATA",
            DataAccess::ModifiesSqlData => "MODIFIES SQL DATA",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    pub variables: Vec<Variable>,
    pub steps: Vec<Step>,
    /// The first is that of the whole program, without handlers.
    pub scopes: Vec<Scope>,
    /// The queries of cursors.
    pub cursors: Vec<Statement>,
    /// Names of functions that it calls, those of the server and others.
    pub calls: Vec<String>,
    /// Of a trigger: the columns of OLD and NEW that it names, each of which is a variable.
    pub row_columns: Vec<RowColumn>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RowColumn {
    /// NEW, not OLD.
    pub is_new: bool,
    pub variable: usize,
    pub is_read: bool,
    pub is_set: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    pub name: String,
    /// Of a parameter.
    pub mode: Option<ParameterMode>,
    /// `None`: it takes any value, with its type, or is a column of a trigger's row and has that one's.
    pub ty: Option<VariableType>,
}

impl Variable {
    /// A place of the program's own, which has no name: it takes any value, with its type.
    pub fn takes_any(&self) -> bool {
        self.ty.is_none() && self.name.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct VariableType {
    pub ty: DataType,
    pub collate: Option<String>,
    /// As it was written.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterMode {
    In,
    Out,
    InOut,
}

impl ParameterMode {
    pub fn as_str(self) -> &'static str {
        match self {
            ParameterMode::In => "IN",
            ParameterMode::Out => "OUT",
            ParameterMode::InOut => "INOUT",
        }
    }
}

/// The handlers of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    pub handlers: Vec<Handling>,
    pub outer: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Handling {
    pub conditions: Vec<Condition>,
    /// CONTINUE, not EXIT.
    pub continues: bool,
    /// Its first step, and the one that ends it.
    pub first: usize,
    pub last: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    Code(u16),
    SqlState([u8; 5]),
    SqlWarning,
    NotFound,
    SqlException,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub instruction: Instruction,
    /// Whose handlers see what goes wrong here.
    pub scope: usize,
    /// Of a statement, as it was written: logs have it.
    pub text: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Instruction {
    Run(Box<Statement>),
    /// Without a value: NULL.
    Set {
        variable: usize,
        value: Option<Expr>,
    },
    SetUserVar {
        name: String,
        value: Expr,
    },
    Jump(usize),
    JumpUnless {
        condition: Expr,
        target: usize,
        /// Where a CONTINUE handler goes on if the condition fails: behind the whole statement.
        after: usize,
    },
    /// Error 1339: a CASE without ELSE.
    CaseNotFound,
    Return(Expr),
    Open(usize),
    Fetch {
        cursor: usize,
        into: Vec<usize>,
    },
    Close(usize),
    /// A block ends, and its cursors with it.
    CloseAll(std::ops::Range<usize>),
    /// The end of a handler: back to where it was called, or for EXIT to the end of its block.
    EndHandler {
        exit: Option<usize>,
    },
}

/// SIGNAL and RESIGNAL.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    pub resignal: bool,
    pub sqlstate: Option<[u8; 5]>,
    pub items: Vec<(ConditionItem, Expr)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionItem {
    ClassOrigin,
    SubclassOrigin,
    ConstraintCatalog,
    ConstraintSchema,
    ConstraintName,
    CatalogName,
    SchemaName,
    TableName,
    ColumnName,
    CursorName,
    MessageText,
    MysqlErrno,
    ReturnedSqlstate,
}

impl ConditionItem {
    pub fn as_str(self) -> &'static str {
        match self {
            ConditionItem::ClassOrigin => "CLASS_ORIGIN",
            ConditionItem::SubclassOrigin => "SUBCLASS_ORIGIN",
            ConditionItem::ConstraintCatalog => "CONSTRAINT_CATALOG",
            ConditionItem::ConstraintSchema => "CONSTRAINT_SCHEMA",
            ConditionItem::ConstraintName => "CONSTRAINT_NAME",
            ConditionItem::CatalogName => "CATALOG_NAME",
            ConditionItem::SchemaName => "SCHEMA_NAME",
            ConditionItem::TableName => "TABLE_NAME",
            ConditionItem::ColumnName => "COLUMN_NAME",
            ConditionItem::CursorName => "CURSOR_NAME",
            ConditionItem::MessageText => "MESSAGE_TEXT",
            ConditionItem::MysqlErrno => "MYSQL_ERRNO",
            ConditionItem::ReturnedSqlstate => "RETURNED_SQLSTATE",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct GetDiagnostics {
    /// Of the condition that the running handler was called for.
    pub stacked: bool,
    pub what: DiagnosticsWhat,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DiagnosticsWhat {
    Statement(Vec<(IntoTarget, StatementItem)>),
    Condition(Expr, Vec<(IntoTarget, ConditionItem)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementItem {
    Number,
    RowCount,
}
