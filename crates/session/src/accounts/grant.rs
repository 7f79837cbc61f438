//! GRANT and REVOKE, of privileges and of roles.

use std::sync::Arc;

use vaquita_parser::ast::{Grant, GrantLevel, Privilege, Revoke, RevokeWhat, Statement as Ast, UserName};
use vaquita_plan::catalog::View;
use vaquita_plan::env::Level;
use vaquita_storage::Catalog;
use vaquita_types::errno::{
    ER_BAD_FIELD_ERROR, ER_CANNOT_GRANT_SYSTEM_PRIV_TO_MANDATORY_ROLE, ER_CANT_CREATE_USER_WITH_GRANT,
    ER_ILLEGAL_GRANT_FOR_TABLE, ER_ILLEGAL_PRIVILEGE_LEVEL, ER_NO_DB_ERROR, ER_NO_SUCH_TABLE, ER_NONEXISTING_GRANT,
    ER_NONEXISTING_PROC_GRANT, ER_NONEXISTING_TABLE_GRANT, ER_REVOKE_GRANTS, ER_ROLE_GRANTED_TO_ITSELF, ER_SP_DOES_NOT_EXIST,
    ER_SYNTAX_ERROR, ER_UNKNOWN_AUTHID, ER_USER_DOES_NOT_EXIST, ER_WARN_DEPRECATED_SYNTAX, ER_WRONG_USAGE,
};
use vaquita_types::schema::ObjectKind;
use vaquita_types::{Error, Result};

use super::grants::{Grants, RoleGrant, column_mut};
use super::privilege::{
    ALL_COLUMN, ALL_DATABASE, ALL_GLOBAL, ALL_ROUTINE, ALL_TABLE, Bits, CREATE, DYNAMIC, GRANT_OPTION, UPDATE, bit,
};
use super::rules::Actor;
use super::users::{Notes, replace};
use super::{AccountRecord, Accounts, resolve};

/// Where privileges are granted, with the current database filled in.
pub enum Target {
    Global,
    Database(String),
    Table(String, String),
    Routine(String, ObjectKind, String),
}

/// Static privileges, those of columns, and names of what else was written: dynamic ones.
#[derive(Default)]
pub struct Wanted {
    pub bits: Bits,
    pub columns: Vec<(String, Bits)>,
    pub dynamic: Vec<String>,
    all: bool,
}

impl Wanted {
    fn on_columns(&self) -> Bits {
        self.columns.iter().fold(0, |bits, (_, b)| bits | b)
    }

    pub fn all_bits(&self) -> Bits {
        self.bits | self.on_columns()
    }

    pub fn is_only_dynamic(&self) -> bool {
        !self.dynamic.is_empty() && self.all_bits() == 0
    }
}

/// Carries out GRANT and REVOKE; `None` if the statement is neither.
pub fn change_grants(accounts: &Accounts, catalog: &Catalog, ast: &Ast, by: &Actor<'_>) -> Option<Result<Notes>> {
    let context = Context { accounts, catalog, by };
    match ast {
        Ast::Grant(grant) => {
            let privileges = if let Grant::Privileges { privileges, .. } = &**grant { privileges.as_slice() } else { &[] };
            Some(context.grant(grant).map(|()| of_super(privileges)))
        }
        Ast::Revoke(revoke) => Some(context.revoke(revoke).map(|mut notes| {
            if let RevokeWhat::Privileges { privileges, .. } = &revoke.what {
                notes.extend(of_super(privileges));
            }
            notes
        })),
        _ => None,
    }
}

/// SUPER, where it is named, will not be there for ever.
fn of_super(privileges: &[Privilege]) -> Notes {
    const TEXT: &str = "The SUPER privilege identifier is deprecated";
    let is_super = privileges.iter().any(|privilege| privilege.name == "SUPER");
    is_super.then(|| (Level::Warning, Error::with_message(&ER_WARN_DEPRECATED_SYNTAX, TEXT))).into_iter().collect()
}

struct Context<'a> {
    accounts: &'a Accounts,
    catalog: &'a Catalog,
    by: &'a Actor<'a>,
}

impl Context<'_> {
    fn grant(&self, grant: &Grant) -> Result<()> {
        match grant {
            Grant::Privileges { as_user: Some(_), .. } => Err(Error::unsupported("GRANT … AS")),
            Grant::Privileges { privileges, level, users, grant_option, as_user: None } => {
                let target = self.target(level, privileges)?;
                let mut wanted = wanted(privileges, &target);
                if *grant_option {
                    wanted.bits |= GRANT_OPTION;
                }
                self.by.have(&target, &wanted)?;
                fits(&wanted, &target, level)?;
                self.exists(&target, &wanted)?;
                self.by.have_on_columns(&target, &wanted)?;
                self.accounts.change(|records| {
                    self.by.touch_all(records, users)?;
                    self.dynamic(&wanted)?;
                    for name in users {
                        self.by.interrupt.check()?;
                        let (user, host) = self.resolve(name);
                        self.not_mandatory(&wanted, &target, (&user, &host))?;
                        let found = records.iter().find(|r| r.is(&user, &host)).cloned();
                        let mut account =
                            AccountRecord::clone(&*found.ok_or_else(|| Error::new(&ER_CANT_CREATE_USER_WITH_GRANT, &[]))?);
                        add(&mut account.grants, &target, &wanted, *grant_option);
                        account.grants.tidy();
                        replace(records, account);
                    }
                    Ok(())
                })
            }
            Grant::Roles { roles, users, admin_option } => {
                self.by.pass_on_roles(roles)?;
                self.accounts.change(|records| self.grant_roles(records, roles, users, *admin_option))
            }
            Grant::Proxy { proxied, .. } => self.by.proxy(proxied).and_then(|()| Err(Error::unsupported("GRANT PROXY"))),
        }
    }

    /// SYSTEM_USER is not for everybody.
    fn not_mandatory(&self, wanted: &Wanted, target: &Target, (user, host): (&str, &str)) -> Result<()> {
        const SYSTEM_USER: &str = "SYSTEM_USER";
        let all = wanted.all && matches!(target, Target::Global);
        let is_wanted = all || wanted.dynamic.iter().any(|name| name == SYSTEM_USER);
        match is_wanted && self.accounts.settings().is_mandatory(user, host) {
            true => Err(Error::new(&ER_CANNOT_GRANT_SYSTEM_PRIV_TO_MANDATORY_ROLE, &[&user, &host, &SYSTEM_USER])),
            false => Ok(()),
        }
    }

    fn grant_roles(
        &self,
        records: &mut Vec<Arc<AccountRecord>>,
        roles: &[UserName],
        users: &[UserName],
        admin: bool,
    ) -> Result<()> {
        for role in roles {
            let (role, role_host) = self.resolve(role);
            let granted = self.known(records, &role, &role_host)?;
            for name in users {
                self.by.interrupt.check()?;
                let (user, host) = self.resolve(name);
                let mut account = AccountRecord::clone(&*self.known(records, &user, &host)?);
                self.by.touch(records, &role, &role_host)?;
                self.by.touch(records, &user, &host)?;
                // Roles, too, have the mandatory ones.
                if reaches(records, &granted, &account) || self.accounts.settings().is_mandatory(&user, &host) {
                    return Err(Error::new(&ER_ROLE_GRANTED_TO_ITSELF, &[&account.quoted(), &granted.quoted()]));
                }
                account.roles.retain(|r| r.user != role || r.host != role_host);
                account.roles.push(RoleGrant { user: role.clone(), host: role_host.clone(), admin });
                replace(records, account);
            }
        }
        Ok(())
    }

    fn revoke(&self, revoke: &Revoke) -> Result<Notes> {
        let mut notes = Notes::new();
        match &revoke.what {
            // On everything, it means everything everywhere.
            RevokeWhat::Privileges { privileges, level: GrantLevel::Global }
                if privileges.iter().any(|privilege| privilege.name == "ALL PRIVILEGES") =>
            {
                self.revoke_all(revoke, &mut notes)?;
            }
            RevokeWhat::Privileges { privileges, level } => {
                let target = self.target(level, privileges)?;
                let wanted = wanted(privileges, &target);
                self.by.have(&target, &wanted)?;
                fits(&wanted, &target, level)?;
                let missing = |user: &str, host: &str| match &target {
                    Target::Table(_, table) => Error::new(&ER_NONEXISTING_TABLE_GRANT, &[&user, &host, table]),
                    Target::Routine(.., name) => Error::new(&ER_NONEXISTING_PROC_GRANT, &[&user, &host, name]),
                    _ => Error::new(&ER_NONEXISTING_GRANT, &[&user, &host]),
                };
                self.each(revoke, &mut notes, &|| self.dynamic(&wanted), &missing, &|account| match remove(
                    account, &target, &wanted,
                ) {
                    Err(missing) if revoke.if_exists => Ok(Some(missing)),
                    other => other.map(|()| None),
                })?;
            }
            RevokeWhat::All => self.revoke_all(revoke, &mut notes)?,
            RevokeWhat::Roles(roles) => {
                self.by.pass_on_roles(roles)?;
                self.accounts.change(|records| self.revoke_roles(records, roles, revoke, &mut notes))?;
            }
            RevokeWhat::Proxy(proxied) => {
                return self.by.proxy(proxied).and_then(|()| Err(Error::unsupported("REVOKE PROXY")));
            }
        }
        Ok(notes)
    }

    fn revoke_all(&self, revoke: &Revoke, notes: &mut Notes) -> Result<()> {
        self.by.users(UPDATE)?;
        let missing = |_: &str, _: &str| Error::new(&ER_REVOKE_GRANTS, &[]);
        self.each(revoke, notes, &|| Ok(()), &missing, &|account| {
            account.grants = Grants::default();
            Ok(None)
        })
    }

    fn revoke_roles(
        &self,
        records: &mut Vec<Arc<AccountRecord>>,
        roles: &[UserName],
        revoke: &Revoke,
        notes: &mut Notes,
    ) -> Result<()> {
        for role in roles {
            let (role, role_host) = self.resolve(role);
            match self.known(records, &role, &role_host) {
                Err(_) if revoke.if_exists => {
                    notes.push((Level::Warning, Error::new(&ER_UNKNOWN_AUTHID, &[&role, &role_host])));
                    continue;
                }
                other => other?,
            };
            match self.accounts.may_take_away(&(role.clone(), role_host.clone())) {
                Err(error) if revoke.if_exists => {
                    notes.push((Level::Warning, error));
                    continue;
                }
                other => other?,
            }
            for name in &revoke.users {
                self.by.interrupt.check()?;
                let (user, host) = self.resolve(name);
                let mut account = match self.known(records, &user, &host) {
                    Err(_) if revoke.ignore_unknown_user => {
                        notes.push((Level::Warning, Error::new(&ER_USER_DOES_NOT_EXIST, &[&user])));
                        continue;
                    }
                    other => AccountRecord::clone(&*other?),
                };
                self.by.touch(records, &role, &role_host)?;
                self.by.touch(records, &user, &host)?;
                account.roles.retain(|r| r.user != role || r.host != role_host);
                account.default_roles.retain(|(u, h)| *u != role || *h != role_host);
                replace(records, account);
            }
        }
        Ok(())
    }

    /// Changes the accounts of a REVOKE, after `allowed` has said that they may be changed.
    fn each(
        &self,
        revoke: &Revoke,
        notes: &mut Notes,
        allowed: &dyn Fn() -> Result<()>,
        missing: &dyn Fn(&str, &str) -> Error,
        change: &dyn Fn(&mut AccountRecord) -> Result<Option<Error>>,
    ) -> Result<()> {
        self.accounts.change(|records| {
            self.by.touch_all(records, &revoke.users)?;
            allowed()?;
            for name in &revoke.users {
                self.by.interrupt.check()?;
                let (user, host) = self.resolve(name);
                let Some(found) = records.iter().find(|r| r.is(&user, &host)).cloned() else {
                    if revoke.ignore_unknown_user {
                        notes.push((Level::Warning, Error::new(&ER_USER_DOES_NOT_EXIST, &[&user])));
                        continue;
                    }
                    return Err(missing(&user, &host));
                };
                let mut account = AccountRecord::clone(&found);
                notes.extend(change(&mut account)?.map(|missing| (Level::Warning, missing)));
                account.grants.tidy();
                replace(records, account);
            }
            Ok(())
        })
    }

    fn resolve(&self, name: &UserName) -> (String, String) {
        resolve(name, self.by.account)
    }

    /// Dynamic privileges: the grant option, then whether there are such.
    fn dynamic(&self, wanted: &Wanted) -> Result<()> {
        self.by.have_dynamic(wanted)?;
        let known = wanted.dynamic.iter().all(|name| DYNAMIC.contains(&name.as_str()));
        if known { Ok(()) } else { Err(Error::new(&ER_SYNTAX_ERROR, &[])) }
    }

    fn known(&self, records: &[Arc<AccountRecord>], user: &str, host: &str) -> Result<Arc<AccountRecord>> {
        let found = records.iter().find(|r| r.is(user, host)).cloned();
        found.ok_or_else(|| Error::new(&ER_UNKNOWN_AUTHID, &[&user, &host]))
    }

    fn target(&self, level: &GrantLevel, privileges: &[Privilege]) -> Result<Target> {
        let current = || self.by.database.map(str::to_string).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]));
        let target = match level {
            GrantLevel::Global => return Ok(Target::Global),
            GrantLevel::Database(name) => Target::Database(name.clone()),
            GrantLevel::CurrentDatabase => Target::Database(current()?),
            GrantLevel::Table(name) => Target::Table(name.db.clone().map_or_else(current, Ok)?, name.name.clone()),
            GrantLevel::Function(name) => {
                Target::Routine(name.db.clone().map_or_else(current, Ok)?, ObjectKind::Function, name.name.clone())
            }
            GrantLevel::Procedure(name) => {
                Target::Routine(name.db.clone().map_or_else(current, Ok)?, ObjectKind::Procedure, name.name.clone())
            }
            // Who may not grant there is told that first.
            GrantLevel::Routines(level) => return self.target(level, privileges),
        };
        let dynamic = privileges.iter().find(|privilege| is_dynamic(&privilege.name));
        match (dynamic, &target) {
            (None, _) => Ok(target),
            (Some(_), Target::Table(_, name) | Target::Routine(.., name)) => {
                Err(Error::new(&ER_ILLEGAL_PRIVILEGE_LEVEL, &[name]))
            }
            (Some(privilege), _) => Err(Error::new(&ER_ILLEGAL_PRIVILEGE_LEVEL, &[&privilege.name])),
        }
    }

    /// A privilege on a table that does not exist needs CREATE among the privileges.
    fn exists(&self, target: &Target, wanted: &Wanted) -> Result<()> {
        let (database, table) = match target {
            Target::Global | Target::Database(_) => return Ok(()),
            Target::Table(database, table) => (database, table),
            Target::Routine(database, kind, name) => return self.routine_exists(database, *kind, name),
        };
        if vaquita_exec::system::is_system_database(database) {
            return Ok(());
        }
        let names: Vec<String> = if let Some(found) = self.catalog.table(database, table)? {
            found.def.columns.iter().map(|column| column.name.clone()).collect()
        } else if let Some(object) = self.catalog.object(database, ObjectKind::View, table)? {
            View::parse(object)?.names()
        } else if wanted.bits & CREATE != 0 {
            return Ok(());
        } else {
            return Err(Error::new(&ER_NO_SUCH_TABLE, &[database, table]));
        };
        for (column, _) in &wanted.columns {
            if !names.iter().any(|name| name.eq_ignore_ascii_case(column)) {
                return Err(Error::new(&ER_BAD_FIELD_ERROR, &[column, table]));
            }
        }
        Ok(())
    }

    fn routine_exists(&self, database: &str, kind: ObjectKind, name: &str) -> Result<()> {
        if self.catalog.object(database, kind, name)?.is_some() {
            return Ok(());
        }
        let kind = if kind == ObjectKind::Function { "FUNCTION" } else { "PROCEDURE" };
        Err(Error::new(&ER_SP_DOES_NOT_EXIST, &[&kind, &name]))
    }
}

/// Whether a role is, or was granted, directly or over others, the account that is to get it.
fn reaches(records: &[Arc<AccountRecord>], role: &AccountRecord, account: &AccountRecord) -> bool {
    let mut open = vec![(role.user.clone(), role.host.clone())];
    let mut seen = Vec::new();
    while let Some((user, host)) = open.pop() {
        if account.is(&user, &host) {
            return true;
        }
        if !seen.contains(&(user.clone(), host.clone())) {
            let found = records.iter().find(|r| r.is(&user, &host));
            open.extend(found.iter().flat_map(|r| r.roles.iter().map(|g| (g.user.clone(), g.host.clone()))));
            seen.push((user, host));
        }
    }
    false
}

fn is_dynamic(name: &str) -> bool {
    name != "ALL PRIVILEGES" && name != "USAGE" && bit(name).is_none()
}

fn wanted(privileges: &[Privilege], target: &Target) -> Wanted {
    let mut wanted = Wanted::default();
    for privilege in privileges {
        if privilege.name == "ALL PRIVILEGES" {
            wanted.all = true;
            wanted.bits |= match target {
                Target::Global => ALL_GLOBAL,
                Target::Database(_) => ALL_DATABASE,
                Target::Table(..) => ALL_TABLE,
                Target::Routine(..) => ALL_ROUTINE,
            };
        } else if let Some(bit) = bit(&privilege.name) {
            for column in &privilege.columns {
                *column_mut(&mut wanted.columns, column) |= bit;
            }
            if privilege.columns.is_empty() {
                wanted.bits |= bit;
            }
        } else if is_dynamic(&privilege.name) {
            wanted.dynamic.push(privilege.name.clone());
        }
    }
    wanted
}

/// Whether such privileges exist there.
fn fits(wanted: &Wanted, target: &Target, level: &GrantLevel) -> Result<()> {
    let columns = wanted.on_columns();
    let illegal = match target {
        _ if matches!(level, GrantLevel::Routines(_)) => true,
        Target::Global | Target::Database(_) => columns != 0,
        Target::Table(..) => wanted.bits & !(ALL_TABLE | GRANT_OPTION) != 0 || columns & !ALL_COLUMN != 0,
        Target::Routine(..) => wanted.bits & !(ALL_ROUTINE | GRANT_OPTION) != 0 || columns != 0,
    };
    if illegal {
        return Err(Error::new(&ER_ILLEGAL_GRANT_FOR_TABLE, &[]));
    }
    match target {
        Target::Database(_) if wanted.bits & !(ALL_DATABASE | GRANT_OPTION) != 0 => {
            Err(Error::new(&ER_WRONG_USAGE, &[&"DB GRANT", &"GLOBAL PRIVILEGES"]))
        }
        _ => Ok(()),
    }
}

fn add(grants: &mut Grants, target: &Target, wanted: &Wanted, grant_option: bool) {
    match target {
        Target::Global => {
            // Dynamic privileges have their own grant option.
            let only_dynamic = !wanted.dynamic.is_empty() && wanted.bits & !GRANT_OPTION == 0;
            grants.global |= if only_dynamic { wanted.bits & !GRANT_OPTION } else { wanted.bits };
            let all = wanted.all.then_some(DYNAMIC).into_iter().flatten().map(|name| (*name).to_string());
            for name in all.chain(wanted.dynamic.iter().cloned()) {
                *grants.dynamic.entry(name).or_default() |= grant_option;
            }
        }
        Target::Database(name) => grants.database_mut(name).bits |= wanted.bits,
        Target::Table(database, table) => {
            let grant = grants.table_mut(database, table);
            grant.bits |= wanted.bits;
            for (column, bits) in &wanted.columns {
                *column_mut(&mut grant.columns, column) |= bits;
            }
        }
        Target::Routine(database, kind, name) => grants.routine_mut(database, *kind, name).bits |= wanted.bits,
    }
}

fn remove(account: &mut AccountRecord, target: &Target, wanted: &Wanted) -> Result<()> {
    let (user, host) = (account.user.clone(), account.host.clone());
    let grants = &mut account.grants;
    match target {
        Target::Global => {
            grants.global &= !wanted.bits;
            grants.dynamic.retain(|name, _| !wanted.dynamic.contains(name));
            if wanted.bits & GRANT_OPTION != 0 {
                grants.dynamic.values_mut().for_each(|grantable| *grantable = false);
            }
        }
        Target::Database(name) => {
            let found = grants.databases.iter_mut().find(|g| g.pattern == *name);
            let held = found.filter(|grant| wanted.all || grant.bits & wanted.bits == wanted.bits);
            held.ok_or_else(|| Error::new(&ER_NONEXISTING_GRANT, &[&user, &host]))?.bits &= !wanted.bits;
        }
        Target::Table(database, table) => {
            let missing = || Error::new(&ER_NONEXISTING_TABLE_GRANT, &[&user, &host, table]);
            let Some(grant) = grants.tables.iter_mut().find(|g| g.database == *database && g.table == *table) else {
                return Err(missing());
            };
            let on_columns = grant.columns.iter().fold(0, |bits, (_, b)| bits | b);
            if !wanted.all && (grant.bits | on_columns) & wanted.bits != wanted.bits {
                return Err(missing());
            }
            let held = |column: &str, bits: Bits| {
                grant.columns.iter().any(|(name, held)| name.eq_ignore_ascii_case(column) && held & bits == bits)
            };
            if !wanted.columns.iter().all(|(column, bits)| held(column, *bits)) {
                return Err(missing());
            }
            grant.bits &= !wanted.bits;
            for (_, bits) in &mut grant.columns {
                *bits &= !wanted.bits;
            }
            for (column, bits) in &wanted.columns {
                *column_mut(&mut grant.columns, column) &= !bits;
            }
        }
        Target::Routine(database, kind, name) => {
            let missing = || Error::new(&ER_NONEXISTING_PROC_GRANT, &[&user, &host, name]);
            let grant = grants.routines.iter_mut().find(|g| g.is(database, *kind, name)).ok_or_else(missing)?;
            let held = wanted.all || grant.bits & wanted.bits == wanted.bits;
            // With IF EXISTS the error is a warning, and what is held goes.
            grant.bits &= !wanted.bits;
            return if held { Ok(()) } else { Err(missing()) };
        }
    }
    Ok(())
}
