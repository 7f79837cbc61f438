//! The environment of an expression that a stored program assigns or tests, without rows.
//!
//! In strict mode the first warning that fails an assignment is its error, as in a statement that changes rows.

use std::cell::RefCell;

use vaquita_plan::env::{Env, EvalCx, Level, StoredCall, SubqueryRows, VarScope};
use vaquita_plan::expr::Subquery;
use vaquita_plan::settings::RunSettings;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value, sql_mode};

use super::{Execution, SessionEnv, fails_strict, forward_to_session};

/// Runs stored functions for the expressions of a statement, in its transaction and under its snapshot.
pub trait Functions {
    fn call(&self, call: &StoredCall<'_>, statement: &Execution<'_>) -> Result<Value>;
}

/// Where there is nobody who could.
pub struct NoFunctions;

impl Functions for NoFunctions {
    fn call(&self, _: &StoredCall<'_>, _: &Execution<'_>) -> Result<Value> {
        Err(Error::unsupported("stored functions here"))
    }
}

pub struct Assignment<'a> {
    session: &'a dyn SessionEnv,
    raised: RefCell<Option<Error>>,
}

impl<'a> Assignment<'a> {
    pub fn new(session: &'a dyn SessionEnv) -> Assignment<'a> {
        Assignment { session, raised: RefCell::new(None) }
    }

    /// `variables` are the values of the program's.
    pub fn cx<'b>(&'b self, variables: &'b [Value]) -> EvalCx<'b> {
        EvalCx { frame: &[], outer: None, params: variables, env: self }
    }

    /// The error that a warning has become.
    pub fn raised(self) -> Option<Error> {
        self.raised.into_inner()
    }
}

impl Env for Assignment<'_> {
    forward_to_session!();

    fn warn(&self, level: Level, error: Error) {
        if level == Level::Warning && fails_strict(error.code()) && sql_mode::is_strict(self.session.sql_mode()) {
            self.raised.borrow_mut().get_or_insert(error);
        } else {
            self.session.warn(level, error);
        }
    }

    fn check_interrupt(&self) -> Result<()> {
        self.session.check_interrupt()
    }

    fn subquery(&self, _: &Subquery, _: &EvalCx<'_>) -> Result<SubqueryRows> {
        Err(Error::internal("a subquery without a statement"))
    }
}
