//! Random statements: every place that may hold an expression or name a table, with names that mean several things.
//!
//! CTEs have the tables' names, in either case; aliases have columns' names. Most statements are valid, some name
//! what does not exist.

use super::TABLES;
use crate::random::Random;

/// What can be named in an expression: a table by its alias, and its columns.
type Relations = Vec<(String, Vec<String>)>;

pub struct Generator<'a> {
    random: &'a mut Random,
    database: &'a str,
    /// CTEs that can be named here.
    ctes: Relations,
    next_alias: u32,
}

impl<'a> Generator<'a> {
    pub fn new(random: &'a mut Random, database: &'a str) -> Generator<'a> {
        Generator { random, database, ctes: Vec::new(), next_alias: 0 }
    }

    fn percent(&mut self, n: u64) -> bool {
        self.random.below(100) < n
    }

    fn pick<'s>(&mut self, from: &[&'s str]) -> &'s str {
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

    pub fn statement(&mut self) -> String {
        let depth = self.random.below(3);
        match self.random.below(100) {
            0..38 => {
                let lock = if self.percent(15) {
                    self.pick(&[" FOR UPDATE", " FOR SHARE", " LOCK IN SHARE MODE", " FOR UPDATE SKIP LOCKED"])
                } else {
                    ""
                };
                format!("{}{lock}", self.query(&[], depth, None))
            }
            38..53 => self.update(depth),
            53..62 => self.delete(depth),
            62..78 => self.insert(depth),
            78..86 => self.expression_of_a_statement(depth),
            86..90 => self.explain(depth),
            90..94 => self.create(depth),
            94..97 => self.load(depth),
            _ => self.about_a_table(),
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
            sql += &format!(" ON DUPLICATE KEY UPDATE {target} = {value}");
        }
        sql
    }

    fn expression_of_a_statement(&mut self, depth: u64) -> String {
        let value = format!("({} LIMIT 1)", self.select(&[], depth, Some(1), false));
        let own = format!("{}_own", self.database);
        match self.random.below(11) {
            0 => format!("SET @v = {value}"),
            1 => format!("SET SESSION group_concat_max_len = {value}"),
            2 => format!("SET @a = 1, @v = 1 + {value}"),
            3 => format!("DO {value}"),
            4 => format!("SHOW VARIABLES WHERE variable_name = 'version' AND {value}"),
            5 => format!("SHOW TABLES FROM {own} WHERE {value}"),
            6 => format!("SHOW COLUMNS FROM {own}.m WHERE {value}"),
            7 => format!("SHOW DATABASES WHERE {value}"),
            8 => format!("SHOW INDEX FROM {own}.m WHERE {value}"),
            9 => format!("CREATE TABLE {own}.z (a INT DEFAULT ({value}))"),
            _ => format!("SELECT {value} INTO @v"),
        }
    }

    fn explain(&mut self, depth: u64) -> String {
        let target = match self.random.below(4) {
            0 => self.update(depth),
            1 => self.delete(depth),
            2 => self.insert(depth),
            _ => self.query(&[], depth, None),
        };
        format!("EXPLAIN {target}")
    }

    fn create(&mut self, depth: u64) -> String {
        let name = format!("{}_own.z{}", self.database, self.random.next());
        match self.random.below(3) {
            0 => format!("CREATE TABLE {name} AS {}", self.query(&[], depth, Some(1))),
            1 => format!("CREATE TEMPORARY TABLE {name} AS {}", self.query(&[], depth, Some(1))),
            _ => {
                let (table, _) = self.table();
                format!("CREATE TABLE {name} LIKE {}.{table}", self.database)
            }
        }
    }

    fn load(&mut self, depth: u64) -> String {
        let (table, columns) = self.table();
        let scope = self.relation(&table, &columns);
        let duplicate = self.pick(&["", "REPLACE ", "IGNORE "]);
        let mut fields: Vec<String> = columns.iter().filter(|_| self.random.one_in(2)).cloned().collect();
        if self.percent(40) {
            fields.push("@v".into());
        }
        let fields = if fields.is_empty() { String::new() } else { format!(" ({})", fields.join(", ")) };
        let set = if self.percent(50) {
            let column = self.one_of(&columns);
            format!(" SET {column} = {}", self.expr(&scope, &[], depth))
        } else {
            String::new()
        };
        format!("LOAD DATA LOCAL INFILE 'x' {duplicate}INTO TABLE {}.{table}{fields}{set}", self.database)
    }

    fn about_a_table(&mut self) -> String {
        let (database, (table, _)) = (self.database, self.table());
        let name = format!("{database}.{table}");
        match self.random.below(14) {
            0 => format!("SHOW INDEX FROM {name}"),
            1 => format!("SHOW CREATE TABLE {name}"),
            2 => format!("CHECKSUM TABLE {name}"),
            3 => format!("CHECK TABLE {name}"),
            4 => format!("ANALYZE TABLE {name}"),
            5 => format!("LOCK TABLES {name} READ"),
            6 => format!("TRUNCATE {name}"),
            7 => format!("ALTER TABLE {name} COMMENT 'x'"),
            8 => format!("CREATE INDEX i ON {name} (b)"),
            9 => format!("RENAME TABLE {name} TO {database}_own.{table}"),
            10 => format!("DROP TABLE {name}"),
            11 => format!("SELECT COUNT(*) FROM performance_schema.{}", self.pick(&["threads", "data_locks", "global_status"])),
            12 => format!("SELECT COUNT(*) FROM mysql.{}", self.pick(&["user", "db", "tables_priv"])),
            _ => self.pick(&["UPDATE mysql.user SET user = 1", "INSERT INTO mysql.user (user) VALUES (1)"]).to_string(),
        }
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
        if self.percent(60) { format!("{name}.{column}") } else { column }
    }

    fn expr(&mut self, scope: &Relations, outer: &[Relations], depth: u64) -> String {
        let kind = self.random.below(100);
        if depth == 0 || kind < 45 {
            return self.column(scope, outer);
        }
        let depth = depth - 1;
        let within: Vec<Relations> = outer.iter().chain([scope]).cloned().collect();
        let left = self.expr(scope, outer, depth);
        match kind {
            45..52 => self.random.below(5).to_string(),
            52..62 => format!("({left} {} {})", self.pick(&["+", "=", "<", "AND", "OR"]), self.expr(scope, outer, depth)),
            62..67 => format!("{}({left})", self.pick(&["LENGTH", "ASCII", "ABS", "HEX", "ISNULL"])),
            67..71 => format!("CASE WHEN {left} THEN {} ELSE 1 END", self.expr(scope, outer, depth)),
            71..78 => format!("({} LIMIT 1)", self.select(&within, depth, Some(1), false)),
            78..84 => format!("EXISTS (SELECT * FROM {})", self.exists(&within, depth)),
            84..91 => format!("{left} {} ({})", self.pick(&["IN", "NOT IN"]), self.select(&within, depth, Some(1), false)),
            91..93 => format!("{left} = ANY ({})", self.select(&within, depth, Some(1), false)),
            93..95 => format!("DEFAULT({})", self.column(scope, &[])),
            95..97 => format!("{left} BETWEEN {} AND 9", self.expr(scope, outer, depth)),
            _ => format!("{left} IS NULL"),
        }
    }

    /// What stands behind the star of EXISTS.
    fn exists(&mut self, outer: &[Relations], depth: u64) -> String {
        let (from, scope) = self.from(depth, outer);
        format!("{from}{}", self.filter(&scope, outer, depth))
    }
}
