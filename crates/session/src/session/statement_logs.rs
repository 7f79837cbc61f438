//! What the session tells the logs (`crate::logs`): statements as they begin, for the general log, and as they end, for the slow log and the audit log.
//!
//! Statements in procedures are part of the CALL, and those in functions and triggers go to the general log alone, as in MySQL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_exec::context::{Counted, SessionEnv, SlowLogRow};
use vaquita_parser::{Statement as Ast, StatementKind, without_secrets};
use vaquita_plan::node::Plan;
use vaquita_storage::now_us;
use vaquita_types::errno::{ER_AUDIT_API_ABORT, ER_PARSE_ERROR};
use vaquita_types::{Error, Result, Value};

use super::Session;
use super::lock_tables::tables_of;
use super::observed::PS_PER_US;
use super::query::without_semicolons;
use crate::clients::Client;
use crate::counters::{Counter, Counts};
use crate::logs::Wants;
use crate::logs::audit::What;
use crate::logs::connections::Identity;
use crate::logs::format::{Extra, SlowEntry};
use crate::logs::tables::cut;
use crate::logs::values::with_values;
use crate::server::Server;
use crate::state::environment::Environment;
use crate::variables::Var;

/// A longer buffer is given back behind its statement.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// What the session keeps for the logs.
#[derive(Default)]
pub(super) struct StatementLog {
    identity: Option<Arc<Identity>>,
    /// The statement that runs, as logs show it, or the name of a command; written at its end if `is_known`.
    text: Vec<u8>,
    is_known: bool,
    command: &'static str,
    is_command: bool,
    /// `log_slow_extra` was on when it began.
    is_extra: bool,
    kind: Option<StatementKind>,
    /// When a command began that is no statement.
    began: Option<Instant>,
    /// Its number in the audit log.
    number: u64,
    /// Entries are made here.
    entry: Vec<u8>,
    /// For `log_slow_extra`: counts at the end of the statement before, and bytes of its answer that had not left by then.
    counts: Option<Box<Counts>>,
    held_before: u64,
    held: u64,
}

impl StatementLog {
    /// A statement is written when it has ended.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    fn begin(&mut self, text: &[u8], command: &'static str, kind: Option<StatementKind>, number: u64) {
        self.text.clear();
        self.text.extend_from_slice(text);
        (self.command, self.kind, self.number) = (command, kind, number);
        (self.is_known, self.is_command, self.began) = (true, false, None);
    }
}

impl Session {
    /// A statement of a text begins. `more`: another follows it.
    #[inline]
    pub(super) fn log_query(&mut self, ast: &Ast, sql: &[u8], more: bool) -> Result<()> {
        let wants = self.server.logs.wants();
        // A SET may turn a log on, which then has it.
        if wants.is_nothing() && !matches!(ast, Ast::Set(_)) {
            return Ok(());
        }
        let sql = sql.trim_ascii_start();
        let sql = if more { sql } else { sql.trim_ascii_end() };
        let text = match sql.strip_suffix(b";") {
            Some(text) if more => text,
            Some(text) => text.trim_ascii_end(),
            None => sql,
        };
        let shown = self.without_secrets(ast, text);
        if !wants.any(Wants::RAW) {
            // As in MySQL, with its semicolon if others follow.
            self.log_general("Query", shown.as_deref().unwrap_or(if more { sql } else { text }));
        }
        self.log_begun("Query", StatementKind::of(ast), shown.as_deref().unwrap_or(text))
    }

    /// A text has come, which may be no statement.
    #[inline]
    pub(super) fn log_raw(&mut self, sql: &[u8]) {
        let wants = self.server.logs.wants();
        if wants.any(Wants::RAW) && wants.any(Wants::GENERAL) {
            self.log_general("Query", without_semicolons(sql.trim_ascii()));
        }
    }

    /// A statement has been prepared; `is_named`: by PREPARE, which is a statement itself.
    #[inline]
    pub(super) fn log_prepared(&mut self, ast: &Ast, sql: &[u8], is_named: bool) {
        let wants = self.server.logs.wants();
        if wants.is_nothing() || self.programs.is_running() {
            return;
        }
        let shown = self.without_secrets(ast, sql);
        match &shown {
            Some(shown) if !wants.any(Wants::RAW) => self.log_general("Prepare", shown),
            _ => self.log_general("Prepare", sql),
        }
        // As in MySQL, which calls all others by the name of the command.
        if let (Some(shown), false, true) = (shown, is_named, self.logged.is_known) {
            self.logged.text = shown;
            self.logged.is_command = false;
        }
    }

    /// A prepared statement runs with these values.
    #[inline]
    pub(super) fn log_execution(&mut self, ast: &Ast, sql: &[u8], values: &[Value]) -> Result<()> {
        let wants = self.server.logs.wants();
        if wants.is_nothing() || self.programs.is_running() {
            return Ok(());
        }
        let options = self.env.settings.plan.parser_options();
        let shown = self.without_secrets(ast, sql).unwrap_or_else(|| with_values(sql, values, &options));
        if wants.any(Wants::RAW) {
            self.log_general("Execute", &with_values(sql, values, &options));
        } else {
            self.log_general("Execute", &shown);
        }
        self.log_begun("Execute", StatementKind::of(ast), &shown)
    }

    /// A command that is no statement runs.
    #[inline]
    pub fn log_command(&mut self, command: &'static str) {
        let wants = self.server.logs.wants();
        if wants.any(Wants::SLOW) {
            self.logged.begin(command.as_bytes(), command, None, 0);
            (self.logged.is_command, self.logged.began) = (true, Some(Instant::now()));
            self.logged.is_extra = wants.any(Wants::EXTRA);
        }
    }

    /// The general log has a command with its argument.
    #[inline]
    pub fn log_argument(&mut self, command: &'static str, argument: &[u8]) {
        if self.server.logs.wants().any(Wants::GENERAL) {
            self.log_general(command, argument);
        }
    }

    /// The client has ended its connection, or it is ended.
    pub(super) fn log_disconnect(&mut self) {
        if self.server.logs.wants().any(Wants::AUDIT) {
            self.audit(&What::Connection { command: "Disconnect", errno: 0 });
        }
    }

    fn log_general(&mut self, command: &'static str, argument: &[u8]) {
        if !self.server.logs.wants().any(Wants::GENERAL) || self.env.settings.general_log_off {
            return;
        }
        let identity = self.identity();
        self.server.logs.general(&mut self.logged.entry, &identity.user_host, self.client.id, command, argument);
        self.logged.entry.shrink_to(KEPT_BYTES_MAX);
    }

    /// What is written at the statement's end. Error 3164 if it must be written and cannot be.
    fn log_begun(&mut self, command: &'static str, kind: StatementKind, shown: &[u8]) -> Result<()> {
        let wants = self.server.logs.wants();
        if !wants.any(Wants::SLOW) && !wants.any(Wants::AUDIT) && kind != StatementKind::Set {
            return Ok(());
        }
        let number = if wants.any(Wants::AUDIT) { self.server.logs.next_statement() } else { 0 };
        self.logged.begin(shown, command, Some(kind), number);
        self.logged.is_extra = wants.any(Wants::EXTRA);
        if wants.any(Wants::AUDIT) && self.server.logs.refuses() && !self.access.may_go_unaudited() {
            const REASON: i32 = 1;
            return Err(Error::new(&ER_AUDIT_API_ABORT, &[&"vaquita_audit_log", &REASON]));
        }
        Ok(())
    }

    /// The text without passwords, if it has any.
    pub(super) fn without_secrets(&self, ast: &Ast, sql: &[u8]) -> Option<Vec<u8>> {
        let own = self.access.account();
        without_secrets(ast, sql, (&own.user, &own.host), &self.env.settings.plan.parser_options())
    }

    fn identity(&mut self) -> Arc<Identity> {
        self.logged.identity.get_or_insert_with(|| Arc::new(Identity::of(&self.client))).clone()
    }

    /// How much of an answer waits to leave, for `log_slow_extra`.
    #[inline]
    pub(super) fn note_held_bytes(&mut self, bytes: impl FnOnce() -> u64) {
        if self.server.logs.wants().any(Wants::EXTRA) {
            self.logged.held = bytes();
        }
    }

    /// A statement or a command is over.
    #[inline]
    pub(super) fn log_ended(&mut self, took: Duration) {
        let wants = self.server.logs.wants();
        let took = if self.logged.is_known { self.logged.began.take().map_or(took, |began| began.elapsed()) } else { took };
        let took_us = took.as_micros() as u64;
        let settings = &self.env.settings;
        let is_slow = took_us >= settings.slow_us;
        if wants.is_nothing() {
            self.logged.is_known = false;
            if is_slow && self.event.work().get(Counted::RowsExamined) >= settings.slow_rows_min {
                self.client.counters.add(Counter::SlowQueries, 1);
            }
            return;
        }
        self.log_wanted(wants, took_us, is_slow);
    }

    fn log_wanted(&mut self, wants: Wants, took_us: u64, is_slow: bool) {
        let settings = &self.env.settings;
        let work = *self.event.work();
        let scans = self.event.scans || work.get(Counted::NoIndexUsed) > 0;
        let without_index = wants.any(Wants::WITHOUT_INDEX) && scans;
        let is_read = self.event.errno() != ER_PARSE_ERROR.code;
        let is_logged = is_read && (is_slow || without_index) && work.get(Counted::RowsExamined) >= settings.slow_rows_min;
        if is_logged {
            self.client.counters.add(Counter::SlowQueries, 1);
        }
        if !std::mem::take(&mut self.logged.is_known) {
            return;
        }
        let is_admin = self.logged.kind.is_some_and(is_admin);
        let is_applied = self.logging.is_of_source() && !wants.any(Wants::REPLICA);
        if wants.any(Wants::SLOW) && (!is_admin || wants.any(Wants::ADMIN)) && !is_applied {
            self.log_slow(wants, took_us, is_logged, without_index);
        }
        if wants.any(Wants::AUDIT) && !self.logged.is_command {
            let errno = self.event.errno();
            let text = std::mem::take(&mut self.logged.text);
            let StatementLog { number, kind, command, .. } = self.logged;
            self.audit(&What::Statement { number, kind, command, errno, text: &text, took_us });
            self.logged.text = text;
        }
        self.logged.text.shrink_to(KEPT_BYTES_MAX);
    }

    /// Writes the statement to the slow log, unless it is one of too many without an index; and how many of these were left out before.
    fn log_slow(&mut self, wants: Wants, took_us: u64, is_logged: bool, without_index: bool) {
        let work = *self.event.work();
        let lock_us = work.get(Counted::LockTime) / PS_PER_US;
        let rate = self.server.globals.number(Var::LogThrottleQueriesNotUsingIndexes);
        let ended_us = now_us();
        let (is_suppressed, before) = self.server.logs.pass(rate, ended_us, without_index, (took_us, lock_us));
        let identity = self.identity();
        let database = self.env.settings.plan.current_database.as_deref();
        let entry = SlowEntry {
            ended_us,
            took_us,
            lock_us,
            connection_id: self.client.id,
            user_host: &identity.user_host,
            // What maintenance answers is no row to MySQL.
            rows_sent: if self.logged.kind.is_some_and(is_admin) { 0 } else { work.get(Counted::RowsSent) },
            rows_examined: work.get(Counted::RowsExamined),
            database,
            timestamp_s: self.timestamp_s(ended_us),
            text: &self.logged.text,
            is_command: self.logged.is_command,
            extra: None,
        };
        let extra = self.logged.is_extra.then(|| {
            let now = self.client.counters.all();
            let mut counts = now.since(self.logged.counts.as_deref());
            counts.set(Counter::BytesSent, |sent| (sent + self.logged.held).saturating_sub(self.logged.held_before));
            (now, Extra { errno: self.event.errno(), killed: 0, counts })
        });
        let logs = &self.server.logs;
        let mut buffer = std::mem::take(&mut self.logged.entry);
        if let Some(before) = before {
            let text = format!("throttle: {:10} 'index not used' warning(s) suppressed.", before.count);
            let summary = SlowEntry {
                user_host: "[] @  []",
                took_us: before.took_us,
                lock_us: before.lock_us,
                text: text.as_bytes(),
                is_command: false,
                ..entry
            };
            logs.slow(&mut buffer, &summary);
        }
        if is_logged && !is_suppressed {
            let (now, extra) = extra.map_or((None, None), |(now, extra)| (Some(now), Some(extra)));
            logs.slow(&mut buffer, &SlowEntry { extra, ..entry });
            if wants.any(Wants::SLOW_TABLE) {
                logs.tables.slow.push(SlowLogRow {
                    began_us: ended_us.saturating_sub(took_us),
                    user_host: identity.user_host.clone(),
                    took_us,
                    lock_us,
                    rows_sent: entry.rows_sent,
                    rows_examined: entry.rows_examined,
                    database: database.unwrap_or_default().to_string(),
                    sql_text: cut(entry.text),
                    connection_id: entry.connection_id,
                });
            }
            self.logged.counts = now.map(Box::new);
        } else if let Some((now, _)) = extra {
            self.logged.counts = Some(Box::new(now));
        }
        self.logged.held_before = self.logged.held;
        buffer.shrink_to(KEPT_BYTES_MAX);
        self.logged.entry = buffer;
    }

    /// What the slow log says the time was: that of the statement, or the one that `SET timestamp` has given.
    fn timestamp_s(&self, now_us: u64) -> u64 {
        let given = self.env.settings.timestamp_us.map(|us| us as u64);
        let own = if self.logged.is_command { now_us } else { self.env.statement_time_us() as u64 };
        given.unwrap_or(own) / 1_000_000
    }

    fn audit(&mut self, what: &What<'_>) {
        let identity = self.identity();
        let mut entry = std::mem::take(&mut self.logged.entry);
        let database = self.env.settings.plan.current_database.as_deref();
        self.server.logs.audit(&mut entry, &identity.who(self.client.id, database), what);
        self.logged.entry = entry;
    }

    /// The tables of a plan, for the audit log.
    #[inline]
    pub(super) fn audit_tables(&mut self, plan: &Plan) {
        if !self.server.logs.wants().any(Wants::AUDIT_TABLES) {
            return;
        }
        let mut used: Vec<(&str, String, String)> = Vec::new();
        let written: Vec<_> = match plan {
            Plan::Query(query) => query.for_update.iter().map(|table| table.id).collect(),
            Plan::Insert(insert) => vec![insert.table.id],
            Plan::Update(update) => update.targets.iter().map(|target| target.table.id).collect(),
            Plan::Delete(delete) => delete.targets.iter().map(|target| target.table.id).collect(),
        };
        for table in plan.tables() {
            let is_written = !matches!(plan, Plan::Query(_)) && written.contains(&table.id);
            let operation = if is_written { "WRITE" } else { "READ" };
            let event = (operation, table.database.clone(), table.name.clone());
            if !used.contains(&event) {
                used.push(event);
            }
        }
        let number = self.logged.number;
        for (operation, database, table) in &used {
            self.audit(&What::Table { number, operation, database, table });
        }
    }

    /// The tables that a statement defines anew.
    #[inline]
    pub(super) fn audit_defined_tables(&mut self, ast: &Ast) {
        if !self.server.logs.wants().any(Wants::AUDIT_TABLES) {
            return;
        }
        let operation = match ast {
            Ast::CreateTable(_) => "CREATE",
            Ast::AlterTable(_) | Ast::CreateIndex(_) | Ast::DropIndex { .. } => "ALTER",
            Ast::DropTable { .. } => "DROP",
            Ast::RenameTable(_) => "RENAME",
            Ast::Truncate(_) => "TRUNCATE",
            _ => return,
        };
        let current = self.env.database().unwrap_or_default();
        let mut names: Vec<(String, String)> = tables_of(ast)
            .into_iter()
            .map(|name| (name.db.clone().unwrap_or_else(|| current.clone()), name.name.clone()))
            .collect();
        if let Ast::CreateTable(create) = ast {
            names = vec![(create.name.db.clone().unwrap_or(current), create.name.name.clone())];
        }
        let number = self.logged.number;
        for (database, table) in &names {
            self.audit(&What::Table { number, operation, database, table });
        }
    }
}

/// A statement of a function or a trigger runs, which is part of the statement that calls it.
#[inline]
pub(super) fn log_in_function(server: &Server, client: &Client, env: &Environment, text: Option<&str>) {
    if server.logs.wants().any(Wants::GENERAL)
        && !env.settings.general_log_off
        && let Some(text) = text
    {
        let identity = Identity::of(client);
        server.logs.general(&mut Vec::new(), &identity.user_host, client.id, "Query", text.as_bytes());
    }
}

/// What `log_slow_admin_statements` is about.
fn is_admin(kind: StatementKind) -> bool {
    use StatementKind::{AlterTable, Analyze, Check, CreateIndex, DropIndex, Optimize, Repair};
    matches!(kind, AlterTable | Analyze | Check | CreateIndex | DropIndex | Optimize | Repair)
}
