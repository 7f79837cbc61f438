//! The bounds that a user of SQL can meet in types, parser, plan and exec, with unit, reason and source.
//!
//! What bounds the work of one algorithm (rows of a batch, starts of the join order) stands beside it. Bounds of files and caches are
//! storage's, those of packets `wire`'s, those of connections and variables the server's.

/// Characters of an identifier (MySQL manual, "Identifier Length Limits").
pub const IDENTIFIER_CHARS_MAX: usize = 64;
/// Of an account.
pub const USER_CHARS_MAX: usize = 32;
pub const HOST_CHARS_MAX: usize = 255;
/// Bytes of a column's alias; a longer one is cut. (Warning 1466. The manual, "Identifier Length Limits", says characters.)
pub const ALIAS_BYTES_MAX: usize = 256;
/// Bytes of the name that a column without an alias has from its text; a longer text is cut.
pub const COLUMN_TEXT_BYTES_MAX: usize = 255;
/// Columns of a table (InnoDB's 1017; MySQL manual, "InnoDB Limits").
pub const TABLE_COLUMNS_MAX: usize = 1017;
/// Secondary indexes of a table (MySQL manual, "InnoDB Limits").
pub const TABLE_INDEXES_MAX: usize = 64;
/// Columns of an index (MySQL manual, "InnoDB Limits").
pub const INDEX_PARTS_MAX: usize = 16;
/// Bytes of one index part and of a whole key (InnoDB, DYNAMIC row format).
pub const INDEX_KEY_BYTES_MAX: usize = 3072;
/// The same of a table that says ENGINE=MyISAM (MySQL manual, "The MyISAM Storage Engine").
pub const MYISAM_KEY_BYTES_MAX: usize = 1000;
/// Bytes of one index part of a table that says ROW_FORMAT=COMPACT or REDUNDANT (MySQL manual, "InnoDB Limits").
pub const OLD_FORMAT_PART_BYTES_MAX: usize = 767;
/// Partitions of a table (MySQL manual, "Restrictions and Limitations on Partitioning").
pub const PARTITIONS_MAX: usize = 8192;
/// Columns that divide a table (MySQL's MAX_REF_PARTS).
pub const PARTITION_COLUMNS_MAX: usize = 16;
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
/// Levels of parentheses, function calls and queries that the parser reads inside one another: its own recursion. A level takes
/// 5 to 8 KB of stack. (MySQL ends at about 25,000 parentheses, 2,000 calls or 450 CASE; error 1436.)
pub const SYNTAX_NESTING_MAX: u32 = 6000;
/// Height of a statement's tree, for those who walk it. (MySQL ends at about 2,000; error 1436.)
pub const SYNTAX_HEIGHT_MAX: u32 = 5000;
/// Expressions, tables and queries that the binder has open inside one another: more than the height of any syntax tree, since the query of a
/// common table expression is bound where it is named (error 1436).
pub const BINDING_DEPTH_MAX: usize = 8000;
/// Queries inside one another, those of common table expressions where they are named (MySQL's MAX_SELECT_NESTING; error 1473).
pub const QUERY_NESTING_MAX: u32 = 63;
/// Events that run at once, each on a thread of its own; others wait until one has ended.
pub const EVENTS_AT_ONCE_MAX: usize = 32;
/// Stored programs inside one another, whose own recursion `max_sp_recursion_depth` bounds (error 1436). Each takes some 10 KB of stack.
pub const PROGRAM_DEPTH_MAX: usize = 1000;
/// Steps of one stored program: some hundred bytes each beside their expressions.
pub const PROGRAM_STEPS_MAX: usize = 1 << 20;

/// Levels of a foreign key's cascade, with the row that the statement changes (MySQL's error 3008).
pub const FOREIGN_KEY_DEPTH_MAX: usize = 15;

/// Bytes of parents' keys that a statement remembers to be there, so that a bulk load of children looks each of them up once.
pub const FOREIGN_KEYS_CHECKED_BYTES_MAX: usize = 4 << 20;

/// References to common table expressions, but for the first to each, whose queries are bound for each reference (MySQL's error 4169).
pub const CTE_EXPANSIONS_MAX: usize = 1024;
/// Nodes that the binder adds to a statement by copying expressions: `x BETWEEN 1 AND 2` is two comparisons of x, an alias in ORDER BY is its
/// expression. A node takes about 150 bytes. (Error 1041. MySQL refers to the one that is there.)
pub const COPIED_NODES_MAX: usize = 1 << 21;
/// Tables of one join as error 1116 says it (MySQL manual, "Limits on Joins").
pub const JOIN_TABLES_MAX: usize = 61;
/// Tables of a query block, those of merged derived tables and semijoins included: they are bits of 128. (Error 1116.)
pub const BLOCK_TABLES_MAX: usize = 120;
/// Nesting of a JSON document (MySQL manual, "The JSON Data Type").
pub const JSON_DEPTH_MAX: usize = 100;
/// Geometry collections inside one another (error 1436; MySQL ends at some thousands, where its stack does).
pub const GEOMETRY_DEPTH_MAX: usize = 1000;
/// Bytes of one value that an expression makes, or max_allowed_packet if that is more: what a function makes of the longest
/// values is no multiple of them. (MySQL has such a limit for some functions only.)
pub const VALUE_BYTES_MAX: usize = 256 << 20;
/// Bytes of all user variables of a session.
pub const USER_VARIABLES_BYTES_MAX: usize = 256 << 20;
/// Bytes of all long parameters that one prepared statement waits with, or max_allowed_packet if that is more.
pub const LONG_DATA_BYTES_MAX: usize = 256 << 20;
/// Bytes of a row that is sent: the most that max_allowed_packet lets a client take.
pub const SENT_ROW_BYTES_MAX: usize = 1 << 30;
/// Bytes of a field of LOAD DATA: as many as max_allowed_packet lets a value have.
pub const LOADED_FIELD_BYTES_MAX: usize = 1 << 30;
/// Bytes that UNCOMPRESS gives: max_allowed_packet's default. (Warning 1256.)
pub const UNCOMPRESSED_BYTES_MAX: usize = 64 << 20;
/// Bytes of a regular expression's pattern (error 3700): compiling it takes some hundred times as much. ICU's limit is larger.
pub const REGEXP_BYTES_MAX: usize = 64 << 10;
/// Looks around, atomic groups and references in a regular expression (error 3700): what stands between them is compiled apart, to at most
/// 10 MB each.
pub const REGEXP_PARTS_MAX: usize = 32;
/// Elements and attributes inside one another in a document of EXTRACTVALUE (warning 1525, as in MySQL).
pub const XML_LEVELS_MAX: usize = 254;
/// Nodes of such a document, of 28 bytes each (error 1041; MySQL has no limit).
pub const XML_NODES_MAX: usize = 4 << 20;
/// Nodes that a step of an XPath finds, of 12 bytes each; one node is found many times (error 1041; MySQL has no limit).
pub const XML_FOUND_MAX: usize = 4 << 20;
/// Parentheses, predicates, arguments and signs of an XPath inside one another (error 1436; MySQL ends at some thousands, where its stack
/// does).
pub const XPATH_DEPTH_MAX: usize = 1000;
/// Bytes that RANDOM_BYTES gives (MySQL manual, "Encryption and Compression Functions").
pub const RANDOM_BYTES_MAX: usize = 1024;
/// Display width of a number, in characters (error 1439).
pub const DISPLAY_WIDTH_MAX: u64 = 255;
/// Characters of a statement that SHOW PROCESSLIST shows without FULL (MySQL manual, "SHOW PROCESSLIST Statement").
pub const PROCESSLIST_INFO_CHARS_MAX: usize = 100;
/// Comment of a table, a column or an index, in characters.
pub const TABLE_COMMENT_CHARS_MAX: usize = 2048;
pub const COLUMN_COMMENT_CHARS_MAX: usize = 1024;
pub const INDEX_COMMENT_CHARS_MAX: usize = 1024;

/// Elements of one array that a multi-valued index has entries for; MySQL's limit follows from its undo pages (error 3905).
pub const INDEX_ELEMENTS_MAX: usize = 65_535;
