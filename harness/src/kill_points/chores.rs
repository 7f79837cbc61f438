//! What an administrator does meanwhile: accounts, persisted variables, flushes, other durabilities, generated ids, and
//! indexes of the table that the writers write.
//!
//! A chore may change something that a query shows; after a crash the query must answer as after the last chore that was
//! acknowledged, or as after the one under way.

use std::collections::BTreeMap;

use super::script::run;
use crate::client::Client;
use crate::kill_test::{execute, rows};

/// A statement, and a query with its answer afterwards.
struct Chore {
    sql: String,
    shows: Option<(&'static str, String)>,
    /// Texts of errors after which it counts as done.
    or: &'static [&'static str],
}

/// A crash came after the index was made and before it was dropped, or the other way round.
const MADE_BEFORE: &[&str] = &["Duplicate key name"];
const DROPPED_BEFORE: &[&str] = &["check that column/key exists"];

const ACCOUNT: &str = "SELECT COUNT(*) FROM mysql.user WHERE User = 'killed'";
const PERSISTED: &str = "SELECT @@GLOBAL.max_join_size";
const HIDDEN: &str = "SELECT COUNT(*), COALESCE(SUM(v), 0) FROM kill_test.hidden";
/// What a transaction changed that spills (`STORAGE` has write sets of few bytes).
const BIG: &str = "SELECT COUNT(*), MIN(v), MAX(v), SUM(v = (SELECT MAX(v) FROM kill_test.big)) FROM kill_test.big FORCE INDEX (v) WHERE v >= 0";
const BIG_ROWS: u64 = 400;

pub struct Chores {
    known: BTreeMap<&'static str, String>,
    under_way: Option<(&'static str, String)>,
    /// Ids that AUTO_INCREMENT gave and that were acknowledged.
    ids: Vec<u64>,
    rounds: u64,
}

/// What `BIG` answers after `rounds` rounds.
fn big(rounds: u64) -> String {
    format!("{BIG_ROWS} {rounds} {rounds} {BIG_ROWS}")
}

impl Chores {
    pub fn new() -> Chores {
        let known = BTreeMap::from([(ACCOUNT, "0".to_string()), (HIDDEN, "0 0".to_string()), (BIG, big(0))]);
        Chores { known, under_way: None, ids: Vec::new(), rounds: 0 }
    }

    pub fn create_tables(client: &mut Client) -> Result<(), String> {
        execute(client, "CREATE TABLE kill_test.ids (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT, KEY v (v))")?;
        execute(client, "CREATE TABLE kill_test.hidden (v INT)")?;
        execute(client, "CREATE TABLE kill_test.big (id INT PRIMARY KEY, v INT, filler CHAR(200), KEY v (v))")?;
        let rows = format!(
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {BIG_ROWS}) SELECT i, 0, '' FROM n"
        );
        execute(client, &format!("INSERT INTO kill_test.big {rows}"))
    }

    fn round(&self) -> Vec<Chore> {
        let n = self.rounds;
        let either = |sql: &str, or| Chore { sql: sql.to_string(), shows: None, or };
        let plain = |sql: &str| either(sql, &[]);
        let shows = |sql: &str, query, answer: String| Chore { shows: Some((query, answer)), ..plain(sql) };
        vec![
            shows("CREATE USER IF NOT EXISTS killed IDENTIFIED BY 'x'", ACCOUNT, "1".into()),
            shows(&format!("SET PERSIST max_join_size = {}", 1000 + n), PERSISTED, (1000 + n).to_string()),
            plain("SET GLOBAL innodb_flush_log_at_trx_commit = 2"),
            plain("INSERT INTO kill_test.ids (v) VALUES (1), (2), (3)"),
            shows("INSERT INTO kill_test.hidden VALUES (1)", HIDDEN, format!("{0} {0}", n + 1)),
            plain("BEGIN"),
            plain("INSERT INTO kill_test.ids (v) VALUES (9)"),
            plain("UPDATE kill_test.big SET v = -1"),
            plain("ROLLBACK"),
            shows(&format!("UPDATE kill_test.big SET v = {}", n + 1), BIG, big(n + 1)),
            either("CREATE INDEX pad ON kill_test.t (pad, v)", MADE_BEFORE),
            either("DROP INDEX pad ON kill_test.t", DROPPED_BEFORE),
            plain("INSERT INTO kill_test.ids (v) VALUES (3), (3)"),
            either("ALTER TABLE kill_test.ids ADD UNIQUE INDEX never (v)", &["Duplicate entry"]),
            plain("DO SLEEP(0.2)"),
            plain("FLUSH TABLES"),
            plain("SET GLOBAL innodb_flush_log_at_trx_commit = 1"),
            plain("INSERT INTO kill_test.ids (v) VALUES (4)"),
            shows("DROP USER IF EXISTS killed", ACCOUNT, "0".into()),
            plain("OPTIMIZE TABLE kill_test.t"),
            plain("ANALYZE TABLE kill_test.t"),
        ]
    }

    /// Until the connection ends, or `passes` rounds.
    pub fn run(&mut self, client: &mut Client, passes: usize) -> Result<(), String> {
        for _ in 0..passes {
            for chore in self.round() {
                let inserts = chore.sql.contains("INTO kill_test.ids") && !chore.sql.contains("(9)");
                self.under_way.clone_from(&chore.shows);
                match run(client, &chore.sql) {
                    Err(_) => return Ok(()),
                    Ok(Err(text)) if !chore.or.iter().any(|or| text.contains(or)) => {
                        return Err(format!("{}: {text}", chore.sql));
                    }
                    Ok(_) => {}
                }
                if let Some((query, answer)) = self.under_way.take() {
                    self.known.insert(query, answer);
                }
                if inserts {
                    match client.try_query("SELECT LAST_INSERT_ID()") {
                        Err(_) => return Ok(()),
                        Ok(answer) => self.ids.extend(answer.rows().concat().iter().filter_map(|id| id.parse::<u64>().ok())),
                    }
                }
            }
            self.rounds += 1;
        }
        Ok(())
    }

    pub fn verify(&mut self, client: &mut Client) -> Result<(), String> {
        let under_way = self.under_way.take();
        for (query, expected) in &mut self.known {
            let found = rows(client, query)?.concat().join(" ");
            let after = under_way.as_ref().filter(|(changed, _)| changed == query).map(|(_, answer)| answer);
            if found != *expected && after.is_none_or(|after| found != *after) {
                return Err(format!("{query}: {found}, acknowledged {expected}, under way {after:?}"));
            }
            *expected = found;
        }
        let hidden = self.known.get(HIDDEN).and_then(|answer| answer.split(' ').next()?.parse().ok());
        self.rounds = hidden.unwrap_or(self.rounds);
        let there: Vec<u64> =
            rows(client, "SELECT id FROM kill_test.ids")?.concat().iter().filter_map(|id| id.parse().ok()).collect();
        if let Some(lost) = self.ids.iter().find(|id| !there.contains(id)) {
            return Err(format!("kill_test.ids lost the acknowledged id {lost}"));
        }
        execute(client, "INSERT INTO kill_test.ids (v) VALUES (5)")?;
        let given: u64 = rows(client, "SELECT LAST_INSERT_ID()")?.concat().concat().parse().map_err(|_| "no LAST_INSERT_ID()")?;
        if there.iter().any(|id| *id >= given) {
            return Err(format!("AUTO_INCREMENT gave {given}, and {:?} is there", there.iter().max()));
        }
        // Few rows, so that rounds stay short.
        execute(client, "DELETE FROM kill_test.ids")?;
        self.ids.clear();
        Ok(())
    }
}
