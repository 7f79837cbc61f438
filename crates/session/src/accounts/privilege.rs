//! Privileges as bits of a word, with MySQL's names and the levels they may be granted on.
//!
//! Bit order is the order in which SHOW GRANTS lists them. Dynamic privileges are names in upper case: the
//! server accepts those that MySQL knows and asks for few of them.

/// A set of static privileges.
pub type Bits = u64;

macro_rules! privileges {
    ($($name:ident $text:literal)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, dead_code)]
        enum Position { $($name),* }
        $(#[allow(dead_code)]
        pub const $name: Bits = 1 << Position::$name as u64;)*
        /// Names in the order of the bits.
        pub const NAMES: &[&str] = &[$($text),*];
    };
}

privileges! {
    SELECT "SELECT"
    INSERT "INSERT"
    UPDATE "UPDATE"
    DELETE "DELETE"
    CREATE "CREATE"
    DROP "DROP"
    RELOAD "RELOAD"
    SHUTDOWN "SHUTDOWN"
    PROCESS "PROCESS"
    FILE "FILE"
    REFERENCES "REFERENCES"
    INDEX "INDEX"
    ALTER "ALTER"
    SHOW_DATABASES "SHOW DATABASES"
    SUPER "SUPER"
    CREATE_TEMPORARY_TABLES "CREATE TEMPORARY TABLES"
    LOCK_TABLES "LOCK TABLES"
    EXECUTE "EXECUTE"
    REPLICATION_SLAVE "REPLICATION SLAVE"
    REPLICATION_CLIENT "REPLICATION CLIENT"
    CREATE_VIEW "CREATE VIEW"
    SHOW_VIEW "SHOW VIEW"
    CREATE_ROUTINE "CREATE ROUTINE"
    ALTER_ROUTINE "ALTER ROUTINE"
    CREATE_USER "CREATE USER"
    EVENT "EVENT"
    TRIGGER "TRIGGER"
    CREATE_TABLESPACE "CREATE TABLESPACE"
    CREATE_ROLE "CREATE ROLE"
    DROP_ROLE "DROP ROLE"
}

/// Stands behind the others: it is no name in the list but "WITH GRANT OPTION".
pub const GRANT_OPTION: Bits = 1 << 63;
/// All static privileges of `*.*` without the grant option.
pub const ALL_GLOBAL: Bits = (1 << NAMES.len()) - 1;
pub const ALL_TABLE: Bits =
    SELECT | INSERT | UPDATE | DELETE | CREATE | DROP | REFERENCES | INDEX | ALTER | CREATE_VIEW | SHOW_VIEW | TRIGGER;
pub const ALL_DATABASE: Bits =
    ALL_TABLE | CREATE_TEMPORARY_TABLES | LOCK_TABLES | EXECUTE | CREATE_ROUTINE | ALTER_ROUTINE | EVENT;
pub const ALL_ROUTINE: Bits = EXECUTE | ALTER_ROUTINE;
/// What nobody can be granted in performance_schema, and what is granted on `*.*` does not mean there.
pub const NOT_IN_PERFORMANCE_SCHEMA: Bits = CREATE
    | REFERENCES
    | INDEX
    | ALTER
    | CREATE_TEMPORARY_TABLES
    | EXECUTE
    | CREATE_VIEW
    | SHOW_VIEW
    | CREATE_ROUTINE
    | ALTER_ROUTINE
    | EVENT
    | TRIGGER;
/// What privileges mean for a table there: few can be changed.
pub fn in_performance_schema(table: &str) -> Bits {
    let changeable = match table.to_ascii_lowercase().as_str() {
        "setup_actors" | "setup_objects" => INSERT | UPDATE | DELETE,
        "setup_consumers" | "setup_instruments" | "setup_loggers" | "setup_meters" | "setup_threads" | "threads" => UPDATE,
        _ => 0,
    };
    !(NOT_IN_PERFORMANCE_SCHEMA | INSERT | UPDATE | DELETE) | changeable
}

pub const ALL_COLUMN: Bits = SELECT | INSERT | UPDATE | REFERENCES;

/// What MySQL 8.4 and 9.7 call dynamic privileges, sorted.
pub const DYNAMIC: &[&str] = &[
    "ALLOW_NONEXISTENT_DEFINER",
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "CREATE_SPATIAL_REFERENCE_SYSTEM",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_PRIVILEGES",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "MANAGE_DATA_MASKING_POLICY",
    "OPTIMIZE_LOCAL_TABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_ANY_DEFINER",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "TRANSACTION_GTID_TAG",
    "XA_RECOVER_ADMIN",
];

/// The bit of a static privilege's name in upper case.
pub fn bit(name: &str) -> Option<Bits> {
    if name == "GRANT OPTION" {
        return Some(GRANT_OPTION);
    }
    NAMES.iter().position(|n| *n == name).map(|at| 1 << at)
}

/// The names of a set, as SHOW GRANTS and error 1142 list them.
pub fn names(bits: Bits) -> Vec<&'static str> {
    NAMES.iter().enumerate().filter(|(at, _)| bits & (1 << at) != 0).map(|(_, name)| *name).collect()
}
