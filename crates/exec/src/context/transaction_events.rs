//! Transactions, errors, and sums by connection and account, as performance_schema tells of them.

use vaquita_parser::StatementKind;
use vaquita_storage::Isolation;

use super::statement_events::StatementSums;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionState {
    Active,
    Committed,
    RolledBack,
}

/// What a transaction is.
#[derive(Clone, Copy, Debug)]
pub struct Characteristics {
    pub read_only: bool,
    pub isolation: Isolation,
    /// It is a statement's own.
    pub autocommit: bool,
}

/// The id of an XA branch, as MySQL writes it, and its state.
#[derive(Clone, Debug)]
pub struct XaEvent {
    pub format_id: u64,
    pub gtrid: String,
    pub bqual: String,
    pub state: &'static str,
}

/// SAVEPOINT, ROLLBACK TO and RELEASE in a transaction.
pub type SavepointCounts = [u64; 3];

/// A line of events_transactions_current and its history.
#[derive(Clone, Debug)]
pub struct TransactionEvent {
    pub connection_id: u64,
    /// Among the events of its connection.
    pub number: u64,
    /// The last event in its course; `None` while it runs.
    pub end_number: Option<u64>,
    pub state: TransactionState,
    /// Of storage; 0 if it had nothing to do there.
    pub id: u64,
    pub characteristics: Characteristics,
    pub savepoints: SavepointCounts,
    pub xa: Option<XaEvent>,
    /// Since the server was started.
    pub start_ns: u64,
    /// Until now if it still runs.
    pub wait_ns: u64,
    /// The statement that began it.
    pub statement: u64,
}

/// How many there were, and how long they took.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeSums {
    pub count: u64,
    pub wait_ns: u64,
    /// 0 as long as there was none.
    pub wait_ns_min: u64,
    pub wait_ns_max: u64,
}

impl TimeSums {
    pub fn add(&mut self, wait_ns: u64) {
        self.add_all(&TimeSums { count: 1, wait_ns, wait_ns_min: wait_ns, wait_ns_max: wait_ns });
    }

    pub fn add_all(&mut self, other: &TimeSums) {
        if other.count == 0 {
            return;
        }
        self.wait_ns_min = if self.count == 0 { other.wait_ns_min } else { self.wait_ns_min.min(other.wait_ns_min) };
        self.wait_ns_max = self.wait_ns_max.max(other.wait_ns_max);
        self.count += other.count;
        self.wait_ns += other.wait_ns;
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct TransactionSums {
    pub read_write: TimeSums,
    pub read_only: TimeSums,
}

impl TransactionSums {
    pub fn add(&mut self, read_only: bool, wait_ns: u64) {
        if read_only { self.read_only.add(wait_ns) } else { self.read_write.add(wait_ns) }
    }

    pub fn add_all(&mut self, other: &TransactionSums) {
        self.read_write.add_all(&other.read_write);
        self.read_only.add_all(&other.read_only);
    }
}

/// An error or warning of one number.
#[derive(Clone, Copy, Debug)]
pub struct ErrorSums {
    pub code: u16,
    pub raised: u64,
    /// A handler of a stored program has heard it.
    pub handled: u64,
    /// Microseconds since 1970.
    pub first_seen_us: u64,
    pub last_seen_us: u64,
}

/// What was counted for a connection, an account, or the server.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    pub kinds: Vec<(Option<StatementKind>, StatementSums)>,
    pub transactions: TransactionSums,
    pub errors: Vec<ErrorSums>,
}

impl Sums {
    pub fn kind(&mut self, kind: Option<StatementKind>) -> &mut StatementSums {
        let at = self.kinds.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            self.kinds.push((kind, StatementSums::default()));
            self.kinds.len() - 1
        });
        &mut self.kinds[at].1
    }

    pub fn error(&mut self, other: &ErrorSums) {
        match self.errors.binary_search_by_key(&other.code, |known| known.code) {
            Ok(at) => {
                let known = &mut self.errors[at];
                known.raised += other.raised;
                known.handled += other.handled;
                known.first_seen_us = known.first_seen_us.min(other.first_seen_us);
                known.last_seen_us = known.last_seen_us.max(other.last_seen_us);
            }
            Err(at) => self.errors.insert(at, *other),
        }
    }

    pub fn add_all(&mut self, other: &Sums) {
        other.kinds.iter().for_each(|(kind, sums)| self.kind(*kind).add_all(sums));
        self.transactions.add_all(&other.transactions);
        other.errors.iter().for_each(|error| self.error(error));
    }
}

/// Whose sums they are.
#[derive(Clone, Debug, Default)]
pub struct OwnedSums {
    /// Of one connection.
    pub connection_id: Option<u64>,
    /// `None`: of the server itself, and of those that found no place.
    pub account: Option<(String, String)>,
    pub connections_now: u64,
    pub connections: u64,
    pub sums: Sums,
    /// Status variables.
    pub status: Vec<(&'static str, u64)>,
    /// Those that are no numbers.
    pub texts: Vec<(&'static str, String)>,
}

impl OwnedSums {
    /// What another connection of the account, or another account, has counted.
    pub fn add_all(&mut self, other: &OwnedSums) {
        self.connections_now += other.connections_now;
        self.connections += other.connections;
        self.sums.add_all(&other.sums);
        for (name, count) in &other.status {
            match self.status.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += count,
                None => self.status.push((name, *count)),
            }
        }
    }
}
