//! `cargo harness diff-test`: random statements on MySQL and on Vaquita, which must answer alike.
//!
//! A round makes three random tables (`schema`) on both servers and runs random statements on them (`statement`, `expr`),
//! each in a transaction that is rolled back. Rows, column metadata, affected rows, warnings and errors are compared
//! (`answer`, `protocol`). Some statements are prepared, with literals as parameters, and a round has one charset of the
//! connection. What is decided to differ is recognised by a rule (`explained`) and only counted. A failure is made smaller, by simpler statements (`tree`) and fewer rows, while the same part of the answers
//! differs; then it is printed as a script. The seed decides everything that is run.

pub mod answer;
mod explained;
mod expr;
pub mod protocol;
pub mod schema;
mod statement;
pub mod tree;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::client::{Answer, Client};
use crate::flags::Flags;
use crate::paths;
use crate::random::Random;
use crate::vaquita::{Vaquita, free_port};
use answer::{Difference, Full, Sent};
use schema::Table;
use statement::{Generator, Statement};
use tree::Tree;

/// Statements on the same tables.
const ROUND: u64 = 40;
/// Steps of making a failure smaller, so that a hard one does not take minutes.
const SHRINK_STEPS_MAX: usize = 400;

/// The client's charset and collation in a round; most clients have the first.
const NAMES: &[&str] =
    &["utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4", "latin1", "utf8mb4 COLLATE utf8mb4_bin", "utf8mb3", "utf8mb4"];
/// No row that is inserted with its id has this one.
const FIRST_GENERATED: u64 = 100;

/// The settings under which a round's statements run.
#[derive(Clone, Copy)]
struct Round {
    strict: bool,
    names: &'static str,
}

impl Round {
    /// Them, for a report, where they are not the default.
    fn note(&self) -> String {
        if self.names == "utf8mb4" { String::new() } else { format!(", SET NAMES {}", self.names) }
    }
}

struct Pair {
    mysql: Client,
    vaquita: Client,
}

struct Test {
    pair: Pair,
    database: String,
    /// Failures of each kind that are printed.
    shown_max: u64,
    found: BTreeMap<Difference, u64>,
    /// Differences that are decided on, by the rule that knows them.
    explained: BTreeMap<&'static str, u64>,
    with_metadata: bool,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seed = flags.number("--seed", now)?;
    let statements = flags.number("--statements", 1000)?;
    let shown_max = flags.number("--show", 3)?;
    let with_metadata = !flags.switch("--no-metadata");
    let mysql = flags.text("--mysql")?.ok_or("--mysql host:port:user:password names the server to compare with")?;
    let given = flags.text("--vaquita")?;
    flags.finish()?;
    let dir = paths::target_dir().join(format!("diff-test/{}", std::process::id()));
    let (server, vaquita) = match given {
        Some(given) => (None, connect(&given)?),
        None => {
            std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
            let server = Vaquita::start(&paths::vaquita()?, &dir.join("data"), free_port()?, &dir.join("server.log"))?;
            let client = server.connect()?;
            (Some(server), client)
        }
    };
    println!("diff-test: seed {seed}, {statements} statements");
    let pair = Pair { mysql: connect(&mysql)?, vaquita };
    let database = format!("sql_diff_{seed}");
    let mut test = Test { pair, database, shown_max, found: BTreeMap::new(), explained: BTreeMap::new(), with_metadata };
    let done = test.run(seed, statements);
    if let Some(server) = server {
        server.stop()?;
        std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    done?;
    for (rule, count) in &test.explained {
        println!("{count:6} explained: {rule}");
    }
    for (difference, count) in &test.found {
        println!("{count:6} {difference:?}");
    }
    if test.found.is_empty() {
        Ok(())
    } else {
        Err(format!("again: cargo harness diff-test --seed {seed} --statements {statements}"))
    }
}

pub fn connect(address: &str) -> Result<Client, String> {
    let parts: Vec<&str> = address.splitn(4, ':').collect();
    let [host, port, user, password] = parts[..] else { return Err(format!("{address}: not host:port:user:password")) };
    let port = port.parse().map_err(|_| format!("{address}: not a port"))?;
    Client::connect_to(host, port, user, password).map_err(|e| format!("{address}: {e}"))
}

impl Pair {
    /// Runs `sql` on both, for what it does.
    fn both(&mut self, sql: &str) -> Result<(), String> {
        for client in [&mut self.mysql, &mut self.vaquita] {
            client.try_query(sql).map_err(|e| format!("{sql}: {e}"))?;
        }
        Ok(())
    }

    /// Sets up the tables of a round; returns those that both servers accept.
    fn create(&mut self, database: &str, tables: &[Table], round: Round) -> Result<(), String> {
        self.both("SET NAMES utf8mb4")?;
        self.both(&format!("DROP DATABASE IF EXISTS {database}"))?;
        self.both(&format!("CREATE DATABASE {database}"))?;
        self.both(&format!("USE {database}"))?;
        self.both("SET time_zone = '+00:00', timestamp = 1700000000")?;
        // Whatever others have made of the servers' global values.
        self.both("SET max_error_count = 1024, group_concat_max_len = 1024")?;
        self.both("SET sql_mode = ''")?;
        for table in tables {
            self.both(&table.create)?;
            for row in &table.rows {
                self.both(row)?;
            }
        }
        self.both(&format!("SET NAMES {}", round.names))?;
        self.both(if round.strict { "SET sql_mode = DEFAULT" } else { "SET sql_mode = 'ONLY_FULL_GROUP_BY'" })
    }
}

impl Test {
    fn run(&mut self, seed: u64, statements: u64) -> Result<(), String> {
        let mut random = Random::new(seed);
        let mut left = statements;
        while left > 0 {
            let tables: Vec<Table> = (0..3).map(|i| schema::table(&mut random, format!("t{i}"))).collect();
            let strict = !random.one_in(3);
            let names: &&str = schema::pick(&mut random, NAMES);
            let round = Round { strict, names };
            let database = self.database.clone();
            self.pair.create(&database, &tables, round)?;
            for _ in 0..ROUND.min(left) {
                let statement = Generator::new(&mut random, &tables).statement();
                self.check(&tables, &statement, round)?;
            }
            left -= ROUND.min(left);
        }
        let database = self.database.clone();
        self.pair.both(&format!("DROP DATABASE IF EXISTS {database}"))
    }

    fn check(&mut self, tables: &[Table], statement: &Statement, round: Round) -> Result<(), String> {
        let all: Vec<Vec<u64>> = tables.iter().map(|_| Vec::new()).collect();
        let mut rules = Vec::new();
        let compared = self.compare_noting(tables, statement, &statement.tree, &all, &mut rules)?;
        rules.dedup();
        rules.into_iter().for_each(|rule| *self.explained.entry(rule).or_default() += 1);
        let Some((found, ..)) = compared else { return Ok(()) };
        let count = self.found.get(&found).copied().unwrap_or(0);
        if count >= self.shown_max {
            self.found.insert(found, count + 1);
            return Ok(());
        }
        let (tree, gone) = self.shrink(tables, statement, &found, all)?;
        self.found.insert(found.clone(), count + 1);
        let Some((_, mysql, vaquita)) = self.compare(tables, statement, &tree, &gone)? else {
            println!("-- not repeated: {}", statement.tree.sql());
            return Ok(());
        };
        println!("-- {found:?}{}{}", if round.strict { "" } else { ", sql_mode = ''" }, round.note());
        let sent = statement.sent(&tree);
        let sql = &sent.sql;
        for (table, gone) in tables.iter().zip(&gone) {
            if sql.contains(&table.name) {
                println!("{};", table.create);
                let rows = table.rows.iter().zip(1..).filter(|(_, id)| !gone.contains(id));
                rows.for_each(|(row, _)| println!("{row};"));
            }
        }
        let params = sent.params.as_ref().map_or(String::new(), |params| format!(" -- prepared, with {}", params.join(", ")));
        println!("{sql};{params}\n  MySQL:\n    {}", answer::print(&mysql).trim_end().replace('\n', "\n    "));
        println!("  Vaquita:\n    {}\n", answer::print(&vaquita).trim_end().replace('\n', "\n    "));
        Ok(())
    }

    /// Runs `tree` on both without the rows in `gone`; what differs, with both answers.
    fn compare(
        &mut self,
        tables: &[Table],
        statement: &Statement,
        tree: &Tree,
        gone: &[Vec<u64>],
    ) -> Result<Option<(Difference, Full, Full)>, String> {
        self.compare_noting(tables, statement, tree, gone, &mut Vec::new())
    }

    /// The same, with the rules that explain what differs besides.
    fn compare_noting(
        &mut self,
        tables: &[Table],
        statement: &Statement,
        tree: &Tree,
        gone: &[Vec<u64>],
        rules: &mut Vec<&'static str>,
    ) -> Result<Option<(Difference, Full, Full)>, String> {
        let sent = statement.sent(tree);
        let sql = &sent.sql;
        let mut answers = Vec::new();
        for client in [&mut self.pair.mysql, &mut self.pair.vaquita] {
            client.try_query("BEGIN").map_err(|e| format!("before {sql}: {e}"))?;
            // What LAST_INSERT_ID() is told by the statement, not by one before it.
            client.try_query("DO LAST_INSERT_ID(77)").map_err(|e| format!("before {sql}: {e}"))?;
            for (table, ids) in tables.iter().zip(gone).filter(|(_, ids)| !ids.is_empty()) {
                let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
                let delete = format!("DELETE FROM {} WHERE id IN ({})", table.name, ids.join(", "));
                client.try_query(&delete).map_err(|e| format!("{delete}: {e}"))?;
            }
            let mut full = answer::run(client, &sent)?;
            if statement.writes {
                for table in tables {
                    let contents = format!("SELECT * FROM {} ORDER BY id", table.name);
                    if let Answer::Rows { rows, .. } = client.try_query(&contents).map_err(|e| format!("{contents}: {e}"))? {
                        full.tables.extend(rows);
                    }
                }
            }
            client.try_query("ROLLBACK").map_err(|e| format!("after {sql}: {e}"))?;
            // What was generated and rolled back is not the same number on both.
            for table in tables.iter().filter(|table| statement.writes && table.generates) {
                let reset = format!("ALTER TABLE {} AUTO_INCREMENT = {FIRST_GENERATED}", table.name);
                client.try_query(&reset).map_err(|e| format!("{reset}: {e}"))?;
            }
            if !self.with_metadata {
                full.metadata.clear();
            }
            answers.push(full);
        }
        let (Some(vaquita), Some(mysql)) = (answers.pop(), answers.pop()) else { return Ok(None) };
        let folds = ["GROUP BY", "DISTINCT", "UNION", "MIN(", "MAX("].iter().any(|word| sql.contains(word));
        let mut unexplained = None;
        for finding in answer::findings(&mysql, &vaquita, statement.ordered && sql.contains("ORDER BY"), folds) {
            let rule = explained::rule(&finding, &sent, tables, (&mysql, &vaquita));
            let all = rule.and_then(|rule| explained::without_limit(&finding, rule, sql));
            let is_explained = match all {
                Some(all) => self.answer_alike(Sent { sql: all, params: sent.params.clone(), counts: sent.counts })?,
                None => true,
            };
            match rule.filter(|_| is_explained) {
                None => {
                    unexplained = Some(finding.difference);
                    break;
                }
                Some(rule) => rules.push(rule),
            }
        }
        Ok(unexplained.map(|difference| (difference, mysql, vaquita)))
    }

    /// Whether both give the same rows, in some order.
    fn answer_alike(&mut self, sent: Sent) -> Result<bool, String> {
        let mysql = answer::run(&mut self.pair.mysql, &sent)?;
        let vaquita = answer::run(&mut self.pair.vaquita, &sent)?;
        Ok(!answer::findings(&mysql, &vaquita, false, false).iter().any(|finding| finding.difference.is_of_rows()))
    }

    /// The smallest statement, and the most rows taken away, with which the same part differs.
    fn shrink(
        &mut self,
        tables: &[Table],
        statement: &Statement,
        found: &Difference,
        mut gone: Vec<Vec<u64>>,
    ) -> Result<(Tree, Vec<Vec<u64>>), String> {
        let mut tree = statement.tree.clone();
        let mut steps = 0;
        'smaller: while steps < SHRINK_STEPS_MAX {
            for simpler in tree.simpler() {
                steps += 1;
                if self.compare(tables, statement, &simpler, &gone)?.is_some_and(|(difference, ..)| difference == *found) {
                    tree = simpler;
                    continue 'smaller;
                }
            }
            break;
        }
        for (i, table) in tables.iter().enumerate() {
            for id in 1..=table.rows.len() as u64 {
                let mut fewer = gone.clone();
                fewer[i].push(id);
                if self.compare(tables, statement, &tree, &fewer)?.is_some_and(|(difference, ..)| difference == *found) {
                    gone = fewer;
                }
            }
        }
        Ok((tree, gone))
    }
}
