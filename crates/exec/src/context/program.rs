//! The environment of an expression that a stored program assigns or tests, without rows.
//!
//! In strict mode the first warning that fails an assignment is its error, as in a statement that changes rows.

use std::any::Any;
use std::cell::RefCell;

use vaquita_plan::env::{Env, EvalCx, Level, StoredCall, SubqueryRows, VarScope};
use vaquita_plan::expr::Subquery;
use vaquita_plan::settings::RunSettings;
use vaquita_types::schema::{TableDef, TriggerEvent, TriggerTime};
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value, sql_mode};

use super::{Execution, SessionEnv, fails_strict, forward_to_session};

/// Runs stored functions for the expressions of a statement, and triggers for its rows, in its transaction and under its snapshot.
pub trait Functions {
    fn call(&self, call: &StoredCall<'_>, statement: &Execution<'_>) -> Result<Value>;
    /// Runs the triggers of a row's table, event and time, in their order; `kept` is of the table and the statement.
    fn fire(&self, row: &mut TriggeredRow<'_>, kept: &mut KeptTriggers, statement: &Execution<'_>) -> Result<()>;
}

/// A row for which triggers run, in the session's time zone.
pub struct TriggeredRow<'r> {
    pub table: &'r TableDef,
    pub event: TriggerEvent,
    pub time: TriggerTime,
    /// Empty in INSERT.
    pub old: &'r [Value],
    pub new: NewRow<'r>,
}

/// What NEW is.
pub enum NewRow<'r> {
    /// In DELETE.
    None,
    /// Triggers may change it.
    Open(&'r mut [Value]),
    Written(&'r [Value]),
}

impl NewRow<'_> {
    pub fn values(&self) -> &[Value] {
        match self {
            NewRow::None => &[],
            NewRow::Open(row) => row,
            NewRow::Written(row) => row,
        }
    }
}

/// What whoever runs triggers keeps of them from row to row of a statement.
pub type KeptTriggers = Option<Box<dyn Any>>;

/// Where there is nobody who could.
pub struct NoFunctions;

impl Functions for NoFunctions {
    fn call(&self, _: &StoredCall<'_>, _: &Execution<'_>) -> Result<Value> {
        Err(Error::unsupported("stored functions here"))
    }

    fn fire(&self, _: &mut TriggeredRow<'_>, _: &mut KeptTriggers, _: &Execution<'_>) -> Result<()> {
        Err(Error::unsupported("triggers here"))
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
