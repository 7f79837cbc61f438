//! The statement event of what a session runs: it begins with the text, is identified when that is parsed, and ends with the answer.
//! Statements of stored programs are part of the statement that called.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use vaquita_exec::context::{
    Calls, Characteristics, Counted, DigestInfo, Forget, Observed, OwnedSums, PlanInfo, RowWork, SessionEnv, StatementEvent,
    StatementEvents, Sums, TableSums, TableUse, TransactionEvent, TransactionState, Work,
};
use vaquita_parser::StatementKind;
use vaquita_plan::explain;
use vaquita_plan::node::Plan;
use vaquita_types::Error;
use vaquita_types::schema::TableDef;

use super::Session;
use crate::clients::Client;
use crate::connection_events::{ConnectionEvents, Ending, Failure, TransactionNote};
use crate::counters::Counter;
use crate::server::Server;
use crate::statement_events::KeptLine;
use crate::variables::Var;

pub(super) const PS_PER_US: u64 = 1_000_000;
/// Tables that are noted of one statement, those of the programs that it calls included.
const NOTED_TABLES_MAX: usize = 64;

/// What the statement that runs has done so far.
#[derive(Default)]
pub(super) struct RunningEvent {
    /// False between statements.
    open: bool,
    error: Option<Box<Failure>>,
    /// Its number; 0 if there is none.
    errno: u16,
    /// It finds the rows that it changes by a look at all of a table.
    pub scans: bool,
    work: Work,
    examined: Cell<u64>,
    /// Rows of tables.
    tables: RefCell<Vec<(TableUse, RowWork, u64)>>,
    /// The kind of the statement, if it is known.
    kind: Cell<Option<StatementKind>>,
    /// The shape of its plan, if it has one.
    plan: Option<NonZeroU64>,
    /// A transaction that has ended with it.
    ended: Option<TransactionNote>,
    /// The open transaction is an event by now.
    shows_transaction: bool,
}

impl RunningEvent {
    #[inline]
    pub fn add(&mut self, what: Counted, count: u64) {
        self.work.add(what, count);
    }

    /// Rows that scans have looked at.
    pub fn examined(&self, rows: u64) {
        self.examined.set(self.examined.get() + rows);
    }

    /// Rows of tables that an execution has read, and those that its plan has changed; how many tables these are.
    #[inline]
    pub fn note_tables(&self, calls: &Calls, changed: Option<(&TableDef, RowWork, u64)>) -> u64 {
        let mut count = 0;
        let mut tables = self.tables.borrow_mut();
        for (used, rows) in calls.tables() {
            count += 1;
            // Statements of a program may be many.
            if tables.len() < NOTED_TABLES_MAX {
                tables.push((used, RowWork::Fetch, rows));
            }
        }
        if let Some((table, work, rows)) = changed {
            count += u64::from(work == RowWork::Insert);
            let found = calls.tables().find(|(used, _)| used.table == table.id.0 && work != RowWork::Insert);
            let index = if work == RowWork::Insert { None } else { Some(0) };
            let used = found.map_or_else(|| TableUse::of(table, index), |(used, _)| used);
            if used.is_kept() && tables.len() < NOTED_TABLES_MAX {
                tables.push((used, work, rows));
            }
        }
        count
    }

    /// What it has done by now.
    pub fn work(&self) -> &Work {
        &self.work
    }

    pub fn errno(&self) -> u16 {
        self.errno
    }

    pub fn failed(&mut self, error: &Error) {
        self.errno = error.code();
        if self.open {
            self.error = Some(Box::new((error.code(), error.sqlstate().to_string(), error.message().to_string())));
        }
    }

    /// An error that a handler has heard is none of the statement's.
    pub fn succeeded(&mut self) {
        self.errno = 0;
        self.error = None;
    }
}

impl Session {
    /// What is observed of this connection.
    fn observed(&self) -> Observed {
        let (statements, history) = self.client.observed();
        self.server.setup.observed().of_connection(statements, history)
    }

    /// A command with the text of a statement; `line`: where it is counted, if that is known. What of the same text was before it has ended.
    pub(super) fn begin_event(&mut self, command: &'static str, text: Arc<str>, line: Option<&Arc<KeptLine>>) {
        if self.event.open || self.logged.is_known() {
            self.end_event();
        }
        self.event.work = Work::default();
        self.event.examined.set(0);
        self.event.errno = 0;
        self.event.scans = false;
        if self.env.settings.profiling {
            self.env.profiles.begin(&text);
        }
        if !self.server.globals.is_on(Var::PerformanceSchema) || !self.server.setup.observed().has(Observed::GLOBAL) {
            return self.client.begin_command(command, Some(text));
        }
        self.client.begin_statement(command, text, line, &self.server.statement_events);
        self.event.kind.set(line.and_then(|line| line.kind()));
        self.event.open = true;
        self.event.plan = None;
        self.event.tables.get_mut().clear();
    }

    /// The statement's text is that of a kind.
    pub(super) fn identify(&mut self, sql: &[u8], kind: StatementKind) {
        if !self.event.open {
            return;
        }
        let settings = self.env.settings.plan.clone();
        let line =
            self.prepared.texts().line_of(sql, &settings, || self.server.statement_events.line_of(("", sql), &settings, kind));
        self.identified(&line);
    }

    pub(super) fn identified(&self, line: &Arc<KeptLine>) {
        self.env.profiles.stage("executing");
        self.event.kind.set(line.kind());
        self.client.with_events(|events| events.identify(line));
    }

    /// The statement, which is counted in `line`, is about to run by this plan.
    #[inline]
    pub(super) fn note_plan(&mut self, line: &KeptLine, shape: Option<NonZeroU64>, plan: &Plan) {
        if !self.event.open {
            return;
        }
        self.event.plan = shape;
        if let Some(shape) = shape
            && line.is_other_plan(shape)
        {
            self.server.statement_events.know_plan(line, shape, || explain::tree(plan));
        }
    }

    /// The same of a plan that was made for this execution.
    pub(super) fn note_new_plan(&mut self, plan: &Plan) {
        if self.event.open
            && let Some(shape) = explain::shape(plan)
            && let Some(line) = self.client.with_events(|events| events.running_line())
        {
            self.note_plan(&line, Some(shape), plan);
        }
    }

    /// The command is over, and the statement with it.
    pub(super) fn end_event(&mut self) {
        // Before the statement's event is left to others.
        self.event.work.add(Counted::RowsExamined, self.event.examined.take());
        self.event.work.add(Counted::LockTime, self.client.interrupt.take_waited_us() * PS_PER_US);
        let took = self.observe_end();
        self.log_ended(took);
    }

    /// How long it took.
    fn observe_end(&mut self) -> Duration {
        let observed = self.observed();
        if !self.env.profiles.is_idle() {
            let shows = matches!(self.event.kind.get(), Some(StatementKind::ShowProfile | StatementKind::ShowProfiles));
            self.env.profiles.end(self.env.settings.profiling && !shows, self.env.settings.profiles_max);
        }
        let is_open = self.transaction.is_open();
        let note = (is_open && observed.has(Observed::TRANSACTION)).then(|| self.note_of_transaction(TransactionState::Active));
        let Session { client, event, server, env, .. } = self;
        client.end_command(|took, events| {
            if !std::mem::take(&mut event.open) {
                return;
            }
            match event.ended.take() {
                Some(ended) => {
                    event.shows_transaction = false;
                    events.end_transaction(ended, observed, Some(took));
                }
                None if event.shows_transaction && !is_open => events.lose_transaction(observed),
                None => {}
            }
            match note {
                Some(note) if event.shows_transaction => events.note_transaction(note),
                Some(note) => events.begin_transaction(note),
                None => {}
            }
            event.shows_transaction = is_open && observed.has(Observed::TRANSACTION);
            let noted = event.tables.get_mut();
            let took_ns = took.as_nanos() as u64;
            let share_ns = if noted.len() > 1 { took_ns / noted.len() as u64 } else { took_ns };
            for (used, work, rows) in noted.drain(..) {
                events.tables.add(used, work, rows, share_ns, &server.clients().tables);
            }
            event.work.add(Counted::Errors, u64::from(event.error.is_some()));
            let began_us = env.statement_time_us() as u64;
            let counted = env.diagnostics.take_counted();
            events.count_errors(&counted, began_us);
            let is_counted =
                observed.has(Observed::EVERY_STATEMENT) || event.kind.get().is_none_or(|kind| server.setup.counts_kind(kind));
            let ending = Ending {
                connection_id: client.id,
                took,
                began_us,
                work: &event.work,
                plan: event.plan,
                error: event.error.take(),
                observed,
                is_counted,
            };
            events.end(ending, &server.statement_events);
        })
    }

    fn note_of_transaction(&self, state: TransactionState) -> TransactionNote {
        let storage = self.transaction.shared().borrow();
        let options = storage.options();
        TransactionNote {
            state,
            id: storage.id(),
            characteristics: Characteristics {
                read_only: options.read_only,
                isolation: options.isolation,
                autocommit: !self.transaction.is_open(),
            },
            savepoints: self.transaction.savepoint_counts(),
            xa: self.transaction.xa_event().map(Box::new),
        }
    }

    /// What is to be told of the transaction, which is about to end, if it is one: open, or with tables that it has used.
    pub(super) fn ending_transaction(&self, state: TransactionState) -> Option<TransactionNote> {
        if !self.transaction.is_open() && self.transaction.shared().borrow().is_idle() {
            return None;
        }
        let committed = state == TransactionState::Committed;
        self.client.counters.add(if committed { Counter::HandlerCommit } else { Counter::HandlerRollback }, 1);
        // That a lone statement has read is told by its own event: another would cost a point read 4% of its instructions.
        let is_lone_read = committed && !self.transaction.is_open() && self.transaction.is_read_only();
        let is_shown = self.event.open && !is_lone_read && self.server.setup.observed().has(Observed::TRANSACTION);
        is_shown.then(|| self.note_of_transaction(state))
    }

    /// It has ended. A statement may end several.
    pub(super) fn transaction_ended(&mut self, note: Option<TransactionNote>) {
        let Some(note) = note else { return };
        if let Some(before) = self.event.ended.replace(note) {
            let observed = self.observed();
            self.event.shows_transaction = false;
            self.client.with_events(|events| events.end_transaction(before, observed, None));
        }
    }
}

impl StatementEvents for Server {
    fn digests(&self) -> Vec<DigestInfo> {
        self.statement_events.digests()
    }

    fn plans(&self) -> Vec<PlanInfo> {
        self.statement_events.plans()
    }

    fn all(&self) -> Sums {
        self.clients().all_sums()
    }

    fn by_connection(&self) -> Vec<OwnedSums> {
        self.clients().sums_by_connection()
    }

    fn by_account(&self) -> Vec<OwnedSums> {
        self.clients().sums_by_account()
    }

    fn current(&self) -> Vec<StatementEvent> {
        let clients = self.clients().list();
        clients.iter().filter_map(|client| client.with_events(|events| events.current(client.id, self.started))).collect()
    }

    fn history(&self) -> Vec<StatementEvent> {
        let clients = self.clients().list();
        clients.iter().flat_map(|client| client.with_events(|events| events.history(client.id, self.started))).collect()
    }

    fn transactions(&self) -> Vec<TransactionEvent> {
        let clients = self.clients().list();
        clients.iter().filter_map(|client| client.with_events(|events| events.transaction(client.id, self.started))).collect()
    }

    fn transaction_history(&self) -> Vec<TransactionEvent> {
        let clients = self.clients().list();
        let history = |client: &Arc<Client>| client.with_events(|events| events.transaction_history(client.id, self.started));
        clients.iter().flat_map(history).collect()
    }

    fn tables(&self) -> HashMap<TableUse, TableSums> {
        self.clients().table_sums()
    }

    fn forget(&self, what: Forget) {
        let each = |f: fn(&mut ConnectionEvents)| self.clients().list().iter().for_each(|client| client.with_events(f));
        match what {
            Forget::Digests => self.statement_events.forget_digests(),
            Forget::StatementHistory => each(ConnectionEvents::forget_history),
            Forget::TransactionHistory => each(ConnectionEvents::forget_transaction_history),
            sums => self.clients().forget_sums(sums),
        }
    }
}
