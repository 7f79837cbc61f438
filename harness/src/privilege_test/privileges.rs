//! Random privileges of the account that runs statements: what root grants it and its roles, and takes away while sessions are open.

use super::TABLES;
use super::names::{ROLES, pattern};
use super::templates_of_accounts::{DYNAMIC, GLOBAL, OF_COLUMNS, OF_DATABASES, OF_ROUTINES, OF_TABLES};
use crate::random::Random;

/// From when on an open session has what was granted, and lacks what was revoked, in MySQL.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    AtOnce,
    /// With the next USE.
    WithUse,
    /// With the next login.
    WithLogin,
}

/// One GRANT.
#[derive(Clone)]
pub struct Grant {
    /// `SELECT (a) ON d.t`, `r1`, `BACKUP_ADMIN ON *.*`.
    pub what: String,
    /// The account or role that gets it.
    pub to: String,
    pub option: &'static str,
    pub seen: Seen,
}

impl Grant {
    pub fn statement(&self) -> String {
        format!("GRANT {} TO {}{}", self.what, self.to, self.option)
    }

    pub fn revocation(&self) -> String {
        format!("REVOKE {} FROM {}", self.what, self.to)
    }
}

struct Maker<'a> {
    random: &'a mut Random,
    database: &'a str,
}

/// What an account begins with.
pub fn initial(random: &mut Random, database: &str) -> Vec<Grant> {
    let mut maker = Maker { random, database };
    let me = format!("{database}_u");
    let mut grants = vec![maker.grant(&me, format!("ALL ON {database}_own.*"), Seen::WithUse)];
    for (table, columns) in TABLES {
        for privilege in OF_TABLES {
            let common = ["SELECT", "INSERT", "UPDATE", "DELETE"].contains(privilege);
            match maker.random.below(if common { 10 } else { 40 }) {
                0..3 => grants.push(maker.grant(&me, format!("{privilege} ON {database}.{table}"), Seen::AtOnce)),
                3..7 if OF_COLUMNS.contains(privilege) => grants.push(maker.on_columns(&me, privilege, table, columns)),
                _ => {}
            }
        }
    }
    for role in ROLES.iter().map(|role| format!("{database}_{role}")) {
        if maker.random.one_in(2) {
            let grant = maker.any(&role);
            grants.push(grant);
        }
        if maker.random.one_in(4) {
            let option = if maker.random.one_in(3) { " WITH ADMIN OPTION" } else { "" };
            grants.push(Grant { what: role, to: me.clone(), option, seen: Seen::WithLogin });
        }
    }
    if maker.random.one_in(4) {
        grants.push(Grant { what: format!("{database}_r2"), to: format!("{database}_r1"), option: "", seen: Seen::WithLogin });
    }
    for _ in 0..maker.random.below(3) {
        let grant = maker.any(&me);
        grants.push(grant);
    }
    grants
}

/// Another one, later.
pub fn another(random: &mut Random, database: &str) -> Grant {
    Maker { random, database }.any(&format!("{database}_u"))
}

impl Maker<'_> {
    fn grant(&mut self, to: &str, what: String, seen: Seen) -> Grant {
        let option = if self.random.one_in(8) { " WITH GRANT OPTION" } else { "" };
        Grant { what, to: to.to_string(), option, seen }
    }

    fn one(&mut self, from: &[&str]) -> String {
        from[self.random.below(from.len() as u64) as usize].to_string()
    }

    fn on_columns(&mut self, to: &str, privilege: &str, table: &str, columns: &[&str]) -> Grant {
        let mut some: Vec<String> = Vec::new();
        for column in columns {
            if self.random.one_in(2) {
                some.push(format!("{privilege} ({column})"));
            }
        }
        if some.is_empty() {
            some.push(format!("{privilege} ({})", self.one(columns)));
        }
        let what = format!("{} ON {}.{table}", some.join(", "), self.database);
        self.grant(to, what, Seen::AtOnce)
    }

    fn any(&mut self, to: &str) -> Grant {
        let database = self.database;
        let of_role = to.rsplit('_').next().is_some_and(|end| ROLES.contains(&end));
        let (table, columns) = TABLES[self.random.below(TABLES.len() as u64) as usize];
        let seen = |seen| if of_role { Seen::WithLogin } else { seen };
        match self.random.below(22) {
            0..5 => {
                let privilege = self.one(OF_TABLES);
                self.grant(to, format!("{privilege} ON {database}.{table}"), seen(Seen::AtOnce))
            }
            5..8 => {
                let privilege = self.one(OF_COLUMNS);
                let grant = self.on_columns(to, &privilege, table, columns);
                Grant { seen: seen(Seen::AtOnce), ..grant }
            }
            8..12 => {
                let list = if self.random.one_in(2) { OF_TABLES } else { OF_DATABASES };
                let (privilege, end) = (self.one(list), self.one(&["", "", "_b"]));
                self.grant(to, format!("{privilege} ON {database}{end}.*"), seen(Seen::WithUse))
            }
            12..14 => {
                let (privilege, which) = (self.one(OF_TABLES), self.random.below(4));
                self.grant(to, format!("{privilege} ON `{}`.*", pattern(database, which)), seen(Seen::WithUse))
            }
            14..16 => {
                let list = if self.random.one_in(3) { OF_TABLES } else { OF_DATABASES };
                let privilege = self.one(list);
                self.grant(to, format!("{privilege} ON *.*"), Seen::WithLogin)
            }
            16 => {
                let (privilege, table) = (self.one(&["SELECT", "UPDATE", "INSERT"]), self.one(&["user", "db", "tables_priv"]));
                self.grant(to, format!("{privilege} ON mysql.{table}"), seen(Seen::AtOnce))
            }
            17..19 => {
                let privilege = self.one(GLOBAL);
                self.grant(to, format!("{privilege} ON *.*"), Seen::WithLogin)
            }
            19..21 => {
                let (privilege, kind) = (self.one(OF_ROUTINES), self.one(&["PROCEDURE", "FUNCTION"]));
                self.grant(to, format!("{privilege} ON {kind} {database}.p"), seen(Seen::AtOnce))
            }
            _ => {
                let privilege = self.one(DYNAMIC);
                self.grant(to, format!("{privilege} ON *.*"), Seen::WithLogin)
            }
        }
    }
}
