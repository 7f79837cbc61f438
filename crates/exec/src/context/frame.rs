//! `Frame`: one query block while it runs.

use vaquita_plan::env::EvalCx;
use vaquita_plan::expr::Expr;
use vaquita_types::{Result, Value};

use super::Execution;

/// The slots of a running query block, with what its expressions may ask.
pub struct Frame<'a> {
    pub statement: &'a Execution<'a>,
    pub outer: Option<&'a EvalCx<'a>>,
    pub slots: Vec<Value>,
}

impl<'a> Frame<'a> {
    pub fn new(statement: &'a Execution<'a>, outer: Option<&'a EvalCx<'a>>, width: usize) -> Frame<'a> {
        // Written, not cloned: this is in the way of every statement.
        Frame { statement, outer, slots: (0..width).map(|_| Value::Null).collect() }
    }

    pub fn cx(&self) -> EvalCx<'_> {
        self.statement.cx(&self.slots, self.outer)
    }

    /// All predicates are true for the row in the slots.
    #[inline]
    pub fn all_true(&self, predicates: &[Expr]) -> Result<bool> {
        if predicates.is_empty() {
            return Ok(true);
        }
        let cx = self.cx();
        for predicate in predicates {
            if predicate.eval_bool(&cx)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
