//! SQL text to syntax tree, for MySQL 8.4's grammar.

pub mod ast;

pub use ast::*;
