//! What must answer alike: a query in other words, on other tables, or on another server.
//!
//! A case is a tree whose text is a query, or the pieces of several with `PIECE` between them. `checks` makes the statements of it. Example: of
//! the form `Rows` the pieces `t0 AS a1`, ` WHERE a1.i2 = 1`, `a1.i1 > 2`, `a1.id AS c0` make `SELECT a1.id AS c0 FROM t0 AS a1 WHERE a1.i2 = 1`, which must
//! have the rows of three queries together: with `AND (a1.i1 > 2)`, with its NOT, and with its IS NULL (ternary logic partitioning: Rigger and Su,
//! Finding Bugs in Database Systems via Query Partitioning, 2020; `Counted` is NoREC of the same authors).

use super::data::Relation;
use super::query::Generator;
use crate::diff_test::schema::pick;
use crate::diff_test::tree::{Kind as Node, Tree, tree};
use crate::random::Random;

const PIECE: &str = "\u{1}";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Query,
    Counted,
    Rows,
    Distinct,
    Aggregates,
    Groups,
    Having,
}

const PARTITIONED: [Form; 6] = [Form::Counted, Form::Rows, Form::Distinct, Form::Aggregates, Form::Groups, Form::Having];

pub struct Case {
    pub form: Form,
    pub tree: Tree,
    /// Chooses indexes and parameters.
    pub salt: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Main,
    /// Tables without secondary indexes, on the same server.
    Bare,
    /// A server whose operators keep nothing in memory.
    Spilled,
    /// A server whose statements share all that they read among threads, however little it is.
    Parts,
    Mysql,
}

pub struct Run {
    pub place: Place,
    pub sql: String,
    /// Literals that are sent as parameters.
    pub params: Option<Vec<String>>,
}

pub struct Check {
    pub name: &'static str,
    pub left: Run,
    pub right: Run,
    /// The right side has each row twice.
    pub doubled: bool,
}

pub fn case(random: &mut Random, relations: &[Relation]) -> Case {
    let salt = random.next();
    let mut generator = Generator::new(random, relations);
    if !generator.random.one_in(3) {
        return Case { form: Form::Query, tree: generator.statement(), salt };
    }
    let form = *pick(generator.random, &PARTITIONED);
    generator.scopes.push(Vec::new());
    let from = generator.from(2, 5);
    let filter = generator.filter(2);
    let predicate = match form {
        Form::Having => generator.aggregate_condition(2, true),
        _ => generator.condition(3),
    };
    let kinds = generator.kinds(3);
    let last = match form {
        Form::Counted => tree!(Fixed;),
        Form::Rows | Form::Distinct => generator.columns(&kinds),
        Form::Aggregates => {
            let leaf = generator.leaf(kinds[0]).sql();
            let sum = if matches!(kinds[0], super::data::Kind::Int | super::data::Kind::Dec) { &leaf } else { "1" };
            tree!(Fixed; format!("COUNT(*) AS c0, COUNT({leaf}) AS c1, SUM({sum}) AS c2, MIN({leaf}) AS c3, MAX({leaf}) AS c4"))
        }
        Form::Groups | Form::Having | Form::Query => {
            let of = *pick(generator.random, &super::data::KINDS);
            // A constant in GROUP BY would be the number of a column.
            let group = super::data::KINDS.iter().chain([&kinds[0]]).rev().find_map(|kind| generator.own_column(*kind));
            let (group, leaf) = (group.unwrap_or_default(), generator.leaf(of).sql());
            tree!(Fixed; group, PIECE, leaf)
        }
    };
    let marks = [PIECE, PIECE, PIECE];
    let tree = tree!(Fixed; from, marks[0], filter, marks[1], tree!(Fixed; predicate), marks[2], last);
    Case { form, tree: Tree::new(Node::Fixed, vec![tree.into()]), salt }
}

impl Generator<'_> {
    fn columns(&mut self, kinds: &[super::data::Kind]) -> Tree {
        let all: Vec<Tree> =
            kinds.iter().enumerate().map(|(n, kind)| tree!(Fixed; self.value(*kind, 1), format!(" AS c{n}"))).collect();
        Tree::shrinking_list(all, ", ")
    }
}

/// A query without the marks behind its tables.
pub fn plain(sql: &str) -> String {
    with_marks(sql, |_, _| String::new())
}

/// The query with what `hint` says behind each table, given the table's name and how many came before.
fn with_marks(sql: &str, mut hint: impl FnMut(&str, usize) -> String) -> String {
    let mut out = String::new();
    let mut rest = sql;
    let mut count = 0;
    while let Some((before, (name, after))) =
        rest.split_once("/*").and_then(|(before, rest)| Some((before, rest.split_once("*/")?)))
    {
        out.push_str(before);
        out.push_str(&hint(name, count));
        count += 1;
        rest = after;
    }
    out + rest
}

/// Whether the order of the rows is given: an ORDER BY that stands in no parentheses.
pub fn is_ordered(sql: &str) -> bool {
    let mut depth = 0;
    sql.char_indices().any(|(at, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && sql[at..].starts_with(" ORDER BY ")
    })
}

pub fn checks(form: Form, tree: &Tree, salt: u64, relations: &[Relation], with_mysql: bool) -> Vec<Check> {
    let text = tree.sql();
    let run = |sql: String| Run { place: Place::Main, sql, params: None };
    if form != Form::Query {
        let pieces: Vec<&str> = text.split(PIECE).collect();
        let pieces: Vec<String> = pieces.into_iter().map(plain).collect();
        let Some((name, left, right)) = partitioned(form, &pieces) else { return Vec::new() };
        let mut all = vec![Check { name, left: run(left.clone()), right: run(right), doubled: false }];
        if with_mysql {
            all.push(Check {
                name: "MySQL",
                left: run(left.clone()),
                right: Run { place: Place::Mysql, ..run(left) },
                doubled: false,
            });
        }
        return all;
    }
    let sql = plain(&text);
    let indexes =
        |name: &str| relations.iter().find(|relation| relation.name == name).map_or(&[][..], |relation| &relation.indexes);
    let ignored = with_marks(&text, |name, _| match indexes(name) {
        [] => String::new(),
        all => format!(" IGNORE INDEX ({})", all.join(", ")),
    });
    let forced = with_marks(&text, |name, count| match indexes(name) {
        [] => String::new(),
        all => format!(" FORCE INDEX ({})", all[(salt as usize % 97 + count) % all.len()]),
    });
    let (prepared, params) = tree.prepared(if salt.is_multiple_of(2) { u64::MAX } else { salt });
    let twice = format!("WITH q AS ({sql}) SELECT * FROM q UNION ALL SELECT * FROM q");
    let others = [
        ("no secondary index", Run { place: Place::Bare, ..run(sql.clone()) }),
        ("spilled", Run { place: Place::Spilled, ..run(sql.clone()) }),
        ("several threads", Run { place: Place::Parts, ..run(sql.clone()) }),
        ("STRAIGHT_JOIN", run(sql.replace("SELECT ", "SELECT STRAIGHT_JOIN "))),
        ("IGNORE INDEX", run(ignored)),
        ("FORCE INDEX", run(forced)),
        ("derived table", run(format!("SELECT * FROM ({sql}) AS q"))),
        ("common table expression", run(twice)),
        ("prepared", Run { params: Some(params), ..run(plain(&prepared)) }),
        ("MySQL", Run { place: Place::Mysql, ..run(sql.clone()) }),
    ];
    let check = |(name, right)| Check { name, left: run(sql.clone()), right, doubled: name == "common table expression" };
    others.into_iter().filter(|(name, _)| with_mysql || *name != "MySQL").map(check).collect()
}

/// The two queries of a form, and its name.
fn partitioned(form: Form, pieces: &[String]) -> Option<(&'static str, String, String)> {
    let [from, filter, predicate, rest @ ..] = pieces else { return None };
    let and = if filter.is_empty() { " WHERE" } else { " AND" };
    let parts = [format!("({predicate})"), format!("(NOT ({predicate}))"), format!("(({predicate}) IS NULL)")];
    let three = |list: &str, tail: &str, union: &str| {
        let all: Vec<String> = parts.iter().map(|part| format!("SELECT {list} FROM {from}{filter}{and} {part}{tail}")).collect();
        all.join(union)
    };
    let whole = |list: &str, tail: &str| format!("SELECT {list} FROM {from}{filter}{tail}");
    let all = " UNION ALL ";
    Some(match (form, rest) {
        (Form::Counted, _) => (
            "count of a condition",
            whole("COUNT(*) AS c0", &format!("{and} {}", parts[0])),
            format!("SELECT COALESCE(SUM(c0), 0) AS c0 FROM ({}) AS q", whole(&format!("({predicate}) IS TRUE AS c0"), "")),
        ),
        (Form::Rows, [list]) => ("partitioned rows", whole(list, ""), three(list, "", all)),
        (Form::Distinct, [list]) => {
            let list = format!("DISTINCT {list}");
            ("partitioned DISTINCT", whole(&list, ""), three(&list, "", " UNION "))
        }
        (Form::Aggregates, [list]) => {
            let sums = "SELECT SUM(c0) AS c0, SUM(c1) AS c1, SUM(c2) AS c2, MIN(c3) AS c3, MAX(c4) AS c4";
            ("partitioned aggregates", whole(list, ""), format!("{sums} FROM ({}) AS q", three(list, "", all)))
        }
        (Form::Groups, [group, leaf]) => {
            let list = format!("{group} AS c0, COUNT(*) AS c1, MAX({leaf}) AS c2");
            let tail = format!(" GROUP BY {group}");
            let sums = "SELECT c0, SUM(c1) AS c1, MAX(c2) AS c2";
            ("partitioned groups", whole(&list, &tail), format!("{sums} FROM ({}) AS q GROUP BY c0", three(&list, &tail, all)))
        }
        (Form::Having, [group, leaf]) => {
            let list = format!("{group} AS c0, COUNT({leaf}) AS c1");
            let having: Vec<String> =
                parts.iter().map(|part| whole(&list, &format!(" GROUP BY {group} HAVING {part}"))).collect();
            ("partitioned HAVING", whole(&list, &format!(" GROUP BY {group}")), having.join(all))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_hints_and_orders_are_seen() {
        let sql = "SELECT (SELECT 1 ORDER BY 1) FROM t0 AS a1/*t0*/ JOIN t1 AS a2/*t1*/";
        assert_eq!(plain(sql), "SELECT (SELECT 1 ORDER BY 1) FROM t0 AS a1 JOIN t1 AS a2");
        assert_eq!(
            with_marks(sql, |name, count| format!(" {name}{count}")).split(" FROM ").nth(1),
            Some("t0 AS a1 t00 JOIN t1 AS a2 t11")
        );
        assert!(!is_ordered(sql));
        assert!(is_ordered("SELECT a FROM (SELECT 1) AS q ORDER BY a LIMIT 1"));
    }

    #[test]
    fn a_seed_gives_one_statement() {
        let texts = [1, 1, 2].map(|seed| {
            let mut random = Random::new(seed);
            let relations: Vec<Relation> =
                super::super::data::tables(&mut random).into_iter().map(|table| table.relation).collect();
            (0..50).map(|_| case(&mut random, &relations).tree.sql()).collect::<Vec<_>>()
        });
        assert_eq!(texts[0], texts[1]);
        assert_ne!(texts[0], texts[2]);
    }
}
