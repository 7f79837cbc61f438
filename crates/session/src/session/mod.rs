//! A session: what one client's statements mean, and how they are answered (`answer`).
//!
//! 1. `Session::run` takes a statement: text goes to `query`, prepared statements to `prepared`.
//! 2. `run` executes one statement: plans through the executor, everything else through `admin`.
//! 3. A statement whose commit must wait parks the session: `Pending` remembers what to answer, and
//!    `resume` answers when the commit group is durable.
//!
//! The session's variables, warnings and other state that expressions see live in `state`; its temporary tables are in
//! `Session::catalog`.

mod admin;
mod admission;
pub mod answer;
pub mod cursor;
mod explain;
mod file;
mod functions;
mod lock_tables;
mod maintain;
mod missing;
pub mod prepared;
mod privileges;
mod query;
mod run;
mod savepoints;
mod server_info;
mod set;
mod show;
pub mod state;
mod status_variables;
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
use vaquita_storage::{SessionCatalog, Transaction};
use vaquita_types::errno::ER_BAD_DB_ERROR;
use vaquita_types::{Error, Result, Value, sql_mode};

use crate::accounts::{Access, AccountRecord, Limits};
use crate::clients::Client;
use crate::counters::Counter;
use crate::server::Server;
use answer::Completed;
pub use answer::{Answer, Flow, MakeWaiter, Request, Status};
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
    options: ClientOptions,
    /// Errors answered so far: a text of several statements ends at the first.
    failures: usize,
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
    /// The rows of the running query are kept, in what it has filled once it is over.
    keeps_rows: bool,
    cursor: Option<Box<cursor::Cursor>>,
    next_statement_id: u32,
    pending: Option<Pending>,
}

/// What a client may do beyond what its account may.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientOptions {
    /// UPDATE's answer counts the rows that it found instead of those that it changed.
    pub found_rows: bool,
    /// A text may hold several statements.
    pub multi_statements: bool,
    /// LOAD DATA LOCAL may ask it for files.
    pub local_files: bool,
}

/// What the answer to a parked statement is, and which statements of the same packet follow it.
pub(crate) struct Pending {
    pub done: run::Done,
    pub rest: Vec<u8>,
}

impl Session {
    pub fn new(
        server: Arc<Server>,
        client: Arc<Client>,
        account: Arc<AccountRecord>,
        options: ClientOptions,
        charset: u16,
    ) -> Session {
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
            options,
            failures: 0,
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
            keeps_rows: false,
            cursor: None,
            next_statement_id: 1,
            pending: None,
        }
    }

    pub fn set_multi_statements(&mut self, on: bool) {
        self.options.multi_statements = on;
    }

    pub fn max_allowed_packet(&self) -> usize {
        self.state.settings.run.packet_bytes_max
    }

    pub fn set_attributes(&mut self, attributes: Vec<(String, String)>) {
        let _ = self.client.attributes.set(attributes);
    }

    /// Version and cipher suite of the client's encryption.
    pub fn set_tls(&mut self, version: &str, cipher: &str) {
        self.state.set_tls(version, cipher);
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

    /// The status that answers tell.
    pub fn status(&self) -> Status {
        Status {
            autocommit: self.state.autocommit(),
            in_transaction: self.in_transaction,
            read_only: self.in_transaction && self.txn.borrow().options().read_only,
            no_backslash_escapes: self.state.sql_mode_bits() & sql_mode::NO_BACKSLASH_ESCAPES != 0,
            ..Status::default()
        }
    }

    /// Runs a statement and answers it; whoever completes its commit is made by `park`.
    pub fn run(&mut self, request: Request<'_>, answer: &mut dyn Answer, park: MakeWaiter<'_>) -> Flow {
        self.command(|session| match request {
            Request::Text(sql) => session.query(sql, answer, park),
            Request::Prepared { id, values, cursor } => session.execute_prepared(id, values, cursor, answer, park),
        })
    }

    /// The commit that the session waited for is over.
    pub fn resume(&mut self, result: Result<()>, answer: &mut dyn Answer, park: MakeWaiter<'_>) -> Flow {
        let Some(pending) = self.pending.take() else { return Flow::Next };
        let flow = self.after_commit(pending, result, answer, park);
        self.after_command(flow)
    }

    /// Does anything else that its client asks for. What was killed meanwhile ends without an answer.
    pub fn command(&mut self, run: impl FnOnce(&mut Session) -> Flow) -> Flow {
        self.client.interrupt.clear();
        let flow = run(self);
        self.after_command(flow)
    }

    fn after_command(&mut self, flow: Flow) -> Flow {
        if flow == Flow::Parked {
            return flow;
        }
        self.end_command();
        match (self.client.must_close(), self.killed_itself) {
            (false, _) => flow,
            (true, true) => Flow::Close,
            (true, false) => Flow::Killed,
        }
    }

    fn end_command(&mut self) {
        if !self.in_transaction {
            self.catalog.release_dropped(self.txn.get_mut());
        }
        if self.client.end_command() >= self.state.settings.slow_us {
            self.server.counters.add(self.client.id, Counter::SlowQueries, 1);
        }
    }

    /// OK or the error.
    pub fn answer(&mut self, result: Result<()>, answer: &mut dyn Answer) {
        match result {
            Ok(()) => self.ok(answer),
            Err(error) => self.error(&error, answer),
        }
    }

    pub fn ok(&mut self, answer: &mut dyn Answer) {
        let changes = self.take_tracked();
        let (status, warnings) = (self.status(), self.state.warnings_u16());
        answer.ok(&Completed { status, warnings, changes: &changes, ..Completed::default() });
    }

    pub fn error(&mut self, error: &Error, answer: &mut dyn Answer) {
        let error = &vaquita_plan::eval::print::unmarked(error.clone());
        self.state.push_warning(Level::Error, error.clone());
        self.failures += 1;
        answer.error(error);
    }

    /// COM_RESET_CONNECTION: as after a login.
    pub fn reset(&mut self) {
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
    pub fn statistics(&self) -> String {
        let server = &self.server;
        let uptime_s = server.started.elapsed().as_secs();
        let questions = server.counters.get(Counter::Questions);
        let (tables_open, tables_opened) = server.catalog.open_tables();
        format!(
            "Uptime: {uptime_s}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: {tables_opened}  Flush tables: {}  \
             Open tables: {tables_open}  Queries per second avg: {:.3}",
            server.clients().connected(),
            server.counters.get(Counter::SlowQueries),
            server.counters.get(Counter::FlushTables),
            if uptime_s == 0 { 0.0 } else { questions as f64 / uptime_s as f64 },
        )
    }

    pub(crate) const QUERY_COMMAND: &'static str = "Query";
}
