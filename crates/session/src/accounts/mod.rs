//! Accounts: who may log in, from where, with which password, and what they may do then.
//!
//! Records live in the engine's metadata under `account/` (`record`) and are all held here. A login takes the record
//! with the most specific host that matches (`host`). Sessions keep the record they logged in with and the sum of
//! its and its roles' privileges (`Access`); `version` tells them cheaply that something has changed.
//! `users` and `grant` carry out the statements and ask `rules` for who may; `subject` finds what other statements need.
//!
//! * ACC-1: a change is durable before it is visible: `change` writes the records, then replaces the cached ones.
//! * ACC-2: a digest that makes the next login fast belongs to one stored password; changing a password of the account drops them.

pub mod binds;
mod grant;
pub mod grants;
mod history;
pub mod host;
pub mod privilege;
mod random;
mod record;
mod require;
mod routines;
mod rules;
mod settings;
mod subject;
mod usage;
mod users;
mod uses;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard, RwLock};
use vaquita_exec::context::{AccountInfo, DatabaseGrantInfo, RoutineGrantInfo, TableGrantInfo};
use vaquita_parser::ast::UserName;
use vaquita_password::{FastDigest, Plugin};
use vaquita_plan::env::RoleGrants;
use vaquita_storage::{Catalog, MetaChanges};
use vaquita_types::errno::{ER_MANDATORY_ROLE, ER_NONEXISTING_GRANT, ER_ROLE_NOT_GRANTED};
use vaquita_types::schema::ObjectKind;
use vaquita_types::{Error, Result};

pub use grant::change_grants;
use grants::{Grants, RoleGrant, quote};
pub use history::ReusePolicy;
use history::UsedPassword;
pub use random::RandomPasswords;
pub use require::{PeerCertificate, Requirement, TlsPeer};
pub use rules::Actor;
pub use settings::AccountSettings;
pub use subject::Subject;
pub use usage::Limits;
pub use users::{Notes, change_users, hash_password};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expire {
    Default,
    Never,
    Days(u64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct AccountRecord {
    pub user: String,
    pub host: String,
    pub plugin: Plugin,
    pub authentication_string: Vec<u8>,
    /// Of the password before, which is as good as the new one until it is discarded; empty: there is none.
    pub second_authentication_string: Vec<u8>,
    pub locked: bool,
    pub require: Requirement,
    pub expire: Expire,
    /// PASSWORD EXPIRE was said: nothing is allowed before a new password.
    pub expired: bool,
    /// Seconds since 1970.
    pub password_changed_s: u64,
    pub password_history: Option<u64>,
    pub reuse_days: Option<u64>,
    /// The newest last; the current one included.
    pub used_passwords: Vec<UsedPassword>,
    pub require_current: Option<bool>,
    /// Wrong passwords in a row that block the account; 0 for never.
    pub failed_login_attempts: u64,
    /// For how long; `None`: until it is unlocked.
    pub password_lock_days: Option<u64>,
    /// A JSON object: ATTRIBUTE, or `{"comment": …}`.
    pub attribute: Option<String>,
    /// MAX_QUERIES_PER_HOUR, MAX_UPDATES_PER_HOUR, MAX_CONNECTIONS_PER_HOUR, MAX_USER_CONNECTIONS; 0 for any number.
    pub resources: [u64; 4],
    pub grants: Grants,
    pub roles: Vec<RoleGrant>,
    pub default_roles: Vec<(String, String)>,
}

impl AccountRecord {
    pub fn new(user: &str, host: &str) -> AccountRecord {
        AccountRecord {
            user: user.to_string(),
            host: host.to_string(),
            plugin: Plugin::CachingSha2Password,
            authentication_string: Vec::new(),
            second_authentication_string: Vec::new(),
            locked: false,
            require: Requirement::None,
            expire: Expire::Default,
            expired: false,
            password_changed_s: now_s(),
            password_history: None,
            reuse_days: None,
            used_passwords: Vec::new(),
            require_current: None,
            failed_login_attempts: 0,
            password_lock_days: Some(0),
            attribute: None,
            resources: [0; 4],
            grants: Grants::default(),
            roles: Vec::new(),
            default_roles: Vec::new(),
        }
    }

    pub fn is(&self, user: &str, host: &str) -> bool {
        self.user == user && self.host.eq_ignore_ascii_case(host)
    }

    /// `` `u`@`%` ``
    pub fn quoted(&self) -> String {
        format!("{}@{}", quote(&self.user), quote(&self.host))
    }
}

const SECONDS_PER_DAY: u64 = 86_400;

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// What a session may do: the privileges of its account and of its active roles.
#[derive(Clone, Debug, Default)]
pub struct Access {
    pub grants: Grants,
    /// Active roles.
    pub roles: Vec<(String, String)>,
    pub expired: bool,
    /// Every privilege on `*.*` but SYSTEM_USER, which is asked for by name.
    everything: bool,
    /// `Accounts::version` when this was put together.
    pub version: u64,
    /// Of no other `Access`: what was allowed under it is allowed as long as a session has it.
    pub serial: u64,
}

impl Access {
    pub fn is_system_user(&self) -> bool {
        self.grants.dynamic.contains_key("SYSTEM_USER")
    }

    /// Everything everywhere: nothing else has to be looked at.
    #[inline]
    pub fn is_unlimited(&self) -> bool {
        self.everything && !self.expired
    }
}

fn has_passwords_of(account: &AccountRecord, other: &AccountRecord) -> bool {
    account.authentication_string == other.authentication_string
        && account.second_authentication_string == other.second_authentication_string
}

fn next_serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Of an account's first and second password.
pub type Digests = [Option<FastDigest>; 2];

#[derive(Clone, Copy)]
struct Failures {
    count: u64,
    blocked_since: Option<Instant>,
}

pub struct Accounts {
    catalog: Arc<Catalog>,
    records: RwLock<Vec<Arc<AccountRecord>>>,
    digests: RwLock<HashMap<(String, String), Digests>>,
    failures: Mutex<HashMap<(String, String), Failures>>,
    /// Of accounts with limits.
    usages: Mutex<HashMap<(String, String), Arc<usage::Usage>>>,
    /// Held while a statement changes accounts.
    changing: Mutex<()>,
    /// `in_order`.
    telling: Mutex<()>,
    settings: RwLock<Arc<AccountSettings>>,
    version: AtomicU64,
}

impl Accounts {
    pub fn open(catalog: Arc<Catalog>) -> Result<Accounts> {
        let mut records = Vec::new();
        for (key, value) in catalog.meta_scan(record::PREFIX)? {
            let account = record::decode_key(&key).and_then(|(user, host)| record::decode(user, host, &value));
            let damaged = || Error::internal(format_args!("the record of account {} is damaged", String::from_utf8_lossy(&key)));
            records.push(Arc::new(account.ok_or_else(damaged)?));
        }
        Ok(Accounts {
            catalog,
            records: RwLock::new(records),
            digests: RwLock::default(),
            failures: Mutex::default(),
            usages: Mutex::default(),
            changing: Mutex::default(),
            telling: Mutex::default(),
            settings: RwLock::default(),
            version: AtomicU64::new(1),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.records.read().is_empty()
    }

    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// What global variables say of accounts, from now on.
    pub fn follow(&self, settings: AccountSettings) {
        *self.settings.write() = Arc::new(settings);
        self.version.fetch_add(1, Ordering::Release);
    }

    pub fn settings(&self) -> Arc<AccountSettings> {
        self.settings.read().clone()
    }

    /// Held from before a statement changes accounts until the log has been told of it: the log has such statements in the order in which they
    /// have changed something.
    pub fn in_order(&self, blocking: impl FnOnce(&mut dyn FnMut())) -> MutexGuard<'_, ()> {
        if let Some(free) = self.telling.try_lock() {
            return free;
        }
        let mut guard = None;
        blocking(&mut || guard = Some(self.telling.lock()));
        guard.unwrap_or_else(|| self.telling.lock())
    }

    /// Replaces, adds and removes records, all or none. `change` works on a copy of the list.
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Arc<AccountRecord>>) -> Result<T>) -> Result<T> {
        self.change_with(change, |result, changes| {
            if !changes.is_empty() {
                self.catalog.meta_write(changes)?;
            }
            Ok(Some(result))
        })?
        .ok_or_else(|| Error::internal("accounts were not changed"))
    }

    /// The same, where `write` writes the records with other things in one commit; `None`: it wrote nothing.
    pub fn change_with<T, U>(
        &self,
        change: impl FnOnce(&mut Vec<Arc<AccountRecord>>) -> Result<T>,
        write: impl FnOnce(T, &MetaChanges<'_>) -> Result<Option<U>>,
    ) -> Result<Option<U>> {
        let _changing = self.changing.lock();
        let before = self.records.read().clone();
        let mut after = before.clone();
        let result = change(&mut after)?;
        let changes = changes_of(&before, &after);
        let changes: Vec<(&[u8], Option<&[u8]>)> =
            changes.iter().map(|(key, value)| (key.as_slice(), value.as_deref())).collect();
        let Some(result) = write(result, &changes)? else { return Ok(None) };
        for old in &before {
            let new = after.iter().find(|r| r.is(&old.user, &old.host));
            if new.is_none_or(|new| !has_passwords_of(new, old)) {
                self.digests.write().remove(&(old.user.clone(), old.host.clone()));
            }
            if new.is_none() {
                self.usages.lock().remove(&(old.user.clone(), old.host.clone()));
            }
            if new.is_none_or(|new| !Arc::ptr_eq(new, old)) {
                self.failures.lock().remove(&(old.user.clone(), old.host.clone()));
            }
        }
        *self.records.write() = after;
        self.version.fetch_add(1, Ordering::Release);
        Ok(Some(result))
    }

    /// Who a client is: the account with the most specific host; the anonymous user's after the named ones.
    pub fn find(&self, user: &str, host: &str, address: Option<IpAddr>) -> Option<Arc<AccountRecord>> {
        let records = self.records.read();
        let fits = |r: &&Arc<AccountRecord>| (r.user == user || r.user.is_empty()) && host::matches(&r.host, host, address);
        records.iter().filter(fits).min_by_key(|r| (host::rank(&r.host), r.user.is_empty())).cloned()
    }

    /// Whether any account may come from there: error 1130 if not.
    pub fn admits(&self, host: &str, address: Option<IpAddr>) -> bool {
        self.records.read().iter().any(|r| host::matches(&r.host, host, address))
    }

    pub fn get(&self, user: &str, host: &str) -> Option<Arc<AccountRecord>> {
        self.records.read().iter().find(|r| r.is(user, host)).cloned()
    }

    pub fn cached_digests(&self, account: &AccountRecord) -> Digests {
        self.digests.read().get(&(account.user.clone(), account.host.clone())).copied().unwrap_or_default()
    }

    /// `second`: of the second password.
    pub fn cache_digest(&self, account: &AccountRecord, second: bool, digest: FastDigest) {
        // Only for the passwords that are stored now.
        let current = self.get(&account.user, &account.host);
        if current.is_some_and(|now| has_passwords_of(&now, account)) {
            let mut digests = self.digests.write();
            digests.entry((account.user.clone(), account.host.clone())).or_default()[usize::from(second)] = Some(digest);
        }
    }

    /// FLUSH PRIVILEGES.
    pub fn forget_digests(&self) {
        self.digests.write().clear();
    }

    /// Counts a wrong password.
    pub fn failed_login(&self, account: &AccountRecord) {
        if account.failed_login_attempts == 0 || account.password_lock_days == Some(0) {
            return;
        }
        let mut failures = self.failures.lock();
        let entry =
            failures.entry((account.user.clone(), account.host.clone())).or_insert(Failures { count: 0, blocked_since: None });
        entry.count += 1;
        if entry.count >= account.failed_login_attempts && entry.blocked_since.is_none() {
            entry.blocked_since = Some(Instant::now());
        }
    }

    /// Whether wrong passwords block an account, and for how many days more (inner `None`: until it is unlocked).
    pub fn blocked(&self, account: &AccountRecord) -> Option<Option<u64>> {
        if account.failed_login_attempts == 0 {
            return None;
        }
        let key = (account.user.clone(), account.host.clone());
        let mut failures = self.failures.lock();
        let since = failures.get(&key)?.blocked_since?;
        let Some(days) = account.password_lock_days else { return Some(None) };
        let left_s = days.saturating_mul(SECONDS_PER_DAY).saturating_sub(since.elapsed().as_secs());
        if left_s == 0 {
            failures.remove(&key);
            return None;
        }
        Some(Some(left_s.div_ceil(SECONDS_PER_DAY)))
    }

    /// A right password of an account that is not blocked: the wrong ones before are forgotten.
    pub fn clear_failures(&self, account: &AccountRecord) {
        if account.failed_login_attempts != 0 {
            self.failures.lock().remove(&(account.user.clone(), account.host.clone()));
        }
    }

    /// What the server itself may do.
    pub fn everything(&self) -> Access {
        let mut access = Access { version: self.version(), serial: next_serial(), everything: true, ..Access::default() };
        access.grants.grant_everything();
        access
    }

    /// Whether a new password is due.
    pub fn password_is_due(&self, account: &AccountRecord) -> bool {
        let days = match account.expire {
            _ if account.expired => return true,
            Expire::Days(days) => days,
            Expire::Default => match self.settings().password_days {
                0 => return false,
                days => days,
            },
            Expire::Never => return false,
        };
        now_s().saturating_sub(account.password_changed_s) >= days.saturating_mul(SECONDS_PER_DAY)
    }

    /// The roles that an account has: those that were granted to it, and the mandatory ones that exist.
    pub fn roles_of(&self, account: &AccountRecord) -> Vec<(String, String)> {
        let mut roles: Vec<_> = account.roles.iter().map(|r| (r.user.clone(), r.host.clone())).collect();
        let is_other = |(user, host): &(String, String)| !account.is(user, host) && self.get(user, host).is_some();
        for role in self.settings().mandatory_roles.iter().filter(|role| is_other(role)) {
            if !roles.contains(role) {
                roles.push(role.clone());
            }
        }
        roles
    }

    /// Error 3628 of a role that everybody has.
    fn may_take_away(&self, (user, host): &(String, String)) -> Result<()> {
        match self.settings().is_mandatory(user, host) && self.get(user, host).is_some() {
            true => Err(Error::new(&ER_MANDATORY_ROLE, &[&AccountRecord::new(user, host).quoted()])),
            false => Ok(()),
        }
    }

    /// What an account may do when it has just logged in. What it defines runs with its default roles, whatever the settings are.
    pub fn access_of_login(&self, account: &AccountRecord) -> Access {
        let settings = self.settings();
        if settings.activates_all {
            return self.access(account, &self.roles_of(account));
        }
        let mut active = account.default_roles.clone();
        if settings.activates_mandatory {
            active.extend(settings.mandatory_roles.iter().cloned());
        }
        self.access(account, &active)
    }

    /// The privileges of an account with these roles active, as far as it has them.
    pub fn access(&self, account: &AccountRecord, active: &[(String, String)]) -> Access {
        let version = self.version();
        // An account that was dropped or renamed may do nothing more.
        let Some(account) = self.get(&account.user, &account.host) else {
            return Access { version, serial: next_serial(), ..Access::default() };
        };
        let mut access = Access {
            grants: account.grants.clone(),
            roles: Vec::new(),
            expired: self.password_is_due(&account),
            everything: false,
            version,
            serial: next_serial(),
        };
        if !active.is_empty() {
            let has = self.roles_of(&account);
            for role in active {
                if has.contains(role) && !access.roles.contains(role) {
                    access.roles.push(role.clone());
                }
            }
        }
        for role in self.closure(&access.roles) {
            access.grants.add(&role.grants);
        }
        access.everything = access.grants.are_everything();
        access
    }

    /// Roles and the roles granted to them.
    fn closure(&self, roles: &[(String, String)]) -> Vec<Arc<AccountRecord>> {
        let mut found: Vec<Arc<AccountRecord>> = Vec::new();
        let mut open = roles.to_vec();
        while let Some((user, host)) = open.pop() {
            if found.iter().any(|r| r.is(&user, &host)) {
                continue;
            }
            if let Some(role) = self.get(&user, &host) {
                open.extend(role.roles.iter().map(|r| (r.user.clone(), r.host.clone())));
                found.push(role);
            }
        }
        found
    }

    /// The account's name and the lines of SHOW GRANTS, with the privileges of roles `using`; `mandatory`: with the roles that everybody has.
    pub fn show_grants(
        &self,
        (user, host): (&str, &str),
        using: &[(String, String)],
        mandatory: bool,
    ) -> Result<(String, Vec<String>)> {
        let account = self.get(user, host).ok_or_else(|| Error::new(&ER_NONEXISTING_GRANT, &[&user, &host]))?;
        let has = self.roles_of(&account);
        if let Some((role, role_host)) = using.iter().find(|role| !has.contains(role)) {
            return Err(Error::new(&ER_ROLE_NOT_GRANTED, &[role, role_host, &user, &host]));
        }
        let mut grants = account.grants.clone();
        let mut granted: Vec<RoleGrant> = account.roles.clone();
        if mandatory {
            let others = has.iter().filter(|(user, host)| !account.roles.iter().any(|r| r.user == *user && r.host == *host));
            granted.extend(others.map(|(user, host)| RoleGrant { user: user.clone(), host: host.clone(), admin: false }));
        }
        // What roles may pass on, the account may by way of them.
        for role in self.closure(using) {
            grants.add(&role.grants);
            for by_role in role.roles.iter().filter(|by_role| by_role.admin) {
                match granted.iter_mut().find(|r| r.user == by_role.user && r.host == by_role.host) {
                    Some(known) => known.admin |= by_role.admin,
                    None => granted.push(by_role.clone()),
                }
            }
        }
        let to = account.quoted();
        let mut lines = grants.show(&to);
        if account.user == "root" && account.host == "localhost" {
            lines.push(format!("GRANT PROXY ON ``@`` TO {to} WITH GRANT OPTION"));
        }
        for admin in [false, true] {
            let of_kind = granted.iter().filter(|role| role.admin == admin);
            let mut roles: Vec<String> = of_kind.map(|role| format!("{}@{}", quote(&role.user), quote(&role.host))).collect();
            roles.sort();
            if !roles.is_empty() {
                lines.push(format!("GRANT {} TO {to}{}", roles.join(","), if admin { " WITH ADMIN OPTION" } else { "" }));
            }
        }
        Ok((format!("{}@{}", account.user, account.host), lines))
    }

    /// The roles of all accounts.
    pub fn role_grants(&self) -> Vec<RoleGrants> {
        let roles = |record: &AccountRecord| record.roles.iter().map(|r| (r.user.clone(), r.host.clone(), r.admin)).collect();
        let records = self.records.read();
        records.iter().map(|r| RoleGrants { user: r.user.clone(), host: r.host.clone(), roles: roles(r) }).collect()
    }

    /// The rows of mysql.user, sorted as its primary key.
    pub fn infos(&self) -> Vec<AccountInfo> {
        let mut infos: Vec<AccountInfo> = self.records.read().iter().map(|r| info(r)).collect();
        infos.sort_by(|a, b| (&a.host, &a.user).cmp(&(&b.host, &b.user)));
        infos
    }
}

/// The records that are other than before.
fn changes_of(before: &[Arc<AccountRecord>], after: &[Arc<AccountRecord>]) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut changes = Vec::new();
    for old in before.iter().filter(|old| !after.iter().any(|new| new.is(&old.user, &old.host))) {
        changes.push((record::key(&old.user, &old.host), None));
    }
    for new in after.iter().filter(|new| !before.iter().any(|old| Arc::ptr_eq(old, new))) {
        changes.push((record::key(&new.user, &new.host), Some(record::encode(new))));
    }
    changes
}

fn info(account: &AccountRecord) -> AccountInfo {
    AccountInfo {
        user: account.user.clone(),
        host: account.host.clone(),
        plugin: account.plugin.name().to_string(),
        authentication_string: account.authentication_string.clone(),
        second_authentication_string: account.second_authentication_string.clone(),
        locked: account.locked,
        require: account.require.columns(),
        expired: account.expired,
        resources: account.resources,
        used_passwords: account.used_passwords.iter().map(|one| (one.set_us, one.stored.clone())).collect(),
        privileges: privilege::names(account.grants.global),
        dynamic: account.grants.dynamic.iter().map(|(name, grantable)| (name.clone(), *grantable)).collect(),
        grant_option: account.grants.global & privilege::GRANT_OPTION != 0,
        databases: account.grants.databases.iter().map(database_info).collect(),
        tables: account.grants.tables.iter().map(table_info).collect(),
        routines: account.grants.routines.iter().map(routine_info).collect(),
        roles: account.roles.iter().map(|role| (role.user.clone(), role.host.clone(), role.admin)).collect(),
        default_roles: account.default_roles.clone(),
        attribute: account.attribute.clone(),
    }
}

fn database_info(grant: &grants::DatabaseGrant) -> DatabaseGrantInfo {
    DatabaseGrantInfo {
        pattern: grant.pattern.clone(),
        privileges: privilege::names(grant.bits),
        grant_option: grant.bits & privilege::GRANT_OPTION != 0,
    }
}

fn table_info(grant: &grants::TableGrant) -> TableGrantInfo {
    TableGrantInfo {
        database: grant.database.clone(),
        table: grant.table.clone(),
        privileges: privilege::names(grant.bits),
        grant_option: grant.bits & privilege::GRANT_OPTION != 0,
        columns: grant.columns.iter().map(|(column, bits)| (column.clone(), privilege::names(*bits))).collect(),
    }
}

fn routine_info(grant: &grants::RoutineGrant) -> RoutineGrantInfo {
    RoutineGrantInfo {
        database: grant.database.clone(),
        name: grant.name.clone(),
        function: grant.kind == ObjectKind::Function,
        privileges: privilege::names(grant.bits),
        grant_option: grant.bits & privilege::GRANT_OPTION != 0,
    }
}

/// User and host of a name in a statement.
pub fn resolve(name: &UserName, current: &AccountRecord) -> (String, String) {
    match name {
        UserName::CurrentUser => (current.user.clone(), current.host.clone()),
        UserName::Named { user, host } => (user.clone(), host.to_ascii_lowercase()),
    }
}

/// `root`@`localhost` of a new data directory.
pub fn root_account(password: &str) -> AccountRecord {
    let mut root = AccountRecord::new("root", "localhost");
    root.authentication_string = hash_password(Plugin::CachingSha2Password, password.as_bytes());
    root.grants.grant_everything();
    root
}
