//! Numbers of the MySQL client/server protocol: capability flags, status flags, command
//! bytes, column types and flags, and the character-set ids that the codecs need.
//!
//! Every table cites its page of "MySQL Source Code Documentation → Client/Server Protocol"
//! (dev.mysql.com/doc/dev/mysql-server). Values are written out, never derived, because they
//! are the wire format. Which of the capabilities the server offers is the server's decision;
//! `SERVER_CAPABILITIES` holds those for which this crate has a codec.

/// Capability flags, "Protocol Basics → Capabilities Flags" (`mysql_com.h`, group__group__cs__capabilities__flags).
pub mod client {
    pub const LONG_PASSWORD: u32 = 1;
    pub const FOUND_ROWS: u32 = 1 << 1;
    pub const LONG_FLAG: u32 = 1 << 2;
    pub const CONNECT_WITH_DB: u32 = 1 << 3;
    pub const NO_SCHEMA: u32 = 1 << 4;
    pub const COMPRESS: u32 = 1 << 5;
    pub const ODBC: u32 = 1 << 6;
    pub const LOCAL_FILES: u32 = 1 << 7;
    pub const IGNORE_SPACE: u32 = 1 << 8;
    pub const PROTOCOL_41: u32 = 1 << 9;
    pub const INTERACTIVE: u32 = 1 << 10;
    pub const SSL: u32 = 1 << 11;
    pub const IGNORE_SIGPIPE: u32 = 1 << 12;
    pub const TRANSACTIONS: u32 = 1 << 13;
    /// Old name of a 4.1 flag, set by every client since; means nothing today.
    pub const RESERVED: u32 = 1 << 14;
    /// Also called CLIENT_RESERVED2: 4.1 authentication.
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    pub const MULTI_STATEMENTS: u32 = 1 << 16;
    pub const MULTI_RESULTS: u32 = 1 << 17;
    pub const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    pub const CONNECT_ATTRS: u32 = 1 << 20;
    pub const PLUGIN_AUTH_LENENC_CLIENT_DATA: u32 = 1 << 21;
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: u32 = 1 << 22;
    pub const SESSION_TRACK: u32 = 1 << 23;
    pub const DEPRECATE_EOF: u32 = 1 << 24;
    pub const OPTIONAL_RESULTSET_METADATA: u32 = 1 << 25;
    pub const ZSTD_COMPRESSION_ALGORITHM: u32 = 1 << 26;
    pub const QUERY_ATTRIBUTES: u32 = 1 << 27;
    pub const MULTI_FACTOR_AUTHENTICATION: u32 = 1 << 28;
    pub const CAPABILITY_EXTENSION: u32 = 1 << 29;
    pub const SSL_VERIFY_SERVER_CERT: u32 = 1 << 30;
    pub const REMEMBER_OPTIONS: u32 = 1 << 31;
}

/// The capabilities that the codecs of this crate implement, for a server to offer all or part of.
/// SSL, LOCAL_FILES and the compressions are left out: the server adds them when it has them on.
pub const SERVER_CAPABILITIES: u32 = client::LONG_PASSWORD
    | client::FOUND_ROWS
    | client::LONG_FLAG
    | client::CONNECT_WITH_DB
    | client::NO_SCHEMA
    | client::ODBC
    | client::IGNORE_SPACE
    | client::PROTOCOL_41
    | client::INTERACTIVE
    | client::IGNORE_SIGPIPE
    | client::TRANSACTIONS
    | client::RESERVED
    | client::SECURE_CONNECTION
    | client::MULTI_STATEMENTS
    | client::MULTI_RESULTS
    | client::PS_MULTI_RESULTS
    | client::PLUGIN_AUTH
    | client::CONNECT_ATTRS
    | client::PLUGIN_AUTH_LENENC_CLIENT_DATA
    | client::SESSION_TRACK
    | client::DEPRECATE_EOF
    | client::OPTIONAL_RESULTSET_METADATA
    | client::QUERY_ATTRIBUTES;

/// Status flags of OK and EOF packets, `SERVER_STATUS_flags_enum` in `mysql_com.h`.
pub mod status {
    pub const IN_TRANS: u16 = 1;
    pub const AUTOCOMMIT: u16 = 1 << 1;
    pub const MORE_RESULTS_EXISTS: u16 = 1 << 3;
    pub const QUERY_NO_GOOD_INDEX_USED: u16 = 1 << 4;
    pub const QUERY_NO_INDEX_USED: u16 = 1 << 5;
    pub const CURSOR_EXISTS: u16 = 1 << 6;
    pub const LAST_ROW_SENT: u16 = 1 << 7;
    pub const DB_DROPPED: u16 = 1 << 8;
    pub const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
    pub const METADATA_CHANGED: u16 = 1 << 10;
    pub const QUERY_WAS_SLOW: u16 = 1 << 11;
    pub const PS_OUT_PARAMS: u16 = 1 << 12;
    pub const IN_TRANS_READONLY: u16 = 1 << 13;
    pub const SESSION_STATE_CHANGED: u16 = 1 << 14;
}

/// Command bytes, `enum_server_command` in `my_command.h`.
pub mod command {
    pub const SLEEP: u8 = 0;
    pub const QUIT: u8 = 1;
    pub const INIT_DB: u8 = 2;
    pub const QUERY: u8 = 3;
    pub const FIELD_LIST: u8 = 4;
    pub const CREATE_DB: u8 = 5;
    pub const DROP_DB: u8 = 6;
    pub const REFRESH: u8 = 7;
    pub const SHUTDOWN: u8 = 8;
    pub const STATISTICS: u8 = 9;
    pub const PROCESS_INFO: u8 = 10;
    pub const CONNECT: u8 = 11;
    pub const PROCESS_KILL: u8 = 12;
    pub const DEBUG: u8 = 13;
    pub const PING: u8 = 14;
    pub const TIME: u8 = 15;
    pub const DELAYED_INSERT: u8 = 16;
    pub const CHANGE_USER: u8 = 17;
    pub const BINLOG_DUMP: u8 = 18;
    pub const TABLE_DUMP: u8 = 19;
    pub const CONNECT_OUT: u8 = 20;
    pub const REGISTER_REPLICA: u8 = 21;
    pub const STMT_PREPARE: u8 = 22;
    pub const STMT_EXECUTE: u8 = 23;
    pub const STMT_SEND_LONG_DATA: u8 = 24;
    pub const STMT_CLOSE: u8 = 25;
    pub const STMT_RESET: u8 = 26;
    pub const SET_OPTION: u8 = 27;
    pub const STMT_FETCH: u8 = 28;
    pub const DAEMON: u8 = 29;
    pub const BINLOG_DUMP_GTID: u8 = 30;
    pub const RESET_CONNECTION: u8 = 31;
    pub const CLONE: u8 = 32;
    pub const SUBSCRIBE_GROUP_REPLICATION_STREAM: u8 = 33;
}

/// Column types on the wire, `enum_field_types` in `field_types.h`.
pub mod mysql_type {
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TIMESTAMP2: u8 = 17;
    pub const DATETIME2: u8 = 18;
    pub const TIME2: u8 = 19;
    pub const TYPED_ARRAY: u8 = 20;
    pub const VECTOR: u8 = 242;
    pub const INVALID: u8 = 243;
    pub const BOOL: u8 = 244;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// Column definition flags (group__group__cs__column__definition__flags in `mysql_com.h`).
pub mod column_flag {
    pub const NOT_NULL: u16 = 1;
    pub const PRI_KEY: u16 = 1 << 1;
    pub const UNIQUE_KEY: u16 = 1 << 2;
    pub const MULTIPLE_KEY: u16 = 1 << 3;
    pub const BLOB: u16 = 1 << 4;
    pub const UNSIGNED: u16 = 1 << 5;
    pub const ZEROFILL: u16 = 1 << 6;
    pub const BINARY: u16 = 1 << 7;
    pub const ENUM: u16 = 1 << 8;
    pub const AUTO_INCREMENT: u16 = 1 << 9;
    pub const TIMESTAMP: u16 = 1 << 10;
    pub const SET: u16 = 1 << 11;
    pub const NO_DEFAULT_VALUE: u16 = 1 << 12;
    pub const ON_UPDATE_NOW: u16 = 1 << 13;
    pub const PART_KEY: u16 = 1 << 14;
    /// Shares its bit with GROUP_FLAG of the server's internals.
    pub const NUM: u16 = 1 << 15;
}

/// `decimals` of a column definition whose scale is not fixed (FLOAT, DOUBLE, strings in some contexts): `DECIMAL_NOT_SPECIFIED`.
pub const NOT_FIXED_DECIMALS: u8 = 31;

/// Cursor flags of COM_STMT_EXECUTE, `enum_cursor_type` in `mysql_com.h`.
pub mod cursor {
    pub const NO_CURSOR: u8 = 0;
    pub const READ_ONLY: u8 = 1;
    pub const FOR_UPDATE: u8 = 2;
    pub const SCROLLABLE: u8 = 4;
    /// Not a cursor type: the client sends `parameter_count`, which then includes the query attributes.
    pub const PARAMETER_COUNT_AVAILABLE: u8 = 8;
}

/// Collation ids (`INFORMATION_SCHEMA.COLLATIONS.ID`) that stand for a character set in the
/// handshake and in column definitions.
pub mod charset_id {
    pub const LATIN1_SWEDISH_CI: u16 = 8;
    pub const ASCII_GENERAL_CI: u16 = 11;
    pub const UTF8MB3_GENERAL_CI: u16 = 33;
    pub const UTF8MB4_GENERAL_CI: u16 = 45;
    pub const UTF8MB4_BIN: u16 = 46;
    pub const LATIN1_BIN: u16 = 47;
    pub const BINARY: u16 = 63;
    pub const UTF8MB4_0900_AI_CI: u16 = 255;
}

/// Session state change types, `enum_session_state_type` in `mysql_com.h`.
pub mod session_track {
    pub const SYSTEM_VARIABLES: u8 = 0;
    pub const SCHEMA: u8 = 1;
    pub const STATE_CHANGE: u8 = 2;
    pub const GTIDS: u8 = 3;
    pub const TRANSACTION_CHARACTERISTICS: u8 = 4;
    pub const TRANSACTION_STATE: u8 = 5;
}
