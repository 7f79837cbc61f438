//! What a function sees of the session: everything but its settings and account, which are the function's own.
//!
//! What it sets of its session's variables is put into a copy of the settings, made when the first is set, and most of it into
//! `state::deferred` for the session and the functions around it.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use vaquita_exec::context::SessionEnv;
use vaquita_plan::env::{AskSession, FileRead, Level, RoleGrants, VarScope};
use vaquita_plan::settings::{PlanSettings, RunSettings};
use vaquita_types::charset::CollationId;
use vaquita_types::gtid::GtidSet;
use vaquita_types::schema::StoredObject;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{ColumnType, Error, Result, Value};

use super::super::server_view::ServerView;
use crate::clients::ActiveRoles;
use crate::state::environment::Environment;
use crate::variables::settings::Settings;
use crate::variables::{Def, Stays, Var, registry, sql_mode_value};

/// The settings of a function.
#[derive(Clone)]
pub struct FunctionSettings {
    pub plan: Arc<PlanSettings>,
    /// All of them, if any other differs from the session's.
    own: Option<Arc<Settings>>,
    /// What hints of the statement that runs have set.
    hinted: Vec<&'static str>,
    /// How many of the variables that functions of the statement have set are in it.
    seen: u64,
}

impl FunctionSettings {
    /// Those that the routine was created under, over those around it.
    pub fn of(object: &StoredObject, view: &ServerView<'_>) -> FunctionSettings {
        let mut settings = match view.over {
            Some(outer) => outer.clone(),
            None => FunctionSettings { plan: view.env.settings.plan.clone(), own: None, hinted: Vec::new(), seen: 0 },
        };
        settings.catch_up(view.env);
        let plan = &settings.plan;
        let same = plan.sql_mode == object.sql_mode
            && plan.connection_collation == object.connection_collation
            && plan.current_database.as_deref() == Some(&object.database);
        if !same {
            let mut plan = PlanSettings::clone(plan);
            plan.sql_mode = object.sql_mode;
            plan.connection_collation = object.connection_collation;
            plan.current_database = Some(object.database.clone());
            settings.plan = Arc::new(plan);
            settings.own = settings.own.map(|own| Arc::new(own.under(&settings.plan)));
        }
        settings
    }

    /// What functions have set that it called.
    pub fn catch_up(&mut self, env: &Environment) {
        if self.seen == env.deferred.count() {
            return;
        }
        for (def, value) in env.deferred.since(self.seen) {
            self.keep(def, value, env);
        }
        self.seen = env.deferred.count();
    }

    /// Whether functions have set more.
    pub fn is_behind(&self, env: &Environment) -> bool {
        self.seen != env.deferred.count()
    }

    pub fn set(&mut self, def: &'static Def, value: Value, env: &Environment) {
        if def.stays() == Stays::InSession {
            env.deferred.set(def, value.clone());
        }
        self.keep(def, value, env);
    }

    /// What the session has, or the function has set.
    pub fn all<'s>(&'s self, env: &'s Environment) -> &'s Settings {
        self.own.as_deref().unwrap_or(&env.settings)
    }

    fn keep(&mut self, def: &Def, value: Value, env: &Environment) {
        let own = self.own.get_or_insert_with(|| Arc::new(env.settings.under(&self.plan)));
        let own = Arc::make_mut(own);
        own.set(def, value);
        self.plan = own.plan.clone();
    }

    /// Sets what hints of a statement ask for; what it was.
    pub fn set_hinted(&mut self, hinted: Vec<(&'static Def, Value)>, env: &Environment) -> Vec<(&'static Def, Value)> {
        self.hinted = hinted.iter().map(|(def, _)| def.name).collect();
        let set = |(def, value): (&'static Def, Value)| {
            if env.set_id(def, &value) {
                return None;
            }
            let before = self.all(env).get(def);
            self.keep(def, value, env);
            if def.var == Some(Var::Timestamp) {
                env.set_statement_time(self.all(env).timestamp_us);
            }
            Some((def, before))
        };
        hinted.into_iter().filter_map(set).collect()
    }

    /// The statement has ended.
    pub fn restore_hinted(&mut self, before: Vec<(&'static Def, Value)>, env: &Environment) {
        self.set_hinted(before, env);
        self.hinted.clear();
    }

    /// A procedure has ended that the function has called: takes over what it has set until the function ends.
    pub fn take_from(&mut self, procedure: &FunctionSettings, env: &Environment) {
        self.catch_up(env);
        if procedure.own.is_none() {
            return;
        }
        for def in registry().defs.iter().filter(|def| def.stays() == Stays::InFunction) {
            let value = procedure.all(env).get(def);
            if value != self.all(env).get(def) {
                self.keep(def, value, env);
            }
        }
    }
}

/// The session with a function's settings and account over it.
pub struct FunctionEnv<'a> {
    pub session: &'a Environment,
    pub settings: FunctionSettings,
    pub account: String,
    pub roles: Arc<ActiveRoles>,
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
        &self.settings.plan.time_zone
    }

    fn sql_mode(&self) -> u64 {
        self.settings.plan.sql_mode
    }

    fn run_settings(&self) -> &RunSettings {
        &self.settings.all(self.session).run
    }

    fn utf8mb4_collation(&self) -> CollationId {
        self.settings.all(self.session).plan.utf8mb4_collation
    }

    fn connection_collation(&self) -> CollationId {
        self.settings.plan.connection_collation
    }

    fn warn(&self, level: Level, error: Error) {
        let settings = self.settings.all(self.session);
        if level != Level::Note || settings.notes {
            self.session.diagnostics.push(level, error, settings.warnings_max);
        }
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
        let def = registry().find(name).filter(|_| scope != VarScope::Global);
        match (def, &self.settings.own) {
            (Some(def), _) if def.var == Some(Var::SqlMode) => Ok(sql_mode_value(self.settings.plan.sql_mode)),
            (Some(def), Some(own)) if def.stays() != Stays::InSession || self.settings.hinted.contains(&def.name) => {
                Ok(own.get(def))
            }
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
        self.settings.all(self.session).steps()
    }

    fn take_insert_id(&self) -> Option<u64> {
        self.session.take_insert_id()
    }

    fn note_insert_id_of_failed(&self, id: u64) {
        self.session.note_insert_id_of_failed(id);
    }
}

impl AskSession for FunctionEnv<'_> {
    fn database(&self) -> Option<String> {
        self.settings.plan.current_database.clone()
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

    fn roles(&self) -> Vec<(String, String)> {
        self.roles.names.clone()
    }

    fn role_grants(&self) -> Option<Vec<RoleGrants>> {
        self.roles.sees_all.then(|| self.session.all_role_grants())
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

    fn read_file(&self, name: &[u8], bytes_max: u64) -> Result<Option<FileRead>> {
        if self.roles.reads_files { self.session.read_server_file(name, bytes_max) } else { Ok(None) }
    }

    fn wait_for_gtids(&self, set: &GtidSet, time: Duration) -> Result<bool> {
        self.session.wait_for_gtids(set, time)
    }

    fn wait_for_position(&self, channel: Option<&str>, place: (&str, u64), time: Duration) -> Result<Option<i64>> {
        self.session.wait_for_position(channel, place, time)
    }
}
