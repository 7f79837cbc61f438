//! Variables of replication have an old name (`slave_…`, `…_master_…`) and a new one, which take each other's values. Setting the old one warns.

use vaquita_types::Error;
use vaquita_types::errno::ER_WARN_DEPRECATED_SYNTAX;

use super::{Def, registry};

/// Old words and new.
const WORDS: [(&str, &str); 2] = [("slave", "replica"), ("master", "source")];

impl Def {
    /// The variable that is this one under its other name.
    pub fn other_name(&self) -> Option<&'static Def> {
        let renamed =
            |from: &str, to: &str| self.name.contains(from).then(|| registry().find(&self.name.replace(from, to))).flatten();
        WORDS.iter().find_map(|(old, new)| renamed(old, new).or_else(|| renamed(new, old)))
    }

    /// The warning for who sets a variable by its old name.
    pub fn old_name_warning(&self) -> Option<Error> {
        let is_old = WORDS.iter().any(|(old, _)| self.name.contains(old));
        let new = self.other_name().filter(|_| is_old)?;
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
        let warning = registry().find("sync_master_info").and_then(Def::old_name_warning);
        assert!(warning.is_some_and(|warning| warning.message().contains("'@@sync_master_info'")));
        assert!(registry().find("replica_net_timeout").is_some_and(|def| def.old_name_warning().is_none()));
    }
}
