//! `Fixed`: the environment in which partitioning functions are evaluated, the same for everybody.

use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value};

use crate::env::{Env, EvalCx, Level, SubqueryRows, VarScope};
use crate::expr::Subquery;
use crate::settings::RunSettings;

pub(crate) struct Fixed;

impl Env for Fixed {
    fn statement_time_us(&self) -> i64 {
        0
    }

    fn clock_us(&self) -> i64 {
        0
    }

    fn time_zone(&self) -> &TimeZone {
        &TimeZone::Utc
    }

    fn sql_mode(&self) -> u64 {
        0
    }

    fn run_settings(&self) -> &RunSettings {
        const { &RunSettings::DEFAULT }
    }

    /// A date that YEAR cannot read is NULL to the function, and of no concern to who writes it.
    fn warn(&self, _: Level, _: Error) {}

    fn user_var(&self, _: &str) -> Value {
        Value::Null
    }

    fn set_user_var(&self, _: &str, _: Value) -> Result<()> {
        Err(refused())
    }

    fn sys_var(&self, _: VarScope, _: &str) -> Result<Value> {
        Err(refused())
    }

    fn random(&self) -> f64 {
        0.0
    }

    fn random_bytes(&self, _: &mut [u8]) {}

    fn subquery(&self, _: &Subquery, _: &EvalCx<'_>) -> Result<SubqueryRows> {
        Err(refused())
    }

    fn check_interrupt(&self) -> Result<()> {
        Ok(())
    }
}

fn refused() -> Error {
    Error::internal("a partitioning function that asks for more than a row")
}
