//! A session: what one connection's commands mean.
//!
//! 1. `command` decodes a packet and dispatches it; text goes to `query`, prepared statements to `prepared`.
//! 2. `run` executes one statement: plans through the executor, everything else through `admin`.
//! 3. A statement whose commit must wait parks the session: `Pending` remembers what to answer, and
//!    `resume` answers when the commit group is durable.
//!
//! The session's variables, warnings and other state that expressions see live in `state`; its temporary tables are in
//! `Session::catalog`.

mod admin;
mod cursor;
mod explain;
mod file;
mod functions;
mod lock_tables;
mod maintain;
mod missing;
mod prepared;
mod privileges;
mod query;
mod reply;
mod run;
mod savepoints;
mod set;
mod settings;
mod show;
pub mod state;
pub(crate) mod temporary;
mod text_plans;
mod text_prepared;
mod track;
mod xa;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use vaquita_plan::env::Level;
use vaquita_storage::{CommitWaiter, SessionCatalog, Transaction};
use vaquita_types::errno::ER_BAD_DB_ERROR;
use vaquita_types::{Error, Result, Value, sql_mode};
use vaquita_wire::caps::{client, command_name, status};
use vaquita_wire::commands::Command;
use vaquita_wire::packet::PacketWriter;
use vaquita_wire::result::{OkPacket, put_ok, put_protocol_error};

use crate::accounts::{Access, AccountRecord, Limits};
use crate::clients::Client;
use crate::connection::Output;
use crate::counters::Counter;
use crate::server::Server;
use prepared::Prepared;
use savepoints::Savepoints;
use state::SessionState;
use text_prepared::Named;

pub struct Session {
    pub server: Arc<Server>,
    pub client: Arc<Client>,
    pub account: Arc<AccountRecord>,
    access: Access,
    /// How many statements the account may run; `None`: any number.
    limits: Option<Limits>,
    caps: u32,
    pub state: SessionState,
    txn: RefCell<Transaction>,
    /// With the session's temporary tables; dropped after the transaction that may have written them.
    catalog: SessionCatalog,
    /// BEGIN was given, or autocommit is off and something ran.
    in_transaction: bool,
    /// `None`: the transaction had done nothing yet.
    savepoints: Savepoints,
    /// KILL CONNECTION_ID(): the statement is answered before the connection closes.
    killed_itself: bool,
    /// The XA transaction that this one is.
    xa_branch: Option<xa::Branch>,
    locked: lock_tables::LockedTables,
    /// By their ids, which the server gives. Taken out while they run, and so moved twice an execution.
    statements: FxHashMap<u32, Box<Prepared>>,
    text_plans: text_plans::TextPlans,
    named: HashMap<String, Named>,
    /// Values of `?` of the prepared statement that runs, if it is no plan.
    params: Vec<Value>,
    /// The cursor that the running query fills, if it has one.
    cursor: Option<cursor::Cursor>,
    next_statement_id: u32,
    pending: Option<Pending>,
}

/// What follows a command.
pub enum Flow {
    Next,
    Parked,
    Close,
    /// COM_CHANGE_USER: the connection makes a new login.
    ChangeUser,
}

/// Makes the waiter of a commit, after the connection has been parked.
pub type MakeWaiter<'a> = &'a mut dyn FnMut() -> CommitWaiter;

/// What the answer to a parked statement is, and which statements of the same packet follow it.
pub(crate) struct Pending {
    pub done: run::Done,
    pub rest: Vec<u8>,
}

impl Session {
    pub fn new(server: Arc<Server>, client: Arc<Client>, account: Arc<AccountRecord>, caps: u32, charset: u16) -> Session {
        let state = SessionState::new(&server, &client, &account, charset);
        let mut txn = server.engine.begin(state.txn_options(&client));
        txn.carry_temporary();
        let access = Session::initial_access(&server, &account);
        client.set_system_user(access.is_system_user());
        let limits = server.accounts().limits(&account);
        Session {
            access,
            limits,
            catalog: SessionCatalog::new(server.catalog.clone()),
            server,
            client,
            account,
            caps,
            state,
            txn: RefCell::new(txn),
            in_transaction: false,
            savepoints: Savepoints::default(),
            killed_itself: false,
            xa_branch: None,
            locked: lock_tables::LockedTables::default(),
            statements: FxHashMap::default(),
            text_plans: text_plans::TextPlans::default(),
            named: HashMap::new(),
            params: Vec::new(),
            cursor: None,
            next_statement_id: 1,
            pending: None,
        }
    }

    pub fn caps(&self) -> u32 {
        self.caps
    }

    pub fn max_allowed_packet(&self) -> usize {
        self.state.settings.packet_bytes_max
    }

    pub fn set_attributes(&mut self, attributes: Vec<(String, String)>) {
        let _ = self.client.attributes.set(attributes);
    }

    pub fn set_tls(&mut self, tls: &rustls::ServerConnection) {
        self.state.set_tls(tls);
    }

    pub fn use_database(&mut self, name: &str) -> Result<()> {
        self.may_use(name)?;
        let database = self.server.catalog.database(name)?;
        if database.is_none() && !vaquita_exec::system::is_system_database(name) {
            return Err(Error::new(&ER_BAD_DB_ERROR, &[&name]));
        }
        self.client.set_database(Some(name));
        self.state.set_database(Some(name), database.map(|d| d.collation));
        Ok(())
    }

    pub fn put_login_ok(&self, out: &mut PacketWriter) {
        let ok = OkPacket { status: self.status(), ..OkPacket::default() };
        out.packet(|buffer| put_ok(buffer, self.caps, &ok));
    }

    /// The status flags of answers.
    pub(crate) fn status(&self) -> u16 {
        let mut flags = 0;
        if self.state.autocommit() {
            flags |= status::AUTOCOMMIT;
        }
        if self.in_transaction {
            flags |= status::IN_TRANS;
            if self.txn.borrow().options().read_only {
                flags |= status::IN_TRANS_READONLY;
            }
        }
        // Clients escape quotes in strings by what this flag says.
        if self.state.sql_mode_bits() & sql_mode::NO_BACKSLASH_ESCAPES != 0 {
            flags |= status::NO_BACKSLASH_ESCAPES;
        }
        flags
    }

    /// Runs one command and writes its answer to `out`.
    pub fn command(&mut self, payload: &[u8], out: &mut Output<'_>, park: MakeWaiter<'_>) -> Flow {
        let name = payload.first().map_or("Error", |byte| command_name(*byte));
        let decoded = match Command::decode(payload, self.caps) {
            Ok(decoded) => decoded,
            Err(error) => {
                out.writer.packet(|buffer| put_protocol_error(buffer, error));
                return if error.closes_connection() { Flow::Close } else { Flow::Next };
            }
        };
        self.client.interrupt.clear();
        let mark = out.writer.mark();
        let flow = self.dispatch(name, decoded, out, park);
        self.after_command(flow, mark, out)
    }

    /// A connection that was killed closes without an answer.
    fn after_command(&mut self, flow: Flow, mark: vaquita_wire::packet::Mark, out: &mut Output<'_>) -> Flow {
        if !matches!(flow, Flow::Parked) {
            self.end_command();
        }
        if !self.client.must_close() || matches!(flow, Flow::Parked) {
            return flow;
        }
        if !self.killed_itself {
            out.writer.rewind(mark);
        }
        Flow::Close
    }

    fn dispatch(&mut self, name: &'static str, decoded: Command<'_>, out: &mut Output<'_>, park: MakeWaiter<'_>) -> Flow {
        match decoded {
            Command::Query(query) => {
                return self.query(query.sql, out, park);
            }
            Command::Execute(execute) => return self.execute_prepared(&execute, out, park),
            Command::Prepare { sql } => {
                self.client.begin_command(name, Some(String::from_utf8_lossy(sql).into()));
                self.prepare(sql, out);
            }
            Command::SendLongData { statement_id, parameter, data } => self.long_data(statement_id, parameter, data),
            Command::CloseStatement { statement_id } => {
                if self.statements.remove(&statement_id).is_some() {
                    self.server.counters.add(self.client.id, Counter::StmtClose, 1);
                    self.server.statements.closed(1);
                }
            }
            Command::ResetStatement { statement_id } => self.reset_statement(statement_id, out),
            Command::Fetch { statement_id, rows_max } => self.fetch(statement_id, rows_max, out),
            Command::Quit => return Flow::Close,
            Command::Ping => self.ok(out),
            Command::InitDb { database } => {
                let name = String::from_utf8_lossy(database).into_owned();
                let used = self.use_database(&name);
                self.answer(used, out);
            }
            Command::FieldList { table, wildcard } => self.field_list(table, wildcard, out),
            Command::Statistics => {
                let text = self.statistics();
                out.writer.packet(|buffer| buffer.extend_from_slice(text.as_bytes()));
            }
            Command::ProcessKill { connection_id } => {
                let killed = self.kill(u64::from(connection_id), false);
                self.answer(killed, out);
            }
            Command::SetMultiStatements(on) => {
                self.caps = if on { self.caps | client::MULTI_STATEMENTS } else { self.caps & !client::MULTI_STATEMENTS };
                let flags = self.status();
                out.writer.packet(|buffer| vaquita_wire::result::put_eof(buffer, flags, 0));
            }
            Command::ResetConnection => {
                self.reset();
                self.ok(out);
            }
            Command::ChangeUser(_) => return Flow::ChangeUser,
        }
        Flow::Next
    }

    /// The commit that the session waited for is over.
    pub fn resume(&mut self, result: Result<()>, out: &mut Output<'_>, park: MakeWaiter<'_>) -> Flow {
        let Some(pending) = self.pending.take() else { return Flow::Next };
        let mark = out.writer.mark();
        let flow = self.after_commit(pending, result, out, park);
        self.after_command(flow, mark, out)
    }

    fn end_command(&mut self) {
        if !self.in_transaction {
            self.catalog.release_dropped(self.txn.get_mut());
        }
        if self.client.end_command() >= self.state.settings.slow_us {
            self.server.counters.add(self.client.id, Counter::SlowQueries, 1);
        }
    }

    fn answer(&mut self, result: Result<()>, out: &mut Output<'_>) {
        match result {
            Ok(()) => self.ok(out),
            Err(error) => self.error(&error, out),
        }
    }

    pub(crate) fn ok(&mut self, out: &mut Output<'_>) {
        let tracked = self.take_tracked();
        let ok = OkPacket {
            status: self.status(),
            warnings: self.state.warnings_u16(),
            session_state: &tracked,
            ..OkPacket::default()
        };
        out.writer.packet(|buffer| put_ok(buffer, self.caps, &ok));
    }

    pub(crate) fn error(&mut self, error: &Error, out: &mut Output<'_>) {
        let error = &vaquita_plan::eval::print::unmarked(error.clone());
        self.state.push_warning(Level::Error, error.clone());
        out.error(error);
    }

    /// COM_RESET_CONNECTION: as after a login.
    fn reset(&mut self) {
        self.txn.get_mut().rollback();
        self.xa_branch = None;
        self.in_transaction = false;
        self.savepoints.clear();
        self.close_statements();
        self.catalog.drop_all_temporary();
        let database = self.state.database();
        let fresh = SessionState::new(&self.server, &self.client, &self.account, self.state.charset_of_login());
        fresh.keep_tls(&self.state);
        self.state = fresh;
        self.txn.get_mut().renew(self.state.txn_options(&self.client));
        self.set_access(Session::initial_access(&self.server, &self.account));
        if let Some(name) = database {
            let _ = self.use_database(&name);
        }
        // The client knows what it asked for.
        let _ = self.take_tracked();
    }

    pub fn close(&mut self) {
        self.txn.get_mut().rollback();
        self.xa_branch = None;
        self.close_statements();
        self.catalog.drop_all_temporary();
        self.catalog.release_dropped(self.txn.get_mut());
    }

    fn close_statements(&mut self) {
        self.release_table_locks();
        self.server.table_locks().unlock_for_backup(self.client.id);
        self.server.user_locks.release_all(self.client.id);
        self.server.statements.closed(self.statements.len() + self.named.len());
        self.statements.clear();
        self.named.clear();
    }

    /// COM_STATISTICS: the same numbers as in SHOW STATUS.
    fn statistics(&self) -> String {
        let server = &self.server;
        let uptime_s = server.started.elapsed().as_secs();
        let questions = server.counters.get(Counter::Questions);
        let (tables_open, tables_opened) = server.catalog.open_tables();
        format!(
            "Uptime: {uptime_s}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: {tables_opened}  Flush tables: {}  \
             Open tables: {tables_open}  Queries per second avg: {:.3}",
            server.clients().len(),
            server.counters.get(Counter::SlowQueries),
            server.counters.get(Counter::FlushTables),
            if uptime_s == 0 { 0.0 } else { questions as f64 / uptime_s as f64 },
        )
    }

    pub(crate) const QUERY_COMMAND: &'static str = "Query";
}
