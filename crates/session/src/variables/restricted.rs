//! Session variables that not everybody may set, as MySQL 9.7 has them: error 1227.
//!
//! They say what is logged, replicated or checked, or take memory. `tests/golden/accounts/variables.txt` has what MySQL answers.

use super::Def;

/// What setting a session variable needs besides the right to set it for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restriction {
    /// SESSION_VARIABLES_ADMIN.
    SessionAdmin,
    /// The same, or SUPER.
    SuperOrSessionAdmin,
    /// The same, or REPLICATION_APPLIER.
    Applier,
    /// FILE, unless it is set to its default.
    File,
    /// SESSION_VARIABLES_ADMIN, unless it is set to its default.
    SessionAdminUnlessDefault,
    /// SUPER, or SYSTEM_VARIABLES_ADMIN with TABLE_ENCRYPTION_ADMIN, unless it stays as it is.
    Encryption,
}

use Restriction::{Applier, Encryption, File, SessionAdmin, SessionAdminUnlessDefault, SuperOrSessionAdmin};

/// Sorted by name.
const RESTRICTED: &[(&str, Restriction)] = &[
    ("binlog_direct_non_transactional_updates", SuperOrSessionAdmin),
    ("binlog_format", SuperOrSessionAdmin),
    ("binlog_row_image", SuperOrSessionAdmin),
    ("binlog_row_value_options", SuperOrSessionAdmin),
    ("binlog_rows_query_log_events", SuperOrSessionAdmin),
    ("binlog_transaction_compression", SuperOrSessionAdmin),
    ("binlog_transaction_compression_level_zstd", SuperOrSessionAdmin),
    ("bulk_insert_buffer_size", SuperOrSessionAdmin),
    ("character_set_database", SuperOrSessionAdmin),
    ("character_set_filesystem", SuperOrSessionAdmin),
    ("connection_memory_chunk_size", SuperOrSessionAdmin),
    ("connection_memory_limit", SuperOrSessionAdmin),
    ("default_table_encryption", Encryption),
    ("global_connection_memory_tracking", SuperOrSessionAdmin),
    ("gtid_next", Applier),
    ("histogram_generation_max_mem_size", SuperOrSessionAdmin),
    ("innodb_strict_mode", SessionAdminUnlessDefault),
    ("innodb_tmpdir", File),
    ("internal_tmp_mem_storage_engine", SessionAdmin),
    ("low_priority_updates", SessionAdmin),
    ("max_delayed_threads", SessionAdmin),
    ("max_error_count", SessionAdmin),
    ("max_insert_delayed_threads", SessionAdmin),
    ("min_examined_row_limit", SessionAdmin),
    ("original_commit_timestamp", Applier),
    ("preload_buffer_size", SessionAdmin),
    ("pseudo_replica_mode", Applier),
    ("pseudo_slave_mode", Applier),
    ("pseudo_thread_id", SuperOrSessionAdmin),
    ("select_into_buffer_size", SessionAdmin),
    ("select_into_disk_sync_delay", SessionAdmin),
    ("sql_generate_invisible_primary_key", SuperOrSessionAdmin),
    ("sql_log_bin", SuperOrSessionAdmin),
    ("sql_log_off", SuperOrSessionAdmin),
    ("sql_require_primary_key", SuperOrSessionAdmin),
    ("xa_detach_on_prepare", SuperOrSessionAdmin),
];

impl Def {
    /// What setting it for a session needs, if anything; `default`: to DEFAULT, `changes`: to another value than it has.
    pub fn restriction(&self, default: bool, changes: bool) -> Option<Restriction> {
        let at = RESTRICTED.binary_search_by_key(&self.name, |(name, _)| name).ok()?;
        let restriction = RESTRICTED[at].1;
        let asked = match restriction {
            SessionAdmin | SuperOrSessionAdmin | Applier => true,
            File | SessionAdminUnlessDefault => !default,
            Encryption => changes,
        };
        asked.then_some(restriction)
    }
}

impl Restriction {
    /// What error 1227 says is missing, unless one of it is there.
    pub fn check(self, is_super: bool, has_file: bool, has: impl Fn(&str) -> bool) -> Result<(), &'static str> {
        let all = has("SYSTEM_VARIABLES_ADMIN");
        let session = all || has("SESSION_VARIABLES_ADMIN");
        let (may, text) = match self {
            SessionAdmin | SessionAdminUnlessDefault => (session, "SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN"),
            SuperOrSessionAdmin => (session || is_super, "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN"),
            Applier => (
                session || is_super || has("REPLICATION_APPLIER"),
                "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or REPLICATION_APPLIER",
            ),
            File => (has_file, "FILE"),
            Encryption => {
                (is_super || (all && has("TABLE_ENCRYPTION_ADMIN")), "SUPER or SYSTEM_VARIABLES_ADMIN and TABLE_ENCRYPTION_ADMIN")
            }
        };
        if may { Ok(()) } else { Err(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::registry;

    #[test]
    fn names_are_sorted_and_those_of_variables() {
        assert!(RESTRICTED.is_sorted_by_key(|(name, _)| name));
        for (name, _) in RESTRICTED {
            assert!(registry().find(name).is_some(), "{name}");
        }
    }
}
