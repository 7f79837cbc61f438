//! What is known about each kind of statement: one row a kind.
//!
//! A kind is what MySQL counts by itself (`Com_insert_select`), or a form of it that follows other rules (CREATE TEMPORARY TABLE). Whoever
//! asks what sort of statement this is asks its row: counters, privileges, implicit commits, PREPARE, LOCK TABLES, XA, READ ONLY,
//! `read_only`, limits of accounts. `StatementKind::of` has no `_` arm, so that a kind that is added to the syntax tree does not compile
//! before it has a row.
//!
//! Example: `CREATE INDEX i ON t (a)` is `CreateIndex`. Its row says that it counts as `Com_create_index`, commits what is open, fails
//! in an XA transaction (1399), in a READ ONLY one (1792) and while the server is read-only (1290).
//!
//! MySQL's outcomes are recorded, statement by statement, in the server's `tests/golden/statements.txt`, with which the rows are compared.
//! What depends on more than the kind (which tables are locked, which are temporary) is decided where the statement runs.

use crate::ast::{self, *};

/// How a statement is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The planner makes a plan of it: SELECT, INSERT, UPDATE, DELETE.
    Planned,
    /// It changes or examines what is defined: the executor's `ddl`.
    Ddl,
    /// Accounts, roles and what they may do.
    Account,
    /// A result set about the server; it keeps the warnings, and never changes anything.
    Show,
    /// The session or the server carries it out by itself.
    Other,
}

/// Where the privileges that it needs are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// It concerns nothing but its session, or nothing carries it out.
    Nothing,
    /// What its plan uses.
    Plan,
    /// What its syntax names: objects, variables, another statement.
    Syntax,
    /// By rules of its own, when it runs.
    WhenItRuns,
}

/// What it leaves to the binder, whose privileges are asked before the statement does anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binds {
    Nothing,
    /// It, or what it explains, becomes a plan, which is asked about as a whole.
    Plan,
    /// Expressions that see no table of the statement.
    Scalars,
    /// A query whose rows fill a table or that is kept.
    Query,
    /// It is bound when it runs, before anything else happens. DEFAULT, CHECK and the like may name nothing.
    WhenItRuns,
}

/// Which of the two ways to prepare statements take it; the other answers error 1295.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepares {
    Both,
    /// PREPARE, not the protocol's command.
    SqlOnly,
    /// The protocol's command, not PREPARE.
    ProtocolOnly,
    Neither,
}

/// In a session that has given LOCK TABLES.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnderLockTables {
    /// The tables that it uses must be locked (1099, 1100), if it uses any.
    OwnTables,
    /// Error 1192.
    Refused,
    /// Error 1100 for a table in which MySQL keeps what it changes.
    SystemTable(&'static str),
}

/// In a session that has begun an XA transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InXa {
    Allowed,
    /// Between XA START and XA END; behind it error 1399. A plan without tables is always allowed.
    WhileActive,
    /// Error 1399.
    Refused,
    /// Error 4091: temporary tables are no part of such a transaction.
    RefusedAsTemporary,
}

/// The row of a kind.
#[derive(Clone, Copy, Debug)]
pub struct StatementFacts {
    /// Its first words.
    pub name: &'static str,
    /// MySQL's counter in SHOW STATUS; empty if nothing counts it.
    pub counter: &'static str,
    pub class: Class,
    pub asks: Asks,
    pub binds: Binds,
    /// It commits the open transaction before it begins, and its own work at its end.
    pub commits: bool,
    pub prepares: Prepares,
    pub under_lock_tables: UnderLockTables,
    pub in_xa: InXa,
    /// Error 1792 in a READ ONLY transaction.
    pub refused_in_read_only: bool,
    /// Error 1290 while `read_only` or `super_read_only` is on, as on a replica.
    pub refused_by_read_only: bool,
    /// Backups and the global read lock keep it out.
    pub changes_shared_schema: bool,
    /// MAX_UPDATES_PER_HOUR counts it.
    pub limited_as_update: bool,
}

/// What most statements have.
const PLAIN: StatementFacts = StatementFacts {
    name: "",
    counter: "",
    class: Class::Other,
    asks: Asks::Nothing,
    binds: Binds::Nothing,
    commits: false,
    prepares: Prepares::Both,
    under_lock_tables: UnderLockTables::OwnTables,
    in_xa: InXa::Allowed,
    refused_in_read_only: false,
    refused_by_read_only: false,
    changes_shared_schema: false,
    limited_as_update: false,
};

const UNPREPARED: StatementFacts = StatementFacts { prepares: Prepares::Neither, ..PLAIN };

const QUERY: StatementFacts =
    StatementFacts { class: Class::Planned, asks: Asks::Plan, binds: Binds::Plan, in_xa: InXa::WhileActive, ..PLAIN };

/// The tables that a plan changes decide about READ ONLY and `read_only`: temporary ones may be changed.
const CHANGE: StatementFacts = StatementFacts { limited_as_update: true, ..QUERY };

/// What ends the open transaction.
const COMMITS: StatementFacts = StatementFacts { commits: true, in_xa: InXa::Refused, ..PLAIN };

const DDL: StatementFacts = StatementFacts {
    class: Class::Ddl,
    asks: Asks::Syntax,
    refused_in_read_only: true,
    refused_by_read_only: true,
    changes_shared_schema: true,
    limited_as_update: true,
    ..COMMITS
};

/// DDL of one session's tables.
const TEMPORARY_DDL: StatementFacts =
    StatementFacts { commits: false, in_xa: InXa::WhileActive, refused_by_read_only: false, changes_shared_schema: false, ..DDL };

const MAINTENANCE: StatementFacts = StatementFacts { class: Class::Ddl, asks: Asks::Syntax, ..COMMITS };

const ACCOUNT: StatementFacts = StatementFacts {
    class: Class::Account,
    asks: Asks::WhenItRuns,
    under_lock_tables: UnderLockTables::SystemTable("user"),
    refused_in_read_only: true,
    refused_by_read_only: true,
    changes_shared_schema: true,
    limited_as_update: true,
    ..COMMITS
};

/// What other servers store in a database and run.
const PROGRAM: StatementFacts =
    StatementFacts { class: Class::Other, prepares: Prepares::Neither, under_lock_tables: UnderLockTables::Refused, ..DDL };

const VIEW: StatementFacts = StatementFacts { under_lock_tables: UnderLockTables::Refused, ..DDL };

const SHOW: StatementFacts =
    StatementFacts { class: Class::Show, asks: Asks::Syntax, binds: Binds::WhenItRuns, in_xa: InXa::WhileActive, ..PLAIN };

/// What SHOW lists without a table.
const SHOW_SERVER: StatementFacts = StatementFacts { in_xa: InXa::Allowed, ..SHOW };

/// Declares the kinds, each with its first words, its counter and what else is known.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $counter:literal $facts:expr;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum StatementKind { $($(#[$doc])* $kind),* }

        impl StatementKind {
            pub const ALL: &[StatementKind] = &[$(StatementKind::$kind),*];
        }

        static FACTS: [StatementFacts; StatementKind::ALL.len()] =
            [$(StatementFacts { name: $name, counter: $counter, ..$facts }),*];
    };
}

kinds! {
    Select "SELECT" "Com_select" QUERY;
    Insert "INSERT" "Com_insert" CHANGE;
    InsertSelect "INSERT" "Com_insert_select" CHANGE;
    Replace "REPLACE" "Com_replace" CHANGE;
    ReplaceSelect "REPLACE" "Com_replace_select" CHANGE;
    Update "UPDATE" "Com_update" CHANGE;
    UpdateMulti "UPDATE" "Com_update_multi" CHANGE;
    Delete "DELETE" "Com_delete" CHANGE;
    DeleteMulti "DELETE" "Com_delete_multi" CHANGE;
    Load "LOAD DATA" "Com_load" StatementFacts { class: Class::Other, asks: Asks::Syntax, binds: Binds::WhenItRuns, prepares: Prepares::Neither, ..CHANGE };
    Do "DO" "Com_do" StatementFacts { binds: Binds::Scalars, ..PLAIN };
    Call "CALL" "Com_call_procedure" StatementFacts { asks: Asks::Syntax, binds: Binds::Scalars, ..PLAIN };
    HandlerOpen "HANDLER" "Com_ha_open" StatementFacts { asks: Asks::Syntax, in_xa: InXa::WhileActive, under_lock_tables: UnderLockTables::Refused, ..UNPREPARED };
    HandlerRead "HANDLER" "Com_ha_read" StatementFacts { in_xa: InXa::WhileActive, under_lock_tables: UnderLockTables::Refused, ..UNPREPARED };
    HandlerClose "HANDLER" "Com_ha_close" StatementFacts { under_lock_tables: UnderLockTables::Refused, ..UNPREPARED };

    Signal "SIGNAL" "Com_signal" StatementFacts { binds: Binds::Scalars, ..UNPREPARED };
    Resignal "RESIGNAL" "Com_resignal" StatementFacts { binds: Binds::Scalars, ..UNPREPARED };
    GetDiagnostics "GET DIAGNOSTICS" "Com_get_diagnostics" StatementFacts { binds: Binds::Scalars, ..UNPREPARED };

    CreateDatabase "CREATE DATABASE" "Com_create_db" StatementFacts { under_lock_tables: UnderLockTables::Refused, ..DDL };
    AlterDatabase "ALTER DATABASE" "Com_alter_db" StatementFacts { prepares: Prepares::Neither, under_lock_tables: UnderLockTables::Refused, ..DDL };
    DropDatabase "DROP DATABASE" "Com_drop_db" StatementFacts { under_lock_tables: UnderLockTables::Refused, ..DDL };
    CreateTable "CREATE TABLE" "Com_create_table" StatementFacts { binds: Binds::WhenItRuns, ..DDL };
    CreateTableSelect "CREATE TABLE" "Com_create_table" StatementFacts { binds: Binds::Query, ..DDL };
    CreateTemporaryTable "CREATE TEMPORARY TABLE" "Com_create_table" StatementFacts { binds: Binds::WhenItRuns, in_xa: InXa::RefusedAsTemporary, ..TEMPORARY_DDL };
    CreateTemporaryTableSelect "CREATE TEMPORARY TABLE" "Com_create_table" StatementFacts { binds: Binds::Query, in_xa: InXa::RefusedAsTemporary, ..TEMPORARY_DDL };
    AlterTable "ALTER TABLE" "Com_alter_table" StatementFacts { binds: Binds::WhenItRuns, ..DDL };
    DropTable "DROP TABLE" "Com_drop_table" DDL;
    DropTemporaryTable "DROP TEMPORARY TABLE" "Com_drop_table" StatementFacts { asks: Asks::Nothing, ..TEMPORARY_DDL };
    RenameTable "RENAME TABLE" "Com_rename_table" DDL;
    Truncate "TRUNCATE TABLE" "Com_truncate" DDL;
    CreateIndex "CREATE INDEX" "Com_create_index" StatementFacts { binds: Binds::WhenItRuns, ..DDL };
    DropIndex "DROP INDEX" "Com_drop_index" DDL;
    CreateView "CREATE VIEW" "Com_create_view" StatementFacts { binds: Binds::Query, ..VIEW };
    AlterView "ALTER VIEW" "Com_create_view" StatementFacts { binds: Binds::Query, prepares: Prepares::Neither, ..VIEW };
    DropView "DROP VIEW" "Com_drop_view" VIEW;
    CreateProcedure "CREATE PROCEDURE" "Com_create_procedure" PROGRAM;
    CreateFunction "CREATE FUNCTION" "Com_create_function" PROGRAM;
    CreateTrigger "CREATE TRIGGER" "Com_create_trigger" StatementFacts { asks: Asks::WhenItRuns, under_lock_tables: UnderLockTables::OwnTables, ..PROGRAM };
    AlterProcedure "ALTER PROCEDURE" "Com_alter_procedure" PROGRAM;
    AlterFunction "ALTER FUNCTION" "Com_alter_function" PROGRAM;
    DropProcedure "DROP PROCEDURE" "Com_drop_procedure" PROGRAM;
    DropFunction "DROP FUNCTION" "Com_drop_function" PROGRAM;
    DropTrigger "DROP TRIGGER" "Com_drop_trigger" StatementFacts { under_lock_tables: UnderLockTables::OwnTables, ..PROGRAM };
    CreateEvent "CREATE EVENT" "Com_create_event" StatementFacts { asks: Asks::WhenItRuns, prepares: Prepares::Both, ..PROGRAM };
    AlterEvent "ALTER EVENT" "Com_alter_event" StatementFacts { asks: Asks::WhenItRuns, prepares: Prepares::Both, ..PROGRAM };
    DropEvent "DROP EVENT" "Com_drop_event" StatementFacts { prepares: Prepares::Both, ..PROGRAM };

    /// It commits what is open by itself: SET TRANSACTION is for what it begins.
    StartTransaction "START TRANSACTION" "Com_begin" StatementFacts { in_xa: InXa::Refused, ..UNPREPARED };
    Commit "COMMIT" "Com_commit" StatementFacts { in_xa: InXa::Refused, ..PLAIN };
    Rollback "ROLLBACK" "Com_rollback" StatementFacts { in_xa: InXa::Refused, ..PLAIN };
    Savepoint "SAVEPOINT" "Com_savepoint" StatementFacts { in_xa: InXa::WhileActive, ..UNPREPARED };
    RollbackToSavepoint "ROLLBACK TO SAVEPOINT" "Com_rollback_to_savepoint" UNPREPARED;
    ReleaseSavepoint "RELEASE SAVEPOINT" "Com_release_savepoint" UNPREPARED;
    LockTables "LOCK TABLES" "Com_lock_tables" StatementFacts { asks: Asks::Syntax, prepares: Prepares::Neither, ..COMMITS };
    UnlockTables "UNLOCK TABLES" "Com_unlock_tables" UNPREPARED;
    LockInstance "LOCK INSTANCE FOR BACKUP" "Com_lock_instance" StatementFacts { asks: Asks::Syntax, ..UNPREPARED };
    UnlockInstance "UNLOCK INSTANCE" "Com_unlock_instance" StatementFacts { asks: Asks::Syntax, ..UNPREPARED };
    CloneLocal "CLONE LOCAL" "Com_clone" StatementFacts { asks: Asks::Syntax, prepares: Prepares::Neither, ..COMMITS };
    XaStart "XA START" "Com_xa_start" UNPREPARED;
    XaEnd "XA END" "Com_xa_end" UNPREPARED;
    XaPrepare "XA PREPARE" "Com_xa_prepare" UNPREPARED;
    XaCommit "XA COMMIT" "Com_xa_commit" UNPREPARED;
    XaRollback "XA ROLLBACK" "Com_xa_rollback" UNPREPARED;
    XaRecover "XA RECOVER" "Com_xa_recover" StatementFacts { asks: Asks::Syntax, ..UNPREPARED };

    Set "SET" "Com_set_option" StatementFacts { asks: Asks::Syntax, binds: Binds::Scalars, ..PLAIN };
    SetPassword "SET PASSWORD" "Com_set_password" StatementFacts { class: Class::Other, ..ACCOUNT };
    Use "USE" "Com_change_db" StatementFacts { asks: Asks::Syntax, ..UNPREPARED };
    Describe "DESCRIBE" "Com_show_fields" SHOW;
    /// Counted as what it explains.
    Explain "EXPLAIN" "" StatementFacts { asks: Asks::Syntax, binds: Binds::Plan, ..PLAIN };
    ExplainConnection "EXPLAIN FOR CONNECTION" "Com_explain_other" UNPREPARED;
    Help "HELP" "Com_help" UNPREPARED;
    Kill "KILL" "Com_kill" StatementFacts { asks: Asks::WhenItRuns, binds: Binds::WhenItRuns, ..PLAIN };
    Prepare "PREPARE" "Com_prepare_sql" StatementFacts { asks: Asks::WhenItRuns, ..UNPREPARED };
    Execute "EXECUTE" "Com_execute_sql" StatementFacts { asks: Asks::WhenItRuns, ..UNPREPARED };
    Deallocate "DEALLOCATE PREPARE" "Com_dealloc_sql" UNPREPARED;
    Analyze "ANALYZE TABLE" "Com_analyze" StatementFacts { refused_by_read_only: true, ..MAINTENANCE };
    Check "CHECK TABLE" "Com_check" StatementFacts { prepares: Prepares::Neither, ..MAINTENANCE };
    Checksum "CHECKSUM TABLE" "Com_checksum" StatementFacts { commits: false, in_xa: InXa::Allowed, ..MAINTENANCE };
    Optimize "OPTIMIZE TABLE" "Com_optimize" StatementFacts { refused_in_read_only: true, refused_by_read_only: true, ..MAINTENANCE };
    Repair "REPAIR TABLE" "Com_repair" StatementFacts { refused_in_read_only: true, ..MAINTENANCE };
    FlushTables "FLUSH TABLES" "Com_flush" StatementFacts { asks: Asks::Syntax, ..COMMITS };
    FlushTablesWithLock "FLUSH TABLES WITH READ LOCK" "Com_flush" StatementFacts { asks: Asks::Syntax, under_lock_tables: UnderLockTables::Refused, ..COMMITS };
    FlushPrivileges "FLUSH PRIVILEGES" "Com_flush" StatementFacts { asks: Asks::Syntax, under_lock_tables: UnderLockTables::SystemTable("user"), ..COMMITS };
    Flush "FLUSH" "Com_flush" StatementFacts { asks: Asks::Syntax, ..COMMITS };
    ResetPersist "RESET PERSIST" "Com_reset" StatementFacts { asks: Asks::Syntax, ..PLAIN };
    ResetLogs "RESET BINARY LOGS AND GTIDS" "Com_reset" StatementFacts { asks: Asks::Syntax, under_lock_tables: UnderLockTables::Refused, ..COMMITS };
    PurgeLogsTo "PURGE BINARY LOGS TO" "Com_purge" StatementFacts { asks: Asks::Syntax, prepares: Prepares::Neither, ..PLAIN };
    PurgeLogsBefore "PURGE BINARY LOGS BEFORE" "Com_purge_before_date" StatementFacts { asks: Asks::Syntax, binds: Binds::WhenItRuns, prepares: Prepares::Neither, ..PLAIN };
    Binlog "BINLOG" "Com_binlog" StatementFacts { asks: Asks::Syntax, ..PLAIN };
    ResetReplica "RESET REPLICA" "Com_reset" StatementFacts { asks: Asks::Syntax, ..COMMITS };
    ChangeSource "CHANGE REPLICATION SOURCE" "Com_change_replication_source" StatementFacts { asks: Asks::WhenItRuns, ..COMMITS };
    ChangeFilter "CHANGE REPLICATION FILTER" "Com_change_repl_filter" StatementFacts { asks: Asks::WhenItRuns, ..COMMITS };
    StartReplica "START REPLICA" "Com_replica_start" StatementFacts { asks: Asks::WhenItRuns, ..COMMITS };
    StopReplica "STOP REPLICA" "Com_replica_stop" StatementFacts { asks: Asks::WhenItRuns, under_lock_tables: UnderLockTables::Refused, ..COMMITS };

    CreateUser "CREATE USER" "Com_create_user" ACCOUNT;
    AlterUser "ALTER USER" "Com_alter_user" ACCOUNT;
    SetDefaultRole "SET DEFAULT ROLE" "Com_alter_user_default_role" ACCOUNT;
    DropUser "DROP USER" "Com_drop_user" ACCOUNT;
    RenameUser "RENAME USER" "Com_rename_user" ACCOUNT;
    CreateRole "CREATE ROLE" "Com_create_role" StatementFacts { prepares: Prepares::Neither, ..ACCOUNT };
    DropRole "DROP ROLE" "Com_drop_role" StatementFacts { prepares: Prepares::Neither, ..ACCOUNT };
    Grant "GRANT" "Com_grant" ACCOUNT;
    GrantRoles "GRANT" "Com_grant_roles" ACCOUNT;
    Revoke "REVOKE" "Com_revoke" ACCOUNT;
    RevokeAll "REVOKE ALL" "Com_revoke_all" ACCOUNT;
    RevokeRoles "REVOKE" "Com_revoke_roles" ACCOUNT;
    SetRole "SET ROLE" "Com_set_role" StatementFacts { asks: Asks::WhenItRuns, ..PLAIN };
    AlterInstance "ALTER INSTANCE" "Com_alter_instance" StatementFacts { asks: Asks::Syntax, refused_in_read_only: true, ..COMMITS };
    Shutdown "SHUTDOWN" "Com_shutdown" StatementFacts { asks: Asks::Syntax, ..PLAIN };
    Restart "RESTART" "Com_restart" StatementFacts { asks: Asks::Syntax, ..PLAIN };
    /// Valid in MySQL and carried out by nothing here.
    Unsupported "" "" PLAIN;

    ShowDatabases "SHOW DATABASES" "Com_show_databases" SHOW;
    ShowTables "SHOW TABLES" "Com_show_tables" SHOW;
    ShowTableStatus "SHOW TABLE STATUS" "Com_show_table_status" SHOW;
    ShowOpenTables "SHOW OPEN TABLES" "Com_show_open_tables" SHOW;
    ShowColumns "SHOW COLUMNS" "Com_show_fields" SHOW;
    ShowIndex "SHOW INDEX" "Com_show_keys" SHOW;
    ShowVariables "SHOW VARIABLES" "Com_show_variables" SHOW;
    ShowStatus "SHOW STATUS" "Com_show_status" SHOW;
    ShowProcesslist "SHOW PROCESSLIST" "Com_show_processlist" SHOW_SERVER;
    ShowWarnings "SHOW WARNINGS" "Com_show_warnings" StatementFacts { prepares: Prepares::Neither, ..SHOW_SERVER };
    ShowWarningCount "SHOW COUNT(*) WARNINGS" "Com_select" StatementFacts { prepares: Prepares::Neither, ..SHOW_SERVER };
    ShowErrors "SHOW ERRORS" "Com_show_errors" StatementFacts { prepares: Prepares::Neither, ..SHOW_SERVER };
    ShowErrorCount "SHOW COUNT(*) ERRORS" "Com_select" StatementFacts { prepares: Prepares::Neither, ..SHOW_SERVER };
    ShowEngines "SHOW ENGINES" "Com_show_storage_engines" SHOW;
    ShowEngineStatus "SHOW ENGINE STATUS" "Com_show_engine_status" SHOW_SERVER;
    ShowEngineMutex "SHOW ENGINE MUTEX" "Com_show_engine_mutex" SHOW_SERVER;
    ShowEngineLogs "SHOW ENGINE LOGS" "Com_show_engine_logs" SHOW_SERVER;
    ShowCollation "SHOW COLLATION" "Com_show_collations" SHOW;
    ShowCharset "SHOW CHARACTER SET" "Com_show_charsets" SHOW;
    ShowGrants "SHOW GRANTS" "Com_show_grants" SHOW_SERVER;
    ShowPrivileges "SHOW PRIVILEGES" "Com_show_privileges" SHOW_SERVER;
    ShowPlugins "SHOW PLUGINS" "Com_show_plugins" SHOW;
    ShowTriggers "SHOW TRIGGERS" "Com_show_triggers" SHOW;
    ShowEvents "SHOW EVENTS" "Com_show_events" SHOW;
    ShowFunctionStatus "SHOW FUNCTION STATUS" "Com_show_function_status" SHOW;
    ShowProcedureStatus "SHOW PROCEDURE STATUS" "Com_show_procedure_status" SHOW;
    ShowFunctionCode "SHOW FUNCTION CODE" "Com_show_function_code" SHOW_SERVER;
    ShowProcedureCode "SHOW PROCEDURE CODE" "Com_show_procedure_code" SHOW_SERVER;
    ShowProfile "SHOW PROFILE" "Com_show_profile" SHOW;
    ShowProfiles "SHOW PROFILES" "Com_show_profiles" SHOW_SERVER;
    ShowBinaryLogs "SHOW BINARY LOGS" "Com_show_binlogs" SHOW_SERVER;
    ShowBinaryLogStatus "SHOW BINARY LOG STATUS" "Com_show_binary_log_status" SHOW_SERVER;
    ShowBinlogEvents "SHOW BINLOG EVENTS" "Com_show_binlog_events" SHOW_SERVER;
    ShowRelaylogEvents "SHOW RELAYLOG EVENTS" "Com_show_relaylog_events" SHOW_SERVER;
    ShowReplicas "SHOW REPLICAS" "Com_show_replicas" SHOW_SERVER;
    ShowReplicaStatus "SHOW REPLICA STATUS" "Com_show_replica_status" SHOW_SERVER;
    ShowCreateDatabase "SHOW CREATE DATABASE" "Com_show_create_db" SHOW_SERVER;
    ShowCreateTable "SHOW CREATE TABLE" "Com_show_create_table" SHOW;
    ShowCreateView "SHOW CREATE VIEW" "Com_show_create_table" SHOW_SERVER;
    ShowCreateTrigger "SHOW CREATE TRIGGER" "Com_show_create_trigger" SHOW_SERVER;
    ShowCreateProcedure "SHOW CREATE PROCEDURE" "Com_show_create_proc" SHOW_SERVER;
    ShowCreateFunction "SHOW CREATE FUNCTION" "Com_show_create_func" SHOW_SERVER;
    ShowCreateEvent "SHOW CREATE EVENT" "Com_show_create_event" SHOW_SERVER;
    ShowCreateUser "SHOW CREATE USER" "Com_show_create_user" StatementFacts { under_lock_tables: UnderLockTables::SystemTable("user"), ..SHOW };
    ShowParseTree "SHOW PARSE_TREE" "Com_show_parse_tree" SHOW_SERVER;
}

impl StatementFacts {
    /// DDL that leaves the open transaction as it is: that of temporary tables.
    pub fn is_temporary_ddl(&self) -> bool {
        self.class == Class::Ddl && !self.commits && self.limited_as_update
    }
}

impl StatementKind {
    #[inline]
    pub fn facts(self) -> &'static StatementFacts {
        &FACTS[self as usize]
    }

    #[inline]
    pub fn is_planned(self) -> bool {
        self.facts().class == Class::Planned
    }

    /// The kind of a statement. Without `_`: a new one must have its row.
    pub fn of(statement: &Statement) -> StatementKind {
        use StatementKind::*;
        match statement {
            Statement::Query(_) => Select,
            Statement::Insert(insert) => match (insert.replace, &insert.source) {
                (false, InsertSource::Values(_) | InsertSource::Literals(_)) => Insert,
                (false, InsertSource::Query(_)) => InsertSelect,
                (true, InsertSource::Values(_) | InsertSource::Literals(_)) => Replace,
                (true, InsertSource::Query(_)) => ReplaceSelect,
            },
            Statement::Update(update) if matches!(update.tables[..], [TableRef::Table(_)]) => Update,
            Statement::Update(_) => UpdateMulti,
            Statement::Delete(delete) if delete.targets.is_empty() => Delete,
            Statement::Delete(_) => DeleteMulti,
            Statement::LoadData(_) => Load,
            Statement::Do(_) => Do,
            Statement::Call { .. } => Call,
            Statement::Handler(Handler::Open { .. }) => HandlerOpen,
            Statement::Handler(Handler::Read { .. }) => HandlerRead,
            Statement::Handler(Handler::Close { .. }) => HandlerClose,
            Statement::CreateDatabase { .. } => CreateDatabase,
            Statement::AlterDatabase { .. } => AlterDatabase,
            Statement::DropDatabase { .. } => DropDatabase,
            Statement::CreateTable(create) => match (create.temporary, &create.select) {
                (false, None) => CreateTable,
                (false, Some(_)) => CreateTableSelect,
                (true, None) => CreateTemporaryTable,
                (true, Some(_)) => CreateTemporaryTableSelect,
            },
            Statement::AlterTable(_) => AlterTable,
            Statement::DropTable { temporary: false, .. } => DropTable,
            Statement::DropTable { temporary: true, .. } => DropTemporaryTable,
            Statement::RenameTable(_) => RenameTable,
            Statement::Truncate(_) => Truncate,
            Statement::CreateIndex(_) => CreateIndex,
            Statement::DropIndex { .. } => DropIndex,
            Statement::CreateView(view) if view.alter => AlterView,
            Statement::CreateView(_) => CreateView,
            Statement::DropView { .. } => DropView,
            Statement::Signal(signal) if signal.resignal => Resignal,
            Statement::Signal(_) => Signal,
            Statement::GetDiagnostics(_) => GetDiagnostics,
            Statement::CreateRoutine(create) if create.kind == ProgramKind::Function => CreateFunction,
            Statement::CreateRoutine(_) => CreateProcedure,
            Statement::CreateTrigger(_) => CreateTrigger,
            Statement::AlterRoutine(alter) if alter.kind == ProgramKind::Function => AlterFunction,
            Statement::AlterRoutine(_) => AlterProcedure,
            Statement::CreateEvent(_) => CreateEvent,
            Statement::AlterEvent(_) => AlterEvent,
            Statement::DropProgram { kind: ProgramKind::Procedure, .. } => DropProcedure,
            Statement::DropProgram { kind: ProgramKind::Function, .. } => DropFunction,
            Statement::DropProgram { kind: ProgramKind::Trigger, .. } => DropTrigger,
            Statement::DropProgram { kind: ProgramKind::Event, .. } => DropEvent,
            Statement::StartTransaction { .. } => StartTransaction,
            Statement::Commit(_) => Commit,
            Statement::Rollback(_) => Rollback,
            Statement::Savepoint(_) => Savepoint,
            Statement::RollbackTo(_) => RollbackToSavepoint,
            Statement::ReleaseSavepoint(_) => ReleaseSavepoint,
            Statement::LockTables(_) => LockTables,
            Statement::UnlockTables => UnlockTables,
            Statement::LockInstance => LockInstance,
            Statement::UnlockInstance => UnlockInstance,
            Statement::CloneLocal(_) => CloneLocal,
            Statement::Xa(xa) => of_xa(xa),
            Statement::Set(items) if matches!(items[..], [SetItem::Password(_)]) => SetPassword,
            Statement::Set(_) => Set,
            Statement::Use(_) => Use,
            Statement::Show(show) => of_show(show),
            Statement::Describe { .. } => Describe,
            Statement::Explain(explain) => match explain.target {
                ExplainTarget::Statement { .. } => Explain,
                ExplainTarget::Connection(_) => ExplainConnection,
            },
            Statement::Help(_) => Help,
            Statement::Kill { .. } => Kill,
            Statement::Prepare { .. } => Prepare,
            Statement::Execute { .. } => Execute,
            Statement::Deallocate(_) => Deallocate,
            Statement::TableMaintenance(maintenance) => match maintenance.kind {
                MaintenanceKind::Analyze => Analyze,
                MaintenanceKind::Check => Check,
                MaintenanceKind::Checksum => Checksum,
                MaintenanceKind::Optimize => Optimize,
                MaintenanceKind::Repair => Repair,
            },
            Statement::Flush(flush) => match &flush.what {
                FlushWhat::Tables { with_read_lock: false, for_export: false, .. } => FlushTables,
                FlushWhat::Tables { .. } => FlushTablesWithLock,
                FlushWhat::Options(options) if options.iter().any(|option| option == "PRIVILEGES") => FlushPrivileges,
                FlushWhat::Options(_) => Flush,
            },
            Statement::Reset(options) if options.iter().all(|option| matches!(option, ResetOption::Persist { .. })) => {
                ResetPersist
            }
            Statement::Reset(_) => ResetLogs,
            Statement::Binlog(_) => Binlog,
            Statement::PurgeLogs(PurgeLogs::To(_)) => PurgeLogsTo,
            Statement::PurgeLogs(PurgeLogs::Before(_)) => PurgeLogsBefore,
            Statement::ResetReplica(_) => ResetReplica,
            Statement::ChangeSource(_) => ChangeSource,
            Statement::ChangeFilter(_) => ChangeFilter,
            Statement::StartReplica(_) => StartReplica,
            Statement::StopReplica(_) => StopReplica,
            Statement::CreateUser(_) => CreateUser,
            Statement::AlterUser(alter) if alter.default_role.is_some() => SetDefaultRole,
            Statement::AlterUser(_) => AlterUser,
            Statement::DropUser { .. } => DropUser,
            Statement::RenameUser(_) => RenameUser,
            Statement::CreateRole { .. } => CreateRole,
            Statement::DropRole { .. } => DropRole,
            Statement::Grant(grant) => match **grant {
                ast::Grant::Privileges { .. } | ast::Grant::Proxy { .. } => Grant,
                ast::Grant::Roles { .. } => GrantRoles,
            },
            Statement::Revoke(revoke) => match revoke.what {
                RevokeWhat::Privileges { .. } | RevokeWhat::Proxy(_) => Revoke,
                RevokeWhat::All => RevokeAll,
                RevokeWhat::Roles(_) => RevokeRoles,
            },
            Statement::SetRole(_) => SetRole,
            Statement::SetDefaultRole { .. } => SetDefaultRole,
            Statement::AlterInstance(_) => AlterInstance,
            Statement::Shutdown => Shutdown,
            Statement::Restart => Restart,
            Statement::Unsupported { .. } => Unsupported,
        }
    }

    /// The kind that SHOW STATUS counts: EXPLAIN is what it explains.
    #[inline]
    pub fn counted(statement: &Statement) -> StatementKind {
        match statement {
            Statement::Explain(explain) => match &explain.target {
                ExplainTarget::Statement { statement, .. } => StatementKind::counted(statement),
                ExplainTarget::Connection(_) => StatementKind::ExplainConnection,
            },
            other => StatementKind::of(other),
        }
    }
}

fn of_xa(xa: &Xa) -> StatementKind {
    use StatementKind::*;
    match xa {
        Xa::Start { .. } => XaStart,
        Xa::End { .. } => XaEnd,
        Xa::Prepare(_) => XaPrepare,
        Xa::Commit { .. } => XaCommit,
        Xa::Rollback(_) => XaRollback,
        Xa::Recover { .. } => XaRecover,
    }
}

fn of_show(show: &Show) -> StatementKind {
    use StatementKind::*;
    match show {
        Show::Databases(_) => ShowDatabases,
        Show::Tables { .. } => ShowTables,
        Show::TableStatus { .. } => ShowTableStatus,
        Show::OpenTables { .. } => ShowOpenTables,
        Show::Columns { .. } => ShowColumns,
        Show::Index { .. } => ShowIndex,
        Show::Variables { .. } => ShowVariables,
        Show::Status { .. } => ShowStatus,
        Show::Processlist { .. } => ShowProcesslist,
        Show::Warnings(_) => ShowWarnings,
        Show::WarningCount => ShowWarningCount,
        Show::Errors(_) => ShowErrors,
        Show::ErrorCount => ShowErrorCount,
        Show::Engines => ShowEngines,
        Show::Engine { what, .. } => match what.as_str() {
            "MUTEX" => ShowEngineMutex,
            "LOGS" => ShowEngineLogs,
            _ => ShowEngineStatus,
        },
        Show::Collation(_) => ShowCollation,
        Show::Charset(_) => ShowCharset,
        Show::Grants { .. } => ShowGrants,
        Show::Privileges => ShowPrivileges,
        Show::Plugins => ShowPlugins,
        Show::Triggers { .. } => ShowTriggers,
        Show::Events { .. } => ShowEvents,
        Show::FunctionStatus(_) => ShowFunctionStatus,
        Show::ProcedureStatus(_) => ShowProcedureStatus,
        Show::FunctionCode(_) => ShowFunctionCode,
        Show::ProcedureCode(_) => ShowProcedureCode,
        Show::Profile { .. } => ShowProfile,
        Show::Profiles => ShowProfiles,
        Show::BinaryLogs => ShowBinaryLogs,
        Show::BinaryLogStatus => ShowBinaryLogStatus,
        Show::BinlogEvents { relay: false, .. } => ShowBinlogEvents,
        Show::BinlogEvents { relay: true, .. } => ShowRelaylogEvents,
        Show::Replicas { .. } => ShowReplicas,
        Show::ReplicaStatus { .. } => ShowReplicaStatus,
        Show::CreateDatabase { .. } => ShowCreateDatabase,
        Show::CreateTable(_) => ShowCreateTable,
        Show::CreateView(_) => ShowCreateView,
        Show::CreateTrigger(_) => ShowCreateTrigger,
        Show::CreateProcedure(_) => ShowCreateProcedure,
        Show::CreateFunction(_) => ShowCreateFunction,
        Show::CreateEvent(_) => ShowCreateEvent,
        Show::CreateUser(_) => ShowCreateUser,
        Show::ParseTree(_) => ShowParseTree,
    }
}
