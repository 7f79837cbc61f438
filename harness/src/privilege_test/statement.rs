//! Random statements: every production of every kind (`templates`), with names that mean several things.
//!
//! CTEs have the tables' names, in either case; aliases have columns' names. Most statements are valid, some name
//! what does not exist.

use super::TABLES;
use super::kinds::{Kind, Leaves};
use super::templates;
use crate::random::Random;

/// What can be named in an expression: a table by its alias, and its columns.
type Relations = Vec<(String, Vec<String>)>;

/// Tables of the server, each with columns.
const SYSTEM_TABLES: [(&str, &[&str]); 15] = [
    ("information_schema.tables", &["table_name", "table_schema"]),
    ("information_schema.columns", &["column_name", "table_name"]),
    ("information_schema.innodb_trx", &["trx_id"]),
    ("information_schema.user_privileges", &["grantee"]),
    ("information_schema.column_privileges", &["grantee"]),
    ("information_schema.processlist", &["id", "info"]),
    ("mysql.user", &["user", "authentication_string"]),
    ("mysql.db", &["user"]),
    ("mysql.tables_priv", &["user"]),
    ("mysql.password_history", &["password"]),
    ("mysql.innodb_table_stats", &["table_name"]),
    ("performance_schema.threads", &["thread_id"]),
    ("performance_schema.data_locks", &["engine_lock_id"]),
    ("performance_schema.global_status", &["variable_name"]),
    ("performance_schema.session_connect_attrs", &["attr_name"]),
];

pub struct Generator<'a> {
    random: &'a mut Random,
    database: &'a str,
    /// CTEs that can be named here.
    ctes: Relations,
    /// What `{c}` and `{e}` mean.
    scope: Relations,
    kind: Kind,
    /// Whether a number may be a parameter.
    with_parameters: bool,
    next_alias: u32,
}

impl<'a> Generator<'a> {
    pub fn new(random: &'a mut Random, database: &'a str) -> Generator<'a> {
        let (ctes, scope) = (Vec::new(), Vec::new());
        Generator { random, database, ctes, scope, kind: Kind::Query, with_parameters: false, next_alias: 0 }
    }

    pub fn database(&self) -> &'a str {
        self.database
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn number(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    pub fn percent(&mut self, n: u64) -> bool {
        self.random.below(100) < n
    }

    pub fn pick<'s>(&mut self, from: &[&'s str]) -> &'s str {
        from[self.random.below(from.len() as u64) as usize]
    }

    fn alias(&mut self, letter: char) -> String {
        self.next_alias += 1;
        format!("{letter}{}", self.next_alias)
    }

    /// A table with its columns.
    fn table(&mut self) -> (String, Vec<String>) {
        let (name, columns) = TABLES[self.random.below(TABLES.len() as u64) as usize];
        (name.to_string(), columns.iter().map(|c| c.to_string()).collect())
    }

    pub fn any_kind(&mut self) -> Kind {
        let mut left = self.random.below(Kind::ALL.iter().map(|kind| kind.weight()).sum());
        let met = Kind::ALL.iter().find(|kind| {
            let here = left < kind.weight();
            left = left.saturating_sub(kind.weight());
            here
        });
        met.copied().unwrap_or(Kind::Query)
    }

    /// A statement; with `?` among its numbers if it is `prepared`.
    pub fn statement(&mut self, kind: Kind, prepared: bool) -> String {
        // Events take no parameters.
        (self.kind, self.with_parameters) = (kind, prepared && !matches!(kind, Kind::CreateEvent | Kind::AlterEvent));
        self.scope.clear();
        self.ctes.clear();
        let template = self.pick(templates::templates(kind));
        self.fill(template)
    }

    /// `template` with its holes filled.
    pub fn fill(&mut self, template: &str) -> String {
        self.fill_with(template, &mut |generator, name| generator.hole(name))
    }

    fn fill_with(&mut self, template: &str, hole: &mut dyn FnMut(&mut Self, &str) -> String) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find(['{', '\\']) {
            out.push_str(&rest[..at]);
            if rest[at..].starts_with('\\') {
                out.push_str(&rest[at + 1..at + 2]);
                rest = &rest[at + 2..];
                continue;
            }
            let (parts, after) = alternatives(&rest[at + 1..]);
            rest = after;
            let filled = match parts[..] {
                [name] => hole(self, name),
                _ => {
                    let part = self.pick(&parts);
                    self.fill_with(part, hole)
                }
            };
            out.push_str(&filled);
        }
        out + rest
    }

    fn hole(&mut self, name: &str) -> String {
        let depth = self.random.below(3);
        match name {
            "t" => {
                let (written, relation) = self.any_table();
                self.scope = vec![relation];
                written
            }
            "t2" => self.any_table().0,
            // As HANDLER names what it opened: without a database.
            "opened" => {
                let (_, relation) = self.any_table();
                self.scope = vec![relation];
                self.scope[0].0.clone()
            }
            "mine" => {
                let (table, _) = self.table();
                format!("{}.{table}", self.database)
            }
            "c" => match self.scope.first().cloned() {
                Some((_, columns)) => self.one_of(&columns),
                None => "a".to_string(),
            },
            "e" | "x" if self.scope.is_empty() => self.scalar(depth),
            "e" => {
                let scope = self.scope.clone();
                self.expr(&scope, &[], depth)
            }
            "s" => self.scalar(depth),
            "q" => self.inner(|g| g.query(&[], depth, None)),
            "q1" => self.inner(|g| g.query(&[], depth, Some(1))),
            "insert" => self.insert(depth),
            "update" => self.update(depth),
            "delete" => self.delete(depth),
            "window" => self.of_list(templates::WINDOW),
            "unit" => self.pick(templates::UNITS).to_string(),
            "p" => self.number_or_parameter(),
            "json" => "{}".to_string(),
            other => self.object_hole(other),
        }
    }

    fn number_or_parameter(&mut self) -> String {
        if self.with_parameters { "?".to_string() } else { self.random.below(5).to_string() }
    }

    pub fn of_list(&mut self, list: &[&str]) -> String {
        let one = self.pick(list);
        self.fill(one)
    }

    /// With the scope as it is, afterwards too.
    fn inner<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let (scope, ctes) = (self.scope.clone(), self.ctes.len());
        let made = make(self);
        self.scope = scope;
        self.ctes.truncate(ctes);
        made
    }

    fn scalar(&mut self, depth: u64) -> String {
        self.inner(|g| format!("({} LIMIT 1)", g.select(&[], depth, Some(1), false)))
    }

    /// A table as it is written, and what it makes nameable.
    fn any_table(&mut self) -> (String, (String, Vec<String>)) {
        let database = self.database;
        let safe = !matches!(self.kind.leaves(), Leaves::Objects) || matches!(self.kind, Kind::CreateTable);
        match self.random.below(100) {
            0..8 if safe => {
                let (name, columns) = SYSTEM_TABLES[self.random.below(SYSTEM_TABLES.len() as u64) as usize];
                let short = name.split_once('.').map_or(name, |(_, table)| table);
                (name.to_string(), (short.to_string(), columns.iter().map(|c| c.to_string()).collect()))
            }
            8..16 => (format!("{database}_own.m"), ("m".into(), vec!["x".into(), "y".into()])),
            16..22 => (format!("{database}_b.t"), ("t".into(), vec!["a".into(), "b".into()])),
            22..25 => (format!("{database}.nosuch"), ("nosuch".into(), vec!["a".into()])),
            25..27 => ("nosuch_db.t".into(), ("t".into(), vec!["a".into()])),
            _ => {
                let (table, columns) = self.table();
                let written = if self.percent(70) { format!("{database}.{table}") } else { table.clone() };
                (written, (table, columns))
            }
        }
    }

    fn relation(&self, name: &str, columns: &[String]) -> Relations {
        vec![(name.to_string(), columns.to_vec())]
    }

    fn update(&mut self, depth: u64) -> String {
        let with = self.with_of_dml();
        if self.percent(60) {
            let (table, columns) = self.table();
            let scope = self.relation(&table, &columns);
            let mut sets = Vec::new();
            for _ in 0..=self.random.below(2) {
                let column = if self.percent(5) { "nosuch".to_string() } else { self.one_of(&columns) };
                let value = if self.percent(70) { self.expr(&scope, &[], depth) } else { self.pick(&["1", "DEFAULT"]).into() };
                sets.push(format!("{column} = {value}"));
            }
            let tail = self.tail(&scope, depth);
            return format!("{with}UPDATE {}.{table} SET {}{tail}", self.database, sets.join(", "));
        }
        let (from, scope) = self.from(1, &[]);
        let (target, columns) = scope[self.random.below(scope.len() as u64) as usize].clone();
        let column = self.one_of(&columns);
        let value = self.expr(&scope, &[], depth);
        let filter = self.filter(&scope, &[], depth);
        format!("{with}UPDATE {from} SET {target}.{column} = {value}{filter}")
    }

    fn delete(&mut self, depth: u64) -> String {
        if self.percent(60) {
            let (table, columns) = self.table();
            let scope = self.relation(&table, &columns);
            let tail = self.tail(&scope, depth);
            return format!("DELETE FROM {}.{table}{tail}", self.database);
        }
        let (from, scope) = self.from(1, &[]);
        let target = scope[self.random.below(scope.len() as u64) as usize].0.clone();
        let filter = self.filter(&scope, &[], depth);
        format!("DELETE {target} FROM {from}{filter}")
    }

    fn insert(&mut self, depth: u64) -> String {
        let (table, columns) = self.table();
        let scope = self.relation(&table, &columns);
        let verb = self.pick(&["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"]);
        let given: Vec<String> = columns.iter().filter(|_| self.random.one_in(2)).cloned().collect();
        let (list, width) =
            if given.is_empty() { (String::new(), columns.len()) } else { (format!(" ({})", given.join(", ")), given.len()) };
        let source = if self.percent(50) {
            let mut values = Vec::new();
            for _ in 0..width {
                values.push(if self.percent(40) { self.expr(&scope, &[], depth) } else { self.pick(&["7", "DEFAULT"]).into() });
            }
            format!("VALUES ({})", values.join(", "))
        } else {
            self.query(&[], depth, Some(width))
        };
        let mut sql = format!("{verb} INTO {}.{table}{list} {source}", self.database);
        if verb != "REPLACE" && self.percent(35) {
            let (target, named) = (self.one_of(&columns), self.one_of(&columns));
            let value = match self.random.below(3) {
                0 => self.expr(&scope, &[], depth),
                1 => format!("VALUES({named})"),
                _ => format!("{table}.{named}"),
            };
            // Behind a join without ON it would be taken for the join's.
            let end = if sql.contains(" VALUES (") { "" } else { " LIMIT 9" };
            sql += &format!("{end} ON DUPLICATE KEY UPDATE {target} = {value}");
        }
        sql
    }

    fn tail(&mut self, scope: &Relations, depth: u64) -> String {
        let mut tail = self.filter(scope, &[], depth);
        if self.percent(15) {
            tail += &format!(" ORDER BY {}", self.column(scope, &[]));
        }
        if self.percent(20) {
            tail += " LIMIT 1";
        }
        tail
    }

    fn filter(&mut self, scope: &Relations, outer: &[Relations], depth: u64) -> String {
        if self.percent(60) { format!(" WHERE {}", self.expr(scope, outer, depth)) } else { String::new() }
    }

    fn with_of_dml(&mut self) -> String {
        if !self.percent(15) {
            return String::new();
        }
        let name = self.pick(&["t", "T", "u", "U", "q"]).to_string();
        let query = self.query(&[], 1, Some(1));
        self.ctes.push((name.clone(), vec!["c0".into()]));
        format!("WITH {name} (c0) AS ({query}) ")
    }

    fn query(&mut self, outer: &[Relations], depth: u64, width: Option<usize>) -> String {
        if depth > 0 && self.percent(15) {
            return self.with_query(outer, depth, width);
        }
        if depth > 0 && width.is_some() && self.percent(8) {
            let operator = self.pick(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
            let (left, right) = (self.select(outer, depth - 1, width, false), self.select(outer, depth - 1, width, false));
            return format!("{left} {operator} {right}");
        }
        self.select(outer, depth, width, true)
    }

    fn with_query(&mut self, outer: &[Relations], depth: u64, width: Option<usize>) -> String {
        let before = self.ctes.len();
        let mut parts: Vec<String> = Vec::new();
        let recursive = if self.percent(25) { "RECURSIVE " } else { "" };
        for _ in 0..=self.random.below(2) {
            let name = self.pick(&["t", "T", "u", "w", "W", "q"]).to_string();
            if self.ctes[before..].iter().any(|(other, _)| *other == name) {
                continue;
            }
            parts.push(format!("{name} (c0) AS ({})", self.query(&[], depth - 1, Some(1))));
            self.ctes.push((name, vec!["c0".into()]));
        }
        let body = self.select(outer, depth, width, true);
        self.ctes.truncate(before);
        format!("WITH {recursive}{} {body}", parts.join(", "))
    }

    fn select(&mut self, outer: &[Relations], depth: u64, width: Option<usize>, ordered: bool) -> String {
        let (from, scope) = self.from(depth, outer);
        let (mut items, mut aliases) = (Vec::new(), Vec::new());
        if width.is_none() && self.percent(40) {
            items.push("*".to_string());
        } else {
            for _ in 0..width.unwrap_or(1) {
                let mut item = self.item(&scope, outer, depth);
                if self.percent(30) {
                    let alias = self.pick(&["hidden", "z", "a", "k"]);
                    item += &format!(" AS {alias}");
                    aliases.push(alias);
                }
                items.push(item);
            }
        }
        let distinct = if self.percent(5) { "DISTINCT " } else { "" };
        let mut sql = format!("SELECT {distinct}{} FROM {from}", items.join(", "));
        sql += &self.filter(&scope, outer, depth);
        let name = |generator: &mut Self| match aliases.is_empty() || generator.percent(50) {
            true => generator.column(&scope, &[]),
            false => generator.pick(&aliases).to_string(),
        };
        if self.percent(12) {
            sql += &format!(" GROUP BY {}", name(self));
        }
        if self.percent(8) {
            sql += &format!(" HAVING {} > 0", name(self));
        }
        if ordered && self.percent(20) {
            sql += &format!(" ORDER BY {}", name(self));
        }
        sql
    }

    fn item(&mut self, scope: &Relations, outer: &[Relations], depth: u64) -> String {
        let (one, two) = (self.column(scope, &[]), self.column(scope, &[]));
        match self.random.below(100) {
            0..6 => format!("{}({})", self.pick(&["COUNT", "MAX", "SUM"]), self.expr(scope, outer, depth.saturating_sub(1))),
            6..9 => "COUNT(*)".to_string(),
            9..12 => format!("SUM({one}) OVER (PARTITION BY {two})"),
            12..14 => format!("GROUP_CONCAT({one} ORDER BY {two})"),
            _ => self.expr(scope, outer, depth),
        }
    }

    /// FROM with what it makes nameable.
    fn from(&mut self, depth: u64, outer: &[Relations]) -> (String, Relations) {
        let (mut sql, first) = self.factor(depth);
        let mut scope = vec![first];
        while self.percent(30) && scope.len() < 3 {
            let (right, relation) = self.factor(depth);
            if scope.iter().any(|(name, _)| *name == relation.0) {
                continue;
            }
            let has_key = relation.1.iter().any(|c| c == "a");
            scope.push(relation);
            sql += &match self.random.below(10) {
                0..2 => format!(", {right}"),
                2..8 => {
                    let join = self.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"]);
                    format!(" {join} {right} ON {}", self.expr(&scope, outer, depth.min(1)))
                }
                8 if has_key => format!(" JOIN {right} USING (a)"),
                _ => format!(" CROSS JOIN {right}"),
            };
        }
        (sql, scope)
    }

    fn factor(&mut self, depth: u64) -> (String, (String, Vec<String>)) {
        if !self.ctes.is_empty() && self.percent(25) {
            let (name, columns) = self.ctes[self.random.below(self.ctes.len() as u64) as usize].clone();
            let name = if self.percent(15) { name.to_uppercase() } else { name };
            return (name.clone(), (name, columns));
        }
        let (table, columns) = self.table();
        let database = self.database;
        if depth > 0 && self.percent(20) {
            let alias = self.alias('d');
            if self.percent(50) {
                let query = self.query(&[], depth - 1, Some(1));
                return (format!("({query}) AS {alias} (c0)"), (alias, vec!["c0".into()]));
            }
            return (format!("(SELECT * FROM {database}.{table}) AS {alias}"), (alias, columns));
        }
        let written = if self.percent(60) { format!("{database}.{table}") } else { table.clone() };
        if self.percent(50) {
            let alias = self.alias('x');
            return (format!("{written} AS {alias}"), (alias, columns));
        }
        (written, (table, columns))
    }

    fn one_of(&mut self, columns: &[String]) -> String {
        columns[self.random.below(columns.len() as u64) as usize].clone()
    }

    fn column(&mut self, scope: &Relations, outer: &[Relations]) -> String {
        if self.percent(2) {
            return self.pick(&["nosuch", "t.nosuch", "a"]).to_string();
        }
        let scope = match outer.last() {
            Some(outer) if self.percent(25) => outer,
            _ => scope,
        };
        let (name, columns) = &scope[self.random.below(scope.len() as u64) as usize];
        let column = self.one_of(columns);
        match self.random.below(100) {
            0..10 if TABLES.iter().any(|(table, _)| table == name) => format!("{}.{name}.{column}", self.database),
            0..60 => format!("{name}.{column}"),
            _ => column,
        }
    }

    fn expr(&mut self, scope: &Relations, outer: &[Relations], depth: u64) -> String {
        if depth == 0 || self.percent(40) {
            return if self.percent(10) { self.number_or_parameter() } else { self.column(scope, outer) };
        }
        let (template, depth) = (self.pick(templates::EXPRESSION), depth - 1);
        let within: Vec<Relations> = outer.iter().chain([scope]).cloned().collect();
        self.fill_with(template, &mut |generator, name| match name {
            "x" => generator.expr(scope, outer, depth),
            "c" => generator.column(scope, &[]),
            "sub" => generator.select(&within, depth, Some(1), false),
            "existing" => generator.exists(&within, depth),
            other => generator.hole(other),
        })
    }

    /// What stands behind the star of EXISTS.
    fn exists(&mut self, outer: &[Relations], depth: u64) -> String {
        let (from, scope) = self.from(depth, outer);
        format!("{from}{}", self.filter(&scope, outer, depth))
    }
}

/// The alternatives of a hole, of which the brace was read, and what follows it.
fn alternatives(text: &str) -> (Vec<&str>, &str) {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'{' => depth += 1,
            b'|' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            b'}' if depth == 0 => {
                parts.push(&text[start..at]);
                return (parts, &text[at + 1..]);
            }
            b'}' => depth -= 1,
            _ => {}
        }
    }
    panic!("a hole without its end: {text}")
}
