//! Who may change accounts: the rules of CREATE, ALTER, DROP and RENAME USER, roles, SET PASSWORD, GRANT and REVOKE.
//!
//! A statement asks for what its line names, from left to right; the first that is missing is its error. They are asked while
//! the records cannot change, so that what was checked is what is changed. `tests/golden/accounts/matrix.txt` has MySQL's answers.
//!
//! | statement | needs |
//! |---|---|
//! | CREATE USER | *users* (INSERT), *touch* each, *pass on* and *touch* each default role |
//! | ALTER USER | nothing if each name is the own account and IDENTIFIED BY is all that is said; else *users* (UPDATE), *touch* each |
//! | DROP USER, RENAME USER | *users* (DELETE, UPDATE), *touch* each |
//! | CREATE ROLE, DROP ROLE | CREATE USER, CREATE ROLE or DROP ROLE; *touch* each; DROP ROLE of an account that can log in: CREATE USER |
//! | SET DEFAULT ROLE, ALTER USER … DEFAULT ROLE | *touch* each, *users* (UPDATE) unless it is the own account |
//! | SET PASSWORD | nothing for the own account; else UPDATE on `mysql`, *touch* |
//! | GRANT, REVOKE of privileges | *have* them there with GRANT OPTION, *touch* each, for dynamic ones their own grant option |
//! | GRANT, REVOKE of roles | *pass on* each role, *touch* roles and accounts |
//! | REVOKE ALL | *users* (UPDATE), *touch* each |
//!
//! *users* (P): CREATE USER, or P on the database `mysql`, where MySQL keeps its accounts. *Touch*: SYSTEM_USER, if the account was
//! granted that itself. *Pass on*: the role WITH ADMIN OPTION, or ROLE_ADMIN or SUPER. *Have*: a database written with wildcards must be
//! covered by a grant whose pattern is at least as wide; a privilege on a column is enough to begin with, not for the table.

use std::sync::Arc;

use vaquita_parser::ast::{AlterUser, AuthOption, AuthSecret, Statement as Ast, UserName, UserOptions, UserSpec};
use vaquita_storage::Interrupt;
use vaquita_types::errno::{
    ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR,
    ER_PROCACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR,
};
use vaquita_types::{Error, Result};

use super::grant::{Target, Wanted};
use super::privilege::{self as p, Bits};
use super::{Access, AccountRecord, RandomPasswords, ReusePolicy, resolve};

/// Who runs a statement about accounts.
pub struct Actor<'a> {
    pub account: &'a AccountRecord,
    pub access: &'a Access,
    /// The host that the client came from.
    pub client_host: &'a str,
    pub database: Option<&'a str>,
    /// It logged in with a password: the last words of error 1045.
    pub used_password: bool,
    /// The server's, for accounts that have none of their own.
    pub reuse: ReusePolicy,
    /// `password_require_current`, for accounts that do not say it themselves.
    pub requires_current: bool,
    pub random: RandomPasswords,
    /// Looked at before each account: a password takes milliseconds.
    pub interrupt: &'a Interrupt,
}

const SYSTEM_USER: &str = "SYSTEM_USER";

fn need(has: bool, what: &str) -> Result<()> {
    if has { Ok(()) } else { Err(Error::new(&ER_SPECIFIC_ACCESS_DENIED_ERROR, &[&what])) }
}

impl Actor<'_> {
    pub fn is_me(&self, name: &UserName) -> bool {
        let (user, host) = resolve(name, self.account);
        self.account.is(&user, &host)
    }

    fn global(&self, any_of: Bits) -> bool {
        self.access.grants.global & any_of != 0
    }

    fn dynamic(&self, name: &str) -> bool {
        self.access.grants.dynamic.contains_key(name)
    }

    fn on_mysql(&self, bit: Bits) -> bool {
        self.access.grants.on_database("mysql") & bit != 0
    }

    /// CREATE USER, or a privilege on the database in which MySQL keeps accounts.
    pub fn users(&self, on_mysql: Bits) -> Result<()> {
        need(self.global(p::CREATE_USER) || self.on_mysql(on_mysql), "CREATE USER")
    }

    /// An account that was granted SYSTEM_USER is changed only by one that has it.
    pub fn touch(&self, records: &[Arc<AccountRecord>], user: &str, host: &str) -> Result<()> {
        let target = records.iter().find(|r| r.is(user, host));
        let protected = target.is_some_and(|r| r.grants.dynamic.contains_key(SYSTEM_USER));
        need(!protected || self.dynamic(SYSTEM_USER), SYSTEM_USER)
    }

    pub fn touch_all<'n>(&self, records: &[Arc<AccountRecord>], names: impl IntoIterator<Item = &'n UserName>) -> Result<()> {
        names.into_iter().try_for_each(|name| {
            let (user, host) = resolve(name, self.account);
            self.touch(records, &user, &host)
        })
    }

    pub fn create_role(&self) -> Result<()> {
        need(self.global(p::CREATE_USER | p::CREATE_ROLE), "CREATE USER, CREATE ROLE")
    }

    pub fn drop_role(&self) -> Result<()> {
        need(self.global(p::CREATE_USER | p::DROP_ROLE), "CREATE USER, DROP ROLE")
    }

    /// DROP ROLE is for accounts that nobody logs in to, unless one may drop any.
    pub fn drop_as_role(&self, role: &AccountRecord) -> Result<()> {
        need(role.locked || self.global(p::CREATE_USER), "CREATE USER")
    }

    /// What a statement asks for before it waits for others: who may not change accounts is told so at once.
    pub fn may_begin(&self, statement: &Ast) -> Result<()> {
        match statement {
            Ast::CreateUser(_) => self.users(p::INSERT),
            Ast::DropUser { .. } => self.users(p::DELETE),
            Ast::RenameUser(_) => self.users(p::UPDATE),
            Ast::CreateRole { .. } => self.create_role(),
            Ast::DropRole { .. } => self.drop_role(),
            _ => Ok(()),
        }
    }

    pub fn alter_user(&self, records: &[Arc<AccountRecord>], alter: &AlterUser) -> Result<()> {
        if alter.default_role.is_some() {
            return alter.users.iter().try_for_each(|spec| self.default_role(records, &spec.name));
        }
        let own_password = alter.options == UserOptions::default() && alter.users.iter().all(|spec| self.is_own_password(spec));
        if !own_password {
            self.users(p::UPDATE)?;
        }
        for spec in alter.users.iter().filter(|spec| spec.retain_current || spec.discard_old) {
            self.second_password(&spec.name)?;
        }
        self.touch_all(records, alter.users.iter().map(|spec| &spec.name))
    }

    /// Keeping or discarding the password before.
    pub fn second_password(&self, name: &UserName) -> Result<()> {
        let own = self.is_me(name);
        let may = self.users(p::UPDATE).is_ok() || own && self.dynamic("APPLICATION_PASSWORD_ADMIN");
        need(may, if own { "CREATE USER or APPLICATION_PASSWORD_ADMIN" } else { "CREATE USER" })
    }

    fn is_own_password(&self, spec: &UserSpec) -> bool {
        let password =
            matches!(spec.auth, Some(AuthOption { plugin: None, secret: AuthSecret::Password(_) | AuthSecret::Random }));
        (password || spec.discard_old) && self.is_me(&spec.name)
    }

    /// Whether a new password of the own account needs no proof of the old one, whatever the account's policy.
    pub fn is_trusted_with_passwords(&self) -> bool {
        self.users(p::UPDATE).is_ok()
    }

    pub fn default_role(&self, records: &[Arc<AccountRecord>], name: &UserName) -> Result<()> {
        self.touch_all(records, [name])?;
        if self.is_me(name) { Ok(()) } else { self.users(p::UPDATE) }
    }

    pub fn set_password(&self, records: &[Arc<AccountRecord>], name: &UserName) -> Result<()> {
        if self.is_me(name) {
            return Ok(());
        }
        if !self.on_mysql(p::UPDATE) {
            return Err(self.database_denied("mysql"));
        }
        self.touch_all(records, [name])
    }

    pub fn pass_on_roles(&self, roles: &[UserName]) -> Result<()> {
        let admin = |name: &UserName| {
            let (user, host) = resolve(name, self.account);
            self.account.roles.iter().any(|r| r.user == user && r.host == host && r.admin)
        };
        let may = self.global(p::SUPER) || self.dynamic("ROLE_ADMIN") || roles.iter().all(admin);
        need(may, "WITH ADMIN, ROLE_ADMIN, SUPER")
    }

    /// Everybody may let others stand for himself; for others nobody has the right yet (1698), since PROXY cannot be granted.
    pub fn proxy(&self, proxied: &UserName) -> Result<()> {
        if self.is_me(proxied) || (self.account.is("root", "localhost") && self.access.is_unlimited()) {
            return Ok(());
        }
        Err(Error::new(&ER_ACCESS_DENIED_NO_PASSWORD_ERROR, &[&self.account.user, &self.client_host]))
    }

    /// GRANT and REVOKE, before it is known whether the table and its columns exist.
    pub fn have(&self, target: &Target, wanted: &Wanted) -> Result<()> {
        let need = wanted.all_bits() | p::GRANT_OPTION;
        match target {
            Target::Global if wanted.is_only_dynamic() => Ok(()),
            Target::Global if need & !self.access.grants.global == 0 => Ok(()),
            Target::Global => Err(self.denied()),
            Target::Database(database) => {
                self.have_in_system_database(database, need)?;
                let missing = need & !self.access.grants.on_databases(database);
                self.no_database_privilege(missing)?;
                if missing == 0 { Ok(()) } else { Err(self.database_denied(database)) }
            }
            Target::Table(database, table) => {
                self.have_in_system_database(database, need)?;
                let missing = need & !self.access.grants.on_table_or_columns(database, table);
                self.no_database_privilege(missing)?;
                if missing == 0 { Ok(()) } else { Err(self.table_denied(missing, table)) }
            }
            Target::Routine(database, kind, name) => {
                self.have_in_system_database(database, need)?;
                let missing = need & !self.access.grants.on_routine(database, *kind, name);
                self.no_database_privilege(missing)?;
                match missing {
                    0 => Ok(()),
                    _ if missing & !(p::ALL_TABLE | p::ALL_ROUTINE | p::GRANT_OPTION) != 0 => Err(self.database_denied(database)),
                    _ => Err(self.routine_denied(missing, &format!("{database}.{name}"))),
                }
            }
        }
    }

    /// GRANT on a table that exists: what is held on columns alone can be granted on these alone.
    pub fn have_on_columns(&self, target: &Target, wanted: &Wanted) -> Result<()> {
        let Target::Table(database, table) = target else { return Ok(()) };
        let grants = &self.access.grants;
        let have = grants.on_table(database, table);
        if wanted.bits & !have != 0 {
            return Err(self.table_denied(wanted.bits & !have, table));
        }
        let mine = grants.table(database, table).map_or(&[][..], |grant| &grant.columns);
        for (column, bits) in &wanted.columns {
            let granted = mine.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map_or(0, |(_, bits)| *bits);
            if let Some(name) = p::names(bits & !have & !granted).first() {
                let user = &self.account.user;
                return Err(Error::new(&ER_COLUMNACCESS_DENIED_ERROR, &[name, user, &self.client_host, column, table]));
            }
        }
        Ok(())
    }

    /// The grant option of dynamic privileges.
    pub fn have_dynamic(&self, wanted: &Wanted) -> Result<()> {
        let grantable = |name: &String| self.access.grants.dynamic.get(name).copied().unwrap_or(false);
        need(self.on_mysql(p::UPDATE) || wanted.dynamic.iter().all(grantable), "GRANT OPTION")
    }

    fn have_in_system_database(&self, database: &str, need: Bits) -> Result<()> {
        let refused = if database.eq_ignore_ascii_case("information_schema") {
            Bits::MAX
        } else if database.eq_ignore_ascii_case("performance_schema") {
            p::NOT_IN_PERFORMANCE_SCHEMA
        } else {
            0
        };
        if need & refused == 0 { Ok(()) } else { Err(self.database_denied(database)) }
    }

    /// A privilege that exists on `*.*` only is asked for there.
    fn no_database_privilege(&self, missing: Bits) -> Result<()> {
        if missing & !(p::ALL_DATABASE | p::GRANT_OPTION) == 0 { Ok(()) } else { Err(self.denied()) }
    }

    fn denied(&self) -> Error {
        let using = if self.used_password { "YES" } else { "NO" };
        Error::new(&ER_ACCESS_DENIED_ERROR, &[&self.account.user, &self.account.host, &using])
    }

    fn database_denied(&self, database: &str) -> Error {
        Error::new(&ER_DBACCESS_DENIED_ERROR, &[&self.account.user, &self.account.host, &database])
    }

    fn routine_denied(&self, missing: Bits, routine: &str) -> Error {
        let named = [(p::EXECUTE, "execute"), (p::ALTER_ROUTINE, "alter routine"), (p::GRANT_OPTION, "grant")];
        let command = named.iter().find(|(bit, _)| missing & bit != 0).map_or("", |(_, command)| command);
        Error::new(&ER_PROCACCESS_DENIED_ERROR, &[&command, &self.account.user, &self.account.host, &routine])
    }

    fn table_denied(&self, missing: Bits, table: &str) -> Error {
        // GRANT stands where MySQL's order of privileges has it.
        let before = p::REFERENCES - 1;
        let mut names = p::names(missing & before);
        if missing & p::GRANT_OPTION != 0 {
            names.push("GRANT");
        }
        names.extend(p::names(missing & !before));
        let names = names.join(", ");
        Error::new(&ER_TABLEACCESS_DENIED_ERROR, &[&names, &self.account.user, &self.client_host, &table])
    }
}
