//! Accounts as mysql.user and information_schema show them.

use vaquita_types::json::Json;
use vaquita_types::temporal::DateTime;
use vaquita_types::{Result, Value};

use super::row::{NULL, cell, row, yes_no};
use super::{Row, SystemContext, registry};
use crate::context::AccountInfo;

/// Static privileges on `*.*` in the order of SHOW GRANTS, each with its column of mysql.user.
const COLUMN_PRIVILEGES: [(&str, &str); STATIC_PRIVILEGES.len()] = {
    let mut pairs = [("", ""); STATIC_PRIVILEGES.len()];
    let mut at = 0;
    while at < pairs.len() {
        pairs[at] = (PRIVILEGE_COLUMNS[at], STATIC_PRIVILEGES[at]);
        at += 1;
    }
    pairs
};

/// Static privileges that are granted on `*.*`, in the order of SHOW GRANTS.
pub const STATIC_PRIVILEGES: [&str; 30] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "RELOAD",
    "SHUTDOWN",
    "PROCESS",
    "FILE",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "SHOW DATABASES",
    "SUPER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "CREATE USER",
    "EVENT",
    "TRIGGER",
    "CREATE TABLESPACE",
    "CREATE ROLE",
    "DROP ROLE",
];

/// The columns of mysql.user for them.
const PRIVILEGE_COLUMNS: [&str; STATIC_PRIVILEGES.len()] = [
    "Select_priv",
    "Insert_priv",
    "Update_priv",
    "Delete_priv",
    "Create_priv",
    "Drop_priv",
    "Reload_priv",
    "Shutdown_priv",
    "Process_priv",
    "File_priv",
    "References_priv",
    "Index_priv",
    "Alter_priv",
    "Show_db_priv",
    "Super_priv",
    "Create_tmp_table_priv",
    "Lock_tables_priv",
    "Execute_priv",
    "Repl_slave_priv",
    "Repl_client_priv",
    "Create_view_priv",
    "Show_view_priv",
    "Create_routine_priv",
    "Alter_routine_priv",
    "Create_user_priv",
    "Event_priv",
    "Trigger_priv",
    "Create_tablespace_priv",
    "Create_role_priv",
    "Drop_role_priv",
];

pub fn user(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let Some(table) = registry::find("mysql", "user") else { return Ok(Vec::new()) };
    let row = |account: &AccountInfo| table.def.columns.iter().map(|column| user_column(account, &column.name)).collect();
    Ok(cx.statement.server.accounts().iter().map(row).collect())
}

fn user_column(account: &AccountInfo, column: &str) -> Value {
    if let Some((_, privilege)) = COLUMN_PRIVILEGES.iter().find(|(name, _)| *name == column) {
        return yes(account.privileges.contains(privilege));
    }
    match column {
        "Host" => cell(&account.host),
        "User" => cell(&account.user),
        "Grant_priv" => yes(account.grant_option),
        "ssl_type" => account.require.0.into(),
        "ssl_cipher" => Value::bytes(&account.require.1[0]),
        "x509_issuer" => Value::bytes(&account.require.1[1]),
        "x509_subject" => Value::bytes(&account.require.1[2]),
        "max_questions" => Value::UInt(account.resources[0]),
        "max_updates" => Value::UInt(account.resources[1]),
        "max_connections" => Value::UInt(account.resources[2]),
        "max_user_connections" => Value::UInt(account.resources[3]),
        "plugin" => cell(&account.plugin),
        "authentication_string" => Value::bytes(&account.authentication_string),
        "password_expired" => yes(account.expired),
        "account_locked" => yes(account.locked),
        "User_attributes" => user_attributes_of(account),
        _ => NULL,
    }
}

/// What was said by ATTRIBUTE and COMMENT, and the second password.
fn user_attributes_of(account: &AccountInfo) -> Value {
    let mut members = Vec::new();
    if let Some(attribute) = &account.attribute {
        members.push(format!("\"metadata\": {attribute}"));
    }
    if !account.second_authentication_string.is_empty() {
        let text = String::from_utf8_lossy(&account.second_authentication_string);
        members.push(format!("\"additional_password\": {}", Json::String(text.into_owned().into())));
    }
    if members.is_empty() { NULL } else { json(&format!("{{{}}}", members.join(", "))) }
}

fn json(text: &str) -> Value {
    Json::parse(text.as_bytes()).map_or(NULL, Value::Json)
}

/// mysql.db: what accounts may do in databases.
pub fn db(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let Some(table) = registry::find("mysql", "db") else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for account in cx.statement.server.accounts() {
        for grant in &account.databases {
            let column = |name: &str| match name {
                "Host" => cell(&account.host),
                "Db" => cell(&grant.pattern),
                "User" => cell(&account.user),
                "Grant_priv" => yes(grant.grant_option),
                _ => {
                    let privilege =
                        COLUMN_PRIVILEGES.iter().find(|(column, _)| *column == name).map_or("", |(_, privilege)| privilege);
                    yes(grant.privileges.contains(&privilege))
                }
            };
            rows.push(table.def.columns.iter().map(|of| column(&of.name)).collect());
        }
    }
    Ok(rows)
}

/// A label of `enum('N','Y')`.
pub(super) fn yes(is: bool) -> Value {
    if is { "Y" } else { "N" }.into()
}

pub fn user_attributes(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let row = |account: AccountInfo| {
        let attribute = account.attribute.as_deref().map_or(NULL, |text| match json(text) {
            Value::Json(json) => cell(json.to_string()),
            _ => NULL,
        });
        row![account.user.as_str(), account.host.as_str(), attribute]
    };
    Ok(visible(cx).into_iter().map(row).collect())
}

pub fn user_privileges(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in visible(cx) {
        let grantee = grantee(&account);
        let grantable = yes_no(account.grant_option);
        if account.privileges.is_empty() && account.dynamic.is_empty() {
            rows.push(row![grantee.as_str(), "def", "USAGE", grantable]);
        }
        for privilege in &account.privileges {
            rows.push(row![grantee.as_str(), "def", *privilege, grantable]);
        }
        for (privilege, grantable) in &account.dynamic {
            rows.push(row![grantee.as_str(), "def", privilege.as_str(), yes_no(*grantable)]);
        }
    }
    Ok(rows)
}

/// The accounts that the session may read about.
fn visible(cx: &SystemContext<'_>) -> Vec<AccountInfo> {
    let server = cx.statement.server;
    let (all, own) = (server.sees_accounts(), server.current_account());
    let mut accounts = server.accounts();
    accounts.retain(|account| all || own == format!("{}@{}", account.user, account.host));
    accounts
}

fn grantee(account: &AccountInfo) -> String {
    format!("'{}'@'{}'", account.user, account.host)
}

pub fn schema_privileges(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in visible(cx) {
        for grant in &account.databases {
            let grantable = yes_no(grant.grant_option);
            for privilege in none_is_usage(&grant.privileges) {
                rows.push(row![grantee(&account), "def", grant.pattern.as_str(), *privilege, grantable]);
            }
        }
    }
    Ok(rows)
}

pub fn table_privileges(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in visible(cx) {
        // Of a table of which only columns are granted there is nothing to say.
        for grant in account.tables.iter().filter(|grant| grant.grant_option || !grant.privileges.is_empty()) {
            let grantable = yes_no(grant.grant_option);
            for privilege in none_is_usage(&grant.privileges) {
                let (database, table) = (grant.database.as_str(), grant.table.as_str());
                rows.push(row![grantee(&account), "def", database, table, *privilege, grantable]);
            }
        }
    }
    Ok(rows)
}

pub fn column_privileges(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in visible(cx) {
        for grant in &account.tables {
            let (database, table, grantable) = (grant.database.as_str(), grant.table.as_str(), yes_no(grant.grant_option));
            for (column, privileges) in &grant.columns {
                for privilege in privileges {
                    rows.push(row![grantee(&account), "def", database, table, column, *privilege, grantable]);
                }
            }
        }
    }
    Ok(rows)
}

/// mysql.tables_priv. Who granted and when is not kept.
pub fn tables_priv(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in cx.statement.server.accounts() {
        for grant in &account.tables {
            let mut on_table = labels(&grant.privileges);
            if grant.grant_option {
                on_table.push_str(",Grant");
            }
            let on_columns: Vec<&str> = grant.columns.iter().flat_map(|(_, privileges)| privileges.iter().copied()).collect();
            rows.push(row![
                account.host.as_str(),
                grant.database.as_str(),
                account.user.as_str(),
                grant.table.as_str(),
                "",
                Value::DateTime(DateTime::ZERO),
                on_table,
                labels(&on_columns),
            ]);
        }
    }
    Ok(rows)
}

/// mysql.global_grants.
pub fn global_grants(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in cx.statement.server.accounts() {
        for (name, grantable) in &account.dynamic {
            rows.push(row![account.user.as_str(), account.host.as_str(), name.as_str(), yes(*grantable)]);
        }
    }
    Ok(rows)
}

/// mysql.proxies_priv: who may stand for everybody is root, and nobody else can be given that.
pub fn proxies_priv(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let is_root = |account: &AccountInfo| account.user == "root" && account.host == "localhost";
    let roots = cx.statement.server.accounts().into_iter().filter(is_root);
    Ok(roots
        .map(|root| row![root.host.as_str(), root.user.as_str(), "", "", 1i64, "", Value::DateTime(DateTime::ZERO)])
        .collect())
}

/// mysql.procs_priv.
pub fn procs_priv(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in cx.statement.server.accounts() {
        for grant in &account.routines {
            let privileges = with_grant(&grant.privileges, grant.grant_option);
            rows.push(row![
                account.host.as_str(),
                grant.database.as_str(),
                account.user.as_str(),
                grant.name.as_str(),
                if grant.function { "FUNCTION" } else { "PROCEDURE" },
                "",
                labels(&privileges),
                Value::DateTime(DateTime::ZERO),
            ]);
        }
    }
    Ok(rows)
}

/// mysql.columns_priv.
pub fn columns_priv(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in cx.statement.server.accounts() {
        for grant in &account.tables {
            for (column, privileges) in &grant.columns {
                rows.push(row![
                    account.host.as_str(),
                    grant.database.as_str(),
                    account.user.as_str(),
                    grant.table.as_str(),
                    column,
                    Value::DateTime(DateTime::ZERO),
                    labels(privileges),
                ]);
            }
        }
    }
    Ok(rows)
}

/// mysql.password_history: the passwords that may not be used again.
pub fn password_history(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for account in cx.statement.server.accounts() {
        for (set_us, stored) in account.used_passwords.iter().rev() {
            rows.push(row![account.host.as_str(), account.user.as_str(), cx.exact_time(*set_us), Value::bytes(stored)]);
        }
    }
    Ok(rows)
}

/// GRANT OPTION stands among the privileges, too.
pub(super) fn with_grant<'a>(privileges: &[&'a str], grant_option: bool) -> Vec<&'a str> {
    privileges.iter().copied().chain(grant_option.then_some("Grant")).collect()
}

/// As the labels of a SET, which are found without regard to case.
pub fn labels(privileges: &[&str]) -> String {
    privileges.join(",")
}

fn none_is_usage<'p>(privileges: &'p [&'static str]) -> &'p [&'static str] {
    if privileges.is_empty() { &["USAGE"] } else { privileges }
}
