//! What expressions may ask of a session (`exec::context::SessionEnv`), and what the session knows of itself: its parts behind one
//! reference, which the executor shares while a statement runs.
//!
//! ```text
//! settings         values of system variables        begin anew with the session (`reset`)
//! diagnostics      warnings, ROW_COUNT(), FOUND_ROWS()
//! ids              LAST_INSERT_ID(), SET insert_id
//! user_variables   @a
//! tracker          what the client wants to be told of changes of the above
//! deferred         what functions have done to all this, while their statement runs
//! ```

mod functions;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use vaquita_exec::context::SessionEnv;
use vaquita_plan::env::{AskSession, Level, RoleGrants, SeededRandom, VarScope};
use vaquita_plan::settings::RunSettings;
use vaquita_types::charset::CollationId;
use vaquita_types::errno::{ER_INCORRECT_GLOBAL_LOCAL_VAR, ER_UNKNOWN_SYSTEM_VARIABLE};
use vaquita_types::temporal::TimeZone;
use vaquita_types::{ColumnType, Error, Result, Value};

use super::deferred::Deferred;
use super::diagnostics::Diagnostics;
use super::insert_ids::InsertIds;
use super::traces::Traces;
use super::tracker::Tracker;
use super::user_variables::{UserVariables, type_of_value};
use crate::accounts::AccountRecord;
use crate::clients::Client;
use crate::server::Server;
use crate::state::profiles::Profiles;
use crate::variables::settings::Settings;
use crate::variables::{Def, Scope, Var, registry};

pub struct Environment {
    pub settings: Settings,
    pub diagnostics: Diagnostics,
    pub ids: InsertIds,
    pub user_variables: UserVariables,
    pub tracker: Tracker,
    pub deferred: Deferred,
    pub profiles: Profiles,
    /// Microseconds since 1970 when the running statement began, or `SET timestamp`.
    statement_time_us: Cell<i64>,
    /// The generator of RAND(), once SET has given it a seed.
    seeded: Cell<Option<SeededRandom>>,
    server: Arc<Server>,
    client: Arc<Client>,
    /// USER() and CURRENT_USER().
    user: String,
    account: String,
    /// Collation of the handshake.
    login_charset: u16,
    tls: Tls,
    /// What SELECT … INTO has for variables of the program.
    selected: RefCell<Vec<(usize, Value, ColumnType)>>,
    /// Of the optimizer.
    pub traces: RefCell<Traces>,
}

/// The client's encryption; empty if there is none.
#[derive(Clone, Default)]
pub struct Tls {
    pub version: String,
    pub cipher: String,
}

impl Environment {
    pub fn new(server: &Arc<Server>, client: &Arc<Client>, account: &AccountRecord, login_charset: u16) -> Environment {
        Environment {
            settings: Settings::new(server.globals.all(), login_charset),
            diagnostics: Diagnostics::default(),
            ids: InsertIds::default(),
            user_variables: UserVariables::default(),
            tracker: Tracker::default(),
            deferred: Deferred::default(),
            profiles: Profiles::default(),
            statement_time_us: Cell::new(now_us()),
            seeded: Cell::new(None),
            server: server.clone(),
            client: client.clone(),
            user: format!("{}@{}", client.snapshot().user, client.host),
            account: format!("{}@{}", account.user, account.host),
            login_charset,
            tls: Tls::default(),
            selected: RefCell::default(),
            traces: RefCell::default(),
        }
    }

    /// As after a login; the connection stays as it is.
    pub fn reset(&mut self, account: &AccountRecord) {
        let tls = std::mem::take(&mut self.tls);
        *self = Environment { tls, ..Environment::new(&self.server, &self.client, account, self.login_charset) };
    }

    #[inline]
    pub fn begin_statement(&self) {
        self.ids.begin_statement();
        self.statement_time_us.set(self.settings.timestamp_us.unwrap_or_else(now_us));
        self.diagnostics.begin_statement();
    }

    /// A step of a program begins; how many conditions have been pushed so far.
    #[inline]
    pub fn begin_step(&self) -> u64 {
        self.statement_time_us.set(self.settings.timestamp_us.unwrap_or_else(now_us));
        self.diagnostics.begin_step()
    }

    pub fn take_program_variables(&self) -> Vec<(usize, Value, ColumnType)> {
        self.selected.take()
    }

    /// SET of a variable whose value is kept elsewhere: last_insert_id, insert_id, and the seeds of RAND(). False: the variable is another.
    pub fn set_id(&self, def: &Def, value: &Value) -> bool {
        match (def.var, value) {
            (Some(Var::LastInsertId | Var::Identity), Value::UInt(id)) => self.ids.set_last(*id),
            (Some(Var::InsertId), Value::UInt(id)) => self.ids.give_next(*id),
            (Some(Var::RandSeed1), Value::UInt(seed)) => self.seed(|random| random.seed1 = *seed),
            (Some(Var::RandSeed2), Value::UInt(seed)) => self.seed(|random| random.seed2 = *seed),
            (var, _) => return matches!(var, Some(Var::LastInsertId | Var::Identity | Var::InsertId)),
        }
        true
    }

    fn seed(&self, set: impl FnOnce(&mut SeededRandom)) {
        let mut seeded = self.seeded.get().unwrap_or_else(|| SeededRandom::new(rand::random()));
        set(&mut seeded);
        self.seeded.set(Some(seeded));
    }

    /// SET timestamp of a function, in microseconds; `None` is the clock's.
    pub fn set_statement_time(&self, us: Option<i64>) {
        self.statement_time_us.set(us.unwrap_or_else(now_us));
    }

    /// The roles of all accounts, for whoever may see them.
    pub fn all_role_grants(&self) -> Vec<RoleGrants> {
        self.server.accounts().role_grants()
    }

    /// What CURRENT_USER() is; what it was.
    pub fn set_account(&mut self, name: String) -> String {
        std::mem::replace(&mut self.account, name)
    }

    /// A statement begins that may run again.
    pub fn begin_try(&self) {
        self.diagnostics.begin_try();
        self.user_variables.begin_try();
    }

    /// It does not.
    pub fn end_try(&self) {
        self.user_variables.end_try();
    }

    /// It is about to run again: what it has left in the session goes.
    pub fn take_back(&self) {
        self.selected.borrow_mut().clear();
        self.deferred.take_back();
        if self.user_variables.take_back() {
            self.diagnostics.take_back();
        }
    }

    pub fn push_warning(&self, level: Level, error: Error) {
        if level != Level::Note || self.settings.notes {
            self.diagnostics.push(level, error, self.settings.warnings_max);
        }
    }

    pub fn tls(&self) -> &Tls {
        &self.tls
    }

    pub fn set_tls(&mut self, tls: Tls) {
        self.tls = tls;
    }

    pub fn database(&self) -> Option<String> {
        self.settings.plan.current_database.clone()
    }

    pub fn set_database(&mut self, name: Option<&str>, collation: Option<CollationId>) {
        self.settings.set_database(name);
        self.settings.set_database_collation(collation.unwrap_or_default());
        self.tracker.database_changed(&self.settings.track, name.unwrap_or_default());
    }

    pub fn connection_collation(&self) -> CollationId {
        self.settings.plan.connection_collation
    }

    /// Names and values for SHOW VARIABLES, by name.
    pub fn variables(&self, global: bool) -> Vec<(String, String)> {
        let scope = if global { VarScope::Global } else { VarScope::Any };
        let shown = registry().defs.iter().filter(|def| !global || def.scope != Scope::Session);
        shown.filter_map(|def| Some((def.name.to_string(), def.show(&self.variable(def, scope).ok()?)))).collect()
    }

    /// The value of a variable: of the session, or the global one.
    pub fn variable(&self, def: &Def, scope: VarScope) -> Result<Value> {
        let wrong = |what: &str| Err(Error::new(&ER_INCORRECT_GLOBAL_LOCAL_VAR, &[&def.name, &what]));
        match (scope, def.scope) {
            (VarScope::Session, Scope::Global) => return wrong("GLOBAL"),
            (VarScope::Global, Scope::Session) => return wrong("SESSION"),
            (VarScope::Global, _) | (VarScope::Any, Scope::Global) => return Ok(self.server.global(def)),
            _ => {}
        }
        if let Some(value) = self.deferred.get(def) {
            return Ok(value);
        }
        Ok(match def.var {
            Some(Var::LastInsertId | Var::Identity) => Value::UInt(self.ids.last()),
            Some(Var::InsertId) => Value::UInt(self.ids.next()),
            Some(Var::Timestamp) => Value::Float(self.statement_time_us.get() as f64 / 1e6),
            Some(Var::PseudoThreadId) => Value::UInt(self.client.id),
            Some(Var::WarningCount) => Value::UInt(self.diagnostics.previous_count() as u64),
            Some(Var::ErrorCount) => Value::UInt(self.diagnostics.previous_errors() as u64),
            _ => self.settings.get(def),
        })
    }

    /// The type of `@@name`, for plans; error 1193 if it is no variable.
    pub fn sys_var_type(&self, name: &str) -> Result<ColumnType> {
        let def = registry().find(name).ok_or_else(|| Error::new(&ER_UNKNOWN_SYSTEM_VARIABLE, &[&name]))?;
        let scope = if def.scope == Scope::Session { VarScope::Session } else { VarScope::Any };
        Ok(def.column_type(&self.variable(def, scope)?))
    }
}

fn now_us() -> i64 {
    vaquita_storage::now_us() as i64
}

impl SessionEnv for Environment {
    fn statement_time_us(&self) -> i64 {
        self.statement_time_us.get()
    }

    fn clock_us(&self) -> i64 {
        now_us()
    }

    fn time_zone(&self) -> &TimeZone {
        &self.settings.plan.time_zone
    }

    fn sql_mode(&self) -> u64 {
        self.settings.plan.sql_mode
    }

    fn run_settings(&self) -> &RunSettings {
        &self.settings.run
    }

    fn utf8mb4_collation(&self) -> CollationId {
        self.settings.plan.utf8mb4_collation
    }

    fn connection_collation(&self) -> CollationId {
        self.settings.plan.connection_collation
    }

    fn warn(&self, level: Level, error: Error) {
        self.push_warning(level, error);
    }

    fn user_var(&self, name: &str) -> Value {
        self.user_variables.get(name)
    }

    fn set_user_var(&self, name: &str, value: Value) -> Result<()> {
        let ty = type_of_value(&value, self.settings.plan.connection_collation);
        self.user_variables.set(name, value, &ty)
    }

    fn set_program_variable(&self, variable: usize, value: Value, ty: &ColumnType) {
        self.selected.borrow_mut().push((variable, value, ty.clone()));
    }

    fn sys_var(&self, scope: VarScope, name: &str) -> Result<Value> {
        let def = registry().find(name).ok_or_else(|| Error::new(&ER_UNKNOWN_SYSTEM_VARIABLE, &[&name]))?;
        self.variable(def, scope)
    }

    fn warning_count(&self) -> u64 {
        self.diagnostics.count() as u64
    }

    fn auto_increment(&self) -> (u64, u64) {
        self.settings.steps()
    }

    fn take_insert_id(&self) -> Option<u64> {
        self.ids.take_next()
    }

    fn note_insert_id_of_failed(&self, id: u64) {
        self.ids.give_last(id);
    }

    fn random(&self) -> f64 {
        let Some(mut seeded) = self.seeded.get() else { return rand::random() };
        let number = seeded.number();
        self.seeded.set(Some(seeded));
        number
    }

    fn random_bytes(&self, out: &mut [u8]) {
        rand::fill(out);
    }

    fn ask(&self) -> Result<&dyn AskSession> {
        Ok(self)
    }

    fn check_interrupt(&self) -> Result<()> {
        self.client.interrupt.check()
    }
}
