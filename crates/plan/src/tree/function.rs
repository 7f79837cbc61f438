//! `FuncDef`: what a function is to plans and to those who run them. The table of functions is `func`.

use std::borrow::Cow;

use vaquita_types::{ColumnType, Result, Value};

use super::env::EvalCx;
use super::expr::{Expr, ExprKind};

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
    /// Calls of all stored functions are of one.
    pub const STORED: &'static str = "STORED FUNCTION";

    /// As `STORED`, of functions that are declared DETERMINISTIC.
    pub const DETERMINISTIC: &'static str = "DETERMINISTIC STORED FUNCTION";

    /// Two comparisons of one value, which is evaluated once.
    pub const BETWEEN_ONCE: &'static str = "BETWEEN ONCE";

    pub fn is_stored(&self) -> bool {
        self.name == FuncDef::STORED || self.name == FuncDef::DETERMINISTIC
    }

    /// The name of a stored function and what a call gives it: its database stands before, user and host of who invokes it behind the name.
    pub fn stored_call<'a>(&self, args: &'a [Expr]) -> Option<(Cow<'a, str>, &'a [Expr])> {
        match args {
            [_, Expr { kind: ExprKind::Literal(Value::Bytes(name)), .. }, _, _, given @ ..] if self.is_stored() => {
                Some((String::from_utf8_lossy(name), given))
            }
            _ => None,
        }
    }

    /// How often it is called is seen: in what it gives, in time, or in what a stored function does.
    pub fn is_called_each_time(&self) -> bool {
        matches!(self.name, FuncDef::STORED | "RAND" | "UUID" | "UUID_SHORT" | "SLEEP" | "RANDOM_BYTES")
    }

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
            "AT TIME ZONE",
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
