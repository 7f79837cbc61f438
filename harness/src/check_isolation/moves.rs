//! Pieces that move: along the primary key, between ranges of an index, and by being deleted and inserted again.
//!
//! There are always as many pieces, with the same sum. So each statement that reads all of them, whatever it does with them, finds them
//! all: one that does not has seen half of a transaction. Long statements (SLEEP in the condition), locking reads in several ranges, and
//! statements that write what they read are where this went wrong.

use std::thread::sleep;
use std::time::Duration;

use vaquita_checker::{Kind, Level};

use super::Workload;
use super::judged::{found, number};
use super::session::{Session, Stop, Tx};
use crate::client::Answer;
use crate::random::Random;

const PIECES: u64 = 24;
const GROUPS: u64 = 4;
const TOTAL: i64 = 10 * PIECES as i64;
/// Places along the primary key that a piece has to itself.
const PLACES: u64 = 1_000;

pub struct Moves {
    pub level: Level,
}

/// Count and sum of the rows of one statement.
type Seen = (i64, i64);

fn seen(rows: &[Vec<String>]) -> Result<Seen, Stop> {
    let row = rows.first().ok_or_else(|| Stop::Failed("a row is missing".into()))?;
    let sum = if row.get(1).is_some_and(|sum| sum == "NULL") { Ok(0) } else { number(row.get(1)) };
    Ok((number(row.first())?, sum?))
}

fn count(tx: &mut Tx, rest: &str) -> Result<Seen, Stop> {
    seen(&tx.rows(&format!("SELECT COUNT(*), SUM(v) FROM pieces {rest}"))?)
}

fn lock(random: &mut Random) -> &'static str {
    if random.one_in(2) { "FOR UPDATE" } else { "FOR SHARE" }
}

impl Moves {
    fn is_snapshot(&self) -> bool {
        self.level != Level::ReadCommitted
    }

    /// In autocommit.
    fn move_one(&self, session: &mut Session) -> Result<(), Stop> {
        let piece = session.random.below(PIECES);
        let set = match session.random.below(3) {
            0 => format!("grp = {}", session.random.below(GROUPS)),
            _ => format!("id = {}", piece + PIECES * session.random.below(PLACES)),
        };
        session.alone(&format!("UPDATE pieces SET {set} WHERE piece = {piece}")).map(|_| ())
    }

    fn transfer(&self, session: &mut Session) -> Result<(), Stop> {
        let (from, to) = (session.random.below(PIECES), session.random.below(PIECES));
        session.transaction(|tx, _| {
            tx.run(&format!("UPDATE pieces SET v = v - 1 WHERE piece = {from}"))?;
            tx.run(&format!("UPDATE pieces SET v = v + 1 WHERE piece = {to}"))
        })?;
        Ok(())
    }

    fn insert_again(&self, session: &mut Session) -> Result<(), Stop> {
        let piece = session.random.below(PIECES);
        let deleted = session.transaction(|tx, random| {
            let rows = tx.rows(&format!("SELECT grp, v, seen FROM pieces WHERE piece = {piece} FOR UPDATE"))?;
            let deleted = tx.run(&format!("DELETE FROM pieces WHERE piece = {piece}"))?;
            let id = piece + PIECES * random.below(PLACES);
            let Some(row) = rows.first().map(|row| row.join(", ")) else { return Ok(0) };
            tx.run(&format!("INSERT INTO pieces (id, piece, grp, v, seen) VALUES ({id}, {piece}, {row})"))?;
            Ok(deleted)
        })?;
        match deleted {
            Some(deleted) if deleted != 1 => {
                let text = format!("SELECT … FOR UPDATE, then DELETE of piece {piece}: deleted {deleted}");
                found(session, Kind::TornStatement, text)
            }
            _ => Ok(()),
        }
    }

    /// All pieces, by one statement in autocommit.
    fn read_at_once(&self, session: &mut Session) -> Result<(), Stop> {
        let lock = lock(&mut session.random);
        let split = session.random.below(GROUPS + 1);
        let sql = match session.random.below(5) {
            0 => format!("SELECT id, v FROM pieces {lock}"),
            1 => format!("SELECT id, v FROM pieces ORDER BY id DESC {lock}"),
            2 => format!("SELECT id, v FROM pieces FORCE INDEX (grp) WHERE grp >= 0 {lock}"),
            3 => "SELECT id, v FROM pieces".to_string(),
            _ => format!(
                "(SELECT id, v FROM pieces WHERE grp < {split} {lock}) UNION ALL (SELECT id, v FROM pieces WHERE grp >= {split} {lock})"
            ),
        };
        let Some(answer) = session.alone(&sql)? else { return Ok(()) };
        let rows = answer.rows();
        let sum = rows.iter().map(|row| number(row.get(1))).sum::<Result<i64, Stop>>()?;
        self.check(session, &sql, (rows.len() as i64, sum))
    }

    fn check(&self, session: &Session, sql: &str, seen: Seen) -> Result<(), Stop> {
        if seen == (PIECES as i64, TOTAL) {
            return Ok(());
        }
        found(session, Kind::TornStatement, format!("{sql}: {} pieces, sum {}", seen.0, seen.1))
    }

    /// All pieces are changed by a statement that takes long, in autocommit.
    fn change_all(&self, session: &mut Session) -> Result<(), Stop> {
        let sql = match session.random.below(3) {
            0 => "UPDATE pieces SET seen = seen + 1 WHERE SLEEP(0.0005) = 0",
            1 => "UPDATE pieces FORCE INDEX (grp) SET seen = seen + 1 WHERE grp >= 0 AND SLEEP(0.0005) = 0",
            _ => "UPDATE pieces p JOIN marks m ON m.grp = p.grp SET p.seen = p.seen + 1 WHERE SLEEP(0.0005) = 0",
        };
        match session.alone(sql)? {
            Some(Answer::Ok { affected, .. }) if affected != PIECES => {
                found(session, Kind::TornStatement, format!("{sql}: changed {affected}"))
            }
            _ => Ok(()),
        }
    }

    /// What a transaction reads of a group stays as it is, whether it locks or changes it later or before.
    fn repeat(&self, session: &mut Session) -> Result<(), Stop> {
        let group = session.random.below(GROUPS);
        let of = format!("FORCE INDEX (grp) WHERE grp = {group}");
        let first = session.random.below(4);
        let done = session.transaction(|tx, random| {
            let of_all = if random.one_in(4) { format!("WHERE grp = {group} AND v > -100000") } else { of.clone() };
            let before = match first {
                0 => count(tx, &of)?,
                1 => count(tx, &format!("{of_all} {}", lock(random)))?,
                2 => {
                    tx.run(&format!("UPDATE pieces SET seen = seen + 1 WHERE piece = {}", random.below(PIECES)))?;
                    count(tx, &of)?
                }
                _ => {
                    tx.run("INSERT INTO notes VALUES (1)")?;
                    count(tx, &of_all)?
                }
            };
            sleep(Duration::from_micros(500 * random.below(4)));
            let again = count(tx, &of)?;
            let locked = count(tx, &format!("{of_all} {}", lock(random)))?;
            let changed = tx.run(&format!("UPDATE pieces SET seen = seen + 1 WHERE grp = {group}"))?;
            Ok((before, again, locked, changed))
        })?;
        match done {
            Some((before, again, locked, changed)) if self.is_snapshot() => {
                if before == again && again == locked && before.0 == changed as i64 {
                    return Ok(());
                }
                let text =
                    format!("group {group} (way {first}): {before:?}, then {again:?}, locked {locked:?}, {changed} changed");
                found(session, if before == again { Kind::GSingle } else { Kind::NonRepeatableRead }, text)
            }
            _ => Ok(()),
        }
    }
}

impl Workload for Moves {
    fn create(&self, session: &mut Session) -> Result<(), Stop> {
        session.execute(
            "CREATE TABLE pieces (id INT NOT NULL PRIMARY KEY, piece INT NOT NULL, grp INT NOT NULL, v INT NOT NULL, \
             seen INT NOT NULL DEFAULT 0, UNIQUE KEY piece (piece), KEY grp (grp, v))",
        )?;
        session.execute("CREATE TABLE marks (grp INT NOT NULL PRIMARY KEY)")?;
        session.execute("CREATE TABLE sums (n INT NOT NULL, total INT NOT NULL)")?;
        session.execute("CREATE TABLE numbers (n INT NOT NULL, KEY n (n))")?;
        session.execute("CREATE TABLE notes (n INT NOT NULL)")?;
        let groups: Vec<String> = (0..GROUPS).map(|group| format!("({group})")).collect();
        session.execute(&format!("INSERT INTO marks VALUES {}", groups.join(", ")))?;
        let rows: Vec<String> = (0..PIECES).map(|piece| format!("({piece}, {piece}, {}, 10)", piece % GROUPS)).collect();
        session.execute(&format!("INSERT INTO pieces (id, piece, grp, v) VALUES {}", rows.join(", ")))
    }

    fn transact(&self, session: &mut Session) -> Result<(), Stop> {
        match session.random.below(16) {
            0..5 => self.move_one(session),
            5..7 => self.transfer(session),
            7..9 => self.insert_again(session),
            9..12 => self.read_at_once(session),
            12 => self.change_all(session),
            13 => session.alone("INSERT INTO sums SELECT COUNT(*), SUM(v) FROM pieces").map(|_| ()),
            14 => session.alone("INSERT INTO numbers SELECT COALESCE(MAX(n), 0) + 1 FROM numbers").map(|_| ()),
            _ => self.repeat(session),
        }
    }

    fn read_all(&self, session: &mut Session) -> Result<(), Stop> {
        let all = session.transaction(|tx, _| {
            let wrong = format!("SELECT n, total FROM sums WHERE n <> {PIECES} OR total <> {TOTAL}");
            let numbers = tx.rows("SELECT COUNT(*), COUNT(DISTINCT n) FROM numbers")?;
            Ok((count(tx, "")?, tx.rows(&wrong)?, seen(&numbers)?))
        })?;
        let Some((last, wrong, numbers)) = all else { return Ok(()) };
        self.check(session, "at the end", last)?;
        for row in wrong {
            found(session, Kind::TornStatement, format!("INSERT … SELECT has written {row:?}"))?;
        }
        if self.level == Level::Serializable && numbers.0 != numbers.1 {
            found(session, Kind::G2, format!("{} numbers were given, {} different ones", numbers.0, numbers.1))?;
        }
        Ok(())
    }
}
