//! The table of built-in functions.
//!
//! A family file (`func/string.rs`, `func/date.rs` …) holds `FuncDef`s: the name, the
//! number of arguments, how the result is typed, and how it is computed. Operators
//! such as `+` are functions named by their token. What needs the session goes through `Env`.
//!
//! Names and arguments where SQL has syntax of its own (a unit is a literal string such as `'DAY_HOUR'`):
//! `+ - * / DIV % & | ^ << >> ~`, `NEG(x)`, `XOR(a,b)`, `IS TRUE(x)`, `IS FALSE(x)`,
//! `LIKE(x, pattern[, escape])`, `REGEXP(x, pattern)`, `SOUNDS LIKE` is a comparison of SOUNDEX,
//! `FULL YEAR(x)` (what a YEAR column takes x for), `DATE_ADD(date, value, unit)`, `DATE_SUB(…)`, `EXTRACT(unit, x)`, `TIMESTAMPADD(unit, n, date)`,
//! `TIMESTAMPDIFF(unit, a, b)`, `GET_FORMAT('DATE', 'ISO')`, `TRIM(x[, remove])`, `LTRIM(…)`, `RTRIM(…)`,
//! `CHAR(n, …)` gives a binary string, `MEMBER OF(value, array)`, `WEIGHT_STRING(x[, 'CHAR'|'BINARY', n])`.
//! CASE, COLLATE, CONVERT USING and CAST are built by `typing`.

// `FuncDef::resolve` may add arguments; most functions do not and still have its signature.
#![allow(clippy::ptr_arg)]

mod aes;
mod args;
mod arith;
mod constant;
mod control;
mod crypto;
mod date;
mod date_arith;
mod date_format;
mod encode;
mod info;
pub mod json;
pub mod locale;
mod logic;
mod net;
mod numeric;
mod regexp;
mod search;
mod string;

pub use arith::{DIVISION_DECIMALS, retype_quotient};
pub use date::full_year;
pub use numeric::SeededRandom;
pub use search::like_collation;
use std::collections::HashMap;
use std::sync::LazyLock;
pub(crate) use string::packet_bytes_max;

use vaquita_types::{ColumnType, Error, Result, Value, errno};

use crate::env::EvalCx;
use crate::expr::{Expr, ExprKind};

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

impl FuncDef {
    /// The same arguments give the same value throughout a statement.
    pub fn is_steady(&self) -> bool {
        const OF_STATEMENT: &[&str] = &[
            "NOW",
            "CURDATE",
            "CURTIME",
            "UTC_DATE",
            "UTC_TIME",
            "UTC_TIMESTAMP",
            "UNIX_TIMESTAMP",
            "FROM_UNIXTIME",
            "CONVERT_TZ",
            "DATABASE",
            "SCHEMA",
            "USER",
            "SESSION_USER",
            "SYSTEM_USER",
            "CURRENT_USER",
            "CURRENT_ROLE",
            "VERSION",
            "CONNECTION_ID",
        ];
        self.foldable || OF_STATEMENT.contains(&self.name)
    }
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

/// The functions of all families, by name.
static TABLE: LazyLock<HashMap<&'static str, &'static FuncDef>> = LazyLock::new(|| {
    let families: &[&'static [FuncDef]] = &[
        arith::FUNCTIONS,
        constant::FUNCTIONS,
        logic::FUNCTIONS,
        json::FUNCTIONS,
        control::FUNCTIONS,
        numeric::FUNCTIONS,
        string::FUNCTIONS,
        search::FUNCTIONS,
        encode::FUNCTIONS,
        date::FUNCTIONS,
        date_arith::FUNCTIONS,
        date_format::FUNCTIONS,
        regexp::FUNCTIONS,
        crypto::FUNCTIONS,
        net::FUNCTIONS,
        info::FUNCTIONS,
        aes::FUNCTIONS,
    ];
    families.iter().flat_map(|family| family.iter()).map(|def| (def.name, def)).collect()
});

/// A built-in function by name in any case, or an operator by its token.
pub fn lookup(name: &str) -> Option<&'static FuncDef> {
    TABLE.get(name).copied().or_else(|| TABLE.get(name.to_ascii_uppercase().as_str()).copied())
}

/// Functions and operators that read their arguments as numbers.
const NUMERIC: [&str; 22] = [
    "+", "-", "*", "/", "DIV", "%", "MOD", "NEG", "|", "&", "^", "~", "<<", ">>", "ABS", "ROUND", "TRUNCATE", "CEIL", "CEILING",
    "FLOOR", "SIGN", "SQRT",
];

/// `expr` where a number is wanted: a date or time that a function gives as text is a number as those of temporal types are.
pub fn as_number(expr: Expr) -> Result<Expr> {
    let gives_dates = |def: &FuncDef| {
        matches!(def.name, "DATE_ADD" | "DATE_SUB" | "TIMESTAMPADD" | "ADDDATE" | "SUBDATE" | "ADDTIME" | "SUBTIME")
    };
    match (&expr.kind, lookup("NUMBER OF DATE")) {
        (ExprKind::Call(def, _), Some(number)) if expr.ty.is_bytes() && gives_dates(def) => call(number, vec![expr]),
        _ => Ok(expr),
    }
}

/// A typed call: checks the number of arguments, types the call and builds it.
pub fn call(def: &'static FuncDef, mut args: Vec<Expr>) -> Result<Expr> {
    if args.len() < def.args.0 || args.len() > def.args.1 {
        return Err(Error::new(&errno::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&def.name]));
    }
    for arg in &args {
        if let ExprKind::Row(_) = arg.kind {
            return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&1]));
        }
    }
    if NUMERIC.contains(&def.name) {
        args = args.into_iter().map(as_number).collect::<Result<_>>()?;
    }
    let FuncType { ty, nullable, coercibility } = (def.resolve)(&mut args)?;
    Ok(Expr { kind: ExprKind::Call(def, args), ty, nullable, coercibility })
}
