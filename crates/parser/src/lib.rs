//! SQL text to syntax tree, for MySQL 8.4's grammar.
//!
//! 1. `lexer` cuts the bytes into tokens: comments and `/*!80400 .. */` are resolved here, and
//!    words become keywords (`keyword`).
//! 2. `parser` is a recursive descent over those tokens with one file per family of statements;
//!    it builds the tree of `ast`. Errors are MySQL's 1064 with MySQL's text.
//! 3. `digest` runs only the lexer: the statement with its literals taken out, for a plan cache.
//! 4. `statement_kind` has what is known about each kind of statement, one row a kind.
//! 5. `printer` turns expressions and queries back into the text that MySQL would show; `secrets` shows statements without their passwords.
//!
//! `parse_one(b"SELECT a FROM t; SELECT 2", &ParserOptions::default())` gives the first statement
//! and 17, the bytes it took with its semicolon. The crate knows no catalog and does no I/O.

#![forbid(unsafe_code)]

pub mod ast;
mod definer;
pub mod digest;
mod error;
pub mod keyword;
mod lexer;
mod parser;
pub mod printer;
mod secrets;
pub mod statement_kind;
pub mod words;

pub use ast::*;
pub use definer::place_of_definer;
pub use error::ParseError;
pub use parser::{is_blank, parse_expr, parse_one, parse_one_noting, parse_prepared, parse_prepared_noting, refuse_in_function};
pub use secrets::{text_of_accounts, without_secrets};
pub use statement_kind::StatementKind;

/// What the session says about the grammar: the bits of `sql_mode` and the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParserOptions {
    /// `"` quotes identifiers.
    pub ansi_quotes: bool,
    /// `||` concatenates strings.
    pub pipes_as_concat: bool,
    /// A backslash in a string is an ordinary character.
    pub no_backslash_escapes: bool,
    /// Built-in functions may have spaces before `(`; their names become reserved.
    pub ignore_space: bool,
    /// NOT binds like `!`.
    pub high_not_precedence: bool,
    /// REAL is FLOAT.
    pub real_as_float: bool,
    /// `/*!NNNNNN` comments up to this version are part of the statement.
    pub version: u32,
}

/// The version that `/*! */` comments are compared with.
pub const SERVER_VERSION: u32 = 80_400;

impl Default for ParserOptions {
    fn default() -> ParserOptions {
        ParserOptions {
            ansi_quotes: false,
            pipes_as_concat: false,
            no_backslash_escapes: false,
            ignore_space: false,
            high_not_precedence: false,
            real_as_float: false,
            version: SERVER_VERSION,
        }
    }
}
