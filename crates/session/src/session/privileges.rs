//! What the session may do, and the statements about accounts: CREATE USER, GRANT, SET ROLE ….
//!
//! `authorize` is asked before each statement does anything, `with_plan_context` whenever something was bound, `may_run` before a
//! plan that was kept runs. Changes of privileges count from the next statement on: `access` is put together again when
//! `Accounts::version` has moved, and has another `serial` then, so that a kept plan asks again only after a change.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use vaquita_parser::ast::{SetItem, Show};
use vaquita_parser::statement_kind::{Binds, Class};
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::bind::{bind_scalar, plan_statement};
use vaquita_plan::uses::UseList;
use vaquita_types::errno::{ER_MUST_CHANGE_PASSWORD, ER_SPECIFIC_ACCESS_DENIED_ERROR};
use vaquita_types::{Error, Result};

use super::Session;
use super::prepared::{CachedPlan, VariableTypes};
use super::run::Done;
use crate::accounts::{Access, AccountRecord, Actor, ReusePolicy, Subject, binds, change_grants, change_users, privilege};
use crate::variables::{Def, Var};

impl Session {
    /// Error 1142 and its kin if the session may not run the statement.
    pub(super) fn authorize(&mut self, ast: &Ast) -> Result<()> {
        self.refresh_access();
        if self.access.is_unlimited() {
            return Ok(());
        }
        let database = self.state.database();
        self.subject(database.as_deref()).check(ast)?;
        // What is bound here runs later: other errors are told then.
        match StatementKind::of(ast).facts().binds {
            Binds::Nothing | Binds::Plan | Binds::WhenItRuns => Ok(()),
            Binds::Scalars => binds::scalars(ast)
                .into_iter()
                .try_for_each(|expr| self.allows(&self.bound(&VariableTypes::default(), |context| bind_scalar(expr, context)).1)),
            Binds::Query => binds::query(ast).map_or(Ok(()), |query| {
                let query = Ast::Query(Box::new(query.clone()));
                self.allows(&self.bound(&VariableTypes::default(), |context| plan_statement(&query, context)).1)
            }),
        }
    }

    /// Whether the session may do what was bound.
    pub(super) fn allows(&self, uses: &UseList) -> Result<()> {
        self.subject(None).check_uses(uses)
    }

    /// Whether it still may run a plan that was kept. What is kept was allowed once.
    #[inline]
    pub(super) fn may_run(&mut self, kept: &CachedPlan) -> Result<()> {
        self.refresh_access();
        if self.access.is_unlimited() || kept.allowed_under.load(Ordering::Relaxed) == self.access.serial {
            return Ok(());
        }
        self.ask_again(kept)
    }

    #[cold]
    fn ask_again(&self, kept: &CachedPlan) -> Result<()> {
        if self.access.expired {
            return Err(Error::new(&ER_MUST_CHANGE_PASSWORD, &[]));
        }
        self.allows(&kept.uses)?;
        kept.allowed_under.store(self.access.serial, Ordering::Relaxed);
        Ok(())
    }

    /// Error 1226 if the account has run as many statements as it may.
    #[inline]
    pub(super) fn count_statement(&self, kind: StatementKind) -> Result<()> {
        self.limits.as_ref().map_or(Ok(()), |limits| limits.count(kind))
    }

    pub fn may_use_the_admin_address(&self) -> bool {
        self.access.is_unlimited() || self.access.grants.dynamic.contains_key("SERVICE_CONNECTION_ADMIN")
    }

    /// CONNECTION_ADMIN or SUPER, as for KILL.
    pub fn may_take_the_last_connection(&self) -> bool {
        self.access.is_unlimited() || self.subject(None).may_kill_others()
    }

    #[inline]
    pub(super) fn refresh_access(&mut self) {
        let accounts = self.server.accounts();
        if self.access.version == accounts.version() {
            return;
        }
        // Of an account that was dropped its name remains.
        let (user, host) = (&self.account.user, &self.account.host);
        self.account = accounts.get(user, host).unwrap_or_else(|| Arc::new(AccountRecord::new(user, host)));
        let access = accounts.access(&self.account, &self.access.roles);
        self.set_access(access);
    }

    pub(super) fn set_access(&mut self, access: Access) {
        self.client.set_system_user(access.is_system_user());
        self.access = access;
    }

    fn subject<'a>(&'a self, database: Option<&'a str>) -> Subject<'a> {
        Subject {
            account: &self.account,
            access: &self.access,
            client_host: &self.client.host,
            database,
            used_password: self.client.used_password(),
            catalog: Some(&self.catalog),
        }
    }

    /// The session as `accounts::Actor`.
    fn actor<'a>(&'a self, database: Option<&'a str>) -> Actor<'a> {
        Actor {
            account: &self.account,
            access: &self.access,
            client_host: &self.client.host,
            database,
            used_password: self.client.used_password(),
            reuse: ReusePolicy {
                passwords: self.server.globals.number(Var::PasswordHistory),
                days: self.server.globals.number(Var::PasswordReuseInterval),
            },
        }
    }

    /// Error 1227 if a session variable is not for everybody to set.
    pub(super) fn may_set(&self, def: &Def, default: bool, changes: bool) -> Result<()> {
        let Some(restriction) = def.restriction(default, changes) else { return Ok(()) };
        let grants = &self.access.grants;
        let (is_super, has_file) = (grants.global & privilege::SUPER != 0, grants.global & privilege::FILE != 0);
        let checked = restriction.check(is_super, has_file, |name| grants.dynamic.contains_key(name));
        checked.map_err(|missing| Error::new(&ER_SPECIFIC_ACCESS_DENIED_ERROR, &[&missing]))
    }

    /// Whether the session may enter a database.
    pub(super) fn may_use(&self, name: &str) -> Result<()> {
        self.subject(None).may_use(name)
    }

    /// Whether the session may end another connection.
    pub(super) fn may_kill(&self, other: &crate::clients::Client) -> bool {
        if other.snapshot().user == self.client.snapshot().user {
            return true;
        }
        let protected = other.is_system_user() && !self.access.is_system_user();
        !protected && self.subject(None).may_kill_others()
    }

    /// Statements about accounts. `None`: it is none.
    pub(super) fn account_statement(&mut self, ast: &Ast) -> Option<Result<Done>> {
        if let Ast::SetRole(set) = ast {
            let roles = self.subject(None).roles_of(set);
            return Some(roles.map(|roles| {
                let access = self.server.accounts().access(&self.account, &roles);
                self.set_access(access);
                Done::nothing()
            }));
        }
        (StatementKind::of(ast).facts().class == Class::Account).then(|| self.change_accounts(ast))
    }

    fn change_accounts(&mut self, ast: &Ast) -> Result<Done> {
        let database = self.state.database();
        self.actor(database.as_deref()).may_begin(ast)?;
        self.enter_ddl(None)?;
        let (accounts, by) = (self.server.accounts(), self.actor(database.as_deref()));
        let changed = change_users(accounts, ast, &by).or_else(|| change_grants(accounts, &self.server.catalog, ast, &by));
        self.leave_ddl();
        for (level, note) in changed.unwrap_or_else(|| Ok(Vec::new()))? {
            self.state.push_warning(level, note);
        }
        Ok(Done::nothing())
    }

    /// SET PASSWORD, which stands alone in its SET.
    pub(super) fn set_password(&mut self, items: &[SetItem]) -> Option<Result<Done>> {
        let [SetItem::Password(set)] = items else { return None };
        if let Err(error) = self.enter_ddl(None) {
            return Some(Err(error));
        }
        let done = self.server.accounts().set_password(set, &self.actor(None));
        self.leave_ddl();
        Some(done.map(|()| Done::nothing()))
    }

    /// SHOW CREATE USER: the name of its column and the statement.
    pub(super) fn show_create_user(&self, show: &Show) -> Option<Result<(String, String)>> {
        let Show::CreateUser(name) = show else { return None };
        let (user, host) = crate::accounts::resolve(name, &self.account);
        let text = self.server.accounts().show_create(&user, &host);
        Some(text.map(|text| (format!("CREATE USER for {user}@{host}"), text)))
    }

    /// What a new session of an account may do: its default roles are active.
    pub(super) fn initial_access(server: &crate::server::Server, account: &Arc<AccountRecord>) -> Access {
        server.accounts().access(account, &account.default_roles)
    }
}
