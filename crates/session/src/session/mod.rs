//! A session: what one client's statements mean, and how they are answered (`crate::answer`).
//!
//! 1. `Session::run` takes a statement: text goes to `query`, prepared statements to `prepared`. `planning` makes and keeps plans.
//! 2. `execute` runs a plan through the executor; every other statement goes through `other_statements`.
//! 3. A statement whose commit must wait parks the session: `Pending` remembers what to answer, and
//!    `resume` answers when the commit group is durable.
//!
//! What a session keeps is in parts that own it (`crate::state`); its temporary tables are in `Session::catalog`.

mod access_counts;
mod account_statements;
mod admission;
mod apply;
mod apply_subject;
mod binlog_statement;
mod event;
mod exchange;
mod execute;
mod explain;
mod file;
mod handler;
mod hinted;
mod init_connect;
mod lock_tables;
mod log_statements;
mod logging;
mod maintain;
mod named;
mod observed;
mod other_statements;
mod planning;
mod prepared;
mod program;
mod query;
mod replica_statements;
mod server_view;
mod set;
mod show;
mod statement_logs;
pub mod status_names;
mod status_variables;
mod temporary;
mod transactions;
mod xa_statements;

use std::sync::Arc;

use vaquita_plan::env::Level;
use vaquita_storage::{CommitNote, SessionCatalog};
use vaquita_types::errno::ER_BAD_DB_ERROR;
use vaquita_types::schema::DatabaseDef;
use vaquita_types::{Error, Result, Value, sql_mode};

use crate::accounts::AccountRecord;
use crate::answer::{Answer, Completed, Flow, MakeWaiter, Request, Status};
use crate::clients::Client;
use crate::counters::Counter;
use crate::replication::LoggedEvents;
use crate::server::Server;
use crate::state::access::SessionAccess;
use crate::state::environment::{Environment, Tls};
use crate::state::handlers::Handlers;
use crate::state::locked_tables::LockedTables;
use crate::state::prepared::PreparedStatements;
use crate::state::tracker::Change;
use crate::state::transaction::SessionTransaction;
use crate::variables::settings::TrackGtids;
use crate::variables::{Def, Var, registry, sql_mode_value};
pub use apply_subject::Subject;
use exchange::Rest;
pub use prepared::PreparedShape;
pub use program::routine_record;
pub use set::check_login_charset;
pub use status_variables::global_values as global_status;

pub struct Session {
    pub server: Arc<Server>,
    pub client: Arc<Client>,
    options: ClientOptions,
    env: Environment,
    access: SessionAccess,
    transaction: SessionTransaction,
    /// With the session's temporary tables; dropped after the transaction that may have written them.
    catalog: SessionCatalog,
    locked: LockedTables,
    handlers: Handlers,
    prepared: PreparedStatements,
    /// KILL CONNECTION_ID(): the statement is answered before the connection closes.
    killed_itself: bool,
    programs: program::Running,
    pending: Option<Pending>,
    event: observed::RunningEvent,
    /// Written by the commit of the statement that runs, if an applier runs it.
    note: Option<Arc<CommitNote>>,
    logging: logging::Logging,
    logged: statement_logs::StatementLog,
    /// What BINLOG statements have said so far.
    logged_events: Option<Box<dyn LoggedEvents>>,
    /// Variables that hints of the running statements have set, with the values that they had.
    hinted: Vec<(&'static Def, Value)>,
}

/// What a client may do beyond what its account may.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientOptions {
    /// UPDATE's answer counts the rows that it found instead of those that it changed.
    pub found_rows: bool,
    /// A text may hold several statements.
    pub multi_statements: bool,
    /// A statement may be answered by several results.
    pub multi_results: bool,
    /// A prepared CALL answers with the values of its OUT parameters.
    pub out_parameters: bool,
    /// LOAD DATA LOCAL may ask it for files.
    pub local_files: bool,
    /// Its sql_mode begins with IGNORE_SPACE.
    pub ignore_space: bool,
}

/// What the answer to a parked statement is, and which statements of the same packet follow it.
struct Pending {
    done: execute::Done,
    rest: Option<Rest>,
}

impl Session {
    pub fn new(
        server: Arc<Server>,
        client: Arc<Client>,
        account: Arc<AccountRecord>,
        options: ClientOptions,
        charset: u16,
    ) -> Session {
        let mut env = Environment::new(&server, &client, &account, charset);
        if options.ignore_space {
            let mode = env.settings.plan.sql_mode | sql_mode::IGNORE_SPACE;
            env.settings.set(registry().of(Var::SqlMode), sql_mode_value(mode));
        }
        client.set_observed(server.setup.actor(&client.snapshot().user, &client.host));
        Session {
            transaction: SessionTransaction::new(&server.engine, &client.interrupt, &env.settings),
            access: SessionAccess::new(&server, &client, account),
            catalog: SessionCatalog::new(server.catalog.clone()),
            locked: LockedTables::new(&server, &client),
            handlers: Handlers::default(),
            prepared: PreparedStatements::default(),
            server,
            client,
            options,
            env,
            killed_itself: false,
            programs: program::Running::default(),
            pending: None,
            event: observed::RunningEvent::default(),
            note: None,
            logging: logging::Logging::default(),
            logged: statement_logs::StatementLog::default(),
            logged_events: None,
            hinted: Vec::new(),
        }
    }

    pub fn set_multi_statements(&mut self, on: bool) {
        self.options.multi_statements = on;
    }

    pub fn max_allowed_packet(&self) -> usize {
        self.env.settings.run.packet_bytes_max
    }

    /// The collation that the client reads texts in; 0: as they are stored.
    pub fn result_charset(&self) -> u16 {
        self.env.settings.results_collation
    }

    /// Warnings of the statement that ran last.
    pub fn warnings(&self) -> u16 {
        self.env.diagnostics.count_u16()
    }

    pub fn set_attributes(&mut self, attributes: Vec<(String, String)>) {
        let _ = self.client.attributes.set(attributes);
    }

    /// Version and cipher suite of the client's encryption.
    pub fn set_tls(&mut self, version: &str, cipher: &str) {
        let _ = self.client.tls.set((version.to_string(), cipher.to_string()));
        self.server.clients().counts.note_tls();
        self.env.set_tls(Tls { version: version.to_string(), cipher: cipher.to_string() });
    }

    pub fn may_use_the_admin_address(&self) -> bool {
        self.access.may_use_the_admin_address()
    }

    pub fn may_take_the_last_connection(&self) -> bool {
        self.access.may_take_the_last_connection()
    }

    pub fn use_database(&mut self, name: &str) -> Result<()> {
        let database = self.find_database(name)?;
        self.client.set_database(Some(name));
        self.env.set_database(Some(name), database.map(|d| d.collation));
        Ok(())
    }

    /// The session has no current database from here on.
    pub fn leave_database(&mut self) {
        self.client.set_database(None);
        self.env.set_database(None, None);
    }

    /// A database that the session may use; `None` for one of the server's own.
    fn find_database(&mut self, name: &str) -> Result<Option<Arc<DatabaseDef>>> {
        vaquita_exec::ddl::check_length(name)?;
        self.access.may_use(name)?;
        let database = self.server.catalog.database(name)?;
        if database.is_none() && !vaquita_exec::system::is_system_database(name) {
            return Err(Error::new(&ER_BAD_DB_ERROR, &[&name]));
        }
        Ok(database)
    }

    /// The status that answers tell.
    #[inline]
    pub fn status(&self) -> Status {
        Status {
            autocommit: self.env.settings.autocommit,
            in_transaction: self.transaction.is_open(),
            read_only: self.transaction.is_open_for_reading(),
            no_backslash_escapes: self.env.settings.plan.sql_mode & sql_mode::NO_BACKSLASH_ESCAPES != 0,
            ..Status::default()
        }
    }

    /// Runs a statement and answers it; whoever completes its commit is made by `park`.
    pub fn run(&mut self, request: Request<'_>, answer: &mut dyn Answer, park: MakeWaiter<'_>) -> Flow {
        self.command(|session| match request {
            Request::Text(sql) => session.query(sql, answer, park),
            Request::Prepared { id, values, binaries, cursor } => {
                let outer = session.prepared.set_binaries(binaries);
                let flow = session.execute_prepared(id, values, cursor, answer, park);
                session.prepared.set_binaries(outer);
                flow
            }
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
        self.client.end_commit();
        if !self.transaction.is_open() {
            self.catalog.release_dropped(self.transaction.storage());
        }
        self.end_event();
    }

    /// OK or the error.
    pub fn answer(&mut self, result: Result<()>, answer: &mut dyn Answer) {
        match result {
            Ok(()) => self.ok(answer),
            Err(error) => self.error(&error, answer),
        }
    }

    pub fn ok(&mut self, answer: &mut dyn Answer) {
        let changes = self.take_changes();
        answer.ok(&Completed { status: self.status(), warnings: self.warnings(), changes: &changes, ..Completed::default() });
    }

    pub fn error(&mut self, error: &Error, answer: &mut dyn Answer) {
        let error = &vaquita_plan::eval::print::unmarked(error.clone());
        if self.env.tracker.statement_failed() == TrackGtids::Own {
            self.tracked_gtids(TrackGtids::Own);
        }
        self.env.push_warning(Level::Error, error.clone());
        self.env.diagnostics.set_row_count(-1);
        self.event.failed(error);
        answer.error(error, self.env.settings.results_collation);
        self.note_held_bytes(|| answer.bytes_held());
    }

    /// What the client wants to be told and has not been.
    #[inline]
    pub fn take_changes(&self) -> Vec<Change> {
        self.env.tracker.take(&self.env.settings.track, self.locked.is_under(), |track| self.tracked_gtids(track))
    }

    /// What `session_track_gtids` tells behind a statement.
    fn tracked_gtids(&self, track: TrackGtids) -> Option<String> {
        let gtids = match track {
            TrackGtids::Off => return None,
            TrackGtids::Own => self.server.open_log()?.take_reported(self.client.id),
            TrackGtids::All if self.transaction.is_open() => return None,
            TrackGtids::All => self.server.executed(),
        };
        (!gtids.is_empty()).then(|| gtids.to_string())
    }

    /// COM_RESET_CONNECTION: as after a login.
    pub fn reset(&mut self) {
        self.transaction.abandon();
        self.close_statements();
        self.client.counters.flush();
        self.catalog.drop_all_temporary();
        let database = self.env.database();
        self.env.reset(self.access.account());
        self.transaction.renew(&self.env.settings);
        self.access.reset();
        if let Some(name) = database {
            let _ = self.use_database(&name);
        }
        // The client knows what it asked for.
        let _ = self.take_changes();
    }

    pub fn close(&mut self) {
        self.log_disconnect();
        self.server.replicas.forget(self.client.id);
        self.tracked_gtids(self.env.settings.track.gtids);
        self.transaction.abandon();
        self.close_statements();
        self.catalog.drop_all_temporary();
        self.catalog.release_dropped(self.transaction.storage());
    }

    fn close_statements(&mut self) {
        self.locked.release();
        self.locked.unlock_for_backup();
        self.server.user_locks.release_all(self.client.id);
        self.handlers = Handlers::default();
        self.prepared.close_all();
    }

    /// COM_QUIT.
    pub fn quit(&self) {
        self.client.quit();
    }

    pub fn count(&self, counter: Counter, count: u64) {
        self.client.counters.add(counter, count);
    }

    /// COM_STATISTICS: the same numbers as in SHOW STATUS.
    pub fn statistics(&self) -> String {
        let server = &self.server;
        let uptime_s = server.started.elapsed().as_secs();
        let counts = server.clients().counts();
        let questions = counts.get(Counter::Questions);
        let (tables_open, tables_opened) = server.catalog.open_tables();
        format!(
            "Uptime: {uptime_s}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: {tables_opened}  Flush tables: {}  \
             Open tables: {tables_open}  Queries per second avg: {:.3}",
            server.clients().connected(),
            counts.get(Counter::SlowQueries),
            counts.get(Counter::FlushTables),
            if uptime_s == 0 { 0.0 } else { questions as f64 / uptime_s as f64 },
        )
    }

    /// COM_DEBUG.
    pub fn log_statistics(&self) -> Result<()> {
        self.access.subject(None, None).may_debug()?;
        tracing::info!("status information: {}", self.statistics());
        Ok(())
    }

    pub(crate) const QUERY_COMMAND: &'static str = "Query";
}
