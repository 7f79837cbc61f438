//! One writer: random transactions on keys of its own, and exact knowledge of what the server has acknowledged.
//!
//! A writer remembers, for its keys, the values of acknowledged commits, and besides the one transaction that is under
//! way. When the server dies, that transaction is in one of two states:
//! - COMMIT, or the only statement of an autocommit transaction, was sent: it may be there, as a whole, or not at all;
//! - it was not: it must not be there.
//!
//! Values never repeat, so that the two states differ. Writers share one row of `total`, which every transaction of
//! several statements increments last: the lock on it is contended, and its number is known exactly, too.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::client::{Answer, Client};
use crate::random::Random;
use crate::vaquita::PASSWORD;

pub const DATABASE: &str = "kill_test";
/// Few enough that keys are updated and deleted as often as inserted.
const KEYS: u64 = 200;
const STATEMENTS_MAX: u64 = 6;
/// Before a writer tries again what was refused.
const REFUSED_PAUSE: Duration = Duration::from_millis(10);

const ER_SERVER_SHUTDOWN: u16 = 1053;
const ER_LOCK_WAIT_TIMEOUT: u16 = 1205;
const ER_LOCK_DEADLOCK: u16 = 1213;
const ER_QUERY_INTERRUPTED: u16 = 1317;

/// Values by key.
pub type Values = BTreeMap<u64, u64>;

#[derive(Clone)]
pub struct Writer {
    number: u64,
    random: Random,
    values: Values,
    last_value: u64,
    under_way: Option<Transaction>,
    /// Acknowledged commits.
    pub commits: u64,
    /// Those of them that incremented `total`.
    pub total: u64,
    /// The server may refuse statements and end: its disk fails.
    pub tolerant: bool,
    /// Statements that it refused.
    pub refused: BTreeMap<String, u64>,
}

#[derive(Clone)]
struct Transaction {
    /// What its keys shall be; `None` where it deletes.
    changes: BTreeMap<u64, Option<u64>>,
    counts_in_total: bool,
    /// The commit was sent.
    may_be_there: bool,
}

/// Why a transaction did not commit.
enum Stop {
    /// The connection ended.
    Lost(std::io::Error),
    /// Deadlock or lock wait timeout: rolled back.
    Retry,
    /// Another error: the transaction must not be there.
    Refused(String),
    /// The server answered what it must not.
    Wrong(String),
}

impl Writer {
    pub fn new(number: u64, seed: u64) -> Writer {
        let random = Random::new(seed ^ (number + 1).wrapping_mul(0xd6e8_feb8_6659_fd93));
        Writer {
            number,
            random,
            values: Values::new(),
            last_value: 0,
            under_way: None,
            commits: 0,
            total: 0,
            tolerant: false,
            refused: BTreeMap::new(),
        }
    }

    /// Writes until the connection ends, which it may only once `killed` is set.
    pub fn run(&mut self, port: u16, killed: &AtomicBool) -> Result<(), String> {
        let mut client = match self.connect(port) {
            Err(text) if !self.tolerant && !killed.load(Ordering::Acquire) => return Err(text),
            Err(_) => return Ok(()),
            Ok(client) => client,
        };
        loop {
            match self.transaction(&mut client) {
                Ok(()) | Err(Stop::Retry) => {}
                Err(Stop::Lost(error)) if self.tolerant && error.kind() == ErrorKind::WouldBlock => {
                    return Err(format!("writer {}: no answer", self.number));
                }
                Err(Stop::Lost(_)) if self.tolerant || killed.load(Ordering::Acquire) => return Ok(()),
                Err(Stop::Refused(text)) if self.tolerant => {
                    *self.refused.entry(text).or_default() += 1;
                    if killed.load(Ordering::Acquire) {
                        return Ok(());
                    }
                    std::thread::sleep(REFUSED_PAUSE);
                }
                Err(Stop::Refused(text)) => return Err(format!("writer {}: {text}", self.number)),
                Err(Stop::Lost(error)) => return Err(format!("writer {}: connection lost: {error}", self.number)),
                Err(Stop::Wrong(text)) => return Err(format!("writer {}: {text}", self.number)),
            }
        }
    }

    pub fn values(&self) -> &Values {
        &self.values
    }

    fn connect(&self, port: u16) -> Result<Client, String> {
        let mut client = Client::connect(port, "root", PASSWORD).map_err(|e| format!("writer {}: {e}", self.number))?;
        match client.try_query(&format!("USE {DATABASE}")) {
            Ok(Answer::Ok { .. }) => Ok(client),
            other => Err(format!("writer {}: USE: {other:?}", self.number)),
        }
    }

    fn transaction(&mut self, client: &mut Client) -> Result<(), Stop> {
        let done = self.try_transaction(client);
        if let Err(Stop::Retry | Stop::Refused(_)) = done {
            self.under_way = None;
            // Error 1205 rolls back its statement only.
            execute(client, "ROLLBACK")?;
        }
        done
    }

    fn try_transaction(&mut self, client: &mut Client) -> Result<(), Stop> {
        let autocommit = self.random.one_in(3);
        let mut open = Transaction { changes: BTreeMap::new(), counts_in_total: !autocommit, may_be_there: autocommit };
        if autocommit {
            let sql = self.change(&mut open);
            self.under_way = Some(open);
            changed(execute(client, &sql)?, &sql)?;
            self.acknowledge();
            return Ok(());
        }
        let count = 1 + self.random.below(STATEMENTS_MAX);
        let statements: Vec<String> = (0..count).map(|_| self.change(&mut open)).collect();
        self.under_way = Some(open);
        execute(client, "BEGIN")?;
        for sql in &statements {
            changed(execute(client, sql)?, sql)?;
        }
        let total = "UPDATE total SET n = n + 1 WHERE id = 1";
        changed(execute(client, total)?, total)?;
        if self.random.one_in(10) {
            execute(client, "ROLLBACK")?;
            self.under_way = None;
            return Ok(());
        }
        if let Some(open) = &mut self.under_way {
            open.may_be_there = true;
        }
        execute(client, "COMMIT")?;
        self.acknowledge();
        Ok(())
    }

    /// A statement that changes one key, as `open` would see it.
    fn change(&mut self, open: &mut Transaction) -> String {
        let key = self.number * KEYS + self.random.below(KEYS);
        let exists = open.changes.get(&key).map_or_else(|| self.values.contains_key(&key), Option::is_some);
        // A transaction must not leave a key as it was: it never deletes what it inserted itself.
        if exists && !open.changes.contains_key(&key) && self.random.one_in(4) {
            open.changes.insert(key, None);
            return format!("DELETE FROM t WHERE id = {key}");
        }
        self.last_value += 1;
        let value = (self.number << 40) | self.last_value;
        open.changes.insert(key, Some(value));
        let pad = pad(key, value);
        match (exists, self.random.below(3)) {
            (true, 0) => format!("REPLACE INTO t VALUES ({key}, {value}, '{pad}')"),
            (true, 1) => {
                format!("INSERT INTO t VALUES ({key}, {value}, '{pad}') ON DUPLICATE KEY UPDATE v = {value}, pad = '{pad}'")
            }
            (true, _) => format!("UPDATE t SET v = {value}, pad = '{pad}' WHERE id = {key}"),
            (false, _) => format!("INSERT INTO t VALUES ({key}, {value}, '{pad}')"),
        }
    }

    fn acknowledge(&mut self) {
        if let Some(open) = self.under_way.take() {
            apply(&mut self.values, &open.changes);
            self.commits += 1;
            self.total += u64::from(open.counts_in_total);
        }
    }

    /// Compares what a restarted server has with what was acknowledged, and goes on from there.
    pub fn verify(&mut self, all: &Values) -> Result<(), String> {
        let range = self.number * KEYS..(self.number + 1) * KEYS;
        let there: Values = all.range(range).map(|(key, value)| (*key, *value)).collect();
        let open = self.under_way.take();
        if there == self.values {
            return Ok(());
        }
        let Some(open) = open else { return Err(self.difference(&there, &self.values, "all was acknowledged")) };
        let mut with = self.values.clone();
        apply(&mut with, &open.changes);
        if !open.may_be_there {
            return Err(self.difference(&there, &self.values, "the transaction under way had not committed"));
        }
        if there != with {
            return Err(self.difference(&there, &with, "the commit under way is there in part, or something else is lost"));
        }
        self.values = with;
        self.total += u64::from(open.counts_in_total);
        Ok(())
    }

    fn difference(&self, there: &Values, expected: &Values, why: &str) -> String {
        let mut text = format!("writer {}: {why}:", self.number);
        let keys = there.keys().chain(expected.keys()).collect::<std::collections::BTreeSet<_>>();
        for key in keys.into_iter().filter(|key| there.get(key) != expected.get(key)).take(8) {
            text += &format!("\n  key {key}: found {:?}, expected {:?}", there.get(key), expected.get(key));
        }
        text
    }
}

/// What stands in `pad` beside a value: a row put together from two versions shows.
pub fn pad(key: u64, value: u64) -> String {
    format!("{key:08x}-{value:016x}-{:08x}", key ^ (value & 0xffff_ffff))
}

fn apply(values: &mut Values, changes: &BTreeMap<u64, Option<u64>>) {
    for (key, change) in changes {
        match change {
            Some(value) => values.insert(*key, *value),
            None => values.remove(key),
        };
    }
}

/// Runs a statement; returns the rows it affected.
fn execute(client: &mut Client, sql: &str) -> Result<u64, Stop> {
    match client.try_query(sql).map_err(Stop::Lost)? {
        Answer::Ok { affected, .. } => Ok(affected),
        Answer::Err { code: ER_LOCK_WAIT_TIMEOUT | ER_LOCK_DEADLOCK, .. } => Err(Stop::Retry),
        // The server stops: as good as a lost connection, and as wrong if nobody stopped it.
        Answer::Err { code: ER_SERVER_SHUTDOWN | ER_QUERY_INTERRUPTED, text, .. } => Err(Stop::Lost(std::io::Error::other(text))),
        // Without the file that the error names.
        Answer::Err { code, text, .. } => Err(Stop::Refused(format!("{code} {}", text.split(" (").next().unwrap_or_default()))),
        other => Err(Stop::Wrong(format!("{sql}: {other:?}"))),
    }
}

fn changed(affected: u64, sql: &str) -> Result<(), Stop> {
    if affected > 0 { Ok(()) } else { Err(Stop::Wrong(format!("{sql}: affected no row"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(under_way: Option<(Option<u64>, bool)>) -> Writer {
        let mut writer = Writer::new(0, 1);
        writer.values = Values::from([(1, 10), (2, 20)]);
        writer.under_way = under_way.map(|(value, may_be_there)| Transaction {
            changes: BTreeMap::from([(1, value), (3, Some(30))]),
            counts_in_total: true,
            may_be_there,
        });
        writer
    }

    #[test]
    fn only_whole_transactions_that_may_be_there_are_accepted() {
        let old = Values::from([(1, 10), (2, 20)]);
        let new = Values::from([(1, 11), (2, 20), (3, 30)]);
        let deleted = Values::from([(2, 20), (3, 30)]);
        let part = Values::from([(1, 11), (2, 20)]);
        assert!(writer(None).verify(&old).is_ok());
        assert!(writer(None).verify(&new).is_err());
        for may in [false, true] {
            assert!(writer(Some((Some(11), may))).verify(&old).is_ok());
            assert_eq!(writer(Some((Some(11), may))).verify(&new).is_ok(), may);
            assert_eq!(writer(Some((None, may))).verify(&deleted).is_ok(), may);
            assert!(writer(Some((Some(11), may))).verify(&part).is_err());
        }
        let mut accepted = writer(Some((Some(11), true)));
        assert!(accepted.verify(&new).is_ok() && accepted.total == 1 && accepted.values == new);
    }
}
