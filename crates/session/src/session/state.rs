//! What a session remembers between statements and what expressions may ask of it.
//!
//! Cells, because a running statement reads and writes this through `&self` (`exec::context::SessionEnv`).

mod insert_id;
mod restart;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use vaquita_exec::context::SessionEnv;
use vaquita_exec::context::WarningInfo;
use vaquita_plan::env::{Level, VarScope};
use vaquita_plan::settings::RunSettings;
use vaquita_storage::{Interrupt, TxnOptions};
use vaquita_types::charset::CollationId;
use vaquita_types::errno::{ER_INCORRECT_GLOBAL_LOCAL_VAR, ER_OUT_OF_RESOURCES, ER_UNKNOWN_SYSTEM_VARIABLE};
use vaquita_types::limits::USER_VARIABLES_BYTES_MAX;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{ColumnType, Error, Result, Value};

use crate::accounts::AccountRecord;
use crate::clients::Client;
use crate::server::Server;
use crate::variables::{Def, Scope, Var, registry};

use super::temporary::NotRolledBack;
use super::track::Tracker;
use crate::variables::settings::Settings;

pub struct SessionState {
    server: Arc<Server>,
    interrupt: Arc<Interrupt>,
    connection_id: u64,
    user: String,
    account: String,
    login_charset: u16,
    statement_time_us: Cell<i64>,
    pub settings: Settings,
    /// SET TRANSACTION: what the next transaction is and the session's others are not.
    pub next_transaction: NextTransaction,
    pub tracker: Tracker,
    /// Of the transaction that is open.
    pub not_rolled_back: Cell<NotRolledBack>,
    options_changed: Cell<bool>,
    warnings: RefCell<Vec<(Level, Error)>>,
    /// Warnings of the running statement beyond `max_error_count`: counted, not kept.
    warnings_lost: Cell<usize>,
    /// Of the statement before, for SHOW WARNINGS.
    previous_warnings: RefCell<Vec<(Level, Error)>>,
    previous_warnings_lost: Cell<usize>,
    user_vars: RefCell<HashMap<String, UserVar>>,
    /// What they take.
    user_var_bytes: Cell<usize>,
    /// Of the running statement.
    left: RefCell<restart::Left>,
    found_rows: Cell<u64>,
    row_count: Cell<i64>,
    last_insert_id: Cell<u64>,
    /// The statement has called LAST_INSERT_ID(expr).
    last_insert_id_given: Cell<bool>,
    insert_id: insert_id::InsertId,
    tls_version: RefCell<String>,
    tls_cipher: RefCell<String>,
}

/// A user variable.
#[derive(Clone)]
struct UserVar {
    value: Value,
    ty: ColumnType,
}

impl UserVar {
    /// Of memory.
    fn bytes(&self, key: &str) -> usize {
        let value = if let Value::Bytes(bytes) = &self.value { bytes.len() } else { 0 };
        size_of::<UserVar>() + key.len() + value
    }
}

/// What SET TRANSACTION without a scope said.
#[derive(Clone, Copy, Debug, Default)]
pub struct NextTransaction {
    pub isolation: Option<vaquita_storage::Isolation>,
    pub read_only: Option<bool>,
}

impl NextTransaction {
    pub fn is_default(&self) -> bool {
        self.isolation.is_none() && self.read_only.is_none()
    }
}

impl SessionState {
    pub fn new(server: &Arc<Server>, client: &Client, account: &AccountRecord, charset: u16) -> SessionState {
        SessionState {
            server: server.clone(),
            interrupt: client.interrupt.clone(),
            connection_id: client.id,
            user: format!("{}@{}", client.snapshot().user, client.host),
            account: format!("{}@{}", account.user, account.host),
            login_charset: charset,
            statement_time_us: Cell::new(now_us()),
            settings: Settings::new(server.globals.all(), charset),
            next_transaction: NextTransaction::default(),
            tracker: Tracker::default(),
            not_rolled_back: Cell::default(),
            options_changed: Cell::new(false),
            warnings: RefCell::new(Vec::new()),
            warnings_lost: Cell::new(0),
            previous_warnings: RefCell::new(Vec::new()),
            previous_warnings_lost: Cell::new(0),
            user_vars: RefCell::new(HashMap::new()),
            user_var_bytes: Cell::new(0),
            left: RefCell::default(),
            found_rows: Cell::new(0),
            row_count: Cell::new(0),
            last_insert_id: Cell::new(0),
            last_insert_id_given: Cell::new(false),
            insert_id: insert_id::InsertId::default(),
            tls_version: RefCell::new(String::new()),
            tls_cipher: RefCell::new(String::new()),
        }
    }

    /// What the next transaction is.
    pub fn txn_options(&self, client: &Client) -> TxnOptions {
        self.options_changed.set(false);
        TxnOptions {
            isolation: self.next_transaction.isolation.unwrap_or(self.settings.isolation),
            autocommit: self.settings.autocommit,
            read_only: self.next_transaction.read_only.unwrap_or(self.settings.read_only),
            snapshot_isolation: self.settings.snapshot_isolation,
            interrupt: client.interrupt.clone(),
        }
    }

    /// A transaction ended: SET TRANSACTION was for it alone.
    pub fn end_transaction(&mut self) {
        self.tracker.transaction_ended(&self.settings.track);
        self.not_rolled_back.take();
        if !self.next_transaction.is_default() {
            self.next_transaction = NextTransaction::default();
            self.options_changed.set(true);
        }
    }

    /// An explicit transaction took other options: the next one starts from the session's again.
    pub fn note_txn_options_used(&self) {
        self.options_changed.set(true);
    }

    pub fn txn_options_changed(&self) -> bool {
        self.options_changed.get()
    }

    pub fn begin_statement(&self) {
        self.last_insert_id_given.set(false);
        self.insert_id.begin_statement();
        self.statement_time_us.set(self.settings.timestamp_us.unwrap_or_else(now_us));
        self.previous_warnings_lost.set(self.warnings_lost.take());
        let mut warnings = self.warnings.borrow_mut();
        let mut previous = self.previous_warnings.borrow_mut();
        if !warnings.is_empty() || !previous.is_empty() {
            std::mem::swap(&mut *warnings, &mut *previous);
            warnings.clear();
        }
    }

    /// The statement is one that asks for warnings: those of the statement before stay.
    pub fn keep_warnings(&self) {
        self.warnings.swap(&self.previous_warnings);
        self.warnings_lost.swap(&self.previous_warnings_lost);
    }

    pub fn warnings(&self) -> Vec<WarningInfo> {
        let info = |(level, error): &(Level, Error)| WarningInfo {
            level: *level,
            code: error.code(),
            message: error.message().to_string(),
        };
        self.warnings.borrow().iter().map(info).collect()
    }

    /// Names and values for SHOW VARIABLES, by name.
    pub fn variables(&self, global: bool) -> Vec<(String, String)> {
        let scope = if global { VarScope::Global } else { VarScope::Any };
        let shown = registry().defs.iter().filter(|def| !global || def.scope != Scope::Session);
        shown.filter_map(|def| Some((def.name.to_string(), def.show(&self.variable(def, scope).ok()?)))).collect()
    }

    /// The connection stays encrypted when its session is reset.
    pub fn keep_tls(&self, before: &SessionState) {
        self.tls_version.swap(&before.tls_version);
        self.tls_cipher.swap(&before.tls_cipher);
    }

    pub fn tls_cipher(&self) -> String {
        self.tls_cipher.borrow().clone()
    }

    pub fn tls_version(&self) -> String {
        self.tls_version.borrow().clone()
    }

    pub fn set_tls(&self, version: &str, cipher: &str) {
        *self.tls_version.borrow_mut() = version.to_string();
        *self.tls_cipher.borrow_mut() = cipher.to_string();
    }

    pub fn database(&self) -> Option<String> {
        self.settings.plan.current_database.clone()
    }

    pub fn set_database(&mut self, name: Option<&str>, collation: Option<CollationId>) {
        self.settings.set_database(name);
        self.settings.set_database_collation(collation.unwrap_or_default());
        self.tracker.database_changed(&self.settings.track, name.unwrap_or_default());
    }

    pub fn charset_of_login(&self) -> u16 {
        self.login_charset
    }

    pub fn result_charset(&self) -> u16 {
        self.settings.results_collation
    }

    pub fn connection_collation(&self) -> CollationId {
        self.settings.plan.connection_collation
    }

    pub fn sql_mode_bits(&self) -> u64 {
        self.settings.plan.sql_mode
    }

    pub fn autocommit(&self) -> bool {
        self.settings.autocommit
    }

    /// The next transaction takes its options anew.
    pub fn note_txn_options_changed(&self) {
        self.options_changed.set(true);
    }

    /// `lock_wait_timeout`.
    pub fn metadata_lock_wait(&self) -> Duration {
        self.settings.metadata_lock_wait
    }

    pub fn lock_wait_ms(&self) -> u64 {
        self.settings.lock_wait.as_millis() as u64
    }

    /// The value of a variable: of the session, or the global one.
    pub fn variable(&self, def: &Def, scope: VarScope) -> Result<Value> {
        let wrong = |what: &str| Err(Error::new(&ER_INCORRECT_GLOBAL_LOCAL_VAR, &[&def.name, &what]));
        match (scope, def.scope) {
            (VarScope::Session, Scope::Global) => return wrong("GLOBAL"),
            (VarScope::Global, Scope::Session) => return wrong("SESSION"),
            (VarScope::Global, _) | (VarScope::Any, Scope::Global) => return Ok(self.server.globals.get(def)),
            _ => {}
        }
        Ok(match def.var {
            Some(Var::LastInsertId | Var::Identity) => Value::UInt(self.last_insert_id.get()),
            Some(Var::InsertId) => Value::UInt(self.insert_id.get()),
            Some(Var::Timestamp) => Value::Float(self.statement_time_us.get() as f64 / 1e6),
            Some(Var::PseudoThreadId) => Value::UInt(self.connection_id),
            Some(Var::WarningCount) => {
                Value::UInt((self.previous_warnings.borrow().len() + self.previous_warnings_lost.get()) as u64)
            }
            Some(Var::ErrorCount) => {
                Value::UInt(self.previous_warnings.borrow().iter().filter(|(level, _)| *level == Level::Error).count() as u64)
            }
            _ => self.settings.get(def),
        })
    }

    /// The type of `@@name`, for plans; error 1193 if it is no variable.
    pub fn sys_var_type(&self, name: &str) -> Result<ColumnType> {
        let def = registry().find(name).ok_or_else(|| Error::new(&ER_UNKNOWN_SYSTEM_VARIABLE, &[&name]))?;
        let scope = if def.scope == Scope::Session { VarScope::Session } else { VarScope::Any };
        Ok(def.column_type(&self.variable(def, scope)?))
    }

    /// The type of a user variable that is set, for plans.
    pub fn user_var_type(&self, name: &str) -> Option<ColumnType> {
        self.user_vars.borrow().get(&user_var_key(name)).map(|var| var.ty.clone())
    }

    /// `@name = value`, where `ty` tells the type and collation of the value. Error 1041 if variables have too much.
    pub fn keep_user_var(&self, name: &str, value: Value, ty: &ColumnType) -> Result<()> {
        let (value, ty) = user_var_value(value, ty);
        let mut vars = self.user_vars.borrow_mut();
        let key = user_var_key(name);
        let var = UserVar { value, ty };
        vaquita_types::memory::ask(var.bytes(&key))?;
        let freed = vars.get(&key).map_or(0, |old| old.bytes(&key));
        let total = self.user_var_bytes.get() - freed + var.bytes(&key);
        if total > USER_VARIABLES_BYTES_MAX {
            return Err(Error::new(&ER_OUT_OF_RESOURCES, &[]));
        }
        self.user_var_bytes.set(total);
        let replaced = vars.insert(key.clone(), var);
        self.left.borrow_mut().note(&key, replaced);
        Ok(())
    }

    pub fn push_warning(&self, level: Level, error: Error) {
        let mut warnings = self.warnings.borrow_mut();
        if level == Level::Note && !self.settings.notes {
            return;
        }
        if warnings.len() < self.settings.warnings_max {
            warnings.push((level, error));
        } else {
            self.warnings_lost.set(self.warnings_lost.get() + 1);
        }
    }

    pub fn warnings_u16(&self) -> u16 {
        (self.warnings.borrow().len() + self.warnings_lost.get()).min(usize::from(u16::MAX)) as u16
    }

    pub(super) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    pub(super) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    pub(super) fn connection_id(&self) -> u64 {
        self.connection_id
    }

    pub(super) fn user(&self) -> &str {
        &self.user
    }

    pub(super) fn account(&self) -> &str {
        &self.account
    }

    pub(super) fn found_rows(&self) -> u64 {
        self.found_rows.get()
    }

    pub(super) fn row_count(&self) -> i64 {
        self.row_count.get()
    }

    pub(super) fn last_insert_id(&self) -> u64 {
        self.last_insert_id.get()
    }

    pub fn set_found_rows(&self, rows: u64) {
        self.found_rows.set(rows);
    }

    pub fn set_row_count(&self, rows: i64) {
        self.row_count.set(rows);
    }

    /// LAST_INSERT_ID(expr).
    pub(super) fn give_last_insert_id(&self, id: u64) {
        self.last_insert_id.set(id);
        self.last_insert_id_given.set(true);
    }

    /// What LAST_INSERT_ID(expr) was given in this statement.
    pub(super) fn last_insert_id_given(&self) -> Option<u64> {
        self.last_insert_id_given.get().then(|| self.last_insert_id.get())
    }

    /// SET insert_id.
    pub fn give_insert_id(&self, id: u64) {
        self.insert_id.give(id);
    }

    pub fn set_last_insert_id(&self, id: u64) {
        self.last_insert_id.set(id);
    }
}

/// Names of user variables have no case.
fn user_var_key(name: &str) -> String {
    name.to_lowercase()
}

/// A user variable is an integer, a decimal, a double or a string: dates and JSON become strings.
fn user_var_value(value: Value, ty: &ColumnType) -> (Value, ColumnType) {
    let collation = if ty.is_temporal() || ty.is_numeric() || ty.kind == vaquita_types::TypeKind::Json {
        CollationId::default()
    } else {
        ty.collation
    };
    match value {
        Value::Int(_) => (value, ColumnType::bigint()),
        Value::UInt(_) if ty.is_integer() || ty.kind == vaquita_types::TypeKind::Year => (value, ColumnType::bigint_unsigned()),
        Value::Float(_) => (value, ColumnType::double()),
        Value::Decimal(ref d) => {
            let ty = ColumnType::decimal(d.precision(), d.scale());
            (value, ty)
        }
        Value::Null => (Value::Null, kept_type(ty, collation)),
        Value::Bytes(_) => (value, text_type(collation)),
        other => (vaquita_types::convert::to_text(&other, ty).into(), text_type(collation)),
    }
}

fn kept_type(ty: &ColumnType, collation: CollationId) -> ColumnType {
    match ty.is_integer() {
        true if ty.unsigned => ColumnType::bigint_unsigned(),
        true => ColumnType::bigint(),
        false => text_type(collation),
    }
}

fn text_type(collation: CollationId) -> ColumnType {
    ColumnType { length: 16_777_215, collation, ..ColumnType::new(vaquita_types::TypeKind::MediumText) }
}

/// Of a value whose expression is not at hand.
pub fn type_of_value(value: &Value, collation: CollationId) -> ColumnType {
    match value {
        Value::Int(_) => ColumnType::bigint(),
        Value::UInt(_) => ColumnType::bigint_unsigned(),
        Value::Float(_) => ColumnType::double(),
        Value::Decimal(d) => ColumnType::decimal(d.precision(), d.scale()),
        Value::Date(_) => ColumnType::temporal(vaquita_types::TypeKind::Date, 0),
        Value::DateTime(_) => ColumnType::temporal(vaquita_types::TypeKind::DateTime, 6),
        Value::Time(_) => ColumnType::temporal(vaquita_types::TypeKind::Time, 6),
        Value::Json(_) => ColumnType::new(vaquita_types::TypeKind::Json),
        Value::Null | Value::Bytes(_) => text_type(collation),
    }
}

fn now_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64)
}

impl SessionEnv for SessionState {
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

    fn connection_collation(&self) -> CollationId {
        self.settings.plan.connection_collation
    }

    fn warn(&self, level: Level, error: Error) {
        self.push_warning(level, error);
    }

    fn user_var(&self, name: &str) -> Value {
        self.user_vars.borrow().get(&user_var_key(name)).map_or(Value::Null, |var| var.value.clone())
    }

    fn set_user_var(&self, name: &str, value: Value) -> Result<()> {
        let ty = type_of_value(&value, self.settings.plan.connection_collation);
        self.keep_user_var(name, value, &ty)
    }

    fn sys_var(&self, scope: VarScope, name: &str) -> Result<Value> {
        let def = registry().find(name).ok_or_else(|| Error::new(&ER_UNKNOWN_SYSTEM_VARIABLE, &[&name]))?;
        self.variable(def, scope)
    }

    fn warning_count(&self) -> u64 {
        (self.warnings.borrow().len() + self.warnings_lost.get()) as u64
    }

    fn auto_increment(&self) -> (u64, u64) {
        self.settings.auto_increment
    }

    fn take_insert_id(&self) -> Option<u64> {
        self.insert_id.take()
    }

    fn random(&self) -> f64 {
        rand::random()
    }

    fn random_bytes(&self, out: &mut [u8]) {
        rand::fill(out);
    }

    fn session_function(&self, name: &str, args: &[Value]) -> Result<Value> {
        self.function(name, args)
    }

    fn check_interrupt(&self) -> Result<()> {
        self.interrupt.check()
    }
}
