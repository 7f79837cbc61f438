//! What the session may do: its account, its active roles, the sum of their privileges, and how many statements it may run.
//!
//! Accounts belong to the server and change under the session: `refresh` puts `rights` together again when `Accounts::version` has moved.
//! They have another serial then, so that a kept plan asks again only after a change (`may_run`).
//!
//! * ACCESS-1: a statement is checked against the version of the accounts that it found when it began.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use vaquita_parser::StatementKind;
use vaquita_parser::ast::{RoleSet, UserName};
use vaquita_plan::uses::{UseList, ViewRights, Whose};
use vaquita_storage::{MetaChanges, SessionCatalog};
use vaquita_types::errno::{
    ER_ACCESS_DENIED_ERROR, ER_MUST_CHANGE_PASSWORD, ER_NO_SUCH_USER, ER_ROLE_NOT_GRANTED, ER_SPECIFIC_ACCESS_DENIED_ERROR,
    ER_VIEW_INVALID,
};
use vaquita_types::schema::{Definer, ObjectKind, StoredObject};
use vaquita_types::{Error, Result};

use super::prepared::CachedPlan;
use crate::accounts::{Access, AccountRecord, Actor, Limits, RandomPasswords, ReusePolicy, Subject, privilege, resolve};
use crate::clients::{ActiveRoles, Client};
use crate::server::Server;
use crate::variables::{Def, Var};

pub struct SessionAccess {
    server: Arc<Server>,
    client: Arc<Client>,
    account: Arc<AccountRecord>,
    rights: Access,
    active: Arc<ActiveRoles>,
    /// How many statements the account may run; `None`: any number.
    limits: Option<Limits>,
    /// The account is a definer's, whose password nobody gives: that it has expired means nothing.
    is_definers: bool,
    /// It is no account's: the server itself changes what another server has changed.
    is_servers: bool,
}

/// What a session has put off to run as another account.
pub struct Worn {
    account: Arc<AccountRecord>,
    rights: Access,
    is_definers: bool,
}

impl SessionAccess {
    /// After a login: the account's default roles are active.
    pub fn new(server: &Arc<Server>, client: &Arc<Client>, account: Arc<AccountRecord>) -> SessionAccess {
        let limits = server.accounts().limits(&account);
        let (server, client) = (server.clone(), client.clone());
        let (rights, active) = (Access::default(), Arc::default());
        let mut access = SessionAccess { server, client, account, rights, active, limits, is_definers: false, is_servers: false };
        access.reset();
        access
    }

    /// The session is the server's own: it may do everything, whatever becomes of accounts.
    pub fn set_servers_own(&mut self) {
        self.is_servers = true;
        self.limits = None;
        self.set_rights(self.server.accounts().everything());
    }

    pub fn is_servers_own(&self) -> bool {
        self.is_servers
    }

    /// As after a login.
    pub fn reset(&mut self) {
        self.set_rights(self.server.accounts().access_of_login(&self.account));
    }

    pub fn account(&self) -> &AccountRecord {
        &self.account
    }

    pub fn rights(&self) -> &Access {
        &self.rights
    }

    #[inline]
    pub fn is_unlimited(&self) -> bool {
        self.rights.is_unlimited()
    }

    #[inline]
    pub fn refresh(&mut self) {
        if self.rights.version != self.server.accounts().version() {
            self.reload();
        }
    }

    #[cold]
    fn reload(&mut self) {
        if self.is_servers {
            return self.set_rights(self.server.accounts().everything());
        }
        let accounts = self.server.accounts();
        // Of an account that was dropped its name remains.
        let (user, host) = (&self.account.user, &self.account.host);
        self.account = accounts.get(user, host).unwrap_or_else(|| Arc::new(AccountRecord::new(user, host)));
        let mut rights = accounts.access(&self.account, &self.rights.roles);
        // That a password has expired counts for those who log in with it.
        rights.expired &= self.rights.expired;
        self.set_rights(rights);
    }

    /// Whether this is the name of the session's account.
    pub fn is_own(&self, name: &UserName) -> bool {
        resolve(name, &self.account) == (self.account.user.clone(), self.account.host.clone())
    }

    /// The session has made its own password expire.
    pub fn expire(&mut self) {
        self.rights.expired = !self.is_definers;
    }

    /// The session runs a program for its account, which has not logged in.
    pub fn set_definers(&mut self) {
        self.is_definers = true;
        self.rights.expired = false;
    }

    fn set_rights(&mut self, rights: Access) {
        self.client.set_system_user(rights.is_system_user());
        self.rights = rights;
        self.client.set_administers(self.administers());
        self.tell_roles();
    }

    /// Functions ask the client for the roles.
    fn tell_roles(&mut self) {
        self.active = active_roles(&self.rights);
        self.client.set_roles(self.active.clone());
    }

    pub fn active_roles(&self) -> Arc<ActiveRoles> {
        self.active.clone()
    }

    /// Takes on another account, with its default roles, for a routine of it.
    pub fn wear(&mut self, account: Arc<AccountRecord>) -> Worn {
        let rights = self.rights_of_definer(&account);
        let worn = Worn {
            account: std::mem::replace(&mut self.account, account),
            rights: std::mem::replace(&mut self.rights, rights),
            is_definers: std::mem::replace(&mut self.is_definers, true),
        };
        self.tell_roles();
        worn
    }

    /// What another account may do, with its default roles, beside this one.
    pub fn of_account(&self, account: Arc<AccountRecord>) -> SessionAccess {
        let rights = self.rights_of_definer(&account);
        let (server, client) = (self.server.clone(), self.client.clone());
        let active = active_roles(&rights);
        SessionAccess { server, client, account, rights, active, limits: None, is_definers: true, is_servers: false }
    }

    fn rights_of_definer(&self, account: &AccountRecord) -> Access {
        let mut rights = self.server.accounts().access(account, &account.default_roles);
        rights.expired = false;
        rights
    }

    pub fn may_have_events(&self, database: &str) -> Result<()> {
        self.subject(None, None).may_have_events(database)
    }

    /// Error 1370 of a definer who may not run a routine that is his.
    pub fn may_execute(&self, routine: &StoredObject) -> Result<()> {
        match routine.kind {
            ObjectKind::Procedure | ObjectKind::Function => {
                self.subject(None, None).may_execute((&routine.database, routine.kind, &routine.name))
            }
            // Of a trigger its table is asked.
            ObjectKind::View | ObjectKind::Trigger | ObjectKind::Event => Ok(()),
        }
    }

    /// Puts its own back, which is read again if accounts have changed meanwhile.
    pub fn take_off(&mut self, worn: Worn) {
        self.account = worn.account;
        self.is_definers = worn.is_definers;
        self.set_rights(worn.rights);
    }

    /// Whether it may create routines of accounts that are missing.
    pub fn may_name_missing_definer(&self) -> bool {
        self.has_super() || self.rights.grants.dynamic.contains_key("ALLOW_NONEXISTENT_DEFINER")
    }

    pub fn has_super(&self) -> bool {
        self.rights.is_unlimited() || self.rights.grants.global & privilege::SUPER != 0
    }

    /// The host that errors name: the client's, and in what runs as its definer that account's.
    fn shown_host(&self) -> &str {
        if self.is_definers { &self.account.host } else { &self.client.host }
    }

    /// Who asks whether a statement may run. `catalog` has the temporary tables, which are the session's own.
    pub fn subject<'a>(&'a self, database: Option<&'a str>, catalog: Option<&'a SessionCatalog>) -> Subject<'a> {
        Subject {
            account: &self.account,
            access: &self.rights,
            client_host: self.shown_host(),
            database,
            used_password: self.client.used_password(),
            catalog,
        }
    }

    /// Who changes accounts. Passwords that are made for them have so many characters.
    pub fn actor<'a>(&'a self, database: Option<&'a str>, password_chars: usize) -> Actor<'a> {
        Actor {
            account: &self.account,
            access: &self.rights,
            client_host: self.shown_host(),
            database,
            used_password: self.client.used_password(),
            requires_current: self.server.globals.is_on(Var::PasswordRequireCurrent),
            random: RandomPasswords::new(password_chars),
            interrupt: &self.client.interrupt,
            reuse: ReusePolicy {
                passwords: self.server.globals.number(Var::PasswordHistory),
                days: self.server.globals.number(Var::PasswordReuseInterval),
            },
        }
    }

    /// Whether the session may do what was bound.
    pub fn allows(&self, uses: &UseList, catalog: Option<&SessionCatalog>) -> Result<()> {
        self.subject(None, catalog).check_uses(uses)?;
        let mut asked: Vec<&Whose> = Vec::new();
        for whose in uses.whose() {
            if let Whose::View(rights) = whose
                && !asked.contains(&whose)
            {
                self.view_allows(uses, whose, rights, catalog)?;
                asked.push(whose);
            }
        }
        Ok(())
    }

    /// Whether the session may be told how a statement that it may run is carried out.
    pub fn may_explain(&self, uses: &UseList, catalog: &SessionCatalog) -> Result<()> {
        self.subject(None, Some(catalog)).check_explained(uses)
    }

    /// The session runs a program with the privileges of its definer.
    pub fn is_definers(&self) -> bool {
        self.is_definers
    }

    /// Whether a view's definer, or by SQL SECURITY INVOKER the session, may read what the view reads: error 1356 that names the view.
    #[cold]
    fn view_allows(&self, uses: &UseList, whose: &Whose, rights: &ViewRights, catalog: Option<&SessionCatalog>) -> Result<()> {
        let checked = match &rights.definer {
            None => self.subject(None, catalog).check_uses_of(uses, whose),
            Some(definer) => {
                let accounts = self.server.accounts();
                let Some(account) = accounts.get(&definer.user, &definer.host) else {
                    return Err(self.no_definer(definer));
                };
                let access = accounts.access(&account, &account.default_roles);
                let subject = Subject { account: &account, access: &access, ..self.subject(None, catalog) };
                subject.check_uses_of(uses, whose)
            }
        };
        checked.map_err(|_| Error::new(&ER_VIEW_INVALID, &[&rights.database, &rights.name]))
    }

    /// Error 1449, which tells only who has SUPER who the definer was.
    fn no_definer(&self, definer: &Definer) -> Error {
        if self.rights.is_unlimited() || self.rights.grants.global & privilege::SUPER != 0 {
            return Error::new(&ER_NO_SUCH_USER, &[&definer.user, &definer.host]);
        }
        let password = if self.client.used_password() { "YES" } else { "NO" };
        Error::new(&ER_ACCESS_DENIED_ERROR, &[&self.account.user, &self.account.host, &password])
    }

    /// Whether it still may run a plan that was kept. What is kept was allowed once.
    #[inline]
    pub fn may_run(&mut self, kept: &CachedPlan, catalog: &SessionCatalog) -> Result<()> {
        self.refresh();
        // Whatever changes an account changes the serial, so that definers of views are asked again too.
        let is_free = self.rights.is_unlimited() && !kept.has_definers;
        if is_free || kept.allowed_under.load(Ordering::Relaxed) == self.rights.serial {
            return Ok(());
        }
        self.ask_again(kept, catalog)
    }

    #[cold]
    fn ask_again(&self, kept: &CachedPlan, catalog: &SessionCatalog) -> Result<()> {
        if self.rights.expired {
            return Err(Error::new(&ER_MUST_CHANGE_PASSWORD, &[]));
        }
        self.allows(&kept.uses, Some(catalog))?;
        kept.allowed_under.store(self.rights.serial, Ordering::Relaxed);
        Ok(())
    }

    /// Its statements are counted by kind.
    #[inline]
    pub fn has_limits(&self) -> bool {
        self.limits.is_some()
    }

    /// Error 1226 if the account has run as many statements as it may.
    #[inline]
    pub fn count_statement(&self, kind: StatementKind) -> Result<()> {
        self.limits.as_ref().map_or(Ok(()), |limits| limits.count(kind))
    }

    /// The account that owns what the session creates: itself, or with SET_ANY_DEFINER whoever is named.
    pub fn definer(&self, named: Option<&UserName>) -> Result<Definer> {
        let own = Definer { user: self.account.user.clone(), host: self.account.host.clone() };
        let Some(named) = named else { return Ok(own) };
        let (user, host) = resolve(named, &self.account);
        let named = Definer { user, host };
        let grants = &self.rights.grants;
        let may =
            self.rights.is_unlimited() || grants.global & privilege::SUPER != 0 || grants.dynamic.contains_key("SET_ANY_DEFINER");
        if named != own && !may {
            return Err(Error::new(&ER_SPECIFIC_ACCESS_DENIED_ERROR, &[&"SUPER or SET_ANY_DEFINER"]));
        }
        if named != own {
            self.may_change_what_is_of(&named)?;
        }
        Ok(named)
    }

    /// What an account with SYSTEM_USER defines is made, altered and dropped only by one that has it too.
    pub fn may_change_what_is_of(&self, definer: &Definer) -> Result<()> {
        let accounts = self.server.accounts();
        let account = accounts.get(&definer.user, &definer.host);
        let is_system_user = account.is_some_and(|account| accounts.access(&account, &account.default_roles).is_system_user());
        match is_system_user && !self.rights.is_system_user() {
            true => Err(Error::new(&ER_SPECIFIC_ACCESS_DENIED_ERROR, &[&"SYSTEM_USER"])),
            false => Ok(()),
        }
    }

    /// Creates a routine with `create`, and by `automatic_sp_privileges` gives the account what it lacks on it.
    pub fn creates_routine<T>(
        &self,
        (database, kind, name): (&str, ObjectKind, &str),
        create: impl FnOnce(&MetaChanges<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let has = self.rights.grants.on_routine(database, kind, name);
        if self.rights.is_unlimited() || has & privilege::ALL_ROUTINE == privilege::ALL_ROUTINE {
            return create(&[]);
        }
        self.server.accounts().creates_routine(&self.account, (database, kind, name), create)
    }

    pub fn account_exists(&self, definer: &Definer) -> bool {
        self.server.accounts().get(&definer.user, &definer.host).is_some()
    }

    pub fn may_use_the_admin_address(&self) -> bool {
        self.rights.is_unlimited() || self.rights.grants.dynamic.contains_key("SERVICE_CONNECTION_ADMIN")
    }

    /// CONNECTION_ADMIN or SUPER, as for KILL.
    pub fn may_take_the_last_connection(&self) -> bool {
        self.rights.is_unlimited() || self.subject(None, None).may_kill_others()
    }

    /// It may do what the audit log cannot write down.
    pub fn may_go_unaudited(&self) -> bool {
        let has = |name: &str| self.rights.grants.dynamic.contains_key(name);
        self.rights.is_unlimited() || has("AUDIT_ADMIN") || has("AUDIT_ABORT_EXEMPT")
    }

    /// `read_only` is not for it.
    pub fn administers(&self) -> bool {
        let grants = &self.rights.grants;
        self.rights.is_unlimited() || grants.global & privilege::SUPER != 0 || grants.dynamic.contains_key("CONNECTION_ADMIN")
    }

    /// Error 1227 if a session variable is not for everybody to set.
    pub fn may_set(&self, def: &Def, default: bool, changes: bool) -> Result<()> {
        let Some(restriction) = def.restriction(default, changes) else { return Ok(()) };
        let grants = &self.rights.grants;
        let (is_super, has_file) = (grants.global & privilege::SUPER != 0, grants.global & privilege::FILE != 0);
        let checked = restriction.check(is_super, has_file, |name| grants.dynamic.contains_key(name));
        checked.map_err(|missing| Error::new(&ER_SPECIFIC_ACCESS_DENIED_ERROR, &[&missing]))
    }

    /// Whether the session may enter a database.
    pub fn may_use(&self, database: &str) -> Result<()> {
        self.subject(None, None).may_use(database)
    }

    /// Whether the session may end another connection.
    pub fn may_kill(&self, other: &Client) -> bool {
        if other.snapshot().user == self.client.snapshot().user {
            return true;
        }
        let protected = other.is_system_user() && !self.rights.is_system_user();
        !protected && self.subject(None, None).may_kill_others()
    }

    pub fn set_role(&mut self, set: &RoleSet) -> Result<()> {
        let accounts = self.server.accounts();
        let roles = match set {
            RoleSet::None => Vec::new(),
            RoleSet::Default => self.account.default_roles.clone(),
            RoleSet::All { except } => {
                let except: Vec<_> = except.iter().map(|name| resolve(name, &self.account)).collect();
                let mut roles = accounts.roles_of(&self.account);
                roles.retain(|role| !except.contains(role));
                roles
            }
            RoleSet::List(list) => {
                let has = accounts.roles_of(&self.account);
                let roles: Vec<_> = list.iter().map(|name| resolve(name, &self.account)).collect();
                if let Some((user, host)) = roles.iter().find(|role| !has.contains(role)) {
                    return Err(Error::new(&ER_ROLE_NOT_GRANTED, &[user, host, &self.account.user, &self.account.host]));
                }
                roles
            }
        };
        self.set_rights(accounts.access(&self.account, &roles));
        Ok(())
    }
}

fn active_roles(rights: &Access) -> Arc<ActiveRoles> {
    let sees_all = rights.grants.global & privilege::SUPER != 0 || rights.grants.dynamic.contains_key("ROLE_ADMIN");
    let reads_files = rights.grants.global & privilege::FILE != 0;
    Arc::new(ActiveRoles { names: rights.roles.clone(), sees_all, reads_files })
}
