//! What an account may do: privileges on everything, on databases, tables and columns, and the text of SHOW GRANTS.
//!
//! Databases are patterns (`my\_db`, `shop%`); of those that match a name only one counts, as in MySQL: the most specific one
//! (`best`). `Grants` of an account and of its active roles add up (`add`).

use std::collections::BTreeMap;

use super::host::{covers, first_wildcard, like_exactly};
use vaquita_types::schema::ObjectKind;

use super::privilege::{ALL_DATABASE, ALL_GLOBAL, ALL_TABLE, Bits, DYNAMIC, GRANT_OPTION, SELECT, in_performance_schema, names};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grants {
    pub global: Bits,
    /// Dynamic privileges and whether they may be passed on.
    pub dynamic: BTreeMap<String, bool>,
    pub databases: Vec<DatabaseGrant>,
    pub tables: Vec<TableGrant>,
    pub routines: Vec<RoutineGrant>,
    /// Those of an account and its active roles, among whose patterns MySQL chooses otherwise.
    pub with_roles: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseGrant {
    pub pattern: String,
    pub bits: Bits,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableGrant {
    pub database: String,
    pub table: String,
    pub bits: Bits,
    pub columns: Vec<(String, Bits)>,
}

/// Names are as they were first written, and compared without regard to case. The routine may be gone.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineGrant {
    pub database: String,
    /// A procedure or a function.
    pub kind: ObjectKind,
    pub name: String,
    pub bits: Bits,
}

impl RoutineGrant {
    pub fn is(&self, database: &str, kind: ObjectKind, name: &str) -> bool {
        self.kind == kind && self.database == database && kind.key_of(&self.name) == kind.key_of(name)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct RoleGrant {
    pub user: String,
    pub host: String,
    pub admin: bool,
}

impl Grants {
    /// All that root has.
    pub fn grant_everything(&mut self) {
        self.global = ALL_GLOBAL | GRANT_OPTION;
        self.dynamic = DYNAMIC.iter().map(|name| ((*name).to_string(), true)).collect();
    }

    /// Every privilege on `*.*`, static and dynamic, but for SYSTEM_USER.
    pub fn are_everything(&self) -> bool {
        let mut dynamic = DYNAMIC.iter().filter(|name| **name != "SYSTEM_USER");
        self.global & ALL_GLOBAL == ALL_GLOBAL && dynamic.all(|name| self.dynamic.contains_key(*name))
    }

    /// Privileges on every table of a database, those on `*.*` included.
    pub fn on_database(&self, database: &str) -> Bits {
        self.global | self.pattern_of(database)
    }

    /// The same without those on `*.*`.
    fn pattern_of(&self, database: &str) -> Bits {
        let matching = self.databases.iter().filter(|g| like_exactly(g.pattern.as_bytes(), database.as_bytes()));
        self.best(matching, database)
    }

    /// What counts of the patterns that match. Without active roles: the one whose first wildcard comes last, of those with the same
    /// place the one that is written as the database is. With active roles: the database's name, if it has no `_`, which is a wildcard
    /// where it is not escaped; else the first pattern in the order of bytes.
    fn best<'g>(&self, matching: impl Iterator<Item = &'g DatabaseGrant>, database: &str) -> Bits {
        let first = matching.min_by_key(|g| {
            let is_other = g.pattern != database;
            let order = match self.with_roles {
                true => (usize::from(is_other || first_wildcard(&g.pattern).is_some()), false),
                false => (rank(&g.pattern).0, is_other),
            };
            (order, g.pattern.as_str())
        });
        first.map_or(0, |g| g.bits)
    }

    /// The same for all databases that a pattern of GRANT means.
    pub fn on_databases(&self, pattern: &str) -> Bits {
        let covering = self.databases.iter().filter(|g| covers(&g.pattern, pattern));
        self.global | self.best(covering, pattern)
    }

    pub fn on_table(&self, database: &str, table: &str) -> Bits {
        let granted = self.on_database(database) | self.table(database, table).map_or(0, |g| g.bits);
        if database.eq_ignore_ascii_case("performance_schema") { granted & in_performance_schema(table) } else { granted }
    }

    /// Like `on_table`, and what is granted on at least one column.
    pub fn on_table_or_columns(&self, database: &str, table: &str) -> Bits {
        let columns = self.table(database, table).map_or(0, |g| g.columns.iter().fold(0, |bits, (_, b)| bits | b));
        self.on_table(database, table) | columns
    }

    pub fn table(&self, database: &str, table: &str) -> Option<&TableGrant> {
        self.tables.iter().find(|g| g.database == database && g.table == table)
    }

    /// Privileges on one routine, those on its database included.
    pub fn on_routine(&self, database: &str, kind: ObjectKind, name: &str) -> Bits {
        let own = self.routines.iter().find(|g| g.is(database, kind, name));
        self.on_database(database) | own.map_or(0, |g| g.bits)
    }

    /// Whether a database is listed: anything is granted in it.
    pub fn sees_database(&self, database: &str) -> bool {
        let listed = self.global & ALL_DATABASE | self.pattern_of(database) & (ALL_DATABASE | GRANT_OPTION);
        listed != 0 || self.tables.iter().any(|g| g.database == database) || self.routines.iter().any(|g| g.database == database)
    }

    /// Whether a database may be entered: anything but GRANT OPTION alone.
    pub fn enters_database(&self, database: &str) -> bool {
        let in_table = |g: &TableGrant| g.database == database && (g.bits & ALL_TABLE != 0 || !g.columns.is_empty());
        self.on_database(database) & ALL_DATABASE != 0
            || self.tables.iter().any(in_table)
            || self.routines.iter().any(|g| g.database == database)
    }

    /// What makes the columns of a table known: SELECT on its database, or anything on the table or one of its columns.
    pub fn describes_table(&self, database: &str, table: &str) -> bool {
        let of_table = self.table(database, table).is_some_and(|g| g.bits != 0 || !g.columns.is_empty());
        self.on_database(database) & SELECT != 0 || of_table
    }

    pub fn database_mut(&mut self, pattern: &str) -> &mut DatabaseGrant {
        let at = self.databases.iter().position(|g| g.pattern == pattern).unwrap_or_else(|| {
            self.databases.push(DatabaseGrant { pattern: pattern.to_string(), bits: 0 });
            self.databases.len() - 1
        });
        &mut self.databases[at]
    }

    pub fn table_mut(&mut self, database: &str, table: &str) -> &mut TableGrant {
        let found = self.tables.iter().position(|g| g.database == database && g.table == table);
        let at = found.unwrap_or_else(|| {
            self.tables.push(TableGrant {
                database: database.to_string(),
                table: table.to_string(),
                bits: 0,
                columns: Vec::new(),
            });
            self.tables.len() - 1
        });
        &mut self.tables[at]
    }

    pub fn routine_mut(&mut self, database: &str, kind: ObjectKind, name: &str) -> &mut RoutineGrant {
        let at = self.routines.iter().position(|g| g.is(database, kind, name)).unwrap_or_else(|| {
            self.routines.push(RoutineGrant { database: database.to_string(), kind, name: name.to_string(), bits: 0 });
            self.routines.len() - 1
        });
        &mut self.routines[at]
    }

    /// Removes entries that grant nothing and sorts the rest.
    pub fn tidy(&mut self) {
        self.databases.retain(|g| g.bits != 0);
        for grant in &mut self.tables {
            grant.columns.retain(|(_, bits)| *bits != 0);
            grant.columns.sort();
        }
        self.tables.retain(|g| g.bits != 0 || !g.columns.is_empty());
        self.routines.retain(|g| g.bits != 0);
        self.databases.sort_by(|a, b| rank(&a.pattern).cmp(&rank(&b.pattern)));
        self.tables.sort_by(|a, b| (&a.database, &a.table).cmp(&(&b.database, &b.table)));
        let key = |g: &RoutineGrant| (g.kind == ObjectKind::Function, g.database.clone(), g.kind.key_of(&g.name));
        self.routines.sort_by_cached_key(key);
    }

    /// Everything that `other`, those of an active role, grants too.
    pub fn add(&mut self, other: &Grants) {
        self.with_roles = true;
        self.global |= other.global;
        for (name, grantable) in &other.dynamic {
            *self.dynamic.entry(name.clone()).or_default() |= *grantable;
        }
        for grant in &other.databases {
            self.database_mut(&grant.pattern).bits |= grant.bits;
        }
        for grant in &other.tables {
            let mine = self.table_mut(&grant.database, &grant.table);
            mine.bits |= grant.bits;
            for (column, bits) in &grant.columns {
                *column_mut(&mut mine.columns, column) |= bits;
            }
        }
        for grant in &other.routines {
            self.routine_mut(&grant.database, grant.kind, &grant.name).bits |= grant.bits;
        }
        self.tidy();
    }

    /// The lines of SHOW GRANTS before those of roles; `to` is the account as `` `u`@`%` ``.
    pub fn show(&self, to: &str) -> Vec<String> {
        let mut lines = vec![format!("GRANT {} ON *.* TO {to}{}", list(self.global, None), option(self.global))];
        for grantable in [false, true] {
            let granted: Vec<&str> =
                self.dynamic.iter().filter(|(_, g)| **g == grantable).map(|(name, _)| name.as_str()).collect();
            if !granted.is_empty() {
                let option = if grantable { " WITH GRANT OPTION" } else { "" };
                lines.push(format!("GRANT {} ON *.* TO {to}{option}", granted.join(",")));
            }
        }
        for grant in &self.databases {
            let privileges = list(grant.bits, Some(ALL_DATABASE));
            lines.push(format!("GRANT {privileges} ON {}.* TO {to}{}", quote(&grant.pattern), option(grant.bits)));
        }
        for grant in &self.tables {
            let on = format!("{}.{}", quote(&grant.database), quote(&grant.table));
            lines.push(format!("GRANT {} ON {on} TO {to}{}", table_list(grant), option(grant.bits)));
        }
        for grant in &self.routines {
            let kind = if grant.kind == ObjectKind::Function { "FUNCTION" } else { "PROCEDURE" };
            let on = format!("{kind} {}.{}", quote(&grant.database), quote(&grant.kind.key_of(&grant.name)));
            lines.push(format!("GRANT {} ON {on} TO {to}{}", list(grant.bits, None), option(grant.bits)));
        }
        lines
    }
}

fn rank(pattern: &str) -> (usize, &str) {
    (first_wildcard(pattern).map_or(0, |at| usize::MAX - at), pattern)
}

pub fn column_mut<'a>(columns: &'a mut Vec<(String, Bits)>, name: &str) -> &'a mut Bits {
    let at = columns.iter().position(|(column, _)| column.eq_ignore_ascii_case(name)).unwrap_or_else(|| {
        columns.push((name.to_string(), 0));
        columns.len() - 1
    });
    &mut columns[at].1
}

/// With `all`, a set that contains it is ALL PRIVILEGES; on `*.*` MySQL lists the names.
fn list(bits: Bits, all: Option<Bits>) -> String {
    match names(bits & ALL_GLOBAL) {
        names if names.is_empty() => "USAGE".to_string(),
        _ if all.is_some_and(|all| bits & all == all) => "ALL PRIVILEGES".to_string(),
        names => names.join(", "),
    }
}

/// ``SELECT, SELECT (`a`), UPDATE (`b`)``
fn table_list(grant: &TableGrant) -> String {
    if grant.bits & ALL_TABLE == ALL_TABLE {
        return "ALL PRIVILEGES".to_string();
    }
    let mut parts = Vec::new();
    for (at, name) in super::privilege::NAMES.iter().enumerate() {
        let bit = 1 << at;
        if grant.bits & bit != 0 {
            parts.push((*name).to_string());
        }
        let columns: Vec<String> =
            grant.columns.iter().filter(|(_, bits)| bits & bit != 0).map(|(column, _)| quote(column)).collect();
        if !columns.is_empty() {
            parts.push(format!("{name} ({})", columns.join(", ")));
        }
    }
    if parts.is_empty() { "USAGE".to_string() } else { parts.join(", ") }
}

fn option(bits: Bits) -> &'static str {
    if bits & GRANT_OPTION != 0 { " WITH GRANT OPTION" } else { "" }
}

pub fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::privilege::{CREATE, INSERT};

    fn granted(patterns: &[(&str, Bits)]) -> Grants {
        let mut grants = Grants::default();
        patterns.iter().for_each(|(pattern, bits)| grants.database_mut(pattern).bits |= bits);
        grants.tidy();
        grants
    }

    /// As MySQL 9.7 was seen to answer (`cargo harness privilege-test`).
    #[test]
    fn one_pattern_counts() {
        let grants = granted(&[("shop%", SELECT), (r"shop\_%", INSERT), ("shop_b", CREATE)]);
        assert_eq!(grants.on_database("shop_a"), INSERT, "its wildcard comes last");
        assert_eq!(granted(&[("shop%", SELECT), ("shop_b", CREATE)]).on_database("shop_b"), CREATE, "written as the database is");
        let mut with_roles = grants;
        with_roles.add(&Grants::default());
        assert_eq!(with_roles.on_database("shop_a"), SELECT, "the first in the order of bytes");
        assert_eq!(with_roles.on_database("shop_b"), SELECT, "the same, for its name has a wildcard");
        with_roles.database_mut("shop").bits = CREATE;
        with_roles.database_mut("%").bits = INSERT;
        assert_eq!(with_roles.on_database("shop"), CREATE, "a name without wildcards");
    }
}
