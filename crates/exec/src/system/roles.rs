//! Roles as mysql and information_schema show them: who has them, which are active, which come with a login.

use vaquita_types::Result;

use super::accounts::yes;
use super::row::{row, yes_no};
use super::{Row, SystemContext};

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
}

fn applicable(cx: &SystemContext<'_>) -> Vec<Applicable> {
    let accounts = cx.statement.server.accounts();
    let own = cx.statement.server.current_account();
    let Some(account) = accounts.iter().find(|account| own == format!("{}@{}", account.user, account.host)) else {
        return Vec::new();
    };
    let (mut found, mut waiting, mut seen) = (Vec::new(), vec![account], Vec::new());
    while !waiting.is_empty() {
        let mut next = Vec::new();
        for grantee in waiting {
            for (user, host, grantable) in &grantee.roles {
                let role = (user.clone(), host.clone());
                let is_default = account.default_roles.contains(&role);
                if !seen.contains(&role) {
                    next.extend(accounts.iter().find(|account| account.user == *user && account.host == *host));
                    seen.push(role.clone());
                }
                let grantee = (grantee.user.clone(), grantee.host.clone());
                found.push(Applicable { grantee, role, grantable: *grantable, is_default });
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
            "NO",
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
    let roles = cx.statement.session.ask()?.roles();
    Ok(roles.iter().map(|role| row![role.0.as_str(), role.1.as_str(), yes_no(is_default(role)), "NO"]).collect())
}
