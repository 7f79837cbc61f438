//! The events of one connection: the statement that runs and the last ones, the transaction that runs and the last ones, and sums of them.
//! Others read them, under the lock of the connection's state.
//!
//! * EVENTS-2: events of a connection have numbers in the order in which they began. A statement's transaction has a number behind the
//!   statement's.
//! * EVENTS-3: what a connection keeps of texts is no longer than `performance_schema_max_sql_text_length`.

use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_exec::context::{
    Bucket, Characteristics, ErrorSums, Observed, SavepointCounts, StatementEvent, Sums, TransactionEvent, TransactionState,
    Work, XaEvent,
};

use crate::statement_events::{Ended, KeptLine, StatementEvents, shortened};
use crate::table_sums::ConnectionTables;

/// Events of a connection that each of its histories has.
const HISTORY_EVENTS: usize = 10;
/// One more has a place: the one that runs.
const EVENTS: usize = HISTORY_EVENTS + 1;

#[derive(Default)]
pub struct ConnectionEvents {
    /// Numbers of the server's that the next statements get.
    ids: Range<u64>,
    /// Of the last event.
    number: u64,
    /// How many statements there were, and transactions. The n-th is at n modulo its places.
    statements: usize,
    transactions: usize,
    events: Vec<Event>,
    transaction_events: Vec<Transaction>,
    pub sums: Sums,
    pub tables: ConnectionTables,
}

/// A statement that runs or has ended.
#[derive(Default)]
struct Event {
    /// 0: none, or it is not to be shown any more.
    number: u64,
    end_number: u64,
    statement_id: u64,
    /// The transaction that it is part of; 0: none.
    transaction: u64,
    began: Option<Instant>,
    text: Option<Arc<str>>,
    stats: Option<Arc<KeptLine>>,
    /// `None` while it runs.
    wait_ns: Option<u64>,
    is_history: bool,
    error: Option<Box<Failure>>,
    work: Work,
}

/// The number of an error or warning, conditions of it, and those that handlers have taken.
pub type CountedCondition = (u16, u64, u64);

/// Number, SQLSTATE and message of an error.
pub type Failure = (u16, String, String);

/// A transaction that runs or has ended.
struct Transaction {
    /// 0: it is not to be shown any more.
    number: u64,
    end_number: u64,
    statement: u64,
    state: TransactionState,
    is_history: bool,
    id: u64,
    characteristics: Characteristics,
    savepoints: SavepointCounts,
    xa: Option<Box<XaEvent>>,
    began: Instant,
    wait_ns: Option<u64>,
}

/// What a session knows of its transaction.
#[derive(Clone)]
pub struct TransactionNote {
    pub state: TransactionState,
    pub id: u64,
    pub characteristics: Characteristics,
    pub savepoints: SavepointCounts,
    pub xa: Option<Box<XaEvent>>,
}

/// A statement ends.
pub struct Ending<'a> {
    pub connection_id: u64,
    pub took: Duration,
    /// In microseconds since 1970.
    pub began_us: u64,
    pub work: &'a Work,
    /// The shape of its plan.
    pub plan: Option<NonZeroU64>,
    pub error: Option<Box<Failure>>,
    pub observed: Observed,
    /// Its instrument is on.
    pub is_counted: bool,
}

impl ConnectionEvents {
    // Each statement passes here: left to itself the compiler has inlined it in one build and not in the next.
    #[inline]
    pub fn begin(&mut self, began: Instant, text: &Arc<str>, stats: Option<&Arc<KeptLine>>, all: &StatementEvents) {
        if self.events.is_empty() {
            self.events.resize_with(EVENTS, Event::default);
        }
        let statement_id = self.ids.next().unwrap_or_else(|| {
            self.ids = all.next_ids();
            self.ids.next().unwrap_or_default()
        });
        self.number += 1;
        self.statements += 1;
        let (number, transaction) = (self.number, self.running_transaction().map_or(0, |transaction| transaction.number));
        let Some(event) = self.running() else { return };
        event.number = number;
        event.statement_id = statement_id;
        event.transaction = transaction;
        event.began = Some(began);
        event.text = Some(text.clone());
        event.stats = stats.cloned();
        event.wait_ns = None;
        event.error = None;
    }

    fn running(&mut self) -> Option<&mut Event> {
        self.events.get_mut(self.statements % EVENTS)
    }

    fn running_transaction(&mut self) -> Option<&mut Transaction> {
        let last = self.transaction_events.get_mut(self.transactions % EVENTS)?;
        (last.wait_ns.is_none()).then_some(last)
    }

    /// What runs is shown with this text.
    pub fn show_instead(&mut self, text: &Arc<str>) {
        if let Some(event) = self.running().filter(|event| event.wait_ns.is_none()) {
            event.text = Some(text.clone());
        }
    }

    /// What runs is known by now.
    pub fn identify(&mut self, stats: &Arc<KeptLine>) {
        if let Some(event) = self.running() {
            event.stats = Some(stats.clone());
        }
    }

    /// Where what runs is counted.
    pub fn running_line(&mut self) -> Option<Arc<KeptLine>> {
        self.running().and_then(|event| event.stats.clone())
    }

    #[inline]
    pub fn end(&mut self, ending: Ending<'_>, all: &StatementEvents) {
        let number = self.number;
        let Some(event) = self.events.get_mut(self.statements % EVENTS) else { return };
        let Ending { connection_id, took, began_us, work, plan, error, observed, is_counted } = ending;
        let wait_ns = took.as_nanos() as u64;
        event.work = *work;
        event.error = error;
        event.wait_ns = Some(wait_ns);
        event.end_number = number;
        event.is_history = observed.has(Observed::STATEMENT_HISTORY) && is_counted;
        if !(observed.has(Observed::STATEMENTS) && is_counted) {
            event.number = 0;
        }
        let stats = event.stats.get_or_insert_with(|| all.without_digest(None));
        if let Some(text) = &mut event.text {
            *text = shortened(text, all.text_bytes_max());
        }
        if !is_counted {
            return;
        }
        let bucket = Bucket::of(wait_ns);
        self.sums.kind(stats.kind()).add(wait_ns, bucket, work);
        if observed.has(Observed::DIGESTS) {
            all.count(stats, &Ended { connection_id, text: event.text.as_ref(), wait_ns, bucket, began_us, work, plan });
        }
    }

    /// A transaction runs, which began with the statement that ends.
    pub fn begin_transaction(&mut self, note: TransactionNote) {
        let Some(statement) = self.running() else { return };
        let (began, number_of) = (statement.began.unwrap_or_else(Instant::now), statement.number);
        self.number += 1;
        self.transactions += 1;
        let transaction = Transaction {
            number: self.number,
            end_number: 0,
            statement: number_of,
            state: note.state,
            is_history: false,
            id: note.id,
            characteristics: note.characteristics,
            savepoints: note.savepoints,
            xa: note.xa,
            began,
            wait_ns: None,
        };
        let at = self.transactions % EVENTS;
        // The first of all is at 1: place 0 stays for the one that comes after the others.
        while self.transaction_events.len() <= at {
            self.transaction_events.push(Transaction { number: 0, wait_ns: Some(0), xa: None, ..transaction });
        }
        self.transaction_events[at] = transaction;
    }

    /// What is new of the transaction that runs.
    pub fn note_transaction(&mut self, note: TransactionNote) {
        if let Some(running) = self.running_transaction() {
            (running.state, running.id, running.savepoints, running.xa) = (note.state, note.id, note.savepoints, note.xa);
        }
    }

    /// It has ended; one of a statement alone begins here, too, and takes as long as that (`took`).
    pub fn end_transaction(&mut self, note: TransactionNote, observed: Observed, took: Option<Duration>) {
        let took = took.filter(|_| note.characteristics.autocommit);
        if self.running_transaction().is_none() {
            self.begin_transaction(note.clone());
        }
        let Some(running) = self.running_transaction() else { return };
        (running.state, running.savepoints) = (note.state, note.savepoints);
        if note.id != 0 {
            running.id = note.id;
        }
        running.xa = note.xa.or(running.xa.take());
        self.close_transaction(observed, took);
    }

    /// It has gone without a word: the session began anew.
    pub fn lose_transaction(&mut self, observed: Observed) {
        if let Some(running) = self.running_transaction() {
            running.state = TransactionState::RolledBack;
            self.close_transaction(observed, None);
        }
    }

    /// Not shown any more unless it is observed.
    fn close_transaction(&mut self, observed: Observed, took: Option<Duration>) {
        let number = self.number;
        let Some(running) = self.running_transaction() else { return };
        let wait_ns = took.unwrap_or_else(|| running.began.elapsed()).as_nanos() as u64;
        let read_only = running.characteristics.read_only;
        running.wait_ns = Some(wait_ns);
        running.end_number = number;
        running.is_history = observed.has(Observed::TRANSACTION_HISTORY);
        if !observed.has(Observed::TRANSACTIONS) {
            running.number = 0;
        }
        self.sums.transactions.add(read_only, wait_ns);
    }

    pub fn count_errors(&mut self, counted: &[CountedCondition], seen_us: u64) {
        for &(code, raised, handled) in counted {
            self.sums.error(&ErrorSums { code, raised, handled, first_seen_us: seen_us, last_seen_us: seen_us });
        }
    }

    /// What runs, or ran last.
    pub fn current(&self, connection_id: u64, server_began: Instant) -> Option<StatementEvent> {
        let event = self.events.get(self.statements % EVENTS)?;
        (event.number != 0).then(|| event.shown(connection_id, server_began))
    }

    /// The oldest first.
    pub fn history(&self, connection_id: u64, server_began: Instant) -> Vec<StatementEvent> {
        let is_shown = |event: &&Event| event.number != 0 && event.wait_ns.is_some() && event.is_history;
        let mut ended: Vec<&Event> = self.events.iter().filter(is_shown).collect();
        ended.sort_by_key(|event| event.number);
        let first = ended.len().saturating_sub(HISTORY_EVENTS);
        ended.iter().skip(first).map(|event| event.shown(connection_id, server_began)).collect()
    }

    pub fn transaction(&self, connection_id: u64, server_began: Instant) -> Option<TransactionEvent> {
        let last = self.transaction_events.get(self.transactions % EVENTS)?;
        (last.number != 0).then(|| last.shown(connection_id, server_began))
    }

    /// The oldest first.
    pub fn transaction_history(&self, connection_id: u64, server_began: Instant) -> Vec<TransactionEvent> {
        let is_shown = |event: &&Transaction| event.number != 0 && event.wait_ns.is_some() && event.is_history;
        let mut ended: Vec<&Transaction> = self.transaction_events.iter().filter(is_shown).collect();
        ended.sort_by_key(|event| event.number);
        let first = ended.len().saturating_sub(HISTORY_EVENTS);
        ended.iter().skip(first).map(|event| event.shown(connection_id, server_began)).collect()
    }

    pub fn forget_history(&mut self) {
        self.events.iter_mut().for_each(|event| event.is_history = false);
    }

    pub fn forget_transaction_history(&mut self) {
        self.transaction_events.iter_mut().for_each(|event| event.is_history = false);
    }
}

impl Event {
    fn shown(&self, connection_id: u64, server_began: Instant) -> StatementEvent {
        let digest = self.stats.as_ref().and_then(|stats| stats.digest().cloned());
        let began = self.began.unwrap_or(server_began);
        let ended = self.wait_ns.is_some();
        StatementEvent {
            connection_id,
            number: self.number,
            end_number: ended.then_some(self.end_number),
            transaction: (self.transaction != 0).then_some(self.transaction),
            statement_id: self.statement_id,
            kind: self.stats.as_ref().and_then(|stats| stats.kind()),
            start_ns: began.saturating_duration_since(server_began).as_nanos() as u64,
            wait_ns: self.wait_ns.unwrap_or_else(|| began.elapsed().as_nanos() as u64),
            text: self.text.clone(),
            database: digest.as_ref().and_then(|digest| digest.database.clone()),
            digest,
            error: self.error.as_deref().cloned(),
            work: if ended { self.work } else { Work::default() },
        }
    }
}

impl Transaction {
    fn shown(&self, connection_id: u64, server_began: Instant) -> TransactionEvent {
        TransactionEvent {
            connection_id,
            number: self.number,
            end_number: self.wait_ns.map(|_| self.end_number),
            state: self.state,
            id: self.id,
            characteristics: self.characteristics,
            savepoints: self.savepoints,
            xa: self.xa.as_deref().cloned(),
            start_ns: self.began.saturating_duration_since(server_began).as_nanos() as u64,
            wait_ns: self.wait_ns.unwrap_or_else(|| self.began.elapsed().as_nanos() as u64),
            statement: self.statement,
        }
    }
}
