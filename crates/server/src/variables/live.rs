//! The variables that act, and the values that are Vaquita's own.

use std::path::PathBuf;

use vaquita_types::Value;

/// Declares the variables that act: a name in Rust, MySQL's name, and what it does.
macro_rules! live {
    ($($var:ident $name:literal $prose:literal;)*) => {
        /// A variable that acts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Var { $($var),* }

        pub const LIVE: &[(Var, &str, &str)] = &[$((Var::$var, $name, $prose)),*];
    };
}

live! {
    Autocommit "autocommit" "ON commits each statement by itself. Turning it on commits the open transaction.";
    AutoIncrementIncrement "auto_increment_increment" "The step between automatic values of AUTO_INCREMENT columns.";
    AutoIncrementOffset "auto_increment_offset" "The first automatic value; those that follow are steps of auto_increment_increment away.";
    BlockEncryptionMode "block_encryption_mode" "The cipher of AES_ENCRYPT() and AES_DECRYPT().";
    CharacterSetClient "character_set_client" "The character set in which statements arrive.";
    CharacterSetConnection "character_set_connection" "The character set of string literals and of numbers made strings.";
    CharacterSetDatabase "character_set_database" "The character set of the current database.";
    CharacterSetResults "character_set_results" "The character set in which results are sent; NULL sends them as stored.";
    CharacterSetServer "character_set_server" "The character set of databases that are created without one.";
    CollationConnection "collation_connection" "The collation of string literals.";
    CollationDatabase "collation_database" "The collation of the current database.";
    CollationServer "collation_server" "The collation of databases that are created without one.";
    CompletionType "completion_type" "What COMMIT and ROLLBACK do when neither CHAIN nor RELEASE is written.";
    ConnectTimeout "connect_timeout" "Seconds within which a client must have logged in.";
    CteMaxRecursionDepth "cte_max_recursion_depth" "Rounds after which a recursive common table expression fails with error 3636.";
    DefaultStorageEngine "default_storage_engine" "The engine that CREATE TABLE without ENGINE notes in the table's definition.";
    DefaultTmpStorageEngine "default_tmp_storage_engine" "The same for CREATE TEMPORARY TABLE.";
    DefaultWeekFormat "default_week_format" "The mode of WEEK() without a second argument.";
    DivPrecisionIncrement "div_precision_increment" "Decimals that / and AVG() have more than what they divide.";
    ErrorCount "error_count" "Errors of the statement before.";
    GlobalConnectionMemoryLimit "global_connection_memory_limit" "Bytes that statements and sessions may take together in large pieces, and at most an eighth of the machine's memory; who would take more than a quarter of what is left gets error 1041.";
    GroupConcatMaxLen "group_concat_max_len" "Bytes at which a result of GROUP_CONCAT() is cut, with a warning.";
    Identity "identity" "The same as last_insert_id.";
    InnodbFlushLogAtTrxCommit "innodb_flush_log_at_trx_commit" "1 syncs the log before a commit is acknowledged; 2 hands it to the operating system and syncs each second, 0 does the same.";
    InnodbLockWaitTimeout "innodb_lock_wait_timeout" "Seconds that a statement waits for a row lock before error 1205.";
    InnodbSnapshotIsolation "innodb_snapshot_isolation" "ON fails a write of a row that changed after the transaction's snapshot with error 1213; OFF changes the latest version of the row, as MySQL does.";
    InsertId "insert_id" "The AUTO_INCREMENT value that the next INSERT generates first, as SET gave it; 0 for none.";
    InteractiveTimeout "interactive_timeout" "Seconds of silence after which an interactive client is disconnected: its wait_timeout at login.";
    LastInsertId "last_insert_id" "What LAST_INSERT_ID() returns.";
    LcTimeNames "lc_time_names" "The locale of the names of days and months that DATE_FORMAT(), DAYNAME(), MONTHNAME() and FROM_UNIXTIME() write.";
    LocalInfile "local_infile" "ON allows LOAD DATA LOCAL.";
    LockWaitTimeout "lock_wait_timeout" "Seconds that a statement waits for a metadata lock before error 1205.";
    LongQueryTime "long_query_time" "Seconds after which a statement counts as slow.";
    MaxAllowedPacket "max_allowed_packet" "Bytes of the largest packet or string; a larger packet ends the connection. Taken at login.";
    MaxConnections "max_connections" "Connections that are served at once; one more is refused with error 1040.";
    MaxErrorCount "max_error_count" "Warnings that are kept for SHOW WARNINGS.";
    MaxExecutionTime "max_execution_time" "Milliseconds after which a SELECT ends with error 3024; 0 is without limit.";
    MaxUserConnections "max_user_connections" "Connections of one account that are served at once (error 1203), unless the account has a limit of its own; 0 is without limit.";
    MaxPreparedStmtCount "max_prepared_stmt_count" "Prepared statements of all connections; one more is error 1461.";
    NetReadTimeout "net_read_timeout" "Seconds that the server waits for more of a file that the client sends.";
    PasswordHistory "password_history" "Passwords of an account that may not be used again (error 3638), unless the account has a PASSWORD HISTORY of its own; 0 for none.";
    PasswordReuseInterval "password_reuse_interval" "Days for which a password may not be used again (error 3638), unless the account has a PASSWORD REUSE INTERVAL of its own; 0 for none.";
    PseudoThreadId "pseudo_thread_id" "What CONNECTION_ID() returns.";
    ReadOnly "read_only" "ON refuses changes of data by accounts without CONNECTION_ADMIN.";
    RequireSecureTransport "require_secure_transport" "ON refuses connections that use neither TLS nor the Unix socket.";
    SecureFilePriv "secure_file_priv" "The directory of the files that LOAD DATA and SELECT INTO OUTFILE may use; empty for every one, NULL for none.";
    SessionTrackSchema "session_track_schema" "Tell the client when its default database changes.";
    SessionTrackStateChange "session_track_state_change" "Tell the client when anything of its session changes.";
    SessionTrackSystemVariables "session_track_system_variables" "Variables whose changes the client is told; * for all.";
    SessionTrackTransactionInfo "session_track_transaction_info" "Tell the client the state of its transaction, or also the statements that would begin it again.";
    SqlGenerateInvisiblePrimaryKey "sql_generate_invisible_primary_key" "ON adds the invisible column my_row_id as primary key to InnoDB tables that are created without one.";
    SqlMode "sql_mode" "How strictly statements and values are read.";
    SqlNotes "sql_notes" "OFF keeps no notes among the warnings.";
    SqlQuoteShowCreate "sql_quote_show_create" "OFF leaves the quotes out of names in SHOW CREATE where they are not needed.";
    SqlRequirePrimaryKey "sql_require_primary_key" "ON refuses to create or to change tables without a primary key (error 3750).";
    SqlSafeUpdates "sql_safe_updates" "ON refuses an UPDATE or DELETE that neither uses a key nor has LIMIT (error 1175).";
    SqlSelectLimit "sql_select_limit" "Rows of a SELECT without LIMIT.";
    SuperReadOnly "super_read_only" "ON refuses changes of data by every account, and turns read_only on.";
    TimeZone "time_zone" "The zone of NOW() and of TIMESTAMP columns: SYSTEM, an offset such as +02:00, or a name.";
    Timestamp "timestamp" "The time that NOW() returns, in seconds since 1970; DEFAULT is the clock's.";
    TransactionIsolation "transaction_isolation" "The isolation level of transactions.";
    TransactionReadOnly "transaction_read_only" "ON starts transactions that may not write.";
    TxIsolation "tx_isolation" "The same as transaction_isolation, under its old name.";
    TxReadOnly "tx_read_only" "The same as transaction_read_only, under its old name.";
    WaitTimeout "wait_timeout" "Seconds of silence after which a client is disconnected.";
    WarningCount "warning_count" "Warnings of the statement before.";
}

impl Var {
    pub const COUNT: usize = LIVE.len();

    /// The variable that keeps the value: old names share it.
    pub fn canonical(self) -> Var {
        match self {
            Var::TxIsolation => Var::TransactionIsolation,
            Var::TxReadOnly => Var::TransactionReadOnly,
            Var::Identity => Var::LastInsertId,
            other => other,
        }
    }

    /// The next transaction takes its options anew.
    pub fn changes_transactions(self) -> bool {
        use Var::*;
        matches!(
            self,
            Autocommit | TransactionIsolation | TransactionReadOnly | TxIsolation | TxReadOnly | InnodbSnapshotIsolation
        )
    }
}

/// Lines that replace or complete those of `table.txt`; a name alone takes the variable out.
pub const OWN_TABLE: &str = "\
version\tG\tString\tR\t\t\t1\t\t
version_comment\tG\tString\tR\t\t\t1\tVaquita, MySQL Source compatible\t
version_compile_machine\tG\tString\tR\t\t\t1\tx86_64\t
version_compile_os\tG\tString\tR\t\t\t1\tLinux\t
version_with_update
build_id
container_aware
server_memory
innodb_native_foreign_keys
innodb_snapshot_isolation\tB\tBoolean\tD\t\t\t1\tON\t
transaction_isolation\tB\tEnumeration\tD\t\t\t1\tREPEATABLE-READ\tREAD-UNCOMMITTED|READ-COMMITTED|REPEATABLE-READ|SERIALIZABLE
tx_isolation\tB\tEnumeration\tD\t\t\t1\tREPEATABLE-READ\tREAD-UNCOMMITTED|READ-COMMITTED|REPEATABLE-READ|SERIALIZABLE
tx_read_only\tB\tBoolean\tD\t\t\t1\tOFF\t
have_ssl\tG\tString\tR\t\t\t1\tYES\t
have_openssl\tG\tString\tR\t\t\t1\tYES\t
have_profiling\tG\tString\tR\t\t\t1\tNO\t
have_query_cache\tG\tString\tR\t\t\t1\tNO\t
tls_version\tG\tString\tR\t\t\t1\tTLSv1.2,TLSv1.3\t
admin_tls_version\tG\tString\tR\t\t\t1\tTLSv1.2,TLSv1.3\t
license\tG\tString\tR\t\t\t1\tApache-2.0\t
log_bin\tG\tBoolean\tR\t\t\t1\tOFF\t
log_bin_basename\tG\tString\tR\t\t\t1\t\t
log_bin_index\tG\tString\tR\t\t\t1\t\t
log_replica_updates\tG\tBoolean\tR\t\t\t1\tOFF\t
log_slave_updates\tG\tBoolean\tR\t\t\t1\tOFF\t
gtid_mode\tG\tEnumeration\tR\t\t\t1\tOFF\tOFF|OFF_PERMISSIVE|ON_PERMISSIVE|ON
enforce_gtid_consistency\tG\tEnumeration\tR\t\t\t1\tOFF\tOFF|ON|WARN
binlog_format\tB\tEnumeration\tD\t\t\t1\tROW\tMIXED|STATEMENT|ROW
binlog_row_image\tB\tEnumeration\tD\t\t\t1\tFULL\tMINIMAL|NOBLOB|FULL
binlog_row_metadata\tG\tEnumeration\tD\t\t\t1\tMINIMAL\tMINIMAL|FULL
binlog_checksum\tG\tEnumeration\tD\t\t\t1\tCRC32\tNONE|CRC32
binlog_error_action\tG\tEnumeration\tD\t\t\t1\tABORT_SERVER\tIGNORE_ERROR|ABORT_SERVER
event_scheduler\tG\tEnumeration\tR\t\t\t1\tDISABLED\tOFF|ON|DISABLED
local_infile\tG\tBoolean\tD\t\t\t1\tOFF\t
max_connections\tG\tInteger\tD\t1\t100000\t1\t12000\t
max_allowed_packet\tB\tInteger\tg\t1024\t1073741824\t1024\t67108864\t
net_buffer_length\tB\tInteger\tg\t1024\t1048576\t1024\t16384\t
max_prepared_stmt_count\tG\tInteger\tD\t0\t4194304\t1\t1000000\t
resultset_metadata\tS\tEnumeration\tD\t\t\t1\tFULL\tNONE|FULL
explain_format\tB\tEnumeration\tD\t\t\t1\tTRADITIONAL\tTRADITIONAL|TRADITIONAL_STRICT|TREE|JSON
secure_file_priv\tG\tString\tR\t\t\t1\t\\N\t
performance_schema\tG\tBoolean\tR\t\t\t1\tON\t
innodb_version\tG\tString\tR\t\t\t1\t\t
innodb_monitor_enable\tG\tString\tD\t\t\t1\t\t
character_set_client\tB\tString\tD\t\t\t1\tutf8mb4\t
character_set_connection\tB\tString\tD\t\t\t1\tutf8mb4\t
character_set_results\tB\tString\tD\t\t\t1\tutf8mb4\t
auto_increment_increment\tB\tInteger\tD\t1\t65535\t1\t1\t
plugin_dir\tG\tString\tR\t\t\t1\t\t
basedir\tG\tString\tR\t\t\t1\t/usr/\t
character_sets_dir\tG\tString\tR\t\t\t1\t\t
lc_messages_dir\tG\tString\tR\t\t\t1\t\t
proxy_user\tS\tString\tR\t\t\t1\t\\N\t
external_user\tS\tString\tR\t\t\t1\t\\N\t
relay_log\tG\tString\tR\t\t\t1\t\t
relay_log_basename\tG\tString\tR\t\t\t1\t\t
relay_log_index\tG\tString\tR\t\t\t1\t\t
log_error\tG\tString\tR\t\t\t1\tstderr\t
timestamp\tS\tNumeric\tD\t0\t\t1\t0\t
max_join_size\tB\tInteger\tD\t1\t18446744073709551615\t1\t18446744073709551615\t
sql_select_limit\tB\tInteger\tD\t0\t18446744073709551615\t1\t18446744073709551615\t
query_cache_size\tG\tInteger\tR\t0\t0\t1\t0\t
query_cache_type\tB\tEnumeration\tR\t\t\t1\tOFF\tOFF|ON|DEMAND
storage_engine
";

/// Values that only the running server knows.
pub struct Fixed {
    pub version: &'static str,
    pub data_dir: PathBuf,
    pub port: u16,
    pub bind: String,
    pub socket: PathBuf,
    pub server_uuid: String,
    /// Of the command line.
    pub options: Vec<(&'static str, Value)>,
}

impl Fixed {
    /// Names and values that replace the defaults.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        let dir = |name: &str| Value::from(self.data_dir.join(name).to_string_lossy().into_owned());
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let mut values = vec![
            ("version", self.version.into()),
            ("innodb_version", self.version.split('-').next().unwrap_or_default().into()),
            ("datadir", format!("{}/", self.data_dir.display()).into()),
            ("port", Value::UInt(u64::from(self.port))),
            ("bind_address", self.bind.as_str().into()),
            ("socket", self.socket.to_string_lossy().into_owned().into()),
            ("hostname", host.into()),
            ("server_uuid", self.server_uuid.as_str().into()),
            ("pid_file", dir("vaquita.pid")),
            ("general_log_file", dir("general.log")),
            ("slow_query_log_file", dir("slow.log")),
            ("system_time_zone", system_time_zone().into()),
        ];
        values.extend(self.options.iter().cloned());
        values
    }
}

/// The name of the machine's zone, from TZ or /etc/localtime.
pub fn system_time_zone() -> String {
    if let Ok(name) = std::env::var("TZ")
        && !name.is_empty()
    {
        return name.trim_start_matches(':').to_string();
    }
    let link = std::fs::read_link("/etc/localtime").ok();
    let name = link.and_then(|path| path.to_string_lossy().split("zoneinfo/").nth(1).map(str::to_string));
    match name.as_deref() {
        None | Some("Etc/UTC") => "UTC".to_string(),
        Some(name) => name.to_string(),
    }
}
