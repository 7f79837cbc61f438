//! The statement event of what a session runs: it begins with the text, is identified when that is parsed, and ends with the answer.
//! Statements of stored programs are part of the statement that called.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use vaquita_exec::context::{Counted, DigestInfo, SessionEnv, StatementEvent, StatementEvents, StatementSums, Work};
use vaquita_parser::StatementKind;
use vaquita_plan::node::{AccessPath, Node, Plan, Range};
use vaquita_plan::visit::inputs;
use vaquita_types::Error;

use super::Session;
use crate::server::Server;
use crate::statement_events::{ConnectionEvents, DigestStats, Failure};
use crate::variables::Var;

/// What the statement that runs has done so far.
#[derive(Default)]
pub(super) struct RunningEvent {
    /// False between statements.
    open: bool,
    error: Option<Box<Failure>>,
    work: Work,
    examined: Cell<u64>,
}

impl RunningEvent {
    pub fn add(&mut self, what: Counted, count: u64) {
        self.work.add(what, count);
    }

    /// Rows that scans have looked at.
    pub fn examined(&self, rows: u64) {
        self.examined.set(self.examined.get() + rows);
    }

    pub fn failed(&mut self, error: &Error) {
        if self.open {
            self.error = Some(Box::new((error.code(), error.sqlstate().to_string(), error.message().to_string())));
        }
    }

    /// An error that a handler has heard is none of the statement's.
    pub fn succeeded(&mut self) {
        self.error = None;
    }
}

impl Session {
    /// A command with the text of a statement; `line`: where it is counted, if that is known. What of the same text was before it has ended.
    pub(super) fn begin_event(&mut self, command: &'static str, text: Arc<str>, line: Option<&Arc<DigestStats>>) {
        if self.event.open {
            self.end_event();
        }
        if !self.server.globals.is_on(Var::PerformanceSchema) {
            return self.client.begin_command(command, Some(text));
        }
        self.client.begin_statement(command, text, self.server.statement_events.next_id(), line);
        self.event.open = true;
        self.event.work = Work::default();
        self.event.examined.set(0);
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

    pub(super) fn identified(&self, line: &Arc<DigestStats>) {
        self.client.with_events(|events| events.identify(line));
    }

    /// The command is over, and the statement with it; how long it took.
    pub(super) fn end_event(&mut self) -> Duration {
        let Session { client, event, server, env, .. } = self;
        client.end_command(|took, events| {
            if !std::mem::take(&mut event.open) {
                return;
            }
            event.work.add(Counted::RowsExamined, event.examined.get());
            event.work.add(Counted::Errors, u64::from(event.error.is_some()));
            let times = (took.as_nanos() as u64, env.statement_time_us() as u64);
            events.end(client.id, times, (&event.work, event.error.take()), &server.statement_events);
        })
    }

    /// How a query finds its rows.
    pub(super) fn note_access(&mut self, plan: &Plan) {
        if !self.event.open {
            return;
        }
        if let Plan::Query(query) = plan {
            note_node(&query.root, &mut self.event.work);
        }
    }
}

/// MySQL counts of the first table of a join whether it is read as a whole or by ranges, and of the others whether that happens for each row.
fn note_node(root: &Node, work: &mut Work) {
    let mut tables = 0;
    let mut whole = 0;
    note_scans(root, &mut |path: &AccessPath| {
        let is_first = tables == 0;
        tables += 1;
        match path {
            AccessPath::Full { .. } | AccessPath::System => {
                whole += 1;
                work.add(if is_first { Counted::SelectScan } else { Counted::SelectFullJoin }, 1);
            }
            AccessPath::Range { ranges, .. } => {
                let bounded = |range: &Range| range.low.is_some() || range.high.is_some();
                let all_of_it = ranges.iter().any(|range| range.equal.is_empty() && !bounded(range));
                match (all_of_it, ranges.iter().any(bounded), is_first) {
                    (true, _, true) => work.add(Counted::SelectScan, 1),
                    (true, _, false) => work.add(Counted::SelectFullJoin, 1),
                    (_, true, true) => work.add(Counted::SelectRange, 1),
                    (_, true, false) => work.add(Counted::SelectFullRangeJoin, 1),
                    _ => {}
                }
            }
            AccessPath::Point { .. } | AccessPath::FullText { .. } => {}
        }
    });
    work.add(Counted::NoIndexUsed, u64::from(whole != 0));
}

fn note_scans(node: &Node, f: &mut dyn FnMut(&AccessPath)) {
    match node {
        Node::Scan(scan) => f(&scan.path),
        other => inputs(other, &mut |input| note_scans(input, f)),
    }
}

impl StatementEvents for Server {
    fn digests(&self) -> Vec<DigestInfo> {
        self.statement_events.digests()
    }

    fn kinds(&self) -> Vec<(Option<StatementKind>, StatementSums)> {
        let mut all = self.statement_events.kinds_of_the_gone();
        self.clients().list().iter().for_each(|client| client.with_events(|events| events.add_kinds_to(&mut all)));
        all.0
    }

    fn current(&self) -> Vec<StatementEvent> {
        let clients = self.clients().list();
        clients.iter().filter_map(|client| client.with_events(|events| events.current(client.id, self.started))).collect()
    }

    fn history(&self) -> Vec<StatementEvent> {
        let clients = self.clients().list();
        clients.iter().flat_map(|client| client.with_events(|events| events.history(client.id, self.started))).collect()
    }

    fn forget_digests(&self) {
        self.statement_events.forget_digests();
    }

    fn forget_kinds(&self) {
        self.statement_events.forget_kinds_of_the_gone();
        self.clients().list().iter().for_each(|client| client.with_events(ConnectionEvents::forget_kinds));
    }

    fn forget_history(&self) {
        self.clients().list().iter().for_each(|client| client.with_events(ConnectionEvents::forget_history));
    }
}
