//! `Expr`: a bound, typed expression over the slots of a query block's frame.
//!
//! A frame is one flat array of values per query block. Every column of every table
//! that the block uses has a slot in it; scans fill their own slots, joins therefore
//! copy nothing, and an aggregation writes its results to further slots. A column of an
//! enclosing block is `Outer`. Worked example: in
//! `SELECT a.x + b.y FROM a JOIN b ON a.id = b.id` the planner gives a.x, a.id, b.y, b.id
//! the slots 0 to 3, and the output is `Call(+, [Slot(0), Slot(2)])`.

use std::borrow::Cow;
use std::sync::Arc;

use vaquita_parser::ast::MatchMode;
use vaquita_types::charset::CollationId;
use vaquita_types::schema::TableRef;
use vaquita_types::{ColumnType, TypeKind, Value, stack};

use super::env::VarScope;
use super::function::FuncDef;
use super::node::{OutputColumn, QueryPlan};

/// Coercibility of numbers and temporal values.
pub const COERCIBILITY_NUMERIC: u8 = 5;

/// Of variables of stored programs, as of columns.
const COERCIBILITY_VARIABLE: u8 = 2;

/// An index into the frame of a query block.
pub type Slot = usize;

#[derive(Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: ColumnType,
    pub nullable: bool,
    /// MySQL's coercibility (0 explicit COLLATE … 2 column … 4 literal … 6 NULL): decides
    /// which collation wins when two strings meet.
    pub coercibility: u8,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Literal(Value),
    /// The n-th `?`, from 0.
    Param(usize),
    Slot(Slot),
    /// A slot of the block `depth` levels out (1 = the directly enclosing one).
    Outer {
        depth: usize,
        slot: Slot,
    },
    UserVar(String),
    /// `@name := value`.
    AssignVar(String, Box<Expr>),
    SysVar(VarScope, String),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    Compare(CompareOp, Box<Expr>, Box<Expr>, CompareAs),
    /// Left value, candidates; NULL semantics of IN.
    InList(Box<Expr>, Vec<Expr>, CompareAs),
    Case {
        /// Of `CASE x WHEN`: what is compared, and how with each WHEN.
        operand: Option<Box<(Expr, Vec<CompareAs>)>>,
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Cast(Box<Expr>),
    Call(&'static FuncDef, Vec<Expr>),
    /// A row constructor; only as an operand of comparisons and IN.
    Row(Vec<Expr>),
    Subquery(Box<Subquery>),
    /// MATCH … AGAINST: a rank, 0 for a row that is not found.
    Match(Box<FullTextMatch>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// `<=>`
    NullSafeEq,
}

/// How MySQL compares two operands of given types, decided when the plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareAs {
    Int,
    Decimal,
    Double,
    /// As `Double`, but both sides are declared with at most so many digits after the point: they are equal if they are closer than
    /// half a unit of the last one.
    DoubleFixed(u8),
    /// Strings under a collation.
    Text(CollationId),
    /// DATE, DATETIME, TIMESTAMP: both sides as DateTime.
    DateTime,
    /// As `DateTime`, but only the days.
    Date,
    Time,
    Json,
    /// Element by element; the row's elements carry their own rule.
    Row,
}

/// A search in a FULLTEXT index, which is the same for all rows of the statement, and the row whose rank is asked for.
#[derive(Clone, Debug)]
pub struct FullTextMatch {
    pub table: TableRef,
    /// Position in `table.indexes`.
    pub index: usize,
    /// The slot of the row's clustered key; NULL beside an outer join.
    pub key: Expr,
    /// A constant, as text of the columns' charset.
    pub against: Expr,
    pub mode: MatchMode,
    /// Identifies the search within the statement, for the cache of results.
    pub id: usize,
    /// The columns as they were written, for EXPLAIN.
    pub columns: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Subquery {
    pub kind: SubqueryKind,
    pub query: SubqueryState,
    /// How many levels further out the block is that the query belongs to. Not 0 where an alias names a subquery from inside another.
    pub depth: usize,
    /// It refers to no slot of an enclosing block: run once per statement.
    pub correlated: bool,
    /// Identifies it within the statement, for the cache of uncorrelated results.
    pub id: usize,
}

#[derive(Clone, Debug)]
pub enum SubqueryState {
    /// Its logical tree is with the block whose expression this is.
    Bound(Arc<BoundSubquery>),
    Planned(Arc<QueryPlan>),
}

/// What is known of a subquery before it is planned.
#[derive(Debug)]
pub struct BoundSubquery {
    pub output: Vec<OutputColumn>,
    /// `(SELECT expression)`: one row, of no table.
    pub of_no_table: bool,
    /// The slots of enclosing frames that it reads, and how many levels further out than it they are: 1 is the block it belongs to.
    pub reads: Vec<(usize, Slot)>,
}

impl Subquery {
    pub fn output(&self) -> &[OutputColumn] {
        match &self.query {
            SubqueryState::Bound(bound) => &bound.output,
            SubqueryState::Planned(plan) => &plan.output,
        }
    }

    /// None while it is only bound.
    pub fn plan(&self) -> Option<&Arc<QueryPlan>> {
        match &self.query {
            SubqueryState::Bound(_) => None,
            SubqueryState::Planned(plan) => Some(plan),
        }
    }
}

#[derive(Clone, Debug)]
pub enum SubqueryKind {
    /// One row at most (error 1242), one column or a row.
    Scalar,
    /// One column of such a row, where each is compared by itself.
    Column(usize),
    Exists {
        negated: bool,
    },
    /// `left [NOT] IN (subquery)`; for a row the left is `ExprKind::Row`.
    In {
        left: Expr,
        compare: Vec<CompareAs>,
        negated: bool,
    },
    /// `(a, b) op (subquery)`: one row at most (error 1242), compared from the left.
    Row {
        left: Expr,
        op: CompareOp,
        compare: Vec<CompareAs>,
    },
    /// `left op ANY|ALL (subquery)`.
    Quantified {
        left: Expr,
        op: CompareOp,
        all: bool,
        compare: Vec<CompareAs>,
    },
}

/// Written out, because a derived one takes the stack for granted.
impl Clone for Expr {
    fn clone(&self) -> Expr {
        stack::deeper(|| Expr {
            kind: self.kind.clone(),
            ty: self.ty.clone(),
            nullable: self.nullable,
            coercibility: self.coercibility,
        })
    }
}

impl Expr {
    pub fn literal(value: Value, ty: ColumnType) -> Expr {
        let nullable = value.is_null();
        Expr { kind: ExprKind::Literal(value), ty, nullable, coercibility: if nullable { 6 } else { 4 } }
    }

    pub fn slot(slot: Slot, ty: ColumnType, nullable: bool) -> Expr {
        Expr { kind: ExprKind::Slot(slot), ty, nullable, coercibility: 2 }
    }

    /// A variable of a stored program.
    pub fn variable(at: usize, ty: ColumnType) -> Expr {
        Expr { kind: ExprKind::Param(at), ty, nullable: true, coercibility: COERCIBILITY_VARIABLE }
    }

    /// It is a variable of a stored program, not a `?`.
    pub fn is_variable(&self) -> bool {
        matches!(self.kind, ExprKind::Param(_)) && self.coercibility == COERCIBILITY_VARIABLE
    }

    /// As a number or moment it is that of the operand that it picks, whatever type it has itself.
    pub(crate) fn passes_on(&self) -> bool {
        match &self.kind {
            ExprKind::Call(def, _) => matches!(def.name, "IF" | "NULLIF"),
            ExprKind::Case { .. } => true,
            _ => false,
        }
    }

    /// It is a DOUBLE or FLOAT that no column, literal or variable holds, and that is not picked from others.
    pub(crate) fn computes_double(&self) -> bool {
        let picks = |def: &FuncDef| matches!(def.name, "ANY_VALUE" | "IF" | "NAME_CONST" | "NULLIF");
        let converts = |def: &FuncDef| matches!(def.name, "NUMBER OF DATE" | "QUIET NUMBER" | "STORED NUMBER");
        matches!(self.ty.kind, TypeKind::Float | TypeKind::Double)
            && match &self.kind {
                ExprKind::Call(def, _) => !def.is_stored() && !picks(def) && !converts(def),
                ExprKind::Cast(_) => true,
                _ => false,
            }
    }

    /// Its type where it is written as a text: COALESCE and its like compute with DOUBLEs, of which all digits are written, also where they
    /// give a FLOAT.
    pub(crate) fn type_as_text(&self) -> Cow<'_, ColumnType> {
        let computes = |def: &FuncDef| matches!(def.name, "ANY_VALUE" | "COALESCE" | "GREATEST" | "IFNULL" | "LEAST");
        match &self.kind {
            ExprKind::Call(def, _) if self.ty.kind == TypeKind::Float && computes(def) => {
                Cow::Owned(ColumnType { kind: TypeKind::Double, ..self.ty.clone() })
            }
            _ => Cow::Borrowed(&self.ty),
        }
    }

    /// It has no operands.
    pub fn is_leaf(&self) -> bool {
        matches!(
            self.kind,
            ExprKind::Literal(_)
                | ExprKind::Param(_)
                | ExprKind::Slot(_)
                | ExprKind::Outer { .. }
                | ExprKind::UserVar(_)
                | ExprKind::SysVar(..)
        )
    }

    pub fn int(n: i64) -> Expr {
        Expr::literal(Value::Int(n), ColumnType::bigint())
    }

    /// NOT of it.
    pub fn negated(self) -> Expr {
        let nullable = self.nullable;
        Expr::predicate(ExprKind::Not(Box::new(self)), nullable)
    }

    /// What is true, false or NULL.
    pub fn predicate(kind: ExprKind, nullable: bool) -> Expr {
        Expr { kind, ty: ColumnType::boolean(), nullable, coercibility: COERCIBILITY_NUMERIC }
    }
}
