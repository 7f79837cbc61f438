//! Random queries: blocks, set operations, common table expressions, windows.
//!
//! A generator keeps the columns that each query around the present one has (`scopes`), so that an inner one may name those one or two levels
//! out. Where a LIMIT stands or a window counts rows, the order is total: rows that tie are the same.
//! A name of a table is followed by a mark `/*t0*/`, in whose place `checks` puts an index hint.

use super::data::{KINDS, Kind, Relation};
use crate::diff_test::schema::pick;
use crate::diff_test::tree::{Kind as Node, Part, Tree, tree};
use crate::random::Random;

/// Query blocks of a statement, so that it ends in time.
const BLOCKS_MAX: u32 = 9;

/// One row source of a FROM clause.
#[derive(Clone)]
pub struct Source {
    /// As they are named in a query.
    pub columns: Vec<(String, Kind)>,
    pub key: Vec<String>,
    /// No two of its rows are the same.
    pub is_unique: bool,
    /// Its `id`, if it is a table.
    id: Option<String>,
}

pub struct Generator<'a> {
    pub random: &'a mut Random,
    relations: &'a [Relation],
    /// Common table expressions in scope.
    named: Vec<Relation>,
    pub scopes: Vec<Vec<Source>>,
    /// Conditions that join tables that a comma stands between.
    pub linked: Vec<Tree>,
    names: u32,
    blocks: u32,
    /// Window functions of the present block.
    pub windows: u32,
}

impl<'a> Generator<'a> {
    pub fn new(random: &'a mut Random, relations: &'a [Relation]) -> Generator<'a> {
        Generator {
            random,
            relations,
            named: Vec::new(),
            scopes: Vec::new(),
            linked: Vec::new(),
            names: 0,
            blocks: 0,
            windows: 0,
        }
    }

    pub fn kinds(&mut self, max: u64) -> Vec<Kind> {
        (0..=self.random.below(max)).map(|_| *pick(self.random, &KINDS)).collect()
    }

    /// A whole statement.
    pub fn statement(&mut self) -> Tree {
        let kinds = self.kinds(4);
        self.query(&kinds, 3)
    }

    /// No more blocks may be begun.
    pub fn is_full(&self) -> bool {
        self.blocks >= BLOCKS_MAX
    }

    pub fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// A query of columns `c0`, `c1` … of these kinds.
    pub fn query(&mut self, kinds: &[Kind], depth: u32) -> Tree {
        if depth == 0 || self.is_full() {
            return self.block(kinds, depth);
        }
        let before = self.named.len();
        // MySQL 9.7 ends, or does not find tables, where a side of a set operation has a WITH inside of another.
        let with = if self.named.is_empty() && self.random.one_in(4) { self.with(depth - 1) } else { tree!(Fixed;) };
        let body = match self.random.below(6) {
            0 => self.set_operation(kinds, depth - 1),
            _ => self.block(kinds, depth),
        };
        self.named.truncate(before);
        tree!(Query; with, body, self.order(kinds))
    }

    /// ORDER BY all columns, which leaves open only the order of rows that are the same, and then sometimes LIMIT.
    fn order(&mut self, kinds: &[Kind]) -> Tree {
        if !self.random.one_in(4) {
            return tree!(Fixed;);
        }
        self.total_order(kinds.len())
    }

    fn total_order(&mut self, columns: usize) -> Tree {
        let direction = |random: &mut Random| if random.one_in(3) { " DESC" } else { "" };
        let start = self.random.below(columns as u64) as usize;
        let all: Vec<String> = (0..columns).map(|n| format!("c{}{}", (n + start) % columns, direction(self.random))).collect();
        let limit = match self.random.below(4) {
            0 => tree!(Fixed;),
            1 => tree!(Optional; format!(" LIMIT {} OFFSET {}", 1 + self.random.below(20), self.random.below(9))),
            _ => tree!(Optional; format!(" LIMIT {}", 1 + self.random.below(20))),
        };
        tree!(Optional; format!(" ORDER BY {}", all.join(", ")), limit)
    }

    fn set_operation(&mut self, kinds: &[Kind], depth: u32) -> Tree {
        let mut parts: Vec<Part> = Vec::new();
        // One operator, as MySQL 9.7 ends at some chains of INTERSECT and EXCEPT; operands have others.
        let word = *pick(self.random, &["UNION", "UNION ALL", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]);
        for n in 0..2 + self.random.below(2) {
            if n > 0 {
                parts.push(format!(" {word} ").into());
            }
            let nested = depth > 0 && self.random.one_in(4);
            let side = if nested { self.query(kinds, depth) } else { self.block(kinds, depth) };
            parts.extend(["(".into(), side.into(), ")".into()]);
        }
        Tree::new(Node::Query, parts)
    }

    /// One or two common table expressions, of which one may be recursive; they stay in scope.
    fn with(&mut self, depth: u32) -> Tree {
        let recursive = self.random.one_in(3);
        let mut parts: Vec<Part> = vec![if recursive { "WITH RECURSIVE ".into() } else { "WITH ".into() }];
        for n in 0..=self.random.below(2) {
            if n > 0 {
                parts.push(", ".into());
            }
            let name = self.name("w");
            let (kinds, query) = match recursive && n == 0 {
                true => self.recursive(&name),
                false => {
                    let kinds = self.kinds(3);
                    let query = self.query(&kinds, depth);
                    (kinds, query)
                }
            };
            parts.extend([format!("{name} AS (").into(), query.into(), ")".into()]);
            self.named.push(derived(&name, &kinds));
        }
        parts.push(" ".into());
        Tree::new(Node::Fixed, parts)
    }

    /// A number that grows to a bound, beside a column that each step looks up.
    fn recursive(&mut self, name: &str) -> (Vec<Kind>, Tree) {
        let (table, step) = (self.name("a"), self.name("a"));
        let relation = pick(self.random, &self.relations[..super::data::TABLES]).clone();
        let union = if self.random.one_in(3) { "UNION ALL" } else { "UNION" };
        let bound = 2 + self.random.below(4);
        let at = format!("{0} AS {table}/*{0}*/", relation.name);
        let next = format!("{0} AS {step}/*{0}*/", relation.name);
        let anchor = format!("SELECT 1 AS c0, {table}.i1 AS c1 FROM {at} WHERE {table}.id < {bound}");
        let link = match self.random.below(3) {
            0 => format!("{step}.id = r.c1 + r.c0"),
            1 => format!("{step}.id = r.c1"),
            _ => format!("{step}.id BETWEEN r.c0 AND r.c0 + 1"),
        };
        let join = *pick(self.random, &["JOIN", "LEFT JOIN"]);
        let steps = format!("SELECT r.c0 + 1, {step}.i1 FROM {name} AS r {join} {next} ON {link} WHERE r.c0 < {bound}");
        (vec![Kind::Int, Kind::Int], tree!(Query; format!("{anchor} {union} {steps}")))
    }

    /// One SELECT.
    pub fn block(&mut self, kinds: &[Kind], depth: u32) -> Tree {
        self.blocks += 1;
        self.scopes.push(Vec::new());
        let linked = std::mem::take(&mut self.linked);
        let max = if self.blocks == 1 { 6 } else { 3 };
        let from = self.from(depth, max);
        let filter = self.filter(depth);
        let block = match self.random.below(9) {
            0..3 => self.grouped(kinds, depth, from, filter),
            3 => self.aggregated(kinds, depth, from, filter),
            4 => {
                self.windows = 0;
                let list = self.list(kinds, |generator, kind| generator.window(kind));
                tree!(Query; "SELECT ", list, " FROM ", from, filter)
            }
            5 => {
                let list = self.values(kinds, depth);
                tree!(Query; "SELECT ", tree!(Optional; "DISTINCT "), list, " FROM ", from, filter)
            }
            _ => {
                let list = self.values(kinds, depth);
                tree!(Query; "SELECT ", list, " FROM ", from, filter)
            }
        };
        self.scopes.pop();
        self.linked = linked;
        block
    }

    /// Values of these kinds as the columns of a block.
    fn values(&mut self, kinds: &[Kind], depth: u32) -> Tree {
        self.list(kinds, |generator, kind| generator.value(kind, depth.min(2)))
    }

    fn list(&mut self, kinds: &[Kind], mut value: impl FnMut(&mut Self, Kind) -> Tree) -> Tree {
        let all = kinds.iter().enumerate().map(|(n, kind)| tree!(Fixed; value(self, *kind), format!(" AS c{n}")));
        Tree::shrinking_list(all.collect(), ", ")
    }

    /// Aggregates of all rows.
    pub fn aggregated(&mut self, kinds: &[Kind], depth: u32, from: Tree, filter: Tree) -> Tree {
        let list = self.list(kinds, |generator, kind| generator.aggregate(kind));
        let having = match self.random.below(6) {
            0 => tree!(Optional; " HAVING ", self.aggregate_condition(depth, false)),
            _ => tree!(Fixed;),
        };
        tree!(Query; "SELECT ", list, " FROM ", from, filter, having)
    }

    /// Groups, sometimes with ROLLUP and HAVING.
    fn grouped(&mut self, kinds: &[Kind], depth: u32, from: Tree, filter: Tree) -> Tree {
        let mut groups: Vec<(String, Kind)> = Vec::new();
        for _ in 0..=self.random.below(3) {
            let kind = *pick(self.random, &KINDS);
            if let Some(column) = self.own_column(kind).filter(|column| groups.iter().all(|(other, _)| other != column)) {
                groups.push((column, kind));
            }
        }
        if groups.is_empty() {
            return self.aggregated(kinds, depth, from, filter);
        }
        let rollup = self.random.one_in(5);
        let own = self.scopes.last().cloned().unwrap_or_default();
        let grouped = Source { columns: groups.clone(), key: Vec::new(), is_unique: false, id: None };
        let list = self.list(kinds, |generator, kind| {
            if generator.random.one_in(2) {
                return generator.aggregate(kind);
            }
            generator.set_scope(vec![grouped.clone()]);
            let value = match rollup {
                true => generator.own_column(kind).map_or_else(|| generator.constant(kind), |column| tree!(Value; column)),
                false => generator.value(kind, depth.min(2)),
            };
            generator.set_scope(own.clone());
            value
        });
        let having = match self.random.below(3) {
            0 => {
                let of_groups = !rollup && self.random.one_in(2);
                if of_groups {
                    self.set_scope(vec![grouped]);
                }
                let condition = match of_groups {
                    true => self.condition(depth),
                    false => self.aggregate_condition(depth, !rollup),
                };
                tree!(Optional; " HAVING ", condition)
            }
            _ => tree!(Fixed;),
        };
        let names: Vec<Tree> = groups.into_iter().map(|(column, _)| tree!(Fixed; column)).collect();
        let names = Tree::shrinking_list(names, ", ");
        let rollup = if rollup { tree!(Optional; " WITH ROLLUP") } else { tree!(Fixed;) };
        tree!(Query; "SELECT ", list, " FROM ", from, filter, " GROUP BY ", names, rollup, having)
    }

    fn set_scope(&mut self, sources: Vec<Source>) {
        if let Some(last) = self.scopes.last_mut() {
            *last = sources;
        }
    }

    /// Adds tables to the present scope.
    pub fn from(&mut self, depth: u32, max: u64) -> Tree {
        let count = 1 + self.random.below(max).min(self.random.below(max));
        let commas = self.random.one_in(5);
        let mut parts: Vec<Part> = vec![self.item(depth, count > 3).into()];
        for n in 1..count {
            if commas {
                let before = self.scopes.last().map_or(0, Vec::len);
                let item = self.item(depth, count > 3);
                parts.push(tree!(Optional; ", ", item).into());
                let link = self.link(before);
                self.linked.push(link);
            } else {
                parts.push(self.join(depth, n == 1, count > 3).into());
            }
        }
        Tree::new(Node::Fixed, parts)
    }

    /// One more operand of a join.
    fn join(&mut self, depth: u32, is_first: bool, is_long: bool) -> Tree {
        let before = self.scopes.last().map_or(0, Vec::len);
        let word = *pick(self.random, &["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"]);
        if word != "RIGHT JOIN" && depth > 0 && !self.is_full() && self.random.one_in(8) {
            let word = if word == "LEFT JOIN" { word } else { "JOIN" };
            let (alias, kinds) = (self.name("l"), self.kinds(2));
            let query = self.query(&kinds, depth - 1);
            self.add(&derived(&alias, &kinds), &alias);
            let link = if self.random.one_in(2) { self.link(before) } else { tree!(Value; "TRUE") };
            return tree!(Optional; format!(" {word} LATERAL ("), query, format!(") AS {alias} ON "), link);
        }
        let nested = self.random.one_in(8);
        let item = if nested { self.nested_join(depth) } else { self.item(depth, is_long) };
        if is_first && !nested && self.random.one_in(6) {
            let shared = self.shared_column();
            if let Some(column) = shared {
                return tree!(Optional; format!(" {} ", word.replace("STRAIGHT_JOIN", "JOIN")), item, format!(" USING ({column})"));
            }
        }
        let link = self.link(before);
        let more = match self.random.below(4) {
            0 => tree!(Optional; " AND ", self.condition(depth.saturating_sub(1))),
            _ => tree!(Fixed;),
        };
        tree!(Optional; format!(" {word} "), item, " ON ", link, more)
    }

    /// A join in parentheses, whose conditions see no table outside.
    fn nested_join(&mut self, depth: u32) -> Tree {
        let outside = self.scopes.last_mut().map(std::mem::take).unwrap_or_default();
        let first = self.item(depth, true);
        let second = self.item(depth, true);
        let word = *pick(self.random, &["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
        let link = self.link(1);
        let inside = self.scopes.last_mut().map(std::mem::take).unwrap_or_default();
        self.set_scope(outside.into_iter().chain(inside).collect());
        tree!(Fixed; "(", first, format!(" {word} "), second, " ON ", link, ")")
    }

    /// A column that both sources of the present scope have, by its bare name.
    fn shared_column(&mut self) -> Option<String> {
        let [left, right] = &self.scopes.last()?[..] else { return None };
        let bare = |name: &str| name.split_once('.').map(|(_, bare)| bare.to_string());
        let of =
            |source: &Source| source.columns.iter().filter_map(|(name, kind)| Some((bare(name)?, *kind))).collect::<Vec<_>>();
        let right = of(right);
        let shared: Vec<_> = of(left).into_iter().filter(|column| right.contains(column)).collect();
        if shared.is_empty() { None } else { Some(pick(self.random, &shared).0.clone()) }
    }

    /// An equality between the sources from number `before` on and those before them.
    fn link(&mut self, before: usize) -> Tree {
        let sources = self.scopes.last().cloned().unwrap_or_default();
        let (left, right) = sources.split_at(before.min(sources.len()));
        let columns = |sources: &[Source]| sources.iter().flat_map(|source| source.columns.clone()).collect::<Vec<_>>();
        let (left, right) = (columns(left), columns(right));
        let pairs: Vec<(&String, &String)> = left
            .iter()
            .flat_map(|(a, kind)| right.iter().filter(move |(_, other)| other == kind).map(move |(b, _)| (a, b)))
            .collect();
        if pairs.is_empty() {
            return tree!(Value; "TRUE");
        }
        // Most often of a column with many values, so that joins of many tables end.
        let is_wide = |name: &str| [".id", ".u1", ".i3", ".s2"].iter().any(|end| name.ends_with(end));
        let wide: Vec<_> = pairs.iter().copied().filter(|(a, b)| is_wide(a) && is_wide(b)).collect();
        let (a, b) =
            if wide.is_empty() || self.random.one_in(3) { *pick(self.random, &pairs) } else { *pick(self.random, &wide) };
        let op = match self.random.below(14) {
            0 => "<=>",
            1 => ">",
            _ => "=",
        };
        tree!(Value; tree!(Value; a.clone()), format!(" {op} "), tree!(Value; b.clone()))
    }

    /// A table, view, common table expression or derived table, which becomes part of the present scope.
    fn item(&mut self, depth: u32, is_long: bool) -> Tree {
        if depth > 0 && !is_long && !self.is_full() && self.random.one_in(6) {
            let (alias, kinds) = (self.name("d"), self.kinds(3));
            let own = self.scopes.last_mut().map(std::mem::take).unwrap_or_default();
            let query = self.query(&kinds, depth - 1);
            self.set_scope(own);
            self.add(&derived(&alias, &kinds), &alias);
            return tree!(Fixed; "(", query, format!(") AS {alias}"));
        }
        let alias = self.name("a");
        if !self.named.is_empty() && self.random.one_in(2) {
            let relation = pick(self.random, &self.named).clone();
            self.add(&relation, &alias);
            return tree!(Fixed; format!("{} AS {alias}", relation.name));
        }
        // Of joins of many tables the views and the large table are left out.
        let relations = if is_long { &self.relations[1..super::data::TABLES] } else { self.relations };
        let relation = pick(self.random, relations).clone();
        self.add(&relation, &alias);
        let mark = if relation.indexes.is_empty() { String::new() } else { format!("/*{}*/", relation.name) };
        tree!(Fixed; format!("{} AS {alias}{mark}", relation.name))
    }

    fn add(&mut self, relation: &Relation, alias: &str) {
        let columns = relation.columns.iter().map(|(name, kind)| (format!("{alias}.{name}"), *kind)).collect();
        let is_text = |name: &String| relation.columns.contains(&(name.clone(), Kind::Str));
        // Texts that differ by case tie; two windows that each choose among them would choose differently.
        let exact = |name: &String| if is_text(name) { format!("HEX({alias}.{name})") } else { format!("{alias}.{name}") };
        let key = relation.key.iter().map(exact).collect();
        let id = relation.columns.first().filter(|(name, _)| name == "id").map(|_| format!("{alias}.id"));
        if let Some(last) = self.scopes.last_mut() {
            last.push(Source { columns, key, is_unique: relation.key.len() == 1 && id.is_some(), id });
        }
    }

    /// WHERE: what commas left open, a bound where many tables are joined, and conditions.
    pub fn filter(&mut self, depth: u32) -> Tree {
        let mut all = std::mem::take(&mut self.linked);
        let sources = self.scopes.last().map_or(0, Vec::len) as u64;
        let ids: Vec<String> = self.scopes.last().into_iter().flatten().filter_map(|source| source.id.clone()).collect();
        if sources > 2 && !ids.is_empty() {
            all.push(tree!(Value; format!("{} < {}", pick(self.random, &ids), 300 / sources)));
        }
        if self.scopes.len() > 1 && !self.random.one_in(4) {
            all.extend(self.correlation());
        }
        for _ in 0..self.random.below(3) {
            all.push(self.condition(depth));
        }
        if all.is_empty() {
            return tree!(Fixed;);
        }
        tree!(Optional; " WHERE ", Tree::shrinking_list(all, " AND "))
    }

    /// A column of this query beside one of a query around it.
    fn correlation(&mut self) -> Option<Tree> {
        let kind = *pick(self.random, &KINDS);
        let own = self.own_column(kind)?;
        let outer = self.outer_column(kind)?;
        let op = *pick(self.random, &["=", "=", "=", "=", "=", "<=>", "<", ">=", "<>"]);
        Some(tree!(Value; tree!(Value; own), format!(" {op} "), tree!(Value; outer)))
    }

    pub fn own_column(&mut self, kind: Kind) -> Option<String> {
        self.column_of(self.scopes.len().checked_sub(1)?, kind)
    }

    /// A column of the query around this one, or of the one around that.
    pub fn outer_column(&mut self, kind: Kind) -> Option<String> {
        let level = if self.random.one_in(3) { 3 } else { 2 };
        let level = self.scopes.len().checked_sub(level).or(self.scopes.len().checked_sub(2))?;
        self.column_of(level, kind)
    }

    fn column_of(&mut self, level: usize, kind: Kind) -> Option<String> {
        let all = self.scopes[level].iter().flat_map(|source| &source.columns);
        let all: Vec<&String> = all.filter(|(_, of)| *of == kind).map(|(name, _)| name).collect();
        if all.is_empty() { None } else { Some((*pick(self.random, &all)).clone()) }
    }
}

fn derived(name: &str, kinds: &[Kind]) -> Relation {
    let columns: Vec<(String, Kind)> = kinds.iter().enumerate().map(|(n, kind)| (format!("c{n}"), *kind)).collect();
    let key = columns.iter().map(|(name, _)| name.clone()).collect();
    Relation { name: name.to_string(), columns, key, indexes: Vec::new() }
}

/// A view, with the statement that creates it.
pub fn view(random: &mut Random, tables: &[Relation], name: &str) -> (Relation, String) {
    let mut generator = Generator::new(random, tables);
    let kinds = generator.kinds(4);
    let depth = generator.random.below(2) as u32;
    let query = generator.query(&kinds, depth).sql();
    let algorithm = *pick(random, &["MERGE", "TEMPTABLE", "UNDEFINED"]);
    let mut relation = derived(name, &kinds);
    relation.indexes.clear();
    (relation, format!("CREATE ALGORITHM = {algorithm} VIEW {name} AS {query}"))
}
