//! The arithmetic operators.
use super::FuncDef;
pub(super) static FUNCTIONS: &[FuncDef] = &[];
