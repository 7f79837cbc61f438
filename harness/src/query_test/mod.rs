//! `cargo harness query-test`: random queries, whose answers a plan or an operator must not change.
//!
//! A round makes six tables and some views (`data`), and runs random queries on them (`query`, `expr`). Each is run in other words, on tables without secondary
//! indexes, and on a server whose operators keep nothing in memory, and must give the same rows (`checks`); with `--mysql` the rows of that
//! MySQL, too. Errors must be the same, and no answer may be an internal error. A statement that takes longer than a second is ended and counted.
//! A failure is made smaller, by simpler queries (`diff_test::tree`) and fewer rows, while the same check fails; then it is printed as a script.
//! What is a known bug of MySQL is recognised by a rule (`explained`) and counted. Rounds have seeds of their own, which repeat them.
//!
//! `--plant` leaves a third of the rows out of the tables without indexes, which must be found.

mod checks;
mod data;
mod explained;
mod expr;
mod query;
mod servers;

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::diff_test::tree::Tree;
use crate::flags::Flags;
use crate::paths;
use crate::random::Random;
use checks::{Case, Check, Form, Place, checks, is_ordered, plain};
use data::{Relation, Table};
use servers::{Outcome, Servers};

/// Cases on the same tables.
const ROUND: usize = 60;
const VIEWS: usize = 3;
/// Limits of making one failure smaller.
const SHRINK_STEPS_MAX: usize = 500;
const SHRINK_MAX: Duration = Duration::from_secs(60);
/// Lines of an answer or a plan that are printed.
const LINES_MAX: usize = 40;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Difference {
    Rows,
    /// The codes of both sides, 0 for rows.
    Error(u16, u16),
    /// An error that tells of a mistake of the server.
    Internal(u16),
    NoAnswer,
}

struct Test {
    servers: Servers,
    shown_max: u64,
    only: Option<String>,
    found: BTreeMap<(&'static str, Difference), u64>,
    explained: BTreeMap<&'static str, u64>,
    refused: BTreeMap<u16, u64>,
    cases: u64,
    statements: u64,
    slow: u64,
}

/// A round's tables, and what queries can read of them.
struct Round {
    seed: u64,
    tables: Vec<Table>,
    views: Vec<String>,
    relations: Vec<Relation>,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seed = flags.number("--seed", now)?;
    let rounds = flags.number("--rounds", u64::MAX)?;
    let seconds = flags.number("--seconds", if rounds == u64::MAX { 60 } else { u64::MAX / 2 })?;
    let shown_max = flags.number("--show", 2)?;
    let mysql = flags.text("--mysql")?;
    let only = flags.text("--only")?;
    let plant = flags.switch("--plant");
    flags.finish()?;
    let dir = paths::target_dir().join(format!("query-test/{}", std::process::id()));
    let servers = Servers::start(&dir, mysql, format!("query_test_{seed}"))?;
    println!("query-test: seed {seed}");
    let mut test = Test {
        servers,
        shown_max,
        only,
        found: BTreeMap::new(),
        explained: BTreeMap::new(),
        refused: BTreeMap::new(),
        cases: 0,
        statements: 0,
        slow: 0,
    };
    let start = Instant::now();
    let mut done = 0;
    while done < rounds && start.elapsed().as_secs() < seconds {
        test.round(seed + done, plant, start, seconds)?;
        done += 1;
    }
    test.report(seed, done);
    test.servers.stop()?;
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    if test.found.is_empty() { Ok(()) } else { Err("queries do not answer alike".into()) }
}

impl Test {
    fn report(&self, seed: u64, rounds: u64) {
        for (rule, count) in &self.explained {
            println!("{count:6} explained: {rule}");
        }
        for (code, count) in &self.refused {
            println!("{count:6} refused everywhere with error {code}");
        }
        for ((name, difference), count) in &self.found {
            println!("{count:6} {name}: {difference:?}");
        }
        let differ: u64 = self.found.values().sum();
        println!(
            "query-test: seed {seed}, {rounds} rounds, {} cases, {} statements, {} took too long, {differ} differ",
            self.cases, self.statements, self.slow
        );
    }

    fn round(&mut self, seed: u64, plant: bool, start: Instant, seconds: u64) -> Result<(), String> {
        let mut random = Random::new(seed);
        let tables = data::tables(&mut random);
        let mut relations: Vec<Relation> = tables.iter().map(|table| table.relation.clone()).collect();
        let made: Vec<_> = (0..VIEWS).map(|n| query::view(&mut random, &relations, &format!("v{n}"))).collect();
        let views: Vec<String> = made.iter().map(|(_, create)| plain(create)).collect();
        let taken = self.servers.create(&tables, &views, plant)?;
        relations.extend(made.into_iter().zip(taken).filter(|(_, taken)| *taken).map(|((relation, _), _)| relation));
        let round = Round { seed, tables, views, relations };
        for _ in 0..ROUND {
            if start.elapsed().as_secs() >= seconds {
                break;
            }
            let case = checks::case(&mut random, &round.relations);
            // After an answer that did not come the sessions are new.
            if self.case(&round, &case)? {
                break;
            }
        }
        Ok(())
    }

    fn checks(&self, case: &Case, tree: &Tree, round: &Round) -> Vec<Check> {
        let mut all = checks(case.form, tree, case.salt, &round.relations, self.servers.has_mysql());
        all.retain(|check| self.only.as_ref().is_none_or(|only| check.name.contains(only.as_str())));
        all
    }

    /// Runs all checks of a case. Says whether the round has to end.
    fn case(&mut self, round: &Round, case: &Case) -> Result<bool, String> {
        self.cases += 1;
        let mut first: Option<Outcome> = None;
        for check in self.checks(case, &case.tree, round) {
            let left = match (&first, case.form) {
                (Some(left), Form::Query) => left.clone(),
                _ => self.run(&check.left),
            };
            first.get_or_insert_with(|| left.clone());
            let is_over = matches!(left, Outcome::Slow | Outcome::Lost(_)) && check.right.place != Place::Mysql;
            let right = if is_over { Outcome::Slow } else { self.run(&check.right) };
            if let (Outcome::Refused(code, text), Outcome::Refused(..)) = (&left, &right) {
                let count = self.refused.entry(*code).or_default();
                *count += 1;
                if *count == 1 {
                    println!("-- refused: {code} {text}: {}, round of --seed {}", check.left.sql, round.seed);
                }
            }
            if check.right.place == Place::Mysql && matches!(right, Outcome::Lost(_)) {
                *self.explained.entry("MySQL itself ends").or_default() += 1;
                println!("-- MySQL has ended: {}", check.right.sql);
                self.servers.recover()?;
                return Ok(true);
            }
            if let Some(difference) = difference(&check, &left, &right) {
                if let Some(rule) = self.explained(&check, &left, &right) {
                    *self.explained.entry(rule).or_default() += 1;
                    continue;
                }
                if self.fail(round, case, &check, difference, (left, right))? {
                    return Ok(true);
                }
            }
            if matches!(first, Some(Outcome::Slow)) && !self.servers.has_mysql() {
                break;
            }
        }
        Ok(false)
    }

    /// Why MySQL may differ. One that gives Vaquita's rows with another `optimizer_switch` contradicts itself.
    fn explained(&mut self, check: &Check, left: &Outcome, right: &Outcome) -> Option<&'static str> {
        let rule = explained::rule(check, left, right);
        if rule.is_some() || check.right.place != Place::Mysql || !matches!(right, Outcome::Rows(_)) {
            return rule;
        }
        let switched = self.servers.run_switched(&check.right);
        let is_own = switched.iter().any(|other| matches!(other, Outcome::Rows(_)) && difference(check, left, other).is_none());
        is_own.then_some("MySQL gives Vaquita's rows itself with another optimizer_switch")
    }

    fn run(&mut self, run: &checks::Run) -> Outcome {
        self.statements += 1;
        let outcome = self.servers.run(run);
        self.slow += u64::from(outcome == Outcome::Slow);
        outcome
    }

    /// Counts a failure and shows it, unless enough like it were shown.
    fn fail(
        &mut self,
        round: &Round,
        case: &Case,
        check: &Check,
        difference: Difference,
        (left, right): (Outcome, Outcome),
    ) -> Result<bool, String> {
        if matches!(difference, Difference::Internal(_)) {
            println!("-- left:\n{}\n-- right:\n{}", indented(&printed(&left)), indented(&printed(&right)));
        }
        let count = self.found.entry((check.name, difference.clone())).or_default();
        *count += 1;
        let shown = *count > self.shown_max;
        if difference == Difference::NoAnswer {
            println!("-- {}: no answer, round of --seed {}\n{};", check.name, round.seed, check.left.sql);
            println!("  left: {left:?}\n{};\n  right: {right:?}", check.right.sql);
            println!("{}", self.servers.recover()?);
            return Ok(true);
        }
        if shown {
            println!("-- {}: {difference:?}, round of --seed {}: {}", check.name, round.seed, check.left.sql);
            return Ok(false);
        }
        let kept: Vec<Vec<usize>> = round.tables.iter().map(|table| (0..table.rows.len()).collect()).collect();
        let mut shrink = Shrink {
            test: self,
            round,
            case,
            name: check.name,
            places: [check.left.place, check.right.place],
            difference: difference.clone(),
            tree: case.tree.clone(),
            kept,
            steps: 0,
            start: Instant::now(),
        };
        shrink.tree();
        // Where a server is gone the failure is shown as small as it is by then.
        let is_lost = shrink.rows().is_err();
        if !is_lost {
            shrink.tree();
        }
        let (tree, kept) = (shrink.tree, shrink.kept);
        if is_lost {
            println!("{}", self.servers.recover()?);
            println!("-- {}: {difference:?}, round of --seed {}: {}", check.name, round.seed, check.left.sql);
            return Ok(true);
        }
        self.show(round, case, check.name, &tree, &kept);
        for (table, _) in round.tables.iter().zip(&kept).filter(|(table, kept)| kept.len() < table.rows.len()) {
            let all: Vec<usize> = (0..table.rows.len()).collect();
            for place in [check.left.place, check.right.place] {
                self.servers.set_rows(place, table, &all)?;
            }
        }
        Ok(false)
    }

    /// Prints a failure as a script.
    fn show(&mut self, round: &Round, case: &Case, name: &'static str, tree: &Tree, kept: &[Vec<usize>]) {
        let Some(check) = self.checks(case, tree, round).into_iter().find(|check| check.name == name) else { return };
        let (left, right) = (self.run(&check.left), self.run(&check.right));
        println!("-- {name}: {:?}", difference(&check, &left, &right));
        let texts = format!("{} {}", check.left.sql, check.right.sql);
        let views: Vec<&String> =
            round.views.iter().enumerate().filter(|(n, _)| texts.contains(&format!("v{n} AS"))).map(|(_, view)| view).collect();
        let all = views.iter().fold(texts, |all, view| all + view);
        for (table, kept) in round.tables.iter().zip(kept) {
            if all.contains(&format!("{} AS", table.relation.name)) {
                println!("{};", table.create(true));
                table.inserts(kept).iter().for_each(|insert| println!("{insert};"));
            }
        }
        views.iter().for_each(|view| println!("{view};"));
        for (run, outcome) in [(&check.left, &left), (&check.right, &right)] {
            let params = run.params.as_ref().map_or(String::new(), |params| format!(" -- prepared, with {}", params.join(", ")));
            println!("{};{params} -- {:?}", run.sql, run.place);
            println!("{}", indented(&printed(outcome)));
            if run.place != Place::Mysql {
                println!("{}", indented(&self.servers.plan(run)));
            }
        }
        println!("  again: cargo harness query-test --seed {} --rounds 1\n", round.seed);
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().take(LINES_MAX).map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

fn printed(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Rows(rows) => format!("{} rows\n{}", rows.len(), rows.join("\n")),
        other => format!("{other:?}"),
    }
}

/// Errors that tell of a mistake of the server, or of memory that a small query wants.
const INTERNAL: [u16; 3] = [1041, 1105, 1815];

fn difference(check: &Check, left: &Outcome, right: &Outcome) -> Option<Difference> {
    let sides = [(check.left.place, left), (check.right.place, right)];
    for (place, outcome) in sides {
        match outcome {
            Outcome::Refused(code, _) if place != Place::Mysql && INTERNAL.contains(code) => {
                return Some(Difference::Internal(*code));
            }
            Outcome::Lost(_) => return Some(Difference::NoAnswer),
            _ => {}
        }
    }
    match (left, right) {
        (Outcome::Slow, _) | (_, Outcome::Slow) => None,
        (Outcome::Rows(a), Outcome::Rows(b)) => (!same_rows(check, a, b)).then_some(Difference::Rows),
        (Outcome::Refused(a, _), Outcome::Refused(b, _)) => (a != b).then_some(Difference::Error(*a, *b)),
        (Outcome::Refused(a, _), _) => Some(Difference::Error(*a, 0)),
        (_, Outcome::Refused(b, _)) => Some(Difference::Error(0, *b)),
        _ => Some(Difference::NoAnswer),
    }
}

/// Letters of both cases are equal in the collation: which of them stands for a group is the plan's choice.
fn same_rows(check: &Check, left: &[String], right: &[String]) -> bool {
    let texts = [&check.left.sql, &check.right.sql];
    let ordered = !check.doubled && texts.iter().all(|sql| is_ordered(sql));
    let folds = ordered
        || [
            "GROUP BY",
            "DISTINCT",
            "UNION",
            "INTERSECT",
            "EXCEPT",
            "MIN(",
            "MAX(",
            "LIMIT",
            "GREATEST(",
            "LEAST(",
            "OVER (",
            "v0 ",
            "v1 ",
            "v2 ",
        ]
        .iter()
        .any(|word| texts.iter().any(|sql| sql.contains(word)));
    let lines = |rows: &[String], times: usize| {
        let folded = |line: &String| if folds { line.to_lowercase() } else { line.clone() };
        let mut lines: Vec<String> = (0..times).flat_map(|_| rows.iter().map(folded)).collect();
        if !ordered {
            lines.sort_unstable();
        }
        lines
    };
    lines(left, if check.doubled { 2 } else { 1 }) == lines(right, 1)
}

/// A failure that is made smaller.
struct Shrink<'a> {
    test: &'a mut Test,
    round: &'a Round,
    case: &'a Case,
    name: &'static str,
    places: [Place; 2],
    difference: Difference,
    tree: Tree,
    /// The rows of each table that are left.
    kept: Vec<Vec<usize>>,
    steps: usize,
    start: Instant,
}

impl Shrink<'_> {
    fn goes_on(&self) -> bool {
        self.steps < SHRINK_STEPS_MAX && self.start.elapsed() < SHRINK_MAX
    }

    /// Whether the check fails in the same way.
    fn fails(&mut self, tree: &Tree) -> bool {
        self.steps += 1;
        let all = self.test.checks(self.case, tree, self.round);
        let Some(check) = all.into_iter().find(|check| check.name == self.name) else { return false };
        let (left, right) = (self.test.run(&check.left), self.test.run(&check.right));
        let found = difference(&check, &left, &right);
        found.is_some_and(|found| found == self.difference) && self.test.explained(&check, &left, &right).is_none()
    }

    fn tree(&mut self) {
        'smaller: while self.goes_on() {
            for simpler in self.tree.simpler() {
                if self.fails(&simpler) {
                    self.tree = simpler;
                    continue 'smaller;
                }
                if !self.goes_on() {
                    return;
                }
            }
            return;
        }
    }

    /// Takes halves of the tables away, then quarters, down to single rows.
    fn rows(&mut self) -> Result<(), String> {
        self.steps = 0;
        for table in 0..self.kept.len() {
            let mut size = self.kept[table].len();
            while size > 0 && self.goes_on() {
                let mut at = 0;
                while at < self.kept[table].len() && self.goes_on() {
                    let mut fewer = self.kept[table].clone();
                    fewer.drain(at..(at + size).min(fewer.len()));
                    let before = std::mem::replace(&mut self.kept[table], fewer);
                    self.fill(table)?;
                    let tree = self.tree.clone();
                    if !self.fails(&tree) {
                        self.kept[table] = before;
                        at += size;
                    }
                }
                size /= 2;
            }
            self.fill(table)?;
        }
        Ok(())
    }

    fn fill(&mut self, table: usize) -> Result<(), String> {
        let [left, right] = self.places;
        for place in [left, right].into_iter().take(if left == right { 1 } else { 2 }) {
            self.test.servers.set_rows(place, &self.round.tables[table], &self.kept[table])?;
        }
        Ok(())
    }
}
