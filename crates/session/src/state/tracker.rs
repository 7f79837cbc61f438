//! Session tracking: what OK packets tell the client of changes to its session.
//!
//! A client that has SESSION_TRACK learns a new default database, the variables that
//! `session_track_system_variables` names (each once, by name), with `session_track_state_change` that anything has
//! changed, with `session_track_gtids` the GTIDs of its transactions or all, and with `session_track_transaction_info` what its transaction has done:
//! ```text
//! T_R_W_S_     T explicit or I implicit transaction, R read, W wrote, S sent a result set, L holds LOCK TABLES
//! ```
//! and the statements that would begin it again. MySQL's small letters (tables of engines without transactions, statements
//! that are unsafe to log) are never set.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use vaquita_plan::node::{InsertSource, Plan};
use vaquita_storage::Isolation;

use super::transaction::NextTransaction;
use crate::variables::settings::{Track, TrackGtids, TrackTransaction};

/// A change of the session that its client wants to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Variable {
        name: String,
        value: String,
    },
    Schema(String),
    /// Something has changed; `session_track_state_change`.
    State,
    /// `session_track_gtids`.
    Gtids(String),
    /// `T_R_W_S_`, as above.
    Transaction([u8; 8]),
    /// The statements that would begin the transaction again.
    Characteristics(String),
}

const NO_TRANSACTION: [u8; 8] = *b"________";
/// Places in the state of a transaction.
const KIND: usize = 0;
const READ: usize = 2;
const WROTE: usize = 4;
const SENT_ROWS: usize = 6;
const LOCKED: usize = 7;

pub struct Tracker {
    variables: RefCell<BTreeMap<String, String>>,
    schema: RefCell<Option<String>>,
    state_changed: Cell<bool>,
    /// Of the open transaction, and as the client was last told.
    transaction: Cell<[u8; 8]>,
    told: Cell<[u8; 8]>,
    /// The statements that begin the transaction again; told when they are set, even to what they were.
    characteristics: RefCell<String>,
    characteristics_changed: Cell<bool>,
    /// What `session_track_gtids` was when the statement began, if that ends with GTIDs.
    gtids: Cell<TrackGtids>,
    /// Something above is to be told: the common case needs one look.
    pending: Cell<bool>,
}

impl Default for Tracker {
    fn default() -> Tracker {
        Tracker {
            variables: RefCell::default(),
            schema: RefCell::default(),
            state_changed: Cell::new(false),
            transaction: Cell::new(NO_TRANSACTION),
            told: Cell::new(NO_TRANSACTION),
            characteristics: RefCell::default(),
            characteristics_changed: Cell::new(false),
            gtids: Cell::new(TrackGtids::Off),
            pending: Cell::new(false),
        }
    }
}

impl Tracker {
    pub fn database_changed(&self, track: &Track, name: &str) {
        if track.schema {
            *self.schema.borrow_mut() = Some(name.to_string());
            self.pending.set(true);
        }
        self.state_changed(track);
    }

    pub fn variable_changed(&self, track: &Track, name: &str, value: &str) {
        if track.all_variables || track.variables.iter().any(|n| n == name) {
            self.variables.borrow_mut().insert(name.to_string(), value.to_string());
            self.pending.set(true);
        }
        // Turning it on is no change of the state itself.
        if name != "session_track_state_change" {
            self.state_changed(track);
        }
    }

    /// A statement begins, which is not ROLLBACK.
    #[inline]
    pub fn statement_begins(&self, track: &Track) {
        if track.gtids != TrackGtids::Off {
            self.gtids.set(track.gtids);
            self.pending.set(true);
        }
    }

    /// It has failed: what it has committed is not told.
    pub fn statement_failed(&self) -> TrackGtids {
        self.gtids.take()
    }

    pub fn state_changed(&self, track: &Track) {
        if track.state_change {
            self.state_changed.set(true);
            self.pending.set(true);
        }
    }

    /// `session_track_transaction_info` was set; `open` tells whether in a transaction.
    pub fn transaction_info_set(&self, track: &Track, open: bool) {
        let state = if open { *b"T_______" } else { NO_TRANSACTION };
        self.transaction.set(state);
        self.told.set(state);
        self.set_characteristics(track, if open { "START TRANSACTION;".into() } else { String::new() });
        self.pending.set(track.transaction == TrackTransaction::Characteristics || self.pending.get());
    }

    fn set_characteristics(&self, track: &Track, statements: String) {
        *self.characteristics.borrow_mut() = statements;
        self.characteristics_changed.set(track.transaction == TrackTransaction::Characteristics);
        self.pending.set(true);
    }

    fn set(&self, place: usize, letter: u8) {
        let mut state = self.transaction.get();
        if let Some(at) = state.get_mut(place) {
            *at = letter;
        }
        self.transaction.set(state);
        self.pending.set(true);
    }

    /// SET TRANSACTION for the next transaction alone.
    pub fn next_transaction_set(&self, track: &Track, next: &NextTransaction) {
        if track.transaction == TrackTransaction::Off {
            return;
        }
        let mut statements = isolation_statement(next.isolation);
        if let Some(read_only) = next.read_only {
            statements.push_str(if read_only { "SET TRANSACTION READ ONLY; " } else { "SET TRANSACTION READ WRITE; " });
        }
        self.set_characteristics(track, statements.trim_end().to_string());
    }

    /// START TRANSACTION: `read_only` if it or SET TRANSACTION said so.
    pub fn transaction_started(&self, track: &Track, snapshot: bool, read_only: Option<bool>, next: &NextTransaction) {
        if track.transaction == TrackTransaction::Off {
            return;
        }
        let mut statements = isolation_statement(next.isolation);
        statements.push_str("START TRANSACTION");
        let access = read_only.or(next.read_only).map(|read_only| if read_only { "READ ONLY" } else { "READ WRITE" });
        let options = [snapshot.then_some("WITH CONSISTENT SNAPSHOT"), access];
        for (n, option) in options.into_iter().flatten().enumerate() {
            statements.push_str(if n == 0 { " " } else { ", " });
            statements.push_str(option);
        }
        statements.push(';');
        self.set_characteristics(track, statements);
        self.set(KIND, b'T');
        if snapshot {
            self.set(READ, b'R');
        }
    }

    /// COMMIT AND CHAIN and ROLLBACK AND CHAIN: another transaction like the one before.
    pub fn transaction_chained(&self, track: &Track, before: String) {
        if track.transaction == TrackTransaction::Off {
            return;
        }
        let statements = before.replace(" WITH CONSISTENT SNAPSHOT,", "").replace(" WITH CONSISTENT SNAPSHOT", "");
        self.set_characteristics(track, statements);
        self.set(KIND, b'T');
    }

    pub fn characteristics(&self) -> String {
        self.characteristics.borrow().clone()
    }

    /// A statement runs inside a transaction, which it begins if there is none.
    #[inline]
    pub fn statement_in_transaction(&self, track: &Track, plan: &Plan) {
        if track.transaction != TrackTransaction::Off {
            self.note_plan(plan);
        }
    }

    fn note_plan(&self, plan: &Plan) {
        let [kind, ..] = self.transaction.get();
        let (reads, writes) = match plan {
            Plan::Query(query) => (!query.tables.is_empty(), false),
            Plan::Insert(insert) => (matches!(insert.source, InsertSource::Query(_)), true),
            Plan::Update(_) | Plan::Delete(_) => (false, true),
        };
        if kind == b'_' && (reads || writes) {
            self.set(KIND, b'I');
        }
        if reads {
            self.set(READ, b'R');
        }
        if writes {
            self.set(WROTE, b'W');
        }
    }

    /// The client has got a result set.
    #[inline]
    pub fn rows_sent(&self, track: &Track) {
        if track.transaction != TrackTransaction::Off && !self.transaction.get().starts_with(b"_") {
            self.set(SENT_ROWS, b'S');
        }
    }

    /// LOCK TABLES or UNLOCK TABLES runs.
    pub fn locks_change(&self) {
        self.pending.set(true);
    }

    /// A transaction ended, be it one statement's.
    #[inline]
    pub fn transaction_ended(&self, track: &Track) {
        if track.transaction == TrackTransaction::Off {
            return;
        }
        self.transaction.set(NO_TRANSACTION);
        self.pending.set(true);
        if !self.characteristics.borrow().is_empty() {
            self.set_characteristics(track, String::new());
        }
    }

    /// All that has changed since it was last told; empty as a rule. `under_locks`: LOCK TABLES was given.
    #[inline]
    pub fn take(&self, track: &Track, under_locks: bool, gtids: impl FnOnce(TrackGtids) -> Option<String>) -> Vec<Change> {
        if self.pending.get() { self.take_pending(track, under_locks, gtids) } else { Vec::new() }
    }

    #[cold]
    fn take_pending(&self, track: &Track, under_locks: bool, gtids: impl FnOnce(TrackGtids) -> Option<String>) -> Vec<Change> {
        if track.transaction != TrackTransaction::Off {
            self.set(LOCKED, if under_locks { b'L' } else { b'_' });
        }
        self.pending.set(false);
        let variables = self.variables.take().into_iter();
        let mut changes: Vec<Change> = variables.map(|(name, value)| Change::Variable { name, value }).collect();
        changes.extend(self.schema.take().map(Change::Schema));
        if self.state_changed.take() {
            changes.push(Change::State);
        }
        changes.extend(gtids(self.gtids.take()).map(Change::Gtids));
        let state = self.transaction.get();
        if track.transaction != TrackTransaction::Off && self.told.replace(state) != state {
            changes.push(Change::Transaction(state));
        }
        if self.characteristics_changed.take() && track.transaction == TrackTransaction::Characteristics {
            changes.push(Change::Characteristics(self.characteristics.borrow().clone()));
        }
        changes
    }
}

fn isolation_statement(isolation: Option<Isolation>) -> String {
    let level = match isolation {
        None => return String::new(),
        Some(Isolation::ReadUncommitted) => "READ UNCOMMITTED",
        Some(Isolation::ReadCommitted) => "READ COMMITTED",
        Some(Isolation::RepeatableRead) => "REPEATABLE READ",
        Some(Isolation::Serializable) => "SERIALIZABLE",
    };
    format!("SET TRANSACTION ISOLATION LEVEL {level}; ")
}
