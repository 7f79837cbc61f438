//! What a session remembers between statements and what expressions may ask of it.
//!
//! Cells, because a running statement reads and writes this through `&self` (`exec::context::SessionEnv`).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use vaquita_exec::context::SessionEnv;
use vaquita_exec::system::WarningInfo;
use vaquita_plan::env::{Level, VarScope};
use vaquita_storage::{Isolation, TxnOptions};
use vaquita_types::charset::CollationId;
use vaquita_types::errno::{ER_SP_DOES_NOT_EXIST, ER_UNKNOWN_SYSTEM_VARIABLE};
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value, sql_mode};

use crate::accounts::AccountRecord;
use crate::clients::Client;
use crate::server::Server;

pub struct SessionState {
    server: Arc<Server>,
    connection_id: u64,
    user: String,
    account: String,
    login_charset: u16,
    database: RefCell<Option<String>>,
    statement_time_us: Cell<i64>,
    sql_mode: Cell<u64>,
    autocommit: Cell<bool>,
    isolation: Cell<Isolation>,
    options_changed: Cell<bool>,
    time_zone: TimeZone,
    warnings: RefCell<Vec<(Level, Error)>>,
    /// Of the statement before, for SHOW WARNINGS.
    previous_warnings: RefCell<Vec<(Level, Error)>>,
    user_vars: RefCell<HashMap<String, Value>>,
    found_rows: Cell<u64>,
    row_count: Cell<i64>,
    last_insert_id: Cell<u64>,
    tls_version: RefCell<String>,
    tls_cipher: RefCell<String>,
    settings_version: Cell<u64>,
}

/// `max_error_count`.
const WARNINGS_MAX: usize = 1024;

impl SessionState {
    pub fn new(server: &Arc<Server>, client: &Client, account: &AccountRecord, charset: u16) -> SessionState {
        SessionState {
            server: server.clone(),
            connection_id: client.id,
            user: format!("{}@{}", client.snapshot().user, client.host),
            account: format!("{}@{}", account.user, account.host),
            login_charset: charset,
            database: RefCell::new(None),
            statement_time_us: Cell::new(now_us()),
            sql_mode: Cell::new(sql_mode::DEFAULT),
            autocommit: Cell::new(true),
            isolation: Cell::new(Isolation::RepeatableRead),
            options_changed: Cell::new(false),
            time_zone: TimeZone::Utc,
            warnings: RefCell::new(Vec::new()),
            previous_warnings: RefCell::new(Vec::new()),
            user_vars: RefCell::new(HashMap::new()),
            found_rows: Cell::new(0),
            row_count: Cell::new(0),
            last_insert_id: Cell::new(0),
            tls_version: RefCell::new(String::new()),
            tls_cipher: RefCell::new(String::new()),
            settings_version: Cell::new(0),
        }
    }

    pub fn txn_options(&self, client: &Client) -> TxnOptions {
        self.options_changed.set(false);
        TxnOptions {
            isolation: self.isolation.get(),
            autocommit: self.autocommit.get(),
            read_only: false,
            snapshot_isolation: true,
            interrupt: client.interrupt.clone(),
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
        self.statement_time_us.set(now_us());
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
    }

    pub fn warnings(&self) -> Vec<WarningInfo> {
        let info = |(level, error): &(Level, Error)| WarningInfo { level: *level, code: error.code(), message: error.message().to_string() };
        self.warnings.borrow().iter().map(info).collect()
    }

    /// Names and values for SHOW VARIABLES, by name.
    pub fn variables(&self, global: bool) -> Vec<(String, String)> {
        let scope = if global { VarScope::Global } else { VarScope::Session };
        let names = ["max_allowed_packet", "version_comment"];
        let text = |name: &str| match self.sys_var(scope, name) {
            Ok(Value::Bytes(bytes)) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Ok(Value::Int(n)) => Some(n.to_string()),
            _ => None,
        };
        names.into_iter().filter_map(|name| Some((name.to_string(), text(name)?))).collect()
    }

    pub fn tls_cipher(&self) -> String {
        self.tls_cipher.borrow().clone()
    }

    pub fn tls_version(&self) -> String {
        self.tls_version.borrow().clone()
    }

    pub fn set_tls(&self, tls: &rustls::ServerConnection) {
        *self.tls_version.borrow_mut() = match tls.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3".into(),
            _ => "TLSv1.2".into(),
        };
        let suite = tls.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
        *self.tls_cipher.borrow_mut() = suite.unwrap_or_default().replace("TLS13_", "TLS_");
    }

    pub fn database(&self) -> Option<String> {
        self.database.borrow().clone()
    }

    pub fn set_database(&self, name: Option<&str>, _collation: Option<CollationId>) {
        *self.database.borrow_mut() = name.map(str::to_string);
        self.settings_version.set(self.settings_version.get() + 1);
    }

    pub fn charset_of_login(&self) -> u16 {
        self.login_charset
    }

    pub fn result_charset(&self) -> u16 {
        self.login_charset
    }

    pub fn connection_collation(&self) -> CollationId {
        CollationId(self.login_charset)
    }

    pub fn settings_version(&self) -> u64 {
        self.settings_version.get()
    }

    pub fn sql_mode_bits(&self) -> u64 {
        self.sql_mode.get()
    }

    pub fn autocommit(&self) -> bool {
        self.autocommit.get()
    }

    pub fn set_autocommit(&self, on: bool) {
        self.autocommit.set(on);
        self.options_changed.set(true);
    }

    /// `lock_wait_timeout`.
    pub fn metadata_lock_wait(&self) -> Duration {
        Duration::from_secs(31_536_000)
    }

    pub fn lock_wait_ms(&self) -> u64 {
        50_000
    }

    pub fn push_warning(&self, level: Level, error: Error) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.len() < WARNINGS_MAX {
            warnings.push((level, error));
        }
    }

    pub fn warnings_u16(&self) -> u16 {
        self.warnings.borrow().len().min(usize::from(u16::MAX)) as u16
    }

    pub fn set_found_rows(&self, rows: u64) {
        self.found_rows.set(rows);
    }

    pub fn set_row_count(&self, rows: i64) {
        self.row_count.set(rows);
    }

    pub fn set_last_insert_id(&self, id: u64) {
        self.last_insert_id.set(id);
    }

    pub fn take_tracked(&self, _caps: u32) -> Vec<u8> {
        Vec::new()
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
        &self.time_zone
    }

    fn sql_mode(&self) -> u64 {
        self.sql_mode.get()
    }

    fn warn(&self, level: Level, error: Error) {
        self.push_warning(level, error);
    }

    fn user_var(&self, name: &str) -> Value {
        self.user_vars.borrow().get(name).cloned().unwrap_or_default()
    }

    fn set_user_var(&self, name: &str, value: Value) {
        self.user_vars.borrow_mut().insert(name.to_string(), value);
    }

    fn sys_var(&self, _scope: VarScope, name: &str) -> Result<Value> {
        match name {
            "version_comment" => Ok("Vaquita, MySQL Source compatible".into()),
            "max_allowed_packet" => Ok(Value::Int(64 << 20)),
            _ => Err(Error::new(&ER_UNKNOWN_SYSTEM_VARIABLE, &[&name])),
        }
    }

    fn warning_count(&self) -> u64 {
        self.warnings.borrow().len() as u64
    }

    fn auto_increment(&self) -> (u64, u64) {
        (1, 1)
    }

    fn random(&self) -> f64 {
        rand::random()
    }

    fn random_bytes(&self, out: &mut [u8]) {
        rand::fill(out);
    }

    fn session_function(&self, name: &str, args: &[Value]) -> Result<Value> {
        Ok(match (name, args) {
            ("DATABASE", _) => self.database().map_or(Value::Null, Value::from),
            ("USER", _) => self.user.as_str().into(),
            ("CURRENT_USER", _) => self.account.as_str().into(),
            ("CONNECTION_ID", _) => Value::UInt(self.connection_id),
            ("VERSION", _) => crate::server::VERSION.into(),
            ("ROW_COUNT", _) => Value::Int(self.row_count.get()),
            ("FOUND_ROWS", _) => Value::UInt(self.found_rows.get()),
            ("LAST_INSERT_ID", []) => Value::UInt(self.last_insert_id.get()),
            ("LAST_INSERT_ID", [Value::UInt(id)]) => {
                self.last_insert_id.set(*id);
                Value::UInt(*id)
            }
            _ => return Err(Error::new(&ER_SP_DOES_NOT_EXIST, &[&"FUNCTION", &name])),
        })
    }
}
