//! The variables that act, and the values that are Vaquita's own.

use std::path::PathBuf;
use std::time::Duration;

use vaquita_plan::settings::{PlanSettings, RunSettings};
use vaquita_plan::switches::Switches;
use vaquita_types::Value;
use vaquita_types::charset::{Charset, Collation};

use super::settings::{
    Completion, Settings, TrackGtids, TrackTransaction, is_on, isolation_of, microseconds, needs_reading, number,
    results_collation, size, timestamp_us, word, zone,
};
use super::settings::{gtid_next, row_image};
use super::sql_mode_bits;
use Kept::{AsValue, ForPlans, ForRuns, ForSession, ForTransactions};

/// Where a session has its value of a variable that acts, and so what a change of it makes stale.
#[derive(Clone, Copy)]
pub enum Kept {
    /// Among the values: whoever needs it asks `Settings::of` or `Globals::number`.
    AsValue,
    /// A field of `PlanSettings`: statements that were read and plans that were made under another value are stale.
    ForPlans(fn(&mut PlanSettings, &Value)),
    /// A field of `RunSettings`: the next statement runs with it.
    ForRuns(fn(&mut RunSettings, &Value)),
    /// A field of `Settings`, which the session itself reads.
    ForSession(fn(&mut Settings, &Value)),
    /// The same; the next transaction takes its options anew.
    ForTransactions(fn(&mut Settings, &Value)),
}

/// The row of a variable that acts.
pub struct Live {
    pub var: Var,
    pub name: &'static str,
    pub kept: Kept,
    pub prose: &'static str,
}

/// Declares the variables that act: a name in Rust, MySQL's name, where a session keeps its value, and what it does.
macro_rules! live {
    ($($var:ident $name:literal $kept:expr, $prose:literal;)*) => {
        /// A variable that acts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Var { $($var),* }

        pub static LIVE: &[Live] = &[$(Live { var: Var::$var, name: $name, kept: $kept, prose: $prose }),*];
    };
}

live! {
    ActivateAllRolesOnLogin "activate_all_roles_on_login" AsValue, "ON makes all roles of an account active when it logs in, OFF its default roles.";
    ActivateMandatoryRoles "activate_mandatory_roles" AsValue, "ON makes mandatory_roles active when an account logs in, beside its default roles.";
    AdminAddress "admin_address" AsValue, "Address on which accounts with SERVICE_CONNECTION_ADMIN connect however many connections there are; there is none by default.";
    AdminPort "admin_port" AsValue, "TCP port of admin_address.";
    AutoIncrementIncrement "auto_increment_increment" ForSession(|s, v| s.auto_increment.0 = number(v).max(1)), "The step between automatic values of AUTO_INCREMENT columns.";
    AutoIncrementOffset "auto_increment_offset" ForSession(|s, v| s.auto_increment.1 = number(v).max(1)), "The first automatic value; those that follow are steps of auto_increment_increment away.";
    Autocommit "autocommit" ForTransactions(|s, v| s.autocommit = is_on(v)), "ON commits each statement by itself. Turning it on commits the open transaction.";
    AutomaticSpPrivileges "automatic_sp_privileges" AsValue, "ON grants EXECUTE and ALTER ROUTINE to who creates a routine, and takes what was granted on it from everybody when it is dropped.";
    BindAddress "bind_address" AsValue, "Address to listen on.";
    BinlogRowImage "binlog_row_image" ForSession(|s, v| s.log.image = row_image(word(v))), "The columns of changed rows that the binary log has: all (FULL), those that identify the row and those that changed (MINIMAL), or all but BLOBs that are not needed (NOBLOB).";
    BinlogRowsQueryLogEvents "binlog_rows_query_log_events" ForSession(|s, v| s.log.rows_query = is_on(v)), "ON adds the text of the statement to its rows in the binary log.";
    BinlogTransactionCompression "binlog_transaction_compression" ForSession(|s, v| s.log.compression = is_on(v)), "ON compresses the rows of each transaction in the binary log.";
    BinlogTransactionCompressionLevelZstd "binlog_transaction_compression_level_zstd" ForSession(|s, v| s.log.compression_level = number(v).clamp(1, 22) as u8), "How hard binlog_transaction_compression tries.";
    BlockEncryptionMode "block_encryption_mode" ForRuns(|s, v| s.block_encryption = word(v).to_ascii_lowercase().into()), "The cipher of AES_ENCRYPT() and AES_DECRYPT().";
    CharacterSetClient "character_set_client" ForPlans(|s, v| s.client_charset = Charset::by_name(word(v)).filter(|c| needs_reading(c))), "The character set in which statements arrive.";
    CharacterSetConnection "character_set_connection" AsValue, "The character set of string literals and of numbers made strings.";
    CharacterSetDatabase "character_set_database" AsValue, "The character set of the current database.";
    CharacterSetFilesystem "character_set_filesystem" AsValue, "The character set of file names. Names of files are taken as bytes.";
    CharacterSetResults "character_set_results" ForSession(|s, v| s.results_collation = Charset::by_name(word(v)).map_or(0, results_collation)), "The character set in which results are sent; NULL sends them as stored.";
    CharacterSetServer "character_set_server" AsValue, "The character set of databases that are created without one.";
    CollationConnection "collation_connection" ForPlans(|s, v| s.connection_collation = Collation::by_name(word(v)).map_or(s.connection_collation, |c| c.id)), "The collation of string literals.";
    CollationDatabase "collation_database" AsValue, "The collation of the current database.";
    CollationServer "collation_server" ForRuns(|s, v| s.server_collation = Collation::by_name(word(v)).map_or(s.server_collation, |c| c.id)), "The collation of databases that are created without one.";
    CompletionType "completion_type" ForSession(|s, v| s.completion = Completion::of(word(v))), "What COMMIT and ROLLBACK do when neither CHAIN nor RELEASE is written.";
    ConnectTimeout "connect_timeout" AsValue, "Seconds that the server waits for each answer of a client that logs in.";
    CteMaxRecursionDepth "cte_max_recursion_depth" ForRuns(|s, v| s.cte_rounds_max = number(v)), "Rounds after which a recursive common table expression fails with error 3636.";
    Datadir "datadir" AsValue, "Where the data lives; created if it does not exist.";
    DefaultCollationForUtf8mb4 "default_collation_for_utf8mb4" ForPlans(|s, v| s.utf8mb4_collation = Collation::by_name(word(v)).map_or(s.utf8mb4_collation, |c| c.id)), "The collation of utf8mb4 where none is named: utf8mb4_0900_ai_ci, or utf8mb4_general_ci as in MySQL 5.7 and MariaDB.";
    DefaultPasswordLifetime "default_password_lifetime" AsValue, "Days after which the password of an account expires that says nothing about it; 0: never.";
    DefaultStorageEngine "default_storage_engine" ForRuns(|s, v| s.engine = word(v).to_string().into()), "The engine that CREATE TABLE without ENGINE notes in the table's definition.";
    DefaultTableEncryption "default_table_encryption" ForRuns(|s, v| s.encrypts_databases = is_on(v)), "ON refuses new databases that do not say ENCRYPTION = 'N' (error 1235): none can be encrypted here.";
    DefaultTmpStorageEngine "default_tmp_storage_engine" ForRuns(|s, v| s.temporary_engine = word(v).to_string().into()), "The same for CREATE TEMPORARY TABLE.";
    DefaultWeekFormat "default_week_format" ForRuns(|s, v| s.week_format = number(v) as u32), "The mode of WEEK() without a second argument.";
    DivPrecisionIncrement "div_precision_increment" ForPlans(|s, v| s.division_decimals = u8::try_from(number(v)).unwrap_or(u8::MAX)), "Decimals that / and AVG() have more than what they divide.";
    EnableCascadeTriggers "enable_cascade_triggers" ForRuns(|s, v| s.cascade_triggers = is_on(v)), "ON runs the triggers of rows that cascades of foreign keys change.";
    ErrorCount "error_count" AsValue, "Errors of the statement before.";
    EventScheduler "event_scheduler" AsValue, "ON runs events when their time has come.";
    ExplainFormat "explain_format" ForSession(|s, v| s.explain_format = word(v).to_string()), "The format of EXPLAIN without FORMAT.";
    ForeignKeyChecks "foreign_key_checks" ForRuns(|s, v| s.foreign_key_checks = is_on(v)), "OFF changes rows without a look at foreign keys, creates keys without a look at the rows, and drops parents.";
    GeneralLog "general_log" AsValue, "ON writes down each connection and statement.";
    GeneralLogFile "general_log_file" AsValue, "The file of the general log; in datadir, if it has no directory.";
    GeneratedRandomPasswordLength "generated_random_password_length" AsValue, "Characters of the passwords that IDENTIFIED BY RANDOM PASSWORD makes.";
    GtidNext "gtid_next" ForSession(|s, v| s.log.next = gtid_next(word(v))), "The GTID of the session's next transaction: AUTOMATIC, ANONYMOUS, or one that is given.";
    GlobalConnectionMemoryLimit "global_connection_memory_limit" AsValue, "Bytes that statements and sessions may take together in large pieces, and at most an eighth of the machine's memory (of little memory a quarter); who would take more than a quarter of what is left gets error 1041.";
    GroupConcatMaxLen "group_concat_max_len" ForRuns(|s, v| s.group_concat_bytes_max = size(v)), "Bytes at which a result of GROUP_CONCAT() is cut, with a warning.";
    Identity "identity" AsValue, "The same as last_insert_id.";
    InitConnect "init_connect" AsValue, "Statements that are run for each client after its login, unless the account has CONNECTION_ADMIN.";
    InnodbFlushLogAtTrxCommit "innodb_flush_log_at_trx_commit" AsValue, "1 syncs the log before a commit is acknowledged; 2 hands it to the operating system and syncs each second, 0 does the same.";
    InnodbLockWaitTimeout "innodb_lock_wait_timeout" ForSession(|s, v| s.lock_wait = Duration::from_secs(number(v))), "Seconds that a statement waits for a row lock before error 1205.";
    InnodbParallelReadThreads "innodb_parallel_read_threads" ForRuns(|s, v| s.read_threads_max = size(v)), "Threads that read for one statement, as far as there are cores.";
    InnodbSnapshotIsolation "innodb_snapshot_isolation" ForTransactions(|s, v| s.snapshot_isolation = is_on(v)), "ON fails a write of a row that changed after the transaction's snapshot with error 1213; OFF changes the latest version of the row, as MySQL does.";
    InsertId "insert_id" AsValue, "The AUTO_INCREMENT value that the next INSERT generates first, as SET gave it; 0 for none.";
    InteractiveTimeout "interactive_timeout" AsValue, "Seconds of silence after which an interactive client is disconnected: its wait_timeout at login.";
    LastInsertId "last_insert_id" AsValue, "What LAST_INSERT_ID() returns.";
    LcTimeNames "lc_time_names" ForSession(|s, v| s.set_time_names(word(v))), "The locale of the names of days and months that DATE_FORMAT(), DAYNAME(), MONTHNAME() and FROM_UNIXTIME() write.";
    LogBin "log_bin" AsValue, "ON keeps a binary log of all changes, for replicas and for point-in-time recovery.";
    LogBinTrustFunctionCreators "log_bin_trust_function_creators" AsValue, "ON makes functions that do not say what they read (1418).";
    LogErrorServices "log_error_services" AsValue, "How the server writes its own log: with log_sink_json as JSON, otherwise as text.";
    LogOutput "log_output" AsValue, "Where the general log and the slow log go: FILE, TABLE (mysql.general_log and mysql.slow_log), both, or NONE.";
    LogQueriesNotUsingIndexes "log_queries_not_using_indexes" AsValue, "ON writes statements that read a whole table to the slow log, however fast they are.";
    LogRaw "log_raw" AsValue, "ON writes statements to the general log as they came, with passwords and what cannot be read.";
    LogSlowAdminStatements "log_slow_admin_statements" AsValue, "ON lets the slow log have ALTER TABLE, CREATE and DROP INDEX, and ANALYZE, CHECK, OPTIMIZE and REPAIR TABLE.";
    LogSlowExtra "log_slow_extra" AsValue, "ON adds what a statement read, sorted and sent to its entry in the slow log.";
    LogSlowReplicaStatements "log_slow_replica_statements" AsValue, "ON lets the slow log have the statements of a source that are carried out here.";
    LogSlowSlaveStatements "log_slow_slave_statements" AsValue, "The same as log_slow_replica_statements, under its old name.";
    LogThrottleQueriesNotUsingIndexes "log_throttle_queries_not_using_indexes" AsValue, "Entries a minute that log_queries_not_using_indexes may make; 0 is without limit.";
    LogTimestamps "log_timestamps" AsValue, "The zone of times in the general log and the slow log: UTC, or SYSTEM for the machine's.";
    MaxJoinSize "max_join_size" ForPlans(|s, v| s.join_rows_max = number(v)), "With sql_big_selects OFF: rows that a query block may look at by the optimizer's estimate; more is error 1104. Setting it sets sql_big_selects.";
    MaxSpRecursionDepth "max_sp_recursion_depth" AsValue, "How often a procedure may be inside itself before error 1456.";
    LocalInfile "local_infile" AsValue, "ON allows LOAD DATA LOCAL.";
    LockWaitTimeout "lock_wait_timeout" ForSession(|s, v| s.metadata_lock_wait = Duration::from_secs(number(v))), "Seconds that a statement waits for a metadata lock before error 1205.";
    LongQueryTime "long_query_time" ForSession(|s, v| s.slow_us = microseconds(v)), "Seconds after which a statement counts as slow, and is written to the slow log.";
    MandatoryRoles "mandatory_roles" AsValue, "Roles that every account has: names, or name@host, divided by commas.";
    MaxAllowedPacket "max_allowed_packet" ForRuns(|s, v| s.packet_bytes_max = size(v)), "Bytes of the largest packet or string; a larger packet ends the connection. Taken at login.";
    MaxConnections "max_connections" AsValue, "Connections that are served at once; one more is refused with error 1040.";
    MaxErrorCount "max_error_count" ForSession(|s, v| s.warnings_max = size(v)), "Warnings that are kept for SHOW WARNINGS.";
    MaxExecutionTime "max_execution_time" ForSession(|s, v| s.execution_ms_max = number(v)), "Milliseconds after which a SELECT ends with error 3024; 0 is without limit.";
    MaxPreparedStmtCount "max_prepared_stmt_count" AsValue, "Prepared statements of all connections; one more is error 1461.";
    MaxUserConnections "max_user_connections" AsValue, "Connections of one account that are served at once (error 1203), unless the account has a limit of its own; 0 is without limit.";
    MinExaminedRowLimit "min_examined_row_limit" ForSession(|s, v| s.slow_rows_min = number(v)), "Rows that a statement must look at to count as slow.";
    NetReadTimeout "net_read_timeout" AsValue, "Seconds that the server waits for more of a file that the client sends.";
    NetWriteTimeout "net_write_timeout" ForSession(|s, v| s.write_wait = Duration::from_secs(number(v))), "Seconds for which a client may not read what the server sends before it is disconnected.";
    OfflineMode "offline_mode" AsValue, "ON ends the connections of accounts without CONNECTION_ADMIN, and lets none in.";
    OptimizerSwitch "optimizer_switch" ForPlans(|s, v| s.switches = Switches::of(word(v))), "Choices of the optimizer: semijoin, firstmatch, loosescan, materialization and duplicateweedout, derived_merge, derived_condition_pushdown, hash_join and block_nested_loop (which are one), prefer_ordering_index, use_invisible_indexes, index_merge with index_merge_union or index_merge_sort_union, skip_scan act. The other flags are kept; what they choose does not exist here.";
    OptimizerTrace "optimizer_trace" ForSession(|s, v| s.traces = word(v).contains("enabled=on")), "enabled=on keeps what the optimizer chose between, in information_schema.OPTIMIZER_TRACE; one_line=on writes it without breaks. Statements that are planned are traced, prepared ones when they are prepared.";
    OptimizerTraceLimit "optimizer_trace_limit" AsValue, "Traces that are shown.";
    OptimizerTraceMaxMemSize "optimizer_trace_max_mem_size" AsValue, "Bytes that the traces have together; what is beyond is cut off and counted.";
    OptimizerTraceOffset "optimizer_trace_offset" AsValue, "The first trace that is kept, from 0 on; below 0 the last so many are.";
    PasswordHistory "password_history" AsValue, "Passwords of an account that may not be used again (error 3638), unless the account has a PASSWORD HISTORY of its own; 0 for none.";
    PasswordRequireCurrent "password_require_current" AsValue, "ON wants the old password (REPLACE) of whoever changes the own one, unless the account says it itself.";
    PasswordReuseInterval "password_reuse_interval" AsValue, "Days for which a password may not be used again (error 3638), unless the account has a PASSWORD REUSE INTERVAL of its own; 0 for none.";
    PerformanceSchema "performance_schema" AsValue, "OFF counts no statement events.";
    PerformanceSchemaDigestsSize "performance_schema_digests_size" AsValue, "Statements that performance_schema tells apart by their digests; the others share a line.";
    PerformanceSchemaMaxDigestLength "performance_schema_max_digest_length" AsValue, "Bytes of a digest's text that performance_schema keeps.";
    PerformanceSchemaMaxDigestSampleAge "performance_schema_max_digest_sample_age" AsValue, "Seconds after which a digest's sample gives way to the next statement, if no slower one comes before.";
    PerformanceSchemaMaxSqlTextLength "performance_schema_max_sql_text_length" AsValue, "Bytes of a statement's text that performance_schema keeps.";
    Port "port" AsValue, "TCP port.";
    PrintIdentifiedWithAsHex "print_identified_with_as_hex" AsValue, "ON shows the hashes of passwords in SHOW CREATE USER as hexadecimal numbers.";
    Profiling "profiling" ForSession(|s, v| s.profiling = is_on(v)), "ON keeps how long the session's last statements took, for SHOW PROFILES.";
    ProfilingHistorySize "profiling_history_size" ForSession(|s, v| s.profiles_max = size(v)), "Statements that profiling keeps.";
    PseudoThreadId "pseudo_thread_id" AsValue, "What CONNECTION_ID() returns.";
    RandSeed1 "rand_seed1" AsValue, "A seed of the next RAND() without an argument; reads as 0.";
    RandSeed2 "rand_seed2" AsValue, "The other seed of the next RAND() without an argument; reads as 0.";
    ReadOnly "read_only" AsValue, "ON refuses changes of data by accounts without CONNECTION_ADMIN.";
    RequireSecureTransport "require_secure_transport" AsValue, "ON refuses connections that use neither TLS nor the Unix socket.";
    RestrictFkOnNonStandardKey "restrict_fk_on_non_standard_key" ForRuns(|s, v| s.unique_parents = is_on(v)), "OFF lets new foreign keys refer to columns that begin an index without being a unique key (warning 6124).";
    SecureFilePriv "secure_file_priv" AsValue, "The directory of the files that LOAD DATA and SELECT INTO OUTFILE may use; empty for every one, NULL for none.";
    ServerId "server_id" AsValue, "What tells this server from others that replicate from it or that it replicates from.";
    SessionTrackGtids "session_track_gtids" ForSession(|s, v| s.track.gtids = TrackGtids::of(word(v))), "Tell the client the GTIDs of its transactions (OWN_GTID), or all that are executed (ALL_GTIDS).";
    SessionTrackSchema "session_track_schema" ForSession(|s, v| s.track.schema = is_on(v)), "Tell the client when its default database changes.";
    SessionTrackStateChange "session_track_state_change" ForSession(|s, v| s.track.state_change = is_on(v)), "Tell the client when anything of its session changes.";
    SessionTrackSystemVariables "session_track_system_variables" ForSession(|s, v| s.track.set_variables(word(v))), "Variables whose changes the client is told; * for all.";
    SessionTrackTransactionInfo "session_track_transaction_info" ForSession(|s, v| s.track.transaction = TrackTransaction::of(word(v))), "Tell the client the state of its transaction, or also the statements that would begin it again.";
    SlowQueryLog "slow_query_log" AsValue, "ON writes down statements that take longer than long_query_time.";
    SlowQueryLogFile "slow_query_log_file" AsValue, "The file of the slow log; in datadir, if it has no directory.";
    Socket "socket" AsValue, "Unix socket; vaquita.sock in datadir by default.";
    SqlBigSelects "sql_big_selects" ForPlans(|s, v| s.big_selects = is_on(v)), "OFF lets max_join_size count.";
    SqlGenerateInvisiblePrimaryKey "sql_generate_invisible_primary_key" ForRuns(|s, v| s.generates_primary_key = is_on(v)), "ON adds the invisible column my_row_id as primary key to InnoDB tables that are created without one.";
    SqlLogBin "sql_log_bin" ForSession(|s, v| s.log.on = is_on(v)), "OFF keeps the session's changes out of the binary log.";
    SqlLogOff "sql_log_off" ForSession(|s, v| s.general_log_off = is_on(v)), "ON keeps the session's statements out of the general log.";
    RplSemiSyncReplicaEnabled "rpl_semi_sync_replica_enabled" AsValue, "ON asks sources to wait for our acks, which say that a transaction is committed here; the next connection to a source does.";
    RplSemiSyncSourceEnabled "rpl_semi_sync_source_enabled" AsValue, "ON lets commits wait until replicas have acked them.";
    RplSemiSyncSourceTimeout "rpl_semi_sync_source_timeout" AsValue, "Milliseconds after which commits wait no longer, until a replica has caught up.";
    RplSemiSyncSourceWaitForReplicaCount "rpl_semi_sync_source_wait_for_replica_count" AsValue, "Replicas whose acks a commit waits for.";
    RplSemiSyncSourceWaitNoReplica "rpl_semi_sync_source_wait_no_replica" AsValue, "OFF lets no commit wait while fewer replicas are connected than acks are wanted.";
    RplSemiSyncSourceWaitPoint "rpl_semi_sync_source_wait_point" AsValue, "AFTER_SYNC keeps the locks of a commit that waits, AFTER_COMMIT does not; clients are answered behind the wait.";
    SqlMode "sql_mode" ForPlans(|s, v| s.sql_mode = sql_mode_bits(word(v))), "How strictly statements and values are read.";
    SqlNotes "sql_notes" ForSession(|s, v| s.notes = is_on(v)), "OFF keeps no notes among the warnings.";
    SqlQuoteShowCreate "sql_quote_show_create" ForRuns(|s, v| s.quotes_show_create = is_on(v)), "OFF leaves the quotes out of names in SHOW CREATE where they are not needed.";
    SqlRequirePrimaryKey "sql_require_primary_key" ForRuns(|s, v| s.requires_primary_key = is_on(v)), "ON refuses to create or to change tables without a primary key (error 3750).";
    SqlSafeUpdates "sql_safe_updates" ForPlans(|s, v| s.safe_updates = is_on(v)), "ON refuses an UPDATE or DELETE that neither uses a key nor has LIMIT (error 1175).";
    SqlSelectLimit "sql_select_limit" ForPlans(|s, v| s.select_rows_max = number(v)), "Rows of a SELECT without LIMIT.";
    SslCa "ssl_ca" AsValue, "The file in datadir of the certificates that certificates of clients must lead to. Read when the server starts, as the next two.";
    SslCert "ssl_cert" AsValue, "The file in datadir of the server's certificate.";
    SslKey "ssl_key" AsValue, "The file in datadir of the key of the server's certificate.";
    SuperReadOnly "super_read_only" AsValue, "ON refuses changes of data by every account, and turns read_only on.";
    TimeZone "time_zone" ForPlans(|s, v| s.time_zone = zone(word(v))), "The zone of NOW() and of TIMESTAMP columns: SYSTEM, an offset such as +02:00, or a name.";
    Timestamp "timestamp" ForSession(|s, v| s.timestamp_us = timestamp_us(v)), "The time that NOW() returns, in seconds since 1970; DEFAULT is the clock's.";
    TransactionIsolation "transaction_isolation" ForTransactions(|s, v| s.isolation = isolation_of(word(v))), "The isolation level of transactions.";
    TransactionReadOnly "transaction_read_only" ForTransactions(|s, v| s.read_only = is_on(v)), "ON starts transactions that may not write.";
    TxIsolation "tx_isolation" ForTransactions(|s, v| s.isolation = isolation_of(word(v))), "The same as transaction_isolation, under its old name.";
    TxReadOnly "tx_read_only" ForTransactions(|s, v| s.read_only = is_on(v)), "The same as transaction_read_only, under its old name.";
    UniqueChecks "unique_checks" ForSession(|s, v| s.log.unique_checks = is_on(v)), "OFF tells replicas that they need not look for duplicates in secondary keys; here they are looked for in any case.";
    UpdatableViewsWithLimit "updatable_views_with_limit" ForPlans(|s, v| s.limits_without_key = word(v).eq_ignore_ascii_case("YES")), "NO refuses an UPDATE or DELETE with LIMIT of a view that has no key of its table (error 1288); YES notes it.";
    VaquitaGoalBackgroundCpu "vaquita_goal_background_cpu" AsValue, "Percent of the cores that flushes and compactions may use.";
    VaquitaGoalMemory "vaquita_goal_memory" AsValue, "Bytes of memory that the server shall use in all; 0 is three quarters of what the machine or cgroup has, and less than 256 MiB is as 256 MiB.";
    VaquitaTuning "vaquita_tuning" AsValue, "ON changes settings of the storage where that makes statements cheaper; ADVISE only says what it would try; OFF leaves them as they were at the start. See vaquita.tuning_log.";
    VaquitaAuditLog "vaquita_audit_log" AsValue, "ON writes who connects and what they do to the audit log, as JSON. Setting this and the next seven needs AUDIT_ADMIN.";
    VaquitaAuditLogEvents "vaquita_audit_log_events" AsValue, "Classes of events that the audit log has: CONNECT, QUERY (every statement), QUERY_DDL, QUERY_DML, QUERY_DCL, TABLE.";
    VaquitaAuditLogExcludeAccounts "vaquita_audit_log_exclude_accounts" AsValue, "Users whose events the audit log does not have, separated by commas: user or user@host.";
    VaquitaAuditLogFile "vaquita_audit_log_file" AsValue, "The file of the audit log; in datadir, if it has no directory.";
    VaquitaAuditLogIncludeAccounts "vaquita_audit_log_include_accounts" AsValue, "If not empty, the users whose events alone the audit log has.";
    VaquitaAuditLogOnFailure "vaquita_audit_log_on_failure" AsValue, "What becomes of statements while the audit log cannot be written: LOSE runs them without a trace, REFUSE fails them with error 3164, but for those who have AUDIT_ADMIN.";
    VaquitaAuditLogRotateSize "vaquita_audit_log_rotate_size" AsValue, "Bytes at which the audit log's file is renamed and another begins; 0 is never.";
    VaquitaAuditLogRotations "vaquita_audit_log_rotations" AsValue, "Renamed files of the audit log that are kept.";
    VaquitaBackupInterval "vaquita_backup_interval" AsValue, "Seconds between two backups that the server takes by itself.";
    VaquitaBackupKeep "vaquita_backup_keep" AsValue, "Backups of this server that are kept when it takes a new one; 0 keeps all.";
    VaquitaBackupKeyFile "vaquita_backup_key_file" AsValue, "The file with the key that the server's own backups are encrypted with; empty for none.";
    VaquitaBackupLog "vaquita_backup_log" AsValue, "ON archives the binary log where backups go, for restores to any moment.";
    VaquitaBackupPlace "vaquita_backup_place" AsValue, "Where the server backs itself up to: a directory, s3://, gs:// or az://; empty for nowhere.";
    WaitTimeout "wait_timeout" AsValue, "Seconds of silence after which a client is disconnected.";
    WarningCount "warning_count" AsValue, "Warnings of the statement before.";
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

    #[inline]
    pub fn kept(self) -> Kept {
        LIVE[self as usize].kept
    }

    /// The next transaction takes its options anew.
    pub fn changes_transactions(self) -> bool {
        matches!(self.kept(), ForTransactions(_))
    }
}

/// Lines that replace or complete those of `table.txt`; a name alone takes the variable out.
pub const OWN_TABLE: &str = "\
version\tG\tString\tR\t\t\t1\t\t
port\tG\tInteger\tR\t0\t65535\t1\t3306\t
datadir\tG\tString\tR\t\t\t1\t\t
socket\tG\tString\tR\t\t\t1\t\t
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
gtid_mode\tG\tEnumeration\tD\t\t\t1\tON\tOFF|OFF_PERMISSIVE|ON_PERMISSIVE|ON
gtid_domain_id\tG\tInteger\tR\t0\t4294967295\t1\t0\t
gtid_binlog_pos\tG\tString\tR\t\t\t1\t\t
gtid_binlog_state\tG\tString\tR\t\t\t1\t\t
gtid_current_pos\tG\tString\tR\t\t\t1\t\t
gtid_executed\tG\tString\tR\t\t\t1\t\t
enforce_gtid_consistency\tG\tEnumeration\tD\t\t\t1\tON\tOFF|ON|WARN
binlog_format\tB\tEnumeration\tD\t\t\t1\tROW\tMIXED|STATEMENT|ROW
binlog_row_image\tB\tEnumeration\tD\t\t\t1\tFULL\tMINIMAL|NOBLOB|FULL
binlog_row_metadata\tG\tEnumeration\tD\t\t\t1\tMINIMAL\tMINIMAL|FULL
binlog_checksum\tG\tEnumeration\tD\t\t\t1\tCRC32\tNONE|CRC32
binlog_error_action\tG\tEnumeration\tD\t\t\t1\tABORT_SERVER\tIGNORE_ERROR|ABORT_SERVER
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
plugin_dir\tG\tString\tR\t\t\t1\t/usr/lib/mysql/plugin/\t
basedir\tG\tString\tR\t\t\t1\t/usr/\t
character_sets_dir\tG\tString\tR\t\t\t1\t\t
lc_messages_dir\tG\tString\tR\t\t\t1\t\t
proxy_user\tS\tString\tR\t\t\t1\t\\N\t
external_user\tS\tString\tR\t\t\t1\t\\N\t
relay_log\tG\tString\tR\t\t\t1\t\t
relay_log_basename\tG\tString\tR\t\t\t1\t\t
relay_log_index\tG\tString\tR\t\t\t1\t\t
general_log_file\tG\tString\tD\t\t\t1\tgeneral.log\t
slow_query_log_file\tG\tString\tD\t\t\t1\tslow.log\t
log_error\tG\tString\tR\t\t\t1\tstderr\t
timestamp\tS\tNumeric\tD\t0\t\t1\t0\t
max_join_size\tB\tInteger\tD\t1\t18446744073709551615\t1\t18446744073709551615\t
sql_select_limit\tB\tInteger\tD\t0\t18446744073709551615\t1\t18446744073709551615\t
query_cache_size\tG\tInteger\tR\t0\t0\t1\t0\t
query_cache_type\tB\tEnumeration\tR\t\t\t1\tOFF\tOFF|ON|DEMAND
storage_engine
rpl_semi_sync_replica_enabled\tG\tBoolean\tD\t\t\t1\tOFF\t
rpl_semi_sync_replica_trace_level\tG\tInteger\tD\t0\t18446744073709551615\t1\t32\t
rpl_semi_sync_source_enabled\tG\tBoolean\tD\t\t\t1\tOFF\t
rpl_semi_sync_source_timeout\tG\tInteger\tD\t0\t18446744073709551615\t1\t10000\t
rpl_semi_sync_source_trace_level\tG\tInteger\tD\t0\t18446744073709551615\t1\t32\t
rpl_semi_sync_source_wait_for_replica_count\tG\tInteger\tD\t1\t65535\t1\t1\t
rpl_semi_sync_source_wait_no_replica\tG\tBoolean\tD\t\t\t1\tON\t
rpl_semi_sync_source_wait_point\tG\tEnumeration\tD\t\t\t1\tAFTER_SYNC\tAFTER_SYNC|AFTER_COMMIT
vaquita_audit_log\tG\tBoolean\tD\t\t\t1\tOFF\t
vaquita_audit_log_events\tG\tSet\tD\t\t\t1\tCONNECT,QUERY_DDL,QUERY_DCL\tCONNECT|QUERY|QUERY_DDL|QUERY_DML|QUERY_DCL|TABLE
vaquita_audit_log_exclude_accounts\tG\tString\tD\t\t\t1\t\t
vaquita_audit_log_file\tG\tString\tD\t\t\t1\taudit.log\t
vaquita_audit_log_include_accounts\tG\tString\tD\t\t\t1\t\t
vaquita_audit_log_on_failure\tG\tEnumeration\tD\t\t\t1\tLOSE\tLOSE|REFUSE
vaquita_audit_log_rotate_size\tG\tInteger\tD\t0\t9223372036854775807\t1\t104857600\t
vaquita_audit_log_rotations\tG\tInteger\tD\t0\t999\t1\t9\t
vaquita_backup_interval\tG\tInteger\tD\t1\t31536000\t1\t86400\t
vaquita_backup_keep\tG\tInteger\tD\t0\t100000\t1\t7\t
vaquita_backup_key_file\tG\tString\tD\t\t\t1\t\t
vaquita_backup_log\tG\tBoolean\tD\t\t\t1\tON\t
vaquita_backup_place\tG\tString\tD\t\t\t1\t\t
vaquita_goal_background_cpu\tG\tInteger\tD\t1\t100\t1\t100\t
vaquita_goal_memory\tG\tInteger\tD\t0\t18446744073709551615\t1048576\t0\t
vaquita_tuning\tG\tEnumeration\tD\t\t\t1\tON\tOFF|ADVISE|ON
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
