//! Where an expression stands, and what it may not have there.
//!
//! An expression that is kept with a table runs for whoever writes a row, so it may read nothing but the row: no subquery, no
//! variable, and none of the functions that MySQL refuses there.

use vaquita_types::{Error, Result, errno};

use super::Binder;
use crate::uses::Uses;

#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// In a statement: what it uses is noted, for the account to be asked about.
    Statement(&'a Uses),
    /// DEFAULT (expr) of the column.
    Default(&'a str),
    /// The CHECK constraint of that name.
    Check(&'a str),
    /// The generated column of that name.
    Generated(&'a str),
    /// A part of the functional index of that name.
    Functional(&'a str),
    /// A partitioning function.
    Partition,
}

/// Functions that generated columns and functional indexes may not have.
const NOT_GENERATED: &[(&str, &str)] =
    &[("STATEMENT_DIGEST", "statement_digest"), ("STATEMENT_DIGEST_TEXT", "statement_digest_text")];

/// Functions that nothing in a table's definition may have, with their names in MySQL's errors.
const NEVER: &[(&str, &str)] = &[
    ("BENCHMARK", "benchmark"),
    ("FOUND_ROWS", "found_rows"),
    ("GET_LOCK", "get_lock"),
    ("ICU_VERSION", "icu_version()"),
    ("IS_FREE_LOCK", "is_free_lock"),
    ("IS_USED_LOCK", "is_used_lock"),
    ("LAST_INSERT_ID", "last_insert_id"),
    ("LOAD_FILE", "load_file"),
    ("RELEASE_ALL_LOCKS", "release_all_locks"),
    ("RELEASE_LOCK", "release_lock"),
    ("ROW_COUNT", "row_count"),
    ("SLEEP", "sleep"),
    ("VALUES", "values"),
    ("VERSION", "version()"),
];

/// Functions that CHECK and generated columns may not have.
const NOT_IN_CHECK: &[(&str, &str)] = &[
    ("CONNECTION_ID", "connection_id"),
    ("CURDATE", "curdate"),
    ("CURRENT_ROLE", "current_role"),
    ("CURRENT_USER", "current_user"),
    ("CURTIME", "curtime"),
    ("DATABASE", "database"),
    ("NOW", "now"),
    ("RAND", "rand"),
    ("SCHEMA", "database"),
    ("SESSION_USER", "user"),
    ("SYSTEM_USER", "user"),
    ("USER", "user"),
    ("UTC_DATE", "utc_date"),
    ("UTC_TIME", "utc_time"),
    ("UTC_TIMESTAMP", "utc_timestamp"),
    ("UUID", "uuid"),
    ("UUID_SHORT", "uuid_short"),
];

/// The functions and operators that a partitioning function may have (manual, "Partitioning Limitations Relating to Functions").
const PARTITIONING: &[&str] = &[
    "+",
    "-",
    "*",
    "%",
    "DIV",
    "NEG",
    "ABS",
    "CEIL",
    "CEILING",
    "DATEDIFF",
    "DAY",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "EXTRACT",
    "FLOOR",
    "HOUR",
    "MICROSECOND",
    "MINUTE",
    "MOD",
    "MONTH",
    "QUARTER",
    "SECOND",
    "TIME_TO_SEC",
    "TO_DAYS",
    "TO_SECONDS",
    "UNIX_TIMESTAMP",
    "WEEKDAY",
    "YEAR",
    "YEARWEEK",
];

impl Binder<'_> {
    /// Where uses are noted, for what only a statement may have: tables and subqueries.
    pub(super) fn uses(&self) -> Result<&Uses> {
        match self.cx.place {
            Place::Statement(uses) => Ok(uses),
            Place::Default(column) => Err(Error::new(&errno::ER_DEFAULT_VAL_GENERATED_FUNCTION_IS_NOT_ALLOWED, &[&column])),
            Place::Check(name) => Err(Error::new(&errno::ER_CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED, &[&name])),
            Place::Generated(column) => Err(Error::new(&errno::ER_GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED, &[&column])),
            Place::Functional(index) => Err(Error::new(&errno::ER_FUNCTIONAL_INDEX_FUNCTION_IS_NOT_ALLOWED, &[&index])),
            Place::Partition => Err(Error::new(&errno::ER_PARTITION_FUNCTION_IS_NOT_ALLOWED, &[])),
        }
    }

    pub(super) fn variables_allowed(&self) -> Result<()> {
        if self.cx.names.is_some() {
            return Err(Error::new(&errno::ER_VIEW_SELECT_VARIABLE, &[]));
        }
        match self.cx.place {
            Place::Statement(_) => Ok(()),
            // MySQL calls all of them a default.
            Place::Default(column) | Place::Generated(column) | Place::Functional(column) => {
                Err(Error::new(&errno::ER_DEFAULT_VAL_GENERATED_VARIABLES, &[&column]))
            }
            Place::Check(name) => Err(Error::new(&errno::ER_CHECK_CONSTRAINT_VARIABLES, &[&name])),
            Place::Partition => Err(Error::new(&errno::ER_PARTITION_FUNCTION_IS_NOT_ALLOWED, &[])),
        }
    }

    /// `name` in capitals.
    pub(super) fn function_allowed(&self, name: &str, args: usize) -> Result<()> {
        let among = |list: &[(&str, &'static str)]| list.iter().find(|(n, _)| *n == name).map(|(_, shown)| *shown);
        match self.cx.place {
            Place::Statement(_) => Ok(()),
            Place::Partition if PARTITIONING.contains(&name) => Ok(()),
            Place::Partition => Err(Error::new(&errno::ER_PARTITION_FUNCTION_IS_NOT_ALLOWED, &[])),
            Place::Default(column) => match among(NEVER) {
                None => Ok(()),
                Some(name) => Err(Error::new(&errno::ER_DEFAULT_VAL_GENERATED_NAMED_FUNCTION_IS_NOT_ALLOWED, &[&column, &name])),
            },
            Place::Check(of) | Place::Generated(of) | Place::Functional(of) => {
                let now = (name == "UNIX_TIMESTAMP" && args == 0).then_some("unix_timestamp");
                let error = match self.cx.place {
                    Place::Generated(_) => &errno::ER_GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED,
                    _ => &errno::ER_CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED,
                };
                let generated = if let Place::Check(_) = self.cx.place { &[][..] } else { NOT_GENERATED };
                match now.or(among(NEVER)).or(among(NOT_IN_CHECK)).or(among(generated)) {
                    None => Ok(()),
                    Some(_) if matches!(self.cx.place, Place::Functional(_)) => self.uses().map(drop),
                    Some(name) => Err(Error::new(error, &[&of, &name])),
                }
            }
        }
    }
}
