//! Productions of statements about the session and the server: SET, SHOW, locks, FLUSH, maintenance; the holes are in `templates`.

pub const START_TRANSACTION: &[&str] = &["BEGIN", "START TRANSACTION{| WITH CONSISTENT SNAPSHOT| READ ONLY| READ WRITE}"];

pub const LOCK_TABLES: &[&str] =
    &["LOCK TABLES {t}{| AS x} {READ|READ LOCAL|WRITE|LOW_PRIORITY WRITE}", "LOCK TABLES {t} READ, {t2} WRITE"];

pub const XA: &[&str] = &[
    "XA RECOVER{| CONVERT XID}",
    "XA START 'a'{|, 'b', 3}{| JOIN| RESUME}",
    "XA END 'a'{| SUSPEND| SUSPEND FOR MIGRATE}",
    "XA {PREPARE 'a'|ROLLBACK 'a'|COMMIT 'a'|COMMIT 'a' ONE PHASE}",
];

pub const SET: &[&str] = &[
    "SET @v = {s}",
    "SET @v = {e}",
    "SET @a = 1, @v = 1 + {s}",
    "SET SESSION group_concat_max_len = {s}",
    "SET {GLOBAL|PERSIST|PERSIST_ONLY|@@GLOBAL.|SESSION} max_error_count = {64|{s}|DEFAULT}",
    "SET GLOBAL c1.key_buffer_size = {s}",
    "SET SESSION {sql_log_bin = 1|binlog_format = 'ROW'|gtid_next = 'AUTOMATIC'|binlog_direct_non_transactional_updates = 0|debug_sync = 'x'|original_commit_timestamp = DEFAULT|pseudo_replica_mode = 0}",
    "SET NAMES {utf8mb4|DEFAULT|utf8mb4 COLLATE utf8mb4_0900_ai_ci}",
    "SET CHARACTER SET {utf8mb4|DEFAULT}",
    "SET {|SESSION |GLOBAL }TRANSACTION {ISOLATION LEVEL {READ UNCOMMITTED|READ COMMITTED|REPEATABLE READ|SERIALIZABLE}|READ WRITE}",
    "SET PASSWORD {|FOR {u} }= ''{| REPLACE ''}",
    "SET PASSWORD {|FOR {u} }TO RANDOM{| RETAIN CURRENT PASSWORD}",
];

pub const SHOW: &[&str] = &[
    "SHOW DATABASES{| LIKE '%'| WHERE {s}}",
    "SHOW {|EXTENDED }{|FULL }TABLES{| FROM {d}}{| LIKE '%'| WHERE {s}}",
    "SHOW TABLE STATUS{| FROM {d}}{| LIKE '%'| WHERE {s}}",
    "SHOW OPEN TABLES{| FROM {d}}{| LIKE 'x'| WHERE {s}}",
    "SHOW {|EXTENDED }{|FULL }COLUMNS FROM {t}{| LIKE '%'| WHERE {s}}",
    "SHOW {|EXTENDED }INDEX FROM {t}{| WHERE {s}}",
    "SHOW {|GLOBAL |SESSION }{VARIABLES|STATUS}{| LIKE 'version'| WHERE variable_name = 'version' AND {s}}",
    "SHOW {|FULL }PROCESSLIST",
    "SHOW WARNINGS{| LIMIT 1}",
    "SHOW COUNT(*) {WARNINGS|ERRORS}",
    "SHOW ERRORS{| LIMIT 1}",
    "SHOW {ENGINES|PRIVILEGES|PLUGINS|PROFILES|BINARY LOGS|BINARY LOG STATUS|REPLICAS|SLAVE HOSTS|REPLICA STATUS|SLAVE STATUS}",
    "SHOW REPLICA STATUS FOR CHANNEL 'x'",
    "SHOW ENGINE InnoDB {STATUS|MUTEX}",
    "SHOW {COLLATION|CHARACTER SET|FUNCTION STATUS|PROCEDURE STATUS}{| LIKE 'x'| WHERE {s}}",
    "SHOW GRANTS{| FOR {u}| FOR {r}| FOR {u} USING {r}}",
    "SHOW {|FULL }TRIGGERS{| FROM {d}}{| LIKE 'x'| WHERE {s}}",
    "SHOW EVENTS{| FROM {d}}{| LIKE 'x'| WHERE {s}}",
    "SHOW {FUNCTION|PROCEDURE} CODE {d}.p",
    "SHOW PROFILE{| CPU| FOR QUERY 1| LIMIT 1}",
    "SHOW {BINLOG|RELAYLOG} EVENTS{| IN 'x'}{| FROM 4}{| LIMIT 1}",
    "SHOW RELAYLOG EVENTS FOR CHANNEL 'x'",
    "SHOW CREATE DATABASE {|IF NOT EXISTS }{d}",
    "SHOW CREATE TABLE {t}",
    "SHOW CREATE TABLE {t}",
    "SHOW CREATE VIEW {t}",
    "SHOW CREATE {TRIGGER|PROCEDURE|FUNCTION|EVENT} {d}.p",
    "SHOW CREATE USER {u}",
    "SHOW CREATE USER {r}",
    "SHOW PARSE_TREE {q}",
];

pub const KILL: &[&str] = &["KILL {|QUERY |CONNECTION }{victim}", "KILL {s}", "KILL CONNECTION_ID() + {s}"];

pub const TABLE_MAINTENANCE: &[&str] = &[
    "ANALYZE {|LOCAL |NO_WRITE_TO_BINLOG }TABLE {t}{|, {t2}}",
    "ANALYZE TABLE {t} {UPDATE HISTOGRAM ON {c}{| WITH 8 BUCKETS}{| AUTO UPDATE| MANUAL UPDATE| USING DATA 'x'}|DROP HISTOGRAM ON {c}}",
    "CHECK TABLE {t}{|, {t2}}{| FOR UPGRADE| QUICK| EXTENDED| CHANGED}",
    "CHECKSUM TABLE {t}{|, {t2}}{| QUICK| EXTENDED}",
    "OPTIMIZE {|LOCAL }TABLE {t}",
    "REPAIR {|LOCAL }TABLE {t}{| QUICK| USE_FRM}",
];

pub const FLUSH: &[&str] = &[
    "FLUSH {|LOCAL }TABLES{| {t}| {t} WITH READ LOCK| {t}, {t2} FOR EXPORT| WITH READ LOCK}",
    "FLUSH {|NO_WRITE_TO_BINLOG }{PRIVILEGES|STATUS|USER_RESOURCES|OPTIMIZER_COSTS|LOGS|ENGINE LOGS|BINARY LOGS}{|, STATUS}",
];

pub const RESET: &[&str] = &[
    "RESET {BINARY LOGS AND GTIDS|PERSIST|PERSIST IF EXISTS max_error_count}",
    "RESET BINARY LOGS AND GTIDS TO 1",
    "RESET BINARY LOGS AND GTIDS, REPLICA FOR CHANNEL 'nosuch'",
];

pub const PURGE_LOGS: &[&str] = &["PURGE BINARY LOGS {TO 'nosuch.000001'|BEFORE '2000-01-01'}"];

/// Of channels that MySQL gives to others, so that none is made.
pub const CHANGE_SOURCE: &[&str] = &[
    "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'x', SOURCE_HEARTBEAT_PERIOD = 1.5{|, PRIVILEGE_CHECKS_USER = {u}} FOR CHANNEL 'group_replication_applier'",
    "CHANGE REPLICATION SOURCE TO SOURCE_HOST = ''{|, IGNORE_SERVER_IDS = (1, 2)|, SOURCE_PORT = 3306|, REQUIRE_TABLE_PRIMARY_KEY_CHECK = ON}",
];

/// Of a channel that has none, so that no filter stays.
pub const CHANGE_FILTER: &[&str] = &[
    "CHANGE REPLICATION FILTER REPLICATE_{DO|IGNORE}_DB = ({|a, {d}}){|, REPLICATE_REWRITE_DB = ({|(a, b), (c, {d})})} FOR CHANNEL 'group_replication_applier'",
    "CHANGE REPLICATION FILTER REPLICATE_{DO|IGNORE}_TABLE = ({|a.b, c.d}), REPLICATE_WILD_{DO|IGNORE}_TABLE = ({|'a%.b', 'c.d'}) FOR CHANNEL 'group_replication_applier'",
];

pub const START_REPLICA: &[&str] =
    &["START REPLICA{| IO_THREAD| SQL_THREAD}{| UNTIL SQL_AFTER_MTS_GAPS}{| USER = 'x' PASSWORD = 'y'} FOR CHANNEL 'nosuch'"];

pub const SIGNAL: &[&str] = &[
    "SIGNAL SQLSTATE '01000'",
    "SIGNAL SQLSTATE VALUE '45000' SET {CLASS_ORIGIN|SUBCLASS_ORIGIN|CONSTRAINT_CATALOG|CONSTRAINT_SCHEMA|CONSTRAINT_NAME|CATALOG_NAME|SCHEMA_NAME|TABLE_NAME|COLUMN_NAME|CURSOR_NAME} = 'x', MESSAGE_TEXT = {@v|'x'}, MYSQL_ERRNO = 1000",
    "RESIGNAL{| SQLSTATE '45000'}{| SET MESSAGE_TEXT = 'x'}",
];

pub const GET_DIAGNOSTICS: &[&str] = &[
    "GET {|CURRENT |STACKED }DIAGNOSTICS @v = {NUMBER|ROW_COUNT}{|, @w = NUMBER}",
    "GET {|STACKED }DIAGNOSTICS CONDITION {1|@v} @v = RETURNED_SQLSTATE, @w = {MESSAGE_TEXT|MYSQL_ERRNO|CLASS_ORIGIN}",
];

/// What MySQL has and this server does not carry out.
pub const UNSUPPORTED: &[&str] = &[
    "INSTALL PLUGIN x SONAME 'nosuch.so'",
    "UNINSTALL PLUGIN x",
    "{INSTALL|UNINSTALL} COMPONENT 'file://nosuch'",
    "CREATE SERVER x FOREIGN DATA WRAPPER mysql OPTIONS (USER 'x')",
];
