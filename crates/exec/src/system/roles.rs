//! Roles as mysql and information_schema show them: who has them, which are active, which come with a login.

use vaquita_types::Result;

use super::accounts::{labels, with_grant, yes};
use super::row::{row, yes_no};
use super::{Row, SystemContext};
use crate::context::AccountInfo;

/// mysql.role_edges.
pub fn role_edges(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in cx.statement.server.accounts() {
        for (user, host, admin) in &account.roles {
            rows.push((host.clone(), user.clone(), account.host.clone(), account.user.clone(), *admin));
        }
    }
    rows.sort();
    let row = |(from_host, from_user, to_host, to_user, admin): (String, String, String, String, bool)| {
        row![from_host.as_str(), from_user.as_str(), to_host.as_str(), to_user.as_str(), yes(admin)]
    };
    Ok(rows.into_iter().map(row).collect())
}

/// mysql.default_roles.
pub fn default_roles(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in cx.statement.server.accounts() {
        for (user, host) in &account.default_roles {
            rows.push(row![account.host.as_str(), account.user.as_str(), host.as_str(), user.as_str()]);
        }
    }
    Ok(rows)
}

/// A role that the session's account has, itself or by way of another role.
struct Applicable {
    grantee: (String, String),
    role: (String, String),
    grantable: bool,
    is_default: bool,
    mandatory: bool,
}

fn applicable(cx: &SystemContext<'_>) -> Vec<Applicable> {
    let accounts = cx.statement.server.accounts();
    let own = cx.statement.server.current_account();
    let Some(account) = accounts.iter().find(|account| own == format!("{}@{}", account.user, account.host)) else {
        return Vec::new();
    };
    let of_account = |user: &str, host: &str| accounts.iter().find(|account| account.user == user && account.host == host);
    let (mut found, mut waiting, mut seen) = (Vec::new(), vec![account], Vec::new());
    let all_have = cx.statement.server.mandatory_roles();
    for role in all_have.iter().cloned() {
        let is_own = account.roles.iter().any(|(user, host, _)| (user, host) == (&role.0, &role.1));
        if let Some(record) = of_account(&role.0, &role.1).filter(|_| !is_own) {
            let grantee = (account.user.clone(), account.host.clone());
            let is_default = account.default_roles.contains(&role);
            seen.push(role.clone());
            waiting.push(record);
            found.push(Applicable { grantee, role, grantable: false, is_default, mandatory: true });
        }
    }
    while !waiting.is_empty() {
        let mut next = Vec::new();
        for grantee in waiting {
            for (user, host, grantable) in &grantee.roles {
                let role = (user.clone(), host.clone());
                let is_default = account.default_roles.contains(&role);
                if !seen.contains(&role) {
                    next.extend(of_account(user, host));
                    seen.push(role.clone());
                }
                let mandatory = std::ptr::eq(grantee, account) && all_have.contains(&role);
                let grantee = (grantee.user.clone(), grantee.host.clone());
                found.push(Applicable { grantee, role, grantable: *grantable, is_default, mandatory });
            }
        }
        waiting = next;
    }
    found
}

pub fn applicable_roles(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let own = cx.statement.server.current_account();
    let (user, host) = own.rsplit_once('@').unwrap_or((&own, ""));
    let row = |of: Applicable| {
        row![
            user,
            host,
            of.grantee.0.as_str(),
            of.grantee.1.as_str(),
            of.role.0.as_str(),
            of.role.1.as_str(),
            yes_no(of.grantable),
            yes_no(of.is_default),
            yes_no(of.mandatory),
        ]
    };
    Ok(applicable(cx).into_iter().map(row).collect())
}

pub fn administrable_roles(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    const IS_GRANTABLE: usize = 6;
    let mut rows = applicable_roles(cx)?;
    rows.retain(|row| row.get(IS_GRANTABLE) == Some(&"YES".into()));
    Ok(rows)
}

pub fn enabled_roles(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let own = cx.statement.server.current_account();
    let accounts = cx.statement.server.accounts();
    let account = accounts.iter().find(|account| own == format!("{}@{}", account.user, account.host));
    let is_default = |role: &(String, String)| account.is_some_and(|account| account.default_roles.contains(role));
    let mandatory = cx.statement.server.mandatory_roles();
    let row = |role: &(String, String)| {
        row![role.0.as_str(), role.1.as_str(), yes_no(is_default(role)), yes_no(mandatory.contains(role))]
    };
    Ok(cx.statement.session.ask()?.roles().iter().map(row).collect())
}

/// The active roles and those that they have, by way of which the session has privileges.
fn enabled(cx: &SystemContext<'_>) -> Result<Vec<AccountInfo>> {
    let accounts = cx.statement.server.accounts();
    let mut found: Vec<AccountInfo> = Vec::new();
    let mut waiting = cx.statement.session.ask()?.roles();
    while let Some((user, host)) = waiting.pop() {
        let known = found.iter().any(|role| role.user == user && role.host == host);
        if let Some(role) = accounts.iter().find(|role| !known && role.user == user && role.host == host) {
            waiting.extend(role.roles.iter().map(|(user, host, _)| (user.clone(), host.clone())));
            found.push(role.clone());
        }
    }
    found.sort_by(|a, b| (&a.user, &a.host).cmp(&(&b.user, &b.host)));
    Ok(found)
}

const CATALOG: &str = "def";
/// Who granted is not kept.
const GRANTOR: &str = "";

/// information_schema.ROLE_TABLE_GRANTS.
pub fn table_grants(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for role in enabled(cx)? {
        for grant in &role.tables {
            let privileges = with_grant(&grant.privileges, grant.grant_option);
            if !privileges.is_empty() {
                rows.push(row![
                    GRANTOR,
                    GRANTOR,
                    role.user.as_str(),
                    role.host.as_str(),
                    CATALOG,
                    grant.database.as_str(),
                    grant.table.as_str(),
                    labels(&privileges),
                    yes_no(grant.grant_option),
                ]);
            }
        }
    }
    Ok(rows)
}

/// information_schema.ROLE_COLUMN_GRANTS.
pub fn column_grants(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for role in enabled(cx)? {
        for grant in &role.tables {
            for (column, privileges) in &grant.columns {
                rows.push(row![
                    GRANTOR,
                    GRANTOR,
                    role.user.as_str(),
                    role.host.as_str(),
                    CATALOG,
                    grant.database.as_str(),
                    grant.table.as_str(),
                    column,
                    labels(privileges),
                    yes_no(grant.grant_option),
                ]);
            }
        }
    }
    Ok(rows)
}

/// information_schema.ROLE_ROUTINE_GRANTS.
pub fn routine_grants(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for role in enabled(cx)? {
        for grant in &role.routines {
            let privileges = with_grant(&grant.privileges, grant.grant_option);
            rows.push(row![
                GRANTOR,
                GRANTOR,
                role.user.as_str(),
                role.host.as_str(),
                CATALOG,
                grant.database.as_str(),
                grant.name.as_str(),
                CATALOG,
                grant.database.as_str(),
                grant.name.as_str(),
                labels(&privileges),
                yes_no(grant.grant_option),
            ]);
        }
    }
    Ok(rows)
}
