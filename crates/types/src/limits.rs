//! Every bound of the server, with unit, reason and source.

/// Bytes of an identifier's name, in characters (MySQL manual, "Identifier Length Limits").
pub const IDENTIFIER_CHARS_MAX: usize = 64;
/// Characters of an alias (MySQL manual, "Identifier Length Limits").
pub const ALIAS_CHARS_MAX: usize = 256;
/// Columns of a table (InnoDB's 1017; MySQL manual, "InnoDB Limits").
pub const TABLE_COLUMNS_MAX: usize = 1017;
/// Secondary indexes of a table (MySQL manual, "InnoDB Limits").
pub const TABLE_INDEXES_MAX: usize = 64;
/// Columns of an index (MySQL manual, "InnoDB Limits").
pub const INDEX_PARTS_MAX: usize = 16;
/// Bytes of one index part and of a whole key (InnoDB, DYNAMIC row format).
pub const INDEX_KEY_BYTES_MAX: usize = 3072;
/// Bytes of a row without BLOB and TEXT contents (MySQL manual, "Row Size Limits").
pub const ROW_BYTES_MAX: usize = 65_535;
/// Digits of a DECIMAL (MySQL manual, "DECIMAL Data Type").
pub const DECIMAL_DIGITS_MAX: u32 = 65;
/// Digits after the point of a DECIMAL.
pub const DECIMAL_SCALE_MAX: u8 = 30;
/// Fractional digits of temporal types.
pub const FSP_MAX: u8 = 6;
/// Elements of an ENUM (MySQL manual, "String Type Syntax").
pub const ENUM_MEMBERS_MAX: usize = 65_535;
/// Elements of a SET: one bit each.
pub const SET_MEMBERS_MAX: usize = 64;
/// Placeholders of one prepared statement: the protocol counts them in 16 bits.
pub const PARAMETERS_MAX: usize = 65_535;
/// Tables of one join (MySQL manual, "Limits on Joins").
pub const JOIN_TABLES_MAX: usize = 61;
/// Nesting of a JSON document (MySQL manual, "The JSON Data Type").
pub const JSON_DEPTH_MAX: usize = 100;
/// Bytes of one value that an expression makes, or max_allowed_packet if that is more: what a function makes of the longest
/// values is no multiple of them. (MySQL has such a limit for some functions only.)
pub const VALUE_BYTES_MAX: usize = 256 << 20;
/// Bytes of all user variables of a session.
pub const USER_VARIABLES_BYTES_MAX: usize = 256 << 20;
/// Bytes of all long parameters that one prepared statement waits with, or max_allowed_packet if that is more.
pub const LONG_DATA_BYTES_MAX: usize = 256 << 20;
/// Bytes of a row that is sent: the most that max_allowed_packet lets a client take.
pub const SENT_ROW_BYTES_MAX: usize = 1 << 30;
/// Comment of a table, a column or an index, in characters.
pub const TABLE_COMMENT_CHARS_MAX: usize = 2048;
pub const COLUMN_COMMENT_CHARS_MAX: usize = 1024;
pub const INDEX_COMMENT_CHARS_MAX: usize = 1024;
