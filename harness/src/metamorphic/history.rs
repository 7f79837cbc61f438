//! A random history: statements of one session that writes and two that read at old snapshots, one after the other.
//!
//! Every answer is fixed by the statements before it, whatever the server stores how: reads and changes of more than one row
//! have a total order, texts have one spelling, and nothing waits, because readers take no locks and have no transaction
//! open when a definition changes.

use crate::diff_test::schema::pick;
use crate::random::Random;

pub const SESSIONS: usize = 3;
/// `t0`, `t1` …
pub const TABLES: usize = 3;
const WRITER: usize = 0;
/// Rows of one INSERT: enough that a history fills many small memtables.
const ROWS_MAX: u64 = 30;
const IDS: u64 = 600;

pub enum Step {
    Run {
        session: usize,
        sql: String,
    },
    /// No transaction is open: a server may be restarted.
    Quiet,
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Int,
    Decimal,
    Text,
    DateTime,
}

struct Table {
    name: String,
    columns: Vec<(String, Class)>,
    /// Generated columns.
    computed: Vec<(String, Class)>,
    indexes: Vec<String>,
    /// Columns and indexes made so far, for new names.
    made: u32,
}

pub struct History<'a> {
    random: &'a mut Random,
    tables: Vec<Table>,
    steps: Vec<Step>,
    in_transaction: [bool; SESSIONS],
    savepoint: bool,
    /// Ids are generated, which a restart may give again after a rollback; so there is none.
    generated: bool,
    /// Tables have generated columns and functional indexes.
    computes: bool,
}

const CLASSES: &[Class] = &[Class::Int, Class::Int, Class::Decimal, Class::Text, Class::Text, Class::DateTime];

impl Class {
    fn declaration(self) -> &'static str {
        match self {
            Class::Int => "INT",
            Class::Decimal => "DECIMAL(10,2)",
            Class::Text => "VARCHAR(200)",
            Class::DateTime => "DATETIME(3)",
        }
    }

    fn wider(self) -> &'static str {
        match self {
            Class::Int => "BIGINT",
            Class::Decimal => "DECIMAL(14,3)",
            Class::Text => "VARCHAR(300) NOT NULL DEFAULT 'x'",
            Class::DateTime => "DATETIME(6)",
        }
    }
}

/// The statements of a history of about `length` steps.
pub fn history(random: &mut Random, length: usize) -> Vec<Step> {
    let (generated, computes) = (random.one_in(2), random.one_in(2));
    let (tables, steps, in_transaction) = (Vec::new(), Vec::new(), [false; SESSIONS]);
    let mut history = History { random, tables, steps, in_transaction, savepoint: false, generated, computes };
    history.run(WRITER, "DROP DATABASE IF EXISTS meta");
    history.run(WRITER, "CREATE DATABASE meta");
    (0..SESSIONS).for_each(|session| history.run(session, "USE meta"));
    (0..TABLES).for_each(|n| history.create_table(n));
    while history.steps.len() < length {
        history.step();
    }
    history.finish()
}

impl History<'_> {
    fn run(&mut self, session: usize, sql: impl Into<String>) {
        self.steps.push(Step::Run { session, sql: sql.into() });
    }

    fn finish(mut self) -> Vec<Step> {
        self.end_transactions();
        for at in 0..self.tables.len() {
            let name = self.tables[at].name.clone();
            self.run(WRITER, format!("SHOW CREATE TABLE {name}"));
            self.run(WRITER, format!("SELECT * FROM {name} ORDER BY id"));
            self.run(WRITER, format!("SELECT COUNT(*) FROM {name}"));
            self.run(WRITER, format!("CHECK TABLE {name}"));
        }
        self.steps
    }

    fn step(&mut self) {
        match self.random.below(40) {
            0..13 => self.write(),
            13..18 => self.transaction(),
            18..22 => self.reader(),
            22..37 => {
                let session = self.random.below(SESSIONS as u64) as usize;
                let sql = self.select();
                self.run(session, sql);
            }
            37 if self.random.one_in(4) && !self.generated => {
                self.end_transactions();
                self.steps.push(Step::Quiet);
            }
            _ if self.random.one_in(2) => {
                self.end_transactions();
                self.define();
            }
            _ => {}
        }
    }

    fn end_transactions(&mut self) {
        for session in 0..SESSIONS {
            if std::mem::take(&mut self.in_transaction[session]) {
                self.run(session, "COMMIT");
            }
        }
        self.savepoint = false;
    }

    fn create_table(&mut self, n: usize) {
        let mut columns = vec![("pad".to_string(), Class::Text)];
        columns.extend((0..2 + self.random.below(3)).map(|c| (format!("c{c}"), *pick(self.random, CLASSES))));
        let id = if self.generated { "id INT NOT NULL AUTO_INCREMENT" } else { "id INT NOT NULL" };
        let declared: Vec<String> = columns.iter().map(|(name, class)| format!("{name} {}", class.declaration())).collect();
        // Sometimes ids lie in a secondary index, and rows under hidden ones.
        let key = if self.random.one_in(4) { "UNIQUE KEY ids (id)" } else { "PRIMARY KEY (id)" };
        let name = format!("t{n}");
        let (computed, more) = if self.computes { self.computed() } else { (Vec::new(), "") };
        self.run(WRITER, format!("CREATE TABLE {name} ({id}, {}{more}, {key}, KEY c0 (c0))", declared.join(", ")));
        let table = Table { name, columns, computed, indexes: vec!["c0".into()], made: 10 };
        match self.tables.get_mut(n) {
            Some(old) => *old = table,
            None => self.tables.push(table),
        }
    }

    /// Generated columns of a new table, in the row, in an index and in neither, and how they are declared.
    fn computed(&mut self) -> (Vec<(String, Class)>, &'static str) {
        let columns =
            [("g0", Class::Int), ("g1", Class::Text), ("g2", Class::Int)].map(|(name, class)| (name.to_string(), class));
        let declared = *pick(
            self.random,
            &[
                ", g0 INT AS (LENGTH(pad)), g1 VARCHAR(400) AS (CONCAT(pad, '-')) STORED, g2 INT AS (g0 % 5), KEY g0 (g0)",
                ", g0 INT AS (LENGTH(pad)) STORED, g1 VARCHAR(400) AS (CONCAT(pad, g0)), g2 INT AS (g0 + 1), KEY f ((LENGTH(pad) + 2))",
                ", g0 INT AS (LENGTH(pad)), g1 VARCHAR(400) AS (REVERSE(pad)), g2 INT AS (g0 * 2), KEY g1 (g1(20)), KEY f ((LENGTH(pad) + 2), g2)",
            ],
        );
        (columns.into(), declared)
    }

    /// A column that is read; generated ones cannot be written.
    fn read_column(&mut self, table: usize) -> (String, Class) {
        let computed = self.tables[table].computed.len() as u64;
        match self.random.below(2) {
            0 if computed > 0 => self.tables[table].computed[self.random.below(computed) as usize].clone(),
            _ => self.column(table),
        }
    }

    fn table(&mut self) -> usize {
        self.random.below(self.tables.len() as u64) as usize
    }

    fn column(&mut self, table: usize) -> (String, Class) {
        let columns = &self.tables[table].columns;
        columns[self.random.below(columns.len() as u64) as usize].clone()
    }

    fn value(&mut self, class: Class) -> String {
        if self.random.one_in(12) {
            return "NULL".into();
        }
        let small = self.random.below(40);
        match class {
            Class::Int => (small as i64 - 10).to_string(),
            Class::Decimal => format!("{}.{:02}", small, self.random.below(100)),
            Class::Text => format!("REPEAT('{}', {})", ["a", "bc", "def"][small as usize % 3], self.random.below(60)),
            Class::DateTime => format!("'2024-01-{:02} 10:00:{:02}.5'", 1 + small % 28, self.random.below(60)),
        }
    }

    fn row(&mut self, table: usize) -> String {
        let generate = self.generated && self.random.one_in(2);
        let mut values = vec![if generate { "DEFAULT".into() } else { self.random.below(IDS).to_string() }];
        for at in 0..self.tables[table].columns.len() {
            let class = self.tables[table].columns[at].1;
            values.push(self.value(class));
        }
        format!("({})", values.join(", "))
    }

    /// Names of all columns, `id` first; a name may be gone if a definition failed to change, which is an answer too.
    fn names(&self, table: usize) -> String {
        let columns = self.tables[table].columns.iter().map(|(name, _)| name.as_str());
        ["id"].into_iter().chain(columns).collect::<Vec<_>>().join(", ")
    }

    fn write(&mut self) {
        let table = self.table();
        let name = self.tables[table].name.clone();
        let sql = match self.random.below(10) {
            0..4 => {
                let rows: Vec<String> = (0..1 + self.random.below(ROWS_MAX)).map(|_| self.row(table)).collect();
                let verb = *pick(self.random, &["INSERT IGNORE", "REPLACE", "REPLACE", "INSERT"]);
                let (column, class) = self.column(table);
                let update = match verb {
                    "INSERT" => format!(" ON DUPLICATE KEY UPDATE {column} = {}", self.value(class)),
                    _ => String::new(),
                };
                format!("{verb} INTO {name} ({}) VALUES {}{update}", self.names(table), rows.join(", "))
            }
            4..7 => {
                let (column, class) = self.column(table);
                let value = self.value(class);
                let filter = self.filter(table);
                format!("UPDATE {name} SET {column} = {value} WHERE {filter} ORDER BY id LIMIT {}", 1 + self.random.below(50))
            }
            7 => {
                let filter = self.filter(table);
                format!("UPDATE {name} SET id = id + 1000 WHERE {filter} ORDER BY id DESC LIMIT 5")
            }
            8 => {
                let filter = self.filter(table);
                format!("DELETE FROM {name} WHERE {filter} ORDER BY id LIMIT {}", 1 + self.random.below(80))
            }
            _ => {
                let from = self.table();
                let source = self.tables[from].name.clone();
                let (column, _) = self.column(from);
                format!("INSERT IGNORE INTO {name} (id, c0) SELECT id + 7, LENGTH({column}) FROM {source} ORDER BY id LIMIT 60")
            }
        };
        self.run(WRITER, sql);
    }

    fn filter(&mut self, table: usize) -> String {
        let (column, class) = self.read_column(table);
        let (low, high) = (self.random.below(IDS), self.random.below(IDS));
        let value = self.value(class);
        match self.random.below(if self.computes { 8 } else { 7 }) {
            7 => format!("LENGTH(pad) + 2 = {}", self.random.below(60)),
            0 => format!("id = {low}"),
            1 => format!("id BETWEEN {} AND {}", low.min(high), low.max(high)),
            2 => format!("id IN ({low}, {high}, {})", self.random.below(IDS)),
            3 => format!("{column} = {value}"),
            4 => format!("{column} > {value}"),
            5 => format!("{column} IS NULL OR id < {low}"),
            _ => format!("{column} <= {value} AND id > {low}"),
        }
    }

    fn select(&mut self) -> String {
        let table = self.table();
        let name = self.tables[table].name.clone();
        let filter = self.filter(table);
        let (column, _) = self.read_column(table);
        let direction = *pick(self.random, &["", " DESC"]);
        let limit = *pick(self.random, &["", " LIMIT 3", " LIMIT 10 OFFSET 4"]);
        match self.random.below(9) {
            0 => format!("SELECT * FROM {name} WHERE {filter} ORDER BY id{direction}{limit}"),
            1 => format!("SELECT id, {column} FROM {name} WHERE {filter} ORDER BY {column}{direction}, id{limit}"),
            2 => format!("SELECT COUNT(*), COUNT({column}), MIN({column}), MAX({column}) FROM {name} WHERE {filter}"),
            3 => format!("SELECT {column}, COUNT(*), SUM(id) FROM {name} GROUP BY {column} ORDER BY {column}{direction}{limit}"),
            4 => format!("SELECT COUNT(*) FROM {name}"),
            5 => {
                let other = self.table();
                let other = self.tables[other].name.clone();
                format!(
                    "SELECT a.id, b.id FROM {name} a JOIN {other} b ON a.c0 = b.c0 WHERE a.{filter_a} ORDER BY 1, 2{limit}",
                    filter_a = format_args!("id < {}", self.random.below(IDS))
                )
            }
            6 => format!("SELECT DISTINCT {column} FROM {name} ORDER BY {column}{direction}{limit}"),
            7 => format!("SELECT id FROM {name} WHERE id = (SELECT MAX(id) FROM {name} WHERE {filter}) ORDER BY id"),
            _ => format!("SELECT id, c0 FROM {name} FORCE INDEX (c0) WHERE c0 >= 0 ORDER BY c0{direction}, id{limit}"),
        }
    }

    fn transaction(&mut self) {
        if !self.in_transaction[WRITER] {
            self.in_transaction[WRITER] = true;
            let begin = *pick(self.random, &["BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT"]);
            return self.run(WRITER, begin);
        }
        let sql = match self.random.below(6) {
            0 if !self.savepoint => {
                self.savepoint = true;
                return self.run(WRITER, "SAVEPOINT s");
            }
            1 | 2 if self.savepoint => return self.run(WRITER, "ROLLBACK TO SAVEPOINT s"),
            3 => "ROLLBACK",
            _ => "COMMIT",
        };
        self.savepoint = false;
        self.in_transaction[WRITER] = false;
        self.run(WRITER, sql);
    }

    fn reader(&mut self) {
        let session = 1 + self.random.below(SESSIONS as u64 - 1) as usize;
        let open = &mut self.in_transaction[session];
        *open = !*open;
        let sql = if *open { "START TRANSACTION WITH CONSISTENT SNAPSHOT" } else { "COMMIT" };
        self.run(session, sql);
    }

    fn define(&mut self) {
        let at = self.table();
        let name = self.tables[at].name.clone();
        let (column, class) = self.column(at);
        self.tables[at].made += 1;
        let made = self.tables[at].made;
        let sql = match self.random.below(if self.computes { 17 } else { 14 }) {
            14 => {
                self.tables[at].computed.push((format!("g{made}"), Class::Int));
                let kind = *pick(self.random, &["", "", " STORED"]);
                format!("ALTER TABLE {name} ADD COLUMN g{made} INT AS (LENGTH(pad) % 7){kind}")
            }
            15 => {
                self.tables[at].indexes.push(format!("i{made}"));
                let part = *pick(self.random, &["g0", "g2", "(LENGTH(pad) * 3)", "(g0 + id), c0"]);
                format!("CREATE INDEX i{made} ON {name} ({part})")
            }
            16 => {
                let (computed, _) = self.tables[at].computed.pop().unwrap_or(("g0".into(), Class::Int));
                format!("ALTER TABLE {name} DROP COLUMN {computed}")
            }
            0 | 1 => {
                let class = *pick(self.random, CLASSES);
                let position = *pick(self.random, &["", " FIRST", " AFTER id"]);
                let default = self.value(class);
                let default = if default.contains('(') { "'new'".to_string() } else { default };
                self.tables[at].columns.push((format!("c{made}"), class));
                format!("ALTER TABLE {name} ADD COLUMN c{made} {} DEFAULT {default}{position}", class.declaration())
            }
            2 if column != "c0" && column != "pad" => {
                self.tables[at].columns.retain(|(name, _)| *name != column);
                format!("ALTER TABLE {name} DROP COLUMN {column}")
            }
            3 | 4 => {
                self.tables[at].indexes.push(format!("i{made}"));
                let unique = if self.random.one_in(4) { "UNIQUE " } else { "" };
                let length = if class == Class::Text { "(20)" } else { "" };
                format!("CREATE {unique}INDEX i{made} ON {name} ({column}{length}, id)")
            }
            5 if self.tables[at].indexes.len() > 1 => {
                let index = self.tables[at].indexes.pop().unwrap_or_default();
                format!("ALTER TABLE {name} DROP INDEX {index}")
            }
            6 | 7 => format!("ALTER TABLE {name} MODIFY {column} {}", class.wider()),
            8 => format!("TRUNCATE TABLE {name}"),
            9 => format!("OPTIMIZE TABLE {name}"),
            10 => format!("ANALYZE TABLE {name}"),
            11 => format!("CHECK TABLE {name}"),
            12 => {
                let other = self.table();
                let other = self.tables[other].name.clone();
                self.run(WRITER, "DROP TABLE IF EXISTS copy");
                self.run(WRITER, format!("CREATE TABLE copy (PRIMARY KEY (id)) SELECT id, c0 FROM {other} ORDER BY id"));
                "SELECT COUNT(*), SUM(id), SUM(c0) FROM copy".into()
            }
            _ => {
                self.run(WRITER, format!("DROP TABLE {name}"));
                return self.create_table(at);
            }
        };
        self.run(WRITER, sql);
    }
}
