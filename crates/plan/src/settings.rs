//! The settings of a session that reading and planning a statement depend on.
//!
//! SETTINGS-1: lexer, parser and planner know a session's settings from here alone (`parser_options`, `PlanContext::settings`, and
//! the environment in which constants are folded, which refuses every other question). So a tree or a plan that was made for one
//! session state is good for another whose `PlanSettings` are equal, and a setting that is added here is part of every cache's key.
//!
//! Example: `SELECT 'a\'b'` is another statement under NO_BACKSLASH_ESCAPES. A cache that compares `PlanSettings` cannot give one the
//! other's tree. `WEEK('2020-01-01')` reads `default_week_format`, which is not here: it is not folded but computed when the plan runs.

use vaquita_parser::ParserOptions;
use vaquita_types::charset::{Charset, CollationId};
use vaquita_types::sql_mode;
use vaquita_types::temporal::TimeZone;

use crate::func::locale::Locale;

#[derive(Clone)]
pub struct PlanSettings {
    pub current_database: Option<String>,
    /// Bits of `vaquita_types::sql_mode`.
    pub sql_mode: u64,
    /// `collation_connection`: that of string literals and of numbers made strings.
    pub connection_collation: CollationId,
    /// `character_set_client`, if statements were brought from it to utf8mb4 to be read.
    pub client_charset: Option<&'static Charset>,
    pub time_zone: TimeZone,
    /// `sql_select_limit`: the LIMIT of a query that has none.
    pub select_rows_max: u64,
    /// `sql_safe_updates`: an UPDATE or DELETE needs a key or LIMIT.
    pub safe_updates: bool,
    /// `div_precision_increment`: decimals that `/` and AVG add.
    pub division_decimals: u8,
    /// `lc_time_names`, unless it is `en_US`: lengths of the functions that write names.
    pub time_names: Option<&'static Locale>,
}

impl PlanSettings {
    /// Those of a new session of a new server.
    pub const DEFAULT: PlanSettings = PlanSettings {
        current_database: None,
        sql_mode: sql_mode::DEFAULT,
        connection_collation: CollationId::UTF8MB4_0900_AI_CI,
        client_charset: None,
        time_zone: TimeZone::Utc,
        select_rows_max: u64::MAX,
        safe_updates: false,
        division_decimals: 4,
        time_names: None,
    };

    /// What the lexer and the parser know.
    pub fn parser_options(&self) -> ParserOptions {
        let mode = self.sql_mode;
        ParserOptions {
            ansi_quotes: mode & sql_mode::ANSI_QUOTES != 0,
            pipes_as_concat: mode & sql_mode::PIPES_AS_CONCAT != 0,
            no_backslash_escapes: mode & sql_mode::NO_BACKSLASH_ESCAPES != 0,
            ignore_space: mode & sql_mode::IGNORE_SPACE != 0,
            high_not_precedence: mode & sql_mode::HIGH_NOT_PRECEDENCE != 0,
            real_as_float: mode & sql_mode::REAL_AS_FLOAT != 0,
            ..ParserOptions::default()
        }
    }
}

impl PartialEq for PlanSettings {
    fn eq(&self, other: &PlanSettings) -> bool {
        // Without `..`: a new field must be compared too.
        let PlanSettings {
            current_database,
            sql_mode,
            connection_collation,
            client_charset,
            time_zone,
            select_rows_max,
            safe_updates,
            division_decimals,
            time_names,
        } = self;
        *sql_mode == other.sql_mode
            && *connection_collation == other.connection_collation
            && client_charset.map(|c| c.name) == other.client_charset.map(|c| c.name)
            && *select_rows_max == other.select_rows_max
            && *safe_updates == other.safe_updates
            && *division_decimals == other.division_decimals
            && time_names.map(|l| l.name) == other.time_names.map(|l| l.name)
            && *current_database == other.current_database
            && *time_zone == other.time_zone
    }
}
