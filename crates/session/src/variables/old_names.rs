//! Variables of replication have an old name (`slave_…`, `…_master_…`) and a new one, which take each other's values. Whoever reads or sets the old one, or a variable that MySQL
//! will not have for ever, is warned.

use vaquita_types::Error;
use vaquita_types::errno::ER_WARN_DEPRECATED_SYNTAX;

use super::{Def, registry};

/// Old words and new.
const WORDS: [(&str, &str); 2] = [("slave", "replica"), ("master", "source")];

/// Variables that nothing takes the place of, as MySQL 9.7 warns of them.
const GOING: [&str; 19] = [
    "binlog_format",
    "binlog_max_flush_queue_time",
    "delayed_insert_limit",
    "delayed_insert_timeout",
    "delayed_queue_size",
    "have_profiling",
    "have_query_cache",
    "log_bin_trust_function_creators",
    "log_statements_unsafe_for_binlog",
    "max_delayed_threads",
    "max_insert_delayed_threads",
    "max_length_for_sort_data",
    "profiling",
    "profiling_history_size",
    "query_prealloc_size",
    "ssl_fips_mode",
    "sync_relay_log_info",
    "terminology_use_previous",
    "transaction_prealloc_size",
];

impl Def {
    /// The variable that is this one under its other name.
    pub fn other_name(&self) -> Option<&'static Def> {
        let renamed =
            |from: &str, to: &str| self.name.contains(from).then(|| registry().find(&self.name.replace(from, to))).flatten();
        WORDS.iter().find_map(|(old, new)| renamed(old, new).or_else(|| renamed(new, old)))
    }

    /// Whether the variable has a newer name.
    pub fn is_old_name(&self) -> bool {
        WORDS.iter().any(|(old, _)| self.name.contains(old)) && self.other_name().is_some()
    }

    /// The warning for who reads or sets a variable that MySQL will not have for ever, or that has a new name.
    pub fn deprecation(&self) -> Option<Error> {
        if GOING.contains(&self.name) {
            let text = format!("'@@{}' is deprecated and will be removed in a future release.", self.name);
            return Some(Error::with_message(&ER_WARN_DEPRECATED_SYNTAX, text));
        }
        let new = self.other_name().filter(|_| self.is_old_name())?;
        // MySQL ends this one with a point.
        let text = Error::new(&ER_WARN_DEPRECATED_SYNTAX, &[&format!("@@{}", self.name), &new.name]);
        Some(Error::with_message(&ER_WARN_DEPRECATED_SYNTAX, format!("{}.", text.message())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let other = |name: &str| registry().find(name).and_then(Def::other_name).map(|def| def.name);
        assert_eq!(other("slave_net_timeout"), Some("replica_net_timeout"));
        assert_eq!(other("sql_replica_skip_counter"), Some("sql_slave_skip_counter"));
        assert_eq!(other("source_verify_checksum"), Some("master_verify_checksum"));
        assert_eq!((other("autocommit"), other("replica_allow_higher_version_source")), (None, None));
        let warning = registry().find("sync_master_info").and_then(Def::deprecation);
        assert!(warning.is_some_and(|warning| warning.message().contains("'@@sync_master_info'")));
        for name in GOING {
            let warning = registry().find(name).and_then(Def::deprecation);
            assert!(warning.is_some_and(|warning| warning.message().contains(name)), "{name}");
        }
        assert!(registry().find("replica_net_timeout").is_some_and(|def| def.deprecation().is_none()));
    }
}
