//! Random statements: SELECT in its forms, and the statements that change rows.
//!
//! A SELECT with LIMIT always has a total order, because which rows it returns would be open otherwise.

use super::answer::Sent;
use super::schema::{Table, doubtful, literal, pick};
use super::tree::{Tree, tree};
use crate::random::Random;

pub struct Generator<'a> {
    pub random: &'a mut Random,
    pub tables: &'a [Table],
    /// Aliases of the tables that may be named, with the table's position.
    pub scope: Vec<(String, usize)>,
    aliases: usize,
}

/// A statement and what is compared of it.
pub struct Statement {
    pub tree: Tree,
    /// The rows come in an order that the statement fixes.
    pub ordered: bool,
    /// It changes tables, so their rows are compared afterwards.
    pub writes: bool,
    /// It is prepared, and the literals that this mask chooses are parameters.
    pub prepared: Option<u64>,
    /// What the session knows of it is compared rather than its warnings.
    pub counts: bool,
}

impl Statement {
    fn new(tree: Tree, ordered: bool, writes: bool) -> Statement {
        Statement { tree, ordered, writes, prepared: None, counts: false }
    }

    /// How `tree`, a simpler form of the statement's own, is sent.
    pub fn sent(&self, tree: &Tree) -> Sent {
        match self.prepared {
            None => Sent { sql: tree.sql(), params: None, counts: self.counts },
            Some(mask) => {
                let (sql, params) = tree.prepared(mask);
                Sent { sql, params: Some(params), counts: self.counts }
            }
        }
    }
}

const DEPTH: u32 = 2;
const LOCKS: &[&str] = &[" FOR UPDATE", " FOR SHARE", " LOCK IN SHARE MODE", " FOR UPDATE NOWAIT", " FOR SHARE SKIP LOCKED"];

impl<'a> Generator<'a> {
    pub fn new(random: &'a mut Random, tables: &'a [Table]) -> Generator<'a> {
        Generator { random, tables, scope: Vec::new(), aliases: 0 }
    }

    pub fn statement(&mut self) -> Statement {
        let mut statement = match self.random.below(10) {
            0 => self.constant(),
            1..7 => self.select(),
            _ => Statement::new(self.write(), true, true),
        };
        statement.prepared = self.random.one_in(4).then(|| self.random.next());
        statement.counts = self.random.one_in(5);
        statement
    }

    /// Expressions of constants only.
    fn constant(&mut self) -> Statement {
        let values = (0..=self.random.below(2)).map(|_| self.any(DEPTH + 1)).collect();
        Statement::new(tree!(Query; "SELECT ", Tree::shrinking_list(values, ", ")), true, false)
    }

    fn select(&mut self) -> Statement {
        match self.random.below(8) {
            0 => {
                let all = if self.random.one_in(2) { " UNION " } else { " UNION ALL " };
                let width = 1 + self.random.below(2);
                let (a, b) = (self.plain_query(width), self.plain_query(width));
                Statement::new(tree!(Query; a, all, b), false, false)
            }
            1 | 2 => Statement::new(self.grouped_query(), false, false),
            3 => Statement::new(self.using_query(), false, false),
            _ => {
                let width = 1 + self.random.below(3);
                self.ordered_query(width)
            }
        }
    }

    fn add_table(&mut self) -> (String, String) {
        let table = self.random.below(self.tables.len() as u64) as usize;
        let alias = format!("a{}", self.aliases);
        self.aliases += 1;
        self.scope.push((alias.clone(), table));
        (self.tables[table].name.clone(), alias)
    }

    /// `t0 AS a0 LEFT JOIN t1 AS a1 ON …`
    fn from(&mut self) -> Tree {
        let (name, alias) = self.add_table();
        let mut from = tree!(Fixed; format!("{name} AS {alias}"));
        for _ in 0..self.random.below(3) {
            let (name, alias) = self.add_table();
            let join = *pick(self.random, &["JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN", "STRAIGHT_JOIN"]);
            let condition = if self.random.one_in(2) { self.equal_columns() } else { self.boolean(1) };
            from = tree!(Fixed; from, tree!(Optional; format!(" {join} {name} AS {alias} ON "), condition));
        }
        from
    }

    /// `*` of joins by common columns, which all tables have: `id` and `c0`, `c1` …
    fn using_query(&mut self) -> Tree {
        let joins = ["JOIN", "LEFT JOIN", "RIGHT JOIN"];
        let common = if self.random.one_in(2) { "c1, id" } else { "id" };
        let (a, b) = (*pick(self.random, &joins), *pick(self.random, &joins));
        let two = tree!(Fixed; format!("t0 {a} t1 USING ({common})"));
        match self.random.below(3) {
            0 => tree!(Query; "SELECT * FROM ", two),
            1 => tree!(Query; "SELECT * FROM ", two, format!(" {b} t2 USING (id)")),
            _ => {
                tree!(Query; format!("SELECT t1.*, id FROM t0 {a} t1 USING ({common})"), tree!(Optional; format!(" {b} t2 USING (c0, id)")))
            }
        }
    }

    fn equal_columns(&mut self) -> Tree {
        let a = self.column(|_| true).unwrap_or_else(|| tree!(Value; "1"));
        let b = self.column(|_| true).unwrap_or_else(|| tree!(Value; "1"));
        tree!(Value; "(", a, " = ", b, ")")
    }

    fn filter(&mut self) -> Tree {
        if self.random.one_in(3) {
            return tree!(Optional;);
        }
        let condition = self.boolean(DEPTH);
        tree!(Optional; " WHERE ", condition)
    }

    fn plain_query(&mut self, width: u64) -> Tree {
        let before = self.scope.len();
        let from = self.from();
        let filter = self.filter();
        let values = (0..width).map(|_| self.any(DEPTH)).collect();
        self.scope.truncate(before);
        let distinct = if self.random.one_in(8) { "DISTINCT " } else { "" };
        tree!(Query; "SELECT ", distinct, Tree::list(values, ", "), " FROM ", from, filter)
    }

    fn ordered_query(&mut self, width: u64) -> Statement {
        let from = self.from();
        let filter = self.filter();
        let values = (0..width).map(|_| self.any(DEPTH)).collect();
        let ordered = self.random.one_in(2);
        let ids = self.scope.iter().map(|(alias, _)| tree!(Value; format!("{alias}.id"))).collect();
        let key = self.any(1);
        let direction = if self.random.one_in(2) { " DESC" } else { "" };
        let limit = match self.random.below(4) {
            0 => " LIMIT 3",
            1 => " LIMIT 2, 4",
            _ => "",
        };
        let order = if ordered {
            tree!(Fixed; " ORDER BY ", tree!(Optional; "(", key, ")", direction, ", "), Tree::list(ids, ", "), tree!(Optional; limit))
        } else {
            tree!(Fixed;)
        };
        let lock = if self.random.one_in(8) { *pick(self.random, LOCKS) } else { "" };
        let tree =
            tree!(Query; "SELECT ", Tree::shrinking_list(values, ", "), " FROM ", from, filter, order, tree!(Optional; lock));
        Statement::new(tree, ordered, false)
    }

    fn aggregate(&mut self) -> Tree {
        let template = *pick(
            self.random,
            &[
                "COUNT(*)",
                "COUNT(?)",
                "COUNT(DISTINCT ?)",
                "SUM(?)",
                "AVG(?)",
                "MIN(?)",
                "MAX(?)",
                "BIT_OR(?)",
                "BIT_AND(?)",
                "STD(?)",
                "SUM(DISTINCT ?)",
                "GROUP_CONCAT(DISTINCT ? ORDER BY 1)",
            ],
        );
        match template.split_once('?') {
            None => tree!(Value; template),
            Some((before, after)) => {
                let value = self.any(1);
                tree!(Fixed; before, value, after)
            }
        }
    }

    fn grouped_query(&mut self) -> Tree {
        let from = self.from();
        let filter = self.filter();
        let keys: Vec<Tree> = (0..1 + self.random.below(2)).filter_map(|_| self.column(|_| true)).collect();
        let mut values = keys.clone();
        values.extend((0..1 + self.random.below(2)).map(|_| self.aggregate()));
        let having = if self.random.one_in(3) {
            let aggregate = self.aggregate();
            tree!(Optional; " HAVING ", aggregate, " > 1")
        } else {
            tree!(Optional;)
        };
        let rollup = if self.random.one_in(6) { " WITH ROLLUP" } else { "" };
        let list = Tree::shrinking_list(values, ", ");
        let keys = Tree::list(keys, ", ");
        if self.random.one_in(4) {
            let aggregates = (0..2).map(|_| self.aggregate()).collect();
            return tree!(Query; "SELECT ", Tree::shrinking_list(aggregates, ", "), " FROM ", from, filter);
        }
        if self.random.one_in(3) {
            let value = if self.random.one_in(3) { tree!(Value; "7") } else { list };
            return tree!(Query; "SELECT DISTINCT ", value, " FROM ", from, filter, " GROUP BY ", keys, tree!(Optional; rollup), having);
        }
        tree!(Query; "SELECT ", list, " FROM ", from, filter, " GROUP BY ", keys, tree!(Optional; rollup), having)
    }

    pub fn scalar_subquery(&mut self, depth: u32) -> Tree {
        let before = self.scope.len();
        let (name, alias) = self.add_table();
        let value = self.any(depth);
        let filter = self.boolean(depth);
        self.scope.truncate(before);
        match self.random.below(2) {
            0 => {
                tree!(Value; "(SELECT MAX(", value, format!(") FROM {name} AS {alias}"), tree!(Optional; " WHERE ", filter), ")")
            }
            _ => tree!(Value; "(SELECT ", value, format!(" FROM {name} AS {alias}"), tree!(Optional; " WHERE ", filter),
                format!(" ORDER BY {alias}.id LIMIT 1)")),
        }
    }

    pub fn subquery_condition(&mut self, depth: u32) -> Tree {
        let left = self.any(depth);
        let before = self.scope.len();
        let (name, alias) = self.add_table();
        let value = self.any(depth);
        let filter = self.boolean(depth);
        self.scope.truncate(before);
        let filter = tree!(Optional; " WHERE ", filter);
        let from = format!(" FROM {name} AS {alias}");
        match self.random.below(6) {
            0 => tree!(Value; "EXISTS (SELECT 1", from, filter, ")"),
            1 => tree!(Value; "NOT EXISTS (SELECT 1", from, filter, ")"),
            2 => tree!(Value; "(", left, " NOT IN (SELECT ", value, from, filter, "))"),
            3 => tree!(Value; "(", left, " > ALL (SELECT ", value, from, filter, "))"),
            4 => tree!(Value; "(", left, " = ANY (SELECT ", value, from, filter, "))"),
            _ => tree!(Value; "(", left, " IN (SELECT ", value, from, filter, "))"),
        }
    }

    fn write(&mut self) -> Tree {
        let table = self.random.below(self.tables.len() as u64) as usize;
        self.scope = vec![(self.tables[table].name.clone(), table)];
        match self.random.below(9) {
            0..3 => self.insert(table),
            3 => self.insert_select(table),
            4 | 5 => self.update(table),
            6 => self.update_join(),
            7 => self.delete(table),
            _ => self.delete_join(),
        }
    }

    fn row(&mut self, table: usize) -> Tree {
        let columns = &self.tables[table].columns;
        let mut values = vec![self.id(table)];
        for column in columns.iter().skip(1) {
            let value = if self.random.one_in(6) { "DEFAULT" } else { doubtful(self.random, column.class) };
            values.push(tree!(Value; value));
        }
        tree!(Fixed; "(", Tree::list(values, ", "), ")")
    }

    /// An id that may be there already, or one that is generated.
    fn id(&mut self, table: usize) -> Tree {
        if self.tables[table].generates && self.random.one_in(3) {
            return tree!(Value; *pick(self.random, &["NULL", "DEFAULT", "0"]));
        }
        tree!(Value; (1 + self.random.below(20)).to_string())
    }

    fn insert(&mut self, table: usize) -> Tree {
        let verb = *pick(self.random, &["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"]);
        if self.random.one_in(4) {
            return self.insert_some_columns(verb, table);
        }
        let rows = (0..1 + self.random.below(3)).map(|_| self.row(table)).collect();
        let name = &self.tables[table].name;
        let update = if verb.starts_with("INSERT") && self.random.one_in(3) {
            let assignment = self.assignment(table);
            tree!(Optional; " ON DUPLICATE KEY UPDATE ", assignment)
        } else {
            tree!(Optional;)
        };
        tree!(Fixed; format!("{verb} INTO {name} VALUES "), Tree::shrinking_list(rows, ", "), update)
    }

    /// `INSERT INTO t (c2, id) VALUES (DEFAULT, 7), …`: what the other columns get.
    fn insert_some_columns(&mut self, verb: &str, table: usize) -> Tree {
        let columns = &self.tables[table].columns;
        let mut named: Vec<usize> = (1..columns.len()).filter(|_| self.random.one_in(2)).collect();
        named.insert(self.random.below(named.len() as u64 + 1) as usize, 0);
        let names: Vec<&str> = named.iter().map(|n| columns[*n].name.as_str()).collect();
        let mut rows = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let mut values = Vec::new();
            for n in &named {
                values.push(match n {
                    0 => self.id(table),
                    _ if self.random.one_in(3) => tree!(Value; "DEFAULT"),
                    n => tree!(Value; literal(self.random, columns[*n].class)),
                });
            }
            rows.push(tree!(Fixed; "(", Tree::list(values, ", "), ")"));
        }
        tree!(Fixed; format!("{verb} INTO {} ({}) VALUES ", self.tables[table].name, names.join(", ")), Tree::shrinking_list(rows, ", "))
    }

    fn insert_select(&mut self, table: usize) -> Tree {
        let verb = *pick(self.random, &["INSERT", "INSERT IGNORE", "REPLACE"]);
        let target = &self.tables[table];
        self.scope.clear();
        let (name, alias) = self.add_table();
        let values = target.columns.iter().skip(1).map(|_| self.any(1)).collect();
        let filter = self.filter();
        tree!(Fixed; format!("{verb} INTO {} SELECT {alias}.id + 10, ", target.name), Tree::list(values, ", "),
            format!(" FROM {name} AS {alias}"), filter, format!(" ORDER BY {alias}.id"))
    }

    fn assignment(&mut self, table: usize) -> Tree {
        let name = self.tables[table].name.clone();
        let columns = &self.tables[table].columns;
        let column = pick(self.random, &columns[1..]);
        let value = match self.random.below(6) {
            0 => tree!(Value; "DEFAULT"),
            1 | 2 => tree!(Value; doubtful(self.random, column.class)),
            _ => self.any(1),
        };
        tree!(Fixed; format!("{name}.{} = ", column.name), value)
    }

    fn update(&mut self, table: usize) -> Tree {
        let name = self.tables[table].name.clone();
        let ignore = if self.random.one_in(4) { "IGNORE " } else { "" };
        let assignments = (0..1 + self.random.below(2)).map(|_| self.assignment(table)).collect();
        let filter = self.filter();
        let limit = if self.random.one_in(3) { " LIMIT 3" } else { "" };
        tree!(Fixed; format!("UPDATE {ignore}{name} SET "), Tree::shrinking_list(assignments, ", "), filter, " ORDER BY id", tree!(Optional; limit))
    }

    fn update_join(&mut self) -> Tree {
        self.scope = vec![("t0".into(), 0), ("t1".into(), 1)];
        let assignment = self.assignment(0);
        let filter = self.filter();
        tree!(Fixed; "UPDATE t0 JOIN t1 ON t0.id = t1.id SET ", assignment, filter)
    }

    fn delete(&mut self, table: usize) -> Tree {
        let name = self.tables[table].name.clone();
        let filter = self.filter();
        tree!(Fixed; format!("DELETE FROM {name}"), filter, tree!(Optional; " ORDER BY id LIMIT 2"))
    }

    fn delete_join(&mut self) -> Tree {
        self.scope = vec![("t0".into(), 0), ("t1".into(), 1)];
        let filter = self.filter();
        let condition = self.equal_columns();
        let targets = *pick(self.random, &["t0", "t1", "t0, t1"]);
        tree!(Fixed; format!("DELETE {targets} FROM t0 LEFT JOIN t1 ON "), condition, filter)
    }
}
