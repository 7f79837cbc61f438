//! A session that has settings and warnings, and a clock that stands.

use std::cell::RefCell;

use vaquita_exec::context::SessionEnv;
use vaquita_plan::env::{AskSession, Level, VarScope};
use vaquita_plan::settings::{PlanSettings, RunSettings};
use vaquita_types::charset::CollationId;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value};

pub struct Session {
    pub settings: PlanSettings,
    pub warnings: RefCell<Vec<Error>>,
}

impl Default for Session {
    fn default() -> Session {
        let settings = PlanSettings { current_database: Some("test".into()), ..PlanSettings::DEFAULT };
        Session { settings, warnings: RefCell::default() }
    }
}

/// 2021-01-01 00:00:00 UTC.
const NOW_US: i64 = 1_609_459_200_000_000;

impl SessionEnv for Session {
    fn statement_time_us(&self) -> i64 {
        NOW_US
    }

    fn clock_us(&self) -> i64 {
        NOW_US
    }

    fn time_zone(&self) -> &TimeZone {
        &self.settings.time_zone
    }

    fn sql_mode(&self) -> u64 {
        self.settings.sql_mode
    }

    fn run_settings(&self) -> &RunSettings {
        const { &RunSettings::DEFAULT }
    }

    fn connection_collation(&self) -> CollationId {
        self.settings.connection_collation
    }

    fn warn(&self, _: Level, error: Error) {
        self.warnings.borrow_mut().push(error);
    }

    fn user_var(&self, _: &str) -> Value {
        Value::Null
    }

    fn set_user_var(&self, name: &str, _: Value) -> Result<()> {
        Err(Error::internal(format_args!("no variable {name} here")))
    }

    fn sys_var(&self, _: VarScope, name: &str) -> Result<Value> {
        Err(Error::internal(format_args!("no variable {name} here")))
    }

    fn random(&self) -> f64 {
        0.5
    }

    fn random_bytes(&self, out: &mut [u8]) {
        out.fill(7);
    }

    fn ask(&self) -> Result<&dyn AskSession> {
        Err(Error::internal("nobody to ask here"))
    }

    fn check_interrupt(&self) -> Result<()> {
        Ok(())
    }

    fn warning_count(&self) -> u64 {
        self.warnings.borrow().len() as u64
    }

    fn auto_increment(&self) -> (u64, u64) {
        (1, 1)
    }

    fn take_insert_id(&self) -> Option<u64> {
        None
    }
}
