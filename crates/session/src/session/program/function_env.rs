//! What a function sees of the session: everything but its settings and account, which are the function's own.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use vaquita_exec::context::SessionEnv;
use vaquita_plan::env::{AskSession, Level, VarScope};
use vaquita_plan::settings::{PlanSettings, RunSettings};
use vaquita_types::charset::CollationId;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{ColumnType, Error, Result, Value};

use crate::state::environment::Environment;
use crate::variables::{Var, registry, sql_mode_value};

/// The session with a function's settings and account over it.
pub struct FunctionEnv<'a> {
    pub session: &'a Environment,
    pub plan: Arc<PlanSettings>,
    pub account: String,
    /// What SELECT … INTO has for variables of the function.
    pub selected: RefCell<Vec<(usize, Value, ColumnType)>>,
}

impl SessionEnv for FunctionEnv<'_> {
    fn statement_time_us(&self) -> i64 {
        self.session.statement_time_us()
    }

    fn clock_us(&self) -> i64 {
        self.session.clock_us()
    }

    fn time_zone(&self) -> &TimeZone {
        &self.plan.time_zone
    }

    fn sql_mode(&self) -> u64 {
        self.plan.sql_mode
    }

    fn run_settings(&self) -> &RunSettings {
        self.session.run_settings()
    }

    fn connection_collation(&self) -> CollationId {
        self.plan.connection_collation
    }

    fn warn(&self, level: Level, error: Error) {
        self.session.warn(level, error);
    }

    fn user_var(&self, name: &str) -> Value {
        self.session.user_var(name)
    }

    fn set_user_var(&self, name: &str, value: Value) -> Result<()> {
        self.session.set_user_var(name, value)
    }

    fn set_program_variable(&self, variable: usize, value: Value, ty: &ColumnType) {
        self.selected.borrow_mut().push((variable, value, ty.clone()));
    }

    fn sys_var(&self, scope: VarScope, name: &str) -> Result<Value> {
        let is_mode = registry().find(name).is_some_and(|def| def.var == Some(Var::SqlMode));
        match scope {
            VarScope::Any | VarScope::Session if is_mode => Ok(sql_mode_value(self.plan.sql_mode)),
            _ => self.session.sys_var(scope, name),
        }
    }

    fn random(&self) -> f64 {
        self.session.random()
    }

    fn random_bytes(&self, out: &mut [u8]) {
        self.session.random_bytes(out);
    }

    fn ask(&self) -> Result<&dyn AskSession> {
        Ok(self)
    }

    fn check_interrupt(&self) -> Result<()> {
        self.session.check_interrupt()
    }

    fn warning_count(&self) -> u64 {
        self.session.warning_count()
    }

    fn auto_increment(&self) -> (u64, u64) {
        self.session.auto_increment()
    }
}

impl AskSession for FunctionEnv<'_> {
    fn database(&self) -> Option<String> {
        self.plan.current_database.clone()
    }

    fn user(&self) -> &str {
        AskSession::user(self.session)
    }

    fn account(&self) -> &str {
        &self.account
    }

    fn server_version(&self) -> &str {
        self.session.server_version()
    }

    fn connection_id(&self) -> u64 {
        self.session.connection_id()
    }

    fn thread_id(&self, connection_id: u64) -> Option<u64> {
        self.session.thread_id(connection_id)
    }

    fn row_count(&self) -> i64 {
        self.session.row_count()
    }

    fn found_rows(&self) -> u64 {
        self.session.found_rows()
    }

    fn last_insert_id(&self) -> u64 {
        self.session.last_insert_id()
    }

    fn give_last_insert_id(&self, id: u64) {
        self.session.give_last_insert_id(id);
    }

    fn unique_number(&self) -> u64 {
        self.session.unique_number()
    }

    fn sleep(&self, duration: Duration) -> Result<bool> {
        self.session.sleep(duration)
    }

    fn lock(&self, name: &str, timeout: Option<Duration>) -> Result<bool> {
        self.session.lock(name, timeout)
    }

    fn unlock(&self, name: &str) -> Option<bool> {
        self.session.unlock(name)
    }

    fn unlock_all(&self) -> u64 {
        self.session.unlock_all()
    }

    fn lock_owner(&self, name: &str) -> Option<u64> {
        self.session.lock_owner(name)
    }
}
