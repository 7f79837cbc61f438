//! What sets up the performance schema: its rows, which statements change, and what follows from them for those who count.
//!
//! Whoever counts reads `observed`, one word that is made anew with each change of the rows. Which rows a server begins with, and what of them
//! changes, is `crate::system::setup`'s.
//!
//! * SETUP-1: consumers count in MySQL's order: without `global_instrumentation` nothing is counted, without `thread_instrumentation` nothing
//!   of a connection, without `…_current` no history.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;
use vaquita_parser::StatementKind;
use vaquita_types::errno::{ER_DUP_KEY, ER_RECORD_FILE_FULL};
use vaquita_types::{Error, Result, Value};

/// Rows of setup_actors, of setup_objects, and that one statement inserts: MySQL's tables grow too, and end with its memory.
pub const SETUP_ROWS_MAX: usize = 1024;

type Row = Vec<Value>;

/// The rows of each table.
pub type SetupRows = HashMap<&'static str, Vec<Row>>;

/// What is counted; bits of `Setup::observed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed(u32);

impl Observed {
    pub const GLOBAL: Observed = Observed(1);
    pub const THREADS: Observed = Observed(1 << 1);
    pub const STATEMENTS: Observed = Observed(1 << 2);
    pub const STATEMENT_HISTORY: Observed = Observed(1 << 3);
    pub const DIGESTS: Observed = Observed(1 << 4);
    pub const TRANSACTIONS: Observed = Observed(1 << 5);
    pub const TRANSACTION_HISTORY: Observed = Observed(1 << 6);
    /// The instrument `transaction`.
    pub const TRANSACTION: Observed = Observed(1 << 7);
    /// Each instrument of statements.
    pub const EVERY_STATEMENT: Observed = Observed(1 << 8);

    #[inline]
    pub fn has(self, what: Observed) -> bool {
        self.0 & what.0 == what.0
    }

    /// Of a connection that may not be observed, or have no history.
    #[inline]
    pub fn of_connection(self, observed: bool, history: bool) -> Observed {
        const HISTORIES: u32 = Observed::STATEMENT_HISTORY.0 | Observed::TRANSACTION_HISTORY.0;
        const EVENTS: u32 = Observed::STATEMENTS.0 | Observed::TRANSACTIONS.0 | Observed::DIGESTS.0 | HISTORIES;
        let left_out = if observed { 0 } else { EVENTS } | if history { 0 } else { HISTORIES };
        Observed(self.0 & !left_out)
    }
}

/// Consumers, what they stand for, and what must be on for them to count (SETUP-1).
const CONSUMERS: &[(&str, Observed, Observed)] = &[
    ("global_instrumentation", Observed::GLOBAL, Observed(0)),
    ("thread_instrumentation", Observed::THREADS, Observed::GLOBAL),
    ("statements_digest", Observed::DIGESTS, Observed::GLOBAL),
    ("events_statements_current", Observed::STATEMENTS, Observed::THREADS),
    ("events_statements_history", Observed::STATEMENT_HISTORY, Observed::STATEMENTS),
    ("events_transactions_current", Observed::TRANSACTIONS, Observed::THREADS),
    ("events_transactions_history", Observed::TRANSACTION_HISTORY, Observed::TRANSACTIONS),
];

const KIND_WORDS: usize = StatementKind::ALL.len().div_ceil(64);

pub struct Setup {
    tables: Mutex<SetupRows>,
    observed: AtomicU32,
    /// Kinds of statements whose instrument is off.
    kinds_off: [AtomicU64; KIND_WORDS],
}

impl Setup {
    /// With these rows to begin with, by table.
    pub fn new(tables: SetupRows) -> Setup {
        let setup = Setup {
            tables: Mutex::new(tables),
            observed: AtomicU32::new(0),
            kinds_off: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        setup.act(&setup.tables.lock());
        setup
    }

    #[inline]
    pub fn observed(&self) -> Observed {
        Observed(self.observed.load(Ordering::Relaxed))
    }

    /// The instrument of the kind is on.
    pub fn counts_kind(&self, kind: StatementKind) -> bool {
        let at = kind as usize;
        self.kinds_off[at / 64].load(Ordering::Relaxed) & 1 << (at % 64) == 0
    }

    /// Whether connections of an account are observed, and have histories: the row of setup_actors that fits best says so.
    pub fn actor(&self, user: &str, host: &str) -> (bool, bool) {
        let tables = self.tables.lock();
        let Some(actors) = tables.get("setup_actors") else { return (false, false) };
        let fits = |value: &Value, name: &str| match value {
            Value::Bytes(text) if &**text == b"%" => Some(0),
            Value::Bytes(text) => (&**text == name.as_bytes()).then_some(1),
            _ => None,
        };
        let rank = |row: &&Row| Some(2 * fits(row.first()?, host)? + fits(row.get(1)?, user)?);
        let best = actors.iter().filter(|row| rank(row).is_some()).max_by_key(rank);
        best.map_or((false, false), |row| (is_yes(row.get(3)), is_yes(row.get(4))))
    }

    pub fn rows(&self, table: &str) -> Vec<Row> {
        self.tables.lock().get(table).cloned().unwrap_or_default()
    }

    pub fn change(&self, table: &str, before: &Row, after: Row) -> bool {
        let mut tables = self.tables.lock();
        let rows = tables.get_mut(table);
        let Some(row) = rows.and_then(|rows| rows.iter_mut().find(|row| *row == before)) else { return false };
        if *row == after {
            return false;
        }
        *row = after;
        self.act(&tables);
        true
    }

    pub fn insert(&self, table: &str, row: Row) -> Result<()> {
        let mut tables = self.tables.lock();
        let Some((name, rows)) = tables.iter_mut().find(|(name, _)| **name == table) else {
            return Err(Error::internal(format_args!("no rows of {table}")));
        };
        let named = |row: &Row| row.iter().take(NAMED_BY).cloned().collect::<Row>();
        if rows.iter().any(|known| named(known) == named(&row)) {
            return Err(Error::new(&ER_DUP_KEY, &[name]));
        }
        if rows.len() >= SETUP_ROWS_MAX {
            return Err(Error::new(&ER_RECORD_FILE_FULL, &[name]));
        }
        rows.push(row);
        self.act(&tables);
        Ok(())
    }

    pub fn delete(&self, table: &str, row: &Row) -> bool {
        let mut tables = self.tables.lock();
        let Some(rows) = tables.get_mut(table) else { return false };
        let before = rows.len();
        rows.retain(|known| known != row);
        let deleted = rows.len() < before;
        self.act(&tables);
        deleted
    }

    /// TRUNCATE.
    pub fn empty(&self, table: &str) {
        let mut tables = self.tables.lock();
        if let Some(rows) = tables.get_mut(table) {
            rows.clear();
        }
        self.act(&tables);
    }

    /// Makes of the rows what those read who count.
    fn act(&self, tables: &SetupRows) {
        let rows = |table: &str| tables.get(table).map(Vec::as_slice).unwrap_or_default();
        let mut observed = 0;
        for (name, bit, needs) in CONSUMERS {
            let row = rows("setup_consumers").iter().find(|row| is_text(row.first(), name));
            if row.is_some_and(|row| is_yes(row.get(1))) && observed & needs.0 == needs.0 {
                observed |= bit.0;
            }
        }
        let mut off = [0u64; KIND_WORDS];
        for row in rows("setup_instruments") {
            let is_on = is_yes(row.get(1));
            if is_text(row.first(), "transaction") && is_on {
                observed |= Observed::TRANSACTION.0;
            }
            let Some(Value::Bytes(name)) = row.first() else { continue };
            let Some(name) = name.strip_prefix(b"statement/sql/").filter(|_| !is_on) else { continue };
            let of_name = |kind: &&StatementKind| kind.facts().counter.as_bytes().strip_prefix(b"Com_") == Some(name);
            for kind in StatementKind::ALL.iter().filter(of_name) {
                off[*kind as usize / 64] |= 1 << (*kind as usize % 64);
            }
        }
        if off.iter().all(|word| *word == 0) {
            observed |= Observed::EVERY_STATEMENT.0;
        }
        self.kinds_off.iter().zip(off).for_each(|(word, off)| word.store(off, Ordering::Relaxed));
        self.observed.store(observed, Ordering::Relaxed);
    }
}

/// Columns that say what a row of setup_actors or setup_objects is about.
const NAMED_BY: usize = 3;

/// YES is the first label.
pub fn is_yes(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::UInt(1)))
}

fn is_text(value: Option<&Value>, text: &str) -> bool {
    matches!(value, Some(Value::Bytes(bytes)) if **bytes == *text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_actor_says_whether_a_connection_is_observed() {
        let row = |host: &str, user: &str, on: u64| {
            let name = |text: &str| Value::from(text);
            vec![name(host), name(user), name("%"), Value::UInt(on), Value::UInt(on)]
        };
        let setup = Setup::new(SetupRows::from([("setup_actors", vec![row("%", "%", 1)])]));
        assert_eq!(setup.actor("a", "h"), (true, true));
        assert!(setup.insert("setup_actors", row("h", "%", 2)).is_ok());
        assert!(setup.insert("setup_actors", row("h", "a", 1)).is_ok());
        assert!(setup.insert("setup_actors", row("h", "a", 2)).is_err_and(|error| error.is(&ER_DUP_KEY)));
        assert_eq!(
            (setup.actor("a", "h"), setup.actor("b", "h"), setup.actor("b", "i")),
            ((true, true), (false, false), (true, true))
        );
        assert!(setup.delete("setup_actors", &row("%", "%", 1)));
        assert_eq!(setup.actor("b", "i"), (false, false));
    }
}
