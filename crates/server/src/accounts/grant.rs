//! GRANT and REVOKE, of privileges and of roles.

use std::sync::Arc;

use vaquita_parser::ast::{Grant, GrantLevel, Privilege, Revoke, RevokeWhat, Statement as Ast, UserName};
use vaquita_plan::env::Level;
use vaquita_storage::Catalog;
use vaquita_types::errno::{
    ER_BAD_FIELD_ERROR, ER_CANT_CREATE_USER_WITH_GRANT, ER_ILLEGAL_GRANT_FOR_TABLE, ER_NO_DB_ERROR, ER_NO_SUCH_TABLE,
    ER_NONEXISTING_GRANT, ER_NONEXISTING_TABLE_GRANT, ER_REVOKE_GRANTS, ER_SYNTAX_ERROR, ER_UNKNOWN_AUTHID,
    ER_USER_DOES_NOT_EXIST, ER_WRONG_USAGE,
};
use vaquita_types::{Error, Result};

use super::grants::{Grants, RoleGrant, column_mut};
use super::privilege::{ALL_COLUMN, ALL_DATABASE, ALL_GLOBAL, ALL_TABLE, Bits, CREATE, DYNAMIC, GRANT_OPTION, bit};
use super::users::{Notes, replace};
use super::{AccountRecord, Accounts, resolve};

/// Where privileges are granted, with the current database filled in.
enum Target {
    Global,
    Database(String),
    Table(String, String),
}

/// Static privileges, those of columns, and names of dynamic ones.
#[derive(Default)]
struct Wanted {
    bits: Bits,
    columns: Vec<(String, Bits)>,
    dynamic: Vec<String>,
    all: bool,
}

/// Carries out GRANT and REVOKE; `None` if the statement is neither. The caller has checked its rights (`Subject::may_grant`).
pub fn change_grants(
    accounts: &Accounts,
    catalog: &Catalog,
    ast: &Ast,
    current: &AccountRecord,
    database: Option<&str>,
) -> Option<Result<Notes>> {
    let context = Context { accounts, catalog, current, database };
    match ast {
        Ast::Grant(grant) => Some(context.grant(grant).map(|()| Notes::new())),
        Ast::Revoke(revoke) => Some(context.revoke(revoke)),
        _ => None,
    }
}

struct Context<'a> {
    accounts: &'a Accounts,
    catalog: &'a Catalog,
    current: &'a AccountRecord,
    database: Option<&'a str>,
}

impl Context<'_> {
    fn grant(&self, grant: &Grant) -> Result<()> {
        match grant {
            Grant::Privileges { privileges, level, users, grant_option, .. } => {
                let target = self.target(level)?;
                let mut wanted = wanted(privileges, &target)?;
                if *grant_option {
                    wanted.bits |= GRANT_OPTION;
                }
                self.table_exists(&target, &wanted)?;
                self.accounts.change(|records| {
                    for name in users {
                        let (user, host) = resolve(name, self.current);
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
            Grant::Roles { roles, users, admin_option } => self.accounts.change(|records| {
                for role in roles {
                    let (role, role_host) = resolve(role, self.current);
                    self.known(records, &role, &role_host)?;
                    for name in users {
                        let (user, host) = resolve(name, self.current);
                        let mut account = AccountRecord::clone(&*self.known(records, &user, &host)?);
                        account.roles.retain(|r| r.user != role || r.host != role_host);
                        account.roles.push(RoleGrant { user: role.clone(), host: role_host.clone(), admin: *admin_option });
                        replace(records, account);
                    }
                }
                Ok(())
            }),
            Grant::Proxy { .. } => Err(Error::unsupported("GRANT PROXY")),
        }
    }

    fn revoke(&self, revoke: &Revoke) -> Result<Notes> {
        let mut notes = Notes::new();
        match &revoke.what {
            RevokeWhat::Privileges { privileges, level } => {
                let target = self.target(level)?;
                let wanted = wanted(privileges, &target)?;
                self.each(&revoke.users, revoke.ignore_unknown_user, &mut notes, &|account| match remove(
                    account, &target, &wanted,
                ) {
                    Err(_) if revoke.if_exists => Ok(()),
                    other => other,
                })?;
            }
            RevokeWhat::All => {
                let missing =
                    revoke.users.iter().map(|name| resolve(name, self.current)).any(|(u, h)| self.accounts.get(&u, &h).is_none());
                if missing && !revoke.ignore_unknown_user {
                    return Err(Error::new(&ER_REVOKE_GRANTS, &[]));
                }
                self.each(&revoke.users, revoke.ignore_unknown_user, &mut notes, &|account| {
                    account.grants = Grants::default();
                    Ok(())
                })?;
            }
            RevokeWhat::Roles(roles) => self.accounts.change(|records| {
                for role in roles {
                    let (role, role_host) = resolve(role, self.current);
                    self.known(records, &role, &role_host)?;
                    for name in &revoke.users {
                        let (user, host) = resolve(name, self.current);
                        let mut account = AccountRecord::clone(&*self.known(records, &user, &host)?);
                        account.roles.retain(|r| r.user != role || r.host != role_host);
                        account.default_roles.retain(|(u, h)| *u != role || *h != role_host);
                        replace(records, account);
                    }
                }
                Ok(())
            })?,
            RevokeWhat::Proxy(_) => return Err(Error::unsupported("REVOKE PROXY")),
        }
        Ok(notes)
    }

    fn each(
        &self,
        users: &[UserName],
        ignore_unknown: bool,
        notes: &mut Notes,
        change: &dyn Fn(&mut AccountRecord) -> Result<()>,
    ) -> Result<()> {
        self.accounts.change(|records| {
            for name in users {
                let (user, host) = resolve(name, self.current);
                let Some(found) = records.iter().find(|r| r.is(&user, &host)).cloned() else {
                    if ignore_unknown {
                        notes.push((Level::Warning, Error::new(&ER_USER_DOES_NOT_EXIST, &[&format!("'{user}'@'{host}'")])));
                        continue;
                    }
                    return Err(Error::new(&ER_NONEXISTING_GRANT, &[&user, &host]));
                };
                let mut account = AccountRecord::clone(&found);
                change(&mut account)?;
                account.grants.tidy();
                replace(records, account);
            }
            Ok(())
        })
    }

    fn known(&self, records: &[Arc<AccountRecord>], user: &str, host: &str) -> Result<Arc<AccountRecord>> {
        let found = records.iter().find(|r| r.is(user, host)).cloned();
        found.ok_or_else(|| Error::new(&ER_UNKNOWN_AUTHID, &[&user, &host]))
    }

    fn target(&self, level: &GrantLevel) -> Result<Target> {
        let current = || self.database.map(str::to_string).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]));
        Ok(match level {
            GrantLevel::Global => Target::Global,
            GrantLevel::Database(name) => Target::Database(name.clone()),
            GrantLevel::CurrentDatabase => Target::Database(current()?),
            GrantLevel::Table(name) => Target::Table(name.db.clone().map_or_else(current, Ok)?, name.name.clone()),
            GrantLevel::Function(_) | GrantLevel::Procedure(_) => return Err(Error::unsupported("privileges of routines")),
        })
    }

    /// A privilege on a table that does not exist needs CREATE among the privileges.
    fn table_exists(&self, target: &Target, wanted: &Wanted) -> Result<()> {
        let Target::Table(database, table) = target else { return Ok(()) };
        if vaquita_exec::system::is_system_database(database) {
            return Ok(());
        }
        let Some(found) = self.catalog.table(database, table)? else {
            if wanted.bits & CREATE != 0 {
                return Ok(());
            }
            return Err(Error::new(&ER_NO_SUCH_TABLE, &[database, table]));
        };
        for (column, _) in &wanted.columns {
            if !found.def.columns.iter().any(|c| c.name.eq_ignore_ascii_case(column)) {
                return Err(Error::new(&ER_BAD_FIELD_ERROR, &[column, table]));
            }
        }
        Ok(())
    }
}

fn wanted(privileges: &[Privilege], target: &Target) -> Result<Wanted> {
    let mut wanted = Wanted::default();
    for privilege in privileges {
        if privilege.name == "ALL PRIVILEGES" {
            wanted.all = true;
            wanted.bits |= match target {
                Target::Global => ALL_GLOBAL,
                Target::Database(_) => ALL_DATABASE,
                Target::Table(..) => ALL_TABLE,
            };
        } else if privilege.name == "USAGE" {
        } else if let Some(bit) = bit(&privilege.name) {
            for column in &privilege.columns {
                *column_mut(&mut wanted.columns, column) |= bit;
            }
            if privilege.columns.is_empty() {
                wanted.bits |= bit;
            }
        } else if DYNAMIC.contains(&privilege.name.as_str()) {
            wanted.dynamic.push(privilege.name.clone());
        } else {
            return Err(Error::new(&ER_SYNTAX_ERROR, &[]));
        }
    }
    let columns = wanted.columns.iter().fold(0, |bits, (_, b)| bits | b);
    let fits = match target {
        Target::Global => columns == 0,
        Target::Database(_) => columns == 0 && wanted.bits & !(ALL_DATABASE | GRANT_OPTION) == 0 && wanted.dynamic.is_empty(),
        Target::Table(..) => {
            if wanted.bits & !(ALL_TABLE | GRANT_OPTION) != 0 || columns & !ALL_COLUMN != 0 || !wanted.dynamic.is_empty() {
                return Err(Error::new(&ER_ILLEGAL_GRANT_FOR_TABLE, &[]));
            }
            true
        }
    };
    if fits { Ok(wanted) } else { Err(Error::new(&ER_WRONG_USAGE, &[&"DB GRANT", &"GLOBAL PRIVILEGES"])) }
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
    }
}

fn remove(account: &mut AccountRecord, target: &Target, wanted: &Wanted) -> Result<()> {
    let (user, host) = (account.user.clone(), account.host.clone());
    let grants = &mut account.grants;
    match target {
        Target::Global => {
            grants.global &= !wanted.bits;
            grants.dynamic.retain(|name, _| !wanted.all && !wanted.dynamic.contains(name));
            if wanted.bits & GRANT_OPTION != 0 {
                grants.dynamic.values_mut().for_each(|grantable| *grantable = false);
            }
        }
        Target::Database(name) => {
            let found = grants.databases.iter_mut().find(|g| g.pattern == *name);
            found.ok_or_else(|| Error::new(&ER_NONEXISTING_GRANT, &[&user, &host]))?.bits &= !wanted.bits;
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
            grant.bits &= !wanted.bits;
            for (_, bits) in &mut grant.columns {
                *bits &= !wanted.bits;
            }
            for (column, bits) in &wanted.columns {
                *column_mut(&mut grant.columns, column) &= !bits;
            }
        }
    }
    Ok(())
}
