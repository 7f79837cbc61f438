//! What the rules of filters say, in MySQL's order ("How Servers Evaluate Replication Filtering Rules" in its manual).
//!
//! A database is wanted if it is in REPLICATE_DO_DB, or where that is empty, if it is not in REPLICATE_IGNORE_DB. Of tables the first rule
//! that knows one decides: DO_TABLE, IGNORE_TABLE, WILD_DO_TABLE, WILD_IGNORE_TABLE. What none knows is wanted unless there is a rule that
//! says what is. With `REPLICATE_DO_TABLE = (a.t)` and `REPLICATE_WILD_IGNORE_TABLE = ('b%.%')`, a.t is wanted, b.t and c.t are not.
//!
//! | of | is asked |
//! |---|---|
//! | rows | `table_is_wanted` |
//! | a statement | `database_is_wanted` of its current database, then `tables_are_wanted` of those that it changes |
//! | CREATE, ALTER and DROP DATABASE | `database_may_change`, after `database_is_wanted` of the current one |
//! | BEGIN, COMMIT, ROLLBACK, SAVEPOINT, XA | nothing: they are always wanted |
//!
//! All are asked with the names behind `rewritten`. Names are compared as they are written, wildcards as LIKE in `utf8mb3_general_ci` does.

use vaquita_types::charset::{Collation, LIKE_ESCAPE};

use super::Filters;

impl Filters {
    /// Of a statement with this current database; empty for none, which no rule wants.
    pub fn database_is_wanted(&self, database: &str) -> bool {
        let has = |databases: &[String]| databases.iter().any(|known| known == database);
        if self.do_db.is_empty() && self.ignore_db.is_empty() {
            return true;
        }
        if database.is_empty() {
            return false;
        }
        if self.do_db.is_empty() { !has(&self.ignore_db) } else { has(&self.do_db) }
    }

    /// Of rows of this table: the rules of databases first.
    pub fn table_is_wanted(&self, database: &str, table: &str) -> bool {
        self.database_is_wanted(database) && (!self.has_tables() || self.tables_are_wanted([(database, table)]))
    }

    /// Of a statement that changes these tables, if there are rules of tables at all: the first table that a rule knows decides.
    pub fn tables_are_wanted<'a>(&self, tables: impl IntoIterator<Item = (&'a str, &'a str)>) -> bool {
        let mut changes_some = false;
        for (database, table) in tables {
            changes_some = true;
            if let Some(wanted) = self.rule_of_table(database, table) {
                return wanted;
            }
        }
        !self.has_tables() || changes_some && self.do_table.is_empty() && self.wild_do_table.is_empty()
    }

    /// Whether this database may be created, altered or dropped.
    pub fn database_may_change(&self, database: &str) -> bool {
        if !self.database_is_wanted(database) {
            return false;
        }
        self.wild_rule(&format!("{database}.")).unwrap_or(self.wild_do_table.is_empty())
    }

    /// Our database for one of the source's.
    pub fn rewritten<'a>(&'a self, database: &'a str) -> &'a str {
        self.rewrite_db.iter().find(|(from, _)| from == database).map_or(database, |(_, to)| to)
    }

    fn has_tables(&self) -> bool {
        !(self.do_table.is_empty()
            && self.ignore_table.is_empty()
            && self.wild_do_table.is_empty()
            && self.wild_ignore_table.is_empty())
    }

    fn rule_of_table(&self, database: &str, table: &str) -> Option<bool> {
        let has =
            |tables: &[(String, String)]| tables.iter().any(|(in_database, known)| in_database == database && known == table);
        if has(&self.do_table) {
            return Some(true);
        }
        if has(&self.ignore_table) {
            return Some(false);
        }
        self.wild_rule(&format!("{database}.{table}"))
    }

    fn wild_rule(&self, name: &str) -> Option<bool> {
        let has = |patterns: &[String]| patterns.iter().any(|pattern| is_like(name, pattern));
        if has(&self.wild_do_table) {
            return Some(true);
        }
        has(&self.wild_ignore_table).then_some(false)
    }
}

fn is_like(name: &str, pattern: &str) -> bool {
    let like = |collation: &Collation| collation.like(name.as_bytes(), pattern.as_bytes(), Some(LIKE_ESCAPE));
    Collation::by_name("utf8mb3_general_ci").is_some_and(like)
}
