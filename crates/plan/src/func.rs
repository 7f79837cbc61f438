//! The table of built-in functions.
//!
//! A family file (`func/string.rs`, `func/date.rs` …) holds `FuncDef`s: the name, the
//! number of arguments, how the result is typed, and how it is computed. Operators
//! such as `+` are functions named by their token. What needs the session goes through `Env`.

use vaquita_types::{ColumnType, Result, Value};

use crate::env::EvalCx;
use crate::expr::Expr;

pub struct FuncDef {
    /// MySQL's name in upper case; an operator's token.
    pub name: &'static str,
    /// Smallest and largest number of arguments (error 1582 outside).
    pub args: (usize, usize),
    /// Types the call; may wrap arguments in casts, and fails as MySQL does (collation mix 1267 …).
    pub resolve: fn(&mut Vec<Expr>) -> Result<FuncType>,
    pub eval: fn(&FuncCall<'_>, &EvalCx<'_>) -> Result<Value>,
    /// Same arguments, same result within a statement: constant calls are folded.
    pub foldable: bool,
}

/// The typing of a call.
pub struct FuncType {
    pub ty: ColumnType,
    pub nullable: bool,
    pub coercibility: u8,
}

pub struct FuncCall<'a> {
    pub args: &'a [Expr],
    pub ty: &'a ColumnType,
}

impl std::fmt::Debug for FuncDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
