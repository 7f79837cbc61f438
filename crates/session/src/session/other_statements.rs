//! Statements that are no plans: transactions, SET, SHOW, DDL, KILL ….

use vaquita_exec::ddl::{Ddl, FillLog, Outcome};
use vaquita_parser::ast::{self, AccessMode, Library, ProgramKind, SetItem};
use vaquita_parser::printer::Style;
use vaquita_parser::statement_kind::Class;
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::bind::{PlanContext, define_view, plan_statement};
use vaquita_plan::env::Level;
use vaquita_storage::{Catalog, DdlContext, KeyRules, Named};
use vaquita_types::errno::{
    ER_CANT_OPEN_LIBRARY, ER_COMPONENTS_UNLOAD_NOT_LOADED, ER_KILL_DENIED_ERROR, ER_NO_SUCH_THREAD, ER_PLUGIN_DELETE_BUILTIN,
    ER_QUERY_INTERRUPTED, ER_SP_DOES_NOT_EXIST,
};
use vaquita_types::schema::{ObjectKind, TableRef};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::Done;
use super::logging::{CreatedTable, is_logged};
use super::program::{InUse, Tables};
use super::server_view::ServerView;
use crate::answer::Flow;
use crate::clients::Client;
use crate::server::Server;
use crate::state::access::SessionAccess;
use crate::state::prepared::PlanNotes;
use crate::state::user_variables::type_of_value;
use crate::variables::registry;
use crate::variables::settings::{Completion, Settings};

impl Session {
    pub(super) fn other_statement(&mut self, ast: &Ast, exchange: &mut Exchange<'_>) -> Flow {
        if let Err(error) = self.admit_kind(StatementKind::of(ast)) {
            return self.fail(&error, exchange);
        }
        if (StatementKind::of(ast).facts().changes_shared_schema || is_logged(ast))
            && let Some(flow) = self.pass_over(exchange)
        {
            return flow;
        }
        if let Err(error) = self.begin_logged(ast) {
            return self.fail(&error, exchange);
        }
        self.audit_defined_tables(ast);
        let done = match ast {
            Ast::Xa(xa) => self.xa(xa, exchange),
            Ast::Commit(completion) => match self.completion(completion) {
                Completion::NoChain => return self.commit_then(Done::nothing(), exchange),
                after => {
                    let committed = self.end_and(true, after);
                    return self.answer_end(committed, after, exchange);
                }
            },
            Ast::Rollback(completion) => {
                let after = self.completion(completion);
                let left = self.transaction.not_rolled_back();
                let ended = self.end_and(false, after);
                if ended.is_ok() {
                    self.warn_of_not_rolled_back(left);
                }
                return self.answer_end(ended, after, exchange);
            }
            Ast::StartTransaction { consistent_snapshot, access_mode } => {
                self.start_transaction(*consistent_snapshot, access_mode.map(|mode| mode == AccessMode::ReadOnly))
            }
            Ast::Savepoint(name) => self.transaction.set_savepoint(name, &self.env.settings).map(|()| Done::nothing()),
            Ast::RollbackTo(name) => self.rollback_to(name),
            Ast::ReleaseSavepoint(name) => self.transaction.release_savepoint(name).map(|()| Done::nothing()),
            Ast::LockTables(locks) => {
                self.env.tracker.locks_change();
                self.lock_tables(locks)
            }
            Ast::LockInstance => self.locked.lock_for_backup(self.env.settings.metadata_lock_wait).map(|()| Done::nothing()),
            Ast::UnlockInstance => {
                self.locked.unlock_for_backup();
                Ok(Done::nothing())
            }
            Ast::UnlockTables => {
                self.env.tracker.locks_change();
                self.unlock_tables().inspect(|_| self.locked.release())
            }
            Ast::Use(name) => self.use_database(name).map(|()| Done::nothing()),
            Ast::Set(items) if matches!(items[..], [SetItem::Password(_)]) => {
                self.set_password(items, exchange).unwrap_or_else(|| Err(Error::internal("no SET PASSWORD")))
            }
            Ast::Set(items) => self.set(items),
            Ast::Do(exprs) => self.evaluate_all(exprs),
            Ast::Kill { query_only, id } => self.kill_statement(id, *query_only),
            Ast::Prepare { name, source } => self.prepare_named(name, source),
            Ast::Execute { name, using } => return self.execute_named(name, using, exchange),
            Ast::Deallocate(name) => self.deallocate(name),
            Ast::Handler(handler) => return self.handler(handler, exchange),
            Ast::Binlog(events) => return self.binlog_statement(events, exchange),
            Ast::LoadData(load) => return self.load_data(load, exchange),
            Ast::CreateTable(create) if create.temporary && create.select.is_some() => {
                return self.create_temporary_from(create, exchange);
            }
            Ast::Show(_) | Ast::Describe { .. } => self.show(ast, exchange),
            Ast::Help(text) => self.help(text, exchange),
            Ast::Explain(explain) => return self.explain(explain, exchange),
            Ast::Call { name, args } => return self.call_statement(name, args, exchange),
            Ast::Signal(signal) => self.signal(signal, exchange).map(|()| Done::nothing()),
            Ast::GetDiagnostics(get) => return self.get_diagnostics(get, exchange),
            Ast::CreateRoutine(create) => self.create_routine(create),
            Ast::CreateTrigger(create) => self.create_trigger(create),
            Ast::DropProgram { kind: ProgramKind::Trigger, if_exists, name } => self.drop_trigger(*if_exists, name),
            Ast::AlterRoutine(alter) => self.alter_routine(alter),
            Ast::CreateEvent(create) => self.create_event(create),
            Ast::AlterEvent(alter) => self.alter_event(alter),
            Ast::DropProgram { kind: ProgramKind::Event, if_exists, name } => self.drop_event(*if_exists, name),
            Ast::DropProgram { kind: kind @ (ProgramKind::Procedure | ProgramKind::Function), if_exists, name } => {
                self.drop_routine(*kind, *if_exists, name)
            }
            Ast::Unsupported { library: Some(library), .. } if is_built_in(library) => Ok(Done::nothing()),
            other => self
                .account_statement(other, exchange)
                .or_else(|| self.replica_statement(other))
                .or_else(|| self.maintain(other))
                .or_else(|| self.ddl(other, exchange))
                .unwrap_or_else(|| Err(self.refusal(other))),
        };
        let logged = self.end_logged(done.is_ok());
        let done = self.close_handlers(ast).and(done).and_then(|done| logged.map(|()| done));
        self.conclude(done, exchange)
    }

    /// Why a statement is not carried out: 1235, or that the library which it names is not there, as none is.
    fn refusal(&self, ast: &Ast) -> Error {
        let Ast::Unsupported { library: Some(library), .. } = ast else { return Error::unsupported(name_of(ast)) };
        let dir = match registry().find("plugin_dir").map(|def| self.server.globals.get(def)) {
            Some(Value::Bytes(dir)) => String::from_utf8_lossy(&dir).into_owned(),
            _ => String::new(),
        };
        // As the dynamic linker says it. MySQL's number is what its thread's last call left, mostly that there was nothing to read yet.
        const NOTHING_YET: i32 = 11;
        let missing = |shown: &str, file: &str| {
            let reason = format!("{dir}{file}: cannot open shared object file: No such file or directory");
            Error::new(&ER_CANT_OPEN_LIBRARY, &[&shown, &NOTHING_YET, &reason])
        };
        match library {
            Library::Component(urn) => {
                let file = format!("{}.so", urn.strip_prefix("file://").unwrap_or(urn));
                missing(&format!("{dir}{file}"), &file)
            }
            Library::NoComponent(urn) => Error::new(&ER_COMPONENTS_UNLOAD_NOT_LOADED, &[urn]),
            Library::Plugin { file, .. } => missing(&format!("{dir}{file}"), file),
            Library::NoPlugin(name) if BUILT_IN.iter().any(|(known, _)| name.eq_ignore_ascii_case(known)) => {
                Error::new(&ER_PLUGIN_DELETE_BUILTIN, &[])
            }
            Library::NoPlugin(name) => Error::new(&ER_SP_DOES_NOT_EXIST, &[&"PLUGIN", name]),
            Library::Function(file) => missing(file, file),
        }
    }

    /// DDL, which mostly commits what is open and then runs by itself. `None`: the statement is no DDL.
    fn ddl(&mut self, ast: &Ast, exchange: &mut Exchange<'_>) -> Option<Result<Done>> {
        let done = self.admitted_ddl(ast, exchange);
        self.locked.leave();
        done
    }

    fn admitted_ddl(&mut self, ast: &Ast, exchange: &mut Exchange<'_>) -> Option<Result<Done>> {
        let facts = StatementKind::of(ast).facts();
        if facts.class != Class::Ddl {
            return None;
        }
        if !matches!(ast, Ast::TableMaintenance(_)) {
            self.client.note_change();
        }
        if let Err(error) = self.begin_ddl(ast) {
            return Some(Err(error));
        }
        let shared = match self.changes_own_tables_only(ast) {
            Ok(own) => facts.changes_shared_schema && !own,
            Err(error) => return Some(Err(error)),
        };
        if shared && let Err(error) = self.enter_ddl(Some(ast)) {
            return Some(Err(error));
        }
        if self.logging.rows_follow {
            self.transaction.start(&self.env.settings, false, None);
        }
        let database = self.env.database();
        let changes_before = self.catalog.temporary_changes();
        let creates = if let Ast::CreateTable(create) = ast { &create.name.name } else { "" };
        let outcome = self.with_ddl(creates, |ddl| ddl.run(ast));
        if let Err(error) = self.settle() {
            return Some(Err(error));
        }
        self.client.progress.finish();
        if shared {
            self.locked.end_ddl();
            if let Err(error) = self.follow_locked_tables(ast) {
                return Some(Err(error));
            }
        }
        if matches!(ast, Ast::CreateTable(create) if create.select.is_some() && !create.temporary)
            && matches!(outcome, Some(Ok(_)))
        {
            self.use_next_gtid();
        }
        let outcome = outcome?;
        let done = outcome.and_then(|outcome| match outcome {
            Outcome::Ok { affected, info } => Ok(Done::Ok { affected, last_insert_id: 0, info }),
            Outcome::Rows(result) => self.put_rows(&result.columns, &result.rows, exchange),
        });
        if facts.is_temporary_ddl() && done.is_ok() {
            self.note_temporary_ddl(ast, changes_before);
            self.env.tracker.state_changed(&self.env.settings.track);
        }
        if let Ast::DropDatabase { name, .. } = ast
            && database.as_deref() == Some(name)
            && done.is_ok()
        {
            self.env.set_database(None, None);
        }
        Some(done)
    }

    /// Runs `f` with what DDL needs of this session. `creates` is a table that is made of a query.
    pub(super) fn with_ddl<T>(&self, creates: &str, f: impl FnOnce(&Ddl<'_>) -> T) -> T {
        let in_use = InUse { tables: Tables::Beside(creates), outer: None };
        let server = ServerView { in_use: Some(&in_use), ..self.server_view() };
        let database = self.env.database();
        let collation = self.env.connection_collation();
        let param_types = self.types_of_values();
        let tell = |warning| self.env.push_warning(Level::Warning, warning);
        let planner = |ast: &Ast, target: Option<&TableRef>| {
            self.with_plan_context(|context| {
                // The query is planned before, for its columns.
                let hint_warning = target.map(|_| &tell as &dyn Fn(Error));
                plan_statement(ast, &PlanContext { insert_target: target, param_types: &param_types, hint_warning, ..*context })
            })
        };
        let definer = |named: Option<&ast::UserName>| {
            let definer = self.access.definer(named)?;
            let is_known = self.access.account_exists(&definer);
            Ok((definer, is_known))
        };
        let define = |name: (&str, &str), query: &ast::Query| {
            let style =
                Style { charset: None, cast_charset: Some(vaquita_types::charset::charset(collation).name), unqualified: false };
            self.with_plan_context(|context| define_view(name, query, style, context))
        };
        let log = self.log().map(|log| CreatedTable { session: self, log });
        f(&Ddl {
            log: log.as_ref().map(|log| log as &dyn FillLog),
            filler: self.logging.rows_follow.then(|| self.transaction.shared()),
            definer: &definer,
            may_change_what_is_of: &|definer| self.access.may_change_what_is_of(definer),
            has_account: &|definer| self.access.account_exists(definer),
            define_view: &define,
            catalog: &self.catalog,
            session: &self.env,
            database: database.as_deref(),
            planner: &planner,
            params: self.prepared.values(),
            server: &server,
            functions: &server,
            lock_wait_ms_max: self.env.settings.lock_wait.as_millis() as u64,
            context: self.ddl_context(),
        })
    }

    /// The types of the values of `?`.
    pub(super) fn types_of_values(&self) -> Vec<ColumnType> {
        let type_of = |(n, value)| type_of_value(value, self.collation_of_parameter(n));
        self.prepared.values().iter().enumerate().map(type_of).collect()
    }

    pub(super) fn ddl_context(&self) -> DdlContext {
        DdlContext { note: self.note.clone(), ..ddl_context(&self.client, &self.env.settings) }
    }

    fn evaluate_all(&mut self, exprs: &[ast::Expr]) -> Result<Done> {
        for expr in exprs {
            self.evaluate(expr)?;
        }
        Ok(Done::nothing())
    }

    fn kill_statement(&mut self, id: &ast::Expr, query_only: bool) -> Result<Done> {
        let (_, uses) = self.bound(&PlanNotes::default(), |context| vaquita_plan::bind::bind_scalar(id, context));
        if !uses.tables.is_empty() {
            return Err(Error::unsupported("Usage of subqueries or stored function calls as part of this statement"));
        }
        let (value, ty) = self.evaluate(id)?;
        let id = id_to_kill(value, &ty);
        self.kill(id, query_only)?;
        if id == self.client.id {
            self.killed_itself = true;
            return Err(Error::new(&ER_QUERY_INTERRUPTED, &[]));
        }
        Ok(Done::nothing())
    }

    pub fn kill(&mut self, id: u64, query_only: bool) -> Result<()> {
        kill(&self.server, &self.access, id, query_only)
    }
}

/// What KILL is given, as MySQL reads it.
pub(super) fn id_to_kill(value: Value, ty: &ColumnType) -> u64 {
    match value {
        Value::Int(id) if id < 0 => u64::from(id as u32),
        value => vaquita_types::convert::to_u64(&value, ty).value,
    }
}

pub(super) fn kill(server: &Server, access: &SessionAccess, id: u64, query_only: bool) -> Result<()> {
    let target = server.clients().get(id).ok_or_else(|| Error::new(&ER_NO_SUCH_THREAD, &[&id]))?;
    if !access.may_kill(&target) {
        return Err(Error::new(&ER_KILL_DENIED_ERROR, &[&id]));
    }
    target.kill(!query_only);
    Ok(())
}

pub(super) fn ddl_context(client: &Client, settings: &Settings) -> DdlContext {
    let foreign_keys = KeyRules { checks: settings.run.foreign_key_checks, unique_parents: settings.run.unique_parents };
    DdlContext {
        wait: settings.metadata_lock_wait,
        interrupt: client.interrupt.clone(),
        progress: client.progress.clone(),
        foreign_keys,
        note: None,
    }
}

/// Runs a statement that may find nothing to do until the log has that (`Catalog::tell_unchanged`), or it has done something.
pub(super) fn until_told<T>(
    may_find_nothing: bool,
    (catalog, named, there): (&Catalog, &[Named<'_>], bool),
    context: &DdlContext,
    found_nothing: impl Fn(&T) -> bool,
    run: impl Fn() -> Result<T>,
) -> Result<T> {
    loop {
        let done = run()?;
        if !may_find_nothing || !found_nothing(&done) || catalog.tell_unchanged(named, there, context)? {
            return Ok(done);
        }
    }
}

/// `until_told` of a program or event that DROP may not find.
pub(super) fn drop_or_tell(
    if_exists: bool,
    (catalog, key): (&Catalog, (&str, ObjectKind, &str)),
    context: &DdlContext,
    drop: impl Fn() -> Result<bool>,
) -> Result<bool> {
    let absent = [Named::Object(key.0, key.1, key.2)];
    until_told(if_exists, (catalog, &absent, false), context, |dropped| !dropped, drop)
}

/// What error 1235 calls a statement that nothing here carries out.
pub(super) fn name_of(ast: &Ast) -> &str {
    match ast {
        Ast::Unsupported { what, .. } => what,
        other => StatementKind::of(other).facts().name,
    }
}

/// Plugins of MySQL's, with their files, that are part of this server: to install them does nothing.
const BUILT_IN: [(&str, &str); 2] =
    [("rpl_semi_sync_source", "semisync_source.so"), ("rpl_semi_sync_replica", "semisync_replica.so")];

fn is_built_in(library: &Library) -> bool {
    let Library::Plugin { name, file } = library else { return false };
    BUILT_IN.iter().any(|(known, known_file)| name.eq_ignore_ascii_case(known) && file == known_file)
}
