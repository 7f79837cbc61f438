//! `ServerInfo`: what system tables and SHOW ask of the server around the executor.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use vaquita_parser::ast::UserName;
use vaquita_plan::env::Level;
use vaquita_plan::uses::UseList;
use vaquita_storage::{LockMode, SessionCatalog, StageProgress};
use vaquita_types::errno::{ER_NO_BINARY_LOGGING, ER_TABLEACCESS_DENIED_ERROR, ER_VIEW_INVALID};
use vaquita_types::schema::{ColumnDef, StoredObject, TableId};
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value};

use super::setup::Setup;
use super::statement_events::StatementEvents;

/// All that information_schema.COLUMNS may say of a column.
pub const ALL_OF_COLUMN: &str = "select,insert,update,references";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableScope {
    Global,
    Session,
}

/// A line of SHOW PROCESSLIST.
#[derive(Clone, Debug)]
pub struct ProcessInfo {
    pub id: u64,
    pub user: String,
    /// With the port, as SHOW PROCESSLIST shows it: `10.0.0.1:51234`.
    pub host: String,
    pub database: Option<String>,
    /// `Query`, `Sleep` …
    pub command: &'static str,
    pub time_s: u64,
    pub state: Option<String>,
    /// The running statement.
    pub info: Option<String>,
    /// What the client told of itself when it connected.
    pub attributes: Vec<(String, String)>,
    /// `TCP/IP`, `SSL/TLS` or `Socket`.
    pub connection_type: &'static str,
    /// Of a DDL statement.
    pub stage: Option<StageProgress>,
    /// Its statements are observed, and have a history.
    pub observed: (bool, bool),
}

/// A lock that a session holds, or waits for, outside its transaction: a line of performance_schema.metadata_locks.
#[derive(Clone, Debug)]
pub struct SessionLockInfo {
    pub session: u64,
    /// `GLOBAL`, `TABLE`, `USER LEVEL LOCK` …
    pub object_type: &'static str,
    pub database: Option<String>,
    pub name: Option<String>,
    /// `SHARED`, `EXCLUSIVE` …
    pub lock_type: &'static str,
    /// `TRANSACTION` or `EXPLICIT`.
    pub duration: &'static str,
    pub granted: bool,
}

#[derive(Clone, Debug)]
pub struct AccountInfo {
    pub user: String,
    pub host: String,
    pub plugin: String,
    pub authentication_string: Vec<u8>,
    /// Of the password before, if it still counts.
    pub second_authentication_string: Vec<u8>,
    pub locked: bool,
    /// `ssl_type`, then `ssl_cipher`, `x509_issuer` and `x509_subject`.
    pub require: (&'static str, [Vec<u8>; 3]),
    pub expired: bool,
    /// MAX_QUERIES_PER_HOUR, MAX_UPDATES_PER_HOUR, MAX_CONNECTIONS_PER_HOUR, MAX_USER_CONNECTIONS.
    pub resources: [u64; 4],
    /// Passwords that may not be used again: microseconds since 1970, and what is stored of them.
    pub used_passwords: Vec<(u64, Vec<u8>)>,
    /// Static privileges on `*.*`, in upper case.
    pub privileges: Vec<&'static str>,
    pub grant_option: bool,
    /// Dynamic privileges and whether they may be passed on.
    pub dynamic: Vec<(String, bool)>,
    pub databases: Vec<DatabaseGrantInfo>,
    pub tables: Vec<TableGrantInfo>,
    pub routines: Vec<RoutineGrantInfo>,
    /// User and host of roles that are granted to it, and whether it may pass them on.
    pub roles: Vec<(String, String, bool)>,
    pub default_roles: Vec<(String, String)>,
    /// A JSON document.
    pub attribute: Option<String>,
}

/// What an account may do in databases whose names match a pattern.
#[derive(Clone, Debug)]
pub struct DatabaseGrantInfo {
    pub pattern: String,
    pub privileges: Vec<&'static str>,
    pub grant_option: bool,
}

/// What an account may do with a table.
#[derive(Clone, Debug)]
pub struct TableGrantInfo {
    pub database: String,
    pub table: String,
    /// In upper case, as the others.
    pub privileges: Vec<&'static str>,
    pub grant_option: bool,
    pub columns: Vec<(String, Vec<&'static str>)>,
}

/// What an account may do with a procedure or function.
#[derive(Clone, Debug)]
pub struct RoutineGrantInfo {
    pub database: String,
    pub name: String,
    pub function: bool,
    pub privileges: Vec<&'static str>,
    pub grant_option: bool,
}

/// A row of information_schema.OPTIMIZER_TRACE.
#[derive(Clone, Debug, Default)]
pub struct OptimizerTrace {
    pub query: String,
    pub trace: String,
    /// What `optimizer_trace_max_mem_size` has cut off.
    pub missing_bytes: u64,
    /// The session may not know how its statement is carried out.
    pub hidden: bool,
}

#[derive(Clone, Debug)]
pub struct WarningInfo {
    pub level: Level,
    pub code: u16,
    pub message: String,
}

/// A line of the server's log.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// Microseconds since 1970.
    pub at_us: u64,
    /// `System`, `Error`, `Warning` or `Note`.
    pub priority: &'static str,
    pub text: String,
}

/// A row of mysql.general_log.
#[derive(Clone, Debug)]
pub struct GeneralLogRow {
    /// Microseconds since 1970.
    pub at_us: u64,
    /// `user[account] @ host [ip]`
    pub user_host: Arc<str>,
    pub connection_id: u64,
    /// `Query`, `Connect` …
    pub command: &'static str,
    pub argument: Box<[u8]>,
}

/// A row of mysql.slow_log.
#[derive(Clone, Debug)]
pub struct SlowLogRow {
    /// When the statement began, in microseconds since 1970.
    pub began_us: u64,
    pub user_host: Arc<str>,
    pub took_us: u64,
    pub lock_us: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    pub database: String,
    pub sql_text: Box<[u8]>,
    pub connection_id: u64,
}

/// A statement that was profiled.
#[derive(Clone, Debug)]
pub struct ProfileInfo {
    /// From 1 on, in the session.
    pub id: u64,
    pub text: Arc<str>,
    /// How long its stages took, in nanoseconds.
    pub stages: Vec<(&'static str, u64)>,
}

impl ProfileInfo {
    pub fn duration_ns(&self) -> u64 {
        self.stages.iter().map(|(_, ns)| ns).sum()
    }
}

/// What a system variable is.
#[derive(Clone, Debug)]
pub struct VariableInfo {
    pub name: &'static str,
    /// `GLOBAL`, `SESSION` or `SESSION_ONLY`.
    pub scope: &'static str,
    /// `Integer`, `Boolean` …
    pub data_type: &'static str,
    /// Bounds; empty if there are none.
    pub min: String,
    pub max: String,
    pub prose: &'static str,
    /// Where its global value is from: `COMPILED`, `PERSISTED` or `DYNAMIC`.
    pub source: &'static str,
    /// What SET PERSIST stored.
    pub persisted: Option<String>,
    /// When somebody set the global value, in microseconds since 1970, and their user and host.
    pub set_by: Option<(u64, String, String)>,
}

pub trait ServerInfo {
    /// Names in lower case with their values as SHOW VARIABLES prints them, sorted.
    fn variables(&self, scope: VariableScope) -> Vec<(String, String)>;
    /// Names as MySQL writes them with their values, sorted.
    fn status(&self, scope: VariableScope) -> Vec<(String, String)>;
    /// Every connection.
    fn processes(&self) -> Vec<ProcessInfo>;
    /// Locks of LOCK TABLES, FLUSH TABLES WITH READ LOCK, LOCK INSTANCE and GET_LOCK().
    fn session_locks(&self) -> Vec<SessionLockInfo> {
        Vec::new()
    }
    /// LOCK TABLES and its kin keep the statement's session from a table, whose transaction has the locks `used`.
    fn is_locked_by_others(&self, _database: &str, _table: &str, _write: bool, _used: &[(TableId, LockMode)]) -> bool {
        false
    }
    /// The last lines of the server's log, the oldest first.
    fn log_lines(&self) -> Vec<LogLine> {
        Vec::new()
    }
    /// The last entries of the general log, if it goes to its table; the oldest first.
    fn general_log(&self) -> Vec<Arc<GeneralLogRow>> {
        Vec::new()
    }
    /// The same of the slow log.
    fn slow_log(&self) -> Vec<Arc<SlowLogRow>> {
        Vec::new()
    }
    /// TRUNCATE of `mysql.general_log` or `mysql.slow_log`; false: it is neither.
    fn empty_log_table(&self, _table: &str) -> bool {
        false
    }
    /// SHOW BINARY LOGS; error 1381 without a binary log.
    fn binary_logs(&self) -> Result<Vec<Vec<Value>>> {
        Err(Error::new(&ER_NO_BINARY_LOGGING, &[]))
    }
    /// SHOW BINARY LOG STATUS.
    fn binary_log_status(&self) -> Result<Vec<Vec<Value>>> {
        Ok(Vec::new())
    }
    /// SHOW BINLOG EVENTS: of the first file or of one, those that begin at `from` or behind it.
    fn binlog_events(&self, _file: Option<&[u8]>, _from: u64, _skip: u64, _count: u64) -> Result<Vec<Vec<Value>>> {
        Ok(Vec::new())
    }
    /// SHOW REPLICAS.
    fn replicas(&self) -> Vec<Vec<Value>> {
        Vec::new()
    }
    /// SHOW REPLICA STATUS, of one channel or of all; error 3074 if there is no such channel.
    fn replica_status(&self, _channel: Option<&[u8]>) -> Result<Vec<Vec<Value>>> {
        Ok(Vec::new())
    }
    /// The rows of a system table about channels of replication, or about tuning; times are microseconds since 1970.
    fn told_rows(&self, _table: &str) -> Vec<Vec<Value>> {
        Vec::new()
    }
    /// The session's last statements, if it profiles them.
    fn profiles(&self) -> Vec<ProfileInfo> {
        Vec::new()
    }
    /// By name.
    fn variable_infos(&self) -> Vec<VariableInfo> {
        Vec::new()
    }
    /// The session's own, by name, with their values as texts.
    fn user_variables(&self) -> Vec<(String, Value)> {
        Vec::new()
    }
    /// The zone of that name, SYSTEM or another; of a name that means none SYSTEM.
    fn time_zone(&self, _name: &str) -> TimeZone {
        TimeZone::Utc
    }

    /// What performance_schema tells of statements.
    fn statement_events(&self) -> Option<&dyn StatementEvents> {
        None
    }

    /// What sets up the performance schema.
    fn setup(&self) -> Option<&Setup> {
        None
    }

    /// Error 1142: nobody may do that with a table of performance_schema.
    fn denied(&self, privilege: &str, table: &str) -> Error {
        let account = self.current_account();
        let (user, host) = account.rsplit_once('@').unwrap_or((&account, ""));
        Error::new(&ER_TABLEACCESS_DENIED_ERROR, &[&privilege, &user, &host, &table])
    }

    /// UPDATE of performance_schema.threads: whether the thread's statements are observed, and have a history. False: it is gone.
    fn observe_thread(&self, _thread_id: u64, _observed: (bool, bool)) -> bool {
        false
    }

    /// Whether the session has EVENT there.
    fn sees_events(&self, _database: &str) -> bool {
        false
    }

    /// The connection that runs the statement.
    fn connection_id(&self) -> u64;
    /// The current database.
    fn database(&self) -> Option<String>;
    /// `user@host` of the account that the connection uses.
    fn current_account(&self) -> String;
    fn accounts(&self) -> Vec<AccountInfo>;
    /// User and host of the roles that every account has; some may not exist.
    fn mandatory_roles(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// Whether the session may read about accounts other than its own.
    fn sees_accounts(&self) -> bool {
        true
    }
    /// The lines of SHOW GRANTS and the account they are for; `None`: the current one.
    fn grants(&self, account: Option<&UserName>, using: &[UserName]) -> Result<(String, Vec<String>)>;
    /// Of the statements that the session has traced.
    fn optimizer_traces(&self) -> Vec<OptimizerTrace> {
        Vec::new()
    }
    /// Of the statement before this one.
    fn warnings(&self) -> Vec<WarningInfo>;
    /// Whether the session's privileges show it a database, or a table of it.
    fn sees(&self, _database: &str, _table: Option<&str>) -> bool {
        true
    }
    /// What information_schema.COLUMNS says that the session may do with a column; empty: it does not see it.
    fn column_privileges(&self, _database: &str, _table: &str, _column: &str) -> Cow<'static, str> {
        ALL_OF_COLUMN.into()
    }
    /// The columns of a view as its tables are now; error 1356 if they are not such any more.
    fn view_columns(&self, _catalog: &SessionCatalog, view: &Arc<StoredObject>) -> Result<Vec<ColumnDef>> {
        Err(Error::new(&ER_VIEW_INVALID, &[&view.database, &view.name]))
    }
    /// Whether the session sees the body of a routine; `None`: it does not see the routine.
    fn sees_routine(&self, _routine: &StoredObject) -> Option<bool> {
        Some(true)
    }
    /// Whether the session may know of the triggers of a table.
    fn sees_triggers(&self, _database: &str, _table: &str) -> bool {
        true
    }
    /// Whether the session may do what an expression was bound to.
    fn authorize(&self, uses: &UseList) -> Result<()>;
    /// The version that VERSION() returns.
    fn version(&self) -> &str;
}

/// For statements that run without a server around them, as in tests and when accounts are loaded.
pub struct NoServer;

impl ServerInfo for NoServer {
    fn variables(&self, _: VariableScope) -> Vec<(String, String)> {
        Vec::new()
    }

    fn status(&self, _: VariableScope) -> Vec<(String, String)> {
        Vec::new()
    }

    fn processes(&self) -> Vec<ProcessInfo> {
        Vec::new()
    }

    fn connection_id(&self) -> u64 {
        0
    }

    fn database(&self) -> Option<String> {
        None
    }

    fn current_account(&self) -> String {
        String::new()
    }

    fn accounts(&self) -> Vec<AccountInfo> {
        Vec::new()
    }

    fn grants(&self, _: Option<&UserName>, _: &[UserName]) -> Result<(String, Vec<String>)> {
        Err(Error::unsupported("SHOW GRANTS without a server"))
    }

    fn warnings(&self) -> Vec<WarningInfo> {
        Vec::new()
    }

    fn authorize(&self, _: &UseList) -> Result<()> {
        Ok(())
    }

    fn version(&self) -> &str {
        ""
    }
}

impl ProcessInfo {
    /// The number that performance_schema gives the thread of a connection.
    pub fn thread_id(&self) -> u64 {
        thread_id(self.id)
    }

    pub fn time(&self) -> Duration {
        Duration::from_secs(self.time_s)
    }
}

/// Threads that MySQL starts before the first connection have the numbers below.
pub fn thread_id(connection_id: u64) -> u64 {
    connection_id + 40
}
