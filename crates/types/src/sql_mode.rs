//! The bits of `sql_mode`, with MySQL's numbers and names.

macro_rules! modes {
    ($($name:ident = $bit:expr;)*) => {
        $(pub const $name: u64 = 1 << $bit;)*
        /// Every mode of MySQL 8.4 with its bit, in the order in which `@@sql_mode` prints them.
        pub const NAMES: &[(&str, u64)] = &[$((stringify!($name), $name)),*];
    };
}

modes! {
    REAL_AS_FLOAT = 0;
    PIPES_AS_CONCAT = 1;
    ANSI_QUOTES = 2;
    IGNORE_SPACE = 3;
    ONLY_FULL_GROUP_BY = 5;
    NO_UNSIGNED_SUBTRACTION = 6;
    NO_DIR_IN_CREATE = 7;
    ANSI = 18;
    NO_AUTO_VALUE_ON_ZERO = 19;
    NO_BACKSLASH_ESCAPES = 20;
    STRICT_TRANS_TABLES = 21;
    STRICT_ALL_TABLES = 22;
    NO_ZERO_IN_DATE = 23;
    NO_ZERO_DATE = 24;
    ALLOW_INVALID_DATES = 25;
    ERROR_FOR_DIVISION_BY_ZERO = 26;
    TRADITIONAL = 27;
    HIGH_NOT_PRECEDENCE = 29;
    NO_ENGINE_SUBSTITUTION = 30;
    PAD_CHAR_TO_FULL_LENGTH = 31;
    TIME_TRUNCATE_FRACTIONAL = 32;
}

/// What `@@sql_mode` is on a new server.
pub const DEFAULT: u64 = ONLY_FULL_GROUP_BY
    | STRICT_TRANS_TABLES
    | NO_ZERO_IN_DATE
    | NO_ZERO_DATE
    | ERROR_FOR_DIVISION_BY_ZERO
    | NO_ENGINE_SUBSTITUTION;

/// STRICT_TRANS_TABLES and STRICT_ALL_TABLES mean the same here: every table is transactional.
pub fn is_strict(mode: u64) -> bool {
    mode & (STRICT_TRANS_TABLES | STRICT_ALL_TABLES) != 0
}
