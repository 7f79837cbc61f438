//! Names of databases, accounts and roles in random statements, and what stands in CREATE TABLE, CREATE USER and GRANT.
//!
//! Of a test of database `p` the databases are `p`, `p_own` and `p_b`, the account that runs statements is `p_u`, others are `p_x` and
//! `p_s` (with SYSTEM_USER), roles are `p_r1` to `p_r3`. Nothing that is made has another name than `all_databases` and `all_accounts` list.

use super::kinds::Kind;
use super::statement::Generator;
use super::templates_of_accounts as accounts;
use super::templates_of_objects as objects;

const NEW: [&str; 3] = ["n1", "n2", "n3"];
pub const ROLES: [&str; 3] = ["r1", "r2", "r3"];

pub fn all_databases(database: &str) -> Vec<String> {
    let of_tests = ["", "_own", "_b"].iter().map(|end| format!("{database}{end}"));
    of_tests.chain(NEW.iter().map(|end| format!("{database}_{end}"))).collect()
}

pub fn all_accounts(database: &str) -> Vec<String> {
    ["u", "x", "s"].iter().chain(&ROLES).chain(&NEW).map(|end| format!("{database}_{end}")).collect()
}

impl Generator<'_> {
    pub fn object_hole(&mut self, name: &str) -> String {
        let database = self.database();
        match name {
            "d" => self.any_database(),
            "new" => {
                let end = self.pick(&["_own", "_own", "", "_b"]);
                let number = self.number(1000);
                format!("{database}{end}.z{number}")
            }
            "newdb" => format!("{database}_{}", self.pick(&NEW)),
            "newuser" => format!("{database}_{}", self.pick(&NEW)),
            "u" => self.account(),
            "me" => format!("{database}_u"),
            "other" => format!("{database}_{}", self.pick(&["x", "s"])),
            "r" => format!("{database}_{}", self.pick(&ROLES)),
            "victim" => "@@VICTIM@@".to_string(),
            "privileges" => self.privileges(),
            "dynamic" => self.pick(accounts::DYNAMIC).to_string(),
            "level" => self.level(),
            "policy" => self.of_list(accounts::POLICY),
            "column" => self.of_list(objects::COLUMN),
            "column2" => self.of_list(objects::COLUMN).replacen("c0", "c1", 1),
            "type" => self.pick(objects::TYPES).to_string(),
            "option" | "option2" => format!(" {}", self.of_list(objects::OPTIONS)),
            other => panic!("no hole {other}"),
        }
    }

    fn any_database(&mut self) -> String {
        let database = self.database();
        // What MySQL needs itself must not go.
        if !matches!(self.kind(), Kind::DropDatabase | Kind::AlterDatabase | Kind::CreateDatabase) && self.percent(20) {
            return self.pick(&["information_schema", "mysql", "performance_schema"]).to_string();
        }
        format!("{database}{}", self.pick(&["", "", "_own", "_b", "_nosuch"]))
    }

    fn account(&mut self) -> String {
        match self.pick(&["u", "u", "x", "x", "s", "nosuch", ""]) {
            "" => "CURRENT_USER()".to_string(),
            end => format!("{}_{end}", self.database()),
        }
    }

    fn privileges(&mut self) -> String {
        let one = |generator: &mut Self| {
            let lists =
                [accounts::OF_TABLES, accounts::OF_TABLES, accounts::OF_COLUMNS, accounts::OF_DATABASES, accounts::GLOBAL];
            let list = lists[generator.number(lists.len() as u64) as usize];
            let privilege = generator.pick(list).to_string();
            if accounts::OF_COLUMNS.contains(&privilege.as_str()) && generator.percent(25) {
                let columns = generator.pick(&["a", "b", "a, b", "hidden"]);
                return format!("{privilege} ({columns})");
            }
            privilege
        };
        if self.percent(60) { one(self) } else { format!("{}, {}", one(self), one(self)) }
    }

    fn level(&mut self) -> String {
        let database = self.database();
        let table = self.pick(&["t", "u", "w"]);
        match self.number(12) {
            0 => "*.*".to_string(),
            1 => "*".to_string(),
            2..5 => format!("{}.*", self.any_database()),
            5 => format!("`{}`.*", pattern(database, self.number(4))),
            6 => format!("{database}_b.t"),
            7..9 => format!(
                "{} {}.{}",
                self.pick(&["PROCEDURE", "FUNCTION"]),
                self.any_database(),
                self.pick(&["p", "p", "nosuch", "*"])
            ),
            _ => format!("{database}.{table}"),
        }
    }
}

/// A pattern of database names, of which the first two mean the database of the tables.
pub fn pattern(database: &str, which: u64) -> String {
    let escaped = database.replace('_', "\\_");
    match which {
        // MySQL takes any of several patterns whose first wildcards are at the same place: here they are at different ones.
        0 => database[..database.len() - 2].replace('_', "\\_") + "%",
        1 => database[..database.len() - 1].to_string() + "_",
        2 => format!("{escaped}\\_%"),
        _ => format!("{escaped}\\_b"),
    }
}
