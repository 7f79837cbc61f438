//! The settings of a session that reading and planning a statement depend on.
//!
//! SETTINGS-1: lexer, parser and planner know a session's settings from here alone (`parser_options`, `PlanContext::settings`, and
//! the environment in which constants are folded, which refuses every other question). So a tree or a plan that was made for one
//! session state is good for another whose `PlanSettings` are equal, and a setting that is added here is part of every cache's key.
//!
//! Example: `SELECT 'a\'b'` is another statement under NO_BACKSLASH_ESCAPES. A cache that compares `PlanSettings` cannot give one the
//! other's tree. `WEEK('2020-01-01')` reads `default_week_format`, which is of `RunSettings`: it is not folded but computed when the plan runs.
//!
//! `RunSettings` are what running statements read beside them; a plan that is kept runs under those of the moment.

use std::borrow::Cow;

use vaquita_parser::ParserOptions;
use vaquita_types::charset::{Charset, CollationId, LIKE_ESCAPE};
use vaquita_types::sql_mode;
use vaquita_types::temporal::TimeZone;

use crate::locale::Locale;
use crate::switches::Switches;

#[derive(Clone)]
pub struct PlanSettings {
    pub current_database: Option<String>,
    /// Bits of `vaquita_types::sql_mode`.
    pub sql_mode: u64,
    /// `collation_connection`: that of string literals and of numbers made strings.
    pub connection_collation: CollationId,
    /// `default_collation_for_utf8mb4`: of utf8mb4 where no collation is named.
    pub utf8mb4_collation: CollationId,
    /// `character_set_client`, if statements were brought from it to utf8mb4 to be read.
    pub client_charset: Option<&'static Charset>,
    pub time_zone: TimeZone,
    /// `sql_select_limit`: the LIMIT of a query that has none.
    pub select_rows_max: u64,
    /// `sql_safe_updates`: an UPDATE or DELETE needs a key or LIMIT.
    pub safe_updates: bool,
    /// `max_join_size`, unless `big_selects`: rows that a query block may look at, by estimate.
    pub join_rows_max: u64,
    /// `sql_big_selects`
    pub big_selects: bool,
    /// `updatable_views_with_limit`: LIMIT may stand in an UPDATE or DELETE of a view that has no key of its table.
    pub limits_without_key: bool,
    /// `div_precision_increment`: decimals that `/` and AVG add.
    pub division_decimals: u8,
    /// `lc_time_names`, unless it is `en_US`: lengths of the functions that write names.
    pub time_names: Option<&'static Locale>,
    /// `optimizer_switch`
    pub switches: Switches,
}

/// The settings of a session that a running statement reads.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// `max_allowed_packet`: bytes of the largest packet, and of a function's result.
    pub packet_bytes_max: usize,
    /// `default_week_format`: the mode of WEEK() without a second argument.
    pub week_format: u32,
    /// `block_encryption_mode`, in lower case.
    pub block_encryption: Cow<'static, str>,
    /// `group_concat_max_len`.
    pub group_concat_bytes_max: usize,
    /// `cte_max_recursion_depth`: rounds of a recursive common table expression.
    pub cte_rounds_max: u64,
    /// `innodb_parallel_read_threads`.
    pub read_threads_max: usize,
    /// `sql_quote_show_create`.
    pub quotes_show_create: bool,
    /// `default_storage_engine`.
    pub engine: Cow<'static, str>,
    /// `default_tmp_storage_engine`.
    pub temporary_engine: Cow<'static, str>,
    /// `collation_server`: that of a new database that is not given one.
    pub server_collation: CollationId,
    /// `lc_time_names`, unless it is `en_US`: names that functions write.
    pub time_names: Option<&'static Locale>,
    /// `default_table_encryption`: new databases are to be encrypted.
    pub encrypts_databases: bool,
    /// `sql_require_primary_key`.
    pub requires_primary_key: bool,
    /// `sql_generate_invisible_primary_key`.
    pub generates_primary_key: bool,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// `enable_cascade_triggers`.
    pub cascade_triggers: bool,
    /// `restrict_fk_on_non_standard_key`: what a foreign key refers to is unique.
    pub unique_parents: bool,
}

impl RunSettings {
    /// Those of a new session of a new server.
    pub const DEFAULT: RunSettings = RunSettings {
        packet_bytes_max: 64 << 20,
        week_format: 0,
        block_encryption: Cow::Borrowed("aes-128-ecb"),
        group_concat_bytes_max: 1024,
        cte_rounds_max: 1000,
        read_threads_max: 1,
        quotes_show_create: true,
        engine: Cow::Borrowed("InnoDB"),
        temporary_engine: Cow::Borrowed("InnoDB"),
        server_collation: CollationId::UTF8MB4_0900_AI_CI,
        time_names: None,
        encrypts_databases: false,
        requires_primary_key: false,
        generates_primary_key: false,
        foreign_key_checks: true,
        cascade_triggers: false,
        unique_parents: true,
    };
}

impl PlanSettings {
    /// Those of a new session of a new server.
    pub const DEFAULT: PlanSettings = PlanSettings {
        current_database: None,
        sql_mode: sql_mode::DEFAULT,
        connection_collation: CollationId::UTF8MB4_0900_AI_CI,
        utf8mb4_collation: CollationId::UTF8MB4_0900_AI_CI,
        client_charset: None,
        time_zone: TimeZone::Utc,
        select_rows_max: u64::MAX,
        safe_updates: false,
        join_rows_max: u64::MAX,
        big_selects: true,
        limits_without_key: true,
        division_decimals: 4,
        time_names: None,
        switches: Switches::DEFAULT,
    };

    /// What escapes a character in a pattern of LIKE without ESCAPE.
    pub fn like_escape(&self) -> Option<u32> {
        (self.sql_mode & sql_mode::NO_BACKSLASH_ESCAPES == 0).then_some(LIKE_ESCAPE)
    }

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
            utf8mb4_collation,
            client_charset,
            time_zone,
            select_rows_max,
            safe_updates,
            join_rows_max,
            big_selects,
            limits_without_key,
            division_decimals,
            time_names,
            switches,
        } = self;
        *sql_mode == other.sql_mode
            && *connection_collation == other.connection_collation
            && *utf8mb4_collation == other.utf8mb4_collation
            && client_charset.map(|c| c.name) == other.client_charset.map(|c| c.name)
            && *select_rows_max == other.select_rows_max
            && *safe_updates == other.safe_updates
            && *join_rows_max == other.join_rows_max
            && *big_selects == other.big_selects
            && *limits_without_key == other.limits_without_key
            && *division_decimals == other.division_decimals
            && *switches == other.switches
            && time_names.map(|l| l.name) == other.time_names.map(|l| l.name)
            && *current_database == other.current_database
            && *time_zone == other.time_zone
    }
}
