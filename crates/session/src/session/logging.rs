//! What the session tells the binary log: its commits, and statements that commit themselves. Rows tell themselves (`Execution::row_log`).

use std::borrow::Cow;
use std::sync::Arc;

use vaquita_exec::context::{RowLogSettings, RowLogging, SessionEnv};
use vaquita_exec::ddl::FillLog;
use vaquita_exec::ddl::show_create::{Quoting, show_create_table};
use vaquita_parser::ast::{
    AlterUser, AuthOption, AuthSecret, CreateUser, Flush, FlushWhat, Name, SetPassword, UserName, UserOptions, UserSpec,
};
use vaquita_parser::statement_kind::Class;
use vaquita_parser::{Statement as Ast, StatementKind, parse_one, place_of_definer, text_of_accounts};
use vaquita_storage::{CommitNote, LogBuffer, Table, Transaction, Xid};
use vaquita_types::charset::{Charset, CollationId, charset};
use vaquita_types::errno::ER_GTID_NEXT_TYPE_UNDEFINED_GTID;
use vaquita_types::schema::TableDef;
use vaquita_types::{Error, Result};

use super::Session;
use super::exchange::Exchange;
use super::execute::Done;
use super::lock_tables::tables_of;
use crate::accounts::resolve;
use crate::answer::Flow;
use crate::binary_log_commits::{CommitForm, CommitLog, GtidNext, LoggedCommit, LoggedContext, LoggedQuery, Origin};
use crate::variables::settings::TrackGtids;
use crate::variables::{Var, registry};

/// What the session keeps for the log.
#[derive(Default)]
pub struct Logging {
    /// How long the transaction's buffer was behind the last `commit` in it: an applier commits several transactions together.
    ended_at: u64,
    /// Where the transaction comes from that an applier carries out.
    origin: Option<Origin>,
    /// Its GTID, instead of `gtid_next`.
    next: Option<GtidNext>,
    /// The text of the statement that runs.
    text: Option<Arc<[u8]>>,
    /// `Session::note` tells the log of the statement that runs.
    tells: bool,
    /// A table is made for an applier, whose rows follow in the transaction that begins with it. The log is told of it with them.
    pub(super) rows_follow: bool,
    /// That table, until the transaction is over.
    pub(super) filled: Option<Arc<Table>>,
}

impl Logging {
    /// An applier runs what its source has told.
    pub fn is_of_source(&self) -> bool {
        self.origin.is_some()
    }
}

/// What stands behind CREATE TABLE where rows follow in its transaction.
const START_TRANSACTION: &[u8] = b" START TRANSACTION";

impl Session {
    /// The log, unless it is off or the session keeps out of it.
    #[inline]
    pub(super) fn log(&self) -> Option<&dyn CommitLog> {
        if !self.env.settings.log.on {
            return None;
        }
        self.server.open_log()
    }

    #[inline]
    pub(super) fn row_logging(&self) -> Option<RowLogging<'_>> {
        let log = self.log()?;
        let settings = &self.env.settings;
        let rows = RowLogSettings {
            image: settings.log.image,
            full_metadata: log.full_metadata(),
            foreign_key_checks: settings.run.foreign_key_checks,
            unique_checks: settings.log.unique_checks,
        };
        let text = if settings.log.rows_query { self.logging.text.as_deref() } else { None };
        Some(RowLogging::new(log.rows(), rows, text))
    }

    /// The text of the statement that begins, if the log may have it.
    pub(super) fn note_text(&mut self, sql: &[u8], kind: StatementKind) {
        if kind != StatementKind::Rollback {
            self.env.tracker.statement_begins(&self.env.settings.track);
        }
        let is_told = kind.facts().changes_shared_schema || maintains(kind) || self.env.settings.log.rows_query;
        self.logging.text = (is_told && self.log().is_some()).then(|| sql.into());
    }

    fn logged_context(&self, of_statement: bool) -> LoggedContext {
        let settings = &self.env.settings;
        let plan = &settings.plan;
        LoggedContext {
            connection: self.client.id as u32,
            compression: settings.log.compression.then_some(settings.log.compression_level),
            reports: settings.track.gtids == TrackGtids::Own,
            began_us: self.env.statement_time_us(),
            sql_mode: plan.sql_mode,
            charsets: [
                plan.client_charset.map_or(plan.connection_collation.0, |charset| charset.default_collation.0),
                plan.connection_collation.0,
                settings.run.server_collation.0,
            ],
            utf8mb4_collation: plan.utf8mb4_collation.0,
            auto_increment: settings.auto_increment,
            autocommit: settings.autocommit,
            foreign_key_checks: settings.run.foreign_key_checks,
            unique_checks: settings.log.unique_checks,
            time_zone: of_statement.then(|| registry().of(Var::TimeZone).show(&settings.of(Var::TimeZone))),
        }
    }

    /// A text as the client has sent it or would have, and the number of its charset. Introducers mean the client's bytes.
    fn as_sent<'t>(&self, text: &'t [u8]) -> (Cow<'t, [u8]>, u16) {
        let utf8 = charset(CollationId::UTF8MB4_BIN);
        match self.env.settings.plan.client_charset {
            Some(client) => {
                let sent = utf8.convert(client, text).bytes;
                match client.convert(utf8, &sent).bytes == text {
                    true => (sent, client.default_collation.0),
                    // It names what the client's charset has no characters for.
                    false => (Cow::Borrowed(text), utf8.default_collation.0),
                }
            }
            None => {
                let name = registry().of(Var::CharacterSetClient).show(&self.env.settings.of(Var::CharacterSetClient));
                (Cow::Borrowed(text), Charset::by_name(&name).unwrap_or(utf8).default_collation.0)
            }
        }
    }

    /// The GTID that the next transaction gets.
    fn next_gtid(&self) -> GtidNext {
        self.logging.next.as_ref().unwrap_or(&self.env.settings.log.next).clone()
    }

    /// A transaction has got it: what was given is used up.
    pub(super) fn use_next_gtid(&mut self) {
        let was_applied = self.logging.next.take().is_some();
        if !was_applied && matches!(self.env.settings.log.next, GtidNext::Given(_)) {
            self.env.settings.log.next = GtidNext::Undefined;
        }
    }

    /// Answers a statement that may be logged and is not to run: its transaction is here already, or has no GTID yet.
    #[inline]
    pub(super) fn pass_over(&mut self, exchange: &mut Exchange<'_>) -> Option<Flow> {
        match &self.env.settings.log.next {
            GtidNext::Given(gtid) if self.server.has_executed(gtid) => Some(self.succeed(&Done::nothing(), exchange)),
            GtidNext::Undefined => {
                let given = registry().of(Var::GtidNext).show(&self.env.settings.of(Var::GtidNext));
                Some(self.fail(&Error::new(&ER_GTID_NEXT_TYPE_UNDEFINED_GTID, &[&given]), exchange))
            }
            _ => None,
        }
    }

    /// The open transaction is about to commit.
    pub(super) fn tell_commit(&mut self) -> Result<()> {
        let told = self.transaction.storage().log().len();
        let is_new = told > std::mem::take(&mut self.logging.ended_at);
        // A transaction that was given a GTID is logged though it is empty.
        let is_named = match &self.env.settings.log.next {
            GtidNext::Given(gtid) if self.transaction.is_open() && self.log().is_some() => Some(self.server.has_executed(gtid)),
            _ => None,
        };
        match (is_new, is_named) {
            (true, _) | (_, Some(false)) => self.tell_end(CommitForm::Begin),
            (false, Some(true)) => {
                self.use_next_gtid();
                Ok(())
            }
            (false, None) => Ok(()),
        }
    }

    fn tell_end(&mut self, form: CommitForm<'_>) -> Result<()> {
        let server = self.server.clone();
        let Some(log) = server.open_log() else { return Ok(()) };
        let (context, next) = (self.logged_context(false), self.next_gtid());
        self.use_next_gtid();
        let commit = LoggedCommit { context: &context, next: &next, origin: self.logging.origin.as_ref(), form };
        log.commit(self.transaction.storage(), &commit)
    }

    /// An applier carries out a transaction of its source.
    pub fn begin_applied(&mut self, next: GtidNext, origin: Origin) {
        (self.logging.next, self.logging.origin) = (Some(next), Some(origin));
    }

    /// It is left out: the log is told nothing of it.
    pub fn pass_applied(&mut self) {
        (self.logging.next, self.logging.origin) = (None, None);
    }

    pub(super) fn forget_told(&mut self) {
        self.logging.ended_at = 0;
    }

    /// It is carried out, and committed later.
    pub fn end_applied(&mut self) -> Result<()> {
        let is_told = self.transaction.storage().log().len() > self.logging.ended_at;
        let is_named = matches!(self.logging.next, Some(GtidNext::Given(_)));
        if self.log().is_none() || !is_told && !is_named {
            return Ok(());
        }
        self.transaction.begin_if_needed(&self.env.settings);
        let ended = self.tell_end(CommitForm::Begin);
        self.logging.ended_at = self.transaction.storage().log().len();
        ended
    }

    /// A table whose rows follow in the transaction that begins here, which the log is told with them. Before its commit nobody else can use the
    /// table, and it goes if the transaction does not come to that.
    pub fn apply_created(&mut self, sql: &[u8]) -> Result<()> {
        self.logging.rows_follow = true;
        let created = self.apply_text(sql);
        self.logging.rows_follow = false;
        created?;
        let sql = &self.client_text(sql).into_owned();
        if let Ok((Ast::CreateTable(create), _)) = parse_one(sql, &self.env.settings.plan.parser_options()) {
            let (database, name) = self.qualified(&create.name)?;
            self.logging.filled = self.server.catalog.table(&database, &name)?;
        }
        let server = self.server.clone();
        match server.open_log().filter(|_| self.env.settings.log.on) {
            Some(log) => {
                let database = self.env.database();
                let database = database.as_deref().unwrap_or_default();
                self.tell_created(log, &mut self.transaction.shared().borrow_mut(), database, sql)
            }
            None => Ok(()),
        }
    }

    /// The transaction of `apply_created` is undone.
    pub(super) fn drop_filled(&mut self) {
        if let Some(table) = self.logging.filled.take() {
            let wait = self.env.settings.metadata_lock_wait;
            self.server.catalog.drop_unfilled(&table, self.transaction.storage(), wait);
        }
    }

    fn tell_created(&self, log: &dyn CommitLog, txn: &mut Transaction, database: &str, sql: &[u8]) -> Result<()> {
        let (sql, charset) = self.as_sent(sql);
        let mut context = self.logged_context(true);
        context.charsets[0] = charset;
        let text = [&sql[..], START_TRANSACTION].concat();
        let query = LoggedQuery { context: &context, database, text: &text, changed: &[database.to_string()], invoker: None };
        log.query(txn, &query)
    }

    /// Accounts have changed: the log is told so without the passwords that statements have.
    pub(super) fn tell_accounts(&mut self, ast: &Ast) -> Result<()> {
        if self.log().is_none() {
            return Ok(());
        }
        let text = match ast {
            Ast::CreateUser(create) => {
                let users = self.logged_users(&create.users, true);
                self.text_of_accounts(&Ast::CreateUser(Box::new(CreateUser { users, ..(**create).clone() })))
            }
            Ast::AlterUser(alter) if alter.default_role.is_none() => {
                let users = self.logged_users(&alter.users, false);
                self.text_of_accounts(&Ast::AlterUser(Box::new(AlterUser { users, ..(**alter).clone() })))
            }
            _ => self.logging.text.as_ref().map(|text| text.to_vec()),
        };
        self.tell_account_text(text)
    }

    /// SET PASSWORD.
    pub(super) fn tell_password(&mut self, set: &SetPassword) -> Result<()> {
        if self.log().is_none() {
            return Ok(());
        }
        let user = UserSpec {
            name: set.user.clone().unwrap_or(UserName::CurrentUser),
            auth: Some(AuthOption { plugin: None, secret: AuthSecret::None }),
            more_factors: false,
            replace: None,
            retain_current: set.retain_current,
            discard_old: false,
        };
        let users = self.logged_users(&[user], false);
        let alter = AlterUser { if_exists: false, users, default_role: None, options: UserOptions::default() };
        self.tell_account_text(self.text_of_accounts(&Ast::AlterUser(Box::new(alter))))
    }

    fn tell_account_text(&mut self, text: Option<Vec<u8>>) -> Result<()> {
        let Some(text) = text else { return Ok(()) };
        let told = self.told_of_text(&text, &["mysql".to_string()], false)?;
        self.use_next_gtid();
        self.server.engine.commit_told(&told)
    }

    /// The accounts of a statement with the hashes that they have got of it; those that there are not are left out.
    fn logged_users(&self, users: &[UserSpec], created: bool) -> Vec<UserSpec> {
        let logged = |user: &UserSpec| {
            let (name, host) = resolve(&user.name, self.access.account());
            let account = self.server.accounts().get(&name, &host)?;
            let hash = account.authentication_string.clone();
            let secret = if hash.is_empty() { AuthSecret::None } else { AuthSecret::Hash(hash) };
            let auth = AuthOption { plugin: Some(account.plugin.name().to_string()), secret };
            let auth = (created || user.auth.is_some()).then_some(auth);
            Some(UserSpec { auth, replace: None, ..user.clone() })
        };
        users.iter().filter_map(logged).collect()
    }

    /// `None` if it names no account.
    fn text_of_accounts(&self, ast: &Ast) -> Option<Vec<u8>> {
        let names_none = match ast {
            Ast::CreateUser(create) => create.users.is_empty(),
            Ast::AlterUser(alter) => alter.users.is_empty(),
            _ => true,
        };
        let own = self.access.account();
        text_of_accounts(ast, (&own.user, &own.host)).filter(|_| !names_none).map(String::into_bytes)
    }

    /// XA PREPARE and XA COMMIT … ONE PHASE.
    pub(super) fn tell_branch(&mut self, xid: &Xid, one_phase: bool) -> Result<()> {
        if self.transaction.storage().log().is_empty() {
            return Ok(());
        }
        let (shown, format) = (shown_xid(xid), xid.format_id as u32);
        self.tell_end(CommitForm::Branch { xid: &shown, parts: (format, &xid.gtrid, &xid.bqual), one_phase })
    }

    /// XA COMMIT and XA ROLLBACK of a prepared branch.
    pub(super) fn told_of_prepared(&mut self, xid: &Xid, commit: bool) -> Result<LogBuffer> {
        let text = format!("XA {} {}", if commit { "COMMIT" } else { "ROLLBACK" }, shown_xid(xid));
        match self.log() {
            Some(_) => {
                let told = self.told_of_text(text.as_bytes(), &[], false);
                self.use_next_gtid();
                told
            }
            None => Ok(LogBuffer::default()),
        }
    }

    /// A statement that commits itself.
    fn told_of_text(&mut self, text: &[u8], changed: &[String], with_invoker: bool) -> Result<LogBuffer> {
        let mut told = LogBuffer::default();
        let server = self.server.clone();
        let Some(log) = server.open_log() else { return Ok(told) };
        let (mut context, next) = (self.logged_context(true), self.next_gtid());
        let (text, charset) = self.as_sent(text);
        context.charsets[0] = charset;
        let database = self.env.database();
        let own = self.access.definer(None)?;
        let query = LoggedQuery {
            context: &context,
            database: database.as_deref().unwrap_or_default(),
            text: &text,
            changed,
            invoker: with_invoker.then_some((&own.user, &own.host)),
        };
        log.query(&mut told, &query)?;
        let origin = self.logging.origin.as_ref();
        log.commit(&mut told, &LoggedCommit { context: &context, next: &next, origin, form: CommitForm::Statement })?;
        Ok(told)
    }

    /// Before a statement that may change definitions: its commit tells the log, or whoever ends it does (`end_logged`).
    pub(super) fn begin_logged(&mut self, ast: &Ast) -> Result<()> {
        if self.log().is_none() || self.logging.rows_follow || !is_logged(ast) || self.changes_own_tables_only(ast)? {
            return Ok(());
        }
        let Some(text) = self.logging.text.clone() else { return Ok(()) };
        let text = self.text_for_log(ast, &text)?;
        let told = self.told_of_text(&text, &self.changed_databases(ast), creates_with_definer(ast))?;
        self.note = Some(Arc::new(CommitNote::telling(self.note.take(), told)));
        self.logging.tells = true;
        Ok(())
    }

    /// Such a statement is over: if nothing had to be changed, the log is told all the same.
    pub(super) fn end_logged(&mut self, succeeded: bool) -> Result<()> {
        if !std::mem::take(&mut self.logging.tells) {
            return Ok(());
        }
        let Some(note) = self.note.take() else { return Ok(()) };
        if !note.is_written() && !succeeded {
            return Ok(());
        }
        self.use_next_gtid();
        if note.is_written() { Ok(()) } else { self.server.engine.commit_told(note.told()) }
    }

    /// What a replica can carry out, which has neither the session's account nor its temporary tables.
    fn text_for_log<'t>(&self, ast: &Ast, text: &'t [u8]) -> Result<Cow<'t, [u8]>> {
        let quoting = Quoting::new(0, true);
        match ast {
            Ast::DropTable { temporary: false, if_exists, names } => {
                let names = names.iter().map(|name| self.qualified(name)).collect::<Result<Vec<_>>>()?;
                let stored: Vec<_> = names.iter().filter(|(db, name)| self.catalog.temporary(db, name).is_none()).collect();
                if stored.len() == names.len() {
                    return Ok(Cow::Borrowed(text));
                }
                let names: Vec<_> =
                    stored.iter().map(|(db, name)| format!("{}.{}", quoting.name(db), quoting.name(name))).collect();
                let condition = if *if_exists { "IF EXISTS " } else { "" };
                Ok(Cow::Owned(format!("DROP TABLE {condition}{} /* generated by server */", names.join(",")).into_bytes()))
            }
            Ast::CreateTable(create) => {
                let Some(like) = create.like.as_ref().map(|name| self.qualified(name)).transpose()? else {
                    return Ok(Cow::Borrowed(text));
                };
                let Some(like) = self.catalog.temporary(&like.0, &like.1) else { return Ok(Cow::Borrowed(text)) };
                let mut def = TableDef::clone(&like.def);
                let (database, name) = self.qualified(&create.name)?;
                (def.name, def.options.temporary) = (name, false);
                let text = show_create_table(&def, None, quoting);
                let head = format!("CREATE TABLE {}", quoting.name(&def.name));
                let body = text.strip_prefix(&head).ok_or_else(|| Error::internal("SHOW CREATE TABLE begins in another way"))?;
                let condition = if create.if_not_exists { "IF NOT EXISTS " } else { "" };
                let full = format!("{}.{}", quoting.name(&database), quoting.name(&def.name));
                Ok(Cow::Owned(format!("CREATE TABLE {condition}{full}{body}").into_bytes()))
            }
            _ if creates_with_definer(ast) => self.with_definer(text),
            _ => Ok(Cow::Borrowed(text)),
        }
    }

    /// Names the session's account as the definer, as who carries the statement out for us is another one.
    fn with_definer<'t>(&self, text: &'t [u8]) -> Result<Cow<'t, [u8]>> {
        let Some(at) = place_of_definer(text, &self.env.settings.plan.parser_options()) else { return Ok(Cow::Borrowed(text)) };
        let own = self.access.definer(None)?;
        let quoting = Quoting::new(0, true);
        let definer = format!("DEFINER={}@{} ", quoting.name(&own.user), quoting.name(&own.host));
        let (head, tail) = text.split_at(at);
        Ok(Cow::Owned([head, definer.as_bytes(), tail].concat()))
    }

    fn changed_databases(&self, ast: &Ast) -> Vec<String> {
        let current = self.env.database();
        let of_name = |name: &Name| name.db.as_deref().or(current.as_deref()).map(str::to_string);
        let mut names: Vec<String> = match ast {
            Ast::CreateDatabase { name, .. } | Ast::DropDatabase { name, .. } => vec![name.clone()],
            Ast::CreateTable(create) => of_name(&create.name).into_iter().collect(),
            _ => tables_of(ast).into_iter().filter_map(of_name).collect(),
        };
        if names.is_empty() {
            names.extend(current.as_deref().map(str::to_string));
        }
        names.sort();
        names.dedup();
        names
    }
}

/// A table that is made of a query, as the log is told.
pub(super) struct CreatedTable<'s> {
    pub session: &'s Session,
    pub log: &'s dyn CommitLog,
}

impl FillLog for CreatedTable<'_> {
    fn rows(&self) -> Option<RowLogging<'_>> {
        self.session.row_logging()
    }

    fn begin(&self, txn: &mut Transaction, database: &str, create: &str) -> Result<()> {
        self.session.tell_created(self.log, txn, database, create.as_bytes())
    }

    fn end(&self, txn: &mut Transaction) -> Result<()> {
        let (context, next) = (self.session.logged_context(false), self.session.next_gtid());
        let origin = self.session.logging.origin.as_ref();
        self.log.commit(txn, &LoggedCommit { context: &context, next: &next, origin, form: CommitForm::Begin })
    }
}

/// Statements that change no definition, and that replicas carry out all the same.
fn maintains(kind: StatementKind) -> bool {
    use StatementKind::{Analyze, Flush, FlushPrivileges, FlushTables, Optimize, Repair};
    matches!(kind, Analyze | Optimize | Repair | Flush | FlushPrivileges | FlushTables)
}

/// The log has the statement's text.
pub(super) fn is_logged(ast: &Ast) -> bool {
    let kind = StatementKind::of(ast);
    if maintains(kind) {
        // What turns to the next file of a log is this server's own business.
        let rotates = |options: &[String]| options.iter().any(|option| matches!(&option[..], "LOGS" | "BINARY LOGS"));
        return match ast {
            Ast::TableMaintenance(maintenance) => !maintenance.no_binlog,
            Ast::Flush(Flush { no_binlog, what: FlushWhat::Options(options) }) => !no_binlog && !rotates(options),
            Ast::Flush(flush) => !flush.no_binlog,
            _ => false,
        };
    }
    let facts = kind.facts();
    // A table that is made of a query is told with its rows.
    let is_filled = matches!(ast, Ast::CreateTable(create) if create.select.is_some() || create.temporary);
    // Accounts tell themselves, without their passwords.
    let is_of_accounts = facts.class == Class::Account || kind == StatementKind::SetPassword;
    facts.changes_shared_schema && !is_of_accounts && !is_filled
}

/// Who makes it becomes its definer.
fn creates_with_definer(ast: &Ast) -> bool {
    match ast {
        Ast::CreateRoutine(create) => create.definer.is_none(),
        Ast::CreateTrigger(create) => create.definer.is_none(),
        Ast::CreateEvent(create) => create.definer.is_none(),
        Ast::AlterEvent(alter) => alter.definer.is_none(),
        Ast::CreateView(create) => create.definer.is_none(),
        _ => false,
    }
}

/// As MySQL writes it in the log.
fn shown_xid(xid: &Xid) -> String {
    let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    format!("X'{}',X'{}',{}", hex(&xid.gtrid), hex(&xid.bqual), xid.format_id)
}
