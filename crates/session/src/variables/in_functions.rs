//! What SET does in stored functions and triggers, as MySQL 9.7 answers for each variable of a session: most keep their value when the function
//! has ended, some are set back, some cannot be set there. Golden script `functions_set` has what MySQL answers.

use vaquita_types::Error;
use vaquita_types::errno::{
    ER_SP_CANT_SET_AUTOCOMMIT, ER_STORED_FUNCTION_PREVENTS_SWITCH_BINLOG_DIRECT,
    ER_STORED_FUNCTION_PREVENTS_SWITCH_BINLOG_FORMAT, ER_STORED_FUNCTION_PREVENTS_SWITCH_SQL_LOG_BIN,
    ER_VARIABLE_NOT_SETTABLE_IN_SF_OR_TRIGGER,
};

use super::Def;

/// How long a value stays that a function has set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    InSession,
    /// Until the function or trigger ends.
    InFunction,
    /// Until the routine ends, which may be a procedure that the function calls.
    InRoutine,
}

impl Def {
    /// What becomes of a value that a function sets.
    pub fn stays(&self) -> Stays {
        match self.name {
            "character_set_client"
            | "character_set_connection"
            | "character_set_database"
            | "collation_connection"
            | "collation_database"
            | "sql_mode" => Stays::InRoutine,
            "foreign_key_checks"
            | "profiling"
            | "sql_auto_is_null"
            | "sql_big_selects"
            | "sql_buffer_result"
            | "sql_log_off"
            | "sql_notes"
            | "sql_quote_show_create"
            | "sql_safe_updates"
            | "sql_warnings"
            | "transaction_allow_batching"
            | "unique_checks" => Stays::InFunction,
            _ => Stays::InSession,
        }
    }

    /// The error of a variable that no function and no trigger can set.
    pub fn refused_in_functions(&self) -> Option<Error> {
        Some(match self.name {
            "autocommit" => Error::new(&ER_SP_CANT_SET_AUTOCOMMIT, &[]),
            "binlog_direct_non_transactional_updates" => Error::new(&ER_STORED_FUNCTION_PREVENTS_SWITCH_BINLOG_DIRECT, &[]),
            "binlog_format" => Error::new(&ER_STORED_FUNCTION_PREVENTS_SWITCH_BINLOG_FORMAT, &[]),
            "sql_log_bin" => Error::new(&ER_STORED_FUNCTION_PREVENTS_SWITCH_SQL_LOG_BIN, &[]),
            "binlog_row_value_options" | "explicit_defaults_for_timestamp" | "gtid_next" | "xa_detach_on_prepare" => {
                Error::new(&ER_VARIABLE_NOT_SETTABLE_IN_SF_OR_TRIGGER, &[&self.name])
            }
            _ => return None,
        })
    }
}
