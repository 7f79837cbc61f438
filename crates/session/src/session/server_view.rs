//! What the executor's system tables and SHOW read from the server: `system::ServerInfo` for a session.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use vaquita_exec::context::{
    AccountInfo, GeneralLogRow, LogLine, OptimizerTrace, ProcessInfo, ProfileInfo, ServerInfo, SessionLockInfo, Setup,
    SlowLogRow, StatementEvents, VariableInfo, VariableScope, WarningInfo, thread_id,
};
use vaquita_exec::ddl::views::columns_of_view;
use vaquita_parser::ast::UserName;
use vaquita_plan::uses::UseList;
use vaquita_storage::{LockMode, SessionCatalog};
use vaquita_types::memory::Reserve;
use vaquita_types::schema::{ColumnDef, StoredObject, TableId};
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value};

use super::program::{Caller, FunctionSettings, InUse};
use crate::accounts::{Subject, privilege, resolve};
use crate::clients::Client;
use crate::server::{Server, VERSION};
use crate::state::access::SessionAccess;
use crate::state::environment::Environment;
use crate::state::locked_tables::LockedTables;
use crate::state::transaction::InnerSavepoints;
use crate::table_locks::{Asker, SessionLock};
use crate::variables::{registry, zone};

/// The server as one session sees it.
pub struct ServerView<'a> {
    pub server: &'a Server,
    pub client: &'a Client,
    pub env: &'a Environment,
    pub access: &'a SessionAccess,
    pub locked: &'a LockedTables,
    /// The functions that run, the settings of the innermost, and the savepoints of the innermost that is no procedure.
    pub caller: Option<&'a Caller<'a>>,
    pub over: Option<&'a FunctionSettings>,
    pub savepoints: Option<&'a RefCell<InnerSavepoints>>,
    /// The tables of the statement, and of those around its functions.
    pub in_use: Option<&'a InUse<'a>>,
}

impl ServerInfo for ServerView<'_> {
    fn variables(&self, scope: VariableScope) -> Vec<(String, String)> {
        self.env.variables(scope == VariableScope::Global)
    }

    fn binary_logs(&self) -> Result<Vec<Vec<Value>>> {
        crate::log_shown::logs(self.server)
    }

    fn binary_log_status(&self) -> Result<Vec<Vec<Value>>> {
        crate::log_shown::status(self.server)
    }

    fn binlog_events(&self, file: Option<&[u8]>, from: u64, skip: u64, count: u64) -> Result<Vec<Vec<Value>>> {
        let kept = Reserve::default();
        let look = |bytes: usize| self.client.interrupt.check().and_then(|()| kept.cover(bytes));
        crate::log_shown::events(self.server, file, (from, skip, count), &look)
    }

    fn replicas(&self) -> Vec<Vec<Value>> {
        crate::log_shown::replicas(self.server)
    }

    fn replica_status(&self, channel: Option<&[u8]>) -> Result<Vec<Vec<Value>>> {
        let skip = registry().find("sql_replica_skip_counter").map_or(Value::UInt(0), |def| self.server.globals.get(def));
        crate::replication::status_rows(&self.server.replication, channel, &self.server.executed(), &skip)
    }

    fn told_rows(&self, table: &str) -> Vec<Vec<Value>> {
        let of_tuning = self.server.tuning.rows(table);
        of_tuning.unwrap_or_else(|| crate::replication::rows_of(&self.server.replication, table))
    }

    fn status(&self, scope: VariableScope) -> Vec<(String, String)> {
        super::status_variables::values(self, scope)
    }

    /// Without PROCESS only those of the session's own user.
    fn processes(&self) -> Vec<ProcessInfo> {
        let all = self.subject().sees_other_processes();
        let own = self.client.snapshot().user;
        let clients = self.server.clients().list();
        clients.iter().filter(|client| all || client.snapshot().user == own).map(|client| process(client)).collect()
    }

    fn log_lines(&self) -> Vec<LogLine> {
        crate::log_lines::list()
    }

    fn general_log(&self) -> Vec<Arc<GeneralLogRow>> {
        self.server.logs.tables.general.list()
    }

    fn slow_log(&self) -> Vec<Arc<SlowLogRow>> {
        self.server.logs.tables.slow.list()
    }

    fn empty_log_table(&self, table: &str) -> bool {
        match table {
            "general_log" => self.server.logs.tables.general.empty(),
            "slow_log" => self.server.logs.tables.slow.empty(),
            _ => return false,
        }
        true
    }

    fn profiles(&self) -> Vec<ProfileInfo> {
        self.env.profiles.list(self.env.settings.profiles_max)
    }

    fn variable_infos(&self) -> Vec<VariableInfo> {
        crate::variables::infos(&self.server.globals, &self.server.catalog)
    }

    fn user_variables(&self) -> Vec<(String, Value)> {
        self.env.user_variables.list()
    }

    fn session_locks(&self) -> Vec<SessionLockInfo> {
        session_locks(self.server)
    }

    fn is_locked_by_others(&self, database: &str, table: &str, write: bool, used: &[(TableId, LockMode)]) -> bool {
        self.locked.is_locked_by_others((database, table), write, used)
    }

    fn statement_events(&self) -> Option<&dyn StatementEvents> {
        Some(self.server)
    }

    fn setup(&self) -> Option<&Setup> {
        Some(&self.server.setup)
    }

    fn denied(&self, privilege: &str, table: &str) -> Error {
        self.subject().denied(privilege, table)
    }

    fn observe_thread(&self, thread: u64, observed: (bool, bool)) -> bool {
        let client = self.server.clients().list().into_iter().find(|client| thread_id(client.id) == thread);
        client.is_some_and(|client| {
            client.set_observed(observed);
            true
        })
    }

    fn time_zone(&self, name: &str) -> TimeZone {
        zone(name)
    }

    fn sees_events(&self, database: &str) -> bool {
        self.access.rights().grants.on_database(database) & privilege::EVENT != 0
    }

    fn connection_id(&self) -> u64 {
        self.client.id
    }

    fn database(&self) -> Option<String> {
        self.env.database()
    }

    fn current_account(&self) -> String {
        let account = self.access.account();
        format!("{}@{}", account.user, account.host)
    }

    fn accounts(&self) -> Vec<AccountInfo> {
        self.server.accounts().infos()
    }

    fn mandatory_roles(&self) -> Vec<(String, String)> {
        self.server.accounts().settings().mandatory_roles.clone()
    }

    /// Its definer, and who may read everything, sees its body; who may do anything with it sees that it is there.
    fn sees_routine(&self, routine: &StoredObject) -> Option<bool> {
        let (account, rights) = (self.access.account(), self.access.rights());
        let own = account.user == routine.definer.user && account.host == routine.definer.host;
        if own || rights.grants.global & privilege::SELECT != 0 || rights.grants.dynamic.contains_key("SHOW_ROUTINE") {
            return Some(true);
        }
        const ANY: privilege::Bits = privilege::ALL_ROUTINE | privilege::CREATE_ROUTINE;
        (rights.grants.on_routine(&routine.database, routine.kind, &routine.name) & ANY != 0).then_some(false)
    }

    fn sees_triggers(&self, database: &str, table: &str) -> bool {
        self.subject().may_have_triggers(database, table).is_ok()
    }

    fn sees_accounts(&self) -> bool {
        self.access.rights().grants.on_database("mysql") & crate::accounts::privilege::SELECT != 0
    }

    fn grants(&self, account: Option<&UserName>, using: &[UserName]) -> Result<(String, Vec<String>)> {
        let resolve = |name: &UserName| resolve(name, self.access.account());
        let (user, host) = resolve(account.unwrap_or(&UserName::CurrentUser));
        let using: Vec<_> = using.iter().map(resolve).collect();
        // Without a name it is what the session may do now.
        let (using, mandatory) = match account {
            None => (self.access.rights().roles.clone(), true),
            Some(UserName::CurrentUser) if using.is_empty() => (self.access.rights().roles.clone(), false),
            Some(_) => (using, false),
        };
        self.server.accounts().show_grants((&user, &host), &using, mandatory)
    }

    fn sees(&self, database: &str, table: Option<&str>) -> bool {
        self.subject().sees(database, table)
    }

    fn column_privileges(&self, database: &str, table: &str, column: &str) -> Cow<'static, str> {
        self.subject().column_privileges(database, table, column)
    }

    fn view_columns(&self, catalog: &SessionCatalog, view: &Arc<StoredObject>) -> Result<Vec<ColumnDef>> {
        columns_of_view(catalog, view)
    }

    fn authorize(&self, uses: &UseList) -> Result<()> {
        self.access.allows(uses, None)
    }

    fn optimizer_traces(&self) -> Vec<OptimizerTrace> {
        self.env.traces.borrow().shown(self.env.settings.trace_limits())
    }

    fn warnings(&self) -> Vec<WarningInfo> {
        self.env.diagnostics.list()
    }

    fn version(&self) -> &str {
        VERSION
    }
}

impl ServerView<'_> {
    fn subject(&self) -> Subject<'_> {
        self.access.subject(None, None)
    }
}

fn process(client: &Client) -> ProcessInfo {
    let state = client.snapshot();
    let sleeps = state.command == "Sleep";
    let stage = client.progress.get();
    ProcessInfo {
        id: client.id,
        user: state.user,
        host: match client.port {
            Some(port) => format!("{}:{port}", client.host),
            None => client.host.clone(),
        },
        database: state.database,
        command: state.command,
        time_s: state.since.map_or(0, |since| since.elapsed().as_secs()),
        state: Some(match (state.state, stage, sleeps) {
            ("", Some(stage), false) => stage.stage.state().to_string(),
            ("", None, false) => "executing".to_string(),
            (text, ..) => text.to_string(),
        }),
        info: state.info.map(|text| text.trim().to_string()),
        attributes: client.attributes.get().cloned().unwrap_or_default(),
        connection_type: if client.port.is_some() { "TCP/IP" } else { "Socket" },
        stage,
        observed: client.observed(),
    }
}

fn session_locks(server: &Server) -> Vec<SessionLockInfo> {
    let lock = |session, object_type, lock_type| SessionLockInfo {
        session,
        object_type,
        database: None,
        name: None,
        lock_type,
        duration: "EXPLICIT",
        granted: true,
    };
    let mut out = Vec::new();
    for (session, held) in server.table_locks().list() {
        match held {
            SessionLock::Global => out.extend([lock(session, "GLOBAL", "SHARED"), lock(session, "COMMIT", "SHARED")]),
            SessionLock::Backup => out.push(lock(session, "BACKUP LOCK", "SHARED")),
            SessionLock::Table { table: (database, name), write } => out.push(SessionLockInfo {
                database: Some(database),
                name: Some(name),
                duration: "TRANSACTION",
                ..lock(session, "TABLE", if write { "SHARED_NO_READ_WRITE" } else { "SHARED_READ_ONLY" })
            }),
            SessionLock::Wanted(wanted) => {
                let kind = match (wanted.asker, wanted.write) {
                    (Asker::Replacer, _) => "EXCLUSIVE",
                    (Asker::Ddl, _) => "SHARED_UPGRADABLE",
                    (Asker::LockTables, true) => "SHARED_NO_READ_WRITE",
                    (Asker::LockTables, false) => "SHARED_READ_ONLY",
                    (Asker::Statement { .. }, true) => "SHARED_WRITE",
                    (Asker::Statement { .. }, false) => "SHARED_READ",
                };
                let (database, name) = wanted.table;
                out.push(SessionLockInfo {
                    database: Some(database),
                    name: Some(name),
                    duration: "TRANSACTION",
                    granted: false,
                    ..lock(session, "TABLE", kind)
                });
            }
        }
    }
    for (session, name, granted) in server.user_locks.list() {
        out.push(SessionLockInfo { name: Some(name), granted, ..lock(session, "USER LEVEL LOCK", "EXCLUSIVE") });
    }
    out
}
